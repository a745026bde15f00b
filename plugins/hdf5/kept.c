#include "kept.h"

#include <stdlib.h>

#define MOST_KEPT 4096u

/* Values that are compared: all of a chunk of as many, and of a larger one as many, or one of so many. */
#define LEAST_SAMPLES 512
#define MOST_APART 32

/* Entries of the index, 16 MiB of them, in buckets. An entry is 20 bits of a hash, and a slot. */
#define INDEX_BITS 22
#define BUCKET 8

static struct kept slots[MOST_KEPT];
static size_t slot_end, slot_bytes;
/* Of each slot: when its chunk was last read, by number, 0 in a free slot; and the bytes of its stream. */
static uint64_t times[MOST_KEPT], now;
static size_t counts[MOST_KEPT];
static uint32_t *entries;

/* ---------------------------------------------------------------- the samples of a chunk */

/* Of chunks of one shape: one in `apart` values. */
struct samples {
    size_t count;
    size_t apart;
    uint64_t shape;
};

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static struct samples samples_of(const struct values *values)
{
    const size_t all = values_count(values), most = all / LEAST_SAMPLES;
    const size_t apart = most < 1 ? 1 : most < MOST_APART ? most : MOST_APART;
    const uint64_t shape = mix(mix(mix(mix(values->nx) + values->ny) + values->planes) + values->components) +
                           2 * values->stride + values->wide;
    return (struct samples){all / apart, apart, mix(shape)};
}

/* Irregular, so that no regular pattern of new values covers all samples. */
static inline size_t place_of(const struct samples *samples, size_t k)
{
    return k * samples->apart + (size_t)((mix(k) >> 32) * samples->apart >> 32);
}

static inline uint64_t hash_of(const struct samples *samples, size_t place, uint64_t bits)
{
    return mix(mix(bits + samples->shape) + place);
}

static inline uint32_t *bucket_of(uint64_t hash)
{
    return entries + (hash >> (64 - INDEX_BITS) & ~(uint64_t)(BUCKET - 1));
}

/* The oldest entry of a bucket gives way. */
static void enter_samples(size_t slot)
{
    const struct values values = values_of(&slots[slot].stream.config, slots[slot].values);
    const struct samples samples = samples_of(&values);
    for (size_t k = 0; k < samples.count; k++) {
        const size_t place = place_of(&samples, k);
        const uint64_t bits = get_bits(&values, place);
        if (!holds_data(&values, bits))
            continue;
        const uint64_t hash = hash_of(&samples, place, bits);
        uint32_t *bucket = bucket_of(hash);
        memmove(bucket + 1, bucket, (BUCKET - 1) * sizeof *bucket);
        bucket[0] = ((uint32_t)hash & ~(MOST_KEPT - 1)) | (uint32_t)slot;
    }
}

/* ---------------------------------------------------------------- the chunks */

static void drop(size_t slot)
{
    slot_bytes -= values_bytes(&slots[slot].stream.config);
    free(slots[slot].stream.bytes);
    free(slots[slot].values);
    /* The index may still name the slot. */
    times[slot] = counts[slot] = 0;
}

static size_t free_slot(void)
{
    size_t slot = 0;
    while (slot < slot_end && times[slot] != 0)
        slot++;
    return slot;
}

static size_t oldest_slot(void)
{
    size_t oldest = slot_end;
    for (size_t slot = 0; slot < slot_end; slot++) {
        if (times[slot] != 0 && (oldest == slot_end || times[slot] < times[oldest]))
            oldest = slot;
    }
    return oldest;
}

bool kept_has(const struct stream *stream)
{
    for (size_t slot = 0; slot < slot_end; slot++) {
        if (counts[slot] == stream->count && same_stream(&slots[slot].stream, stream)) {
            times[slot] = ++now;
            return true;
        }
    }
    return false;
}

bool kept_add(struct stream stream, void *values, size_t most)
{
    const size_t bytes = values_bytes(&stream.config);
    if (!entries)
        entries = calloc((size_t)1 << INDEX_BITS, sizeof *entries);
    if (!entries || bytes > most) {
        free(stream.bytes);
        free(values);
        return entries != NULL;
    }
    while (slot_bytes + bytes > most || (slot_end == MOST_KEPT && free_slot() == MOST_KEPT))
        drop(oldest_slot());
    const size_t slot = free_slot();
    slots[slot] = (struct kept){stream, values};
    times[slot] = ++now;
    counts[slot] = stream.count;
    slot_bytes += bytes;
    slot_end = slot < slot_end ? slot_end : slot + 1;
    enter_samples(slot);
    return true;
}

/* ---------------------------------------------------------------- candidates */

/* Counts the samples that agree with those of each slot; the largest number. */
static uint32_t count_votes(const struct values *values, uint32_t votes[MOST_KEPT])
{
    const struct samples samples = samples_of(values);
    uint32_t most = 0;
    for (size_t k = 0; k < samples.count; k++) {
        const size_t place = place_of(&samples, k);
        const uint64_t bits = get_bits(values, place), hash = hash_of(&samples, place, bits);
        const uint32_t *bucket = bucket_of(hash);
        for (size_t i = 0; i < BUCKET && holds_data(values, bits); i++) {
            const size_t slot = bucket[i] % MOST_KEPT;
            if ((bucket[i] ^ (uint32_t)hash) & ~(MOST_KEPT - 1) || times[slot] == 0)
                continue;
            const struct values kept = values_of(&slots[slot].stream.config, slots[slot].values);
            if (same_shape(&kept, values) && get_bits(&kept, place) == bits && ++votes[slot] > most)
                most = votes[slot];
        }
    }
    return most;
}

/* Puts a chunk into a list of the newest ones, which is full or not. */
static size_t insert(size_t slot, size_t found_count, size_t found[CANDIDATES])
{
    size_t place = found_count;
    while (place > 0 && times[found[place - 1]] < times[slot])
        place--;
    if (place == CANDIDATES)
        return found_count;
    const size_t kept = found_count < CANDIDATES ? found_count : CANDIDATES - 1;
    memmove(found + place + 1, found + place, (kept - place) * sizeof *found);
    found[place] = slot;
    return kept + 1;
}

size_t kept_candidates(const struct values *values, const struct kept *found[CANDIDATES])
{
    static uint32_t votes[MOST_KEPT];
    size_t newest[CANDIDATES], number = 0;
    if (slot_end == 0)
        return 0;
    memset(votes, 0, sizeof votes);
    const uint32_t most = count_votes(values, votes);
    for (size_t slot = 0; slot < slot_end && most > 0; slot++) {
        /* What differs by less may be older versions of one chunk. */
        if (votes[slot] >= most - most / 4)
            number = insert(slot, number, newest);
    }
    for (size_t k = 0; k < number; k++)
        found[k] = &slots[newest[k]];
    return number;
}
