/*
 * A program with HDF5 linked statically, whose functions the filter cannot look up: it compresses what
 * cd_values describe, and nothing else. Arguments: the filter number and cd_values with a chunk of 360 x 181
 * f32.
 */
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define NX 360
#define NY 181

static float values[2][NY][NX], back[2][NY][NX];

/* Writes the values into a file of one chunk; false where HDF5 refuses. */
static int store(const char *path, H5Z_filter_t filter, size_t count, const unsigned *words)
{
    const hsize_t sizes[3] = {2, NY, NX};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, sizes, NULL);
    H5Pset_chunk(creation, 3, sizes);
    if (H5Pset_filter(creation, filter, H5Z_FLAG_MANDATORY, count, words) < 0)
        return 0;
    hid_t dataset = H5Dcreate2(file, "uv", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    int good = dataset >= 0 &&
               H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0 &&
               H5Dclose(dataset) >= 0;
    H5Pclose(creation);
    H5Sclose(space);
    return H5Fclose(file) >= 0 && good;
}

int main(int count, char **arguments)
{
    unsigned words[64];
    size_t n = 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    int k;
    for (k = 2; k < count && n < 64; k++)
        words[n++] = (unsigned)strtoul(arguments[k], NULL, 10);
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            values[0][y][x] = sinf(0.1f * (float)x) * cosf(0.13f * (float)y);
            values[1][y][x] = cosf(0.09f * (float)x) + sinf(0.11f * (float)y);
        }
    }
    H5Z_filter_t filter = atoi(arguments[1]);
    if (!store("static.h5", filter, n, words))
        return puts("the chunk that cd_values describe is refused"), 1;
    hid_t file = H5Fopen("static.h5", H5F_ACC_RDONLY, H5P_DEFAULT),
          dataset = H5Dopen2(file, "uv", H5P_DEFAULT);
    if (H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) < 0)
        return puts("the chunk cannot be read"), 1;
    for (size_t k = 0; k < sizeof back / sizeof(float); k++) {
        if (!(fabs((double)(&back[0][0][0])[k] - (&values[0][0][0])[k]) <= 0.01))
            return puts("the bound does not hold"), 1;
    }
    if (H5Dget_storage_size(dataset) * 2 > sizeof values)
        return puts("the chunk is not compressed"), 1;
    /* Without a description, and with one of other chunks. */
    if (store("refused.h5", filter, 24, words))
        return puts("a chunk that nothing describes is accepted"), 1;
    words[29] = NX - 1;
    if (store("refused.h5", filter, n, words))
        return puts("the description of other chunks is accepted"), 1;
    words[29] = NX;
    /* A relative bound, for chunks that are whole fields and for others: nobody checks it before. */
    words[1] = 1;
    if (!store("relative.h5", filter, n, words))
        return puts("a relative bound of whole fields is refused"), 1;
    for (k = 25; k < 27; k++) {
        words[k]++;
        if (store("refused.h5", filter, n, words))
            return puts("a relative bound of a part of a field is accepted"), 1;
        words[k]--;
    }
    puts("everything holds");
    return 0;
}
