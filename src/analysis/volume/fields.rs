//! The vertices and tetrahedra of one volume or of two, and the isolated zeros at vertices, on edges and on faces.

use super::super::zeros::Index;
use super::super::Domain;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tetrahedra::{offset, Vectors, CUBE, STEPS, TETRAHEDRA};
use crate::grid::volume_simplex::VolumeSimplex;
use crate::topology::tetrahedron::VolumeRule;
use crate::topology::zero_set::{only_zero, sign_of_moved_zero};

/// One field, or the two of a comparison, whose vertices count where none of the fields misses them.
#[derive(Clone, Copy)]
pub(super) struct VolumeFields<'a, T, const F: usize> {
    pub domain: &'a Domain<VolumeRule>,
    pub views: &'a [[View<'a, T>; 3]; F],
}

/// A simplex that may hold an isolated zero, and the number of a tetrahedron that it was found in.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub base: [i64; 3],
    pub simplex: VolumeSimplex,
    found_in: u64,
}

impl<T: Real, const F: usize> VolumeFields<'_, T, F> {
    /// The number of a tetrahedron of the cube at a vertex.
    fn number(&self, cube: [i64; 3], tetrahedron: usize) -> u64 {
        self.domain.number(cube) * TETRAHEDRA as u64 + tetrahedron as u64
    }

    /// The vectors of a vertex of each field; none where it is missing.
    pub fn vertex(&self, at: [i64; 3]) -> Option<[[T; 3]; F]> {
        let at = self.domain.grid.wrapped_in_volume(at);
        let vectors = self.views.map(|views| views.map(|view| view.get_in_volume(at)));
        let finite = vectors.iter().flatten().all(|c| c.is_finite());
        (finite && !self.domain.missing.is_filled(vectors[0])).then_some(vectors)
    }

    /// The number of a tetrahedron and its vectors in each field; none beyond the grid and its ghosts, and
    /// with a missing vertex.
    fn tetrahedron(&self, cube: [i64; 3], tetrahedron: usize) -> Option<(u64, [Vectors<T>; F])> {
        let cube = self.domain.grid.wrapped_in_volume(cube);
        if !self.domain.cubes().iter().zip(&cube).all(|(cubes, k)| cubes.contains(k)) {
            return None;
        }
        let mut vectors = [[[T::ZERO; 3]; 4]; F];
        for (k, corner) in CUBE[tetrahedron].into_iter().enumerate() {
            let along = offset(corner);
            let vertex = self.vertex([0, 1, 2].map(|axis| cube[axis] + along[axis]))?;
            (0..F).for_each(|f| vectors[f][k] = vertex[f]);
        }
        Some((self.number(cube, tetrahedron), vectors))
    }

    /// The simplex at some corners of a tetrahedron, a bit for each.
    pub fn candidate(&self, cube: [i64; 3], tetrahedron: usize, corners: u8) -> Candidate {
        let (base, simplex) = VolumeSimplex::in_tetrahedron(tetrahedron, corners);
        let along = offset(base);
        let base = self.domain.grid.wrapped_in_volume([0, 1, 2].map(|k| cube[k] + along[k]));
        Candidate { base, simplex, found_in: self.number(cube, tetrahedron) }
    }

    /// The index of the isolated zero of each field in the interior of a simplex. None if another block has
    /// its base, and if the simplex was found in a tetrahedron that is not the first of those around it: it
    /// is looked at once.
    pub fn zeros(&self, candidate: Candidate) -> Option<[Option<Index>; F]> {
        let Candidate { base, simplex, found_in } = candidate;
        if !self.domain.owns(base) {
            return None;
        }
        let (mut holds, mut degrees, mut is_closed) = ([true; F], [0; F], true);
        for (tetrahedron, along, corners) in simplex.around() {
            let cube = [0, 1, 2].map(|k| base[k] + along[k]);
            let Some((number, vectors)) = self.tetrahedron(cube, tetrahedron) else {
                is_closed = false;
                continue;
            };
            if number < found_in {
                return None;
            }
            for (f, p) in vectors.iter().enumerate() {
                match only_zero(p) == Some(corners) {
                    true => degrees[f] += self.orientation(tetrahedron, sign_of_moved_zero(p)),
                    false => holds[f] = false,
                }
            }
        }
        Some(std::array::from_fn(|f| holds[f].then_some(is_closed.then_some(degrees[f]))))
    }

    /// The sign of the determinant of the Jacobian, given that of the determinants of a tetrahedron.
    pub fn orientation(&self, tetrahedron: usize, sign: i32) -> i32 {
        let is_odd = matches!(STEPS[tetrahedron], [0, 2, 1] | [1, 0, 2] | [2, 1, 0]);
        let mirrored = self.domain.rule.spacing.iter().filter(|d| **d < 0.0).count() % 2 == 1;
        if is_odd != mirrored {
            -sign
        } else {
            sign
        }
    }
}
