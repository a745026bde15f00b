/*
 * The HDF5 filter: compresses chunks of vector fields and keeps every critical point of the dataset.
 *
 * README.md of this folder is for users. In the order of a dataset's life: can_apply and set_local look at
 * the dataset when it is created (dataset.c) and store what the filter must know of its chunks (chunk.c); the
 * filter function compresses and decompresses chunks, from these words and from what it did before
 * (history.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chunk.h"
#include "dataset.h"
#include "factz.h"
#include "field.h"
#include "filter_id.h"
#include "hdf5_library.h"
#include "history.h"
#include "log.h"
#include "values.h"

#define EXPORTED __attribute__((visibility("default")))

/* ---------------------------------------------------------------- creation of a dataset */

static htri_t can_apply(hid_t creation, hid_t type, hid_t space)
{
    struct hdf5_library h5;
    struct filter filter;
    struct chunk chunk;
    char message[MESSAGE_BYTES];
    /* Without the functions of HDF5 the user describes the chunks: nobody checks type and filters there. */
    if (!hdf5_open(&h5, CALLER))
        return 1;
    bool good = check_dataset(&h5, creation, type, space, &filter, &chunk, message);
    hdf5_close(&h5);
    if (!good)
        hdf5_error(CALLER, HDF5_CREATE_DATASET, message);
    /* 0 would leave out the filter where it is optional, as in h5py, and nobody would know. */
    return good ? 1 : -1;
}

static herr_t set_local(hid_t creation, hid_t type, hid_t space)
{
    struct hdf5_library h5;
    struct filter filter;
    char message[MESSAGE_BYTES] = "HDF5 does not take the cd_values of the dataset";
    if (!hdf5_open(&h5, CALLER))
        return 0;
    bool good =
        describe_dataset(&h5, creation, type, space, &filter, message) &&
        h5.modify_filter(creation, FACTZ_HDF5_FILTER_ID, filter.flags, filter.count, filter.words) >= 0;
    hdf5_close(&h5);
    if (!good)
        hdf5_error(CALLER, HDF5_CREATE_DATASET, message);
    return good ? 0 : -1;
}

/* ---------------------------------------------------------------- chunks */

/* Input of the filter function, and the meaning of its words. */
struct call {
    struct chunk chunk;
    struct factz_config config;
    /* The bytes of a chunk, or its stream. */
    void *input;
    size_t input_bytes;
    /* The memory of the input belongs to the history. */
    bool input_taken;
    char message[MESSAGE_BYTES];
};

/* A result of the filter function, in memory of malloc; no bytes where it failed. */
struct result {
    void *buffer;
    size_t buffer_bytes;
    size_t bytes;
};

static const struct result FAILED = {NULL, 0, 0};

/* Threads for a chunk: one unless FACTZ_HDF5_THREADS says otherwise, for solvers use all processors
 * themselves. */
static int threads(void)
{
    const char *text = getenv("FACTZ_HDF5_THREADS");
    char *end;
    long number = text ? strtol(text, &end, 10) : 1;
    return text && (end == text || *end || number < 0 || number > 1024) ? 1 : (int)number;
}

static struct result out_of_memory(struct call *call, size_t bytes)
{
    snprintf(call->message, sizeof call->message, "there is no memory for %zu bytes", bytes);
    return FAILED;
}

static bool read_words(struct call *call, const unsigned *words, size_t count)
{
    if (count >= FACTZ_CONFIG_WORDS && factz_config_from_words(words, count, &call->config) != FACTZ_OK) {
        snprintf(call->message, sizeof call->message, "cd_values: %s", factz_last_error());
        return false;
    }
    const bool volume = count >= FACTZ_CONFIG_WORDS && is_volume(&call->config);
    const size_t all = volume ? ALL_WORDS_OF_VOLUME : ALL_WORDS;
    if (count != all && (volume || count != WORDS_OF_ONE_PLANE)) {
        snprintf(call->message, sizeof call->message,
            "%zu cd_values do not describe the chunks, which takes %zu: HDF5 did not let the filter look at "
            "the dataset; `factz h5args --chunk %s` makes all of them",
            count, all, volume ? "NXxNYxNZ" : "NXxNY");
        return false;
    }
    unsigned chunk[CHUNK_WORDS_OF_VOLUME] = {0};
    memcpy(chunk, words + FACTZ_CONFIG_WORDS, (count - FACTZ_CONFIG_WORDS) * sizeof *chunk);
    return chunk_from_words(chunk, volume, &call->chunk, call->message, sizeof call->message);
}

/* Compresses the chunk `values`, which has the order of bytes of this machine. */
static struct result compress_values(
    struct call *call, const struct factz_config *config, void *values, factz_report *report)
{
    uint64_t most;
    if (field_stream_bytes(config, &most) != FACTZ_OK) {
        snprintf(call->message, sizeof call->message, "%s", factz_last_error());
        return FAILED;
    }
    struct result result = {malloc(most), most, 0};
    if (!result.buffer)
        return out_of_memory(call, most);
    if (field_compress(config, values, result.buffer, result.buffer_bytes, report, threads()) != FACTZ_OK) {
        snprintf(call->message, sizeof call->message, "%s", factz_last_error());
        free(result.buffer);
        return FAILED;
    }
    /* Parallel HDF5 keeps the streams of many chunks at a time. */
    void *shorter = realloc(result.buffer, report->stream_bytes);
    return (struct result){shorter ? shorter : result.buffer, report->stream_bytes, report->stream_bytes};
}

/* Why a chunk is stored exactly though the bound is not 0. */
enum reason { NOT_EXACT, DECOMPRESSED_BEFORE, ONE_COMPONENT, WIDE_RANGE };

static const char *const REASONS[] = {
    [DECOMPRESSED_BEFORE] =
        "it has values that were compressed and decompressed before, and errors must not "
        "add up; write original values of whole chunks, or give HDF5 a larger chunk cache "
        "(FACTZ_HDF5_AGAIN=lossy compresses such values again)",
    [ONE_COMPONENT] = "one component has a single value, as if it were still to be written",
    [WIDE_RANGE] =
        "outliers make the range that the relative bound is a fraction of; name the fill value, or "
        "give an absolute bound (`factz h5args --allow-wide-range` accepts such a range)",
};

/* Whether lossy values may be compressed again: the user said so. */
static bool may_add_up(void)
{
    const char *text = getenv("FACTZ_HDF5_AGAIN");
    return text && strcmp(text, "lossy") == 0;
}

static bool is_single(const struct values *values, size_t first)
{
    for (size_t k = 1; k < values_count(values) / values->components; k++) {
        if (get_bits(values, first + offset_of(values, k)) != get_bits(values, first))
            return false;
    }
    return true;
}

/* Programs that write the components apart may leave a chunk with some of them, until another process goes
 * on. */
static bool has_one_component(const struct factz_config *config, void *bytes)
{
    const struct values values = values_of(config, bytes);
    size_t single = 0;
    for (size_t k = 0; k < values.components; k++)
        single += is_single(&values, k * values.to_v);
    return values_count(&values) > values.components && single > 0 && single < values.components;
}

/* A stream of bound 0 whose bound is relative holds values that were decompressed before. */
static struct result store_exactly(struct call *call, void *values, enum reason reason)
{
    struct factz_config config = call->config;
    factz_report report;
    config.bound = 0;
    config.bound_kind = reason == DECOMPRESSED_BEFORE ? FACTZ_BOUND_RELATIVE : FACTZ_BOUND_ABSOLUTE;
    struct result result = compress_values(call, &config, values, &report);
    if (reason != NOT_EXACT && result.bytes > 0) {
        char line[MESSAGE_BYTES], text[SIZE_BYTES];
        snprintf(line, sizeof line,
            "a chunk of %s of %s with %s bound of %g is stored exactly: "
            "%s",
            size_text(&call->chunk, text), call->chunk.dtype == FACTZ_DTYPE_F64 ? "doubles" : "floats",
            call->config.bound_kind == FACTZ_BOUND_ABSOLUTE ? "an absolute" : "a relative",
            call->config.bound, REASONS[reason]);
        log_repeated(line);
    }
    return result;
}

/* The stream of `values` without any error, as both components of a field. */
static struct result compress_twice(struct call *call, void *values, factz_report *report)
{
    struct factz_config config = call->config;
    config.bound = 0;
    config.bound_kind = FACTZ_BOUND_ABSOLUTE;
    config.preserve = FACTZ_PRESERVE_NONE;
    factz_sizes sizes;
    if (factz_compress_sizes(&config, &sizes) != FACTZ_OK) {
        snprintf(call->message, sizeof call->message, "%s", factz_last_error());
        return FAILED;
    }
    struct result both = {malloc(sizes.max_stream_bytes), sizes.max_stream_bytes, 0};
    if (!both.buffer)
        return out_of_memory(call, sizes.max_stream_bytes);
    if (factz_compress_host(values, values, vertices(&call->chunk), &config, both.buffer, both.buffer_bytes,
            report, threads()) != FACTZ_OK) {
        snprintf(call->message, sizeof call->message, "%s", factz_last_error());
        free(both.buffer);
        return FAILED;
    }
    both.bytes = report->stream_bytes;
    return both;
}

/*
 * A chunk of one component that is written through the filter is stored exactly: what must be kept of a field
 * cannot be told from one component. The stream is the half of a field both components of which are this one.
 */
static struct result store_component(struct call *call, void *values)
{
    factz_report report, reports[2];
    const struct result both = compress_twice(call, values, &report);
    if (both.bytes == 0)
        return FAILED;
    const int own = call->chunk.layout == LAYOUT_V;
    struct result halves[2] = {FAILED, FAILED};
    factz_status status = factz_split_host(both.buffer, both.bytes, NULL, 0, NULL, 0, reports, threads());
    for (int k = 0; k < 2 && status == FACTZ_ERROR_BUFFER_TOO_SMALL; k++) {
        const size_t bytes = reports[k].required_bytes;
        halves[k] = (struct result){malloc(bytes), bytes, bytes};
    }
    if (halves[0].buffer && halves[1].buffer)
        status = factz_split_host(both.buffer, both.bytes, halves[0].buffer, halves[0].bytes,
            halves[1].buffer, halves[1].bytes, reports, threads());
    if (status != FACTZ_OK)
        snprintf(call->message, sizeof call->message, "%s", factz_last_error());
    free(both.buffer);
    free(halves[!own].buffer);
    if (status != FACTZ_OK) {
        free(halves[own].buffer);
        return FAILED;
    }
    log_repeated(
        "a chunk of one component is stored exactly, for a bound and critical points belong to both "
        "components: `python -m factz.pack` compresses pairs of variables");
    return halves[own];
}

/* Whether the values of a stream, which has been decompressed, may differ from the originals. */
static bool holds_decompressed(const factz_info *info, const factz_report *report)
{
    return info->bound > 0 ? report->exact_vertices < info->nx * info->ny * info->nz
                           : info->bound_kind == FACTZ_BOUND_RELATIVE;
}

static struct result compress_chunk(struct call *call, void *values)
{
    struct factz_config *config = &call->config;
    describe_field(&call->chunk, config);
    if (has_one(&call->chunk))
        return store_component(call, values);
    if (config->bound == 0)
        return store_exactly(call, values, NOT_EXACT);
    const bool heeded = !may_add_up();
    if (heeded && history_knows(config, values))
        return store_exactly(call, values, DECOMPRESSED_BEFORE);
    if (has_one_component(config, values))
        return store_exactly(call, values, ONE_COMPONENT);
    factz_report report;
    struct result result = compress_values(call, config, values, &report);
    if (result.bytes > 0 && report.warnings & FACTZ_WARNING_WIDE_RANGE && !call->chunk.wide_range) {
        free(result.buffer);
        return store_exactly(call, values, WIDE_RANGE);
    }
    const struct stream stream = {result.buffer, result.bytes, *config};
    call->input_taken = heeded && result.bytes > 0 && history_add_written(&stream, values);
    return result;
}

static struct result compress(struct call *call)
{
    const size_t bytes = chunk_bytes(&call->chunk);
    if (call->input_bytes != bytes) {
        snprintf(call->message, sizeof call->message,
            "a chunk has %zu bytes, and cd_values describe chunks of %zu", call->input_bytes, bytes);
        return FAILED;
    }
    /* Unchecked so far where HDF5 did not let the filter look at the dataset. */
    if (!check_configuration(&call->config, &call->chunk, call->message, sizeof call->message))
        return FAILED;
    const bool reversed = other_order(&call->chunk);
    if (reversed)
        reverse_bytes(&call->chunk, call->input);
    struct result result = compress_chunk(call, call->input);
    /* If this fails and the filter is optional, HDF5 stores the input. */
    if (reversed && result.bytes == 0)
        reverse_bytes(&call->chunk, call->input);
    return result;
}

/* FACTZ_COMPONENT_* of a chunk. */
static unsigned component_of(const struct chunk *chunk)
{
    if (chunk->layout == LAYOUT_VOLUME)
        return FACTZ_COMPONENT_VOLUME;
    if (!has_one(chunk))
        return FACTZ_COMPONENT_BOTH;
    return chunk->layout == LAYOUT_U ? FACTZ_COMPONENT_U : FACTZ_COMPONENT_V;
}

/* Whether the stream holds the components of this dataset. */
static bool check_component(struct call *call, const factz_info *info)
{
    static const char *const NAMES[] = {[FACTZ_COMPONENT_BOTH] = "both components",
        [FACTZ_COMPONENT_U] = "u alone",
        [FACTZ_COMPONENT_V] = "v alone",
        [FACTZ_COMPONENT_VOLUME] = "a volume"};
    const unsigned own = component_of(&call->chunk);
    if (info->component != own)
        snprintf(call->message, sizeof call->message,
            "a chunk cannot be read: its stream holds %s, and the chunks of the dataset hold %s",
            NAMES[info->component], NAMES[own]);
    return info->component == own;
}

/* Whether the header of the stream is that of a chunk of this dataset. */
static bool inspect(struct call *call, factz_info *info)
{
    if (factz_inspect_host(call->input, call->input_bytes, info) != FACTZ_OK) {
        snprintf(call->message, sizeof call->message, "a chunk cannot be read: %s", factz_last_error());
        return false;
    }
    const struct chunk *chunk = &call->chunk;
    if (info->nx != chunk->nx || info->ny != chunk->ny || info->nz != chunk->planes ||
        info->dtype != chunk->dtype) {
        snprintf(call->message, sizeof call->message,
            "a chunk cannot be read: its stream has %llu x %llu x %llu values of %zu bytes, and the chunks "
            "of the "
            "dataset %u x %u x %u of %zu",
            (unsigned long long)info->nx, (unsigned long long)info->ny, (unsigned long long)info->nz,
            info->dtype == FACTZ_DTYPE_F64 ? sizeof(double) : sizeof(float), chunk->nx, chunk->ny,
            chunk->planes, value_bytes(chunk));
        return false;
    }
    return check_component(call, info);
}

/* Decompresses the components that a chunk holds. */
static factz_status decompress_values(const struct call *call, void *values, factz_report *report)
{
    if (!has_one(&call->chunk))
        return field_decompress(call->input, call->input_bytes, &call->config, values, report, threads());
    void *u = call->chunk.layout == LAYOUT_U ? values : NULL, *v = u ? NULL : values;
    return factz_decompress_host(
        call->input, call->input_bytes, &call->config, u, v, vertices(&call->chunk), report, threads());
}

static struct result decompress(struct call *call)
{
    const size_t bytes = chunk_bytes(&call->chunk);
    factz_info info;
    if (!inspect(call, &info))
        return FAILED;
    void *values = malloc(bytes);
    if (!values)
        return out_of_memory(call, bytes);
    describe_field(&call->chunk, &call->config);
    factz_report report;
    const bool one = has_one(&call->chunk);
    if (decompress_values(call, values, &report) != FACTZ_OK) {
        snprintf(call->message, sizeof call->message, "a chunk cannot be read: %s", factz_last_error());
        free(values);
        return FAILED;
    }
    if (other_order(&call->chunk))
        reverse_bytes(&call->chunk, values);
    if (!one && holds_decompressed(&info, &report) && !may_add_up()) {
        const struct stream stream = {call->input, call->input_bytes, call->config};
        history_add_read(stream, info.bound > 0 ? call->config.pin : 0);
        call->input_taken = true;
    }
    return (struct result){values, bytes, bytes};
}

static size_t filter(
    unsigned flags, size_t count, const unsigned words[], size_t bytes, size_t *buffer_bytes, void **buffer)
{
    struct call call = {.input = *buffer, .input_bytes = bytes};
    struct result result = FAILED;
    if (read_words(&call, words, count))
        result = flags & H5Z_FLAG_REVERSE ? decompress(&call) : compress(&call);
    if (result.bytes == 0) {
        hdf5_error(CALLER, HDF5_FILTER_CHUNK, call.message);
        return 0;
    }
    if (!call.input_taken)
        free(*buffer);
    *buffer = result.buffer;
    *buffer_bytes = result.buffer_bytes;
    return result.bytes;
}

/* ---------------------------------------------------------------- the plugin */

static const H5Z_class2_t FILTER = {
    .version = H5Z_CLASS_T_VERS,
    .id = FACTZ_HDF5_FILTER_ID,
    .encoder_present = 1,
    .decoder_present = 1,
    .name = "factz: vector fields, every critical point kept",
    .can_apply = can_apply,
    .set_local = set_local,
    .filter = filter,
};

EXPORTED int H5PLget_plugin_type(void);
EXPORTED const void *H5PLget_plugin_info(void);

int H5PLget_plugin_type(void)
{
    return H5PL_TYPE_FILTER;
}

const void *H5PLget_plugin_info(void)
{
    return &FILTER;
}
