// Vertices whose surroundings decide on their reconstruction, in the speculative mode: coded by a warp
// together. Twin of src/tile/vertex.rs.
#pragma once
#include "compress/quantize_vertex.cuh"
#include "tile/encode.cuh"

// The nearest reconstruction without a refinement. It is `kept` if it meets the bounds and no signature can
// change.
template <typename T>
struct FirstTry {
    Quantized<T> q;
    T error;
    bool kept;
};
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ FirstTry<T> first_try(const Steps<T>& steps, const TileWindow<T>& window, i32 x,
    i32 y, P original, P prediction, T vertex_bound, i32 level) {
    FirstTry<T> first;
    first.q = quantize<T>(original, prediction, steps.level[level].step[0]);
    first.error = distance<T>(first.q.value, original);
    first.kept = first.q.fits & (first.error <= steps.accept && first.error < vertex_bound);
    if (is_constrained(vertex_bound))
        first.kept = first.kept && stays_one_sided<T>(window, x, y, first.q.value);
    return first;
}

// The window of all lanes of a warp. Other types have a window for each lane.
template <typename T>
struct CommonWindow {
    TileWindow<T> window;
    __device__ __forceinline__ TileWindow<T> of(i32) const { return window; }
};

// The place of a waiting vertex: WAITS | x | y << 6. 0: the lane's vertex does not wait.
constexpr u32 WAITS = 1 << 12;

// The waiting vertices of a warp, five at a time: the first reconstruction that keeps the bound and, if the
// vertex is constrained, the signatures around it. Lane 6 i + k looks at triangle k of the vertex in slot i;
// a slot whose vertex is settled takes the next one. Returns the number of the reconstruction of the lane's
// vertex (of a vertex without constraints its refinement), or -1 if it is stored. Call with a warp.
template <typename T, typename Windows, typename P = typename Real<T>::Pair>
__device__ __forceinline__ i32 find_trial(const Rule& rule, const Steps<T>& steps, const Windows& windows,
    u32 my_place, P my_prediction, T my_bound, i32 level) {
    constexpr u32 FIRST_OF_SLOTS = 0x01041041;  // a lane of each slot
    constexpr i32 NONE = -1;
    const i32 lane = threadIdx.x & 31, slot = lane / 6, k = lane % 6;
    const bool has_slot = slot < 5;
    i32 mine = NONE, owner = NONE, number = 0;
    Signature before = OUT;
    u32 left = __ballot_sync(FULL, my_place != 0);
#pragma unroll 1
    while (true) {
        // Free slots take the next vertices.
        const u32 free = __ballot_sync(FULL, has_slot && owner == NONE) & FIRST_OF_SLOTS;
        if (left == 0 && free == FIRST_OF_SLOTS) return mine;
        const bool takes = left != 0 && free != 0;
        if (takes) {
            u32 own = left;
            const i32 earlier = __popc(free & ((1u << 6 * slot) - 1)), all = __popc(free);
#pragma unroll
            for (i32 i = 0; i < 5; i++) {
                if (i < earlier) own &= own - 1;
                if (i < all) left &= left - 1;
            }
            if (has_slot && owner == NONE && own != 0) owner = __ffs(own) - 1, number = 0;
        }
        const bool active = owner != NONE;
        const i32 from = active ? owner : 0;
        const TileWindow<T> window = windows.of(from);
        const u32 place = __shfl_sync(FULL, my_place, from);
        const i32 x = place & 63, y = place >> 6 & 63;
        const P prediction = shuffle<T>(my_prediction, from);
        const T vertex_bound = __shfl_sync(FULL, my_bound, from);
        const bool constrained = is_constrained(vertex_bound),
                   compares = active && constrained && has_triangle(window, x, y, k);
        bool ends = false, passes = false, unmoved = false;
        P candidate = prediction;
        if (active) {
            const P original = window.values[y * window.pitch + x];
            if (takes && number == 0)
                before = compares ? signature(
                                        corners_around(window, x, y, original, k), incident_triangle(k), rule)
                                  : OUT;
            const Trial trial(constrained ? number : 0);
            const P step = steps.level[level].step[constrained ? trial.refinement : number];
            Quantized<T> q = quantize<T>(original, prediction, step);
            // Finer codes are larger: they do not fit either.
            ends = !q.fits;
            passes = !ends && move_to_neighbour<T>(q, original, prediction, step.x, trial.neighbour);
            const T error = distance<T>(q.value, original);
            unmoved = error == T(0);
            passes = passes && (unmoved || (error <= steps.accept && error < vertex_bound));
            candidate = q.value;
        }
        if (compares && passes && !unmoved)
            passes = stays(
                before, signature(corners_around(window, x, y, candidate, k), incident_triangle(k), rule));
        // All six lanes must agree.
        const u32 agree = __ballot_sync(FULL, passes);
        const bool passed = has_slot && (agree >> 6 * slot & 63) == 63;
        number++;
        const bool is_settled = active && (passed || ends || number == (constrained ? TRIALS : REFINEMENTS));
        for (u32 settled = __ballot_sync(FULL, is_settled) & FIRST_OF_SLOTS; settled;
             settled &= settled - 1) {
            const i32 first = __ffs(settled) - 1;
            const i32 of = __shfl_sync(FULL, owner, first),
                      result = __shfl_sync(FULL, passed ? number - 1 : NONE, first);
            if (lane == of) mine = result;
        }
        if (is_settled) owner = NONE;
    }
}

// Codes the waiting vertices of a warp. Call with a warp, after the writes to its windows; they may be
// written again afterwards.
template <typename T, typename Windows, typename P = typename Real<T>::Pair>
__device__ __noinline__ VertexCode<T> settle(Rule rule, InShared<Steps<T>> at_steps, Windows windows,
    u32 my_place, P my_original, P my_prediction, T my_bound, i32 level) {
    __syncwarp();
    const Steps<T>& steps = at_steps.get();
    const i32 found = find_trial<T>(rule, steps, windows, my_place, my_prediction, my_bound, level);
    __syncwarp();
    if (found < 0) return {my_original, T(0), {EXACT, 0, 0}};
    const bool constrained = is_constrained(my_bound);
    const Trial trial(constrained ? found : 0);
    const i32 refinement = constrained ? trial.refinement : found;
    const P step = steps.level[level].step[refinement];
    Quantized<T> q = quantize<T>(my_original, my_prediction, step);
    move_to_neighbour<T>(q, my_original, my_prediction, step.x, trial.neighbour);
    return {q.value, distance<T>(q.value, my_original), {refinement, (i32)q.code.x, (i32)q.code.y}};
}
