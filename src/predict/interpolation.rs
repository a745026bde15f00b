//! Prediction of a vertex from committed ones (docs/algorithm.md, section 6.1).
//!
//! Along a line the neighbours are a, b | c, d at distances -3, -1, 1, 3 steps. Every formula is the
//! mean of b and c plus weighted differences, so that constant data are predicted exactly whatever
//! the weights. The order of the operations is part of the format: encoder and decoder, on every
//! backend, must round alike.

use crate::grid::element::Real;
use crate::grid::tiles::{ANCHOR_LEVEL, CLOSED, FRAMED, TILE};

/// Row length of the local buffers that stages work on.
pub const PITCH: usize = CLOSED + 3;
/// Vertices that a phase predicts in a row of a tile, at most.
pub const ROW: usize = TILE / 2;

/// Weights of the outer neighbours where all four, or three, exist: cubic, softened, linear.
pub const INTERPOLANT_WEIGHTS: [(f64, f64); 3] = [(1.0 / 16.0, 1.0 / 8.0), (1.0 / 32.0, 0.0), (0.0, 0.0)];
/// A level's choice: interpolant + 3 * (centre by Coons patch).
pub const INTERPOLANTS: usize = crate::stream::header::INTERPOLANT_CHOICES as usize;

/// How one level predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interpolant<T> {
    /// Weight of the outer differences with four neighbours.
    middle: T,
    /// Weight of the second difference with three neighbours.
    side: T,
    /// Whether centre vertices take the Coons patch of their eight neighbours.
    pub(super) coons: bool,
}

impl<T: Real> Interpolant<T> {
    /// The interpolant of a choice below [`INTERPOLANTS`].
    pub fn new(choice: u8) -> Self {
        let (middle, side) = INTERPOLANT_WEIGHTS[choice as usize % 3];
        Interpolant { middle: T::from_f64(middle), side: T::from_f64(side), coons: choice >= 3 }
    }
}

/// The interpolants of the levels 0 to 4.
pub fn interpolants<T: Real>(choices: &[u8; ANCHOR_LEVEL]) -> [Interpolant<T>; ANCHOR_LEVEL] {
    choices.map(Interpolant::new)
}

/// Prediction along a line: the vertex at buffer index `at` is number `position` of 0..=last, its
/// neighbours at one step are `distance` away in the buffer.
#[inline(always)]
pub fn along<T: Real>(
    interpolant: &Interpolant<T>,
    values: &[T],
    at: usize,
    distance: usize,
    position: usize,
    step: usize,
    last: usize,
) -> T {
    along_of(interpolant, |at| values[at], at, distance, position, step, last)
}

/// [`along`] for values that are read one by one.
#[inline(always)]
pub fn along_of<T: Real>(
    interpolant: &Interpolant<T>,
    value: impl Fn(usize) -> T,
    at: usize,
    distance: usize,
    position: usize,
    step: usize,
    last: usize,
) -> T {
    let b = value(at - distance);
    let has_a = position >= 3 * step;
    if position + step > last {
        // Nothing committed on the far side: extrapolate.
        return if has_a { b + T::HALF * (b - value(at - 3 * distance)) } else { b };
    }
    let c = value(at + distance);
    let has_d = position + 3 * step <= last;
    if has_a && has_d {
        let (a, d) = (value(at - 3 * distance), value(at + 3 * distance));
        four(interpolant, a, b, c, d)
    } else if has_a {
        let a = value(at - 3 * distance);
        left(interpolant, a, b, c)
    } else if has_d {
        let d = value(at + 3 * distance);
        right(interpolant, b, c, d)
    } else {
        T::HALF * (b + c)
    }
}

/// Prediction from three neighbours, without d.
#[inline(always)]
fn left<T: Real>(interpolant: &Interpolant<T>, a: T, b: T, c: T) -> T {
    T::HALF * (b + c) + interpolant.side * ((b - a) - (c - b))
}

/// Prediction from three neighbours, without a.
#[inline(always)]
fn right<T: Real>(interpolant: &Interpolant<T>, b: T, c: T, d: T) -> T {
    T::HALF * (b + c) + interpolant.side * ((c - b) - (d - c))
}

/// Prediction from all four neighbours.
#[inline(always)]
fn four<T: Real>(interpolant: &Interpolant<T>, a: T, b: T, c: T, d: T) -> T {
    T::HALF * (b + c) + interpolant.middle * ((b - a) + (c - d))
}

/// Prediction of a centre vertex (x, y) of a window whose last column and row are given. Where one axis would
/// extrapolate, the other counts alone.
#[inline(always)]
pub fn centre<T: Real>(
    interpolant: &Interpolant<T>,
    values: &[T],
    (x, y): (usize, usize),
    step: usize,
    (last_x, last_y): (usize, usize),
) -> T {
    let at = y * PITCH + x;
    let (dx, dy) = (step, step * PITCH);
    if interpolant.coons && x + step <= last_x && y + step <= last_y {
        let across = T::HALF * (values[at - dx] + values[at + dx]);
        let down = T::HALF * (values[at - dy] + values[at + dy]);
        let corners = T::QUARTER
            * ((values[at - dy - dx] + values[at - dy + dx]) + (values[at + dy - dx] + values[at + dy + dx]));
        return (across + down) - corners;
    }
    let across = || along(interpolant, values, at, dx, x, step, last_x);
    let down = || along(interpolant, values, at, dy, y, step, last_y);
    match (x + step <= last_x, y + step <= last_y) {
        (true, false) => across(),
        (false, true) => down(),
        _ => T::HALF * (across() + down()),
    }
}

/// Predictions of a row of `count` vertices at once, the first at x = STEP (2 STEP in phase 1) and the
/// others 2 STEP apart: what [`along`] (phases 0, along x, and 1, along y) and [`centre`] (phase 2) say of
/// each, in loops that the compiler can turn into vector instructions.
#[inline(always)]
pub fn row<T: Real, const STEP: usize, const PHASE: usize>(
    interpolant: &Interpolant<T>,
    values: &[T; PITCH * FRAMED],
    y: usize,
    count: usize,
    last: (usize, usize),
) -> [T; ROW] {
    if PHASE == 0 {
        return row_along_x::<T, STEP>(interpolant, values, y, count, last.0);
    }
    if PHASE == 1 {
        return row_along_y::<T, STEP, PHASE>(interpolant, values, y, last.1);
    }
    let has_row_below = y + STEP <= last.1;
    let last_x = column::<STEP, PHASE>(count - 1);
    if interpolant.coons && has_row_below {
        let mut centres = row_of_coons::<T, STEP>(values, y);
        centres[count - 1] = centre(interpolant, values, (last_x, y), STEP, last);
        return centres;
    }
    let across = row_along_x::<T, STEP>(interpolant, values, y, count, last.0);
    let down = row_along_y::<T, STEP, PHASE>(interpolant, values, y, last.1);
    let mut centres =
        if has_row_below { std::array::from_fn(|i| T::HALF * (across[i] + down[i])) } else { across };
    if last_x + STEP > last.0 {
        centres[count - 1] = centre(interpolant, values, (last_x, y), STEP, last);
    }
    centres
}

/// The column of vertex `i` of a row of a phase.
#[inline(always)]
fn column<const STEP: usize, const PHASE: usize>(i: usize) -> usize {
    if PHASE == 1 {
        2 * STEP * (i + 1)
    } else {
        STEP * (2 * i + 1)
    }
}

#[inline(always)]
fn window_row<T>(values: &[T; PITCH * FRAMED], y: usize) -> &[T; PITCH] {
    values[y * PITCH..].first_chunk().expect("a row")
}

/// [`row`] in phase 0.
#[inline(always)]
fn row_along_x<T: Real, const STEP: usize>(
    interpolant: &Interpolant<T>,
    values: &[T; PITCH * FRAMED],
    y: usize,
    count: usize,
    last_x: usize,
) -> [T; ROW] {
    let x_of = column::<STEP, 0>;
    let row = window_row(values, y);
    let mut across = [T::ZERO; ROW];
    for i in 1..(ROW / STEP).max(2) - 1 {
        let x = x_of(i);
        across[i] = four(interpolant, row[x - 3 * STEP], row[x - STEP], row[x + STEP], row[x + 3 * STEP]);
    }
    // The ends, where neighbours are missing.
    let end = |i: usize| along(interpolant, row, x_of(i), STEP, x_of(i), STEP, last_x);
    across[0] = end(0);
    let within = (last_x / STEP).saturating_sub(2) / 2;
    for i in within.max(1)..count {
        across[i] = end(i);
    }
    across
}

/// Predictions of [`along`] along y at the columns of a row of phase 1 or 2.
#[inline(always)]
fn row_along_y<T: Real, const STEP: usize, const PHASE: usize>(
    interpolant: &Interpolant<T>,
    values: &[T; PITCH * FRAMED],
    y: usize,
    last_y: usize,
) -> [T; ROW] {
    let (n, x_of) = (ROW / STEP, column::<STEP, PHASE>);
    let (has_a, has_c, has_d) = (y >= 3 * STEP, y + STEP <= last_y, y + 3 * STEP <= last_y);
    // Rows outside the window are not read.
    let neighbours = [
        window_row(values, if has_a { y - 3 * STEP } else { y }),
        window_row(values, y - STEP),
        window_row(values, if has_c { y + STEP } else { y }),
        window_row(values, if has_d { y + 3 * STEP } else { y }),
    ];
    match (has_a, has_c, has_d) {
        (true, true, true) => combine(n, x_of, neighbours, |a, b, c, d| four(interpolant, a, b, c, d)),
        (true, true, false) => combine(n, x_of, neighbours, |a, b, c, _| left(interpolant, a, b, c)),
        (false, true, true) => combine(n, x_of, neighbours, |_, b, c, d| right(interpolant, b, c, d)),
        (false, true, false) => combine(n, x_of, neighbours, |_, b, c, _| T::HALF * (b + c)),
        (true, false, _) => combine(n, x_of, neighbours, |a, b, _, _| b + T::HALF * (b - a)),
        (false, false, _) => combine(n, x_of, neighbours, |_, b, _, _| b),
    }
}

/// [`centre`] of the vertices of a row of phase 2 that have a column to the right and a row below, where the
/// interpolant takes the corners too; any numbers for others.
#[inline(always)]
fn row_of_coons<T: Real, const STEP: usize>(values: &[T; PITCH * FRAMED], y: usize) -> [T; ROW] {
    let (above, row, below) =
        (window_row(values, y - STEP), window_row(values, y), window_row(values, y + STEP));
    let mut centres = [T::ZERO; ROW];
    for (i, out) in centres[..ROW / STEP].iter_mut().enumerate() {
        let x = column::<STEP, 2>(i);
        let across = T::HALF * (row[x - STEP] + row[x + STEP]);
        let down = T::HALF * (above[x] + below[x]);
        let corners =
            T::QUARTER * ((above[x - STEP] + above[x + STEP]) + (below[x - STEP] + below[x + STEP]));
        *out = (across + down) - corners;
    }
    centres
}

/// A combination of four rows at the columns `x_of(0..n)`.
#[inline(always)]
fn combine<T: Real>(
    n: usize,
    x_of: impl Fn(usize) -> usize,
    [a, b, c, d]: [&[T; PITCH]; 4],
    of: impl Fn(T, T, T, T) -> T,
) -> [T; ROW] {
    let mut out = [T::ZERO; ROW];
    for (i, out) in out[..n].iter_mut().enumerate() {
        let x = x_of(i);
        *out = of(a[x], b[x], c[x], d[x]);
    }
    out
}

/// The values 2 STEP apart from the first one on, as many as a phase predicts in a row.
#[inline(always)]
pub fn strided<T: Real, const STEP: usize>(values: &[T]) -> [T; ROW] {
    let n = ROW / STEP;
    let values = &values[..2 * STEP * (n - 1) + 1];
    let mut out = [T::ZERO; ROW];
    for i in 0..n {
        out[i] = values[2 * STEP * i];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn constants_are_predicted_exactly() {
        let values = vec![0.1f32; PITCH * PITCH];
        for choice in 0..INTERPOLANTS as u8 {
            let k = Interpolant::new(choice);
            for (x, y, s) in [(1, 1, 1), (31, 31, 1), (15, 7, 1), (2, 30, 2), (16, 16, 16)] {
                assert_eq!(centre(&k, &values, (x, y), s, (32, 32)), 0.1);
                assert_eq!(centre(&k, &values, (x, y), s, (x, y)), 0.1);
                assert_eq!(along(&k, &values, y * PITCH + x, s, x, s, 32), 0.1);
            }
        }
    }

    #[test]
    fn cubics_are_predicted_by_the_cubic_kernel() {
        let f = |x: f64| 0.25 * x * x * x - x * x + 3.0;
        let values: Vec<f64> = (0..PITCH).map(|x| f(x as f64)).collect();
        assert_eq!(along(&Interpolant::new(0), &values, 7, 1, 7, 1, 32), f(7.0));
        let line = |x: f64| 2.0 * x + 1.0;
        let values: Vec<f64> = (0..PITCH).map(|x| line(x as f64)).collect();
        for choice in 0..3 {
            assert_eq!(along(&Interpolant::new(choice), &values, 1, 1, 1, 1, 32), 3.0);
        }
    }

    fn rows_match<const STEP: usize, const PHASE: usize>(values: &[f32; PITCH * FRAMED]) {
        let first = if PHASE == 1 { 2 * STEP } else { STEP };
        let first_y = if PHASE == 0 { 2 * STEP } else { STEP };
        for choice in 0..INTERPOLANTS as u8 {
            let interpolant = Interpolant::new(choice);
            for last in [(32, 32), (31, 30), (30, 29), (17, 32), (32, 16), (5, 7), (9, 1), (3, 3), (1, 2)] {
                let inner = (last.0.min(TILE - 1), last.1.min(TILE - 1));
                let count = if inner.0 < first { 0 } else { (inner.0 - first) / (2 * STEP) + 1 };
                for y in (first_y..=inner.1).step_by(2 * STEP).filter(|_| count > 0) {
                    let row = row::<f32, STEP, PHASE>(&interpolant, values, y, count, last);
                    for (i, got) in row[..count].iter().enumerate() {
                        let x = first + 2 * STEP * i;
                        let at = y * PITCH + x;
                        let expected = match PHASE {
                            0 => along(&interpolant, values, at, STEP, x, STEP, last.0),
                            1 => along(&interpolant, values, at, STEP * PITCH, y, STEP, last.1),
                            _ => centre(&interpolant, values, (x, y), STEP, last),
                        };
                        assert_eq!(got.to_bits(), expected.to_bits(), "{STEP} {PHASE} {last:?} {x} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_predicted_like_single_vertices() {
        let mut random = Random(1);
        let values = std::array::from_fn(|_| 800.0 * random.signed() as f32);
        rows_match::<1, 0>(&values);
        rows_match::<1, 1>(&values);
        rows_match::<1, 2>(&values);
        rows_match::<2, 0>(&values);
        rows_match::<2, 1>(&values);
        rows_match::<2, 2>(&values);
        rows_match::<4, 0>(&values);
        rows_match::<4, 1>(&values);
        rows_match::<4, 2>(&values);
        rows_match::<8, 2>(&values);
        rows_match::<16, 0>(&values);
        rows_match::<16, 2>(&values);
    }
}
