// A field and its reconstruction by another compressor. Twins: src/repair/values.rs, src/stream/checksum.rs.
#pragma once
#include "repair/verify.cuh"
#include "stream/checksum.cuh"

// The largest error of the reconstruction.
__device__ __forceinline__ double radius_of(const Control& control) {
    return __longlong_as_double((long long)control.fix.radius);
}

// The term of a value in the checksum of a field, given its number among all values.
template <typename T>
__device__ __forceinline__ u32 value_term(T value, u64 number) {
    constexpr u32 WORDS = sizeof(T) / 4;
    const u64 bits = Real<T>::bits(value);
    u32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < WORDS; k++)
        sum += checksum_mix((u32)(bits >> 32 * k) + ((u32)number * WORDS + k) * CHECKSUM_STEP);
    return sum;
}

// The value of a component of the reconstruction.
template <typename T>
__device__ __forceinline__ T other_at(const Job& job, i32 component, const GridPoint& p) {
    const Layout& layout = job.other_layouts[component];
    const long long row = p.z * (long long)job.other_plane_rows + p.y;
    return static_cast<const T*>(
        job.other[component])[row * (long long)layout.pitch + p.x * (long long)layout.stride];
}

// A reconstruction, as VertexValues takes it.
template <typename Element, typename MeshOfField>
struct Reconstruction {
    typedef Element T;
    typedef MeshOfField Mesh;
    typedef FieldRepairView<Mesh::PLACES> View;
    static constexpr bool IS_COMPRESSION = false;

    static __device__ __forceinline__ bool is_idle(const Control& control) {
        return control.status != STATUS_OK;
    }
    static __device__ __forceinline__ double bound(const Control& control) { return radius_of(control); }
    static __device__ __forceinline__ Vector<T, Mesh::COMPONENTS> values(
        const Job& job, const GridPoint& p, const TilePlace&) {
        Vector<T, Mesh::COMPONENTS> v;
#pragma unroll
        for (i32 c = 0; c < Mesh::COMPONENTS; c++) v.at[c] = other_at<T>(job, c, p);
        return v;
    }
    static __device__ __forceinline__ double radius(
        const Job&, const Control& control, const GridPoint&, const TilePlace&) {
        return radius_of(control);
    }
};
