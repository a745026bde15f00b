//! The front end: a patch of vertices, the constraints on them, and their coding in dyadic order.
//!
//! A patch is a rectangle of at most 33 x 33 vertices that holds every triangle around the vertices
//! that are coded in it: three rows for a segment of a horizontal lattice line, three columns for a
//! vertical one, 3 x 3 for an anchor, the closed tile for the interior. Loading it finds the masks and
//! the constraints from the original values; coding then replaces values by what the decoder will
//! see, coarse to fine (CODEC section 4). In the speculative mode the patch is the state "committed
//! where committed, original elsewhere" of CODEC section 3.

use crate::field::View;
use crate::geometry::{corners, Grid, Triangle, ANCHOR_LEVEL, CLOSED, INCIDENT, TILE};
use crate::real::Real;
use crate::request::{Mode, Preserve, SIDE_FIRST_ROW, SIDE_LAST_ROW, SIDE_LEFT, SIDE_RIGHT};
use crate::stage::bound::{axis_distance, triangle_bound};
use crate::stage::predict::{along, centre, Kernel, PITCH};
use crate::stage::quantize::{Quantizer, EXACT, IDS, MASKED};
use crate::stage::signature::{is_critical, same, signature, Rule};
use crate::stage::symbol::Code;

/// What constrains the vertices besides the error bound.
#[derive(Clone, Copy, Debug)]
pub struct Constraints<T> {
    pub mode: Mode,
    pub preserve: Preserve,
    pub rule: Rule,
    /// The absolute error bound, and the same rounded up to T.
    pub bound: f64,
    pub bound_up: T,
    /// Sides with ghost vertices, and sides stored exactly.
    pub halo: u32,
    pub pin: u32,
    /// Bits of u and v that mark a missing vertex (the first non-finite one of the field).
    pub fill: Option<[u64; 2]>,
}

/// Counts of what was met while coding; sums over patches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub exact: u64,
    pub critical: u64,
    pub max_error: f64,
}

impl Tally {
    pub fn merge(self, other: Tally) -> Tally {
        Tally {
            exact: self.exact + other.exact,
            critical: self.critical + other.critical,
            max_error: if other.max_error > self.max_error { other.max_error } else { self.max_error },
        }
    }
}

/// A rectangle of vertices with their masks and constraints. Bit x of a mask's row y is column x.
pub struct Patch<T> {
    /// Columns and rows.
    pub width: usize,
    pub height: usize,
    pub u: [T; PITCH * CLOSED],
    pub v: [T; PITCH * CLOSED],
    /// Vertices with u = v = 0.
    pub zero: [u64; CLOSED],
    /// Vertices with a NaN or an infinity; their values are 0 here.
    pub nonfinite: [u64; CLOSED],
    /// Those of them that carry the fill pattern.
    pub fill: [u64; CLOSED],
    /// Vertices whose triangles could change within the error bound.
    tight: [u64; CLOSED],
    any_tight: bool,
    any_nonfinite: bool,
    /// Errors must stay strictly below this (only looked at where tight).
    limit: [T; PITCH * CLOSED],
    pub tally: Tally,
}

/// Which vertices of the grid a patch holds.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    pub x0: u64,
    pub y0: u64,
    pub width: usize,
    pub height: usize,
}

impl<T: Real> Patch<T> {
    pub fn new() -> Self {
        Patch {
            width: 0,
            height: 0,
            u: [T::ZERO; PITCH * CLOSED],
            v: [T::ZERO; PITCH * CLOSED],
            zero: [0; CLOSED],
            nonfinite: [0; CLOSED],
            fill: [0; CLOSED],
            tight: [0; CLOSED],
            any_tight: false,
            any_nonfinite: false,
            limit: [T::ZERO; PITCH * CLOSED],
            tally: Tally::default(),
        }
    }

    /// Loads the original values of a rectangle and finds its masks and constraints. `count` adds
    /// the critical points of its cells to the tally.
    ///
    /// # Safety
    /// The views must cover the grid, and the ghost vertices of the halo sides.
    pub unsafe fn load(
        &mut self,
        grid: Grid,
        [u, v]: [View<'_, T>; 2],
        area: Rectangle,
        constraints: &Constraints<T>,
        count: bool,
    ) {
        self.width = area.width;
        self.height = area.height;
        self.any_nonfinite = false;
        for y in 0..area.height {
            let row = y * PITCH;
            let gy = (area.y0 + y as u64) as i64;
            let (mut zero, mut finite) = (0u64, 0u64);
            u.read_row(area.x0 as i64, gy, &mut self.u[row..row + area.width]);
            v.read_row(area.x0 as i64, gy, &mut self.v[row..row + area.width]);
            for x in 0..area.width {
                let (a, b) = (self.u[row + x], self.v[row + x]);
                zero |= ((a == T::ZERO && b == T::ZERO) as u64) << x;
                finite |= ((a.is_finite() && b.is_finite()) as u64) << x;
            }
            self.zero[y] = zero;
            self.nonfinite[y] = !finite & ((1u64 << area.width) - 1);
            self.fill[y] = 0;
            self.any_nonfinite |= self.nonfinite[y] != 0;
        }
        self.tight = [0; CLOSED];
        self.any_tight = false;
        if constraints.preserve != Preserve::None {
            self.constrain(constraints, count);
        }
        if constraints.halo | constraints.pin != 0 {
            self.constrain_border(grid, [u, v], area, constraints);
        }
        if self.any_nonfinite {
            self.blank_nonfinite(constraints.fill);
        }
    }

    fn corner_values(&self, x: usize, y: usize, triangle: Triangle) -> [[T; 2]; 3] {
        corners(triangle).map(|(dx, dy)| {
            let i = (y + dy) * PITCH + x + dx;
            [self.u[i], self.v[i]]
        })
    }

    /// Finds the triangles whose hull comes within the error bound of the origin, by the axis
    /// candidates alone; only they and their vertices are looked at more closely.
    fn constrain(&mut self, constraints: &Constraints<T>, count: bool) {
        if self.width < 2 || self.height < 2 {
            return;
        }
        let bound = constraints.bound_up;
        let cells = self.width - 1;
        for y in 0..self.height - 1 {
            let (mut near, row) = ([0u8; TILE], y * PITCH);
            let rows = [
                &self.u[row..row + cells + 1],
                &self.u[row + PITCH..row + PITCH + cells + 1],
                &self.v[row..row + cells + 1],
                &self.v[row + PITCH..row + PITCH + cells + 1],
            ];
            // Written without branches, so that the compiler can use vector instructions.
            for x in 0..cells {
                let mut far = [false; 2];
                for f in [0, 2] {
                    let (a, b, c, d) = (rows[f][x], rows[f][x + 1], rows[f + 1][x + 1], rows[f + 1][x]);
                    let (low, high) = (a.min(c), a.max(c));
                    far[0] |= (low.min(b) > bound) | (high.max(b) < -bound);
                    far[1] |= (low.min(d) > bound) | (high.max(d) < -bound);
                }
                near[x] = !far[0] as u8 | (!far[1] as u8) << 1;
            }
            let (mut lower, mut upper) = (0u64, 0u64);
            for (x, &n) in near[..cells].iter().enumerate() {
                lower |= ((n & 1) as u64) << x;
                upper |= ((n >> 1) as u64) << x;
            }
            if lower | upper == 0 {
                continue;
            }
            if !self.any_tight {
                self.any_tight = true;
                self.limit = [T::MAX; PITCH * CLOSED];
            }
            self.tight[y] |= lower | lower << 1 | upper;
            self.tight[y + 1] |= lower << 1 | upper | upper << 1;
            if count || constraints.mode == Mode::BlockWise {
                for (triangle, mut mask) in [(Triangle::Lower, lower), (Triangle::Upper, upper)] {
                    while mask != 0 {
                        self.constrain_triangle(
                            mask.trailing_zeros() as usize,
                            y,
                            triangle,
                            constraints,
                            count,
                        );
                        mask &= mask - 1;
                    }
                }
            }
        }
    }

    fn constrain_triangle(
        &mut self,
        x: usize,
        y: usize,
        triangle: Triangle,
        constraints: &Constraints<T>,
        count: bool,
    ) {
        let p = self.corner_values(x, y, triangle);
        if count && is_critical(signature(&p, triangle, &constraints.rule)) {
            self.tally.critical += 1;
        }
        if constraints.mode == Mode::BlockWise {
            let limit = triangle_bound(&p, triangle, &constraints.rule, constraints.bound);
            for (dx, dy) in corners(triangle) {
                let i = (y + dy) * PITCH + x + dx;
                self.limit[i] = self.limit[i].min(limit);
            }
        }
    }

    /// Border vertices of the grid: exact on pinned sides, and under the analytic bound of the
    /// triangles that reach into the halo (CODEC section 8).
    unsafe fn constrain_border(
        &mut self,
        grid: Grid,
        [u, v]: [View<'_, T>; 2],
        area: Rectangle,
        constraints: &Constraints<T>,
    ) {
        let (nx, ny) = (grid.nx as i64, grid.ny as i64);
        let sides_at = |x: i64, y: i64| {
            (if x < 0 { SIDE_LEFT } else { 0 })
                | (if x >= nx { SIDE_RIGHT } else { 0 })
                | (if y < 0 { SIDE_FIRST_ROW } else { 0 })
                | (if y >= ny { SIDE_LAST_ROW } else { 0 })
        };
        for y in 0..self.height {
            for x in 0..self.width {
                let (gx, gy) = ((area.x0 + x as u64) as i64, (area.y0 + y as u64) as i64);
                if gx > 0 && gy > 0 && gx < nx - 1 && gy < ny - 1 {
                    continue;
                }
                let around =
                    sides_at(gx - 1, gy) | sides_at(gx + 1, gy) | sides_at(gx, gy - 1) | sides_at(gx, gy + 1);
                let mut limit = T::MAX;
                if around & constraints.pin != 0 {
                    limit = T::ZERO;
                } else if constraints.preserve != Preserve::None {
                    for (dx, dy, triangle) in INCIDENT {
                        let (cx, cy) = (gx + dx, gy + dy);
                        let outside = corners(triangle)
                            .iter()
                            .fold(0, |sides, &(ox, oy)| sides | sides_at(cx + ox as i64, cy + oy as i64));
                        // A triangle exists where all the sides it reaches over have a halo.
                        if outside == 0 || outside & !constraints.halo != 0 {
                            continue;
                        }
                        let p = corners(triangle).map(|(ox, oy)| {
                            let (px, py) = (cx + ox as i64, cy + oy as i64);
                            [u.get(px, py), v.get(px, py)]
                        });
                        if !(axis_distance(&p) > constraints.bound_up) {
                            limit =
                                limit.min(triangle_bound(&p, triangle, &constraints.rule, constraints.bound));
                        }
                    }
                }
                if limit < T::MAX {
                    if !self.any_tight {
                        self.any_tight = true;
                        self.limit = [T::MAX; PITCH * CLOSED];
                    }
                    self.tight[y] |= 1 << x;
                    let i = y * PITCH + x;
                    self.limit[i] = self.limit[i].min(limit);
                }
            }
        }
    }

    /// Non-finite vertices count as (0, 0) in predictions; those with the fill pattern are masked.
    fn blank_nonfinite(&mut self, fill: Option<[u64; 2]>) {
        for y in 0..self.height {
            let mut mask = self.nonfinite[y];
            while mask != 0 {
                let x = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                let i = y * PITCH + x;
                if fill == Some([self.u[i].to_bits64(), self.v[i].to_bits64()]) {
                    self.fill[y] |= 1 << x;
                }
                self.u[i] = T::ZERO;
                self.v[i] = T::ZERO;
            }
        }
    }

    /// Replaces a value by what a decoder sees there.
    #[inline(always)]
    pub fn set(&mut self, x: usize, y: usize, [a, b]: [T; 2]) {
        self.u[y * PITCH + x] = a;
        self.v[y * PITCH + x] = b;
    }

    #[inline(always)]
    pub fn get(&self, x: usize, y: usize) -> [T; 2] {
        [self.u[y * PITCH + x], self.v[y * PITCH + x]]
    }

    /// Whether moving vertex (x, y) to a candidate keeps the signatures of its triangles in the
    /// patch, all other vertices being as they are now.
    fn keeps_signatures(&self, x: usize, y: usize, candidate: [T; 2], rule: &Rule) -> bool {
        for (dx, dy, triangle) in INCIDENT {
            let (cx, cy) = (x as i64 + dx, y as i64 + dy);
            if cx < 0 || cy < 0 || cx + 1 >= self.width as i64 || cy + 1 >= self.height as i64 {
                continue;
            }
            let (cx, cy) = (cx as usize, cy as usize);
            let offsets = corners(triangle);
            if self.any_nonfinite
                && offsets.iter().any(|&(ox, oy)| self.nonfinite[cy + oy] >> (cx + ox) & 1 != 0)
            {
                continue;
            }
            let before = self.corner_values(cx, cy, triangle);
            let mut after = before;
            for (p, (ox, oy)) in after.iter_mut().zip(offsets) {
                if (cx + ox, cy + oy) == (x, y) {
                    *p = candidate;
                }
            }
            if axis_distance(&before) > T::ZERO && axis_distance(&after) > T::ZERO {
                continue;
            }
            if !same(signature(&before, triangle, rule), signature(&after, triangle, rule)) {
                return false;
            }
        }
        true
    }
}

impl<T: Real> Default for Patch<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// Codes vertices of a patch and replaces them by their reconstruction.
pub struct Encoder<'a, T> {
    pub quantizer: &'a Quantizer<T>,
    pub kernels: &'a [Kernel<T>; ANCHOR_LEVEL],
    pub constraints: &'a Constraints<T>,
}

impl<T: Real> Encoder<'_, T> {
    /// Codes vertex (x, y) around a prediction.
    #[inline(always)]
    pub fn vertex(&self, patch: &mut Patch<T>, x: usize, y: usize, prediction: [T; 2], level: usize) -> Code {
        let bit = 1u64 << x;
        if (patch.zero[y] | patch.nonfinite[y]) & bit != 0 {
            return self.special(patch, x, y);
        }
        let i = y * PITCH + x;
        let original = [patch.u[i], patch.v[i]];
        let q = self.quantizer;
        let (Some((qu, ru)), Some((qv, rv))) =
            (q.encode(original[0], prediction[0], level, 0), q.encode(original[1], prediction[1], level, 0))
        else {
            patch.tally.exact += 1;
            return Code { id: EXACT, q: [0; 2] };
        };
        let error = (ru - original[0]).abs().max((rv - original[1]).abs());
        if patch.tight[y] & bit == 0 && error <= q.accept {
            patch.u[i] = ru;
            patch.v[i] = rv;
            patch.tally.max_error = patch.tally.max_error.max(error.to_f64());
            return Code { id: 0, q: [qu, qv] };
        }
        self.tight_vertex(patch, x, y, prediction, level)
    }

    /// Masked vertices have no code; other non-finite ones are stored.
    #[cold]
    fn special(&self, patch: &mut Patch<T>, x: usize, y: usize) -> Code {
        if (patch.zero[y] | patch.fill[y]) >> x & 1 != 0 {
            Code { id: MASKED, q: [0; 2] }
        } else {
            Code { id: EXACT, q: [0; 2] }
        }
    }

    /// Tries the ids in order. Block-wise, the limit says which ids cannot fail: after id 0 only the
    /// last one that might still fail, and those that cannot, are worth a try.
    #[inline(never)]
    fn tight_vertex(
        &self,
        patch: &mut Patch<T>,
        x: usize,
        y: usize,
        prediction: [T; 2],
        level: usize,
    ) -> Code {
        let i = y * PITCH + x;
        let q = self.quantizer;
        let original = [patch.u[i], patch.v[i]];
        let tight = patch.tight[y] >> x & 1 != 0;
        let speculative =
            self.constraints.mode == Mode::Speculative && self.constraints.preserve != Preserve::None;
        let limit = patch.limit[i];
        let mut id = 0;
        while id < IDS {
            let (Some((qu, ru)), Some((qv, rv))) = (
                q.encode(original[0], prediction[0], level, id),
                q.encode(original[1], prediction[1], level, id),
            ) else {
                break;
            };
            let error = (ru - original[0]).abs().max((rv - original[1]).abs());
            let passes = error == T::ZERO
                || error <= q.accept
                    && (!tight
                        || error < limit
                            && (!speculative
                                || patch.keeps_signatures(x, y, [ru, rv], &self.constraints.rule)));
            if passes {
                patch.u[i] = ru;
                patch.v[i] = rv;
                patch.tally.max_error = patch.tally.max_error.max(error.to_f64());
                return Code { id: id as u8, q: [qu, qv] };
            }
            if id == 0 && tight && !speculative {
                let mut certain = 1;
                while certain < IDS && T::HALF * q.width[level][certain] > limit {
                    certain += 1;
                }
                id = if certain > 2 { certain - 2 } else { 0 };
            }
            id += 1;
        }
        patch.tally.exact += 1;
        Code { id: EXACT, q: [0; 2] }
    }

    /// Codes the vertices between the ends of a lattice line, which are final: of row `y` of the
    /// patch when `horizontal`, else of column `y`. `last` is the last vertex of the segment, a
    /// lattice line itself where it is 32.
    pub fn line(
        &self,
        patch: &mut Patch<T>,
        horizontal: bool,
        across: usize,
        last: usize,
        mut out: impl FnMut(usize, Code, [T; 2]),
    ) {
        let (base, distance) = if horizontal { (across * PITCH, 1) } else { (across, PITCH) };
        line_order(last, |level, step, k| {
            let at = base + k * distance;
            let kernel = &self.kernels[level];
            let prediction = [
                along(kernel, &patch.u, at, step * distance, k, step, last),
                along(kernel, &patch.v, at, step * distance, k, step, last),
            ];
            let (x, y) = if horizontal { (k, across) } else { (across, k) };
            let code = self.vertex(patch, x, y, prediction, level);
            out(k, code, patch.get(x, y));
        });
    }

    /// Codes the vertices of a closed tile that lie on no lattice line.
    pub fn interior(&self, patch: &mut Patch<T>, mut out: impl FnMut(usize, Code)) {
        let last = (patch.width - 1, patch.height - 1);
        interior_order(last, |level, step, phase, x, y, position| {
            let prediction = interior_prediction(&self.kernels[level], patch, phase, x, y, step, last);
            let code = self.vertex(patch, x, y, prediction, level);
            out(position, code);
        });
    }
}

#[inline(always)]
fn interior_prediction<T: Real>(
    kernel: &Kernel<T>,
    patch: &Patch<T>,
    phase: usize,
    x: usize,
    y: usize,
    step: usize,
    last: (usize, usize),
) -> [T; 2] {
    let at = y * PITCH + x;
    [&patch.u, &patch.v].map(|values| match phase {
        0 => along(kernel, values, at, step, x, step, last.0),
        1 => along(kernel, values, at, step * PITCH, y, step, last.1),
        _ => centre(kernel, values, (x, y), step, last),
    })
}

/// Visits the vertices between the ends of a segment 0..=last, coarse to fine, as
/// `visit(level, step, k)`. Vertex `last` is visited too unless it is a lattice line (32).
#[inline(always)]
pub fn line_order(last: usize, mut visit: impl FnMut(usize, usize, usize)) {
    let inner = last.min(TILE - 1);
    for level in (0..ANCHOR_LEVEL).rev() {
        let step = 1 << level;
        let mut k = step;
        while k <= inner {
            visit(level, step, k);
            k += 2 * step;
        }
    }
}

/// Visits the interior vertices of a closed tile with the given last column and row in coding order,
/// as `visit(level, step, phase, x, y, position)`.
#[inline(always)]
pub fn interior_order(last: (usize, usize), mut visit: impl FnMut(usize, usize, usize, usize, usize, usize)) {
    let inner = (last.0.min(TILE - 1), last.1.min(TILE - 1));
    for level in (0..ANCHOR_LEVEL).rev() {
        let (step, n) = (1 << level, 16 >> level);
        for phase in 0..3 {
            let (first_x, first_y) =
                (if phase == 1 { 2 * step } else { step }, if phase == 0 { 2 * step } else { step });
            let mut y = first_y;
            while y <= inner.1 {
                let mut position = n * n * (1 + phase) + y / (2 * step) * n + first_x / (2 * step);
                let mut x = first_x;
                while x <= inner.0 {
                    visit(level, step, phase, x, y, position);
                    x += 2 * step;
                    position += 1;
                }
                y += 2 * step;
            }
        }
    }
}

/// Reconstructs vertices from codes: the mirror of [`Encoder`], with no tests of any kind.
pub struct Decoder<'a, T> {
    pub quantizer: &'a Quantizer<T>,
    pub kernels: &'a [Kernel<T>; ANCHOR_LEVEL],
}

/// What a decoder finds for a vertex.
#[derive(Clone, Copy)]
pub enum Decoded<T> {
    Coded(Code),
    /// The value as predictions see it: (0, 0) for a masked or non-finite vertex.
    Given([T; 2]),
}

impl<T: Real> Decoder<'_, T> {
    #[inline(always)]
    fn value(&self, decoded: Decoded<T>, prediction: [T; 2], level: usize) -> [T; 2] {
        match decoded {
            Decoded::Coded(code) => {
                let id = code.id as usize;
                [
                    self.quantizer.decode(code.q[0], prediction[0], level, id),
                    self.quantizer.decode(code.q[1], prediction[1], level, id),
                ]
            }
            Decoded::Given(value) => value,
        }
    }

    /// Fills in the vertices of a line of values u, v with both ends (or the first) final.
    pub fn line(&self, u: &mut [T], v: &mut [T], last: usize, mut next: impl FnMut(usize) -> Decoded<T>) {
        line_order(last, |level, step, k| {
            let kernel = &self.kernels[level];
            let prediction =
                [along(kernel, u, k, step, k, step, last), along(kernel, v, k, step, k, step, last)];
            [u[k], v[k]] = self.value(next(k), prediction, level);
        });
    }

    /// Fills in the interior of a closed tile whose lattice lines are final.
    pub fn interior(&self, patch: &mut Patch<T>, mut next: impl FnMut(usize, usize, usize) -> Decoded<T>) {
        let last = (patch.width - 1, patch.height - 1);
        interior_order(last, |level, step, phase, x, y, position| {
            let prediction = interior_prediction(&self.kernels[level], patch, phase, x, y, step, last);
            let value = self.value(next(position, x, y), prediction, level);
            patch.set(x, y, value);
        });
    }
}
