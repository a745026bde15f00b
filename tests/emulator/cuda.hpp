// What the kernels use of CUDA C++, for a processor. One thread of a block runs at a time, until it comes to
// where it has to wait for others. Collectives are of whole warps: those of a part of one are refused.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define FACTZ_EMULATED
#define __device__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static thread_local  // the only such variables: emulator.cpp finds them all
#define __constant__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) alignas(bytes)

struct Index {
    unsigned x, y, z;
};
extern Index threadIdx, blockIdx, blockDim, gridDim;

struct float2 {
    float x, y;
};
struct double2 {
    double x, y;
};
struct float4 {
    float x, y, z, w;
};
struct int2 {
    int x, y;
};
struct uint2 {
    unsigned x, y;
};
struct int4 {
    int x, y, z, w;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(16) ulonglong2 {
    unsigned long long x, y;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline ulonglong2 make_ulonglong2(unsigned long long x, unsigned long long y) { return {x, y}; }

using std::isinf;
using std::isnan;
using std::max;
using std::min;

template <typename To, typename From>
To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return bits_as<double>(x); }
inline int __double2hiint(double x) { return (int)(bits_as<uint64_t>(x) >> 32); }
inline float __double2float_rd(double x) {
    const float nearest = (float)x;
    return (double)nearest > x ? std::nextafterf(nearest, -INFINITY) : nearest;
}
inline float __fmaf_rn(float a, float b, float c) { return std::fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }

inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int k = 0; k < 32; k++) reversed |= (x >> k & 1) << (31 - k);
    return reversed;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
__extension__ typedef unsigned __int128 Wide;
inline uint64_t __umul64hi(uint64_t a, uint64_t b) { return (uint64_t)((Wide)a * b >> 64); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)(((uint64_t)high << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return (unsigned)((((uint64_t)high << 32 | low) << (shift & 31)) >> 32);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
    const uint64_t bytes = (uint64_t)high << 32 | low;
    unsigned chosen = 0;
    for (int k = 0; k < 4; k++) chosen |= (unsigned)(bytes >> 8 * (selector >> 4 * k & 7) & 255) << 8 * k;
    return chosen;
}
inline int __dp2a_lo(int halves, int bytes, int sum) {
    return (int)((unsigned)sum + (unsigned)((short)halves * (signed char)bytes +
                                            (short)(halves >> 16) * (signed char)(bytes >> 8)));
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
    for (int k = 0; k < 32; k += 8) sum += (a >> k & 255) * (b >> k & 255);
    return sum;
}
inline int __dp4a(int a, int b, int sum) {
    unsigned all = (unsigned)sum;
    for (int k = 0; k < 32; k += 8) all += (unsigned)((signed char)(a >> k) * (signed char)(b >> k));
    return (int)all;
}
template <typename T>
T __ldcg(const T* at) {
    return *at;
}

// One thread at a time is at work.
template <typename T>
T replace(T* at, T value) {
    const T before = *at;
    *at = value;
    return before;
}
template <typename T, typename U>
T atomicAdd(T* at, U value) {
    return replace(at, (T)(*at + (T)value));
}
template <typename T, typename U>
T atomicOr(T* at, U value) {
    return replace(at, (T)(*at | (T)value));
}
template <typename T, typename U>
T atomicAnd(T* at, U value) {
    return replace(at, (T)(*at & (T)value));
}
template <typename T, typename U>
T atomicMin(T* at, U value) {
    return replace(at, std::min(*at, (T)value));
}
template <typename T, typename U>
T atomicMax(T* at, U value) {
    return replace(at, std::max(*at, (T)value));
}
template <typename T, typename U, typename V>
T atomicCAS(T* at, U expected, V value) {
    return replace(at, *at == (T)expected ? (T)value : *at);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

// Gives the values of all lanes of the warp, when all are at the same collective.
enum class Collective { SHUFFLE, BALLOT, SYNC };
const uint64_t* collective(Collective kind, uint64_t value);
// Of all threads of the block: whether one of them says so.
bool block_barrier(bool value);
// Of so many threads of the block, by number.
void named_barrier(int number, int threads);
// Until other blocks have counted up to a number.
void wait_for_count(const unsigned& counter, unsigned number);

inline void of_whole_warps(unsigned lanes) {
    if (lanes == 0xffffffffu) return;
    std::fprintf(stderr, "a collective of the lanes %x\n", lanes);
    std::abort();
}
template <typename T>
T shuffle(unsigned lanes, T value, int (*from)(int lane, int of, int width), int of, int width) {
    of_whole_warps(lanes);
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    const uint64_t* const all = collective(Collective::SHUFFLE, bits);
    const int lane = (int)(threadIdx.x & 31), first = lane & ~(width - 1);
    const int source = first + from(lane - first, of, width);
    std::memcpy(&value, &all[source], sizeof value);
    return value;
}
template <typename T>
T __shfl_sync(unsigned lanes, T value, int source, int width = 32) {
    return shuffle(
        lanes, value, [](int, int of, int n) { return of & (n - 1); }, source, width);
}
template <typename T>
T __shfl_up_sync(unsigned lanes, T value, unsigned distance, int width = 32) {
    return shuffle(
        lanes, value, [](int lane, int of, int) { return lane >= of ? lane - of : lane; }, (int)distance,
        width);
}
template <typename T>
T __shfl_down_sync(unsigned lanes, T value, unsigned distance, int width = 32) {
    return shuffle(
        lanes, value, [](int lane, int of, int n) { return lane + of < n ? lane + of : lane; }, (int)distance,
        width);
}
template <typename T>
T __shfl_xor_sync(unsigned lanes, T value, int mask, int width = 32) {
    return shuffle(
        lanes, value, [](int lane, int of, int) { return lane ^ of; }, mask, width);
}
inline unsigned __ballot_sync(unsigned lanes, int predicate) {
    of_whole_warps(lanes);
    const uint64_t* const all = collective(Collective::BALLOT, predicate != 0);
    unsigned ballot = 0;
    for (int k = 0; k < 32; k++) ballot |= (unsigned)all[k] << k;
    return ballot;
}
inline int __any_sync(unsigned lanes, int predicate) { return __ballot_sync(lanes, predicate) != 0; }
inline int __all_sync(unsigned lanes, int predicate) {
    return __ballot_sync(lanes, predicate) == 0xffffffffu;
}
inline void __syncwarp(unsigned lanes = 0xffffffffu) {
    of_whole_warps(lanes);
    collective(Collective::SYNC, 0);
}
inline void __syncthreads() { block_barrier(false); }
inline int __syncthreads_or(int predicate) { return block_barrier(predicate != 0); }

// For kernels/device/ptx.cuh.
alignas(256) extern unsigned char emulated_shared[256 << 10];
#define LAUNCHED_SHARED(Shared, name) Shared& name = *reinterpret_cast<Shared*>(emulated_shared)
inline void prefetch(const void*) {}
inline void prefetch_near(const void*) {}
template <typename T>
T read_last(const T* at) {
    return *at;
}
// Copies are made when a thread waits for them, not before.
struct Copy {
    void* to;
    const void* from;
    int bytes;
};
inline std::vector<std::vector<Copy>>& copies_of_thread() {
    static std::vector<std::vector<std::vector<Copy>>> threads(1024);
    auto& mine = threads[threadIdx.x];
    if (mine.empty()) mine.emplace_back();
    return mine;
}
// What reads.cpp has to know, where it is there.
#ifdef FACTZ_WATCH_READS
extern "C" void watch_part(const char* region, const void* at, uint64_t bytes, bool written);
extern "C" void watch_read(const void* at, uint64_t bytes);
extern "C" uint64_t reads_seen();
extern "C" void kernel_begins(const char* name);
extern "C" void kernel_ends();
#else
inline void watch_part(const char*, const void*, uint64_t, bool) {}
inline void watch_read(const void*, uint64_t) {}
inline void kernel_begins(const char*) {}
inline void kernel_ends() {}
#endif

template <int BYTES>
void copy_ahead(void* to, const void* from) {
    // A device stops there.
    if (((uintptr_t)to | (uintptr_t)from) % BYTES) {
        std::fprintf(stderr, "a copy of %d bytes that is not aligned\n", BYTES);
        std::abort();
    }
    watch_read(from, BYTES);
    copies_of_thread().back().push_back({to, from, BYTES});
}
inline void end_of_copies() { copies_of_thread().emplace_back(); }
template <int BUT>
void wait_for_copies() {
    auto& groups = copies_of_thread();
    // The last one is not ended yet.
    while ((int)groups.size() - 1 > BUT) {
        for (const Copy& copy : groups.front()) std::memcpy(copy.to, copy.from, copy.bytes);
        groups.erase(groups.begin());
    }
}
template <int THREADS>
void meet_at(int barrier) {
    named_barrier(barrier, THREADS);
}
template <int PART = 32>
unsigned add_from_below(unsigned value, int lanes) {
    const unsigned other = __shfl_up_sync(0xffffffffu, value, (unsigned)lanes, PART);
    return (int)(threadIdx.x & (PART - 1)) >= lanes ? value + other : value;
}
template <int PART = 32>
unsigned less_from_below(unsigned value, unsigned from) {
    const unsigned other = __shfl_up_sync(0xffffffffu, from, 1, PART);
    return (threadIdx.x & (PART - 1)) > 0 ? value - other : value;
}
inline unsigned less_from_below(unsigned value) { return less_from_below(value, value); }
inline unsigned shared_place(const void* shared) {
    return (unsigned)(static_cast<const unsigned char*>(shared) - emulated_shared);
}
inline unsigned shared_byte(unsigned place) { return emulated_shared[place]; }
inline unsigned shared_word(unsigned place) {
    return *reinterpret_cast<const unsigned*>(emulated_shared + place);
}
inline uint2 shared_pair(unsigned place) {
    uint2 value;
    std::memcpy(&value, emulated_shared + place, sizeof value);
    return value;
}
inline unsigned shared_half(unsigned place) {
    return *reinterpret_cast<const unsigned short*>(emulated_shared + place);
}
inline void put_shared(unsigned place, unsigned word) {
    *reinterpret_cast<unsigned*>(emulated_shared + place) = word;
}
template <unsigned BYTES>
uint4 four_words(unsigned place) {
    return {shared_word(place + BYTES), shared_word(place + BYTES + 4), shared_word(place + BYTES + 8),
        shared_word(place + BYTES + 12)};
}
template <int TABLES>
class SharedTable {
    const unsigned* at;

public:
    explicit SharedTable(const unsigned* table) : at(table) {}
    template <int TABLE>
    unsigned word(unsigned bytes) const {
        return at[256 * TABLE + bytes / 4];
    }
};
inline uint64_t from_shared(const uint64_t* at) { return *at; }
inline void load_word_or_byte(uint64_t at, bool wants_word, bool wants_byte, unsigned& word, unsigned& byte) {
    if (wants_word) word = *reinterpret_cast<const unsigned*>(at);
    if (wants_byte) byte = *reinterpret_cast<const unsigned char*>(at);
}
inline void load_if(bool wanted, uint64_t at, uint64_t& value) {
    if (wanted) value = *reinterpret_cast<const uint64_t*>(at);
}
inline void store_if(bool wanted, unsigned short* to, unsigned value) {
    if (wanted) *to = (unsigned short)value;
}
inline unsigned lanes_below() { return (1u << (threadIdx.x & 31)) - 1; }
inline void count_if(unsigned wanted, unsigned* shared) {
    if (wanted) ++*shared;
}
inline unsigned highest_bit(unsigned x) { return 31 - __clz(x); }
inline unsigned reciprocal_below(unsigned x) { return (unsigned)(4294966784.0f / (float)x); }
inline unsigned thread_in_block() { return threadIdx.x; }
inline unsigned blocks_of_grid() { return gridDim.x; }
inline unsigned fresh(unsigned x) { return x; }
inline unsigned long fresh(unsigned long x) { return x; }
inline unsigned long long fresh(unsigned long long x) { return x; }
template <typename T>
class InShared {
    const T* at;

public:
    explicit InShared(const T* place) : at(place) {}
    const T& get() const { return *at; }
};
template <typename T>
T* fresh_global(T* at) {
    return at;
}
inline void let_next_begin() {}
inline void wait_for_kernel_before() {}
