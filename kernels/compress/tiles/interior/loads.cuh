// Loads the originals of interior tiles, each value once: all but the inner odd rows at first, those a few
// rows before they are coded. The L1 cache has little room beside the shared memory of these kernels, so that
// no load needs it.
#pragma once
#include "compress/bounds/vertex_bounds.cuh"
#include "grid/field.cuh"
#include "tile/lattice.cuh"

// Originals of a tile besides those of its lattice: the odd columns of even rows, except for the lines.
// Before that, 16 bytes each of the rows that hold the columns of the lines.
template <typename T>
union alignas(16) OriginalsAside {
    typename Real<T>::Pair odd_columns[(HALF - 1) * HALF];
    T columns[2][HALF + TILE][16 / sizeof(T)];  // by component: the first column's odd rows, the last column
};

// True if the rows of a field can be read by 16 bytes, and are not too far apart for 32 bits.
template <typename T>
__device__ __forceinline__ bool has_wide_rows(const Job& job) {
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    return job.u_layout.stride == 1 && job.v_layout.stride == 1 && ((pitch_u | pitch_v) >> 30) == 0 &&
           (((u64)job.u | (u64)job.v | pitch_u * sizeof(T) | pitch_v * sizeof(T)) & 15) == 0;
}

// Starts to copy the columns of the lines: half of the lanes u, the others v.
template <typename T>
__device__ __forceinline__ void ask_for_columns(
    const Job& job, OriginalsAside<T>& aside, const T* u, const T* v) {
    const i32 lane = threadIdx.x & (HALF - 1), first = lane & (HALF / 2 - 1), component = lane / (HALF / 2);
    const u64 pitch = component ? job.v_layout.pitch : job.u_layout.pitch;
    const T* const from = (component ? v : u) + first * pitch;
#pragma unroll
    for (i32 i = 0; i < 2; i++)
        copy_ahead<16>(
            &aside.columns[component][first + i * HALF / 2][0], from + (first + i * HALF + 1) * pitch);
#pragma unroll
    for (i32 i = 0; i < 4; i++)
        copy_ahead<16>(
            &aside.columns[component][HALF + first + i * HALF / 2][0], from + i * (HALF / 2) * pitch + TILE);
    end_of_copies();
}
// Puts the columns in their places, when they have arrived.
template <typename T>
__device__ __forceinline__ void place_columns(Lattice<T>& lattice, const OriginalsAside<T>& aside) {
    const i32 lane = threadIdx.x & (HALF - 1);
    auto column = [&](i32 k) { return Real<T>::pair(aside.columns[0][k][0], aside.columns[1][k][0]); };
    lattice.odd[LEFT][lane] = column(lane);
    lattice.even[lane * EVEN + HALF] = column(HALF + 2 * lane);
    lattice.odd[RIGHT][lane] = column(HALF + 2 * lane + 1);
}

// Loads the originals of a tile but for inner odd rows, by half a warp, if its rows are wide and the 16 bytes
// that start with the last column exist. Call with a warp.
template <typename T>
class WideRows {
    typedef typename Real<T>::Pair P;
    static constexpr i32 AT_ONCE = 16 / sizeof(T), LANES = TILE / AT_ONCE, ROWS = HALF / LANES, STEPS = 9,
                         BATCHES = (EVEN + STEPS * ROWS - 1) / (STEPS * ROWS);
    union Words {
        uint4 all;
        T x[AT_ONCE];
    };
    Words of_u[STEPS], of_v[STEPS];

    __device__ __forceinline__ static i32 row() { return (threadIdx.x & (HALF - 1)) / LANES; }
    __device__ __forceinline__ static i32 x() { return threadIdx.x % LANES * AT_ONCE; }

    __device__ __forceinline__ void ask(const Job& job, const T* u, const T* v, i32 batch) {
        const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
        u += 2 * row() * pitch_u + x(), v += 2 * row() * pitch_v + x();
#pragma unroll
        for (i32 i = 0; i < STEPS; i++) {
            const i32 k = (batch * STEPS + i) * ROWS;
            of_u[i].all = of_v[i].all = make_uint4(0, 0, 0, 0);
            // The last row alone.
            if (k + row() < EVEN) {
                of_u[i].all = read_last(reinterpret_cast<const uint4*>(u + 2 * k * pitch_u));
                of_v[i].all = read_last(reinterpret_cast<const uint4*>(v + 2 * k * pitch_v));
            }
        }
    }

public:
    // (u, v): the tile's first vertex. Waits for all copies.
    __device__ __forceinline__ void load(
        const Job& job, Lattice<T>& lattice, OriginalsAside<T>& aside, const T* u, const T* v) {
        ask_for_columns<T>(job, aside, u, v);
#pragma unroll
        for (i32 batch = 0; batch < BATCHES; batch++) {
            ask(job, u, v, batch);
#pragma unroll
            for (i32 i = 0; i < STEPS; i++) {
                const i32 k = (batch * STEPS + i) * ROWS + row();
                if (k >= EVEN) continue;
#pragma unroll
                for (i32 c = 0; c < AT_ONCE / 2; c++)
                    lattice.even[k * EVEN + x() / 2 + c] = Real<T>::pair(of_u[i].x[2 * c], of_v[i].x[2 * c]);
            }
            if (batch == 0) {
                wait_for_copies<0>();
                __syncwarp();
                place_columns<T>(lattice, aside);
                __syncwarp();
            }
#pragma unroll
            for (i32 i = 0; i < STEPS; i++) {
                const i32 k = (batch * STEPS + i) * ROWS + row();
                if (k >= EVEN) continue;
                P* const odd = (k == 0             ? lattice.odd[TOP]
                                   : k == EVEN - 1 ? lattice.odd[BOTTOM]
                                                   : aside.odd_columns + (k - 1) * HALF) +
                               x() / 2;
#pragma unroll
                for (i32 c = 0; c < AT_ONCE / 2; c++)
                    odd[c] = Real<T>::pair(of_u[i].x[2 * c + 1], of_v[i].x[2 * c + 1]);
            }
        }
    }
};
// As WideRows, for any tile. Waits for all copies.
template <typename T>
__device__ __forceinline__ void load_narrow(
    const Job& job, Lattice<T>& lattice, OriginalsAside<T>& aside, const T* u, const T* v) {
    const i32 lane = threadIdx.x & (HALF - 1);
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride,
              stride_v = job.v_layout.stride;
#pragma unroll 1
    for (i32 k = 0; k < EVEN; k++) {
        const T *const from_u = u + 2 * (k * pitch_u + lane * stride_u), *const from_v =
                                                                             v + 2 * (k * pitch_v +
                                                                                         lane * stride_v);
        copy_vertex_ahead<T>(lattice.even[k * EVEN + lane], from_u, from_v);
        auto& odd = k == 0          ? lattice.odd[TOP][lane]
                    : k == EVEN - 1 ? lattice.odd[BOTTOM][lane]
                                    : aside.odd_columns[(k - 1) * HALF + lane];
        copy_vertex_ahead<T>(odd, from_u + stride_u, from_v + stride_v);
    }
    u += 2 * lane * pitch_u, v += 2 * lane * pitch_v;
    copy_vertex_ahead<T>(lattice.odd[LEFT][lane], u + pitch_u, v + pitch_v);
    u += TILE * stride_u, v += TILE * stride_v;
    copy_vertex_ahead<T>(lattice.even[lane * EVEN + HALF], u, v);
    copy_vertex_ahead<T>(lattice.odd[RIGHT][lane], u + pitch_u, v + pitch_v);
    end_of_copies();
    wait_for_copies<0>();
}

// Originals of an odd row of both tiles of a warp, and the bounds of the vertices that are coded with it:
// phase 0 two rows below, phases 1 and 2.
template <typename T, bool CONSTRAINED>
struct alignas(16) RowAhead {
    T values[2][2][TILE];  // by half warp and component
};
template <typename T>
struct alignas(16) RowAhead<T, true> {
    T values[2][2][TILE];
    T bounds[2][3][HALF];  // by half warp and phase
};
// Rows whose copies are under way.
constexpr i32 ROWS_AHEAD = 3;

// Copies one odd row after the other to shared memory, by half a warp: half of its lanes copy u, the others
// v.
template <typename T>
class OddRows {
    static constexpr i32 AT_ONCE = 16 / sizeof(T), LANES = HALF / 2;
    const T* from;
    T* to;  // in the first place of a row
    u32 pitch;
    bool wide;  // by 16 bytes

    __device__ __forceinline__ static bool is_v() { return thread_in_block() & LANES; }

public:
    // (u, v): the first vertex of the tile.
    template <bool CONSTRAINED>
    __device__ __forceinline__ OddRows(
        const Job& job, const T* u, const T* v, RowAhead<T, CONSTRAINED>& first, bool wide)
        : wide(wide) {
        const i32 x = AT_ONCE * (threadIdx.x & (LANES - 1));
        from = is_v() ? v + job.v_layout.pitch + x * job.v_layout.stride
                      : u + job.u_layout.pitch + x * job.u_layout.stride;
        to = &first.values[threadIdx.x >> 4 & 1][is_v()][x];
        pitch = (u32)(is_v() ? job.v_layout.pitch : job.u_layout.pitch);
    }
    // Starts the copies of the next row, to a place so many values behind the first.
    __device__ __forceinline__ void ask(const Job& job, i32 place) {
        T* const row = to + place;
        if (wide) {
#pragma unroll
            for (i32 x = 0; x < TILE; x += AT_ONCE * LANES) copy_ahead<16>(row + x, from + x);
            from += 2 * (u64)pitch;
        } else {
            const u64 stride = is_v() ? job.v_layout.stride : job.u_layout.stride;
#pragma unroll 1
            for (i32 i = 0; i < TILE / LANES; i++) {
                const i32 x = i / AT_ONCE * AT_ONCE * LANES + i % AT_ONCE;
                copy_ahead<sizeof(T)>(row + x, from + x * stride);
            }
            from += 2 * (is_v() ? job.v_layout.pitch : job.u_layout.pitch);
        }
    }
};
