//! The constraints on the vertices of a field.

use crate::grid::missing::Missing;
use crate::request::{Mode, Preserve};
use crate::topology::signature::Rule;

/// The error bound and what else a reconstruction must keep.
#[derive(Clone, Copy, Debug)]
pub struct Constraints<T> {
    pub mode: Mode,
    pub preserve: Preserve,
    pub rule: Rule,
    /// The absolute error bound, no more than is of use.
    pub bound: f64,
    /// The error bound rounded up to T.
    pub bound_up: T,
    /// Sides with ghost vertices.
    pub halo: u32,
    /// Sides whose vertices are stored exactly.
    pub pin: u32,
    /// Whether the bounds of vertices are found only where an error is not below the distances of their
    /// triangles from the origin along the axes. The sides of the grid must then be neither pinned nor beside
    /// a halo.
    pub bounds_on_demand: bool,
    pub missing: Missing,
    /// Bits of u and v of the vertices under the fill mask: the fill value, or those of the first non-finite
    /// vertex.
    pub fill: Option<[u64; 2]>,
}
