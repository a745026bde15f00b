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

// The place of a waiting vertex: WAITS | x | y << 6, and whether its nearest reconstruction meets the bounds.
// 0: the lane's vertex does not wait.
constexpr u32 WAITS = 1 << 12, MEETS_BOUNDS = 1 << 13;

// Whether the lane's vertex, if it MEETS_BOUNDS, keeps the signatures around it as `my_candidate`. Five
// vertices at a time: lane 6 i + k compares triangle k of vertex i. Call with a warp.
template <typename T, typename Windows>
__device__ __forceinline__ bool keeps_signatures(
    const Rule& rule, const Windows& windows, u32 my_place, typename Real<T>::Pair my_candidate) {
    constexpr i32 AT_ONCE = 5;
    const i32 lane = threadIdx.x & 31, slot = lane / 6, k = lane % 6;
    bool mine = false;
    u32 left = __ballot_sync(FULL, my_place & MEETS_BOUNDS);
    while (left != 0) {
        const u32 all = left;
        u32 own = left;
#pragma unroll
        for (i32 i = 0; i < AT_ONCE; i++) {
            if (i < slot) own &= own - 1;
            left &= left - 1;
        }
        const bool exists = slot < AT_ONCE && own != 0;
        const i32 owner = exists ? __ffs(own) - 1 : 0;
        const TileWindow<T> window = windows.of(owner);
        const u32 place = __shfl_sync(FULL, my_place, owner);
        const i32 x = place & 63, y = place >> 6 & 63;
        const typename Real<T>::Pair candidate = shuffle<T>(my_candidate, owner);
        bool keeps = true;
        if (exists && has_triangle(window, x, y, k)) {
            const auto original = window.values[y * window.pitch + x];
            const Signature before =
                signature(corners_around(window, x, y, original, k), incident_triangle(k), rule);
            keeps = stays(
                before, signature(corners_around(window, x, y, candidate, k), incident_triangle(k), rule));
        }
        const u32 kept = __ballot_sync(FULL, keeps), number = __popc(all & ((1u << lane) - 1));
        if (all >> lane & 1 && number < AT_ONCE) mine = (kept >> 6 * number & 63) == 63;
    }
    return mine;
}

// The waiting vertices of a warp one by one: the first reconstruction after the nearest without refinement
// that keeps the bound and, if the vertex is constrained, the signatures around it. Lane 6 i + k tries
// reconstruction i on triangle k; those of i = 0 have the signatures before. Returns the number of the
// lane's reconstruction (of a vertex without constraints its refinement), or -1 if the vertex is stored. Call
// with a warp.
template <typename T, typename Windows, typename P = typename Real<T>::Pair>
__device__ __forceinline__ i32 find_trial(const Rule& rule, const Steps<T>& steps, const Windows& windows,
    u32 my_place, P my_prediction, T my_bound, i32 level) {
    constexpr i32 AT_ONCE = 4;
    const i32 lane = threadIdx.x & 31, slot = lane / 6, k = lane % 6;
    i32 mine = -1;
    for (u32 left = __ballot_sync(FULL, my_place != 0); left; left &= left - 1) {
        const i32 owner = __ffs(left) - 1;
        const TileWindow<T> window = windows.of(owner);
        const u32 place = __shfl_sync(FULL, my_place, owner);
        const i32 x = place & 63, y = place >> 6 & 63;
        const P prediction = shuffle<T>(my_prediction, owner);
        const T vertex_bound = __shfl_sync(FULL, my_bound, owner);
        const bool constrained = is_constrained(vertex_bound);
        const i32 trials = constrained ? TRIALS : REFINEMENTS;
        const P original = window.values[y * window.pitch + x];
        const bool compares = constrained && has_triangle(window, x, y, k);
        Signature before = OUT;
#pragma unroll 1
        for (i32 tried = 0; tried + 1 < trials; tried += AT_ONCE) {
            const i32 number = tried + slot;
            bool ends = false, passes = false, unmoved = false;
            P candidate = original;
            if (slot > 0 && slot <= AT_ONCE && number < trials) {
                const Trial trial(constrained ? number : 0);
                const P step = steps.level[level].step[constrained ? trial.refinement : number];
                Quantized<T> q = quantize<T>(original, prediction, step);
                ends = !q.fits;
                passes = !ends && move_to_neighbour<T>(q, original, prediction, step.x, trial.neighbour);
                const T error = distance<T>(q.value, original);
                unmoved = error == T(0);
                passes = passes && (unmoved || (error <= steps.accept && error < vertex_bound));
                candidate = q.value;
            }
            Signature own = OUT;
            if (compares && (slot == 0 ? tried == 0 : passes))
                own = signature(corners_around(window, x, y, candidate, k), incident_triangle(k), rule);
            if (tried == 0) before = __shfl_sync(FULL, own, k);
            // All six lanes of a reconstruction must agree.
            passes = passes && (!compares || unmoved || stays(before, own));
            const u32 passed = __ballot_sync(FULL, passes) >> 6, ended = __ballot_sync(FULL, ends) >> 6;
            i32 found = -1;
#pragma unroll
            for (i32 i = AT_ONCE - 1; i >= 0; i--)
                if ((passed >> 6 * i & 63) == 63 || (ended >> 6 * i & 1)) found = i;
            if (found < 0) continue;
            if (lane == owner && !(ended >> 6 * found & 1)) mine = tried + 1 + found;
            break;
        }
    }
    return mine;
}

// Codes the waiting vertices of a warp. Call with a warp, after the writes to its windows; they may be
// written again afterwards.
template <typename T, typename Windows, typename P = typename Real<T>::Pair>
__device__ __noinline__ VertexCode<T> settle(Rule rule, InShared<Steps<T>> at_steps, Windows windows,
    u32 my_place, P my_original, P my_prediction, T my_bound, i32 level) {
    __syncwarp();
    const Steps<T>& steps = at_steps.get();
    const bool constrained = is_constrained(my_bound);
    Quantized<T> q = quantize<T>(my_original, my_prediction, steps.level[level].step[0]);
    const T error = distance<T>(q.value, my_original);
    // Finer codes are larger: they do not fit either.
    if (!q.fits) my_place = 0;
    const bool unmoved = my_place != 0 && error == T(0);
    if (my_place != 0 && constrained && !unmoved && error <= steps.accept && error < my_bound)
        my_place |= MEETS_BOUNDS;
    const bool keeps = keeps_signatures<T>(rule, windows, my_place, q.value) || unmoved;
    if (keeps) my_place = 0;
    const i32 found = find_trial<T>(rule, steps, windows, my_place, my_prediction, my_bound, level);
    __syncwarp();
    i32 refinement = 0;
    if (!keeps) {
        if (found < 0) return {my_original, T(0), {EXACT, 0, 0}};
        const Trial trial(constrained ? found : 0);
        refinement = constrained ? trial.refinement : found;
        const P step = steps.level[level].step[refinement];
        q = quantize<T>(my_original, my_prediction, step);
        move_to_neighbour<T>(q, my_original, my_prediction, step.x, trial.neighbour);
    }
    return {q.value, distance<T>(q.value, my_original), {refinement, (i32)q.code.x, (i32)q.code.y}};
}
