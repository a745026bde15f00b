#include "dataset.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "field.h"
#include "filter_id.h"

/* HDF5 has no more axes, H5S_MAX_RANK. */
#define MAX_RANK 32

/* Axes of a chunk. HDF5 does not tell a filter those of the dataset. */
struct shape {
    int rank;
    hsize_t sizes[MAX_RANK];
};

static bool refuse(char *message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, MESSAGE_BYTES, format, arguments);
    va_end(arguments);
    return false;
}

/* "1 x 2 x 181 x 360" */
static const char *sizes_text(int rank, const hsize_t *sizes, char *text, size_t text_bytes)
{
    size_t used = 0;
    text[0] = 0;
    for (int axis = 0; axis < rank && used < text_bytes; axis++) {
        used += (size_t)snprintf(
            text + used, text_bytes - used, "%s%llu", axis ? " x " : "", (unsigned long long)sizes[axis]);
    }
    return text;
}

/* ---------------------------------------------------------------- the words of the user */

static bool read_words(
    const struct hdf5_library *h5, hid_t creation, struct filter *filter, struct chunk *chunk, char *message)
{
    size_t count = ALL_WORDS_OF_VOLUME;
    memset(filter->words, 0, sizeof filter->words);
    if (h5->get_filter_by_id(
            creation, FACTZ_HDF5_FILTER_ID, &filter->flags, &count, filter->words, 0, NULL, NULL) < 0)
        return refuse(message, "the pipeline of the dataset has no filter %d", FACTZ_HDF5_FILTER_ID);
    if (count == 0)
        return refuse(
            message, "the filter has no cd_values, so no error bound: `factz h5args --abs BOUND` makes them");
    if (filter->words[0] > SHORT_FORM) {
        const size_t expanded = expand_short_form(filter->words, count);
        count = expanded > 0 ? expanded : count;
    }
    if (count >= FACTZ_CONFIG_WORDS &&
        factz_config_from_words(filter->words, count, &filter->config) != FACTZ_OK)
        return refuse(message, "cd_values: %s: `factz h5args` makes them", factz_last_error());
    const bool volume = count >= FACTZ_CONFIG_WORDS && is_volume(&filter->config);
    const size_t of_field = FACTZ_CONFIG_WORDS + (volume ? FIELD_WORDS_OF_VOLUME : FIELD_WORDS);
    const size_t all = volume ? ALL_WORDS_OF_VOLUME : ALL_WORDS;
    const bool complete = count == all || (!volume && count == WORDS_OF_ONE_PLANE);
    if (count != FACTZ_CONFIG_WORDS && count != of_field && !complete)
        return refuse(message,
            "there are %zu cd_values, and factz takes %d, %zu or %zu: `factz h5args` makes them", count,
            FACTZ_CONFIG_WORDS, of_field, all);
    /* A copy of a dataset brings all words of the original. Only the size of the field still counts. */
    filter->copied = complete;
    if (count == FACTZ_CONFIG_WORDS)
        return true;
    if (!field_from_words(filter->words + FACTZ_CONFIG_WORDS, volume, chunk, message, MESSAGE_BYTES))
        return false;
    if (volume && complete)
        chunk->field_nz = filter->words[FACTZ_CONFIG_WORDS + CHUNK_WORDS];
    return true;
}

/* The filters before factz would hand it other bytes than values. */
static bool check_pipeline(const struct hdf5_library *h5, hid_t creation, char *message)
{
    char name[64] = "";
    unsigned flags, filter_config;
    size_t count = 0;
    H5Z_filter_t first = h5->get_filter(creation, 0, &flags, &count, NULL, sizeof name, name, &filter_config);
    if (first == FACTZ_HDF5_FILTER_ID)
        return true;
    return refuse(message,
        "filter %d (%.63s) comes before factz, which must be the first: add it after factz or leave it out%s",
        first, name, first == H5Z_FILTER_SHUFFLE ? " (h5py: shuffle=False)" : "");
}

/* ---------------------------------------------------------------- type and shape */

static const char *class_name(int number)
{
    static const char *const NAMES[] = {"integers", "floating-point numbers", "times", "strings",
        "bit fields", "opaque values", "compounds", "references", "enums", "sequences", "arrays"};
    return number >= 0 && number < (int)(sizeof NAMES / sizeof NAMES[0]) ? NAMES[number]
                                                                         : "of an unknown class";
}

/* Whether a floating-point type is that of IEEE 754 of its size. */
static bool is_ieee(const struct hdf5_library *h5, hid_t type)
{
    const bool wide = h5->get_size(type) == sizeof(double);
    const size_t bits = wide ? 64 : 32, mantissa = wide ? 52 : 23;
    size_t sign, exponent_at, exponent_bits, mantissa_at, mantissa_bits;
    return (wide || h5->get_size(type) == sizeof(float)) && h5->get_precision(type) == bits &&
           h5->get_fields(type, &sign, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) >= 0 &&
           sign == bits - 1 && exponent_at == mantissa && exponent_bits == bits - 1 - mantissa &&
           mantissa_at == 0 && mantissa_bits == mantissa &&
           h5->get_exponent_bias(type) == (wide ? 1023 : 127) && h5->get_norm(type) == H5T_NORM_IMPLIED;
}

static bool read_type(const struct hdf5_library *h5, hid_t type, struct chunk *chunk, char *message)
{
    const int number = h5->get_class(type);
    const int order = number == H5T_FLOAT ? h5->get_order(type) : -1;
    if ((order == H5T_ORDER_LE || order == H5T_ORDER_BE) && is_ieee(h5, type)) {
        chunk->dtype = h5->get_size(type) == sizeof(float) ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;
        chunk->big_endian = order == H5T_ORDER_BE;
        return true;
    }
    if (number == H5T_FLOAT)
        return refuse(message,
            "the values are no IEEE floats of 32 or 64 bits: convert them to one of these, or "
            "store the dataset with another filter");
    return refuse(message,
        "the values are %s, and factz compresses 32-bit and 64-bit floats: convert them, or store the "
        "dataset with another filter, such as deflate",
        class_name(number));
}

/* What the chunks of a dataset hold: one component of a field, (..., ny, nx), both, or a volume. */
enum content { ONE_COMPONENT, BOTH_COMPONENTS, VOLUME };

/* Reads the axes of chunks. */
static bool read_shape(const struct hdf5_library *h5, hid_t creation, hid_t space, enum content content,
    struct shape *shape, char *message)
{
    static const struct {
        int rank;
        const char *wanted;
    } EXPECTED[] = {[ONE_COMPONENT] = {2, "one component of a field has the shape (..., ny, nx)"},
        [BOTH_COMPONENTS] = {3,
            "factz compresses u and v together: store both in one dataset of shape "
            "(..., 2, ny, nx) or (..., ny, nx, 2)"},
        [VOLUME] = {4,
            "factz compresses u, v and w of a volume together: store them in one dataset of shape "
            "(..., 3, nz, ny, nx)"}};
    shape->rank = h5->get_rank(space);
    if (shape->rank < EXPECTED[content].rank || shape->rank > MAX_RANK)
        return refuse(message, "the dataset has %d %s, and %s", shape->rank,
            shape->rank == 1 ? "axis" : "axes", EXPECTED[content].wanted);
    if (h5->get_chunk(creation, shape->rank, shape->sizes) != shape->rank)
        return refuse(message, "HDF5 does not tell the size of the chunks");
    return true;
}

/* Whether the words, all of which were given, describe chunks of one component; `layout` is which. */
static bool names_one(const struct filter *filter, unsigned *layout)
{
    *layout = filter->words[FACTZ_CONFIG_WORDS + 4];
    return filter->copied && (*layout == LAYOUT_U || *layout == LAYOUT_V);
}

/* Size and planes of chunks of one component, (..., ny, nx). */
static bool read_layout_of_one(const struct shape *shape, unsigned layout, struct chunk *chunk, char *message)
{
    const int rank = shape->rank;
    const hsize_t *sizes = shape->sizes, most = MAX_CHUNK_BYTES / (2 * value_bytes(chunk));
    hsize_t count = 1;
    char text[256];
    for (int axis = 0; axis < rank; axis++) {
        if (sizes[axis] > most / count)
            return refuse(message, "chunks of %.200s take 2 GiB or more: make the chunks smaller",
                sizes_text(rank, sizes, text, sizeof text));
        count *= sizes[axis];
    }
    chunk->layout = (enum layout)layout;
    chunk->ny = (uint32_t)sizes[rank - 2];
    chunk->nx = (uint32_t)sizes[rank - 1];
    chunk->planes = (uint32_t)(count / (sizes[rank - 2] * sizes[rank - 1]));
    return true;
}

/* Size of chunks (1, ..., 3, nz, ny, nx), one volume or a part of one each. */
static bool read_layout_of_volume(const struct shape *shape, struct chunk *chunk, char *message)
{
    const int rank = shape->rank;
    const hsize_t *sizes = shape->sizes, *last = sizes + rank - 3;
    const hsize_t most = MAX_CHUNK_BYTES / (3 * value_bytes(chunk));
    char text[256];
    sizes_text(rank, sizes, text, sizeof text);
    bool fits = last[-1] == 3;
    for (int axis = 0; axis < rank - 4; axis++)
        fits = fits && sizes[axis] == 1;
    if (!fits)
        return refuse(message,
            "chunks of %.200s: mode=repair is that of volumes, and a chunk must be (1, ..., 3, nz, ny, nx), "
            "a volume or a part of one with all components",
            text);
    for (int axis = 0; axis < 3; axis++) {
        if (last[axis] < 2)
            return refuse(message,
                "chunks of %.200s: a chunk of a volume has at least 2 vertices along each axis", text);
    }
    if (last[0] > most || last[1] > most / last[0] || last[2] > most / (last[0] * last[1]))
        return refuse(message,
            "chunks of %.200s take 4 GiB or more, and a chunk of HDF5 must be shorter: make the chunks "
            "smaller",
            text);
    chunk->layout = LAYOUT_VOLUME;
    chunk->planes = (uint32_t)last[0];
    chunk->ny = (uint32_t)last[1];
    chunk->nx = (uint32_t)last[2];
    return true;
}

/* Finds the layout, and the size along x and y. */
static bool read_layout(const struct shape *shape, struct chunk *chunk, char *message)
{
    const int rank = shape->rank;
    const hsize_t *sizes = shape->sizes;
    const bool planes = sizes[rank - 3] == 2, interleaved = sizes[rank - 1] == 2;
    char text[256];
    sizes_text(rank, sizes, text, sizeof text);
    if (!(planes || interleaved))
        return refuse(message,
            "chunks of %.200s: a chunk must be (..., 2, ny, nx) or (..., ny, nx, 2), fields or parts of "
            "fields "
            "with both components",
            text);
    if (planes && interleaved)
        return refuse(message,
            "chunks of %.200s may be (..., 2, ny, nx) or (..., ny, nx, 2): make them longer than 2 along the "
            "axis that is not that of the components",
            text);
    const int y_axis = planes ? rank - 2 : rank - 3;
    const hsize_t most = MAX_CHUNK_BYTES / (2 * value_bytes(chunk));
    hsize_t count = 1;
    bool fits = true;
    for (int axis = 0; axis < rank; axis++) {
        const bool of_components = axis == (planes ? rank - 3 : rank - 1);
        fits = fits && (of_components || sizes[axis] <= most / count);
        count *= of_components || !fits ? 1 : sizes[axis];
    }
    if (!fits)
        return refuse(message,
            "chunks of %.200s take 4 GiB or more, and a chunk of HDF5 must be shorter: make the chunks "
            "smaller",
            text);
    chunk->layout = planes ? LAYOUT_PLANES : LAYOUT_INTERLEAVED;
    chunk->ny = (uint32_t)sizes[y_axis];
    chunk->nx = (uint32_t)sizes[y_axis + 1];
    chunk->planes = (uint32_t)(count / (sizes[y_axis] * sizes[y_axis + 1]));
    return true;
}

/* ---------------------------------------------------------------- size of the field */

/* The open dataspaces that may be the extent of the dataset. */
struct search {
    const struct hdf5_library *h5;
    const struct shape *shape;
    const struct chunk *chunk;
    /* The dataspace of a chunk. */
    hid_t space;
    /* One of them has the size of the field. */
    bool found;
    /* Columns, rows and planes of the last one of them, and how many there are that differ. */
    int others;
    hsize_t nx;
    hsize_t ny;
    hsize_t nz;
};

static herr_t look_at_space(hid_t id, void *data)
{
    struct search *search = data;
    const int rank = search->shape->rank,
              y_axis = search->chunk->layout == LAYOUT_INTERLEAVED ? rank - 3 : rank - 2;
    const bool volume = search->chunk->layout == LAYOUT_VOLUME;
    hsize_t sizes[MAX_RANK], largest[MAX_RANK];
    if (id == search->space || search->h5->get_rank(id) != rank ||
        search->h5->get_extent(id, sizes, largest) != rank)
        return 0;
    const hsize_t planes = volume ? largest[y_axis - 1] : 0;
    const bool another =
        search->nx != largest[y_axis + 1] || search->ny != largest[y_axis] || search->nz != planes;
    search->others += another;
    search->ny = largest[y_axis];
    search->nx = largest[y_axis + 1];
    search->nz = planes;
    const uint32_t nx = search->chunk->field_nx, ny = search->chunk->field_ny, nz = search->chunk->field_nz;
    search->found =
        (nx == 0 || nx == search->nx) && (ny == 0 || ny == search->ny) && (nz == 0 || nz == search->nz);
    return search->found;
}

/*
 * Whether the field may be as large as the user says. HDF5 shows a filter the dataspace of a chunk; but the
 * program that creates a dataset must have its dataspace open. True where HDF5 cannot be asked.
 */
static bool find_field(const struct hdf5_library *h5, hid_t space, struct search *search)
{
    const struct chunk *chunk = search->chunk;
    const bool unknown = chunk->field_nx == 0 && chunk->field_ny == 0 && chunk->field_nz == 0;
    return unknown || !h5->iterate || h5->iterate(h5->get_id_type(space), look_at_space, search) < 0 ||
           search->found || search->others == 0;
}

static bool check_field(const struct hdf5_library *h5, hid_t space, const struct shape *shape,
    const struct chunk *chunk, char *message)
{
    struct search search = {h5, shape, chunk, space, false, 0, 0, 0, 0};
    const bool volume = chunk->layout == LAYOUT_VOLUME;
    char there[96] = "no dataspace of the program has this extent", said[80];
    if (find_field(h5, space, &search))
        return true;
    const int sizes = volume ? 3 : 2;
    const hsize_t found[] = {search.nx, search.ny, search.nz};
    const hsize_t given[] = {chunk->field_nx, chunk->field_ny, chunk->field_nz};
    if (search.others == 1 &&
        (search.nx == H5S_UNLIMITED || search.ny == H5S_UNLIMITED || search.nz == H5S_UNLIMITED))
        snprintf(there, sizeof there, "the dataset may grow along x%s", volume ? ", y or z" : " or y");
    else if (search.others == 1) {
        char text[80];
        snprintf(there, sizeof there, "the dataset has %s", sizes_text(sizes, found, text, sizeof text));
    }
    return refuse(message,
        "a field is said to have %s vertices (%s), and %s: give the right size as --field (Python: "
        "field=%s), or leave it out",
        sizes_text(sizes, given, said, sizeof said), volume ? "nx x ny x nz" : "nx x ny", there,
        volume ? "(nz, ny, nx)" : "(ny, nx)");
}

/* ---------------------------------------------------------------- fill value */

/* A value of the file, as HDF5 gives it, as a number. */
static double number(const struct chunk *chunk, const unsigned char *bytes)
{
    const size_t size = value_bytes(chunk);
    uint64_t bits = 0;
    for (size_t k = 0; k < size; k++)
        bits |= (uint64_t)bytes[k] << (8 * (chunk->big_endian ? size - 1 - k : k));
    if (chunk->dtype == FACTZ_DTYPE_F64) {
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* Takes the fill value of the dataset, where the configuration has none, as the mark of missing data. */
static void read_fill_value(const struct hdf5_library *h5, hid_t creation, hid_t type,
    const struct factz_config *config, struct chunk *chunk)
{
    int status = 0;
    unsigned char bytes[sizeof(double)] = {0};
    if (config->has_fill_value || h5->fill_value_defined(creation, &status) < 0 ||
        status != H5D_FILL_VALUE_USER_DEFINED || h5->get_fill_value(creation, type, bytes) < 0)
        return;
    const double value = number(chunk, bytes);
    /* Zero is a value like others, and NaN and infinity are no data anyway. */
    if (isfinite(value) && value != 0) {
        chunk->has_fill_value = true;
        chunk->fill_value = value;
    }
}

bool check_dataset(const struct hdf5_library *h5, hid_t creation, hid_t type, hid_t space,
    struct filter *filter, struct chunk *chunk, char *message)
{
    struct shape shape;
    unsigned layout;
    *chunk = (struct chunk){0};
    if (!read_words(h5, creation, filter, chunk, message) || !check_pipeline(h5, creation, message) ||
        !read_type(h5, type, chunk, message))
        return false;
    const enum content content = is_volume(&filter->config)   ? VOLUME
                                 : names_one(filter, &layout) ? ONE_COMPONENT
                                                              : BOTH_COMPONENTS;
    return read_shape(h5, creation, space, content, &shape, message) &&
           (content == VOLUME             ? read_layout_of_volume(&shape, chunk, message)
               : content == ONE_COMPONENT ? read_layout_of_one(&shape, layout, chunk, message)
                                          : read_layout(&shape, chunk, message)) &&
           (filter->copied || check_field(h5, space, &shape, chunk, message)) &&
           check_configuration(&filter->config, chunk, message, MESSAGE_BYTES);
}

/* A field of another size than that of the dataset whose words were copied. */
static void forget_field(const struct hdf5_library *h5, hid_t creation, hid_t space, struct chunk *chunk)
{
    struct shape shape;
    char message[MESSAGE_BYTES];
    if (!read_shape(h5, creation, space, BOTH_COMPONENTS, &shape, message))
        return;
    struct search search = {h5, &shape, chunk, space, false, 0, 0, 0, 0};
    if (!find_field(h5, space, &search))
        chunk->field_nx = chunk->field_ny = chunk->field_nz = 0;
}

bool describe_dataset(const struct hdf5_library *h5, hid_t creation, hid_t type, hid_t space,
    struct filter *filter, char *message)
{
    struct chunk chunk;
    if (!check_dataset(h5, creation, type, space, filter, &chunk, message))
        return false;
    if (filter->copied && !has_one(&chunk))
        forget_field(h5, creation, space, &chunk);
    if (!check_configuration(&filter->config, &chunk, message, MESSAGE_BYTES))
        return false;
    read_fill_value(h5, creation, type, &filter->config, &chunk);
    filter->count = FACTZ_CONFIG_WORDS + chunk_to_words(&chunk, filter->words + FACTZ_CONFIG_WORDS);
    return true;
}
