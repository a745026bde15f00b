//! How far the vertices of a tetrahedron may move without changing its signature (docs/algorithm.md,
//! section 14). A bound is always below the true one: every rounding in this module lowers it.

use crate::grid::element::Real;
use crate::grid::tetrahedra::Vectors;
use crate::topology::bound::{round_down, TOP};
use crate::topology::interval::Interval;
use crate::topology::signature::ROUNDING;
use crate::topology::tetrahedron::{
    are_moderate, determinant, others, signature, zero_corners, Signature, VolumeRule,
};
use crate::topology::tetrahedron_type::certified_type;

/// Halvings of the interval in which a bound is sought.
const HALVINGS: u32 = 30;

/// A bound d such that the signature stays the same (and certain) when every component of every vertex moves by
/// strictly less than d, and vertices that are zero stay where they are.
///
/// 0 means that nothing positive can be certified. `T::MAX` means that the tetrahedron constrains nothing: it is
/// not finite, or zero at all corners. Only bounds below `eps` are refined.
pub fn tetrahedron_bound<T: Real>(p: &Vectors<T>, steps: [usize; 3], rule: &VolumeRule, eps: f64) -> T {
    let axis = axis_distance(p);
    if axis > T::ZERO && axis.to_f64() >= eps && p.iter().flatten().all(|x| x.is_finite()) {
        return axis;
    }
    match signature(p, steps, rule) {
        Signature::NonFinite => T::MAX,
        Signature::Out => axis.max(round_down(distance(p))),
        Signature::Zeros(zero) => match others(p, zero).all() {
            [] => T::MAX,
            vectors => round_down(distance(vectors)),
        },
        Signature::In { kind, .. } => {
            let d = face_distance(p);
            let d = if rule.types { type_bound(p, steps, rule, kind, Real::min(d, TOP * eps)) } else { d };
            round_down(d)
        }
        Signature::Tie(_) => tie_bound(p, eps),
        Signature::Uncertain => T::ZERO,
    }
}

/// The bound of a tetrahedron whose signs all stay. Vertices that are zero do not move.
fn tie_bound<T: Real>(p: &Vectors<T>, eps: f64) -> T {
    let others = others(p, zero_corners(p));
    match others.all() {
        [] => T::MAX,
        // Without a zero vertex some determinant of vectors that move is 0.
        [_, _, _, _] => T::ZERO,
        vectors => round_down(largest(TOP * eps, |moved| signs_stay(vectors, moved))),
    }
}

/// Whether the signs of components, minors and determinants of 1 to 3 vectors are certain while every component
/// moves by up to `moved`.
fn signs_stay<T: Real>(vectors: &[[T; 3]], moved: f64) -> bool {
    let mut rows = [[Interval::exact(0.0); 3]; 3];
    let size = vectors.iter().flatten().fold(0.0, |size, x| Real::max(size, x.to_f64().abs()));
    if !(1e-280..1e280).contains(&size) {
        return false;
    }
    for (row, v) in rows.iter_mut().zip(vectors) {
        *row = v.map(|x| Interval::new(x.to_f64() / size, moved / size));
    }
    let rows = &rows[..vectors.len()];
    let minor = |i: usize, j: usize, k: usize, l: usize| rows[i][k] * rows[j][l] - rows[i][l] * rows[j][k];
    let components = rows.iter().flatten().all(|x| x.sign() != 0);
    let minors =
        (0..rows.len()).all(|j| (0..j).all(|i| (0..3).all(|k| minor(i, j, k, (k + 1) % 3).sign() != 0)));
    let det = || {
        let term = |k: usize| rows[0][k] * minor(1, 2, (k + 1) % 3, (k + 2) % 3);
        (term(0) + term(1) + term(2)).sign() != 0
    };
    components && minors && (rows.len() < 3 || det())
}

/// The largest distance, over the axes, of the image's bounding box from 0 (exact); not positive where the box
/// reaches 0.
#[inline(always)]
fn axis_distance<T: Real>(p: &Vectors<T>) -> T {
    let along = |k: usize| {
        let low = p[0][k].min(p[1][k]).min(p[2][k]).min(p[3][k]);
        let high = p[0][k].max(p[1][k]).max(p[2][k]).max(p[3][k]);
        low.max(-high)
    };
    along(0).max(along(1)).max(along(2))
}

/// A lower bound of the distance of the origin from the hull of 1 to 4 vectors, in the maximum norm; not positive
/// where the hull may reach it.
///
/// The distance is the largest of min n.p / |n|_1 over directions n, and one of these is an axis, is orthogonal to
/// an edge and has a component 0, or is the normal of a face. Any direction gives a lower bound.
fn distance<T: Real>(vectors: &[[T; 3]]) -> f64 {
    let mut values = [[0.0; 3]; 4];
    for (to, v) in values.iter_mut().zip(vectors) {
        *to = v.map(T::to_f64);
    }
    let p = &values[..vectors.len()];
    let mut best = 0.0;
    let mut look = |n: [f64; 3]| best = Real::max(best, along(n, p));
    for k in 0..3 {
        look([0, 1, 2].map(|i| (i == k) as i32 as f64));
    }
    let difference = |i: usize, j: usize| [0, 1, 2].map(|k| p[j][k] - p[i][k]);
    for j in 1..p.len() {
        for i in 0..j {
            let e = difference(i, j);
            look([0.0, e[2], -e[1]]);
            look([-e[2], 0.0, e[0]]);
            look([e[1], -e[0], 0.0]);
            for k in 0..i {
                look(cross(difference(k, i), e));
            }
        }
    }
    best
}

/// A lower bound of the distance of the hull of vectors from the origin along a direction.
fn along(n: [f64; 3], p: &[[f64; 3]]) -> f64 {
    let length = n[0].abs() + n[1].abs() + n[2].abs();
    if !(1e-250..1e250).contains(&length) {
        return 0.0;
    }
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for v in p {
        let [a, b, c] = [n[0] * v[0], n[1] * v[1], n[2] * v[2]];
        let (dot, error) = (a + b + c, 8.0 * ROUNDING * (a.abs() + b.abs() + c.abs()) + UNDERFLOW);
        if !(dot.is_finite() && error.is_finite()) {
            return 0.0;
        }
        low = Real::min(low, dot - error);
        high = Real::max(high, dot + error);
    }
    let value = Real::max(low, -high) / length * LESS;
    if value.is_finite() {
        value
    } else {
        0.0
    }
}

/// More than what underflows in a product or a sum of few.
const UNDERFLOW: f64 = 1e-300;
/// Covers the roundings of a division and of a sum.
const LESS: f64 = 1.0 - 16.0 * ROUNDING;

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A lower bound of the distance of the origin, which is inside, from the faces: while all vertices move by less
/// it meets none.
fn face_distance<T: Real>(p: &Vectors<T>) -> f64 {
    let p = p.map(|v| v.map(T::to_f64));
    if !are_moderate::<T>(&p) {
        return 0.0;
    }
    let of_face = |missing: usize| {
        let face: [[f64; 3]; 3] = std::array::from_fn(|k| p[k + (k >= missing) as usize]);
        let (det, error) = determinant(&face);
        let [a, b] = [1, 2].map(|k| [0, 1, 2].map(|i| face[k][i] - face[0][i]));
        let n = cross(a, b);
        let [a, b] = [a, b].map(|v| v.map(f64::abs));
        let size = a[1] * b[2] + a[2] * b[1] + a[2] * b[0] + a[0] * b[2] + a[0] * b[1] + a[1] * b[0];
        // The differences, the products and their differences are rounded.
        let length = n[0].abs() + n[1].abs() + n[2].abs() + 8.0 * ROUNDING * size + UNDERFLOW;
        let value = (det.abs() - error) / length * LESS;
        if value > 0.0 && value.is_finite() {
            value
        } else {
            0.0
        }
    };
    (0..4).map(of_face).fold(f64::INFINITY, Real::min)
}

/// The largest bound found, up to `most`, with which the type stays.
fn type_bound<T: Real>(p: &Vectors<T>, steps: [usize; 3], rule: &VolumeRule, kind: u8, most: f64) -> f64 {
    largest(most, |moved| certified_type(p, steps, rule.spacing, moved) == Some(kind))
}

/// The largest number found, up to `most`, with which a condition holds that holds for all smaller ones.
fn largest(most: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(most) {
        return most;
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
