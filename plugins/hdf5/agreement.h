/*
 * Where a chunk agrees with one that was decompressed, and whether chance explains it.
 */
#ifndef FACTZ_HDF5_AGREEMENT_H
#define FACTZ_HDF5_AGREEMENT_H

#include "values.h"

enum agreement {
    /* Chance, or values that are repeated all over. */
    AGREES_BY_CHANCE,
    /* Some values are the decompressed ones; chance would explain a few of them. */
    AGREES_IN_PART,
    /* The values that agree are the decompressed ones, and no others. */
    AGREES_SURELY,
};

/*
 * How the values of a chunk agree with decompressed ones of its shape. Both may have nothing(). `original`
 * has no bytes where the original values are unknown.
 */
enum agreement agreement_of(
    const struct values *values, const struct values *decompressed, const struct values *original);

/* Number of values that are the decompressed ones. */
size_t same_values(const struct values *values, const struct values *decompressed);

#endif
