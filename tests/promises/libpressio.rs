//! The compressor plugin of LibPressio: it keeps the guarantee, checks options, survives damage and runs in
//! threads, in a program that is built as its users build theirs.

use crate::support::{build_and_install, configure_plugins, fresh_folder, holds, root, run, skip};
use std::path::PathBuf;
use std::process::Command;

/// The prefix of LibPressio, which no usual package manager has: variable FACTZ_LIBPRESSIO names it.
fn prefix() -> Option<PathBuf> {
    let named = std::env::var_os("FACTZ_LIBPRESSIO").filter(|name| !name.is_empty());
    if named.is_none() {
        skip("no LibPressio: FACTZ_LIBPRESSIO names its prefix");
    }
    named.map(PathBuf::from)
}

#[test]
#[ignore = "make test-all"]
fn programs_compress_through_libpressio() {
    needs!("cmake", "g++", "valgrind");
    let Some(libpressio) = prefix() else { return };
    let folder = fresh_folder("libpressio");
    let [factz, build] = ["factz", "build"].map(|name| folder.join(name));
    let installing = folder.join("installing");
    run(configure_plugins(&installing)
        .arg(format!("-DCMAKE_INSTALL_PREFIX={}", factz.display()))
        .args(["-DFACTZ_HDF5=OFF", "-DFACTZ_ADIOS2=OFF"]));
    build_and_install(&installing);
    run(Command::new("cmake")
        .arg("-S")
        .arg(root().join("tests/plugins/libpressio"))
        .arg("-B")
        .arg(&build)
        .arg(format!("-DPLUGIN={}", root().join("plugins/libpressio").display()))
        .arg(format!("-DCMAKE_PREFIX_PATH={};{}", factz.display(), libpressio.display())));
    run(Command::new("cmake").arg("--build").arg(&build));
    let program = build.join("compressor");
    holds(&mut Command::new(&program));
    let checked = ["--quiet", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"];
    run(Command::new("valgrind").args(checked).arg(program));
}
