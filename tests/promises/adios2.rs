//! The operator plugin of ADIOS2: fields through BP files, with both engines, from C++ and Python, in steps
//! and blocks, keep every critical point, says an independent program in exact arithmetic; wrong parameters
//! and blocks are refused with what to do; damaged files are exceptions; files of earlier versions stay
//! readable.

use crate::support::{
    bless_if_missing, both, build_and_install, configure_plugins, fresh_folder, holds, linkings,
    python_of_plugins, refuses, root, run, STRICT_CPP,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Python with ADIOS2, the folder of its headers and libraries, and the plugin.
struct Adios2 {
    python: PathBuf,
    package: PathBuf,
    folder: PathBuf,
}

impl Adios2 {
    /// Compiles the plugin into a folder; None where there is no ADIOS2.
    fn new(test: &str) -> Option<Self> {
        let python = python_of_plugins(&["adios2", "numpy"])?;
        let found = run(Command::new(&python).args(["-c", "import adios2; print(adios2.__path__[0])"]));
        let package = PathBuf::from(String::from_utf8(found.stdout).unwrap().trim());
        let adios2 = Adios2 { python, package, folder: fresh_folder(&format!("adios2-{test}")) };
        let plugin = ["-std=c++14", "-shared", "-fPIC", "-fvisibility=hidden", "-Wshadow"];
        adios2.compile("plugins/adios2/factz_adios2.cpp", &plugin, "libfactz_adios2.so");
        Some(adios2)
    }
    fn compile(&self, source: &str, options: &[&str], output: &str) -> PathBuf {
        let [shared, ..] = linkings(&self.folder);
        let binary = self.folder.join(output);
        run(Command::new("g++")
            .args(STRICT_CPP)
            .args(["-g", "-isystem"])
            .arg(self.package.join("include"))
            .args(options)
            .arg("-I")
            .arg(root().join("include"))
            .arg(root().join(source))
            .args(&shared.arguments)
            .arg("-ldl")
            .arg("-o")
            .arg(&binary));
        binary
    }
    /// With the plugin where ADIOS2 looks for it.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("ADIOS2_PLUGIN_PATH", &self.folder).current_dir(&self.folder);
        command
    }
    fn script(&self, name: &str, arguments: &[&str]) -> String {
        let script = root().join("tests/plugins/adios2").join(name);
        both(&run(self.command(&self.python).arg("-B").arg(script).args(arguments)))
    }
}

/// Of what ADIOS2 prints the last line is the program's.
fn everything_holds(said: &str) {
    assert!(said.contains("everything holds"), "{said}");
}

#[test]
#[ignore = "make test-all"]
fn the_operator_refuses_with_advice_and_survives_damage() {
    needs!("g++", "valgrind");
    let Some(adios2) = Adios2::new("operator") else { return };
    let program = adios2.compile("tests/plugins/adios2/operator.cpp", &[], "operator");
    let plugin = adios2.folder.join("libfactz_adios2.so");
    holds(adios2.command(&program).arg(&plugin));
    let checked = ["--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"];
    run(adios2.command("valgrind".as_ref()).args(checked).arg(&program).arg(&plugin));
}

#[test]
#[ignore = "make test-all"]
fn cpp_programs_write_and_read_with_both_engines() {
    needs!("g++");
    let Some(adios2) = Adios2::new("cpp") else { return };
    let package = adios2.package.display();
    let options = [
        format!("-L{package}"),
        "-ladios2_cxx".into(),
        "-ladios2_core".into(),
        format!("-Wl,-rpath,{package}"),
        format!("-Wl,-rpath-link,{package}:{package}.libs"),
    ];
    let source = "tests/plugins/adios2/roundtrip.cpp";
    // Libraries come behind the source that needs them.
    let options: Vec<_> = std::iter::once("-Wl,--no-as-needed").chain(options.iter().map(|o| &**o)).collect();
    let program = adios2.compile(source, &options, "roundtrip");
    for engine in ["BP5", "BP4"] {
        everything_holds(&both(&run(adios2.command(&program).args([engine, "fields.bp"]))));
    }
}

#[test]
#[ignore = "make test-all"]
fn python_programs_write_and_read_with_both_engines() {
    needs!("g++");
    let Some(adios2) = Adios2::new("python") else { return };
    everything_holds(&adios2.script("bp.py", &["roundtrip", adios2.folder.to_str().unwrap()]));
}

#[test]
#[ignore = "make test-all"]
fn wrong_blocks_parameters_and_damaged_files_are_exceptions() {
    needs!("g++");
    let Some(adios2) = Adios2::new("refused") else { return };
    everything_holds(&adios2.script("bp.py", &["refused", adios2.folder.to_str().unwrap()]));
}

#[test]
#[ignore = "make test-all"]
fn volumes_keep_their_critical_points() {
    needs!("g++");
    let Some(adios2) = Adios2::new("volumes") else { return };
    everything_holds(&adios2.script("volumes.py", &["roundtrip", adios2.folder.to_str().unwrap()]));
}

/// A process may have loaded the CUDA driver, for instance with MPI, and never initialised it.
#[test]
#[ignore = "make test-all"]
fn a_cuda_driver_that_is_not_initialised_changes_nothing() {
    needs!("gcc", "g++");
    let Some(adios2) = Adios2::new("driver") else { return };
    let functions =
        "cuPointerGetAttributes cuDeviceGet cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRelease_v2 \
                     cuCtxPushCurrent_v2 cuCtxPopCurrent_v2 cuMemAlloc_v2 cuMemFree_v2 cuMemcpyDtoH_v2";
    // CUDA_ERROR_NOT_INITIALIZED
    let text: String =
        functions.split_whitespace().map(|f| format!("int {f}(void) {{ return 3; }}\n")).collect();
    let (source, driver) = (adios2.folder.join("driver.c"), adios2.folder.join("libcuda.so.1"));
    std::fs::write(&source, text).unwrap();
    run(Command::new("gcc")
        .args(["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"])
        .arg(&source)
        .arg("-o")
        .arg(&driver));
    let program = adios2.compile("tests/plugins/adios2/operator.cpp", &[], "operator");
    let plugin = adios2.folder.join("libfactz_adios2.so");
    holds(adios2.command(&program).arg(plugin).env("LD_PRELOAD", driver));
}

/// The program that compares the blocks of a device with those of the host, with a stand-in for CUDA.
#[test]
#[ignore = "make test-all"]
fn blocks_in_device_memory_are_those_of_the_host() {
    needs!("gcc", "g++");
    let Some(adios2) = Adios2::new("device") else { return };
    let [shared, ..] = linkings(&adios2.folder);
    let (stand_in, driver) =
        (root().join("tests/plugins/adios2/stand_in"), adios2.folder.join("libcuda.so.1"));
    run(Command::new("gcc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            "-Wl,-soname,libcuda.so.1",
            "-I",
        ])
        .arg(root().join("include"))
        .arg(stand_in.join("device.c"))
        .args(&shared.arguments)
        .arg("-ldl")
        .arg("-o")
        .arg(&driver));
    let options = ["-I", stand_in.to_str().unwrap(), "-Wl,--no-as-needed", driver.to_str().unwrap()];
    let program = adios2.compile("tests/plugins/adios2/device.cpp", &options, "device");
    let plugin = adios2.folder.join("libfactz_adios2.so");
    // Functions of the stand-in go before those of the library.
    let device = || {
        let mut command = adios2.command(&program);
        command.arg(&plugin).env("LD_PRELOAD", &driver);
        command
    };
    everything_holds(&both(&run(&mut device())));
    // An error that the device reports is an exception, and no block is written.
    let mut refusing = device();
    refuses(refusing.env("FACTZ_STAND_IN_REFUSES", "10"), "factz: on the device: ");
}

/// Files of tests/golden/adios2 and adios2_volumes were written by the first version of the operator.
#[test]
#[ignore = "make test-all"]
fn golden_files_stay_readable() {
    needs!("g++");
    let Some(adios2) = Adios2::new("golden") else { return };
    for (script, folder, name) in [("bp.py", "adios2", "blocks"), ("volumes.py", "adios2_volumes", "volumes")]
    {
        let golden = root().join("tests/golden").join(folder);
        bless_if_missing(&golden, || drop(adios2.script(script, &["golden", golden.to_str().unwrap()])));
        for engine in ["bp5", "bp4"] {
            let (file, expected) = (golden.join(format!("{name}.{engine}")), golden.join("expected.sha256"));
            let arguments = ["read", file.to_str().unwrap(), expected.to_str().unwrap()];
            everything_holds(&adios2.script(script, &arguments));
        }
    }
}

/// A reader without the plugin is told what is missing.
#[test]
#[ignore = "make test-all"]
fn without_the_plugin_reading_is_an_error() {
    needs!("g++");
    let Some(adios2) = Adios2::new("missing") else { return };
    let file = root().join("tests/golden/adios2/blocks.bp5");
    let expected = root().join("tests/golden/adios2/expected.sha256");
    std::fs::remove_file(adios2.folder.join("libfactz_adios2.so")).unwrap();
    let script = root().join("tests/plugins/adios2/bp.py");
    let mut reader = adios2.command(&adios2.python);
    refuses(reader.arg("-B").arg(script).arg("read").args([file, expected]), "ADIOS2_PLUGIN_PATH");
}

/// CMake leaves the plugin out where there is no ADIOS2, insists where it is told to, and installs one that
/// works.
#[test]
#[ignore = "make test-all"]
fn cmake_builds_and_installs_the_plugin() {
    needs!("g++", "cmake");
    let Some(adios2) = Adios2::new("cmake") else { return };
    let folder = &adios2.folder;
    let configure = |build: &str, definitions: &[&str]| {
        let mut command = configure_plugins(&folder.join(build));
        command.arg("-DFACTZ_HDF5=OFF").args(definitions).env_remove("CMAKE_PREFIX_PATH");
        command
    };
    let said = both(&run(&mut configure("none", &[])));
    assert!(said.contains("no operator for ADIOS2: the headers of ADIOS2 were not found"), "{said}");
    refuses(&mut configure("insist", &["-DFACTZ_ADIOS2=ON"]), "add its prefix to CMAKE_PREFIX_PATH");
    let prefix = folder.join("prefix");
    let found = [
        format!("-DCMAKE_PREFIX_PATH={}", adios2.package.display()),
        format!("-DCMAKE_INSTALL_PREFIX={}", prefix.display()),
    ];
    run(&mut configure("build", &["-DFACTZ_ADIOS2=ON", &found[0], &found[1]]));
    build_and_install(&folder.join("build"));
    let (file, expected) = ("tests/golden/adios2/blocks.bp5", "tests/golden/adios2/expected.sha256");
    let script = root().join("tests/plugins/adios2/bp.py");
    let mut reader = adios2.command(&adios2.python);
    reader.arg("-B").arg(script).arg("read").args([file, expected].map(|name| root().join(name)));
    everything_holds(&both(&run(reader.env("ADIOS2_PLUGIN_PATH", prefix.join("lib/adios2/plugin")))));
}
