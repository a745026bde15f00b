//! Analysis of fields on the host: the range of their values, critical points, and the comparison of two
//! fields.
//!
//! A vertex is *missing* where a component is NaN or infinite, or where it is filled: the bits of a component
//! are those of the fill value of the request. A triangle with a missing vertex has no critical point and is
//! not compared.
//!
//! A block owns the simplices whose base ([`Simplex`], [`VolumeSimplex`]) is one of its vertices: over all
//! blocks of a field each of them is looked at once. They reach the ghosts on the sides of x_max, y_max and,
//! in volumes, z_max that the halo names; the surroundings of a zero reach those of all sides. Behind the
//! last vertex of a periodic axis comes the first one again, as a ghost.

pub mod compare;
pub mod critical_points;
mod differences;
pub mod eigenvalues;
pub mod range;
pub(crate) mod strict_signs;
mod volume;
pub mod zeros;

pub use crate::grid::mesh::Simplex;
pub use crate::grid::volume_simplex::VolumeSimplex;
pub use compare::{compare, Comparison, ComparisonOf};
pub use critical_points::{critical_points, CriticalPoint, Kind};
pub(crate) use differences::exceeds;
pub use range::{range, range_volume, relative_bound, ValueRange};
pub use volume::{compare_volume, critical_points_volume, VolumeComparison, VolumeKind, VolumePoint};
pub(crate) use zeros::INDEX_UNDEFINED;

use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::Triangle;
use crate::grid::missing::Missing;
use crate::grid::sides::periodic_sides;
use crate::grid::tiles::Grid;
use crate::request::{
    Request, VolumeRequest, PERIODIC_X, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN, SIDE_Z_MAX,
    SIDE_Z_MIN,
};
use crate::runtime::float_env;
use crate::runtime::memory::{self, Reserve};
use crate::runtime::pool::{self, Threads};
use crate::topology::signature::Rule;
use crate::topology::tetrahedron::VolumeRule;
use std::ops::Range;

/// Rows that one task works on: the division does not depend on the number of threads. Sums go up a tree that
/// begins with these bands, on devices too (ANALYSIS_ROWS in kernels/device/shared.cuh).
pub(crate) const BAND: u64 = 32;

/// The part of a request that an analysis uses, with a rule for its simplices.
#[derive(Clone, Copy)]
struct Domain<R = Rule> {
    /// The owned vertices.
    grid: Grid,
    /// Ghost columns and rows before those of the grid that are read, 0 or 1.
    columns_before: i64,
    rows_before: i64,
    /// Columns, rows and planes from the first vertex on that are read: those of the grid, and the ghosts
    /// behind them.
    columns: u64,
    rows: u64,
    planes: u64,
    /// Column, row and plane of the first cube: of a volume -1 where there are ghosts. Cells of planes begin
    /// at 0.
    first: [i64; 3],
    missing: Missing,
    rule: R,
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
        let rule = Rule { types: true, ..Rule::of(request.config()) };
        Self::with_rule(request, rule, (grid, halo), views)
    }
}

impl Domain<VolumeRule> {
    /// Of a volume. Otherwise as [`Domain::new`].
    fn of_volume<T: Real>(
        request: &VolumeRequest,
        views: &[(&str, View<'_, T>)],
    ) -> Result<Domain<VolumeRule>> {
        Self::in_volume(request, request.grid(), request.config().halo, views)
    }

    /// Of the vertices of a volume alone.
    fn of_volume_vertices<T: Real>(
        request: &VolumeRequest,
        views: &[(&str, View<'_, T>)],
    ) -> Result<Domain<VolumeRule>> {
        Self::in_volume(request, Grid { periodic: 0, ..request.grid() }, 0, views)
    }

    fn in_volume<T: Real>(
        request: &VolumeRequest,
        grid: Grid,
        halo: u32,
        views: &[(&str, View<'_, T>)],
    ) -> Result<Domain<VolumeRule>> {
        let rule = VolumeRule { types: false, ..VolumeRule::of(request.config()) };
        let domain = Self::with_rule(request.common(), rule, (grid, halo), views)?;
        // Before the first vertex of a periodic axis are the cubes of the last one.
        let first = [SIDE_X_MIN, SIDE_Y_MIN, SIDE_Z_MIN].map(|side| -((halo & side != 0) as i64));
        Ok(Domain { first, ..domain })
    }

    /// The cubes along each axis, by the vertices that they begin at: ghosts, too, where the halo has some
    /// before the grid. Their last vertices are ghosts where it has some behind.
    fn cubes(&self) -> [Range<i64>; 3] {
        let ends = [self.columns, self.rows, self.planes];
        std::array::from_fn(|k| self.first[k]..ends[k] as i64 - 1)
    }

    /// Whether a vertex is one of the grid, and no ghost.
    fn owns(&self, at: [i64; 3]) -> bool {
        let sizes = self.grid.sizes();
        (0..3).all(|k| (0..sizes[k] as i64).contains(&at[k]))
    }

    /// The number of a cube, counted plane by plane and row by row.
    fn number(&self, cube: [i64; 3]) -> u64 {
        let [x, y, z] = [0, 1, 2].map(|k| (cube[k] - self.first[k]) as u64);
        let [columns, rows] =
            [(0, self.columns), (1, self.rows)].map(|(k, n)| n + self.first[k].unsigned_abs());
        (z * rows + y) * columns + x
    }
}

impl<R> Domain<R> {
    fn with_rule<T: Real>(
        request: &Request,
        rule: R,
        (grid, halo): (Grid, u32),
        views: &[(&str, View<'_, T>)],
    ) -> Result<Domain<R>> {
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
            planes: grid.nz + (halo & SIDE_Z_MAX != 0) as u64,
            first: [0; 3],
            missing: Missing::new::<T>(c.fill_value),
            rule,
        })
    }

    /// Whether there is a vertex (x, y), owned or a ghost.
    fn covers(&self, x: i64, y: i64) -> bool {
        (-self.columns_before..self.columns as i64).contains(&x)
            && (-self.rows_before..self.rows as i64).contains(&y)
    }

    /// Vertices of a row that is loaded, and those of them that are no ghosts.
    fn row_length(&self) -> u64 {
        self.columns + self.first[0].unsigned_abs()
    }

    fn owned_of_row(&self) -> Range<usize> {
        let ghosts = self.first[0].unsigned_abs() as usize;
        ghosts..ghosts + self.grid.nx as usize
    }

    /// Copies row `y` of a plane, from the first column of cells on.
    fn load<T: Real, const N: usize>(&self, views: &[View<'_, T>; N], y: i64, rows: &mut [Vec<T>; N]) {
        let [_, y] = self.grid.wrapped([0, y]);
        for (view, row) in views.iter().zip(rows) {
            if self.grid.periodic & PERIODIC_X == 0 {
                view.read_row(self.first[0], y, row);
            } else {
                let owned = self.grid.nx as usize;
                view.read_row(0, y, &mut row[..owned]);
                row[owned] = row[0];
            }
        }
    }

    /// Makes the filled vertices of a row NaN; `seen` gets the column of each, and whether it was finite.
    fn hide_filled<T: Real, const N: usize>(&self, row: &mut [Vec<T>; N], mut seen: impl FnMut(usize, bool)) {
        if !self.missing.has_fill() {
            return;
        }
        for x in 0..row[0].len() {
            let vertex: [T; N] = std::array::from_fn(|k| row[k][x]);
            if self.missing.is_filled(vertex) {
                seen(x, vertex.iter().all(|component| component.is_finite()));
                row.iter_mut().for_each(|component| component[x] = T::from_f64(f64::NAN));
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
fn of_plane<T: Real, const N: usize>(views: [View<'_, T>; N], z: u64) -> [View<'_, T>; N] {
    views.map(|view| view.plane(z))
}

/// Runs an analysis in the default floating-point environment, with memory that a failure is described in.
pub(crate) fn guarded<R>(work: impl FnOnce() -> Result<R>) -> Result<R> {
    let _reserve = Reserve::new()?;
    float_env::with_default(work)
}

/// Rows of zeros, one for each component.
fn rows_of<T: Real, const N: usize>(columns: u64) -> Result<[Vec<T>; N]> {
    let mut rows = std::array::from_fn(|_| Vec::new());
    for row in &mut rows {
        *row = row_of(T::ZERO, columns)?;
    }
    Ok(rows)
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
