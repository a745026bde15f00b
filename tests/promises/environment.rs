//! The promises hold in a hostile environment: floating-point modes, little stack, too little memory, no
//! threads, forks and unloading. The functions of libm stay those of the program. The C programs are in
//! tests/environment.

use crate::support::{both, built_folder, fresh_folder, holds, linkings, root, run};
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
fn a_calling_thread_needs_64_kilobytes_of_stack() {
    needs!("gcc");
    for program in compiled("small_stack", &["-pthread"]) {
        holds(Command::new(program).arg("65536"));
    }
}

#[test]
fn the_functions_of_libm_stay_those_of_the_program() {
    needs!("gcc");
    let source = root().join("tests/environment/libm.c");
    let alone = fresh_folder("environment-no_libm").join("without");
    run(Command::new("gcc")
        .args(["-std=c99", "-O1", "-frounding-math", "-fno-builtin", "-DWITHOUT_FACTZ"])
        .args([&source, Path::new("-lm"), Path::new("-o"), &alone]));
    let expected = both(&run(&mut Command::new(&alone)));
    assert!(expected.contains("nearest cbrt ") && !expected.contains("errno"), "{expected}");
    for program in compiled("libm", &["-fno-builtin"]) {
        let found = both(&run(&mut Command::new(&program)));
        assert_eq!(found, expected, "{}", program.display());
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
