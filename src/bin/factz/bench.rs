//! Measurements on one field: every configuration, bound and number of threads.

use crate::args::{Bench, ModeName, PredictorName, Spacing, SyntheticName};
use crate::array::{dtype_name, typed, Dims, Field};
use crate::failure::{failure, input_name, Failure};
use crate::figures::{
    coder_name, comparison_json, joined, mode_name, predictor_name, preserve_name, psnr_text,
};
use crate::progress::Progress;
use crate::say::{megabytes_per_second, Voice};
use crate::synthetic::{Kind, Synthetic};
use crate::{engine, input, memory, Verdict};
use factz::Comparison;
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve};
use serde_json::{json, Value};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

/// One configuration, measured.
pub struct Measurement {
    pub mode: Mode,
    pub predictor: Predictor,
    pub coder: Coder,
    pub preserve: Preserve,
    pub relative_bound: f64,
    pub absolute_bound: f64,
    pub stream_bytes: u64,
    pub ratio: f64,
    /// Threads, and MB/s of input for compression and decompression.
    pub speeds: Vec<(usize, f64, f64)>,
    pub comparison: Comparison,
    pub decoded: Field,
}

impl Measurement {
    /// What breaks the promise of its `preserve` level.
    pub fn violations(&self) -> u64 {
        let c = &self.comparison;
        match self.preserve {
            Preserve::None => c.missing_changed + c.bound_exceeded,
            Preserve::Points => c.violations() - c.type_changed,
            Preserve::Types => c.violations(),
        }
    }

    /// Largest error over the bound.
    pub fn error_over_bound(&self) -> f64 {
        if self.absolute_bound > 0.0 {
            self.comparison.max_error / self.absolute_bound
        } else {
            0.0
        }
    }

    pub fn json(&self) -> Value {
        let value = comparison_json(&self.comparison, Some(self.absolute_bound));
        let more = json!({
            "mode": mode_name(self.mode),
            "predictor": predictor_name(self.predictor),
            "coder": coder_name(self.coder),
            "preserve": preserve_name(self.preserve),
            "relative_bound": self.relative_bound,
            "stream_bytes": self.stream_bytes,
            "ratio": self.ratio,
            "error_over_bound": self.error_over_bound(),
            "speeds": self.speeds.iter().map(|(threads, compress, decompress)| json!({
                "threads": threads,
                "compress_mb_per_second": compress,
                "decompress_mb_per_second": decompress,
            })).collect::<Vec<_>>(),
        });
        joined(value, more)
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compresses, decompresses and compares; the time is the median of `repeat` runs.
pub fn measure(
    field: &Field,
    config: &Config,
    threads: &[usize],
    repeat: usize,
) -> Result<Measurement, Failure> {
    let mut buffer = engine::stream_buffer(config)?;
    let mut decoded = Field::empty(field.dims, field.dtype())?;
    let mut speeds = Vec::new();
    let mut first: Vec<u8> = Vec::new();
    let mut absolute_bound = 0.0;
    for &n in threads {
        let (mut compress_times, mut decompress_times) = (Vec::new(), Vec::new());
        for _ in 0..repeat {
            let start = Instant::now();
            let report = engine::compress(field, config, &mut buffer, n, None)?;
            compress_times.push(start.elapsed().as_secs_f64());
            absolute_bound = report.bound;
            let stream = &buffer[..report.stream_bytes as usize];
            if first.is_empty() {
                memory::reserve(&mut first, report.stream_bytes, "the stream")?;
                first.extend_from_slice(stream);
            } else if first != stream {
                return Err(failure!("two runs gave different streams ({n} threads): please report this"));
            }
            let start = Instant::now();
            engine::decompress(stream, &mut decoded, n, None)?;
            decompress_times.push(start.elapsed().as_secs_f64());
        }
        let speed = |times| megabytes_per_second(field.bytes(), median(times));
        speeds.push((n, speed(compress_times), speed(decompress_times)));
    }
    let stream_bytes = first.len() as u64;
    let spacing = Spacing { dx: config.dx, dy: config.dy };
    let comparison = engine::compare(field, &decoded, spacing, Some(absolute_bound), 0)?;
    Ok(Measurement {
        mode: config.mode,
        predictor: config.predictor,
        coder: config.coder,
        preserve: config.preserve,
        relative_bound: config.bound,
        absolute_bound,
        stream_bytes,
        ratio: field.bytes() as f64 / stream_bytes as f64,
        speeds,
        comparison,
        decoded,
    })
}

/// The head of the table that [`row`] fills.
pub fn head(threads: &[usize]) -> String {
    let mut text = format!(
        "{:<12} {:<12} {:<8} {:<8} {:>8} {:>9}",
        "mode", "predictor", "coder", "preserve", "bound", "ratio"
    );
    for n in threads {
        let _ = write!(text, " {:>20}", format!("MB/s, {n} thread{}", if *n == 1 { "" } else { "s" }));
    }
    let _ = writeln!(text, " {:>7} {:>11}  {:<17}", "PSNR", "error/bound", "P1 / P2 / P3");
    text
}

pub fn row(m: &Measurement) -> String {
    let mut text = format!(
        "{:<12} {:<12} {:<8} {:<8} {:>8} {:>9.2}",
        mode_name(m.mode),
        predictor_name(m.predictor),
        coder_name(m.coder),
        preserve_name(m.preserve),
        format!("{:.0e}", m.relative_bound),
        m.ratio
    );
    for (_, compress, decompress) in &m.speeds {
        let _ = write!(text, " {:>20}", format!("{compress:.0} / {decompress:.0}"));
    }
    let c = &m.comparison;
    let _ = write!(
        text,
        " {:>7} {:>11.4}  {}",
        psnr_text(c.psnr),
        m.error_over_bound(),
        format_args!("{} / {} / {}", c.lost, c.spurious, c.type_changed)
    );
    if m.violations() > 0 {
        let _ = write!(text, "  VIOLATED ({} in all)", m.violations());
    }
    text.push('\n');
    text
}

/// What the columns mean.
pub const LEGEND: &str = "\
bound: relative to the joint range of u and v. MB/s: 10^6 bytes of input per second, compression / decompression.
PSNR in dB. error/bound: largest error over the bound. P1 / P2 / P3: critical points lost / spurious / of another
type.\n";

/// The configurations to measure, those that exist of all combinations; their bound is 0.
pub fn configurations(a: &Bench, dims: Dims, dtype: Dtype) -> Vec<Config> {
    let mut all = Vec::new();
    for mode in &a.mode {
        for predictor in &a.predictor {
            for coder in &a.coder {
                if *mode == ModeName::Speculative && *predictor == PredictorName::Lorenzo {
                    continue;
                }
                all.push(Config {
                    dtype,
                    mode: mode.value(),
                    predictor: predictor.value(),
                    coder: coder.value(),
                    preserve: a.preserve.value(),
                    dx: a.spacing.dx,
                    dy: a.spacing.dy,
                    ..Config::new(dims.nx, dims.ny, BoundKind::Relative, 0.0)
                });
            }
        }
    }
    all
}

/// The thread counts to measure: those given, else 1 and one per processor.
pub fn thread_counts(given: &[usize]) -> Vec<usize> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let all = std::thread::available_parallelism().map_or(1, |n| n.get());
    if all == 1 {
        vec![1]
    } else {
        vec![1, all]
    }
}

/// The field to measure.
pub enum Subject {
    Read(Field),
    /// Not yet made.
    Made(Kind, Dims, Dtype),
}

/// What to call the field, and where it comes from.
fn subject(a: &Bench) -> Result<(String, Subject), Failure> {
    if let Some(kind) = a.synthetic {
        let dims = a.shape.dims.ok_or_else(|| failure!("--synthetic takes --dims NXxNY"))?;
        let name = match kind {
            SyntheticName::Dense => "synthetic, dense",
            SyntheticName::Smooth => "synthetic, smooth",
            SyntheticName::Ocean => "synthetic, ocean",
        };
        let dtype = a.shape.dtype().unwrap_or(Dtype::F32);
        return Ok((name.to_owned(), Subject::Made(kind.value(), dims, dtype)));
    }
    let files: Vec<&Path> = [&a.u, &a.v].into_iter().flatten().map(|p| p.as_path()).collect();
    if files.is_empty() {
        return Err(failure!("give the files of u and v, or --synthetic"));
    }
    let name = files.iter().map(|f| input_name(f)).collect::<Vec<_>>().join(" and ");
    Ok((name, Subject::Read(input::read_field(&files, &a.shape.expected())?)))
}

/// A made field in memory.
fn make(kind: Kind, dims: Dims, dtype: Dtype) -> Result<Field, Failure> {
    let synthetic = Synthetic::new(kind, dims.nx, dims.ny)?;
    let mut field = Field::empty(dims, dtype)?;
    typed!([&mut field.u, &mut field.v] as [u, v] => synthetic.fill(0, u, v));
    Ok(field)
}

pub fn run(a: &Bench) -> Result<Verdict, Failure> {
    let (name, subject) = subject(a)?;
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    if let Some(device) = engine::device(a.backend)? {
        #[cfg(feature = "cuda")]
        return crate::bench_cuda::run(a, &name, subject, &device);
    }
    let field = match subject {
        Subject::Read(field) => field,
        Subject::Made(kind, dims, dtype) => make(kind, dims, dtype)?,
    };
    let threads = thread_counts(&a.threads);
    let voice = Voice::new(&a.talk);
    voice.text(&format!(
        "{name}: {} values of {} each, {:.1} MB; medians of {} runs\n{}",
        field.dims,
        dtype_name(field.dtype()),
        field.bytes() as f64 / 1e6,
        a.repeat,
        head(&threads)
    ))?;
    let mut measured = Vec::new();
    let mut violations = 0;
    let progress = Progress::new("measuring", &voice);
    let configurations = configurations(a, field.dims, field.dtype());
    let runs = configurations.len() * a.bounds.len();
    for base in configurations {
        for &bound in &a.bounds {
            let config = Config { bound, ..base };
            let m = measure(&field, &config, &threads, a.repeat)?;
            violations += m.violations();
            voice.text(&row(&m))?;
            measured.push(m.json());
            progress.report(measured.len() as f64 / runs as f64);
        }
    }
    drop(progress);
    voice.report(
        || {
            json!({
                "command": "bench",
                "nx": field.dims.nx,
                "ny": field.dims.ny,
                "dtype": dtype_name(field.dtype()),
                "input_bytes": field.bytes(),
                "repeat": a.repeat,
                "runs": measured,
            })
        },
        || LEGEND.into(),
    )?;
    Ok(if violations == 0 { Verdict::Good } else { Verdict::Violated })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_fields_have_the_density_of_critical_points_that_is_said() {
        let dims = Dims { nx: 2048, ny: 1024 };
        let count = |kind| {
            let field = make(kind, dims, Dtype::F32).unwrap();
            engine::critical_points(&field, Spacing { dx: 1.0, dy: 1.0 }, 0).unwrap().len()
        };
        let expected = (dims.nx * dims.ny) as f64 / 8_700.0;
        let found = count(Kind::Dense) as f64;
        assert!((0.75..1.33).contains(&(found / expected)), "{found} of {expected}");
        assert!(count(Kind::Smooth) < 20);
        let ocean = make(Kind::Ocean, dims, Dtype::F32).unwrap();
        let crate::array::Values::F32(u) = &ocean.u else { unreachable!() };
        let land = u.iter().filter(|x| **x == 0.0).count() as f64 / u.len() as f64;
        assert!((0.1..0.7).contains(&land), "{land}");
    }

    #[test]
    fn made_fields_without_memory_are_refused() {
        let error = Synthetic::new(Kind::Dense, 1 << 60, 1).err().expect("an error");
        assert_eq!(error.status, factz::Status::OutOfMemory);
    }
}
