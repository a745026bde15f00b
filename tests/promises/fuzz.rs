//! Random configurations and damaged streams through the C interface, from a program that is compiled with the
//! sanitizers for addresses and undefined behaviour. `FACTZ_FUZZ_CONFIGURATIONS` and `FACTZ_FUZZ_STREAMS` say how many
//! (1000 and 2000), `FACTZ_FUZZ_SEED` which. `FACTZ_FUZZ_LIBRARY` names another static library than the release build:
//! one with debug assertions, or with a sanitizer of its own.

use crate::support::{built_folder, fresh_folder, root, run};
use std::path::PathBuf;
use std::process::Command;

#[test]
#[ignore = "make test-all"]
fn random_configurations_and_damaged_streams() {
    let variable = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.into());
    let program = fresh_folder("fuzz").join("driver");
    let library = std::env::var_os("FACTZ_FUZZ_LIBRARY")
        .map(PathBuf::from)
        .unwrap_or_else(|| built_folder().join("libfactz.a"));
    run(Command::new(variable("CC", "cc"))
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-frounding-math"])
        .args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"])
        .arg(format!("-I{}", root().join("include").display()))
        .arg(root().join("tests/fuzz/driver.c"))
        .arg(library)
        .args(["-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc", "-o"])
        .arg(&program));
    let out = run(Command::new(program)
        .arg(variable("FACTZ_FUZZ_CONFIGURATIONS", "1000"))
        .arg(variable("FACTZ_FUZZ_STREAMS", "2000"))
        .arg(variable("FACTZ_FUZZ_SEED", "1")));
    println!("{}", String::from_utf8_lossy(&out.stdout));
}
