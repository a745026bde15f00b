//! The comparison of a field with its reconstruction.

use crate::args::{Spacing, Verify};
use crate::array::{Dims, Field};
use crate::commands::inspect_whole;
use crate::engine::{self, Engine, Terms};
use crate::failure::{failure, input_name, input_names, Failure};
use crate::figures::{comparison_json, joined, shape_json};
use crate::input::Expected;
use crate::progress::Progress;
use crate::say::{counted, critical_points_text, Voice};
use crate::store::Format;
use crate::{input, Verdict};
use factz::{Comparison, StreamInfo, Ties};
use serde_json::json;
use std::path::Path;

/// The sentence of `verify`.
fn verdict_text(c: &Comparison, bound: Option<f64>) -> String {
    let error = match bound {
        Some(b) => format!("largest error {:.6e}, bound {b:.6e}", c.max_error),
        None => format!("largest error {:.6e} (no bound given)", c.max_error),
    };
    if c.violations() == 0 {
        return format!(
            "Kept: {} in the same triangles with the same types, none new; {error}.\n",
            critical_points_text(c.critical_points)
        );
    }
    let complaints: Vec<String> = [
        (c.lost, "critical point is lost", "critical points are lost"),
        (c.spurious, "critical point is spurious", "critical points are spurious"),
        (c.type_changed, "critical point has another type", "critical points have another type"),
        (
            c.tie_changed,
            "triangle with the origin on its boundary changed",
            "triangles with the origin on their boundary changed",
        ),
        (
            c.tie_created,
            "triangle now has the origin on its boundary",
            "triangles now have the origin on their boundary",
        ),
        (c.missing_changed, "NaN or infinite vertex changed", "NaN or infinite vertices changed"),
        (c.bound_exceeded, "value exceeds the bound", "values exceed the bound"),
    ]
    .iter()
    .filter(|(n, _, _)| *n > 0)
    .map(|(n, one, many)| counted(*n, one, many))
    .collect();
    format!(
        "Violated: {}; the original has {}; {error}.\n",
        complaints.join(", "),
        critical_points_text(c.critical_points)
    )
}

/// A stream in the place of the reconstruction, with its header.
struct Stream {
    bytes: Vec<u8>,
    info: StreamInfo,
}

impl Stream {
    /// The last file, if it is a stream.
    fn of(files: &[&Path]) -> Result<Option<Stream>, Failure> {
        let Some(path) = files.last() else { return Ok(None) };
        let Some(bytes) = input::read_if_stream(path)? else { return Ok(None) };
        let info = inspect_whole(&bytes).map_err(|e| e.about(input_name(path)))?;
        Ok(Some(Stream { bytes, info }))
    }

    /// Shape and type of the original, where the options leave them open.
    fn expected(&self, given: Expected) -> Expected {
        let dims = given.dims.or(Some(Dims { nx: self.info.nx, ny: self.info.ny }));
        Expected { dims, dtype: given.dtype.or(Some(self.info.dtype)), ..given }
    }

    fn decode(&self, name: &str, before: &Field, engine: &Engine, voice: &Voice) -> Result<Field, Failure> {
        let (dims, dtype) = (Dims { nx: self.info.nx, ny: self.info.ny }, self.info.dtype);
        if dims != before.dims || dtype != before.dtype() {
            return Err(failure!(
                "{name}: holds {dims} values of {} (columns x rows), the original {} of {}",
                dtype.name(),
                before.dims,
                before.dtype().name()
            ));
        }
        let mut after = Field::empty(dims, dtype)?;
        let progress = Progress::new("decompressing", voice);
        engine.decompress(&self.bytes, &mut after, &progress).map_err(|e| e.about(name))?;
        Ok(after)
    }
}

/// The files of the original and of the reconstruction.
fn split<'a>(files: &'a [&'a Path], stream: Option<&Stream>) -> Result<[&'a [&'a Path]; 2], Failure> {
    let (before, after) = match (files.len(), stream) {
        (2 | 3, Some(_)) => files.split_at(files.len() - 1),
        (n, Some(_)) => {
            return Err(failure!(
                "the number of files is {n}, and the last one is a stream: give U0 V0 STREAM, or one file \
                 with both components in place of U0 V0"
            ));
        }
        (2 | 4, None) => files.split_at(files.len() / 2),
        // An archive has both components; otherwise the last file does.
        (3, None) if Format::of(files[0]) == Format::Npz => files.split_at(1),
        (3, None) => files.split_at(2),
        (n, None) => {
            return Err(failure!(
                "the number of files is {n}: give U0 V0 U1 V1, or one file with both components in place of U0 V0, \
                 of U1 V1, or of each"
            ));
        }
    };
    Ok([before, after])
}

/// The original and its reconstruction.
fn read(
    a: &Verify,
    files: &[&Path],
    stream: Option<&Stream>,
    engine: &Engine,
    voice: &Voice,
) -> Result<[Field; 2], Failure> {
    let [before, after] = split(files, stream)?;
    let fill_value = a.fill.fill_value.or(stream.and_then(|s| s.info.fill_value));
    let expected = a.shape.expected(fill_value);
    match stream {
        Some(stream) => {
            let before = input::read_field(before, &stream.expected(expected))?;
            let after = stream.decode(&input_name(after[0]), &before, engine, voice)?;
            Ok([before, after])
        }
        None => {
            let fields = input::read_fields(&[before, after], &expected)?;
            Ok(<[Field; 2]>::try_from(fields).ok().expect("two fields were asked for"))
        }
    }
}

/// By what the fields are compared: what is given, or else what the stream says.
fn terms(a: &Verify, before: &Field, info: Option<&StreamInfo>) -> Result<Terms, Failure> {
    let spacing = a.spacing.or(info.map(|i| Spacing { dx: i.dx, dy: i.dy })).unwrap_or(Spacing::UNIT);
    let ties = a.ties.or(info.map(|i| i.ties)).unwrap_or(Ties::All);
    let bound = a.bound.bound().or(info.map(|i| (i.bound_kind, i.bound)));
    let absolute = |(kind, bound)| engine::absolute_bound(before, kind, bound, a.place.threads);
    Ok(Terms { spacing, ties, bound: bound.map(absolute).transpose()? })
}

pub fn verify(a: &Verify) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = a.files.iter().map(|p| p.as_path()).collect();
    let stream = Stream::of(&files)?;
    let voice = Voice::new(&a.talk);
    let engine = Engine::new(&a.place)?;
    let [before, after] = read(a, &files, stream.as_ref(), &engine, &voice)?;
    let names = || input_names(&files, ", ");
    let terms = terms(a, &before, stream.as_ref().map(|s| &s.info)).map_err(|e| e.about(names()))?;
    let done = engine.compare(&before, &after, &terms).map_err(|e| e.about(names()))?;
    let c = &done.result;
    voice.report(
        || {
            let more = json!({
                "command": "verify",
                "dx": terms.spacing.dx,
                "dy": terms.spacing.dy,
                "ties": terms.ties.name(),
            });
            let about = joined(shape_json(before.dims, before.dtype()), done.json());
            joined(joined(more, about), comparison_json(c, terms.bound))
        },
        || verdict_text(c, terms.bound),
    )?;
    if c.tie_changed > 0 && c.zero_vertices > 0 && terms.ties == Ties::All {
        voice.note(
            "zero vertices make ties; --ties sos asks only for the points of FTK, --ties zeros for zeros",
        );
    }
    Ok(Verdict::of(c.violations()))
}
