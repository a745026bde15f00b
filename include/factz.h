/*
 * factz: error-bounded compression of 2D and 3D vector fields that keeps every critical point.
 *
 * Generated from src/capi by cbindgen; do not edit.
 *
 * A field has two components u and v at the nx * ny vertices of a regular grid, with x varying fastest. The
 * diagonal from (x, y) to (x+1, y+1) splits each cell into two triangles; the field is linear on each. After
 * compression and decompression every value is within the error bound, every critical point (zero of the
 * field) is in the same triangle with the same type, and there is no spurious one.
 *
 *     factz_config config;
 *     factz_config_init(&config, nx, ny, FACTZ_BOUND_RELATIVE, 1e-3);
 *     factz_sizes sizes;
 *     factz_compress_sizes(&config, &sizes);
 *     void *stream = malloc(sizes.max_stream_bytes);
 *     factz_report report;
 *     factz_status status = factz_compress_host(u, v, nx * ny, &config, stream, sizes.max_stream_bytes,
 *                                               &report, 0);
 *     if (status != FACTZ_OK) fprintf(stderr, "%s: %s\n", factz_status_string(status), factz_last_error());
 *     status = factz_decompress_host(stream, report.stream_bytes, &config, u2, v2, nx * ny, &report, 0);
 *
 * The following holds for every function that does not say otherwise.
 *
 * Memory. The caller owns all memory. The library keeps only a pool of threads between calls, and no pointer
 * after a _host function has returned. Pointers must not be NULL. Structs of this header are aligned to 8
 * bytes; fields and streams in host memory may have any alignment. Inputs are const and never written.
 * Outputs must not overlap inputs or other outputs; the functions refuse addresses that show an overlap.
 *
 * Sizes. Numbers are 64-bit: bytes if the name ends in _bytes, elements if it ends in _pitch or _stride,
 * vertices for n, which does not count ghost vertices.
 *
 * Errors. Functions that can fail return a factz_status. factz_last_error() describes the error of the latest
 * call of the thread, with names and values. A _host function that fails writes its results nevertheless,
 * with the status and zeros, unless the pointer to the result is itself wrong. The library never prints,
 * exits, aborts or throws. Any function may return FACTZ_ERROR_INTERNAL, which is a defect of the library.
 *
 * Blocking. _host functions return when the work is done.
 *
 * Device functions only enqueue work on a CUDA stream. They do not allocate, synchronise or wait, and can be
 * captured into a CUDA graph once the kernels are loaded (factz_prepare_device). FACTZ_OK says that the work
 * was enqueued; the result has a status of its own, valid when the stream has reached that point. Results are
 * untouched if the arguments are refused. Every buffer must live until the work is done. The configuration is
 * in host memory and is copied before the call returns. All other pointers are device memory or managed
 * memory of the stream's device; except for the workspace, pinned host memory mapped at the same address is
 * accepted. The CUDA context is that of the stream; the current context is unchanged. CUDA is not linked:
 * without it, _host functions work, and _device functions check their arguments and return
 * FACTZ_ERROR_NO_DEVICE.
 *
 * Threads. Every function may be called from any thread and from several at once; concurrent calls need
 * separate outputs and workspaces. The argument `threads` is the largest number of threads to use: 0 stands
 * for one per processor, more than 1024 count as 1024, and 1 is the calling thread alone. The threads belong
 * to a pool, which the first call that needs it starts; they sleep between calls and block all signals. If no
 * thread can be started, the calling thread does the work. A forked child has a pool of its own. A calling
 * thread needs a stack of 64 KB; 32 KB are too little.
 *
 * Floating point. Results do not depend on the caller's rounding mode, flush-to-zero or traps: each function
 * sets the default environment and restores the caller's, exception flags included. Callbacks run in the
 * caller's environment.
 *
 * Working memory of _host functions, relative to the field (u and v together): compression 0.1 to 0.5 for
 * smooth fields, at most 3 (4.5 for a single row or column); decompression 0.1 to 0.2, at most 1.5 (2.75).
 * Comparison takes 13 rows per thread, extraction 4 rows per thread and the points found. Each call takes 64
 * KB, each thread about 0.2 MB. If the memory is not available, the functions return
 * FACTZ_ERROR_OUT_OF_MEMORY. _device functions use the caller's workspace only.
 */

#ifndef FACTZ_H
#define FACTZ_H


#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** CUDA's opaque stream. */
struct CUstream_st;
/**
 * A `cudaStream_t` or `CUstream`, which pass without a cast; NULL is the default stream. No CUDA header
 * is needed.
 */
typedef struct CUstream_st *factz_stream;


/**
 * `dtype`: u and v are IEEE 754 binary32 (`float`).
 */
#define FACTZ_DTYPE_F32 0

/**
 * `dtype`: u and v are IEEE 754 binary64 (`double`).
 */
#define FACTZ_DTYPE_F64 1

/**
 * `bound_kind`: the bound is in the unit of the field.
 */
#define FACTZ_BOUND_ABSOLUTE 0

/**
 * `bound_kind`: the bound is a fraction of max - min over the finite values of u and v together, those of
 * filled vertices excepted.
 */
#define FACTZ_BOUND_RELATIVE 1

/**
 * `mode`: an analytic bound from the original data; one pass, fastest.
 */
#define FACTZ_MODE_BLOCK_WISE 0

/**
 * `mode`: try the full bound, verify the triangles and back off; smallest streams.
 */
#define FACTZ_MODE_SPECULATIVE 1

/**
 * `mode` of volumes: code without constraints, verify every tetrahedron, and repair the few that changed.
 */
#define FACTZ_MODE_REPAIR 2

/**
 * `coder`: asymmetric numeral systems.
 */
#define FACTZ_CODER_ANS 0

/**
 * `coder`: canonical Huffman codes.
 */
#define FACTZ_CODER_HUFFMAN 1

/**
 * `predictor`: dyadic interpolation, coarse to fine.
 */
#define FACTZ_PREDICTOR_HIERARCHICAL 0

/**
 * `predictor`: Lorenzo. Block-wise mode only (else FACTZ_ERROR_INVALID_CONFIG).
 */
#define FACTZ_PREDICTOR_LORENZO 1

/**
 * `preserve`: nothing but the error bound.
 */
#define FACTZ_PRESERVE_NONE 0

/**
 * `preserve`: every critical point stays in its triangle and none appears.
 */
#define FACTZ_PRESERVE_POINTS 1

/**
 * `preserve`: as FACTZ_PRESERVE_POINTS, and every critical point keeps its type.
 */
#define FACTZ_PRESERVE_TYPES 2

/**
 * `ties`: a triangle whose zero lies on an edge or at a vertex keeps the signs of its determinants and of
 * all its components, so that every rule that breaks ties gives the same answer. Isolated zeros at vertices
 * and on edges keep their places and indices.
 */
#define FACTZ_TIES_ALL 0

/**
 * `ties`: the zeros of the piecewise linear field stay the same set of points. Zero vertices stay zero, no
 * other value becomes zero, and nothing else is kept of the triangles around them: FACTZ_MODE_SPECULATIVE
 * may change the index of an isolated zero at a vertex. Smaller streams of fields with such triangles, for
 * instance along coasts.
 */
#define FACTZ_TIES_ZEROS 1

/**
 * `ties`: a triangle whose zero lies on an edge or at a vertex keeps its zero vertices and the answer of one
 * rule, the simulation of simplicity as FTK applies it. Streams are nearly as small as with
 * FACTZ_TIES_ZEROS. FACTZ_MODE_SPECULATIVE may change isolated zeros: vertices stay zero, but other zeros
 * may appear beside them, and the index may change; a zero on an edge may move to another edge of its
 * triangle. Volumes refuse this rule.
 */
#define FACTZ_TIES_SOS 2

/**
 * Bit of `halo` and `pin`: the side of column 0.
 */
#define FACTZ_SIDE_X_MIN 1

/**
 * Bit of `halo` and `pin`: the side of column nx - 1.
 */
#define FACTZ_SIDE_X_MAX 2

/**
 * Bit of `halo` and `pin`: the side of row 0.
 */
#define FACTZ_SIDE_Y_MIN 4

/**
 * Bit of `halo` and `pin`: the side of row ny - 1.
 */
#define FACTZ_SIDE_Y_MAX 8

/**
 * All sides of a plane.
 */
#define FACTZ_SIDES_ALL 15

/**
 * Bit of `halo` and `pin`: the side of plane 0 of a volume.
 */
#define FACTZ_SIDE_Z_MIN 16

/**
 * Bit of `halo` and `pin`: the side of plane nz - 1 of a volume.
 */
#define FACTZ_SIDE_Z_MAX 32

/**
 * All sides of a volume.
 */
#define FACTZ_SIDES_ALL_OF_VOLUME 63

/**
 * Bit of `periodic`: column nx - 1 is a neighbour of column 0.
 */
#define FACTZ_PERIODIC_X 1

/**
 * Bit of `periodic`: row ny - 1 is a neighbour of row 0.
 */
#define FACTZ_PERIODIC_Y 2

/**
 * Bit of `periodic`: plane nz - 1 of a volume is a neighbour of plane 0.
 */
#define FACTZ_PERIODIC_Z 4

/**
 * Bytes that hold any text of `factz_config_to_string`, with its terminating zero.
 */
#define FACTZ_CONFIG_STRING_BYTES 512

/**
 * Words that `factz_config_to_words` writes.
 */
#define FACTZ_CONFIG_WORDS 24

/**
 * Bit of `warnings`, with a relative bound only: outliers make the range of the field, such as a fill value
 * that the configuration does not name, and the bound may be larger than all data. Of a fixed sample of at
 * most 1024 vertices (those that are zero, filled or not finite do not count), a sixteenth or more is
 * smaller than a millionth of the range, and a sixteenth or less lies between that and a quarter of the
 * range. What to do: set fill_value, or give an absolute bound.
 */
#define FACTZ_WARNING_WIDE_RANGE 1

/**
 * Bytes at the start of a stream that `factz_inspect_host` and `factz_inspect_device` need; every
 * stream has at least as many.
 */
#define FACTZ_INSPECT_BYTES 128

/**
 * Bytes at the start of the stream of a volume that `factz_inspect_host` needs.
 */
#define FACTZ_VOLUME_INSPECT_BYTES 176

/**
 * A stream holds both components, as `factz_compress_host` and `factz_compress_device` write it, or one of
 * them (`factz_split_host`).
 */
#define FACTZ_COMPONENT_BOTH 0

#define FACTZ_COMPONENT_U 1

#define FACTZ_COMPONENT_V 2

/**
 * The stream holds u, v and w of a volume.
 */
#define FACTZ_COMPONENT_VOLUME 3

/**
 * `point_type`: inside a triangle, det J < 0.
 */
#define FACTZ_POINT_SADDLE 0

/**
 * `point_type`: inside a triangle, the field flows in, along two directions.
 */
#define FACTZ_POINT_ATTRACTING_NODE 1

/**
 * `point_type`: inside a triangle, the field flows out, along two directions.
 */
#define FACTZ_POINT_REPELLING_NODE 2

/**
 * `point_type`: inside a triangle, the field spirals in.
 */
#define FACTZ_POINT_ATTRACTING_FOCUS 3

/**
 * `point_type`: inside a triangle, the field spirals out.
 */
#define FACTZ_POINT_REPELLING_FOCUS 4

/**
 * `point_type`: inside a triangle, the field circles around it (the trace of J is exactly 0).
 */
#define FACTZ_POINT_CENTER 5

/**
 * `point_type`: at a vertex, where u = v = 0. No J belongs to it: see `index`.
 */
#define FACTZ_POINT_VERTEX_ZERO 6

/**
 * `point_type`: inside an edge, whose vectors have opposite directions. No J belongs to it: see `index`.
 */
#define FACTZ_POINT_EDGE_ZERO 7

/**
 * `simplex`: the triangle with the vertices (x, y), (x+1, y), (x+1, y+1).
 */
#define FACTZ_SIMPLEX_LOWER 0

/**
 * `simplex`: the triangle with the vertices (x, y), (x+1, y+1), (x, y+1).
 */
#define FACTZ_SIMPLEX_UPPER 1

/**
 * `simplex`: the edge from (x, y) to (x+1, y).
 */
#define FACTZ_SIMPLEX_EDGE_X 2

/**
 * `simplex`: the edge from (x, y) to (x, y+1).
 */
#define FACTZ_SIMPLEX_EDGE_Y 3

/**
 * `simplex`: the edge from (x, y) to (x+1, y+1).
 */
#define FACTZ_SIMPLEX_DIAGONAL 4

/**
 * `simplex`: the vertex (x, y).
 */
#define FACTZ_SIMPLEX_VERTEX 5

/**
 * `index`: not defined, at the border of the grid or beside missing vertices.
 */
#define FACTZ_INDEX_UNDEFINED -100

/**
 * `point_type` of a volume: inside a tetrahedron, out along all directions. Numbers below 8 are those of the
 * eigenvalues of J with a negative real part, plus 4 if two eigenvalues are complex.
 */
#define FACTZ_VOLUME_POINT_REPELLING_NODE 0

/**
 * `point_type` of a volume: inside a tetrahedron, in along one direction, out along two.
 */
#define FACTZ_VOLUME_POINT_REPELLING_NODE_SADDLE 1

/**
 * `point_type` of a volume: inside a tetrahedron, in along two directions, out along one.
 */
#define FACTZ_VOLUME_POINT_ATTRACTING_NODE_SADDLE 2

/**
 * `point_type` of a volume: inside a tetrahedron, in along all directions.
 */
#define FACTZ_VOLUME_POINT_ATTRACTING_NODE 3

/**
 * `point_type` of a volume: inside a tetrahedron, out along one direction, and around it out.
 */
#define FACTZ_VOLUME_POINT_REPELLING_FOCUS 4

/**
 * `point_type` of a volume: inside a tetrahedron, in along one direction, and around it out.
 */
#define FACTZ_VOLUME_POINT_REPELLING_FOCUS_SADDLE 5

/**
 * `point_type` of a volume: inside a tetrahedron, out along one direction, and around it in.
 */
#define FACTZ_VOLUME_POINT_ATTRACTING_FOCUS_SADDLE 6

/**
 * `point_type` of a volume: inside a tetrahedron, in along one direction, and around it in.
 */
#define FACTZ_VOLUME_POINT_ATTRACTING_FOCUS 7

/**
 * `point_type` of a volume: inside a tetrahedron, out along one direction, and around it in circles (two
 * eigenvalues have a real part of exactly 0).
 */
#define FACTZ_VOLUME_POINT_REPELLING_CENTER 8

/**
 * `point_type` of a volume: inside a tetrahedron, in along one direction, and around it in circles.
 */
#define FACTZ_VOLUME_POINT_ATTRACTING_CENTER 9

/**
 * `point_type` of a volume: at a vertex, where u = v = w = 0. No J belongs to it: see `index`.
 */
#define FACTZ_VOLUME_POINT_VERTEX_ZERO 10

/**
 * `point_type` of a volume: inside an edge. No J belongs to it: see `index`.
 */
#define FACTZ_VOLUME_POINT_EDGE_ZERO 11

/**
 * `point_type` of a volume: inside a face of tetrahedra. No J belongs to it: see `index`.
 */
#define FACTZ_VOLUME_POINT_FACE_ZERO 12

/**
 * `simplex` of a volume: the first of 6 tetrahedra. A simplex is a path from the vertex (cell_x, cell_y, cell_z),
 * and each step goes one further along some axes. The steps of tetrahedra 0 to 5 are along x, y, z; x, z, y; y, x,
 * z; y, z, x; z, x, y; z, y, x.
 */
#define FACTZ_VOLUME_SIMPLEX_TETRAHEDRON 0

/**
 * `simplex` of a volume: the first of 12 faces. The steps of faces 6 to 17 are along x, y; x, z; x, yz; y, x; y, z;
 * y, xz; xy, z; z, x; z, y; z, xy; xz, y; yz, x.
 */
#define FACTZ_VOLUME_SIMPLEX_FACE 6

/**
 * `simplex` of a volume: the first of 7 edges. The steps of edges 18 to 24 are along x; y; xy; z; xz; yz; xyz.
 */
#define FACTZ_VOLUME_SIMPLEX_EDGE 18

/**
 * `simplex` of a volume: the vertex (cell_x, cell_y, cell_z).
 */
#define FACTZ_VOLUME_SIMPLEX_VERTEX 25

/**
 * Level of an event: a call failed.
 */
#define FACTZ_LOG_ERROR 1

/**
 * Level of an event: something is likely not as intended.
 */
#define FACTZ_LOG_WARN 2

/**
 * Level of an event: worth knowing in normal operation.
 */
#define FACTZ_LOG_INFO 3

/**
 * Level of an event: what a call did.
 */
#define FACTZ_LOG_DEBUG 4

/**
 * Level of an event: every step.
 */
#define FACTZ_LOG_TRACE 5

/**
 * Version of the library that this header belongs to.
 */
#define FACTZ_VERSION_MAJOR 0

/**
 * Version of the library that this header belongs to.
 */
#define FACTZ_VERSION_MINOR 1

/**
 * Version of the library that this header belongs to.
 */
#define FACTZ_VERSION_PATCH 0

/**
 * The outcome of a function: one of the `FACTZ_OK` and `FACTZ_ERROR_*` numbers. Numbers are never
 * reused or changed; later versions may add some.
 */
typedef int32_t factz_status;

/**
 * The configuration of a call. Fill it with `factz_config_init` (or a function factz_config_from_*), then
 * change what you need: whoever sets nx, ny and a bound gets good defaults. The functions copy what they
 * need; the struct may be reused or freed as soon as a call returns.
 *
 * Vertex (x, y), 0 <= x < nx and 0 <= y < ny, has its u at `u[y * u_pitch + x * u_stride]` and its v
 * likewise, counted in elements. Separate dense arrays: pitch 0, stride 1. Interleaved u,v,u,v: stride 2,
 * pitch 2 * nx, and v = u + 1. An array with ghost columns: pitch = the length of its rows, and u points at
 * the first owned vertex.
 *
 * Stacks: vertex (x, y) of plane z, 0 <= z < nz, has its u at
 * `u[(z * plane_rows + y) * u_pitch + x * u_stride]` and its v likewise. Dense planes: plane_rows 0. An array
 * (nz, 2, ny, nx), u and v in turn: plane_rows = 2 * ny, and v = u + nx * ny.
 *
 * Volumes (components 3, `factz_config_init_volume`): vertex (x, y, z) lies where vertex (x, y) of plane z of a
 * stack does, in u, v and w.
 *
 * Sizes and versions: every struct of this header keeps its size for ever. A field of a later version takes
 * the place of reserved bytes, and 0 there means what this version does. So a program that was compiled with
 * this header runs with every later library of its major version. Reserved fields must be 0 (otherwise
 * FACTZ_ERROR_UNSUPPORTED: a field of a later version, or a struct that `factz_config_init` did not fill).
 */
typedef struct factz_config {
    /**
     * 256, the mark of a struct that `factz_config_init` or another function of this header filled; anything
     * else is FACTZ_ERROR_INVALID_CONFIG.
     */
    uint64_t struct_size;
    /**
     * Vertices along x, the axis that varies fastest; at least 1.
     */
    uint64_t nx;
    /**
     * Vertices along y; at least 1.
     */
    uint64_t ny;
    /**
     * Planes, 1 to 2^32 - 1; default 1. Planes (times, levels) are fields of their own that are compressed
     * together, into one stream and with one bound: no triangle joins two of them. Of a volume: vertices along
     * z, at least 2. nx * ny * nz is at most 2^48.
     */
    uint64_t nz;
    /**
     * Elements from a row of u to the next; 0 means dense rows, nx * u_stride.
     */
    uint64_t u_pitch;
    /**
     * Elements from a u to its neighbour in the row; at least 1. Default 1.
     */
    uint64_t u_stride;
    /**
     * Elements from a row of v to the next; 0 means dense rows, nx * v_stride.
     */
    uint64_t v_pitch;
    /**
     * Elements from a v to its neighbour in the row; at least 1. Default 1.
     */
    uint64_t v_stride;
    /**
     * Elements from a row of w to the next; 0 means dense rows, nx * w_stride. Of volumes alone.
     */
    uint64_t w_pitch;
    /**
     * Elements from a w to its neighbour in the row; at least 1. Of volumes alone. Default 1.
     */
    uint64_t w_stride;
    /**
     * Grid spacing along x, finite and not 0; only the types of critical points depend on it. Vertex (x, y)
     * lies at (x * dx, y * dy), u points to larger x * dx and v to larger y * dy: dx is negative if columns
     * run against u. Default 1.
     */
    double dx;
    /**
     * Grid spacing along y, negative if rows run against v: -1 if row 0 is the northernmost and v positive
     * to the north. With the wrong sign the types of the mirrored field are kept: vortices count as saddles.
     * Default 1.
     */
    double dy;
    /**
     * Grid spacing along z, negative if planes run against w: of volumes alone. Default 1.
     */
    double dz;
    /**
     * The largest |decompressed - original| of any finite value, finite and not negative; 0 is lossless bit
     * for bit; above 0 the sign of a zero is not kept. It is never loosened, by rounding or otherwise.
     */
    double bound;
    /**
     * FACTZ_BOUND_ABSOLUTE or FACTZ_BOUND_RELATIVE.
     */
    int32_t bound_kind;
    /**
     * FACTZ_DTYPE_F32 (default) or FACTZ_DTYPE_F64.
     */
    int32_t dtype;
    /**
     * FACTZ_MODE_BLOCK_WISE (default) or FACTZ_MODE_SPECULATIVE; of volumes FACTZ_MODE_REPAIR.
     */
    int32_t mode;
    /**
     * FACTZ_CODER_ANS (default) or FACTZ_CODER_HUFFMAN.
     */
    int32_t coder;
    /**
     * FACTZ_PREDICTOR_HIERARCHICAL (default) or FACTZ_PREDICTOR_LORENZO.
     */
    int32_t predictor;
    /**
     * FACTZ_PRESERVE_NONE, FACTZ_PRESERVE_POINTS or FACTZ_PRESERVE_TYPES (default).
     */
    int32_t preserve;
    /**
     * FACTZ_SIDE_* bits: sides where one line of ghost vertices with original values lies beside the block,
     * at x = -1, x = nx, y = -1 or y = ny of the same layout (corners included where two sides meet); of a
     * volume also a plane at z = -1 or z = nz, with the edges and corners where sides meet.
     * Critical points in the cells between blocks are then preserved too, whatever the other block's owner
     * does. Ghost vertices are read when compressing, never written and not part of the stream.
     * `factz_critical_points_host`, `factz_compare_host` and their device twins read them as well. Default
     * 0.
     */
    uint32_t halo;
    /**
     * FACTZ_SIDE_* bits: sides whose border line is stored exactly, for neighbours without a halo. (With a bound
     * above 0 a vertex that is zero may lose the signs of its zeros.) Default 0.
     */
    uint32_t pin;
    /**
     * 1: decompression compares the checksum (default). 0: it does not. Compression always writes the
     * checksum.
     */
    int32_t verify_checksum;
    /**
     * 1: the field has a fill value. 0: it has none (default).
     */
    int32_t has_fill_value;
    /**
     * A vertex is filled, without data, where its u or its v has the bits of this value (rounded to the
     * nearest `float` for FACTZ_DTYPE_F32; a zero has a sign). Filled vertices are kept bit for bit, do not
     * count in the range, and no critical point is in a triangle that touches one. Other values that are
     * within the bound of the fill value may come back as the fill value. A finite value beyond the range of the
     * dtype is an error. Ignored while has_fill_value is 0.
     */
    double fill_value;
    /**
     * FACTZ_TIES_ALL (default), FACTZ_TIES_ZEROS or FACTZ_TIES_SOS; no effect with FACTZ_PRESERVE_NONE.
     */
    int32_t ties;
    /**
     * FACTZ_PERIODIC_* bits: axes along which the last vertex is a neighbour of the first, such as the longitude
     * of a global grid. The cells between them are part of the field. A periodic axis has at least 3 vertices
     * and neither halo nor pin. Default 0.
     */
    uint32_t periodic;
    /**
     * Rows from a plane to the next, in all components; 0 means dense planes, ny. Ignored if nz is 1.
     * Default 0.
     */
    uint64_t plane_rows;
    /**
     * 0 (default) or 2: u and v on planes. 3: u, v and w on a volume, for the functions with `volume` in their
     * names. Either kind of function refuses the configuration of the other.
     */
    uint32_t components;
    /**
     * 0.
     */
    uint32_t reserved_32;
    /**
     * 0.
     */
    uint64_t reserved[9];
} factz_config;

/**
 * The header of a stream. Aligned to 8 bytes.
 */
typedef struct factz_info {
    /**
     * The status of the inspection; the other fields count only when it is FACTZ_OK.
     */
    factz_status status;
    /**
     * Version of the format.
     */
    uint32_t format_version;
    /**
     * Bytes of the whole stream.
     */
    uint64_t stream_bytes;
    /**
     * Vertices along x.
     */
    uint64_t nx;
    /**
     * Vertices along y.
     */
    uint64_t ny;
    /**
     * Planes; of a volume, vertices along z.
     */
    uint64_t nz;
    /**
     * Grid spacing along x, negative if columns run against u.
     */
    double dx;
    /**
     * Grid spacing along y, negative if rows run against v.
     */
    double dy;
    /**
     * Grid spacing along z of a volume, negative if planes run against w; 1 of planes.
     */
    double dz;
    /**
     * The bound as it was given when compressing, bit for bit.
     */
    double bound;
    /**
     * The absolute bound that was applied, in the unit of the field.
     */
    double absolute_bound;
    /**
     * FACTZ_BOUND_*: what `bound` means.
     */
    int32_t bound_kind;
    /**
     * FACTZ_DTYPE_*.
     */
    int32_t dtype;
    /**
     * FACTZ_MODE_*.
     */
    int32_t mode;
    /**
     * FACTZ_CODER_*.
     */
    int32_t coder;
    /**
     * FACTZ_PREDICTOR_*.
     */
    int32_t predictor;
    /**
     * FACTZ_PRESERVE_*.
     */
    int32_t preserve;
    /**
     * The fill value of the field; 0 without one.
     */
    double fill_value;
    /**
     * 1: the field has a fill value. 0: it has none.
     */
    int32_t has_fill_value;
    /**
     * FACTZ_TIES_*.
     */
    int32_t ties;
    /**
     * FACTZ_PERIODIC_* bits.
     */
    uint32_t periodic;
    /**
     * FACTZ_COMPONENT_*: what the stream holds.
     */
    uint32_t component;
} factz_info;

/**
 * How much memory a call needs.
 */
typedef struct factz_sizes {
    /**
     * Bytes that hold the stream of any field with this configuration, whatever its values.
     */
    uint64_t max_stream_bytes;
    /**
     * Bytes of device memory that `factz_compress_device`, `factz_decompress_device` or
     * `factz_decompress_planes_device` needs as workspace. The `_host` functions take no workspace.
     */
    uint64_t workspace_bytes;
    /**
     * Alignment in bytes of the workspace and of the stream for the `_device` functions, a power of
     * two. The `_host` functions take any address.
     */
    uint64_t alignment;
    /**
     * Bytes of device memory that `factz_range_device`, `factz_compare_device` and
     * `factz_critical_points_device` need as workspace: about 3 % of the field.
     */
    uint64_t analysis_workspace_bytes;
    /**
     * 0.
     */
    uint64_t reserved[4];
} factz_sizes;

/**
 * The outcome of a compression or decompression. It holds plain numbers and no pointers, so it may lie
 * anywhere the function can write: in host memory for the `_host` functions, in device or mapped pinned
 * memory for the `_device` functions. Aligned to 8 bytes. Needs no initial values: every field is
 * written.
 */
typedef struct factz_report {
    /**
     * The status of the work itself: FACTZ_OK only when the bound and the critical points hold.
     */
    factz_status status;
    /**
     * 0.
     */
    int32_t reserved_status;
    /**
     * Bytes of the stream that were written (compression) or read (decompression; of a region, a part).
     */
    uint64_t stream_bytes;
    /**
     * Bytes that the stream takes, also when the buffer of a compression was too small for it; stream_bytes
     * after every success but that of a region.
     */
    uint64_t required_bytes;
    /**
     * Vertices stored bit for bit because no lossy value could be certified.
     */
    uint64_t exact_vertices;
    /**
     * Vertices with a NaN or an infinity; they are stored bit for bit.
     */
    uint64_t nonfinite_vertices;
    /**
     * Vertices with u = v = 0 that are not filled; they stay exactly zero, of either sign above a bound of
     * 0.
     */
    uint64_t zero_vertices;
    /**
     * Critical points of the field that lie strictly inside triangles; 0 with FACTZ_PRESERVE_NONE and after
     * decompression. Those at vertices and on edges are not among them: `factz_critical_points_host` lists
     * all.
     */
    uint64_t points_in_triangles;
    /**
     * The absolute bound that was applied, in the unit of the field.
     */
    double bound;
    /**
     * Largest |decompressed - original| over all finite values, as computed in the type of the field; 0
     * after decompression, which does not see the original.
     */
    double max_error;
    /**
     * Filled vertices (config->fill_value) whose values are finite; those with a NaN or an infinity are
     * counted above. All are stored bit for bit.
     */
    uint64_t filled_vertices;
    /**
     * FACTZ_WARNING_* bits; 0 after decompression.
     */
    uint32_t warnings;
    /**
     * 0.
     */
    uint32_t reserved_flags;
    /**
     * 0.
     */
    uint64_t reserved[5];
} factz_report;

/**
 * Reads bytes of a stream, from a file for example.
 *
 * The calling thread of `factz_read_region_host` runs it inside the call, once for each piece that is needed,
 * in the order of the stream. It must return normally: no longjmp, no C++ exception. It must not call other
 * factz functions.
 *
 * @param user    the pointer given to `factz_read_region_host`
 * @param offset  where the bytes begin, counted from the start of the stream
 * @param bytes   how many there are to read: at least 1, and all of them inside the stream
 * @param to      receives them; valid during the call only
 * @return 0 if all bytes were read, otherwise a number that the message of the error repeats
 */
typedef int (*factz_read_callback)(void *user, uint64_t offset, uint64_t bytes, void *to);

/**
 * The range of the values of a field, u and v together. Aligned to 8 bytes.
 *
 * Blocks of a field, or its time steps, share a relative bound in this way: each finds its range, the least
 * `low` and the largest `high` of all are joined (MPI_Allreduce with MPI_MIN and MPI_MAX), and all compress
 * with bound_kind = FACTZ_BOUND_ABSOLUTE and bound = factz_relative_bound(fraction, low, high).
 */
typedef struct factz_range {
    /**
     * The status of the search; the other fields count only when it is FACTZ_OK.
     */
    factz_status status;
    /**
     * 0.
     */
    int32_t reserved_status;
    /**
     * Least finite value of the vertices that are not filled; +infinity where there is none, so that a
     * minimum over blocks is right.
     */
    double low;
    /**
     * Largest such value; -infinity where there is none.
     */
    double high;
    /**
     * Vertices with a NaN or an infinity. Their finite component counts in the range.
     */
    uint64_t nonfinite_vertices;
    /**
     * Finite vertices where u or v has the bits of config->fill_value.
     */
    uint64_t filled_vertices;
    /**
     * Vertices with u = v = 0 that are not filled.
     */
    uint64_t zero_vertices;
    /**
     * 0.
     */
    uint64_t reserved[2];
} factz_range;

/**
 * A critical point: a zero of the piecewise linear field, strictly inside a triangle, or at a vertex or
 * inside an edge without other zeros beside it. Segments and areas of zeros (coasts, walls) are no critical
 * points.
 */
typedef struct factz_critical_point {
    /**
     * Column of the vertex (x, y) that the simplex belongs to, 0 to nx - 1.
     */
    uint64_t cell_x;
    /**
     * Row of the vertex, 0 to ny - 1.
     */
    uint64_t cell_y;
    /**
     * Its plane, 0 to nz - 1.
     */
    uint64_t cell_z;
    /**
     * Position along x: dx, with its sign, times a number from cell_x to cell_x + 1.
     */
    double x;
    /**
     * Position along y: dy, with its sign, times a number from cell_y to cell_y + 1.
     */
    double y;
    /**
     * FACTZ_SIMPLEX_*: the triangle, edge or vertex that holds the point.
     */
    int32_t simplex;
    /**
     * FACTZ_POINT_*.
     */
    int32_t point_type;
    /**
     * The Poincare index: how often the vector turns on the way around the point. Inside a triangle -1 of a
     * saddle and 1 of all others; inside an edge -1, 0 or 1; at a vertex -2 to 2; or FACTZ_INDEX_UNDEFINED.
     */
    int32_t index;
    /**
     * 1 for a focus whose divergence is at the level of rounding: |trace J| is at most 1e-5 (float) or 1e-12
     * (double) of the sum of the magnitudes of the four derivatives. The flow may be free of divergence, and
     * the point a centre in truth. 0 for all others.
     */
    int32_t rounding_divergence;
    /**
     * Real parts of the eigenvalues of J, rounded, in units of the field over those of dx and dy: the larger
     * one first. NaN at vertices and on edges, and where the derivatives overflow.
     */
    double eigenvalues_real[2];
    /**
     * Their imaginary parts: the positive one first.
     */
    double eigenvalues_imaginary[2];
} factz_critical_point;

/**
 * How a field differs from another. Aligned to 8 bytes. A vertex is missing where u or v is NaN or infinite,
 * or, in the first field, has the bits of config->fill_value. Triangles are compared where no vertex is
 * missing in either field; every sign is decided exactly. Counts of vertices and of values are over the
 * nx * ny owned vertices, without ghosts.
 */
typedef struct factz_comparison {
    /**
     * The status of the comparison; the other fields count only when it is FACTZ_OK. Differences are
     * no error.
     */
    factz_status status;
    /**
     * 0.
     */
    int32_t reserved_status;
    /**
     * Differences that are 0 after compression with FACTZ_PRESERVE_TYPES: lost_points + spurious_points +
     * changed_types, all three of points inside triangles, + changed_ties + new_ties + changed_missing +
     * bound_exceeded. Zeros at vertices and on edges take part by their ties: with FACTZ_TIES_ALL 0 here
     * means that they are all kept, with their indices.
     */
    uint64_t violations;
    /**
     * Critical points of the first field: those that `factz_critical_points_host` lists.
     */
    uint64_t critical_points;
    /**
     * Critical points of the other field.
     */
    uint64_t other_critical_points;
    /**
     * P1: simplices (triangles, edges, vertices) with a critical point in the first field and none in the
     * other.
     */
    uint64_t lost_points;
    /**
     * P2: simplices with a critical point in the other field and none in the first.
     */
    uint64_t spurious_points;
    /**
     * P3: simplices with a critical point in both, of different types; of vertices and edges, of different
     * indices.
     */
    uint64_t changed_types;
    /**
     * Ties of the first field: triangles where the zero lies on an edge or a vertex.
     */
    uint64_t ties;
    /**
     * Ties of the first field that are none in the other, or where a sign differs. With FACTZ_TIES_ZEROS in
     * config, ties with zero vertices count where the points at which the triangle is zero differ, and signs
     * do not matter. With FACTZ_TIES_SOS ties count where the answer of the rule differs, where other
     * vertices are zero, or where the tie is a critical point in the other field.
     */
    uint64_t changed_ties;
    /**
     * Ties of the other field that are none in the first.
     */
    uint64_t new_ties;
    /**
     * Vertices of the first field with a NaN or an infinity.
     */
    uint64_t nonfinite_vertices;
    /**
     * Missing vertices of the first field whose bits differ in the other field, and other vertices that are
     * not finite in the other field.
     */
    uint64_t changed_missing;
    /**
     * Vertices of the first field with u = v = 0 that are not filled.
     */
    uint64_t zero_vertices;
    /**
     * Vertices with u = v = 0 in one field only.
     */
    uint64_t changed_zero_vertices;
    /**
     * Values with |other - first| above `bound`, compared exactly.
     */
    uint64_t bound_exceeded;
    /**
     * The absolute bound that was checked: config->bound where its kind is FACTZ_BOUND_ABSOLUTE, the same
     * fraction of the first field's range as in compression where it is FACTZ_BOUND_RELATIVE
     * (`factz_relative_bound`).
     */
    double bound;
    /**
     * Largest |other - first| over values that are finite in both, of vertices that are not filled in the
     * first.
     */
    double max_error;
    /**
     * Peak signal-to-noise ratio in dB: 20 log10 of the joint range of the first field over the root
     * mean square error. Infinite where nothing differs, NaN where it is not defined.
     */
    double psnr;
    /**
     * The first field's critical points by type, indexed by FACTZ_POINT_*.
     */
    uint64_t points_by_type[8];
    /**
     * Finite vertices of the first field with the fill value.
     */
    uint64_t filled_vertices;
    /**
     * Of lost_points, zeros at vertices and inside edges.
     */
    uint64_t lost_zeros;
    /**
     * Of spurious_points, zeros at vertices and inside edges.
     */
    uint64_t spurious_zeros;
    /**
     * Of changed_types, zeros at vertices and inside edges.
     */
    uint64_t changed_indices;
    /**
     * 0.
     */
    uint64_t reserved[2];
} factz_comparison;

/**
 * The outcome of making or applying a fix. Aligned to 8 bytes.
 */
typedef struct factz_fix_report {
    /**
     * The status of the call; the other fields count only when it is FACTZ_OK or
     * FACTZ_ERROR_BUFFER_TOO_SMALL.
     */
    factz_status status;
    /**
     * 0.
     */
    int32_t reserved_status;
    /**
     * Bytes of the fix that were written, or that the applied fix has.
     */
    uint64_t fix_bytes;
    /**
     * Bytes that the fix takes, also when the buffer was too small for it.
     */
    uint64_t required_bytes;
    /**
     * Vertices whose values the fix replaces.
     */
    uint64_t repaired_vertices;
    /**
     * Of these, vertices that take the bits of the original.
     */
    uint64_t exact_vertices;
    /**
     * Triangles, of a volume tetrahedra, of the reconstruction that do not keep what config asks for; 0 after
     * applying.
     */
    uint64_t violated_triangles;
    /**
     * Rounds of repair; 0 after applying. There are at most 129 + log2(number of tiles of 32 x 32 vertices, of a
     * volume 16 x 16 x 16), rounded up.
     */
    uint64_t rounds;
    /**
     * The absolute bound that the reconstruction keeps, and the repaired field too.
     */
    double bound;
    /**
     * Largest |other - original| of the reconstruction, where the original has data.
     */
    double max_error;
    /**
     * Where a reconstruction is refused because it leaves the bound (FACTZ_ERROR_INVALID_ARGUMENT): vertices at
     * which it does. 0 in all other cases.
     */
    uint64_t vertices_outside;
    /**
     * The number of the first of them, plane by plane and row by row; otherwise 0.
     */
    uint64_t first_outside;
    /**
     * 0.
     */
    uint64_t reserved[5];
} factz_fix_report;

/**
 * The header of a fix. Aligned to 8 bytes.
 */
typedef struct factz_fix_info {
    /**
     * The status of the inspection; the other fields count only when it is FACTZ_OK.
     */
    factz_status status;
    /**
     * Version of the format of fixes.
     */
    uint32_t format_version;
    /**
     * Bytes of the whole fix.
     */
    uint64_t fix_bytes;
    /**
     * Vertices along x.
     */
    uint64_t nx;
    /**
     * Vertices along y.
     */
    uint64_t ny;
    /**
     * Planes; of a volume, vertices along z.
     */
    uint64_t nz;
    /**
     * Grid spacing along x, negative if columns run against u.
     */
    double dx;
    /**
     * Grid spacing along y, negative if rows run against v.
     */
    double dy;
    /**
     * Grid spacing along z of a volume, negative if planes run against w; 1 of planes.
     */
    double dz;
    /**
     * The bound as it was given, bit for bit.
     */
    double bound;
    /**
     * The absolute bound that follows from it, in the unit of the field.
     */
    double absolute_bound;
    /**
     * Largest |other - original| of the reconstruction, where the original has data.
     */
    double max_error;
    /**
     * Vertices whose values the fix replaces.
     */
    uint64_t repaired_vertices;
    /**
     * Of these, vertices that take the bits of the original.
     */
    uint64_t exact_vertices;
    /**
     * The fill value of the field; 0 without one.
     */
    double fill_value;
    /**
     * FACTZ_BOUND_*: what `bound` means.
     */
    int32_t bound_kind;
    /**
     * FACTZ_DTYPE_*.
     */
    int32_t dtype;
    /**
     * FACTZ_PRESERVE_*.
     */
    int32_t preserve;
    /**
     * FACTZ_TIES_*.
     */
    int32_t ties;
    /**
     * 1: the field has a fill value. 0: it has none.
     */
    int32_t has_fill_value;
    /**
     * FACTZ_PERIODIC_* bits.
     */
    uint32_t periodic;
    /**
     * The checksum of the reconstruction that the fix belongs to.
     */
    uint32_t reconstruction_checksum;
    /**
     * 2: u and v on planes. 3: u, v and w on a volume.
     */
    uint32_t components;
    /**
     * 0.
     */
    uint64_t reserved[6];
} factz_fix_info;

/**
 * A critical point of a volume: a zero of the piecewise linear field, strictly inside a tetrahedron, or at a vertex,
 * inside an edge or inside a face without other zeros beside it. Curves, surfaces and solids of zeros are no
 * critical points.
 */
typedef struct factz_volume_point {
    /**
     * Column of the vertex that the simplex begins at, 0 to nx - 1.
     */
    uint64_t cell_x;
    /**
     * Its row, 0 to ny - 1.
     */
    uint64_t cell_y;
    /**
     * Its plane, 0 to nz - 1.
     */
    uint64_t cell_z;
    /**
     * Position along x: dx, with its sign, times a number from cell_x to cell_x + 1.
     */
    double x;
    /**
     * Position along y: dy, with its sign, times a number from cell_y to cell_y + 1.
     */
    double y;
    /**
     * Position along z: dz, with its sign, times a number from cell_z to cell_z + 1.
     */
    double z;
    /**
     * FACTZ_VOLUME_SIMPLEX_* or a number behind one of them: the simplex that holds the point. Numbers of tetrahedra
     * (0 to 5) are those of the stream format.
     */
    int32_t simplex;
    /**
     * 3 inside a tetrahedron, 2 inside a face, 1 inside an edge, 0 at a vertex.
     */
    int32_t dimension;
    /**
     * FACTZ_VOLUME_POINT_*.
     */
    int32_t point_type;
    /**
     * Inside a tetrahedron the sign of det J, 1 or -1. Elsewhere the degree of the field around the point: how often,
     * with signs, the vectors around it take every direction; or FACTZ_INDEX_UNDEFINED.
     */
    int32_t index;
    /**
     * 0.
     */
    uint64_t reserved[6];
} factz_volume_point;

/**
 * How a volume differs from another. Aligned to 8 bytes. A vertex is missing where a component is NaN or infinite,
 * or, in the first volume, has the bits of config->fill_value. Tetrahedra are compared where no vertex is missing in
 * either volume; every sign is decided exactly.
 */
typedef struct factz_volume_comparison {
    /**
     * The status of the comparison; the other fields count only when it is FACTZ_OK. Differences are
     * no error.
     */
    factz_status status;
    /**
     * 0.
     */
    int32_t reserved_status;
    /**
     * Differences that are 0 after compression with FACTZ_PRESERVE_TYPES: lost_points + spurious_points +
     * changed_types, all three of points inside tetrahedra, + changed_ties + new_ties + changed_missing +
     * bound_exceeded. Zeros at vertices, on edges and on faces take part by their ties: with FACTZ_TIES_ALL 0 here
     * means that they are all kept, with their indices.
     */
    uint64_t violations;
    /**
     * Critical points of the first volume: those that `factz_critical_points_volume_host` lists.
     */
    uint64_t critical_points;
    /**
     * Critical points of the other volume.
     */
    uint64_t other_critical_points;
    /**
     * Simplices (tetrahedra, faces, edges, vertices) with a critical point in the first volume and none in the other.
     */
    uint64_t lost_points;
    /**
     * Simplices with a critical point in the other volume and none in the first.
     */
    uint64_t spurious_points;
    /**
     * Simplices with a critical point in both, of different types; of faces, edges and vertices, of different
     * indices.
     */
    uint64_t changed_types;
    /**
     * Ties of the first volume: tetrahedra where the zero lies on a face, an edge or a vertex.
     */
    uint64_t ties;
    /**
     * Ties of the first volume that are none in the other, or where the sign of a determinant, of a component or of
     * a 2 x 2 minor differs. With FACTZ_TIES_ZEROS in config, ties that are zero at vertices and nowhere else count
     * where these vertices differ, and signs do not matter.
     */
    uint64_t changed_ties;
    /**
     * Ties of the other volume that are none in the first.
     */
    uint64_t new_ties;
    /**
     * Vertices of the first volume with a NaN or an infinity.
     */
    uint64_t nonfinite_vertices;
    /**
     * Missing vertices of the first volume whose bits differ in the other, and other vertices that are not finite in
     * the other.
     */
    uint64_t changed_missing;
    /**
     * Vertices of the first volume with u = v = w = 0 that are not filled.
     */
    uint64_t zero_vertices;
    /**
     * Vertices with u = v = w = 0 in one volume only.
     */
    uint64_t changed_zero_vertices;
    /**
     * Values with |other - first| above `bound`, compared exactly.
     */
    uint64_t bound_exceeded;
    /**
     * The absolute bound that was checked: config->bound where its kind is FACTZ_BOUND_ABSOLUTE, the same
     * fraction of the first volume's range as in compression where it is FACTZ_BOUND_RELATIVE.
     */
    double bound;
    /**
     * Largest |other - first| over values that are finite in both, of vertices that are not filled in the
     * first.
     */
    double max_error;
    /**
     * Peak signal-to-noise ratio in dB: 20 log10 of the joint range of the first volume over the root
     * mean square error. Infinite where nothing differs, NaN where it is not defined.
     */
    double psnr;
    /**
     * The first volume's critical points by type, indexed by FACTZ_VOLUME_POINT_*; 0 behind these.
     */
    uint64_t points_by_type[16];
    /**
     * Finite vertices of the first volume with the fill value.
     */
    uint64_t filled_vertices;
    /**
     * Of lost_points, zeros at vertices, inside edges and inside faces.
     */
    uint64_t lost_zeros;
    /**
     * Of spurious_points, zeros at vertices, inside edges and inside faces.
     */
    uint64_t spurious_zeros;
    /**
     * Of changed_types, zeros at vertices, inside edges and inside faces.
     */
    uint64_t changed_indices;
    /**
     * 0.
     */
    uint64_t reserved[2];
} factz_volume_comparison;

/**
 * Receives an event of the library.
 *
 * It may be called from any thread that is inside a factz function, from worker threads of the
 * library, and from several at once. It must return normally: no longjmp, no C++ exception. It must
 * not call factz functions other than `factz_status_string` and `factz_version`.
 *
 * @param level    FACTZ_LOG_ERROR (1) to FACTZ_LOG_TRACE (5)
 * @param target   the part of the library, such as "factz"; valid during the call only
 * @param message  one line of text; valid during the call only
 * @param user     the pointer given to `factz_set_log_callback`
 */
typedef void (*factz_log_callback)(int level, const char *target, const char *message, void *user);

/**
 * Done (host functions) or enqueued (device functions).
 */
#define FACTZ_OK 0

/**
 * An argument is null, out of range, overlaps another one or contradicts it.
 */
#define FACTZ_ERROR_INVALID_ARGUMENT 1

/**
 * The configuration, or the text, words or info that it is made of, holds a value that no field can have.
 */
#define FACTZ_ERROR_INVALID_CONFIG 2

/**
 * An output buffer cannot hold the result. Nothing past its end was written; the required size is
 * in the report, in the count, or in the message.
 */
#define FACTZ_ERROR_BUFFER_TOO_SMALL 3

/**
 * The workspace is smaller than the size functions say.
 */
#define FACTZ_ERROR_WORKSPACE_TOO_SMALL 4

/**
 * The stream is truncated or damaged, or was not written by this library.
 */
#define FACTZ_ERROR_CORRUPT_STREAM 5

/**
 * The stream has a version of the format that this library does not read.
 */
#define FACTZ_ERROR_UNSUPPORTED_VERSION 6

/**
 * There is no usable CUDA device or driver, or the library was built without CUDA.
 */
#define FACTZ_ERROR_NO_DEVICE 7

/**
 * The CUDA driver reported an error; the message names it.
 */
#define FACTZ_ERROR_CUDA 8

/**
 * Memory (or threads) could not be had.
 */
#define FACTZ_ERROR_OUT_OF_MEMORY 9

/**
 * The option, or a field of a later version's configuration, is not available in this version.
 */
#define FACTZ_ERROR_UNSUPPORTED 10

/**
 * A defect in the library: please report it with the message.
 */
#define FACTZ_ERROR_INTERNAL 11

/**
 * The caller's function that reads a stream (`factz_read_callback`) failed; the message has its answer.
 */
#define FACTZ_ERROR_READ 12

/**
 * A short English name of a status, such as "corrupt stream"; "unknown status" for any other number. Static
 * storage, never NULL. Thread-safe; does not change the last error.
 */
const char *factz_status_string(factz_status status);

/**
 * What was wrong in the calling thread's latest call, with the argument's name and value; an empty
 * string when that call succeeded or there was none. Never NULL. The text belongs to the library and
 * stays valid until the thread calls another function that returns a `factz_status`. Every thread
 * has its own message.
 */
const char *factz_last_error(void);

/**
 * Fills a configuration with the defaults named at each field, for a dense `float` field.
 *
 * Only the pointer and `bound_kind` are checked here; everything else is checked by the functions that
 * use the configuration, so fields may be changed in any order. Host only, does not block.
 * Thread-safe.
 *
 * @param config      written, whatever its content was; all zero if the call fails: every function refuses
 *                    such a configuration
 * @param nx          vertices along x, the axis that varies fastest
 * @param ny          vertices along y
 * @param bound_kind  FACTZ_BOUND_ABSOLUTE or FACTZ_BOUND_RELATIVE
 * @param bound       the error bound in that kind's unit
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (config is NULL or misaligned);
 *         FACTZ_ERROR_INVALID_CONFIG (no such bound_kind)
 */
factz_status factz_config_init(struct factz_config *config,
                               uint64_t nx,
                               uint64_t ny,
                               int32_t bound_kind,
                               double bound);

/**
 * Fills a configuration with the defaults for a dense `float` volume: components 3, FACTZ_MODE_REPAIR, and
 * otherwise as `factz_config_init`.
 *
 * @param config      written, whatever its content was; all zero if the call fails
 * @param nx          vertices along x, the axis that varies fastest; at least 2
 * @param ny          vertices along y; at least 2
 * @param nz          vertices along z; at least 2
 * @param bound_kind  FACTZ_BOUND_ABSOLUTE or FACTZ_BOUND_RELATIVE
 * @param bound       the error bound in that kind's unit
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (config is NULL or misaligned);
 *         FACTZ_ERROR_INVALID_CONFIG (no such bound_kind)
 */
factz_status factz_config_init_volume(struct factz_config *config,
                                      uint64_t nx,
                                      uint64_t ny,
                                      uint64_t nz,
                                      int32_t bound_kind,
                                      double bound);

/**
 * Makes the configuration that a stream was written with, for dense arrays of its shape and type. It serves
 * to decompress the stream, and to compress another field in the same way. halo and pin are 0: a stream does
 * not record them. Host only, does not block. Thread-safe.
 *
 * @param info    the header of a stream, from `factz_inspect_host` or `factz_inspect_device`, in host memory
 * @param config  written; all zero if the call fails: every function refuses such a configuration
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, config overlaps info, or
 *         info->status is not FACTZ_OK); FACTZ_ERROR_INVALID_CONFIG (the info holds values that no stream
 *         has)
 */
factz_status factz_config_from_info(const struct factz_info *info, struct factz_config *config);

/**
 * Makes a configuration from text such as "rel=1e-3,mode=speculative,pin=xmin+ymax".
 *
 * The text is a list of key=value with commas between; spaces around each part do not count. `abs` or `rel`,
 * the bound, is required, the others have the defaults of `factz_config_init`:
 *
 *    abs=NUMBER  rel=NUMBER            the bound and its kind
 *    mode=block | speculative | repair
 *    coder=ans | huffman
 *    predictor=hierarchical | lorenzo
 *    preserve=none | points | types
 *    ties=all | zeros | sos
 *    dx=NUMBER  dy=NUMBER  dz=NUMBER   the grid spacing; dy=-1: rows run from north to south
 *    pin=none | all | SIDES            sides joined by +: xmin (column 0), xmax, ymin (row 0), ymax, zmin, zmax
 *    periodic=none | AXES              axes in the order x, y, z, such as xy
 *    fill=none | NUMBER                the fill value; also inf, nan, or nan(0x7ff8000000000001) bit for bit
 *    verify=yes | no                   whether decompression compares the checksum
 *
 * mode=repair makes the configuration of a volume (`factz_config_init_volume`); dz, the sides along z and the
 * axis z are those of volumes alone.
 *
 * Numbers are those of C with a decimal point, whatever the locale. Shape, type, layout and halo are not
 * part of the text: nx, ny and of a volume nz of the result are 0, dtype, pitches, strides and halo have their defaults. Set
 * them before you use the configuration. Host only, does not block. Thread-safe.
 *
 * @param text    the text, terminated by a zero
 * @param config  written; all zero if the call fails: every function refuses such a configuration
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or config overlaps text);
 *         FACTZ_ERROR_INVALID_CONFIG (the message names the item and the choices)
 */
factz_status factz_config_from_string(const char *text,
                                      struct factz_config *config);

/**
 * Writes the choices of a configuration as text that `factz_config_from_string` reads back exactly, numbers
 * with the fewest digits that give the same bits.
 *
 * nx, ny, dtype, layout and halo are neither checked nor part of the text. Host only, does not block.
 * Thread-safe.
 *
 * @param config      the configuration
 * @param text        receives the text and its terminating zero; an empty text where the call fails. Must
 *                    not overlap config
 * @param text_bytes  writable bytes at text; FACTZ_CONFIG_STRING_BYTES always suffice
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_BUFFER_TOO_SMALL (the message says how many bytes it takes)
 */
factz_status factz_config_to_string(const struct factz_config *config, char *text, size_t text_bytes);

/**
 * Writes the choices of a configuration as 32-bit words, as the filters of file formats store them (the
 * cd_values of HDF5).
 *
 * The first word is the version of the encoding, 1. The bound is stored as the bits of the double. Later
 * versions of the library read these words as this one does. nx, ny, dtype, layout and halo are neither
 * checked nor part of the words: a filter that needs them appends words of its own. Host only, does not
 * block. Thread-safe.
 *
 * @param config  the configuration
 * @param words   receives FACTZ_CONFIG_WORDS words; all zero where the call fails and count suffices. Must
 *                not overlap config
 * @param count   writable words at words, at least FACTZ_CONFIG_WORDS
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_BUFFER_TOO_SMALL (count is below FACTZ_CONFIG_WORDS)
 */
factz_status factz_config_to_words(const struct factz_config *config, uint32_t *words, size_t count);

/**
 * Makes a configuration from words of `factz_config_to_words`, bit for bit. Shape, type, layout and halo are
 * set as by `factz_config_from_string`. Host only, does not block. Thread-safe.
 *
 * @param words   the words; words behind the first FACTZ_CONFIG_WORDS are the caller's own
 * @param count   readable words at words, at least FACTZ_CONFIG_WORDS
 * @param config  written; all zero if the call fails: every function refuses such a configuration
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED (a
 *         later version of the encoding)
 */
factz_status factz_config_from_words(const uint32_t *words, size_t count, struct factz_config *config);

/**
 * The sizes for compressing, and for analysing, fields with a configuration.
 *
 * A pure function of the configuration: it looks at no data and needs no device. Does not block,
 * thread-safe. The numbers may change with the version of the library.
 *
 * @param config  the configuration
 * @param sizes   written; all zero where the call fails
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
 *         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
 */
factz_status factz_compress_sizes(const struct factz_config *config, struct factz_sizes *sizes);

/**
 * The sizes for decompressing streams of a shape and an element type: nx, ny, nz and dtype of config. Its
 * other fields have no effect.
 *
 * `max_stream_bytes` holds the stream of any such field; the header of an existing stream has its length
 * (`factz_inspect_host`). A pure function of the configuration: it looks at no data and needs no device.
 * Does not block, thread-safe. The numbers may change with the version of the library.
 *
 * @param config  the shape and the element type
 * @param sizes   written; all zero where the call fails
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
 *         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
 */
factz_status factz_decompress_sizes(const struct factz_config *config, struct factz_sizes *sizes);

/**
 * The sizes for `factz_decompress_planes_device`: nz of config is the number of planes that a call takes.
 *
 * As `factz_decompress_sizes`, with a workspace that has room for tiles of other planes in the groups of tiles
 * at both ends: about 510 tiles more.
 *
 * @param config  the shape of the planes and the element type
 * @param sizes   written; all zero where the call fails
 * @return as for `factz_decompress_sizes`
 */
factz_status factz_decompress_planes_sizes(const struct factz_config *config,
                                           struct factz_sizes *sizes);

/**
 * Reads the header of a stream in host memory.
 *
 * Reads only the first FACTZ_INSPECT_BYTES bytes, or FACTZ_VOLUME_INSPECT_BYTES of a volume: the rest of the
 * stream is not checked, and the checksum is not compared. Does not block, thread-safe.
 *
 * @param src        the start of a stream, any alignment; not changed
 * @param src_bytes  readable bytes at src; at least FACTZ_INSPECT_BYTES
 * @param info       always written, unless info itself is the bad argument; if the call fails, `status` has
 *                   the error and all other fields are 0
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or info overlaps src);
 *         FACTZ_ERROR_CORRUPT_STREAM (too short, or no stream); FACTZ_ERROR_UNSUPPORTED_VERSION (see
 *         `factz_readable_formats`)
 */
factz_status factz_inspect_host(const void *src, size_t src_bytes, struct factz_info *info);

/**
 * Compresses a field in host memory.
 *
 * The stream does not depend on the number of threads, and `factz_compress_device` writes the same bytes. u
 * and v may be interleaved. Concurrent calls may share u and v.
 *
 * @param u          x components, laid out as config says; ghosts of config->halo are read
 * @param v          y components
 * @param n          number of vertices, nx * ny
 * @param config     the configuration
 * @param dst        receives the stream; any alignment
 * @param dst_bytes  writable bytes at dst; `factz_compress_sizes` gives a number that always suffices. With
 *                   0, dst may be NULL: the call fails, and report->required_bytes is the length of the
 *                   stream
 * @param report     receives the result; report->stream_bytes is the length of the stream
 * @param threads    see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_BUFFER_TOO_SMALL (report->required_bytes bytes are needed; the content of dst is
 *         undefined); FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_compress_host(const void *u,
                                 const void *v,
                                 size_t n,
                                 const struct factz_config *config,
                                 void *dst,
                                 size_t dst_bytes,
                                 struct factz_report *report,
                                 int threads);

/**
 * Decompresses a stream in host memory.
 *
 * Writes every owned vertex. Gaps between rows and between strided elements, and ghost vertices, keep their
 * content. The output does not depend on the number of threads, and `factz_decompress_device` writes the
 * same bits. Concurrent calls may share the stream.
 *
 * @param src        the stream; any alignment
 * @param src_bytes  readable bytes at src: the length of the stream or more
 * @param config     nx, ny and dtype must be those of the stream. Pitches and strides are those of the
 *                   output. verify_checksum says whether the checksum is compared. The rest must be valid
 *                   and has no effect
 * @param u          receives the x components, laid out as config says. NULL if the stream holds the y
 *                   components alone (`factz_split_host`)
 * @param v          receives the y components; may be interleaved with u, without sharing an element. NULL
 *                   if the stream holds the x components alone
 * @param n          number of vertices, nx * ny
 * @param report     receives the result
 * @param threads    see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the stream has other dimensions or another dtype);
 *         FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_CORRUPT_STREAM (the content of u
 *         and v is undefined); FACTZ_ERROR_UNSUPPORTED_VERSION (see `factz_readable_formats`);
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_decompress_host(const void *src,
                                   size_t src_bytes,
                                   const struct factz_config *config,
                                   void *u,
                                   void *v,
                                   size_t n,
                                   struct factz_report *report,
                                   int threads);

/**
 * Decompresses a region of the field of a stream in host memory: a rectangle of consecutive planes.
 *
 * The values are bit for bit those of `factz_decompress_host`. Tiles of 32 x 32 vertices are coded in groups
 * of up to 256; only the groups that hold tiles of the region (with FACTZ_PREDICTOR_HIERARCHICAL also
 * tiles next to it) are decoded. Working memory is in proportion to the region and to the number of
 * groups, not to the field.
 *
 * The checksum needs all bytes. It is compared only if the region takes all groups and
 * config->verify_checksum is 1. Without it, damage of a group is found if the group then does not decode to
 * its end: nearly all damage of several words, but of single bits 7 to 9 in 10 with FACTZ_CODER_ANS and about
 * half with FACTZ_CODER_HUFFMAN. Damage of numbers in the header, and of groups that the region does not
 * take, is not noticed. Where that matters, check the stream once as a whole.
 *
 * @param src        the stream; any alignment
 * @param src_bytes  readable bytes at src: the length of the stream or more
 * @param config     nx, ny and nz are the columns, rows and planes of the region, pitches, strides and plane_rows
 *                   those of the output; dtype must be that of the stream. verify_checksum: see above. halo, pin and
 *                   periodic are ignored; the rest must be valid and has no effect
 * @param x0         first column of the region in the field
 * @param y0         first row of the region in the field
 * @param z0         first plane of the region in the field; 0 where it has one plane
 * @param u          receives the x components: vertex (x0, y0) of plane z0, then the others as config says
 * @param v          receives the y components; may be interleaved with u, without sharing an element. Of a
 *                   stream that holds one component (`factz_split_host`) the other is NULL
 * @param n          number of vertices of the region, nx * ny * nz of config
 * @param report     receives the result: stream_bytes are the bytes that were read, required_bytes those of
 *                   the whole stream; exact_vertices are those of the tiles that the region touches
 * @param threads    see "Threads" at the top of this header
 * @return as `factz_decompress_host`; FACTZ_ERROR_INVALID_ARGUMENT also if the region is not inside the
 *         field
 */
factz_status factz_decompress_region_host(const void *src,
                                          size_t src_bytes,
                                          const struct factz_config *config,
                                          uint64_t x0,
                                          uint64_t y0,
                                          uint64_t z0,
                                          void *u,
                                          void *v,
                                          size_t n,
                                          struct factz_report *report,
                                          int threads);

/**
 * Decompresses consecutive planes of the field of a stream in host memory.
 *
 * As `factz_decompress_region_host` for all columns and rows: only the groups that hold tiles of these planes are
 * decoded.
 *
 * @param src        the stream; any alignment
 * @param src_bytes  readable bytes at src: the length of the stream or more
 * @param config     nx and ny are those of the stream, nz is the number of planes to decompress; otherwise as
 *                   for `factz_decompress_region_host`
 * @param first      the first of these planes
 * @param u          receives the x components: vertex (0, 0) of plane `first`, then the others as config says
 * @param v          receives the y components
 * @param n          number of vertices, nx * ny * nz of config
 * @param report     receives the result, as for `factz_decompress_region_host`
 * @param threads    see "Threads" at the top of this header
 * @return as `factz_decompress_region_host`; FACTZ_ERROR_INVALID_ARGUMENT also if nx or ny is not that of the
 *         stream, or the stream does not have these planes
 */
factz_status factz_decompress_planes_host(const void *src,
                                          size_t src_bytes,
                                          const struct factz_config *config,
                                          uint64_t first,
                                          void *u,
                                          void *v,
                                          size_t n,
                                          struct factz_report *report,
                                          int threads);

/**
 * Decompresses a region of the field of a stream of which only the needed pieces are read: from a file,
 * an archive or an object store.
 *
 * As `factz_decompress_region_host`, with a function in place of the stream. The function is called for the
 * header (FACTZ_INSPECT_BYTES), for the bytes up to the groups (header, tables and 4 bytes per group), and
 * then for each run of consecutive groups. The stream may lie anywhere in a file: the function adds its
 * offset.
 *
 * @param read       the function that reads
 * @param user       handed to `read` as it is; may be NULL
 * @param src_bytes  bytes that `read` can read: the length of the stream or more
 * @param config     as for `factz_decompress_region_host`
 * @param x0         first column of the region in the field
 * @param y0         first row of the region in the field
 * @param z0         first plane of the region in the field; 0 where it has one plane
 * @param u          receives the x components
 * @param v          receives the y components
 * @param n          number of vertices of the region, nx * ny * nz of config
 * @param report     receives the result, as for `factz_decompress_region_host`
 * @param threads    see "Threads" at the top of this header
 * @return as `factz_decompress_region_host`; FACTZ_ERROR_READ (`read` did not return 0)
 */
factz_status factz_read_region_host(factz_read_callback read,
                                    void *user,
                                    uint64_t src_bytes,
                                    const struct factz_config *config,
                                    uint64_t x0,
                                    uint64_t y0,
                                    uint64_t z0,
                                    void *u,
                                    void *v,
                                    size_t n,
                                    struct factz_report *report,
                                    int threads);

/**
 * Splits the stream of a field into two, one for each component.
 *
 * Each is decompressed alone (`factz_decompress_host`, `factz_decompress_region_host`,
 * `factz_decompress_planes_host` and `factz_read_region_host` with NULL in place of the other component), to
 * the values that the stream of both gives: nothing is quantised again, and the error bound and the critical
 * points are those of the field. `factz_join_host` makes the stream of the field of them again. Both
 * together take a little more than that stream. Streams of one component are read on the host alone.
 *
 * @param src          the stream; any alignment. Its checksum is compared
 * @param src_bytes    readable bytes at src: the length of the stream or more
 * @param dst_u        receives the stream of u; any alignment
 * @param dst_u_bytes  writable bytes at dst_u. There is no number that always suffices; with 0, dst_u may be
 *                     NULL: the call fails, and reports[0].required_bytes is the length of the stream of u
 * @param dst_v        receives the stream of v
 * @param dst_v_bytes  writable bytes at dst_v, likewise
 * @param reports      receives the results of u and of v: an array of two
 * @param threads      see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the stream holds one component, or a
 *         volume); FACTZ_ERROR_UNSUPPORTED (the stream has another fill value of u than of v);
 *         FACTZ_ERROR_BUFFER_TOO_SMALL (the required_bytes of both reports are needed; the content of dst_u
 *         and dst_v is undefined); FACTZ_ERROR_CORRUPT_STREAM; FACTZ_ERROR_UNSUPPORTED_VERSION;
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_split_host(const void *src,
                              size_t src_bytes,
                              void *dst_u,
                              size_t dst_u_bytes,
                              void *dst_v,
                              size_t dst_v_bytes,
                              struct factz_report *reports,
                              int threads);

/**
 * Joins the streams of both components of a field, which `factz_split_host` made of one stream, to that
 * stream.
 *
 * The stream is byte for byte the one that was split, if this version of the library wrote it.
 *
 * @param src_u        the stream of u; any alignment. Its checksum is compared
 * @param src_u_bytes  readable bytes at src_u: the length of the stream or more
 * @param src_v        the stream of v
 * @param src_v_bytes  readable bytes at src_v, likewise
 * @param dst          receives the stream of both; any alignment
 * @param dst_bytes    writable bytes at dst. `factz_compress_sizes` gives a number that suffices if the
 *                     stream was written by this library. With 0, dst may be NULL: the call fails, and
 *                     report->required_bytes is the length of the stream
 * @param report       receives the result
 * @param threads      see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if src_u is not the stream of u, src_v not
 *         that of v, or they were split from different streams); FACTZ_ERROR_BUFFER_TOO_SMALL
 *         (report->required_bytes bytes are needed); FACTZ_ERROR_CORRUPT_STREAM;
 *         FACTZ_ERROR_UNSUPPORTED_VERSION; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_join_host(const void *src_u,
                             size_t src_u_bytes,
                             const void *src_v,
                             size_t src_v_bytes,
                             void *dst,
                             size_t dst_bytes,
                             struct factz_report *report,
                             int threads);

/**
 * Finds the range of a field in host memory. Ghost vertices do not count.
 *
 * @param u        x components, laid out as config says
 * @param v        y components
 * @param n        number of vertices, nx * ny
 * @param config   nx, ny, dtype, the layout and the fill value; the rest must be valid and has no effect
 * @param range    receives the range; if the call fails, its status and a range without values
 * @param threads  see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_range_host(const void *u,
                              const void *v,
                              size_t n,
                              const struct factz_config *config,
                              struct factz_range *range,
                              int threads);

/**
 * The absolute bound that a relative one stands for in a field with this range: `relative * (high - low)`,
 * rounded as compression with FACTZ_BOUND_RELATIVE rounds it. If `high - low` overflows, the bound is
 * `relative * high - relative * low`, at most the largest double. It is 0 if low is above high (no values),
 * and NaN if relative is negative or not finite or if low or high is NaN. Allocates nothing and does not
 * change the last error.
 *
 * @param relative  the bound as a fraction of the range
 * @param low       factz_range.low, or the least of several
 * @param high      factz_range.high, or the largest of several
 * @return the absolute bound
 */
double factz_relative_bound(double relative, double low, double high);

/**
 * Extracts the critical points of a field in host memory.
 *
 * The points are sorted plane by plane, by (cell_x, cell_y), row by row, then by simplex. Triangles with
 * a NaN, an infinity or the fill value at a vertex do not count: they hold no point, and are no
 * surroundings of a zero at a vertex or on an edge, which needs one triangle at least.
 *
 * Blocks of a field: a block has the points with (cell_x, cell_y) among its vertices. The ghosts of all
 * sides in config->halo are read. If every side with a neighbour has a halo, each point belongs to exactly
 * one block.
 *
 * @param u         x components, laid out as config says
 * @param v         y components
 * @param n         number of vertices, nx * ny
 * @param config    nx, ny, dtype, the layout, halo, the fill value, and dx and dy for the types; the rest
 *                  must be valid and has no effect
 * @param points    receives the points; may be NULL if capacity is 0
 * @param capacity  number of points that fit
 * @param count     receives the number of points of the field, which may exceed capacity; 0 if the call
 *                  fails for another reason
 * @param threads   see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_BUFFER_TOO_SMALL (the first `capacity` points were written);
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_critical_points_host(const void *u,
                                        const void *v,
                                        size_t n,
                                        const struct factz_config *config,
                                        struct factz_critical_point *points,
                                        size_t capacity,
                                        uint64_t *count,
                                        int threads);

/**
 * Compares a field with another one, usually an original with its decompressed copy. After compression with
 * FACTZ_PRESERVE_TYPES `violations` is 0.
 *
 * Blocks of a field: triangles and points are those of `factz_critical_points_host`, so the counts of all
 * blocks add up to those of the field. Both fields need the ghosts of all sides in config->halo; after
 * decompression these are the values that the neighbours decompressed.
 *
 * @param u             x components of the first field, laid out as config says
 * @param v             its y components
 * @param n             number of vertices, nx * ny
 * @param config        nx, ny, dtype, the layout of u and v, halo, the fill value, dx and dy for the types,
 *                      ties, and the bound; the rest must be valid and has no effect
 * @param other_u       x components of the other field
 * @param other_v       its y components
 * @param other_config  the layout of other_u and other_v; nx, ny, dtype and halo as in config. NULL stands
 *                      for config
 * @param comparison    receives the result; if the call fails, its status and zeros
 * @param threads       see "Threads" at the top of this header
 * @return FACTZ_OK (whatever the differences); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_compare_host(const void *u,
                                const void *v,
                                size_t n,
                                const struct factz_config *config,
                                const void *other_u,
                                const void *other_v,
                                const struct factz_config *other_config,
                                struct factz_comparison *comparison,
                                int threads);

/**
 * Makes a fix for the reconstruction of a field by any compressor: with it (`factz_apply_host`) the
 * reconstruction keeps the bound and the critical points, as a compression with the same configuration does.
 *
 * The reconstruction must be within the bound of config at every vertex that has data; factz_last_error says
 * where it is not. The fix belongs to this reconstruction, bit for bit: no other one takes it. It does not
 * depend on the number of threads. Concurrent calls may share the fields.
 *
 * @param u             x components of the original, laid out as config says; ghosts of config->halo are
 *                      read
 * @param v             its y components
 * @param n             number of vertices, nx * ny
 * @param config        shape, type and layout of the original, the bound, and what is preserved: preserve,
 *                      ties, fill value, dx, dy, periodic, halo and pin. mode, coder, predictor and
 *                      verify_checksum must be valid and have no effect
 * @param other_u       x components of the reconstruction; ghosts are not read
 * @param other_v       its y components
 * @param other_config  the layout of other_u and other_v; nx, ny, nz, dtype and periodic as in config. NULL
 *                      stands for config
 * @param dst           receives the fix; any alignment
 * @param dst_bytes     writable bytes at dst; the max_stream_bytes of `factz_compress_sizes` always suffice.
 *                      With 0, dst may be NULL: the call fails, and report->required_bytes is the length of
 *                      the fix
 * @param report        receives the result; report->fix_bytes is the length of the fix
 * @param threads       see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the reconstruction is not within the bound);
 *         FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_BUFFER_TOO_SMALL
 *         (report->required_bytes bytes are needed; the content of dst is undefined);
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_protect_host(const void *u,
                                const void *v,
                                size_t n,
                                const struct factz_config *config,
                                const void *other_u,
                                const void *other_v,
                                const struct factz_config *other_config,
                                void *dst,
                                size_t dst_bytes,
                                struct factz_fix_report *report,
                                int threads);

/**
 * Applies a fix to the reconstruction that it was made for, in place.
 *
 * Before anything is written the checksums of the fix and of the reconstruction are compared, and the whole
 * fix is checked: if the call fails, u and v keep their values. The output does not depend on the number of
 * threads.
 *
 * @param fix        the fix; any alignment
 * @param fix_bytes  readable bytes at fix: the length of the fix or more
 * @param config     nx, ny, nz and dtype must be those of the fix. Pitches and strides are those of u and v.
 *                   The rest must be valid and has no effect
 * @param u          x components of the reconstruction, laid out as config says; receives those of the
 *                   repaired field
 * @param v          its y components; may be interleaved with u, without sharing an element
 * @param n          number of vertices, nx * ny
 * @param report     receives the result
 * @param threads    see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the fix belongs to another reconstruction, to
 *         other dimensions or another dtype); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_CORRUPT_STREAM; FACTZ_ERROR_UNSUPPORTED_VERSION; FACTZ_ERROR_OUT_OF_MEMORY;
 *         FACTZ_ERROR_INTERNAL
 */
factz_status factz_apply_host(const void *fix,
                              size_t fix_bytes,
                              const struct factz_config *config,
                              void *u,
                              void *v,
                              size_t n,
                              struct factz_fix_report *report,
                              int threads);

/**
 * Reads the header of a fix in host memory.
 *
 * Reads only the first FACTZ_INSPECT_BYTES bytes, of a volume 8 more: the rest of the fix is not checked, and the
 * checksum is not compared. Does not block, thread-safe.
 *
 * @param fix        the start of a fix, any alignment; not changed
 * @param fix_bytes  readable bytes at fix; at least FACTZ_INSPECT_BYTES, of a volume FACTZ_INSPECT_BYTES + 8
 * @param info       always written, unless info itself is the bad argument; if the call fails, `status` has
 *                   the error and all other fields are 0
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or info overlaps fix);
 *         FACTZ_ERROR_CORRUPT_STREAM (too short, or no fix); FACTZ_ERROR_UNSUPPORTED_VERSION
 */
factz_status factz_inspect_fix_host(const void *fix,
                                    size_t fix_bytes,
                                    struct factz_fix_info *info);

/**
 * The bytes that hold the stream, or the fix (`factz_protect_volume_host`), of any volume with a configuration,
 * whatever its values.
 *
 * A pure function of the configuration. Does not block, thread-safe.
 *
 * @param config            the configuration of a volume (`factz_config_init_volume`)
 * @param max_stream_bytes  written; 0 where the call fails
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or max_stream_bytes overlaps
 *         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
 */
factz_status factz_volume_stream_bytes(const struct factz_config *config,
                                       uint64_t *max_stream_bytes);

/**
 * Compresses a volume in host memory: u, v and w at nx * ny * nz vertices.
 *
 * Every cube of vertices is divided into six tetrahedra along its main diagonal. Critical points of the piecewise
 * linear field stay in their tetrahedron, none appears, and with FACTZ_PRESERVE_TYPES the eigenvalues of each keep
 * the signs of their real parts and stay real or complex. The stream does not depend on the number of threads. The
 * components may be interleaved. With a halo the tetrahedra between blocks are kept too, whatever the owner of the
 * other block does.
 *
 * @param u          x components, laid out as config says; ghosts of config->halo are read
 * @param v          y components
 * @param w          z components
 * @param n          number of vertices, nx * ny * nz
 * @param config     the configuration of a volume (`factz_config_init_volume`)
 * @param dst        receives the stream; any alignment
 * @param dst_bytes  writable bytes at dst; `factz_volume_stream_bytes` gives a number that always suffices. With
 *                   0, dst may be NULL: the call fails, and report->required_bytes is the length of the stream
 * @param report     receives the result; report->points_in_triangles counts tetrahedra with a critical point
 * @param threads    see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_BUFFER_TOO_SMALL (report->required_bytes bytes are needed; the content of dst is
 *         undefined); FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_compress_volume_host(const void *u,
                                        const void *v,
                                        const void *w,
                                        size_t n,
                                        const struct factz_config *config,
                                        void *dst,
                                        size_t dst_bytes,
                                        struct factz_report *report,
                                        int threads);

/**
 * Decompresses the stream of a volume in host memory.
 *
 * Writes every vertex. Gaps between rows, planes and strided elements keep their content. The output does not
 * depend on the number of threads.
 *
 * @param src        the stream; any alignment
 * @param src_bytes  readable bytes at src: the length of the stream or more
 * @param config     nx, ny, nz and dtype must be those of the stream. Pitches and strides are those of the output.
 *                   verify_checksum says whether the checksum is compared. The rest must be valid and has no
 *                   effect
 * @param u          receives the x components, laid out as config says
 * @param v          receives the y components; may be interleaved with u, without sharing an element
 * @param w          receives the z components
 * @param n          number of vertices, nx * ny * nz
 * @param report     receives the result
 * @param threads    see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the stream has other dimensions or another dtype, or
 *         holds planes); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_CORRUPT_STREAM (the
 *         content of u, v and w is undefined); FACTZ_ERROR_UNSUPPORTED_VERSION (see `factz_readable_formats`);
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_decompress_volume_host(const void *src,
                                          size_t src_bytes,
                                          const struct factz_config *config,
                                          void *u,
                                          void *v,
                                          void *w,
                                          size_t n,
                                          struct factz_report *report,
                                          int threads);

/**
 * Decompresses a region of the volume of a stream in host memory: a box of vertices. A plane is the region of one
 * vertex along an axis.
 *
 * The values are bit for bit those of `factz_decompress_volume_host`. Tiles of 16 x 16 x 16 vertices are coded in
 * groups of up to 256, and repaired vertices in chunks of up to 512. The groups that hold tiles of the region or
 * next to it are decoded, and the chunks of these tiles. Working memory is in proportion to these tiles, to the
 * number of groups and to that of chunks, not to the volume. About the checksum see `factz_decompress_region_host`.
 *
 * @param src        the stream; any alignment
 * @param src_bytes  readable bytes at src: the length of the stream or more
 * @param config     the configuration of a volume (`factz_config_init_volume`). nx, ny and nz are the vertices of the
 *                   region, 1 or more along each axis; pitches, strides and plane_rows are those of the output; dtype
 *                   must be that of the stream. verify_checksum: compared only if the region takes all groups. halo,
 *                   pin and periodic are ignored; the rest must be valid and has no effect
 * @param x0         first column of the region in the volume
 * @param y0         first row of the region in the volume
 * @param z0         first plane of the region in the volume
 * @param u          receives the x components: vertex (x0, y0, z0), then the others as config says
 * @param v          receives the y components; may be interleaved with u, without sharing an element
 * @param w          receives the z components
 * @param n          number of vertices of the region, nx * ny * nz of config
 * @param report     receives the result: stream_bytes are the bytes that were read, required_bytes those of the
 *                   whole stream, exact_vertices those of the region
 * @param threads    see "Threads" at the top of this header
 * @return as `factz_decompress_volume_host`; FACTZ_ERROR_INVALID_ARGUMENT also if the region is not inside the
 *         volume
 */
factz_status factz_decompress_volume_region_host(const void *src,
                                                 size_t src_bytes,
                                                 const struct factz_config *config,
                                                 uint64_t x0,
                                                 uint64_t y0,
                                                 uint64_t z0,
                                                 void *u,
                                                 void *v,
                                                 void *w,
                                                 size_t n,
                                                 struct factz_report *report,
                                                 int threads);

/**
 * Decompresses a region of the volume of a stream of which only the needed pieces are read: from a file, an
 * archive or an object store.
 *
 * As `factz_decompress_volume_region_host`, with a function in place of the stream. The function is called for the
 * header (FACTZ_VOLUME_INSPECT_BYTES), for the bytes up to the groups, for each run of consecutive groups and the
 * directory of repaired vertices, and then for the chunks of repaired vertices.
 *
 * @param read       the function that reads
 * @param user       handed to `read` as it is; may be NULL
 * @param src_bytes  bytes that `read` can read: the length of the stream or more
 * @param config     as for `factz_decompress_volume_region_host`
 * @param x0         first column of the region in the volume
 * @param y0         first row of the region in the volume
 * @param z0         first plane of the region in the volume
 * @param u          receives the x components
 * @param v          receives the y components
 * @param w          receives the z components
 * @param n          number of vertices of the region, nx * ny * nz of config
 * @param report     receives the result, as for `factz_decompress_volume_region_host`
 * @param threads    see "Threads" at the top of this header
 * @return as `factz_decompress_volume_region_host`; FACTZ_ERROR_READ (`read` did not return 0)
 */
factz_status factz_read_volume_region_host(factz_read_callback read,
                                           void *user,
                                           uint64_t src_bytes,
                                           const struct factz_config *config,
                                           uint64_t x0,
                                           uint64_t y0,
                                           uint64_t z0,
                                           void *u,
                                           void *v,
                                           void *w,
                                           size_t n,
                                           struct factz_report *report,
                                           int threads);

/**
 * Extracts the critical points of a volume in host memory.
 *
 * The points are sorted by (cell_z, cell_y, cell_x), then by simplex. Tetrahedra with a NaN, an infinity or the fill
 * value at a vertex do not count: they hold no point, and are no surroundings of a zero at a vertex, on an edge or on
 * a face, which needs one tetrahedron at least. Blocks until all points are found; thread-safe.
 *
 * Blocks of a volume: a block has the points with (cell_x, cell_y, cell_z) among its vertices. The ghosts of
 * all sides in config->halo are read. If every side with a neighbour has a halo, each point belongs to
 * exactly one block.
 *
 * @param u         x components, laid out as config says
 * @param v         y components
 * @param w         z components
 * @param n         number of vertices, nx * ny * nz
 * @param config    the configuration of a volume (`factz_config_init_volume`): nx, ny, nz, dtype, the layout,
 *                  halo, periodic, the fill value, and dx, dy and dz for the types; the rest must be valid and
 *                  has no effect
 * @param points    receives the points; may be NULL if capacity is 0
 * @param capacity  number of points that fit
 * @param count     receives the number of points of the volume, which may exceed capacity; 0 if the call
 *                  fails for another reason
 * @param threads   see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_BUFFER_TOO_SMALL (the first `capacity` points were written);
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_critical_points_volume_host(const void *u,
                                               const void *v,
                                               const void *w,
                                               size_t n,
                                               const struct factz_config *config,
                                               struct factz_volume_point *points,
                                               size_t capacity,
                                               uint64_t *count,
                                               int threads);

/**
 * Compares a volume with another one, usually an original with its decompressed copy. After compression with
 * FACTZ_PRESERVE_TYPES `violations` is 0. Blocks until all is compared; thread-safe.
 *
 * Blocks of a volume: a tetrahedron belongs to the block that has the vertex it begins at, points are those
 * of `factz_critical_points_volume_host`, and values those of the vertices of the block, so the counts of
 * all blocks add up to those of the volume. Both volumes need the ghosts of all sides in config->halo; after
 * decompression these are the values that the neighbours decompressed.
 *
 * @param u             x components of the first volume, laid out as config says
 * @param v             its y components
 * @param w             its z components
 * @param n             number of vertices, nx * ny * nz
 * @param config        the configuration of a volume (`factz_config_init_volume`): nx, ny, nz, dtype, the layout
 *                      of u, v and w, halo, periodic, the fill value, dx, dy and dz for the types, ties, and
 *                      the bound; the rest must be valid and has no effect
 * @param other_u       x components of the other volume
 * @param other_v       its y components
 * @param other_w       its z components
 * @param other_config  the layout of other_u, other_v and other_w; nx, ny, nz, dtype, periodic and halo as in
 *                      config. NULL stands for config
 * @param comparison    receives the result; if the call fails, its status and zeros
 * @param threads       see "Threads" at the top of this header
 * @return FACTZ_OK (whatever the differences); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_compare_volume_host(const void *u,
                                       const void *v,
                                       const void *w,
                                       size_t n,
                                       const struct factz_config *config,
                                       const void *other_u,
                                       const void *other_v,
                                       const void *other_w,
                                       const struct factz_config *other_config,
                                       struct factz_volume_comparison *comparison,
                                       int threads);

/**
 * Finds the range of a volume in host memory, u, v and w together, as `factz_range_host` does for planes.
 * Ghost vertices do not count. Blocks until it is found; thread-safe.
 *
 * @param u        x components, laid out as config says
 * @param v        y components
 * @param w        z components
 * @param n        number of vertices, nx * ny * nz
 * @param config   the configuration of a volume (`factz_config_init_volume`): nx, ny, nz, dtype, the layout and the
 *                 fill value; the rest must be valid and has no effect
 * @param range    receives the range; zero_vertices counts vertices with u = v = w = 0. If the call fails, its status
 *                 and a range without values
 * @param threads  see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_range_volume_host(const void *u,
                                     const void *v,
                                     const void *w,
                                     size_t n,
                                     const struct factz_config *config,
                                     struct factz_range *range,
                                     int threads);

/**
 * Makes a fix for the reconstruction of a volume by any compressor: with it (`factz_apply_volume_host`) the
 * reconstruction keeps the bound and the critical points, as a compression with the same configuration does.
 *
 * The reconstruction must be within the bound of config at every vertex that has data; factz_last_error says
 * where it is not. The fix belongs to this reconstruction, bit for bit: no other one takes it. It does not
 * depend on the number of threads. Concurrent calls may share the volumes.
 *
 * @param u             x components of the original, laid out as config says; ghosts of config->halo are
 *                      read
 * @param v             its y components
 * @param w             its z components
 * @param n             number of vertices, nx * ny * nz
 * @param config        the configuration of a volume (`factz_config_init_volume`): shape, type and layout of the
 *                      original, the bound, and what is preserved: preserve, ties, fill value, dx, dy, dz,
 *                      periodic, halo and pin. coder and verify_checksum must be valid and have no effect
 * @param other_u       x components of the reconstruction; ghosts are not read
 * @param other_v       its y components
 * @param other_w       its z components
 * @param other_config  the layout of other_u, other_v and other_w; nx, ny, nz, dtype and periodic as in config.
 *                      NULL stands for config
 * @param dst           receives the fix; any alignment
 * @param dst_bytes     writable bytes at dst; `factz_volume_stream_bytes` gives a number that always suffices.
 *                      With 0, dst may be NULL: the call fails, and report->required_bytes is the length of
 *                      the fix
 * @param report        receives the result; report->fix_bytes is the length of the fix, and
 *                      report->violated_triangles counts tetrahedra
 * @param threads       see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the reconstruction is not within the bound);
 *         FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_BUFFER_TOO_SMALL
 *         (report->required_bytes bytes are needed; the content of dst is undefined);
 *         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_protect_volume_host(const void *u,
                                       const void *v,
                                       const void *w,
                                       size_t n,
                                       const struct factz_config *config,
                                       const void *other_u,
                                       const void *other_v,
                                       const void *other_w,
                                       const struct factz_config *other_config,
                                       void *dst,
                                       size_t dst_bytes,
                                       struct factz_fix_report *report,
                                       int threads);

/**
 * Applies a fix to the reconstruction of a volume that it was made for, in place.
 *
 * Before anything is written the checksums of the fix and of the reconstruction are compared, and the whole
 * fix is checked: if the call fails, u, v and w keep their values. The output does not depend on the number of
 * threads.
 *
 * @param fix        the fix; any alignment
 * @param fix_bytes  readable bytes at fix: the length of the fix or more
 * @param config     the configuration of a volume: nx, ny, nz and dtype must be those of the fix. Pitches and
 *                   strides are those of u, v and w. The rest must be valid and has no effect
 * @param u          x components of the reconstruction, laid out as config says; receives those of the
 *                   repaired volume
 * @param v          its y components; may be interleaved with the others, without sharing an element
 * @param w          its z components
 * @param n          number of vertices, nx * ny * nz
 * @param report     receives the result
 * @param threads    see "Threads" at the top of this header
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the fix belongs to another reconstruction, to
 *         other dimensions, another dtype, or to planes); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
 *         FACTZ_ERROR_CORRUPT_STREAM; FACTZ_ERROR_UNSUPPORTED_VERSION; FACTZ_ERROR_OUT_OF_MEMORY;
 *         FACTZ_ERROR_INTERNAL
 */
factz_status factz_apply_volume_host(const void *fix,
                                     size_t fix_bytes,
                                     const struct factz_config *config,
                                     void *u,
                                     void *v,
                                     void *w,
                                     size_t n,
                                     struct factz_fix_report *report,
                                     int threads);

/**
 * Loads the kernels into the CUDA context of a stream. Otherwise the first device function in each context
 * loads them, which may block and allocate and is impossible while a stream is being captured: call this
 * before you capture a CUDA graph.
 *
 * May block and allocate. Leaves the current CUDA context unchanged.
 *
 * @param stream  a stream of the device; a default stream stands for the current context of the thread
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a default stream, and no context is current);
 *         FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
 */
factz_status factz_prepare_device(factz_stream stream);

/**
 * Enqueues the compression of a field in device memory. Writes the same stream as `factz_compress_host`. See
 * "Device functions" at the top of this header.
 *
 * @param u                x components, laid out as config says, aligned to their type; ghosts of
 *                         config->halo are read
 * @param v                y components; may be interleaved with u
 * @param n                number of vertices, nx * ny
 * @param config           the configuration, in host memory
 * @param dst              receives the stream; aligned to factz_sizes.alignment
 * @param dst_bytes        writable bytes at dst, at least FACTZ_INSPECT_BYTES
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_compress_sizes`
 * @param report           receives the result; FACTZ_ERROR_BUFFER_TOO_SMALL and required_bytes if the stream
 *                         does not fit into dst
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_compress_device(const void *u,
                                   const void *v,
                                   size_t n,
                                   const struct factz_config *config,
                                   void *dst,
                                   size_t dst_bytes,
                                   void *workspace,
                                   size_t workspace_bytes,
                                   struct factz_report *report,
                                   factz_stream stream);

/**
 * Enqueues the decompression of a stream in device memory. Writes the same bits as `factz_decompress_host`.
 * See "Device functions" at the top of this header.
 *
 * The length of the stream is read on the device. So compression and decompression can be enqueued one after
 * the other, with the capacity of the buffer as src_bytes.
 *
 * @param src              the stream, aligned to factz_sizes.alignment
 * @param src_bytes        readable bytes at src: the length of the stream or more
 * @param config           the layout of the output, in host memory, as for `factz_decompress_host`. A stream
 *                         of another predictor than config->predictor is decoded too, more slowly
 * @param u                receives the x components, aligned to their type
 * @param v                receives the y components; may be interleaved with u
 * @param n                number of vertices, nx * ny
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_decompress_sizes`
 * @param report           receives the result, among others FACTZ_ERROR_CORRUPT_STREAM,
 *                         FACTZ_ERROR_UNSUPPORTED_VERSION, and FACTZ_ERROR_INVALID_ARGUMENT if the stream
 *                         has other dimensions or another dtype
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_decompress_device(const void *src,
                                     size_t src_bytes,
                                     const struct factz_config *config,
                                     void *u,
                                     void *v,
                                     size_t n,
                                     void *workspace,
                                     size_t workspace_bytes,
                                     struct factz_report *report,
                                     factz_stream stream);

/**
 * Enqueues the decompression of consecutive planes of a stream in device memory: only the groups of tiles
 * that hold tiles of these planes are decoded. The values are bit for bit those of `factz_decompress_device`.
 * See "Device functions" at the top of this header.
 *
 * The checksum of the stream is not compared; `factz_decompress_region_host` says which damage is noticed
 * without it. The stream must have at most 2^31 - 1 tiles of 32 x 32 vertices.
 *
 * @param src              the stream, aligned to factz_sizes.alignment
 * @param src_bytes        readable bytes at src: the length of the stream or more
 * @param config           nx and ny are those of the stream, nz is the number of planes to decompress;
 *                         otherwise as for `factz_decompress_device`
 * @param first            the first of these planes
 * @param u                receives the x components: vertex (0, 0) of plane `first`, then the others as
 *                         config says
 * @param v                receives the y components; may be interleaved with u
 * @param n                number of vertices, nx * ny * nz of config
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_decompress_planes_sizes`
 * @param report           receives the result, as for `factz_decompress_device`;
 *                         FACTZ_ERROR_INVALID_ARGUMENT also if the stream does not have these planes,
 *                         FACTZ_ERROR_UNSUPPORTED if it has too many tiles. exact_vertices are those of these
 *                         planes
 * @param stream           the CUDA stream
 * @return as for `factz_decompress_device`
 */
factz_status factz_decompress_planes_device(const void *src,
                                            size_t src_bytes,
                                            const struct factz_config *config,
                                            uint64_t first,
                                            void *u,
                                            void *v,
                                            size_t n,
                                            void *workspace,
                                            size_t workspace_bytes,
                                            struct factz_report *report,
                                            factz_stream stream);

/**
 * Enqueues the reading of the header of a stream in device memory; see `factz_inspect_host`, and "Device
 * functions" at the top of this header.
 *
 * @param src        the start of a stream, aligned to factz_sizes.alignment
 * @param src_bytes  readable bytes at src, at least FACTZ_INSPECT_BYTES
 * @param info       receives the result; if src holds no stream, its status and zeros
 * @param stream     the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_inspect_device(const void *src,
                                  size_t src_bytes,
                                  struct factz_info *info,
                                  factz_stream stream);

/**
 * Enqueues the search for the range of a field in device memory. Gives the same bits as `factz_range_host`.
 * See "Device functions" at the top of this header.
 *
 * @param u                x components, laid out as config says, aligned to their type
 * @param v                y components
 * @param n                number of vertices, nx * ny
 * @param config           the configuration, in host memory
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
 * @param range            receives the range
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_range_device(const void *u,
                                const void *v,
                                size_t n,
                                const struct factz_config *config,
                                void *workspace,
                                size_t workspace_bytes,
                                struct factz_range *range,
                                factz_stream stream);

/**
 * Enqueues the extraction of the critical points of a field in device memory. Gives the same points in the
 * same order as `factz_critical_points_host`. See "Device functions" at the top of this header.
 *
 * @param u                x components, laid out as config says, aligned to their type
 * @param v                y components
 * @param n                number of vertices, nx * ny
 * @param config           the configuration, in host memory
 * @param points           receives the points; may be NULL if capacity is 0
 * @param capacity         number of points that fit
 * @param count            receives the number of points of the field; only the first `capacity` points are
 *                         written
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_critical_points_device(const void *u,
                                          const void *v,
                                          size_t n,
                                          const struct factz_config *config,
                                          struct factz_critical_point *points,
                                          size_t capacity,
                                          uint64_t *count,
                                          void *workspace,
                                          size_t workspace_bytes,
                                          factz_stream stream);

/**
 * Enqueues the comparison of two fields in device memory. Gives the same bits as `factz_compare_host`. See
 * "Device functions" at the top of this header.
 *
 * @param u                x components of the first field, laid out as config says, aligned to their type
 * @param v                its y components
 * @param n                number of vertices, nx * ny
 * @param config           the configuration, in host memory
 * @param other_u          x components of the other field
 * @param other_v          its y components
 * @param other_config     the layout of the other field, in host memory, as for `factz_compare_host`; NULL
 *                         stands for config
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
 * @param comparison       receives the result
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_compare_device(const void *u,
                                  const void *v,
                                  size_t n,
                                  const struct factz_config *config,
                                  const void *other_u,
                                  const void *other_v,
                                  const struct factz_config *other_config,
                                  void *workspace,
                                  size_t workspace_bytes,
                                  struct factz_comparison *comparison,
                                  factz_stream stream);

/**
 * The sizes for compressing volumes of a shape, an element type and a configuration on a device.
 *
 * analysis_workspace_bytes is 0. A pure function of the configuration: it looks at no data and needs no device.
 * Does not block, thread-safe. The numbers may change with the version of the library.
 *
 * @param config  the configuration of a volume (`factz_config_init_volume`)
 * @param sizes   written; all zero where the call fails
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
 *         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
 */
factz_status factz_compress_volume_sizes(const struct factz_config *config,
                                         struct factz_sizes *sizes);

/**
 * The sizes for decompressing the streams of volumes of a shape and an element type on a device. Otherwise as
 * `factz_compress_volume_sizes`.
 *
 * @param config  the configuration of a volume (`factz_config_init_volume`)
 * @param sizes   written; all zero where the call fails
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
 *         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
 */
factz_status factz_decompress_volume_sizes(const struct factz_config *config, struct factz_sizes *sizes);

/**
 * Enqueues the compression of a volume in device memory. Writes the same stream as `factz_compress_volume_host`.
 * See "Device functions" at the top of this header. Takes a device of compute capability 8.0 or later.
 *
 * @param u                x components, laid out as config says, aligned to their type; ghosts of config->halo
 *                         are read
 * @param v                y components; may be interleaved with u and w
 * @param w                z components
 * @param n                number of vertices, nx * ny * nz
 * @param config           the configuration of a volume (`factz_config_init_volume`), in host memory
 * @param dst              receives the stream; aligned to factz_sizes.alignment
 * @param dst_bytes        writable bytes at dst, at least FACTZ_VOLUME_INSPECT_BYTES
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_compress_volume_sizes`
 * @param report           receives the result; FACTZ_ERROR_BUFFER_TOO_SMALL and required_bytes if the stream
 *                         does not fit into dst
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_compress_volume_device(const void *u,
                                          const void *v,
                                          const void *w,
                                          size_t n,
                                          const struct factz_config *config,
                                          void *dst,
                                          size_t dst_bytes,
                                          void *workspace,
                                          size_t workspace_bytes,
                                          struct factz_report *report,
                                          factz_stream stream);

/**
 * Enqueues the decompression of the stream of a volume in device memory. Writes the same bits as
 * `factz_decompress_volume_host`. See "Device functions" at the top of this header.
 *
 * @param src              the stream, aligned to factz_sizes.alignment
 * @param src_bytes        readable bytes at src: the length of the stream or more
 * @param config           the layout of the output, in host memory, as for `factz_decompress_volume_host`
 * @param u                receives the x components, aligned to their type
 * @param v                receives the y components; may be interleaved with u and w
 * @param w                receives the z components
 * @param n                number of vertices, nx * ny * nz
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_decompress_volume_sizes`
 * @param report           receives the result, among others FACTZ_ERROR_CORRUPT_STREAM (the content of u, v and w
 *                         is undefined), FACTZ_ERROR_UNSUPPORTED_VERSION, and FACTZ_ERROR_INVALID_ARGUMENT if the
 *                         stream has other dimensions or another dtype, or holds planes
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_decompress_volume_device(const void *src,
                                            size_t src_bytes,
                                            const struct factz_config *config,
                                            void *u,
                                            void *v,
                                            void *w,
                                            size_t n,
                                            void *workspace,
                                            size_t workspace_bytes,
                                            struct factz_report *report,
                                            factz_stream stream);

/**
 * The sizes for making fixes of planes on a device: max_stream_bytes holds any fix.
 *
 * analysis_workspace_bytes is 0. A pure function of the configuration: it looks at no data and needs no
 * device. Does not block, thread-safe. The numbers may change with the version of the library.
 *
 * @param config  the configuration
 * @param sizes   written; all zero where the call fails
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
 *         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
 */
factz_status factz_protect_sizes(const struct factz_config *config, struct factz_sizes *sizes);

/**
 * The sizes for making fixes of volumes on a device. Otherwise as `factz_protect_sizes`.
 *
 * @param config  the configuration of a volume (`factz_config_init_volume`)
 * @param sizes   written; all zero where the call fails
 * @return as for `factz_protect_sizes`
 */
factz_status factz_protect_volume_sizes(const struct factz_config *config, struct factz_sizes *sizes);

/**
 * The sizes for applying fixes of planes on a device: nx, ny, nz and dtype of config. Its other fields have
 * no effect. Otherwise as `factz_protect_sizes`.
 *
 * @param config  the shape and the element type
 * @param sizes   written; all zero where the call fails
 * @return as for `factz_protect_sizes`
 */
factz_status factz_apply_sizes(const struct factz_config *config, struct factz_sizes *sizes);

/**
 * The sizes for applying fixes of volumes on a device. Otherwise as `factz_protect_sizes`.
 *
 * @param config  the configuration of a volume (`factz_config_init_volume`)
 * @param sizes   written; all zero where the call fails
 * @return as for `factz_protect_sizes`
 */
factz_status factz_apply_volume_sizes(const struct factz_config *config, struct factz_sizes *sizes);

/**
 * Enqueues the making of a fix in device memory. Writes the same fix as `factz_protect_host`. See "Device
 * functions" at the top of this header.
 *
 * report->status is FACTZ_ERROR_INVALID_ARGUMENT if the reconstruction is not within the bound of config at
 * every vertex that has data: report->vertices_outside of them are not, and report->first_outside is the
 * number of the first one, plane by plane and row by row.
 *
 * @param u                x components of the original, laid out as config says, aligned to their type;
 *                         ghosts of config->halo are read
 * @param v                its y components; may be interleaved with u
 * @param n                number of vertices, nx * ny
 * @param config           as for `factz_protect_host`, in host memory
 * @param other_u          x components of the reconstruction; ghosts are not read
 * @param other_v          its y components
 * @param other_config     the layout of other_u and other_v, in host memory; nx, ny, nz, dtype and periodic
 *                         as in config. NULL stands for config
 * @param dst              receives the fix; aligned to factz_sizes.alignment
 * @param dst_bytes        writable bytes at dst, at least FACTZ_INSPECT_BYTES
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_protect_sizes`
 * @param report           receives the result; FACTZ_ERROR_BUFFER_TOO_SMALL and required_bytes if the fix
 *                         does not fit into dst
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_protect_device(const void *u,
                                  const void *v,
                                  size_t n,
                                  const struct factz_config *config,
                                  const void *other_u,
                                  const void *other_v,
                                  const struct factz_config *other_config,
                                  void *dst,
                                  size_t dst_bytes,
                                  void *workspace,
                                  size_t workspace_bytes,
                                  struct factz_fix_report *report,
                                  factz_stream stream);

/**
 * Enqueues the making of a fix of a volume in device memory. Writes the same fix as
 * `factz_protect_volume_host`. Otherwise as `factz_protect_device`.
 *
 * @param u                x components of the original, laid out as config says, aligned to their type;
 *                         ghosts of config->halo are read
 * @param v                its y components; may be interleaved with the others
 * @param w                its z components
 * @param n                number of vertices, nx * ny * nz
 * @param config           as for `factz_protect_volume_host`, in host memory
 * @param other_u          x components of the reconstruction; ghosts are not read
 * @param other_v          its y components
 * @param other_w          its z components
 * @param other_config     the layout of the reconstruction, in host memory; nx, ny, nz, dtype and periodic
 *                         as in config. NULL stands for config
 * @param dst              receives the fix; aligned to factz_sizes.alignment
 * @param dst_bytes        writable bytes at dst, at least FACTZ_INSPECT_BYTES + 8
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_protect_volume_sizes`
 * @param report           receives the result, as for `factz_protect_device`
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_protect_volume_device(const void *u,
                                         const void *v,
                                         const void *w,
                                         size_t n,
                                         const struct factz_config *config,
                                         const void *other_u,
                                         const void *other_v,
                                         const void *other_w,
                                         const struct factz_config *other_config,
                                         void *dst,
                                         size_t dst_bytes,
                                         void *workspace,
                                         size_t workspace_bytes,
                                         struct factz_fix_report *report,
                                         factz_stream stream);

/**
 * Enqueues the application of a fix in device memory to the reconstruction that it was made for, in place.
 * Writes the same bits as `factz_apply_host`. See "Device functions" at the top of this header.
 *
 * Before anything is written the checksums of the fix and of the reconstruction are compared, and the whole
 * fix is checked: u and v keep their values unless report->status becomes FACTZ_OK.
 *
 * @param fix              the fix, aligned to factz_sizes.alignment
 * @param fix_bytes        readable bytes at fix: the length of the fix or more
 * @param config           as for `factz_apply_host`, in host memory
 * @param u                x components of the reconstruction, aligned to their type; receives those of the
 *                         repaired field
 * @param v                its y components; may be interleaved with u, without sharing an element
 * @param n                number of vertices, nx * ny
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_apply_sizes`
 * @param report           receives the result, among others FACTZ_ERROR_CORRUPT_STREAM,
 *                         FACTZ_ERROR_UNSUPPORTED_VERSION, and FACTZ_ERROR_INVALID_ARGUMENT if the fix
 *                         belongs to another reconstruction, to other dimensions, another dtype, or to a
 *                         volume
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_apply_device(const void *fix,
                                size_t fix_bytes,
                                const struct factz_config *config,
                                void *u,
                                void *v,
                                size_t n,
                                void *workspace,
                                size_t workspace_bytes,
                                struct factz_fix_report *report,
                                factz_stream stream);

/**
 * Enqueues the application of a fix in device memory to the reconstruction of a volume that it was made for,
 * in place. Writes the same bits as `factz_apply_volume_host`. Otherwise as `factz_apply_device`.
 *
 * @param fix              the fix, aligned to factz_sizes.alignment
 * @param fix_bytes        readable bytes at fix: the length of the fix or more
 * @param config           as for `factz_apply_volume_host`, in host memory
 * @param u                x components of the reconstruction, aligned to their type; receives those of the
 *                         repaired volume
 * @param v                its y components; may be interleaved with the others, without sharing an element
 * @param w                its z components
 * @param n                number of vertices, nx * ny * nz
 * @param workspace        scratch memory, aligned to factz_sizes.alignment
 * @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_apply_volume_sizes`
 * @param report           receives the result, as for `factz_apply_device`
 * @param stream           the CUDA stream
 * @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
 *         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
 *         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
 */
factz_status factz_apply_volume_device(const void *fix,
                                       size_t fix_bytes,
                                       const struct factz_config *config,
                                       void *u,
                                       void *v,
                                       void *w,
                                       size_t n,
                                       void *workspace,
                                       size_t workspace_bytes,
                                       struct factz_fix_report *report,
                                       factz_stream stream);

/**
 * Sets the function that receives the library's events, for the whole process; NULL, the initial state,
 * turns events off. While off, they cost next to nothing and their text is never made. A Rust program's
 * `tracing` subscriber, set before or after, receives the events as well.
 *
 * Does not block. Thread-safe, but a call that runs meanwhile in another thread may still use the former
 * callback: keep `user` alive until such calls have returned.
 *
 * @param callback  the function, or NULL
 * @param user      handed to the callback as it is; may be NULL; the library never looks into it
 * @return FACTZ_OK, or FACTZ_ERROR_INTERNAL
 */
factz_status factz_set_log_callback(factz_log_callback callback, void *user);

/**
 * The version of the library at run time, such as "0.1.0". Static storage, never NULL. Thread-safe.
 */
const char *factz_version(void);

/**
 * The version of the stream format that this library writes. Thread-safe.
 */
uint32_t factz_format_version(void);

/**
 * The versions of the stream format that this library reads, on the host and on a device: `first` to `last`.
 * Host only, does not block. Thread-safe.
 *
 * @param first  receives the earliest version; 0 where the call fails
 * @param last   receives the latest version; 0 where the call fails
 * @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or both are the same)
 */
factz_status factz_readable_formats(uint32_t *first, uint32_t *last);

#ifdef __cplusplus
}
#endif

#endif /* FACTZ_H */
