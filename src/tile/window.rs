//! A window of vertices: the original values of a rectangle, its masks, and what constrains its vertices.
//!
//! A window has at most 34 x 34 vertices and holds every triangle around the vertices that are coded in it:
//! three rows for a piece of a row line, three columns for a piece of a column line, 3 x 3 for an anchor, the
//! closed tile for the interior, and the tile with all vertices around it for the Lorenzo predictor. Coding
//! replaces values by those that the decoder will see. In the speculative mode a window is the field as far
//! as it is decided: reconstructed values where vertices are coded, original values elsewhere.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::has_negative_zero;
use crate::grid::tiles::{Grid, TileShape, FRAMED, TILE};
use crate::predict::interpolation::PITCH;
use crate::request::Preserve;
use crate::runtime::memory;
use crate::runtime::vectors::in_wide_vectors;
use crate::tile::constraints::Constraints;
use crate::tile::on_demand::BoundsOnDemand;
use crate::tile::spans::Span;

/// Counts and the largest error of the vertices that a window coded; sums over windows.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncodeStats {
    /// Vertices that are stored bit for bit although they are finite.
    pub exact: u64,
    /// Triangles with a critical point.
    pub critical: u64,
    /// The largest error of a component.
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
    /// Missing vertices with the bits of the fill pattern.
    pub fill: [u64; FRAMED],
    /// Vertices whose triangles could change within the error bound.
    pub constrained: [u64; FRAMED],
    /// Whether any vertex is constrained; if none is, `lower_bounds` is undefined.
    pub any_constrained: bool,
    pub(super) any_missing: bool,
    /// The extremes of each row.
    pub(super) spans: [Span<T>; FRAMED],
    /// Lower bounds of the vertex bounds of constrained vertices, possibly zero or negative. They are the
    /// vertex bounds themselves unless these are computed on demand ([`TileWindow::vertex_bound`]).
    pub lower_bounds: [T; PITCH * FRAMED],
    pub(super) on_demand: BoundsOnDemand<T>,
    /// The lower and the upper triangles that may have a critical point, by row of cells, a bit for each
    /// column.
    pub(super) may_be_critical: [[u64; 2]; FRAMED],
    pub stats: EncodeStats,
}

/// The vertices of the grid that a window holds.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    pub x0: u64,
    pub y0: u64,
    pub width: usize,
    pub height: usize,
}

impl Rectangle {
    /// A tile and the lattice lines that close it.
    pub fn closed(shape: &TileShape) -> Self {
        Rectangle { x0: shape.x0, y0: shape.y0, width: shape.last_x + 1, height: shape.last_y + 1 }
    }
}

/// Flags of a row of a window, a byte for each vertex.
pub(super) const FLAGS: usize = FRAMED.next_multiple_of(8);

/// One bit of each flag, eight at a time.
#[inline(always)]
pub(super) fn bits_of(flags: &[u8; FLAGS], bit: u32) -> u64 {
    let eights = flags.chunks_exact(8).map(|eight| {
        let x = u64::from_le_bytes(eight.try_into().expect("eight bytes")) >> bit & 0x0101_0101_0101_0101;
        // The bits come together in the highest byte.
        x.wrapping_mul(0x0102_0408_1020_4080) >> 56
    });
    eights.enumerate().fold(0, |bits, (k, eight)| bits | eight << (8 * k))
}

impl<T: Real> TileWindow<T> {
    /// An empty window on the heap: it is too large for the stack of a thread.
    pub fn new() -> Result<Box<Self>> {
        // SAFETY: bits 0 are numbers, no bits and `false`.
        unsafe { memory::zeroed(|_| ()) }
    }

    /// Loads the original values of a rectangle and finds its masks and constraints.
    pub fn load(
        &mut self,
        grid: Grid,
        views: [View<'_, T>; 2],
        area: Rectangle,
        constraints: &Constraints<T>,
    ) {
        in_wide_vectors(
            #[inline(always)]
            || self.load_anywhere(grid, views, area, constraints),
        );
    }

    #[inline(always)]
    fn load_anywhere(
        &mut self,
        grid: Grid,
        [u, v]: [View<'_, T>; 2],
        area: Rectangle,
        constraints: &Constraints<T>,
    ) {
        self.load_values([u, v], area);
        self.any_missing = false;
        for y in 0..area.height {
            if area.width >= TILE {
                // The tile to the right comes next; it begins within this one.
                let (next_x, gy) = ((area.x0 + area.width as u64) as i64, (area.y0 + y as u64) as i64);
                u.prefetch_row(next_x, gy, TILE);
                v.prefetch_row(next_x, gy, TILE);
            }
            self.find_masks(y, constraints);
        }
        self.on_demand.origin = (area.x0, area.y0);
        self.constrained = [0; FRAMED];
        self.any_constrained = false;
        self.may_be_critical = [[0; 2]; FRAMED];
        if constraints.preserve != Preserve::None {
            self.constrain(constraints);
        }
        if constraints.halo | constraints.pin != 0 {
            self.constrain_border(grid, [u, v], area, constraints);
        }
        if self.any_missing {
            self.blank_missing(constraints.fill);
        }
    }

    /// Takes the shape and the masks of another window, whose vertices nothing constrains.
    pub fn copy_masks(&mut self, other: &Self) {
        (self.width, self.height) = (other.width, other.height);
        (self.zero, self.missing) = (other.zero, other.missing);
        (self.signed, self.fill) = (other.signed, other.fill);
    }

    /// Copies the values of a rectangle.
    #[inline(always)]
    fn load_values(&mut self, [u, v]: [View<'_, T>; 2], area: Rectangle) {
        self.width = area.width;
        self.height = area.height;
        // Copies all rows before it examines any, so that more loads from memory are in flight at once.
        for y in 0..area.height {
            let (row, gy) = (y * PITCH, (area.y0 + y as u64) as i64);
            u.read_row(area.x0 as i64, gy, &mut self.u[row..row + area.width]);
            v.read_row(area.x0 as i64, gy, &mut self.v[row..row + area.width]);
        }
    }

    /// The span of a row, and its vertices that are zero or missing.
    #[inline(always)]
    fn find_masks(&mut self, y: usize, constraints: &Constraints<T>) {
        let row = y * PITCH..y * PITCH + self.width;
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
}
