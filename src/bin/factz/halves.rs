//! Streams of one component: split from the stream of a field, and joined to it again.

use crate::args::{Join, Split};
use crate::failure::{failure, input_name, is_dash, output_name, Failure};
use crate::foreign::Product;
use crate::memory;
use crate::output::{is_standard, refuse_terminal, same_file, Output};
use crate::say::{counted, grouped, Voice};
use crate::steps::Streams;
use crate::stream::Stream;
use crate::Verdict;
use factz::{Execution, Report, Status};
use serde_json::{json, Value};
use std::path::Path;
use std::time::Instant;

/// A half takes this much more than the stream of both at most, unless that is tiny.
const ROOM: u64 = 4096;

/// Bytes of streams: of a field, of its u and of its v.
#[derive(Default)]
struct Sizes {
    streams: u64,
    bytes: [u64; 3],
    seconds: f64,
    list: Vec<Value>,
}

impl Sizes {
    /// Counts a stream and its halves; `place` is that of the one that was read.
    fn add(&mut self, place: &Stream, bytes: [u64; 3], since: Instant) {
        self.streams += 1;
        self.seconds += since.elapsed().as_secs_f64();
        self.bytes.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum += bytes);
        let [stream_bytes, u_bytes, v_bytes] = bytes;
        self.list.push(json!({
            "step": place.number,
            "offset": place.offset,
            "stream_bytes": stream_bytes,
            "u_bytes": u_bytes,
            "v_bytes": v_bytes,
        }));
    }

    fn json(&self, command: &str, stream: &str, [u, v]: [&str; 2]) -> Value {
        json!({
            "command": command,
            "stream": stream,
            "u": u,
            "v": v,
            "seconds": self.seconds,
            "streams": self.list,
        })
    }

    /// How many streams there were, and the bytes of those of both, of u and of v.
    fn texts(&self) -> [String; 4] {
        let [both, u, v] = self.bytes.map(grouped);
        [counted(self.streams, "stream", "streams"), both, u, v]
    }
}

/// Refuses the names of outputs that are inputs or each other, or no names of streams.
fn check_outputs(outputs: &[&Path], inputs: &[&Path]) -> Result<(), Failure> {
    for (k, output) in outputs.iter().enumerate() {
        let name = output_name(output);
        if inputs.iter().any(|input| !is_dash(input) && same_file(output, input)) {
            return Err(failure!("{name}: is an input and an output: give the output another name"));
        }
        let twice = |other: &&Path| same_file(other, output) || (is_standard(other) && is_standard(output));
        if outputs[..k].iter().any(twice) {
            return Err(failure!("{name}: is given for two outputs: give two names"));
        }
        Product::Stream.refuse_name(output)?;
        refuse_terminal(output)?;
    }
    Ok(())
}

pub fn split(a: &Split) -> Result<Verdict, Failure> {
    let outputs = [a.u.as_path(), a.v.as_path()];
    check_outputs(&outputs, &[&a.input])?;
    let voice = Voice::beside_data(&a.talk, outputs.iter().any(|path| is_standard(path)));
    let mut streams = Streams::open(&a.input, a.step.step)?;
    let [mut u, mut v] = [Output::create(&a.u)?, Output::create(&a.v)?];
    let mut sizes = Sizes::default();
    while let Some(stream) = streams.next()? {
        let start = Instant::now();
        let [of_u, of_v] = halves(&stream.bytes, a.threads).map_err(|e| e.about(&stream.name))?;
        sizes.add(&stream, [stream.bytes.len(), of_u.len(), of_v.len()].map(|n| n as u64), start);
        u.write(&of_u)?;
        v.write(&of_v)?;
    }
    Output::commit(vec![u, v])?;
    let names = outputs.map(output_name);
    let [u, v] = names.each_ref().map(String::as_str);
    voice.report(
        || sizes.json("split", &input_name(&a.input), [u, v]),
        || {
            let [count, both, u_bytes, v_bytes] = sizes.texts();
            format!("{u}, {v}: {count} of {both} bytes split into {u_bytes} of u and {v_bytes} of v\n")
        },
    )?;
    Ok(Verdict::Good)
}

/// The next streams of u and of v; none behind the last ones of both.
fn next_pair(
    [of_u, of_v]: [&mut Streams; 2],
    [u_name, v_name]: [&str; 2],
    before: u64,
) -> Result<Option<[Stream; 2]>, Failure> {
    match (of_u.next()?, of_v.next()?) {
        (Some(u), Some(v)) => Ok(Some([u, v])),
        (None, None) => Ok(None),
        (u, _) => {
            let (more, fewer) = if u.is_some() { (u_name, v_name) } else { (v_name, u_name) };
            Err(failure!(
                "{fewer}: holds {}, and {more} holds more: give files that were split from one, or --step K",
                counted(before, "stream", "streams")
            ))
        }
    }
}

pub fn join(a: &Join) -> Result<Verdict, Failure> {
    let inputs = [a.u.as_path(), a.v.as_path()];
    if inputs.iter().all(|path| is_dash(path)) {
        return Err(failure!("- is given for U and for V, but standard input can be read once"));
    }
    check_outputs(&[&a.output], &inputs)?;
    let voice = Voice::beside_data(&a.talk, is_standard(&a.output));
    let [mut of_u, mut of_v] = [Streams::open(&a.u, a.step.step)?, Streams::open(&a.v, a.step.step)?];
    let mut output = Output::create(&a.output)?;
    let mut sizes = Sizes::default();
    let names = inputs.map(input_name);
    let names = names.each_ref().map(String::as_str);
    while let Some([u, v]) = next_pair([&mut of_u, &mut of_v], names, sizes.streams)? {
        let start = Instant::now();
        let both = format!("{}, {}", u.name, v.name);
        let stream = joined([&u.bytes, &v.bytes], a.threads).map_err(|e| e.about(both))?;
        sizes.add(&u, [stream.len(), u.bytes.len(), v.bytes.len()].map(|n| n as u64), start);
        output.write(&stream)?;
    }
    Output::commit(vec![output])?;
    let name = output_name(&a.output);
    voice.report(
        || sizes.json("join", &name, names),
        || {
            let [count, both, u_bytes, v_bytes] = sizes.texts();
            format!("{name}: {count} of {both} bytes joined from {u_bytes} of u and {v_bytes} of v\n")
        },
    )?;
    Ok(Verdict::Good)
}

/// Fills buffers by work that reports how long they must be.
fn filled<const N: usize>(
    mut lengths: [u64; N],
    mut work: impl FnMut([&mut [u8]; N]) -> factz::Result<[Report; N]>,
) -> Result<[Vec<u8>; N], Failure> {
    loop {
        let mut buffers = lengths.map(|_| Vec::new());
        for (buffer, &length) in buffers.iter_mut().zip(&lengths) {
            *buffer = memory::zeros(length, "a stream")?;
        }
        let reports = work(buffers.each_mut().map(Vec::as_mut_slice))?;
        if reports.iter().all(|report| report.status == Status::Ok) {
            for (buffer, report) in buffers.iter_mut().zip(&reports) {
                buffer.truncate(report.stream_bytes as usize);
            }
            return Ok(buffers);
        }
        lengths = reports.map(|report| report.required_bytes);
    }
}

/// The streams of u and of v.
fn halves(stream: &[u8], threads: usize) -> Result<[Vec<u8>; 2], Failure> {
    let execution = Execution { threads, progress: None };
    filled([stream.len() as u64 + ROOM; 2], |dst| factz::split(stream, dst, execution))
}

/// The stream of both.
fn joined([u, v]: [&[u8]; 2], threads: usize) -> Result<Vec<u8>, Failure> {
    let execution = Execution { threads, progress: None };
    let length = (u.len() + v.len()) as u64 + ROOM;
    let [stream] = filled([length], |[dst]| Ok([factz::join(u, v, dst, execution)?]))?;
    Ok(stream)
}
