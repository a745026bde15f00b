/*
 * A program linked to libhdf5.so that names variables of the library, so that it has copies of them: types,
 * and classes of errors. It creates datasets, writes into one that is there, is told why one is refused, and
 * writes a field in slabs that the chunk cache cannot hold. C and C++.
 */
#include <factz.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILTER 411
#define BOUND 0.05

enum { NX = 600, NY = 600, N = NX * NY, SLAB = 20 };

static float values[2 * N], back[2 * N];
/* Whether the reason of the last refusal was on the error stack. */
static int told;

static void expect(int good, const char *what)
{
    if (!good) {
        puts(what);
        exit(1);
    }
}

static void make_field(void)
{
    int x, y;
    for (y = 0; y < NY; y++) {
        for (x = 0; x < NX; x++) {
            const float a = (float)x, b = (float)y;
            values[y * NX + x] = sinf(.05f * a) * cosf(.06f * b) + .2f * sinf(.31f * a + .23f * b);
            values[N + y * NX + x] = -cosf(.05f * a) * sinf(.06f * b) + .2f * cosf(.27f * a - .29f * b);
        }
    }
}

static herr_t look_at_error(unsigned n, const H5E_error2_t *error, void *reason)
{
    (void)n;
    told |= error->cls_id != H5E_ERR_CLS && strstr(error->desc, (const char *)reason) != NULL;
    return 0;
}

/* A dataset of one chunk, negative where HDF5 refuses it. */
static hid_t create(hid_t file, const char *name, hid_t type, int axes)
{
    const hsize_t sizes[3] = {2, NY, NX};
    const hsize_t *shape = sizes + (3 - axes);
    factz_config config;
    unsigned words[FACTZ_CONFIG_WORDS];
    hid_t space = H5Screate_simple(axes, shape, NULL), creation = H5Pcreate(H5P_DATASET_CREATE), dataset;
    factz_config_init(&config, NX, NY, FACTZ_BOUND_ABSOLUTE, BOUND);
    factz_config_to_words(&config, words, FACTZ_CONFIG_WORDS);
    H5Pset_chunk(creation, axes, shape);
    H5Pset_filter(creation, FILTER, H5Z_FLAG_MANDATORY, FACTZ_CONFIG_WORDS, words);
    dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    told = 0;
    if (dataset < 0)
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_at_error,
            (void *)(axes < 3 ? "u and v together" : "integers"));
    H5Pclose(creation);
    H5Sclose(space);
    return dataset;
}

static void check(hid_t dataset, const char *name)
{
    factz_config config;
    factz_comparison c;
    factz_config_init(&config, NX, NY, FACTZ_BOUND_ABSOLUTE, BOUND);
    expect(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0, name);
    expect(factz_compare_host(values, values + N, N, &config, back, back + N, NULL, &c, 1) == FACTZ_OK, name);
    printf("%s: %llu points, %llu violations, %.3f bounds, %llu bytes\n", name,
        (unsigned long long)c.critical_points, (unsigned long long)c.violations, c.max_error / BOUND,
        (unsigned long long)H5Dget_storage_size(dataset));
    expect(c.violations == 0 && c.critical_points > 100, name);
    expect(H5Dget_storage_size(dataset) < sizeof values / 3, name);
}

static void write_all(hid_t file, const char *name, hid_t type)
{
    hid_t dataset = create(file, name, type, 3);
    expect(dataset >= 0, name);
    expect(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, name);
    check(dataset, name);
    H5Dclose(dataset);
}

static void write_slabs(hid_t file, const char *name)
{
    const hsize_t count[3] = {1, SLAB, NX};
    hid_t dataset = create(file, name, H5T_IEEE_F32LE, 3), memory = H5Screate_simple(3, count, NULL);
    hid_t place = H5Dget_space(dataset);
    int c, y;
    for (c = 0; c < 2; c++) {
        for (y = 0; y < NY; y += SLAB) {
            const hsize_t start[3] = {(hsize_t)c, (hsize_t)y, 0};
            H5Sselect_hyperslab(place, H5S_SELECT_SET, start, NULL, count, NULL);
            expect(
                H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, place, H5P_DEFAULT, values + c * N + y * NX) >= 0,
                name);
        }
    }
    check(dataset, name);
    H5Sclose(place);
    H5Sclose(memory);
    H5Dclose(dataset);
}

int main(void)
{
    hid_t file, dataset;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    expect(H5Zfilter_avail(FILTER) > 0, "the filter is not there");
    make_field();
    file = H5Fcreate("shared.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    write_all(file, "f32le", H5T_IEEE_F32LE);
    write_all(file, "f32be", H5T_IEEE_F32BE);
    write_all(file, "f64le", H5T_IEEE_F64LE);
    write_all(file, "f64be", H5T_IEEE_F64BE);
    write_all(file, "native", H5T_NATIVE_FLOAT);
    write_slabs(file, "slabs");
    expect(create(file, "u", H5T_IEEE_F32LE, 2) < 0, "one component is accepted");
    expect(told, "the reason is not on the error stack");
    expect(create(file, "integers", H5T_STD_I32LE, 3) < 0, "integers are accepted");
    expect(told, "the reason is not on the error stack");
    H5Fclose(file);

    file = H5Fopen("shared.h5", H5F_ACC_RDWR, H5P_DEFAULT);
    dataset = H5Dopen2(file, "f32le", H5P_DEFAULT);
    values[5 * NX + 5] += 1;
    expect(
        H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0, "an open dataset");
    check(dataset, "written again");
    H5Dclose(dataset);
    expect(H5Fclose(file) >= 0, "H5Fclose");
    puts("everything holds");
    return 0;
}
