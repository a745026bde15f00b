//! Sizes and offsets of all regions in the workspace of a device call. They follow from the request alone and
//! need neither data nor a device. No other file divides the workspace.

use super::constants::*;
use crate::analysis::BAND;
use crate::entropy::huffman::CODES;
use crate::entropy::symbols::ALPHABET;
use crate::error::{Error, Result, Status};
use crate::grid::tiles::{TILE, TILE_VERTICES};
use crate::grid::volume_tiles::{VolumeGrid, VOLUME_TILE_VERTICES};
use crate::request::{Config, Dtype, Mode, Predictor, Request, VolumeRequest};
use crate::stream::header::{LIST_CHUNK, LIST_KINDS};
use crate::stream::sections::{MAX_GROUP_TILES, TABLES};

/// Alignment of the workspace and of each part of it: that of cudaMalloc.
pub const ALIGNMENT: u64 = 256;

/// Tiles before the first one of a call, or behind its last one, that the group with that tile may hold.
pub(super) const OTHER_TILES: u64 = MAX_GROUP_TILES - 1;

/// Bytes of a tile's slot.
pub const fn slot_bytes(dtype: Dtype, predictor: Predictor) -> u64 {
    match (dtype, predictor) {
        (Dtype::F32, _) => TILE_SLOT_BYTES_F32,
        (Dtype::F64, Predictor::Hierarchical) => TILE_SLOT_BYTES_F64,
        (Dtype::F64, Predictor::Lorenzo) => TILE_SLOT_BYTES_F64_LORENZO,
    }
}

/// Words and states of one tile fit its slot: all vertices with a symbol and the raw bits of both values (a
/// vertex is stored where a code would take more), the refinement bits of an anchor, mask state, activities
/// and numbers of entries. An entry of a mask takes 45 bits and replaces at least half a vertex;
/// kernels/capacities.cuh has the exact proof.
const _: () = {
    let dtypes = [Dtype::F32, Dtype::F64];
    let mut k = 0;
    while k < dtypes.len() {
        let value_bits = [32, 64][k];
        let vertex_bits = MOST_SYMBOL_BITS + 2 * value_bits;
        let entry_bits = 2 * MOST_SYMBOL_BITS + 5;
        let mask_bits = 256 * entry_bits.saturating_sub(vertex_bits / 2);
        let head_bits = 32 + 4 * MOST_SYMBOL_BITS + 35;
        let bits = TILE_VERTICES as u64 * vertex_bits + mask_bits + head_bits;
        assert!(128 + bits.div_ceil(16) * 2 + 2 <= slot_bytes(dtypes[k], Predictor::Hierarchical));
        k += 1;
    }
};
/// The whole control block, counts and what is carved from the rest are multiples of words.
const _: () = assert!(
    CONTROL_BYTES % ALIGNMENT == 0 && ORIGIN_DISTANCE_BYTES % 16 == 0 && TABLE_SECTION_BYTES % 4 == 0
);

/// A part of the workspace; one without bytes is not used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    pub offset: u64,
    pub bytes: u64,
}

/// Defines a workspace by its parts, one after the other.
macro_rules! workspace {
    ($(#[$doc:meta])* $name:ident: $($region:ident),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $(pub $region: Region,)+
            /// All of it.
            pub bytes: u64,
        }

        #[cfg(test)]
        impl $name {
            fn regions(&self) -> Vec<Region> {
                vec![$(self.$region),+]
            }
        }
    };
}

workspace! {
    /// Where the parts of a workspace lie. kernels/device/workspace.cuh says what is in them.
    Workspace:
    control, symbol_counts, symbols, raw_bits, tile_headers, written_steps, masks, origin_distances,
    anchors, anchor_codes, row_lines, column_lines, coding_tables, slot_starts, huffman_codes,
    stored_tables, slots, group_sizes, group_offsets, outer_anchors, hidden, chunks, levels, positions, values,
    listed, list_ranks, chunk_places
}

impl Workspace {
    pub fn compress(request: &Request) -> Result<Self> {
        let (grid, Config { dtype, predictor, .. }) = (request.grid(), request.config());
        let is_hierarchical = matches!(predictor, Predictor::Hierarchical);
        // The speculative mode alone has lattice lines.
        let pair = match request.config().mode {
            Mode::Speculative if is_hierarchical => 2 * dtype.bytes(),
            _ => 0,
        };
        let mut carver = Carver::default();
        let mut w = Workspace {
            control: carver.take(&[CONTROL_BYTES])?,
            symbol_counts: carver.take(&[TABLES as u64, ALPHABET as u64, 8])?,
            origin_distances: carver.take(&[grid.tiles(), ORIGIN_DISTANCE_BYTES])?,
            anchor_codes: carver.take(&[grid.tiles(), 4, 4])?,
            row_lines: carver.take(&[grid.tile_rows(), grid.nx, pair])?,
            column_lines: carver.take(&[grid.tiles(), TILE as u64, pair])?,
            coding_tables: carver.take(&[CODING_TABLE_BYTES])?,
            stored_tables: carver.take(&[TABLE_SECTION_BYTES])?,
            slots: carver.take(&[grid.tiles(), slot_bytes(*dtype, *predictor)])?,
            ..Default::default()
        };
        w.common(request, [grid.tiles(); 2], carver)
    }

    pub fn decompress(request: &Request) -> Result<Self> {
        Self::restore(request, [request.grid().tiles(); 2])
    }

    /// For the planes of the request in a stream that may have others. Groups at both ends may hold tiles of
    /// other planes.
    pub fn decompress_planes(request: &Request) -> Result<Self> {
        let tiles = request.grid().tiles() + 2 * OTHER_TILES;
        Self::restore(request, [tiles, tiles.next_power_of_two()])
    }

    /// For a volume.
    pub fn compress_volume(request: &VolumeRequest) -> Result<Self> {
        let (tiles, vertices) = (VolumeGrid::of(request.grid()).tiles(), request.grid().vertices());
        let values = match request.config().dtype {
            Dtype::F32 => VOLUME_VALUES_F32,
            Dtype::F64 => VOLUME_VALUES_F64,
        };
        let of_tile = VOLUME_TILE_VERTICES as u64;
        let chunks = vertices / LIST_CHUNK + LIST_KINDS;
        let mut carver = Carver::default();
        let mut w = Workspace {
            control: carver.take(&[CONTROL_BYTES])?,
            symbol_counts: carver.take(&[TABLES as u64, ALPHABET as u64, 8])?,
            values: carver.take(&[tiles, 3, values as u64, request.config().dtype.bytes()])?,
            slots: carver.take(&[tiles, VOLUME_SLOT_BYTES])?,
            levels: carver.take(&[tiles, of_tile])?,
            positions: carver.take(&[tiles, VOLUME_COARSE_ENTRIES, 2])?,
            listed: carver.take(&[tiles, of_tile / 8])?,
            tile_headers: carver.take(&[tiles, 4])?,
            origin_distances: carver.take(&[tiles, ORIGIN_DISTANCE_BYTES])?,
            group_sizes: carver.take(&[tiles, 8])?,
            group_offsets: carver.take(&[tiles, 8])?,
            list_ranks: carver.take(&[LIST_KINDS, tiles, 8])?,
            coding_tables: carver.take(&[CODING_TABLE_BYTES])?,
            stored_tables: carver.take(&[TABLE_SECTION_BYTES])?,
            chunks: carver.take(&[chunks, 16])?,
            chunk_places: carver.take(&[chunks, 8])?,
            ..Default::default()
        };
        w.bytes = carver.end;
        Ok(w)
    }

    /// For the stream of a volume.
    pub fn decompress_volume(request: &VolumeRequest) -> Result<Self> {
        let (tiles, vertices) = (VolumeGrid::of(request.grid()).tiles(), request.grid().vertices());
        let dtype = request.config().dtype;
        let mut carver = Carver::default();
        let mut w = Workspace {
            control: carver.take(&[CONTROL_BYTES])?,
            raw_bits: carver.take(&[tiles, VOLUME_TILE_VERTICES as u64, 8])?,
            values: carver.take(&[tiles, 3, VOLUME_COARSE_VERTICES as u64, dtype.bytes()])?,
            symbols: carver.take(&[tiles, VOLUME_TILE_VERTICES as u64])?,
            tile_headers: carver.take(&[tiles, 4])?,
            group_sizes: carver.take(&[tiles, 8])?,
            group_offsets: carver.take(&[tiles, 8])?,
            coding_tables: carver.take(&[TABLES as u64, ALPHABET as u64, 4])?,
            slot_starts: carver.take(&[TABLES as u64, STARTS_BYTES as u64])?,
            huffman_codes: carver.take(&[TABLES as u64, CODES as u64, 2])?,
            hidden: carver.take(&[2, vertices.div_ceil(32), 4])?,
            // A vertex may be in two chunks.
            chunks: carver.take(&[2 * vertices / LIST_CHUNK + LIST_KINDS, 16])?,
            ..Default::default()
        };
        w.bytes = carver.end;
        Ok(w)
    }

    /// To make a fix of planes.
    pub fn protect(request: &Request) -> Result<Self> {
        let grid = request.grid();
        Self::repair(grid.tiles(), TILE_VERTICES as u64, grid.vertices())
    }

    /// To make a fix of a volume.
    pub fn protect_volume(request: &VolumeRequest) -> Result<Self> {
        let grid = request.grid();
        Self::repair(VolumeGrid::of(grid).tiles(), VOLUME_TILE_VERTICES as u64, grid.vertices())
    }

    fn repair(tiles: u64, of_tile: u64, vertices: u64) -> Result<Self> {
        let chunks = vertices / LIST_CHUNK + LIST_KINDS;
        let mut carver = Carver::default();
        let mut w = Workspace {
            control: carver.take(&[CONTROL_BYTES])?,
            levels: carver.take(&[tiles, of_tile])?,
            listed: carver.take(&[tiles, of_tile / 8])?,
            // Violated simplices, a bit for each vertex, and lists.
            slots: carver.take(&[tiles, 2 * of_tile])?,
            group_sizes: carver.take(&[tiles, 8])?,
            group_offsets: carver.take(&[tiles, 8])?,
            list_ranks: carver.take(&[LIST_KINDS, tiles, 8])?,
            chunks: carver.take(&[chunks, 16])?,
            chunk_places: carver.take(&[chunks, 8])?,
            ..Default::default()
        };
        w.bytes = carver.end;
        Ok(w)
    }

    /// To apply a fix of planes.
    pub fn apply(request: &Request) -> Result<Self> {
        Self::list(request.grid().vertices())
    }

    /// To apply a fix of a volume.
    pub fn apply_volume(request: &VolumeRequest) -> Result<Self> {
        Self::list(request.grid().vertices())
    }

    fn list(vertices: u64) -> Result<Self> {
        let mut carver = Carver::default();
        let mut w = Workspace {
            control: carver.take(&[CONTROL_BYTES])?,
            chunks: carver.take(&[vertices / LIST_CHUNK + LIST_KINDS, 16])?,
            ..Default::default()
        };
        w.bytes = carver.end;
        Ok(w)
    }

    /// `places`: of tiles, and of groups, of which there are no more than tiles.
    fn restore(request: &Request, places: [u64; 2]) -> Result<Self> {
        let ([tiles, groups], dtype) = (places, request.config().dtype);
        let mut carver = Carver::default();
        let mut w = Workspace {
            control: carver.take(&[CONTROL_BYTES])?,
            // Two components, bit for bit where they are stored.
            raw_bits: carver.take(&[tiles, TILE_VERTICES as u64, 2 * dtype.bytes()])?,
            written_steps: carver.take(&[tiles, 4])?,
            coding_tables: carver.take(&[TABLES as u64, ALPHABET as u64, 4])?,
            slot_starts: carver.take(&[TABLES as u64, STARTS_BYTES as u64])?,
            huffman_codes: carver.take(&[TABLES as u64, CODES as u64, 2])?,
            outer_anchors: carver.take(&[groups, 16])?,
            ..Default::default()
        };
        w.common(request, places, carver)
    }

    /// What both directions need.
    fn common(&mut self, request: &Request, places: [u64; 2], mut carver: Carver) -> Result<Self> {
        let ([tiles, groups], pair) = (places, 2 * request.config().dtype.bytes());
        self.symbols = carver.take(&[tiles, TILE_VERTICES as u64])?;
        self.tile_headers = carver.take(&[tiles, 4])?;
        self.masks = carver.take(&[tiles, 2, TILE as u64, 4])?;
        self.anchors = carver.take(&[tiles, pair])?;
        self.group_sizes = carver.take(&[groups, 8])?;
        self.group_offsets = carver.take(&[groups, 8])?;
        self.bytes = carver.end;
        Ok(*self)
    }
}

/// Where the parts of the workspace of an analysis lie. kernels/device/workspace.cuh says what is in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalysisWorkspace {
    pub counts: Region,
    pub parts: Region,
    pub open_triangles: Region,
    pub point_parts: Region,
    pub segments: Region,
    /// All of it.
    pub bytes: u64,
}

/// Sums and extremes of a part of a comparison.
const PART_BYTES: u64 = PART as u64 * 8;

impl AnalysisWorkspace {
    /// Columns of a warp, whose lanes read 16 bytes each.
    pub fn segment_columns(dtype: Dtype) -> u64 {
        32 * 16 / dtype.bytes()
    }

    /// Columns of a block of eight warps.
    pub fn chunk_columns(dtype: Dtype) -> u64 {
        8 * Self::segment_columns(dtype)
    }

    pub fn range() -> Result<Self> {
        let mut carver = Carver::default();
        let counts = carver.take(&[ANALYSIS_COUNT_BYTES])?;
        Ok(AnalysisWorkspace { counts, bytes: carver.end, ..Default::default() })
    }

    pub fn compare(request: &Request) -> Result<Self> {
        let c = request.config();
        let strips = c.nx.div_ceil(Self::segment_columns(c.dtype));
        let bands = c.ny.div_ceil(BAND) * c.nz;
        let mut carver = Carver::default();
        let counts = carver.take(&[ANALYSIS_COUNT_BYTES])?;
        let parts = carver.take(&[bands, strips, PART_BYTES])?;
        let open_triangles = carver.take(&[bands, strips, BAND, 32])?;
        Ok(AnalysisWorkspace { counts, parts, open_triangles, bytes: carver.end, ..Default::default() })
    }

    pub fn critical_points(request: &Request) -> Result<Self> {
        let c = request.config();
        let mut carver = Carver::default();
        // Behind the parts is the end of the last one.
        let segments = c.nz * c.ny * c.nx.div_ceil(Self::segment_columns(c.dtype));
        let point_parts = carver.take(&[segments.div_ceil(POINT_PART) + 1, 8])?;
        let segments = carver.take(&[segments, 2])?;
        Ok(AnalysisWorkspace { point_parts, segments, bytes: carver.end, ..Default::default() })
    }

    /// Bytes that suffice for each.
    pub fn bytes(request: &Request) -> Result<u64> {
        let plans = [Self::range()?, Self::compare(request)?, Self::critical_points(request)?];
        Ok(plans.map(|plan| plan.bytes).into_iter().max().unwrap_or(0))
    }
}

/// Hands out aligned parts one after the other.
#[derive(Default)]
struct Carver {
    end: u64,
}

impl Carver {
    /// A part of as many bytes as the product of `factors`.
    fn take(&mut self, factors: &[u64]) -> Result<Region> {
        let bytes = factors.iter().try_fold(1u64, |n, &f| n.checked_mul(f));
        let end = bytes
            .and_then(|b| self.end.checked_add(b))
            .and_then(|e| e.checked_next_multiple_of(ALIGNMENT))
            .filter(|&e| e <= i64::MAX as u64);
        match (bytes, end) {
            (Some(bytes), Some(end)) => {
                let region = Region { offset: self.end, bytes };
                self.end = end;
                Ok(region)
            }
            _ => {
                Err(Error::new(Status::Unsupported, "the workspace of this field exceeds the address space"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{BoundKind, Config};

    fn request(nx: u64, ny: u64, dtype: Dtype) -> Request {
        Request::new(Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) }).unwrap()
    }

    #[test]
    fn parts_are_aligned_and_do_not_overlap() {
        let shapes = [(1, 1), (1, 100), (100, 1), (33, 65), (64, 64), (3600, 2400), (1 << 20, 1 << 20)];
        let long = [(1, 1 << 48), (1 << 48, 1), (1 << 24, 1 << 24)];
        for (nx, ny) in shapes.into_iter().chain(long) {
            for dtype in [Dtype::F32, Dtype::F64] {
                let request = request(nx, ny, dtype);
                for w in [Workspace::compress(&request).unwrap(), Workspace::decompress(&request).unwrap()] {
                    let mut parts: Vec<_> = w.regions().into_iter().filter(|r| r.bytes > 0).collect();
                    parts.sort_by_key(|r| r.offset);
                    assert_eq!(parts[0].offset, 0);
                    for (a, b) in parts.iter().zip(&parts[1..]) {
                        assert!(a.offset + a.bytes <= b.offset, "{a:?} {b:?}");
                        assert!(b.offset - a.offset - a.bytes < ALIGNMENT, "{a:?} {b:?}");
                    }
                    let last = parts.last().unwrap();
                    assert!((last.offset + last.bytes).next_multiple_of(ALIGNMENT) == w.bytes);
                    assert!(parts.iter().all(|r| r.offset % ALIGNMENT == 0));
                    assert_eq!(w.control.offset, 0);
                }
            }
        }
    }

    #[test]
    fn small_fields_take_small_workspaces() {
        for (nx, ny) in [(1, 1), (64, 64), (1000, 1000)] {
            for dtype in [Dtype::F32, Dtype::F64] {
                let request = request(nx, ny, dtype);
                let (c, d) =
                    (Workspace::compress(&request).unwrap(), Workspace::decompress(&request).unwrap());
                println!("{nx} x {ny} {dtype:?}: compression {} bytes, decompression {}", c.bytes, d.bytes);
                // A fixed part, and a multiple of the tiles of the field.
                let field = request.grid().tiles() * TILE_VERTICES as u64 * 2 * dtype.bytes();
                assert!(c.bytes <= 250_000 + 3 * field, "{nx} x {ny} {dtype:?}: {}", c.bytes);
                assert!(d.bytes <= 300_000 + 2 * field, "{nx} x {ny} {dtype:?}: {}", d.bytes);
            }
        }
    }

    /// docs/gpu.md says these factors.
    #[test]
    fn large_fields_take_less_than_twice_their_memory() {
        let most = |dtype, mode, predictor| match (dtype, mode, predictor) {
            (Dtype::F32, Mode::Speculative, Predictor::Hierarchical) => 1.79,
            (Dtype::F32, _, _) => 1.73,
            (Dtype::F64, _, Predictor::Hierarchical) => 1.34,
            (Dtype::F64, _, Predictor::Lorenzo) => 1.62,
        };
        for dtype in [Dtype::F32, Dtype::F64] {
            for (mode, predictor) in [
                (Mode::BlockWise, Predictor::Hierarchical),
                (Mode::Speculative, Predictor::Hierarchical),
                (Mode::BlockWise, Predictor::Lorenzo),
            ] {
                let config = Config::new(10_000, 10_000, BoundKind::Relative, 1e-2);
                let request = Request::new(Config { dtype, mode, predictor, ..config }).unwrap();
                let of_field = |w: Workspace| w.bytes as f64 / request.field_bytes() as f64;
                let compress = of_field(Workspace::compress(&request).unwrap());
                let decompress = of_field(Workspace::decompress(&request).unwrap());
                println!("{dtype:?} {mode:?} {predictor:?}: {compress:.3}, {decompress:.3}");
                assert!(compress <= most(dtype, mode, predictor), "{dtype:?} {mode:?} {predictor:?}");
                assert!(decompress <= 1.17, "{dtype:?} {mode:?} {predictor:?}");
            }
        }
    }

    /// docs/gpu.md says these factors.
    #[test]
    fn large_volumes_take_less_than_twice_their_memory() {
        for (dtype, most) in [(Dtype::F32, 2.0), (Dtype::F64, 1.92)] {
            for n in [128, 512] {
                let config = Config { dtype, ..Config::volume([n; 3], BoundKind::Relative, 1e-2) };
                let request = VolumeRequest::new(config).unwrap();
                let of_field = |w: Workspace| w.bytes as f64 / request.field_bytes() as f64;
                let compress = of_field(Workspace::compress_volume(&request).unwrap());
                let decompress = of_field(Workspace::decompress_volume(&request).unwrap());
                println!("{n} {dtype:?}: {compress:.3}, {decompress:.3}");
                assert!(compress <= most && decompress <= 1.0, "{n} {dtype:?}: {compress}, {decompress}");
            }
        }
    }

    #[test]
    fn analyses_take_little_memory() {
        for (nx, ny) in [(1, 1), (1, 100_000), (100_000, 1), (300, 200), (36_000, 30_000)] {
            for dtype in [Dtype::F32, Dtype::F64] {
                let request = request(nx, ny, dtype);
                let points = AnalysisWorkspace::critical_points(&request).unwrap();
                let few = 1024 + 12 * ny + nx * ny * dtype.bytes() / 64;
                assert!(points.bytes <= few, "{nx} x {ny} {dtype:?}: {}", points.bytes);
                let compare = AnalysisWorkspace::compare(&request).unwrap();
                // A byte for each lane and row, and a part, of strips of 32 rows.
                let strips = nx.div_ceil(AnalysisWorkspace::segment_columns(dtype)) * ny.div_ceil(BAND);
                let marks = 1024 + strips * (32 * BAND + PART_BYTES);
                assert!(compare.bytes <= marks, "{nx} x {ny} {dtype:?}: {}", compare.bytes);
                assert!(AnalysisWorkspace::bytes(&request).unwrap() == points.bytes.max(compare.bytes));
                let parts = points.segments.bytes.div_ceil(2 * POINT_PART);
                assert!(points.point_parts.bytes == 8 * (parts + 1));
                assert!(points.segments.offset >= points.point_parts.bytes);
                assert!(compare.parts.offset >= compare.counts.bytes && compare.bytes % ALIGNMENT == 0);
            }
        }
    }
}
