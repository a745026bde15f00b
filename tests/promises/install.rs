//! Installed by CMake into a fresh prefix, with the sources and the build gone and the prefix moved, factz
//! serves C, C++ and Fortran programs, shared and static, by CMake and by pkg-config. As a subdirectory or by
//! FetchContent it does so within the user's build. The shared library needs nothing but libc, libm and
//! libgcc.

use crate::support::{both, built_folder, fresh_folder, holds, refuses, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything that `cmake --install` puts into a prefix, in order.
const INSTALLED: &str = "
    bin/factz
    include/factz.f90 include/factz.h include/factz.hpp
    lib/cmake/factz/factzConfig.cmake lib/cmake/factz/factzConfigVersion.cmake
    lib/cmake/factz/factzTargets.cmake
    lib/hdf5/plugin/libh5zfactz.so
    lib/libfactz.a lib/libfactz.so lib/libfactz.so.0 lib/libfactz.so.0.1.0
    lib/pkgconfig/factz-static.pc lib/pkgconfig/factz.pc
    lib/python3/site-packages/factz/__init__.py lib/python3/site-packages/factz/_abi.py
    lib/python3/site-packages/factz/_analysis.py lib/python3/site-packages/factz/_arrays.py
    lib/python3/site-packages/factz/_compression.py lib/python3/site-packages/factz/_config.py
    lib/python3/site-packages/factz/_device.py lib/python3/site-packages/factz/_fields.py
    lib/python3/site-packages/factz/_library.py lib/python3/site-packages/factz/_results.py
    lib/python3/site-packages/factz/errors.py lib/python3/site-packages/factz/hdf5.py
    lib/python3/site-packages/factz/py.typed
    share/bash-completion/completions/factz
    share/doc/factz/FORMAT.md share/doc/factz/LICENSE-APACHE share/doc/factz/LICENSE-MIT
    share/fish/vendor_completions.d/factz.fish
    share/man/man1/factz-bench.1 share/man/man1/factz-compress.1 share/man/man1/factz-decompress.1
    share/man/man1/factz-demo.1 share/man/man1/factz-diff.1 share/man/man1/factz-h5args.1
    share/man/man1/factz-info.1 share/man/man1/factz-points.1 share/man/man1/factz-render.1
    share/man/man1/factz-sweep.1 share/man/man1/factz-test.1 share/man/man1/factz-verify.1
    share/man/man1/factz.1
    share/zsh/site-functions/_factz";

/// Files that a build from a release needs. Of the tests, Cargo.toml names one.
const SOURCES: &str = "Cargo.lock Cargo.toml FORMAT.md LICENSE-APACHE LICENSE-MIT benches build.rs cmake
    data/wind_global include kernels plugins src tests/gpu";

const PROGRAMS: [&str; 6] = ["c_shared", "c_static", "cpp_shared", "cpp_static", "c_usual", "fortran_usual"];

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
    let examples = ["examples-c/roundtrip.c", "examples-c/roundtrip.cpp", "examples-fortran/roundtrip.f90"];
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
    let out = run(Command::new("ldd").arg(path).env_remove("LD_LIBRARY_PATH"));
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

    assert_eq!(files(&prefix), INSTALLED.split_whitespace().collect::<Vec<_>>());
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

    pkg_config(&prefix, &programs, &folder);
    program(&prefix);
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
    let of_program =
        |name: &&str| name.starts_with("bin/") || name.starts_with("share/") && !name.contains("/doc/");
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
    assert!(shared < 4_000_000, "the shared library has {shared} bytes");
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
