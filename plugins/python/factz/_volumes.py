"""compress_volume and decompress_volume: three components on a grid of cubes."""

from typing import Any, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import set_layout
from ._compression import _inspect, _no_workspace, _warn
from ._config import DTYPES, Sides, configured_volume, count_of, name_of
from ._device import queue_of
from ._fields import find_bytes
from ._library import HOLDS_PLANES, check, library, refusal
from ._region import decompress_volume_part, is_file
from ._results import Report
from ._volume_config import components_of_output, given, given_outputs, inputs, outputs, room_of_volume
from ._volume_device import _enqueue_compress_volume, _enqueue_decompress_volume


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
    stream: Any = None,
    workspace: Any = None,
) -> Any:
    """Compresses a volume and keeps every critical point in its tetrahedron.

    Each cube of vertices is divided into six tetrahedra along its main diagonal.

    Args:
        u, v, w: components along x, y and z: arrays of the shape (nz, ny, nx), float32 or float64, at least 2 vertices
            along each axis, all in host memory or all in device memory, as in :func:`compress`. Or u alone, one array
            (3, nz, ny, nx) or (nz, ny, nx, 3). What the library cannot read in place, as in :func:`compress`, is
            copied.
        abs, rel: the error bound; give one of them. ``rel`` is a fraction of the joint range of u, v and w.
        coder, preserve, fill, threads, report: as in :func:`compress`.
        ties: "all" or "zeros": what tetrahedra keep whose zero lies on a face, an edge or a vertex.
        dx, dy, dz: grid spacing, negative where the axis runs against the component.
        pin: sides that are stored exactly: names of :func:`compress`, "zmin" and "zmax", joined by +, or "all".
        halo: sides where the arrays hold one layer of ghosts, with the values of a neighbouring block: the
            tetrahedra between blocks are kept then, whatever the other block does. The shape counts the ghosts.
        periodic: periodic axes, for instance "xyz".
        stream, workspace: device arrays: as in :func:`compress`; the size of the workspace is that of
            :func:`compress_volume_sizes`.

    Returns:
        The compressed data: ``bytes`` for arrays in host memory, for device arrays a device array (uint8) of the same
        library. They are the same bytes.

    Raises:
        ValueError, TypeError: arguments that are no volume.
        FactzError: as :func:`compress`.

    The interpreter's lock is released. Device arrays: the call waits for the stream, because the length of the result
    must be known; :func:`enqueue_compress_volume` does not wait.
    """
    queue = queue_of(stream, **given(u, v, w))
    components = inputs(u, v, w, queue=queue)
    options = {"coder": coder, "preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "dz": dz}
    config = configured_volume(abs, rel, pin=pin, halo=halo, fill=fill, periodic=periodic, **options)
    result: Any
    if queue is not None:
        work = _enqueue_compress_volume(queue, config, components, None, workspace, None)
        result, found = work.result(), work._outcome()
    else:
        _no_workspace(workspace)
        found = _abi.Report()
        *addresses, vertices = set_layout(config, *components)
        # Pages that nothing is written to take no memory.
        data = np.empty(room_of_volume(config), np.uint8)
        call = (*addresses, vertices, config, *find_bytes("data", data, None).memory, found)
        check(library.compress_volume_host(*call, count_of("threads", threads)))
        result = data[: found.stream_bytes].tobytes()
    if report is not None:
        report._take(found)
    _warn(found)
    return result


def _place(config: _abi.Config, out: Any) -> Tuple[Any, ...]:
    """The arguments of a call that name the arrays of an output, whose layout the configuration gets."""
    return tuple(set_layout(config, *outputs(out)[1]))


def decompress_volume(
    data: Any,
    *,
    out: Any = None,
    region: Any = None,
    threads: int = 0,
    verify: bool = True,
    report: Optional[Report] = None,
    stream: Any = None,
    workspace: Any = None,
) -> Tuple[Any, Any, Any]:
    """Restores a volume from data of :func:`compress_volume`, or a part of it.

    Args:
        data: bytes or another contiguous buffer, or a device array of uint8. Bytes behind the end are ignored.
        out: what is written to: arrays (u, v, w) of the shape of the result and the dtype of the data, or one array
            (3, nz, ny, nx) or (nz, ny, nx, 3), in the memory where the data are. They need not be dense.
        region: three slices (planes, rows, columns) without a step, such as ``numpy.s_[:16, 100:200, -300:]``: the
            result is the same part of u, v and w, bit for bit. Only the groups of tiles that hold it are decoded.
            Then ``data`` may also be a binary file that can seek, at the start of the data, of which only these
            groups are read. For data in host memory.
        threads, verify, report: as in :func:`decompress`.
        stream, workspace: device arrays: as in :func:`compress`; the size of the workspace is that of
            :func:`decompress_volume_sizes`.

    Returns:
        Arrays (u, v, w) of the shape (nz, ny, nx): those of ``out``, or new NumPy arrays for data in host memory, and
        device arrays of the library of ``data`` for data in device memory.

    Raises:
        ValueError, TypeError: ``out`` is no volume, or ``region`` no part of one.
        InvalidArgumentError: the data hold planes, or ``out`` has another shape or dtype.
        CorruptStreamError, UnsupportedVersionError, ReadError: as :func:`decompress`.

    The interpreter's lock is released. Device arrays: the call waits for the stream, because errors are reported
    there; :func:`enqueue_decompress_volume` does not wait.
    """
    config, found = configured_volume(abs=0.0), _abi.Report()
    config.verify_checksum = int(verify)
    most = count_of("threads", threads)
    if is_file(data) and region is None:
        raise TypeError("data is a file: pass its bytes, data.read(), or a part of the volume, region=")
    queue = queue_of(stream, data=data, **({} if out is None else given_outputs(out)))
    if queue is None:
        _no_workspace(workspace)
    elif region is not None:
        raise ValueError("region= is for data in host memory")
    if region is not None:
        parts = None if out is None else components_of_output(out)
        components = decompress_volume_part(data, parts, region, _place, config, found, most)
    else:
        if out is None:
            info = _inspect(data, queue)
            if info.component != _abi.COMPONENT_VOLUME:
                raise refusal(HOLDS_PLANES)
            dtype = np.dtype(name_of(info.dtype, DTYPES))
            empty = np.empty if queue is None else queue.empty
            out = tuple(empty((info.nz, info.ny, info.nx), dtype) for _ in range(3))
        components, arrays = outputs(out, queue)
        if queue is not None:
            work = _enqueue_decompress_volume(queue, config, data, components, arrays, workspace, None)
            found = work._outcome()
        else:
            memory = find_bytes("data", data, None).memory
            check(library.decompress_volume_host(*memory, config, *set_layout(config, *arrays), found, most))
    if report is not None:
        report._take(found)
    return components
