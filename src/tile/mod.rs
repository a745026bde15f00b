//! The vertices of a tile and their symbols.

pub mod coding;
mod decode;
mod encode;
pub mod window;

pub use decode::{Decoded, Decoder};
pub use encode::Encoder;
