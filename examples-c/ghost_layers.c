/*
 * A domain of two blocks, each with ghost layers, as a domain-decomposed solver has them: compress each block
 * on its own so that the critical points between them are kept as well, in three ways.
 *
 *     cc -std=c99 ghost_layers.c -lfactz -lm -o ghost_layers && ./ghost_layers
 *
 * - halo: one ghost line holds the neighbour's values; nothing else is exchanged, and the cost is small;
 * - pins: there are no ghost values; the border lines are stored bit for bit, which costs bytes;
 * - neither: critical points are lost, for comparison.
 *
 * Exit status 0 when both ways keep everything, and neither does not.
 */
#include <factz.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Block 0 owns columns 0 to CUT - 1 of the domain, block 1 the others; G ghost layers around each. */
enum { NX = 160, NY = 120, CUT = 71, G = 2 };

static const double BOUND = 1e-1;

static void check(factz_status status, const char *what)
{
    if (status != FACTZ_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, factz_status_string(status), factz_last_error());
        exit(1);
    }
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

/* A shear layer along the border of the blocks, rolled up: its vortices and saddles lie in the cells between.
 */
static void velocity(double x, double y, float *u, float *v)
{
    *u = (float)(0.2 * sin(0.7 * y) + 0.1 * sin(0.08 * x) * cos(0.05 * y));
    *v = (float)(0.5 * tanh(0.8 * (x - CUT + 0.5)));
}

/* Compresses one block as its rank would, and decompresses it into its part of the domain. Returns bytes. */
static uint64_t one_block(int block, int use_halo, int use_pins, float *domain_u, float *domain_v)
{
    const long x0 = block == 0 ? 0 : CUT, nx = block == 0 ? CUT : NX - CUT, pitch = nx + 2 * G;
    const size_t elements = (size_t)pitch * (NY + 2 * G);
    const uint32_t neighbour = block == 0 ? FACTZ_SIDE_X_MAX : FACTZ_SIDE_X_MIN;
    float *u = allocate(elements * sizeof *u), *v = allocate(elements * sizeof *v);
    factz_config config;
    factz_sizes sizes;
    factz_report report;
    void *stream;
    long x, y;

    /* The solver's arrays, ghost layers filled by the exchange. Vertex (0, 0) is G rows down, G columns in.
     */
    float *first_u = u + G * pitch + G, *first_v = v + G * pitch + G;
    for (y = -G; y < NY + G; y++)
        for (x = -G; x < nx + G; x++)
            velocity((double)(x0 + x), (double)y, &first_u[y * pitch + x], &first_v[y * pitch + x]);

    check(factz_config_init(&config, (uint64_t)nx, NY, FACTZ_BOUND_ABSOLUTE, BOUND), "factz_config_init");
    config.u_pitch = config.v_pitch = (uint64_t)pitch;
    config.halo = use_halo ? neighbour : 0;
    config.pin = use_pins ? neighbour : 0;
    check(factz_compress_sizes(&config, &sizes), "factz_compress_sizes");
    stream = allocate(sizes.max_stream_bytes);
    check(factz_compress_host(
              first_u, first_v, (size_t)nx * NY, &config, stream, sizes.max_stream_bytes, &report, 1),
        "factz_compress_host");

    /* Into columns x0 and on of the whole domain: another pitch, no ghost layers. */
    config.u_pitch = config.v_pitch = NX;
    config.halo = config.pin = 0;
    {
        factz_report read;
        check(factz_decompress_host(stream, report.stream_bytes, &config, domain_u + x0, domain_v + x0,
                  (size_t)nx * NY, &read, 1),
            "factz_decompress_host");
    }
    free(stream);
    free(u);
    free(v);
    return report.stream_bytes;
}

/* Returns the number of violations in the whole domain. */
static uint64_t whole_domain(const char *name, int use_halo, int use_pins)
{
    const size_t n = (size_t)NX * NY;
    float *u = allocate(n * sizeof *u), *v = allocate(n * sizeof *v);
    float *u2 = allocate(n * sizeof *u2), *v2 = allocate(n * sizeof *v2);
    factz_config config;
    factz_comparison comparison;
    uint64_t bytes;
    size_t x, y;

    for (y = 0; y < NY; y++)
        for (x = 0; x < NX; x++)
            velocity((double)x, (double)y, &u[y * NX + x], &v[y * NX + x]);
    bytes = one_block(0, use_halo, use_pins, u2, v2);
    bytes += one_block(1, use_halo, use_pins, u2, v2);
    check(factz_config_init(&config, NX, NY, FACTZ_BOUND_ABSOLUTE, BOUND), "factz_config_init");
    check(factz_compare_host(u, v, n, &config, u2, v2, NULL, &comparison, 1), "factz_compare_host");
    printf(
        "%-8s %6lu bytes, %lu critical points: %lu lost, %lu new, %lu of another type; largest error %.3g\n",
        name, (unsigned long)bytes, (unsigned long)comparison.critical_points,
        (unsigned long)comparison.lost_points, (unsigned long)comparison.spurious_points,
        (unsigned long)comparison.changed_types, comparison.max_error);
    free(u);
    free(v);
    free(u2);
    free(v2);
    return comparison.violations;
}

int main(void)
{
    const uint64_t halo = whole_domain("halo", 1, 0);
    const uint64_t pins = whole_domain("pins", 0, 1);
    const uint64_t neither = whole_domain("neither", 0, 0);
    if (halo != 0 || pins != 0 || neither == 0) {
        fprintf(stderr, "failed: halo and pins must keep all, and without them the border must matter\n");
        return 1;
    }
    puts("everything holds");
    return 0;
}
