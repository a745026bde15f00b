// Entry that reads the header of a stream. Twin: src/capi/inspect.rs.
#pragma once
#include "stage/container.cuh"

namespace analysis {

// Grid: 1. Block: 32. Twin of Header::read and of factz_info::from.
__device__ __forceinline__ void inspect(const Inspection& job) {
    if (threadIdx.x != 0) return;
    Info info = {};
    const u8* h = job.stream;
    info.status = job.stream_bytes < HEADER_BYTES ? STATUS_CORRUPT_STREAM : check_header(h);
    if (info.status == STATUS_OK) {
        info.format_version = get16(h + 4);
        info.stream_bytes = get64(h + 112);
        info.nx = get64(h + 32);
        info.ny = get64(h + 40);
        info.dx = get_f64(h + 80);
        info.dy = get_f64(h + 88);
        info.bound = get_f64(h + 56);
        info.absolute_bound = get_f64(h + 64);
        info.bound_kind = h[17];
        info.dtype = h[12];
        info.mode = h[13];
        info.coder = h[14];
        info.predictor = h[15];
        info.preserve = h[16];
    }
    *job.info = info;
}

}  // namespace analysis
