// The values that a vertex of a volume may have while it is compressed: that of layer 1, refined ones between
// it and the original, and the original. Twin of src/repair/values.rs.
#pragma once
#include "grid/volume_field.cuh"
#include "predict/quantizer.cuh"
#include "repair/refiner.cuh"
#include "tile/volume.cuh"
#include "topology/tetrahedron_bound.cuh"

// The level on which layer 1 predicts a vertex.
__device__ __forceinline__ u32 dyadic_level(const GridPoint& p) {
    const u32 all = (u32)p.x | (u32)p.y | (u32)p.z;
    return min((u32)__ffs((i32)all) - 1, (u32)VOLUME_ANCHOR_LEVEL);
}

template <typename T>
struct VertexValues {
    const Job& job;
    const Control& control;

    __device__ __forceinline__ explicit VertexValues(const Job& job) : job(job), control(control_of(job)) {}
    __device__ __forceinline__ u8& level(const TilePlace& at) const {
        return VolumeCodeView<T>(job).levels()[at.index()];
    }
    __device__ __forceinline__ Vector<T> of_layer(const TilePlace& at) const {
        const VolumeCodeView<T> work(job);
        const u32 place = value_place<T>(at.place);
        return {
            work.values(at.tile, 0)[place], work.values(at.tile, 1)[place], work.values(at.tile, 2)[place]};
    }
    // The largest error of layer 1 at a vertex.
    __device__ __forceinline__ double radius(const GridPoint& p, const TilePlace& at) const {
        const u32 shift = bound_shift_in(VolumeCodeView<T>(job).headers()[at.tile]);
        return 0.5 * control.volume.width[shift][dyadic_level(p)];
    }
    // The values at refinement k.
    __device__ __forceinline__ Vector<T> refined_values(
        double radius, u32 k, const Vector<T>& original, const Vector<T>& layer) const {
        Vector<T> v;
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            v.at[c] = refined(radius, k, layer.at[c], refined_cell(radius, k, original.at[c], layer.at[c]));
        return v;
    }
    // The values now.
    __device__ __forceinline__ Vector<T> current(
        const GridPoint& p, const TilePlace& at, const Vector<T>& original) const {
        const u32 k = level(at);
        if (k == LEVEL_UNCHANGED) return of_layer(at);
        return at_level(p, at, k, original, of_layer(at));
    }
    // The values at level k.
    __device__ __forceinline__ Vector<T> at_level(const GridPoint& p, const TilePlace& at, u32 k,
        const Vector<T>& original, const Vector<T>& layer) const {
        if (k == LEVEL_UNCHANGED) return layer;
        // Missing vertices are not looked at.
        if (k == LEVEL_EXACT || k == LEVEL_FILLED) return original;
        if (k == LEVEL_ZERO) return {T(0), T(0), T(0)};
        return refined_values(radius(p, at), k, original, layer);
    }
    // The values at another level, if that is a refinement whose errors are within the error bound and below
    // `vertex_bound`, or the original.
    __device__ __forceinline__ bool candidate(const GridPoint& p, const TilePlace& at, u32 k, T vertex_bound,
        const Vector<T>& original, Vector<T>& values) const {
        values = original;
        if (k == LEVEL_EXACT) return true;
        const double r = radius(p, at);
        if (!(cell_width(r, k) > 0.0)) return false;
        values = refined_values(r, k, original, of_layer(at));
        const T most = (T)control.quantizer.accept;
        bool allowed = true;
#pragma unroll
        for (i32 c = 0; c < 3; c++) {
            const T error = Real<T>::abs(values.at[c] - original.at[c]);
            allowed &= error == T(0) || (error <= most && error < vertex_bound);
        }
        return allowed;
    }
    // Whether the errors of a vertex are below `vertex_bound`, or 0.
    __device__ __forceinline__ bool is_below(
        const GridPoint& p, const TilePlace& at, T vertex_bound, const Vector<T>& original) const {
        const Vector<T> now = current(p, at, original);
        bool below = true;
#pragma unroll
        for (i32 c = 0; c < 3; c++) {
            const T error = Real<T>::abs(now.at[c] - original.at[c]);
            below &= error == T(0) || error < vertex_bound;
        }
        return below;
    }
    // Gives a vertex the next level with which its errors are below `vertex_bound`, if they are not.
    __device__ __forceinline__ bool keep_below(
        const GridPoint& p, const TilePlace& at, T vertex_bound) const {
        const Vector<T> original = original_at<T>(job, p);
        if (is_below(p, at, vertex_bound, original)) return false;
        u32 k = level(at) + 1;
        Vector<T> values;
        while (!candidate(p, at, k, vertex_bound, original, values)) k++;
        level(at) = (u8)k;
        return true;
    }
};
