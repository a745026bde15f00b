//! The triangles of a grid, and the search for those that do not keep their signature.

use super::mesh::Mesh;
use super::row::{Row, MISSING, SAME};
use super::values::{place, Values};
use crate::analysis::compare::Both;
use crate::analysis::in_bands;
use crate::analysis::strict_signs::settle;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::{cell, Triangle, STAR, TRIANGLES, VERTICES};
use crate::grid::missing::Missing;
use crate::grid::sides::{periodic_sides, sides_beyond};
use crate::grid::tiles::{Grid, PERIODIC_X, PERIODIC_Y, TILE};
use crate::predict::quantizer::round_up;
use crate::request::Request;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::tile::bounds::Border;
use crate::tile::constraints::Constraints;
use crate::topology::bound::triangle_bound;
use crate::topology::signature::{one_sided, Rule};
use std::ops::Range;

/// The triangles of all planes. Triangle t of the cell at vertex number n has the number 2 n + t.
pub struct Triangles<'a, T> {
    pub grid: Grid,
    pub original: [View<'a, T>; 2],
    /// Their error bound is the largest error of the reconstruction.
    pub constraints: Constraints<T>,
    /// Sides with ghosts, which no other vertices of this grid are.
    pub halo: u32,
}

impl<'a, T: Real> Triangles<'a, T> {
    /// The triangles of a field, with the rule of a configuration; `radius` is the largest error of the reconstruction.
    pub fn new(request: &Request, original: [View<'a, T>; 2], radius: f64) -> Self {
        let config = request.config();
        let constraints = Constraints {
            mode: config.mode,
            preserve: config.preserve,
            rule: Rule::of(config),
            bound: radius,
            bound_up: round_up(radius),
            halo: config.halo | periodic_sides(config.periodic),
            pin: config.pin,
            bounds_on_demand: false,
            missing: Missing::new::<T>(config.fill_value),
            fill: None,
        };
        Triangles { grid: request.grid(), original, constraints, halo: config.halo }
    }

    /// Columns and rows of the cells of a plane.
    fn cells(&self) -> [u64; 2] {
        let Grid { nx, ny, periodic, .. } = self.grid;
        let along = |n: u64, bit: u32| n - (periodic & bit == 0) as u64;
        [along(nx, PERIODIC_X), along(ny, PERIODIC_Y)]
    }

    fn of(simplex: u64) -> (u64, Triangle) {
        (simplex / TRIANGLES as u64, Triangle::ALL[(simplex % TRIANGLES as u64) as usize])
    }

    /// The number of a vertex of a plane, whose coordinates may lie beyond a periodic side.
    fn number(&self, z: u64, at: [i64; 2]) -> u64 {
        let [x, y] = self.grid.wrapped(at);
        (z * self.grid.ny + y as u64) * self.grid.nx + x as u64
    }

    /// The violated triangles of the cells that begin in some rows of a plane.
    fn violated_in_band(&self, values: &Values<'_, T, 2>, z: u64, band: Range<u64>) -> Result<Vec<u64>> {
        let [columns, rows] = self.cells();
        let (mut low, mut high) = (Row::new(columns + 1)?, Row::new(columns + 1)?);
        let missing = &self.constraints.missing;
        let (mut open, mut found) = (memory::filled(columns as usize, 0u8)?, Vec::new());
        low.load(missing, values, z, band.start as i64);
        for y in band.start..rows.min(band.end) {
            let [_, next] = self.grid.wrapped([0, y as i64 + 1]);
            high.load(missing, values, z, next);
            open_triangles([&low, &high], &mut open);
            for (x, &open) in open.iter().enumerate().filter(|(_, open)| **open != 0) {
                for triangle in Triangle::ALL.into_iter().filter(|&t| open >> t as u32 & 1 != 0) {
                    let simplex = self.number(z, [x as i64, y as i64]) * Self::OF_CELL + triangle as u64;
                    let [before, after] = [0, 1].map(|field| {
                        let rows = [low.field(field), high.field(field)];
                        triangle.offsets().map(|[dx, dy]| rows[dy].map(|component| component[x + dx]))
                    });
                    if !self.keeps(simplex, &before, &after) {
                        memory::push(&mut found, simplex)?;
                    }
                }
            }
            std::mem::swap(&mut low, &mut high);
        }
        Ok(found)
    }
}

impl<T: Real> Mesh<T, 2, VERTICES> for Triangles<'_, T> {
    const OF_CELL: u64 = TRIANGLES as u64;

    fn corners(&self, simplex: u64) -> [u64; VERTICES] {
        let (base, triangle) = Self::of(simplex);
        let (z, [x, y]) = place(self.grid, base);
        triangle.offsets().map(|[dx, dy]| self.number(z, [x + dx as i64, y + dy as i64]))
    }

    #[inline(always)]
    fn any_around(&self, vertex: u64, mut test: impl FnMut(u64) -> bool) -> bool {
        let (z, [x, y]) = place(self.grid, vertex);
        let [columns, rows] = self.cells();
        STAR.iter().any(|incident| {
            let at = self.grid.wrapped([x + incident.cell[0], y + incident.cell[1]]);
            (0..columns as i64).contains(&at[0])
                && (0..rows as i64).contains(&at[1])
                && test(self.number(z, at) * Self::OF_CELL + incident.triangle as u64)
        })
    }

    fn is_missing(&self, original: [T; 2]) -> bool {
        self.constraints.missing.is_missing(original)
    }

    fn keeping<'b>(
        &'b self,
        simplex: u64,
        before: &'b [[T; 2]; VERTICES],
    ) -> impl Fn(&[[T; 2]; VERTICES]) -> bool + 'b {
        let is_one_sided = one_sided(before);
        move |after| {
            (is_one_sided && one_sided(after))
                || before == after
                || Both::new(before, after).keeps(Self::of(simplex).1, &self.constraints.rule)
        }
    }

    fn border_bound(&self, vertex: u64) -> T {
        let (z, [x, y]) = place(self.grid, vertex);
        let sides = self.halo | self.constraints.pin;
        let beyond = |at| sides_beyond(self.grid, at) & sides;
        if beyond([x - 1, y]) | beyond([x + 1, y]) | beyond([x, y - 1]) | beyond([x, y + 1]) == 0 {
            return T::MAX;
        }
        let views = self.original.map(|view| view.plane(z));
        let border = Border { grid: self.grid, views, constraints: &self.constraints, open: self.halo };
        border.vertex_bound(x, y)
    }

    fn on_sides(&self, mut visit: impl FnMut(u64)) {
        let (nx, ny) = (self.grid.nx as i64, self.grid.ny as i64);
        let beyond = |at| sides_beyond(self.grid, at) & (self.halo | self.constraints.pin) != 0;
        for z in 0..self.grid.nz {
            for y in 0..ny {
                let whole_row = (y == 0 && beyond([0, -1])) || (y + 1 == ny && beyond([0, ny]));
                let step = if whole_row { 1 } else { (nx - 1).max(1) };
                for x in (0..nx).step_by(step as usize) {
                    if whole_row || (x == 0 && beyond([-1, y])) || (x + 1 == nx && beyond([nx, y])) {
                        visit(self.number(z, [x, y]));
                    }
                }
            }
        }
    }

    fn bound(&self, simplex: u64, before: &[[T; 2]; VERTICES]) -> T {
        let Constraints { rule, bound, .. } = &self.constraints;
        triangle_bound(before, Self::of(simplex).1, rule, *bound)
    }

    fn blocks(&self) -> u64 {
        self.grid.tiles()
    }

    fn block(&self, vertex: u64) -> u64 {
        let (z, [x, y]) = place(self.grid, vertex);
        let [tx, ty] = [x, y].map(|k| k as u64 / TILE as u64);
        (z * self.grid.tiles_y() + ty) * self.grid.tiles_x() + tx
    }

    fn violated(&self, values: &Values<'_, T, 2>, threads: Threads) -> Result<Vec<Vec<u64>>> {
        in_bands(self.grid, threads, |z, rows| self.violated_in_band(values, z, rows))
    }
}

/// Finds the triangles between two rows that signs do not settle: bit t of a cell says so of its triangle t.
/// In both fields a component of a triangle that is settled has one strict sign; or a vertex is missing, or
/// nothing was changed.
fn open_triangles<T>([low, high]: [&Row<T, 2>; 2], open: &mut [u8]) {
    let signs = [&low.signs[..], &high.signs];
    let flags = [&low.flags[..], &high.flags];
    for (x, open) in open.iter_mut().enumerate() {
        let (signs, flags) = (cell(signs, x), cell(flags, x));
        let is_open = |triangle: Triangle| {
            let ([p, q, r], [a, b, c]) = (triangle.of(&signs), triangle.of(&flags));
            let (common, any, all) = (p & q & r, a | b | c, a & b & c);
            !settle::<2>(common) & (any & MISSING == 0) & (all & SAME == 0)
        };
        *open = is_open(Triangle::Lower) as u8 | (is_open(Triangle::Upper) as u8) << 1;
    }
}
