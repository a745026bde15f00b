//! Entropy coding: adaptive tables and the coders that use them. Integers only, so that every
//! backend writes the same bytes.

pub mod differences;
pub mod groups;
pub mod huffman;
pub mod lanes;
pub mod lists;
pub mod quantized_tile;
pub mod rans;
pub mod symbols;
pub mod tables;
pub mod triples;
