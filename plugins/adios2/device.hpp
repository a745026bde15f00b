// Blocks in the memory of a GPU. An ADIOS2 that was built with CUDA hands the application's pointer to the
// operator as it is, and the interface does not say which memory it is: the CUDA driver knows. The driver is
// looked up in the process, never linked or loaded: without it every block is in host memory.
#ifndef FACTZ_ADIOS2_DEVICE_HPP
#define FACTZ_ADIOS2_DEVICE_HPP

#include "block.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace factz_adios2 {

enum class memory_kind { host, device };

// The functions of the CUDA driver that the operator needs.
struct driver {
    // Attributes of pointers: the context, the kind of memory, the number of the device.
    enum attribute : unsigned { context = 1, memory_type = 2, device_ordinal = 9 };
    static constexpr unsigned type_device = 2;

    int (*get_attributes)(unsigned, const unsigned*, void**, std::uint64_t) = nullptr;
    int (*device_get)(int*, int) = nullptr;
    int (*retain_primary)(void**, int) = nullptr;
    int (*release_primary)(int) = nullptr;
    int (*push)(void*) = nullptr;
    int (*pop)(void**) = nullptr;
    int (*allocate)(std::uint64_t*, std::size_t) = nullptr;
    int (*release)(std::uint64_t) = nullptr;
    int (*copy_to_host)(void*, std::uint64_t, std::size_t) = nullptr;

    // Null where the process has not loaded CUDA, which it may do after the first block.
    static const driver* find() {
        void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
        if (!library) return nullptr;
        static const driver found(library);
        dlclose(library);
        return found.copy_to_host ? &found : nullptr;
    }

private:
    explicit driver(void* library) {
        const bool all = take(library, "cuPointerGetAttributes", get_attributes) &&
                         take(library, "cuDeviceGet", device_get) &&
                         take(library, "cuDevicePrimaryCtxRetain", retain_primary) &&
                         take(library, "cuDevicePrimaryCtxRelease_v2", release_primary) &&
                         take(library, "cuCtxPushCurrent_v2", push) &&
                         take(library, "cuCtxPopCurrent_v2", pop) &&
                         take(library, "cuMemAlloc_v2", allocate) && take(library, "cuMemFree_v2", release) &&
                         take(library, "cuMemcpyDtoH_v2", copy_to_host);
        if (!all) copy_to_host = nullptr;
    }

    template <class Function>
    static bool take(void* library, const char* name, Function& function) {
        function = reinterpret_cast<Function>(dlsym(library, name));
        return function != nullptr;
    }
};

inline void check_cuda(int code, const char* what) {
    if (code != 0) fail(std::string(what) + ": CUDA error " + std::to_string(code));
}

inline std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

struct pointer_facts {
    void* context = nullptr;
    unsigned memory_type = 0;
    int device = 0;
};

inline int ask(const driver& cuda, const void* pointer, pointer_facts& facts) {
    const unsigned attributes[] = {driver::context, driver::memory_type, driver::device_ordinal};
    void* values[] = {&facts.context, &facts.memory_type, &facts.device};
    return cuda.get_attributes(3, attributes, values, address_of(pointer));
}

inline memory_kind memory_of(const void* pointer) {
    const driver* const cuda = driver::find();
    pointer_facts facts;
    // A driver that nobody has initialised refuses the question: then there is no device memory.
    const bool answered = cuda && ask(*cuda, pointer, facts) == 0;
    return answered && facts.memory_type == driver::type_device ? memory_kind::device : memory_kind::host;
}

// Makes the context of a pointer current while it lives: the primary one of the device for memory of a pool,
// which has none.
class current_context {
public:
    current_context(const driver& the_driver, const void* pointer) : cuda(the_driver) {
        pointer_facts facts;
        check_cuda(ask(cuda, pointer, facts), "cuPointerGetAttributes");
        if (!facts.context) {
            check_cuda(cuda.device_get(&device, facts.device), "cuDeviceGet");
            check_cuda(cuda.retain_primary(&facts.context, device), "cuDevicePrimaryCtxRetain");
            retained = true;
        }
        const int code = cuda.push(facts.context);
        if (code != 0 && retained) cuda.release_primary(device);
        check_cuda(code, "cuCtxPushCurrent");
    }
    current_context(const current_context&) = delete;
    current_context& operator=(const current_context&) = delete;
    ~current_context() {
        void* popped = nullptr;
        cuda.pop(&popped);
        if (retained) cuda.release_primary(device);
    }

private:
    const driver& cuda;
    int device = 0;
    bool retained = false;
};

class device_buffer {
public:
    device_buffer(const driver& the_driver, std::uint64_t bytes) : cuda(the_driver) {
        check_cuda(cuda.allocate(&address, static_cast<std::size_t>(bytes)), "cuMemAlloc");
    }
    device_buffer(const device_buffer&) = delete;
    device_buffer& operator=(const device_buffer&) = delete;
    ~device_buffer() { cuda.release(address); }
    void* get() const { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); }

private:
    const driver& cuda;
    std::uint64_t address = 0;
};

inline void copy_from_device(char* to, const void* from, std::size_t bytes) {
    const driver& cuda = *driver::find();
    const current_context made_current(cuda, from);
    check_cuda(cuda.copy_to_host(to, address_of(from), bytes), "cuMemcpyDtoH");
}

// Compresses a block in device memory, on the default stream, which waits for the streams that filled the
// block unless these are non-blocking. Only the stream comes to the host. Bytes of the stream; 0 where it is
// longer than `capacity`.
inline std::size_t compress_device(
    const char* data, const factz_config& config, char* out, std::size_t capacity) {
    const driver& cuda = *driver::find();
    const current_context made_current(cuda, data);
    const bool is_volume = config.components == 3;
    factz_sizes sizes;
    check(is_volume ? factz_compress_volume_sizes(&config, &sizes) : factz_compress_sizes(&config, &sizes));
    const std::size_t room =
        static_cast<std::size_t>(std::min<std::uint64_t>(capacity, sizes.max_stream_bytes));
    const device_buffer stream(cuda, room), workspace(cuda, sizes.workspace_bytes);
    const device_buffer report_on_device(cuda, sizeof(factz_report));
    const std::size_t n = vertices_of(config), scratch = static_cast<std::size_t>(sizes.workspace_bytes);
    const char *const v = data + component_bytes(config), *const w = v + component_bytes(config);
    factz_report* const written = static_cast<factz_report*>(report_on_device.get());
    check(is_volume ? factz_compress_volume_device(data, v, w, n, &config, stream.get(), room,
                          workspace.get(), scratch, written, nullptr)
                    : factz_compress_device(data, v, n, &config, stream.get(), room, workspace.get(), scratch,
                          written, nullptr));
    factz_report report;
    check_cuda(cuda.copy_to_host(&report, address_of(report_on_device.get()), sizeof report), "cuMemcpyDtoH");
    if (report.status == FACTZ_ERROR_BUFFER_TOO_SMALL) return 0;
    if (report.status != FACTZ_OK) fail(std::string("on the device: ") + factz_status_string(report.status));
    const std::size_t bytes = static_cast<std::size_t>(report.stream_bytes);
    check_cuda(cuda.copy_to_host(out, address_of(stream.get()), bytes), "cuMemcpyDtoH");
    return bytes;
}

}  // namespace factz_adios2

#endif
