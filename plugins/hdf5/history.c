#include "history.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "fingerprints.h"

/* Limits of what is kept; the last stream that was read is kept always. */
#define MOST_READ 4096
#define MOST_READ_BYTES ((size_t)32 << 20)
#define MOST_READ_VALUE_BYTES ((size_t)256 << 20)
#define MOST_WRITTEN 1024
#define MOST_WRITTEN_MIB 128

/* The last streams among which one is looked for that is read again. */
#define REPEATED 64

/* A stream that was decompressed, whose fingerprints have not been taken. */
struct read {
    struct stream stream;
    uint32_t exact;
};

/* A stream with its original values. */
struct written {
    struct stream stream;
    void *values;
    double bound;
    /* Nothing can go on that was not read. */
    bool was_read;
};

/* A ring, the oldest at read_first. */
static struct read reads[MOST_READ];
static size_t read_first, read_count, read_bytes, read_value_bytes;
/* The oldest first. */
static struct written writtens[MOST_WRITTEN];
static size_t written_count, written_bytes;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* A child may be forked while another thread is in here. */
static void prepare(void)
{
    pthread_atfork(lock, unlock, unlock);
}

static void enter(void)
{
    pthread_once(&once, prepare);
    lock();
}

static size_t bytes_of(const struct factz_config *config)
{
    return 2 * config->nx * config->ny * (config->dtype == FACTZ_DTYPE_F64 ? sizeof(double) : sizeof(float));
}

/* The values of a stream in memory of malloc; NULL where there is none. */
static void *decompressed(const struct stream *stream)
{
    const struct factz_config *config = &stream->config;
    void *bytes = malloc(bytes_of(config));
    struct values values = values_of(config, bytes);
    factz_report report;
    if (bytes && factz_decompress_host(stream->bytes, stream->count, config, bytes,
                     values.bytes + values.to_v * (bytes_of(config) / values_count(&values)),
                     config->nx * config->ny, &report, 1) == FACTZ_OK)
        return bytes;
    free(bytes);
    return NULL;
}

/* ---------------------------------------------------------------- streams that were read */

static struct read *read_at(size_t k)
{
    return &reads[(read_first + k) % MOST_READ];
}

static void drop_oldest_read(void)
{
    const struct stream *stream = &read_at(0)->stream;
    read_bytes -= stream->count;
    read_value_bytes -= bytes_of(&stream->config);
    free(stream->bytes);
    read_first = (read_first + 1) % MOST_READ;
    read_count--;
}

static bool same_stream(const struct stream *a, const struct stream *b)
{
    return a->count == b->count && memcmp(a->bytes, b->bytes, a->count) == 0;
}

/* A chunk that the cache of HDF5 cannot hold is read again and again. */
static bool is_repeated(const struct stream *stream)
{
    for (size_t k = read_count; k > 0 && k + REPEATED > read_count; k--) {
        if (same_stream(&read_at(k - 1)->stream, stream))
            return true;
    }
    return false;
}

void history_add_read(struct stream stream, uint32_t exact)
{
    enter();
    for (size_t k = 0; k < written_count; k++)
        writtens[k].was_read |= same_stream(&writtens[k].stream, &stream);
    if (is_repeated(&stream)) {
        free(stream.bytes);
    } else {
        const size_t value_bytes = bytes_of(&stream.config);
        while (read_count > 0 && (read_count == MOST_READ || read_bytes + stream.count > MOST_READ_BYTES ||
                                     read_value_bytes + value_bytes > MOST_READ_VALUE_BYTES))
            drop_oldest_read();
        *read_at(read_count++) = (struct read){stream, exact};
        read_bytes += stream.count;
        read_value_bytes += value_bytes;
    }
    unlock();
}

/* ---------------------------------------------------------------- values that were written */

static void drop_written(size_t place)
{
    written_bytes -= bytes_of(&writtens[place].stream.config);
    free(writtens[place].stream.bytes);
    free(writtens[place].values);
    written_count--;
    memmove(writtens + place, writtens + place + 1, (written_count - place) * sizeof *writtens);
}

/* Bytes of values that are kept: FACTZ_HDF5_MEMORY, in MiB, or 128 MiB. */
static size_t most_written_bytes(void)
{
    const char *text = getenv("FACTZ_HDF5_MEMORY");
    char *end;
    const unsigned long long number = text ? strtoull(text, &end, 10) : MOST_WRITTEN_MIB;
    const bool good = !text || (end != text && !*end && number < 1u << 30);
    return (size_t)(good ? number : MOST_WRITTEN_MIB) << 20;
}

bool history_add_written(const struct stream *stream, void *bytes, double bound)
{
    const size_t size = bytes_of(&stream->config), most = most_written_bytes();
    if (size > most)
        return false;
    struct stream copy = *stream;
    copy.bytes = malloc(stream->count);
    if (!copy.bytes)
        return false;
    memcpy(copy.bytes, stream->bytes, stream->count);
    enter();
    for (size_t k = written_count; k-- > 0;) {
        if (same_stream(&writtens[k].stream, stream))
            drop_written(k);
    }
    while (written_count == MOST_WRITTEN || written_bytes + size > most)
        drop_written(0);
    writtens[written_count++] = (struct written){copy, bytes, bound, false};
    written_bytes += size;
    unlock();
    return true;
}

/* Whether the values may be the original ones, decompressed, with others in some gaps. */
static bool is_near(const struct values *original, const struct values *values, double bound)
{
    const size_t count = values_count(original);
    bool filled = false;
    for (size_t k = 0; k < count; k++) {
        const uint64_t before = get_bits(original, k), now = get_bits(values, k);
        if (!holds_data(original, before))
            filled |= before != now;
        else if (before != now && !(fabs(get_number(original, k) - get_number(values, k)) <= bound))
            return false;
    }
    return filled;
}

/* Whether all values are the decompressed ones, but for others in gaps of the original. */
static bool is_continued(
    const struct values *original, const struct values *decompressed, const struct values *values)
{
    const size_t count = values_count(original);
    bool lossy = false, filled = false;
    for (size_t k = 0; k < count; k++) {
        const uint64_t before = get_bits(original, k), after = get_bits(decompressed, k);
        const bool same = get_bits(values, k) == after;
        if (!same && holds_data(original, before))
            return false;
        lossy |= same && before != after;
        filled |= !same;
    }
    return lossy && filled;
}

/* Decompressed values become the original ones; `decompressed` becomes the new ones, and zeros elsewhere. */
static void restore(const struct values *original, struct values *decompressed, struct values *values)
{
    const size_t count = values_count(original);
    for (size_t k = 0; k < count; k++) {
        const uint64_t bits = get_bits(values, k);
        const bool old = bits == get_bits(decompressed, k);
        set_bits(decompressed, k, old ? 0 : bits);
        if (old)
            set_bits(values, k, get_bits(original, k));
    }
}

static bool same_shape(const struct factz_config *a, const struct factz_config *b)
{
    return a->nx == b->nx && a->ny == b->ny && a->dtype == b->dtype && a->u_stride == b->u_stride;
}

/* The new values of a chunk that goes on, which holds its original values then; NULL where there is none. */
static void *continued(const struct factz_config *config, void *bytes)
{
    struct values values = values_of(config, bytes);
    for (size_t k = written_count; k-- > 0;) {
        const struct written *written = &writtens[k];
        const struct values original = values_of(config, written->values);
        if (!written->was_read || !same_shape(config, &written->stream.config) ||
            !is_near(&original, &values, written->bound))
            continue;
        struct values old = values_of(config, decompressed(&written->stream));
        if (old.bytes && is_continued(&original, &old, &values)) {
            restore(&original, &old, &values);
            drop_written(k);
            return old.bytes;
        }
        free(old.bytes);
    }
    return NULL;
}

/* The original values of a stream; NULL where they are not kept. */
static void *original_of(const struct stream *stream)
{
    for (size_t k = 0; k < written_count; k++) {
        if (same_stream(&writtens[k].stream, stream))
            return writtens[k].values;
    }
    return NULL;
}

/* Takes the fingerprints of what was read; false where there is no memory. */
static bool take_fingerprints(void)
{
    for (; read_count > 0; drop_oldest_read()) {
        const struct stream *stream = &read_at(0)->stream;
        void *bytes = decompressed(stream);
        const struct values values = values_of(&stream->config, bytes);
        const struct values original = values_of(&stream->config, original_of(stream));
        const bool good =
            bytes && fingerprints_add(&values, original.bytes ? &original : NULL, read_at(0)->exact);
        free(bytes);
        if (!good)
            return false;
    }
    return true;
}

bool history_knows(const struct factz_config *config, void *bytes)
{
    enter();
    /* Before an original is dropped. */
    const bool complete = take_fingerprints();
    void *added = continued(config, bytes);
    const struct values values = values_of(config, added ? added : bytes);
    const bool known = !complete || fingerprints_known(&values);
    unlock();
    free(added);
    return known;
}
