//! Made fields of any size: a sum of plane waves with the spectrum of two-dimensional turbulence.
//!
//! The waves make a streamfunction, whose rotated gradient is the field. For an isotropic random
//! streamfunction the density of critical points is <k^4> / <k^2> / (2 pi sqrt 3) per unit of area, with the
//! moments of its power over wavenumbers, so scaling all wavenumbers gives the density that is wanted.
//!
//! The phase of a wave is a part that belongs to a column and one that belongs to a row. Sines and cosines
//! are taken of these alone, here; what is left for a vertex are additions and multiplications, which round
//! to the same bits on every processor. The tests are in bench.rs.

use clap::ValueEnum;
use factz::{Error, Real, Status};
use rayon::prelude::*;
use std::f64::consts::{PI, TAU};

const WAVES: usize = 96;
/// Largest over smallest wavenumber.
const WAVENUMBERS: f64 = 48.0;
/// Of the grid that is land.
const LAND: f64 = 0.35;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Turbulence: vortices of many sizes, a critical point for every 8,700 vertices
    Dense,
    /// Turbulence with a critical point for every 500,000 vertices
    Smooth,
    /// Dense, with land (0, 0) on about a third of the grid
    Ocean,
}

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

/// N sums of the same waves, each with amplitudes of its own, in factors.
struct Sums<const N: usize> {
    /// [wave][column] and [wave][row]: cosine and sine of the parts of the phase.
    columns: Vec<[f64; 2]>,
    rows: Vec<[f64; 2]>,
    /// [wave]
    amplitudes: Vec<[f64; N]>,
}

/// Cosine and sine of a phase of each wave at `n` places.
fn turns(waves: &[Wave], n: usize, phase: impl Fn(&Wave, f64) -> f64 + Sync) -> Result<Vec<[f64; 2]>, Error> {
    let mut turns = Vec::new();
    let count = n.saturating_mul(waves.len());
    turns.try_reserve_exact(count).map_err(|_| {
        Error::new(Status::OutOfMemory, format!("not enough memory for the waves of {n} columns or rows"))
    })?;
    turns.resize(count, [0.0; 2]);
    turns.par_chunks_mut(n).zip(waves).for_each(|(turns, wave)| {
        for (place, turn) in turns.iter_mut().enumerate() {
            let (sine, cosine) = phase(wave, place as f64).sin_cos();
            *turn = [cosine, sine];
        }
    });
    Ok(turns)
}

impl<const N: usize> Sums<N> {
    fn new(
        waves: &[Wave],
        [nx, ny]: [usize; 2],
        amplitudes: impl Fn(&Wave) -> [f64; N],
    ) -> Result<Self, Error> {
        Ok(Sums {
            columns: turns(waves, nx, |w, x| w.kx * x)?,
            rows: turns(waves, ny, |w, y| w.ky * y + w.phase)?,
            amplitudes: waves.iter().map(amplitudes).collect(),
        })
    }

    /// The sums of row `y`: of a cos(kx x + ky y + phase) over the waves.
    fn row(&self, y: usize, nx: usize) -> [Vec<f64>; N] {
        let mut sums = [(); N].map(|()| vec![0.0; nx]);
        let ny = self.rows.len() / self.amplitudes.len();
        for (wave, amplitudes) in self.amplitudes.iter().enumerate() {
            let [cosine, sine] = self.rows[wave * ny + y];
            for (sum, a) in sums.iter_mut().zip(amplitudes) {
                let (c, s) = (a * cosine, a * sine);
                for (sum, [cx, sx]) in sum.iter_mut().zip(&self.columns[wave * nx..]) {
                    *sum += c * cx - s * sx;
                }
            }
        }
        sums
    }
}

/// What the vertices of a made field are computed from: a few numbers for each column and row.
pub struct Synthetic {
    nx: usize,
    flow: Sums<2>,
    /// Where the sum is higher than the level the field is (0, 0).
    land: Option<(Sums<1>, f64)>,
}

impl Synthetic {
    pub fn new(kind: Kind, nx: u64, ny: u64) -> Result<Self, Error> {
        let too_many = |_| Error::argument(format!("{nx} columns and {ny} rows are too many here"));
        let dims = [usize::try_from(nx).map_err(too_many)?, usize::try_from(ny).map_err(too_many)?];
        let area = match kind {
            Kind::Dense | Kind::Ocean => 8_700.0,
            Kind::Smooth => 500_000.0,
        };
        // The derivative of cos is that of a phase turned by a quarter; which one does not matter here.
        let flow = |w: &Wave| [w.amplitude * w.ky, -w.amplitude * w.kx];
        let land = match kind {
            Kind::Dense | Kind::Smooth => None,
            Kind::Ocean => {
                // Coasts are a level of a much larger pattern.
                let pattern = waves(80.0 * area, 2);
                let power: f64 = pattern.iter().map(|w| w.amplitude * w.amplitude / 2.0).sum();
                // The level that a normal variable exceeds on that part, to the accuracy that matters here.
                let level = (1.0 - 2.0 * LAND) * 1.25 * power.sqrt();
                Some((Sums::new(&pattern, dims, |w| [w.amplitude])?, level))
            }
        };
        Ok(Synthetic { nx: dims[0], flow: Sums::new(&waves(area, 1), dims, flow)?, land })
    }

    /// Fills dense rows of the field, row `first` and those after it.
    pub fn fill<T: Real>(&self, first: u64, u: &mut [T], v: &mut [T]) {
        let rows = u.par_chunks_mut(self.nx).zip(v.par_chunks_mut(self.nx));
        rows.enumerate().for_each(|(y, (u, v))| {
            let y = first as usize + y;
            let [mut flow_u, mut flow_v] = self.flow.row(y, self.nx);
            if let Some((land, level)) = &self.land {
                let [height] = land.row(y, self.nx);
                for (x, _) in height.iter().enumerate().filter(|(_, h)| *h > level) {
                    flow_u[x] = 0.0;
                    flow_v[x] = 0.0;
                }
            }
            for x in 0..self.nx {
                u[x] = T::from_f64(flow_u[x]);
                v[x] = T::from_f64(flow_v[x]);
            }
        });
    }
}
