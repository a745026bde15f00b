//! Fields whose components are larger than 4 GiB, made of copies of a strip, compressed, decompressed and
//! compared on the device; bands at the beginning, around 4 GiB and at the end come back to be checked by the
//! host.

use crate::device::pipeline::Pipeline;
use crate::device::Device;
use crate::fields::synthetic;
use crate::support::fields::{dtype, Field};
use crate::{ensure, Check, NOT_RUN};
use factz::device::{AnalysisWorkspace, Workspace};
use factz::{BoundKind, Config, CriticalPoint, Mode, Real, Request, Simplex, Status};

/// Rows of the strip: with it repeats the field, at no distance that is a multiple of 2^32 bytes.
const STRIP: u64 = 999;
/// Rows that come back at a time.
const BAND: u64 = 40;

pub fn large_f32(device: &Device) -> Check {
    large::<f32>(device, [36_000, 30_000], Mode::BlockWise)
}

/// More than 2^31 vertices.
pub fn largest_f32(device: &Device) -> Check {
    large::<f32>(device, [48_000, 45_000], Mode::Speculative)
}

pub fn large_f64(device: &Device) -> Check {
    large::<f64>(device, [24_000, 23_000], Mode::BlockWise)
}

fn large<T: Real>(device: &Device, [nx, ny]: [u64; 2], mode: Mode) -> Check {
    let dtype = dtype::<T>();
    let name = format!("{nx} x {ny} {dtype:?}");
    let request = Request::new(Config { dtype, mode, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) })?;
    assert!(nx * ny * dtype.bytes() > 1 << 32, "{name} is not large");
    let plans = [Workspace::compress(&request)?.bytes, Workspace::decompress(&request)?.bytes];
    let workspace_bytes = AnalysisWorkspace::bytes(&request)? + plans[0].max(plans[1]);
    let stream_bytes = factz::max_stream_bytes(&request);
    let needed = 2 * request.field_bytes() + stream_bytes + workspace_bytes + (1 << 28);
    let (free, _) = device.memory()?;
    let wish = std::env::var("FACTZ_GPU_LARGE").unwrap_or_default();
    ensure!(wish != "0", "{NOT_RUN}{name}: FACTZ_GPU_LARGE=0");
    let not_run = if wish == "1" { "" } else { NOT_RUN };
    let [needs, has] = [needed, free].map(|bytes| bytes >> 20);
    ensure!(needed <= free, "{not_run}{name} takes {needs} MB of the device, {has} MB are free");
    check_large::<T>(&request).map_err(|e| format!("{name}: {e}").into())
}

fn check_large<T: Real>(request: &Request) -> Check {
    let Config { nx, ny, .. } = *request.config();
    let narrow = synthetic(nx, STRIP);
    let strip = Field::<T>::new(nx, STRIP, |x, y| narrow.vertex(narrow.at(x, y)).map(f64::from));
    let pipeline = Pipeline::new(request)?;
    for y in (0..ny).step_by(STRIP as usize) {
        let [u, v] = strip.components.each_ref().map(|c| &c[..(nx * STRIP.min(ny - y)) as usize]);
        pipeline.write_rows(y, u, v)?;
    }
    pipeline.spoil_output()?;
    pipeline.compress().and(pipeline.decompress())?;
    let (compressed, decompressed) = (pipeline.compressed()?, pipeline.decompressed()?);
    ensure!([compressed.status, decompressed.status] == [Status::Ok; 2], "{compressed:?}, {decompressed:?}");

    let compare = || pipeline.compare(compressed.bound).and_then(|()| pipeline.compared());
    let c = compare()?;
    ensure!(
        c.violations() == 0 && c.points_in_triangles() == compressed.points_in_triangles,
        "{c:?}, {compressed:?}"
    );
    // The report's is rounded to the element type.
    let difference = (c.max_error - compressed.max_error).abs();
    ensure!(difference <= 1e-6 * compressed.max_error, "the largest error: {c:?}, {compressed:?}");

    // The last row of cells that begins below 4 GiB of u, and both ends.
    let middle = (1u64 << 32) / (nx * T::BYTES as u64);
    let points = pipeline.input.critical_points(request)?;
    ensure!(points.len() as u64 == c.critical_points, "{} critical points, {c:?}", points.len());
    for first in [0, middle - BAND / 2, ny - BAND] {
        check_band(&pipeline, compressed.bound, &strip, first, &points)
            .map_err(|e| format!("rows from {first} on: {e}"))?;
    }

    // A value that is wrong at the very end does not escape the comparison.
    let far = T::from_f64(1e9).to_bits64().to_le_bytes();
    let output = &pipeline.output.buffer;
    output.write(output.bytes() - T::BYTES, &far[..T::BYTES])?;
    let c = compare()?;
    ensure!(c.bound_exceeded == 1 && c.max_error > 0.9e9, "the last value was changed: {c:?}");
    Ok(())
}

/// Rows of the input are as they were made, those of the output are within the bound and keep everything, and
/// the device's critical points in them are the host's.
fn check_band<T: Real>(
    pipeline: &Pipeline,
    bound: f64,
    strip: &Field<T>,
    first: u64,
    points: &[CriticalPoint],
) -> Check {
    let expected = Field::<T>::new(strip.nx, BAND, |x, y| {
        strip.vertex(strip.at(x, (first + y) % STRIP)).map(|value| value.to_f64())
    });
    let [mut before, mut after] = [(); 2].map(|()| Field::<T>::new(strip.nx, BAND, |_, _| [0.0; 2]));
    for (field, on_device) in [(&mut before, &pipeline.input), (&mut after, &pipeline.output)] {
        on_device.read(first * strip.nx, field.components.each_mut().map(|c| &mut c[..]))?;
    }
    ensure!(before.bits() == expected.bits(), "the input was changed");
    let found = before.compared(&after, &before.config(BoundKind::Absolute, bound), bound);
    ensure!(found.violations() == 0, "{found:?}");
    let request = Request::new(before.config(BoundKind::Absolute, bound))?;
    let host = factz::critical_points(&request, before.views(0), 0)?;
    // Zeros at vertices and on edges have other surroundings there.
    let is_whole = |p: &&CriticalPoint| p.simplex < Simplex::EdgeX;
    let inside = |p: &&CriticalPoint| (first..first + BAND - 1).contains(&p.cell_y) && is_whole(p);
    let cells = |p: &CriticalPoint, row: u64| (p.cell_x, p.cell_y - row, p.simplex, p.kind);
    let ours: Vec<_> = points.iter().filter(inside).map(|p| cells(p, first)).collect();
    let theirs: Vec<_> = host.iter().filter(is_whole).map(|p| cells(p, 0)).collect();
    ensure!(ours == theirs, "{} critical points, the host finds {}", ours.len(), theirs.len());
    Ok(())
}
