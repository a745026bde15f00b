//! The Lorenzo predictor of the block-wise mode: one pass, no levels, and tiles that know nothing of each
//! other.
//!
//! A tile is quantised on one lattice, that of its *bound shift*: the error bound halved so many times. Every
//! vertex becomes a pair of integers, its *coarse code*, and what is coded are the differences across a cell,
//! `coarse(x, y) - coarse(x - 1, y) - coarse(x, y - 1) + coarse(x - 1, y - 1)`, with zeros outside the tile.
//! Decoding sums them along rows and columns. Where a vertex may not move as far as its tile's lattice makes
//! it, it takes a finer one: a refinement k > 0 divides the step by 4^k, and the refinement bits below the
//! coarse code follow raw (`anchors`). What has no code, a masked or stored vertex, counts as predicted: its
//! difference is zero.
//!
//! The bound shift is not that of the tightest vertex but the one of the smallest estimated size.

use crate::entropy::lanes::{lanes, lanes_above};
use crate::entropy::symbols::{self, Code, EXACT, FIRST_WITH_RAW_BITS, REFINEMENTS, STORED, ZERO};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::{Grid, TileShape, TILE};
use crate::predict::anchors;
use crate::predict::interpolation::PITCH;
use crate::predict::quantizer::acceptance;
use crate::request::Predictor;
use crate::tile::coding::{row_mask, Masks, QuantizedTile, QuantizedTileBuilder, TileCoding};
use crate::tile::constraints::Constraints;
use crate::tile::window::{Rectangle, TileWindow};

/// Bound shifts of a tile.
pub const BOUND_SHIFTS: usize = 8;
/// Halvings that a vertex may need: those of the last refinement of the last bound shift, and one that stands
/// for more.
const HALVINGS: usize = BOUND_SHIFTS + 2 * (REFINEMENTS - 1) + 1;

/// Steps of the lattices, and their reciprocals.
#[derive(Clone, Debug)]
pub struct Lattices<T> {
    width: [[T; REFINEMENTS]; BOUND_SHIFTS],
    /// 0 where a width is too small to have one.
    inverse: [[T; REFINEMENTS]; BOUND_SHIFTS],
    accept: T,
}

impl<T: Real> Lattices<T> {
    /// `bound` is the absolute error bound, `half_bin_width` half the step of the first lattice.
    pub fn new(bound: f64, half_bin_width: f64) -> Self {
        let mut lattices = Lattices {
            width: [[T::ZERO; REFINEMENTS]; BOUND_SHIFTS],
            inverse: [[T::ZERO; REFINEMENTS]; BOUND_SHIFTS],
            accept: acceptance(bound),
        };
        let mut first = 2.0 * half_bin_width;
        for bound_shift in 0..BOUND_SHIFTS {
            let mut w = first;
            for refinement in 0..REFINEMENTS {
                let width = T::from_f64(w);
                let inverse = T::from_f64(1.0 / width.to_f64());
                lattices.width[bound_shift][refinement] = width;
                lattices.inverse[bound_shift][refinement] =
                    if inverse.is_finite() { inverse } else { T::ZERO };
                w *= 0.25;
            }
            first *= 0.5;
        }
        lattices
    }

    /// The integer of a value and what it decodes to; None where there is none.
    #[inline(always)]
    fn quantize(&self, value: T, bound_shift: usize, refinement: usize) -> Option<(i32, T)> {
        let scaled = value * self.inverse[bound_shift][refinement];
        // False for NaN as well.
        if scaled.abs() <= T::from_i32(T::MAX_CODE) {
            let q = scaled.round_to_i32();
            Some((q, T::from_i32(q) * self.width[bound_shift][refinement]))
        } else {
            None
        }
    }
}

/// Size of a tile in eighths of a bit, by what each of its vertices needs: every halving of the bound makes
/// its codes longer, and a tighter vertex takes a longer symbol and four bits a refinement.
fn estimate(bound_shift: usize, vertices: u32, halvings: &[u32; HALVINGS]) -> u32 {
    let mut size = bound_shift as u32 * RATE * vertices;
    for (needed, &n) in halvings.iter().enumerate().skip(bound_shift + 1) {
        size += n * 8 * (REFINED + 4 * (needed - bound_shift).div_ceil(2) as u32);
    }
    size
}

/// What a halving of the bound costs a vertex, in eighths of a bit.
const RATE: u32 = 8;
/// What a refined vertex costs besides its refinement bits, in bits.
const REFINED: u32 = 9;

/// The vertices of a tile that have codes, as rows of a mask, and where the tile lies in its window.
struct Inside {
    first: (usize, usize),
    owned: (usize, usize),
    visible: [u32; TILE],
}

/// A row of vertices as if nothing but the bound constrained them.
struct Plain<T> {
    /// Coarse codes, behind a zero.
    coarse: [[i32; 1 + TILE]; 2],
    errors: [T; TILE],
}

impl<T: Real> Plain<T> {
    fn new() -> Self {
        Plain { coarse: [[0; 1 + TILE]; 2], errors: [T::ZERO; TILE] }
    }
}

/// Codes the tiles of one field.
pub struct Encoder<'a, T> {
    pub grid: Grid,
    pub views: [View<'a, T>; 2],
    pub lattices: &'a Lattices<T>,
    pub constraints: &'a Constraints<T>,
}

impl<T: Real> Encoder<'_, T> {
    /// The codes of a tile. Statistics are added to those of the window.
    pub fn tile(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        shape: &TileShape,
    ) -> Result<QuantizedTile> {
        let first = ((shape.x0 > 0) as usize, (shape.y0 > 0) as usize);
        let area = Rectangle {
            x0: shape.x0 - first.0 as u64,
            y0: shape.y0 - first.1 as u64,
            width: first.0 + shape.last_x + 1,
            height: first.1 + shape.last_y + 1,
        };
        // SAFETY: the area lies inside the grid, and whoever made the views promised the halo.
        unsafe { window.load(self.grid, self.views, area, self.constraints, Some(first)) };
        let owned = shape.owned();
        let mut masks = Masks::default();
        let mut visible = [0; TILE];
        for y in 0..owned.1 {
            let row = |mask: u64| (mask >> first.0) as u32 & row_mask(owned.0);
            let at = y + first.1;
            masks.zero[y] = row(window.zero[at]);
            masks.fill[y] = row(window.fill[at]);
            visible[y] = row(!(window.zero[at] | window.missing[at]));
        }
        let inside = Inside { first, owned, visible };
        let bound_shift = self.bound_shift(window, &inside);
        let stats = window.stats;
        if !self.rows(window, builder, &inside, bound_shift, false) {
            window.stats = stats;
            self.rows(window, builder, &inside, bound_shift, true);
        }
        let coding = TileCoding::new(Predictor::Lorenzo, T::BYTES);
        // SAFETY: the tile lies inside the grid.
        unsafe { builder.finish(coding, shape, bound_shift, masks, self.views) }
    }

    /// The bound shift of the smallest estimated size, the first of several.
    fn bound_shift(&self, window: &TileWindow<T>, inside: &Inside) -> usize {
        if !window.any_constrained {
            return 0;
        }
        let mut halvings = [0u32; HALVINGS];
        let mut vertices = 0;
        for (y, &visible) in inside.visible[..inside.owned.1].iter().enumerate() {
            let at = y + inside.first.1;
            vertices += visible.count_ones();
            let mut constrained = (window.constrained[at] >> inside.first.0) as u32 & visible;
            while constrained != 0 {
                let x = constrained.trailing_zeros() as usize;
                constrained &= constrained - 1;
                halvings[self.halvings(window.bounds[at * PITCH + inside.first.0 + x])] += 1;
            }
        }
        let sizes =
            (0..BOUND_SHIFTS).map(|bound_shift| (estimate(bound_shift, vertices, &halvings), bound_shift));
        sizes.min().map_or(0, |smallest| smallest.1)
    }

    /// How often the bound must be halved until no error of the lattice can reach a vertex bound.
    fn halvings(&self, bound: T) -> usize {
        let width = |n: usize| {
            let bound_shift = if n < BOUND_SHIFTS { n } else { BOUND_SHIFTS - 2 + n % 2 };
            self.lattices.width[bound_shift][(n - bound_shift) / 2]
        };
        (0..HALVINGS - 1).find(|&n| T::HALF * width(n) <= bound).unwrap_or(HALVINGS - 1)
    }

    /// Codes the vertices, or stores them all. False where a code has more raw bits than the format allows:
    /// what is stored, and with it the differences around it, depends on all codes before, so that such a
    /// tile is stored as a whole.
    fn rows(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        inside: &Inside,
        bound_shift: usize,
        stored: bool,
    ) -> bool {
        in_wide_vectors(
            #[inline(always)]
            || self.rows_anywhere(window, builder, inside, bound_shift, stored),
        )
    }

    #[inline(always)]
    fn rows_anywhere(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        inside: &Inside,
        bound_shift: usize,
        stored: bool,
    ) -> bool {
        let (mut row, mut before) = (&mut Plain::new(), &mut Plain::new());
        // By column in rows that are all plain, and in others.
        let mut largest = ([T::ZERO; TILE], T::ZERO);
        for (y, &visible) in inside.visible[..inside.owned.1].iter().enumerate() {
            let at = (y + inside.first.1) * PITCH + inside.first.0;
            let constrained = (window.constrained[y + inside.first.1] >> inside.first.0) as u32;
            let signed = (window.signed[y + inside.first.1] >> inside.first.0) as u32;
            let fits = self.plain(window, at, bound_shift, row);
            if fits && visible == u32::MAX && constrained | signed == 0 && !stored {
                for x in 0..TILE {
                    largest.0[x] = largest.0[x].max(row.errors[x]);
                }
                builder.put_differences(TILE * y, &differences(&row.coarse, &before.coarse));
            } else {
                let refinements =
                    self.mixed(window, builder, inside, (y, bound_shift), stored, row, &mut largest.1);
                predict_uncoded(&mut row.coarse, &before.coarse, &refinements);
                if !put_mixed::<T>(builder, TILE * y, &refinements, &differences(&row.coarse, &before.coarse))
                {
                    return false;
                }
            }
            std::mem::swap(&mut row, &mut before);
        }
        let largest = largest.0.iter().fold(largest.1, |largest, &error| largest.max(error));
        window.stats.max_error = window.stats.max_error.max(largest.to_f64());
        true
    }

    /// A row of 32 vertices as if it were unconstrained, and whether all of them have a code that meets the
    /// bound. Written without branches; what is beyond the tile is any number.
    #[inline(always)]
    fn plain(&self, window: &TileWindow<T>, at: usize, bound_shift: usize, row: &mut Plain<T>) -> bool {
        let [bu, bv] = &mut row.coarse;
        // One component after the other: the compiler makes vectors of vertices then, not of components.
        let u = self.quantize_row(&window.u[at..at + TILE], bound_shift, bu);
        let v = self.quantize_row(&window.v[at..at + TILE], bound_shift, bv);
        for x in 0..TILE {
            row.errors[x] = u.1[x].max(v.1[x]);
        }
        u.0 & v.0
    }

    /// The coarse codes of one component of a row; whether all of them meet the bound, and what errors they
    /// leave.
    #[inline(always)]
    fn quantize_row(
        &self,
        values: &[T],
        bound_shift: usize,
        coarse: &mut [i32; 1 + TILE],
    ) -> (bool, [T; TILE]) {
        let (width, inverse) = (self.lattices.width[bound_shift][0], self.lattices.inverse[bound_shift][0]);
        let (accept, most) = (self.lattices.accept, T::from_i32(T::MAX_CODE));
        let values: &[T; TILE] = values.try_into().expect("the length is TILE");
        let mut errors = [T::ZERO; TILE];
        let mut beyond = 0u32;
        for x in 0..TILE {
            let scaled = values[x] * inverse;
            let q = scaled.round_to_i32();
            coarse[1 + x] = q;
            // A step that is infinite makes an error NaN, which is not below anything.
            errors[x] = (T::from_i32(q) * width - values[x]).abs();
            let fits = (scaled.abs() <= most) & (errors[x] <= accept);
            beyond |= !fits as u32;
        }
        (beyond == 0, errors)
    }

    /// The refinements of a row in which not all vertices are plain, `EXACT` for those without a code; puts
    /// in place the coarse codes of the others, and hands on their refinement bits.
    #[allow(clippy::too_many_arguments)]
    #[inline(never)]
    fn mixed(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        inside: &Inside,
        (y, bound_shift): (usize, usize),
        stored: bool,
        row: &mut Plain<T>,
        largest: &mut T,
    ) -> [u8; TILE] {
        let at = (y + inside.first.1) * PITCH + inside.first.0;
        let constrained = (window.constrained[y + inside.first.1] >> inside.first.0) as u32;
        let signed =
            if stored { u32::MAX } else { (window.signed[y + inside.first.1] >> inside.first.0) as u32 };
        let mut refinements = [EXACT; TILE];
        let plain = self.fitting(window, at, bound_shift, row) & inside.visible[y] & !(constrained | signed);
        for x in lanes(plain) {
            refinements[x] = 0;
            *largest = largest.max(row.errors[x]);
        }
        for x in lanes(inside.visible[y] & !plain) {
            let must_store = signed >> x & 1 != 0;
            let kept = if must_store {
                None
            } else {
                self.constrained(window, at + x, constrained >> x & 1 != 0, bound_shift)
            };
            match kept {
                Some((code, error)) => {
                    let [(bu, du), (bv, dv)] = code.q.map(|q| anchors::split(q, code.refinement));
                    (row.coarse[0][1 + x], row.coarse[1][1 + x], refinements[x]) = (bu, bv, code.refinement);
                    builder.put_refinement_bits(TILE * y + x, du | dv << (2 * code.refinement as u32));
                    *largest = largest.max(error);
                }
                None => window.stats.exact += 1,
            }
        }
        refinements
    }

    /// Which vertices of a plain row have a code that meets the bound.
    fn fitting(&self, window: &TileWindow<T>, at: usize, bound_shift: usize, row: &Plain<T>) -> u32 {
        let inverse = self.lattices.inverse[bound_shift][0];
        let (accept, most) = (self.lattices.accept, T::from_i32(T::MAX_CODE));
        let mut fits = [0u8; TILE];
        for x in 0..TILE {
            let (u, v) = (window.u[at + x] * inverse, window.v[at + x] * inverse);
            fits[x] = ((u.abs() <= most) & (v.abs() <= most) & (row.errors[x] <= accept)) as u8;
        }
        lanes_above(&fits, 1)
    }

    /// The code of a vertex that is constrained or that the tile's lattice does not hold, and the error that
    /// it leaves: refinements in order, those that the vertex bound rules out excepted. None if the vertex
    /// must be stored.
    #[inline(never)]
    fn constrained(
        &self,
        window: &TileWindow<T>,
        i: usize,
        constrained: bool,
        bound_shift: usize,
    ) -> Option<(Code, T)> {
        let original = [window.u[i], window.v[i]];
        let bound = if constrained { window.bounds[i] } else { T::MAX };
        let mut refinement = 0;
        while refinement < REFINEMENTS {
            let (qu, ru) = self.lattices.quantize(original[0], bound_shift, refinement)?;
            let (qv, rv) = self.lattices.quantize(original[1], bound_shift, refinement)?;
            let error = (ru - original[0]).abs().max((rv - original[1]).abs());
            if error == T::ZERO || error <= self.lattices.accept && (!constrained || error < bound) {
                return Some((Code { refinement: refinement as u8, q: [qu, qv] }, error));
            }
            if refinement == 0 && constrained {
                let mut certain = 1;
                while certain < REFINEMENTS && T::HALF * self.lattices.width[bound_shift][certain] > bound {
                    certain += 1;
                }
                refinement = usize::saturating_sub(certain, 2);
            }
            refinement += 1;
        }
        None
    }
}

/// Differences across the cells to the left of and below a row of coarse codes, which follow a zero.
#[inline(always)]
fn differences(coarse: &[[i32; 1 + TILE]; 2], before: &[[i32; 1 + TILE]; 2]) -> [[i32; TILE]; 2] {
    let mut differences = [[0; TILE]; 2];
    for c in 0..2 {
        for x in 0..TILE {
            let (right, left) =
                (coarse[c][x + 1].wrapping_sub(coarse[c][x]), before[c][x + 1].wrapping_sub(before[c][x]));
            differences[c][x] = right.wrapping_sub(left);
        }
    }
    differences
}

/// Gives the vertices that are not coded the coarse codes that they are predicted to have.
fn predict_uncoded(
    coarse: &mut [[i32; 1 + TILE]; 2],
    before: &[[i32; 1 + TILE]; 2],
    refinements: &[u8; TILE],
) {
    for (coarse, before) in coarse.iter_mut().zip(before) {
        let mut down = 0;
        for x in 0..TILE {
            if refinements[x] != EXACT {
                down = coarse[1 + x].wrapping_sub(before[1 + x]);
            } else {
                coarse[1 + x] = before[1 + x].wrapping_add(down);
            }
        }
    }
}

/// Hands on the codes of a row; false where the format does not allow one.
fn put_mixed<T: Real>(
    builder: &mut QuantizedTileBuilder,
    position: usize,
    refinements: &[u8; TILE],
    differences: &[[i32; TILE]; 2],
) -> bool {
    let coding = TileCoding::new(Predictor::Lorenzo, T::BYTES);
    builder.put_differences(position, differences);
    // Codes with refinement 0 have 64 raw bits at most.
    let [u, v] = differences;
    lanes(lanes_above(refinements, 1)).all(|x| {
        builder.put(position + x, Code { refinement: refinements[x], q: [u[x], v[x]] });
        refinements[x] == EXACT || coding.allows(builder.symbols[position + x])
    })
}

/// Adds the sums along a row of differences that are all small, whose symbols are given, to the coarse codes
/// of the row before. Sums of differences plus 2, which are 0 to 4, fit a byte, and a product makes eight of
/// them.
#[inline(always)]
fn add_small(coarse: &mut [[i32; TILE]; 2], row: &[u8; TILE]) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut differences = [[0u8; TILE]; 2];
    for x in 0..TILE {
        let [u, v] = symbols::decode_small_above(row[x]);
        (differences[0][x], differences[1][x]) = (u, v);
    }
    for (coarse, differences) in coarse.iter_mut().zip(&mut differences) {
        let mut before = 0;
        for eight in differences.chunks_exact_mut(8) {
            let sums = u64::from_le_bytes((&*eight).try_into().expect("eight bytes")).wrapping_mul(ONES);
            let sums = sums + before * ONES;
            before = sums >> 56;
            eight.copy_from_slice(&sums.to_le_bytes());
        }
        for x in 0..TILE {
            coarse[x] = coarse[x].wrapping_add(differences[x] as i32 - 2 * (x as i32 + 1));
        }
    }
}

/// Hands on the first `width` values of a row; the usual width as a constant, which copies without a call.
#[inline(always)]
fn put_row<T>(put: &mut impl FnMut(usize, &[T], &[T]), y: usize, [u, v]: &[[T; TILE]; 2], width: usize) {
    if width == TILE {
        put(y, u, v);
    } else {
        put(y, &u[..width], &v[..width]);
    }
}

/// Reconstructs the tiles of one field.
pub struct Decoder<'a, T> {
    pub lattices: &'a Lattices<T>,
    pub coding: TileCoding,
    pub fill: [T; 2],
}

impl<T: Real> Decoder<'_, T> {
    /// The values of the rows of a tile, as `put(row, u, v)`.
    pub fn tile(&self, codes: &QuantizedTile, shape: &TileShape, mut put: impl FnMut(usize, &[T], &[T])) {
        let coding = self.coding;
        let (owned_x, owned_y) = shape.owned();
        let active = coding.active(shape, codes.masks.as_deref());
        let bound_shift = codes.bound_shift();
        let width = self.lattices.width[bound_shift][0];
        let (mut symbols, mut raw) = (&codes.symbols[..], &codes.raw[..]);
        let mut coarse = [[0i32; TILE]; 2];
        let mut values = [[T::ZERO; TILE]; 2];
        // Vertices of a row that are not their coarse code: column, symbol, refinement and raw bits.
        let mut fine = [(0, ZERO, 0, 0u128); TILE];
        for y in 0..owned_y {
            let mask = active[y];
            let blank = !QuantizedTile::has_codes(codes.mask_state) || coding.activity_at(codes, y) == 0;
            let here;
            (here, symbols) = symbols.split_at(if blank { 0 } else { mask.count_ones() as usize });
            let mut row = [ZERO; TILE];
            if let Ok(whole) = here.try_into() {
                row = whole;
            } else {
                lanes(mask).zip(here).for_each(|(x, &s)| row[x] = s);
            }
            let coded = lanes_above(&row, 1);
            // A row without differences is that before it, unless this had vertices of another kind.
            if coded == 0 && y > 0 && mask == u32::MAX && active[y - 1] == u32::MAX && codes.raw.is_empty() {
                put_row(&mut put, y, &values, owned_x);
                continue;
            }
            let mut refined = 0;
            let large = lanes_above(&row, FIRST_WITH_RAW_BITS);
            if large != 0 {
                let mut differences = [[0i32; TILE]; 2];
                for x in lanes(coded & !large) {
                    [differences[0][x], differences[1][x]] = symbols::decode_small(row[x]);
                }
                for x in lanes(large) {
                    let s = row[x];
                    let mut code = Code::default();
                    let bits = coding.raw_bits(s, TILE * y + x);
                    let taken;
                    (taken, raw) = raw.split_at(bits.div_ceil(64) as usize);
                    let value = taken.iter().rev().fold(0u128, |v, &w| v << 64 | w as u128);
                    if s != STORED {
                        code = symbols::decode(s, value as u64);
                    }
                    if s == STORED || code.refinement > 0 {
                        fine[refined] = (x, s, code.refinement, value);
                        refined += 1;
                    }
                    [differences[0][x], differences[1][x]] = code.q;
                }
                for (coarse, differences) in coarse.iter_mut().zip(&differences) {
                    let mut down = 0i32;
                    for x in 0..TILE {
                        down = down.wrapping_add(differences[x]);
                        coarse[x] = coarse[x].wrapping_add(down);
                    }
                }
            } else if coded != 0 {
                add_small(&mut coarse, &row);
            }
            for (values, coarse) in values.iter_mut().zip(&coarse) {
                for x in 0..TILE {
                    values[x] = T::from_i32(coarse[x]) * width;
                }
            }
            for x in lanes(!mask & row_mask(owned_x)) {
                let value = if codes.masked(x, y) == Some(true) { self.fill } else { [T::ZERO; 2] };
                [values[0][x], values[1][x]] = value;
            }
            for &(x, symbol, refinement, raw) in &fine[..refined] {
                [values[0][x], values[1][x]] = if symbol == STORED {
                    let bits = 8 * T::BYTES as u32;
                    [raw as u64, (raw >> bits) as u64].map(T::from_bits64)
                } else {
                    let refinement_bits = (raw >> symbols::RAW_BITS[symbol as usize]) as u32;
                    self.fine([coarse[0][x], coarse[1][x]], refinement_bits, refinement, bound_shift)
                };
            }
            put_row(&mut put, y, &values, owned_x);
        }
    }

    /// The value of a refined vertex.
    fn fine(&self, coarse: [i32; 2], refinement_bits: u32, refinement: u8, bound_shift: usize) -> [T; 2] {
        let mask = (1u32 << (2 * refinement as u32)) - 1;
        let width = self.lattices.width[bound_shift][refinement as usize];
        [(coarse[0], refinement_bits & mask), (coarse[1], refinement_bits >> (2 * refinement as u32) & mask)]
            .map(|(coarse, refinement_bits)| {
                T::from_i32(anchors::join(coarse, refinement_bits, refinement)) * width
            })
    }
}

/// Does something in the widest vectors of this processor, which compute the same.
fn in_wide_vectors<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        unsafe fn avx2<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        if std::arch::is_x86_feature_detected!("avx2") && !tests_narrow() {
            // SAFETY: the processor has these instructions.
            return unsafe { avx2(work) };
        }
    }
    work()
}

/// Whether a test looks at what is done on a processor without wide vectors.
#[cfg(target_arch = "x86_64")]
fn tests_narrow() -> bool {
    #[cfg(test)]
    return tests::NARROW.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(test))]
    false
}

#[cfg(test)]
mod tests {
    use crate::cpu::{compress, max_stream_bytes, Execution};
    use crate::grid::element::Real;
    use crate::grid::field::View;
    use crate::{BoundKind, Config, Dtype, Predictor, Request};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Other tests that run meanwhile write the same streams.
    pub(super) static NARROW: AtomicBool = AtomicBool::new(false);

    fn both_are_the_same<T: Real>(dtype: Dtype) {
        let (nx, ny) = (300u64, 170u64);
        let noise = |k: u64| (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1 << 24) as f64;
        let wave = |a: f64, b: f64, c: f64| -> Vec<T> {
            let at = |k: u64| (a * (k % nx) as f64).sin() + (b * (k / nx) as f64).cos() + c * noise(k);
            (0..nx * ny).map(|k| T::from_f64(if k % 977 == 5 { f64::NAN } else { at(k) })).collect()
        };
        for roughness in [0.0, 1e-3, 0.3] {
            let (u, v) = (wave(0.11, 0.07, roughness), wave(0.05, 0.13, roughness));
            for bound in [1e-1, 1e-2, 1e-4, 1e-7] {
                let config = Config {
                    dtype,
                    predictor: Predictor::Lorenzo,
                    ..Config::new(nx, ny, BoundKind::Relative, bound)
                };
                let request = Request::new(config).expect("valid");
                let streams = [true, false].map(|narrow| {
                    NARROW.store(narrow, Ordering::Relaxed);
                    let mut stream = vec![0; max_stream_bytes(&request) as usize];
                    let [u, v] = [&u, &v].map(|c| View::dense(c, nx));
                    let execution = Execution { threads: 1, progress: None };
                    let report = compress(&request, u, v, &mut stream, execution).expect("valid");
                    stream.truncate(report.stream_bytes as usize);
                    stream
                });
                assert!(streams[0] == streams[1], "roughness {roughness}, bound {bound}");
            }
        }
    }

    #[test]
    fn wide_vectors_write_the_same_streams() {
        both_are_the_same::<f32>(Dtype::F32);
        both_are_the_same::<f64>(Dtype::F64);
    }
}
