//! With the feature `cuda`: compiles the kernels into one fat binary that the library embeds. Always: names
//! the shared library for the dynamic linker (the number is that of the ABI).
//!
//! nvcc is looked for in NVCC, then below CUDA_HOME, CUDA_PATH, CUDA_ROOT and CUDAToolkit_ROOT, then in PATH,
//! /usr/local/cuda and virtual environments (the `nvidia-cuda-nvcc` wheel).
//! `FACTZ_CUDA_ARCHS=80,90` names the architectures, `all` stands for all that have code of their own.
//! Without it they are those of the GPUs of this machine, or 80 and 90 where there are none. Other GPUs run
//! the PTX of the lowest or, if they are newer than all, of the highest.
//! `FACTZ_CUDA_LINEINFO=1` adds line numbers for profilers, which make the library three times as large.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SOURCE: &str = "kernels/factz.cu";
/// What the assembler says of registers and shared memory, for the test cuda::occupancy.
const REPORT: &str = "ptxas.txt";
const VARIABLES: [&str; 4] = ["CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDAToolkit_ROOT"];
/// Flags of the kernels' arithmetic: IEEE 754, as on the host. No product is fused into a sum but where the
/// source says so, subnormal numbers stay what they are, quotients and roots are rounded to nearest.
/// tests/promises/kernel_modes.rs looks at the code that this makes.
const ARITHMETIC: [&str; 4] = ["-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true"];
/// One SASS per architecture with code of its own; the others run that of a lower minor version, or PTX.
const ALL_ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];
/// Architectures on a machine without a GPU.
const USUAL_ARCHITECTURES: [u32; 2] = [80, 90];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=kernels");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libfactz.so.0");
    }
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    for name in ["FACTZ_CUDA_ARCHS", "FACTZ_CUDA_LINEINFO", "NVCC", "NVCC_CCBIN"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    for name in VARIABLES {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let image = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo")).join("factz.fatbin");
    // Lints have a build of their own, which runs nothing.
    if env::var("RUSTC_WORKSPACE_WRAPPER").is_ok_and(|wrapper| wrapper.ends_with("clippy-driver")) {
        write_to_out_dir(&image, &[]);
        write_to_out_dir(&image.with_file_name(REPORT), &[]);
        return;
    }
    match find_nvcc() {
        Some(nvcc) => compile(&nvcc, &image),
        None => stop(
            "the CUDA kernels need nvcc, which was not found: install the CUDA toolkit 13, or set NVCC or CUDA_HOME; \
             `--no-default-features` (CMake: -DFACTZ_CUDA=OFF) builds factz without its CUDA functions",
        ),
    }
}

fn write_to_out_dir(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Ends the build with one line that says what to do.
fn stop(message: &str) -> ! {
    println!("cargo::error={message}");
    std::process::exit(1);
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
    let mut archs = architectures(nvcc);
    archs.sort_unstable();
    archs.dedup();
    let (Some(&lowest), Some(&highest)) = (archs.first(), archs.last()) else {
        stop("this nvcc knows none of the architectures: is it CUDA 13?")
    };
    // PTX of the lowest runs nearly everywhere. That of the highest has what newer GPUs can do besides:
    // kernels that begin before the previous one has ended.
    let mut virtual_archs = vec![lowest, highest];
    virtual_archs.dedup();
    let mut command = Command::new(nvcc);
    command
        .args(["-fatbin", "-std=c++17", "-O3", "-Ikernels"])
        .args(ARITHMETIC)
        .arg(if knows(nvcc, "--compress-mode") { "--compress-mode=size" } else { "-Xfatbin=--compress-all" })
        .arg(format!("--threads={}", env::var("NUM_JOBS").unwrap_or_else(|_| "1".into())))
        .args(archs.iter().map(|a| format!("-gencode=arch=compute_{a},code=sm_{a}")))
        .args(virtual_archs.iter().map(|a| format!("-gencode=arch=compute_{a},code=compute_{a}")))
        .arg(SOURCE);
    if env::var("FACTZ_CUDA_LINEINFO").as_deref() == Ok("1") {
        command.arg("-lineinfo");
    }
    let output = run(command.args(["-Xptxas", "-v", "-o"]).arg(image));
    write_to_out_dir(&image.with_file_name(REPORT), &output.stderr);
}

/// Numbers of the architectures to compile for.
fn architectures(nvcc: &Path) -> Vec<u32> {
    let known = run(Command::new(nvcc).arg("--list-gpu-code")).stdout;
    let known = String::from_utf8_lossy(&known).into_owned();
    let is_known = |a: &u32| known.lines().any(|line| line.trim() == format!("sm_{a}"));
    let wish = env::var("FACTZ_CUDA_ARCHS").unwrap_or_default();
    match wish.as_str() {
        "" => {
            let here: Vec<u32> = of_this_machine().into_iter().filter(is_known).collect();
            if here.is_empty() {
                USUAL_ARCHITECTURES.into_iter().filter(is_known).collect()
            } else {
                here
            }
        }
        "all" => ALL_ARCHITECTURES.into_iter().filter(is_known).collect(),
        list => list
            .split([',', ';'])
            .map(|a| {
                let message =
                    || stop(&format!("FACTZ_CUDA_ARCHS={list}: {a:?} is no number; give `all` or 80,90"));
                a.trim().parse().unwrap_or_else(|_| message())
            })
            .collect(),
    }
}

/// Compute capabilities of the GPUs here, as numbers like 90.
fn of_this_machine() -> Vec<u32> {
    let asked =
        Command::new("nvidia-smi").args(["--query-gpu=compute_cap", "--format=csv,noheader"]).output();
    let answer = asked.ok().filter(|o| o.status.success()).map(|o| o.stdout).unwrap_or_default();
    String::from_utf8_lossy(&answer).lines().filter_map(|l| l.trim().replace('.', "").parse().ok()).collect()
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
        "{command:?} failed (`--no-default-features` builds without CUDA):\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
