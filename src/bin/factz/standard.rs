//! Standard streams that are closed or cannot be written. Rust's runtime opens `/dev/null` in place of those that
//! were closed when the program began, so that what is written there would be lost without a word.

use crate::failure::{failure, Failure};
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A bit for each of the descriptors 0 and 1.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Runs before the runtime.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for descriptor in [0, 1] {
        // SAFETY: asks for the flags of a number, which need not be a descriptor.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << descriptor, Relaxed);
        }
    }
}

/// Refuses standard input (0) or output (1) if it was closed, with the advice to redirect it or what else.
pub fn refuse_closed(descriptor: u8, name: &str, advice: &str) -> Result<(), Failure> {
    match CLOSED.load(Relaxed) & 1 << descriptor {
        0 => Ok(()),
        _ => Err(failure!("{name}: is closed: redirect it {advice}")),
    }
}

/// Writes to standard error. If that fails, there is nobody to be told.
pub fn write_error(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}
