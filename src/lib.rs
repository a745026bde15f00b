//! factz compresses 2D vector fields (u, v at the vertices of a regular grid) within an error bound
//! and keeps every critical point: same triangle, none new, same type.
//!
//! Data flows one way: a [`request`] is validated, a backend runs the [`stage`]s over tiles, and the
//! container holds the stream. [`compress`] and [`decompress`] are the Rust entry points; [`capi`]
//! is the C interface and the only place with `extern "C"`.

// Steps, lanes and levels index several parallel arrays and enter positions: the index is the subject.
#![allow(clippy::needless_range_loop)]

pub mod analysis;
pub mod backend;
pub mod capi;
pub mod error;
pub mod field;
mod fpenv;
pub mod geometry;
mod log;
mod memory;
pub mod options;
mod panics;
pub mod plan;
mod pool;
pub mod real;
pub mod report;
pub mod request;
pub mod stage;

pub use error::{Error, Result, Status};
pub use report::{Report, StreamInfo};
pub use request::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve, Request};
