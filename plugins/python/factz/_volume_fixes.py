"""protect_volume and apply_volume: fixes for the reconstructions of volumes by other compressors."""

from typing import Any, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import set_layout
from ._config import Sides, configured_volume, count_of
from ._fields import find_bytes
from ._library import check, library
from ._results import FixReport
from ._volume_config import inputs, inputs_of_two, room_of_volume


def protect_volume(
    u: Any,
    v: Any = None,
    w: Any = None,
    u2: Any = None,
    v2: Any = None,
    w2: Any = None,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
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
    report: Optional[FixReport] = None,
) -> bytes:
    """Makes a fix for the reconstruction of a volume by any compressor: with it (:func:`apply_volume`) the
    reconstruction keeps what data of :func:`compress_volume` with the same options keep.

    Args:
        u, v, w: the original, three arrays or u alone, as in :func:`compress_volume`.
        u2, v2, w2: the reconstruction, of the same shape (without ghosts) and dtype: three arrays, or ``u2=``
            alone, as in :func:`compare_volume`. It must be within the bound at every vertex with data.
        abs, rel: the bound of the reconstruction; give one of them. ``rel`` is a fraction of the joint range of
            the original.
        preserve, ties, dx, dy, dz, pin, halo, fill, periodic, threads: as in :func:`compress_volume`.
        report: filled with what was done; ``violated_triangles`` counts tetrahedra.

    Returns:
        The fix. It belongs to this reconstruction, bit for bit.

    Raises:
        InvalidArgumentError: the reconstruction leaves the bound; the message says where.
        ValueError, TypeError, FactzError: as :func:`compress_volume`.
    """
    options = {"preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "dz": dz, "pin": pin, "fill": fill}
    components, others = inputs_of_two(u, v, w, u2, v2, w2)
    config = configured_volume(abs, rel, halo=halo, periodic=periodic, **options)
    other = configured_volume(abs, rel, periodic=periodic)
    *addresses, vertices = set_layout(config, *components)
    *of_others, _ = set_layout(other, *others)
    # Pages that nothing is written to take no memory.
    fix, found = np.empty(room_of_volume(config), np.uint8), _abi.FixReport()
    call = (*addresses, vertices, config, *of_others, other, *find_bytes("fix", fix, None).memory, found)
    check(library.protect_volume_host(*call, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return fix[: found.fix_bytes].tobytes()


def apply_volume(
    fix: Any,
    u: Any,
    v: Any = None,
    w: Any = None,
    *,
    threads: int = 0,
    report: Optional[FixReport] = None,
) -> Tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Applies a fix of :func:`protect_volume` to the reconstruction that it was made for.

    Args:
        fix: bytes or another contiguous buffer. Bytes behind the end are ignored.
        u, v, w: the reconstruction, three arrays or u alone, which keep their values. Another one, of the same
            volume even, is refused.
        threads: the largest number of threads; 0 is one per processor.
        report: filled with what was done.

    Returns:
        New arrays (u, v, w) of the shape (nz, ny, nx).

    Raises:
        InvalidArgumentError: the fix belongs to another reconstruction, shape or dtype, or to planes.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress_volume`.
    """
    native = [(array.owner, array.dtype.newbyteorder("=")) for array in inputs(u, v, w)]
    result = tuple(np.array(values, dtype, order="C") for values, dtype in native)
    config, found = configured_volume(abs=0.0), _abi.FixReport()
    *addresses, vertices = set_layout(config, *inputs(*result))  # dense: read and written in place
    call = (*find_bytes("fix", fix, None).memory, config, *addresses, vertices, found)
    check(library.apply_volume_host(*call, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return result
