//! Calls of the C interface and what they are expected to answer.

use factz::capi::config::*;
use factz::capi::status::*;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::mem::MaybeUninit;

pub fn text(pointer: *const c_char) -> String {
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_owned()
}

pub fn last_error() -> String {
    text(factz_last_error())
}

#[track_caller]
pub fn expect(status: factz_status, expected: factz_status, part: &str) {
    assert_eq!(status, expected, "{}", last_error());
    assert!(last_error().contains(part), "`{}` lacks `{part}`", last_error());
}

#[track_caller]
pub fn ok(status: factz_status) {
    expect(status, FACTZ_OK, "");
    assert_eq!(last_error(), "");
}

/// The default configuration of a field of 40 x 30 vertices.
pub fn config() -> factz_config {
    config_of(40, 30, FACTZ_BOUND_ABSOLUTE, 1e-2)
}

pub fn config_of(nx: usize, ny: usize, kind: i32, bound: f64) -> factz_config {
    let mut c = MaybeUninit::uninit();
    ok(unsafe { factz_config_init(c.as_mut_ptr(), nx as u64, ny as u64, kind, bound) });
    // SAFETY: a call that succeeds has written it.
    unsafe { c.assume_init() }
}

/// The stream that the reader of the C tests reads.
pub struct File {
    pub stream: Vec<u8>,
    pub reads: usize,
    /// The call that fails; 0 is none.
    pub fails_at: usize,
}

/// A `factz_read_callback` for a [`File`].
///
/// # Safety
/// `user` is a [`File`], and `to` has room for the bytes.
pub unsafe extern "C" fn read_file(user: *mut c_void, offset: u64, bytes: u64, to: *mut c_void) -> c_int {
    let file = unsafe { &mut *user.cast::<File>() };
    file.reads += 1;
    if file.reads == file.fails_at {
        return 5;
    }
    let from = &file.stream[offset as usize..][..bytes as usize];
    unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to.cast::<u8>(), from.len()) };
    0
}
