"""From the arrays of a call on a volume to what the library takes."""

import ctypes
from typing import Any, List, Sequence, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, fits, host_array, plane_rows
from ._library import check, library


def components_of(array: Any, names: Sequence[str] = ("u", "v", "w")) -> Tuple[Any, Any, Any]:
    """Views of the components in one array, (3, nz, ny, nx) or (nz, ny, nx, 3); its name is the first of the names."""
    shape, (name, *others) = np.shape(array), names
    if len(shape) != 4 or 3 not in (shape[0], shape[-1]):
        without = " without %s and %s" % tuple(others) if others else ""
        raise ValueError(
            "%s%s must be an array (3, nz, ny, nx) or (nz, ny, nx, 3), not of the shape %s" % (name, without, shape)
        )
    if shape[0] == shape[-1]:
        raise ValueError(
            "%s of the shape %s may be (3, nz, ny, nx) or (nz, ny, nx, 3): pass its components one by one"
            % (name, shape)
        )
    return tuple(array) if shape[0] == 3 else tuple(array[..., k] for k in range(3))  # type: ignore[return-value]


def check_volume(arrays: List[Array]) -> None:
    """Refuses shapes and types that are no volume."""
    shapes, types = [array.shape for array in arrays], [array.dtype for array in arrays]
    names = ", ".join(array.name for array in arrays[:2]) + " and " + arrays[2].name
    if len(shapes[0]) != 3 or len(set(shapes)) > 1:
        raise ValueError("%s must have one shape (nz, ny, nx), not %s, %s and %s" % (names, *shapes))
    if len({kind.newbyteorder("=") for kind in types}) > 1 or types[0].kind != "f" or types[0].itemsize not in (4, 8):
        raise TypeError("%s must all be float32 or all float64, not %s, %s and %s" % (names, *types))


def inputs(u: Any, v: Any, w: Any, names: Sequence[str] = ("u", "v", "w")) -> List[Array]:
    """The components as arrays that the library reads; what their layout does not suit is copied. v and w are None
    where u is one array with all components."""
    if u is not None and v is None and w is None:
        # NumPy would join a list of masked arrays without their masks.
        u, v, w = u if isinstance(u, (list, tuple)) and len(u) == 3 else components_of(np.asanyarray(u), names)
    for name, array in zip(names, (u, v, w)):
        if array is None:
            raise TypeError("%s is missing: give %s, %s and %s, or one array with all of them" % (name, *names))
    arrays = [host_array(name, array) for name, array in zip(names, (u, v, w))]
    check_volume(arrays)
    if all(map(fits, arrays)) and len(set(map(plane_rows, arrays))) == 1:
        return arrays
    copies = (np.ascontiguousarray(array.owner, array.dtype.newbyteorder("=")) for array in arrays)
    return [host_array(name, copy) for name, copy in zip(names, copies)]


def inputs_of_two(u: Any, v: Any, w: Any, u2: Any, v2: Any, w2: Any) -> Tuple[List[Array], List[Array]]:
    """The components of a volume and of another. Each is three arrays or one; where both are one, v may be
    given in place of u2."""
    if v is not None and w is u2 is v2 is w2 is None and (isinstance(u, (list, tuple)) or np.ndim(u) == 4):
        v, u2 = None, v
    return inputs(u, v, w), inputs(u2, v2, w2, ("u2", "v2", "w2"))


def room_of_volume(config: _abi.Config) -> int:
    """The bytes that hold any stream of a volume, or any fix."""
    most = ctypes.c_uint64()
    check(library.volume_stream_bytes(config, most))
    return most.value
