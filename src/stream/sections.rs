//! The sections behind the header of a coded stream: directory and tables, group words, groups (FORMAT.md,
//! sections 2.3 and 2.4).

use super::header::{Header, HEADER_BYTES};
pub use super::header::{DIRECTORY_BYTES, LEAST_GROUP_BYTES, MAX_GROUP_TILES, TABLES};
use crate::error::{Error, Result};
use crate::runtime::memory;
use std::ops::Range;

/// Bits of a group's bytes in its word; above them are its tiles less one.
const GROUP_BYTES_BITS: u32 = 24;

/// The table section: a directory of sizes, then the tables, each of which `write` appends to the bytes.
pub fn write_tables(mut write: impl FnMut(usize, &mut Vec<u8>)) -> Result<Vec<u8>> {
    let mut out = memory::with_capacity(DIRECTORY_BYTES + TABLES * 4 * u8::MAX as usize)?;
    out.resize(DIRECTORY_BYTES, 0);
    for table in 0..TABLES {
        let before = out.len();
        write(table, &mut out);
        out[table] = ((out.len() - before) / 4) as u8;
    }
    Ok(out)
}

/// The word that says how long a group is, and how many tiles it has.
pub fn group_word(tiles: u64, bytes: usize) -> u32 {
    debug_assert!((1..=MAX_GROUP_TILES).contains(&tiles) && bytes >> GROUP_BYTES_BITS == 0);
    (tiles as u32 - 1) << GROUP_BYTES_BITS | bytes as u32
}

/// Consecutive tiles that are coded together.
pub struct Group<'a> {
    pub tiles: Range<u64>,
    pub bytes: &'a [u8],
}

/// Where the parts of a coded stream lie.
pub struct Sections<'a> {
    pub tables: [&'a [u8]; TABLES],
    pub groups: Vec<Group<'a>>,
}

/// Splits a coded stream (cut to its own length) into tables and groups.
pub fn split<'a>(header: &Header, stream: &'a [u8]) -> Result<Sections<'a>> {
    let short = || Error::corrupt("the parts of the stream do not add up to its length");
    let body = &stream[HEADER_BYTES..];
    let (section, body) = body.split_at_checked(header.table_bytes as usize).ok_or_else(short)?;
    let (sizes, mut section) = section.split_at_checked(DIRECTORY_BYTES).ok_or_else(short)?;
    let mut tables = [&section[..0]; TABLES];
    for (table, &size) in tables.iter_mut().zip(sizes) {
        (*table, section) = section.split_at_checked(4 * size as usize).ok_or_else(short)?;
    }
    let groups = header.groups as usize;
    let (words, mut body) = body.split_at_checked(4 * groups).ok_or_else(short)?;
    if !section.is_empty() {
        return Err(short());
    }
    let all = header.grid().tiles();
    let mut found = memory::with_capacity(groups)?;
    let mut first = 0;
    for word in words.chunks_exact(4) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let size = word & ((1 << GROUP_BYTES_BITS) - 1);
        let (bytes, rest) = body.split_at_checked(size as usize).ok_or_else(short)?;
        let tiles = first..first + (word >> GROUP_BYTES_BITS) as u64 + 1;
        if tiles.end > all {
            return Err(Error::corrupt(format!("the groups of the stream have more than its {all} tiles")));
        }
        first = tiles.end;
        found.push(Group { tiles, bytes });
        body = rest;
    }
    if first != all {
        return Err(Error::corrupt(format!("the groups of the stream have {first} of its {all} tiles")));
    }
    if !body.is_empty() {
        return Err(short());
    }
    Ok(Sections { tables, groups: found })
}
