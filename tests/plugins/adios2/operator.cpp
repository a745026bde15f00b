// The operator plugin of ADIOS2, called as ADIOS2 calls it: what it refuses and in which words, which sides
// it pins, and that damaged blocks are exceptions.
//
//     operator FOLDER/libfactz_adios2.so
#include <adios2/plugin/PluginOperatorInterface.h>
#include <factz.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using adios2::DataType;
using adios2::Dims;
using adios2::Params;
using plugin = adios2::plugin::PluginOperatorInterface;

static plugin* (*create)(const Params&);
static void (*destroy)(plugin*);

static std::unique_ptr<plugin, void (*)(plugin*)> make(const Params& parameters) {
    return {create(parameters), destroy};
}

static void require(bool condition, const std::string& what) {
    if (!condition) throw std::logic_error("failed: " + what);
}

// The call throws an exception whose message has each part.
static void refused(const std::function<void()>& call, const std::vector<std::string>& parts) {
    std::string message;
    try {
        call();
    } catch (const std::logic_error& e) {
        message = e.what();
    } catch (const std::runtime_error& e) {
        message = e.what();
    }
    for (const std::string& part : parts)
        require(message.find(part) != std::string::npos, "`" + part + "` is not in `" + message + "`");
}

// Vortices, u before v.
static std::vector<float> vortices(std::size_t nx, std::size_t ny) {
    std::vector<float> field(2 * nx * ny);
    for (std::size_t y = 0; y < ny; y++)
        for (std::size_t x = 0; x < nx; x++) {
            const double a = 0.31 * static_cast<double>(x), b = 0.27 * static_cast<double>(y);
            field[y * nx + x] = static_cast<float>(std::sin(a) * std::cos(b) + 0.01 * a);
            field[nx * ny + y * nx + x] = static_cast<float>(0.02 - std::cos(a) * std::sin(b));
        }
    return field;
}

template <class T>
static std::vector<char> compress(const Params& parameters, const std::vector<T>& data, const Dims& start,
    const Dims& count, DataType type) {
    const auto object = make(parameters);
    const std::size_t room = object->GetEstimatedSize(data.size(), sizeof(T), count.size(), count.data());
    // Bytes behind the estimate must stay as they are.
    std::vector<char> block(room + 64, 'x');
    const std::size_t bytes =
        object->Operate(reinterpret_cast<const char*>(data.data()), start, count, type, block.data());
    require(bytes <= room, "the block is no longer than the estimate");
    require(block[room] == 'x' && block[room + 63] == 'x', "nothing is written behind the estimate");
    block.resize(bytes);
    return block;
}

static std::vector<char> compress(const Params& parameters, const Dims& start, const Dims& count) {
    const std::vector<float> data = vortices(adios2::GetTotalSize(count) / 2, 1);
    return compress(parameters, data, start, count, DataType::Float);
}

template <class T>
static std::vector<T> decompress(const std::vector<char>& block, std::size_t values) {
    std::vector<T> data(values);
    const std::size_t bytes =
        make({})->InverseOperate(block.data(), block.size(), reinterpret_cast<char*>(data.data()));
    require(bytes == values * sizeof(T), "the block has the bytes of its values");
    return data;
}

static void parameters_are_checked() {
    const auto with = [](const Params& parameters, const std::vector<std::string>& parts) {
        refused([&] { compress(parameters, {0, 0, 0}, {2, 20, 30}); }, parts);
    };
    with({}, {"there is no bound", "abs or rel"});
    with({{"pluginname", "factz"}, {"pluginlibrary", "factz_adios2"}, {"verbose", "5"}},
        {"there is no bound"});
    with({{"mode", "speculative"}}, {"there is no bound: give abs=NUMBER or rel=NUMBER"});
    with({{"abs", "1"}, {"rel", "1"}}, {"abs and rel are both given"});
    with({{"abs", "1"}, {"depth", "3"}},
        {"no key `depth`", "abs, rel, mode", "layout, order, field and threads"});
    with({{"abs", "1"}, {"mode", "fast"}}, {"mode=fast is none of block, speculative"});
    with({{"abs", "one"}}, {"abs=one is no number"});
    with({{"abs", "1,mode=speculative"}}, {"abs=1,mode=speculative has a comma"});
    with({{"abs", "1"}, {"layout", "rows"}}, {"layout=rows is none of planes, interleaved"});
    with({{"abs", "1"}, {"order", "F"}}, {"order=F is none of row, column"});
    with({{"abs", "1"}, {"threads", "-1"}}, {"threads=-1 holds no number"});
    with({{"abs", "1"}, {"threads", "1025"}}, {"threads=1025 is above 1024"});
    with({{"abs", "1"}, {"threads", "99999999999999999999"}}, {"holds no number"});
    with({{"abs", "1"}, {"field", "30"}}, {"field=30 is not NXxNY"});
    with({{"abs", "1"}, {"field", "30x"}}, {"field=30x holds no number in ``"});
    with({{"abs", "1"}, {"field", "0x20"}}, {"field=0x20 has no vertices"});
    with({{"abs", "1"}, {"field", "29x20"}}, {"field=29x20 ends before the block", "columns end at 30"});
    with({{"abs", "1"}, {"field", "30x20"}, {"pin", "none"}}, {"pin and field are both given"});
    refused([] { compress({{"abs", "1"}, {"field", "60x40"}}, {}, {2, 20, 30}); }, {"needs a global array"});
    // The size of a block in place of that of the variable.
    const Params block_size = {{"abs", "1"}, {"field", "30x20"}};
    refused(
        [&] {
            compress(block_size, {0, 20, 30}, {2, 20, 30});
        },
        {"field=30x20 ends before the block", "columns end at 60 and rows at 40"});
    refused([&] { compress(block_size, {0, 0, 30}, {2, 20, 30}); }, {"field=30x20 ends before the block"});
    refused([&] { compress(block_size, {0, 20, 0}, {2, 20, 30}); }, {"field=30x20 ends before the block"});
}

static void blocks_are_checked() {
    const auto with = [](const Dims& count, const std::vector<std::string>& parts, const Params& more = {}) {
        Params parameters = more;
        parameters["abs"] = "1e-3";
        refused([&] { compress(parameters, Dims(count.size()), count); }, parts);
    };
    with({600}, {"(600) has fewer than 3 dimensions", "join u and v in one variable"});
    with({20, 30}, {"(20 x 30) has fewer than 3 dimensions"});
    with({3, 20, 30}, {"(3 x 20 x 30) is no vector field", "(2 x ny x nx) or (ny x nx x 2)"});
    with({1, 20, 30}, {"do not divide the components between blocks"});
    with({2, 30, 2}, {"give layout=planes or layout=interleaved"});
    with({2, 20, 30}, {"layout=interleaved takes (ny x nx x 2), not (2 x 20 x 30)"},
        {{"layout", "interleaved"}});
    with({20, 30, 2}, {"layout=planes takes (2 x ny x nx), not (20 x 30 x 2)"}, {{"layout", "planes"}});
    // Axes in the order of the user.
    const Params column = {{"order", "column"}}, mixed = {{"order", "column"}, {"layout", "interleaved"}};
    with({30, 20}, {"(30 x 20) has fewer than 3 dimensions", "(nx x ny x 2) or (2 x nx x ny)"}, column);
    with({30, 20, 3}, {"(30 x 20 x 3) is no vector field", "(nx x ny x 2) or (2 x nx x ny)"}, column);
    with({30, 20, 3, 5}, {"(30 x 20 x 3) is no vector field"}, column);
    with({30, 20, 2}, {"layout=interleaved takes (2 x nx x ny), not (30 x 20 x 2)"}, mixed);

    const auto object = make({{"abs", "1"}});
    for (const DataType type :
        {DataType::Int32, DataType::LongDouble, DataType::FloatComplex, DataType::Char})
        require(!object->IsDataTypeValid(type), "no other type than float and double");
    require(
        object->IsDataTypeValid(DataType::Float) && object->IsDataTypeValid(DataType::Double), "both types");
    const std::vector<std::int32_t> integers(1200);
    refused(
        [&] {
            compress({{"abs", "1"}}, integers, {0, 0, 0}, {2, 20, 30}, DataType::Int32);
        },
        {"takes float and double: convert the values first"});
}

static std::uint32_t exact_sides(
    const std::vector<float>& before, const std::vector<float>& after, std::size_t nx, std::size_t ny) {
    std::uint32_t exact = FACTZ_SIDES_ALL;
    for (std::size_t i = 0; i < 2 * nx * ny; i++) {
        if (before[i] == after[i]) continue;
        const std::size_t x = i % nx, y = i / nx % ny;
        if (x == 0) exact &= ~std::uint32_t{FACTZ_SIDE_X_MIN};
        if (x == nx - 1) exact &= ~std::uint32_t{FACTZ_SIDE_X_MAX};
        if (y == 0) exact &= ~std::uint32_t{FACTZ_SIDE_Y_MIN};
        if (y == ny - 1) exact &= ~std::uint32_t{FACTZ_SIDE_Y_MAX};
    }
    return exact;
}

static void sides_are_pinned_where_neighbours_may_be() {
    const std::size_t nx = 30, ny = 20;
    const std::vector<float> data = vortices(nx, ny);
    const auto with = [&](Params parameters, const Dims& start, std::uint32_t sides) {
        parameters["abs"] = "1e-2";
        const auto block = compress(parameters, data, start, {2, ny, nx}, DataType::Float);
        require(exact_sides(data, decompress<float>(block, data.size()), nx, ny) == sides,
            "the sides that are exact are " + std::to_string(sides));
    };
    const std::uint32_t x0 = FACTZ_SIDE_X_MIN, x1 = FACTZ_SIDE_X_MAX, y0 = FACTZ_SIDE_Y_MIN,
                        y1 = FACTZ_SIDE_Y_MAX;
    with({}, {}, FACTZ_SIDES_ALL);
    with({}, {0, 0, 0}, x1 | y1);
    with({}, {0, 20, 0}, x1 | y1 | y0);
    with({}, {0, 20, 30}, FACTZ_SIDES_ALL);
    with({{"pin", "none"}}, {0, 20, 30}, 0);
    with({{"pin", "xmin+ymax"}}, {}, x0 | y1);
    with({{"preserve", "none"}}, {0, 20, 30}, 0);
    with({{"field", "30x20"}}, {0, 0, 0}, 0);
    with({{"field", "30x20"}}, {}, 0);
    with({{"field", "90x40"}}, {0, 20, 30}, x0 | x1 | y0);
    with({{"field", "60x60"}}, {0, 20, 30}, x0 | y0 | y1);
}

static void layouts_agree() {
    const std::size_t nx = 30, ny = 20, n = nx * ny;
    const std::vector<float> planes = vortices(nx, ny);
    std::vector<double> interleaved(2 * n), wide(planes.begin(), planes.end());
    for (std::size_t i = 0; i < n; i++) {
        interleaved[2 * i] = wide[i];
        interleaved[2 * i + 1] = wide[n + i];
    }
    const Params parameters = {{"abs", "1e-2"}, {"mode", "speculative"}, {"threads", "2"}};
    const auto first = compress(parameters, wide, {0, 0, 0}, {2, ny, nx}, DataType::Double);
    const auto second = compress(parameters, interleaved, {0, 0, 0, 0}, {1, ny, nx, 2}, DataType::Double);
    Params column = parameters;
    column["order"] = "column";
    const auto third = compress(column, wide, {0, 0, 0}, {nx, ny, 2}, DataType::Double);
    require(first == third, "Fortran's order of the same memory makes the same block");
    require(
        std::equal(first.begin() + 16, first.end(), second.begin() + 16, second.end()), "the same stream");
    require(first[5] == 0 && second[5] == 1, "the layout is in the header");
    const auto a = decompress<double>(first, 2 * n), b = decompress<double>(second, 2 * n);
    for (std::size_t i = 0; i < n; i++) {
        require(std::fabs(a[i] - wide[i]) <= 1e-2 && std::fabs(a[n + i] - wide[n + i]) <= 1e-2, "the bound");
        require(a[i] == b[2 * i] && a[n + i] == b[2 * i + 1], "the values come back in their layout");
    }
}

// Leading dimensions are planes of one stream.
static void several_fields_are_one_stream() {
    const std::size_t nx = 30, ny = 20, n = nx * ny, nz = 6;
    std::vector<float> planes, interleaved(2 * n * nz);
    for (std::size_t z = 0; z < nz; z++)
        for (const float value : vortices(nx, ny)) planes.push_back(value * static_cast<float>(1 + z));
    for (std::size_t i = 0; i < 2 * n * nz; i++)
        interleaved[i / (2 * n) * 2 * n + 2 * (i % n) + i / n % 2] = planes[i];
    const auto keeps = [&](const std::vector<float>& data, const Dims& count, Params parameters) {
        parameters["abs"] = "0.01";
        const std::vector<char> block =
            compress(parameters, data, Dims(count.size()), count, DataType::Float);
        factz_info info;
        require(factz_inspect_host(block.data() + 16, block.size() - 16, &info) == FACTZ_OK, "a stream");
        require(info.nx == nx && info.ny == ny && info.nz == nz, "the block is one stream");
        const std::vector<float> after = decompress<float>(block, data.size());
        for (std::size_t i = 0; i < data.size(); i++)
            require(std::abs(after[i] - data[i]) <= 0.01, "a value within the bound");
    };
    const Params column = {{"order", "column"}};
    keeps(planes, {nz, 2, ny, nx}, {});
    keeps(planes, {2, 3, 2, ny, nx}, {});
    keeps(planes, {nx, ny, 2, nz}, column);
    keeps(interleaved, {nz, ny, nx, 2}, {});
    keeps(interleaved, {2, nx, ny, 3, 2}, column);
}

// A block as long as the field along a periodic axis keeps its period, others keep both ends exact.
static void periodic_axes_have_ends_in_parts_of_a_field() {
    const std::vector<float> data = vortices(30, 20);
    const auto with = [&](Params parameters, std::uint32_t periodic, std::uint32_t sides) {
        parameters["abs"] = "0.01";
        parameters["periodic"] = "x";
        const std::vector<char> block = compress(parameters, data, {0, 0, 0}, {2, 20, 30}, DataType::Float);
        factz_info info;
        require(factz_inspect_host(block.data() + 16, block.size() - 16, &info) == FACTZ_OK, "a stream");
        require(info.periodic == periodic, "the periodic axes of the block");
        require(exact_sides(data, decompress<float>(block, data.size()), 30, 20) == sides, "the exact sides");
    };
    const std::uint32_t ends = FACTZ_SIDE_X_MIN | FACTZ_SIDE_X_MAX;
    with({{"field", "30x20"}}, FACTZ_PERIODIC_X, 0);
    with({{"pin", "none"}}, FACTZ_PERIODIC_X, 0);
    with({{"field", "31x20"}}, 0, ends);
    with({}, 0, ends | FACTZ_SIDE_Y_MAX);
}

static void what_does_not_compress_is_stored() {
    std::mt19937_64 random(7);
    std::vector<double> noise(2 * 20 * 30);
    for (double& value : noise)
        value = std::ldexp(static_cast<double>(random()), -64 + static_cast<int>(random() % 1000));
    const auto block = compress({{"abs", "0"}}, noise, {}, {2, 20, 30}, DataType::Double);
    require(block.size() == 16 + noise.size() * 8 && block[6] == 1, "the values as they are");
    require(decompress<double>(block, noise.size()) == noise, "bit for bit");
    const std::vector<float> tiny = {1, 2, 3, 4};
    const auto small = compress({{"abs", "1"}, {"layout", "planes"}}, tiny, {}, {2, 1, 2}, DataType::Float);
    require(decompress<float>(small, 4) == tiny, "a field shorter than a header");
    const auto nothing =
        compress({{"abs", "1"}}, std::vector<float>(), {0, 0, 0}, {2, 0, 30}, DataType::Float);
    require(nothing.size() == 16 && decompress<float>(nothing, 0).empty(), "no part of the variable");
}

// Every byte of the headers and some of the rest changed or cut off.
static void damage_is_an_exception() {
    const std::vector<float> data = vortices(30, 20);
    std::mt19937_64 random(9);
    std::vector<float> noise(data.size());
    for (float& value : noise) {
        const std::uint32_t bits = random() & 0xbfffffff;  // any sign, mantissa, and exponent below 0
        std::memcpy(&value, &bits, sizeof value);
    }
    const std::vector<char> blocks[] = {compress({{"abs", "1e-2"}}, data, {}, {2, 20, 30}, DataType::Float),
        compress({{"abs", "0"}}, noise, {}, {2, 20, 30}, DataType::Float)};
    require(blocks[0][6] == 0 && blocks[1][6] == 1, "a stream and stored values");
    for (const std::vector<char>& block : blocks) {
        for (std::size_t i = 0; i < block.size(); i += i < 160 ? 1 : 13) {
            std::vector<char> damaged = block;
            damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
            refused([&] { decompress<float>(damaged, data.size()); }, {"factz: "});
        }
        for (std::size_t bytes = 0; bytes < block.size(); bytes += bytes < 160 ? 1 : 13) {
            const std::vector<char> cut(block.begin(), block.begin() + static_cast<std::ptrdiff_t>(bytes));
            refused([&] { decompress<float>(cut, data.size()); }, {"factz: "});
        }
    }
    const auto with = [&](std::size_t at, char value, const std::vector<std::string>& parts) {
        std::vector<char> damaged = blocks[0];
        damaged[at] = value;
        refused([&] { decompress<float>(damaged, data.size()); }, parts);
    };
    with(0, 'f', {"was not written by the operator factz"});
    with(4, 2, {"has version 2 of the operator's header", "use a later one"});
    with(5, 1, {"the checksum of the block does not match"});
    const std::vector<char> short_block(blocks[0].begin(), blocks[0].begin() + 15);
    refused(
        [&] { decompress<float>(short_block, data.size()); }, {"a compressed block of 15 bytes is cut off"});
    const std::vector<char> cut(blocks[0].begin(), blocks[0].end() - 4);
    refused([&] { decompress<float>(cut, data.size()); }, {"is cut off after"});
}

int main(int, char** arguments) {
    void* const library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        std::puts(dlerror());
        return 1;
    }
    create = reinterpret_cast<decltype(create)>(dlsym(library, "OperatorCreate"));
    destroy = reinterpret_cast<decltype(destroy)>(dlsym(library, "OperatorDestroy"));
    // The operator writes its messages there as well.
    if (!std::freopen("/dev/null", "w", stderr)) return 1;
    try {
        parameters_are_checked();
        blocks_are_checked();
        sides_are_pinned_where_neighbours_may_be();
        layouts_agree();
        several_fields_are_one_stream();
        periodic_axes_have_ends_in_parts_of_a_field();
        what_does_not_compress_is_stored();
        damage_is_an_exception();
    } catch (const std::exception& e) {
        std::puts(e.what());
        return 1;
    }
    std::puts("everything holds");
    return 0;
}
