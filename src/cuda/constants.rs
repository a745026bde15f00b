//! Constants of kernels and of their launches, under the same names in kernels/device/shared.cuh. Those of
//! the method and the format are in method_constants.rs.

#[cfg(test)]
use super::method_constants::{Constant, Value};
use super::shared_memory;
use crate::analysis::{self, BAND};
use crate::entropy::lanes::MOST_STATE_BYTES;
use crate::entropy::rans::SCALE_BITS;
use crate::entropy::symbols::ALPHABET;
use crate::entropy::tables::{self, VOLUME_BLOCKS};
use crate::entropy::triples::MOST_BITS;
use crate::error::Status;
use crate::grid::tiles::TILE_VERTICES;
use crate::grid::volume_tiles::VOLUME_TILE_VERTICES;
use crate::predict::tuning;
use crate::report;
use crate::request::{BoundKind, Coder, Mode, Predictor, Preserve, Ties};
use crate::stream::sections::{MOST_TABLE_BYTES, TABLES};
use std::ops::Range;

/// Defines constants, and lists them for the header.
macro_rules! shared {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ident = $value:expr;)*) => {
        $($(#[doc = $doc])* #[allow(dead_code)] pub(crate) const $name: $type = $value;)*

        #[cfg(test)]
        pub(super) const SHARED: &[Constant] = &[$(Constant {
            doc: &[$($doc),*],
            ty: stringify!($type),
            name: stringify!($name),
            value: Value::Whole($name as i128),
        }),*];
    };
}

shared! {
    /// Values of factz_status that a kernel finds out.
    STATUS_OK: i32 = Status::Ok as i32;
    STATUS_INVALID_ARGUMENT: i32 = Status::InvalidArgument as i32;
    STATUS_BUFFER_TOO_SMALL: i32 = Status::BufferTooSmall as i32;
    STATUS_CORRUPT_STREAM: i32 = Status::CorruptStream as i32;
    STATUS_UNSUPPORTED_VERSION: i32 = Status::UnsupportedVersion as i32;
    STATUS_UNSUPPORTED: i32 = Status::Unsupported as i32;
    STATUS_INTERNAL: i32 = Status::Internal as i32;
    /// FACTZ_COMPONENT_VOLUME.
    COMPONENT_VOLUME: i32 = 3;
    WARNING_WIDE_RANGE: u32 = report::WARNING_WIDE_RANGE;

    /// Numbers of a configuration.
    BOUND_ABSOLUTE: u32 = BoundKind::Absolute as u32;
    BOUND_RELATIVE: u32 = BoundKind::Relative as u32;
    BLOCK_WISE: u32 = Mode::BlockWise as u32;
    SPECULATIVE: u32 = Mode::Speculative as u32;
    MODE_REPAIR: u32 = Mode::Repair as u32;
    CODER_ANS: u32 = Coder::Ans as u32;
    CODER_HUFFMAN: u32 = Coder::Huffman as u32;
    PREDICTOR_HIERARCHICAL: u32 = Predictor::Hierarchical as u32;
    PREDICTOR_LORENZO: u32 = Predictor::Lorenzo as u32;
    PRESERVE_NONE: u32 = Preserve::None as u32;
    PRESERVE_POINTS: u32 = Preserve::Points as u32;
    PRESERVE_TYPES: u32 = Preserve::Types as u32;
    TIES_ALL: u32 = Ties::All as u32;
    TIES_ZEROS: u32 = Ties::Zeros as u32;
    TIES_SOS: u32 = Ties::Sos as u32;

    /// Most tiles of a stream of which a call takes some planes.
    MOST_STREAM_TILES: u64 = i32::MAX as u64;
    /// Bytes of the control block: results of reductions and the state of the call.
    CONTROL_BYTES: u64 = 16384;
    /// Bytes of a tile's distances from the origin.
    ORIGIN_DISTANCE_BYTES: u64 = shared_memory::ORIGIN_DISTANCE_BYTES;
    /// Bands of rows whose distance is known.
    BANDS: i32 = shared_memory::BANDS as i32;
    /// Bytes of the stored tables before they are put together: a length for each, and full tables.
    TABLE_SECTION_BYTES: u64 = TABLES.next_multiple_of(4) as u64 + (TABLES * MOST_TABLE_BYTES) as u64;
    /// Symbols of tables of mask states and activities, at most; those of vertex codes, and of runs.
    HEAD_ALPHABET: u32 = shared_memory::HEAD_ALPHABET as u32;
    CODE_SYMBOLS: u32 = shared_memory::CODE_SYMBOLS as u32;
    RUN_SYMBOLS: u32 = shared_memory::RUN_SYMBOLS as u32;
    /// Bytes of the tables of the encoder: two words a symbol. One more table has one symbol.
    CODING_TABLE_BYTES: u64 = 8
        * ((tables::MASK_BYTE * shared_memory::HEAD_ALPHABET + (TABLES - tables::MASK_BYTE) * ALPHABET) as u64
            + 1);
    /// Bytes of a tile's slot (kernels/device/workspace.cuh). A slot first holds list entries, 8 bytes of
    /// payload a vertex (16 for binary64 with the Lorenzo predictor) and a vertex bound a vertex; later the
    /// words of the tile, before groups are put together. The words need more than payload and bounds only
    /// for binary64 with the hierarchical predictor. kernels/capacities.cuh proves that all fits.
    TILE_SLOT_BYTES_F32: u64 = SLOT_ENTRY_BYTES + SLOT_VERTICES * (8 + 4);
    TILE_SLOT_BYTES_F64: u64 = SLOT_ENTRY_BYTES + SLOT_VERTICES * MOST_VERTEX_BITS_F64 / 8;
    TILE_SLOT_BYTES_F64_LORENZO: u64 = SLOT_ENTRY_BYTES + SLOT_VERTICES * (16 + 8);
    /// Bytes of a slot before the payload: entries of coarse and middle lists.
    SLOT_ENTRY_BYTES: u64 = 384;

    /// Warps of a block of the statistics, a strip of 128 columns of a row of tiles each, and blocks at most.
    STATISTICS_WARPS: u32 = 4;
    MOST_STATISTICS_BLOCKS: u32 = 8192;
    /// Few strips at most: a block works on a strip, a warp on one of the parts of its rows.
    MOST_FEW_STRIPS: u32 = 4096;
    STRIP_PARTS: u32 = 4;
    SORT_WARPS: u32 = 16;
    /// Threads of a block of `seam`.
    SEAM_THREADS: u32 = 128;
    /// The sample of the tuning: this fraction of all tiles, within the limits below.
    TILES_PER_SAMPLE: u64 = tuning::TILES_PER_SAMPLE;
    LEAST_SAMPLES: u64 = tuning::LEAST_SAMPLES;
    MOST_SAMPLES: u64 = tuning::MOST_SAMPLES;
    TUNE_WARPS: i32 = 4;
    BOUND_WARPS: i32 = 4;
    CONSTRAINED_VERTEX_WARPS: i32 = 4;
    /// Warps of a block of unconstrained and constrained interior tiles; a warp works on two tiles.
    UNCONSTRAINED_WARPS_F32: i32 = 4;
    UNCONSTRAINED_WARPS_F64: i32 = 1;
    CONSTRAINED_WARPS_F32: i32 = 2;
    CONSTRAINED_WARPS_F64: i32 = 1;
    /// Warps of a block of a border tile.
    BORDER_WARPS: i32 = 2;
    /// Warps of a block of interior tiles of the speculative mode, a tile each.
    SPECULATIVE_WARPS: i32 = 2;
    LORENZO_INTERIOR_WARPS: i32 = 4;
    LORENZO_BORDER_WARPS: i32 = 4;
    /// Tiles of a batch, a lane each.
    BATCH: i32 = shared_memory::BATCH as i32;
    /// Entries of the lists of a tile, at most: a third of the vertices of sparse blocks, and one before.
    MOST_ENTRIES: i32 = shared_memory::MOST_ENTRIES as i32;
    /// Bytes between rows of staged symbols: equal columns of all rows fall into different banks.
    STAGED_ROW: u32 = shared_memory::STAGED_ROW as u32;
    COUNT_WARPS: i32 = shared_memory::COUNT_WARPS;
    ROW_COUNT_WARPS: i32 = shared_memory::ROW_COUNT_WARPS;
    TABLE_THREADS: u32 = 256;
    /// Tiles that a block of the tables weighs.
    WEIGHED_TILES: u32 = 1024;
    /// Groups of a block of the encoder, also on devices with less shared memory, and warps of a group.
    ENCODE_GROUPS_LARGE: i32 = shared_memory::ENCODE_GROUPS_LARGE;
    ENCODE_GROUPS_SMALL: i32 = shared_memory::ENCODE_GROUPS_SMALL;
    ENCODE_ROLES: i32 = shared_memory::ENCODE_ROLES;
    ROW_CODE_WARPS: i32 = shared_memory::ROW_CODE_WARPS;
    /// Warps of a group that prepare chunks for the one that codes them; pieces of 16 raw bits before those
    /// of a symbol, at most; entries of masks that a warp holds.
    PREPARERS: i32 = shared_memory::PREPARERS as i32;
    MOST_PIECES: u32 = shared_memory::MOST_PIECES as u32;
    MASK_RING: i32 = shared_memory::MASK_RING as i32;
    /// Parts of the groups whose bytes are summed while they are made; blocks that assemble the stream.
    PARTS: u32 = 384;
    ASSEMBLE_WARPS: u32 = 16;

    PARSE_THREADS: u32 = 1024;
    /// Volumes: warps of a block that decodes groups, threads of a block for the coarse levels of a tile and for the
    /// finest one, places of a row of its values, vertices of the coarse levels of a closed tile, threads that place
    /// chunks of the list of repaired vertices, warps of a block that decodes them.
    VOLUME_DECODE_WARPS: i32 = shared_memory::VOLUME_DECODE_WARPS;
    COARSE_THREADS: u32 = 32;
    VOLUME_THREADS: u32 = 256;
    VOLUME_PITCH: i32 = shared_memory::VOLUME_PITCH as i32;
    VOLUME_COARSE_VERTICES: u32 = shared_memory::COARSE_WINDOW as u32;
    LIST_THREADS: u32 = 1024;
    LIST_WARPS: u32 = 4;
    /// Compression of volumes: values that the workspace has of a tile and a component (closed tiles of f64), bytes
    /// of the slot of a tile, entries of the sparse lists of both coarse blocks, of the first one alone, threads of
    /// a block that repairs, warps of a block that counts and of one that encodes groups; warps of a block that writes
    /// chunks of the list, and words through which one writes.
    VOLUME_VALUES_F32: u32 = VOLUME_TILE_VERTICES as u32;
    VOLUME_VALUES_F64: u32 = shared_memory::VOLUME_WINDOW as u32;
    VOLUME_SLOT_BYTES: u64 = MOST_VOLUME_TILE_BYTES.next_multiple_of(128) + SPARE_SLOT_BYTES;
    VOLUME_COARSE_ENTRIES: u64 = VOLUME_FIRST_MIDDLE_ENTRY as u64 + most_entries(&VOLUME_BLOCKS[1]);
    VOLUME_FIRST_MIDDLE_ENTRY: u32 = most_entries(&VOLUME_BLOCKS[0]) as u32;
    REPAIR_THREADS: u32 = 128;
    VOLUME_COUNT_WARPS: u32 = 8;
    VOLUME_ENCODE_WARPS: i32 = 4;
    CHUNK_WARPS: u32 = 16;
    CHUNK_WORDS: u32 = 384;
    DECODE_GROUPS: i32 = shared_memory::DECODE_GROUPS;
    DECODE_ROLES: i32 = shared_memory::DECODE_ROLES;
    /// Tiles of a batch whose masks the decoder holds by position; bytes of a block of its words: a pair for
    /// each lane.
    MOST_MASKED_TILES: i32 = shared_memory::MOST_MASKED_TILES as i32;
    WORD_BLOCK_BYTES: u32 = shared_memory::WORD_BLOCK_BYTES as u32;
    /// Starts of the search in a decoding table of rANS, a byte each; entries of a table that leaves a state
    /// unchanged.
    STARTS_BYTES: u32 = shared_memory::STARTS_BYTES as u32;
    NO_TABLE_ENTRIES: u32 = shared_memory::NO_TABLE_ENTRIES as u32;
    /// Warps of a block; a warp has the anchors of a group.
    ANCHOR_WARPS: u32 = 4;
    /// Warps of a block; a warp works on two tiles.
    RECONSTRUCT_WARPS: i32 = 2;
    /// Warps of a block of a border tile.
    RECONSTRUCT_BORDER_WARPS: i32 = 2;
    LORENZO_RECONSTRUCT_WARPS: i32 = 8;

    ANALYSIS_WARPS: i32 = 8;
    /// Rows that a block of the analysis works on.
    ANALYSIS_ROWS: u64 = BAND;
    /// Bytes of the counts of a comparison or a range.
    ANALYSIS_COUNT_BYTES: u64 = 256;
    /// Sums and extremes of a part of a comparison: squared errors of u and v, least and largest value of the
    /// first field.
    PART: i32 = 4;
    /// The index of a zero without a closed ring around it.
    INDEX_UNDEFINED: i32 = analysis::INDEX_UNDEFINED;
    /// Segments of rows whose critical points are counted together, a lane each; a part may span rows.
    POINT_PART: u64 = 32;
}

/// The most entries of the sparse list of a block: a vertex that is not zero costs 3 bits at least, and a sparse block
/// less than a bit a vertex.
const fn most_entries(block: &Range<usize>) -> u64 {
    ((block.end - block.start) as u64 - 1) / 3
}

const SLOT_VERTICES: u64 = TILE_VERTICES as u64;
/// Largest number of bits of a symbol: SCALE_BITS, and 8 more after an escape.
pub(super) const MOST_SYMBOL_BITS: u64 = SCALE_BITS as u64 + 8;
/// Largest number of bits of a vertex in the stream: a symbol, and both components as raw bits. Masks, heads
/// and states of a tile have room in the SLOT_ENTRY_BYTES.
const MOST_VERTEX_BITS_F64: u64 = MOST_SYMBOL_BITS + 2 * 64;

/// Bytes of the slot of a tile beyond its longest words: words never reach codes and positions that are still to be
/// read (kernels/capacities.cuh), and lists of rounds have more room. With more of them the workspace would exceed twice
/// a field of f32 (a test in workspace.rs).
const SPARE_SLOT_BYTES: u64 = 512;
/// Largest number of bits of a vertex of a volume: a symbol, and three integers.
const MOST_VOLUME_VERTEX_BITS: u64 = MOST_SYMBOL_BITS + 3 * (MOST_BITS as u64 + 1);
/// Bytes that the words of a tile of a volume take at most, with the states of a group: its mask state and
/// activities, the numbers of entries of its lists, and all vertices.
const MOST_VOLUME_TILE_BYTES: u64 = MOST_STATE_BYTES as u64
    + 2 * ((VOLUME_TILE_VERTICES as u64 * MOST_VOLUME_VERTEX_BITS + 4 * MOST_SYMBOL_BITS + 24).div_ceil(16)
        + 1);
