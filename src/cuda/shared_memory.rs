//! Structs of the kernels whose sizes launches and workspace need: the shared memory of a block, and the
//! Nearness of a tile. Names and fields are those in the kernels; kernels/factz.cu checks that the sizes
//! agree.

use crate::entropy::symbols::ALPHABET;
use crate::entropy::tables::{
    ACTIVITIES, ANCHOR, COARSE_ACTIVITY, FULL_ACTIVITY, MASK_BYTE, ROW_ACTIVITIES, RUN,
};
use crate::entropy::triples::FIRST_LARGE;
use crate::grid::tiles::{TILE, TILE_VERTICES};
use crate::grid::volume_tiles::{CLOSED_SIDE, VOLUME_TILE_VERTICES};
use crate::stream::sections::TABLES;

/// Warps of a block that counts symbols.
pub(super) const COUNT_WARPS: i32 = 16;
pub(super) const ROW_COUNT_WARPS: i32 = 16;
/// Groups of a block of the encoder, also on devices with less shared memory, and warps of a group.
pub(super) const ENCODE_GROUPS_LARGE: i32 = 4;
pub(super) const ENCODE_GROUPS_SMALL: i32 = 2;
pub(super) const ENCODE_ROLES: i32 = 5;
/// Warps of a block of the encoder of Lorenzo rows.
pub(super) const ROW_CODE_WARPS: i32 = 20;
/// Groups of a block of the decoder, and warps of a group.
pub(super) const DECODE_GROUPS: i32 = 4;
pub(super) const DECODE_ROLES: i32 = 2;
/// Tiles of a batch, a lane each.
pub(super) const BATCH: usize = 32;
/// Warps of a block that decodes the groups of a volume, one each.
pub(super) const VOLUME_DECODE_WARPS: i32 = 8;
/// Places of a row of a closed tile of a volume, and of the tile.
pub(super) const VOLUME_PITCH: usize = 20;
pub(super) const VOLUME_WINDOW: usize = VOLUME_PITCH * CLOSED_SIDE * CLOSED_SIDE;
/// Vertices of the coarse levels of a closed tile, all but the finest one.
const COARSE_SIDE: usize = CLOSED_SIDE / 2 + 1;
pub(super) const COARSE_WINDOW: usize = COARSE_SIDE * COARSE_SIDE * COARSE_SIDE;
/// Positions of a tile on its finest level.
const FINEST_POSITIONS: usize = VOLUME_TILE_VERTICES / 8 * 7;
/// Vertices on the far sides of a closed tile.
const FAR_VERTICES: usize = CLOSED_SIDE * CLOSED_SIDE * CLOSED_SIDE - VOLUME_TILE_VERTICES;
/// Lanes of a warp.
const LANES: usize = 32;
/// Largest number of symbols in a table: of mask states and activities; of vertex codes; of runs.
pub(super) const HEAD_ALPHABET: usize = 128;
pub(super) const CODE_SYMBOLS: usize = 192;
pub(super) const RUN_SYMBOLS: usize = 32;
/// Entries of the lists of a tile, at most: a third of the vertices of sparse blocks, and one before.
pub(super) const MOST_ENTRIES: usize = TILE_VERTICES / 3 + 11;
/// Bytes between rows of staged symbols: equal columns of all rows fall into different banks.
pub(super) const STAGED_ROW: usize = TILE + 4;
/// Lists of a tile in the decoder; in the encoder, which splits the first list into three.
pub(super) const TILE_LISTS: usize = 4;
pub(super) const ENCODE_LISTS: usize = TILE_LISTS + 2;
/// Entries of masks that a warp of the encoder holds.
pub(super) const MASK_RING: usize = 256;
/// Warps of a group that prepare chunks for the one that codes them.
pub(super) const PREPARERS: usize = ENCODE_ROLES as usize - 1;
/// Pieces of 16 raw bits before those of a symbol, at most.
pub(super) const MOST_PIECES: usize = 8;
/// Tiles of a batch whose masks the decoder holds by position; those of others it looks up.
pub(super) const MOST_MASKED_TILES: usize = 7;
/// Bytes of a block of words of the decoder: a pair for each lane.
pub(super) const WORD_BLOCK_BYTES: usize = 4 * LANES;
/// Starts of the search in a decoding table of rANS, a byte each.
pub(super) const STARTS_BYTES: usize = 256;
/// Entries of a decoding table that leaves a state unchanged.
pub(super) const NO_TABLE_ENTRIES: usize = 4;
/// Bands of rows of a tile whose distance from the origin is known.
pub(super) const BANDS: usize = 4;

/// Numbers of tables: of vertex codes; of runs; of all tables that the decoder holds in shared memory.
const VERTEX_TABLES: usize = RUN - ANCHOR;
const RUN_TABLES: usize = TABLES - RUN;
const SHARED_TABLES: usize = TABLES - MASK_BYTE;
/// Numbers of tables for rows of the Lorenzo predictor: of patterns; of symbols.
const PATTERN_TABLES: usize = FULL_ACTIVITY as usize - 1;
const ROW_TABLES: usize = FULL_ACTIVITY as usize;
/// Entries of all tables that the encoder of lists holds in shared memory: vertex codes, bytes of masks,
/// runs.
const SHARED_ENTRIES: usize = VERTEX_TABLES * CODE_SYMBOLS + ALPHABET + RUN_TABLES * RUN_SYMBOLS;
/// Counters of a block that counts lists: of mask states, of activities, and one for each of SHARED_ENTRIES.
const COUNTS_END: usize = HEAD_ALPHABET + (MASK_BYTE - COARSE_ACTIVITY) * ACTIVITIES + SHARED_ENTRIES;
/// Entries of the encoder of rows: patterns, symbols, first vertices, bytes of masks, runs in masks.
const ROW_ENTRIES: usize =
    PATTERN_TABLES * ALPHABET + (ROW_TABLES + 1) * CODE_SYMBOLS + ALPHABET + RUN_SYMBOLS;
/// Counters of a block that counts rows: of mask states, of activities, of bytes of rows, and one for each of
/// ROW_ENTRIES.
const ROW_COUNTS_END: usize = HEAD_ALPHABET + ROW_ACTIVITIES.next_multiple_of(16) + ALPHABET + ROW_ENTRIES;

/// uint2 of CUDA.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Uint2([u32; 2]);

/// Declares structs with the layout of C. Only their sizes are used.
macro_rules! structs {
    ($($(#[$meta:meta])* $kind:ident $name:ident $(<$(const $n:ident: usize),+>)? { $($field:ident: $type:ty),+ $(,)? })+) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            #[allow(dead_code)]
            $kind $name $(<$(const $n: usize),+>)? { $($field: $type),+ }
        )+
    };
}

structs! {
    /// Distances of a tile from the origin, kept from the statistics on.
    #[repr(align(16))]
    struct Nearness {
        bands: [f32; BANDS],
        sides: [f32; 4],
        kind: u32,
        weighted: u32,
        bounded: u64,
    }

    #[repr(align(16))]
    struct CountShared {
        counts: [u32; COUNTS_END],
        positions: [[u16; MOST_ENTRIES]; COUNT_WARPS as usize],
    }
    #[repr(align(16))]
    struct RowCountShared {
        counts: [u32; ROW_COUNTS_END],
        rows: [[[u8; STAGED_ROW]; TILE]; ROW_COUNT_WARPS as usize],
    }

    struct EncodeLists {
        starts: [u16; ENCODE_LISTS * BATCH + LANES],
        names: [u32; ENCODE_LISTS * BATCH + 1],
        begins: [u32; LANES],
    }
    struct MaskLists {
        starts: [u16; 2 * BATCH + LANES],
        names: [u16; 2 * BATCH],
    }
    struct EncodeMasks {
        lists: MaskLists,
        entries: [u16; MASK_RING],
    }
    union EncodeBatch {
        lists: EncodeLists,
        masks: EncodeMasks,
    }
    struct Item {
        raw: [u32; LANES],
        entry: [u32; LANES],
        reciprocal: [u32; LANES],
    }
    struct Chunk {
        symbols: Item,
        runs: Item,
        pieces: [[u32; LANES]; MOST_PIECES],
    }
    struct EncodeGroup {
        first: u64,
        end: u64,
        size: [i32; 4],
        symbols: u64,
        slots: u64,
        lists: EncodeLists,
        mask_lists: MaskLists,
        mask_entries: [[u16; LANES]; PREPARERS],
        chunks: [[Chunk; PREPARERS]; 2],
        kinds: [[u8; PREPARERS]; 2],
    }
    struct EncodeTeams<const GROUPS: usize> {
        entries: [u32; SHARED_ENTRIES],
        groups: [EncodeGroup; GROUPS],
    }
    #[repr(align(16))]
    struct EncodeWarps<const GROUPS: usize> {
        entries: [Uint2; SHARED_ENTRIES],
        batches: [[EncodeBatch; ENCODE_ROLES as usize]; GROUPS],
    }
    union EncodeWork<const GROUPS: usize> {
        teams: EncodeTeams<GROUPS>,
        warps: EncodeWarps<GROUPS>,
    }
    struct EncodeShared<const GROUPS: usize> {
        raw_sizes: [u16; ALPHABET],
        work: EncodeWork<GROUPS>,
    }
    union RowBatch {
        rows: [[u32; STAGED_ROW / 4]; TILE],
        masks: EncodeMasks,
    }
    struct RowShared {
        entries: [Uint2; ROW_ENTRIES + 1],
        raw_bits: [u8; ALPHABET],
        batches: [RowBatch; ROW_CODE_WARPS as usize],
    }

    #[repr(align(16))]
    struct DecodeTables<const BYTES: usize> {
        bytes: [u8; BYTES],
        raw_bits: [[u8; ALPHABET]; 2],
    }
    struct GroupWords {
        pairs: [u32; 3 * WORD_BLOCK_BYTES / 4],
    }
    struct BatchLists {
        starts: [u16; TILE_LISTS * BATCH + LANES],
        names: [u16; TILE_LISTS * BATCH],
    }
    union DecodeExchange {
        raw: [[[u64; LANES]; 2]; 2],
        tiles: [[u32; BATCH]; 2],
    }
    struct DecodeGroup {
        lists: BatchLists,
        masked: [[u8; TILE_VERTICES / 8]; MOST_MASKED_TILES],
        words: GroupWords,
        plans: [[u32; LANES]; 4],
        found: [[u32; LANES]; 2],
        steps: [u32; BATCH],
        exchange: DecodeExchange,
        entries: u32,
        reader_bad: u32,
        placer_bad: u32,
        next: u32,
    }
    #[repr(align(16))]
    union RowsOrMasks {
        rows: [[u8; STAGED_ROW]; TILE],
        masks: MaskLists,
    }
    struct DecodeRows {
        rows: RowsOrMasks,
        words: GroupWords,
    }
    union DecodeWork {
        groups: [DecodeGroup; DECODE_GROUPS as usize],
        rows: [DecodeRows; (DECODE_GROUPS * DECODE_ROLES) as usize],
    }
    struct DecodeShared<const BYTES: usize> {
        tables: DecodeTables<BYTES>,
        plans: [u32; TILE_LISTS * ACTIVITIES],
        work: DecodeWork,
    }

    struct VolumeLists {
        starts: [u32; TILE_LISTS * BATCH + LANES],
        names: [u16; TILE_LISTS * BATCH],
    }
    struct VolumeDecodeGroup {
        lists: VolumeLists,
        words: GroupWords,
    }
    struct VolumeDecodeShared<const BYTES: usize> {
        tables: DecodeTables<BYTES>,
        groups: [VolumeDecodeGroup; VOLUME_DECODE_WARPS as usize],
    }
    #[repr(align(16))]
    struct AlignedSymbols {
        bytes: [u8; VOLUME_TILE_VERTICES + FAR_VERTICES.next_multiple_of(16)],
    }
    struct VolumeShared<const COMPONENTS: usize> {
        window: [[f32; VOLUME_WINDOW]; COMPONENTS],
        infos: [u32; 8],
        widths: [f32; 8],
        triples: [u32; FIRST_LARGE as usize],
        residuals: [[f32; 3]; FIRST_LARGE as usize],
        symbols: AlignedSymbols,
    }
    #[repr(align(16))]
    struct FinestCodes {
        symbols: [u8; FINEST_POSITIONS],
        info: u32,
        costs: [u32; 2],
    }
    struct QuantizeShared {
        window: [[f32; VOLUME_WINDOW]; 3],
        steps: [[f32; 2]; 8],
        codes: FinestCodes,
    }
    struct QuantizeShared64 {
        steps: [[f64; 2]; 8],
        codes: FinestCodes,
        signs: [u8; CLOSED_SIDE * CLOSED_SIDE * CLOSED_SIDE],
    }
    struct VolumeShared64 {
        window: [f64; VOLUME_WINDOW],
        infos: [u32; 8],
        widths: [f64; 8],
        triples: [u32; FIRST_LARGE as usize],
        residuals: [[f64; 3]; FIRST_LARGE as usize],
        symbols: AlignedSymbols,
    }
}

/// Bytes of the decoding tables of rANS in shared memory. Those of Huffman codes do not fit.
const RANS_BYTES: usize = SHARED_TABLES * (STARTS_BYTES + 4 * ALPHABET) + STARTS_BYTES + 4 * NO_TABLE_ENTRIES;
const HUFFMAN_BYTES: usize = 16;

/// Bytes of a tile's distances from the origin.
pub(super) const ORIGIN_DISTANCE_BYTES: u64 = size_of::<Nearness>() as u64;
/// Dynamic shared memory of a block.
pub(super) const COUNT_SHARED_BYTES: u32 = size_of::<CountShared>() as u32;
pub(super) const COUNT_LORENZO_SHARED_BYTES: u32 = size_of::<RowCountShared>() as u32;
pub(super) const ENCODE_SHARED_BYTES: u32 =
    size_of::<EncodeShared<{ ENCODE_GROUPS_LARGE as usize }>>() as u32;
pub(super) const ENCODE_SMALL_SHARED_BYTES: u32 =
    size_of::<EncodeShared<{ ENCODE_GROUPS_SMALL as usize }>>() as u32;
pub(super) const ENCODE_LORENZO_SHARED_BYTES: u32 = size_of::<RowShared>() as u32;
pub(super) const DECODE_RANS_SHARED_BYTES: u32 = size_of::<DecodeShared<RANS_BYTES>>() as u32;
pub(super) const DECODE_HUFFMAN_SHARED_BYTES: u32 = size_of::<DecodeShared<HUFFMAN_BYTES>>() as u32;

pub(super) const DECODE_VOLUME_RANS_SHARED_BYTES: u32 = size_of::<VolumeDecodeShared<RANS_BYTES>>() as u32;
pub(super) const DECODE_VOLUME_HUFFMAN_SHARED_BYTES: u32 =
    size_of::<VolumeDecodeShared<HUFFMAN_BYTES>>() as u32;
pub(super) const VOLUME_SHARED_BYTES: u32 = size_of::<VolumeShared<3>>() as u32;
/// Of one component of binary64, on devices with less shared memory.
pub(super) const VOLUME_SMALL_SHARED_BYTES: u32 = size_of::<VolumeShared64>() as u32;
const _: () = assert!(VOLUME_SMALL_SHARED_BYTES <= VOLUME_SHARED_BYTES);
pub(super) const QUANTIZE_VOLUME_SHARED_BYTES: u32 = size_of::<QuantizeShared>() as u32;
/// Of binary64, whose values lie in the workspace. Devices with less shared memory do not compress volumes.
pub(super) const QUANTIZE_VOLUME_SMALL_SHARED_BYTES: u32 = size_of::<QuantizeShared64>() as u32;
const _: () = assert!(QUANTIZE_VOLUME_SMALL_SHARED_BYTES <= QUANTIZE_VOLUME_SHARED_BYTES);

/// Names and sizes of structs of the kernels; the third entry is the size on devices with less shared memory
/// if it differs there.
#[cfg(test)]
pub(super) const SIZES: &[(&str, usize, Option<usize>)] = &[
    ("Nearness", size_of::<Nearness>(), None),
    ("CountShared", size_of::<CountShared>(), None),
    ("RowCountShared", size_of::<RowCountShared>(), None),
    ("EncodeLists", size_of::<EncodeLists>(), None),
    ("MaskLists", size_of::<MaskLists>(), None),
    ("EncodeMasks", size_of::<EncodeMasks>(), None),
    ("Chunk", size_of::<Chunk>(), None),
    ("EncodeGroup", size_of::<EncodeGroup>(), None),
    ("EncodeShared", ENCODE_SHARED_BYTES as usize, Some(ENCODE_SMALL_SHARED_BYTES as usize)),
    ("RowShared", size_of::<RowShared>(), None),
    ("GroupWords", size_of::<GroupWords>(), None),
    ("BatchLists", size_of::<BatchLists>(), None),
    ("DecodeGroup", size_of::<DecodeGroup>(), None),
    ("DecodeRows", size_of::<DecodeRows>(), None),
    ("DecodeShared<false>", DECODE_RANS_SHARED_BYTES as usize, None),
    ("DecodeShared<true>", DECODE_HUFFMAN_SHARED_BYTES as usize, None),
    ("VolumeDecodeShared<false>", DECODE_VOLUME_RANS_SHARED_BYTES as usize, None),
    ("VolumeDecodeShared<true>", DECODE_VOLUME_HUFFMAN_SHARED_BYTES as usize, None),
    ("VolumeShared<float>", VOLUME_SHARED_BYTES as usize, Some(size_of::<VolumeShared<1>>())),
    ("VolumeShared<double>", VOLUME_SMALL_SHARED_BYTES as usize, None),
    ("QuantizeShared<float>", QUANTIZE_VOLUME_SHARED_BYTES as usize, None),
    ("QuantizeShared<double>", QUANTIZE_VOLUME_SMALL_SHARED_BYTES as usize, None),
];
