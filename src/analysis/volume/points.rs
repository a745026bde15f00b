//! The critical points of a volume, with exact types.

use super::super::{guarded, in_bands, Domain};
use super::fields::{Candidate, VolumeFields};
use super::kind::VolumeKind;
use super::layer::{with_ghosts_before, Layer};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tetrahedra::Vectors;
use crate::grid::volume_simplex::VolumeSimplex;
use crate::request::VolumeRequest;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::topology::zero_set::{only_zero, sign_of_moved_zero};
use std::ops::Range;

/// One critical point of a volume: a zero of the piecewise linear field without other zeros beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumePoint {
    /// The vertex that the simplex begins at.
    pub cell_x: u64,
    pub cell_y: u64,
    pub cell_z: u64,
    /// The simplex that holds the point in its interior.
    pub simplex: VolumeSimplex,
    pub kind: VolumeKind,
    /// The sign of the determinant of the Jacobian inside a tetrahedron; elsewhere the degree of the field around the
    /// point. None of a zero at the border of the grid or beside missing vertices.
    pub index: Option<i32>,
    /// Its position: grid coordinates times the spacing, whose signs it has.
    pub x: f64,
    pub y: f64,
    pub z: f64,
}

/// All critical points of a volume, by planes, then by rows of bases, by columns, and by the number of the simplex.
///
/// The components must cover the grid of the request and its ghosts; `threads` of 0 means one per processor,
/// and the result does not depend on it. A critical point lies strictly inside its tetrahedron, or is an
/// isolated zero at a vertex, inside an edge or inside a face (docs/algorithm.md, section 14). Tetrahedra
/// with a missing vertex do not count.
pub fn critical_points_volume<T: Real>(
    request: &VolumeRequest,
    [u, v, w]: [View<'_, T>; 3],
    threads: usize,
) -> Result<Vec<VolumePoint>> {
    let domain = Domain::of_volume(request, &[("u", u), ("v", v), ("w", w)])?;
    let fields = VolumeFields { domain: &domain, views: &[[u, v, w]] };
    guarded(|| {
        let found = in_bands(domain.grid, Threads::new(threads), |z, band| points_of_band(&fields, z, band))?;
        let mut all = memory::with_capacity(found.iter().map(Vec::len).sum())?;
        found.iter().for_each(|points| all.extend_from_slice(points));
        // A zero is found in a tetrahedron before its base.
        all.sort_unstable_by_key(|p: &VolumePoint| (p.cell_z, p.cell_y, p.cell_x, p.simplex));
        Ok(all)
    })
}

/// The points found in the cubes that begin in some rows of a plane, and in those of the ghosts before them.
fn points_of_band<T: Real>(
    fields: &VolumeFields<'_, T, 1>,
    z: u64,
    band: Range<u64>,
) -> Result<Vec<VolumePoint>> {
    let mut found = Vec::new();
    let (planes, rows) = with_ghosts_before(fields.domain, z, band);
    for z in planes {
        let mut layer = Layer::new(fields.domain, fields.views, z, rows.start)?;
        for y in rows.clone() {
            layer.advance(y);
            layer.for_open(y, |cube, tetrahedron, [p]| {
                let Some(corners) = only_zero(&p) else { return Ok(()) };
                let candidate = fields.candidate(cube, tetrahedron, corners);
                match point(fields, (tetrahedron, &p), candidate)? {
                    Some(point) => memory::push(&mut found, point),
                    None => Ok(()),
                }
            })?;
        }
    }
    Ok(found)
}

/// The point in the interior of a simplex that was found in a tetrahedron. None if another block has its
/// base.
fn point<T: Real>(
    fields: &VolumeFields<'_, T, 1>,
    (tetrahedron, p): (usize, &Vectors<T>),
    candidate: Candidate,
) -> Result<Option<VolumePoint>> {
    let rule = &fields.domain.rule;
    let Candidate { base, simplex, .. } = candidate;
    if !fields.domain.owns(base) {
        return Ok(None);
    }
    let (kind, index) = if simplex.dimension() == 3 {
        let index = fields.orientation(tetrahedron, sign_of_moved_zero(p));
        (VolumeKind::of(p, tetrahedron, rule)?, Some(index))
    } else {
        match fields.zeros(candidate) {
            Some([Some(index)]) => (VolumeKind::of_zero(simplex), index),
            _ => return Ok(None),
        }
    };
    let local = position(fields, candidate);
    let [x, y, z] = [0, 1, 2].map(|k| (base[k] as f64 + local[k]) * rule.spacing[k]);
    let [cell_x, cell_y, cell_z] = base.map(|k| k as u64);
    Ok(Some(VolumePoint { cell_x, cell_y, cell_z, simplex, kind, index, x, y, z }))
}

/// The position of the zero in a simplex from its base, in the closed simplex whatever the rounding.
fn position<T: Real>(
    fields: &VolumeFields<'_, T, 1>,
    Candidate { base, simplex, .. }: Candidate,
) -> [f64; 3] {
    let mut vectors = [[0.0; 3]; 4];
    for (vector, along) in vectors.iter_mut().zip(simplex.offsets()) {
        let vertex = fields.vertex([0, 1, 2].map(|k| base[k] + along[k]));
        *vector = vertex.map_or([0.0; 3], |[vertex]| vertex.map(T::to_f64));
    }
    let corners = simplex.corners();
    let weights = weights(&vectors[..corners.len()]);
    // Axes that a path goes along first have the weights of all corners behind.
    let (mut place, mut behind) = ([0.0; 3], 0.0f64);
    for k in (1..corners.len()).rev() {
        behind = (behind + weights[k]).min(1.0);
        let step = corners[k] & !corners[k - 1];
        (0..3).filter(|axis| step >> axis & 1 != 0).for_each(|axis| place[axis] = behind);
    }
    place
}

/// The weights of the corners of a simplex whose combination is 0: the sizes of what the other corners span.
fn weights(vectors: &[[f64; 3]]) -> [f64; 4] {
    // The products of scaled vectors neither overflow nor all underflow.
    let largest = vectors.iter().flatten().fold(0.0, |m: f64, c| m.max(c.abs()));
    let mut scaled = [[0.0; 3]; 4];
    for (to, from) in scaled.iter_mut().zip(vectors) {
        *to = from.map(|x| x / largest);
    }
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    };
    let length = |a: [f64; 3]| a[0].abs() + a[1].abs() + a[2].abs();
    let n = vectors.len();
    let mut weights = [0.0; 4];
    for (k, weight) in weights[..n].iter_mut().enumerate() {
        let other = |i: usize| scaled[(k + i) % n];
        *weight = match n {
            1 => 1.0,
            2 => length(other(1)),
            3 => length(cross(other(1), other(2))),
            _ => {
                let [a, b] = [other(1), cross(other(2), other(3))];
                (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).abs()
            }
        };
    }
    let sum = weights.iter().sum::<f64>();
    match sum > 0.0 {
        true => weights.map(|weight| weight / sum),
        false => [1.0 / n as f64; 4],
    }
}
