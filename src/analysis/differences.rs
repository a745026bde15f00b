//! Differences between the values of two fields: rows of both, counts of vertices, errors and sums.

use super::{row_of, rows_of, Domain};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use std::ops::Range;

/// Missing in no field.
pub(super) const PRESENT: u8 = 1;
/// Equal bits in all fields.
pub(super) const SAME: u8 = 2;
/// Finite and filled in the first.
pub(super) const FILLED: u8 = 4;

/// A row of F fields of N components, and the flags of each vertex.
pub(super) struct Row<T, const N: usize, const F: usize> {
    values: [[Vec<T>; N]; F],
    pub flags: Vec<u8>,
}

impl<T: Real, const N: usize, const F: usize> Row<T, N, F> {
    pub fn new(columns: u64) -> Result<Self> {
        let mut values = std::array::from_fn(|_| std::array::from_fn(|_| Vec::new()));
        for field in &mut values {
            *field = rows_of(columns)?;
        }
        Ok(Row { values, flags: row_of(0, columns)? })
    }

    /// Loads row `y` of views of a plane.
    pub fn load<R>(&mut self, domain: &Domain<R>, views: &[[View<'_, T>; N]; F], y: i64) {
        let Row { values, flags } = self;
        for (row, views) in values.iter_mut().zip(views) {
            domain.load(views, y, row);
        }
        flags.fill(PRESENT | SAME);
        let Some((first, others)) = values.split_first_mut() else { return };
        for component in 0..N {
            let one = &first[component];
            for (flags, x) in flags.iter_mut().zip(one) {
                *flags &= !(!x.is_finite() as u8 * PRESENT);
            }
            for other in others.iter() {
                for ((flags, x), y) in flags.iter_mut().zip(one).zip(&other[component]) {
                    let same = x.to_bits64() == y.to_bits64();
                    *flags &= !((!y.is_finite() as u8 * PRESENT) | (!same as u8 * SAME));
                }
            }
        }
        domain.hide_filled(first, |x, finite| {
            flags[x] = flags[x] & !PRESENT | (finite as u8 * FILLED);
            others.iter_mut().flatten().for_each(|component| component[x] = T::from_f64(f64::NAN));
        });
    }

    /// The components of a field.
    pub fn field(&self, which: usize) -> [&[T]; N] {
        self.values[which].each_ref().map(|component| &component[..])
    }
}

/// Counts and sums over the values of some vertices.
#[derive(Clone, Copy)]
pub(super) struct Differences<const N: usize> {
    pub nonfinite_vertices: u64,
    pub filled_vertices: u64,
    pub changed_missing: u64,
    pub zero_vertices: u64,
    pub changed_zero_vertices: u64,
    pub bound_exceeded: u64,
    pub max_error: f64,
    /// Sums of squared errors of each component, and the number of pairs of finite values of u.
    squares: [f64; N],
    pairs_u: u64,
    low: f64,
    high: f64,
}

impl<const N: usize> Default for Differences<N> {
    fn default() -> Self {
        Differences {
            nonfinite_vertices: 0,
            filled_vertices: 0,
            changed_missing: 0,
            zero_vertices: 0,
            changed_zero_vertices: 0,
            bound_exceeded: 0,
            max_error: 0.0,
            squares: [0.0; N],
            pairs_u: 0,
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
        }
    }
}

impl<const N: usize> Differences<N> {
    /// Adds the vertices of a row that are no ghosts. `squares` has the sum of squared errors of each column.
    pub fn add_row<T: Real>(
        &mut self,
        row: &Row<T, N, 2>,
        owned: Range<usize>,
        bound: f64,
        squares: &mut [Vec<f64>; N],
    ) {
        self.vertices(row, owned.clone());
        for (component, squares) in squares.iter_mut().enumerate() {
            let [before, after] = [0, 1].map(|field| &row.field(field)[component][owned.clone()]);
            self.values(component, before, after, bound, squares);
        }
    }

    /// Takes the squared errors of the columns of some rows.
    pub fn sum_columns(&mut self, squares: [Vec<f64>; N]) {
        self.squares = squares.map(|columns| joined(columns, |a, b| *a += *b).unwrap_or_default());
    }

    fn vertices<T: Real>(&mut self, row: &Row<T, N, 2>, owned: Range<usize>) {
        let [before, after] = [0, 1].map(|field| row.field(field).map(|component| &component[owned.clone()]));
        for (x, &flags) in row.flags[owned.clone()].iter().enumerate() {
            let [zero0, zero1] = [before, after].map(|field| field.iter().all(|c| c[x] == T::ZERO));
            self.zero_vertices += zero0 as u64;
            self.changed_zero_vertices += (zero0 != zero1) as u64;
            if flags & PRESENT == 0 {
                let present0 = before.iter().all(|c| c[x].is_finite());
                self.filled_vertices += (flags & FILLED != 0) as u64;
                self.nonfinite_vertices += (!present0 && flags & FILLED == 0) as u64;
                // A vertex that was present is here because it is not finite in the reconstruction.
                self.changed_missing += (present0 || flags & SAME == 0) as u64;
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
        self.max_error = self.max_error.max(largest);
        self.bound_exceeded += exceeded;
        if component == 0 {
            self.pairs_u += pairs;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (x, y) in [
            (&mut self.nonfinite_vertices, other.nonfinite_vertices),
            (&mut self.filled_vertices, other.filled_vertices),
            (&mut self.changed_missing, other.changed_missing),
            (&mut self.zero_vertices, other.zero_vertices),
            (&mut self.changed_zero_vertices, other.changed_zero_vertices),
            (&mut self.bound_exceeded, other.bound_exceeded),
            (&mut self.pairs_u, other.pairs_u),
        ] {
            *x += y;
        }
        self.max_error = self.max_error.max(other.max_error);
        for (sum, more) in self.squares.iter_mut().zip(other.squares) {
            *sum += more;
        }
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }

    /// The peak signal-to-noise ratio in dB, as [`super::Comparison`] defines it.
    pub fn psnr(&self) -> Option<f64> {
        let pairs = N as u64 * self.pairs_u;
        if pairs == 0 {
            return None;
        }
        let mean = self.squares[1..].iter().fold(self.squares[0], |sum, more| sum + more) / pairs as f64;
        let range = self.high - self.low;
        if !mean.is_finite() || !range.is_finite() {
            None
        } else if mean == 0.0 {
            // Squares of small differences become 0.
            (self.max_error == 0.0).then_some(f64::INFINITY)
        } else if range > 0.0 {
            Some(20.0 * log10(range) - 10.0 * log10(mean))
        } else {
            Some(f64::NAN)
        }
    }
}

/// Joins neighbours, then neighbours of those, until one is left: the order of the device's sums too, whose
/// blocks are whole branches of this tree.
pub(super) fn joined<S>(mut items: Vec<S>, mut join: impl FnMut(&mut S, &S)) -> Option<S> {
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
