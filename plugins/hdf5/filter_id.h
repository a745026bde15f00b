/*
 * The number of the HDF5 filter, in files for ever: plugin and command line take it from here.
 *
 * 256 to 511 are for filters without a registered number. A number of The HDF Group will take its place in
 * the first release; -DFACTZ_HDF5_FILTER_ID=NUMBER (CMake option of the same name) changes it at build time.
 */
#ifndef FACTZ_HDF5_FILTER_ID
#define FACTZ_HDF5_FILTER_ID 411
#endif
