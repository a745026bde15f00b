/*
 * Fingerprints of values that were decompressed in this process, by which they are known again.
 */
#ifndef FACTZ_HDF5_FINGERPRINTS_H
#define FACTZ_HDF5_FINGERPRINTS_H

#include "values.h"

/*
 * Enters the fingerprints of a chunk: of each row and column of a component, and of one in 128 runs of 16
 * values. Left out are the lines of the sides `exact` (FACTZ_SIDE_*), and what equals `original`, the same
 * chunk before, NULL where it is unknown. False where there is no memory.
 */
bool fingerprints_add(const struct values *values, const struct values *original, uint32_t exact);

/*
 * Whether a row, a column or a run of the values is known. Zeros and missing data tell nothing: runs with
 * them, and lines and runs of a single other value, do not count. True where there is no memory to find out.
 */
bool fingerprints_known(const struct values *values);

#endif
