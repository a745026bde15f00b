//! Runs the command line in a folder of the test's own, where files have short names.

use super::fields::values_of;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// Removed with its files at the end of the test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        Folder(crate::support::fresh_folder(&format!("cli-{name}")))
    }
    /// With u.f32 and v.f32 of a field of data/.
    pub fn with_field(name: &str, field: &str) -> Self {
        let folder = Folder::new(name);
        for file in ["u.f32", "v.f32"] {
            std::fs::copy(crate::support::root().join("data").join(field).join(file), folder.0.join(file))
                .unwrap();
        }
        folder
    }
    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }
    pub fn values(&self, name: &str) -> Vec<f32> {
        values_of(&self.read(name))
    }
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program with the words of `line` as arguments.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_factz"));
        command.args(line.split_whitespace()).current_dir(&self.0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
    /// Under limits of the shell.
    pub fn limited(&self, limit: &str, line: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{limit} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_factz")]);
        shell.args(line.split_whitespace()).current_dir(&self.0).output().unwrap()
    }
    pub fn factz(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }
    /// Runs, checks the exit status, and returns standard output. Standard error has notes at most.
    pub fn succeeds(&self, line: &str) -> String {
        let out = self.factz(line);
        assert_eq!(out.status.code(), Some(0), "{line}: {}{}", text(&out.stdout), text(&out.stderr));
        let error = text(&out.stderr);
        assert!(error.lines().all(|line| line.starts_with("note: ")), "{line}: {error}");
        text(&out.stdout)
    }
    /// The answer of a command with --json.
    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.succeeds(&format!("{line} --json"))).unwrap()
    }
    /// Runs, expects status 2 and every one of `parts` on standard error.
    pub fn fails(&self, line: &str, parts: &[&str]) {
        let out = self.factz(line);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{line}: {}{error}", text(&out.stdout));
        for part in parts {
            assert!(error.contains(part), "{line} should say {part:?}: {error}");
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A `.npy` file of version 1.0 in the order of C.
pub fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy_in_order(false, descr, shape, data)
}

pub fn npy_in_order(fortran: bool, descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    header.push_str(&" ".repeat(63 - (10 + header.len()) % 64));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(data);
    file
}
