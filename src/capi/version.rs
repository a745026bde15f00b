//! Versions of the library and of the stream format.

use super::arguments::{check_outputs, Output, Span};
use super::status::{factz_status, guard};
use crate::stream::header;
use std::ffi::c_char;

/// Version of the library that this header belongs to.
pub const FACTZ_VERSION_MAJOR: u32 = 0;
/// Version of the library that this header belongs to.
pub const FACTZ_VERSION_MINOR: u32 = 1;
/// Version of the library that this header belongs to.
pub const FACTZ_VERSION_PATCH: u32 = 0;

/// The version of the library at run time, such as "0.1.0". Static storage, never NULL. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn factz_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The version of the stream format that this library writes. Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn factz_format_version() -> u32 {
    header::VERSION as u32
}

/// The versions of the stream format that this library reads, on the host and on a device: `first` to `last`.
/// Host only, does not block. Thread-safe.
///
/// @param first  receives the earliest version; 0 where the call fails
/// @param last   receives the latest version; 0 where the call fails
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or both are the same)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_readable_formats(first: *mut u32, last: *mut u32) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave writable numbers.
        let outputs = unsafe { [Output::new("first", first, 0), Output::new("last", last, 0)] };
        let [earliest, latest] = outputs;
        let (mut earliest, mut latest) = (earliest?, latest?);
        check_outputs(&[&Span::of("first", first), &Span::of("last", last)], &[])?;
        earliest.set(header::VERSION as u32);
        latest.set(header::VERSION as u32);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_version_of_the_package() {
        let text = format!("{FACTZ_VERSION_MAJOR}.{FACTZ_VERSION_MINOR}.{FACTZ_VERSION_PATCH}");
        assert_eq!(text, env!("CARGO_PKG_VERSION"));
    }
}
