//! The bytes of a stream; nothing else knows where they lie.

pub mod container;
