// Values that are stored exactly, as differences to their prediction. Twin of src/entropy/differences.rs;
// FORMAT.md, section 4.5.
#pragma once
#include "entropy/symbols.cuh"
#include "grid/element.cuh"

// Upper 32 bits of a prediction; of +0 if it is -0, because the sign of a zero depends on how a kernel
// computes the prediction.
template <typename T>
__device__ __forceinline__ u32 head_of(T prediction) {
    return (u32)(Real<T>::bits(prediction + T(0)) >> (8 * sizeof(T) - 32));
}

// Key of a value from its bits, and back: an integer in the order of the values.
template <typename T>
__device__ __forceinline__ typename Real<T>::Signed key_of(u64 bits) {
    typedef typename Real<T>::Signed Signed;
    typedef typename Real<T>::Bits Bits;
    const Signed s = (Signed)bits;
    return s ^ (Signed)((Bits)(s >> (8 * sizeof(T) - 1)) >> 1);
}

// Key of the value in the middle of those with given upper 32 bits.
template <typename T>
__device__ __forceinline__ typename Real<T>::Signed key_of_head(u32 head) {
    return key_of<T>(sizeof(T) == 4 ? head : (u64)head << 32 | 1ull << 31);
}

// Differences of the keys of a vertex and its prediction.
template <typename T>
struct Differences {
    typename Real<T>::Bits u, v;

    __device__ __forceinline__ Differences(T a, T b, u32 head_u, u32 head_v) {
        typedef typename Real<T>::Bits Bits;
        u = (Bits)key_of<T>(Real<T>::bits(a)) - (Bits)key_of_head<T>(head_u);
        v = (Bits)key_of<T>(Real<T>::bits(b)) - (Bits)key_of_head<T>(head_v);
    }
    // STORED if the values themselves take no more bits.
    __device__ __forceinline__ u32 symbol() const {
        typedef typename Real<T>::Signed Signed;
        auto magnitude = [](Signed d) { return (u64)(typename Real<T>::Bits)(d ^ d >> (8 * sizeof(T) - 1)); };
        const i32 needed = 65 - __clzll((long long)(magnitude((Signed)u) | magnitude((Signed)v))),
                  least = (i32)difference_bits(FIRST_DIFFERENCE, sizeof(T)),
                  size = needed > least ? (needed - least + 1) / 2 : 0;
        return size < (i32)DIFFERENCES ? FIRST_DIFFERENCE + (u32)size : STORED;
    }
    // Raw bits of that symbol, unless it is STORED.
    __device__ __forceinline__ void raw(u32 symbol, u64& low, u64& high) const {
        const u32 bits = difference_bits(symbol, sizeof(T));
        const u64 mask = (1ull << bits) - 1, second = v & mask;
        low = (u & mask) | second << bits;
        high = second >> (64 - bits);
    }
};

// Symbol of a vertex that is stored, its bits, and its payload for the encoder: in binary32 the raw bits, in
// binary64, where they may not fit, the upper bits of the prediction. As a call, for rare cases.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ Symbol stored_symbol(P values, P prediction) {
    Symbol s = {STORED, 16 * sizeof(T), 0};
    if (!(Real<T>::finite(prediction.x) && Real<T>::finite(prediction.y))) return s;
    const u32 head_u = head_of<T>(prediction.x), head_v = head_of<T>(prediction.y);
    const Differences<T> differences(values.x, values.y, head_u, head_v);
    s.symbol = differences.symbol();
    if (s.symbol == STORED) return s;
    s.bits = 2 * difference_bits(s.symbol, sizeof(T));
    u64 high;
    if (sizeof(T) == 4)
        differences.raw(s.symbol, s.raw, high);
    else
        s.raw = head_u | (u64)head_v << 32;
    return s;
}

// Values of a symbol from FIRST_DIFFERENCE on. Total: any bits give finite values.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P add_differences(u32 symbol, u64 low, u64 high, P prediction) {
    typedef Real<T> R;
    typedef typename R::Bits Bits;
    const u32 bits = difference_bits(symbol, sizeof(T));
    auto value = [&](T predicted, u64 raw) {
        const long long difference = (long long)(raw << (64 - bits)) >> (64 - bits);
        const Bits key = R::finite(predicted) ? (Bits)key_of_head<T>(head_of<T>(predicted)) : Bits(0);
        return R::from_bits((Bits)key_of<T>((Bits)(key + (Bits)difference)));
    };
    const T a = value(prediction.x, low), b = value(prediction.y, low >> bits | high << (64 - bits));
    return R::finite(a) && R::finite(b) ? R::pair(a, b) : R::pair(T(0), T(0));
}
