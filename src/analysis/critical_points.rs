//! The critical points of a field, with exact types.

use super::{guarded, in_bands, row_of, vectors, Domain, READ_SIDES, TRIANGLES};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::triangles::Triangle;
use crate::request::Request;
use crate::runtime::memory;
use crate::topology::exact_type::exact_type;
use crate::topology::signature::{certified_type, is_critical, signature, Rule, UNCERTAIN};
use std::ops::Range;

/// The type of a critical point, from the exact signs of determinant, trace and discriminant.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Saddle = 0,
    AttractingNode = 1,
    RepellingNode = 2,
    AttractingFocus = 3,
    RepellingFocus = 4,
    Center = 5,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 6;
    /// All of them, by number.
    pub const ALL: [Kind; Kind::COUNT] = [
        Kind::Saddle,
        Kind::AttractingNode,
        Kind::RepellingNode,
        Kind::AttractingFocus,
        Kind::RepellingFocus,
        Kind::Center,
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
}

/// One critical point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CriticalPoint {
    /// The cell that holds it.
    pub x_cell: u64,
    pub y_cell: u64,
    /// 0 for the lower, 1 for the upper triangle of the cell.
    pub triangle: u32,
    pub kind: Kind,
    /// Its position: grid coordinates times the spacing, whose signs it has.
    pub x: f64,
    pub y: f64,
}

/// All critical points, by rows of cells, then by columns, the lower triangle of a cell first.
///
/// `u` and `v` must cover the grid of the request and its ghosts on the sides in [`READ_SIDES`], whose cells
/// are looked at as well; `threads` of 0 means one per processor, and the result does not depend on it. A
/// critical point lies strictly inside its triangle (class IN of docs/algorithm.md, section 2); triangles
/// with a missing vertex have none.
pub fn critical_points<T: Real>(
    request: &Request,
    [u, v]: [View<'_, T>; 2],
    threads: usize,
) -> Result<Vec<CriticalPoint>> {
    let domain = Domain::new(request, request.config().halo & READ_SIDES, &[("u", u), ("v", v)])?;
    let find = |band: Range<u64>| {
        let mut found = Vec::new();
        let row =
            || -> Result<_> { Ok([row_of(T::ZERO, domain.columns)?, row_of(T::ZERO, domain.columns)?]) };
        let (mut low, mut high) = (row()?, row()?);
        let load = |y, row: &mut _| {
            domain.load(&[u, v], y, row);
            domain.hide_filled(row, |_, _| {});
        };
        load(band.start, &mut low);
        for y in band {
            load(y + 1, &mut high);
            find_in_row(&domain, y, [&low, &high], &mut found)?;
            std::mem::swap(&mut low, &mut high);
        }
        Ok(found)
    };
    guarded(|| {
        let found = in_bands(domain.rows - 1, threads, find)?;
        let mut all = memory::with_capacity(found.iter().map(Vec::len).sum())?;
        found.iter().for_each(|points| all.extend_from_slice(points));
        Ok(all)
    })
}

/// Adds the critical points of row `y` of cells.
fn find_in_row<T: Real>(
    domain: &Domain,
    y: u64,
    [low, high]: [&[Vec<T>; 2]; 2],
    found: &mut Vec<CriticalPoint>,
) -> Result<()> {
    let rows = [[&low[0][..], &low[1][..]], [&high[0][..], &high[1][..]]];
    for x in 0..domain.columns as usize - 1 {
        for (index, triangle) in TRIANGLES.into_iter().enumerate() {
            let p = vectors(rows, x, triangle);
            let Some(kind) = kind_of(&p, triangle, &domain.rule) else { continue };
            let (local_x, local_y) = position(&p, triangle);
            let point = CriticalPoint {
                x_cell: x as u64,
                y_cell: y,
                triangle: index as u32,
                kind,
                x: (x as f64 + local_x) * domain.rule.dx,
                y: (y as f64 + local_y) * domain.rule.dy,
            };
            memory::push(found, point)?;
        }
    }
    Ok(())
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
    match triangle {
        Triangle::Lower => {
            let x = (weight(1) + weight(2)).min(1.0);
            (x, weight(2).min(x))
        }
        Triangle::Upper => {
            let y = (weight(1) + weight(2)).min(1.0);
            (weight(1).min(y), y)
        }
    }
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
            assert_eq!((found[0].kind, found[0].triangle), (kind, 0));
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
            (w[0].y_cell, w[0].x_cell, w[0].triangle) < (w[1].y_cell, w[1].x_cell, w[1].triangle)
        }));
    }
}
