// The first kernels that make a fix: the bound, whether the reconstruction is within it, its largest error
// and its checksum, and the vertices that take their original values whatever is around them. Twin of
// src/repair/survey.rs.
#pragma once
#include "repair/fix/values.cuh"
#include "volume/compress/statistics.cuh"

// Grid: any. Block: 256 threads. Finds the range of a field and the bound that follows. Reads: the field.
// Writes: the bound in the control block.
template <typename T>
__device__ __forceinline__ void find_bound(const Job& job) {
    Control& control = control_of(job);
    SeenRange<T> range = SeenRange<T>::none();
    const u64 rows = job.ny * job.nz, warps = (u64)gridDim.x * (blockDim.x / 32);
    const bool has_w = job.components == 3;
    for (u64 row = (u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += warps) {
        const long long z = (long long)(row / job.ny), y = (long long)(row - (u64)z * job.ny);
        for (u64 x = threadIdx.x & 31; x < job.nx; x += 32) {
            const GridPoint p = {(long long)x, y, z};
            Vector<T> v;
#pragma unroll
            for (i32 c = 0; c < 3; c++)
                v.at[c] = *component_at<T>(job, c == 2 && !has_w ? 0 : c, p.x, p.y, p.z);
            if (job.has_fill && is_filled(v, job.fill)) continue;
#pragma unroll
            for (i32 c = 0; c < 3; c++)
                if (Real<T>::finite(v.at[c])) range.add(v.at[c], v.at[c]);
        }
    }
    __syncwarp();
    range.add_lanes();
    if ((threadIdx.x & 31) == 0 && range.any()) {
        // Zeros have no sign.
        atomicMax((ull*)&control.volume.not_low, (ull)~ordered((double)range.low + 0.0));
        atomicMax((ull*)&control.volume.high, (ull)ordered((double)range.high + 0.0));
    }
    if (!last_block(control, TICKET_STATISTICS) || threadIdx.x != 0) return;
    const u64 not_low = __ldcg(&control.volume.not_low);
    const SeenRange<T> all =
        not_low ? SeenRange<T>{(T)from_ordered(~not_low), (T)from_ordered(__ldcg(&control.volume.high))}
                : SeenRange<T>::none();
    control.bound = bound_of(job, all);
}

// |b - a| minus its rounded value |difference|, exactly.
__device__ __forceinline__ double rest_of_error(double b, double a, double difference) {
    const double y = -a, t = difference - b, error = (b - (difference - t)) + (y - t);
    return difference >= 0.0 ? error : -error;
}
// Whether |b - a| exceeds a bound. Twin of exceeds in src/analysis/differences.rs.
__device__ __forceinline__ bool exceeds(double a, double b, double bound) {
    const double difference = b - a, error = fabs(difference);
    return error >= bound && (error > bound || rest_of_error(b, a, difference) > 0.0);
}

// Findings of a thread.
template <typename T, i32 N>
struct Surveyed {
    double radius;
    u32 checksum;
    u64 outside, not_first;  // vertices that leave the bound, and ~number of the first one

    // The level of a vertex.
    __device__ __forceinline__ u32 add(const Job& job, double bound, const GridPoint& p,
        const Vector<T, N>& original, const Vector<T, N>& other) {
        const u64 number = number_of(job, (u64)p.x, (u64)p.y, (u64)p.z);
        bool same = true, leaves = false;
        double largest = 0.0;
#pragma unroll
        for (i32 c = 0; c < N; c++) {
            const double a = (double)original.at[c], b = (double)other.at[c], error = fabs(b - a);
            checksum += value_term(other.at[c], c * job.vertices() + number);
            same &= Real<T>::bits(original.at[c]) == Real<T>::bits(other.at[c]);
            leaves |= !Real<T>::finite(other.at[c]) || exceeds(a, b, bound);
            largest = larger(largest, error);
        }
        if (same) return LEVEL_UNCHANGED;
        const bool missing = is_missing(original, job.fill);
        if (!missing && leaves) {
            outside++;
            not_first = ~number > not_first ? ~number : not_first;
        }
        if (missing || is_on_sides(job, p, job.pin) || bound == 0.0) return LEVEL_EXACT;
        if (is_zero(original) && !is_zero(other)) return LEVEL_ZERO;
        radius = larger(radius, largest);
        return LEVEL_UNCHANGED;
    }
    // Adds those of a warp to those of the call.
    __device__ __forceinline__ void tell(FixControl& fix) {
        for (i32 k = 16; k > 0; k /= 2) {
            radius = larger(radius, __shfl_xor_sync(FULL, radius, k));
            const u64 other = __shfl_xor_sync(FULL, not_first, k);
            not_first = other > not_first ? other : not_first;
        }
        checksum = warp_sum(checksum);
        outside = warp_sum64(outside);
        if ((threadIdx.x & 31) != 0) return;
        // Bits of doubles that are not negative are ordered like the values.
        atomicMax((ull*)&fix.radius, (ull)__double_as_longlong(radius));
        atomicAdd(&fix.checksum, checksum);
        if (outside == 0) return;
        atomicAdd((ull*)&fix.outside, (ull)outside);
        atomicMax((ull*)&fix.not_first, (ull)not_first);
    }
};

// Grid: any. Block: VOLUME_THREADS threads, some tiles. Reads: both fields. Writes: levels; the largest
// error, the checksum of the reconstruction, the bound and the status in the control block.
template <typename T, typename Mesh>
__device__ __forceinline__ void survey(const Job& job) {
    constexpr i32 N = Mesh::COMPONENTS;
    typedef Reconstruction<T, Mesh> Of;
    Control& control = control_of(job);
    const double bound = job.bound_kind == BOUND_RELATIVE ? control.bound : job.bound;
    const typename Of::View work(job);
    Surveyed<T, N> found = {0.0, 0, 0, 0};
    for (u64 index = blockIdx.x; index < job.tiles(); index += gridDim.x) {
        const typename Mesh::Tile tile = Mesh::tile(job, index);
        for (u32 place = threadIdx.x; place < Mesh::PLACES; place += blockDim.x) {
            GridPoint p;
            u32 level = LEVEL_UNCHANGED;
            if (vertex_at_place<Mesh>(tile, place, p))
                level =
                    found.add(job, bound, p, original_at<T, N>(job, p), Of::values(job, p, {index, place}));
            work.levels()[index * Mesh::PLACES + place] = (u8)level;
        }
    }
    __syncwarp();
    found.tell(control.fix);
    if (!last_block(control, TICKET_SURVEY) || threadIdx.x != 0) return;
    control.bound = bound;
    control.quantizer.accept = (double)acceptance<T>(bound);
    if (__ldcg(&control.fix.outside) != 0) control.status = STATUS_INVALID_ARGUMENT;
}
