//! Measurements on one volume: every coder, bound and number of threads, and a device.

use crate::args::Bench;
use crate::array::{Dims, Element, Values};
use crate::failure::{input_names, Failure};
use crate::figures::{choices_json, joined, shape_json};
use crate::measure::{median, thread_counts, CHANGED_POINTS};
use crate::options::Spacing;
use crate::progress::Progress;
use crate::say::{megabytes_per_second, Voice};
use crate::violations::violations;
use crate::{engine, input, memory, volume, Verdict};
use factz::{
    compare_volume, compress_volume, decompress_volume, max_volume_stream_bytes, BoundKind, Config, Dtype,
    Execution, Mode, ViewMut, VolumeComparison, VolumeRequest,
};
use serde_json::{json, Map, Value};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// One configuration, measured.
struct Measured {
    config: Config,
    stream_bytes: u64,
    /// Threads, and MB/s for compression and decompression.
    speeds: Vec<(usize, f64, f64)>,
    device: Option<DeviceSpeeds>,
    comparison: VolumeComparison,
}

/// GB/s of compression and decompression on a device, and milliseconds of their kernels.
struct DeviceSpeeds {
    compress: f64,
    decompress: f64,
    kernels: [Vec<(String, f64)>; 2],
}

impl Measured {
    fn ratio(&self) -> f64 {
        bytes_of(&self.config) as f64 / self.stream_bytes as f64
    }

    fn violations(&self) -> u64 {
        violations(&self.comparison, self.config.preserve)
    }

    fn json(&self) -> Value {
        let c = &self.comparison;
        let speeds = self.speeds.iter().map(|(threads, compress, decompress)| {
            json!({
                "threads": threads, "compress_mb_per_second": compress, "decompress_mb_per_second": decompress,
            })
        });
        let more = json!({
            "relative_bound": self.config.bound, "absolute_bound": c.bound, "stream_bytes": self.stream_bytes,
            "ratio": self.ratio(), "max_error": c.max_error, "critical_points": c.critical_points,
            "lost_points": c.lost_points, "spurious_points": c.spurious_points, "changed_types": c.changed_types,
            "violations": self.violations(), "speeds": speeds.collect::<Vec<_>>(),
            "device_compress_gb_per_second": self.device.as_ref().map(|device| device.compress),
            "device_decompress_gb_per_second": self.device.as_ref().map(|device| device.decompress),
            "device_kernels_ms": self.device.as_ref().map(|device| device.kernels.each_ref().map(|kernels| {
                kernels.iter().map(|(name, time)| (name.clone(), json!(time))).collect::<Map<_, _>>()
            })),
        });
        joined(choices_json(&self.config), more)
    }
}

/// Bytes of u, v and w.
fn bytes_of(config: &Config) -> u64 {
    3 * config.nx * config.ny * config.nz * config.dtype.bytes()
}

/// The configurations to measure.
fn configurations(a: &Bench, dims: Dims, dtype: Dtype) -> Result<Vec<Config>, Failure> {
    let Spacing { dx, dy } = a.promise.spacing.or(Spacing::UNIT)?;
    let Dims { nx, ny, nz } = dims;
    let with = |coder, bound| Config {
        dtype,
        coder,
        preserve: a.promise.preserve,
        ties: a.promise.ties,
        dx,
        dy,
        dz: a.depth.dz.unwrap_or(1.0),
        periodic: a.promise.spacing.periodic_of_volume(),
        mode: Mode::Repair,
        ..Config::volume([nx, ny, nz], BoundKind::Relative, bound)
    };
    Ok(a.coder.iter().flat_map(|&coder| a.bounds.iter().map(move |&bound| with(coder, bound))).collect())
}

/// A volume that was compressed and decompressed on the processor.
pub struct OnHost<T> {
    pub stream: Vec<u8>,
    pub decoded: [Vec<T>; 3],
    /// Threads, and MB/s for compression and decompression, of the medians.
    pub speeds: Vec<(usize, f64, f64)>,
    pub comparison: VolumeComparison,
}

/// Compresses and decompresses as often as is said with each number of threads, and compares.
pub fn on_host<T: Element>(
    components: &mut [Values; 3],
    config: &Config,
    threads: &[usize],
    repeat: usize,
) -> Result<OnHost<T>, Failure> {
    let request = VolumeRequest::new(*config)?;
    let mut buffer = memory::zeros(max_volume_stream_bytes(&request), "the stream")?;
    let vertices = config.nx * config.ny * config.nz;
    let room = || memory::zeros::<T>(vertices, "the values");
    let mut decoded = [room()?, room()?, room()?];
    let (mut speeds, mut stream_bytes) = (Vec::new(), 0);
    for &n in threads {
        let execution = || Execution { threads: n, ..Execution::default() };
        let (mut compress, mut decompress) = (Vec::new(), Vec::new());
        for _ in 0..repeat {
            let start = Instant::now();
            let views = volume::views::<T>(components, config);
            stream_bytes = compress_volume(&request, views, &mut buffer, execution())?.stream_bytes;
            compress.push(start.elapsed().as_secs_f64());
            let start = Instant::now();
            let views = decoded.each_mut().map(|values| ViewMut::stack(values, config.nx, config.ny));
            decompress_volume(config, &buffer[..stream_bytes as usize], views, execution())?;
            decompress.push(start.elapsed().as_secs_f64());
        }
        let speed = |times| megabytes_per_second(bytes_of(config), median(times));
        speeds.push((n, speed(compress), speed(decompress)));
    }
    buffer.truncate(stream_bytes as usize);
    let after = decoded.each_ref().map(|values| factz::View::stack(values, config.nx, config.ny));
    let comparison = compare_volume(&request, volume::views::<T>(components, config), after, true, 0)?;
    Ok(OnHost { stream: buffer, decoded, speeds, comparison })
}

fn measure<T: Element>(
    components: &mut [Values; 3],
    config: &Config,
    a: &Bench,
) -> Result<Measured, Failure> {
    let OnHost { stream, decoded, speeds, comparison } =
        on_host::<T>(components, config, &thread_counts(&a.threads), a.repeat)?;
    let request = VolumeRequest::new(*config)?;
    let device = device_speeds(&request, volume::slices::<T>(components), (&stream, &decoded), a)?;
    let stream_bytes = stream.len() as u64;
    Ok(Measured { config: *config, stream_bytes, speeds, device, comparison })
}

#[cfg(not(feature = "cuda"))]
fn device_speeds<T: Element>(
    _: &VolumeRequest,
    _: [&[T]; 3],
    _: (&[u8], &[Vec<T>; 3]),
    a: &Bench,
) -> Result<Option<DeviceSpeeds>, Failure> {
    engine::device(a.backend).map(|_| None)
}

/// GB/s of the medians of 20 calls on the device, if one is to be measured. Its stream and its values must be those
/// of the host.
#[cfg(feature = "cuda")]
fn device_speeds<T: Element>(
    request: &VolumeRequest,
    components: [&[T]; 3],
    (stream, expected): (&[u8], &[Vec<T>; 3]),
    a: &Bench,
) -> Result<Option<DeviceSpeeds>, Failure> {
    use crate::device::volume::{compress, decompress, Times};
    use crate::failure::failure;
    let Some(_device) = engine::device(a.backend)? else { return Ok(None) };
    let runs = DEVICE_WARM_UP + DEVICE_RUNS;
    let (_, found, compression) = compress(request, components, runs)?;
    if found != stream {
        return Err(failure!("the device writes another stream than the host: please report this"));
    }
    let mut values = expected.clone();
    values.iter_mut().for_each(|values| values.fill(T::ZERO));
    let (_, decompression) = decompress(request, stream, &mut values, runs)?;
    let bits = |values: &Vec<T>| values.iter().map(|x| x.to_bits64()).collect::<Vec<_>>();
    if values.each_ref().map(bits) != expected.each_ref().map(bits) {
        return Err(failure!("the device restores other values than the host: please report this"));
    }
    let speed = |times: &Times| {
        bytes_of(request.config()) as f64 / 1e6 / median(times.runs[DEVICE_WARM_UP..].to_vec())
    };
    Ok(Some(DeviceSpeeds {
        compress: speed(&compression),
        decompress: speed(&decompression),
        kernels: [compression.kernels, decompression.kernels],
    }))
}

#[cfg(feature = "cuda")]
const DEVICE_RUNS: usize = 20;
#[cfg(feature = "cuda")]
const DEVICE_WARM_UP: usize = 3;

fn head(a: &Bench) -> String {
    let mut text = format!("{:<8} {:<8} {:<5} {:>8} {:>9}", "coder", "preserve", "ties", "bound", "ratio");
    for n in thread_counts(&a.threads) {
        let _ = write!(text, " {:>20}", format!("MB/s, {n} thread{}", if n == 1 { "" } else { "s" }));
    }
    text + &format!(" {:>13} {:>11}  {CHANGED_POINTS:<28} {:>9}\n", "device GB/s", "error/bound", "points")
}

fn row(m: &Measured) -> String {
    let c = &m.comparison;
    let mut text = format!(
        "{:<8} {:<8} {:<5} {:>8} {:>9.2}",
        m.config.coder.name(),
        m.config.preserve.name(),
        m.config.ties.name(),
        format!("{:e}", m.config.bound),
        m.ratio()
    );
    for (_, compress, decompress) in &m.speeds {
        let _ = write!(text, " {:>20}", format!("{compress:.0} / {decompress:.0}"));
    }
    let device = m.device.as_ref().map_or("-".into(), |d| format!("{:.1} / {:.1}", d.compress, d.decompress));
    let changed = format!("{} / {} / {}", c.lost_points, c.spurious_points, c.changed_types);
    let verdict = match m.violations() {
        0 => String::new(),
        n => format!("  VIOLATED ({n} in all)"),
    };
    let _ = writeln!(
        text,
        " {device:>13} {:>11.4}  {changed:<28} {:>9}{verdict}",
        if c.bound > 0.0 { c.max_error / c.bound } else { 0.0 },
        c.critical_points
    );
    text
}

const LEGEND: &str = "\
bound: relative to the joint range of u, v and w. MB/s: 10^6 bytes of input per second, compression / decompression;
device GB/s: 10^9 bytes per second of compression / decompression on the device of --backend. error/bound: largest
error over the bound. lost / spurious / other type: critical points. points: critical points of the volume.\n";

/// Measures the volume of three components.
pub fn run(a: &Bench) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = [&a.u, &a.v, &a.w].into_iter().flatten().map(|p| p.as_path()).collect();
    let (dims, mut components) = input::read_components(&files, &a.shape.expected(None))?;
    let dtype = components[0].dtype();
    let voice = Voice::new(&a.talk);
    let configurations = configurations(a, dims, dtype)?;
    voice.text(&format!(
        "{}: {dims} values of {} each; medians of {} runs\n{}",
        input_names(&files, ", "),
        dtype.name(),
        a.repeat,
        head(a)
    ))?;
    let progress = Progress::new("measuring", &voice);
    let mut measured = Vec::new();
    for config in &configurations {
        let found = match dtype {
            Dtype::F32 => measure::<f32>(&mut components, config, a),
            Dtype::F64 => measure::<f64>(&mut components, config, a),
        };
        measured.push(found.map_err(|e| e.about(input_names(&files, ", ")))?);
        voice.text(&row(&measured[measured.len() - 1]))?;
        progress.report(measured.len() as f64 / configurations.len() as f64);
    }
    drop(progress);
    voice.report(
        || {
            let runs: Vec<Value> = measured.iter().map(Measured::json).collect();
            let more = json!({ "command": "bench", "components": 3, "repeat": a.repeat, "runs": runs });
            joined(shape_json(dims, dtype), more)
        },
        || LEGEND.into(),
    )?;
    Ok(Verdict::of(measured.iter().map(Measured::violations).sum()))
}
