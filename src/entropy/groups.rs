//! Groups of tiles that share the states of one coder.
//!
//! A group begins with the coarse codes of the anchors outside it that its own anchors follow (`outer`), so
//! that it can be decoded alone. It codes its tiles in batches of 32. A batch starts with one lane per tile: mask states, then the
//! activities of their blocks, and the numbers of entries of lists. Then come the blocks of masks that are
//! neither empty nor full, a sequence of entries made of the lists of all tiles one after another, and coded
//! 32 entries at a time, a lane each, whatever lists they are of. The vertices of blocks of an activity above
//! 0 follow: those of the hierarchical predictor as another such sequence, in which a list names either all
//! positions of a block or only those that are not zero (`lists`), and those of the Lorenzo predictor tile by
//! tile, a lane for each row (`lorenzo`).

mod count;
mod decode;
mod encode;
mod lists;
mod lorenzo;
mod masks;
pub mod outer;
mod step;
pub mod weights;

pub use count::{count, Sample};
pub use decode::decode;
pub use encode::encode;

use super::tables::{EntropyTable, COARSE_ACTIVITY, FINE_ACTIVITY, MIDDLE_ACTIVITY};
use crate::error::{Error, Result};
use crate::runtime::memory;

/// The tables of a stream, ready for encoding.
pub fn encode_tables<E: EntropyTable>(models: &[E]) -> Result<Vec<E::Encode>> {
    memory::collected(models.iter().map(E::encode_table))
}

/// Why a group could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its bytes are not what an encoder wrote.
    Damaged,
    OutOfMemory,
}

impl From<Error> for Fault {
    /// The only errors below the decoder are those of allocation.
    fn from(_: Error) -> Self {
        Fault::OutOfMemory
    }
}

/// The table of the activity of block `k`, given those of the blocks before.
fn activity_table(activities: &[u8; 3], k: usize) -> usize {
    match k {
        0 => COARSE_ACTIVITY,
        1 => MIDDLE_ACTIVITY + activities[0] as usize,
        _ => FINE_ACTIVITY + activities[1] as usize,
    }
}

// Arbitrary codes of arbitrary tiles: tests/memory/arbitrary.rs.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::huffman::Lengths;
    use crate::entropy::lists::Lists;
    use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
    use crate::entropy::rans::Frequencies;
    use crate::entropy::symbols::ZERO;
    use crate::entropy::tables::zero_counts;
    use crate::entropy::triples;
    use crate::grid::tiles::{Grid, TileShape, TILE_VERTICES};
    use crate::grid::volume_tiles::{VolumeGrid, VOLUME_TILE_VERTICES};
    use crate::random::Random;
    use crate::request::Predictor;
    use crate::tile::volume_builder::VolumeTileBuilder;

    /// The models of tiles, and a group of all of them.
    fn group_of<E: EntropyTable>(
        coding: TileCoding,
        tiles: &[(TileShape, QuantizedTile)],
    ) -> (Vec<E>, Vec<u8>) {
        let (mut counts, mut lists) = (zero_counts().unwrap(), Lists::default());
        for (shape, codes) in tiles {
            let work = count(coding, shape, codes, Some(&mut counts), &mut lists).unwrap();
            assert!(work.weight <= if coding.by_rows() { 1028 } else { 1540 });
        }
        let models: Vec<E> = counts.iter().map(E::from_counts).collect();
        let refs: Vec<_> = tiles.iter().enumerate().map(|(k, (s, c))| (*s, c, lists.tile(k))).collect();
        let bytes = encode::<E, _>(coding, &refs, &[], &encode_tables(&models).unwrap()).unwrap();
        (models, bytes)
    }

    /// Rows with a vertex that is not active, and activities that do not exist.
    #[test]
    fn rows_of_no_encoder_are_refused() {
        fn check<E: EntropyTable>() {
            let coding = TileCoding::new(Predictor::Lorenzo, 4);
            let decoded = |grid: Grid, (models, bytes): &(Vec<E>, Vec<u8>)| {
                let tables: Vec<_> = models.iter().map(|model| model.decode_table().unwrap()).collect();
                let codes = decode::<E, _>(coding, bytes, &[grid.tile(0)], 0, &tables).ok()?.0;
                Some(codes[0].symbols.clone())
            };
            let whole = Grid::new(32, 32);
            let tile = |activity, at: usize| {
                let mut codes = QuantizedTile { activities: [activity, 0, 0], ..Default::default() };
                codes.symbols = vec![ZERO; TILE_VERTICES];
                codes.symbols[at] = 3;
                group_of::<E>(coding, &[(whole.tile(0), codes)])
            };
            // A column or a row less takes as many steps, but their lanes.
            let (columns, rows) = (Grid::new(25, 32), Grid::new(32, 25));
            let there =
                [(24, columns, true), (25, columns, false), (24 * 32, rows, true), (25 * 32, rows, false)];
            let last = [(31, Grid::new(31, 32), false), (31 * 32, Grid::new(32, 31), false)];
            for (at, grid, is_there) in there.into_iter().chain(last) {
                let group = tile(1, at);
                assert_eq!(decoded(whole, &group).expect("intact")[at], 3);
                assert_eq!(decoded(grid, &group).is_some(), is_there, "{at}");
            }
            for activity in 0..=8 {
                let symbols = decoded(whole, &tile(activity, 40)).expect("intact");
                assert_eq!(symbols.get(40), if activity > 0 { Some(&3) } else { None });
            }
            assert!(decoded(whole, &tile(9, 40)).is_none());
        }
        check::<Frequencies>();
        check::<Lengths>();
    }

    fn group_size<E: EntropyTable>(coding: TileCoding, tiles: &[(TileShape, QuantizedTile)]) -> usize {
        group_of::<E>(coding, tiles).1.len()
    }

    /// A field of zeros but for a few vertices takes far less than a bit a vertex with either coder.
    #[test]
    fn zeros_take_nothing() {
        let grid = Grid::new(512, 512);
        for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
            let coding = TileCoding::new(predictor, 4);
            let block = coding.blocks().last().expect("a block").len();
            let sizes = [group_size::<Frequencies>, group_size::<Lengths>].map(|size| {
                let tiles = (0..grid.tiles()).map(|t| {
                    let mut codes = QuantizedTile::default();
                    codes.activities[coding.blocks().len() - 1] = (t % 2) as u8;
                    if t % 2 == 1 {
                        codes.symbols = vec![ZERO; block];
                        codes.symbols[t as usize * 37 % block] = 8;
                    }
                    (grid.tile(t), codes)
                });
                size(coding, &tiles.collect::<Vec<_>>())
            });
            assert!(sizes.iter().all(|&bytes| bytes < 512), "{predictor:?}: {sizes:?}");
        }
    }

    /// Tiles of a volume with arbitrary triples, which the ends of the volume cut.
    #[test]
    fn tiles_of_volumes_round_trip() {
        fn check<E: EntropyTable>(seed: u64) {
            let (mut random, coding) = (Random(seed), TileCoding::of_volume(4));
            let grid = VolumeGrid([40, 17, 33]);
            let tiles: Vec<_> = (0..grid.tiles())
                .map(|tile| {
                    let shape = grid.tile(tile);
                    let density = [0, 1, 20, 300, 1000][random.below(5) as usize];
                    let bits = 1 + random.below(triples::MOST_BITS as u64) as u32;
                    let mut builder = VolumeTileBuilder::new().unwrap();
                    for position in 0..VOLUME_TILE_VERTICES {
                        if random.below(1000) < density {
                            let q = [0; 3].map(|_: i32| random.below(1 << bits) as i32 >> random.below(9));
                            builder.put(position, q.map(|q| q - (1 << bits >> 3)));
                        }
                    }
                    (shape, builder.finish(coding, &shape, random.below(7) as usize).unwrap())
                })
                .collect();
            let (mut counts, mut lists) = (zero_counts().unwrap(), Lists::default());
            for (shape, codes) in &tiles {
                let work = count(coding, shape, codes, Some(&mut counts), &mut lists).unwrap();
                assert!((work.weight as u64) < weights::LEAST_GROUP_WEIGHT_OF_VOLUMES - 20);
            }
            let models: Vec<E> = counts.iter().map(E::from_counts).collect();
            let refs: Vec<_> = tiles.iter().enumerate().map(|(k, (s, c))| (*s, c, lists.tile(k))).collect();
            let bytes = encode::<E, _>(coding, &refs, &[], &encode_tables(&models).unwrap()).unwrap();
            let tables: Vec<_> = models.iter().map(|model| model.decode_table().unwrap()).collect();
            let shapes: Vec<_> = tiles.iter().map(|tile| tile.0).collect();
            let decoded = decode::<E, _>(coding, &bytes, &shapes, 0, &tables).expect("intact").0;
            assert!(decoded.iter().zip(&tiles).all(|(decoded, tile)| *decoded == tile.1));
            // Damage gives other tiles or a fault.
            for _ in 0..200 {
                let mut damaged = bytes.clone();
                let at = random.below(bytes.len() as u64) as usize;
                damaged[at] ^= 1 << random.below(8);
                let _ = decode::<E, _>(coding, &damaged, &shapes, 0, &tables);
            }
        }
        for seed in 1..20 {
            check::<Frequencies>(seed);
            check::<Lengths>(seed);
        }
    }
}
