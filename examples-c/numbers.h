/*
 * Numbers on the command lines of the HDF5 examples.
 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdint.h>
#include <stdlib.h>

/* Reads positive numbers below 2^32, with an x between them. False where the text holds anything else. */
static int read_numbers(const char *value, int count, uint64_t *numbers)
{
    int k;
    for (k = 0; k < count; k++) {
        char *end;
        const int digit = *value >= '0' && *value <= '9';
        const unsigned long long number = strtoull(value, &end, 10);
        if (!digit || number < 1 || number > UINT32_MAX || *end != (k + 1 < count ? 'x' : 0))
            return 0;
        numbers[k] = number;
        value = end + 1;
    }
    return 1;
}

#endif
