//! Where a field vanishes in a tetrahedron, and which way it turns there, all signs exact (docs/algorithm.md,
//! section 14).

use crate::grid::element::Real;
use crate::grid::tetrahedra::Vectors;
use crate::topology::tetrahedron::{is_clear_of_origin, others, sign_det3, signs, zero_corners};

/// The corners, a bit for each, of the simplex that holds the only zero of a tetrahedron in its interior: one corner,
/// an edge, a face or the whole. None without a zero, and with more than one, which fill a segment or more.
pub fn only_zero<T: Real>(p: &Vectors<T>) -> Option<u8> {
    let s = signs(p);
    if s.contains(&1) && s.contains(&-1) {
        return None;
    }
    // The determinants are the weights of the corners, up to a factor.
    let weighted = s.iter().rev().fold(0, |corners, &s| corners << 1 | (s != 0) as u8);
    match weighted {
        0 => only_zero_of_plane(p),
        corners => Some(corners),
    }
}

/// The only zero where the vectors lie in a plane with the origin.
fn only_zero_of_plane<T: Real>(p: &Vectors<T>) -> Option<u8> {
    let zero = zero_corners(p);
    if zero != 0 {
        let is_only = zero.count_ones() == 1 && is_clear_of_origin(&others(p, zero));
        return is_only.then_some(zero);
    }
    // An edge, whose vectors have opposite directions, with both other corners strictly on one side of their line. A
    // triangle around the origin would have the fourth corner in its plane, and zeros on a segment.
    let pairs = (1..4).flat_map(|j| (0..j).map(move |i| (i, j)));
    let is_only = |&(i, j): &(usize, usize)| {
        let beside = |k: &usize| *k != i && *k != j;
        let mut rest = (0..4).filter(beside);
        let (Some(k), Some(l)) = (rest.next(), rest.next()) else { return false };
        are_opposite(&p[i], &p[j]) && are_on_one_side(&p[i], &p[k], &p[l])
    };
    pairs.into_iter().find(is_only).map(|(i, j)| 1 << i | 1 << j)
}

/// The sign of a minor of two vectors.
fn minor<T: Real>(axis: usize, p: &[T; 3], q: &[T; 3]) -> i32 {
    let next = (axis + 1) % 3;
    T::sign_det(p[axis], p[next], q[axis], q[next])
}

/// Whether two vectors, neither of them zero, have opposite directions.
fn are_opposite<T: Real>(p: &[T; 3], q: &[T; 3]) -> bool {
    (0..3).all(|k| p[k].sign() == -q[k].sign() && minor(k, p, q) == 0)
}

/// Whether two vectors in a plane with a line lie strictly on one side of it.
fn are_on_one_side<T: Real>(line: &[T; 3], p: &[T; 3], q: &[T; 3]) -> bool {
    (0..3).any(|axis| {
        let side = minor(axis, line, p);
        side != 0 && side == minor(axis, line, q)
    })
}

/// The common sign of the determinants of a tetrahedron whose vectors all move by one that is small, and general in
/// its direction, if it then holds a zero; otherwise 0. Over all tetrahedra around an isolated zero, with the signs of
/// their orientation in space, the sum is the degree of the field there.
pub fn sign_of_moved_zero<T: Real>(p: &Vectors<T>) -> i32 {
    let determinants = signs(p);
    let moved: [i32; 4] = std::array::from_fn(|k| match determinants[k] {
        0 => {
            let face: [&[T; 3]; 3] = std::array::from_fn(|i| &p[i + (i >= k) as usize]);
            let sign = first_sign(face);
            if k % 2 == 0 {
                -sign
            } else {
                sign
            }
        }
        sign => sign,
    });
    if moved[1..].iter().all(|&sign| sign == moved[0]) {
        moved[0]
    } else {
        0
    }
}

/// The sign of the first component, of those that are not 0, of the normal of a triangle: the vectors move by
/// (d, d^2, d^3) with a small d.
fn first_sign<T: Real>(face: [&[T; 3]; 3]) -> i32 {
    let component = |k: usize| {
        let (l, m) = ((k + 1) % 3, (k + 2) % 3);
        let [a, b, c] = face.map(|v| [T::from_f64(1.0), v[l], v[m]]);
        sign_det3([&a, &b, &c])
    };
    (0..3).map(component).find(|&sign| sign != 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// All sets of corners with the origin in the interior of their hull and nothing else there, by integers.
    fn carriers(v: &[[i64; 3]; 4]) -> Vec<u8> {
        let cross = |a: [i64; 3], b: [i64; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let dot = |a: [i64; 3], b: [i64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let holds = |v: &[[i64; 3]]| match *v {
            [a] => a == [0; 3],
            [a, b] => a != [0; 3] && cross(a, b) == [0; 3] && dot(a, b) < 0,
            [a, b, c] => {
                let normals = [cross(a, b), cross(b, c), cross(c, a)];
                dot(a, cross(b, c)) == 0 && normals.iter().all(|&n| dot(n, normals[0]) > 0)
            }
            [a, b, c, d] => {
                let det = |a, b, c| dot(a, cross(b, c));
                let weights = [det(b, c, d), -det(a, c, d), det(a, b, d), -det(a, b, c)];
                weights.iter().all(|&w| w > 0) || weights.iter().all(|&w| w < 0)
            }
            _ => false,
        };
        let chosen =
            |set: u8| -> Vec<[i64; 3]> { (0..4).filter(|k| set >> k & 1 != 0).map(|k| v[k]).collect() };
        (1..16).filter(|&set| holds(&chosen(set))).collect()
    }

    #[test]
    fn a_zero_is_the_only_one_if_no_other_set_of_corners_has_one() {
        let mut random = Random(31);
        let mut seen = [0; 5];
        for round in 0..300_000 {
            let side = [1, 2, 4][round % 3];
            let mut v: [[i64; 3]; 4] = std::array::from_fn(|_| {
                std::array::from_fn(|_| random.below(2 * side + 1) as i64 - side as i64)
            });
            if round % 5 == 0 {
                // In one plane.
                v.iter_mut().for_each(|v| v[2] = v[0] - v[1]);
            }
            let expected = match carriers(&v)[..] {
                [only] => Some(only),
                _ => None,
            };
            let p = v.map(|v| v.map(|x| x as f64));
            assert_eq!(only_zero(&p), expected, "{v:?}");
            assert_eq!(only_zero(&p.map(|v| v.map(|x| x as f32))), expected, "{v:?}");
            seen[expected.map_or(0, |only| only.count_ones() as usize)] += 1;
        }
        assert!(seen.iter().all(|&n| n > 500), "{seen:?}");
    }

    #[test]
    fn moved_zeros_are_those_of_a_small_number() {
        let mut random = Random(32);
        let mut seen = [0; 3];
        for _ in 0..200_000 {
            let v: [[i64; 3]; 4] =
                std::array::from_fn(|_| std::array::from_fn(|_| random.below(5) as i64 - 2));
            // Exact: all products are below 2^53.
            let d = 2f64.powi(-6);
            let moved = v.map(|v| {
                let [a, b, c] = v.map(|x| x as f64);
                [a - d, b - d * d, c - d * d * d]
            });
            let s = signs(&moved);
            let expected = if s[1..].iter().all(|&x| x == s[0]) { s[0] } else { 0 };
            let p = v.map(|v| v.map(|x| x as f32));
            assert_eq!(sign_of_moved_zero(&p), expected, "{v:?}");
            seen[(expected + 1) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 1000), "{seen:?}");
    }
}
