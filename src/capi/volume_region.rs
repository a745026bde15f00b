//! Decompression of a part of a volume on the host.

use super::arguments::{thread_count, typed, Ghosts, Output, Span};
use super::config::{factz_config, read_volume_part_request};
use super::inspect::check_source;
use super::region::{factz_read_callback, reader};
use super::report::{factz_report, guard_with_report};
use super::status::factz_status;
use super::volume::{check_components_apart, outputs, spans, NAMES};
use crate::cpu::{Execution, Source};
use crate::error::Result;
use crate::report::Report;
use crate::volume;
use std::ffi::{c_int, c_void};

/// Decompresses a region of the volume of a stream in host memory: a box of vertices. A plane is the region of one
/// vertex along an axis.
///
/// The values are bit for bit those of `factz_decompress_volume_host`. Tiles of 16 x 16 x 16 vertices are coded in
/// groups of up to 256, and repaired vertices in chunks of up to 512. The groups that hold tiles of the region or
/// next to it are decoded, and the chunks of these tiles. Working memory is in proportion to these tiles, to the
/// number of groups and to that of chunks, not to the volume. About the checksum see `factz_decompress_region_host`.
///
/// @param src        the stream; any alignment
/// @param src_bytes  readable bytes at src: the length of the stream or more
/// @param config     the configuration of a volume (`factz_config_init_volume`). nx, ny and nz are the vertices of the
///                   region, 1 or more along each axis; pitches, strides and plane_rows are those of the output; dtype
///                   must be that of the stream. verify_checksum: compared only if the region takes all groups. halo,
///                   pin and periodic are ignored; the rest must be valid and has no effect
/// @param x0         first column of the region in the volume
/// @param y0         first row of the region in the volume
/// @param z0         first plane of the region in the volume
/// @param u          receives the x components: vertex (x0, y0, z0), then the others as config says
/// @param v          receives the y components; may be interleaved with u, without sharing an element
/// @param w          receives the z components
/// @param n          number of vertices of the region, nx * ny * nz of config
/// @param report     receives the result: stream_bytes are the bytes that were read, required_bytes those of the
///                   whole stream, exact_vertices those of the region
/// @param threads    see "Threads" at the top of this header
/// @return as `factz_decompress_volume_host`; FACTZ_ERROR_INVALID_ARGUMENT also if the region is not inside the
///         volume
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_volume_region_host(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    x0: u64,
    y0: u64,
    z0: u64,
    u: *mut c_void,
    v: *mut c_void,
    w: *mut c_void,
    n: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let region = Region { config, first: [x0, y0, z0], outputs: [u, v, w], n, threads };
    let body = |output: &mut Output<factz_report>| {
        output.check_apart(&[&Span::of("config", config)])?;
        let span = check_source(src, src_bytes)?;
        output.check_apart(&[&span])?;
        // SAFETY: not null, and the caller promised src_bytes readable bytes that nobody changes.
        let stream = unsafe { std::slice::from_raw_parts(src.cast::<u8>(), src_bytes) };
        let apart = |arrays: &[Span; 3]| span.check_apart(&arrays.each_ref());
        // SAFETY: the caller gave a whole struct, and arrays as it says.
        unsafe { region.decompress(output, Source::Memory(stream), apart) }
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, 0, body) }
}

/// Decompresses a region of the volume of a stream of which only the needed pieces are read: from a file, an
/// archive or an object store.
///
/// As `factz_decompress_volume_region_host`, with a function in place of the stream. The function is called for the
/// header (FACTZ_VOLUME_INSPECT_BYTES), for the bytes up to the groups, for each run of consecutive groups and the
/// directory of repaired vertices, and then for the chunks of repaired vertices.
///
/// @param read       the function that reads
/// @param user       handed to `read` as it is; may be NULL
/// @param src_bytes  bytes that `read` can read: the length of the stream or more
/// @param config     as for `factz_decompress_volume_region_host`
/// @param x0         first column of the region in the volume
/// @param y0         first row of the region in the volume
/// @param z0         first plane of the region in the volume
/// @param u          receives the x components
/// @param v          receives the y components
/// @param w          receives the z components
/// @param n          number of vertices of the region, nx * ny * nz of config
/// @param report     receives the result, as for `factz_decompress_volume_region_host`
/// @param threads    see "Threads" at the top of this header
/// @return as `factz_decompress_volume_region_host`; FACTZ_ERROR_READ (`read` did not return 0)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_read_volume_region_host(
    read: factz_read_callback,
    user: *mut c_void,
    src_bytes: u64,
    config: *const factz_config,
    x0: u64,
    y0: u64,
    z0: u64,
    u: *mut c_void,
    v: *mut c_void,
    w: *mut c_void,
    n: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let region = Region { config, first: [x0, y0, z0], outputs: [u, v, w], n, threads };
    let body = |output: &mut Output<factz_report>| {
        output.check_apart(&[&Span::of("config", config)])?;
        // SAFETY: the caller gave a function that does what its type says.
        let mut read_at = unsafe { reader(read, user) }?;
        // SAFETY: the caller gave a whole struct, and arrays as it says.
        unsafe { region.decompress(output, Source::Read(src_bytes, &mut read_at), |_| Ok(())) }
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, 0, body) }
}

/// The arguments that both functions have.
struct Region {
    config: *const factz_config,
    first: [u64; 3],
    outputs: [*mut c_void; 3],
    n: usize,
    threads: c_int,
}

impl Region {
    /// # Safety
    /// `config` is null or points to a readable struct, and the outputs cover what it says.
    unsafe fn decompress(
        &self,
        output: &mut Output<factz_report>,
        source: Source<'_>,
        check_source_apart: impl FnOnce(&[Span; 3]) -> Result<()>,
    ) -> Result<Report> {
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_volume_part_request(self.config, self.n) }?;
        let config = request.config();
        let arrays = spans(NAMES, self.outputs.map(|array| array.cast_const()), config, Ghosts::Ignored)?;
        output.check_apart(&arrays.each_ref())?;
        check_source_apart(&arrays)?;
        check_components_apart(&arrays, self.outputs, config)?;
        let execution = Execution { threads: thread_count(self.threads)?, progress: None };
        typed!(config.dtype, T => {
            // SAFETY: the components cover the request's grid, as the caller promised, and share no element.
            let views = unsafe { outputs::<T>(&request, self.outputs) };
            volume::decompress_volume_region(config, source, self.first, views, execution)
        })
    }
}
