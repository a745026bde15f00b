/*
 * A field for the examples: rows of drifting vortices. The values are exact, so that every program can make
 * them again.
 */
#ifndef VORTICES_H
#define VORTICES_H

#include <stdint.h>

/* A wave of parabolas with the period 128, from -1024 to 1024. */
static int64_t wave(uint64_t phase)
{
    const int64_t place = (int64_t)(phase % 64), height = place * (64 - place);
    return phase / 64 % 2 ? -height : height;
}

/* Rows first_row to first_row + rows - 1 of the field of a step, with nx vertices each. */
static void vortices(uint64_t nx, uint64_t first_row, uint64_t rows, uint64_t step, float *u, float *v)
{
    uint64_t x, y, i = 0;
    for (y = first_row; y < first_row + rows; y++)
        for (x = 0; x < nx; x++, i++) {
            const uint64_t a = 5 * x + 3 * y + 2 * step, b = 7 * y + 2 * x;
            u[i] = (float)(wave(a) * wave(b + 32) + 40000) / 1048576.0f;
            v[i] = (float)(30001 - wave(a + 32) * wave(b)) / 1048576.0f;
        }
}

#endif
