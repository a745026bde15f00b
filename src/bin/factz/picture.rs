//! A PNG of a field's magnitude with its critical points.

use crate::array::{Field, Values};
use crate::failure::{failure, Failure};
use crate::{memory, output};
use factz::CriticalPoint;
use std::collections::HashSet;
use std::path::Path;

/// Pixels per grid cell.
const SCALE: usize = 4;
/// Pixels between panels.
const GAP: usize = 12;

type Colour = [u8; 3];
const KEPT: Colour = [60, 230, 90];
const LOST: Colour = [255, 0, 220];
const SPURIOUS: Colour = [190, 190, 190];
const OUTLINE: Colour = [0, 0, 0];

/// Viridis, at equal distances; between them the colours are interpolated.
const SCALE_COLOURS: [Colour; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// One field with coloured points.
pub struct Panel {
    nx: usize,
    ny: usize,
    magnitude: Vec<f64>,
    points: Vec<(f64, f64, Colour)>,
}

fn magnitude(field: &Field) -> Vec<f64> {
    fn of<T: factz::Real>(u: &[T], v: &[T]) -> Vec<f64> {
        u.iter().zip(v).map(|(a, b)| a.to_f64().hypot(b.to_f64())).collect()
    }
    match (&field.u, &field.v) {
        (Values::F32(u), Values::F32(v)) => of(u, v),
        (Values::F64(u), Values::F64(v)) => of(u, v),
        _ => unreachable!("u and v have one type"),
    }
}

fn place(p: &CriticalPoint) -> (u64, u64, u32) {
    (p.x_cell, p.y_cell, p.triangle)
}

impl Panel {
    /// The field with all its points in the colour of the kept ones.
    pub fn original(field: &Field, points: &[CriticalPoint]) -> Self {
        Self::compared(field, points, points)
    }

    /// A reconstruction: points of `before` that are still there, or lost, and those that are new.
    pub fn compared(field: &Field, before: &[CriticalPoint], after: &[CriticalPoint]) -> Self {
        let (old, new): (HashSet<_>, HashSet<_>) =
            (before.iter().map(place).collect(), after.iter().map(place).collect());
        let mut points: Vec<_> =
            after.iter().filter(|p| !old.contains(&place(p))).map(|p| (p.x, p.y, SPURIOUS)).collect();
        points.extend(after.iter().filter(|p| old.contains(&place(p))).map(|p| (p.x, p.y, KEPT)));
        points.extend(before.iter().filter(|p| !new.contains(&place(p))).map(|p| (p.x, p.y, LOST)));
        let (nx, ny) = (field.dims.nx as usize, field.dims.ny as usize);
        Panel { nx, ny, magnitude: magnitude(field), points }
    }

    fn size(&self) -> (usize, usize) {
        (self.nx * SCALE, self.ny * SCALE)
    }
}

fn colour(t: f64) -> Colour {
    // NaN casts to 0: what has no magnitude is dark.
    let x = t.clamp(0.0, 1.0) * (SCALE_COLOURS.len() - 1) as f64;
    let k = (x as usize).min(SCALE_COLOURS.len() - 2);
    let f = x - k as f64;
    std::array::from_fn(|c| {
        (SCALE_COLOURS[k][c] as f64 * (1.0 - f) + SCALE_COLOURS[k + 1][c] as f64 * f) as u8
    })
}

/// An image of 8-bit RGB.
struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn set(&mut self, x: i64, y: i64, colour: Colour) {
        if (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y) {
            let at = (y as usize * self.width + x as usize) * 3;
            self.pixels[at..at + 3].copy_from_slice(&colour);
        }
    }

    fn dot(&mut self, x: i64, y: i64, colour: Colour) {
        for (radius_squared, colour) in [(12, OUTLINE), (5, colour)] {
            for dy in -4..=4i64 {
                for dx in -4..=4i64 {
                    if dx * dx + dy * dy <= radius_squared {
                        self.set(x + dx, y + dy, colour);
                    }
                }
            }
        }
    }
}

/// Writes the panels one below the other, all with the colours of the first one's range. Row 0 is on top.
pub fn write(path: &Path, panels: &[Panel]) -> Result<(), Failure> {
    let width = panels.iter().map(|p| p.size().0).max().unwrap_or(1);
    let height: usize = panels.iter().map(|p| p.size().1 + GAP).sum::<usize>().saturating_sub(GAP).max(1);
    let mut pixels = memory::zeros((width * height * 3) as u64, "the picture")?;
    pixels.fill(255);
    let mut canvas = Canvas { width, height, pixels };
    let top = panels
        .first()
        .map_or(0.0, |p| p.magnitude.iter().copied().filter(|m| m.is_finite()).fold(0.0, f64::max));
    let mut y0 = 0;
    for panel in panels {
        let (w, h) = panel.size();
        for y in 0..h {
            for x in 0..w {
                let m = panel.magnitude[y / SCALE * panel.nx + x / SCALE];
                canvas.set(x as i64, (y0 + y) as i64, colour(m / top.max(f64::MIN_POSITIVE)));
            }
        }
        for &(x, y, colour) in &panel.points {
            // A vertex is the middle of its square of pixels.
            let pixel = |c: f64| ((c + 0.5) * SCALE as f64) as i64;
            canvas.dot(pixel(x), y0 as i64 + pixel(y), colour);
        }
        y0 += h + GAP;
    }
    let cannot = |e| failure!("{}: cannot be made: {e}", path.display());
    // Compressed it is smaller; with room for all it never grows.
    let mut bytes = Vec::new();
    memory::reserve(&mut bytes, canvas.pixels.len() as u64 + (1 << 16), "the picture")?;
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(cannot)?;
    writer.write_image_data(&canvas.pixels).map_err(cannot)?;
    writer.finish().map_err(cannot)?;
    if let Some(folder) = path.parent().filter(|f| !f.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)
            .map_err(|e| failure!("{}: the directory cannot be made: {e}", folder.display()))?;
    }
    output::write_file(path, &bytes)
}
