//! Reading the chunks of repaired vertices: everything is checked before anything is handed out.

use super::list::{decode, Entry, Positions, Repaired, ENTRY_BYTES};
use super::values::{Level, EXACT, FILLED, ZERO};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use std::ops::Range;

/// A list as a header describes it.
#[derive(Clone, Copy)]
pub struct Listed {
    pub positions: Positions,
    /// Whether there may be chunks of filled vertices: in streams of volumes alone.
    pub may_be_filled: bool,
    pub chunks: u64,
    pub vertices: u64,
    pub exact: u64,
    /// Bytes of the directory and the chunks.
    pub bytes: u64,
}

/// The directory of a list, whose chunks add up.
pub struct Directory {
    list: Listed,
    chunks: Vec<Place>,
}

/// A chunk, and where it is in the list.
struct Place {
    entry: Entry,
    bytes: Range<u64>,
    /// No vertex of the chunk is at this position or behind it.
    end: u64,
}

/// A chunk of the list.
struct Part<'a> {
    entry: Entry,
    bytes: &'a [u8],
}

/// A list that was found intact.
pub struct CheckedList<'a> {
    positions: Positions,
    parts: Vec<Part<'a>>,
}

/// A vertex of a list: its column, row and plane, its level, and what belongs to each component.
#[derive(Clone, Copy)]
pub struct ListedVertex<const N: usize> {
    pub at: [u64; 3],
    pub level: Level,
    pub data: [u64; N],
}

impl Listed {
    /// Bytes of the directory, which the list begins with.
    pub fn directory_bytes(&self) -> Result<u64> {
        let bytes = self.chunks.checked_mul(ENTRY_BYTES as u64);
        bytes.filter(|&bytes| bytes <= self.bytes).ok_or_else(does_not_add_up)
    }

    /// Reads the directory: chunks of zero vertices, those of filled ones, then the others. Together they are the
    /// rest of the list.
    pub fn read_directory(&self, directory: &[u8]) -> Result<Directory> {
        let mut chunks = memory::with_capacity::<Place>(directory.len() / ENTRY_BYTES)?;
        let (mut vertices, mut kind, mut start) = (0, 0, directory.len() as u64);
        for entry in directory.chunks_exact(ENTRY_BYTES) {
            let entry = Entry::read(entry.try_into().expect("an entry"))?;
            if kind_of(&entry) < kind {
                return Err(Error::corrupt(
                    "chunks of repaired vertices are not in the order of their kinds",
                ));
            }
            if entry.level() == Some(FILLED) && !self.may_be_filled {
                return Err(Error::corrupt(
                    "the fix holds a chunk of filled vertices, which streams of volumes alone have",
                ));
            }
            if let Some(before) = chunks.last_mut().filter(|_| kind_of(&entry) == kind) {
                before.end = entry.first;
            }
            kind = kind_of(&entry);
            vertices += entry.vertices as u64;
            let bytes = start..start + entry.bytes as u64;
            start = bytes.end;
            chunks.push(Place { entry, bytes, end: u64::MAX });
        }
        match start == self.bytes && vertices == self.vertices {
            true => Ok(Directory { list: *self, chunks }),
            false => Err(does_not_add_up()),
        }
    }
}

fn does_not_add_up() -> Error {
    Error::corrupt("the directory of repaired vertices does not add up to its bytes")
}

impl Directory {
    /// Leaves out chunks: those that have no vertex in the tiles that `takes` wants.
    pub fn retain(&mut self, takes: impl Fn(Range<u64>) -> bool) {
        let positions = self.list.positions;
        self.chunks.retain(|chunk| {
            let tiles = positions.tiles(chunk.entry.first..chunk.end);
            !tiles.is_empty() && takes(tiles)
        });
    }

    /// Where the chunks are in the list.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u64>> + Clone + '_ {
        self.chunks.iter().map(|chunk| chunk.bytes.clone())
    }

    /// Checks the chunks, whose bytes in the list `get` gives.
    pub fn check<'a, T: Real, const N: usize>(
        &self,
        get: impl Fn(Range<u64>) -> &'a [u8],
        threads: Threads,
    ) -> Result<CheckedList<'a>> {
        let mut parts = memory::with_capacity(self.chunks.len())?;
        parts.extend(
            self.chunks.iter().map(|chunk| Part { entry: chunk.entry, bytes: get(chunk.bytes.clone()) }),
        );
        self.check_chunks::<T, N>(&parts, threads)?;
        Ok(CheckedList { positions: self.list.positions, parts })
    }

    /// Decodes chunks: they hold vertices of the grid, and those of one kind ascend.
    fn check_chunks<T: Real, const N: usize>(&self, parts: &[Part<'_>], threads: Threads) -> Result<()> {
        let found = threads.map(parts.len(), stateless, |_, k| {
            let mut exact = 0;
            let visit = |vertex: Repaired, _: [u64; N]| {
                exact += (vertex.level == EXACT) as u64;
                match self.list.positions.vertex(vertex.position) {
                    Some(_) => Ok(()),
                    None => Err(Error::corrupt("a repaired vertex is none that the grid has")),
                }
            };
            let last = decode(&parts[k].entry, parts[k].bytes, 8 * T::BYTES as u32, visit)?;
            Ok((last, exact))
        })?;
        for (k, pair) in parts.windows(2).enumerate() {
            let [one, next] = [&pair[0].entry, &pair[1].entry];
            if kind_of(one) == kind_of(next) && next.first <= found[k].0 {
                return Err(Error::corrupt("the chunks of repaired vertices do not ascend"));
            }
        }
        let exact = found.iter().map(|part| part.1).sum::<u64>();
        match parts.len() as u64 != self.list.chunks || exact == self.list.exact {
            true => Ok(()),
            false => Err(Error::corrupt("the header holds another number of exact vertices")),
        }
    }
}

/// The place of a chunk among the kinds.
fn kind_of(entry: &Entry) -> usize {
    match entry.level() {
        Some(ZERO) => 0,
        Some(_) => 1,
        None => 2,
    }
}

impl CheckedList<'_> {
    /// Whether there are zero vertices or filled ones.
    pub fn has_constant_chunks(&self) -> bool {
        self.parts.first().is_some_and(|part| part.entry.level().is_some())
    }

    /// Hands out the vertices of the chunks with one level, or (None) those with levels of their own, each by one
    /// thread: no two of them are the same.
    pub fn for_each<T: Real, const N: usize>(
        &self,
        level: Option<Level>,
        threads: Threads,
        visit: impl Fn(ListedVertex<N>) + Sync,
    ) -> Result<()> {
        let first = self.parts.partition_point(|part| kind_of(&part.entry) < kind_of_level(level));
        let end = self.parts.partition_point(|part| kind_of(&part.entry) <= kind_of_level(level));
        let parts = &self.parts[first..end];
        threads.for_each(parts.len(), stateless, |_, k| {
            let each = |vertex: Repaired, data: [u64; N]| {
                if let Some((z, [x, y])) = self.positions.vertex(vertex.position) {
                    visit(ListedVertex { at: [x, y, z], level: vertex.level, data });
                }
                Ok(())
            };
            decode(&parts[k].entry, parts[k].bytes, 8 * T::BYTES as u32, each).map(|_| ())
        })
    }
}

fn kind_of_level(level: Option<Level>) -> usize {
    match level {
        Some(ZERO) => 0,
        Some(_) => 1,
        None => 2,
    }
}
