//! Critical points in the cells between the last and the first vertices of periodic axes. These cells belong
//! to no tile. Twin: kernels/compress/seam.cuh.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::Triangle;
use crate::grid::tiles::{Grid, PERIODIC_X, PERIODIC_Y};
use crate::request::Preserve;
use crate::runtime::pool::{stateless, Threads};
use crate::tile::constraints::Constraints;
use crate::topology::signature::{is_critical, signature};

/// The cells of a plane that reach across a periodic side, by number: those of the last column, then those of
/// the last row.
#[derive(Clone, Copy)]
pub(super) struct Seam {
    grid: Grid,
    of_column: u64,
    of_row: u64,
}

impl Seam {
    pub(super) fn new(grid: Grid) -> Seam {
        let [x, y] = [PERIODIC_X, PERIODIC_Y].map(|bit| grid.periodic & bit != 0);
        // The cell in the corner of the last column and the last row counts in the last row.
        let of_column = if x { grid.ny - 1 } else { 0 };
        let of_row = if y { grid.nx - !x as u64 } else { 0 };
        Seam { grid, of_column, of_row }
    }

    /// Cells of a plane.
    fn cells(&self) -> u64 {
        self.of_column + self.of_row
    }

    fn cell(&self, k: u64) -> [i64; 2] {
        match k < self.of_column {
            true => [self.grid.nx as i64 - 1, k as i64],
            false => [(k - self.of_column) as i64, self.grid.ny as i64 - 1],
        }
    }

    /// Counts the triangles of these cells, in all planes, that have a critical point.
    pub(super) fn points<T: Real>(
        &self,
        views: [View<'_, T>; 2],
        constraints: &Constraints<T>,
        threads: Threads,
    ) -> Result<u64> {
        if self.cells() == 0 || constraints.preserve == Preserve::None {
            return Ok(0);
        }
        let counts = threads.map(self.grid.nz as usize, stateless, |_, z| {
            let views = views.map(|view| view.plane(z as u64));
            Ok((0..self.cells()).map(|k| self.points_of_cell(views, self.cell(k), constraints)).sum())
        })?;
        Ok(counts.iter().sum::<u64>())
    }

    fn points_of_cell<T: Real>(
        &self,
        [u, v]: [View<'_, T>; 2],
        [x, y]: [i64; 2],
        constraints: &Constraints<T>,
    ) -> u64 {
        let has_point = |triangle: &Triangle| {
            let corners = triangle.offsets().map(|[dx, dy]| {
                let [x, y] = self.grid.wrapped([x + dx as i64, y + dy as i64]);
                [u.get(x, y), v.get(x, y)]
            });
            !corners.iter().any(|&corner| constraints.missing.is_missing(corner))
                && is_critical(signature(&corners, *triangle, &constraints.rule))
        };
        Triangle::ALL.iter().filter(|triangle| has_point(triangle)).count() as u64
    }
}
