"""Properties of arrays for the library: address, shape, element type and layout, in host or device memory.

Nothing is copied where row pitch and element stride can express the array.
"""

import ctypes
import os
from typing import Any, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from . import _abi
from ._config import SIDES_OF_VOLUME

CUDA, CUDA_MANAGED = 2, 13  # DLDeviceType of DLPack
HOST = (1, 3)  # host memory and pinned host memory


class Array:
    """An array as the library sees it.

    Attributes:
        name: the name of the argument, for messages.
        owner: the array itself.
        address: of the first element.
        shape: of the whole array.
        strides: in bytes.
        dtype: a NumPy dtype.
        readonly: whether its owner forbids to write.
        capsule: of DLPack, which holds the memory as long as it lives.
    """

    __slots__ = ("name", "owner", "address", "shape", "strides", "dtype", "readonly", "capsule")

    def __init__(self, name, owner, address, shape, strides, dtype, readonly, capsule=None):
        self.name, self.owner, self.address, self.capsule = name, owner, address, capsule
        self.shape, self.dtype, self.readonly = tuple(shape), dtype, readonly
        self.strides = tuple(strides) if strides is not None else dense(self.shape, dtype.itemsize)

    @property
    def nbytes(self) -> int:
        size = self.dtype.itemsize
        for length in self.shape:
            size *= length
        return size

    @property
    def memory(self) -> Tuple[int, int]:
        """Address and size, arguments of a call."""
        return self.address, self.nbytes

    def is_dense(self) -> bool:
        """Whether the elements lie one after another; strides along axes of length 1 do not matter."""
        steps = dense(self.shape, self.dtype.itemsize)
        return all(n == 1 or a == b for n, a, b in zip(self.shape, self.strides, steps))


def dense(shape: Sequence[int], itemsize: int) -> Tuple[int, ...]:
    """Strides in bytes of an array without gaps, the last axis fastest."""
    strides: List[int] = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return tuple(reversed(strides))


# ---------------------------------------------------------------- host memory


def host_array(name: str, array: Any) -> Array:
    """A NumPy array, or an object that NumPy makes one of; without a copy if it has memory of its own."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(
            "%s is a masked array, whose masked values would be taken as data: pass %s.filled(x) and fill=x"
            % (name, name)
        )
    refuse_device(name, array)
    owner = np.asarray(array)
    interface = owner.__array_interface__
    address, readonly = interface["data"]
    return Array(name, owner, address, owner.shape, owner.strides, owner.dtype, readonly)


def host_bytes(name: str, data: Any) -> Array:
    """Bytes in host memory, from an object with the buffer protocol."""
    try:
        owner = np.frombuffer(data, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        if isinstance(data, (bytes, bytearray, memoryview)) and not len(data):
            owner = np.empty(0, np.uint8)
        else:
            if isinstance(data, (str, os.PathLike)):
                raise TypeError(
                    "%s must be bytes or another contiguous buffer, or device memory, not %s: factz.load reads "
                    "a file" % (name, type(data).__name__)
                ) from None
            raise TypeError(
                "%s must be bytes or another contiguous buffer, or device memory, not %s (%s)"
                % (name, type(data).__name__, error)
            ) from None
    return Array(name, owner, owner.__array_interface__["data"][0], owner.shape, None, owner.dtype, True)


# ---------------------------------------------------------------- device memory


def refuse_device(name: str, array: Any) -> None:
    """Refuses an array in device memory in a call that works on the host."""
    if is_device(array):
        raise TypeError(
            "%s is in device memory, and this call takes host memory: copy it there (.get(), .cpu())" % name
        )


def is_device(array: Any) -> bool:
    """Whether an array is in the memory of a CUDA device."""
    if isinstance(array, (np.ndarray, bytes, bytearray, memoryview)):
        return False
    if hasattr(array, "__cuda_array_interface__"):
        return True
    if not hasattr(array, "__dlpack_device__"):
        return False
    kind = int(array.__dlpack_device__()[0])
    if kind in (CUDA, CUDA_MANAGED):
        return True
    if kind not in HOST:
        raise TypeError(
            "%s is on a device of DLPack type %d: factz takes host memory and CUDA devices"
            % (type(array), kind)
        )
    return False


def device_array(name: str, array: Any, stream: int) -> Tuple[Array, Optional[int]]:
    """An array in device memory, and the CUDA stream that its producer asks to wait for, if any.

    ``stream`` is the CUDA stream that reads or writes it: a producer with DLPack alone orders its own work
    before it.
    """
    interface = getattr(array, "__cuda_array_interface__", None)
    if interface is None:
        return _from_dlpack(name, array, stream), None
    if interface.get("mask") is not None:
        raise TypeError("%s has a mask: fill it and pass fill=" % name)
    address, readonly = interface["data"]
    producer = interface.get("stream")
    found = Array(
        name,
        array,
        address or 0,
        interface["shape"],
        interface.get("strides"),
        np.dtype(interface["typestr"]),
        readonly,
    )
    return found, producer


class _DLTensor(ctypes.Structure):
    """DLTensor of DLPack 0 and 1; a capsule named "dltensor" begins with one."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype, _capsule_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_KINDS = {0: "i", 1: "u", 2: "f"}


def _from_dlpack(name: str, array: Any, stream: int) -> Array:
    # DLPack calls the default stream 1.
    capsule = array.__dlpack__(stream=stream or 1)
    tensor = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    kind = _KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1 or tensor.bits % 8:
        raise TypeError(
            "%s has elements of DLPack type %d: convert it to float32 or float64" % (name, tensor.code)
        )
    dtype = np.dtype("=%s%d" % (kind, tensor.bits // 8))
    shape = tensor.shape[: tensor.ndim]
    strides = [s * dtype.itemsize for s in tensor.strides[: tensor.ndim]] if tensor.strides else None
    # Nobody consumes the capsule, so it releases the memory when it goes.
    address = (tensor.data or 0) + tensor.byte_offset
    return Array(name, array, address, shape, strides, dtype, False, capsule)


def device_of(array: Any) -> Optional[int]:
    """The number of the CUDA device that an array lies on, or None where the array does not say."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[1])
    device = getattr(array, "device", None)
    number = getattr(device, "id", getattr(device, "index", None))
    return None if number is None else int(number)


class _Described:
    """Describes an array to NumPy by its address, without access to its values, which may be on a device."""

    def __init__(self, array: Array):
        self.__array_interface__ = {
            "data": (array.address, True),
            "shape": array.shape,
            "strides": array.strides,
            "typestr": array.dtype.str,
            "version": 3,
        }


def share_values(a: Array, b: Array) -> bool:
    """Whether two arrays have a value in common."""
    return np.shares_memory(np.asarray(_Described(a)), np.asarray(_Described(b)))


# ---------------------------------------------------------------- fields


def fits(array: Array) -> bool:
    """Whether the stride, the pitch and the rows from plane to plane, all positive, express the array."""
    (ny, nx), size = array.shape[-2:], array.dtype.itemsize
    along_y, along_x = array.strides[-2:]
    if not array.dtype.isnative:
        return False
    if nx > 1 and (along_x <= 0 or along_x % size):
        return False
    row = (nx - 1) * along_x + size if nx > 1 else size
    if ny > 1 and (along_y < row or along_y % size):
        return False
    if planes_of(array) <= 1:
        return True
    along_z = array.strides[0]
    if ny > 1:
        return along_z >= ny * along_y and along_z % along_y == 0
    return along_z >= row and along_z % size == 0


def planes_of(array: Array) -> int:
    """The planes of a stack, 1 of a plane."""
    return array.shape[0] if len(array.shape) == 3 else 1


def plane_rows(array: Array) -> int:
    """The rows from a plane of a stack to the next one; 0 where there is none."""
    if planes_of(array) <= 1:
        return 0
    # Of planes with one row the pitch leads from plane to plane.
    return array.strides[0] // array.strides[1] if array.shape[1] > 1 else 1


def why_not(array: Array) -> str:
    """The reason why an array does not fit."""
    if not array.dtype.isnative:
        return "%s has the byte order of another machine (%s)" % (array.name, array.dtype.str)
    return (
        "%s has the strides %s bytes; they must be positive multiples of the item size, that of planes a "
        "multiple of that of rows, and a row and a plane must end before the next one begins"
        % (array.name, array.strides)
    )


def check_pair(u: Array, v: Array) -> None:
    """Refuses shapes and types that are no field."""
    if len(u.shape) not in (2, 3) or u.shape != v.shape:
        message = "%s and %s must both have the shape (ny, nx) or (nz, ny, nx), not %s and %s" % (
            u.name,
            v.name,
            u.shape,
            v.shape,
        )
        if len(u.shape) > 3 and u.shape == v.shape:
            message += ": pass them as planes, with .reshape(-1, %d, %d)" % u.shape[-2:]
        raise ValueError(message)
    check_types((u, v))
    if u.dtype.itemsize != v.dtype.itemsize:
        raise TypeError("%s is %s and %s is %s: convert one of them" % (u.name, u.dtype, v.name, v.dtype))


def check_types(arrays: Iterable[Array]) -> None:
    """Refuses elements that no stream holds."""
    for array in arrays:
        if array.dtype.kind != "f" or array.dtype.itemsize not in (4, 8):
            raise TypeError(
                "%s has elements of type %s: factz takes float32 and float64, convert it with .astype"
                % (array.name, array.dtype)
            )


def set_layout(config: _abi.Config, *components: Array) -> Tuple[int, ...]:
    """Writes shape, type and layout of u and v, or of u, v and w, into a configuration, whose halo says which lines
    of the arrays are ghosts. All arrays have the same rows from plane to plane.

    Returns the address of the first owned value of each, and the number of owned vertices.
    """
    u = components[0]
    size, halo = u.dtype.itemsize, config.halo
    ny, nx = u.shape[-2:]
    x_min, x_max, y_min, y_max, z_min, z_max = (halo & bit != 0 for bit in SIDES_OF_VOLUME.values())
    owned_x, owned_y, owned_z = nx - x_min - x_max, ny - y_min - y_max, planes_of(u) - z_min - z_max
    if halo and min(owned_x, owned_y, owned_z) < 1:
        raise ValueError(
            "halo leaves nothing of arrays of the shape %s: they must include the ghost lines" % (u.shape,)
        )
    config.nx, config.ny, config.nz = owned_x, owned_y, owned_z
    config.plane_rows = plane_rows(u)
    config.dtype = _abi.DTYPE_F32 if size == 4 else _abi.DTYPE_F64
    addresses = []
    for component, array in zip("uvw", components):
        stride = array.strides[-1] // size if nx > 1 else 1
        if ny > 1:
            pitch = array.strides[-2] // size
        else:
            pitch = array.strides[0] // size if planes_of(u) > 1 else nx * stride
        setattr(config, component + "_pitch", pitch)
        setattr(config, component + "_stride", stride)
        rows = z_min * config.plane_rows + y_min
        addresses.append(array.address + (rows * pitch + x_min * stride) * size)
    return (*addresses, owned_x * owned_y * owned_z)
