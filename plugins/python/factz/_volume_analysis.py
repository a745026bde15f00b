"""compare_volume, critical_points_volume and value_range_volume: analysis of three components on a grid of cubes."""

import ctypes
from typing import Any, List, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, set_layout
from ._config import Sides, configured_volume, count_of
from ._library import check, library
from ._results import VOLUME_POINT, Range, VolumeComparison
from ._volume_config import inputs, inputs_of_two


def _call(components: List[Array], **options: Any) -> Tuple[Any, ...]:
    """Addresses, number of vertices and configuration."""
    config = configured_volume(**options)
    return (*set_layout(config, *components), config)


def compare_volume(
    u: Any,
    v: Any = None,
    w: Any = None,
    u2: Any = None,
    v2: Any = None,
    w2: Any = None,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    threads: int = 0,
) -> VolumeComparison:
    """Compares a volume with another, usually an original with its decompressed copy, by exact predicates.

    Args:
        u, v, w: the first volume, three arrays or u alone, as in :func:`compress_volume`.
        u2, v2, w2: the other volume, of the same shape and dtype: three arrays, or ``u2=`` alone. Two volumes of one
            array each need no names: ``compare_volume(a, b, abs=1e-3)``.
        abs, rel: the bound to check; give one of them.
        ties, dx, dy, dz, halo, fill, periodic, threads: as in :func:`compress_volume`. The layers of ``halo`` are read
            in both volumes, so that the counts of blocks add up.

    Returns:
        The counts. ``violations`` is 0 after compression with ``preserve="types"``.

    Raises:
        ValueError, TypeError, FactzError: as :func:`compress_volume`. Differences are no error.
    """
    first, other = inputs_of_two(u, v, w, u2, v2, w2)
    if first[0].shape != other[0].shape or first[0].dtype != other[0].dtype:
        raise ValueError(
            "u2, v2 and w2 must have the shape and dtype of u, v and w: they have %s of %s and %s of %s"
            % (other[0].shape, other[0].dtype, first[0].shape, first[0].dtype)
        )
    options = {"ties": ties, "dx": dx, "dy": dy, "dz": dz, "halo": halo, "fill": fill, "periodic": periodic}
    found = _abi.VolumeComparison()
    *of_others, _, config = _call(other, abs=abs, rel=rel, **options)
    call = (*_call(first, abs=abs, rel=rel, **options), *of_others, config, found)
    check(library.compare_volume_host(*call, count_of("threads", threads)))
    return VolumeComparison._of(found)


def critical_points_volume(
    u: Any,
    v: Any = None,
    w: Any = None,
    *,
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    threads: int = 0,
) -> np.ndarray:
    """Extracts the critical points of a volume: the isolated zeros of its linear interpolation, inside tetrahedra, at
    vertices, on edges and on faces. Curves, surfaces and solids of zeros are none.

    Args:
        u, v, w: the volume, three arrays or u alone, as in :func:`compress_volume`.
        dx, dy, dz: the grid spacing as in :func:`compress_volume`: types depend on it, and positions are multiples.
        halo: sides where the outermost layer of u, v and w is one of ghosts. Each point belongs to one block.
        fill: vertices where a component has this value hold no data.
        periodic: as in :func:`compress_volume`: cells between the last and the first vertices hold points, too.
        threads: the largest number of threads; 0 is one per processor.

    Returns:
        A NumPy array of dtype :data:`VOLUME_POINT`, sorted by ``cell_z``, ``cell_y``, ``cell_x``, then by simplex:
        ``cell_x``, ``cell_y``, ``cell_z`` (the vertex that the simplex begins at), ``x``, ``y``, ``z`` (position: dx, dy
        and dz, with their signs, times a column, a row and a plane), ``simplex`` (its number, see
        :data:`VOLUME_SIMPLICES`; 0 to 5 are tetrahedra), ``dimension`` (3 inside a tetrahedron, 2 inside a face, 1 inside
        an edge, 0 at a vertex), ``point_type`` (:class:`VolumePointType`), ``index`` (the sign of the Jacobian's
        determinant, elsewhere the degree around the point, or :data:`INDEX_UNDEFINED`).

    Raises:
        ValueError, TypeError, FactzError: as :func:`compress_volume`.
    """
    components = inputs(u, v, w)
    options = {"dx": dx, "dy": dy, "dz": dz, "halo": halo, "fill": fill, "periodic": periodic}
    call = _call(components, abs=0.0, **options)
    count = ctypes.c_uint64()
    # Memory is taken only by pages that points are written to. More points than this are rare.
    points = np.empty(call[3] // 16 + 1024, VOLUME_POINT)
    while True:
        place = (points.ctypes.data, points.size, count)
        status = library.critical_points_volume_host(*call, *place, count_of("threads", threads))
        if status != _abi.ERROR_BUFFER_TOO_SMALL:
            check(status)
            return points[: count.value].copy()
        points = np.empty(count.value, VOLUME_POINT)


def value_range_volume(
    u: Any,
    v: Any = None,
    w: Any = None,
    *,
    fill: Optional[float] = None,
    halo: Sides = None,
    threads: int = 0,
) -> Range:
    """Finds the least and the largest finite value of a volume, u, v and w together, as :func:`value_range` does for
    planes.

    Args:
        u, v, w: the volume, three arrays or u alone, as in :func:`compress_volume`.
        fill: vertices where a component has this value do not count.
        halo: sides where the outermost layer of u, v and w is one of ghosts, which does not count.
        threads: the largest number of threads; 0 is one per processor.

    Raises:
        ValueError, TypeError, FactzError: as :func:`compress_volume`.
    """
    components = inputs(u, v, w)
    call = _call(components, abs=0.0, fill=fill, halo=halo)
    found = _abi.Range()
    check(library.range_volume_host(*call, found, count_of("threads", threads)))
    return Range._of(found)
