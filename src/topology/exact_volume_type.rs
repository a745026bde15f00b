//! The type of a critical point of a volume where floating point cannot decide: exact signs of the coefficients of the
//! characteristic polynomial and of what decides its roots.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::tetrahedra::Vectors;
use crate::topology::exact_integer::{last_exponent, Integer};
use crate::topology::tetrahedron_type::certified_type;

/// Signs of the eigenvalues of a Jacobian whose determinant is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EigenvalueSigns {
    /// Eigenvalues with a negative real part.
    pub negative: u8,
    /// Whether two are complex.
    pub complex: bool,
    /// Whether these two have real parts of exactly 0.
    pub imaginary: bool,
}

/// The signs of the eigenvalues of a tetrahedron that holds a critical point; its steps are along these axes.
pub fn eigenvalue_signs<T: Real>(
    p: &Vectors<T>,
    steps: [usize; 3],
    spacing: [f64; 3],
) -> Result<EigenvalueSigns> {
    match certified_type(p, steps, spacing, 0.0) {
        Some(kind) => Ok(EigenvalueSigns { negative: kind & 3, complex: kind & 4 != 0, imaginary: false }),
        None => exact_signs(p, steps, spacing),
    }
}

/// The Jacobian by component and axis, times one positive factor.
fn jacobian<T: Real>(p: &Vectors<T>, steps: [usize; 3], spacing: [f64; 3]) -> Result<[[Integer; 3]; 3]> {
    let p = p.map(|v| v.map(T::to_f64));
    let unit = |values: &mut dyn Iterator<Item = f64>| values.filter_map(last_exponent).min().unwrap_or(0);
    let of_field = unit(&mut p.iter().flatten().copied());
    let of_spacing = unit(&mut spacing.iter().copied());
    let step_of = |axis: usize| steps.iter().position(|&step| step == axis).unwrap_or(0);
    // A derivative along an axis is multiplied by |dx dy dz|.
    let factor = |axis: usize| {
        let [a, b] = [(axis + 1) % 3, (axis + 2) % 3].map(|k| Integer::of(spacing[k].abs(), of_spacing));
        let product = a?.times(&b?)?;
        Ok(if spacing[axis] < 0.0 { product.negated() } else { product })
    };
    let factors = [factor(0)?, factor(1)?, factor(2)?];
    let entry = |component: usize, axis: usize| {
        let k = step_of(axis);
        let [from, to] = [p[k], p[k + 1]].map(|v| Integer::of(v[component], of_field));
        to?.minus(from?)?.times(&factors[axis])
    };
    let row = |component: usize| Ok([entry(component, 0)?, entry(component, 1)?, entry(component, 2)?]);
    Ok([row(0)?, row(1)?, row(2)?])
}

/// T, M and D of the characteristic polynomial x^3 - T x^2 + M x - D.
fn coefficients(j: &[[Integer; 3]; 3]) -> Result<[Integer; 3]> {
    let minor = |r: [usize; 2], c: [usize; 2]| {
        j[r[0]][c[0]].times(&j[r[1]][c[1]])?.minus(j[r[0]][c[1]].times(&j[r[1]][c[0]])?)
    };
    let trace = j[0][0].plus(&j[1][1])?.plus(&j[2][2])?;
    let minors = minor([0, 1], [0, 1])?.plus(&minor([0, 2], [0, 2])?)?.plus(&minor([1, 2], [1, 2])?)?;
    let term = |k: usize| j[0][k].times(&minor([1, 2], [(k + 1) % 3, (k + 2) % 3])?);
    let determinant = term(0)?.plus(&term(1)?)?.plus(&term(2)?)?;
    Ok([trace, minors, determinant])
}

/// The discriminant T^2 M^2 - 4 M^3 - 4 T^3 D + 18 T M D - 27 D^2.
fn discriminant([t, m, d]: &[Integer; 3]) -> Result<Integer> {
    let (tm, tt, mm) = (t.times(m)?, t.times(t)?, m.times(m)?);
    let sum = tm.times(&tm)?.minus(mm.times(m)?.scaled(4)?)?;
    let sum = sum.minus(tt.times(t)?.times(d)?.scaled(4)?)?;
    let sum = sum.plus(&tm.times(d)?.scaled(18)?)?;
    sum.minus(d.times(d)?.scaled(27)?)
}

fn exact_signs<T: Real>(p: &Vectors<T>, steps: [usize; 3], spacing: [f64; 3]) -> Result<EigenvalueSigns> {
    let polynomial = coefficients(&jacobian(p, steps, spacing)?)?;
    let [t, m, d] = &polynomial;
    if discriminant(&polynomial)?.sign() < 0 {
        // T M - D has the sign of the real part of the pair, D that of the real eigenvalue.
        let pair = d.minus(t.times(m)?)?.negated().sign();
        let negative = (d.sign() < 0) as u8 + 2 * (pair < 0) as u8;
        return Ok(EigenvalueSigns { negative, complex: true, imaginary: pair == 0 });
    }
    // All are real, and Descartes' rule of signs is exact.
    let mut signs = [1, -t.sign(), m.sign(), -d.sign()].into_iter().filter(|&sign| sign != 0);
    let mut before = signs.next().unwrap_or(1);
    let mut positive = 0;
    for sign in signs {
        positive += (sign != before) as u8;
        before = sign;
    }
    Ok(EigenvalueSigns { negative: 3 - positive, complex: false, imaginary: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::tetrahedra::STEPS;
    use crate::random::Random;
    use num_rational::BigRational;
    use num_traits::{Signed, Zero};

    /// The signs in rational numbers, as a reference: none for a determinant of 0.
    fn rational(p: &Vectors<f64>, steps: [usize; 3], spacing: [f64; 3]) -> Option<EigenvalueSigns> {
        let exact = |x: f64| BigRational::from_float(x).expect("finite");
        let entry = |row: usize, axis: usize| {
            let k = steps.iter().position(|&step| step == axis).unwrap();
            (exact(p[k + 1][row]) - exact(p[k][row])) / exact(spacing[axis])
        };
        let j = [0, 1, 2].map(|row| [0, 1, 2].map(|axis| entry(row, axis)));
        let minor = |a: usize, b: usize| &j[a][a] * &j[b][b] - &j[a][b] * &j[b][a];
        let cofactor = |a: usize, b: usize| &j[1][a] * &j[2][b] - &j[1][b] * &j[2][a];
        let (t, m) = (&j[0][0] + &j[1][1] + &j[2][2], minor(0, 1) + minor(0, 2) + minor(1, 2));
        let d = &j[0][0] * cofactor(1, 2) + &j[0][1] * cofactor(2, 0) + &j[0][2] * cofactor(0, 1);
        if d.is_zero() {
            return None;
        }
        // The cubic without a quadratic term: x^3 + q1 x + q2.
        let third = exact(1.0) / exact(3.0);
        let q1 = &m - &t * &t * &third;
        let q2 = &t * &m * &third - &t * &t * &t * (exact(2.0) / exact(27.0)) - &d;
        let complex = (exact(4.0) * &q1 * &q1 * &q1 + exact(27.0) * &q2 * &q2).is_positive();
        let hurwitz = &t * &m - &d;
        let negative = match (d.is_positive(), complex) {
            (true, true) => 2 * hurwitz.is_negative() as u8,
            (false, true) => 1 + 2 * hurwitz.is_negative() as u8,
            // The product of the eigenvalues says how many are negative, up to two more.
            (true, false) => 2 * !(t.is_positive() && m.is_positive()) as u8,
            (false, false) => 1 + 2 * (t.is_negative() && m.is_positive()) as u8,
        };
        Some(EigenvalueSigns { negative, complex, imaginary: complex && hurwitz.is_zero() })
    }

    #[test]
    fn signs_are_those_of_rational_arithmetic() {
        let mut random = Random(34);
        let mut seen = std::collections::BTreeMap::new();
        for round in 0..6000 {
            // Rational numbers of all magnitudes take long.
            let is_wide = round % 100 == 7;
            let mut value = || match round % 4 {
                _ if is_wide => random.one_of(&[5e-324, -5e-324, f64::MAX, f64::MIN, 0.0, 1.0, 1e300]),
                3 => f64::from_bits(1.0f64.to_bits() + random.below(3)),
                _ => random.below(5) as f64 - 2.0,
            };
            let p: Vectors<f64> = std::array::from_fn(|_| std::array::from_fn(|_| value()));
            let spacing = match round % 3 {
                0 => [1.0; 3],
                1 => [0.5, -2.0, 3.0],
                _ if is_wide => [1e-300, 0.1, -f64::MAX],
                _ => [0.1, 0.1, -7.0],
            };
            let steps = STEPS[round % 6];
            if let Some(expected) = rational(&p, steps, spacing) {
                assert_eq!(exact_signs(&p, steps, spacing).unwrap(), expected, "{p:?} {spacing:?}");
                assert_eq!(eigenvalue_signs(&p, steps, spacing).unwrap(), expected, "{p:?} {spacing:?}");
                let key = (expected.negative, expected.complex, expected.imaginary);
                *seen.entry(key).or_insert(0) += 1;
            }
        }
        // Four of real eigenvalues, four of complex ones, and two between them.
        assert_eq!(seen.len(), 10, "{seen:?}");
    }
}
