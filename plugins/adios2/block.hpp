// The block of a variable that ADIOS2 hands over: which dimensions are the field, how many fields it holds,
// and which sides have neighbours.
#ifndef FACTZ_ADIOS2_BLOCK_HPP
#define FACTZ_ADIOS2_BLOCK_HPP

#include "parameters.hpp"

#include <algorithm>
#include <vector>

namespace factz_adios2 {

// How the components lie in a block, as its header says it.
enum class arrangement : unsigned char { planes, interleaved, volume };

struct block {
    std::uint64_t nx = 0, ny = 0;
    // Fields, one behind the other: the product of the leading dimensions. Of a volume its vertices along z.
    std::uint64_t nz = 1;
    arrangement components = arrangement::planes;
    bool has_place = false;  // x0, y0 and of a volume z0 are known
    std::uint64_t x0 = 0, y0 = 0, z0 = 0;
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

// A block (3 x nz x ny x nx), in this order.
inline block understand_volume(const adios2::Dims& start, const adios2::Dims& count, const choices& c) {
    const std::string axes = as_text(count, c),
                      wanted = c.column_major ? "(nx x ny x nz x 3)" : "(3 x nz x ny x nx)";
    const std::size_t leading = count.size() < 4 ? 0 : count.size() - 4;
    std::size_t volumes = 1;
    for (std::size_t axis = 0; axis < leading; axis++) volumes *= count[axis];
    if (count.size() < 4 || count[leading] != 3 || volumes != 1)
        refuse("a block " + axes +
               " is no volume, which mode=repair is for: join u, v and w in one variable " + wanted +
               ", and put one volume or a part of one at a time");
    block b;
    b.components = arrangement::volume;
    b.nz = count[leading + 1];
    b.ny = count[leading + 2];
    b.nx = count[leading + 3];
    b.has_place = start.size() == count.size();
    if (b.has_place) {
        b.z0 = start[leading + 1];
        b.y0 = start[leading + 2];
        b.x0 = start[leading + 3];
    }
    return b;
}

// `start` is empty for local and joined arrays.
inline block understand(adios2::Dims start, adios2::Dims count, const choices& c) {
    if (c.column_major) {
        std::reverse(start.begin(), start.end());
        std::reverse(count.begin(), count.end());
    }
    if (c.is_volume()) return understand_volume(start, count, c);
    const std::string axes = as_text(count, c);
    if (count.size() < 3)
        refuse("a block " + axes + " has fewer than 3 dimensions: join u and v in one variable " +
               either_text(c));
    const std::size_t leading = count.size() - 3;
    const adios2::Dims plane(count.end() - 3, count.end());
    block b;
    const bool interleaved = is_interleaved(plane, c);
    if (interleaved) b.components = arrangement::interleaved;
    const std::size_t y = interleaved ? 0 : 1;
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

// An axis of a block: the vertices of the block and of the whole variable, where the block begins, and its
// sides.
struct axis {
    const char* ends;  // what ends, for messages
    std::uint64_t count, whole, first;
    std::uint32_t low, high;
};

// The axes x and y, and of a volume z.
inline std::vector<axis> axes_of(const block& b, const choices& c) {
    std::vector<axis> axes = {{"columns end", b.nx, c.field_nx, b.x0, FACTZ_SIDE_X_MIN, FACTZ_SIDE_X_MAX},
        {"rows", b.ny, c.field_ny, b.y0, FACTZ_SIDE_Y_MIN, FACTZ_SIDE_Y_MAX}};
    if (c.is_volume()) axes.push_back({"planes", b.nz, c.field_nz, b.z0, FACTZ_SIDE_Z_MIN, FACTZ_SIDE_Z_MAX});
    return axes;
}

// "columns end at 12 and rows at 30".
inline std::string ends_text(const std::vector<axis>& axes) {
    std::string text;
    for (const axis& a : axes)
        text +=
            (text.empty() ? "" : " and ") + std::string(a.ends) + " at " + std::to_string(a.first + a.count);
    return text;
}

// Sides where another block may begin. A block is compressed alone; a triangle or tetrahedron between blocks
// has all its vertices on their borders, and keeps its critical point if these are exact. A block in a global
// array knows where the variable begins, but not where it ends.
inline std::uint32_t sides_to_pin(const block& b, const choices& c) {
    if (c.has_pin || c.config.preserve == FACTZ_PRESERVE_NONE) return c.config.pin;
    const std::vector<axis> axes = axes_of(b, c);
    std::uint32_t sides = 0;
    bool whole = true, inside = true;
    for (const axis& a : axes) {
        const bool ends = c.field_nx && a.first + a.count == a.whole;
        sides |= (b.has_place && a.first == 0 ? 0u : a.low) | (ends ? 0u : a.high);
        whole = whole && a.count == a.whole;
        inside = inside && a.first + a.count <= a.whole;
    }
    if (c.field_nx == 0) return sides;
    if (!b.has_place) {
        if (whole) return 0;
        refuse(field_text(c) + " needs a global array, whose blocks have a place, or whole fields in blocks");
    }
    if (!inside) refuse(field_text(c) + " ends before the block, whose " + ends_text(axes));
    return sides;
}

// Pins both sides of a periodic axis, in place of its period, where a block is not as long as the field along
// it: the triangles between the last and the first vertices stay as they are if these do.
inline void pin_ends(factz_config& config, std::uint32_t axis, std::uint32_t sides, bool is_whole) {
    if ((config.periodic & axis) == 0 || is_whole) return;
    config.periodic &= ~axis;
    if (config.preserve != FACTZ_PRESERVE_NONE) config.pin |= sides;
}

// Where the components lie in a block.
inline void set_layout(factz_config& config, std::uint64_t nz, arrangement components) {
    config.nz = nz;
    config.u_stride = config.v_stride = components == arrangement::interleaved ? 2 : 1;
    config.plane_rows = components == arrangement::planes ? 2 * config.ny : 0;
}

inline std::size_t vertices_of(const factz_config& config) {
    return static_cast<std::size_t>(config.nx * config.ny * config.nz);
}

// Bytes from the first value of a component to that of the next.
inline std::size_t component_bytes(const factz_config& config) {
    const std::size_t element = config.dtype == FACTZ_DTYPE_F32 ? sizeof(float) : sizeof(double);
    if (config.components == 3) return vertices_of(config) * element;
    return config.u_stride == 2 ? element : static_cast<std::size_t>(config.nx * config.ny) * element;
}

// The configuration of a block.
inline factz_config configure(const block& b, adios2::DataType type, const choices& c) {
    factz_config config = c.config;
    config.nx = b.nx;
    config.ny = b.ny;
    config.dtype = type == adios2::DataType::Float ? FACTZ_DTYPE_F32 : FACTZ_DTYPE_F64;
    set_layout(config, b.nz, b.components);
    config.pin = sides_to_pin(b, c);
    // With pin every block is said to be a whole field.
    pin_ends(config, FACTZ_PERIODIC_X, FACTZ_SIDE_X_MIN | FACTZ_SIDE_X_MAX, c.has_pin || b.nx == c.field_nx);
    pin_ends(config, FACTZ_PERIODIC_Y, FACTZ_SIDE_Y_MIN | FACTZ_SIDE_Y_MAX, c.has_pin || b.ny == c.field_ny);
    pin_ends(config, FACTZ_PERIODIC_Z, FACTZ_SIDE_Z_MIN | FACTZ_SIDE_Z_MAX, c.has_pin || b.nz == c.field_nz);
    return config;
}

}  // namespace factz_adios2

#endif
