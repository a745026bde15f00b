//! Vertices of a window to codes.

use super::window::{line_order, row_order, Constraints, RowCodes, TileWindow};
use crate::entropy::symbols::Code;
use crate::grid::element::Real;
use crate::grid::tiles::{ANCHOR_LEVEL, TILE};
use crate::predict::interpolation::{along, row, Interpolant, PITCH, ROW};
use crate::predict::quantizer::{Quantizer, EXACT, MASKED, REFINEMENTS};
use crate::request::{Mode, Preserve};

/// Codes vertices of a window and replaces them by their reconstruction.
pub struct Encoder<'a, T> {
    pub quantizer: &'a Quantizer<T>,
    pub interpolants: &'a [Interpolant<T>; ANCHOR_LEVEL],
    pub constraints: &'a Constraints<T>,
}

impl<T: Real> Encoder<'_, T> {
    /// Codes vertex (x, y) around a prediction.
    #[inline(always)]
    pub fn vertex(
        &self,
        window: &mut TileWindow<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Code {
        let bit = 1u64 << x;
        if (window.zero[y] | window.missing[y] | window.signed[y]) & bit != 0 {
            return self.special(window, x, y);
        }
        let i = y * PITCH + x;
        let original = [window.u[i], window.v[i]];
        let q = self.quantizer;
        let (Some((qu, ru)), Some((qv, rv))) =
            (q.encode(original[0], prediction[0], level, 0), q.encode(original[1], prediction[1], level, 0))
        else {
            window.stats.exact += 1;
            return Code { refinement: EXACT, q: [0; 2] };
        };
        let error = (ru - original[0]).abs().max((rv - original[1]).abs());
        if window.constrained[y] & bit == 0 && error <= q.accept {
            window.u[i] = ru;
            window.v[i] = rv;
            window.stats.max_error = window.stats.max_error.max(error.to_f64());
            return Code { refinement: 0, q: [qu, qv] };
        }
        self.constrained_vertex(window, x, y, prediction, level)
    }

    /// Masked vertices have no code; other missing ones are stored, and signed zeros.
    #[cold]
    fn special(&self, window: &mut TileWindow<T>, x: usize, y: usize) -> Code {
        if (window.zero[y] | window.fill[y]) >> x & 1 != 0 {
            Code { refinement: MASKED, q: [0; 2] }
        } else {
            window.stats.exact += window.signed[y] >> x & 1;
            Code { refinement: EXACT, q: [0; 2] }
        }
    }

    /// Tries the refinements in order. Block-wise, the vertex bound says which refinements cannot fail: after
    /// refinement 0 only the last one that might still fail, and those that cannot, are worth a try.
    #[inline(never)]
    fn constrained_vertex(
        &self,
        window: &mut TileWindow<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Code {
        let i = y * PITCH + x;
        let q = self.quantizer;
        let original = [window.u[i], window.v[i]];
        let constrained = window.constrained[y] >> x & 1 != 0;
        let speculative =
            self.constraints.mode == Mode::Speculative && self.constraints.preserve != Preserve::None;
        let bound = window.bounds[i];
        let mut refinement = 0;
        while refinement < REFINEMENTS {
            let (Some((qu, ru)), Some((qv, rv))) = (
                q.encode(original[0], prediction[0], level, refinement),
                q.encode(original[1], prediction[1], level, refinement),
            ) else {
                break;
            };
            let error = (ru - original[0]).abs().max((rv - original[1]).abs());
            let passes = error == T::ZERO
                || error <= q.accept
                    && (!constrained
                        || error < bound
                            && (!speculative
                                || window.keeps_signatures(x, y, [ru, rv], &self.constraints.rule)));
            if passes {
                window.u[i] = ru;
                window.v[i] = rv;
                window.stats.max_error = window.stats.max_error.max(error.to_f64());
                return Code { refinement: refinement as u8, q: [qu, qv] };
            }
            if refinement == 0 && constrained && !speculative {
                let mut certain = 1;
                while certain < REFINEMENTS && T::HALF * q.width[level][certain] > bound {
                    certain += 1;
                }
                refinement = usize::saturating_sub(certain, 2);
            }
            refinement += 1;
        }
        window.stats.exact += 1;
        Code { refinement: EXACT, q: [0; 2] }
    }

    /// Codes the vertices between the ends of a lattice line, which are final: of row `y` of the
    /// window when `horizontal`, else of column `y`. `last` is the last vertex of the segment, a
    /// lattice line itself where it is 32.
    pub fn line(
        &self,
        window: &mut TileWindow<T>,
        horizontal: bool,
        across: usize,
        last: usize,
        mut out: impl FnMut(usize, Code, [T; 2]),
    ) {
        let (start, distance) = if horizontal { (across * PITCH, 1) } else { (across, PITCH) };
        line_order(last, |level, step, k| {
            let at = start + k * distance;
            let interpolant = &self.interpolants[level];
            let prediction = [
                along(interpolant, &window.u, at, step * distance, k, step, last),
                along(interpolant, &window.v, at, step * distance, k, step, last),
            ];
            let (x, y) = if horizontal { (k, across) } else { (across, k) };
            let code = self.vertex(window, x, y, prediction, level);
            out(k, code, window.get(x, y));
        });
    }

    /// Codes the vertices of a closed tile that lie on no lattice line, row by row, as
    /// `out(position of the first, how many, codes)`.
    pub fn interior(&self, window: &mut TileWindow<T>, mut out: impl FnMut(usize, usize, &RowCodes)) {
        self.level::<16>(window, &mut out);
        self.level::<8>(window, &mut out);
        self.level::<4>(window, &mut out);
        self.level::<2>(window, &mut out);
        self.level::<1>(window, &mut out);
    }

    fn level<const STEP: usize>(
        &self,
        window: &mut TileWindow<T>,
        out: &mut impl FnMut(usize, usize, &RowCodes),
    ) {
        self.phase::<STEP, 0>(window, out);
        self.phase::<STEP, 1>(window, out);
        self.phase::<STEP, 2>(window, out);
    }

    fn phase<const STEP: usize, const PHASE: usize>(
        &self,
        window: &mut TileWindow<T>,
        out: &mut impl FnMut(usize, usize, &RowCodes),
    ) {
        let level = STEP.trailing_zeros() as usize;
        let last = (window.width - 1, window.height - 1);
        row_order::<STEP, PHASE>(last, |first_x, y, position, count| {
            let interpolant = &self.interpolants[level];
            let predictions = [
                row::<T, STEP, PHASE>(interpolant, &window.u, y, count, last),
                row::<T, STEP, PHASE>(interpolant, &window.v, y, count, last),
            ];
            let codes = self.row::<STEP>(window, first_x, y, count, &predictions);
            out(position, count, &codes);
        });
    }

    /// Codes `count` vertices 2 STEP apart. No two of them share a triangle, so that their order
    /// does not matter.
    #[inline(always)]
    fn row<const STEP: usize>(
        &self,
        window: &mut TileWindow<T>,
        first_x: usize,
        y: usize,
        count: usize,
        predictions: &[[T; ROW]; 2],
    ) -> RowCodes {
        let n = ROW / STEP;
        let level = STEP.trailing_zeros() as usize;
        let q = self.quantizer;
        let (width, inverse) = (q.width[level][0], q.inverse[level][0]);
        let mut codes = RowCodes::default();
        // All as if unconstrained, written without branches; what is beyond `count` is not used.
        let mut values = [[T::ZERO; ROW]; 2];
        let mut errors = [[T::ZERO; ROW]; 2];
        let mut fits = [true; ROW];
        for (c, plane) in [&window.u, &window.v].into_iter().enumerate() {
            let originals = &plane[y * PITCH + first_x..][..2 * STEP * (n - 1) + 1];
            for i in 0..n {
                let (original, prediction) = (originals[2 * STEP * i], predictions[c][i]);
                let scaled = (original - prediction) * inverse;
                let code = scaled.round_to_i32();
                let value = prediction + T::from_i32(code) * width;
                fits[i] &= scaled.abs() <= T::from_i32(T::MAX_CODE);
                codes.q[c][i] = code;
                values[c][i] = value;
                errors[c][i] = (value - original).abs();
            }
        }
        let mut largest = T::ZERO;
        let mut plain = true;
        let [errors_u, errors_v] = errors;
        let errors: [T; ROW] = std::array::from_fn(|i| errors_u[i].max(errors_v[i]));
        for (fits, &error) in fits.iter_mut().zip(&errors) {
            *fits &= error <= q.accept;
        }
        for &fits in &fits[..count] {
            plain &= fits;
        }
        let special = window.zero[y] | window.missing[y] | window.signed[y] | window.constrained[y];
        let columns = (every::<STEP>() & ((1 << (2 * STEP * count)) - 1)) << first_x;
        if plain && special & columns == 0 {
            for i in 0..count {
                window.set(first_x + 2 * STEP * i, y, [values[0][i], values[1][i]]);
                largest = largest.max(errors[i]);
            }
        } else {
            for i in 0..count {
                let x = first_x + 2 * STEP * i;
                if fits[i] && special >> x & 1 == 0 {
                    window.set(x, y, [values[0][i], values[1][i]]);
                    largest = largest.max(errors[i]);
                } else {
                    let code = self.vertex(window, x, y, predictions.map(|p| p[i]), level);
                    codes.refinement[i] = code.refinement;
                    [codes.q[0][i], codes.q[1][i]] = code.q;
                }
            }
        }
        window.stats.max_error = window.stats.max_error.max(largest.to_f64());
        codes
    }
}

/// Bits 0, 2 STEP, 4 STEP, ... below 32.
const fn every<const STEP: usize>() -> u64 {
    let (mut bits, mut x) = (0, 0);
    while x < TILE {
        bits |= 1 << x;
        x += 2 * STEP;
    }
    bits
}
