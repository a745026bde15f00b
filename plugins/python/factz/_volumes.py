"""compress_volume and decompress_volume: three components on a grid of cubes."""

from typing import Any, Optional, Tuple

import numpy as np

from . import _abi
from ._config import CHOICES, DTYPES, Sides, count_of, name_of, number_of
from ._fields import find_bytes
from ._library import check, library
from ._results import Report
from ._volume_config import configured_volume, dense_components, room_of_volume


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
    pin: Sides = None,
    halo: Sides = None,
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
        halo: sides where the arrays hold one layer of ghosts, with the values of a neighbouring block: the
            tetrahedra between blocks are kept then, whatever the other block does. The shape counts the ghosts.
        periodic: periodic axes, for instance "xyz".

    Returns:
        The compressed data.

    Raises:
        ValueError, TypeError: arguments that are no volume.
        FactzError: as :func:`compress`.
    """
    components = dense_components((u, v, w))
    options = {"preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "dz": dz, "pin": pin, "fill": fill}
    config, addresses, vertices = configured_volume(
        components, abs, rel, halo=halo, periodic=periodic, **options
    )
    config.coder, found = number_of("coder", coder, CHOICES["coder"]), _abi.Report()
    # Pages that nothing is written to take no memory.
    data = np.empty(room_of_volume(config), np.uint8)
    call = (*addresses, vertices, config, *find_bytes("data", data, None).memory, found)
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
