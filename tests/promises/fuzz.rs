//! Random configurations and damaged streams through the C interface, from a program that is compiled with
//! the sanitizers for addresses and undefined behaviour. `FACTZ_FUZZ_CONFIGURATIONS` and `FACTZ_FUZZ_STREAMS`
//! say how many (1000 and 2000), `FACTZ_FUZZ_SEED` which. `FACTZ_FUZZ_LIBRARY` names another static library
//! than the release build: one with debug assertions, or with a sanitizer of its own.

use crate::support::{fresh_folder, linkings, run};
use std::process::Command;

#[test]
#[ignore = "make test-all"]
fn random_configurations_and_damaged_streams() {
    let variable = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.into());
    let [_, mut library, _] = linkings(&fresh_folder("fuzz"));
    if let Some(path) = std::env::var_os("FACTZ_FUZZ_LIBRARY") {
        library.arguments[0] = path;
    }
    let options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-frounding-math"];
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let options = [&options[..], &sanitizers].concat();
    let program = library.compile(&variable("CC", "cc"), &options, &["tests/fuzz/driver.c".as_ref()]);
    let out = run(Command::new(program)
        .arg(variable("FACTZ_FUZZ_CONFIGURATIONS", "1000"))
        .arg(variable("FACTZ_FUZZ_STREAMS", "2000"))
        .arg(variable("FACTZ_FUZZ_SEED", "1")));
    println!("{}", String::from_utf8_lossy(&out.stdout));
}
