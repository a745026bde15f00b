//! Entropy coding: adaptive tables and the coders that use them. Integers only, so that every
//! backend writes the same bytes.

pub mod ans;
pub mod group;
pub mod table;
