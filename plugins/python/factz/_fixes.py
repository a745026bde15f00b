"""protect and apply: fixes for the reconstructions of other compressors."""

from typing import Any, Optional, Tuple

import numpy as np

from . import _abi, _fix_device
from ._compression import _pair, _sizes
from ._config import Sides, configured, count_of
from ._device import queue_of
from ._fields import find_bytes, place, place_output
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
    call = (*field.call, config, reconstruction.u, reconstruction.v, other)
    result: Any
    if queue is not None:
        functions = library.protect_sizes, library.protect_device
        result, found = _fix_device.make(queue, functions, call, config, reconstruction.arrays[0].shape)
    else:
        # Pages that nothing is written to take no memory.
        fix, found = np.empty(_sizes(config).max_stream_bytes, np.uint8), _abi.FixReport()
        target = find_bytes("fix", fix, None).memory
        check(library.protect_host(*call, *target, found, count_of("threads", threads)))
        result = fix[: found.fix_bytes].tobytes()
    if report is not None:
        report._take(found)
    return result


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
        out: arrays (u, v) that receive the result; they may be u and v themselves. By default new arrays.
        threads: the largest number of threads; 0 is one per processor. No effect on a device.
        report: filled with what was done.
        stream: device arrays: the CUDA stream, as in :func:`compress`; the call waits for it.

    Returns:
        (u, v): ``out``, or new arrays. If the call fails and ``out`` is u and v, they keep their values.

    Raises:
        InvalidArgumentError: the fix belongs to another reconstruction, shape or dtype.
        ValueError: ``out`` has another shape or dtype than u and v, or shares values with the other.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress`.
    """
    outputs = {} if out is None else dict(zip(("out[0]", "out[1]"), _pair(out)))
    queue = queue_of(stream, fix=fix, u=u, v=v, **outputs)
    if queue is not None:
        result, found = _apply_on_device(queue, fix, (u, v), None if out is None else _pair(out))
    else:
        if out is None:
            result = tuple(np.array(x, _native(x), order="C") for x in (u, v))
        else:
            result = _pair(out)
            _copy(result, (u, v))
        config, found = configured(abs=0.0), _abi.FixReport()
        call = (*find_bytes("fix", fix, None).memory, config, *place_output(config, result, None).call)
        check(library.apply_host(*call, found, count_of("threads", threads)))
    if report is not None:
        report._take(found)
    return result[0], result[1]


def _apply_on_device(
    queue: Any, fix: Any, arrays: Tuple[Any, Any], out: Optional[Tuple[Any, Any]]
) -> Tuple[Tuple[Any, ...], _abi.FixReport]:
    """Arrays with the result, and the report."""
    source, config = find_bytes("fix", fix, queue), configured(abs=0.0)
    is_in_place = out is not None and out[0] is arrays[0] and out[1] is arrays[1]
    given = place(configured(abs=0.0), *arrays, queue)
    if out is not None:
        targets = place_output(configured(abs=0.0), out, queue).arrays
        for target, array in zip(targets, given.arrays):
            _check_alike(target.name, target, array)
    # A fix that is refused leaves the values as they are.
    result = out if is_in_place else tuple(queue.copy(array.owner) for array in given.arrays)
    field = place_output(config, result, queue)
    functions = library.apply_sizes, library.apply_device
    found = _fix_device.put(
        queue, functions, (*source.memory, config, *field.call), config, _fix_device.BELONGS % "a volume"
    )
    if out is None or is_in_place:
        return result, found
    with queue.active():
        for target, values in zip(out, result):
            queue.own(target)[...] = values
    return out, found


def _check_alike(name: str, target: Any, source: Any) -> None:
    """Refuses an output of another shape or dtype than the reconstruction."""
    if target.shape != source.shape or target.dtype != source.dtype:
        raise ValueError(
            "%s has the shape %s and the dtype %s, and the reconstruction has %s and %s"
            % (name, target.shape, target.dtype, source.shape, source.dtype)
        )


def _native(array: Any) -> np.dtype:
    return np.asarray(array).dtype.newbyteorder("=")


def _copy(targets: Any, sources: Tuple[Any, Any]) -> None:
    """Checks all arrays before the first value is written."""
    given = [np.asarray(source) for source in sources]
    for k, (target, source) in enumerate(zip(targets, given)):
        view = np.asarray(target)
        _check_alike("out[%d]" % k, view, source)
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
