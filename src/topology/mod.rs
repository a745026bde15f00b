//! Properties that compression must keep, and how far a vertex may move without changing it.

pub mod bound;
mod exact_integer;
pub mod exact_type;
pub mod exact_volume_type;
mod interval;
pub mod signature;
pub mod tetrahedron;
pub mod tetrahedron_bound;
pub mod tetrahedron_type;
pub mod zero_set;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod volume_properties;
