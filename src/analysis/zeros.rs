//! Isolated zeros at vertices and on edges, with their Poincare index, all signs exact (docs/algorithm.md,
//! section 2.6). Twin: kernels/analysis/zeros.cuh.

use super::Domain;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::{offset, Simplex, Triangle};
use crate::topology::signature::{pinned, sign_det};

/// The set of faces that a triangle owns ([`Triangle::owned_faces`]) and that may hold an isolated zero. The
/// triangle has no missing vertices.
#[inline(always)]
pub(super) fn candidates<T: Real>(p: &[[T; 2]; 3], triangle: Triangle) -> u32 {
    let may_hold = |simplex: Simplex| match simplex {
        Simplex::Vertex => pinned(&p[0]) && !pinned(&p[1]) && !pinned(&p[2]),
        edge => may_be_opposite(&p[0], &p[triangle.place(edge.end())]),
    };
    let owned = Simplex::FACES.into_iter().filter(|simplex| triangle.owned_faces() & simplex.bit() != 0);
    owned.fold(0, |found, simplex| if may_hold(simplex) { found | simplex.bit() } else { found })
}

/// The Poincare index of a zero; none at the border of the grid and beside missing vertices, where the ring
/// around it is not closed.
pub(super) type Index = Option<i32>;

/// Stands for no index where a number is needed.
pub(crate) const INDEX_UNDEFINED: i32 = -100;

/// One field, or the two of a comparison, whose vertices count where none of the fields misses them.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a, T, const N: usize> {
    pub domain: &'a Domain,
    pub views: &'a [[View<'a, T>; 2]; N],
}

impl<T: Real, const N: usize> Fields<'_, T, N> {
    /// The vectors of a vertex; none where it is missing, and beyond the grid and its ghosts.
    #[inline(always)]
    fn vertex(&self, (x, y): (i64, i64)) -> Option<[[T; 2]; N]> {
        if !self.domain.covers(x, y) {
            return None;
        }
        let [x, y] = self.domain.grid.wrapped([x, y]);
        let vectors = self.views.map(|views| views.map(|view| view.get(x, y)));
        let finite = vectors.iter().flatten().fold(true, |all, c| all & c.is_finite());
        (finite && !self.domain.missing.is_filled(vectors[0])).then_some(vectors)
    }

    /// The index of the isolated zero of each field at the vertex (x, y) or inside an edge from there.
    pub fn zeros(&self, simplex: Simplex, x: u64, y: u64) -> [Option<Index>; N] {
        let at = |[dx, dy]: [i64; 2]| self.vertex((x as i64 + dx, y as i64 + dy));
        let Some(base) = at([0, 0]) else { return [None; N] };
        let mut holds = match simplex {
            Simplex::Vertex => base.map(|p| pinned(&p)),
            edge => match at(offset(edge.end()).map(|along| along as i64)) {
                Some(end) => std::array::from_fn(|f| are_opposite(&base[f], &end[f])),
                None => return [None; N],
            },
        };
        let ring = simplex.ring();
        let (mut turns, mut edges) = ([0; N], 0);
        let mut from = at(ring[0]);
        for k in 1..=ring.len() {
            let to = at(ring[k % ring.len()]);
            if let (Some(a), Some(b)) = (from, to) {
                edges += 1;
                for f in 0..N {
                    match turn(&a[f], &b[f]) {
                        Some(turn) => turns[f] += turn,
                        None => holds[f] = false,
                    }
                }
            }
            if !holds.contains(&true) {
                return [None; N];
            }
            from = to;
        }
        let is_mirrored = (self.domain.rule.dx < 0.0) != (self.domain.rule.dy < 0.0);
        let index = |turns: i32| (edges == ring.len()).then_some(if is_mirrored { -turns } else { turns });
        std::array::from_fn(|f| (holds[f] && edges > 0).then_some(index(turns[f])))
    }
}

impl<T: Real> Fields<'_, T, 1> {
    /// Offset of a zero at a vertex or inside an edge from its base.
    pub fn position(&self, simplex: Simplex, x: u64, y: u64) -> [f64; 2] {
        if simplex == Simplex::Vertex {
            return [0.0; 2];
        }
        let [dx, dy] = offset(simplex.end()).map(|along| along as i64);
        let at = |place| {
            let [x, y] = self.domain.grid.wrapped(place);
            self.views[0].map(|view| view.get(x, y))
        };
        let along = fraction(&at([x as i64, y as i64]), &at([x as i64 + dx, y as i64 + dy]));
        [dx as f64 * along, dy as f64 * along]
    }
}

/// Whether the field vanishes between two vertices: their vectors have opposite directions.
#[inline(always)]
pub(super) fn are_opposite<T: Real>(a: &[T; 2], b: &[T; 2]) -> bool {
    may_be_opposite(a, b) && sign_det(a[0], a[1], b[0], b[1]) == 0
}

/// The signs of vectors with opposite directions.
#[inline(always)]
pub(super) fn may_be_opposite<T: Real>(a: &[T; 2], b: &[T; 2]) -> bool {
    !pinned(a) && a[0].sign() == -b[0].sign() && a[1].sign() == -b[1].sign()
}

/// Share of the edge from a to b in the turns of a ring around the origin: it counts where it crosses the
/// ray along +u. None where it passes through the origin.
fn turn<T: Real>(a: &[T; 2], b: &[T; 2]) -> Option<i32> {
    if pinned(a) || pinned(b) {
        return None;
    }
    let side = sign_det(a[0], a[1], b[0], b[1]);
    if side == 0 && may_be_opposite(a, b) {
        return None;
    }
    let (above_a, above_b) = (a[1] > T::ZERO, b[1] > T::ZERO);
    Some((!above_a && above_b && side > 0) as i32 - (above_a && !above_b && side < 0) as i32)
}

/// The part of an edge from vector a on at whose end the field vanishes, rounded.
pub(super) fn fraction<T: Real>(a: &[T; 2], b: &[T; 2]) -> f64 {
    // Lengths of scaled vectors neither overflow nor both underflow.
    let largest = [a, b].into_iter().flatten().fold(0.0, |m: f64, c| m.max(c.to_f64().abs()));
    let [a, b] = [a, b].map(|p| (p[0].to_f64() / largest).abs() + (p[1].to_f64() / largest).abs());
    a / (a + b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_around_the_origin_add_up() {
        // The vectors of a ring, and how often it turns; none where it passes through the origin.
        let directions = [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 1.0], [-1.0, 0.0], [-1.0, -1.0]];
        let all = [&directions[..], &[[0.0, -1.0], [1.0, -1.0]]].concat();
        for (ring, expected) in [
            (vec![0, 1, 2, 3, 4, 5, 6, 7], Some(1)),
            (vec![7, 6, 5, 4, 3, 2, 1, 0], Some(-1)),
            (vec![0, 3, 6], Some(1)),
            (vec![6, 3, 0], Some(-1)),
            (vec![0, 3, 6, 1, 4, 7], Some(2)),
            (vec![7, 4, 1, 6, 3, 0], Some(-2)),
            (vec![1, 1, 2, 1], Some(0)),
            (vec![4, 5, 4, 3], Some(0)),
            (vec![0, 7, 0, 1], Some(0)),
            (vec![0, 4, 6], None),
            (vec![1, 2, 5], None),
        ] {
            let turns = (0..ring.len()).map(|k| turn(&all[ring[k]], &all[ring[(k + 1) % ring.len()]]));
            assert_eq!(turns.sum::<Option<i32>>(), expected, "{ring:?}");
        }
        assert_eq!(turn(&[0.0, -0.0], &[1.0, 0.0]), None);
    }

    #[test]
    fn the_place_of_a_zero_is_where_the_lengths_balance() {
        assert_eq!(fraction(&[1.0, -2.0], &[-3.0, 6.0]), 0.25);
        assert_eq!(fraction(&[1e308, 1e308], &[-1e308, -1e308]), 0.5);
        assert_eq!(fraction(&[0.0, 5e-324], &[0.0, -1.5e-323]), 0.25);
    }
}
