//! The header of a fix: its 128 bytes, or 136 of a volume, and the rules that they must keep (FORMAT.md, section 10.1).

use super::list::Positions;
use crate::error::{Error, Result, Status};
use crate::grid::missing::fill_value;
use crate::grid::tiles::Grid;
use crate::report::FixInfo;
use crate::request::{
    is_spacing, BoundKind, Dtype, Preserve, Ties, LEAST_PERIODIC, MAX_VERTICES, PERIODIC_X, PERIODIC_Y,
    PERIODIC_Z,
};

pub const MAGIC: [u8; 4] = *b"FCTR";
/// The version of the format of a fix: the only one that is written and read.
pub const VERSION: u16 = 1;
pub const HEADER_BYTES: usize = 128;
/// Bytes of the header of the fix of a volume.
pub const VOLUME_HEADER_BYTES: usize = 136;

/// Places of the fields in the header, in bytes. The checksum is where that of a stream is.
pub mod at {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 4;
    pub const HEADER_BYTES: usize = 6;
    pub const DTYPE: usize = 12;
    pub const PRESERVE: usize = 13;
    pub const BOUND_KIND: usize = 14;
    pub const TIES: usize = 15;
    pub const COMPONENTS: usize = 16;
    pub const HAS_FILL: usize = 17;
    pub const PERIODIC: usize = 18;
    pub const CONTENT: usize = 19;
    pub const RECONSTRUCTION: usize = 20;
    pub const EXACT_VERTICES: usize = 24;
    pub const NX: usize = 32;
    pub const NY: usize = 40;
    pub const NZ: usize = 48;
    pub const RESERVED: usize = 52;
    pub const BOUND: usize = 56;
    pub const ABSOLUTE_BOUND: usize = 64;
    pub const RADIUS: usize = 72;
    pub const DX: usize = 80;
    pub const DY: usize = 88;
    pub const FILL: usize = 96;
    pub const REPAIRED_VERTICES: usize = 104;
    pub const FIX_BYTES: usize = 112;
    pub const CHUNKS: usize = 120;
    // Of volumes alone.
    pub const DZ: usize = 128;
}

/// The content behind the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Directory and chunks of repaired vertices.
    List = 0,
    /// u, then v, then w, dense: used where the list would take more.
    Stored = 1,
}

/// The decoded header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// 2 of planes, 3 of a volume.
    pub components: u8,
    pub dtype: Dtype,
    pub preserve: Preserve,
    pub bound_kind: BoundKind,
    pub ties: Ties,
    pub content: Content,
    pub periodic: u8,
    /// The checksum of the reconstruction that the fix belongs to.
    pub reconstruction: u32,
    pub exact_vertices: u64,
    pub nx: u64,
    pub ny: u64,
    pub nz: u32,
    /// As the caller gave it.
    pub bound: f64,
    pub absolute_bound: f64,
    /// The largest error of the reconstruction, where the original has data.
    pub radius: f64,
    pub dx: f64,
    pub dy: f64,
    /// 1 of planes, whose header does not hold it.
    pub dz: f64,
    /// Bits of the fill value, if there is one.
    pub fill: Option<u64>,
    pub repaired_vertices: u64,
    pub fix_bytes: u64,
    pub chunks: u64,
}

/// The error of a field that holds a value that it cannot have.
fn bad(what: &str, value: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("the header of the fix holds {what} = {value}"))
}

impl Header {
    pub fn grid(&self) -> Grid {
        Grid { nx: self.nx, ny: self.ny, nz: self.nz as u64, periodic: self.periodic as u32 }
    }

    /// Bytes of all components together.
    pub fn field_bytes(&self) -> u64 {
        self.components as u64 * self.grid().vertices() * self.dtype.bytes()
    }

    /// Bytes of this header.
    pub fn bytes(&self) -> usize {
        header_bytes(self.components)
    }

    /// How vertices are listed.
    pub fn positions(&self) -> Positions {
        match self.components {
            3 => Positions::Volume(self.grid()),
            _ => Positions::Planes(self.grid()),
        }
    }

    pub fn info(&self) -> FixInfo {
        FixInfo {
            format_version: VERSION as u32,
            components: self.components as u32,
            nx: self.nx,
            ny: self.ny,
            nz: self.nz as u64,
            periodic: self.periodic as u32,
            dtype: self.dtype,
            preserve: self.preserve,
            ties: self.ties,
            dx: self.dx,
            dy: self.dy,
            dz: self.dz,
            bound_kind: self.bound_kind,
            bound: self.bound,
            absolute_bound: self.absolute_bound,
            max_error: self.radius,
            fill_value: self.fill.map(|bits| fill_value(self.dtype.bytes() as usize, bits)),
            reconstruction_checksum: self.reconstruction,
            repaired_vertices: self.repaired_vertices,
            exact_vertices: self.exact_vertices,
            fix_bytes: self.fix_bytes,
        }
    }

    /// Writes the header to a buffer of its length.
    pub fn write(&self, out: &mut [u8]) {
        out.fill(0);
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(at::MAGIC, &MAGIC);
        put(at::VERSION, &VERSION.to_le_bytes());
        put(at::HEADER_BYTES, &(self.bytes() as u16).to_le_bytes());
        for (at, byte) in [
            (at::DTYPE, self.dtype as u8),
            (at::PRESERVE, self.preserve as u8),
            (at::BOUND_KIND, self.bound_kind as u8),
            (at::TIES, self.ties as u8),
            (at::COMPONENTS, self.components),
            (at::HAS_FILL, self.fill.is_some() as u8),
            (at::PERIODIC, self.periodic),
            (at::CONTENT, self.content as u8),
        ] {
            put(at, &[byte]);
        }
        put(at::RECONSTRUCTION, &self.reconstruction.to_le_bytes());
        put(at::NZ, &self.nz.to_le_bytes());
        for (at, number) in [
            (at::EXACT_VERTICES, self.exact_vertices),
            (at::NX, self.nx),
            (at::NY, self.ny),
            (at::BOUND, self.bound.to_bits()),
            (at::ABSOLUTE_BOUND, self.absolute_bound.to_bits()),
            (at::RADIUS, self.radius.to_bits()),
            (at::DX, self.dx.to_bits()),
            (at::DY, self.dy.to_bits()),
            (at::FILL, self.fill.unwrap_or(0)),
            (at::REPAIRED_VERTICES, self.repaired_vertices),
            (at::FIX_BYTES, self.fix_bytes),
            (at::CHUNKS, self.chunks),
        ] {
            put(at, &number.to_le_bytes());
        }
        if self.components == 3 {
            put(at::DZ, &self.dz.to_le_bytes());
        }
    }

    /// Reads and checks the header at the start of a fix.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let h = bytes_of_header(bytes)?;
        let u64_at = |at: usize| u64::from_le_bytes(h[at..at + 8].try_into().expect("eight bytes"));
        let u32_at = |at: usize| u32::from_le_bytes(h[at..at + 4].try_into().expect("four bytes"));
        let f64_at = |at: usize| f64::from_bits(u64_at(at));
        let choice = |what: &str, at: usize, count: u8| match h[at] {
            value if value < count => Ok(value as usize),
            value => Err(bad(what, value)),
        };
        let components = h[at::COMPONENTS];
        let is_volume = components == 3;
        if u32_at(at::RESERVED) != 0 {
            return Err(bad("reserved bytes", u32_at(at::RESERVED)));
        }
        let has_fill = choice("fill value", at::HAS_FILL, 2)? != 0;
        let header = Header {
            components,
            dtype: Dtype::NAMES[choice("dtype", at::DTYPE, 2)?].1,
            preserve: Preserve::NAMES[choice("preserve", at::PRESERVE, 3)?].1,
            bound_kind: BoundKind::NAMES[choice("bound kind", at::BOUND_KIND, 2)?].1,
            ties: Ties::NAMES[choice("ties", at::TIES, if is_volume { 2 } else { 3 })?].1,
            content: [Content::List, Content::Stored][choice("content", at::CONTENT, 2)?],
            periodic: choice("periodic axes", at::PERIODIC, if is_volume { 8 } else { 4 })? as u8,
            reconstruction: u32_at(at::RECONSTRUCTION),
            exact_vertices: u64_at(at::EXACT_VERTICES),
            nx: u64_at(at::NX),
            ny: u64_at(at::NY),
            nz: u32_at(at::NZ),
            bound: f64_at(at::BOUND),
            absolute_bound: f64_at(at::ABSOLUTE_BOUND),
            radius: f64_at(at::RADIUS),
            dx: f64_at(at::DX),
            dy: f64_at(at::DY),
            dz: if is_volume { f64_at(at::DZ) } else { 1.0 },
            fill: has_fill.then(|| u64_at(at::FILL)),
            repaired_vertices: u64_at(at::REPAIRED_VERTICES),
            fix_bytes: u64_at(at::FIX_BYTES),
            chunks: u64_at(at::CHUNKS),
        };
        header.check()?;
        Ok(header)
    }

    /// Checks what the fields say together.
    fn check(&self) -> Result<()> {
        match self.nx.checked_mul(self.ny).and_then(|n| n.checked_mul(self.nz as u64)) {
            Some(n) if n > 0 && n <= MAX_VERTICES => {}
            _ => {
                return Err(Error::corrupt(format!(
                    "the header of the fix holds {} x {} x {} vertices, not from 1 to {MAX_VERTICES}",
                    self.nx, self.ny, self.nz
                )));
            }
        }
        let axes =
            [("nx", PERIODIC_X, self.nx), ("ny", PERIODIC_Y, self.ny), ("nz", PERIODIC_Z, self.nz as u64)];
        for (name, bit, n) in axes {
            if n == 1 && self.components == 3 {
                return Err(bad(&format!("a volume with {name}"), n));
            }
            if self.periodic as u32 & bit != 0 && n < LEAST_PERIODIC {
                return Err(bad(&format!("a periodic axis with {name}"), n));
            }
        }
        for (name, x) in
            [("bound", self.bound), ("absolute bound", self.absolute_bound), ("largest error", self.radius)]
        {
            if !(x.is_finite() && x >= 0.0) {
                return Err(bad(name, x));
            }
        }
        for (name, d) in [("dx", self.dx), ("dy", self.dy), ("dz", self.dz)] {
            if !is_spacing(d) {
                return Err(bad(name, d));
            }
        }
        for (name, vertices, most) in [
            ("repaired vertices", self.repaired_vertices, self.grid().vertices()),
            ("exact vertices", self.exact_vertices, self.repaired_vertices),
        ] {
            if vertices > most {
                return Err(bad(name, vertices));
            }
        }
        let body = match self.content {
            Content::Stored if self.chunks != 0 => return Err(bad("chunks", self.chunks)),
            Content::Stored => self.field_bytes(),
            Content::List => super::list::ENTRY_BYTES as u64 * self.chunks.min(1 << 50),
        };
        match self.fix_bytes % 4 == 0 && self.fix_bytes >= self.bytes() as u64 + body {
            true => Ok(()),
            false => Err(bad("bytes", self.fix_bytes)),
        }
    }
}

/// The bytes of the header at the start of a fix of this version.
fn bytes_of_header(fix: &[u8]) -> Result<&[u8]> {
    let too_short = |needed: usize| {
        Error::corrupt(format!("the fix has {} bytes, less than a header of {needed}", fix.len()))
    };
    let h = fix.first_chunk::<HEADER_BYTES>().ok_or_else(|| too_short(HEADER_BYTES))?;
    if h[..4] != MAGIC {
        let what = if h[..4] == *b"FCTZ" { "a stream of factz, which needs none" } else { "none" };
        return Err(Error::corrupt(format!("the fix does not begin with the mark FCTR: it is {what}")));
    }
    let [version, length] = [at::VERSION, at::HEADER_BYTES].map(|at| u16::from_le_bytes([h[at], h[at + 1]]));
    if version != VERSION {
        return Err(Error::new(
            Status::UnsupportedVersion,
            format!("the fix has format version {version}; this library reads version {VERSION}"),
        ));
    }
    let needed = match h[at::COMPONENTS] {
        components @ (2 | 3) => header_bytes(components),
        components => return Err(bad("components", components)),
    };
    match length as usize == needed {
        true => fix.get(..needed).ok_or_else(|| too_short(needed)),
        false => Err(bad("header bytes", length)),
    }
}

/// Bytes of the header of a fix of a field with this number of components.
fn header_bytes(components: u8) -> usize {
    if components == 3 {
        VOLUME_HEADER_BYTES
    } else {
        HEADER_BYTES
    }
}

/// Largest fix of a field of `field_bytes`: the values are stored where the list would take more.
pub fn max_fix_bytes(components: u8, field_bytes: u64) -> u64 {
    header_bytes(components) as u64 + field_bytes.next_multiple_of(4)
}
