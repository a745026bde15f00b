//! Changes of volumes by compression: critical points, ties, special values and errors, all decided exactly.

use super::super::compare::ComparisonOf;
use super::super::differences::{joined, Differences};
use super::super::{guarded, in_bands, range_volume, rows_of, Domain};
use super::fields::VolumeFields;
use super::kind::VolumeKind;
use super::layer::{with_ghosts_before, Layer};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tetrahedra::{Vectors, STEPS};
use crate::request::{BoundKind, VolumeRequest};
use crate::runtime::pool::Threads;
use crate::topology::tetrahedron::{signature, Signature};
use crate::topology::zero_set::only_zero;
use std::ops::Range;

/// The comparison of a volume with its reconstruction.
pub type VolumeComparison = ComparisonOf<{ VolumeKind::COUNT }>;

impl VolumeComparison {
    /// Critical points of the original inside tetrahedra: those that the report of a compression counts.
    pub fn points_in_tetrahedra(&self) -> u64 {
        let zeros = [VolumeKind::VertexZero, VolumeKind::EdgeZero, VolumeKind::FaceZero];
        self.critical_points - self.points_of(&zeros.map(|kind| kind as usize))
    }
}

/// Compares a volume with its reconstruction.
///
/// All views must cover the grid of the request and its ghosts. Vertices and values are those of the grid,
/// tetrahedra and zeros those with a base in it. `checks_bound` says whether the bound of the request counts;
/// a relative one is the fraction of the original's range. `threads` of 0 means one per processor; the result
/// does not depend on it. Classes and types are those of docs/algorithm.md, section 14, all signs exact.
pub fn compare_volume<T: Real>(
    request: &VolumeRequest,
    first: [View<'_, T>; 3],
    other: [View<'_, T>; 3],
    checks_bound: bool,
    threads: usize,
) -> Result<VolumeComparison> {
    let [[u0, v0, w0], [u1, v1, w1]] = [first, other];
    let named = [("u", u0), ("v", v0), ("w", w0), ("other_u", u1), ("other_v", v1), ("other_w", w1)];
    let domain = Domain::of_volume(request, &named)?;
    let bound = match (checks_bound, request.config().bound_kind) {
        (false, _) => f64::INFINITY,
        (true, BoundKind::Absolute) => request.config().bound,
        (true, BoundKind::Relative) => range_volume(request, first, threads)?.bound(request.common()),
    };
    let fields = VolumeFields { domain: &domain, views: &[first, other] };
    guarded(|| {
        let parts =
            in_bands(domain.grid, Threads::new(threads), |z, band| compare_band(&fields, (z, band), bound))?;
        let part = joined(parts, Part::add).unwrap_or_default();
        Ok(VolumeComparison { bound, ..part.counts.with_values(&part.values) })
    })
}

/// Compares some rows of vertices of a plane, and the cubes that begin there.
fn compare_band<T: Real>(
    fields: &VolumeFields<'_, T, 2>,
    (z, band): (u64, Range<u64>),
    bound: f64,
) -> Result<Part> {
    let domain = fields.domain;
    let mut part = Part::default();
    let mut squares = rows_of(domain.grid.nx)?;
    let (planes, rows) = with_ghosts_before(domain, z, band);
    for z in planes {
        let mut layer = Layer::new(domain, fields.views, z, rows.start)?;
        for y in rows.clone() {
            let row = layer.advance(y);
            if domain.owns([0, y, z]) {
                part.values.add_row(row, domain.owned_of_row(), bound, &mut squares);
            }
            layer.for_open(y, |cube, tetrahedron, [before, after]| {
                part.tetrahedron(fields, (cube, tetrahedron), [&before, &after])
            })?;
        }
    }
    part.values.sum_columns(squares);
    Ok(part)
}

/// Counts and sums over some rows.
#[derive(Clone, Copy, Default)]
struct Part {
    counts: VolumeComparison,
    values: Differences<3>,
}

impl Part {
    fn tetrahedron<T: Real>(
        &mut self,
        fields: &VolumeFields<'_, T, 2>,
        (cube, tetrahedron): ([i64; 3], usize),
        p: [&Vectors<T>; 2],
    ) -> Result<()> {
        let rule = &fields.domain.rule;
        if !fields.domain.owns(cube) {
            self.zeros(fields, (cube, tetrahedron), p);
            return Ok(());
        }
        let signatures = p.map(|p| signature(p, STEPS[tetrahedron], rule));
        let [before, after] = signatures;
        if signatures == [Signature::Out; 2] {
            return Ok(());
        }
        let counts = &mut self.counts;
        let inside = signatures.map(Signature::is_critical);
        counts.lost_points += (inside == [true, false]) as u64;
        counts.spurious_points += (inside == [false, true]) as u64;
        counts.other_critical_points += inside[1] as u64;
        if inside[0] {
            counts.critical_points += 1;
            let kind = VolumeKind::of(p[0], tetrahedron, rule)?;
            counts.points_by_type[kind as usize] += 1;
            if inside[1] && p[0] != p[1] {
                let changes = before != after || kind != VolumeKind::of(p[1], tetrahedron, rule)?;
                counts.changed_types += changes as u64;
            }
        }
        let ties = signatures.map(Signature::is_tie);
        counts.ties += ties[0] as u64;
        counts.new_ties += (ties == [false, true]) as u64;
        counts.changed_ties += (ties[0] && before != after) as u64;
        if ties.contains(&true) {
            self.zeros(fields, (cube, tetrahedron), p);
        }
        Ok(())
    }

    /// Compares the isolated zeros on the boundary of a tetrahedron in both fields.
    #[inline(never)]
    fn zeros<T: Real>(
        &mut self,
        fields: &VolumeFields<'_, T, 2>,
        (cube, tetrahedron): ([i64; 3], usize),
        p: [&Vectors<T>; 2],
    ) {
        let [before, after] = p.map(|p| only_zero(p).filter(|&corners| corners != INSIDE));
        for corners in [before, after.filter(|_| before != after)].into_iter().flatten() {
            let candidate = fields.candidate(cube, tetrahedron, corners);
            if let Some(zeros) = fields.zeros(candidate) {
                self.counts.add_zero(VolumeKind::of_zero(candidate.simplex) as usize, zeros);
            }
        }
    }

    fn add(&mut self, other: &Part) {
        self.counts.add(&other.counts);
        self.values.add(&other.values);
    }
}

/// All corners of a tetrahedron.
const INSIDE: u8 = 15;
