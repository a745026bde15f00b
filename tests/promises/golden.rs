//! The golden streams (`tests/golden`, listed in its `manifest.json`) decode to the same bytes for ever, and
//! the same input and configuration give the same stream. An independent decoder, written from FORMAT.md,
//! must agree.
//!
//! Golden streams are never regenerated. To add a case, write its configuration (without sizes and checksums)
//! into the manifest and run this test with FACTZ_BLESS=1: it makes the streams that are missing, and refuses
//! to touch those that are there.

use crate::support::decoder::independently_decoded;
use crate::support::fields::Field;
use crate::support::golden::*;
use crc32fast::hash as crc32;
use factz::inspect;
use factz::stream::header::{Content, Header, VERSION};
use factz::stream::sections::split;
use factz::Real;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// The field that a case is a block of.
pub fn input_field<T: Real>(manifest: &Value, case: &Value) -> Field<T> {
    let input_of_case = &manifest["inputs"][text(case, "input")];
    let [nx, ny] = ["nx", "ny"].map(|key| integer(input_of_case, key));
    Field { nx, ny, components: input(manifest, case) }
}

/// Element of vertex (0, 0) of the block of a case in its field.
pub fn first_element(manifest: &Value, case: &Value) -> usize {
    first_vertex(case, integer(&manifest["inputs"][text(case, "input")], "nx")) as usize
}

fn compress_case(manifest: &Value, case: &Value, threads: usize) -> Vec<u8> {
    let (config, first) = (config(case, 0), first_element(manifest, case));
    typed!(case, T => input_field::<T>(manifest, case).compressed_block(&config, first, threads)).0
}

/// The values of u, then those of v, as bytes.
fn decompress_case(case: &Value, stream: &[u8], threads: usize) -> Vec<u8> {
    let config = config(case, 0);
    typed!(case, T => Field::<T>::restored(&config, stream, threads).bytes()).concat()
}

/// Makes the streams of cases that have none, and writes down what they decode to, one case in a line.
fn bless() {
    let whole = manifest();
    let path_of_manifest = folder().join("manifest.json");
    let text_of_manifest = fs::read_to_string(&path_of_manifest).expect("the manifest is text");
    let mut lines: Vec<String> = text_of_manifest.lines().map(str::to_owned).collect();
    for case in whole["cases"].as_array().expect("a list") {
        let (name, path) = (text(case, "name"), path(case));
        let is_new = case["stream_crc32"].is_null();
        assert_eq!(!is_new, path.exists(), "{} must be in the manifest and on disk, or new", path.display());
        if !is_new {
            continue;
        }
        let stream = compress_case(&whole, case, 0);
        let (bytes, crc, output) = (stream.len(), crc32(&stream), crc32(&decompress_case(case, &stream, 0)));
        let sizes =
            format!(", \"stream_bytes\": {bytes}, \"stream_crc32\": {crc}, \"output_crc32\": {output}}}");
        let line = lines.iter_mut().find(|line| line.contains(&format!("\"name\": \"{name}\"")));
        let line = line.expect("the case has a line of its own");
        let end = line.rfind('}').expect("the line ends its case");
        line.replace_range(end..=end, &sizes);
        fs::write(path, stream).expect("the folder is writable");
    }
    fs::write(path_of_manifest, lines.join("\n") + "\n").expect("the manifest is writable");
}

/// The manifest, and all cases with their streams, which are those that it lists.
pub fn golden() -> (Value, Vec<(Value, Vec<u8>)>) {
    static BLESSED: std::sync::Once = std::sync::Once::new();
    BLESSED.call_once(|| {
        if std::env::var_os("FACTZ_BLESS").is_some_and(|v| v == "1") {
            bless();
        }
    });
    let manifest = manifest();
    let cases = manifest["cases"].as_array().expect("a list").iter().map(|case| {
        let path = path(case);
        let stream = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let expected = (integer(case, "stream_bytes"), integer(case, "stream_crc32"));
        let found = (stream.len() as u64, crc32(&stream) as u64);
        assert_eq!(found, expected, "{} was changed: golden streams are never changed", path.display());
        (case.clone(), stream)
    });
    let cases = cases.collect();
    (manifest, cases)
}

#[test]
fn golden_streams_decode_to_the_same_bytes() {
    for (case, stream) in golden().1 {
        let name = &case["name"];
        for threads in [1, 2] {
            let output = decompress_case(&case, &stream, threads);
            let expected = integer(&case, "output_crc32") as u32;
            assert_eq!(crc32(&output), expected, "{name} with {threads} threads");
        }
        let info = inspect(&stream).expect("a header");
        assert_eq!(info.format_version, VERSION as u32, "{name}");
        assert_eq!(info.bound.to_bits(), number(&case, "bound").to_bits(), "{name}");
        for (key, found) in
            [("nx", info.nx), ("ny", info.ny), ("nz", info.nz), ("periodic", info.periodic as u64)]
        {
            assert_eq!(found, integer(&case, key), "{name}: {key}");
        }
    }
}

#[test]
fn the_same_input_gives_the_golden_stream() {
    let (manifest, cases) = golden();
    for (case, stream) in cases {
        for threads in [1, 2] {
            let again = compress_case(&manifest, &case, threads);
            assert!(again == stream, "{} with {threads} threads: {} bytes", case["name"], again.len());
        }
    }
}

/// What a GPU made of the same inputs, as `FACTZ_GOLDEN_OUT=FOLDER` of the test `gpu` wrote it down: a line
/// "SHA-256 bytes name" for each case, behind lines that say what it ran on.
#[test]
fn streams_made_on_a_gpu_are_the_golden_ones() {
    let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(b"abc"), known);
    let path = folder().join("gpu/MANIFEST");
    let list = fs::read_to_string(&path).unwrap_or_else(|e| {
        panic!(
            "{}: {e}; make it on a machine with a GPU: FACTZ_GPU=golden FACTZ_GOLDEN=tests/golden \
             FACTZ_GOLDEN_OUT=FOLDER and the test binary gpu, then copy FOLDER/gpu/MANIFEST here",
            path.display()
        )
    });
    let lines = || list.lines().filter(|l| !l.starts_with('#'));
    for what in ["device", "driver"] {
        let said = lines().find_map(|l| l.strip_prefix(what)).unwrap_or("");
        assert!(!said.trim().is_empty(), "{what} is missing in {}", path.display());
    }
    let mut made = BTreeMap::new();
    for line in lines().filter(|l| !l.starts_with("device") && !l.starts_with("driver")) {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_else(|| panic!("{line:?} lacks a word")).to_owned();
        let (hash, bytes, name) = (word(), word(), word());
        assert!(made.insert(name, (hash, bytes)).is_none(), "{line:?} comes twice");
    }
    for (case, stream) in &golden().1 {
        let name = text(case, "name");
        let found = made.remove(name).unwrap_or_else(|| panic!("no stream of {name} was made on the GPU"));
        assert_eq!(found, (sha256(stream), stream.len().to_string()), "{name} differs on the GPU");
    }
    assert!(made.is_empty(), "cases that do not exist: {made:?}");
}

#[test]
fn an_independent_decoder_agrees() {
    let (_, cases) = golden();
    let theirs = independently_decoded("golden", cases.iter().map(|(_, stream)| &stream[..]));
    for ((case, stream), theirs) in cases.iter().zip(theirs) {
        assert!(theirs == decompress_case(case, stream, 1), "{} decodes differently", case["name"]);
    }
}

/// A difference that is at most the bound rounds to at most the bound.
fn keeps_the_bound<T: Real>(manifest: &Value, case: &Value, stream: &[u8]) -> bool {
    let config = config(case, 0);
    let bound = inspect(stream).expect("a header").absolute_bound;
    let fill = config.fill_value.map(|x| T::from_f64(x).to_bits64());
    let [x0, y0] = ["x0", "y0"].map(|key| integer(case, key));
    let before = input_field::<T>(manifest, case).block(x0, y0, config.nx, config.ny * config.nz);
    let after = Field::<T>::restored(&config, stream, 1);
    let mut vertices = before.vertices().zip(after.vertices());
    vertices.all(|(before, after)| {
        let is_exact = bound == 0.0 || before.iter().any(|x| !x.is_finite() || Some(x.to_bits64()) == fill);
        before.into_iter().zip(after).all(|(before, after)| match is_exact {
            true => after.to_bits64() == before.to_bits64(),
            false => (after.to_f64() - before.to_f64()).abs() <= bound,
        })
    })
}

#[test]
fn golden_outputs_keep_the_bound() {
    let (manifest, cases) = golden();
    for (case, stream) in cases {
        let kept = typed!(&case, T => keeps_the_bound::<T>(&manifest, &case, &stream));
        assert!(kept, "{} leaves its bound", case["name"]);
    }
}

/// What the golden streams must contain, so that nothing of the format is left unwatched.
#[test]
fn golden_streams_cover_the_format() {
    let (_, cases) = golden();
    let (rows, lists): (Vec<_>, Vec<_>) = cases.into_iter().partition(|(_, s)| s[15] == 1);
    for cases in [&lists, &rows] {
        let has = |what: &str, f: &dyn Fn(&[u8]) -> bool| has(cases, what, f);
        for value in [0, 1] {
            has("each kind of bound", &|s| s[17] == value);
            has("each content", &|s| s[18] == value);
        }
        for value in 0..3 {
            has("each setting of ties", &|s| s[19] == value);
            has("each level of preservation", &|s| s[16] == value);
        }
        has("a fill pattern", &|s| s[96..104] != [0; 8]);
        has("a fill value", &|s| s[27] == 1);
        has("coded planes", &|s| s[18] == 0 && s[48] > 1);
        has("periodic axes", &|s| s[52] == 3);
        for coder in [0, 1] {
            has("each coder", &|s| s[18] == 0 && s[14] == coder);
            has("several groups of several tiles", &|s| s[14] == coder && groups_above(s, 1) > 1);
            has("several groups of several batches", &|s| s[14] == coder && groups_above(s, 32) > 1);
            has("mask blocks", &|s| s[14] == coder && s[18] == 0 && has_table(s, 18));
        }
    }
    let has = |what: &str, f: &dyn Fn(&[u8]) -> bool| has(&lists, what, f);
    has("stored planes", &|s| s[18] == 1 && s[48] > 1);
    has("planes in several groups", &|s| s[48] > 1 && groups_above(s, 0) > 1);
    for value in [0, 1] {
        has("each mode", &|s| s[13] == value);
        has("rows in each order", &|s| s[95] >> 7 == value);
        has("each level bound scaling", &|s| s[18] == 0 && s[20] == value);
    }
    for value in 0..3 {
        has("each interpolant", &|s| s[18] == 0 && s[21..26].iter().any(|k| k % 3 == value));
    }
    has("centres by Coons patches", &|s| s[18] == 0 && s[21..26].iter().any(|&k| k >= 3));
    has("means of two lines as centres", &|s| s[18] == 0 && s[21] < 3);
    for coder in [0, 1] {
        // Tables 3 and 22 belong to a coarse block of activity 1: less than one code in 64, which is none.
        // Tables 5 and 24 belong to one of activity 3, which is rare: all their symbols escape.
        let of_lists: Vec<usize> = (0..50).filter(|t| ![3, 5, 22, 24].contains(t)).collect();
        // No tile of activity 0 has patterns or symbols, none of activity 8 patterns.
        let of_rows: Vec<usize> = (0..=1).chain(18..=20).chain(28..=42).chain([49]).collect();
        for (cases, expected) in [(&lists, of_lists), (&rows, of_rows)] {
            let used =
                |t: &usize| cases.iter().any(|(_, s)| s[14] == coder && s[18] == 0 && has_table(s, *t));
            assert_eq!((0..50).filter(used).collect::<Vec<_>>(), expected, "coder {coder}");
        }
    }
}

/// Whether a table of a coded stream takes bytes.
fn has_table(stream: &[u8], table: usize) -> bool {
    stream[128 + table / 8] >> (table % 8) & 1 != 0
}

/// How many groups of a coded stream have more tiles than `least`; none of a stored one.
fn groups_above(stream: &[u8], least: u64) -> usize {
    let header = Header::read(stream).expect("a header");
    if header.content == Content::Stored {
        return 0;
    }
    let groups = split(&header, stream).expect("a whole stream").groups;
    groups.iter().filter(|group| group.tiles.end - group.tiles.start > least).count()
}

/// Asserts that a stream of either dtype has something.
fn has(cases: &[(Value, Vec<u8>)], what: &str, f: &dyn Fn(&[u8]) -> bool) {
    for dtype in [0, 1] {
        let found = cases.iter().any(|(_, s)| s[12] == dtype && f(s));
        assert!(found, "no golden stream of dtype {dtype} has {what}");
    }
}
