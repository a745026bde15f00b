//! Masks of a tile as lists of their bytes.

use crate::entropy::quantized_tile::{QuantizedTile, SOME};
use crate::grid::masks::MaskRows;
use crate::grid::tiles::{TileShape, TILE};

/// The masks of a tile that are neither empty nor full: zero, then fill.
pub(super) fn some_masks(codes: &QuantizedTile) -> [Option<&MaskRows>; 2] {
    let (zero, fill) = codes.mask_coverage();
    let masks = codes.masks.as_ref();
    [masks.filter(|_| zero == SOME).map(|m| &m.zero), masks.filter(|_| fill == SOME).map(|m| &m.fill)]
}

/// Visits the bytes of a mask, each row as its difference from the row before, as
/// `visit(byte in row, row, value)` in the order of the stream: all rows of byte 0 first.
fn for_mask_bytes(shape: &TileShape, rows: &MaskRows, mut visit: impl FnMut(usize, usize, u8)) {
    let (width, height) = shape.owned();
    for byte in 0..width.div_ceil(8) {
        for y in 0..height {
            let before = if y == 0 { 0 } else { rows[y - 1] };
            visit(byte, y, ((rows[y] ^ before) >> (8 * byte)) as u8);
        }
    }
}

/// Visits the bytes of a mask that are not zero, each row as its difference from the row before, as
/// `visit(run of zeros before it, byte)`: byte b of row y has the number 32 b + y.
pub(super) fn for_mask_entries(shape: &TileShape, rows: &MaskRows, mut visit: impl FnMut(u32, u8)) {
    let mut expected = 0;
    for_mask_bytes(shape, rows, |byte, y, value| {
        if value != 0 {
            let number = (TILE * byte + y) as u32;
            visit(number - expected, value);
            expected = number + 1;
        }
    });
}
