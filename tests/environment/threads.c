/* Threads: one thread asked for is the caller's own; a call works where none can be started; the pool is kept
 * between calls, made anew in a forked child, and gone when the library is unloaded. */
#define _GNU_SOURCE
#include "common.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NX = 500, NY = 400, N = NX * NY, POINTS = 40000 };

static float u[N], v[N], u_out[N], v_out[N];
static unsigned char expected[8 * N + 128], stream[8 * N + 128];
static factz_critical_point points[POINTS];
static size_t expected_bytes;

/* The library's threads start here: this program's definition comes before the system's. */
static int refuse, started;
int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*), void* argument) {
    static int (*real)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "pthread_create");
    ++started;
    return refuse ? EAGAIN : real(thread, attributes, function, argument);
}

static int tasks(void) {
    int count = 0;
    DIR* folder = opendir("/proc/self/task");
    CHECK(folder != NULL, "/proc/self/task");
    for (struct dirent* entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void run_all(int threads) {
    factz_config config;
    factz_report report;
    factz_comparison comparison;
    uint64_t count;
    OK(factz_config_init(&config, NX, NY, FACTZ_BOUND_RELATIVE, 1e-3));
    OK(factz_compress_host(u, v, N, &config, stream, sizeof stream, &report, threads));
    CHECK(expected_bytes == 0 ||
              (report.stream_bytes == expected_bytes && memcmp(stream, expected, expected_bytes) == 0),
        "another stream with %d threads", threads);
    expected_bytes = (size_t)report.stream_bytes;
    memcpy(expected, stream, expected_bytes);
    OK(factz_decompress_host(stream, expected_bytes, &config, u_out, v_out, N, &report, threads));
    OK(factz_compare_host(u, v, N, &config, u_out, v_out, NULL, &comparison, threads));
    CHECK(comparison.violations == 0, "violations");
    OK(factz_critical_points_host(u, v, N, &config, points, POINTS, &count, threads));
}

static void in_child(void) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0, "fork");
    if (child == 0) {
        started = 0;
        run_all(4);
        CHECK(started > 0, "the child has threads of its own");
        exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with status %d", status);
}

static void* calls(void* unused) {
    (void)unused;
    factz_config config;
    static unsigned char other[8][8 * N + 128];
    static int next;
    unsigned char* mine = other[__sync_fetch_and_add(&next, 1) % 8];
    factz_report report;
    factz_config_init(&config, NX, NY, FACTZ_BOUND_RELATIVE, 1e-3);
    for (int k = 0; k < 5; ++k) {
        OK(factz_compress_host(u, v, N, &config, mine, sizeof other[0], &report, 3));
        CHECK(report.stream_bytes == expected_bytes && memcmp(mine, expected, expected_bytes) == 0,
            "another stream");
    }
    return NULL;
}

/* Compresses with a library that dlopen gave. */
static void* compress_with(void* library) {
    factz_config config;
    factz_report report;
    int32_t (*init)(factz_config*, uint64_t, uint64_t, int32_t, double);
    int32_t (*compress)(
        const void*, const void*, size_t, const factz_config*, void*, size_t, factz_report*, int);
    *(void**)&init = dlsym(library, "factz_config_init");
    *(void**)&compress = dlsym(library, "factz_compress_host");
    OK(init(&config, NX, NY, FACTZ_BOUND_RELATIVE, 1e-3));
    OK(compress(u, v, N, &config, stream, sizeof stream, &report, 4));
    return NULL;
}

/* A library that is loaded and unloaded again and again takes its threads along. Where the calling thread
 * lives on, its thread-local storage keeps the library loaded: then there are no more threads than the first
 * call started. */
static void load_and_unload(const char* path) {
    for (int k = 0; k < 40; ++k) {
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL, "%s", dlerror());
        if (k < 20) {
            pthread_t caller;
            CHECK(pthread_create(&caller, NULL, compress_with, library) == 0, "pthread_create");
            pthread_join(caller, NULL);
            CHECK(tasks() == 4, "three threads of the library: %d in all", tasks());
        } else {
            compress_with(library);
        }
        CHECK(dlclose(library) == 0, "%s", dlerror());
        CHECK(k >= 20 || tasks() == 1, "%d threads after the library was unloaded", tasks());
        CHECK(tasks() <= 4, "%d threads", tasks());
    }
}

int main(int argc, char** argv) {
    make_field(u, v, NX, NY, -8);
    if (argc > 1) {
        load_and_unload(argv[1]);
        printf("loaded and unloaded\n");
        return 0;
    }
    run_all(1);
    CHECK(started == 0 && tasks() == 1, "one thread is the caller's own: %d started", started);
    refuse = 1;
    run_all(8);
    run_all(0);
    CHECK(tasks() == 1, "no thread can be started");
    refuse = 0;
    started = 0;
    for (int k = 0; k < 10; ++k) run_all(4);
    CHECK(started == 3, "ten calls with four threads started %d, not 3", started);
    in_child();
    run_all(4);
    CHECK(started == 3, "the threads are still there after a fork");
    pthread_t callers[4];
    for (int k = 0; k < 4; ++k) CHECK(pthread_create(&callers[k], NULL, calls, NULL) == 0, "pthread_create");
    for (int k = 0; k < 4; ++k) pthread_join(callers[k], NULL);
    in_child();
    printf("threads are as asked for\n");
    return 0;
}
