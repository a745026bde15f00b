//! Helpers of the tests of the command line.

// Each test uses its part of it.
#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Of data/wind_global.
pub const DIMS: &str = "360x181";

pub fn field(name: &str) -> [String; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    ["u.f32", "v.f32"].map(|f| folder.join(f).to_str().unwrap().to_owned())
}

/// A folder for the files of one test.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
    pub fn write(&self, name: &str, bytes: &[u8]) -> String {
        std::fs::write(self.0.join(name), bytes).unwrap();
        self.path(name)
    }
    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn factz(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_factz")).args(arguments).output().unwrap()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs, checks the exit status, and returns standard output.
pub fn succeeds(arguments: &[&str]) -> String {
    let out = factz(arguments);
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}{}", text(&out.stdout), text(&out.stderr));
    assert!(out.stderr.is_empty(), "{arguments:?}: {}", text(&out.stderr));
    text(&out.stdout)
}

pub fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(arguments)).unwrap()
}

/// Runs, expects status 2 and every one of `parts` on standard error.
pub fn fails(arguments: &[&str], parts: &[&str]) {
    let out = factz(arguments);
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{arguments:?}: {}{error}", text(&out.stdout));
    for part in parts {
        assert!(error.contains(part), "{arguments:?} should say {part:?}: {error}");
    }
}

pub fn values(path: &str) -> Vec<f32> {
    std::fs::read(path).unwrap().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
}

/// A `.npy` file of version 1.0.
pub fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
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
