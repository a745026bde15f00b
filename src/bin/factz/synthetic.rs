//! Made fields of any size: a sum of plane waves with the spectrum of two-dimensional turbulence.
//!
//! The waves make a streamfunction, whose rotated gradient is the field. For an isotropic random
//! streamfunction the density of critical points is <k^4> / <k^2> / (2 pi sqrt 3) per unit of area, with the
//! moments of its power over wavenumbers, so scaling all wavenumbers gives the density that is wanted.

use crate::args::SyntheticName;
use crate::array::{Dims, Element, Field, Values};
use crate::failure::Failure;
use crate::job;
use factz::Dtype;
use rayon::prelude::*;
use std::f64::consts::{PI, TAU};

const WAVES: usize = 96;
/// Largest over smallest wavenumber.
const WAVENUMBERS: f64 = 48.0;
/// Of the grid that is land.
const LAND: f64 = 0.35;

#[derive(Clone, Copy)]
struct Wave {
    kx: f64,
    ky: f64,
    phase: f64,
    amplitude: f64,
}

/// A small generator of numbers in 0..1, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Waves with one critical point in `area` vertices, and speeds about 1.
fn waves(area: f64, seed: u64) -> Vec<Wave> {
    let mut random = Random(seed);
    let mut moments = [0.0; 2];
    let mut waves: Vec<Wave> = (0..WAVES)
        .map(|i| {
            let k = WAVENUMBERS.powf((i as f64 + random.next()) / WAVES as f64);
            // As many waves in each octave: the energy of the velocity falls as k^-3.
            let amplitude = k.powi(-2);
            for (m, power) in moments.iter_mut().zip([2, 4]) {
                *m += amplitude * amplitude * k.powi(power);
            }
            let angle = TAU * random.next();
            Wave { kx: k * angle.cos(), ky: k * angle.sin(), phase: TAU * random.next(), amplitude }
        })
        .collect();
    let density = moments[1] / moments[0] / (2.0 * PI * 3f64.sqrt());
    let scale = (1.0 / (area * density)).sqrt();
    for wave in &mut waves {
        wave.kx *= scale;
        wave.ky *= scale;
        // The velocity has the gradient's factor k, and a variance of 1.
        wave.amplitude /= scale * (moments[0] / 2.0).sqrt();
    }
    waves
}

/// cos and sin of each wave's phase along x: the rest of the phase belongs to a row.
fn columns(waves: &[Wave], nx: usize) -> Vec<Vec<[f64; 2]>> {
    let column = |w: &Wave| (0..nx).map(|x| (w.kx * x as f64).sin_cos()).map(|(s, c)| [c, s]).collect();
    waves.par_iter().map(column).collect()
}

/// Adds sum a cos(kx x + ky y + phase) over the waves to each value of row `y`; `weight` gives the a of a
/// wave for each of the outputs.
fn add_row<const N: usize>(
    waves: &[Wave],
    columns: &[Vec<[f64; 2]>],
    y: usize,
    weight: impl Fn(&Wave) -> [f64; N],
    out: &mut [Vec<f64>; N],
) {
    for (wave, column) in waves.iter().zip(columns) {
        let (s, c) = (wave.ky * y as f64 + wave.phase).sin_cos();
        for (out, a) in out.iter_mut().zip(weight(wave)) {
            let (c, s) = (a * c, a * s);
            for (out, [cx, sx]) in out.iter_mut().zip(column) {
                *out += c * cx - s * sx;
            }
        }
    }
}

pub fn field(kind: SyntheticName, dims: Dims, dtype: Dtype) -> Result<Field, Failure> {
    let mut field = job::empty_field(dims, dtype)?;
    match (&mut field.u, &mut field.v) {
        (Values::F32(u), Values::F32(v)) => fill(kind, dims, u, v),
        (Values::F64(u), Values::F64(v)) => fill(kind, dims, u, v),
        _ => unreachable!("an empty field has one type"),
    }
    Ok(field)
}

fn fill<T: Element>(kind: SyntheticName, dims: Dims, u: &mut [T], v: &mut [T]) {
    let nx = dims.nx as usize;
    let area = match kind {
        SyntheticName::Dense | SyntheticName::Ocean => 8_700.0,
        SyntheticName::Smooth => 500_000.0,
    };
    let flow = waves(area, 1);
    let flow_columns = columns(&flow, nx);
    // Coasts are a level of a much larger pattern.
    let land = (kind == SyntheticName::Ocean).then(|| {
        let pattern = waves(80.0 * area, 2);
        let columns = columns(&pattern, nx);
        let power: f64 = pattern.iter().map(|w| w.amplitude * w.amplitude / 2.0).sum();
        // The level that a normal variable exceeds on that part, to the accuracy that matters here.
        let level = (1.0 - 2.0 * LAND) * 1.25 * power.sqrt();
        (pattern, columns, level)
    });
    u.par_chunks_mut(nx).zip(v.par_chunks_mut(nx)).enumerate().for_each(|(y, (u, v))| {
        // The derivative of cos is that of a phase turned by a quarter; which one does not matter here.
        let mut rows = [vec![0.0; nx], vec![0.0; nx]];
        add_row(&flow, &flow_columns, y, |w| [w.amplitude * w.ky, -w.amplitude * w.kx], &mut rows);
        if let Some((pattern, columns, level)) = &land {
            let mut height = [vec![0.0; nx]];
            add_row(pattern, columns, y, |w| [w.amplitude], &mut height);
            for (x, _) in height[0].iter().enumerate().filter(|(_, h)| *h > level) {
                rows[0][x] = 0.0;
                rows[1][x] = 0.0;
            }
        }
        for x in 0..nx {
            u[x] = T::from_f64(rows[0][x]);
            v[x] = T::from_f64(rows[1][x]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Spacing;

    #[test]
    fn dense_fields_have_the_density_of_critical_points_that_is_said() {
        let dims = Dims { nx: 2048, ny: 1024 };
        let count = |kind| {
            let field = field(kind, dims, Dtype::F32).unwrap();
            job::critical_points(&field, Spacing { dx: 1.0, dy: 1.0 }, 0).len()
        };
        let expected = (dims.nx * dims.ny) as f64 / 8_700.0;
        let found = count(SyntheticName::Dense) as f64;
        assert!((0.75..1.33).contains(&(found / expected)), "{found} of {expected}");
        assert!(count(SyntheticName::Smooth) < 20);
        let ocean = field(SyntheticName::Ocean, dims, Dtype::F32).unwrap();
        let Values::F32(u) = &ocean.u else { unreachable!() };
        let land = u.iter().filter(|x| **x == 0.0).count() as f64 / u.len() as f64;
        assert!((0.1..0.7).contains(&land), "{land}");
    }
}
