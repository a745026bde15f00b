//! Prediction of a vertex of a volume from committed ones (docs/algorithm.md, section 14): interpolation along the
//! axes, or the Boolean sum of the vertices around it, which is the Coons patch in three dimensions.
//!
//! The order of the operations is part of the format.

use crate::grid::element::Real;
use crate::predict::interpolation::{along_of, Interpolant};

/// A vertex of a closed tile of a volume, as predictions see it.
#[derive(Clone, Copy)]
pub struct Place {
    /// Its index in the buffer of values, and the distances of neighbours along each axis there.
    pub at: usize,
    pub strides: [usize; 3],
    /// Its local coordinates, and the last ones of the closed tile.
    pub local: [usize; 3],
    pub last: [usize; 3],
    /// The step of its level.
    pub step: usize,
}

impl Place {
    /// The axes along which its coordinate is an odd multiple of the step, in ascending order.
    #[inline(always)]
    fn odd_axes(&self) -> ([usize; 3], usize) {
        let (mut axes, mut count) = ([0; 3], 0);
        for axis in 0..3 {
            axes[count] = axis;
            count += (self.local[axis] & self.step != 0) as usize;
        }
        (axes, count)
    }

    #[inline(always)]
    fn has_next(&self, axis: usize) -> bool {
        self.local[axis] + self.step <= self.last[axis]
    }

    /// The distance of the next vertex of the level along an axis.
    #[inline(always)]
    fn distance(&self, axis: usize) -> usize {
        self.strides[axis] * self.step
    }
}

/// The predictions of several components; `value(component, index)` reads a committed value.
#[inline(always)]
pub fn predict<T: Real, const N: usize>(
    interpolant: &Interpolant<T>,
    place: &Place,
    value: impl Fn(usize, usize) -> T,
) -> [T; N] {
    let (axes, count) = place.odd_axes();
    let axes = &axes[..count];
    if interpolant.coons && count >= 2 && axes.iter().all(|&axis| place.has_next(axis)) {
        let distances = |k: usize| place.distance(axes[k]);
        return match count {
            2 => {
                std::array::from_fn(|c| sum_of_two(|at| value(c, at), place.at, [distances(0), distances(1)]))
            }
            _ => std::array::from_fn(|c| {
                sum_of_three(|at| value(c, at), place.at, [distances(0), distances(1), distances(2)])
            }),
        };
    }
    // Where some axes would extrapolate, the others count alone.
    let (mut used, mut number) = ([0; 3], 0);
    for &axis in axes.iter().filter(|&&axis| place.has_next(axis)) {
        used[number] = axis;
        number += 1;
    }
    let used = if number == 0 { axes } else { &used[..number] };
    std::array::from_fn(|c| {
        let along = |axis: usize| {
            let (distance, position, last) = (place.distance(axis), place.local[axis], place.last[axis]);
            along_of(interpolant, |at| value(c, at), place.at, distance, position, place.step, last)
        };
        match *used {
            [x] => along(x),
            [x, y] => T::HALF * (along(x) + along(y)),
            [x, y, z] => T::from_f64(1.0 / 3.0) * ((along(x) + along(y)) + along(z)),
            _ => T::ZERO,
        }
    })
}

/// The Boolean sum of the eight vertices around one with two odd coordinates.
#[inline(always)]
fn sum_of_two<T: Real>(value: impl Fn(usize) -> T, at: usize, [a, b]: [usize; 2]) -> T {
    let sides = (value(at - a) + value(at + a)) + (value(at - b) + value(at + b));
    let corners = (value(at - a - b) + value(at + a - b)) + (value(at - a + b) + value(at + a + b));
    T::HALF * sides - T::QUARTER * corners
}

/// The Boolean sum of the 26 vertices around one with three odd coordinates.
#[inline(always)]
fn sum_of_three<T: Real>(value: impl Fn(usize) -> T, at: usize, [a, b, c]: [usize; 3]) -> T {
    let pair = |at: usize, d: usize| value(at - d) + value(at + d);
    let four = |at: usize, d: usize, e: usize| pair(at - e, d) + pair(at + e, d);
    let faces = (pair(at, a) + pair(at, b)) + pair(at, c);
    let edges = (four(at, a, b) + four(at, a, c)) + four(at, b, c);
    let corners = four(at - c, a, b) + four(at + c, a, b);
    (T::HALF * faces - T::QUARTER * edges) + T::HALF * T::QUARTER * corners
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: usize = 17;

    fn predicted(
        choice: u8,
        local: [usize; 3],
        last: [usize; 3],
        step: usize,
        f: impl Fn([f64; 3]) -> f64,
    ) -> f64 {
        let values: Vec<f64> = (0..SIDE * SIDE * SIDE)
            .map(|k| f([k % SIDE, k / SIDE % SIDE, k / SIDE / SIDE].map(|x| x as f64)))
            .collect();
        let strides = [1, SIDE, SIDE * SIDE];
        let at = (0..3).map(|k| local[k] * strides[k]).sum();
        let place = Place { at, strides, local, last, step };
        predict::<f64, 1>(&Interpolant::new(choice), &place, |_, at| values[at])[0]
    }

    /// Cubics in each variable along the axes, and products of a linear and two arbitrary functions by Boolean sums.
    #[test]
    fn predictions_are_exact_for_the_functions_that_they_are_made_for() {
        let cubic = |[x, y, z]: [f64; 3]| x * x * x - 2.0 * y * y + y * z + 0.5 * z - 3.0;
        let bilinear = |[x, y, z]: [f64; 3]| x * y * z - 2.0 * x * y + z - 3.0;
        for step in [1, 2] {
            for odd in 1..8 {
                let local = [0, 1, 2].map(|k| (4 + (odd >> k & 1)) * step);
                let expected = cubic(local.map(|k| k as f64));
                assert!((predicted(0, local, [16; 3], step, cubic) - expected).abs() < 1e-9);
                let expected = bilinear(local.map(|k| k as f64));
                for choice in [0, 3] {
                    assert!((predicted(choice, local, [16; 3], step, bilinear) - expected).abs() < 1e-9);
                }
            }
        }
    }

    /// At the end of a volume nothing behind the last vertex is read.
    #[test]
    fn ends_are_extrapolated() {
        let linear = |last: [usize; 3]| {
            move |at: [f64; 3]| match (0..3).all(|k| at[k] <= last[k] as f64) {
                true => 2.0 * at[0] - at[1] + 0.25 * at[2],
                false => f64::NAN,
            }
        };
        for (local, last) in [([5, 4, 4], [5, 16, 16]), ([5, 3, 4], [5, 16, 16]), ([5, 3, 7], [5, 3, 7])] {
            for choice in [0, 3] {
                let found = predicted(choice, local, last, 1, linear(last));
                let expected = linear(last)(local.map(|k| k as f64));
                assert!((found - expected).abs() < 1e-9, "{local:?} {last:?}");
            }
        }
    }
}
