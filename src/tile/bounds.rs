//! Bounds of the vertices of a window: which of them could change a triangle within the error bound, and how
//! far each may move.

use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::mesh::{cell, Corner, Triangle, A, B, C, CORNERS, D, STAR, TRIANGLES};
use crate::grid::sides::sides_beyond;
use crate::grid::tiles::{Grid, FRAMED};
use crate::predict::interpolation::PITCH;
use crate::request::{Mode, Preserve};
use crate::tile::constraints::Constraints;
use crate::tile::on_demand::PART;
use crate::tile::window::{bits_of, Rectangle, TileWindow, FLAGS};
use crate::topology::bound::{axis_distance, edge_distance, round_down, triangle_bound};
use crate::topology::signature::{is_critical, signature, Rule};

impl<T: Real> TileWindow<T> {
    /// Finds the triangles that come within the error bound of the origin by their bounding boxes: their
    /// vertices are constrained, and bounded where the mode is block-wise.
    #[inline(always)]
    pub(super) fn constrain(&mut self, constraints: &Constraints<T>) {
        if self.width < 2 || self.height < 2 {
            return;
        }
        for y in 0..self.height - 1 {
            if self.spans[y].clear(&self.spans[y + 1], constraints.bound_up) {
                continue;
            }
            if constraints.bounds_on_demand {
                self.constrain_row(y, constraints);
                continue;
            }
            let near = self.near_triangles(y, constraints.bound_up);
            if near == [0; TRIANGLES] {
                continue;
            }
            self.begin_bounds();
            self.constrain_vertices(y, near);
            for (k, (triangle, mut mask)) in Triangle::ALL.into_iter().zip(near).enumerate() {
                while mask != 0 {
                    let x = mask.trailing_zeros() as usize;
                    let corners = self.corner_values(x, y, triangle);
                    if constraints.mode == Mode::BlockWise {
                        self.bound_triangle(x, y, triangle, &corners, constraints);
                    }
                    // Most triangles here have one component of one sign.
                    self.may_be_critical[y][k] |= ((axis_distance(&corners) <= T::ZERO) as u64) << x;
                    mask &= mask - 1;
                }
            }
        }
    }

    /// Adds the triangles with a critical point, of the cells from this column and row on, to the stats. The
    /// window must hold the values that it was loaded with.
    pub(super) fn count_critical_points(&mut self, (first_x, first_y): (usize, usize), rule: &Rule) {
        let mut critical = 0;
        for y in first_y..self.height.saturating_sub(1) {
            for (triangle, mask) in Triangle::ALL.into_iter().zip(self.may_be_critical[y]) {
                let mut mask = mask & (!0 << first_x);
                while mask != 0 {
                    let corners = self.corner_values(mask.trailing_zeros() as usize, y, triangle);
                    critical += is_critical(signature(&corners, triangle, rule)) as u64;
                    mask &= mask - 1;
                }
            }
        }
        self.stats.critical += critical;
    }

    /// Constrains the vertices of triangles of a row of cells.
    fn constrain_vertices(&mut self, y: usize, near: [u64; TRIANGLES]) {
        for (triangle, near) in Triangle::ALL.into_iter().zip(near) {
            for [dx, dy] in triangle.offsets() {
                self.constrained[y + dy] |= near << dx;
            }
        }
    }

    /// Triangles that have no bound in a row of cells: those that are zero at all corners, and those with a
    /// missing vertex.
    #[inline(always)]
    fn without_bound(&self, y: usize) -> [u64; TRIANGLES] {
        Triangle::ALL.map(|triangle| {
            let [zero, missing] =
                [&self.zero, &self.missing].map(|rows| triangle.offsets().map(|[dx, dy]| rows[y + dy] >> dx));
            (zero[0] & zero[1] & zero[2]) | (missing[0] | missing[1] | missing[2])
        })
    }

    /// [`TileWindow::constrain`] for a row of cells if bounds are computed on demand. Until its bound is
    /// computed, a triangle has a lower bound of it: the distance from the origin along the axes.
    #[inline(always)]
    fn constrain_row(&mut self, y: usize, constraints: &Constraints<T>) {
        let mut distances = self.axis_distances(y);
        let cells = self.width - 1;
        let without = self.without_bound(y);
        for (distances, mut without) in distances.iter_mut().zip(without) {
            without &= (1 << cells) - 1;
            while without != 0 {
                distances[without.trailing_zeros() as usize] = T::MAX;
                without &= without - 1;
            }
        }
        let [lower, upper] = &mut distances;
        let mut flags = [0u8; FLAGS];
        for x in 0..cells {
            let near = [lower[x] <= constraints.bound_up, upper[x] <= constraints.bound_up];
            let around = [lower[x] <= T::ZERO, upper[x] <= T::ZERO];
            flags[x] = near[0] as u8 | (near[1] as u8) << 1 | (around[0] as u8) << 2 | (around[1] as u8) << 3;
            lower[x] = if near[0] { lower[x] } else { T::MAX };
            upper[x] = if near[1] { upper[x] } else { T::MAX };
        }
        let near = [bits_of(&flags, 0), bits_of(&flags, 1)];
        if near == [0; 2] {
            return;
        }
        self.begin_bounds();
        self.constrain_vertices(y, near);
        self.may_be_critical[y] = [bits_of(&flags, 2), bits_of(&flags, 3)];
        let open = [near[0] & !without[0], near[1] & !without[1]];
        self.on_demand.set_row(y, cells, &distances, open);
        self.lower_the_bounds(y, cells, &distances);
    }

    /// Lowers the bounds of the vertices of the triangles of a row of cells.
    #[inline(always)]
    fn lower_the_bounds(&mut self, y: usize, cells: usize, bounds: &[[T; FRAMED]; TRIANGLES]) {
        let (row, next) = self.lower_bounds[y * PITCH..(y + 2) * PITCH].split_at_mut(PITCH);
        let [lower, upper] = bounds;
        let least =
            |corner: Corner, x: usize| match [Triangle::Lower.has(corner), Triangle::Upper.has(corner)] {
                [true, true] => lower[x].min(upper[x]),
                [true, false] => lower[x],
                _ => upper[x],
            };
        // The left corners of all cells before the right ones, so that the compiler can use vector
        // instructions.
        for x in 0..cells {
            row[x] = row[x].min(least(A, x));
            next[x] = next[x].min(least(C, x));
        }
        for x in 0..cells {
            row[x + 1] = row[x + 1].min(least(B, x));
            next[x + 1] = next[x + 1].min(least(D, x));
        }
    }

    /// The distances from the origin, along the axes, of the lower and the upper triangles of a row of cells.
    #[inline(always)]
    fn axis_distances(&self, y: usize) -> [[T; FRAMED]; 2] {
        let (cells, row) = (self.width - 1, y * PITCH);
        let mut distances = [[T::ZERO; FRAMED]; 2];
        let [rows, next] =
            [row, row + PITCH].map(|row| [&self.u[row..row + cells + 1], &self.v[row..row + cells + 1]]);
        let [lower, upper] = &mut distances;
        let of = |p: [T; CORNERS]| {
            let (low, high) = (p[A].min(p[D]), p[A].max(p[D]));
            let with = |apex: T| low.min(apex).max(-high.max(apex));
            [with(p[Triangle::Lower.apex()]), with(p[Triangle::Upper.apex()])]
        };
        // Written without branches, so that the compiler can use vector instructions.
        for x in 0..cells {
            let (u, v) = (of(cell([rows[0], next[0]], x)), of(cell([rows[1], next[1]], x)));
            lower[x] = u[0].max(v[0]);
            upper[x] = u[1].max(v[1]);
        }
        distances
    }

    /// The bound of the errors of a constrained vertex. Where bounds are found on demand it is the least one
    /// of the triangles in the window, by their original values: those of the views that the window was
    /// loaded from.
    pub(super) fn vertex_bound(
        &mut self,
        (x, y): (usize, usize),
        [u, v]: [View<'_, T>; 2],
        constraints: &Constraints<T>,
    ) -> T {
        if !constraints.bounds_on_demand {
            return self.lower_bounds[y * PITCH + x];
        }
        let Constraints { rule, bound, .. } = constraints;
        let (cells, (x0, y0)) = (self.width - 1, self.on_demand.origin);
        let one = |(cx, cy): (usize, usize), triangle: Triangle| {
            let p = triangle.offsets().map(|[dx, dy]| {
                let (gx, gy) = ((x0 + (cx + dx) as u64) as i64, (y0 + (cy + dy) as u64) as i64);
                [u.get(gx, gy), v.get(gx, gy)]
            });
            triangle_bound(&p, triangle, rule, *bound)
        };
        self.on_demand.least_around(
            (x, y),
            *bound,
            one,
            #[inline(always)]
            |(cx, cy): (usize, usize)| {
                let mut rows = [[[T::ZERO; PART + 1]; 2]; 2];
                let vertices = (cells - cx).min(PART) + 1;
                for (dy, row) in rows.iter_mut().enumerate() {
                    let (gx, gy) = ((x0 + cx as u64) as i64, (y0 + (cy + dy) as u64) as i64);
                    u.read_row(gx, gy, &mut row[0][..vertices]);
                    v.read_row(gx, gy, &mut row[1][..vertices]);
                }
                edge_distances(&rows)
            },
        )
    }

    /// The lower and the upper triangles of a row of cells whose bounding box comes within `bound` of the
    /// origin on both axes, as bits by column. Triangles that are zero at all corners constrain nothing, nor
    /// do those with a missing vertex.
    #[inline(always)]
    fn near_triangles(&self, y: usize, bound: T) -> [u64; TRIANGLES] {
        let cells = self.width - 1;
        let (mut near, row) = ([0u8; FLAGS], y * PITCH);
        let rows =
            [&self.u, &self.v].map(|values| [row, row + PITCH].map(|row| &values[row..row + cells + 1]));
        // Written without branches, so that the compiler can use vector instructions.
        for x in 0..cells {
            let mut far = [false; TRIANGLES];
            for component in rows {
                let p = cell(component, x);
                let (low, high) = (p[A].min(p[D]), p[A].max(p[D]));
                let is_far = |apex: Corner| (low.min(p[apex]) > bound) | (high.max(p[apex]) < -bound);
                far[0] |= is_far(Triangle::Lower.apex());
                far[1] |= is_far(Triangle::Upper.apex());
            }
            near[x] = !far[0] as u8 | (!far[1] as u8) << 1;
        }
        let [lower, upper] = self.without_bound(y);
        [bits_of(&near, 0) & !lower, bits_of(&near, 1) & !upper]
    }

    /// Bounds the vertices of a triangle.
    fn bound_triangle(
        &mut self,
        x: usize,
        y: usize,
        triangle: Triangle,
        corners: &[[T; 2]; 3],
        constraints: &Constraints<T>,
    ) {
        let bound = triangle_bound(corners, triangle, &constraints.rule, constraints.bound);
        for [dx, dy] in triangle.offsets() {
            let i = (y + dy) * PITCH + x + dx;
            self.lower_bounds[i] = self.lower_bounds[i].min(bound);
        }
    }

    /// Vertices on the sides of the grid: exact on pinned sides, and under the bounds of the triangles that
    /// reach into the halo or across a periodic side.
    pub(super) fn constrain_border(
        &mut self,
        grid: Grid,
        views: [View<'_, T>; 2],
        area: Rectangle,
        constraints: &Constraints<T>,
    ) {
        // Nothing is known of what becomes of the vertices beyond these sides.
        let border = Border { grid, views, constraints, open: constraints.halo };
        let (nx, ny) = (grid.nx as i64, grid.ny as i64);
        for y in 0..self.height {
            for x in 0..self.width {
                let (gx, gy) = ((area.x0 + x as u64) as i64, (area.y0 + y as u64) as i64);
                if gx > 0 && gy > 0 && gx < nx - 1 && gy < ny - 1 {
                    continue;
                }
                let bound = border.vertex_bound(gx, gy);
                if bound < T::MAX {
                    self.begin_bounds();
                    self.constrained[y] |= 1 << x;
                    let i = y * PITCH + x;
                    self.lower_bounds[i] = self.lower_bounds[i].min(bound);
                }
            }
        }
    }

    /// Sets all bounds to the largest value, before the first bound is lowered.
    #[inline(always)]
    fn begin_bounds(&mut self) {
        if !self.any_constrained {
            self.any_constrained = true;
            self.lower_bounds = [T::MAX; PITCH * FRAMED];
            self.on_demand.clear(self.height);
        }
    }

    fn corner_values(&self, x: usize, y: usize, triangle: Triangle) -> [[T; 2]; 3] {
        triangle.offsets().map(|[dx, dy]| {
            let i = (y + dy) * PITCH + x + dx;
            [self.u[i], self.v[i]]
        })
    }
}

/// Of each lower and each upper triangle of two rows of vertices, a lower bound of the distances of its edges
/// from the origin. Written without branches, so that the compiler can use vector instructions.
#[inline(always)]
fn edge_distances<T: Real>([row, next]: &[[[T; PART + 1]; 2]; 2]) -> [[T; PART]; 2] {
    let mut edges = [[0.0; PART]; 2];
    for x in 0..PART {
        let [u, v] = [cell([&row[0], &next[0]], x), cell([&row[1], &next[1]], x)];
        let at = [[u[A], v[A]], [u[B], v[B]], [u[C], v[C]], [u[D], v[D]]];
        edges[0][x] = edge_distance(&Triangle::Lower.of(&at));
        edges[1][x] = edge_distance(&Triangle::Upper.of(&at));
    }
    let mut bounds = [[T::ZERO; PART]; 2];
    for x in 0..PART {
        bounds[0][x] = round_down(edges[0][x]);
        bounds[1][x] = round_down(edges[1][x]);
    }
    bounds
}

/// The sides of a grid.
pub(crate) struct Border<'a, T> {
    pub(crate) grid: Grid,
    pub(crate) views: [View<'a, T>; 2],
    pub(crate) constraints: &'a Constraints<T>,
    /// Sides beyond which vertices may move in ways that nobody checks; of those with a halo.
    pub(crate) open: u32,
}

impl<T: Real> Border<'_, T> {
    /// The part of the bound of a vertex on a side that comes from outside the grid: zero beside a pinned
    /// side, else the least bound of its triangles that reach over an open side.
    pub(crate) fn vertex_bound(&self, x: i64, y: i64) -> T {
        let Constraints { preserve, pin, halo, rule, bound, bound_up, missing, .. } = self.constraints;
        let beyond = |at| sides_beyond(self.grid, at);
        let around = beyond([x - 1, y]) | beyond([x + 1, y]) | beyond([x, y - 1]) | beyond([x, y + 1]);
        if around & pin != 0 {
            return T::ZERO;
        }
        let mut least = T::MAX;
        for incident in STAR.into_iter().filter(|_| *preserve != Preserve::None) {
            let corners = incident.offsets().map(|[dx, dy]| [x + dx, y + dy]);
            let outside = corners.into_iter().fold(0, |sides, at| sides | beyond(at));
            // A triangle exists where all the sides it reaches over have a halo.
            if outside & self.open == 0 || outside & !halo != 0 {
                continue;
            }
            let [u, v] = &self.views;
            let p = corners.map(|at| self.grid.wrapped(at)).map(|[x, y]| [u.get(x, y), v.get(x, y)]);
            // False if the distance is NaN: such a triangle is not skipped.
            let far = axis_distance(&p) > *bound_up;
            if !far && !p.iter().any(|&p| missing.is_filled(p)) {
                least = least.min(triangle_bound(&p, incident.triangle, rule, *bound));
            }
        }
        least
    }
}
