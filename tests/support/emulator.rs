//! Compiles the emulator of the kernels (tests/emulator).

use crate::support::{root, run};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{self, Command};

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

/// The emulator, compiled with these arguments. Its file is named by a hash of its sources and of the compiler's
/// command, so that all tests share it, in this process and in others, until the sources change.
pub fn built(arguments: &[&str]) -> PathBuf {
    let mut command = compiler();
    command.args(arguments).arg(source("emulator.cpp"));
    let mut hasher = DefaultHasher::new();
    format!("{command:?}").hash(&mut hasher);
    for folder in ["kernels", "tests/emulator"] {
        hash_files(&root().join(folder), &mut hasher);
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulators");
    let program = folder.join(format!("{:016x}", hasher.finish()));
    if !program.exists() {
        fs::create_dir_all(&folder).expect("the folder is writable");
        // A rename replaces the program as a whole, whoever else compiles it.
        let me = format!("{}-{:?}", process::id(), std::thread::current().id());
        let partial = program.with_extension(me);
        run(command.arg("-o").arg(&partial));
        fs::rename(&partial, &program).expect("the folder is writable");
    }
    program
}

fn hash_files(folder: &Path, hasher: &mut impl Hasher) {
    let entries = fs::read_dir(folder).expect("a folder of the repository");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash_files(&path, hasher);
        } else {
            path.hash(hasher);
            fs::read(&path).expect("a readable file").hash(hasher);
        }
    }
}
