//! Status codes, the thread's last message, and the guard around every export.

use super::linking;
use crate::error::{Error, Result, Status};
use crate::runtime::log::event;
use crate::runtime::panics;
use std::any::Any;
use std::cell::RefCell;
use std::ffi::{c_char, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The outcome of a function: one of the `FACTZ_OK` and `FACTZ_ERROR_*` numbers. Numbers are never
/// reused or changed; later versions may add some.
pub type factz_status = i32;

/// Done (host functions) or enqueued (device functions).
pub const FACTZ_OK: factz_status = 0;
/// An argument is null, out of range, overlaps another one or contradicts it.
pub const FACTZ_ERROR_INVALID_ARGUMENT: factz_status = 1;
/// The configuration, or the text, words or info that it is made of, holds a value that no field can have.
pub const FACTZ_ERROR_INVALID_CONFIG: factz_status = 2;
/// An output buffer cannot hold the result. Nothing past its end was written; the required size is
/// in the report, in the count, or in the message.
pub const FACTZ_ERROR_BUFFER_TOO_SMALL: factz_status = 3;
/// The workspace is smaller than the size functions say.
pub const FACTZ_ERROR_WORKSPACE_TOO_SMALL: factz_status = 4;
/// The stream is truncated or damaged, or was not written by this library.
pub const FACTZ_ERROR_CORRUPT_STREAM: factz_status = 5;
/// The stream has a version of the format that this library does not read.
pub const FACTZ_ERROR_UNSUPPORTED_VERSION: factz_status = 6;
/// There is no usable CUDA device or driver, or the library was built without CUDA.
pub const FACTZ_ERROR_NO_DEVICE: factz_status = 7;
/// The CUDA driver reported an error; the message names it.
pub const FACTZ_ERROR_CUDA: factz_status = 8;
/// Memory (or threads) could not be had.
pub const FACTZ_ERROR_OUT_OF_MEMORY: factz_status = 9;
/// The option, or a field of a later version's configuration, is not available in this version.
pub const FACTZ_ERROR_UNSUPPORTED: factz_status = 10;
/// A defect in the library: please report it with the message.
pub const FACTZ_ERROR_INTERNAL: factz_status = 11;
/// The caller's function that reads a stream (`factz_read_callback`) failed; the message has its answer.
pub const FACTZ_ERROR_READ: factz_status = 12;

/// Every status with its C name and the sentence of `factz_status_string`.
const STATUSES: [(factz_status, Status, &CStr); 13] = [
    (FACTZ_OK, Status::Ok, c"success"),
    (FACTZ_ERROR_INVALID_ARGUMENT, Status::InvalidArgument, c"invalid argument"),
    (FACTZ_ERROR_INVALID_CONFIG, Status::InvalidConfig, c"invalid configuration"),
    (FACTZ_ERROR_BUFFER_TOO_SMALL, Status::BufferTooSmall, c"output buffer too small"),
    (FACTZ_ERROR_WORKSPACE_TOO_SMALL, Status::WorkspaceTooSmall, c"workspace too small"),
    (FACTZ_ERROR_CORRUPT_STREAM, Status::CorruptStream, c"corrupt stream"),
    (FACTZ_ERROR_UNSUPPORTED_VERSION, Status::UnsupportedVersion, c"unsupported format version"),
    (FACTZ_ERROR_NO_DEVICE, Status::NoDevice, c"no usable CUDA device"),
    (FACTZ_ERROR_CUDA, Status::Cuda, c"CUDA error"),
    (FACTZ_ERROR_OUT_OF_MEMORY, Status::OutOfMemory, c"out of memory"),
    (FACTZ_ERROR_UNSUPPORTED, Status::Unsupported, c"not available in this version"),
    (FACTZ_ERROR_INTERNAL, Status::Internal, c"internal error"),
    (FACTZ_ERROR_READ, Status::Read, c"stream not readable"),
];

// The C numbers are the numbers of the crate, in order and without gaps.
const _: () = {
    let mut k = 0;
    while k < STATUSES.len() {
        assert!(STATUSES[k].0 == k as i32 && STATUSES[k].1 as i32 == k as i32);
        k += 1;
    }
};

/// A short English name of a status, such as "corrupt stream"; "unknown status" for any other number. Static
/// storage, never NULL. Thread-safe; does not change the last error.
#[unsafe(no_mangle)]
pub extern "C" fn factz_status_string(status: factz_status) -> *const c_char {
    known(status).map_or(c"unknown status", |s| s.2).as_ptr()
}

fn known(status: factz_status) -> Option<&'static (factz_status, Status, &'static CStr)> {
    usize::try_from(status).ok().and_then(|k| STATUSES.get(k))
}

/// The status of the crate with a number of the interface.
pub fn with_number(status: factz_status) -> Option<Status> {
    known(status).map(|s| s.1)
}

/// What was wrong in the calling thread's latest call, with the argument's name and value; an empty
/// string when that call succeeded or there was none. Never NULL. The text belongs to the library and
/// stays valid until the thread calls another function that returns a `factz_status`. Every thread
/// has its own message.
#[unsafe(no_mangle)]
pub extern "C" fn factz_last_error() -> *const c_char {
    // The message is gone once the thread's locals are destroyed.
    let text = LAST_ERROR.try_with(|m| match m.try_borrow() {
        Ok(m) if !m.is_empty() => m.as_ptr().cast::<c_char>(),
        _ => c"".as_ptr(),
    });
    text.unwrap_or(c"".as_ptr())
}

thread_local! {
    /// The message with its terminating zero, or nothing at all.
    static LAST_ERROR: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

fn set_last_error(message: &str) {
    let _ = LAST_ERROR.try_with(|m| {
        if let Ok(mut m) = m.try_borrow_mut() {
            m.clear();
            if !message.is_empty() && m.try_reserve(message.len() + 1).is_ok() {
                m.extend(message.bytes().filter(|&b| b != 0));
                m.push(0);
            }
        }
    });
}

/// Runs an export: nothing unwinds out of it, nothing is printed, and the message is kept.
pub(super) fn guard(body: impl FnOnce() -> Result<()>) -> factz_status {
    linking::keep_thread_functions();
    panics::inside_export(|| caught(body))
}

fn caught(body: impl FnOnce() -> Result<()>) -> factz_status {
    let result = catch_unwind(AssertUnwindSafe(|| {
        set_last_error("");
        let result = body();
        if let Err(e) = &result {
            event!(ERROR: "{:?}: {}", e.status, e.message);
        }
        result
    }));
    match result {
        Ok(Ok(())) => FACTZ_OK,
        Ok(Err(Error { status, message, .. })) => {
            set_last_error(&message);
            status as factz_status
        }
        Err(payload) => {
            set_last_error(&format!("a defect in factz, please report it: {}", panic_text(payload.as_ref())));
            // A payload whose destructor panics would unwind into the caller.
            std::mem::forget(payload);
            FACTZ_ERROR_INTERNAL
        }
    }
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> String {
        // SAFETY: factz_last_error returns a terminated string that this thread owns.
        unsafe { CStr::from_ptr(factz_last_error()) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_with_its_message() {
        assert_eq!(guard(|| panic!("seven is {}", 7)), FACTZ_ERROR_INTERNAL);
        assert_eq!(last(), "a defect in factz, please report it: seven is 7");
        assert_eq!(guard(|| panic!("plain")), FACTZ_ERROR_INTERNAL);
        assert!(last().ends_with("plain"));
        assert_eq!(guard(|| std::panic::panic_any(7)), FACTZ_ERROR_INTERNAL);
        assert!(last().ends_with("a panic without a message"));
        let on_a_worker = || {
            let worker = std::thread::spawn(|| {
                panics::mark_library_thread();
                panic!("on a worker")
            });
            std::panic::resume_unwind(worker.join().unwrap_err())
        };
        assert_eq!(guard(on_a_worker), FACTZ_ERROR_INTERNAL);
        assert!(last().ends_with("on a worker"));
        assert_eq!(guard(|| Ok(())), FACTZ_OK);
        assert_eq!(last(), "");
    }

    /// Runs the test above in a process of its own and looks at what it prints.
    #[test]
    fn a_panic_is_not_printed() {
        let name = "capi::status::tests::a_panic_becomes_a_status_with_its_message";
        let out = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && text.contains("1 passed"), "{text}");
        assert!(!text.contains("panicked") && !text.contains("seven is"), "{text}");
    }

    #[test]
    fn a_message_with_a_zero_byte_stays_whole() {
        assert_eq!(guard(|| Err(Error::argument("a\0b"))), FACTZ_ERROR_INVALID_ARGUMENT);
        assert_eq!(last(), "ab");
    }
}
