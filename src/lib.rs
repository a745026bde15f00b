//! factz compresses 2D vector fields (u, v at the vertices of a regular grid) within an error bound
//! and keeps every critical point: same triangle, none new, same type.
//!
//! Data flows one way:
//!
//! ```text
//! compress:    field -> statistics -> vertex bounds -> predict + quantize -> count -> tables -> encode -> assemble
//! decompress:  stream -> parse -> decode -> reconstruct -> field
//! ```
//!
//! A folder is a room, and imports go down this list, never up (`tests/layout.rs`):
//!
//! | room | what it holds |
//! |---|---|
//! | `capi` | the C interface, the only `extern "C"` |
//! | `cpu`, `cuda` | the phases on threads and on a device; no numerics |
//! | `analysis` | comparison of fields, critical points, ranges |
//! | `tile` | the vertices of a tile to symbols, and back |
//! | `predict` | the value that a vertex is expected to have |
//! | `topology` | what must not change, and how far a vertex may move |
//! | `entropy` | symbols to words, and back |
//! | `stream` | the bytes; nothing else knows where they lie |
//! | `report`, `config_text`, `request` | results, choices as text, validated choices |
//! | `grid` | arrays, tiles, triangles, element types |
//! | `runtime`, `error` | threads, memory, events; errors |

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
