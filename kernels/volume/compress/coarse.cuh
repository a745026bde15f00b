// The coarse levels of tiles of a volume, quantized. Twin of src/volume/layer.rs.
#pragma once
#include "tile/volume.cuh"
#include "volume/compress/tile_codes.cuh"

template <typename T>
struct CoarseShared {
    VolumeWindow<T, 3, 1> window;
    QuantizingSteps<T, LEVELS> steps;
    TileCodes<COARSE_POSITIONS> codes;
};

// Grid: tiles. Block: COARSE_THREADS threads, the coarse levels of a tile. Static shared: CoarseShared.
// Reads: the field, levels, bound shifts, interpolants and steps. Writes: symbols and raw bits of the coarse
// levels, their values, levels of vertices whose reconstruction is not within the bound, activities, the
// largest error of each tile, whether it has such vertices.
template <typename T>
__device__ __forceinline__ void quantize_coarse_volume(const Job& job) {
    __shared__ CoarseShared<T> shared;
    const Control& control = control_of(job);
    if (is_stored_volume(control)) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    const VolumeCodeView<T> work(job);
    begin_quantizing(job, tile, shared.steps, shared.codes);
    load_coarse_originals(job, tile, shared.window);
    typedef VolumeWindow<T, 3, 1> Window;
    TileCoder<T, 0, LEVELS, Window> coder(job, tile, shared.steps, shared.codes, shared.window);
    visit_coarse_levels(
        tile, shared.window, control.interpolants,
        [&](i32 level) {
            if (level == 1) coder.add_cost(shared.codes.costs[0]);
        },
        coder);
    coder.add_cost(shared.codes.costs[1]);
    for_coarse_vertices<COARSE_THREADS>(tile, [&](i32 k, i32 x, i32 y, i32 z) {
        const i32 at = window_index(2 * x, 2 * y, 2 * z);
#pragma unroll
        for (i32 c = 0; c < 3; c++) work.coarse_value(tile.index, c, k, at) = shared.window.values[c][k];
    });
    store_symbols<T, 0>(job, tile, shared.codes);
    const double largest = largest_of_block((double)coder.largest);
    const bool other_values = __syncthreads_or(!coder.all_good);
    if (threadIdx.x != 0) return;
    sizes_of(job, tile.index).largest_error = largest;
    work.exact_tiles()[tile.index] = other_values;
}
