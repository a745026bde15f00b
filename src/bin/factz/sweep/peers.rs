//! Other compressors, by way of Python's h5py and hdf5plugin, if they are there.

use super::{Codec, Run, Shape};
use crate::args::Sweep;
use crate::array::{typed, Element, Field, Values};
use crate::engine::{self, Terms};
use crate::failure::{failure, Failure};
use crate::options::Spacing;
use crate::say::megabytes_per_second;
use factz::{BoundKind, Real};
use serde::Deserialize;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Compresses with every peer at every bound, and writes a line of JSON about each.
const SCRIPT: &str = include_str!("peers.py");
/// How many there are.
pub const MOST: usize = 3;

/// A line of the script.
#[derive(Deserialize)]
#[serde(untagged)]
enum Answer {
    Measured { codec: String, bound: usize, bytes: u64, seconds: [f64; 2] },
    Missing { missing: String },
}

/// Adds the runs of the peers. Returns why there are none, or fewer.
pub fn measure(
    a: &Sweep,
    spacing: Spacing,
    field: &Field,
    runs: &mut Vec<Run>,
    mut report: impl FnMut(&Run, usize) -> Result<(), Failure>,
) -> Result<Option<String>, Failure> {
    if a.no_peers {
        return Ok(None);
    }
    if !is_finite(field) || field.fill_value.is_some() {
        return Ok(Some("zfp, SZ3 and SPERR do not know missing values and are left out".into()));
    }
    let folder = tempfile::tempdir().map_err(cannot)?;
    write_field(folder.path(), field).map_err(cannot)?;
    let absolute = |&bound| engine::absolute_bound(field, BoundKind::Relative, bound, a.threads);
    let bounds = a.bounds.iter().map(absolute).collect::<Result<Vec<f64>, Failure>>()?;
    let Ok(mut script) = start(a, field, folder.path(), &bounds) else {
        return Ok(Some(format!("{} cannot be run: zfp, SZ3 and SPERR are left out", a.python.display())));
    };
    let mut missing: Vec<String> = Vec::new();
    let lines = BufReader::new(script.stdout.take().expect("it is a pipe")).lines();
    for line in lines.map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Answer::Measured { codec, bound, bytes, seconds }) => {
                let after = read_field(folder.path(), field).map_err(cannot)?;
                let terms = Terms { spacing, ties: a.ties, bound: Some(bounds[bound]) };
                let comparison = engine::compare(field, &after, &terms, a.threads)?;
                let codec = Codec { name: codec, preserves: false, plotted: true };
                let speeds = seconds.map(|s| megabytes_per_second(field.bytes(), s));
                let bounds = [a.bounds[bound], bounds[bound]];
                runs.push(Run::new(codec, Shape::of(field), bounds, bytes, comparison.into(), speeds));
                report(runs.last().expect("it was pushed"), runs.len())?;
                // The script goes on when its file is gone.
                std::fs::remove_file(folder.path().join("done")).map_err(cannot)?;
            }
            Ok(Answer::Missing { missing: name }) => missing.push(name),
            Err(_) => missing.push(format!("part of the peers ({line})")),
        }
    }
    let ended = script.wait().map_err(cannot)?;
    if !ended.success() {
        missing.push("part of the peers: their script failed".to_owned());
    }
    Ok((!missing.is_empty()).then(|| format!("without {}", missing.join("; "))))
}

fn cannot(e: std::io::Error) -> Failure {
    failure!("a temporary directory cannot be used: {e}")
}

/// Starts the script, which finds the field in the folder and leaves its reconstructions there.
fn start(a: &Sweep, field: &Field, folder: &Path, bounds: &[f64]) -> std::io::Result<Child> {
    let request = json!({
        "folder": folder,
        "nx": field.dims.nx,
        "ny": field.dims.ny,
        "dtype": field.dtype().name(),
        "bounds": bounds,
        "repeat": a.repeat,
    });
    Command::new(&a.python)
        .args(["-c", SCRIPT, &request.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

fn is_finite(field: &Field) -> bool {
    typed!([&field.u, &field.v] as [u, v] => u.iter().chain(v.iter()).all(|x| x.to_f64().is_finite()))
}

/// Writes u and v for the script, as f64.
fn write_field(folder: &Path, field: &Field) -> std::io::Result<()> {
    typed!([&field.u, &field.v] as [u, v] => {
        write_raw(&folder.join("u"), u)?;
        write_raw(&folder.join("v"), v)
    })
}

fn write_raw<T: Real>(path: &Path, values: &[T]) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    for value in values {
        out.write_all(&value.to_f64().to_le_bytes())?;
    }
    out.flush()
}

/// The reconstruction that the script has written, as f64.
fn read_field(folder: &Path, like: &Field) -> std::io::Result<Field> {
    fn component<T: Element>(path: &Path) -> std::io::Result<Values> {
        let bytes = std::fs::read(path)?;
        let values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")));
        Ok(T::wrap(values.map(T::from_f64).collect()))
    }
    let read = |name: &str| match like.u {
        Values::F32(_) => component::<f32>(&folder.join(name)),
        Values::F64(_) => component::<f64>(&folder.join(name)),
    };
    let (u, v) = (read("u.decoded")?, read("v.decoded")?);
    Ok(Field { dims: like.dims, u, v, fill_value: None, periodic: like.periodic, is_slice: false })
}
