#include "dataset.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    size_t count = ALL_WORDS;
    memset(filter->words, 0, sizeof filter->words);
    if (h5->get_filter_by_id(
            creation, FACTZ_HDF5_FILTER_ID, &filter->flags, &count, filter->words, 0, NULL, NULL) < 0)
        return refuse(message, "the pipeline of the dataset has no filter %d", FACTZ_HDF5_FILTER_ID);
    if (count == 0)
        return refuse(
            message, "the filter has no cd_values, so no error bound: `factz h5args --abs BOUND` makes them");
    if (filter->words[0] > SHORT_FORM && expand_short_form(filter->words, count))
        count = FACTZ_CONFIG_WORDS + FIELD_WORDS;
    const bool complete = count == ALL_WORDS || count == WORDS_OF_ONE_PLANE;
    if (count != FACTZ_CONFIG_WORDS && count != FACTZ_CONFIG_WORDS + FIELD_WORDS && !complete)
        return refuse(message,
            "there are %zu cd_values, and factz takes %d, %d or %d: `factz h5args` makes them", count,
            FACTZ_CONFIG_WORDS, FACTZ_CONFIG_WORDS + FIELD_WORDS, ALL_WORDS);
    if (factz_config_from_words(filter->words, count, &filter->config) != FACTZ_OK)
        return refuse(message, "cd_values: %s: `factz h5args` makes them", factz_last_error());
    /* A copy of a dataset brings all words of the original. Only the size of the field still counts. */
    filter->copied = complete;
    return count == FACTZ_CONFIG_WORDS ||
           field_from_words(filter->words + FACTZ_CONFIG_WORDS, chunk, message, MESSAGE_BYTES);
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

/* Reads the axes of chunks of one component, (..., ny, nx), or of both. */
static bool read_shape(
    const struct hdf5_library *h5, hid_t creation, hid_t space, bool one, struct shape *shape, char *message)
{
    shape->rank = h5->get_rank(space);
    if (shape->rank < (one ? 2 : 3) || shape->rank > MAX_RANK)
        return refuse(message,
            one ? "the dataset has %d %s, and one component of a field has the shape (..., ny, nx)"
                : "the dataset has %d %s, and factz compresses u and v together: store both in one dataset "
                  "of "
                  "shape (..., 2, ny, nx) or (..., ny, nx, 2)",
            shape->rank, shape->rank == 1 ? "axis" : "axes");
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
    /* Columns and rows of the last one of them, and how many there are that differ. */
    int others;
    hsize_t nx;
    hsize_t ny;
};

static herr_t look_at_space(hid_t id, void *data)
{
    struct search *search = data;
    const int rank = search->shape->rank,
              y_axis = search->chunk->layout == LAYOUT_PLANES ? rank - 2 : rank - 3;
    hsize_t sizes[MAX_RANK], largest[MAX_RANK];
    if (id == search->space || search->h5->get_rank(id) != rank ||
        search->h5->get_extent(id, sizes, largest) != rank)
        return 0;
    const bool another = search->nx != largest[y_axis + 1] || search->ny != largest[y_axis];
    search->others += another;
    search->ny = largest[y_axis];
    search->nx = largest[y_axis + 1];
    const uint32_t nx = search->chunk->field_nx, ny = search->chunk->field_ny;
    search->found = (nx == 0 || nx == search->nx) && (ny == 0 || ny == search->ny);
    return search->found;
}

/*
 * Whether the field may be as large as the user says. HDF5 shows a filter the dataspace of a chunk; but the
 * program that creates a dataset must have its dataspace open. True where HDF5 cannot be asked.
 */
static bool find_field(const struct hdf5_library *h5, hid_t space, struct search *search)
{
    return (search->chunk->field_nx == 0 && search->chunk->field_ny == 0) || !h5->iterate ||
           h5->iterate(h5->get_id_type(space), look_at_space, search) < 0 || search->found ||
           search->others == 0;
}

static bool check_field(const struct hdf5_library *h5, hid_t space, const struct shape *shape,
    const struct chunk *chunk, char *message)
{
    struct search search = {h5, shape, chunk, space, false, 0, 0, 0};
    char there[80] = "no dataspace of the program has this extent";
    if (find_field(h5, space, &search))
        return true;
    if (search.others == 1 && (search.nx == H5S_UNLIMITED || search.ny == H5S_UNLIMITED))
        snprintf(there, sizeof there, "the dataset may grow along x or y");
    else if (search.others == 1)
        snprintf(there, sizeof there, "the dataset has %llu x %llu", (unsigned long long)search.nx,
            (unsigned long long)search.ny);
    return refuse(message,
        "a field is said to have %u x %u vertices (nx x ny), and %s: give the right size as --field (Python: "
        "field=(ny, nx)), or leave it out",
        chunk->field_nx, chunk->field_ny, there);
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
    const bool one = names_one(filter, &layout);
    return read_shape(h5, creation, space, one, &shape, message) &&
           (one ? read_layout_of_one(&shape, layout, chunk, message) : read_layout(&shape, chunk, message)) &&
           (filter->copied || check_field(h5, space, &shape, chunk, message)) &&
           check_configuration(&filter->config, chunk, message, MESSAGE_BYTES);
}

/* A field of another size than that of the dataset whose words were copied. */
static void forget_field(const struct hdf5_library *h5, hid_t creation, hid_t space, struct chunk *chunk)
{
    struct shape shape;
    char message[MESSAGE_BYTES];
    if (!read_shape(h5, creation, space, false, &shape, message))
        return;
    struct search search = {h5, &shape, chunk, space, false, 0, 0, 0};
    if (!find_field(h5, space, &search))
        chunk->field_nx = chunk->field_ny = 0;
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
    chunk_to_words(&chunk, filter->words + FACTZ_CONFIG_WORDS);
    return true;
}
