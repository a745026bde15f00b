// The block of a variable that ADIOS2 hands over: which dimensions are the field, how many fields it holds,
// and which sides have neighbours.
#ifndef FACTZ_ADIOS2_BLOCK_HPP
#define FACTZ_ADIOS2_BLOCK_HPP

#include "parameters.hpp"

#include <algorithm>

namespace factz_adios2 {

struct block {
    std::uint64_t nx = 0, ny = 0;
    std::uint64_t nz = 1;  // fields, one behind the other: the product of the leading dimensions
    bool interleaved = false;
    bool has_place = false;  // x0 and y0 are known
    std::uint64_t x0 = 0, y0 = 0;
};

// Axes in the order of the user, for messages.
inline std::string as_text(adios2::Dims dimensions, const choices& c) {
    if (c.column_major) std::reverse(dimensions.begin(), dimensions.end());
    std::string text;
    for (const std::size_t d : dimensions) text += (text.empty() ? "" : " x ") + std::to_string(d);
    return "(" + text + ")";
}

inline std::string planes_text(const choices& c) {
    return c.column_major ? "(nx x ny x 2)" : "(2 x ny x nx)";
}

inline std::string interleaved_text(const choices& c) {
    return c.column_major ? "(2 x nx x ny)" : "(ny x nx x 2)";
}

inline std::string either_text(const choices& c) { return planes_text(c) + " or " + interleaved_text(c); }

inline bool is_interleaved(const adios2::Dims& plane, const choices& c) {
    const bool planes_fit = plane.front() == 2, interleaved_fits = plane.back() == 2;
    const std::string axes = as_text(plane, c);
    switch (c.components) {
        case layout::planes:
            if (!planes_fit) refuse("layout=planes takes " + planes_text(c) + ", not " + axes);
            return false;
        case layout::interleaved:
            if (!interleaved_fits)
                refuse("layout=interleaved takes " + interleaved_text(c) + ", not " + axes);
            return true;
        default:
            if (planes_fit && interleaved_fits)
                refuse("a block " + axes + " may be " + either_text(c) +
                       ": give layout=planes or layout=interleaved");
            if (!planes_fit && !interleaved_fits)
                refuse("a block " + axes + " is no vector field: join u and v in one variable " +
                       either_text(c) + ", and do not divide the components between blocks");
            return interleaved_fits;
    }
}

// `start` is empty for local and joined arrays.
inline block understand(adios2::Dims start, adios2::Dims count, const choices& c) {
    if (c.column_major) {
        std::reverse(start.begin(), start.end());
        std::reverse(count.begin(), count.end());
    }
    const std::string axes = as_text(count, c);
    if (count.size() < 3)
        refuse("a block " + axes + " has fewer than 3 dimensions: join u and v in one variable " +
               either_text(c));
    const std::size_t leading = count.size() - 3;
    const adios2::Dims plane(count.end() - 3, count.end());
    block b;
    b.interleaved = is_interleaved(plane, c);
    const std::size_t y = b.interleaved ? 0 : 1;
    b.ny = plane[y];
    b.nx = plane[y + 1];
    for (std::size_t axis = 0; axis < leading; axis++) b.nz *= count[axis];
    b.has_place = start.size() == count.size();
    if (b.has_place) {
        b.y0 = start[leading + y];
        b.x0 = start[leading + y + 1];
    }
    return b;
}

// Sides where another block may begin. A block is compressed alone; a triangle between blocks has all its
// vertices on their borders, and keeps its critical point if these are exact. A block in a global array knows
// where the variable begins, but not where it ends.
inline std::uint32_t sides_to_pin(const block& b, const choices& c) {
    if (c.has_pin || c.config.preserve == FACTZ_PRESERVE_NONE) return c.config.pin;
    if (c.field_nx == 0)
        return FACTZ_SIDE_X_MAX | FACTZ_SIDE_Y_MAX | (b.has_place && b.x0 == 0 ? 0u : FACTZ_SIDE_X_MIN) |
               (b.has_place && b.y0 == 0 ? 0u : FACTZ_SIDE_Y_MIN);
    const std::string item = "field=" + std::to_string(c.field_nx) + "x" + std::to_string(c.field_ny);
    if (!b.has_place) {
        if (b.nx == c.field_nx && b.ny == c.field_ny) return 0;
        refuse(item + " needs a global array, whose blocks have a place, or whole fields in blocks");
    }
    const std::uint64_t x1 = b.x0 + b.nx, y1 = b.y0 + b.ny;
    if (x1 > c.field_nx || y1 > c.field_ny)
        refuse(item + " ends before the block, whose columns end at " + std::to_string(x1) + " and rows at " +
               std::to_string(y1));
    return (b.x0 ? FACTZ_SIDE_X_MIN : 0u) | (x1 < c.field_nx ? FACTZ_SIDE_X_MAX : 0u) |
           (b.y0 ? FACTZ_SIDE_Y_MIN : 0u) | (y1 < c.field_ny ? FACTZ_SIDE_Y_MAX : 0u);
}

// Pins both sides of a periodic axis, in place of its period, where a block is not as long as the field along
// it: the triangles between the last and the first vertices stay as they are if these do.
inline void pin_ends(factz_config& config, std::uint32_t axis, std::uint32_t sides, bool is_whole) {
    if ((config.periodic & axis) == 0 || is_whole) return;
    config.periodic &= ~axis;
    if (config.preserve != FACTZ_PRESERVE_NONE) config.pin |= sides;
}

// Where u and v lie in a block.
inline void set_layout(factz_config& config, std::uint64_t nz, bool interleaved) {
    config.nz = nz;
    config.u_stride = config.v_stride = interleaved ? 2 : 1;
    config.plane_rows = interleaved ? 0 : 2 * config.ny;
}

// Bytes from the first u to the first v.
inline std::size_t offset_of_v(const factz_config& config) {
    const std::size_t element = config.dtype == FACTZ_DTYPE_F32 ? sizeof(float) : sizeof(double);
    return config.u_stride == 2 ? element : static_cast<std::size_t>(config.nx * config.ny) * element;
}

inline std::size_t vertices_of(const factz_config& config) {
    return static_cast<std::size_t>(config.nx * config.ny * config.nz);
}

// The configuration of a block.
inline factz_config configure(const block& b, adios2::DataType type, const choices& c) {
    factz_config config = c.config;
    config.nx = b.nx;
    config.ny = b.ny;
    config.dtype = type == adios2::DataType::Float ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;
    set_layout(config, b.nz, b.interleaved);
    config.pin = sides_to_pin(b, c);
    // With pin every block is said to be a whole field.
    pin_ends(config, FACTZ_PERIODIC_X, FACTZ_SIDE_X_MIN | FACTZ_SIDE_X_MAX, c.has_pin || b.nx == c.field_nx);
    pin_ends(config, FACTZ_PERIODIC_Y, FACTZ_SIDE_Y_MIN | FACTZ_SIDE_Y_MAX, c.has_pin || b.ny == c.field_ny);
    return config;
}

}  // namespace factz_adios2

#endif
