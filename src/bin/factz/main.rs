//! The command line: arguments, files and printing. The work is done by the library.

mod args;
mod array;
mod bench;
#[cfg(feature = "cuda")]
mod bench_cuda;
mod class;
mod coasts;
mod commands;
mod demo;
#[cfg(feature = "cuda")]
mod device;
#[cfg(not(feature = "cuda"))]
#[path = "no_device.rs"]
mod device;
mod diff;
mod engine;
mod failure;
mod fate;
mod figures;
mod h5args;
mod input;
mod inspect;
#[cfg(feature = "cuda")]
mod kernel_times;
mod litter;
mod manual;
mod measure;
mod memory;
mod npy;
mod options;
mod output;
mod pair;
mod picture;
mod point_list;
mod points;
mod progress;
mod render;
mod say;
mod store;
mod stream;
mod sweep;
mod synthetic;
mod verify;

use args::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

/// Outcome of a command that ran to its end, told by the exit status; the worst is the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Good = 0,
    Violated = 1,
    /// Something could not be looked at.
    Unknown = 2,
}

impl Verdict {
    fn of(violations: u64) -> Self {
        match violations {
            0 => Verdict::Good,
            _ => Verdict::Violated,
        }
    }
}

fn main() -> ExitCode {
    litter::guard();
    let done = match Arguments::parse().command {
        Command::Compress(a) => commands::compress(&a),
        Command::Decompress(a) => commands::decompress(&a),
        Command::Verify(a) => verify::verify(&a),
        Command::Test(a) => inspect::test(&a),
        Command::Info(a) => inspect::info(&a),
        Command::Points(a) => points::points(&a),
        Command::Diff(a) => diff::diff(&a),
        Command::Render(a) => render::render(&a),
        Command::Bench(a) => bench::run(&a),
        Command::Sweep(a) => sweep::sweep(&a),
        Command::Demo(a) => demo::run(&a),
        Command::H5args(a) => h5args::h5args(&a),
        Command::Completions(a) => manual::completions(&a),
        Command::Man(a) => manual::pages(&a),
    };
    match done {
        Ok(verdict) => ExitCode::from(verdict as u8),
        Err(failure) => {
            eprintln!("factz: {failure}");
            ExitCode::from(2)
        }
    }
}
