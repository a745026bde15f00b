// Twin of src/grid/range.rs.
#pragma once
#include "grid/element.cuh"

// The absolute bound that a fraction of a range is. Of a range without values it is 0.
__device__ __forceinline__ double relative_bound(double relative, double low, double high) {
    if (low > high) return 0.0;
    // No zero has a sign.
    const double bound = relative * fabs(high - low);
    if (!(isinf(bound) || isnan(bound))) return bound;
    // The range itself overflows; its fraction need not.
    const double sum = relative * high - relative * low;
    return sum < 1.7976931348623157e308 ? sum : 1.7976931348623157e308;
}
