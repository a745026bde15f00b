//! The floating-point modes of the host thread that enqueues work change nothing: a device has none, and the
//! host computes sizes and copies for the kernels' arguments, not sums of floating-point values.

use crate::device::pipeline::Pipeline;
use crate::device::Device;
use crate::expected::Case;
use crate::fields::synthetic;
use crate::matrix::CONFIGURATIONS;
use crate::support::fields::Field;
use crate::{ensure, Check};
use factz::{BoundKind, Request};
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

/// Rounding down, up and toward zero, subnormal results and operands that are zeros, and all of these: bits
/// to clear and to set.
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

/// Whether a mode is in force at all: a sum that rounds or flushes.
fn shows(mode: (u64, u64)) -> bool {
    let results = || {
        let [one, small, tiny, less] = [1.0f64, 1e-30, f64::MIN_POSITIVE, 1e-310].map(std::hint::black_box);
        [one + small, one - small, -one - small, -one + small, 0.5 * tiny, 1e10 * less].map(f64::to_bits)
    };
    results() != with_mode(mode, || std::hint::black_box(results()))
}

pub fn floating_point_modes(_: &Device) -> Check {
    let ordinary = synthetic(300, 200);
    // Subnormal values, of which all are zeros to a thread that flushes them.
    let tiny = Field::new(300, 200, |x, y| ordinary.vertex(ordinary.at(x, y)).map(|x| (x * 1e-40).into()));
    let mut cases = Vec::new();
    for (configuration, of) in
        CONFIGURATIONS.into_iter().zip([Case::of::<f32>, Case::of::<f64>].iter().cycle())
    {
        for (field, bound) in [(&ordinary, 1e-6), (&ordinary, 0.0), (&tiny, 1e-2), (&tiny, 0.0)] {
            cases.push(of(field, configuration, bound));
        }
    }
    for (name, mode) in MODES {
        ensure!(shows(mode), "{name}: the mode is not in force");
        for case in &cases {
            let what = |e| format!("{name}, {:?}: {e}", case.request.config());
            let bench = case.bench()?;
            let (compressed, decompressed) = with_mode(mode, || -> Check<_> {
                let request = Request::new(*case.request.config())?;
                let compressed = bench.compress(&request, &case.place, &case.image, case.capacity())?;
                Ok((compressed, bench.decompress(&request, &case.place, &case.stream)?))
            })
            .map_err(what)?;
            case.check_stream(compressed).and_then(|()| case.check_output(decompressed)).map_err(what)?;
        }
        for (field, bound) in [(&ordinary, 1e-3), (&tiny, 1e-43)] {
            compares_the_same(field, bound, mode).map_err(|e| format!("{name}, a comparison: {e}"))?;
        }
    }
    Ok(())
}

/// A field and its copy from a stream, compared in the ordinary mode and in another one.
fn compares_the_same(field: &Field<f32>, bound: f64, mode: (u64, u64)) -> Check {
    let pipeline = Pipeline::new(&Request::new(field.config(BoundKind::Relative, 1e-2))?)?;
    let [u, v] = &field.components;
    pipeline.write_input(u, v)?;
    pipeline.compress().and(pipeline.decompress())?;
    let compare = || pipeline.compare(bound).and_then(|()| pipeline.compared());
    let [ordinary, other] = [compare()?, with_mode(mode, compare)?].map(|c| format!("{c:?}"));
    ensure!(ordinary == other, "{ordinary}\n    and {other}");
    Ok(())
}
