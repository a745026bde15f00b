//! The sections behind the header of a coded stream: directory and tables, group words, groups (FORMAT.md,
//! sections 2.3 and 2.4).

use super::header::Header;
pub use super::header::{LEAST_DIRECTORY_BYTES, LEAST_GROUP_BYTES, MAX_GROUP_TILES, TABLES};
use crate::error::{Error, Result};
use crate::runtime::memory;
use std::ops::Range;

/// Bits of a group's bytes in its word; above them are its tiles less one.
pub const GROUP_BYTES_BITS: u32 = 24;

/// Most bytes of a table.
pub const MOST_TABLE_BYTES: usize = 4 * u8::MAX as usize;
/// Most bytes of the table section.
const MOST_SECTION_BYTES: usize =
    LEAST_DIRECTORY_BYTES + TABLES.next_multiple_of(4) + TABLES * MOST_TABLE_BYTES;

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
fn bytes_in(word: u32) -> u64 {
    (word & ((1 << GROUP_BYTES_BITS) - 1)) as u64
}

/// The tiles in the word of a group.
fn tiles_in(word: u32) -> u64 {
    (word >> GROUP_BYTES_BITS) as u64 + 1
}

/// Consecutive tiles that are coded together.
#[derive(Clone, Debug)]
pub struct Group {
    pub tiles: Range<u64>,
    /// Where it lies in the stream, without padding.
    pub bytes: Range<u64>,
}

impl Group {
    /// Where it lies in the stream, up to the beginning of the next group.
    pub fn padded(&self) -> Range<u64> {
        self.bytes.start..self.bytes.end.next_multiple_of(GROUP_ALIGNMENT as u64)
    }
}

/// The tables of a coded stream, and where its groups lie.
pub struct Sections<'a> {
    pub tables: [&'a [u8]; TABLES],
    pub groups: Vec<Group>,
}

/// The error of a stream with other lengths in it than its own.
fn short() -> Error {
    Error::corrupt("the parts of the stream do not add up to its length")
}

/// The bytes that the groups of a coded stream follow: those that [`split`] reads.
pub fn bytes_before_groups(header: &Header) -> Result<u64> {
    if header.table_bytes as usize > MOST_SECTION_BYTES {
        return Err(short());
    }
    let bytes = header.bytes() as u64 + header.table_bytes as u64 + 4 * header.groups;
    if bytes > header.end_of_groups() {
        return Err(short());
    }
    Ok(bytes)
}

/// Splits a coded stream, of which the bytes before its groups suffice, into tables and groups.
pub fn split<'a>(header: &Header, stream: &'a [u8]) -> Result<Sections<'a>> {
    let before = bytes_before_groups(header)?;
    let (section, words) = stream[header.bytes()..before as usize].split_at(header.table_bytes as usize);
    let tables = split_tables(section).ok_or_else(short)?;
    let all = header.tiles();
    let mut found = memory::with_capacity(header.groups as usize)?;
    let (mut first, mut start) = (0, before);
    for word in words.chunks_exact(4) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let bytes = start..start + bytes_in(word);
        let tiles = first..first + tiles_in(word);
        if tiles.end > all {
            return Err(Error::corrupt(format!("the groups of the stream have more than its {all} tiles")));
        }
        first = tiles.end;
        let group = Group { tiles, bytes };
        start = group.padded().end;
        found.push(group);
    }
    if first != all {
        return Err(Error::corrupt(format!("the groups of the stream have {first} of its {all} tiles")));
    }
    if start != header.end_of_groups() {
        return Err(short());
    }
    Ok(Sections { tables, groups: found })
}
