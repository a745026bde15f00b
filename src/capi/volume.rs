//! Volumes on the host.

use super::arguments::{check_buffer, check_outputs, thread_count, typed, Ghosts, Output, Span};
use super::config::{factz_config, read_volume_request};
use super::inspect::check_source;
use super::report::{factz_report, guard_with_report};
use super::status::factz_status;
use crate::cpu::Execution;
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{Extent, Layout, View, ViewMut};
use crate::request::{Config, VolumeRequest};
use crate::volume;
use std::ffi::{c_int, c_void};

pub(super) const NAMES: [&str; 3] = ["u", "v", "w"];

/// The layouts of u, v and w.
fn layouts(config: &Config) -> [Layout; 3] {
    [config.u, config.v, config.w]
}

/// The bytes of u, v and w, with the ghosts that the call reads.
pub(super) fn spans(
    names: [&str; 3],
    components: [*const c_void; 3],
    config: &Config,
    ghosts: Ghosts,
) -> Result<[Span; 3]> {
    let span = |k: usize| Span::component(names[k], components[k], config, layouts(config)[k], ghosts);
    Ok([span(0)?, span(1)?, span(2)?])
}

fn extent(request: &VolumeRequest, layout: Layout, ghosts: Ghosts) -> Extent {
    let halo = request.config().halo & ghosts.sides();
    Extent::of(request.grid(), layout, halo).expect("a request fits the address space")
}

/// # Safety
/// The components cover the grid of the request, and the ghosts that the call reads, in elements of type T, and
/// nobody writes to them during `'a`.
pub(super) unsafe fn views<'a, T: Real>(
    request: &VolumeRequest,
    components: [*const c_void; 3],
    ghosts: Ghosts,
) -> [View<'a, T>; 3] {
    let layouts = layouts(request.config());
    let view = |k: usize| {
        let extent = extent(request, layouts[k], ghosts);
        // SAFETY: the promise of this function.
        unsafe { View::new(components[k].cast(), layouts[k], extent) }
    };
    [view(0), view(1), view(2)]
}

/// # Safety
/// The components cover the grid of the request in elements of type T, share none of them, and nobody else uses
/// them during `'a`.
pub(super) unsafe fn outputs<'a, T: Real>(
    request: &VolumeRequest,
    components: [*mut c_void; 3],
) -> [ViewMut<'a, T>; 3] {
    let layouts = layouts(request.config());
    let view = |k: usize| {
        let extent = extent(request, layouts[k], Ghosts::Ignored);
        // SAFETY: the promise of this function.
        unsafe { ViewMut::new(components[k].cast(), layouts[k], extent) }
    };
    [view(0), view(1), view(2)]
}

/// Refuses outputs that share values. Components that lie between each other have one layout and are less than
/// a row's step apart.
pub(super) fn check_components_apart(
    spans: &[Span; 3],
    components: [*mut c_void; 3],
    config: &Config,
) -> Result<()> {
    let (layouts, bytes) = (layouts(config), config.dtype.bytes() as usize);
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        if !spans[i].overlaps(&spans[j]) {
            continue;
        }
        let Layout { stride, pitch, .. } = layouts[i];
        let (stride, pitch) = (stride as usize * bytes, pitch as usize * bytes);
        let apart = (components[i] as usize).abs_diff(components[j] as usize);
        let is_between = apart >= bytes && apart + bytes <= stride;
        let rows = (apart / pitch) as u64;
        let is_plane = apart % pitch == 0 && rows >= config.ny && rows + config.ny <= config.plane_rows;
        if layouts[i] != layouts[j] || !(is_between || is_plane) {
            return Err(Error::argument(format!(
                "{} at {:p} and {} at {:p} share values: every vertex of the output needs its own u, v and w",
                NAMES[i], components[i], NAMES[j], components[j]
            )));
        }
    }
    Ok(())
}

/// The bytes that hold the stream, or the fix (`factz_protect_volume_host`), of any volume with a configuration,
/// whatever its values.
///
/// A pure function of the configuration. Does not block, thread-safe.
///
/// @param config            the configuration of a volume (`factz_config_init_volume`)
/// @param max_stream_bytes  written; 0 where the call fails
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or max_stream_bytes overlaps
///         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_volume_stream_bytes(
    config: *const factz_config,
    max_stream_bytes: *mut u64,
) -> factz_status {
    super::status::guard(|| {
        // SAFETY: the caller gave a whole number.
        let mut output = unsafe { Output::new("max_stream_bytes", max_stream_bytes, 0) }?;
        output.check_apart(&[&Span::of("config", config)])?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_volume_request("config", config) }?;
        output.set(volume::max_volume_stream_bytes(&request));
        Ok(())
    })
}

/// Compresses a volume in host memory: u, v and w at nx * ny * nz vertices.
///
/// Every cube of vertices is divided into six tetrahedra along its main diagonal. Critical points of the piecewise
/// linear field stay in their tetrahedron, none appears, and with FACTZ_PRESERVE_TYPES the eigenvalues of each keep
/// the signs of their real parts and stay real or complex. The stream does not depend on the number of threads. The
/// components may be interleaved. With a halo the tetrahedra between blocks are kept too, whatever the owner of the
/// other block does.
///
/// @param u          x components, laid out as config says; ghosts of config->halo are read
/// @param v          y components
/// @param w          z components
/// @param n          number of vertices, nx * ny * nz
/// @param config     the configuration of a volume (`factz_config_init_volume`)
/// @param dst        receives the stream; any alignment
/// @param dst_bytes  writable bytes at dst; `factz_volume_stream_bytes` gives a number that always suffices. With
///                   0, dst may be NULL: the call fails, and report->required_bytes is the length of the stream
/// @param report     receives the result; report->points_in_triangles counts tetrahedra with a critical point
/// @param threads    see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_BUFFER_TOO_SMALL (report->required_bytes bytes are needed; the content of dst is
///         undefined); FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compress_volume_host(
    u: *const c_void,
    v: *const c_void,
    w: *const c_void,
    n: usize,
    config: *const factz_config,
    dst: *mut c_void,
    dst_bytes: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_report>| {
        output.check_apart(&[&Span::of("config", config)])?;
        let target = check_buffer("dst", dst, dst_bytes)?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_volume_request("config", config) }?;
        check_vertices(n, &request)?;
        let inputs = spans(NAMES, [u, v, w], request.config(), Ghosts::Read)?;
        check_outputs(&[output.span(), &target], &inputs.each_ref())?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        let dst = match dst_bytes {
            0 => &mut [][..],
            // SAFETY: not null, and the caller promised dst_bytes writable bytes that nobody else uses.
            _ => unsafe { std::slice::from_raw_parts_mut(dst.cast::<u8>(), dst_bytes) },
        };
        typed!(request.config().dtype, T => {
            // SAFETY: the components cover the request's grid and its ghosts, as the caller promised.
            let views = unsafe { views::<T>(&request, [u, v, w], Ghosts::Read) };
            volume::compress_volume(&request, views, dst, execution)
        })
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, dst_bytes, body) }
}

/// Decompresses the stream of a volume in host memory.
///
/// Writes every vertex. Gaps between rows, planes and strided elements keep their content. The output does not
/// depend on the number of threads.
///
/// @param src        the stream; any alignment
/// @param src_bytes  readable bytes at src: the length of the stream or more
/// @param config     nx, ny, nz and dtype must be those of the stream. Pitches and strides are those of the output.
///                   verify_checksum says whether the checksum is compared. The rest must be valid and has no
///                   effect
/// @param u          receives the x components, laid out as config says
/// @param v          receives the y components; may be interleaved with u, without sharing an element
/// @param w          receives the z components
/// @param n          number of vertices, nx * ny * nz
/// @param report     receives the result
/// @param threads    see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the stream has other dimensions or another dtype, or
///         holds planes); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_CORRUPT_STREAM (the
///         content of u, v and w is undefined); FACTZ_ERROR_UNSUPPORTED_VERSION (see `factz_readable_formats`);
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_volume_host(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    w: *mut c_void,
    n: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_report>| {
        output.check_apart(&[&Span::of("config", config)])?;
        let source = check_source(src, src_bytes)?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_volume_request("config", config) }?;
        check_vertices(n, &request)?;
        let arrays = spans(NAMES, [u, v, w], request.config(), Ghosts::Ignored)?;
        output.check_apart(&arrays.each_ref())?;
        output.check_apart(&[&source])?;
        source.check_apart(&arrays.each_ref())?;
        check_components_apart(&arrays, [u, v, w], request.config())?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        // SAFETY: not null, and the caller promised src_bytes readable bytes that nobody changes.
        let stream = unsafe { std::slice::from_raw_parts(src.cast::<u8>(), src_bytes) };
        typed!(request.config().dtype, T => {
            // SAFETY: the components cover the request's grid, as the caller promised, and share no element.
            let views = unsafe { outputs::<T>(&request, [u, v, w]) };
            volume::decompress_volume(request.config(), stream, views, execution)
        })
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, 0, body) }
}

pub(super) fn check_vertices(n: usize, request: &VolumeRequest) -> Result<()> {
    super::arguments::check_vertices(n, request.common())
}
