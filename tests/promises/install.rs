//! Installed by CMake into a fresh prefix, with the sources and the build gone and the prefix moved, factz
//! serves C, C++ and Fortran programs, shared and static, by CMake and by pkg-config. As a subdirectory or by
//! FetchContent it does so within the user's build, whose settings count. The shared library needs nothing
//! but libc, libm and libgcc. What the build would fail of is refused when it is configured.

use crate::support::{both, built_folder, fresh_folder, holds, output, refuses, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that `cmake --install` puts into a prefix, except the Python package.
const INSTALLED: &str = "
    bin/factz
    include/factz.f90 include/factz.h include/factz.hpp
    lib/cmake/factz/factzConfig.cmake lib/cmake/factz/factzConfigVersion.cmake
    lib/cmake/factz/factzTargets.cmake
    lib/hdf5/plugin/libh5zfactz.so
    lib/libfactz.a lib/libfactz.so lib/libfactz.so.0 lib/libfactz.so.0.1.0
    lib/pkgconfig/factz-static.pc lib/pkgconfig/factz.pc
    share/bash-completion/completions/factz
    share/doc/factz/CHANGELOG.md share/doc/factz/CITATION.cff share/doc/factz/CONTRIBUTING.md
    share/doc/factz/FORMAT.md share/doc/factz/LICENSE-APACHE share/doc/factz/LICENSE-MIT
    share/doc/factz/README.md share/doc/factz/data/README.md
    share/doc/factz/docs/algorithm.md share/doc/factz/docs/benchmarks.md
    share/doc/factz/docs/figures/bound.png share/doc/factz/docs/figures/compared.png
    share/doc/factz/docs/figures/readme.png share/doc/factz/docs/figures/speculative.png
    share/doc/factz/docs/figures/stream.png share/doc/factz/docs/figures/tile.png
    share/doc/factz/docs/figures/types.png share/doc/factz/docs/figures/volume.png
    share/doc/factz/docs/fixes.md
    share/doc/factz/docs/gpu.md share/doc/factz/docs/linking.md share/doc/factz/docs/packaging.md
    share/doc/factz/docs/plugins.md share/doc/factz/docs/zarr.md
    share/doc/factz/examples-c/critical_points.c share/doc/factz/examples-c/cuda_graph.cu
    share/doc/factz/examples-c/ghost_layers.c share/doc/factz/examples-c/hdf5_chunks.c
    share/doc/factz/examples-c/hdf5_filter.h share/doc/factz/examples-c/hdf5_parallel.c
    share/doc/factz/examples-c/insitu_solver.cu share/doc/factz/examples-c/mpi_blocks.c
    share/doc/factz/examples-c/mpi_volume.c share/doc/factz/examples-c/numbers.h
    share/doc/factz/examples-c/roundtrip.c share/doc/factz/examples-c/roundtrip.cpp
    share/doc/factz/examples-c/vortices.h
    share/doc/factz/examples-fortran/roundtrip.f90 share/doc/factz/examples-fortran/shallow_water.f90
    share/doc/factz/plugins/adios2/README.md share/doc/factz/plugins/hdf5/README.md
    share/doc/factz/plugins/libpressio/README.md share/doc/factz/plugins/paraview/README.md
    share/doc/factz/plugins/python/README.md share/doc/factz/plugins/python/examples/arrays.py
    share/factz/paraview/FactzReader.py
    share/fish/vendor_completions.d/factz.fish
    share/man/man1/factz-apply.1
    share/man/man1/factz-bench.1 share/man/man1/factz-compress.1 share/man/man1/factz-decompress.1
    share/man/man1/factz-demo.1 share/man/man1/factz-diff.1 share/man/man1/factz-h5args.1
    share/man/man1/factz-info.1 share/man/man1/factz-join.1 share/man/man1/factz-points.1
    share/man/man1/factz-protect.1 share/man/man1/factz-range.1 share/man/man1/factz-render.1
    share/man/man1/factz-split.1 share/man/man1/factz-sweep.1 share/man/man1/factz-test.1
    share/man/man1/factz-verify.1 share/man/man1/factz.1
    share/zsh/site-functions/_factz";

/// All files of a prefix, in order: the Python package is installed as it lies in the sources.
fn installed() -> Vec<String> {
    let package = "lib/python3/site-packages/factz";
    let modules = files(&root().join("plugins/python/factz"));
    let modules = modules.iter().filter(|name| !name.contains("__pycache__"));
    let modules = modules.map(|name| format!("{package}/{name}"));
    let mut names: Vec<_> = INSTALLED.split_whitespace().map(str::to_owned).chain(modules).collect();
    names.sort();
    names
}

/// Files that a build from a release needs. Of the tests, Cargo.toml names one.
const SOURCES: &str =
    "CHANGELOG.md CITATION.cff CONTRIBUTING.md Cargo.lock Cargo.toml FORMAT.md LICENSE-APACHE
    LICENSE-MIT README.md benches build.rs cmake data/README.md data/wind_global docs examples-c
    examples-fortran include kernels plugins src tests/gpu";

const PROGRAMS: [&str; 8] = [
    "c_shared",
    "c_static",
    "cpp_shared",
    "cpp_static",
    "c_usual",
    "fortran_usual",
    "libm_static",
    "fortran_alone",
];

/// Files below a folder, with their path in it.
fn files(folder: &Path) -> Vec<String> {
    let found = run(Command::new("find").arg(folder).args(["-not", "-type", "d", "-printf", "%P\\n"]));
    let mut files: Vec<_> = both(&found).lines().map(str::to_owned).collect();
    files.sort();
    files
}

fn cmake() -> Command {
    let mut command = Command::new("cmake");
    // Variables of the user must not reach the build.
    for name in ["CMAKE_PREFIX_PATH", "CMAKE_GENERATOR", "PKG_CONFIG_PATH", "LD_LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command
}

fn configure(sources: &Path, build: &Path) -> Command {
    let mut command = cmake();
    command.arg("-S").arg(sources).arg("-B").arg(build);
    command
}

fn define(name: &str, value: impl AsRef<Path>) -> String {
    format!("-D{name}={}", value.as_ref().display())
}

/// The programs of the examples that the user's project builds, on their own.
fn programs(folder: &Path) -> PathBuf {
    let sources = folder.join("programs");
    std::fs::create_dir_all(&sources).unwrap();
    let examples = [
        "examples-c/roundtrip.c",
        "examples-c/roundtrip.cpp",
        "examples-fortran/roundtrip.f90",
        "tests/environment/libm.c",
    ];
    run(Command::new("cp").args(examples).arg(&sources).current_dir(root()));
    run(Command::new("cp").arg("-r").arg(root().join("tests/install")).arg(folder.join("user")));
    sources
}

/// Configures, builds and runs the user's project.
fn user_project(folder: &Path, build: &str, definitions: &[String]) -> PathBuf {
    let build = folder.join(build);
    run(configure(&folder.join("user"), &build)
        .arg(define("PROGRAMS", folder.join("programs")))
        .args(definitions));
    run(cmake().arg("--build").arg(&build).args(["--parallel", "2"]));
    for program in PROGRAMS {
        holds(&mut Command::new(build.join(program)));
    }
    build
}

/// The file names of the shared libraries that a program or library needs, by ldd.
fn needed(path: &Path) -> Vec<String> {
    let out = output(Command::new("ldd").arg(path).env_remove("LD_LIBRARY_PATH"));
    if both(&out).contains("not a dynamic executable") {
        return Vec::new();
    }
    assert!(out.status.success(), "{}", both(&out));
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines()
        .map(|line| line.split_whitespace().next().unwrap().rsplit('/').next().unwrap().to_owned())
        .collect()
}

#[test]
#[ignore = "make test-all"]
fn an_installed_prefix_serves_every_language_with_the_sources_gone() {
    needs!("cmake", "gfortran", "pkg-config");
    let folder = fresh_folder("install");
    let sources = folder.join("sources");
    std::fs::create_dir(&sources).unwrap();
    run(Command::new("cp")
        .args(["-r", "--parents"])
        .args(SOURCES.split_whitespace())
        .arg(&sources)
        .current_dir(root()));
    let first = folder.join("first-prefix");
    let build = folder.join("build");
    run(configure(&sources.join("cmake"), &build)
        .arg(define("CMAKE_INSTALL_PREFIX", &first))
        // Without kernels, which take long to build and change nothing here.
        .args(["-DCMAKE_INSTALL_LIBDIR=lib", "-DFACTZ_CUDA=OFF"])
        .env_remove("CARGO_TARGET_DIR"));
    run(cmake().arg("--build").arg(&build).env_remove("CARGO_TARGET_DIR"));
    run(cmake().arg("--install").arg(&build));
    debug_information(&build, &folder);

    // The user never sees what it was built from, nor where it was first.
    let programs = programs(&folder);
    std::fs::remove_dir_all(&sources).unwrap();
    std::fs::remove_dir_all(&build).unwrap();
    let prefix = folder.join("prefix");
    std::fs::rename(&first, &prefix).unwrap();

    assert_eq!(files(&prefix), installed());
    let library = prefix.join("lib/libfactz.so");
    let link = |name: &str| std::fs::read_link(prefix.join("lib").join(name)).unwrap();
    assert_eq!(link("libfactz.so"), Path::new("libfactz.so.0"));
    assert_eq!(link("libfactz.so.0"), Path::new("libfactz.so.0.1.0"));
    for name in needed(&library) {
        let system = ["linux-vdso.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1"];
        assert!(system.contains(&name.as_str()) || name.starts_with("ld-linux"), "libfactz.so needs {name}");
    }
    for name in INSTALLED.split_whitespace().filter(|n| n.ends_with(".cmake") || n.ends_with(".pc")) {
        let text = std::fs::read_to_string(prefix.join(name)).unwrap();
        let here = folder.to_str().unwrap();
        assert!(!text.contains(here), "{name} names the place of the build");
    }

    let found = define("CMAKE_PREFIX_PATH", &prefix);
    let shared = user_project(&folder, "user-shared", std::slice::from_ref(&found));
    for (program, expected) in
        [("c_shared", true), ("c_static", false), ("c_usual", true), ("fortran_usual", true)]
    {
        let needs = needed(&shared.join(program)).iter().any(|n| n.starts_with("libfactz"));
        assert_eq!(needs, expected, "{program}");
    }
    let fixed = user_project(&folder, "user-static", &[found.clone(), "-Dfactz_USE_STATIC_LIBS=ON".into()]);
    for program in ["c_usual", "fortran_usual"] {
        assert!(!needed(&fixed.join(program)).iter().any(|n| n.starts_with("libfactz")), "{program}");
    }

    assert!(needed(&shared.join("fortran_alone")).is_empty(), "fortran_alone is a dynamic program");

    pkg_config(&prefix, &programs, &folder);
    program(&prefix);
    links(&prefix.join("share/doc/factz"));
    the_installed_examples(&prefix, &folder);
    wrong_uses(&prefix, &folder);
}

/// Libraries and program carry no debug information; they name the files that do, which are a component of
/// their own.
fn debug_information(build: &Path, folder: &Path) {
    let [debug, program] = ["debug", "program"].map(|component| {
        let prefix = folder.join(format!("{component}-prefix"));
        run(cmake().arg("--install").arg(build).args(["--component", component, "--prefix"]).arg(&prefix));
        prefix
    });
    assert_eq!(files(&debug), ["bin/.debug/factz.debug", "lib/.debug/libfactz.so.0.1.0.debug"]);
    // The guides and the reader of ParaView are components of their own.
    let others = ["/doc/", "/paraview/"];
    let of_program = |name: &&str| {
        let is_other = others.iter().any(|folder| name.contains(folder));
        name.starts_with("bin/") || name.starts_with("share/") && !is_other
    };
    assert_eq!(files(&program), INSTALLED.split_whitespace().filter(of_program).collect::<Vec<_>>());
    let sections = |file: &Path| both(&run(Command::new("readelf").args(["--wide", "--sections"]).arg(file)));
    for (file, debug_file) in [
        ("bin/factz", "bin/.debug/factz.debug"),
        ("lib/libfactz.so.0.1.0", "lib/.debug/libfactz.so.0.1.0.debug"),
    ] {
        let file = folder.join("first-prefix").join(file);
        let (stripped, whole) = (sections(&file), sections(&debug.join(debug_file)));
        let bare = !stripped.contains(".debug_line") && !stripped.contains(".symtab");
        assert!(bare && stripped.contains(".gnu_debuglink"), "{}", file.display());
        assert!(whole.contains(".debug_line"), "{debug_file}");
        let link = run(Command::new("readelf").arg("--string-dump=.gnu_debuglink").arg(&file));
        let name = debug_file.rsplit('/').next().unwrap();
        assert!(both(&link).contains(name), "{}", both(&link));
    }
    let shared = std::fs::metadata(folder.join("first-prefix/lib/libfactz.so.0.1.0")).unwrap().len();
    assert!(shared < 6_000_000, "the shared library has {shared} bytes");
    let archive = sections(&folder.join("first-prefix/lib/libfactz.a"));
    assert!(!archive.contains(".debug_line"), "the static library has debug information");
}

/// Two lines in a Makefile: the compiler gets what pkg-config says.
fn pkg_config(prefix: &Path, programs: &Path, folder: &Path) {
    let ask = |arguments: &[&str]| {
        let out = run(Command::new("pkg-config")
            .args(arguments)
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
        let text = String::from_utf8(out.stdout).unwrap();
        text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ask(&["--modversion", "factz"]), [env!("CARGO_PKG_VERSION")]);
    for package in ["factz", "factz-static"] {
        let flags = ask(&["--cflags", "--libs", package]);
        let module = ask(&["--variable=fortran_source", package]);
        for (compiler, sources) in [
            ("gcc", vec!["roundtrip.c".into()]),
            ("g++", vec!["roundtrip.cpp".into()]),
            ("gfortran", vec![module[0].clone(), "roundtrip.f90".into()]),
        ] {
            let program = folder.join(format!("{package}-{compiler}"));
            let mut rpath = std::ffi::OsString::from("-Wl,-rpath,");
            rpath.push(prefix.join("lib"));
            run(Command::new(compiler)
                .args(sources.iter().map(|s| programs.join(s)))
                .args(&flags)
                .args(["-lm".into(), rpath])
                .arg("-o")
                .arg(&program)
                .current_dir(folder));
            holds(&mut Command::new(&program));
            let needs = needed(&program).iter().any(|n| n.starts_with("libfactz"));
            assert_eq!(needs, package == "factz", "{package} {compiler}");
        }
    }
    // Nothing is shared: both ways to say so.
    for (name, flags) in [
        ("alone", ask(&["--static", "--cflags", "--libs", "factz"])),
        ("alone-static", ask(&["--cflags", "--libs", "factz-static"])),
    ] {
        let program = folder.join(name);
        run(Command::new("gcc")
            .args(["-static", "-fno-builtin"])
            .arg(programs.join("libm.c"))
            .args(flags)
            .arg("-o")
            .arg(&program));
        holds(&mut Command::new(&program));
        assert!(needed(&program).is_empty(), "{name}");
    }
}

/// Links between the installed documents lead somewhere.
fn links(documents: &Path) {
    let mut count = 0;
    for name in files(documents).iter().filter(|name| name.ends_with(".md")) {
        let text = std::fs::read_to_string(documents.join(name)).unwrap();
        for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            if !link.starts_with("http") && !link.starts_with('#') {
                let file = documents.join(name).with_file_name(link.split('#').next().unwrap());
                assert!(file.exists(), "{name}: {link}");
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count} links");
}

/// The examples compile and run where they are installed.
fn the_installed_examples(prefix: &Path, folder: &Path) {
    for name in ["critical_points", "ghost_layers"] {
        let program = folder.join(name);
        run(Command::new("gcc")
            .arg(prefix.join("share/doc/factz/examples-c").join(name).with_extension("c"))
            .arg("-I")
            .arg(prefix.join("include"))
            .arg(prefix.join("lib/libfactz.a"))
            .args(["-lm", "-lpthread", "-ldl", "-o"])
            .arg(&program));
        run(&mut Command::new(&program));
    }
}

/// The installed program runs, its manual names every option of the help, and the completions know the
/// commands.
fn program(prefix: &Path) {
    let factz = prefix.join("bin/factz");
    let said = run(Command::new(&factz).arg("--version"));
    assert_eq!(both(&said).trim(), format!("factz {}", env!("CARGO_PKG_VERSION")));
    let read = |name: &str| std::fs::read_to_string(prefix.join("share").join(name)).unwrap();
    let completions = [
        "bash-completion/completions/factz",
        "zsh/site-functions/_factz",
        "fish/vendor_completions.d/factz.fish",
    ];
    for script in completions.map(read) {
        assert!(script.contains("decompress") && script.contains("keys"), "{script}");
    }
    for page in INSTALLED.split_whitespace().filter(|name| name.contains("man1/factz-")) {
        let command = page.rsplit('/').next().unwrap().trim_start_matches("factz-").trim_end_matches(".1");
        let help = both(&run(Command::new(&factz).args([command, "--help"])));
        let page = read(page.trim_start_matches("share/")).replace('\\', "");
        for option in help.split_whitespace().filter(|w| w.starts_with("--") && w.len() > 2) {
            let option = option.trim_end_matches(|c: char| !c.is_ascii_lowercase());
            assert!(page.contains(option), "the manual of {command} does not know {option}");
        }
        for heading in ["SYNOPSIS", "OPTIONS", "EXIT STATUS", "EXAMPLE"] {
            assert!(
                page.contains(&format!(".SH {heading}")) || page.contains(&format!(".SH \"{heading}\"")),
                "{command}: {heading}"
            );
        }
    }
    assert!(read("man/man1/factz.1").replace('\\', "").contains("factz-decompress"));
}

/// Errors come with advice.
fn wrong_uses(prefix: &Path, folder: &Path) {
    let project = folder.join("wrong");
    std::fs::create_dir_all(&project).unwrap();
    let cases = [
        (
            "find_package(factz 0.1 REQUIRED COMPONENTS Fortran)",
            "project(... LANGUAGES Fortran), before find_package",
        ),
        ("find_package(factz 9.0 REQUIRED)", "requested version \"9.0\""),
        ("find_package(factz REQUIRED COMPONENTS Pascal)", "there is no component Pascal"),
    ];
    for (statement, advice) in cases {
        let text = format!("cmake_minimum_required(VERSION 3.20)\nproject(wrong LANGUAGES C)\n{statement}\n");
        std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
        let build = project.join("build");
        let _ = std::fs::remove_dir_all(&build);
        refuses(configure(&project, &build).arg(define("CMAKE_PREFIX_PATH", prefix)), advice);
    }
}

/// Settings and values that differ from the defaults of a project within another one.
const SETTINGS: [(&str, &str); 15] = [
    ("FACTZ_ADIOS2", "OFF"),
    ("FACTZ_CARGO_TARGET_DIR", "/nowhere/cargo"),
    ("FACTZ_CUDA", "OFF"),
    ("FACTZ_CUDA_ARCHS", "75"),
    ("FACTZ_HDF5", "ON"),
    ("FACTZ_HDF5_FILTER_ID", "40000"),
    ("FACTZ_HDF5_SHARED", "ON"),
    ("FACTZ_INSTALL", "ON"),
    ("FACTZ_LD", "/usr/bin/ld"),
    ("FACTZ_LIBRARY_DIR", ""),
    ("FACTZ_PIP_OPTIONS", "--quiet"),
    ("FACTZ_PROGRAM", "OFF"),
    ("FACTZ_PYTHON", "/nowhere/python"),
    ("FACTZ_STRIP", "OFF"),
    ("factz_USE_STATIC_LIBS", "ON"),
];

/// The lists of a project that sets every setting before it takes factz, which must keep them.
#[test]
fn settings_of_the_project_around_it_count() {
    needs!("cmake", "gcc");
    let folder = fresh_folder("settings");
    let library = built_folder().display().to_string();
    let settings =
        SETTINGS.map(|(name, value)| (name, if value.is_empty() { library.as_str() } else { value }));
    let set: String = settings.iter().map(|(name, value)| format!("set({name} \"{value}\")\n")).collect();
    let told: String = settings
        .iter()
        .map(|(name, _)| {
            let part = match *name {
                "FACTZ_ADIOS2" => "plugins/adios2",
                "FACTZ_HDF5_SHARED" => "plugins/hdf5",
                "FACTZ_PIP_OPTIONS" | "FACTZ_PYTHON" => "plugins/python",
                _ => "cmake",
            };
            let part = root().join(part).display().to_string();
            format!(
                "get_directory_property(value DIRECTORY \"{part}\" DEFINITION {name})\n\
                     message(STATUS \"{name}=${{value}};\")\n"
            )
        })
        .collect();
    let source = root().display();
    let taken = [
        ("subdirectory", format!("add_subdirectory(\"{source}/cmake\" factz)\n")),
        (
            "fetched",
            format!(
                "include(FetchContent)\nFetchContent_Declare(factz SOURCE_DIR \"{source}\" SOURCE_SUBDIR cmake)\n\
                 FetchContent_MakeAvailable(factz)\n"
            ),
        ),
    ];
    for (name, take) in taken {
        let project = folder.join(name);
        std::fs::create_dir(&project).unwrap();
        let head = "cmake_minimum_required(VERSION 3.20)\nproject(user LANGUAGES C)\n";
        std::fs::write(project.join("CMakeLists.txt"), [head, &set, &take, &told].concat()).unwrap();
        // The second run finds the cache of the first one.
        for _ in 0..2 {
            let said = both(&run(&mut configure(&project, &project.join("build"))));
            for (setting, value) in settings {
                assert!(said.contains(&format!("{setting}={value};")), "{name}, {setting}: {said}");
            }
        }
    }
}

/// The list above is complete, and no setting takes the variables of the project around it away.
#[test]
fn every_setting_is_tested() {
    let mut found = Vec::new();
    for file in ["cmake", "plugins/hdf5", "plugins/adios2", "plugins/python"] {
        let text = std::fs::read_to_string(root().join(file).join("CMakeLists.txt")).unwrap();
        for line in text.lines().map(str::trim_start) {
            let setting =
                ["option(", "factz_setting(", "find_program("].iter().find_map(|s| line.strip_prefix(s));
            let cached = line
                .strip_prefix("set(")
                .filter(|rest| rest.contains(" CACHE ") && !rest.contains("${name}"));
            found.extend(setting.or(cached).map(|rest| rest.split(' ').next().unwrap().to_owned()));
        }
    }
    found.sort();
    assert_eq!(found, SETTINGS.map(|(name, _)| name));
}

/// Configures a copy of what CMake reads, without an nvcc: there is no environment with one in the sources.
fn without_nvcc(folder: &Path) -> impl Fn(&[&str]) -> Command {
    run(Command::new("cp")
        .args(["-r", "cmake", "Cargo.toml", "include", "plugins"])
        .arg(folder)
        .current_dir(root()));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|f| !f.join("nvcc").is_file()).collect::<Vec<_>>();
    let path = std::env::join_paths(folders).unwrap();
    let (sources, build) = (folder.join("cmake"), folder.join("build"));
    move |definitions| {
        let _ = std::fs::remove_dir_all(&build);
        let mut command = configure(&sources, &build);
        for name in ["NVCC", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDAToolkit_ROOT", "VIRTUAL_ENV"] {
            command.env_remove(name);
        }
        command.args(["-DFACTZ_PROGRAM=OFF", "-DFACTZ_ADIOS2=OFF"]).args(definitions).env("PATH", &path);
        command
    }
}

#[test]
fn what_the_build_would_fail_of_is_refused_when_it_is_configured() {
    needs!("cmake", "gcc");
    let folder = fresh_folder("refused");
    let configured = without_nvcc(&folder);
    if !Path::new("/usr/local/cuda/bin/nvcc").exists() {
        let advice =
            "FACTZ_CUDA=on needs nvcc, which was not found: install the CUDA toolkit 13, set FACTZ_NVCC";
        refuses(&mut configured(&["-DFACTZ_CUDA=on"]), advice);
        let said = both(&run(&mut configured(&[])));
        assert!(said.contains("the CUDA functions are left out"), "{said}");
    }
    refuses(
        configured(&["-DFACTZ_CUDA=ON"]).env("NVCC", "/nowhere/nvcc"),
        "FACTZ_NVCC=/nowhere/nvcc does not run: install the CUDA toolkit 13",
    );
    refuses(&mut configured(&["-DFACTZ_CUDA=MAYBE"]), "FACTZ_CUDA=MAYBE is none of AUTO, ON and OFF");
    refuses(
        &mut configured(&["-DFACTZ_CUDA=ON", "-DFACTZ_NVCC=/bin/true", "-DFACTZ_CUDA_ARCHS=hopper"]),
        "FACTZ_CUDA_ARCHS=hopper names no architectures: give numbers such as 80,90",
    );
    run(&mut configured(&["-DFACTZ_CUDA=ON", "-DFACTZ_NVCC=/bin/true", "-DFACTZ_CUDA_ARCHS=80;90"]));
    refuses(
        &mut configured(&["-DFACTZ_CUDA=OFF", "-DFACTZ_CARGO=/bin/false"]),
        "FACTZ_CARGO=/bin/false does not run",
    );
    let old = folder.join("cargo");
    std::fs::write(&old, "#!/bin/sh\necho 'cargo 1.60.0 (d1fd9fe2c 2022-03-01)'\n").unwrap();
    run(Command::new("chmod").arg("+x").arg(&old));
    refuses(
        configured(&["-DFACTZ_CUDA=OFF"]).arg(define("FACTZ_CARGO", &old)),
        "is of Rust 1.60: install Rust 1.86 or later",
    );
    refuses(
        &mut configured(&["-DFACTZ_CUDA=OFF", "-DCMAKE_OBJCOPY=no-objcopy"]),
        "no-objcopy is missing: install GNU binutils",
    );
}

#[test]
#[ignore = "make test-all"]
fn a_subdirectory_serves_the_users_build() {
    needs!("cmake", "gfortran", "pkg-config");
    let folder = fresh_folder("subdirectory");
    programs(&folder);
    let [source, library] = [define("FACTZ_SOURCE", root()), define("FACTZ_LIBRARY_DIR", built_folder())];
    user_project(&folder, "build", &["-DFACTZ_AS=subdirectory".into(), source, library]);
}

#[test]
#[ignore = "make test-all"]
fn fetch_content_serves_the_users_build() {
    needs!("cmake", "gfortran", "pkg-config");
    let folder = fresh_folder("fetched");
    programs(&folder);
    let definitions = ["-DFACTZ_AS=fetched".into(), define("FACTZ_SOURCE", root())];
    // Machines without cargo name a finished build.
    let mut with_library = definitions.to_vec();
    with_library.push(define("FACTZ_LIBRARY_DIR", built_folder()));
    user_project(&folder, "build", &with_library);

    let mut without = configure(&folder.join("user"), &folder.join("none"));
    without.args(definitions);
    without.arg(define("FACTZ_LIBRARY_DIR", &folder)).arg(define("PROGRAMS", folder.join("programs")));
    refuses(&mut without, "name the folder of a finished build");
}
