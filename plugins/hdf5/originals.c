#include "originals.h"

#include <stdlib.h>

#include "values.h"

#define MOST_ORIGINALS 1024

struct original {
    struct stream stream;
    void *values;
};

/* The next to be given up first. */
static struct original originals[MOST_ORIGINALS];
static size_t original_count, original_bytes;

static void drop(size_t place)
{
    original_bytes -= values_bytes(&originals[place].stream.config);
    free(originals[place].stream.bytes);
    free(originals[place].values);
    original_count--;
    memmove(originals + place, originals + place + 1, (original_count - place) * sizeof *originals);
}

bool originals_add(const struct stream *stream, void *values, size_t most)
{
    const size_t size = values_bytes(&stream->config);
    if (size > most)
        return false;
    struct stream copy = *stream;
    copy.bytes = malloc(stream->count);
    if (!copy.bytes)
        return false;
    memcpy(copy.bytes, stream->bytes, stream->count);
    for (size_t k = original_count; k-- > 0;) {
        if (same_stream(&originals[k].stream, stream))
            drop(k);
    }
    while (original_count == MOST_ORIGINALS || original_bytes + size > most)
        drop(0);
    originals[original_count++] = (struct original){copy, values};
    original_bytes += size;
    return true;
}

void *originals_of(const struct stream *stream)
{
    for (size_t k = original_count; k-- > 0;) {
        if (same_stream(&originals[k].stream, stream))
            return originals[k].values;
    }
    return NULL;
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
