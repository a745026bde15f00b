#include "agreement.h"

/* Values that agree are counted by some bits of a hash, to leave out those that are repeated all over. */
#define KIND_BITS 8
#define KINDS (1 << KIND_BITS)

/* Chance makes one of so many values agree. */
#define CHANCE_BITS 18
/* It is negligible where one of so many new values has the bits of a neighbour. */
#define NEIGHBOUR_BITS 16

/* Of a component. */
struct counts {
    /* Values that agree, by kind. */
    size_t same[KINDS];
    /* Other values where there are data. */
    size_t changed;
    /* Of these, the values that the decompressed chunk has at a vertex beside. */
    size_t displaced;
};

static inline int kind_of(uint64_t bits)
{
    return (int)(bits * 0x9e3779b97f4a7c15u >> (64 - KIND_BITS));
}

/* Whether a neighbour in the decompressed plane, which begins at `first`, has these bits. Rows are followed
 * by rows. */
static bool is_displaced(const struct values *decompressed, size_t first, size_t k, uint64_t bits)
{
    const size_t nx = decompressed->nx, n = nx * decompressed->ny, stride = decompressed->stride;
    return (k >= 1 && get_bits(decompressed, first + (k - 1) * stride) == bits) ||
           (k + 1 < n && get_bits(decompressed, first + (k + 1) * stride) == bits) ||
           (k >= nx && get_bits(decompressed, first + (k - nx) * stride) == bits) ||
           (k + nx < n && get_bits(decompressed, first + (k + nx) * stride) == bits);
}

/* Adds the counts of a component of one plane. */
static void count_component(const struct values *values, const struct values *decompressed,
    const struct values *original, size_t first, struct counts *counts)
{
    const size_t n = values->nx * values->ny;
    for (size_t k = 0; k < n; k++) {
        const size_t at = first + k * values->stride;
        const uint64_t now = get_bits(values, at), before = get_bits(decompressed, at);
        const uint64_t exact = original->bytes ? get_bits(original, at) : before;
        if (now == nothing(values) || !holds_data(values, exact))
            continue;
        if (now == before)
            counts->same[kind_of(now)] += holds_data(values, now) && (!original->bytes || now != exact);
        else if (now != exact) {
            counts->changed++;
            counts->displaced += holds_data(values, now) && is_displaced(decompressed, first, k, now);
        }
    }
}

/* Adds up what agrees, without the two kinds that are the most frequent. */
static size_t telling(const struct counts *counts)
{
    size_t sum = 0, largest = 0, second = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        const size_t same = counts->same[kind];
        sum += same;
        second = same > largest ? largest : same > second ? same : second;
        largest = same > largest ? same : largest;
    }
    return sum - largest - second;
}

static size_t all_same(const struct counts *counts)
{
    size_t sum = 0;
    for (int kind = 0; kind < KINDS; kind++)
        sum += counts->same[kind];
    return sum;
}

enum agreement agreement_of(
    const struct values *values, const struct values *decompressed, const struct values *original)
{
    size_t changed = 0, displaced = 0, same = 0;
    for (size_t component = 0; component < values->components; component++) {
        struct counts counts = {.changed = 0};
        for (size_t plane = 0; plane < values->planes; plane++)
            count_component(
                values, decompressed, original, plane * to_plane(values) + component * values->to_v, &counts);
        changed += counts.changed;
        displaced += counts.displaced;
        same += original->bytes ? all_same(&counts) : telling(&counts);
    }
    if (original->bytes && changed == 0 && same > 0)
        return AGREES_SURELY;
    /* Of data of few distinct values, what was stored exactly may agree with the next field of a series. */
    const size_t chance = original->bytes ? displaced / 2 : 3 * displaced;
    if (same <= (values_count(values) >> CHANCE_BITS) + chance)
        return AGREES_BY_CHANCE;
    return displaced <= changed >> NEIGHBOUR_BITS ? AGREES_SURELY : AGREES_IN_PART;
}

size_t same_values(const struct values *values, const struct values *decompressed)
{
    size_t same = 0;
    for (size_t k = 0; k < values_count(values); k++) {
        const uint64_t bits = get_bits(values, k);
        same += bits == get_bits(decompressed, k) && holds_data(values, bits);
    }
    return same;
}
