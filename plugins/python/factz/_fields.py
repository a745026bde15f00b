"""From the arrays of a call to addresses and layouts in its configuration."""

from typing import Any, List, NamedTuple, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, check_pair, device_array, fits, host_array, host_bytes, plane_rows
from ._arrays import set_layout, why_not
from ._device import library_of


class Placed(NamedTuple):
    """Both components of a field: what the library is told, and the arrays, which keep the memory alive."""

    u: int
    v: int
    n: int
    arrays: List[Array]

    @property
    def call(self) -> Tuple[int, int, int]:
        """The arguments of a call that name the field."""
        return self.u, self.v, self.n


def find(name: str, array: Any, queue: Any) -> Array:
    """An array in host memory (queue is None) or device memory; the queue waits for its producer."""
    if queue is None:
        return host_array(name, array)
    found, producer = device_array(name, array, queue.handle)
    # Arrays of the library that allocates follow its own rules: their users order streams themselves.
    if producer is not None and library_of(array) != queue.library and producer != (queue.handle or 1):
        queue.wait_for(producer)
    return found


def place(config: _abi.Config, u: Any, v: Any, queue: Any, names: Tuple[str, str] = ("u", "v")) -> Placed:
    """A field to read, whose layout goes into `config`. What its numbers cannot express is copied."""
    pair = [find(name, array, queue) for name, array in zip(names, (u, v))]
    check_pair(*pair)
    pair = alike(pair, queue)
    return Placed(*set_layout(config, *pair), pair)


def alike(arrays: List[Array], queue: Any) -> List[Array]:
    """Components to read, of one layout: copies of what the numbers of a configuration cannot express."""
    arrays = [array if fits(array) else _dense(array, queue) for array in arrays]
    if len(set(map(plane_rows, arrays))) > 1:
        arrays = [_dense(array, queue) for array in arrays]
    return arrays


def _dense(array: Array, queue: Any) -> Array:
    if queue is None:
        return host_array(array.name, np.ascontiguousarray(array.owner, array.dtype.newbyteorder("=")))
    if library_of(array.owner) != queue.library or not array.dtype.isnative:
        raise ValueError("%s: pass a copy" % why_not(array))
    return find(array.name, queue.dense(array.owner), queue)


def copy_of(array: Array, queue: Any) -> Any:
    """A copy without gaps in the byte order of the machine, in the memory of the array."""
    if queue is None:
        return np.array(array.owner, array.dtype.newbyteorder("="), order="C")
    return queue.copy(array.owner)


def find_output(name: str, given: Any, queue: Any) -> Array:
    """An array to write."""
    # NumPy makes arrays of lists and the like, which their owners would never see.
    if queue is None and not any(hasattr(given, "__%s__" % way) for way in ("array_interface", "dlpack")):
        raise TypeError("%s must be a NumPy array, not %s" % (name, type(given).__name__))
    return find(name, given, queue)


def check_output(array: Array) -> None:
    """Refuses an array of a field that cannot be written in place."""
    if array.readonly:
        raise ValueError("%s is read-only: pass an array that may be written" % array.name)
    if not fits(array):
        raise ValueError("%s: pass another array" % why_not(array))


def place_output(config: _abi.Config, out: Any, queue: Any) -> Placed:
    """A field to write, whose layout goes into `config`; of one array both components are that array."""
    names = ("out[0]", "out[1]")
    if len(out) == 1:
        names, out = ("out", "out"), (out[0], out[0])
    pair = [find_output(name, array, queue) for name, array in zip(names, out)]
    check_pair(*pair)
    for array in pair:
        check_output(array)
    if plane_rows(pair[0]) != plane_rows(pair[1]):
        raise ValueError(
            "%s has %d rows from a plane to the next and %s %d: pass arrays of one layout"
            % (names[0], plane_rows(pair[0]), names[1], plane_rows(pair[1]))
        )
    return Placed(*set_layout(config, *pair), pair)


def find_bytes(name: str, data: Any, queue: Any) -> Array:
    """Bytes without gaps, in host or device memory."""
    if queue is None:
        return host_bytes(name, data)
    found = find(name, data, queue)
    if found.dtype.itemsize != 1 or len(found.shape) != 1 or not found.is_dense():
        raise TypeError(
            "%s must be a contiguous array of uint8, not %s of the shape %s"
            % (name, found.dtype, found.shape)
        )
    return found


def buffer(name: str, given: Any, size: int, queue: Any) -> Array:
    """Device memory to write: that of the caller, or new memory of `size` bytes."""
    found = find_bytes(name, queue.empty((size,), np.uint8) if given is None else given, queue)
    if found.readonly:
        raise ValueError("%s is read-only: pass an array that may be written" % name)
    return found
