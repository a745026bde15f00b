/*
 * Compress and decompress fields in the layouts that solvers have, and check what the library promises:
 * the bound, the critical points, inputs and gaps left alone.
 *
 *     cc -std=c99 roundtrip.c -lfactz -lm -o roundtrip && ./roundtrip
 *
 * Exit status 0 when everything holds.
 */
#include <factz.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NX = 150, NY = 97, N = NX * NY, GHOSTS = 2 };

static const double BOUND = 1e-2;

/* Stop with the library's own explanation. */
static void check(factz_status status, const char *what)
{
    if (status != FACTZ_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, factz_status_string(status), factz_last_error());
        exit(1);
    }
}

static void require(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    require(memory != NULL, "out of memory");
    return memory;
}

/* A lattice of vortices, disturbed by waves: saddles and foci. */
static void velocity(double x, double y, double *u, double *v)
{
    *u = sin(0.11 * x) * cos(0.13 * y) + 0.02 * cos(0.031 * x * 1.7 + 0.2);
    *v = -cos(0.11 * x) * sin(0.13 * y) + 0.05 * sin(0.07 * x + 0.05 * y);
}

/* Where the vertices of a field lie: an element is base[offset + y * pitch + x * stride]. */
typedef struct {
    size_t elements;           /* of the whole array that holds u, or u and v */
    size_t u_offset, v_offset; /* of vertex (0, 0); equal offsets mean separate arrays */
    uint64_t pitch, stride;
} layout;

static layout ghosted(void)
{
    layout l;
    l.pitch = NX + 2 * GHOSTS;
    l.stride = 1;
    l.elements = (size_t)l.pitch * (NY + 2 * GHOSTS);
    l.u_offset = l.v_offset = (size_t)l.pitch * GHOSTS + GHOSTS;
    return l;
}

static layout interleaved(void)
{
    layout l;
    l.pitch = 2 * NX + 6;
    l.stride = 2;
    l.elements = (size_t)l.pitch * NY;
    l.u_offset = 0;
    l.v_offset = 1;
    return l;
}

static layout dense(void)
{
    layout l;
    l.pitch = NX;
    l.stride = 1;
    l.elements = N;
    l.u_offset = l.v_offset = 0;
    return l;
}

/* One array for interleaved components, two for separate ones. */
typedef struct {
    layout at;
    double *memory[2];
    double *u, *v;
} field;

static field make_field(layout at, double fill)
{
    field f;
    size_t k;
    f.at = at;
    f.memory[0] = allocate(at.elements * sizeof(double));
    f.memory[1] = at.u_offset == at.v_offset ? allocate(at.elements * sizeof(double)) : NULL;
    for (k = 0; k < at.elements; k++) {
        f.memory[0][k] = fill;
        if (f.memory[1])
            f.memory[1][k] = fill;
    }
    f.u = f.memory[0] + at.u_offset;
    f.v = (f.memory[1] ? f.memory[1] : f.memory[0]) + at.v_offset;
    return f;
}

static void free_field(field f)
{
    free(f.memory[0]);
    free(f.memory[1]);
}

static void use_layout(factz_config *config, layout at)
{
    config->u_pitch = config->v_pitch = at.pitch;
    config->u_stride = config->v_stride = at.stride;
}

/* Every element that is no vertex still holds the value it was made with. */
static int gaps_untouched(field f, double fill)
{
    double *copies[2];
    int a, ok = 1;
    for (a = 0; a < 2; a++) {
        size_t bytes = f.at.elements * sizeof(double);
        copies[a] = NULL;
        if (!f.memory[a])
            continue;
        copies[a] = allocate(bytes);
        memcpy(copies[a], f.memory[a], bytes);
    }
    {
        double *u = copies[0] + f.at.u_offset;
        double *v = (copies[1] ? copies[1] : copies[0]) + f.at.v_offset;
        size_t x, y, k;
        for (y = 0; y < NY; y++)
            for (x = 0; x < NX; x++)
                u[y * f.at.pitch + x * f.at.stride] = v[y * f.at.pitch + x * f.at.stride] = fill;
        for (a = 0; a < 2; a++)
            for (k = 0; copies[a] && k < f.at.elements; k++)
                ok = ok && copies[a][k] == fill;
    }
    free(copies[0]);
    free(copies[1]);
    return ok;
}

/* Compress `from` as config says, decompress to the layout `to`, check, and print a line. */
static void round_trip(const char *name, factz_config config, field from, layout to)
{
    const double fill = -12345.0;
    factz_sizes sizes;
    factz_report report;
    factz_info info;
    factz_config out_config = config;
    factz_comparison comparison;
    field back = make_field(to, fill);
    double *before[2] = {NULL, NULL};
    size_t array_bytes = from.at.elements * sizeof(double), x, y;
    void *stream;
    int a;

    for (a = 0; a < 2; a++) {
        if (from.memory[a]) {
            before[a] = allocate(array_bytes);
            memcpy(before[a], from.memory[a], array_bytes);
        }
    }

    check(factz_compress_sizes(&config, &sizes), "factz_compress_sizes");
    stream = allocate(sizes.max_stream_bytes);
    check(factz_compress_host(from.u, from.v, N, &config, stream, sizes.max_stream_bytes, &report, 2),
        "factz_compress_host");
    require(report.stream_bytes > 0 && report.stream_bytes <= sizes.max_stream_bytes, "length of the stream");

    check(factz_inspect_host(stream, report.stream_bytes, &info), "factz_inspect_host");
    require(info.nx == NX && info.ny == NY && info.dtype == FACTZ_DTYPE_F64 && info.bound == BOUND, "header");

    /* The output has another layout, and the length given is only an upper bound. */
    use_layout(&out_config, to);
    out_config.halo = 0;
    {
        factz_report read;
        check(factz_decompress_host(stream, sizes.max_stream_bytes, &out_config, back.u, back.v, N, &read, 2),
            "factz_decompress_host");
        require(read.stream_bytes == report.stream_bytes, "the stream is self-sized");
    }

    for (a = 0; a < 2; a++)
        require(!from.memory[a] || memcmp(before[a], from.memory[a], array_bytes) == 0, "inputs untouched");
    require(gaps_untouched(back, fill), "gaps untouched");
    for (y = 0; y < NY; y++) {
        for (x = 0; x < NX; x++) {
            size_t i = y * from.at.pitch + x * from.at.stride, j = y * to.pitch + x * to.stride;
            require(
                fabs(back.u[j] - from.u[i]) <= BOUND && fabs(back.v[j] - from.v[i]) <= BOUND, "the bound");
            if ((config.pin & FACTZ_SIDE_Y_MIN && y == 0) || (config.pin & FACTZ_SIDE_X_MIN && x == 0))
                require(back.u[j] == from.u[i] && back.v[j] == from.v[i], "pinned sides are exact");
        }
    }

    /* The output has no ghost vertices: the cells of the block itself are compared. */
    config.halo = 0;
    check(factz_compare_host(from.u, from.v, N, &config, back.u, back.v, &out_config, &comparison, 2),
        "factz_compare_host");
    require(comparison.bound == BOUND && comparison.violations == 0, "no violation");
    require(comparison.lost_points == 0 && comparison.spurious_points == 0 && comparison.changed_types == 0,
        "critical points");
    require(comparison.max_error == report.max_error, "largest error as reported");
    require(comparison.critical_points > 0 && comparison.critical_points == report.points_in_triangles,
        "the field has critical points, as reported");

    printf("%-24s %8lu bytes  ratio %6.1f  %4lu critical points  largest error %.3g  PSNR %5.1f dB\n", name,
        (unsigned long)report.stream_bytes, 2.0 * N * sizeof(double) / (double)report.stream_bytes,
        (unsigned long)comparison.critical_points, comparison.max_error, comparison.psnr);

    free(stream);
    free(before[0]);
    free(before[1]);
    free_field(back);
}

int main(void)
{
    factz_config config;
    field f;
    int x, y;

    printf("factz %s, format %lu\n", factz_version(), (unsigned long)factz_format_version());
    check(factz_config_init(&config, NX, NY, FACTZ_BOUND_ABSOLUTE, BOUND), "factz_config_init");
    config.dtype = FACTZ_DTYPE_F64;

    /* A solver's block with ghost columns and rows around it: all of them hold values. */
    f = make_field(ghosted(), 0.0);
    for (y = -GHOSTS; y < NY + GHOSTS; y++)
        for (x = -GHOSTS; x < NX + GHOSTS; x++) {
            long k = (long)y * (long)f.at.pitch + x;
            velocity(x, y, &f.u[k], &f.v[k]);
        }
    use_layout(&config, f.at);
    round_trip("ghost columns", config, f, dense());
    config.halo = FACTZ_SIDES_ALL;
    round_trip("ghost columns, halo", config, f, interleaved());
    config.halo = FACTZ_SIDE_X_MAX | FACTZ_SIDE_Y_MAX;
    config.pin = FACTZ_SIDE_X_MIN | FACTZ_SIDE_Y_MIN;
    config.mode = FACTZ_MODE_SPECULATIVE;
    round_trip("halo and pins, search", config, f, ghosted());
    free_field(f);

    /* u,v,u,v in one array. */
    f = make_field(interleaved(), 7.0);
    for (y = 0; y < NY; y++)
        for (x = 0; x < NX; x++) {
            size_t k = (size_t)y * f.at.pitch + (size_t)x * f.at.stride;
            velocity(x, y, &f.u[k], &f.v[k]);
        }
    config.halo = config.pin = 0;
    config.mode = FACTZ_MODE_BLOCK_WISE;
    use_layout(&config, f.at);
    round_trip("interleaved", config, f, ghosted());
    config.pin = FACTZ_SIDES_ALL;
    round_trip("interleaved, pinned", config, f, interleaved());
    free_field(f);
    puts("everything holds");
    return 0;
}
