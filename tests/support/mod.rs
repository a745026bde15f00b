//! What the tests of the built library share.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder with the release build of the shared and the static library, built when stale.
pub fn release_folder() -> PathBuf {
    // The test is TARGET/debug/deps/NAME; with a target triple there is one more folder.
    let exe = std::env::current_exe().unwrap();
    let target = exe.ancestors().nth(3).unwrap();
    run(Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--lib", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .env_remove("CARGO_BUILD_TARGET"));
    target.join("release")
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a program that must exist and succeed.
pub fn run(command: &mut Command) -> Output {
    let out = command.output().unwrap_or_else(|e| {
        let name = command.get_program().to_string_lossy().into_owned();
        panic!("cannot run {name} ({e}): install it (Debian packages: gcc, g++, binutils, valgrind)")
    });
    assert!(
        out.status.success(),
        "{command:?} ended with {}\n{}{}",
        out.status,
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    out
}
