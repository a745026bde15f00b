//! Where the bytes of a stream come from: memory, or a function that reads pieces of a file or an object.

use crate::error::{Error, Result};
use crate::runtime::{memory, panics};
use crate::stream::checksum;
use std::borrow::Cow;
use std::ops::Range;

/// Reads bytes of a stream from an offset on, as many as there is room for.
pub type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) -> Result<()> + 'a;

/// A stream of which a part is read.
pub enum Source<'a> {
    /// The stream, which bytes may follow.
    Memory(&'a [u8]),
    /// A function, and the number of bytes that it can read. The thread of the call runs it, once for each piece,
    /// from the first piece to the last.
    Read(u64, &'a mut ReadAt<'a>),
}

impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(stream: &'a [u8]) -> Self {
        Source::Memory(stream)
    }
}

impl<'a> Source<'a> {
    /// Bytes that there are.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Source::Memory(stream) => stream.len() as u64,
            Source::Read(length, _) => *length,
        }
    }

    /// The first bytes, of which there are so many.
    pub(crate) fn start(&mut self, count: u64) -> Result<Cow<'a, [u8]>> {
        match self {
            Source::Memory(stream) => Ok(Cow::Borrowed(&stream[..count as usize])),
            Source::Read(_, read) => Ok(Cow::Owned(read_piece(read, 0..count)?)),
        }
    }

    /// Runs `read` with this source, whose first bytes are known: they are not read again.
    pub(crate) fn behind<R>(self, start: &[u8], read: impl FnOnce(Source<'_>) -> Result<R>) -> Result<R> {
        let (length, read_at) = match self {
            Source::Memory(stream) => return read(Source::Memory(stream)),
            Source::Read(length, read_at) => (length, read_at),
        };
        let mut behind_start = |offset: u64, to: &mut [u8]| {
            let known = start.get(offset as usize..).unwrap_or(&[]);
            let (known, rest) = (&known[..known.len().min(to.len())], to);
            rest[..known.len()].copy_from_slice(known);
            match &mut rest[known.len()..] {
                [] => Ok(()),
                rest => read_at(offset + known.len() as u64, rest),
            }
        };
        read(Source::Read(length, &mut behind_start))
    }

    /// Bytes in ascending ranges that do not overlap; ranges without a gap between them are read together.
    pub(crate) fn fetch(&mut self, ranges: impl Iterator<Item = Range<u64>> + Clone) -> Result<Fetched<'a>> {
        let read = match self {
            Source::Memory(stream) => return Ok(Fetched::Memory(stream)),
            Source::Read(_, read) => read,
        };
        let mut pieces: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match pieces.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => memory::push(&mut pieces, range)?,
            }
        }
        let mut read_pieces = memory::with_capacity(pieces.len())?;
        for piece in pieces {
            read_pieces.push((piece.start, read_piece(read, piece)?));
        }
        Ok(Fetched::Pieces(read_pieces))
    }
}

fn read_piece(read: &mut ReadAt<'_>, range: Range<u64>) -> Result<Vec<u8>> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    let length = usize::try_from(range.end - range.start).map_err(|_| memory::out_of_memory())?;
    let mut bytes = memory::filled(length, 0)?;
    panics::as_host(|| read(range.start, &mut bytes))?;
    Ok(bytes)
}

/// Bytes of a stream, by their places in it.
pub(crate) enum Fetched<'a> {
    Memory(&'a [u8]),
    /// In ascending order, with their offsets.
    Pieces(Vec<(u64, Vec<u8>)>),
}

impl Fetched<'_> {
    /// Bytes of one of the ranges that were fetched.
    pub(crate) fn get(&self, range: Range<u64>) -> &[u8] {
        let (offset, bytes) = match self {
            Fetched::Memory(stream) => (0, *stream),
            Fetched::Pieces(pieces) => {
                let (offset, bytes) = &pieces[pieces.partition_point(|piece| piece.0 <= range.start) - 1];
                (*offset, &bytes[..])
            }
        };
        &bytes[(range.start - offset) as usize..(range.end - offset) as usize]
    }

    /// Refuses a whole stream of so many bytes, with this start, whose checksum does not match.
    pub(crate) fn check_seal(&self, start: &[u8], stream_bytes: u64) -> Result<()> {
        let rest = self.get(start.len() as u64..stream_bytes);
        match checksum::are_sealed(start, rest) {
            true => Ok(()),
            false => Err(Error::corrupt(
                "the checksum does not match: the stream was damaged after it was written",
            )),
        }
    }
}
