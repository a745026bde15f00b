"""The constants, structs and functions of factz.h that this package uses, for ctypes.

A test compares all of them with the header. The header is the reference manual.
"""

import ctypes
from ctypes import c_double, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

# Structs keep their layout within a major version, before 1.0 within a minor one.
VERSION_MAJOR, VERSION_MINOR = 0, 1

DTYPE_F32, DTYPE_F64 = 0, 1
BOUND_ABSOLUTE, BOUND_RELATIVE = 0, 1
MODE_BLOCK_WISE, MODE_SPECULATIVE, MODE_REPAIR = 0, 1, 2
CODER_ANS, CODER_HUFFMAN = 0, 1
PREDICTOR_HIERARCHICAL, PREDICTOR_LORENZO = 0, 1
PRESERVE_NONE, PRESERVE_POINTS, PRESERVE_TYPES = 0, 1, 2
TIES_ALL, TIES_ZEROS, TIES_SOS = 0, 1, 2
SIDE_X_MIN, SIDE_X_MAX, SIDE_Y_MIN, SIDE_Y_MAX, SIDES_ALL = 1, 2, 4, 8, 15
SIDE_Z_MIN, SIDE_Z_MAX, SIDES_ALL_OF_VOLUME = 16, 32, 63
PERIODIC_X, PERIODIC_Y, PERIODIC_Z = 1, 2, 4
COMPONENT_BOTH, COMPONENT_U, COMPONENT_V, COMPONENT_VOLUME = 0, 1, 2, 3
CONFIG_WORDS = 24
WARNING_WIDE_RANGE = 1
INSPECT_BYTES, VOLUME_INSPECT_BYTES = 128, 176
POINT_SADDLE, POINT_ATTRACTING_NODE, POINT_REPELLING_NODE = 0, 1, 2
POINT_ATTRACTING_FOCUS, POINT_REPELLING_FOCUS, POINT_CENTER = 3, 4, 5
POINT_VERTEX_ZERO, POINT_EDGE_ZERO = 6, 7
SIMPLEX_LOWER, SIMPLEX_UPPER, SIMPLEX_EDGE_X = 0, 1, 2
SIMPLEX_EDGE_Y, SIMPLEX_DIAGONAL, SIMPLEX_VERTEX = 3, 4, 5
VOLUME_POINT_REPELLING_NODE, VOLUME_POINT_REPELLING_NODE_SADDLE = 0, 1
VOLUME_POINT_ATTRACTING_NODE_SADDLE, VOLUME_POINT_ATTRACTING_NODE = 2, 3
VOLUME_POINT_REPELLING_FOCUS, VOLUME_POINT_REPELLING_FOCUS_SADDLE = 4, 5
VOLUME_POINT_ATTRACTING_FOCUS_SADDLE, VOLUME_POINT_ATTRACTING_FOCUS = 6, 7
VOLUME_POINT_REPELLING_CENTER, VOLUME_POINT_ATTRACTING_CENTER = 8, 9
VOLUME_POINT_VERTEX_ZERO, VOLUME_POINT_EDGE_ZERO, VOLUME_POINT_FACE_ZERO = 10, 11, 12
VOLUME_SIMPLEX_TETRAHEDRON, VOLUME_SIMPLEX_FACE = 0, 6
VOLUME_SIMPLEX_EDGE, VOLUME_SIMPLEX_VERTEX = 18, 25
INDEX_UNDEFINED = -100

OK = 0
ERROR_INVALID_ARGUMENT = 1
ERROR_INVALID_CONFIG = 2
ERROR_BUFFER_TOO_SMALL = 3
ERROR_WORKSPACE_TOO_SMALL = 4
ERROR_CORRUPT_STREAM = 5
ERROR_UNSUPPORTED_VERSION = 6
ERROR_NO_DEVICE = 7
ERROR_CUDA = 8
ERROR_OUT_OF_MEMORY = 9
ERROR_UNSUPPORTED = 10
ERROR_INTERNAL = 11
ERROR_READ = 12


def _fields(kind, names):
    return [(name, kind) for name in names.split()]


class Config(ctypes.Structure):
    _fields_ = (
        _fields(c_uint64, "struct_size nx ny nz u_pitch u_stride v_pitch v_stride w_pitch w_stride")
        + _fields(c_double, "dx dy dz bound")
        + _fields(c_int32, "bound_kind dtype mode coder predictor preserve")
        + _fields(c_uint32, "halo pin")
        + _fields(c_int32, "verify_checksum has_fill_value")
        + _fields(c_double, "fill_value")
        + [("ties", c_int32), ("periodic", c_uint32), ("plane_rows", c_uint64)]
        + [("components", c_uint32), ("reserved_32", c_uint32), ("reserved", c_uint64 * 9)]
    )


class Info(ctypes.Structure):
    _fields_ = (
        [("status", c_int32), ("format_version", c_uint32)]
        + _fields(c_uint64, "stream_bytes nx ny nz")
        + _fields(c_double, "dx dy dz bound absolute_bound")
        + _fields(c_int32, "bound_kind dtype mode coder predictor preserve")
        + _fields(c_double, "fill_value")
        + _fields(c_int32, "has_fill_value ties")
        + _fields(c_uint32, "periodic component")
    )


class Sizes(ctypes.Structure):
    _fields_ = _fields(c_uint64, "max_stream_bytes workspace_bytes alignment analysis_workspace_bytes") + [
        ("reserved", c_uint64 * 4)
    ]


class Report(ctypes.Structure):
    _fields_ = (
        _fields(c_int32, "status reserved_status")
        + _fields(c_uint64, "stream_bytes required_bytes exact_vertices nonfinite_vertices zero_vertices")
        + _fields(c_uint64, "points_in_triangles")
        + _fields(c_double, "bound max_error")
        + _fields(c_uint64, "filled_vertices")
        + _fields(c_uint32, "warnings reserved_flags")
        + [("reserved", c_uint64 * 5)]
    )


class Range(ctypes.Structure):
    _fields_ = (
        _fields(c_int32, "status reserved_status")
        + _fields(c_double, "low high")
        + _fields(c_uint64, "nonfinite_vertices filled_vertices zero_vertices")
        + [("reserved", c_uint64 * 2)]
    )


class CriticalPoint(ctypes.Structure):
    _fields_ = (
        _fields(c_uint64, "cell_x cell_y cell_z")
        + _fields(c_double, "x y")
        + _fields(c_int32, "simplex point_type index rounding_divergence")
        + _fields(c_double * 2, "eigenvalues_real eigenvalues_imaginary")
    )


class Comparison(ctypes.Structure):
    _fields_ = (
        _fields(c_int32, "status reserved_status")
        + _fields(c_uint64, "violations critical_points other_critical_points lost_points spurious_points")
        + _fields(c_uint64, "changed_types ties changed_ties new_ties nonfinite_vertices changed_missing")
        + _fields(c_uint64, "zero_vertices changed_zero_vertices bound_exceeded")
        + _fields(c_double, "bound max_error psnr")
        + [("points_by_type", c_uint64 * 8)]
        + _fields(c_uint64, "filled_vertices lost_zeros spurious_zeros changed_indices")
        + [("reserved", c_uint64 * 2)]
    )


class VolumePoint(ctypes.Structure):
    _fields_ = (
        _fields(c_uint64, "cell_x cell_y cell_z")
        + _fields(c_double, "x y z")
        + _fields(c_int32, "simplex dimension point_type index")
        + [("reserved", c_uint64 * 6)]
    )


class VolumeComparison(ctypes.Structure):
    _fields_ = [
        (name, c_uint64 * 16 if name == "points_by_type" else kind) for name, kind in Comparison._fields_
    ]


class FixReport(ctypes.Structure):
    _fields_ = (
        _fields(c_int32, "status reserved_status")
        + _fields(c_uint64, "fix_bytes required_bytes repaired_vertices exact_vertices violated_triangles")
        + [("rounds", c_uint64)]
        + _fields(c_double, "bound max_error")
        + _fields(c_uint64, "vertices_outside first_outside")
        + [("reserved", c_uint64 * 5)]
    )


class FixInfo(ctypes.Structure):
    _fields_ = (
        [("status", c_int32), ("format_version", c_uint32)]
        + _fields(c_uint64, "fix_bytes nx ny nz")
        + _fields(c_double, "dx dy dz bound absolute_bound max_error")
        + _fields(c_uint64, "repaired_vertices exact_vertices")
        + _fields(c_double, "fill_value")
        + _fields(c_int32, "bound_kind dtype preserve ties has_fill_value")
        + _fields(c_uint32, "periodic reconstruction_checksum components")
        + [("reserved", c_uint64 * 6)]
    )


#: The function that read_region_host calls: user, offset, bytes, to.
READ_CALLBACK = ctypes.CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64, c_void_p)

_config = ctypes.POINTER(Config)
_sizes = ctypes.POINTER(Sizes)
_words = ctypes.POINTER(c_uint32)
# Addresses are void pointers where arrays or device memory are meant, and all are where both are.
_field = [c_void_p, c_void_p, c_size_t, _config]
_memory = [c_void_p, c_size_t]
# u, v, w, n.
_volume = [c_void_p, c_void_p, c_void_p, c_size_t]
# x0, y0, z0, u, v, n, report, threads.
_part = [c_uint64, c_uint64, c_uint64, c_void_p, c_void_p, c_size_t, ctypes.POINTER(Report), c_int]
# x0, y0, z0, u, v, w, n, report, threads.
_volume_part = [c_uint64, c_uint64, c_uint64] + _volume + [ctypes.POINTER(Report), c_int]

# Name without factz_: result and arguments.
FUNCTIONS = {
    "version": (ctypes.c_char_p, []),
    "format_version": (c_uint32, []),
    "status_string": (ctypes.c_char_p, [c_int32]),
    "last_error": (ctypes.c_char_p, []),
    "config_init": (c_int32, [_config, c_uint64, c_uint64, c_int32, c_double]),
    "config_init_volume": (c_int32, [_config, c_uint64, c_uint64, c_uint64, c_int32, c_double]),
    "config_from_info": (c_int32, [ctypes.POINTER(Info), _config]),
    "config_to_words": (c_int32, [_config, _words, c_size_t]),
    "compress_sizes": (c_int32, [_config, _sizes]),
    "decompress_sizes": (c_int32, [_config, _sizes]),
    "decompress_planes_sizes": (c_int32, [_config, _sizes]),
    "inspect_host": (c_int32, _memory + [ctypes.POINTER(Info)]),
    "compress_host": (c_int32, _field + _memory + [ctypes.POINTER(Report), c_int]),
    "decompress_host": (
        c_int32,
        _memory + [_config, c_void_p, c_void_p, c_size_t, ctypes.POINTER(Report), c_int],
    ),
    "volume_stream_bytes": (c_int32, [_config, ctypes.POINTER(c_uint64)]),
    "compress_volume_host": (c_int32, _volume + [_config] + _memory + [ctypes.POINTER(Report), c_int]),
    "decompress_volume_host": (c_int32, _memory + [_config] + _volume + [ctypes.POINTER(Report), c_int]),
    "critical_points_volume_host": (
        c_int32,
        _volume + [_config, c_void_p, c_size_t, ctypes.POINTER(c_uint64), c_int],
    ),
    "compare_volume_host": (
        c_int32,
        _volume
        + [_config, c_void_p, c_void_p, c_void_p, _config]
        + [ctypes.POINTER(VolumeComparison), c_int],
    ),
    "range_volume_host": (c_int32, _volume + [_config, ctypes.POINTER(Range), c_int]),
    "decompress_region_host": (c_int32, _memory + [_config] + _part),
    "read_region_host": (c_int32, [c_void_p, c_void_p, c_uint64, _config] + _part),
    "decompress_volume_region_host": (c_int32, _memory + [_config] + _volume_part),
    "read_volume_region_host": (c_int32, [c_void_p, c_void_p, c_uint64, _config] + _volume_part),
    "split_host": (c_int32, _memory + _memory + _memory + [ctypes.POINTER(Report), c_int]),
    "join_host": (c_int32, _memory + _memory + _memory + [ctypes.POINTER(Report), c_int]),
    "range_host": (c_int32, _field + [ctypes.POINTER(Range), c_int]),
    "relative_bound": (c_double, [c_double, c_double, c_double]),
    "critical_points_host": (c_int32, _field + [c_void_p, c_size_t, ctypes.POINTER(c_uint64), c_int]),
    "compare_host": (
        c_int32,
        _field + [c_void_p, c_void_p, _config, ctypes.POINTER(Comparison), c_int],
    ),
    "protect_host": (
        c_int32,
        _field + [c_void_p, c_void_p, _config] + _memory + [ctypes.POINTER(FixReport), c_int],
    ),
    "apply_host": (
        c_int32,
        _memory + [_config, c_void_p, c_void_p, c_size_t, ctypes.POINTER(FixReport), c_int],
    ),
    "protect_volume_host": (
        c_int32,
        _volume + [_config] + 3 * [c_void_p] + [_config] + _memory + [ctypes.POINTER(FixReport), c_int],
    ),
    "apply_volume_host": (c_int32, _memory + [_config] + _volume + [ctypes.POINTER(FixReport), c_int]),
    "inspect_fix_host": (c_int32, _memory + [ctypes.POINTER(FixInfo)]),
    "protect_sizes": (c_int32, [_config, _sizes]),
    "protect_volume_sizes": (c_int32, [_config, _sizes]),
    "apply_sizes": (c_int32, [_config, _sizes]),
    "apply_volume_sizes": (c_int32, [_config, _sizes]),
    "protect_device": (
        c_int32,
        _field + [c_void_p, c_void_p, _config] + _memory + _memory + [c_void_p, c_void_p],
    ),
    "protect_volume_device": (
        c_int32,
        _volume + [_config] + 3 * [c_void_p] + [_config] + _memory + _memory + [c_void_p, c_void_p],
    ),
    "apply_device": (
        c_int32,
        _memory + [_config, c_void_p, c_void_p, c_size_t] + _memory + [c_void_p, c_void_p],
    ),
    "apply_volume_device": (c_int32, _memory + [_config] + _volume + _memory + [c_void_p, c_void_p]),
    "prepare_device": (c_int32, [c_void_p]),
    "compress_device": (c_int32, _field + _memory + _memory + [c_void_p, c_void_p]),
    "decompress_device": (
        c_int32,
        _memory + [_config, c_void_p, c_void_p, c_size_t] + _memory + [c_void_p, c_void_p],
    ),
    "decompress_planes_device": (
        c_int32,
        _memory + [_config, c_uint64, c_void_p, c_void_p, c_size_t] + _memory + [c_void_p, c_void_p],
    ),
    "compress_volume_sizes": (c_int32, [_config, _sizes]),
    "compress_volume_device": (c_int32, _volume + [_config] + _memory + _memory + [c_void_p, c_void_p]),
    "decompress_volume_sizes": (c_int32, [_config, _sizes]),
    "decompress_volume_device": (c_int32, _memory + [_config] + _volume + _memory + [c_void_p, c_void_p]),
    "range_device": (c_int32, _field + _memory + [c_void_p, c_void_p]),
    "critical_points_device": (c_int32, _field + [c_void_p, c_size_t, c_void_p] + _memory + [c_void_p]),
    "compare_device": (c_int32, _field + [c_void_p, c_void_p, _config] + _memory + [c_void_p, c_void_p]),
}
