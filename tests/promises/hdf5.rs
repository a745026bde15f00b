//! The HDF5 filter (plugins/hdf5): files that h5py, h5repack and nccopy write with it are read by h5py,
//! h5dump, xarray and ncdump, under two versions of HDF5; the whole dataset keeps its critical points, chunk
//! borders included, and no errors add up, however it is written; what the filter cannot do is refused with a
//! reason; damaged chunks are errors. `factz h5args` prints its arguments.
//!
//! The tests themselves are the scripts of tests/plugins/hdf5.

use crate::support::cli::Folder;
use crate::support::{
    both, build_and_install, configure_plugins, fresh_folder, linkings, output, python_of_plugins, root, run,
    skip, static_library, STRICT_C, STRICT_CPP,
};
use factz::config_text;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: [&str; 11] = [
    "agreement.c",
    "chunk.c",
    "dataset.c",
    "factz_filter.c",
    "field.c",
    "fingerprints.c",
    "hdf5_library.c",
    "history.c",
    "kept.c",
    "log.c",
    "originals.c",
];

/// Compiles the plugin, with the library in it, into a folder of its own below `folder`.
pub fn plugin(folder: &Path) -> PathBuf {
    let target = folder.join("plugin");
    std::fs::create_dir_all(&target).unwrap();
    run(Command::new("gcc")
        .args(STRICT_C)
        .args(["-fPIC", "-shared", "-fvisibility=hidden", "-I"])
        .arg(root().join("include"))
        .args(SOURCES.map(|name| root().join("plugins/hdf5").join(name)))
        .arg(static_library())
        .args(["-Wl,--exclude-libs,ALL", "-Wl,--gc-sections", "-Wl,-z,nodelete", "-Wl,-z,defs"])
        .args(["-lgcc_s", "-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc", "-o"])
        .arg(target.join("libh5zfactz.so")));
    target
}

fn script_in(folder: &Path, python: &Path, name: &str) -> Command {
    let mut command = Command::new(python);
    command
        .arg("-B")
        .arg(root().join("tests/plugins/hdf5").join(name))
        .env("FACTZ", env!("CARGO_BIN_EXE_factz"))
        .env("FACTZ_SOURCE", root())
        .env("HDF5_PLUGIN_PATH", plugin(folder))
        .env_remove("FACTZ_HDF5_THREADS")
        .env_remove("FACTZ_HDF5_LOG")
        .env_remove("FACTZ_HDF5_AGAIN")
        .current_dir(folder);
    command
}

/// Python with the packages that the scripts use.
fn python() -> Option<PathBuf> {
    python_of_plugins(&["h5netcdf", "h5py", "xarray"])
}

/// A test for each script, which runs in a folder of its own, and the programs that it needs.
macro_rules! scripts {
    ($($test:ident: $script:literal, $($program:literal)+;)+) => {
        $(#[test]
        #[ignore = "make test-all"]
        fn $test() {
            needs!($($program),+);
            let Some(python) = python() else { return };
            let folder = fresh_folder(concat!("hdf5-", $script));
            run(&mut script_in(&folder, &python, $script));
            std::fs::remove_dir_all(folder).unwrap();
        })+
    };
}

scripts! {
    whole_datasets_keep_their_critical_points: "guarantee.py", "gcc" "h5dump" "h5diff";
    chunks_in_parts_and_copies_add_no_errors: "parts.py", "gcc" "h5dump" "h5repack";
    values_that_come_back_add_no_errors: "again.py", "gcc";
    tools_and_h5py_exchange_files: "exchange.py", "gcc" "h5dump" "h5repack" "h5diff";
    netcdf_files_are_written_and_read: "netcdf.py", "gcc" "nccopy" "ncdump";
    unsuitable_datasets_are_refused_with_a_reason: "refusals.py", "gcc" "h5repack";
    damaged_chunks_are_errors: "damage.py", "gcc" "h5dump";
    chunks_of_several_fields_keep_each: "stacks.py", "gcc" "h5dump";
    volumes_keep_their_critical_points: "volumes.py", "gcc" "h5dump" "h5repack";
    components_alone_are_stored_exactly: "components.py", "gcc" "h5dump" "h5repack";
    golden_files_stay_readable: "golden.py", "gcc" "h5dump";
}

/// xarray writes dask arrays whose chunks are smaller than those of the file.
#[test]
#[ignore = "make test-all"]
fn dask_chunks_smaller_than_those_of_the_file() {
    needs!("gcc");
    let Some(python) = python_of_plugins(&["dask", "h5netcdf", "xarray"]) else { return };
    let folder = fresh_folder("hdf5-dask.py");
    run(&mut script_in(&folder, &python, "dask_chunks.py"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Types and error classes are variables of libhdf5.so, of which a program has copies.
#[test]
#[ignore = "make test-all"]
fn programs_of_a_shared_hdf5_name_its_variables() {
    needs!("gcc", "g++", "h5cc");
    let folder = fresh_folder("hdf5-shared");
    let [shared, ..] = linkings(&folder);
    let plugin = plugin(&folder);
    let source = Path::new("tests/plugins/hdf5/shared.c");
    let position_dependent = ["-fno-pie", "-no-pie"];
    let cpp = ["HDF5_CC=g++", "HDF5_CLINKER=g++", "h5cc"];
    for (compiler, options, more) in [
        (&["h5cc"][..], &STRICT_C[..], &[][..]),
        (&["h5cc"][..], &STRICT_C[..], &position_dependent[..]),
        (&cpp[..], &STRICT_CPP[..], &["-x", "c++"][..]),
    ] {
        let program = shared.compile("env", &[compiler, &["-shlib"], options, more].concat(), &[source]);
        let copies = both(&run(Command::new("readelf").arg("-rW").arg(&program)));
        if cfg!(target_arch = "x86_64") {
            assert!(copies.contains("_COPY ") && copies.contains("H5T_IEEE_F32LE_g"), "{copies}");
        }
        let mut command = Command::new(&program);
        command.env("HDF5_PLUGIN_PATH", &plugin).current_dir(&folder);
        assert!(both(&run(&mut command)).contains("everything holds"));
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The plugin asks the library that calls it, and its messages go there.
#[test]
#[ignore = "make test-all"]
fn two_hdf5_libraries_share_a_process() {
    needs!("gcc", "h5dump");
    let Some(python) = python() else { return };
    let folder = fresh_folder("hdf5-libraries");
    let out = output(&mut script_in(&folder, &python, "libraries.py"));
    match out.status.code() {
        Some(77) => return skip("no libhdf5_serial.so.103"),
        code => assert_eq!(code, Some(0), "{}", both(&out)),
    }
    let reason = "factz(): filter 2 (shuffle) comes before factz";
    assert!(String::from_utf8_lossy(&out.stderr).contains(reason), "{}", both(&out));
}

#[test]
#[ignore = "make test-all"]
fn a_program_without_shared_hdf5_describes_its_chunks() {
    needs!("gcc", "h5cc");
    let folder = fresh_folder("hdf5-static");
    let program = folder.join("program");
    run(Command::new("h5cc")
        .args(STRICT_C)
        .arg("-o")
        .arg(&program)
        .arg(root().join("tests/plugins/hdf5/static.c"))
        .arg("-lm")
        .current_dir(&folder));
    let symbols = both(&run(Command::new("nm").arg(&program)));
    if !symbols.contains("T H5Pget_chunk\n") {
        return skip("h5cc links no static HDF5");
    }
    let line = ["h5args", "--abs", "0.01", "--chunk", "360x181", "--field", "360x181", "--format", "netcdf"];
    let words = both(&run(Command::new(env!("CARGO_BIN_EXE_factz")).args(line)));
    let mut command = Command::new(program);
    command.args(words.trim().split(',')).env("HDF5_PLUGIN_PATH", plugin(&folder)).current_dir(&folder);
    assert!(both(&run(&mut command)).contains("everything holds"));
}

/// Both plugins that CMake makes work where they are installed: with the library inside, and beside it.
#[test]
#[ignore = "make test-all"]
fn installed_plugins_work() {
    needs!("cmake", "gcc", "h5dump");
    let Some(python) = python() else { return };
    for shared in ["OFF", "ON"] {
        let folder = fresh_folder(&format!("hdf5-install-{shared}"));
        let [build, prefix] = ["build", "prefix"].map(|name| folder.join(name));
        run(configure_plugins(&build)
            .arg(format!("-DCMAKE_INSTALL_PREFIX={}", prefix.display()))
            .arg(format!("-DFACTZ_HDF5_SHARED={shared}"))
            .arg("-DFACTZ_HDF5_FILTER_ID=444"));
        build_and_install(&build);
        std::fs::remove_dir_all(build).unwrap();
        let plugin = prefix.join("lib/hdf5/plugin");
        let needed = both(&run(Command::new("readelf").arg("-d").arg(plugin.join("libh5zfactz.so"))));
        assert_eq!(needed.contains("libfactz.so"), shared == "ON", "{needed}");
        // The other number, too.
        run(script_in(&folder, &python, "installed.py").env("HDF5_PLUGIN_PATH", plugin).arg("444"));
        std::fs::remove_dir_all(folder).unwrap();
    }
}

/// The plugin shows HDF5 its two functions, hides the library, and needs no libhdf5.
#[test]
fn the_plugin_stands_alone() {
    needs!("gcc", "nm", "readelf");
    let folder = fresh_folder("hdf5-plugin");
    let file = plugin(&folder).join("libh5zfactz.so");
    let symbols = both(&run(Command::new("nm").args(["-D", "--defined-only"]).arg(&file)));
    let mut names: Vec<_> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
    names.sort();
    assert_eq!(names, ["H5PLget_plugin_info", "H5PLget_plugin_type"]);
    let dynamic = both(&run(Command::new("readelf").arg("-d").arg(&file)));
    assert!(!dynamic.contains("hdf5") && !dynamic.contains("libfactz"), "{dynamic}");
    std::fs::remove_dir_all(folder).unwrap();
}

fn numbers(text: &str) -> Vec<u32> {
    text.trim().split(',').map(|n| n.parse().unwrap()).collect()
}

/// All formats of `factz h5args` say the same configuration.
#[test]
fn arguments_are_those_of_the_configuration() {
    let folder = Folder::new("h5args");
    let choices =
        "--abs 0.05 --mode speculative --coder huffman --preserve points --ties zeros --spacing 2,-0.5 \
                   --fill-value 1e20";
    let text = "abs=0.05,mode=speculative,coder=huffman,preserve=points,ties=zeros,dx=2,dy=-0.5,fill=1e20";
    let config = config_text::to_words(&config_text::parse(text).unwrap()).unwrap();
    let header = std::fs::read_to_string(root().join("plugins/hdf5/filter_id.h")).unwrap();
    let filter = header.lines().find_map(|line| line.strip_prefix("#define FACTZ_HDF5_FILTER_ID ")).unwrap();

    for (more, field) in [("", &[][..]), (" --field 360x181", &[1, 360, 181])] {
        let line = |format: &str| folder.succeeds(&format!("h5args {choices}{more} --format {format}"));
        let expected = [&config[..], field].concat();
        let json: Value = serde_json::from_str(&line("h5py")).unwrap();
        assert_eq!(json["compression"].to_string(), filter);
        assert_eq!(json["compression_opts"], Value::from(expected.clone()));
        let netcdf = line("netcdf");
        assert_eq!(numbers(netcdf.strip_prefix(&format!("{filter},")).unwrap()), expected);
        // h5repack takes no more than 20 values.
        let h5repack = line("h5repack");
        let values = numbers(h5repack.strip_prefix(&format!("UD={filter},0,")).unwrap());
        assert!(values.len() == values[0] as usize + 1 && values[0] <= 20, "{h5repack}");
        let [nx, ny] = if field.is_empty() { [0, 0] } else { [360, 181] };
        assert_eq!(values[1..4], [0x10000 + config[0], nx, ny]);
        let used = &config[1..values.len() - 3];
        assert!(values[4..] == *used && config[used.len() + 1..].iter().all(|&word| word == 0), "{h5repack}");
    }
    let chunk =
        folder.succeeds("h5args --abs 1 --chunk 40x30 --dtype f64 --layout interleaved --format netcdf");
    let order = cfg!(target_endian = "big") as u32;
    assert_eq!(numbers(&chunk)[25..], [1, 0, 0, 1, 1, 40, 30, order, 0, 0, 0, 1]);

    // Whole fields, and the largest chunk.
    folder.succeeds("h5args --rel 1e-3 --field 360x181 --chunk 360x181");
    folder.succeeds("h5args --abs 1 --chunk 32767x16384");

    // A range that outliers make.
    let wide = |form: &str| {
        folder.succeeds(&format!("h5args --rel 1e-3 --field 9x8 --allow-wide-range --format {form}"))
    };
    assert_eq!(numbers(wide("netcdf").split_once(',').unwrap().1)[24..], [131072 + 1, 9, 8]);
    assert_eq!(numbers(wide("h5repack").strip_prefix("UD=").unwrap())[3], 131072 + 65536 + 1);
    // Volumes: three lengths of a field, the last one behind those of the chunk.
    let volume = |options: &str| folder.succeeds(&format!("h5args --mode repair --abs 1 --dz -2 {options}"));
    let config = config_text::parse("abs=1,mode=repair,dz=-2").unwrap();
    let words = config_text::to_words(&config).unwrap();
    let given = numbers(volume("--field 9x8x7 --format netcdf").split_once(',').unwrap().1);
    assert_eq!(given, [&words[..], &[1, 9, 8, 7]].concat());
    let given = numbers(volume("--chunk 4x3x2 --field 9x8x7 --format netcdf").split_once(',').unwrap().1);
    assert_eq!(given[24..], [1, 9, 8, 0, 4, 4, 3, order, 0, 0, 0, 2, 7]);
    let short = folder.succeeds("h5args --mode repair --abs 1 --field 9x8x7 --format h5repack");
    let values = numbers(short.split_once(",0,").unwrap().1);
    assert!(values[0] <= 20 && values[1..5] == [0x10000 + 0x40000 + 1, 9, 8, 7], "{short}");
    for (line, part) in [
        ("h5args --abs 1 --field 9x8x7", "--field 9x8x7: give NXxNY, columns and rows of a plane"),
        ("h5args --abs 1 --dz 2", "--dz 2: planes have no axis z: leave it out, or give --mode repair"),
        ("h5args --abs 1 --mode repair --field 9x8", "--field 9x8: give NXxNYxNZ of a volume"),
        ("h5args --abs 1 --mode repair --chunk 9x8x1", "--chunk 9x8: give NXxNYxNZ of a volume"),
        ("h5args --abs 1 --mode repair --chunk 32768x16384x2", "u, v and w of a chunk take less"),
        ("h5args --abs 1 --mode repair --chunk 4x4x4 --layout interleaved", "is one of planes"),
        ("h5args --abs 1 --mode repair --predictor lorenzo", "leave --predictor out"),
        ("h5args --abs 1 --mode repair --ties sos", "ties = sos is a rule for triangles"),
        ("h5args", "a bound is missing"),
        ("h5args --rel 1e-3", "--rel needs --field NXxNY"),
        ("h5args --rel 1e-3 --chunk 360x181", "--rel needs --field NXxNY"),
        (
            "h5args --rel 1e-3 --field 360x181 --chunk 64x64",
            "--rel needs --field NXxNY, and chunks of that size",
        ),
        ("h5args --abs 1 --chunk 100000x100000", "--chunk 100000x100000: u and v of a chunk take less"),
        ("h5args --abs 1 --chunk 32768x16384", "take less than 4 GiB"),
        ("h5args --abs 1 --chunk 32767x8193 --dtype f64", "take less than 4 GiB"),
        ("h5args --abs 1 --mode speculative --predictor lorenzo", "--mode speculative works with"),
        ("h5args --abs 1 --field 5000000000x2", "--field 5000000000x2: there are less than 2^32"),
        ("h5args --abs 1 --allow-wide-range", "--allow-wide-range is for --rel"),
        ("h5args --abs 1 --chunk 4x4 --format h5repack", "--chunk is not for h5repack"),
        ("h5args --abs 1 --dtype f64", "--chunk"),
        ("h5args --abs 1 --format xml", "h5py, h5repack, netcdf"),
    ] {
        folder.fails(line, &[part]);
    }
}
