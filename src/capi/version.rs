//! Versions of the library and of the stream format.

use crate::stage::container;
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

/// The newest version of the stream format that this library writes: the Lorenzo predictor does, the hierarchical
/// one writes version 2. On the host it reads that version and every earlier one, on a device what it writes alone.
/// Thread-safe.
#[unsafe(no_mangle)]
pub extern "C" fn factz_format_version() -> u32 {
    container::VERSION as u32
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
