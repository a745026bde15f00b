//! The signature of a triangle, decided exactly (docs/algorithm.md, section 2): what must be the same before
//! and after compression.

use crate::grid::element::Real;
use crate::grid::triangles::Triangle;
use crate::request::Ties;

/// Contents of signatures, and the spacing that types of critical points depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Whether the type of a critical point is part of its triangle's signature (P3).
    pub types: bool,
    /// Promise for a triangle with the origin on the boundary of its hull.
    pub ties: Ties,
    /// Grid spacing along x and y, finite and positive. Only their ratio matters.
    pub dx: f64,
    pub dy: f64,
}

/// The kind in the low [`KIND_BITS`] bits, above them the signs that it depends on, two bits each
/// (sign + 1).
pub type Signature = u32;

const KIND_BITS: u32 = 3;
const KIND_MASK: u32 = (1 << KIND_BITS) - 1;

/// The origin is outside the closed hull of the three vectors: no critical point.
pub const OUT: Signature = 0;
/// A component is NaN or infinite.
pub const NONFINITE: Signature = 1;
/// A critical point whose type could not be certified.
pub const UNCERTAIN: Signature = 2;
/// The kind of triangles with exactly one critical point, strictly inside. Above it: the sign of the
/// orientation and, for certified types with a positive one, the signs of trace and discriminant.
pub const IN: u32 = 3;
/// The kind of triangles with the origin on the boundary of the hull. Above it: the three signs of
/// the determinants, then the six signs of the components.
pub const TIE: u32 = 4;
/// Under [`Ties::Zeros`], the kind of TIE triangles with vertices that are (0, 0), the rest of the hull being
/// clear of the origin. Above it: a bit for each of these vertices.
pub const ZEROS: u32 = 5;
/// As [`ZEROS`] with one such vertex, the edge of the other two passing through the origin: the field is zero
/// from the vertex to a point of the edge. No signature says which point, so that the vertices must stay as
/// they are.
pub const SEGMENT: u32 = 6;
/// Kinds that are never the same, [`UNCERTAIN`] and [`SEGMENT`], have the bits of the former under this mask.
const NEVER_SAME_MASK: u32 = 3;

/// Relative rounding error of one f64 operation.
pub(super) const ROUNDING: f64 = f64::EPSILON / 2.0;
/// Far above the absolute error of an f64 operation that underflows: 2^-1000.
pub(super) const UNDERFLOW: f64 = f64::from_bits((1023 - 1000) << 52);

/// The exact sign of a * d - b * c for all finite values (docs/algorithm.md, section 2).
#[inline(always)]
pub fn sign_det<T: Real>(a: T, b: T, c: T, d: T) -> i32 {
    T::sign_det(a, b, c, d)
}

/// The signature of a triangle (docs/algorithm.md, section 2).
///
/// `p[k]` is (u, v) at corner k in the order of [`crate::grid::triangles::corners`].
#[inline]
pub fn signature<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> Signature {
    if !finite(p) {
        return NONFINITE;
    }
    if one_sided(p) {
        return OUT;
    }
    let s = signs(p);
    match kind(p, &s) {
        IN => inside(s[0], p, triangle, rule),
        TIE => tie(&s, p, rule.ties),
        other => other,
    }
}

/// Whether a triangle keeps what must be kept: its signature is the same and certain.
#[inline(always)]
pub fn same(before: Signature, after: Signature) -> bool {
    before == after && before & NEVER_SAME_MASK != UNCERTAIN
}

/// Whether the triangle holds a critical point.
#[inline(always)]
pub fn is_critical(signature: Signature) -> bool {
    signature == UNCERTAIN || signature & KIND_MASK == IN
}

/// The certified signs of trace and discriminant of an IN signature with positive orientation under a
/// rule with types; `None` for a saddle.
pub(crate) fn certified_type(signature: Signature) -> Option<(i32, i32)> {
    let sign = |k: u32| (signature >> (KIND_BITS + 2 * k) & 3) as i32 - 1;
    (sign(0) > 0).then(|| (sign(1), sign(2)))
}

/// Whether all six components are finite.
#[inline(always)]
pub(crate) fn finite<T: Real>(p: &[[T; 2]; 3]) -> bool {
    p[0][0].is_finite()
        & p[0][1].is_finite()
        & p[1][0].is_finite()
        & p[1][1].is_finite()
        & p[2][0].is_finite()
        & p[2][1].is_finite()
}

/// Whether a component has one strict sign at all three corners, which is enough to be OUT.
#[inline(always)]
fn one_sided<T: Real>(p: &[[T; 2]; 3]) -> bool {
    let z = T::ZERO;
    ((p[0][0] > z) & (p[1][0] > z) & (p[2][0] > z))
        | ((p[0][0] < z) & (p[1][0] < z) & (p[2][0] < z))
        | ((p[0][1] > z) & (p[1][1] > z) & (p[2][1] > z))
        | ((p[0][1] < z) & (p[1][1] < z) & (p[2][1] < z))
}

/// Whether the vector is (0, 0): stored as exact zero, it never moves.
#[inline(always)]
pub(super) fn pinned<T: Real>(p: &[T; 2]) -> bool {
    p[0] == T::ZERO && p[1] == T::ZERO
}

/// The signs of m_0, m_1, m_2 (finite vectors).
#[inline(always)]
pub(crate) fn signs<T: Real>(p: &[[T; 2]; 3]) -> [i32; 3] {
    [
        sign_det(p[1][0], p[1][1], p[2][0], p[2][1]),
        sign_det(p[2][0], p[2][1], p[0][0], p[0][1]),
        sign_det(p[0][0], p[0][1], p[1][0], p[1][1]),
    ]
}

/// OUT, IN or TIE.
#[inline(always)]
pub(crate) fn kind<T: Real>(p: &[[T; 2]; 3], s: &[i32; 3]) -> u32 {
    let low = s[0].min(s[1]).min(s[2]);
    let high = s[0].max(s[1]).max(s[2]);
    if low < 0 && high > 0 {
        OUT
    } else if low == high && low != 0 {
        IN
    } else if low == high && one_ray(p) {
        OUT
    } else {
        TIE
    }
}

/// Whether vectors that are known to be parallel lie on one open ray from the origin.
#[inline(always)]
fn one_ray<T: Real>(p: &[[T; 2]; 3]) -> bool {
    let (u, v) = (p[0][0].sign(), p[0][1].sign());
    (u != 0 || v != 0)
        && p[1][0].sign() == u
        && p[2][0].sign() == u
        && p[1][1].sign() == v
        && p[2][1].sign() == v
}

/// The signature of an IN triangle with orientation s.
fn inside<T: Real>(s: i32, p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> Signature {
    let code = IN | ((s + 1) as u32) << KIND_BITS;
    if s < 0 || !rule.types {
        return code;
    }
    let (trace, discriminant) = jacobian(p, triangle, rule).type_signs();
    if trace == 0 || discriminant == 0 {
        return UNCERTAIN;
    }
    code | ((trace + 1) as u32) << (KIND_BITS + 2) | ((discriminant + 1) as u32) << (KIND_BITS + 4)
}

/// The signature of a TIE triangle.
fn tie<T: Real>(s: &[i32; 3], p: &[[T; 2]; 3], ties: Ties) -> Signature {
    let mut code = TIE;
    let mut k = 0;
    while k < 3 {
        code |= ((s[k] + 1) as u32) << (KIND_BITS + 2 * k as u32);
        code |= ((p[k][0].sign() + 1) as u32) << (KIND_BITS + 6 + 4 * k as u32);
        code |= ((p[k][1].sign() + 1) as u32) << (KIND_BITS + 8 + 4 * k as u32);
        k += 1;
    }
    match ties {
        Ties::All => code,
        Ties::Zeros => by_zeros(code),
    }
}

/// The signature of a TIE triangle by its zeros, given that by its signs: where it has no vertex that is
/// (0, 0), the same.
fn by_zeros(tie: Signature) -> Signature {
    let determinants = tie >> KIND_BITS & 63;
    let components: [u32; 3] = std::array::from_fn(|k| tie >> (KIND_BITS + 6 + 4 * k as u32) & 15);
    let zero = components.iter().rev().fold(0, |zero, &signs| zero << 1 | (signs == 0b0101) as u32);
    if zero == 0 {
        return tie;
    }
    // Two zero vertices leave a vector, and a determinant that is not 0 an edge that passes by. With one zero
    // vertex, equal signs are those of the others.
    let [a, b, c] = components;
    let clear = zero.count_ones() != 1 || determinants != 0b01_01_01 || a == b || b == c || c == a;
    (if clear { ZEROS } else { SEGMENT }) | zero << KIND_BITS
}

/// Whether a TIE triangle keeps what it must, given the vectors and the signs of its determinants before and
/// after.
pub(crate) fn keeps_tie<T: Real>(p: [&[[T; 2]; 3]; 2], s: [&[i32; 3]; 2], ties: Ties) -> bool {
    let [before, after] = [0, 1].map(|k| tie(s[k], p[k], ties));
    if kind(p[1], s[1]) != TIE || before != after {
        return false;
    }
    // The zero of the edge stays where it is if b = -t c before and after, with one t.
    before & KIND_MASK != SEGMENT || {
        let k = (before >> KIND_BITS).trailing_zeros() as usize;
        let [[b, c], [b_after, c_after]] = p.map(|p| [p[(k + 1) % 3], p[(k + 2) % 3]]);
        let stays = |i: usize, j: usize| sign_det(b[i], c[i], b_after[j], c_after[j]) == 0;
        stays(0, 0) && stays(0, 1) && stays(1, 0) && stays(1, 1)
    }
}

/// The Jacobian of a triangle's linear field times dx * dy, which changes no sign: `a` = u_x,
/// `b` = u_y, `c` = v_x, `d` = v_y. Each entry is a difference and a product: relative error
/// 2 * ROUNDING, absolute error far below UNDERFLOW.
pub(super) struct Jacobian {
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub d: f64,
}

pub(super) fn jacobian<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> Jacobian {
    // Corners from and to along x, then along y.
    let (x0, x1, y0, y1) = match triangle {
        Triangle::Lower => (0, 1, 1, 2),
        Triangle::Upper => (2, 1, 0, 2),
    };
    Jacobian {
        a: (p[x1][0].to_f64() - p[x0][0].to_f64()) * rule.dy,
        b: (p[y1][0].to_f64() - p[y0][0].to_f64()) * rule.dx,
        c: (p[x1][1].to_f64() - p[x0][1].to_f64()) * rule.dy,
        d: (p[y1][1].to_f64() - p[y0][1].to_f64()) * rule.dx,
    }
}

impl Jacobian {
    /// The trace and, as (a - d)^2 + 4bc, the discriminant tr^2 - 4 det.
    pub fn trace_discriminant(&self) -> (f64, f64) {
        let e = self.a - self.d;
        (self.a + self.d, e * e + 4.0 * (self.b * self.c))
    }

    /// Bounds on the errors of [`Jacobian::trace_discriminant`] where every entry may be larger than
    /// here by the given amounts (of a and c, and of b and d).
    ///
    /// The trace takes three roundings of each entry, the discriminant at most eight of each
    /// product; the factors 8 and 16 leave room for second-order terms and for the rounding of
    /// this bound. An entry that underflows loses less than UNDERFLOW, times its partner.
    pub fn errors(&self, grow_ac: f64, grow_bd: f64) -> (f64, f64) {
        let (a, b) = (self.a.abs() + grow_ac, self.b.abs() + grow_bd);
        let (c, d) = (self.c.abs() + grow_ac, self.d.abs() + grow_bd);
        let tiny = UNDERFLOW * (1.0 + ((a + b) + (c + d)));
        let t = a + d;
        (8.0 * ROUNDING * t + tiny, 16.0 * ROUNDING * (t * t + 4.0 * (b * c)) + tiny)
    }

    /// The certified signs of trace and discriminant; 0 where there is no certainty, also where a
    /// value is exactly zero. Overflow gives an infinite or undefined bound, which nothing exceeds.
    pub fn type_signs(&self) -> (i32, i32) {
        let (trace, discriminant) = self.trace_discriminant();
        let (trace_error, discriminant_error) = self.errors(0.0, 0.0);
        (certain_sign(trace, trace_error), certain_sign(discriminant, discriminant_error))
    }
}

/// The sign of a value known within an error, 0 if unknown.
fn certain_sign(value: f64, error: f64) -> i32 {
    (value > error) as i32 - (value < -error) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { types: true, ties: Ties::All, dx: 1.0, dy: 1.0 };

    #[test]
    fn products_that_round_alike_are_told_apart() {
        let (x, y) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
        assert_eq!(sign_det(x, 1.0, 1.0, y), -1);
        assert_eq!(sign_det(1.0, x, y, 1.0), 1);
        assert_eq!(sign_det(x, y, y * 4.0, x * 4.0), 1);
        assert_eq!(sign_det(5e-324, 5e-324, 1e-323, 1e-323), 0);
        assert_eq!(sign_det(5e-324, 1e-323, 5e-324, 5e-324), -1);
        assert_eq!(sign_det(5e-324, 5e-324, -5e-324, 5e-324), 1);
        assert_eq!(sign_det(1e308, 1.1e308, 1e308, 1e308), -1);
        assert_eq!(sign_det(5e-324, 2e-308, 5e-324, 1e308), 1);
        assert_eq!(sign_det(0.0, 0.0, 5e-324, 5e-324), 0);
        assert_eq!(sign_det(1e-45f32, 1e-45, 1e-45, 3e-45), 1);
    }

    #[test]
    fn kinds() {
        let p = |u: [f32; 3], v: [f32; 3]| [[u[0], v[0]], [u[1], v[1]], [u[2], v[2]]];
        let of = |q| signature(&q, Triangle::Lower, &RULE);
        assert_eq!(of(p([1.0, 2.0, 3.0], [1.0, -2.0, 3.0])), OUT);
        assert_eq!(of(p([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])), OUT);
        assert_eq!(of(p([1.0, 2.0, 0.0], [1.0, -2.0, f32::NAN])), NONFINITE);
        assert_eq!(of(p([1.0, -1.0, 0.0], [0.0, 0.0, 1.0])) & KIND_MASK, TIE);
        assert_eq!(of(p([1.0, 0.0, 2.0], [1.0, 0.0, 2.0])) & KIND_MASK, TIE);
        assert_eq!(of(p([1.0, -2.0, 2.0], [1.0, -2.0, 2.0])) & KIND_MASK, TIE);
        let spiral = p([2.0, -3.0, 1.0], [-1.0, -2.0, 5.0]);
        assert_eq!(of(spiral) & KIND_MASK, IN);
        assert!(is_critical(of(spiral)) && same(of(spiral), of(spiral)));
        assert!(!same(UNCERTAIN, UNCERTAIN) && same(NONFINITE, NONFINITE) && is_critical(UNCERTAIN));
    }

    #[test]
    fn zeros_are_kept_point_for_point() {
        let p = |u: [f64; 3], v: [f64; 3]| [[u[0], v[0]], [u[1], v[1]], [u[2], v[2]]];
        let of = |q: &_| signature(q, Triangle::Lower, &Rule { ties: Ties::Zeros, ..RULE });
        let zero = |vertices: u32| ZEROS | vertices << KIND_BITS;
        // Components and determinants of the rest may change their signs, as long as it passes by.
        assert_eq!(of(&p([0.0, 1.0, -2.0], [-0.0, 1.0, 3.0])), zero(1));
        assert_eq!(of(&p([0.0, 1.0, 2.0], [0.0, -1.0, -2.0])), zero(1));
        assert_eq!(of(&p([1.0, 0.0, 2.0], [1.0, 0.0, 1.5])), zero(2));
        assert_eq!(of(&p([0.0, 0.0, 5e-324], [0.0, 0.0, 0.0])), zero(3));
        assert_eq!(of(&p([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])), zero(7));
        // The edge passes by at the least distance there is.
        assert_eq!(of(&p([0.0, 1.0, -1.0], [0.0, 5e-324, 5e-324])), zero(1));
        // It passes through the origin.
        let segment = p([0.0, 1.0, -2.0], [0.0, 5e-324, -1e-323]);
        assert_eq!(of(&segment), SEGMENT | 1 << KIND_BITS);
        assert!(!same(of(&segment), of(&segment)) && !is_critical(of(&segment)));
        let keeps = |q: fn(f64) -> f64| {
            let after = segment.map(|c: [f64; 2]| c.map(q));
            keeps_tie([&segment, &after], [&signs(&segment), &signs(&after)], Ties::Zeros)
        };
        assert!(keeps(|x| x) && keeps(|x| -3.0 * x) && !keeps(|x| if x == 1.0 { 2.0 } else { x }));
        // Without vertices that are zero the signs count.
        let edge = p([1.0, -1.0, 3.0], [1.0, -1.0, 1.0]);
        assert_eq!(of(&edge), signature(&edge, Triangle::Lower, &RULE));
        assert_eq!(of(&edge) & KIND_MASK, TIE);
    }

    #[test]
    fn an_undecidable_type_is_uncertain() {
        // A pure rotation: the trace is exactly zero.
        let p = [[0.25f64, -0.5], [0.25, 0.5], [-0.75, 0.5]];
        assert_eq!(signature(&p, Triangle::Lower, &RULE), UNCERTAIN);
        let plain = Rule { types: false, ..RULE };
        assert!(same(signature(&p, Triangle::Lower, &plain), signature(&p, Triangle::Lower, &plain)));
        // Overflow of the discriminant.
        let p = [[-0.25e200f64, -0.75e200], [0.75e200, 0.25e200], [-0.25e200, 1.25e200]];
        assert_eq!(signature(&p, Triangle::Lower, &RULE), UNCERTAIN);
    }
}
