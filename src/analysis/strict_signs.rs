//! The strict signs of the components of vertices in two fields, which settle most simplices at once: where one
//! component has one strict sign at all corners, the origin is outside the image.

use crate::grid::element::Real;
use crate::grid::tetrahedra::CUBE;

/// The signs of the first field's components, in those of a vertex with N components: by component, u first, a bit if
/// it is positive, and one if it is negative.
const fn before<const N: usize>() -> u16 {
    (1 << (2 * N)) - 1
}

/// Whether signs that several vertices have in common settle a simplex of them: in both fields one component has
/// one strict sign.
#[inline(always)]
pub(crate) fn settle<const N: usize>(common: u16) -> bool {
    (common & before::<N>() != 0) & (common & before::<N>() << (2 * N) != 0)
}

/// The strict signs of a row of vertices in two fields: the first field's, then the other one's.
pub(crate) fn signs_of<T: Real, const N: usize>([first, other]: [[&[T]; N]; 2], signs: &mut [u16]) {
    let bits = |x: T| (x > T::ZERO) as u16 | ((x < T::ZERO) as u16) << 1;
    signs.fill(0);
    for (k, (a, b)) in first.into_iter().zip(other).enumerate() {
        // Written without branches, so that the compiler can use vector instructions.
        for (signs, (&a, &b)) in signs.iter_mut().zip(a.iter().zip(b)) {
            *signs |= bits(a) << (2 * k) | bits(b) << (2 * (N + k));
        }
    }
}

/// Finds the tetrahedra of a row of cubes that signs do not settle: bit t of a cube says so of its tetrahedron t.
/// `rows` are the signs and flags of row y and row y + 1 of a plane, then of those of the next plane. A tetrahedron is
/// also settled where `is_settled` says so of the flags that any corner has and those that all have.
pub(crate) fn open_tetrahedra(
    rows: [(&[u16], &[u8]); 4],
    is_settled: impl Fn(u8, u8) -> bool,
    open: &mut [u8],
) {
    let n = open.len() + 1;
    let [a, b, c, d] = rows.map(|(signs, _)| &signs[..n]);
    // Written without branches, so that the compiler can use vector instructions.
    for (x, open) in open.iter_mut().enumerate() {
        let common = (a[x] & b[x]) & (c[x] & d[x]) & (a[x + 1] & b[x + 1]) & (c[x + 1] & d[x + 1]);
        *open = !settle::<3>(common) as u8;
    }
    for (x, open) in open.iter_mut().enumerate().filter(|(_, open)| **open != 0) {
        let corner = |corner: usize| {
            let ((signs, flags), x) = (rows[corner >> 1], x + (corner & 1));
            (signs[x], flags[x])
        };
        let corners: [(u16, u8); 8] = std::array::from_fn(corner);
        *open = 0;
        for (t, tetrahedron) in CUBE.iter().enumerate() {
            let [p, q, r, s] = tetrahedron.map(|corner| corners[corner]);
            let (common, any, all) = (p.0 & q.0 & r.0 & s.0, p.1 | q.1 | r.1 | s.1, p.1 & q.1 & r.1 & s.1);
            *open |= ((!settle::<3>(common) && !is_settled(any, all)) as u8) << t;
        }
    }
}
