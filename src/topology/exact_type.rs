//! The type of a critical point where floating point cannot decide: exact signs of trace and discriminant, in
//! integers of a fixed size. Nothing is allocated. Twin: kernels/topology/exact_type.cuh.

use crate::grid::element::Real;
use crate::grid::mesh::Triangle;
use crate::topology::signature::Rule;

/// Words of an exact sum.
pub const WORDS: usize = 132;
/// The first bit of a sum is worth 2^LOWEST, the last bit of the smallest product of four doubles. A
/// discriminant is below 2^4103, and the bits of a sum end at 2^4152.
pub const LOWEST: i32 = -4296;

/// The signs of trace and discriminant of the Jacobian of a triangle.
///
/// Both are multiplied by |dx * dy| (squared for the discriminant), which leaves products of doubles and their
/// sums.
pub fn exact_type<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> (i32, i32) {
    let ([x0, x1], [y0, y1]) = (triangle.edge_along(0), triangle.edge_along(1));
    let value = |vertex: usize, component: usize| p[vertex][component].to_f64();
    let [along_x, along_y] = rule.factors();
    let along_x = |component| {
        [product(value(x1, component), along_x, false), product(value(x0, component), along_x, true)]
    };
    let along_y = |component| {
        [product(value(y1, component), along_y, false), product(value(y0, component), along_y, true)]
    };
    let ([a0, a1], b, c, [d0, d1]) = (along_x(0), along_y(0), along_x(1), along_y(1));
    let mut trace = Sum::new();
    for term in [a0, a1, d0, d1] {
        trace.add([term.magnitude as u64, (term.magnitude >> 64) as u64, 0, 0], term.exponent, term.negative);
    }
    // (a - d)^2 + 4 b c
    let difference = [a0, a1, d0.negated(), d1.negated()];
    let mut discriminant = Sum::new();
    for i in 0..4 {
        for j in i..4 {
            discriminant.add_product(difference[i], difference[j], (j > i) as i32);
        }
    }
    for b in b {
        for c in c {
            discriminant.add_product(b, c, 2);
        }
    }
    (trace.sign(), discriminant.sign())
}

/// The exact sign of a sum of products of three finite doubles, of which those with `true` are subtracted.
pub fn sign_of_products(terms: &[([f64; 3], bool)]) -> i32 {
    let mut sum = Sum::new();
    for &([a, b, c], negative) in terms {
        sum.add_product(product(a, b, negative), product(c, 1.0, false), 0);
    }
    sum.sign()
}

/// +-magnitude * 2^exponent
#[derive(Clone, Copy)]
struct Product {
    magnitude: u128,
    exponent: i32,
    negative: bool,
}

impl Product {
    fn negated(self) -> Self {
        Product { negative: !self.negative, ..self }
    }
}

/// The product of two finite values, with the opposite sign if `negative`.
fn product(a: f64, b: f64, negative: bool) -> Product {
    let (x, y) = (a.to_bits(), b.to_bits());
    let mantissa = |bits: u64| {
        let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
        (fraction | ((exponent > 0) as u64) << 52, exponent.max(1) - 1075)
    };
    let ((mx, ex), (my, ey)) = (mantissa(x), mantissa(y));
    Product {
        magnitude: mx as u128 * my as u128,
        exponent: ex + ey,
        negative: ((x ^ y) >> 63 != 0) != negative,
    }
}

/// An integer in two's complement.
struct Sum([u64; WORDS]);

impl Sum {
    fn new() -> Self {
        Sum([0; WORDS])
    }

    /// Adds p * q * 2^doublings.
    fn add_product(&mut self, p: Product, q: Product, doublings: i32) {
        let halves = |m: u128| [m as u64 as u128, m >> 64];
        let ([p0, p1], [q0, q1]) = (halves(p.magnitude), halves(q.magnitude));
        let low = p0 * q0;
        // The high halves are below 2^42: no sum overflows.
        let middle = (low >> 64) + ((p0 * q1) & u64::MAX as u128) + ((p1 * q0) & u64::MAX as u128);
        let high = (middle >> 64) + ((p0 * q1) >> 64) + ((p1 * q0) >> 64) + p1 * q1;
        let magnitude = [low as u64, middle as u64, high as u64, (high >> 64) as u64];
        self.add(magnitude, p.exponent + q.exponent + doublings, p.negative != q.negative);
    }

    /// Adds +-magnitude * 2^exponent.
    fn add(&mut self, magnitude: [u64; 4], exponent: i32, negative: bool) {
        let shift = (exponent - LOWEST) as usize;
        let (first, bits) = (shift / 64, shift % 64);
        let (mut carry, mut below) = (false, 0u64);
        for (k, word) in self.0[first..].iter_mut().enumerate() {
            let here = magnitude.get(k).copied().unwrap_or(0);
            let part = if bits == 0 { here } else { here << bits | below >> (64 - bits) };
            below = here;
            *word = if negative {
                let (x, borrowed) = word.overflowing_sub(part);
                let (x, again) = x.overflowing_sub(carry as u64);
                carry = borrowed | again;
                x
            } else {
                let (x, carried) = word.overflowing_add(part);
                let (x, again) = x.overflowing_add(carry as u64);
                carry = carried | again;
                x
            };
            if k > magnitude.len() && !carry {
                return;
            }
        }
    }

    fn sign(&self) -> i32 {
        match self.0[WORDS - 1] >> 63 {
            0 => self.0.iter().any(|&word| word != 0) as i32,
            _ => -1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::request::Ties;
    use num_rational::BigRational;
    use num_traits::Signed;

    /// The signs in rational numbers, as a reference.
    fn rational(p: &[[f64; 2]; 3], triangle: Triangle, rule: &Rule) -> (i32, i32) {
        let exact = |x: f64| BigRational::from_float(x).expect("finite");
        let difference = |i: usize, j: usize, c: usize| exact(p[i][c]) - exact(p[j][c]);
        let (dx, dy) = (exact(rule.dx), exact(rule.dy));
        let (x0, x1, y0, y1) = match triangle {
            Triangle::Lower => (0, 1, 1, 2),
            Triangle::Upper => (2, 1, 0, 2),
        };
        let (a, b) = (difference(x1, x0, 0) / &dx, difference(y1, y0, 0) / &dy);
        let (c, d) = (difference(x1, x0, 1) / &dx, difference(y1, y0, 1) / &dy);
        let e = &a - &d;
        let discriminant = &e * &e + exact(4.0) * b * c;
        let sign = |x: &BigRational| x.is_positive() as i32 - x.is_negative() as i32;
        (sign(&(a + d)), sign(&discriminant))
    }

    #[test]
    fn signs_are_those_of_rational_arithmetic() {
        let mut random = Random(7);
        let mut seen = std::collections::HashSet::new();
        for round in 0..4000 {
            let mut value = || match round % 4 {
                // Few values: traces and discriminants of zero.
                0 => random.below(5) as f64 - 2.0,
                // Any bits: every exponent.
                1 => Some(f64::from_bits(random.next())).filter(|x| x.is_finite()).unwrap_or(1.0),
                // The ends of the range of exponents.
                2 => random.one_of(&[5e-324, -5e-324, f64::MAX, f64::MIN, 0.0, 1.0, f64::MIN_POSITIVE]),
                // Neighbours.
                _ => f64::from_bits(1.0f64.to_bits() + random.below(3)),
            };
            let p: [[f64; 2]; 3] = std::array::from_fn(|_| [value(), value()]);
            let spacing = |x: f64| if x != 0.0 { x } else { 1.0 };
            let rule = Rule { types: true, ties: Ties::All, dx: spacing(value()), dy: spacing(value()) };
            for triangle in [Triangle::Lower, Triangle::Upper] {
                let signs = exact_type(&p, triangle, &rule);
                assert_eq!(signs, rational(&p, triangle, &rule), "{p:?} {triangle:?} {rule:?}");
                seen.insert(signs);
            }
        }
        assert_eq!(seen.len(), 9, "all pairs of signs");
    }
}
