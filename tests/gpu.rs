//! The device functions against the host functions: same streams, same reports, same bits, and nothing
//! touched that is not theirs. Needs a CUDA device; without one it says so and ends well.
//!
//! Runs from anywhere, without cargo. `FACTZ_DATA` names the folder of fields (NAME/u.f32, v.f32, meta.json;
//! the crate's `data` otherwise), `FACTZ_GPU` limits the run to fields and scenarios whose names contain one
//! of its comma-separated words, `FACTZ_GPU_SHOW` says how many failures of each are printed (3), and
//! `FACTZ_GPU_POISON=0` leaves the workspace as it was allocated, for initcheck.

use factz::backend::cuda::host::{device_count, Buffer, Device, Queue, REPORT_BYTES};
use factz::backend::cuda::{compress_device, decompress_device, prepare_device, Buffers, Stream};
use factz::backend::{self, Execution};
use factz::field::{Layout, View, ViewMut};
use factz::plan::Workspace;
use factz::real::Real;
use factz::request::{SIDES_ALL, SIDE_FIRST_ROW, SIDE_LAST_ROW, SIDE_LEFT, SIDE_RIGHT};
use factz::stage::container::{self, HEADER_BYTES};
use factz::{BoundKind, Coder, Config, Dtype, Error, Mode, Predictor, Preserve, Report, Request, Status};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Bytes before and behind each buffer that must stay as they are.
const ZONE: usize = 1024;
const CANARY: u8 = 0xa5;
/// What gaps and outputs hold before anything is written.
const POISON: u8 = 0xee;

type Check = Result<(), String>;

fn text(e: Error) -> String {
    format!("{:?}: {}", e.status, e.message)
}

// ---------------------------------------------------------------------------------------------------------
// Fields and how they lie in memory

struct Source {
    name: String,
    nx: u64,
    ny: u64,
    u: Vec<f32>,
    v: Vec<f32>,
}

fn read_sources(folder: &Path) -> Vec<Source> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.retain(|p| p.join("meta.json").is_file());
    paths.sort();
    paths.iter().map(|p| read_source(p)).collect()
}

fn read_source(path: &Path) -> Source {
    let read = |name: &str| {
        std::fs::read(path.join(name)).unwrap_or_else(|e| panic!("{}/{name}: {e}", path.display()))
    };
    let values = |name: &str| -> Vec<f32> {
        read(name).chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
    };
    let meta = String::from_utf8(read("meta.json")).expect("meta.json is text");
    let number = |key: &str| -> u64 {
        let rest = meta.split(&format!("\"{key}\":")).nth(1).expect("meta.json has the dimensions");
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().expect("a number")
    };
    let source = Source {
        name: path.file_name().expect("a folder").to_string_lossy().into_owned(),
        nx: number("nx"),
        ny: number("ny"),
        u: values("u.f32"),
        v: values("v.f32"),
    };
    assert_eq!(source.u.len() as u64, source.nx * source.ny, "{}", source.name);
    assert_eq!(source.v.len(), source.u.len(), "{}", source.name);
    source
}

/// A smooth field with some noise, for scenarios that need more tiles than the small fields have.
fn synthetic(nx: u64, ny: u64) -> Source {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let (mut u, mut v) = (Vec::new(), Vec::new());
    for k in 0..nx * ny {
        let (x, y) = ((k % nx) as f32 * 0.021, (k / nx) as f32 * 0.017);
        u.push(x.sin() * y.cos() + 0.3 * (3.1 * y).sin() + 0.01 * noise());
        v.push(-x.cos() * y.sin() + 0.3 * (2.7 * x).sin() + 0.01 * noise());
    }
    Source { name: format!("synthetic_{nx}x{ny}"), nx, ny, u, v }
}

/// How u and v lie in one allocation, and which part of a source is the owned block.
#[derive(Clone, Copy, Debug)]
struct Placement {
    nx: u64,
    ny: u64,
    /// Ghost columns and rows around the block that exist in memory.
    margin: u64,
    u: Layout,
    v: Layout,
    /// Element of vertex (0, 0) of the owned block.
    u_at: u64,
    v_at: u64,
    /// Elements of the allocation.
    elements: u64,
    halo: u32,
    pin: u32,
}

const VARIANTS: usize = 6;

impl Placement {
    fn new(variant: usize, source: &Source) -> Placement {
        let (mut nx, mut ny) = (source.nx, source.ny);
        let dense = |nx: u64| Layout { pitch: nx, stride: 1 };
        let (n, mut margin, mut halo, mut pin) = (nx * ny, 0, 0, 0);
        let (u, v, u_at, v_at, elements) = match variant {
            0 => (dense(nx), dense(nx), 0, n, 2 * n),
            1 => {
                let padded = Layout { pitch: nx + 5, stride: 1 };
                pin = SIDE_RIGHT | SIDE_LAST_ROW;
                (padded, padded, 3, 3 + padded.pitch * ny, 2 * padded.pitch * ny + 3)
            }
            2 => {
                let both = Layout { pitch: 2 * nx, stride: 2 };
                (both, both, 0, 1, 2 * n)
            }
            3 => {
                let (u, v) = (Layout { pitch: 3 * nx + 1, stride: 3 }, Layout { pitch: nx + 2, stride: 1 });
                pin = SIDE_LEFT;
                (u, v, 1, 1 + u.pitch * ny, 1 + (u.pitch + v.pitch) * ny)
            }
            // The source with its border as ghost vertices.
            _ if nx >= 3 && ny >= 3 => {
                let whole = dense(nx);
                let at = nx + 1;
                (nx, ny, margin) = (nx - 2, ny - 2, 1);
                (halo, pin) = match variant {
                    4 => (SIDES_ALL, SIDES_ALL),
                    _ => (SIDE_LEFT | SIDE_FIRST_ROW, SIDE_RIGHT | SIDE_LAST_ROW),
                };
                (whole, whole, at, n + at, 2 * n)
            }
            _ => return Placement::new(0, source),
        };
        Placement { nx, ny, margin, u, v, u_at, v_at, elements, halo, pin }
    }

    fn config(&self, dtype: Dtype) -> Config {
        Config {
            dtype,
            u: self.u,
            v: self.v,
            halo: self.halo,
            pin: self.pin,
            dx: 1.0,
            dy: 1.5,
            ..Config::new(self.nx, self.ny, BoundKind::Relative, 1e-2)
        }
    }

    /// The bytes of the allocation with the source in it.
    fn image<T: Real>(&self, source: &Source) -> Vec<u8> {
        let mut image = vec![POISON; self.elements as usize * T::BYTES];
        let margin = self.margin as i64;
        for (values, layout, at) in [(&source.u, self.u, self.u_at), (&source.v, self.v, self.v_at)] {
            for y in -margin..self.ny as i64 + margin {
                for x in -margin..self.nx as i64 + margin {
                    let value = values[((y + margin) * source.nx as i64 + x + margin) as usize];
                    let k = at as i64 + y * layout.pitch as i64 + x * layout.stride as i64;
                    let bits = T::from_f64(value as f64).to_bits64().to_le_bytes();
                    image[k as usize * T::BYTES..][..T::BYTES].copy_from_slice(&bits[..T::BYTES]);
                }
            }
        }
        image
    }

    fn views<'a, T: Real>(&self, image: &'a [u8]) -> [View<'a, T>; 2] {
        assert!(image.len() == self.elements as usize * T::BYTES);
        [(self.u, self.u_at), (self.v, self.v_at)].map(|(layout, at)| {
            // SAFETY: the placement covers the block and its ghosts, and the image is borrowed.
            unsafe { View::new(image.as_ptr().cast::<T>().wrapping_add(at as usize), layout) }
        })
    }

    fn views_mut<'a, T: Real>(&self, image: &'a mut [u8]) -> [ViewMut<'a, T>; 2] {
        assert!(image.len() == self.elements as usize * T::BYTES);
        let first = image.as_mut_ptr().cast::<T>();
        [(self.u, self.u_at), (self.v, self.v_at)].map(|(layout, at)| {
            // SAFETY: as above; the vertices of u and v are distinct elements.
            unsafe { ViewMut::new(first.wrapping_add(at as usize), layout) }
        })
    }
}

// ---------------------------------------------------------------------------------------------------------
// Guarded device memory

struct Guarded {
    buffer: Buffer,
    bytes: usize,
}

impl Guarded {
    fn new(bytes: usize) -> Result<Self, Error> {
        let bytes = bytes.next_multiple_of(256);
        let buffer = Buffer::new(bytes + 2 * ZONE)?;
        let guarded = Guarded { buffer, bytes };
        guarded.arm(bytes)?;
        Ok(guarded)
    }

    /// Marks everything before and behind the first `bytes` (as far as the zones reach).
    fn arm(&self, bytes: usize) -> Result<(), Error> {
        self.buffer.write(0, &[CANARY; ZONE])?;
        self.buffer.write(ZONE + bytes, &[CANARY; ZONE])
    }

    fn check(&self, name: &str, bytes: usize) -> Check {
        for (offset, side) in [(0, "before"), (ZONE + bytes, "behind")] {
            let zone = self.buffer.read(offset, ZONE).map_err(text)?;
            if let Some(k) = zone.iter().position(|&b| b != CANARY) {
                return Err(format!("{name}: byte {k} of the zone {side} it was written"));
            }
        }
        Ok(())
    }

    fn pointer(&self) -> u64 {
        self.buffer.pointer() + ZONE as u64
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= self.bytes);
        self.buffer.write(ZONE, bytes)
    }

    fn read(&self, bytes: usize) -> Result<Vec<u8>, Error> {
        assert!(bytes <= self.bytes);
        self.buffer.read(ZONE, bytes)
    }
}

/// The device memory of one test after another.
struct Bench {
    queue: Queue,
    field: Guarded,
    stream: Guarded,
    workspace: Guarded,
    report: Buffer,
    poison: bool,
}

fn compress_plan(request: &Request) -> usize {
    Workspace::compress(request).expect("a workspace").bytes as usize
}

fn decompress_plan(request: &Request) -> usize {
    Workspace::decompress(request).expect("a workspace").bytes as usize
}

impl Bench {
    /// Memory for fields of up to this many vertices.
    fn new(nx: u64, ny: u64, dtype: Dtype) -> Result<Self, Error> {
        let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) };
        let request = Request::new(config)?;
        let lorenzo = Request::new(Config { predictor: Predictor::Lorenzo, ..config })?;
        let compress = compress_plan(&request).max(compress_plan(&lorenzo));
        let elements = (4 * nx + 8) * ny + 8;
        let report = Buffer::new(2 * REPORT_BYTES)?;
        let bench = Bench {
            queue: Queue::new()?,
            field: Guarded::new((elements * dtype.bytes()) as usize)?,
            stream: Guarded::new(backend::max_stream_bytes(&request) as usize + 256)?,
            workspace: Guarded::new(compress.max(decompress_plan(&request)))?,
            report,
            poison: std::env::var("FACTZ_GPU_POISON").as_deref() != Ok("0"),
        };
        Ok(bench)
    }

    fn buffers(
        &self,
        place: &Placement,
        dtype: Dtype,
        stream_bytes: usize,
        workspace_bytes: usize,
    ) -> Buffers {
        Buffers {
            u: self.field.pointer() + place.u_at * dtype.bytes(),
            v: self.field.pointer() + place.v_at * dtype.bytes(),
            stream: self.stream.pointer(),
            stream_bytes: stream_bytes as u64,
            workspace: self.workspace.pointer(),
            workspace_bytes: workspace_bytes as u64,
            report: self.report.pointer(),
        }
    }

    fn spoil(&self, workspace_bytes: usize) -> Result<(), Error> {
        self.report.fill(POISON)?;
        if self.poison {
            self.workspace.buffer.fill(0x5b)?;
        }
        self.workspace.arm(workspace_bytes)
    }

    fn report(&self) -> Result<Report, String> {
        let bytes = self.report.read(0, 2 * REPORT_BYTES).map_err(text)?;
        if bytes[REPORT_BYTES..].iter().any(|&b| b != POISON) {
            return Err("bytes behind the report were written".into());
        }
        if bytes[..REPORT_BYTES].iter().all(|&b| b == POISON) {
            return Err("the report was not written".into());
        }
        if bytes[4..8].iter().chain(&bytes[72..REPORT_BYTES]).any(|&b| b != 0) {
            return Err("the reserved bytes of the report are not 0".into());
        }
        self.report.read_report().map_err(text)
    }

    /// Compresses an image with `capacity` bytes for the stream, and answers the report and the stream.
    fn compress(
        &self,
        request: &Request,
        place: &Placement,
        image: &[u8],
        capacity: usize,
    ) -> Result<(Report, Vec<u8>), String> {
        let dtype = request.config().dtype;
        let workspace_bytes = compress_plan(request);
        self.spoil(workspace_bytes).map_err(text)?;
        self.field.write(image).map_err(text)?;
        self.field.arm(image.len()).map_err(text)?;
        self.stream.arm(capacity).map_err(text)?;
        let buffers = self.buffers(place, dtype, capacity, workspace_bytes);
        // SAFETY: all buffers live until the stream is synchronised.
        unsafe { compress_device(request, &buffers, self.queue.stream()) }.map_err(text)?;
        self.queue.synchronize().map_err(text)?;
        let report = self.report()?;
        self.stream.check("dst", capacity)?;
        self.workspace.check("workspace", workspace_bytes)?;
        self.field.check("the field", image.len())?;
        if self.field.read(image.len()).map_err(text)? != image {
            return Err("the input was changed".into());
        }
        let bytes = if report.status == Status::Ok { report.stream_bytes as usize } else { 0 };
        if bytes > capacity {
            return Err(format!("the report says {bytes} bytes, there is room for {capacity}"));
        }
        Ok((report, self.stream.read(bytes).map_err(text)?))
    }

    /// Decompresses a stream whose bound is `stream.len()` into a poisoned image, and answers the report
    /// and the image.
    fn decompress(
        &self,
        request: &Request,
        place: &Placement,
        stream: &[u8],
    ) -> Result<(Report, Vec<u8>), String> {
        let dtype = request.config().dtype;
        let workspace_bytes = decompress_plan(request);
        let image = vec![POISON; place.elements as usize * dtype.bytes() as usize];
        self.spoil(workspace_bytes).map_err(text)?;
        self.field.write(&image).map_err(text)?;
        self.field.arm(image.len()).map_err(text)?;
        self.stream.write(stream).map_err(text)?;
        self.stream.arm(stream.len()).map_err(text)?;
        let buffers = self.buffers(place, dtype, stream.len(), workspace_bytes);
        // SAFETY: all buffers live until the stream is synchronised.
        unsafe { decompress_device(request, &buffers, self.queue.stream()) }.map_err(text)?;
        self.queue.synchronize().map_err(text)?;
        let report = self.report()?;
        self.stream.check("src", stream.len())?;
        self.workspace.check("workspace", workspace_bytes)?;
        self.field.check("the output", image.len())?;
        if self.stream.read(stream.len()).map_err(text)? != stream {
            return Err("the stream was changed".into());
        }
        Ok((report, self.field.read(image.len()).map_err(text)?))
    }
}

// ---------------------------------------------------------------------------------------------------------
// What the host functions answer

/// Small fields are done sooner by one thread.
fn execution(place: &Placement) -> Execution<'static> {
    Execution { threads: if place.nx * place.ny < 1 << 16 { 1 } else { 0 }, progress: None }
}

fn host_compress<T: Real>(request: &Request, place: &Placement, image: &[u8]) -> (Report, Vec<u8>) {
    let mut dst = vec![0; backend::max_stream_bytes(request) as usize];
    let [u, v] = place.views::<T>(image);
    let report =
        backend::compress(request, u, v, &mut dst, execution(place)).expect("the host compresses the field");
    assert_eq!(report.status, Status::Ok);
    dst.truncate(report.stream_bytes as usize);
    (report, dst)
}

fn host_decompress<T: Real>(
    request: &Request,
    place: &Placement,
    stream: &[u8],
) -> Result<(Report, Vec<u8>), Error> {
    let mut image = vec![POISON; place.elements as usize * T::BYTES];
    let [u, v] = place.views_mut::<T>(&mut image);
    let report = backend::decompress(request.config(), stream, u, v, execution(place))?;
    Ok((report, image))
}

fn check_reports(device: &Report, host: &Report) -> Check {
    let bits = |r: &Report| (r.bound.to_bits(), r.max_error.to_bits());
    if device == host && bits(device) == bits(host) {
        return Ok(());
    }
    Err(format!("reports differ:\n    device {device:?}\n    host   {host:?}"))
}

/// Where in a coded stream a byte lies.
fn part_of(stream: &[u8], at: usize) -> String {
    let Ok(h) = container::Header::read(stream) else { return "no stream".into() };
    let sizes = HEADER_BYTES + h.table_bytes as usize;
    let mut begin = sizes + 4 * h.groups() as usize;
    if at < HEADER_BYTES {
        return format!("header byte {at}");
    } else if at < sizes {
        return format!("byte {} of {} of the tables", at - HEADER_BYTES, h.table_bytes);
    } else if at < begin {
        return format!("size of group {} of {}", (at - sizes) / 4, h.groups());
    }
    for (group, size) in stream[sizes..begin].chunks_exact(4).enumerate() {
        let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
        if at < begin + size {
            return format!("byte {} of {size} of group {group} of {}", at - begin, h.groups());
        }
        begin += size;
    }
    "past the groups".into()
}

fn check_streams(device: &[u8], host: &[u8]) -> Check {
    if device == host {
        return Ok(());
    }
    let differ = device.iter().zip(host).filter(|(a, b)| a != b).count();
    // The checksum differs whenever something does.
    let first = device.iter().zip(host).enumerate().position(|(k, (a, b))| a != b && !(8..12).contains(&k));
    let at = first.unwrap_or(device.len().min(host.len()));
    Err(format!(
        "streams differ: {} bytes (host {}), {differ} differ, the first at {at}: {}",
        device.len(),
        host.len(),
        part_of(host, at)
    ))
}

fn check_images(device: &[u8], host: &[u8], place: &Placement, bytes: usize) -> Check {
    let Some(at) = device.iter().zip(host).position(|(a, b)| a != b) else { return Ok(()) };
    let element = (at / bytes) as u64;
    let wrong = device.chunks(bytes).zip(host.chunks(bytes)).filter(|(a, b)| a != b).count();
    for (name, layout, first) in [("u", place.u, place.u_at), ("v", place.v, place.v_at)] {
        if element >= first {
            let (y, rest) = ((element - first) / layout.pitch, (element - first) % layout.pitch);
            if y < place.ny && rest % layout.stride == 0 && rest / layout.stride < place.nx {
                let hex = |b: &[u8]| b.iter().rev().map(|b| format!("{b:02x}")).collect::<String>();
                return Err(format!(
                    "{wrong} values differ, the first {name}({}, {y}): device {} host {}",
                    rest / layout.stride,
                    hex(&device[at / bytes * bytes..][..bytes]),
                    hex(&host[at / bytes * bytes..][..bytes])
                ));
            }
        }
    }
    Err(format!("{wrong} values differ, the first in a gap, element {element}"))
}

// ---------------------------------------------------------------------------------------------------------
// The comparison of every configuration on every field

const MODES: [Mode; 2] = [Mode::BlockWise, Mode::Speculative];
/// Every combination of the choices that makes another stream.
const CONFIGURATIONS: [(Mode, Predictor, Coder); 6] = [
    (Mode::BlockWise, Predictor::Hierarchical, Coder::Ans),
    (Mode::Speculative, Predictor::Hierarchical, Coder::Ans),
    (Mode::BlockWise, Predictor::Hierarchical, Coder::Huffman),
    (Mode::Speculative, Predictor::Hierarchical, Coder::Huffman),
    (Mode::BlockWise, Predictor::Lorenzo, Coder::Ans),
    (Mode::BlockWise, Predictor::Lorenzo, Coder::Huffman),
];
const PRESERVES: [Preserve; 3] = [Preserve::None, Preserve::Points, Preserve::Types];
const BOUNDS: [(BoundKind, f64); 6] = [
    (BoundKind::Relative, 1e-1),
    (BoundKind::Relative, 1e-2),
    (BoundKind::Relative, 1e-3),
    (BoundKind::Relative, 1e-6),
    (BoundKind::Absolute, 1e-2),
    (BoundKind::Absolute, 0.0),
];

#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, what: impl FnOnce() -> String, result: Check) {
        match result {
            Ok(()) => self.passed += 1,
            Err(e) => self.failures.push(format!("{}: {e}", what())),
        }
    }

    /// A broken context answers nothing right any more.
    fn is_lost(&self) -> bool {
        self.failures.last().is_some_and(|f| {
            [
                "ILLEGAL_ADDRESS",
                "LAUNCH_FAILED",
                "MISALIGNED",
                "ILLEGAL_INSTRUCTION",
                "HARDWARE_STACK",
                "TIMEOUT",
            ]
            .iter()
            .any(|word| f.contains(word))
        })
    }
}

fn compare_field<T: Real>(source: &Source, dtype: Dtype, tally: &mut Tally) -> Check {
    let bench = Bench::new(source.nx, source.ny, dtype).map_err(text)?;
    let mut turn = source.nx as usize;
    let mut images: Vec<Option<Vec<u8>>> = vec![None; VARIANTS];
    for (mode, predictor, coder) in CONFIGURATIONS {
        for preserve in PRESERVES {
            for (bound_kind, bound) in BOUNDS {
                // The layouts take turns; the two directions have different ones.
                turn += 1;
                let (variant, other) = (turn % VARIANTS, (turn * 5 + turn / VARIANTS) % VARIANTS);
                let place = Placement::new(variant, source);
                let image = images[variant].get_or_insert_with(|| place.image::<T>(source));
                let config =
                    Config { mode, predictor, coder, preserve, bound_kind, bound, ..place.config(dtype) };
                let request = Request::new(config).map_err(text)?;
                let name = |step: &str| {
                    format!(
                        "{step} {dtype:?} {mode:?} {predictor:?} {coder:?} {preserve:?} {bound_kind:?} {bound:e} \
                         layout {variant}/{other}"
                    )
                };
                let (host_report, stream) = host_compress::<T>(&request, &place, image);
                let capacity = backend::max_stream_bytes(&request) as usize;
                let result = bench.compress(&request, &place, image, capacity).and_then(|(report, bytes)| {
                    check_streams(&bytes, &stream).and(check_reports(&report, &host_report))
                });
                tally.add(|| name("compress"), result);
                if tally.is_lost() {
                    return Ok(());
                }

                // The output block has the shape of the stream, in another layout.
                let block = Source { nx: place.nx, ny: place.ny, name: String::new(), u: vec![], v: vec![] };
                let target = Placement::new(if other < 4 { other } else { 0 }, &block);
                let config = Config { mode, preserve, bound_kind, bound, ..target.config(dtype) };
                let request = Request::new(config).map_err(text)?;
                let (host_report, host_image) =
                    host_decompress::<T>(&request, &target, &stream).map_err(text)?;
                let result = bench.decompress(&request, &target, &stream).and_then(|(report, image)| {
                    check_images(&image, &host_image, &target, T::BYTES)
                        .and(check_reports(&report, &host_report))
                });
                tally.add(|| name("decompress"), result);
                if tally.is_lost() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------------------
// Scenarios

/// A field, its request and what the host makes of it.
struct Case {
    place: Placement,
    request: Request,
    image: Vec<u8>,
    report: Report,
    stream: Vec<u8>,
    output: Vec<u8>,
    output_report: Report,
}

impl Case {
    fn new(source: &Source, mode: Mode, bound: f64) -> Case {
        Case::of(source, (mode, Predictor::Hierarchical, Coder::Ans), bound)
    }

    fn of(source: &Source, configuration: (Mode, Predictor, Coder), bound: f64) -> Case {
        let place = Placement::new(0, source);
        let (mode, predictor, coder) = configuration;
        let config = Config { mode, predictor, coder, bound, ..place.config(Dtype::F32) };
        let request = Request::new(config).expect("a request");
        let image = place.image::<f32>(source);
        let (report, stream) = host_compress::<f32>(&request, &place, &image);
        let (output_report, output) =
            host_decompress::<f32>(&request, &place, &stream).expect("the host decompresses its stream");
        Case { place, request, image, report, stream, output, output_report }
    }

    fn capacity(&self) -> usize {
        backend::max_stream_bytes(&self.request) as usize
    }

    fn bench(&self) -> Result<Bench, String> {
        Bench::new(self.place.nx, self.place.ny, Dtype::F32).map_err(text)
    }
}

fn small_case() -> Case {
    Case::new(&synthetic(300, 200), Mode::BlockWise, 1e-2)
}

/// A compression and the decompression of what it wrote, recorded once, replayed on other data.
fn graphs(_: &Device) -> Check {
    for configuration in CONFIGURATIONS {
        let cases = [
            Case::of(&synthetic(300, 200), configuration, 1e-2),
            Case::of(&Source { u: synthetic(300, 200).v, ..synthetic(300, 200) }, configuration, 1e-2),
        ];
        let bench = cases[0].bench()?;
        let (request, place) = (&cases[0].request, &cases[0].place);
        let output = Guarded::new(cases[0].output.len()).map_err(text)?;
        let second_report = Buffer::new(REPORT_BYTES).map_err(text)?;
        let workspace_bytes = compress_plan(request).max(decompress_plan(request));
        let capacity = cases[0].capacity();
        let compress = bench.buffers(place, Dtype::F32, capacity, workspace_bytes);
        let decompress = Buffers {
            u: output.pointer(),
            v: output.pointer() + place.v_at * 4,
            report: second_report.pointer(),
            ..compress
        };
        let stream = bench.queue.stream();
        // SAFETY: the buffers outlive the graph.
        unsafe { prepare_device(stream) }.map_err(text)?;
        let graph = bench
            .queue
            // SAFETY: as above.
            .capture(|| unsafe {
                compress_device(request, &compress, stream)?;
                decompress_device(request, &decompress, stream)
            })
            .map_err(text)?;
        for round in 0..6 {
            let case = &cases[round % 2];
            bench.spoil(workspace_bytes).map_err(text)?;
            bench.field.write(&case.image).map_err(text)?;
            graph.launch(&bench.queue).and(bench.queue.synchronize()).map_err(text)?;
            check_reports(&bench.report()?, &case.report)?;
            check_streams(&bench.stream.read(case.stream.len()).map_err(text)?, &case.stream)?;
            check_reports(&second_report.read_report().map_err(text)?, &case.output_report)?;
            let image = output.read(case.output.len()).map_err(text)?;
            check_images(&image, &case.output, place, 4)?;
            output.buffer.fill(POISON).map_err(text)?;
        }
    }
    Ok(())
}

fn too_small_buffers(_: &Device) -> Check {
    for bound in [1e-2, 0.0] {
        let case = Case::new(&synthetic(300, 200), Mode::BlockWise, bound);
        let bench = case.bench()?;
        let n = case.stream.len();
        for capacity in [128, 132, 1024, n / 2, n - 256, n - 4, n - 1, n, n + 1] {
            let (report, stream) = bench
                .compress(&case.request, &case.place, &case.image, capacity)
                .map_err(|e| format!("capacity {capacity} of {n}: {e}"))?;
            if capacity >= n {
                check_streams(&stream, &case.stream)?;
                check_reports(&report, &case.report)?;
            } else if report.status != Status::BufferTooSmall || report.required_bytes != n as u64 {
                return Err(format!("capacity {capacity} of {n}: {report:?}"));
            }
        }
    }
    Ok(())
}

/// Whatever the bytes are, the device answers and nothing else is touched.
fn corrupt_streams(_: &Device) -> Check {
    let mut sources = vec![Case::new(&synthetic(300, 200), Mode::Speculative, 1e-2)];
    sources.push(Case::new(&synthetic(33, 65), Mode::BlockWise, 1e-3));
    sources.push(Case::new(&synthetic(40, 40), Mode::BlockWise, 0.0));
    sources.extend(CONFIGURATIONS[2..].iter().map(|&c| Case::of(&synthetic(200, 130), c, 1e-2)));
    for case in &sources {
        let bench = case.bench()?;
        let n = case.stream.len();
        let run = |stream: &[u8], verify: bool, what: &str| -> Result<Report, String> {
            let config = Config { verify_checksum: verify, ..*case.request.config() };
            let request = Request::new(config).map_err(text)?;
            let answer =
                bench.decompress(&request, &case.place, stream).map_err(|e| format!("{what}: {e}"))?;
            Ok(answer.0)
        };
        let (report, image) = bench.decompress(&case.request, &case.place, &case.stream)?;
        check_reports(&report, &case.output_report)?;
        check_images(&image, &case.output, &case.place, 4)?;
        for cut in [0, 1, 4, 64, 127, 128, 131, n / 3, n / 2, n - 256, n - 4, n - 1] {
            let what = format!("the first {cut} of {n} bytes");
            for verify in [true, false] {
                let report = run(&case.stream[..cut], verify, &what)?;
                if report.status != Status::CorruptStream {
                    return Err(format!("{what}: {:?}", report.status));
                }
            }
        }
        let mut state = 7u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        let sizes = container::Header::read(&case.stream).map_err(text)?.table_bytes as usize + HEADER_BYTES;
        for round in 0..400 {
            // Each part of the stream gets its share.
            let end = [HEADER_BYTES, sizes + 8, n.min(sizes + 600), n][round % 4].min(n);
            let byte = if round < 2 * HEADER_BYTES { round / 2 } else { random(end) };
            let mut stream = case.stream.clone();
            match round % 3 {
                0 => stream[byte] ^= 1 << random(8),
                1 => stream[byte] = random(256) as u8,
                _ => stream[byte..].iter_mut().take(64).for_each(|b| *b = random(256) as u8),
            }
            if stream == case.stream {
                continue;
            }
            let what = format!("damage {} at byte {byte} ({})", round % 3, part_of(&case.stream, byte));
            let report = run(&stream, true, &what)?;
            if report.status == Status::Ok {
                return Err(format!("{what}: the checksum was not compared"));
            }
            run(&stream, false, &format!("{what}, unchecked"))?;
            if stream.len() >= HEADER_BYTES {
                container::seal(&mut stream);
                run(&stream, true, &format!("{what}, resealed"))?;
            }
        }
        let (report, image) = bench.decompress(&case.request, &case.place, &case.stream)?;
        check_reports(&report, &case.output_report)?;
        check_images(&image, &case.output, &case.place, 4)?;
    }
    Ok(())
}

/// A stream of other dimensions or another type is an invalid argument; more bytes behind it do no harm.
fn other_streams(_: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    for (nx, ny, dtype) in [(200, 300, Dtype::F32), (300, 199, Dtype::F32), (150, 200, Dtype::F64)] {
        let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) };
        let request = Request::new(config).map_err(text)?;
        let n = nx * ny;
        let layout = Layout { pitch: nx, stride: 1 };
        let place = Placement { nx, ny, u: layout, v: layout, v_at: n, elements: 2 * n, ..case.place };
        let (report, image) = bench.decompress(&request, &place, &case.stream)?;
        if report.status != Status::InvalidArgument {
            return Err(format!("{nx} x {ny} {dtype:?}: {report:?}"));
        }
        if image.iter().any(|&b| b != POISON) {
            return Err(format!("{nx} x {ny} {dtype:?}: the output was written"));
        }
    }
    let mut longer = case.stream.clone();
    longer.resize(case.stream.len() + 77, 0x77);
    let (report, image) = bench.decompress(&case.request, &case.place, &longer)?;
    check_reports(&report, &case.output_report)?;
    check_images(&image, &case.output, &case.place, 4)
}

fn concurrent_calls(device: &Device) -> Check {
    let cases = [
        Case::new(&synthetic(500, 300), Mode::BlockWise, 1e-3),
        Case::new(&synthetic(257, 511), Mode::Speculative, 1e-2),
    ];
    let context = device.handle();
    std::thread::scope(|scope| {
        let threads = cases.each_ref().map(|case| {
            scope.spawn(move || {
                let work = || -> Check {
                    let bench = case.bench()?;
                    for _ in 0..20 {
                        let (report, stream) =
                            bench.compress(&case.request, &case.place, &case.image, case.capacity())?;
                        check_streams(&stream, &case.stream)?;
                        check_reports(&report, &case.report)?;
                        let (_, image) = bench.decompress(&case.request, &case.place, &case.stream)?;
                        check_images(&image, &case.output, &case.place, 4)?;
                    }
                    Ok(())
                };
                Device::enter(context, work).map_err(text)?
            })
        });
        threads.into_iter().try_for_each(|t| t.join().map_err(|_| "a thread panicked".to_owned())?)
    })
}

/// Two calls in flight at once on two streams, nothing between them.
fn overlapping_calls(_: &Device) -> Check {
    let cases = [
        Case::new(&synthetic(700, 500), Mode::BlockWise, 1e-3),
        Case::new(&synthetic(640, 512), Mode::Speculative, 1e-2),
    ];
    let benches = [cases[0].bench()?, cases[1].bench()?];
    let buffers = [0, 1].map(|k| {
        let workspace = compress_plan(&cases[k].request);
        benches[k].buffers(&cases[k].place, Dtype::F32, cases[k].capacity(), workspace)
    });
    for k in [0, 1] {
        benches[k].spoil(compress_plan(&cases[k].request)).map_err(text)?;
        benches[k].field.write(&cases[k].image).map_err(text)?;
    }
    for _ in 0..10 {
        for k in [0, 1] {
            // SAFETY: the buffers live until both streams are synchronised.
            unsafe { compress_device(&cases[k].request, &buffers[k], benches[k].queue.stream()) }
                .map_err(text)?;
        }
    }
    for k in [0, 1] {
        benches[k].queue.synchronize().map_err(text)?;
        check_reports(&benches[k].report()?, &cases[k].report)?;
        check_streams(&benches[k].stream.read(cases[k].stream.len()).map_err(text)?, &cases[k].stream)?;
    }
    Ok(())
}

fn bad_arguments(_: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    let workspace_bytes = compress_plan(&case.request).max(decompress_plan(&case.request));
    let good = bench.buffers(&case.place, Dtype::F32, case.capacity(), workspace_bytes);
    let host = vec![0u64; 1 << 16];
    let host = (host.as_ptr() as u64).next_multiple_of(256);
    let pinned = Buffer::pinned(workspace_bytes + 256).map_err(text)?;
    let invalid = Status::InvalidArgument;
    let cases: Vec<(&str, Buffers, Status)> = vec![
        ("u", Buffers { u: host, ..good }, invalid),
        ("v", Buffers { v: host, ..good }, invalid),
        ("stream", Buffers { stream: host, ..good }, invalid),
        ("workspace", Buffers { workspace: host, ..good }, invalid),
        ("workspace", Buffers { workspace: pinned.pointer().next_multiple_of(256), ..good }, invalid),
        ("report", Buffers { report: host, ..good }, invalid),
        ("u", Buffers { u: 0, ..good }, invalid),
        ("v", Buffers { v: good.v + 2, ..good }, invalid),
        ("stream", Buffers { stream: good.stream + 4, ..good }, invalid),
        ("workspace", Buffers { workspace: good.workspace + 128, ..good }, invalid),
        ("report", Buffers { report: good.report + 4, ..good }, invalid),
        ("workspace", Buffers { workspace_bytes: 1024, ..good }, Status::WorkspaceTooSmall),
    ];
    bench.report.fill(POISON).map_err(text)?;
    for (name, buffers, status) in &cases {
        for direction in ["compress", "decompress"] {
            let queue = bench.queue.stream();
            // SAFETY: refused before anything is enqueued.
            let answer = unsafe {
                match direction {
                    "compress" => compress_device(&case.request, buffers, queue),
                    _ => decompress_device(&case.request, buffers, queue),
                }
            };
            let name = match (*name, direction) {
                ("stream", "compress") => "dst",
                ("stream", _) => "src",
                (name, _) => name,
            };
            match answer {
                Err(e) if e.status == *status && e.message.starts_with(name) => {}
                other => return Err(format!("{direction} with bad {name}: {other:?}")),
            }
        }
    }
    let short = Buffers { stream_bytes: 127, ..good };
    // SAFETY: refused before anything is enqueued.
    match unsafe { compress_device(&case.request, &short, bench.queue.stream()) } {
        Err(e) if e.status == invalid && e.message.contains("127") => {}
        other => return Err(format!("dst_bytes = 127: {other:?}")),
    }
    bench.queue.synchronize().map_err(text)?;
    match bench.report.read(0, REPORT_BYTES).map_err(text)?.iter().all(|&b| b == POISON) {
        true => Ok(()),
        false => Err("a refused call wrote the report".into()),
    }
}

/// Default streams, a report in pinned host memory, a field in managed memory, a stream in pinned memory.
fn kinds_of_memory_and_streams(device: &Device) -> Check {
    let case = small_case();
    let bench = case.bench()?;
    let workspace_bytes = compress_plan(&case.request);
    let pinned = Buffer::pinned(256).map_err(text)?;
    let managed = Buffer::managed(case.image.len()).map_err(text)?;
    let pinned_stream = Buffer::pinned(case.capacity() + 256).map_err(text)?;
    managed.write(0, &case.image).map_err(text)?;
    device.synchronize().map_err(text)?;
    let good = bench.buffers(&case.place, Dtype::F32, case.capacity(), workspace_bytes);
    let at = pinned_stream.pointer().next_multiple_of(256);
    let kinds = [
        Buffers { report: pinned.pointer(), ..good },
        Buffers {
            u: managed.pointer(),
            v: managed.pointer() + case.place.v_at * 4,
            report: pinned.pointer(),
            ..good
        },
        Buffers { stream: at, report: pinned.pointer(), ..good },
    ];
    for (k, buffers) in kinds.iter().enumerate() {
        for stream in [bench.queue.stream(), 0 as Stream, 1 as Stream, 2 as Stream] {
            bench.spoil(workspace_bytes).map_err(text)?;
            bench.field.write(&case.image).map_err(text)?;
            device.synchronize().map_err(text)?;
            // SAFETY: the buffers live until the device is synchronised.
            unsafe { compress_device(&case.request, buffers, stream) }
                .map_err(|e| format!("kind {k}, stream {stream:?}: {}", text(e)))?;
            device.synchronize().map_err(text)?;
            check_reports(&pinned.read_report().map_err(text)?, &case.report)?;
            let bytes = match k {
                2 => pinned_stream.read((at - pinned_stream.pointer()) as usize, case.stream.len()),
                _ => bench.stream.read(case.stream.len()),
            };
            check_streams(&bytes.map_err(text)?, &case.stream)?;
        }
    }
    Ok(())
}

/// Without a checksum the same bits come out.
fn unchecked(_: &Device) -> Check {
    let case = small_case();
    let config = Config { verify_checksum: false, ..*case.request.config() };
    let request = Request::new(config).map_err(text)?;
    let (report, image) = case.bench()?.decompress(&request, &case.place, &case.stream)?;
    check_reports(&report, &case.output_report)?;
    check_images(&image, &case.output, &case.place, 4)
}

/// More tiles than some grids have blocks.
fn many_tiles(_: &Device) -> Check {
    for (nx, ny, mode) in
        [(4096, 2500, Mode::BlockWise), (100_000, 33, Mode::Speculative), (3, 300_000, Mode::BlockWise)]
    {
        let case = Case::new(&synthetic(nx, ny), mode, 1e-3);
        let bench = case.bench()?;
        let (report, stream) = bench.compress(&case.request, &case.place, &case.image, case.capacity())?;
        check_streams(&stream, &case.stream).map_err(|e| format!("{nx} x {ny}: {e}"))?;
        check_reports(&report, &case.report)?;
        let (report, image) = bench.decompress(&case.request, &case.place, &case.stream)?;
        check_images(&image, &case.output, &case.place, 4).map_err(|e| format!("{nx} x {ny}: {e}"))?;
        check_reports(&report, &case.output_report)?;
    }
    Ok(())
}

/// In a context that was made anew the kernels are loaded again, but not while a stream is captured. The
/// last scenario: everything on the device is gone after it.
fn fresh_contexts(device: &Device) -> Check {
    let case = small_case();
    for _ in 0..2 {
        // SAFETY: all other scenarios have freed what they had.
        unsafe { device.reset() }.map_err(text)?;
        let again = Device::open(0).map_err(text)?;
        let bench = case.bench()?;
        let buffers = bench.buffers(&case.place, Dtype::F32, case.capacity(), compress_plan(&case.request));
        let stream = bench.queue.stream();
        // SAFETY: nothing is enqueued.
        let captured = bench.queue.capture(|| unsafe { compress_device(&case.request, &buffers, stream) });
        match captured {
            Err(e) if e.message.contains("factz_prepare_device") => {}
            Err(e) => return Err(format!("captured before the kernels were loaded: {}", text(e))),
            Ok(_) => return Err("captured although the kernels cannot have been loaded".into()),
        }
        // SAFETY: a live stream.
        unsafe { prepare_device(stream) }.map_err(text)?;
        let (_, stream) = bench.compress(&case.request, &case.place, &case.image, case.capacity())?;
        check_streams(&stream, &case.stream)?;
        drop(bench);
        drop(again);
    }
    Ok(())
}

type Scenario = (&'static str, fn(&Device) -> Check);
const SCENARIOS: [Scenario; 11] = [
    ("graphs", graphs),
    ("too_small_buffers", too_small_buffers),
    ("corrupt_streams", corrupt_streams),
    ("other_streams", other_streams),
    ("concurrent_calls", concurrent_calls),
    ("overlapping_calls", overlapping_calls),
    ("bad_arguments", bad_arguments),
    ("kinds_of_memory_and_streams", kinds_of_memory_and_streams),
    ("unchecked", unchecked),
    ("many_tiles", many_tiles),
    ("fresh_contexts", fresh_contexts),
];

fn main() -> ExitCode {
    let folder = std::env::var_os("FACTZ_DATA").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("data"));
    let words: Vec<String> = std::env::var("FACTZ_GPU")
        .map(|w| w.split(',').filter(|w| !w.is_empty()).map(str::to_owned).collect())
        .unwrap_or_default();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    let show = std::env::var("FACTZ_GPU_SHOW").ok().and_then(|s| s.parse().ok()).unwrap_or(3);
    let sources: Vec<Source> = read_sources(&folder).into_iter().filter(|s| wanted(&s.name)).collect();
    let scenarios: Vec<&Scenario> = SCENARIOS.iter().filter(|s| wanted(s.0)).collect();
    let planned = sources.len() * 4 * MODES.len() * PRESERVES.len() * BOUNDS.len() + scenarios.len();
    let device = match device_count().and_then(|_| Device::open(0)) {
        Ok(device) => device,
        Err(e) => {
            println!("no CUDA device: {planned} GPU tests not run ({})", e.message);
            println!("0 passed, 0 failed, {planned} skipped");
            // A test run on a GPU machine that finds none has failed.
            return ExitCode::from((std::env::var("FACTZ_GPU_REQUIRED").as_deref() == Ok("1")) as u8);
        }
    };
    println!("{}; {} fields of {}", device.name().unwrap_or_default(), sources.len(), folder.display());
    let (mut passed, mut failed) = (0, 0);
    let mut lost = false;
    let mut close = |name: &str, tally: Tally, start: Instant| -> bool {
        let seconds = start.elapsed().as_secs_f64();
        println!("{name}: {} passed, {} failed in {seconds:.2} s", tally.passed, tally.failures.len());
        for failure in tally.failures.iter().take(show) {
            println!("  {failure}");
        }
        if tally.failures.len() > show && tally.is_lost() {
            println!("  ... {}", tally.failures.last().expect("not empty"));
        }
        passed += tally.passed;
        failed += tally.failures.len();
        tally.is_lost()
    };
    for source in &sources {
        let (start, mut tally) = (Instant::now(), Tally::default());
        let result =
            compare_field::<f32>(source, Dtype::F32, &mut tally).and_then(|()| match tally.is_lost() {
                true => Ok(()),
                false => compare_field::<f64>(source, Dtype::F64, &mut tally),
            });
        if let Err(e) = result {
            tally.failures.push(e);
        }
        lost = close(&format!("{} {}x{}", source.name, source.nx, source.ny), tally, start);
        if lost {
            break;
        }
    }
    for (name, scenario) in scenarios {
        if lost {
            break;
        }
        let (start, mut tally) = (Instant::now(), Tally::default());
        tally.add(|| (*name).to_owned(), scenario(&device));
        lost = close(name, tally, start);
    }
    if lost {
        println!("the device answers nothing after this: the rest was not run");
    }
    println!("{passed} passed, {failed} failed");
    // The context may be gone.
    std::mem::forget(device);
    ExitCode::from((failed > 0) as u8)
}
