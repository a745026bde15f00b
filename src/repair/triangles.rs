//! The triangles of a grid, and the search for those that do not keep their signature.

use super::mesh::Mesh;
use super::values::{place, Values, UNCHANGED};
use crate::analysis::compare::Both;
use crate::analysis::in_bands;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::{cell, Triangle, STAR, TRIANGLES, VERTICES};
use crate::grid::sides::sides_beyond;
use crate::grid::tiles::{Grid, PERIODIC_X, PERIODIC_Y, TILE};
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::tile::bounds::Border;
use crate::tile::constraints::Constraints;
use crate::topology::bound::triangle_bound;
use crate::topology::signature::one_sided;
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

impl<T: Real> Triangles<'_, T> {
    /// Columns and rows of the cells of a plane.
    fn cells(&self) -> [u64; 2] {
        let Grid { nx, ny, periodic, .. } = self.grid;
        let along = |n: u64, bit: u32| n - (periodic & bit == 0) as u64;
        [along(nx, PERIODIC_X), along(ny, PERIODIC_Y)]
    }

    /// Visits the vertices on sides that are pinned or have a halo.
    pub fn on_sides(&self, mut visit: impl FnMut(u64)) {
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
        let (mut open, mut found) = (memory::filled(columns as usize, 0u8)?, Vec::new());
        low.load(self, values, z, band.start);
        for y in band.start..rows.min(band.end) {
            high.load(self, values, z, y + 1);
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

    fn around(&self, vertex: u64, mut visit: impl FnMut(u64)) {
        let (z, [x, y]) = place(self.grid, vertex);
        let [columns, rows] = self.cells();
        for incident in &STAR {
            let at = self.grid.wrapped([x + incident.cell[0], y + incident.cell[1]]);
            if (0..columns as i64).contains(&at[0]) && (0..rows as i64).contains(&at[1]) {
                visit(self.number(z, at) * Self::OF_CELL + incident.triangle as u64);
            }
        }
    }

    fn is_missing(&self, original: [T; 2]) -> bool {
        self.constraints.missing.is_missing(original)
    }

    fn keeps(&self, simplex: u64, before: &[[T; 2]; VERTICES], after: &[[T; 2]; VERTICES]) -> bool {
        (one_sided(before) && one_sided(after))
            || before == after
            || Both::new(before, after).keeps(Self::of(simplex).1, &self.constraints.rule)
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

/// The original has no data at a vertex.
const MISSING: u8 = 1;
/// The vertex has its original values.
const SAME: u8 = 2;
/// The signs of the original's components, and those of the values now.
const BEFORE: u8 = 0x0f;
const AFTER: u8 = 0xf0;

/// A row of vertices: the original and the values now, the strict signs of both, and flags.
struct Row<T> {
    values: [[Vec<T>; 2]; 2],
    /// By component, u first: a bit if it is positive, and one if it is negative.
    signs: Vec<u8>,
    flags: Vec<u8>,
}

impl<T: Real> Row<T> {
    fn new(vertices: u64) -> Result<Self> {
        let n = vertices as usize;
        let component = || memory::filled(n, T::ZERO);
        let values = [[component()?, component()?], [component()?, component()?]];
        Ok(Row { values, signs: memory::filled(n, 0)?, flags: memory::filled(n, 0)? })
    }

    /// u and v of the original (0) or the values now (1).
    fn field(&self, which: usize) -> [&[T]; 2] {
        self.values[which].each_ref().map(|component| &component[..])
    }

    fn load(&mut self, mesh: &Triangles<'_, T>, values: &Values<'_, T, 2>, z: u64, y: u64) {
        let grid = mesh.grid;
        let [_, y] = grid.wrapped([0, y as i64]);
        let owned = grid.nx as usize;
        for (row, views) in self.values.iter_mut().zip([&values.original, &values.other]) {
            for (row, view) in row.iter_mut().zip(views) {
                view.plane(z).read_row(0, y, &mut row[..owned]);
            }
        }
        let first = mesh.number(z, [0, y]);
        for x in (0..owned).filter(|&x| values.level(first + x as u64) != UNCHANGED) {
            let now = values.current(first + x as u64);
            self.values[1].iter_mut().zip(now).for_each(|(row, value)| row[x] = value);
        }
        if self.signs.len() > owned {
            self.values.iter_mut().flatten().for_each(|row| row[owned] = row[0]);
        }
        self.classify(mesh);
    }

    fn classify(&mut self, mesh: &Triangles<'_, T>) {
        let n = self.signs.len();
        let [[u0, v0], [u1, v1]] = self.values.each_ref().map(|field| field.each_ref().map(|row| &row[..n]));
        let (signs, flags) = (&mut self.signs[..n], &mut self.flags[..n]);
        let bits = |x: T| (x > T::ZERO) as u8 | ((x < T::ZERO) as u8) << 1;
        // Written without branches, so that the compiler can use vector instructions.
        for x in 0..n {
            signs[x] = bits(u0[x]) | bits(v0[x]) << 2 | bits(u1[x]) << 4 | bits(v1[x]) << 6;
            let same = (u0[x] == u1[x]) & (v0[x] == v1[x]);
            let finite = u0[x].is_finite() & v0[x].is_finite();
            flags[x] = (!finite as u8 * MISSING) | (same as u8 * SAME);
        }
        if mesh.constraints.missing.has_fill() {
            for x in (0..n).filter(|&x| mesh.constraints.missing.is_filled([u0[x], v0[x]])) {
                flags[x] |= MISSING;
            }
        }
    }
}

/// Finds the triangles between two rows that signs do not settle: bit t of a cell says so of its triangle t.
/// In both fields a component of a triangle that is settled has one strict sign; or a vertex is missing, or
/// nothing was changed.
fn open_triangles<T>([low, high]: [&Row<T>; 2], open: &mut [u8]) {
    let signs = [&low.signs[..], &high.signs];
    let flags = [&low.flags[..], &high.flags];
    for (x, open) in open.iter_mut().enumerate() {
        let (signs, flags) = (cell(signs, x), cell(flags, x));
        let is_open = |triangle: Triangle| {
            let ([p, q, r], [a, b, c]) = (triangle.of(&signs), triangle.of(&flags));
            let (common, any, all) = (p & q & r, a | b | c, a & b & c);
            ((common & BEFORE == 0) | (common & AFTER == 0)) & (any & MISSING == 0) & (all & SAME == 0)
        };
        *open = is_open(Triangle::Lower) as u8 | (is_open(Triangle::Upper) as u8) << 1;
    }
}
