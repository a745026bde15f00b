//! The promises hold in a hostile environment: floating-point modes, too little memory, no threads, forks and
//! unloading. The C programs are in tests/environment.

use crate::support::{both, built_folder, fresh_folder, linkings, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program with each kind of library.
fn compiled(name: &str, more: &[&str]) -> [PathBuf; 3] {
    let folder = fresh_folder(&format!("environment-{name}"));
    let options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-frounding-math"];
    let source = format!("tests/environment/{name}.c");
    linkings(&folder).map(|linking| linking.compile("gcc", &[&options, more].concat(), &[source.as_ref()]))
}

fn prints(program: &Path, arguments: &[&Path], expected: &str) {
    let out = both(&run(Command::new(program).args(arguments)));
    println!("{out}");
    assert!(out.contains(expected), "{out}");
}

#[test]
fn every_floating_point_mode_gives_the_same_bits() {
    needs!("gcc");
    for program in compiled("floating_point", &[]) {
        prints(&program, &[], "288 cases: the same bits in every mode");
    }
}

#[test]
#[ignore = "make test-all"]
fn too_little_memory_is_a_status() {
    needs!("gcc");
    for program in compiled("address_space", &["-D_GNU_SOURCE"]) {
        prints(&program, &[], "none ended by a signal");
    }
}

#[test]
#[ignore = "make test-all"]
fn threads_are_those_asked_for() {
    needs!("gcc");
    // The program that has no shared libraries cannot look behind pthread_create.
    let [shared, archive, _] = compiled("threads", &["-rdynamic"]);
    for program in [&shared, &archive] {
        prints(program, &[], "threads are as asked for");
    }
    // The library can be unloaded from a program that is not linked with it.
    prints(&archive, &[&built_folder().join("libfactz.so")], "loaded and unloaded");
}

/// How a program ends that may have so many kilobytes of address space.
fn limited(kilobytes: u64, arguments: &[&str], folder: &Path) -> std::process::Output {
    let program = env!("CARGO_BIN_EXE_factz");
    Command::new("sh")
        .args(["-c", "ulimit -v \"$1\"; shift; exec \"$@\"", "sh", &kilobytes.to_string(), program])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("a shell")
}

/// The command line under every limit from the one it starts with to one that suffices: it succeeds, or says that
/// memory ran out, and no file is left half-written.
#[test]
#[ignore = "make test-all"]
fn the_command_line_runs_out_of_memory_with_a_message() {
    needs!("gcc");
    let folder = fresh_folder("environment-command-line");
    let (nx, ny) = (600, 500);
    for (name, phase) in [("u.f32", 0.0), ("v.f32", 1.5)] {
        let value =
            |k: usize| ((k % nx) as f32 * 0.05 + phase).sin() + ((k / nx) as f32 * 0.04 + phase).cos();
        let bytes: Vec<u8> = (0..nx * ny).flat_map(|k| value(k).to_le_bytes()).collect();
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let starts = (1..).map(|k| k * 1024).find(|&kb| limited(kb, &["--version"], &folder).status.success());
    let starts = starts.expect("a limit that suffices to start");
    let compress = ["compress", "u.f32", "v.f32", "--dims", "600x500", "--rel", "1e-3", "-o", "f.fctz"];
    let commands: [&[&str]; 6] = [
        &compress,
        &["decompress", "f.fctz", "a.f32", "b.f32"],
        &["verify", "u.f32", "v.f32", "a.f32", "b.f32", "--dims", "600x500", "--rel", "1e-3"],
        &["points", "u.f32", "v.f32", "--dims", "600x500"],
        &["info", "f.fctz"],
        &["test", "f.fctz"],
    ];
    for arguments in commands {
        let (mut refused, mut kilobytes) = (0, starts);
        loop {
            let out = limited(kilobytes, arguments, &folder);
            if out.status.success() {
                break;
            }
            let text = both(&out);
            assert!(out.status.code().is_some(), "{arguments:?} with {kilobytes} KB: {}: {text}", out.status);
            assert!(text.contains("memory"), "{arguments:?} with {kilobytes} KB: {text}");
            let left: Vec<_> = std::fs::read_dir(&folder).unwrap().flatten().map(|e| e.file_name()).collect();
            assert!(left.len() <= 6, "{arguments:?} left {left:?}");
            refused += 1;
            kilobytes += if refused < 20 { 64 } else { kilobytes / 16 };
            assert!(kilobytes < 1 << 22, "{arguments:?} never succeeds");
        }
        println!("{arguments:?}: enough with {kilobytes} KB, {refused} refusals");
    }
}
