"""protect_volume and apply_volume: fixes for the reconstructions of volumes by other compressors."""

from typing import Any, Optional, Tuple

import numpy as np

from . import _abi, _fix_device
from ._arrays import set_layout
from ._config import Sides, configured_volume, count_of
from ._device import queue_of
from ._fields import find_bytes
from ._library import check, library
from ._results import FixReport
from ._volume_config import OTHER_NAMES, given, inputs, outputs, room_of_volume, two_volumes


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
    stream: Any = None,
) -> Any:
    """Makes a fix for the reconstruction of a volume by any compressor: with it (:func:`apply_volume`) the
    reconstruction keeps what data of :func:`compress_volume` with the same options keep.

    Args:
        u, v, w: the original, three arrays or u alone, as in :func:`compress_volume`.
        u2, v2, w2: the reconstruction, of the same shape (without ghosts) and dtype, in the same memory: three
            arrays, or ``u2=`` alone, as in :func:`compare_volume`. It must be within the bound at every vertex with
            data.
        abs, rel: the bound of the reconstruction; give one of them. ``rel`` is a fraction of the joint range of
            the original.
        preserve, ties, dx, dy, dz, pin, halo, fill, periodic, threads: as in :func:`compress_volume`.
        report: filled with what was done; ``violated_triangles`` counts tetrahedra.
        stream: device arrays: the CUDA stream, as in :func:`compress`; the call waits for it.

    Returns:
        The fix: ``bytes`` for arrays in host memory, for device arrays a device array (uint8) of the same library.
        They are the same bytes. The fix belongs to this reconstruction, bit for bit.

    Raises:
        InvalidArgumentError: the reconstruction leaves the bound; the message says where.
        ValueError, TypeError, FactzError: as :func:`compress_volume`.
    """
    options = {"preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "dz": dz, "pin": pin, "fill": fill}
    first, second = two_volumes(u, v, w, u2, v2, w2)
    queue = queue_of(stream, **given(*first), **given(*second, OTHER_NAMES))
    components, others = inputs(*first, queue=queue), inputs(*second, OTHER_NAMES, queue)
    config = configured_volume(abs, rel, halo=halo, periodic=periodic, **options)
    other = configured_volume(abs, rel, periodic=periodic)
    *addresses, vertices = set_layout(config, *components)
    *of_others, _ = set_layout(other, *others)
    call = (*addresses, vertices, config, *of_others, other)
    result: Any
    if queue is not None:
        functions = library.protect_volume_sizes, library.protect_volume_device
        result, found = _fix_device.make(queue, functions, call, config, others[0].shape)
    else:
        # Pages that nothing is written to take no memory.
        fix, found = np.empty(room_of_volume(config), np.uint8), _abi.FixReport()
        target = find_bytes("fix", fix, None).memory
        check(library.protect_volume_host(*call, *target, found, count_of("threads", threads)))
        result = fix[: found.fix_bytes].tobytes()
    if report is not None:
        report._take(found)
    return result


def apply_volume(
    fix: Any,
    u: Any,
    v: Any = None,
    w: Any = None,
    *,
    threads: int = 0,
    report: Optional[FixReport] = None,
    stream: Any = None,
) -> Tuple[Any, Any, Any]:
    """Applies a fix of :func:`protect_volume` to the reconstruction that it was made for.

    Args:
        fix: bytes or another contiguous buffer, or a device array of uint8. Bytes behind the end are ignored.
        u, v, w: the reconstruction, three arrays or u alone, in the memory where the fix is, which keep their
            values. Another one, of the same volume even, is refused.
        threads: the largest number of threads; 0 is one per processor. No effect on a device.
        report: filled with what was done.
        stream: device arrays: the CUDA stream, as in :func:`compress`; the call waits for it.

    Returns:
        New arrays (u, v, w) of the shape (nz, ny, nx).

    Raises:
        InvalidArgumentError: the fix belongs to another reconstruction, shape or dtype, or to planes.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress_volume`.
    """
    queue = queue_of(stream, fix=fix, **given(u, v, w))
    arrays, config, found = inputs(u, v, w, queue=queue), configured_volume(abs=0.0), _abi.FixReport()
    if queue is None:
        result = tuple(np.array(a.owner, a.dtype.newbyteorder("="), order="C") for a in arrays)
    else:
        result = tuple(queue.copy(a.owner) for a in arrays)
    _, placed = outputs(result, queue)
    call = (*find_bytes("fix", fix, queue).memory, config, *set_layout(config, *placed))
    if queue is None:
        check(library.apply_volume_host(*call, found, count_of("threads", threads)))
    else:
        functions = library.apply_volume_sizes, library.apply_volume_device
        found = _fix_device.put(queue, functions, call, config, _fix_device.BELONGS % "planes")
    if report is not None:
        report._take(found)
    return result
