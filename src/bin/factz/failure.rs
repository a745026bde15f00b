//! How a command ends when it does not end well.

use factz::Status;
use std::fmt;
use std::path::Path;

/// A sentence for the user: what is wrong, with the file or argument and its value, and what to do.
#[derive(Debug)]
pub struct Failure {
    pub message: String,
    /// The library's, where it found the error.
    pub status: Option<Status>,
}

impl Failure {
    pub fn new(message: String) -> Self {
        Failure { message, status: None }
    }
    /// This failure with the name of the file in front.
    pub fn about(self, name: impl fmt::Display) -> Self {
        Failure { message: format!("{name}: {}", self.message), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Members of a configuration as the library's messages name them, and the options that set them.
const OPTIONS: [(&str, &str); 7] = [
    ("dtype = ", "--dtype "),
    ("bound = ", "the bound "),
    ("mode = ", "--mode "),
    ("predictor = ", "--predictor "),
    ("fill_value = ", "--fill-value "),
    ("dx = ", "--spacing: DX = "),
    ("dy = ", "--spacing: DY = "),
];

impl From<factz::Error> for Failure {
    fn from(e: factz::Error) -> Self {
        let mut message = e.message.into_owned();
        if matches!(e.status, Status::InvalidArgument | Status::InvalidConfig) {
            for (member, option) in OPTIONS {
                message = message.replace(member, option);
            }
        }
        Failure { message, status: Some(e.status) }
    }
}

/// Whether a file argument stands for standard input or output. A file of that name is `./-`.
pub fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// An input as messages name it.
pub fn input_name(path: &Path) -> String {
    name(path, "standard input")
}

/// An output as messages name it.
pub fn output_name(path: &Path) -> String {
    name(path, "standard output")
}

fn name(path: &Path, standard: &str) -> String {
    match is_dash(path) {
        true => standard.into(),
        false => path.display().to_string(),
    }
}

/// The inputs of a field as messages name them.
pub fn input_names(paths: &[&Path], separator: &str) -> String {
    paths.iter().map(|path| input_name(path)).collect::<Vec<_>>().join(separator)
}

/// Names of inputs without folders, for titles.
pub fn bare_names(paths: &[&Path]) -> String {
    let bare: Vec<&Path> = paths.iter().map(|path| path.file_name().map_or(*path, Path::new)).collect();
    input_names(&bare, ", ")
}

/// Makes a [`Failure`] from a format string.
macro_rules! failure {
    ($($part:tt)*) => { $crate::failure::Failure::new(format!($($part)*)) };
}
pub(crate) use failure;
