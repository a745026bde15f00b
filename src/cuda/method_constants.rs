//! Constants of the method and of the format, for the header that Rust and CUDA share: each is declared where
//! the CPU uses it, and only named here. Constants of kernels and launches are in constants.rs.

use crate::analysis::eigenvalues::{ROUNDING_DIVERGENCE_F32, ROUNDING_DIVERGENCE_F64};
use crate::analysis::{Kind, Simplex};
use crate::entropy::groups::outer::OUTER_SIZE_BITS;
use crate::entropy::groups::weights::{self, STEPS};
use crate::entropy::symbols::BUCKET_OFFSETS;
use crate::entropy::{huffman, lanes, lists, quantized_tile, rans, symbols, tables, triples};
use crate::grid::element::Real;
use crate::grid::{sides, tiles, volume_tiles, wide_range};
use crate::predict::interpolation::{INTERPOLANTS, INTERPOLANT_WEIGHTS};
use crate::predict::lorenzo;
use crate::predict::quantizer::LEVEL_BOUND_SCALINGS;
use crate::repair::{header as fix_header, list, rounds, values};
use crate::request::{LEAST_PERIODIC, MAX_VERTICES, PERIODIC_X, PERIODIC_Y, PERIODIC_Z};
use crate::stream::header::{self, at, Content};
use crate::stream::{checksum, sections};
use crate::topology::{bound, exact_type, signature};
use crate::volume::tune;

pub(super) enum Value {
    Whole(i128),
    Real(f64),
}

/// A constant of the header.
pub(super) struct Constant {
    /// Lines of its documentation.
    pub doc: &'static [&'static str],
    /// A type of Rust.
    pub ty: &'static str,
    pub name: &'static str,
    pub value: Value,
}

/// A list of constants.
macro_rules! listed {
    (@value f64 $value:expr) => { Value::Real($value) };
    (@value $type:ident $value:expr) => { Value::Whole($value as i128) };
    ($($(#[doc = $doc:literal])* $name:ident: $type:ident = $value:expr;)*) => {
        &[$(Constant {
            doc: &[$($doc),*],
            ty: stringify!($type),
            name: stringify!($name),
            value: listed!(@value $type $value),
        }),*]
    };
}

/// Small numbers packed into a word, the first one lowest, `bits` each.
const fn packed<const N: usize>(numbers: [u32; N], bits: u32) -> u64 {
    let (mut word, mut k) = (0, 0);
    while k < N {
        word |= (numbers[k] as u64) << (bits * k as u32);
        k += 1;
    }
    word
}

/// The steps of the activities from 1 on.
const fn steps() -> [u32; STEPS.len() - 1] {
    let (mut steps, mut k) = ([0; STEPS.len() - 1], 0);
    while k < steps.len() {
        steps[k] = STEPS[k + 1] as u32;
        k += 1;
    }
    steps
}

pub(super) const METHOD: &[Constant] = listed! {
    /// Vertices of the grid at most.
    MAX_VERTICES: u64 = MAX_VERTICES;
    /// Vertices along the side of a tile, of a tile, and along the side of a closed tile.
    TILE: i32 = tiles::TILE;
    TILE_VERTICES: i32 = tiles::TILE_VERTICES;
    CLOSED: i32 = tiles::CLOSED;
    /// Dyadic levels of a tile; the last one has the anchors.
    LEVELS: i32 = tiles::LEVELS;
    ANCHOR_LEVEL: i32 = tiles::ANCHOR_LEVEL;
    /// Vertices along the side of a tile of a volume, of such a tile, and the level of its anchors.
    VOLUME_SIDE: i32 = volume_tiles::SIDE;
    VOLUME_TILE_VERTICES: i32 = volume_tiles::VOLUME_TILE_VERTICES;
    VOLUME_ANCHOR_LEVEL: i32 = volume_tiles::VOLUME_ANCHOR_LEVEL;
    /// Periodic axes, and the least number of vertices along one.
    PERIODIC_X: u32 = PERIODIC_X;
    PERIODIC_Y: u32 = PERIODIC_Y;
    PERIODIC_Z: u32 = PERIODIC_Z;
    LEAST_PERIODIC: u64 = LEAST_PERIODIC;
    /// Sides of a block, as bits of halo and pin.
    SIDE_X_MIN: u32 = sides::SIDE_X_MIN;
    SIDE_X_MAX: u32 = sides::SIDE_X_MAX;
    SIDE_Y_MIN: u32 = sides::SIDE_Y_MIN;
    SIDE_Y_MAX: u32 = sides::SIDE_Y_MAX;
    /// Largest magnitude of a code, exact in the element type.
    MAX_CODE_F32: i32 = <f32 as Real>::MAX_CODE;
    MAX_CODE_F64: i32 = <f64 as Real>::MAX_CODE;
    /// Spreads consecutive numbers: the upper bits of the products look random.
    SHUFFLE: u32 = wide_range::SHUFFLE;
    /// Sample of vertices that shows a range made by outliers: at most so many vertices; tiny and large
    /// ones by their distance from the range; a part of them, at least or at most.
    WIDE_SAMPLES: u32 = wide_range::SAMPLES;
    WIDE_TINY: f64 = wide_range::TINY;
    WIDE_LARGE: f64 = wide_range::LARGE;
    WIDE_PART: u32 = wide_range::PART;

    /// The stream: bytes of the header, the only version, the content.
    HEADER_BYTES: u32 = header::HEADER_BYTES;
    VOLUME_HEADER_BYTES: u32 = header::VOLUME_HEADER_BYTES;
    FORMAT_VERSION: u16 = header::VERSION;
    CONTENT_CODED: u32 = Content::Coded;
    CONTENT_STORED: u32 = Content::Stored;
    /// The first word of a stream.
    MAGIC: u32 = u32::from_le_bytes(header::MAGIC);
    /// Places of the fields in the header, in bytes.
    AT_MAGIC: i32 = at::MAGIC;
    AT_VERSION: i32 = at::VERSION;
    AT_HEADER_BYTES: i32 = at::HEADER_BYTES;
    AT_CHECKSUM: i32 = at::CHECKSUM;
    AT_DTYPE: i32 = at::DTYPE;
    AT_MODE: i32 = at::MODE;
    AT_CODER: i32 = at::CODER;
    AT_PREDICTOR: i32 = at::PREDICTOR;
    AT_PRESERVE: i32 = at::PRESERVE;
    AT_BOUND_KIND: i32 = at::BOUND_KIND;
    AT_CONTENT: i32 = at::CONTENT;
    AT_TIES: i32 = at::TIES;
    AT_LEVEL_BOUND_SCALING: i32 = at::LEVEL_BOUND_SCALING;
    AT_INTERPOLANTS: i32 = at::INTERPOLANTS;
    AT_COMPONENTS: i32 = at::COMPONENTS;
    AT_HAS_FILL: i32 = at::HAS_FILL;
    AT_TABLE_BYTES: i32 = at::TABLE_BYTES;
    AT_NX: i32 = at::NX;
    AT_NY: i32 = at::NY;
    AT_NZ: i32 = at::NZ;
    AT_PERIODIC: i32 = at::PERIODIC;
    AT_COMPONENT: i32 = at::COMPONENT;
    AT_BOUND: i32 = at::BOUND;
    AT_ABSOLUTE_BOUND: i32 = at::ABSOLUTE_BOUND;
    AT_HALF_BIN_WIDTH: i32 = at::HALF_BIN_WIDTH;
    AT_DX: i32 = at::DX;
    AT_DY: i32 = at::DY;
    AT_FILL_U: i32 = at::FILL_U;
    AT_FILL_V: i32 = at::FILL_V;
    AT_STREAM_BYTES: i32 = at::STREAM_BYTES;
    AT_GROUPS: i32 = at::GROUPS;
    AT_DZ: u32 = at::DZ;
    AT_FILL_W: u32 = at::FILL_W;
    AT_LIST_BYTES: u32 = at::LIST_BYTES;
    AT_CHUNKS: u32 = at::CHUNKS;
    AT_REPAIRED_VERTICES: u32 = at::REPAIRED_VERTICES;
    AT_EXACT_VERTICES: u32 = at::EXACT_VERTICES;
    /// A fix: bytes of its header, of planes and of a volume; the only version; its first word; places of the
    /// fields in its header, in bytes. The checksum is where that of a stream is.
    FIX_HEADER_BYTES: u32 = fix_header::HEADER_BYTES;
    FIX_VOLUME_HEADER_BYTES: u32 = fix_header::VOLUME_HEADER_BYTES;
    FIX_VERSION: u32 = fix_header::VERSION;
    FIX_MAGIC: u32 = u32::from_le_bytes(fix_header::MAGIC);
    FIX_AT_VERSION: u32 = fix_header::at::VERSION;
    FIX_AT_HEADER_BYTES: u32 = fix_header::at::HEADER_BYTES;
    FIX_AT_DTYPE: u32 = fix_header::at::DTYPE;
    FIX_AT_PRESERVE: u32 = fix_header::at::PRESERVE;
    FIX_AT_BOUND_KIND: u32 = fix_header::at::BOUND_KIND;
    FIX_AT_TIES: u32 = fix_header::at::TIES;
    FIX_AT_COMPONENTS: u32 = fix_header::at::COMPONENTS;
    FIX_AT_HAS_FILL: u32 = fix_header::at::HAS_FILL;
    FIX_AT_PERIODIC: u32 = fix_header::at::PERIODIC;
    FIX_AT_CONTENT: u32 = fix_header::at::CONTENT;
    FIX_AT_RECONSTRUCTION: u32 = fix_header::at::RECONSTRUCTION;
    FIX_AT_EXACT_VERTICES: u32 = fix_header::at::EXACT_VERTICES;
    FIX_AT_NX: u32 = fix_header::at::NX;
    FIX_AT_NY: u32 = fix_header::at::NY;
    FIX_AT_NZ: u32 = fix_header::at::NZ;
    FIX_AT_RESERVED: u32 = fix_header::at::RESERVED;
    FIX_AT_BOUND: u32 = fix_header::at::BOUND;
    FIX_AT_ABSOLUTE_BOUND: u32 = fix_header::at::ABSOLUTE_BOUND;
    FIX_AT_RADIUS: u32 = fix_header::at::RADIUS;
    FIX_AT_DX: u32 = fix_header::at::DX;
    FIX_AT_DY: u32 = fix_header::at::DY;
    FIX_AT_FILL: u32 = fix_header::at::FILL;
    FIX_AT_REPAIRED_VERTICES: u32 = fix_header::at::REPAIRED_VERTICES;
    FIX_AT_FIX_BYTES: u32 = fix_header::at::FIX_BYTES;
    FIX_AT_CHUNKS: u32 = fix_header::at::CHUNKS;
    FIX_AT_DZ: u32 = fix_header::at::DZ;
    /// Checksum: factor of the index of a word, factors of the mix.
    CHECKSUM_STEP: u32 = checksum::STEP;
    CHECKSUM_MIX_0: u32 = checksum::MIX[0];
    CHECKSUM_MIX_1: u32 = checksum::MIX[1];
    /// Tables of a stream; bytes of their directory at least: a bit for each table that takes bytes.
    TABLES: u32 = header::TABLES;
    LEAST_DIRECTORY_BYTES: u32 = header::LEAST_DIRECTORY_BYTES;
    /// Words of 4 bytes of a stored table at most.
    STORED_WORDS: u32 = sections::MOST_TABLE_BYTES / 4;
    /// Bits of a group's bytes in its word; above them are its tiles less one. Tiles of a group at most.
    GROUP_BYTES_BITS: u32 = sections::GROUP_BYTES_BITS;
    MAX_GROUP_TILES: u64 = sections::MAX_GROUP_TILES;

    /// The alphabet of vertex codes: a vertex as predicted; values bit for bit; first symbol of differences
    /// to the prediction, and their number; all symbols; first symbol that raw bits may follow.
    SYMBOL_ZERO: u32 = symbols::ZERO;
    STORED: u32 = symbols::STORED;
    FIRST_DIFFERENCE: u32 = symbols::FIRST_DIFFERENCE;
    DIFFERENCES: u32 = symbols::DIFFERENCES;
    SYMBOLS: u32 = symbols::SYMBOLS;
    FIRST_WITH_RAW_BITS: u32 = symbols::FIRST_WITH_RAW_BITS;
    /// Largest component of the codes of refinement 0 that have a symbol for each pair.
    SMALL: i32 = symbols::SMALL;
    /// First symbols of kinds of codes; bit lengths of a component, and buckets of a refinement.
    PAIR0: u32 = symbols::PAIR0;
    PAIR0_SIDE: u32 = symbols::PAIR0_SIDE;
    WIDE0: u32 = symbols::WIDE0;
    PAIR1: u32 = symbols::PAIR1;
    PAIR1_SIDE: u32 = symbols::PAIR1_SIDE;
    BUCKET: u32 = symbols::BUCKET;
    BUCKETS: u32 = symbols::BUCKETS;
    /// Magnitude bits of the buckets of a refinement but the last, beyond the first, four bits each.
    BUCKET_OFFSETS: u32 = packed(BUCKET_OFFSETS, 4);
    /// Refinements of codes; those that stand for a vertex that is stored, and for one that a mask has.
    REFINEMENTS: i32 = symbols::REFINEMENTS;
    EXACT: i32 = symbols::EXACT;
    MASKED: i32 = symbols::MASKED;
    /// Symbols of a table; the one for a symbol without a code of its own.
    ALPHABET: u32 = symbols::ALPHABET;
    ESCAPE: u32 = symbols::ESCAPE;
    /// Coverage of a tile by a mask, and pairs of coverages by both masks (3 * zero + fill).
    MASK_NONE: u32 = quantized_tile::NONE;
    MASK_ALL: u32 = quantized_tile::ALL;
    MASK_SOME: u32 = quantized_tile::SOME;
    MASK_STATES: u32 = quantized_tile::MASK_STATES;
    /// How often the error bound of a tile of the Lorenzo predictor may be halved, and not at all.
    BOUND_SHIFTS: i32 = quantized_tile::BOUND_SHIFTS;
    /// Activities of a block, and of a tile that is coded by rows: 0 has no symbols, the last one has all.
    ACTIVITIES: u32 = tables::ACTIVITIES;
    ROW_ACTIVITIES: u32 = tables::ROW_ACTIVITIES;
    FULL_ACTIVITY: u32 = tables::FULL_ACTIVITY;
    /// Blocks up to this activity are lists of the vertices that are not zero.
    LAST_LIST_ACTIVITY: u32 = tables::LAST_LIST_ACTIVITY;
    /// Tiles up to this activity say which rows have a symbol.
    LAST_SPARSE_TILE: u32 = tables::LAST_SPARSE_TILE;
    /// Vertices of the blocks of a tile, and the positions where the last two begin.
    COARSE_VERTICES: u32 = tables::BLOCKS[0].end - tables::BLOCKS[0].start;
    MIDDLE_VERTICES: u32 = tables::BLOCKS[1].end - tables::BLOCKS[1].start;
    FINE_VERTICES: u32 = tables::BLOCKS[2].end - tables::BLOCKS[2].start;
    MIDDLE_START: i32 = tables::BLOCKS[1].start;
    FINE_START: i32 = tables::BLOCKS[2].start;
    /// Positions in front of the sparse lists of a tile.
    TOP_VERTICES: i32 = lists::DENSE;
    /// Numbers of the tables, those of lists.
    MASK_STATE: u32 = tables::MASK_STATE;
    COARSE_ACTIVITY: u32 = tables::COARSE_ACTIVITY;
    MIDDLE_ACTIVITY: u32 = tables::MIDDLE_ACTIVITY;
    FINE_ACTIVITY: u32 = tables::FINE_ACTIVITY;
    MASK_BYTE: u32 = tables::MASK_BYTE;
    ANCHOR_TABLE: u32 = tables::ANCHOR;
    STEP_16: u32 = tables::STEP_16;
    STEP_8: u32 = tables::STEP_8;
    STEP_4: u32 = tables::STEP_4;
    STEP_2: u32 = tables::STEP_2;
    STEP_1: u32 = tables::STEP_1;
    RUN: u32 = tables::RUN;
    MASK_RUN: u32 = tables::MASK_RUN;
    /// Tables of rows; the activity of a tile has the table of the coarse block.
    TILE_ACTIVITY: u32 = tables::COARSE_ACTIVITY;
    ROW_BYTE: u32 = tables::ROW_BYTE;
    PATTERN: u32 = tables::PATTERN;
    ROW_SYMBOL: u32 = tables::ROW_SYMBOL;
    /// Sum of the frequencies of a rANS table, and its bits; bits of the shift of a table.
    SCALE_BITS: u32 = rans::SCALE_BITS;
    SCALE: u32 = rans::SCALE;
    SHIFT_BITS: u32 = rans::SHIFT_BITS;
    /// Huffman: bits of the longest code, codes of this length, bits of the sum of scaled counts.
    MAX_LENGTH: u32 = huffman::MAX_LENGTH;
    CODES: u32 = huffman::CODES;
    WEIGHT_BITS: u32 = huffman::WEIGHT_BITS;
    /// Runs of zeros: their symbols, and the first one with raw bits.
    RUNS: u32 = lists::RUNS;
    FIRST_RUN_WITH_RAW_BITS: u32 = lists::FIRST_RUN_WITH_RAW_BITS;
    RUNS_OF_VOLUMES: u32 = lists::RUNS_OF_VOLUMES;
    /// Symbols of the three integers of a vertex of a volume: largest component of those with a symbol each;
    /// first symbol of larger ones, whose longest component has so many bits and more, and the ways in which the
    /// others are shorter; first symbol of those larger still, and their bits; most bits; all symbols.
    TRIPLE_SMALL: i32 = triples::SMALL;
    TRIPLE_FIRST_LARGE: u32 = triples::FIRST_LARGE;
    TRIPLE_SHORTEST: u32 = triples::SHORTEST;
    TRIPLE_WAYS: u32 = triples::WAYS;
    TRIPLE_FIRST_WIDE: u32 = triples::FIRST_WIDE;
    TRIPLE_SHORTEST_WIDE: u32 = triples::SHORTEST_WIDE;
    TRIPLE_MOST_BITS: u32 = triples::MOST_BITS;
    TRIPLES: u32 = triples::TRIPLES;
    /// The list of repaired vertices: bytes of an entry of its directory, vertices of a chunk and of one whose
    /// vertices are all zero or filled, at most; kinds of chunks; largest orders of the codes of gaps and of
    /// levels; what stands for an order of levels in chunks of zero and of filled vertices; bit of the code of
    /// gaps where runs are counted.
    LIST_ENTRY_BYTES: u32 = list::ENTRY_BYTES;
    LIST_CHUNK: u32 = list::CHUNK;
    LIST_CONSTANT_CHUNK: u32 = list::ZERO_CHUNK;
    LIST_KINDS: u32 = header::LIST_KINDS;
    LIST_MOST_ORDER: u32 = list::MAX_ORDER;
    LIST_MOST_LEVEL_ORDER: u32 = list::MAX_LEVEL_ORDER;
    LIST_ALL_ZERO: u32 = list::ALL_ZERO;
    LIST_ALL_FILLED: u32 = list::ALL_FILLED;
    LIST_RUNS: u32 = list::RUNS;
    /// Levels of vertices: that of layer 1 alone, the finest refinement, the bits of the original, zero, the
    /// fill pattern.
    LEVEL_UNCHANGED: u32 = values::UNCHANGED;
    FINEST_REFINEMENT: u32 = values::REFINEMENTS;
    LEVEL_EXACT: u32 = values::EXACT;
    LEVEL_ZERO: u32 = values::ZERO;
    LEVEL_FILLED: u32 = values::FILLED;
    /// Rounds of repair in which one vertex mends a simplex; in a compression they end with one violated simplex for
    /// so many vertices; then rounds in which all corners of a violated one go below its bound.
    SINGLE_ROUNDS: u32 = rounds::SINGLE_ROUNDS;
    VERTICES_PER_FEW: u64 = rounds::VERTICES_PER_FEW;
    BOUNDED_ROUNDS: u32 = rounds::BOUNDED_ROUNDS;
    /// Volumes: the largest bound shift, and the step from a row whose magnitudes decide about it to the next one;
    /// the sample of the tuning, a fraction of all tiles within limits; bits
    /// that a small and a large triple take, about.
    VOLUME_MOST_SHIFT: u32 = tune::MOST_SHIFT;
    VOLUME_SHIFT_STEP: u32 = tune::SHIFT_STEP;
    VOLUME_TILES_PER_SAMPLE: u64 = tune::TILES_PER_SAMPLE;
    VOLUME_LEAST_SAMPLES: u64 = tune::LEAST_SAMPLES;
    VOLUME_MOST_SAMPLES: u64 = tune::MOST_SAMPLES;
    VOLUME_BITS_OF_SMALL: u32 = tune::BITS_OF_SMALL;
    VOLUME_BITS_OF_LARGE: u32 = tune::BITS_OF_LARGE;
    /// Raw bits of the number of entries of a mask.
    MASK_COUNT_BITS: u32 = lists::MASK_COUNT_BITS;
    /// Bits that tell how many bits the coarse codes of an outer anchor have.
    OUTER_SIZE_BITS: u32 = OUTER_SIZE_BITS;
    /// States of the 32 lanes of a group: their lower end before the tail; lanes that end in state 1, the
    /// first ones; lanes that the states of the tail move on by with each operation.
    LOW: u32 = lanes::LOW;
    ENDS_AT_1: u32 = lanes::ENDS_AT_1;
    TURN: u32 = lanes::TURN;
    /// Bytes of the states in front of the words of a group: octaves, lower halves behind them, other bits
    /// of the upper halves.
    HALVES_AT: u32 = lanes::OCTAVE_BYTES;
    LEAST_STATE_BYTES: u32 = lanes::LEAST_STATE_BYTES;
    MOST_STATE_BYTES: u32 = lanes::MOST_STATE_BYTES;
    /// Bytes of a group, about; where there would be more groups than so many, KiB of a group at most.
    GROUP_BYTES: u64 = weights::GROUP_BYTES;
    MANY_GROUPS: u64 = weights::MANY_GROUPS;
    MOST_GROUP_KIB: u64 = weights::MOST_GROUP_KIB;
    /// Limits of the weight of a group: more than any tile has; sums of all tiles fit 64 bits.
    LEAST_GROUP_WEIGHT: u64 = weights::LEAST_GROUP_WEIGHT;
    MOST_GROUP_WEIGHT: u32 = weights::MOST_GROUP_WEIGHT;
    LEAST_GROUP_WEIGHT_OF_VOLUMES: u64 = weights::LEAST_GROUP_WEIGHT_OF_VOLUMES;
    /// Weight of a tile without entries, of a step of rows, and of the list of a mask.
    TILE_WEIGHT: u32 = weights::TILE_WEIGHT;
    STEP_WEIGHT: u32 = weights::STEP_WEIGHT;
    MASK_LIST_WEIGHT: u32 = weights::MASK_LIST_WEIGHT;
    /// Steps of a tile that is coded by rows, about, by activity from 1, a byte each.
    STEPS_BY_ACTIVITY: u64 = packed(steps(), 8);
    /// Tiles of a large field that are counted, or up to twice as many.
    SAMPLED_TILES: u64 = weights::SAMPLED_TILES;

    /// Signatures: bits of the kind, and the kinds; those that never stay have the bits of UNCERTAIN under
    /// the mask.
    KIND_BITS: u32 = signature::KIND_BITS;
    OUT: u32 = signature::OUT;
    NONFINITE: u32 = signature::NONFINITE;
    UNCERTAIN: u32 = signature::UNCERTAIN;
    IN: u32 = signature::IN;
    TIE: u32 = signature::TIE;
    ZEROS: u32 = signature::ZEROS;
    SEGMENT: u32 = signature::SEGMENT;
    ANSWER: u32 = signature::ANSWER;
    NEVER_STAYS_MASK: u32 = signature::NEVER_STAYS_MASK;
    /// Relative rounding error of an operation on doubles: 2^-53. Far above the absolute error of one that
    /// underflows: 2^-1000.
    ROUNDING: f64 = signature::ROUNDING;
    UNDERFLOW_GUARD: f64 = signature::UNDERFLOW;
    /// Steps of the ladder of bounds; its top, in units of the bound; factor for the roundings of a rung.
    RUNGS: i32 = bound::RUNGS;
    LADDER_TOP: f64 = bound::TOP;
    LADDER_MARGIN: f64 = bound::MARGIN;
    /// Words of 32 bits of an exact sum, and the exponent of its first bit.
    EXACT_WORDS: i32 = 2 * exact_type::WORDS;
    EXACT_LOWEST: i32 = exact_type::LOWEST;

    /// Choices of the interpolant of a level; weights of the outer neighbours of the first two: of all four
    /// neighbours, of three.
    INTERPOLANTS: i32 = INTERPOLANTS;
    CUBIC_MIDDLE: f64 = INTERPOLANT_WEIGHTS[0].0;
    CUBIC_SIDE: f64 = INTERPOLANT_WEIGHTS[0].1;
    SOFTENED_MIDDLE: f64 = INTERPOLANT_WEIGHTS[1].0;
    /// Choices of the bin widths of levels; the second one: bound / min(alpha^level, beta).
    LEVEL_BOUND_SCALINGS: i32 = LEVEL_BOUND_SCALINGS.len();
    LEVEL_SCALING_ALPHA: f64 = LEVEL_BOUND_SCALINGS[1].0;
    LEVEL_SCALING_BETA: f64 = LEVEL_BOUND_SCALINGS[1].1;
    /// Halvings of the bound that a vertex of the Lorenzo predictor may need, and one that stands for more.
    HALVINGS: i32 = lorenzo::HALVINGS;
    /// Cost of a halving for a vertex in eighths of a bit, of a refined vertex besides its bits.
    BOUND_SHIFT_RATE: u32 = lorenzo::BOUND_SHIFT_RATE;
    REFINED_BITS: u32 = lorenzo::REFINED_BITS;

    /// Parts of the triangulation that belong to a vertex, after its two triangles.
    EDGE_X: i32 = Simplex::EdgeX;
    EDGE_Y: i32 = Simplex::EdgeY;
    DIAGONAL: i32 = Simplex::Diagonal;
    VERTEX: i32 = Simplex::Vertex;
    SIMPLICES: i32 = Simplex::ALL.len();
    /// Types of critical points, those inside triangles first.
    SADDLE: i32 = Kind::Saddle;
    ATTRACTING_NODE: i32 = Kind::AttractingNode;
    REPELLING_NODE: i32 = Kind::RepellingNode;
    ATTRACTING_FOCUS: i32 = Kind::AttractingFocus;
    REPELLING_FOCUS: i32 = Kind::RepellingFocus;
    CENTER: i32 = Kind::Center;
    INSIDE_TYPES: i32 = Kind::VertexZero;
    VERTEX_ZERO: i32 = Kind::VertexZero;
    EDGE_ZERO: i32 = Kind::EdgeZero;
    POINT_TYPES: i32 = Kind::COUNT;
    /// The divergence of a focus is rounding up to this fraction of the derivatives.
    ROUNDING_DIVERGENCE_F32: f64 = ROUNDING_DIVERGENCE_F32;
    ROUNDING_DIVERGENCE_F64: f64 = ROUNDING_DIVERGENCE_F64;
};
