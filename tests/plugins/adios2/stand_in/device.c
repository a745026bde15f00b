// A stand-in for a GPU: device.cpp runs with it on the host. Memory of the device is memory of the host that
// nobody may touch but the functions of this file, and the compression of the device is that of the host,
// after the library has checked the arguments of the device function and found no device.
//
//     gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -I INCLUDE device.c -lfactz -ldl -o libcuda.so.1
//
// FACTZ_STAND_IN_REFUSES is the number of a status that the compression of the device reports.
#define _GNU_SOURCE
#include "cuda_runtime_api.h"

#include <dlfcn.h>
#include <factz.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_CONTEXT = 201 };
enum { CONTEXT = 1, MEMORY_TYPE = 2, DEVICE_ORDINAL = 9 };
enum { TYPE_HOST = 1, TYPE_DEVICE = 2 };

static void* const context = (void*)0x2000;
static int current;

struct block {
    char* start;
    size_t bytes;
    // Memory of a pool has no context.
    int type, has_context;
};
static struct block blocks[32];

static int allocate(uint64_t* address, size_t bytes, int type, int has_context) {
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        if (blocks[k].start) continue;
        void* const start = mmap(NULL, bytes, type == TYPE_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED) return OUT_OF_MEMORY;
        blocks[k] = (struct block){start, bytes, type, has_context};
        *address = (uintptr_t)start;
        return SUCCESS;
    }
    return OUT_OF_MEMORY;
}

static int release(uint64_t address) {
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        if (!address || (uintptr_t)blocks[k].start != address) continue;
        munmap(blocks[k].start, blocks[k].bytes);
        blocks[k].start = NULL;
        return SUCCESS;
    }
    return INVALID_VALUE;
}

// Lets this file touch the memory of the device, or nobody.
static void protect(int access) {
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        if (blocks[k].start && blocks[k].type == TYPE_DEVICE &&
            mprotect(blocks[k].start, blocks[k].bytes, access) != 0)
            abort();
}

static void copy(void* to, const void* from, size_t bytes) {
    protect(PROT_READ | PROT_WRITE);
    memcpy(to, from, bytes);
    protect(PROT_NONE);
}

// ---------------------------------------------------------------- the driver

// The library asks these three, and finds no device.
int cuInit(unsigned flags) { return flags ? INVALID_VALUE : NO_DEVICE; }

int cuGetErrorName(int error, const char** name) {
    *name = "CUDA_ERROR_NO_DEVICE";
    return error == NO_DEVICE ? SUCCESS : INVALID_VALUE;
}

int cuGetErrorString(int error, const char** text) {
    *text = "no CUDA-capable device is detected";
    return error == NO_DEVICE ? SUCCESS : INVALID_VALUE;
}

int cuPointerGetAttributes(unsigned count, const unsigned* attributes, void** values, uint64_t pointer) {
    const struct block* found = NULL;
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++)
        if (blocks[k].start && pointer - (uintptr_t)blocks[k].start < blocks[k].bytes) found = &blocks[k];
    for (unsigned k = 0; k < count; k++) {
        if (attributes[k] == CONTEXT)
            *(void**)values[k] = found && found->has_context ? context : NULL;
        else if (attributes[k] == MEMORY_TYPE)
            *(unsigned*)values[k] = found ? (unsigned)found->type : 0;
        else if (attributes[k] == DEVICE_ORDINAL)
            *(int*)values[k] = found ? 0 : -2;
        else
            return INVALID_VALUE;
    }
    return SUCCESS;
}

int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return ordinal ? INVALID_VALUE : SUCCESS;
}

int cuDevicePrimaryCtxRetain(void** retained, int device) {
    *retained = context;
    return device ? INVALID_VALUE : SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device) { return device ? INVALID_VALUE : SUCCESS; }

int cuCtxPushCurrent_v2(void* pushed) {
    if (pushed != context) return INVALID_CONTEXT;
    current++;
    return SUCCESS;
}

int cuCtxPopCurrent_v2(void** popped) {
    *popped = context;
    return current-- > 0 ? SUCCESS : INVALID_CONTEXT;
}

int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
    return current ? allocate(address, bytes, TYPE_DEVICE, 1) : INVALID_CONTEXT;
}

int cuMemFree_v2(uint64_t address) { return current ? release(address) : INVALID_CONTEXT; }

int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
    if (!current) return INVALID_CONTEXT;
    copy(to, (const void*)(uintptr_t)from, bytes);
    return SUCCESS;
}

// ---------------------------------------------------------------- the runtime

static cudaError_t given(void** pointer, size_t bytes, int type, int has_context) {
    uint64_t address = 0;
    const int code = allocate(&address, bytes, type, has_context);
    *pointer = (void*)(uintptr_t)address;
    return code ? cudaErrorMemoryAllocation : cudaSuccess;
}

static cudaError_t taken(void* pointer) {
    return release((uintptr_t)pointer) ? cudaErrorUnknown : cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, size_t bytes) { return given(pointer, bytes, TYPE_DEVICE, 1); }

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
    (void)flags;
    return given(pointer, bytes, TYPE_DEVICE, 1);
}

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
    (void)stream;
    return given(pointer, bytes, TYPE_DEVICE, 0);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return given(pointer, bytes, TYPE_HOST, 1); }

cudaError_t cudaFree(void* pointer) { return taken(pointer); }

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    (void)stream;
    return taken(pointer);
}

cudaError_t cudaFreeHost(void* pointer) { return taken(pointer); }

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind) {
    (void)kind;
    copy(to, from, bytes);
    return cudaSuccess;
}

const char* cudaGetErrorString(cudaError_t error) {
    return error == cudaSuccess ? "no error" : "an error of the stand-in";
}

// ---------------------------------------------------------------- the library

// The status that the device reports, where the test asks for one.
static int refused(factz_report* report) {
    const char* const status = getenv("FACTZ_STAND_IN_REFUSES");
    if (!status) return 0;
    memset(report, 0, sizeof *report);
    report->status = atoi(status);
    return 1;
}

factz_status factz_compress_device(const void* u, const void* v, size_t n, const factz_config* config,
    void* dst, size_t dst_bytes, void* workspace, size_t workspace_bytes, factz_report* report,
    factz_stream stream) {
    factz_status (*checked)(const void*, const void*, size_t, const factz_config*, void*, size_t, void*,
        size_t, factz_report*, factz_stream);
    *(void**)&checked = dlsym(RTLD_NEXT, "factz_compress_device");
    const factz_status status =
        checked(u, v, n, config, dst, dst_bytes, workspace, workspace_bytes, report, stream);
    if (status != FACTZ_ERROR_NO_DEVICE) return status;
    protect(PROT_READ | PROT_WRITE);
    if (!refused(report)) factz_compress_host(u, v, n, config, dst, dst_bytes, report, 1);
    protect(PROT_NONE);
    return FACTZ_OK;
}

factz_status factz_compress_volume_device(const void* u, const void* v, const void* w, size_t n,
    const factz_config* config, void* dst, size_t dst_bytes, void* workspace, size_t workspace_bytes,
    factz_report* report, factz_stream stream) {
    factz_status (*checked)(const void*, const void*, const void*, size_t, const factz_config*, void*, size_t,
        void*, size_t, factz_report*, factz_stream);
    *(void**)&checked = dlsym(RTLD_NEXT, "factz_compress_volume_device");
    const factz_status status =
        checked(u, v, w, n, config, dst, dst_bytes, workspace, workspace_bytes, report, stream);
    if (status != FACTZ_ERROR_NO_DEVICE) return status;
    protect(PROT_READ | PROT_WRITE);
    if (!refused(report)) factz_compress_volume_host(u, v, w, n, config, dst, dst_bytes, report, 1);
    protect(PROT_NONE);
    return FACTZ_OK;
}
