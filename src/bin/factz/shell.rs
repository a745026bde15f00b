//! Commands for a shell, as messages give them.

use std::path::Path;

/// The command that runs a Python program.
pub fn python(program: &str) -> String {
    format!("python3 -c \"{program}\"")
}

/// A name as it stands in a command for a shell; FILE for one with characters that a shell reads as its own.
pub fn shell_name(path: &Path) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._/+-:@%,=".contains(c);
    match path.to_str() {
        Some(name) if name != "-" && name.chars().all(is_plain) => name.to_owned(),
        _ => "FILE".to_owned(),
    }
}
