//! The log callback: the crate's events, for a C function.

use super::status::{factz_status, guard};
use crate::runtime::log::{self, Sink};
use std::ffi::{c_char, c_int, c_void};

/// Level of an event: a call failed.
pub const FACTZ_LOG_ERROR: i32 = 1;
/// Level of an event: something is likely not as intended.
pub const FACTZ_LOG_WARN: i32 = 2;
/// Level of an event: worth knowing in normal operation.
pub const FACTZ_LOG_INFO: i32 = 3;
/// Level of an event: what a call did.
pub const FACTZ_LOG_DEBUG: i32 = 4;
/// Level of an event: every step.
pub const FACTZ_LOG_TRACE: i32 = 5;

#[cfg(test)]
#[test]
fn levels_have_the_numbers_of_the_header() {
    use tracing::Level;
    let levels = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];
    let numbers = [FACTZ_LOG_ERROR, FACTZ_LOG_WARN, FACTZ_LOG_INFO, FACTZ_LOG_DEBUG, FACTZ_LOG_TRACE];
    assert_eq!(levels.map(log::number), numbers);
}

/// Receives an event of the library.
///
/// It may be called from any thread that is inside a factz function, from worker threads of the
/// library, and from several at once. It must return normally: no longjmp, no C++ exception. It must
/// not call factz functions other than `factz_status_string` and `factz_version`.
///
/// @param level    FACTZ_LOG_ERROR (1) to FACTZ_LOG_TRACE (5)
/// @param target   the part of the library, such as "factz"; valid during the call only
/// @param message  one line of text; valid during the call only
/// @param user     the pointer given to `factz_set_log_callback`
pub type factz_log_callback = Option<
    unsafe extern "C" fn(level: c_int, target: *const c_char, message: *const c_char, user: *mut c_void),
>;

/// Sets the function that receives the library's events, for the whole process; NULL, the initial state,
/// turns events off. While off, they cost next to nothing and their text is never made. A Rust program's
/// `tracing` subscriber, set before or after, receives the events as well.
///
/// Does not block. Thread-safe, but a call that runs meanwhile in another thread may still use the former
/// callback: keep `user` alive until such calls have returned.
///
/// @param callback  the function, or NULL
/// @param user      handed to the callback as it is; may be NULL; the library never looks into it
/// @return FACTZ_OK, or FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_set_log_callback(
    callback: factz_log_callback,
    user: *mut c_void,
) -> factz_status {
    guard(|| {
        log::set_sink(callback.map(|function| Sink { function, user: user as usize }));
        Ok(())
    })
}
