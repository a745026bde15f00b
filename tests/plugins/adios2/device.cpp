// The operator plugin of ADIOS2 with blocks in device memory, as an ADIOS2 with CUDA hands them over: the
// blocks are those of the host, byte for byte. Needs a GPU, or the stand-in of the folder stand_in.
//
//     g++ -std=c++14 -I INCLUDE -I CUDA/include device.cpp -L CUDA/lib64 -lcudart -ldl -o device
//     ./device FOLDER/libfactz_adios2.so
//
// INCLUDE has the headers of ADIOS2.
#include <adios2/plugin/PluginOperatorInterface.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <random>
#include <vector>

using plugin = adios2::plugin::PluginOperatorInterface;

static int failures = 0;

static void require(bool condition, const char* what) {
    if (condition) return;
    std::printf("failed: %s\n", what);
    failures++;
}

template <class T>
static std::vector<char> compress(plugin& object, const void* data, const adios2::Dims& count) {
    const adios2::DataType type = sizeof(T) == 4 ? adios2::DataType::Float : adios2::DataType::Double;
    const std::size_t values = adios2::GetTotalSize(count);
    std::vector<char> block(object.GetEstimatedSize(values, sizeof(T), count.size(), count.data()));
    block.resize(object.Operate(static_cast<const char*>(data), {}, count, type, block.data()));
    return block;
}

enum class memory { device, managed, pool, pinned };

static void* allocate(memory kind, std::size_t bytes) {
    void* pointer = nullptr;
    cudaError_t code = cudaErrorUnknown;
    switch (kind) {
        case memory::device:
            code = cudaMalloc(&pointer, bytes);
            break;
        case memory::managed:
            code = cudaMallocManaged(&pointer, bytes, cudaMemAttachGlobal);
            break;
        case memory::pool:
            code = cudaMallocAsync(&pointer, bytes, nullptr);
            break;
        case memory::pinned:
            code = cudaMallocHost(&pointer, bytes);
            break;
    }
    require(code == cudaSuccess, cudaGetErrorString(code));
    return pointer;
}

static void release(memory kind, void* pointer) {
    if (kind == memory::pool)
        cudaFreeAsync(pointer, nullptr);
    else if (kind == memory::pinned)
        cudaFreeHost(pointer);
    else
        cudaFree(pointer);
}

enum class content { stream, values };

// Every kind of memory gives one block, whose header says what it holds.
template <class T>
static void same_blocks(
    plugin& object, const std::vector<T>& field, const adios2::Dims& count, content what) {
    const std::vector<char> expected = compress<T>(object, field.data(), count);
    require(expected[6] == static_cast<char>(what), "the content of the block");
    for (const memory kind : {memory::device, memory::managed, memory::pool, memory::pinned}) {
        void* const copy = allocate(kind, field.size() * sizeof(T));
        require(cudaMemcpy(copy, field.data(), field.size() * sizeof(T), cudaMemcpyDefault) == cudaSuccess,
            "cudaMemcpy");
        require(compress<T>(object, copy, count) == expected, "the block of the device is that of the host");
        release(kind, copy);
    }
    std::printf("%zu values, a block of %zu bytes\n", field.size(), expected.size());
}

// Waves with critical points in space, u before v before w.
template <class T>
static std::vector<T> volume(std::size_t nx, std::size_t ny, std::size_t nz) {
    const std::size_t n = nx * ny * nz;
    std::vector<T> field(3 * n);
    for (std::size_t i = 0; i < n; i++) {
        const double x = static_cast<double>(i % nx), y = static_cast<double>(i / nx % ny),
                     z = static_cast<double>(i / (nx * ny));
        field[i] = static_cast<T>(std::sin(0.31 * x + 0.2 * y + 0.11 * z));
        field[n + i] = static_cast<T>(std::sin(0.13 * x - 0.27 * y + 0.33 * z));
        field[2 * n + i] = static_cast<T>(std::sin(-0.21 * x + 0.17 * y + 0.29 * z));
    }
    return field;
}

int main(int, char** arguments) {
    void* const library = dlopen(arguments[1], RTLD_NOW);
    if (!library) {
        std::puts(dlerror());
        return 1;
    }
    const auto create =
        reinterpret_cast<plugin* (*)(const adios2::Params&)>(dlsym(library, "OperatorCreate"));
    const auto destroy = reinterpret_cast<void (*)(plugin*)>(dlsym(library, "OperatorDestroy"));
    const std::size_t nx = 611, ny = 407, n = nx * ny;
    std::vector<double> field(2 * n), noise(2 * n);
    std::mt19937_64 random(11);
    for (std::size_t i = 0; i < n; i++) {
        const double a = 0.07 * static_cast<double>(i % nx), b = 0.05 * static_cast<double>(i / nx);
        field[i] = std::sin(a) * std::cos(b) + 0.001 * a;
        field[n + i] = 0.02 - std::cos(a) * std::sin(b);
    }
    for (double& value : noise)
        value = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 900));
    plugin* const lossy = create({{"abs", "1e-3"}, {"mode", "speculative"}});
    plugin* const exact = create({{"abs", "0"}});
    plugin* const of_volumes = create({{"abs", "1e-2"}, {"mode", "repair"}, {"field", "61x45x37"}});
    plugin* const of_columns = create({{"rel", "1e-3"}, {"mode", "repair"}, {"order", "column"}});
    plugin* const exact_volumes = create({{"abs", "0"}, {"mode", "repair"}});
    try {
        same_blocks(*lossy, field, {2, ny, nx}, content::stream);
        same_blocks(*exact, noise, {ny, nx, 2}, content::values);
        same_blocks(*of_volumes, volume<float>(61, 45, 37), {3, 37, 45, 61}, content::stream);
        same_blocks(*of_volumes, volume<double>(61, 45, 37), {1, 3, 37, 45, 61}, content::stream);
        same_blocks(*of_columns, volume<float>(30, 28, 26), {30, 28, 26, 3}, content::stream);
        noise.resize(3 * 30 * 28 * 26);
        same_blocks(*exact_volumes, noise, {3, 30, 28, 26}, content::values);
        // Blocks that are shorter than the header of a stream, and as short as one.
        same_blocks(*exact_volumes, volume<float>(2, 2, 3), {3, 3, 2, 2}, content::values);
        same_blocks(*exact_volumes, volume<double>(2, 2, 2), {3, 2, 2, 2}, content::values);
    } catch (const std::exception& e) {
        std::puts(e.what());
        return 1;
    }
    for (plugin* const object : {lossy, exact, of_volumes, of_columns, exact_volumes}) destroy(object);
    if (failures == 0) std::puts("everything holds");
    return failures != 0;
}
