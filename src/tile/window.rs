//! The front end: a window of vertices, the constraints on them, and their coding in dyadic order.
//!
//! A window is a rectangle of at most 34 x 34 vertices that holds every triangle around the vertices
//! that are coded in it: three rows for a segment of a horizontal lattice line, three columns for a
//! vertical one, 3 x 3 for an anchor, the closed tile for the interior,
//! and the tile with all vertices around it for the Lorenzo predictor. Loading it finds the masks and
//! the constraints from the original values; coding then replaces values by what the decoder will
//! see, coarse to fine (CODEC section 4). In the speculative mode the window is the state "committed
//! where committed, original elsewhere" of CODEC section 3.

use crate::entropy::symbols::Code;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::{has_negative_zero, Missing};
use crate::grid::tiles::{corners, Grid, Triangle, ANCHOR_LEVEL, FRAMED, INCIDENT, TILE};
use crate::predict::interpolation::{PITCH, ROW};
use crate::request::{Mode, Preserve, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};
use crate::runtime::memory;
use crate::topology::bound::{axis_distance, triangle_bound};
use crate::topology::signature::{is_critical, same, signature, Rule};

/// What constrains the vertices besides the error bound.
#[derive(Clone, Copy, Debug)]
pub struct Constraints<T> {
    pub mode: Mode,
    pub preserve: Preserve,
    pub rule: Rule,
    /// The absolute error bound, no more than is of use, and the same rounded up to T.
    pub bound: f64,
    pub bound_up: T,
    /// Sides with ghost vertices, and sides stored exactly.
    pub halo: u32,
    pub pin: u32,
    pub missing: Missing,
    /// Bits of u and v of the vertices under the fill mask: the fill value, or those of the first non-finite
    /// vertex.
    pub fill: Option<[u64; 2]>,
}

/// Counts of what was met while coding; sums over windows.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodeStats {
    pub exact: u64,
    pub critical: u64,
    pub max_error: f64,
}

impl EncodeStats {
    pub fn sum(stats: &[EncodeStats]) -> EncodeStats {
        stats.iter().fold(EncodeStats::default(), |sum, &stats| sum.merge(stats))
    }

    pub fn merge(self, other: EncodeStats) -> EncodeStats {
        EncodeStats {
            exact: self.exact + other.exact,
            critical: self.critical + other.critical,
            max_error: if other.max_error > self.max_error { other.max_error } else { self.max_error },
        }
    }
}

/// A rectangle of vertices with their masks and constraints. Bit x of a mask's row y is column x.
pub struct TileWindow<T> {
    /// Columns and rows.
    pub width: usize,
    pub height: usize,
    pub u: [T; PITCH * FRAMED],
    pub v: [T; PITCH * FRAMED],
    /// Vertices with u = v = 0 that are neither missing nor signed.
    pub zero: [u64; FRAMED],
    /// Missing vertices; their values are 0 here.
    pub missing: [u64; FRAMED],
    /// Vertices with a negative zero where the bound is 0: they are stored.
    pub signed: [u64; FRAMED],
    /// Those of them that carry the fill pattern.
    pub fill: [u64; FRAMED],
    /// Vertices whose triangles could change within the error bound.
    pub constrained: [u64; FRAMED],
    pub any_constrained: bool,
    any_missing: bool,
    spans: [Span<T>; FRAMED],
    /// Errors must stay strictly below this (only looked at where constrained).
    pub bounds: [T; PITCH * FRAMED],
    pub stats: EncodeStats,
}

/// Which vertices of the grid a window holds.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    pub x0: u64,
    pub y0: u64,
    pub width: usize,
    pub height: usize,
}

/// Parts of a row that are looked at side by side, so that the compiler can use vector instructions.
const PARTS: usize = 4;

/// The smallest and the largest value of each component of a row, by part: no numbers where one of its values
/// is none or infinite.
#[derive(Clone, Copy, Default)]
struct Span<T> {
    low: [[T; PARTS]; 2],
    high: [[T; PARTS]; 2],
}

impl<T: Real> Span<T> {
    /// That of a row.
    #[inline(always)]
    fn of(us: &[T], vs: &[T]) -> Self {
        let (u, v) = (Extremes::of(us), Extremes::of(vs));
        // Not finite where one of the values is not; sums that overflow only cost time.
        let finite = |sum: &[T; PARTS]| sum.iter().fold(true, |all, x| all & x.is_finite());
        if finite(&u.sum) & finite(&v.sum) {
            Span { low: [u.low, v.low], high: [u.high, v.high] }
        } else {
            let none = [[T::from_f64(f64::NAN); PARTS]; 2];
            Span { low: none, high: none }
        }
    }

    /// Whether one component is further from 0 than this everywhere in two rows, on one side.
    #[inline(always)]
    fn clear(&self, other: &Self, distance: T) -> bool {
        let mut clear = [true; 4];
        for c in 0..2 {
            for i in 0..PARTS {
                clear[2 * c] &= (self.low[c][i] > distance) & (other.low[c][i] > distance);
                clear[2 * c + 1] &= (self.high[c][i] < -distance) & (other.high[c][i] < -distance);
            }
        }
        clear[0] | clear[1] | clear[2] | clear[3]
    }
}

/// The smallest and the largest of values, and their sum, by part.
struct Extremes<T> {
    low: [T; PARTS],
    high: [T; PARTS],
    sum: [T; PARTS],
}

impl<T: Real> Extremes<T> {
    #[inline(always)]
    fn of(values: &[T]) -> Self {
        if let (Some(row), Some(end)) = (values.first_chunk::<TILE>(), values.last_chunk::<PARTS>()) {
            // Halved again and again; what is beyond it is at the end, which may be looked at twice.
            let mut half = ([T::ZERO; TILE / 2], [T::ZERO; TILE / 2], [T::ZERO; TILE / 2]);
            for i in 0..TILE / 2 {
                let (a, b) = (row[i], row[i + TILE / 2]);
                (half.0[i], half.1[i], half.2[i]) = (a.min(b), a.max(b), a + b);
            }
            for i in 0..TILE / 4 {
                half.0[i] = half.0[i].min(half.0[i + TILE / 4]);
                half.1[i] = half.1[i].max(half.1[i + TILE / 4]);
                half.2[i] = half.2[i] + half.2[i + TILE / 4];
            }
            let mut all = Extremes { low: *end, high: *end, sum: *end };
            for i in 0..PARTS {
                all.low[i] = all.low[i].min(half.0[i]).min(half.0[i + PARTS]);
                all.high[i] = all.high[i].max(half.1[i]).max(half.1[i + PARTS]);
                all.sum[i] = all.sum[i] + half.2[i] + half.2[i + PARTS];
            }
            return all;
        }
        let (mut low, mut high, mut sum) = (values[0], values[0], T::ZERO);
        for &x in values {
            (low, high, sum) = (low.min(x), high.max(x), sum + x);
        }
        Extremes { low: [low; PARTS], high: [high; PARTS], sum: [sum; PARTS] }
    }
}

/// Flags of a row of a window, a byte for each vertex.
const FLAGS: usize = FRAMED.next_multiple_of(8);

/// One bit of each flag, eight at a time.
#[inline(always)]
fn bits_of(flags: &[u8; FLAGS], bit: u32) -> u64 {
    let eights = flags.chunks_exact(8).map(|eight| {
        let x = u64::from_le_bytes(eight.try_into().expect("eight bytes")) >> bit & 0x0101_0101_0101_0101;
        // The bits come together in the highest byte.
        x.wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    eights.enumerate().fold(0, |bits, (k, eight)| bits | eight << (8 * k))
}

impl<T: Real> TileWindow<T> {
    /// On the heap, and never in the frame of the caller: stacks are small.
    #[inline(never)]
    pub fn new() -> Result<Box<Self>> {
        memory::boxed(TileWindow {
            width: 0,
            height: 0,
            u: [T::ZERO; PITCH * FRAMED],
            v: [T::ZERO; PITCH * FRAMED],
            zero: [0; FRAMED],
            missing: [0; FRAMED],
            signed: [0; FRAMED],
            fill: [0; FRAMED],
            constrained: [0; FRAMED],
            any_constrained: false,
            any_missing: false,
            spans: [Span::default(); FRAMED],
            bounds: [T::ZERO; PITCH * FRAMED],
            stats: EncodeStats::default(),
        })
    }

    /// Loads the original values of a rectangle and finds its masks and constraints. `count` adds
    /// the critical points of its cells from this column and row on to the stats.
    ///
    /// # Safety
    /// The views must cover the grid, and the ghost vertices of the halo sides.
    pub unsafe fn load(
        &mut self,
        grid: Grid,
        [u, v]: [View<'_, T>; 2],
        area: Rectangle,
        constraints: &Constraints<T>,
        count: Option<(usize, usize)>,
    ) {
        self.width = area.width;
        self.height = area.height;
        self.any_missing = false;
        // All rows before any of them is looked at: memory has the more of them on their way at once.
        for y in 0..area.height {
            let (row, gy) = (y * PITCH, (area.y0 + y as u64) as i64);
            // SAFETY: the rows lie in the grid or its halo.
            unsafe {
                u.read_row(area.x0 as i64, gy, &mut self.u[row..row + area.width]);
                v.read_row(area.x0 as i64, gy, &mut self.v[row..row + area.width]);
            }
        }
        for y in 0..area.height {
            if area.width >= TILE {
                // The tile to the right comes next; it begins within this one.
                let (next_x, gy) = ((area.x0 + area.width as u64) as i64, (area.y0 + y as u64) as i64);
                u.prefetch_row(next_x, gy, TILE);
                v.prefetch_row(next_x, gy, TILE);
            }
            let row = y * PITCH..y * PITCH + area.width;
            let (us, vs) = (&self.u[row.clone()], &self.v[row]);
            let span = Span::of(us, vs);
            (self.zero[y], self.missing[y], self.signed[y], self.fill[y]) = (0, 0, 0, 0);
            if !span.clear(&span, T::ZERO) {
                let (mut zero, mut missing) = ([0u8; FLAGS], [0u8; FLAGS]);
                // Written without branches, so that the compiler can use vector instructions.
                for (x, (a, b)) in us.iter().zip(vs).enumerate() {
                    zero[x] = ((*a == T::ZERO) & (*b == T::ZERO)) as u8;
                    missing[x] = !(a.is_finite() & b.is_finite()) as u8;
                }
                self.zero[y] = bits_of(&zero, 0);
                self.missing[y] = bits_of(&missing, 0);
            }
            self.spans[y] = span;
            if constraints.missing.has_fill() | (constraints.bound == 0.0) {
                self.find_rare(y, constraints);
            }
            self.any_missing |= self.missing[y] != 0;
        }
        self.constrained = [0; FRAMED];
        self.any_constrained = false;
        if constraints.preserve != Preserve::None {
            self.constrain(constraints, count);
        }
        if constraints.halo | constraints.pin != 0 {
            // SAFETY: the promise of this function.
            unsafe { self.constrain_border(grid, [u, v], area, constraints) };
        }
        if self.any_missing {
            self.blank_missing(constraints.fill);
        }
    }

    /// Filled vertices of a row, and those with a zero whose sign counts: a zero of either kind has a code of
    /// its own.
    #[inline(never)]
    fn find_rare(&mut self, y: usize, constraints: &Constraints<T>) {
        let row = y * PITCH..y * PITCH + self.width;
        let (us, vs) = (&self.u[row.clone()], &self.v[row]);
        if constraints.missing.may_fill(us) | constraints.missing.may_fill(vs) {
            for (x, (&a, &b)) in us.iter().zip(vs).enumerate() {
                self.missing[y] |= (constraints.missing.is_filled([a, b]) as u64) << x;
            }
        }
        if constraints.bound == 0.0 {
            for (x, (&a, &b)) in us.iter().zip(vs).enumerate() {
                self.signed[y] |= (has_negative_zero([a, b]) as u64) << x;
            }
            self.signed[y] &= !self.missing[y];
        }
        self.zero[y] &= !(self.missing[y] | self.signed[y]);
    }

    fn corner_values(&self, x: usize, y: usize, triangle: Triangle) -> [[T; 2]; 3] {
        corners(triangle).map(|(dx, dy)| {
            let i = (y + dy) * PITCH + x + dx;
            [self.u[i], self.v[i]]
        })
    }

    /// Finds the triangles whose hull comes within the error bound of the origin, by the axis
    /// candidates alone; only they and their vertices are looked at more closely.
    fn constrain(&mut self, constraints: &Constraints<T>, count: Option<(usize, usize)>) {
        if self.width < 2 || self.height < 2 {
            return;
        }
        let bound = constraints.bound_up;
        let cells = self.width - 1;
        for y in 0..self.height - 1 {
            if self.spans[y].clear(&self.spans[y + 1], bound) {
                continue;
            }
            let (mut near, row) = ([0u8; FLAGS], y * PITCH);
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
            // Triangles that are zero at all corners constrain nothing, nor do those with a missing one.
            let ([z, z_next], [n, n_next]) =
                ([self.zero[y], self.zero[y + 1]], [self.missing[y], self.missing[y + 1]]);
            let lower = bits_of(&near, 0) & !(z & z >> 1 & z_next >> 1) & !(n | n >> 1 | n_next >> 1);
            let upper = bits_of(&near, 1) & !(z & z_next >> 1 & z_next) & !(n | n_next >> 1 | n_next);
            if lower | upper == 0 {
                continue;
            }
            if !self.any_constrained {
                self.any_constrained = true;
                self.bounds = [T::MAX; PITCH * FRAMED];
            }
            self.constrained[y] |= lower | lower << 1 | upper;
            self.constrained[y + 1] |= lower << 1 | upper | upper << 1;
            if count.is_some() || constraints.mode == Mode::BlockWise {
                for (triangle, mut mask) in [(Triangle::Lower, lower), (Triangle::Upper, upper)] {
                    while mask != 0 {
                        let x = mask.trailing_zeros() as usize;
                        let counted = count.is_some_and(|(x0, y0)| x >= x0 && y >= y0);
                        self.constrain_triangle(x, y, triangle, constraints, counted);
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
        // Most triangles here have one component of one sign, and no critical point.
        let one_sided = axis_distance(&p) > T::ZERO;
        if count && !one_sided && is_critical(signature(&p, triangle, &constraints.rule)) {
            self.stats.critical += 1;
        }
        if constraints.mode == Mode::BlockWise {
            let bound = triangle_bound(&p, triangle, &constraints.rule, constraints.bound);
            for (dx, dy) in corners(triangle) {
                let i = (y + dy) * PITCH + x + dx;
                self.bounds[i] = self.bounds[i].min(bound);
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
            (if x < 0 { SIDE_X_MIN } else { 0 })
                | (if x >= nx { SIDE_X_MAX } else { 0 })
                | (if y < 0 { SIDE_Y_MIN } else { 0 })
                | (if y >= ny { SIDE_Y_MAX } else { 0 })
        };
        for y in 0..self.height {
            for x in 0..self.width {
                let (gx, gy) = ((area.x0 + x as u64) as i64, (area.y0 + y as u64) as i64);
                if gx > 0 && gy > 0 && gx < nx - 1 && gy < ny - 1 {
                    continue;
                }
                let around =
                    sides_at(gx - 1, gy) | sides_at(gx + 1, gy) | sides_at(gx, gy - 1) | sides_at(gx, gy + 1);
                let mut bound = T::MAX;
                if around & constraints.pin != 0 {
                    bound = T::ZERO;
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
                            // SAFETY: the vertex lies in the grid or its halo.
                            unsafe { [u.get(px, py), v.get(px, py)] }
                        });
                        // Also where the distance is no number.
                        let far = axis_distance(&p) > constraints.bound_up;
                        if !far && !p.iter().any(|&p| constraints.missing.is_filled(p)) {
                            bound =
                                bound.min(triangle_bound(&p, triangle, &constraints.rule, constraints.bound));
                        }
                    }
                }
                if bound < T::MAX {
                    if !self.any_constrained {
                        self.any_constrained = true;
                        self.bounds = [T::MAX; PITCH * FRAMED];
                    }
                    self.constrained[y] |= 1 << x;
                    let i = y * PITCH + x;
                    self.bounds[i] = self.bounds[i].min(bound);
                }
            }
        }
    }

    /// Missing vertices count as (0, 0) in predictions; those with the fill pattern are masked.
    fn blank_missing(&mut self, fill: Option<[u64; 2]>) {
        for y in 0..self.height {
            let mut mask = self.missing[y];
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
    /// window, all other vertices being as they are now.
    pub(super) fn keeps_signatures(&self, x: usize, y: usize, candidate: [T; 2], rule: &Rule) -> bool {
        for (dx, dy, triangle) in INCIDENT {
            let (cx, cy) = (x as i64 + dx, y as i64 + dy);
            if cx < 0 || cy < 0 || cx + 1 >= self.width as i64 || cy + 1 >= self.height as i64 {
                continue;
            }
            let (cx, cy) = (cx as usize, cy as usize);
            let offsets = corners(triangle);
            if self.any_missing && offsets.iter().any(|&(ox, oy)| self.missing[cy + oy] >> (cx + ox) & 1 != 0)
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

/// Codes of a row of vertices; those beyond its length mean nothing.
pub struct RowCodes {
    pub refinement: [u8; ROW],
    pub q: [[i32; ROW]; 2],
}

impl Default for RowCodes {
    fn default() -> Self {
        RowCodes { refinement: [0; ROW], q: [[0; ROW]; 2] }
    }
}

impl RowCodes {
    #[inline(always)]
    pub fn get(&self, i: usize) -> Code {
        Code { refinement: self.refinement[i], q: [self.q[0][i], self.q[1][i]] }
    }
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

/// Visits the rows of one phase of one level of a closed tile with the given last column and row in
/// coding order, as `visit(first_x, y, position of the first, how many)`; the vertices of a row are
/// 2 STEP apart.
#[inline(always)]
pub(super) fn row_order<const STEP: usize, const PHASE: usize>(
    last: (usize, usize),
    mut visit: impl FnMut(usize, usize, usize, usize),
) {
    let inner = (last.0.min(TILE - 1), last.1.min(TILE - 1));
    let n = ROW / STEP;
    let first_x = if PHASE == 1 { 2 * STEP } else { STEP };
    let first_y = if PHASE == 0 { 2 * STEP } else { STEP };
    if inner.0 < first_x {
        return;
    }
    let count = (inner.0 - first_x) / (2 * STEP) + 1;
    let mut y = first_y;
    while y <= inner.1 {
        visit(first_x, y, n * n * (1 + PHASE) + y / (2 * STEP) * n + first_x / (2 * STEP), count);
        y += 2 * STEP;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_hold_all_values_and_none_that_is_not_finite() {
        for width in 2..=FRAMED {
            for at in 0..width {
                for (value, clear) in
                    [(3.0f32, true), (1.0, false), (-2.0, false), (f32::INFINITY, false), (f32::NAN, false)]
                {
                    let (mut far, near) = ([2.0f32; FRAMED], [0.5f32; FRAMED]);
                    far[at] = value;
                    let opposite = far.map(|x| -x);
                    let plain = Span::of(&[2.0f32; FRAMED][..width], &near[..width]);
                    for (u, v) in [(far, near), (near, far)] {
                        let span = Span::of(&u[..width], &v[..width]);
                        assert_eq!(span.clear(&span, 1.0), clear, "{value} at {at} of {width}");
                    }
                    let span = Span::of(&far[..width], &near[..width]);
                    assert_eq!((span.clear(&plain, 1.0), plain.clear(&span, 1.0)), (clear, clear));
                    let below = Span::of(&opposite[..width], &near[..width]);
                    assert_eq!(below.clear(&below, 1.0), clear);
                    assert!(!below.clear(&plain, 1.0));
                }
            }
        }
    }
}
