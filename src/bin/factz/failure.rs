//! How a command ends when it does not end well.

use std::fmt;

/// A sentence for the user: what is wrong, with the file or argument and its value, and what to do.
#[derive(Debug)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<factz::Error> for Failure {
    fn from(e: factz::Error) -> Self {
        Failure(e.message.into_owned())
    }
}

/// Makes a [`Failure`] from a format string.
macro_rules! failure {
    ($($part:tt)*) => { $crate::failure::Failure(format!($($part)*)) };
}
pub(crate) use failure;
