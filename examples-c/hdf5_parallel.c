/*
 * Parallel HDF5: all ranks write one compressed dataset together. HDF5 hands each chunk to one rank, whose
 * filter compresses it; the dataset keeps every critical point, also between chunks and ranks.
 *
 *     h5pcc -std=c99 hdf5_parallel.c -lfactz -lm -o hdf5_parallel
 *     HDF5_PLUGIN_PATH=FOLDER mpirun -n 4 ./hdf5_parallel FILE [--dims NXxNY] [--chunk NXxNY]
 *
 * FOLDER has libh5zfactz.so (plugins/hdf5). Ranks own blocks of rows of the dataset uv, (2, ny, nx) values.
 * Blocks and chunks need not match, but writing is faster if they do: HDF5 sends the parts of a chunk to the
 * rank that compresses it.
 *
 * Rules of filters in parallel HDF5:
 *   - H5Dwrite must be collective (H5Pset_dxpl_mpio): HDF5 refuses an independent one.
 *   - Ranks must never write chunks with H5Dwrite_chunk on their own. HDF5 does not refuse it, each rank
 * finds another place for a chunk of another length, and the file is corrupt. Streams that ranks have made
 * themselves, for instance on their GPUs, go to one rank that writes all of them (hdf5_chunks.c), to a file
 * for each rank, to a file of MPI-IO (mpi_blocks.c), or to ADIOS2 (plugins/adios2).
 *
 * Exit status 0 when the first rank reads the file back within the bound with every critical point.
 */
#include "hdf5_filter.h"
#include "numbers.h"
#include "vortices.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double BOUND = 1e-2;

typedef struct {
    const char *path;
    uint64_t nx, ny, chunk_nx, chunk_ny;
} options;

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "hdf5_parallel: %s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(factz_status status, const char *what)
{
    if (status != FACTZ_OK) {
        fprintf(stderr, "hdf5_parallel: %s\n", factz_last_error());
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

static float *allocate(uint64_t values)
{
    float *memory = malloc((size_t)(values ? values : 1) * sizeof *memory);
    if (memory == NULL)
        stop("malloc", "out of memory");
    return memory;
}

/* ---------------------------------------------------------------- the file */

static void configure(const options *o, factz_config *config)
{
    check(factz_config_init(config, o->nx, o->ny, FACTZ_BOUND_ABSOLUTE, BOUND), "factz_config_init");
    config->mode = FACTZ_MODE_SPECULATIVE;
}

static hid_t create_dataset(hid_t file, const options *o)
{
    const hsize_t shape[3] = {2, o->ny, o->nx}, chunk[3] = {2, o->chunk_ny, o->chunk_nx};
    hid_t space = check_hdf5(H5Screate_simple(3, shape, NULL), "H5Screate_simple");
    hid_t creation = check_hdf5(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"), dataset;
    factz_config config;
    configure(o, &config);
    check_hdf5(H5Pset_chunk(creation, 3, chunk), "H5Pset_chunk");
    check_hdf5(
        set_factz_filter(creation, &config, o->chunk_nx, o->chunk_ny, H5Z_FLAG_MANDATORY), "H5Pset_filter");
    /* Otherwise HDF5 writes chunks of fill values first. */
    check_hdf5(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER), "H5Pset_fill_time");
    dataset = check_hdf5(
        H5Dcreate2(file, "uv", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT), "H5Dcreate2");
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

/* Every rank takes part, also one without rows. */
static void write_file(const options *o)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const uint64_t first = o->ny * (uint64_t)rank / (uint64_t)ranks;
    const uint64_t rows = o->ny * ((uint64_t)rank + 1) / (uint64_t)ranks - first;
    const hsize_t start[3] = {0, first, 0}, count[3] = {2, rows, o->nx};
    float *block = allocate(2 * rows * o->nx);
    hid_t access = check_hdf5(H5Pcreate(H5P_FILE_ACCESS), "H5Pcreate"), file, dataset, memory, place,
          transfer;
    check_hdf5(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL), "H5Pset_fapl_mpio");
    file = check_hdf5(H5Fcreate(o->path, H5F_ACC_TRUNC, H5P_DEFAULT, access), o->path);
    dataset = create_dataset(file, o);
    memory = check_hdf5(H5Screate_simple(3, count, NULL), "H5Screate_simple");
    place = check_hdf5(H5Dget_space(dataset), "H5Dget_space");
    check_hdf5(H5Sselect_hyperslab(place, H5S_SELECT_SET, start, NULL, count, NULL), "H5Sselect_hyperslab");
    transfer = check_hdf5(H5Pcreate(H5P_DATASET_XFER), "H5Pcreate");
    check_hdf5(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "H5Pset_dxpl_mpio");

    vortices(o->nx, first, rows, 0, block, block + rows * o->nx);
    check_hdf5(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, place, transfer, block), "H5Dwrite");

    H5Pclose(transfer);
    H5Sclose(place);
    H5Sclose(memory);
    H5Dclose(dataset);
    check_hdf5(H5Fclose(file), o->path);
    H5Pclose(access);
    free(block);
    if (rank == 0)
        printf("%d ranks wrote %lu x %lu vertices\n", ranks, (unsigned long)o->nx, (unsigned long)o->ny);
}

static void read_back(const options *o)
{
    const size_t n = (size_t)(o->nx * o->ny);
    float *before = allocate(2 * n), *after = allocate(2 * n);
    hid_t file = check_hdf5(H5Fopen(o->path, H5F_ACC_RDONLY, H5P_DEFAULT), o->path);
    hid_t dataset = check_hdf5(H5Dopen2(file, "uv", H5P_DEFAULT), "H5Dopen2");
    factz_config config;
    factz_comparison c;
    configure(o, &config);
    vortices(o->nx, 0, o->ny, 0, before, before + o->nx * o->ny);
    check_hdf5(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, after), "H5Dread");
    check(factz_compare_host(before, before + n, n, &config, after, after + n, NULL, &c, 0),
        "factz_compare_host");
    if (c.violations != 0 || c.critical_points == 0)
        stop(o->path, "the bound or a critical point is lost");
    printf("ratio %.1f, all %lu critical points kept\n",
        (double)(2 * n * sizeof(float)) / (double)H5Dget_storage_size(dataset),
        (unsigned long)c.critical_points);
    H5Dclose(dataset);
    H5Fclose(file);
    free(before);
    free(after);
}

/* ---------------------------------------------------------------- the command line */

static options parse(int count, char **arguments)
{
    options o = {NULL, 600, 400, 300, 100};
    int k;
    for (k = 1; k < count; k++) {
        const char *name = arguments[k], *value = k + 1 < count ? arguments[k + 1] : "";
        uint64_t numbers[2];
        const int pair = read_numbers(value, 2, numbers);
        if (strncmp(name, "--", 2) != 0 && o.path == NULL) {
            o.path = name;
            continue;
        }
        if (strcmp(name, "--dims") == 0 && pair) {
            o.nx = numbers[0];
            o.ny = numbers[1];
        } else if (strcmp(name, "--chunk") == 0 && pair) {
            o.chunk_nx = numbers[0];
            o.chunk_ny = numbers[1];
        } else {
            stop(name, "unknown option or value: the top of hdf5_parallel.c lists them");
        }
        k++;
    }
    if (o.path == NULL)
        stop("FILE", "name the file to write");
    return o;
}

int main(int count, char **arguments)
{
    int rank;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const options o = parse(count, arguments);
    if (H5Zfilter_avail(FACTZ_HDF5_FILTER_ID) <= 0)
        stop("the filter", "HDF5_PLUGIN_PATH must name the folder of libh5zfactz.so");
    write_file(&o);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        read_back(&o);
        puts("everything holds");
    }
    MPI_Finalize();
    return 0;
}
