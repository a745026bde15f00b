/* Whatever floating-point modes a program runs in, the library computes the same bits and leaves the modes as
 * they were; a log callback runs in the program's modes. */
#include "common.h"

#include <fenv.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
/* Flush-to-zero and denormals-are-zero. */
static void flush(int on) { _mm_setcsr((_mm_getcsr() & ~0x8040u) | (on ? 0x8040u : 0)); }
static uint64_t modes(void) { return _mm_getcsr() & ~0x3fu; }
#elif defined(__aarch64__)
static uint64_t modes(void) {
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}
static void flush(int on) {
    uint64_t control = (modes() & ~(UINT64_C(1) << 24)) | ((uint64_t)(on != 0) << 24);
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#endif

enum { NX = 150, NY = 110, N = NX * NY, CAPACITY = 4 * N, POINTS = 4000 };

struct outcome {
    unsigned char stream[8 * N + 128];
    float u[N], v[N];
    factz_report compression, decompression;
    factz_comparison comparison;
    factz_critical_point points[POINTS];
    uint64_t count;
    double positions[NX];
};

static uint64_t expected_modes;
static int events;

static void on_event(int level, const char* target, const char* message, void* user) {
    (void)level, (void)target, (void)message, (void)user;
    ++events;
    if (modes() != expected_modes) {
        fprintf(stderr, "the callback runs in modes %llx, not in %llx\n", (unsigned long long)modes(),
            (unsigned long long)expected_modes);
        exit(1);
    }
}

static void run_all(
    const float* u, const float* v, const factz_config* config, int threads, struct outcome* out) {
    memset(out, 0, sizeof *out);
    OK(factz_compress_host(u, v, N, config, out->stream, sizeof out->stream, &out->compression, threads));
    OK(factz_decompress_host(
        out->stream, sizeof out->stream, config, out->u, out->v, N, &out->decompression, threads));
    factz_config absolute = *config;
    absolute.bound_kind = FACTZ_BOUND_ABSOLUTE;
    absolute.bound = out->compression.bound;
    OK(factz_compare_host(u, v, N, &absolute, out->u, out->v, NULL, &out->comparison, threads));
    OK(factz_critical_points_host(u, v, N, config, out->points, POINTS, &out->count, threads));
    /* Errors leave the modes as well. */
    factz_report refused;
    CHECK(factz_compress_host(u, v, N + 1, config, out->stream, 0, &refused, threads) != FACTZ_OK, "n");
    CHECK(factz_decompress_host(u, N * sizeof *u, config, out->u, out->v, N, &refused, threads) ==
              FACTZ_ERROR_CORRUPT_STREAM,
        "no stream");
}

int main(void) {
    static const int roundings[] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    /* Ordinary values, values of magnitude 1e-40 (all subnormal), and some in between. */
    static const int exponents[] = {-8, -149, -140};
    static float u[N], v[N];
    struct outcome *reference = malloc(sizeof *reference), *found = malloc(sizeof *found);
    CHECK(reference != NULL && found != NULL, "memory");
    int cases = 0;
    factz_set_log_callback(on_event, NULL);
    for (int e = 0; e < 3; ++e) {
        make_field(u, v, NX, NY, exponents[e]);
        factz_config config;
        for (int number = 0; configure(&config, number, NX, NY); ++number) {
            expected_modes = modes();
            run_all(u, v, &config, 1, reference);
            CHECK(reference->comparison.violations == 0, "violations in the default modes");
            CHECK(reference->count > 20, "a field with critical points");
            if (config.bound == 0.0)
                CHECK(memcmp(u, reference->u, sizeof u) == 0 && memcmp(v, reference->v, sizeof v) == 0,
                    "lossless");
            for (int r = 0; r < 4; ++r)
                for (int flushed = 0; flushed < 2; ++flushed) {
                    int threads = 1 + (r + flushed + number) % 3;
                    fesetround(roundings[r]);
                    flush(flushed);
                    expected_modes = modes();
                    run_all(u, v, &config, threads, found);
                    uint64_t after = modes();
                    flush(0);
                    fesetround(FE_TONEAREST);
                    CHECK(after == expected_modes, "the modes were changed");
                    CHECK(memcmp(reference, found, sizeof *found) == 0,
                        "another outcome: magnitude 2^%d, configuration %d, rounding %d, flush %d, %d "
                        "threads",
                        exponents[e], number, r, flushed, threads);
                    ++cases;
                }
        }
    }
    CHECK(events > cases, "events");
    printf("%d cases: the same bits in every mode\n", cases);
    free(reference);
    free(found);
    return 0;
}
