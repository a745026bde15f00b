/*
 * Random configurations of random small fields, and damaged streams of these, through the C interface. What
 * it says must be true: bounds, critical points, masks, counts; what lies beside fields and buffers stays as
 * it was. Buffers have exactly the size that was promised, so that AddressSanitizer and valgrind find every
 * access beside them.
 *
 *   driver CONFIGURATIONS STREAMS SEED
 *
 * CONFIGURATIONS cases, of which a third have random bytes in the configuration, and STREAMS damaged streams
 * in all.
 */
#include "factz.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

static uint64_t state;
static unsigned long long tallies[12];
static unsigned long long case_number;

static uint64_t random64(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
static uint64_t below(uint64_t n) { return (random64() >> 8) % n; }
static int one_in(uint64_t n) { return below(n) == 0; }

static factz_config config; /* of the case */
static void fail(const char* what) {
    fprintf(stderr, "case %llu: %s (last error: %s)\n", case_number, what, factz_last_error());
    fprintf(stderr,
        "%llu x %llu, bound %d %a, dtype %d, mode %d, coder %d, predictor %d, preserve %d, ties %d, halo %u, "
        "pin %u\n",
        (unsigned long long)config.nx, (unsigned long long)config.ny, config.bound_kind, config.bound,
        config.dtype, config.mode, config.coder, config.predictor, config.preserve, config.ties, config.halo,
        config.pin);
    fprintf(stderr, "spacing %a %a, fill %d %a\n", config.dx, config.dy, config.has_fill_value,
        config.fill_value);
    abort();
}
static void expect(int holds, const char* what) {
    if (!holds) fail(what);
}
static void* take(size_t bytes) {
    void* const at = malloc(bytes > 0 ? bytes : 1);
    if (!at) fail("the driver is out of memory");
    return at;
}

/* ---- The floating-point modes of the caller, which nothing may depend on ---- */

static int rounding;
#if defined(__x86_64__)
static unsigned flushing;
#endif
static void choose_modes(void) {
    static const int directions[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    rounding = directions[one_in(3) ? below(4) : 0];
#if defined(__x86_64__)
    /* Subnormal results and operands are zeros. */
    flushing = one_in(4) ? (one_in(2) ? 0x8000u : 0u) | (one_in(2) ? 0x0040u : 0u) : 0u;
#endif
}
static void enter_modes(void) {
    fesetround(rounding);
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | flushing);
#endif
}
static factz_status leave_modes(factz_status status) {
    int kept = fegetround() == rounding;
    fesetround(FE_TONEAREST);
#if defined(__x86_64__)
    kept = kept && (_mm_getcsr() & 0x8040u) == flushing;
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
    if (!kept) fail("the caller's floating-point modes have changed");
    return status;
}
/* A call in these modes. */
#define IN_MODES(call) (enter_modes(), leave_modes(call))

/* ---- Values ---- */

static double bits_as_double(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
/* Any double, with those that are special more often. */
static double any_double(void) {
    static const double special[] = {0.0, -0.0, 1.0, -1.0, 5e-324, 1e-310, 1e-40, -1e-40, 1e-6, 1e-3, 0.1,
        1e30, -1e30, 1e300, 1.7976931348623157e308, 9.97e36, HUGE_VAL, -HUGE_VAL};
    if (one_in(12)) return bits_as_double(0x7ff8000000000000u | random64());
    return one_in(2) ? special[below(sizeof special / sizeof *special)] : bits_as_double(random64());
}

enum { WAVES, NOISE, SMALL_INTEGERS, SUBNORMAL, LARGE, LAND, MISSING, FILLED, ANY_BITS, KINDS };
static double value_of(int kind, int axis, uint64_t x, uint64_t y, double fill) {
    const double fx = (double)x, fy = (double)y,
                 wave = axis ? cos(0.7 * fx - 0.2 * fy) : sin(0.3 * fx + 0.5 * fy);
    const double noise = (double)(int64_t)random64() / 9223372036854775808.0;
    switch (kind) {
        case WAVES:
            return wave;
        case NOISE:
            return noise;
        case SMALL_INTEGERS:
            return (double)below(5) - 2.0;
        case SUBNORMAL:
            return 1e-40 * wave;
        case LARGE:
            return 1e37 * noise;
        case LAND:
            return (x / 5 + y / 7) % 3 ? wave : one_in(4) ? -0.0 : 0.0;
        case MISSING:
            return one_in(9) ? any_double() : wave;
        case FILLED:
            return one_in(5) ? fill : wave;
        default:
            return any_double();
    }
}

/* ---- Fields ---- */

/* Both components in memory that ends with their last ghost vertices. */
typedef struct {
    unsigned char* memory;
    size_t bytes;
    unsigned char *u, *v;
} Field;

typedef struct {
    int64_t left, right, first, last;
} Ghosts;
static Ghosts ghosts(uint32_t halo) {
    return (Ghosts){(halo & FACTZ_SIDE_X_MIN) != 0, (halo & FACTZ_SIDE_X_MAX) != 0,
        (halo & FACTZ_SIDE_Y_MIN) != 0, (halo & FACTZ_SIDE_Y_MAX) != 0};
}
/* From a plane to the next. */
static int64_t rows_of(const factz_config* c) { return (int64_t)(c->plane_rows ? c->plane_rows : c->ny); }
static size_t vertices(const factz_config* c) { return (size_t)(c->nx * c->ny * c->nz); }

/* Every vertex of a block, and its ghosts. Rows are counted over all planes: y is the distance in rows from
 * the first vertex. */
#define FOR_VERTICES(c, x, y, halo)                                               \
    for (int64_t plane_ = 0; plane_ < (int64_t)(c)->nz; plane_++)                 \
        for (int64_t y = plane_ * rows_of(c) - ghosts(halo).first;                \
             y < plane_ * rows_of(c) + (int64_t)(c)->ny + ghosts(halo).last; y++) \
            for (int64_t x = -ghosts(halo).left; x < (int64_t)(c)->nx + ghosts(halo).right; x++)

/* Elements from the first vertex that is touched to the owned one, and to the end of the last one; 0 if they
 * do not fit. */
static int extent(
    const factz_config* c, uint64_t pitch, uint64_t stride, uint32_t halo, size_t* before, size_t* all) {
    const Ghosts g = ghosts(halo);
    const uint64_t nx = c->nx, ny = c->ny, rows = (uint64_t)rows_of(c);
    if (c->nz == 0 || c->nz > 64 || rows > 1 << 16) return 0;
    if (stride == 0 || stride > 64 || nx == 0 || ny == 0 || nx > 4096 || ny > 4096 || pitch > 1 << 20)
        return 0;
    if (pitch == 0) pitch = nx * stride;
    *before = (size_t)((uint64_t)g.first * pitch + (uint64_t)g.left * stride);
    *all = *before +
           (size_t)(((c->nz - 1) * rows + ny - 1 + (uint64_t)g.last) * pitch +
                    (nx - 1 + (uint64_t)g.right) * stride) +
           1;
    return *all < 1 << 20;
}
static int make_field(Field* field, const factz_config* c, uint32_t halo) {
    const size_t element = c->dtype == FACTZ_DTYPE_F64 ? 8 : 4;
    size_t before[2], all[2];
    if (!extent(c, c->u_pitch, c->u_stride, halo, &before[0], &all[0])) return 0;
    if (!extent(c, c->v_pitch, c->v_stride, halo, &before[1], &all[1])) return 0;
    field->bytes = (all[0] + all[1]) * element;
    field->memory = take(field->bytes);
    memset(field->memory, 0x5a, field->bytes);
    field->u = field->memory + before[0] * element;
    field->v = field->memory + (all[0] + before[1]) * element;
    return 1;
}
static unsigned char* vertex(const Field* field, const factz_config* c, int axis, int64_t x, int64_t y) {
    const int64_t stride = (int64_t)(axis ? c->v_stride : c->u_stride);
    const uint64_t given = axis ? c->v_pitch : c->u_pitch;
    const int64_t pitch = given ? (int64_t)given : (int64_t)c->nx * stride;
    return (axis ? field->v : field->u) + (y * pitch + x * stride) * (c->dtype == FACTZ_DTYPE_F64 ? 8 : 4);
}
static double read_value(const Field* field, const factz_config* c, int axis, int64_t x, int64_t y) {
    const unsigned char* const at = vertex(field, c, axis, x, y);
    double wide;
    float narrow;
    if (c->dtype == FACTZ_DTYPE_F64) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}
static void write_value(
    const Field* field, const factz_config* c, int axis, int64_t x, int64_t y, double value) {
    unsigned char* const at = vertex(field, c, axis, x, y);
    /* A value beyond every float becomes an infinity. */
    const float narrow = fabs(value) <= 3.4028234663852886e38 || isnan(value)
                             ? (float)value
                             : (float)copysign(HUGE_VAL, value);
    if (c->dtype == FACTZ_DTYPE_F64)
        memcpy(at, &value, sizeof value);
    else
        memcpy(at, &narrow, sizeof narrow);
}
static void fill_field(const Field* field, const factz_config* c) {
    const int kind = (int)below(KINDS);
    FOR_VERTICES(c, x, y, c->halo)
    for (int axis = 0; axis < 2; axis++)
        write_value(
            field, c, axis, x, y, value_of(kind, axis, (uint64_t)(x + 1), (uint64_t)(y + 1), c->fill_value));
}

/* ---- Configurations ---- */

static int32_t choice(int32_t most) {
    return one_in(40) ? (int32_t)random64() : (int32_t)below((uint64_t)most + 1);
}

static void random_config(factz_config* c) {
    static const double bounds[] = {0.0, 1e-1, 1e-2, 1e-3, 1e-6, 1e-12, 1e-40, 1.0, 1e30};
    const uint64_t most = one_in(8) ? 100 : 20;
    uint64_t nx = 1 + below(most), ny = 1 + below(most);
    if (one_in(30)) nx = 1 + below(2000), ny = 1;
    if (one_in(30)) nx = 1, ny = 1 + below(2000);
    expect(factz_config_init(c, nx, ny, FACTZ_BOUND_ABSOLUTE, 0.0) == FACTZ_OK, "factz_config_init");
    c->bound_kind = choice(1);
    c->bound = one_in(10) ? any_double() : bounds[below(sizeof bounds / sizeof *bounds)];
    c->dtype = choice(1);
    c->mode = choice(1);
    c->coder = choice(1);
    c->predictor = one_in(3) ? choice(1) : 0;
    c->preserve = choice(2);
    c->ties = choice(2);
    c->verify_checksum = choice(1);
    if (one_in(3)) c->halo = one_in(40) ? (uint32_t)random64() : (uint32_t)below(16);
    if (one_in(3)) c->pin = one_in(40) ? (uint32_t)random64() : (uint32_t)below(16) & ~c->halo;
    if (one_in(4)) c->nz = 1 + below(4);
    if (one_in(2) || (c->nz > 1 && c->halo)) c->plane_rows = ny + 2 + below(3);
    if (one_in(4)) c->periodic = one_in(40) ? (uint32_t)random64() : (uint32_t)below(4);
    /* A periodic axis has no sides. */
    if (!one_in(10)) {
        const uint32_t sides = (c->periodic & FACTZ_PERIODIC_X ? FACTZ_SIDE_X_MIN | FACTZ_SIDE_X_MAX : 0u) |
                               (c->periodic & FACTZ_PERIODIC_Y ? FACTZ_SIDE_Y_MIN | FACTZ_SIDE_Y_MAX : 0u);
        c->halo &= ~sides;
        c->pin &= ~sides;
    }
    if (one_in(6)) c->dx = any_double();
    if (one_in(6)) c->dy = any_double();
    c->u_stride = 1 + below(one_in(4) ? 4 : 1);
    c->v_stride = 1 + below(one_in(4) ? 4 : 1);
    if (one_in(2) || c->halo) c->u_pitch = (nx + 2) * c->u_stride + below(4);
    if (one_in(2) || c->halo) c->v_pitch = (nx + 2) * c->v_stride + below(4);
    if (one_in(3)) {
        c->has_fill_value = choice(1);
        c->fill_value = any_double();
    }
    if (one_in(3)) {
        for (uint64_t k = 1 + below(3); k > 0; k--) {
            unsigned char* const byte = (unsigned char*)c + below(sizeof *c);
            *byte = one_in(3) ? (unsigned char)random64() : (unsigned char)(*byte ^ 1u << below(8));
        }
    }
}

/* ---- What must hold ---- */

static int same_bits(const Field* a, const factz_config* c, const Field* b, int64_t x, int64_t y) {
    const size_t element = c->dtype == FACTZ_DTYPE_F64 ? 8 : 4;
    return memcmp(vertex(a, c, 0, x, y), vertex(b, c, 0, x, y), element) == 0 &&
           memcmp(vertex(a, c, 1, x, y), vertex(b, c, 1, x, y), element) == 0;
}
static int is_filled(const Field* field, const factz_config* c, int64_t x, int64_t y) {
    const float narrow = (float)c->fill_value;
    for (int axis = 0; axis < 2 && c->has_fill_value == 1; axis++) {
        const unsigned char* const at = vertex(field, c, axis, x, y);
        if (c->dtype == FACTZ_DTYPE_F64 ? memcmp(at, &c->fill_value, 8) == 0 : memcmp(at, &narrow, 4) == 0)
            return 1;
    }
    return 0;
}

/* The copy against the original: bound, bits of what is not finite or filled, gaps. */
static void check_copy(const Field* original, const Field* copy, const factz_config* c, double bound) {
    Field gaps = *copy;
    FOR_VERTICES(c, x, y, 0) {
        const double u = read_value(original, c, 0, x, y), v = read_value(original, c, 1, x, y);
        if (!isfinite(u) || !isfinite(v) || is_filled(original, c, x, y) || bound == 0.0) {
            expect(same_bits(original, c, copy, x, y),
                "a vertex without a finite value, filled, or at bound 0 has changed");
        } else {
            const double du = fabs(u - read_value(copy, c, 0, x, y)),
                         dv = fabs(v - read_value(copy, c, 1, x, y));
            expect(du <= bound && dv <= bound, "the bound is exceeded");
        }
    }
    gaps.memory = take(copy->bytes);
    memcpy(gaps.memory, copy->memory, copy->bytes);
    gaps.u = gaps.memory + (copy->u - copy->memory);
    gaps.v = gaps.memory + (copy->v - copy->memory);
    FOR_VERTICES(c, x, y, 0)
    for (int axis = 0; axis < 2; axis++)
        memset(vertex(&gaps, c, axis, x, y), 0x5a, c->dtype == FACTZ_DTYPE_F64 ? 8 : 4);
    for (size_t k = 0; k < gaps.bytes; k++)
        expect(gaps.memory[k] == 0x5a, "a gap or a ghost vertex was written");
    free(gaps.memory);
}

/* Whether a value came back as the fill value, which it may where that is within the bound of it. */
static int meets_fill(const Field* original, const Field* copy, const factz_config* c) {
    FOR_VERTICES(c, x, y, 0)
    if (is_filled(copy, c, x, y) && !is_filled(original, c, x, y)) return 1;
    return 0;
}

static void check_analysis(
    const Field* original, const Field* copy, const factz_config* given, const factz_report* report) {
    factz_config c = *given;
    factz_comparison comparison;
    const size_t n = vertices(&c), capacity = (size_t)below(40);
    factz_critical_point* const points = take(capacity * sizeof *points);
    uint64_t count = ~(uint64_t)0;
    c.halo = 0;
    c.bound_kind = FACTZ_BOUND_ABSOLUTE;
    c.bound = report->bound;
    expect(IN_MODES(factz_compare_host(
               original->u, original->v, n, &c, copy->u, copy->v, NULL, &comparison, 1)) == FACTZ_OK,
        "a comparison");
    expect(comparison.bound_exceeded == 0, "the comparison finds values beyond the bound");
    const int meets = meets_fill(original, copy, &c);
    if (!meets) {
        expect(comparison.changed_missing == 0, "the comparison finds other missing vertices");
        if (c.preserve != FACTZ_PRESERVE_NONE) {
            expect(comparison.lost_points == comparison.lost_zeros &&
                       comparison.spurious_points == comparison.spurious_zeros,
                "points in triangles were lost, or are new");
            expect(comparison.changed_ties == 0 && comparison.new_ties == 0, "ties have changed");
        }
        if (c.preserve == FACTZ_PRESERVE_TYPES) expect(comparison.violations == 0, "violations");
    }
    const factz_status listed =
        IN_MODES(factz_critical_points_host(original->u, original->v, n, &c, points, capacity, &count, 1));
    expect(listed == (count > capacity ? FACTZ_ERROR_BUFFER_TOO_SMALL : FACTZ_OK), "critical points");
    /* Triangles are compared where no vertex is missing in either field. */
    if (!meets) expect(count == comparison.critical_points, "both analyses count the same points");
    if (!meets && c.preserve != FACTZ_PRESERVE_NONE && given->halo == 0) {
        const uint64_t* const by_type = comparison.points_by_type;
        const uint64_t zeros = by_type[FACTZ_POINT_VERTEX_ZERO] + by_type[FACTZ_POINT_EDGE_ZERO];
        expect(count - zeros == report->points_in_triangles, "the compression counts those in triangles");
    }
    free(points);
}

/* ---- Streams ---- */

static void damage(unsigned char* stream, size_t bytes) {
    for (uint64_t k = 1 + below(4); k > 0; k--) {
        /* Each part of a stream gets its share: its header above all. */
        const size_t at = (size_t)below(one_in(3) ? 128 : one_in(2) && bytes > 300 ? 300 : bytes);
        static const uint64_t sizes[] = {
            0, 1, 31, 33, 1u << 20, 0xffffffff, 1ull << 32, 1ull << 40, 1ull << 62, ~0ull};
        const uint64_t size = one_in(2) ? sizes[below(sizeof sizes / sizeof *sizes)] : random64();
        switch (below(5)) {
            case 0:
                stream[at] = (unsigned char)random64();
                break;
            case 1:
                stream[at] ^= (unsigned char)(1u << below(8));
                break;
            case 2:
                memcpy(stream + (at & ~(size_t)3), &size,
                    bytes - (at & ~(size_t)3) < 4 ? bytes - (at & ~(size_t)3) : 4);
                break;
            /* A number of the header: dimensions, lengths, groups, the fill value. */
            case 3:
                memcpy(stream + 32 + 8 * below(12), &size, 8);
                break;
            default: {
                const size_t from = (size_t)below(bytes), longest = bytes - (at > from ? at : from);
                memmove(stream + at, stream + from, (size_t)below(longest < 200 ? longest + 1 : 200));
            }
        }
    }
}
static void decode_damaged_region(const unsigned char* bad, size_t length, const factz_config* whole) {
    factz_config c = *whole;
    factz_report report;
    Field out;
    c.nx = 1 + below(whole->nx);
    c.ny = 1 + below(whole->ny);
    c.nz = 1 + below(whole->nz);
    c.periodic = 0; /* a region may have less than the three vertices of a periodic axis */
    const uint64_t x0 = below(whole->nx - c.nx + 1), y0 = below(whole->ny - c.ny + 1),
                   z0 = below(whole->nz - c.nz + 1);
    const size_t n = vertices(&c);
    expect(make_field(&out, &c, 0), "an output of a region");
    const factz_status status =
        IN_MODES(factz_decompress_region_host(bad, length, &c, x0, y0, z0, out.u, out.v, n, &report, 1));
    expect(report.status == status, "a report of a region that says something else");
    expect(status == FACTZ_OK || status == FACTZ_ERROR_CORRUPT_STREAM ||
               status == FACTZ_ERROR_UNSUPPORTED_VERSION || status == FACTZ_ERROR_INVALID_ARGUMENT,
        "a region of a damaged stream has another status");
    expect(status != FACTZ_OK || report.stream_bytes <= length, "more bytes than there are");
    free(out.memory);
}
static void decode_damaged(const unsigned char* stream, size_t bytes, const factz_config* given) {
    const size_t n = vertices(given), length = one_in(6) ? (size_t)below(bytes + 1) : bytes;
    unsigned char* const bad = take(length);
    factz_config c = *given;
    factz_report report;
    factz_info info;
    Field out;
    /* The checksum would notice nearly everything. */
    c.verify_checksum = one_in(10);
    c.halo = 0;
    memcpy(bad, stream, length);
    if (length >= 128) damage(bad, length);
    memset(&report, 0xee, sizeof report);
    expect(make_field(&out, &c, 0), "an output");
    const factz_status seen = IN_MODES(factz_inspect_host(bad, length, &info));
    const factz_status status = IN_MODES(factz_decompress_host(bad, length, &c, out.u, out.v, n, &report, 1));
    expect(report.status == status, "a report that says something else");
    expect(status == FACTZ_OK || status == FACTZ_ERROR_CORRUPT_STREAM ||
               status == FACTZ_ERROR_UNSUPPORTED_VERSION || status == FACTZ_ERROR_INVALID_ARGUMENT,
        "a damaged stream has another status");
    /* Whoever looks at the header first is told what is wrong with it, or that it is another field's. */
    if (status == FACTZ_ERROR_INVALID_ARGUMENT)
        expect(seen != FACTZ_OK || info.nx != c.nx || info.ny != c.ny || info.nz != c.nz ||
                   info.dtype != c.dtype,
            "an argument that is right");
    if (seen != FACTZ_OK) expect(status != FACTZ_OK, "a stream without a header");
    tallies[status == FACTZ_OK ? 8 : status == FACTZ_ERROR_CORRUPT_STREAM ? 9 : 10]++;
    decode_damaged_region(bad, length, &c);
    free(out.memory);
    free(bad);
}

/* ---- Cases ---- */

static void one_case(uint64_t streams) {
    factz_config c;
    factz_sizes sizes;
    factz_report report;
    Field field, copy;
    choose_modes();
    random_config(&c);
    config = c;
    const factz_status valid = IN_MODES(factz_compress_sizes(&c, &sizes));
    expect(valid != FACTZ_ERROR_INTERNAL, "a configuration that the library fails on");
    tallies[valid == FACTZ_OK ? 0 : 1]++;
    if (!make_field(&field, &c, c.halo)) {
        /* Nothing that a program could have memory for: refused before anything is read. */
        const size_t n = vertices(&c) + 1;
        tallies[2]++;
        expect(IN_MODES(factz_compress_host(&c, &c, n, &c, &c, 0, &report, 1)) != FACTZ_OK,
            "a number of vertices that is wrong");
        return;
    }
    fill_field(&field, &c);
    unsigned char* const before = take(field.bytes);
    memcpy(before, field.memory, field.bytes);
    const size_t most = valid == FACTZ_OK ? (size_t)sizes.max_stream_bytes : 4096;
    const size_t room = one_in(6) ? (size_t)below(most) : most, n = vertices(&c);
    unsigned char* const stream = take(room);
    memset(&report, 0xee, sizeof report);
    const factz_status status =
        IN_MODES(factz_compress_host(field.u, field.v, n, &c, stream, room, &report, one_in(20) ? 2 : 1));
    expect(report.status == status, "the report of a compression says something else");
    expect(memcmp(before, field.memory, field.bytes) == 0, "the field was changed");
    free(before);
    if (valid != FACTZ_OK) {
        expect(status == valid, "a configuration that is refused in one place");
    } else if (status == FACTZ_OK) {
        tallies[3]++;
        const size_t bytes = (size_t)report.stream_bytes;
        expect(bytes <= room && report.required_bytes == report.stream_bytes, "the length of a stream");
        expect(make_field(&copy, &c, c.halo), "a copy");
        factz_report decoded;
        const factz_status back =
            IN_MODES(factz_decompress_host(stream, bytes, &c, copy.u, copy.v, n, &decoded, 1));
        expect(back == FACTZ_OK && decoded.status == FACTZ_OK && decoded.stream_bytes == bytes,
            "a stream that was just made");
        check_copy(&field, &copy, &c, report.bound);
        check_analysis(&field, &copy, &c, &report);
        free(copy.memory);
        for (; streams > 0 && bytes >= 128; streams--) decode_damaged(stream, bytes, &c);
    } else {
        tallies[4]++;
        expect(
            status == FACTZ_ERROR_BUFFER_TOO_SMALL || (status == FACTZ_ERROR_INVALID_ARGUMENT && room < 128),
            "a valid configuration");
        expect(status != FACTZ_ERROR_BUFFER_TOO_SMALL || report.required_bytes > room,
            "a buffer that was large enough");
    }
    free(stream);
    free(field.memory);
}

int main(int argc, char** argv) {
    const uint64_t cases = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000,
                   streams = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
    const uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    for (case_number = 0; case_number < cases; case_number++) {
        /* Each case can be made again by itself. */
        state = seed * 0x5851f42d4c957f2du + case_number * 0x14057b7ef767814fu;
        const uint64_t damaged = tallies[8] + tallies[9] + tallies[10],
                       wanted = streams * (case_number + 1) / cases;
        one_case(wanted > damaged ? wanted - damaged : 0);
    }
    printf("%llu configurations: %llu valid (%llu streams, %llu buffers too small), %llu refused, ",
        (unsigned long long)cases, tallies[0], tallies[3], tallies[4], tallies[1]);
    printf("%llu of fields beyond memory\n", tallies[2]);
    printf("%llu damaged streams: %llu corrupt, %llu of another version or field, %llu decoded\n",
        tallies[8] + tallies[9] + tallies[10], tallies[9], tallies[10], tallies[8]);
    fflush(stdout);
    return 0;
}
