//! The levels of all vertices to the bytes of a fix.

use super::header::{max_fix_bytes, Content, Header};
use super::list::{encode, Chunk, Positions, Repaired, CHUNK, ZERO_CHUNK};
use super::values::{number_of, Level, Values, EXACT, FILLED, UNCHANGED, ZERO};
use crate::analysis::in_bands;
use crate::error::Result;
use crate::grid::element::Real;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::checksum::seal;

/// The repaired vertices, by position: those that become zero, those that become filled, and all others.
pub struct Lists {
    by_kind: [Vec<Repaired>; 3],
    pub exact: u64,
}

impl Lists {
    pub fn of<T: Real, const N: usize>(
        values: &Values<'_, T, N>,
        positions: Positions,
        threads: Threads,
    ) -> Result<Lists> {
        let grid = values.grid;
        let bands = in_bands(grid, threads, |z, rows| {
            let mut found = Vec::new();
            for y in rows {
                let first = (z * grid.ny + y) * grid.nx;
                for x in 0..grid.nx {
                    let level = values.level(first + x);
                    if level != UNCHANGED {
                        let position = positions.of(z, [x, y]);
                        memory::push(&mut found, Repaired { position, level })?;
                    }
                }
            }
            found.sort_unstable_by_key(|vertex| vertex.position);
            Ok(found)
        })?;
        let all = || bands.iter().flatten().copied();
        let with = |kind: usize| -> Result<Vec<Repaired>> {
            let chosen = move |vertex: &Repaired| kind_of(vertex.level) == kind;
            let mut list = memory::with_capacity(all().filter(chosen).count())?;
            list.extend(all().filter(chosen));
            // The bands of planes follow one another, those of a volume do not.
            if !list.is_sorted_by_key(|vertex| vertex.position) {
                list.sort_unstable_by_key(|vertex| vertex.position);
            }
            Ok(list)
        };
        let exact = all().filter(|vertex| vertex.level == EXACT).count() as u64;
        Ok(Lists { by_kind: [with(0)?, with(1)?, with(2)?], exact })
    }

    pub fn vertices(&self) -> u64 {
        self.by_kind.iter().map(|list| list.len() as u64).sum()
    }

    /// Encodes the lists.
    pub fn chunks<T: Real, const N: usize>(
        &self,
        values: &Values<'_, T, N>,
        positions: Positions,
        threads: Threads,
    ) -> Result<Vec<Chunk>> {
        let mut parts = Vec::new();
        for (kind, list) in self.by_kind.iter().enumerate() {
            for part in list.chunks(if kind == OTHERS { CHUNK } else { ZERO_CHUNK }) {
                memory::push(&mut parts, part)?;
            }
        }
        threads.map(parts.len(), stateless, |_, k| {
            let data = |vertex: &Repaired, component| data_of(values, positions, vertex, component);
            encode(parts[k], N, 8 * T::BYTES as u32, data)
        })
    }
}

/// The list of a level: zero vertices, filled ones, others.
fn kind_of(level: Level) -> usize {
    match level {
        ZERO => 0,
        FILLED => 1,
        _ => OTHERS,
    }
}

const OTHERS: usize = 2;

/// Bytes of chunks and of their directory.
pub fn bytes_of(chunks: &[Chunk]) -> u64 {
    chunks.iter().map(|chunk| (chunk.entry.len() + chunk.bytes.len()) as u64).sum()
}

/// Chunks of a list, and the header that belongs to them.
pub struct Fix {
    pub header: Header,
    chunks: Vec<Chunk>,
}

/// Encodes lists; the numbers of `header` that depend on them are filled in.
pub fn encode_lists<T: Real, const N: usize>(
    values: &Values<'_, T, N>,
    lists: &Lists,
    header: Header,
    threads: Threads,
) -> Result<Fix> {
    let chunks = lists.chunks(values, header.positions(), threads)?;
    let bytes = bytes_of(&chunks);
    let most = max_fix_bytes(header.components, header.field_bytes());
    let mut header = Header {
        repaired_vertices: lists.vertices(),
        exact_vertices: lists.exact,
        chunks: chunks.len() as u64,
        fix_bytes: header.bytes() as u64 + bytes,
        ..header
    };
    if header.fix_bytes > most {
        (header.content, header.chunks, header.fix_bytes) = (Content::Stored, 0, most);
    }
    Ok(Fix { header, chunks })
}

/// The cell of a component of a vertex, or its bits.
fn data_of<T: Real, const N: usize>(
    values: &Values<'_, T, N>,
    positions: Positions,
    vertex: &Repaired,
    component: usize,
) -> u64 {
    let grid = values.grid;
    let (z, [x, y]) = positions.vertex(vertex.position).expect("a vertex of the grid");
    let [original, other] =
        [&values.original, &values.other].map(|views| views[component].plane(z).get(x as i64, y as i64));
    match vertex.level {
        EXACT => original.to_bits64(),
        level => values.refiner(number_of(grid, z, [x, y])).cell(level, original, other) as u64,
    }
}

impl Fix {
    /// Writes the fix to a buffer of its length.
    pub fn write<T: Real, const N: usize>(&self, values: &Values<'_, T, N>, out: &mut [u8]) {
        let (head, mut rest) = out.split_at_mut(self.header.bytes());
        self.header.write(head);
        let mut put = |bytes: &[u8]| {
            let (front, behind) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            front.copy_from_slice(bytes);
            rest = behind;
        };
        match self.header.content {
            Content::List => {
                self.chunks.iter().for_each(|chunk| put(&chunk.entry));
                self.chunks.iter().for_each(|chunk| put(&chunk.bytes));
            }
            Content::Stored => {
                for component in 0..N {
                    for vertex in 0..values.grid.vertices() {
                        let value = values.current(vertex)[component];
                        put(&value.to_bits64().to_le_bytes()[..T::BYTES]);
                    }
                }
            }
        }
        seal(out);
    }
}
