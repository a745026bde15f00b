// A compressor plugin of LibPressio 1.0 or later: 2D vector fields keep every critical point.
//
// README.md beside this file lists the options and the layouts of data.
#include <factz.h>

#include <libpressio_ext/cpp/compressor.h>
#include <libpressio_ext/cpp/data.h>
#include <libpressio_ext/cpp/domain_manager.h>
#include <libpressio_ext/cpp/options.h>
#include <libpressio_ext/cpp/pressio.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using libpressio::compressors::libpressio_compressor_plugin;

// A key of factz_config_from_string that is an option with the prefix "factz:".
struct choice {
    const char* key;
    std::vector<std::string> values;  // empty where they are not a list
    const char* documentation;
};

const std::vector<choice>& choices() {
    static const std::vector<choice> all = {
        {"mode", {"block", "speculative"},
            "block: an analytic bound for each vertex; speculative: smaller data, slower compression"},
        {"coder", {"ans", "huffman"}, "entropy coder"},
        {"predictor", {"hierarchical", "lorenzo"},
            "hierarchical: smallest data; lorenzo: faster, with mode block only"},
        {"preserve", {"none", "points", "types"},
            "critical points and their types, critical points, or the error bound alone"},
        {"ties", {"all", "zeros", "sos"},
            "how much is kept of triangles whose zero lies on an edge or at a vertex"},
        {"periodic", {"none", "x", "y", "xy"},
            "axes along which the last vertex is a neighbour of the first, such as the longitude of a globe"},
        {"pin", {},
            "sides whose vertices are stored exactly, for parts of a field that are compressed one by one: "
            "none, all, or xmin, xmax, ymin and ymax joined by +"},
    };
    return all;
}

void check(factz_status status) {
    if (status != FACTZ_OK)
        throw std::runtime_error(std::string(factz_status_string(status)) + ": " + factz_last_error());
}

// What the options say. The bound has no default.
struct settings {
    std::map<std::string, std::string> chosen;
    bool has_bound = false, has_fill = false;
    int32_t bound_kind = FACTZ_BOUND_ABSOLUTE;
    double bound = 0, dx = 1, dy = 1, fill = 0;
    uint32_t threads = 1;

    // The defaults of the library, whose text leaves out what is none.
    settings() {
        factz_config config;
        check(factz_config_init(&config, 1, 1, FACTZ_BOUND_ABSOLUTE, 0));
        char text[FACTZ_CONFIG_STRING_BYTES];
        check(factz_config_to_string(&config, text, sizeof text));
        for (const choice& c : choices()) chosen[c.key] = "none";
        std::istringstream items(text);
        for (std::string item; std::getline(items, item, ',');) {
            const auto found = chosen.find(item.substr(0, item.find('=')));
            if (found != chosen.end()) found->second = item.substr(item.find('=') + 1);
        }
    }

    bool is_bound(int32_t kind) const { return has_bound && bound_kind == kind; }
    void set_bound(int32_t kind, double value) {
        has_bound = true;
        bound_kind = kind;
        bound = value;
    }

    // Without shape and type. Throws where a value is wrong.
    factz_config config() const {
        std::string text = "abs=0";
        for (const auto& item : chosen) {
            if (item.second.find(',') != std::string::npos)
                throw std::invalid_argument("factz:" + item.first + "=" + item.second + " has a comma");
            text += "," + item.first + "=" + item.second;
        }
        factz_config config;
        check(factz_config_from_string(text.c_str(), &config));
        config.bound_kind = bound_kind;
        config.bound = bound;
        config.dx = dx;
        config.dy = dy;
        config.has_fill_value = has_fill;
        config.fill_value = fill;
        // Periodic axes have at least 3 vertices.
        config.nx = config.ny = 3;
        factz_sizes sizes;
        check(factz_compress_sizes(&config, &sizes));
        return config;
    }
};

// The dimensions of LibPressio begin with the one that varies fastest.
std::string as_text(const std::vector<std::size_t>& dimensions) {
    std::string text;
    for (const std::size_t d : dimensions) text += (text.empty() ? "" : ", ") + std::to_string(d);
    return "(" + text + ")";
}

// The shape and the type of a component in a configuration: columns, rows, and planes if there are several.
void describe(factz_config& config, const std::vector<std::size_t>& shape, pressio_dtype type) {
    if (type != pressio_float_dtype && type != pressio_double_dtype)
        throw std::invalid_argument("factz compresses float and double: convert other types first");
    config.nx = shape[0];
    config.ny = shape[1];
    config.nz = shape.size() == 3 ? shape[2] : 1;
    config.dtype = type == pressio_float_dtype ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;
}

// Of one buffer (nx, ny, 2) or (nx, ny, nz, 2): u, then v.
void describe_pair(factz_config& config, const pressio_data& data) {
    const std::vector<std::size_t>& d = data.dimensions();
    if (d.size() < 3 || d.size() > 4 || d.back() != 2)
        throw std::invalid_argument("dimensions " + as_text(d) +
                                    " are no vector field: factz takes (nx, ny, 2), x fastest, all of u "
                                    "before v, or (nx, ny, nz, 2)");
    describe(config, {d.begin(), d.end() - 1}, data.dtype());
}

// Of two buffers (nx, ny) or (nx, ny, nz).
void describe_components(factz_config& config, const pressio_data& u, const pressio_data& v) {
    const std::vector<std::size_t>& d = u.dimensions();
    if (d.size() < 2 || d.size() > 3 || d != v.dimensions() || u.dtype() != v.dtype())
        throw std::invalid_argument("dimensions " + as_text(d) + " and " + as_text(v.dimensions()) +
                                    " of u and v: factz takes two buffers (nx, ny) or (nx, ny, nz) of one "
                                    "shape and type");
    describe(config, d, u.dtype());
}

std::size_t vertices(const factz_config& config) { return config.nx * config.ny * config.nz; }

pressio_data readable(const pressio_data& data) {
    return domain_manager().make_readable(libpressio::domain_plugins().build("malloc"), data);
}

// The caller's memory where there is some on the host.
pressio_data writeable(pressio_data&& data) {
    return domain_manager().make_writeable(libpressio::domain_plugins().build("malloc"), std::move(data));
}

class factz_compressor_plugin final : public libpressio_compressor_plugin {
public:
    pressio_options get_options_impl() const override {
        pressio_options options;
        const auto set_number = [&](const char* name, bool is_set, double value) {
            if (is_set)
                set(options, name, value);
            else
                set_type(options, name, pressio_option_double_type);
        };
        set_number("pressio:abs", settings_.is_bound(FACTZ_BOUND_ABSOLUTE), settings_.bound);
        set_number("pressio:rel", settings_.is_bound(FACTZ_BOUND_RELATIVE), settings_.bound);
        if (settings_.is_bound(FACTZ_BOUND_ABSOLUTE) && settings_.bound == 0)
            set(options, "pressio:lossless", int32_t{1});
        else
            set_type(options, "pressio:lossless", pressio_option_int32_type);
        set(options, "pressio:nthreads", settings_.threads);
        for (const choice& c : choices())
            set(options, std::string("factz:") + c.key, settings_.chosen.at(c.key));
        set_number("factz:dx", true, settings_.dx);
        set_number("factz:dy", true, settings_.dy);
        set_number("factz:fill", settings_.has_fill, settings_.fill);
        return options;
    }

    pressio_options get_configuration_impl() const override {
        pressio_options options;
        set(options, "pressio:thread_safe", pressio_thread_safety_multiple);
        set(options, "pressio:stability", "unstable");
        std::vector<std::string> keys = {"pressio:abs", "pressio:rel", "pressio:lossless"};
        set(options, "pressio:highlevel",
            get_accumulate_configuration("pressio:highlevel", {}, std::vector<std::string>(keys)));
        for (const choice& c : choices()) {
            keys.push_back(std::string("factz:") + c.key);
            if (!c.values.empty()) set(options, keys.back(), c.values);
        }
        set(options, "predictors:error_dependent",
            get_accumulate_configuration("predictors:error_dependent", {}, keys));
        set(options, "predictors:error_agnostic",
            get_accumulate_configuration("predictors:error_agnostic", {}, keys));
        keys.push_back("pressio:nthreads");
        set(options, "predictors:runtime", get_accumulate_configuration("predictors:runtime", {}, keys));
        return options;
    }

    pressio_options get_documentation_impl() const override {
        pressio_options options;
        set(options, "pressio:description",
            "Error-bounded compression of 2D vector fields that keeps every critical point: sources, sinks,\n"
            "saddles and vortex centres stay in their triangles of the grid with their types, and no new "
            "ones\n"
            "appear. The data are (nx, ny, 2), x fastest, all of u before v, of float or double; (nx, ny, "
            "nz, 2)\n"
            "where planes are compressed together; or, with compress_many, two buffers (nx, ny) or (nx, ny, "
            "nz).");
        for (const choice& c : choices()) set(options, std::string("factz:") + c.key, c.documentation);
        set(options, "factz:dx", "grid spacing along x, negative if columns run against u");
        set(options, "factz:dy",
            "grid spacing along y, negative if rows run against v, as from north to south");
        set(options, "factz:fill",
            "vertices where u or v has this value hold no data; not set: no value does");
        return options;
    }

    int set_options_impl(const pressio_options& options) override {
        return guarded([&] { settings_ = changed(options); });
    }

    int check_options_impl(const pressio_options& options) override {
        return guarded([&] { changed(options); });
    }

    int compress_impl(const pressio_data* input, pressio_data* output) override {
        return guarded([&] {
            factz_config config = config_to_compress();
            describe_pair(config, *input);
            const pressio_data uv = readable(*input);
            const char* u = static_cast<const char*>(uv.data());
            *output = compress(config, u, u + uv.size_in_bytes() / 2);
        });
    }

    int compress_many_impl(const compat::span<const pressio_data* const>& inputs,
        compat::span<pressio_data*>& outputs) override {
        if (inputs.size() == 1 && outputs.size() == 1) return compress_impl(inputs[0], outputs[0]);
        return guarded([&] {
            if (inputs.size() != 2 || outputs.size() != 1)
                throw std::invalid_argument("factz compresses u and v, two buffers, to one");
            factz_config config = config_to_compress();
            describe_components(config, *inputs[0], *inputs[1]);
            const pressio_data u = readable(*inputs[0]), v = readable(*inputs[1]);
            *outputs[0] = compress(config, u.data(), v.data());
        });
    }

    int decompress_impl(const pressio_data* input, pressio_data* output) override {
        return guarded([&] {
            factz_config config = settings().config();
            describe_pair(config, *output);
            *output = writeable(std::move(*output));
            char* u = static_cast<char*>(output->data());
            decompress(*input, config, u, u + output->size_in_bytes() / 2);
        });
    }

    int decompress_many_impl(const compat::span<const pressio_data* const>& inputs,
        compat::span<pressio_data*>& outputs) override {
        if (inputs.size() == 1 && outputs.size() == 1) return decompress_impl(inputs[0], outputs[0]);
        return guarded([&] {
            if (inputs.size() != 1 || outputs.size() != 2)
                throw std::invalid_argument("factz decompresses one buffer to u and v, two buffers");
            factz_config config = settings().config();
            describe_components(config, *outputs[0], *outputs[1]);
            for (pressio_data* component : outputs) *component = writeable(std::move(*component));
            decompress(*inputs[0], config, outputs[0]->data(), outputs[1]->data());
        });
    }

    const char* prefix() const override { return "factz"; }
    const char* version() const override { return factz_version(); }
    int major_version() const override { return FACTZ_VERSION_MAJOR; }
    int minor_version() const override { return FACTZ_VERSION_MINOR; }
    int patch_version() const override { return FACTZ_VERSION_PATCH; }
    std::shared_ptr<libpressio_compressor_plugin> clone() override {
        return std::make_shared<factz_compressor_plugin>(*this);
    }

private:
    // No exception leaves the plugin: the message becomes that of the compressor.
    template <class Work>
    int guarded(Work&& work) {
        try {
            work();
            return 0;
        } catch (const std::exception& e) {
            return set_error(1, std::string("factz: ") + e.what());
        }
    }

    settings changed(const pressio_options& options) const {
        settings next = settings_;
        double abs = 0, rel = 0;
        int32_t lossless = 0;
        const bool has_abs = get(options, "pressio:abs", &abs) == pressio_options_key_set;
        const bool has_rel = get(options, "pressio:rel", &rel) == pressio_options_key_set;
        const bool has_lossless = get(options, "pressio:lossless", &lossless) == pressio_options_key_set;
        if (has_rel && (has_abs || has_lossless))
            throw std::invalid_argument(
                "pressio:rel is set together with pressio:abs or pressio:lossless: set one");
        if (has_lossless && has_abs && abs != 0)
            throw std::invalid_argument("pressio:lossless and a pressio:abs above 0 are both set: set one");
        if (has_abs || has_lossless) next.set_bound(FACTZ_BOUND_ABSOLUTE, abs);
        if (has_rel) next.set_bound(FACTZ_BOUND_RELATIVE, rel);
        get(options, "pressio:nthreads", &next.threads);
        if (next.threads > 1024)
            throw std::invalid_argument("pressio:nthreads=" + std::to_string(next.threads) +
                                        " is above 1024: give 0 for all processors");
        for (const choice& c : choices()) get(options, std::string("factz:") + c.key, &next.chosen[c.key]);
        get(options, "factz:dx", &next.dx);
        get(options, "factz:dy", &next.dy);
        if (get(options, "factz:fill", &next.fill) == pressio_options_key_set) next.has_fill = true;
        next.config();
        return next;
    }

    factz_config config_to_compress() const {
        if (!settings_.has_bound)
            throw std::invalid_argument(
                "there is no error bound: set pressio:abs, pressio:rel or pressio:lossless");
        return settings_.config();
    }

    pressio_data compress(const factz_config& config, const void* u, const void* v) const {
        factz_sizes sizes;
        check(factz_compress_sizes(&config, &sizes));
        pressio_data stream = pressio_data::owning(pressio_byte_dtype, {sizes.max_stream_bytes});
        factz_report report;
        check(factz_compress_host(u, v, vertices(config), &config, stream.data(), stream.size_in_bytes(),
            &report, static_cast<int>(settings_.threads)));
        stream.set_dimensions({report.stream_bytes});
        return stream;
    }

    void decompress(const pressio_data& data, const factz_config& config, void* u, void* v) const {
        const pressio_data stream = readable(data);
        factz_report report;
        check(factz_decompress_host(stream.data(), stream.size_in_bytes(), &config, u, v, vertices(config),
            &report, static_cast<int>(settings_.threads)));
    }

    settings settings_;
};

libpressio::pressio_register registration(
    libpressio::compressor_plugins(), "factz", [] { return std::make_shared<factz_compressor_plugin>(); });

}  // namespace

// A program that calls this function is linked to the plugin, whatever its linker leaves out.
extern "C" __attribute__((visibility("default"))) void libpressio_register_factz() {
    registration.ensure_registered();
}
