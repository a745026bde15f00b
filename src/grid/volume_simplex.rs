//! The simplices of a volume: tetrahedra of Kuhn's division (`tetrahedra`), their faces and edges, and vertices.
//!
//! A simplex is a path: it begins at a vertex, its *base*, and each step goes one further along one or more axes that
//! no other step goes along.

use super::tetrahedra::{offset, CUBE, STAR, TETRAHEDRA, VERTICES};

/// A simplex relative to its base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VolumeSimplex(u8);

/// Its corners, numbered as those of a cube at the base: bit k says that the corner lies one further along axis k.
#[derive(Clone, Copy)]
struct Path {
    corners: [usize; VERTICES],
    count: usize,
}

const PATHS: [Path; VolumeSimplex::COUNT] = {
    let mut paths = [Path { corners: [0; VERTICES], count: 1 }; VolumeSimplex::COUNT];
    let mut k = 0;
    while k < TETRAHEDRA {
        paths[k] = Path { corners: CUBE[k], count: VERTICES };
        k += 1;
    }
    let mut middle = 1;
    while middle < 8 {
        let mut last = middle + 1;
        while last < 8 {
            if last & middle == middle {
                paths[k] = Path { corners: [0, middle, last, 0], count: 3 };
                k += 1;
            }
            last += 1;
        }
        middle += 1;
    }
    let mut last = 1;
    while last < 8 {
        paths[k] = Path { corners: [0, last, 0, 0], count: 2 };
        k += 1;
        last += 1;
    }
    paths
};

impl VolumeSimplex {
    /// Number of simplices with one base.
    pub const COUNT: usize = 26;
    /// The vertex itself.
    pub const VERTEX: VolumeSimplex = VolumeSimplex(25);

    /// All of them, by number: 6 tetrahedra in the order of the format, 12 faces, 7 edges, the vertex.
    pub fn all() -> impl Iterator<Item = VolumeSimplex> {
        (0..Self::COUNT as u8).map(VolumeSimplex)
    }

    /// Tetrahedron `number` of a cube.
    pub fn tetrahedron(number: usize) -> Self {
        debug_assert!(number < TETRAHEDRA);
        VolumeSimplex(number as u8)
    }

    pub fn number(self) -> usize {
        self.0 as usize
    }

    /// 3 of a tetrahedron, 2 of a face, 1 of an edge, 0 of a vertex.
    pub fn dimension(self) -> usize {
        PATHS[self.number()].count - 1
    }

    /// Its corners along the path, the base (0) first: bit k of one says that it lies one further along axis k.
    pub fn corners(self) -> &'static [usize] {
        let path = &PATHS[self.number()];
        &path.corners[..path.count]
    }

    /// The simplex at some corners of a tetrahedron, a bit for each along its path, and the corner that is its base.
    pub fn in_tetrahedron(number: usize, corners: u8) -> (usize, Self) {
        let mut path = CUBE[number].into_iter().enumerate().filter(|(k, _)| corners >> k & 1 != 0);
        let base = path.next().map_or(0, |(_, corner)| corner);
        let mut own = [0; VERTICES];
        let mut count = 1;
        for (_, corner) in path {
            own[count] = corner ^ base;
            count += 1;
        }
        let simplex = Self::all().find(|simplex| *simplex.corners() == own[..count]);
        (base, simplex.unwrap_or(Self::VERTEX))
    }

    /// The tetrahedra that the simplex belongs to: the number of each, the offset of its cube from the base, and the
    /// corners of the simplex, a bit for each along its path.
    pub fn around(self) -> impl Iterator<Item = (usize, [i64; 3], u8)> {
        STAR.iter().filter_map(move |incident| {
            let tetrahedron = incident.tetrahedron;
            let base = (0..3).fold(0, |corner, k| corner | usize::from(incident.cube[k] != 0) << k);
            let place = |corner: usize| CUBE[tetrahedron].iter().position(|&c| c == corner);
            let mut found = 0u8;
            for &corner in self.corners() {
                found |= 1 << place(base | corner).filter(|_| base & corner == 0)?;
            }
            Some((tetrahedron, incident.cube, found))
        })
    }

    /// Offsets of its corners from the base, along each axis.
    pub fn offsets(self) -> impl Iterator<Item = [i64; 3]> {
        self.corners().iter().map(|&corner| offset(corner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simplices_have_the_numbers_of_their_dimension() {
        let dimensions: Vec<usize> = VolumeSimplex::all().map(VolumeSimplex::dimension).collect();
        assert!(dimensions[..6].iter().all(|&d| d == 3) && dimensions[6..18].iter().all(|&d| d == 2));
        assert!(dimensions[18..25].iter().all(|&d| d == 1) && dimensions[25] == 0);
        let mut corners: Vec<_> = VolumeSimplex::all().map(VolumeSimplex::corners).collect();
        corners.sort_unstable();
        corners.dedup();
        assert_eq!(corners.len(), VolumeSimplex::COUNT);
    }

    /// The corners of a tetrahedron give the simplex, around which the tetrahedron is found again.
    #[test]
    fn simplices_are_found_in_their_tetrahedra() {
        let mut around = [0; VolumeSimplex::COUNT];
        for number in 0..TETRAHEDRA {
            for corners in 1..16u8 {
                let (base, simplex) = VolumeSimplex::in_tetrahedron(number, corners);
                assert_eq!(simplex.dimension() + 1, corners.count_ones() as usize);
                let cube = offset(base).map(|k| -k);
                assert!(simplex.around().any(|found| found == (number, cube, corners)));
                around[simplex.number()] += 1;
            }
        }
        for simplex in VolumeSimplex::all() {
            assert_eq!(simplex.around().count(), around[simplex.number()]);
        }
        assert_eq!((around[25], around[24], around[0]), (24, 6, 1));
        assert!(around[6..18].iter().all(|&n| n == 2) && around[18..25].iter().all(|&n| n == 4 || n == 6));
    }
}
