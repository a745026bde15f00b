#include "chunk.h"

#include <stdio.h>
#include <string.h>

/* Marks a loop that is compiled twice, of which the processor takes the faster one. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_AVX2_TOO __attribute__((target_clones("avx2", "default")))
#else
#define FOR_AVX2_TOO
#endif

bool has_one(const struct chunk *chunk)
{
    return chunk->layout == LAYOUT_U || chunk->layout == LAYOUT_V;
}

uint32_t open_sides(const struct chunk *chunk)
{
    const bool whole_z = chunk->layout != LAYOUT_VOLUME || chunk->planes == chunk->field_nz;
    return (chunk->nx == chunk->field_nx ? 0u : FACTZ_SIDE_X_MIN | FACTZ_SIDE_X_MAX) |
           (chunk->ny == chunk->field_ny ? 0u : FACTZ_SIDE_Y_MIN | FACTZ_SIDE_Y_MAX) |
           (whole_z ? 0u : FACTZ_SIDE_Z_MIN | FACTZ_SIDE_Z_MAX);
}

size_t components(const struct chunk *chunk)
{
    return chunk->layout == LAYOUT_VOLUME ? 3 : has_one(chunk) ? 1 : 2;
}

size_t value_bytes(const struct chunk *chunk)
{
    return chunk->dtype == FACTZ_DTYPE_F64 ? sizeof(double) : sizeof(float);
}

size_t vertices(const struct chunk *chunk)
{
    return (size_t)chunk->nx * chunk->ny * chunk->planes;
}

size_t chunk_bytes(const struct chunk *chunk)
{
    return components(chunk) * value_bytes(chunk) * vertices(chunk);
}

const char *size_text(const struct chunk *chunk, char text[SIZE_BYTES])
{
    if (chunk->layout == LAYOUT_VOLUME) {
        snprintf(
            text, SIZE_BYTES, "%u x %u x %u vertices (nx x ny x nz)", chunk->nx, chunk->ny, chunk->planes);
        return text;
    }
    const int used = snprintf(text, SIZE_BYTES, "%u x %u vertices (nx x ny)", chunk->nx, chunk->ny);
    if (chunk->planes > 1)
        snprintf(text + used, SIZE_BYTES - (size_t)used, " in %u planes", chunk->planes);
    return text;
}

size_t chunk_to_words(const struct chunk *chunk, unsigned *words)
{
    uint64_t fill;
    memcpy(&fill, &chunk->fill_value, sizeof fill);
    const unsigned values[CHUNK_WORDS_OF_VOLUME] = {
        WORDS_VERSION | (chunk->wide_range ? ALLOW_WIDE_RANGE : 0),
        chunk->field_nx,
        chunk->field_ny,
        (unsigned)chunk->dtype,
        (unsigned)chunk->layout,
        chunk->nx,
        chunk->ny,
        chunk->big_endian,
        (unsigned)(fill & UINT32_MAX),
        (unsigned)(fill >> 32),
        chunk->has_fill_value,
        chunk->planes,
        chunk->field_nz,
    };
    const size_t count = chunk->layout == LAYOUT_VOLUME ? CHUNK_WORDS_OF_VOLUME : CHUNK_WORDS;
    memcpy(words, values, count * sizeof *words);
    return count;
}

size_t expand_short_form(unsigned *words, size_t count)
{
    const bool volume = words[0] & SHORT_FORM_OF_VOLUME;
    const size_t head = volume ? FIELD_WORDS_OF_VOLUME : FIELD_WORDS;
    if (count < head || count - head > FACTZ_CONFIG_WORDS - 1)
        return 0;
    const unsigned field[FIELD_WORDS_OF_VOLUME] = {
        WORDS_VERSION | (words[0] & ALLOW_WIDE_RANGE), words[1], words[2], words[3]};
    words[0] = (words[0] & ~(ALLOW_WIDE_RANGE | SHORT_FORM_OF_VOLUME)) - SHORT_FORM;
    memmove(words + 1, words + head, (count - head) * sizeof *words);
    memset(words + count - head + 1, 0, (FACTZ_CONFIG_WORDS - 1 - (count - head)) * sizeof *words);
    memcpy(words + FACTZ_CONFIG_WORDS, field, head * sizeof *words);
    return FACTZ_CONFIG_WORDS + head;
}

bool field_from_words(
    const unsigned *words, bool volume, struct chunk *chunk, char *message, size_t message_bytes)
{
    if ((words[0] & ~ALLOW_WIDE_RANGE) != WORDS_VERSION) {
        snprintf(message, message_bytes,
            "cd_values[%d] = %u is a version of the description of chunks that this plugin does not know; it "
            "knows %d: install the version of factz that made it, or a later one",
            FACTZ_CONFIG_WORDS, words[0], WORDS_VERSION);
        return false;
    }
    chunk->wide_range = words[0] & ALLOW_WIDE_RANGE;
    chunk->field_nx = words[1];
    chunk->field_ny = words[2];
    chunk->field_nz = volume ? words[3] : 0;
    return true;
}

/* Words of a chunk that are choices. */
static bool check_choices(const unsigned *words, bool volume, char *message, size_t message_bytes)
{
    const struct {
        int word;
        unsigned first;
        unsigned last;
    } choices[] = {{3, 0, FACTZ_DTYPE_F64},
        {4, volume ? LAYOUT_VOLUME : LAYOUT_PLANES, volume ? LAYOUT_VOLUME : LAYOUT_V}, {7, 0, 1},
        {10, 0, 1}};
    for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++) {
        const unsigned value = words[choices[k].word];
        if (value < choices[k].first || value > choices[k].last) {
            snprintf(message, message_bytes, "cd_values[%d] = %u must be %u to %u",
                FACTZ_CONFIG_WORDS + choices[k].word, value, choices[k].first, choices[k].last);
            return false;
        }
    }
    return true;
}

bool chunk_from_words(
    const unsigned *words, bool volume, struct chunk *chunk, char *message, size_t message_bytes)
{
    if (!field_from_words(words, false, chunk, message, message_bytes) ||
        !check_choices(words, volume, message, message_bytes))
        return false;
    chunk->field_nz = volume ? words[CHUNK_WORDS] : 0;
    chunk->dtype = (int32_t)words[3];
    chunk->layout = (enum layout)words[4];
    chunk->nx = words[5];
    chunk->ny = words[6];
    chunk->big_endian = words[7] == 1;
    const uint64_t fill = words[8] | (uint64_t)words[9] << 32;
    memcpy(&chunk->fill_value, &fill, sizeof fill);
    chunk->has_fill_value = words[10] == 1;
    chunk->planes = words[11] > 0 ? words[11] : 1;
    const uint64_t most = MAX_CHUNK_BYTES / ((volume ? 3 : 2) * value_bytes(chunk));
    if (chunk->nx == 0 || chunk->ny == 0 || chunk->ny > most / chunk->nx ||
        chunk->planes > most / ((uint64_t)chunk->nx * chunk->ny)) {
        snprintf(message, message_bytes,
            "cd_values[%d], [%d] and [%d]: a chunk of %u x %u vertices in %u planes is not between 1 vertex "
            "and "
            "4 GiB",
            FACTZ_CONFIG_WORDS + 5, FACTZ_CONFIG_WORDS + 6, FACTZ_CONFIG_WORDS + 11, chunk->nx, chunk->ny,
            chunk->planes);
        return false;
    }
    return true;
}

/* The last chunk along an axis is padded unless the chunks divide the field, and its border is not the
 * field's. */
static bool divides(uint32_t chunk, uint32_t field)
{
    return field > 0 && field % chunk == 0;
}

static bool check_periodic(
    const struct factz_config *config, const struct chunk *chunk, char *message, size_t message_bytes)
{
    const bool x = config->periodic & FACTZ_PERIODIC_X && !divides(chunk->nx, chunk->field_nx);
    const bool y = config->periodic & FACTZ_PERIODIC_Y && !divides(chunk->ny, chunk->field_ny);
    const bool z = config->periodic & FACTZ_PERIODIC_Z && !divides(chunk->planes, chunk->field_nz);
    const bool volume = chunk->layout == LAYOUT_VOLUME;
    const char *axis = x ? "x" : y ? "y" : "z";
    char text[SIZE_BYTES], third[16] = "";
    if (config->preserve == FACTZ_PRESERVE_NONE || !(x || y || z))
        return true;
    if (chunk->field_nx == 0) {
        snprintf(message, message_bytes,
            "%s is periodic, and the size of a field is not given: say how large it is (factz h5args --field "
            "%s; Python: field=%s)",
            axis, volume ? "NXxNYxNZ" : "NXxNY", volume ? "(nz, ny, nx)" : "(ny, nx)");
        return false;
    }
    if (volume)
        snprintf(third, sizeof third, " x %u", chunk->field_nz);
    snprintf(message, message_bytes,
        "%s is periodic, and chunks of %s do not end where a field of %u x %u%s does: make them as long as "
        "the "
        "field, or such that they divide it",
        axis, size_text(chunk, text), chunk->field_nx, chunk->field_ny, third);
    return false;
}

static bool check_bound(
    const struct factz_config *config, const struct chunk *chunk, char *message, size_t message_bytes)
{
    const bool one = chunk->planes == 1 || chunk->layout == LAYOUT_VOLUME;
    if (config->bound_kind == FACTZ_BOUND_ABSOLUTE || (open_sides(chunk) == 0 && one))
        return true;
    char text[SIZE_BYTES];
    snprintf(message, message_bytes,
        "a relative bound is a fraction of the range of one chunk, so a chunk must be a whole field, and the "
        "chunks have %s: give an absolute bound, fraction * (max - min), or make the chunks as large as one "
        "field "
        "and say so (factz h5args --rel R --field %s)",
        size_text(chunk, text), chunk->layout == LAYOUT_VOLUME ? "NXxNYxNZ" : "NXxNY");
    return false;
}

bool check_configuration(
    const struct factz_config *config, const struct chunk *chunk, char *message, size_t message_bytes)
{
    /* A bound and a seam belong to both components. One alone is stored exactly when the filter writes it. */
    return has_one(chunk) || (check_bound(config, chunk, message, message_bytes) &&
                                 check_periodic(config, chunk, message, message_bytes));
}

void describe_field(const struct chunk *chunk, struct factz_config *config)
{
    config->nx = chunk->nx;
    config->ny = chunk->ny;
    config->nz = chunk->planes;
    config->dtype = chunk->dtype;
    /* The v of a plane, or none, lies between its u and the next plane. */
    config->plane_rows = chunk->layout == LAYOUT_PLANES ? 2 * (uint64_t)chunk->ny : 0;
    config->u_stride = config->v_stride = chunk->layout == LAYOUT_INTERLEAVED ? 2 : 1;
    /*
     * A triangle or tetrahedron between two chunks, or across a periodic side, has all its vertices on their
     * borders: it stays as it is if these do.
     */
    const uint32_t open = open_sides(chunk);
    if (config->preserve != FACTZ_PRESERVE_NONE)
        config->pin |= open;
    if (open & FACTZ_SIDE_X_MIN)
        config->periodic &= ~(uint32_t)FACTZ_PERIODIC_X;
    if (open & FACTZ_SIDE_Y_MIN)
        config->periodic &= ~(uint32_t)FACTZ_PERIODIC_Y;
    if (open & FACTZ_SIDE_Z_MIN)
        config->periodic &= ~(uint32_t)FACTZ_PERIODIC_Z;
    if (chunk->has_fill_value && !config->has_fill_value) {
        config->has_fill_value = 1;
        config->fill_value = chunk->fill_value;
    }
}

bool other_order(const struct chunk *chunk)
{
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return chunk->big_endian == (first == 1);
}

FOR_AVX2_TOO static void reverse_32(char *at, const char *end)
{
    for (uint32_t word; at < end; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        word = __builtin_bswap32(word);
        memcpy(at, &word, sizeof word);
    }
}

FOR_AVX2_TOO static void reverse_64(char *at, const char *end)
{
    for (uint64_t word; at < end; at += sizeof word) {
        memcpy(&word, at, sizeof word);
        word = __builtin_bswap64(word);
        memcpy(at, &word, sizeof word);
    }
}

void reverse_bytes(const struct chunk *chunk, void *bytes)
{
    const char *end = (const char *)bytes + chunk_bytes(chunk);
    (chunk->dtype == FACTZ_DTYPE_F64 ? reverse_64 : reverse_32)(bytes, end);
}
