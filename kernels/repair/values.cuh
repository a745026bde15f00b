// The values that a vertex may have while it is repaired: that of layer 1 or of a foreign reconstruction,
// refined ones between it and the original, and the original. Twin of src/repair/values.rs.
#pragma once
#include "grid/volume_field.cuh"
#include "predict/quantizer.cuh"
#include "repair/mesh.cuh"
#include "repair/refiner.cuh"
#include "tile/volume_window.cuh"

// The level on which layer 1 predicts a vertex.
__device__ __forceinline__ u32 dyadic_level(const GridPoint& p) {
    const u32 all = (u32)p.x | (u32)p.y | (u32)p.z;
    return min((u32)__ffs((i32)all) - 1, (u32)VOLUME_ANCHOR_LEVEL);
}

// The parameter `Of` of everything in this folder: the element type, the mesh, and where the values are.
// Here: layer 1 of a volume that is being compressed.
template <typename Element>
struct LayerOne {
    typedef Element T;
    typedef Tetrahedra Mesh;
    typedef VolumeCodeView<T> View;
    // Whether critical points are counted, and whether the largest error is to be found.
    static constexpr bool IS_COMPRESSION = true;

    // Whether there is nothing to repair and to list.
    static __device__ __forceinline__ bool is_idle(const Control& control) {
        return is_stored_volume(control);
    }
    // The bound of all errors.
    static __device__ __forceinline__ double bound(const Control& control) { return control.useful_bound; }
    static __device__ __forceinline__ Vector<T> values(
        const Job& job, const GridPoint&, const TilePlace& at) {
        const View work(job);
        const u32 place = value_place<T>(at.place);
        return {
            work.values(at.tile, 0)[place], work.values(at.tile, 1)[place], work.values(at.tile, 2)[place]};
    }
    // The largest error at a vertex.
    static __device__ __forceinline__ double radius(
        const Job& job, const Control& control, const GridPoint& p, const TilePlace& at) {
        const u32 shift = bound_shift_in(View(job).headers()[at.tile]);
        return 0.5 * control.volume.width[shift][dyadic_level(p)];
    }
};

template <typename Of>
struct VertexValues {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    typedef Vector<T, Mesh::COMPONENTS> V;
    const Job& job;
    const Control& control;

    __device__ __forceinline__ explicit VertexValues(const Job& job) : job(job), control(control_of(job)) {}
    __device__ __forceinline__ u8& level(const TilePlace& at) const {
        return typename Of::View(job).levels()[at.tile * Mesh::PLACES + at.place];
    }
    __device__ __forceinline__ V before(const GridPoint& p, const TilePlace& at) const {
        return Of::values(job, p, at);
    }
    __device__ __forceinline__ double radius(const GridPoint& p, const TilePlace& at) const {
        return Of::radius(job, control, p, at);
    }
    __device__ __forceinline__ V original(const GridPoint& p) const {
        return original_at<T, Mesh::COMPONENTS>(job, p);
    }
    // The values at refinement k.
    __device__ __forceinline__ V refined_values(
        double radius, u32 k, const V& original, const V& layer) const {
        V v;
#pragma unroll
        for (i32 c = 0; c < Mesh::COMPONENTS; c++)
            v.at[c] = refined(radius, k, layer.at[c], refined_cell(radius, k, original.at[c], layer.at[c]));
        return v;
    }
    // The values now.
    __device__ __forceinline__ V current(const GridPoint& p, const TilePlace& at, const V& original) const {
        const u32 k = level(at);
        if (k == LEVEL_UNCHANGED) return before(p, at);
        return at_level(p, at, k, original, before(p, at));
    }
    // The values at level k.
    __device__ __forceinline__ V at_level(
        const GridPoint& p, const TilePlace& at, u32 k, const V& original, const V& layer) const {
        if (k == LEVEL_UNCHANGED) return layer;
        // Missing vertices are not looked at.
        if (k == LEVEL_EXACT || k == LEVEL_FILLED) return original;
        if (k == LEVEL_ZERO) return V{};
        return refined_values(radius(p, at), k, original, layer);
    }
    // The values at another level, if that is a refinement whose errors are within the error bound and below
    // `vertex_bound`, or the original.
    __device__ __forceinline__ bool candidate(
        const GridPoint& p, const TilePlace& at, u32 k, T vertex_bound, const V& original, V& values) const {
        values = original;
        if (k == LEVEL_EXACT) return true;
        const double r = radius(p, at);
        if (!(cell_width(r, k) > 0.0)) return false;
        values = refined_values(r, k, original, before(p, at));
        const T most = (T)control.quantizer.accept;
        bool allowed = true;
#pragma unroll
        for (i32 c = 0; c < Mesh::COMPONENTS; c++) {
            const T error = Real<T>::abs(values.at[c] - original.at[c]);
            allowed &= error == T(0) || (error <= most && error < vertex_bound);
        }
        return allowed;
    }
    // Whether the errors of a vertex are below `vertex_bound`, or 0.
    __device__ __forceinline__ bool is_below(
        const GridPoint& p, const TilePlace& at, T vertex_bound, const V& original) const {
        const V now = current(p, at, original);
        bool below = true;
#pragma unroll
        for (i32 c = 0; c < Mesh::COMPONENTS; c++) {
            const T error = Real<T>::abs(now.at[c] - original.at[c]);
            below &= error == T(0) || error < vertex_bound;
        }
        return below;
    }
    // Gives a vertex the next level with which its errors are below `vertex_bound`, if they are not.
    __device__ __forceinline__ bool keep_below(
        const GridPoint& p, const TilePlace& at, T vertex_bound) const {
        const V original = original_at<T, Mesh::COMPONENTS>(job, p);
        if (is_below(p, at, vertex_bound, original)) return false;
        u32 k = level(at) + 1;
        V values;
        while (!candidate(p, at, k, vertex_bound, original, values)) k++;
        level(at) = (u8)k;
        return true;
    }
};
