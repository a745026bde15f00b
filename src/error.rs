//! The status codes of the C API and the error type that carries one through the crate.

use std::borrow::Cow;
use std::fmt;

/// Answers of a call. The numbers are part of the ABI: they are never reused or changed.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Done (host functions) or enqueued (device functions).
    Ok = 0,
    /// An argument is null, out of range, or contradicts another one.
    InvalidArgument = 1,
    /// The configuration holds a value that no field can have.
    InvalidConfig = 2,
    /// The output buffer cannot hold the result; the report says how much it takes.
    BufferTooSmall = 3,
    /// The workspace is smaller than the size function says.
    WorkspaceTooSmall = 4,
    /// The stream is truncated, damaged or was not written by this library.
    CorruptStream = 5,
    /// The stream has a version of the format that this library does not read.
    UnsupportedVersion = 6,
    /// There is no usable CUDA device or driver, or the library was built without CUDA.
    NoDevice = 7,
    /// The CUDA driver reported an error.
    Cuda = 8,
    /// Memory could not be allocated.
    OutOfMemory = 9,
    /// The combination of options is not available in this version.
    Unsupported = 10,
    /// A defect in the library: please report it.
    Internal = 11,
    /// A function of the caller that reads a stream failed.
    Read = 12,
}

/// A status with a sentence that names the argument and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: Status,
    pub message: Cow<'static, str>,
    /// Where a reconstruction leaves the bound, if that is the error.
    pub outside: Option<Outside>,
}

/// The vertices at which a reconstruction is not within its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outside {
    pub vertices: u64,
    /// The number of the first of them, plane by plane and row by row.
    pub first: u64,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(status: Status, message: impl Into<Cow<'static, str>>) -> Self {
        Error { status, message: message.into(), outside: None }
    }
    pub fn argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Status::InvalidArgument, message)
    }
    pub fn config(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Status::InvalidConfig, message)
    }
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Status::CorruptStream, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
