//! The device functions against the host functions: same streams, same reports, same bits, and nothing
//! touched that is not theirs. Needs a CUDA device; without one it says so and ends well.
//!
//! Runs from anywhere, without cargo. `FACTZ_DATA` names the folder of fields (NAME/u.f32, v.f32, meta.json;
//! the crate's `data` otherwise), `FACTZ_GPU` limits the run to fields and scenarios whose names contain one
//! of its comma-separated words, `FACTZ_GPU_SHOW` says how many failures of each are printed (3), and
//! `FACTZ_GPU_POISON=0` leaves the workspace as it was allocated, for initcheck. `FACTZ_GPU_MUTATIONS` is the
//! number of damaged streams of each case (400). Fields over 4 GiB are tried where the device has the memory;
//! with `FACTZ_GPU_LARGE=1` too little memory is a failure, with 0 they are left out. `FACTZ_GOLDEN` names
//! the folder of the golden streams, and into `FACTZ_GOLDEN_OUT` the device's are written, with a MANIFEST
//! for each version. `FACTZ_CLI` names the program `factz`, built with kernels, which a scenario runs.
//! `FACTZ_GPU_REQUIRED=1` makes a machine without a device a failure. With `FACTZ_GPU_OVERLAP=0` no kernel
//! begins before the previous one has ended.

mod analysis;
mod command_line;
#[path = "../../src/bin/factz/device/mod.rs"]
mod device;
mod expected;
mod fields;
mod fixes;
mod golden;
mod hostile;
mod large;
mod matrix;
mod memory;
mod modes;
mod rare;
mod scenarios;
mod stacks;
mod volumes;
#[path = "../support"]
mod support {
    pub mod fields;
    pub mod fixes;
    pub mod golden;
}

use device::Device;
use std::process::ExitCode;
use std::time::Instant;
use support::fields::{data, stored, stored_names, times, Field};

/// The bytes of gaps and outputs before anything is written.
const POISON: u8 = 0xee;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Check<R = ()> = Result<R, Failure>;

/// Ends a check where something does not hold.
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        let holds: bool = $holds;
        if !holds {
            return Err(format!($($message)+).into());
        }
    };
}
use ensure;

/// How the answer of a scenario begins that was not run; the reason follows.
const NOT_RUN: &str = "not run: ";

#[derive(Default)]
struct Tally {
    passed: usize,
    skipped: Vec<String>,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, what: impl FnOnce() -> String, result: Check) {
        match result {
            Ok(()) => self.passed += 1,
            Err(e) if e.to_string().starts_with(NOT_RUN) => self.skipped.push(format!("{}: {e}", what())),
            Err(e) => self.failures.push(format!("{}: {e}", what())),
        }
    }

    /// A broken context answers nothing right any more.
    fn is_lost(&self) -> bool {
        let last = self.failures.last().map_or("", String::as_str);
        "ILLEGAL_ADDRESS LAUNCH_FAILED MISALIGNED ILLEGAL_INSTRUCTION HARDWARE_STACK TIMEOUT"
            .split(' ')
            .any(|word| last.contains(word))
    }
}

type Scenario = (&'static str, fn(&Device) -> Check);
const SCENARIOS: [Scenario; 34] = [
    ("graphs", scenarios::graphs),
    ("too_small_buffers", scenarios::too_small_buffers),
    ("corrupt_streams", hostile::corrupt_streams),
    ("other_streams", scenarios::other_streams),
    ("concurrent_calls", scenarios::concurrent_calls),
    ("overlapping_calls", scenarios::overlapping_calls),
    ("bad_arguments", scenarios::bad_arguments),
    ("kinds_of_memory_and_streams", scenarios::kinds_of_memory_and_streams),
    ("many_tiles", scenarios::many_tiles),
    ("many_constrained_tiles", scenarios::many_constrained_tiles),
    ("unexpected_predictors", scenarios::unexpected_predictors),
    ("stacks", stacks::stacks),
    ("planes", stacks::planes_of_stacks),
    ("compressed_volumes", volumes::compressed_volumes),
    ("small_volumes", volumes::small_volumes),
    ("volumes", volumes::volumes),
    ("corrupt_volumes", volumes::corrupt_volumes),
    ("protect", fixes::protect),
    ("refused_fixes", fixes::refused_fixes),
    ("graph_of_fixes", fixes::graph_of_fixes),
    ("fixes_of_program", command_line::fixes_of_program),
    ("inspection", analysis::inspection),
    ("analysis_graph", analysis::analysis_graph),
    ("analysis_of_blocks", analysis::analysis_of_blocks),
    ("analysis_of_stacks", analysis::analysis_of_stacks),
    ("isolated_zeros", analysis::isolated_zeros),
    ("rare_vertices", rare::rare_vertices),
    ("floating_point_modes", modes::floating_point_modes),
    ("without_overlap", scenarios::without_overlap),
    ("golden", golden::golden_streams),
    ("large_f32", large::large_f32),
    ("large_f64", large::large_f64),
    ("largest_f32", large::largest_f32),
    // Everything on the device is gone after it.
    ("fresh_contexts", scenarios::fresh_contexts),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::var("FACTZ_GPU")
        .map(|w| w.split(',').filter(|w| !w.is_empty()).map(str::to_owned).collect())
        .unwrap_or_default();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    let show = times("FACTZ_GPU_SHOW", 3) as usize;
    let fields: Vec<String> = stored_names().into_iter().filter(|name| wanted(name)).collect();
    let scenarios: Vec<&Scenario> = SCENARIOS.iter().filter(|s| wanted(s.0)).collect();
    let planned = fields.len() * (matrix::CHECKS + analysis::CHECKS) + scenarios.len();
    let device = match Device::open() {
        Ok(device) => device,
        Err(e) => {
            println!("no CUDA device: {planned} GPU tests not run ({})", e.message);
            println!("0 passed, 0 failed, {planned} skipped");
            // A test run on a GPU machine that finds none has failed.
            return ExitCode::from((std::env::var("FACTZ_GPU_REQUIRED").as_deref() == Ok("1")) as u8);
        }
    };
    if std::env::var("FACTZ_GPU_OVERLAP").as_deref() == Ok("0") {
        factz::device::set_overlap(false);
    }
    println!("{}; {} fields of {}", device.name().unwrap_or_default(), fields.len(), data().display());
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
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
        for reason in &tally.skipped {
            println!("  {reason}");
        }
        passed += tally.passed;
        skipped += tally.skipped.len();
        failed += tally.failures.len();
        tally.is_lost()
    };
    for name in &fields {
        let field = stored(name);
        let (start, mut tally) = (Instant::now(), Tally::default());
        let steps: [fn(&Field<f32>, &mut Tally) -> Check; 4] = [
            matrix::compare_field::<f32>,
            matrix::compare_field::<f64>,
            analysis::compare_field::<f32>,
            analysis::compare_field::<f64>,
        ];
        for step in steps {
            if tally.is_lost() {
                break;
            }
            if let Err(e) = step(&field, &mut tally) {
                tally.failures.push(e.to_string());
            }
        }
        lost = close(&format!("{name} {}x{}", field.nx, field.ny), tally, start);
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
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    // The context may be gone.
    std::mem::forget(device);
    ExitCode::from((failed > 0) as u8)
}
