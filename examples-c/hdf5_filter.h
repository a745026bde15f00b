/*
 * The filter of plugins/hdf5 in the creation properties of a dataset, all of its words included. The plugin
 * finds the last of them itself, unless it is not there when the dataset is created, or the program is linked
 * to a static libhdf5 whose functions the plugin cannot call (as h5cc and h5pcc do on Debian without -shlib).
 *
 * A program that opens a dataset and only writes into it calls H5Zfilter_avail(FACTZ_HDF5_FILTER_ID) first:
 * HDF5 loads no filter for writing.
 */
#ifndef HDF5_FILTER_H
#define HDF5_FILTER_H

#include <factz.h>

#include <hdf5.h>
#include <stdint.h>

#ifndef FACTZ_HDF5_FILTER_ID
#define FACTZ_HDF5_FILTER_ID 411
#endif

/*
 * Adds the filter for chunks of chunk_nx * chunk_ny vertices, u before v, little-endian, in config->nz planes
 * (the product of the leading lengths of a chunk), of fields of config->nx * config->ny vertices, in a
 * dataset without a fill value. plugins/hdf5/README.md explains the words. A negative number where factz or
 * HDF5 refuses, and where the words have no place for a size.
 *
 * The filter pins the sides of a chunk where the field is larger. A stream for H5Dwrite_chunk must be made
 * with these sides in config->pin. A relative bound needs chunks that are one whole field.
 */
static herr_t set_factz_filter(
    hid_t creation, const factz_config *config, uint64_t chunk_nx, uint64_t chunk_ny, unsigned flags)
{
    enum { CHUNK_WORDS = 12, WORDS = FACTZ_CONFIG_WORDS + CHUNK_WORDS };
    const unsigned chunk[CHUNK_WORDS] = {
        1, /* the version of these words */
        (unsigned)config->nx, (unsigned)config->ny, (unsigned)config->dtype, 0, /* u before v */
        (unsigned)chunk_nx, (unsigned)chunk_ny, 0,                              /* little-endian */
        0, 0, 0, (unsigned)config->nz,                                          /* the padding is 0 */
    };
    uint32_t choices[FACTZ_CONFIG_WORDS];
    unsigned words[WORDS];
    const int whole = chunk_nx == config->nx && chunk_ny == config->ny && config->nz == 1;
    int k;
    if (config->nx > UINT32_MAX || config->ny > UINT32_MAX || chunk_nx > UINT32_MAX ||
        chunk_ny > UINT32_MAX || config->nz > UINT32_MAX ||
        (config->bound_kind == FACTZ_BOUND_RELATIVE && !whole))
        return -1;
    if (factz_config_to_words(config, choices, FACTZ_CONFIG_WORDS) != FACTZ_OK)
        return -1;
    for (k = 0; k < WORDS; k++)
        words[k] = k < FACTZ_CONFIG_WORDS ? choices[k] : chunk[k - FACTZ_CONFIG_WORDS];
    return H5Pset_filter(creation, FACTZ_HDF5_FILTER_ID, flags, WORDS, words);
}

#endif
