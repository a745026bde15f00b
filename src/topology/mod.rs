//! Properties that compression must keep, and how far a vertex may move without changing it.

pub mod bound;
pub mod exact_type;
pub mod signature;

#[cfg(test)]
mod properties;
