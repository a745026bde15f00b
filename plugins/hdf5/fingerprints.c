#include "fingerprints.h"

#include <stdlib.h>
#include <string.h>

/* Fingerprints that are kept, 16 MiB of them. A new one takes the place of any. */
#define SET_BITS 21
#define BUCKET 8

/* Values of a run, and runs that must be known: decompressed values have ramps, which others may have, too.
 */
#define RUN 8
#define ENOUGH_RUNS 4
/* Runs of a chunk that have a fingerprint: all of so many, of more values one in 128. */
#define ALL_RUNS_BITS 8
#define MOST_SAMPLED_BITS 7

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

/* Nothing counts as known while fingerprints are entered. */
static bool enter(uint64_t fingerprint)
{
    uint64_t *bucket = bucket_of(fingerprint);
    if (!contains(fingerprint)) {
        int place = 0;
        while (place < BUCKET && bucket[place])
            place++;
        bucket[place < BUCKET ? place : (int)((fingerprint >> 1) % BUCKET)] = fingerprint;
    }
    return false;
}

/* ---------------------------------------------------------------- the fingerprints of a chunk */

/* Memory of a walk: an element for each column. A product is 0 where a value tells nothing. */
struct scratch {
    uint64_t *products;
    /* 1 where a value of the row is not the original. */
    uint64_t *changed;
    /* Of the columns so far: hashes, last products, whether two products differ, whether a value changed. */
    uint64_t *hashes;
    uint64_t *last;
    uint64_t *varies;
    uint64_t *changes;
};

/* The chunk of a walk. */
struct walk {
    const struct values *values;
    const struct values *original;
    uint32_t exact;
    /* A run has a fingerprint if no bit of its hash is in here. */
    uint64_t sampled;
    struct scratch scratch;
    /* Whether a fingerprint is known. One line that is known ends the walk, and ENOUGH_RUNS do. */
    bool (*visit)(uint64_t fingerprint);
    int *known_runs;
};

static bool open_scratch(struct scratch *scratch, size_t nx)
{
    uint64_t *memory = malloc(6 * nx * sizeof *memory);
    if (!memory)
        return false;
    *scratch = (struct scratch){
        memory, memory + nx, memory + 2 * nx, memory + 3 * nx, memory + 4 * nx, memory + 5 * nx};
    for (size_t x = 0; x < nx; x++)
        scratch->changed[x] = 1;
    return true;
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

static inline void compare_row(
    const struct values *values, const struct values *original, size_t first, uint64_t *changed)
{
    for (size_t x = 0; x < values->nx; x++) {
        const size_t k = first + x * values->stride;
        changed[x] = get_bits(values, k) != get_bits(original, k);
    }
}

static void extend_columns(const struct scratch *scratch, size_t nx)
{
    for (size_t x = 0; x < nx; x++) {
        const uint64_t product = scratch->products[x], last = scratch->last[x];
        scratch->hashes[x] = rotated(scratch->hashes[x], 1) + product;
        scratch->varies[x] |= product && last ? product ^ last : 0;
        scratch->changes[x] |= scratch->changed[x];
        scratch->last[x] = product;
    }
}

/* Whether all products of a run tell something, and most of them differ from the one before. */
static bool tells_much(const uint64_t *run)
{
    int steps = 0;
    for (int k = 0; k < RUN; k++) {
        if (run[k] == 0)
            return false;
        steps += k > 0 && run[k] != run[k - 1];
    }
    return steps >= RUN / 2;
}

static bool visit_row(const struct walk *walk)
{
    const uint64_t *products = walk->scratch.products, *changed = walk->scratch.changed;
    uint64_t line = 0, varies = 0, last = 0, changes = 0;
    /* All products of the run, the one k places ago rotated by k * 64 / RUN: the one that leaves is back. */
    uint64_t run = 0;
    /* Changed values of the run. */
    uint64_t run_changes = 0;
    for (size_t x = 0; x < walk->values->nx; x++) {
        const uint64_t product = products[x];
        run = rotated(run, 64 / RUN) ^ product ^ (x >= RUN ? products[x - RUN] : 0);
        run_changes += changed[x] - (x >= RUN ? changed[x - RUN] : 0);
        line = rotated(line, 1) + product;
        varies |= last && product ? last ^ product : 0;
        changes |= changed[x];
        last = product;
        if ((run & walk->sampled) == 0 && x + 1 >= RUN && run_changes && tells_much(products + x + 1 - RUN) &&
            walk->visit(mix(run)) && ++*walk->known_runs == ENOUGH_RUNS)
            return true;
    }
    return varies && changes && walk->visit(mix(line));
}

/* All fingerprints of a component of a plane, whose first value is number `first`. */
static bool walk_component(const struct walk *walk, size_t first)
{
    const struct values *values = walk->values;
    const struct scratch *scratch = &walk->scratch;
    const size_t nx = values->nx, ny = values->ny;
    const uint32_t exact = walk->exact;
    memset(scratch->hashes, 0, 4 * nx * sizeof *scratch->hashes);
    for (size_t y = 0; y < ny; y++) {
        const size_t row = first + y * nx * values->stride;
        multiply_row(values, row, scratch->products);
        if (walk->original)
            compare_row(values, walk->original, row, scratch->changed);
        extend_columns(scratch, nx);
        if (!on_side(values, y, exact) && visit_row(walk))
            return true;
    }
    for (size_t x = 0; x < nx; x++) {
        if (scratch->varies[x] && scratch->changes[x] && !(x == 0 && exact & FACTZ_SIDE_X_MIN) &&
            !(x == nx - 1 && exact & FACTZ_SIDE_X_MAX) && walk->visit(mix(scratch->hashes[x])))
            return true;
    }
    return false;
}

/* The runs of a large chunk that have a fingerprint would have one in a small chunk, too. */
static uint64_t sampled_bits(const struct values *values)
{
    int bits = 0;
    while (bits < MOST_SAMPLED_BITS && values_count(values) >> (ALL_RUNS_BITS + bits + 1) > 0)
        bits++;
    return ~(UINT64_MAX >> bits);
}

/* True where the walk was ended. */
static bool walk_chunk(const struct walk *walk)
{
    for (size_t plane = 0; plane < walk->values->planes; plane++) {
        const size_t first = plane * to_plane(walk->values);
        for (size_t component = 0; component < walk->values->components; component++) {
            if (walk_component(walk, first + component * walk->values->to_v))
                return true;
        }
    }
    return false;
}

bool fingerprints_add(const struct values *values, const struct values *original, uint32_t exact)
{
    int known_runs = 0;
    struct walk walk = {.values = values,
        .known_runs = &known_runs,
        .original = original,
        .exact = exact,
        .sampled = sampled_bits(values),
        .visit = enter};
    if (!set)
        set = calloc((size_t)1 << SET_BITS, sizeof *set);
    const bool good = set && open_scratch(&walk.scratch, values->nx);
    if (good)
        walk_chunk(&walk);
    free(walk.scratch.products);
    return good;
}

bool fingerprints_known(const struct values *values)
{
    int known_runs = 0;
    struct walk walk = {
        .values = values, .known_runs = &known_runs, .sampled = sampled_bits(values), .visit = contains};
    if (!set)
        return false;
    const bool known = !open_scratch(&walk.scratch, values->nx) || walk_chunk(&walk);
    free(walk.scratch.products);
    return known;
}
