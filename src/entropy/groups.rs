//! Groups of tiles that share the states of one coder.
//!
//! A group codes its tiles in batches of 32. A batch starts with one lane per tile: mask states, then the
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

pub use count::{count, Sample};
pub use decode::decode;
pub use encode::encode;

use super::tables::{EntropyTable, COARSE_ACTIVITY, FINE_ACTIVITY, MIDDLE_ACTIVITY};
use crate::error::{Error, Result};
use crate::runtime::memory;

/// The tables of a stream as it stores them.
pub fn read_tables<E: EntropyTable>(stored: &[&[u8]]) -> Result<Vec<E>> {
    let mut models = memory::with_capacity(stored.len())?;
    for bytes in stored {
        models.push(E::read(bytes)?);
    }
    Ok(models)
}

/// The tables of a stream, ready for encoding.
pub fn encode_tables<E: EntropyTable>(models: &[E]) -> Result<Vec<E::Encode>> {
    memory::collected(models.iter().map(E::encode_table))
}

/// The tables of a stream, ready for decoding.
pub fn decode_tables<E: EntropyTable>(models: &[E]) -> Result<Vec<E::Decode>> {
    let mut tables = memory::with_capacity(models.len())?;
    for model in models {
        tables.push(model.decode_table()?);
    }
    Ok(tables)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::huffman::Lengths;
    use crate::entropy::lists::{self, is_list, Lists};
    use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
    use crate::entropy::rans::Frequencies;
    use crate::entropy::symbols::ZERO;
    use crate::entropy::tables::zero_counts;
    use crate::grid::masks::{row_mask, Masks};
    use crate::grid::tiles::{Grid, TileShape, TILE_VERTICES};
    use crate::request::Predictor;

    /// Tiles with arbitrary codes: every mode, activity, symbol, and partial shapes.
    fn arbitrary(grid: Grid, seed: u64, coding: TileCoding) -> Vec<(TileShape, QuantizedTile)> {
        let mut state = seed | 1;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        (0..grid.tiles())
            .map(|t| {
                let shape = grid.tile(t);
                let (width, height) = shape.owned();
                let mut codes = QuantizedTile {
                    mask_state: [0, 0, 0, 1, 2, 3, 6, 8][random(8) as usize],
                    ..Default::default()
                };
                if codes.mask_state != 0 {
                    let mut masks = Masks::default();
                    for y in 0..height {
                        let all = row_mask(width);
                        let (a, b) = (random(1 << 32) as u32 & all, random(1 << 32) as u32 & all);
                        masks.zero[y] = [0, all, a][(codes.mask_state / 3) as usize];
                        masks.fill[y] = [0, all, b & !a][(codes.mask_state % 3) as usize];
                    }
                    codes.masks = Some(Box::new(masks));
                }
                if QuantizedTile::has_codes(codes.mask_state) {
                    let active = coding.active(&shape, codes.masks.as_deref());
                    for (k, block) in coding.blocks().iter().enumerate() {
                        codes.activities[k] = random(coding.activities() as u64) as u8;
                        // As many entries as the activity allows a list.
                        let listed = !coding.by_rows() && is_list(codes.activities[k]);
                        let mut left =
                            if listed { (1 << lists::count_bits(k, codes.activities[k])) - 1 } else { 768 };
                        // Rows of any number of symbols: none, few, nearly all.
                        let zeros = random(6);
                        for position in block.clone() {
                            if codes.activities[k] == 0 || active[position / 32] >> (position % 32) & 1 == 0 {
                                continue;
                            }
                            let mut s = if random(5) == 0 { random(180) as u8 } else { random(3) as u8 };
                            if listed && lists::positions(k).contains(&position) {
                                s = if left == 0 || random(4) > 0 { ZERO } else { s };
                                left -= (s != ZERO) as u32;
                            } else if coding.by_rows() && random(5) < zeros {
                                s = ZERO;
                            }
                            s = if coding.allows(s) { s } else { ZERO };
                            codes.symbols.push(s);
                            let mut bits = coding.raw_bits(s, position);
                            while bits > 0 {
                                let n = bits.min(64);
                                codes.raw.push((random(1 << 32) << 32 | random(1 << 32)) >> (64 - n));
                                bits -= n;
                            }
                        }
                    }
                }
                (shape, codes)
            })
            .collect()
    }

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
        let bytes = encode::<E>(coding, &refs, &encode_tables(&models).unwrap()).unwrap();
        (models, bytes)
    }

    fn round_trip<E: EntropyTable>(coding: TileCoding, tiles: &[(TileShape, QuantizedTile)]) {
        let (models, bytes) = group_of::<E>(coding, tiles);
        let shapes: Vec<_> = tiles.iter().map(|t| t.0).collect();
        let tables = decode_tables(&models).unwrap();
        let decoded = decode::<E>(coding, &bytes, &shapes, &tables).expect("intact");
        for (a, (_, b)) in decoded.iter().zip(tiles) {
            assert_eq!(a, b);
        }
        // Damaged groups end in an error or in codes of the right shape.
        for k in (0..bytes.len()).step_by(37) {
            let mut bad = bytes.clone();
            bad[k] ^= 0x5a;
            if let Ok(t) = decode::<E>(coding, &bad, &shapes, &tables) {
                assert!(t.iter().all(|c| c.symbols.len() <= TILE_VERTICES));
            }
            assert!(decode::<E>(coding, &bytes[..k & !3], &shapes, &tables).is_err());
        }
    }

    #[test]
    fn groups_round_trip() {
        for (nx, ny, element_bytes) in [(1, 1, 4), (70, 50, 8), (300, 260, 4), (32, 2000, 8), (1300, 31, 4)] {
            for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
                let coding = TileCoding::new(predictor, element_bytes);
                let tiles = arbitrary(Grid::new(nx, ny), nx * 31 + ny, coding);
                round_trip::<Frequencies>(coding, &tiles);
                round_trip::<Lengths>(coding, &tiles);
            }
        }
    }

    /// Rows with a vertex that is not active, and activities that do not exist.
    #[test]
    fn rows_of_no_encoder_are_refused() {
        fn check<E: EntropyTable>() {
            let coding = TileCoding::new(Predictor::Lorenzo, 4);
            let decoded = |grid: Grid, (models, bytes): &(Vec<E>, Vec<u8>)| {
                let tables = decode_tables(models).unwrap();
                let codes = decode::<E>(coding, bytes, &[grid.tile(0)], &tables).ok()?;
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
}
