//! The headers of streams (`info`), and a check of all of them (`test`).

use crate::args::{Info, Test};
use crate::array::Dims;
use crate::engine::Engine;
use crate::failure::{failure, input_name, is_dash, Failure};
use crate::figures::{bound_kind_name, component_name, field_bytes, info_json, joined, periodic_name};
use crate::progress::Progress;
use crate::say::{grouped, Voice};
use crate::steps::{self, Fault, FaultKind, Step, Steps, Walk};
use crate::stream::Stream;
use crate::{fix, standard, volume, Verdict};
use factz::{Status, StreamInfo};
use serde_json::{json, Value};
use std::fmt::Write;
use std::path::Path;

/// The header of one stream, or a list of all. Where the file does not end with a whole stream, an error
/// follows the list.
pub fn info(a: &Info) -> Result<Verdict, Failure> {
    if let Some(found) = fix::header_of(&a.input)? {
        a.step.refuse_without_stream(&[&a.input])?;
        Voice::new(&a.talk).report(|| fix::info_json(&a.input, &found), || fix::info_text(&found))?;
        return Ok(Verdict::Good);
    }
    let mut steps = Steps::list(&a.input, a.step.step)?;
    let voice = Voice::new(&a.talk);
    let about = file_json(&steps, &a.input);
    if a.step.step.is_some() {
        let step = steps.chosen(a.step.step)?;
        voice.report(|| joined(about, step_json(&step)), || info_text(&step.info, None))?;
        return Ok(Verdict::Good);
    }
    let fault = steps.fault.take();
    let cut = fault.as_ref().and_then(Fault::cut_step);
    let all: Vec<Step> = steps.found.iter().copied().chain(cut.map(|(step, _)| step)).collect();
    let streams: Vec<Value> = all.iter().map(step_json).collect();
    let about = joined(about, json!({ "streams": streams }));
    let missing = cut.map(|(_, missing)| missing);
    match &all[..] {
        [only] => voice.report(|| joined(about, info_json(&only.info)), || info_text(&only.info, missing))?,
        _ => voice.report(|| about, || list_text(steps.name(), &all, missing))?,
    }
    match fault {
        Some(fault) => Err(fault.failure),
        None => Ok(Verdict::Good),
    }
}

/// A file of streams as a whole.
fn file_json(steps: &Steps, path: &Path) -> Value {
    let (missing, surplus) = match steps.fault.as_ref().map(|fault| &fault.kind) {
        Some(FaultKind::Cut(header, missing)) => (header.as_ref().map(|_| *missing), Some(0)),
        Some(FaultKind::Garbage(bytes)) => (Some(0), *bytes),
        Some(FaultKind::Damaged) => (None, None),
        None => (Some(0), Some(0)),
    };
    json!({
        "command": "info",
        "file": input_name(path),
        "file_bytes": steps.bytes(),
        "missing_bytes": missing,
        "surplus_bytes": surplus,
    })
}

/// A stream of a file.
fn step_json(step: &Step) -> Value {
    joined(json!({ "step": step.number, "offset": step.offset }), info_json(&step.info))
}

/// Bytes of streams, of the last of which some may be missing.
fn bytes_text(bytes: u64, missing: Option<u64>) -> String {
    match missing {
        Some(missing) => format!("{} of {} bytes", grouped(bytes - missing), grouped(bytes)),
        None => format!("{} bytes", grouped(bytes)),
    }
}

/// A line for each stream of a file, of the last of which bytes may be missing.
fn list_text(name: &str, all: &[Step], missing: Option<u64>) -> String {
    let bytes = bytes_text(all.iter().map(|step| step.info.stream_bytes).sum(), missing);
    let cut = if missing.is_some() { ", the last one cut off" } else { "" };
    let mut text = format!("{name}: {} streams{cut}, {bytes}\n", grouped(all.len() as u64));
    let fields = all
        .iter()
        .map(|Step { info: i, .. }| format!("{} {}{}", Dims::of(i), i.dtype.name(), of_components(i)));
    let fields: Vec<String> = fields.collect();
    let width = fields.iter().map(String::len).max().unwrap_or(0).max(17);
    let mut line = |cells: [&str; 6]| {
        let [step, offset, bytes, field, bound, absolute] = cells;
        let row = format!("{step:>6} {offset:>15} {bytes:>13}  {field:<width$} {bound:<31} {absolute}");
        let _ = writeln!(text, "{}", row.trim_end());
    };
    line(["step", "offset", "bytes", "field", "bound", "absolute bound"]);
    for (Step { number, offset, info: i }, field) in all.iter().zip(&fields) {
        line([
            &number.to_string(),
            &grouped(*offset),
            &grouped(i.stream_bytes),
            field,
            &format!("{} {:e}", bound_kind_name(i.bound_kind), i.bound),
            &format!("{:e}", i.absolute_bound),
        ]);
    }
    text
}

/// " of u" for the stream of one component, " of u, v and w" for that of a volume.
fn of_components(i: &StreamInfo) -> String {
    match (i.components, component_name(i)) {
        (3, _) => " of u, v and w".into(),
        (_, Some(name)) => format!(" of {name}"),
        (_, None) => String::new(),
    }
}

/// A header, with the number of bytes of the stream that are missing.
fn info_text(i: &StreamInfo, missing: Option<u64>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<15} {value}");
    };
    let dims = Dims::of(i);
    let sizes = dims.to_string().replace('x', " x ");
    match i.components {
        3 => line("volume", format!("{sizes} values of {}, u, v and w", i.dtype.name())),
        _ => line("field", format!("{sizes} values of {} ({})", i.dtype.name(), dims.order())),
    }
    if let Some(name) = component_name(i) {
        line("component", format!("{name} alone (`factz join` makes the stream of u and v)"));
    }
    line("bound", format!("{} {:e}", bound_kind_name(i.bound_kind), i.bound));
    line("absolute bound", format!("{:e}", i.absolute_bound));
    if let Some(fill) = i.fill_value {
        line("fill value", format!("{fill:e}"));
    }
    line("mode", i.mode.name().into());
    line("predictor", i.predictor.name().into());
    line("coder", i.coder.name().into());
    line("preserves", i.preserve.name().into());
    line("ties", i.ties.name().into());
    line(
        "spacing",
        match i.components {
            3 => format!("{}, {}, {}", i.dx, i.dy, i.dz),
            _ => format!("{}, {}", i.dx, i.dy),
        },
    );
    line("periodic", periodic_name(i.periodic).into());
    let ratio = field_bytes(i) as f64 / i.stream_bytes as f64;
    line("stream", format!("{} bytes, ratio {ratio:.2}", grouped(i.stream_bytes)));
    if missing.is_some() {
        line("file", format!("{}: the end is missing", bytes_text(i.stream_bytes, missing)));
    }
    line("format version", i.format_version.to_string());
    text
}

/// Findings on a stream, or on a file that holds none.
struct Outcome {
    /// The file, and the place of the stream in it.
    about: Value,
    /// A stream that is good.
    good: Option<Stream>,
    /// The fault of the stream, or of the bytes behind it.
    failure: Option<Failure>,
}

impl Outcome {
    fn bad(about: Value, failure: Failure) -> Outcome {
        Outcome { about, good: None, failure: Some(failure) }
    }

    fn of(file: Value, stream: Stream, engine: &Engine, voice: &Voice) -> Outcome {
        let about = joined(file, json!({ "step": stream.number, "offset": stream.offset }));
        let progress = Progress::new("testing", voice);
        let decoded = match stream.info.components {
            3 => volume::decode(&stream, engine, &progress).map(|_| ()),
            _ => stream.decode_held(engine, &progress).map(|_| ()),
        };
        match decoded {
            Ok(_) => Outcome { about, good: Some(stream), failure: None },
            Err(e) => Outcome::bad(about, e),
        }
    }

    fn verdict(&self) -> Verdict {
        match &self.failure {
            None => Verdict::Good,
            Some(e) if e.status == Some(Status::CorruptStream) => Verdict::Violated,
            Some(_) => Verdict::Unknown,
        }
    }

    /// A line on standard output if the stream is good, and one on standard error if something is wrong.
    fn tell(&self, voice: &Voice) -> Result<(), Failure> {
        if let Some(stream) = &self.good {
            voice.text(&good_text(stream))?;
        }
        if let Some(e) = &self.failure {
            standard::write_error(&format!("factz: {e}\n"));
        }
        Ok(())
    }

    fn json(self) -> Value {
        let result = match (self.verdict(), &self.good) {
            (Verdict::Good, _) => "good",
            (_, Some(_)) => "surplus",
            (Verdict::Violated, None) => "damaged",
            (Verdict::Unknown, None) => "untested",
        };
        let about = joined(self.about, json!({ "result": result }));
        let about = match self.failure {
            Some(e) => joined(about, json!({ "error": e.message })),
            None => about,
        };
        self.good.map_or(about.clone(), |stream| joined(about, info_json(&stream.info)))
    }
}

/// Decodes all streams of a file.
fn test_all(
    path: &Path,
    (engine, voice): (&Engine, &Voice),
    tell: &mut impl FnMut(Outcome) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let file = json!({ "file": input_name(path) });
    let at = |number, offset| joined(file.clone(), json!({ "step": number, "offset": offset }));
    let mut walk = match Walk::open(path, false) {
        Ok(walk) => walk,
        Err(e) => return tell(Outcome::bad(file, e)),
    };
    let mut next = walk.header();
    loop {
        let step = match next {
            Ok(Ok(Some(step))) => step,
            Ok(Ok(None)) => return Ok(()),
            Ok(Err(fault)) => return tell(Outcome::bad(at(fault.number, fault.offset), fault.failure)),
            Err(e) => return tell(Outcome::bad(file, e)),
        };
        let bytes = match walk.take(&step) {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(fault)) => return tell(Outcome::bad(at(step.number, step.offset), fault.failure)),
            Err(e) => return tell(Outcome::bad(at(step.number, step.offset), e)),
        };
        next = walk.header();
        if let Ok(Err(fault)) = &next {
            if fault.number == step.number {
                continue;
            }
        }
        let is_alone = step.number == 0 && matches!(next, Ok(Ok(None)));
        let name = if is_alone { walk.name().into() } else { steps::name_of(walk.name(), step.number) };
        let Step { number, offset, info } = step;
        let outcome = Outcome::of(file.clone(), Stream { name, bytes, info, number, offset }, engine, voice);
        match next {
            Ok(Err(fault)) if fault.is_garbage() && outcome.good.is_some() => {
                return tell(Outcome { failure: Some(fault.failure), ..outcome });
            }
            _ => tell(outcome)?,
        }
    }
}

pub fn test(a: &Test) -> Result<Verdict, Failure> {
    if a.streams.iter().filter(|s| is_dash(s)).count() > 1 {
        return Err(failure!("- is given more than once, but standard input can be read once"));
    }
    let voice = Voice::new(&a.talk);
    let engine = Engine::new(&a.place)?;
    let mut worst = Verdict::Good;
    let mut streams: Vec<Value> = Vec::new();
    let mut tell = |outcome: Outcome| {
        worst = worst.max(outcome.verdict());
        outcome.tell(&voice)?;
        streams.push(outcome.json());
        Ok(())
    };
    for path in &a.streams {
        match a.step.step {
            None => test_all(path, (&engine, &voice), &mut tell)?,
            Some(k) => {
                let file = json!({ "file": input_name(path) });
                tell(match steps::read(path, Some(k)) {
                    Ok(stream) => Outcome::of(file, stream, &engine, &voice),
                    Err(e) => Outcome::bad(file, e),
                })?;
            }
        }
    }
    voice.json(|| json!({ "command": "test", "streams": streams }))?;
    Ok(worst)
}

fn good_text(tested: &Stream) -> String {
    let i = &tested.info;
    format!(
        "{}: good, {} values of {}{}, {} bytes\n",
        tested.name,
        tested.dims(),
        i.dtype.name(),
        of_components(i),
        grouped(i.stream_bytes)
    )
}
