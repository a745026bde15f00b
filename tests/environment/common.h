/* Shared by the programs of this folder: fields, configurations and a check that names what failed. */
#ifndef COMMON_H
#define COMMON_H

#include <factz.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition, ...)                                               \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                   \
            fprintf(stderr, " (%s)\n", factz_last_error());                 \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

#define OK(call) CHECK((call) == FACTZ_OK, "an error")

/* A field with vortices and saddles and a few zeros: integers * 2^exponent, down to the subnormal numbers. */
static inline int32_t wave(int32_t x, int32_t y, int32_t seed) {
    int32_t a = (x * 37 + y * 11 + seed) % 400 - 200, b = (y * 29 - x * 7 + seed) % 360;
    if (b < 0) b += 360;
    return a * (b - 180);
}

static inline void make_field(float* u, float* v, int nx, int ny, int exponent) {
    for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) {
            size_t k = (size_t)y * (size_t)nx + (size_t)x;
            u[k] = ldexpf((float)wave(x, y, 5), exponent);
            v[k] = ldexpf((float)wave(y, x, 77), exponent);
            if (x % 40 < 6 && y % 50 < 7) u[k] = v[k] = 0.0f;
        }
}

/* The configurations that a program runs through. */
static inline int configure(factz_config* config, int number, int nx, int ny) {
    static const struct {
        int32_t mode, predictor, coder;
    } choices[] = {
        {FACTZ_MODE_BLOCK_WISE, FACTZ_PREDICTOR_HIERARCHICAL, FACTZ_CODER_ANS},
        {FACTZ_MODE_SPECULATIVE, FACTZ_PREDICTOR_HIERARCHICAL, FACTZ_CODER_HUFFMAN},
        {FACTZ_MODE_BLOCK_WISE, FACTZ_PREDICTOR_LORENZO, FACTZ_CODER_ANS},
        {FACTZ_MODE_BLOCK_WISE, FACTZ_PREDICTOR_LORENZO, FACTZ_CODER_HUFFMAN},
    };
    static const double bounds[] = {0.0, 1e-6, 1e-2};
    int choice = number % 4, bound = number / 4;
    if (bound >= 3) return 0;
    OK(factz_config_init(config, (uint64_t)nx, (uint64_t)ny, FACTZ_BOUND_RELATIVE, bounds[bound]));
    config->mode = choices[choice].mode;
    config->predictor = choices[choice].predictor;
    config->coder = choices[choice].coder;
    return 1;
}

#endif
