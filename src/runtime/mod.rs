//! The process that the library runs in: floating-point environment, panics, events, memory, threads,
//! vector instructions.

pub mod float_env;
pub mod log;
pub mod memory;
pub mod panics;
pub mod pool;
pub mod vectors;
