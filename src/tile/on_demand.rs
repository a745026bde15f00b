//! Bounds of the triangles of a window, each computed when it is first needed.

use crate::grid::element::Real;
use crate::grid::mesh::{self, Triangle, STAR, TRIANGLES};
use crate::grid::tiles::FRAMED;
use crate::predict::interpolation::PITCH;
use crate::runtime::vectors::in_wide_vectors;

/// A value for each triangle of a window, and for the cells before its first column and row.
type ByTriangle<T> = [[T; PITCH * (FRAMED + 1)]; TRIANGLES];

/// Number of cells whose triangles are processed together, by vector instructions.
pub(super) const PART: usize = 8;

/// Bounds of triangles, computed on demand.
pub(super) struct BoundsOnDemand<T> {
    /// The vertex of the grid that the window begins with.
    pub(super) origin: (u64, u64),
    /// The bound of each triangle; of an open triangle a lower bound, its distance from the origin along the
    /// axes; of a triangle that is not near the origin the largest value.
    bounds: ByTriangle<T>,
    /// Open triangles: those whose bounds are not computed yet. A bit for each column of cells.
    open: [[u64; FRAMED + 1]; TRIANGLES],
}

/// Index of the cell at the upper left of vertex (x, y).
#[inline(always)]
fn cell_before(x: usize, y: usize) -> usize {
    y * PITCH + x
}

/// The incident triangles of a vertex: the kind, and column and row of the cell, counted from the one at the
/// upper left.
const AROUND: [(usize, usize, usize); mesh::AROUND] = {
    let mut around = [(0, 0, 0); mesh::AROUND];
    let mut k = 0;
    while k < mesh::AROUND {
        let [dx, dy] = STAR[k].cell;
        around[k] = (STAR[k].triangle as usize, (dx + 1) as usize, (dy + 1) as usize);
        k += 1;
    }
    around
};

impl<T: Real> BoundsOnDemand<T> {
    /// Forgets the triangles of the window before; this one has `height` rows.
    pub(super) fn clear(&mut self, height: usize) {
        self.bounds.iter_mut().for_each(|of_kind| of_kind[..PITCH * (height + 1)].fill(T::MAX));
        self.open = [[0; FRAMED + 1]; TRIANGLES];
    }

    /// The bounds of the triangles of a row of cells, or their distances along the axes where bits of `open`
    /// are set.
    #[inline(always)]
    pub(super) fn set_row(
        &mut self,
        y: usize,
        cells: usize,
        bounds: &[[T; FRAMED]; TRIANGLES],
        open: [u64; TRIANGLES],
    ) {
        for kind in 0..TRIANGLES {
            self.open[kind][y + 1] = open[kind] << 1;
            self.bounds[kind][cell_before(1, y + 1)..][..cells].copy_from_slice(&bounds[kind][..cells]);
        }
    }

    /// The least bound of the triangles around a vertex. Bounds are computed in the order of distance from
    /// the origin, until the distance of the next triangle is no less than the least bound so far. `one(cell,
    /// triangle)` finds the bound of a triangle; `part(first cell)` the distances of edges of the triangles
    /// of [`PART`] cells, which bound those that are on one side of an axis, nearer than `bound`.
    #[inline(always)]
    pub(super) fn least_around(
        &mut self,
        (x, y): (usize, usize),
        bound: f64,
        one: impl Fn((usize, usize), Triangle) -> T,
        part: impl Fn((usize, usize)) -> [[T; PART]; 2],
    ) -> T {
        let first = cell_before(x, y);
        loop {
            let bounds = AROUND.map(|(kind, dx, dy)| self.bounds[kind][first + dy * PITCH + dx]);
            let least = bounds.into_iter().fold(T::MAX, |least, bound| least.min(bound));
            // Not by comparisons on the way, whose outcomes cannot be predicted.
            let are_least =
                bounds.iter().rev().fold(0u32, |bits, &bound| bits << 1 | (bound == least) as u32);
            let at = are_least.trailing_zeros() as usize % AROUND.len();
            let (kind, dx, dy) = AROUND[at];
            let (open, bit) = (&mut self.open[kind][y + dy], 1 << (x + dx));
            if *open & bit == 0 {
                return least;
            }
            let cell = (x + dx - 1, y + dy - 1);
            if least > T::ZERO {
                let begin = (cell.0 / PART * PART, cell.1);
                in_wide_vectors(
                    #[inline(always)]
                    || {
                        let [lower, upper] = part(begin);
                        self.bound_part(0, begin, &lower, bound);
                        self.bound_part(1, begin, &upper, bound);
                    },
                );
            } else {
                *open ^= bit;
                self.bounds[kind][first + dy * PITCH + dx] = one(cell, STAR[at].triangle);
            }
        }
    }

    /// Raises the distances of triangles on one side of an axis to those of their edges.
    #[inline(always)]
    fn bound_part(&mut self, kind: usize, (x, y): (usize, usize), edges: &[T; PART], bound: f64) {
        let open = self.open[kind][y + 1] >> (x + 1);
        let row = &mut self.bounds[kind][cell_before(x + 1, y + 1)..][..PART];
        let mut raised = 0;
        // Written without branches, so that the compiler can use vector instructions.
        for i in 0..PART {
            let distance = row[i];
            let is_open = (open >> i & 1 != 0) & (distance > T::ZERO);
            let raises = is_open & (distance.to_f64() < bound);
            row[i] = if raises { distance.max(edges[i]) } else { distance };
            raised |= (is_open as u64) << i;
        }
        self.open[kind][y + 1] ^= raised << (x + 1);
    }
}
