//! Analysis of fields on the host: the range of their values, critical points, and the comparison of two
//! fields.
//!
//! A vertex is *missing* where a component is NaN or infinite, or where it is filled: the bits of a component
//! are those of the fill value of the request. A triangle with a missing vertex has no critical point and is
//! not compared.
//!
//! A block owns the triangles, edges and vertices whose base ([`Simplex`]) is one of its vertices: over all
//! blocks of a field each of them is looked at once. They reach the ghosts on the sides of x_max and y_max that
//! the halo names; the surroundings of a zero reach those of all sides. Behind the last vertex of a periodic axis
//! comes the first one again, as a ghost.

pub mod compare;
pub mod critical_points;
pub mod eigenvalues;
pub mod range;
pub mod zeros;

pub use crate::grid::mesh::Simplex;
pub use compare::{compare, Comparison};
pub use critical_points::{critical_points, CriticalPoint, Kind};
pub use range::{range, relative_bound, ValueRange};
pub(crate) use zeros::INDEX_UNDEFINED;

use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::Triangle;
use crate::grid::missing::Missing;
use crate::grid::sides::periodic_sides;
use crate::grid::tiles::Grid;
use crate::request::{Request, PERIODIC_X, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};
use crate::runtime::float_env;
use crate::runtime::memory::{self, Reserve};
use crate::runtime::pool::{self, Threads};
use crate::topology::signature::Rule;
use std::ops::Range;

/// Rows that one task works on: the division does not depend on the number of threads. Sums go up a tree that
/// begins with these bands, on devices too (ANALYSIS_ROWS in kernels/device/shared.cuh).
pub(crate) const BAND: u64 = 32;

/// The part of a request that an analysis uses.
#[derive(Clone, Copy)]
struct Domain {
    /// The owned vertices.
    grid: Grid,
    /// Ghost columns and rows before those of the grid that are read, 0 or 1.
    columns_before: i64,
    rows_before: i64,
    /// Columns and rows from vertex (0, 0) on that are read: those of the grid, and the ghosts behind them.
    columns: u64,
    rows: u64,
    missing: Missing,
    rule: Rule,
}

impl Domain {
    /// Of vertices with all around them. Refuses views of another type than the request's, and those that do not
    /// cover the grid and its ghosts.
    fn new<T: Real>(request: &Request, views: &[(&str, View<'_, T>)]) -> Result<Domain> {
        Self::with_ghosts(request, request.grid(), request.config().halo, views)
    }

    /// Of vertices alone.
    fn of_vertices<T: Real>(request: &Request, views: &[(&str, View<'_, T>)]) -> Result<Domain> {
        Self::with_ghosts(request, Grid { periodic: 0, ..request.grid() }, 0, views)
    }

    fn with_ghosts<T: Real>(
        request: &Request,
        grid: Grid,
        halo: u32,
        views: &[(&str, View<'_, T>)],
    ) -> Result<Domain> {
        let c = request.config();
        c.check_elements::<T>()?;
        for (name, view) in views {
            view.check_covers(name, grid, halo)?;
        }
        let halo = halo | periodic_sides(grid.periodic);
        Ok(Domain {
            grid,
            columns_before: (halo & SIDE_X_MIN != 0) as i64,
            rows_before: (halo & SIDE_Y_MIN != 0) as i64,
            columns: grid.nx + (halo & SIDE_X_MAX != 0) as u64,
            rows: grid.ny + (halo & SIDE_Y_MAX != 0) as u64,
            missing: Missing::new::<T>(c.fill_value),
            rule: Rule { types: true, ..Rule::of(c) },
        })
    }

    /// Whether there is a vertex (x, y), owned or a ghost.
    fn covers(&self, x: i64, y: i64) -> bool {
        (-self.columns_before..self.columns as i64).contains(&x)
            && (-self.rows_before..self.rows as i64).contains(&y)
    }

    /// Copies row `y` of a plane.
    fn load<T: Real>(&self, views: &[View<'_, T>; 2], y: u64, rows: &mut [Vec<T>; 2]) {
        let [_, y] = self.grid.wrapped([0, y as i64]);
        for (view, row) in views.iter().zip(rows) {
            if self.grid.periodic & PERIODIC_X == 0 {
                view.read_row(0, y, row);
            } else {
                let owned = self.grid.nx as usize;
                view.read_row(0, y, &mut row[..owned]);
                row[owned] = row[0];
            }
        }
    }

    /// Makes the filled vertices of a row NaN; `seen` gets the column of each, and whether it was finite.
    fn hide_filled<T: Real>(&self, [u, v]: &mut [Vec<T>; 2], mut seen: impl FnMut(usize, bool)) {
        if !self.missing.has_fill() {
            return;
        }
        for (x, (a, b)) in u.iter_mut().zip(v).enumerate() {
            if self.missing.is_filled([*a, *b]) {
                seen(x, a.is_finite() && b.is_finite());
                (*a, *b) = (T::from_f64(f64::NAN), T::from_f64(f64::NAN));
            }
        }
    }
}

/// Refuses two fields whose halos differ.
pub(crate) fn check_same_ghosts(first: &Request, other: &Request) -> Result<()> {
    let [a, b] = [first, other].map(|request| request.config().halo);
    if a != b {
        return Err(Error::argument(format!(
            "halo = {b:#x} of the other field and halo = {a:#x} of the first differ: both fields need the ghosts \
             of a side, or neither"
        )));
    }
    Ok(())
}

/// Runs `work(plane, rows)` over bands of rows of all planes; the results come in the order of the bands.
pub(crate) fn in_bands<R: Default + Send>(
    grid: Grid,
    threads: Threads,
    work: impl Fn(u64, Range<u64>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let each = grid.ny.div_ceil(BAND);
    let band = |_: &mut (), b: usize| {
        let (z, first) = (b as u64 / each, b as u64 % each * BAND);
        work(z, first..grid.ny.min(first + BAND))
    };
    threads.map((each * grid.nz) as usize, pool::stateless, band)
}

/// The views of a plane.
fn of_plane<'a, T: Real>(views: [View<'a, T>; 2], z: u64) -> [View<'a, T>; 2] {
    views.map(|view| view.plane(z))
}

/// Runs an analysis in the default floating-point environment, with memory that a failure is described in.
pub(crate) fn guarded<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    let _reserve = Reserve::new()?;
    float_env::with_default(work)
}

/// A row of equal values.
fn row_of<T: Clone>(value: T, columns: u64) -> Result<Vec<T>> {
    memory::filled(columns as usize, value)
}

/// The vectors of a triangle of cell column `x`; `rows[r]` holds u and v of row r of the cells.
#[inline(always)]
fn vectors<T: Real>(rows: [[&[T]; 2]; 2], x: usize, triangle: Triangle) -> [[T; 2]; 3] {
    triangle.offsets().map(|[dx, dy]| [rows[dy][0][x + dx], rows[dy][1][x + dx]])
}
