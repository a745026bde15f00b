// Rows of two fields that a warp reads while it works on others.
#pragma once
#include "analysis/zeros.cuh"
#include "device/ptx.cuh"

namespace analysis {

// A row of both fields.
template <typename T>
struct Line {
    Columns<T> u[2], v[2];  // [0] first field, [1] the other
};

// Columns from x on of row y; NaN beyond the grid.
template <typename T>
__device__ __forceinline__ Line<T> load_line(const Analysis& job, u64 x, u64 y) {
    Line<T> line;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        line.u[f] = load_columns<T>(job, job.fields[f].u, false, job.columns, x, stored_row(job, y), false);
        line.v[f] = load_columns<T>(job, job.fields[f].v, false, job.columns, x, stored_row(job, y), false);
    }
    return line;
}

// Rows on their way to the threads of a block: their columns, and the column to the right of each warp.
template <typename T>
struct RowsAhead {
    static constexpr u32 ROWS = 2, THREADS = 32 * ANALYSIS_WARPS;
    struct alignas(16) Vector {
        T at[WIDTH<T>];
    };
    Vector columns[ROWS][4][THREADS];  // u and v of the first field, of the other
    T edges[ROWS][ANALYSIS_WARPS][4];

    __device__ __forceinline__ T* edge(u32 slot) { return edges[slot][threadIdx.x >> 5]; }

    // Begins to read row y from column x of the thread on, with `has_edge` also the column after its own.
    // `wide`: 16 bytes at a time.
    __device__ __forceinline__ void begin(
        const Analysis& job, bool wide, bool has_edge, u64 x, u64 y, u32 slot) {
        const bool ends = stored_column(job, x + WIDTH<T>) == 0;
#pragma unroll
        for (i32 c = 0; c < 4; c++) {
            const FieldView& field = job.fields[c / 2];
            const Component& from = c % 2 == 0 ? field.u : field.v;
            const u64 stride = from.layout.stride;
            const T *row = static_cast<const T*>(from.values) + stored_row(job, y) * from.layout.pitch,
                    *values = row + x * stride;
            Vector& to = columns[slot][c][threadIdx.x];
            if (wide) {
                copy_ahead<16>(&to, values);
            } else {
#pragma unroll
                for (i32 k = 0; k < WIDTH<T>; k++) copy_ahead<sizeof(T)>(&to.at[k], values + k * stride);
            }
            if (has_edge) copy_ahead<sizeof(T)>(edge(slot) + c, ends ? row : values + WIDTH<T> * stride);
        }
    }

    __device__ __forceinline__ Line<T> line(u32 slot) const {
        Line<T> line;
#pragma unroll
        for (i32 c = 0; c < 4; c++) {
            const Vector v = columns[slot][c][threadIdx.x];
            Columns<T>& to = c % 2 == 0 ? line.u[c / 2] : line.v[c / 2];
#pragma unroll
            for (i32 k = 0; k < WIDTH<T>; k++) to.at[k] = v.at[k];
        }
        return line;
    }
};

}  // namespace analysis
