/*
 * factz: error-bounded compression of 2D and 3D vector fields that keeps every critical point.
 *
 * The C++17 interface: header only, on top of factz.h, which is the reference manual, and without a
 * capability of its own. It adds views instead of pointers with sizes, the element type from the pointers,
 * defaults, and errors that cannot be overlooked:
 *
 *     factz::field<const float> field = factz::dense(u, v, nx, ny);
 *     std::vector<std::byte> stream = factz::compress(field, factz::relative_bound(1e-3));
 *     factz::decompress(stream, factz::dense(u2, v2, nx, ny));
 *
 * A volume has three components: factz::dense(u, v, w, nx, ny, nz).
 *
 * Errors. What a caller got wrong, and what the system refuses, is a factz::error with the status and the
 * library's text. Exceptions, not an expected-like result: a wrong configuration is a mistake in the program
 * and not a value to handle at each call, constructors can fail as well, and C++17 has no std::expected. Code
 * without exceptions uses factz.h, whose functions return a status and never throw. Errors of work on a
 * device are not thrown: the enqueued call has already returned, and its factz_report has the status (see
 * factz::check).
 *
 * Host functions block; functions whose name begins with enqueue_ only enqueue work on a CUDA stream. No CUDA
 * header is needed, except for factz::device_compressor, which owns device memory: define
 * FACTZ_WITH_CUDA_RUNTIME before the #include to have it.
 */
#ifndef FACTZ_HPP
#define FACTZ_HPP

#include "factz.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef FACTZ_WITH_CUDA_RUNTIME
#include <cuda_runtime_api.h>
#endif

namespace factz {

/* ---------------------------------------------------------------- errors */

/* A call that failed: what() is the name of the status and the library's explanation. */
class error : public std::runtime_error {
public:
    error(factz_status status, const std::string& text)
        : std::runtime_error(std::string(factz_status_string(status)) + ": " + text), status_(status) {}
    factz_status status() const noexcept { return status_; }

private:
    factz_status status_;
};

/* Throws where a function of factz.h failed. */
inline void check(factz_status status) {
    if (status != FACTZ_OK) throw error(status, factz_last_error());
}

/* Throws where enqueued work failed. Call it once the stream has reached that point. */
inline void check(const factz_report& report) {
    if (report.status == FACTZ_OK) return;
    std::string text = "reported by the device";
    if (report.status == FACTZ_ERROR_BUFFER_TOO_SMALL)
        text += ": the stream takes " + std::to_string(report.required_bytes) + " bytes";
    throw error(report.status, text);
}

/* ---------------------------------------------------------------- fields and bytes */

/* Where the components of a field lie: vertex (x, y) of plane z is at u[(z * plane_rows + y) * u_pitch + x *
 * u_stride], and v likewise. T is float or double, const for inputs. A view: it owns nothing. */
template <class T>
struct field {
    static_assert(
        std::is_same_v<std::remove_const_t<T>, float> || std::is_same_v<std::remove_const_t<T>, double>,
        "factz compresses fields of float or double: convert other element types first");

    T* u;
    T* v;
    std::uint64_t nx;
    std::uint64_t ny;
    std::uint64_t u_pitch;
    std::uint64_t u_stride;
    std::uint64_t v_pitch;
    std::uint64_t v_stride;
    /* Layers of ghost vertices that lie around the block in memory. */
    std::uint64_t ghosts = 0;
    /* Planes of a stack, and the rows from one to the next; 0 stands for ny. */
    std::uint64_t nz = 1;
    std::uint64_t plane_rows = 0;

    static constexpr std::int32_t dtype =
        std::is_same_v<std::remove_const_t<T>, float> ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;

    field(T* first_u, T* first_v, std::uint64_t columns, std::uint64_t rows, std::uint64_t pitch_u,
        std::uint64_t stride_u, std::uint64_t pitch_v, std::uint64_t stride_v) noexcept
        : u(first_u), v(first_v), nx(columns), ny(rows), u_pitch(pitch_u), u_stride(stride_u),
          v_pitch(pitch_v), v_stride(stride_v) {}
    /* A field that may be written is one that may be read. */
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    field(const field<U>& f) noexcept
        : field(f.u, f.v, f.nx, f.ny, f.u_pitch, f.u_stride, f.v_pitch, f.v_stride) {
        ghosts = f.ghosts;
        nz = f.nz;
        plane_rows = f.plane_rows;
    }

    /* Vertices of all planes. */
    std::size_t vertices() const noexcept { return static_cast<std::size_t>(nx * ny * nz); }

    /* The planes from `first` on, `count` of them, as a view of their own. */
    field planes(std::uint64_t first, std::uint64_t count = 1) const noexcept {
        const std::uint64_t rows = first * (plane_rows ? plane_rows : ny);
        field f = *this;
        if (f.u) f.u += rows * u_pitch;
        if (f.v) f.v += rows * v_pitch;
        f.nz = count;
        return f;
    }

    /* The array of one component, for decompressing a stream that holds this component alone (see split). */
    field only_u() const noexcept {
        field f = *this;
        f.v = nullptr;
        return f;
    }
    field only_v() const noexcept {
        field f = *this;
        f.u = nullptr;
        return f;
    }
};

/* Two arrays, row after row, and plane after plane of a stack. */
template <class T>
field<T> dense(T* u, T* v, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz = 1) noexcept {
    field<T> f{u, v, nx, ny, nx, 1, nx, 1};
    f.nz = nz;
    return f;
}

/* Two arrays whose rows are `pitch` elements apart. */
template <class T>
field<T> pitched(
    T* u, T* v, std::uint64_t nx, std::uint64_t ny, std::uint64_t pitch, std::uint64_t nz = 1) noexcept {
    field<T> f{u, v, nx, ny, pitch, 1, pitch, 1};
    f.nz = nz;
    return f;
}

/* One array u, v, u, v, ... */
template <class T>
field<T> interleaved(T* uv, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz = 1) noexcept {
    field<T> f{uv, uv + 1, nx, ny, 2 * nx, 2, 2 * nx, 2};
    f.nz = nz;
    return f;
}

/* One array of planes, u and v in turn: (nz, 2, ny, nx), slowest first. */
template <class T>
field<T> pairs(T* uv, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz) noexcept {
    field<T> f = dense(uv, uv + nx * ny, nx, ny, nz);
    f.plane_rows = 2 * ny;
    return f;
}

/* Two arrays of nz planes of (nx + 2 * ghosts) x (ny + 2 * ghosts) values, the block inside `ghosts` layers
 * on every side. */
template <class T>
field<T> ghosted(
    T* u, T* v, std::uint64_t nx, std::uint64_t ny, std::uint64_t ghosts, std::uint64_t nz = 1) noexcept {
    const std::uint64_t pitch = nx + 2 * ghosts, first = ghosts * pitch + ghosts;
    field<T> f = pitched(u + first, v + first, nx, ny, pitch, nz);
    f.ghosts = ghosts;
    f.plane_rows = ny + 2 * ghosts;
    return f;
}

/* Where the components of a volume lie: vertex (x, y, z) is at u[(z * plane_rows + y) * u_pitch + x *
 * u_stride], and v and w likewise. T is float or double, const for inputs. A view: it owns nothing. */
template <class T>
struct volume {
    static_assert(
        std::is_same_v<std::remove_const_t<T>, float> || std::is_same_v<std::remove_const_t<T>, double>,
        "factz compresses volumes of float or double: convert other element types first");

    T* u;
    T* v;
    T* w;
    std::uint64_t nx;
    std::uint64_t ny;
    std::uint64_t nz;
    std::uint64_t u_pitch;
    std::uint64_t u_stride;
    std::uint64_t v_pitch;
    std::uint64_t v_stride;
    std::uint64_t w_pitch;
    std::uint64_t w_stride;
    /* Layers of ghost vertices that lie around the block in memory. */
    std::uint64_t ghosts = 0;
    /* Rows from a plane to the next; 0 stands for ny. */
    std::uint64_t plane_rows = 0;

    static constexpr std::int32_t dtype =
        std::is_same_v<std::remove_const_t<T>, float> ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;

    /* Components of one layout. */
    volume(T* first_u, T* first_v, T* first_w, std::uint64_t columns, std::uint64_t rows,
        std::uint64_t planes, std::uint64_t pitch, std::uint64_t stride) noexcept
        : u(first_u), v(first_v), w(first_w), nx(columns), ny(rows), nz(planes), u_pitch(pitch),
          u_stride(stride), v_pitch(pitch), v_stride(stride), w_pitch(pitch), w_stride(stride) {}
    /* A volume that may be written is one that may be read. */
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    volume(const volume<U>& f) noexcept : volume(f.u, f.v, f.w, f.nx, f.ny, f.nz, f.u_pitch, f.u_stride) {
        v_pitch = f.v_pitch;
        v_stride = f.v_stride;
        w_pitch = f.w_pitch;
        w_stride = f.w_stride;
        ghosts = f.ghosts;
        plane_rows = f.plane_rows;
    }

    std::size_t vertices() const noexcept { return static_cast<std::size_t>(nx * ny * nz); }
};

/* A volume in three arrays, x fastest. */
template <class T>
volume<T> dense(T* u, T* v, T* w, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz) noexcept {
    return {u, v, w, nx, ny, nz, nx, 1};
}

/* A volume in three arrays whose rows are `pitch` elements apart. */
template <class T>
volume<T> pitched(
    T* u, T* v, T* w, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz, std::uint64_t pitch) noexcept {
    return {u, v, w, nx, ny, nz, pitch, 1};
}

/* A volume in one array (3, nz, ny, nx), slowest first: all of u, all of v, all of w. */
template <class T>
volume<T> triple(T* uvw, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz) noexcept {
    const std::uint64_t n = nx * ny * nz;
    return dense(uvw, uvw + n, uvw + 2 * n, nx, ny, nz);
}

/* A volume in one array (nz, ny, nx, 3), slowest first: u, v, w, u, v, w, ... */
template <class T>
volume<T> interleaved_volume(T* uvw, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz) noexcept {
    return {uvw, uvw + 1, uvw + 2, nx, ny, nz, 3 * nx, 3};
}

/* A volume inside `ghosts` layers on every side, in three arrays of (nx + 2 * ghosts) x (ny + 2 * ghosts) x
 * (nz + 2 * ghosts) values. */
template <class T>
volume<T> ghosted(
    T* u, T* v, T* w, std::uint64_t nx, std::uint64_t ny, std::uint64_t nz, std::uint64_t ghosts) noexcept {
    const std::uint64_t pitch = nx + 2 * ghosts, rows = ny + 2 * ghosts;
    const std::uint64_t first = (ghosts * rows + ghosts) * pitch + ghosts;
    volume<T> block = pitched(u + first, v + first, w + first, nx, ny, nz, pitch);
    block.ghosts = ghosts;
    block.plane_rows = rows;
    return block;
}

/* Bytes to read: any contiguous container of bytes (std::byte, unsigned char, char), or a pointer and a size.
 */
class const_bytes {
public:
    const_bytes(const void* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, class = decltype(std::declval<const C&>().data())>
    const_bytes(const C& container) noexcept : data_(container.data()), size_(container.size()) {
        static_assert(sizeof(*container.data()) == 1, "a stream is a container of bytes");
    }
    const void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    const void* data_;
    std::size_t size_;
};

/* Bytes to write. */
class bytes {
public:
    bytes(void* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, class = decltype(std::declval<C&>().data())>
    bytes(C& container) noexcept : data_(container.data()), size_(container.size()) {
        static_assert(sizeof(*container.data()) == 1, "a stream is a container of bytes");
    }
    void* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

private:
    void* data_;
    std::size_t size_;
};

/* ---------------------------------------------------------------- what to do */

/* A factz_config without what the field says (dimensions, planes, element type, layout). */
inline factz_config absolute_bound(double bound) {
    factz_config config;
    check(factz_config_init(&config, 0, 0, FACTZ_BOUND_ABSOLUTE, bound));
    return config;
}

/* The bound as a fraction of the joint range of u and v, and of w of a volume. */
inline factz_config relative_bound(double bound) {
    factz_config config;
    check(factz_config_init(&config, 0, 0, FACTZ_BOUND_RELATIVE, bound));
    return config;
}

/* The configuration with what a field says filled in. */
template <class T>
factz_config configured(factz_config config, const field<T>& field) noexcept {
    config.nx = field.nx;
    config.ny = field.ny;
    config.nz = field.nz;
    config.plane_rows = field.plane_rows;
    config.dtype = factz::field<T>::dtype;
    config.u_pitch = field.u_pitch;
    config.u_stride = field.u_stride;
    config.v_pitch = field.v_pitch;
    config.v_stride = field.v_stride;
    return config;
}

/* The same for a volume. The default mode of absolute_bound and relative_bound becomes that of volumes. */
template <class T>
factz_config configured(factz_config config, const volume<T>& volume) noexcept {
    config.components = 3;
    if (config.mode == FACTZ_MODE_BLOCK_WISE) config.mode = FACTZ_MODE_REPAIR;
    config.nx = volume.nx;
    config.ny = volume.ny;
    config.nz = volume.nz;
    config.plane_rows = volume.plane_rows;
    config.dtype = factz::volume<T>::dtype;
    config.u_pitch = volume.u_pitch;
    config.u_stride = volume.u_stride;
    config.v_pitch = volume.v_pitch;
    config.v_stride = volume.v_stride;
    config.w_pitch = volume.w_pitch;
    config.w_stride = volume.w_stride;
    return config;
}

/* The same for an analysis, which reads the ghosts on the sides in config.halo: a field or a volume must say
 * that it has them. */
template <class View>
factz_config configured_with_ghosts(const factz_config& config, const View& view) {
    if (config.halo != 0 && view.ghosts == 0)
        throw error(FACTZ_ERROR_INVALID_ARGUMENT,
            "config.halo names sides with ghost vertices but the field has ghosts = 0: pass factz::ghosted, "
            "set "
            "field.ghosts, or set config.halo = 0 to leave out the cells between blocks");
    return configured(config, view);
}

/* Sizes for compressing fields of this kind. */
template <class T>
factz_sizes compress_sizes(const field<T>& field, const factz_config& config) {
    factz_sizes sizes;
    const factz_config c = configured(config, field);
    check(factz_compress_sizes(&c, &sizes));
    return sizes;
}

/* Sizes for compressing volumes of this kind on a device. */
template <class T>
factz_sizes compress_sizes(const volume<T>& volume, const factz_config& config) {
    factz_sizes sizes;
    const factz_config c = configured(config, volume);
    check(factz_compress_volume_sizes(&c, &sizes));
    return sizes;
}

/* Bytes that always suffice for the stream of a volume of this kind. */
template <class T>
std::uint64_t volume_stream_bytes(const volume<T>& volume, const factz_config& config) {
    std::uint64_t most = 0;
    const factz_config c = configured(config, volume);
    check(factz_volume_stream_bytes(&c, &most));
    return most;
}

/* Sizes for decompressing any stream of a field of this kind. */
template <class T>
factz_sizes decompress_sizes(const field<T>& field) {
    factz_sizes sizes;
    const factz_config c = configured(absolute_bound(0), field);
    check(factz_decompress_sizes(&c, &sizes));
    return sizes;
}

/* Sizes for decompressing any stream of a volume of this kind on a device. */
template <class T>
factz_sizes decompress_sizes(const volume<T>& volume) {
    factz_sizes sizes;
    const factz_config c = configured(absolute_bound(0), volume);
    check(factz_decompress_volume_sizes(&c, &sizes));
    return sizes;
}

/* Sizes for making fixes of a field or a volume of this kind on a device; max_stream_bytes holds any fix. */
template <class T>
factz_sizes protect_sizes(const field<T>& field, const factz_config& config) {
    factz_sizes sizes;
    const factz_config c = configured(config, field);
    check(factz_protect_sizes(&c, &sizes));
    return sizes;
}
template <class T>
factz_sizes protect_sizes(const volume<T>& volume, const factz_config& config) {
    factz_sizes sizes;
    const factz_config c = configured(config, volume);
    check(factz_protect_volume_sizes(&c, &sizes));
    return sizes;
}

/* Sizes for applying fixes of a field or a volume of this kind on a device. */
template <class T>
factz_sizes apply_sizes(const field<T>& field) {
    factz_sizes sizes;
    const factz_config c = configured(absolute_bound(0), field);
    check(factz_apply_sizes(&c, &sizes));
    return sizes;
}
template <class T>
factz_sizes apply_sizes(const volume<T>& volume) {
    factz_sizes sizes;
    const factz_config c = configured(absolute_bound(0), volume);
    check(factz_apply_volume_sizes(&c, &sizes));
    return sizes;
}

/* Sizes for enqueue_decompress_planes into a field of this kind. */
template <class T>
factz_sizes decompress_planes_sizes(const field<T>& field) {
    factz_sizes sizes;
    const factz_config c = configured(absolute_bound(0), field);
    check(factz_decompress_planes_sizes(&c, &sizes));
    return sizes;
}

/* The configuration of text such as "rel=1e-3,mode=speculative"; see factz_config_from_string. */
inline factz_config config_from_string(const std::string& text) {
    factz_config config;
    check(factz_config_from_string(text.c_str(), &config));
    return config;
}

/* The text that config_from_string reads back as the same choices. */
inline std::string to_string(const factz_config& config) {
    char text[FACTZ_CONFIG_STRING_BYTES];
    check(factz_config_to_string(&config, text, sizeof text));
    return text;
}

/* The choices as words for the filters of file formats; see factz_config_to_words. */
inline std::array<std::uint32_t, FACTZ_CONFIG_WORDS> to_words(const factz_config& config) {
    std::array<std::uint32_t, FACTZ_CONFIG_WORDS> words;
    check(factz_config_to_words(&config, words.data(), words.size()));
    return words;
}

inline factz_config config_from_words(const std::uint32_t* words, std::size_t count) {
    factz_config config;
    check(factz_config_from_words(words, count, &config));
    return config;
}

/* The configuration that a stream was written with; see factz_config_from_info. */
inline factz_config config_from_info(const factz_info& info) {
    factz_config config;
    check(factz_config_from_info(&info, &config));
    return config;
}

/* The first and the last version of the stream format that this library reads. */
inline std::pair<std::uint32_t, std::uint32_t> readable_formats() {
    std::pair<std::uint32_t, std::uint32_t> formats;
    check(factz_readable_formats(&formats.first, &formats.second));
    return formats;
}

/* ---------------------------------------------------------------- on the host */

/* Compresses into memory of the caller; report.stream_bytes is the length of the stream. */
template <class T>
factz_report compress_into(bytes dst, const field<T>& field, const factz_config& config, int threads = 0) {
    factz_report report;
    const factz_config c = configured(config, field);
    check(factz_compress_host(
        field.u, field.v, field.vertices(), &c, dst.data(), dst.size(), &report, threads));
    return report;
}

/* Compresses a volume into memory of the caller; report.stream_bytes is the length of the stream. */
template <class T>
factz_report compress_into(bytes dst, const volume<T>& volume, const factz_config& config, int threads = 0) {
    factz_report report;
    const factz_config c = configured(config, volume);
    check(factz_compress_volume_host(
        volume.u, volume.v, volume.w, volume.vertices(), &c, dst.data(), dst.size(), &report, threads));
    return report;
}

namespace detail {

/* Compresses a field or a volume, whose stream takes `most` bytes at most, into one as long as it needs to
 * be. */
template <class View>
std::vector<std::byte> compress_to_fit(
    const View& view, std::uint64_t most, const factz_config& config, factz_report* report, int threads) {
    std::vector<std::byte> stream(most);
    const factz_report done = compress_into(stream, view, config, threads);
    stream.resize(done.stream_bytes);
    stream.shrink_to_fit();
    if (report) *report = done;
    return stream;
}

} /* namespace detail */

/* Compresses into a stream as long as it needs to be. */
template <class T>
std::vector<std::byte> compress(
    const field<T>& field, const factz_config& config, factz_report* report = nullptr, int threads = 0) {
    const std::uint64_t most = compress_sizes(field, config).max_stream_bytes;
    return detail::compress_to_fit(field, most, config, report, threads);
}

template <class T>
std::vector<std::byte> compress(
    const volume<T>& volume, const factz_config& config, factz_report* report = nullptr, int threads = 0) {
    return detail::compress_to_fit(volume, volume_stream_bytes(volume, config), config, report, threads);
}

/* Reads the header of a stream. */
inline factz_info inspect(const_bytes stream) {
    factz_info info;
    check(factz_inspect_host(stream.data(), stream.size(), &info));
    return info;
}

/* Decompresses a stream of these dimensions and this element type; `stream` may have bytes after its end. Of
 * the configuration, only verify_checksum counts. */
template <class T>
factz_report decompress(
    const_bytes stream, const field<T>& field, const factz_config& config, int threads = 0) {
    static_assert(!std::is_const_v<T>, "decompression writes: the field must not be const");
    factz_report report;
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_host(
        stream.data(), stream.size(), &c, field.u, field.v, field.vertices(), &report, threads));
    return report;
}

/* The same, with the checksum compared. */
template <class T>
factz_report decompress(const_bytes stream, const field<T>& field, int threads = 0) {
    return decompress(stream, field, absolute_bound(0), threads);
}

/* Decompresses the stream of a volume of these dimensions and this element type, as above. Gaps between rows,
 * planes and strided elements keep their content. */
template <class T>
factz_report decompress(
    const_bytes stream, const volume<T>& volume, const factz_config& config, int threads = 0) {
    static_assert(!std::is_const_v<T>, "decompression writes: the volume must not be const");
    factz_report report;
    factz_config c = configured(config, volume);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_volume_host(
        stream.data(), stream.size(), &c, volume.u, volume.v, volume.w, volume.vertices(), &report, threads));
    return report;
}

template <class T>
factz_report decompress(const_bytes stream, const volume<T>& volume, int threads = 0) {
    return decompress(stream, volume, absolute_bound(0), threads);
}

/* Splits the stream of a field into that of u and that of v; see factz_split_host. Each is decompressed
 * alone, as a whole or in part, into field.only_u() or field.only_v(). */
inline std::pair<std::vector<std::byte>, std::vector<std::byte>> split(const_bytes stream, int threads = 0) {
    factz_report reports[2];
    std::vector<std::byte> u, v;
    const auto call = [&] {
        return factz_split_host(
            stream.data(), stream.size(), u.data(), u.size(), v.data(), v.size(), reports, threads);
    };
    const factz_status status = call();
    if (status != FACTZ_ERROR_BUFFER_TOO_SMALL) check(status);
    u.resize(reports[0].required_bytes);
    v.resize(reports[1].required_bytes);
    check(call());
    return {std::move(u), std::move(v)};
}

/* Joins the streams of u and of v that were split from one, to that one; see factz_join_host. */
inline std::vector<std::byte> join(const_bytes u, const_bytes v, int threads = 0) {
    factz_report report;
    std::vector<std::byte> stream;
    const auto call = [&] {
        return factz_join_host(
            u.data(), u.size(), v.data(), v.size(), stream.data(), stream.size(), &report, threads);
    };
    const factz_status status = call();
    if (status != FACTZ_ERROR_BUFFER_TOO_SMALL) check(status);
    stream.resize(report.required_bytes);
    check(call());
    return stream;
}

/* Decompresses planes of a stack, as many as `field` has, from plane `first` on. Only the groups of tiles
 * that hold them are decoded; about the checksum see factz_decompress_region_host. */
template <class T>
factz_report decompress_planes(const_bytes stream, std::uint64_t first, const field<T>& field,
    const factz_config& config = absolute_bound(0), int threads = 0) {
    static_assert(!std::is_const_v<T>, "decompression writes: the field must not be const");
    factz_report report;
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_planes_host(
        stream.data(), stream.size(), &c, first, field.u, field.v, field.vertices(), &report, threads));
    return report;
}

/* Decompresses the rectangle of a field that has the size of `field` and begins at column x0 and row y0, of
 * the planes from z0 on. Only the groups of tiles that hold it are decoded, as above. */
template <class T>
factz_report decompress_region(const_bytes stream, std::uint64_t x0, std::uint64_t y0, std::uint64_t z0,
    const field<T>& field, const factz_config& config = absolute_bound(0), int threads = 0) {
    static_assert(!std::is_const_v<T>, "decompression writes: the field must not be const");
    factz_report report;
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_region_host(
        stream.data(), stream.size(), &c, x0, y0, z0, field.u, field.v, field.vertices(), &report, threads));
    return report;
}

/* The same for a volume: the box of the size of `volume` whose first vertex is (x0, y0, z0). It may have one
 * vertex along an axis. See factz_decompress_volume_region_host. */
template <class T>
factz_report decompress_region(const_bytes stream, std::uint64_t x0, std::uint64_t y0, std::uint64_t z0,
    const volume<T>& volume, const factz_config& config = absolute_bound(0), int threads = 0) {
    static_assert(!std::is_const_v<T>, "decompression writes: the volume must not be const");
    factz_report report;
    factz_config c = configured(config, volume);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_volume_region_host(stream.data(), stream.size(), &c, x0, y0, z0, volume.u,
        volume.v, volume.w, volume.vertices(), &report, threads));
    return report;
}

namespace detail {

/* A function that reads, and what it threw: exceptions must not pass through the library. */
template <class Read>
struct reader {
    Read* read;
    std::exception_ptr thrown;

    static int call(void* user, std::uint64_t offset, std::uint64_t bytes, void* to) {
        auto& self = *static_cast<reader*>(user);
        try {
            (*self.read)(offset, bytes, to);
            return 0;
        } catch (...) {
            self.thrown = std::current_exception();
            return 1;
        }
    }

    /* Throws what the function threw, or the status of the call. */
    void check(factz_status status) const {
        if (thrown) std::rethrow_exception(thrown);
        factz::check(status);
    }
};

}  // namespace detail

/* The same of a stream in a file or elsewhere: read(offset, bytes, to) copies bytes of it to void* `to`. What
 * `read` throws passes through. `stream_bytes` is the length of the stream or more. */
template <class Read, class T>
factz_report read_region(Read&& read, std::uint64_t stream_bytes, std::uint64_t x0, std::uint64_t y0,
    std::uint64_t z0, const field<T>& field, const factz_config& config = absolute_bound(0),
    int threads = 0) {
    static_assert(!std::is_const_v<T>, "decompression writes: the field must not be const");
    detail::reader<std::remove_reference_t<Read>> state{&read, nullptr};
    factz_report report;
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not written */
    state.check(factz_read_region_host(state.call, &state, stream_bytes, &c, x0, y0, z0, field.u, field.v,
        field.vertices(), &report, threads));
    return report;
}

/* The same for a volume. */
template <class Read, class T>
factz_report read_region(Read&& read, std::uint64_t stream_bytes, std::uint64_t x0, std::uint64_t y0,
    std::uint64_t z0, const volume<T>& volume, const factz_config& config = absolute_bound(0),
    int threads = 0) {
    static_assert(!std::is_const_v<T>, "decompression writes: the volume must not be const");
    detail::reader<std::remove_reference_t<Read>> state{&read, nullptr};
    factz_report report;
    factz_config c = configured(config, volume);
    c.halo = 0; /* ghost vertices are not written */
    state.check(factz_read_volume_region_host(state.call, &state, stream_bytes, &c, x0, y0, z0, volume.u,
        volume.v, volume.w, volume.vertices(), &report, threads));
    return report;
}

/* The range of the values of a field; of the configuration, nothing but the fill value counts. Blocks that
 * share a relative bound compress with absolute_bound(factz_relative_bound(fraction, low, high)) of all. */
template <class T>
factz_range range(const field<T>& field, const factz_config& config = absolute_bound(0), int threads = 0) {
    factz_range found;
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not looked at */
    check(factz_range_host(field.u, field.v, field.vertices(), &c, &found, threads));
    return found;
}

/* The same of a volume, u, v and w together. */
template <class T>
factz_range range(const volume<T>& volume, const factz_config& config = absolute_bound(0), int threads = 0) {
    factz_range found;
    factz_config c = configured(config, volume);
    c.halo = 0; /* ghost vertices are not looked at */
    check(factz_range_volume_host(volume.u, volume.v, volume.w, volume.vertices(), &c, &found, threads));
    return found;
}

namespace detail {

/* All points that find(points, capacity, count) lists, a function of factz.h. */
template <class Point, class Find>
std::vector<Point> all_points(const Find& find) {
    std::uint64_t count = 0;
    const factz_status status = find(static_cast<Point*>(nullptr), std::size_t{0}, &count);
    if (status != FACTZ_ERROR_BUFFER_TOO_SMALL) check(status);
    std::vector<Point> points(count);
    if (count > 0) check(find(points.data(), points.size(), &count));
    return points;
}

} /* namespace detail */

/* The critical points of a field, zeros at vertices and on edges included. */
template <class T>
std::vector<factz_critical_point> critical_points(
    const field<T>& field, const factz_config& config, int threads = 0) {
    const factz_config c = configured_with_ghosts(config, field);
    return detail::all_points<factz_critical_point>([&](auto* points, std::size_t capacity, auto* count) {
        return factz_critical_points_host(
            field.u, field.v, field.vertices(), &c, points, capacity, count, threads);
    });
}

/* The same of a volume, zeros on faces included. */
template <class T>
std::vector<factz_volume_point> critical_points(
    const volume<T>& volume, const factz_config& config, int threads = 0) {
    const factz_config c = configured_with_ghosts(config, volume);
    return detail::all_points<factz_volume_point>([&](auto* points, std::size_t capacity, auto* count) {
        return factz_critical_points_volume_host(
            volume.u, volume.v, volume.w, volume.vertices(), &c, points, capacity, count, threads);
    });
}

/* What must be the same in another field, usually the decompressed copy: `violations` is 0 then. */
template <class T, class U>
factz_comparison compare(
    const field<T>& field, const factz::field<U>& other, const factz_config& config, int threads = 0) {
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>>,
        "only fields of the same element type can be compared: convert one of them first");
    factz_comparison comparison;
    const factz_config c = configured_with_ghosts(config, field), d = configured_with_ghosts(config, other);
    check(factz_compare_host(
        field.u, field.v, field.vertices(), &c, other.u, other.v, &d, &comparison, threads));
    return comparison;
}

/* The same of a volume. */
template <class T, class U>
factz_volume_comparison compare(
    const volume<T>& volume, const factz::volume<U>& other, const factz_config& config, int threads = 0) {
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>>,
        "only volumes of the same element type can be compared: convert one of them first");
    factz_volume_comparison comparison;
    const factz_config c = configured_with_ghosts(config, volume), d = configured_with_ghosts(config, other);
    check(factz_compare_volume_host(volume.u, volume.v, volume.w, volume.vertices(), &c, other.u, other.v,
        other.w, &d, &comparison, threads));
    return comparison;
}

namespace detail {

template <class T, class U>
factz_fix_report protect_into(bytes dst, const field<T>& field, const factz::field<U>& other,
    const factz_config& config, const factz_config& other_config, int threads) {
    factz_fix_report report;
    check(factz_protect_host(field.u, field.v, field.vertices(), &config, other.u, other.v, &other_config,
        dst.data(), dst.size(), &report, threads));
    return report;
}

template <class T, class U>
factz_fix_report protect_into(bytes dst, const volume<T>& volume, const factz::volume<U>& other,
    const factz_config& config, const factz_config& other_config, int threads) {
    factz_fix_report report;
    check(factz_protect_volume_host(volume.u, volume.v, volume.w, volume.vertices(), &config, other.u,
        other.v, other.w, &other_config, dst.data(), dst.size(), &report, threads));
    return report;
}

/* Makes the fix of a field or a volume, which takes `most` bytes at most, as long as it needs to be. */
template <class View, class Other>
std::vector<std::byte> protect_to_fit(const View& view, const Other& other, std::uint64_t most,
    const factz_config& config, factz_fix_report* report, int threads) {
    static_assert(View::dtype == Other::dtype, "a field and its reconstruction have one element type");
    factz_config of_other = configured(config, other);
    of_other.halo = 0; /* ghost vertices of the reconstruction are not read */
    std::vector<std::byte> fix(most);
    const factz_fix_report done = protect_into(fix, view, other, configured(config, view), of_other, threads);
    fix.resize(done.fix_bytes);
    fix.shrink_to_fit();
    if (report) *report = done;
    return fix;
}

} /* namespace detail */

/* A fix for the reconstruction `other` of a field by any compressor: see factz_protect_host. */
template <class T, class U>
std::vector<std::byte> protect(const field<T>& field, const factz::field<U>& other,
    const factz_config& config, factz_fix_report* report = nullptr, int threads = 0) {
    const std::uint64_t most = compress_sizes(field, config).max_stream_bytes;
    return detail::protect_to_fit(field, other, most, config, report, threads);
}

/* A fix for the reconstruction `other` of a volume by any compressor: see factz_protect_volume_host. */
template <class T, class U>
std::vector<std::byte> protect(const volume<T>& volume, const factz::volume<U>& other,
    const factz_config& config, factz_fix_report* report = nullptr, int threads = 0) {
    const std::uint64_t most = volume_stream_bytes(volume, config);
    return detail::protect_to_fit(volume, other, most, config, report, threads);
}

/* Applies a fix to the reconstruction in `field`, in place. */
template <class T>
factz_fix_report apply(const_bytes fix, const field<T>& field, int threads = 0) {
    static_assert(!std::is_const_v<T>, "applying writes: the field must not be const");
    factz_fix_report report;
    const factz_config c = configured(absolute_bound(0), field);
    check(factz_apply_host(fix.data(), fix.size(), &c, field.u, field.v, field.vertices(), &report, threads));
    return report;
}

/* Applies a fix to the reconstruction in `volume`, in place. */
template <class T>
factz_fix_report apply(const_bytes fix, const volume<T>& volume, int threads = 0) {
    static_assert(!std::is_const_v<T>, "applying writes: the volume must not be const");
    factz_fix_report report;
    const factz_config c = configured(absolute_bound(0), volume);
    check(factz_apply_volume_host(
        fix.data(), fix.size(), &c, volume.u, volume.v, volume.w, volume.vertices(), &report, threads));
    return report;
}

/* Reads the header of a fix. */
inline factz_fix_info inspect_fix(const_bytes fix) {
    factz_fix_info info;
    check(factz_inspect_fix_host(fix.data(), fix.size(), &info));
    return info;
}

/* ---------------------------------------------------------------- on a device */

/* Enqueues a compression; see factz_compress_device. Every pointer is device memory; the report may also be
 * mapped pinned memory. */
template <class T>
void enqueue_compress(const field<T>& field, const factz_config& config, bytes dst, bytes workspace,
    factz_report* report, factz_stream stream) {
    const factz_config c = configured(config, field);
    check(factz_compress_device(field.u, field.v, field.vertices(), &c, dst.data(), dst.size(),
        workspace.data(), workspace.size(), report, stream));
}

/* Enqueues a decompression; see factz_decompress_device. Of the configuration, verify_checksum counts, and
 * predictor, the one to expect. */
template <class T>
void enqueue_decompress(const_bytes src, const field<T>& field, const factz_config& config, bytes workspace,
    factz_report* report, factz_stream stream) {
    static_assert(!std::is_const_v<T>, "decompression writes: the field must not be const");
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_device(src.data(), src.size(), &c, field.u, field.v, field.vertices(),
        workspace.data(), workspace.size(), report, stream));
}

/* Enqueues the making of a fix for the reconstruction `other` of a field; see factz_protect_device. */
template <class T, class U>
void enqueue_protect(const field<T>& field, const factz::field<U>& other, const factz_config& config,
    bytes dst, bytes workspace, factz_fix_report* report, factz_stream stream) {
    static_assert(factz::field<T>::dtype == factz::field<U>::dtype, "both fields have one element type");
    const factz_config c = configured(config, field);
    factz_config of_other = configured(config, other);
    of_other.halo = 0; /* ghost vertices of the reconstruction are not read */
    check(factz_protect_device(field.u, field.v, field.vertices(), &c, other.u, other.v, &of_other,
        dst.data(), dst.size(), workspace.data(), workspace.size(), report, stream));
}

/* Enqueues the making of a fix for the reconstruction `other` of a volume; see factz_protect_volume_device.
 */
template <class T, class U>
void enqueue_protect(const volume<T>& volume, const factz::volume<U>& other, const factz_config& config,
    bytes dst, bytes workspace, factz_fix_report* report, factz_stream stream) {
    static_assert(factz::volume<T>::dtype == factz::volume<U>::dtype, "both volumes have one element type");
    const factz_config c = configured(config, volume);
    factz_config of_other = configured(config, other);
    of_other.halo = 0; /* ghost vertices of the reconstruction are not read */
    check(factz_protect_volume_device(volume.u, volume.v, volume.w, volume.vertices(), &c, other.u, other.v,
        other.w, &of_other, dst.data(), dst.size(), workspace.data(), workspace.size(), report, stream));
}

/* Enqueues the application of a fix to the reconstruction in `field`, in place; see factz_apply_device. */
template <class T>
void enqueue_apply(
    const_bytes fix, const field<T>& field, bytes workspace, factz_fix_report* report, factz_stream stream) {
    static_assert(!std::is_const_v<T>, "applying writes: the field must not be const");
    const factz_config c = configured(absolute_bound(0), field);
    check(factz_apply_device(fix.data(), fix.size(), &c, field.u, field.v, field.vertices(), workspace.data(),
        workspace.size(), report, stream));
}

/* Enqueues the application of a fix to the reconstruction in `volume`, in place; see
 * factz_apply_volume_device. */
template <class T>
void enqueue_apply(const_bytes fix, const volume<T>& volume, bytes workspace, factz_fix_report* report,
    factz_stream stream) {
    static_assert(!std::is_const_v<T>, "applying writes: the volume must not be const");
    const factz_config c = configured(absolute_bound(0), volume);
    check(factz_apply_volume_device(fix.data(), fix.size(), &c, volume.u, volume.v, volume.w,
        volume.vertices(), workspace.data(), workspace.size(), report, stream));
}

/* Enqueues the compression of a volume; see factz_compress_volume_device. */
template <class T>
void enqueue_compress(const volume<T>& volume, const factz_config& config, bytes dst, bytes workspace,
    factz_report* report, factz_stream stream) {
    const factz_config c = configured(config, volume);
    check(factz_compress_volume_device(volume.u, volume.v, volume.w, volume.vertices(), &c, dst.data(),
        dst.size(), workspace.data(), workspace.size(), report, stream));
}

/* Enqueues the decompression of a volume; see factz_decompress_volume_device. Of the configuration,
 * verify_checksum counts. */
template <class T>
void enqueue_decompress(const_bytes src, const volume<T>& volume, const factz_config& config, bytes workspace,
    factz_report* report, factz_stream stream) {
    static_assert(!std::is_const_v<T>, "decompression writes: the volume must not be const");
    factz_config c = configured(config, volume);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_volume_device(src.data(), src.size(), &c, volume.u, volume.v, volume.w,
        volume.vertices(), workspace.data(), workspace.size(), report, stream));
}

/* Enqueues the decompression of planes, as many as `field` has, from plane `first` on; see
 * factz_decompress_planes_device. Of the configuration, predictor counts, the one to expect. */
template <class T>
void enqueue_decompress_planes(const_bytes src, std::uint64_t first, const field<T>& field,
    const factz_config& config, bytes workspace, factz_report* report, factz_stream stream) {
    static_assert(!std::is_const_v<T>, "decompression writes: the field must not be const");
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not written */
    check(factz_decompress_planes_device(src.data(), src.size(), &c, first, field.u, field.v,
        field.vertices(), workspace.data(), workspace.size(), report, stream));
}

/* Enqueues the reading of a header; see factz_inspect_device. */
inline void enqueue_inspect(const_bytes src, factz_info* info, factz_stream stream) {
    check(factz_inspect_device(src.data(), src.size(), info, stream));
}

/* Enqueues the search for the range of a field; see factz_range_device. */
template <class T>
void enqueue_range(const field<T>& field, const factz_config& config, bytes workspace, factz_range* range,
    factz_stream stream) {
    factz_config c = configured(config, field);
    c.halo = 0; /* ghost vertices are not looked at */
    check(factz_range_device(
        field.u, field.v, field.vertices(), &c, workspace.data(), workspace.size(), range, stream));
}

/* Enqueues the extraction of critical points into points[capacity]; see factz_critical_points_device. */
template <class T>
void enqueue_critical_points(const field<T>& field, const factz_config& config, factz_critical_point* points,
    std::size_t capacity, std::uint64_t* count, bytes workspace, factz_stream stream) {
    const factz_config c = configured_with_ghosts(config, field);
    check(factz_critical_points_device(field.u, field.v, field.vertices(), &c, points, capacity, count,
        workspace.data(), workspace.size(), stream));
}

/* Enqueues a comparison; see factz_compare_device. */
template <class T, class U>
void enqueue_compare(const field<T>& field, const factz::field<U>& other, const factz_config& config,
    bytes workspace, factz_comparison* comparison, factz_stream stream) {
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_const_t<U>>,
        "only fields of the same element type can be compared: convert one of them first");
    const factz_config c = configured_with_ghosts(config, field), d = configured_with_ghosts(config, other);
    check(factz_compare_device(field.u, field.v, field.vertices(), &c, other.u, other.v, &d, workspace.data(),
        workspace.size(), comparison, stream));
}

#ifdef FACTZ_WITH_CUDA_RUNTIME

/* A call of the CUDA runtime that failed. */
class cuda_error : public std::runtime_error {
public:
    cuda_error(cudaError_t code, const char* call)
        : std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code)), code_(code) {}
    cudaError_t code() const noexcept { return code_; }

private:
    cudaError_t code_;
};

inline void check_cuda(cudaError_t code, const char* call) {
    if (code != cudaSuccess) throw cuda_error(code, call);
}

/* Owns what a compression on a device needs besides the field, or the volume: stream buffer, workspace and
 * report. One object serves one compression at a time; make two to overlap. Movable, not copyable. */
class device_compressor {
public:
    /* For fields or volumes of these dimensions, element type and layout on the current device. Allocates,
     * loads the kernels, and may wait for the device. */
    template <class Field>
    device_compressor(const Field& field, const factz_config& config, factz_stream stream) {
        const factz_sizes sizes = compress_sizes(field, config);
        capacity_ = sizes.max_stream_bytes;
        workspace_bytes_ = sizes.workspace_bytes;
        try {
            check(factz_prepare_device(stream));
            check_cuda(cudaMalloc(&stream_, capacity_), "cudaMalloc");
            check_cuda(cudaMalloc(&workspace_, workspace_bytes_), "cudaMalloc");
            void* report = nullptr;
            check_cuda(
                cudaHostAlloc(&report, sizeof(factz_report), cudaHostAllocMapped | cudaHostAllocPortable),
                "cudaHostAlloc");
            report_ = ::new (report) factz_report{};
        } catch (...) {
            release();
            throw;
        }
    }
    device_compressor(device_compressor&& other) noexcept { *this = std::move(other); }
    device_compressor& operator=(device_compressor&& other) noexcept {
        std::swap(stream_, other.stream_);
        std::swap(workspace_, other.workspace_);
        std::swap(report_, other.report_);
        std::swap(capacity_, other.capacity_);
        std::swap(workspace_bytes_, other.workspace_bytes_);
        return *this;
    }
    device_compressor(const device_compressor&) = delete;
    device_compressor& operator=(const device_compressor&) = delete;
    /* Waits until the device no longer uses the memory, as cudaFree does. */
    ~device_compressor() { release(); }

    /* Enqueues the compression of a field or volume like the constructor's. */
    template <class Field>
    void enqueue(const Field& field, const factz_config& config, factz_stream stream) {
        enqueue_compress(
            field, config, bytes(stream_, capacity_), bytes(workspace_, workspace_bytes_), report_, stream);
    }
    /* The outcome, in host memory; valid once the CUDA stream has reached that point. */
    const factz_report& report() const noexcept { return *report_; }
    /* The stream in device memory: report().stream_bytes bytes of `capacity()`. */
    void* data() const noexcept { return stream_; }
    std::size_t capacity() const noexcept { return capacity_; }

private:
    void release() noexcept {
        cudaFree(stream_);
        cudaFree(workspace_);
        cudaFreeHost(report_);
    }
    void* stream_ = nullptr;
    void* workspace_ = nullptr;
    factz_report* report_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t workspace_bytes_ = 0;
};

#endif /* FACTZ_WITH_CUDA_RUNTIME */

} /* namespace factz */

#endif /* FACTZ_HPP */
