//! From the three integers of a vertex of a volume to one entropy-coded symbol and a few raw bits, and back
//! (FORMAT.md, section 11.4).
//!
//! Small triples have a symbol each. Larger ones share a symbol by the bit length of the largest component and
//! how much shorter the others are; signs and mantissas follow as raw bits.

use crate::entropy::symbols::{pack, unpack, ZERO};

/// Largest component of the triples that have a symbol each.
pub const SMALL: i32 = 2;
const SIDE: usize = 2 * SMALL as usize + 1;
/// First symbol of larger triples.
pub const FIRST_LARGE: u8 = (SIDE * SIDE * SIDE) as u8;
/// Bit lengths of the largest component that have a symbol for each way in which the others are shorter.
pub const SHORTEST: u32 = 2;
const LENGTHS: u32 = 6;
/// Ways in which components are shorter than the largest one: by 0, by 1, or by 2 and more bits.
pub const WAYS: usize = 19;
/// First symbol of the triples that are larger still, by the bit length of all components.
pub const FIRST_WIDE: u8 = FIRST_LARGE + LENGTHS as u8 * WAYS as u8;
pub const SHORTEST_WIDE: u32 = SHORTEST + LENGTHS;
/// Most bits of a component.
pub const MOST_BITS: u32 = 20;
/// Symbols of triples.
pub const TRIPLES: u8 = FIRST_WIDE + (MOST_BITS - SHORTEST_WIDE + 1) as u8;
const _: () = assert!(TRIPLES == 252);

const fn larger(a: i32, b: i32) -> i32 {
    if a > b {
        a
    } else {
        b
    }
}

/// The largest magnitude in a triple.
const fn size(q: [i32; 3]) -> i32 {
    larger(larger(q[0].abs(), q[1].abs()), q[2].abs())
}

/// The triples that have a symbol each, by symbol: (0, 0, 0), then those of ones, then the others.
const SMALL_TRIPLES: [[i32; 3]; FIRST_LARGE as usize] = {
    let mut triples = [[0; 3]; FIRST_LARGE as usize];
    let (mut next, mut of_size) = (1, 1);
    while of_size <= SMALL {
        let mut k = 0;
        while k < SIDE * SIDE * SIDE {
            let q = [
                (k / (SIDE * SIDE)) as i32 - SMALL,
                (k / SIDE % SIDE) as i32 - SMALL,
                (k % SIDE) as i32 - SMALL,
            ];
            if size(q) == of_size {
                triples[next] = q;
                next += 1;
            }
            k += 1;
        }
        of_size += 1;
    }
    triples
};

/// The symbols of these triples, by place.
const SMALL_SYMBOLS: [u8; SIDE * SIDE * SIDE] = {
    let mut symbols = [0; SIDE * SIDE * SIDE];
    let mut symbol = 0;
    while symbol < SMALL_TRIPLES.len() {
        symbols[place(SMALL_TRIPLES[symbol])] = symbol as u8;
        symbol += 1;
    }
    symbols
};

const fn place(q: [i32; 3]) -> usize {
    (((q[0] + SMALL) as usize * SIDE) + (q[1] + SMALL) as usize) * SIDE + (q[2] + SMALL) as usize
}

/// How much shorter each component is, by way: at least one is not.
const SHORTER: [[u32; 3]; WAYS] = {
    let mut ways = [[0; 3]; WAYS];
    let (mut next, mut k) = (0, 0);
    while k < 27 {
        let way = [k / 9, k / 3 % 3, k % 3];
        if way[0] == 0 || way[1] == 0 || way[2] == 0 {
            ways[next] = way;
            next += 1;
        }
        k += 1;
    }
    ways
};

/// The way of a triple of differences of bit lengths, by 9 a + 3 b + c.
const WAY_OF: [u8; 27] = {
    let mut of = [0; 27];
    let mut way = 0;
    while way < WAYS {
        of[(9 * SHORTER[way][0] + 3 * SHORTER[way][1] + SHORTER[way][2]) as usize] = way as u8;
        way += 1;
    }
    of
};

/// The raw bits of a component whose length is at least 2 below that of the largest one, `length`: those of a
/// number above the least one.
const fn short_bits(length: u32) -> u32 {
    if length == 2 {
        0
    } else {
        length - 1
    }
}

/// Raw bits that follow each symbol.
pub const RAW_BITS: [u8; 256] = {
    let mut bits = [0; 256];
    let mut symbol = FIRST_LARGE as usize;
    while symbol < TRIPLES as usize {
        bits[symbol] = if symbol < FIRST_WIDE as usize {
            let k = symbol - FIRST_LARGE as usize;
            let (length, way) = (SHORTEST + (k / WAYS) as u32, SHORTER[k % WAYS]);
            let (mut all, mut c) = (0, 0);
            while c < 3 {
                all += if way[c] == 2 { short_bits(length) } else { length - way[c] };
                c += 1;
            }
            all as u8
        } else {
            (3 * (SHORTEST_WIDE + (symbol - FIRST_WIDE as usize) as u32 + 1)) as u8
        };
        symbol += 1;
    }
    bits
};

#[inline(always)]
fn bit_length(q: i32) -> u32 {
    32 - q.unsigned_abs().leading_zeros()
}

/// Symbol and raw bits of integers whose magnitudes are below 2^[`MOST_BITS`].
#[inline(always)]
pub fn encode(q: [i32; 3]) -> (u8, u64) {
    if size(q) <= SMALL {
        return (SMALL_SYMBOLS[place(q)], 0);
    }
    encode_large(q)
}

fn encode_large(q: [i32; 3]) -> (u8, u64) {
    let lengths = q.map(bit_length);
    let length = lengths[0].max(lengths[1]).max(lengths[2]);
    debug_assert!(length <= MOST_BITS);
    let (mut raw, mut done) = (0, 0);
    let mut put = |value: u64, bits: u32| {
        raw |= value << done;
        done += bits;
    };
    if length >= SHORTEST_WIDE {
        q.iter().for_each(|&q| put((q as i64 + (1 << length)) as u64, length + 1));
        return (FIRST_WIDE + (length - SHORTEST_WIDE) as u8, raw);
    }
    let way = lengths.map(|l| (length - l).min(2));
    for (&q, &shorter) in q.iter().zip(&way) {
        match shorter {
            2 if length == 2 => {}
            2 => put((q as i64 + (1 << (length - 2))) as u64, short_bits(length)),
            shorter => put(pack(q, length - shorter), length - shorter),
        }
    }
    let way = WAY_OF[(9 * way[0] + 3 * way[1] + way[2]) as usize] as u32;
    (FIRST_LARGE + ((length - SHORTEST) * WAYS as u32 + way) as u8, raw)
}

/// The integers of a symbol with its raw bits. Total: any bits of any symbol give some integers.
#[inline(always)]
pub fn decode(symbol: u8, raw: u64) -> [i32; 3] {
    match symbol {
        ZERO => [0; 3],
        symbol if symbol < FIRST_LARGE => SMALL_TRIPLES[symbol as usize],
        symbol => decode_large(symbol, raw),
    }
}

fn decode_large(symbol: u8, mut raw: u64) -> [i32; 3] {
    let mut take = |bits: u32| {
        let value = raw & ((1 << bits) - 1);
        raw >>= bits;
        value
    };
    if symbol >= FIRST_WIDE {
        let length = (SHORTEST_WIDE + (symbol - FIRST_WIDE) as u32).min(MOST_BITS);
        return [0; 3].map(|_: i32| (take(length + 1) as i64 - (1 << length)) as i32);
    }
    let k = (symbol - FIRST_LARGE) as usize;
    let length = SHORTEST + (k / WAYS) as u32;
    SHORTER[k % WAYS].map(|shorter| match shorter {
        2 if length == 2 => 0,
        2 => (take(short_bits(length)) as i64 - (1 << (length - 2))) as i32,
        shorter => unpack(take(length - shorter), length - shorter),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_triple_round_trips() {
        let mut values: Vec<i32> = (-9..=9).collect();
        for k in 4..=MOST_BITS {
            let p = 1i32 << (k - 1);
            values.extend([p - 1, p, p + 1, -p + 1, -p, -p - 1, 2 * p - 1, 1 - 2 * p]);
        }
        let mut seen = [false; 256];
        for &a in &values {
            for &b in &values {
                for &c in &values {
                    let (symbol, raw) = encode([a, b, c]);
                    assert!(symbol < TRIPLES && raw >> RAW_BITS[symbol as usize] == 0, "{a} {b} {c}");
                    assert_eq!(decode(symbol, raw), [a, b, c]);
                    seen[symbol as usize] = true;
                }
            }
        }
        assert!(seen[..TRIPLES as usize].iter().all(|&seen| seen));
        assert_eq!(encode([0; 3]), (ZERO, 0));
    }

    #[test]
    fn any_bits_decode() {
        for symbol in 0..=255 {
            for raw in [0, 1, u64::MAX, 0x5555_5555_5555_5555] {
                let q = decode(symbol, raw);
                assert!(q.iter().all(|q| q.unsigned_abs() <= 1 << MOST_BITS));
            }
        }
    }
}
