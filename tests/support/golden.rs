//! The cases of the golden streams: inputs from formulas and configurations from the manifest, for the tests of
//! the CPU and those on a device.

// Each test uses its part of it.
#![allow(dead_code)]

use factz::{BoundKind, Coder, Config, Dtype, Layout, Mode, Predictor, Preserve, Real, Ties};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where the golden streams are; `FACTZ_GOLDEN` names their folder on machines without the crate.
pub fn folder() -> PathBuf {
    match std::env::var_os("FACTZ_GOLDEN") {
        Some(folder) => folder.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden"),
    }
}

/// The golden stream of a case.
pub fn path(case: &Value) -> PathBuf {
    folder().join(format!("{}.fctz", text(case, "name")))
}

/// The manifest, with the defaults in the cases that do not name another value.
pub fn manifest() -> Value {
    let bytes = fs::read(folder().join("manifest.json")).expect("the manifest is there");
    let mut manifest: Value = serde_json::from_slice(&bytes).expect("the manifest is JSON");
    let defaults = manifest["defaults"].as_object().expect("an object").clone();
    for case in manifest["cases"].as_array_mut().expect("a list") {
        for (key, value) in &defaults {
            let case = case.as_object_mut().expect("an object");
            case.entry(key).or_insert_with(|| value.clone());
        }
    }
    manifest
}

/// SHA-256 in hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sha256sum of the coreutils");
    child.stdin.take().expect("a pipe").write_all(bytes).expect("sha256sum reads everything first");
    let out = child.wait_with_output().expect("sha256sum ends");
    String::from_utf8_lossy(&out.stdout[..64]).into_owned()
}

pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("{key} of {value} is no text"))
}

pub fn integer(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} of {value} is no integer"))
}

pub fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} of {value} is no number"))
}

/// A smooth wave of half period `p`, made of parabolas.
fn wave(k: i64, p: i64) -> i64 {
    let r = k.rem_euclid(2 * p);
    (if r < p { r } else { 2 * p - r }) * (p - r)
}

fn waves(x: i64, y: i64) -> [i64; 2] {
    [
        4 * wave(x + 2 * y, 61) - 3 * wave(3 * y - x + 500, 97),
        5 * wave(2 * x - y + 700, 83) + 2 * wave(x + y + 40, 41),
    ]
}

fn steps(x: i64, y: i64) -> [i64; 2] {
    [(x / 8 + y / 8) % 3 - 1, x / 16 % 2]
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
pub fn input<T: Real>(manifest: &Value, case: &Value) -> [Vec<T>; 2] {
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
            let filled = (x / 5 + y / 7) % 4 == 0;
            let land = x >= 64 && y < 32 || (x / 5 + y / 7) % 4 == 0;
            for (c, out) in out.iter_mut().enumerate() {
                let value = match (&file, formula) {
                    (Some(bytes), _) => {
                        let at = 4 * ((c as i64 * ny + y) * nx + x) as usize;
                        f32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as f64
                    }
                    (_, "land") if land => 0.0,
                    (_, "filled") if filled || x * y % 89 == 3 + 2 * c as i64 => -999.0 * divisor,
                    (_, "signs") if steps(x, y)[c] == 0 && hash(x, y, c as u32) % 3 == 0 => -0.0,
                    (_, "signs") => steps(x, y)[c] as f64,
                    (_, "waves" | "land" | "missing" | "filled") => waves(x, y)[c] as f64,
                    (_, "steps") => steps(x, y)[c] as f64,
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

fn chosen<T: Copy>(case: &Value, key: &str, names: &[(&str, T)]) -> T {
    // Cases that a test makes itself may leave these out.
    let is_optional = ["predictor", "coder", "ties"].contains(&key);
    let name = if is_optional && case[key].is_null() { names[0].0 } else { text(case, key) };
    names.iter().find(|n| n.0 == name).unwrap_or_else(|| panic!("{key} = {name} in {case}")).1
}

/// Evaluates an expression in which `$T` is the element type of a case.
macro_rules! typed {
    ($case:expr, $T:ident => $body:expr) => {
        if $crate::support::golden::text($case, "dtype") == "f32" {
            type $T = f32;
            $body
        } else {
            type $T = f64;
            $body
        }
    };
}
pub(crate) use typed;

pub fn config(case: &Value, pitch: u64) -> Config {
    let layout = Layout { pitch, stride: 1, plane: 0 };
    const MODES: [(&str, Mode); 2] = [("block-wise", Mode::BlockWise), ("speculative", Mode::Speculative)];
    const BOUNDS: [(&str, BoundKind); 2] =
        [("absolute", BoundKind::Absolute), ("relative", BoundKind::Relative)];
    Config {
        predictor: chosen(case, "predictor", &Predictor::NAMES),
        coder: chosen(case, "coder", &Coder::NAMES),
        dtype: chosen(case, "dtype", &Dtype::NAMES),
        u: layout,
        v: layout,
        halo: integer(case, "halo") as u32,
        pin: integer(case, "pin") as u32,
        dx: number(case, "dx"),
        dy: number(case, "dy"),
        nz: case["nz"].as_u64().unwrap_or(1),
        periodic: case["periodic"].as_u64().unwrap_or(0) as u32,
        mode: chosen(case, "mode", &MODES),
        fill_value: case["fill_value"].as_f64(),
        preserve: chosen(case, "preserve", &Preserve::NAMES),
        ties: chosen(case, "ties", &Ties::NAMES),
        ..Config::new(
            integer(case, "nx"),
            integer(case, "ny"),
            chosen(case, "bound_kind", &BOUNDS),
            number(case, "bound"),
        )
    }
}

/// Element of vertex (0, 0) of the block of a case in its input.
pub fn first_vertex(case: &Value, pitch: u64) -> u64 {
    integer(case, "y0") * pitch + integer(case, "x0")
}
