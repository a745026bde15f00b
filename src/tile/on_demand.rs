//! Bounds of the triangles of a window that are found where they are asked for.

use crate::grid::element::Real;
use crate::grid::tiles::FRAMED;
use crate::grid::triangles::{Triangle, INCIDENT};
use crate::predict::interpolation::PITCH;

/// A value for each triangle of a window, and for the cells before its first column and row.
type ByTriangle<T> = [[T; PITCH * (FRAMED + 1)]; 2];

/// Bounds of triangles that are found where they are asked for.
pub(super) struct BoundsOnDemand<T> {
    /// The vertex of the grid that the window begins with.
    pub(super) origin: (u64, u64),
    /// The bounds of triangles; of open ones the distances along the axes, which no bound is below; the
    /// largest value where no triangle is near the origin.
    bounds: ByTriangle<T>,
    /// Triangles whose bounds are not found yet, a bit for each column of cells.
    open: [[u64; FRAMED + 1]; 2],
}

impl<T: Real> Default for BoundsOnDemand<T> {
    fn default() -> Self {
        let bounds = [[T::ZERO; PITCH * (FRAMED + 1)]; 2];
        BoundsOnDemand { origin: (0, 0), bounds, open: [[0; FRAMED + 1]; 2] }
    }
}

/// Index of the cell at the upper left of vertex (x, y).
#[inline(always)]
fn cell_before(x: usize, y: usize) -> usize {
    y * PITCH + x
}

/// The incident triangles of a vertex: the kind, and column and row of the cell, counted from the one at the
/// upper left.
const AROUND: [(usize, usize, usize); 6] = {
    let mut around = [(0, 0, 0); 6];
    let mut k = 0;
    while k < 6 {
        let (dx, dy, triangle) = INCIDENT[k];
        around[k] = (triangle as usize, (dx + 1) as usize, (dy + 1) as usize);
        k += 1;
    }
    around
};

impl<T: Real> BoundsOnDemand<T> {
    /// Forgets the triangles of the window before; this one has `height` rows.
    pub(super) fn clear(&mut self, height: usize) {
        self.bounds.iter_mut().for_each(|of_kind| of_kind[..PITCH * (height + 1)].fill(T::MAX));
        self.open = [[0; FRAMED + 1]; 2];
    }

    /// The distances along the axes of the triangles of a row of cells, those up to `bound`. `open` has a bit
    /// for each triangle that is as near and has a bound.
    #[inline(always)]
    pub(super) fn set_row(
        &mut self,
        y: usize,
        cells: usize,
        distances: &[[T; FRAMED]; 2],
        bound: T,
        open: [u64; 2],
    ) {
        for kind in 0..2 {
            self.open[kind][y + 1] = open[kind] << 1;
            let row = &mut self.bounds[kind][cell_before(1, y + 1)..][..cells];
            for (to, &distance) in row.iter_mut().zip(&distances[kind]) {
                *to = if distance <= bound { distance } else { T::MAX };
            }
        }
    }

    /// The least bound of the triangles around a vertex. `find(cell on the grid, triangle)` finds the bound of a
    /// triangle. Nearest triangles come first: no bound is found of those that are not nearer than the least one.
    #[inline(always)]
    pub(super) fn least_around(
        &mut self,
        (x, y): (usize, usize),
        find: impl Fn((u64, u64), Triangle) -> T,
    ) -> T {
        let first = cell_before(x, y);
        loop {
            let bounds = AROUND.map(|(kind, dx, dy)| self.bounds[kind][first + dy * PITCH + dx]);
            let (mut least, mut at) = (bounds[0], 0);
            for k in 1..AROUND.len() {
                let less = bounds[k] < least;
                (least, at) = (if less { bounds[k] } else { least }, if less { k } else { at });
            }
            let (kind, dx, dy) = AROUND[at];
            let (open, bit) = (&mut self.open[kind][y + dy], 1 << (x + dx));
            if *open & bit == 0 {
                return least;
            }
            *open ^= bit;
            let cell = (self.origin.0 + (x + dx) as u64 - 1, self.origin.1 + (y + dy) as u64 - 1);
            self.bounds[kind][first + dy * PITCH + dx] = find(cell, INCIDENT[at].2);
        }
    }
}
