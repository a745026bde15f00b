//! Analysis of fields on the host: critical points, and the comparison of two fields.

pub mod compare;
pub mod critical_points;

pub use compare::{compare, Comparison};
pub use critical_points::{critical_points, CriticalPoint, Kind};

use crate::field::View;
use crate::geometry::{corners, Triangle};
use crate::real::Real;
use rayon::prelude::*;
use std::ops::Range;

/// Rows that one task works on: the division does not depend on the number of threads. Sums go up a tree that
/// begins with these bands, on devices too (ANALYSIS_ROWS in kernels/abi.cuh).
pub(crate) const BAND: u64 = 32;

/// The triangles of a cell in the order of [`CriticalPoint::triangle`].
const TRIANGLES: [Triangle; 2] = [Triangle::Lower, Triangle::Upper];

/// Runs `work` over bands of rows on `threads` threads (0: one per processor); the results come in the
/// order of the bands.
fn in_bands<R: Send>(rows: u64, threads: usize, work: impl Fn(Range<u64>) -> R + Sync) -> Vec<R> {
    let band = |b: u64| work(b * BAND..rows.min((b + 1) * BAND));
    let bands = rows.div_ceil(BAND);
    if threads == 1 {
        return (0..bands).map(band).collect();
    }
    let run = || (0..bands).into_par_iter().map(band).collect();
    match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        Ok(pool) => pool.install(run),
        // No new threads to be had: the global pool, or this thread, does the same work.
        Err(_) => run(),
    }
}

/// Copies row `y` of a component.
fn load_row<T: Real>(view: &View<'_, T>, y: u64, row: &mut [T]) {
    for (x, value) in row.iter_mut().enumerate() {
        // SAFETY: the public functions demand that the views cover the grid, and (x, y) is a vertex of it.
        *value = unsafe { view.get(x as i64, y as i64) };
    }
}

/// The vectors of a triangle of cell column `x`; `rows[r]` holds u and v of row r of the cells.
#[inline(always)]
fn vectors<T: Real>(rows: [[&[T]; 2]; 2], x: usize, triangle: Triangle) -> [[T; 2]; 3] {
    corners(triangle).map(|(cx, cy)| [rows[cy][0][x + cx], rows[cy][1][x + cx]])
}
