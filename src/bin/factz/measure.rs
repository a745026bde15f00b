//! One configuration measured on one field: its figures, and their table for the processor.

use crate::array::{Dims, Field};
use crate::engine::Terms;
use crate::failure::{failure, Failure};
use crate::figures::{choices_json, comparison_json, error_over_bound, joined, psnr_text};
use crate::say::megabytes_per_second;
use crate::synthetic::Kind;
use crate::violations::violations;
use crate::{engine, memory};
use factz::{Comparison, Config, Dtype};
use serde_json::{json, Value};
use std::fmt::Write;
use std::time::Instant;

/// The field to measure.
pub enum Subject {
    Read(Field),
    /// Not yet made.
    Made(Kind, Dims, Dtype),
}

/// One configuration, measured. Its bound is relative.
pub struct Measurement {
    pub config: Config,
    pub absolute_bound: f64,
    pub stream_bytes: u64,
    pub ratio: f64,
    /// Threads, and MB/s of input for compression and decompression.
    pub speeds: Vec<(usize, f64, f64)>,
    pub comparison: Comparison,
}

impl Measurement {
    pub fn new(config: &Config, absolute_bound: f64, stream_bytes: u64, comparison: Comparison) -> Self {
        let field_bytes = 2 * config.nx * config.ny * config.nz * config.dtype.bytes();
        let ratio = field_bytes as f64 / stream_bytes as f64;
        Measurement { config: *config, absolute_bound, stream_bytes, ratio, speeds: Vec::new(), comparison }
    }

    /// What breaks the promise of its `preserve` setting.
    pub fn violations(&self) -> u64 {
        violations(&self.comparison, self.config.preserve)
    }

    /// Largest error over the bound.
    pub fn error_over_bound(&self) -> f64 {
        error_over_bound(self.comparison.max_error, self.absolute_bound)
    }

    /// Critical points lost / spurious / of another type.
    pub fn changed_points(&self) -> String {
        let c = &self.comparison;
        format!("{} / {} / {}", c.lost_points, c.spurious_points, c.changed_types)
    }

    /// The end of a row: empty where the promise is kept.
    pub fn verdict(&self) -> String {
        match self.violations() {
            0 => String::new(),
            n => format!("  VIOLATED ({n} in all)"),
        }
    }

    pub fn json(&self) -> Value {
        let more = json!({
            "relative_bound": self.config.bound,
            "stream_bytes": self.stream_bytes,
            "ratio": self.ratio,
            "error_over_bound": self.error_over_bound(),
            "violations": self.violations(),
            "speeds": self.speeds.iter().map(|(threads, compress, decompress)| json!({
                "threads": threads,
                "compress_mb_per_second": compress,
                "decompress_mb_per_second": decompress,
            })).collect::<Vec<_>>(),
        });
        let counts = comparison_json(&self.comparison, Some(self.absolute_bound));
        joined(joined(counts, choices_json(&self.config)), more)
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Compresses, decompresses and compares; the time is the median of `repeat` runs. Returns what was
/// decompressed too.
pub fn measure(
    field: &Field,
    config: &Config,
    threads: &[usize],
    repeat: usize,
) -> Result<(Measurement, Field), Failure> {
    let mut buffer = engine::stream_buffer(config)?;
    let mut decoded = Field::empty(field.dims, field.dtype())?;
    decoded.periodic = field.periodic;
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
    let comparison = engine::compare(field, &decoded, &Terms::of(config, absolute_bound), 0)?;
    let stream_bytes = first.len() as u64;
    Ok((
        Measurement { speeds, ..Measurement::new(config, absolute_bound, stream_bytes, comparison) },
        decoded,
    ))
}

/// The head of the column of [`Measurement::changed_points`].
pub const CHANGED_POINTS: &str = "lost / spurious / other type";

/// The head of the table that [`row`] fills.
pub fn head(threads: &[usize]) -> String {
    let mut text = format!(
        "{:<12} {:<12} {:<8} {:<8} {:<5} {:>8} {:>9}",
        "mode", "predictor", "coder", "preserve", "ties", "bound", "ratio"
    );
    for n in threads {
        let _ = write!(text, " {:>20}", format!("MB/s, {n} thread{}", if *n == 1 { "" } else { "s" }));
    }
    let _ = writeln!(text, " {:>7} {:>11}  {CHANGED_POINTS}", "PSNR", "error/bound");
    text
}

pub fn row(m: &Measurement) -> String {
    let mut text = format!(
        "{:<12} {:<12} {:<8} {:<8} {:<5} {:>8} {:>9.2}",
        m.config.mode.name(),
        m.config.predictor.name(),
        m.config.coder.name(),
        m.config.preserve.name(),
        m.config.ties.name(),
        format!("{:e}", m.config.bound),
        m.ratio
    );
    for (_, compress, decompress) in &m.speeds {
        let _ = write!(text, " {:>20}", format!("{compress:.0} / {decompress:.0}"));
    }
    let _ = writeln!(
        text,
        " {:>7} {:>11.4}  {}{}",
        psnr_text(m.comparison.psnr),
        m.error_over_bound(),
        m.changed_points(),
        m.verdict()
    );
    text
}

/// What the columns mean.
pub const LEGEND: &str = "\
bound: relative to the joint range of u and v. MB/s: 10^6 bytes of input per second, compression / decompression.
PSNR in dB, a hyphen where it is not defined. error/bound: largest error over the bound. lost / spurious / other
type: critical points.\n";

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
