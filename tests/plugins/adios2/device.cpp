// The operator plugin of ADIOS2 with blocks in device memory, as an ADIOS2 with CUDA hands them over: the
// blocks are those of the host, byte for byte. Needs a GPU.
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

static std::vector<char> compress(plugin& object, const void* data, const adios2::Dims& count) {
    const std::size_t values = adios2::GetTotalSize(count);
    std::vector<char> block(object.GetEstimatedSize(values, sizeof(double), count.size(), count.data()));
    block.resize(
        object.Operate(static_cast<const char*>(data), {}, count, adios2::DataType::Double, block.data()));
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

// Every kind of memory gives one block.
static void same_blocks(plugin& object, const std::vector<double>& field, const adios2::Dims& count) {
    const std::vector<char> expected = compress(object, field.data(), count);
    for (const memory kind : {memory::device, memory::managed, memory::pool, memory::pinned}) {
        void* const copy = allocate(kind, field.size() * sizeof(double));
        require(
            cudaMemcpy(copy, field.data(), field.size() * sizeof(double), cudaMemcpyDefault) == cudaSuccess,
            "cudaMemcpy");
        require(compress(object, copy, count) == expected, "the block of the device is that of the host");
        release(kind, copy);
    }
    std::printf("%zu values, a block of %zu bytes\n", field.size(), expected.size());
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
    try {
        same_blocks(*lossy, field, {2, ny, nx});
        same_blocks(*exact, noise, {ny, nx, 2});
    } catch (const std::exception& e) {
        std::puts(e.what());
        return 1;
    }
    destroy(lossy);
    destroy(exact);
    if (failures == 0) std::puts("everything holds");
    return failures != 0;
}
