//! Compiles the kernels into one fat binary that the library embeds, and names the shared library for
//! the dynamic linker (the number is that of the ABI).
//!
//! `FACTZ_CUDA=auto` (default) builds a CPU-only library with a warning where no nvcc is found,
//! `required` fails there, `off` does not look. `FACTZ_CUDA_ARCHS=80,90` limits the architectures.
//! `FACTZ_CUDA_LINEINFO=1` adds line numbers for profilers, which make the library three times as large.
//! What nvcc made is kept in the target directory under a hash of all that it depends on, since each profile has
//! a build of its own. nvcc is looked for in NVCC, then below CUDA_HOME, CUDA_PATH, CUDA_ROOT and CUDAToolkit_ROOT, then in
//! PATH, /usr/local/cuda and virtual environments (the `nvidia-cuda-nvcc` wheel).

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SOURCE: &str = "kernels/factz.cu";
const VARIABLES: [&str; 4] = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDAToolkit_ROOT"];
/// Flags of the kernels' arithmetic: IEEE 754, as on the host. No product is fused into a sum but where the
/// source says so, subnormal numbers stay what they are, quotients and roots are rounded to nearest.
/// tests/kernel_modes.rs looks at the code that this makes.
const ARITHMETIC: [&str; 4] = ["-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"];
/// One SASS per architecture with code of its own; the others run that of a lower minor version, or the
/// PTX of the lowest.
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=kernels");
    for name in
        ["FACTZ_CUDA", "FACTZ_CUDA_ARCHS", "FACTZ_CUDA_LINEINFO", "NVCC", "NVCC_CCBIN", "PATH", "VIRTUAL_ENV"]
    {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for name in VARIABLES {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libfactz.so.0");
    }
    // An empty file stands for a library without kernels.
    let image = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("factz.fatbin");
    fs::write(&image, []).expect("cannot write to OUT_DIR");
    let wish = env::var("FACTZ_CUDA").unwrap_or_else(|_| "auto".into());
    let required = match wish.as_str() {
        "off" => return,
        "auto" => false,
        "required" => true,
        _ => panic!("FACTZ_CUDA={wish}: must be auto, required or off"),
    };
    match find_nvcc() {
        Some(nvcc) => compile(&nvcc, &image),
        None if required => panic!("FACTZ_CUDA=required but no nvcc was found: set NVCC or CUDA_HOME"),
        None => println!(
            "cargo::warning=no nvcc was found (set NVCC or CUDA_HOME): factz is built without its CUDA functions"
        ),
    }
}

fn find_nvcc() -> Option<PathBuf> {
    if let Some(path) = env::var_os("NVCC").filter(|p| !p.is_empty()) {
        let path = PathBuf::from(path);
        assert!(runs(&path), "NVCC={}: does not run", path.display());
        return Some(path);
    }
    let mut candidates: Vec<PathBuf> =
        VARIABLES.iter().filter_map(env::var_os).map(|root| Path::new(&root).join("bin/nvcc")).collect();
    candidates.push("nvcc".into());
    candidates.push("/usr/local/cuda/bin/nvcc".into());
    let crate_root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let environments =
        env::var_os("VIRTUAL_ENV").map(PathBuf::from).into_iter().chain([crate_root.join(".venv")]);
    for environment in environments {
        for python in fs::read_dir(environment.join("lib")).into_iter().flatten().flatten() {
            candidates.push(python.path().join("site-packages/nvidia/cu13/bin/nvcc"));
        }
    }
    candidates.into_iter().find(|c| runs(c))
}

fn runs(nvcc: &Path) -> bool {
    Command::new(nvcc).arg("--version").output().is_ok_and(|o| o.status.success())
}

fn compile(nvcc: &Path, image: &Path) {
    // For the tests of what it makes.
    println!("cargo::rustc-env=FACTZ_TEST_NVCC={}", nvcc.display());
    println!("cargo::rustc-env=FACTZ_TEST_ARITHMETIC={}", ARITHMETIC.join(" "));
    let mut archs: Vec<u32> = match env::var("FACTZ_CUDA_ARCHS") {
        Ok(list) => list
            .split([',', ';'])
            .map(|a| {
                a.trim().parse().unwrap_or_else(|_| panic!("FACTZ_CUDA_ARCHS={list}: {a:?} is no number"))
            })
            .collect(),
        Err(_) => {
            let known = run(Command::new(nvcc).arg("--list-gpu-code")).stdout;
            let known = String::from_utf8_lossy(&known).into_owned();
            ARCHITECTURES
                .into_iter()
                .filter(|a| known.lines().any(|l| l.trim() == format!("sm_{a}")))
                .collect()
        }
    };
    archs.sort_unstable();
    let lowest = *archs.first().expect("nvcc knows none of the architectures");
    let mut command = Command::new(nvcc);
    command
        .args(["-fatbin", "-std=c++17", "-O3", "-Ikernels"])
        .args(ARITHMETIC)
        .arg(if knows(nvcc, "--compress-mode") { "--compress-mode=size" } else { "-Xfatbin=--compress-all" })
        .arg(format!("--threads={}", env::var("NUM_JOBS").unwrap_or_else(|_| "1".into())))
        .args(archs.iter().map(|a| format!("-gencode=arch=compute_{a},code=sm_{a}")))
        .arg(format!("-gencode=arch=compute_{lowest},code=compute_{lowest}"))
        .arg(SOURCE);
    if env::var("FACTZ_CUDA_LINEINFO").as_deref() == Ok("1") {
        command.arg("-lineinfo");
    }
    let mut key = DefaultHasher::new();
    format!("{command:?}").hash(&mut key);
    run(Command::new(nvcc).arg("--version")).stdout.hash(&mut key);
    hash_sources(Path::new("kernels"), &mut key);
    // TARGET/PROFILE/build/PACKAGE/out/factz.fatbin
    let kept = image.ancestors().nth(5).expect("a target directory").join("factz-kernels");
    let kept = kept.join(format!("{:016x}.fatbin", key.finish()));
    if fs::copy(&kept, image).is_ok() {
        return;
    }
    run(command.arg("-o").arg(image));
    // Builds of other profiles may be doing the same: the file appears whole or not at all. Without it the next
    // build only takes longer.
    let part = kept.with_extension(std::process::id().to_string());
    let _ = fs::create_dir_all(kept.parent().expect("a folder"))
        .and_then(|()| fs::copy(image, &part))
        .and_then(|_| fs::rename(&part, &kept));
}

/// Names and contents of all files below a folder.
fn hash_sources(folder: &Path, key: &mut DefaultHasher) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("a readable folder").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            hash_sources(&path, key);
        } else {
            path.hash(key);
            fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).hash(key);
        }
    }
}

/// Whether nvcc has an option of its later versions.
fn knows(nvcc: &Path, option: &str) -> bool {
    let help = run(Command::new(nvcc).arg("--help")).stdout;
    String::from_utf8_lossy(&help).contains(option)
}

/// Runs a command to its end, or stops the build with what it wrote.
fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?} failed (FACTZ_CUDA=off builds without CUDA):\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
