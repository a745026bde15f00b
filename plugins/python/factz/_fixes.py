"""protect and apply: fixes for the reconstructions of other compressors."""

from typing import Any, Optional, Tuple

import numpy as np

from . import _abi
from ._compression import _sizes
from ._config import Sides, configured, count_of
from ._fields import find_bytes, place, place_output
from ._library import check, library
from ._results import FixInfo, FixReport


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
) -> bytes:
    """Makes a fix for the reconstruction of a field by any compressor: with it (:func:`apply`) the
    reconstruction keeps what data of :func:`compress` with the same options keep.

    Args:
        u, v: the original, arrays in host memory as in :func:`compress`.
        u2, v2: the reconstruction, of the same shape (without ghost lines) and dtype. It must be within the
            bound at every vertex with data.
        abs, rel: the bound of the reconstruction; give one of them. ``rel`` is a fraction of the range of the
            original.
        preserve, ties, dx, dy, pin, halo, fill, periodic, threads: as in :func:`compress`.
        report: filled with what was done.

    Returns:
        The fix. It belongs to this reconstruction, bit for bit.

    Raises:
        InvalidArgumentError: the reconstruction leaves the bound; the message says where.
        ValueError, TypeError, FactzError: as :func:`compress`.
    """
    options = {"preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "pin": pin, "fill": fill}
    config = configured(abs, rel, halo=halo, periodic=periodic, **options)
    other = configured(abs, rel, periodic=periodic)
    field = place(config, u, v, None)
    reconstruction = place(other, u2, v2, None, ("u2", "v2"))
    # Pages that nothing is written to take no memory.
    fix, found = np.empty(_sizes(config).max_stream_bytes, np.uint8), _abi.FixReport()
    call = (*field.call, config, reconstruction.u, reconstruction.v, other)
    target = find_bytes("fix", fix, None).memory
    check(library.protect_host(*call, *target, found, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return fix[: found.fix_bytes].tobytes()


def apply(
    fix: Any,
    u: Any,
    v: Any,
    out: Optional[Tuple[Any, Any]] = None,
    *,
    threads: int = 0,
    report: Optional[FixReport] = None,
) -> Tuple[Any, Any]:
    """Applies a fix of :func:`protect` to the reconstruction that it was made for.

    Args:
        fix: bytes or another contiguous buffer. Bytes behind the end are ignored.
        u, v: the reconstruction, arrays in host memory. Another one, of the same field even, is refused.
        out: arrays (u, v) that receive the result; they may be u and v themselves. By default new arrays.
        threads: the largest number of threads; 0 is one per processor.
        report: filled with what was done.

    Returns:
        (u, v): ``out``, or new arrays. If the call fails and ``out`` is u and v, they keep their values.

    Raises:
        InvalidArgumentError: the fix belongs to another reconstruction, shape or dtype.
        ValueError: ``out`` has another shape or dtype than u and v, or shares values with the other.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress`.
    """
    if out is None:
        out = tuple(np.array(x, _native(x), order="C") for x in (u, v))
    else:
        _copy(out, (u, v))
    config, found = configured(abs=0.0), _abi.FixReport()
    field = place_output(config, out, None)
    call = (*find_bytes("fix", fix, None).memory, config, *field.call)
    check(library.apply_host(*call, found, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return out[0], out[1]


def _native(array: Any) -> np.dtype:
    return np.asarray(array).dtype.newbyteorder("=")


def _copy(targets: Any, sources: Tuple[Any, Any]) -> None:
    """Checks all arrays before the first value is written."""
    if len(targets) != 2:
        raise ValueError("out must be two arrays (u, v), not %d" % len(targets))
    given = [np.asarray(source) for source in sources]
    for k, (target, source) in enumerate(zip(targets, given)):
        view = np.asarray(target)
        shape, dtype = view.shape, view.dtype
        if shape != source.shape or dtype != source.dtype:
            raise ValueError(
                "out[%d] has the shape %s and the dtype %s, and the reconstruction has %s and %s"
                % (k, shape, dtype, source.shape, source.dtype)
            )
        if np.may_share_memory(view, given[1 - k]) and np.shares_memory(view, given[1 - k]):
            raise ValueError("out[%d] shares values with %s: pass another array" % (k, "vu"[k]))
    for target, source in zip(targets, sources):
        if target is not source:
            target[...] = source


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
