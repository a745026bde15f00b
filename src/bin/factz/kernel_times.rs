//! Times of the kernels one by one, and of the phases beside the least time that their bytes take.

use crate::device::pipeline::{KernelTime, Pipeline};
use crate::measure::{median, Measurement};
use factz::device::Direction;
use factz::{Mode, Predictor, Result};
use serde_json::{json, Map, Value};
use std::fmt::Write;

/// Passes over all kernels, one at a time.
const PASSES: usize = 7;

/// Kernels of compression and of decompression.
pub type Times = [Vec<KernelTime>; 2];

/// Medians of several passes.
pub fn measure(pipeline: &Pipeline) -> Result<Times> {
    Ok([median_times(pipeline, Direction::Compress)?, median_times(pipeline, Direction::Decompress)?])
}

fn median_times(pipeline: &Pipeline, direction: Direction) -> Result<Vec<KernelTime>> {
    let passes: Result<Vec<_>> = (0..PASSES).map(|_| pipeline.profile(direction)).collect();
    let passes = passes?;
    let column = |k: usize| median(passes.iter().map(|pass| pass[k].milliseconds).collect());
    let kernels = passes[0].iter().enumerate();
    Ok(kernels.map(|(k, kernel)| KernelTime { milliseconds: column(k), ..kernel.clone() }).collect())
}

/// A run with its times and the speed of the memory.
pub struct Run<'a> {
    pub measurement: &'a Measurement,
    pub times: &'a Times,
    /// GB/s of input that a copy of the field reaches, which reads and writes it.
    pub copy: f64,
}

/// A phase: the time of its kernels, and the least that it can take.
struct Phase {
    name: &'static str,
    milliseconds: f64,
    /// For reading and writing its bytes once, at the speed of the copy. None where these are few.
    least: Option<f64>,
}

impl Run<'_> {
    fn name(&self) -> String {
        let config = &self.measurement.config;
        let mode = if config.mode == Mode::BlockWise { "block" } else { "spec." };
        let predictor = if config.predictor == Predictor::Hierarchical { "h" } else { "l" };
        format!("{mode} {predictor} {} {:e}", config.coder.name(), config.bound)
    }

    /// Bytes that a phase has to read and write, whatever the field: values, a symbol of a byte for each
    /// vertex, and the stream.
    fn least_bytes(&self, phase: &str) -> Option<u64> {
        let config = &self.measurement.config;
        let symbols = config.nx * config.ny * config.nz;
        let (field, stream) = (2 * symbols * config.dtype.bytes(), self.measurement.stream_bytes);
        match phase {
            "statistics" => Some(field),
            "predict + quantize" | "reconstruct" => Some(field + symbols),
            // The other predictor counts a sample.
            "count" if config.predictor == Predictor::Hierarchical => Some(symbols),
            "encode" | "decode" => Some(symbols + stream),
            "assemble" => Some(2 * stream),
            _ => None,
        }
    }

    fn phases(&self, direction: usize) -> Vec<Phase> {
        let mut phases: Vec<Phase> = Vec::new();
        for kernel in &self.times[direction] {
            match phases.iter_mut().find(|phase| phase.name == kernel.phase) {
                Some(phase) => phase.milliseconds += kernel.milliseconds,
                None => {
                    let least = self.least_bytes(kernel.phase).map(|bytes| bytes as f64 / (2e6 * self.copy));
                    phases.push(Phase { name: kernel.phase, milliseconds: kernel.milliseconds, least });
                }
            }
        }
        phases
    }

    pub fn json(&self, direction: usize) -> [Value; 2] {
        let kernels: Map<_, _> =
            self.times[direction].iter().map(|k| (k.name.clone(), json!(k.milliseconds))).collect();
        let phases = self.phases(direction).into_iter().map(|phase| {
            json!({ "phase": phase.name, "milliseconds": phase.milliseconds, "least_milliseconds": phase.least })
        });
        [kernels.into(), phases.collect()]
    }
}

/// Microseconds of each kernel and phase in each run; configurations have kernels of their own.
pub fn table(runs: &[Run]) -> String {
    let mut text = format!("\n{:<32}", "kernel, microseconds");
    for run in runs {
        let _ = write!(text, " {:>20}", run.name());
    }
    text.push('\n');
    let kernel = |kernel: &KernelTime| (kernel.name.clone(), 1e3 * kernel.milliseconds);
    for direction in [0, 1] {
        let of_runs: Vec<Vec<(String, f64)>> =
            runs.iter().map(|run| run.times[direction].iter().map(kernel).collect()).collect();
        rows(&mut text, &of_runs, |us| format!("{us:.1}"));
    }
    text += "\nphase, least time / time\n";
    let phase = |phase: &Phase| Some((phase.name.to_owned(), 100.0 * phase.least? / phase.milliseconds));
    for direction in [0, 1] {
        let of_runs: Vec<Vec<(String, f64)>> =
            runs.iter().map(|run| run.phases(direction).iter().filter_map(phase).collect()).collect();
        rows(&mut text, &of_runs, |share| format!("{share:.0} %"));
    }
    text += "least time: for the bytes of the phase (values, a byte per vertex for symbols, stream), once, as fast as the \
             copy;\ntime: the sum of its kernels, each alone\n";
    text
}

/// A row for each name, in the order in which they come, with a column for each run.
fn rows(text: &mut String, runs: &[Vec<(String, f64)>], show: impl Fn(f64) -> String) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in runs.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let _ = write!(text, "{name:<32}");
        for run in runs {
            let cell = run.iter().find(|cell| cell.0 == name);
            let _ = write!(text, " {:>20}", cell.map_or(String::new(), |cell| show(cell.1)));
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use factz::{BoundKind, Comparison, Config};

    #[test]
    fn phases_are_sums_with_their_share_of_the_least_time() {
        let config = Config::new(1000, 500, BoundKind::Relative, 1e-2);
        let measurement = Measurement::new(&config, 1.0, 100_000, Comparison::default());
        let kernel = |name: &str, phase, milliseconds| KernelTime { name: name.into(), phase, milliseconds };
        let times = [
            vec![
                kernel("factz_a", "statistics", 0.5),
                kernel("factz_b", "bounds", 1.0),
                kernel("factz_c", "predict + quantize", 1.5),
                kernel("factz_d", "predict + quantize", 3.0),
            ],
            vec![kernel("factz_e", "decode", 0.3)],
        ];
        // 4 MB of values, 0.5 MB of symbols; the copy moves 2 MB per millisecond.
        let runs = [Run { measurement: &measurement, times: &times, copy: 1.0 }];
        let text = table(&runs);
        let share = |phase: &str| {
            let line = text.lines().find(|line| line.starts_with(phase))?;
            Some(line[32..].trim().to_owned())
        };
        assert_eq!(share("statistics").as_deref(), Some("400 %"));
        assert_eq!(share("predict + quantize").as_deref(), Some("50 %"));
        assert_eq!(share("decode").as_deref(), Some("100 %"));
        assert_eq!(share("bounds"), None);
        assert_eq!(share("factz_d").as_deref(), Some("3000.0"));
        let [kernels, phases] = runs[0].json(0);
        assert_eq!(kernels["factz_c"], 1.5);
        assert_eq!(phases[2]["milliseconds"], 4.5);
        assert_eq!(phases[2]["least_milliseconds"], 2.25);
    }
}
