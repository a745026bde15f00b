//! Standard streams that were closed when the program began. Rust's runtime opens `/dev/null` in their place, so
//! that what is written there would be lost without a word.

use crate::failure::{failure, Failure};
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

/// Refuses standard input (0) or output (1) if it was closed.
pub fn refuse_closed(descriptor: u8, name: &str, redirection: &str) -> Result<(), Failure> {
    match CLOSED.load(Relaxed) & 1 << descriptor {
        0 => Ok(()),
        _ => Err(failure!("{name}: is closed: redirect it ({redirection}), or name a file")),
    }
}
