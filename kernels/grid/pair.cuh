// Arithmetic on the two components (u, v) of a vertex, each rounded by itself. Expressions are evaluated one
// component after the other (by_component), which needs fewer registers than operators on pairs.
#pragma once
#include "device/reduce.cuh"
#include "grid/element.cuh"

// (f(components x), f(components y)).
template <typename T, typename F, typename... P>
__device__ __forceinline__ typename Real<T>::Pair by_component(F f, P... pairs) {
    return Real<T>::pair(f(pairs.x...), f(pairs.y...));
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P sum(P a, P b) {
    return by_component<T>([](T a, T b) { return a + b; }, a, b);
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P mean(P a, P b) {
    return by_component<T>([](T a, T b) { return T(0.5) * (a + b); }, a, b);
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P difference(P a, P b) {
    return by_component<T>([](T a, T b) { return a - b; }, a, b);
}

// The larger magnitude of both components, and of their differences.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ T magnitude(P a) {
    return Real<T>::high(Real<T>::abs(a.x), Real<T>::abs(a.y));
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ T distance(P a, P b) {
    return Real<T>::high(Real<T>::abs(a.x - b.x), Real<T>::abs(a.y - b.y));
}
