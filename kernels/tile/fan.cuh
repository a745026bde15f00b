// The triangles around a vertex: whether their signatures stay if it moves and its neighbours do not. Twin of
// src/tile/fan.rs. The signs of determinants, as bits of all six triangles, decide most cases; signatures
// decide the others.
#pragma once
#include "tile/window.cuh"

// Bit j of a set of triangles is triangle j around the vertex, bit j of a set of neighbours is neighbour j.
// INSIDE: all six neighbours lie in the window, and none is missing.
template <typename T, bool INSIDE>
struct Fan {
    typedef typename Real<T>::Pair P;
    static constexpr u32 ALL = (1u << AROUND) - 1;
    static constexpr i32 UNROLLED = sizeof(T) == 4 ? AROUND : 1;

    // Signs of six determinants.
    struct Signs {
        u32 positive, negative;
        __device__ __forceinline__ void set(i32 j, P a, P b) {
            const DetSign sign = det_sign(a.x, a.y, b.x, b.y);
            positive |= (u32)sign.positive << j, negative |= (u32)sign.negative << j;
        }
    };
    // Triangles by kind, for one value of the vertex: origin outside; origin inside, by the sign of the
    // determinants; all three determinants 0. Other triangles are ties. A flat triangle is `out` only if one
    // component has one sign.
    struct Kinds {
        Signs spokes;  // determinants of the vertex and each neighbour
        u32 planes, out, positive, negative, flat;
        __device__ __forceinline__ u32 enclosing() const { return positive | negative; }
    };

    const TileWindow<T>& window;
    i32 x, y;
    u32 exists;   // triangles
    u32 planes;   // open half planes with neighbours j and j + 1, four bits for each j
    Signs edges;  // determinants of neighbours j and j + 1
    Kinds before;

    static __device__ __forceinline__ u32 of_next(u32 bits) { return bits >> 1 | (bits & 1) << (AROUND - 1); }
    __device__ __forceinline__ P vertex() const { return window.values[y * window.pitch + x]; }

    // True if neighbour j lies in the window.
    __device__ __forceinline__ bool has(i32 j) const {
        const i32 nx = x + neighbour_x(j), ny = y + neighbour_y(j);
        return (u32)nx < (u32)window.width && (u32)ny < (u32)window.height;
    }
    // Neighbour j; the vertex itself where the window ends.
    __device__ __forceinline__ P neighbour(i32 j) const {
        const i32 way = neighbour_y(j) * window.pitch + neighbour_x(j);
        return window.values[y * window.pitch + x + (INSIDE || has(j) ? way : 0)];
    }
    __device__ __forceinline__ bool is_missing_at(i32 j) const {
        const i32 nx = x + neighbour_x(j), ny = y + neighbour_y(j);
        return window.missing && window.missing[ny * window.words + (nx >> 5)] >> (nx & 31) & 1;
    }

    // Fan of vertex (x, y), which is not missing, with the values that the window has now.
    __device__ __forceinline__ Fan(const TileWindow<T>& window, i32 x, i32 y)
        : window(window), x(x), y(y), planes(0), edges({0, 0}) {
        const P own = vertex();
        Signs spokes = {0, 0};
        P here = neighbour(0);
        u32 planes_here = half_planes<T>(here), present = 0;
#pragma unroll UNROLLED
        for (i32 j = 0; j < AROUND; j++) {
            const P next = neighbour(j + 1 < AROUND ? j + 1 : 0);
            const u32 planes_next = half_planes<T>(next);
            if (!INSIDE) present |= (u32)(has(j) && !is_missing_at(j)) << j;
            planes |= (planes_here & planes_next) << 4 * j;
            edges.set(j, here, next);
            spokes.set(j, own, here);
            here = next, planes_here = planes_next;
        }
        exists = INSIDE ? ALL : present & of_next(present);
        before = kinds(own, spokes);
    }

    // Whether all signatures stay if the vertex moves to a candidate, which is finite.
    __device__ __forceinline__ bool stays_with(P candidate, const Rule& rule) const {
        Signs spokes = {0, 0};
#pragma unroll UNROLLED
        for (i32 j = 0; j < AROUND; j++) spokes.set(j, candidate, neighbour(j));
        const Kinds after = kinds(candidate, spokes);
        u32 differ = (before.out & after.enclosing()) | (before.enclosing() & after.out) |
                     (before.positive & after.negative) | (before.negative & after.positive);
        // Triangles with a critical point that is not a saddle: before the move (typed_before), before and
        // after it (typed). Triangles with a saddle before and after it (saddles).
        const bool turns = rule.turns();
        const u32 typed_before = turns ? before.negative : before.positive,
                  typed = typed_before & (turns ? after.negative : after.positive),
                  saddles = turns ? before.positive & after.positive : before.negative & after.negative;
        u32 stay = (before.out & after.out) | saddles;
        if (!rule.types()) stay |= typed;
        // A tie keeps its signature if its signs stay. The setting `ties` says which changes are allowed.
        const u32 changed = (before.spokes.positive ^ after.spokes.positive) |
                            (before.spokes.negative ^ after.spokes.negative),
                  same = before.planes == after.planes ? ~(changed | of_next(changed)) & ~typed_before : 0;
        if (rule.ties() == TIES_ALL) {
            stay |= same;
            differ |= (before.out & ~after.out) | (~(before.out | before.enclosing()) & ~same);
        } else {
            stay |= same & ~before.flat;
        }
        if (differ & exists) return false;
        for (u32 left = exists & ~stay; left; left &= left - 1) {
            const i32 j = __ffs((i32)left) - 1, triangle = incident_triangle(j);
            const Corners<T> old_corners = corners_around(window, x, y, vertex(), j),
                             new_corners = corners_around(window, x, y, candidate, j);
            // If both have a critical point inside, its type decides.
            const bool has_type = typed >> j & 1;
            const i32 sign = rule.turn(1);
            const Signature now =
                has_type ? inside(sign, old_corners, triangle, rule) : signature(old_corners, triangle, rule);
            if (!stays(now, has_type ? inside(sign, new_corners, triangle, rule)
                                     : signature(new_corners, triangle, rule)))
                return false;
        }
        return true;
    }

private:
    __device__ __forceinline__ Kinds kinds(P own, const Signs& spokes) const {
        const u32 own_planes = half_planes<T>(own), in_plane = planes & own_planes * 0x111111;
        u32 one_sided = 0;
#pragma unroll
        for (i32 j = 0; j < AROUND; j++) one_sided |= (u32)((in_plane >> 4 * j & 15) != 0) << j;
        const u32 next_positive = of_next(spokes.positive), next_negative = of_next(spokes.negative);
        const u32 some_positive = edges.positive | spokes.positive | next_negative,
                  some_negative = edges.negative | spokes.negative | next_positive;
        return {spokes, own_planes, one_sided | (some_positive & some_negative),
            edges.positive & spokes.positive & next_negative,
            edges.negative & spokes.negative & next_positive, ALL & ~(some_positive | some_negative)};
    }
};
