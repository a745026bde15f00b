/* Every function, in a process that may have so much address space and no more: it succeeds, or says that
 * memory ran out. The limit grows from next to nothing until all succeed. */
#include "common.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NX = 700, NY = 520, N = NX * NY, POINTS = 40000 };

static float u[N], v[N], u_out[N], v_out[N];
static unsigned char scratch[8 * N + 128];
/* Shared with the children: this process calls no function itself, so that its heap has no free memory to
 * spare. */
static struct {
    size_t bytes;
    unsigned char stream[8 * N + 128];
} * made;
static factz_critical_point points[POINTS];
static factz_config config;
static int threads;

static int compress(void) {
    factz_report report;
    return factz_compress_host(u, v, N, &config, scratch, sizeof scratch, &report, threads);
}
static int make_stream(void) {
    factz_report report;
    int status = factz_compress_host(u, v, N, &config, made->stream, sizeof made->stream, &report, 1);
    made->bytes = (size_t)report.stream_bytes;
    return status;
}
static int decompress(void) {
    factz_report report;
    return factz_decompress_host(made->stream, made->bytes, &config, u_out, v_out, N, &report, threads);
}
static int compare(void) {
    factz_comparison comparison;
    return factz_compare_host(u, v, N, &config, u_out, v_out, NULL, &comparison, threads);
}
static int find_points(void) {
    uint64_t count;
    return factz_critical_points_host(u, v, N, &config, points, POINTS, &count, threads);
}
static int find_range(void) {
    factz_range range;
    return factz_range_host(u, v, N, &config, &range, threads);
}
static int inspect(void) {
    factz_info info;
    return factz_inspect_host(made->stream, made->bytes, &info);
}
static int ask_sizes(void) {
    factz_sizes sizes;
    return factz_compress_sizes(&config, &sizes);
}

static const struct {
    const char* name;
    int (*function)(void);
} functions[] = {
    {"compress", compress},
    {"decompress", decompress},
    {"compare", compare},
    {"critical_points", find_points},
    {"range", find_range},
    {"inspect", inspect},
    {"sizes", ask_sizes},
};

/* Bytes of address space that the process has. */
static size_t address_space(void) {
    size_t pages = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL && fscanf(file, "%zu", &pages) == 1, "/proc/self/statm");
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Runs a function in a child that may have `more` bytes beyond what there is. */
static int run_limited(int (*function)(void), size_t more) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0, "fork");
    if (child == 0) {
        struct rlimit limit = {address_space() + more, address_space() + more};
        if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(100);
        _exit(function());
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    CHECK(WIFEXITED(status), "ended by signal %d with %zu bytes to spare", WTERMSIG(status), more);
    return WEXITSTATUS(status);
}

/* Events take memory for their text. */
static void on_event(int level, const char* target, const char* message, void* user) {
    (void)level, (void)target, (void)message, (void)user;
}

int main(void) {
    factz_set_log_callback(on_event, NULL);
    made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(made != MAP_FAILED, "mmap");
    make_field(u, v, NX, NY, -8);
    int runs = 0, refused = 0;
    for (int number = 4; configure(&config, number, NX, NY); ++number) {
        CHECK(run_limited(make_stream, (size_t)1 << 30) == FACTZ_OK, "compress");
        for (size_t f = 0; f < sizeof functions / sizeof *functions; ++f)
            for (threads = 1; threads <= 3; threads += 2) {
                if (f >= 2 && number != 4) continue;
                int status = -1;
                size_t more = 0;
                /* Small steps first: what fails last is small. */
                for (; status != FACTZ_OK; more += more < 400000 ? 12288 : more / 16) {
                    status = run_limited(functions[f].function, more);
                    CHECK(status == FACTZ_OK || status == FACTZ_ERROR_OUT_OF_MEMORY,
                        "%s with %zu bytes to spare: status %d", functions[f].name, more, status);
                    CHECK(more < (size_t)1 << 30, "%s never succeeds", functions[f].name);
                    ++runs;
                    refused += status != FACTZ_OK;
                }
                printf("%s, configuration %d, %d threads: enough with %zu KB\n", functions[f].name, number,
                    threads, more / 1024);
            }
    }
    CHECK(refused > runs / 4, "limits that matter");
    printf("%d runs, %d of them out of memory, none ended by a signal\n", runs, refused);
    return 0;
}
