//! The absolute bound that a relative one stands for. Twin: kernels/grid/range.cuh.

/// The absolute bound that a fraction of the range from `low` to `high` is: relative * (high - low), rounded
/// to nearest after each operation. 0 where there is no value (low > high), at most the largest finite
/// number.
pub fn relative_bound(relative: f64, low: f64, high: f64) -> f64 {
    if low > high {
        return 0.0;
    }
    // No zero has a sign.
    let bound = relative * (high - low).abs();
    if bound.is_finite() {
        bound
    } else {
        // The range itself overflows; its fraction need not.
        (relative * high - relative * low).min(f64::MAX)
    }
}
