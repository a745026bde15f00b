// All kernels in one translation unit. Every kernel takes one Job, those of the analysis one Analysis, that of
// made fields one Synthesis; grids and blocks are in src/backend/cuda/launch.rs, analysis.rs and synthetic.rs, shared
// memory is static. No result depends on the order of blocks.
#include "abi.cuh"
#include "critical_points.cuh"
#include "inspect.cuh"
#include "gathering.cuh"
#include "other_tiles.cuh"
#include "restore.cuh"
#include "lorenzo.cuh"
#include "synthetic.cuh"

#define KERNEL(name, threads, call)                                                            \
    extern "C" __global__ void __launch_bounds__(threads) name##_f32(const __grid_constant__ Job job) { call<float>(job); } \
    extern "C" __global__ void __launch_bounds__(threads) name##_f64(const __grid_constant__ Job job) { call<double>(job); }
// With registers for so many blocks where values have four bytes.
#define BOUNDED_KERNEL(name, threads, blocks, call)                                                                                 \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name##_f32(const __grid_constant__ Job job) { call<float>(job); } \
    extern "C" __global__ void __launch_bounds__(threads) name##_f64(const __grid_constant__ Job job) { call<double>(job); }
#define LINE_KERNEL(name, across)                                                                          \
    extern "C" __global__ void __launch_bounds__(128) name##_f32(const __grid_constant__ Job job) { lines<float, across>(job); } \
    extern "C" __global__ void __launch_bounds__(128) name##_f64(const __grid_constant__ Job job) { lines<double, across>(job); }

#define WHOLE_KERNEL(name, call, threads, blocks)                                                          \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name##_f32(const __grid_constant__ Job job) { call<float>(job); } \
    extern "C" __global__ void __launch_bounds__(32, 9) name##_f64(const __grid_constant__ Job job) { call<double>(job); }

KERNEL(factz_statistics, 256, statistics)
KERNEL(factz_tune, 32 * TUNE_WARPS, tune)
KERNEL(factz_sort, 128, sort_tiles)
KERNEL(factz_limits, 128, limits)
KERNEL(factz_bounds, 128, bounds)
KERNEL(factz_anchors, 128, anchors)
LINE_KERNEL(factz_across, true)
LINE_KERNEL(factz_down, false)
WHOLE_KERNEL(factz_plain, plain_tiles, 128, 6)
WHOLE_KERNEL(factz_tight, tight_tiles, 64, 8)
BOUNDED_KERNEL(factz_others, 32 * OTHER_WARPS, 10, other_tiles)
#define CODER_KERNEL(name, threads, call, huffman)                                                          \
    extern "C" __global__ void __launch_bounds__(threads) name##_f32(const __grid_constant__ Job job) { call<float, huffman>(job); } \
    extern "C" __global__ void __launch_bounds__(threads) name##_f64(const __grid_constant__ Job job) { call<double, huffman>(job); }

KERNEL(factz_collect, 32 * COLLECT_WARPS, collect)
CODER_KERNEL(factz_tables, 1024, tables, false)
CODER_KERNEL(factz_make_codes, 1024, tables, true)
CODER_KERNEL(factz_encode, 32 * ENCODE_WARPS, encode_groups, false)
CODER_KERNEL(factz_encode_huffman, 32 * ENCODE_WARPS, encode_groups, true)
KERNEL(factz_lorenzo_plain, 32 * LORENZO_WARPS, lorenzo_plain)
BOUNDED_KERNEL(factz_lorenzo_others, 32 * LORENZO_WARPS, 4, lorenzo_others)
KERNEL(factz_offsets, 1024, place_groups)
KERNEL(factz_gather, 256, gather)
KERNEL(factz_open, 1024, open_stream)
KERNEL(factz_open_codes, 256, open_codes)
KERNEL(factz_lorenzo_restore, 32 * LORENZO_RESTORE_WARPS, lorenzo_restore)
KERNEL(factz_check, 256, check_stream)
CODER_KERNEL(factz_decode, 32 * DECODE_WARPS, decode_groups, false)
CODER_KERNEL(factz_decode_huffman, 32 * DECODE_WARPS, decode_groups, true)
KERNEL(factz_anchor_values, 256, anchor_values)
KERNEL(factz_restore_others, 64, restore_others)
BOUNDED_KERNEL(factz_restore, 64, 14, restore)

#define ANALYSIS_KERNEL(name, threads, blocks, call)                                                                        \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name##_f32(const __grid_constant__ Analysis job) { analysis::call<float>(job); } \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name##_f64(const __grid_constant__ Analysis job) { analysis::call<double>(job); }

ANALYSIS_KERNEL(factz_compare, 256, 2, compare)
ANALYSIS_KERNEL(factz_compare_end, 1024, 1, compare_end)
ANALYSIS_KERNEL(factz_find_points, 256, 3, find_points)
ANALYSIS_KERNEL(factz_place_points, 1024, 1, place_points)
ANALYSIS_KERNEL(factz_write_points, 256, 2, write_points)
extern "C" __global__ void __launch_bounds__(32) factz_inspect(const __grid_constant__ Inspection job) { analysis::inspect(job); }

#define SYNTHETIC_KERNEL(name, T) \
    extern "C" __global__ void __launch_bounds__(synthetic::THREADS, 3) name(const __grid_constant__ Synthesis job) { synthetic::make<T>(job); }

SYNTHETIC_KERNEL(factz_synthetic_f32, float)
SYNTHETIC_KERNEL(factz_synthetic_f64, double)
