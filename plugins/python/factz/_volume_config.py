"""From the arrays and options of a call on a volume to its configuration and the addresses."""

import ctypes
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from . import _abi
from ._config import (
    CHOICES,
    DTYPES,
    SIDES_OF_VOLUME,
    Sides,
    axes_of_volume,
    float_of,
    number_of,
    sides_of,
)
from ._library import check, library

_NAMES = ("u", "v", "w")


def dense_components(arrays: Tuple[Any, Any, Any], names: Sequence[str] = _NAMES) -> List[np.ndarray]:
    """The components as dense arrays of one shape and type."""
    found = [np.asarray(array) for array in arrays]
    shapes, types = [array.shape for array in found], [array.dtype for array in found]
    if len(shapes[0]) != 3 or len(set(shapes)) > 1:
        raise ValueError(
            "%s, %s and %s must have one shape (nz, ny, nx), not %s, %s and %s" % (*names, *shapes)
        )
    if len(set(types)) > 1 or types[0].kind != "f" or types[0].itemsize not in (4, 8):
        raise TypeError(
            "%s, %s and %s must all be float32 or all float64, not %s, %s and %s" % (*names, *types)
        )
    return [np.ascontiguousarray(array, array.dtype.newbyteorder("=")) for array in found]


def configured_dense_volume(
    components: List[np.ndarray],
    abs: Optional[float],
    rel: Optional[float],
    *,
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
) -> Tuple[_abi.Config, List[int], int]:
    """The configuration of dense components, the addresses of their first vertices behind the ghosts, and the
    number of vertices without ghosts."""
    if (abs is None) == (rel is None):
        raise ValueError("give one bound: abs= or rel=; there %s" % ("is none" if abs is None else "are both"))
    ghosts, lengths = sides_of("halo", halo, SIDES_OF_VOLUME), components[0].shape[::-1]
    before = [ghosts >> 2 * axis & 1 for axis in range(3)]
    sizes = [n - before[axis] - (ghosts >> 2 * axis + 1 & 1) for axis, n in enumerate(lengths)]
    if min(sizes) < 0:
        raise ValueError("halo=%r: the shape %s has no room for the ghosts" % (halo, components[0].shape))
    kind = _abi.BOUND_RELATIVE if abs is None else _abi.BOUND_ABSOLUTE
    bound = float_of("rel", rel) if abs is None else float_of("abs", abs)
    config = _abi.Config()
    check(library.config_init_volume(config, *sizes, kind, bound))
    config.dtype = DTYPES[components[0].dtype.name]
    config.u_pitch = config.v_pitch = config.w_pitch = lengths[0]
    config.plane_rows = lengths[1]
    for option, value in (("preserve", preserve), ("ties", ties)):
        setattr(config, option, number_of(option, value, CHOICES[option]))
    config.dx, config.dy, config.dz = (float_of(n, d) for n, d in (("dx", dx), ("dy", dy), ("dz", dz)))
    config.pin, config.halo = sides_of("pin", pin, SIDES_OF_VOLUME), ghosts
    config.periodic = axes_of_volume("periodic", periodic)
    if fill is not None:
        config.has_fill_value, config.fill_value = 1, float_of("fill", fill)
    first = (before[2] * lengths[1] + before[1]) * lengths[0] + before[0]
    addresses = [component.ctypes.data + first * component.itemsize for component in components]
    return config, addresses, sizes[0] * sizes[1] * sizes[2]


def room_of_volume(config: _abi.Config) -> int:
    """The bytes that hold any stream of a volume, or any fix."""
    most = ctypes.c_uint64()
    check(library.volume_stream_bytes(config, most))
    return most.value
