//! Bits of a fix: from the least significant bit of the first byte upwards, numbers with their least
//! significant bit first.

use crate::error::Result;
use crate::runtime::memory;

/// Writes numbers as bits.
#[derive(Default)]
pub struct BitWriter {
    out: Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    /// The lowest `bits` bits of a number, at most 32.
    pub fn put(&mut self, value: u64, bits: u32) -> Result<()> {
        debug_assert!(bits <= 32 && value >> bits == 0);
        self.pending |= value << self.count;
        self.count += bits;
        if self.count >= 32 {
            memory::reserve_growing(&mut self.out, 4)?;
            self.out.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.count -= 32;
        }
        Ok(())
    }

    /// A number of up to 64 bits.
    pub fn put_wide(&mut self, value: u64, bits: u32) -> Result<()> {
        let low = bits.min(32);
        self.put(value & ((1 << low) - 1), low)?;
        self.put(if bits > 32 { value >> 32 } else { 0 }, bits - low)
    }

    /// A number below 2^62 in exponential Golomb code.
    pub fn put_golomb(&mut self, value: u64, order: u32) -> Result<()> {
        let quotient = (value >> order) + 1;
        let length = quotient.ilog2();
        self.put_wide(1 << length, length + 1)?;
        self.put_wide(quotient ^ 1 << length, length)?;
        self.put_wide(value & ((1 << order) - 1), order)
    }

    /// The bytes, padded with bits 0 to a multiple of 4.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if self.count > 0 {
            self.put(0, 32 - self.count)?;
        }
        Ok(self.out)
    }
}

/// Bits of a number in exponential Golomb code.
pub fn golomb_bits(value: u64, order: u32) -> u64 {
    (2 * ((value >> order) + 1).ilog2() + 1 + order) as u64
}

/// Reads what a [`BitWriter`] wrote. All answers are None behind the end.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    /// In bits.
    position: usize,
}

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        BitReader { bytes, position: 0 }
    }

    /// The next 56 bits or more, zeros behind the end.
    fn window(&self) -> u64 {
        let rest = &self.bytes[(self.position / 8).min(self.bytes.len())..];
        let word = match rest.first_chunk::<8>() {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => rest.iter().rev().fold(0, |word, &byte| word << 8 | byte as u64),
        };
        word >> (self.position % 8)
    }

    fn skip(&mut self, bits: u32) -> Option<()> {
        self.position += bits as usize;
        (self.position <= 8 * self.bytes.len()).then_some(())
    }

    /// A number of at most 32 bits.
    pub fn get(&mut self, bits: u32) -> Option<u64> {
        let value = self.window() & ((1 << bits) - 1);
        self.skip(bits).map(|()| value)
    }

    /// A number of up to 64 bits.
    pub fn get_wide(&mut self, bits: u32) -> Option<u64> {
        let low = bits.min(32);
        let value = self.get(low)?;
        // Without a high part the second number is 0, wherever it goes.
        Some(self.get(bits - low)? << 32 | value)
    }

    /// Counts zeros before a one, at most 61, and passes the one.
    pub fn zeros(&mut self) -> Option<u32> {
        let mut zeros = 0;
        loop {
            let window = self.window() as u32;
            let found = window.trailing_zeros();
            self.skip((found + 1).min(32))?;
            zeros += found;
            match found {
                32 if zeros <= 61 => continue,
                _ => return (zeros <= 61).then_some(zeros),
            }
        }
    }

    pub fn get_golomb(&mut self, order: u32) -> Option<u64> {
        let length = self.zeros()?;
        let quotient = (1 << length | self.get_wide(length)?) - 1;
        let low = self.get_wide(order)?;
        (quotient <= u64::MAX >> 2 >> order).then_some(quotient << order | low)
    }

    /// Whether only the padding is left: fewer than 32 bits, all 0.
    pub fn is_at_end(&self) -> bool {
        8 * self.bytes.len() - self.position < 32 && self.window() & u32::MAX as u64 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        let numbers: Vec<u64> = (0..62).flat_map(|n| [1 << n, (1 << n) - 1, (1 << n) + 3]).collect();
        let mut out = BitWriter::default();
        let (mut bits, orders) = (0, [0, 1, 5, 40]);
        for &number in &numbers {
            for order in orders {
                out.put_golomb(number, order).unwrap();
                bits += golomb_bits(number, order);
            }
            let length = number.checked_ilog2().map_or(0, |n| n + 1);
            out.put_wide(number, length).unwrap();
            out.put_wide(u64::MAX, 64).unwrap();
            bits += length as u64 + 64;
        }
        let bytes = out.finish().unwrap();
        assert_eq!(bytes.len() as u64, bits.div_ceil(32) * 4);
        let mut reader = BitReader::new(&bytes);
        for &number in &numbers {
            assert!(!reader.is_at_end());
            for order in orders {
                assert_eq!(reader.get_golomb(order), Some(number));
            }
            let length = number.checked_ilog2().map_or(0, |n| n + 1);
            assert_eq!(reader.get_wide(length), Some(number));
            assert_eq!(reader.get_wide(64), Some(u64::MAX));
        }
        assert!(reader.is_at_end());
        assert_eq!(BitReader::new(&[0; 32]).get_golomb(0), None);
        assert_eq!(BitReader::new(&[0; 4]).zeros(), None);
        assert_eq!(BitReader::new(&[]).get(1), None);
    }
}
