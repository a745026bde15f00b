// The finest level of interior tiles: loads the field a turn ahead of its use.
#pragma once
#include "compress/quantize_vertex.cuh"
#include "tile/finest_level.cuh"

// Inputs of one turn of the finest level, by lane: two neighbours of an odd row, the odd columns of an even
// row, the bounds of the phases.
template <typename T, i32 LANES = 32>
struct RowsAhead {
    typename Real<T>::Pair of_u[LANES], of_v[LANES];
    T on_u[LANES], on_v[LANES], vertex_bounds[3][LANES];
};

// The finest level without bounds. (u, v): the lane's column of the first odd row. PAIRS: two neighbours of a
// row are one aligned word. A turn reads an odd row (two neighbours per lane) and the odd columns of an even
// row, for the last time. They are loaded one turn ahead and unconditionally, since a condition would cost
// registers for the old values; the last turns load rows that are not used.
template <typename T, bool PAIRS, typename Code, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void finest_level_unconstrained(const Job& job, const Lattice<T>& lattice,
    u32 interpolant, const T* u, const T* v, const Steps<T>& steps, const Code& code) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1);
    struct Rows {
        P on_row, of_u, of_v;
    };
    // The odd row at (u, v), and the even row three below, or the odd row again.
    auto load = [&](bool more) {
        Rows r;
        const u64 stride_u = fresh(job.u_layout.stride), stride_v = fresh(job.v_layout.stride);
        if (PAIRS) {
            r.of_u = read_last(reinterpret_cast<const P*>(u));
            r.of_v = read_last(reinterpret_cast<const P*>(v));
        } else {
            r.of_u = R::pair(u[0], u[stride_u]);
            r.of_v = R::pair(v[0], v[stride_v]);
        }
        const T *on_u = u + (PAIRS ? 1 : stride_u), *on_v = v + (PAIRS ? 1 : stride_v);
        if (more) on_u += 3 * fresh(job.u_layout.pitch), on_v += 3 * fresh(job.v_layout.pitch);
        r.on_row = R::pair(read_last(on_u), read_last(on_v));
        return r;
    };
    const P first_on_row = R::pair(u[fresh(job.u_layout.pitch) + (PAIRS ? 1 : fresh(job.u_layout.stride))],
        v[fresh(job.v_layout.pitch) + (PAIRS ? 1 : fresh(job.v_layout.stride))]);
    const T half_step = steps.level[0].half_step;
    Rows rows = load(true), next_rows = rows;
    finest_level_coded<T>(
        lattice, interpolant,
        [&](i32 j) {
            if (j + 1 < HALF) u += 2 * fresh(job.u_layout.pitch), v += 2 * fresh(job.v_layout.pitch);
            next_rows = load(j + 3 < HALF);
        },
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            // Row 1 of phase 0 comes before the first turn.
            const bool is_first = phase == 0 && j == 1;
            const P on_row = is_first ? first_on_row : rows.on_row;
            const P original = phase == 0   ? on_row
                               : phase == 1 ? R::pair(rows.of_u.x, rows.of_v.x)
                                            : R::pair(rows.of_u.y, rows.of_v.y);
            return code(original, prediction, 0, half_step, no_bound<T>(),
                256 * (1 + phase) + HALF * j + lane, active, true);
        },
        [&](i32) { rows = next_rows; });
}

// The finest level with bounds. The next inputs wait in shared memory, because a call to code_vertex_of would
// wait for all loads to registers.
template <typename T, bool PAIRS, typename Code, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void finest_level_constrained(const Job& job, const Lattice<T>& lattice,
    u32 interpolant, const T* u, const T* v, const T* vertex_bounds, u64 bounded, const Steps<T>& steps,
    RowsAhead<T>& ahead, const Code& code) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1), slot = threadIdx.x & 31;
    const u64 stride_u = PAIRS ? 1 : job.u_layout.stride, stride_v = PAIRS ? 1 : job.v_layout.stride;
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    struct Rows {
        P on_row, of_u, of_v;
        T vertex_bounds[3];
    };
    // Bit 16 (1 + phase) of `bounded` belongs to the row of a phase at `vertex_bounds`.
    auto ask_for_bound = [&](i32 phase, i32 more) {
        T& to = ahead.vertex_bounds[phase][slot];
        if (bounded >> (HALF * (1 + phase) + more) & 1)
            copy_ahead<sizeof(T)>(&to, vertex_bounds + 256 * (1 + phase) + HALF * more);
        else
            to = no_bound<T>();
    };
    // The odd row at (u, v), and the even row three below if it exists.
    auto ask = [&](bool even) {
        if (PAIRS) {
            copy_ahead<2 * sizeof(T)>(&ahead.of_u[slot], u);
            copy_ahead<2 * sizeof(T)>(&ahead.of_v[slot], v);
        } else {
            copy_ahead<sizeof(T)>(&ahead.of_u[slot].x, u);
            copy_ahead<sizeof(T)>(&ahead.of_v[slot].x, v);
            copy_ahead<sizeof(T)>(&ahead.of_u[slot].y, u + stride_u);
            copy_ahead<sizeof(T)>(&ahead.of_v[slot].y, v + stride_v);
        }
        ask_for_bound(1, 0);
        ask_for_bound(2, 0);
        if (even) {
            copy_ahead<sizeof(T)>(&ahead.on_u[slot], u + 3 * pitch_u + stride_u);
            copy_ahead<sizeof(T)>(&ahead.on_v[slot], v + 3 * pitch_v + stride_v);
            ask_for_bound(0, 2);
        }
        end_of_copies();
    };
    const P first_on_row = R::pair(u[pitch_u + stride_u], v[pitch_v + stride_v]);
    const T first_bound = bounded >> (HALF + 1) & 1 ? vertex_bounds[256 + HALF] : no_bound<T>(),
            half_step = steps.level[0].half_step;
    ask(true);
    Rows rows;
    finest_level_coded<T>(
        lattice, interpolant,
        [&](i32 j) {
            wait_for_copies<0>();
            rows.of_u = ahead.of_u[slot];
            rows.of_v = ahead.of_v[slot];
            rows.on_row = R::pair(ahead.on_u[slot], ahead.on_v[slot]);
            for (i32 phase = 0; phase < 3; phase++)
                rows.vertex_bounds[phase] = ahead.vertex_bounds[phase][slot];
            if (j == HALF - 1) return;
            u += 2 * pitch_u, v += 2 * pitch_v;
            vertex_bounds += HALF;
            bounded >>= 1;
            ask(j + 3 < HALF);
        },
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            // Row 1 of phase 0 comes before the first turn.
            const bool is_first = phase == 0 && j == 1;
            const P on_row = is_first ? first_on_row : rows.on_row;
            const P original = phase == 0   ? on_row
                               : phase == 1 ? R::pair(rows.of_u.x, rows.of_v.x)
                                            : R::pair(rows.of_u.y, rows.of_v.y);
            const T vertex_bound = is_first ? first_bound : rows.vertex_bounds[phase];
            return code(original, prediction, 0, half_step, vertex_bound, 256 * (1 + phase) + HALF * j + lane,
                active, true);
        },
        [&](i32) {});
}
