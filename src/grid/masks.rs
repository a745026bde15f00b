//! Masks: bits of the vertices that a tile owns.

use crate::grid::tiles::TILE;

/// Rows of a mask; bit x of row y is the vertex (x, y) of the tile.
pub type MaskRows = [u32; TILE];

/// The masks of a tile: vertices that are zero, and vertices with the fill pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    pub zero: MaskRows,
    pub fill: MaskRows,
}

/// Owned vertices of a row of width `width` as a mask.
pub fn row_mask(width: usize) -> u32 {
    (((1u64 << width) - 1) & u32::MAX as u64) as u32
}

/// The mask with rows and columns exchanged: bit x of row y becomes bit y of row x.
pub fn transposed(rows: &MaskRows) -> MaskRows {
    let mut rows = *rows;
    let (mut distance, mut low) = (TILE / 2, u32::MAX >> (TILE / 2));
    while distance > 0 {
        // Exchanges the upper right and the lower left quarters of squares.
        for y in (0..TILE).filter(|y| y & distance == 0) {
            let (above, below) = (rows[y], rows[y + distance]);
            rows[y] = above & low | (below & low) << distance;
            rows[y + distance] = below & !low | above >> distance & low;
        }
        distance /= 2;
        low ^= low << distance;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_exchanges_rows_and_columns() {
        let rows: MaskRows = std::array::from_fn(|y| (y as u32 + 1).wrapping_mul(0x9e37_79b9));
        let columns = transposed(&rows);
        for (y, row) in rows.iter().enumerate() {
            for (x, column) in columns.iter().enumerate() {
                assert_eq!(row >> x & 1, column >> y & 1);
            }
        }
    }
}
