//! Shared by the tests of the built library.

// Each test uses its part of it.
#![allow(dead_code)]

pub mod capi;
pub mod checker;
#[cfg(feature = "cli")]
pub mod cli;
pub mod decoder;
pub mod emulator;
pub mod fields;
pub mod fixes;
pub mod golden;
pub mod guarded;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Warnings of C and C++ are errors.
pub const STRICT_C: [&str; 6] = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"];
pub const STRICT_CPP: [&str; 7] =
    ["-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O1"];
pub const STRICT_FORTRAN: [&str; 6] = ["-std=f2018", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"];

/// The folder with the shared and the static library that were built together with this test.
pub fn built_folder() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// The static library that was built together with this test, as it is installed: cmake/static_library.sh
/// makes it, once for all tests.
pub fn static_library() -> PathBuf {
    let built = built_folder().join("libfactz.a");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static/libfactz.a");
    let time = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    if time(&library) < time(&built) {
        std::fs::create_dir_all(library.parent().unwrap()).unwrap();
        run(Command::new(root().join("cmake/static_library.sh")).arg(&built).arg(&library));
        // One that did not change has kept its time.
        let file = std::fs::File::options().append(true).open(&library).unwrap();
        file.set_modified(std::time::SystemTime::now()).unwrap();
    }
    library
}

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The lines of the examples of a page in one language, one example after the other.
pub fn examples_of(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).unwrap();
    let opening = format!("\n```{language}\n");
    let lines = text.split(&opening).skip(1).flat_map(|rest| rest.split_once("\n```").unwrap().0.lines());
    lines.map(str::to_owned).collect()
}

/// A fresh folder for a test.
pub fn fresh_folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Notes that a test was not run; `make test` says so in its last line.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{} ({reason})\n", thread.name().unwrap_or("a test"));
    print!("skipped: {line}");
    if let Some(list) = std::env::var_os("FACTZ_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
        std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
    }
}

/// Whether these programs are there; otherwise the test is skipped.
pub fn has(programs: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let missing: Vec<_> = programs.iter().filter(|name| !is_there(name)).copied().collect();
    if !missing.is_empty() {
        skip(&format!("no {}", missing.join(", ")));
    }
    missing.is_empty()
}

/// Ends a test as skipped where one of these programs is missing.
macro_rules! needs {
    ($($program:literal),+) => {
        if !$crate::support::has(&[$($program),+]) {
            return;
        }
    };
}

/// Runs the rest of a test of this name in a process of its own.
macro_rules! runs_alone {
    ($test:literal) => {
        if !$crate::support::alone(module_path!(), $test) {
            return;
        }
    };
}

/// Runs a program that must exist and succeed.
pub fn run(command: &mut Command) -> Output {
    let out = output(command);
    assert!(out.status.success(), "{command:?} ended with {}\n{}", out.status, both(&out));
    out
}

/// Runs a program that must exist.
pub fn output(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| {
        let name = command.get_program().to_string_lossy().into_owned();
        panic!("cannot run {name} ({e}): `make packages` installs what the tests need")
    })
}

/// Whether this process is the child; otherwise the outcome of the child that ran the test alone. For what
/// belongs to a whole process: subscribers, hooks, callbacks, environment variables.
pub fn child(module: &str, test: &str) -> Option<Output> {
    const CHILD: &str = "FACTZ_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return None;
    }
    let (_, module) = module.split_once("::").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([&format!("{module}::{test}"), "--exact", "--nocapture"]).env(CHILD, "1");
    Some(output(&mut command))
}

/// As [`child`], which must pass; false in the process that is not the child.
pub fn alone(module: &str, test: &str) -> bool {
    let Some(out) = child(module, test) else { return true };
    assert!(out.status.success() && both(&out).contains("1 passed"), "{}", both(&out));
    false
}

/// Standard output and error, as text.
pub fn both(out: &Output) -> String {
    (String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr)).into_owned()
}

/// How a program gets the library: what the compiler is told last.
#[derive(Clone)]
pub struct Linking {
    pub name: &'static str,
    folder: PathBuf,
    pub arguments: Vec<OsString>,
}

impl Linking {
    /// Compiles sources into a program in the folder.
    pub fn compile(&self, compiler: &str, options: &[&str], sources: &[&Path]) -> PathBuf {
        let program = self.folder.join(self.name);
        run(Command::new(compiler)
            .args(options)
            .arg("-I")
            .arg(root().join("include"))
            .args(sources.iter().map(|source| root().join(source)))
            .args(&self.arguments)
            .arg("-o")
            .arg(&program)
            .current_dir(&self.folder));
        program
    }
    /// valgrind cannot follow the allocator of a program without shared libraries.
    pub fn suits_valgrind(&self) -> bool {
        self.name != "without-shared-libraries"
    }
}

/// With the shared library, found by the SONAME in `folder` at run time, with the static one, and with
/// nothing but static ones.
pub fn linkings(folder: &Path) -> [Linking; 3] {
    let libraries = built_folder();
    let soname = folder.join("libfactz.so.0");
    if !soname.exists() {
        std::os::unix::fs::symlink(libraries.join("libfactz.so"), &soname).unwrap();
    }
    let joined = |prefix: &str, path: &Path| {
        let mut argument = OsString::from(prefix);
        argument.push(path);
        argument
    };
    let shared = [joined("-L", &libraries), "-lfactz".into(), "-lm".into(), joined("-Wl,-rpath,", folder)];
    let mut archive = vec![static_library().into_os_string()];
    archive.extend(["-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"].map(OsString::from));
    let alone = [&archive[..], &["-static".into()]].concat();
    [("shared", shared.into()), ("static", archive), ("without-shared-libraries", alone)]
        .map(|(name, arguments)| Linking { name, folder: folder.to_path_buf(), arguments })
}

/// The program says that everything holds, and the library prints nothing.
pub fn holds(program: &mut Command) {
    let out = run(program.env_remove("LD_LIBRARY_PATH"));
    assert!(both(&out).contains("everything holds"), "{program:?}: {}", both(&out));
    assert!(out.stderr.is_empty(), "{program:?}: {}", both(&out));
}

/// The program, compiler or build fails with this text, whose lines may be wrapped.
pub fn refuses(command: &mut Command, advice: &str) {
    let out = output(command);
    let text = both(&out).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(!out.status.success() && text.contains(advice), "{command:?}: {text}");
}

/// Runs a program under valgrind, which must find nothing, without suppressions.
pub fn valgrind(program: &Path) {
    run(Command::new("valgrind")
        .args(["--error-exitcode=9", "--default-suppressions=no", "--leak-check=full"])
        .arg("--errors-for-leak-kinds=definite,indirect,possible")
        .arg(program));
}

/// Python with NumPy.
pub fn python() -> Command {
    Command::new(std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into()))
}

/// Makes a golden file that is missing, where FACTZ_BLESS=1 says so. It stays as it is for ever.
pub fn bless_if_missing(path: &Path, make: impl FnOnce()) {
    if !path.exists() {
        let allowed = std::env::var_os("FACTZ_BLESS").is_some_and(|v| v == "1");
        assert!(allowed, "{} is missing: FACTZ_BLESS=1 makes it", path.display());
        make();
    }
}

/// Python of `make plugins-python`, if it has these modules; otherwise the test is skipped.
pub fn python_of_plugins(modules: &[&str]) -> Option<PathBuf> {
    let usual = root().join(".venv-plugins/bin/python");
    let python = std::env::var_os("FACTZ_PLUGINS_PYTHON").map_or(usual, PathBuf::from);
    python_with(python, modules, "plugins-python")
}

/// A Python, if it has modules, which a target of the Makefile installs.
pub fn python_with(python: PathBuf, modules: &[&str], target: &str) -> Option<PathBuf> {
    let found = Command::new(&python).args(["-c", &format!("import {}", modules.join(", "))]).output();
    if !found.is_ok_and(|out| out.status.success()) {
        skip(&format!("no Python with {}: `make {target}` installs them", modules.join(", ")));
        return None;
    }
    Some(python)
}

/// CMake's configuration of the plugins alone, with the libraries that were built together with this test.
pub fn configure_plugins(build: &Path) -> Command {
    let mut command = Command::new("cmake");
    command.arg("-S").arg(root().join("cmake")).arg("-B").arg(build);
    command.arg(format!("-DFACTZ_LIBRARY_DIR={}", built_folder().display()));
    command.args(["-DFACTZ_PROGRAM=OFF", "-DCMAKE_INSTALL_LIBDIR=lib"]);
    command
}

/// Builds and installs what was configured.
pub fn build_and_install(build: &Path) {
    for step in ["--build", "--install"] {
        run(Command::new("cmake").arg(step).arg(build));
    }
}

/// A program on several MPI ranks, in its own folder.
pub fn mpirun(program: &Path, ranks: usize) -> Command {
    let mut command = Command::new("mpirun");
    // More ranks than processors, by root in a container, where ranks may not read each other's memory; and
    // no waiting in busy loops.
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("OMPI_MCA_btl_vader_single_copy_mechanism", "none")
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .args(["-n", &ranks.to_string()])
        .arg(program)
        .current_dir(program.parent().unwrap());
    command
}
