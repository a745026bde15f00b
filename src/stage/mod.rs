//! The stages of the codec. Each has a CUDA twin of the same name under `kernels/stage`.

pub mod anchor;
pub mod bound;
pub mod codes;
pub mod container;
pub mod entropy;
pub mod lorenzo;
pub mod missing;
pub mod predict;
pub mod quantize;
pub mod range;
pub mod signature;
pub mod symbol;
pub mod tile;
pub mod tune;
pub mod wide_range;
