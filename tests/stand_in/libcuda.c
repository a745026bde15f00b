// A stand-in for the CUDA driver: every entry point that the device functions may use writes its name into
// the file FACTZ_STAND_IN_LOG, does next to nothing and succeeds, unless FACTZ_STAND_IN_FAIL is
// "NAME=ERROR", which makes NAME answer ERROR. tests/promises/enqueuing.rs runs the library on it.
//
// Addresses: 0x2........ and 0x7........ are memory of device 0, 0x3........ managed, 0x4........ pinned,
// 0x5........ of device 1; all others are unknown. Streams: 0x1000 has the context 0x2000; 0x1100 as well,
// and is being captured; 0, 1 and 2 are the default streams. FACTZ_STAND_IN_CONTEXT is the id of the context
// (1), and no context is current at first.
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, INVALID_CONTEXT = 201 };

static void *const context = (void *)0x2000;
static void *stack[16];
static int depth;

static void line(const char *text) {
    const char *path = getenv("FACTZ_STAND_IN_LOG");
    if (!path) return;
    char buffer[256];
    const size_t n = strlen(text) < sizeof buffer - 1 ? strlen(text) : sizeof buffer - 1;
    memcpy(buffer, text, n);
    buffer[n] = '\n';
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || write(file, buffer, n + 1) < 0) abort();
    close(file);
}

static int called(const char *name) {
    line(name);
    const char *fail = getenv("FACTZ_STAND_IN_FAIL");
    const size_t n = strlen(name);
    return fail && !strncmp(fail, name, n) && fail[n] == '=' ? atoi(fail + n + 1) : SUCCESS;
}

#define ENTRY(name, ...) __attribute__((visibility("default"))) int name(__VA_ARGS__)
#define BEGIN                            \
    const int answer = called(__func__); \
    if (answer) return answer

ENTRY(cuInit, unsigned flags) {
    BEGIN;
    return flags ? INVALID_VALUE : SUCCESS;
}

ENTRY(cuGetErrorName, int error, const char **text) {
    (void)error;
    *text = "CUDA_ERROR_STAND_IN";
    return SUCCESS;
}

ENTRY(cuGetErrorString, int error, const char **text) {
    (void)error;
    *text = "injected";
    return SUCCESS;
}

ENTRY(cuCtxGetCurrent, void **current) {
    BEGIN;
    *current = depth ? stack[depth - 1] : NULL;
    return SUCCESS;
}

ENTRY(cuCtxPushCurrent_v2, void *pushed) {
    BEGIN;
    if (!pushed || depth == 16) return INVALID_CONTEXT;
    stack[depth++] = pushed;
    return SUCCESS;
}

ENTRY(cuCtxPopCurrent_v2, void **popped) {
    // A pop that fails has not happened.
    BEGIN;
    if (!depth) return INVALID_CONTEXT;
    *popped = stack[--depth];
    return SUCCESS;
}

ENTRY(cuCtxGetId, void *of, unsigned long long *id) {
    BEGIN;
    const char *number = getenv("FACTZ_STAND_IN_CONTEXT");
    *id = number ? atoi(number) : 1;
    return of == context ? SUCCESS : INVALID_CONTEXT;
}

ENTRY(cuCtxGetDevice, int *device) {
    BEGIN;
    *device = 0;
    return depth ? SUCCESS : INVALID_CONTEXT;
}

ENTRY(cuStreamGetCtx, void *stream, void **of) {
    BEGIN;
    if ((uintptr_t)stream <= 2) {
        *of = depth ? stack[depth - 1] : NULL;
        return depth ? SUCCESS : INVALID_CONTEXT;
    }
    *of = context;
    return SUCCESS;
}

ENTRY(cuStreamIsCapturing, void *stream, unsigned *state) {
    BEGIN;
    *state = (uintptr_t)stream == 0x1100;
    return SUCCESS;
}

ENTRY(cuDriverGetVersion, int *version) {
    BEGIN;
    *version = 13000;
    return SUCCESS;
}

ENTRY(cuModuleLoadData, void **module, const void *image) {
    BEGIN;
    *module = (void *)0x3000;
    // The mark of a fat binary, at an address that the driver may read words from.
    return *(const uint32_t *)image == 0xba55ed50 && (uintptr_t)image % 8 == 0 ? SUCCESS : INVALID_VALUE;
}

ENTRY(cuModuleUnload, void *module) {
    BEGIN;
    return module == (void *)0x3000 ? SUCCESS : INVALID_VALUE;
}

ENTRY(cuModuleGetFunction, void **function, void *module, const char *name) {
    BEGIN;
    *function = (void *)0x4000;
    return module == (void *)0x3000 && !strncmp(name, "factz_", 6) ? SUCCESS : INVALID_VALUE;
}

ENTRY(cuFuncGetAttribute, int *value, int attribute, void *function) {
    BEGIN;
    (void)attribute;
    *value = 1024;
    return function == (void *)0x4000 ? SUCCESS : INVALID_VALUE;
}

ENTRY(cuFuncSetAttribute, void *function, int attribute, int value) {
    BEGIN;
    (void)function, (void)attribute, (void)value;
    return SUCCESS;
}

ENTRY(cuDeviceGetAttribute, int *value, int attribute, int device) {
    BEGIN;
    // 132 multiprocessors, compute capability 9.0.
    *value = attribute == 16 ? 132 : attribute == 75 ? 9 : 0;
    return device ? INVALID_VALUE : SUCCESS;
}

ENTRY(cuPointerGetAttributes, unsigned count, const unsigned *attributes, void **values, uint64_t pointer) {
    BEGIN;
    const unsigned place = pointer >> 32;
    for (unsigned k = 0; k < count; k++) {
        switch (attributes[k]) {
            case 2:
                *(unsigned *)values[k] = place == 2 || place == 3 || place == 5 || place == 7 ? 2
                                         : place == 4                                         ? 1
                                                                                              : 0;
                break;
            case 8:
                *(char *)values[k] = place == 3;
                break;
            case 9:
                *(int *)values[k] = place == 5 ? 1 : (place >= 2 && place <= 4) || place == 7 ? 0 : -2;
                break;
            default:
                return INVALID_VALUE;
        }
    }
    return SUCCESS;
}

ENTRY(cuMemsetD8Async, uint64_t start, unsigned char value, size_t bytes, void *stream) {
    BEGIN;
    (void)value, (void)stream;
    return start && bytes && depth ? SUCCESS : INVALID_VALUE;
}

ENTRY(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
    unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
    BEGIN;
    (void)shared, (void)stream;
    const int fits = gx && gx < 1u << 31 && gy == 1 && gz == 1 && bx && bx <= 1024 && by == 1 && bz == 1;
    return function == (void *)0x4000 && fits && parameters && parameters[0] && !extra && depth
               ? SUCCESS
               : INVALID_VALUE;
}

// The beginning of CUlaunchConfig.
struct launch_config {
    unsigned gx, gy, gz, bx, by, bz, shared;
    void *stream;
    void *attributes;
    unsigned attribute_count;
};

ENTRY(cuLaunchKernelEx, const struct launch_config *config, void *function, void **parameters, void **extra) {
    BEGIN;
    const int fits = config->gx && config->gx < 1u << 31 && config->gy == 1 && config->gz == 1 &&
                     config->bx && config->bx <= 1024 && config->by == 1 && config->bz == 1;
    const int attributes = config->attribute_count == 1 && config->attributes;
    return function == (void *)0x4000 && fits && attributes && parameters && parameters[0] && !extra && depth
               ? SUCCESS
               : INVALID_VALUE;
}
