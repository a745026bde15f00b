"""compress_volume and decompress_volume: three components on a grid of cubes."""

from typing import Any, List, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, plane_rows, set_layout
from ._config import DTYPES, Sides, configured_volume, count_of, name_of
from ._fields import check_output, find_bytes, find_output
from ._library import check, library
from ._region import decompress_volume_part, is_file
from ._results import Report
from ._volume_config import check_volume, components_of, inputs, room_of_volume


def _outputs(out: Any) -> Tuple[Tuple[Any, Any, Any], List[Array]]:
    """The components of an output, as they were given and as the library writes them."""
    given = components_of(out, ["out"]) if hasattr(out, "shape") else tuple(out)
    if len(given) != 3:
        raise ValueError("out has %d arrays: it must be three, (u, v, w), or one with all of them" % len(given))
    arrays = [find_output("out[%d]" % k, array, None) for k, array in enumerate(given)]
    check_volume(arrays)
    for array in arrays:
        check_output(array)
    if len(set(map(plane_rows, arrays))) > 1:
        raise ValueError("the arrays of out have different rows from a plane to the next: pass arrays of one layout")
    return given, arrays


def compress_volume(
    u: Any,
    v: Any = None,
    w: Any = None,
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
            at least 2 vertices along each axis. Or u alone, one array (3, nz, ny, nx) or (nz, ny, nx, 3). What the
            library cannot read in place, as in :func:`compress`, is copied.
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
    components = inputs(u, v, w)
    options = {"coder": coder, "preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "dz": dz}
    config = configured_volume(abs, rel, pin=pin, halo=halo, fill=fill, periodic=periodic, **options)
    found = _abi.Report()
    *addresses, vertices = set_layout(config, *components)
    # Pages that nothing is written to take no memory.
    data = np.empty(room_of_volume(config), np.uint8)
    call = (*addresses, vertices, config, *find_bytes("data", data, None).memory, found)
    check(library.compress_volume_host(*call, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return data[: found.stream_bytes].tobytes()


def _place(config: _abi.Config, out: Any) -> Tuple[Any, ...]:
    """The arguments of a call that name the arrays of an output, whose layout the configuration gets."""
    return tuple(set_layout(config, *_outputs(out)[1]))


def decompress_volume(
    data: Any,
    *,
    out: Any = None,
    region: Any = None,
    threads: int = 0,
    verify: bool = True,
    report: Optional[Report] = None,
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Restores a volume from data of :func:`compress_volume`, or a part of it.

    Args:
        data: bytes or another contiguous buffer. Bytes behind the end are ignored.
        out: what is written to: arrays (u, v, w) of the shape of the result and the dtype of the data, or one array
            (3, nz, ny, nx) or (nz, ny, nx, 3). They need not be dense.
        region: three slices (planes, rows, columns) without a step, such as ``numpy.s_[:16, 100:200, -300:]``: the
            result is the same part of u, v and w, bit for bit. Only the groups of tiles that hold it are decoded.
            Then ``data`` may also be a binary file that can seek, at the start of the data, of which only these
            groups are read.
        threads, verify, report: as in :func:`decompress`.

    Returns:
        Arrays (u, v, w) of the shape (nz, ny, nx): new ones, or those of ``out``.

    Raises:
        ValueError, TypeError: ``out`` is no volume, or ``region`` no part of one.
        InvalidArgumentError: the data hold planes, or ``out`` has another shape or dtype.
        CorruptStreamError, UnsupportedVersionError, ReadError: as :func:`decompress`.
    """
    config, found = configured_volume(abs=0.0), _abi.Report()
    config.verify_checksum = int(verify)
    most = count_of("threads", threads)
    if region is not None:
        given = None if out is None else components_of(out, ["out"]) if hasattr(out, "shape") else tuple(out)
        components = decompress_volume_part(data, given, region, _place, config, found, most)
    elif is_file(data):
        raise TypeError("data is a file: pass its bytes, data.read(), or a part of the volume, region=")
    else:
        memory = find_bytes("data", data, None).memory
        if out is None:
            info = _abi.Info()
            check(library.inspect_host(*memory, info))
            dtype = np.dtype(name_of(info.dtype, DTYPES))
            out = tuple(np.empty((info.nz, info.ny, info.nx), dtype) for _ in range(3))
        components, arrays = _outputs(out)
        check(library.decompress_volume_host(*memory, config, *set_layout(config, *arrays), found, most))
    if report is not None:
        report._take(found)
    return components
