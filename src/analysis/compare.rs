//! Changes by compression: critical points, ties, special values and errors, all decided exactly.

use super::critical_points::kind_of;
use super::differences::{joined, Differences, Row, PRESENT, SAME};
use super::zeros::{candidates, Fields, Index};
use super::{guarded, in_bands, of_plane, range, rows_of, vectors, Domain, Kind};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::{cell, Simplex, Triangle};
use crate::request::{BoundKind, Request, Ties};
use crate::runtime::pool::Threads;
use crate::topology::bound::axis_distance;
use crate::topology::signature::{keeps_tie, kind, signs, Rule, IN, TIE};
use std::ops::Range;

/// The comparison of a field with its reconstruction. Triangles, and tetrahedra of volumes, are compared where no
/// vertex is missing (see [`super`]) in either field; critical points are those of [`super::critical_points()`] or
/// [`super::critical_points_volume()`], told apart by their simplices. KINDS is the number of types of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparisonOf<const KINDS: usize> {
    /// Critical points of the original.
    pub critical_points: u64,
    /// Critical points of the reconstruction.
    pub other_critical_points: u64,
    /// The original's critical points by [`Kind`]; of volumes by [`super::VolumeKind`].
    pub points_by_type: [u64; KINDS],
    /// Critical points of the original only.
    pub lost_points: u64,
    /// Critical points of the reconstruction only.
    pub spurious_points: u64,
    /// Critical points of both, of different types or indices.
    pub changed_types: u64,
    /// Of these three, zeros at vertices and on edges and, in volumes, on faces.
    pub lost_zeros: u64,
    pub spurious_zeros: u64,
    pub changed_indices: u64,
    /// Triangles, or tetrahedra, of the original with the origin on the boundary of their image (TIE).
    pub ties: u64,
    /// Ties that do not keep what the setting `ties` says: by default the class and all signs.
    pub changed_ties: u64,
    /// Ties of the reconstruction that were none.
    pub new_ties: u64,
    /// Vertices of the original with a NaN or infinity.
    pub nonfinite_vertices: u64,
    /// Other vertices of the original with the fill value.
    pub filled_vertices: u64,
    /// Missing vertices (non-finite or filled) of the original that are not the same bit for bit, and others
    /// that are not finite in the reconstruction.
    pub changed_missing: u64,
    /// Unfilled vertices of the original where all components are 0.
    pub zero_vertices: u64,
    /// Vertices where all components are 0 in one field only.
    pub changed_zero_vertices: u64,
    /// Values with |x1 - x0| above the bound, compared exactly; 0 without a bound.
    pub bound_exceeded: u64,
    /// The absolute bound that was checked; infinity without one.
    pub bound: f64,
    /// Largest |x1 - x0| of finite values of unfilled vertices, rounded to nearest.
    pub max_error: f64,
    /// Peak signal-to-noise ratio in dB: joint range of the original's values over the root of the
    /// mean square error, taken over the number of components times that of u's finite pairs (as the independent
    /// checker does; it matters only where components are non-finite at different vertices). Infinite for equal fields,
    /// NaN for a constant original with errors, `None` without values or where it leaves the range of f64. The
    /// order of its sums is fixed, so that every backend and number of threads finds the same bits.
    pub psnr: Option<f64>,
}

/// The comparison of a field in a plane, or in a stack of planes.
pub type Comparison = ComparisonOf<{ Kind::COUNT }>;

impl<const KINDS: usize> Default for ComparisonOf<KINDS> {
    fn default() -> Self {
        ComparisonOf {
            critical_points: 0,
            other_critical_points: 0,
            points_by_type: [0; KINDS],
            lost_points: 0,
            spurious_points: 0,
            changed_types: 0,
            lost_zeros: 0,
            spurious_zeros: 0,
            changed_indices: 0,
            ties: 0,
            changed_ties: 0,
            new_ties: 0,
            nonfinite_vertices: 0,
            filled_vertices: 0,
            changed_missing: 0,
            zero_vertices: 0,
            changed_zero_vertices: 0,
            bound_exceeded: 0,
            bound: 0.0,
            max_error: 0.0,
            psnr: None,
        }
    }
}

impl Comparison {
    /// Critical points of the original inside triangles: those that the report of a compression counts.
    pub fn points_in_triangles(&self) -> u64 {
        self.critical_points - self.points_of(&[Kind::VertexZero as usize, Kind::EdgeZero as usize])
    }
}

impl<const KINDS: usize> ComparisonOf<KINDS> {
    /// The sum of all counts that must be 0 after compression. Zeros at vertices, on edges and on faces take part by
    /// the ties around them.
    pub fn violations(&self) -> u64 {
        self.changed_points_inside()
            + self.changed_ties
            + self.new_ties
            + self.changed_missing
            + self.bound_exceeded
    }

    /// Critical points of the original of some types, by number.
    pub(super) fn points_of(&self, kinds: &[usize]) -> u64 {
        kinds.iter().map(|&kind| self.points_by_type[kind]).sum()
    }

    /// Critical points inside triangles or tetrahedra that are lost, spurious or of another type.
    fn changed_points_inside(&self) -> u64 {
        self.lost_points + self.spurious_points + self.changed_types - self.changed_zero_points()
    }

    /// Zeros at vertices, on edges and on faces that are lost, spurious or of another index.
    pub fn changed_zero_points(&self) -> u64 {
        self.lost_zeros + self.spurious_zeros + self.changed_indices
    }

    /// Adds the counts of simplices of another part.
    pub(super) fn add(&mut self, other: &Self) {
        let (a, b) = (self, other);
        for (x, y) in [
            (&mut a.critical_points, b.critical_points),
            (&mut a.other_critical_points, b.other_critical_points),
            (&mut a.lost_points, b.lost_points),
            (&mut a.spurious_points, b.spurious_points),
            (&mut a.changed_types, b.changed_types),
            (&mut a.lost_zeros, b.lost_zeros),
            (&mut a.spurious_zeros, b.spurious_zeros),
            (&mut a.changed_indices, b.changed_indices),
            (&mut a.ties, b.ties),
            (&mut a.changed_ties, b.changed_ties),
            (&mut a.new_ties, b.new_ties),
        ] {
            *x += y;
        }
        for (x, y) in a.points_by_type.iter_mut().zip(b.points_by_type) {
            *x += y;
        }
    }

    /// The counts of simplices, completed with the differences of all values.
    pub(super) fn with_values<const N: usize>(self, values: &Differences<N>) -> Self {
        ComparisonOf {
            nonfinite_vertices: values.nonfinite_vertices,
            filled_vertices: values.filled_vertices,
            changed_missing: values.changed_missing,
            zero_vertices: values.zero_vertices,
            changed_zero_vertices: values.changed_zero_vertices,
            bound_exceeded: values.bound_exceeded,
            max_error: values.max_error,
            psnr: values.psnr(),
            ..self
        }
    }

    /// Counts an isolated zero on the boundary of simplices, of a type by its number: its index in both fields, if it
    /// is there.
    pub(super) fn add_zero(&mut self, kind: usize, [before, after]: [Option<Index>; 2]) {
        self.points_by_type[kind] += before.is_some() as u64;
        self.critical_points += before.is_some() as u64;
        self.other_critical_points += after.is_some() as u64;
        let [lost, spurious] = [(before, after), (after, before)].map(|(a, b)| a.is_some() && b.is_none());
        let changed = before.zip(after).is_some_and(|(before, after)| before != after);
        for (points, zeros, is_one) in [
            (&mut self.lost_points, &mut self.lost_zeros, lost),
            (&mut self.spurious_points, &mut self.spurious_zeros, spurious),
            (&mut self.changed_types, &mut self.changed_indices, changed),
        ] {
            *points += is_one as u64;
            *zeros += is_one as u64;
        }
    }
}

/// Compares an original field with its reconstruction.
///
/// All views must cover the grid of the request and its ghosts. Vertices and values are those of the grid,
/// triangles, edges and zeros those with a base in it (see [`super`]). `checks_bound` says whether
/// the bound of the request counts; a relative one is the fraction of the original's range. `threads` of 0
/// means one per processor; the result does not depend on it. Classes and types are those of
/// docs/algorithm.md, section 2, all signs exact.
pub fn compare<T: Real>(
    request: &Request,
    first: [View<'_, T>; 2],
    other: [View<'_, T>; 2],
    checks_bound: bool,
    threads: usize,
) -> Result<Comparison> {
    let [[u0, v0], [u1, v1]] = [first, other];
    let named = [("u", u0), ("v", v0), ("other_u", u1), ("other_v", v1)];
    let domain = Domain::new(request, &named)?;
    guarded(|| {
        let bound = match (checks_bound, request.config().bound_kind) {
            (false, _) => f64::INFINITY,
            (true, BoundKind::Absolute) => request.config().bound,
            (true, BoundKind::Relative) => range(request, first, threads)?.bound(request),
        };
        let views = [first, other];
        let parts = in_bands(domain.grid, Threads::new(threads), |z, band| {
            compare_band(&domain, &views.map(|views| of_plane(views, z)), bound, band)
        })?;
        let counts = joined(parts, Part::add).unwrap_or_default().finish();
        Ok(Comparison { bound, ..counts })
    })
}

/// A triangle in two fields, none of whose vertices is missing in either: what of it changes.
pub(crate) struct Both<'a, T> {
    p: [&'a [[T; 2]; 3]; 2],
    signs: [[i32; 3]; 2],
    kinds: [u32; 2],
}

impl<'a, T: Real> Both<'a, T> {
    pub(crate) fn new(before: &'a [[T; 2]; 3], after: &'a [[T; 2]; 3]) -> Self {
        let p = [before, after];
        let signs = p.map(signs);
        Both { p, kinds: [0, 1].map(|k| kind(p[k], &signs[k])), signs }
    }

    fn loses_point(&self) -> bool {
        self.kinds[0] == IN && self.kinds[1] != IN
    }

    fn gains_point(&self) -> bool {
        self.kinds[0] != IN && self.kinds[1] == IN
    }

    fn becomes_tie(&self) -> bool {
        self.kinds[0] != TIE && self.kinds[1] == TIE
    }

    fn changes_tie(&self, ties: Ties) -> bool {
        self.kinds[0] == TIE && !keeps_tie(self.p, [&self.signs[0], &self.signs[1]], ties)
    }

    /// Whether a critical point in both is of another type, if the rule asks for types, or turns the other
    /// way.
    fn changes_type(&self, triangle: Triangle, rule: &Rule) -> bool {
        let [before, after] = self.p;
        self.kinds == [IN, IN]
            && (self.signs[0] != self.signs[1]
                || (rule.types && kind_of(before, triangle, rule) != kind_of(after, triangle, rule)))
    }

    /// Whether the triangle keeps what a rule promises. [`Comparison::violations`] counts the triangles that
    /// do not.
    pub(crate) fn keeps(&self, triangle: Triangle, rule: &Rule) -> bool {
        !(self.loses_point()
            || self.gains_point()
            || self.becomes_tie()
            || self.changes_tie(rule.ties)
            || self.changes_type(triangle, rule))
    }
}

fn compare_band<T: Real>(
    domain: &Domain,
    views: &[[View<'_, T>; 2]; 2],
    bound: f64,
    band: Range<u64>,
) -> Result<Part> {
    let nx = domain.grid.nx;
    let mut part = Part::default();
    let (mut low, mut high) = (Row::<T, 2, 2>::new(domain.columns)?, Row::<T, 2, 2>::new(domain.columns)?);
    // Squared errors of each column.
    let mut squares = rows_of(nx)?;
    low.load(domain, views, band.start as i64);
    for y in band {
        part.values.add_row(&low, domain.owned_of_row(), bound, &mut squares);
        let has_cells = y + 1 < domain.rows;
        if has_cells {
            high.load(domain, views, y as i64 + 1);
            part.cells(&Fields { domain, views }, y, &low, &high);
        }
        // The last column or row may have no cells.
        for x in if has_cells { domain.columns - 1 } else { 0 }..nx {
            part.zeros(&Fields { domain, views }, (x, y), Simplex::ALL_FACES);
        }
        std::mem::swap(&mut low, &mut high);
    }
    part.values.sum_columns(squares);
    Ok(part)
}

/// Counts and sums over some rows.
#[derive(Clone, Copy, Default)]
struct Part {
    counts: Comparison,
    values: Differences<2>,
}

impl Part {
    /// Compares what is inside the cells between two rows, and on the edges and vertices that belong to them.
    fn cells<T: Real>(&mut self, fields: &Fields<'_, T, 2>, y: u64, low: &Row<T, 2, 2>, high: &Row<T, 2, 2>) {
        let before = [low.field(0), high.field(0)];
        let after = [low.field(1), high.field(1)];
        for x in 0..low.flags.len() - 1 {
            // Both triangles have the base.
            if low.flags[x] & PRESENT == 0 {
                continue;
            }
            let at = cell([&low.flags, &high.flags], x);
            // Edges and vertices that may hold zeros.
            let mut open = 0;
            for triangle in Triangle::ALL {
                let [p, q, r] = triangle.of(&at);
                let flags = p & q & r;
                if flags & PRESENT == 0 {
                    open |= triangle.owned_faces();
                    continue;
                }
                let p0 = vectors(before, x, triangle);
                let same = flags & SAME != 0;
                let clear = axis_distance(&p0) > T::ZERO;
                if clear && same {
                    continue;
                }
                let p1 = vectors(after, x, triangle);
                if clear && axis_distance(&p1) > T::ZERO {
                    continue;
                }
                if self.triangle(&p0, &p1, same, triangle, &fields.domain.rule) {
                    open |= candidates(&p0, triangle) | candidates(&p1, triangle);
                }
            }
            if open != 0 {
                self.zeros(fields, (x as u64, y), open);
            }
        }
    }

    /// Answers whether the triangle is a tie in either field.
    #[inline(never)]
    fn triangle<T: Real>(
        &mut self,
        p0: &[[T; 2]; 3],
        p1: &[[T; 2]; 3],
        same: bool,
        triangle: Triangle,
        rule: &Rule,
    ) -> bool {
        let counts = &mut self.counts;
        let both = Both::new(p0, p1);
        let [k0, k1] = both.kinds;
        counts.lost_points += both.loses_point() as u64;
        counts.spurious_points += both.gains_point() as u64;
        counts.other_critical_points += (k1 == IN) as u64;
        if k0 == IN {
            counts.critical_points += 1;
            let type0 = kind_of(p0, triangle, rule);
            if let Some(kind) = type0 {
                counts.points_by_type[kind as usize] += 1;
            }
            counts.changed_types += (k1 == IN && !same && type0 != kind_of(p1, triangle, rule)) as u64;
        }
        counts.ties += (k0 == TIE) as u64;
        counts.new_ties += both.becomes_tie() as u64;
        counts.changed_ties += both.changes_tie(rule.ties) as u64;
        k0 == TIE || k1 == TIE
    }

    /// Compares the isolated zeros among a set of edges and the vertex of a base.
    #[inline(never)]
    fn zeros<T: Real>(&mut self, fields: &Fields<'_, T, 2>, (x, y): (u64, u64), open: u32) {
        for simplex in Simplex::ALL.into_iter().filter(|s| open & s.bit() != 0) {
            let kind = if simplex == Simplex::Vertex { Kind::VertexZero } else { Kind::EdgeZero };
            self.counts.add_zero(kind as usize, fields.zeros(simplex, x, y));
        }
    }

    fn add(&mut self, other: &Part) {
        self.counts.add(&other.counts);
        self.values.add(&other.values);
    }

    fn finish(self) -> Comparison {
        self.counts.with_values(&self.values)
    }
}
