//! The header of a stream (`info`), and a check of all of it (`test`).

use crate::args::{Info, Test};
use crate::engine::Engine;
use crate::failure::{failure, input_name, is_dash, Failure};
use crate::figures::{bound_kind_name, field_bytes, info_json, joined};
use crate::progress::Progress;
use crate::say::{grouped, Voice};
use crate::stream::Stream;
use crate::{input, Verdict};
use factz::{Status, StreamInfo};
use serde_json::{json, Value};
use std::fmt::Write;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The first bytes of a stream and the length of all.
fn read_start(path: &Path) -> std::io::Result<(Vec<u8>, u64)> {
    let mut start = Vec::new();
    let read = |reader: &mut dyn Read, start: &mut Vec<u8>| {
        reader.take(factz::INSPECT_BYTES as u64).read_to_end(start).map(|n| n as u64)
    };
    if is_dash(path) {
        let mut stdin = std::io::stdin().lock();
        let first = read(&mut stdin, &mut start)?;
        return Ok((start, first + std::io::copy(&mut stdin, &mut std::io::sink())?));
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    read(&mut file, &mut start)?;
    Ok((start, length))
}

pub fn info(a: &Info) -> Result<Verdict, Failure> {
    let name = input_name(&a.input);
    if is_dash(&a.input) {
        input::refuse_terminal(&name)?;
    }
    let (start, file_bytes) = read_start(&a.input).map_err(|e| failure!("{name}: cannot be read: {e}"))?;
    let i = factz::inspect(&start).map_err(|e| Failure::from(e).about(&name))?;
    Voice::new(&a.talk).report(
        || joined(json!({ "command": "info", "file": name, "file_bytes": file_bytes }), info_json(&i)),
        || info_text(&i, file_bytes),
    )?;
    Ok(Verdict::Good)
}

fn info_text(i: &StreamInfo, file_bytes: u64) -> String {
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
    if file_bytes != i.stream_bytes {
        line("file", format!("{} bytes: not the stream's length", grouped(file_bytes)));
    }
    line("format version", i.format_version.to_string());
    text
}

/// Decodes all of a stream.
fn test_one(path: &Path, engine: &Engine, voice: &Voice) -> Result<Stream, Failure> {
    let stream = Stream::read(path)?;
    stream.decode(engine, &Progress::new("testing", voice))?;
    Ok(stream)
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
            Ok(tested) => {
                voice.text(&good_text(&tested))?;
                let more = json!({ "result": "good", "surplus_bytes": tested.surplus() });
                joined(joined(file, more), info_json(&tested.info))
            }
            Err(e) => {
                eprintln!("factz: {e}");
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
    let surplus = match tested.surplus() {
        0 => String::new(),
        n => format!("; {} bytes behind its end are not part of it", grouped(n)),
    };
    format!(
        "{}: good, {}x{} values of {}, {} bytes{surplus}\n",
        tested.name,
        i.nx,
        i.ny,
        i.dtype.name(),
        grouped(i.stream_bytes)
    )
}
