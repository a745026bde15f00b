"""compare, critical_points and the range of a field, in host or device memory."""

import ctypes
from typing import Any, Optional

import numpy as np

from . import _abi
from ._compression import _no_workspace, _sizes
from ._config import Sides, configured, count_of, float_of
from ._device import queue_of
from ._fields import Placed, buffer, place
from ._library import check, library
from ._results import CRITICAL_POINT, Comparison, Range
from ._two_components import of_planes
from .errors import error_of


@of_planes("compare_volume")
def compare(
    u: Any,
    v: Any,
    u2: Any,
    v2: Any,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    threads: int = 0,
    stream: Any = None,
    workspace: Any = None,
) -> Comparison:
    """Compares a field with another, usually an original with its decompressed copy, by exact predicates.

    Args:
        u, v: the first field, arrays as in :func:`compress`.
        u2, v2: the other field, of the same shape and dtype, in the same memory.
        abs, rel: the bound to check; give one of them.
        ties, dx, dy, halo, fill, periodic, threads: as in :func:`compress`. The lines of ``halo`` are read in
            both fields, so that the counts of blocks add up.
        stream, workspace: device arrays: as in :func:`compress`; the workspace takes
            :attr:`Sizes.analysis_workspace_bytes`.

    Returns:
        The counts, on the host. ``violations`` is 0 after compression with ``preserve="types"``.

    Raises:
        ValueError, TypeError, FactzError: as :func:`compress`. Differences are no error.

    Device arrays: the call waits for the stream.
    """
    queue = queue_of(stream, u=u, v=v, u2=u2, v2=v2)
    options = {"ties": ties, "dx": dx, "dy": dy, "halo": halo, "fill": fill, "periodic": periodic}
    config, other = (configured(abs, rel, **options) for _ in range(2))
    first = place(config, u, v, queue)
    second = place(other, u2, v2, queue, ("u2", "v2"))
    sizes = [(c.nz, c.ny, c.nx) for c in (other, config)]
    if sizes[0] != sizes[1] or config.dtype != other.dtype:
        raise ValueError(
            "u2 and v2 must have the shape and dtype of u and v: they have %d x %d x %d and %d x %d x %d "
            "vertices, and %s the same dtype"
            % (*sizes[0], *sizes[1], "have" if config.dtype == other.dtype else "not")
        )
    found = _abi.Comparison()
    call = (*first.call, config, second.u, second.v, other)
    if queue is None:
        _no_workspace(workspace)
        check(library.compare_host(*call, found, count_of("threads", threads)))
    else:
        found = _analyse(library.compare_device, call, config, _abi.Comparison, workspace, queue)
    return Comparison._of(found)


def _analyse(function: Any, call: Any, config: _abi.Config, kind: Any, workspace: Any, queue: Any) -> Any:
    """Enqueues an analysis and waits for its result, a struct with a status."""
    scratch = buffer("workspace", workspace, _sizes(config).analysis_workspace_bytes, queue)
    result = buffer("result", None, ctypes.sizeof(kind), queue)
    with queue.active():
        check(function(*call, *scratch.memory, result.address, queue.handle))
    found = kind.from_buffer_copy(queue.to_host(result.owner, ctypes.sizeof(kind)))
    if found.status != _abi.OK:
        name = library.status_string(found.status).decode()
        raise error_of(found.status, "%s: reported by the device" % name)
    return found


@of_planes("critical_points_volume")
def critical_points(
    u: Any,
    v: Any,
    *,
    dx: float = 1.0,
    dy: float = 1.0,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    threads: int = 0,
    stream: Any = None,
    workspace: Any = None,
) -> np.ndarray:
    """Extracts the critical points of a field: the isolated zeros of its linear interpolation, inside
    triangles, at vertices and on edges. Segments and areas of zeros (coasts, walls) are none.

    Args:
        u, v: the field, arrays as in :func:`compress`.
        dx, dy: the grid spacing as in :func:`compress`: types depend on it, and positions are multiples.
        halo: sides where the outermost line of u and v is a ghost line. Each point belongs to one block.
        fill: vertices where u or v has this value hold no data.
        periodic: as in :func:`compress`: cells of the last column and row hold points, too.
        threads: the largest number of threads; 0 is one per processor. No effect on a device.
        stream, workspace: device arrays: as in :func:`compare`.

    Returns:
        A NumPy array of dtype :data:`CRITICAL_POINT`, sorted plane by plane, by cell, row by row, then by
        simplex: ``cell_x``, ``cell_y``, ``cell_z`` (column, row and plane; plane 0 of a field without
        planes), ``x``, ``y`` (position: dx and dy, with their signs, times a column and a row), ``simplex``
        (:class:`Simplex`), ``point_type`` (:class:`PointType`), ``index`` (the Poincare index, or
        :data:`INDEX_UNDEFINED`), ``rounding_divergence`` (1: a focus whose divergence is at the level of
        rounding, which may be a centre in truth), ``eigenvalues_real``, ``eigenvalues_imaginary`` (two each,
        of the Jacobian; NaN at vertices and on edges). It is in host memory for device arrays too, whose
        libraries have no structured arrays.

    Raises:
        ValueError, TypeError, FactzError: as :func:`compress`.

    Device arrays: the call waits for the stream.
    """
    queue = queue_of(stream, u=u, v=v)
    config = configured(abs=0.0, dx=dx, dy=dy, halo=halo, fill=fill, periodic=periodic)
    field = place(config, u, v, queue)
    if queue is None:
        _no_workspace(workspace)
        return _points_host(config, field, threads)
    return _points_device(config, field, workspace, queue)


def _points_host(config: _abi.Config, field: Placed, threads: int) -> np.ndarray:
    count = ctypes.c_uint64()
    # Memory is taken only by pages that points are written to. More points than this are rare.
    points = np.empty(field.n // 16 + 1024, CRITICAL_POINT)
    while True:
        address = points.__array_interface__["data"][0]
        call = (*field.call, config, address, points.size, count)
        status = library.critical_points_host(*call, count_of("threads", threads))
        if status != _abi.ERROR_BUFFER_TOO_SMALL:
            check(status)
            return points[: count.value].copy()
        points = np.empty(count.value, CRITICAL_POINT)


def _points_device(config: _abi.Config, field: Placed, workspace: Any, queue: Any) -> np.ndarray:
    scratch = buffer("workspace", workspace, _sizes(config).analysis_workspace_bytes, queue)
    number = buffer("count", None, 8, queue)
    capacity = field.n // 64 + 1024
    while True:
        points = buffer("points", None, capacity * CRITICAL_POINT.itemsize, queue)
        with queue.active():
            call = (*field.call, config, points.address, capacity, number.address, *scratch.memory)
            check(library.critical_points_device(*call, queue.handle))
        count = int.from_bytes(queue.to_host(number.owner, 8), "little")
        if count <= capacity:
            found = queue.to_host(points.owner, count * CRITICAL_POINT.itemsize)
            return np.frombuffer(found, CRITICAL_POINT).copy()
        capacity = count


@of_planes("value_range_volume")
def value_range(
    u: Any,
    v: Any,
    *,
    fill: Optional[float] = None,
    halo: Sides = None,
    threads: int = 0,
    stream: Any = None,
    workspace: Any = None,
) -> Range:
    """Finds the least and the largest finite value of a field, u and v together.

    Blocks and time steps share a relative bound in this way: each finds its range, the least ``low`` and the
    largest ``high`` of all are joined, and all compress with ``abs=relative_bound(rel, low, high)``.

    Args:
        u, v: the field, arrays as in :func:`compress`.
        fill: vertices where u or v has this value do not count.
        halo: sides where the outermost line of u and v is a ghost line, which does not count.
        threads, stream, workspace: as in :func:`compare`.

    Raises:
        ValueError, TypeError, FactzError: as :func:`compress`.

    Device arrays: the call waits for the stream.
    """
    queue = queue_of(stream, u=u, v=v)
    config = configured(abs=0.0, halo=halo, fill=fill)
    field = place(config, u, v, queue)
    found = _abi.Range()
    if queue is None:
        _no_workspace(workspace)
        check(library.range_host(*field.call, config, found, count_of("threads", threads)))
    else:
        found = _analyse(library.range_device, (*field.call, config), config, _abi.Range, workspace, queue)
    return Range._of(found)


def relative_bound(rel: float, low: float, high: float) -> float:
    """The absolute bound that a relative one stands for in a field with the range from low to high, rounded
    as
    compression with ``rel=`` rounds it. 0 if low is above high, NaN if rel is negative or not finite."""
    numbers = {"rel": rel, "low": low, "high": high}
    return library.relative_bound(*(float_of(name, value) for name, value in numbers.items()))
