"""compress_volume and decompress_volume: three components on a grid of cubes."""

from typing import Any, List, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, fits, host_array, plane_rows, set_layout
from ._config import DTYPES, Sides, configured_volume, count_of, name_of
from ._fields import check_output, find_bytes, find_output
from ._library import check, library
from ._results import Report
from ._volume_config import room_of_volume


def components_of(array: Any, name: str = "u") -> Tuple[Any, Any, Any]:
    """The views u, v and w of one array, (3, nz, ny, nx) or (nz, ny, nx, 3)."""
    shape = np.shape(array)
    if len(shape) != 4 or 3 not in (shape[0], shape[-1]):
        raise ValueError(
            "%s without v and w must be an array (3, nz, ny, nx) or (nz, ny, nx, 3), not of the shape %s"
            % (name, shape)
        )
    if shape[0] == shape[-1]:
        raise ValueError(
            "%s of the shape %s may be (3, nz, ny, nx) or (nz, ny, nx, 3): pass its components as u, v and w"
            % (name, shape)
        )
    return tuple(array) if shape[0] == 3 else tuple(array[..., k] for k in range(3))  # type: ignore[return-value]


def _check(arrays: List[Array]) -> None:
    """Refuses shapes and types that are no volume."""
    shapes, types = [array.shape for array in arrays], [array.dtype for array in arrays]
    names = ", ".join(array.name for array in arrays[:2]) + " and " + arrays[2].name
    if len(shapes[0]) != 3 or len(set(shapes)) > 1:
        raise ValueError("%s must have one shape (nz, ny, nx), not %s, %s and %s" % (names, *shapes))
    if len({kind.newbyteorder("=") for kind in types}) > 1 or types[0].kind != "f" or types[0].itemsize not in (4, 8):
        raise TypeError("%s must all be float32 or all float64, not %s, %s and %s" % (names, *types))


def _inputs(u: Any, v: Any, w: Any) -> List[Array]:
    """The components as arrays that the library reads; what their layout does not suit is copied."""
    if v is None and w is None:
        u, v, w = components_of(np.asanyarray(u))
    elif v is None or w is None:
        raise TypeError("%s is missing: give u, v and w, or one array with all of them" % ("v" if v is None else "w"))
    arrays = [host_array(name, array) for name, array in zip("uvw", (u, v, w))]
    _check(arrays)
    if all(map(fits, arrays)) and len(set(map(plane_rows, arrays))) == 1:
        return arrays
    copies = (np.ascontiguousarray(array.owner, array.dtype.newbyteorder("=")) for array in arrays)
    return [host_array(name, copy) for name, copy in zip("uvw", copies)]


def _outputs(out: Any) -> Tuple[Tuple[Any, Any, Any], List[Array]]:
    """The components of an output, as they were given and as the library writes them."""
    given = components_of(out, "out") if hasattr(out, "shape") else tuple(out)
    if len(given) != 3:
        raise ValueError("out has %d arrays: it must be three, (u, v, w), or one with all of them" % len(given))
    arrays = [find_output("out[%d]" % k, array, None) for k, array in enumerate(given)]
    _check(arrays)
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
    components = _inputs(u, v, w)
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


def decompress_volume(
    data: Any, *, out: Any = None, threads: int = 0, verify: bool = True, report: Optional[Report] = None
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Restores a volume from data of :func:`compress_volume`.

    Args:
        data: bytes or another contiguous buffer. Bytes behind the end are ignored.
        out: what is written to: arrays (u, v, w) of the shape (nz, ny, nx) and the dtype of the data, or one array
            (3, nz, ny, nx) or (nz, ny, nx, 3). They need not be dense.
        threads, verify, report: as in :func:`decompress`.

    Returns:
        Arrays (u, v, w) of the shape (nz, ny, nx): new ones, or those of ``out``.

    Raises:
        ValueError, TypeError: ``out`` is no volume.
        InvalidArgumentError: the data hold planes, or ``out`` has another shape or dtype.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress`.
    """
    memory = find_bytes("data", data, None).memory
    if out is None:
        info = _abi.Info()
        check(library.inspect_host(*memory, info))
        dtype = np.dtype(name_of(info.dtype, DTYPES))
        out = tuple(np.empty((info.nz, info.ny, info.nx), dtype) for _ in range(3))
    components, arrays = _outputs(out)
    config, found = configured_volume(abs=0.0), _abi.Report()
    config.verify_checksum = int(verify)
    *addresses, vertices = set_layout(config, *arrays)
    call = (*memory, config, *addresses, vertices, found)
    check(library.decompress_volume_host(*call, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return components
