//! Analysis of volumes: their critical points, and the comparison of two of them. A zero of the piecewise linear field
//! lies inside a tetrahedron, or alone on a face, on an edge or at a vertex (docs/algorithm.md, section 14).

mod compare;
mod fields;
mod kind;
mod layer;
mod points;

pub use compare::{compare_volume, VolumeComparison};
pub use kind::VolumeKind;
pub use points::{critical_points_volume, VolumePoint};
