//! The device functions enqueue and return: on a stand-in for the driver that writes down every call, the
//! hot path allocates nothing, waits for nothing and makes no event; it enters the context of the stream
//! and leaves it again, whatever fails.
//!
//! The driver is found at run time, so the tests run in a child process whose library path begins with the
//! stand-in (tests/stand_in/libcuda.c).

use factz::capi::analysis::*;
use factz::capi::config::*;
use factz::capi::device::*;
use factz::capi::inspect::*;
use factz::capi::range::factz_range;
use factz::capi::report::*;
use factz::capi::sizes::*;
use factz::capi::status::*;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const LOG: &str = "FACTZ_STAND_IN_LOG";
const FAIL: &str = "FACTZ_STAND_IN_FAIL";
const CONTEXT: &str = "FACTZ_STAND_IN_CONTEXT";

const STREAM: usize = 0x1000;
const CAPTURED: usize = 0x1100;
const N: usize = 300 * 200;

/// Tells the stand-in what to do.
fn set_variable(name: &str, value: impl AsRef<std::ffi::OsStr>) {
    // SAFETY: the child process runs one test on one thread.
    unsafe { std::env::set_var(name, value) }
}

fn remove_variable(name: &str) {
    // SAFETY: as above.
    unsafe { std::env::remove_var(name) }
}

/// Compiles the stand-in under both names that the driver is looked for by.
fn stand_in() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("stand_in");
    std::fs::create_dir_all(&folder).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in/libcuda.c");
    let library = folder.join("libcuda.so.1");
    let status = Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .expect("a C compiler");
    assert!(status.success());
    std::fs::copy(&library, folder.join("libcuda.so")).unwrap();
    folder
}

#[test]
fn device_functions_only_enqueue() {
    let Some(log) = std::env::var_os(LOG) else {
        let folder = stand_in();
        let log = folder.join("calls");
        let _ = std::fs::remove_file(&log);
        let mut path = folder.into_os_string();
        if let Some(old) = std::env::var_os("LD_LIBRARY_PATH") {
            path.push(":");
            path.push(old);
        }
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["enqueuing::device_functions_only_enqueue", "--exact", "--nocapture"])
            .env("LD_LIBRARY_PATH", path)
            .env(LOG, log)
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&child.stdout) + String::from_utf8_lossy(&child.stderr);
        assert!(child.status.success(), "{output}");
        return;
    };
    let driver = Driver { log: log.into(), config: config() };
    if driver.prepare(STREAM) == FACTZ_ERROR_NO_DEVICE && message().contains("built without CUDA") {
        crate::support::skip("built without the CUDA kernels");
        return;
    }
    driver.loading();
    driver.hot_path();
    driver.arguments();
    driver.analysis_arguments();
    driver.default_streams();
    driver.errors();
    driver.another_context_at_the_same_address();
}

fn config() -> factz_config {
    // SAFETY: a zeroed configuration is filled in.
    unsafe {
        let mut config: factz_config = std::mem::zeroed();
        assert_eq!(factz_config_init(&mut config, 300, 200, FACTZ_BOUND_RELATIVE, 1e-2), FACTZ_OK);
        config
    }
}

fn message() -> String {
    // SAFETY: a string that lives until the thread's next call.
    unsafe { CStr::from_ptr(factz_last_error()) }.to_string_lossy().into_owned()
}

/// Addresses of a call.
#[derive(Clone, Copy)]
struct Memory {
    u: usize,
    v: usize,
    stream: usize,
    stream_bytes: usize,
    workspace: usize,
    report: usize,
}

/// Where an analysis reads the other field and writes.
const OTHER_U: usize = 0x2_6000_0000;
const OTHER_V: usize = 0x2_7000_0000;
const CAPACITY: usize = 1000;

const DEVICE: Memory = Memory {
    u: 0x2_1000_0000,
    v: 0x2_2000_0000,
    stream: 0x2_3000_0000,
    stream_bytes: 1 << 20,
    workspace: 0x2_4000_0000,
    report: 0x2_5000_0000,
};

/// What the hot path may call, and how often.
const HOT: [&str; 4] = ["cuStreamGetCtx", "cuCtxPushCurrent_v2", "cuCtxGetId", "cuCtxPopCurrent_v2"];

struct Driver {
    log: PathBuf,
    config: factz_config,
}

impl Driver {
    fn prepare(&self, stream: usize) -> factz_status {
        // SAFETY: the stand-in follows no pointer.
        unsafe { factz_prepare_device(stream as factz_stream) }
    }

    fn compress(&self, m: Memory, stream: usize) -> factz_status {
        let report = m.report as *mut factz_report;
        let stream = stream as factz_stream;
        // SAFETY: the stand-in follows no pointer.
        unsafe {
            let (u, v, dst, work) = (m.u as _, m.v as _, m.stream as _, m.workspace as _);
            let bytes = self.workspace_bytes();
            factz_compress_device(u, v, N, &self.config, dst, m.stream_bytes, work, bytes, report, stream)
        }
    }

    fn decompress(&self, m: Memory, stream: usize) -> factz_status {
        let report = m.report as *mut factz_report;
        let stream = stream as factz_stream;
        // SAFETY: the stand-in follows no pointer.
        unsafe {
            let (u, v, src, work) = (m.u as _, m.v as _, m.stream as _, m.workspace as _);
            let bytes = self.workspace_bytes();
            factz_decompress_device(src, m.stream_bytes, &self.config, u, v, N, work, bytes, report, stream)
        }
    }

    /// `m.report` receives the info.
    fn inspect(&self, m: Memory, stream: usize) -> factz_status {
        let info = m.report as *mut factz_info;
        // SAFETY: the stand-in follows no pointer.
        unsafe { factz_inspect_device(m.stream as _, m.stream_bytes, info, stream as factz_stream) }
    }

    /// `m.report` receives the count, `m.stream` the points.
    fn critical_points(&self, m: Memory, stream: usize) -> factz_status {
        let (points, count) = (m.stream as *mut factz_critical_point, m.report as *mut u64);
        let stream = stream as factz_stream;
        // SAFETY: the stand-in follows no pointer.
        unsafe {
            let (u, v, work, bytes) = (m.u as _, m.v as _, m.workspace as _, self.analysis_bytes());
            factz_critical_points_device(u, v, N, &self.config, points, CAPACITY, count, work, bytes, stream)
        }
    }

    /// `m.report` receives the range.
    fn range(&self, m: Memory, stream: usize) -> factz_status {
        let (range, stream) = (m.report as *mut factz_range, stream as factz_stream);
        let (u, v, work, bytes) = (m.u as _, m.v as _, m.workspace as _, self.analysis_bytes());
        // SAFETY: the stand-in follows no pointer.
        unsafe { factz_range_device(u, v, N, &self.config, work, bytes, range, stream) }
    }

    /// `m.report` receives the comparison.
    fn compare(&self, m: Memory, other_u: usize, bytes: usize, stream: usize) -> factz_status {
        let comparison = m.report as *mut factz_comparison;
        let stream = stream as factz_stream;
        let (u, v, work, null) = (m.u as _, m.v as _, m.workspace as _, std::ptr::null());
        let (other_u, other_v) = (other_u as _, OTHER_V as _);
        // SAFETY: the stand-in follows no pointer.
        unsafe {
            factz_compare_device(
                u,
                v,
                N,
                &self.config,
                other_u,
                other_v,
                null,
                work,
                bytes,
                comparison,
                stream,
            )
        }
    }

    fn sizes(&self) -> factz_sizes {
        // SAFETY: a zeroed struct is filled in.
        unsafe {
            let mut sizes: factz_sizes = std::mem::zeroed();
            assert_eq!(factz_compress_sizes(&self.config, &mut sizes), FACTZ_OK);
            sizes
        }
    }

    /// Enough for both directions.
    fn workspace_bytes(&self) -> usize {
        2 * self.sizes().workspace_bytes as usize
    }

    fn analysis_bytes(&self) -> usize {
        self.sizes().analysis_workspace_bytes as usize
    }

    /// What `call` answers and which functions of the driver it calls.
    fn traced(&self, call: impl FnOnce() -> factz_status) -> (factz_status, Vec<String>) {
        let _ = std::fs::remove_file(&self.log);
        let status = call();
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let calls: Vec<String> = log.lines().map(str::to_owned).collect();
        (status, calls)
    }

    /// The kernels are loaded once, not during a capture, and unloaded when something is wrong with them.
    fn loading(&self) {
        // The first call of the test loaded them.
        set_variable(CONTEXT, "2");
        let (status, calls) = self.traced(|| self.compress(DEVICE, CAPTURED));
        assert_eq!(status, FACTZ_ERROR_CUDA);
        assert!(message().contains("factz_prepare_device"), "{}", message());
        assert_balanced(&calls);
        assert_eq!(count(&calls, "cuModuleLoadData"), 0);
        for (function, error, expected, text) in [
            ("cuModuleLoadData", 2, FACTZ_ERROR_OUT_OF_MEMORY, "cuModuleLoadData"),
            ("cuModuleLoadData", 209, FACTZ_ERROR_NO_DEVICE, "sm_90"),
            ("cuModuleLoadData", 700, FACTZ_ERROR_CUDA, "cuModuleLoadData"),
            ("cuModuleGetFunction", 500, FACTZ_ERROR_CUDA, "factz_"),
            ("cuFuncGetAttribute", 209, FACTZ_ERROR_CUDA, "factz_"),
        ] {
            set_variable(FAIL, format!("{function}={error}"));
            let (status, calls) = self.traced(|| self.prepare(STREAM));
            remove_variable(FAIL);
            assert_eq!(status, expected, "{function}={error}: {}", message());
            assert!(message().contains(text), "{}", message());
            assert_balanced(&calls);
            let loaded = (function != "cuModuleLoadData") as usize;
            assert_eq!(count(&calls, "cuModuleUnload"), loaded, "{calls:?}");
        }
        let (status, calls) = self.traced(|| self.prepare(STREAM));
        assert_eq!(status, FACTZ_OK, "{}", message());
        assert_eq!(count(&calls, "cuModuleLoadData"), 1);
        assert_balanced(&calls);
        let (status, calls) = self.traced(|| self.prepare(STREAM));
        assert_eq!(status, FACTZ_OK);
        assert_eq!(calls, HOT);
    }

    fn hot_path(&self) {
        for stream in [STREAM, CAPTURED] {
            let bytes = self.analysis_bytes();
            let compare = || self.compare(DEVICE, OTHER_U, bytes, stream);
            // Both ends of each buffer are looked up, small structs once.
            for ((status, calls), addresses, cleared, least_kernels) in [
                (self.traced(|| self.compress(DEVICE, stream)), 9, 0, 6),
                (self.traced(|| self.decompress(DEVICE, stream)), 9, 0, 4),
                // The bound is relative: a kernel finds the range.
                (self.traced(compare), 12, 1, 3),
                (self.traced(|| self.range(DEVICE, stream)), 8, 1, 2),
                (self.traced(|| self.critical_points(DEVICE, stream)), 10, 1, 3),
                (self.traced(|| self.inspect(DEVICE, stream)), 4, 0, 1),
            ] {
                assert_eq!(status, FACTZ_OK, "{}", message());
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
            ("", Memory { stream: host, ..DEVICE }, "is host memory"),
            ("workspace", Memory { workspace: host, ..DEVICE }, "is host memory"),
            ("report", Memory { report: host, ..DEVICE }, "is host memory"),
            ("workspace", Memory { workspace: pinned, ..DEVICE }, "is pinned host memory"),
            ("u", Memory { u: 0x4_ffff_ff00, ..DEVICE }, "memory of device 1"),
            ("v", Memory { v: 0x7_ffff_ff00, ..DEVICE }, "ends before its last byte"),
            ("", Memory { stream: 0x7_ffff_ff00, ..DEVICE }, "ends before its last byte"),
            ("workspace", Memory { workspace: 0x7_ffff_ff00, ..DEVICE }, "ends before its last byte"),
            ("u", Memory { u: other, ..DEVICE }, "memory of device 1"),
            ("report", Memory { report: other, ..DEVICE }, "memory of device 1"),
            ("u", Memory { u: 0, ..DEVICE }, "is null"),
            ("workspace", Memory { workspace: 0, ..DEVICE }, "is null"),
            ("v", Memory { v: DEVICE.v + 1, ..DEVICE }, "aligned"),
        ];
        for (name, memory, text) in bad {
            for (stream_name, (status, calls)) in [
                ("dst", self.traced(|| self.compress(memory, STREAM))),
                ("src", self.traced(|| self.decompress(memory, STREAM))),
            ] {
                let name = if name.is_empty() { stream_name } else { name };
                assert_eq!(status, FACTZ_ERROR_INVALID_ARGUMENT, "{name} {text}");
                assert_eq!(count(&calls, "cuLaunchKernel") + count(&calls, "cuMemsetD8Async"), 0);
                assert_balanced(&calls);
                // The message of the second call is the last one.
                if stream_name == "src" {
                    assert!(message().starts_with(name) && message().contains(text), "{}", message());
                }
            }
        }
        let short = Memory { stream_bytes: 127, ..DEVICE };
        assert_eq!(self.compress(short, STREAM), FACTZ_ERROR_INVALID_ARGUMENT);
        assert!(message().contains("dst_bytes = 127"), "{}", message());
        for good in [
            Memory { report: pinned, ..DEVICE },
            Memory { stream: pinned, ..DEVICE },
            Memory { u: managed, v: managed + 0x1000_0000, workspace: managed + 0x2000_0000, ..DEVICE },
        ] {
            assert_eq!(self.compress(good, STREAM), FACTZ_OK, "{}", message());
            assert_eq!(self.decompress(good, STREAM), FACTZ_OK, "{}", message());
        }
    }

    /// The same for the analysis, whose workspace and results are checked too.
    fn analysis_arguments(&self) {
        let host = vec![0u64; 1 << 10];
        let host = (host.as_ptr() as usize).next_multiple_of(256);
        let bytes = self.analysis_bytes();
        let refused = |text: &str, (status, calls): (factz_status, Vec<String>), expected| {
            assert_eq!(status, expected, "{text}: {}", message());
            assert!(message().contains(text), "{text}: {}", message());
            assert_eq!(count(&calls, "cuLaunchKernel") + count(&calls, "cuMemsetD8Async"), 0);
            assert_balanced(&calls);
        };
        let invalid = FACTZ_ERROR_INVALID_ARGUMENT;
        for (memory, text) in [
            (Memory { u: host, ..DEVICE }, "u = "),
            (Memory { v: host, ..DEVICE }, "v = "),
            (Memory { workspace: host, ..DEVICE }, "workspace = "),
            (Memory { workspace: 0x4_0000_0000, ..DEVICE }, "is pinned host memory"),
            (Memory { v: 0x5_0000_0000, ..DEVICE }, "memory of device 1"),
            (Memory { workspace: DEVICE.workspace + 128, ..DEVICE }, "not aligned to 256"),
            (Memory { u: DEVICE.u + 2, ..DEVICE }, "not aligned to 4"),
        ] {
            refused(text, self.traced(|| self.compare(memory, OTHER_U, bytes, STREAM)), invalid);
            refused(text, self.traced(|| self.critical_points(memory, STREAM)), invalid);
            refused(text, self.traced(|| self.range(memory, STREAM)), invalid);
        }
        let result = Memory { report: host, ..DEVICE };
        refused("comparison = ", self.traced(|| self.compare(result, OTHER_U, bytes, STREAM)), invalid);
        refused("range = ", self.traced(|| self.range(result, STREAM)), invalid);
        refused("count = ", self.traced(|| self.critical_points(result, STREAM)), invalid);
        refused("info = ", self.traced(|| self.inspect(result, STREAM)), invalid);
        refused("other_u = ", self.traced(|| self.compare(DEVICE, host, bytes, STREAM)), invalid);
        let points = Memory { stream: host, ..DEVICE };
        refused("points = ", self.traced(|| self.critical_points(points, STREAM)), invalid);
        refused("src = ", self.traced(|| self.inspect(points, STREAM)), invalid);
        let short = self.traced(|| self.compare(DEVICE, OTHER_U, 256, STREAM));
        refused("workspace_bytes = 256", short, FACTZ_ERROR_WORKSPACE_TOO_SMALL);
        // Results may go to mapped host memory.
        let pinned = Memory { report: 0x4_0000_0000, ..DEVICE };
        for status in [
            self.compare(pinned, OTHER_U, bytes, STREAM),
            self.critical_points(pinned, STREAM),
            self.range(pinned, STREAM),
            self.inspect(pinned, STREAM),
        ] {
            assert_eq!(status, FACTZ_OK, "{}", message());
        }
    }

    /// The default streams stand for the current context; without one they are refused.
    fn default_streams(&self) {
        for stream in 0..3 {
            let (status, calls) = self.traced(|| self.compress(DEVICE, stream));
            assert_eq!(status, FACTZ_ERROR_INVALID_ARGUMENT, "{}", message());
            assert!(message().contains("no current CUDA context"), "{}", message());
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
            set_variable(FAIL, format!("{function}=719"));
            let compress = self.traced(|| self.compress(DEVICE, STREAM));
            let decompress = self.traced(|| self.decompress(DEVICE, STREAM));
            let compare = self.traced(|| self.compare(DEVICE, OTHER_U, self.analysis_bytes(), STREAM));
            let points = self.traced(|| self.critical_points(DEVICE, STREAM));
            let range = self.traced(|| self.range(DEVICE, STREAM));
            remove_variable(FAIL);
            assert!(message().contains(function.trim_end_matches("_v2")), "{function}: {}", message());
            // Kernels of the codec clear what they need.
            let clears_itself = if function == "cuMemsetD8Async" { 2 } else { 0 };
            for (status, calls) in &[compress, decompress, compare, points, range][clears_itself..] {
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
        set_variable(FAIL, "cuLaunchKernelEx=719");
        let (status, calls) = self.traced(|| self.compress(DEVICE, STREAM));
        remove_variable(FAIL);
        assert_eq!(status, FACTZ_ERROR_CUDA);
        assert_eq!(calls[calls.len() - 2..], ["cuLaunchKernelEx", "cuCtxPopCurrent_v2"]);
        // The work is under way, but the context is not as it was: the caller hears of it.
        set_variable(FAIL, "cuCtxPopCurrent_v2=719");
        let status = self.compress(DEVICE, STREAM);
        remove_variable(FAIL);
        assert_eq!(status, FACTZ_ERROR_CUDA);
        // Everything works again.
        let (status, calls) = self.traced(|| self.compress(DEVICE, STREAM));
        assert_eq!(status, FACTZ_OK, "{}", message());
        assert_balanced(&calls);
    }

    /// Contexts are told apart by their ids: one that was destroyed and made again has no kernels.
    fn another_context_at_the_same_address(&self) {
        for (id, loads) in [("2", 0), ("3", 1), ("3", 0), ("2", 0)] {
            set_variable(CONTEXT, id);
            let (status, calls) = self.traced(|| self.compress(DEVICE, STREAM));
            assert_eq!(status, FACTZ_OK, "{}", message());
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
