//! Streams of every released format version decode to the same bytes for ever, and the same input
//! and configuration give the same stream (CODEC section 7). `tests/golden/v1/manifest.json` lists
//! the cases. An independent decoder, written from FORMAT.md, must agree on all of them.
//!
//! Golden streams are never regenerated. To add a case, write its configuration (without sizes and
//! checksums) into the manifest and run this test with FACTZ_BLESS=1: it makes what is missing, and
//! refuses to touch what is there.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use factz::backend::{compress, decompress, inspect, max_stream_bytes, Execution};
use factz::field::{Layout, View, ViewMut};
use factz::real::Real;
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve, Request};
use serde_json::Value;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

fn manifest() -> Value {
    let path = folder().join("manifest.json");
    serde_json::from_slice(&fs::read(path).expect("the manifest is there")).expect("the manifest is JSON")
}

/// The CRC-32 of zlib.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ byte as u32, |c, _| c >> 1 ^ if c & 1 != 0 { 0xedb8_8320 } else { 0 })
    })
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} of {value} is no text"))
}

fn integer(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} of {value} is no integer"))
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value} is no number"))
}

/// A smooth wave of half period `p`, made of parabolas.
fn wave(k: i64, p: i64) -> i64 {
    let r = k.rem_euclid(2 * p);
    if r < p {
        r * (p - r)
    } else {
        -((r - p) * (2 * p - r))
    }
}

fn waves(x: i64, y: i64) -> [i64; 2] {
    [
        4 * wave(x + 2 * y, 61) - 3 * wave(3 * y - x + 500, 97),
        5 * wave(2 * x - y + 700, 83) + 2 * wave(x + y + 40, 41),
    ]
}

fn hash(x: i64, y: i64, c: u32) -> i64 {
    let mut h = (x as u32).wrapping_mul(73_856_093)
        ^ (y as u32).wrapping_mul(19_349_663)
        ^ 83_492_791u32.wrapping_mul(c + 1);
    h = (h ^ h >> 15).wrapping_mul(2_246_822_519);
    h = (h ^ h >> 13).wrapping_mul(3_266_489_917);
    (h ^ h >> 16) as i64
}

/// Bits of a vertex that is not finite, in binary32 and binary64.
fn missing<T: Real>(x: i64, y: i64, divisor: f64) -> Option<[T; 2]> {
    let bits = |narrow: u64, wide: u64| T::from_bits64(if T::BYTES == 4 { narrow } else { wide });
    let infinity = T::from_f64(f64::INFINITY);
    let value = |k: f64| T::from_f64(k / divisor);
    if (x / 6 + y / 5) % 5 == 0 || x >= 64 {
        Some([bits(0x7fc0_0000, 0x7ff8 << 48), bits(0x7fc1_2345, 0x7ff8 << 48 | 0x1_2345)])
    } else if x * y % 97 == 1 {
        Some([infinity, value(1.0)])
    } else if x * y % 89 == 3 {
        Some([value(2.0), -infinity])
    } else if x * y % 83 == 5 {
        Some([bits(0x7fa0_0001, 0x7ff4 << 48 | 1); 2])
    } else {
        None
    }
}

/// Both components of an input as the formulas in the manifest say.
fn input<T: Real>(manifest: &Value, case: &Value) -> [Vec<T>; 2] {
    let input = &manifest["inputs"][text(case, "input")];
    let (nx, ny) = (integer(input, "nx") as i64, integer(input, "ny") as i64);
    let divisor = number(case, "divisor");
    let file = input["file"].as_str().map(|name| fs::read(folder().join(name)).expect("the input is there"));
    let formula = input["formula"].as_str().unwrap_or("");
    let mut out = [Vec::new(), Vec::new()];
    for y in 0..ny {
        for x in 0..nx {
            if let (Some(pair), "missing") = (missing(x, y, divisor), formula) {
                out.iter_mut().zip(pair).for_each(|(o, value)| o.push(value));
                continue;
            }
            let land = x >= 64 && y < 32 || (x / 5 + y / 7) % 4 == 0;
            for (c, out) in out.iter_mut().enumerate() {
                let value = match (&file, formula) {
                    (Some(bytes), _) => {
                        let at = 4 * ((c as i64 * ny + y) * nx + x) as usize;
                        f32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as f64
                    }
                    (_, "land") if land => 0.0,
                    (_, "waves" | "land" | "missing") => waves(x, y)[c] as f64,
                    (_, "steps") => [(x / 8 + y / 8) % 3 - 1, x / 16 % 2][c] as f64,
                    (_, "zero") => 0.0,
                    (_, "sparse") => {
                        let every = 4 << ((x / 32 + 3 * (y / 32)) % 12);
                        5.0 + 2.0 * (hash(x, y, 0) % every == 0) as u8 as f64
                    }
                    (_, "constant") => [5.0, -3.0][c],
                    (_, "noise") => (hash(x, y, c as u32) % 2001 - 1000) as f64,
                    _ => panic!("{input} has no file and no known formula"),
                };
                out.push(T::from_f64(value / divisor));
            }
        }
    }
    out
}

fn config(case: &Value, pitch: u64) -> Config {
    let layout = Layout { pitch, stride: 1 };
    let choose = |key: &str, names: &[&str]| {
        let name = text(case, key);
        names.iter().position(|n| *n == name).unwrap_or_else(|| panic!("{key} = {name} in {case}"))
    };
    // Cases without a predictor or a coder are older than the choice.
    let chosen = |key: &str, names: &[&str]| if case[key].is_null() { 0 } else { choose(key, names) };
    Config {
        predictor: [Predictor::Hierarchical, Predictor::Lorenzo]
            [chosen("predictor", &["hierarchical", "lorenzo"])],
        coder: [Coder::Ans, Coder::Huffman][chosen("coder", &["ans", "huffman"])],
        dtype: [Dtype::F32, Dtype::F64][choose("dtype", &["f32", "f64"])],
        u: layout,
        v: layout,
        halo: integer(case, "halo") as u32,
        pin: integer(case, "pin") as u32,
        dx: number(case, "dx"),
        dy: number(case, "dy"),
        mode: [Mode::BlockWise, Mode::Speculative][choose("mode", &["block-wise", "speculative"])],
        preserve: [Preserve::None, Preserve::Points, Preserve::Types]
            [choose("preserve", &["none", "points", "types"])],
        ..Config::new(
            integer(case, "nx"),
            integer(case, "ny"),
            [BoundKind::Absolute, BoundKind::Relative][choose("bound_kind", &["absolute", "relative"])],
            number(case, "bound"),
        )
    }
}

fn compressed<T: Real>(manifest: &Value, case: &Value, threads: usize) -> Vec<u8> {
    let pitch = integer(&manifest["inputs"][text(case, "input")], "nx");
    let components = input::<T>(manifest, case);
    let config = config(case, pitch);
    let first = (integer(case, "y0") * pitch + integer(case, "x0")) as usize;
    let request = Request::new(config).expect("a valid configuration");
    let [u, v] = components.each_ref().map(|c| {
        let ghost = |bit: u32| (config.halo & bit != 0) as u64;
        let last = (integer(case, "y0") + config.ny - 1 + ghost(8)) * pitch + integer(case, "x0") + config.nx
            - 1
            + ghost(2);
        assert!((last as usize) < c.len() && first as u64 >= ghost(4) * pitch + ghost(1));
        // SAFETY: the assertion keeps the block and its halo inside the array.
        unsafe { View::new(c.as_ptr().add(first), config.u) }
    });
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
fn bless() {
    let mut manifest = manifest();
    let whole = manifest.clone();
    for case in manifest["cases"].as_array_mut().expect("a list") {
        let path = folder().join(format!("{}.fctz", text(case, "name")));
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
    fs::write(folder().join("manifest.json"), out).expect("the manifest is writable");
}

/// All cases with their streams, which are those that the manifest speaks of.
fn golden() -> (Value, Vec<(Value, Vec<u8>)>) {
    static BLESSED: std::sync::Once = std::sync::Once::new();
    BLESSED.call_once(|| {
        if std::env::var_os("FACTZ_BLESS").is_some_and(|v| v == "1") {
            bless();
        }
    });
    let manifest = manifest();
    let cases = manifest["cases"].as_array().expect("a list").iter().map(|case| {
        let path = folder().join(format!("{}.fctz", text(case, "name")));
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
        for threads in [1, 2] {
            let output = decompress_case(&case, &stream, threads);
            let expected = integer(&case, "output_crc32") as u32;
            assert_eq!(crc32(&output), expected, "{} with {threads} threads", case["name"]);
        }
        let info = inspect(&stream).expect("a header");
        assert_eq!(info.bound.to_bits(), number(&case, "bound").to_bits());
        assert_eq!((info.nx, info.ny), (integer(&case, "nx"), integer(&case, "ny")));
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

#[test]
fn an_independent_decoder_agrees() {
    let python = std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into());
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/format_decoder.py");
    let outputs = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("golden-{}", std::process::id()));
    fs::create_dir_all(&outputs).expect("a temporary folder");
    let (_, cases) = golden();
    let mut command = Command::new(&python);
    command.arg("-B").arg(script);
    for (case, _) in &cases {
        let name = text(case, "name");
        command.arg(folder().join(format!("{name}.fctz"))).arg(outputs.join(name));
    }
    let run = command.output().unwrap_or_else(|e| {
        panic!(
            "cannot run {python} ({e}): install Python 3 with numpy (python3 -m pip install numpy), \
             or name an interpreter in FACTZ_PYTHON"
        )
    });
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    for (case, stream) in &cases {
        let theirs = fs::read(outputs.join(text(case, "name"))).expect("an output");
        assert!(theirs == decompress_case(case, stream, 1), "{} decodes differently", case["name"]);
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
        let finite = pair.iter().all(|x| x.is_finite());
        pair.into_iter().zip([k, nx * ny + k]).all(|(before, at)| {
            let mut bits = [0; 8];
            bits[..T::BYTES].copy_from_slice(&output[at as usize * T::BYTES..][..T::BYTES]);
            let after = T::from_bits64(u64::from_le_bytes(bits));
            if finite {
                (after.to_f64() - before.to_f64()).abs() <= bound
            } else {
                after.to_bits64() == before.to_bits64()
            }
        })
    })
}

#[test]
fn golden_outputs_keep_the_bound() {
    let (manifest, cases) = golden();
    for (case, stream) in cases {
        let kept = match text(&case, "dtype") {
            "f32" => keeps_the_bound::<f32>(&manifest, &case, &stream),
            _ => keeps_the_bound::<f64>(&manifest, &case, &stream),
        };
        assert!(kept, "{} leaves its bound", case["name"]);
    }
}

/// What the golden streams must contain, so that nothing of the format is left unwatched.
#[test]
fn golden_streams_cover_the_format() {
    let (_, cases) = golden();
    let has = |what: &str, f: &dyn Fn(&[u8]) -> bool| {
        for dtype in [0, 1] {
            let found = cases.iter().any(|(_, s)| s[12] == dtype && f(s));
            assert!(found, "no golden stream of dtype {dtype} has {what}");
        }
    };
    let u64_at = |s: &[u8], at: usize| u64::from_le_bytes(s[at..at + 8].try_into().expect("eight bytes"));
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
    has("a fill pattern", &|s| u64_at(s, 96) != 0);
    has("several groups of several tiles", &|s| {
        let tiles = u64_at(s, 32).div_ceil(32) * u64_at(s, 40).div_ceil(32);
        s[18] == 0 && s[19] > 0 && tiles > 2 << s[19]
    });
    has("a group of several batches", &|s| {
        let tiles = u64_at(s, 32).div_ceil(32) * u64_at(s, 40).div_ceil(32);
        s[18] == 0 && s[19] > 5 && tiles > 32
    });
    for coder in [0, 1] {
        has("each coder with each predictor", &|s| s[18] == 0 && s[14..16] == [coder, 0]);
        has("each coder with each predictor", &|s| s[18] == 0 && s[14..16] == [coder, 1]);
        has("mask bytes", &|s| s[14] == coder && s[18] == 0 && s[128 + 18] > 0);
        // Tables 3 and 22 belong to a coarse block of class 1: less than one code in 64, which is none.
        // With the Lorenzo predictor it has other positions.
        let unused =
            |t: &usize| !cases.iter().any(|(_, s)| s[14..16] == [coder, 0] && s[18] == 0 && s[128 + t] > 0);
        let tables = [43, 50][coder as usize];
        assert_eq!((0..tables).filter(unused).collect::<Vec<_>>(), [3, 22], "coder {coder}");
    }
}
