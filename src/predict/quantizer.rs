//! Quantisation of prediction residuals: step widths by level and refinement, and the test that
//! a reconstruction is within the bound. A candidate is always reconstructed and compared before it
//! is committed, so no rounding can break the bound.

use crate::entropy::symbols::REFINEMENTS;
use crate::grid::element::Real;
use crate::grid::range::relative_bound;
use crate::grid::tiles::LEVELS;
use crate::request::{BoundKind, Config, Preserve};
use crate::stream::header::LEVEL_BOUND_SCALING_CHOICES;

/// How much tighter coarse levels are quantised: bound / min(alpha^level, beta).
pub const LEVEL_BOUND_SCALINGS: [(f64, f64); LEVEL_BOUND_SCALING_CHOICES as usize] = [(1.0, 1.0), (1.5, 3.0)];

/// Quantisation steps derived from the header of a stream.
#[derive(Clone, Debug)]
pub struct Quantizer<T> {
    /// Distance between neighbouring reconstructions, by level and refinement.
    pub width: [[T; REFINEMENTS]; LEVELS],
    /// Reciprocals of the widths; 0 where a width is too small to have one (only code 0 is left).
    pub inverse: [[T; REFINEMENTS]; LEVELS],
    /// Largest accepted |reconstructed - original| as computed in T: such that the real error is at
    /// most the bound although the difference was rounded.
    pub accept: T,
}

impl<T: Real> Quantizer<T> {
    /// `bound` is the absolute error bound, `half_bin_width` half the step of the finest level at refinement
    /// 0.
    pub fn new(bound: f64, half_bin_width: f64, level_bound_scaling: u8) -> Self {
        let (alpha, beta) = LEVEL_BOUND_SCALINGS[level_bound_scaling as usize];
        let mut width = [[T::ZERO; REFINEMENTS]; LEVELS];
        let mut inverse = width;
        let mut factor = 1.0f64;
        for level in 0..LEVELS {
            let tightened = if factor < beta { factor } else { beta };
            let mut w = 2.0 * half_bin_width / tightened;
            for refinement in 0..REFINEMENTS {
                width[level][refinement] = T::from_f64(w);
                let i = T::from_f64(1.0 / width[level][refinement].to_f64());
                inverse[level][refinement] = if i.is_finite() { i } else { T::ZERO };
                w *= 0.25;
            }
            factor *= alpha;
        }
        Quantizer { width, inverse, accept: acceptance(bound) }
    }

    /// The code of `original` around `prediction`, and what it decodes to; None when the code would
    /// be too large or is undefined.
    #[inline(always)]
    pub fn encode(&self, original: T, prediction: T, level: usize, refinement: usize) -> Option<(i32, T)> {
        let scaled = (original - prediction) * self.inverse[level][refinement];
        // False for NaN as well.
        if scaled.abs() <= T::from_i32(T::MAX_CODE) {
            let code = scaled.round_to_i32();
            Some((code, self.decode(code, prediction, level, refinement)))
        } else {
            None
        }
    }

    /// The value that a code stands for.
    #[inline(always)]
    pub fn decode(&self, code: i32, prediction: T, level: usize, refinement: usize) -> T {
        prediction + T::from_i32(code) * self.width[level][refinement]
    }
}

/// The error bound of a field, as the request and the values make it.
pub struct ErrorBound<T> {
    /// The absolute bound that the request asks for.
    pub absolute: f64,
    /// The bound that is applied: [`useful_bound`].
    pub useful: f64,
    /// The least value of T that is not below `useful`.
    pub useful_up: T,
    /// Half the distance between reconstructions on the finest level.
    pub half_bin_width: f64,
}

impl<T: Real> ErrorBound<T> {
    /// `range` is the smallest and the largest finite value of the field, if there is one.
    pub fn new(config: &Config, range: Option<(T, T)>) -> Self {
        let absolute = match (config.bound_kind, range) {
            (BoundKind::Absolute, _) => config.bound,
            (BoundKind::Relative, None) => 0.0,
            (BoundKind::Relative, Some((low, high))) => {
                relative_bound(config.bound, low.to_f64(), high.to_f64())
            }
        };
        let largest = range.map_or(T::ZERO, |(low, high)| low.abs().max(high.abs()));
        let useful = useful_bound(absolute, largest, config.preserve);
        let useful_up = round_up(useful);
        ErrorBound { absolute, useful, useful_up, half_bin_width: half_bin_width(useful, largest) }
    }
}

/// The least value of T that is not below `x`.
fn round_up<T: Real>(x: f64) -> T {
    let r = T::from_f64(x);
    if r.to_f64() < x {
        -((-r).next_down())
    } else {
        r
    }
}

/// The largest value E such that a difference that rounds to at most E is at most `bound`.
///
/// Rounding is monotone: an error above the bound rounds to at least the rounded bound, so anything
/// strictly below that is safe. An error of exactly 0 is always accepted.
pub fn acceptance<T: Real>(bound: f64) -> T {
    let rounded = T::from_f64(bound);
    if rounded.is_finite() {
        rounded.next_down().max(T::ZERO)
    } else {
        T::MAX
    }
}

/// The bound as far as it is of use. One beyond twice the largest value makes all values 0, which is all that
/// it can do; where critical points are kept, whose limits are small, the refinements and bound shifts would
/// end far above those: a fifth of the largest value then makes the smallest streams. Zero only where the
/// bound is.
fn useful_bound<T: Real>(bound: f64, largest_magnitude: T, preserve: Preserve) -> f64 {
    let most = 2.0 * largest_magnitude.to_f64();
    let lowered = if preserve == Preserve::None { most } else { 0.1 * most };
    if lowered > 0.0 && most < bound {
        lowered
    } else {
        bound
    }
}

/// Half the step of the finest level: the bound less the rounding of a reconstruction, so that
/// candidates at the edge of the interval are not lost to rounding at constrained bounds.
fn half_bin_width<T: Real>(bound: f64, largest_magnitude: T) -> f64 {
    let rounding = largest_magnitude.ulp();
    if rounding < 0.25 * bound {
        bound - rounding
    } else {
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_errors_are_within_the_bound() {
        for bound in [0.1, 1e-3, 0.25, 1e-42, 1e30, 0.0, 3.4e38, 1e300] {
            let e: f32 = acceptance(bound);
            assert!(e as f64 <= bound, "{bound}: {e}");
        }
        assert!(acceptance::<f32>(f64::MAX).is_finite());
    }

    #[test]
    fn only_useless_bounds_are_lowered() {
        for bound in [0.0, 1e-3, 5.0, 20.0] {
            assert_eq!(useful_bound(bound, 10.0f32, Preserve::Types), bound);
        }
        assert_eq!(useful_bound(20.1, 10.0f32, Preserve::None), 20.0);
        assert_eq!(useful_bound(1e300, 10.0f64, Preserve::Points), 2.0);
        assert_eq!(useful_bound(1e300, 0.0f64, Preserve::Points), 1e300);
        assert_eq!(useful_bound(1.0, f64::from_bits(1), Preserve::Types), 1.0);
    }

    #[test]
    fn a_bound_of_zero_leaves_only_the_code_zero() {
        let q = Quantizer::<f32>::new(0.0, 0.0, 0);
        assert_eq!(q.encode(1.5, 1.5, 0, 0), Some((0, 1.5)));
        assert_eq!(q.encode(7.0, 1.5, 3, 4), Some((0, 1.5)));
    }

    #[test]
    fn codes_round_trip() {
        let q = Quantizer::<f64>::new(1e-3, 1e-3, 1);
        for refinement in 0..REFINEMENTS {
            let (code, r) = q.encode(1.2345, 1.0, 2, refinement).unwrap();
            assert_eq!(q.decode(code, 1.0, 2, refinement), r);
            assert!((r - 1.2345f64).abs() <= 1e-3 / 4f64.powi(refinement as i32));
        }
        assert_eq!(q.encode(f64::NAN, 0.0, 0, 0), None);
        assert_eq!(q.encode(1e300, 0.0, 0, 0), None);
    }
}
