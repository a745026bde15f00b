#include "fingerprints.h"

#include <stdlib.h>
#include <string.h>

/* Fingerprints that are kept, 8 MiB of them: those of 512 MiB of floats. A new one takes the place of any. */
#define SET_BITS 20
#define BUCKET 8

/* A run of four values has a fingerprint if these highest bits of its hash are zero. */
#define SAMPLED_BITS 7

#define ODD 0x9e3779b97f4a7c15u

static uint64_t *set;

/* ---------------------------------------------------------------- the set */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    /* Zero marks an empty place. */
    return (x ^ x >> 32) | 1;
}

static uint64_t *bucket_of(uint64_t fingerprint)
{
    return set + (fingerprint >> (64 - SET_BITS) & ~(uint64_t)(BUCKET - 1));
}

static bool contains(uint64_t fingerprint)
{
    const uint64_t *bucket = bucket_of(fingerprint);
    bool found = false;
    for (int k = 0; k < BUCKET; k++)
        found |= bucket[k] == fingerprint;
    return found;
}

/* Never stops the walk. */
static bool enter(uint64_t fingerprint)
{
    uint64_t *bucket = bucket_of(fingerprint);
    if (!contains(fingerprint)) {
        int place = 0;
        while (place < BUCKET && bucket[place])
            place++;
        bucket[place < BUCKET ? place : (int)(fingerprint >> 1) % BUCKET] = fingerprint;
    }
    return false;
}

/* ---------------------------------------------------------------- the fingerprints of a chunk */

/* Memory of a walk: an element for each column. A product is 0 where a value tells nothing. */
struct scratch {
    uint64_t *products;
    /* Hashes of the columns so far, their last products, and whether two of these differ. */
    uint64_t *hashes;
    uint64_t *last;
    uint64_t *varies;
};

static bool open_scratch(struct scratch *scratch, size_t nx)
{
    uint64_t *memory = malloc(4 * nx * sizeof *memory);
    *scratch = (struct scratch){memory, memory + nx, memory + 2 * nx, memory + 3 * nx};
    return memory != NULL;
}

static inline uint64_t rotated(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void multiply_row(const struct values *values, size_t first, uint64_t *products)
{
    for (size_t x = 0; x < values->nx; x++) {
        const uint64_t bits = get_bits(values, first + x * values->stride);
        products[x] = holds_data(values, bits) ? bits * ODD : 0;
    }
}

static void extend_columns(const struct scratch *scratch, size_t nx)
{
    for (size_t x = 0; x < nx; x++) {
        const uint64_t product = scratch->products[x], last = scratch->last[x];
        scratch->hashes[x] = rotated(scratch->hashes[x], 1) + product;
        scratch->varies[x] |= product && last ? product ^ last : 0;
        scratch->last[x] = product;
    }
}

/* Calls `visit` for each fingerprint of a row until it returns true. */
static inline bool visit_row(const uint64_t *products, size_t nx, bool (*visit)(uint64_t))
{
    /* The products before. */
    uint64_t a = 0, b = 0, c = 0, line = 0, varies = 0;
    for (size_t x = 0; x < nx; x++) {
        const uint64_t d = products[x];
        const uint64_t run = d + rotated(c, 16) + rotated(b, 32) + rotated(a, 48);
        line = rotated(line, 1) + d;
        varies |= c && d ? c ^ d : 0;
        if (run >> (64 - SAMPLED_BITS) == 0 && a && b && c && d && !(a == b && b == c && c == d) &&
            visit(mix(run)))
            return true;
        a = b, b = c, c = d;
    }
    return varies && visit(mix(line));
}

/* All fingerprints of a component, whose first value is number `first`. */
static inline bool walk_component(const struct values *values, size_t first, uint32_t exact,
    const struct scratch *scratch, bool (*visit)(uint64_t))
{
    const size_t nx = values->nx, ny = values->ny;
    memset(scratch->hashes, 0, 3 * nx * sizeof *scratch->hashes);
    for (size_t y = 0; y < ny; y++) {
        const bool skipped =
            (y == 0 && exact & FACTZ_SIDE_Y_MIN) || (y == ny - 1 && exact & FACTZ_SIDE_Y_MAX);
        multiply_row(values, first + y * nx * values->stride, scratch->products);
        extend_columns(scratch, nx);
        if (!skipped && visit_row(scratch->products, nx, visit))
            return true;
    }
    for (size_t x = 0; x < nx; x++) {
        const bool skipped =
            (x == 0 && exact & FACTZ_SIDE_X_MIN) || (x == nx - 1 && exact & FACTZ_SIDE_X_MAX);
        if (scratch->varies[x] && !skipped && visit(mix(scratch->hashes[x])))
            return true;
    }
    return false;
}

static bool walk(const struct values *values, uint32_t exact, const struct scratch *scratch,
    bool (*visit)(uint64_t))
{
    return walk_component(values, 0, exact, scratch, visit) ||
           walk_component(values, values->to_v, exact, scratch, visit);
}

bool fingerprints_add(const struct values *values, uint32_t exact)
{
    struct scratch scratch;
    if (!set)
        set = calloc((size_t)1 << SET_BITS, sizeof *set);
    const bool good = open_scratch(&scratch, values->nx) && set;
    if (good)
        walk(values, exact, &scratch, enter);
    free(scratch.products);
    return good;
}

bool fingerprints_known(const struct values *values)
{
    struct scratch scratch;
    if (!set)
        return false;
    const bool known = !open_scratch(&scratch, values->nx) || walk(values, 0, &scratch, contains);
    free(scratch.products);
    return known;
}
