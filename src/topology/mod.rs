//! Properties that compression must keep, and how far a vertex may move without changing it.

pub mod bound;
pub mod exact_type;
mod interval;
pub mod signature;
pub mod tetrahedron;
pub mod tetrahedron_bound;
pub mod tetrahedron_type;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod volume_properties;
