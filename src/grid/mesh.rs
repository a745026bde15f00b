//! The mesh: how the cells of a grid are divided into simplices. Whatever knows the triangles of a cell and
//! their corners, or the neighbours of a vertex, takes them from here. The kernels do so by constants that
//! `src/cuda/generated.rs` writes; kernels/grid/mesh.cuh has the device twins.
//!
//! A cell (x, y) has a corner for each set of axes: bit k of its number says that the corner lies one further
//! along axis k than the cell. The letters a, b, c, d are the numbers 0, 1, 2, 3:
//!
//! ```text
//! c --- d     (x, y+1) --- (x+1, y+1)
//! |   / |
//! | /   |
//! a --- b     (x, y) ----- (x+1, y)
//! ```
//!
//! The diagonal from a to d divides the cell into a lower and an upper triangle. [`CELL`] lists their
//! corners, and all tables of triangles and neighbours follow from it. This is Kuhn's division: every simplex
//! is a path from the first corner of the cell to the last one, with one step along each axis. The six
//! tetrahedra of a cube with the corners a to h are a table of the same kind. [`STAR`] and [`NEIGHBOURS`]
//! list triangles and neighbours in their cyclic order around a vertex, which exists in two dimensions only.

/// Dimensions of the grid.
pub const AXES: usize = 2;
/// Corners of a cell.
pub const CORNERS: usize = 1 << AXES;
/// Corners of a triangle.
pub const VERTICES: usize = AXES + 1;
/// Triangles of a cell.
pub const TRIANGLES: usize = 2;
/// Triangles around a vertex, and its neighbours.
pub const AROUND: usize = TRIANGLES * VERTICES;

/// The number of a corner of a cell.
pub type Corner = usize;
pub const A: Corner = 0;
pub const B: Corner = 1;
pub const C: Corner = 2;
pub const D: Corner = 3;

/// The corners of the triangles of a cell, counter-clockwise (y upwards): the order of the format.
pub const CELL: [[Corner; VERTICES]; TRIANGLES] = [[A, B, D], [A, D, C]];

/// Offset of a corner from its cell, along each axis.
pub const fn offset(corner: Corner) -> [usize; AXES] {
    [corner & 1, corner >> 1 & 1]
}

/// Values at the four corners of cell `x` between two rows of vertices.
#[inline(always)]
pub fn cell<V: Copy>([row, next]: [&[V]; 2], x: usize) -> [V; CORNERS] {
    [row[x], row[x + 1], next[x], next[x + 1]]
}

/// The triangles of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// a, b, d: (x, y), (x+1, y), (x+1, y+1)
    Lower,
    /// a, d, c: (x, y), (x+1, y+1), (x, y+1)
    Upper,
}

impl Triangle {
    pub const ALL: [Triangle; TRIANGLES] = [Triangle::Lower, Triangle::Upper];

    pub const fn simplex(self) -> Simplex {
        Simplex::ALL[self as usize]
    }

    /// Corners of the triangle in the order of the format.
    #[inline(always)]
    pub const fn corners(self) -> [Corner; VERTICES] {
        CELL[self as usize]
    }

    /// Offsets of its corners from the cell.
    #[inline(always)]
    pub const fn offsets(self) -> [[usize; AXES]; VERTICES] {
        const OFFSETS: [[[usize; AXES]; VERTICES]; TRIANGLES] = {
            let mut offsets = [[[0; AXES]; VERTICES]; TRIANGLES];
            let mut i = 0;
            while i < TRIANGLES * VERTICES {
                offsets[i / VERTICES][i % VERTICES] = offset(CELL[i / VERTICES][i % VERTICES]);
                i += 1;
            }
            offsets
        };
        OFFSETS[self as usize]
    }

    /// Position of a corner of the cell in the list of the triangle's corners; [`VERTICES`] if the triangle
    /// does not have this corner.
    pub const fn place(self, corner: Corner) -> usize {
        let (corners, mut k) = (self.corners(), 0);
        while k < VERTICES && corners[k] != corner {
            k += 1;
        }
        k
    }

    /// Whether the triangle has a corner of the cell.
    #[inline(always)]
    pub const fn has(self, corner: Corner) -> bool {
        const SETS: [u32; TRIANGLES] = {
            let mut sets = [0; TRIANGLES];
            let mut i = 0;
            while i < TRIANGLES * VERTICES {
                sets[i / VERTICES] |= 1 << CELL[i / VERTICES][i % VERTICES];
                i += 1;
            }
            sets
        };
        SETS[self as usize] >> corner & 1 != 0
    }

    /// The corner off the diagonal from a to d: no other triangle of the cell has it.
    #[inline(always)]
    pub const fn apex(self) -> Corner {
        match self {
            Triangle::Lower => const { apex_of(Triangle::Lower) },
            Triangle::Upper => const { apex_of(Triangle::Upper) },
        }
    }

    /// Picks the values at the corners of the triangle from those of its cell, in the order of the format.
    #[inline(always)]
    pub const fn of<V: Copy>(self, cell: &[V; CORNERS]) -> [V; VERTICES] {
        // Constants as indices, so that the compiler can use vector instructions.
        match self {
            Triangle::Lower => {
                [cell[const { CELL[0][0] }], cell[const { CELL[0][1] }], cell[const { CELL[0][2] }]]
            }
            Triangle::Upper => {
                [cell[const { CELL[1][0] }], cell[const { CELL[1][1] }], cell[const { CELL[1][2] }]]
            }
        }
    }

    /// The triangle's edge along an axis: positions, in its list of corners, of the edge's first and last
    /// vertex.
    #[inline(always)]
    pub const fn edge_along(self, axis: usize) -> [usize; 2] {
        const EDGES: [[[usize; 2]; AXES]; TRIANGLES] = [
            [edge_of(Triangle::Lower, 0), edge_of(Triangle::Lower, 1)],
            [edge_of(Triangle::Upper, 0), edge_of(Triangle::Upper, 1)],
        ];
        EDGES[self as usize][axis]
    }

    /// The faces (edges and vertex) of the base (x, y) that this triangle owns, as a set of
    /// [`Simplex::bit`]s: the triangle has them, and no earlier triangle of the cell does. A loop over all
    /// triangles that visits the owned faces of each visits every edge and every vertex once.
    #[inline(always)]
    pub const fn owned_faces(self) -> u32 {
        const OWNED: [u32; TRIANGLES] = {
            let mut sets = [0; TRIANGLES];
            let mut number = 0;
            while number < Simplex::FACES.len() {
                let simplex = Simplex::FACES[number];
                let mut t = 0;
                while !Triangle::ALL[t].has(simplex.end()) {
                    t += 1;
                }
                sets[t] |= simplex.bit();
                number += 1;
            }
            sets
        };
        OWNED[self as usize]
    }
}

const fn apex_of(triangle: Triangle) -> Corner {
    let other = Triangle::ALL[1 - triangle as usize];
    let (corners, mut k) = (triangle.corners(), 0);
    while other.has(corners[k]) {
        k += 1;
    }
    corners[k]
}

const fn edge_of(triangle: Triangle, axis: usize) -> [usize; 2] {
    let mut from = 0;
    // An edge along the axis ends at the corner with one more bit.
    while triangle.corners()[from] >> axis & 1 != 0 || !triangle.has(triangle.corners()[from] | 1 << axis) {
        from += 1;
    }
    [from, triangle.place(triangle.corners()[from] | 1 << axis)]
}

/// A triangle around a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Incident {
    pub triangle: Triangle,
    /// Offset of its cell from the vertex.
    pub cell: [i64; AXES],
    /// Position of the vertex in the triangle's list of corners. The two neighbours follow it cyclically,
    /// counter-clockwise.
    pub place: usize,
}

impl Incident {
    /// Offsets of its corners from the vertex, in the order of the format.
    pub const fn offsets(&self) -> [[i64; AXES]; VERTICES] {
        [self.offset(0), self.offset(1), self.offset(2)]
    }

    const fn offset(&self, place: usize) -> [i64; AXES] {
        let [x, y] = self.triangle.offsets()[place % VERTICES];
        [x as i64 + self.cell[0], y as i64 + self.cell[1]]
    }
}

/// The star of a vertex: the triangles around it, counter-clockwise. The corners of triangle k are the vertex
/// and its neighbours k and k + 1.
pub const STAR: [Incident; AROUND] = {
    let mut star = [incident([1, 0]); AROUND];
    let mut k = 1;
    while k < AROUND {
        star[k] = incident(star[k - 1].offset(star[k - 1].place + 2));
        k += 1;
    }
    star
};

/// Offsets of the neighbours of a vertex, counter-clockwise from (1, 0).
pub const NEIGHBOURS: [[i64; AXES]; AROUND] = {
    let mut neighbours = [[0; AXES]; AROUND];
    let mut k = 0;
    while k < AROUND {
        neighbours[k] = STAR[k].offset(STAR[k].place + 1);
        k += 1;
    }
    neighbours
};

/// The triangle around a vertex whose corner after the vertex, counter-clockwise, is a neighbour.
const fn incident(neighbour: [i64; AXES]) -> Incident {
    let mut i = 0;
    loop {
        let (triangle, place) = (Triangle::ALL[i / VERTICES], i % VERTICES);
        let [x, y] = triangle.offsets()[place];
        let found = Incident { triangle, cell: [-(x as i64), -(y as i64)], place };
        let next = found.offset(place + 1);
        if next[0] == neighbour[0] && next[1] == neighbour[1] {
            return found;
        }
        i += 1;
    }
}

/// The simplices that belong to a vertex (x, y), their base: corner a of the cell (x, y).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Simplex {
    /// The triangle (x, y), (x+1, y), (x+1, y+1).
    Lower = 0,
    /// The triangle (x, y), (x+1, y+1), (x, y+1).
    Upper = 1,
    /// The edge to (x+1, y).
    EdgeX = 2,
    /// The edge to (x, y+1).
    EdgeY = 3,
    /// The edge to (x+1, y+1).
    Diagonal = 4,
    /// The vertex itself.
    Vertex = 5,
}

impl Simplex {
    /// All of them, by number.
    pub const ALL: [Simplex; 6] =
        [Simplex::Lower, Simplex::Upper, Simplex::EdgeX, Simplex::EdgeY, Simplex::Diagonal, Simplex::Vertex];
    /// Edges and vertex.
    pub(crate) const FACES: [Simplex; 4] =
        [Simplex::EdgeX, Simplex::EdgeY, Simplex::Diagonal, Simplex::Vertex];

    /// The set of the [`FACES`](Simplex::FACES).
    pub(crate) const ALL_FACES: u32 = Triangle::Lower.owned_faces() | Triangle::Upper.owned_faces();

    /// The bit of a simplex in a set of simplices.
    pub(crate) const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// The corner where an edge ends; for the vertex, the vertex itself.
    pub(crate) const fn end(self) -> Corner {
        match self {
            Simplex::EdgeX => B,
            Simplex::EdgeY => C,
            Simplex::Diagonal => D,
            Simplex::Lower | Simplex::Upper | Simplex::Vertex => A,
        }
    }

    /// The ring of a vertex or an edge: the vertices on the outer boundary of the union of all triangles that
    /// contain it, counter-clockwise, as offsets from the base. The ring of a vertex has its six neighbours.
    /// The ring of an edge has four vertices: the first and the third are the ends of the edge.
    pub(crate) const fn ring(self) -> &'static [[i64; AXES]] {
        const RINGS: [[[i64; AXES]; 4]; 3] =
            [ring_of(Simplex::EdgeX), ring_of(Simplex::EdgeY), ring_of(Simplex::Diagonal)];
        match self {
            Simplex::EdgeX => &RINGS[0],
            Simplex::EdgeY => &RINGS[1],
            Simplex::Diagonal => &RINGS[2],
            Simplex::Lower | Simplex::Upper | Simplex::Vertex => &NEIGHBOURS,
        }
    }
}

const fn ring_of(edge: Simplex) -> [[i64; AXES]; 4] {
    let [x, y] = offset(edge.end());
    let mut k = 0;
    while NEIGHBOURS[k][0] != x as i64 || NEIGHBOURS[k][1] != y as i64 {
        k += 1;
    }
    // Start, vertex to the right of the edge, end, vertex to its left.
    [[0, 0], NEIGHBOURS[(k + AROUND - 1) % AROUND], NEIGHBOURS[k], NEIGHBOURS[(k + 1) % AROUND]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The corners of a triangle of the cell (x, y), as vertices of the grid.
    fn vertices(triangle: Triangle, [x, y]: [i64; AXES]) -> [[i64; AXES]; VERTICES] {
        triangle.offsets().map(|[dx, dy]| [x + dx as i64, y + dy as i64])
    }

    /// The edges of a triangle in its order.
    fn edges(p: [[i64; AXES]; VERTICES]) -> [[[i64; AXES]; 2]; VERTICES] {
        std::array::from_fn(|k| [p[k], p[(k + 1) % VERTICES]])
    }

    #[test]
    fn triangles_cover_a_cell_in_one_orientation() {
        let doubled_area = |triangle: Triangle| {
            let [p, q, r] = vertices(triangle, [0, 0]);
            (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
        };
        // Twice the area of the cell.
        assert_eq!(Triangle::ALL.map(doubled_area), [1, 1]);
        for triangle in Triangle::ALL {
            let other = Triangle::ALL[1 - triangle as usize];
            assert!(triangle.corners()[0] == A && triangle.has(D) && !other.has(triangle.apex()));
            for (axis, unit) in [[1, 0], [0, 1]].into_iter().enumerate() {
                let [from, to] = triangle.edge_along(axis).map(|place| vertices(triangle, [0, 0])[place]);
                assert_eq!([to[0] - from[0], to[1] - from[1]], unit);
            }
        }
    }

    #[test]
    fn two_triangles_share_an_edge_in_opposite_orientations() {
        const SIDE: i64 = 4;
        let cells = (0..SIDE * SIDE).map(|i| [i % SIDE, i / SIDE]);
        let all: Vec<_> = cells
            .flat_map(|cell| Triangle::ALL.map(|triangle| edges(vertices(triangle, cell))))
            .flatten()
            .collect();
        for [from, to] in &all {
            let count = |edge| all.iter().filter(|&&other| other == edge).count();
            let on_border = (0..AXES).any(|k| from[k] == to[k] && (from[k] == 0 || from[k] == SIDE));
            assert_eq!(
                (count([*from, *to]), count([*to, *from])),
                (1, !on_border as usize),
                "{from:?} {to:?}"
            );
        }
    }

    #[test]
    fn the_star_closes_in_one_turn() {
        // All triangles of the mesh that have the vertex (0, 0), and no others.
        let cells = [[-1, -1], [0, -1], [-1, 0], [0, 0]];
        let all = cells.into_iter().flat_map(|cell| Triangle::ALL.map(|triangle| (cell, triangle)));
        let with_vertex = all.filter(|&(cell, triangle)| vertices(triangle, cell).contains(&[0, 0]));
        assert_eq!(with_vertex.clone().count(), AROUND);
        assert!(with_vertex
            .into_iter()
            .all(|(cell, t)| STAR.iter().any(|s| (s.cell, s.triangle) == (cell, t))));
        let mut turned = 0.0;
        for (k, incident) in STAR.iter().enumerate() {
            let p = vertices(incident.triangle, incident.cell);
            let [from, to] = [NEIGHBOURS[k], NEIGHBOURS[(k + 1) % AROUND]];
            // The vertex, the neighbour, and the one after it, in the order of the format.
            let around = [0, 1, 2].map(|i| p[(incident.place + i) % VERTICES]);
            assert_eq!(around, [[0, 0], from, to]);
            let angle = |[x, y]: [i64; AXES]| (y as f64).atan2(x as f64);
            turned += (angle(to) - angle(from)).rem_euclid(std::f64::consts::TAU);
        }
        assert_eq!(NEIGHBOURS[0], [1, 0]);
        assert!((turned - std::f64::consts::TAU).abs() < 1e-9, "{turned}");
    }

    #[test]
    fn rings_are_edges_of_the_triangles_around() {
        for simplex in Simplex::FACES {
            let ring = simplex.ring();
            let inner = [[0, 0], offset(simplex.end()).map(|x| x as i64)];
            let cells = (-2..3).flat_map(|y| (-2..3).map(move |x| [x, y]));
            let triangles = cells.flat_map(|cell| Triangle::ALL.map(|triangle| vertices(triangle, cell)));
            // Edges of the triangles that have the simplex, except those inside the ring.
            let mut around: Vec<_> = triangles
                .filter(|p| inner.iter().all(|vertex| p.contains(vertex)))
                .flat_map(edges)
                .filter(|[from, to]| match simplex {
                    Simplex::Vertex => !inner.contains(from) && !inner.contains(to),
                    _ => !(inner.contains(from) && inner.contains(to)),
                })
                .collect();
            let mut found: Vec<_> = (0..ring.len()).map(|k| [ring[k], ring[(k + 1) % ring.len()]]).collect();
            around.sort();
            found.sort();
            assert_eq!(found, around, "{simplex:?}");
            if simplex != Simplex::Vertex {
                assert_eq!([ring[0], ring[2]], inner);
            }
        }
    }

    #[test]
    fn each_edge_and_the_vertex_have_one_owner() {
        let sets = Triangle::ALL.map(Triangle::owned_faces);
        assert_eq!(sets[0] & sets[1], 0);
        let all = Simplex::FACES.into_iter().fold(0, |set, simplex| set | simplex.bit());
        assert_eq!(sets[0] | sets[1], all);
        for (triangle, set) in Triangle::ALL.into_iter().zip(sets) {
            let members = Simplex::FACES.into_iter().filter(|simplex| set & simplex.bit() != 0);
            assert!(members.into_iter().all(|simplex| triangle.has(simplex.end())));
        }
    }

    #[test]
    fn corners_are_numbered_by_their_offsets() {
        let rows = [[0, 1, 2], [10, 11, 12]];
        let found = cell([&rows[0], &rows[1]], 1);
        for (corner, value) in found.into_iter().enumerate() {
            let [dx, dy] = offset(corner);
            assert_eq!(value, rows[dy][1 + dx]);
        }
    }
}
