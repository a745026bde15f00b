// Reads header, tables and group sizes of a stream, and checks the checksum. Nothing beyond the stream's
// bytes is read, whatever it says. Twins: src/stream, src/entropy/tables.rs, rans.rs and
// huffman.rs.
#pragma once
#include "decompress/parse_groups.cuh"
#include "decompress/residuals.cuh"
#include "grid/missing.cuh"
#include "predict/quantizer.cuh"

// Fills the control block from the header. Call with a block.
template <typename T>
__device__ __forceinline__ void parse_header(const Job& job) {
    Control& control = control_of(job);
    const Header header(job.stream, job.stream_bytes);
    if (threadIdx.x < 32) {
        const i32 status = status_of_stream(job, header);
        const u32 coding = header.word_at(AT_DTYPE), content = header.word_at(AT_PRESERVE),
                  first = header.word_at(AT_LEVEL_BOUND_SCALING), second = header.word_at(AT_COMPONENTS);
        const double bound = header.double_at(AT_ABSOLUTE_BOUND),
                     half_bin_width = header.double_at(AT_HALF_BIN_WIDTH);
        const u64 fill[2] = {header.long_at(AT_FILL_U), header.long_at(AT_FILL_V)},
                  stream_bytes = header.long_at(AT_STREAM_BYTES), groups = header.long_at(AT_GROUPS);
        const u32 table_bytes = header.word_at(AT_TABLE_BYTES);
        after_previous();
        if (threadIdx.x != 0) return;
        if (status != STATUS_OK) fail(control, status);
        control.level_bound_scaling = field_of(first, AT_LEVEL_BOUND_SCALING);
        for (i32 k = 0; k < ANCHOR_LEVEL; k++)
            control.interpolants[k] = (k < 3 ? first >> 8 * (k + 1) : second >> 8 * (k - 3)) & 255;
        control.coder = field_of(coding, AT_CODER);
        control.predictor = field_of(coding, AT_PREDICTOR);
        control.content = field_of(content, AT_CONTENT);
        control.bound = bound;
        control.half_bin_width = half_bin_width;
        control.fill[0] = fill[0];
        control.fill[1] = fill[1];
        control.fill_bits = field_of(second, AT_HAS_FILL) ? fill[0] : no_fill<T>();
        reconstruct_tables<T>(job).fill_bits = control.fill_bits;
        control.groups = groups;
        control.table_bytes = table_bytes;
        control.stream_bytes = status == STATUS_OK ? stream_bytes : 0;
    } else {
        const double half_bin_width = header.double_at(AT_HALF_BIN_WIDTH);
        const u32 level_bound_scaling =
            field_of(header.word_at(AT_LEVEL_BOUND_SCALING), AT_LEVEL_BOUND_SCALING);
        after_previous();
        for (u32 e = threadIdx.x - 32; e < LEVELS * REFINEMENTS; e += PARSE_THREADS - 32)
            quantizer_entry<T>(half_bin_width, level_bound_scaling, (i32)(e / REFINEMENTS),
                (i32)(e % REFINEMENTS), control.quantizer.width[e / REFINEMENTS][e % REFINEMENTS],
                control.quantizer.inverse[e / REFINEMENTS][e % REFINEMENTS]);
        make_residual_tables<T>(job, half_bin_width, level_bound_scaling, 32, PARSE_THREADS - 32);
    }
}

// Grid: 1 + TABLES + any number of blocks. Block: PARSE_THREADS threads. Static shared: TableReader,
// GroupSums. A block per table, one for the header, the rest for the groups. Reads: stream. Writes: control
// block, decoding tables, tables of residuals, group offsets and sizes. Waits for the previous kernel,
// factz_begin, before the first write.
template <typename T>
__device__ __forceinline__ void parse_stream(const Job& job) {
    if (blockIdx.x < TABLES)
        parse_table<HEADER_BYTES>(job, blockIdx.x);
    else if (blockIdx.x == TABLES)
        parse_header<T>(job);
    else
        parse_groups(job, blockIdx.x - (TABLES + 1), gridDim.x - (TABLES + 1));
}
