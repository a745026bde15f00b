#include "history.h"

#include <pthread.h>
#include <stdlib.h>

#include "agreement.h"
#include "fingerprints.h"
#include "kept.h"
#include "originals.h"

/* Limits of what was read and not looked at; the last stream that was read is kept always. */
#define MOST_READ 4096
#define MOST_READ_BYTES ((size_t)32 << 20)
#define MOST_READ_VALUE_BYTES ((size_t)256 << 20)

/* Values of whole chunks that are kept: so many originals, and as many decompressed ones. */
#define MOST_KEPT_MIB 128

/* The last streams among which one is looked for that is read again. */
#define REPEATED 64

/* A chunk may have values of so many that were decompressed before. */
#define MOST_ORIGINS 8

/* A stream that was decompressed, and not looked at so far. */
struct read {
    struct stream stream;
    uint32_t exact;
};

/* A ring, the oldest at read_first. */
static struct read reads[MOST_READ];
static size_t read_first, read_count, read_bytes, read_value_bytes;

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

/* Bytes of values of one kind that are kept: FACTZ_HDF5_MEMORY, in MiB, or 128 MiB. */
static size_t most_bytes(void)
{
    const char *text = getenv("FACTZ_HDF5_MEMORY");
    char *end;
    const unsigned long long number = text ? strtoull(text, &end, 10) : MOST_KEPT_MIB;
    const bool good = !text || (end != text && !*end && number < 1u << 30);
    return (size_t)(good ? number : MOST_KEPT_MIB) << 20;
}

/* ---------------------------------------------------------------- streams that were read */

static struct read *read_at(size_t k)
{
    return &reads[(read_first + k) % MOST_READ];
}

/* Takes the oldest one out; its memory belongs to the caller. */
static struct read take_oldest_read(void)
{
    const struct read oldest = *read_at(0);
    read_bytes -= oldest.stream.count;
    read_value_bytes -= values_bytes(&oldest.stream.config);
    read_first = (read_first + 1) % MOST_READ;
    read_count--;
    return oldest;
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
    if (is_repeated(&stream)) {
        free(stream.bytes);
    } else {
        const size_t value_bytes = values_bytes(&stream.config);
        while (read_count > 0 && (read_count == MOST_READ || read_bytes + stream.count > MOST_READ_BYTES ||
                                     read_value_bytes + value_bytes > MOST_READ_VALUE_BYTES))
            free(take_oldest_read().stream.bytes);
        *read_at(read_count++) = (struct read){stream, exact};
        read_bytes += stream.count;
        read_value_bytes += value_bytes;
    }
    unlock();
}

/* The values of a stream in memory of malloc; NULL where there is none. */
static void *decompressed(const struct stream *stream)
{
    const struct factz_config *config = &stream->config;
    void *bytes = malloc(values_bytes(config));
    factz_report report;
    if (bytes && field_decompress(stream->bytes, stream->count, config, bytes, &report, 1) == FACTZ_OK)
        return bytes;
    free(bytes);
    return NULL;
}

/* Puts nothing() where the values are certainly the original ones. */
static void leave_out_exact(struct values *values, const struct values *original, uint32_t exact)
{
    const size_t nx = values->nx, ny = values->ny;
    for (size_t k = 0; k < values_count(values) && original->bytes; k++) {
        if (get_bits(values, k) == get_bits(original, k))
            set_bits(values, k, nothing(values));
    }
    for (size_t row = 0; row < ny * values->planes; row++) {
        const bool whole = on_side(values, row % ny, exact);
        for (size_t x = 0; x < nx; x++) {
            const size_t k = offset_of(values, row * nx + x);
            if (whole || (x == 0 && exact & FACTZ_SIDE_X_MIN) || (x == nx - 1 && exact & FACTZ_SIDE_X_MAX)) {
                for (size_t component = 0; component < values->components; component++)
                    set_bits(values, k + component * values->to_v, nothing(values));
            }
        }
    }
}

/* Keeps what was read, with its fingerprints; takes the memory of the stream. False where there is none. */
static bool look_at_read(struct read read)
{
    if (kept_has(&read.stream)) {
        free(read.stream.bytes);
        return true;
    }
    void *bytes = decompressed(&read.stream);
    struct values values = values_of(&read.stream.config, bytes);
    const struct values original = values_of(&read.stream.config, originals_of(&read.stream));
    if (!bytes || !fingerprints_add(&values, original.bytes ? &original : NULL, read.exact)) {
        free(bytes);
        free(read.stream.bytes);
        return false;
    }
    leave_out_exact(&values, &original, read.exact);
    return kept_add(read.stream, bytes, most_bytes());
}

static bool look_at_reads(void)
{
    bool complete = true;
    while (read_count > 0)
        complete &= look_at_read(take_oldest_read());
    return complete;
}

/* ---------------------------------------------------------------- values that come back */

/* Chunks of one dataset have these in common. */
static bool same_words(const struct factz_config *a, const struct factz_config *b)
{
    uint32_t words[2][FACTZ_CONFIG_WORDS];
    return factz_config_to_words(a, words[0], FACTZ_CONFIG_WORDS) == FACTZ_OK &&
           factz_config_to_words(b, words[1], FACTZ_CONFIG_WORDS) == FACTZ_OK &&
           memcmp(words[0], words[1], sizeof words[0]) == 0;
}

/* Where values come from. */
struct origin {
    struct values decompressed;
    /* Without bytes where they are unknown. */
    struct values original;
    enum agreement agreement;
};

/* The chunk that the values agree with best: of those with known originals (`known`), or of the others. */
static struct origin best_origin(const struct factz_config *config, const struct values *values,
    const struct kept *const *kept, size_t count, bool known)
{
    struct origin best = {.agreement = AGREES_BY_CHANCE};
    size_t most = 0;
    for (size_t k = 0; k < count; k++) {
        const struct stream *stream = &kept[k]->stream;
        const struct values decompressed = values_of(&stream->config, kept[k]->values);
        /* Another dataset may have another bound: what is written is not meant to be the original then. */
        void *original = same_words(&stream->config, config) ? originals_of(stream) : NULL;
        const size_t same = (original != NULL) == known ? same_values(values, &decompressed) : 0;
        if (same > most) {
            most = same;
            best.decompressed = decompressed;
            best.original = values_of(config, original);
        }
    }
    if (most > 0)
        best.agreement = agreement_of(values, &best.decompressed, &best.original);
    return best;
}

static struct origin find_origin(const struct factz_config *config, const struct values *values)
{
    const struct kept *kept[CANDIDATES];
    const size_t count = kept_candidates(values, kept);
    const struct origin best = best_origin(config, values, kept, count, true);
    return best.agreement == AGREES_BY_CHANCE ? best_origin(config, values, kept, count, false) : best;
}

/*
 * Whether a zero is a decompressed one and no new one, which may have the same bits: most values of its
 * component around it are old, and none beside it has become zero.
 */
static bool is_old_zero(const struct origin *origin, const struct values *rest, size_t k)
{
    const size_t count = values_count(rest), row = rest->nx * rest->stride, next = rest->stride;
    /* A difference below 0 is beyond the end. */
    const size_t around[] = {
        k - next, k + next, k - row, k + row, k - row - next, k - row + next, k + row - next, k + row + next};
    int old = 0;
    for (int i = 0; i < 8; i++) {
        if (around[i] >= count)
            continue;
        const uint64_t now = get_bits(rest, around[i]), before = get_bits(&origin->decompressed, around[i]);
        if (now == before || now == nothing(rest) || now == get_bits(&origin->original, around[i]))
            old += !is_zero(rest, now);
        else if (i < 4 && is_zero(rest, now))
            return false;
        else
            old--;
    }
    return old >= 0;
}

/* Decompressed values become the original ones; `rest` becomes nothing() there, and keeps the new ones. */
static void restore(const struct origin *origin, struct values *values, struct values *rest)
{
    for (size_t k = 0; k < values_count(values); k++) {
        const uint64_t now = get_bits(rest, k), original = get_bits(&origin->original, k);
        const bool old = now == get_bits(&origin->decompressed, k) &&
                         (!is_zero(rest, now) || is_old_zero(origin, rest, k));
        if (now == nothing(rest) || (now != original && !old))
            continue;
        set_bits(values, k, original);
        set_bits(rest, k, nothing(rest));
    }
}

/* Decompressed values become the original ones where these are known. Whether others are left. */
static bool holds_decompressed(const struct factz_config *config, struct values *values)
{
    /* The values themselves, until some of them are known. */
    struct values rest = *values;
    bool known = true;
    for (int turn = 0; turn < MOST_ORIGINS; turn++) {
        const struct origin origin = find_origin(config, &rest);
        if (origin.agreement != AGREES_SURELY || !origin.original.bytes) {
            known = origin.agreement != AGREES_BY_CHANCE || fingerprints_known(&rest);
            break;
        }
        if (turn == 0 && !(rest.bytes = malloc(values_bytes(config))))
            return true;
        if (turn == 0)
            memcpy(rest.bytes, values->bytes, values_bytes(config));
        restore(&origin, values, &rest);
        originals_replaced(origin.original.bytes);
    }
    if (rest.bytes != values->bytes)
        free(rest.bytes);
    return known;
}

bool history_knows(const struct factz_config *config, void *bytes)
{
    enter();
    struct values values = values_of(config, bytes);
    const bool known = !look_at_reads() || holds_decompressed(config, &values);
    unlock();
    return known;
}

bool history_add_written(const struct stream *stream, void *values)
{
    enter();
    const bool taken = originals_add(stream, values, most_bytes());
    unlock();
    return taken;
}
