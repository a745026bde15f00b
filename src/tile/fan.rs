//! The triangles around a vertex: whether their signatures stay if it moves and its neighbours do not.
//!
//! Most triangles have a component of one sign before and after the move; bit operations find these, all six
//! triangles at once. Determinants of the others show whether the origin is outside their images. If it is
//! not, signatures are compared.

use crate::grid::element::Real;
use crate::grid::mesh::{AROUND, AXES, NEIGHBOURS, STAR, VERTICES};
use crate::tile::window::TileWindow;
use crate::topology::signature::{sign_det, signature, stays, Rule, Signature, OUT};

/// The corners of each triangle in the order of the format: 0 is the vertex itself, 1 neighbour k, 2 the
/// neighbour after it.
const ORDERS: [[usize; VERTICES]; AROUND] = {
    let mut orders = [[0; VERTICES]; AROUND];
    let mut i = 0;
    while i < AROUND * VERTICES {
        let (k, corner) = (i / VERTICES, i % VERTICES);
        orders[k][(STAR[k].place + corner) % VERTICES] = corner;
        i += 1;
    }
    orders
};

/// Columns and rows of the neighbours, counted from those before the vertex.
const PLACES: [(usize, usize); AROUND] = places(NEIGHBOURS);

/// Columns and rows of the cells of the triangles, counted from those before the vertex.
const CELLS: [(usize, usize); AROUND] = {
    let mut cells = NEIGHBOURS;
    let mut k = 0;
    while k < AROUND {
        cells[k] = STAR[k].cell;
        k += 1;
    }
    places(cells)
};

const fn places(offsets: [[i64; AXES]; AROUND]) -> [(usize, usize); AROUND] {
    let mut places = [(0, 0); AROUND];
    let mut k = 0;
    while k < AROUND {
        places[k] = ((offsets[k][0] + 1) as usize, (offsets[k][1] + 1) as usize);
        k += 1;
    }
    places
}

/// A vertex and its neighbours. Only triangles inside the window count.
pub(super) struct Fan<'a, T> {
    rule: &'a Rule,
    /// In the order of [`NEIGHBOURS`].
    neighbours: [[T; 2]; AROUND],
    /// The triangles in the window that have no missing vertex, a bit for each.
    exists: u8,
    /// Triangles with two neighbours where u > 0, u < 0, v > 0, v < 0.
    sides: [u8; 4],
    /// Triangles with a component of one sign.
    one_sided: u8,
    /// The signatures of the triangles that exist.
    signatures: [Signature; AROUND],
}

impl<'a, T: Real> Fan<'a, T> {
    /// That of vertex (x, y), which is not missing, with the values that the window has now.
    pub(super) fn new(window: &TileWindow<T>, x: usize, y: usize, rule: &'a Rule) -> Self {
        let (left, up) = (x > 0, y > 0);
        let (right, down) = (x + 1 < window.width, y + 1 < window.height);
        // A neighbour beyond the window is the vertex itself, and in no triangle that exists.
        let columns = [x - left as usize, x, x + right as usize];
        let rows = [y - up as usize, y, y + down as usize];
        let neighbours = PLACES.map(|(i, j)| window.get(columns[i], rows[j]));
        let mut exists = bits(CELLS.map(|(i, j)| [left, right][i] & [up, down][j]));
        if window.any_missing {
            let missing = bits(PLACES.map(|(i, j)| window.missing[rows[j]] >> columns[i] & 1 != 0));
            exists &= !(missing | of_next(missing));
        }
        let z = T::ZERO;
        let sides = [
            bits(neighbours.map(|p| p[0] > z)),
            bits(neighbours.map(|p| p[0] < z)),
            bits(neighbours.map(|p| p[1] > z)),
            bits(neighbours.map(|p| p[1] < z)),
        ];
        let sides = sides.map(|side| side & of_next(side));
        let mut fan = Fan { rule, neighbours, exists, sides, one_sided: 0, signatures: [OUT; AROUND] };
        let vertex = window.get(x, y);
        fan.one_sided = fan.one_sided_with(vertex);
        for k in set_bits(exists & !fan.one_sided) {
            fan.signatures[k] = fan.signature(k, vertex);
        }
        fan
    }

    /// Whether all signatures stay if the vertex moves to a candidate, which is finite.
    #[inline(always)]
    pub(super) fn stays_with(&self, candidate: [T; 2]) -> bool {
        let one_sided = self.one_sided_with(candidate);
        for k in set_bits(self.exists & !(self.one_sided & one_sided)) {
            let is_one_sided = one_sided >> k & 1 != 0;
            if self.signatures[k] == OUT && (is_one_sided || self.encloses_not(k, candidate)) {
                continue;
            }
            let after = if is_one_sided { OUT } else { self.signature(k, candidate) };
            if !stays(self.signatures[k], after) {
                return false;
            }
        }
        true
    }

    /// The triangles that have a component of one sign with this value of the vertex.
    #[inline(always)]
    fn one_sided_with(&self, [u, v]: [T; 2]) -> u8 {
        let of = |side: u8, holds: bool| if holds { side } else { 0 };
        let z = T::ZERO;
        of(self.sides[0], u > z)
            | of(self.sides[1], u < z)
            | of(self.sides[2], v > z)
            | of(self.sides[3], v < z)
    }

    /// Whether two determinants of triangle `k` have opposite signs, which is enough to be OUT.
    #[inline(always)]
    fn encloses_not(&self, k: usize, vertex: [T; 2]) -> bool {
        let (a, b) = (self.neighbours[k], self.neighbours[(k + 1) % AROUND]);
        let signs = [
            sign_det(vertex[0], vertex[1], a[0], a[1]),
            sign_det(a[0], a[1], b[0], b[1]),
            sign_det(b[0], b[1], vertex[0], vertex[1]),
        ];
        signs.contains(&1) & signs.contains(&-1)
    }

    fn signature(&self, k: usize, vertex: [T; 2]) -> Signature {
        let corners = [vertex, self.neighbours[k], self.neighbours[(k + 1) % AROUND]];
        signature(&ORDERS[k].map(|corner| corners[corner]), STAR[k].triangle, self.rule)
    }
}

/// Bit k from item k.
#[inline(always)]
fn bits(flags: [bool; AROUND]) -> u8 {
    flags.iter().enumerate().fold(0, |bits, (k, &flag)| bits | (flag as u8) << k)
}

/// Bit k from that of the next item, around the vertex.
#[inline(always)]
fn of_next(bits: u8) -> u8 {
    bits >> 1 | (bits & 1) << (AROUND - 1)
}

/// The numbers of the bits that are set.
#[inline(always)]
fn set_bits(mut bits: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let k = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (k < AROUND).then_some(k)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::mesh::Triangle;
    use crate::grid::tiles::FRAMED;
    use crate::predict::interpolation::PITCH;
    use crate::random::Random;
    use crate::request::Ties;
    use crate::tile::signs::{spread_signs, Signs};
    use crate::topology::bound::axis_distance;

    /// A window of small integers, of which some are missing.
    fn window(random: &mut Random) -> Box<TileWindow<f32>> {
        let mut window = TileWindow::new().expect("memory");
        (window.width, window.height) = (FRAMED, FRAMED - 1);
        for i in 0..PITCH * FRAMED {
            let shift = random.below(3) as f32 - 1.0;
            (window.u[i], window.v[i]) = (random.below(5) as f32 - 2.0 + shift, random.below(5) as f32 - 2.0);
        }
        window.any_missing = random.below(2) == 0;
        for row in &mut window.missing {
            *row = if window.any_missing { random.next() & random.next() & random.next() } else { 0 };
        }
        window
    }

    /// The vectors at the corners of the triangles around a vertex, as far as they are in the window.
    fn triangles(window: &TileWindow<f32>, x: usize, y: usize) -> Vec<(Triangle, [(usize, usize); 3])> {
        let inside = |&(x, y): &(i64, i64)| {
            (0..window.width as i64).contains(&x)
                && (0..window.height as i64).contains(&y)
                && window.missing[y as usize] >> x & 1 == 0
        };
        let places = STAR.map(|incident| {
            let place = |[dx, dy]: [i64; AXES]| (x as i64 + dx, y as i64 + dy);
            (incident.triangle, incident.offsets().map(place))
        });
        let whole = places.into_iter().filter(|(_, corners)| corners.iter().all(inside));
        whole.map(|(t, corners)| (t, corners.map(|(x, y)| (x as usize, y as usize)))).collect()
    }

    #[test]
    fn fans_and_signs_say_the_same_as_signatures() {
        let mut random = Random(1);
        let (mut kept, mut changed, mut settled) = (0, 0, 0);
        for (ties, dy) in [Ties::All, Ties::Zeros, Ties::Sos].into_iter().flat_map(|t| [(t, 2.0), (t, -2.0)])
        {
            let rule = Rule { types: true, ties, dx: 1.0, dy };
            let window = window(&mut random);
            let signs = Signs::new(&window);
            for (y, x) in (0..window.height).flat_map(|y| (0..window.width).map(move |x| (y, x))) {
                if window.missing[y] >> x & 1 != 0 {
                    continue;
                }
                let around = triangles(&window, x, y);
                let fan = Fan::new(&window, x, y, &rule);
                for _ in 0..8 {
                    let [u, v] = window.get(x, y);
                    let candidate = [u + random.below(3) as f32 - 1.0, v + random.below(3) as f32 - 1.0];
                    let values = |corners: &[(usize, usize); 3], moved: bool| {
                        let value = |at: (usize, usize)| {
                            if moved && at == (x, y) {
                                candidate
                            } else {
                                window.get(at.0, at.1)
                            }
                        };
                        corners.map(value)
                    };
                    let stays_in = |(triangle, corners): &(Triangle, [(usize, usize); 3])| {
                        let [before, after] =
                            [false, true].map(|m| signature(&values(corners, m), *triangle, &rule));
                        stays(before, after)
                    };
                    let all_stay = around.iter().all(stays_in);
                    assert_eq!(fan.stays_with(candidate), all_stay, "{ties:?} {x} {y} {candidate:?}");
                    (kept, changed) = (kept + all_stay as u32, changed + !all_stay as u32);
                    if !window.any_missing && y > 0 {
                        let moved = spread_signs([&candidate[..1], &candidate[1..]], x, 2);
                        let sided =
                            |m| around.iter().all(|(_, corners)| axis_distance(&values(corners, m)) > 0.0);
                        let all = around.len() == 6 && sided(false) && sided(true);
                        assert_eq!(signs.one_sided_around(y, &moved) >> x & 1 != 0, all, "{x} {y}");
                        settled += all as u32;
                    }
                }
            }
        }
        assert!(kept > 100 && changed > 100 && settled > 10, "{kept} {changed} {settled}");
    }
}
