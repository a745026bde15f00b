//! How far the vertices of a triangle may move without changing its signature (docs/algorithm.md, section 3).
//!
//! A bound is always below the true one: every rounding in this module lowers it.

use crate::grid::element::Real;
use crate::grid::mesh::Triangle;
use crate::request::Ties;
use crate::topology::signature::{
    finite, jacobian, kind, pinned, signs, Jacobian, Rule, OUT, ROUNDING, TIE, UNDERFLOW,
};

/// Steps of the ladder of bounds below eps that triangles with a critical point or a tie try.
pub const RUNGS: u32 = 20;
/// The ladder starts a little above eps, so that an error of exactly eps is still below its rung.
pub const TOP: f64 = 1.0 + 1.0 / 1_048_576.0;
/// Covers the roundings of a rung's own sums and products.
pub const MARGIN: f64 = 1.0 + 1.0 / 1_099_511_627_776.0;

/// The larger distance, over both axes, of the image's bounding box from 0 (exact); not positive
/// where the box reaches 0.
#[inline(always)]
pub fn axis_distance<T: Real>(p: &[[T; 2]; 3]) -> T {
    let (low_u, high_u) = (p[0][0].min(p[1][0]).min(p[2][0]), p[0][0].max(p[1][0]).max(p[2][0]));
    let (low_v, high_v) = (p[0][1].min(p[1][1]).min(p[2][1]), p[0][1].max(p[1][1]).max(p[2][1]));
    low_u.max(-high_u).max(low_v.max(-high_v))
}

/// The triangle with each vertex that is (0, 0) moved to one that is not, if there is one: the rest of the
/// image.
#[inline(always)]
fn without_zeros<T: Real>(p: &[[T; 2]; 3]) -> [[T; 2]; 3] {
    [0, 1, 2].map(|k| {
        let next = [p[k], p[(k + 1) % 3]];
        next.into_iter().find(|p| !pinned(p)).unwrap_or(p[(k + 2) % 3])
    })
}

/// A bound d such that the signature stays the same (and certain) when every component of every
/// vertex moves by strictly less than d and vertices that are (0, 0) stay where they are.
///
/// 0 means that nothing positive can be certified: store the vertices exactly. `T::MAX` means that
/// the triangle constrains nothing: it is not finite, or zero at all corners. Only bounds below
/// `eps` are refined; anything from `eps` on says that `eps` is safe.
#[inline]
pub fn triangle_bound<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule, eps: f64) -> T {
    if !finite(p) {
        return T::MAX;
    }
    let axis = axis_distance(p);
    if axis > T::ZERO && axis.to_f64() >= eps {
        return axis;
    }
    let zeros = p.iter().filter(|p| pinned(p)).count();
    if zeros > 0 && rule.ties != Ties::All {
        // Vertices that are (0, 0) do not move, and the rest of the image must stay clear of the origin. The
        // bound is 0 if an edge passes through it.
        let rest = without_zeros(p);
        if zeros == 1 && rule.ties == Ties::Sos {
            return answer_bound(&rest, eps);
        }
        let axis = axis_distance(&rest);
        if axis > T::ZERO && axis.to_f64() >= eps {
            return axis;
        }
        return near_bound(&rest, axis, triangle, rule, eps);
    }
    near_bound(p, axis, triangle, rule, eps)
}

/// The bound of a triangle with one zero vertex that keeps the answer of the rule, given the triangle without
/// it, an edge: the rule finds a point where the edge crosses the ray from the origin along +v.
fn answer_bound<T: Real>(rest: &[[T; 2]; 3], eps: f64) -> T {
    let low_u = rest[0][0].min(rest[1][0]).min(rest[2][0]);
    let high_u = rest[0][0].max(rest[1][0]).max(rest[2][0]);
    let high_v = rest[0][1].max(rest[1][1]).max(rest[2][1]);
    // Distances of the edge from the ray by the axes, if positive: beside it or below.
    let beside = low_u.max(-high_u);
    let clear = beside.max(-high_v);
    if clear > T::ZERO && clear.to_f64() >= eps {
        return clear;
    }
    let m = Determinants::new(rest);
    let distance: T = round_down(m.edge_distance(rest));
    if !m.passes_above(rest) {
        // The line of the edge is as far from the ray as from the origin.
        distance.max(clear)
    } else if beside < T::ZERO {
        // The edge crosses the ray: its ends stay on their sides.
        distance.min(-beside)
    } else {
        T::ZERO.max(clear)
    }
}

/// [`triangle_bound`] where the axes alone do not decide.
fn near_bound<T: Real>(p: &[[T; 2]; 3], axis: T, triangle: Triangle, rule: &Rule, eps: f64) -> T {
    let m = Determinants::new(p);
    if axis > T::ZERO {
        return axis.max(round_down(m.edge_distance(p)));
    }
    let s = signs(p);
    match kind(p, &s) {
        OUT => round_down(m.edge_distance(p)),
        TIE if pinned(&p[0]) && pinned(&p[1]) && pinned(&p[2]) => T::MAX,
        TIE => ladder(eps, |d| m.kept(p, d) && components_kept(p, d)),
        _ if rule.keeps_type(s[0]) => {
            let j = jacobian(p, triangle, rule);
            ladder(eps, |d| m.kept(p, d) && type_kept(&j, rule, d))
        }
        _ => ladder(eps, |d| m.kept(p, d)),
    }
}

/// A lower bound of the distances of the edges of a triangle from the origin; 0 where none is clear of it.
/// Without branches, so that the compiler can use vector instructions.
#[inline(always)]
pub fn edge_distance<T: Real>(p: &[[T; 2]; 3]) -> f64 {
    Determinants::new(p).edge_distance(p)
}

/// The determinants m_0, m_1, m_2 in f64 and a bound on their errors.
struct Determinants {
    m: [f64; 3],
    /// Bounds the error of each determinant and of the sum of two.
    error: f64,
}

impl Determinants {
    #[inline(always)]
    fn new<T: Real>(p: &[[T; 2]; 3]) -> Self {
        let (u0, v0) = (p[0][0].to_f64(), p[0][1].to_f64());
        let (u1, v1) = (p[1][0].to_f64(), p[1][1].to_f64());
        let (u2, v2) = (p[2][0].to_f64(), p[2][1].to_f64());
        let (a0, b0) = (u1 * v2, u2 * v1);
        let (a1, b1) = (u2 * v0, u0 * v2);
        let (a2, b2) = (u0 * v1, u1 * v0);
        let size = ((a0.abs() + b0.abs()) + (a1.abs() + b1.abs())) + (a2.abs() + b2.abs());
        // At most three roundings of each product; the factor 8 covers those of the bound as well.
        Determinants { m: [a0 - b0, a1 - b1, a2 - b2], error: 8.0 * ROUNDING * size + UNDERFLOW }
    }

    /// A lower bound of the distances of the edges from the origin.
    ///
    /// With c = du * v - dv * u for the edge opposite to corner k, c is -m_k at the edge's ends and
    /// the sum of the other two determinants at corner k: the edge separates the image from the
    /// origin where m_k and that sum have opposite signs.
    #[inline(always)]
    fn edge_distance<T: Real>(&self, p: &[[T; 2]; 3]) -> f64 {
        let m = &self.m;
        let c = [m[1] + m[2], m[2] + m[0], m[0] + m[1]];
        let mut best = 0.0;
        let mut k = 0;
        while k < 3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            // Without branches, which could not be predicted.
            let opposite = ((m[k] > 0.0) & (c[k] < 0.0)) | ((m[k] < 0.0) & (c[k] > 0.0));
            let (near, far) = (m[k].abs(), c[k].abs());
            let numerator = if far < near { far } else { near } - self.error;
            let du = (p[j][0].to_f64() - p[i][0].to_f64()).abs();
            let dv = (p[j][1].to_f64() - p[i][1].to_f64()).abs();
            // Two roundings each in numerator and denominator, one in the quotient.
            let distance = numerator / (du + dv) * (1.0 - 8.0 * ROUNDING);
            let better = opposite & (distance > best) & (distance > UNDERFLOW) & (distance < f64::INFINITY);
            best = if better { distance } else { best };
            k += 1;
        }
        best
    }

    /// Whether the line of an edge passes above the origin (in the direction of +v), given a triangle of
    /// which two vertices are equal. No more certain than the sign of a determinant; where that is not, the
    /// distance of the edge is 0.
    fn passes_above<T: Real>(&self, p: &[[T; 2]; 3]) -> bool {
        (0..3).any(|k| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            (self.m[k] > 0.0 && p[j][0] < p[i][0]) || (self.m[k] < 0.0 && p[j][0] > p[i][0])
        })
    }

    /// Whether the determinants of all pairs of vertices that can move keep their signs, and none of
    /// them is zero, when components move by less than d.
    fn kept<T: Real>(&self, p: &[[T; 2]; 3], d: f64) -> bool {
        let mut kept = true;
        let mut k = 0;
        while k < 3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            if !pinned(&p[i]) && !pinned(&p[j]) {
                let size = (p[i][0].to_f64().abs() + p[i][1].to_f64().abs())
                    + (p[j][0].to_f64().abs() + p[j][1].to_f64().abs());
                let change = (d * size + 2.0 * (d * d)) * MARGIN + self.error;
                kept &= self.m[k].abs() > change;
            }
            k += 1;
        }
        kept
    }
}

/// Whether the component signs of the vertices that can move are kept, and none is zero.
fn components_kept<T: Real>(p: &[[T; 2]; 3], d: f64) -> bool {
    let kept = |q: &[T; 2]| pinned(q) || (q[0].to_f64().abs() >= d && q[1].to_f64().abs() >= d);
    kept(&p[0]) && kept(&p[1]) && kept(&p[2])
}

/// Whether the signs of trace and discriminant are kept, and certain after the move as well: the
/// values must exceed their change, their error here and their error after the move.
fn type_kept(j: &Jacobian, rule: &Rule, d: f64) -> bool {
    // A difference of two components moves by less than 2d.
    let [move_ac, move_bd] = rule.factors().map(|factor| 2.0 * d * factor.abs() * MARGIN);
    let (trace, discriminant) = j.trace_discriminant();
    let moved = move_ac + move_bd;
    let product = (j.b.abs() * move_ac + j.c.abs() * move_bd) + move_ac * move_bd;
    let change = (2.0 * (j.a - j.d).abs() * moved + moved * moved) + 4.0 * product;
    let (trace_error, discriminant_error) = j.errors(move_ac, move_bd);
    trace.abs() > moved * MARGIN + 4.0 * trace_error
        && discriminant.abs() > change * MARGIN + 4.0 * discriminant_error
}

/// The highest safe bound of the ladder TOP * eps * 2^-j, j = 0..=20, refined to an eighth of its
/// rung; 0 if none is. `safe` must be monotone: true below any bound for which it is true.
fn ladder<T: Real>(eps: f64, safe: impl Fn(f64) -> bool) -> T {
    let (mut low, mut high) = (0, RUNGS + 1);
    while low < high {
        let middle = (low + high) / 2;
        if safe(rung(eps, middle, 8)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if low > RUNGS {
        return T::ZERO;
    }
    let mut eighths = 8;
    if low > 0 {
        let mut half = 4;
        while half > 0 {
            if safe(rung(eps, low, eighths + half)) {
                eighths += half;
            }
            half /= 2;
        }
    }
    round_down(rung(eps, low, eighths))
}

/// The rung j, times `eighths` / 8.
fn rung(eps: f64, j: u32, eighths: u32) -> f64 {
    eps * TOP * (eighths as f64 / (8u32 << j) as f64)
}

/// The largest value of T that is not above x (x >= 0).
#[inline(always)]
pub fn round_down<T: Real>(x: f64) -> T {
    let y = T::from_f64(x);
    // The bit pattern before that of a positive value is the value below it.
    T::from_bits64(y.to_bits64() - (y.to_f64() > x) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { types: true, ties: Ties::All, dx: 1.0, dy: 1.0 };

    fn bound(p: [[f32; 2]; 3], eps: f64) -> f32 {
        triangle_bound(&p, Triangle::Lower, &RULE, eps)
    }

    #[test]
    fn outside_is_the_distance_of_the_image() {
        let d = bound([[1.0, 5.0], [2.0, -1.0], [3.0, 7.0]], 100.0);
        assert!(d as f64 <= 11.0 / 7.0 && d as f64 > 11.0 / 7.0 - 1e-6, "{d}");
        assert_eq!(bound([[1.0, 5.0], [2.0, -1.0], [3.0, 7.0]], 1.0), 1.0);
        assert_eq!(bound([[-1.0, 5.0], [-2.0, -1.0], [-3.0, 7.0]], 0.5), 1.0);
        // Only the edge from (2, 0) to (0, 2) separates: |u| + |v| = 2 on it.
        let d = bound([[2.0, -1.0], [-1.0, 2.0], [5.0, 5.0]], 100.0);
        assert!(d <= 0.5 && d > 0.499_999, "{d}");
        // One ray.
        assert_eq!(bound([[1.0, 2.0], [2.0, 4.0], [0.5, 1.0]], 100.0), 1.0);
    }

    #[test]
    fn nothing_to_keep_and_nothing_to_certify() {
        assert_eq!(bound([[f32::NAN, 0.0], [1.0, 1.0], [1.0, -1.0]], 1.0), f32::MAX);
        assert_eq!(bound([[0.0, -0.0], [0.0, 0.0], [-0.0, 0.0]], 1.0), f32::MAX);
        // A vertex that can move with a zero component; a tie between two vertices that can move.
        assert_eq!(bound([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], 1.0), 0.0);
        assert_eq!(bound([[1.0, 1.0], [-1.0, -1.0], [3.0, 1.0]], 1.0), 0.0);
        // A pure rotation has no certain type.
        assert_eq!(bound([[0.25, -0.5], [0.25, 0.5], [-0.75, 0.5]], 1.0), 0.0);
    }

    #[test]
    fn beside_zeros_the_rest_of_the_image_counts() {
        let bound = |p: [[f32; 2]; 3]| {
            triangle_bound(&p, Triangle::Lower, &Rule { ties: Ties::Zeros, ..RULE }, 100.0)
        };
        assert_eq!(bound([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), 1.0);
        assert_eq!(bound([[1.0, -4.0], [-0.0, 0.0], [0.0, -0.0]]), 4.0);
        let d = bound([[-1.0, 2.0], [0.0, 0.0], [2.0, -1.0]]);
        assert!(d <= 0.5 && d > 0.499_999, "{d}");
        // The smallest numbers: exact along an axis, given up where a determinant is needed.
        assert_eq!(bound([[0.0, 0.0], [1e-45, 0.0], [3e-45, -1.0]]), 1e-45);
        assert_eq!(bound([[0.0, 0.0], [0.0, 0.0], [0.0, 1e-45]]), 1e-45);
        // An edge through the origin; no vertex that can move; no vertex that is zero.
        assert_eq!(bound([[0.0, 0.0], [1.0, -3.0], [-2.0, 6.0]]), 0.0);
        assert_eq!(bound([[0.0, 0.0], [1e-45, 0.0], [-1e-45, 0.0]]), 0.0);
        assert_eq!(bound([[0.0, -0.0], [0.0, 0.0], [-0.0, 0.0]]), f32::MAX);
        assert_eq!(bound([[1.0, 1.0], [-1.0, -1.0], [3.0, 1.0]]), 0.0);
    }

    #[test]
    fn the_answer_depends_on_the_ray_above_the_origin() {
        let bound =
            |p: [[f32; 2]; 3]| triangle_bound(&p, Triangle::Upper, &Rule { ties: Ties::Sos, ..RULE }, 100.0);
        let near = |d: f32, expected: f32| d <= expected && d > expected * 0.999_999;
        // The edge crosses the ray; it lies beside it; below; its line passes below the origin.
        assert_eq!(bound([[0.0, 0.0], [1.0, 4.0], [-2.0, 4.0]]), 1.0);
        assert!(near(bound([[0.0, 0.0], [8.0, 1.0], [-8.0, 2.0]]), 24.0 / 17.0));
        assert_eq!(bound([[3.0, -1.0], [-0.0, 0.0], [1.0, 4.0]]), 1.0);
        assert!(near(bound([[3.0, -1.0], [-4.0, -2.0], [-0.0, 0.0]]), 10.0 / 8.0));
        assert!(near(bound([[3.0, 1.0], [-0.0, 0.0], [-2.0, -9.0]]), 25.0 / 15.0));
        // Two zero vertices; three; an end on the ray; an edge through the origin.
        assert_eq!(bound([[0.0, 0.0], [0.0, 0.0], [0.0, 4.0]]), 4.0);
        assert_eq!(bound([[0.0, -0.0], [0.0, 0.0], [-0.0, 0.0]]), f32::MAX);
        assert_eq!(bound([[0.0, 0.0], [0.0, 4.0], [3.0, 5.0]]), 0.0);
        assert_eq!(bound([[0.0, 0.0], [1.0, -3.0], [-2.0, 6.0]]), 0.0);
        // No zero vertex.
        assert_eq!(bound([[1.0, 1.0], [-1.0, -1.0], [3.0, 1.0]]), 0.0);
    }

    #[test]
    fn ladder_rungs_lie_above_eps() {
        let d = bound([[0.0, 0.0], [4.0, 1.0], [1.0, 4.0]], 1e-3);
        assert!(d as f64 > 1e-3 && (d as f64) < 1.01e-3, "{d}");
        let d = bound([[2.0, -3.0], [-1.0, -2.0], [1.0, 5.0]], 1e-3);
        assert!(d as f64 > 1e-3, "{d}");
    }
}
