//! Entropy coding: adaptive tables and the coders that use them. Integers only, so that every
//! backend writes the same bytes.

pub mod groups;
pub mod huffman;
pub mod lanes;
pub mod lists;
pub mod rans;
pub mod symbols;
pub mod tables;

use crate::error::Result;
use crate::request::Coder;
use tables::ALPHABET;

/// What a coder makes of the counts of one table.
pub trait EntropyTable: Sized + Send + Sync {
    const CODER: Coder;
    type Encode: lanes::Encode + Send + Sync;
    type Decode: lanes::Decode + Send + Sync;

    fn from_counts(counts: &[u64; ALPHABET]) -> Self;
    /// Size of the symbols of these counts, in 1/256 bit.
    fn cost(&self, counts: &[u64; ALPHABET]) -> u64;
    /// Appends the stored form, a multiple of 4 bytes and at most 1020; a table that no symbol uses takes
    /// none.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads what [`EntropyTable::write`] wrote.
    fn read(bytes: &[u8]) -> Result<Self>;
    fn encode_table(&self) -> Self::Encode;
    fn decode_table(&self) -> Result<Self::Decode>;
}
