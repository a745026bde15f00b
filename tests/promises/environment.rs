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
