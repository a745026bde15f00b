//! Changes by compression: critical points, ties, special values and errors, all decided exactly.

use super::critical_points::kind_of;
use super::zeros::{candidates, Fields};
use super::{guarded, in_bands, of_plane, range, row_of, vectors, Domain, Kind};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::{cell, Simplex, Triangle};
use crate::request::{BoundKind, Request, Ties};
use crate::runtime::pool::Threads;
use crate::topology::bound::axis_distance;
use crate::topology::signature::{keeps_tie, kind, signs, Rule, IN, TIE};
use std::ops::Range;

/// The comparison of a field with its reconstruction. Triangles are compared where no vertex is missing (see
/// [`super`]) in either field; critical points are those of [`super::critical_points()`], told apart by their
/// simplices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Critical points of the original.
    pub critical_points: u64,
    /// Critical points of the reconstruction.
    pub other_critical_points: u64,
    /// The original's critical points by [`Kind`].
    pub points_by_type: [u64; Kind::COUNT],
    /// Critical points of the original only.
    pub lost_points: u64,
    /// Critical points of the reconstruction only.
    pub spurious_points: u64,
    /// Critical points of both, of different types or indices.
    pub changed_types: u64,
    /// Of these three, zeros at vertices and on edges.
    pub lost_zeros: u64,
    pub spurious_zeros: u64,
    pub changed_indices: u64,
    /// Triangles of the original with the origin on the boundary of their image (TIE).
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
    /// Unfilled vertices of the original with u = v = 0.
    pub zero_vertices: u64,
    /// Vertices with u = v = 0 in one field only.
    pub changed_zero_vertices: u64,
    /// Values with |x1 - x0| above the bound, compared exactly; 0 without a bound.
    pub bound_exceeded: u64,
    /// The absolute bound that was checked; infinity without one.
    pub bound: f64,
    /// Largest |x1 - x0| of finite values of unfilled vertices, rounded to nearest.
    pub max_error: f64,
    /// Peak signal-to-noise ratio in dB: joint range of the original's values over the root of the
    /// mean square error, taken over twice the number of u's finite pairs (as the independent checker
    /// does; it matters only where u and v are non-finite at different vertices). Infinite for equal fields,
    /// NaN for a constant original with errors, `None` without values or where it leaves the range of f64. The
    /// order of its sums is fixed, so that every backend and number of threads finds the same bits.
    pub psnr: Option<f64>,
}

impl Comparison {
    /// The sum of all counts that must be 0 after compression. Zeros at vertices and on edges take part by
    /// the ties around them.
    pub fn violations(&self) -> u64 {
        self.changed_points_in_triangles()
            + self.changed_ties
            + self.new_ties
            + self.changed_missing
            + self.bound_exceeded
    }

    /// Critical points of the original inside triangles: those that the report of a compression counts.
    pub fn points_in_triangles(&self) -> u64 {
        let zeros = [Kind::VertexZero, Kind::EdgeZero].map(|kind| self.points_by_type[kind as usize]);
        self.critical_points - zeros[0] - zeros[1]
    }

    /// Critical points inside triangles that are lost, spurious or of another type.
    fn changed_points_in_triangles(&self) -> u64 {
        self.lost_points + self.spurious_points + self.changed_types - self.changed_zero_points()
    }

    /// Zeros at vertices and on edges that are lost, spurious or of another index.
    pub fn changed_zero_points(&self) -> u64 {
        self.lost_zeros + self.spurious_zeros + self.changed_indices
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

/// Missing in neither field.
const PRESENT: u8 = 1;
/// Equal bits in both fields.
const SAME: u8 = 2;
/// Finite and filled in the first.
const FILLED: u8 = 4;

/// A row of both fields: u0, v0, u1, v1 and the flags of each vertex.
struct Row<T> {
    values: [[Vec<T>; 2]; 2],
    flags: Vec<u8>,
}

impl<T: Real> Row<T> {
    fn new(columns: u64) -> Result<Self> {
        let component = || row_of(T::ZERO, columns);
        let values = [[component()?, component()?], [component()?, component()?]];
        Ok(Row { values, flags: row_of(0, columns)? })
    }

    fn load(&mut self, domain: &Domain, views: &[[View<'_, T>; 2]; 2], y: u64) {
        for (row, views) in self.values.iter_mut().zip(views) {
            domain.load(views, y, row);
        }
        let [[u0, v0], [u1, v1]] = &self.values;
        for (x, flags) in self.flags.iter_mut().enumerate() {
            let (a, b, c, d) = (u0[x], v0[x], u1[x], v1[x]);
            let finite = a.is_finite() & b.is_finite() & c.is_finite() & d.is_finite();
            let same = (a.to_bits64() == c.to_bits64()) & (b.to_bits64() == d.to_bits64());
            *flags = (finite as u8 * PRESENT) | (same as u8 * SAME);
        }
        let Row { values, flags } = self;
        let [first, other] = values;
        domain.hide_filled(first, |x, finite| {
            flags[x] = flags[x] & !PRESENT | (finite as u8 * FILLED);
            other.iter_mut().for_each(|component| component[x] = T::from_f64(f64::NAN));
        });
    }

    /// u and v of the original (0) or the reconstruction (1).
    fn field(&self, which: usize) -> [&[T]; 2] {
        [&self.values[which][0], &self.values[which][1]]
    }
}

/// Joins neighbours, then neighbours of those, until one is left: the order of the device's sums too, whose
/// blocks are whole branches of this tree.
fn joined<S>(mut items: Vec<S>, mut join: impl FnMut(&mut S, &S)) -> Option<S> {
    let mut step = 1;
    while step < items.len() {
        for left in (0..items.len() - step).step_by(2 * step) {
            let (before, after) = items.split_at_mut(left + step);
            join(&mut before[left], &after[0]);
        }
        step *= 2;
    }
    items.truncate(1);
    items.pop()
}

fn compare_band<T: Real>(
    domain: &Domain,
    views: &[[View<'_, T>; 2]; 2],
    bound: f64,
    band: Range<u64>,
) -> Result<Part> {
    let nx = domain.grid.nx;
    let mut part = Part::default();
    let (mut low, mut high) = (Row::new(domain.columns)?, Row::new(domain.columns)?);
    // Squared errors of each column.
    let mut squares = [row_of(0.0, nx)?, row_of(0.0, nx)?];
    low.load(domain, views, band.start);
    for y in band {
        part.vertices(&low, nx as usize);
        for (component, squares) in squares.iter_mut().enumerate() {
            let [before, after] = [0, 1].map(|field| low.field(field)[component]);
            part.values(component, before, after, bound, squares);
        }
        let has_cells = y + 1 < domain.rows;
        if has_cells {
            high.load(domain, views, y + 1);
            part.cells(&Fields { domain, views }, y, &low, &high);
        }
        // The last column or row may have no cells.
        for x in if has_cells { domain.columns - 1 } else { 0 }..nx {
            part.zeros(&Fields { domain, views }, (x, y), Simplex::ALL_FACES);
        }
        std::mem::swap(&mut low, &mut high);
    }
    part.squares = squares.map(|columns| joined(columns, |a, b| *a += *b).unwrap_or_default());
    Ok(part)
}

/// Counts and sums over some rows.
#[derive(Clone, Copy)]
struct Part {
    counts: Comparison,
    /// Sums of squared errors of u and v, and the number of pairs of finite values of u.
    squares: [f64; 2],
    pairs_u: u64,
    low: f64,
    high: f64,
}

impl Default for Part {
    fn default() -> Self {
        Part {
            counts: Comparison::default(),
            squares: [0.0; 2],
            pairs_u: 0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        }
    }
}

impl Part {
    fn vertices<T: Real>(&mut self, row: &Row<T>, nx: usize) {
        let [[u0, v0], [u1, v1]] = &row.values;
        let counts = &mut self.counts;
        for (x, &flags) in row.flags[..nx].iter().enumerate() {
            let zero0 = u0[x] == T::ZERO && v0[x] == T::ZERO;
            let zero1 = u1[x] == T::ZERO && v1[x] == T::ZERO;
            counts.zero_vertices += zero0 as u64;
            counts.changed_zero_vertices += (zero0 != zero1) as u64;
            if flags & PRESENT == 0 {
                let present0 = u0[x].is_finite() && v0[x].is_finite();
                counts.filled_vertices += (flags & FILLED != 0) as u64;
                counts.nonfinite_vertices += (!present0 && flags & FILLED == 0) as u64;
                // A vertex that was present is here because it is not finite in the reconstruction.
                counts.changed_missing += (present0 || flags & SAME == 0) as u64;
            }
        }
    }

    fn values<T: Real>(
        &mut self,
        component: usize,
        before: &[T],
        after: &[T],
        bound: f64,
        squares: &mut [f64],
    ) {
        let (mut largest, mut pairs, mut exceeded) = (0.0, 0, 0);
        let (mut low, mut high) = (self.low, self.high);
        for ((&a, &b), square) in before.iter().zip(after).zip(squares) {
            if !(a.is_finite() && b.is_finite()) {
                continue;
            }
            let (a, b) = (a.to_f64(), b.to_f64());
            let difference = b - a;
            *square += difference * difference;
            pairs += 1;
            low = Real::min(low, a);
            high = Real::max(high, a);
            largest = Real::max(largest, difference.abs());
            exceeded += exceeds(a, b, bound) as u64;
        }
        (self.low, self.high) = (low, high);
        self.counts.max_error = self.counts.max_error.max(largest);
        self.counts.bound_exceeded += exceeded;
        if component == 0 {
            self.pairs_u += pairs;
        }
    }

    /// Compares what is inside the cells between two rows, and on the edges and vertices that belong to them.
    fn cells<T: Real>(&mut self, fields: &Fields<'_, T, 2>, y: u64, low: &Row<T>, high: &Row<T>) {
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
        let counts = &mut self.counts;
        for simplex in Simplex::ALL.into_iter().filter(|s| open & s.bit() != 0) {
            let [before, after] = fields.zeros(simplex, x, y);
            let kind = if simplex == Simplex::Vertex { Kind::VertexZero } else { Kind::EdgeZero };
            counts.points_by_type[kind as usize] += before.is_some() as u64;
            counts.critical_points += before.is_some() as u64;
            counts.other_critical_points += after.is_some() as u64;
            let [lost, spurious] =
                [(before, after), (after, before)].map(|(a, b)| a.is_some() && b.is_none());
            let changed = before.zip(after).is_some_and(|(before, after)| before != after);
            for (points, zeros, is_one) in [
                (&mut counts.lost_points, &mut counts.lost_zeros, lost),
                (&mut counts.spurious_points, &mut counts.spurious_zeros, spurious),
                (&mut counts.changed_types, &mut counts.changed_indices, changed),
            ] {
                *points += is_one as u64;
                *zeros += is_one as u64;
            }
        }
    }

    fn add(&mut self, other: &Part) {
        let (a, b) = (&mut self.counts, &other.counts);
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
            (&mut a.nonfinite_vertices, b.nonfinite_vertices),
            (&mut a.filled_vertices, b.filled_vertices),
            (&mut a.changed_missing, b.changed_missing),
            (&mut a.zero_vertices, b.zero_vertices),
            (&mut a.changed_zero_vertices, b.changed_zero_vertices),
            (&mut a.bound_exceeded, b.bound_exceeded),
        ] {
            *x += y;
        }
        for (x, y) in a.points_by_type.iter_mut().zip(b.points_by_type) {
            *x += y;
        }
        a.max_error = a.max_error.max(b.max_error);
        for component in 0..2 {
            self.squares[component] += other.squares[component];
        }
        self.pairs_u += other.pairs_u;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }

    fn finish(mut self) -> Comparison {
        let pairs = 2 * self.pairs_u;
        if pairs > 0 {
            let mean = (self.squares[0] + self.squares[1]) / pairs as f64;
            let range = self.high - self.low;
            self.counts.psnr = if !mean.is_finite() || !range.is_finite() {
                None
            } else if mean == 0.0 {
                // Squares of small differences become 0.
                (self.counts.max_error == 0.0).then_some(f64::INFINITY)
            } else if range > 0.0 {
                Some(20.0 * log10(range) - 10.0 * log10(mean))
            } else {
                Some(f64::NAN)
            };
        }
        self.counts
    }
}

/// The decimal logarithm of a positive finite number to within a few units in the last place, from operations
/// that round alike everywhere: mathematics libraries differ in the last bit.
fn log10(x: f64) -> f64 {
    const TWO_TO_54: f64 = 18_014_398_509_481_984.0;
    let (x, scale) = if x < f64::MIN_POSITIVE { (x * TWO_TO_54, -54) } else { (x, 0) };
    let bits = x.to_bits();
    let mut exponent = scale + (bits >> 52) as i32 - 1023;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh s; s^2 is below 0.0295, so the next term is below 2^-60.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series = (0..=10).rev().fold(0.0, |sum, k| sum * z + 1.0 / (2 * k + 1) as f64);
    (exponent as f64 * std::f64::consts::LN_2 + 2.0 * s * series) / std::f64::consts::LN_10
}

/// Whether |b - a| exceeds a bound, exactly. Rounding is monotone: only where the rounded difference equals
/// the bound is the rest needed.
#[inline(always)]
pub(crate) fn exceeds(a: f64, b: f64, bound: f64) -> bool {
    let difference = b - a;
    let error = difference.abs();
    error >= bound && (error > bound || rest(b, a, difference) > 0.0)
}

/// How much larger |b - a| is than its rounding |difference| (the error term of Knuth's TwoSum).
fn rest(b: f64, a: f64, difference: f64) -> f64 {
    let (x, y) = (b, -a);
    let t = difference - x;
    let error = (x - (difference - t)) + (y - t);
    if difference >= 0.0 {
        error
    } else {
        -error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_those_of_the_mathematics_library() {
        let mut x = f64::from_bits(1);
        while x < f64::MAX / 3.0 {
            let (ours, theirs) = (log10(x), x.log10());
            assert!((ours - theirs).abs() <= 8e-16 * theirs.abs().max(1.0), "{x:e}: {ours} {theirs}");
            x = 1.37 * x + f64::from_bits(1);
        }
        assert_eq!(log10(1.0), 0.0);
    }

    #[test]
    fn neighbours_are_joined_first() {
        let join = |n: usize| {
            let leaves = (0..n).map(|k| k.to_string()).collect();
            joined(leaves, |a: &mut String, b| *a = format!("({a} {b})"))
        };
        assert_eq!(join(0), None);
        assert_eq!(join(1).unwrap(), "0");
        assert_eq!(join(7).unwrap(), "(((0 1) (2 3)) ((4 5) 6))");
    }
}
