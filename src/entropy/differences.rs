//! Values that are stored exactly, as differences to their prediction. FORMAT.md, section 4.5.
//!
//! The bits of a value, read as an integer in the order of the values, are its *key*. Coded is the difference
//! of the keys of a value and of its prediction: it is small where the prediction is good, and any value is
//! found again. Both components have the same number of bits, which the symbol says.

use crate::entropy::symbols::{DIFFERENCES, FIRST_DIFFERENCE, STORED};
use crate::grid::element::Real;

/// Bits of one difference of a symbol from [`FIRST_DIFFERENCE`] on.
#[inline(always)]
pub const fn bits_of(symbol: u8, element_bytes: usize) -> u32 {
    7 * element_bytes as u32 - 20 + 2 * (symbol - FIRST_DIFFERENCE) as u32
}

/// The upper 32 bits of a prediction, which are all that counts of it; None if it is not finite.
#[inline(always)]
pub fn heads<T: Real>(prediction: [T; 2]) -> Option<[i32; 2]> {
    let finite = prediction[0].is_finite() && prediction[1].is_finite();
    finite.then(|| prediction.map(head))
}

/// The upper 32 bits of a prediction. -0 counts as +0: backends may differ in the sign of a zero prediction.
#[inline(always)]
fn head<T: Real>(prediction: T) -> i32 {
    ((prediction + T::ZERO).to_bits64() >> (8 * T::BYTES - 32)) as i32
}

/// The value in the middle of those with given upper 32 bits.
#[inline(always)]
fn middle<T: Real>(head: i32) -> u64 {
    if T::BYTES == 4 {
        head as u32 as u64
    } else {
        (head as u32 as u64) << 32 | 1 << 31
    }
}

/// The key of a value from its bits, and back: the lower bits of negative values are inverted.
#[inline(always)]
fn key<T: Real>(bits: u64) -> i64 {
    if T::BYTES == 4 {
        let s = bits as i32;
        (s ^ ((s >> 31) & i32::MAX)) as i64
    } else {
        let s = bits as i64;
        s ^ ((s >> 63) & i64::MAX)
    }
}

/// As an integer of the size of T, which wraps.
#[inline(always)]
fn wrapped<T: Real>(x: i64) -> i64 {
    if T::BYTES == 4 {
        x as i32 as i64
    } else {
        x
    }
}

/// Symbol and raw bits of values with a prediction whose [`heads`] are given: `STORED` and the bits of the
/// values if that takes no more.
#[inline(never)]
pub fn encode<T: Real>(values: [T; 2], heads: [i32; 2]) -> (u8, u128) {
    let difference = |c: usize| {
        wrapped::<T>(key::<T>(values[c].to_bits64()).wrapping_sub(key::<T>(middle::<T>(heads[c]))))
    };
    let (u, v) = (difference(0), difference(1));
    let magnitude = |d: i64| d ^ (d >> 63);
    let needed = 65 - (magnitude(u) | magnitude(v)).leading_zeros();
    let class = needed.saturating_sub(bits_of(FIRST_DIFFERENCE, T::BYTES)).div_ceil(2);
    if class as usize >= DIFFERENCES {
        return (STORED, verbatim(values));
    }
    let symbol = FIRST_DIFFERENCE + class as u8;
    let bits = bits_of(symbol, T::BYTES);
    let mask = (1u64 << bits) - 1;
    (symbol, (u as u64 & mask) as u128 | ((v as u64 & mask) as u128) << bits)
}

/// The raw bits of values that are stored as they are.
#[inline(always)]
pub fn verbatim<T: Real>(values: [T; 2]) -> u128 {
    values[0].to_bits64() as u128 | (values[1].to_bits64() as u128) << (8 * T::BYTES)
}

/// The values of which [`verbatim`] made the raw bits.
#[inline(always)]
pub fn from_verbatim<T: Real>(raw: u128) -> [T; 2] {
    [T::from_bits64(raw as u64), T::from_bits64((raw >> (8 * T::BYTES)) as u64)]
}

/// The values of a symbol from [`FIRST_DIFFERENCE`] on. Total: any bits give finite values.
#[inline(never)]
pub fn decode<T: Real>(symbol: u8, raw: u128, prediction: [T; 2]) -> [T; 2] {
    let bits = bits_of(symbol, T::BYTES);
    let value = |prediction: T, raw: u128| {
        let difference = ((raw as u64) << (64 - bits)) as i64 >> (64 - bits);
        let predicted = if prediction.is_finite() { key::<T>(middle::<T>(head(prediction))) } else { 0 };
        // `key` is its own inverse.
        T::from_bits64(key::<T>(wrapped::<T>(predicted.wrapping_add(difference)) as u64) as u64)
    };
    let values = [value(prediction[0], raw), value(prediction[1], raw >> bits)];
    if values[0].is_finite() && values[1].is_finite() {
        values
    } else {
        [T::ZERO; 2]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::symbols::SYMBOLS;

    /// Values with all exponents and signs, and predictions near and far.
    fn round_trip<T: Real>(values: &[T], nearby: impl Fn(T, u64) -> T) {
        let mut seen = [0; SYMBOLS];
        for &u in values {
            for &v in values.iter().step_by(3) {
                let near = (0..51).map(|k| [nearby(u, 1 << k), v]);
                let predictions =
                    near.chain([[u, v], [nearby(u, 77), v], [T::ZERO; 2], [v, u], [v, nearby(v, 5)]]);
                for prediction in predictions {
                    let Some(heads) = heads(prediction) else { continue };
                    let (symbol, raw) = encode([u, v], heads);
                    seen[symbol as usize] += 1;
                    if symbol == STORED {
                        assert_eq!(from_verbatim(raw).map(T::to_bits64), [u, v].map(T::to_bits64));
                        continue;
                    }
                    assert!(raw >> (2 * bits_of(symbol, T::BYTES)) == 0);
                    let decoded = decode(symbol, raw, prediction);
                    assert_eq!(decoded.map(T::to_bits64), [u, v].map(T::to_bits64), "{prediction:?}");
                }
            }
        }
        let unseen = (STORED as usize..SYMBOLS).filter(|&s| seen[s] == 0);
        assert_eq!(unseen.collect::<Vec<_>>(), [0usize; 0], "symbols without a test");
    }

    #[test]
    fn values_round_trip() {
        let hard = [0.0, -0.0, 1.0, -1.0, 1.5, -3.25e-5, 7e9, 1e-38, -1e-38, 3e38, -3e38];
        let mut floats = hard.map(|x| x as f32).to_vec();
        floats.extend([
            f32::MAX,
            f32::MIN,
            f32::MIN_POSITIVE,
            f32::from_bits(1),
            f32::from_bits(0x8000_0001),
        ]);
        round_trip(&floats, |x, d| f32::from_bits(x.to_bits().wrapping_sub(d as u32)));
        let mut doubles = hard.to_vec();
        doubles.extend([f64::MAX, f64::MIN, f64::MIN_POSITIVE, f64::from_bits(1), -f64::from_bits(1)]);
        doubles.extend([1e-300, -1e300, std::f64::consts::PI]);
        round_trip(&doubles, |x, d| f64::from_bits(x.to_bits().wrapping_sub(d)));
    }

    #[test]
    fn any_bits_decode_to_finite_values() {
        fn all<T: Real>(predictions: [T; 6]) {
            for symbol in FIRST_DIFFERENCE..SYMBOLS as u8 {
                for raw in [0, 1, u128::MAX, u128::MAX / 3, 1 << 27, 1 << 55, 1 << 111] {
                    for prediction in predictions {
                        assert!(decode(symbol, raw, [prediction, T::ZERO]).iter().all(|v| v.is_finite()));
                    }
                }
            }
        }
        all([f32::NAN, f32::INFINITY, -f32::NAN, f32::MAX, f32::MIN, -0.0]);
        all([f64::NAN, f64::NEG_INFINITY, -f64::NAN, f64::MAX, f64::MIN, -0.0]);
    }
}
