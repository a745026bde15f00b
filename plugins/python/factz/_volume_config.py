"""From the arrays of a call on a volume to what the library takes."""

import ctypes
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, check_types, plane_rows, refuse_device
from ._fields import alike, check_output, find, find_output
from ._library import check, library


def components_of(array: Any, names: Sequence[str] = ("u", "v", "w")) -> Tuple[Any, Any, Any]:
    """Views of the components in one array, (3, nz, ny, nx) or (nz, ny, nx, 3); its name is the first of the names."""
    shape, (name, *others) = tuple(np.shape(array)), names
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
    u, v, w = (array[k] if shape[0] == 3 else array[..., k] for k in range(3))
    return u, v, w


def check_volume(arrays: List[Array]) -> None:
    """Refuses shapes and types that are no volume."""
    shapes, types = [array.shape for array in arrays], [array.dtype for array in arrays]
    names = ", ".join(array.name for array in arrays[:2]) + " and " + arrays[2].name
    if len(shapes[0]) != 3 or len(set(shapes)) > 1:
        raise ValueError("%s must have one shape (nz, ny, nx), not %s, %s and %s" % (names, *shapes))
    check_types(arrays)
    if len({kind.newbyteorder("=") for kind in types}) > 1:
        raise TypeError("%s must all be float32 or all float64, not %s, %s and %s" % (names, *types))


def given(u: Any, v: Any, w: Any, names: Sequence[str] = ("u", "v", "w")) -> Dict[str, Any]:
    """The arrays of a call by their names: three, or one with all components, where v and w are None."""
    if u is not None and v is None and w is None:
        # NumPy would join a list of masked arrays without their masks.
        if not (isinstance(u, (list, tuple)) and len(u) == 3):
            return {names[0]: u}
        u, v, w = u
    for name, array in zip(names, (u, v, w)):
        if array is None:
            raise TypeError("%s is missing: give %s, %s and %s, or one array with all of them" % (name, *names))
    return dict(zip(names, (u, v, w)))


def inputs(u: Any, v: Any, w: Any, names: Sequence[str] = ("u", "v", "w"), queue: Any = None) -> List[Array]:
    """The components as arrays that the library reads; what their layout does not suit is copied. v and w are None
    where u is one array with all components."""
    arrays = given(u, v, w, names)
    if len(arrays) == 1:
        arrays = dict(zip(names, components_of(_whole(names[0], u, queue), names)))
    found = [find(name, array, queue) for name, array in arrays.items()]
    check_volume(found)
    return alike(found, queue)


def _whole(name: str, array: Any, queue: Any) -> Any:
    """An array with all components that is sliced without a copy."""
    if queue is None:
        refuse_device(name, array)
        return np.asanyarray(array)
    # The queue waits for the producer of the array, and slices it with the library that allocates.
    find(name, array, queue)
    with queue.active():
        return queue.own(array)


def given_outputs(out: Any) -> Dict[str, Any]:
    """The arrays of an output by their names: one with all components, or three."""
    if any(hasattr(out, name) for name in ("shape", "__cuda_array_interface__", "__dlpack__")):
        return {"out": out}
    try:
        arrays = tuple(out)
    except TypeError:
        raise ValueError("out must be three arrays, (u, v, w), or one with all of them, not %r" % (out,)) from None
    if len(arrays) != 3:
        raise ValueError(
            "out has %d arrays: it must be three, (u, v, w), or one with all of them" % len(arrays)
        )
    return {"out[%d]" % k: array for k, array in enumerate(arrays)}


def components_of_output(out: Any, queue: Any = None) -> Tuple[Any, Any, Any]:
    """The components of an output, as they were given or as views of one array."""
    arrays = given_outputs(out)
    if "out" not in arrays:
        u, v, w = arrays.values()
        return u, v, w
    if queue is not None:
        if find_output("out", out, queue).readonly:
            raise ValueError("out is read-only: pass an array that may be written")
        out = _whole("out", out, queue)
    return components_of(out, ["out"])


def outputs(out: Any, queue: Any = None) -> Tuple[Tuple[Any, Any, Any], List[Array]]:
    """The components of an output, as they were given and as the library writes them."""
    u, v, w = components_of_output(out, queue)
    found = [find_output("out[%d]" % k, array, queue) for k, array in enumerate((u, v, w))]
    check_volume(found)
    for array in found:
        check_output(array)
    if len(set(map(plane_rows, found))) > 1:
        raise ValueError("the arrays of out have different rows from a plane to the next: pass arrays of one layout")
    return (u, v, w), found


OTHER_NAMES = ("u2", "v2", "w2")
Components = Tuple[Any, Any, Any]


def two_volumes(u: Any, v: Any, w: Any, u2: Any, v2: Any, w2: Any) -> Tuple[Components, Components]:
    """The arguments of a volume and of another. Each is three arrays or one; where both are one, v may be
    given in place of u2."""
    if v is not None and w is u2 is v2 is w2 is None and (isinstance(u, (list, tuple)) or _axes(u) == 4):
        v, u2 = None, v
    return (u, v, w), (u2, v2, w2)


def _axes(array: Any) -> int:
    described = getattr(array, "__cuda_array_interface__", None)
    return len(described["shape"]) if described else np.ndim(array)


def inputs_of_two(u: Any, v: Any, w: Any, u2: Any, v2: Any, w2: Any) -> Tuple[List[Array], List[Array]]:
    """The components of a volume and of another in host memory."""
    first, other = two_volumes(u, v, w, u2, v2, w2)
    return inputs(*first), inputs(*other, OTHER_NAMES)


def room_of_volume(config: _abi.Config) -> int:
    """The bytes that hold any stream of a volume, or any fix."""
    most = ctypes.c_uint64()
    check(library.volume_stream_bytes(config, most))
    return most.value
