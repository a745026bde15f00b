"""Fixes in device memory: both calls enqueue work on a CUDA stream, and wait for it."""

import ctypes
from typing import Any, Sequence, Tuple

import numpy as np

from . import _abi
from ._compression import _raise, _sizes
from ._fields import buffer
from ._library import check

REPORT_BYTES = ctypes.sizeof(_abi.FixReport)

BELONGS = "the fix belongs to another reconstruction, shape or dtype, or to %s"


def make(
    queue: Any, functions: Tuple[Any, Any], call: Sequence[Any], config: _abi.Config, shape: Tuple[int, ...]
) -> Tuple[Any, _abi.FixReport]:
    """A fix in device memory, and the report. ``functions``: the sizes, and the call on a device; ``call``: its
    arguments before the memory; ``shape``: of the reconstruction."""
    sizes = _sizes(config, functions[0])
    fix = buffer("fix", None, sizes.max_stream_bytes, queue)
    found = _done(queue, functions[1], (*call, *fix.memory), sizes)
    if found.status == _abi.ERROR_INVALID_ARGUMENT and found.vertices_outside:
        _raise(found, _leaves_the_bound(found, shape))
    _raise(found, "the arguments do not suit each other")
    return queue.head(fix.owner, found.fix_bytes), found


def put(
    queue: Any, functions: Tuple[Any, Any], call: Sequence[Any], config: _abi.Config, hint: str
) -> _abi.FixReport:
    """Applies a fix in place: the report. ``hint`` says what a fix that is refused may belong to."""
    found = _done(queue, functions[1], call, _sizes(config, functions[0]))
    _raise(found, hint)
    return found


def _done(queue: Any, function: Any, call: Sequence[Any], sizes: _abi.Sizes) -> _abi.FixReport:
    """The report of a call with these arguments before the workspace."""
    workspace = buffer("workspace", None, sizes.workspace_bytes, queue)
    report = buffer("report", None, REPORT_BYTES, queue)
    with queue.active():
        check(function(*call, *workspace.memory, report.address, queue.handle))
    return _abi.FixReport.from_buffer_copy(queue.to_host(report.owner, REPORT_BYTES))


def _leaves_the_bound(found: _abi.FixReport, shape: Tuple[int, ...]) -> str:
    place = [int(k) for k in np.unravel_index(found.first_outside, shape)]
    text = "the reconstruction leaves the bound at %d vertices, the first of which is %s: give the bound that "
    return (text + "it was made with") % (found.vertices_outside, place)
