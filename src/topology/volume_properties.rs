//! Properties of signatures and bounds of tetrahedra, against exact arithmetic and by random moves.

use crate::grid::element::Real;
use crate::grid::tetrahedra::{Vectors, STEPS};
use crate::random::Random;
use crate::request::Ties;
use crate::topology::tetrahedron::{sign_det3, signature, stays, Signature, VolumeRule};
use crate::topology::tetrahedron_bound::tetrahedron_bound;
use crate::topology::tetrahedron_type::certified_type;
use num_rational::BigRational;
use num_traits::Signed;

const TIES: [Ties; 2] = [Ties::All, Ties::Zeros];

fn rule(types: bool, ties: Ties) -> VolumeRule {
    VolumeRule { types, ties, spacing: [1.0, -0.5, 3.0] }
}

fn exact_sign(rows: &[[f64; 3]; 3]) -> i32 {
    let [a, b, c] = rows.map(|row| row.map(|x| BigRational::from_float(x).expect("finite")));
    let minor = |i: usize, j: usize| &b[i] * &c[j] - &b[j] * &c[i];
    let det = &a[0] * minor(1, 2) + &a[1] * minor(2, 0) + &a[2] * minor(0, 1);
    det.is_positive() as i32 - det.is_negative() as i32
}

#[test]
fn determinants_have_exact_signs() {
    let mut random = Random(11);
    let mut seen = [0; 3];
    for round in 0..6000 {
        let mut value = || match round % 6 {
            0 => random.below(5) as f64 - 2.0,
            1 => Some(f64::from_bits(random.next())).filter(|x| x.is_finite()).unwrap_or(1.0),
            2 => random.one_of(&[5e-324, -5e-324, f64::MAX, f64::MIN, 0.0, 1.0, f64::MIN_POSITIVE]),
            3 => f64::from_bits(1.0f64.to_bits() + random.below(3)),
            4 => (random.below(2001) as f64 - 1000.0) * 1e-3,
            _ => Some(f32::from_bits(random.next() as u32) as f64).filter(|x| x.is_finite()).unwrap_or(1.0),
        };
        let mut rows: [[f64; 3]; 3] = std::array::from_fn(|_| std::array::from_fn(|_| value()));
        if round % 2 == 0 {
            // Nearly or exactly in a plane.
            rows[2] = [0, 1, 2].map(|k| 0.5 * rows[0][k] + 0.25 * rows[1][k]);
        }
        if !rows.iter().flatten().all(|x| x.is_finite()) {
            continue;
        }
        let sign = sign_det3([&rows[0], &rows[1], &rows[2]]);
        assert_eq!(sign, exact_sign(&rows), "{rows:?}");
        seen[(sign + 1) as usize] += 1;
        let single = rows.map(|row| row.map(|x| x as f32));
        if single.iter().flatten().all(|x| x.is_finite()) {
            let wide = single.map(|row| row.map(f64::from));
            assert_eq!(sign_det3([&single[0], &single[1], &single[2]]), exact_sign(&wide), "{single:?}");
        }
    }
    assert!(seen.iter().all(|&n| n > 500), "{seen:?}");
}

/// Determinants that are 0 or the smallest unit, of values around the limit of small integers and of every size.
#[test]
fn nearly_dependent_vectors_have_exact_signs() {
    let mut random = Random(12);
    let mut seen = [0; 3];
    for round in 0..3000 {
        let bits = [4, 20, 38, 39, 40, 41, 51][round % 7];
        let mut integer = || random.below(1 << bits) as f64 - (1u64 << (bits - 1)) as f64;
        let [a, b] = [(); 2].map(|_| [(); 3].map(|_| integer()));
        let [p, q] = [round as f64 % 3.0 - 1.0, round as f64 % 5.0 - 2.0];
        let mut c = [0, 1, 2].map(|k| p * a[k] + q * b[k]);
        if round % 2 == 0 {
            c[round % 3] += [-1.0, 1.0, 0.0][round / 2 % 3];
        }
        let unit = [1.0, 2f64.powi(-300), 2f64.powi(-1060), 2f64.powi(200), 0.375][round / 7 % 5];
        let rows = [a, b, c].map(|row| row.map(|x| x * unit));
        let sign = sign_det3([&rows[0], &rows[1], &rows[2]]);
        assert_eq!(sign, exact_sign(&rows), "{rows:?}");
        seen[(sign + 1) as usize] += 1;
    }
    assert!(seen.iter().all(|&n| n > 300), "{seen:?}");
}

type Integers = [i64; 3];

fn cross(a: Integers, b: Integers) -> Integers {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn dot(a: Integers, b: Integers) -> i64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

/// Whether the origin is in the closed hull of some integer vectors: in that of a part of them that is a point, an
/// edge, a triangle or a tetrahedron.
fn holds_origin(v: &[Integers]) -> bool {
    let n = v.len();
    let point = v.contains(&[0; 3]);
    let edge = |a: Integers, b: Integers| cross(a, b) == [0; 3] && dot(a, b) < 0;
    let triangle = |a: Integers, b: Integers, c: Integers| {
        let minus = |p: Integers, q: Integers| [0, 1, 2].map(|k| p[k] - q[k]);
        let normal = cross(minus(b, a), minus(c, a));
        let areas = [(a, b), (b, c), (c, a)].map(|(p, q)| dot(cross(p, q), normal));
        normal != [0; 3] && dot(normal, a) == 0 && areas.iter().all(|&area| area >= 0)
    };
    let tetrahedron = |v: &[Integers]| {
        let det = |a: usize, b: usize, c: usize| dot(v[a], cross(v[b], v[c]));
        let d = [det(1, 2, 3), -det(0, 2, 3), det(0, 1, 3), -det(0, 1, 2)];
        (d.iter().all(|&x| x >= 0) || d.iter().all(|&x| x <= 0)) && d.iter().any(|&x| x != 0)
    };
    let pairs = (0..n).any(|j| (0..j).any(|i| edge(v[i], v[j])));
    let triples = (0..n).any(|k| (0..k).any(|j| (0..j).any(|i| triangle(v[i], v[j], v[k]))));
    point || pairs || triples || (n == 4 && tetrahedron(v))
}

#[test]
fn signatures_say_where_the_origin_is() {
    let mut random = Random(12);
    let mut seen = [0; 4];
    for round in 0..200_000 {
        let side = [2, 3, 5][round % 3];
        let v: [Integers; 4] =
            std::array::from_fn(|_| std::array::from_fn(|_| random.below(2 * side + 1) as i64 - side as i64));
        let p = v.map(|v| v.map(|x| x as f32));
        let steps = STEPS[round % 6];
        let (all, zeros) = (rule(false, Ties::All), rule(false, Ties::Zeros));
        let zero = (0..4).filter(|&k| v[k] == [0; 3]).fold(0u8, |zero, k| zero | 1 << k);
        let others: Vec<Integers> = v.iter().copied().filter(|&v| v != [0; 3]).collect();
        let expected = match signature(&p, steps, &all) {
            Signature::Out => {
                seen[0] += 1;
                !holds_origin(&v)
            }
            Signature::In { .. } => {
                seen[1] += 1;
                let faces = (0..4).map(|k| (0..4).filter(|&i| i != k).map(|i| v[i]).collect::<Vec<_>>());
                holds_origin(&v) && faces.into_iter().all(|face| !holds_origin(&face))
            }
            Signature::Tie(_) => {
                seen[2] += 1;
                let by_zeros = signature(&p, steps, &zeros);
                let clear = zero != 0 && !holds_origin(&others);
                seen[3] += clear as usize;
                holds_origin(&v) && (by_zeros == Signature::Zeros(zero)) == clear
            }
            _ => false,
        };
        assert!(expected, "{v:?}");
    }
    assert!(seen.iter().all(|&n| n > 2000), "{seen:?}");
}

/// Moves the corners of a tetrahedron by less than a bound, to the ends of their boxes or anywhere in them; zero
/// corners stay.
fn moved<T: Real>(p: &Vectors<T>, d: f64, random: &mut Random) -> Vectors<T> {
    let ends = random.below(3) > 0;
    p.map(|v| match v.iter().all(|&x| x == T::ZERO) {
        true => v,
        false => v.map(|x| {
            let by = if ends { [-1.0, 1.0][random.below(2) as usize] } else { random.signed() };
            let y = T::from_f64(x.to_f64() + by * d * 0.999_999);
            if (y.to_f64() - x.to_f64()).abs() < d {
                y
            } else {
                x
            }
        }),
    })
}

fn bounds_hold<T: Real>(seed: u64) {
    let mut random = Random(seed);
    let (mut positive, mut inside, mut zeros) = (0, 0, 0);
    for round in 0..40_000 {
        let mut value = || match round % 4 {
            0 => random.below(7) as f64 - 3.0,
            1 => random.signed() + 0.3,
            2 => random.signed() * f64::from_bits((1023 - random.below(30)) << 52),
            _ => random.signed(),
        };
        let mut p: Vectors<T> = std::array::from_fn(|_| std::array::from_fn(|_| T::from_f64(value())));
        if round % 16 == 5 {
            p[random.below(4) as usize] = [T::ZERO; 3];
        }
        let (steps, rule) = (STEPS[round % 6], rule(round % 5 > 0, TIES[round / 7 % 2]));
        let d = tetrahedron_bound(&p, steps, &rule, 1e3).to_f64();
        if d == 0.0 || d > 1e3 {
            continue;
        }
        let before = signature(&p, steps, &rule);
        positive += 1;
        inside += before.is_critical() as u32;
        zeros += matches!(before, Signature::Zeros(_)) as u32;
        for _ in 0..8 {
            let q = moved(&p, d, &mut random);
            let after = signature(&q, steps, &rule);
            assert!(stays(before, after), "{p:?} {q:?} {d} {rule:?} {before:?} {after:?}");
        }
    }
    assert!(positive > 20_000 && inside > 1500 && zeros > 500, "{positive} {inside} {zeros}");
}

#[test]
fn moves_below_the_bound_change_no_signature() {
    bounds_hold::<f32>(13);
    bounds_hold::<f64>(14);
}

/// Where magnitudes are far apart, products overflow and underflow.
#[test]
fn bounds_hold_for_all_magnitudes() {
    let mut random = Random(15);
    let (mut critical, mut out) = (0, 0);
    for round in 0..60_000 {
        let most = [20, 200, 600, 1000][round % 4];
        let mut value = || {
            let exponent = (random.below(2 * most + 1) as i64 - most as i64).max(-1022);
            random.signed() * f64::from_bits(((1023 + exponent) as u64) << 52)
        };
        let p: Vectors<f64> = std::array::from_fn(|_| std::array::from_fn(|_| value()));
        let (steps, rule) = (STEPS[round % 6], rule(false, Ties::All));
        let d = tetrahedron_bound(&p, steps, &rule, f64::MAX);
        let before = signature(&p, steps, &rule);
        if d == 0.0 || d == f64::MAX {
            continue;
        }
        critical += before.is_critical() as u32;
        out += (before == Signature::Out) as u32;
        for _ in 0..8 {
            let q = moved(&p, d, &mut random);
            if q.iter().flatten().all(|x| x.is_finite()) {
                assert!(stays(before, signature(&q, steps, &rule)), "{p:?} {q:?} {d:e} {before:?}");
            }
        }
    }
    assert!(critical > 50 && out > 20_000, "{critical} {out}");
}

/// Jacobians whose eigenvalues are known.
#[test]
fn types_are_those_of_the_eigenvalues() {
    let cases: [([[f64; 3]; 3], u8); 6] = [
        ([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]], 0),
        ([[-1.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.0, -3.0]], 3),
        ([[-1.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]], 1),
        ([[-1.0, 0.0, 0.0], [0.0, -2.0, 0.0], [0.0, 0.7, 3.0]], 2),
        ([[-0.1, -1.0, 0.0], [1.0, -0.1, 0.0], [0.0, 0.0, 1.0]], 2 + 4),
        ([[0.1, -1.0, 0.0], [1.0, 0.1, 0.0], [0.0, 0.0, -1.0]], 1 + 4),
    ];
    for spacing in [[1.0, 1.0, 1.0], [2.0, -0.25, -3.0]] {
        for (jacobian, kind) in cases {
            for steps in STEPS {
                // The values along the path from its middle.
                let mut at = spacing.map(|d| -0.5 * d);
                let mut p = [[0.0; 3]; 4];
                for k in 0..4 {
                    p[k] = [0, 1, 2].map(|i| (0..3).map(|j| jacobian[i][j] * at[j]).sum());
                    if k < 3 {
                        at[steps[k]] += spacing[steps[k]];
                    }
                }
                let found = certified_type(&p, steps, spacing, 0.0);
                assert_eq!(found, Some(kind), "{jacobian:?} {steps:?} {spacing:?}");
                assert!(certified_type(&p, steps, spacing, 1e9).is_none());
            }
        }
    }
}
