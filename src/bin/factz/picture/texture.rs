//! Line integral convolution: noise that is smeared along the flow shows its direction.

use super::view::Flow;
use crate::failure::Failure;
use crate::memory;
use rayon::prelude::*;

/// Pixels that a streamline is followed in each direction, for grains of one pixel.
const REACH: usize = 14;

/// A brightness from 0 to 1 for every pixel. A grain of the noise is a square of `grain` pixels; `down` is the
/// number of pixels that a unit of v goes down, where one of u goes 1 to the right.
pub fn along(flow: &[Flow], width: usize, grain: usize, down: f32) -> Result<Vec<f32>, Failure> {
    let height = flow.len() / width;
    let mut directions = memory::zeros::<[f32; 2]>(flow.len() as u64, "the picture")?;
    directions.par_iter_mut().zip(flow).for_each(|(to, flow)| *to = direction(flow, down));
    let lines = Lines { directions: &directions, width, height, grain };
    let mut brightness = memory::zeros::<f32>(flow.len() as u64, "the picture")?;
    brightness.par_chunks_mut(width).enumerate().for_each(|(y, row)| {
        for (x, pixel) in row.iter_mut().enumerate() {
            if directions[y * width + x] != [0.0; 2] {
                *pixel = lines.brightness(x, y);
            }
        }
    });
    Ok(brightness)
}

/// A vector of length 1 in the image, or zero on land.
pub fn direction(flow: &Flow, down: f32) -> [f32; 2] {
    let Some([u, v]) = *flow else { return [0.0; 2] };
    // The larger component is 1 first: squares of values may overflow.
    let largest = u.abs().max(v.abs());
    if largest == 0.0 {
        return [0.0; 2];
    }
    let (u, v) = (u / largest, down as f64 * (v / largest));
    let length = u.hypot(v);
    [(u / length) as f32, (v / length) as f32]
}

struct Lines<'a> {
    directions: &'a [[f32; 2]],
    width: usize,
    height: usize,
    grain: usize,
}

impl Lines<'_> {
    /// The mean of the noise along the streamline through a pixel, with the contrast of the noise.
    fn brightness(&self, x: usize, y: usize) -> f32 {
        let (mut sum, mut count) = (self.noise(x, y), 1);
        for sense in [1.0, -1.0] {
            let (mut px, mut py) = (x as f32 + 0.5, y as f32 + 0.5);
            for _ in 0..REACH * self.grain {
                let [u, v] = self.directions[py as usize * self.width + px as usize];
                px += sense * u;
                py += sense * v;
                let inside = px >= 0.0 && py >= 0.0 && px < self.width as f32 && py < self.height as f32;
                if !inside || [u, v] == [0.0; 2] {
                    break;
                }
                sum += self.noise(px as usize, py as usize);
                count += 1;
            }
        }
        let grains = (count as f32 / self.grain as f32).max(1.0);
        (0.5 + (sum / count as f32 - 0.5) * grains.sqrt()).clamp(0.0, 1.0)
    }

    fn noise(&self, x: usize, y: usize) -> f32 {
        let (x, y) = ((x / self.grain) as u32, (y / self.grain) as u32);
        let mut k = x.wrapping_mul(0x9e37_79b9) ^ y.wrapping_mul(0x85eb_ca6b);
        k = (k ^ k >> 15).wrapping_mul(0x2c1b_3c6d);
        k = (k ^ k >> 12).wrapping_mul(0x297a_2d39);
        ((k ^ k >> 15) >> 8) as f32 / (1 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Along the flow neighbours are alike, across it they are not.
    #[test]
    fn the_texture_follows_the_flow() {
        let (width, height) = (160, 120);
        for (flow, along_x) in [([3.0, 0.0], true), ([0.0, -1e300], false)] {
            let brightness = along(&vec![Some(flow); width * height], width, 1, 1.0).unwrap();
            let difference = |step: usize| {
                let pixels =
                    (0..width * (height - 1) - 1).map(|k| (brightness[k] - brightness[k + step]).abs());
                pixels.sum::<f32>()
            };
            let (x, y) = (difference(1), difference(width));
            let (along, across) = if along_x { (x, y) } else { (y, x) };
            assert!(4.0 * along < across, "{flow:?}: {along} along, {across} across");
        }
    }
}
