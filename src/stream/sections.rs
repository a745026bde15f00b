//! The sections behind the header of a coded stream: directory and tables, group words, groups (FORMAT.md,
//! sections 2.3 and 2.4).

use super::header::{Header, HEADER_BYTES};
pub use super::header::{LEAST_DIRECTORY_BYTES, LEAST_GROUP_BYTES, MAX_GROUP_TILES, TABLES};
use crate::error::{Error, Result};
use crate::runtime::memory;
use std::ops::Range;

/// Bits of a group's bytes in its word; above them are its tiles less one.
pub const GROUP_BYTES_BITS: u32 = 24;

/// Most bytes of a table.
pub const MOST_TABLE_BYTES: usize = 4 * u8::MAX as usize;

/// The table section: a directory, then the tables, each of which `write` appends to the bytes. The directory
/// has a bit for each table that takes bytes, and then the size of each of these, in units of 4 bytes.
pub fn write_tables(mut write: impl FnMut(usize, &mut Vec<u8>)) -> Result<Vec<u8>> {
    let mut tables = memory::with_capacity(TABLES * MOST_TABLE_BYTES)?;
    let (mut present, mut sizes, mut count) = (0u64, [0u8; TABLES.next_multiple_of(4)], 0);
    for table in 0..TABLES {
        let before = tables.len();
        write(table, &mut tables);
        if tables.len() > before {
            present |= 1 << table;
            sizes[count] = ((tables.len() - before) / 4) as u8;
            count += 1;
        }
    }
    let mut out = memory::with_capacity(LEAST_DIRECTORY_BYTES + sizes.len() + tables.len())?;
    out.extend_from_slice(&present.to_le_bytes());
    out.extend_from_slice(&sizes[..count.next_multiple_of(4)]);
    out.extend_from_slice(&tables);
    Ok(out)
}

/// The tables of a section; None if they do not fill it.
fn split_tables(section: &[u8]) -> Option<[&[u8]; TABLES]> {
    let (present, section) = section.split_first_chunk::<LEAST_DIRECTORY_BYTES>()?;
    let present = u64::from_le_bytes(*present);
    let count = present.count_ones() as usize;
    let (sizes, mut section) = section.split_at_checked(count.next_multiple_of(4))?;
    let mut sizes = sizes.iter();
    let mut tables = [&section[..0]; TABLES];
    for (number, table) in tables.iter_mut().enumerate() {
        if present >> number & 1 == 0 {
            continue;
        }
        let size = *sizes.next()? as usize;
        (*table, section) = section.split_at_checked(4 * size)?;
    }
    (present >> TABLES == 0 && section.is_empty()).then_some(tables)
}

/// Groups begin at multiples of this.
pub const GROUP_ALIGNMENT: usize = 4;

/// The word that says how long a group is, without padding, and how many tiles it has.
pub fn group_word(tiles: u64, bytes: usize) -> u32 {
    debug_assert!((1..=MAX_GROUP_TILES).contains(&tiles) && bytes >> GROUP_BYTES_BITS == 0);
    (tiles as u32 - 1) << GROUP_BYTES_BITS | bytes as u32
}

/// The bytes in the word of a group.
fn bytes_in(word: u32) -> usize {
    (word & ((1 << GROUP_BYTES_BITS) - 1)) as usize
}

/// The tiles in the word of a group.
fn tiles_in(word: u32) -> u64 {
    (word >> GROUP_BYTES_BITS) as u64 + 1
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
    let tables = split_tables(section).ok_or_else(short)?;
    let groups = header.groups as usize;
    let (words, mut body) = body.split_at_checked(4 * groups).ok_or_else(short)?;
    let all = header.grid().tiles();
    let mut found = memory::with_capacity(groups)?;
    let mut first = 0;
    for word in words.chunks_exact(4) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let size = bytes_in(word);
        let (bytes, rest) =
            body.split_at_checked(size.next_multiple_of(GROUP_ALIGNMENT)).ok_or_else(short)?;
        let bytes = &bytes[..size];
        let tiles = first..first + tiles_in(word);
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
