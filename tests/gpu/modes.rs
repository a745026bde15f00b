//! The floating-point modes of the host thread that enqueues work change nothing: a device has none, and what the host
//! computes for the kernels' arguments are sizes and copies, not sums of floating-point values.

use crate::device::pipeline::Pipeline;
use crate::device::Device;
use crate::expected::{check_images, check_reports, check_streams};
use crate::fields::{synthetic, Source};
use crate::matrix::CONFIGURATIONS;
use crate::scenarios::Case;
use crate::{text, Check, NOT_RUN};
use factz::{BoundKind, Config, Dtype, Request};
use std::arch::asm;

/// The control word of this thread with these bits changed while something runs.
#[cfg(target_arch = "x86_64")]
fn with_mode<R>((clear, set): (u64, u64), body: impl FnOnce() -> R) -> R {
    let mut before = 0u32;
    // SAFETY: writes the word of the thread's floating-point modes to a variable, and reads it from one.
    unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut before, options(nostack)) };
    let word = before & !(clear as u32) | set as u32;
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const word, options(nostack)) };
    let result = body();
    unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const before, options(nostack)) };
    result
}
#[cfg(target_arch = "aarch64")]
fn with_mode<R>((clear, set): (u64, u64), body: impl FnOnce() -> R) -> R {
    let before: u64;
    // SAFETY: reads and writes the register of the thread's floating-point modes.
    unsafe { asm!("mrs {}, fpcr", out(reg) before, options(nomem, nostack)) };
    unsafe { asm!("msr fpcr, {}", in(reg) before & !clear | set, options(nostack)) };
    let result = body();
    unsafe { asm!("msr fpcr, {}", in(reg) before, options(nostack)) };
    result
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn with_mode<R>(_: (u64, u64), body: impl FnOnce() -> R) -> R {
    body()
}

/// Rounding down, up and toward zero, subnormal results and operands that are zeros, and all of these: bits to clear and
/// to set.
#[cfg(target_arch = "x86_64")]
const MODES: [(&str, (u64, u64)); 6] = [
    ("down", (3 << 13, 1 << 13)),
    ("up", (3 << 13, 2 << 13)),
    ("toward zero", (0, 3 << 13)),
    ("flush to zero", (0, 1 << 15)),
    ("denormals are zero", (0, 1 << 6)),
    ("all", (0, 3 << 13 | 1 << 15 | 1 << 6)),
];
#[cfg(target_arch = "aarch64")]
const MODES: [(&str, (u64, u64)); 5] = [
    ("up", (3 << 22, 1 << 22)),
    ("down", (3 << 22, 2 << 22)),
    ("toward zero", (0, 3 << 22)),
    ("flush to zero", (0, 1 << 24)),
    ("all", (0, 3 << 22 | 1 << 24)),
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MODES: [(&str, (u64, u64)); 0] = [];

/// Whether a mode is in force at all: a sum that rounds or flushes.
fn shows(mode: (u64, u64)) -> bool {
    let results = || {
        let [one, small, tiny, less] = [1.0f64, 1e-30, f64::MIN_POSITIVE, 1e-310].map(std::hint::black_box);
        [one + small, one - small, -one - small, -one + small, 0.5 * tiny, 1e10 * less].map(f64::to_bits)
    };
    results() != with_mode(mode, || std::hint::black_box(results()))
}

pub fn floating_point_modes(_: &Device) -> Check {
    if MODES.is_empty() {
        return Err(format!("{NOT_RUN}the modes of this processor are not known here"));
    }
    let ordinary = synthetic(300, 200);
    let times = |factor: f32| Source {
        name: String::new(),
        u: ordinary.u.iter().map(|x| x * factor).collect(),
        v: ordinary.v.iter().map(|x| x * factor).collect(),
        ..ordinary
    };
    // Ordinary values, and subnormal ones, of which all are zeros to a thread that flushes them.
    let tiny = times(1e-40);
    let mut cases = Vec::new();
    for (k, configuration) in CONFIGURATIONS.into_iter().enumerate() {
        for (source, bound) in [(&ordinary, 1e-6), (&ordinary, 0.0), (&tiny, 1e-2), (&tiny, 0.0)] {
            cases.push(match k % 2 {
                0 => Case::of::<f32>(source, Dtype::F32, configuration, bound),
                _ => Case::of::<f64>(source, Dtype::F64, configuration, bound),
            });
        }
    }
    for (name, mode) in MODES {
        if !shows(mode) {
            return Err(format!("{name}: the mode is not in force"));
        }
        for case in &cases {
            let bytes = case.request.config().dtype.bytes() as usize;
            let bench = case.bench()?;
            let answers = with_mode(mode, || -> Result<_, String> {
                let request = Request::new(*case.request.config()).map_err(text)?;
                let compressed = bench.compress(&request, &case.place, &case.image, case.capacity())?;
                Ok((compressed, bench.decompress(&request, &case.place, &case.stream)?))
            });
            let ((report, stream), (output_report, image)) =
                answers.map_err(|e| format!("{name}, {:?}: {e}", case.request.config()))?;
            let check = || -> Check {
                check_streams(&stream, &case.stream)?;
                check_reports(&report, &case.report)?;
                check_reports(&output_report, &case.output_report)?;
                check_images(&image, &case.output, &case.place, bytes)
            };
            check().map_err(|e| format!("{name}, {:?}: {e}", case.request.config()))?;
        }
        compares_the_same(&ordinary, 1e-3, mode).map_err(|e| format!("{name}, a comparison: {e}"))?;
        compares_the_same(&tiny, 1e-43, mode).map_err(|e| format!("{name}, a comparison: {e}"))?;
    }
    Ok(())
}

/// A field and its copy from a stream, compared in the ordinary mode and in another one.
fn compares_the_same(source: &Source, bound: f64, mode: (u64, u64)) -> Check {
    let config = Config::new(source.nx, source.ny, BoundKind::Relative, 1e-2);
    let pipeline = Pipeline::new(&Request::new(config).map_err(text)?).map_err(text)?;
    pipeline.write_input::<f32>(&source.u, &source.v).map_err(text)?;
    pipeline.compress().and(pipeline.decompress()).map_err(text)?;
    let compare = || pipeline.compare(bound).and_then(|()| pipeline.compared()).map_err(text);
    let (ordinary, other) = (compare()?, with_mode(mode, compare)?);
    let numbers = |c: &factz::Comparison| format!("{c:?}");
    match numbers(&ordinary) == numbers(&other) {
        true => Ok(()),
        false => Err(format!("{ordinary:?}\n    and {other:?}")),
    }
}
