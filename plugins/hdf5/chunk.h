/*
 * One chunk of a dataset: how its bytes are a field, and the words (cd_values) that say so.
 */
#ifndef FACTZ_HDF5_CHUNK_H
#define FACTZ_HDF5_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "factz.h"

/*
 * The words of a filter: those of the configuration (factz_config_to_words), then those of the chunk. The
 * user gives the former and may add the first three of the latter, version and size of the field. Of volumes,
 * which the configuration tells, the size has three numbers, and the last word of the chunk is its third one.
 *
 * h5repack passes no more than 20 words. So there is a short form: SHORT_FORM plus the version of the
 * configuration, nx and ny of the field, and the words of the configuration from the second on, without the
 * zeros at their end. SHORT_FORM_OF_VOLUME is added where nz of the field follows ny.
 *
 * ALLOW_WIDE_RANGE is added to the version of the words of the chunk, or to the first word of the short form,
 * where outliers may make the range of a relative bound.
 */
#define CHUNK_WORDS 12
#define FIELD_WORDS 3
#define CHUNK_WORDS_OF_VOLUME (CHUNK_WORDS + 1)
#define FIELD_WORDS_OF_VOLUME (FIELD_WORDS + 1)
/* Version of the words of a chunk: the first of them. The command line reads these lines, too. */
#define WORDS_VERSION 1
#define SHORT_FORM 65536u
#define SHORT_FORM_OF_VOLUME 262144u
/* Added to the version of the words of a chunk, and to the first word of the short form. */
#define ALLOW_WIDE_RANGE 131072u
/* Larger chunks have no words. */
#define MAX_CHUNK_BYTES UINT32_MAX
#define ALL_WORDS (FACTZ_CONFIG_WORDS + CHUNK_WORDS)
#define ALL_WORDS_OF_VOLUME (FACTZ_CONFIG_WORDS + CHUNK_WORDS_OF_VOLUME)
/* The number of planes, the last word, is missing in files from before there were planes: it is 1 then. */
#define WORDS_OF_ONE_PLANE (ALL_WORDS - 1)

/*
 * A chunk of LAYOUT_U or LAYOUT_V holds one component: its stream is half of one that was split. A chunk of
 * LAYOUT_VOLUME holds all of u, all of v, and all of w.
 */
enum layout {
    LAYOUT_PLANES = 0,
    LAYOUT_INTERLEAVED = 1,
    LAYOUT_U = 2,
    LAYOUT_V = 3,
    LAYOUT_VOLUME = 4,
};

struct chunk {
    /* Vertices of the field that the chunk is a part of; 0 where the user did not say. */
    uint32_t field_nx;
    uint32_t field_ny;
    uint32_t field_nz;
    /* FACTZ_DTYPE_* */
    int32_t dtype;
    enum layout layout;
    uint32_t nx;
    uint32_t ny;
    /* Fields or parts of fields that the chunk has one behind the other, along its leading axes; of a volume
     * its vertices along z. */
    uint32_t planes;
    /* Order of the bytes in the file. */
    bool big_endian;
    /* A relative bound counts even if outliers make the range. */
    bool wide_range;
    /* The fill value of the dataset, where it is a mark of missing data. */
    bool has_fill_value;
    double fill_value;
};

/* Whether the chunk holds one component alone. */
bool has_one(const struct chunk *chunk);

/* FACTZ_SIDE_*: where other chunks may be. */
uint32_t open_sides(const struct chunk *chunk);

/* Values of a vertex. */
size_t components(const struct chunk *chunk);
/* Bytes of a value. */
size_t value_bytes(const struct chunk *chunk);
/* Vertices of the chunk, of all planes. */
size_t vertices(const struct chunk *chunk);
/* Bytes of the chunk. */
size_t chunk_bytes(const struct chunk *chunk);

/* "100 x 100 vertices (nx x ny) in 24 planes", or "100 x 100 x 24 vertices (nx x ny x nz)", for messages. */
#define SIZE_BYTES 80
const char *size_text(const struct chunk *chunk, char text[SIZE_BYTES]);

/* Makes the words of configuration and field of the short form, and returns their number; 0 where it is
 * wrong. */
size_t expand_short_form(unsigned *words, size_t count);

/* Writes the words of a chunk, and returns their number. */
size_t chunk_to_words(const struct chunk *chunk, unsigned *words);

/* Reads the words of the field, FIELD_WORDS or FIELD_WORDS_OF_VOLUME; false, with a message, where their
 * version is unknown. */
bool field_from_words(
    const unsigned *words, bool volume, struct chunk *chunk, char *message, size_t message_bytes);

/* Reads CHUNK_WORDS or CHUNK_WORDS_OF_VOLUME words; false, with a message, where no chunk has them. 0 planes
 * stand for 1. */
bool chunk_from_words(
    const unsigned *words, bool volume, struct chunk *chunk, char *message, size_t message_bytes);

/*
 * Whether bound and periodic axes suit chunks of this size: a relative bound needs a whole field, and a
 * periodic axis whole chunks along it. If not, with a message.
 */
bool check_configuration(
    const struct factz_config *config, const struct chunk *chunk, char *message, size_t message_bytes);

/* Shape and layout of the chunk, the sides to pin and the periodic axes, for a call of the library. */
void describe_field(const struct chunk *chunk, struct factz_config *config);

/* Reverses the bytes of every value. */
void reverse_bytes(const struct chunk *chunk, void *bytes);

/* Whether the order of bytes in the file is another one than that of this machine. */
bool other_order(const struct chunk *chunk);

#endif
