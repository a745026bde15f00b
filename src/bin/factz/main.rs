//! The command line: arguments, files and printing. The work is done by the library.

mod args;
mod array;
mod bench;
mod bench_cuda;
mod commands;
mod demo;
mod engine;
mod failure;
mod job;
mod picture;
mod progress;
mod synthetic;

use args::{Arguments, Command};
use clap::Parser;
use std::process::ExitCode;

/// What a command that ran to its end has to say by its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Violated,
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Compress(a) => commands::compress(&a),
        Command::Decompress(a) => commands::decompress(&a),
        Command::Verify(a) => commands::verify(&a),
        Command::Info(a) => commands::info(&a),
        Command::Points(a) => commands::points(&a),
        Command::Bench(a) => bench::run(&a),
        Command::Demo(a) => demo::run(&a),
    };
    match done {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("factz: {failure}");
            ExitCode::from(2)
        }
    }
}
