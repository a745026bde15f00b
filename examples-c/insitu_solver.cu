/*
 * A flow solver on the GPU that compresses its velocity in situ: every K-th step is compressed on a stream of
 * its own while the solver keeps computing. At the end the program says what that cost.
 *
 *     nvcc -O3 -std=c++17 insitu_solver.cu -lfactz -o insitu_solver && ./insitu_solver
 *     ./insitu_solver --size 4096 --steps 400 --every 20 --rel 1e-2 --mode block --priority solver \
 *         --output flow.fzs --limit 1.2
 *
 * The solver: lattice Boltzmann, D2Q9, single relaxation time, on a periodic square; random eddies decay and
 * merge. Pull scheme with two copies of the distributions, one thread per vertex.
 *
 * In situ, per compressed step:
 *   1. The solver's kernel writes the velocity into one of two snapshots, with its ghost line: the periodic
 *      domain is its own neighbour (halo on all sides), so that critical points on the seam are kept.
 *   2. An event tells the compression stream, which compresses the snapshot while the solver goes on.
 *   3. Two compressed steps later the snapshot is needed again. The host reads the report in pinned memory
 *      and enqueues the copy of exactly the stream's bytes. It waits only for work of two compressed steps
 *      ago: while compression keeps up with the solver, the solver's stream never runs dry.
 *
 * Measured are the wall time of all steps with compression and without, both until the device is idle, and
 * the time of one compression alone on the idle device. The overhead per compressed step is the difference
 * per snapshot: writing the snapshot, the compression, the copy to the host, and the time they take from the
 * solver. With --limit the program fails if overhead / compression time is above it.
 *
 * Self-checks: mass is conserved, no report has an error, and the last snapshot, decompressed on the device,
 * has every critical point and keeps the bound. With --output the file gets per snapshot: step (int64), bytes
 * (int64), stream.
 */
#define FACTZ_WITH_CUDA_RUNTIME
#include <factz.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <vector>

#define CUDA(call) factz::check_cuda(call, #call)

namespace
{

constexpr int waves = 48, block_threads = 256;
/* Columns before the first of a snapshot: more than the ghost line needs, but rows begin at whole cache
 * lines. */
constexpr int margin = 32;

struct options {
    int size = 4096, steps = 400, every = 20, rounds = 3;
    double relative = 1e-2, limit = 0;
    int mode = FACTZ_MODE_BLOCK_WISE;
    bool solver_first = true;
    const char *output = nullptr;
};

/* The snapshot's arrays: vertex (x, y) at first[y * pitch + x], one ghost line around. */
struct snapshot_view {
    float *u, *v;
    int pitch;
};

struct wave {
    float kx, ky, phase, amplitude;
};
__constant__ wave eddies[waves];

/* ---------------------------------------------------------------- the solver */

__device__ constexpr int direction_x(int q)
{
    constexpr int x[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    return x[q];
}
__device__ constexpr int direction_y(int q)
{
    constexpr int y[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    return y[q];
}
__device__ constexpr float weight(int q)
{
    return q == 0 ? 4.f / 9 : q < 5 ? 1.f / 9 : 1.f / 36;
}

__device__ float equilibrium(int q, float density, float u, float v)
{
    const float along = 3.f * (float(direction_x(q)) * u + float(direction_y(q)) * v);
    return weight(q) * density * (1.f + along + 0.5f * along * along - 1.5f * (u * u + v * v));
}

/* Distributions of a flow of random eddies: the rotated gradient of a sum of waves that fit the square. */
__global__ void set_eddies(float *f, int size)
{
    const int x = int(blockIdx.x * blockDim.x + threadIdx.x), y = int(blockIdx.y);
    if (x >= size)
        return;
    float u = 0, v = 0;
    for (int k = 0; k < waves; k++) {
        const wave w = eddies[k];
        const float slope = w.amplitude * sinf(w.kx * float(x) + w.ky * float(y) + w.phase);
        u += -w.ky * slope;
        v += w.kx * slope;
    }
    const std::size_t n = std::size_t(size) * size, i = std::size_t(y) * size + x;
    for (int q = 0; q < 9; q++)
        f[q * n + i] = equilibrium(q, 1.f, u, v);
}

/* One time step; with `taking` the velocity goes to a snapshot too. The ghost line is a copy of the opposite
 * side. */
template <bool taking>
__global__ void __launch_bounds__(block_threads)
    advance(const float *__restrict__ from, float *__restrict__ to, int size, float rate, snapshot_view out)
{
    const int x = int(blockIdx.x * blockDim.x + threadIdx.x), y = int(blockIdx.y);
    if (x >= size)
        return;
    const std::size_t n = std::size_t(size) * size, i = std::size_t(y) * size + x;
    float f[9], density = 0, u = 0, v = 0;
#pragma unroll
    for (int q = 0; q < 9; q++) {
        int sx = x - direction_x(q), sy = y - direction_y(q);
        sx += sx < 0 ? size : sx >= size ? -size : 0;
        sy += sy < 0 ? size : sy >= size ? -size : 0;
        f[q] = from[q * n + std::size_t(sy) * size + sx];
        density += f[q];
        u += float(direction_x(q)) * f[q];
        v += float(direction_y(q)) * f[q];
    }
    u /= density;
    v /= density;
#pragma unroll
    for (int q = 0; q < 9; q++)
        to[q * n + i] = f[q] + rate * (equilibrium(q, density, u, v) - f[q]);
    if constexpr (taking) {
        const auto put = [&](int px, int py) {
            const std::ptrdiff_t at = std::ptrdiff_t(py) * out.pitch + px;
            out.u[at] = u;
            out.v[at] = v;
        };
        /* Where else the vertex appears: one line beyond the opposite side, corners included. */
        const int gx = x == 0 ? size : x == size - 1 ? -1 : x, gy = y == 0 ? size : y == size - 1 ? -1 : y;
        put(x, y);
        if (gx != x)
            put(gx, y);
        if (gy != y)
            put(x, gy);
        if (gx != x && gy != y)
            put(gx, gy);
    }
}

__global__ void add_mass(const float *f, std::size_t values, double *mass)
{
    double sum = 0;
    const std::size_t stride = std::size_t(gridDim.x) * blockDim.x;
    for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < values; i += stride)
        sum += f[i];
    atomicAdd(mass, sum);
}

/* ---------------------------------------------------------------- memory, streams and events that clean up
 */

template <class T>
class device_array
{
public:
    explicit device_array(std::size_t count)
    {
        CUDA(cudaMalloc(&memory_, count * sizeof(T)));
    }
    ~device_array()
    {
        cudaFree(memory_);
    }
    device_array(const device_array &) = delete;
    T *data() const
    {
        return static_cast<T *>(memory_);
    }

private:
    void *memory_ = nullptr;
};

class pinned_bytes
{
public:
    explicit pinned_bytes(std::size_t count)
    {
        CUDA(cudaMallocHost(&memory_, count));
    }
    ~pinned_bytes()
    {
        cudaFreeHost(memory_);
    }
    pinned_bytes(const pinned_bytes &) = delete;
    void *data() const
    {
        return memory_;
    }

private:
    void *memory_ = nullptr;
};

struct cuda_stream {
    explicit cuda_stream(int priority)
    {
        CUDA(cudaStreamCreateWithPriority(&handle, cudaStreamNonBlocking, priority));
    }
    ~cuda_stream()
    {
        cudaStreamDestroy(handle);
    }
    cuda_stream(const cuda_stream &) = delete;
    cudaStream_t handle = nullptr;
};

struct cuda_event {
    explicit cuda_event(unsigned flags = cudaEventDisableTiming)
    {
        CUDA(cudaEventCreateWithFlags(&handle, flags));
    }
    ~cuda_event()
    {
        cudaEventDestroy(handle);
    }
    cuda_event(const cuda_event &) = delete;
    cudaEvent_t handle = nullptr;
};

/* ---------------------------------------------------------------- compression in situ */

/* One snapshot on its way: velocity, compressed stream on the device, and its copy on the host. */
class slot
{
public:
    slot(int size, const factz_config &config, cudaStream_t io)
        : pitch_(size + 2 * margin), u_(values(size)), v_(values(size)),
          field(factz::pitched<const float>(
              first(u_), first(v_), std::uint64_t(size), std::uint64_t(size), std::uint64_t(pitch_))),
          compressor(field, config, io), host(compressor.capacity())
    {
    }

    snapshot_view view() const
    {
        return {first(u_), first(v_), pitch_};
    }

private:
    int pitch_;
    device_array<float> u_, v_;

    std::size_t values(int size) const
    {
        return std::size_t(pitch_) * (std::size_t(size) + 2);
    }
    float *first(const device_array<float> &a) const
    {
        return a.data() + pitch_ + margin;
    }

public:
    factz::field<const float> field;
    factz::device_compressor compressor;
    pinned_bytes host;
    std::size_t host_bytes = 0;
    cuda_event written, compressed, fetched;
    int step = -1,
        host_step = -1; /* of the snapshot being compressed and of that on its way to the host, or -1 */
};

class in_situ
{
public:
    in_situ(int size, factz_config config, cudaStream_t flow, cudaStream_t io, cudaStream_t copy)
        : config_(config), flow_(flow), io_(io), copy_(copy)
    {
        config_.halo = FACTZ_SIDES_ALL;
        for (auto &s : slots_)
            s = std::make_unique<slot>(size, config_, io);
    }

    /* Streams go to this file from now on. */
    void open(const char *path)
    {
        file_.open(path, std::ios::binary | std::ios::trunc);
        if (!file_)
            throw std::runtime_error(std::string(path) + ": cannot be written");
    }

    /* The slot for the next snapshot. The flow may write it when what it held before has been compressed. */
    slot &next()
    {
        slot &s = *slots_[taken_ % 2];
        fetch(s);
        CUDA(cudaStreamWaitEvent(flow_, s.compressed.handle, 0));
        return s;
    }
    /* Enqueues the compression of what the flow wrote into the slot that next() gave. */
    void compress(slot &s, int step)
    {
        store(s);
        CUDA(cudaEventRecord(s.written.handle, flow_));
        CUDA(cudaStreamWaitEvent(io_, s.written.handle, 0));
        s.compressor.enqueue(s.field, config_, io_);
        CUDA(cudaEventRecord(s.compressed.handle, io_));
        s.step = step;
        taken_++;
    }
    /* Brings home what is still under way. */
    void finish()
    {
        for (int k = 0; k < 2; k++) {
            slot &s = *slots_[(taken_ + k) % 2];
            fetch(s);
            store(s);
        }
    }
    const slot &latest() const
    {
        return *slots_[(taken_ + 1) % 2];
    }
    const factz_config &config() const
    {
        return config_;
    }
    int taken() const
    {
        return taken_;
    }
    std::size_t bytes() const
    {
        return bytes_;
    }

private:
    /* Enqueues the copy of a finished stream, as long as it turned out to be. */
    void fetch(slot &s)
    {
        if (s.step < 0)
            return;
        CUDA(cudaEventSynchronize(s.compressed.handle));
        factz::check(s.compressor.report());
        s.host_bytes = s.compressor.report().stream_bytes;
        bytes_ += s.host_bytes;
        /* On a stream of its own: it does not queue behind the compression of the other slot. */
        CUDA(
            cudaMemcpyAsync(s.host.data(), s.compressor.data(), s.host_bytes, cudaMemcpyDeviceToHost, copy_));
        CUDA(cudaEventRecord(s.fetched.handle, copy_));
        s.host_step = s.step;
        s.step = -1;
    }
    /* Writes the stream that fetch() brings to the host, once it is there. */
    void store(slot &s)
    {
        if (s.host_step < 0)
            return;
        CUDA(cudaEventSynchronize(s.fetched.handle));
        if (file_.is_open()) {
            const std::int64_t head[2] = {s.host_step, std::int64_t(s.host_bytes)};
            file_.write(reinterpret_cast<const char *>(head), sizeof head);
            file_.write(static_cast<const char *>(s.host.data()), std::streamsize(s.host_bytes));
            if (!file_)
                throw std::runtime_error("writing the output failed");
        }
        s.host_step = -1;
    }

    factz_config config_;
    cudaStream_t flow_, io_, copy_;
    std::unique_ptr<slot> slots_[2];
    int taken_ = 0;
    std::size_t bytes_ = 0;
    std::ofstream file_;
};

/* ---------------------------------------------------------------- the run */

class solver
{
public:
    explicit solver(int size) : size_(size), a_(values()), b_(values())
    {
        /* Wavenumbers that fit the square, of eddies of 1/40 to 1/5 of it, and a speed of about 0.04 (in the
         * unit of the lattice, where the speed of sound is 0.58). */
        std::vector<wave> all(waves);
        std::uint64_t state = 12345;
        const auto random = [&] {
            state = state * 6364136223846793005u + 1442695040888963407u;
            return double(state >> 11) / 9007199254740992.0;
        };
        const double two_pi = 6.283185307179586;
        double energy = 0;
        for (auto &w : all) {
            const double angle = two_pi * random(), number = 5 * std::pow(8.0, random());
            const double kx = std::round(number * std::cos(angle)), ky = std::round(number * std::sin(angle));
            const double k = std::max(1.0, std::sqrt(kx * kx + ky * ky));
            w = {float(two_pi * kx / size), float(two_pi * ky / size), float(two_pi * random()),
                float(std::pow(k, -1.5))};
            energy += 0.5 * std::pow(w.amplitude * two_pi * k / size, 2);
        }
        for (auto &w : all)
            w.amplitude *= float(0.04 / std::sqrt(energy));
        CUDA(cudaMemcpyToSymbol(eddies, all.data(), waves * sizeof(wave)));
    }

    void reset(cudaStream_t stream)
    {
        set_eddies<<<grid(), block_threads, 0, stream>>>(a_.data(), size_);
        CUDA(cudaGetLastError());
        even_ = true;
    }
    void step(cudaStream_t stream, const snapshot_view *out = nullptr)
    {
        const float *from = even_ ? a_.data() : b_.data();
        float *to = even_ ? b_.data() : a_.data();
        const float rate = 1.f / 0.53f; /* viscosity (0.53 - 0.5) / 3 */
        if (out)
            advance<true><<<grid(), block_threads, 0, stream>>>(from, to, size_, rate, *out);
        else
            advance<false><<<grid(), block_threads, 0, stream>>>(from, to, size_, rate, snapshot_view{});
        CUDA(cudaGetLastError());
        even_ = !even_;
    }
    /* Average density; 1 at the beginning. */
    double density(cudaStream_t stream) const
    {
        device_array<double> mass(1);
        double result = 0;
        CUDA(cudaMemsetAsync(mass.data(), 0, sizeof(double), stream));
        add_mass<<<512, block_threads, 0, stream>>>(even_ ? a_.data() : b_.data(), values(), mass.data());
        CUDA(cudaGetLastError());
        CUDA(cudaMemcpyAsync(&result, mass.data(), sizeof result, cudaMemcpyDeviceToHost, stream));
        CUDA(cudaStreamSynchronize(stream));
        return result / (double(size_) * size_);
    }

private:
    std::size_t values() const
    {
        return 9 * std::size_t(size_) * std::size_t(size_);
    }
    dim3 grid() const
    {
        return dim3(unsigned((size_ + block_threads - 1) / block_threads), unsigned(size_));
    }

    int size_;
    device_array<float> a_, b_;
    bool even_ = true;
};

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/* Milliseconds of all steps until the device is idle, with compression or (io == nullptr) without. */
double run(solver &flow, const options &o, cudaStream_t stream, in_situ *io)
{
    flow.reset(stream);
    CUDA(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (int step = 1; step <= o.steps; step++) {
        if (io && step % o.every == 0) {
            slot &s = io->next();
            const snapshot_view out = s.view();
            flow.step(stream, &out);
            io->compress(s, step);
        } else {
            flow.step(stream);
        }
    }
    if (io)
        io->finish();
    CUDA(cudaDeviceSynchronize());
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/* Milliseconds of compressing the latest snapshot on the idle device. */
double compression_alone(in_situ &io, slot &s, cudaStream_t stream)
{
    cuda_event begin(cudaEventDefault), end(cudaEventDefault);
    std::vector<double> times;
    for (int k = 0; k < 25; k++) {
        float elapsed = 0;
        CUDA(cudaEventRecord(begin.handle, stream));
        s.compressor.enqueue(s.field, io.config(), stream);
        CUDA(cudaEventRecord(end.handle, stream));
        CUDA(cudaEventSynchronize(end.handle));
        CUDA(cudaEventElapsedTime(&elapsed, begin.handle, end.handle));
        if (k >= 5)
            times.push_back(elapsed);
    }
    factz::check(s.compressor.report());
    return median(times);
}

/* Decompresses the latest snapshot on the device and compares both, exactly, on the host. */
factz_comparison verify(const slot &s, const factz_config &config, cudaStream_t stream)
{
    const std::size_t n = s.field.vertices(), row = std::size_t(s.field.nx) * sizeof(float);
    device_array<float> u(n), v(n);
    const auto back = factz::dense(u.data(), v.data(), s.field.nx, s.field.ny);
    const std::size_t bytes = factz::decompress_sizes(back).workspace_bytes;
    device_array<std::byte> workspace(bytes);
    device_array<factz_report> report(1);
    factz_report outcome;
    factz::enqueue_decompress(factz::const_bytes(s.compressor.data(), s.compressor.capacity()), back, config,
        factz::bytes(workspace.data(), bytes), report.data(), stream);
    CUDA(cudaMemcpyAsync(&outcome, report.data(), sizeof outcome, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    factz::check(outcome);

    std::vector<float> host[4];
    const float *from[4] = {s.field.u, s.field.v, u.data(), v.data()};
    const std::size_t pitch[4] = {s.field.u_pitch * sizeof(float), s.field.v_pitch * sizeof(float), row, row};
    for (int k = 0; k < 4; k++) {
        host[k].resize(n);
        CUDA(cudaMemcpy2D(host[k].data(), row, from[k], pitch[k], row, s.field.ny, cudaMemcpyDeviceToHost));
    }
    factz_config exact = config;
    exact.halo = 0;
    exact.bound_kind = FACTZ_BOUND_ABSOLUTE;
    exact.bound = s.compressor.report().bound;
    return factz::compare(factz::dense(host[0].data(), host[1].data(), s.field.nx, s.field.ny),
        factz::dense(host[2].data(), host[3].data(), s.field.nx, s.field.ny), exact);
}

int everything(const options &o)
{
    int devices = 0, lowest = 0, highest = 0;
    CUDA(cudaGetDeviceCount(&devices));
    if (devices == 0)
        throw std::runtime_error("there is no CUDA device");
    cudaDeviceProp device;
    CUDA(cudaGetDeviceProperties(&device, 0));
    std::printf("factz %s on %s: %d x %d vertices, %d steps, every %dth compressed at %g of the range, %s\n",
        factz_version(), device.name, o.size, o.size, o.steps, o.every, o.relative,
        o.mode == FACTZ_MODE_BLOCK_WISE ? "block-wise" : "speculative");

    /* With --priority solver, the default, the solver goes first where both have work; with same they share.
     */
    CUDA(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    if (!o.solver_first)
        highest = lowest;
    cuda_stream stream(highest), io_stream(lowest), copy_stream(lowest);
    solver flow(o.size);
    factz_config config = factz::relative_bound(o.relative);
    config.mode = o.mode;
    in_situ io(o.size, config, stream.handle, io_stream.handle, copy_stream.handle);

    /* Alternating, so that a drift of the clocks meets both alike; the first round warms up. */
    std::vector<double> without, with;
    for (int round = 0; round <= o.rounds; round++) {
        if (round == o.rounds && o.output)
            io.open(o.output);
        const double a = run(flow, o, stream.handle, nullptr), b = run(flow, o, stream.handle, &io);
        if (round == 0)
            continue;
        without.push_back(a);
        with.push_back(b);
    }
    const double density = flow.density(stream.handle);
    auto &latest = const_cast<slot &>(io.latest());
    const double alone = compression_alone(io, latest, io_stream.handle);
    const factz_comparison c = verify(latest, io.config(), io_stream.handle);

    const int snapshots = o.steps / o.every;
    const double overhead = (median(with) - median(without)) / snapshots;
    const double field_bytes = 2.0 * sizeof(float) * o.size * o.size;
    std::printf("steps           %9.3f ms each without compression, %.3f ms with it\n",
        median(without) / o.steps, median(with) / o.steps);
    std::printf("compression     %9.3f ms alone (%.0f GB/s of u and v), ratio %.1f, %llu critical points\n",
        alone, field_bytes / alone * 1e-6, field_bytes * io.taken() / double(io.bytes()),
        static_cast<unsigned long long>(c.critical_points));
    std::printf(
        "overhead        %9.3f ms per compressed step, %.2f times the compression alone, %.1f %% of the "
        "run\n",
        overhead, overhead / alone, 100 * (median(with) / median(without) - 1));
    std::printf(
        "last snapshot   %llu critical points lost, %llu new, %llu of another type; largest error %.3g of "
        "%.3g\n",
        static_cast<unsigned long long>(c.lost_points), static_cast<unsigned long long>(c.spurious_points),
        static_cast<unsigned long long>(c.changed_types), c.max_error, c.bound);
    if (!(std::fabs(density - 1) < 1e-3))
        throw std::runtime_error("the solver lost mass");
    if (c.violations != 0 || c.critical_points == 0)
        throw std::runtime_error("the guarantee does not hold");
    if (o.limit > 0 && !(overhead <= o.limit * alone))
        throw std::runtime_error("the overhead is above the limit");
    std::puts("everything holds");
    return 0;
}

options parse(int argc, char **argv)
{
    options o;
    for (int k = 1; k < argc; k += 2) {
        const std::string name = argv[k], value = k + 1 < argc ? argv[k + 1] : "";
        if (name == "--size")
            o.size = std::atoi(value.c_str());
        else if (name == "--steps")
            o.steps = std::atoi(value.c_str());
        else if (name == "--every")
            o.every = std::atoi(value.c_str());
        else if (name == "--rounds")
            o.rounds = std::atoi(value.c_str());
        else if (name == "--rel")
            o.relative = std::atof(value.c_str());
        else if (name == "--limit")
            o.limit = std::atof(value.c_str());
        else if (name == "--mode" && (value == "block" || value == "speculative"))
            o.mode = value == "block" ? FACTZ_MODE_BLOCK_WISE : FACTZ_MODE_SPECULATIVE;
        else if (name == "--priority" && (value == "solver" || value == "same"))
            o.solver_first = value == "solver";
        else if (name == "--output" && k + 1 < argc)
            o.output = argv[k + 1];
        else
            throw std::runtime_error(name + " " + value + ": unknown; see the top of insitu_solver.cu");
    }
    if (o.size < 64 || o.size > 30000 || o.every < 1 || o.steps < 2 * o.every || o.rounds < 1 ||
        !(o.relative > 0))
        throw std::runtime_error(
            "--size is 64 to 30000, --steps at least twice --every, --rounds and --rel positive");
    return o;
}

}  // namespace

int main(int argc, char **argv)
{
    try {
        return everything(parse(argc, argv));
    } catch (const std::exception &e) {
        std::fprintf(stderr, "insitu_solver: %s\n", e.what());
        return 1;
    }
}
