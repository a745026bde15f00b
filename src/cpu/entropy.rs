//! Count, tables and encode over groups of tiles, and decode.

use super::progress::Meter;
use super::source::Fetched;
use crate::entropy::groups;
use crate::entropy::groups::weights::{
    GROUP_BYTES, LEAST_GROUP_WEIGHT, LEAST_GROUP_WEIGHT_OF_VOLUMES, MANY_GROUPS, MOST_GROUP_KIB,
    MOST_GROUP_WEIGHT,
};
use crate::entropy::groups::Fault;
use crate::entropy::huffman::Lengths;
use crate::entropy::lists::{Entries, Lists};
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding, Tiles};
use crate::entropy::rans::Frequencies;
use crate::entropy::tables::EntropyTable;
use crate::entropy::tables::{zero_counts, Counts};
use crate::error::{Error, Result};
use crate::grid::tiles::{Grid, TileShape};
use crate::grid::volume_tiles::{VolumeGrid, VolumeTile};
use crate::predict::anchors::{self, CoarseCodes, OuterCodes};
use crate::request::Coder;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::sections::{self, Group, GROUP_ALIGNMENT};
use std::ops::Range;
use std::sync::Mutex;

impl Tiles for Grid {
    type Shape = TileShape;

    fn shape(&self, tile: u64) -> TileShape {
        self.tile(tile)
    }

    fn outer(&self, tiles: Range<u64>) -> impl Iterator<Item = u64> {
        anchors::outer(*self, tiles)
    }

    fn least_group_weight(&self) -> u64 {
        LEAST_GROUP_WEIGHT
    }
}

impl Tiles for VolumeGrid {
    type Shape = VolumeTile;

    fn shape(&self, tile: u64) -> VolumeTile {
        self.tile(tile)
    }

    fn outer(&self, _: Range<u64>) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }

    fn least_group_weight(&self) -> u64 {
        LEAST_GROUP_WEIGHT_OF_VOLUMES
    }
}

/// Counts of all tiles, and their sparse lists.
struct Counted {
    counts: Box<Counts>,
    raw_bits: u64,
    /// How many times as much there is of all that as was counted, about.
    times: u64,
    weights: Vec<u16>,
    /// Sparse lists, those of `piece` tiles together.
    lists: Vec<Lists>,
    piece: usize,
}

impl Counted {
    /// The sparse lists of a tile.
    fn entries(&self, tile: usize) -> Entries<'_> {
        self.lists[tile / self.piece].tile(tile % self.piece)
    }
}

/// Counts of a thread, which are added to those of all threads when it finds no more tiles.
struct ThreadCounts<'a> {
    own: Box<Counts>,
    all: &'a Mutex<Box<Counts>>,
}

impl Drop for ThreadCounts<'_> {
    fn drop(&mut self) {
        let mut all = self.all.lock().unwrap_or_else(|e| e.into_inner());
        for (all, own) in all.as_flattened_mut().iter_mut().zip(self.own.as_flattened()) {
            *all += own;
        }
    }
}

fn count(grid: impl Tiles, coding: TileCoding, tiles: &[QuantizedTile], threads: Threads) -> Result<Counted> {
    let piece = tiles.len().div_ceil(8 * threads.count()).max(1);
    let sample = groups::Sample::new(coding, tiles.len() as u64);
    let mut weights = memory::filled(tiles.len(), 0)?;
    let all = Mutex::new(zero_counts()?);
    let of_thread = || Ok(ThreadCounts { own: zero_counts()?, all: &all });
    let pieces = threads.map_chunks(&mut weights, piece, of_thread, |counts, k, weights| {
        let (mut raw_bits, mut lists) = (0, Lists::default());
        let first = k * piece;
        for (i, weight) in weights.iter_mut().enumerate() {
            let tile = (first + i) as u64;
            let counts = sample.takes(tile).then_some(&mut *counts.own);
            let work = groups::count(coding, &grid.shape(tile), &tiles[first + i], counts, &mut lists)?;
            raw_bits += work.raw_bits;
            *weight = work.weight;
        }
        Ok((raw_bits, lists))
    })?;
    let raw_bits = pieces.iter().map(|piece| piece.0).sum();
    let lists = memory::collected(pieces.into_iter().map(|piece| piece.1))?;
    let mut counts = all.into_inner().unwrap_or_else(|e| e.into_inner());
    let times = sample.complete(&mut counts);
    Ok(Counted { counts, raw_bits, times, weights, lists, piece })
}

/// The weight that groups get to be of about [`GROUP_BYTES`] each, or about [`MANY_GROUPS`], where tiles of
/// this weight in all take about so many bytes, and at least so much; and what each tile adds to its own, so that
/// no group has more than 255 tiles.
fn group_weight(total: u64, bytes: u64, least: u64) -> (u64, u64) {
    let usual = total * GROUP_BYTES / bytes.max(1);
    let wanted = (total / MANY_GROUPS).clamp(usual, usual.saturating_mul(MOST_GROUP_KIB));
    let limit = wanted.clamp(least, MOST_GROUP_WEIGHT);
    (limit, limit / 255 + 1)
}

/// Groups of about equal work: the time that a GPU takes is that of the longest group.
fn groups(weights: &[u16], bytes: u64, least: u64) -> Result<Vec<Range<usize>>> {
    let (limit, each) = group_weight(weights.iter().map(|&w| w as u64).sum(), bytes, least);
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut before = 0;
    for (tile, &weight) in weights.iter().enumerate() {
        if groups.len() as u64 == before / limit {
            memory::push(&mut groups, tile..tile)?;
        }
        groups.last_mut().expect("the first tile begins a group").end = tile + 1;
        before += weight as u64 + each;
    }
    Ok(groups)
}

/// The tables and the groups of a coded field: number of tiles and bytes.
pub(crate) struct Body {
    pub(crate) tables: Vec<u8>,
    pub(crate) groups: Vec<(u64, Vec<u8>)>,
}

impl Body {
    /// Bytes of the tables, of the words of the groups, and of the groups.
    pub(crate) fn bytes(&self) -> u64 {
        let padded = |group: &[u8]| group.len().next_multiple_of(GROUP_ALIGNMENT) as u64;
        self.tables.len() as u64 + self.groups.iter().map(|(_, group)| 4 + padded(group)).sum::<u64>()
    }
}

/// Codes all tiles of a field.
pub(crate) fn encode(
    coder: Coder,
    grid: impl Tiles,
    coding: TileCoding,
    (tiles, anchors): (&[QuantizedTile], &[CoarseCodes]),
    threads: Threads,
    meter: &Meter,
) -> Result<Body> {
    match coder {
        Coder::Ans => encode_with::<Frequencies>(grid, coding, (tiles, anchors), threads, meter),
        Coder::Huffman => encode_with::<Lengths>(grid, coding, (tiles, anchors), threads, meter),
    }
}

fn encode_with<E: EntropyTable>(
    grid: impl Tiles,
    coding: TileCoding,
    (tiles, anchors): (&[QuantizedTile], &[CoarseCodes]),
    threads: Threads,
    meter: &Meter,
) -> Result<Body> {
    let counted = count(grid, coding, tiles, threads)?;
    let models: Vec<E> = memory::collected(counted.counts.iter().map(E::from_counts))?;
    let cost: u64 = models.iter().zip(counted.counts.iter()).map(|(m, c)| m.cost(c)).sum();
    let tables = groups::encode_tables(&models)?;
    let bytes = ((cost >> 8) + counted.raw_bits) / 8 * counted.times;
    let groups = groups(&counted.weights, bytes, grid.least_group_weight())?;
    let groups = threads.map(groups.len(), stateless, |_, k| {
        let group = groups[k].clone();
        let numbered = group.clone().map(|t| (grid.shape(t as u64), &tiles[t], counted.entries(t)));
        let outer = grid.outer(group.start as u64..group.end as u64);
        let (mut coarse, mut count) = ([[0; 2]; 2], 0);
        for anchor in outer.filter_map(|tile| anchors.get(tile as usize)) {
            coarse[count] = *anchor;
            count += 1;
        }
        let out = groups::encode::<E, _>(coding, &memory::collected(numbered)?, &coarse[..count], &tables)?;
        meter.add(group.len() as u64);
        Ok((group.len() as u64, out))
    })?;
    Ok(Body { tables: sections::write_tables(|k, out| models[k].write(out))?, groups })
}

/// Groups of a stream, and what decoding them takes.
pub(crate) struct Groups<'a, G> {
    pub(crate) coder: Coder,
    pub(crate) grid: G,
    pub(crate) coding: TileCoding,
    pub(crate) tables: &'a [&'a [u8]],
    pub(crate) groups: &'a [Group],
    pub(crate) bytes: &'a Fetched<'a>,
}

/// Decodes groups, and gives what `each` makes of a group's tiles, their codes, and the coarse codes of the
/// outer anchors.
pub(crate) fn decode<R: Default + Send>(
    groups: &Groups<'_, impl Tiles>,
    threads: Threads,
    meter: &Meter,
    each: impl Fn(Range<u64>, Vec<QuantizedTile>, OuterCodes) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    match groups.coder {
        Coder::Ans => decode_with::<Frequencies, R>(groups, threads, meter, each),
        Coder::Huffman => decode_with::<Lengths, R>(groups, threads, meter, each),
    }
}

/// The tables of a stream, as it stores them, ready for decoding.
fn decode_tables<E: EntropyTable>(stored: &[&[u8]], threads: Threads) -> Result<Vec<E::Decode>> {
    let table = |_: &mut (), k: usize| Ok(Some(E::read(stored[k])?.decode_table()?));
    let tables = threads.map(stored.len(), stateless, table)?;
    memory::collected(tables.into_iter().map(|table| table.expect("each piece is done")))
}

fn decode_with<E: EntropyTable, R: Default + Send>(
    groups: &Groups<'_, impl Tiles>,
    threads: Threads,
    meter: &Meter,
    each: impl Fn(Range<u64>, Vec<QuantizedTile>, OuterCodes) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let &Groups { grid, coding, tables, groups, bytes, .. } = groups;
    let tables = decode_tables::<E>(tables, threads)?;
    threads.map(groups.len(), stateless, |_, k| {
        let group = &groups[k];
        let first = group.tiles.start;
        let shapes = 0..(group.tiles.end - first) as usize;
        let shapes = memory::collected(shapes.map(|k| grid.shape(first + k as u64)))?;
        let outer = if coding.by_rows() { 0 } else { grid.outer(group.tiles.clone()).count() };
        let decoded = groups::decode::<E, _>(coding, bytes.get(group.bytes.clone()), &shapes, outer, &tables);
        let (codes, outer) = decoded.map_err(|fault| match fault {
            Fault::Damaged => {
                Error::corrupt("a group of tiles does not decode to an end: the stream is damaged")
            }
            Fault::OutOfMemory => memory::out_of_memory(),
        })?;
        meter.add(shapes.len() as u64);
        each(group.tiles.clone(), codes, outer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The most that `groups::count` says of a tile: all lists dense, and 128 entries in each mask.
    const HEAVIEST: u16 = 1540;

    fn check_groups(weights: &[u16], bytes: u64) -> Vec<usize> {
        let groups = groups(weights, bytes, LEAST_GROUP_WEIGHT).unwrap();
        let what = || format!("{} tiles, {bytes} bytes", weights.len());
        let mut next = 0;
        for group in &groups {
            assert_eq!(group.start, next, "{}", what());
            assert!((1..=255).contains(&group.len()), "{}: {group:?}", what());
            next = group.end;
        }
        assert_eq!(next, weights.len(), "{}", what());
        // As a device finds the number of groups and the first tile of each.
        let (limit, each) = group_weight(weights.iter().map(|&w| w as u64).sum(), bytes, LEAST_GROUP_WEIGHT);
        let mut before = 0;
        for (tile, &weight) in weights.iter().enumerate() {
            assert!(groups[(before / limit) as usize].contains(&tile), "{}: tile {tile}", what());
            before += weight as u64 + each;
        }
        groups.iter().map(|g| g.len()).collect()
    }

    #[test]
    fn groups_take_all_tiles_in_order() {
        let mut random = Random(1);
        let everything = [0, 1, 2, 100, 1 << 10, 1 << 20, 1 << 30, 1 << 40, 1 << 53, u64::MAX];
        for tiles in [1, 2, 31, 32, 33, 254, 255, 256, 257, 510, 511, 5000] {
            for most in [1, 2, 50, 800, HEAVIEST as u64 + 1] {
                let arbitrary: Vec<u16> = (0..tiles).map(|_| random.below(most) as u16).collect();
                let steep: Vec<u16> =
                    (0..tiles).map(|t| if t % 300 < 299 { 4 } else { most as u16 - 1 }).collect();
                for bytes in everything {
                    check_groups(&arbitrary, bytes);
                    check_groups(&steep, bytes);
                    check_groups(&vec![most as u16 - 1; tiles], bytes);
                }
            }
        }
    }

    #[test]
    fn groups_are_of_about_equal_weight() {
        // Tiles that take nothing are limited by their number alone, the heaviest by their weight.
        assert_eq!(check_groups(&[4; 600], 0), [255, 255, 90]);
        assert_eq!(check_groups(&[HEAVIEST; 3], u64::MAX), [2, 1]);
        // Of 64 MiB there are no more than so many groups, of 1 GiB groups of 8 KiB.
        let weight = |mebibytes: u64| group_weight(1 << 30, mebibytes << 20, LEAST_GROUP_WEIGHT).0;
        assert_eq!([1, 16, 64, 1024].map(weight), [1 << 20, 1 << 16, 1 << 15, 8 << 10]);
        // 16 bytes a tile: 64 of them, less what a tile adds to its weight.
        let sizes = check_groups(&[100; 1000], 16_000);
        assert!(sizes[..sizes.len() - 1].iter().all(|n| (50..=52).contains(n)), "{sizes:?}");
        // Where the weight is, there are more groups.
        let mut mixed = vec![10; 1000];
        mixed[500..].fill(190);
        let sizes = check_groups(&mixed, 16_000);
        assert!(sizes[0] > 3 * sizes[sizes.len() - 2], "{sizes:?}");
    }

    /// Nothing overflows for the largest field, of 2^43 tiles of 32 vertices.
    #[test]
    fn weights_of_the_largest_field_fit() {
        let tiles = Grid::new(1 << 48, 1).tiles();
        assert_eq!(tiles, 1 << 43);
        let total = tiles * HEAVIEST as u64;
        assert!(total.checked_mul(GROUP_BYTES).is_some());
        for bytes in [0, 1, tiles, 1 << 53, u64::MAX] {
            for total in [tiles, 4 * tiles, total] {
                let (limit, each) = group_weight(total, bytes, LEAST_GROUP_WEIGHT);
                assert!((LEAST_GROUP_WEIGHT..=MOST_GROUP_WEIGHT).contains(&limit));
                assert!(limit >= HEAVIEST as u64 + each, "no group is empty");
                assert!(255 * each > limit, "no group has more than 255 tiles");
                // The last tile's, and the beginning of a group behind the last one.
                let before = tiles.checked_mul(each).and_then(|q| q.checked_add(total));
                assert!(before.and_then(|q| q.checked_add(limit)).is_some(), "{bytes}");
            }
        }
    }
}
