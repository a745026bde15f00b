//! The grid, its tiles and the fixed order of vertices inside a tile. A leaf: nothing but integers.
//!
//! Vertices are row-major with x fastest. The grid is cut into tiles that own 32 x 32 vertices each; the rows
//! and columns at multiples of 32 are the *lattice lines*, their crossings the *anchors*. A tile together
//! with the lattice lines of its right and lower neighbours is its *closed* tile: 33 x 33 vertices, less at
//! the right and lower ends of the grid.

/// Vertices along the side of a tile.
pub const TILE: usize = 32;
/// Vertices that a tile owns.
pub const TILE_VERTICES: usize = TILE * TILE;
/// Row length of a closed tile in local buffers.
pub const CLOSED: usize = TILE + 1;
/// Rows and columns of a tile with the vertices around it.
pub const FRAMED: usize = TILE + 2;
/// Dyadic levels: 0..=4 have steps 1, 2, 4, 8, 16; level 5 holds the anchors.
pub const LEVELS: usize = 6;
pub const ANCHOR_LEVEL: usize = 5;

/// Number of vertices of a stack of planes, and its division into tiles. Planes are fields of their own: no
/// triangle joins two of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub nx: u64,
    pub ny: u64,
    /// Planes.
    pub nz: u64,
    /// Axes along which the last vertex is a neighbour of the first, as bits of [`PERIODIC_X`] and
    /// [`PERIODIC_Y`].
    pub periodic: u32,
}

/// Bit of `periodic`: column nx - 1 is a neighbour of column 0.
pub const PERIODIC_X: u32 = 1;
/// Bit of `periodic`: row ny - 1 is a neighbour of row 0.
pub const PERIODIC_Y: u32 = 2;
/// Bit of `periodic`: plane nz - 1 of a volume is a neighbour of plane 0.
pub const PERIODIC_Z: u32 = 4;

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} x {}", self.nx, self.ny)?;
        if self.nz > 1 {
            write!(f, " x {}", self.nz)
        } else {
            Ok(())
        }
    }
}

impl Grid {
    /// A single plane without periodic axes.
    pub fn new(nx: u64, ny: u64) -> Self {
        Grid { nx, ny, nz: 1, periodic: 0 }
    }
    /// A plane of this grid alone.
    pub fn plane(self) -> Self {
        Grid { nz: 1, ..self }
    }
    /// Vertices of all planes.
    pub fn vertices(&self) -> u64 {
        self.nx * self.ny * self.nz
    }
    /// The vertex at these coordinates, which may lie outside the plane, by less than its size, along periodic
    /// axes.
    #[inline(always)]
    pub fn wrapped(&self, [x, y]: [i64; 2]) -> [i64; 2] {
        let along = |k: i64, n: u64, bit: u32| match self.periodic & bit != 0 {
            true if k < 0 => k + n as i64,
            true if k >= n as i64 => k - n as i64,
            _ => k,
        };
        [along(x, self.nx, PERIODIC_X), along(y, self.ny, PERIODIC_Y)]
    }
    pub fn tiles_x(&self) -> u64 {
        self.nx.div_ceil(TILE as u64)
    }
    pub fn tiles_y(&self) -> u64 {
        self.ny.div_ceil(TILE as u64)
    }
    /// Tiles of a plane.
    pub fn tiles_of_plane(&self) -> u64 {
        self.tiles_x() * self.tiles_y()
    }
    /// Tiles of all planes.
    pub fn tiles(&self) -> u64 {
        self.tiles_of_plane() * self.nz
    }
    /// Rows of tiles of all planes.
    pub fn tile_rows(&self) -> u64 {
        self.tiles_y() * self.nz
    }
    /// The tile with this number; tiles are numbered plane by plane, and in a plane row by row.
    pub fn tile(&self, index: u64) -> TileShape {
        let (tx, row) = (index % self.tiles_x(), index / self.tiles_x());
        let (z, ty) = if self.nz == 1 { (0, row) } else { (row / self.tiles_y(), row % self.tiles_y()) };
        let (x0, y0) = (tx * TILE as u64, ty * TILE as u64);
        TileShape {
            row_line: row,
            column_line: z * self.tiles_x() + tx,
            z,
            x0,
            y0,
            last_x: (self.nx - 1 - x0).min(TILE as u64) as usize,
            last_y: (self.ny - 1 - y0).min(TILE as u64) as usize,
        }
    }
}

/// Where a tile lies and how large its closed tile is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// The numbers of the lattice lines that are its first row and its first column, counted over all planes.
    pub row_line: u64,
    pub column_line: u64,
    /// The plane that holds the tile.
    pub z: u64,
    /// The first vertex of the tile, in the plane.
    pub x0: u64,
    pub y0: u64,
    /// Last local column and row of the closed tile: 32 where a lattice line closes it, less at the
    /// end of the grid, where the tile owns its last column or row.
    pub last_x: usize,
    pub last_y: usize,
}

impl TileShape {
    /// Columns and rows that the tile owns (32, or less at the end of the grid).
    pub fn owned(&self) -> (usize, usize) {
        ((self.last_x + 1).min(TILE), (self.last_y + 1).min(TILE))
    }
}

/// Position of a vertex in its tile's symbol order.
///
/// Position 0 is the anchor. A level with step s has n = 16 / s targets along a side in each of its
/// three phases (horizontal, vertical, centre); they follow at n*n, phase by phase and row by row, so
/// that coarser levels always come first: level 4 at 1..4, 3 at 4..16, 2 at 16..64, 1 at 64..256 and
/// level 0 at 256..1024.
pub const fn position(level: usize, phase: usize, i: usize, j: usize) -> usize {
    let n = 16 >> level;
    n * n * (1 + phase) + j * n + i
}

/// Local column and row of every position, and its level.
pub const POSITIONS: [(u8, u8, u8); TILE_VERTICES] = {
    let mut table = [(0u8, 0u8, ANCHOR_LEVEL as u8); TILE_VERTICES];
    let mut level = 0;
    while level < ANCHOR_LEVEL {
        let (n, s) = (16 >> level, 1 << level);
        let mut phase = 0;
        while phase < 3 {
            let (mut j, odd_x, odd_y) = (0, (phase != 1) as usize, (phase != 0) as usize);
            while j < n {
                let mut i = 0;
                while i < n {
                    table[position(level, phase, i, j)] =
                        (((2 * i + odd_x) * s) as u8, ((2 * j + odd_y) * s) as u8, level as u8);
                    i += 1;
                }
                j += 1;
            }
            phase += 1;
        }
        level += 1;
    }
    table
};

/// Position of the vertex at local column x and row y (both below 32), indexed y * 32 + x.
pub const POSITION_OF: [u16; TILE_VERTICES] = {
    let mut table = [0u16; TILE_VERTICES];
    let mut p = 0;
    while p < TILE_VERTICES {
        let (x, y, _) = POSITIONS[p];
        table[y as usize * TILE + x as usize] = p as u16;
        p += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_a_permutation() {
        let mut seen = [false; TILE_VERTICES];
        for &(x, y, level) in &POSITIONS {
            let i = y as usize * TILE + x as usize;
            assert!(!std::mem::replace(&mut seen[i], true));
            let s = 1usize << level;
            assert!(x as usize % s == 0 && y as usize % s == 0);
        }
        assert!(seen.iter().all(|&s| s));
        assert_eq!(POSITION_OF[0], 0);
    }

    #[test]
    fn tiles_cover_the_grid_once() {
        for (nx, ny) in [(1, 1), (32, 33), (33, 32), (64, 65), (100, 1), (1, 100)] {
            let grid = Grid::new(nx, ny);
            let owned: u64 = (0..grid.tiles())
                .map(|t| {
                    let (w, h) = grid.tile(t).owned();
                    (w * h) as u64
                })
                .sum();
            assert_eq!(owned, nx * ny);
        }
    }
}
