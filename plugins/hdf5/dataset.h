/*
 * The dataset that a filter is created for: whether its chunks are fields, and which of their sides touch
 * others.
 */
#ifndef FACTZ_HDF5_DATASET_H
#define FACTZ_HDF5_DATASET_H

#include "chunk.h"
#include "hdf5_library.h"

/* The filter of a dataset, as it is stored. */
struct filter {
    /* H5Z_FLAG_* as the user gave them. */
    unsigned flags;
    unsigned words[ALL_WORDS_OF_VOLUME];
    size_t count;
    /* The words of the chunk are those of another dataset, or of a program that cannot let HDF5 ask. */
    bool copied;
    struct factz_config config;
};

/*
 * Whether the filter can do what it promises for chunks of a dataset; if not, with a message of MESSAGE_BYTES
 * at most. The words of the filter are read, and the chunk is described but for its fill value.
 */
bool check_dataset(const struct hdf5_library *h5, hid_t creation, hid_t type, hid_t space,
    struct filter *filter, struct chunk *chunk, char *message);

/*
 * Makes the words of the filter of a new dataset from those that the user gave. HDF5 calls can_apply for
 * datasets that were opened, too, and does not let the filter ask for their fill value.
 */
bool describe_dataset(const struct hdf5_library *h5, hid_t creation, hid_t type, hid_t space,
    struct filter *filter, char *message);

#endif
