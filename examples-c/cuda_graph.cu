/*
 * Compress, decompress, compare and list the critical points on a CUDA stream, then capture all of it into a
 * CUDA graph and replay it for every new field: nothing is allocated, nothing waits, and no size is read back
 * in between.
 *
 *     nvcc -std=c++17 cuda_graph.cu -lfactz -o cuda_graph && ./cuda_graph
 *
 * Exit status 0 if every replay keeps bound and critical points and gives the host's bytes.
 */
#define FACTZ_WITH_CUDA_RUNTIME
#include <factz.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace
{

constexpr int nx = 1531, ny = 1013, replays = 12;
constexpr std::size_t n = std::size_t(nx) * ny, most_points = 10000;

/* What the device tells the host. */
struct outcome {
    factz_report decompressed;
    factz_comparison comparison;
    std::uint64_t points;
};

#define CUDA(call) factz::check_cuda(call, #call)

void require(bool condition, const char *what)
{
    if (!condition)
        throw std::runtime_error(std::string("failed: ") + what);
}

/* Stands for the solver: drifting vortices at time *step, which it advances. One thread per vertex. */
__global__ void advance(float *u, float *v, const int *step)
{
    const int x = int(blockIdx.x * blockDim.x + threadIdx.x), y = int(blockIdx.y);
    if (x >= nx)
        return;
    const float t = 0.3f * float(*step), a = 0.021f * float(x) + 0.004f * float(y) - t,
                b = 0.019f * float(y) + 0.5f * t;
    u[y * nx + x] = sinf(a) * cosf(b) + 0.2f * cosf(3.1f * a - 2.f * b);
    v[y * nx + x] = -cosf(a) * sinf(b) + 0.2f * sinf(2.7f * b + a);
}

__global__ void count_step(int *step)
{
    *step += 1;
}

template <class T>
T *device_array(std::size_t count)
{
    void *memory = nullptr;
    CUDA(cudaMalloc(&memory, count * sizeof(T)));
    return static_cast<T *>(memory);
}

template <class T>
std::vector<T> fetch(const void *from, std::size_t count)
{
    std::vector<T> values(count);
    CUDA(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
}

void everything()
{
    int devices = 0;
    CUDA(cudaGetDeviceCount(&devices));
    require(devices > 0, "there is no CUDA device");
    cudaDeviceProp device;
    CUDA(cudaGetDeviceProperties(&device, 0));

    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    float *u = device_array<float>(n), *v = device_array<float>(n);
    float *u2 = device_array<float>(n), *v2 = device_array<float>(n);
    int *step = device_array<int>(1);
    CUDA(cudaMemset(step, 0, sizeof(int)));

    const auto field = factz::dense(u, v, nx, ny), back = factz::dense(u2, v2, nx, ny);
    const factz_config config = factz::relative_bound(1e-2);
    factz::device_compressor compressor(field, config, stream);
    const std::size_t workspace_bytes = factz::decompress_sizes(field).workspace_bytes;
    std::byte *workspace = device_array<std::byte>(workspace_bytes);
    void *memory = nullptr;
    CUDA(cudaHostAlloc(&memory, sizeof(outcome), cudaHostAllocMapped));
    /* Written by the device, looked at when the stream has got there. */
    auto *const seen = static_cast<outcome *>(memory);
    const std::size_t analysis_bytes = factz::compress_sizes(field, config).analysis_workspace_bytes;
    std::byte *analysis = device_array<std::byte>(analysis_bytes);
    factz_critical_point *points = device_array<factz_critical_point>(most_points);

    /* What a solver enqueues per step. Decompression is given the capacity: the stream says how long it is.
     */
    const auto enqueue = [&] {
        advance<<<dim3((nx + 255) / 256, ny), 256, 0, stream>>>(u, v, step);
        compressor.enqueue(field, config, stream);
        factz::enqueue_decompress(factz::const_bytes(compressor.data(), compressor.capacity()), back, config,
            factz::bytes(workspace, workspace_bytes), &seen->decompressed, stream);
        factz::enqueue_compare(
            field, back, config, factz::bytes(analysis, analysis_bytes), &seen->comparison, stream);
        factz::enqueue_critical_points(
            back, config, points, most_points, &seen->points, factz::bytes(analysis, analysis_bytes), stream);
        count_step<<<1, 1, 0, stream>>>(step);
        CUDA(cudaGetLastError());
    };
    /* Both components, before and after, are compared on the host: exactly, and with the host's stream. */
    const auto verify = [&](const char *how, int number) {
        CUDA(cudaStreamSynchronize(stream));
        factz::check(compressor.report());
        factz::check(seen->decompressed);
        require(seen->comparison.status == FACTZ_OK && seen->comparison.violations == 0,
            "the comparison on the device");
        const auto a = fetch<float>(u, n), b = fetch<float>(v, n), c = fetch<float>(u2, n),
                   d = fetch<float>(v2, n);
        const auto original = factz::dense(a.data(), b.data(), nx, ny);
        const factz_comparison comparison = factz::compare(original, factz::dense(c.data(), d.data(), nx, ny),
            factz::absolute_bound(compressor.report().bound));
        const auto bytes = fetch<std::byte>(compressor.data(), compressor.report().stream_bytes);
        std::printf("%s %2d: %8zu bytes  ratio %6.1f  %5llu critical points  largest error %.3g\n", how,
            number, bytes.size(), 2.0 * sizeof(float) * double(n) / double(bytes.size()),
            static_cast<unsigned long long>(comparison.critical_points), comparison.max_error);
        require(comparison.violations == 0 && comparison.critical_points > 0, "bound and critical points");
        require(comparison.critical_points == compressor.report().points_in_triangles &&
                    comparison.critical_points == seen->comparison.critical_points,
            "the reported number of points");
        const auto listed = factz::critical_points(factz::dense(c.data(), d.data(), nx, ny), config);
        const auto found = fetch<factz_critical_point>(points, listed.size());
        require(listed.size() == seen->points && listed.size() <= most_points &&
                    !std::memcmp(listed.data(), found.data(), listed.size() * sizeof(factz_critical_point)),
            "the same critical points as on the host");
        require(bytes == factz::compress(original, config), "the same bytes as on the host");
    };

    std::printf("factz %s on %s\n", factz_version(), device.name);
    enqueue();
    verify("stream", 0);

    /* The constructor of the compressor has loaded the kernels, so all of it can be captured. */
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    enqueue();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&replay, graph, 0));
    for (int k = 1; k <= replays; k++) {
        CUDA(cudaGraphLaunch(replay, stream));
        if (k % 4 == 0)
            verify("replay", k);
    }

    cudaEvent_t begin, end;
    CUDA(cudaEventCreate(&begin));
    CUDA(cudaEventCreate(&end));
    const auto milliseconds = [&](auto &&work) {
        float elapsed = 0;
        CUDA(cudaEventRecord(begin, stream));
        for (int k = 0; k < 20; k++)
            work();
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&elapsed, begin, end));
        return elapsed / 20;
    };
    const float calls = milliseconds(enqueue);
    const float graphs = milliseconds([&] { CUDA(cudaGraphLaunch(replay, stream)); });
    std::printf("a step with all of it: %.3f ms by calls, %.3f ms by replay\n", calls, graphs);
    verify("replay", replays + 40);

    CUDA(cudaGraphExecDestroy(replay));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaEventDestroy(begin));
    CUDA(cudaEventDestroy(end));
    for (void *pointer : {static_cast<void *>(u), static_cast<void *>(v), static_cast<void *>(u2),
             static_cast<void *>(v2), static_cast<void *>(step), static_cast<void *>(analysis),
             static_cast<void *>(points), static_cast<void *>(workspace)})
        CUDA(cudaFree(pointer));
    CUDA(cudaFreeHost(memory));
    CUDA(cudaStreamDestroy(stream));
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
