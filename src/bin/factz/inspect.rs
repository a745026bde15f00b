//! The header of a stream (`info`), and a check of all of it (`test`).

use crate::args::{Info, Test};
use crate::engine::Engine;
use crate::failure::{failure, input_name, is_dash, Failure};
use crate::figures::{bound_kind_name, field_bytes, info_json, joined};
use crate::progress::Progress;
use crate::say::{grouped, Voice};
use crate::stream::{Opened, Rest, Stream};
use crate::{standard, Verdict};
use factz::{Status, StreamInfo};
use serde_json::{json, Value};
use std::fmt::Write;
use std::path::Path;

pub fn info(a: &Info) -> Result<Verdict, Failure> {
    let mut opened = Opened::open(&a.input)?;
    let (i, file_bytes, rest) = (opened.info, opened.file_bytes(), opened.rest()?);
    let (missing, surplus) = match rest {
        Rest::Nothing => (0, Some(0)),
        Rest::Truncated(bytes) => (i.stream_bytes - bytes, Some(0)),
        Rest::Surplus(bytes, _) => (0, bytes),
    };
    let more = json!({
        "command": "info",
        "file": input_name(&a.input),
        "file_bytes": file_bytes.or(surplus.map(|_| i.stream_bytes - missing)),
        "missing_bytes": missing,
        "surplus_bytes": surplus,
    });
    let about_file = rest.sentence(&a.input, i.stream_bytes);
    Voice::new(&a.talk).report(|| joined(more, info_json(&i)), || info_text(&i, about_file))?;
    Ok(Verdict::Good)
}

fn info_text(i: &StreamInfo, about_file: Option<String>) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<15} {value}");
    };
    line("field", format!("{} x {} values of {} (columns x rows)", i.nx, i.ny, i.dtype.name()));
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
    line("spacing", format!("{}, {}", i.dx, i.dy));
    let ratio = field_bytes(i) as f64 / i.stream_bytes as f64;
    line("stream", format!("{} bytes, ratio {ratio:.2}", grouped(i.stream_bytes)));
    if let Some(about_file) = about_file {
        line("file", about_file);
    }
    line("format version", i.format_version.to_string());
    text
}

/// Decodes all of a stream. A sentence tells what follows it.
fn test_one(path: &Path, engine: &Engine, voice: &Voice) -> Result<(Stream, Option<String>), Failure> {
    let (stream, surplus) = Opened::open(path)?.read_first()?;
    stream.decode(engine, &Progress::new("testing", voice))?;
    Ok((stream, surplus))
}

/// A line for each stream: the good ones on standard output, the others on standard error.
pub fn test(a: &Test) -> Result<Verdict, Failure> {
    if a.streams.iter().filter(|s| is_dash(s)).count() > 1 {
        return Err(failure!("- is given more than once, but standard input can be read once"));
    }
    let voice = Voice::new(&a.talk);
    let engine = Engine::new(&a.place)?;
    let mut worst = Verdict::Good;
    let mut streams: Vec<Value> = Vec::new();
    for path in &a.streams {
        let file = json!({ "file": input_name(path) });
        let result = test_one(path, &engine, &voice);
        streams.push(match result {
            Ok((tested, None)) => {
                voice.text(&good_text(&tested))?;
                joined(joined(file, json!({ "result": "good" })), info_json(&tested.info))
            }
            Ok((tested, Some(surplus))) => {
                let error = format!("{}: {surplus}", tested.name);
                standard::write_error(&format!("factz: {error}\n"));
                worst = worst.max(Verdict::Violated);
                let result = json!({ "result": "surplus", "error": error });
                joined(joined(file, result), info_json(&tested.info))
            }
            Err(e) => {
                standard::write_error(&format!("factz: {e}\n"));
                let damaged = e.status == Some(Status::CorruptStream);
                worst = worst.max(if damaged { Verdict::Violated } else { Verdict::Unknown });
                let result = if damaged { "damaged" } else { "untested" };
                joined(file, json!({ "result": result, "error": e.message }))
            }
        });
    }
    voice.json(|| json!({ "command": "test", "streams": streams }))?;
    Ok(worst)
}

fn good_text(tested: &Stream) -> String {
    let i = &tested.info;
    format!(
        "{}: good, {}x{} values of {}, {} bytes\n",
        tested.name,
        i.nx,
        i.ny,
        i.dtype.name(),
        grouped(i.stream_bytes)
    )
}
