// The part of CUDA's runtime that device.cpp uses, for a test without CUDA: device.c beside this file has the
// functions.
#ifndef FACTZ_STAND_IN_CUDA_RUNTIME_API_H
#define FACTZ_STAND_IN_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorUnknown = 999 } cudaError_t;
enum cudaMemcpyKind { cudaMemcpyDefault = 4 };
typedef void* cudaStream_t;
#define cudaMemAttachGlobal 1

cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned flags);
cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocHost(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, enum cudaMemcpyKind kind);
const char* cudaGetErrorString(cudaError_t error);

#ifdef __cplusplus
}
#endif

#endif
