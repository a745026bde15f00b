//! Compiles the emulator of the kernels (tests/emulator).

use crate::support::root;
use std::path::PathBuf;
use std::process::Command;

/// No product is fused into a sum, as on the device; what is written as one type may be read as another. The
/// threads of a block have stacks of their own, among which a fortified longjmp would not go.
pub fn compiler() -> Command {
    let mut compiler = Command::new(std::env::var_os("CXX").unwrap_or("g++".into()));
    compiler
        .args(["-std=c++17", "-O1", "-ffp-contract=off", "-fno-strict-aliasing", "-U_FORTIFY_SOURCE"])
        .args(["-w", "-x", "c++"])
        .arg(format!("-I{}", root().join("kernels").display()));
    compiler
}

pub fn source(name: &str) -> PathBuf {
    root().join("tests/emulator").join(name)
}
