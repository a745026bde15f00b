// How kernels begin and end beside the kernels before and after them.
#pragma once
#include "device/ptx.cuh"

// How a kernel begins, by its launch (src/cuda/schedule.rs). At its start it waits for the previous kernel;
// the next one may begin only then, so that no more than two are at work.
__device__ __forceinline__ void after_previous() {
    wait_for_kernel_before();
    let_next_begin();
}
// The kernel works first, then calls after_previous itself.
__device__ __forceinline__ void waits_inside() {}
// The kernel is launched when the previous one has ended.
__device__ __forceinline__ void in_order() {}
// The kernel reads nothing of the previous one and waits for it at the end (end_overlap), so that for the
// next kernel both have ended. Several can follow each other. Everything before the first kernel that they
// overlap must be complete: that kernel must be launched in order, or not wait at its start.
__device__ __forceinline__ void overlaps_previous() { let_next_begin(); }
__device__ __forceinline__ void end_overlap() {
    if (blockIdx.x == 0) wait_for_kernel_before();
}
// The kernel has no work, as one before the previous kernel decided: both end together.
__device__ __forceinline__ void pass_over() {
    let_next_begin();
    end_overlap();
}
