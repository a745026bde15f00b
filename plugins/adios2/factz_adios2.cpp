// An operator plugin of ADIOS2 2.12 or later: blocks of a vector field keep every critical point.
//
//     g++ -shared -fPIC -std=c++14 -fvisibility=hidden factz_adios2.cpp -lfactz -ldl -o libfactz_adios2.so
//
// README.md beside this file lists the parameters and what is guaranteed.
//
// A compressed block: 16 bytes of header, then a factz stream, or the values as they are where a stream would
// be longer. The header: "FZAD", version, layout (0 planes, 1 interleaved, 2 a volume), content (0 a stream,
// 1 values), 0, and a checksum of these 8 bytes and of the values, little-endian.
#include "block.hpp"
#include "device.hpp"

#include <adios2/plugin/PluginOperatorInterface.h>

#include <cstdio>
#include <cstring>

#if ADIOS2_PLUGIN_OPERATOR_INTERFACE != 2
#error "this operator is written for version 2 of ADIOS2's interface for operator plugins (ADIOS2 2.12)"
#endif

namespace factz_adios2 {

constexpr std::size_t header_bytes = 16, checked_bytes = 8;
constexpr unsigned char header_version = 1;
enum class content : unsigned char { stream, values };

// FNV-1a, 64 bits.
inline std::uint64_t checksum(const char* header, const char* values, std::size_t bytes) {
    std::uint64_t sum = 0xcbf29ce484222325u;
    const auto add = [&sum](const char* data, std::size_t count) {
        for (std::size_t i = 0; i < count; i++)
            sum = (sum ^ static_cast<unsigned char>(data[i])) * 0x100000001b3u;
    };
    add(header, checked_bytes);
    add(values, bytes);
    return sum;
}

inline void write_header(char* out, arrangement components, content what, std::size_t bytes) {
    const char start[checked_bytes] = {
        'F', 'Z', 'A', 'D', header_version, static_cast<char>(components), static_cast<char>(what), 0};
    std::memcpy(out, start, checked_bytes);
    const std::uint64_t sum = checksum(out, out + header_bytes, what == content::values ? bytes : 0);
    for (std::size_t i = 0; i < 8; i++) out[checked_bytes + i] = static_cast<char>(sum >> (8 * i));
}

// Reads and checks the header.
inline content read_header(const char* in, std::size_t bytes, arrangement& components) {
    if (bytes < header_bytes) fail("a compressed block of " + std::to_string(bytes) + " bytes is cut off");
    if (std::memcmp(in, "FZAD", 4) != 0)
        fail("the block was not written by the operator factz, or is damaged");
    const unsigned version = static_cast<unsigned char>(in[4]);
    if (version != header_version)
        fail("the block has version " + std::to_string(version) +
             " of the operator's header, this operator reads version 1: use a later one");
    const bool has_values = in[6] == static_cast<char>(content::values);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < 8; i++)
        sum |= static_cast<std::uint64_t>(static_cast<unsigned char>(in[checked_bytes + i])) << (8 * i);
    if (sum != checksum(in, in + header_bytes, has_values ? bytes - header_bytes : 0))
        fail("the checksum of the block does not match: the file is damaged");
    const unsigned number = static_cast<unsigned char>(in[5]);
    if (number > static_cast<unsigned>(arrangement::volume))
        fail("the block has layout " + std::to_string(number) +
             ", this operator reads 0 to 2: use a later one");
    components = static_cast<arrangement>(number);
    return has_values ? content::values : content::stream;
}

// Bytes of the stream; 0 where it is longer than `capacity`.
inline std::size_t compress(
    const char* data, const factz_config& config, char* out, std::size_t capacity, int threads) {
    factz_report report;
    const std::size_t n = vertices_of(config);
    const char *const v = data + component_bytes(config), *const w = v + component_bytes(config);
    const factz_status status =
        config.components == 3
            ? factz_compress_volume_host(data, v, w, n, &config, out, capacity, &report, threads)
            : factz_compress_host(data, v, n, &config, out, capacity, &report, threads);
    if (status == FACTZ_ERROR_BUFFER_TOO_SMALL) return 0;
    check(status);
    return static_cast<std::size_t>(report.stream_bytes);
}

inline std::size_t decompress(const char* in, std::size_t bytes, arrangement components, char* out) {
    factz_info info;
    check(factz_inspect_host(in, bytes, &info));
    if (info.stream_bytes > bytes)
        fail("a stream of " + std::to_string(info.stream_bytes) + " bytes is cut off after " +
             std::to_string(bytes));
    if ((info.component == FACTZ_COMPONENT_VOLUME) != (components == arrangement::volume))
        fail("the stream of the block holds other components than its header says: the file is damaged");
    factz_config config;
    check(factz_config_from_info(&info, &config));
    set_layout(config, info.nz, components);
    const std::size_t n = vertices_of(config);
    char *const v = out + component_bytes(config), *const w = v + component_bytes(config);
    factz_report report;
    if (components == arrangement::volume)
        check(factz_decompress_volume_host(in, bytes, &config, out, v, w, n, &report, 1));
    else
        check(factz_decompress_host(in, bytes, &config, out, v, n, &report, 1));
    return (components == arrangement::volume ? 3 : 2) * n *
           (info.dtype == FACTZ_DTYPE_F32 ? sizeof(float) : sizeof(double));
}

class factz_operator final : public adios2::plugin::PluginOperatorInterface {
public:
    // Parameters are read at the first block: ADIOS2 makes operators in functions that are noexcept.
    using PluginOperatorInterface::PluginOperatorInterface;

    bool IsDataTypeValid(adios2::DataType type) const override {
        return type == adios2::DataType::Float || type == adios2::DataType::Double;
    }

    std::size_t GetEstimatedSize(
        std::size_t values, std::size_t value_bytes, std::size_t, const std::size_t*) const override {
        return header_bytes + values * value_bytes;
    }

    std::size_t Operate(const char* data, const adios2::Dims& start, const adios2::Dims& count,
        adios2::DataType type, char* out) override {
        try {
            return operate(data, start, count, type, out);
        } catch (const std::exception& e) {
            // ADIOS2 2.12 cannot end a step after an exception here, and its crash would hide the message.
            std::fprintf(stderr, "%s\n", e.what());
            throw;
        }
    }

    std::size_t InverseOperate(const char* in, std::size_t bytes, char* out) override {
        arrangement components = arrangement::planes;
        const content what = read_header(in, bytes, components);
        const std::size_t rest = bytes - header_bytes;
        if (what == content::stream) return decompress(in + header_bytes, rest, components, out);
        std::memcpy(out, in + header_bytes, rest);
        return rest;
    }

private:
    std::size_t operate(const char* data, const adios2::Dims& start, const adios2::Dims& count,
        adios2::DataType type, char* out) const {
        const choices c = read_parameters(m_Parameters);
        if (!IsDataTypeValid(type)) refuse("the operator takes float and double: convert the values first");
        const std::size_t bytes = adios2::GetTotalSize(count, adios2::GetDataTypeSize(type));
        // A rank may have no part of the variable.
        if (bytes == 0) return store(data, 0, memory_kind::host, out);
        const block b = understand(start, count, c);
        const factz_config config = configure(b, type, c);
        const memory_kind memory = memory_of(data);
        std::size_t written = 0;
        // A block that is shorter than the header of a stream.
        if (bytes >= (c.is_volume() ? FACTZ_VOLUME_INSPECT_BYTES : FACTZ_INSPECT_BYTES))
            written = memory == memory_kind::device
                          ? compress_device(data, config, out + header_bytes, bytes)
                          : compress(data, config, out + header_bytes, bytes, c.threads);
        if (written == 0) return store(data, bytes, memory, out);
        write_header(out, b.components, content::stream, written);
        return header_bytes + written;
    }

    // The values as they are.
    static std::size_t store(const char* data, std::size_t bytes, memory_kind memory, char* out) {
        if (memory == memory_kind::device)
            copy_from_device(out + header_bytes, data, bytes);
        else if (bytes)
            std::memcpy(out + header_bytes, data, bytes);
        write_header(out, arrangement::planes, content::values, bytes);
        return header_bytes + bytes;
    }
};

}  // namespace factz_adios2

#define FACTZ_ADIOS2_EXPORT __attribute__((visibility("default")))

extern "C" {

FACTZ_ADIOS2_EXPORT adios2::plugin::PluginOperatorInterface* OperatorCreate(
    const adios2::Params& parameters) {
    return new factz_adios2::factz_operator(parameters);
}

FACTZ_ADIOS2_EXPORT void OperatorDestroy(adios2::plugin::PluginOperatorInterface* object) { delete object; }
}
