//! Streams as inputs: read, inspected and decoded.

use crate::args::{FillArguments, ShapeArguments, Spacing};
use crate::array::{Dims, Field};
use crate::engine::{Done, Engine};
use crate::failure::{failure, input_name, Failure};
use crate::input;
use crate::progress::Progress;
use crate::say::Voice;
use factz::{Report, Status, StreamInfo};
use std::path::Path;

/// A stream with its header.
pub struct Stream {
    /// For messages.
    pub name: String,
    pub bytes: Vec<u8>,
    pub info: StreamInfo,
}

impl Stream {
    pub fn read(path: &Path) -> Result<Stream, Failure> {
        Stream::of(path, input::read_stream(path)?)
    }

    /// Reads a file that begins as a stream does; none for another one, and for standard input.
    pub fn read_if_one(path: &Path) -> Result<Option<Stream>, Failure> {
        input::read_if_stream(path)?.map(|bytes| Stream::of(path, bytes)).transpose()
    }

    fn of(path: &Path, bytes: Vec<u8>) -> Result<Stream, Failure> {
        let name = input_name(path);
        let info = inspect_whole(&bytes).map_err(|e| e.about(&name))?;
        Ok(Stream { name, bytes, info })
    }

    pub fn dims(&self) -> Dims {
        Dims { nx: self.info.nx, ny: self.info.ny }
    }

    pub fn spacing(&self) -> Spacing {
        Spacing { dx: self.info.dx, dy: self.info.dy }
    }

    /// Bytes in the file behind the stream.
    pub fn surplus(&self) -> u64 {
        self.bytes.len() as u64 - self.info.stream_bytes
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

/// The header of a stream that is all there.
fn inspect_whole(stream: &[u8]) -> Result<StreamInfo, Failure> {
    let info = factz::inspect(stream)?;
    if info.stream_bytes > stream.len() as u64 {
        let text =
            format!("has {} bytes, its header says {}: the end is missing", stream.len(), info.stream_bytes);
        return Err(Failure { message: text, status: Some(Status::CorruptStream) });
    }
    Ok(info)
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
