//! The grid and the values at its vertices: element types, views of the caller's arrays, tiles, the mesh,
//! missing vertices. A leaf: it knows no other part of the codec.

pub mod element;
pub mod field;
pub mod masks;
pub mod mesh;
pub mod missing;
pub mod range;
pub mod sides;
pub mod tetrahedra;
pub mod tiles;
pub mod volume_simplex;
pub mod volume_tiles;
pub mod wide_range;
