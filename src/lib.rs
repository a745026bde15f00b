//! factz compresses 2D vector fields (u, v at the vertices of a regular grid) within an error bound
//! and keeps every critical point: same triangle, none new, same type.
//!
//! Data flows one way: a [`request`] is validated, a backend runs the [`stage`]s over tiles, and the
//! container holds the stream. [`compress`] and [`decompress`] are the Rust entry points; [`capi`]
//! is the C interface and the only place with `extern "C"`.

// Steps, lanes and levels index several parallel arrays and enter positions: the index is the subject.
#![allow(clippy::needless_range_loop)]

pub mod analysis;
pub mod capi;
pub mod config_text;
pub mod cpu;
pub mod cuda;
pub mod entropy;
pub mod error;
pub mod grid;
pub mod predict;
pub mod report;
pub mod request;
mod runtime;
pub mod stream;
pub mod tile;
pub mod topology;

pub use error::{Error, Result, Status};
pub use report::{Report, StreamInfo};
pub use request::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve, Request};
