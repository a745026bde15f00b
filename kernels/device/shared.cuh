// Shared by kernels and library: constants, arguments of kernels, results. Generated from
// src/cuda/method_constants.rs, src/cuda/constants.rs, src/cuda/kernel_args.rs and src/capi
// (see src/cuda/generated.rs); do not edit.
// clang-format off

#pragma once

#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;

// Vertices of the grid at most.
constexpr u64 MAX_VERTICES = 0x1000000000000;

// Vertices along the side of a tile, of a tile, and along the side of a closed tile.
constexpr i32 TILE = 32;
constexpr i32 TILE_VERTICES = 1024;
constexpr i32 CLOSED = 33;

// Dyadic levels of a tile; the last one has the anchors.
constexpr i32 LEVELS = 6;
constexpr i32 ANCHOR_LEVEL = 5;

// Vertices along the side of a tile of a volume, of such a tile, and the level of its anchors.
constexpr i32 VOLUME_SIDE = 16;
constexpr i32 VOLUME_TILE_VERTICES = 4096;
constexpr i32 VOLUME_ANCHOR_LEVEL = 4;

// Periodic axes, and the least number of vertices along one.
constexpr u32 PERIODIC_X = 1;
constexpr u32 PERIODIC_Y = 2;
constexpr u32 PERIODIC_Z = 4;
constexpr u64 LEAST_PERIODIC = 3;

// Sides of a block, as bits of halo and pin.
constexpr u32 SIDE_X_MIN = 1;
constexpr u32 SIDE_X_MAX = 2;
constexpr u32 SIDE_Y_MIN = 4;
constexpr u32 SIDE_Y_MAX = 8;

// Largest magnitude of a code, exact in the element type.
constexpr i32 MAX_CODE_F32 = 4194303;
constexpr i32 MAX_CODE_F64 = 1073741823;

// Spreads consecutive numbers: the upper bits of the products look random.
constexpr u32 SHUFFLE = 2654435761;

// Sample of vertices that shows a range made by outliers: at most so many vertices; tiny and large
// ones by their distance from the range; a part of them, at least or at most.
constexpr u32 WIDE_SAMPLES = 1024;
constexpr double WIDE_TINY = 1000000.0;
constexpr double WIDE_LARGE = 4.0;
constexpr u32 WIDE_PART = 16;

// The stream: bytes of the header, the only version, the content.
constexpr u32 HEADER_BYTES = 128;
constexpr u32 VOLUME_HEADER_BYTES = 176;
constexpr u16 FORMAT_VERSION = 1;
constexpr u32 CONTENT_CODED = 0;
constexpr u32 CONTENT_STORED = 1;

// The first word of a stream.
constexpr u32 MAGIC = 1515471686;

// Places of the fields in the header, in bytes.
constexpr i32 AT_MAGIC = 0;
constexpr i32 AT_VERSION = 4;
constexpr i32 AT_HEADER_BYTES = 6;
constexpr i32 AT_CHECKSUM = 8;
constexpr i32 AT_DTYPE = 12;
constexpr i32 AT_MODE = 13;
constexpr i32 AT_CODER = 14;
constexpr i32 AT_PREDICTOR = 15;
constexpr i32 AT_PRESERVE = 16;
constexpr i32 AT_BOUND_KIND = 17;
constexpr i32 AT_CONTENT = 18;
constexpr i32 AT_TIES = 19;
constexpr i32 AT_LEVEL_BOUND_SCALING = 20;
constexpr i32 AT_INTERPOLANTS = 21;
constexpr i32 AT_COMPONENTS = 26;
constexpr i32 AT_HAS_FILL = 27;
constexpr i32 AT_TABLE_BYTES = 28;
constexpr i32 AT_NX = 32;
constexpr i32 AT_NY = 40;
constexpr i32 AT_NZ = 48;
constexpr i32 AT_PERIODIC = 52;
constexpr i32 AT_COMPONENT = 53;
constexpr i32 AT_BOUND = 56;
constexpr i32 AT_ABSOLUTE_BOUND = 64;
constexpr i32 AT_HALF_BIN_WIDTH = 72;
constexpr i32 AT_DX = 80;
constexpr i32 AT_DY = 88;
constexpr i32 AT_FILL_U = 96;
constexpr i32 AT_FILL_V = 104;
constexpr i32 AT_STREAM_BYTES = 112;
constexpr i32 AT_GROUPS = 120;
constexpr u32 AT_DZ = 128;
constexpr u32 AT_FILL_W = 136;
constexpr u32 AT_LIST_BYTES = 144;
constexpr u32 AT_CHUNKS = 152;
constexpr u32 AT_REPAIRED_VERTICES = 160;
constexpr u32 AT_EXACT_VERTICES = 168;

// A fix: bytes of its header, of planes and of a volume; the only version; its first word; places of the
// fields in its header, in bytes. The checksum is where that of a stream is.
constexpr u32 FIX_HEADER_BYTES = 128;
constexpr u32 FIX_VOLUME_HEADER_BYTES = 136;
constexpr u32 FIX_VERSION = 1;
constexpr u32 FIX_MAGIC = 1381253958;
constexpr u32 FIX_AT_VERSION = 4;
constexpr u32 FIX_AT_HEADER_BYTES = 6;
constexpr u32 FIX_AT_DTYPE = 12;
constexpr u32 FIX_AT_PRESERVE = 13;
constexpr u32 FIX_AT_BOUND_KIND = 14;
constexpr u32 FIX_AT_TIES = 15;
constexpr u32 FIX_AT_COMPONENTS = 16;
constexpr u32 FIX_AT_HAS_FILL = 17;
constexpr u32 FIX_AT_PERIODIC = 18;
constexpr u32 FIX_AT_CONTENT = 19;
constexpr u32 FIX_AT_RECONSTRUCTION = 20;
constexpr u32 FIX_AT_EXACT_VERTICES = 24;
constexpr u32 FIX_AT_NX = 32;
constexpr u32 FIX_AT_NY = 40;
constexpr u32 FIX_AT_NZ = 48;
constexpr u32 FIX_AT_RESERVED = 52;
constexpr u32 FIX_AT_BOUND = 56;
constexpr u32 FIX_AT_ABSOLUTE_BOUND = 64;
constexpr u32 FIX_AT_RADIUS = 72;
constexpr u32 FIX_AT_DX = 80;
constexpr u32 FIX_AT_DY = 88;
constexpr u32 FIX_AT_FILL = 96;
constexpr u32 FIX_AT_REPAIRED_VERTICES = 104;
constexpr u32 FIX_AT_FIX_BYTES = 112;
constexpr u32 FIX_AT_CHUNKS = 120;
constexpr u32 FIX_AT_DZ = 128;

// Checksum: factor of the index of a word, factors of the mix.
constexpr u32 CHECKSUM_STEP = 2654435769;
constexpr u32 CHECKSUM_MIX_0 = 2246822507;
constexpr u32 CHECKSUM_MIX_1 = 3266489909;

// Tables of a stream; bytes of their directory at least: a bit for each table that takes bytes.
constexpr u32 TABLES = 50;
constexpr u32 LEAST_DIRECTORY_BYTES = 8;

// Words of 4 bytes of a stored table at most.
constexpr u32 STORED_WORDS = 255;

// Bits of a group's bytes in its word; above them are its tiles less one. Tiles of a group at most.
constexpr u32 GROUP_BYTES_BITS = 24;
constexpr u64 MAX_GROUP_TILES = 256;

// The alphabet of vertex codes: a vertex as predicted; values bit for bit; first symbol of differences
// to the prediction, and their number; all symbols; first symbol that raw bits may follow.
constexpr u32 SYMBOL_ZERO = 0;
constexpr u32 STORED = 179;
constexpr u32 FIRST_DIFFERENCE = 180;
constexpr u32 DIFFERENCES = 11;
constexpr u32 SYMBOLS = 191;
constexpr u32 FIRST_WITH_RAW_BITS = 25;

// Largest component of the codes of refinement 0 that have a symbol for each pair.
constexpr i32 SMALL = 2;

// First symbols of kinds of codes; bit lengths of a component, and buckets of a refinement.
constexpr u32 PAIR0 = 25;
constexpr u32 PAIR0_SIDE = 7;
constexpr u32 WIDE0 = 74;
constexpr u32 PAIR1 = 99;
constexpr u32 PAIR1_SIDE = 4;
constexpr u32 BUCKET = 115;
constexpr u32 BUCKETS = 8;

// Magnitude bits of the buckets of a refinement but the last, beyond the first, four bits each.
constexpr u32 BUCKET_OFFSETS = 174338576;

// Refinements of codes; those that stand for a vertex that is stored, and for one that a mask has.
constexpr i32 REFINEMENTS = 9;
constexpr i32 EXACT = 9;
constexpr i32 MASKED = 10;

// Symbols of a table; the one for a symbol without a code of its own.
constexpr u32 ALPHABET = 256;
constexpr u32 ESCAPE = 255;

// Coverage of a tile by a mask, and pairs of coverages by both masks (3 * zero + fill).
constexpr u32 MASK_NONE = 0;
constexpr u32 MASK_ALL = 1;
constexpr u32 MASK_SOME = 2;
constexpr u32 MASK_STATES = 9;

// How often the error bound of a tile of the Lorenzo predictor may be halved, and not at all.
constexpr i32 BOUND_SHIFTS = 8;

// Activities of a block, and of a tile that is coded by rows: 0 has no symbols, the last one has all.
constexpr u32 ACTIVITIES = 8;
constexpr u32 ROW_ACTIVITIES = 9;
constexpr u32 FULL_ACTIVITY = 8;

// Blocks up to this activity are lists of the vertices that are not zero.
constexpr u32 LAST_LIST_ACTIVITY = 6;

// Tiles up to this activity say which rows have a symbol.
constexpr u32 LAST_SPARSE_TILE = 3;

// Vertices of the blocks of a tile, and the positions where the last two begin.
constexpr u32 COARSE_VERTICES = 64;
constexpr u32 MIDDLE_VERTICES = 192;
constexpr u32 FINE_VERTICES = 768;
constexpr i32 MIDDLE_START = 64;
constexpr i32 FINE_START = 256;

// Positions in front of the sparse lists of a tile.
constexpr i32 TOP_VERTICES = 16;

// Numbers of the tables, those of lists.
constexpr u32 MASK_STATE = 0;
constexpr u32 COARSE_ACTIVITY = 1;
constexpr u32 MIDDLE_ACTIVITY = 2;
constexpr u32 FINE_ACTIVITY = 10;
constexpr u32 MASK_BYTE = 18;
constexpr u32 ANCHOR_TABLE = 19;
constexpr u32 STEP_16 = 20;
constexpr u32 STEP_8 = 21;
constexpr u32 STEP_4 = 22;
constexpr u32 STEP_2 = 29;
constexpr u32 STEP_1 = 36;
constexpr u32 RUN = 43;
constexpr u32 MASK_RUN = 49;

// Tables of rows; the activity of a tile has the table of the coarse block.
constexpr u32 TILE_ACTIVITY = 1;
constexpr u32 ROW_BYTE = 20;
constexpr u32 PATTERN = 28;
constexpr u32 ROW_SYMBOL = 35;

// Sum of the frequencies of a rANS table, and its bits; bits of the shift of a table.
constexpr u32 SCALE_BITS = 12;
constexpr u32 SCALE = 4096;
constexpr u32 SHIFT_BITS = 3;

// Huffman: bits of the longest code, codes of this length, bits of the sum of scaled counts.
constexpr u32 MAX_LENGTH = 11;
constexpr u32 CODES = 2048;
constexpr u32 WEIGHT_BITS = 15;

// Runs of zeros: their symbols, and the first one with raw bits.
constexpr u32 RUNS = 28;
constexpr u32 FIRST_RUN_WITH_RAW_BITS = 16;
constexpr u32 RUNS_OF_VOLUMES = 32;

// Symbols of the three integers of a vertex of a volume: largest component of those with a symbol each;
// first symbol of larger ones, whose longest component has so many bits and more, and the ways in which the
// others are shorter; first symbol of those larger still, and their bits; most bits; all symbols.
constexpr i32 TRIPLE_SMALL = 2;
constexpr u32 TRIPLE_FIRST_LARGE = 125;
constexpr u32 TRIPLE_SHORTEST = 2;
constexpr u32 TRIPLE_WAYS = 19;
constexpr u32 TRIPLE_FIRST_WIDE = 239;
constexpr u32 TRIPLE_SHORTEST_WIDE = 8;
constexpr u32 TRIPLE_MOST_BITS = 20;
constexpr u32 TRIPLES = 252;

// The list of repaired vertices: bytes of an entry of its directory, vertices of a chunk and of one whose
// vertices are all zero or filled, at most; kinds of chunks; largest orders of the codes of gaps and of
// levels; what stands for an order of levels in chunks of zero and of filled vertices; bit of the code of
// gaps where runs are counted.
constexpr u32 LIST_ENTRY_BYTES = 16;
constexpr u32 LIST_CHUNK = 512;
constexpr u32 LIST_CONSTANT_CHUNK = 16384;
constexpr u32 LIST_KINDS = 3;
constexpr u32 LIST_MOST_ORDER = 40;
constexpr u32 LIST_MOST_LEVEL_ORDER = 4;
constexpr u32 LIST_ALL_ZERO = 255;
constexpr u32 LIST_ALL_FILLED = 254;
constexpr u32 LIST_RUNS = 128;

// Levels of vertices: that of layer 1 alone, the finest refinement, the bits of the original, zero, the
// fill pattern.
constexpr u32 LEVEL_UNCHANGED = 0;
constexpr u32 FINEST_REFINEMENT = 16;
constexpr u32 LEVEL_EXACT = 17;
constexpr u32 LEVEL_ZERO = 18;
constexpr u32 LEVEL_FILLED = 19;

// Rounds of repair in which one vertex mends a simplex; in a compression they end with one violated simplex for
// so many vertices; then rounds in which all corners of a violated one go below its bound.
constexpr u32 SINGLE_ROUNDS = 64;
constexpr u64 VERTICES_PER_FEW = 262144;
constexpr u32 BOUNDED_ROUNDS = 64;

// Volumes: the largest bound shift, and the step from a row whose magnitudes decide about it to the next one;
// the sample of the tuning, a fraction of all tiles within limits; bits
// that a small and a large triple take, about.
constexpr u32 VOLUME_MOST_SHIFT = 6;
constexpr u32 VOLUME_SHIFT_STEP = 4;
constexpr u64 VOLUME_TILES_PER_SAMPLE = 32;
constexpr u64 VOLUME_LEAST_SAMPLES = 4;
constexpr u64 VOLUME_MOST_SAMPLES = 24;
constexpr u32 VOLUME_BITS_OF_SMALL = 4;
constexpr u32 VOLUME_BITS_OF_LARGE = 6;

// Raw bits of the number of entries of a mask.
constexpr u32 MASK_COUNT_BITS = 8;

// Bits that tell how many bits the coarse codes of an outer anchor have.
constexpr u32 OUTER_SIZE_BITS = 5;

// States of the 32 lanes of a group: their lower end before the tail; lanes that end in state 1, the
// first ones; lanes that the states of the tail move on by with each operation.
constexpr u32 LOW = 65536;
constexpr u32 ENDS_AT_1 = 4;
constexpr u32 TURN = 19;

// Bytes of the states in front of the words of a group: octaves, lower halves behind them, other bits
// of the upper halves.
constexpr u32 HALVES_AT = 16;
constexpr u32 LEAST_STATE_BYTES = 80;
constexpr u32 MOST_STATE_BYTES = 140;

// Bytes of a group, about; where there would be more groups than so many, KiB of a group at most.
constexpr u64 GROUP_BYTES = 1024;
constexpr u64 MANY_GROUPS = 32768;
constexpr u64 MOST_GROUP_KIB = 8;

// Limits of the weight of a group: more than any tile has; sums of all tiles fit 64 bits.
constexpr u64 LEAST_GROUP_WEIGHT = 1600;
constexpr u32 MOST_GROUP_WEIGHT = 268435456;
constexpr u64 LEAST_GROUP_WEIGHT_OF_VOLUMES = 4200;

// Weight of a tile without entries, of a step of rows, and of the list of a mask.
constexpr u32 TILE_WEIGHT = 4;
constexpr u32 STEP_WEIGHT = 28;
constexpr u32 MASK_LIST_WEIGHT = 64;

// Steps of a tile that is coded by rows, about, by activity from 1, a byte each.
constexpr u64 STEPS_BY_ACTIVITY = 0x2019120d0a080706;

// Tiles of a large field that are counted, or up to twice as many.
constexpr u64 SAMPLED_TILES = 4096;

// Signatures: bits of the kind, and the kinds; those that never stay have the bits of UNCERTAIN under
// the mask.
constexpr u32 KIND_BITS = 3;
constexpr u32 OUT = 0;
constexpr u32 NONFINITE = 1;
constexpr u32 UNCERTAIN = 2;
constexpr u32 IN = 3;
constexpr u32 TIE = 4;
constexpr u32 ZEROS = 5;
constexpr u32 SEGMENT = 6;
constexpr u32 ANSWER = 7;
constexpr u32 NEVER_STAYS_MASK = 3;

// Relative rounding error of an operation on doubles: 2^-53. Far above the absolute error of one that
// underflows: 2^-1000.
constexpr double ROUNDING = 1.1102230246251565e-16;
constexpr double UNDERFLOW_GUARD = 9.332636185032189e-302;

// Steps of the ladder of bounds; its top, in units of the bound; factor for the roundings of a rung.
constexpr i32 RUNGS = 20;
constexpr double LADDER_TOP = 1.0000009536743164;
constexpr double LADDER_MARGIN = 1.0000000000009095;

// Words of 32 bits of an exact sum, and the exponent of its first bit.
constexpr i32 EXACT_WORDS = 264;
constexpr i32 EXACT_LOWEST = -4296;

// Choices of the interpolant of a level; weights of the outer neighbours of the first two: of all four
// neighbours, of three.
constexpr i32 INTERPOLANTS = 6;
constexpr double CUBIC_MIDDLE = 0.0625;
constexpr double CUBIC_SIDE = 0.125;
constexpr double SOFTENED_MIDDLE = 0.03125;

// Choices of the bin widths of levels; the second one: bound / min(alpha^level, beta).
constexpr i32 LEVEL_BOUND_SCALINGS = 2;
constexpr double LEVEL_SCALING_ALPHA = 1.5;
constexpr double LEVEL_SCALING_BETA = 3.0;

// Halvings of the bound that a vertex of the Lorenzo predictor may need, and one that stands for more.
constexpr i32 HALVINGS = 25;

// Cost of a halving for a vertex in eighths of a bit, of a refined vertex besides its bits.
constexpr u32 BOUND_SHIFT_RATE = 8;
constexpr u32 REFINED_BITS = 9;

// Parts of the triangulation that belong to a vertex, after its two triangles.
constexpr i32 EDGE_X = 2;
constexpr i32 EDGE_Y = 3;
constexpr i32 DIAGONAL = 4;
constexpr i32 VERTEX = 5;
constexpr i32 SIMPLICES = 6;

// Types of critical points, those inside triangles first.
constexpr i32 SADDLE = 0;
constexpr i32 ATTRACTING_NODE = 1;
constexpr i32 REPELLING_NODE = 2;
constexpr i32 ATTRACTING_FOCUS = 3;
constexpr i32 REPELLING_FOCUS = 4;
constexpr i32 CENTER = 5;
constexpr i32 INSIDE_TYPES = 6;
constexpr i32 VERTEX_ZERO = 6;
constexpr i32 EDGE_ZERO = 7;
constexpr i32 POINT_TYPES = 8;

// The divergence of a focus is rounding up to this fraction of the derivatives.
constexpr double ROUNDING_DIVERGENCE_F32 = 1e-5;
constexpr double ROUNDING_DIVERGENCE_F64 = 1e-12;

// Values of factz_status that a kernel finds out.
constexpr i32 STATUS_OK = 0;
constexpr i32 STATUS_INVALID_ARGUMENT = 1;
constexpr i32 STATUS_BUFFER_TOO_SMALL = 3;
constexpr i32 STATUS_CORRUPT_STREAM = 5;
constexpr i32 STATUS_UNSUPPORTED_VERSION = 6;
constexpr i32 STATUS_UNSUPPORTED = 10;
constexpr i32 STATUS_INTERNAL = 11;

// FACTZ_COMPONENT_VOLUME.
constexpr i32 COMPONENT_VOLUME = 3;
constexpr u32 WARNING_WIDE_RANGE = 1;

// Numbers of a configuration.
constexpr u32 BOUND_ABSOLUTE = 0;
constexpr u32 BOUND_RELATIVE = 1;
constexpr u32 BLOCK_WISE = 0;
constexpr u32 SPECULATIVE = 1;
constexpr u32 MODE_REPAIR = 2;
constexpr u32 CODER_ANS = 0;
constexpr u32 CODER_HUFFMAN = 1;
constexpr u32 PREDICTOR_HIERARCHICAL = 0;
constexpr u32 PREDICTOR_LORENZO = 1;
constexpr u32 PRESERVE_NONE = 0;
constexpr u32 PRESERVE_POINTS = 1;
constexpr u32 PRESERVE_TYPES = 2;
constexpr u32 TIES_ALL = 0;
constexpr u32 TIES_ZEROS = 1;
constexpr u32 TIES_SOS = 2;

// Most tiles of a stream of which a call takes some planes.
constexpr u64 MOST_STREAM_TILES = 2147483647;

// Bytes of the control block: results of reductions and the state of the call.
constexpr u64 CONTROL_BYTES = 16384;

// Bytes of a tile's distances from the origin.
constexpr u64 ORIGIN_DISTANCE_BYTES = 48;

// Bands of rows whose distance is known.
constexpr i32 BANDS = 4;

// Bytes of the stored tables before they are put together: a length for each, and full tables.
constexpr u64 TABLE_SECTION_BYTES = 51052;

// Symbols of tables of mask states and activities, at most; those of vertex codes, and of runs.
constexpr u32 HEAD_ALPHABET = 128;
constexpr u32 CODE_SYMBOLS = 192;
constexpr u32 RUN_SYMBOLS = 32;

// Bytes of the tables of the encoder: two words a symbol. One more table has one symbol.
constexpr u64 CODING_TABLE_BYTES = 83976;

// Bytes of a tile's slot (kernels/device/workspace.cuh). A slot first holds list entries, 8 bytes of
// payload a vertex (16 for binary64 with the Lorenzo predictor) and a vertex bound a vertex; later the
// words of the tile, before groups are put together. The words need more than payload and bounds only
// for binary64 with the hierarchical predictor. kernels/capacities.cuh proves that all fits.
constexpr u64 TILE_SLOT_BYTES_F32 = 12672;
constexpr u64 TILE_SLOT_BYTES_F64 = 19328;
constexpr u64 TILE_SLOT_BYTES_F64_LORENZO = 24960;

// Bytes of a slot before the payload: entries of coarse and middle lists.
constexpr u64 SLOT_ENTRY_BYTES = 384;

// Warps of a block of the statistics, a strip of 128 columns of a row of tiles each, and blocks at most.
constexpr u32 STATISTICS_WARPS = 4;
constexpr u32 MOST_STATISTICS_BLOCKS = 8192;

// Few strips at most: a block works on a strip, a warp on one of the parts of its rows.
constexpr u32 MOST_FEW_STRIPS = 4096;
constexpr u32 STRIP_PARTS = 4;
constexpr u32 SORT_WARPS = 16;

// Threads of a block of `seam`.
constexpr u32 SEAM_THREADS = 128;

// The sample of the tuning: this fraction of all tiles, within the limits below.
constexpr u64 TILES_PER_SAMPLE = 16;
constexpr u64 LEAST_SAMPLES = 9;
constexpr u64 MOST_SAMPLES = 24;
constexpr i32 TUNE_WARPS = 4;
constexpr i32 BOUND_WARPS = 4;
constexpr i32 CONSTRAINED_VERTEX_WARPS = 4;

// Warps of a block of unconstrained and constrained interior tiles; a warp works on two tiles.
constexpr i32 UNCONSTRAINED_WARPS_F32 = 4;
constexpr i32 UNCONSTRAINED_WARPS_F64 = 1;
constexpr i32 CONSTRAINED_WARPS_F32 = 2;
constexpr i32 CONSTRAINED_WARPS_F64 = 1;

// Warps of a block of a border tile.
constexpr i32 BORDER_WARPS = 2;

// Warps of a block of interior tiles of the speculative mode, a tile each.
constexpr i32 SPECULATIVE_WARPS = 2;
constexpr i32 LORENZO_INTERIOR_WARPS = 4;
constexpr i32 LORENZO_BORDER_WARPS = 4;

// Tiles of a batch, a lane each.
constexpr i32 BATCH = 32;

// Entries of the lists of a tile, at most: a third of the vertices of sparse blocks, and one before.
constexpr i32 MOST_ENTRIES = 352;

// Bytes between rows of staged symbols: equal columns of all rows fall into different banks.
constexpr u32 STAGED_ROW = 36;
constexpr i32 COUNT_WARPS = 16;
constexpr i32 ROW_COUNT_WARPS = 16;
constexpr u32 TABLE_THREADS = 256;

// Tiles that a block of the tables weighs.
constexpr u32 WEIGHED_TILES = 1024;

// Groups of a block of the encoder, also on devices with less shared memory, and warps of a group.
constexpr i32 ENCODE_GROUPS_LARGE = 4;
constexpr i32 ENCODE_GROUPS_SMALL = 2;
constexpr i32 ENCODE_ROLES = 5;
constexpr i32 ROW_CODE_WARPS = 20;

// Warps of a group that prepare chunks for the one that codes them; pieces of 16 raw bits before those
// of a symbol, at most; entries of masks that a warp holds.
constexpr i32 PREPARERS = 4;
constexpr u32 MOST_PIECES = 8;
constexpr i32 MASK_RING = 256;

// Parts of the groups whose bytes are summed while they are made; blocks that assemble the stream.
constexpr u32 PARTS = 384;
constexpr u32 ASSEMBLE_WARPS = 16;
constexpr u32 PARSE_THREADS = 1024;

// Volumes: warps of a block that decodes groups, threads of a block for the coarse levels of a tile and for the
// finest one, places of a row of its values, vertices of the coarse levels of a closed tile, threads that place
// chunks of the list of repaired vertices, warps of a block that decodes them.
constexpr i32 VOLUME_DECODE_WARPS = 8;
constexpr u32 COARSE_THREADS = 32;
constexpr u32 VOLUME_THREADS = 256;
constexpr i32 VOLUME_PITCH = 20;
constexpr u32 VOLUME_COARSE_VERTICES = 729;
constexpr u32 LIST_THREADS = 1024;
constexpr u32 LIST_WARPS = 4;

// Compression of volumes: values that the workspace has of a tile and a component (closed tiles of f64), bytes
// of the slot of a tile, entries of the sparse lists of both coarse blocks, of the first one alone, threads of
// a block that repairs, warps of a block that counts and of one that encodes groups; warps of a block that writes
// chunks of the list, and words through which one writes.
constexpr u32 VOLUME_VALUES_F32 = 4096;
constexpr u32 VOLUME_VALUES_F64 = 5780;
constexpr u64 VOLUME_SLOT_BYTES = 43264;
constexpr u64 VOLUME_COARSE_ENTRIES = 170;
constexpr u32 VOLUME_FIRST_MIDDLE_ENTRY = 21;
constexpr u32 REPAIR_THREADS = 128;
constexpr u32 VOLUME_COUNT_WARPS = 8;
constexpr i32 VOLUME_ENCODE_WARPS = 4;
constexpr u32 CHUNK_WARPS = 16;
constexpr u32 CHUNK_WORDS = 384;
constexpr i32 DECODE_GROUPS = 4;
constexpr i32 DECODE_ROLES = 2;

// Tiles of a batch whose masks the decoder holds by position; bytes of a block of its words: a pair for
// each lane.
constexpr i32 MOST_MASKED_TILES = 7;
constexpr u32 WORD_BLOCK_BYTES = 128;

// Starts of the search in a decoding table of rANS, a byte each; entries of a table that leaves a state
// unchanged.
constexpr u32 STARTS_BYTES = 256;
constexpr u32 NO_TABLE_ENTRIES = 4;

// Warps of a block; a warp has the anchors of a group.
constexpr u32 ANCHOR_WARPS = 4;

// Warps of a block; a warp works on two tiles.
constexpr i32 RECONSTRUCT_WARPS = 2;

// Warps of a block of a border tile.
constexpr i32 RECONSTRUCT_BORDER_WARPS = 2;
constexpr i32 LORENZO_RECONSTRUCT_WARPS = 8;
constexpr i32 ANALYSIS_WARPS = 8;

// Rows that a block of the analysis works on.
constexpr u64 ANALYSIS_ROWS = 32;

// Bytes of the counts of a comparison or a range.
constexpr u64 ANALYSIS_COUNT_BYTES = 256;

// Sums and extremes of a part of a comparison: squared errors of u and v, least and largest value of the
// first field.
constexpr i32 PART = 4;

// The index of a zero without a closed ring around it.
constexpr i32 INDEX_UNDEFINED = -100;

// Segments of rows whose critical points are counted together, a lane each; a part may span rows.
constexpr u64 POINT_PART = 32;

// The mesh (src/grid/mesh.rs). Numbers of triangles and corners of a cell; numbers of corners
// of a cell and of triangles around a vertex; corner of each triangle that is not on the diagonal.
enum : i32 { LOWER = 0, UPPER = 1 };
enum : i32 { CORNER_A = 0, CORNER_B = 1, CORNER_C = 2, CORNER_D = 3 };
enum : i32 { CORNERS = 4, AROUND = 6 };
enum : i32 { LOWER_APEX = 1, UPPER_APEX = 2 };
// Corners of triangles in the order of the format, two bits each.
constexpr u32 LOWER_CORNERS = 0x34;
constexpr u32 UPPER_CORNERS = 0x2c;
// Edges along x and y: positions of their first and last vertex among the corners, two bits each.
constexpr u32 LOWER_EDGES = 0x94;
constexpr u32 UPPER_EDGES = 0x86;
// Faces (edges and vertex) that a triangle owns: a bit for each Simplex.
constexpr u32 LOWER_FACES = 0x34;
constexpr u32 UPPER_FACES = 0x8;
// Corner where each Simplex ends, two bits each.
constexpr u32 SIMPLEX_ENDS = 0x390;
// Offsets of the neighbours, counter-clockwise, plus 1: two bits each.
constexpr u32 NEIGHBOURS_X = 0x41a;
constexpr u32 NEIGHBOURS_Y = 0x69;
// The six triangles around a vertex, a bit each: cell at x - 1, cell at y - 1, UPPER triangle.
constexpr u32 STAR_BEFORE_X = 0x1c;
constexpr u32 STAR_BEFORE_Y = 0x38;
constexpr u32 STAR_TRIANGLES = 0x2a;
// Rings of vertex and edges: offsets x and y of their vertices plus 1, two bits each.
constexpr u32 VERTEX_RING = 0x1049a6;
constexpr u32 EDGE_X_RING = 0xa615;
constexpr u32 EDGE_Y_RING = 0x49a5;
constexpr u32 DIAGONAL_RING = 0x9a65;

// The tetrahedra of a cube (src/grid/tetrahedra.rs), their corners, and tetrahedra around a vertex;
// the axes of their first and of their second steps, two bits each.
enum : i32 { TETRAHEDRA = 6, TETRAHEDRON_CORNERS = 4, TETRAHEDRA_AROUND = 24 };
constexpr u32 FIRST_STEPS = 0xa50;
constexpr u32 SECOND_STEPS = 0x489;


using factz_status = int32_t;

struct FixReport {
    factz_status status;
    int32_t reserved_status;
    uint64_t fix_bytes;
    uint64_t required_bytes;
    uint64_t repaired_vertices;
    uint64_t exact_vertices;
    uint64_t violated_triangles;
    uint64_t rounds;
    double bound;
    double max_error;
    uint64_t vertices_outside;
    uint64_t first_outside;
    uint64_t reserved[5];
};

struct factz_fix_info {
    factz_status status;
    uint32_t format_version;
    uint64_t fix_bytes;
    uint64_t nx;
    uint64_t ny;
    uint64_t nz;
    double dx;
    double dy;
    double dz;
    double bound;
    double absolute_bound;
    double max_error;
    uint64_t repaired_vertices;
    uint64_t exact_vertices;
    double fill_value;
    int32_t bound_kind;
    int32_t dtype;
    int32_t preserve;
    int32_t ties;
    int32_t has_fill_value;
    uint32_t periodic;
    uint32_t reconstruction_checksum;
    uint32_t components;
    uint64_t reserved[6];
};

struct Info {
    factz_status status;
    uint32_t format_version;
    uint64_t stream_bytes;
    uint64_t nx;
    uint64_t ny;
    uint64_t nz;
    double dx;
    double dy;
    double dz;
    double bound;
    double absolute_bound;
    int32_t bound_kind;
    int32_t dtype;
    int32_t mode;
    int32_t coder;
    int32_t predictor;
    int32_t preserve;
    double fill_value;
    int32_t has_fill_value;
    int32_t ties;
    uint32_t periodic;
    uint32_t component;
};

struct CriticalPoint {
    uint64_t cell_x;
    uint64_t cell_y;
    uint64_t cell_z;
    double x;
    double y;
    int32_t simplex;
    int32_t point_type;
    int32_t index;
    int32_t rounding_divergence;
    double eigenvalues_real[2];
    double eigenvalues_imaginary[2];
};

struct Comparison {
    factz_status status;
    int32_t reserved_status;
    uint64_t violations;
    uint64_t critical_points;
    uint64_t other_critical_points;
    uint64_t lost_points;
    uint64_t spurious_points;
    uint64_t changed_types;
    uint64_t ties;
    uint64_t changed_ties;
    uint64_t new_ties;
    uint64_t nonfinite_vertices;
    uint64_t changed_missing;
    uint64_t zero_vertices;
    uint64_t changed_zero_vertices;
    uint64_t bound_exceeded;
    double bound;
    double max_error;
    double psnr;
    uint64_t points_by_type[8];
    uint64_t filled_vertices;
    uint64_t lost_zeros;
    uint64_t spurious_zeros;
    uint64_t changed_indices;
    uint64_t reserved[2];
};

struct ValueRange {
    factz_status status;
    int32_t reserved_status;
    double low;
    double high;
    uint64_t nonfinite_vertices;
    uint64_t filled_vertices;
    uint64_t zero_vertices;
    uint64_t reserved[2];
};

struct Layout {
    uint64_t pitch;
    uint64_t stride;
};

struct Report {
    factz_status status;
    int32_t reserved_status;
    uint64_t stream_bytes;
    uint64_t required_bytes;
    uint64_t exact_vertices;
    uint64_t nonfinite_vertices;
    uint64_t zero_vertices;
    uint64_t points_in_triangles;
    double bound;
    double max_error;
    uint64_t filled_vertices;
    uint32_t warnings;
    uint32_t reserved_flags;
    uint64_t reserved[5];
};

struct Job {
    void *u;
    void *v;
    Layout u_layout;
    Layout v_layout;
    uint8_t *stream;
    uint64_t stream_bytes;
    Report *report;
    uint64_t nx;
    uint64_t ny;
    uint64_t nz;
    uint64_t plane_rows;
    uint32_t first_plane;
    uint32_t takes_planes;
    uint32_t group_mask;
    uint64_t tiles_x;
    uint64_t tiles_y;
    uint32_t plane_tile_rows;
    uint32_t plane_reciprocal;
    double bound;
    double dx;
    double dy;
    uint64_t fill;
    uint32_t dtype;
    uint32_t mode;
    uint32_t coder;
    uint32_t predictor;
    uint32_t preserve;
    uint32_t ties;
    uint32_t bound_kind;
    uint32_t halo;
    uint32_t pin;
    uint32_t periodic;
    uint32_t verify_checksum;
    uint32_t has_fill;
    uint8_t *control;
    uint64_t *symbol_counts;
    uint8_t *symbols;
    uint8_t *raw_bits;
    uint32_t *tile_headers;
    uint32_t *written_steps;
    uint32_t *masks;
    uint8_t *origin_distances;
    uint8_t *anchors;
    int32_t *anchor_codes;
    uint8_t *row_lines;
    uint8_t *column_lines;
    uint32_t *coding_tables;
    uint8_t *slot_starts;
    uint16_t *huffman_codes;
    uint8_t *stored_tables;
    uint8_t *slots;
    uint64_t *group_sizes;
    uint64_t *group_offsets;
    int32_t *outer_anchors;
    uint32_t components;
    void *w;
    Layout w_layout;
    double dz;
    uint32_t *hidden;
    uint64_t *chunks;
    uint8_t *levels;
    uint16_t *positions;
    uint8_t *values;
    uint32_t *listed;
    uint64_t *list_ranks;
    uint64_t *chunk_places;
    const void *other[3];
    Layout other_layouts[3];
    uint64_t other_plane_rows;
    FixReport *fix_report;
    __device__ __forceinline__ u64 tiles() const { return tiles_x * tiles_y; }
    __device__ __forceinline__ u64 vertices() const { return nx * ny * (nz - first_plane); }
    __device__ __forceinline__ u64 first_tile() const { return tiles_x * plane_tile_rows * first_plane; }
};

struct Component {
    const void *values;
    Layout layout;
    uint64_t plane;
};

struct FieldView {
    Component u;
    Component v;
};

struct Analysis {
    FieldView fields[2];
    uint64_t nx;
    uint64_t ny;
    uint64_t nz;
    uint64_t columns;
    uint64_t rows;
    int32_t columns_before;
    int32_t rows_before;
    double dx;
    double dy;
    double bound;
    uint64_t fill;
    uint32_t has_fill;
    uint32_t bound_is_relative;
    uint32_t ties;
    uint32_t periodic;
    uint64_t capacity;
    CriticalPoint *points;
    uint64_t *count;
    Comparison *comparison;
    ValueRange *range;
    uint64_t *counts;
    double *parts;
    uint32_t *open_triangles;
    uint64_t *point_parts;
    uint16_t *segments;
};

struct Inspection {
    const uint8_t *stream;
    uint64_t stream_bytes;
    Info *info;
};

static_assert(sizeof(Job) == 576, "as in Rust");
static_assert(sizeof(Analysis) == 304, "as in Rust");
static_assert(sizeof(Inspection) == 24, "as in Rust");
static_assert(sizeof(ValueRange) == 64, "as in Rust");
static_assert(sizeof(CriticalPoint) == 88, "as in Rust");
static_assert(sizeof(Comparison) == 256, "as in Rust");
static_assert(sizeof(Info) == 128, "as in Rust");
