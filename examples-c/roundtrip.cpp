/*
 * Compress and decompress fields from C++: dense, with ghost layers, interleaved, stacks of planes, volumes,
 * one component alone; find the critical points; and see what a wrong call is told.
 *
 *     c++ -std=c++17 roundtrip.cpp -lfactz -o roundtrip && ./roundtrip
 *
 * Exit status 0 when everything holds.
 */
#include <factz.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

constexpr std::uint64_t nx = 150, ny = 97, ghosts = 2;

void require(bool condition, const std::string &what)
{
    if (!condition)
        throw std::logic_error("failed: " + what);
}

/* A lattice of vortices, disturbed by waves: saddles and foci. */
template <class T>
void set_velocity(const factz::field<T> &field, std::int64_t layers)
{
    const auto width = static_cast<std::int64_t>(field.nx), height = static_cast<std::int64_t>(field.ny);
    for (std::int64_t y = -layers; y < height + layers; y++)
        for (std::int64_t x = -layers; x < width + layers; x++) {
            const double a = static_cast<double>(x), b = static_cast<double>(y);
            const auto at = [&](std::uint64_t pitch, std::uint64_t stride) {
                return y * static_cast<std::int64_t>(pitch) + x * static_cast<std::int64_t>(stride);
            };
            field.u[at(field.u_pitch, field.u_stride)] =
                static_cast<T>(std::sin(0.11 * a) * std::cos(0.13 * b) + 0.02 * std::cos(0.0527 * a + 0.2));
            field.v[at(field.v_pitch, field.v_stride)] = static_cast<T>(
                -std::cos(0.11 * a) * std::sin(0.13 * b) + 0.05 * std::sin(0.07 * a + 0.05 * b));
        }
}

/* Compresses, decompresses into another layout, checks, and prints a line. */
template <class T>
void round_trip(
    const char *name, const factz::field<T> &field, const factz_config &config, const factz::field<T> &back)
{
    factz_report report;
    const std::vector<std::byte> stream = factz::compress(field, config, &report);
    const factz_info info = factz::inspect(stream);
    require(info.nx == nx && info.ny == ny && info.stream_bytes == stream.size(), "the header");
    factz::decompress(stream, back);

    /* A relative bound is checked as the absolute one that it came to. */
    const factz_comparison comparison = factz::compare(field, back, factz::absolute_bound(report.bound));
    require(comparison.violations == 0, "bound and critical points");
    factz_config own = config;
    own.halo = 0; /* the output has no ghost vertices: the cells of the block itself */
    const auto points = factz::critical_points(back, own);
    require(!points.empty() && points.size() == report.points_in_triangles, "the number of critical points");
    std::printf("%-24s %8zu bytes  ratio %6.1f  %4zu critical points  largest error %.3g\n", name,
        stream.size(), 2.0 * sizeof(T) * nx * ny / static_cast<double>(stream.size()), points.size(),
        comparison.max_error);
}

/* Runs what must fail and checks the text of the exception. */
template <class F>
void refused(F &&wrong, factz_status status, const std::string &part)
{
    try {
        wrong();
    } catch (const factz::error &e) {
        require(e.status() == status && std::string(e.what()).find(part) != std::string::npos, e.what());
        std::printf("  refused: %s\n", e.what());
        return;
    }
    require(false, "expected an error with: " + part);
}

/* A reconstruction that another method made, and its fix: then all critical points are there. */
void fixes(const factz::field<float> &field, const factz::field<float> &other)
{
    constexpr float bound = 0.1F;
    for (std::uint64_t k = 0; k < nx * ny; k++) {
        other.u[k] = 0.19F * std::round(field.u[k] / 0.19F);
        other.v[k] = 0.19F * std::round(field.v[k] / 0.19F);
    }
    const factz_config config = factz::absolute_bound(bound);
    require(factz::compare(field, other, config).violations > 0, "rounding changes critical points");
    factz_fix_report report;
    const std::vector<std::byte> fix = factz::protect(field, other, config, &report);
    require(report.violated_triangles > 0 && factz::inspect_fix(fix).fix_bytes == fix.size(), "the fix");
    require(factz::apply(fix, other).repaired_vertices == report.repaired_vertices, "the repaired vertices");
    require(factz::compare(field, other, config).violations == 0, "critical points with the fix");
    std::printf("%-24s %8zu bytes\n", "a fix", fix.size());
    refused([&] { factz::apply(fix, other); }, FACTZ_ERROR_INVALID_ARGUMENT, "another reconstruction");
}

/* A configuration as text, as words and from a stream, and a checksum that is not compared. */
void options(const factz::field<const float> &field, const factz::field<float> &back)
{
    const factz_config config =
        factz::config_from_string("abs=1e-2,mode=speculative,coder=huffman,ties=zeros,pin=xmin+ymax");
    const std::string text = factz::to_string(config);
    const auto words = factz::to_words(config);
    const auto formats = factz::readable_formats();
    require(factz::to_string(factz::config_from_words(words.data(), words.size())) == text, "words");
    require(formats.first <= formats.second, "readable formats");
    refused([] { factz::config_from_string("abs=1,mode=fast"); }, FACTZ_ERROR_INVALID_CONFIG,
        "block, speculative");
    refused(
        [&] {
            factz_config wrong = config;
            wrong.ties = 3;
            factz::compress(field, wrong);
        },
        FACTZ_ERROR_INVALID_CONFIG, "ties = 3");

    std::vector<std::byte> stream = factz::compress(field, config);
    const factz_info info = factz::inspect(stream);
    require(formats.first <= info.format_version && info.format_version <= formats.second,
        "format of the stream");
    factz_config again = factz::config_from_info(info);
    require(
        again.nx == field.nx && again.coder == FACTZ_CODER_HUFFMAN && again.bound == 1e-2, "configuration");
    require(info.ties == FACTZ_TIES_ZEROS && again.ties == FACTZ_TIES_ZEROS, "ties");
    require(factz::decompress_sizes(back).max_stream_bytes >= stream.size(), "sizes");

    stream[8] ^= std::byte{1}; /* of the checksum */
    refused([&] { factz::decompress(stream, back); }, FACTZ_ERROR_CORRUPT_STREAM, "checksum");
    again.verify_checksum = 0;
    const factz_report report = factz::decompress(stream, back, again, 2);
    require(report.stream_bytes == stream.size() && report.required_bytes == stream.size(), "report");
}

/* A rectangle of the field, from memory and through a function that reads pieces of the stream. */
void region(const factz::field<const float> &field)
{
    constexpr std::uint64_t x0 = 40, y0 = 20, width = 33, height = 18;
    const std::vector<std::byte> stream = factz::compress(field, factz::absolute_bound(1e-3));
    std::vector<float> u(nx * ny), v(nx * ny), u2(width * height), v2(width * height), u3(u2), v3(v2);
    factz::decompress(stream, factz::dense(u.data(), v.data(), nx, ny));
    factz::decompress_region(stream, x0, y0, 0, factz::dense(u2.data(), v2.data(), width, height));
    const auto window = factz::dense(u3.data(), v3.data(), width, height);
    const auto read = [&](std::uint64_t offset, std::uint64_t bytes, void *to) {
        std::memcpy(to, stream.data() + offset, bytes);
    };
    const factz_report report = factz::read_region(read, stream.size(), x0, y0, 0, window);
    require(report.stream_bytes <= stream.size(), "the bytes that were read");
    for (std::uint64_t y = 0; y < height; y++)
        for (std::uint64_t x = 0; x < width; x++) {
            const std::uint64_t all = (y0 + y) * nx + x0 + x, part = y * width + x;
            require(u2[part] == u[all] && v2[part] == v[all], "a region from memory");
            require(u3[part] == u[all] && v3[part] == v[all], "a region that was read");
        }
    refused([&] { factz::decompress_region(stream, nx, 0, 0, window); }, FACTZ_ERROR_INVALID_ARGUMENT,
        "the region is not inside");
    bool passed = false;
    try {
        const auto fails = [](std::uint64_t, std::uint64_t, void *) {
            throw std::out_of_range("of the reader");
        };
        factz::read_region(fails, stream.size(), x0, y0, 0, window);
    } catch (const std::out_of_range &) {
        passed = true;
    }
    require(passed, "what the reader throws passes through");
}

/* Planes in one stream, u and v in turn, around a periodic axis; some of them alone. */
void stack()
{
    constexpr std::uint64_t planes = 4, values = 2 * nx * ny;
    std::vector<float> uv(planes * values), after(uv.size()), part(2 * values);
    const auto before = factz::pairs(uv.data(), nx, ny, planes);
    for (std::uint64_t z = 0; z < planes; z++) {
        set_velocity(before.planes(z), 0);
        for (std::uint64_t k = z * values; k < (z + 1) * values; k++)
            uv[k] *= static_cast<float>(1 + z);
    }
    factz_config config = factz::absolute_bound(1e-2);
    config.periodic = FACTZ_PERIODIC_X;
    factz_report report;
    const std::vector<std::byte> stream = factz::compress(before, config, &report);
    const factz_info info = factz::inspect(stream);
    require(info.nz == planes && info.periodic == FACTZ_PERIODIC_X, "the header of a stack");
    factz::decompress(stream, factz::pairs(after.data(), nx, ny, planes));
    const factz_comparison comparison =
        factz::compare(before, factz::pairs(after.data(), nx, ny, planes), config);
    require(comparison.violations == 0, "bound and critical points of a stack");
    const auto points = factz::critical_points(before, config);
    require(points.size() == comparison.critical_points && points.back().cell_z == planes - 1, "planes");
    std::size_t in_plane = 0;
    for (std::uint64_t z = 0; z < planes; z++)
        in_plane += factz::critical_points(before.planes(z), config).size();
    require(in_plane == points.size(), "the points of each plane");

    factz::decompress_planes(stream, 1, factz::pairs(part.data(), nx, ny, 2));
    require(std::memcmp(part.data(), after.data() + values, 2 * values * sizeof(float)) == 0, "two planes");
    refused([&] { factz::decompress_planes(stream, 3, factz::pairs(part.data(), nx, ny, 2)); },
        FACTZ_ERROR_INVALID_ARGUMENT, "z0 = 3 and nz = 2: the region is not inside");
}

constexpr std::uint64_t width = 20, height = 17, depth = 18;

/* The fix of a volume, and that of the block inside its outermost vertices, which are ghosts then. */
void volume_fixes(std::vector<float> &uvw)
{
    constexpr std::uint64_t n = width * height * depth;
    const factz_config config = factz::absolute_bound(0.1);
    std::vector<float> rounded(3 * n);
    for (std::uint64_t k = 0; k < 3 * n; k++)
        rounded[k] = 0.19F * std::round(uvw[k] / 0.19F);
    std::vector<float> inside = rounded;
    const auto before = factz::triple(uvw.data(), width, height, depth),
               after = factz::triple(rounded.data(), width, height, depth);
    require(
        factz::compare(before, after, config).violations > 0, "rounding changes critical points of a volume");
    factz_fix_report report;
    const std::vector<std::byte> fix = factz::protect(before, after, config, &report);
    const factz::volume<const float> original = before;
    require(factz::protect(original, after, config, nullptr, 1) == fix, "the fix of a const volume");
    require(report.violated_triangles > 0 && factz::inspect_fix(fix).components == 3, "the fix of a volume");
    require(factz::apply(fix, after).repaired_vertices == report.repaired_vertices, "the repaired vertices");
    require(
        factz::compare(before, after, config).violations == 0, "critical points of a volume with the fix");
    std::printf("%-24s %8zu bytes\n", "a fix of a volume", fix.size());
    refused([&] { factz::apply(fix, after); }, FACTZ_ERROR_INVALID_ARGUMENT, "another reconstruction");

    const auto block = [](std::vector<float> &all) {
        float *const first = all.data();
        return factz::ghosted(first, first + n, first + 2 * n, width - 2, height - 2, depth - 2, 1);
    };
    factz_config haloed = config;
    haloed.halo = FACTZ_SIDES_ALL_OF_VOLUME;
    const std::vector<std::byte> inner = factz::protect(block(uvw), block(inside), haloed);
    require(factz::inspect_fix(inner).nz == depth - 2, "the fix of a block with ghosts");
    const std::vector<float> outside = inside;
    factz::apply(inner, block(inside));
    require(factz::compare(block(uvw), block(inside), config).violations == 0,
        "critical points inside the block");
    for (std::uint64_t k = 0; k < 3 * n; k++) {
        const std::uint64_t x = k % width, y = k / width % height, z = k / width / height % depth;
        if (x % (width - 1) == 0 || y % (height - 1) == 0 || z % (depth - 1) == 0)
            require(inside[k] == outside[k], "ghosts stay as they are");
    }
    /* Beside a neighbour that stored its vertices exactly, no critical point changes between the blocks. */
    for (std::uint64_t k = 0; k < 3 * n; k++) {
        const std::uint64_t x = k % width, y = k / width % height, z = k / width / height % depth;
        if (x % (width - 1) == 0 || y % (height - 1) == 0 || z % (depth - 1) == 0)
            inside[k] = uvw[k];
    }
    const auto joined = factz::triple(inside.data(), width, height, depth);
    require(factz::compare(before, joined, config).violations == 0, "critical points between blocks");
}

/* Two blocks with ghosts between planes 7 and 8, where the one zero of a volume inside ghost layers lies. The
 * first block has it, and without a halo none. */
template <class T>
void volume_blocks(const std::vector<T> &whole)
{
    constexpr std::uint64_t pitch = width + 2, plane = pitch * (height + 2), all = plane * (depth + 2);
    factz_config config = factz::absolute_bound(0.5);
    std::size_t with_halo[2], without[2];
    for (std::uint64_t block = 0; block < 2; block++) {
        const T *const first = whole.data() + block * 8 * plane;
        const factz::volume<const T> part =
            factz::ghosted(first, first + all, first + 2 * all, width, height, block == 0 ? 8 : depth - 8, 1);
        config.halo = block == 0 ? FACTZ_SIDE_Z_MAX : FACTZ_SIDE_Z_MIN;
        with_halo[block] = factz::critical_points(part, config).size();
        const factz_volume_comparison same = factz::compare(part, part, config);
        require(same.critical_points == with_halo[block] && same.violations == 0, "a block with ghosts");
        config.halo = 0;
        without[block] = factz::critical_points(part, config).size();
    }
    require(with_halo[0] == 1 && with_halo[1] == 0, "a point between blocks belongs to one of them");
    require(without[0] == 0 && without[1] == 0, "without a halo points between blocks are left out");
}

/* A volume with one zero: its place and type, the range, and how it differs from volumes with another zero.
 */
template <class T>
void volume_analysis()
{
    constexpr std::uint64_t n = width * height * depth, pitch = width + 2, rows = height + 2,
                            plane = pitch * rows, all = plane * (depth + 2);
    /* The same values one component after another, in turn, and inside ghosts. */
    std::vector<T> uvw(3 * n), mixed(3 * n), whole(3 * all, T(1e9));
    for (std::uint64_t k = 0; k < n; k++) {
        const std::uint64_t x = k % width, y = k / width % height, z = k / width / height;
        const T values[3] = {static_cast<T>(static_cast<double>(x) - 5.25),
            static_cast<T>(static_cast<double>(y) - 6.5), static_cast<T>(static_cast<double>(z) - 7.125)};
        for (std::uint64_t c = 0; c < 3; c++) {
            uvw[c * n + k] = mixed[3 * k + c] = values[c];
            whole[c * all + (z + 1) * plane + (y + 1) * pitch + x + 1] = values[c];
        }
    }
    const factz::volume<const T> volumes[] = {factz::triple(uvw.data(), width, height, depth),
        factz::interleaved_volume(mixed.data(), width, height, depth),
        factz::ghosted(whole.data(), whole.data() + all, whole.data() + 2 * all, width, height, depth, 1)};
    factz_config config = factz::absolute_bound(0.5);
    config.dz = -2;
    volume_blocks(whole);
    for (const factz::volume<const T> &volume : volumes) {
        const std::vector<factz_volume_point> points = factz::critical_points(volume, config, 2);
        require(points.size() == 1, "one critical point of a volume");
        const factz_volume_point &point = points.front();
        require(point.cell_x == 5 && point.cell_y == 6 && point.cell_z == 7, "the cell of the point");
        require(point.x == 5.25 && point.y == 6.5 && point.z == -14.25, "the place of the point");
        require(point.point_type == FACTZ_VOLUME_POINT_REPELLING_NODE_SADDLE && point.index == -1,
            "the type of the point, of an axis that runs backwards");
        require(point.simplex == FACTZ_VOLUME_SIMPLEX_TETRAHEDRON + 2 && point.dimension == 3,
            "the tetrahedron with the steps y, x, z");
        factz_config filled = config;
        filled.halo = FACTZ_SIDES_ALL_OF_VOLUME; /* no part of the range */
        filled.has_fill_value = 1;
        filled.fill_value = -7.125;
        const factz_range range = factz::range(volume), rest = factz::range(volume, filled, 1);
        require(range.low == -7.125 && range.high == 13.75 && range.filled_vertices == 0,
            "the range of a volume");
        require(
            rest.low == -6.5 && rest.filled_vertices == width * height, "the range without filled vertices");
        for (const factz::volume<const T> &other : volumes) {
            const factz_volume_comparison same = factz::compare(volume, other, config);
            require(same.violations == 0 && same.critical_points == 1 && same.max_error == 0, "layouts");
        }
    }

    std::vector<T> changed = uvw;
    const auto other = factz::triple(changed.data(), width, height, depth);
    for (std::uint64_t k = n; k < 2 * n; k++)
        changed[k] -= T(0.75);
    const factz_volume_comparison moved = factz::compare(volumes[1], other, config);
    require(
        moved.lost_points == 1 && moved.spurious_points == 1 && moved.changed_types == 0, "a moved point");
    require(moved.bound_exceeded == n && moved.max_error == 0.75 && moved.bound == 0.5, "the bound");
    require(factz::critical_points(other, config).front().y == 7.25, "the place of a moved point");
    changed = uvw;
    for (std::uint64_t k = 0; k < n; k++)
        changed[k] = -changed[k];
    const factz_volume_comparison turned = factz::compare(volumes[2], other, config, 1);
    require(turned.changed_types == 1 && turned.lost_points == 0, "a point of another type");
    changed.assign(3 * n, T(1));
    require(factz::critical_points(other, config).empty(), "a volume without points");

    factz_config wrong = config;
    wrong.halo = FACTZ_SIDE_Z_MAX;
    refused([&] { factz::critical_points(volumes[0], wrong); }, FACTZ_ERROR_INVALID_ARGUMENT, "ghosts = 0");
    refused([&] { factz::compare(volumes[2], other, wrong); }, FACTZ_ERROR_INVALID_ARGUMENT, "ghosts = 0");
    refused(
        [&] { factz::compare(volumes[0], factz::triple(changed.data(), width, height, depth - 1), config); },
        FACTZ_ERROR_INVALID_ARGUMENT, "other_config describes 20 x 17 x 17 vertices, config 20 x 17 x 18");
    T *const null = nullptr;
    refused([&] { factz::range(factz::dense(other.u, other.v, null, width, height, depth)); },
        FACTZ_ERROR_INVALID_ARGUMENT, "w is null");
    std::printf("%-24s %8s  %zu critical point\n", "a volume, analysed", sizeof(T) == 4 ? "float" : "double",
        factz::critical_points(volumes[0], config).size());
}

/* A box of a volume and a plane of it, from memory and from a reader; `all` is the whole. */
void volume_region(const std::vector<std::byte> &stream, const std::vector<float> &all)
{
    constexpr std::uint64_t x0 = 3, y0 = 2, z0 = 15;
    const auto read = [&](std::uint64_t offset, std::uint64_t bytes, void *to) {
        std::memcpy(to, stream.data() + offset, bytes);
    };
    for (const std::uint64_t planes : {std::uint64_t{1}, depth - z0}) {
        const std::uint64_t nx = width - x0, ny = height - y0 - 1, n = nx * ny * planes;
        std::vector<float> part(3 * n), mixed(3 * n);
        factz::decompress_region(stream, x0, y0, z0, factz::triple(part.data(), nx, ny, planes));
        const auto box = factz::interleaved_volume(mixed.data(), nx, ny, planes);
        const factz_report report = factz::read_region(read, stream.size(), x0, y0, z0, box);
        require(report.required_bytes == stream.size(), "the length of the stream of a box");
        for (std::uint64_t k = 0; k < 3 * n; k++) {
            const std::uint64_t x = x0 + k % nx, y = y0 + k / nx % ny, z = z0 + k / nx / ny % planes;
            const float expected = all[((k / n * depth + z) * height + y) * width + x];
            require(part[k] == expected && mixed[k % n * 3 + k / n] == expected, "a box of a volume");
        }
        refused([&] { factz::decompress_region(stream, x0, y0 + 2, z0, box); }, FACTZ_ERROR_INVALID_ARGUMENT,
            "the region is not inside");
    }
}

/* A volume in three arrays, in one array after another, interleaved, and with padded rows: one stream. */
void volume()
{
    constexpr std::uint64_t n = width * height * depth, pitch = width + 3;
    constexpr float bound = 0.01F;
    std::vector<float> uvw(3 * n), mixed(3 * n), after(3 * n), padded(3 * pitch * height * depth, 7);
    const auto before = factz::triple(uvw.data(), width, height, depth);
    for (std::uint64_t k = 0; k < n; k++) {
        const auto x = static_cast<float>(k % width), y = static_cast<float>(k / width % height),
                   z = static_cast<float>(k / width / height);
        uvw[k] = std::sin(0.31F * x + 0.2F * y + 0.11F * z);
        uvw[n + k] = std::sin(0.13F * x - 0.27F * y + 0.33F * z);
        uvw[2 * n + k] = std::sin(0.29F * z + 0.17F * y - 0.21F * x);
        for (std::uint64_t c = 0; c < 3; c++)
            mixed[3 * k + c] = uvw[c * n + k];
    }
    factz_report report;
    const factz_config config = factz::absolute_bound(bound);
    const std::vector<std::byte> stream = factz::compress(before, config, &report);
    const factz_info info = factz::inspect(stream);
    require(info.nz == depth && info.component == FACTZ_COMPONENT_VOLUME && report.points_in_triangles > 0,
        "the header of a volume");
    require(stream.size() <= factz::volume_stream_bytes(before, config), "the largest stream of a volume");
    const factz::volume<const float> interleaved =
        factz::interleaved_volume(mixed.data(), width, height, depth);
    require(factz::compress(interleaved, config) == stream, "layouts of a volume give one stream");

    factz::decompress(stream, factz::triple(after.data(), width, height, depth));
    for (std::uint64_t k = 0; k < 3 * n; k++)
        require(std::abs(after[k] - uvw[k]) <= bound, "the bound of a volume");
    float *const u = padded.data(), *const v = u + pitch * height * depth,
                 *const w = v + pitch * height * depth;
    factz::decompress(stream, factz::pitched(u, v, w, width, height, depth, pitch), config, 2);
    factz::decompress(stream, factz::interleaved_volume(mixed.data(), width, height, depth));
    for (std::uint64_t k = 0; k < 3 * n; k++) {
        require(mixed[k % n * 3 + k / n] == after[k], "an interleaved volume");
        require(padded[k / width * pitch + k % width] == after[k], "padded rows of a volume");
    }
    require(padded[width] == 7, "what lies between rows stays");
    std::printf("%-24s %8zu bytes\n", "a volume", stream.size());

    const auto flat = factz::dense(u, v, w, width, height, 1);
    refused([&] { factz::compress(flat, config); }, FACTZ_ERROR_INVALID_CONFIG, "nz = 1 makes no volume");
    factz_config wrong = config;
    wrong.mode = FACTZ_MODE_SPECULATIVE;
    refused([&] { factz::compress(before, wrong); }, FACTZ_ERROR_INVALID_CONFIG, "mode = speculative");
    refused([&] { factz::decompress(stream, factz::dense(u, v, width, height, depth)); },
        FACTZ_ERROR_INVALID_ARGUMENT, "volume");
    refused([&] { factz::decompress(stream, factz::dense(u, v, w, width, height, depth - 1)); },
        FACTZ_ERROR_INVALID_ARGUMENT, "nz = 17");
    volume_region(stream, after);
    volume_fixes(uvw);
    volume_analysis<float>();
    volume_analysis<double>();
}

/* One component alone: the stream is split, each half decompressed, as a whole and in part, and both joined.
 */
void components(const factz::field<const float> &field)
{
    const std::vector<std::byte> stream = factz::compress(field, factz::absolute_bound(1e-3));
    const auto [of_u, of_v] = factz::split(stream);
    require(factz::inspect(of_u).component == FACTZ_COMPONENT_U, "the component of a half");
    require(factz::join(of_u, of_v) == stream, "joined halves are the stream");

    std::vector<float> u(nx * ny), v(nx * ny), alone(nx * ny, 7), part(nx * 5);
    factz::decompress(stream, factz::dense(u.data(), v.data(), nx, ny));
    const auto target = factz::dense(alone.data(), alone.data(), nx, ny);
    factz::decompress(of_u, target.only_u());
    require(alone == u, "u alone");
    factz::decompress(of_v, target.only_v());
    require(alone == v, "v alone");
    const auto rows = factz::dense(part.data(), part.data(), nx, 5);
    factz::decompress_region(of_v, 0, 10, 0, rows.only_v());
    require(std::memcmp(part.data(), v.data() + 10 * nx, part.size() * sizeof(float)) == 0, "rows of v");

    refused([&] { factz::decompress(of_u, target.only_v()); }, FACTZ_ERROR_INVALID_ARGUMENT,
        "u is null, but it is the component");
    refused([&] { factz::join(of_v, of_u); }, FACTZ_ERROR_INVALID_ARGUMENT, "holds component v");
    refused([&] { factz::split(of_u); }, FACTZ_ERROR_INVALID_ARGUMENT, "nothing to split");
}

void everything()
{
    std::printf("factz %s, format %u\n", factz_version(), static_cast<unsigned>(factz_format_version()));

    std::vector<float> u(nx * ny), v(nx * ny), u2(nx * ny), v2(nx * ny);
    const auto dense = factz::dense(u.data(), v.data(), nx, ny),
               dense2 = factz::dense(u2.data(), v2.data(), nx, ny);
    set_velocity(dense, 0);
    factz_config config = factz::relative_bound(1e-3);
    config.mode = FACTZ_MODE_SPECULATIVE;
    round_trip("dense, float", dense, config, dense2);

    /* All ghost layers hold values of the neighbours: critical points between blocks are kept as well. */
    const std::size_t padded = (nx + 2 * ghosts) * (ny + 2 * ghosts);
    std::vector<double> gu(padded), gv(padded), uv(2 * nx * ny);
    const auto block = factz::ghosted(gu.data(), gv.data(), nx, ny, ghosts);
    const auto pairs = factz::interleaved(uv.data(), nx, ny);
    set_velocity(block, ghosts);
    config = factz::absolute_bound(1e-2);
    config.halo = FACTZ_SIDES_ALL;
    round_trip("ghost layers, double", block, config, pairs);
    config.halo = 0;
    round_trip("interleaved, double", pairs, config, block);

    /* Memory of the caller, a const field, and errors. */
    std::vector<unsigned char> small(200);
    const factz::field<const float> input = dense;
    refused([&] { factz::compress_into(small, input, config); }, FACTZ_ERROR_BUFFER_TOO_SMALL,
        "dst_bytes = 200 is too small");
    refused(
        [&] { factz::compress(input, factz::absolute_bound(-1)); }, FACTZ_ERROR_INVALID_CONFIG, "bound = -1");
    refused([&] { factz::decompress(small, dense2); }, FACTZ_ERROR_CORRUPT_STREAM, "stream");
    refused([&] { factz::decompress(factz::compress(block, config), dense2); }, FACTZ_ERROR_INVALID_ARGUMENT,
        "the stream holds F64");
    options(dense, dense2);
    fixes(dense, dense2);
    region(dense);
    components(dense);
    stack();
    volume();
}

}  // namespace

int main()
{
    try {
        everything();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    std::puts("everything holds");
    return 0;
}
