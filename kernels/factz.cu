// All kernels in one translation unit. Every kernel takes one Job, those of the analysis one Analysis;
// grids and blocks are in src/cuda/schedule.rs and analysis.rs, shared memory is static but for that of the
// coder. No result depends on the order of blocks.
//
// No kernel's work depends on what a header claims or on how narrow a field is: all of it is bounded by the
// memory that a call was given, of N tiles and a stream of S bytes. A stream of another shape than the
// caller's is refused by `open`; the kernels behind it then end at once.
//
//   kernel                              reads and writes in all            most that one block or warp does
//   one after the other begin                               N / 512 states                     N / 512 / 768
//   statistics                          vertices once or twice             4096 strips share 4096 blocks;
//   more: strips / 32768 a warp sort                                tiles; 16 N ranges of blocks       8192
//   ranges, 512 at a time tune                                24 tiles, 12 times                 a tile
//   limits, bounds, lines, other and    listed tiles and triangles once    their number / the warps of the
//   grid
//     constrained tiles
//   anchors, plain, lorenzo_plain       tiles once, a bit for each         a tile; the last coded anchor: 14
//   words (anchor_scan.cuh) collect, lorenzo_count              tiles once                         N / the
//   warps of the grid tables                              50 tables, weights of tiles        N / 1024 sums,
//   256 at a time, by the last block encode                              tiles once; 5 searches a group
//   groups / the warps of the grid gather                              the stream once                    a
//   384th of the groups, 512 at a time open                                tables; 40 times the groups' words
//   the words of all groups, 16384 at a time check                               the stream once S / the
//   threads of the grid decode                              groups once, 256 tiles each        groups / the
//   warps of the grid; a bad one ends at once anchor_values                       tiles once, N / 512 sums
//   two tiles a thread; blocks at work / 32 steps back restore, lorenzo_restore            tiles once a tile,
//   or N / the warps of the grid compare, find_points                vertices once                      bands
//   of 32 rows / the warps of the grid compare_end                         a number for 32 rows of a chunk
//   twice as many, 1024 at a time place_points                        a number for 32 segments           as
//   many, 4096 at a time write_points                        segments with points               parts of 32
//   segments / the warps of the grid inspect                             a header                           a
//   header
#include "device/shared.cuh"
#include "device/capacities.cuh"
#include "compress/statistics.cuh"
#include "compress/sort.cuh"
#include "compress/tune.cuh"
#include "compress/cheap_bounds.cuh"
#include "compress/determinant_bounds.cuh"
#include "compress/anchors.cuh"
#include "compress/lattice_lines.cuh"
#include "compress/interior_tiles.cuh"
#include "compress/border_tiles.cuh"
#include "compress/lorenzo_unconstrained_tiles.cuh"
#include "compress/lorenzo_constrained_tiles.cuh"
#include "compress/lorenzo_border_tiles.cuh"
#include "compress/count.cuh"
#include "compress/count_lorenzo.cuh"
#include "compress/tables.cuh"
#include "compress/encode.cuh"
#include "compress/encode_lorenzo.cuh"
#include "compress/assemble.cuh"
#include "decompress/parse.cuh"
#include "decompress/check.cuh"
#include "decompress/decode.cuh"
#include "decompress/anchor_values.cuh"
#include "decompress/reconstruct_border.cuh"
#include "decompress/reconstruct.cuh"
#include "decompress/reconstruct_lorenzo.cuh"
#include "analysis/critical_points.cuh"
#ifndef FACTZ_EMULATED
#include "analysis/inspect.cuh"
#endif

#define ENTRY(name, bounds, begin, ...)                                                         \
    extern "C" __global__ void __launch_bounds__ bounds name(const __grid_constant__ Job job) { \
        begin();                                                                                \
        __VA_ARGS__(job);                                                                       \
    }
#define KERNEL(name, threads, begin, call)           \
    ENTRY(name##_f32, (threads), begin, call<float>) \
    ENTRY(name##_f64, (threads), begin, call<double>)
#define FLAGGED_KERNEL(name, threads, call, flag)                        \
    ENTRY(name##_f32, (threads), after_kernel_before, call<float, flag>) \
    ENTRY(name##_f64, (threads), after_kernel_before, call<double, flag>)
// With registers for so many blocks, by the bytes of a value.
#define BOUNDED_KERNEL(name, threads4, blocks4, threads8, blocks8, begin, call) \
    ENTRY(name##_f32, (threads4, blocks4), begin, call<float>)                  \
    ENTRY(name##_f64, (threads8, blocks8), begin, call<double>)

// With registers for as many blocks as have their shared memory.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define GROUP_BLOCKS 1
#define ENCODE_BLOCKS 1
#define LORENZO_CODE_BLOCKS 1
#define COLLECT_BLOCKS 2
#else
#define GROUP_BLOCKS 4
#define ENCODE_BLOCKS 2
#define LORENZO_CODE_BLOCKS 2
#define COLLECT_BLOCKS 3
#endif
#define FLAGGED_BOUNDED_KERNEL(name, threads, blocks, begin, call, flag) \
    ENTRY(name##_f32, (threads, blocks), begin, call<float, flag>)       \
    ENTRY(name##_f64, (threads, blocks), begin, call<double, flag>)
#define GROUP_KERNEL(name, threads, begin, call, huffman) \
    FLAGGED_BOUNDED_KERNEL(name, threads, GROUP_BLOCKS, begin, call, huffman)

KERNEL(factz_begin, 256, after_kernel_before, begin_call)
BOUNDED_KERNEL(factz_statistics, 32 * STATISTICS_WARPS, 6, 32 * STATISTICS_WARPS, 4, by_itself, statistics)
BOUNDED_KERNEL(factz_few_statistics, 32 * STRIP_PARTS, 8, 32 * STRIP_PARTS, 4, by_itself, few_statistics)
BOUNDED_KERNEL(
    factz_filled_statistics, 32 * STATISTICS_WARPS, 6, 32 * STATISTICS_WARPS, 4, by_itself, filled_statistics)
BOUNDED_KERNEL(
    factz_few_filled_statistics, 32 * STRIP_PARTS, 6, 32 * STRIP_PARTS, 4, by_itself, few_filled_statistics)
BOUNDED_KERNEL(factz_sort, 32 * SORT_WARPS, 2, 32 * SORT_WARPS, 2, after_kernel_before, sort_tiles)
KERNEL(factz_tune, 32 * TUNE_WARPS, after_kernel_before, tune)
BOUNDED_KERNEL(factz_limits, 64, 16, 64, 8, beside_kernel_before, cheap_bounds)
BOUNDED_KERNEL(factz_bounds, 128, 5, 128, 4, after_kernel_before, determinant_bounds)
BOUNDED_KERNEL(factz_anchors, 128, 5, 128, 4, by_itself, anchors)
FLAGGED_KERNEL(factz_across, 128, lattice_lines, true)
BOUNDED_KERNEL(factz_plain, (32 * INTERIOR_WARPS<float, false>), 5, (32 * INTERIOR_WARPS<double, false>), 9,
    beside_kernel_before, unconstrained_tiles)
FLAGGED_KERNEL(factz_down, 128, lattice_lines, false)
BOUNDED_KERNEL(
    factz_others, 32 * BORDER_WARPS, 10, 32 * BORDER_WARPS, 1, beside_kernel_before, border_tiles_with_bounds)
BOUNDED_KERNEL(
    factz_speculative, 32 * BORDER_WARPS, 10, 32 * BORDER_WARPS, 1, after_kernel_before, speculative_tiles)
BOUNDED_KERNEL(factz_tight, (32 * INTERIOR_WARPS<float, true>), 10, (32 * INTERIOR_WARPS<double, true>), 12,
    beside_kernel_before, constrained_tiles)
BOUNDED_KERNEL(factz_lorenzo_plain, 32 * LORENZO_INTERIOR_WARPS, 7, 32 * LORENZO_INTERIOR_WARPS, 4,
    beside_kernel_before, lorenzo_unconstrained)
BOUNDED_KERNEL(factz_lorenzo_tight, 32 * LORENZO_INTERIOR_WARPS, 6, 32 * LORENZO_INTERIOR_WARPS, 3,
    beside_kernel_before, lorenzo_constrained)
BOUNDED_KERNEL(factz_lorenzo_others, 32 * LORENZO_BORDER_WARPS, 5, 32 * LORENZO_BORDER_WARPS, 3,
    beside_kernel_before, lorenzo_border)
BOUNDED_KERNEL(factz_lorenzo_count, 32 * ROW_COUNT_WARPS, COLLECT_BLOCKS, 32 * ROW_COUNT_WARPS,
    COLLECT_BLOCKS, by_itself, count_lorenzo)
BOUNDED_KERNEL(factz_collect, 32 * COUNT_WARPS, COLLECT_BLOCKS, 32 * COUNT_WARPS, COLLECT_BLOCKS, by_itself,
    count_symbols)
FLAGGED_BOUNDED_KERNEL(factz_tables, TABLE_THREADS, 1, by_itself, tables, false)
FLAGGED_BOUNDED_KERNEL(factz_make_codes, TABLE_THREADS, 1, by_itself, tables, true)
FLAGGED_BOUNDED_KERNEL(factz_encode, 32 * ENCODE_WARPS, ENCODE_BLOCKS, by_itself, encode_groups, false)
FLAGGED_BOUNDED_KERNEL(factz_encode_huffman, 32 * ENCODE_WARPS, ENCODE_BLOCKS, by_itself, encode_groups, true)
FLAGGED_BOUNDED_KERNEL(
    factz_encode_lorenzo, 32 * ROW_CODE_WARPS, LORENZO_CODE_BLOCKS, by_itself, encode_lorenzo_groups, false)
FLAGGED_BOUNDED_KERNEL(factz_encode_lorenzo_huffman, 32 * ROW_CODE_WARPS, LORENZO_CODE_BLOCKS, by_itself,
    encode_lorenzo_groups, true)
BOUNDED_KERNEL(factz_gather, 32 * ASSEMBLE_WARPS, 3, 32 * ASSEMBLE_WARPS, 3, by_itself, assemble)

BOUNDED_KERNEL(factz_open, 1024, 1, 1024, 1, by_itself, parse_stream)
KERNEL(factz_check, 256, by_itself, check_stream)
GROUP_KERNEL(factz_decode, 32 * DECODE_WARPS, beside_kernel_before, decode, false)
GROUP_KERNEL(factz_decode_huffman, 32 * DECODE_WARPS, beside_kernel_before, decode, true)
KERNEL(factz_anchor_values, ANCHOR_THREADS, by_itself, anchor_values)
KERNEL(factz_restore_others, 64, by_itself, reconstruct_border)
BOUNDED_KERNEL(factz_restore, 64, 14, 64, 1, beside_kernel_before, reconstruct)
BOUNDED_KERNEL(factz_lorenzo_restore, 32 * LORENZO_RECONSTRUCT_WARPS, 3, 32 * LORENZO_RECONSTRUCT_WARPS, 2,
    after_kernel_before, reconstruct_lorenzo)

#define ANALYSIS_KERNEL(name, threads, blocks, call)              \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        name##_f32(const __grid_constant__ Analysis job) {        \
        analysis::call<float>(job);                               \
    }                                                             \
    extern "C" __global__ void __launch_bounds__(threads, blocks) \
        name##_f64(const __grid_constant__ Analysis job) {        \
        analysis::call<double>(job);                              \
    }

ANALYSIS_KERNEL(factz_compare, 256, 2, compare)
ANALYSIS_KERNEL(factz_compare_end, 1024, 1, compare_end)
ANALYSIS_KERNEL(factz_find_points, 256, 3, find_points)
ANALYSIS_KERNEL(factz_place_points, 1024, 1, place_points)
ANALYSIS_KERNEL(factz_write_points, 256, 2, write_points)
ANALYSIS_KERNEL(factz_find_range, 256, 4, find_range)
ANALYSIS_KERNEL(factz_range_end, 32, 1, range_end)

#ifndef FACTZ_EMULATED
extern "C" __global__ void __launch_bounds__(32) factz_inspect(const __grid_constant__ Inspection job) {
    analysis::inspect(job);
}
#endif
