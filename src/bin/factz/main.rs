//! The command line: arguments, files and printing. The work is done by the library.

mod append;
mod args;
mod array;
mod bench;
#[cfg(feature = "cuda")]
mod bench_cuda;
mod class;
mod coasts;
mod commands;
mod decompress;
mod demo;
#[cfg(feature = "cuda")]
mod device;
#[cfg(not(feature = "cuda"))]
#[path = "no_device.rs"]
mod device;
mod diff;
mod drawn;
mod engine;
mod failure;
mod fate;
mod figures;
mod fix;
mod foreign;
mod gaps;
mod h5args;
mod halves;
mod input;
mod inspect;
mod intake;
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
mod plane_choice;
mod point_list;
mod points;
mod progress;
mod range;
mod readings;
mod region;
mod render;
mod say;
mod shell;
mod single;
mod slice;
mod source;
mod standard;
mod steps;
mod store;
mod stream;
mod sweep;
mod synthetic;
mod verify;
mod violations;
mod volume;
mod volume_bench;
mod volume_fix;
mod volume_pair;
mod volume_point_list;
mod volume_points;
mod volume_render;
mod volume_verify;

use args::{Arguments, Command};
use clap::{CommandFactory, FromArgMatches};
use failure::Failure;
use std::any::TypeId;
use std::io::Write;
use std::path::PathBuf;
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

/// The command line. Values may begin with a hyphen (-1e-5, -.5, -inf) where they are neither choices nor
/// files: behind a forgotten name of a file an option stays one.
fn arguments() -> Result<Arguments, clap::Error> {
    let with_hyphens = |arg: clap::Arg| {
        let is_file = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let is_number = arg.get_action().takes_values() && arg.get_possible_values().is_empty() && !is_file;
        arg.allow_hyphen_values(is_number)
    };
    let program = Arguments::command().mut_subcommands(|command| command.mut_args(with_hyphens));
    Arguments::from_arg_matches(&program.try_get_matches()?)
}

/// Prints help on standard output, or what is wrong with the arguments on standard error.
fn explain(e: &clap::Error) -> Result<Verdict, Failure> {
    if e.use_stderr() {
        let _ = e.print();
        return Ok(Verdict::Unknown);
    }
    standard::refuse_closed(1, "standard output", "(> FILE, or | PROGRAM)")?;
    say::printed(e.print().and_then(|()| std::io::stdout().flush()))?;
    Ok(Verdict::Good)
}

fn run(command: &Command) -> Result<Verdict, Failure> {
    // Before the work, not after it.
    if command.talk().is_some_and(|talk| !talk.quiet) {
        standard::refuse_closed(1, "standard output", "(> FILE, or | PROGRAM), or give --quiet")?;
    }
    match command {
        Command::Compress(a) if volume::is_given(a) => volume::compress(a),
        Command::Compress(a) => commands::compress(a),
        Command::Decompress(a) => decompress::decompress(a),
        Command::Split(a) => halves::split(a),
        Command::Join(a) => halves::join(a),
        Command::Verify(a) if volume_pair::are_given(&a.files, &a.shape, &a.step)? => {
            volume_verify::verify(a)
        }
        Command::Verify(a) => verify::verify(a),
        Command::Protect(a) if volume_pair::are_given(&a.files, &a.shape, &a.step)? => volume_fix::protect(a),
        Command::Protect(a) => fix::protect(a),
        Command::Apply(a) if volume_fix::is_applied(a)? => volume_fix::apply(a),
        Command::Apply(a) => fix::apply(a),
        Command::Test(a) => inspect::test(a),
        Command::Info(a) => inspect::info(a),
        Command::Points(a) if volume_pair::is_given(&a.field, a.w.as_deref(), &a.step)? => {
            volume_points::points(a)
        }
        Command::Points(a) => points::points(a),
        Command::Range(a) => range::range(a),
        Command::Diff(a) => diff::diff(a),
        Command::Render(a) => render::render(a),
        Command::Bench(a) if a.w.is_some() => volume_bench::run(a),
        Command::Bench(a) => bench::run(a),
        Command::Sweep(a) if sweep::volume::is_asked(a) => sweep::volume::sweep(a),
        Command::Sweep(a) => sweep::sweep(a),
        Command::Demo(a) => demo::run(a),
        Command::H5args(a) => h5args::h5args(a),
        Command::Completions(a) => manual::completions(a),
        Command::Man(a) => manual::pages(a),
    }
}

fn main() -> ExitCode {
    litter::guard();
    let done = match arguments() {
        Ok(arguments) => run(&arguments.command),
        Err(e) => explain(&e),
    };
    match done {
        Ok(verdict) => ExitCode::from(verdict as u8),
        Err(failure) => {
            standard::write_error(&format!("factz: {failure}\n"));
            ExitCode::from(2)
        }
    }
}
