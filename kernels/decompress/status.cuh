// Status of a decompression, and its report.
#pragma once
#include "stream/checksum.cuh"

// Records the first failure of a call.
__device__ __forceinline__ void fail(Control& control, i32 status) {
    atomicCAS(&control.status, STATUS_OK, status);
}

// True if the stream is valid so far and its content coded (by this predictor). One combined load and test.
__device__ __forceinline__ bool is_coded(const Control& control) {
    return ((u32)control.status | control.content ^ CONTENT_CODED) == 0;
}
__device__ __forceinline__ bool is_coded_by(const Control& control, u32 predictor) {
    return ((u32)control.status | control.content ^ CONTENT_CODED | control.predictor ^ predictor) == 0;
}

// Reports damage behind the header. A damaged header is reported by the block that reads it. Call with a
// warp.
__device__ __forceinline__ void report_damage(const Job& job) {
    const bool has_header = status_of_stream(job, Header(job.stream, job.stream_bytes)) == STATUS_OK;
    if (has_header && (threadIdx.x & 31) == 0) fail(control_of(job), STATUS_CORRUPT_STREAM);
}

// True if the call expected a Lorenzo stream and got one. factz_parse, which found it, completed before any
// kernel behind factz_check starts.
__device__ __forceinline__ bool is_lorenzo_as_expected(const Job& job, const Control& control) {
    return job.predictor == PREDICTOR_LORENZO &&
           (control.predictor ^ PREDICTOR_LORENZO | control.content ^ CONTENT_CODED) == 0;
}

// True if the call expected a hierarchical stream, and no Lorenzo stream came.
__device__ __forceinline__ bool is_hierarchical_as_expected(const Job& job, const Control& control) {
    return job.predictor == PREDICTOR_HIERARCHICAL &&
           (control.predictor ^ PREDICTOR_LORENZO | control.content ^ CONTENT_CODED) != 0;
}

// True for a tile of the planes that the call takes; groups at both ends may have others too.
__device__ __forceinline__ bool is_taken(const Job& job, u64 tile) {
    return tile - job.first_tile() < job.tiles() - job.first_tile();
}

// Writes the report. Call with one thread.
template <typename T>
__device__ __forceinline__ void write_report(const Job& job, const Control& control) {
    Report r = {};
    r.status = __ldcg(&control.status);
    if (r.status == STATUS_OK) {
        r.stream_bytes = control.stream_bytes;
        r.required_bytes = control.stream_bytes;
        r.exact_vertices = control.content == CONTENT_STORED ? job.vertices() : control.exact;
        r.bound = control.bound;
    }
    *job.report = r;
}
