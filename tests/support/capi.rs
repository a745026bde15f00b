//! Calls of the C interface and what they are expected to answer.

use factz::capi::status::*;
use std::ffi::{c_char, CStr};

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
