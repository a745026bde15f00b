"""tests/gpu/python_device.py holds with a stand-in for CuPy, whose arrays are in host memory.

The host functions do the work of the device functions, which check their arguments and find no device:
results, reports and errors take the path that they take on a GPU.
"""

import contextlib
import ctypes
import runpy
import sys
import types
from unittest import mock

import numpy as np
from device_arrays import DLPack, aligned
from support import ROOT

from factz import _abi, _arrays, _device
from factz._library import library

# Calls of a stream that is being captured, in order; None while none is.
captured = None


class ndarray(np.ndarray):
    """An array that says it is on a device."""

    @property
    def __cuda_array_interface__(self):
        return dict(self.__array_interface__, version=3)

    def get(self):
        return np.array(self)

    def copy(self):
        return asarray(self.get())

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        self.described = DLPack(self.view(np.ndarray), code={"u": 1, "f": 2}[self.dtype.kind])
        return self.described.__dlpack__(**options)


ndarray.__module__ = "cupy"


def empty(shape, dtype):
    return aligned(shape, dtype).view(ndarray)


def asarray(array):
    if isinstance(array, ndarray):
        return array
    if not isinstance(array, np.ndarray):
        return array.array
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


class Stream:
    """Work is done at once, or kept while the stream is captured."""

    def __init__(self, ptr=0x77, non_blocking=False):
        self.ptr = ptr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def synchronize(self):
        assert captured is None, "nothing may wait for a stream that is being captured"

    def begin_capture(self):
        global captured
        captured = []

    def end_capture(self):
        global captured
        calls, captured = captured, None
        return types.SimpleNamespace(launch=lambda stream: [call() for call in calls])


def stand_in():
    cupy = types.ModuleType("cupy")
    cupy.ndarray, cupy.empty, cupy.asarray = ndarray, empty, asarray
    cupy.asnumpy = lambda array: array.get()
    cupy.from_dlpack = lambda array: array.array
    cupy.ascontiguousarray = lambda array: asarray(np.array(array, order="C", subok=False))
    cupy.stack = lambda arrays, axis: asarray(np.stack([a.view(np.ndarray) for a in arrays], axis))
    cupy.cuda = types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        Stream=Stream,
        ExternalStream=Stream,
        get_current_stream=Stream,
        runtime=types.SimpleNamespace(getDeviceCount=lambda: 1, deviceSynchronize=lambda: None),
    )
    return cupy


# The workspace comes behind this many arguments of a device function, and then the result. Critical points
# have none: their count is the last of these arguments.
TWINS = {
    "compress": (6, _abi.Report),
    "decompress": (6, _abi.Report),
    "decompress_planes": (7, _abi.Report),
    "range": (4, _abi.Range),
    "compare": (7, _abi.Comparison),
    "critical_points": (7, None),
    "compress_volume": (7, _abi.Report),
    "decompress_volume": (7, _abi.Report),
    "protect": (9, _abi.FixReport),
    "apply": (6, _abi.FixReport),
    "protect_volume": (11, _abi.FixReport),
    "apply_volume": (7, _abi.FixReport),
}


def decompress_planes(src, src_bytes, config, first, *arguments):
    """Planes as a region of all columns and rows."""
    return library.decompress_region_host(src, src_bytes, config, 0, 0, first, *arguments)


def on_host(name):
    """The host function as the device function that checks its arguments first."""
    device = getattr(library, name + "_device")
    host = decompress_planes if name == "decompress_planes" else getattr(library, name + "_host")
    first, result = TWINS[name]

    def call(*arguments):
        status = device(*arguments)
        if status != _abi.ERROR_NO_DEVICE:
            return status
        inputs = list(arguments[:first])
        if result is not None:
            inputs.append(result.from_address(arguments[first + 2]))
        else:
            inputs[-1] = ctypes.c_uint64.from_address(inputs[-1])
        if captured is None:
            host(*inputs, 0)
        else:
            captured.append(lambda: host(*inputs, 0))
        return _abi.OK

    return call


def run(script):
    """Runs a script of tests/gpu with the stand-in."""
    is_device = _arrays.is_device
    claims = mock.Mock(side_effect=lambda array: isinstance(array, ndarray) or is_device(array))
    changes = [
        mock.patch.dict(sys.modules, {"cupy": stand_in(), "torch": None}),
        mock.patch.object(_arrays, "is_device", claims),
        mock.patch.object(_device, "is_device", claims),
        mock.patch.object(library, "prepare_device", lambda stream: _abi.OK),
        mock.patch.object(sys, "argv", [script]),
    ]
    changes += [mock.patch.object(library, name + "_device", on_host(name)) for name in TWINS]
    with contextlib.ExitStack() as stack:
        for change in changes:
            stack.enter_context(change)
        runpy.run_path(str(ROOT / "tests/gpu" / script), run_name="__main__")


if __name__ == "__main__":
    run("python_device.py")
