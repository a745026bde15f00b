//! One pass over a field: its range, zeros and missing values. Twin:
//! kernels/compress/statistics/statistics.cuh.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::tiles::Grid;
use crate::grid::wide_range::has_wide_range;
use crate::predict::quantizer::ErrorBound;
use crate::report::WARNING_WIDE_RANGE;
use crate::request::{BoundKind, Config};
use crate::runtime::pool::{stateless, Threads};

/// Range and special vertices of a field.
#[derive(Clone, Copy)]
pub(crate) struct Statistics<T, const N: usize> {
    pub(crate) range: Option<(T, T)>,
    /// Vertices whose components are all zero that are not filled.
    pub(crate) zero: u64,
    pub(crate) nonfinite: u64,
    /// Filled vertices whose values are finite.
    pub(crate) filled: u64,
    /// Index, plane by plane and row by row, and bits of the first vertex that is not finite.
    pub(crate) fill: Option<(u64, [u64; N])>,
}

impl<T, const N: usize> Default for Statistics<T, N> {
    fn default() -> Self {
        Statistics { range: None, zero: 0, nonfinite: 0, filled: 0, fill: None }
    }
}

impl<T: Real, const N: usize> Statistics<T, N> {
    /// The warnings of a compression of this field: whether outliers make the range that a relative bound is a
    /// fraction of.
    pub(crate) fn warnings(
        &self,
        (config, bound): (&Config, &ErrorBound<T>),
        (grid, views): (Grid, [View<'_, T>; N]),
        missing: Missing,
    ) -> u32 {
        let is_fraction = config.bound_kind == BoundKind::Relative && bound.absolute > 0.0;
        match is_fraction && self.range.is_some_and(|range| has_wide_range(grid, views, missing, range)) {
            true => WARNING_WIDE_RANGE,
            false => 0,
        }
    }

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

/// How many vertices have zeros alone.
#[inline(always)]
fn zeros<T: Real, const N: usize>(values: &[[T; PIECE]; N]) -> u64 {
    let zero = |k: usize| values.iter().fold(true, |zero, component| zero & (component[k] == T::ZERO)) as u32;
    (0..PIECE).map(zero).sum::<u32>() as u64
}

/// Vertices of a row in one piece of work; rows that are shorter come together in one.
const SPAN: u64 = 1 << 14;

pub(crate) fn statistics<T: Real, const N: usize>(
    grid: Grid,
    views: [View<'_, T>; N],
    missing: Missing,
    threads: Threads,
) -> Result<Statistics<T, N>> {
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
fn of_span<T: Real, const N: usize>(
    grid: Grid,
    views: [View<'_, T>; N],
    missing: Missing,
    row: u64,
    x0: u64,
) -> Statistics<T, N> {
    let mut s = Statistics::default();
    let (views, y) = (views.map(|view| view.plane(row / grid.ny)), (row % grid.ny) as i64);
    let mut values = [[T::ZERO; PIECE]; N];
    let mut extremes = Extremes::new();
    for x in (x0..grid.nx.min(x0 + SPAN)).step_by(PIECE) {
        let n = (grid.nx - x).min(PIECE as u64) as usize;
        for (view, values) in views.iter().zip(&mut values) {
            view.read_row(x as i64, y, &mut values[..n]);
        }
        let ordinary = |values: &[T; PIECE]| all_finite(values) & !missing.may_fill(values);
        if n == PIECE && values.iter().fold(true, |all, values| all & ordinary(values)) {
            values.iter().for_each(|values| extremes.add(values));
            s.zero += zeros(&values);
        } else {
            for k in 0..n {
                let vertex = values.each_ref().map(|component| component[k]);
                let (filled, finite) = (missing.is_filled(vertex), vertex.iter().all(|x| x.is_finite()));
                if !filled {
                    vertex.iter().for_each(|&x| extremes.add_finite(x));
                    s.zero += vertex.iter().all(|&x| x == T::ZERO) as u64;
                }
                s.filled += (filled && finite) as u64;
                if !finite {
                    s.nonfinite += 1;
                    s.fill.get_or_insert((row * grid.nx + x + k as u64, vertex.map(T::to_bits64)));
                }
            }
        }
    }
    s.range = extremes.range();
    s
}
