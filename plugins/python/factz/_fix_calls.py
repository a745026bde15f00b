"""Calls that make and apply fixes, in host memory or on a CUDA stream, which they wait for."""

import ctypes
import itertools
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, set_layout, share_values
from ._compression import _raise, _sizes
from ._config import count_of
from ._fields import buffer, copy_of, find, find_bytes
from ._library import check
from .errors import error_of

REPORT_BYTES = ctypes.sizeof(_abi.FixReport)


class Functions(NamedTuple):
    """Functions of the library that do the same on the host and on a device, with the sizes for the device."""

    host: Any
    device: Any
    sizes: Any


class Outputs(NamedTuple):
    """Arrays that receive a result: as they were given, and as the library writes them."""

    given: Tuple[Any, ...]
    arrays: List[Array]


def protect(
    queue: Any, functions: Functions, config: _abi.Config, call: Sequence[Any], room: int, threads: int
) -> Tuple[Any, _abi.FixReport]:
    """A fix and its report.

    Args:
        call: the arguments before the memory of the fix.
        room: bytes that hold any fix.
    """
    most = count_of("threads", threads)
    if queue is None:
        # Pages that nothing is written to take no memory.
        fix, found = np.empty(room, np.uint8), _abi.FixReport()
        check(functions.host(*call, *find_bytes("fix", fix, None).memory, found, most))
        return fix[: found.fix_bytes].tobytes(), found
    sizes = _sizes(config, functions.sizes)
    target = buffer("fix", None, sizes.max_stream_bytes, queue)
    found = _on_device(queue, functions, (*call, *target.memory), sizes)
    if found.status == _abi.ERROR_INVALID_ARGUMENT:
        raise error_of(found.status, _leaves_the_bound(found, config))
    _raise(found, "")
    return queue.head(target.owner, found.fix_bytes), found


def check_reconstruction(
    config: _abi.Config, originals: Sequence[Array], others: Sequence[Array], halo: Any
) -> None:
    """Refuses a reconstruction of another shape or dtype than the original without its ghosts.

    Args:
        config: that of the original.
        halo: the sides with ghosts, as the caller named them.
    """
    names, other_names = _names(originals), _names(others)
    shape, found = originals[0].shape, others[0].shape
    needed = (config.nz, config.ny, config.nx)[-len(shape) :]
    if found != needed:
        ghosts = "" if needed == shape else " without the ghosts of halo=%r, which only the original has" % (halo,)
        raise ValueError(
            "%s have the shape %s, and %s is needed, the shape of %s%s"
            % (other_names, found, needed, names, ghosts)
        )
    kind, other_kind = (arrays[0].dtype.newbyteorder("=") for arrays in (originals, others))
    if kind != other_kind:
        raise TypeError("%s are %s, and %s are %s: convert one of them" % (other_names, other_kind, names, kind))


def _names(arrays: Sequence[Array]) -> str:
    *first, last = (array.name for array in arrays)
    return ", ".join(first) + " and " + last


def apply(
    queue: Any,
    functions: Functions,
    config: _abi.Config,
    fix: Any,
    given: List[Array],
    outputs: Optional[Outputs],
    threads: int,
    other: str,
) -> Tuple[Tuple[Any, ...], _abi.FixReport]:
    """Arrays with the repaired field, and the report. If the library refuses, all arrays keep their values.

    Args:
        given: the reconstruction.
        outputs: the arrays that receive the repaired field, which may be those of the reconstruction; None for
            new ones.
        other: what else a fix that is refused may belong to.
    """
    most, source = count_of("threads", threads), find_bytes("fix", fix, queue)
    targets = outputs.arrays if outputs else []
    _check_outputs(targets, given)
    is_in_place = bool(targets) and all(map(_is_same, targets, given))
    copies = () if is_in_place else tuple(copy_of(array, queue) for array in given)
    arrays = targets if is_in_place else [find(a.name, copy, queue) for a, copy in zip(given, copies)]
    call = (*source.memory, config, *set_layout(config, *arrays))
    if queue is None:
        found = _abi.FixReport()
        check(functions.host(*call, found, most))
    else:
        found = _on_device(queue, functions, call, _sizes(config, functions.sizes))
        _raise(found, "the fix belongs to another reconstruction, shape or dtype, or to %s" % other)
    if outputs is None:
        return copies, found
    for target, values in zip(outputs.given, copies):
        _assign(queue, target, values)
    return outputs.given, found


def _on_device(queue: Any, functions: Functions, call: Sequence[Any], sizes: _abi.Sizes) -> _abi.FixReport:
    """Enqueues a call with these arguments before the workspace, waits, and returns the report."""
    workspace = buffer("workspace", None, sizes.workspace_bytes, queue)
    report = buffer("report", None, REPORT_BYTES, queue)
    with queue.active():
        check(functions.device(*call, *workspace.memory, report.address, queue.handle))
    return _abi.FixReport.from_buffer_copy(queue.to_host(report.owner, REPORT_BYTES))


def _leaves_the_bound(found: _abi.FixReport, config: _abi.Config) -> str:
    z, y, x = (int(k) for k in np.unravel_index(found.first_outside, (config.nz, config.ny, config.nx)))
    if config.components == 3:
        place = "(%d, %d, %d)" % (x, y, z)
    else:
        place = "(%d, %d)" % (x, y) + (" of plane %d" % z if config.nz > 1 else "")
    count = found.vertices_outside - 1
    more = "" if count == 0 else ", as does 1 other" if count == 1 else ", as do %d others" % count
    return (
        "the reconstruction leaves the bound at vertex %s%s: give the bound that it was made with; where the "
        "original is finite the reconstruction must be finite" % (place, more)
    )


def _check_outputs(targets: List[Array], given: List[Array]) -> None:
    """Refuses outputs of another shape or dtype, and those that share values with another component."""
    for target, source in zip(targets, given):
        if target.shape != source.shape or target.dtype != source.dtype:
            raise ValueError(
                "%s has the shape %s and the dtype %s, and the reconstruction has %s and %s"
                % (target.name, target.shape, target.dtype, source.shape, source.dtype)
            )
    for k, j in itertools.permutations(range(len(targets)), 2):
        for other in (targets[j], given[j]):
            if share_values(targets[k], other):
                raise ValueError("%s shares values with %s: pass another array" % (targets[k].name, other.name))


def _is_same(a: Array, b: Array) -> bool:
    return (a.address, a.strides) == (b.address, b.strides)


def _assign(queue: Any, target: Any, values: Any) -> None:
    if queue is None:
        target[...] = values
    else:
        with queue.active():
            queue.own(target)[...] = values
