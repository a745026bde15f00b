//! Files of several streams, one behind the other, such as the time steps of a simulation. The streams have
//! numbers from 0 on, which `--step` takes.

use crate::failure::{failure, is_dash, Failure};
use crate::foreign::{self, begins_stream};
use crate::memory;
use crate::say::{counted, grouped};
use crate::shell::shell_name;
use crate::source::Source;
use crate::stream::Stream;
use factz::stream::header::{at, HEADER_BYTES, MAGIC, VOLUME_HEADER_BYTES};
use factz::{Status, StreamInfo};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A stream in its file.
#[derive(Clone, Copy)]
pub struct Step {
    pub number: u64,
    /// The first byte in the file.
    pub offset: u64,
    pub info: StreamInfo,
}

/// Why a file does not go on as a file of streams does.
pub struct Fault {
    pub kind: FaultKind,
    pub failure: Failure,
    /// The number of the stream, and the byte, where that is.
    pub number: u64,
    pub offset: u64,
}

pub enum FaultKind {
    /// The end of a stream is missing: the header if it is there, and the bytes that are missing.
    Cut(Option<Box<StreamInfo>>, u64),
    /// Bytes that are no stream, where their number is known.
    Garbage(Option<u64>),
    /// A header with values that it cannot have.
    Damaged,
}

impl Fault {
    pub fn is_garbage(&self) -> bool {
        matches!(self.kind, FaultKind::Garbage(_))
    }

    /// The stream whose end is missing, and how many bytes are, if its header is there.
    pub fn cut_step(&self) -> Option<(Step, u64)> {
        match &self.kind {
            FaultKind::Cut(Some(info), missing) => {
                Some((Step { number: self.number, offset: self.offset, info: **info }, *missing))
            }
            _ => None,
        }
    }
}

/// A failure that tells of a damaged file.
fn damaged(message: String) -> Failure {
    Failure { message, status: Some(Status::CorruptStream) }
}

/// The name of a stream in messages.
pub fn name_of(file: &str, number: u64) -> String {
    format!("{file}, stream {number}")
}

/// Goes from stream to stream.
pub struct Walk {
    source: Source,
    path: PathBuf,
    /// The number of the next stream.
    number: u64,
    /// The stream before that.
    last: Option<Step>,
}

/// Result of a step of a walk: a stream, the end, or a fault. A file that cannot be read is a [`Failure`].
pub type Found = Result<Option<Step>, Fault>;

impl Walk {
    /// Of a file or of standard input, which is read to its end; `to_the_end`: so is another pipe.
    pub fn open(path: &Path, to_the_end: bool) -> Result<Walk, Failure> {
        let mut source = Source::open(path)?;
        if to_the_end || is_dash(path) {
            source.wait_for_the_end();
        }
        Ok(Walk::over(source, path))
    }

    /// Of an open file.
    pub fn over(source: Source, path: &Path) -> Walk {
        Walk { source, path: path.into(), number: 0, last: None }
    }

    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// Bytes from the first stream to where the walk is.
    pub fn position(&self) -> u64 {
        self.source.position()
    }

    /// Looks at the header of the next stream. The first one must be there.
    pub fn header(&mut self) -> Result<Found, Failure> {
        let (number, offset) = (self.number, self.position());
        if number > 0 && !self.source.goes_on()? {
            return Ok(Ok(None));
        }
        let mut start = self.source.peek(HEADER_BYTES)?.to_vec();
        if start.get(at::COMPONENTS) == Some(&3) {
            start = self.source.peek(VOLUME_HEADER_BYTES)?.to_vec();
        }
        let error = match factz::inspect(&start) {
            Ok(info) => return Ok(Ok(Some(Step { number, offset, info }))),
            Err(e) => e,
        };
        let begins = start.starts_with(&MAGIC) || (number > 0 && MAGIC.starts_with(&start));
        if !begins {
            return Ok(Err(self.no_stream(&start)));
        }
        let (kind, failure) = match HEADER_BYTES.saturating_sub(start.len()) as u64 {
            0 => (FaultKind::Damaged, self.odd(Failure::from(error), number, offset)),
            missing => (FaultKind::Cut(None, missing), self.cut(number, offset, start.len() as u64, None)),
        };
        Ok(Err(Fault { kind, failure, number, offset }))
    }

    /// Passes over the stream whose header was looked at.
    pub fn pass(&mut self, step: &Step) -> Result<Result<(), Fault>, Failure> {
        let passed = self.source.skip(step.info.stream_bytes).map_err(|e| self.source.cannot(e))?;
        (self.number, self.last) = (self.number + 1, Some(*step));
        Ok(self.whole(step, passed))
    }

    /// Reads the stream whose header was looked at.
    pub fn take(&mut self, step: &Step) -> Result<Result<Vec<u8>, Fault>, Failure> {
        let expected = step.info.stream_bytes;
        let mut bytes = Vec::new();
        if self.source.left().is_some_and(|left| left >= expected) {
            memory::reserve(&mut bytes, expected, "the stream").map_err(|e| e.about(&self.source.name))?;
        }
        let read = self.source.by_ref().take(expected).read_to_end(&mut bytes);
        read.map_err(|e| self.source.cannot(e))?;
        (self.number, self.last) = (self.number + 1, Some(*step));
        Ok(self.whole(step, bytes.len() as u64).map(|()| bytes))
    }

    /// Whether so many bytes are all of a stream. Where some are missing, another stream may begin before
    /// the end of the file.
    fn whole(&self, step: &Step, bytes: u64) -> Result<(), Fault> {
        let &Step { number, offset, info } = step;
        let expected = info.stream_bytes;
        if bytes == expected {
            return Ok(());
        }
        Err(match self.source.next_stream(offset + 1) {
            Some(next) => self.cut_by(step, next),
            None => Fault {
                kind: FaultKind::Cut(Some(Box::new(info)), expected - bytes),
                failure: self.cut(number, offset, bytes, Some(expected)),
                number,
                offset,
            },
        })
    }

    /// A stream in messages: the file where it is the first one.
    fn place(&self, number: u64, offset: u64) -> String {
        match number {
            0 => self.name().into(),
            _ => format!("{}: stream {number}, which begins at byte {offset}", self.name()),
        }
    }

    /// The begin of a sentence about a stream of which there are so many bytes.
    fn has(&self, number: u64, offset: u64, bytes: u64) -> String {
        let separator = if number == 0 { ":" } else { "," };
        format!("{}{separator} has {bytes} bytes", self.place(number, offset))
    }

    /// The failure of a stream of which there are so many bytes.
    fn cut(&self, number: u64, offset: u64, bytes: u64, expected: Option<u64>) -> Failure {
        let needed = match expected {
            Some(expected) => format!("its header says {expected}"),
            None => format!("and the header of a stream takes {HEADER_BYTES}"),
        };
        let mut text = format!("{}, {needed}: the end is missing", self.has(number, offset, bytes));
        if number > 0 {
            let cutting = self.cutting(offset);
            text += &format!("; {cutting} leaves it out, and --step K reads one of those before it");
        }
        damaged(text)
    }

    /// The failure of a header that no stream has.
    fn odd(&self, error: Failure, number: u64, offset: u64) -> Failure {
        let Failure { message, status } = error.about(self.place(number, offset));
        let behind = self
            .source
            .next_stream(offset + 1)
            .map(|next| format!("; another stream begins at byte {next}: {}", self.apart(offset, next)));
        Failure { message: message + &behind.unwrap_or_default(), status }
    }

    /// The fault of bytes that are no stream: all of the file, or those behind the last stream. Where another
    /// stream begins in the last one, that is cut off.
    fn no_stream(&self, start: &[u8]) -> Fault {
        let (number, offset, bytes) = (self.number, self.position(), self.source.left());
        let garbage = |text: String| Fault {
            kind: FaultKind::Garbage(bytes),
            failure: damaged(format!("{}: {text}", self.name())),
            number,
            offset,
        };
        let Some(last) = &self.last else {
            return garbage(foreign::of_stream(&self.path, start).unwrap_or(match start.is_empty() {
                true => "is empty: it holds no stream".into(),
                false => "is no factz stream: it does not begin with the mark FCTZ".into(),
            }));
        };
        let bytes_of = |n: u64| counted(n, "byte", "bytes");
        let place = format!("behind stream {}, from byte {offset} on", last.number);
        match (self.source.next_stream(last.offset + 1), bytes) {
            (Some(next), _) if next < offset => self.cut_by(last, next),
            (Some(next), _) => garbage(format!(
                "has {} {place}, in which no stream begins; {}",
                bytes_of(next - offset),
                self.apart(offset, next)
            )),
            (None, bytes) => garbage(format!(
                "has {} {place}, in which no stream begins; {} leaves them out, and `factz decompress --step K` reads \
                 one of the streams before",
                bytes.map_or("more bytes".into(), bytes_of),
                self.cutting(offset)
            )),
        }
    }

    /// The fault of a stream in which another one begins.
    fn cut_by(&self, step: &Step, next: u64) -> Fault {
        let &Step { number, offset, info } = step;
        let (there, expected) = (next - offset, info.stream_bytes);
        let failure = damaged(format!(
            "{}, its header says {expected}: the end is missing, and another stream follows; {}",
            self.has(number, offset, there),
            self.apart(offset, next)
        ));
        Fault { kind: FaultKind::Cut(Some(Box::new(info)), expected - there), failure, number, offset }
    }

    /// The commands that keep the streams before a place, and those from the next stream on.
    fn apart(&self, offset: u64, next: u64) -> String {
        let tail = format!("`tail -c +{} {} > NEW`", next + 1, shell_name(&self.path));
        match offset {
            0 => format!("{tail} keeps the streams from there on"),
            _ => format!(
                "{} keeps the streams before it, {tail} those from byte {next} on",
                self.cutting(offset)
            ),
        }
    }

    /// The command that keeps the bytes before a place.
    fn cutting(&self, offset: u64) -> String {
        match self.source.length() {
            Some(_) if !is_dash(&self.path) => {
                format!("`head -c {offset} {} > NEW`", shell_name(&self.path))
            }
            _ => format!("`head -c {offset}` in the pipe"),
        }
    }
}

/// The streams of a file, whose headers were read.
pub struct Steps {
    walk: Walk,
    pub found: Vec<Step>,
    /// Where the streams end, if not with the file.
    pub fault: Option<Fault>,
    /// Streams of a pipe by their numbers, which cannot be read later on.
    kept: VecDeque<(u64, Vec<u8>)>,
}

/// The streams of a pipe that are kept while it is read.
#[derive(Clone, Copy)]
enum Keep {
    None,
    Number(u64),
    Last(u64),
}

impl Keep {
    fn of(step: Option<i64>) -> Keep {
        match step {
            None => Keep::Number(0),
            Some(k) if k < 0 => Keep::Last(k.unsigned_abs()),
            Some(k) => Keep::Number(k as u64),
        }
    }
}

impl Steps {
    /// Looks at the headers of all streams.
    pub fn list(path: &Path, step: Option<i64>) -> Result<Steps, Failure> {
        Steps::walked(Walk::open(path, step.is_some())?, Keep::None)
    }

    /// Looks at all headers of an open file.
    pub fn over(source: Source, path: &Path) -> Result<Steps, Failure> {
        Steps::walked(Walk::over(source, path), Keep::None)
    }

    fn walked(walk: Walk, keep: Keep) -> Result<Steps, Failure> {
        let mut steps = Steps { walk, found: Vec::new(), fault: None, kept: VecDeque::new() };
        loop {
            let step = match steps.walk.header()? {
                Ok(Some(step)) => step,
                Ok(None) => return Ok(steps),
                Err(fault) if steps.found.is_empty() => return Err(fault.failure),
                Err(fault) => {
                    // The last stream may turn out to be cut off.
                    steps.found.truncate(fault.number as usize);
                    steps.fault = Some(fault);
                    return Ok(steps);
                }
            };
            match steps.keep(&step, keep)? {
                Ok(()) => steps.found.push(step),
                Err(fault) => {
                    steps.fault = Some(fault);
                    return Ok(steps);
                }
            }
        }
    }

    /// Passes over a stream, and keeps it if a pipe has it and it may be wanted.
    fn keep(&mut self, step: &Step, keep: Keep) -> Result<Result<(), Fault>, Failure> {
        let wanted = match keep {
            Keep::None => false,
            Keep::Number(number) => number == step.number,
            Keep::Last(_) => true,
        };
        if !wanted || self.walk.source.length().is_some() {
            return self.walk.pass(step);
        }
        Ok(self.walk.take(step)?.map(|bytes| {
            self.kept.push_back((step.number, bytes));
            if matches!(keep, Keep::Last(count) if self.kept.len() as u64 > count) {
                self.kept.pop_front();
            }
        }))
    }

    pub fn name(&self) -> &str {
        self.walk.name()
    }

    /// Bytes of all streams, or of the file where more is known.
    pub fn bytes(&self) -> Option<u64> {
        let walked = match &self.fault {
            Some(Fault { kind: FaultKind::Cut(info, missing), offset, .. }) => {
                Some(offset + info.as_ref().map_or(HEADER_BYTES as u64, |i| i.stream_bytes) - missing)
            }
            Some(_) => None,
            None => Some(self.walk.position()),
        };
        self.walk.source.length().or(walked)
    }

    /// The stream that `--step` means. Without the option there must be one alone. What is behind the stream
    /// may be damaged, or cut off as by a writer that was stopped, unless the number counts from the end.
    pub fn chosen(&mut self, step: Option<i64>) -> Result<Step, Failure> {
        let count = self.found.len() as u64;
        let Some(k) = step else {
            return match (self.fault.take(), &self.found[..]) {
                (Some(fault), _) => Err(fault.failure),
                (None, &[only]) => Ok(only),
                (None, _) => Err(self.several()),
            };
        };
        let before_the_fault = k >= 0 && (k as u64) < count;
        match self.fault.take() {
            Some(fault) if !before_the_fault => return Err(fault.failure),
            _ => {}
        }
        let number = if k < 0 { count.checked_sub(k.unsigned_abs()) } else { Some(k as u64) };
        let found = number.and_then(|number| self.found.get(usize::try_from(number).ok()?));
        found.copied().ok_or_else(|| {
            let (last, name) = (count - 1, self.name());
            match last {
                0 => failure!("--step {k}: {name} holds one stream: give 0, or leave --step out"),
                _ => failure!(
                    "--step {k}: {name} holds {} streams: give 0 to {last}, or -{count} to -1 from the end",
                    grouped(count)
                ),
            }
        })
    }

    /// The failure where a command takes one stream.
    fn several(&self) -> Failure {
        let (name, count) = (self.name(), self.found.len());
        failure!(
            "{name}: holds {} streams: give --step K, 0 to {}, or -1 for the last one; `factz info {}` lists \
             them",
            grouped(count as u64),
            count - 1,
            shell_name(&self.walk.path)
        )
    }

    /// Reads a stream.
    fn read(mut self, step: &Step) -> Result<Stream, Failure> {
        let name = match self.found.len() {
            1 => self.name().to_owned(),
            _ => name_of(self.name(), step.number),
        };
        let kept = self.kept.into_iter().find(|(number, _)| *number == step.number);
        let bytes = match kept {
            Some((_, bytes)) => bytes,
            None => {
                self.walk.source.go_to(step.offset).map_err(|e| self.walk.source.cannot(e))?;
                self.walk.take(step)?.map_err(|fault| fault.failure)?
            }
        };
        let &Step { number, offset, info } = step;
        Ok(Stream { name, bytes, info, number, offset })
    }
}

/// The streams of a file one after the other, or that which `--step` means.
pub struct Streams {
    walk: Option<Walk>,
    chosen: Option<Stream>,
}

impl Streams {
    pub fn open(path: &Path, step: Option<i64>) -> Result<Streams, Failure> {
        Ok(match step {
            None => Streams { walk: Some(Walk::open(path, true)?), chosen: None },
            Some(_) => Streams { walk: None, chosen: Some(read(path, step)?) },
        })
    }

    /// Reads the next stream; none behind the last one.
    pub fn next(&mut self) -> Result<Option<Stream>, Failure> {
        let Some(walk) = &mut self.walk else { return Ok(self.chosen.take()) };
        let Some(step) = walk.header()?.map_err(|fault| fault.failure)? else { return Ok(None) };
        let bytes = walk.take(&step)?.map_err(|fault| fault.failure)?;
        let Step { number, offset, info } = step;
        let name = if number == 0 { walk.name().to_owned() } else { name_of(walk.name(), number) };
        Ok(Some(Stream { name, bytes, info, number, offset }))
    }
}

/// Finds the one stream of a regular file, or that of several which `--step` means, without reading it.
pub fn find(path: &Path, step: Option<i64>) -> Result<Option<Step>, Failure> {
    if is_dash(path) || !path.is_file() {
        return Ok(None);
    }
    Steps::list(path, step)?.chosen(step).map(Some)
}

/// Reads the one stream of a file, or that of several which `--step` means.
pub fn read(path: &Path, step: Option<i64>) -> Result<Stream, Failure> {
    let walk = Walk::open(path, step.is_some())?;
    let mut steps = Steps::walked(walk, Keep::of(step))?;
    let chosen = steps.chosen(step)?;
    steps.read(&chosen)
}

/// Whether a regular file begins as a stream does.
pub fn is_stream(path: &Path) -> bool {
    let mut start = [0; 8];
    let looks = |mut file: File| file.read_exact(&mut start);
    !is_dash(path) && path.is_file() && File::open(path).and_then(looks).is_ok() && begins_stream(&start)
}

/// Reads a file that begins as a stream does, or that stream of several which `--step` means; none for
/// another file, and for what is no regular one. Reading the file as an array reports a file that cannot be
/// read.
pub fn read_if_stream(path: &Path, step: Option<i64>) -> Result<Option<Stream>, Failure> {
    match is_stream(path) {
        true => read(path, step).map(Some),
        false => Ok(None),
    }
}
