//! The tiles of a volume, and the fixed order of vertices inside a tile. A leaf: nothing but integers.
//!
//! A volume is cut into tiles that own 16 x 16 x 16 vertices each. A tile together with the vertices that its
//! neighbours to the right, below and behind own beside it is its *closed* tile: 17 along each axis, less at the
//! ends of the grid.

use crate::grid::tiles::Grid;

/// Vertices along the side of a tile.
pub const SIDE: usize = 16;
/// Vertices that a tile owns.
pub const VOLUME_TILE_VERTICES: usize = SIDE * SIDE * SIDE;
/// Vertices along the side of a closed tile in local buffers.
pub const CLOSED_SIDE: usize = SIDE + 1;
/// Dyadic levels: 0..=3 have steps 1, 2, 4, 8; level 4 holds the anchors.
pub const VOLUME_ANCHOR_LEVEL: usize = 4;

/// Numbers of vertices along x, y and z, and their division into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeGrid(pub [u64; 3]);

impl VolumeGrid {
    pub fn of(grid: Grid) -> Self {
        VolumeGrid(grid.sizes())
    }

    /// Tiles along each axis.
    pub fn tiles_along(&self) -> [u64; 3] {
        self.0.map(|n| n.div_ceil(SIDE as u64))
    }

    pub fn tiles(&self) -> u64 {
        self.tiles_along().iter().product()
    }

    /// The tile that owns a vertex.
    pub fn tile_of(&self, at: [u64; 3]) -> u64 {
        let ([x, y, z], [nx, ny, _]) = (at.map(|k| k / SIDE as u64), self.tiles_along());
        (z * ny + y) * nx + x
    }

    /// The tile with this number; x varies fastest.
    pub fn tile(&self, index: u64) -> VolumeTile {
        let [nx, ny, _] = self.tiles_along();
        let first = [index % nx, index / nx % ny, index / nx / ny].map(|k| k * SIDE as u64);
        let last = [0, 1, 2].map(|k| (self.0[k] - 1 - first[k]).min(SIDE as u64) as usize);
        VolumeTile { first, last }
    }
}

/// Where a tile lies and how large its closed tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeTile {
    /// Its first vertex.
    pub first: [u64; 3],
    /// Last local coordinates of the closed tile: 16 where another tile follows, less at the end of the grid.
    pub last: [usize; 3],
}

impl VolumeTile {
    /// Vertices that the tile owns along each axis (16, or less at the end of the grid).
    pub fn owned(&self) -> [usize; 3] {
        self.last.map(|last| (last + 1).min(SIDE))
    }
}

/// The classes of the vertices of a level by their odd coordinates, a bit for each axis: those with one, with two
/// and with three. A class is predicted from those before it.
pub const CLASSES: [usize; 7] = [1, 2, 4, 3, 5, 6, 7];

/// Local coordinates of every position in the order of symbols, and its level.
///
/// Position 0 is the anchor. A level with step s has n = 8 / s vertices along an axis in each of its seven
/// classes; they follow at n^3, class by class, plane by plane and row by row, so that coarser levels always come
/// first: level 3 at 1..8, 2 at 8..64, 1 at 64..512 and level 0 at 512..4096.
pub const VOLUME_POSITIONS: [([u8; 3], u8); VOLUME_TILE_VERTICES] = {
    let mut table = [([0u8; 3], VOLUME_ANCHOR_LEVEL as u8); VOLUME_TILE_VERTICES];
    let mut level = 0;
    while level < VOLUME_ANCHOR_LEVEL {
        let (n, step) = (8usize >> level, 1usize << level);
        let mut k = 0;
        while k < 7 * n * n * n {
            let class = CLASSES[k / (n * n * n)];
            let (x, y, z) = (k % n, k / n % n, k / (n * n) % n);
            let at = [2 * x + (class & 1), 2 * y + (class >> 1 & 1), 2 * z + (class >> 2)];
            table[n * n * n + k] =
                ([(at[0] * step) as u8, (at[1] * step) as u8, (at[2] * step) as u8], level as u8);
            k += 1;
        }
        level += 1;
    }
    table
};

/// Position of the vertex at local coordinates below 16, indexed (z * 16 + y) * 16 + x.
pub const VOLUME_POSITION_OF: [u16; VOLUME_TILE_VERTICES] = {
    let mut table = [0u16; VOLUME_TILE_VERTICES];
    let mut position = 0;
    while position < VOLUME_TILE_VERTICES {
        let [x, y, z] = VOLUME_POSITIONS[position].0;
        table[(z as usize * SIDE + y as usize) * SIDE + x as usize] = position as u16;
        position += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_a_permutation_from_coarse_to_fine() {
        let mut seen = [false; VOLUME_TILE_VERTICES];
        let mut level_before = VOLUME_ANCHOR_LEVEL as u8;
        for (position, &([x, y, z], level)) in VOLUME_POSITIONS.iter().enumerate() {
            let k = (z as usize * SIDE + y as usize) * SIDE + x as usize;
            assert!(!std::mem::replace(&mut seen[k], true));
            assert_eq!(VOLUME_POSITION_OF[k] as usize, position);
            assert!(level <= level_before);
            level_before = level;
            let step = 1usize << level;
            assert!([x, y, z].iter().all(|&k| k as usize % step == 0));
            assert!(position == 0 || [x, y, z].iter().any(|&k| k as usize / step % 2 == 1));
        }
    }

    #[test]
    fn tiles_cover_the_volume_once() {
        for sizes in [[2, 2, 2], [16, 17, 15], [33, 16, 48], [70, 2, 19]] {
            let grid = VolumeGrid(sizes);
            let mut owned = 0;
            for index in 0..grid.tiles() {
                let tile = grid.tile(index);
                assert_eq!(grid.tile_of(tile.first), index);
                owned += tile.owned().iter().product::<usize>() as u64;
            }
            assert_eq!(owned, sizes.iter().product::<u64>());
        }
    }
}
