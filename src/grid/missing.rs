//! Missing vertices: those with a NaN or an infinity, and filled ones, a component of which has the bits of
//! the fill value. They are kept bit for bit, constrain nothing, and predictions see (0, 0) in their place.
//! Twin: kernels/grid/missing.cuh.

use crate::grid::element::Real;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Bits of the fill value in the element type.
    fill: Option<u64>,
}

impl Missing {
    /// With a fill value, which is rounded to the element type.
    pub fn new<T: Real>(fill_value: Option<f64>) -> Self {
        Missing { fill: fill_value.map(|x| fill_bits(T::BYTES, x)) }
    }

    /// With the bits of a fill value.
    pub fn of_bits(fill: Option<u64>) -> Self {
        Missing { fill }
    }

    /// Bits of u and v of a vertex under the fill mask, if there is a fill value.
    pub fn pattern(self) -> Option<[u64; 2]> {
        self.fill.map(|fill| [fill; 2])
    }

    /// Bits of the fill value, if there is one.
    pub fn bits(self) -> Option<u64> {
        self.fill
    }

    /// Whether there is a fill value.
    pub fn has_fill(self) -> bool {
        self.fill.is_some()
    }

    #[inline(always)]
    pub fn is_filled<T: Real, const N: usize>(self, vertex: [T; N]) -> bool {
        self.fill.is_some_and(|fill| vertex.iter().any(|x| x.to_bits64() == fill))
    }

    #[inline(always)]
    pub fn is_missing<T: Real, const N: usize>(self, vertex: [T; N]) -> bool {
        !vertex.iter().fold(true, |finite, x| finite & x.is_finite()) || self.is_filled(vertex)
    }

    /// Whether one of the values may be the fill value: a quick comparison of numbers, which the compiler can
    /// vectorise and which does not tell zeros of different signs apart. Never true for a NaN.
    #[inline(always)]
    pub fn may_fill<T: Real>(self, values: &[T]) -> bool {
        let Some(fill) = self.fill else { return false };
        let fill = T::from_bits64(fill);
        values.iter().fold(0, |any, &x| any | (x == fill) as u32) != 0
    }
}

/// Bits of a fill value, rounded to an element type of `element_bytes` bytes. A NaN keeps its sign and the
/// upper part of its payload, which a conversion by the processor does not guarantee.
pub fn fill_bits(element_bytes: usize, value: f64) -> u64 {
    let bits = value.to_bits();
    if element_bytes == 8 {
        return bits;
    }
    if !value.is_nan() {
        return (value as f32).to_bits() as u64;
    }
    let payload = bits >> 29 & 0x7f_ffff;
    bits >> 32 & 0x8000_0000 | 0x7f80_0000 | if payload == 0 { 0x40_0000 } else { payload }
}

/// The fill value of these bits: [`fill_bits`] gives them back.
pub fn fill_value(element_bytes: usize, bits: u64) -> f64 {
    if element_bytes == 8 {
        return f64::from_bits(bits);
    }
    let value = f32::from_bits(bits as u32);
    if value.is_nan() {
        return f64::from_bits((bits & 0x8000_0000) << 32 | 0x7ff0 << 48 | (bits & 0x7f_ffff) << 29);
    }
    value as f64
}

/// Whether a component is a negative zero: a bound of 0 keeps its sign, which codes do not have.
#[inline(always)]
pub fn has_negative_zero<T: Real>(vertex: [T; 2]) -> bool {
    let negative_zero = (-T::ZERO).to_bits64();
    vertex.iter().any(|x| x.to_bits64() == negative_zero)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_decide_what_is_filled() {
        let none = Missing::default();
        assert!(!none.is_missing([0.0f32, -999.0]) && none.is_missing([f32::NAN, 1.0]));
        let fill = Missing::new::<f32>(Some(9.96921e36));
        assert!(fill.is_filled([9.96921e36f32, 1.0]) && fill.is_filled([1.0, 9.96921e36f32]));
        assert!(!fill.is_filled([9.96921e36f32.next_down(), -9.96921e36f32]));
        let zero = Missing::new::<f64>(Some(0.0));
        assert!(zero.is_filled([0.0, 1.0]) && !zero.is_filled([-0.0, 1.0]));
        assert!(zero.may_fill(&[-0.0f64]) && !zero.may_fill(&[1.0f64]));
        for bits in [0x7fc0_0000, 0x7fa0_0001, 0xffc1_2345, 0, 0x8000_0000, 1, 0x7f80_0000, 0x7cf0_0000] {
            assert_eq!(fill_bits(4, fill_value(4, bits)), bits);
        }
        assert_eq!(fill_bits(4, f64::from_bits(0x7ff0_0000_0000_0001)), 0x7fc0_0000);
        assert_eq!(fill_bits(4, f64::NAN), f32::NAN.to_bits() as u64);
        let nan = Missing::new::<f64>(Some(f64::NAN));
        assert!(
            nan.is_filled([f64::NAN, 1.0]) && !nan.is_filled([f64::from_bits(f64::NAN.to_bits() ^ 1), 1.0])
        );
        assert!(has_negative_zero([1.0f32, -0.0]) && !has_negative_zero([0.0f64, -1.0]));
    }
}
