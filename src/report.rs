//! Results of calls, and the description of a stream.

use crate::error::Status;
use crate::request::{BoundKind, Coder, Component, Dtype, Mode, Predictor, Preserve, Ties};
use crate::runtime::log::event;

/// The outcome of a compression or decompression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    pub status: Status,
    /// Bytes of the stream written (compression) or read (decompression; of a region, a part).
    pub stream_bytes: u64,
    /// Bytes the stream takes, also when the output buffer was too small for it.
    pub required_bytes: u64,
    /// Vertices stored bit for bit because no lossy value could be certified.
    pub exact_vertices: u64,
    /// Vertices with a NaN or an infinity.
    pub nonfinite_vertices: u64,
    /// Vertices with u = v = 0 that are not filled.
    pub zero_vertices: u64,
    /// Critical points of the field that lie strictly inside triangles (0 with preserve none, and after
    /// decompression). Those at vertices and on edges are not among them: [`crate::critical_points()`] lists
    /// all.
    pub points_in_triangles: u64,
    /// The absolute bound that was applied.
    pub bound: f64,
    /// Largest |reconstructed - original| over all finite values, as computed in the type of the field (0
    /// after decompression).
    pub max_error: f64,
    /// Vertices with the fill value, stored bit for bit.
    pub filled_vertices: u64,
    /// Bits of `WARNING_*`.
    pub warnings: u32,
}

/// The range exceeds a high quantile of the magnitudes by far: perhaps a fill value that was not named.
pub const WARNING_WIDE_RANGE: u32 = 1;

impl Default for Report {
    fn default() -> Self {
        Report {
            status: Status::Ok,
            stream_bytes: 0,
            required_bytes: 0,
            exact_vertices: 0,
            nonfinite_vertices: 0,
            zero_vertices: 0,
            points_in_triangles: 0,
            bound: 0.0,
            max_error: 0.0,
            filled_vertices: 0,
            warnings: 0,
        }
    }
}

impl Report {
    /// Says what the warnings are about.
    pub(crate) fn log_warnings(&self) {
        if self.warnings & WARNING_WIDE_RANGE != 0 {
            event!(
                WARN,
                "outliers make the range, a million times that of many other values: give the fill value or an \
                 absolute bound",
                bound = self.bound
            );
        }
    }
}

/// The header of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StreamInfo {
    pub format_version: u32,
    pub nx: u64,
    pub ny: u64,
    /// Planes; of a volume, vertices along z.
    pub nz: u64,
    /// Components of a vertex: 3 in a volume.
    pub components: u32,
    /// Periodic axes, as bits PERIODIC_X, PERIODIC_Y and PERIODIC_Z.
    pub periodic: u32,
    pub dtype: Dtype,
    pub mode: Mode,
    pub coder: Coder,
    pub predictor: Predictor,
    pub preserve: Preserve,
    pub ties: Ties,
    pub dx: f64,
    pub dy: f64,
    /// 1 of planes.
    pub dz: f64,
    /// The bound as the caller gave it, bit for bit.
    pub bound_kind: BoundKind,
    pub bound: f64,
    /// The absolute bound that follows from it.
    pub absolute_bound: f64,
    pub fill_value: Option<f64>,
    /// The only component that the stream holds; None if it holds both.
    pub component: Option<Component>,
    /// Bytes of the whole stream.
    pub stream_bytes: u64,
}

/// The outcome of making or applying a fix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixReport {
    pub status: Status,
    /// Bytes of the fix written or read.
    pub fix_bytes: u64,
    /// Bytes the fix takes, also when the output buffer was too small for it.
    pub required_bytes: u64,
    /// Vertices whose values the fix replaces.
    pub repaired_vertices: u64,
    /// Of these, vertices that take the bits of the original.
    pub exact_vertices: u64,
    /// Triangles, of a volume tetrahedra, of the reconstruction that do not keep what they must (0 after applying).
    pub violated_triangles: u64,
    /// Rounds until none was left (0 after applying).
    pub rounds: u64,
    /// The absolute bound that the reconstruction keeps, and the repaired field too.
    pub bound: f64,
    /// Largest |other - original| over the vertices of the reconstruction where the original has data.
    pub max_error: f64,
}

impl Default for FixReport {
    fn default() -> Self {
        FixReport {
            status: Status::Ok,
            fix_bytes: 0,
            required_bytes: 0,
            repaired_vertices: 0,
            exact_vertices: 0,
            violated_triangles: 0,
            rounds: 0,
            bound: 0.0,
            max_error: 0.0,
        }
    }
}

/// The header of a fix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixInfo {
    pub format_version: u32,
    pub nx: u64,
    pub ny: u64,
    /// Planes; of a volume, vertices along z.
    pub nz: u64,
    /// Components of a vertex: 3 in a volume.
    pub components: u32,
    /// Periodic axes, as bits PERIODIC_X, PERIODIC_Y and PERIODIC_Z.
    pub periodic: u32,
    pub dtype: Dtype,
    pub preserve: Preserve,
    pub ties: Ties,
    pub dx: f64,
    pub dy: f64,
    /// 1 of planes.
    pub dz: f64,
    /// The bound as the caller gave it, bit for bit.
    pub bound_kind: BoundKind,
    pub bound: f64,
    /// The absolute bound that follows from it.
    pub absolute_bound: f64,
    /// As in the [`FixReport`].
    pub max_error: f64,
    pub fill_value: Option<f64>,
    /// The checksum of the reconstruction that the fix belongs to.
    pub reconstruction_checksum: u32,
    pub repaired_vertices: u64,
    pub exact_vertices: u64,
    /// Bytes of the whole fix.
    pub fix_bytes: u64,
}
