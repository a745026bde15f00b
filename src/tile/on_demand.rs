//! Bounds of the triangles of a window that are found where they are asked for.

use crate::grid::element::Real;
use crate::grid::tiles::FRAMED;
use crate::predict::interpolation::PITCH;

/// Bounds of triangles that are found where they are asked for.
pub(super) struct BoundsOnDemand<T> {
    /// The vertex of the grid that the window begins with.
    pub(super) origin: (u64, u64),
    /// Lower and upper triangles of each row of cells: those that constrain their vertices, and those whose
    /// bound is found.
    pub(super) near: [[u64; 2]; FRAMED],
    pub(super) known: [[u64; 2]; FRAMED],
    pub(super) found: [[T; PITCH * FRAMED]; 2],
}

impl<T: Real> Default for BoundsOnDemand<T> {
    fn default() -> Self {
        BoundsOnDemand {
            origin: (0, 0),
            near: [[0; 2]; FRAMED],
            known: [[0; 2]; FRAMED],
            found: [[T::ZERO; PITCH * FRAMED]; 2],
        }
    }
}
