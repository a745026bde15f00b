// PTX instructions. The emulated build (tests/emulator) has its own versions.
#pragma once
#include "device/shared.cuh"

#ifndef FACTZ_EMULATED  // see tests/emulator/cuda.hpp
// Prefetch into L2, or into L1.
__device__ __forceinline__ void prefetch(const void* at) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}
__device__ __forceinline__ void prefetch_near(const void* at) {
    asm volatile("prefetch.global.L1 [%0];" ::"l"(at));
}

// Load for the last time: evict first, so that reused lines stay in the caches.
template <typename T>
__device__ __forceinline__ T read_last(const T* at) {
    return __ldcs(at);
}

// Barrier 1..15 for THREADS threads of a block.
template <i32 THREADS>
__device__ __forceinline__ void meet_at(i32 barrier) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}

// Until other blocks, which run at the same time, have counted up to `number`.
__device__ __forceinline__ void wait_for_count(const u32& counter, u32 number) {
    while (*(const volatile u32*)&counter < number) {
    }
}

// Asynchronous copies of 4, 8 or 16 bytes from global to shared memory (sm_80 on; plain copies before).
// end_of_copies closes a group; wait_for_copies waits for all but the BUT last groups.
template <i32 BYTES>
__device__ __forceinline__ void copy_ahead(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
    const u32 shared = (u32)__cvta_generic_to_shared(to);
    if (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(from), "n"(BYTES)
                     : "memory");
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

// threadIdx.x, reread at each use so that it occupies no register.
__device__ __forceinline__ u32 thread_in_block() {
    u32 thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
}

// The lanes below this one, likewise.
__device__ __forceinline__ u32 lanes_below() {
    u32 lanes;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(lanes));
    return lanes;
}

// gridDim.x, likewise.
__device__ __forceinline__ u32 blocks_of_grid() {
    u32 blocks;
    asm volatile("mov.u32 %0, %%nctaid.x;" : "=r"(blocks));
    return blocks;
}

// value + the value of the lane `lanes` below, if that lane is in the same PART of the warp.
template <i32 PART = 32>
__device__ __forceinline__ u32 add_from_below(u32 value, i32 lanes) {
    asm volatile("{.reg .pred p; .reg .u32 t; shfl.sync.up.b32 t|p, %0, %1, %2, -1; @p add.u32 %0, %0, t;}"
                 : "+r"(value)
                 : "r"(lanes), "n"((32 - PART) << 8));
    return value;
}

// value - the value `from` of the lane below, if that lane is in the same PART of the warp.
template <i32 PART = 32>
__device__ __forceinline__ u32 less_from_below(u32 value, u32 from) {
    asm volatile("{.reg .pred p; .reg .u32 t; shfl.sync.up.b32 t|p, %1, 1, %2, -1; @p sub.u32 %0, %0, t;}"
                 : "+r"(value)
                 : "r"(from), "n"((32 - PART) << 8));
    return value;
}
__device__ __forceinline__ u32 less_from_below(u32 value) { return less_from_below(value, value); }

// Shared memory by its 32-bit address.
__device__ __forceinline__ u32 shared_place(const void* shared) {
    return (u32)__cvta_generic_to_shared(shared);
}
__device__ __forceinline__ u32 shared_byte(u32 place) {
    u32 value;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(value) : "r"(place));
    return value;
}
__device__ __forceinline__ u32 shared_word(u32 place) {
    u32 value;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(place));
    return value;
}
__device__ __forceinline__ uint2 shared_pair(u32 place) {
    uint2 value;
    asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(value.x), "=r"(value.y) : "r"(place));
    return value;
}
__device__ __forceinline__ u32 shared_half(u32 place) {
    u16 value;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(value) : "r"(place));
    return value;
}
__device__ __forceinline__ void put_shared(u32 place, u32 word) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(place), "r"(word) : "memory");
}
// Four words from place + BYTES on; all loads start before the first is used.
template <u32 BYTES>
__device__ __forceinline__ uint4 four_words(u32 place) {
    uint4 four;
    asm volatile(
        "ld.shared.u32 %0, [%4+%5]; ld.shared.u32 %1, [%4+%6]; ld.shared.u32 %2, [%4+%7]; ld.shared.u32 %3, "
        "[%4+%8];"
        : "=r"(four.x), "=r"(four.y), "=r"(four.z), "=r"(four.w)
        : "r"(place), "n"(BYTES), "n"(BYTES + 4), "n"(BYTES + 8), "n"(BYTES + 12));
    return four;
}

// Consecutive tables of 256 words in shared memory, aligned to their total size, by an address that is
// computed once.
template <i32 TABLES>
class SharedTable {
    u32 at;

public:
    __device__ __forceinline__ explicit SharedTable(const u32* table)
        : at((u32)__cvta_generic_to_shared(table)) {
        asm volatile("" : "+r"(at));
    }
    // The word at a byte offset in a table.
    template <i32 TABLE>
    __device__ __forceinline__ u32 word(u32 bytes) const {
        static_assert(TABLE < TABLES, "there is one");
        u32 value;
        asm("ld.shared.u32 %0, [%1+%2];" : "=r"(value) : "r"(at | bytes), "n"(1024 * TABLE));
        return value;
    }
};

// Load from shared memory that the compiler neither moves nor repeats.
__device__ __forceinline__ u64 from_shared(const u64* at) {
    u64 value;
    asm volatile("ld.volatile.shared.u64 %0, [%1];"
                 : "=l"(value)
                 : "r"((u32)__cvta_generic_to_shared(at))
                 : "memory");
    return value;
}

// Loads a word, a byte or nothing by predication instead of branches; an output that is not wanted keeps its
// value.
__device__ __forceinline__ void load_word_or_byte(
    u64 at, bool wants_word, bool wants_byte, u32& word, u32& byte) {
    asm volatile(
        "{.reg .pred p, q; setp.ne.u32 p, %3, 0; setp.ne.u32 q, %4, 0; @p ld.global.u32 %0, [%2]; @q "
        "ld.global.u8 %1, [%2];}"
        : "+r"(word), "+r"(byte)
        : "l"(at), "r"((u32)wants_word), "r"((u32)wants_byte)
        : "memory");
}
// Loads eight bytes or keeps the value, by predication.
__device__ __forceinline__ void load_if(bool wanted, u64 at, u64& value) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u64 %0, [%1];}"
                 : "+l"(value)
                 : "l"(at), "r"((u32)wanted)
                 : "memory");
}

// Predicated store.
__device__ __forceinline__ void store_if(bool wanted, u16* to, u32 value) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p st.global.u16 [%0], %1;}" ::"l"(to),
                 "h"((u16)value), "r"((u32)wanted)
                 : "memory");
}

// Predicated increment in shared memory.
__device__ __forceinline__ void count_if(u32 wanted, u32* shared) {
    asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p red.shared.add.u32 [%0], 1;}" ::"r"(
                     (u32)__cvta_generic_to_shared(shared)),
                 "r"(wanted)
                 : "memory");
}

// Index of the highest set bit.
__device__ __forceinline__ u32 highest_bit(u32 x) {
    u32 bit;
    asm("bfind.u32 %0, %1;" : "=r"(bit) : "r"(x));
    return bit;
}

// 2^32 / x for x <= 2^23, never too large and at most 4 parts in 2^23 too small: the approximate reciprocal
// is off by at most one part in 2^23 either way; it is multiplied by a number two parts in 2^24 below 2^32
// and rounded down.
__device__ __forceinline__ u32 reciprocal_below(u32 x) {
    u32 below;
    asm("{.reg .f32 q; cvt.rn.f32.u32 q, %1; rcp.approx.ftz.f32 q, q; mul.rz.f32 q, q, 0f4F7FFFFE; "
        "cvt.rzi.u32.f32 %0, q;}"
        : "=r"(below)
        : "r"(x));
    return below;
}

// Hides where a value comes from, so that the compiler recomputes what depends on it instead of keeping it in
// registers.
__device__ __forceinline__ u64 fresh(u64 x) {
    asm volatile("" : "+l"(x));
    return x;
}

__device__ __forceinline__ u32 fresh(u32 x) {
    asm volatile("" : "+r"(x));
    return x;
}

// Address in shared memory in one register.
template <typename T>
class InShared {
    u32 at;

public:
    __device__ __forceinline__ explicit InShared(const T* place) : at((u32)__cvta_generic_to_shared(place)) {}
    __device__ __forceinline__ const T& get() const {
        return *static_cast<const T*>(__cvta_shared_to_generic(at));
    }
};

// As fresh, for a global address, which the compiler still knows to be global.
template <typename T>
__device__ __forceinline__ T* fresh_global(T* at) {
    return static_cast<T*>(__cvta_global_to_generic(fresh((u64)__cvta_generic_to_global(at))));
}

// If the next kernel is launched early (`early` in src/cuda/launch.rs), it begins when all blocks of this
// kernel have called let_next_begin or ended.
__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
// Waits until the previous kernel has ended and its writes are visible.
__device__ __forceinline__ void wait_for_kernel_before() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Dynamic shared memory of a block. (A macro: returned from a function, its address space would be unknown.)
#define LAUNCHED_SHARED(Shared, name)                     \
    extern __shared__ __align__(16) u32 dynamic_shared[]; \
    Shared& name = *reinterpret_cast<Shared*>(dynamic_shared)
#endif
