//! The Lorenzo predictor's side of a tile: symbols to differences, their sums to values, row by row.

use crate::entropy::differences;
use crate::entropy::lanes::{lanes, lanes_above};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::{self, Code, FIRST_WITH_RAW_BITS, HIDDEN, STORED, ZERO};
use crate::grid::element::Real;
use crate::grid::masks::row_mask;
use crate::grid::tiles::{TileShape, TILE};
use crate::predict::anchors;
use crate::predict::lorenzo::Lattices;

/// A vertex of a row whose value is not that of its coarse code: it is stored or refined.
#[derive(Clone, Copy, Default)]
struct Fine {
    x: usize,
    symbol: u8,
    refinement: u8,
    raw: u128,
}

/// Reconstructs the tiles of one field. With `ONE` the codes are those of a stream of one component, which
/// takes the place of u; nothing looks at v.
pub struct Decoder<'a, T, const ONE: bool> {
    pub lattices: &'a Lattices<T>,
    pub coding: TileCoding,
    pub fill: [T; 2],
}

impl<T: Real, const ONE: bool> Decoder<'_, T, ONE> {
    /// The components that are computed.
    const COMPONENTS: usize = if ONE { 1 } else { 2 };

    /// The values of the rows of a tile, as `put(row, u, v)`.
    pub fn tile(&self, codes: &QuantizedTile, shape: &TileShape, mut put: impl FnMut(usize, &[T], &[T])) {
        let coding = self.coding;
        let (owned_x, owned_y) = shape.owned();
        let active = shape.active(coding, codes.masks.as_deref());
        let bound_shift = codes.bound_shift();
        let width = self.lattices.steps[bound_shift][0].width;
        let (mut symbols, mut raw) = (&codes.symbols[..], &codes.raw[..]);
        let mut coarse = [[0i32; TILE]; 2];
        let mut values = [[T::ZERO; TILE]; 2];
        let mut fine = [Fine::default(); TILE];
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
                put_row::<T, ONE>(&mut put, y, &values, owned_x);
                continue;
            }
            let mut refined = 0;
            let large = lanes_above(&row, FIRST_WITH_RAW_BITS);
            if large != 0 {
                refined = self.add_large(y, (&row, coded, large), &mut coarse, &mut raw, &mut fine);
            } else if coded != 0 {
                add_small::<ONE>(&mut coarse, &row);
            }
            for (values, coarse) in values.iter_mut().zip(&coarse).take(Self::COMPONENTS) {
                for x in 0..TILE {
                    values[x] = T::from_i32(coarse[x]) * width;
                }
            }
            for x in lanes(!mask & row_mask(owned_x)) {
                let value = if codes.masked(x, y) == Some(true) { self.fill } else { [T::ZERO; 2] };
                [values[0][x], values[1][x]] = value;
            }
            for vertex in &fine[..refined] {
                let x = vertex.x;
                [values[0][x], values[1][x]] = self.fine([coarse[0][x], coarse[1][x]], vertex, bound_shift);
            }
            put_row::<T, ONE>(&mut put, y, &values, owned_x);
        }
    }

    /// Adds the sums along a row of differences, some of which have raw bits, to the coarse codes of the row
    /// before. Notes the vertices that are stored or refined, and gives their number.
    #[inline(always)]
    fn add_large(
        &self,
        y: usize,
        (row, coded, large): (&[u8; TILE], u32, u32),
        coarse: &mut [[i32; TILE]; 2],
        raw: &mut &[u64],
        fine: &mut [Fine; TILE],
    ) -> usize {
        let mut refined = 0;
        let mut differences = [[0i32; TILE]; 2];
        for x in lanes(coded & !large) {
            [differences[0][x], differences[1][x]] = symbols::decode_small(row[x]);
        }
        for x in lanes(large) {
            let symbol = row[x];
            let bits = self.coding.raw_bits(symbol, TILE * y + x);
            let taken;
            (taken, *raw) = raw.split_at(bits.div_ceil(64) as usize);
            let value = taken.iter().rev().fold(0u128, |v, &w| v << 64 | w as u128);
            let code = if symbol >= STORED { Code::default() } else { symbols::decode(symbol, value as u64) };
            if symbol >= STORED || code.refinement > 0 {
                fine[refined] = Fine { x, symbol, refinement: code.refinement, raw: value };
                refined += 1;
            }
            [differences[0][x], differences[1][x]] = code.q;
        }
        for (coarse, differences) in coarse.iter_mut().zip(&differences).take(Self::COMPONENTS) {
            let mut sum = 0i32;
            for x in 0..TILE {
                sum = sum.wrapping_add(differences[x]);
                coarse[x] = coarse[x].wrapping_add(sum);
            }
        }
        refined
    }

    /// The value of a stored or refined vertex.
    fn fine(&self, coarse: [i32; 2], vertex: &Fine, bound_shift: usize) -> [T; 2] {
        let &Fine { symbol, refinement, raw, .. } = vertex;
        if symbol == STORED || (ONE && symbol == HIDDEN) {
            return differences::from_verbatim(raw);
        }
        if symbol > STORED {
            let width = self.lattices.steps[bound_shift][0].width;
            // With one component the other does not count.
            let raw = if ONE { raw | raw << differences::bits_of(symbol, T::BYTES) } else { raw };
            let coarse = if ONE { [coarse[0]; 2] } else { coarse };
            return differences::decode(symbol, raw, coarse.map(|q| T::from_i32(q) * width));
        }
        let refinement_bits = (raw >> self.coding.code_bits(symbol)) as u32;
        let (bits, mask) = (2 * refinement as u32, (1u32 << (2 * refinement as u32)) - 1);
        let width = self.lattices.steps[bound_shift][refinement as usize].width;
        [(coarse[0], refinement_bits & mask), (coarse[1], refinement_bits >> bits & mask)]
            .map(|(coarse, bits)| T::from_i32(anchors::join(coarse, bits, refinement)) * width)
    }
}

/// Adds the sums along a row of differences that are all small, whose symbols are given, to the coarse codes
/// of the row before. Sums of differences plus 2, which are 0 to 4, fit a byte, and a product makes eight of
/// them.
#[inline(always)]
fn add_small<const ONE: bool>(coarse: &mut [[i32; TILE]; 2], row: &[u8; TILE]) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut differences = [[0u8; TILE]; 2];
    for x in 0..TILE {
        let [u, v] = symbols::decode_small_above(row[x]);
        (differences[0][x], differences[1][x]) = (u, v);
    }
    let components = if ONE { 1 } else { 2 };
    for (coarse, differences) in coarse.iter_mut().zip(&mut differences).take(components) {
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
fn put_row<T, const ONE: bool>(
    put: &mut impl FnMut(usize, &[T], &[T]),
    y: usize,
    [u, v]: &[[T; TILE]; 2],
    width: usize,
) {
    let v = if ONE { u } else { v };
    if width == TILE {
        put(y, u, v);
    } else {
        put(y, &u[..width], &v[..width]);
    }
}
