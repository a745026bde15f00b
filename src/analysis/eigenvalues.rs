//! Eigenvalues of the Jacobian of a triangle, rounded, and whether its divergence is at the level of rounding.
//! Twin: kernels/analysis/eigenvalues.cuh.

use crate::grid::element::Real;
use crate::grid::mesh::Triangle;
use crate::topology::signature::Rule;

/// The divergence of a focus is rounding where |tr J| is at most this fraction of the sum of the magnitudes
/// of the four derivatives: values of f32.
pub const ROUNDING_DIVERGENCE_F32: f64 = 1e-5;
/// Values of f64.
pub const ROUNDING_DIVERGENCE_F64: f64 = 1e-12;

/// Eigenvalues at a critical point, and whether its divergence is at the level of rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spectrum {
    pub real: [f64; 2],
    pub imaginary: [f64; 2],
    pub rounding_divergence: bool,
}

impl Spectrum {
    /// Of points without a Jacobian, and where derivatives overflow.
    pub const UNKNOWN: Spectrum =
        Spectrum { real: [f64::NAN; 2], imaginary: [f64::NAN; 2], rounding_divergence: false };

    /// Of the linear field on a triangle. `complex` is the exact sign of the trace where the eigenvalues are
    /// complex, those of a focus or centre. Real ones come in falling order, of others that with a positive
    /// imaginary part first.
    pub fn of<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, complex: Option<i32>, rule: &Rule) -> Spectrum {
        let derivatives = derivatives(p, triangle, rule);
        let largest = derivatives.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        if !largest.is_finite() {
            return Spectrum::UNKNOWN;
        }
        // The derivatives times a power of two, so that no square overflows and not all of them underflow.
        let shift = (1023 - (largest.to_bits() >> 52) as i32).clamp(-1022, 1022);
        let [a, b, c, d] = derivatives.map(|x| x * power_of_two(shift));
        let (trace, half) = (a + d, 0.5 * (a - d));
        let discriminant = half * half + b * c;
        let root = discriminant.abs().sqrt();
        let is_center = complex == Some(0);
        let middle = if is_center { 0.0 } else { 0.5 * trace };
        let [real, imaginary] = match complex.is_some() {
            true => [[middle, middle], [root, -root]],
            false => [[middle + root, middle - root], [0.0, 0.0]],
        };
        let tolerance = if T::BYTES == 4 { ROUNDING_DIVERGENCE_F32 } else { ROUNDING_DIVERGENCE_F64 };
        let gradient = (a.abs() + b.abs()) + (c.abs() + d.abs());
        let unscaled = |x: f64| x * power_of_two(-shift);
        Spectrum {
            real: real.map(unscaled),
            imaginary: imaginary.map(unscaled),
            rounding_divergence: complex.is_some() && !is_center && trace.abs() <= tolerance * gradient,
        }
    }
}

/// du/dx, du/dy, dv/dx and dv/dy on a triangle.
fn derivatives<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> [f64; 4] {
    let ([x0, x1], [y0, y1]) = (triangle.edge_along(0), triangle.edge_along(1));
    let difference = |from: usize, to: usize, c: usize| p[to][c].to_f64() - p[from][c].to_f64();
    let along = |c| [difference(x0, x1, c) / rule.dx, difference(y0, y1, c) / rule.dy];
    let ([a, b], [c, d]) = (along(0), along(1));
    [a, b, c, d]
}

/// 2^n for n from -1022 to 1023.
fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Ties;

    const RULE: Rule = Rule { types: true, ties: Ties::All, dx: 1.0, dy: 1.0 };

    /// The spectrum of a matrix, from the lower triangle of the cell (-0.5, -0.25).
    fn of<T: Real>([a, b, c, d]: [f64; 4], complex: Option<i32>, rule: &Rule) -> Spectrum {
        let place = [[-0.5, -0.25], [0.5, -0.25], [0.5, 0.75]];
        let p = place.map(|[x, y]| [a * x + b * y, c * x + d * y].map(T::from_f64));
        Spectrum::of(&p, Triangle::Lower, complex, rule)
    }

    #[test]
    fn eigenvalues_are_those_of_the_matrix() {
        let found = of::<f64>([2.0, 0.0, 0.0, -1.0], None, &RULE);
        assert_eq!((found.real, found.imaginary), ([2.0, -1.0], [0.0; 2]));
        let found = of::<f32>([-1.0, -2.0, 2.0, -1.0], Some(-1), &RULE);
        assert_eq!((found.real, found.imaginary), ([-1.0; 2], [2.0, -2.0]));
        let wide = Rule { dx: 2.0, dy: 0.5, ..RULE };
        let found = of::<f64>([0.0, -1.0, 4.0, 0.0], Some(0), &wide);
        assert_eq!((found.real, found.imaginary), ([0.0; 2], [2.0, -2.0]));
        assert!(!found.rounding_divergence);
    }

    #[test]
    fn sizes_of_the_derivatives_do_not_matter() {
        let one = [-1.0, -2.0, 2.0, -1.0];
        for size in [1e-300, 1e-160, 1e160, 1e300] {
            let found = of::<f64>(one.map(|x| x * size), Some(-1), &RULE);
            let near = |x: f64, y: f64| (x - y * size).abs() <= 1e-12 * size;
            assert!(near(found.real[0], -1.0) && near(found.imaginary[0], 2.0), "{size:e}: {found:?}");
        }
        let found = of::<f64>(one.map(|x| x * 5e307), Some(-1), &Rule { dx: 1e-9, ..RULE });
        assert!(found.real[0].is_nan() && found.imaginary[1].is_nan() && !found.rounding_divergence);
        assert_eq!(of::<f64>([5e-324; 4], None, &Rule { dx: 1e9, dy: 1e9, ..RULE }).real, [0.0; 2]);
    }

    #[test]
    fn divergence_at_the_level_of_rounding_is_told_of_a_focus() {
        let of_trace = |trace: f64| of::<f32>([trace, -2.0, 2.0, 0.0], Some(1), &RULE);
        assert!(of_trace(3e-5).rounding_divergence && !of_trace(5e-5).rounding_divergence);
        let of_trace = |trace: f64| of::<f64>([trace, -2.0, 2.0, 0.0], Some(1), &RULE);
        assert!(of_trace(3e-12).rounding_divergence && !of_trace(5e-12).rounding_divergence);
        assert!(!of::<f32>([1e-9, 2.0, 2.0, 0.0], None, &RULE).rounding_divergence);
    }
}
