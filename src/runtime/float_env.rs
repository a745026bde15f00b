//! The floating-point environment: round to nearest, gradual underflow, no traps.
//!
//! The codec promises the same bits everywhere, and its bound and signs hold only in that environment. A
//! caller may have another one: programs linked with `-Ofast` or by some vendors' compilers flush subnormal
//! numbers to zero, interval libraries change the direction of rounding, debug builds trap. Every entry of
//! the library sets the default environment on its thread and restores the caller's.

use std::cell::Cell;
use std::hint::black_box;

#[cfg(target_arch = "x86_64")]
mod control {
    use std::arch::asm;

    /// MXCSR: controls and exception flags of the SSE unit, which does all arithmetic of this library.
    pub type Control = u32;
    /// All exceptions masked, no flags, round to nearest, no flush-to-zero, no denormals-are-zero.
    pub const DEFAULT: Control = 0x1f80;

    #[inline(always)]
    pub fn get() -> Control {
        let mut control: Control = 0;
        // SAFETY: stores MXCSR to a variable of this frame.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags)) };
        control
    }

    #[inline(always)]
    pub fn set(control: Control) {
        // SAFETY: the value is a valid MXCSR: the default, or what `get` returned.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, preserves_flags)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod control {
    use std::arch::asm;

    /// FPCR, and FPSR with the exception flags.
    pub type Control = (u64, u64);
    /// Round to nearest, no flush-to-zero, no default NaN, no traps, no flags.
    pub const DEFAULT: Control = (0, 0);

    #[inline(always)]
    pub fn get() -> Control {
        let (control, status): (u64, u64);
        // SAFETY: reads two registers of this thread.
        unsafe { asm!("mrs {}, fpcr", "mrs {}, fpsr", out(reg) control, out(reg) status, options(nostack)) };
        (control, status)
    }

    #[inline(always)]
    pub fn set((control, status): Control) {
        // SAFETY: the values are the default, or what `get` returned.
        unsafe { asm!("msr fpcr, {}", "msr fpsr, {}", in(reg) control, in(reg) status, options(nostack)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "factz has to control the floating-point environment: add this architecture to src/runtime/float_env.rs"
);

use control::{Control, DEFAULT};

thread_local! {
    /// The environment of the caller, while this thread is inside the library.
    static CALLER: Cell<Option<Control>> = const { Cell::new(None) };
}

/// Runs `work` in the default environment and restores the caller's, whatever happens.
pub fn with_default<R>(work: impl FnOnce() -> R) -> R {
    let _restore = Entered::new(control::get(), DEFAULT, true);
    run(work)
}

/// Runs a function of the caller (a callback) in the caller's environment.
pub fn with_callers<R>(work: impl FnOnce() -> R) -> R {
    match CALLER.try_with(Cell::get).ok().flatten() {
        Some(callers) => {
            let _restore = Entered::new(DEFAULT, callers, false);
            run(work)
        }
        None => work(),
    }
}

/// Sets the default environment for the rest of a thread of this library.
pub fn set_default() {
    control::set(DEFAULT);
}

/// Arithmetic must not move across a change of the environment, of which the compiler knows nothing: it stays
/// inside a function that is called through a pointer that the compiler cannot see.
fn run<R, F: FnOnce() -> R>(work: F) -> R {
    #[inline(never)]
    fn call<R, F: FnOnce() -> R>(work: F) -> R {
        work()
    }
    black_box(call::<R, F> as fn(F) -> R)(work)
}

/// An environment that is in force until the end of the scope.
struct Entered {
    after: Control,
    caller: Option<Control>,
}

impl Entered {
    /// `outward` enters the library from outside, unless the thread is inside already.
    fn new(before: Control, now: Control, outward: bool) -> Self {
        let caller = CALLER.try_with(Cell::get).ok().flatten();
        if outward && caller.is_none() {
            let _ = CALLER.try_with(|c| c.set(Some(before)));
        } else if !outward {
            let _ = CALLER.try_with(|c| c.set(None));
        }
        control::set(now);
        Entered { after: before, caller }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        control::set(self.after);
        let _ = CALLER.try_with(|c| c.set(self.caller));
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    const FLUSH_TO_ZERO: Control = 1 << 15;
    const DENORMALS_ARE_ZERO: Control = 1 << 6;
    const ROUND_DOWN: Control = 1 << 13;
    const ROUND_UP: Control = 2 << 13;

    /// Without the exception flags, which tests of other things raise.
    fn modes() -> Control {
        control::get() & !0x3f
    }

    fn tiny() -> f32 {
        black_box(1e-38f32) * black_box(0.1f32)
    }

    #[test]
    fn the_default_is_in_force_inside_and_the_callers_outside() {
        for modes_outside in [FLUSH_TO_ZERO | DENORMALS_ARE_ZERO, ROUND_DOWN, ROUND_UP, 3 << 13] {
            let callers = DEFAULT | modes_outside;
            control::set(callers);
            let inside = with_default(|| {
                let callback = with_callers(|| {
                    let modes_there = modes();
                    // A callback may enter the library again.
                    (modes_there, with_default(modes), modes())
                });
                (modes(), tiny(), callback, with_default(modes), modes())
            });
            let outside = modes();
            control::set(DEFAULT);
            assert_eq!(inside, (DEFAULT, 1e-39, (callers, DEFAULT, callers), DEFAULT, DEFAULT));
            assert_eq!(outside, callers);
            assert_eq!(with_callers(modes), DEFAULT, "outside of the library");
        }
    }

    #[test]
    fn a_panic_restores_the_callers_environment() {
        control::set(DEFAULT | ROUND_UP);
        let caught = std::panic::catch_unwind(|| with_default(|| std::panic::resume_unwind(Box::new(7))));
        let outside = modes();
        control::set(DEFAULT);
        assert!(caught.is_err());
        assert_eq!(outside, DEFAULT | ROUND_UP);
        assert!(CALLER.with(Cell::get).is_none());
    }
}
