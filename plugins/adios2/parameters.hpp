// The parameters of the operator: text from ADIOS2 to a configuration of factz.
#ifndef FACTZ_ADIOS2_PARAMETERS_HPP
#define FACTZ_ADIOS2_PARAMETERS_HPP

#include <adios2/common/ADIOSBaseTypes.h>
#include <factz.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace factz_adios2 {

[[noreturn]] inline void refuse(const std::string& what) { throw std::invalid_argument("factz: " + what); }

[[noreturn]] inline void fail(const std::string& what) { throw std::runtime_error("factz: " + what); }

// Of a call of the library, whose text becomes that of the exception.
inline void check(factz_status status) {
    if (status != FACTZ_OK) fail(std::string(factz_status_string(status)) + ": " + factz_last_error());
}

enum class layout { by_dimensions, planes, interleaved };

struct choices {
    factz_config config;  // without nx, ny, dtype and strides
    layout components = layout::by_dimensions;
    bool column_major = false;
    bool has_pin = false;
    // Vertices of the whole variable; 0 where they are not given, and field_nz where there are two numbers.
    std::uint64_t field_nx = 0, field_ny = 0, field_nz = 0;
    int threads = 1;

    // Blocks are volumes in the mode of volumes.
    bool is_volume() const { return config.components == 3; }
};

// "field=360x181" of the parameters.
inline std::string field_text(const choices& c) {
    const std::string third = c.field_nz ? "x" + std::to_string(c.field_nz) : "";
    return "field=" + std::to_string(c.field_nx) + "x" + std::to_string(c.field_ny) + third;
}

inline std::uint64_t read_count(const std::string& digits, const std::string& item) {
    char* end = nullptr;
    errno = 0;
    const unsigned long long count = std::strtoull(digits.c_str(), &end, 10);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos || *end || errno)
        refuse(item + " holds no number in `" + digits + "`");
    return count;
}

inline void read_field(const std::string& value, const std::string& item, choices& c) {
    const std::size_t cross = value.find('x');
    if (cross == std::string::npos) refuse(item + " is not NXxNY, such as 360x181");
    const std::string rest = value.substr(cross + 1);
    const std::size_t second = rest.find('x');
    c.field_nx = read_count(value.substr(0, cross), item);
    c.field_ny = read_count(rest.substr(0, second), item);
    c.field_nz = second == std::string::npos ? 0 : read_count(rest.substr(second + 1), item);
    if (c.field_nx == 0 || c.field_ny == 0 || (second != std::string::npos && c.field_nz == 0))
        refuse(item + " has no vertices");
}

// Whether the key is the operator's own; the others are those of factz_config_from_string.
inline bool read_own(const std::string& key, const std::string& value, choices& c) {
    const std::string item = key + "=" + value;
    if (key == "layout") {
        if (value != "planes" && value != "interleaved") refuse(item + " is none of planes, interleaved");
        c.components = value == "planes" ? layout::planes : layout::interleaved;
    } else if (key == "order") {
        if (value != "row" && value != "column") refuse(item + " is none of row, column");
        c.column_major = value == "column";
    } else if (key == "field") {
        read_field(value, item, c);
    } else if (key == "threads") {
        const std::uint64_t threads = read_count(value, item);
        if (threads > 1024) refuse(item + " is above 1024");
        c.threads = static_cast<int>(threads);
    } else {
        return false;
    }
    return true;
}

// ADIOS2 hands its own on, and makes all keys lower case.
inline bool is_of_adios2(const std::string& key) {
    return key == "pluginname" || key == "pluginlibrary" || key == "verbose";
}

inline choices read_parameters(const adios2::Params& parameters) {
    choices c;
    std::string text;
    for (const auto& p : parameters) {
        if (is_of_adios2(p.first) || read_own(p.first, p.second, c)) continue;
        if (p.second.find(',') != std::string::npos)
            refuse(p.first + "=" + p.second + " has a comma: every parameter has a key of its own");
        c.has_pin = c.has_pin || p.first == "pin";
        text += (text.empty() ? "" : ",") + p.first + "=" + p.second;
    }
    if (text.empty()) refuse("there is no bound: give the operator a parameter abs or rel");
    if (factz_config_from_string(text.c_str(), &c.config) != FACTZ_OK)
        refuse(std::string(factz_last_error()) + " (and layout, order, field and threads of the operator)");
    if (c.field_nx && c.is_volume() != (c.field_nz > 0))
        refuse(field_text(c) + (c.is_volume() ? " is not NXxNYxNZ of a volume, which mode=repair is for"
                                              : " is not NXxNY of planes: mode=repair is for volumes"));
    if (c.is_volume() && c.components != layout::by_dimensions)
        refuse("layout is that of planes: leave it out with mode=repair, that of volumes");
    if (c.has_pin && c.field_nx)
        refuse("pin and field are both given: from field the operator finds the sides to pin");
    return c;
}

}  // namespace factz_adios2

#endif
