// What takes the machine's own language. Compiled for a processor (tests/emulator), all of it is given there.
#pragma once
#include "abi.cuh"

#ifndef FACTZ_EMULATED  // on a processor (tests/emulator)
// What is asked for comes to the cache of the device, or of the multiprocessor, meanwhile.
__device__ __forceinline__ void prefetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }
__device__ __forceinline__ void prefetch_near(const void* at) { asm volatile("prefetch.global.L1 [%0];" ::"l"(at)); }

// A barrier of so many threads of a block, by its number from 1 to 15.
template <i32 THREADS>
__device__ __forceinline__ void meet_at(i32 barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}

// Copies of 4, 8 or 16 bytes from global to shared memory that a thread does not wait for: all that it asked for up to
// end_of_copies are a group, and all groups but the last ones can be waited for.
template <i32 BYTES>
__device__ __forceinline__ void copy_ahead(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    const u32 shared = (u32)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES) : "memory");
#else
    if (BYTES == 16)
        *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
    else if (BYTES == 8)
        *static_cast<u64*>(to) = *static_cast<const u64*>(from);
    else
        *static_cast<u32*>(to) = *static_cast<const u32*>(from);
#endif
}
__device__ __forceinline__ void end_of_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <i32 BUT>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(BUT) : "memory");
#endif
}

// The number of the thread in its block, found anew where it is asked for: no register holds it.
__device__ __forceinline__ u32 thread_in_block() {
    u32 thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

// A parameter as something new, so that what follows from it is found where it is needed and has no registers meanwhile.
__device__ __forceinline__ u64 fresh(u64 x) {
    asm volatile("" : "+l"(x));
    return x;
}

// Where the launch allows it (launch.rs: `early`), a kernel begins before the one before has ended: once all blocks
// of that have come to let_next_begin.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Until the kernel before has ended, and what it wrote can be read.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The shared memory of a block that its launch asked for. (From a function, it would be of no known kind.)
#define LAUNCHED_SHARED(Shared, name)                     \
    extern __shared__ __align__(16) u32 dynamic_shared[]; \
    Shared& name = *reinterpret_cast<Shared*>(dynamic_shared)
#endif
