//! Recipes of packages (packaging/): they name settings that there are and the version of the crate;
//! rattler-build renders the recipe of conda, and Spack reads its own.

use crate::support::{both, fresh_folder, python_of_plugins, root, run};
use std::collections::BTreeSet;
use std::process::Command;

/// Words that begin with FACTZ_, also behind the -D of a command line.
fn settings_in(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c| !is_part(c));
    words
        .map(|word| word.strip_prefix('D').unwrap_or(word))
        .filter(|word| word.starts_with("FACTZ_"))
        .collect()
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

const SPACK: &str = "packaging/spack/packages/factz/package.py";
const CONDA: &str = "packaging/conda/recipe.yaml";

#[test]
fn recipes_set_what_there_is_to_set() {
    let known = [
        "cmake/CMakeLists.txt",
        "cmake/toolchains.cmake",
        "plugins/adios2/CMakeLists.txt",
        "plugins/hdf5/CMakeLists.txt",
        "plugins/python/CMakeLists.txt",
        "plugins/python/setup.py",
    ]
    .map(read)
    .concat();
    let known = settings_in(&known);
    for recipe in [SPACK, CONDA] {
        let text = read(recipe);
        let named = settings_in(&text);
        assert!(named.len() >= 4, "{recipe}: {named:?}");
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{recipe} sets {unknown:?}, which nothing reads");
    }
}

#[test]
fn recipes_have_the_version_and_the_license_of_the_crate() {
    let conda = read(CONDA);
    assert!(conda.contains(&format!("\n  version: \"{}\"\n", env!("CARGO_PKG_VERSION"))), "{conda}");
    let license = env!("CARGO_PKG_LICENSE");
    assert_eq!(conda.matches(&format!("license: {license}\n")).count(), 2);
    let spack = read(SPACK);
    assert!(spack.contains(&format!("license(\"{license}\")")), "{spack}");
    // rust-version of the crate.
    assert!(spack.contains(&format!("rust@{}:", env!("CARGO_PKG_RUST_VERSION"))), "{spack}");
}

/// Prints the packages of each variant, and what they are built with.
const RENDER: &str = r#"
import sys
from rattler_build import Stage0Recipe, VariantConfig
folder = sys.argv[1]
recipe = Stage0Recipe.from_file(folder + "/recipe.yaml")
usual = VariantConfig.from_file(folder + "/variants.yaml")
for variant in (usual, VariantConfig({"cuda_compiler_version": ["13.0"]})):
    for rendered in recipe.render(variant):
        package, requirements = rendered.recipe.package, rendered.recipe.to_dict()["requirements"]
        print(package.name, package.version, *requirements.get("build", []), sep=" | ")
"#;

#[test]
#[ignore = "make test-all"]
fn the_recipe_of_conda_is_rendered() {
    let Some(python) = python_of_plugins(&["rattler_build"]) else { return };
    let said = both(&run(Command::new(python).args(["-c", RENDER]).arg(root().join("packaging/conda"))));
    let lines: Vec<_> = said.lines().collect();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(lines.len(), 4, "{said}");
    for (name, line) in ["libfactz", "factz", "libfactz", "factz"].iter().zip(&lines) {
        assert!(line.starts_with(&format!("{name} | {version}")), "{said}");
    }
    assert!(lines[0].contains("rust") && !lines[0].contains("cuda") && lines[2].contains("cuda"), "{said}");
}

#[test]
#[ignore = "make test-all"]
fn spack_reads_its_recipe() {
    needs!("spack");
    let folder = fresh_folder("spack");
    let repository = root().join("packaging/spack");
    std::fs::write(folder.join("repos.yaml"), format!("repos:\n- {}\n", repository.display())).unwrap();
    let spack = |arguments: &[&str]| {
        let mut command = Command::new("spack");
        command.arg("-C").arg(&folder).args(arguments);
        command.env("SPACK_USER_CACHE_PATH", folder.join("cache"));
        both(&run(&mut command))
    };
    let said = spack(&["info", "factz"]);
    let address = format!("file://{}", root().canonicalize().unwrap().display());
    for part in ["adios2 [false]", "hdf5 [true]", "cuda_arch", "rust", &address] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
