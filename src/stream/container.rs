//! The stream: header, tables, a word for each group, groups. FORMAT.md describes it byte by byte.

use crate::entropy::lanes::STATE_BYTES;
use crate::entropy::tables::{TABLES, V1_ANS_TABLES};
use crate::entropy::EntropyTable;
use crate::error::{Error, Result, Status};
use crate::grid::missing::{fill_value, Missing};
use crate::grid::tiles::{Grid, ANCHOR_LEVEL};
use crate::predict::interpolation::INTERPOLANTS;
use crate::predict::quantizer::LEVEL_BOUND_SCALINGS;
use crate::report::StreamInfo;
use crate::request::{BoundKind, Coder, Dtype, Mode, Predictor, Preserve};
use crate::runtime::memory;
use std::ops::Range;

pub const MAGIC: [u8; 4] = *b"FCTZ";
/// The newest version of the format; this library reads all up to it.
pub const VERSION: u16 = 3;
/// The earliest version that a host reads.
pub const FIRST_VERSION: u16 = 1;
pub const HEADER_BYTES: usize = 128;
/// Where the checksum is; it counts as 0 when it is computed.
const CHECKSUM_AT: usize = 8;
/// Largest group of version 1: 2^8 tiles.
const MAX_GROUP_LOG2: u8 = 8;
/// Most tiles of a group.
pub const MAX_GROUP_TILES: u64 = 256;
/// Bits of a group's bytes in its word; above them are its tiles less one.
const GROUP_BYTES_BITS: u32 = 24;

/// The version of the streams that are written with a predictor: the newest one in which it has a layout.
pub fn version_of(predictor: Predictor) -> u16 {
    match predictor {
        Predictor::Hierarchical => 2,
        Predictor::Lorenzo => VERSION,
    }
}

/// How the values are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Tables and groups of coded tiles.
    Coded = 0,
    /// u, then v, dense and uncoded: used where coding would take more.
    Stored = 1,
}

/// The decoded header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Of the format.
    pub version: u16,
    pub dtype: Dtype,
    pub mode: Mode,
    pub coder: Coder,
    pub predictor: Predictor,
    pub preserve: Preserve,
    pub bound_kind: BoundKind,
    pub content: Content,
    /// Version 1: groups of 2^group_log2 tiles; 0 in others.
    pub group_log2: u8,
    /// Number of groups, 0 when the content is stored.
    pub groups: u64,
    pub taper: u8,
    pub kernels: [u8; ANCHOR_LEVEL],
    pub nx: u64,
    pub ny: u64,
    /// As the caller gave it.
    pub bound: f64,
    pub absolute_bound: f64,
    pub quantum: f64,
    pub dx: f64,
    pub dy: f64,
    /// Whether the encoder was given a fill value: it has the bits `fill[0]`.
    pub has_fill: bool,
    /// Bits of u and v of masked missing values.
    pub fill: [u64; 2],
    pub stream_bytes: u64,
    /// Bytes of the table section, its directory included (0 when the content is stored).
    pub table_bytes: u32,
}

impl Header {
    pub fn grid(&self) -> Grid {
        Grid::new(self.nx, self.ny)
    }
    /// Bytes of u and v together.
    pub fn field_bytes(&self) -> u64 {
        2 * self.nx * self.ny * self.dtype.bytes()
    }

    /// Vertices that predictions do not see.
    pub fn missing(&self) -> Missing {
        Missing::of_bits(self.has_fill.then_some(self.fill_bits()))
    }

    /// Bits of the fill value in the element type.
    fn fill_bits(&self) -> u64 {
        match self.dtype {
            Dtype::F32 => self.fill[0] & u32::MAX as u64,
            Dtype::F64 => self.fill[0],
        }
    }

    pub fn info(&self) -> StreamInfo {
        StreamInfo {
            fill_value: self.has_fill.then(|| fill_value(self.dtype.bytes() as usize, self.fill_bits())),
            format_version: self.version as u32,
            nx: self.nx,
            ny: self.ny,
            dtype: self.dtype,
            mode: self.mode,
            coder: self.coder,
            predictor: self.predictor,
            preserve: self.preserve,
            dx: self.dx,
            dy: self.dy,
            bound_kind: self.bound_kind,
            bound: self.bound,
            absolute_bound: self.absolute_bound,
            stream_bytes: self.stream_bytes,
        }
    }

    pub fn write(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0u8; HEADER_BYTES];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            out[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&MAGIC);
        put(&self.version.to_le_bytes());
        put(&(HEADER_BYTES as u16).to_le_bytes());
        put(&[0; 4]); // checksum
        put(&[
            self.dtype as u8,
            self.mode as u8,
            self.coder as u8,
            self.predictor as u8,
            self.preserve as u8,
            self.bound_kind as u8,
            self.content as u8,
            self.group_log2,
            self.taper,
        ]);
        put(&self.kernels);
        put(&[2, self.has_fill as u8]); // components
        put(&self.table_bytes.to_le_bytes());
        put(&self.nx.to_le_bytes());
        put(&self.ny.to_le_bytes());
        put(&1u64.to_le_bytes()); // nz
        for x in [self.bound, self.absolute_bound, self.quantum, self.dx, self.dy] {
            put(&x.to_le_bytes());
        }
        put(&self.fill[0].to_le_bytes());
        put(&self.fill[1].to_le_bytes());
        put(&self.stream_bytes.to_le_bytes());
        put(&self.groups.to_le_bytes());
        out
    }

    /// Reads and checks the header at the start of a stream.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let Some(h) = bytes.get(..HEADER_BYTES) else {
            return Err(Error::corrupt(format!(
                "the stream has {} bytes, less than a header of {HEADER_BYTES}",
                bytes.len()
            )));
        };
        if h[..4] != MAGIC {
            return Err(Error::corrupt(
                "the stream does not begin with the mark FCTZ: it is no factz stream",
            ));
        }
        let version = u16::from_le_bytes([h[4], h[5]]);
        if !(FIRST_VERSION..=VERSION).contains(&version) {
            return Err(Error::new(
                Status::UnsupportedVersion,
                format!(
                    "the stream has format version {version}; this library reads versions {FIRST_VERSION} to {VERSION}"
                ),
            ));
        }
        let u64_at = |at: usize| u64::from_le_bytes(h[at..at + 8].try_into().expect("eight bytes"));
        let f64_at = |at: usize| f64::from_bits(u64_at(at));
        let bad = |what: &str, value: u64| Error::corrupt(format!("the header holds {what} = {value}"));
        let choice = |what: &str, at: usize, count: u8| {
            if h[at] < count {
                Ok(h[at])
            } else {
                Err(bad(what, h[at] as u64))
            }
        };
        if u16::from_le_bytes([h[6], h[7]]) as usize != HEADER_BYTES {
            return Err(bad("header bytes", u16::from_le_bytes([h[6], h[7]]) as u64));
        }
        let mut kernels = [0; ANCHOR_LEVEL];
        for (level, k) in kernels.iter_mut().enumerate() {
            *k = choice("predictor kernel", 21 + level, INTERPOLANTS as u8)?;
        }
        let group_log2 = choice("group size", 19, if version == 1 { MAX_GROUP_LOG2 + 1 } else { 1 })?;
        let mut header = Header {
            version,
            dtype: if choice("dtype", 12, 2)? == 0 { Dtype::F32 } else { Dtype::F64 },
            mode: if choice("mode", 13, 2)? == 0 { Mode::BlockWise } else { Mode::Speculative },
            coder: if choice("coder", 14, 2)? == 0 { Coder::Ans } else { Coder::Huffman },
            predictor: if choice("predictor", 15, 2)? == 0 {
                Predictor::Hierarchical
            } else {
                Predictor::Lorenzo
            },
            preserve: [Preserve::None, Preserve::Points, Preserve::Types]
                [choice("preserve", 16, 3)? as usize],
            bound_kind: [BoundKind::Absolute, BoundKind::Relative][choice("bound kind", 17, 2)? as usize],
            content: if choice("content", 18, 2)? == 0 { Content::Coded } else { Content::Stored },
            group_log2,
            groups: u64_at(120),
            taper: choice("taper", 20, LEVEL_BOUND_SCALINGS.len() as u8)?,
            kernels,
            table_bytes: u32::from_le_bytes([h[28], h[29], h[30], h[31]]),
            nx: u64_at(32),
            ny: u64_at(40),
            bound: f64_at(56),
            absolute_bound: f64_at(64),
            quantum: f64_at(72),
            dx: f64_at(80),
            dy: f64_at(88),
            has_fill: choice("fill value", 27, if version == 1 { 1 } else { 2 })? != 0,
            fill: [u64_at(96), u64_at(104)],
            stream_bytes: u64_at(112),
        };
        if h[26] != 2 || u64_at(48) != 1 || (version == 1 && u64_at(120) != 0) {
            return Err(Error::corrupt(
                "the header names components or axes that this version does not have",
            ));
        }
        if version > version_of(header.predictor) {
            return Err(Error::corrupt(format!(
                "the header holds a predictor that format version {version} does not have"
            )));
        }
        match header.nx.checked_mul(header.ny) {
            Some(n) if n > 0 && n <= 1 << 48 => {}
            _ => return Err(bad("vertices along x", header.nx)),
        }
        let tiles = header.grid().tiles();
        if version == 1 && header.content == Content::Coded {
            header.groups = tiles.div_ceil(1 << group_log2);
        }
        // Enough for all tiles: the field is no larger than the stream can hold, whatever its header says.
        let allowed = match header.content {
            Content::Coded => tiles.div_ceil(MAX_GROUP_TILES)..=tiles,
            Content::Stored => 0..=0,
        };
        if !allowed.contains(&header.groups) {
            return Err(bad("groups", header.groups));
        }
        for x in [header.bound, header.absolute_bound, header.quantum, header.dx, header.dy] {
            if !(x.is_finite() && x >= 0.0) {
                return Err(Error::corrupt(format!("the header holds the bound or spacing {x}")));
            }
        }
        if header.stream_bytes < header.minimum_bytes() || header.stream_bytes % 4 != 0 {
            return Err(bad("stream bytes", header.stream_bytes));
        }
        Ok(header)
    }

    /// Bytes that any stream with this header has at least.
    fn minimum_bytes(&self) -> u64 {
        let body = match self.content {
            Content::Coded => {
                (self.table_bytes as u64).max(directory_bytes(self.tables()) as u64)
                    + self.groups * (4 + STATE_BYTES as u64)
            }
            Content::Stored => self.field_bytes(),
        };
        HEADER_BYTES as u64 + body
    }

    /// Tables of a stream: version 1 had none for runs with the ANS coder.
    fn tables(&self) -> usize {
        match (self.version, self.coder) {
            (1, Coder::Ans) => V1_ANS_TABLES,
            _ => TABLES,
        }
    }
}

/// Largest stream of a field of `field_bytes`: it is stored where coding would take more.
pub fn max_stream_bytes(field_bytes: u64) -> u64 {
    HEADER_BYTES as u64 + field_bytes.next_multiple_of(4)
}

/// Bytes of the directory: the stored size of each table in units of 4 bytes.
const fn directory_bytes(tables: usize) -> usize {
    tables.next_multiple_of(4)
}

/// The table section: a directory of sizes, then the tables.
pub fn write_tables<E: EntropyTable>(models: &[E]) -> Result<Vec<u8>> {
    let directory = directory_bytes(models.len());
    let mut out = memory::with_capacity(directory + models.len() * 4 * u8::MAX as usize)?;
    out.resize(directory, 0);
    for (k, model) in models.iter().enumerate() {
        let before = out.len();
        model.write(&mut out);
        out[k] = ((out.len() - before) / 4) as u8;
    }
    Ok(out)
}

/// Consecutive tiles that are coded together.
pub struct Group<'a> {
    pub tiles: Range<u64>,
    pub bytes: &'a [u8],
}

/// The word that says how long a group is, and how many tiles it has.
pub fn group_word(tiles: u64, bytes: usize) -> u32 {
    debug_assert!((1..=MAX_GROUP_TILES).contains(&tiles) && bytes >> GROUP_BYTES_BITS == 0);
    (tiles as u32 - 1) << GROUP_BYTES_BITS | bytes as u32
}

/// Where the parts of a coded stream lie.
pub struct Parts<'a, E> {
    pub models: Vec<E>,
    pub groups: Vec<Group<'a>>,
}

/// Splits a coded stream (cut to its own length) into tables and groups.
pub fn split<'a, E: EntropyTable>(header: &Header, stream: &'a [u8]) -> Result<Parts<'a, E>> {
    let short = || Error::corrupt("the parts of the stream do not add up to its length");
    let body = &stream[HEADER_BYTES..];
    let (tables, body) = body.split_at_checked(header.table_bytes as usize).ok_or_else(short)?;
    let count = header.tables();
    let (sizes, mut tables) = tables.split_at_checked(directory_bytes(count)).ok_or_else(short)?;
    let mut models = memory::with_capacity(count)?;
    for &size in &sizes[..count] {
        let (table, rest) = tables.split_at_checked(4 * size as usize).ok_or_else(short)?;
        models.push(E::read(table)?);
        tables = rest;
    }
    let groups = header.groups as usize;
    let (words, mut body) = body.split_at_checked(4 * groups).ok_or_else(short)?;
    if !tables.is_empty() {
        return Err(short());
    }
    let all = header.grid().tiles();
    let mut parts = memory::with_capacity(groups)?;
    let mut first = 0;
    for word in words.chunks_exact(4) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        let (tiles, size) = match header.version {
            1 => ((all - first).min(1 << header.group_log2), word),
            _ => ((word >> GROUP_BYTES_BITS) as u64 + 1, word & ((1 << GROUP_BYTES_BITS) - 1)),
        };
        let (bytes, rest) = body.split_at_checked(size as usize).ok_or_else(short)?;
        let tiles = first..first + tiles;
        if tiles.end > all {
            return Err(Error::corrupt(format!("the groups of the stream have more than its {all} tiles")));
        }
        first = tiles.end;
        parts.push(Group { tiles, bytes });
        body = rest;
    }
    if first != all {
        return Err(Error::corrupt(format!("the groups of the stream have {first} of its {all} tiles")));
    }
    if !body.is_empty() {
        return Err(short());
    }
    Ok(Parts { models, groups: parts })
}

/// Checksum of a stream: the sum over its 32-bit words, the checksum itself as 0, of a mix of the
/// word and its index. Any change of a single word changes it, and words can be added in any order.
pub fn checksum(stream: &[u8]) -> u32 {
    let mut sum = 0u32;
    for (k, word) in stream.chunks_exact(4).enumerate() {
        let mut x = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        if k == CHECKSUM_AT / 4 {
            x = 0;
        }
        x = x.wrapping_add((k as u32).wrapping_mul(0x9e37_79b9));
        x = (x ^ x >> 16).wrapping_mul(0x85eb_ca6b);
        x = (x ^ x >> 13).wrapping_mul(0xc2b2_ae35);
        sum = sum.wrapping_add(x ^ x >> 16);
    }
    sum
}

/// Writes the checksum of a complete stream into its header.
pub fn seal(stream: &mut [u8]) {
    let sum = checksum(stream);
    stream[CHECKSUM_AT..CHECKSUM_AT + 4].copy_from_slice(&sum.to_le_bytes());
}

/// Whether a complete stream has the checksum that its header holds.
pub fn is_sealed(stream: &[u8]) -> bool {
    stream[CHECKSUM_AT..CHECKSUM_AT + 4] == checksum(stream).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn header() -> Header {
        Header {
            version: 2,
            dtype: Dtype::F64,
            mode: Mode::Speculative,
            coder: Coder::Ans,
            predictor: Predictor::Hierarchical,
            preserve: Preserve::Types,
            bound_kind: BoundKind::Relative,
            content: Content::Coded,
            group_log2: 0,
            groups: 11,
            taper: 1,
            kernels: [0, 1, 2, 3, 5],
            nx: 300,
            ny: 200,
            bound: 1e-2,
            absolute_bound: 0.25,
            quantum: 0.2,
            dx: 1.0,
            dy: 2.0,
            has_fill: true,
            fill: [7, u64::MAX],
            stream_bytes: 4096,
            table_bytes: 80,
        }
    }

    #[test]
    fn headers_round_trip_and_are_checked() {
        let h = header();
        let bytes = h.write();
        assert_eq!(Header::read(&bytes).unwrap(), h);
        for n in 0..HEADER_BYTES {
            assert_eq!(Header::read(&bytes[..n]).unwrap_err().status, Status::CorruptStream);
        }
        let mut newer = bytes;
        newer[4] = VERSION as u8 + 1;
        assert_eq!(Header::read(&newer).unwrap_err().status, Status::UnsupportedVersion);
        let lorenzo = Header { version: VERSION, predictor: Predictor::Lorenzo, ..h };
        assert_eq!(Header::read(&lorenzo.write()).unwrap(), lorenzo);
        for version in [1, 2] {
            let groups = if version == 1 { 0 } else { 11 };
            let old = Header { version, groups, stream_bytes: 1 << 20, has_fill: version > 1, ..lorenzo };
            let early = Header { version: 1, groups: 0, stream_bytes: 1 << 20, ..lorenzo };
            assert_eq!(Header::read(&early.write()).unwrap_err().status, Status::CorruptStream);
            assert_eq!(Header::read(&old.write()).unwrap().version, version);
        }
        // 11 groups hold 2816 tiles at most.
        for (nx, ny, holds) in [(32, 32 * 2816, true), (32, 32 * 2816 + 1, false), (1, 1_000_000_000, false)]
        {
            let claims = Header { nx, ny, ..h };
            let status = Header::read(&claims.write()).map_or_else(|e| e.status, |_| Status::Ok);
            assert_eq!(status == Status::Ok, holds, "{nx} x {ny}: {status:?}");
        }
        let unknown = Header { version: VERSION, ..h };
        assert_eq!(Header::read(&unknown.write()).unwrap_err().status, Status::CorruptStream);
        for k in [0, 6, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 25, 26, 27, 39, 48, 63, 120] {
            let mut bad = bytes;
            bad[k] = 0xff;
            assert!(Header::read(&bad).is_err(), "byte {k}");
        }
    }

    #[test]
    fn any_changed_word_changes_the_checksum() {
        let mut stream = vec![0u8; 512];
        for (k, b) in stream.iter_mut().enumerate() {
            *b = (k * 37 % 251) as u8;
        }
        seal(&mut stream);
        assert!(is_sealed(&stream));
        for k in 0..stream.len() {
            for bit in 0..8 {
                stream[k] ^= 1 << bit;
                assert!(!is_sealed(&stream));
                stream[k] ^= 1 << bit;
            }
        }
    }
}
