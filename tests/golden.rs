//! Streams of every format version decode to the same bytes for ever, and the same input and configuration
//! give the same stream of the version that is written today (CODEC section 7): 2 with the hierarchical, 3 with
//! the Lorenzo predictor. `tests/golden/v2/manifest.json` and that in `v3` list the cases, that in `v1` those of
//! version 1, which is only decoded, as those of version 2 with the Lorenzo predictor are. An independent decoder,
//! written from FORMAT.md, must agree on all of them.
//!
//! Golden streams are never regenerated. To add a case, write its configuration (without sizes and
//! checksums) into the manifest and run this test with FACTZ_BLESS=1: it makes what is missing, and
//! refuses to touch what is there.

#[path = "support/golden.rs"]
mod cases;

use cases::*;
use factz::cpu::{compress, decompress, inspect, max_stream_bytes, Execution};
use factz::grid::element::Real;
use factz::grid::field::{View, ViewMut};
use factz::stream::container::{Header, HEADER_BYTES, VERSION};
use factz::Request;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The CRC-32 of zlib.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ byte as u32, |c, _| c >> 1 ^ if c & 1 != 0 { 0xedb8_8320 } else { 0 })
    })
}

fn compressed<T: Real>(manifest: &Value, case: &Value, threads: usize) -> Vec<u8> {
    let pitch = integer(&manifest["inputs"][text(case, "input")], "nx");
    let components = input::<T>(manifest, case);
    let config = config(case, pitch);
    let first = first_vertex(case, pitch) as usize;
    let request = Request::new(config).expect("a valid configuration");
    let [u, v] = components.each_ref().map(|c| View::strided(c, first, config.u));
    let mut stream = vec![0; max_stream_bytes(&request) as usize];
    let report = compress(&request, u, v, &mut stream, Execution { threads, progress: None }).expect("valid");
    stream.truncate(report.stream_bytes as usize);
    stream
}

/// The values of u, then those of v, as bytes.
fn decompressed<T: Real>(case: &Value, stream: &[u8], threads: usize) -> Vec<u8> {
    let config = config(case, 0);
    let n = (config.nx * config.ny) as usize;
    let mut out = [vec![T::ZERO; n], vec![T::ZERO; n]];
    let [u, v] = &mut out;
    let (u, v) = (ViewMut::dense(u, config.nx), ViewMut::dense(v, config.nx));
    decompress(&config, stream, u, v, Execution { threads, progress: None }).expect("an intact stream");
    out.iter().flatten().flat_map(|x| x.to_bits64().to_le_bytes().into_iter().take(T::BYTES)).collect()
}

fn compress_case(manifest: &Value, case: &Value, threads: usize) -> Vec<u8> {
    match text(case, "dtype") {
        "f32" => compressed::<f32>(manifest, case, threads),
        _ => compressed::<f64>(manifest, case, threads),
    }
}

fn decompress_case(case: &Value, stream: &[u8], threads: usize) -> Vec<u8> {
    match text(case, "dtype") {
        "f32" => decompressed::<f32>(case, stream, threads),
        _ => decompressed::<f64>(case, stream, threads),
    }
}

/// Makes the streams of cases that have none, and writes down what they decode to.
fn bless(version: u64) {
    let mut manifest = manifest(version);
    let whole = manifest.clone();
    for case in manifest["cases"].as_array_mut().expect("a list") {
        let path = folder(version).join(format!("{}.fctz", text(case, "name")));
        if !case["stream_crc32"].is_null() {
            assert!(path.exists(), "{} is in the manifest but not on disk: restore it", path.display());
            continue;
        }
        assert!(
            !path.exists(),
            "{} exists and will not be overwritten: golden streams are never regenerated",
            path.display()
        );
        let stream = compress_case(&whole, case, 0);
        let output = decompress_case(case, &stream, 0);
        case["stream_bytes"] = stream.len().into();
        case["stream_crc32"] = crc32(&stream).into();
        case["output_crc32"] = crc32(&output).into();
        fs::write(path, stream).expect("the folder is writable");
    }
    let out = serde_json::to_string_pretty(&manifest).expect("JSON") + "\n";
    fs::write(folder(version).join("manifest.json"), out).expect("the manifest is writable");
}

/// A manifest and its cases.
type Version = (Value, Vec<(Value, Vec<u8>)>);

/// All cases of a version with their streams, which are those that the manifest speaks of.
fn golden(version: u64) -> Version {
    static BLESSED: std::sync::Once = std::sync::Once::new();
    BLESSED.call_once(|| {
        if std::env::var_os("FACTZ_BLESS").is_some_and(|v| v == "1") {
            WRITTEN.into_iter().for_each(bless);
        }
    });
    let (manifest, folder) = (manifest(version), folder(version));
    let cases = manifest["cases"].as_array().expect("a list").iter().map(|case| {
        let path = folder.join(format!("{}.fctz", text(case, "name")));
        let stream = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let expected = (integer(case, "stream_bytes"), integer(case, "stream_crc32"));
        let found = (stream.len() as u64, crc32(&stream) as u64);
        assert_eq!(found, expected, "{} was changed: golden streams are never changed", path.display());
        (case.clone(), stream)
    });
    let cases = cases.collect();
    (manifest, cases)
}

fn all_versions() -> impl Iterator<Item = Version> {
    (1..=VERSION as u64).map(golden)
}

#[test]
fn golden_streams_decode_to_the_same_bytes() {
    for (manifest, cases) in all_versions() {
        for (case, stream) in cases {
            let name = format!("{} of version {}", case["name"], manifest["format_version"]);
            for threads in [1, 2] {
                let output = decompress_case(&case, &stream, threads);
                let expected = integer(&case, "output_crc32") as u32;
                assert_eq!(crc32(&output), expected, "{name} with {threads} threads");
            }
            let info = inspect(&stream).expect("a header");
            assert_eq!(info.format_version as u64, integer(&manifest, "format_version"), "{name}");
            assert_eq!(info.bound.to_bits(), number(&case, "bound").to_bits(), "{name}");
            assert_eq!((info.nx, info.ny), (integer(&case, "nx"), integer(&case, "ny")), "{name}");
        }
    }
}

#[test]
fn the_same_input_gives_the_golden_stream() {
    for (manifest, cases) in WRITTEN.map(golden) {
        for (case, stream) in cases.into_iter().filter(|(case, _)| !is_decoded_only(case)) {
            for threads in [1, 2] {
                let again = compress_case(&manifest, &case, threads);
                assert!(again == stream, "{} with {threads} threads: {} bytes", case["name"], again.len());
            }
        }
    }
}

/// What a GPU made of the same inputs, as `FACTZ_GOLDEN_OUT=FOLDER` of the test `gpu` wrote it down: a line
/// "SHA-256 bytes name" for each case, behind lines that say what it ran on.
#[test]
fn streams_made_on_a_gpu_are_the_golden_ones() {
    let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(b"abc"), known);
    WRITTEN.into_iter().for_each(made_on_a_gpu);
}

fn made_on_a_gpu(version: u64) {
    let golden_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let path = golden_folder.join(format!("gpu-v{version}/MANIFEST"));
    let list = fs::read_to_string(&path).unwrap_or_else(|e| {
        panic!(
            "{}: {e}; make it on a machine with a GPU: FACTZ_GPU=golden FACTZ_GOLDEN=tests/golden \
             FACTZ_GOLDEN_OUT=FOLDER and the test binary gpu, then copy FOLDER/gpu-v{version}/MANIFEST here",
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
    let (_, cases) = golden(version);
    for (case, stream) in &cases {
        let name = text(case, "name");
        match made.remove(name) {
            Some(found) => {
                assert_eq!(found, (sha256(stream), stream.len().to_string()), "{name} differs on the GPU")
            }
            // Those that are no longer written may have been made when they were.
            None => assert!(is_decoded_only(case), "no stream of {name} was made on the GPU"),
        }
    }
    assert!(made.is_empty(), "cases that do not exist: {made:?}");
}

#[test]
fn an_independent_decoder_agrees() {
    let python = std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/format_decoder.py");
    let outputs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("golden-{}", std::process::id()));
    fs::create_dir_all(&outputs).expect("a temporary folder");
    let mut command = Command::new(&python);
    command.arg("-B").arg(script);
    let mut decoded = Vec::new();
    for (manifest, cases) in all_versions() {
        let folder = folder(integer(&manifest, "format_version"));
        for (case, stream) in cases {
            let name = text(&case, "name");
            let output = outputs.join(format!("{}-{name}", stream[4]));
            command.arg(folder.join(format!("{name}.fctz"))).arg(&output);
            decoded.push((case, stream, output));
        }
    }
    let run = command.output().unwrap_or_else(|e| {
        panic!(
            "cannot run {python} ({e}): install Python 3 with numpy (python3 -m pip install numpy), \
             or name an interpreter in FACTZ_PYTHON"
        )
    });
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for (case, stream, output) in decoded {
        let theirs = fs::read(output).expect("an output");
        let version = stream[4];
        assert!(
            theirs == decompress_case(&case, &stream, 1),
            "{} of version {version} decodes differently",
            case["name"]
        );
    }
    fs::remove_dir_all(&outputs).expect("the temporary folder can go");
}

/// A difference that is at most the bound rounds to at most the bound.
fn keeps_the_bound<T: Real>(manifest: &Value, case: &Value, stream: &[u8]) -> bool {
    let pitch = integer(&manifest["inputs"][text(case, "input")], "nx");
    let (nx, ny) = (integer(case, "nx"), integer(case, "ny"));
    let [u, v] = input::<T>(manifest, case);
    let bound = inspect(stream).expect("a header").absolute_bound;
    let output = decompressed::<T>(case, stream, 1);
    (0..nx * ny).all(|k| {
        let from = ((integer(case, "y0") + k / nx) * pitch + integer(case, "x0") + k % nx) as usize;
        let pair = [u[from], v[from]];
        let fill = case["fill_value"].as_f64().map(|x| T::from_f64(x).to_bits64());
        let exact = bound == 0.0 || pair.iter().any(|x| !x.is_finite() || Some(x.to_bits64()) == fill);
        pair.into_iter().zip([k, nx * ny + k]).all(|(before, at)| {
            let mut bits = [0; 8];
            bits[..T::BYTES].copy_from_slice(&output[at as usize * T::BYTES..][..T::BYTES]);
            let after = T::from_bits64(u64::from_le_bytes(bits));
            if exact {
                after.to_bits64() == before.to_bits64()
            } else {
                (after.to_f64() - before.to_f64()).abs() <= bound
            }
        })
    })
}

#[test]
fn golden_outputs_keep_the_bound() {
    for (manifest, cases) in all_versions() {
        for (case, stream) in cases {
            let kept = match text(&case, "dtype") {
                "f32" => keeps_the_bound::<f32>(&manifest, &case, &stream),
                _ => keeps_the_bound::<f64>(&manifest, &case, &stream),
            };
            let version = &manifest["format_version"];
            assert!(kept, "{} of version {version} leaves its bound", case["name"]);
        }
    }
}

/// What the golden streams must contain, so that nothing of the format is left unwatched.
#[test]
fn golden_streams_cover_the_format() {
    for (manifest, cases) in all_versions() {
        let version = integer(&manifest, "format_version");
        println!("version {version}");
        if version < 3 {
            covers_the_format(&cases);
        } else {
            covers_rows(&cases);
        }
    }
}

/// How many groups of a stream have more tiles than `least`.
fn groups_above(stream: &[u8], least: u64) -> usize {
    let header = Header::read(stream).expect("a header");
    let tiles = header.grid().tiles();
    let tiles_of = |group: u64| match header.version {
        1 => (tiles - (group << header.group_log2)).min(1 << header.group_log2),
        _ => {
            let word = HEADER_BYTES as u64 + header.table_bytes as u64 + 4 * group;
            stream[word as usize + 3] as u64 + 1
        }
    };
    let groups = 0..header.groups;
    assert_eq!(groups.clone().map(tiles_of).sum::<u64>(), if header.groups > 0 { tiles } else { 0 });
    groups.filter(|&group| tiles_of(group) > least).count()
}

/// Asserts that a stream of either dtype has something.
fn has(cases: &[(Value, Vec<u8>)], what: &str, f: &dyn Fn(&[u8]) -> bool) {
    for dtype in [0, 1] {
        let found = cases.iter().any(|(_, s)| s[12] == dtype && f(s));
        assert!(found, "no golden stream of dtype {dtype} has {what}");
    }
}

fn has_fill(stream: &[u8]) -> bool {
    stream[96..104] != [0; 8]
}

/// The same of version 3, which the Lorenzo predictor alone has.
fn covers_rows(cases: &[(Value, Vec<u8>)]) {
    let has = |what: &str, f: &dyn Fn(&[u8]) -> bool| has(cases, what, f);
    assert!(cases.iter().all(|(_, s)| s[15] == 1));
    for value in [0, 1] {
        has("each kind of bound", &|s| s[17] == value);
        has("each content", &|s| s[18] == value);
    }
    for value in 0..3 {
        has("each level of preservation", &|s| s[16] == value);
    }
    has("a fill pattern", &has_fill);
    has("a fill value", &|s| s[27] == 1);
    for coder in [0, 1] {
        has("each coder", &|s| s[18] == 0 && s[14] == coder);
        has("several groups of several tiles", &|s| s[14] == coder && groups_above(s, 1) > 1);
        has("several groups of several batches", &|s| s[14] == coder && groups_above(s, 32) > 1);
        has("mask bytes", &|s| s[14] == coder && s[18] == 0 && s[128 + 18] > 0);
        // No tile of class 0 has patterns or symbols, none of class 8 patterns.
        let all: Vec<usize> = (0..=1).chain(18..=20).chain(28..=34).chain(35..=42).chain([49]).collect();
        let used = |t: &usize| cases.iter().any(|(_, s)| s[14] == coder && s[18] == 0 && s[128 + t] > 0);
        assert_eq!((0..50).filter(used).collect::<Vec<_>>(), all, "coder {coder}");
    }
}

fn covers_the_format(cases: &[(Value, Vec<u8>)]) {
    let has = |what: &str, f: &dyn Fn(&[u8]) -> bool| has(cases, what, f);
    for value in [0, 1] {
        has("each mode", &|s| s[13] == value);
        has("each kind of bound", &|s| s[17] == value);
        has("each content", &|s| s[18] == value);
        has("each taper", &|s| s[18] == 0 && s[20] == value);
    }
    for value in 0..3 {
        has("each level of preservation", &|s| s[16] == value);
        has("each kernel", &|s| s[18] == 0 && s[21..26].iter().any(|k| k % 3 == value));
    }
    has("centres by Coons patches", &|s| s[18] == 0 && s[21..26].iter().any(|&k| k >= 3));
    has("means of two lines as centres", &|s| s[18] == 0 && s[21] < 3);
    has("a fill pattern", &has_fill);
    has("a fill value", &|s| s[4] == 1 || s[27] == 1);
    has("a group of several batches", &|s| groups_above(s, 32) > 0);
    for coder in [0, 1] {
        has("each coder with each predictor", &|s| s[18] == 0 && s[14..16] == [coder, 0]);
        has("each coder with each predictor", &|s| s[18] == 0 && s[14..16] == [coder, 1]);
        has("several groups of several tiles", &|s| s[14] == coder && groups_above(s, 1) > 1);
        // Version 1 had no case of it.
        let old = cases[0].1[4] == 1;
        has("several groups of several batches", &|s| old || s[14] == coder && groups_above(s, 32) > 1);
        has("mask bytes", &|s| s[14] == coder && s[18] == 0 && s[128 + 18] > 0);
        // Tables 3 and 22 belong to a coarse block of class 1: less than one code in 64, which is none.
        // With the Lorenzo predictor it has other positions.
        let unused =
            |t: &usize| !cases.iter().any(|(_, s)| s[14..16] == [coder, 0] && s[18] == 0 && s[128 + t] > 0);
        let tables = if old && coder == 0 { 43 } else { 50 };
        assert_eq!((0..tables).filter(unused).collect::<Vec<_>>(), [3, 22], "coder {coder}");
    }
}
