//! The device functions enqueue and return: on a stand-in for the driver that writes down every call, the
//! hot path allocates nothing, waits for nothing and makes no event; it enters the context of the stream
//! and leaves it again, whatever fails.
//!
//! The driver is found at run time, so the tests run in a child process whose library path begins with the
//! stand-in (tests/stand_in/libcuda.c).

use crate::support::capi::{config_of, last_error};
use crate::support::{both, fresh_folder, output, root, run, skip};
use factz::capi::config::*;
use factz::capi::device::*;
use factz::capi::protect_device::*;
use factz::capi::status::*;
use factz::capi::volume_device::*;
use std::path::PathBuf;
use std::process::Command;

const LOG: &str = "FACTZ_STAND_IN_LOG";
const FAIL: &str = "FACTZ_STAND_IN_FAIL";
const CONTEXT: &str = "FACTZ_STAND_IN_CONTEXT";

const STREAM: usize = 0x1000;
const CAPTURED: usize = 0x1100;
const N: usize = 300 * 200;

/// Tells the stand-in which context to be in.
fn set_context(id: &str) {
    // SAFETY: the child process runs one test on one thread, here and below.
    unsafe { std::env::set_var(CONTEXT, id) }
}

/// Calls while this function of the driver answers this error.
fn failing<R>(function: &str, error: i32, call: impl FnOnce() -> R) -> R {
    unsafe { std::env::set_var(FAIL, format!("{function}={error}")) }
    let result = call();
    unsafe { std::env::remove_var(FAIL) }
    result
}

/// Compiles the stand-in under both names that the driver is looked for by.
fn stand_in() -> PathBuf {
    let folder = fresh_folder("stand_in");
    let library = folder.join("libcuda.so.1");
    run(Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"])
        .args([&library, &root().join("tests/stand_in/libcuda.c")]));
    std::fs::copy(&library, folder.join("libcuda.so")).unwrap();
    folder
}

#[test]
fn device_functions_only_enqueue() {
    let Some(log) = std::env::var_os(LOG) else {
        let folder = stand_in();
        let log = folder.join("calls");
        let mut path = folder.into_os_string();
        if let Some(old) = std::env::var_os("LD_LIBRARY_PATH") {
            path.push(":");
            path.push(old);
        }
        let child = output(
            Command::new(std::env::current_exe().unwrap())
                .args(["enqueuing::device_functions_only_enqueue", "--exact", "--nocapture"])
                .env("LD_LIBRARY_PATH", path)
                .env(LOG, log),
        );
        assert!(child.status.success(), "{}", both(&child));
        return;
    };
    let driver =
        Driver { log: log.into(), config: config_of(300, 200, FACTZ_BOUND_RELATIVE, 1e-2), volume: volume() };
    let started = failing("cuInit", 100, || driver.prepare(STREAM));
    if started == FACTZ_ERROR_NO_DEVICE && last_error().contains("built without CUDA") {
        skip("built without the CUDA kernels");
        return;
    }
    driver.starting();
    driver.loading();
    driver.hot_path();
    driver.arguments();
    driver.default_streams();
    driver.errors();
    driver.another_context_at_the_same_address();
}

/// Memory of a call.
#[derive(Clone, Copy)]
struct Memory {
    u: usize,
    v: usize,
    /// Of the field that a comparison compares with.
    other_u: usize,
    /// The stream, or the critical points.
    stream: usize,
    stream_bytes: usize,
    workspace: usize,
    workspace_bytes: usize,
    /// Where the result goes.
    report: usize,
}

const DEVICE: Memory = Memory {
    u: 0x2_1000_0000,
    v: 0x2_2000_0000,
    other_u: 0x2_6000_0000,
    stream: 0x2_3000_0000,
    stream_bytes: 1 << 20,
    workspace: 0x2_4000_0000,
    // Enough for all calls.
    workspace_bytes: 1 << 24,
    report: 0x2_5000_0000,
};
const OTHER_V: usize = 0x2_7000_0000;
const W: usize = 0x2_8000_0000;
const OTHER_W: usize = 0x2_9000_0000;
const CAPACITY: usize = 1000;

/// A function on a stream, with its names for what is the stream and the report here.
type Call = (fn(&Driver, Memory, usize) -> factz_status, &'static str, &'static str);

/// The codec comes first; the last function has neither a field nor a workspace.
const CALLS: [Call; 13] = [
    (Driver::compress, "dst", "report"),
    (Driver::decompress, "src", "report"),
    (Driver::decompress_planes, "src", "report"),
    (Driver::compress_volume, "dst", "report"),
    (Driver::decompress_volume, "src", "report"),
    (Driver::protect, "dst", "report"),
    (Driver::apply, "fix", "report"),
    (Driver::protect_volume, "dst", "report"),
    (Driver::apply_volume, "fix", "report"),
    (Driver::compare, "", "comparison"),
    (Driver::range, "", "range"),
    (Driver::critical_points, "points", "count"),
    (Driver::inspect, "src", "info"),
];

/// Functions that the hot path may call, once each.
const HOT: [&str; 4] = ["cuStreamGetCtx", "cuCtxPushCurrent_v2", "cuCtxGetId", "cuCtxPopCurrent_v2"];

struct Driver {
    log: PathBuf,
    config: factz_config,
    /// Of as many vertices.
    volume: factz_config,
}

fn volume() -> factz_config {
    let mut config = std::mem::MaybeUninit::uninit();
    // SAFETY: the function writes all of it.
    unsafe {
        let status = factz_config_init_volume(config.as_mut_ptr(), 300, 20, 10, FACTZ_BOUND_RELATIVE, 1e-2);
        assert_eq!(status, FACTZ_OK);
        config.assume_init()
    }
}

impl Driver {
    fn prepare(&self, stream: usize) -> factz_status {
        // SAFETY: the stand-in follows no pointer, here and below.
        unsafe { factz_prepare_device(stream as _) }
    }

    fn compress(&self, m: Memory, stream: usize) -> factz_status {
        let (u, v, dst, room, report) = (m.u as _, m.v as _, m.stream as _, m.stream_bytes, m.report as _);
        let (work, bytes, stream) = (m.workspace as _, m.workspace_bytes, stream as _);
        unsafe { factz_compress_device(u, v, N, &self.config, dst, room, work, bytes, report, stream) }
    }

    fn decompress(&self, m: Memory, stream: usize) -> factz_status {
        let (src, length, u, v, report) = (m.stream as _, m.stream_bytes, m.u as _, m.v as _, m.report as _);
        let (work, bytes, stream) = (m.workspace as _, m.workspace_bytes, stream as _);
        unsafe { factz_decompress_device(src, length, &self.config, u, v, N, work, bytes, report, stream) }
    }

    fn decompress_planes(&self, m: Memory, stream: usize) -> factz_status {
        let (src, length, u, v, report) = (m.stream as _, m.stream_bytes, m.u as _, m.v as _, m.report as _);
        let (c, work, bytes, stream) = (&self.config, m.workspace as _, m.workspace_bytes, stream as _);
        unsafe { factz_decompress_planes_device(src, length, c, 5, u, v, N, work, bytes, report, stream) }
    }

    fn compress_volume(&self, m: Memory, stream: usize) -> factz_status {
        let (u, v, w, dst, room) = (m.u as _, m.v as _, m.other_u as _, m.stream as _, m.stream_bytes);
        let (c, work, bytes, stream) = (&self.volume, m.workspace as _, m.workspace_bytes, stream as _);
        let report = m.report as _;
        unsafe { factz_compress_volume_device(u, v, w, N, c, dst, room, work, bytes, report, stream) }
    }

    fn decompress_volume(&self, m: Memory, stream: usize) -> factz_status {
        let (src, length, u, v, w) = (m.stream as _, m.stream_bytes, m.u as _, m.v as _, m.other_u as _);
        let (c, work, bytes, stream) = (&self.volume, m.workspace as _, m.workspace_bytes, stream as _);
        let report = m.report as _;
        unsafe { factz_decompress_volume_device(src, length, c, u, v, w, N, work, bytes, report, stream) }
    }

    fn protect(&self, m: Memory, stream: usize) -> factz_status {
        let (u, v, other_u, other_v) = (m.u as _, m.v as _, m.other_u as _, OTHER_V as _);
        let (c, null, dst, room) = (&self.config, std::ptr::null(), m.stream as _, m.stream_bytes);
        let (work, bytes, out, to) = (m.workspace as _, m.workspace_bytes, m.report as _, stream as _);
        unsafe { factz_protect_device(u, v, N, c, other_u, other_v, null, dst, room, work, bytes, out, to) }
    }

    fn apply(&self, m: Memory, stream: usize) -> factz_status {
        let (fix, length, u, v, report) = (m.stream as _, m.stream_bytes, m.u as _, m.v as _, m.report as _);
        let (work, bytes, stream) = (m.workspace as _, m.workspace_bytes, stream as _);
        unsafe { factz_apply_device(fix, length, &self.config, u, v, N, work, bytes, report, stream) }
    }

    fn protect_volume(&self, m: Memory, stream: usize) -> factz_status {
        let (u, v, w, c, null) = (m.u as _, m.v as _, W as _, &self.volume, std::ptr::null());
        let [a, b, d] = [m.other_u as _, OTHER_V as _, OTHER_W as _];
        let (dst, room, work, bytes) = (m.stream as _, m.stream_bytes, m.workspace as _, m.workspace_bytes);
        let (out, to) = (m.report as _, stream as _);
        unsafe { factz_protect_volume_device(u, v, w, N, c, a, b, d, null, dst, room, work, bytes, out, to) }
    }

    fn apply_volume(&self, m: Memory, stream: usize) -> factz_status {
        let (fix, length, u, v, w) = (m.stream as _, m.stream_bytes, m.u as _, m.v as _, W as _);
        let (c, work, bytes, stream) = (&self.volume, m.workspace as _, m.workspace_bytes, stream as _);
        let report = m.report as _;
        unsafe { factz_apply_volume_device(fix, length, c, u, v, w, N, work, bytes, report, stream) }
    }

    fn inspect(&self, m: Memory, stream: usize) -> factz_status {
        unsafe { factz_inspect_device(m.stream as _, m.stream_bytes, m.report as _, stream as _) }
    }

    fn critical_points(&self, m: Memory, stream: usize) -> factz_status {
        let (u, v, points, count) = (m.u as _, m.v as _, m.stream as _, m.report as _);
        let (c, work, bytes, stream) = (&self.config, m.workspace as _, m.workspace_bytes, stream as _);
        unsafe { factz_critical_points_device(u, v, N, c, points, CAPACITY, count, work, bytes, stream) }
    }

    fn range(&self, m: Memory, stream: usize) -> factz_status {
        let (u, v, work, bytes) = (m.u as _, m.v as _, m.workspace as _, m.workspace_bytes);
        unsafe { factz_range_device(u, v, N, &self.config, work, bytes, m.report as _, stream as _) }
    }

    fn compare(&self, m: Memory, stream: usize) -> factz_status {
        let (u, v, other_u, other_v) = (m.u as _, m.v as _, m.other_u as _, OTHER_V as _);
        let (c, null, work, bytes) = (&self.config, std::ptr::null(), m.workspace as _, m.workspace_bytes);
        let (out, stream) = (m.report as _, stream as _);
        unsafe { factz_compare_device(u, v, N, c, other_u, other_v, null, work, bytes, out, stream) }
    }

    /// The answer of `call` and the functions of the driver that it calls.
    fn traced(&self, call: impl FnOnce() -> factz_status) -> (factz_status, Vec<String>) {
        let _ = std::fs::remove_file(&self.log);
        let status = call();
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        (status, log.lines().map(str::to_owned).collect())
    }

    /// Refused before anything is enqueued; the functions of the driver that were called.
    #[track_caller]
    fn refused(
        &self,
        expected: factz_status,
        text: &str,
        call: impl FnOnce() -> factz_status,
    ) -> Vec<String> {
        let (status, calls) = self.traced(call);
        assert_eq!(status, expected, "{text}: {}", last_error());
        assert!(last_error().contains(text), "{text}: {}", last_error());
        assert_eq!(count(&calls, "cuLaunchKernel") + count(&calls, "cuMemsetD8Async"), 0);
        assert_balanced(&calls);
        calls
    }

    /// A driver that did not start is asked again by each call, which reports the reason of its own; one that
    /// has started is not.
    fn starting(&self) {
        let errors = [(100, FACTZ_ERROR_NO_DEVICE), (2, FACTZ_ERROR_OUT_OF_MEMORY), (999, FACTZ_ERROR_CUDA)];
        for (error, expected) in errors {
            for compresses in [false, true] {
                let call = || if compresses { self.compress(DEVICE, STREAM) } else { self.prepare(STREAM) };
                let (status, calls) = failing("cuInit", error, || self.traced(call));
                assert_eq!(status, expected, "{}", last_error());
                assert!(last_error().contains("cuInit"), "{}", last_error());
                assert_eq!(calls, ["cuInit"]);
            }
        }
        let (status, calls) = self.traced(|| self.prepare(STREAM));
        assert_eq!((status, count(&calls, "cuInit")), (FACTZ_OK, 1), "{}", last_error());
        let (status, calls) = failing("cuInit", 100, || self.traced(|| self.prepare(STREAM)));
        assert_eq!((status, count(&calls, "cuInit")), (FACTZ_OK, 0), "{}", last_error());
    }

    /// The kernels are loaded once, not during a capture, and unloaded when something is wrong with them.
    fn loading(&self) {
        // The first call of the test loaded them.
        set_context("2");
        let (status, calls) = self.traced(|| self.compress(DEVICE, CAPTURED));
        assert_eq!(status, FACTZ_ERROR_CUDA);
        assert!(last_error().contains("factz_prepare_device"), "{}", last_error());
        assert_balanced(&calls);
        assert_eq!(count(&calls, "cuModuleLoadData"), 0);
        for (function, error, expected, text) in [
            ("cuModuleLoadData", 2, FACTZ_ERROR_OUT_OF_MEMORY, "cuModuleLoadData"),
            ("cuModuleLoadData", 209, FACTZ_ERROR_NO_DEVICE, "sm_90"),
            ("cuModuleLoadData", 700, FACTZ_ERROR_CUDA, "cuModuleLoadData"),
            ("cuModuleGetFunction", 500, FACTZ_ERROR_CUDA, "factz_"),
            ("cuFuncGetAttribute", 209, FACTZ_ERROR_CUDA, "factz_"),
            ("cuDeviceGetAttribute", 700, FACTZ_ERROR_CUDA, "cuDeviceGetAttribute"),
        ] {
            let (status, calls) = failing(function, error, || self.traced(|| self.prepare(STREAM)));
            assert_eq!(status, expected, "{function}={error}: {}", last_error());
            assert!(last_error().contains(text), "{}", last_error());
            assert_balanced(&calls);
            let loaded = (function != "cuModuleLoadData") as usize;
            assert_eq!(count(&calls, "cuModuleUnload"), loaded, "{calls:?}");
        }
        let (status, calls) = self.traced(|| self.prepare(STREAM));
        assert_eq!(status, FACTZ_OK, "{}", last_error());
        assert_eq!(count(&calls, "cuModuleLoadData"), 1);
        assert_balanced(&calls);
        let (status, calls) = self.traced(|| self.prepare(STREAM));
        assert_eq!(status, FACTZ_OK);
        assert_eq!(calls, HOT);
    }

    fn hot_path(&self) {
        // Both ends of each buffer are looked up, small structs once. The bound is relative: a kernel finds
        // the range.
        let work = [
            (9, 0, 6),
            (9, 0, 4),
            (9, 0, 4),
            (11, 0, 16),
            (11, 0, 8),
            (13, 0, 9),
            (9, 0, 8),
            (17, 0, 9),
            (11, 0, 8),
            (12, 1, 3),
            (8, 1, 2),
            (10, 1, 3),
            (4, 0, 1),
        ];
        for stream in [STREAM, CAPTURED] {
            for ((call, ..), (addresses, cleared, least_kernels)) in CALLS.into_iter().zip(work) {
                let (status, calls) = self.traced(|| call(self, DEVICE, stream));
                assert_eq!(status, FACTZ_OK, "{}", last_error());
                // Some may begin before the one before has ended.
                let calls: Vec<String> =
                    calls.iter().map(|c| c.replace("cuLaunchKernelEx", "cuLaunchKernel")).collect();
                let kernels = count(&calls, "cuLaunchKernel");
                assert!(kernels >= least_kernels, "{calls:?}");
                let mut expected: Vec<&str> = HOT[..3].to_vec();
                expected.extend(["cuPointerGetAttributes"].repeat(addresses));
                expected.extend(["cuMemsetD8Async"].repeat(cleared));
                expected.extend(["cuLaunchKernel"].repeat(kernels));
                expected.push(HOT[3]);
                assert_eq!(calls, expected);
            }
        }
    }

    /// Memory that the device cannot reach is refused before anything is enqueued.
    fn arguments(&self) {
        let host = vec![0u64; 1 << 10];
        let host = (host.as_ptr() as usize).next_multiple_of(256);
        let (pinned, managed, other) = (0x4_0000_0000, 0x3_0000_0000, 0x5_0000_0000);
        let bad = [
            ("u", Memory { u: host, ..DEVICE }, "is host memory"),
            ("v", Memory { v: host, ..DEVICE }, "is host memory"),
            ("stream", Memory { stream: host, ..DEVICE }, "is host memory"),
            ("workspace", Memory { workspace: host, ..DEVICE }, "is host memory"),
            ("report", Memory { report: host, ..DEVICE }, "is host memory"),
            ("workspace", Memory { workspace: pinned, ..DEVICE }, "is pinned host memory"),
            ("u", Memory { u: 0x4_ffff_ff00, ..DEVICE }, "memory of device 1"),
            ("v", Memory { v: 0x7_ffff_ff00, ..DEVICE }, "ends before its last byte"),
            ("workspace", Memory { workspace: 0x7_ffff_ff00, ..DEVICE }, "ends before its last byte"),
            ("u", Memory { u: other, ..DEVICE }, "memory of device 1"),
            ("report", Memory { report: other, ..DEVICE }, "memory of device 1"),
            ("u", Memory { u: 0, ..DEVICE }, "is null"),
            ("workspace", Memory { workspace: 0, ..DEVICE }, "is null"),
            ("u", Memory { u: DEVICE.u + 2, ..DEVICE }, "not aligned to 4"),
            ("v", Memory { v: DEVICE.v + 1, ..DEVICE }, "aligned"),
            ("workspace", Memory { workspace: DEVICE.workspace + 128, ..DEVICE }, "not aligned to 256"),
            ("stream", Memory { stream: DEVICE.stream + 4, ..DEVICE }, "not aligned"),
            ("report", Memory { report: DEVICE.report + 4, ..DEVICE }, "not aligned to 8"),
        ];
        let invalid = FACTZ_ERROR_INVALID_ARGUMENT;
        for (k, (call, stream, report)) in CALLS.into_iter().enumerate() {
            for (name, memory, text) in bad {
                let name = match name {
                    "stream" => stream,
                    "report" => report,
                    _ if k == CALLS.len() - 1 => "",
                    _ => name,
                };
                if !name.is_empty() {
                    self.refused(invalid, text, || call(self, memory, STREAM));
                    assert!(last_error().starts_with(name), "{}", last_error());
                }
            }
            let short = Memory { workspace_bytes: 255, ..DEVICE };
            if k < CALLS.len() - 1 {
                let call = || call(self, short, STREAM);
                self.refused(FACTZ_ERROR_WORKSPACE_TOO_SMALL, "workspace_bytes = 255", call);
            }
            for good in [
                Memory { report: pinned, ..DEVICE },
                Memory { stream: pinned, ..DEVICE },
                Memory { u: managed, v: managed + 0x1000_0000, workspace: managed + 0x2000_0000, ..DEVICE },
            ] {
                assert_eq!(call(self, good, STREAM), FACTZ_OK, "{}", last_error());
            }
        }
        let short = Memory { stream_bytes: 127, ..DEVICE };
        self.refused(invalid, "dst_bytes = 127", || self.compress(short, STREAM));
        let beyond = Memory { stream: 0x7_ffff_ff00, ..DEVICE };
        self.refused(invalid, "dst = 0x7ffffff00 ends before", || self.compress(beyond, STREAM));
        self.refused(invalid, "src = 0x7ffffff00 ends before", || self.decompress(beyond, STREAM));
        let other_field = Memory { other_u: host, ..DEVICE };
        self.refused(invalid, "other_u = ", || self.compare(other_field, STREAM));
        self.refused(invalid, "other_u = ", || self.protect(other_field, STREAM));
        self.refused(invalid, "other_u = ", || self.protect_volume(other_field, STREAM));
        self.refused(invalid, "dst_bytes = 127", || self.protect(short, STREAM));
    }

    /// The default streams stand for the current context; without one they are refused.
    fn default_streams(&self) {
        for stream in 0..3 {
            let compress = || self.compress(DEVICE, stream);
            let calls = self.refused(FACTZ_ERROR_INVALID_ARGUMENT, "no current CUDA context", compress);
            assert_eq!(count(&calls, "cuCtxPushCurrent_v2"), 0);
        }
    }

    /// Whatever fails, the answer is an error, nothing more is enqueued and the context is left.
    fn errors(&self) {
        let functions = [
            "cuStreamGetCtx",
            "cuCtxPushCurrent_v2",
            "cuCtxGetId",
            "cuPointerGetAttributes",
            "cuMemsetD8Async",
            "cuLaunchKernel",
        ];
        for function in functions {
            let run = |(call, ..): Call| self.traced(|| call(self, DEVICE, STREAM));
            let answers =
                failing(function, 719, || CALLS[..12].iter().map(|&call| run(call)).collect::<Vec<_>>());
            assert!(last_error().contains(function.trim_end_matches("_v2")), "{function}: {}", last_error());
            // Kernels of the codec clear what they need.
            let clears_itself = if function == "cuMemsetD8Async" { 9 } else { 0 };
            for (status, calls) in &answers[clears_itself..] {
                assert_eq!(*status, FACTZ_ERROR_CUDA, "{function}");
                assert_eq!(count(calls, function), 1, "{calls:?}");
                let entered =
                    count(calls, "cuCtxPushCurrent_v2") - (function == "cuCtxPushCurrent_v2") as usize;
                assert_eq!(count(calls, "cuCtxPopCurrent_v2"), entered, "{function}: {calls:?}");
                let last = calls.iter().rposition(|c| c == function).unwrap();
                assert!(calls[last + 1..].iter().all(|c| c == "cuCtxPopCurrent_v2"), "{calls:?}");
            }
        }
        // Compression alone has a kernel that may begin early.
        let compress = || self.traced(|| self.compress(DEVICE, STREAM));
        let (status, calls) = failing("cuLaunchKernelEx", 719, compress);
        assert_eq!(status, FACTZ_ERROR_CUDA);
        assert_eq!(calls[calls.len() - 2..], ["cuLaunchKernelEx", "cuCtxPopCurrent_v2"]);
        // The work is under way, but the context is not as it was: the caller hears of it.
        assert_eq!(failing("cuCtxPopCurrent_v2", 719, compress).0, FACTZ_ERROR_CUDA);
        // Without overlap none has.
        assert!(factz::device::set_overlap(false));
        let (status, calls) = compress();
        assert!(!factz::device::set_overlap(true));
        assert_eq!((status, count(&calls, "cuLaunchKernelEx")), (FACTZ_OK, 0), "{}", last_error());
        // Everything works again.
        let (status, calls) = compress();
        assert_eq!(status, FACTZ_OK, "{}", last_error());
        assert_balanced(&calls);
    }

    /// Contexts are told apart by their ids: one that was destroyed and made again has no kernels.
    fn another_context_at_the_same_address(&self) {
        for (id, loads) in [("2", 0), ("3", 1), ("3", 0), ("2", 0)] {
            set_context(id);
            let (status, calls) = self.traced(|| self.compress(DEVICE, STREAM));
            assert_eq!(status, FACTZ_OK, "{}", last_error());
            assert_eq!(count(&calls, "cuModuleLoadData"), loads, "context {id}");
            assert_balanced(&calls);
        }
    }
}

fn count(calls: &[String], name: &str) -> usize {
    calls.iter().filter(|c| *c == name).count()
}

fn assert_balanced(calls: &[String]) {
    assert_eq!(count(calls, "cuCtxPushCurrent_v2"), count(calls, "cuCtxPopCurrent_v2"), "{calls:?}");
}
