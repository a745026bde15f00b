//! The type of a critical point of a volume, certified in interval arithmetic (docs/algorithm.md, section 14).

use crate::grid::element::Real;
use crate::grid::tetrahedra::Vectors;
use crate::topology::interval::{Interval, UNDERFLOW};

/// The Jacobian's entries by component and axis, within 2 `moved` of differences that vertices which move by
/// `moved` may have, all of them times one positive factor. None where that is out of the range of f64.
fn jacobian<T: Real>(
    p: &Vectors<T>,
    steps: [usize; 3],
    spacing: [f64; 3],
    moved: f64,
) -> Option<[[Interval; 3]; 3]> {
    let least = spacing.iter().fold(f64::INFINITY, |least, d| if d.abs() < least { d.abs() } else { least });
    let mut entries = [[Interval::exact(0.0); 3]; 3];
    let mut largest = 0.0f64;
    for (k, &axis) in steps.iter().enumerate() {
        // At most 1: exact for equal spacings, otherwise rounded.
        let factor = least / spacing[axis];
        let rounded = if factor.abs() == 1.0 { Interval::exact(factor) } else { Interval::new(factor, 0.0) };
        for (component, row) in entries.iter_mut().enumerate() {
            let difference = p[k + 1][component].to_f64() - p[k][component].to_f64();
            row[axis] = Interval::new(difference, 2.0 * moved) * rounded;
            let size = row[axis].middle.abs();
            largest = if size > largest { size } else { largest };
        }
    }
    if !(1e-280..1e300).contains(&largest) {
        return None;
    }
    // A power of two, so that nothing is rounded and powers of entries neither over- nor underflow.
    let exponent = (largest.to_bits() >> 52) as i64 - 1023;
    let scale = f64::from_bits(((1023 - exponent) as u64) << 52);
    for entry in entries.iter_mut().flatten() {
        *entry = Interval { middle: entry.middle * scale, radius: entry.radius * scale + UNDERFLOW };
    }
    Some(entries)
}

/// The type of the critical point of a tetrahedron whose steps are along these axes: how many eigenvalues of
/// the Jacobian have a negative real part, and 4 more if two are complex. None if vertices that move by up to
/// `moved` may change it, or arithmetic does not settle it.
pub fn certified_type<T: Real>(
    p: &Vectors<T>,
    steps: [usize; 3],
    spacing: [f64; 3],
    moved: f64,
) -> Option<u8> {
    let j = jacobian(p, steps, spacing, moved)?;
    let minor = |r: usize, s: usize| j[r][r] * j[s][s] - j[r][s] * j[s][r];
    let cofactor = |a: usize, b: usize| j[1][a] * j[2][b] - j[1][b] * j[2][a];
    let trace = j[0][0] + j[1][1] + j[2][2];
    let minors = minor(0, 1) + minor(0, 2) + minor(1, 2);
    let det = j[0][0] * cofactor(1, 2) - j[0][1] * cofactor(0, 2) + j[0][2] * cofactor(0, 1);
    let hurwitz = trace * minors - det;
    let sign = det.sign();
    if sign == 0 {
        return None;
    }
    // Mirrored for a negative determinant.
    let (of_trace, of_hurwitz) = (trace.sign() * sign, hurwitz.sign() * sign);
    let negative = if of_trace > 0 && of_hurwitz > 0 {
        if sign > 0 {
            0
        } else {
            3
        }
    } else if of_trace < 0 || of_hurwitz < 0 {
        if sign > 0 {
            2
        } else {
            1
        }
    } else {
        return None;
    };
    // The cubic x^3 + q1 x + q2 of the eigenvalues less their mean.
    let q1 = minors - (trace * trace).times(1.0 / 3.0);
    let q2 = (trace * minors).times(1.0 / 3.0) - (trace * trace * trace).times(2.0 / 27.0) - det;
    let complex =
        if q1.sign() > 0 { 1 } else { ((q1 * q1 * q1).times(4.0) + q2.square().times(27.0)).sign() };
    match complex {
        0 => None,
        complex => Some(negative + 4 * (complex > 0) as u8),
    }
}
