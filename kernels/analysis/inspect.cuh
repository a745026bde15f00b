// Reads the header of a stream. Twin of src/capi/inspect.rs.
#pragma once
#include "grid/missing.cuh"
#include "stream/header.cuh"

namespace analysis {

// Grid: 1. Block: 32 threads. Reads the header; writes the info. Twin of Header::read and factz_info::from.
__device__ __forceinline__ void inspect(const Inspection& job) {
    const Header header(job.stream, job.stream_bytes);
    const VolumeFields volume(job.stream, job.stream_bytes);
    const HeaderCheck checked = check_header(header, volume);
    const double dx = header.double_at(AT_DX), dy = header.double_at(AT_DY),
                 bound = header.double_at(AT_BOUND), absolute_bound = header.double_at(AT_ABSOLUTE_BOUND);
    const u32 has_fill = field_of(header.word_at(AT_COMPONENTS), AT_HAS_FILL);
    const u64 fill = header.long_at(AT_FILL_U);
    if (threadIdx.x != 0) return;
    Info info = {};
    info.status = checked.status;
    if (info.status == STATUS_OK) {
        info.format_version = FORMAT_VERSION;
        info.stream_bytes = checked.stream_bytes;
        info.nx = checked.nx;
        info.ny = checked.ny;
        info.nz = checked.nz;
        info.periodic = checked.periodic;
        info.dx = dx;
        info.dy = dy;
        info.dz = checked.is_volume() ? volume.dz : 1.0;
        info.bound = bound;
        info.absolute_bound = absolute_bound;
        info.bound_kind = (i32)field_of(checked.more, AT_BOUND_KIND);
        info.dtype = (i32)field_of(checked.about, AT_DTYPE);
        info.mode = (i32)field_of(checked.about, AT_MODE);
        info.coder = (i32)field_of(checked.about, AT_CODER);
        info.predictor = (i32)field_of(checked.about, AT_PREDICTOR);
        info.preserve = (i32)field_of(checked.more, AT_PRESERVE);
        info.ties = (i32)field_of(checked.more, AT_TIES);
        info.has_fill_value = (i32)has_fill;
        info.component = checked.is_volume()       ? COMPONENT_VOLUME
                         : checked.components == 1 ? 1 + (i32)checked.component
                                                   : 0;
        if (has_fill) info.fill_value = fill_value(info.dtype == 0 ? 4 : 8, fill);
    }
    *job.info = info;
}

}  // namespace analysis
