//! From the codes of a vertex to one entropy-coded symbol and a few raw bits, and back.
//!
//! A vertex has a refinement and two integers (qu, qv). Small pairs have a symbol each; larger ones
//! share a symbol by magnitude, and signs and mantissas follow as raw bits, which no coder could
//! shorten: interpolation residuals are symmetric and flat at that scale. FORMAT.md lists the alphabet.

/// Refinements 0..=8 quantise with the bound of the level divided by 4^refinement.
pub const REFINEMENTS: usize = 9;
/// The refinement of a vertex that is stored bit for bit.
pub const EXACT: u8 = 9;
/// The refinement of a vertex that a mask describes: it has no code.
pub const MASKED: u8 = 10;
/// The refinement of a vertex that is stored as differences to its prediction, if these are small enough; its
/// integers are the upper bits of the prediction (`entropy::differences`).
pub const PREDICTED: u8 = 11;

/// Stands for every symbol that has no frequency of its own; the symbol follows in 8 raw bits.
pub const ESCAPE: u8 = 255;
pub const ALPHABET: usize = 256;

/// The vertex decodes to its prediction.
pub const ZERO: u8 = 0;
/// The values follow bit for bit.
pub const STORED: u8 = 179;
/// Symbols from here on may be followed by raw bits, or by refinement bits.
pub const FIRST_WITH_RAW_BITS: u8 = 25;
/// The values follow as differences to their prediction: symbols from here on, by the length of these.
pub const FIRST_DIFFERENCE: u8 = 180;
pub const DIFFERENCES: usize = 11;
/// Symbols 0..=190.
pub const SYMBOLS: usize = FIRST_DIFFERENCE as usize + DIFFERENCES;
/// In the stream of one component alone: the value follows bit for bit, and predictions see 0 in its place,
/// as the other component of the vertex is missing.
pub const HIDDEN: u8 = SYMBOLS as u8;

/// Largest component of the codes of refinement 0 that have a symbol for each pair.
pub const SMALL: i32 = 2;
/// First symbol of larger pairs of refinement 0, and bit lengths of a component that these have.
pub const PAIR0: u8 = FIRST_WITH_RAW_BITS;
pub const PAIR0_SIDE: u32 = 7;
/// First symbol of the codes of refinement 0 that are larger still, by the bit length of both components.
pub const WIDE0: u8 = 74;
/// First symbol of small pairs of refinement 1, and bit lengths of a component that these have.
pub const PAIR1: u8 = 99;
pub const PAIR1_SIDE: u32 = 4;
/// First symbol of other codes, and buckets of each refinement above 0.
pub const BUCKET: u8 = 115;
pub const BUCKETS: usize = 8;
/// Magnitude bits of all buckets of a refinement but the last, beyond those of its first bucket.
pub const BUCKET_OFFSETS: [u32; BUCKETS - 1] = [0, 1, 2, 3, 4, 6, 10];

/// Magnitude bits of the buckets of a refinement above 0: a refinement of k makes codes up to about 4^k.
const fn bucket_bits(refinement: u32, bucket: usize) -> u32 {
    if bucket < BUCKET_OFFSETS.len() {
        2 * refinement - 2 + BUCKET_OFFSETS[bucket]
    } else {
        31
    }
}

/// Quantisation code of one vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Code {
    /// Below [`REFINEMENTS`], or [`EXACT`], [`MASKED`] or [`PREDICTED`].
    pub refinement: u8,
    pub q: [i32; 2],
}

/// The meaning of a symbol.
#[derive(Clone, Copy)]
struct Meaning {
    refinement: u8,
    /// Bits of |qu| and |qv|: with a sign bit each if not zero (pairs), or both plus one (wide).
    bits: [u8; 2],
    wide: bool,
    raw: u8,
}

const fn meaning(symbol: u8) -> Meaning {
    let s = symbol as u32;
    let (refinement, ku, kv, wide) = if symbol < PAIR0 {
        (0, 0, 0, false)
    } else if symbol < WIDE0 {
        let k = s - PAIR0 as u32;
        (0, k / PAIR0_SIDE, k % PAIR0_SIDE, false)
    } else if symbol < PAIR1 {
        let k = s - WIDE0 as u32 + PAIR0_SIDE;
        (0, k, k, true)
    } else if symbol < BUCKET {
        let k = s - PAIR1 as u32;
        (1, k / PAIR1_SIDE, k % PAIR1_SIDE, false)
    } else if symbol < STORED {
        let k = (s - BUCKET as u32) as usize;
        let refinement = 1 + (k / BUCKETS) as u32;
        let bits = bucket_bits(refinement, k % BUCKETS);
        (refinement, bits, bits, true)
    } else {
        (EXACT as u32, 0, 0, false)
    };
    let raw = if wide { ku + kv + 2 } else { ku + kv };
    Meaning { refinement: refinement as u8, bits: [ku as u8, kv as u8], wide, raw: raw as u8 }
}

const MEANINGS: [Meaning; 256] = {
    let mut table = [meaning(STORED); 256];
    let mut s = 0;
    while s < STORED as usize {
        table[s] = meaning(s as u8);
        s += 1;
    }
    table
};

/// Raw bits that follow each symbol below [`STORED`].
pub const RAW_BITS: [u8; 256] = {
    let mut table = [0; 256];
    let mut s = 0;
    while s < STORED as usize {
        table[s] = MEANINGS[s].raw;
        s += 1;
    }
    table
};

/// Raw bits that follow each symbol below [`STORED`] in the stream of one component alone: those of qu.
pub const OWN_RAW_BITS: [u8; 256] = {
    let mut table = [0; 256];
    let mut s = 0;
    while s < STORED as usize {
        table[s] = MEANINGS[s].bits[0] + MEANINGS[s].wide as u8;
        s += 1;
    }
    table
};

/// The refinement of a symbol; [`EXACT`] from [`STORED`] on.
#[inline(always)]
pub fn refinement_of(symbol: u8) -> u8 {
    MEANINGS[symbol as usize].refinement
}

#[inline(always)]
fn bit_length(q: i32) -> u32 {
    32 - q.unsigned_abs().leading_zeros()
}

/// Sign and mantissa of a value with `bits` magnitude bits: nothing for 0 bits.
#[inline(always)]
pub(super) fn pack(q: i32, bits: u32) -> u64 {
    if bits == 0 {
        return 0;
    }
    let top = 1u32 << (bits - 1);
    ((q.unsigned_abs() - top) | if q < 0 { top } else { 0 }) as u64
}

#[inline(always)]
pub(super) fn unpack(raw: u64, bits: u32) -> i32 {
    if bits == 0 {
        return 0;
    }
    let top = 1u32 << (bits - 1);
    let raw = raw as u32;
    let magnitude = ((raw & (top - 1)) | top) as i32;
    if raw & top != 0 {
        -magnitude
    } else {
        magnitude
    }
}

/// Whether an integer belongs to pairs that have a symbol each.
#[inline(always)]
pub fn is_small(q: i32) -> bool {
    q.unsigned_abs() <= SMALL as u32
}

/// The symbol of two small integers with refinement 0, given how far they are above the least one; any symbol
/// for others.
#[inline(always)]
fn encode_small(u: i32, v: i32) -> u8 {
    let pair = u.wrapping_mul(5).wrapping_add(v);
    let symbol = pair.wrapping_add((pair < 12) as i32);
    (if pair == 12 { ZERO as i32 } else { symbol }) as u8
}

/// The symbols of pairs of small integers with refinement 0; false, and any symbols for them, where some are
/// not small. Without branches, so that the compiler can use vector instructions.
#[inline(always)]
pub fn encode_all_small<const N: usize>(symbols: &mut [u8; N], u: &[i32; N], v: &[i32; N]) -> bool {
    let mut beyond = 0;
    for i in 0..N {
        let (u, v) = (u[i].wrapping_add(SMALL), v[i].wrapping_add(SMALL));
        // The sign bit says that an integer is below the least or above the largest one.
        beyond |= (u | (2 * SMALL).wrapping_sub(u)) | (v | (2 * SMALL).wrapping_sub(v));
        symbols[i] = encode_small(u, v);
    }
    beyond >= 0
}

/// Symbol and raw bits of a code with refinement 0..=8.
#[inline(always)]
pub fn encode(code: Code) -> (u8, u64) {
    let [qu, qv] = code.q;
    if code.refinement == 0 && is_small(qu) && is_small(qv) {
        return (encode_small(qu + SMALL, qv + SMALL), 0);
    }
    let (ku, kv) = (bit_length(qu), bit_length(qv));
    // 31 bits and the sign hold -2^31 as well.
    let k = ku.max(kv).min(31);
    if code.refinement == 0 && k < PAIR0_SIDE {
        let symbol = PAIR0 + (ku * PAIR0_SIDE + kv) as u8;
        return (symbol, pack(qu, ku) | pack(qv, kv) << ku);
    }
    if code.refinement == 1 && k < PAIR1_SIDE {
        let symbol = PAIR1 + (ku * PAIR1_SIDE + kv) as u8;
        return (symbol, pack(qu, ku) | pack(qv, kv) << ku);
    }
    let (symbol, bits) = if code.refinement == 0 {
        (WIDE0 + (k - PAIR0_SIDE) as u8, k)
    } else {
        let mut bucket = 0;
        while bucket_bits(code.refinement as u32, bucket) < k {
            bucket += 1;
        }
        let index = (code.refinement as usize - 1) * BUCKETS + bucket;
        (BUCKET + index as u8, bucket_bits(code.refinement as u32, bucket))
    };
    let offset = 1i64 << bits;
    let biased = |q: i32| (q as i64 + offset) as u64;
    (symbol, biased(qu) | biased(qv) << (bits + 1))
}

/// The two integers of a symbol without raw bits.
#[inline(always)]
pub const fn decode_small(symbol: u8) -> [i32; 2] {
    let pair = if symbol == 0 {
        12
    } else if symbol <= 12 {
        symbol as i32 - 1
    } else {
        symbol as i32
    };
    [pair / 5 - SMALL, pair % 5 - SMALL]
}

/// [`decode_small`] plus 2 each, without branches and tables, so that the compiler can use vector
/// instructions.
#[inline(always)]
pub fn decode_small_above(symbol: u8) -> [u8; 2] {
    let before = symbol - ((symbol > 0) & (symbol <= 12)) as u8;
    let pair = before + if symbol == 0 { 12 } else { 0 };
    // A fifth, which is exact this far.
    let u = ((pair as u16 * 52) >> 8) as u8;
    [u, pair - 5 * u]
}

/// The code of a symbol below [`STORED`] with its raw bits. Total: any bits give some code.
#[inline(always)]
pub fn decode(symbol: u8, raw: u64) -> Code {
    if symbol < PAIR0 {
        return Code { refinement: 0, q: decode_small(symbol) };
    }
    let m = MEANINGS[symbol as usize];
    let [ku, kv] = m.bits.map(u32::from);
    let q = if m.wide {
        let mask = (1u64 << (ku + 1)) - 1;
        let offset = 1i64 << ku;
        [raw & mask, raw >> (ku + 1) & mask].map(|b| (b as i64 - offset) as i32)
    } else {
        [unpack(raw, ku), unpack(raw >> ku, kv)]
    };
    Code { refinement: m.refinement, q }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_round_trips() {
        let mut values: Vec<i32> = (-70..=70).collect();
        for k in 6..31 {
            let p = 1i32 << k;
            values.extend([p - 1, p, p + 1, 1 - p, -p, -p - 1]);
        }
        for refinement in 0..=8u8 {
            for &qu in &values {
                for &qv in values.iter().step_by(3).chain(&[0, 1, -1, qu]) {
                    let code = Code { refinement, q: [qu, qv] };
                    let (symbol, raw) = encode(code);
                    assert!(symbol < STORED);
                    let bits = RAW_BITS[symbol as usize];
                    assert!(bits == 64 || raw >> bits == 0, "{code:?}");
                    assert_eq!(decode(symbol, raw), code);
                    assert_eq!(refinement_of(symbol), refinement);
                }
            }
        }
    }

    #[test]
    fn small_codes_are_the_same_many_at_a_time() {
        for symbol in 0..PAIR0 {
            assert_eq!(decode_small_above(symbol).map(|q| q as i32 - SMALL), decode_small(symbol));
        }
        let values = [0, 1, -1, 2, -2, 3, -3, 5, -6, 1 << 20, i32::MAX, i32::MIN, i32::MAX - 1, i32::MIN + 1];
        for qu in values {
            for qv in values {
                let mut symbols = [255; 2];
                let small = encode_all_small(&mut symbols, &[qu, 0], &[qv, 1]);
                assert_eq!(small, is_small(qu) && is_small(qv), "{qu} {qv}");
                assert_eq!(symbols[1], encode(Code { refinement: 0, q: [0, 1] }).0);
                if small {
                    assert_eq!((symbols[0], 0), encode(Code { refinement: 0, q: [qu, qv] }));
                }
            }
        }
    }

    #[test]
    fn any_bits_decode() {
        for symbol in 0..STORED {
            for raw in [0, 1, u64::MAX, 0x5555_5555_5555_5555, 0x8000_0000_8000_0000] {
                decode(symbol, raw);
            }
        }
    }
}
