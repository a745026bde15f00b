//! The triangles of a grid: each cell (x, y) is split by the diagonal from (x, y) to (x+1, y+1).

/// The two triangles of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// (x, y), (x+1, y), (x+1, y+1)
    Lower,
    /// (x, y), (x+1, y+1), (x, y+1)
    Upper,
}

/// Offsets of a triangle's vertices from its cell, in counter-clockwise order (y upwards).
pub const fn corners(t: Triangle) -> [(usize, usize); 3] {
    match t {
        Triangle::Lower => [(0, 0), (1, 0), (1, 1)],
        Triangle::Upper => [(0, 0), (1, 1), (0, 1)],
    }
}

/// The up to six triangles around a vertex: offset of the cell and which triangle of it.
pub const INCIDENT: [(i64, i64, Triangle); 6] = [
    (0, 0, Triangle::Lower),
    (0, 0, Triangle::Upper),
    (-1, 0, Triangle::Lower),
    (0, -1, Triangle::Upper),
    (-1, -1, Triangle::Lower),
    (-1, -1, Triangle::Upper),
];
