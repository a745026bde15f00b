// The compressor plugin of LibPressio, called as its users call it: the guarantee holds, options are checked
// and come back, damage and wrong shapes are errors, and copies work in threads of their own.
#include <factz.h>
#include <libpressio.h>
#include <libpressio_ext/cpp/libpressio.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" void libpressio_register_factz();

namespace {

constexpr std::size_t nx = 50, ny = 37;

void require(bool condition, const std::string& what) {
    if (!condition) throw std::logic_error("failed: " + what);
}

// Vortices, u before v, with a vertex without data.
template <class T>
std::vector<T> vortices() {
    std::vector<T> field(2 * nx * ny);
    for (std::size_t y = 0; y < ny; y++)
        for (std::size_t x = 0; x < nx; x++) {
            const double a = 0.31 * static_cast<double>(x), b = 0.27 * static_cast<double>(y);
            field[y * nx + x] = static_cast<T>(std::sin(a) * std::cos(b) + 0.01 * a);
            field[nx * ny + y * nx + x] = static_cast<T>(0.02 - std::cos(a) * std::sin(b));
        }
    field[3 * nx + 4] = std::numeric_limits<T>::quiet_NaN();
    return field;
}

template <class T>
constexpr pressio_dtype dtype = sizeof(T) == 4 ? pressio_float_dtype : pressio_double_dtype;

pressio_compressor make() {
    pressio library;
    pressio_compressor compressor = library.get_compressor("factz");
    require(static_cast<bool>(compressor), "there is a compressor factz: " + std::string(library.err_msg()));
    return compressor;
}

void set(pressio_compressor& compressor, const pressio_options& options) {
    require(compressor->check_options(options) == 0, compressor->error_msg());
    require(compressor->set_options(options) == 0, compressor->error_msg());
}

// The call fails with a message that has each part.
void refused(pressio_compressor& compressor, int status, const std::vector<std::string>& parts) {
    const std::string message = compressor->error_msg();
    require(status != 0, "no error, instead of " + parts.front());
    for (const std::string& part : parts)
        require(message.find(part) != std::string::npos, "`" + part + "` is not in `" + message + "`");
}

// Violations of the guarantee between two fields, u before v.
template <class T>
std::uint64_t violations(const std::vector<T>& first, const T* other, double bound, double dy = 1) {
    factz_config config;
    factz_config_init(&config, nx, ny, FACTZ_BOUND_ABSOLUTE, bound);
    config.dtype = sizeof(T) == 4 ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;
    config.dy = dy;
    factz_comparison found;
    const factz_status status = factz_compare_host(
        first.data(), first.data() + nx * ny, nx * ny, &config, other, other + nx * ny, &config, &found, 1);
    require(status == FACTZ_OK, factz_last_error());
    require(found.critical_points > 10, "the field has critical points");
    return found.violations;
}

template <class T>
pressio_data input(std::vector<T>& field) {
    return pressio_data::nonowning(dtype<T>, field.data(), {nx, ny, 2});
}

template <class T>
void round_trips() {
    std::vector<T> field = vortices<T>();
    const pressio_data original = input(field);
    for (const char* mode : {"block", "speculative"})
        for (const double bound : {0.02, 0.0}) {
            pressio_compressor compressor = make();
            set(compressor, {{"pressio:abs", bound}, {"factz:mode", std::string(mode)}, {"factz:dy", -1.0},
                                {"pressio:metric", std::string("size")}});
            pressio_data data = pressio_data::empty(pressio_byte_dtype, {});
            require(compressor->compress(&original, &data) == 0, compressor->error_msg());
            require(
                data.num_dimensions() == 1 && data.size_in_bytes() < original.size_in_bytes(), "the size");
            factz_info info;
            require(
                factz_inspect_host(data.data(), data.size_in_bytes(), &info) == FACTZ_OK, factz_last_error());
            require(info.stream_bytes == data.size_in_bytes() && info.dy == -1 && info.bound == bound,
                "the stream");
            require(
                info.mode == (mode[0] == 'b' ? FACTZ_MODE_BLOCK_WISE : FACTZ_MODE_SPECULATIVE), "the mode");
            double ratio = 0;
            require(compressor->get_metrics_results().get("size:compression_ratio", &ratio) ==
                        pressio_options_key_set,
                "a metric");
            require(ratio > 1, "the ratio");

            // Another compressor, which knows no settings, into memory of LibPressio and of the caller.
            pressio_compressor other = make();
            pressio_data owned = pressio_data::owning(dtype<T>, {nx, ny, 2});
            pressio_data empty = pressio_data::empty(dtype<T>, {nx, ny, 2});
            std::vector<T> own(field.size());
            pressio_data callers = input(own);
            for (pressio_data* output : {&owned, &empty, &callers}) {
                require(other->decompress(&data, output) == 0, other->error_msg());
                require(output->dtype() == dtype<T> && output->dimensions() == original.dimensions(),
                    "the shape");
                require(violations(field, static_cast<T*>(output->data()), bound, -1) == 0, "the guarantee");
            }
            require(callers.data() == own.data(), "the caller's memory is written in place");
            require(bound > 0 || std::memcmp(own.data(), field.data(), sizeof(T) * field.size()) == 0,
                "lossless");
        }
}

void two_buffers() {
    std::vector<float> field = vortices<float>(), result(field.size());
    const auto component = [](std::vector<float>& uv, std::size_t k) {
        return pressio_data::nonowning(pressio_float_dtype, uv.data() + k * nx * ny, {nx, ny});
    };
    pressio_compressor compressor = make();
    set(compressor, {{"pressio:rel", 0.01}});
    pressio_data u = component(field, 0), v = component(field, 1), u2 = component(result, 0),
                 v2 = component(result, 1);
    pressio_data data = pressio_data::empty(pressio_byte_dtype, {});
    pressio_data whole = pressio_data::empty(pressio_byte_dtype, {});
    const std::vector<const pressio_data*> in = {&u, &v}, packed = {&data};
    std::vector<pressio_data*> out = {&data}, components = {&u2, &v2};
    require(
        compressor->compress_many(in.data(), in.data() + in.size(), out.data(), out.data() + out.size()) == 0,
        compressor->error_msg());
    const pressio_data original = input(field);
    require(compressor->compress(&original, &whole) == 0, compressor->error_msg());
    require(data == whole, "two buffers and one give the same data");
    require(compressor->decompress_many(packed.data(), packed.data() + packed.size(), components.data(),
                components.data() + components.size()) == 0,
        compressor->error_msg());
    factz_info info;
    require(factz_inspect_host(data.data(), data.size_in_bytes(), &info) == FACTZ_OK, factz_last_error());
    require(violations(field, result.data(), info.absolute_bound) == 0, "the guarantee of two buffers");
    refused(compressor,
        compressor->compress_many(
            in.data(), in.data() + in.size(), components.data(), components.data() + components.size()),
        {"u and v, two buffers, to one"});
    pressio_data row = pressio_data::nonowning(pressio_float_dtype, field.data(), {nx});
    const std::vector<const pressio_data*> odd = {&u, &row};
    refused(compressor,
        compressor->compress_many(odd.data(), odd.data() + odd.size(), out.data(), out.data() + out.size()),
        {"(50, 37) and (50)", "one shape and type"});
}

// Planes in one buffer, u of all before v of all, with a periodic axis.
void planes() {
    const std::size_t nz = 3, n = nx * ny;
    const std::vector<float> plane = vortices<float>();
    std::vector<float> stack(2 * nz * n);
    for (std::size_t z = 0; z < nz; z++)
        for (std::size_t i = 0; i < n; i++) {
            stack[z * n + i] = plane[i] + 0.1f * static_cast<float>(z);
            stack[(nz + z) * n + i] = plane[n + i];
        }
    const pressio_data original = pressio_data::nonowning(pressio_float_dtype, stack.data(), {nx, ny, nz, 2});
    pressio_compressor compressor = make();
    set(compressor, {{"pressio:abs", 0.02}, {"factz:periodic", std::string("x")}});
    pressio_data data = pressio_data::empty(pressio_byte_dtype, {});
    pressio_data result = pressio_data::owning(pressio_float_dtype, {nx, ny, nz, 2});
    require(compressor->compress(&original, &data) == 0, compressor->error_msg());
    factz_info info;
    require(factz_inspect_host(data.data(), data.size_in_bytes(), &info) == FACTZ_OK, factz_last_error());
    require(info.nz == nz && info.periodic == FACTZ_PERIODIC_X, "a stack with a periodic axis");
    require(compressor->decompress(&data, &result) == 0, compressor->error_msg());
    const float* values = static_cast<const float*>(result.data());
    factz_config config;
    factz_config_init(&config, nx, ny, FACTZ_BOUND_ABSOLUTE, 0.02);
    config.nz = nz;
    config.periodic = FACTZ_PERIODIC_X;
    factz_comparison found;
    require(factz_compare_host(stack.data(), stack.data() + nz * n, nz * n, &config, values, values + nz * n,
                &config, &found, 1) == FACTZ_OK,
        factz_last_error());
    require(found.critical_points > 30 && found.violations == 0, "the guarantee of a stack");
}

void options() {
    pressio_compressor compressor = make();
    const pressio_options initial = compressor->get_options();
    for (const char* key : {"pressio:abs", "pressio:rel", "factz:fill"})
        require(
            initial.key_status(key) == pressio_options_key_exists, std::string(key) + " is not set at first");
    std::string text;
    require(
        initial.get("factz:mode", &text) == pressio_options_key_set && text == "block", "the default mode");

    std::vector<float> field = vortices<float>();
    const pressio_data original = input(field);
    pressio_data data = pressio_data::empty(pressio_byte_dtype, {});
    refused(compressor, compressor->compress(&original, &data), {"there is no error bound: set pressio:abs"});

    set(compressor, {{"pressio:rel", 0.1}, {"factz:ties", std::string("sos")}, {"factz:fill", -999.0},
                        {"factz:pin", std::string("xmin+ymax")}, {"pressio:nthreads", uint32_t{2}}});
    // What a compressor says of itself sets another one up.
    pressio_compressor other = make();
    set(other, compressor->get_options());
    require(other->get_options().get("factz:pin", &text) == pressio_options_key_set && text == "xmin+ymax",
        "pin");
    double number = 0;
    require(
        other->get_options().get("pressio:rel", &number) == pressio_options_key_set && number == 0.1, "rel");
    require(
        other->get_options().get("factz:fill", &number) == pressio_options_key_set && number == -999, "fill");
    set(other, {{"pressio:lossless", int32_t{1}}});
    require(other->get_options().get("pressio:abs", &number) == pressio_options_key_set && number == 0,
        "lossless");
    require(other->get_options().key_status("pressio:rel") == pressio_options_key_exists, "one bound counts");

    const struct {
        pressio_options options;
        std::vector<std::string> parts;
    } wrong[] = {
        {{{"factz:mode", std::string("fast")}}, {"mode", "fast", "block", "speculative"}},
        {{{"factz:pin", std::string("left")}}, {"pin", "left", "xmin"}},
        {{{"factz:periodic", std::string("z")}}, {"periodic", "z", "xy"}},
        {{{"factz:coder", std::string("ans,rel=1")}}, {"factz:coder=ans,rel=1 has a comma"}},
        {{{"factz:dx", 0.0}}, {"dx"}},
        {{{"pressio:abs", -1.0}}, {"bound", "-1"}},
        {{{"pressio:abs", 1.0}, {"pressio:rel", 1.0}}, {"pressio:rel is set together with pressio:abs"}},
        {{{"pressio:abs", 1.0}, {"pressio:lossless", int32_t{1}}},
            {"pressio:lossless and a pressio:abs above 0"}},
        {{{"pressio:nthreads", uint32_t{5000}}}, {"pressio:nthreads=5000 is above 1024"}},
    };
    for (const auto& one : wrong) {
        refused(compressor, compressor->check_options(one.options), one.parts);
        refused(compressor, compressor->set_options(one.options), one.parts);
    }
    refused(compressor, compressor->check_options({{"factz:colour", 1.0}}), {"factz:colour"});
    require(compressor->get_options().get("pressio:rel", &number) == pressio_options_key_set && number == 0.1,
        "a refused option changes nothing");

    const pressio_options documented = compressor->get_documentation();
    for (const auto& option : compressor->get_options())
        if (option.first.rfind("factz:", 0) == 0 && option.first.find("metric") == std::string::npos)
            require(documented.key_status(option.first) == pressio_options_key_set,
                option.first + " is documented");
    pressio_thread_safety safety;
    require(compressor->get_configuration().get("pressio:thread_safe", &safety) == pressio_options_key_set &&
                safety == pressio_thread_safety_multiple,
        "thread safety");
    require(std::string(compressor->version()) == factz_version(), "the version");
}

void wrong_data() {
    std::vector<float> field = vortices<float>();
    std::vector<int32_t> integers(field.size());
    const pressio_data original = input(field);
    pressio_compressor compressor = make();
    set(compressor, {{"pressio:abs", 0.02}});
    pressio_data data = pressio_data::empty(pressio_byte_dtype, {});
    pressio_data other = pressio_data::empty(pressio_byte_dtype, {});
    require(compressor->compress(&original, &data) == 0, compressor->error_msg());
    for (const std::vector<std::size_t>& shape :
        {std::vector<std::size_t>{nx, ny}, {2, nx, ny}, {nx, ny, 1}, {nx, ny, 1, 1, 2}}) {
        const pressio_data odd = pressio_data::nonowning(pressio_float_dtype, field.data(), shape);
        refused(compressor, compressor->compress(&odd, &other), {"are no vector field", "(nx, ny, 2)"});
    }
    const pressio_data whole_numbers =
        pressio_data::nonowning(pressio_int32_dtype, integers.data(), {nx, ny, 2});
    refused(compressor, compressor->compress(&whole_numbers, &other), {"float and double"});

    pressio_data smaller = pressio_data::owning(pressio_float_dtype, {nx, ny - 1, 2});
    refused(compressor, compressor->decompress(&data, &smaller), {"37", "36"});
    pressio_data doubles = pressio_data::owning(pressio_double_dtype, {nx, ny, 2});
    refused(compressor, compressor->decompress(&data, &doubles), {"dtype"});
    pressio_data fit = pressio_data::owning(pressio_float_dtype, {nx, ny, 2});
    pressio_data damaged = pressio_data::clone(data);
    static_cast<unsigned char*>(damaged.data())[data.size_in_bytes() - 8] ^= 1;
    refused(compressor, compressor->decompress(&damaged, &fit), {"checksum"});
    pressio_data cut = pressio_data::nonowning(pressio_byte_dtype, data.data(), {data.size_in_bytes() - 4});
    refused(compressor, compressor->decompress(&cut, &fit), {"factz: "});
    require(compressor->decompress(&data, &fit) == 0, "an error does not stay");
}

void threads() {
    pressio_compressor compressor = make();
    set(compressor, {{"pressio:abs", 0.02}});
    std::vector<int> failures(4, 1);
    std::vector<std::thread> running;
    for (int& failed : failures)
        running.emplace_back([&failed, own = pressio_compressor(compressor)]() mutable {
            std::vector<float> field = vortices<float>();
            const pressio_data original = input(field);
            failed = 0;
            for (int round = 0; round < 20; round++) {
                pressio_data data = pressio_data::empty(pressio_byte_dtype, {});
                pressio_data result = pressio_data::owning(pressio_float_dtype, {nx, ny, 2});
                failed += own->compress(&original, &data) + own->decompress(&data, &result);
                failed += violations(field, static_cast<float*>(result.data()), 0.02) != 0;
            }
        });
    for (std::thread& thread : running) thread.join();
    for (const int failed : failures) require(failed == 0, "copies in threads");
}

}  // namespace

int main() {
    libpressio_register_factz();
    try {
        round_trips<float>();
        round_trips<double>();
        two_buffers();
        planes();
        options();
        wrong_data();
        threads();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    std::puts("everything holds");
    return 0;
}
