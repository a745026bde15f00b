//! Decompression of a part of a field on the host.

use super::arguments::{output as view, thread_count, typed, Output, Outputs};
use super::config::{factz_config, inputs, read_part_request};
use super::inspect::check_source;
use super::report::{factz_report, guard_with_report};
use super::status::factz_status;
use crate::cpu::{self, Execution, Source};
use crate::error::{Error, Result, Status};
use crate::report::Report;
use crate::runtime::log::event;
use std::ffi::{c_int, c_void};

/// Decompresses a region of the field of a stream in host memory: a rectangle of consecutive planes.
///
/// The values are bit for bit those of `factz_decompress_host`. Tiles of 32 x 32 vertices are coded in groups
/// of up to 256; only the groups that hold tiles of the region (with FACTZ_PREDICTOR_HIERARCHICAL also
/// tiles next to it) are decoded. Working memory is in proportion to the region and to the number of
/// groups, not to the field.
///
/// The checksum needs all bytes. It is compared only if the region takes all groups and
/// config->verify_checksum is 1. Without it, damage of a group is found if the group then does not decode to
/// its end: nearly all damage of several words, but of single bits 7 to 9 in 10 with FACTZ_CODER_ANS and about
/// half with FACTZ_CODER_HUFFMAN. Damage of numbers in the header, and of groups that the region does not
/// take, is not noticed. Where that matters, check the stream once as a whole.
///
/// @param src        the stream; any alignment
/// @param src_bytes  readable bytes at src: the length of the stream or more
/// @param config     nx, ny and nz are the columns, rows and planes of the region, pitches, strides and plane_rows
///                   those of the output; dtype must be that of the stream. verify_checksum: see above. halo, pin and
///                   periodic are ignored; the rest must be valid and has no effect
/// @param x0         first column of the region in the field
/// @param y0         first row of the region in the field
/// @param z0         first plane of the region in the field; 0 where it has one plane
/// @param u          receives the x components: vertex (x0, y0) of plane z0, then the others as config says
/// @param v          receives the y components; may be interleaved with u, without sharing an element. Of a
///                   stream that holds one component (`factz_split_host`) the other is NULL
/// @param n          number of vertices of the region, nx * ny * nz of config
/// @param report     receives the result: stream_bytes are the bytes that were read, required_bytes those of
///                   the whole stream; exact_vertices are those of the tiles that the region touches
/// @param threads    see "Threads" at the top of this header
/// @return as `factz_decompress_host`; FACTZ_ERROR_INVALID_ARGUMENT also if the region is not inside the
///         field
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_region_host(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    x0: u64,
    y0: u64,
    z0: u64,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let region = Region { config, first: [x0, y0, z0], outputs: [u, v], n, threads, whole_planes: false };
    // SAFETY: the caller gave a whole struct, arrays as it says, and a whole report.
    unsafe { region.decompress_memory(src, src_bytes, report) }
}

/// Decompresses consecutive planes of the field of a stream in host memory.
///
/// As `factz_decompress_region_host` for all columns and rows: only the groups that hold tiles of these planes are
/// decoded.
///
/// @param src        the stream; any alignment
/// @param src_bytes  readable bytes at src: the length of the stream or more
/// @param config     nx and ny are those of the stream, nz is the number of planes to decompress; otherwise as
///                   for `factz_decompress_region_host`
/// @param first      the first of these planes
/// @param u          receives the x components: vertex (0, 0) of plane `first`, then the others as config says
/// @param v          receives the y components
/// @param n          number of vertices, nx * ny * nz of config
/// @param report     receives the result, as for `factz_decompress_region_host`
/// @param threads    see "Threads" at the top of this header
/// @return as `factz_decompress_region_host`; FACTZ_ERROR_INVALID_ARGUMENT also if nx or ny is not that of the
///         stream, or the stream does not have these planes
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_planes_host(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    first: u64,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let region = Region { config, first: [0, 0, first], outputs: [u, v], n, threads, whole_planes: true };
    // SAFETY: the caller gave a whole struct, arrays as it says, and a whole report.
    unsafe { region.decompress_memory(src, src_bytes, report) }
}

/// Reads bytes of a stream, from a file for example.
///
/// The calling thread of `factz_read_region_host` runs it inside the call, once for each piece that is needed,
/// in the order of the stream. It must return normally: no longjmp, no C++ exception. It must not call other
/// factz functions.
///
/// @param user    the pointer given to `factz_read_region_host`
/// @param offset  where the bytes begin, counted from the start of the stream
/// @param bytes   how many there are to read: at least 1, and all of them inside the stream
/// @param to      receives them; valid during the call only
/// @return 0 if all bytes were read, otherwise a number that the message of the error repeats
pub type factz_read_callback =
    Option<unsafe extern "C" fn(user: *mut c_void, offset: u64, bytes: u64, to: *mut c_void) -> c_int>;

/// Decompresses a region of the field of a stream of which only the needed pieces are read: from a file,
/// an archive or an object store.
///
/// As `factz_decompress_region_host`, with a function in place of the stream. The function is called for the
/// header (FACTZ_INSPECT_BYTES), for the bytes up to the groups (header, tables and 4 bytes per group), and
/// then for each run of consecutive groups. The stream may lie anywhere in a file: the function adds its
/// offset.
///
/// @param read       the function that reads
/// @param user       handed to `read` as it is; may be NULL
/// @param src_bytes  bytes that `read` can read: the length of the stream or more
/// @param config     as for `factz_decompress_region_host`
/// @param x0         first column of the region in the field
/// @param y0         first row of the region in the field
/// @param z0         first plane of the region in the field; 0 where it has one plane
/// @param u          receives the x components
/// @param v          receives the y components
/// @param n          number of vertices of the region, nx * ny * nz of config
/// @param report     receives the result, as for `factz_decompress_region_host`
/// @param threads    see "Threads" at the top of this header
/// @return as `factz_decompress_region_host`; FACTZ_ERROR_READ (`read` did not return 0)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_read_region_host(
    read: factz_read_callback,
    user: *mut c_void,
    src_bytes: u64,
    config: *const factz_config,
    x0: u64,
    y0: u64,
    z0: u64,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_report>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        // SAFETY: the caller gave a function that does what its type says.
        let mut read_at = unsafe { reader(read, user) }?;
        let region = Region { config, first: [x0, y0, z0], outputs: [u, v], n, threads, whole_planes: false };
        // SAFETY: the caller gave a whole struct, and arrays as it says.
        unsafe { region.decompress(output, Source::Read(src_bytes, &mut read_at), |_| Ok(())) }
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, 0, body) }
}

/// The function of the caller that reads.
///
/// # Safety
/// `read` is null, or writes to no more than the room that it is given.
pub(super) unsafe fn reader(
    read: factz_read_callback,
    user: *mut c_void,
) -> Result<impl FnMut(u64, &mut [u8]) -> Result<()>> {
    let function = read.ok_or_else(|| Error::argument("read is null"))?;
    Ok(move |offset: u64, to: &mut [u8]| {
        let bytes = to.len() as u64;
        // SAFETY: the promise of this function, and there is room for the bytes.
        match unsafe { function(user, offset, bytes, to.as_mut_ptr().cast()) } {
            0 => Ok(()),
            status => Err(Error::new(
                Status::Read,
                format!("read returned {status} for {bytes} bytes from byte {offset} of the stream on"),
            )),
        }
    })
}

/// The arguments that these functions have.
struct Region {
    config: *const factz_config,
    first: [u64; 3],
    outputs: [*mut c_void; 2],
    n: usize,
    threads: c_int,
    /// Whether the region must have all columns and rows of the stream.
    whole_planes: bool,
}

impl Region {
    /// Decompresses a stream in memory.
    ///
    /// # Safety
    /// As for [`Region::decompress`]; `report` is null or points to a writable struct.
    unsafe fn decompress_memory(
        &self,
        src: *const c_void,
        src_bytes: usize,
        report: *mut factz_report,
    ) -> factz_status {
        let [u, v] = self.outputs;
        let body = |output: &mut Output<factz_report>| {
            output.check_apart(&inputs(self.config, u, v).each_ref())?;
            let span = check_source(src, src_bytes)?;
            output.check_apart(&[&span])?;
            // SAFETY: not null, and the caller promised src_bytes readable bytes that nobody changes.
            let stream = unsafe { std::slice::from_raw_parts(src.cast::<u8>(), src_bytes) };
            let apart = |arrays: &Outputs| span.check_apart(&arrays.spans());
            // SAFETY: the promise of this function.
            unsafe { self.decompress(output, Source::Memory(stream), apart) }
        };
        // SAFETY: the caller gave a whole report.
        unsafe { guard_with_report(report, 0, body) }
    }

    /// # Safety
    /// `config` is null or points to a readable struct, and the outputs cover what it says.
    unsafe fn decompress(
        &self,
        output: &mut Output<factz_report>,
        source: Source<'_>,
        check_source_apart: impl FnOnce(&Outputs) -> Result<()>,
    ) -> Result<Report> {
        let [u, v] = self.outputs;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_part_request(self.config, self.n) }?;
        let arrays = Outputs::new(u, v, &request)?;
        output.check_apart(&arrays.spans())?;
        check_source_apart(&arrays)?;
        arrays.check_components_apart(request.config())?;
        let execution = Execution { threads: thread_count(self.threads)?, progress: None };
        let config = request.config();
        let report = typed!(config.dtype, T => {
            // SAFETY: u and v cover the request's grid, as the caller promised, and share no element.
            let (u, v) = unsafe { (view::<T>(u, config.u, &request), view::<T>(v, config.v, &request)) };
            match self.whole_planes {
                true => cpu::decompress_planes(config, source, self.first[2], u, v, execution),
                false => cpu::decompress_region(config, source, self.first, u, v, execution),
            }
        })?;
        let bytes = report.stream_bytes;
        event!(
            DEBUG,
            "decompressed a region",
            nx = config.nx,
            ny = config.ny,
            nz = config.nz,
            stream_bytes = bytes
        );
        Ok(report)
    }
}
