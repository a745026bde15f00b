//! The C programs of examples-c compile without warnings, hold what they check, and are clean under
//! valgrind, with the shared and with the static library. The header is valid C99 and C++.

#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::{release_folder, root, run};

const STRICT_C: [&str; 6] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"];

/// Compiles an example against both libraries.
fn compile(name: &str) -> [PathBuf; 2] {
    let libraries = release_folder();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = root().join(format!("examples-c/{name}.c"));
    let compiler = || {
        let mut c = Command::new("gcc");
        c.args(STRICT_C).args(["-g", "-I"]).arg(root().join("include")).arg(&source);
        c
    };

    // The loader looks for the SONAME.
    let link = folder.join("libfactz.so.0");
    let shared_library = libraries.join("libfactz.so");
    if std::fs::read_link(&link).ok().as_ref() != Some(&shared_library) {
        let fresh = folder.join(format!("{name}-link"));
        let _ = std::fs::remove_file(&fresh);
        std::os::unix::fs::symlink(&shared_library, &fresh).unwrap();
        std::fs::rename(&fresh, &link).unwrap();
    }
    let shared = folder.join(format!("{name}-shared"));
    let mut rpath = std::ffi::OsString::from("-Wl,-rpath,");
    rpath.push(folder);
    run(compiler().arg("-L").arg(&libraries).args(["-lfactz", "-lm"]).arg(rpath).arg("-o").arg(&shared));

    let linked_statically = folder.join(format!("{name}-static"));
    run(compiler()
        .arg(libraries.join("libfactz.a"))
        .args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc", "-o"])
        .arg(&linked_statically));
    [shared, linked_statically]
}

fn compile_and_run(name: &str, expected: &str) {
    for program in compile(name) {
        let out = run(&mut Command::new(&program));
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(text.contains(expected), "{text}");
        assert!(out.stderr.is_empty(), "the library printed something");
        run(Command::new("valgrind")
            .args(["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"])
            .arg(&program));
    }
}

#[test]
fn roundtrip() {
    compile_and_run("roundtrip", "everything holds");
}

#[test]
fn critical_points() {
    compile_and_run("critical_points", "saddle");
}

#[test]
fn the_header_is_valid_on_its_own() {
    let header = root().join("include/factz.h");
    run(Command::new("gcc").args(STRICT_C).args(["-fsyntax-only", "-x", "c"]).arg(&header));
    run(Command::new("g++")
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c++"])
        .arg(&header));
}
