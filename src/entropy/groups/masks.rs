//! Masks of a tile as lists of their blocks of two columns and four rows (FORMAT.md, section 3.5). Coasts are
//! coded by rows or by columns, whichever takes fewer entries: a block then holds a longer piece of a coast.

use crate::entropy::lists::MASK_COUNT_BITS;
use crate::entropy::quantized_tile::{QuantizedTile, SOME};
use crate::grid::masks::{row_mask, transposed, MaskRows};
use crate::grid::tiles::{TILE, TILE_VERTICES};

/// Columns and rows of a block, blocks in a column of blocks, and in a mask.
const COLUMNS: usize = 2;
const ROWS: usize = 4;
const DOWN: usize = TILE / ROWS;
pub(super) const MASK_BLOCKS: usize = TILE_VERTICES / (COLUMNS * ROWS);

/// In the number of entries of a mask, less one: it is coded by columns.
const BY_COLUMNS: u32 = 1 << (MASK_COUNT_BITS - 1);
const _: () = assert!(MASK_BLOCKS <= BY_COLUMNS as usize);

/// The masks of a tile that are neither empty nor full: zero, then fill.
pub(super) fn some_masks(codes: &QuantizedTile) -> [Option<&MaskRows>; 2] {
    let (zero, fill) = codes.mask_coverage();
    let masks = codes.masks.as_ref();
    [masks.filter(|_| zero == SOME).map(|m| &m.zero), masks.filter(|_| fill == SOME).map(|m| &m.fill)]
}

/// The number before a list: its entries, and whether the mask is coded by columns.
pub(super) fn read_size(size: u32) -> (usize, bool) {
    ((size % BY_COLUMNS) as usize + 1, size >= BY_COLUMNS)
}

/// A mask as it is coded.
pub(super) struct CodedMask {
    /// The bits in which each block differs from the row above it, those of row 0 from the column to the
    /// left, by the number of the block.
    blocks: [u8; MASK_BLOCKS],
    by_columns: bool,
}

impl CodedMask {
    pub(super) fn new((width, height): (usize, usize), rows: &MaskRows) -> Self {
        let by_rows = blocks_of(rows, width, height);
        let by_columns = blocks_of(&transposed(rows), height, width);
        let entries = |blocks: &[u8; MASK_BLOCKS]| blocks.iter().filter(|&&block| block != 0).count();
        if entries(&by_columns) < entries(&by_rows) {
            CodedMask { blocks: by_columns, by_columns: true }
        } else {
            CodedMask { blocks: by_rows, by_columns: false }
        }
    }

    /// The number of entries as it is coded: less one, and whether the mask is coded by columns.
    pub(super) fn size(&self) -> u32 {
        let entries = self.blocks.iter().filter(|&&block| block != 0).count() as u32;
        entries - 1 + if self.by_columns { BY_COLUMNS } else { 0 }
    }

    /// Visits the entries as `visit(run of equal blocks before it, symbol)`.
    pub(super) fn for_entries(&self, mut visit: impl FnMut(u32, u8)) {
        let mut expected = 0;
        for (number, &block) in self.blocks.iter().enumerate().filter(|&(_, &block)| block != 0) {
            visit((number - expected) as u32, block - 1);
            expected = number + 1;
        }
    }
}

fn blocks_of(rows: &MaskRows, width: usize, height: usize) -> [u8; MASK_BLOCKS] {
    let mut blocks = [0; MASK_BLOCKS];
    for y in 0..height {
        let before = if y == 0 { rows[0] << 1 } else { rows[y - 1] };
        let mut left = (rows[y] ^ before) & row_mask(width);
        while left != 0 {
            let x = left.trailing_zeros() as usize / COLUMNS * COLUMNS;
            let bits = left >> x & 3;
            blocks[x / COLUMNS * DOWN + y / ROWS] |= (bits as u8) << (COLUMNS * (y % ROWS));
            left ^= bits << x;
        }
    }
    blocks
}

/// Puts the entry `symbol` of the block of a number into the rows, or columns, of a mask as it is coded;
/// false if a tile of this size has no such block, or if the symbol is none of a block.
pub(super) fn put_block(
    rows: &mut MaskRows,
    (width, height): (usize, usize),
    by_columns: bool,
    number: usize,
    symbol: u8,
) -> bool {
    let (across, down) = if by_columns { (height, width) } else { (width, height) };
    let (x, y) = (number / DOWN * COLUMNS, number % DOWN * ROWS);
    let Some(block) = symbol.checked_add(1).filter(|_| x < across && y < down) else {
        return false;
    };
    for (k, row) in rows[y..y + ROWS].iter_mut().enumerate() {
        *row |= (block as u32 >> (COLUMNS * k) & 3) << x;
    }
    true
}

/// Makes a mask of what [`put_block`] put into it.
pub(super) fn undo_differences(rows: &mut MaskRows, (width, height): (usize, usize), by_columns: bool) {
    for k in [1, 2, 4, 8, 16] {
        rows[0] ^= rows[0] << k;
    }
    for y in 1..TILE {
        rows[y] ^= rows[y - 1];
    }
    if by_columns {
        *rows = transposed(rows);
    }
    for (y, row) in rows.iter_mut().enumerate() {
        *row &= if y < height { row_mask(width) } else { 0 };
    }
}
