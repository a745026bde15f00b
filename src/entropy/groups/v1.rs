//! Groups of format version 1, which no release wrote and every release reads: tile by tile, with lists of
//! their own and only where the coder is Huffman's.

use std::slice;

use super::decode::{decode_heads, decode_runs, make_masks, MaskEntries, Vertices};
use super::{Fault, SymbolIndex};
use crate::entropy::lanes::{lanes, Decode, Decoder, LANES};
use crate::entropy::lists::{self, is_list, DENSE_LANES, MASK_COUNT_BITS};
use crate::entropy::symbols::ZERO;
use crate::entropy::tables::{table_of, BLOCKS, MASK_BYTE, RUN};
use crate::entropy::EntropyTable;
use crate::grid::tiles::{TileShape, TILE};
use crate::request::Coder;
use crate::runtime::memory;
use crate::tile::coding::{row_mask, QuantizedTile, TileCoding};

/// Decodes a group as [`super::decode`] does.
pub fn decode<E: EntropyTable>(
    coding: TileCoding,
    bytes: &[u8],
    shapes: &[TileShape],
    tables: &[E::Decode],
) -> Result<Vec<QuantizedTile>, Fault> {
    let listed = E::CODER == Coder::Huffman;
    let mut decoder = Decoder::new(bytes).ok_or(Fault::Damaged)?;
    let mut tiles = memory::with_capacity(shapes.len())?;
    for batch in shapes.chunks(LANES) {
        let (mut codes, counts) = decode_heads(&mut decoder, coding, batch.len(), tables, listed)?;
        for ((c, shape), counts) in codes.iter_mut().zip(batch).zip(&counts) {
            decode_masks(&mut decoder, shape.owned(), c, tables, listed)?;
            decode_codes(&mut decoder, coding, shape, c, counts, tables, listed)?;
        }
        tiles.append(&mut codes);
    }
    if decoder.finished() {
        Ok(tiles)
    } else {
        Err(Fault::Damaged)
    }
}

/// The masks of a tile by their entries, or a step for each column of bytes.
fn decode_masks<D: Decode>(
    decoder: &mut Decoder<'_>,
    (width, height): (usize, usize),
    codes: &mut QuantizedTile,
    tables: &[D],
    listed: bool,
) -> Result<(), Fault> {
    make_masks(codes, (width, height), |_, rows| {
        if listed {
            let count = decoder.raw(0, MASK_COUNT_BITS) as usize;
            return MaskEntries::new(count).mask(decoder, count, (width, height), tables, rows);
        }
        let mut bytes = [0u8; TILE];
        for column in 0..width.div_ceil(8) {
            decoder.step(row_mask(height), |_| &tables[MASK_BYTE], &mut bytes);
            for (row, byte) in rows[..height].iter_mut().zip(bytes) {
                *row |= (byte as u32) << (8 * column);
            }
        }
        Ok(())
    })
}

fn decode_codes<D: Decode>(
    decoder: &mut Decoder<'_>,
    coding: TileCoding,
    shape: &TileShape,
    codes: &mut QuantizedTile,
    counts: &[u16; 3],
    tables: &[D],
    listed: bool,
) -> Result<(), Fault> {
    let index = SymbolIndex::new(coding, shape, codes);
    codes.symbols = memory::filled(index.symbols, ZERO)?;
    let mut vertices = Vertices::default();
    for (k, (block, activity)) in BLOCKS.iter().zip(codes.activities).enumerate().filter(|(_, (_, c))| *c > 0)
    {
        let sparse = listed && is_list(activity);
        let dense = if sparse { block.start..lists::positions(k).start } else { block.clone() };
        for first in dense.step_by(LANES) {
            let mask = index.active[first / LANES] & if sparse { DENSE_LANES } else { u32::MAX };
            for lane in lanes(mask) {
                let position = first + lane;
                vertices.put(
                    lane,
                    0,
                    position,
                    index.of(position).ok_or(Fault::Damaged)?,
                    table_of(position, activity) as u8,
                );
            }
            vertices.decode(decoder, coding, mask, tables, slice::from_mut(codes))?;
        }
        let (mut left, mut expected) =
            (if sparse { counts[k] as usize } else { 0 }, lists::positions(k).start);
        while left > 0 {
            let here = left.min(LANES);
            left -= here;
            let runs = decode_runs(decoder, row_mask(here), |_| &tables[RUN + activity as usize - 1])?;
            for (lane, run) in runs[..here].iter().enumerate() {
                let position = expected + *run as usize;
                expected = position + 1;
                if position >= block.end {
                    return Err(Fault::Damaged);
                }
                vertices.put(
                    lane,
                    0,
                    position,
                    index.of(position).ok_or(Fault::Damaged)?,
                    table_of(position, activity) as u8,
                );
            }
            vertices.decode(decoder, coding, row_mask(here), tables, slice::from_mut(codes))?;
        }
    }
    Ok(())
}
