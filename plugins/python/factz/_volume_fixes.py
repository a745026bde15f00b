"""protect_volume and apply_volume: fixes for the reconstructions of volumes by other compressors."""

from typing import Any, Optional, Tuple

from . import _fix_calls
from ._arrays import set_layout
from ._config import Sides, configured_volume
from ._device import queue_of
from ._fix_calls import Functions, Outputs
from ._library import library
from ._results import FixReport
from ._volume_config import OTHER_NAMES, given, given_outputs, inputs, outputs, room_of_volume, two_volumes


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
    _fix_calls.check_reconstruction(config, components, others, halo)
    call = (*addresses, vertices, config, *of_others, other)
    functions = Functions(
        library.protect_volume_host, library.protect_volume_device, library.protect_volume_sizes
    )
    fix, found = _fix_calls.protect(queue, functions, config, call, room_of_volume(config), threads)
    if report is not None:
        report._take(found)
    return fix


def apply_volume(
    fix: Any,
    u: Any,
    v: Any = None,
    w: Any = None,
    *,
    out: Any = None,
    threads: int = 0,
    report: Optional[FixReport] = None,
    stream: Any = None,
) -> Tuple[Any, Any, Any]:
    """Applies a fix of :func:`protect_volume` to the reconstruction that it was made for.

    Args:
        fix: bytes or another contiguous buffer, or a device array of uint8. Bytes behind the end are ignored.
        u, v, w: the reconstruction, three arrays or u alone, in the memory where the fix is. Another one, of the
            same volume even, is refused.
        out: arrays (u, v, w), or one array with all of them, that receive the result; they may be those of the
            reconstruction. By default new arrays. If the call fails, they keep their values; an
            interrupt may come when one of them is written.
        threads: the largest number of threads; 0 is one per processor. No effect on a device.
        report: filled with what was done.
        stream: device arrays: the CUDA stream, as in :func:`compress`; the call waits for it.

    Returns:
        Arrays (u, v, w) of the shape (nz, ny, nx): those of ``out``, or new ones.

    Raises:
        InvalidArgumentError: the fix belongs to another reconstruction, shape or dtype, or to planes.
        ValueError: ``out`` has another shape or dtype than the reconstruction, or an array of it shares values with
            another component.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress_volume`.
    """
    queue = queue_of(stream, fix=fix, **given(u, v, w), **({} if out is None else given_outputs(out)))
    arrays = inputs(u, v, w, queue=queue)
    targets = None if out is None else Outputs(*outputs(out, queue))
    functions = Functions(library.apply_volume_host, library.apply_volume_device, library.apply_volume_sizes)
    config = configured_volume(abs=0.0)
    result, found = _fix_calls.apply(queue, functions, config, fix, arrays, targets, threads, "planes")
    if report is not None:
        report._take(found)
    return result[0], result[1], result[2]
