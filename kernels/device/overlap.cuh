// Waiting for the previous kernel and release of the next one (programmatic dependent launch).
#pragma once
#include "device/ptx.cuh"

// The next four functions are the first statement of a kernel, as its launch says (Waits in
// src/cuda/launch.rs). This one waits for the end of the previous kernel and only then lets the next one
// begin, so that no more than two kernels run at a time.
__device__ __forceinline__ void after_previous() {
    wait_for_kernel_before();
    let_next_begin();
}
// The kernel first does work that needs no result of the previous kernel, then calls after_previous itself.
__device__ __forceinline__ void waits_inside() {}
// The launch is in stream order: the previous kernel has ended.
__device__ __forceinline__ void in_order() {}
// The kernel needs no result of the previous kernel and waits for it at its end (end_overlap), so that both
// have ended when the next kernel stops waiting. Several such kernels can follow each other. All kernels
// before the first overlapped kernel must have ended when the first overlapping one begins: the overlapped
// kernel must be launched in stream order, or not wait at its start.
__device__ __forceinline__ void overlaps_previous() { let_next_begin(); }
__device__ __forceinline__ void end_overlap() {
    if (blockIdx.x == 0) wait_for_kernel_before();
}
// For a kernel that has no work, which a kernel before the previous one decided: it ends with the previous
// one.
__device__ __forceinline__ void pass_over() {
    let_next_begin();
    end_overlap();
}
