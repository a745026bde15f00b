//! Integers of any size, for signs that floating point leaves open.

use crate::error::Result;
use crate::runtime::memory;

/// A sign and words of the magnitude, the lowest first, none of the highest 0.
pub struct Integer {
    negative: bool,
    words: Vec<u64>,
}

/// The exponent of the last bit that is 1 of a finite number; none of 0.
pub fn last_exponent(x: f64) -> Option<i32> {
    let (mantissa, exponent) = parts(x);
    (mantissa != 0).then(|| exponent + mantissa.trailing_zeros() as i32)
}

/// |x| = mantissa * 2^exponent
fn parts(x: f64) -> (u64, i32) {
    let (bits, fraction) = (x.to_bits(), x.to_bits() & ((1 << 52) - 1));
    let exponent = (bits >> 52 & 0x7ff) as i32;
    (fraction | ((exponent > 0) as u64) << 52, exponent.max(1) - 1075)
}

impl Integer {
    /// The finite number `x` / 2^`unit`, where `unit` is at most its last exponent.
    pub fn of(x: f64, unit: i32) -> Result<Self> {
        let (mut mantissa, mut exponent) = parts(x);
        if mantissa == 0 {
            return Ok(Integer { negative: false, words: Vec::new() });
        }
        let zeros = mantissa.trailing_zeros();
        mantissa >>= zeros;
        exponent += zeros as i32;
        debug_assert!(exponent >= unit);
        let shift = (exponent - unit).max(0) as usize;
        let mut words = memory::filled(shift / 64 + 2, 0)?;
        let shifted = (mantissa as u128) << (shift % 64);
        (words[shift / 64], words[shift / 64 + 1]) = (shifted as u64, (shifted >> 64) as u64);
        Ok(Integer { negative: x < 0.0, words }.trimmed())
    }

    fn trimmed(mut self) -> Self {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        self
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        match (self.words.is_empty(), self.negative) {
            (true, _) => 0,
            (_, true) => -1,
            _ => 1,
        }
    }

    pub fn negated(self) -> Self {
        Integer { negative: !self.negative, ..self }
    }

    pub fn times(&self, other: &Integer) -> Result<Self> {
        let mut words = memory::filled(self.words.len() + other.words.len(), 0u64)?;
        for (k, &a) in self.words.iter().enumerate() {
            let mut carry = 0u128;
            for (&b, word) in other.words.iter().zip(&mut words[k..]) {
                carry += a as u128 * b as u128 + *word as u128;
                *word = carry as u64;
                carry >>= 64;
            }
            words[k + other.words.len()] = carry as u64;
        }
        Ok(Integer { negative: self.negative != other.negative, words }.trimmed())
    }

    /// The product with a small number.
    pub fn scaled(&self, factor: u32) -> Result<Self> {
        self.times(&Integer::of(factor as f64, 0)?)
    }

    pub fn plus(&self, other: &Integer) -> Result<Self> {
        let (longer, shorter) = match self.words.len() >= other.words.len() {
            true => (self, other),
            false => (other, self),
        };
        let mut words = memory::with_capacity(longer.words.len() + 1)?;
        words.extend_from_slice(&longer.words);
        if longer.negative == shorter.negative {
            let carries = combine(&mut words, &shorter.words, u64::overflowing_add);
            words.push(carries as u64);
            return Ok(Integer { negative: longer.negative, words }.trimmed());
        }
        let borrows = combine(&mut words, &shorter.words, u64::overflowing_sub);
        if borrows {
            // The magnitude of the other one is larger: the difference in two's complement.
            let mut carry = true;
            for word in &mut words {
                (*word, carry) = (!*word).overflowing_add(carry as u64);
            }
        }
        Ok(Integer { negative: longer.negative != borrows, words }.trimmed())
    }

    pub fn minus(&self, other: Integer) -> Result<Self> {
        self.plus(&other.negated())
    }
}

/// Adds or subtracts words, and says whether there is a carry beyond the last one.
fn combine(words: &mut [u64], others: &[u64], operation: fn(u64, u64) -> (u64, bool)) -> bool {
    let mut carry = false;
    for (k, word) in words.iter_mut().enumerate() {
        let (value, first) = operation(*word, others.get(k).copied().unwrap_or(0));
        let (value, second) = operation(value, carry as u64);
        (*word, carry) = (value, first | second);
    }
    carry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use num_rational::BigRational;
    use num_traits::Signed;

    /// Polynomials of doubles of all magnitudes, against rational numbers.
    #[test]
    fn sums_and_products_have_the_signs_of_rational_numbers() {
        let mut random = Random(33);
        let mut seen = [0; 3];
        for round in 0..3000 {
            let mut value = || match round % 3 {
                0 => random.below(5) as f64 - 2.0,
                1 => Some(f64::from_bits(random.next())).filter(|x| x.is_finite()).unwrap_or(1.0),
                _ => random.one_of(&[5e-324, -5e-324, f64::MAX, f64::MIN, 0.0, 1.0, -1.0, 3.0]),
            };
            let [a, b, c, d]: [f64; 4] = std::array::from_fn(|_| value());
            let unit = [a, b, c, d].into_iter().filter_map(last_exponent).min().unwrap_or(0);
            let rational = |x: f64| BigRational::from_float(x).expect("finite");
            let exact = rational(a) * rational(b) - rational(c) * rational(d);
            let exact = &exact * &exact * rational(c) + &exact * rational(a) * rational(d) * rational(7.0);
            let [a, b, c, d] = [a, b, c, d].map(|x| Integer::of(x, unit).unwrap());
            let first = a.times(&b).unwrap().minus(c.times(&d).unwrap()).unwrap();
            let second = first.times(&a).unwrap().times(&d).unwrap().scaled(7).unwrap();
            let found = first.times(&first).unwrap().times(&c).unwrap();
            // Both terms have degree 5 and 4: the second one lacks a factor 1 / 2^unit.
            let missing = Integer::of(1.0, unit.min(0)).unwrap();
            let found = match unit > 0 {
                true => found.times(&Integer::of(2f64.powi(unit), 0).unwrap()).unwrap(),
                false => found,
            };
            let found = found.plus(&second.times(&missing).unwrap()).unwrap();
            let expected = exact.is_positive() as i32 - exact.is_negative() as i32;
            assert_eq!(found.sign(), expected);
            seen[(expected + 1) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
    }
}
