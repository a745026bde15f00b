//! The value that a vertex is expected to have, and the quantisation of the difference.

pub mod anchors;
pub mod interpolation;
pub mod lorenzo;
pub mod quantizer;
pub mod tuning;
pub mod volume;
