/*
 * In situ: time steps are compressed where they are computed, on a GPU or on the host, and the finished
 * streams go into an HDF5 file as chunks. Readers with the plugin libh5zfactz.so (plugins/hdf5), such as h5py
 * and h5dump, see a dataset of values. The writer needs no plugin.
 *
 *     h5cc -std=c99 hdf5_chunks.c -lfactz -lm -o hdf5_chunks
 *     h5cc -std=c99 -DWITH_CUDA hdf5_chunks.c -lfactz -lcudart -lm -o hdf5_chunks      # and --device
 *
 *     ./hdf5_chunks FILE [--device] [--mode block|speculative] [--dims NXxNY] [--steps N]
 *
 * The dataset uv has the shape (steps, 2, ny, nx) and chunks (1, 2, ny, nx): one stream is one field. If a
 * chunk is only a part of a field, its configuration must pin the sides where other chunks are, as the filter
 * does.
 *
 * H5Dwrite_chunk is for files that one process writes. With parallel HDF5 it corrupts the file if ranks write
 * chunks of different lengths on their own: see hdf5_parallel.c.
 *
 * Exit status 0 when the file is written and, if the plugin is there, reads back within the bound with every
 * critical point.
 */
#include "hdf5_filter.h"
#include "numbers.h"
#include "vortices.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

static const double BOUND = 1e-2;

typedef struct {
    const char *path;
    uint64_t nx, ny, steps;
    int32_t mode;
    int device;
} options;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "hdf5_chunks: %s: %s\n", what, why);
    exit(1);
}

static void check(factz_status status, const char *what)
{
    if (status != FACTZ_OK) {
        fprintf(stderr, "hdf5_chunks: %s\n", factz_last_error());
        stop(what, factz_status_string(status));
    }
}

/* HDF5's own functions print why they failed. */
static hid_t check_hdf5(hid_t answer, const char *what)
{
    if (answer < 0)
        stop(what, "failed");
    return answer;
}

static void *allocate(uint64_t bytes)
{
    void *memory = malloc((size_t)bytes);
    if (memory == NULL)
        stop("malloc", "out of memory");
    return memory;
}

/* ---------------------------------------------------------------- compression */

/* Memory of a step, allocated once. */
typedef struct {
    factz_config config;
    factz_sizes sizes;
    size_t n;
    float *field; /* u, then v */
    void *stream;
    factz_report *report;
#ifdef WITH_CUDA
    cudaStream_t queue;
    float *device_field;
    void *device_stream, *workspace;
#endif
} compressor;

#ifdef WITH_CUDA
static void check_cuda(cudaError_t code, const char *what)
{
    if (code != cudaSuccess)
        stop(what, cudaGetErrorString(code));
}

static void open_device(compressor *c)
{
    check_cuda(cudaStreamCreateWithFlags(&c->queue, cudaStreamNonBlocking), "cudaStreamCreate");
    check_cuda(cudaMalloc((void **)&c->device_field, 2 * c->n * sizeof(float)), "cudaMalloc");
    check_cuda(cudaMalloc(&c->device_stream, c->sizes.max_stream_bytes), "cudaMalloc");
    check_cuda(cudaMalloc(&c->workspace, c->sizes.workspace_bytes), "cudaMalloc");
    /* Pinned: the device writes the report where the host reads it, and copies run at full speed. */
    check_cuda(cudaMallocHost((void **)&c->report, sizeof *c->report), "cudaMallocHost");
    check_cuda(cudaMallocHost(&c->stream, c->sizes.max_stream_bytes), "cudaMallocHost");
    check(factz_prepare_device(c->queue), "factz_prepare_device");
}

static void close_device(compressor *c)
{
    cudaFreeHost(c->stream);
    cudaFreeHost(c->report);
    cudaFree(c->workspace);
    cudaFree(c->device_stream);
    cudaFree(c->device_field);
    cudaStreamDestroy(c->queue);
}

/* Only the stream comes to the host. */
static void compress_on_device(compressor *c)
{
    const size_t bytes = 2 * c->n * sizeof(float);
    /* The arrays of a solver are there already. */
    check_cuda(cudaMemcpyAsync(c->device_field, c->field, bytes, cudaMemcpyHostToDevice, c->queue),
        "cudaMemcpyAsync");
    check(factz_compress_device(c->device_field, c->device_field + c->n, c->n, &c->config, c->device_stream,
              c->sizes.max_stream_bytes, c->workspace, c->sizes.workspace_bytes, c->report, c->queue),
        "factz_compress_device");
    check_cuda(cudaStreamSynchronize(c->queue), "cudaStreamSynchronize");
    if (c->report->status != FACTZ_OK)
        stop("compression on the device", factz_status_string(c->report->status));
    check_cuda(cudaMemcpy(c->stream, c->device_stream, c->report->stream_bytes, cudaMemcpyDeviceToHost),
        "cudaMemcpy");
}
#else
static void open_device(compressor *c)
{
    (void)c;
    stop("--device", "compile this program with -DWITH_CUDA");
}

static void close_device(compressor *c)
{
    (void)c;
}

static void compress_on_device(compressor *c)
{
    (void)c;
}
#endif

static compressor make_compressor(const options *o)
{
    compressor c;
    memset(&c, 0, sizeof c);
    check(factz_config_init(&c.config, o->nx, o->ny, FACTZ_BOUND_ABSOLUTE, BOUND), "factz_config_init");
    c.config.mode = o->mode;
    check(factz_compress_sizes(&c.config, &c.sizes), "factz_compress_sizes");
    c.n = (size_t)(o->nx * o->ny);
    c.field = allocate(2 * c.n * sizeof(float));
    if (o->device) {
        open_device(&c);
    } else {
        c.stream = allocate(c.sizes.max_stream_bytes);
        c.report = allocate(sizeof *c.report);
    }
    return c;
}

static void free_compressor(const options *o, compressor *c)
{
    if (o->device) {
        close_device(c);
    } else {
        free(c->stream);
        free(c->report);
    }
    free(c->field);
}

static void compress(const options *o, compressor *c)
{
    if (o->device)
        compress_on_device(c);
    else
        check(factz_compress_host(c->field, c->field + c->n, c->n, &c->config, c->stream,
                  c->sizes.max_stream_bytes, c->report, 0),
            "factz_compress_host");
}

/* ---------------------------------------------------------------- the file */

static int filter_is_there(void)
{
    return H5Zfilter_avail(FACTZ_HDF5_FILTER_ID) > 0;
}

static hid_t create_dataset(hid_t file, const options *o, const factz_config *config)
{
    const hsize_t shape[4] = {o->steps, 2, o->ny, o->nx}, chunk[4] = {1, 2, o->ny, o->nx};
    /* HDF5 creates no dataset with a mandatory filter that is not there. */
    const unsigned flags = filter_is_there() ? H5Z_FLAG_MANDATORY : H5Z_FLAG_OPTIONAL;
    hid_t space = check_hdf5(H5Screate_simple(4, shape, NULL), "H5Screate_simple");
    hid_t creation = check_hdf5(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"), dataset;
    check_hdf5(H5Pset_chunk(creation, 4, chunk), "H5Pset_chunk");
    /* Without the time of day the same steps make the same file, on the device and on the host. */
    check_hdf5(H5Pset_obj_track_times(creation, 0), "H5Pset_obj_track_times");
    check_hdf5(set_factz_filter(creation, config, o->nx, o->ny, flags), "H5Pset_filter");
    dataset = check_hdf5(
        H5Dcreate2(file, "uv", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT), "H5Dcreate2");
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

static void write_file(const options *o)
{
    compressor c = make_compressor(o);
    hid_t file = check_hdf5(H5Fcreate(o->path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), o->path);
    hid_t dataset = create_dataset(file, o, &c.config);
    uint64_t step, bytes = 0;
    for (step = 0; step < o->steps; step++) {
        const hsize_t place[4] = {step, 0, 0, 0};
        vortices(o->nx, 0, o->ny, step, c.field, c.field + c.n);
        compress(o, &c);
        /* The mask 0: no filter of the dataset was left out. */
        check_hdf5(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, place, (size_t)c.report->stream_bytes, c.stream),
            "H5Dwrite_chunk");
        bytes += c.report->stream_bytes;
    }
    H5Dclose(dataset);
    check_hdf5(H5Fclose(file), o->path);
    printf("wrote %lu steps compressed on the %s, ratio %.1f\n", (unsigned long)o->steps,
        o->device ? "device" : "host", (double)(o->steps * c.n * 2 * sizeof(float)) / (double)bytes);
    free_compressor(o, &c);
}

/* As any reader of HDF5, which knows of the filter no more than its folder. */
static void read_back(const options *o)
{
    const size_t n = (size_t)(o->nx * o->ny);
    float *before = allocate(2 * n * sizeof(float)), *all = allocate(o->steps * 2 * n * sizeof(float));
    hid_t file = check_hdf5(H5Fopen(o->path, H5F_ACC_RDONLY, H5P_DEFAULT), o->path);
    hid_t dataset = check_hdf5(H5Dopen2(file, "uv", H5P_DEFAULT), "H5Dopen2");
    factz_config config;
    uint64_t step;
    check(factz_config_init(&config, o->nx, o->ny, FACTZ_BOUND_ABSOLUTE, BOUND), "factz_config_init");
    check_hdf5(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), "H5Dread");
    for (step = 0; step < o->steps; step++) {
        const float *after = all + step * 2 * n;
        factz_comparison c;
        vortices(o->nx, 0, o->ny, step, before, before + n);
        check(factz_compare_host(before, before + n, n, &config, after, after + n, NULL, &c, 0),
            "factz_compare_host");
        if (c.violations != 0 || c.critical_points == 0)
            stop("a step", "the bound or a critical point is lost");
    }
    H5Dclose(dataset);
    H5Fclose(file);
    free(before);
    free(all);
}

/* ---------------------------------------------------------------- the command line */

static options parse(int count, char **arguments)
{
    options o = {NULL, 512, 384, 4, FACTZ_MODE_BLOCK_WISE, 0};
    int k;
    for (k = 1; k < count; k++) {
        const char *name = arguments[k], *value = k + 1 < count ? arguments[k + 1] : "";
        uint64_t numbers[2];
        if (strncmp(name, "--", 2) != 0 && o.path == NULL) {
            o.path = name;
            continue;
        }
        if (strcmp(name, "--device") == 0) {
            o.device = 1;
            continue;
        }
        if (strcmp(name, "--mode") == 0 && strcmp(value, "block") == 0) {
            o.mode = FACTZ_MODE_BLOCK_WISE;
        } else if (strcmp(name, "--mode") == 0 && strcmp(value, "speculative") == 0) {
            o.mode = FACTZ_MODE_SPECULATIVE;
        } else if (strcmp(name, "--dims") == 0 && read_numbers(value, 2, numbers)) {
            o.nx = numbers[0];
            o.ny = numbers[1];
        } else if (strcmp(name, "--steps") == 0 && read_numbers(value, 1, numbers)) {
            o.steps = numbers[0];
        } else {
            stop(name, "unknown option or value: the top of hdf5_chunks.c lists them");
        }
        k++;
    }
    if (o.path == NULL)
        stop("FILE", "name the file to write");
    return o;
}

int main(int count, char **arguments)
{
    const options o = parse(count, arguments);
    write_file(&o);
    if (filter_is_there()) {
        read_back(&o);
        puts("everything holds");
    } else {
        puts("not read back: HDF5_PLUGIN_PATH names no folder with libh5zfactz.so");
    }
    return 0;
}
