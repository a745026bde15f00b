// A bound relative to the range of a field. Twin of src/grid/range.rs.
#pragma once
#include "grid/element.cuh"

// The absolute bound for a relative one; 0 for a field without finite values.
__device__ __forceinline__ double relative_bound(double relative, double low, double high) {
    if (low > high) return 0.0;
    // low and high are never -0.
    const double bound = relative * fabs(high - low);
    if (!(isinf(bound) || isnan(bound))) return bound;
    // The range overflows, although its fraction may not.
    const double sum = relative * high - relative * low;
    return sum < 1.7976931348623157e308 ? sum : 1.7976931348623157e308;
}
