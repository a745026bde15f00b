//! Prediction of a vertex from committed ones (CODEC section 4).
//!
//! Along a line the neighbours are a, b | c, d at distances -3, -1, 1, 3 steps. Every formula is the
//! mean of b and c plus weighted differences, so that constant data are predicted exactly whatever
//! the weights. The order of the operations is part of the format: encoder and decoder, on every
//! backend, must round alike.

use crate::geometry::{ANCHOR_LEVEL, CLOSED};
use crate::real::Real;

/// Row length of the local buffers that stages work on.
pub const PITCH: usize = CLOSED + 3;

/// Weights of the outer neighbours where all four, or three, exist: cubic, softened, linear.
pub const KERNEL_WEIGHTS: [(f64, f64); 3] = [(1.0 / 16.0, 1.0 / 8.0), (1.0 / 32.0, 0.0), (0.0, 0.0)];
/// A level's choice: kernel + 3 * (centre by Coons patch).
pub const CHOICES: usize = 6;

/// How one level predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kernel<T> {
    /// Weight of the outer differences with four neighbours.
    middle: T,
    /// Weight of the second difference with three neighbours.
    side: T,
    /// Whether centre vertices take the Coons patch of their eight neighbours.
    coons: bool,
}

impl<T: Real> Kernel<T> {
    /// The kernel of a choice below [`CHOICES`].
    pub fn new(choice: u8) -> Self {
        let (middle, side) = KERNEL_WEIGHTS[choice as usize % 3];
        Kernel { middle: T::from_f64(middle), side: T::from_f64(side), coons: choice >= 3 }
    }
}

/// The kernels of the levels 0 to 4.
pub fn kernels<T: Real>(choices: &[u8; ANCHOR_LEVEL]) -> [Kernel<T>; ANCHOR_LEVEL] {
    choices.map(Kernel::new)
}

/// Prediction along a line: the vertex at buffer index `at` is number `position` of 0..=last, its
/// neighbours at one step are `distance` away in the buffer.
#[inline(always)]
pub fn along<T: Real>(
    kernel: &Kernel<T>,
    values: &[T],
    at: usize,
    distance: usize,
    position: usize,
    step: usize,
    last: usize,
) -> T {
    let b = values[at - distance];
    let has_a = position >= 3 * step;
    if position + step > last {
        // Nothing committed on the far side: extrapolate.
        return if has_a { b + T::HALF * (b - values[at - 3 * distance]) } else { b };
    }
    let c = values[at + distance];
    let mean = T::HALF * (b + c);
    let has_d = position + 3 * step <= last;
    if has_a && has_d {
        let (a, d) = (values[at - 3 * distance], values[at + 3 * distance]);
        mean + kernel.middle * ((b - a) + (c - d))
    } else if has_a {
        let a = values[at - 3 * distance];
        mean + kernel.side * ((b - a) - (c - b))
    } else if has_d {
        let d = values[at + 3 * distance];
        mean + kernel.side * ((c - b) - (d - c))
    } else {
        mean
    }
}

/// Prediction of a centre vertex (x, y) of a patch whose last column and row are given.
#[inline(always)]
pub fn centre<T: Real>(
    kernel: &Kernel<T>,
    values: &[T],
    (x, y): (usize, usize),
    step: usize,
    (last_x, last_y): (usize, usize),
) -> T {
    let at = y * PITCH + x;
    let (dx, dy) = (step, step * PITCH);
    if kernel.coons && x + step <= last_x && y + step <= last_y {
        let across = T::HALF * (values[at - dx] + values[at + dx]);
        let down = T::HALF * (values[at - dy] + values[at + dy]);
        let corners = T::QUARTER
            * ((values[at - dy - dx] + values[at - dy + dx]) + (values[at + dy - dx] + values[at + dy + dx]));
        return (across + down) - corners;
    }
    let across = along(kernel, values, at, dx, x, step, last_x);
    let down = along(kernel, values, at, dy, y, step, last_y);
    T::HALF * (across + down)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_predicted_exactly() {
        let values = vec![0.1f32; PITCH * PITCH];
        for choice in 0..CHOICES as u8 {
            let k = Kernel::new(choice);
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
        assert_eq!(along(&Kernel::new(0), &values, 7, 1, 7, 1, 32), f(7.0));
        let line = |x: f64| 2.0 * x + 1.0;
        let values: Vec<f64> = (0..PITCH).map(|x| line(x as f64)).collect();
        for choice in 0..3 {
            assert_eq!(along(&Kernel::new(choice), &values, 1, 1, 1, 1, 32), 3.0);
        }
    }
}
