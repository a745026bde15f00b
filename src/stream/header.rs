//! The header of a stream: its 128 bytes and the rules that they must keep (FORMAT.md, section 2.1).

use crate::error::{Error, Result, Status};
use crate::grid::missing::{fill_value, Missing};
use crate::grid::tiles::{Grid, ANCHOR_LEVEL};
use crate::grid::volume_tiles::VolumeGrid;
use crate::report::StreamInfo;
use crate::request::{
    is_spacing, BoundKind, Coder, Component, Dtype, Mode, Predictor, Preserve, Ties, LEAST_PERIODIC,
    MAX_VERTICES, PERIODIC_X, PERIODIC_Y, PERIODIC_Z,
};

pub const MAGIC: [u8; 4] = *b"FCTZ";
/// The version of the format: the only one that is written and read.
pub const VERSION: u16 = 1;
pub const HEADER_BYTES: usize = 128;
/// Bytes of the header of a volume.
pub const VOLUME_HEADER_BYTES: usize = 176;
/// Tables of a stream.
pub const TABLES: usize = 50;
/// Bytes that the directory of the tables begins with: a bit for each table that takes bytes.
pub const LEAST_DIRECTORY_BYTES: usize = 8;
/// Most tiles of a group.
pub const MAX_GROUP_TILES: u64 = 256;
/// Bytes that every group begins with: the states of its 32 lanes.
pub const LEAST_GROUP_BYTES: usize = 80;
/// Choices of interpolants for a level.
pub const INTERPOLANT_CHOICES: u8 = 6;
/// Choices of how the bin width depends on the level.
pub const LEVEL_BOUND_SCALING_CHOICES: u8 = 2;

/// Places of the fields in the header, in bytes.
pub mod at {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 4;
    pub const HEADER_BYTES: usize = 6;
    pub const CHECKSUM: usize = 8;
    pub const DTYPE: usize = 12;
    pub const MODE: usize = 13;
    pub const CODER: usize = 14;
    pub const PREDICTOR: usize = 15;
    pub const PRESERVE: usize = 16;
    pub const BOUND_KIND: usize = 17;
    pub const CONTENT: usize = 18;
    pub const TIES: usize = 19;
    pub const LEVEL_BOUND_SCALING: usize = 20;
    pub const INTERPOLANTS: usize = 21;
    pub const COMPONENTS: usize = 26;
    pub const HAS_FILL: usize = 27;
    pub const TABLE_BYTES: usize = 28;
    pub const NX: usize = 32;
    pub const NY: usize = 40;
    pub const NZ: usize = 48;
    pub const PERIODIC: usize = 52;
    pub const COMPONENT: usize = 53;
    pub const RESERVED: usize = 54;
    pub const BOUND: usize = 56;
    pub const ABSOLUTE_BOUND: usize = 64;
    pub const HALF_BIN_WIDTH: usize = 72;
    pub const DX: usize = 80;
    pub const DY: usize = 88;
    pub const FILL_U: usize = 96;
    pub const FILL_V: usize = 104;
    pub const STREAM_BYTES: usize = 112;
    pub const GROUPS: usize = 120;
    // Of volumes alone.
    pub const DZ: usize = 128;
    pub const FILL_W: usize = 136;
    pub const LIST_BYTES: usize = 144;
    pub const CHUNKS: usize = 152;
    pub const REPAIRED_VERTICES: usize = 160;
    pub const EXACT_VERTICES: usize = 168;
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
    pub dtype: Dtype,
    pub mode: Mode,
    pub coder: Coder,
    pub predictor: Predictor,
    pub preserve: Preserve,
    pub bound_kind: BoundKind,
    pub content: Content,
    pub ties: Ties,
    /// Number of groups, 0 when the content is stored.
    pub groups: u64,
    pub level_bound_scaling: u8,
    /// By level, from 0.
    pub interpolants: [u8; ANCHOR_LEVEL],
    pub nx: u64,
    pub ny: u64,
    /// Planes.
    pub nz: u32,
    /// Bits PERIODIC_X and PERIODIC_Y.
    pub periodic: u8,
    /// As the caller gave it.
    pub bound: f64,
    pub absolute_bound: f64,
    pub half_bin_width: f64,
    pub dx: f64,
    pub dy: f64,
    /// Whether the encoder was given a fill value: it has the bits `fill[0]`.
    pub has_fill: bool,
    /// Bits of u and v of masked missing values. In the stream of one component: its bits, and the number
    /// that the streams of both components of a field share.
    pub fill: [u64; 2],
    /// The only component that the stream holds; None if it holds both.
    pub component: Option<Component>,
    pub stream_bytes: u64,
    /// Bytes of the table section, its directory included (0 when the content is stored).
    pub table_bytes: u32,
    /// The fields of volumes; None for planes.
    pub volume: Option<VolumeFields>,
}

/// The fields of the header that volumes alone have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeFields {
    pub dz: f64,
    /// Bits of w of masked missing values.
    pub fill_w: u64,
    /// Bytes of the list of repaired vertices, its directory included.
    pub list_bytes: u64,
    pub chunks: u64,
    /// Vertices in the list, and those of them that are exact.
    pub repaired_vertices: u64,
    pub exact_vertices: u64,
}

/// The error of a field that holds a value that it cannot have.
fn bad(what: &str, value: impl std::fmt::Display) -> Error {
    Error::corrupt(format!("the header holds {what} = {value}, which no encoder writes"))
}

/// The bytes of the header at the start of a stream of this version.
fn bytes_of_header(stream: &[u8]) -> Result<&[u8; HEADER_BYTES]> {
    let Some(h) = stream.first_chunk::<HEADER_BYTES>() else {
        return Err(Error::corrupt(format!(
            "the stream has {} bytes, less than a header of {HEADER_BYTES}",
            stream.len()
        )));
    };
    if h[..4] != MAGIC {
        return Err(Error::corrupt("the stream does not begin with the mark FCTZ: it is no factz stream"));
    }
    let [version, header_bytes] =
        [at::VERSION, at::HEADER_BYTES].map(|at| u16::from_le_bytes([h[at], h[at + 1]]));
    if version != VERSION {
        return Err(Error::new(
            Status::UnsupportedVersion,
            format!("the stream has format version {version}; this library reads version {VERSION}"),
        ));
    }
    let expected = if h[at::COMPONENTS] == 3 { VOLUME_HEADER_BYTES } else { HEADER_BYTES };
    if header_bytes as usize != expected {
        return Err(bad("header bytes", header_bytes as u64));
    }
    Ok(h)
}

/// The list of repaired vertices (FORMAT.md, section 10.4): bytes of a chunk's entry in the directory, vertices of
/// all chunks but the last one of each kind, at least, and the kinds.
pub const LIST_ENTRY_BYTES: u64 = 16;
pub const LIST_CHUNK: u64 = 512;
pub const LIST_KINDS: u64 = 3;

/// The fields of a volume, if the header is that of one.
fn volume_fields(bytes: &[u8]) -> Result<Option<VolumeFields>> {
    if bytes[at::COMPONENTS] != 3 {
        return Ok(None);
    }
    let Some(h) = bytes.first_chunk::<VOLUME_HEADER_BYTES>() else {
        return Err(Error::corrupt(format!(
            "the stream has {} bytes, less than a header of {VOLUME_HEADER_BYTES}",
            bytes.len()
        )));
    };
    let u64_at = |at: usize| u64::from_le_bytes(h[at..at + 8].try_into().expect("eight bytes"));
    Ok(Some(VolumeFields {
        dz: f64::from_bits(u64_at(at::DZ)),
        fill_w: u64_at(at::FILL_W),
        list_bytes: u64_at(at::LIST_BYTES),
        chunks: u64_at(at::CHUNKS),
        repaired_vertices: u64_at(at::REPAIRED_VERTICES),
        exact_vertices: u64_at(at::EXACT_VERTICES),
    }))
}

impl Header {
    pub fn grid(&self) -> Grid {
        Grid { nx: self.nx, ny: self.ny, nz: self.nz as u64, periodic: self.periodic as u32 }
    }
    /// Components in the stream.
    pub fn components(&self) -> u32 {
        match self.volume {
            None => 2 - self.component.is_some() as u32,
            Some(_) => 3,
        }
    }

    /// Bytes of the header.
    pub fn bytes(&self) -> usize {
        if self.volume.is_some() {
            VOLUME_HEADER_BYTES
        } else {
            HEADER_BYTES
        }
    }

    /// Tiles of the field.
    pub fn tiles(&self) -> u64 {
        match self.volume {
            None => self.grid().tiles(),
            Some(_) => VolumeGrid::of(self.grid()).tiles(),
        }
    }

    /// Where the groups end in a coded stream.
    pub fn end_of_groups(&self) -> u64 {
        self.stream_bytes - self.volume.map_or(0, |volume| volume.list_bytes)
    }

    /// Reads the header of planes, of which [`HEADER_BYTES`] suffice; the streams of volumes are refused.
    pub fn read_planes(bytes: &[u8]) -> Result<Self> {
        match bytes_of_header(bytes)?[at::COMPONENTS] {
            3 => {
                Err(Error::argument("the stream holds a volume of u, v and w: call the function for volumes"))
            }
            _ => Self::read(bytes),
        }
    }

    /// Refuses the streams of planes.
    pub fn of_volume(self) -> Result<(Self, VolumeFields)> {
        match self.volume {
            Some(volume) => Ok((self, volume)),
            None => Err(Error::argument(
                "the stream holds planes with u and v, no volume: call the function for planes",
            )),
        }
    }

    /// Bytes of all components together.
    pub fn field_bytes(&self) -> u64 {
        self.components() as u64 * self.grid().vertices() * self.dtype.bytes()
    }

    /// Bits of masked missing values, by component. Where there is one component they stand for both.
    pub fn fill_pattern(&self) -> [u64; 2] {
        match self.component {
            None => self.fill,
            Some(_) => [self.fill[0]; 2],
        }
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
            format_version: VERSION as u32,
            nx: self.nx,
            ny: self.ny,
            nz: self.nz as u64,
            components: if self.volume.is_some() { 3 } else { 2 },
            dz: self.volume.map_or(1.0, |volume| volume.dz),
            periodic: self.periodic as u32,
            dtype: self.dtype,
            mode: self.mode,
            coder: self.coder,
            predictor: self.predictor,
            preserve: self.preserve,
            ties: self.ties,
            dx: self.dx,
            dy: self.dy,
            bound_kind: self.bound_kind,
            bound: self.bound,
            absolute_bound: self.absolute_bound,
            component: self.component,
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
        put(&VERSION.to_le_bytes());
        put(&(self.bytes() as u16).to_le_bytes());
        put(&[0; 4]); // checksum
        put(&[
            self.dtype as u8,
            self.mode as u8,
            self.coder as u8,
            self.predictor as u8,
            self.preserve as u8,
            self.bound_kind as u8,
            self.content as u8,
            self.ties as u8,
            self.level_bound_scaling,
        ]);
        put(&self.interpolants);
        put(&[self.components() as u8, self.has_fill as u8]);
        put(&self.table_bytes.to_le_bytes());
        put(&self.nx.to_le_bytes());
        put(&self.ny.to_le_bytes());
        put(&self.nz.to_le_bytes());
        put(&[self.periodic, self.component.map_or(0, |component| component as u8), 0, 0]); // reserved
        for x in [self.bound, self.absolute_bound, self.half_bin_width, self.dx, self.dy] {
            put(&x.to_le_bytes());
        }
        put(&self.fill[0].to_le_bytes());
        put(&self.fill[1].to_le_bytes());
        put(&self.stream_bytes.to_le_bytes());
        put(&self.groups.to_le_bytes());
        out
    }

    /// The header of a volume.
    pub fn write_volume(&self, volume: &VolumeFields) -> [u8; VOLUME_HEADER_BYTES] {
        let mut out = [0u8; VOLUME_HEADER_BYTES];
        out[..HEADER_BYTES].copy_from_slice(&self.write());
        for (at, number) in [
            (at::DZ, volume.dz.to_bits()),
            (at::FILL_W, volume.fill_w),
            (at::LIST_BYTES, volume.list_bytes),
            (at::CHUNKS, volume.chunks),
            (at::REPAIRED_VERTICES, volume.repaired_vertices),
            (at::EXACT_VERTICES, volume.exact_vertices),
        ] {
            out[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        out
    }

    /// Reads and checks the header at the start of a stream.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let h = bytes_of_header(bytes)?;
        let u64_at = |at: usize| u64::from_le_bytes(h[at..at + 8].try_into().expect("eight bytes"));
        let u32_at = |at: usize| u32::from_le_bytes(h[at..at + 4].try_into().expect("four bytes"));
        let f64_at = |at: usize| f64::from_bits(u64_at(at));
        let choice = |what: &str, at: usize, count: u8| match h[at] {
            value if value < count => Ok(value),
            value => Err(bad(what, value as u64)),
        };
        fn of<T: Copy>(names: &[(&str, T)], number: Result<u8>) -> Result<T> {
            Ok(names[number? as usize].1)
        }
        let mut interpolants = [0; ANCHOR_LEVEL];
        for (level, k) in interpolants.iter_mut().enumerate() {
            *k = choice("interpolant", at::INTERPOLANTS + level, INTERPOLANT_CHOICES)?;
        }
        let volume = volume_fields(bytes)?;
        let header = Header {
            dtype: of(&Dtype::NAMES, choice("dtype", at::DTYPE, 2))?,
            mode: of(&Mode::NAMES, choice("mode", at::MODE, 3))?,
            coder: of(&Coder::NAMES, choice("coder", at::CODER, 2))?,
            predictor: of(&Predictor::NAMES, choice("predictor", at::PREDICTOR, 2))?,
            preserve: of(&Preserve::NAMES, choice("preserve", at::PRESERVE, 3))?,
            bound_kind: of(&BoundKind::NAMES, choice("bound kind", at::BOUND_KIND, 2))?,
            content: if choice("content", at::CONTENT, 2)? == 0 { Content::Coded } else { Content::Stored },
            ties: of(&Ties::NAMES, choice("ties", at::TIES, 3))?,
            groups: u64_at(at::GROUPS),
            level_bound_scaling: choice(
                "level bound scaling",
                at::LEVEL_BOUND_SCALING,
                LEVEL_BOUND_SCALING_CHOICES,
            )?,
            interpolants,
            table_bytes: u32_at(at::TABLE_BYTES),
            nx: u64_at(at::NX),
            ny: u64_at(at::NY),
            nz: u32_at(at::NZ),
            periodic: choice("periodic axes", at::PERIODIC, if volume.is_some() { 8 } else { 4 })?,
            bound: f64_at(at::BOUND),
            absolute_bound: f64_at(at::ABSOLUTE_BOUND),
            half_bin_width: f64_at(at::HALF_BIN_WIDTH),
            dx: f64_at(at::DX),
            dy: f64_at(at::DY),
            has_fill: choice("fill value", at::HAS_FILL, 2)? != 0,
            fill: [u64_at(at::FILL_U), u64_at(at::FILL_V)],
            component: match h[at::COMPONENTS] {
                1 => Some(of(&Component::NAMES, choice("component", at::COMPONENT, 2))?),
                2 | 3 if h[at::COMPONENT] == 0 => None,
                2 | 3 => return Err(bad("component", h[at::COMPONENT] as u64)),
                components => return Err(bad("components", components as u64)),
            },
            stream_bytes: u64_at(at::STREAM_BYTES),
            volume,
        };
        choice("reserved byte", at::RESERVED, 1)?;
        choice("reserved byte", at::RESERVED + 1, 1)?;
        header.check()?;
        Ok(header)
    }

    /// Checks what belongs to volumes, and what does not.
    fn check_volume(&self) -> Result<()> {
        if (self.mode == Mode::Repair) != self.volume.is_some() {
            return Err(bad("mode", self.mode as u64));
        }
        let Some(volume) = self.volume else { return Ok(()) };
        if self.predictor != Predictor::Hierarchical {
            return Err(bad("predictor", self.predictor as u64));
        }
        if self.ties == Ties::Sos {
            return Err(bad("ties", self.ties as u64));
        }
        let vertices = self.grid().vertices();
        let is_coded = self.content == Content::Coded;
        let most_chunks = volume.repaired_vertices / LIST_CHUNK + LIST_KINDS;
        // A zero or filled chunk and another one may name a vertex twice.
        for (name, number, most) in [
            ("bytes of the list", volume.list_bytes, if is_coded { self.stream_bytes } else { 0 }),
            ("chunks", volume.chunks, (volume.list_bytes / LIST_ENTRY_BYTES).min(most_chunks)),
            ("repaired vertices", volume.repaired_vertices, if is_coded { 2 * vertices } else { 0 }),
            ("exact vertices", volume.exact_vertices, volume.repaired_vertices),
        ] {
            if number > most {
                return Err(bad(name, number));
            }
        }
        match volume.list_bytes % 4 {
            0 => Ok(()),
            _ => Err(bad("bytes of the list", volume.list_bytes)),
        }
    }

    /// Checks what the fields say together.
    fn check(&self) -> Result<()> {
        match self.nx.checked_mul(self.ny).and_then(|n| n.checked_mul(self.nz as u64)) {
            Some(n) if n > 0 && n <= MAX_VERTICES => {}
            _ => {
                return Err(Error::corrupt(format!(
                    "the header holds {} x {} x {} vertices, not from 1 to {MAX_VERTICES}",
                    self.nx, self.ny, self.nz
                )));
            }
        }
        let axes =
            [("x", PERIODIC_X, self.nx), ("y", PERIODIC_Y, self.ny), ("z", PERIODIC_Z, self.nz as u64)];
        for (name, bit, n) in axes {
            if self.periodic as u32 & bit != 0 && n < LEAST_PERIODIC {
                return Err(Error::corrupt(format!(
                    "the header holds {n} vertices along {name}, which is periodic"
                )));
            }
        }
        self.check_volume()?;
        let tiles = self.tiles();
        // Enough for all tiles: the field is no larger than the stream can hold, whatever its header says.
        let allowed = match self.content {
            Content::Coded => tiles.div_ceil(MAX_GROUP_TILES)..=tiles,
            Content::Stored => 0..=0,
        };
        if !allowed.contains(&self.groups) {
            return Err(bad("groups", self.groups));
        }
        for (name, x) in [
            ("bound", self.bound),
            ("absolute bound", self.absolute_bound),
            ("half bin width", self.half_bin_width),
        ] {
            if !(x.is_finite() && x >= 0.0) {
                return Err(bad(name, x));
            }
        }
        let dz = self.volume.map_or(1.0, |volume| volume.dz);
        for (name, d) in [("dx", self.dx), ("dy", self.dy), ("dz", dz)] {
            if !is_spacing(d) {
                return Err(bad(name, d));
            }
        }
        if self.stream_bytes % 4 != 0 {
            return Err(bad("stream bytes", self.stream_bytes));
        }
        let least = self.minimum_bytes();
        if self.stream_bytes < least {
            return Err(Error::corrupt(format!(
                "the header holds stream bytes = {}, and tables and groups that take {least} at least",
                self.stream_bytes
            )));
        }
        Ok(())
    }

    /// Bytes that any stream with this header has at least.
    fn minimum_bytes(&self) -> u64 {
        let body = match self.content {
            Content::Coded => {
                (self.table_bytes as u64).max(LEAST_DIRECTORY_BYTES as u64)
                    + self.groups * (4 + LEAST_GROUP_BYTES as u64)
            }
            Content::Stored => self.field_bytes(),
        };
        self.bytes() as u64 + body + self.volume.map_or(0, |volume| volume.list_bytes)
    }
}

/// Largest stream of a volume of `field_bytes`: it is stored where coding would take more.
pub fn max_volume_stream_bytes(field_bytes: u64) -> u64 {
    VOLUME_HEADER_BYTES as u64 + field_bytes.next_multiple_of(4)
}

/// Largest stream of a field of `field_bytes`: it is stored where coding would take more.
pub fn max_stream_bytes(field_bytes: u64) -> u64 {
    HEADER_BYTES as u64 + field_bytes.next_multiple_of(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header {
            dtype: Dtype::F64,
            mode: Mode::Speculative,
            coder: Coder::Ans,
            predictor: Predictor::Hierarchical,
            preserve: Preserve::Types,
            bound_kind: BoundKind::Relative,
            content: Content::Coded,
            ties: Ties::Zeros,
            groups: 11,
            level_bound_scaling: 1,
            interpolants: [0, 1, 2, 3, 5],
            nx: 300,
            ny: 200,
            nz: 1,
            periodic: 2,
            bound: 1e-2,
            absolute_bound: 0.25,
            half_bin_width: 0.2,
            dx: 1.0,
            dy: -2.0,
            has_fill: true,
            fill: [7, u64::MAX],
            component: None,
            stream_bytes: 4096,
            table_bytes: 80,
            volume: None,
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
        for version in [0, VERSION + 1, u16::MAX] {
            let mut other = bytes;
            other[4..6].copy_from_slice(&version.to_le_bytes());
            assert_eq!(Header::read(&other).unwrap_err().status, Status::UnsupportedVersion);
        }
        let lorenzo = Header { predictor: Predictor::Lorenzo, ..h };
        assert_eq!(Header::read(&lorenzo.write()).unwrap(), lorenzo);
        for component in [Component::U, Component::V] {
            let alone = Header { component: Some(component), ..h };
            assert_eq!(Header::read(&alone.write()).unwrap(), alone);
        }
        for (components, component) in [(0, 0), (1, 2), (2, 1), (3, 0)] {
            let mut bad = bytes;
            (bad[at::COMPONENTS], bad[at::COMPONENT]) = (components, component);
            assert!(Header::read(&bad).is_err(), "{components} components, component {component}");
        }
        // 11 groups hold 2816 tiles at most.
        for (nx, ny, holds) in [(32, 32 * 2816, true), (32, 32 * 2816 + 1, false), (1, 1_000_000_000, false)]
        {
            let claims = Header { nx, ny, ..h };
            let status = Header::read(&claims.write()).map_or_else(|e| e.status, |_| Status::Ok);
            assert_eq!(status == Status::Ok, holds, "{nx} x {ny}: {status:?}");
        }
        for k in [0, 6, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 25, 26, 27, 39, 51, 52, 53, 54, 55, 63, 120] {
            let mut bad = bytes;
            bad[k] = 0xff;
            assert!(Header::read(&bad).is_err(), "byte {k}");
        }
        for d in [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for (name, bad) in [("dx", Header { dx: d, ..h }), ("dy", Header { dy: d, ..h })] {
                let error = Header::read(&bad.write()).unwrap_err();
                assert_eq!(error.status, Status::CorruptStream);
                assert!(error.message.contains(&format!("{name} = {d}")), "{error}");
            }
        }
        for d in [5e-324, -5e-324, f64::MAX, f64::MIN] {
            let good = Header { dx: d, dy: -d, ..h };
            assert_eq!(Header::read(&good.write()).unwrap(), good);
        }
    }
}
