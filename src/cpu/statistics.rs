//! One pass over a field: its range, zeros and missing values. Twin:
//! kernels/compress/statistics/statistics.cuh.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::tiles::Grid;
use crate::runtime::pool::{stateless, Threads};

/// Range and special vertices of a field.
#[derive(Clone, Copy, Default)]
pub(super) struct Statistics<T> {
    pub(super) range: Option<(T, T)>,
    /// Vertices with u = v = 0 that are not filled.
    pub(super) zero: u64,
    pub(super) nonfinite: u64,
    /// Filled vertices whose values are finite.
    pub(super) filled: u64,
    /// Index, plane by plane and row by row, and bits of the first vertex that is not finite.
    pub(super) fill: Option<(u64, [u64; 2])>,
}

impl<T: Real> Statistics<T> {
    fn merge(self, other: Self) -> Self {
        let range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (a, b) => a.or(b),
        };
        let fill = match (self.fill, other.fill) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
        Statistics {
            range,
            zero: self.zero + other.zero,
            nonfinite: self.nonfinite + other.nonfinite,
            filled: self.filled + other.filled,
            fill,
        }
    }
}

/// Vertices that are looked at together, and the parts that they are divided into, written so that the
/// compiler can use vector instructions.
const PIECE: usize = 64;
const PARTS: usize = 4;
const PART: usize = PIECE / PARTS;

/// The smallest and the largest of finite values, by place in a part.
struct Extremes<T> {
    low: [T; PART],
    high: [T; PART],
}

impl<T: Real> Extremes<T> {
    fn new() -> Self {
        Extremes { low: [T::from_f64(f64::INFINITY); PART], high: [T::from_f64(f64::NEG_INFINITY); PART] }
    }
    /// Adds values that are all finite.
    #[inline(always)]
    fn add(&mut self, values: &[T; PIECE]) {
        for i in 0..PART {
            let (mut low, mut high) = (self.low[i], self.high[i]);
            for k in 0..PARTS {
                let x = values[k * PART + i];
                (low, high) = (low.min(x), high.max(x));
            }
            (self.low[i], self.high[i]) = (low, high);
        }
    }
    fn add_finite(&mut self, value: T) {
        if value.is_finite() {
            (self.low[0], self.high[0]) = (self.low[0].min(value), self.high[0].max(value));
        }
    }
    /// The smallest and the largest value, if there were any.
    fn range(&self) -> Option<(T, T)> {
        let low = self.low.iter().fold(self.low[0], |low, &x| low.min(x));
        let high = self.high.iter().fold(self.high[0], |high, &x| high.max(x));
        (low <= high).then_some((low, high))
    }
}

/// Whether all values are finite; false as well where a sum of them is not.
#[inline(always)]
fn all_finite<T: Real>(values: &[T; PIECE]) -> bool {
    let mut not = 0;
    for i in 0..PART {
        let sum = (1..PARTS).fold(values[i], |sum, k| sum + values[k * PART + i]);
        not |= !sum.is_finite() as u32;
    }
    not == 0
}

/// How many vertices have u = v = 0.
#[inline(always)]
fn zeros<T: Real>(u: &[T; PIECE], v: &[T; PIECE]) -> u64 {
    let zero = u.iter().zip(v).map(|(&u, &v)| ((u == T::ZERO) & (v == T::ZERO)) as u32);
    zero.sum::<u32>() as u64
}

/// Vertices of a row in one piece of work; rows that are shorter come together in one.
const SPAN: u64 = 1 << 14;

pub(super) fn statistics<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    missing: Missing,
    threads: Threads,
) -> Result<Statistics<T>> {
    let spans = grid.nx.div_ceil(SPAN);
    let (all, together) = (grid.ny * grid.nz * spans, SPAN / grid.nx.min(SPAN));
    let parts = threads.map(all.div_ceil(together) as usize, stateless, |_, piece| {
        let first = piece as u64 * together;
        let spans_of_piece = first..all.min(first + together);
        let parts = spans_of_piece.map(|k| of_span(grid, views, missing, k / spans, k % spans * SPAN));
        Ok(parts.fold(Statistics::default(), Statistics::merge))
    })?;
    Ok(parts.into_iter().fold(Statistics::default(), Statistics::merge))
}

/// Part of row `row`, counted over all planes, from column `x0` on.
fn of_span<T: Real>(
    grid: Grid,
    [u, v]: [View<'_, T>; 2],
    missing: Missing,
    row: u64,
    x0: u64,
) -> Statistics<T> {
    let mut s = Statistics::default();
    let ([u, v], y) = ([u, v].map(|view| view.plane(row / grid.ny)), (row % grid.ny) as i64);
    let mut values = [[T::ZERO; PIECE]; 2];
    let [a, b] = &mut values;
    let mut extremes = Extremes::new();
    for x in (x0..grid.nx.min(x0 + SPAN)).step_by(PIECE) {
        let n = (grid.nx - x).min(PIECE as u64) as usize;
        u.read_row(x as i64, y, &mut a[..n]);
        v.read_row(x as i64, y, &mut b[..n]);
        if n == PIECE && all_finite(a) & all_finite(b) & !(missing.may_fill(a) | missing.may_fill(b)) {
            extremes.add(a);
            extremes.add(b);
            s.zero += zeros(a, b);
        } else {
            for (k, (&a, &b)) in a[..n].iter().zip(&b[..n]).enumerate() {
                let (filled, finite) = (missing.is_filled([a, b]), a.is_finite() && b.is_finite());
                if !filled {
                    extremes.add_finite(a);
                    extremes.add_finite(b);
                    s.zero += (a == T::ZERO && b == T::ZERO) as u64;
                }
                s.filled += (filled && finite) as u64;
                if !finite {
                    s.nonfinite += 1;
                    s.fill.get_or_insert((row * grid.nx + x + k as u64, [a.to_bits64(), b.to_bits64()]));
                }
            }
        }
    }
    s.range = extremes.range();
    s
}
