//! The signature of a triangle, decided exactly (docs/algorithm.md, section 2): what must be the same before
//! and after compression.

use crate::grid::element::Real;
use crate::grid::mesh::Triangle;
use crate::request::{Config, Preserve, Ties};

/// Contents of signatures, and the spacing that types of critical points depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// Whether the type of a critical point is part of its triangle's signature (P3).
    pub types: bool,
    /// Promise for a triangle with the origin on the boundary of its image.
    pub ties: Ties,
    /// Grid spacing along x and y, finite and not 0. Only their signs and the ratio of their magnitudes
    /// matter.
    pub dx: f64,
    pub dy: f64,
}

impl Rule {
    /// That of a configuration.
    pub fn of(config: &Config) -> Rule {
        Rule { types: config.preserve == Preserve::Types, ties: config.ties, dx: config.dx, dy: config.dy }
    }

    /// Factors that make derivatives times |dx * dy| of differences along x and along y. All that depends on
    /// the spacing and its signs comes from these two and [`Rule::turn`].
    #[inline(always)]
    pub(super) fn factors(&self) -> [f64; 2] {
        [self.dy.copysign(self.dx), self.dx.copysign(self.dy)]
    }

    /// The sign of the Jacobian's determinant, given that of a triangle's determinants: the other one where
    /// one axis runs backwards.
    #[inline(always)]
    fn turn(&self, sign: i32) -> i32 {
        if self.dx.is_sign_negative() != self.dy.is_sign_negative() {
            -sign
        } else {
            sign
        }
    }

    /// Whether the type of a critical point is kept beside the sign of its Jacobian's determinant, given the
    /// sign of its triangle's determinants: not that of a saddle.
    #[inline(always)]
    pub(super) fn keeps_type(&self, sign: i32) -> bool {
        self.types && self.turn(sign) > 0
    }
}

/// The kind in the low [`KIND_BITS`] bits, above them the signs that it depends on, two bits each
/// (sign + 1).
pub type Signature = u32;

/// Bits of a kind.
pub const KIND_BITS: u32 = 3;
const KIND_MASK: u32 = (1 << KIND_BITS) - 1;

/// The origin is outside the closed image of the three vectors: no critical point.
pub const OUT: Signature = 0;
/// A component is NaN or infinite.
pub const NONFINITE: Signature = 1;
/// A critical point whose type could not be certified.
pub const UNCERTAIN: Signature = 2;
/// The kind of triangles with exactly one critical point, strictly inside. Above it: the sign of the
/// Jacobian's determinant and, for certified types with a positive one, the signs of trace and discriminant.
pub const IN: u32 = 3;
/// The kind of triangles with the origin on the boundary of the image. Above it: the three signs of
/// the determinants, then the six signs of the components.
pub const TIE: u32 = 4;
/// Under [`Ties::Zeros`], the kind of TIE triangles with vertices that are (0, 0), the rest of the image
/// being clear of the origin. Above it: a bit for each of these vertices.
pub const ZEROS: u32 = 5;
/// As [`ZEROS`] with one such vertex, the edge of the other two passing through the origin: the field is zero
/// from the vertex to a point of the edge. No signature says which point, so that the vertices must stay as
/// they are.
pub const SEGMENT: u32 = 6;
/// Under [`Ties::Sos`], the kind of TIE triangles. Above it: a bit for each vertex that is (0, 0), then
/// whether the rule finds a point.
pub const ANSWER: u32 = 7;
/// Kinds that never stay, [`UNCERTAIN`] and [`SEGMENT`], have the bits of the former under this mask.
pub const NEVER_STAYS_MASK: u32 = 3;

/// Relative rounding error of one f64 operation.
pub const ROUNDING: f64 = f64::EPSILON / 2.0;
/// Far above the absolute error of an f64 operation that underflows: 2^-1000.
pub const UNDERFLOW: f64 = f64::from_bits((1023 - 1000) << 52);

/// The exact sign of a * d - b * c for all finite values (docs/algorithm.md, section 2).
#[inline(always)]
pub fn sign_det<T: Real>(a: T, b: T, c: T, d: T) -> i32 {
    T::sign_det(a, b, c, d)
}

/// The signature of a triangle (docs/algorithm.md, section 2).
///
/// `p[k]` is (u, v) at corner k in the order of [`crate::grid::mesh::CELL`].
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

/// Whether a triangle keeps what must be kept: its signature is the same and certain. A tie without zero
/// vertices and without a point ([`ANSWER`], nothing above it) may also become OUT; no triangle becomes a
/// tie.
#[inline(always)]
pub fn stays(before: Signature, after: Signature) -> bool {
    (before == after || (before == ANSWER && after == OUT)) && before & NEVER_STAYS_MASK != UNCERTAIN
}

/// Whether the triangle holds a critical point.
#[inline(always)]
pub fn is_critical(signature: Signature) -> bool {
    signature == UNCERTAIN || signature & KIND_MASK == IN
}

/// The certified signs of trace and discriminant of an IN signature under a rule with types; `None` for a
/// saddle.
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
pub(crate) fn one_sided<T: Real>(p: &[[T; 2]; 3]) -> bool {
    let z = T::ZERO;
    ((p[0][0] > z) & (p[1][0] > z) & (p[2][0] > z))
        | ((p[0][0] < z) & (p[1][0] < z) & (p[2][0] < z))
        | ((p[0][1] > z) & (p[1][1] > z) & (p[2][1] > z))
        | ((p[0][1] < z) & (p[1][1] < z) & (p[2][1] < z))
}

/// Whether the vector is (0, 0): stored as exact zero, it never moves.
#[inline(always)]
pub(crate) fn pinned<T: Real>(p: &[T; 2]) -> bool {
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

/// The signature of an IN triangle whose determinants have the sign s.
fn inside<T: Real>(s: i32, p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> Signature {
    let code = IN | ((rule.turn(s) + 1) as u32) << KIND_BITS;
    if !rule.keeps_type(s) {
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
        Ties::Sos => by_answer(code),
    }
}

/// The signature of a TIE triangle by its zeros, given that by its signs: where it has no vertex that is
/// (0, 0), the same.
fn by_zeros(tie: Signature) -> Signature {
    let zero = zero_vertices(tie);
    if zero == 0 {
        return tie;
    }
    // Two zero vertices leave a vector, and a determinant that is not 0 an edge that passes by. With one zero
    // vertex, equal signs are those of the others.
    let [a, b, c] = component_signs(tie);
    let clear = zero.count_ones() != 1 || determinant_signs(tie) != ALL_ZERO || a == b || b == c || c == a;
    (if clear { ZEROS } else { SEGMENT }) | zero << KIND_BITS
}

/// The signature of a TIE triangle by the answer of the rule, given that by its signs.
///
/// The rule moves the origin to (e^2, e), with e > 0 smaller than any number. It is to the left of the edge
/// from vertex i to vertex j if the first of (m, u_j - u_i, v_i - v_j) that is not 0 is positive. Where m is
/// 0 and another determinant is not, one of the two vectors is (0, 0), or they have opposite directions:
/// their signs give the signs of the differences. If all determinants are 0, the triangle has no inside.
fn by_answer(tie: Signature) -> Signature {
    let (determinants, components) = (determinant_signs(tie), component_signs(tie));
    // Plus 1, as in the signature: signs that are compared, not added.
    let [u, v] = [0, 2].map(|shift| components.map(|signs| signs >> shift & 3));
    let side = |k: usize| {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        match determinants >> (2 * k) & 3 {
            1 if u[i] == u[j] => v[j] < v[i],
            1 => u[i] < u[j],
            sign => sign == 2,
        }
    };
    let has_point = determinants != ALL_ZERO && side(0) == side(1) && side(1) == side(2);
    ANSWER | zero_vertices(tie) << KIND_BITS | (has_point as u32) << (KIND_BITS + 3)
}

/// Three determinants that are 0.
const ALL_ZERO: u32 = 0b01_01_01;

/// The signs of the determinants in a TIE signature by signs.
fn determinant_signs(tie: Signature) -> u32 {
    tie >> KIND_BITS & 63
}

/// The signs of the components of each vertex.
fn component_signs(tie: Signature) -> [u32; 3] {
    std::array::from_fn(|k| tie >> (KIND_BITS + 6 + 4 * k as u32) & 15)
}

/// A bit for each vertex that is (0, 0).
fn zero_vertices(tie: Signature) -> u32 {
    component_signs(tie).iter().rev().fold(0, |zero, &signs| zero << 1 | (signs == 0b0101) as u32)
}

/// Whether a TIE triangle keeps what it must, given the vectors and the signs of its determinants before and
/// after.
pub(crate) fn keeps_tie<T: Real>(p: [&[[T; 2]; 3]; 2], s: [&[i32; 3]; 2], ties: Ties) -> bool {
    let before = tie(s[0], p[0], ties);
    let after = match kind(p[1], s[1]) {
        TIE => tie(s[1], p[1], ties),
        other => other,
    };
    if before & KIND_MASK != SEGMENT || before != after {
        return stays(before, after);
    }
    // The zero of the edge stays where it is if b = -t c before and after, with one t.
    let k = (before >> KIND_BITS).trailing_zeros() as usize;
    let [[b, c], [b_after, c_after]] = p.map(|p| [p[(k + 1) % 3], p[(k + 2) % 3]]);
    let parallel = |i: usize, j: usize| sign_det(b[i], c[i], b_after[j], c_after[j]) == 0;
    parallel(0, 0) && parallel(0, 1) && parallel(1, 0) && parallel(1, 1)
}

/// The Jacobian of a triangle's linear field times |dx * dy|, which changes no sign: `a` = u_x,
/// `b` = u_y, `c` = v_x, `d` = v_y. Each entry is a difference and a product: relative error
/// 2 * ROUNDING, absolute error far below UNDERFLOW.
pub(super) struct Jacobian {
    pub a: f64,
    pub b: f64,
    pub c: f64,
    pub d: f64,
}

pub(super) fn jacobian<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> Jacobian {
    let ([x0, x1], [y0, y1]) = (triangle.edge_along(0), triangle.edge_along(1));
    let [along_x, along_y] = rule.factors();
    Jacobian {
        a: (p[x1][0].to_f64() - p[x0][0].to_f64()) * along_x,
        b: (p[y1][0].to_f64() - p[y0][0].to_f64()) * along_y,
        c: (p[x1][1].to_f64() - p[x0][1].to_f64()) * along_x,
        d: (p[y1][1].to_f64() - p[y0][1].to_f64()) * along_y,
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
        assert!(is_critical(of(spiral)) && stays(of(spiral), of(spiral)));
        assert!(!stays(UNCERTAIN, UNCERTAIN) && stays(NONFINITE, NONFINITE) && is_critical(UNCERTAIN));
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
        assert!(!stays(of(&segment), of(&segment)) && !is_critical(of(&segment)));
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
    fn the_rule_looks_above_the_origin() {
        let p = |u: [f64; 3], v: [f64; 3]| [[u[0], v[0]], [u[1], v[1]], [u[2], v[2]]];
        let of = |q: &_| signature(q, Triangle::Lower, &Rule { ties: Ties::Sos, ..RULE });
        let answer = |vertices: u32, has_point: u32| ANSWER | vertices << KIND_BITS | has_point << 6;
        // The edge passes above the vertex that is zero, of either orientation; below; beside.
        assert_eq!(of(&p([0.0, 1.0, -2.0], [-0.0, 1.0, 3.0])), answer(1, 1));
        assert_eq!(of(&p([1.0, 0.0, -2.0], [1.0, -0.0, 3.0])), answer(2, 1));
        assert_eq!(of(&p([1.0, 0.0, -2.0], [-1.0, 0.0, -3.0])), answer(2, 0));
        assert_eq!(of(&p([1.0, 2.0, 0.0], [1.0, -2.0, 0.0])), answer(4, 0));
        // An end on the ray: the rule looks to the right of it.
        assert_eq!(of(&p([0.0, 0.0, 1.0], [0.0, 1.0, 0.0])), answer(1, 1));
        assert_eq!(of(&p([0.0, 0.0, -1.0], [0.0, 1.0, 0.0])), answer(1, 0));
        // Nothing lies inside a line.
        assert_eq!(of(&p([0.0, 1.0, -2.0], [0.0, 1.0, -2.0])), answer(1, 0));
        assert_eq!(of(&p([0.0, 0.0, -2.0], [0.0, 0.0, 1.0])), answer(3, 0));
        // The zero lies on an edge, with the third vertex above or below it. Only the latter may go.
        let (above, below) = (p([1.0, -1.0, 0.0], [0.0, 0.0, 1.0]), p([1.0, -1.0, 0.0], [0.0, 0.0, -1.0]));
        assert_eq!((of(&above), of(&below)), (answer(0, 1), answer(0, 0)));
        let moved = |q: &[[f64; 2]; 3], by: f64| q.map(|[u, v]| [u, v + by]);
        assert_eq!((of(&moved(&above, 0.5)), of(&moved(&below, -0.5))), (OUT, OUT));
        assert!(stays(of(&below), OUT) && !stays(of(&above), OUT) && !stays(OUT, of(&below)));
        assert!(!stays(of(&below), of(&above)) && !stays(of(&below), of(&moved(&below, 0.5))));
    }

    #[test]
    fn an_undecidable_type_is_uncertain() {
        // A pure rotation: the trace is exactly zero.
        let p = [[0.25f64, -0.5], [0.25, 0.5], [-0.75, 0.5]];
        assert_eq!(signature(&p, Triangle::Lower, &RULE), UNCERTAIN);
        let plain = Rule { types: false, ..RULE };
        assert!(stays(signature(&p, Triangle::Lower, &plain), signature(&p, Triangle::Lower, &plain)));
        // Overflow of the discriminant.
        let p = [[-0.25e200f64, -0.75e200], [0.75e200, 0.25e200], [-0.25e200, 1.25e200]];
        assert_eq!(signature(&p, Triangle::Lower, &RULE), UNCERTAIN);
    }
}
