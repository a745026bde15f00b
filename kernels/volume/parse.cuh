// Reads header, tables and group sizes of the stream of a volume. Twins: src/stream, src/entropy/tables.rs.
#pragma once
#include "decompress/parse_groups.cuh"
#include "predict/quantizer.cuh"

// Fills the control block from the header. Call with a warp.
__device__ __forceinline__ void parse_volume_header(const Job& job) {
    Control& control = control_of(job);
    const Header header(job.stream, job.stream_bytes);
    const VolumeFields fields(job.stream, job.stream_bytes);
    const i32 status = status_of_stream(job, header);
    const u32 coding = header.word_at(AT_DTYPE), content = header.word_at(AT_PRESERVE),
              first = header.word_at(AT_LEVEL_BOUND_SCALING), second = header.word_at(AT_COMPONENTS),
              table_bytes = header.word_at(AT_TABLE_BYTES);
    const double bound = header.double_at(AT_ABSOLUTE_BOUND),
                 half_bin_width = header.double_at(AT_HALF_BIN_WIDTH);
    const u64 fill[2] = {header.long_at(AT_FILL_U), header.long_at(AT_FILL_V)},
              stream_bytes = header.long_at(AT_STREAM_BYTES), groups = header.long_at(AT_GROUPS);
    if (threadIdx.x != 0) return;
    if (status != STATUS_OK) fail(control, status);
    control.level_bound_scaling = field_of(first, AT_LEVEL_BOUND_SCALING);
    for (i32 k = 0; k < ANCHOR_LEVEL; k++)
        control.interpolants[k] = (k < 3 ? first >> 8 * (k + 1) : second >> 8 * (k - 3)) & 255;
    control.coder = field_of(coding, AT_CODER);
    control.predictor = PREDICTOR_HIERARCHICAL;
    control.content = field_of(content, AT_CONTENT);
    control.bound = bound;
    control.half_bin_width = half_bin_width;
    control.fill[0] = fill[0];
    control.fill[1] = fill[1];
    control.groups = groups;
    control.table_bytes = table_bytes;
    control.stream_bytes = status == STATUS_OK ? stream_bytes : 0;
    control.exact = fields.exact;
    control.list = {stream_bytes - fields.list_bytes, fields.list_bytes, fields.chunks, fields.repaired,
        fields.exact, fields.fill_w, 0, 0, 0, 1, 0};
}

// Grid: 1 + TABLES + any number of blocks. Block: PARSE_THREADS threads. A block per table, one for the
// header, the rest for the groups. Reads: stream. Writes: control block, decoding tables, group offsets and
// sizes.
template <typename T>
__device__ __forceinline__ void parse_volume(const Job& job) {
    if (blockIdx.x < TABLES)
        parse_table<VOLUME_HEADER_BYTES>(job, blockIdx.x);
    else if (blockIdx.x > TABLES)
        parse_groups(job, blockIdx.x - (TABLES + 1), gridDim.x - (TABLES + 1));
    else if (threadIdx.x < 32)
        parse_volume_header(job);
}
