// All kernels in one translation unit. Every kernel takes one Job; its grid and block are in
// src/backend/cuda/launch.rs, its shared memory is static. No result depends on the order of blocks.
#include "abi.cuh"
#include "coding.cuh"
#include "tiles.cuh"
#include "decoding.cuh"

#define KERNEL(name, threads, call)                                                            \
    extern "C" __global__ void __launch_bounds__(threads) name##_f32(const __grid_constant__ Job job) { call<float>(job); } \
    extern "C" __global__ void __launch_bounds__(threads) name##_f64(const __grid_constant__ Job job) { call<double>(job); }
#define LINE_KERNEL(name, across)                                                                          \
    extern "C" __global__ void __launch_bounds__(128) name##_f32(const __grid_constant__ Job job) { lines<float, across>(job); } \
    extern "C" __global__ void __launch_bounds__(128) name##_f64(const __grid_constant__ Job job) { lines<double, across>(job); }

#define WHOLE_KERNEL(name, limits)                                                                         \
    extern "C" __global__ void __launch_bounds__(128) name##_f32(const __grid_constant__ Job job) { whole_tiles<float, limits>(job); } \
    extern "C" __global__ void __launch_bounds__(64) name##_f64(const __grid_constant__ Job job) { whole_tiles<double, limits>(job); }

KERNEL(factz_statistics, 256, statistics)
KERNEL(factz_tune, 32, tune)
KERNEL(factz_constrain, 256, constrain)
KERNEL(factz_bounds, 128, bounds)
KERNEL(factz_anchors, 128, anchors)
LINE_KERNEL(factz_across, true)
LINE_KERNEL(factz_down, false)
WHOLE_KERNEL(factz_plain, false)
WHOLE_KERNEL(factz_tight, true)
KERNEL(factz_others, 64, other_tiles)
KERNEL(factz_count, 512, count_symbols)
KERNEL(factz_tables, 1024, make_tables)
KERNEL(factz_encode, 32 * ENCODE_WARPS, encode_groups)
KERNEL(factz_offsets, 1024, place_groups)
KERNEL(factz_gather, 256, gather)
KERNEL(factz_open, 1024, open_stream)
KERNEL(factz_check, 256, check_stream)
KERNEL(factz_decode, 32 * DECODE_WARPS, decode_groups)
KERNEL(factz_anchor_values, 256, anchor_values)
KERNEL(factz_restore, 128, restore)
extern "C" __global__ void factz_inspect(const __grid_constant__ Job job) { inspect(job); }
