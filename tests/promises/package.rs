//! The crate that `cargo publish` would upload: nothing superfluous, metadata complete, and it builds from its
//! own files.

use crate::support::{both, fresh_folder, root, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// First folders and files of the crate.
const ALLOWED: &str = "
    .cargo_vcs_info.json CHANGELOG.md CITATION.cff CONTRIBUTING.md Cargo.lock Cargo.toml Cargo.toml.orig FORMAT.md
    LICENSE-APACHE LICENSE-MIT README.md build.rs data/README.md data/wind_global/ docs/ include/ kernels/
    plugins/hdf5/chunk.h plugins/hdf5/filter_id.h src/";

/// Endings of its files.
const ENDINGS: [&str; 15] =
    ["cff", "cu", "cuh", "f32", "f90", "h", "hpp", "json", "lock", "md", "orig", "png", "py", "rs", "toml"];

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    // The crates are there: this test was built from them.
    command.arg("--offline").args(arguments).current_dir(root());
    command
}

/// Makes the crate; gives its file.
fn packaged(folder: &Path) -> (PathBuf, String) {
    let said = run(cargo(&["package", "--no-verify", "--allow-dirty", "--target-dir"]).arg(folder));
    let file = folder.join("package").join(format!("factz-{}.crate", env!("CARGO_PKG_VERSION")));
    (file, both(&said))
}

#[test]
fn the_crate_holds_what_its_users_need_and_no_more() {
    let listed = run(&mut cargo(&["package", "--list", "--allow-dirty"]));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let allowed: Vec<_> = ALLOWED.split_whitespace().collect();
    for name in listed.lines() {
        let is_allowed = allowed.iter().any(|a| name == *a || a.ends_with('/') && name.starts_with(a));
        assert!(is_allowed, "{name}: is it for users of the crate? Then it belongs into this list");
        let path = Path::new(name);
        let ending = path.extension().and_then(|e| e.to_str());
        let known = ending.is_none_or(|e| ENDINGS.contains(&e));
        assert!(known, "{name} is of an unusual kind");
        let bytes = std::fs::metadata(root().join(path)).map_or(0, |data| data.len());
        assert!(bytes < 300_000, "{name} has {bytes} bytes");
    }
    for needed in
        ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs", "kernels/factz.cu", "include/factz.h"]
    {
        assert!(listed.lines().any(|name| name == needed), "{needed} is missing");
    }
}

/// cargo warns of metadata that is missing; what it says of tests is intended.
#[test]
fn the_crate_is_small_and_its_metadata_complete() {
    let (file, said) = packaged(&fresh_folder("package"));
    let bytes = std::fs::metadata(file).unwrap().len();
    assert!((500_000..10_000_000).contains(&bytes), "the crate has {bytes} bytes");
    for warning in said.lines().filter(|line| line.starts_with("warning:")) {
        assert!(warning.ends_with("is not included in the published package"), "{said}");
    }
    let metadata = run(&mut cargo(&["metadata", "--no-deps", "--format-version=1"]));
    let metadata: serde_json::Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let package = &metadata["packages"][0];
    for key in ["description", "license", "readme", "documentation", "rust_version"] {
        assert!(package[key].as_str().is_some_and(|text| !text.is_empty()), "{key} is missing");
    }
    for key in ["keywords", "categories"] {
        let words = package[key].as_array().unwrap();
        assert!((1..=5).contains(&words.len()), "{key}: crates.io takes 1 to 5");
    }
}

/// In a folder of its own, where nothing else of the sources is: without the kernels, and with the program.
#[test]
#[ignore = "make test-all"]
fn the_crate_builds_from_its_own_files() {
    needs!("tar");
    let folder = fresh_folder("package-alone");
    let (file, _) = packaged(&folder);
    run(Command::new("tar").arg("xzf").arg(file).arg("-C").arg(&folder));
    let sources = folder.join(format!("factz-{}", env!("CARGO_PKG_VERSION")));
    let mut check =
        cargo(&["check", "--locked", "--no-default-features", "--features", "cli", "--target-dir"]);
    run(check.arg(folder.join("target")).current_dir(sources));
}
