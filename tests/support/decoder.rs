//! The independent decoders, written from FORMAT.md alone (tests/format_decoder.py, tests/volume_decoder.py).

// Each test uses its part of it.
#![allow(dead_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

/// Decodes streams: the bytes of u, then those of v, of each.
pub fn independently_decoded<'a>(name: &str, streams: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    decoded_by("format_decoder.py", name, streams)
}

/// Decodes streams of volumes: the bytes of u, v and w of each.
pub fn independently_decoded_volumes<'a>(
    name: &str,
    streams: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Vec<u8>> {
    decoded_by("volume_decoder.py", name, streams)
}

fn decoded_by<'a>(script: &str, name: &str, streams: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder");
    let python = std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(&python);
    command.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script));
    let mut outputs = Vec::new();
    for (k, stream) in streams.into_iter().enumerate() {
        let [input, output] = ["fctz", "raw"].map(|kind| folder.join(format!("{k}.{kind}")));
        fs::write(&input, stream).expect("the folder is writable");
        command.arg(input).arg(&output);
        outputs.push(output);
    }
    let run = command.output().unwrap_or_else(|e| {
        panic!("cannot run {python} ({e}): install Python 3 with numpy, or name it in FACTZ_PYTHON")
    });
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let decoded = outputs.iter().map(|path| fs::read(path).expect("an output")).collect();
    fs::remove_dir_all(&folder).expect("the temporary folder can go");
    decoded
}
