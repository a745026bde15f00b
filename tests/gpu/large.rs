//! Fields whose components are larger than 4 GiB, made of copies of a strip on the device, compressed,
//! decompressed and compared there; strips at the beginning, around 4 GiB and at the end come back to be checked
//! by the host.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::device::Device;
use crate::fields::{synthetic, Source};
use crate::{text, Check, NOT_RUN};
use factz::CriticalPoint;

use factz::device::{
    compare_device, compress_device, critical_points_device, decompress_device, Buffers, ComparedFields,
    PointBuffers,
};
use factz::device::{AnalysisWorkspace, Workspace};
use factz::Real;
use factz::View;
use factz::{BoundKind, Config, Dtype, Mode, Report, Request, Status};

/// Rows of the strip: with it repeats the field, at no distance that is a multiple of 2^32 bytes.
const STRIP: u64 = 999;
/// Rows that come back at a time.
const BAND: u64 = 40;

/// Two components one behind the other, u first.
struct Field {
    buffer: Buffer,
    component_bytes: u64,
}

impl Field {
    fn new(request: &Request) -> Result<Field, String> {
        let bytes = request.field_bytes();
        Ok(Field { buffer: Buffer::new(bytes as usize).map_err(text)?, component_bytes: bytes / 2 })
    }

    fn pointers(&self) -> [u64; 2] {
        [self.buffer.pointer(), self.buffer.pointer() + self.component_bytes]
    }

    fn rows<T: Real>(&self, nx: u64, rows: std::ops::Range<u64>) -> Result<[Vec<T>; 2], String> {
        let row_bytes = nx * T::BYTES as u64;
        let component = |k: u64| -> Result<Vec<T>, String> {
            let offset = k * self.component_bytes + rows.start * row_bytes;
            let bytes = self
                .buffer
                .read(offset as usize, ((rows.end - rows.start) * row_bytes) as usize)
                .map_err(text)?;
            Ok(bytes
                .chunks_exact(T::BYTES)
                .map(|b| {
                    let mut bits = [0; 8];
                    bits[..T::BYTES].copy_from_slice(b);
                    T::from_bits64(u64::from_le_bytes(bits))
                })
                .collect())
        };
        Ok([component(0)?, component(1)?])
    }
}

fn expect(what: &str, holds: bool, found: impl std::fmt::Debug) -> Check {
    match holds {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}")),
    }
}

pub fn large_f32(device: &Device) -> Check {
    large::<f32>(device, Dtype::F32, 36_000, 30_000, Mode::BlockWise)
}

/// More than 2^31 vertices.
pub fn largest_f32(device: &Device) -> Check {
    large::<f32>(device, Dtype::F32, 48_000, 45_000, Mode::Speculative)
}

pub fn large_f64(device: &Device) -> Check {
    large::<f64>(device, Dtype::F64, 24_000, 23_000, Mode::BlockWise)
}

/// Fills a field with copies of the strip.
fn fill<T: Real>(field: &Field, strip: &Source, nx: u64, ny: u64, queue: &Queue) -> Check {
    let row_bytes = nx * T::BYTES as u64;
    for (component, values) in [&strip.u, &strip.v].into_iter().enumerate() {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|&x| T::from_f64(x as f64).to_bits64().to_le_bytes().into_iter().take(T::BYTES))
            .collect();
        let start = component as u64 * field.component_bytes;
        field.buffer.write(start as usize, &bytes).map_err(text)?;
        let mut row = STRIP;
        while row < ny {
            let rows = STRIP.min(ny - row);
            let to = (start + row * row_bytes) as usize;
            field.buffer.copy_within(start as usize, to, (rows * row_bytes) as usize, queue).map_err(text)?;
            row += rows;
        }
    }
    queue.synchronize().map_err(text)
}

fn done(queue: &Queue, report: &Buffer) -> Result<Report, String> {
    queue.synchronize().map_err(text)?;
    let report = report.read_report().map_err(text)?;
    expect("the report", report.status == Status::Ok, report)?;
    Ok(report)
}

fn large<T: Real>(device: &Device, dtype: Dtype, nx: u64, ny: u64, mode: Mode) -> Check {
    let name = format!("{nx} x {ny} {dtype:?}");
    let config = Config { dtype, mode, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) };
    let request = Request::new(config).map_err(text)?;
    assert!(nx * ny * dtype.bytes() > 1 << 32, "{name} is not large");
    let workspace_bytes = Workspace::compress(&request)
        .and_then(|c| Ok(c.bytes.max(Workspace::decompress(&request)?.bytes)))
        .and_then(|w| Ok(w.max(AnalysisWorkspace::bytes(&request)?)))
        .map_err(text)?;
    let stream_bytes = factz::max_stream_bytes(&request);
    let needed = 2 * request.field_bytes() + stream_bytes + workspace_bytes + (1 << 28);
    let (free, _) = device.memory().map_err(text)?;
    let wish = std::env::var("FACTZ_GPU_LARGE").unwrap_or_default();
    if wish == "0" {
        return Err(format!("{NOT_RUN}{name}: FACTZ_GPU_LARGE=0"));
    } else if needed > free {
        let why = format!("{name} takes {} MB of the device, {} MB are free", needed >> 20, free >> 20);
        return Err(if wish == "1" { why } else { format!("{NOT_RUN}{why}") });
    }
    check_large::<T>(&request, workspace_bytes, stream_bytes).map_err(|e| format!("{name}: {e}"))
}

fn check_large<T: Real>(request: &Request, workspace_bytes: u64, stream_bytes: u64) -> Check {
    let Config { nx, ny, .. } = *request.config();
    let strip = synthetic(nx, STRIP);
    let queue = Queue::new().map_err(text)?;
    let (input, output) = (Field::new(request)?, Field::new(request)?);
    fill::<T>(&input, &strip, nx, ny, &queue)?;
    output.buffer.fill(crate::POISON).map_err(text)?;
    let stream = Buffer::new(stream_bytes as usize).map_err(text)?;
    let workspace = Buffer::new(workspace_bytes as usize).map_err(text)?;
    let report = Buffer::new(REPORT_BYTES).map_err(text)?;
    let [u, v] = input.pointers();
    let compress = Buffers {
        u,
        v,
        stream: stream.pointer(),
        stream_bytes,
        workspace: workspace.pointer(),
        workspace_bytes,
        report: report.pointer(),
    };
    // SAFETY: the buffers live until the queue is synchronised.
    unsafe { compress_device(request, &compress, queue.stream()) }.map_err(text)?;
    let compressed = done(&queue, &report)?;
    let [u, v] = output.pointers();
    // SAFETY: as above.
    unsafe { decompress_device(request, &Buffers { u, v, ..compress }, queue.stream()) }.map_err(text)?;
    done(&queue, &report)?;

    let bound = compressed.bound;
    let absolute = Config { bound_kind: BoundKind::Absolute, bound, ..*request.config() };
    let requests = [Request::new(absolute).map_err(text)?; 2];
    let result = Buffer::new(256).map_err(text)?;
    let fields = ComparedFields {
        first: input.pointers(),
        other: output.pointers(),
        checks_bound: true,
        workspace: workspace.pointer(),
        workspace_bytes,
        comparison: result.pointer(),
    };
    let compare = || {
        // SAFETY: as above.
        unsafe { compare_device(&requests, &fields, queue.stream()) }.map_err(text)?;
        queue.synchronize().map_err(text)?;
        result.read_comparison().map_err(text)
    };
    let c = compare()?;
    expect("violations", c.violations() == 0, c)?;
    expect("critical points", c.critical_points == compressed.critical_points, c)?;
    // The report's is rounded to the element type.
    let difference = (c.max_error - compressed.max_error).abs();
    expect("the largest error", difference <= 1e-6 * compressed.max_error, (c.max_error, compressed))?;

    // The last row of cells that begins below 4 GiB of u, and both ends.
    let middle = (1u64 << 32) / (nx * T::BYTES as u64);
    let bands = [0..BAND, middle - BAND / 2..middle + BAND / 2, ny - BAND..ny];
    let points = device_points(request, &input, &workspace, workspace_bytes, c.critical_points, &queue)?;
    for rows in bands {
        check_band::<T>(&requests[0], &strip, &input, &output, rows.clone(), &points)
            .map_err(|e| format!("rows {rows:?}: {e}"))?;
    }

    // A value that is wrong at the very end does not escape the comparison.
    let last = output.buffer.bytes() - T::BYTES;
    let far = T::from_f64(1e9).to_bits64().to_le_bytes();
    output.buffer.write(last, &far[..T::BYTES]).map_err(text)?;
    let c = compare()?;
    expect("the last value was changed", c.bound_exceeded == 1 && c.max_error > 0.9e9, c)
}

fn device_points(
    request: &Request,
    field: &Field,
    workspace: &Buffer,
    workspace_bytes: u64,
    expected: u64,
    queue: &Queue,
) -> Result<Vec<CriticalPoint>, String> {
    let points = Buffer::new(40 * expected as usize).map_err(text)?;
    let count = Buffer::new(8).map_err(text)?;
    let [u, v] = field.pointers();
    let buffers = PointBuffers {
        u,
        v,
        points: points.pointer(),
        capacity: expected,
        count: count.pointer(),
        workspace: workspace.pointer(),
        workspace_bytes,
    };
    // SAFETY: the buffers live until the queue is synchronised.
    unsafe { critical_points_device(request, &buffers, queue.stream()) }.map_err(text)?;
    queue.synchronize().map_err(text)?;
    let found = count.read_u64(0).map_err(text)?;
    expect("the number of critical points", found == expected, found)?;
    points.read_points(expected as usize).map_err(text)
}

/// Rows of the input are what they were made of, those of the output are within the bound and keep everything,
/// and the device's critical points in them are the host's.
fn check_band<T: Real>(
    request: &Request,
    strip: &Source,
    input: &Field,
    output: &Field,
    rows: std::ops::Range<u64>,
    points: &[CriticalPoint],
) -> Check {
    let c = request.config();
    let [before, after] = [input.rows::<T>(c.nx, rows.clone())?, output.rows::<T>(c.nx, rows.clone())?];
    for (component, values) in before.iter().zip([&strip.u, &strip.v]) {
        for (y, row) in rows.clone().zip(component.chunks(c.nx as usize)) {
            let source = &values[(y % STRIP * c.nx) as usize..][..c.nx as usize];
            let same =
                row.iter().zip(source).all(|(a, b)| a.to_bits64() == T::from_f64(*b as f64).to_bits64());
            expect("the input was changed in row", same, y)?;
        }
    }
    let view = |values| View::dense(values, c.nx);
    let band = Request::new(Config { ny: rows.end - rows.start, ..*c }).map_err(text)?;
    let [first, other] = [&before, &after].map(|field| field.each_ref().map(|x| view(x)));
    let found = factz::compare(&band, first, other, true, 0).map_err(text)?;
    expect("violations", found.violations() == 0, found)?;
    let host = factz::critical_points(&band, first, 0).map_err(text)?;
    let inside = |p: &&CriticalPoint| (rows.start..rows.end - 1).contains(&p.y_cell);
    let cells = |p: &CriticalPoint| (p.x_cell, p.y_cell, p.triangle, p.kind);
    let ours: Vec<_> = points.iter().filter(inside).map(cells).collect();
    let theirs: Vec<_> =
        host.iter().map(|p| cells(&CriticalPoint { y_cell: p.y_cell + rows.start, ..*p })).collect();
    expect("critical points", ours == theirs, (ours.len(), theirs.len()))
}
