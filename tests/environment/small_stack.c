/* Every host function on a thread whose stack has as many bytes as the argument says. */
#include <factz.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NX = 100, NY = 70, VERTICES = NX * NY };

struct call {
    factz_config config;
    const void *u, *v;
    void *other_u, *other_v, *stream;
    size_t stream_bytes;
    int threads;
    int failed;
};

static void check(struct call* call, const char* function, int holds) {
    if (!holds) {
        printf("%s: %s\n", function, factz_last_error());
        call->failed = 1;
    }
}

static void* calls(void* argument) {
    struct call* c = argument;
    factz_report report;
    factz_comparison comparison;
    factz_range range;
    factz_critical_point points[2];
    factz_info info;
    uint64_t count;
    char text[FACTZ_CONFIG_STRING_BYTES];
    factz_status status = factz_compress_host(
        c->u, c->v, VERTICES, &c->config, c->stream, c->stream_bytes, &report, c->threads);
    check(c, "factz_compress_host", status == FACTZ_OK);
    status = factz_decompress_host(
        c->stream, report.stream_bytes, &c->config, c->other_u, c->other_v, VERTICES, &report, c->threads);
    check(c, "factz_decompress_host", status == FACTZ_OK);
    status = factz_compare_host(
        c->u, c->v, VERTICES, &c->config, c->other_u, c->other_v, NULL, &comparison, c->threads);
    check(c, "factz_compare_host",
        status == FACTZ_OK && comparison.violations == 0 && comparison.critical_points > 2);
    status = factz_critical_points_host(c->u, c->v, VERTICES, &c->config, points, 2, &count, c->threads);
    check(c, "factz_critical_points_host", status == FACTZ_ERROR_BUFFER_TOO_SMALL && count > 2);
    status = factz_range_host(c->u, c->v, VERTICES, &c->config, &range, c->threads);
    check(c, "factz_range_host", status == FACTZ_OK);
    status = factz_inspect_host(c->stream, FACTZ_INSPECT_BYTES, &info);
    check(c, "factz_inspect_host", status == FACTZ_OK);
    status = factz_config_to_string(&c->config, text, sizeof text);
    check(c, "factz_config_to_string", status == FACTZ_OK);
    status = factz_config_from_string("abs=1,mode=none", &c->config);
    check(c, "factz_config_from_string", status == FACTZ_ERROR_INVALID_CONFIG);
    return NULL;
}

/* Runs the calls on a thread of its own. */
static int on_a_thread(struct call* call, size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) || pthread_attr_setstacksize(&attributes, stack_bytes) ||
        pthread_create(&thread, &attributes, calls, call) || pthread_join(thread, NULL)) {
        puts("no thread");
        return 1;
    }
    pthread_attr_destroy(&attributes);
    return call->failed;
}

int main(int argc, char** argv) {
    static double u[VERTICES], v[VERTICES], other_u[VERTICES], other_v[VERTICES];
    static float u32[VERTICES], v32[VERTICES];
    const size_t stack_bytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 65536;
    uint32_t state = 1;
    for (int k = 0; k < VERTICES; k++) {
        /* Zeros along lines, a filled vertex here and there, noise elsewhere. */
        const int x = k % NX, y = k / NX;
        state = state * 1664525u + 1013904223u;
        u[k] = x % 17 ? (x / 13 % 3 - 1) + (state >> 20) * 1e-4 - 0.2 : 0;
        v[k] = x % 17 ? (y / 11 % 3 - 1) + (state >> 8 & 4095) * 1e-4 - 0.2 : 0;
        if (k % 101 == 0) u[k] = 7;
        u32[k] = (float)u[k];
        v32[k] = (float)v[k];
    }
    int failed = 0;
    /* Bits: dtype, coder, all processors; then mode and predictor, and ties. */
    for (int choice = 0; choice < 8 * 3 * 3; choice++) {
        struct call call = {.u = u, .v = v, .other_u = other_u, .other_v = other_v, .threads = !(choice & 4)};
        factz_sizes sizes;
        factz_config* config = &call.config;
        factz_config_init(config, NX, NY, FACTZ_BOUND_RELATIVE, 1e-2);
        config->dtype = choice & 1 ? FACTZ_DTYPE_F64 : FACTZ_DTYPE_F32;
        config->coder = choice & 2 ? FACTZ_CODER_HUFFMAN : FACTZ_CODER_ANS;
        config->mode = choice / 8 % 3 == 1 ? FACTZ_MODE_SPECULATIVE : FACTZ_MODE_BLOCK_WISE;
        config->predictor = choice / 8 % 3 == 2 ? FACTZ_PREDICTOR_LORENZO : FACTZ_PREDICTOR_HIERARCHICAL;
        config->ties = choice / 24;
        config->has_fill_value = 1;
        config->fill_value = 7;
        if (config->dtype == FACTZ_DTYPE_F32) {
            call.u = u32;
            call.v = v32;
        }
        factz_compress_sizes(config, &sizes);
        call.stream_bytes = sizes.max_stream_bytes;
        call.stream = malloc(call.stream_bytes);
        failed |= on_a_thread(&call, stack_bytes);
        free(call.stream);
    }
    puts(failed ? "something failed" : "everything holds");
    return failed;
}
