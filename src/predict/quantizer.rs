//! Quantisation: bin widths, the quantisation of one value, and the test of its error against the bounds. A
//! value is always reconstructed and compared with the original before its code is accepted, so that no
//! rounding can break the bound.

use crate::entropy::symbols::REFINEMENTS;
use crate::grid::element::Real;
use crate::grid::range::relative_bound;
use crate::grid::tiles::LEVELS;
use crate::request::{BoundKind, Config, Preserve};
use crate::stream::header::LEVEL_BOUND_SCALING_CHOICES;

/// How much tighter coarse levels are quantised: bound / min(alpha^level, beta).
pub const LEVEL_BOUND_SCALINGS: [(f64, f64); LEVEL_BOUND_SCALING_CHOICES as usize] = [(1.0, 1.0), (1.5, 3.0)];

/// The distance between neighbouring reconstructions.
#[derive(Clone, Copy, Debug)]
pub struct Step<T> {
    pub width: T,
    /// Reciprocal of the width; 0 where the width is too small to have one (only code 0 is left).
    inverse: T,
}

/// The result of quantising and reconstructing one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt<T> {
    pub code: i32,
    /// The reconstruction.
    pub value: T,
    /// |value - original|.
    pub error: T,
    /// Whether the code is in the range of codes. If it is not, the other fields have no meaning.
    pub fits: bool,
}

impl<T: Real> Step<T> {
    pub fn new(width: f64) -> Self {
        let width = T::from_f64(width);
        let inverse = T::from_f64(1.0 / width.to_f64());
        Step { width, inverse: if inverse.is_finite() { inverse } else { T::ZERO } }
    }

    /// Steps by refinement, each a quarter of the one before.
    pub fn refined(mut width: f64) -> [Self; REFINEMENTS] {
        std::array::from_fn(|_| {
            let step = Step::new(width);
            width *= 0.25;
            step
        })
    }

    /// Quantises a value around a prediction and reconstructs it.
    #[inline(always)]
    pub fn attempt(self, original: T, prediction: T) -> Attempt<T> {
        self.attempt_residual(original, original - prediction, |multiple| prediction + multiple)
    }

    /// As [`Step::attempt`] with the prediction zero, without the additions of zero.
    #[inline(always)]
    pub fn attempt_unpredicted(self, original: T) -> Attempt<T> {
        self.attempt_residual(original, original, |multiple| multiple)
    }

    /// Quantises, reconstructs and compares; `reconstruct` adds the prediction to a multiple of the step. The
    /// function has no branches, so that the compiler can vectorise loops over it.
    #[inline(always)]
    fn attempt_residual(self, original: T, residual: T, reconstruct: impl FnOnce(T) -> T) -> Attempt<T> {
        let scaled = residual * self.inverse;
        let code = scaled.round_to_i32();
        let value = reconstruct(T::from_i32(code) * self.width);
        // False for NaN as well.
        let fits = scaled.abs() <= T::from_i32(T::MAX_CODE);
        Attempt { code, value, error: (value - original).abs(), fits }
    }

    /// The value that a code stands for.
    #[inline(always)]
    pub fn decode(self, code: i32, prediction: T) -> T {
        prediction + T::from_i32(code) * self.width
    }

    /// Whether half a bin width, the largest error but for rounding, is at most a bound. Trials begin at the
    /// first step for which this holds; each result is compared with the bound all the same.
    #[inline(always)]
    pub fn half_width_within(self, bound: T) -> bool {
        T::HALF * self.width <= bound
    }
}

/// The acceptance test of an error. No other code accepts a reconstruction.
#[derive(Clone, Copy, Debug)]
pub struct Acceptance<T> {
    /// Largest accepted value of |reconstruction - original| as computed in T: small enough that the exact
    /// error is at most the bound although the computed difference is rounded.
    most: T,
}

impl<T: Real> Acceptance<T> {
    /// Rounding is monotone: an error above the bound rounds to at least the rounded bound, so anything
    /// strictly below that is safe. An error of exactly 0 is always accepted.
    pub fn new(bound: f64) -> Self {
        let rounded = T::from_f64(bound);
        Acceptance { most: if rounded.is_finite() { rounded.next_down().max(T::ZERO) } else { T::MAX } }
    }

    /// Whether an error is within the error bound: the test of unconstrained vertices.
    #[inline(always)]
    pub fn within(self, error: T) -> bool {
        error <= self.most
    }

    /// The test of constrained vertices: whether an error is zero, or both within the error bound and below
    /// the bound of the vertex.
    #[inline(always)]
    pub fn allows(self, error: T, vertex_bound: T) -> bool {
        (error == T::ZERO) | (self.within(error) & (error < vertex_bound))
    }
}

/// Quantisation steps derived from the header of a stream.
#[derive(Clone, Debug)]
pub struct Quantizer<T> {
    /// By level and refinement.
    pub steps: [[Step<T>; REFINEMENTS]; LEVELS],
    pub accept: Acceptance<T>,
}

impl<T: Real> Quantizer<T> {
    /// `bound` is the absolute error bound, `half_bin_width` half the step of the finest level at refinement
    /// 0.
    pub fn new(bound: f64, half_bin_width: f64, level_bound_scaling: u8) -> Self {
        let (alpha, beta) = LEVEL_BOUND_SCALINGS[level_bound_scaling as usize];
        let mut factor = 1.0f64;
        let steps = std::array::from_fn(|_| {
            let tightened = if factor < beta { factor } else { beta };
            factor *= alpha;
            Step::refined(2.0 * half_bin_width / tightened)
        });
        Quantizer { steps, accept: Acceptance::new(bound) }
    }

    /// The value that a code stands for.
    #[inline(always)]
    pub fn decode(&self, code: i32, prediction: T, level: usize, refinement: usize) -> T {
        self.steps[level][refinement].decode(code, prediction)
    }
}

/// The error bound of a field, from the request and, for relative bounds, the range of the values.
pub struct ErrorBound<T> {
    /// The absolute bound that the request asks for.
    pub absolute: f64,
    /// The bound that is applied: [`useful_bound`].
    pub useful: f64,
    /// `useful` rounded up to T.
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

/// The smallest value of T that is at least `x`.
pub fn round_up<T: Real>(x: f64) -> T {
    let r = T::from_f64(x);
    if r.to_f64() < x {
        -((-r).next_down())
    } else {
        r
    }
}

/// Limits a bound to the range in which it has an effect. At twice the largest magnitude all values become 0,
/// and a larger bound changes nothing. Where critical points are preserved, such a bound is replaced by a
/// fifth of the largest magnitude: refinements and bound shifts divide the bound by a limited factor and
/// could not reach the much smaller vertex bounds otherwise; this fraction gave the smallest streams. The
/// result is zero only if the bound is.
fn useful_bound<T: Real>(bound: f64, largest_magnitude: T, preserve: Preserve) -> f64 {
    let most = 2.0 * largest_magnitude.to_f64();
    let lowered = if preserve == Preserve::None { most } else { 0.1 * most };
    if lowered > 0.0 && most < bound {
        lowered
    } else {
        bound
    }
}

/// Half the step of the finest level: the bound minus the rounding error of a reconstruction, so that
/// rounding does not carry errors near the bound over it.
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
            let Acceptance::<f32> { most } = Acceptance::new(bound);
            assert!(most as f64 <= bound, "{bound}: {most}");
        }
        assert!(Acceptance::<f32>::new(f64::MAX).most.is_finite());
    }

    #[test]
    fn constrained_errors_are_below_both_bounds_or_nothing() {
        let accept = Acceptance::<f64>::new(1.0);
        for (error, vertex_bound, allowed) in
            [(0.5, 0.6, true), (0.5, 0.5, false), (1.5, 2.0, false), (0.0, 0.0, true), (f64::NAN, 2.0, false)]
        {
            assert_eq!(accept.allows(error, vertex_bound), allowed, "{error} {vertex_bound}");
        }
        assert!(accept.within(0.5) && !accept.within(1.5) && !accept.within(f64::NAN));
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
        let exact = Attempt { code: 0, value: 1.5, error: 0.0, fits: true };
        assert_eq!(q.steps[0][0].attempt(1.5, 1.5), exact);
        assert_eq!(q.steps[3][4].attempt(7.0, 1.5), Attempt { error: 5.5, ..exact });
    }

    #[test]
    fn codes_round_trip() {
        let q = Quantizer::<f64>::new(1e-3, 1e-3, 1);
        for refinement in 0..REFINEMENTS {
            let step = q.steps[2][refinement];
            let found = step.attempt(1.2345, 1.0);
            assert!(found.fits);
            assert_eq!(q.decode(found.code, 1.0, 2, refinement), found.value);
            assert_eq!(found.error, (found.value - 1.2345f64).abs());
            assert!(found.error <= 1e-3 / 4f64.powi(refinement as i32));
            assert!(step.half_width_within(0.5 * step.width) && !step.half_width_within(0.499 * step.width));
        }
        assert_eq!(q.steps[2][1].attempt_unpredicted(1.2345), q.steps[2][1].attempt(1.2345, 0.0));
        assert!(!q.steps[0][0].attempt(f64::NAN, 0.0).fits);
        assert!(!q.steps[0][0].attempt(1e300, 0.0).fits);
    }
}
