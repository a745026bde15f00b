//! The stages of the codec. Each has a CUDA twin of the same name under `kernels/stage`.

pub mod bound;
pub mod signature;
