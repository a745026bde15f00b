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
    /// Distances along the axes, which no bound is below, of triangles whose bounds are not found; the largest
    /// value for other triangles, and where none is near the origin.
    distances: ByTriangle<T>,
    /// Bounds that are found; the largest value elsewhere.
    bounds: ByTriangle<T>,
}

impl<T: Real> Default for BoundsOnDemand<T> {
    fn default() -> Self {
        let none = [[T::MAX; PITCH * (FRAMED + 1)]; 2];
        BoundsOnDemand { origin: (0, 0), distances: none, bounds: none }
    }
}

/// Index of the cell at the upper left of vertex (x, y).
#[inline(always)]
fn cell_before(x: usize, y: usize) -> usize {
    y * PITCH + x
}

/// The incident triangles of a vertex: the kind, and the distance of the index from the cell at the upper left.
const AROUND: [(usize, usize); 6] = {
    let mut around = [(0, 0); 6];
    let mut k = 0;
    while k < 6 {
        let (dx, dy, triangle) = INCIDENT[k];
        around[k] = (triangle as usize, (dy + 1) as usize * PITCH + (dx + 1) as usize);
        k += 1;
    }
    around
};

impl<T: Real> BoundsOnDemand<T> {
    /// Forgets the triangles of the window before; this one has `height` rows.
    pub(super) fn clear(&mut self, height: usize) {
        for values in [&mut self.distances, &mut self.bounds] {
            values.iter_mut().for_each(|of_kind| of_kind[..PITCH * (height + 1)].fill(T::MAX));
        }
    }

    /// The distances along the axes of the triangles of a row of cells, those up to `bound`.
    #[inline(always)]
    pub(super) fn set_row(&mut self, y: usize, cells: usize, distances: &[[T; FRAMED]; 2], bound: T) {
        for (row, distances) in self.distances.iter_mut().zip(distances) {
            let row = &mut row[cell_before(1, y + 1)..][..cells];
            for (to, &distance) in row.iter_mut().zip(distances) {
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
        let mut least =
            AROUND.iter().fold(T::MAX, |least, &(kind, k)| least.min(self.bounds[kind][first + k]));
        let mut distances = AROUND.map(|(kind, k)| self.distances[kind][first + k]);
        loop {
            let nearest = distances.iter().fold(T::MAX, |nearest, &distance| nearest.min(distance));
            if nearest >= least {
                return least;
            }
            let next = distances.iter().position(|&distance| distance == nearest).unwrap_or(0);
            let ((dx, dy, triangle), (kind, k)) = (INCIDENT[next], AROUND[next]);
            let (cx, cy) = (x.wrapping_add_signed(dx as isize), y.wrapping_add_signed(dy as isize));
            let bound = find((self.origin.0 + cx as u64, self.origin.1 + cy as u64), triangle);
            (self.bounds[kind][first + k], self.distances[kind][first + k]) = (bound, T::MAX);
            distances[next] = T::MAX;
            least = least.min(bound);
        }
    }
}
