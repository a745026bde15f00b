//! The vertices of a tile to symbols, and back.

pub mod coding;
pub mod constraints;
pub mod decode;
pub mod encode;
pub mod lattice;
pub mod samples;
mod spans;
mod traversal;
mod vertex;
pub mod window;
