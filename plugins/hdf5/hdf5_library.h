/*
 * The functions of the HDF5 library that called the plugin, looked up at run time.
 */
#ifndef FACTZ_HDF5_LIBRARY_H
#define FACTZ_HDF5_LIBRARY_H

#include <stdbool.h>

#include "hdf5_abi.h"

/* Bytes of a message for the error stack of HDF5, with the terminating zero. */
#define MESSAGE_BYTES 640

/* The address in libhdf5 that a callback returns to: it says which of several HDF5 libraries is calling. */
#define CALLER __builtin_return_address(0)

struct hdf5_library {
    void *handle;
    int (*get_chunk)(hid_t creation, int rank, hsize_t *sizes);
    H5Z_filter_t (*get_filter)(hid_t creation, unsigned index, unsigned *flags, size_t *count,
        unsigned *words, size_t name_bytes, char *name, unsigned *filter_config);
    herr_t (*get_filter_by_id)(hid_t creation, H5Z_filter_t id, unsigned *flags, size_t *count,
        unsigned *words, size_t name_bytes, char *name, unsigned *filter_config);
    herr_t (*modify_filter)(
        hid_t creation, H5Z_filter_t id, unsigned flags, size_t count, const unsigned *words);
    herr_t (*fill_value_defined)(hid_t creation, int *status);
    herr_t (*get_fill_value)(hid_t creation, hid_t type, void *value);
    int (*get_class)(hid_t type);
    htri_t (*equal)(hid_t type, hid_t other);
    int (*get_rank)(hid_t space);
    /* IEEE floats: 32 bits little-endian and big-endian, 64 bits likewise. */
    const hid_t *floats[4];
};

/*
 * Finds the library that `caller` belongs to. False where its functions cannot be looked up: HDF5 is part of
 * a program that does not export them (linked statically, without -rdynamic). Otherwise hdf5_close() follows.
 */
bool hdf5_open(struct hdf5_library *library, const void *caller);
void hdf5_close(struct hdf5_library *library);

/* Task of the plugin when it failed. */
enum hdf5_action { HDF5_CREATE_DATASET, HDF5_FILTER_CHUNK };

/* Puts a message on the error stack of the library of `caller`; none where that cannot be found. */
void hdf5_error(const void *caller, enum hdf5_action action, const char *message);

#endif
