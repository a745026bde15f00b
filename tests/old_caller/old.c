/*
 * A program of the first version of the header: the structs below are frozen copies of it, in which later
 * fields are still reserved. Built without the present header and linked with the present library, it must
 * work as it did then. Exit status 0 when everything holds.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef int32_t factz_status;

typedef struct factz_config {
    uint64_t struct_size, nx, ny, nz, u_pitch, u_stride, v_pitch, v_stride, w_pitch, w_stride;
    double dx, dy, dz, bound;
    int32_t bound_kind, dtype, mode, coder, predictor, preserve;
    uint32_t halo, pin;
    int32_t verify_checksum;
    uint32_t reserved_flags;
    uint64_t reserved[13];
} factz_config;

typedef struct factz_sizes {
    uint64_t max_stream_bytes, workspace_bytes, alignment, analysis_workspace_bytes, reserved[4];
} factz_sizes;

typedef struct factz_report {
    factz_status status;
    int32_t reserved_status;
    uint64_t stream_bytes, required_bytes, exact_vertices, nonfinite_vertices, zero_vertices, critical_points;
    double bound, max_error;
    uint64_t reserved[7];
} factz_report;

typedef struct factz_info {
    factz_status status;
    uint32_t format_version;
    uint64_t stream_bytes, nx, ny, nz;
    double dx, dy, dz, bound, absolute_bound;
    int32_t bound_kind, dtype, mode, coder, predictor, preserve;
    uint64_t reserved[3];
} factz_info;

typedef struct factz_comparison {
    factz_status status;
    int32_t reserved_status;
    uint64_t violations, critical_points, other_critical_points, lost_points, spurious_points, changed_types,
        ties;
    uint64_t changed_ties, new_ties, nonfinite_vertices, changed_nonfinite, zero_vertices, changed_zeros;
    uint64_t bound_exceeded;
    double bound, max_error, psnr;
    uint64_t points_by_type[6], reserved[8];
} factz_comparison;

factz_status factz_config_init(
    factz_config* config, uint64_t nx, uint64_t ny, int32_t bound_kind, double bound);
factz_status factz_compress_sizes(const factz_config* config, factz_sizes* sizes);
factz_status factz_inspect_host(const void* src, size_t src_bytes, factz_info* info);
factz_status factz_compress_host(const void* u, const void* v, size_t n, const factz_config* config,
    void* dst, size_t dst_bytes, factz_report* report, int threads);
factz_status factz_decompress_host(const void* src, size_t src_bytes, const factz_config* config, void* u,
    void* v, size_t n, factz_report* report, int threads);
factz_status factz_compare_host(const void* u, const void* v, size_t n, const factz_config* config,
    const void* other_u, const void* other_v, const factz_config* other_config, factz_comparison* comparison,
    int threads);
const char* factz_last_error(void);

enum { NX = 100, NY = 80, N = NX * NY, GUARD = 64 };

static int failures;

#define REQUIRE(condition)                                           \
    if (!(condition)) {                                              \
        printf("failed: %s (%s)\n", #condition, factz_last_error()); \
        failures++;                                                  \
    }

/* A struct with bytes behind it that no call may change. */
#define GUARDED(type)               \
    struct {                        \
        type it;                    \
        unsigned char guard[GUARD]; \
    }

static int untouched(const unsigned char* guard) {
    int k = 0;
    while (k < GUARD && guard[k] == 0xa5) k++;
    return k == GUARD;
}

static float u[N], v[N], u2[N], v2[N];
static unsigned char stream[2 * sizeof(u) + 4096];

int main(void) {
    GUARDED(factz_config) config;
    GUARDED(factz_sizes) sizes;
    GUARDED(factz_report) report;
    GUARDED(factz_info) info;
    GUARDED(factz_comparison) comparison;
    size_t k;
    for (k = 0; k < N; k++) {
        double x = (double)(k % NX), y = (double)(k / NX);
        u[k] = (float)(sin(0.11 * x) * cos(0.13 * y) + 0.02 * cos(0.05 * x));
        v[k] = (float)(-cos(0.11 * x) * sin(0.13 * y) + 0.05 * sin(0.07 * x + 0.05 * y));
    }
    memset(&config, 0xa5, sizeof config);
    memset(&sizes, 0xa5, sizeof sizes);
    memset(&report, 0xa5, sizeof report);
    memset(&info, 0xa5, sizeof info);
    memset(&comparison, 0xa5, sizeof comparison);
    /* Sizes of the first version. */
    REQUIRE(sizeof config.it == 256 && sizeof sizes.it == 64 && sizeof report.it == 128 &&
            sizeof info.it == 128 && sizeof comparison.it == 256);

    REQUIRE(factz_config_init(&config.it, NX, NY, 0, 1e-3) == 0);
    REQUIRE(config.it.struct_size == 256 && config.it.reserved_flags == 0);
    /* A field that is reserved here has the default 0. */
    for (k = 0; k < 13; k++) REQUIRE(config.it.reserved[k] == 0);
    config.it.preserve = 2;

    REQUIRE(factz_compress_sizes(&config.it, &sizes.it) == 0);
    REQUIRE(sizes.it.max_stream_bytes <= sizeof stream);
    REQUIRE(factz_compress_host(u, v, N, &config.it, stream, sizeof stream, &report.it, 1) == 0);
    REQUIRE(report.it.status == 0 && report.it.critical_points > 0);
    REQUIRE(report.it.bound == 1e-3 && report.it.max_error <= 1e-3);
    REQUIRE(factz_inspect_host(stream, sizeof stream, &info.it) == 0);
    REQUIRE(info.it.nx == NX && info.it.ny == NY && info.it.bound == 1e-3);
    REQUIRE(factz_decompress_host(stream, report.it.stream_bytes, &config.it, u2, v2, N, &report.it, 1) == 0);
    REQUIRE(factz_compare_host(u, v, N, &config.it, u2, v2, NULL, &comparison.it, 1) == 0);
    REQUIRE(comparison.it.violations == 0 && comparison.it.critical_points > 0);
    REQUIRE(comparison.it.max_error <= 1e-3);

    /* A field that this version does not know is not used by accident. */
    config.it.reserved[12] = 1;
    REQUIRE(factz_compress_sizes(&config.it, &sizes.it) == 10);
    /* Nothing behind the structs was written. */
    REQUIRE(untouched(config.guard) && untouched(sizes.guard) && untouched(report.guard) &&
            untouched(info.guard) && untouched(comparison.guard));
    if (failures == 0) puts("everything holds");
    return failures != 0;
}
