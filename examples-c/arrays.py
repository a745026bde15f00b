#!/usr/bin/env python3
"""factz on NumPy and CuPy arrays, by ctypes: nothing to build but libfactz.so.

    python3 arrays.py            # NumPy, and CuPy where it and a GPU are there
    python3 arrays.py --cupy     # CuPy must be there

The library is the file that FACTZ_LIBRARY names, or libfactz.so.0 where the dynamic linker finds it. Exit status 0
when everything holds.

Arrays have the shape (ny, nx) and are float32 or float64. Rows and elements may be apart (slices, u and v in one
array), so nothing is copied on the way in. CuPy arrays stay on the device; calls are enqueued on CuPy's current
stream.
"""
import ctypes
import os
import sys

import numpy as np

OK, BUFFER_TOO_SMALL = 0, 3
ABSOLUTE, RELATIVE = 0, 1
BLOCK_WISE, SPECULATIVE = 0, 1


def _structure(name, fields):
    return type(name, (ctypes.Structure,), {"_fields_": fields})


def _fields(kind, names):
    return [(name, kind) for name in names.split()]


_u64, _f64, _i32, _u32 = ctypes.c_uint64, ctypes.c_double, ctypes.c_int32, ctypes.c_uint32
Config = _structure("Config", _fields(_u64, "struct_size nx ny nz u_pitch u_stride v_pitch v_stride w_pitch w_stride")
                    + _fields(_f64, "dx dy dz bound")
                    + _fields(_i32, "bound_kind dtype mode coder predictor preserve")
                    + _fields(_u32, "halo pin") + _fields(_i32, "verify_checksum has_fill_value")
                    + [("fill_value", _f64)] + _fields(_i32, "ties reserved_flags") + [("reserved", _u64 * 11)])
Sizes = _structure("Sizes", _fields(_u64, "max_stream_bytes workspace_bytes alignment analysis_workspace_bytes")
                   + [("reserved", _u64 * 4)])
Info = _structure("Info", [("status", _i32), ("format_version", _u32)] + _fields(_u64, "stream_bytes nx ny nz")
                  + _fields(_f64, "dx dy dz bound absolute_bound")
                  + _fields(_i32, "bound_kind dtype mode coder predictor preserve") + [("fill_value", _f64)]
                  + _fields(_i32, "has_fill_value ties") + [("reserved", _u64 * 1)])
Report = _structure("Report", _fields(_i32, "status reserved_status")
                    + _fields(_u64, "stream_bytes required_bytes exact_vertices nonfinite_vertices zero_vertices "
                                    "critical_points")
                    + _fields(_f64, "bound max_error") + [("filled_vertices", _u64)]
                    + _fields(_u32, "warnings reserved_flags") + [("reserved", _u64 * 5)])
Comparison = _structure("Comparison", _fields(_i32, "status reserved_status")
                        + _fields(_u64, "violations critical_points other_critical_points lost_points spurious_points "
                                        "changed_types ties changed_ties new_ties nonfinite_vertices "
                                        "changed_missing zero_vertices changed_zeros bound_exceeded")
                        + _fields(_f64, "bound max_error psnr") + [("points_by_type", _u64 * 6),
                                                                   ("filled_vertices", _u64), ("reserved", _u64 * 7)])


def _load():
    library = ctypes.CDLL(os.environ.get("FACTZ_LIBRARY", "libfactz.so.0"))
    p, size, config = ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(Config)
    arguments = {
        "config_init": [config, _u64, _u64, _i32, _f64],
        "compress_sizes": [config, ctypes.POINTER(Sizes)],
        "decompress_sizes": [config, ctypes.POINTER(Sizes)],
        "inspect_host": [p, size, ctypes.POINTER(Info)],
        "compress_host": [p, p, size, config, p, size, ctypes.POINTER(Report), ctypes.c_int],
        "decompress_host": [p, size, config, p, p, size, ctypes.POINTER(Report), ctypes.c_int],
        "compare_host": [p, p, size, config, p, p, config, ctypes.POINTER(Comparison), ctypes.c_int],
        "prepare_device": [p],
        "compress_device": [p, p, size, config, p, size, p, size, p, p],
        "decompress_device": [p, size, config, p, p, size, p, size, p, p],
    }
    for name, types in arguments.items():
        function = getattr(library, "factz_" + name)
        function.argtypes, function.restype = types, _i32
    for name in ("status_string", "last_error", "version"):
        getattr(library, "factz_" + name).restype = ctypes.c_char_p
    library.factz_status_string.argtypes = [_i32]
    return library


_library = _load()


class FactzError(Exception):
    pass


def _check(status):
    if status != OK:
        raise FactzError("%s: %s" % (_library.factz_status_string(status).decode(),
                                     _library.factz_last_error().decode()))


def _on_device(array):
    return hasattr(array, "__cuda_array_interface__")


def _address(array):
    """The first element, of an array in host or device memory."""
    if _on_device(array):
        return array.__cuda_array_interface__["data"][0]
    return array.__array_interface__["data"][0]


def config_for(u, v, bound=0.0, kind=ABSOLUTE, mode=BLOCK_WISE, halo=0, pin=0):
    """The configuration for two arrays; raises ValueError with what to do where they do not fit."""
    if not (hasattr(u, "strides") and hasattr(v, "strides")):
        raise ValueError("u and v must be NumPy or CuPy arrays: convert with numpy.asarray or cupy.asarray")
    if _on_device(u) != _on_device(v):
        raise ValueError("one of u and v is in device memory, the other is not: move one with cupy.asarray or .get()")
    if u.ndim != 2 or u.shape != v.shape:
        raise ValueError("u and v must both have the shape (ny, nx), not %s and %s" % (u.shape, v.shape))
    if u.dtype != v.dtype or u.dtype not in (np.dtype("=f4"), np.dtype("=f8")):
        raise ValueError("u and v must both be float32 or float64 in the machine's byte order, not %s and %s: "
                         "convert with .astype" % (u.dtype, v.dtype))
    config = Config()
    ny, nx = u.shape
    _check(_library.factz_config_init(config, nx, ny, kind, bound))
    config.dtype = 0 if u.dtype.itemsize == 4 else 1
    config.mode, config.halo, config.pin = mode, halo, pin
    for name, array in (("u", u), ("v", v)):
        pitch, stride = (s // array.itemsize for s in array.strides)
        if any(s <= 0 or s % array.itemsize for s in array.strides):
            raise ValueError("%s has the strides %s bytes; they must be positive multiples of the item size: pass a copy "
                             "(numpy.ascontiguousarray or cupy.ascontiguousarray)" % (name, array.strides))
        setattr(config, name + "_pitch", pitch)
        setattr(config, name + "_stride", stride)
    return config


def _outcome(on_device, queue):
    """The report of enqueued work, once the queue has got there."""
    queue.synchronize()
    report = Report.from_buffer_copy(on_device.get().tobytes())
    if report.status != OK:
        raise FactzError(_library.factz_status_string(report.status).decode())
    return report


def compress(u, v, bound, kind=RELATIVE, **options):
    """Compresses a field where it is. Returns the stream (uint8, NumPy or CuPy like u) and the report."""
    config = config_for(u, v, bound, kind, **options)
    sizes = Sizes()
    _check(_library.factz_compress_sizes(config, sizes))
    if not _on_device(u):
        stream, report = np.empty(sizes.max_stream_bytes, np.uint8), Report()
        _check(_library.factz_compress_host(_address(u), _address(v), u.size, config, _address(stream), stream.size,
                                            report, 0))
        return stream[:report.stream_bytes].copy(), report
    import cupy
    queue = cupy.cuda.get_current_stream()
    # CuPy aligns its memory to 512 bytes, more than the library asks for.
    stream = cupy.empty(sizes.max_stream_bytes, cupy.uint8)
    workspace = cupy.empty(sizes.workspace_bytes, cupy.uint8)
    on_device = cupy.empty(ctypes.sizeof(Report), cupy.uint8)
    _check(_library.factz_compress_device(_address(u), _address(v), u.size, config, _address(stream), stream.size,
                                          _address(workspace), workspace.size, _address(on_device), queue.ptr))
    # The length must be known to return an array of that length; a solver would go on and look later.
    report = _outcome(on_device, queue)
    return stream[:report.stream_bytes].copy(), report


def inspect(stream):
    """The header of a stream, from its first bytes."""
    head = stream[:128].get() if _on_device(stream) else np.ascontiguousarray(stream[:128])
    info = Info()
    _check(_library.factz_inspect_host(_address(head), head.size, info))
    return info


def decompress(stream, u=None, v=None):
    """Decompresses a stream, into u and v where they are given. Returns u and v, in the memory where the stream is."""
    info = inspect(stream)
    if _on_device(stream):
        import cupy as xp
    else:
        xp = np
    if u is None:
        dtype = np.float32 if info.dtype == 0 else np.float64
        u, v = (xp.empty((info.ny, info.nx), dtype) for _ in "uv")
    config = config_for(u, v)
    if not _on_device(stream):
        report = Report()
        _check(_library.factz_decompress_host(_address(stream), stream.size, config, _address(u), _address(v), u.size,
                                              report, 0))
        return u, v
    sizes = Sizes()
    _check(_library.factz_decompress_sizes(config, sizes))
    queue = xp.cuda.get_current_stream()
    workspace = xp.empty(sizes.workspace_bytes, xp.uint8)
    on_device = xp.empty(ctypes.sizeof(Report), xp.uint8)
    _check(_library.factz_decompress_device(_address(stream), stream.size, config, _address(u), _address(v), u.size,
                                            _address(workspace), workspace.size, _address(on_device), queue.ptr))
    _outcome(on_device, queue)
    return u, v


def compare(u, v, other_u, other_v, bound):
    """Differences of two fields in host memory, for an absolute bound."""
    comparison = Comparison()
    _check(_library.factz_compare_host(_address(u), _address(v), u.size, config_for(u, v, bound), _address(other_u),
                                       _address(other_v), config_for(other_u, other_v), comparison, 0))
    return comparison


# ---------------------------------------------------------------- what a program does with it

def field(nx, ny, dtype):
    """Vortices and saddles, disturbed by waves."""
    y, x = np.mgrid[0:ny, 0:nx].astype(np.float64)
    u = np.sin(0.11 * x) * np.cos(0.13 * y) + 0.02 * np.cos(0.0527 * x + 0.2)
    v = -np.cos(0.11 * x) * np.sin(0.13 * y) + 0.05 * np.sin(0.07 * x + 0.05 * y)
    return u.astype(dtype), v.astype(dtype)


def show(name, u, v, u2, v2, stream, report):
    c = compare(u, v, u2, v2, report.bound)
    print("%-28s %8d bytes  ratio %6.1f  %4d critical points  largest error %.3g"
          % (name, stream.size, 2 * u.size * u.itemsize / stream.size, c.critical_points, c.max_error))
    assert c.violations == 0 and c.critical_points > 0, "the guarantee does not hold"


def refused(part, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except (ValueError, FactzError) as e:
        assert part in str(e), "%r lacks %r" % (str(e), part)
        print("  refused:", e)
    else:
        raise AssertionError("accepted what it should refuse: " + part)


def numpy_arrays():
    u, v = field(301, 203, np.float32)
    stream, report = compress(u, v, 1e-3, mode=SPECULATIVE)
    show("NumPy, float32", u, v, *decompress(stream), stream, report)

    # Components in one array, and every second row of it.
    uv = np.stack(field(301, 203, np.float64), -1)[::2]
    u, v = uv[..., 0], uv[..., 1]
    stream, report = compress(u, v, 1e-2, kind=ABSOLUTE)
    show("NumPy, interleaved float64", u, v, *decompress(stream), stream, report)

    # Without ghost layers: the rows and columns of the border are kept bit for bit.
    u2, v2 = decompress(compress(u, v, 1e-2, pin=15)[0])
    assert (u2[0] == u[0]).all() and (v2[:, -1] == v[:, -1]).all(), "pinned sides are exact"

    refused("pass a copy", compress, u[::-1], v[::-1], 1e-2)
    refused("convert with .astype", compress, u.astype(np.int32), v.astype(np.int32), 1e-2)
    refused("the shape (ny, nx)", compress, u, v.T, 1e-2)
    refused("no factz stream", decompress, np.zeros(1000, np.uint8))


def cupy_arrays():
    import cupy
    u, v = field(1031, 773, np.float32)
    on_host, _ = compress(u, v, 1e-2)
    with cupy.cuda.Stream(non_blocking=True):
        du, dv = cupy.asarray(u), cupy.asarray(v)
        stream, report = compress(du, dv, 1e-2)
        du2, dv2 = decompress(stream)
        cupy.cuda.get_current_stream().synchronize()
    assert (stream.get() == on_host).all(), "the same bytes as on the host"
    show("CuPy, float32", u, v, du2.get(), dv2.get(), stream, report)

    with cupy.cuda.Stream(non_blocking=True):
        duv = cupy.stack([cupy.asarray(a) for a in field(301, 203, np.float64)], -1)
        du, dv = duv[..., 0], duv[..., 1]
        stream, report = compress(du, dv, 1e-3, mode=SPECULATIVE)
        du2, dv2 = decompress(stream)
        cupy.cuda.get_current_stream().synchronize()
    show("CuPy, interleaved float64", du.get(), dv.get(), du2.get(), dv2.get(), stream, report)
    refused("move one with", compress, du, dv.get(), 1e-2)


def main():
    print("factz", _library.factz_version().decode())
    numpy_arrays()
    try:
        import cupy
        devices = cupy.cuda.runtime.getDeviceCount()
    except Exception as e:  # not installed, or no driver
        if "--cupy" in sys.argv:
            raise
        print("CuPy: not run (%s)" % type(e).__name__)
    else:
        if devices:
            cupy_arrays()
    print("everything holds")


if __name__ == "__main__":
    main()
