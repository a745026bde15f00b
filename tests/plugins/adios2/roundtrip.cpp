// Fields through BP files from C++: written in four blocks per step, as by four ranks, and read whole by a
// reader that knows nothing of the operator. factz_compare_host finds every critical point again.
//
//     roundtrip ENGINE FILE
#include <adios2.h>
#include <factz.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t nx = 150, ny = 90, ghosts = 2, steps = 3;
constexpr double bound = 1e-2;

void require(bool condition, const std::string& what) {
    if (!condition) throw std::logic_error("failed: " + what);
}

std::vector<double> vortices(std::size_t step) {
    std::vector<double> field(2 * nx * ny);
    for (std::size_t y = 0; y < ny; y++)
        for (std::size_t x = 0; x < nx; x++) {
            const double a = 0.21 * static_cast<double>(x + step), b = 0.17 * static_cast<double>(y);
            field[y * nx + x] = std::sin(a) * std::cos(b) + 0.003 * a;
            field[nx * ny + y * nx + x] = 0.02 - std::cos(a) * std::sin(b);
        }
    return field;
}

std::vector<double> noise() {
    std::mt19937_64 random(5);
    std::vector<double> field(2 * nx * ny);
    for (double& value : field)
        value = static_cast<double>(random()) * std::exp2(static_cast<double>(random() % 900));
    return field;
}

// Rows and columns of one of four blocks, with or without ghosts around them.
std::vector<double> cut(
    const std::vector<double>& field, std::size_t y0, std::size_t x0, std::size_t border) {
    const std::size_t rows = ny / 2 + 2 * border, columns = nx / 2 + 2 * border;
    std::vector<double> block(2 * rows * columns, -777.0);
    for (std::size_t c = 0; c < 2; c++)
        for (std::size_t y = 0; y < ny / 2; y++)
            for (std::size_t x = 0; x < nx / 2; x++)
                block[(c * rows + y + border) * columns + x + border] =
                    field[(c * ny + y0 + y) * nx + x0 + x];
    return block;
}

using fields = std::vector<std::vector<double>>;

void write(const std::string& engine, const std::string& path, const fields& written,
    const adios2::Params& more, adios2::Mode mode, std::size_t border = 0) {
    adios2::Params parameters = {{"PluginName", "factz"}, {"PluginLibrary", "factz_adios2"}};
    parameters.insert(more.begin(), more.end());
    adios2::ADIOS adios;
    adios2::IO io = adios.DeclareIO("writer");
    io.SetEngine(engine);
    auto variable = io.DefineVariable<double>("uv", {2, ny, nx}, {0, 0, 0}, {2, ny / 2, nx / 2});
    variable.AddOperation("plugin", parameters);
    adios2::Engine file = io.Open(path, adios2::Mode::Write);
    for (const std::vector<double>& field : written) {
        fields blocks;
        file.BeginStep();
        for (const std::size_t y0 : {std::size_t{0}, ny / 2})
            for (const std::size_t x0 : {std::size_t{0}, nx / 2}) {
                variable.SetSelection({{0, y0, x0}, {2, ny / 2, nx / 2}});
                if (border)
                    variable.SetMemorySelection(
                        {{0, border, border}, {2, ny / 2 + 2 * border, nx / 2 + 2 * border}});
                blocks.push_back(cut(field, y0, x0, border));
                file.Put(variable, blocks.back().data(), mode);
            }
        file.EndStep();
    }
    file.Close();
}

fields read(const std::string& engine, const std::string& path) {
    adios2::ADIOS adios;
    adios2::IO io = adios.DeclareIO("reader");
    io.SetEngine(engine);
    adios2::Engine file = io.Open(path, adios2::Mode::Read);
    fields all;
    while (file.BeginStep() == adios2::StepStatus::OK) {
        auto variable = io.InquireVariable<double>("uv");
        require(static_cast<bool>(variable), "the variable is there");
        all.emplace_back(2 * nx * ny);
        file.Get(variable, all.back().data(), adios2::Mode::Sync);
        file.EndStep();
    }
    file.Close();
    return all;
}

void compare(const fields& written, const fields& found) {
    require(found.size() == written.size(), "as many steps as were written");
    factz_config config;
    factz_config_init(&config, nx, ny, FACTZ_BOUND_ABSOLUTE, bound);
    config.dtype = FACTZ_DTYPE_F64;
    for (std::size_t t = 0; t < written.size(); t++) {
        const double *a = written[t].data(), *b = found[t].data();
        factz_comparison c;
        require(
            factz_compare_host(a, a + nx * ny, nx * ny, &config, b, b + nx * ny, nullptr, &c, 1) == FACTZ_OK,
            factz_last_error());
        require(c.violations == 0 && c.critical_points > 20, "every critical point is kept");
        require(c.max_error > 0, "the field was compressed");
    }
}

}  // namespace

int main(int, char** arguments) {
    const std::string engine = arguments[1], path = arguments[2];
    try {
        fields written;
        for (std::size_t t = 0; t < steps; t++) written.push_back(vortices(t));
        for (const adios2::Mode mode : {adios2::Mode::Deferred, adios2::Mode::Sync}) {
            write(engine, path, written, {{"abs", std::to_string(bound)}, {"mode", "speculative"}}, mode);
            compare(written, read(engine, path));
            const fields exact(steps, noise());
            write(engine, path, exact, {{"abs", "0"}}, mode);
            require(read(engine, path) == exact, "what does not compress comes back as it was");
        }
        // BP4 of ADIOS2 2.12 hands an operator the memory with its ghosts as if there were none.
        if (engine == "BP5") {
            write(engine, path, written, {{"abs", std::to_string(bound)}}, adios2::Mode::Sync, ghosts);
            compare(written, read(engine, path));
        }
    } catch (const std::exception& e) {
        std::puts(e.what());
        return 1;
    }
    std::puts("everything holds");
    return 0;
}
