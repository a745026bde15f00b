//! The C interface refuses every bad argument with its own status and a message that names the value,
//! keeps inputs and gaps as they were, and reports through the thread's message and the log callback.

use crate::support::capi::{config, expect, last_error, ok, text};
use factz::capi::analysis::*;
use factz::capi::compress::factz_compress_host;
use factz::capi::config::*;
use factz::capi::decompress::factz_decompress_host;
use factz::capi::device::*;
use factz::capi::inspect::*;
use factz::capi::log::*;
use factz::capi::report::factz_report;
use factz::capi::sizes::*;
use factz::capi::status::*;
use factz::capi::version::*;
use factz::capi::volume_device::*;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

const NX: usize = 40;
const NY: usize = 30;
const N: usize = NX * NY;

fn no_report() -> factz_report {
    unsafe { MaybeUninit::<factz_report>::zeroed().assume_init() }
}

fn field() -> (Vec<f32>, Vec<f32>) {
    let at = |k: usize| (0.3 * (k % NX) as f32 - 2.0, 0.25 * (k / NX) as f32 - 1.5);
    let u = (0..N).map(|k| at(k).0.sin() * at(k).1.cos() + 0.1).collect();
    let v = (0..N).map(|k| -at(k).0.cos() * at(k).1.sin()).collect();
    (u, v)
}

/// The arguments of factz_compress_host, to change one at a time.
struct Compress {
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: factz_config,
    dst: *mut c_void,
    dst_bytes: usize,
    threads: c_int,
    report: factz_report,
}

impl Compress {
    fn new(field: &(Vec<f32>, Vec<f32>), dst: &mut [u8]) -> Self {
        Compress {
            u: field.0.as_ptr().cast(),
            v: field.1.as_ptr().cast(),
            n: N,
            config: config(),
            dst: dst.as_mut_ptr().cast(),
            dst_bytes: dst.len(),
            threads: 1,
            report: no_report(),
        }
    }
    fn run(&mut self) -> factz_status {
        let Compress { u, v, n, ref config, dst, dst_bytes, threads, ref mut report } = *self;
        unsafe { factz_compress_host(u, v, n, config, dst, dst_bytes, report, threads) }
    }
}

fn compressed(field: &(Vec<f32>, Vec<f32>)) -> Vec<u8> {
    let mut dst = vec![0; 1 << 16];
    let mut call = Compress::new(field, &mut dst);
    ok(call.run());
    let bytes = call.report.stream_bytes as usize;
    dst.truncate(bytes);
    dst
}

#[test]
fn compression_refuses_bad_arguments() {
    let field = field();
    let mut dst = vec![0u8; 1 << 16];
    let mut check = |change: &dyn Fn(&mut Compress), status, part: &str| {
        let mut call = Compress::new(&field, &mut dst);
        change(&mut call);
        expect(call.run(), status, part);
        assert_eq!(call.report.status, status);
    };
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    check(&|c| c.u = null(), argument, "u is null");
    check(&|c| c.v = null(), argument, "v is null");
    check(&|c| c.n = 1199, argument, "n = 1199 is not nx * ny = 40 * 30 = 1200");
    check(&|c| c.dst = null_mut(), argument, "dst is null but dst_bytes = 65536");
    check(&|c| c.dst_bytes = usize::MAX, argument, "dst_bytes = 18446744073709551615");
    check(&|c| c.threads = -3, argument, "threads = -3");
    check(&|c| c.threads = c_int::MAX, FACTZ_OK, "");
    check(&|c| c.dst = c.u as *mut c_void, argument, "overlaps u");
    // The last byte of v, and nothing behind it, where u may lie.
    let last_of_v =
        |c: &mut Compress| (c.dst, c.dst_bytes) = (c.v.wrapping_byte_add(N * 4 - 1) as *mut c_void, 1);
    check(&last_of_v, argument, "overlaps v");
    let config = FACTZ_ERROR_INVALID_CONFIG;
    check(&|c| c.config.struct_size = 0, config, "config->struct_size = 0");
    check(&|c| c.config.struct_size = 255, config, "config->struct_size = 255");
    check(&|c| c.config.struct_size = 264, config, "config->struct_size = 264 is not 256");
    check(&|c| c.config.struct_size = u64::MAX, config, "config->struct_size = 18446744073709551615");
    check(&|c| c.config.nx = 0, config, "nx is 0");
    check(&|c| c.config.ny = 0, config, "ny is 0");
    check(&|c| c.config.ny = 1 << 60, config, "1152921504606846976");
    let unsupported = FACTZ_ERROR_UNSUPPORTED;
    check(&|c| c.config.nz = 0, config, "nz is 0");
    check(&|c| c.config.nz = 1 << 32, config, "nz = 4294967296");
    check(&|c| c.config.nz = 2, argument, "is not nx * ny * nz");
    check(&|c| c.config.plane_rows = 1, config, "plane_rows = 1");
    check(&|c| c.config.periodic = 4, config, "periodic = 0x4");
    check(&|c| c.config.components = 3, config, "components = 3");
    check(&|c| c.config.components = 1, config, "components = 1");
    check(&|c| c.config.mode = FACTZ_MODE_REPAIR, config, "mode = repair");
    check(&|c| c.config.dz = 0.0, config, "dz = 0");
    check(&|c| c.config.reserved_32 = 7, unsupported, "reserved_32 = 0x7");
    check(&|c| c.config.reserved[8] = 6, unsupported, "reserved = 0x6");
    check(&|c| c.config.has_fill_value = 2, config, "has_fill_value = 2");
    check(&|c| c.config.dtype = 2, config, "dtype = 2 is none of FACTZ_DTYPE_F32 (0), FACTZ_DTYPE_F64 (1)");
    check(&|c| c.config.bound_kind = -1, config, "bound_kind = -1");
    check(&|c| c.config.mode = 9, config, "mode = 9");
    check(&|c| c.config.coder = 7, config, "coder = 7");
    check(&|c| c.config.predictor = i32::MIN, config, "predictor = -2147483648");
    check(&|c| c.config.preserve = 3, config, "preserve = 3");
    check(
        &|c| c.config.ties = 3,
        config,
        "ties = 3 is none of FACTZ_TIES_ALL (0), FACTZ_TIES_ZEROS (1), FACTZ_TIES_SOS",
    );
    check(&|c| c.config.ties = -1, config, "ties = -1");
    check(&|c| c.config.verify_checksum = 2, config, "verify_checksum = 2");
    check(&|c| c.config.halo = 16, config, "halo = 0x10");
    check(&|c| c.config.halo = FACTZ_SIDE_X_MIN, config, "u_pitch is 0");
    check(&|c| c.config.pin = 64, config, "pin = 0x40");
    check(&|c| c.config.u_pitch = 39, config, "u_pitch = 39");
    check(&|c| c.config.v_pitch = u64::MAX, config, "v_pitch = 18446744073709551615");
    check(&|c| c.config.v_stride = 0, config, "v_stride is 0");
    check(&|c| c.config.v_stride = u64::MAX, config, "v_stride = 18446744073709551615");
    check(&|c| c.config.dx = 0.0, config, "dx = 0 must");
    check(&|c| c.config.dx = f64::NEG_INFINITY, config, "dx = -inf");
    check(&|c| c.config.dy = -0.0, config, "dy = -0 must");
    check(&|c| c.config.dy = f64::NAN, config, "dy = NaN");
    check(&|c| c.config.dy = f64::INFINITY, config, "dy = inf");
    check(&|c| c.config.bound = f64::NAN, config, "bound = NaN");
    let lorenzo = (FACTZ_PREDICTOR_LORENZO, FACTZ_MODE_SPECULATIVE);
    check(&|c| (c.config.predictor, c.config.mode) = lorenzo, config, "mode = speculative");
    check(&|c| c.dst_bytes = 100, FACTZ_ERROR_BUFFER_TOO_SMALL, "bytes");
}

#[test]
fn null_and_misaligned_structs_are_refused() {
    let field = field();
    let mut dst = vec![0u8; 1 << 16];
    let call = Compress::new(&field, &mut dst);
    let odd = (&raw const call.config).wrapping_byte_add(1);
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    unsafe {
        let compress = |config, report| {
            factz_compress_host(call.u, call.v, N, config, call.dst, call.dst_bytes, report, 1)
        };
        let mut report = no_report();
        expect(compress(null(), &mut report), argument, "config is null");
        assert_eq!(report.status, argument);
        expect(compress(odd, &mut report), argument, "is not aligned to 8 bytes");
        expect(compress(&call.config, null_mut()), argument, "report is null");
        expect(compress(&call.config, dst.as_mut_ptr().wrapping_add(1).cast()), argument, "report = 0x");
        // A report inside the input is refused and the input stays as it was.
        let mut copy = vec![0u64; N / 2];
        let inside = copy.as_mut_ptr().cast::<factz_report>();
        let u = copy.as_ptr().cast();
        let s = factz_compress_host(u, call.v, N, &call.config, call.dst, call.dst_bytes, inside, 1);
        expect(s, argument, "report at");
        assert!(copy.iter().all(|&x| x == 0));

        expect(factz_config_init(null_mut(), 1, 1, 0, 0.0), argument, "config is null");
        let (c, mut sizes) = (factz_config { dtype: 9, ..config() }, MaybeUninit::uninit());
        let s = factz_decompress_sizes(&c, sizes.as_mut_ptr());
        expect(s, FACTZ_ERROR_INVALID_CONFIG, "config: dtype = 9");
    }
}

#[test]
fn sizes_are_pure_and_suffice() {
    let c = config();
    let mut sizes = MaybeUninit::<factz_sizes>::uninit();
    ok(unsafe { factz_compress_sizes(&c, sizes.as_mut_ptr()) });
    let sizes = unsafe { sizes.assume_init() };
    assert!(sizes.max_stream_bytes >= 8 * N as u64 && sizes.alignment.is_power_of_two());
    let noise: Vec<f32> = (0..N as u32).map(|k| f32::from_bits(k.wrapping_mul(2654435761))).collect();
    let field = (noise.clone(), noise);
    let mut dst = vec![0; sizes.max_stream_bytes as usize];
    let mut call = Compress::new(&field, &mut dst);
    call.config.bound = 0.0;
    ok(call.run());
    assert!(call.report.stream_bytes <= sizes.max_stream_bytes);

    // For decompression shape and type alone count.
    let mut back = MaybeUninit::<factz_sizes>::uninit();
    let mut shape = factz_config { mode: 77, halo: 99, u_stride: 0, dx: 0.0, bound: f64::NAN, ..c };
    shape.has_fill_value = 5;
    ok(unsafe { factz_decompress_sizes(&shape, back.as_mut_ptr()) });
    let back = unsafe { back.assume_init() };
    assert_eq!(back.max_stream_bytes, sizes.max_stream_bytes);
    assert!(back.workspace_bytes > 0 && back.alignment == sizes.alignment);
}

#[test]
fn a_buffer_too_small_says_what_it_takes_and_nothing_is_written_past_it() {
    let field = field();
    let whole = compressed(&field);
    for capacity in [0, 1, 127, whole.len() - 1] {
        let mut dst = vec![0xabu8; whole.len() + 64];
        let mut call = Compress::new(&field, &mut dst);
        call.dst_bytes = capacity;
        if capacity == 0 {
            call.dst = null_mut();
        }
        let text = format!("dst_bytes = {capacity} is too small: the stream takes {} bytes", whole.len());
        expect(call.run(), FACTZ_ERROR_BUFFER_TOO_SMALL, &text);
        assert_eq!(call.report.required_bytes, whole.len() as u64);
        assert!(dst[capacity..].iter().all(|&b| b == 0xab));
    }
    let mut dst = vec![0xabu8; whole.len()];
    ok(Compress::new(&field, &mut dst).run());
    assert_eq!(dst, whole);
}

struct Decompress {
    src: *const c_void,
    src_bytes: usize,
    config: factz_config,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    threads: c_int,
    report: factz_report,
}

impl Decompress {
    fn new(stream: &[u8], u: &mut [f32], v: &mut [f32]) -> Self {
        Decompress {
            src: stream.as_ptr().cast(),
            src_bytes: stream.len(),
            config: config(),
            u: u.as_mut_ptr().cast(),
            v: v.as_mut_ptr().cast(),
            n: N,
            threads: 1,
            report: no_report(),
        }
    }
    fn run(&mut self) -> factz_status {
        let Decompress { src, src_bytes, ref config, u, v, n, threads, ref mut report } = *self;
        unsafe { factz_decompress_host(src, src_bytes, config, u, v, n, report, threads) }
    }
}

#[test]
fn decompression_refuses_bad_arguments_and_streams() {
    let stream = compressed(&field());
    let (mut u, mut v) = (vec![0f32; 4 * N], vec![0f32; 4 * N]);
    let mut check = |change: &dyn Fn(&mut Decompress), status, part: &str| {
        let mut call = Decompress::new(&stream, &mut u, &mut v);
        change(&mut call);
        expect(call.run(), status, part);
        assert_eq!(call.report.status, status);
    };
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    check(&|c| c.src = null(), argument, "src is null");
    check(&|c| c.u = null_mut(), argument, "u is null");
    check(&|c| c.v = null_mut(), argument, "v is null");
    check(&|c| c.n = 7, argument, "n = 7");
    check(&|c| c.threads = i32::MIN, argument, "threads = -2147483648");
    check(&|c| c.src_bytes = usize::MAX, argument, "src_bytes = 18446744073709551615");
    check(&|c| c.v = c.u, argument, "share values");
    check(&|c| c.v = c.u.wrapping_byte_add(4 * N - 4), argument, "share values");
    check(&|c| c.u = c.src as *mut c_void, argument, "src at");
    check(&|c| c.config.struct_size = 8, FACTZ_ERROR_INVALID_CONFIG, "struct_size = 8");
    let transpose = |c: &mut Decompress| (c.config.nx, c.config.ny) = (NY as u64, NX as u64);
    check(&transpose, argument, "nx = 30, ny = 40 and nz = 1");
    check(&|c| c.config.dtype = FACTZ_DTYPE_F64, argument, "dtype = F64 but the stream holds F32 values");
    let beside = |c: &mut Decompress| {
        c.config.dtype = FACTZ_DTYPE_F64;
        c.v = c.u.wrapping_byte_add(4 * N);
    };
    check(&beside, argument, "is dtype = FACTZ_DTYPE_F64 right?");
    let corrupt = FACTZ_ERROR_CORRUPT_STREAM;
    check(&|c| c.src_bytes = 0, corrupt, "");
    check(&|c| c.src_bytes = 127, corrupt, "127");
    check(&|c| c.src_bytes -= 1, corrupt, &format!("{}", stream.len() - 1));
    check(&|c| (c.src, c.src_bytes) = ([7u8; 256].as_ptr().cast(), 256), corrupt, "");

    let mut damaged = stream.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let mut call = Decompress::new(&damaged, &mut u, &mut v);
    expect(call.run(), corrupt, "checksum");
    let mut later = stream.clone();
    later[4] = 99;
    let mut call = Decompress::new(&later, &mut u, &mut v);
    expect(call.run(), FACTZ_ERROR_UNSUPPORTED_VERSION, "99");
}

#[test]
fn inspection_reads_the_header_and_refuses_what_is_none() {
    let stream = compressed(&field());
    let mut info = factz_info::default();
    let inspect =
        |src: *const u8, bytes, info: *mut factz_info| unsafe { factz_inspect_host(src.cast(), bytes, info) };
    ok(inspect(stream.as_ptr(), FACTZ_INSPECT_BYTES, &mut info));
    assert_eq!((info.status, info.format_version), (FACTZ_OK, factz_format_version()));
    assert_eq!((info.nx, info.ny, info.nz), (NX as u64, NY as u64, 1));
    assert_eq!((info.bound, info.absolute_bound, info.bound_kind), (1e-2, 1e-2, FACTZ_BOUND_ABSOLUTE));
    assert_eq!((info.dx, info.dy, info.dz, info.stream_bytes), (1.0, 1.0, 1.0, stream.len() as u64));
    assert_eq!((info.dtype, info.preserve), (FACTZ_DTYPE_F32, FACTZ_PRESERVE_TYPES));
    assert_eq!((info.ties, stream[19]), (FACTZ_TIES_ALL, 0));
    let mut other = stream.clone();
    for (number, ties) in [(1, FACTZ_TIES_ZEROS), (2, FACTZ_TIES_SOS)] {
        other[19] = number;
        ok(inspect(other.as_ptr(), other.len(), &mut info));
        assert_eq!(info.ties, ties);
    }
    for ties in 3..=255 {
        other[19] = ties;
        let what = format!("the header holds ties = {ties}");
        expect(inspect(other.as_ptr(), other.len(), &mut info), FACTZ_ERROR_CORRUPT_STREAM, &what);
    }
    expect(inspect(stream.as_ptr(), 100, &mut info), FACTZ_ERROR_CORRUPT_STREAM, "100");
    assert_eq!((info.status, info.nx), (FACTZ_ERROR_CORRUPT_STREAM, 0));
    info.status = 77;
    expect(inspect(null(), 100, &mut info), FACTZ_ERROR_INVALID_ARGUMENT, "src is null");
    assert_eq!(info.status, FACTZ_ERROR_INVALID_ARGUMENT);
    expect(inspect(stream.as_ptr(), usize::MAX, &mut info), FACTZ_ERROR_INVALID_ARGUMENT, "src_bytes = 1844");
    assert_eq!(info.status, FACTZ_ERROR_INVALID_ARGUMENT);
    expect(inspect(stream.as_ptr(), 128, null_mut()), FACTZ_ERROR_INVALID_ARGUMENT, "info is null");
    let inside = (&raw const info).cast();
    expect(inspect(inside, 128, &mut info), FACTZ_ERROR_INVALID_ARGUMENT, "overlaps src");
}

#[test]
fn inputs_and_gaps_stay_untouched_and_the_bound_holds() {
    // Ghost columns for u, stride 3 for v, at addresses that are aligned to nothing.
    let (dense_u, dense_v) = field();
    let (u_pitch, v_pitch) = (NX + 5, 3 * NX + 1);
    let mut input = (vec![0x11u8; 1 + 4 * u_pitch * NY], vec![0x22u8; 3 + 4 * v_pitch * NY]);
    let u_at = |x, y| 1 + 4 * (y * u_pitch + x);
    let v_at = |x, y| 3 + 4 * (y * v_pitch + 3 * x);
    for k in 0..N {
        let (x, y) = (k % NX, k / NX);
        input.0[u_at(x, y)..][..4].copy_from_slice(&dense_u[k].to_ne_bytes());
        input.1[v_at(x, y)..][..4].copy_from_slice(&dense_v[k].to_ne_bytes());
    }
    let before = input.clone();
    let mut dst = vec![0u8; 1 << 16];
    let mut call = Compress::new(&(vec![], vec![]), &mut dst);
    call.u = input.0[1..].as_ptr().cast();
    call.v = input.1[3..].as_ptr().cast();
    (call.config.u_pitch, call.config.v_pitch) = (u_pitch as u64, v_pitch as u64);
    call.config.v_stride = 3;
    ok(call.run());
    let layout = call.config;
    let bytes = call.report.stream_bytes as usize;
    assert!(input == before, "the input was changed");
    assert_eq!(dst[..bytes], compressed(&(dense_u.clone(), dense_v.clone())), "the layout leaves no trace");

    let mut back = (vec![0x33u8; before.0.len()], vec![0x44u8; before.1.len()]);
    let stream = dst.clone();
    let mut call = Decompress::new(&dst, &mut [], &mut []);
    call.u = back.0[1..].as_mut_ptr().cast();
    call.v = back.1[3..].as_mut_ptr().cast();
    call.config = layout;
    ok(call.run());
    assert_eq!((call.report.stream_bytes, call.report.required_bytes), (bytes as u64, bytes as u64));
    assert!(dst == stream, "the stream was changed");
    for (k, (&u, &v)) in dense_u.iter().zip(&dense_v).enumerate() {
        let (x, y) = (k % NX, k / NX);
        let take = |bytes: &mut [u8], fill: u8| {
            let value = f32::from_ne_bytes(bytes.try_into().unwrap());
            bytes.fill(fill);
            value
        };
        assert!((take(&mut back.0[u_at(x, y)..][..4], 0x33) as f64 - u as f64).abs() <= 1e-2);
        assert!((take(&mut back.1[v_at(x, y)..][..4], 0x44) as f64 - v as f64).abs() <= 1e-2);
    }
    assert!(back.0.iter().all(|&b| b == 0x33) && back.1.iter().all(|&b| b == 0x44), "a gap was written");
}

#[test]
fn critical_points_and_comparison() {
    let (u, v) = field();
    let c = config();
    let find = |points: *mut factz_critical_point, capacity, count: *mut u64| unsafe {
        factz_critical_points_host(u.as_ptr().cast(), v.as_ptr().cast(), N, &c, points, capacity, count, 1)
    };
    let mut count = 77;
    expect(find(null_mut(), 0, &mut count), FACTZ_ERROR_BUFFER_TOO_SMALL, "capacity = 0");
    assert!(count > 1);
    let mut points = vec![MaybeUninit::<factz_critical_point>::zeroed(); count as usize];
    let array = points.as_mut_ptr().cast();
    expect(find(array, 1, &mut count), FACTZ_ERROR_BUFFER_TOO_SMALL, "capacity = 1");
    assert_eq!(unsafe { points[1].assume_init() }.cell_x, 0, "written past the capacity");
    ok(find(array, points.len(), &mut count));
    assert_eq!(count as usize, points.len());
    let total = count;
    for p in &points {
        let p = unsafe { p.assume_init() };
        assert!((p.cell_x as usize) < NX - 1 && (p.cell_y as usize) < NY - 1);
        assert!(p.x >= p.cell_x as f64 && p.x <= p.cell_x as f64 + 1.0);
    }
    let mut result = factz_comparison::default();
    let compare = |other_u: &[f32], other: *const factz_config, result: *mut factz_comparison| unsafe {
        let (u, v) = (u.as_ptr().cast(), v.as_ptr().cast());
        factz_compare_host(u, v, N, &c, other_u.as_ptr().cast(), v, other, result, 2)
    };
    ok(compare(&u, null(), &mut result));
    assert_eq!((result.violations, result.max_error, result.critical_points), (0, 0.0, total));
    assert_eq!(result.points_by_type.iter().sum::<u64>(), total);
    assert_eq!(result.psnr, f64::INFINITY);
    let shifted: Vec<f32> = u.iter().map(|&x| x + 3.0).collect();
    ok(compare(&shifted, &c, &mut result));
    assert_eq!((result.lost_points, result.other_critical_points), (total, 0));
    assert_eq!((result.bound, result.bound_exceeded), (1e-2, N as u64));
    assert!(result.violations >= total && (result.max_error - 3.0).abs() < 1e-5);
}

#[test]
fn device_functions_check_their_arguments_and_find_no_device() {
    let c = config();
    // Addresses of a device that nobody follows.
    let (u, v, dst, work) = (0x10_0000usize, 0x20_0000usize, 0x30_0000usize, 0x40_0000usize);
    let report = 0x50_0000 as *mut factz_report;
    // Where there is a device, these addresses are refused in another way.
    let has_device = factz::device::available().is_ok();
    let expect_none = |status| match has_device {
        true => assert_ne!(status, FACTZ_OK),
        false => expect(status, FACTZ_ERROR_NO_DEVICE, "the processor can do the work"),
    };
    let argument = FACTZ_ERROR_INVALID_ARGUMENT;
    unsafe {
        expect_none(factz_prepare_device(null_mut()));
        let compress = |u: usize, dst: usize, work: usize, report| {
            let (u, v, dst, work) = (u as _, v as _, dst as _, work as _);
            factz_compress_device(u, v, N, &c, dst, 1 << 16, work, 1 << 19, report, null_mut())
        };
        expect_none(compress(u, dst, work, report));
        expect(compress(u + 2, dst, work, report), argument, "u = 0x100002 is not aligned to 4 bytes");
        expect(compress(u, dst + 8, work, report), argument, "dst = 0x300008 is not aligned to 256 bytes");
        expect(compress(u, dst, dst, report), argument, "overlaps workspace");
        expect(compress(u, u, work, report), argument, "dst at 0x100000..0x110000 overlaps u");
        expect(compress(u, dst, work, null_mut()), argument, "report is null");
        let decompress = |src: usize, v: usize| {
            let (src, u, v, work) = (src as _, u as _, v as _, work as _);
            factz_decompress_device(src, 1 << 16, &c, u, v, N, work, 1 << 19, report, null_mut())
        };
        expect_none(decompress(dst, v));
        expect(decompress(0, v), argument, "src is null");
        expect(decompress(dst, u), argument, "share values");
        let planes = |first: u64, bytes: usize| {
            // Behind all others, as it is large.
            let (src, u, v, work) = (dst as _, u as _, v as _, 0x1000_0000usize as _);
            factz_decompress_planes_device(src, 1 << 16, &c, first, u, v, N, work, bytes, report, null_mut())
        };
        let mut of_planes: factz_sizes = std::mem::zeroed();
        ok(factz_decompress_planes_sizes(&c, &mut of_planes));
        let bytes = of_planes.workspace_bytes as usize;
        expect_none(planes(3, bytes));
        expect(planes(3, bytes - 1), FACTZ_ERROR_WORKSPACE_TOO_SMALL, "workspace_bytes = ");
        expect(planes(u64::MAX, bytes), FACTZ_ERROR_UNSUPPORTED, "first = 18446744073709551615");
        let info = 0x60_0000 as *mut factz_info;
        expect_none(factz_inspect_device(dst as _, 128, info, null_mut()));
        expect(factz_inspect_device(dst as _, 128, null_mut(), null_mut()), argument, "info is null");
        let find = |n, count: *mut u64, bytes| {
            let (u, v, points, work) = (u as _, v as _, dst as _, work as _);
            factz_critical_points_device(u, v, n, &c, points, 9, count, work, bytes, null_mut())
        };
        let count = 0x60_0000 as *mut u64;
        expect_none(find(N, count, 1 << 19));
        expect(find(N, null_mut(), 1 << 19), argument, "count is null");
        expect(find(N + 1, count, 1 << 19), argument, "is not nx * ny");
        expect(find(N, count, 255), FACTZ_ERROR_WORKSPACE_TOO_SMALL, "workspace_bytes = 255");
        let mut sizes: factz_sizes = std::mem::zeroed();
        ok(factz_compress_sizes(&c, &mut sizes));
        expect_none(find(N, count, sizes.analysis_workspace_bytes as usize));
        assert!(sizes.analysis_workspace_bytes < sizes.workspace_bytes);
        let compare = |comparison| {
            let (u, v) = (u as *const c_void, v as *const c_void);
            factz_compare_device(u, v, N, &c, v, u, null(), work as _, 1 << 19, comparison, null_mut())
        };
        expect_none(compare(0x60_0000 as _));
        expect(compare(u as _), argument, "overlaps u");
    }
}

#[test]
fn device_functions_of_volumes_check_their_arguments() {
    let mut c = config();
    ok(unsafe { factz_config_init_volume(&mut c, 40, 6, 5, FACTZ_BOUND_ABSOLUTE, 0.1) });
    let (u, v, w, dst, work) =
        (0x10_0000usize, 0x20_0000usize, 0x28_0000usize, 0x30_0000usize, 0x100_0000usize);
    let (report, argument) = (0x50_0000 as *mut factz_report, FACTZ_ERROR_INVALID_ARGUMENT);
    let has_device = factz::device::available().is_ok();
    let mut sizes: factz_sizes = unsafe { std::mem::zeroed() };
    ok(unsafe { factz_compress_volume_sizes(&c, &mut sizes) });
    assert_eq!(sizes.max_stream_bytes, 176 + 3 * 4 * N as u64);
    let bytes = sizes.workspace_bytes as usize;
    let compress = |w: usize, n: usize, dst_bytes: usize, work: usize, bytes: usize| {
        let (u, v, w, dst, work) = (u as _, v as _, w as _, dst as _, work as _);
        unsafe {
            factz_compress_volume_device(u, v, w, n, &c, dst, dst_bytes, work, bytes, report, null_mut())
        }
    };
    match has_device {
        true => assert_ne!(compress(w, N, 1 << 16, work, bytes), FACTZ_OK),
        false => expect(
            compress(w, N, 1 << 16, work, bytes),
            FACTZ_ERROR_NO_DEVICE,
            "the processor can do the work",
        ),
    }
    expect(compress(0, N, 1 << 16, work, bytes), argument, "w is null");
    expect(compress(w + 1, N, 1 << 16, work, bytes), argument, "w = 0x280001 is not aligned to 4 bytes");
    expect(compress(w, N - 1, 1 << 16, work, bytes), argument, "n = 1199");
    expect(compress(w, N, 175, work, bytes), argument, "dst_bytes = 175 is less than the header");
    expect(compress(w, N, 1 << 16, work + 8, bytes), argument, "workspace = 0x1000008 is not aligned to 256");
    expect(compress(w, N, 1 << 16, w, bytes), argument, "overlaps");
    let too_small = FACTZ_ERROR_WORKSPACE_TOO_SMALL;
    expect(compress(w, N, 1 << 16, work, bytes - 1), too_small, "workspace_bytes = ");
    ok(unsafe { factz_decompress_volume_sizes(&c, &mut sizes) });
    assert_eq!(sizes.max_stream_bytes, 176 + 3 * 4 * N as u64);
    let bytes = sizes.workspace_bytes as usize;
    let decompress = |src: usize, w: usize, n: usize, work: usize, bytes: usize| {
        let (src, u, v, w, work) = (src as _, u as _, v as _, w as _, work as _);
        unsafe {
            factz_decompress_volume_device(src, 1 << 16, &c, u, v, w, n, work, bytes, report, null_mut())
        }
    };
    match has_device {
        true => assert_ne!(decompress(dst, w, N, work, bytes), FACTZ_OK),
        false => {
            expect(decompress(dst, w, N, work, bytes), FACTZ_ERROR_NO_DEVICE, "the processor can do the work")
        }
    }
    expect(decompress(0, w, N, work, bytes), argument, "src is null");
    expect(decompress(dst, 0, N, work, bytes), argument, "w is null");
    expect(decompress(dst, w + 1, N, work, bytes), argument, "w = 0x280001 is not aligned to 4 bytes");
    expect(decompress(dst, w, N - 1, work, bytes), argument, "n = 1199");
    expect(decompress(dst + 8, w, N, work, bytes), argument, "src = 0x300008 is not aligned to 256");
    expect(decompress(dst, w, N, work + 8, bytes), argument, "workspace = 0x1000008 is not aligned to 256");
    expect(decompress(dst, w, N, w, bytes), argument, "overlaps");
    expect(decompress(dst, w, N, work, bytes - 1), too_small, "workspace_bytes = ");
    let planes = config();
    for sizes_of in [factz_compress_volume_sizes, factz_decompress_volume_sizes] {
        let status = unsafe { sizes_of(&planes, &mut sizes) };
        expect(status, FACTZ_ERROR_INVALID_CONFIG, "components = 2");
        assert_eq!((sizes.workspace_bytes, sizes.max_stream_bytes), (0, 0));
    }
}

#[test]
fn messages_belong_to_their_thread_and_success_clears_them() {
    let mut c = config();
    expect(unsafe { factz_config_init(&mut c, 1, 1, 42, 0.0) }, FACTZ_ERROR_INVALID_CONFIG, "42");
    std::thread::spawn(|| {
        assert_eq!(last_error(), "");
        let mut c = config();
        expect(unsafe { factz_config_init(&mut c, 1, 1, 43, 0.0) }, FACTZ_ERROR_INVALID_CONFIG, "43");
    })
    .join()
    .unwrap();
    assert!(last_error().contains("42"));
    assert_eq!(text(factz_status_string(FACTZ_ERROR_CORRUPT_STREAM)), "corrupt stream");
    assert!(last_error().contains("42"));
    config();
    assert_eq!(last_error(), "");
}

#[test]
fn statuses_have_names_and_versions_are_told() {
    let names: Vec<_> = (0..13).map(|k| text(factz_status_string(k))).collect();
    assert_eq!(names[0], "success");
    let distinct: std::collections::HashSet<_> = names.iter().collect();
    assert!(distinct.len() == 13 && !names.contains(&"unknown status".to_owned()));
    for k in [-1, 13, i32::MAX, i32::MIN] {
        assert_eq!(text(factz_status_string(k)), "unknown status");
    }
    assert_eq!(text(factz_version()), env!("CARGO_PKG_VERSION"));
    assert_eq!(factz_format_version(), 1);
}

/// Events that the callback received: level, target, message.
type Events = Mutex<Vec<(c_int, String, String)>>;

unsafe extern "C" fn collect(level: c_int, target: *const c_char, message: *const c_char, user: *mut c_void) {
    let events = unsafe { &*user.cast::<Events>() };
    events.lock().unwrap().push((level, text(target), text(message)));
}

#[test]
fn the_log_callback_receives_events_until_it_is_removed() {
    runs_alone!("the_log_callback_receives_events_until_it_is_removed");
    let events: &'static Events = Box::leak(Box::new(Mutex::new(Vec::new())));
    let user = (&raw const *events).cast_mut().cast::<c_void>();
    let stream = compressed(&field());
    ok(unsafe { factz_set_log_callback(Some(collect), user) });
    compressed(&field());
    let mut c = config();
    expect(unsafe { factz_config_init(&mut c, 1, 1, 4242, 0.0) }, FACTZ_ERROR_INVALID_CONFIG, "4242");
    ok(unsafe { factz_set_log_callback(None, null_mut()) });
    let seen = events.lock().unwrap().clone();
    let bytes = format!("stream_bytes={}", stream.len());
    let heard = |level, part: &str| seen.iter().any(|e| e.0 == level && e.1 == "factz" && e.2.contains(part));
    assert!(heard(FACTZ_LOG_DEBUG, &bytes), "{seen:?}");
    assert!(heard(FACTZ_LOG_ERROR, "bound_kind = 4242"), "{seen:?}");
    assert!(seen.iter().any(|e| e.2.starts_with("compressed nx=40 ny=30")), "{seen:?}");

    expect(unsafe { factz_config_init(&mut c, 1, 1, 987654, 0.0) }, FACTZ_ERROR_INVALID_CONFIG, "987654");
    assert!(!events.lock().unwrap().iter().any(|e| e.2.contains("987654")));
}
