//! Arrays of Zarr with the codecs of the Python package: zarr-python 3, xarray and dask read what they wrote,
//! with every critical point, and read parts of chunks with few bytes.
//!
//! The tests themselves are the scripts of tests/plugins/python.

use crate::python::with_package;
use crate::support::{both, python_of_plugins, python_with, root, run};
use std::path::Path;
use std::process::Command;

/// zarr-python 2 has no such module.
const MODULES: [&str; 4] = ["dask", "numcodecs", "xarray", "zarr.abc.codec"];

/// Runs files of tests; all tests must run.
fn pass(python: &Path, names: &[&str], options: &[&str]) {
    for name in names {
        let script = root().join("tests/plugins/python").join(name);
        let out = run(with_package(Command::new(python)).args(options).arg(script));
        let text = both(&out);
        assert!(text.contains("\nOK\n") && !text.contains("\nRan 0 tests"), "{name}: {text}");
    }
}

#[test]
fn arrays_keep_the_guarantee_and_bad_ones_are_refused() {
    let Some(python) = python_of_plugins(&MODULES) else { return };
    pass(&python, &["test_zarr.py", "test_numcodecs.py"], &[]);
}

#[test]
fn volumes_keep_the_guarantee_and_bad_ones_are_refused() {
    let Some(python) = python_of_plugins(&MODULES) else { return };
    pass(&python, &["test_zarr_volumes.py"], &[]);
}

#[test]
fn parts_of_chunks_take_few_bytes() {
    let Some(python) = python_of_plugins(&MODULES) else { return };
    pass(&python, &["test_zarr_parts.py"], &[]);
}

#[test]
fn xarray_and_the_examples_of_the_page() {
    let Some(python) = python_of_plugins(&MODULES) else { return };
    pass(&python, &["test_zarr_xarray.py", "test_zarr_page.py"], &[]);
}

/// The GPU script runs with a stand-in for CuPy.
#[test]
#[ignore = "make test-all"]
fn the_script_for_gpus_holds_in_host_memory() {
    let Some(python) = python_of_plugins(&MODULES) else { return };
    let script = root().join("tests/plugins/python/test_zarr_device.py");
    let text = both(&run(with_package(Command::new(python)).arg(script)));
    assert!(text.contains("6 passed, 0 failed"), "{text}");
}

/// The oldest zarr-python 3 that its authors did not withdraw, whose dependencies warn.
#[test]
#[ignore = "make test-all"]
fn the_oldest_zarr_python() {
    let python = root().join(".venv-zarr-oldest/bin/python");
    let Some(python) = python_with(python, &MODULES, "zarr-oldest") else { return };
    let asked = "import zarr; print(zarr.__version__)";
    let version = both(&run(Command::new(&python).args(["-W", "ignore", "-c", asked])));
    assert!(version.starts_with("3.0."), "{version}");
    let names = [
        "test_zarr.py",
        "test_zarr_volumes.py",
        "test_numcodecs.py",
        "test_zarr_parts.py",
        "test_zarr_xarray.py",
        "test_zarr_page.py",
    ];
    pass(&python, &names, &["-W", "ignore"]);
}
