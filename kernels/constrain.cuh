// Entries that find out which vertices have a limit of their own, and what it is. The limits lie in the
// place of the words of the groups, in the order of the symbols: infinity where only the bound of the
// call counts, the largest value where signatures have to be looked at. Most vertices have none, and most of
// those none in memory: bit c of a tile's `limited` says whether positions 16 c to 16 c + 15 are there, all of them.
// Besides them those on its own lines (x or y is 0) are. Always there are positions below 272: the vertices with
// even coordinates, and the first row.
#pragma once
#include "front.cuh"

template <typename T>
__device__ __forceinline__ T* limits_of(const Job& job, u64 tile) {
    return reinterpret_cast<T*>(job.words + tile * (sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64));
}
template <typename T>
__device__ __forceinline__ T no_limit() {
    return Real<T>::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
}
template <typename T>
__device__ __forceinline__ bool is_tight(T limit) {
    return limit <= Real<T>::MAX;
}

constexpr i32 LIMIT_CHUNK = 16;
constexpr u64 ALWAYS_LIMITED = (1ull << 17) - 1;
// The limit of a vertex that is not in the first column.
template <typename T>
__device__ __forceinline__ T limit_of(const T* limits, u64 limited, i32 position) {
    return limited >> (position / LIMIT_CHUNK) & 1 ? limits[position] : no_limit<T>();
}

// What comes nearer to the origin than this has limits, or is not like the rest.
__device__ __forceinline__ double near_bound(const Job& job, const Control& control) {
    return job.preserve != PRESERVE_NONE ? control.bound_up : 0.0;
}

// Which cells at the vertices of a tile come near the origin: those of the row above, of its bands of rows, of the column
// before, and of its last column. A byte for each limited tile, in the place of the symbols.
enum : u32 { NEAR_ABOVE = 1, NEAR_BAND = 2, NEAR_BEFORE = NEAR_BAND << BANDS, NEAR_END = NEAR_BEFORE << 1, ALL_BANDS = NEAR_BEFORE - NEAR_BAND };
__device__ __forceinline__ u32 near_cells(const Job& job, const TileShape& shape, u64 tile, double near) {
    const u64 left = shape.tx > 0 ? 1 : 0, up = shape.ty > 0 ? job.tiles_x : 0;
    const Nearness &own = nearness_of(job, tile), &last = nearness_of(job, tile - left), &over = nearness_of(job, tile - up);
    const Nearness& corner = nearness_of(job, tile - up - left);
    u32 cells = up && !(over.bottom > near) ? NEAR_ABOVE : 0;
#pragma unroll
    for (i32 band = 0; band < BANDS; band++)
        if (!(own.bands[band] > near)) cells |= NEAR_BAND << band;
    // The column before begins with a cell of the tile above, around whose corner it is.
    if (left && (!(last.right > near) || (up && !(corner.bottom > near || corner.right > near)))) cells |= NEAR_BEFORE;
    if (shape.last_x == TILE && (!(own.right > near) || (up && !(over.bottom > near || over.right > near)))) cells |= NEAR_END;
    return cells;
}

// Whether a tile is plain: inside the grid with its closed block, and no triangle at a vertex of that
// within the bound of the origin. Such a tile has no zeros or missing values, and no limits.
__device__ inline bool is_plain(const Job& job, const TileShape& shape, u64 tile, double near) {
    if (shape.last_x != TILE || shape.last_y != TILE) return false;
    const bool border = shape.tx == 0 || shape.ty == 0 || shape.x0 + TILE == job.nx - 1 || shape.y0 + TILE == job.ny - 1;
    if ((job.halo | job.pin) && border) return false;
    // All of them are on their way at once. Where there is none, the tile itself is in its place.
    const u64 across = job.tiles_x, left = shape.tx > 0 ? 1 : 0, up = shape.ty > 0 ? across : 0;
    const Nearness &own = nearness_of(job, tile), &next = nearness_of(job, tile + 1), &under = nearness_of(job, tile + across);
    const Nearness &last = nearness_of(job, tile - left), &over = nearness_of(job, tile - up);
    bool plain = (own.all() > near) & (next.left > near) & (under.top > near);
    plain &= (last.right > near) | (left == 0);
    plain &= (over.bottom > near) | (up == 0);
    // Around corners one cell matters, which is on two sides of its tile.
    const Nearness &after = nearness_of(job, tile + across + 1), &below = nearness_of(job, tile + across - left);
    const Nearness &above = nearness_of(job, tile - up + 1), &before = nearness_of(job, tile - up - left);
    plain &= (after.top > near) | (after.left > near);
    plain &= (below.top > near) | (below.right > near) | (left == 0);
    plain &= (above.bottom > near) | (above.left > near) | (up == 0);
    plain &= (before.bottom > near) | (before.right > near) | (left == 0) | (up == 0);
    return plain;
}

template <typename T>
__device__ __forceinline__ bool is_zero(typename Real<T>::Pair p) {
    return p.x == T(0) && p.y == T(0);
}

// The list of the triangles that are hard lies in the place of the payload: tile << 11 | y << 6 | x << 1 | which of its cell.
// Where there are more tiles than that leaves bits for, 32 of the list are of one tile, and a word in the place of the
// masks says of which beyond those bits, and how many there are: tile >> bits | (count - 1) << 27.
constexpr i32 HARD_TILE_BITS = 21;
__device__ __forceinline__ u32* hard_triangles(const Job& job) { return reinterpret_cast<u32*>(job.payload); }
__device__ __forceinline__ bool few_tiles(const Job& job) { return job.tiles() <= 1ull << HARD_TILE_BITS; }

// Grid: tiles / 128. Block: 128, a thread for a tile. Lists plain tiles, and the limited ones; the lists
// have no order.
template <typename T>
__device__ __forceinline__ void sort_tiles(const Job& job) {
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x & 31, before = (1u << lane) - 1;
    const bool exists = tile < job.tiles();
    bool plain = false;
    u32 cells = 0;
    if (exists) {
        const TileShape shape = tile_shape(job, tile);
        const double near = near_bound(job, control);
        plain = is_plain(job, shape, tile, near);
        if (!plain) cells = near_cells(job, shape, tile, near);
    }
    const u32 plains = __ballot_sync(FULL, exists && plain), limited = __ballot_sync(FULL, exists && !plain);
    // A block at a time: all of them add to the same words.
    __shared__ u32 counts[2][4];
    __shared__ u64 at[2];
    if (lane == 0) {
        counts[0][threadIdx.x >> 5] = __popc(plains);
        counts[1][threadIdx.x >> 5] = __popc(limited);
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        const u32* const of = counts[threadIdx.x];
        at[threadIdx.x] = atomicAdd((unsigned long long*)(threadIdx.x ? &control.limited_tiles : &control.plain_tiles), (unsigned long long)(of[0] + of[1] + of[2] + of[3]));
    }
    __syncthreads();
    u64 at_plain = at[0], at_limited = at[1];
    for (u32 w = 0; w < threadIdx.x >> 5; w++) {
        at_plain += counts[0][w];
        at_limited += counts[1][w];
    }
    if (!exists) return;
    if (plain) {
        job.group_sizes[at_plain + __popc(plains & before)] = tile;
    } else {
        const u64 at = at_limited + __popc(limited & before);
        job.group_offsets[at] = tile;
        job.symbols[at] = (u8)cells;
    }
    job.info[tile] = plain ? ALL_CODED : 0;
    nearness_of(job, tile).kind = plain ? PLAIN_TILE : OTHER_TILE;
}

// Lists the whole tiles without zeros and missing values, from the end of the list of plain ones, and the others between
// these: those with most work first, since no other work is left to hide the last ones.
__device__ __forceinline__ void list_by_weight(const Job& job, Control& control) {
    const u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < control.limited_tiles; k += threads) {
        const u64 tile = job.group_offsets[k];
        const Nearness& entry = nearness_of(job, tile);
        if (entry.weighted == NOT_LISTED) continue;
        const u32 whole = entry.kind == WHOLE_TILE, weight = entry.weighted >> WEIGHT_AT;
        u64 at = entry.weighted & ((1u << WEIGHT_AT) - 1);
#pragma unroll
        for (u32 w = 1; w < WEIGHTS; w++)
            if (w > weight) at += control.weighed[whole][w];
        job.group_sizes[whole ? job.tiles() - 1 - at : control.plain_tiles + at] = tile;
    }
    if (blockIdx.x == 0 && threadIdx.x < 2) {
        u64 sum = 0;
        for (u32 w = 0; w < WEIGHTS; w++) sum += control.weighed[threadIdx.x][w];
        (threadIdx.x ? control.whole_tiles : control.other_tiles) = sum;
    }
}

// The limit of an owned vertex of a tile.
template <typename T>
__device__ __forceinline__ T* limit_at(const Job& job, u64 tile, i32 x, i32 y) {
    return limits_of<T>(job, tile) + POSITIONS.at[TILE * y + x];
}

// A triangle: tile << 11 | y << 6 | x << 1 | which of its cell. Of 32 bits where these are enough for all, and for the places of all values.
template <typename Packed>
struct Triangle {
    Packed tile;
    i32 x, y, which;

    __device__ __forceinline__ Triangle(Packed packed)
        : tile(packed >> 11), x((i32)(packed >> 1 & 31)), y((i32)(packed >> 6 & 31)), which((i32)(packed & 1)) {}
};
__device__ __forceinline__ bool packs_in_a_word(const Job& job) {
    const u64 last_u = (job.ny - 1) * job.u_layout.pitch + (job.nx - 1) * job.u_layout.stride;
    const u64 last_v = (job.ny - 1) * job.v_layout.pitch + (job.nx - 1) * job.v_layout.stride;
    return few_tiles(job) && ((last_u | last_v) >> 32) == 0;
}
template <typename T, typename Packed>
__device__ __forceinline__ void corners_at(const void* values, const Layout& layout, Packed x, Packed y, bool upper, T (&corners)[3]) {
    const T* const start = static_cast<const T*>(values);
    const Packed pitch = (Packed)layout.pitch, stride = (Packed)layout.stride, at = y * pitch + x * stride;
    // The corner across the diagonal is the second one or the third. Addresses are chosen, not values, so that nothing waits here.
    corners[0] = start[at];
    corners[1] = start[at + stride + (upper ? pitch : 0)];
    corners[2] = start[at + pitch + (upper ? 0 : stride)];
}
template <typename T, typename Packed>
__device__ __forceinline__ Corners<T> corners_of(const Job& job, const TileFinder& finder, Packed packed) {
    const Triangle<Packed> t(packed);
    Packed tx, ty;
    finder.place(job, t.tile, tx, ty);
    const Packed x = tx * TILE + t.x, y = ty * TILE + t.y;
    Corners<T> p;
    corners_at(job.u, job.u_layout, x, y, t.which == UPPER, p.u);
    corners_at(job.v, job.v_layout, x, y, t.which == UPPER, p.v);
    return p;
}
// Where the corners of a triangle stand in the order of their tiles. Asked for long before it is needed.
struct CornerPositions {
    u32 first, second, third;

    __device__ __forceinline__ explicit CornerPositions(u32 packed) {
        const Triangle<u32> t(packed);
        const i32 row = TILE * t.y, below = TILE * ((t.y + 1) & (TILE - 1)), after = (t.x + 1) & (TILE - 1);
        first = POSITIONS.at[row + t.x];
        second = POSITIONS.at[below + after];
        third = POSITIONS.at[t.which == UPPER ? below + t.x : row + after];
    }
};
// Those of its corners that are not the tile's own belong to the tiles behind.
template <typename T, typename Packed>
__device__ __forceinline__ void lower_corners(const Job& job, Packed packed, const CornerPositions& at, T limit) {
    const Triangle<Packed> t(packed);
    constexpr u64 BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    u8* const own = job.words + t.tile * BYTES;
    u8* const under = t.y == TILE - 1 ? own + job.tiles_x * BYTES : own;
    u8* const far = t.x == TILE - 1 ? under + BYTES : under;
    u8* const third = t.which == UPPER ? under : t.x == TILE - 1 ? own + BYTES : own;
    lower_to(reinterpret_cast<T*>(own) + at.first, limit);
    lower_to(reinterpret_cast<T*>(far) + at.second, limit);
    lower_to(reinterpret_cast<T*>(third) + at.third, limit);
}

constexpr i32 BOUND_WARPS = 4;

// Limits of the vertices of hard triangles, a warp for 32 of the list, and how many are critical. What takes the ladder waits for others
// that do. What can be found anew holds no register.
template <typename T, typename Packed>
__device__ __forceinline__ void bound_triangles(const Job& job, const Control& control, u32& critical) {
    if (control.hard == 0) return;
    const bool all_finite = control.nonfinite == 0;
    const T bound_up = (T)control.bound_up;
    const Packed last = (Packed)(control.hard - 1);
    // There are no more chunks than 64 of each tile: more than these numbers hold would not fit on a device.
    const u32 start = blockIdx.x * BOUND_WARPS + (threadIdx.x >> 5);
    const auto warps = []() { return blocks_in_grid() * BOUND_WARPS; };
    const bool few = sizeof(Packed) == 4 || few_tiles(job);
    const TileFinder finder(job);
    __shared__ u32 counts[BOUND_WARPS];
    __shared__ Packed waiting[BOUND_WARPS][64];
    auto climb = [&](Packed packed) {
        const CornerPositions positions((u32)packed);
        const TriangleBound<T> bound = ladder_bound(corners_of<T>(job, finder, packed), (i32)(packed & 1), rule_of(job), control.bound);
        lower_corners<T>(job, packed, positions, bound.limit);
        if (bound.inside) atomicAdd(&critical, 1);
    };
    // The last cell of a grid's last tile is not there.
    constexpr Packed NONE = ~(Packed)0;
    auto entry = [&](u32 k) -> Packed {
        const u32 lane = thread_in_block() & 31;
        if (k > (u32)(last >> 5)) return NONE;
        const u32* const at = hard_triangles(job) + 32ull * k + lane;
        if (few) return k < (u32)(last >> 5) || lane <= ((u32)last & 31) ? *at : NONE;
        const u32 word = job.masks[k];
        return lane <= word >> 27 ? (Packed)((u64)(word & ((1u << 27) - 1)) << (HARD_TILE_BITS + 11) | *at) : NONE;
    };
    // Entries are asked for two chunks ahead, corners one.
    Packed next = entry(start), after = entry(start + warps());
    Corners<T> ahead = {};
    if (next != NONE) ahead = corners_of<T>(job, finder, next);
    u32 count = 0;
#pragma unroll 1
    for (u32 k = start; k <= (u32)(last >> 5); k += warps()) {
        const Corners<T> p = ahead;
        const Packed triangle = next;
        next = after;
        if (next != NONE) ahead = corners_of<T>(job, finder, next);
        after = entry(k + 2 * warps());
        const CornerPositions positions((u32)triangle);
        bool waits = false;
        if (triangle != NONE) {
            if (job.mode == SPECULATIVE && job.preserve != PRESERVE_NONE) {
                // Signatures are looked at in place of limits.
                if (is_inside(p)) atomicAdd(&critical, 1);
            } else {
                const T axis = axis_distance(p);
                T limit = Real<T>::MAX;
                if (all_finite || finite(p)) {
                    const Determinants d = determinants(p);
                    const Bounded by = bounded(p, d, axis);
                    waits = by == Bounded::BY_LADDER;
                    if (by == Bounded::BY_HULL) limit = axis > T(0) && axis >= bound_up ? axis : hull_bound(p, d, axis);
                }
                if (!waits) lower_corners<T>(job, triangle, positions, limit);
            }
        }
        const u32 new_ones = __ballot_sync(FULL, waits), lane = thread_in_block() & 31, warp = thread_in_block() >> 5;
        if (waits) waiting[warp][count + __popc(new_ones & ((1u << lane) - 1))] = triangle;
        count += __popc(new_ones);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            climb(waiting[warp][count + lane]);
            __syncwarp();
        }
    }
    // The rest of all warps together.
    if ((threadIdx.x & 31) == 0) counts[threadIdx.x >> 5] = count;
    __syncthreads();
    u32 number = threadIdx.x;
    i32 of = 0;
#pragma unroll
    for (i32 w = 0; w < BOUND_WARPS - 1; w++)
        if (of == w && number >= counts[w]) number -= counts[w], of++;
    if (number < counts[of]) climb(waiting[of][number]);
}

// Grid: any. Block: 32 * BOUND_WARPS. Limits of vertices, and the critical points.
template <typename T>
__device__ __forceinline__ void bounds(const Job& job) {
    Control& control = control_of(job);
    __shared__ u32 critical;
    if (threadIdx.x == 0) critical = 0;
    __syncthreads();
    if (packs_in_a_word(job))
        bound_triangles<T, u32>(job, control, critical);
    else
        bound_triangles<T, u64>(job, control, critical);
    const i32 lane = threadIdx.x & 31;
    if (job.halo | job.pin) {
        const Constraints<T> c = constraints_of<T>(job, control);
        for (u64 k = (u64)blockIdx.x * BOUND_WARPS + (threadIdx.x >> 5); k < control.limited_tiles; k += (u64)gridDim.x * BOUND_WARPS) {
            // Owned vertices on the border of the grid.
            const u64 tile = job.group_offsets[k];
            const TileShape shape = tile_shape(job, tile);
            for (i32 i = lane; i < 4 * TILE; i += 32) {
                const i32 side = i >> 5, along = i & 31;
                const i32 x = side == 0 ? 0 : side == 1 ? shape.last_x : along, y = side == 2 ? 0 : side == 3 ? shape.last_y : along;
                if (x >= shape.owned_x() || y >= shape.owned_y() || !on_border(job, shape.x0 + x, shape.y0 + y)) continue;
                const T b = border_limit(job, c, shape.x0 + x, shape.y0 + y);
                if (b < Real<T>::MAX) lower_to(limit_at<T>(job, tile, x, y), b);
            }
        }
    }
    list_by_weight(job, control);
    // A block at a time: all of them add to the same word.
    __syncthreads();
    if (threadIdx.x == 0 && critical) atomicAdd((unsigned long long*)&control.critical, (unsigned long long)critical);
}

// Grid: tiles / 128. Block: 128. One anchor a thread. Beside the kernel before up to where it needs the limits.
template <typename T>
__device__ __forceinline__ void anchors(const Job& job) {
    typedef typename Real<T>::Pair P;
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 exact = 0;
    T max_error = 0;
    if (tile < job.tiles()) {
        const Constraints<T> c = constraints_of<T>(job, control);
        const TileShape shape = tile_shape(job, tile);
        const bool has_limit = !(job.info[tile] & ALL_CODED);
        P values[9];
        values[0] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0), *vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0));
        // The kernel before lowers limits, and nothing else that is read here.
        after_kernel_before();
        const T limit = has_limit ? limits_of<T>(job, tile)[0] : no_limit<T>();
        const bool looks_around = is_tight(limit) && c.speculative;
        u32 nonfinite[3] = {0, 0, 0};
        Patch<T> patch = {values, 3, 1, 1, control.nonfinite ? nonfinite : nullptr, 1};
        i32 i = 0, j = 0;
        if (looks_around) {
            const u64 x0 = shape.x0 ? shape.x0 - 1 : 0, y0 = shape.y0 ? shape.y0 - 1 : 0;
            i = (i32)(shape.x0 - x0), j = (i32)(shape.y0 - y0);
            patch.width = (i32)((job.nx < shape.x0 + 2 ? job.nx : shape.x0 + 2) - x0);
            patch.height = (i32)((job.ny < shape.y0 + 2 ? job.ny : shape.y0 + 2) - y0);
            for (i32 y = 0; y < patch.height; y++)
                for (i32 x = 0; x < patch.width; x++)
                    values[3 * y + x] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, x0 + x, y0 + y),
                                                      *vertex_at<T>(job.v, job.v_layout, x0 + x, y0 + y));
        }
        const P original = values[3 * j + i];
        for (i32 y = 0; y < patch.height; y++)
            for (i32 x = 0; x < patch.width; x++) {
                P& value = values[3 * y + x];
                if (Real<T>::finite(value.x) && Real<T>::finite(value.y)) continue;
                nonfinite[y] |= 1u << x;
                value = Real<T>::pair(T(0), T(0));
            }
        Code code = {MASKED, 0, 0};
        if (nonfinite[j] >> i & 1) {
            const bool filled = Real<T>::bits(original.x) == control.fill[0] && Real<T>::bits(original.y) == control.fill[1];
            code.id = filled ? MASKED : EXACT;
        } else if (!is_zero<T>(original)) {
            code = code_vertex<T>(patch, i, j, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL,
                                  (T)control.quantizer.width[ANCHOR_LEVEL][0],
                                  (T)control.quantizer.inverse[ANCHOR_LEVEL][0], c, is_tight(limit),
                                  is_tight(limit) ? limit : Real<T>::MAX, max_error, exact);
        }
        reinterpret_cast<P*>(job.anchors)[tile] = values[3 * j + i];
        reinterpret_cast<int4*>(job.anchor_codes)[tile] = make_int4(code.qu, code.qv, code.id, 0);
    } else {
        after_kernel_before();
    }
    report_tally<T>(control, exact, 0, max_error);
}
