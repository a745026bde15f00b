/*
 * The part of the binary interface of HDF5 1.10 and later that a filter plugin needs.
 *
 * The plugin includes no header of HDF5 and is not linked to libhdf5: programs bring their own, for instance
 * h5py, under names of their own.
 */
#ifndef FACTZ_HDF5_ABI_H
#define FACTZ_HDF5_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int64_t hid_t;
typedef int herr_t;
typedef int htri_t;
typedef int H5Z_filter_t;
/* Sizes of axes. */
typedef uint64_t hsize_t;

/* Flag of the filter function: decompress. */
#define H5Z_FILTER_SHUFFLE 2
#define H5Z_FLAG_REVERSE 0x0100u
/* Version of the struct below. */
#define H5Z_CLASS_T_VERS 1

typedef struct H5Z_class2_t {
    int version;
    H5Z_filter_t id;
    unsigned encoder_present;
    unsigned decoder_present;
    const char *name;
    htri_t (*can_apply)(hid_t creation, hid_t type, hid_t space);
    herr_t (*set_local)(hid_t creation, hid_t type, hid_t space);
    size_t (*filter)(unsigned flags, size_t count, const unsigned words[], size_t bytes, size_t *buffer_bytes,
        void **buffer);
} H5Z_class2_t;

/* H5PL_type_t: the plugin is a filter. */
#define H5PL_TYPE_FILTER 0

/* H5T_class_t, H5T_order_t, H5T_norm_t */
#define H5T_FLOAT 1
#define H5T_ORDER_LE 0
#define H5T_ORDER_BE 1
#define H5T_NORM_IMPLIED 0
/* H5E_type_t */
#define H5E_MAJOR 0
#define H5E_MINOR 1
/* Extent of an axis without a limit. */
#define H5S_UNLIMITED UINT64_MAX
/* H5D_fill_value_t */
#define H5D_FILL_VALUE_USER_DEFINED 2

#endif
