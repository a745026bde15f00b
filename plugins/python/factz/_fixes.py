"""protect and apply: fixes for the reconstructions of other compressors."""

from typing import Any, Optional, Tuple

from . import _abi, _fix_calls
from ._compression import _pair, _sizes
from ._config import Sides, configured
from ._device import queue_of
from ._fields import find_bytes, place, place_output
from ._fix_calls import Functions, Outputs
from ._library import check, library
from ._results import FixInfo, FixReport
from ._two_components import of_planes


@of_planes("protect_volume")
def protect(
    u: Any,
    v: Any,
    u2: Any,
    v2: Any,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    threads: int = 0,
    report: Optional[FixReport] = None,
    stream: Any = None,
) -> Any:
    """Makes a fix for the reconstruction of a field by any compressor: with it (:func:`apply`) the
    reconstruction keeps what data of :func:`compress` with the same options keep.

    Args:
        u, v: the original, arrays in host or device memory as in :func:`compress`.
        u2, v2: the reconstruction, of the same shape (without ghost lines) and dtype, in the same memory. It
            must be within the bound at every vertex with data.
        abs, rel: the bound of the reconstruction; give one of them. ``rel`` is a fraction of the range of the
            original.
        preserve, ties, dx, dy, pin, halo, fill, periodic, threads: as in :func:`compress`.
        report: filled with what was done.
        stream: device arrays: the CUDA stream, as in :func:`compress`; the call waits for it.

    Returns:
        The fix: ``bytes`` for arrays in host memory, for device arrays a device array (uint8) of the same library.
        They are the same bytes. The fix belongs to this reconstruction, bit for bit.

    Raises:
        InvalidArgumentError: the reconstruction leaves the bound; the message says where.
        ValueError, TypeError, FactzError: as :func:`compress`.
    """
    options = {"preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "pin": pin, "fill": fill}
    config = configured(abs, rel, halo=halo, periodic=periodic, **options)
    other = configured(abs, rel, periodic=periodic)
    queue = queue_of(stream, u=u, v=v, u2=u2, v2=v2)
    field = place(config, u, v, queue)
    reconstruction = place(other, u2, v2, queue, ("u2", "v2"))
    _fix_calls.check_reconstruction(config, field.arrays, reconstruction.arrays, halo)
    call = (*field.call, config, reconstruction.u, reconstruction.v, other)
    functions = Functions(library.protect_host, library.protect_device, library.protect_sizes)
    room = _sizes(config).max_stream_bytes
    fix, found = _fix_calls.protect(queue, functions, config, call, room, threads)
    if report is not None:
        report._take(found)
    return fix


def apply(
    fix: Any,
    u: Any,
    v: Any,
    out: Optional[Tuple[Any, Any]] = None,
    *,
    threads: int = 0,
    report: Optional[FixReport] = None,
    stream: Any = None,
) -> Tuple[Any, Any]:
    """Applies a fix of :func:`protect` to the reconstruction that it was made for.

    Args:
        fix: bytes or another contiguous buffer, or a device array of uint8. Bytes behind the end are ignored.
        u, v: the reconstruction, arrays in the memory where the fix is. Another one, of the same field even, is
            refused.
        out: arrays (u, v) that receive the result; they may be u and v themselves. By default new arrays. If the
            call fails, they keep their values; an interrupt may come when one of them is written.
        threads: the largest number of threads; 0 is one per processor. No effect on a device.
        report: filled with what was done.
        stream: device arrays: the CUDA stream, as in :func:`compress`; the call waits for it.

    Returns:
        (u, v): ``out``, or new arrays.

    Raises:
        InvalidArgumentError: the fix belongs to another reconstruction, shape or dtype.
        ValueError: ``out`` has another shape or dtype than u and v, or an array of it shares values with the other
            component.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress`.
    """
    shape = getattr(out, "shape", None)
    if shape is not None and shape == getattr(u, "shape", None):
        raise ValueError(
            "out is one array of the shape %s, and must be two, (u, v), that receive the result: for the fix of a "
            "volume, with u, v and w, call factz.apply_volume" % (tuple(shape),)
        )
    pair = () if out is None else _pair(out)
    queue = queue_of(stream, fix=fix, u=u, v=v, **dict(zip(("out[0]", "out[1]"), pair)))
    given = place(configured(abs=0.0), u, v, queue).arrays
    outputs = Outputs(pair, place_output(configured(abs=0.0), pair, queue).arrays) if pair else None
    functions = Functions(library.apply_host, library.apply_device, library.apply_sizes)
    config = configured(abs=0.0)
    result, found = _fix_calls.apply(queue, functions, config, fix, given, outputs, threads, "a volume")
    if report is not None:
        report._take(found)
    return result[0], result[1]


def inspect_fix(fix: Any) -> FixInfo:
    """Reads the header of a fix; the rest is not looked at.

    Args:
        fix: bytes; the first 128 suffice.

    Raises:
        CorruptStreamError: the bytes do not begin with a header of a fix.
        UnsupportedVersionError: this library does not read the format of the fix.
    """
    info = _abi.FixInfo()
    check(library.inspect_fix_host(*find_bytes("fix", fix, None).memory, info))
    return FixInfo._of(info)
