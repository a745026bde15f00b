//! Numbers that the kernels and their launches share, under the same names in kernels/device/shared.cuh.

use crate::analysis::{self, BAND};
use crate::entropy::tables;
use crate::error::Status;
use crate::grid::tiles::TILE_VERTICES;
use crate::predict::tuning;
use crate::report;
use crate::request::{BoundKind, Coder, Mode, Predictor, Preserve, Ties};
use crate::stream::sections::{self, MOST_TABLE_BYTES, TABLES};

/// Defines constants, and lists them for the header.
macro_rules! shared {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ident = $value:expr;)*) => {
        $($(#[doc = $doc])* #[allow(dead_code)] pub(crate) const $name: $type = $value;)*

        /// Documentation, type, name and value of each.
        #[cfg(test)]
        pub(super) const SHARED: &[(&[&str], &str, &str, i128)] =
            &[$((&[$($doc),*], stringify!($type), stringify!($name), $name as i128)),*];
    };
}

shared! {
    /// Values of factz_status that a kernel finds out.
    STATUS_OK: i32 = Status::Ok as i32;
    STATUS_INVALID_ARGUMENT: i32 = Status::InvalidArgument as i32;
    STATUS_BUFFER_TOO_SMALL: i32 = Status::BufferTooSmall as i32;
    STATUS_CORRUPT_STREAM: i32 = Status::CorruptStream as i32;
    STATUS_UNSUPPORTED_VERSION: i32 = Status::UnsupportedVersion as i32;
    WARNING_WIDE_RANGE: u32 = report::WARNING_WIDE_RANGE;

    /// Numbers of a configuration.
    BOUND_ABSOLUTE: u32 = BoundKind::Absolute as u32;
    BOUND_RELATIVE: u32 = BoundKind::Relative as u32;
    BLOCK_WISE: u32 = Mode::BlockWise as u32;
    SPECULATIVE: u32 = Mode::Speculative as u32;
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

    /// Tiles of a group at most.
    MAX_GROUP_TILES: u64 = sections::MAX_GROUP_TILES;

    /// Bytes of the control block: results of reductions and the state of the call.
    CONTROL_BYTES: u64 = 16384;
    /// Bytes of a tile's distances from the origin.
    ORIGIN_DISTANCE_BYTES: u64 = 48;
    /// Bytes of the stored tables before they are put together: a length for each, and full tables.
    TABLE_SECTION_BYTES: u64 = TABLES.next_multiple_of(4) as u64 + (TABLES * MOST_TABLE_BYTES) as u64;
    /// Bytes of the tables of the encoder: two words a symbol. Tables of mask states and activities have
    /// fewer symbols; one more table has one symbol.
    CODING_TABLE_BYTES: u64 =
        8 * (tables::MASK_BYTE as u64 * 128 + (TABLES - tables::MASK_BYTE) as u64 * 256 + 1);
    /// Bytes of a tile's slot, which kernels/device/workspace.cuh describes: first list entries, payload and
    /// vertex bounds, then the words of the tile before the groups are put together. Payload of binary64
    /// takes twice as much with the Lorenzo predictor.
    TILE_SLOT_BYTES_F32: u64 = SLOT_ENTRY_BYTES + SLOT_VERTICES * (8 + 4);
    TILE_SLOT_BYTES_F64: u64 = 19328;
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
    COUNT_WARPS: i32 = 16;
    ROW_COUNT_WARPS: i32 = 16;
    TABLE_THREADS: u32 = 256;
    /// Tiles that a block of the tables weighs.
    WEIGHED_TILES: u32 = 1024;
    /// Groups of a block of the encoder, also on devices with less shared memory, and warps of a group.
    ENCODE_GROUPS_LARGE: i32 = 4;
    ENCODE_GROUPS_SMALL: i32 = 2;
    ENCODE_ROLES: i32 = 5;
    ROW_CODE_WARPS: i32 = 20;
    /// Parts of the groups whose bytes are summed while they are made; blocks that assemble the stream.
    PARTS: u32 = 384;
    ASSEMBLE_WARPS: u32 = 16;

    PARSE_THREADS: u32 = 1024;
    DECODE_GROUPS: i32 = 4;
    DECODE_ROLES: i32 = 2;
    /// Anchors of a thread, and of a block, which sums them.
    ANCHOR_THREADS: u32 = 256;
    ANCHORS_EACH: u32 = 2;
    ANCHOR_CHUNK: u32 = ANCHOR_THREADS * ANCHORS_EACH;
    /// Warps of a block; a warp works on two tiles.
    RECONSTRUCT_WARPS: i32 = 2;
    /// Warps of a block of a border tile.
    RECONSTRUCT_BORDER_WARPS: i32 = 4;
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

    /// Dynamic shared memory of a block.
    COUNT_SHARED_BYTES: u32 = 4 * 5352 + 16 * 2 * 352;
    COUNT_LORENZO_SHARED_BYTES: u32 = 4 * 4208 + 16 * 32 * 36;
    ENCODE_SHARED_BYTES: u32 = encode_bytes(ENCODE_GROUPS_LARGE as u32);
    ENCODE_SMALL_SHARED_BYTES: u32 = encode_bytes(ENCODE_GROUPS_SMALL as u32);
    ENCODE_LORENZO_SHARED_BYTES: u32 = 8 * 3809 + 256 + 20 * 32 * 36;
    DECODE_RANS_SHARED_BYTES: u32 = 32 * (4 * 256 + 256) + 272 + DECODE_GROUPS_BYTES;
    DECODE_HUFFMAN_SHARED_BYTES: u32 = 16 + DECODE_GROUPS_BYTES;
}

const SLOT_VERTICES: u64 = TILE_VERTICES as u64;

/// For teams or for warps, whichever takes more.
const fn encode_bytes(groups: u32) -> u32 {
    let lists = 448 + 772 + 128;
    let teams = 4 * 5088 + groups * (48 + lists + 320 + 256 + 8 * 14 * 128 + 12);
    let warps = (8 * 5088 + ENCODE_ROLES as u32 * groups * lists).next_multiple_of(16);
    512 + if teams > warps { teams } else { warps }
}
const DECODE_GROUPS_BYTES: u32 =
    512 + 128 + DECODE_GROUPS as u32 * (2 * 288 + 7 * 128 + 384 + 7 * 128 + 1024 + 16);
