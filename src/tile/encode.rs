//! Vertices of a patch to codes.

use super::window::{line_order, row_order, Codes, Constraints, Patch};
use crate::entropy::symbols::Code;
use crate::grid::element::Real;
use crate::grid::tiles::{ANCHOR_LEVEL, TILE};
use crate::predict::interpolation::{along, row, Kernel, PITCH, ROW};
use crate::predict::quantizer::{Quantizer, EXACT, IDS, MASKED};
use crate::request::{Mode, Preserve};

/// Codes vertices of a patch and replaces them by their reconstruction.
pub struct Encoder<'a, T> {
    pub quantizer: &'a Quantizer<T>,
    pub kernels: &'a [Kernel<T>; ANCHOR_LEVEL],
    pub constraints: &'a Constraints<T>,
}

impl<T: Real> Encoder<'_, T> {
    /// Codes vertex (x, y) around a prediction.
    #[inline(always)]
    pub fn vertex(&self, patch: &mut Patch<T>, x: usize, y: usize, prediction: [T; 2], level: usize) -> Code {
        let bit = 1u64 << x;
        if (patch.zero[y] | patch.missing[y] | patch.signed[y]) & bit != 0 {
            return self.special(patch, x, y);
        }
        let i = y * PITCH + x;
        let original = [patch.u[i], patch.v[i]];
        let q = self.quantizer;
        let (Some((qu, ru)), Some((qv, rv))) =
            (q.encode(original[0], prediction[0], level, 0), q.encode(original[1], prediction[1], level, 0))
        else {
            patch.tally.exact += 1;
            return Code { id: EXACT, q: [0; 2] };
        };
        let error = (ru - original[0]).abs().max((rv - original[1]).abs());
        if patch.tight[y] & bit == 0 && error <= q.accept {
            patch.u[i] = ru;
            patch.v[i] = rv;
            patch.tally.max_error = patch.tally.max_error.max(error.to_f64());
            return Code { id: 0, q: [qu, qv] };
        }
        self.tight_vertex(patch, x, y, prediction, level)
    }

    /// Masked vertices have no code; other missing ones are stored, and signed zeros.
    #[cold]
    fn special(&self, patch: &mut Patch<T>, x: usize, y: usize) -> Code {
        if (patch.zero[y] | patch.fill[y]) >> x & 1 != 0 {
            Code { id: MASKED, q: [0; 2] }
        } else {
            patch.tally.exact += patch.signed[y] >> x & 1;
            Code { id: EXACT, q: [0; 2] }
        }
    }

    /// Tries the ids in order. Block-wise, the limit says which ids cannot fail: after id 0 only the
    /// last one that might still fail, and those that cannot, are worth a try.
    #[inline(never)]
    fn tight_vertex(
        &self,
        patch: &mut Patch<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Code {
        let i = y * PITCH + x;
        let q = self.quantizer;
        let original = [patch.u[i], patch.v[i]];
        let tight = patch.tight[y] >> x & 1 != 0;
        let speculative =
            self.constraints.mode == Mode::Speculative && self.constraints.preserve != Preserve::None;
        let limit = patch.limit[i];
        let mut id = 0;
        while id < IDS {
            let (Some((qu, ru)), Some((qv, rv))) = (
                q.encode(original[0], prediction[0], level, id),
                q.encode(original[1], prediction[1], level, id),
            ) else {
                break;
            };
            let error = (ru - original[0]).abs().max((rv - original[1]).abs());
            let passes = error == T::ZERO
                || error <= q.accept
                    && (!tight
                        || error < limit
                            && (!speculative
                                || patch.keeps_signatures(x, y, [ru, rv], &self.constraints.rule)));
            if passes {
                patch.u[i] = ru;
                patch.v[i] = rv;
                patch.tally.max_error = patch.tally.max_error.max(error.to_f64());
                return Code { id: id as u8, q: [qu, qv] };
            }
            if id == 0 && tight && !speculative {
                let mut certain = 1;
                while certain < IDS && T::HALF * q.width[level][certain] > limit {
                    certain += 1;
                }
                id = usize::saturating_sub(certain, 2);
            }
            id += 1;
        }
        patch.tally.exact += 1;
        Code { id: EXACT, q: [0; 2] }
    }

    /// Codes the vertices between the ends of a lattice line, which are final: of row `y` of the
    /// patch when `horizontal`, else of column `y`. `last` is the last vertex of the segment, a
    /// lattice line itself where it is 32.
    pub fn line(
        &self,
        patch: &mut Patch<T>,
        horizontal: bool,
        across: usize,
        last: usize,
        mut out: impl FnMut(usize, Code, [T; 2]),
    ) {
        let (base, distance) = if horizontal { (across * PITCH, 1) } else { (across, PITCH) };
        line_order(last, |level, step, k| {
            let at = base + k * distance;
            let kernel = &self.kernels[level];
            let prediction = [
                along(kernel, &patch.u, at, step * distance, k, step, last),
                along(kernel, &patch.v, at, step * distance, k, step, last),
            ];
            let (x, y) = if horizontal { (k, across) } else { (across, k) };
            let code = self.vertex(patch, x, y, prediction, level);
            out(k, code, patch.get(x, y));
        });
    }

    /// Codes the vertices of a closed tile that lie on no lattice line, row by row, as
    /// `out(position of the first, how many, codes)`.
    pub fn interior(&self, patch: &mut Patch<T>, mut out: impl FnMut(usize, usize, &Codes)) {
        self.level::<16>(patch, &mut out);
        self.level::<8>(patch, &mut out);
        self.level::<4>(patch, &mut out);
        self.level::<2>(patch, &mut out);
        self.level::<1>(patch, &mut out);
    }

    fn level<const STEP: usize>(&self, patch: &mut Patch<T>, out: &mut impl FnMut(usize, usize, &Codes)) {
        self.phase::<STEP, 0>(patch, out);
        self.phase::<STEP, 1>(patch, out);
        self.phase::<STEP, 2>(patch, out);
    }

    fn phase<const STEP: usize, const PHASE: usize>(
        &self,
        patch: &mut Patch<T>,
        out: &mut impl FnMut(usize, usize, &Codes),
    ) {
        let level = STEP.trailing_zeros() as usize;
        let last = (patch.width - 1, patch.height - 1);
        row_order::<STEP, PHASE>(last, |first_x, y, position, count| {
            let kernel = &self.kernels[level];
            let predictions = [
                row::<T, STEP, PHASE>(kernel, &patch.u, y, count, last),
                row::<T, STEP, PHASE>(kernel, &patch.v, y, count, last),
            ];
            let codes = self.row::<STEP>(patch, first_x, y, count, &predictions);
            out(position, count, &codes);
        });
    }

    /// Codes `count` vertices 2 STEP apart. No two of them share a triangle, so that their order
    /// does not matter.
    #[inline(always)]
    fn row<const STEP: usize>(
        &self,
        patch: &mut Patch<T>,
        first_x: usize,
        y: usize,
        count: usize,
        predictions: &[[T; ROW]; 2],
    ) -> Codes {
        let n = ROW / STEP;
        let level = STEP.trailing_zeros() as usize;
        let q = self.quantizer;
        let (width, inverse) = (q.width[level][0], q.inverse[level][0]);
        let mut codes = Codes::default();
        // All as if unconstrained, written without branches; what is beyond `count` is not used.
        let mut values = [[T::ZERO; ROW]; 2];
        let mut errors = [[T::ZERO; ROW]; 2];
        let mut fits = [true; ROW];
        for (c, plane) in [&patch.u, &patch.v].into_iter().enumerate() {
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
        let special = patch.zero[y] | patch.missing[y] | patch.signed[y] | patch.tight[y];
        let columns = (every::<STEP>() & ((1 << (2 * STEP * count)) - 1)) << first_x;
        if plain && special & columns == 0 {
            for i in 0..count {
                patch.set(first_x + 2 * STEP * i, y, [values[0][i], values[1][i]]);
                largest = largest.max(errors[i]);
            }
        } else {
            for i in 0..count {
                let x = first_x + 2 * STEP * i;
                if fits[i] && special >> x & 1 == 0 {
                    patch.set(x, y, [values[0][i], values[1][i]]);
                    largest = largest.max(errors[i]);
                } else {
                    let code = self.vertex(patch, x, y, predictions.map(|p| p[i]), level);
                    codes.id[i] = code.id;
                    [codes.q[0][i], codes.q[1][i]] = code.q;
                }
            }
        }
        patch.tally.max_error = patch.tally.max_error.max(largest.to_f64());
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
