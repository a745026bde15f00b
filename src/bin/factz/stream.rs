//! Streams as inputs: read, inspected and decoded.

use crate::array::{Dims, Field};
use crate::engine::{Done, Engine};
use crate::failure::{failure, is_dash, Failure};
use crate::foreign::{self, begins_stream};
use crate::options::{FillArguments, ShapeArguments, Spacing};
use crate::progress::Progress;
use crate::say::{counted, grouped, Voice};
use crate::shell::shell_name;
use crate::source::Source;
use crate::{input, memory};
use factz::stream::header::{HEADER_BYTES, MAGIC};
use factz::{Report, Status, StreamInfo};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file or standard input whose stream has a good header.
pub struct Opened {
    source: Source,
    path: PathBuf,
    pub info: StreamInfo,
}

/// Bytes that are missing of a stream, or follow it.
#[derive(Clone, Copy)]
pub enum Rest {
    Nothing,
    /// The bytes that there are.
    Truncated(u64),
    /// The bytes behind it, where their number is known, and whether they begin as a stream does.
    Surplus(Option<u64>, bool),
}

/// A failure that tells of a damaged file.
fn damaged(message: String) -> Failure {
    Failure { message, status: Some(Status::CorruptStream) }
}

impl Opened {
    pub fn open(path: &Path) -> Result<Opened, Failure> {
        let mut source = Source::open(path)?;
        let name = source.name.clone();
        let start = source.peek(HEADER_BYTES)?;
        if !begins_stream(start) && !start.starts_with(&MAGIC) {
            let what = foreign::of_stream(path, start);
            let text = what.unwrap_or("is no factz stream: it does not begin with the mark FCTZ".into());
            return Err(damaged(format!("{name}: {text}")));
        }
        if start.len() < HEADER_BYTES {
            let bytes = start.len();
            return Err(damaged(format!(
                "{name}: has {bytes} bytes, and the header of a stream takes {HEADER_BYTES}: the end is missing"
            )));
        }
        let info = factz::inspect(start).map_err(|e| Failure::from(e).about(&name))?;
        Ok(Opened { source, path: path.into(), info })
    }

    /// For messages.
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// The file at its first byte.
    pub fn into_file(self) -> Result<File, Failure> {
        let name = self.source.name.clone();
        self.source.into_file().map_err(|e| failure!("{name}: cannot be read: {e}"))
    }

    /// Bytes of the file, known of regular files.
    pub fn file_bytes(&self) -> Option<u64> {
        self.source.length()
    }

    /// Looks behind the stream.
    pub fn rest(&mut self) -> Result<Rest, Failure> {
        let skipped = self.source.skip(self.info.stream_bytes);
        self.behind(skipped.map_err(|e| self.source.cannot(e))?)
    }

    /// Bytes behind so many of the stream, which were read.
    fn behind(&mut self, read: u64) -> Result<Rest, Failure> {
        if read < self.info.stream_bytes {
            return Ok(Rest::Truncated(read));
        }
        let left = self.source.left();
        Ok(match self.source.behind(HEADER_BYTES)? {
            None => Rest::Nothing,
            Some(next) => Rest::Surplus(left, begins_stream(&next)),
        })
    }

    /// The whole stream, with which the file must end.
    fn read(self) -> Result<Stream, Failure> {
        match self.read_first()? {
            (stream, None) => Ok(stream),
            (stream, Some(surplus)) => Err(damaged(format!("{}: {surplus}", stream.name))),
        }
    }

    /// The whole stream, and a sentence about what follows it.
    pub fn read_first(mut self) -> Result<(Stream, Option<String>), Failure> {
        let expected = self.info.stream_bytes;
        let mut bytes = Vec::new();
        if self.source.left().is_some_and(|left| left >= expected) {
            memory::reserve(&mut bytes, expected, "the stream").map_err(|e| e.about(&self.source.name))?;
        }
        let read = self.source.by_ref().take(expected).read_to_end(&mut bytes);
        read.map_err(|e| self.source.cannot(e))?;
        let rest = self.behind(bytes.len() as u64)?;
        let name = self.source.name;
        match (rest, rest.sentence(&self.path, expected)) {
            (Rest::Truncated(_), Some(text)) => Err(damaged(format!("{name}: {text}"))),
            (_, surplus) => Ok((Stream { name, bytes, info: self.info }, surplus)),
        }
    }
}

impl Rest {
    /// Fault of a file, with the commands that cut it.
    pub fn sentence(self, path: &Path, stream_bytes: u64) -> Option<String> {
        let file = shell_name(path);
        let (end, next) = (grouped(stream_bytes), stream_bytes + 1);
        Some(match self {
            Rest::Nothing => return None,
            Rest::Truncated(bytes) => {
                format!("has {bytes} bytes, its header says {stream_bytes}: the end is missing")
            }
            Rest::Surplus(None, is_stream) => format!(
                "goes on behind its stream of {end} bytes{}; `head -c {stream_bytes}` in the pipe cuts it there",
                if is_stream { ", with another stream" } else { "" }
            ),
            Rest::Surplus(Some(bytes), true) => format!(
                "holds several streams: {} bytes follow the first one, of {end} bytes, and begin with another; \
                 `head -c {stream_bytes} {file} > first.fz` and `tail -c +{next} {file} > rest.fz` part them",
                grouped(bytes)
            ),
            Rest::Surplus(Some(bytes), false) => format!(
                "{} follow its stream of {end} bytes and are no stream; `head -c {stream_bytes} {file} > NEW` leaves \
                 them out",
                counted(bytes, "byte", "bytes")
            ),
        })
    }
}

/// A whole stream with its header.
pub struct Stream {
    /// For messages.
    pub name: String,
    pub bytes: Vec<u8>,
    pub info: StreamInfo,
}

impl Stream {
    pub fn read(path: &Path) -> Result<Stream, Failure> {
        Stream::of(Opened::open(path)?)
    }

    /// The one stream of an open file.
    pub fn of(opened: Opened) -> Result<Stream, Failure> {
        opened.read()
    }

    /// Reads a file that begins as a stream does; none for another one, and for what is no regular file.
    pub fn read_if_one(path: &Path) -> Result<Option<Stream>, Failure> {
        let mut start = [0; 8];
        // Reading the file as an array reports a file that cannot be read.
        let looks = |mut file: File| file.read_exact(&mut start);
        match !is_dash(path)
            && path.is_file()
            && File::open(path).and_then(looks).is_ok()
            && begins_stream(&start)
        {
            true => Stream::read(path).map(Some),
            false => Ok(None),
        }
    }

    pub fn dims(&self) -> Dims {
        Dims { nx: self.info.nx, ny: self.info.ny }
    }

    pub fn spacing(&self) -> Spacing {
        Spacing { dx: self.info.dx, dy: self.info.dy }
    }

    /// The field, and what decoding it took.
    pub fn decode(&self, engine: &Engine, progress: &Progress) -> Result<(Field, Done<Report>), Failure> {
        let decoded = || {
            let mut field = Field::empty(self.dims(), self.info.dtype)?;
            field.fill_value = self.info.fill_value;
            let done = engine.decompress(&self.bytes, &mut field, progress)?;
            Ok((field, done))
        };
        decoded().map_err(|e: Failure| e.about(&self.name))
    }
}

/// A field from arrays or from a stream, with the spacing of the stream, otherwise 1,1.
pub struct Single {
    pub field: Field,
    pub spacing: Spacing,
}

/// Reads one field, given by a file with both components, by a file for each, or by a stream.
pub fn read_field(
    files: &[&Path],
    shape: &ShapeArguments,
    fill: &FillArguments,
    engine: &Engine,
    voice: &Voice,
) -> Result<Single, Failure> {
    for path in files {
        let Some(stream) = Stream::read_if_one(path)? else { continue };
        check(&stream, files, shape)?;
        let (mut field, _) = stream.decode(engine, &Progress::new("decompressing", voice))?;
        field.fill_value = fill.fill_value.or(field.fill_value);
        return Ok(Single { field, spacing: stream.spacing() });
    }
    let field = input::read_field(files, &shape.expected(fill.fill_value))?;
    Ok(Single { field, spacing: Spacing::UNIT })
}

/// A stream holds both components and tells its shape and type, which options may only repeat.
fn check(stream: &Stream, files: &[&Path], shape: &ShapeArguments) -> Result<(), Failure> {
    let Stream { name, info, .. } = stream;
    if files.len() > 1 {
        return Err(failure!("{name}: is a stream of both components: give it alone, in place of U and V"));
    }
    if shape.dims.is_some_and(|d| d != stream.dims()) || shape.dtype.is_some_and(|t| t != info.dtype) {
        let (dims, dtype) = (stream.dims(), info.dtype.name());
        return Err(failure!(
            "{name}: holds {dims} values of {dtype} (columns x rows), --dims or --dtype say otherwise: leave them out"
        ));
    }
    Ok(())
}
