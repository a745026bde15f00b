//! Signatures are exact, and a triangle moved by less than its bound keeps its signature: both
//! against rational arithmetic, on triangles chosen to be hard.

use crate::grid::element::Real;
use crate::grid::mesh::Triangle;
use crate::random::Random;
use crate::request::Ties;
use crate::topology::bound::{axis_distance, triangle_bound};
use crate::topology::signature::{
    is_critical, keeps_tie, kind, sign_det, signature, signs, stays, Rule, Signature, ANSWER, IN, NONFINITE,
    OUT, SEGMENT, TIE, UNCERTAIN, ZEROS,
};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use proptest::prelude::*;

type P<T> = [[T; 2]; 3];

fn exact<T: Real>(x: T) -> BigRational {
    BigRational::from_float(x.to_f64()).expect("finite")
}

fn sign(x: &BigRational) -> i32 {
    x.is_positive() as i32 - x.is_negative() as i32
}

/// The definition of a signature word by word, types always certain; and whether the exact trace
/// and discriminant are well away from zero, so that the certified evaluation must decide them.
fn reference<T: Real>(p: &P<T>, triangle: Triangle, rule: &Rule) -> (Signature, bool) {
    if p.iter().flatten().any(|x| !x.is_finite()) {
        return (NONFINITE, true);
    }
    let q: Vec<[BigRational; 2]> = p.iter().map(|c| [exact(c[0]), exact(c[1])]).collect();
    let s: Vec<i32> = (0..3)
        .map(|k| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            sign(&(&q[i][0] * &q[j][1] - &q[j][0] * &q[i][1]))
        })
        .collect();
    let dot = |i: usize, j: usize| &q[i][0] * &q[j][0] + &q[i][1] * &q[j][1];
    if s.contains(&1) && s.contains(&-1) {
        return (OUT, true);
    }
    if s == [0, 0, 0] && [(0, 1), (1, 2), (2, 0)].iter().all(|&(i, j)| dot(i, j).is_positive()) {
        return (OUT, true);
    }
    if s.contains(&0) {
        return (tied(&q, &s, triangle, rule), true);
    }
    let (dx, dy) = (exact(rule.dx), exact(rule.dy));
    // The sign of the Jacobian's determinant.
    let turned = s[0] * sign(&(&dx * &dy));
    let code = IN | ((turned + 1) as u32) << 3;
    if turned < 0 || !rule.types {
        return (code, true);
    }
    let at = |i: usize, j: usize, c: usize, h: &BigRational| (&q[i][c] - &q[j][c]) / h;
    let (ux, uy, vx, vy) = match triangle {
        Triangle::Lower => (at(1, 0, 0, &dx), at(2, 1, 0, &dy), at(1, 0, 1, &dx), at(2, 1, 1, &dy)),
        Triangle::Upper => (at(1, 2, 0, &dx), at(2, 0, 0, &dy), at(1, 2, 1, &dx), at(2, 0, 1, &dy)),
    };
    let trace = &ux + &vy;
    let det = &ux * &vy - &uy * &vx;
    assert_eq!(sign(&det), 1);
    let four = BigRational::from_integer(4.into());
    let discriminant = &trace * &trace - &four * &det;
    let margin = BigRational::from_float(1e-12).unwrap();
    let size = ux.abs() + vy.abs();
    let clear = trace.abs() > &margin * &size
        && discriminant.abs() > &margin * (&size * &size + &four * (&uy * &vx).abs());
    let code =
        code | ((sign(&trace) + 1) as u32) << 5 | (if discriminant.is_negative() { 0 } else { 2 }) << 7;
    (code, clear)
}

/// The signature of a triangle with a zero on an edge or at a vertex; `s` has the signs of its determinants.
fn tied(q: &[[BigRational; 2]], s: &[i32], triangle: Triangle, rule: &Rule) -> Signature {
    if let (Ties::Zeros, Some(zeros)) = (rule.ties, zeros_of(q)) {
        let bits = (0..3).fold(0, |bits, k| bits | (zeros.vertices[k] as u32) << k);
        return (if zeros.on_edge.is_some() { SEGMENT } else { ZEROS }) | bits << 3;
    }
    if rule.ties == Ties::Sos {
        let zeros = zeros_of(q).map_or([false; 3], |zeros| zeros.vertices);
        let bits = (0..3).fold(0, |bits, k| bits | (zeros[k] as u32) << k);
        return ANSWER | bits << 3 | (simulated(q, triangle) as u32) << 6;
    }
    let mut code = TIE;
    for k in 0..3 {
        code |= ((s[k] + 1) as u32) << (3 + 2 * k);
        code |= ((sign(&q[k][0]) + 1) as u32) << (9 + 4 * k);
        code |= ((sign(&q[k][1]) + 1) as u32) << (11 + 4 * k);
    }
    code
}

/// Whether the simulation of simplicity finds the origin in a triangle, as FTK defines it: the triangle and
/// the three triangles with the origin in place of a vertex have one orientation. Points are perturbed in the
/// order of their numbers, the origin first, then the vertices by rows of the grid.
fn simulated(q: &[[BigRational; 2]], triangle: Triangle) -> bool {
    let numbers = match triangle {
        Triangle::Lower => [1, 2, 3],
        Triangle::Upper => [1, 3, 2],
    };
    // Integers: all denominators are powers of two.
    let scale = q.iter().flatten().map(BigRational::denom).max().expect("six components");
    let scaled = |k: usize| q[k].each_ref().map(|x| x.numer() * (scale / x.denom()));
    let vertices: [Point; 3] = std::array::from_fn(|k| Point { number: numbers[k], at: scaled(k) });
    let origin = Point { number: 0, at: [BigInt::zero(), BigInt::zero()] };
    let whole = orientation(&vertices);
    (0..3).all(|k| {
        let mut points = vertices.clone();
        points[k] = origin.clone();
        orientation(&points) == whole
    })
}

#[derive(Clone)]
struct Point {
    number: u32,
    at: [BigInt; 2],
}

/// The orientation of three points, of which point i lies at (u + e^(2 * 4^i), v + e^(4^i)): the sign of the
/// coefficient of the lowest power of e in their determinant.
fn orientation(points: &[Point; 3]) -> i32 {
    let mut powers = std::collections::BTreeMap::<u32, BigInt>::new();
    for k in 0..3 {
        let [a, b] = [&points[(k + 1) % 3], &points[(k + 2) % 3]];
        for (sign, a, b) in [(1, a, b), (-1, b, a)] {
            let terms = |p: &Point, c: usize| {
                let exponent = 4u32.pow(p.number) * (2 - c as u32);
                [(0, p.at[c].clone()), (exponent, BigInt::from(1))]
            };
            for (ea, x) in terms(a, 0) {
                for (eb, y) in terms(b, 1) {
                    *powers.entry(ea + eb).or_default() += &x * &y * sign;
                }
            }
        }
    }
    let lowest = powers.values().find(|x| !x.is_zero()).expect("perturbed points lie on no line");
    lowest.is_positive() as i32 - lowest.is_negative() as i32
}

/// The zeros of a triangle with vertices that are (0, 0).
#[derive(PartialEq)]
struct Zeros {
    vertices: [bool; 3],
    /// Where the edge of the other two vertices passes through the origin, as a part of its length.
    on_edge: Option<BigRational>,
}

fn zeros_of(q: &[[BigRational; 2]]) -> Option<Zeros> {
    let vertices: [bool; 3] = std::array::from_fn(|k| q[k].iter().all(Zero::is_zero));
    let rest: Vec<_> = (0..3).filter(|&k| !vertices[k]).map(|k| &q[k]).collect();
    if rest.len() == 3 {
        return None;
    }
    let mut on_edge = None;
    if let [a, b] = rest[..] {
        let size = |c: &[BigRational; 2]| c[0].abs() + c[1].abs();
        let det = &a[0] * &b[1] - &b[0] * &a[1];
        let dot = &a[0] * &b[0] + &a[1] * &b[1];
        if det.is_zero() && dot.is_negative() {
            on_edge = Some(size(a) / (size(a) + size(b)));
        }
    }
    Some(Zeros { vertices, on_edge })
}

impl Random {
    fn finite<T: Real>(&mut self) -> T {
        loop {
            let x = T::from_bits64(self.next());
            if x.is_finite() {
                return x;
            }
        }
    }
    /// One triangle of one of the kinds that go wrong.
    fn triangle<T: Real>(&mut self) -> P<T> {
        let mut p = [[T::ZERO; 2]; 3];
        let kind = self.below(10);
        let scale = self.one_of(&[1.0, 1e-3, 1e3, 1e30]);
        for c in p.iter_mut().flatten() {
            *c = match kind {
                0..=2 => T::from_f64(self.signed() * scale),
                3 => T::from_f64(self.below(5) as f64 - 2.0),
                4 => self.finite(),
                5 => T::from_bits64(self.below(6)) * T::from_f64(self.below(3) as f64 - 1.0),
                6 => T::MAX * T::from_f64(self.signed()),
                7 if self.below(2) == 0 => T::ZERO,
                8 => T::from_f64((self.below(3) as f64 - 1.0) * scale),
                _ => T::from_f64(self.signed()),
            };
        }
        if kind == 8 || self.below(4) == 0 {
            // Nearly a tie: one corner on the line through another one and the origin, give or take
            // an ulp.
            let (i, j) = (self.below(3) as usize, self.below(3) as usize);
            let factor = T::from_f64(if self.below(2) == 0 { self.signed() } else { -1.0 });
            p[j] = [p[i][0] * factor, p[i][1] * factor];
            if self.below(2) == 0 {
                let c = self.below(2) as usize;
                if p[j][c] > -T::MAX {
                    p[j][c] = p[j][c].next_down();
                }
            }
        }
        if self.below(4) == 0 {
            // Near a critical point: the centre of gravity close to zero.
            let [first, second, third] = &mut p;
            for ((a, b), c) in first.iter().zip(second).zip(third) {
                let last = -(*a + *b) + T::from_f64(self.signed() * 0.1) * *a;
                if last.is_finite() {
                    *c = last;
                }
            }
        }
        if self.below(4) == 0 {
            self.set_zeros(&mut p);
        }
        p
    }
    /// One or two vertices that are (0, 0), and at times the edge of the others close to the origin.
    fn set_zeros<T: Real>(&mut self, p: &mut P<T>) {
        let k = self.below(3) as usize;
        let (i, j) = ((k + 1) % 3, (k + 2) % 3);
        p[k] = [T::ZERO, -T::ZERO];
        match self.below(4) {
            0 => p[i] = [T::ZERO, T::ZERO],
            1 => {
                let factor = T::from_f64(self.one_of(&[-1.0, -2.0, -0.25, 1.0]));
                p[j] = p[i].map(|x| x * factor).map(|x| if x.is_finite() { x } else { T::HALF });
                if self.below(2) == 0 && p[j][0] > -T::MAX {
                    p[j][0] = p[j][0].next_down();
                }
            }
            _ => {}
        }
    }
    fn rule(&mut self) -> (Triangle, Rule) {
        let spacing = [1.0, 0.5, 0.1, 3.0e-5, -1.0, -0.7];
        let rule = Rule {
            types: self.below(4) != 0,
            ties: self.one_of(&Ties::NAMES).1,
            dx: self.one_of(&spacing),
            dy: self.one_of(&spacing),
        };
        (self.one_of(&[Triangle::Lower, Triangle::Upper]), rule)
    }
}

fn check_signature<T: Real>(seed: u64) {
    let mut random = Random(seed);
    let mut p = random.triangle::<T>();
    if random.below(16) == 0 {
        p[random.below(3) as usize][random.below(2) as usize] = T::from_f64(f64::NAN);
    }
    let (triangle, rule) = random.rule();
    let (expected, clear) = reference(&p, triangle, &rule);
    let found = signature(&p, triangle, &rule);
    // Values whose squares leave the range of f64 may be uncertain for that reason alone.
    let moderate = p.iter().flatten().all(|x| {
        let a = x.to_f64().abs();
        a == 0.0 || (1e-90..1e90).contains(&a)
    });
    if found == UNCERTAIN {
        assert!(rule.types && expected & 7 == IN && !(clear && moderate), "{p:?} {rule:?}");
    } else {
        assert_eq!(found, expected, "{p:?} {triangle:?} {rule:?}");
    }
    assert_eq!(is_critical(found), expected & 7 == IN);
    if rule.ties == Ties::Sos && expected != NONFINITE {
        // The rule finds the points inside, and none outside.
        let has_point = expected & 7 == IN || (expected & 7 == ANSWER && expected >> 6 == 1);
        let q = p.map(|c| c.map(exact));
        assert_eq!(simulated(&q, triangle), has_point, "{p:?} {triangle:?}");
    }
}

/// A TIE triangle and one that may be like it.
fn check_keeps_tie<T: Real>(seed: u64) {
    let mut random = Random(seed);
    let (mut before, mut after) = (random.triangle::<T>(), random.triangle::<T>());
    if random.below(2) == 0 {
        random.set_zeros(&mut before);
    }
    if random.below(4) != 0 {
        // The field times one factor, with a component perhaps off by an ulp.
        let factor = random.one_of(&[1.0, -1.0, 2.0, 0.375]);
        after = before.map(|c| c.map(|x| x * T::from_f64(factor)));
        let c = &mut after[random.below(3) as usize];
        match random.below(4) {
            0 => c[0] = c[0] * T::HALF,
            1 => *c = c.map(|x| x * T::HALF),
            2 => *c = [c[1], -c[0]],
            _ => {}
        }
    }
    let finite = |p: &P<T>| p.iter().flatten().all(|x| x.is_finite());
    let (s0, s1) = (signs(&before), signs(&after));
    if !finite(&before) || !finite(&after) || kind(&before, &s0) != TIE {
        return;
    }
    for ties in Ties::NAMES.map(|(_, ties)| ties) {
        let (triangle, rule) = (Triangle::Lower, Rule { ties, ..random.rule().1 });
        let [zeros0, zeros1] =
            [&before, &after].map(|p| zeros_of(&p.map(|c| c.map(exact))).filter(|_| ties == Ties::Zeros));
        let expected = match (zeros0, zeros1) {
            (Some(zeros0), zeros1) => zeros1 == Some(zeros0),
            _ => {
                let [before, after] = [&before, &after].map(|p| reference(p, triangle, &rule).0);
                // A point on the border may go, where the rule finds none.
                before == after || (ties == Ties::Sos && before == ANSWER && after == OUT)
            }
        };
        assert_eq!(keeps_tie([&before, &after], [&s0, &s1], ties), expected, "{before:?} {after:?} {ties:?}");
        // A reconstruction that the encoder accepts is never a violation.
        let [s0, s1] = [&before, &after].map(|p| signature(p, triangle, &rule));
        assert!(expected || !stays(s0, s1), "{before:?} {after:?} {ties:?}");
    }
}

fn check_sign<T: Real>(seed: u64) {
    let mut random = Random(seed);
    let p = random.triangle::<T>();
    for i in 0..3 {
        for j in 0..3 {
            let (a, b, c, d) = (p[i][0], p[i][1], p[j][0], p[j][1]);
            let m = exact(a) * exact(d) - exact(b) * exact(c);
            assert_eq!(sign_det(a, b, c, d), sign(&m), "{a:?} {b:?} {c:?} {d:?}");
        }
    }
}

/// The value farthest from x in a direction whose distance is below d.
fn farthest<T: Real>(x: T, d: T, up: bool) -> T {
    let mut y = if up { x + d } else { x - d };
    if !y.is_finite() {
        y = if up { T::MAX } else { -T::MAX };
    }
    while (exact(y) - exact(x)).abs() >= exact(d) {
        y = if up { y.next_down() } else { -(-y).next_down() };
    }
    y
}

fn check_bound<T: Real>(seed: u64) {
    let mut random = Random(seed);
    let p = random.triangle::<T>();
    let (triangle, rule) = random.rule();
    let eps = random.one_of(&[1e-3, 1e-1, 1.0, 1e3, 1e-6, 1e35]);
    let before = signature(&p, triangle, &rule);
    let bound = triangle_bound(&p, triangle, &rule, eps);
    let zero = |c: &[T; 2]| c[0] == T::ZERO && c[1] == T::ZERO;
    if p.iter().all(zero) {
        assert_eq!(bound, T::MAX);
        return;
    }
    assert!(bound >= T::ZERO && bound.is_finite(), "{bound:?}");
    if !stays(before, before) {
        assert_eq!(bound, T::ZERO);
    }
    let axis = axis_distance(&p);
    if axis > T::ZERO {
        assert!(before == OUT && bound >= axis);
    }
    if bound == T::ZERO {
        return;
    }
    let extremes: Vec<[T; 2]> =
        p.iter().flatten().map(|&x| [farthest(x, bound, false), farthest(x, bound, true)]).collect();
    let check = |choose: &mut dyn FnMut(usize) -> T| {
        let mut q = p;
        for (k, corner) in q.iter_mut().enumerate() {
            if !zero(corner) {
                *corner = [choose(2 * k), choose(2 * k + 1)];
            }
        }
        let after = signature(&q, triangle, &rule);
        assert!(stays(before, after), "{p:?} -> {q:?}: {before:#x} -> {after:#x}, {bound:?} {rule:?}");
    };
    for pattern in 0..64 {
        check(&mut |i| extremes[i][pattern >> i & 1]);
    }
    for _ in 0..16 {
        let scaled = bound * T::from_f64(0.999 / (1u64 << random.below(20)) as f64);
        check(&mut |i| {
            let x = p[i / 2][i % 2];
            let y = x + scaled * T::from_f64(random.signed());
            if y.is_finite() && (exact(y) - exact(x)).abs() < exact(bound) {
                y
            } else {
                random.one_of(&extremes[i])
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(20_000) })]

    #[test]
    fn sign_det_is_exact(seed: u64) {
        check_sign::<f32>(seed);
        check_sign::<f64>(seed);
    }

    #[test]
    fn sign_det_of_neighbours_is_exact(a: u64, b: u64, steps in 0u64..4, swap: bool) {
        // The products of two values and of their neighbours round alike.
        let (mut c, mut d) = (f64::from_bits(a ^ steps), f64::from_bits(b ^ steps));
        let (a, b) = (f64::from_bits(a), f64::from_bits(b));
        if swap {
            (c, d) = (d, c);
        }
        if a.is_finite() && b.is_finite() {
            let m = exact(a) * exact(b) - exact(c) * exact(d);
            prop_assert_eq!(sign_det(a, c, d, b), sign(&m));
        }
    }

    #[test]
    fn signatures_are_exact(seed: u64) {
        check_signature::<f32>(seed);
        check_signature::<f64>(seed);
    }

    #[test]
    fn kept_ties_are_told_from_others(seed: u64) {
        check_keeps_tie::<f32>(seed);
        check_keeps_tie::<f64>(seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6_000) })]

    #[test]
    fn moves_below_the_bound_keep_the_signature(seed: u64) {
        check_bound::<f32>(seed);
        check_bound::<f64>(seed);
    }
}

/// The L-infinity distance of the origin from an edge, by ternary search.
fn edge_distance(a: [f64; 2], b: [f64; 2]) -> f64 {
    least_on_edge(a, b, |u, v| u.abs().max(v.abs()))
}

/// The least value of a convex function on an edge.
fn least_on_edge(a: [f64; 2], b: [f64; 2], value: impl Fn(f64, f64) -> f64) -> f64 {
    let at = |t: f64| value(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]));
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let (x, y) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if at(x) < at(y) {
            high = y;
        } else {
            low = x;
        }
    }
    at(low)
}

#[test]
fn bounds_outside_are_close_to_the_distance_of_the_image() {
    let mut random = Random(7);
    let rule = Rule { types: true, ties: Ties::All, dx: 1.0, dy: 1.0 };
    for _ in 0..20_000 {
        let p: P<f64> = std::array::from_fn(|_| [random.signed(), random.signed()]);
        let q = p.map(|c| c.map(|x| x as f32));
        if signature(&p, Triangle::Lower, &rule) != OUT || signature(&q, Triangle::Lower, &rule) != OUT {
            continue;
        }
        let distance = (0..3).map(|k| edge_distance(p[k], p[(k + 1) % 3])).fold(f64::INFINITY, f64::min);
        let bound = triangle_bound(&p, Triangle::Lower, &rule, 10.0);
        assert!(bound <= distance * 1.000_001 && bound >= distance * 0.999 - 1e-9, "{bound} {distance}");
        let bound = triangle_bound(&q, Triangle::Lower, &rule, 10.0) as f64;
        assert!(bound >= distance * 0.999 - 1e-6, "{bound} {distance}");
    }
}

#[test]
fn bounds_beside_zeros_are_close_to_the_distance_of_the_rest() {
    let mut random = Random(9);
    let rule = Rule { types: true, ties: Ties::Zeros, dx: 1.0, dy: 1.0 };
    for k in 0..20_000 {
        let mut p: P<f64> = std::array::from_fn(|_| [random.signed(), random.signed()]);
        p[k % 3] = [0.0, -0.0];
        let (a, b) = (p[(k + 1) % 3], p[(k + 2) % 3]);
        let distance = edge_distance(a, b);
        let bound = triangle_bound(&p, Triangle::Lower, &rule, 10.0);
        assert!(bound <= distance * 1.000_001 && bound >= distance * 0.999 - 1e-9, "{bound} {distance}");
        // A single vector moves by its larger component, exactly.
        p[(k + 1) % 3] = [-0.0, 0.0];
        let bound = triangle_bound(&p.map(|c| c.map(|x| x as f32)), Triangle::Upper, &rule, 10.0);
        assert_eq!(bound, (b[0] as f32).abs().max((b[1] as f32).abs()));
    }
}

/// Without a point up to the distance from the ray above the origin, with one up to that of the ends from the
/// line of the ray and of the line of the edge from the origin.
#[test]
fn bounds_by_the_answer_are_close_to_the_distance_of_the_ray() {
    let mut random = Random(10);
    let rule = Rule { types: true, ties: Ties::Sos, dx: 1.0, dy: 1.0 };
    let mut points = 0;
    for k in 0..20_000 {
        let mut p: P<f64> = std::array::from_fn(|_| [random.signed(), random.signed()]);
        p[k % 3] = [0.0, -0.0];
        let (a, b) = (p[(k + 1) % 3], p[(k + 2) % 3]);
        let has_point = signature(&p, Triangle::Upper, &rule) >> 6 == 1;
        points += has_point as u32;
        let distance = if has_point {
            let line = (a[0] * b[1] - b[0] * a[1]).abs() / ((b[0] - a[0]).abs() + (b[1] - a[1]).abs());
            line.min(a[0].abs()).min(b[0].abs())
        } else {
            least_on_edge(a, b, |u, v| u.abs().max(-v))
        };
        let bound = triangle_bound(&p, Triangle::Upper, &rule, 10.0);
        assert!(bound <= distance * 1.000_001 && bound >= distance * 0.999 - 1e-9, "{bound} {distance}");
        // A single vector stays other than zero.
        p[(k + 1) % 3] = [-0.0, 0.0];
        assert_eq!(triangle_bound(&p, Triangle::Lower, &rule, 10.0), b[0].abs().max(b[1].abs()));
    }
    assert!(points > 2000);
}

#[test]
fn bounds_of_critical_points_are_within_a_rung() {
    let mut random = Random(8);
    let rule = Rule { types: false, ties: Ties::All, dx: 1.0, dy: 1.0 };
    let mut seen = 0;
    for _ in 0..20_000 {
        let p: P<f32> = std::array::from_fn(|_| [random.signed() as f32, random.signed() as f32]);
        if !is_critical(signature(&p, Triangle::Upper, &rule)) {
            continue;
        }
        seen += 1;
        let q = p.map(|c| c.map(f64::from));
        let safe = (0..3)
            .map(|k| {
                let (a, b) = (q[k], q[(k + 1) % 3]);
                let m = (a[0] * b[1] - b[0] * a[1]).abs();
                let s = a[0].abs() + a[1].abs() + b[0].abs() + b[1].abs();
                ((s * s + 8.0 * m).sqrt() - s) / 4.0
            })
            .fold(f64::INFINITY, f64::min);
        let bound = triangle_bound(&p, Triangle::Upper, &rule, 1.0) as f64;
        assert!(bound <= safe * 1.000_001 && (bound > 0.499 * safe || safe < 2e-6), "{bound} {safe}");
    }
    assert!(seen > 1000);
}
