"""Arrays that lie in host memory and claim to be on a device, by the CUDA array interface or by DLPack, with a
stand-in for CuPy that allocates. GPUs of the machine are hidden.
"""

import contextlib
import ctypes
import os
import sys
import types
import unittest
from unittest import mock

import numpy as np
from support import field, waves_in_space

# A driver that knows no device never sees these addresses.
os.environ["CUDA_VISIBLE_DEVICES"] = ""

from factz import _arrays
from factz._library import library

STREAM = 0x1234


def aligned(shape, dtype):
    """Memory at a multiple of 512 bytes, as CUDA's."""
    dtype = np.dtype(dtype)
    memory = np.zeros(int(np.prod(shape)) * dtype.itemsize + 512, np.uint8)
    start = -memory.ctypes.data % 512
    return memory[start : len(memory) - 512 + start].view(dtype).reshape(shape)


class Interface:
    """An array with the CUDA array interface."""

    def __init__(self, array, device=0, **changes):
        self.array, self.device = array, types.SimpleNamespace(id=device)
        found = array.__array_interface__
        strides = None if array.flags.c_contiguous else array.strides
        self.__cuda_array_interface__ = dict(
            {
                "shape": found["shape"],
                "typestr": found["typestr"],
                "data": (array.ctypes.data, not array.flags.writeable),
                "strides": strides,
                "version": 3,
            },
            **changes,
        )

    def __getitem__(self, part):
        return type(self)(self.array[part])

    def __setitem__(self, part, values):
        self.array[part] = values.array


class FakeCupyArray(Interface):
    @property
    def shape(self):
        return self.array.shape

    def copy(self):
        return FakeCupyArray(self.array.copy())

    def get(self):
        return self.array


FakeCupyArray.__module__ = "cupy"


def waves(shape, dtype="f4"):
    """u, v and w of a volume."""
    return [np.ascontiguousarray(a) for a in waves_in_space(shape).astype(dtype)]


def device_copy(array):
    memory = aligned(array.shape, array.dtype)
    memory[:] = array
    return memory


class FakeStream:
    def __init__(self, ptr):
        self.ptr = ptr

    def __enter__(self):
        FakeStream.current.append(self.ptr)
        return self

    def __exit__(self, *_):
        FakeStream.current.pop()

    def synchronize(self):
        pass

    current = [STREAM]


def fake_cupy():
    cupy = types.ModuleType("cupy")
    cupy.empty = lambda shape, dtype: FakeCupyArray(aligned(shape, dtype))
    cupy.ndarray = FakeCupyArray
    cupy.asarray = lambda array: FakeCupyArray(array.array)
    cupy.from_dlpack = lambda array: FakeCupyArray(array.array)
    cupy.ascontiguousarray = lambda array: FakeCupyArray(device_copy(array.array))
    cupy.cuda = types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(number),
        ExternalStream=FakeStream,
        get_current_stream=lambda: FakeStream(FakeStream.current[-1]),
    )
    return cupy


class Tensor(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _arrays._DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class DLPack:
    """An array with DLPack alone."""

    def __init__(self, array, kind=2, device=0, code=2, offset=0):
        size = array.itemsize
        self.array, self.where, self.streams = array, (kind, device), []
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(s // size for s in array.strides))
        self.managed = Tensor()
        t = self.managed.tensor
        t.data, t.byte_offset = array.ctypes.data - offset, offset
        t.device_type, t.device_id = kind, device
        t.ndim, t.code, t.bits, t.lanes = array.ndim, code, 8 * size, 1
        t.shape, t.strides = self.shape, self.strides

    def __dlpack_device__(self):
        return self.where

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor", None)


class WithCupy(unittest.TestCase):
    def setUp(self):
        patch = mock.patch.dict(sys.modules, {"cupy": fake_cupy()})
        patch.start()
        self.addCleanup(patch.stop)
        self.u, self.v = (device_copy(a) for a in field(60, 40))

    def called(self, name, call):
        """The arguments that a call hands to a function of the library, which enqueues nothing here."""
        seen = []

        def stand_in(*arguments):
            seen.append((arguments, FakeStream.current[-1]))
            return 0

        with mock.patch.object(library, name, stand_in):
            result = call()
        self.assertEqual(len(seen), 1)
        return (*seen[0], result)
