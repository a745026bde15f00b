//! The promises hold in a hostile environment: floating-point modes, too little memory, no threads, forks and
//! unloading. The C programs are in tests/environment.

use crate::support::{both, built_folder, fresh_folder, linkings, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a program with each kind of library.
fn compiled(name: &str, more: &[&str]) -> Vec<PathBuf> {
    let folder = fresh_folder(&format!("environment-{name}"));
    let programs = linkings(&folder).map(|linking| {
        let program = folder.join(linking.name);
        run(Command::new("gcc")
            .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-frounding-math", "-I"])
            .arg(root().join("include"))
            .arg(root().join("tests/environment").join(format!("{name}.c")))
            .args(more)
            .args(&linking.arguments)
            .arg("-o")
            .arg(&program));
        program
    });
    programs.into()
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
    let programs = compiled("threads", &["-rdynamic"]);
    let [shared, archive] = [&programs[0], &programs[1]];
    for program in [shared, archive] {
        prints(program, &[], "threads are as asked for");
    }
    // The library can be unloaded from a program that is not linked with it.
    prints(archive, &[&built_folder().join("libfactz.so")], "loaded and unloaded");
}
