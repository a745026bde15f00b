//! Measurements on a CUDA device: ratio, speed call by call and as a graph, kernels, and what is kept.

use crate::args::Bench;
use crate::array::{typed, Dims, Element};
use crate::device::pipeline::Pipeline;
use crate::device::Device;
use crate::failure::{failure, Failure};
use crate::figures::{joined, psnr_text, shape_json};
use crate::kernel_times::{self, Run, Times};
use crate::measure::{median, Measurement, Subject, CHANGED_POINTS};
use crate::say::Voice;
use crate::synthetic::Synthetic;
use crate::{memory, Verdict};
use factz::{Config, Dtype, Report, Request, Status};
use serde_json::{json, Value};

const WARM_UP: usize = 3;
const LEAST_RUNS: usize = 20;

/// Median milliseconds of one run.
fn time(pipeline: &Pipeline, runs: usize, mut body: impl FnMut() -> factz::Result<()>) -> factz::Result<f64> {
    for _ in 0..WARM_UP {
        body()?;
    }
    pipeline.queue().synchronize()?;
    let times: factz::Result<Vec<f64>> = (0..runs).map(|_| pipeline.queue().time(&mut body)).collect();
    times.map(median)
}

/// GB/s of input for compression and decompression, and the times of their kernels.
struct Speeds {
    calls: [f64; 2],
    graph: [f64; 2],
    copy: f64,
    /// Of the input, with the output read beside it.
    compare: f64,
    kernels: Times,
}

fn check_status(report: Report, what: &str) -> Result<Report, Failure> {
    match report.status {
        Status::Ok => Ok(report),
        status => Err(failure!("the device's {what} ended with {status:?}: please report this")),
    }
}

/// Rows of a made field that are in memory at a time.
const BAND: u64 = 256;

/// Brings the field to the device; nothing of it stays here.
fn write(pipeline: &Pipeline, subject: Subject) -> Result<(), Failure> {
    match subject {
        Subject::Read(field) => {
            typed!([&field.u, &field.v] as [u, v] => pipeline.write_input(u, v))?;
            Ok(())
        }
        Subject::Made(kind, dims, dtype) => {
            let made = Synthetic::new(kind, dims.nx, dims.ny)?;
            match dtype {
                Dtype::F32 => write_made::<f32>(pipeline, &made, dims),
                Dtype::F64 => write_made::<f64>(pipeline, &made, dims),
            }
        }
    }
}

fn write_made<T: Element + Default>(
    pipeline: &Pipeline,
    made: &Synthetic,
    dims: Dims,
) -> Result<(), Failure> {
    let band = || memory::zeros::<T>(dims.nx * BAND.min(dims.ny), "a band of the field");
    let (mut u, mut v) = (band()?, band()?);
    for y in (0..dims.ny).step_by(BAND as usize) {
        let count = (dims.nx * BAND.min(dims.ny - y)) as usize;
        let (u, v) = (&mut u[..count], &mut v[..count]);
        made.fill(y, u, v);
        pipeline.write_rows(y, u, v)?;
    }
    Ok(())
}

/// Measures a configuration on the device: size, errors and speed.
fn measure(
    pipeline: &mut Pipeline,
    config: &Config,
    bytes: u64,
    runs: usize,
) -> Result<(Measurement, Speeds), Failure> {
    pipeline.set_request(&Request::new(*config)?)?;
    pipeline.compress()?;
    let report = check_status(pipeline.compressed()?, "compression")?;
    pipeline.spoil_output()?;
    pipeline.decompress()?;
    check_status(pipeline.decompressed()?, "decompression")?;
    pipeline.compare(report.bound)?;
    let comparison = pipeline.compared()?;
    let speeds = measure_speeds(pipeline, bytes, report.bound, runs)?;
    Ok((Measurement::new(config, report.bound, report.stream_bytes, comparison), speeds))
}

fn measure_speeds(pipeline: &Pipeline, bytes: u64, bound: f64, runs: usize) -> Result<Speeds, Failure> {
    let speed = |milliseconds: f64| bytes as f64 / 1e6 / milliseconds;
    let compress = time(pipeline, runs, || pipeline.compress())?;
    let decompress = time(pipeline, runs, || pipeline.decompress())?;
    // Before the copy, which would make the fields equal.
    let compare = time(pipeline, runs, || pipeline.compare(bound))?;
    let copy = time(pipeline, runs, || pipeline.copy())?;
    let queue = pipeline.queue();
    let graph = queue.capture(|| pipeline.compress())?;
    let graph_compress = time(pipeline, runs, || graph.launch(queue))?;
    let graph = queue.capture(|| pipeline.decompress())?;
    let graph_decompress = time(pipeline, runs, || graph.launch(queue))?;
    Ok(Speeds {
        calls: [compress, decompress].map(speed),
        graph: [graph_compress, graph_decompress].map(speed),
        copy: speed(copy),
        compare: speed(compare),
        kernels: kernel_times::measure(pipeline)?,
    })
}

fn kernels_of<'a>(measurement: &'a Measurement, speeds: &'a Speeds) -> Run<'a> {
    Run { measurement, times: &speeds.kernels, copy: speeds.copy }
}

fn json_of(m: &Measurement, s: &Speeds) -> Value {
    let [[compress_kernels, compress_phases], [decompress_kernels, decompress_phases]] =
        [0, 1].map(|direction| kernels_of(m, s).json(direction));
    let more = json!({
        "copy_gb_per_second": s.copy,
        "compare_gb_per_second": s.compare,
        "compress_gb_per_second": s.calls[0],
        "decompress_gb_per_second": s.calls[1],
        "graph_compress_gb_per_second": s.graph[0],
        "graph_decompress_gb_per_second": s.graph[1],
        "compress_over_copy": s.graph[0] / s.copy,
        "decompress_over_copy": s.graph[1] / s.copy,
        "compress_kernels_ms": compress_kernels,
        "decompress_kernels_ms": decompress_kernels,
        "compress_phases": compress_phases,
        "decompress_phases": decompress_phases,
    });
    let mut value = joined(m.json(), more);
    value.as_object_mut().map(|object| object.remove("speeds"));
    value
}

fn head() -> String {
    format!(
        "{:<12} {:<12} {:<8} {:>8} {:>9} {:>15} {:>15} {:>8} {:>13} {:>8} {:>7} {:>11}  {:<28} {:>9}\n",
        "mode",
        "predictor",
        "coder",
        "bound",
        "ratio",
        "GB/s, calls",
        "GB/s, graph",
        "copy",
        "% of copy",
        "compare",
        "PSNR",
        "error/bound",
        CHANGED_POINTS,
        "points"
    )
}

fn row(m: &Measurement, s: &Speeds) -> String {
    let pair = |[a, b]: [f64; 2]| format!("{a:.1} / {b:.1}");
    format!(
        "{:<12} {:<12} {:<8} {:>8} {:>9.2} {:>15} {:>15} {:>8.0} {:>13} {:>8.0} {:>7} {:>11.4}  {:<28} {:>9}{}\n",
        m.config.mode.name(),
        m.config.predictor.name(),
        m.config.coder.name(),
        format!("{:e}", m.config.bound),
        m.ratio,
        pair(s.calls),
        pair(s.graph),
        s.copy,
        pair(s.graph.map(|g| 100.0 * g / s.copy)),
        s.compare,
        psnr_text(m.comparison.psnr),
        m.error_over_bound(),
        m.changed_points(),
        m.comparison.critical_points,
        m.verdict()
    )
}

const LEGEND: &str = "\
bound: relative to the joint range of u and v. GB/s: 10^9 bytes of input per second, compression / decompression.
copy: device-to-device copy of u and v; compare: the comparison of input and output; both in the same unit.
lost / spurious / other type: critical points. points: critical points of the field.\n";

pub fn run(
    a: &Bench,
    name: &str,
    subject: Subject,
    configurations: &[Config],
    device: &Device,
) -> Result<Verdict, Failure> {
    let device_name = device.name()?;
    let runs = a.repeat.max(LEAST_RUNS);
    let Some(first) = configurations.first() else {
        return Err(failure!("no configuration is left: the Lorenzo predictor is block-wise"));
    };
    let (dims, dtype) = (Dims { nx: first.nx, ny: first.ny, nz: first.nz }, first.dtype);
    let bytes = 2 * dims.count() * dtype.bytes();
    let mut pipeline = Pipeline::new(&Request::new(*first)?)?;
    write(&pipeline, subject)?;
    let voice = Voice::new(&a.talk);
    voice.text(&format!(
        "{name}: {dims} values of {} each, {:.1} MB; {device_name}; medians of {runs} runs\n{}",
        dtype.name(),
        bytes as f64 / 1e6,
        head()
    ))?;
    let mut measured = Vec::new();
    for config in configurations {
        let (measurement, speeds) = measure(&mut pipeline, config, bytes, runs)?;
        voice.text(&row(&measurement, &speeds))?;
        measured.push((measurement, speeds));
    }
    voice.report(
        || {
            let more = json!({
                "command": "bench",
                "backend": "cuda",
                "device": device_name,
                "field": name,
                "input_bytes": bytes,
                "repeat": runs,
                "runs": measured.iter().map(|(m, s)| json_of(m, s)).collect::<Vec<_>>(),
            });
            joined(shape_json(dims, dtype), more)
        },
        || {
            let runs: Vec<Run> = measured.iter().map(|(m, s)| kernels_of(m, s)).collect();
            format!("{LEGEND}{}", kernel_times::table(&runs))
        },
    )?;
    Ok(Verdict::of(measured.iter().map(|(m, _)| m.violations()).sum()))
}
