//! Converts a relative error bound to an absolute one. Twin: kernels/grid/range.cuh.

/// The absolute bound relative * (high - low), rounded to nearest after each operation. It is 0 for a field
/// without values (low > high), and at most the largest finite number.
pub fn relative_bound(relative: f64, low: f64, high: f64) -> f64 {
    if low > high {
        return 0.0;
    }
    // No zero has a sign.
    let bound = relative * (high - low).abs();
    if bound.is_finite() {
        bound
    } else {
        // The range overflows, although its fraction may not.
        (relative * high - relative * low).min(f64::MAX)
    }
}
