//! `factz_range`: the range of a field, so that blocks and time steps can share a relative bound.

use super::arguments::{guard_with_output, thread_count, typed, views, Field, Ghosts, Output};
use super::config::{factz_config, inputs, read_field_request};
use super::status::factz_status;
use crate::analysis::{range, ValueRange};
use crate::runtime::float_env;
use std::ffi::{c_int, c_void};

/// The range of the values of a field, u and v together. Aligned to 8 bytes.
///
/// Blocks of a field, or its time steps, share a relative bound in this way: each finds its range, the least
/// `low` and the largest `high` of all are joined (MPI_Allreduce with MPI_MIN and MPI_MAX), and all compress
/// with bound_kind = FACTZ_BOUND_ABSOLUTE and bound = factz_relative_bound(fraction, low, high).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_range {
    /// The status of the search; the other fields count only when it is FACTZ_OK.
    pub status: factz_status,
    /// 0.
    pub reserved_status: i32,
    /// Least finite value of the vertices that are not filled; +infinity where there is none, so that a
    /// minimum over blocks is right.
    pub low: f64,
    /// Largest such value; -infinity where there is none.
    pub high: f64,
    /// Vertices with a NaN or an infinity. Their finite component counts in the range.
    pub nonfinite_vertices: u64,
    /// Finite vertices where u or v has the bits of config->fill_value.
    pub filled_vertices: u64,
    /// Vertices with u = v = 0 that are not filled.
    pub zero_vertices: u64,
    /// 0.
    pub reserved: [u64; 2],
}

assert_layout! {
    factz_range, 64 bytes:
    status 0, low 8, high 16, nonfinite_vertices 24, filled_vertices 32, zero_vertices 40, reserved 48
}

impl From<ValueRange> for factz_range {
    fn from(found: ValueRange) -> Self {
        factz_range {
            status: 0,
            reserved_status: 0,
            low: found.low,
            high: found.high,
            nonfinite_vertices: found.nonfinite_vertices,
            filled_vertices: found.filled_vertices,
            zero_vertices: found.zero_vertices,
            reserved: [0; 2],
        }
    }
}

/// Finds the range of a field in host memory. Ghost vertices do not count.
///
/// @param u        x components, laid out as config says
/// @param v        y components
/// @param n        number of vertices, nx * ny
/// @param config   nx, ny, dtype, the layout and the fill value; the rest must be valid and has no effect
/// @param range    receives the range; if the call fails, its status and a range without values
/// @param threads  see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_range_host(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    range: *mut factz_range,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_range>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        output.check_apart(&[&field.u, &field.v])?;
        let threads = thread_count(threads)?;
        let found = typed!(request.config().dtype, T => {
            // SAFETY: u and v cover the request's grid, as the caller promised.
            let components = unsafe { views::<T>(&request, [u, v], Ghosts::Ignored) };
            range::range(&request, components, threads)
        })?;
        output.set(found.into());
        Ok(())
    };
    let empty = ValueRange::default().into();
    // SAFETY: the caller gave a whole struct.
    unsafe { guard_with_output("range", range, empty, body, |r, status| r.status = status) }
}

/// The absolute bound that a relative one stands for in a field with this range: `relative * (high - low)`,
/// rounded as compression with FACTZ_BOUND_RELATIVE rounds it. If `high - low` overflows, the bound is
/// `relative * high - relative * low`, at most the largest double. It is 0 if low is above high (no values),
/// and NaN if relative is negative or not finite or if low or high is NaN. Allocates nothing and does not
/// change the last error.
///
/// @param relative  the bound as a fraction of the range
/// @param low       factz_range.low, or the least of several
/// @param high      factz_range.high, or the largest of several
/// @return the absolute bound
#[unsafe(no_mangle)]
pub extern "C" fn factz_relative_bound(relative: f64, low: f64, high: f64) -> f64 {
    if !(relative.is_finite() && relative >= 0.0) || low.is_nan() || high.is_nan() {
        return f64::NAN;
    }
    float_env::with_default(|| range::relative_bound(relative, low, high))
}
