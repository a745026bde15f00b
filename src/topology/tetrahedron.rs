//! The signature of a tetrahedron, decided exactly (docs/algorithm.md, section 14): what must be the same before
//! and after compression.

use crate::grid::element::Real;
use crate::grid::tetrahedra::Vectors;
use crate::request::{Config, Preserve, Ties};
use crate::topology::exact_integer::last_exponent;
use crate::topology::exact_type::sign_of_products;
use crate::topology::signature::ROUNDING;
use crate::topology::tetrahedron_type::certified_type;

/// Contents of signatures, and the spacing that types of critical points depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeRule {
    /// Whether the type of a critical point is part of the signature.
    pub types: bool,
    /// Promise for a tetrahedron with the origin on the boundary of its image: [`Ties::All`] or
    /// [`Ties::Zeros`].
    pub ties: Ties,
    /// Grid spacing along each axis, finite and not 0. Only the signs and the ratios of magnitudes matter.
    pub spacing: [f64; 3],
}

impl VolumeRule {
    /// That of a configuration.
    pub fn of(config: &Config) -> Self {
        VolumeRule {
            types: config.preserve == Preserve::Types,
            ties: config.ties,
            spacing: [config.dx, config.dy, config.dz],
        }
    }
}

/// The signature of a tetrahedron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signature {
    /// The origin is outside the closed image: no critical point.
    Out,
    /// A component is NaN or infinite.
    NonFinite,
    /// A critical point whose type could not be certified.
    Uncertain,
    /// Exactly one critical point, strictly inside.
    In {
        /// The sign of the determinants.
        orientation: i32,
        /// Where types count: the eigenvalues with a negative real part, and 4 more if two are complex.
        kind: u8,
    },
    /// Under [`Ties::Zeros`]: the field is zero at these corners, a bit for each, and nowhere else.
    Zeros(u8),
    /// The origin is on the boundary of the image: the signs of determinants, components and minors.
    Tie(u128),
}

impl Signature {
    /// Whether the tetrahedron holds a critical point.
    pub fn is_critical(self) -> bool {
        matches!(self, Signature::In { .. } | Signature::Uncertain)
    }

    /// Whether the origin is on the boundary of the image.
    pub fn is_tie(self) -> bool {
        matches!(self, Signature::Zeros(_) | Signature::Tie(_))
    }
}

/// Whether a tetrahedron keeps what must be kept: its signature is the same and certain.
#[inline(always)]
pub fn stays(before: Signature, after: Signature) -> bool {
    before == after && before != Signature::Uncertain
}

/// Whether determinants of these values may be formed in f64: what underflows in products with larger ones would
/// weigh too much.
#[inline(always)]
pub(super) fn are_moderate<T: Real>(rows: &[[f64; 3]]) -> bool {
    T::BYTES == 4 || rows.iter().flatten().all(|x| x.abs() < LARGE)
}

const LARGE: f64 = f64::from_bits((1023 + 200) << 52);
/// More than what underflows in a determinant of vectors below [`LARGE`]: 2^-800.
const UNDERFLOW: f64 = f64::from_bits((1023 - 800) << 52);

/// A determinant in f64, and a bound of its error where the values are moderate.
#[inline(always)]
pub(super) fn determinant([a, b, c]: &[[f64; 3]; 3]) -> (f64, f64) {
    let minor = |i: usize, j: usize| (b[i] * c[j], b[j] * c[i]);
    let (x, y, z) = (minor(1, 2), minor(2, 0), minor(0, 1));
    let value = a[0] * (x.0 - x.1) + a[1] * (y.0 - y.1) + a[2] * (z.0 - z.1);
    let size = a[0].abs() * (x.0.abs() + x.1.abs())
        + a[1].abs() * (y.0.abs() + y.1.abs())
        + a[2].abs() * (z.0.abs() + z.1.abs());
    // Five roundings of each product; the factor 8 covers those of the bound as well.
    (value, 8.0 * ROUNDING * size + UNDERFLOW)
}

/// The exact sign of the determinant of three finite vectors.
#[inline(always)]
pub fn sign_det3<T: Real>(rows: [&[T; 3]; 3]) -> i32 {
    let rows = rows.map(|row| row.map(T::to_f64));
    let (value, error) = determinant(&rows);
    if are_moderate::<T>(&rows) && value.abs() > error {
        return (value > 0.0) as i32 - (value < 0.0) as i32;
    }
    exact_sign(&rows)
}

#[inline(never)]
fn exact_sign(rows: &[[f64; 3]; 3]) -> i32 {
    let [a, b, c] = rows;
    let is_zero = |v: &[f64; 3]| v.iter().all(|&x| x == 0.0);
    if is_zero(a) || is_zero(b) || is_zero(c) {
        return 0;
    }
    if let Some(sign) = sign_in_small_integers(rows) {
        return sign;
    }
    let mut terms = [([0.0; 3], false); 6];
    for k in 0..3 {
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        terms[2 * k] = ([a[k], b[i], c[j]], false);
        terms[2 * k + 1] = ([a[k], b[j], c[i]], true);
    }
    sign_of_products(&terms)
}

/// The sign of a determinant in integer arithmetic. None unless all values are integers below 2^40 times one power of
/// two. On the host alone: the long sums would take a quarter of the time of fields of integers.
fn sign_in_small_integers(rows: &[[f64; 3]; 3]) -> Option<i32> {
    let unit = rows.iter().flatten().filter_map(|&x| last_exponent(x)).min().unwrap_or(0);
    // The inverse of the unit is a normal number.
    if !(-1022..=1022).contains(&unit) {
        return None;
    }
    let inverse = f64::from_bits(((1023 - unit) as u64) << 52);
    let mut n = [[0i128; 3]; 3];
    for (integer, &x) in n.iter_mut().flatten().zip(rows.iter().flatten()) {
        let scaled = x * inverse;
        if scaled.abs() >= (1u64 << 40) as f64 {
            return None;
        }
        *integer = scaled as i64 as i128;
    }
    // Three products below 2^121.
    let [a, b, c] = n;
    let minor = |i: usize, j: usize| b[i] * c[j] - b[j] * c[i];
    Some((a[0] * minor(1, 2) + a[1] * minor(2, 0) + a[2] * minor(0, 1)).signum() as i32)
}

/// The signature of a tetrahedron whose steps are along these axes, one after another.
#[inline]
pub fn signature<T: Real>(p: &Vectors<T>, steps: [usize; 3], rule: &VolumeRule) -> Signature {
    if !p.iter().flatten().all(|x| x.is_finite()) {
        return Signature::NonFinite;
    }
    if one_sided(p) {
        return Signature::Out;
    }
    undecided(p, steps, rule)
}

/// Whether a component has one strict sign at all corners, which is enough to be OUT.
#[inline(always)]
pub fn one_sided<T: Real>(p: &Vectors<T>) -> bool {
    let all = |test: fn(T) -> bool, k: usize| p.iter().all(|v| test(v[k]));
    (0..3).any(|k| all(|x| x > T::ZERO, k) || all(|x| x < T::ZERO, k))
}

/// The signs of (-1)^k det(p_j, j != k).
pub(super) fn signs<T: Real>(p: &Vectors<T>) -> [i32; 4] {
    [
        sign_det3([&p[1], &p[2], &p[3]]),
        -sign_det3([&p[0], &p[2], &p[3]]),
        sign_det3([&p[0], &p[1], &p[3]]),
        -sign_det3([&p[0], &p[1], &p[2]]),
    ]
}

/// The signature where the components alone do not decide.
fn undecided<T: Real>(p: &Vectors<T>, steps: [usize; 3], rule: &VolumeRule) -> Signature {
    let s = signs(p);
    let (low, high) = s.iter().fold((1, -1), |(low, high), &s| (low.min(s), high.max(s)));
    if low < 0 && high > 0 {
        return Signature::Out;
    }
    if low == high && low != 0 {
        if !rule.types {
            return Signature::In { orientation: low, kind: 0 };
        }
        return match certified_type(p, steps, rule.spacing, 0.0) {
            Some(kind) => Signature::In { orientation: low, kind },
            None => Signature::Uncertain,
        };
    }
    let zero = zero_corners(p);
    let others = others(p, zero);
    // Where three others are independent, they have a determinant.
    let clear = if zero == 0 { low == 0 && high == 0 } else { true };
    let is_clear = clear && ((zero != 0 && (low != 0 || high != 0)) || is_clear_of_origin(&others));
    match (zero, is_clear) {
        (0, true) => Signature::Out,
        (zero, true) if rule.ties == Ties::Zeros => Signature::Zeros(zero),
        _ => Signature::Tie(all_signs(p, &s)),
    }
}

/// The corners whose vector is zero, a bit for each.
pub(super) fn zero_corners<T: Real>(p: &Vectors<T>) -> u8 {
    let is_zero = |v: &[T; 3]| v.iter().all(|&x| x == T::ZERO);
    p.iter().rev().fold(0, |zero, v| zero << 1 | is_zero(v) as u8)
}

/// The vectors that are not zero; the first of them in the places behind the last.
pub(super) fn others<T: Real>(p: &Vectors<T>, zero: u8) -> Others<T> {
    let mut others = Others { vectors: [[T::ZERO; 3]; 4], count: 0 };
    for (_, &v) in p.iter().enumerate().filter(|(k, _)| zero >> k & 1 == 0) {
        others.vectors[others.count] = v;
        others.count += 1;
    }
    others
}

/// Up to four vectors that are not zero.
pub(super) struct Others<T> {
    vectors: [[T; 3]; 4],
    count: usize,
}

impl<T: Real> Others<T> {
    pub(super) fn all(&self) -> &[[T; 3]] {
        &self.vectors[..self.count]
    }
}

/// Whether the origin is outside the closed hull of vectors that lie in a plane with it.
pub(super) fn is_clear_of_origin<T: Real>(others: &Others<T>) -> bool {
    let vectors = others.all();
    let minor = |[l, m]: [usize; 2], p: &[T; 3], q: &[T; 3]| T::sign_det(p[l], p[m], q[l], q[m]);
    let spans = |axes: [usize; 2]| {
        vectors.iter().enumerate().any(|(i, p)| vectors[..i].iter().any(|q| minor(axes, p, q) != 0))
    };
    let same_direction = |p: &[T; 3], q: &[T; 3]| p.map(T::sign) == q.map(T::sign);
    match [[0, 1], [1, 2], [2, 0]].into_iter().find(|&axes| spans(axes)) {
        // Seen along the other axis, the vectors lie in an open half plane: all others are to the left of one.
        Some(axes) => vectors.iter().any(|p| {
            vectors.iter().all(|q| match minor(axes, p, q) {
                0 => axes.iter().all(|&k| p[k].sign() == q[k].sign()),
                sign => sign > 0,
            })
        }),
        None => vectors.iter().all(|q| same_direction(&vectors[0], q)),
    }
}

/// The signs of the determinants, of the components, and of all minors of two vectors.
fn all_signs<T: Real>(p: &Vectors<T>, determinants: &[i32; 4]) -> u128 {
    let mut code = 0u128;
    let mut put = |sign: i32| code = code << 2 | (sign + 1) as u128;
    determinants.iter().for_each(|&s| put(s));
    p.iter().flatten().for_each(|x| put(x.sign()));
    for i in 0..4 {
        for j in i + 1..4 {
            for k in 0..3 {
                let l = (k + 1) % 3;
                put(T::sign_det(p[i][k], p[i][l], p[j][k], p[j][l]));
            }
        }
    }
    code
}
