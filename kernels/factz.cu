// All kernels in one translation unit. The entries at the end are generated (src/cuda/generated.rs) from the
// table of launches in src/cuda/schedule.rs, which also has the grids and the configurations of each kernel.
// A kernel has one entry, at the place of its first launch in the table. The speculative mode launches two of
// them elsewhere: unconstrained_tiles between row_lines and column_lines, constrained_tiles after all tiles.
//
// Above each kernel, or several that are alike: its phase; regions of the workspace (device/workspace.cuh
// says what they hold in each phase) and buffers of the caller that it reads and writes; the work of all
// blocks and the most that one block or warp does, of N tiles and a stream buffer of S bytes. No work depends
// on what a header claims or on how narrow a field is: factz_parse refuses a stream of another shape than the
// caller's, and the kernels after it then end at once. No result depends on the order of blocks.
// clang-format off
#include "capacities.cuh"
#include "compress/statistics/statistics.cuh"
#include "compress/bounds/sort.cuh"
#include "compress/tiles/tune.cuh"
#include "compress/bounds/cheap_bounds.cuh"
#include "compress/bounds/constrained_vertices.cuh"
#include "compress/bounds/determinant_bounds.cuh"
#include "compress/tiles/anchors.cuh"
#include "compress/tiles/lines/lattice_lines.cuh"
#include "compress/tiles/interior/tiles.cuh"
#include "compress/tiles/border/tiles.cuh"
#include "compress/tiles/speculative/tiles.cuh"
#include "compress/tiles/lorenzo/unconstrained_tiles.cuh"
#include "compress/tiles/lorenzo/constrained_tiles.cuh"
#include "compress/tiles/lorenzo/border_tiles.cuh"
#include "compress/seam.cuh"
#include "compress/count/count.cuh"
#include "compress/count/count_lorenzo.cuh"
#include "compress/tables/tables.cuh"
#include "compress/encode/encode.cuh"
#include "compress/encode/encode_lorenzo.cuh"
#include "compress/assemble.cuh"
#include "decompress/begin.cuh"
#include "decompress/parse.cuh"
#include "decompress/check.cuh"
#include "decompress/decode.cuh"
#include "decompress/anchor_values.cuh"
#include "decompress/reconstruct_border.cuh"
#include "decompress/reconstruct.cuh"
#include "decompress/reconstruct_lorenzo.cuh"
#include "volume/compress/statistics.cuh"
#include "volume/compress/prepare.cuh"
#include "volume/compress/tune.cuh"
#include "volume/compress/coarse.cuh"
#include "volume/compress/quantize.cuh"
#include "volume/compress/verify.cuh"
#include "repair/rounds.cuh"
#include "repair/chunks.cuh"
#include "volume/compress/count.cuh"
#include "volume/compress/encode.cuh"
#include "volume/begin.cuh"
#include "volume/decode.cuh"
#include "volume/parse.cuh"
#include "volume/reconstruct.cuh"
#include "repair/fix/survey.cuh"
#include "repair/fix/write.cuh"
#include "repair/fix/apply.cuh"
#include "analysis/compare.cuh"
#include "analysis/open_triangles.cuh"
#include "analysis/critical_points.cuh"
#ifndef FACTZ_EMULATED
#include "analysis/inspect.cuh"
#endif

// Devices below compute capability 8.0 have less shared memory.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define BY_DEVICE(large, small) small
#else
#define BY_DEVICE(large, small) large
#endif

// An entry: the element type, the argument, threads of a block and blocks on a multiprocessor (at least), how
// it waits for the previous kernel (device/overlap.cuh), what it calls.
#define ENTRY(name, Element, Argument, bounds, waits, ...)                                           \
    extern "C" __global__ void __launch_bounds__ bounds name(const __grid_constant__ Argument job) { \
        typedef Element T;                                                                           \
        waits();                                                                                     \
        __VA_ARGS__(job);                                                                            \
    }
// For both element types.
#define KERNEL(name, Argument, bounds_f32, bounds_f64, waits, ...)          \
    ENTRY(name##_f32, float, Argument, bounds_f32, waits, __VA_ARGS__)      \
    ENTRY(name##_f64, double, Argument, bounds_f64, waits, __VA_ARGS__)

// Generated from here on: do not edit.

// statistics: reads field; writes control symbol_counts nearness seen; work: vertices once or twice; few
//     strips: a strip a block, many: strips / 32768 a warp
KERNEL(factz_few_statistics, Job, (128, 8), (128, 4), waits_inside, few_statistics<T>)
KERNEL(factz_statistics, Job, (128, 6), (128, 4), waits_inside, statistics<T>)
KERNEL(factz_few_filled_statistics, Job, (128, 6), (128, 4), waits_inside, few_filled_statistics<T>)
KERNEL(factz_filled_statistics, Job, (128, 6), (128, 4), waits_inside, filled_statistics<T>)

// bounds: reads field control nearness seen; writes control tile_lists bounded_tiles near_cells tile_headers
//     nearness; work: tiles; results of 8192 blocks, 512 at a time, by each block
KERNEL(factz_sort, Job, (512, 2), (512, 2), after_previous, sort_tiles<T>)

// predict + quantize: reads field control; writes control; 18000 shared bytes; work: 9 to 24 tiles, 12 times;
//     a tile a block
KERNEL(factz_tune, Job, (128), (128), after_previous, tune<T>)

// bounds: reads field control bounded_tiles near_cells; writes control vertex_bounds hard_triangles
//     hard_tiles tile_headers nearness; work: listed tiles once; their number / the blocks of the grid
KERNEL(factz_cheap_bounds, Job, (64, 16), (64, 8), overlaps_previous, cheap_bounds<T>)

// bounds: reads field control bounded_tiles near_cells; writes control constrained_rows tile_headers
//     nearness; work: listed tiles once; their number / the warps of the grid
KERNEL(factz_constrained_vertices, Job, (128, 8), (128, 4), overlaps_previous, constrained_vertices<T>)

// bounds: reads field control hard_triangles hard_tiles bounded_tiles nearness; writes control vertex_bounds
//     tile_lists; work: listed triangles once; their number / the warps of the grid
KERNEL(factz_determinant_bounds, Job, (128, 5), (128, 4), after_previous, determinant_bounds<T>)

// bounds: reads control bounded_tiles nearness; writes control tile_lists; work: listed tiles once; their
//     number / the threads of the grid
KERNEL(factz_list_tiles, Job, (128), (128), after_previous, list_tiles<T>)

// predict + quantize: reads field control tile_headers vertex_bounds constrained_rows; writes control anchors
//     anchor_codes; work: tiles once; an anchor a thread
KERNEL(factz_anchors, Job, (128, 5), (128, 4), waits_inside, anchors<T>)

// predict + quantize: reads field control tile_lists anchors anchor_codes; writes control symbols payload
//     tile_headers anchor_codes row_lines; work: tiles once; two tiles a warp, and 14 words for the last
//     coded anchor
KERNEL(factz_unconstrained_tiles, Job, (128, 5), (32, 9), overlaps_previous, unconstrained_tiles<T>)

// predict + quantize: reads field control tile_lists anchors anchor_codes vertex_bounds nearness symbols
//     row_lines column_lines; writes control symbols payload tile_headers anchor_codes; work: listed tiles
//     once; their number / the warps of the grid
KERNEL(factz_constrained_tiles, Job, (64, 8), (32, 8), overlaps_previous, constrained_tiles<T>)

// predict + quantize: reads field control tile_lists anchors anchor_codes vertex_bounds nearness; writes
//     control symbols payload masks tile_headers anchor_codes; work: listed tiles once; their number / the
//     warps of the grid
KERNEL(factz_masked_tiles, Job, (64, 8), (32, 8), overlaps_previous, masked_tiles<T>)

// predict + quantize: reads field control tile_lists anchors anchor_codes vertex_bounds nearness; writes
//     control symbols payload masks tile_headers anchor_codes; work: listed tiles once; their number / the
//     blocks of the grid
KERNEL(factz_border_tiles, Job, (64, 10), (64, 1), overlaps_previous, border_tiles_with_bounds<T>)

// predict + quantize: reads field control bounded_tiles anchors constrained_rows nearness; writes control
//     row_lines symbols payload; work: listed tiles once; their number / the half warps of the grid
KERNEL(factz_row_lines, Job, (128, 4), (128), after_previous, lattice_lines<T, true>)

// predict + quantize: reads field control bounded_tiles anchors constrained_rows nearness row_lines; writes
//     control column_lines symbols payload; work: listed tiles once; their number / the half warps of the
//     grid
KERNEL(factz_column_lines, Job, (128, 4), (128), after_previous, lattice_lines<T, false>)

// predict + quantize: reads field control tile_lists anchors anchor_codes constrained_rows symbols row_lines
//     column_lines; writes control symbols payload masks tile_headers anchor_codes; work: listed tiles once;
//     their number / the warps of the grid
KERNEL(factz_speculative_border, Job, (64, 8), (64, 1), after_previous, speculative_border<T>)
KERNEL(factz_speculative_masked, Job, (64, 8), (64, 1), overlaps_previous, speculative_masked<T>)

// predict + quantize: reads field control tile_lists anchors anchor_codes constrained_rows symbols row_lines
//     column_lines; writes control symbols payload tile_headers anchor_codes; work: listed tiles once; their
//     number / the warps of the grid
KERNEL(factz_speculative_interior, Job, (64, 10), (64, 1), overlaps_previous, speculative_interior<T>)

// predict + quantize: reads field control tile_lists vertex_bounds nearness; writes control symbols payload
//     tile_headers; work: listed tiles once; four tiles a warp
KERNEL(factz_lorenzo_constrained, Job, (128, 6), (128, 3), overlaps_previous, lorenzo_constrained<T>)

// predict + quantize: reads field control tile_lists vertex_bounds nearness; writes control symbols payload
//     masks tile_headers; work: listed tiles once; their number / the warps of the grid
KERNEL(factz_lorenzo_border, Job, (128, 5), (128, 3), overlaps_previous, lorenzo_border<T>)

// predict + quantize: reads field control tile_lists; writes control symbols payload tile_headers; work:
//     tiles once; four tiles a warp
KERNEL(factz_lorenzo_unconstrained, Job, (128, 7), (128, 4), overlaps_previous, lorenzo_unconstrained<T>)

// predict + quantize: reads field control; writes control; work: cells of the seams once; their number / the
//     threads of the grid
KERNEL(factz_seam, Job, (128), (128), after_previous, seam<T>)

// count: reads tile_headers symbols masks; writes symbols list_entries list_sizes symbol_counts; 32672 shared
//     bytes; work: tiles once; N / the warps of the grid
KERNEL(factz_count, Job, (512, BY_DEVICE(3, 2)), (512, BY_DEVICE(3, 2)), waits_inside, count_symbols<T>)

// count: reads tile_headers symbols masks; writes symbol_counts; 35264 shared bytes; work: tiles once; N /
//     the warps of the grid
KERNEL(factz_count_lorenzo, Job, (512, BY_DEVICE(3, 2)),
    (512, BY_DEVICE(3, 2)), waits_inside, count_lorenzo<T>)

// tables: reads control symbol_counts list_sizes tile_headers; writes control code_entries stored_tables
//     chunk_weights list_sizes; work: 50 tables, weights of tiles; N / 1024 sums, 256 at a time, by the last
//     block
KERNEL(factz_rans_tables, Job, (256, 1), (256, 1), waits_inside, tables<T, false>)
KERNEL(factz_huffman_tables, Job, (256, 1), (256, 1), waits_inside, tables<T, true>)

// encode: reads field control tile_headers symbols payload list_entries list_sizes masks anchor_codes
//     code_entries chunk_weights; writes control group_words group_sizes list_sizes; 86144 shared bytes;
//     work: tiles once, 5 searches a group; groups / the warps of the grid
KERNEL(factz_encode_rans, Job, (BY_DEVICE(640, 320), BY_DEVICE(2, 1)),
    (BY_DEVICE(640, 320), BY_DEVICE(2, 1)), waits_inside, encode_groups<T, false>)
KERNEL(factz_encode_huffman, Job, (BY_DEVICE(640, 320), BY_DEVICE(2, 1)),
    (BY_DEVICE(640, 320), BY_DEVICE(2, 1)), waits_inside, encode_groups<T, true>)

// encode: reads control tile_headers symbols payload masks code_entries list_sizes chunk_weights; writes
//     control group_words group_sizes list_sizes; 53768 shared bytes; work: tiles once, 5 searches a group;
//     groups / the warps of the grid
KERNEL(factz_encode_lorenzo_rans, Job, (640, BY_DEVICE(2, 1)),
    (640, BY_DEVICE(2, 1)), waits_inside, encode_lorenzo_groups<T, false>)
KERNEL(factz_encode_lorenzo_huffman, Job, (640, BY_DEVICE(2, 1)),
    (640, BY_DEVICE(2, 1)), waits_inside, encode_lorenzo_groups<T, true>)

// assemble: reads field control group_sizes group_words list_sizes stored_tables; writes control stream
//     report; work: the stream once; a 384th of the groups, 512 at a time
KERNEL(factz_assemble, Job, (512, 3), (512, 3), waits_inside, assemble<T>)

// parse: reads ; writes control; work: N / 512 states; their number / the threads of the grid
KERNEL(factz_begin, Job, (256), (256), after_previous, begin_call<T>)

// parse: reads stream; writes control decoding_tables slot_starts huffman_codes group_offsets group_tiles;
//     work: tables, 40 times the groups' words; the words of all groups, 16384 at a time
KERNEL(factz_parse, Job, (1024, 1), (1024, 1), waits_inside, parse_stream<T>)

// parse: reads stream control; writes control; work: the stream once; S / the threads of the grid
KERNEL(factz_check, Job, (256), (256), waits_inside, check_stream<T>)

// decode: reads stream control decoding_tables slot_starts group_offsets group_tiles; writes control symbols
//     written_steps raw_bits masks tile_headers anchors outer_anchors; 57040 shared bytes; work: groups once,
//     256 tiles each; groups / the groups of the grid, a bad one ends at once
KERNEL(factz_decode_rans, Job, (256, BY_DEVICE(4, 1)),
    (256, BY_DEVICE(4, 1)), overlaps_previous, decode<T, false>)

// decode: reads stream control huffman_codes group_offsets group_tiles; writes control symbols written_steps
//     raw_bits masks tile_headers anchors outer_anchors; 15824 shared bytes; work: groups once, 256 tiles
//     each; groups / the groups of the grid, a bad one ends at once
KERNEL(factz_decode_huffman, Job, (256, BY_DEVICE(4, 1)),
    (256, BY_DEVICE(4, 1)), overlaps_previous, decode<T, true>)

// reconstruct: reads control tile_headers written_steps symbols raw_bits masks; writes field; work: tiles
//     once; four tiles a warp
KERNEL(factz_reconstruct_lorenzo, Job, (256, 3), (256, 2), after_previous, reconstruct_lorenzo<T>)

// reconstruct: reads control group_tiles tile_headers symbols raw_bits masks anchors outer_anchors; writes
//     anchors; work: tiles once; a warp for a group, 32 tiles at a time
KERNEL(factz_anchor_values, Job, (128), (128), waits_inside, anchor_values<T>)

// reconstruct: reads control stream tile_headers written_steps symbols raw_bits masks anchors; writes field
//     report; work: tiles once; N / the blocks of the grid
KERNEL(factz_reconstruct_border, Job, (64), (64), waits_inside, reconstruct_border<T>)

// reconstruct: reads control tile_headers written_steps symbols raw_bits masks anchors; writes field report;
//     work: tiles once; two tiles a warp
KERNEL(factz_reconstruct, Job, (64, 14), (64, 1), overlaps_previous, reconstruct<T>)

// reconstruct: reads control tile_headers written_steps symbols raw_bits masks; writes field; work: tiles
//     once; N / the warps of the grid
KERNEL(factz_reconstruct_other_lorenzo, Job, (256, 3), (256, 2), waits_inside, reconstruct_other_lorenzo<T>)

// statistics: reads ; writes control symbol_counts; work: counters once
KERNEL(factz_begin_compression, Job, (256), (256), after_previous, begin_compression<T>)

// statistics: reads field; writes control; work: vertices once; rows / the warps of the grid
KERNEL(factz_volume_statistics, Job, (256, 4), (256, 4), after_previous, volume_statistics<T>)

// statistics: reads field control; writes levels tile_headers; work: a sixteenth of the vertices once, all
//     where some are zero, missing or pinned; a tile a warp
KERNEL(factz_prepare_tiles, Job, (256, 4), (256, 4), after_previous, prepare_tiles<T>)

// predict + quantize: reads field control levels; writes control values; 73024 shared bytes; work: 4 to 24
//     tiles, 4 times; a tile a block, of f64 4 times
KERNEL(factz_tune_volume, Job, (256, 2), (256, 2), after_previous, tune_volume<T>)

// predict + quantize: reads field control levels tile_headers; writes levels tile_headers codes
//     coarse_singles values list_sizes exact_tiles; work: an eighth of the vertices of closed tiles once; a
//     tile a block
KERNEL(factz_quantize_coarse_volume, Job, (32, 20), (32, 12), after_previous, quantize_coarse_volume<T>)

// predict + quantize: reads field control levels tile_headers coarse_singles values exact_tiles list_sizes;
//     writes control levels tile_headers codes values list_sizes open_cubes open_tiles repair_state; 73024
//     shared bytes; work: closed tiles once; a tile a block
KERNEL(factz_quantize_volume, Job, (256, 3), (256, BY_DEVICE(2, 3)), after_previous, quantize_volume<T>)

// repair: reads field control levels tile_headers values; writes levels; work: vertices on sides with ghosts,
//     24 tetrahedra each; a tile a block
KERNEL(factz_keep_border, Job, (256, 2), (256, 2), after_previous, keep_border<T>)

// repair: reads field control levels tile_headers values open_cubes open_tiles; writes control repair_state;
//     work: tetrahedra of open cubes and tiles once; a share of these
KERNEL(factz_verify, Job, (256, 2), (256, 2), after_previous, verify<T>)

// repair: reads field control levels tile_headers values repair_state; writes control levels repair_state
//     marked_blocks; work: rounds, 192 at most but for one doubling of the tiles each: violated tetrahedra
//     and those around changed vertices; a share of these
KERNEL(factz_repair, Job, (128, 2), (128, 2), in_order, repair<T>)

// count: reads field control levels tile_headers values list_sizes; writes control listed list_ranks; work:
//     vertices once; a tile a block
KERNEL(factz_list_vertices, Job, (256, 4), (256, 4), after_previous, list_vertices<T>)

// count: reads control list_ranks; writes control list_ranks; work: tiles once; all, 4096 at a time
KERNEL(factz_rank_vertices, Job, (1024, 1), (1024, 1), after_previous, rank_vertices<T>)

// count: reads control levels listed list_ranks; writes entries; work: listed vertices once; chunks / the
//     blocks of the grid
KERNEL(factz_plan_chunks, Job, (512), (512), after_previous, plan_chunks<T>)

// count: reads control entries; writes control chunk_places; work: chunks once; all, 1024 at a time
KERNEL(factz_place_list, Job, (1024, 1), (1024, 1), after_previous, place_list<T>)

// count: reads control tile_headers codes; writes positions finest_positions list_sizes symbol_counts; work:
//     tiles once; N / the warps of the grid
KERNEL(factz_count_volume, Job, (256, 4), (256, 4), after_previous, count_volume<T>)

// encode: reads control tile_headers codes positions finest_positions list_sizes code_entries chunk_weights;
//     writes control group_words group_sizes list_sizes; work: tiles once, 5 searches a group; groups / the
//     warps of the grid
KERNEL(factz_encode_volume_rans, Job, (128, 4), (128, 4), after_previous, encode_volume<T, false>)
KERNEL(factz_encode_volume_huffman, Job, (128, 4), (128, 4), after_previous, encode_volume<T, true>)

// assemble: reads field control group_sizes group_words list_sizes stored_tables; writes control stream
//     report; work: the stream once; a 384th of the groups, 512 at a time
KERNEL(factz_assemble_volume, Job, (512, 3), (512, 3), waits_inside, assemble_volume<T>)

// assemble: reads field control report levels tile_headers values listed list_ranks entries chunk_places;
//     writes control stream; work: listed vertices once; chunks / the blocks of the grid
KERNEL(factz_write_list, Job, (512), (512), after_previous, write_list<T>)

// parse: reads ; writes control hidden; work: a bit for each vertex, twice; those / the threads of the grid
KERNEL(factz_begin_volume, Job, (256), (256), after_previous, begin_volume<T>)

// parse: reads stream; writes control decoding_tables slot_starts huffman_codes group_offsets group_tiles;
//     work: tables, 40 times the groups' words; the words of all groups, 16384 at a time
KERNEL(factz_parse_volume, Job, (1024, 1), (1024, 1), after_previous, parse_volume<T>)

// parse: reads stream control; writes control chunks; work: an entry for each chunk; all chunks, 1024 at a
//     time
KERNEL(factz_place_chunks, Job, (1024, 1), (1024, 1), after_previous, place_chunks<T>)

// parse: reads stream control chunks; writes control hidden chunks; work: chunks once, a warp each; their
//     number / the warps of the grid, of 16384 vertices
KERNEL(factz_mark_chunks, Job, (128), (128), after_previous, mark_chunks<T>)

// decode: reads stream control decoding_tables slot_starts group_offsets group_tiles; writes control symbols
//     raw_bits tile_headers; 51984 shared bytes; work: groups once, 256 tiles each; groups / the groups of
//     the grid, a bad one ends at once
KERNEL(factz_decode_volume_rans, Job, (256, BY_DEVICE(4, 1)),
    (256, BY_DEVICE(4, 1)), after_previous, decode_volume<T, false>)

// decode: reads stream control huffman_codes group_offsets group_tiles; writes control symbols raw_bits
//     tile_headers; 10768 shared bytes; work: groups once, 256 tiles each; groups / the groups of the grid, a
//     bad one ends at once
KERNEL(factz_decode_volume_huffman, Job, (256, BY_DEVICE(4, 1)),
    (256, BY_DEVICE(4, 1)), after_previous, decode_volume<T, true>)

// reconstruct: reads control tile_headers symbols raw_bits hidden; writes coarse_values; work: an eighth of
//     the vertices of closed tiles once; a tile a block
KERNEL(factz_reconstruct_coarse_volume, Job, (32, 20), (32, 10), after_previous, reconstruct_coarse_volume<T>)

// reconstruct: reads control stream tile_headers symbols raw_bits hidden coarse_values; writes field; 76352
//     shared bytes; work: tiles once, a block each
KERNEL(factz_reconstruct_volume, Job, (256, BY_DEVICE(3, 1)),
    (256, BY_DEVICE(3, 1)), after_previous, reconstruct_volume<T>)

// reconstruct: reads stream control chunks hidden tile_headers field; writes control chunks field report;
//     work: chunks once, a warp each; their number / the warps of the grid, of 512 vertices
KERNEL(factz_put_chunks, Job, (128), (128), after_previous, put_chunks<T>)

// survey: reads field; writes control; work: vertices once; rows / the warps of the grid
KERNEL(factz_find_bound, Job, (256, 4), (256, 4), after_previous, find_bound<T>)

// survey: reads field other_field control; writes control levels; work: vertices once; tiles / the blocks of
//     the grid
KERNEL(factz_survey_planes, Job, (256, 4), (256, 4), after_previous, survey<T, Triangles>)

// repair: reads field other_field control levels; writes levels; work: vertices on sides with ghosts, the
//     simplices around them; a tile a block
KERNEL(factz_keep_planes_border, Job, (256, 2), (256, 2), after_previous, keep_border_of<T, Triangles>)

// repair: reads field other_field control levels; writes control repair_state; work: simplices once; those of
//     a tile a block
KERNEL(factz_verify_planes, Job, (256, 4), (256, 4), after_previous, verify_reconstruction<T, Triangles>)

// repair: reads field other_field control levels repair_state; writes control levels repair_state
//     marked_blocks; work: rounds, 192 at most but for one doubling of the tiles each: violated simplices and
//     those around changed vertices; a share of these
KERNEL(factz_repair_planes, Job, (128, 4), (128, 4), in_order, repair_reconstruction<T, Triangles>)

// encode: reads control levels; writes control listed list_ranks; work: vertices once; a tile a block
KERNEL(factz_list_planes, Job, (256, 4), (256, 4), after_previous, list_repaired<T, Triangles>)

// encode: reads control list_ranks; writes control list_ranks; work: tiles once; all, 4096 at a time
KERNEL(factz_rank_repaired, Job, (1024, 1), (1024, 1), after_previous, rank_repaired<T>)

// encode: reads control levels listed list_ranks; writes entries; work: listed vertices once; chunks / the
//     blocks of the grid
KERNEL(factz_plan_planes, Job, (512), (512), after_previous, plan_repaired<T, Triangles>)

// encode: reads control entries; writes control chunk_places; work: chunks once; all, 1024 at a time
KERNEL(factz_place_repaired, Job, (1024, 1), (1024, 1), after_previous, place_repaired<T>)

// encode: reads field other_field control levels listed list_ranks entries chunk_places; writes control
//     stream report; work: listed vertices once, or all; chunks / the blocks of the grid
KERNEL(factz_write_planes_fix, Job, (512), (512), after_previous, write_fix<T, Triangles>)

// survey: reads field other_field control; writes control levels; work: vertices once; tiles / the blocks of
//     the grid
KERNEL(factz_survey_volume, Job, (256, 4), (256, 4), after_previous, survey<T, Tetrahedra>)

// repair: reads field other_field control levels; writes levels; work: vertices on sides with ghosts, the
//     simplices around them; a tile a block
KERNEL(factz_keep_volume_border, Job, (256, 2), (256, 2), after_previous, keep_border_of<T, Tetrahedra>)

// repair: reads field other_field control levels; writes control repair_state; work: simplices once; those of
//     a tile a block
KERNEL(factz_verify_volume, Job, (256, 2), (256, 2), after_previous, verify_reconstruction<T, Tetrahedra>)

// repair: reads field other_field control levels repair_state; writes control levels repair_state
//     marked_blocks; work: rounds, 192 at most but for one doubling of the tiles each: violated simplices and
//     those around changed vertices; a share of these
KERNEL(factz_repair_volume, Job, (128, 2), (128, 2), in_order, repair_reconstruction<T, Tetrahedra>)

// encode: reads control levels; writes control listed list_ranks; work: vertices once; a tile a block
KERNEL(factz_list_volume, Job, (256, 4), (256, 4), after_previous, list_repaired<T, Tetrahedra>)

// encode: reads control levels listed list_ranks; writes entries; work: listed vertices once; chunks / the
//     blocks of the grid
KERNEL(factz_plan_volume, Job, (512), (512), after_previous, plan_repaired<T, Tetrahedra>)

// encode: reads field other_field control levels listed list_ranks entries chunk_places; writes control
//     stream report; work: listed vertices once, or all; chunks / the blocks of the grid
KERNEL(factz_write_volume_fix, Job, (512), (512), after_previous, write_fix<T, Tetrahedra>)

// check: reads stream; writes control; work: a header
KERNEL(factz_parse_fix, Job, (32), (32), after_previous, parse_fix<T>)

// check: reads field control; writes control; work: vertices once; rows / the warps of the grid
KERNEL(factz_sum_values, Job, (256), (256), after_previous, sum_values<T>)

// check: reads stream control chunks; writes control chunks; work: listed vertices once; slots of chunks /
//     the warps of the grid
KERNEL(factz_check_planes_fix, Job, (128), (128), after_previous, check_chunks<T, Triangles>)

// write: reads stream control chunks field; writes field; work: listed vertices once, or all; slots of chunks
//     / the warps of the grid
KERNEL(factz_put_planes_levels, Job, (128), (128), after_previous, put_levels<T, Triangles>)

// write: reads stream control chunks; writes field report; work: listed vertices once; slots of chunks / the
//     warps of the grid
KERNEL(factz_put_planes_zeros, Job, (128), (128), after_previous, put_zeros<T, Triangles>)

// check: reads stream control chunks; writes control chunks; work: listed vertices once; slots of chunks /
//     the warps of the grid
KERNEL(factz_check_volume_fix, Job, (128), (128), after_previous, check_chunks<T, Tetrahedra>)

// write: reads stream control chunks field; writes field; work: listed vertices once, or all; slots of chunks
//     / the warps of the grid
KERNEL(factz_put_volume_levels, Job, (128), (128), after_previous, put_levels<T, Tetrahedra>)

// write: reads stream control chunks; writes field report; work: listed vertices once; slots of chunks / the
//     warps of the grid
KERNEL(factz_put_volume_zeros, Job, (128), (128), after_previous, put_zeros<T, Tetrahedra>)

// analysis: reads field counts; writes counts; work: vertices once; bands of 32 rows / the warps of the grid
KERNEL(factz_find_range, Analysis, (256, 4), (256, 4), in_order, analysis::find_range<T, false>)
KERNEL(factz_find_range_stack, Analysis, (256, 4), (256, 4), in_order, analysis::find_range<T, true>)

// analysis: reads counts; writes range; work: the counts
KERNEL(factz_range_end, Analysis, (32, 1), (32, 1), in_order, analysis::range_end<T>)

// analysis: reads field other_field counts; writes counts parts open_triangles; work: vertices once; bands of
//     32 rows / the warps of the grid
KERNEL(factz_compare, Analysis, (256, 2), (256, 2), in_order, analysis::compare<T, false>)
KERNEL(factz_compare_stack, Analysis, (256, 2), (256, 2), in_order, analysis::compare<T, true>)

// analysis: reads field other_field open_triangles counts parts; writes counts parts; work: triangles that
//     signs leave open; those of 16 rows of 32 lanes / the warps of the grid
KERNEL(factz_compare_triangles, Analysis, (128, 3), (128, 3), in_order, analysis::compare_triangles<T>)

// analysis: reads counts parts; writes parts comparison; work: a part for each band of 32 rows; half of them,
//     1024 at a time
KERNEL(factz_compare_end, Analysis, (1024, 1), (1024, 1), in_order, analysis::compare_end<T>)

// analysis: reads field point_parts; writes segments point_parts; work: vertices once; bands of 32 rows / the
//     warps of the grid
KERNEL(factz_find_points, Analysis, (256, 4), (256, 4), in_order, analysis::find_points<T, false>)
KERNEL(factz_find_points_stack, Analysis, (256, 4), (256, 4), in_order, analysis::find_points<T, true>)

// analysis: reads point_parts; writes point_parts count; work: a number for 32 segments; as many, 4096 at a
//     time
KERNEL(factz_place_points, Analysis, (1024, 1), (1024, 1), in_order, analysis::place_points<T>)

// analysis: reads field segments point_parts; writes points; work: segments with points; parts of 32 segments
//     / the warps of the grid
KERNEL(factz_write_points, Analysis, (256, 2), (256, 2), in_order, analysis::write_points<T>)

// analysis: reads stream; writes info; work: a header
#ifndef FACTZ_EMULATED
ENTRY(factz_inspect, void, Inspection, (32), in_order, analysis::inspect)
#endif

// Sizes of structs of the kernels, as src/cuda/shared_memory.rs has them.
static_assert(sizeof(Nearness) == 48, "as in Rust");
static_assert(sizeof(CountShared) == 32672, "as in Rust");
static_assert(sizeof(RowCountShared) == 35264, "as in Rust");
static_assert(sizeof(EncodeLists) == 1348, "as in Rust");
static_assert(sizeof(MaskLists) == 320, "as in Rust");
static_assert(sizeof(EncodeMasks) == 832, "as in Rust");
static_assert(sizeof(Chunk) == 1792, "as in Rust");
static_assert(sizeof(EncodeGroup) == 16320, "as in Rust");
static_assert(sizeof(EncodeShared) == BY_DEVICE(86144, 54704), "as in Rust");
static_assert(sizeof(RowShared) == 53768, "as in Rust");
static_assert(sizeof(GroupWords) == 384, "as in Rust");
static_assert(sizeof(BatchLists) == 576, "as in Rust");
static_assert(sizeof(DecodeGroup) == 3792, "as in Rust");
static_assert(sizeof(DecodeRows) == 1536, "as in Rust");
static_assert(sizeof(DecodeShared<false>) == 57040, "as in Rust");
static_assert(sizeof(DecodeShared<true>) == 15824, "as in Rust");
static_assert(sizeof(VolumeDecodeShared<false>) == 51984, "as in Rust");
static_assert(sizeof(VolumeDecodeShared<true>) == 10768, "as in Rust");
static_assert(sizeof(VolumeShared<float>) == BY_DEVICE(76352, 30112), "as in Rust");
static_assert(sizeof(VolumeShared<double>) == 54768, "as in Rust");
static_assert(sizeof(QuantizeShared<float>) == 73024, "as in Rust");
static_assert(sizeof(QuantizeShared<double>) == 8656, "as in Rust");
