//! Reading the chunks of repaired vertices: everything is checked before anything is handed out.

use super::list::{decode, Entry, Positions, Repaired, ENTRY_BYTES};
use super::values::{Level, EXACT, FILLED, ZERO};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};

/// A list as a header describes it: a directory, and the chunks.
pub struct Listed<'a> {
    pub positions: Positions,
    /// Whether there may be chunks of filled vertices: in streams of volumes alone.
    pub may_be_filled: bool,
    pub chunks: u64,
    pub vertices: u64,
    pub exact: u64,
    pub body: &'a [u8],
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

/// A vertex of a list: its plane, column and row, its level, and what belongs to each component.
#[derive(Clone, Copy)]
pub struct ListedVertex<const N: usize> {
    pub z: u64,
    pub at: [u64; 2],
    pub level: Level,
    pub data: [u64; N],
}

impl<'a> Listed<'a> {
    pub fn check<T: Real, const N: usize>(&self, threads: Threads) -> Result<CheckedList<'a>> {
        let parts = self.parts()?;
        self.check_chunks::<T, N>(&parts, threads)?;
        Ok(CheckedList { positions: self.positions, parts })
    }

    /// The chunks: those of zero vertices, those of filled ones, then the others; together they are the body.
    fn parts(&self) -> Result<Vec<Part<'a>>> {
        let corrupt = || Error::corrupt("the directory of repaired vertices does not add up to its bytes");
        let chunks = usize::try_from(self.chunks).map_err(|_| corrupt())?;
        let directory = chunks.checked_mul(ENTRY_BYTES).ok_or_else(corrupt)?;
        let (directory, mut rest) = self.body.split_at_checked(directory).ok_or_else(corrupt)?;
        let mut parts = memory::with_capacity(chunks)?;
        let (mut vertices, mut kind) = (0, 0);
        for entry in directory.chunks_exact(ENTRY_BYTES) {
            let entry = Entry::read(entry.try_into().expect("an entry"))?;
            let (bytes, behind) = rest.split_at_checked(entry.bytes as usize).ok_or_else(corrupt)?;
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
            kind = kind_of(&entry);
            vertices += entry.vertices as u64;
            rest = behind;
            parts.push(Part { entry, bytes });
        }
        match rest.is_empty() && vertices == self.vertices {
            true => Ok(parts),
            false => Err(corrupt()),
        }
    }

    /// Decodes all chunks: they hold vertices of the grid, and those of one kind ascend.
    fn check_chunks<T: Real, const N: usize>(&self, parts: &[Part<'_>], threads: Threads) -> Result<()> {
        let found = threads.map(parts.len(), stateless, |_, k| {
            let mut exact = 0;
            let visit = |vertex: Repaired, _: [u64; N]| {
                exact += (vertex.level == EXACT) as u64;
                match self.positions.vertex(vertex.position) {
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
        match found.iter().map(|part| part.1).sum::<u64>() == self.exact {
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
                if let Some((z, at)) = self.positions.vertex(vertex.position) {
                    visit(ListedVertex { z, at, level: vertex.level, data });
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
