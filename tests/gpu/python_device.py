#!/usr/bin/env python3
"""The Python package on a GPU: CuPy and PyTorch arrays give the bytes, counts and points of the host.

    PYTHONPATH=FOLDER python3 tests/gpu/python_device.py [NAME ...]

FOLDER has the package with its library (`pip install --no-deps --target FOLDER WHEEL`), whose kernels fit the
GPU. NAME picks the tests whose names contain it. CuPy or PyTorch must be there; the last lines name what is
missing of these and h5py. Exit status 0 when everything that ran holds.
"""

import gc
import os
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

import factz

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "plugins" / "python"))
from support import field, rounded, waves_in_space  # noqa: E402

STEPS = []


def step(function):
    STEPS.append(function)
    return function


# ---------------------------------------------------------------- both libraries behind one face


class Cupy:
    name = "cupy"

    def __init__(self):
        import cupy

        self.cupy = cupy
        cupy.cuda.runtime.getDeviceCount()

    def put(self, array):
        return self.cupy.asarray(array)

    def get(self, array):
        return self.cupy.asnumpy(array)

    def empty(self, shape, dtype="u1"):
        return self.cupy.empty(shape, dtype)

    def is_own(self, array):
        return isinstance(array, self.cupy.ndarray)

    def stack(self, arrays):
        return self.cupy.stack(arrays, -1)

    def stream(self):
        return self.cupy.cuda.Stream(non_blocking=True)

    def handle(self, stream):
        return stream.ptr

    def current(self, stream):
        return stream

    def synchronize(self):
        self.cupy.cuda.runtime.deviceSynchronize()

    def captured(self, stream, work):
        """A function that replays what `work` enqueues."""
        with stream:
            stream.begin_capture()
            work()
            graph = stream.end_capture()
        return lambda: graph.launch(stream)


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        self.torch = torch
        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no GPU")

    def put(self, array):
        return self.torch.from_numpy(np.ascontiguousarray(array)).cuda()

    def get(self, array):
        return array.cpu().numpy()

    def empty(self, shape, dtype="u1"):
        return self.torch.empty(shape, dtype=getattr(self.torch, np.dtype(dtype).name), device="cuda")

    def is_own(self, array):
        return isinstance(array, self.torch.Tensor) and array.is_cuda

    def stack(self, arrays):
        return self.torch.stack(arrays, -1)

    def stream(self):
        return self.torch.cuda.Stream()

    def handle(self, stream):
        return stream.cuda_stream

    def current(self, stream):
        return self.torch.cuda.stream(stream)

    def synchronize(self):
        self.torch.cuda.synchronize()

    def captured(self, stream, work):
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph, stream=stream):
            work()

        def replay():
            with self.torch.cuda.stream(stream):
                graph.replay()

        return replay


class InterfaceOnly:
    """An array of a library that factz does not know, with the CUDA array interface."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = dict(array.__cuda_array_interface__, **changes)


class DLPackOnly:
    """An array of the library with DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


# ---------------------------------------------------------------- bytes


def same(a, b):
    assert (
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    ), "other bytes than on the host"


def values_of(array):
    """The values of an array of either library."""
    return np.asarray(array.get() if hasattr(array, "get") else array.cpu())


def raises(kind, part, call):
    try:
        call()
    except kind as error:
        assert part in str(error), "%r lacks %r" % (str(error), part)
        return error
    raise AssertionError("accepted what it should refuse: " + part)


# ---------------------------------------------------------------- tests


@step
def bytes_of_the_host(lib):
    choices = [
        {},
        {"mode": "speculative"},
        {"coder": "huffman"},
        {"predictor": "lorenzo"},
        {"ties": "zeros"},
        {"ties": "sos"},
        {"preserve": "none"},
        {"preserve": "points"},
        {"pin": "xmin+ymax"},
        {"halo": "xmax+ymin"},
        {"fill": 0.0},
        {"dx": 2.0},
        {"dy": -1.0},
    ]
    for dtype in ("f4", "f8"):
        u, v = field(301, 203, dtype)
        du, dv = lib.put(u), lib.put(v)
        for choice in choices:
            for bound in ({"abs": 0.02}, {"rel": 1e-3}):
                on_host, on_device = factz.Report(), factz.Report()
                expected = factz.compress(u, v, **bound, **choice, report=on_host)
                data = factz.compress(du, dv, **bound, **choice, report=on_device)
                assert lib.is_own(data) and lib.get(data).tobytes() == expected, (dtype, choice, bound)
                assert on_host == on_device, (on_host, on_device)
                assert factz.inspect(data) == factz.inspect(expected)
                for found, host in zip(factz.decompress(data), factz.decompress(expected)):
                    assert lib.is_own(found)
                    same(lib.get(found), host)


@step
def analysis_of_the_host(lib):
    for dtype in ("f4", "f8"):
        u, v = field(700, 500, dtype)
        rng = np.random.default_rng(3)
        u2, v2 = (a + rng.uniform(-0.1, 0.1, a.shape).astype(dtype) for a in (u, v))
        du, dv, du2, dv2 = map(lib.put, (u, v, u2, v2))
        for options in ({}, {"halo": "xmax+ymin", "dx": 2.0, "dy": -1.0}, {"fill": 0.0}):
            found = factz.compare(du, dv, du2, dv2, abs=0.05, **options)
            assert found == factz.compare(u, v, u2, v2, abs=0.05, **options) and found.violations > 100
            same(factz.critical_points(du2, dv2, **options), factz.critical_points(u2, v2, **options))
        assert factz.value_range(du, dv, fill=0.0) == factz.value_range(u, v, fill=0.0)
    # More points than the call makes room for at first.
    u, v = rng.standard_normal((2, 400, 400)).astype("f4")
    points = factz.critical_points(lib.put(u), lib.put(v))
    assert len(points) > 400 * 400 // 64 + 1024
    same(points, factz.critical_points(u, v))


@step
def layouts(lib):
    u, v = field(301, 203)
    expected = factz.compress(u, v, abs=0.01)
    host = factz.decompress(expected)
    mixed = lib.stack([lib.put(u), lib.put(v)])
    wide = lib.put(np.pad(np.stack([u, v]), ((0, 0), (2, 3), (4, 5))))
    for du, dv in ((mixed[..., 0], mixed[..., 1]), wide[:, 2:-3, 4:-5]):
        assert lib.get(factz.compress(du, dv, abs=0.01)).tobytes() == expected
        du[...], dv[...] = 7, 7
        factz.decompress(lib.put(np.frombuffer(expected, "u1").copy()), out=(du, dv))
        same(lib.get(du).copy(), host[0])
        same(lib.get(dv).copy(), host[1])
    border = lib.get(wide).copy()
    border[:, 2:-3, 4:-5] = 0
    assert not border.any(), "gaps between rows are untouched"
    # Arrays that cannot be read in place are copied by their own library.
    turned = lib.put(np.ascontiguousarray(u.T)).T
    assert lib.get(factz.compress(turned, lib.put(v), abs=0.01)).tobytes() == expected


@step
def planes_of_a_stack(lib):
    u, v = (np.stack([np.roll(a, 9 * k, -1) for k in range(40)]) for a in field(301, 203))
    for options in ({}, {"predictor": "lorenzo"}, {"coder": "huffman"}):
        du, dv = lib.put(u), lib.put(v)
        data = factz.compress(du, dv, abs=0.01, **options)
        assert lib.get(data).tobytes() == factz.compress(u, v, abs=0.01, **options)
        all_u, all_v = map(lib.get, factz.decompress(data))
        for first, count in ((0, 1), (17, 5), (39, 1), (0, 40)):
            out = lib.empty((count, 203, 301), "f4"), lib.empty((count, 203, 301), "f4")
            factz.enqueue_decompress(data, out, first=first).wait()
            same(lib.get(out[0]), all_u[first : first + count])
            same(lib.get(out[1]), all_v[first : first + count])
        for planes in (0, -1, slice(17, 22), slice(-3, None), slice(None), slice(5, 5)):
            found = factz.decompress(data, planes=planes)
            given = tuple(lib.empty(tuple(found[0].shape), "f4") for _ in range(2))
            for pair in (found, factz.decompress(data, given, planes=planes)):
                for array, values in zip(pair, (all_u, all_v)):
                    assert lib.is_own(array)
                    same(lib.get(array), values[planes])
    raises(factz.InvalidArgumentError, "", lambda: factz.enqueue_decompress(data, out, first=1).wait())
    raises(IndexError, "planes=40: the data have 40 planes", lambda: factz.decompress(data, planes=40))
    raises(ValueError, "region= is for data in host", lambda: factz.decompress(data, region=np.s_[:3, :3]))


def volume(shape, dtype="f4"):
    """u, v and w with critical points, a solid without flow, a NaN and vertices of the value 7."""
    u, v, w = (np.ascontiguousarray(a) for a in waves_in_space(shape).astype(dtype))
    u[1, 2, 3], v[-1, 4, 5], w[2, -1, -1] = np.nan, 7, 7
    return u, v, w


@step
def volumes_of_the_host(lib):
    choices = [
        {},
        {"coder": "huffman"},
        {"ties": "zeros"},
        {"preserve": "points"},
        {"preserve": "none"},
        {"pin": "xmin+zmax"},
        {"halo": "xmax+ymin+zmin"},
        {"fill": 7.0},
        {"periodic": "xz"},
        {"dx": 2.0, "dz": -0.5},
    ]
    for dtype in ("f4", "f8"):
        fields = volume((37, 45, 61), dtype)
        arrays = tuple(map(lib.put, fields))
        for choice in choices:
            for bound in ({"abs": 0.05}, {"rel": 1e-3}):
                on_host, on_device, back = factz.Report(), factz.Report(), factz.Report()
                expected = factz.compress_volume(*fields, **bound, **choice, report=on_host)
                data = factz.compress_volume(*arrays, **bound, **choice, report=on_device)
                assert lib.is_own(data) and lib.get(data).tobytes() == expected, (dtype, choice, bound)
                assert on_host == on_device, (on_host, on_device)
                assert factz.inspect(data) == factz.inspect(expected)
                found = factz.decompress_volume(data, report=back)
                assert back.stream_bytes == len(expected)
                for array, host in zip(found, factz.decompress_volume(expected)):
                    assert lib.is_own(array)
                    same(lib.get(array), host)


@step
def layouts_of_volumes(lib):
    fields = volume((19, 33, 47))
    expected = factz.compress_volume(*fields, abs=0.05)
    host = factz.decompress_volume(expected)
    data = lib.put(np.frombuffer(expected, "u1").copy())
    mixed, whole = lib.put(np.stack(fields, -1)), lib.put(np.stack(fields))
    wide = lib.put(np.pad(np.stack(fields), ((0, 0), (0, 0), (2, 3), (4, 5))))
    inside = wide[:, :, 2:-3, 4:-5]
    for given in (mixed, whole, inside):
        parts = [given[..., k] for k in range(3)] if given.shape[-1] == 3 else [given[k] for k in range(3)]
        assert lib.get(factz.compress_volume(given, abs=0.05)).tobytes() == expected
        assert lib.get(factz.compress_volume(parts, abs=0.05)).tobytes() == expected
        for out in (given, parts):
            given[...] = 7
            factz.decompress_volume(data, out=out)
            for array, values in zip(parts, host):
                same(np.ascontiguousarray(lib.get(array)), values)
    border = lib.get(wide).copy()
    border[:, :, 2:-3, 4:-5] = 0
    assert not border.any(), "gaps between rows are untouched"
    # Arrays that cannot be read in place are copied by their own library.
    turned = lib.put(np.ascontiguousarray(fields[0].swapaxes(0, 2))).swapaxes(0, 2)
    given = (turned, *map(lib.put, fields[1:]))
    assert lib.get(factz.compress_volume(*given, abs=0.05)).tobytes() == expected
    # Arrays of libraries that factz does not know, as three arrays and as one.
    for wrap in (InterfaceOnly, DLPackOnly):
        for given in ([wrap(lib.put(a)) for a in fields], wrap(lib.put(np.stack(fields)))):
            found = factz.decompress_volume(factz.compress_volume(given, abs=0.05))
            for array, values in zip(found, host):
                same(values_of(array), values)
        out = lib.put(np.zeros((3, *fields[0].shape), "f4"))
        factz.decompress_volume(wrap(data), out=wrap(out))
        for k in range(3):
            same(lib.get(out[k]), host[k])


@step
def volumes_on_streams_and_in_graphs(lib):
    fields = volume((24, 40, 56))
    shape = fields[0].shape
    sizes, back = factz.compress_volume_sizes(shape, "f4", abs=0.05), factz.decompress_volume_sizes(shape, "f4")
    source, arrays = [lib.put(a) for a in fields], [lib.put(np.zeros_like(a)) for a in fields]
    out = lib.empty((3, *shape), "f4")
    dst = lib.empty((sizes.max_stream_bytes,))
    workspaces = lib.empty((sizes.workspace_bytes,)), lib.empty((back.workspace_bytes,))
    reports = lib.empty((sizes.report_bytes,)), lib.empty((sizes.report_bytes,))
    expected = factz.compress_volume(*fields, abs=0.05)
    lib.synchronize()
    # Work before the call on the same stream, and after it, without waiting.
    with lib.current(lib.stream()):
        for array, values in zip(arrays, source):
            array[...] = values
        compression = factz.enqueue_compress_volume(arrays, abs=0.05)
        for array in arrays:
            array[...] = 0
        decompression = factz.enqueue_decompress_volume(compression.buffer, out)
        assert lib.get(compression.result()).tobytes() == expected
        assert decompression.wait().stream_bytes == len(expected) == compression.wait().stream_bytes
        parts = decompression.u, decompression.v, decompression.w
        for array, values in zip(parts, factz.decompress_volume(expected)):
            same(lib.get(array), values)

    def enqueue():
        memory = {"dst": dst, "workspace": workspaces[0], "report": reports[0]}
        compression = factz.enqueue_compress_volume(*arrays, abs=0.05, **memory)
        memory = {"workspace": workspaces[1], "report": reports[1]}
        factz.enqueue_decompress_volume(compression.buffer, out, **memory)

    factz.prepare_device(arrays[0])
    lib.synchronize()
    replay = lib.captured(lib.stream(), enqueue)
    for scale in (1, 3):
        for array, values in zip(arrays, fields):
            array[...] = lib.put(scale * values)
        lib.synchronize()
        replay()
        lib.synchronize()
        expected = factz.compress_volume(*(scale * a for a in fields), abs=0.05)
        assert lib.get(dst[: len(expected)]).tobytes() == expected
        for k, values in enumerate(factz.decompress_volume(expected)):
            same(lib.get(out[k]), values)


@step
def errors_of_volumes(lib):
    fields = volume((19, 33, 47))
    arrays = tuple(map(lib.put, fields))
    data = factz.compress_volume(arrays, abs=0.05)
    size = len(data)
    small = factz.enqueue_compress_volume(*arrays, abs=0.05, dst=lib.empty((256,)))
    assert raises(factz.BufferTooSmallError, str(size), small.wait).required_bytes == size
    damaged = lib.put(lib.get(data).copy())
    damaged[size // 2] = damaged[size // 2] ^ 1
    raises(factz.CorruptStreamError, "reported by the device", lambda: factz.decompress_volume(damaged))
    other = tuple(lib.empty((20, 33, 47), "f4") for _ in range(3))
    raises(
        factz.InvalidArgumentError, "another shape or dtype", lambda: factz.decompress_volume(data, out=other)
    )
    planes = factz.compress(*arrays[:2], abs=0.05)
    raises(factz.InvalidArgumentError, "hold planes", lambda: factz.decompress_volume(planes, out=arrays))
    raises(factz.InvalidArgumentError, "factz.decompress", lambda: factz.decompress_volume(planes))
    raises(factz.InvalidArgumentError, "factz.decompress_volume", lambda: factz.decompress(data))
    raises(TypeError, "u is in device memory", lambda: factz.critical_points_volume(*arrays))
    short = lib.empty((1000,))
    raises(
        factz.WorkspaceTooSmallError,
        "workspace",
        lambda: factz.compress_volume(*arrays, abs=1, workspace=short),
    )
    # The device and the stream are as good as before.
    assert lib.get(factz.compress_volume(arrays, abs=0.05)).tobytes() == factz.compress_volume(*fields, abs=0.05)


@step
def fixes_of_the_host(lib):
    for dtype in ("f4", "f8"):
        u, v = field(301, 203, dtype)
        stacks = [np.stack([a, np.roll(a, 9, -1)]) for a in (u, v)]
        for fields, options in (
            ((u, v), {}),
            ((u, v), {"ties": "sos", "dy": -2.0}),
            ((u, v), {"preserve": "points", "periodic": "x"}),
            ((u, v), {"halo": "xmax+ymin", "pin": "xmin"}),
            (stacks, {"fill": 0.0}),
        ):
            others = [rounded(a, 0.05) for a in fields]
            if "halo" in options:
                others = [a[1:, :-1] for a in others]
            on_host, on_device = factz.FixReport(), factz.FixReport()
            expected = factz.protect(*fields, *others, abs=0.05, report=on_host, **options)
            arrays, of_others = [lib.put(a) for a in fields], [lib.put(a.copy()) for a in others]
            fix = factz.protect(*arrays, *of_others, abs=0.05, report=on_device, **options)
            assert lib.is_own(fix) and lib.get(fix).tobytes() == expected, (dtype, options)
            assert on_host == on_device and on_host.violated_triangles > 0, (on_host, on_device)
            result = factz.apply(expected, *others, report=on_host)
            for array, values in zip(factz.apply(fix, *of_others, report=on_device), result):
                assert lib.is_own(array)
                same(lib.get(array), values)
            assert on_host == on_device, (on_host, on_device)
            mixed = lib.stack([lib.put(np.zeros_like(a)) for a in result])
            out = mixed[..., 0], mixed[..., 1]
            factz.apply(fix, *of_others, out=out)
            factz.apply(fix, *of_others, out=tuple(of_others))
            for found in (out, of_others):
                for array, values in zip(found, result):
                    same(np.ascontiguousarray(lib.get(array)), values)


@step
def fixes_of_volumes_of_the_host(lib):
    for dtype in ("f4", "f8"):
        fields = volume((37, 45, 61), dtype)
        for options in ({}, {"ties": "zeros", "dz": -0.5}, {"periodic": "xz"}, {"fill": 7.0, "pin": "zmin"}):
            others = [rounded(a, 0.1) for a in fields]
            on_host, on_device = factz.FixReport(), factz.FixReport()
            expected = factz.protect_volume(*fields, *others, abs=0.1, report=on_host, **options)
            result = factz.apply_volume(expected, *others)
            for join in (list, lambda arrays: [lib.stack(arrays)]):
                arrays = join([lib.put(a) for a in fields]), join([lib.put(a) for a in others])
                fix = factz.protect_volume(*arrays[0], *arrays[1], abs=0.1, report=on_device, **options)
                assert lib.is_own(fix) and lib.get(fix).tobytes() == expected, (dtype, options)
                assert on_host == on_device and on_host.violated_triangles > 0, (on_host, on_device)
                for array, values in zip(factz.apply_volume(fix, *arrays[1]), result):
                    assert lib.is_own(array)
                    same(lib.get(array), values)


@step
def errors_of_fixes(lib):
    u, v = field(301, 203)
    u2, v2 = rounded(u, 0.05), rounded(v, 0.05)
    arrays = [lib.put(a.copy()) for a in (u, v, u2, v2)]
    fix = factz.protect(*arrays, abs=0.05)
    raises(factz.InvalidArgumentError, "leaves the bound", lambda: factz.protect(*arrays, abs=0.001))
    raises(factz.InvalidArgumentError, "another reconstruction", lambda: factz.apply(fix, *arrays[:2]))
    fields = [lib.put(np.stack([a, a])) for a in (u, v, u)]
    raises(factz.InvalidArgumentError, "or to planes", lambda: factz.apply_volume(fix, *fields))
    damaged = lib.put(lib.get(fix).copy())
    damaged[len(fix) - 5] = damaged[len(fix) - 5] ^ 1
    raises(factz.CorruptStreamError, "reported by the device", lambda: factz.apply(damaged, *arrays[2:]))
    same(lib.get(arrays[2]), u2)


@step
def streams(lib):
    u, v = field(1031, 773)
    expected = factz.compress(u, v, rel=1e-2)
    du, dv = lib.put(u), lib.put(v)
    lib.synchronize()
    for _ in range(5):
        own = lib.stream()
        # The current stream, an object, an address; the default stream by its number.
        with lib.current(own):
            data = [factz.compress(du, dv, rel=1e-2)]
        data += [factz.compress(du, dv, rel=1e-2, stream=s) for s in (own, lib.handle(own), 0, None)]
        for found in data:
            u2, v2 = factz.decompress(found, stream=own)
            assert factz.compare(du, dv, u2, v2, rel=1e-2, stream=own).violations == 0
            assert lib.get(found).tobytes() == expected


@step
def work_before_on_the_same_stream(lib):
    """A call reads what was enqueued before it, and what comes after it sees its result, without waiting."""
    u, v = field(2000, 1500)
    expected = factz.compress(u, v, rel=1e-2)
    on_host = factz.decompress(expected)
    busy = lib.put(np.ones((4000, 4000), "f4"))
    source_u, source_v = lib.put(u), lib.put(v)
    out = lib.empty(u.shape, "f4"), lib.empty(u.shape, "f4")
    copies = lib.empty(u.shape, "f4"), lib.empty(u.shape, "f4")
    du, dv = lib.put(np.zeros_like(u)), lib.put(np.zeros_like(v))
    lib.synchronize()
    with lib.current(lib.stream()):
        for _ in range(200):
            busy = busy * 0.5 + 1
        du[...], dv[...] = source_u, source_v
        compression = factz.enqueue_compress(du, dv, rel=1e-2)
        du[...], dv[...] = 0, 0
        decompression = factz.enqueue_decompress(compression.buffer, out)
        copies[0][...], copies[1][...] = out
        assert lib.get(compression.result()).tobytes() == expected
        report = decompression.wait()
        assert report.stream_bytes == len(expected) == compression.wait().stream_bytes
        for copy, host in zip(copies, on_host):
            same(lib.get(copy), host)


@step
def results_that_are_dropped(lib):
    """Memory of calls that nobody waits for returns to its pool in the order of the stream."""
    fields = [field(600 + 8 * k, 400) for k in range(6)]
    expected = [factz.compress(*f, abs=0.01) for f in fields]
    on_device = [tuple(map(lib.put, f)) for f in fields]
    lib.synchronize()
    with lib.current(lib.stream()):
        for _ in range(10):
            for du, dv in on_device:
                factz.enqueue_compress(du, dv, abs=0.01)
            kept = [factz.enqueue_compress(du, dv, abs=0.01) for du, dv in on_device]
            gc.collect()
            for compression, data in zip(kept, expected):
                assert lib.get(compression.result()).tobytes() == data


@step
def memory_of_the_caller_and_graphs(lib):
    u, v = field(640, 480)
    sizes = factz.compress_sizes(u.shape, "f4", rel=1e-3)
    back = factz.decompress_sizes(u.shape, "f4")
    du, dv = lib.put(u), lib.put(v)
    out = lib.empty(u.shape, "f4"), lib.empty(u.shape, "f4")
    dst = lib.empty((sizes.max_stream_bytes,))
    workspaces = lib.empty((sizes.workspace_bytes,)), lib.empty((back.workspace_bytes,))
    reports = lib.empty((sizes.report_bytes,)), lib.empty((sizes.report_bytes,))
    work = []

    def enqueue():
        compression = factz.enqueue_compress(
            du, dv, rel=1e-3, dst=dst, workspace=workspaces[0], report=reports[0]
        )
        decompression = factz.enqueue_decompress(
            compression.buffer, out, workspace=workspaces[1], report=reports[1]
        )
        work[:] = [compression, decompression]

    factz.prepare_device(du)
    lib.synchronize()
    replay = lib.captured(lib.stream(), enqueue)
    for scale in (1, 3):
        du[...], dv[...] = lib.put(scale * u), lib.put(scale * v)
        lib.synchronize()
        replay()
        lib.synchronize()
        expected = factz.compress(scale * u, scale * v, rel=1e-3)
        assert lib.get(dst[: len(expected)]).tobytes() == expected
        for found, host in zip(out, factz.decompress(expected)):
            same(lib.get(found), host)


@step
def errors(lib):
    u, v = field(301, 203)
    du, dv = lib.put(u), lib.put(v)
    data = factz.compress(du, dv, abs=0.01)
    size = len(data)
    small = factz.enqueue_compress(du, dv, abs=0.01, dst=lib.empty((256,)))
    assert raises(factz.BufferTooSmallError, str(size), small.wait).required_bytes == size
    raises(factz.BufferTooSmallError, "reported by the device", small.result)
    damaged = lib.put(lib.get(data).copy())
    damaged[size // 2] = damaged[size // 2] ^ 1
    raises(factz.CorruptStreamError, "reported by the device", lambda: factz.decompress(damaged))
    raises(factz.CorruptStreamError, "", lambda: factz.inspect(lib.put(np.zeros(1000, "u1"))))
    other = lib.empty((100, 100), "f4"), lib.empty((100, 100), "f4")
    raises(factz.InvalidArgumentError, "another shape or dtype", lambda: factz.decompress(data, out=other))
    raises(ValueError, "u is in device memory and v is not", lambda: factz.compress(du, v, abs=1))
    raises(ValueError, "is in device memory and data is not", lambda: factz.decompress(b"", out=(du, dv)))
    short = lib.empty((1000,))
    raises(
        factz.WorkspaceTooSmallError, "workspace", lambda: factz.compress(du, dv, abs=1, workspace=short)
    )
    raises(factz.InvalidArgumentError, "dst", lambda: factz.enqueue_compress(du, dv, abs=1, dst=short[1:]))
    # The device and the stream are as good as before.
    assert lib.get(factz.compress(du, dv, abs=0.01)).tobytes() == factz.compress(u, v, abs=0.01)


@step
def arrays_of_unknown_libraries(lib):
    u, v = field(301, 203)
    expected = factz.compress(u, v, abs=0.01)
    host = factz.decompress(expected)
    du, dv = lib.put(u), lib.put(v)
    for wrap in (InterfaceOnly, DLPackOnly):
        data = factz.compress(wrap(du), wrap(dv), abs=0.01)
        found = factz.decompress(data)
        for array, values in zip(found, host):
            same(values_of(array), values)
        out = lib.empty(u.shape, "f4"), lib.empty(u.shape, "f4")
        data = lib.put(np.frombuffer(expected, "u1").copy())
        factz.decompress(wrap(data), out=tuple(map(wrap, out)))
        for array, values in zip(out, host):
            same(lib.get(array), values)
        assert factz.inspect(wrap(data)) == factz.inspect(expected)
        sizes = factz.compress_sizes(u.shape, "f4", abs=0.01)
        given = [wrap(lib.empty((n,))) for n in (sizes.max_stream_bytes, sizes.workspace_bytes, 128)]
        work = factz.enqueue_compress(
            wrap(du), wrap(dv), abs=0.01, dst=given[0], workspace=given[1], report=given[2]
        )
        assert work.wait().stream_bytes == len(expected)
        same(values_of(work.result()), np.frombuffer(expected, "u1"))


@step
def a_chunk_of_an_hdf5_file(lib):
    """Compressed on the GPU, stored as it is, read through the filter."""
    try:
        import h5py

        import factz.hdf5
    except ImportError as error:
        return "HDF5 (%s)" % error
    u, v = field(301, 203)
    data = factz.compress(lib.put(u), lib.put(v), abs=0.01)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "field.h5")
        with h5py.File(path, "w") as file:
            options = factz.hdf5.options(abs=0.01, field=u.shape)
            dataset = file.create_dataset("uv", (1, 2, *u.shape), "f4", chunks=(1, 2, *u.shape), **options)
            dataset.id.write_direct_chunk((0, 0, 0, 0), lib.get(data).tobytes())
        with h5py.File(path, "r") as file:
            assert factz.compare(u, v, *file["uv"][0], abs=0.01).violations == 0


def arrays_of_both_libraries(cupy, torch):
    """Producers with a stream of their own are waited for."""
    u, v = field(1200, 900)
    expected = factz.compress(u, v, abs=0.01)
    host_u, host_v = cupy.put(u), torch.put(v)
    busy = cupy.put(np.ones((4000, 4000), "f4"))
    cupy.synchronize()
    for _ in range(3):
        du = cupy.put(np.zeros_like(u))
        cupy.synchronize()
        with cupy.stream():
            for _ in range(200):
                busy = busy * 0.5 + 1
            du[...] = host_u
            # The array says on which stream it is written; the call is on a stream of PyTorch.
            data = factz.compress(host_v, du, abs=0.01, stream=torch.stream())
        assert torch.is_own(data)
        assert torch.get(data).tobytes() == factz.compress(v, u, abs=0.01)
    data = factz.compress(cupy.put(u), host_v, abs=0.01)
    assert cupy.is_own(data) and cupy.get(data).tobytes() == expected
    du, dv = cupy.put(u), cupy.put(v)
    cupy.synchronize()
    data = factz.compress(du, dv, abs=0.01, stream=torch.stream())
    assert cupy.get(data).tobytes() == expected


def main():
    names = sys.argv[1:]
    libraries, missing, failed = [], [], 0
    for kind in (Cupy, Torch):
        try:
            libraries.append(kind())
        except Exception as error:
            missing.append("%s (%s)" % (kind.name, error))
    steps = [(lib.name, function, (lib,)) for lib in libraries for function in STEPS]
    if len(libraries) == 2:
        steps.append(("both", arrays_of_both_libraries, tuple(libraries)))
    passed = 0
    for name, function, arguments in steps:
        title = "%s: %s" % (name, function.__name__)
        if names and not any(n in title for n in names):
            continue
        try:
            lacking = function(*arguments)
        except Exception:
            traceback.print_exc()
            print("FAILED", title, flush=True)
            failed += 1
            continue
        if lacking:
            missing.append(lacking)
        else:
            passed += 1
            print("ok", title, flush=True)
    print("factz %s from %s" % (factz.__version__, os.path.dirname(factz.__file__)))
    print("not run: %s" % ("; ".join(missing) or "nothing"))
    print("%d passed, %d failed" % (passed, failed))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
