//! The mesh of a volume: Kuhn's division of each cube into six tetrahedra. It is the three-dimensional form of
//! the division in `mesh`, with which it agrees on every coordinate plane.
//!
//! Bit k of the number of a corner says that the corner lies one further along axis k than the cube. A
//! tetrahedron is a path from corner 0 to corner 7 with one step along each axis.

use crate::grid::tiles::{Grid, PERIODIC_X, PERIODIC_Y, PERIODIC_Z};

/// Corners of a tetrahedron.
pub const VERTICES: usize = 4;
/// The vectors (u, v, w) at the corners of a tetrahedron, along its path.
pub type Vectors<T> = [[T; 3]; VERTICES];
/// Tetrahedra of a cube.
pub const TETRAHEDRA: usize = 6;
/// Tetrahedra around a vertex.
pub const AROUND: usize = TETRAHEDRA * VERTICES;

/// The axes of the steps of each tetrahedron, in the order of the format.
pub const STEPS: [[usize; 3]; TETRAHEDRA] =
    [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// The corners of each tetrahedron along its path.
pub const CUBE: [[usize; VERTICES]; TETRAHEDRA] = {
    let mut cube = [[0; VERTICES]; TETRAHEDRA];
    let mut t = 0;
    while t < TETRAHEDRA {
        let mut k = 0;
        while k < 3 {
            cube[t][k + 1] = cube[t][k] | 1 << STEPS[t][k];
            k += 1;
        }
        t += 1;
    }
    cube
};

/// Offset of a corner from its cube, along each axis.
pub const fn offset(corner: usize) -> [i64; 3] {
    [(corner & 1) as i64, (corner >> 1 & 1) as i64, (corner >> 2 & 1) as i64]
}

/// A tetrahedron around a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    pub tetrahedron: usize,
    /// Offset of its cube from the vertex.
    pub cube: [i64; 3],
}

/// The tetrahedra around a vertex.
pub const STAR: [Incident; AROUND] = {
    let mut star = [Incident { tetrahedron: 0, cube: [0; 3] }; AROUND];
    let mut k = 0;
    while k < AROUND {
        let [x, y, z] = offset(CUBE[k / VERTICES][k % VERTICES]);
        star[k] = Incident { tetrahedron: k / VERTICES, cube: [-x, -y, -z] };
        k += 1;
    }
    star
};

impl Grid {
    /// Vertices along each axis of a volume.
    pub fn sizes(&self) -> [u64; 3] {
        [self.nx, self.ny, self.nz]
    }

    /// Cubes along each axis of a volume.
    pub fn cubes(&self) -> [u64; 3] {
        let along = |n: u64, bit: u32| n - (self.periodic & bit == 0) as u64;
        [along(self.nx, PERIODIC_X), along(self.ny, PERIODIC_Y), along(self.nz, PERIODIC_Z)]
    }

    /// The vertex of a volume at these coordinates, which may lie outside, by less than its size, along periodic
    /// axes.
    #[inline(always)]
    pub fn wrapped_in_volume(&self, at: [i64; 3]) -> [i64; 3] {
        let [x, y] = self.wrapped([at[0], at[1]]);
        let nz = self.nz as i64;
        let z = match self.periodic & PERIODIC_Z != 0 {
            true if at[2] < 0 => at[2] + nz,
            true if at[2] >= nz => at[2] - nz,
            _ => at[2],
        };
        [x, y, z]
    }

    /// The number of a vertex of a volume, counted plane by plane and row by row.
    #[inline(always)]
    pub fn number(&self, [x, y, z]: [i64; 3]) -> u64 {
        (z as u64 * self.ny + y as u64) * self.nx + x as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tetrahedra_fill_the_cube() {
        // A point with coordinates in descending order of an order of the axes lies in the tetrahedron of this
        // order: all orders are there once.
        let mut orders = STEPS.to_vec();
        orders.sort_unstable();
        orders.dedup();
        assert_eq!(orders.len(), TETRAHEDRA);
        for corners in CUBE {
            assert_eq!((corners[0], corners[3]), (0, 7));
        }
    }

    #[test]
    fn the_star_has_fourteen_neighbours() {
        let mut neighbours: Vec<[i64; 3]> = Vec::new();
        for incident in STAR {
            let corners = CUBE[incident.tetrahedron].map(offset);
            let at = corners.map(|c| [0, 1, 2].map(|k| c[k] + incident.cube[k]));
            assert!(at.contains(&[0; 3]));
            neighbours.extend(at);
        }
        neighbours.sort_unstable();
        neighbours.dedup();
        assert_eq!(neighbours.len(), 15);
    }

    #[test]
    fn periodic_axes_wrap() {
        let grid = Grid { nz: 5, periodic: PERIODIC_Z, ..Grid::new(3, 4) };
        assert_eq!(grid.wrapped_in_volume([1, 2, -1]), [1, 2, 4]);
        assert_eq!(grid.wrapped_in_volume([1, 2, 5]), [1, 2, 0]);
        assert_eq!(grid.cubes(), [2, 3, 5]);
        assert_eq!(grid.number([2, 3, 4]), grid.vertices() - 1);
    }
}
