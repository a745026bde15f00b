//! The process that the library runs in: floating-point environment, panics, events, memory, threads.

pub mod float_env;
pub mod log;
pub mod memory;
pub mod panics;
pub mod pool;
