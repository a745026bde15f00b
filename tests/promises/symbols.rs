//! The shared library exports exactly the functions of tests/symbols.txt, which are those of the header.

use crate::bindings::header;
use crate::support::{built_folder, root, run};
use std::process::Command;

fn listed() -> Vec<String> {
    let text = std::fs::read_to_string(root().join("tests/symbols.txt")).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn exported_symbols_are_those_listed() {
    needs!("nm", "readelf");
    let library = built_folder().join("libfactz.so");
    let out = run(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&library));
    let text = String::from_utf8(out.stdout).unwrap();
    let mut found: Vec<_> = text.lines().map(|l| l.split(' ').next().unwrap().to_owned()).collect();
    found.sort();
    assert_eq!(found, listed());
}

#[test]
#[cfg(target_os = "linux")]
fn the_soname_carries_the_abi_version_and_cuda_is_not_linked() {
    needs!("nm", "readelf");
    let library = built_folder().join("libfactz.so");
    let out = run(Command::new("readelf").args(["-d", "-W"]).arg(&library));
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("Library soname: [libfactz.so.0]"), "{text}");
    assert!(!text.to_lowercase().contains("cuda"), "{text}");
}

#[test]
fn the_header_declares_what_is_listed() {
    let declared: Vec<_> = header().functions.into_keys().collect();
    assert_eq!(declared, listed());
}
