//! The vertices of a tile to symbols, and back.

pub mod bounds;
pub mod builder;
pub mod component;
pub mod constraints;
pub mod decode;
pub mod encode;
mod fan;
pub mod lattice;
pub mod lorenzo_decode;
pub mod lorenzo_encode;
mod on_demand;
pub mod samples;
mod signs;
mod spans;
pub mod symbols_by_position;
mod traversal;
mod vertex;
pub mod volume;
pub mod volume_builder;
pub mod volume_decode;
pub mod window;
