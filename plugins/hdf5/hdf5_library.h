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
    size_t (*get_size)(hid_t type);
    int (*get_order)(hid_t type);
    size_t (*get_precision)(hid_t type);
    herr_t (*get_fields)(hid_t type, size_t *sign, size_t *exponent, size_t *exponent_bits, size_t *mantissa,
        size_t *mantissa_bits);
    size_t (*get_exponent_bias)(hid_t type);
    int (*get_norm)(hid_t type);
    int (*get_rank)(hid_t space);
    int (*get_extent)(hid_t space, hsize_t *sizes, hsize_t *largest);
    int (*get_id_type)(hid_t id);
    /* NULL before HDF5 1.12. Calls `each` for all open identifiers of a type, until it returns another
     * number than 0. */
    herr_t (*iterate)(int type, herr_t (*each)(hid_t id, void *data), void *data);
};

/*
 * Finds the library that `caller` belongs to. Only functions are looked up: of a variable of the library the
 * program may have a copy, the only one that is ever set (copy relocation). False where its functions cannot
 * be looked up: HDF5 is part of a program that does not export them (linked statically, without -rdynamic).
 * Otherwise hdf5_close() follows.
 */
bool hdf5_open(struct hdf5_library *library, const void *caller);
void hdf5_close(struct hdf5_library *library);

/* Task of the plugin when it failed. */
enum hdf5_action { HDF5_CREATE_DATASET, HDF5_FILTER_CHUNK };

/* Puts a message into the log, and on the error stack of the library of `caller` where that can be found. */
void hdf5_error(const void *caller, enum hdf5_action action, const char *message);

#endif
