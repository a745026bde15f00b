/*
 * Fingerprints of values that were decompressed in this process, by which they are known again.
 */
#ifndef FACTZ_HDF5_FINGERPRINTS_H
#define FACTZ_HDF5_FINGERPRINTS_H

#include "values.h"

/*
 * Enters the fingerprints of a chunk: of each row and column of a component, and of runs of 8 values in a
 * row: all of a chunk of up to 512 values, one in 128 of a chunk of 32,768 or more. Left out are the lines of
 * the sides `exact` (FACTZ_SIDE_*), and what equals `original`, the same chunk before, NULL where it is
 * unknown. False where there is no memory.
 */
bool fingerprints_add(const struct values *values, const struct values *original, uint32_t exact);

/*
 * Whether a row, a column or four runs of the values are known. Zeros and missing data tell nothing: runs
 * with them do not count, nor lines of a single other value and runs with long repetitions. True where there
 * is no memory to find out.
 */
bool fingerprints_known(const struct values *values);

#endif
