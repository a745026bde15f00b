//! factz compresses vector fields (u and v, or u, v and w, at the vertices of a regular grid) within an error bound
//! and keeps every critical point: same triangle or tetrahedron, none new, same type.
//!
//! A [`Config`] says what is asked for, a [`Request`] is a configuration that was found consistent.
//! [`compress`] and [`decompress`] run on threads of the host, [`device`] holds their twins for CUDA streams,
//! and [`compare`] tells what a reconstruction kept. Errors are [`Error`]s: a [`Status`], whose numbers are
//! those of the C interface, and a message that names the argument and its value.
//!
//! ```
//! use factz::{compress, decompress, max_stream_bytes, BoundKind, Config, Execution, Request, View, ViewMut};
//!
//! // Two components of 40 x 30 vertices, row by row.
//! let (nx, ny) = (40, 30);
//! let at = |k: u64| ((k % nx) as f32 / 6.0, (k / nx) as f32 / 5.0);
//! let u: Vec<f32> = (0..nx * ny).map(at).map(|(x, y)| x.sin() * y.cos()).collect();
//! let v: Vec<f32> = (0..nx * ny).map(at).map(|(x, y)| x.cos() * y.sin()).collect();
//!
//! // Errors of at most a hundredth of the range of the values.
//! let config = Config::new(nx, ny, BoundKind::Relative, 1e-2);
//! let request = Request::new(config)?;
//! let mut stream = vec![0; max_stream_bytes(&request) as usize];
//! let report =
//!     compress(&request, View::dense(&u, nx), View::dense(&v, nx), &mut stream, Execution::default())?;
//! stream.truncate(report.stream_bytes as usize);
//!
//! let (mut u_out, mut v_out) = (vec![0f32; u.len()], vec![0f32; v.len()]);
//! let [to_u, to_v] = [&mut u_out, &mut v_out].map(|values| ViewMut::dense(values, nx));
//! decompress(&config, &stream, to_u, to_v, Execution::default())?;
//! assert!(u.iter().zip(&u_out).all(|(a, b)| ((a - b).abs() as f64) <= report.bound));
//! # Ok::<(), factz::Error>(())
//! ```
//!
//! # Inside
//!
//! Data flows one way:
//!
//! ```text
//! compress:    field -> statistics -> vertex bounds -> predict + quantize
//!                    -> count -> tables -> encode -> assemble -> stream
//! decompress:  stream -> parse -> decode -> reconstruct -> field
//! ```
//!
//! A folder is a module. Imports go down this list, never up (`tests/promises/layout.rs`):
//!
//! | module | contents |
//! |---|---|
//! | `capi` | the C interface, the only `extern "C"` |
//! | `volume` | volumes on threads: layer 1, repair, and the stream of both |
//! | `repair` | fixes, with which the reconstruction of any compressor keeps what factz promises |
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

// The C interface, and what tests of this repository need of streams: no part of the Rust interface.
#[doc(hidden)]
pub mod capi;
#[doc(hidden)]
pub mod entropy;
#[doc(hidden)]
pub mod grid;
#[doc(hidden)]
pub mod predict;
#[doc(hidden)]
pub mod stream;

mod analysis;
pub mod config_text;
mod cpu;
mod cuda;
mod error;
#[cfg(test)]
#[path = "../tests/support/random.rs"]
mod random;
mod repair;
mod report;
mod request;
mod runtime;
mod tile;
mod topology;
mod volume;

pub use analysis::{
    compare, compare_volume, critical_points, critical_points_volume, range, range_volume, relative_bound,
    Comparison, ComparisonOf, CriticalPoint, Kind, Simplex, ValueRange, VolumeComparison, VolumeKind,
    VolumePoint, VolumeSimplex,
};
pub use cpu::{
    compress, decompress, decompress_planes, decompress_region, inspect, join, max_stream_bytes, split,
    Execution, Progress, ReadAt, Source, INSPECT_BYTES, VOLUME_INSPECT_BYTES,
};
pub use error::{Error, Outside, Result, Status};
pub use grid::element::Real;
pub use grid::field::{Extent, Layout, View, ViewMut};
pub use grid::tiles::Grid;
pub use repair::{apply, inspect_fix, is_fix, max_fix_bytes, protect};
pub use repair::{apply_volume, max_volume_fix_bytes, protect_volume};
pub use report::{FixInfo, FixReport, Report, StreamInfo, WARNING_WIDE_RANGE};
pub use request::{BoundKind, Coder, Component, Config, Dtype, Mode, Predictor, Preserve, Request, Ties};
pub use request::{VolumeRequest, PERIODIC_Z, SIDES_ALL_OF_VOLUME, SIDE_Z_MAX, SIDE_Z_MIN};
pub use request::{PERIODIC_X, PERIODIC_Y, SIDES_ALL, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};

pub use volume::{compress_volume, decompress_volume, decompress_volume_region, max_volume_stream_bytes};

/// The codec and the analyses on a CUDA device: work is enqueued on the caller's stream, and nothing is
/// allocated or waited for. Memory is given by device addresses; sizes of workspaces come from
/// [`device::Workspace`] and [`device::AnalysisWorkspace`]. Without the feature `cuda` all of it answers
/// [`Status::NoDevice`].
pub mod device {
    pub use crate::cuda::workspace::{AnalysisWorkspace, Workspace, ALIGNMENT};
    pub use crate::cuda::{
        apply_device, apply_volume_device, protect_device, protect_volume_device, FixBuffers, FixMemory,
        VolumeFixBuffers,
    };
    pub use crate::cuda::{
        available, compare_device, compress_device, critical_points_device, decompress_device,
        decompress_planes_device, each_kernel, inspect_device, prepare_device, range_device, set_overlap,
        Buffers, ComparedFields, DevicePointer, Direction, PointBuffers, RangeBuffers, Stream,
    };
    pub use crate::cuda::{
        compress_volume_device, decompress_volume_device, each_volume_kernel, VolumeBuffers,
    };
}
