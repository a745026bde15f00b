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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_overflows_has_a_bound() {
        assert_eq!(relative_bound(0.5, -1.0, 3.0), 2.0);
        assert_eq!(relative_bound(1e-3, -1.5e308, 1.5e308), 1e-3 * 1.5e308 + 1e-3 * 1.5e308);
        assert_eq!(relative_bound(9.0, -1.5e308, 1.5e308), f64::MAX);
        assert_eq!(relative_bound(0.0, -1.5e308, 1.5e308), 0.0);
        assert_eq!(relative_bound(1e-3, f64::INFINITY, f64::NEG_INFINITY), 0.0);
        assert!(relative_bound(1e-3, 0.0, -0.0).is_sign_positive());
    }
}
