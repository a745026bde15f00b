//! Codes to the values of a window.

use super::window::{line_order, row_order, TileWindow};
use crate::entropy::symbols::Code;
use crate::grid::element::Real;
use crate::grid::tiles::ANCHOR_LEVEL;
use crate::predict::interpolation::{along, row, Interpolant};
use crate::predict::quantizer::Quantizer;

/// Reconstructs vertices from codes: the mirror of [`Encoder`], with no tests of any kind.
pub struct Decoder<'a, T> {
    pub quantizer: &'a Quantizer<T>,
    pub interpolants: &'a [Interpolant<T>; ANCHOR_LEVEL],
}

/// What a decoder finds for a vertex.
#[derive(Clone, Copy)]
pub enum Decoded<T> {
    Coded(Code),
    /// The value as predictions see it: (0, 0) for a masked or non-finite vertex.
    Given([T; 2]),
}

impl<T: Real> Decoder<'_, T> {
    #[inline(always)]
    fn value(&self, decoded: Decoded<T>, prediction: [T; 2], level: usize) -> [T; 2] {
        match decoded {
            Decoded::Coded(code) => {
                let refinement = code.refinement as usize;
                [
                    self.quantizer.decode(code.q[0], prediction[0], level, refinement),
                    self.quantizer.decode(code.q[1], prediction[1], level, refinement),
                ]
            }
            Decoded::Given(value) => value,
        }
    }

    /// Fills in the vertices of a line of values u, v with both ends (or the first) final.
    pub fn line(&self, u: &mut [T], v: &mut [T], last: usize, mut next: impl FnMut(usize) -> Decoded<T>) {
        line_order(last, |level, step, k| {
            let interpolant = &self.interpolants[level];
            let prediction = [
                along(interpolant, u, k, step, k, step, last),
                along(interpolant, v, k, step, k, step, last),
            ];
            [u[k], v[k]] = self.value(next(k), prediction, level);
        });
    }

    /// Fills in the interior of a closed tile whose lattice lines are final. `zero(position, count)`
    /// says that the codes of a row are all zero, without masks; else `next` gives them one by one.
    pub fn interior(
        &self,
        window: &mut TileWindow<T>,
        zero: impl Fn(usize, usize) -> bool,
        next: impl Fn(usize, usize, usize) -> Decoded<T>,
    ) {
        self.level::<16>(window, &zero, &next);
        self.level::<8>(window, &zero, &next);
        self.level::<4>(window, &zero, &next);
        self.level::<2>(window, &zero, &next);
        self.level::<1>(window, &zero, &next);
    }

    fn level<const STEP: usize>(
        &self,
        window: &mut TileWindow<T>,
        zero: &impl Fn(usize, usize) -> bool,
        next: &impl Fn(usize, usize, usize) -> Decoded<T>,
    ) {
        self.phase::<STEP, 0>(window, zero, next);
        self.phase::<STEP, 1>(window, zero, next);
        self.phase::<STEP, 2>(window, zero, next);
    }

    fn phase<const STEP: usize, const PHASE: usize>(
        &self,
        window: &mut TileWindow<T>,
        zero: &impl Fn(usize, usize) -> bool,
        next: &impl Fn(usize, usize, usize) -> Decoded<T>,
    ) {
        let level = STEP.trailing_zeros() as usize;
        let last = (window.width - 1, window.height - 1);
        row_order::<STEP, PHASE>(last, |first_x, y, position, count| {
            let interpolant = &self.interpolants[level];
            let u = row::<T, STEP, PHASE>(interpolant, &window.u, y, count, last);
            let v = row::<T, STEP, PHASE>(interpolant, &window.v, y, count, last);
            if zero(position, count) {
                let decoded = [u, v].map(|p| p.map(|p| self.quantizer.decode(0, p, level, 0)));
                for (i, (&u, &v)) in decoded[0].iter().zip(&decoded[1]).enumerate().take(count) {
                    window.set(first_x + 2 * STEP * i, y, [u, v]);
                }
            } else {
                for (i, (&u, &v)) in u.iter().zip(&v).enumerate().take(count) {
                    let x = first_x + 2 * STEP * i;
                    window.set(x, y, self.value(next(position + i, x, y), [u, v], level));
                }
            }
        });
    }
}
