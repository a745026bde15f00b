//! Files of `python -m factz.pack`: u and v of netCDF-4 files are compressed as a pair, and programs that
//! know nothing of factz read them as before. Everything else in the file is what it was.
//!
//! The tests themselves are the scripts of tests/plugins/python.

use crate::hdf5::plugin;
use crate::support::{both, built_folder, fresh_folder, python_of_plugins, python_with, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A script with the package of the sources, the library of this build and the filter.
fn script(folder: &Path, python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-B", "-W", "error"])
        .arg(root().join("tests/plugins/python").join(name))
        .env("PYTHONPATH", root().join("plugins/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FACTZ_LIBRARY", built_folder().join("libfactz.so"))
        .env("HDF5_PLUGIN_PATH", plugin(folder))
        .env_remove("FACTZ_HDF5_THREADS")
        .env_remove("FACTZ_HDF5_LOG")
        .current_dir(folder);
    command
}

/// Runs files of tests in a folder of their own; all tests must run.
fn pass(folder: &str, python: &Path, names: &[&str]) {
    let folder = fresh_folder(folder);
    for name in names {
        let text = both(&run(&mut script(&folder, python, name)));
        assert!(text.contains("\nOK\n") && !text.contains("\nRan 0 tests"), "{name}: {text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// With h5py alone, in seconds.
#[test]
fn files_are_packed_appended_and_unpacked() {
    needs!("gcc");
    let Some(python) = python_of_plugins(&["h5py"]) else { return };
    pass("pack-h5py", &python, &["test_pack.py", "test_pack_values.py", "test_pack_separate.py"]);
}

/// Before 3.16 h5py reads 16 words of a filter.
#[test]
#[ignore = "make test-all"]
fn an_old_h5py() {
    needs!("gcc");
    let python = root().join(".venv-zarr-oldest/bin/python");
    let Some(python) = python_with(python, &["h5py"], "zarr-oldest") else { return };
    let asked = "import h5py; print(h5py.__version__)";
    let version = both(&run(Command::new(&python).args(["-c", asked])));
    let minor: u32 = version.strip_prefix("3.").unwrap().split('.').next().unwrap().parse().unwrap();
    assert!(minor < 16, "{version}");
    pass("pack-old-h5py", &python, &["test_pack.py", "test_pack_separate.py", "test_hdf5.py"]);
}

/// netCDF-C writes the input.
fn python() -> Option<PathBuf> {
    python_of_plugins(&["dask", "h5netcdf", "h5py", "netCDF4", "xarray"])
}

/// A test for each family of programs.
macro_rules! readers {
    ($($test:ident: $family:literal, $($program:literal)+;)+) => {
        $(#[test]
        #[ignore = "make test-all"]
        fn $test() {
            needs!($($program),+);
            let Some(python) = python() else { return };
            for layout in ["virtual", "separate"] {
                let folder = fresh_folder(&format!("pack-{}-{layout}", $family));
                run(script(&folder, &python, "packed_tools.py").args([$family, layout]));
                std::fs::remove_dir_all(folder).unwrap();
            }
        })+
    };
}

readers! {
    xarray_reads_packed_files: "xarray", "gcc";
    netcdf_programs_read_packed_files: "netcdf", "gcc" "ncdump" "nccopy";
    hdf5_programs_read_packed_files: "hdf5", "gcc" "h5dump" "h5repack";
    cdo_reads_packed_files: "cdo", "gcc" "cdo";
    nco_reads_packed_files: "nco", "gcc" "ncks";
}
