// Reads tiles of the Lorenzo predictor by rows: values and bounds.
#pragma once
#include "compress/bounds/tile_lists.cuh"
#include "compress/bounds/vertex_bounds.cuh"
#include "grid/field.cuh"
#include "grid/tiles.cuh"

// Positions of the vertices with even coordinates, row by row.
struct EvenPositions {
    u8 at[TILE / 2][TILE / 2];
    __device__ __forceinline__ void fill() {
        for (u32 k = threadIdx.x; k < sizeof at; k += blockDim.x) {
            const i32 x = k % (TILE / 2), y = k / (TILE / 2);
            at[y][x] = (u8)position_of(2 * x, 2 * y);
        }
        __syncthreads();
    }
};

// Rows that are loaded together.
constexpr i32 LORENZO_ROWS = 4;

// Values and bounds of these rows in the lane's column.
template <typename T>
struct LorenzoRows {
    T a[LORENZO_ROWS], b[LORENZO_ROWS], vertex_bound[LORENZO_ROWS];
};

// Reads the rows of a tile that may be cut by the border; beyond it the last row or first column repeats.
template <typename T>
class RowReader {
    const T *u, *v, *vertex_bounds;
    const EvenPositions& positions;
    i32 rows;
    u32 even, odd;  // bit k: row 2 k (2 k + 1) has its bounds stored

public:
    // Null: no bounds.
    __device__ __forceinline__ RowReader(const Job& job, const EvenPositions& positions,
        const TileShape& shape, const T* vertex_bounds, u64 bounded)
        : vertex_bounds(vertex_bounds), positions(positions), rows(shape.owned_y()) {
        const i32 lane = threadIdx.x & 31, x = lane < shape.owned_x() ? lane : 0;
        u = vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0);
        v = vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0);
        // Even columns of even rows and the first column are always stored.
        even = !vertex_bounds ? 0 : lane & 1 ? (u32)(bounded >> TILE / 2) : FULL;
        odd = !vertex_bounds ? 0 : lane ? (u32)(bounded >> TILE) : FULL;
    }
    // `start` is a multiple of LORENZO_ROWS.
    __device__ __forceinline__ void load(const Job& job, i32 start, LorenzoRows<T>& to) {
        const i32 lane = threadIdx.x & 31;
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            to.a[i] = *u;
            to.b[i] = *v;
            if (start + i + 1 < rows) u += job.u_layout.pitch, v += job.v_layout.pitch;
            to.vertex_bound[i] = no_bound<T>();
            const i32 k = (start + i) / 2, fine = TILE / 2 * k + lane / 2;
            if (i & 1) {
                if (odd >> k & 1) to.vertex_bound[i] = vertex_bounds[(lane & 1 ? 768 : 512) + fine];
            } else {
                if (even >> k & 1)
                    to.vertex_bound[i] =
                        vertex_bounds[lane & 1 ? 256 + fine : (i32)positions.at[k][lane / 2]];
            }
        }
    }
};
