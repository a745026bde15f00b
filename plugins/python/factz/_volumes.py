"""compress_volume and decompress_volume: three components on a grid of cubes."""

import ctypes
from typing import Any, List, Optional, Tuple

import numpy as np

from . import _abi
from ._config import (
    CHOICES,
    DTYPES,
    SIDES_OF_VOLUME,
    axes_of_volume,
    count_of,
    float_of,
    name_of,
    number_of,
    sides_of,
)
from ._fields import find_bytes
from ._library import check, library
from ._results import Report


def _dense(arrays: Tuple[Any, Any, Any], names: str = "u, v and w") -> List[np.ndarray]:
    """The components as dense arrays of one shape and type."""
    found = [np.asarray(array) for array in arrays]
    shapes, types = [array.shape for array in found], [array.dtype for array in found]
    if len(shapes[0]) != 3 or len(set(shapes)) > 1:
        raise ValueError("%s must have one shape (nz, ny, nx), not %s, %s and %s" % (names, *shapes))
    if len(set(types)) > 1 or types[0].kind != "f" or types[0].itemsize not in (4, 8):
        raise TypeError("%s must all be float32 or all float64, not %s, %s and %s" % (names, *types))
    return [np.ascontiguousarray(array, array.dtype.newbyteorder("=")) for array in found]


def _given_bound(abs: Optional[float], rel: Optional[float]) -> Tuple[int, float]:
    """The kind of the one bound that is given, and its value."""
    if (abs is None) == (rel is None):
        raise ValueError("give one bound: abs= or rel=; there %s" % ("is none" if abs is None else "are both"))
    if abs is None:
        return _abi.BOUND_RELATIVE, float_of("rel", rel)
    return _abi.BOUND_ABSOLUTE, float_of("abs", abs)


def _configured(
    component: np.ndarray,
    bound: Tuple[int, float],
    *,
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
) -> _abi.Config:
    """The configuration of a dense volume with the shape and type of a component."""
    nz, ny, nx = component.shape
    config = _abi.Config()
    check(library.config_init_volume(config, nx, ny, nz, *bound))
    config.dtype = DTYPES[component.dtype.name]
    config.ties = number_of("ties", ties, CHOICES["ties"])
    config.dx, config.dy, config.dz = (float_of(n, d) for n, d in (("dx", dx), ("dy", dy), ("dz", dz)))
    config.periodic = axes_of_volume("periodic", periodic)
    if fill is not None:
        config.has_fill_value, config.fill_value = 1, float_of("fill", fill)
    return config


def compress_volume(
    u: Any,
    v: Any,
    w: Any,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    coder: str = "ans",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    pin: Optional[str] = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    threads: int = 0,
    report: Optional[Report] = None,
) -> bytes:
    """Compresses a volume and keeps every critical point in its tetrahedron.

    Each cube of vertices is divided into six tetrahedra along its main diagonal.

    Args:
        u, v, w: components along x, y and z: arrays of the shape (nz, ny, nx), float32 or float64, in host memory,
            at least 2 vertices along each axis.
        abs, rel: the error bound; give one of them. ``rel`` is a fraction of the joint range of u, v and w.
        coder, preserve, fill, threads, report: as in :func:`compress`.
        ties: "all" or "zeros": what tetrahedra keep whose zero lies on a face, an edge or a vertex.
        dx, dy, dz: grid spacing, negative where the axis runs against the component.
        pin: sides that are stored exactly: names of :func:`compress`, "zmin" and "zmax", joined by +, or "all".
        periodic: periodic axes, for instance "xyz".

    Returns:
        The compressed data.

    Raises:
        ValueError, TypeError: arguments that are no volume.
        FactzError: as :func:`compress`.
    """
    components = _dense((u, v, w))
    options = {"ties": ties, "dx": dx, "dy": dy, "dz": dz, "fill": fill, "periodic": periodic}
    config, found = _configured(components[0], _given_bound(abs, rel), **options), _abi.Report()
    for option, value in (("coder", coder), ("preserve", preserve)):
        setattr(config, option, number_of(option, value, CHOICES[option]))
    config.pin = sides_of("pin", pin, SIDES_OF_VOLUME)
    most = ctypes.c_uint64()
    check(library.volume_stream_bytes(config, most))
    # Pages that nothing is written to take no memory.
    data = np.empty(most.value, np.uint8)
    addresses = [component.ctypes.data for component in components]
    call = (*addresses, components[0].size, config, *find_bytes("data", data, None).memory, found)
    check(library.compress_volume_host(*call, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return data[: found.stream_bytes].tobytes()


def decompress_volume(
    data: Any, *, threads: int = 0, verify: bool = True, report: Optional[Report] = None
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Restores a volume from data of :func:`compress_volume`.

    Args:
        data: bytes or another contiguous buffer. Bytes behind the end are ignored.
        threads, verify, report: as in :func:`decompress`.

    Returns:
        New arrays (u, v, w) of the shape (nz, ny, nx).

    Raises:
        InvalidArgumentError: the data hold planes.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress`.
    """
    memory = find_bytes("data", data, None).memory
    info = _abi.Info()
    check(library.inspect_host(*memory, info))
    shape, dtype = (info.nz, info.ny, info.nx), np.dtype(name_of(info.dtype, DTYPES))
    config, found = _abi.Config(), _abi.Report()
    check(library.config_init_volume(config, info.nx, info.ny, info.nz, _abi.BOUND_ABSOLUTE, 0.0))
    config.dtype, config.verify_checksum = info.dtype, int(verify)
    components = tuple(np.empty(shape, dtype) for _ in range(3))
    call = (*memory, config, *(c.ctypes.data for c in components), components[0].size, found)
    check(library.decompress_volume_host(*call, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return components
