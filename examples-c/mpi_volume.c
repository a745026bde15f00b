/*
 * A volume in 3D blocks on MPI ranks: every rank compresses its own block with a halo on up to six sides, all
 * write one file, and any number of ranks reads it back. Every critical point is kept, also between the
 * blocks of two ranks. mpi_blocks.c is the same for fields and stacks of planes.
 *
 *     mpicc -std=c99 mpi_volume.c -lfactz -lm -o mpi_volume
 *
 * A synthetic volume, checked; exit status 0 if all holds:
 *     mpirun -n 8 ./mpi_volume [--dims NXxNYxNZ]
 * Files of raw values, NZ planes of NY rows of NX, x fastest:
 *     mpirun -n 8 ./mpi_volume write FILE u.f32 v.f32 w.f32 --dims NXxNYxNZ
 *     mpirun -n 3 ./mpi_volume read FILE u2.f32 v2.f32 w2.f32 --dims NXxNYxNZ
 * FILE is a file of streams, which the command line and the Python package read as well:
 *     factz info FILE
 *     factz decompress FILE block.npz --step 2
 *
 * Options, first value by default:
 *     --dtype f32|f64
 *     --rel T                      bound as a fraction of the range of the whole volume (1e-2)
 *     --borders halo|pin|none      halo: the library sees the ghost layer of the neighbours' values;
 *                                  pin: without ghost values, the border planes are stored bit for bit;
 *                                  none: critical points are kept inside the blocks only, for comparison
 *
 * The file: the streams, one behind the other, in the order of the ranks, which is that of the blocks: x
 * fastest, then y, then z. A reader finds the streams by their headers (factz_inspect_host: 176 bytes tell
 * shape and length), and their blocks from the order, because blocks fill NX columns, NY rows and NZ planes.
 */
#include <factz.h>

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Axes, slowest first, as MPI orders them; side 2 * axis is the lower one. */
enum { Z, Y, X, AXES };

typedef struct {
    uint64_t first[AXES], n[AXES]; /* the block */
    uint64_t offset, bytes;        /* its stream in the file */
} index_entry;

enum { NUMBERS_OF_ENTRY = sizeof(index_entry) / sizeof(uint64_t) };

/* What becomes of critical points between blocks. */
typedef enum { HALO, PIN, NONE } border_kind;

typedef struct {
    const char *file, *paths[3];
    uint64_t n[AXES]; /* vertices of the domain */
    int32_t dtype;
    double relative;
    border_kind borders;
} options;

/* This rank's part of the domain, in arrays with one ghost layer on all six sides. */
typedef struct {
    MPI_Comm grid;
    int rank, neighbour[2 * AXES]; /* MPI_PROC_NULL at the borders of the domain */
    uint64_t first[AXES], n[AXES];
    size_t element; /* bytes of a value */
    MPI_Datatype value;
    char *components[3]; /* (n[Z] + 2) x (n[Y] + 2) x (n[X] + 2) values */
} block;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "mpi_volume: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(factz_status status, const char *what)
{
    if (status != FACTZ_OK) {
        fprintf(stderr, "mpi_volume: %s\n", factz_last_error());
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

static uint64_t product(const uint64_t n[AXES])
{
    return n[Z] * n[Y] * n[X];
}

static size_t bytes_of(int32_t dtype)
{
    return dtype == FACTZ_DTYPE_F32 ? sizeof(float) : sizeof(double);
}

/* ---------------------------------------------------------------- the domain and its blocks */

/* Part `index` of `parts` of `n` layers; the first parts are one longer where it does not divide. */
static void part_of(uint64_t n, int parts, int index, uint64_t *first, uint64_t *count)
{
    const uint64_t p = (uint64_t)parts, i = (uint64_t)index;
    *first = n / p * i + (i < n % p ? i : n % p);
    *count = n / p + (i < n % p);
}

static block make_block(const options *o)
{
    block b;
    int ranks, axis, k, dimensions[AXES] = {0, 0, 0}, periods[AXES] = {0, 0, 0}, place[AXES];
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, AXES, dimensions);
    MPI_Cart_create(MPI_COMM_WORLD, AXES, dimensions, periods, 0, &b.grid);
    MPI_Comm_rank(b.grid, &b.rank);
    MPI_Cart_coords(b.grid, b.rank, AXES, place);
    for (axis = 0; axis < AXES; axis++) {
        MPI_Cart_shift(b.grid, axis, 1, &b.neighbour[2 * axis], &b.neighbour[2 * axis + 1]);
        if (o->n[axis] < 2 * (uint64_t)dimensions[axis])
            stop("a block has less than 2 vertices along an axis", "use fewer ranks");
        part_of(o->n[axis], dimensions[axis], place[axis], &b.first[axis], &b.n[axis]);
    }
    b.element = bytes_of(o->dtype);
    b.value = o->dtype == FACTZ_DTYPE_F32 ? MPI_FLOAT : MPI_DOUBLE;
    for (k = 0; k < 3; k++)
        b.components[k] = allocate((b.n[Z] + 2) * (b.n[Y] + 2) * (b.n[X] + 2) * b.element);
    return b;
}

static void free_block(block *b)
{
    int k;
    for (k = 0; k < 3; k++)
        free(b->components[k]);
    MPI_Comm_free(&b->grid);
}

/* Vertex (x, y, z) of the block, without its ghosts. */
static char *at(const block *b, int component, uint64_t x, uint64_t y, uint64_t z)
{
    const uint64_t row = (z + 1) * (b->n[Y] + 2) + y + 1;
    return b->components[component] + (row * (b->n[X] + 2) + x + 1) * b->element;
}

/* A layer of the arrays across an axis; layer 0 is the lower ghosts. Along the axes that were exchanged
 * before, the layer includes ghosts: so those of edges and corners arrive as well. */
static MPI_Datatype layer(const block *b, int axis, uint64_t number)
{
    int whole[AXES], part[AXES], start[AXES], k;
    MPI_Datatype type;
    for (k = 0; k < AXES; k++) {
        const int exchanged = k > axis; /* x is the first axis */
        whole[k] = (int)b->n[k] + 2;
        part[k] = k == axis ? 1 : exchanged ? whole[k] : (int)b->n[k];
        start[k] = k == axis ? (int)number : exchanged ? 0 : 1;
    }
    MPI_Type_create_subarray(AXES, whole, part, start, MPI_ORDER_C, b->value, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Fills the ghost layers of a component: 6 faces, 12 edges and 8 corners in 6 messages. */
static void exchange(const block *b, char *values)
{
    int axis, k;
    for (axis = X; axis >= Z; axis--) {
        const uint64_t n = b->n[axis];
        MPI_Datatype layers[4]; /* lower ghosts, first, last, upper ghosts */
        layers[0] = layer(b, axis, 0);
        layers[1] = layer(b, axis, 1);
        layers[2] = layer(b, axis, n);
        layers[3] = layer(b, axis, n + 1);
        MPI_Sendrecv(values, 1, layers[1], b->neighbour[2 * axis], 0, values, 1, layers[3],
            b->neighbour[2 * axis + 1], 0, b->grid, MPI_STATUS_IGNORE);
        MPI_Sendrecv(values, 1, layers[2], b->neighbour[2 * axis + 1], 1, values, 1, layers[0],
            b->neighbour[2 * axis], 1, b->grid, MPI_STATUS_IGNORE);
        for (k = 0; k < 4; k++)
            MPI_Type_free(&layers[k]);
    }
}

/* Byte of a raw file that holds vertex (first[X], first[Y] + y, first[Z] + z). */
static MPI_Offset row_in_file(
    const options *o, const uint64_t first[AXES], uint64_t y, uint64_t z, size_t element)
{
    const uint64_t row = (first[Z] + z) * o->n[Y] + first[Y] + y;
    return (MPI_Offset)((row * o->n[X] + first[X]) * element);
}

/* Reads this rank's part of a raw file, row by row. */
static void read_raw(const block *b, const options *o, int component)
{
    const char *path = o->paths[component];
    uint64_t y, z;
    MPI_Offset found;
    MPI_File file;
    check_file(MPI_File_open(b->grid, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), path);
    check_file(MPI_File_get_size(file, &found), path);
    if ((uint64_t)found != product(o->n) * b->element)
        stop(path, "the file has another size than --dims and --dtype say");
    for (z = 0; z < b->n[Z]; z++)
        for (y = 0; y < b->n[Y]; y++)
            check_file(MPI_File_read_at(file, row_in_file(o, b->first, y, z, b->element),
                           at(b, component, 0, y, z), (int)b->n[X], b->value, MPI_STATUS_IGNORE),
                path);
    check_file(MPI_File_close(&file), path);
}

/* ---------------------------------------------------------------- compression */

/* The configuration of this rank's block, without halo and pin. */
static factz_config configure(const block *b, int32_t bound_kind, double bound)
{
    factz_config config;
    check(factz_config_init_volume(&config, b->n[X], b->n[Y], b->n[Z], bound_kind, bound),
        "factz_config_init_volume");
    config.dtype = b->element == sizeof(float) ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;
    config.u_pitch = config.v_pitch = config.w_pitch = b->n[X] + 2;
    config.plane_rows = b->n[Y] + 2;
    return config;
}

/* The absolute bound that a fraction of the range of the whole volume comes to. A rank's own range would give
 * every block another bound. */
static double absolute_bound(const block *b, double relative)
{
    const factz_config config = configure(b, FACTZ_BOUND_RELATIVE, relative);
    factz_range range;
    double low, high;
    check(factz_range_volume_host(
              at(b, 0, 0, 0, 0), at(b, 1, 0, 0, 0), at(b, 2, 0, 0, 0), product(b->n), &config, &range, 1),
        "factz_range_volume_host");
    MPI_Allreduce(&range.low, &low, 1, MPI_DOUBLE, MPI_MIN, b->grid);
    MPI_Allreduce(&range.high, &high, 1, MPI_DOUBLE, MPI_MAX, b->grid);
    return factz_relative_bound(relative, low, high);
}

static uint32_t sides_with_neighbours(const block *b)
{
    const uint32_t sides[2 * AXES] = {FACTZ_SIDE_Z_MIN, FACTZ_SIDE_Z_MAX, FACTZ_SIDE_Y_MIN, FACTZ_SIDE_Y_MAX,
        FACTZ_SIDE_X_MIN, FACTZ_SIDE_X_MAX};
    uint32_t found = 0;
    int k;
    for (k = 0; k < 2 * AXES; k++)
        if (b->neighbour[k] != MPI_PROC_NULL)
            found |= sides[k];
    return found;
}

/* Compresses this rank's block. Returns the stream, to be freed. */
static void *compress(const block *b, const options *o, double bound, factz_report *report)
{
    factz_config config = configure(b, FACTZ_BOUND_ABSOLUTE, bound);
    uint64_t most;
    void *stream;
    config.halo = o->borders == HALO ? sides_with_neighbours(b) : 0;
    config.pin = o->borders == PIN ? sides_with_neighbours(b) : 0;
    check(factz_volume_stream_bytes(&config, &most), "factz_volume_stream_bytes");
    stream = allocate(most);
    check(factz_compress_volume_host(at(b, 0, 0, 0, 0), at(b, 1, 0, 0, 0), at(b, 2, 0, 0, 0), product(b->n),
              &config, stream, most, report, 1),
        "factz_compress_volume_host");
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
    check_file(MPI_File_write_at(file, (MPI_Offset)before, stream, count_of(report.stream_bytes), MPI_BYTE,
                   MPI_STATUS_IGNORE),
        o->file);
    check_file(MPI_File_close(&file), o->file);

    MPI_Reduce(&report.stream_bytes, &total, 1, MPI_UINT64_T, MPI_SUM, 0, b->grid);
    if (b->rank == 0)
        printf("wrote %d blocks, %llu bytes, ratio %.1f, bound %.3g\n", ranks, (unsigned long long)total,
            3.0 * (double)(product(o->n) * b->element) / (double)total, bound);
    free(stream);
}

/* ---------------------------------------------------------------- decompression */

static void stop_at(const options *o, uint64_t number, uint64_t byte, const char *why)
{
    fprintf(stderr, "mpi_volume: %s: stream %llu, from byte %llu: %s\n", o->file, (unsigned long long)number,
        (unsigned long long)byte, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Reads the header of the stream that begins at a byte. */
static factz_info header_at(MPI_File file, const options *o, uint64_t number, uint64_t byte, uint64_t end)
{
    unsigned char header[FACTZ_VOLUME_INSPECT_BYTES];
    factz_info info;
    if (end - byte < sizeof header)
        stop_at(o, number, byte, "a stream is cut off");
    check_file(MPI_File_read_at(file, (MPI_Offset)byte, header, sizeof header, MPI_BYTE, MPI_STATUS_IGNORE),
        o->file);
    if (factz_inspect_host(header, sizeof header, &info) != FACTZ_OK)
        stop_at(o, number, byte, factz_last_error());
    if (info.component != FACTZ_COMPONENT_VOLUME)
        stop_at(o, number, byte, "the stream is none of a volume");
    if (info.stream_bytes > end - byte)
        stop_at(o, number, byte, "a stream is cut off");
    return info;
}

/* The streams of a file with their blocks, to be freed. Sets the type of the values. */
static index_entry *find_blocks(MPI_File file, options *o, uint64_t *count)
{
    const char *other_shape = "the blocks are not those of a domain of --dims NXxNYxNZ";
    index_entry *index = NULL;
    uint64_t byte = 0, number = 0, first[AXES] = {0, 0, 0}, height = 0, depth = 0;
    MPI_Offset end;
    check_file(MPI_File_get_size(file, &end), o->file);
    while (byte < (uint64_t)end) {
        const factz_info info = header_at(file, o, number, byte, (uint64_t)end);
        const index_entry entry = {
            {first[Z], first[Y], first[X]}, {info.nz, info.ny, info.nx}, byte, info.stream_bytes};
        if (number == 0)
            o->dtype = info.dtype;
        /* Blocks of a row have one height, and rows of blocks up to the last row of the domain one depth. */
        if (first[X] == 0)
            height = info.ny;
        if (first[X] == 0 && first[Y] == 0)
            depth = info.nz;
        if (info.ny != height || info.nz != depth || info.nx > o->n[X] - first[X] ||
            info.ny > o->n[Y] - first[Y] || info.nz > o->n[Z] - first[Z] || info.dtype != o->dtype)
            stop_at(o, number, byte, other_shape);
        index = realloc(index, (number + 1) * sizeof *index);
        if (index == NULL)
            stop("realloc", "out of memory");
        index[number++] = entry;
        byte += info.stream_bytes;
        first[X] = (first[X] + info.nx) % o->n[X];
        if (first[X] == 0)
            first[Y] = (first[Y] + height) % o->n[Y];
        if (first[X] == 0 && first[Y] == 0)
            first[Z] += depth;
    }
    if (first[X] != 0 || first[Y] != 0 || first[Z] != o->n[Z])
        stop_at(o, number, byte, other_shape);
    *count = number;
    return index;
}

/* Reads a stream of a file, to be freed. */
static void *read_stream(MPI_File file, const options *o, const index_entry *e)
{
    void *stream = allocate(e->bytes);
    check_file(MPI_File_read_at(
                   file, (MPI_Offset)e->offset, stream, count_of(e->bytes), MPI_BYTE, MPI_STATUS_IGNORE),
        o->file);
    return stream;
}

/* Decompresses a block into arrays whose rows have `pitch` values and whose planes have `rows` rows. */
static void decompress(const options *o, const index_entry *e, const void *stream, char *const first[3],
    uint64_t pitch, uint64_t rows)
{
    factz_config config;
    factz_report report;
    check(factz_config_init_volume(&config, e->n[X], e->n[Y], e->n[Z], FACTZ_BOUND_ABSOLUTE, 0),
        "factz_config_init_volume");
    config.dtype = o->dtype;
    config.u_pitch = config.v_pitch = config.w_pitch = pitch;
    config.plane_rows = rows;
    check(factz_decompress_volume_host(
              stream, e->bytes, &config, first[0], first[1], first[2], product(e->n), &report, 1),
        "factz_decompress_volume_host");
}

/* Writes the values of a block, without gaps, to its rows in a raw file. */
static void write_raw(MPI_File file, const options *o, const char *path, const index_entry *e, char *values)
{
    const size_t element = bytes_of(o->dtype), row = (size_t)e->n[X] * element;
    uint64_t y, z;
    for (z = 0; z < e->n[Z]; z++)
        for (y = 0; y < e->n[Y]; y++)
            check_file(MPI_File_write_at(file, row_in_file(o, e->first, y, z, element),
                           values + (z * e->n[Y] + y) * row, count_of(row), MPI_BYTE, MPI_STATUS_IGNORE),
                path);
}

/* ---------------------------------------------------------------- the programs */

static void write_file(const options *o)
{
    block b = make_block(o);
    int k;
    for (k = 0; k < 3; k++) {
        read_raw(&b, o, k);
        if (o->borders == HALO)
            exchange(&b, b.components[k]);
    }
    write_blocks(&b, o, absolute_bound(&b, o->relative));
    free_block(&b);
}

/* One rank reads the headers; then the ranks take turns with the streams. */
static void read_file(options *o)
{
    index_entry *index = NULL;
    uint64_t count = 0, number;
    int rank, ranks, k;
    MPI_File file, outputs[3];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    check_file(MPI_File_open(MPI_COMM_WORLD, o->file, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), o->file);
    if (rank == 0)
        index = find_blocks(file, o, &count);
    MPI_Bcast(&count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    MPI_Bcast(&o->dtype, 1, MPI_INT32_T, 0, MPI_COMM_WORLD);
    if (rank != 0)
        index = allocate(count * sizeof *index);
    MPI_Bcast(index, count_of(count * NUMBERS_OF_ENTRY), MPI_UINT64_T, 0, MPI_COMM_WORLD);
    for (k = 0; k < 3; k++)
        check_file(MPI_File_open(MPI_COMM_WORLD, o->paths[k], MPI_MODE_CREATE | MPI_MODE_WRONLY,
                       MPI_INFO_NULL, &outputs[k]),
            o->paths[k]);
    for (number = (uint64_t)rank; number < count; number += (uint64_t)ranks) {
        const index_entry *e = &index[number];
        void *stream = read_stream(file, o, e);
        char *values[3];
        for (k = 0; k < 3; k++)
            values[k] = allocate((size_t)product(e->n) * bytes_of(o->dtype));
        decompress(o, e, stream, values, e->n[X], e->n[Y]);
        for (k = 0; k < 3; k++) {
            write_raw(outputs[k], o, o->paths[k], e, values[k]);
            free(values[k]);
        }
        free(stream);
    }
    for (k = 0; k < 3; k++)
        check_file(MPI_File_close(&outputs[k]), o->paths[k]);
    check_file(MPI_File_close(&file), o->file);
    free(index);
}

/* Waves across each other, so that critical points lie everywhere. */
static double made_velocity(int component, uint64_t x, uint64_t y, uint64_t z)
{
    static const double waves[3][3] = {{0.31, 0.40, 0.21}, {0.43, -0.27, 0.33}, {-0.51, 0.37, 0.49}};
    const double *k = waves[component], *l = waves[(component + 1) % 3];
    const double a = k[0] * (double)x + k[1] * (double)y + k[2] * (double)z;
    const double b = l[0] * (double)y + l[1] * (double)z + l[2] * (double)x;
    return sin(a) + 0.6 * cos(b + 0.3 * component);
}

/* A value of the made volume, in the element type of the arrays. */
static void make_value(char *to, size_t element, int component, uint64_t x, uint64_t y, uint64_t z)
{
    const double value = made_velocity(component, x, y, z);
    if (element == sizeof(float))
        *(float *)to = (float)value;
    else
        *(double *)to = value;
}

static void make_volume(const block *b)
{
    uint64_t x, y, z;
    int k;
    for (k = 0; k < 3; k++)
        for (z = 0; z < b->n[Z]; z++)
            for (y = 0; y < b->n[Y]; y++)
                for (x = 0; x < b->n[X]; x++)
                    make_value(
                        at(b, k, x, y, z), b->element, k, b->first[X] + x, b->first[Y] + y, b->first[Z] + z);
}

/* Joins all blocks of the file on one rank and compares them with the whole made volume, across all borders.
 * Returns the violations. */
static uint64_t check_whole(options *o, double bound)
{
    const size_t vertices = (size_t)product(o->n), element = bytes_of(o->dtype);
    char *before[3], *after[3];
    uint64_t count, number, x, y, z;
    index_entry *index;
    factz_config config;
    factz_volume_comparison c;
    MPI_File file;
    int k;
    for (k = 0; k < 3; k++) {
        char *to = before[k] = allocate(vertices * element);
        after[k] = allocate(vertices * element);
        for (z = 0; z < o->n[Z]; z++)
            for (y = 0; y < o->n[Y]; y++)
                for (x = 0; x < o->n[X]; x++, to += element)
                    make_value(to, element, k, x, y, z);
    }
    check_file(MPI_File_open(MPI_COMM_SELF, o->file, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), o->file);
    index = find_blocks(file, o, &count);
    for (number = 0; number < count; number++) {
        const index_entry *e = &index[number];
        void *stream = read_stream(file, o, e);
        char *first[3];
        for (k = 0; k < 3; k++)
            first[k] = after[k] + row_in_file(o, e->first, 0, 0, element);
        decompress(o, e, stream, first, o->n[X], o->n[Y]);
        free(stream);
    }
    check_file(MPI_File_close(&file), o->file);
    check(factz_config_init_volume(&config, o->n[X], o->n[Y], o->n[Z], FACTZ_BOUND_ABSOLUTE, bound),
        "factz_config_init_volume");
    config.dtype = o->dtype;
    check(factz_compare_volume_host(
              before[0], before[1], before[2], vertices, &config, after[0], after[1], after[2], NULL, &c, 1),
        "factz_compare_volume_host");
    printf("read back: %llu critical points, %llu lost, %llu new, %llu of another type, largest error %.3g\n",
        (unsigned long long)c.critical_points, (unsigned long long)c.lost_points,
        (unsigned long long)c.spurious_points, (unsigned long long)c.changed_types, c.max_error);
    if (c.critical_points == 0)
        stop("the volume has no critical points", "nothing was shown");
    for (k = 0; k < 3; k++) {
        free(before[k]);
        free(after[k]);
    }
    free(index);
    return c.violations;
}

/* Writes a made volume, reads it back and compares. */
static int demonstrate(options *o)
{
    block b = make_block(o);
    uint64_t violations = 0;
    double bound;
    int k;
    make_volume(&b);
    if (o->borders == HALO)
        for (k = 0; k < 3; k++)
            exchange(&b, b.components[k]);
    bound = absolute_bound(&b, o->relative);
    write_blocks(&b, o, bound);
    /* What other ranks wrote may be read after close, barrier, open (MPI: sync, barrier, sync), and not
     * before. */
    MPI_Barrier(b.grid);
    if (b.rank == 0) {
        violations = check_whole(o, bound);
        if (o->borders == NONE)
            printf(
                "%s at the borders between ranks: nothing was promised there with --borders none (halo "
                "and pin keep everything)\n",
                violations ? "critical points were lost or changed" : "no critical point happens to be lost");
        else
            puts(violations ? "failed: the guarantee does not hold" : "everything holds");
        MPI_File_delete(o->file, MPI_INFO_NULL);
    }
    MPI_Bcast(&violations, 1, MPI_UINT64_T, 0, b.grid);
    free_block(&b);
    return o->borders != NONE && violations != 0;
}

/* Three lengths of two vertices or more, which MPI counts in int. */
static int take_dims(const char *text, uint64_t n[AXES])
{
    int axis;
    for (axis = X; axis >= Z; axis--) {
        char *end;
        n[axis] = strtoull(text, &end, 10);
        if (n[axis] < 2 || n[axis] > INT32_MAX - 2 || *end != (axis == Z ? '\0' : 'x'))
            return 0;
        text = end + 1;
    }
    return 1;
}

static options parse(int argc, char **argv, const char **command)
{
    options o = {"mpi_volume.fz", {NULL, NULL, NULL}, {38, 43, 45}, FACTZ_DTYPE_F32, 1e-2, HALO};
    const char *positional[5];
    int k, n = 0;
    for (k = 1; k < argc; k++) {
        const char *value = k + 1 < argc ? argv[k + 1] : "";
        if (strcmp(argv[k], "--dtype") == 0 && (!strcmp(value, "f32") || !strcmp(value, "f64"))) {
            o.dtype = strcmp(value, "f32") ? FACTZ_DTYPE_F64 : FACTZ_DTYPE_F32;
            k++;
        } else if (strcmp(argv[k], "--dims") == 0 && take_dims(value, o.n)) {
            k++;
        } else if (strcmp(argv[k], "--rel") == 0 && strtod(value, NULL) > 0) {
            o.relative = strtod(value, NULL);
            k++;
        } else if (strcmp(argv[k], "--borders") == 0 &&
                   (!strcmp(value, "halo") || !strcmp(value, "pin") || !strcmp(value, "none"))) {
            o.borders = !strcmp(value, "halo") ? HALO : !strcmp(value, "pin") ? PIN : NONE;
            k++;
        } else if (argv[k][0] == '-' || n == 5) {
            stop(argv[k], "unknown option or value; see the top of mpi_volume.c");
        } else {
            positional[n++] = argv[k];
        }
    }
    *command = n ? positional[0] : "demonstrate";
    if (n != 0 && n != 5)
        stop(*command, "expected: write FILE U V W --dims NXxNYxNZ, or read FILE U V W --dims NXxNYxNZ");
    if (n == 5) {
        o.file = positional[1];
        for (k = 0; k < 3; k++)
            o.paths[k] = positional[2 + k];
    }
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
        stop(command, "expected: write FILE U V W --dims NXxNYxNZ, or read FILE U V W --dims NXxNYxNZ");
    MPI_Finalize();
    return result;
}
