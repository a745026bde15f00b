// Reads the header of a stream. Twin of src/capi/inspect.rs.
#pragma once
#include "stream/container.cuh"

namespace analysis {

// Grid: 1. Block: 32 threads. Reads the header; writes the info. Twin of Header::read and factz_info::from.
__device__ __forceinline__ void inspect(const Inspection& job) {
    const Header header(job.stream, job.stream_bytes);
    const HeaderCheck checked = check_header(header);
    const u32 more = header.word_at(16);
    const double dx = header.double_at(80), dy = header.double_at(88), bound = header.double_at(56),
                 absolute_bound = header.double_at(64);
    const u32 has_fill = header.word_at(24) >> 24;
    const u64 fill = header.long_at(96);
    if (threadIdx.x != 0) return;
    Info info = {};
    info.status = checked.status;
    if (info.status == STATUS_OK) {
        info.format_version = checked.version;
        info.stream_bytes = checked.stream_bytes;
        info.nx = checked.nx;
        info.ny = checked.ny;
        info.nz = 1;
        info.dx = dx;
        info.dy = dy;
        info.dz = 1.0;
        info.bound = bound;
        info.absolute_bound = absolute_bound;
        info.bound_kind = (i32)(more >> 8 & 255);
        info.dtype = (i32)(checked.about & 255);
        info.mode = (i32)(checked.about >> 8 & 255);
        info.coder = (i32)(checked.about >> 16 & 255);
        info.predictor = (i32)(checked.about >> 24);
        info.preserve = (i32)(more & 255);
        info.has_fill_value = (i32)has_fill;
        if (has_fill) info.fill_value = fill_value(info.dtype == 0 ? 4 : 8, fill);
    }
    *job.info = info;
}

}  // namespace analysis
