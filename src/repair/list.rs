//! The list of repaired vertices (FORMAT.md, section 10.4): chunks that are decoded on their own.

use super::bits::{golomb_bits, BitReader, BitWriter};
use super::values::{Level, EXACT, FILLED, ZERO};
use crate::error::{Error, Result};
use crate::grid::tiles::{Grid, TILE, TILE_VERTICES};
use crate::grid::volume_tiles::{VolumeGrid, SIDE, VOLUME_TILE_VERTICES};
use crate::runtime::memory;
use crate::stream::header::{LIST_CHUNK, LIST_ENTRY_BYTES};
use std::ops::Range;

/// Most vertices of a chunk.
pub const CHUNK: usize = LIST_CHUNK as usize;
/// Most vertices of a chunk whose vertices are all zero, or all filled: long runs take few bits.
pub const ZERO_CHUNK: usize = 16384;
/// Bytes of a chunk's entry in the directory.
pub const ENTRY_BYTES: usize = LIST_ENTRY_BYTES as usize;
/// Largest order of the code of gaps.
pub const MAX_ORDER: u32 = 40;
/// Largest order of the code of levels.
pub const MAX_LEVEL_ORDER: u32 = 4;
/// In place of the order of the code of levels: all vertices of the chunk are zero, or filled, and have no level
/// and no bits.
pub const ALL_ZERO: u8 = 255;
pub const ALL_FILLED: u8 = 254;
/// Bit of the code of gaps: runs of vertices are counted.
pub const RUNS: u8 = 128;

/// The place of local column x and row y of a tile among its vertices: the bits of x and y in turn.
const PLACE_OF: [u16; TILE_VERTICES] = {
    let mut places = [0; TILE_VERTICES];
    let mut k = 0;
    while k < TILE_VERTICES {
        let (x, y, mut bit) = (k % TILE, k / TILE, 0);
        while 1 << bit < TILE {
            places[k] |= ((x >> bit & 1) << (2 * bit) | (y >> bit & 1) << (2 * bit + 1)) as u16;
            bit += 1;
        }
        k += 1;
    }
    places
};

/// Local column and row by place.
const AT_PLACE: [[u8; 2]; TILE_VERTICES] = {
    let mut at = [[0; 2]; TILE_VERTICES];
    let mut k = 0;
    while k < TILE_VERTICES {
        at[PLACE_OF[k] as usize] = [(k % TILE) as u8, (k / TILE) as u8];
        k += 1;
    }
    at
};

/// The place of local coordinates of a tile of a volume: the bits of x, y and z in turn.
fn place_in_volume(local: [u64; 3]) -> u64 {
    let spread = |k: u64| (0..4).fold(0, |place, bit| place | (k >> bit & 1) << (3 * bit));
    spread(local[0]) | spread(local[1]) << 1 | spread(local[2]) << 2
}

/// The inverse of [`place_in_volume`].
fn local_in_volume(place: u64) -> [u64; 3] {
    [0, 1, 2].map(|axis| (0..4).fold(0, |k, bit| k | (place >> (3 * bit + axis) & 1) << bit))
}

/// Numbers vertices tile by tile, so that neighbours have near numbers. Tiles at the ends of the grid have
/// gaps.
#[derive(Clone, Copy)]
pub enum Positions {
    Planes(Grid),
    Volume(Grid),
}

impl Positions {
    /// The position of column x and row y of plane z.
    pub fn of(self, z: u64, [x, y]: [u64; 2]) -> u64 {
        match self {
            Positions::Planes(grid) => {
                let side = TILE as u64;
                let tile = (z * grid.tiles_y() + y / side) * grid.tiles_x() + x / side;
                tile * TILE_VERTICES as u64 + PLACE_OF[(y % side * side + x % side) as usize] as u64
            }
            Positions::Volume(grid) => {
                let tile = VolumeGrid::of(grid).tile_of([x, y, z]);
                tile * VOLUME_TILE_VERTICES as u64 + place_in_volume([x, y, z].map(|k| k % SIDE as u64))
            }
        }
    }

    /// The tiles of the grid with positions of a range.
    pub fn tiles(self, positions: Range<u64>) -> Range<u64> {
        let (vertices, tiles) = match self {
            Positions::Planes(grid) => (TILE_VERTICES as u64, grid.tiles()),
            Positions::Volume(grid) => (VOLUME_TILE_VERTICES as u64, VolumeGrid::of(grid).tiles()),
        };
        positions.start / vertices..positions.end.div_ceil(vertices).min(tiles)
    }

    /// The plane, column and row at a position, if the grid has such a vertex.
    pub fn vertex(self, position: u64) -> Option<(u64, [u64; 2])> {
        let (grid, z, at) = match self {
            Positions::Planes(grid) => {
                let tile = position / TILE_VERTICES as u64;
                let (row, tx) = (tile / grid.tiles_x(), tile % grid.tiles_x());
                let (z, ty) = (row / grid.tiles_y(), row % grid.tiles_y());
                let [x, y] = AT_PLACE[(position % TILE_VERTICES as u64) as usize];
                (grid, z, [tx * TILE as u64 + x as u64, ty * TILE as u64 + y as u64])
            }
            Positions::Volume(grid) => {
                let (tiles, tile) = (VolumeGrid::of(grid), position / VOLUME_TILE_VERTICES as u64);
                let [x0, y0, z0] = if tile < tiles.tiles() { tiles.tile(tile).first } else { return None };
                let [x, y, z] = local_in_volume(position % VOLUME_TILE_VERTICES as u64);
                (grid, z0 + z, [x0 + x, y0 + y])
            }
        };
        (z < grid.nz && at[0] < grid.nx && at[1] < grid.ny).then_some((z, at))
    }
}

/// A vertex in a fix: its position and its level. The cells of a refinement, or the bits of an
/// exact vertex, by component, follow in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repaired {
    pub position: u64,
    pub level: Level,
}

/// An encoded chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    pub entry: [u8; ENTRY_BYTES],
    pub bytes: Vec<u8>,
}

/// The entry of a chunk in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Position of the first vertex.
    pub first: u64,
    /// Bytes of the chunk.
    pub bytes: u32,
    /// Vertices, 1 to [`CHUNK`] or [`ZERO_CHUNK`].
    pub vertices: u16,
    gaps: u8,
    levels: u8,
}

impl Entry {
    fn write(&self) -> [u8; ENTRY_BYTES] {
        let mut out = [0; ENTRY_BYTES];
        out[..8].copy_from_slice(&self.first.to_le_bytes());
        out[8..12].copy_from_slice(&self.bytes.to_le_bytes());
        out[12..14].copy_from_slice(&self.vertices.to_le_bytes());
        (out[14], out[15]) = (self.gaps, self.levels);
        out
    }

    pub fn read(b: &[u8; ENTRY_BYTES]) -> Result<Entry> {
        let entry = Entry {
            first: u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]),
            bytes: u32::from_le_bytes([b[8], b[9], b[10], b[11]]),
            vertices: u16::from_le_bytes([b[12], b[13]]),
            gaps: b[14],
            levels: b[15],
        };
        let levels = entry.level().is_some() || entry.levels as u32 <= MAX_LEVEL_ORDER;
        let known = (entry.gaps & !RUNS) as u32 <= MAX_ORDER && levels;
        let most = if entry.level().is_some() { ZERO_CHUNK } else { CHUNK };
        match known && (1..=most).contains(&(entry.vertices as usize)) && entry.bytes % 4 == 0 {
            true => Ok(entry),
            false => Err(Error::corrupt("the directory of the fix holds a chunk that none can be")),
        }
    }

    /// The level of all its vertices, if that is [`ZERO`] or [`FILLED`].
    pub fn level(&self) -> Option<Level> {
        match self.levels {
            ALL_ZERO => Some(ZERO),
            ALL_FILLED => Some(FILLED),
            _ => None,
        }
    }
}

/// Encodes 1 to [`CHUNK`] vertices with ascending positions and other levels than [`ZERO`] and [`FILLED`], or 1
/// to [`ZERO_CHUNK`] with one of these levels;
/// `data(vertex, level, component)` gives the cell of a component, or its bits.
pub fn encode(
    vertices: &[Repaired],
    components: usize,
    value_bits: u32,
    data: impl Fn(&Repaired, usize) -> u64,
) -> Result<Chunk> {
    let levels = match vertices[0].level {
        ZERO => ALL_ZERO,
        FILLED => ALL_FILLED,
        _ => best_levels(vertices),
    };
    let (gaps, is_constant) = (best_gaps(vertices)?, vertices[0].level >= ZERO);
    let mut out = BitWriter::default();
    let mut k = 0;
    while k < vertices.len() {
        // With runs a number for each run, otherwise runs of one.
        let run = if gaps & RUNS != 0 { run_at(vertices, k) } else { 1 };
        let order = (gaps & !RUNS) as u32;
        if k > 0 {
            let skipped = vertices[k].position - vertices[k - 1].position - 1;
            out.put_golomb(skipped - (gaps & RUNS != 0) as u64, order)?;
        }
        if gaps & RUNS != 0 {
            out.put_golomb(run as u64 - 1, 0)?;
        }
        for vertex in &vertices[k..k + run] {
            if is_constant {
                continue;
            }
            out.put_golomb(vertex.level as u64 - 1, levels as u32)?;
            for component in 0..components {
                out.put_wide(data(vertex, component), data_bits(vertex.level, value_bits))?;
            }
        }
        k += run;
    }
    let bytes = out.finish()?;
    let entry = Entry {
        first: vertices[0].position,
        bytes: bytes.len() as u32,
        vertices: vertices.len() as u16,
        gaps,
        levels,
    };
    Ok(Chunk { entry: entry.write(), bytes })
}

/// Bits of a component at a level.
fn data_bits(level: Level, value_bits: u32) -> u32 {
    if level == EXACT {
        value_bits
    } else {
        level as u32
    }
}

/// Vertices without a gap from number k on.
fn run_at(vertices: &[Repaired], k: usize) -> usize {
    let follows = |pair: &&[Repaired]| pair[0].position + 1 == pair[1].position;
    1 + vertices[k..].windows(2).take_while(follows).count()
}

/// The code of gaps that takes the fewest bits.
fn best_gaps(vertices: &[Repaired]) -> Result<u8> {
    let mut single = memory::with_capacity(vertices.len())?;
    single.extend(vertices.windows(2).map(|pair| pair[1].position - pair[0].position - 1));
    let (mut skipped, mut of_runs, mut k) = (memory::with_capacity(vertices.len())?, 0, 0);
    while k < vertices.len() {
        let run = run_at(vertices, k);
        of_runs += golomb_bits(run as u64 - 1, 0);
        k += run;
        if k < vertices.len() {
            skipped.push(vertices[k].position - vertices[k - 1].position - 2);
        }
    }
    let best = |gaps: &[u64]| {
        let bits = |order: u32| gaps.iter().map(|&gap| golomb_bits(gap, order)).sum::<u64>();
        (0..=MAX_ORDER).map(|order| (bits(order), order as u8)).min().unwrap_or_default()
    };
    let (single, skipped) = (best(&single), best(&skipped));
    Ok(if skipped.0 + of_runs < single.0 { skipped.1 | RUNS } else { single.1 })
}

/// The order of the code of levels that takes the fewest bits.
fn best_levels(vertices: &[Repaired]) -> u8 {
    let bits = |order: u32| vertices.iter().map(|v| golomb_bits(v.level as u64 - 1, order)).sum::<u64>();
    (0..=MAX_LEVEL_ORDER).map(|order| (bits(order), order as u8)).min().unwrap_or_default().1
}

/// Decodes a chunk: `visit(vertex, data)` gets its vertices, whose positions ascend, with what belongs to
/// each component. Returns the last position; fails where the bytes are no chunk.
pub fn decode<const N: usize>(
    entry: &Entry,
    bytes: &[u8],
    value_bits: u32,
    mut visit: impl FnMut(Repaired, [u64; N]) -> Result<()>,
) -> Result<u64> {
    let corrupt = || Error::corrupt("a chunk of the fix holds what no encoder writes");
    let mut bits = BitReader::new(bytes);
    let (has_runs, order) = (entry.gaps & RUNS != 0, (entry.gaps & !RUNS) as u32);
    let (mut position, mut left) = (entry.first, 0);
    for k in 0..entry.vertices {
        if left == 0 {
            if k > 0 {
                let skipped = bits.get_golomb(order).ok_or_else(corrupt)? + has_runs as u64;
                position = position.checked_add(skipped + 1).ok_or_else(corrupt)?;
            }
            left = if has_runs { bits.get_golomb(0).ok_or_else(corrupt)? + 1 } else { 1 };
            if left > (entry.vertices - k) as u64 {
                return Err(corrupt());
            }
        } else {
            position = position.checked_add(1).ok_or_else(corrupt)?;
        }
        left -= 1;
        let (mut level, mut data) = (entry.level().unwrap_or(EXACT), [0; N]);
        if entry.level().is_none() {
            let found = bits.get_golomb(entry.levels as u32).ok_or_else(corrupt)?;
            level = if found < EXACT as u64 { found as Level + 1 } else { return Err(corrupt()) };
            for component in &mut data {
                *component = bits.get_wide(data_bits(level, value_bits)).ok_or_else(corrupt)?;
            }
        }
        visit(Repaired { position, level }, data)?;
    }
    match bits.is_at_end() {
        true => Ok(position),
        false => Err(corrupt()),
    }
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn positions_and_vertices_belong_together() {
        let grid = Grid { nz: 3, ..Grid::new(70, 33) };
        for positions in [Positions::Planes(grid), Positions::Volume(grid)] {
            let mut found = 0;
            for position in 0..70_000 {
                if let Some((z, at)) = positions.vertex(position) {
                    assert_eq!(positions.of(z, at), position);
                    found += 1;
                }
            }
            assert_eq!(found, grid.vertices());
            assert!(positions.vertex(u64::MAX).is_none());
        }
        assert_eq!(Positions::Planes(grid).of(0, [33, 1]), TILE_VERTICES as u64 + 3);
        assert_eq!(Positions::Volume(grid).of(2, [33, 1]), 2 * VOLUME_TILE_VERTICES as u64 + 32 + 1 + 2);
    }

    #[test]
    fn chunks_round_trip() {
        let mut random = Random(5);
        for case in 0..300 {
            let (mut position, mut vertices) = (random.below(1 << 20), Vec::new());
            let most = if case % 3 == 0 { ZERO_CHUNK } else { CHUNK };
            for _ in 0..1 + random.below(most as u64) {
                let level = match case % 3 {
                    0 => ZERO,
                    1 => 1 + random.below(EXACT as u64) as Level,
                    _ => 1 + random.below(2) as Level,
                };
                vertices.push(Repaired { position, level });
                let near = random.below(3) > 0 || case % 2 == 0 && random.below(20) > 0;
                position += if near { 1 } else { 1 + random.below(1 << (case % 40)) };
            }
            let data = |vertex: &Repaired, component: usize| {
                let bits = data_bits(vertex.level, 64);
                vertex.position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> component & u64::MAX >> (64 - bits)
            };
            let chunk = encode(&vertices, 2, 64, data).unwrap();
            let entry = Entry::read(&chunk.entry).unwrap();
            assert_eq!(entry.bytes as usize, chunk.bytes.len());
            let mut found = Vec::new();
            let mut visit = |vertex, values: [u64; 2]| {
                if entry.level().is_none() {
                    assert_eq!(values, [0, 1].map(|component| data(&vertex, component)));
                }
                found.push(vertex);
                Ok(())
            };
            let last = decode(&entry, &chunk.bytes, 64, &mut visit).unwrap();
            assert_eq!((found, last), (vertices.clone(), vertices.last().unwrap().position));
            // A chunk that ends too early is refused.
            if chunk.bytes.len() >= 4 {
                let cut = &chunk.bytes[..chunk.bytes.len() - 4];
                assert!(decode(&entry, cut, 64, |_, _: [u64; 2]| Ok(())).is_err());
            }
        }
    }
}
