//! The two element types, f32 and f64, behind one trait: every stage is written once.
//!
//! Only operations that IEEE 754 rounds the same way everywhere are used (add, subtract, multiply,
//! compare, convert), never a fused multiply-add, so that every backend computes the same bits.

use std::fmt::Debug;
use std::ops::{Add, Mul, Neg, Sub};

/// An IEEE 754 binary32 or binary64 value.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// Bytes of one element.
    const BYTES: usize;
    /// Largest magnitude of a quantisation code: exact as an integer in this type.
    const MAX_CODE: i32;
    const ZERO: Self;
    const HALF: Self;
    const QUARTER: Self;
    /// The largest finite value.
    const MAX: Self;

    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn from_i32(x: i32) -> Self;
    /// The nearest integer, ties to even; any integer unless |x| is below [`Real::MAX_CODE`] + 1.
    fn round_to_i32(self) -> i32;
    /// The bit pattern, zero-extended.
    fn to_bits64(self) -> u64;
    /// The value of the low [`Real::BYTES`] bytes of a bit pattern.
    fn from_bits64(bits: u64) -> Self;
    fn abs(self) -> Self;
    fn is_finite(self) -> bool;
    /// The next value towards minus infinity (finite input).
    fn next_down(self) -> Self;
    /// The distance from |self| to the next larger magnitude (finite input).
    fn ulp(self) -> f64;
    /// The exact sign of a * d - b * c for finite values, whatever under- or overflows.
    fn sign_det(a: Self, b: Self, c: Self, d: Self) -> i32;
    /// -1, 0 or 1 (0 for a zero of either sign).
    #[inline(always)]
    fn sign(self) -> i32 {
        (self > Self::ZERO) as i32 - (self < Self::ZERO) as i32
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if other < self {
            other
        } else {
            self
        }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if other > self {
            other
        } else {
            self
        }
    }
}

macro_rules! real {
    ($t:ty, $bits:ty, $bytes:expr, $max_code:expr, $magic:expr, $mantissa:expr, $exponent_min:expr,
     $sign_det:path) => {
        impl Real for $t {
            const BYTES: usize = $bytes;
            const MAX_CODE: i32 = $max_code;
            const ZERO: Self = 0.0;
            const HALF: Self = 0.5;
            const QUARTER: Self = 0.25;
            const MAX: Self = <$t>::MAX;
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_i32(x: i32) -> Self {
                x as $t
            }
            #[inline(always)]
            fn round_to_i32(self) -> i32 {
                // Adding 1.5 * 2^mantissa rounds to an integer in the current (nearest-even) mode,
                // without a call into the mathematics library on processors that lack a rounding
                // instruction; the integer is then in the low bits.
                (self + $magic).to_bits().wrapping_sub($magic.to_bits()) as i32
            }
            #[inline(always)]
            fn to_bits64(self) -> u64 {
                self.to_bits() as u64
            }
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                <$t>::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$t>::is_finite(self)
            }
            #[inline(always)]
            fn next_down(self) -> Self {
                <$t>::next_down(self)
            }
            fn ulp(self) -> f64 {
                let bits = self.to_bits() & !(1 << (<$bits>::BITS - 1));
                let exponent = ((bits >> $mantissa) as i32).max(1);
                power_of_two(exponent + $exponent_min)
            }
            #[inline(always)]
            fn sign_det(a: Self, b: Self, c: Self, d: Self) -> i32 {
                $sign_det(a, b, c, d)
            }
        }
    };
}

/// 2^n for n below 1024, made of bits: the same on every machine. 0 where it is no normal number.
#[inline(always)]
fn power_of_two(n: i32) -> f64 {
    if n < -1022 {
        0.0
    } else {
        f64::from_bits(((n + 1023) as u64) << 52)
    }
}

// The smallest subnormals are 2^-149 and 2^-1074; a biased exponent of 1 has that spacing.
real!(f32, u32, 4, (1 << 22) - 1, 12_582_912.0f32, 23, -150, sign_det_f32);
real!(f64, u64, 8, (1 << 30) - 1, 6_755_399_441_055_744.0f64, 52, -1075, sign_det_f64);

/// The product of two 24-bit mantissas fits the 53 bits of an f64, and its exponent range: comparing
/// the products is exact.
#[inline(always)]
fn sign_det_f32(a: f32, b: f32, c: f32, d: f32) -> i32 {
    let (p, q) = (a as f64 * d as f64, b as f64 * c as f64);
    (p > q) as i32 - (p < q) as i32
}

/// Rounding is monotone, also where it under- or overflows: products that round to different values
/// are ordered like their roundings. Only equal roundings need the integers.
#[inline(always)]
fn sign_det_f64(a: f64, b: f64, c: f64, d: f64) -> i32 {
    let (p, q) = (a * d, b * c);
    if p != q {
        return (p > q) as i32 - (p < q) as i32;
    }
    compare_products(a, d, b, c)
}

/// The sign of a * d - b * c from the 106-bit products of the mantissas.
#[inline(never)]
fn compare_products(a: f64, d: f64, b: f64, c: f64) -> i32 {
    let (p, q) = (Real::sign(a) * Real::sign(d), Real::sign(b) * Real::sign(c));
    if p != q || p == 0 {
        return (p > q) as i32 - (p < q) as i32;
    }
    let ((ma, ea), (md, ed)) = (mantissa(a), mantissa(d));
    let ((mb, eb), (mc, ec)) = (mantissa(b), mantissa(c));
    let (mut x, mut y) = (ma as u128 * md as u128, mb as u128 * mc as u128);
    // Both lie in [2^104, 2^106): a difference of two in the exponents decides alone.
    let shift = (ea + ed) - (eb + ec);
    match shift {
        0 => {}
        1 => x <<= 1,
        -1 => y <<= 1,
        _ => return if shift > 0 { p } else { -p },
    }
    p * ((x > y) as i32 - (x < y) as i32)
}

/// The magnitude of a non-zero finite value as mantissa * 2^exponent with the mantissa in
/// [2^52, 2^53); the exponent has a fixed offset.
#[inline(always)]
fn mantissa(x: f64) -> (u64, i32) {
    let bits = x.to_bits() & (u64::MAX >> 1);
    let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52) as i32);
    if exponent > 0 {
        (fraction | 1 << 52, exponent)
    } else {
        let shift = fraction.leading_zeros() as i32 - 11;
        (fraction << shift, 1 - shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_to_nearest_even() {
        for (x, r) in [(0.5f32, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (4194302.5, 4194302)] {
            assert_eq!(Real::round_to_i32(x), r, "{x}");
            assert_eq!(Real::round_to_i32(x as f64), r, "{x}");
        }
    }

    #[test]
    fn ulp_is_the_spacing_upwards() {
        for x in [1.0f32, -1.5, 1e-42, 0.0, 3.4e38, f32::MIN_POSITIVE] {
            let a = x.abs();
            assert_eq!(Real::ulp(x), f32::from_bits(a.to_bits() + 1) as f64 - a as f64, "{x}");
        }
        for x in [1.0f64, 1e-290, 7e300] {
            assert_eq!(Real::ulp(x), f64::from_bits(x.to_bits() + 1) - x, "{x}");
        }
        assert_eq!(Real::ulp(1e-310f64), 0.0);
    }
}
