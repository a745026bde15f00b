#include "originals.h"

#include <stdint.h>
#include <stdlib.h>

#include "values.h"

#define MOST_ORIGINALS 4096
#define FORGOTTEN_BITS 16

/* The values are NULL where different ones became this stream. */
struct original {
    struct stream stream;
    void *values;
};

/* The next to be given up first. */
static struct original originals[MOST_ORIGINALS];
static size_t original_count, original_bytes;

/* Hashes of streams whose originals were given up, by their last bits. */
static uint64_t forgotten[(size_t)1 << FORGOTTEN_BITS];

static uint64_t hash_of(const struct stream *stream)
{
    const unsigned char *bytes = stream->bytes;
    uint64_t hash = stream->count + stream->config.u_stride;
    for (size_t k = 0; k < stream->count; k++)
        hash = (hash ^ bytes[k]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return hash ? hash : 1;
}

static uint64_t *forgotten_at(uint64_t hash)
{
    return &forgotten[hash & (((size_t)1 << FORGOTTEN_BITS) - 1)];
}

static size_t bytes_of(const struct original *original)
{
    return original->values ? values_bytes(&original->stream.config) : 0;
}

static void drop(size_t place)
{
    original_bytes -= bytes_of(&originals[place]);
    free(originals[place].stream.bytes);
    free(originals[place].values);
    original_count--;
    memmove(originals + place, originals + place + 1, (original_count - place) * sizeof *originals);
}

/* Gives up the first one. */
static void forget(void)
{
    const uint64_t hash = hash_of(&originals[0].stream);
    *forgotten_at(hash) = hash;
    drop(0);
}

static size_t place_of(const struct stream *stream)
{
    size_t place = original_count;
    while (place > 0 && !same_stream(&originals[place - 1].stream, stream))
        place--;
    return place > 0 ? place - 1 : original_count;
}

/* Whether all values that became the stream so far are these; others are no longer kept then. */
static bool is_unique(const struct stream *stream, const void *values, size_t size)
{
    const uint64_t hash = hash_of(stream);
    const size_t place = place_of(stream);
    if (place == original_count)
        return *forgotten_at(hash) != hash;
    struct original *older = &originals[place];
    if (older->values && memcmp(older->values, values, size) == 0) {
        drop(place);
        return true;
    }
    original_bytes -= bytes_of(older);
    free(older->values);
    older->values = NULL;
    return false;
}

bool originals_add(const struct stream *stream, void *values, size_t most)
{
    const size_t size = values_bytes(&stream->config);
    if (size > most || !is_unique(stream, values, size))
        return false;
    struct stream copy = *stream;
    copy.bytes = malloc(stream->count);
    if (!copy.bytes)
        return false;
    memcpy(copy.bytes, stream->bytes, stream->count);
    while (original_count == MOST_ORIGINALS || original_bytes + size > most)
        forget();
    originals[original_count++] = (struct original){copy, values};
    original_bytes += size;
    return true;
}

void *originals_of(const struct stream *stream)
{
    const size_t place = place_of(stream);
    return place < original_count ? originals[place].values : NULL;
}

void originals_replaced(const void *values)
{
    size_t place = 0;
    while (place < original_count && originals[place].values != values)
        place++;
    if (place == original_count)
        return;
    const struct original replaced = originals[place];
    memmove(originals + 1, originals, place * sizeof *originals);
    originals[0] = replaced;
}
