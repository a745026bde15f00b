//! The critical points of a field, with exact types.

use super::eigenvalues::Spectrum;
use super::zeros::{candidates, Fields, Index};
use super::{guarded, in_bands, of_plane, rows_of, vectors, Domain};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::{Simplex, Triangle};
use crate::request::Request;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::topology::exact_type::exact_type;
use crate::topology::signature::{
    certified_type, finite, is_critical, kind, one_sided, signature, signs, Rule, IN, OUT, UNCERTAIN,
};
use std::ops::Range;

/// The type of a critical point. Inside a triangle it comes from the exact signs of determinant, trace and
/// discriminant.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Saddle = 0,
    AttractingNode = 1,
    RepellingNode = 2,
    AttractingFocus = 3,
    RepellingFocus = 4,
    Center = 5,
    /// An isolated zero at a vertex: its index tells more.
    VertexZero = 6,
    /// An isolated zero inside an edge.
    EdgeZero = 7,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 8;
    /// All of them, by number.
    pub const ALL: [Kind; Kind::COUNT] = [
        Kind::Saddle,
        Kind::AttractingNode,
        Kind::RepellingNode,
        Kind::AttractingFocus,
        Kind::RepellingFocus,
        Kind::Center,
        Kind::VertexZero,
        Kind::EdgeZero,
    ];

    /// The kind of a critical point that is no saddle.
    fn from_signs(trace: i32, discriminant: i32) -> Self {
        match (trace, discriminant) {
            (0, _) => Kind::Center,
            (1, -1) => Kind::RepellingFocus,
            (1, _) => Kind::RepellingNode,
            (_, -1) => Kind::AttractingFocus,
            _ => Kind::AttractingNode,
        }
    }

    /// The sign of the trace where the eigenvalues are complex.
    fn complex(self) -> Option<i32> {
        match self {
            Kind::AttractingFocus => Some(-1),
            Kind::RepellingFocus => Some(1),
            Kind::Center => Some(0),
            _ => None,
        }
    }
}

/// One critical point: a zero of the piecewise linear field without other zeros beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CriticalPoint {
    /// The base of the simplex that holds it.
    pub cell_x: u64,
    pub cell_y: u64,
    /// The plane of a stack.
    pub cell_z: u64,
    pub simplex: Simplex,
    pub kind: Kind,
    /// The Poincare index: -1 of a saddle, 1 of others inside a triangle. None of a zero at the border of the
    /// grid or beside missing vertices.
    pub index: Option<i32>,
    /// Whether the divergence of a focus is at the level of rounding, so that it may be a centre in truth: at
    /// most 1e-5 (f32) or 1e-12 (f64) of the sum of the magnitudes of all derivatives.
    pub rounding_divergence: bool,
    /// Its position: grid coordinates times the spacing, whose signs it has.
    pub x: f64,
    pub y: f64,
    /// Real and imaginary parts of the eigenvalues of the Jacobian, rounded: the larger real one first, or
    /// that with a positive imaginary part. NaN at vertices and on edges, and where derivatives overflow.
    pub eigenvalues_real: [f64; 2],
    pub eigenvalues_imaginary: [f64; 2],
}

/// All critical points, by planes, then by rows of bases, by columns, and by the number of the simplex.
///
/// `u` and `v` must cover the grid of the request and its ghosts; `threads` of 0 means one per processor, and
/// the result does not depend on it. A critical point lies strictly inside its triangle (class IN of
/// docs/algorithm.md, section 2), or is an isolated zero at a vertex or inside an edge (section 2.6).
/// Triangles with a missing vertex do not count.
pub fn critical_points<T: Real>(
    request: &Request,
    [u, v]: [View<'_, T>; 2],
    threads: usize,
) -> Result<Vec<CriticalPoint>> {
    let domain = Domain::new(request, &[("u", u), ("v", v)])?;
    let find = |z: u64, band: Range<u64>| {
        let views = [of_plane([u, v], z)];
        let mut search = Search { fields: Fields { domain: &domain, views: &views }, z, found: Vec::new() };
        let (mut low, mut high) = (rows_of(domain.columns)?, rows_of(domain.columns)?);
        let load = |y: u64, row: &mut _| {
            domain.load(&views[0], y as i64, row);
            domain.hide_filled(row, |_, _| {});
        };
        load(band.start, &mut low);
        for y in band {
            let has_cells = y + 1 < domain.rows;
            if has_cells {
                load(y + 1, &mut high);
            }
            search.row(y, &low, has_cells.then_some(&high))?;
            std::mem::swap(&mut low, &mut high);
        }
        Ok(search.found)
    };
    guarded(|| {
        let found = in_bands(domain.grid, Threads::new(threads), find)?;
        let mut all = memory::with_capacity(found.iter().map(Vec::len).sum())?;
        found.iter().for_each(|points| all.extend_from_slice(points));
        Ok(all)
    })
}

/// The points of some rows.
struct Search<'a, T> {
    fields: Fields<'a, T, 1>,
    z: u64,
    found: Vec<CriticalPoint>,
}

impl<T: Real> Search<'_, T> {
    /// Adds those with a base in row `y`; `high` is the row above it.
    fn row(&mut self, y: u64, low: &[Vec<T>; 2], high: Option<&[Vec<T>; 2]>) -> Result<()> {
        let Domain { grid, columns, .. } = *self.fields.domain;
        let cells = if high.is_some() { columns - 1 } else { 0 };
        if let Some(high) = high {
            let rows = [[&low[0][..], &low[1][..]], [&high[0][..], &high[1][..]]];
            for x in 0..cells {
                let [lower, upper] = Triangle::ALL.map(|triangle| vectors(rows, x as usize, triangle));
                let open = self.triangle((x, y), &lower, Triangle::Lower)?
                    | self.triangle((x, y), &upper, Triangle::Upper)?;
                if open != 0 {
                    self.zeros((x, y), open)?;
                }
            }
        }
        // The last column or row may have no cells.
        for x in cells..grid.nx {
            self.zeros((x, y), Simplex::ALL_FACES)?;
        }
        Ok(())
    }

    /// Adds the point inside a triangle. Answers which simplices on its boundary may hold zeros.
    #[inline(always)]
    fn triangle(&mut self, base: (u64, u64), p: &[[T; 2]; 3], triangle: Triangle) -> Result<u32> {
        if one_sided(p) {
            return Ok(0);
        }
        if !finite(p) {
            let has_base = p[0][0].is_finite() && p[0][1].is_finite();
            return Ok(if has_base { triangle.owned_faces() } else { 0 });
        }
        match kind(p, &signs(p)) {
            OUT => Ok(0),
            IN => self.inside(base, p, triangle).map(|()| 0),
            _ => Ok(candidates(p, triangle)),
        }
    }

    #[inline(never)]
    fn inside(&mut self, (x, y): (u64, u64), p: &[[T; 2]; 3], triangle: Triangle) -> Result<()> {
        let rule = &self.fields.domain.rule;
        let Some(kind) = kind_of(p, triangle, rule) else { return Ok(()) };
        let (local_x, local_y) = position(p, triangle);
        let spectrum = Spectrum::of(p, triangle, kind.complex(), rule);
        let point = CriticalPoint {
            cell_x: x,
            cell_y: y,
            cell_z: self.z,
            simplex: triangle.simplex(),
            kind,
            index: Some(if kind == Kind::Saddle { -1 } else { 1 }),
            rounding_divergence: spectrum.rounding_divergence,
            x: (x as f64 + local_x) * rule.dx,
            y: (y as f64 + local_y) * rule.dy,
            eigenvalues_real: spectrum.real,
            eigenvalues_imaginary: spectrum.imaginary,
        };
        memory::push(&mut self.found, point)
    }

    /// Adds the isolated zeros among a set of edges and the vertex of a base.
    #[inline(never)]
    fn zeros(&mut self, base: (u64, u64), open: u32) -> Result<()> {
        for simplex in Simplex::ALL.into_iter().filter(|s| open & s.bit() != 0) {
            if let [Some(index)] = self.fields.zeros(simplex, base.0, base.1) {
                self.zero(simplex, base, index)?;
            }
        }
        Ok(())
    }

    fn zero(&mut self, simplex: Simplex, (x, y): (u64, u64), index: Index) -> Result<()> {
        let rule = &self.fields.domain.rule;
        let [local_x, local_y] = self.fields.position(simplex, x, y);
        let point = CriticalPoint {
            cell_x: x,
            cell_y: y,
            cell_z: self.z,
            simplex,
            kind: if simplex == Simplex::Vertex { Kind::VertexZero } else { Kind::EdgeZero },
            index,
            rounding_divergence: false,
            x: (x as f64 + local_x) * rule.dx,
            y: (y as f64 + local_y) * rule.dy,
            eigenvalues_real: Spectrum::UNKNOWN.real,
            eigenvalues_imaginary: Spectrum::UNKNOWN.imaginary,
        };
        memory::push(&mut self.found, point)
    }
}

/// The exact kind of the critical point in a triangle, if there is one. `rule` must ask for types.
pub(super) fn kind_of<T: Real>(p: &[[T; 2]; 3], triangle: Triangle, rule: &Rule) -> Option<Kind> {
    let found = signature(p, triangle, rule);
    if !is_critical(found) {
        return None;
    }
    let (trace, discriminant) = if found == UNCERTAIN {
        exact_type(p, triangle, rule)
    } else {
        match certified_type(found) {
            None => return Some(Kind::Saddle),
            Some(signs) => signs,
        }
    };
    Some(Kind::from_signs(trace, discriminant))
}

/// The position of the zero inside its cell, from barycentric coordinates in f64, in the closed
/// triangle whatever the rounding.
fn position<T: Real>(p: &[[T; 2]; 3], triangle: Triangle) -> (f64, f64) {
    // The determinants of scaled vectors neither overflow nor all underflow.
    let largest = p.iter().flatten().fold(0.0, |m: f64, c| m.max(c.to_f64().abs()));
    let q = p.map(|c| c.map(|x| x.to_f64() / largest));
    let m = |i: usize, j: usize| (q[i][0] * q[j][1] - q[j][0] * q[i][1]).abs();
    let m = [m(1, 2), m(2, 0), m(0, 1)];
    let sum = m[0] + m[1] + m[2];
    let weight = |k: usize| if sum > 0.0 { m[k] / sum } else { 1.0 / 3.0 };
    let far = (weight(1) + weight(2)).min(1.0);
    // Corner 0 is the base. Offsets along an axis are 0 or 1.
    let along = |axis: usize| match [1, 2].map(|k| triangle.offsets()[k][axis]) {
        [1, 1] => far,
        [1, _] => weight(1).min(far),
        _ => weight(2).min(far),
    };
    (along(0), along(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{BoundKind, Config, Dtype};

    /// A linear field (x - 0.75, y - 0.25) mapped by a matrix, at the four vertices of one cell.
    fn one(matrix: [[f64; 2]; 2], dx: f64, dy: f64) -> Vec<CriticalPoint> {
        let at = |row: [f64; 2]| -> Vec<f64> {
            [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)]
                .iter()
                .map(|(x, y)| row[0] * (x - 0.75) + row[1] * (y - 0.25))
                .collect()
        };
        let (u, v) = (at(matrix[0]), at(matrix[1]));
        let config = Config { dtype: Dtype::F64, dx, dy, ..Config::new(2, 2, BoundKind::Absolute, 0.0) };
        let request = Request::new(config).unwrap();
        critical_points(&request, [View::dense(&u, 2), View::dense(&v, 2)], 1).unwrap()
    }

    #[test]
    fn every_kind_is_recognised() {
        for (matrix, kind) in [
            ([[1.0, 0.0], [0.0, -1.0]], Kind::Saddle),
            ([[-1.0, 0.0], [0.0, -2.0]], Kind::AttractingNode),
            ([[1.0, 0.0], [0.0, 2.0]], Kind::RepellingNode),
            // A discriminant of exactly zero is a node, a trace of exactly zero a centre.
            ([[1.0, 0.0], [0.0, 1.0]], Kind::RepellingNode),
            ([[-1.0, 1.0], [-1.0, -1.0]], Kind::AttractingFocus),
            ([[1.0, 1.0], [-1.0, 1.0]], Kind::RepellingFocus),
            ([[1.0, 2.0], [-2.0, -1.0]], Kind::Center),
        ] {
            let found = one(matrix, 1.0, 1.0);
            assert_eq!(found.len(), 1, "{kind:?}");
            assert_eq!((found[0].kind, found[0].simplex), (kind, Simplex::Lower));
            assert!((found[0].x - 0.75).abs() < 1e-12 && (found[0].y - 0.25).abs() < 1e-12);
        }
    }

    #[test]
    fn spacing_scales_positions_and_decides_types() {
        let found = one([[1.0, 2.0], [-2.0, -1.0]], 2.0, 1.0);
        assert_eq!(found[0].kind, Kind::AttractingFocus);
        assert!((found[0].x - 1.5).abs() < 1e-12);
    }

    /// A vortex that turns counterclockwise, seen from every side: its rows and columns in both orders.
    #[test]
    fn axes_that_run_backwards_have_the_types_of_the_plane() {
        for (matrix, kind) in [
            ([[-1.0, -3.0], [3.0, -1.0]], Kind::AttractingFocus),
            ([[1.0, 0.25], [0.5, 2.0]], Kind::RepellingNode),
            ([[0.0, -3.0], [3.0, 0.0]], Kind::Center),
            ([[1.0, 3.0], [3.0, 1.0]], Kind::Saddle),
        ] {
            for (dx, dy) in [(2.0, 2.0), (2.0, -2.0), (-2.0, 2.0), (-2.0, -2.0)] {
                let stored = matrix.map(|[along_x, along_y]| [along_x * dx, along_y * dy]);
                let found = one(stored, dx, dy);
                assert_eq!((found.len(), found[0].kind), (1, kind), "{dx} {dy}");
                assert!((found[0].x - 0.75 * dx).abs() < 1e-12 && (found[0].y - 0.25 * dy).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn order_and_result_do_not_depend_on_threads() {
        let (nx, ny) = (37u64, 81u64);
        let value = |i: u64| ((i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f32) - 8e6;
        let u: Vec<f32> = (0..nx * ny).map(value).collect();
        let v: Vec<f32> = (nx * ny..2 * nx * ny).map(value).collect();
        let request = Request::new(Config::new(nx, ny, BoundKind::Absolute, 0.0)).unwrap();
        let find =
            |threads| critical_points(&request, [View::dense(&u, nx), View::dense(&v, nx)], threads).unwrap();
        let one = find(1);
        assert!(one.len() > 100 && one == find(3) && one == find(0));
        assert!(one.windows(2).all(|w| {
            (w[0].cell_y, w[0].cell_x, w[0].simplex) < (w[1].cell_y, w[1].cell_x, w[1].simplex)
        }));
    }
}
