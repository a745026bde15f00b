/*
 * A field in 2D blocks on MPI ranks: every rank compresses its own block, all write one file, and any number
 * of ranks reads it back. Every critical point is kept, also between the blocks of two ranks.
 *
 *     mpicc -std=c99 mpi_blocks.c -lfactz -lm -o mpi_blocks
 *
 * A synthetic field, checked; exit status 0 if all holds:
 *     mpirun -n 4 ./mpi_blocks [--dims NXxNY] [--planes NZ]
 * Files of raw values, NY rows of NX, x fastest:
 *     mpirun -n 4 ./mpi_blocks write FILE u.f32 v.f32 NX NY
 *     mpirun -n 6 ./mpi_blocks read FILE u2.f32 v2.f32 NX NY
 * Stacks, NZ planes of NY rows, such as levels: a stream has all planes of a block:
 *     mpirun -n 4 ./mpi_blocks write FILE u.f32 v.f32 NX NY --planes NZ
 * FILE is a file of streams, which the command line and the Python package read as well:
 *     factz info FILE
 *     factz decompress FILE block.npz --step 2
 *
 * Options, first value by default:
 *     --dtype f32|f64
 *     --planes NZ                  planes of the fields that are written (1)
 *     --rel T                      bound as a fraction of the range of the whole field (1e-2)
 *     --mode block|speculative
 *     --borders halo|pin|none      halo: the library sees the ghost line of the neighbours' values;
 *                                  pin: without ghost values, the border lines are stored bit for bit;
 *                                  none: critical points are kept inside the blocks only, for comparison
 *
 * With CUDA: mpicc -DWITH_CUDA ... -lcudart, then --device compresses on a GPU per rank, each on its own
 * stream.
 *
 * The file: the streams, one behind the other, in the order of the ranks, which is that of the blocks: row by
 * row, x fastest. The place of a stream in the file follows from an exscan of the lengths, so nothing is
 * gathered. A reader finds the streams by their headers (factz_inspect_host: 128 bytes tell shape and
 * length), and their blocks from the order, because the blocks of a row fill NX columns.
 */
#include <factz.h>

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

enum { X_MIN = 0, X_MAX = 1, Y_MIN = 2, Y_MAX = 3 };

typedef struct {
    uint64_t x0, y0, nx, ny; /* the block */
    uint64_t offset, bytes;  /* its stream in the file */
} index_entry;

enum { NUMBERS_OF_ENTRY = sizeof(index_entry) / sizeof(uint64_t) };

/* What becomes of critical points between blocks. */
typedef enum { HALO, PIN, NONE } border_kind;

typedef struct {
    const char *file, *u_path, *v_path;
    uint64_t nx, ny, nz;
    int32_t dtype, mode;
    double relative;
    border_kind borders;
    int device;
} options;

/* This rank's part of the domain, in arrays with one ghost line on every side of each plane. */
typedef struct {
    MPI_Comm grid;
    int rank, neighbour[4]; /* MPI_PROC_NULL at the borders of the domain */
    uint64_t x0, y0, nx, ny, nz, pitch;
    size_t element; /* bytes of a value */
    MPI_Datatype value;
    char *u, *v; /* nx + 2 columns, ny + 2 rows, nz planes */
} block;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "mpi_blocks: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(factz_status status, const char *what)
{
    if (status != FACTZ_OK) {
        fprintf(stderr, "mpi_blocks: %s\n", factz_last_error());
        stop(what, factz_status_string(status));
    }
}

/* Files report errors instead of stopping the program, by default of MPI. */
static void check_file(int code, const char *path)
{
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(code, text, &length);
        stop(path, text);
    }
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (memory == NULL)
        stop("malloc", "out of memory");
    return memory;
}

/* MPI counts are int. */
static int count_of(uint64_t bytes)
{
    if (bytes > INT32_MAX)
        stop("a block has more than 2 GiB", "use more ranks, or the _c functions of MPI 4");
    return (int)bytes;
}

/* ---------------------------------------------------------------- the domain and its blocks */

/* Part `index` of `parts` of `n` lines; the first parts are one longer where it does not divide. */
static void part_of(uint64_t n, int parts, int index, uint64_t *first, uint64_t *count)
{
    const uint64_t p = (uint64_t)parts, i = (uint64_t)index;
    *first = n / p * i + (i < n % p ? i : n % p);
    *count = n / p + (i < n % p);
}

/* Bytes of an array with its ghosts. */
static size_t array_bytes(const block *b)
{
    return b->pitch * (b->ny + 2) * b->nz * b->element;
}

static size_t vertices(const block *b)
{
    return (size_t)(b->nx * b->ny * b->nz);
}

static block make_block(const options *o)
{
    const uint64_t nx = o->nx, ny = o->ny;
    block b;
    int ranks, dimensions[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, dimensions);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 0, &b.grid);
    MPI_Comm_rank(b.grid, &b.rank);
    MPI_Cart_coords(b.grid, b.rank, 2, place);
    /* Dimension 0 of the ranks is y. */
    MPI_Cart_shift(b.grid, 0, 1, &b.neighbour[Y_MIN], &b.neighbour[Y_MAX]);
    MPI_Cart_shift(b.grid, 1, 1, &b.neighbour[X_MIN], &b.neighbour[X_MAX]);
    if (nx < (uint64_t)dimensions[1] || ny < (uint64_t)dimensions[0])
        stop("the domain has fewer lines than ranks along an axis", "use fewer ranks");
    part_of(nx, dimensions[1], place[1], &b.x0, &b.nx);
    part_of(ny, dimensions[0], place[0], &b.y0, &b.ny);
    b.nz = o->nz;
    b.pitch = b.nx + 2;
    b.element = o->dtype == FACTZ_DTYPE_F32 ? sizeof(float) : sizeof(double);
    b.value = o->dtype == FACTZ_DTYPE_F32 ? MPI_FLOAT : MPI_DOUBLE;
    b.u = allocate(array_bytes(&b));
    b.v = allocate(array_bytes(&b));
    return b;
}

static void free_block(block *b)
{
    free(b->u);
    free(b->v);
    MPI_Comm_free(&b->grid);
}

/* Vertex (x, y) of plane z of the block; -1 and nx, ny are its ghosts. */
static char *at(const block *b, char *values, int64_t x, int64_t y, uint64_t z)
{
    const int64_t row = (int64_t)(z * (b->ny + 2)) + y + 1;
    return values + (row * (int64_t)b->pitch + x + 1) * (int64_t)b->element;
}

/* Fills the ghost lines. Columns first, then rows with their ghosts: so the corners arrive as well. */
static void exchange(const block *b, char *values)
{
    uint64_t z;
    const int64_t nx = (int64_t)b->nx, ny = (int64_t)b->ny;
    MPI_Datatype column, row;
    MPI_Type_vector((int)b->ny, 1, (int)b->pitch, b->value, &column);
    MPI_Type_contiguous((int)b->pitch, b->value, &row);
    MPI_Type_commit(&column);
    MPI_Type_commit(&row);
    for (z = 0; z < b->nz; z++) {
        MPI_Sendrecv(at(b, values, 0, 0, z), 1, column, b->neighbour[X_MIN], 0, at(b, values, nx, 0, z), 1,
            column, b->neighbour[X_MAX], 0, b->grid, MPI_STATUS_IGNORE);
        MPI_Sendrecv(at(b, values, nx - 1, 0, z), 1, column, b->neighbour[X_MAX], 1, at(b, values, -1, 0, z),
            1, column, b->neighbour[X_MIN], 1, b->grid, MPI_STATUS_IGNORE);
        MPI_Sendrecv(at(b, values, -1, 0, z), 1, row, b->neighbour[Y_MIN], 2, at(b, values, -1, ny, z), 1,
            row, b->neighbour[Y_MAX], 2, b->grid, MPI_STATUS_IGNORE);
        MPI_Sendrecv(at(b, values, -1, ny - 1, z), 1, row, b->neighbour[Y_MAX], 3, at(b, values, -1, -1, z),
            1, row, b->neighbour[Y_MIN], 3, b->grid, MPI_STATUS_IGNORE);
    }
    MPI_Type_free(&column);
    MPI_Type_free(&row);
}

/* Reads or writes this rank's part of a raw file, row by row. */
static void raw_file(const block *b, const options *o, const char *path, char *values, int writing)
{
    uint64_t line;
    MPI_File file;
    check_file(MPI_File_open(b->grid, path, writing ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY,
                   MPI_INFO_NULL, &file),
        path);
    if (!writing) {
        MPI_Offset found;
        check_file(MPI_File_get_size(file, &found), path);
        if ((uint64_t)found != o->nx * o->ny * b->nz * b->element)
            stop(path, "the file has another size than NX, NY, --planes and --dtype say");
    }
    for (line = 0; line < b->ny * b->nz; line++) {
        const uint64_t y = line % b->ny, z = line / b->ny;
        const MPI_Offset place = (MPI_Offset)(((z * o->ny + b->y0 + y) * o->nx + b->x0) * b->element);
        char *row = at(b, values, 0, (int64_t)y, z);
        if (writing)
            check_file(MPI_File_write_at(file, place, row, (int)b->nx, b->value, MPI_STATUS_IGNORE), path);
        else
            check_file(MPI_File_read_at(file, place, row, (int)b->nx, b->value, MPI_STATUS_IGNORE), path);
    }
    check_file(MPI_File_close(&file), path);
}

/* ---------------------------------------------------------------- compression */

/* Puts the layout of a block's arrays into a configuration. */
static void describe(factz_config *config, const block *b)
{
    config->dtype = b->element == sizeof(float) ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;
    config->nz = b->nz;
    config->u_pitch = config->v_pitch = b->pitch;
    config->plane_rows = b->ny + 2;
}

/* The absolute bound that a fraction of the range of the whole field comes to. A rank's own range would give
 * every block another bound. */
static double absolute_bound(const block *b, double relative)
{
    factz_config config;
    factz_range range;
    double low, high;
    check(factz_config_init(&config, b->nx, b->ny, FACTZ_BOUND_RELATIVE, relative), "factz_config_init");
    describe(&config, b);
    check(factz_range_host(at(b, b->u, 0, 0, 0), at(b, b->v, 0, 0, 0), vertices(b), &config, &range, 1),
        "factz_range_host");
    MPI_Allreduce(&range.low, &low, 1, MPI_DOUBLE, MPI_MIN, b->grid);
    MPI_Allreduce(&range.high, &high, 1, MPI_DOUBLE, MPI_MAX, b->grid);
    return factz_relative_bound(relative, low, high);
}

static uint32_t sides_with_neighbours(const block *b)
{
    return (b->neighbour[X_MIN] != MPI_PROC_NULL ? FACTZ_SIDE_X_MIN : 0u) |
           (b->neighbour[X_MAX] != MPI_PROC_NULL ? FACTZ_SIDE_X_MAX : 0u) |
           (b->neighbour[Y_MIN] != MPI_PROC_NULL ? FACTZ_SIDE_Y_MIN : 0u) |
           (b->neighbour[Y_MAX] != MPI_PROC_NULL ? FACTZ_SIDE_Y_MAX : 0u);
}

#ifdef WITH_CUDA
static void check_cuda(cudaError_t code, const char *what)
{
    if (code != cudaSuccess)
        stop(what, cudaGetErrorString(code));
}

/* As a solver that lives on the GPU does: field, stream and report stay there until the stream is written. */
static void compress_on_device(
    const block *b, const factz_config *config, const factz_sizes *sizes, void *dst, factz_report *report)
{
    const size_t bytes = array_bytes(b), inside = (size_t)(at(b, b->u, 0, 0, 0) - b->u);
    char *u, *v;
    void *compressed, *workspace, *device_report;
    cudaStream_t stream;
    int devices;
    check_cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    check_cuda(cudaSetDevice(b->rank % devices), "cudaSetDevice");
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check_cuda(cudaMalloc((void **)&u, bytes), "cudaMalloc");
    check_cuda(cudaMalloc((void **)&v, bytes), "cudaMalloc");
    check_cuda(cudaMalloc(&compressed, sizes->max_stream_bytes), "cudaMalloc");
    check_cuda(cudaMalloc(&workspace, sizes->workspace_bytes), "cudaMalloc");
    check_cuda(cudaMalloc(&device_report, sizeof *report), "cudaMalloc");
    check_cuda(cudaMemcpyAsync(u, b->u, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check_cuda(cudaMemcpyAsync(v, b->v, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    check(factz_compress_device(u + inside, v + inside, vertices(b), config, compressed,
              sizes->max_stream_bytes, workspace, sizes->workspace_bytes, device_report, stream),
        "factz_compress_device");
    check_cuda(cudaMemcpyAsync(report, device_report, sizeof *report, cudaMemcpyDeviceToHost, stream),
        "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    if (report->status != FACTZ_OK)
        stop("factz_compress_device", factz_status_string(report->status));
    check_cuda(cudaMemcpy(dst, compressed, report->stream_bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    cudaFree(u);
    cudaFree(v);
    cudaFree(compressed);
    cudaFree(workspace);
    cudaFree(device_report);
    cudaStreamDestroy(stream);
}
#endif

/* Compresses this rank's block. Returns the stream, to be freed. */
static void *compress(const block *b, const options *o, double bound, factz_report *report)
{
    factz_config config;
    factz_sizes sizes;
    void *stream;
    check(factz_config_init(&config, b->nx, b->ny, FACTZ_BOUND_ABSOLUTE, bound), "factz_config_init");
    describe(&config, b);
    config.mode = o->mode;
    config.halo = o->borders == HALO ? sides_with_neighbours(b) : 0;
    config.pin = o->borders == PIN ? sides_with_neighbours(b) : 0;
    check(factz_compress_sizes(&config, &sizes), "factz_compress_sizes");
    stream = allocate(sizes.max_stream_bytes);
#ifdef WITH_CUDA
    if (o->device) {
        compress_on_device(b, &config, &sizes, stream, report);
        return stream;
    }
#endif
    check(factz_compress_host(at(b, b->u, 0, 0, 0), at(b, b->v, 0, 0, 0), vertices(b), &config, stream,
              sizes.max_stream_bytes, report, 1),
        "factz_compress_host");
    return stream;
}

static void write_blocks(const block *b, const options *o, double bound)
{
    factz_report report;
    void *stream = compress(b, o, bound, &report);
    uint64_t before = 0, total = 0;
    int ranks;
    MPI_File file;

    /* The streams of lower ranks lie before this one. */
    MPI_Comm_size(b->grid, &ranks);
    MPI_Exscan(&report.stream_bytes, &before, 1, MPI_UINT64_T, MPI_SUM, b->grid);
    if (b->rank == 0)
        before = 0; /* undefined on rank 0 */

    check_file(
        MPI_File_open(b->grid, o->file, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), o->file);
    check_file(MPI_File_set_size(file, 0), o->file);
    /* Every rank writes whole pieces of its own, so independent writes are as good as collective ones; those
     * of Open MPI 4.1.4 (OMPIO) lost some of such pieces now and then. */
    check_file(MPI_File_write_at(file, (MPI_Offset)before, stream, count_of(report.stream_bytes), MPI_BYTE,
                   MPI_STATUS_IGNORE),
        o->file);
    check_file(MPI_File_close(&file), o->file);

    MPI_Reduce(&report.stream_bytes, &total, 1, MPI_UINT64_T, MPI_SUM, 0, b->grid);
    if (b->rank == 0)
        printf("wrote %d blocks, %llu bytes, ratio %.1f, bound %.3g\n", ranks, (unsigned long long)total,
            2.0 * (double)(o->nx * o->ny * b->nz * b->element) / (double)total, bound);
    free(stream);
}

/* ---------------------------------------------------------------- decompression */

/* Decompresses one stream and copies what it shares with this rank's block. Returns the number of vertices of
 * a plane. */
static uint64_t take_from(const block *b, const index_entry *e, int32_t dtype, const void *stream)
{
    const uint64_t x0 = b->x0 > e->x0 ? b->x0 : e->x0, y0 = b->y0 > e->y0 ? b->y0 : e->y0;
    const uint64_t x1 = b->x0 + b->nx < e->x0 + e->nx ? b->x0 + b->nx : e->x0 + e->nx;
    const uint64_t y1 = b->y0 + b->ny < e->y0 + e->ny ? b->y0 + b->ny : e->y0 + e->ny;
    const size_t count = (size_t)(e->nx * e->ny * b->nz), bytes = count * b->element;
    char *u = allocate(bytes), *v = allocate(bytes);
    factz_config config;
    factz_report report;
    uint64_t y, z;
    check(factz_config_init(&config, e->nx, e->ny, FACTZ_BOUND_ABSOLUTE, 0), "factz_config_init");
    config.dtype = dtype;
    config.nz = b->nz;
    check(factz_decompress_host(stream, e->bytes, &config, u, v, count, &report, 1), "factz_decompress_host");
    for (z = 0; z < b->nz; z++)
        for (y = y0; y < y1; y++) {
            const size_t from = (size_t)((z * e->ny + y - e->y0) * e->nx + x0 - e->x0) * b->element;
            const size_t row = (size_t)(x1 - x0) * b->element;
            memcpy(at(b, b->u, (int64_t)(x0 - b->x0), (int64_t)(y - b->y0), z), u + from, row);
            memcpy(at(b, b->v, (int64_t)(x0 - b->x0), (int64_t)(y - b->y0), z), v + from, row);
        }
    free(u);
    free(v);
    return (x1 - x0) * (y1 - y0);
}

static void stop_at(const options *o, uint64_t number, uint64_t byte, const char *why)
{
    fprintf(stderr, "mpi_blocks: %s: stream %llu, from byte %llu: %s\n", o->file, (unsigned long long)number,
        (unsigned long long)byte, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Reads the header of the stream that begins at a byte. */
static factz_info header_at(MPI_File file, const options *o, uint64_t number, uint64_t byte, uint64_t end)
{
    unsigned char header[FACTZ_INSPECT_BYTES];
    factz_info info;
    if (end - byte < sizeof header)
        stop_at(o, number, byte, "a stream is cut off");
    check_file(MPI_File_read_at(file, (MPI_Offset)byte, header, sizeof header, MPI_BYTE, MPI_STATUS_IGNORE),
        o->file);
    if (factz_inspect_host(header, sizeof header, &info) != FACTZ_OK)
        stop_at(o, number, byte, factz_last_error());
    if (info.stream_bytes > end - byte)
        stop_at(o, number, byte, "a stream is cut off");
    return info;
}

/* The streams of a file with their blocks, to be freed. Sets the type of the values and the planes. */
static index_entry *find_blocks(MPI_File file, options *o, uint64_t *count)
{
    const char *other_shape = "the blocks are not those of a domain of NX columns and NY rows";
    index_entry *index = NULL;
    uint64_t byte = 0, x = 0, y = 0, height = 0, n = 0;
    MPI_Offset end;
    check_file(MPI_File_get_size(file, &end), o->file);
    while (byte < (uint64_t)end) {
        const factz_info info = header_at(file, o, n, byte, (uint64_t)end);
        const index_entry entry = {x, y, info.nx, info.ny, byte, info.stream_bytes};
        if (x == 0)
            height = info.ny;
        if (n == 0) {
            o->dtype = info.dtype;
            o->nz = info.nz;
        }
        if (info.nz != o->nz)
            stop_at(o, n, byte, "the block has another number of planes than the first one");
        if (info.ny != height || info.nx > o->nx - x || info.ny > o->ny - y || info.dtype != o->dtype)
            stop_at(o, n, byte, other_shape);
        index = realloc(index, (n + 1) * sizeof *index);
        if (index == NULL)
            stop("realloc", "out of memory");
        index[n++] = entry;
        byte += info.stream_bytes;
        x = (x + info.nx) % o->nx;
        y += x == 0 ? height : 0;
    }
    if (x != 0 || y != o->ny)
        stop_at(o, n, byte, other_shape);
    *count = n;
    return index;
}

/* Makes this rank's block of a file that any number of ranks wrote. One rank reads the headers, and each the
 * streams that it needs. */
static block read_blocks(options *o)
{
    index_entry *index = NULL;
    MPI_File file;
    uint64_t k, count = 0, taken = 0;
    block b;
    int rank;
    check_file(MPI_File_open(MPI_COMM_WORLD, o->file, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), o->file);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        index = find_blocks(file, o, &count);
    MPI_Bcast(&count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    MPI_Bcast(&o->dtype, 1, MPI_INT32_T, 0, MPI_COMM_WORLD);
    MPI_Bcast(&o->nz, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank != 0)
        index = allocate(count * sizeof *index);
    MPI_Bcast(index, count_of(count * NUMBERS_OF_ENTRY), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    b = make_block(o);
    for (k = 0; k < count; k++) {
        const index_entry *e = &index[k];
        void *stream;
        if (e->x0 >= b.x0 + b.nx || b.x0 >= e->x0 + e->nx || e->y0 >= b.y0 + b.ny || b.y0 >= e->y0 + e->ny)
            continue;
        stream = allocate(e->bytes);
        check_file(MPI_File_read_at(
                       file, (MPI_Offset)e->offset, stream, count_of(e->bytes), MPI_BYTE, MPI_STATUS_IGNORE),
            o->file);
        taken += take_from(&b, e, o->dtype, stream);
        free(stream);
    }
    if (taken != b.nx * b.ny)
        stop(o->file, "the blocks do not cover the domain");
    free(index);
    check_file(MPI_File_close(&file), o->file);
    return b;
}

/* ---------------------------------------------------------------- the programs */

static void write_file(const options *o)
{
    block b = make_block(o);
    raw_file(&b, o, o->u_path, b.u, 0);
    raw_file(&b, o, o->v_path, b.v, 0);
    if (o->borders == HALO) {
        exchange(&b, b.u);
        exchange(&b, b.v);
    }
    write_blocks(&b, o, absolute_bound(&b, o->relative));
    free_block(&b);
}

static void read_file(options *o)
{
    block b = read_blocks(o);
    raw_file(&b, o, o->u_path, b.u, 1);
    raw_file(&b, o, o->v_path, b.v, 1);
    free_block(&b);
}

/* Vortices that turn and drift, from plane to plane as well, so that critical points lie everywhere. */
static void made_velocity(uint64_t x, uint64_t y, uint64_t z, double *u, double *v)
{
    const double a = 0.21 * (double)x + 0.07 * (double)y + 0.4 * (double)z;
    const double b = 0.19 * (double)y - 0.06 * (double)x;
    *u = 0.3 * sin(a) * cos(b) + 0.05 * cos(1.3 * a - b);
    *v = -0.3 * cos(a) * sin(b) + 0.05 * sin(0.7 * b + a);
}

/* Copies this rank's block of one component into the whole field on rank 0. */
static void gather(const block *b, const options *o, char *values, char *whole)
{
    int ranks, r;
    uint64_t place[4] = {b->x0, b->y0, b->nx, b->ny}, line;
    MPI_Comm_size(b->grid, &ranks);
    if (b->rank != 0) {
        MPI_Send(place, 4, MPI_UINT64_T, 0, 0, b->grid);
        for (line = 0; line < b->ny * b->nz; line++)
            MPI_Send(
                at(b, values, 0, (int64_t)(line % b->ny), line / b->ny), (int)b->nx, b->value, 0, 1, b->grid);
        return;
    }
    for (r = 0; r < ranks; r++) {
        if (r > 0)
            MPI_Recv(place, 4, MPI_UINT64_T, r, 0, b->grid, MPI_STATUS_IGNORE);
        for (line = 0; line < place[3] * b->nz; line++) {
            const uint64_t y = line % place[3], z = line / place[3];
            char *row = whole + ((z * o->ny + place[1] + y) * o->nx + place[0]) * b->element;
            if (r > 0)
                MPI_Recv(row, (int)place[2], b->value, r, 1, b->grid, MPI_STATUS_IGNORE);
            else
                memcpy(row, at(b, values, 0, (int64_t)y, z), (size_t)place[2] * b->element);
        }
    }
}

/* Fills this rank's block. */
static void make_field(const block *b)
{
    uint64_t x, y, z;
    for (z = 0; z < b->nz; z++)
        for (y = 0; y < b->ny; y++)
            for (x = 0; x < b->nx; x++) {
                char *to_u = at(b, b->u, (int64_t)x, (int64_t)y, z),
                     *to_v = at(b, b->v, (int64_t)x, (int64_t)y, z);
                double u, v;
                made_velocity(b->x0 + x, b->y0 + y, z, &u, &v);
                if (b->element == sizeof(float)) {
                    *(float *)to_u = (float)u;
                    *(float *)to_v = (float)v;
                } else {
                    *(double *)to_u = u;
                    *(double *)to_v = v;
                }
            }
}

/* Writes a made field, reads it back, gathers it on rank 0 and compares it there, across all borders. */
static int demonstrate(options *o)
{
    block b, back;
    double bound;
    uint64_t violations = 0, unexpected;
    b = make_block(o);
    make_field(&b);
    exchange(&b, b.u);
    exchange(&b, b.v);
    bound = absolute_bound(&b, o->relative);
    write_blocks(&b, o, bound);
    /* What other ranks wrote may be read after close, barrier, open (MPI: sync, barrier, sync), and not
     * before. */
    MPI_Barrier(b.grid);
    back = read_blocks(o);
    {
        const size_t n = (size_t)(o->nx * o->ny * o->nz), bytes = back.rank == 0 ? n * b.element : 1;
        char *fields[4];
        int k;
        for (k = 0; k < 4; k++)
            fields[k] = allocate(bytes);
        gather(&b, o, b.u, fields[0]);
        gather(&b, o, b.v, fields[1]);
        gather(&back, o, back.u, fields[2]);
        gather(&back, o, back.v, fields[3]);
        if (b.rank == 0) {
            factz_config config;
            factz_comparison c;
            check(factz_config_init(&config, o->nx, o->ny, FACTZ_BOUND_ABSOLUTE, bound), "factz_config_init");
            config.dtype = o->dtype;
            config.nz = o->nz;
            check(factz_compare_host(fields[0], fields[1], n, &config, fields[2], fields[3], NULL, &c, 1),
                "factz_compare_host");
            printf(
                "read back: %llu critical points, %llu lost, %llu new, %llu of another type, largest error "
                "%.3g\n",
                (unsigned long long)c.critical_points, (unsigned long long)c.lost_points,
                (unsigned long long)c.spurious_points, (unsigned long long)c.changed_types, c.max_error);
            violations = c.violations;
            if (c.critical_points == 0)
                stop("the field has no critical points", "nothing was shown");
        }
        for (k = 0; k < 4; k++)
            free(fields[k]);
    }
    unexpected = o->borders == NONE ? 0 : violations;
    MPI_Bcast(&unexpected, 1, MPI_UINT64_T, 0, b.grid);
    if (b.rank == 0 && o->borders == NONE)
        printf(
            "%s at the borders between ranks: nothing was promised there with --borders none (halo and pin "
            "keep "
            "everything)\n",
            violations ? "critical points were lost or changed" : "no critical point happens to be lost");
    else if (b.rank == 0)
        puts(unexpected ? "failed: the guarantee does not hold" : "everything holds");
    if (b.rank == 0)
        MPI_File_delete(o->file, MPI_INFO_NULL);
    free_block(&b);
    free_block(&back);
    return unexpected != 0;
}

static options parse(int argc, char **argv, const char **command)
{
    options o = {
        "mpi_blocks.fz", NULL, NULL, 301, 211, 1, FACTZ_DTYPE_F32, FACTZ_MODE_BLOCK_WISE, 1e-2, HALO, 0};
    const char *positional[6];
    int k, n = 0;
    for (k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--device") == 0) {
#ifndef WITH_CUDA
            stop("--device", "compile this program with -DWITH_CUDA and link cudart");
#endif
            o.device = 1;
        } else if (strcmp(argv[k], "--dtype") == 0 && (!strcmp(value, "f32") || !strcmp(value, "f64"))) {
            o.dtype = strcmp(value, "f32") ? FACTZ_DTYPE_F64 : FACTZ_DTYPE_F32;
            k++;
        } else if (strcmp(argv[k], "--mode") == 0 &&
                   (!strcmp(value, "block") || !strcmp(value, "speculative"))) {
            o.mode = strcmp(value, "block") ? FACTZ_MODE_SPECULATIVE : FACTZ_MODE_BLOCK_WISE;
            k++;
        } else if (strcmp(argv[k], "--dims") == 0 && strtoull(value, NULL, 10) > 0 && strchr(value, 'x') &&
                   strtoull(strchr(value, 'x') + 1, NULL, 10) > 0) {
            o.nx = strtoull(value, NULL, 10);
            o.ny = strtoull(strchr(value, 'x') + 1, NULL, 10);
            k++;
        } else if (strcmp(argv[k], "--planes") == 0 && strtoull(value, NULL, 10) > 0) {
            o.nz = strtoull(value, NULL, 10);
            k++;
        } else if (strcmp(argv[k], "--rel") == 0 && strtod(value, NULL) > 0) {
            o.relative = strtod(value, NULL);
            k++;
        } else if (strcmp(argv[k], "--borders") == 0 &&
                   (!strcmp(value, "halo") || !strcmp(value, "pin") || !strcmp(value, "none"))) {
            o.borders = !strcmp(value, "halo") ? HALO : !strcmp(value, "pin") ? PIN : NONE;
            k++;
        } else if (argv[k][0] == '-' || n == 6) {
            stop(argv[k], "unknown option or value; see the top of mpi_blocks.c");
        } else {
            positional[n++] = argv[k];
        }
    }
    *command = n ? positional[0] : "demonstrate";
    if (n == 6) {
        o.file = positional[1];
        o.u_path = positional[2];
        o.v_path = positional[3];
        o.nx = strtoull(positional[4], NULL, 10);
        o.ny = strtoull(positional[5], NULL, 10);
    } else if (n) {
        stop(*command, "expected: write FILE U V NX NY, or read FILE U V NX NY");
    }
    /* MPI counts the values of a row in int. */
    if (o.nx == 0 || o.ny == 0 || o.nx > INT32_MAX - 2 || o.ny > INT32_MAX - 2)
        stop("NX and NY", "must be between 1 and 2^31 - 3");
    return o;
}

int main(int argc, char **argv)
{
    const char *command;
    options o;
    int result = 0;
    MPI_Init(&argc, &argv);
    o = parse(argc, argv, &command);
    if (!strcmp(command, "write"))
        write_file(&o);
    else if (!strcmp(command, "read"))
        read_file(&o);
    else if (!strcmp(command, "demonstrate"))
        result = demonstrate(&o);
    else
        stop(command, "expected: write FILE U V NX NY, or read FILE U V NX NY");
    MPI_Finalize();
    return result;
}
