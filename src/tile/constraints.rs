//! The constraints on the vertices of a field.

use crate::grid::missing::Missing;
use crate::request::{Mode, Preserve};
use crate::topology::signature::Rule;

/// The error bound and all other conditions on a reconstruction.
#[derive(Clone, Copy, Debug)]
pub struct Constraints<T> {
    pub mode: Mode,
    pub preserve: Preserve,
    pub rule: Rule,
    /// The absolute error bound that is applied (`ErrorBound::useful`).
    pub bound: f64,
    /// The error bound rounded up to T.
    pub bound_up: T,
    /// Sides with ghost vertices.
    pub halo: u32,
    /// Sides whose vertices are stored exactly.
    pub pin: u32,
    /// Whether the bound of a vertex is computed on demand: only if its error is not below the distances from
    /// the origin, along the axes, of its triangles. No side of the grid may be pinned or have a halo then.
    pub bounds_on_demand: bool,
    pub missing: Missing,
    /// Bits of u and v of the vertices under the fill mask: the fill value, or those of the first non-finite
    /// vertex.
    pub fill: Option<[u64; 2]>,
}
