"""Volumes in device memory: the functions that only enqueue work on a CUDA stream, and the memory that they need."""

from typing import Any, List, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import Array, set_layout
from ._compression import EnqueuedCompression, EnqueuedDecompression, _enqueued, _memory, _required, _sizes
from ._config import DTYPES, Sides, configured_volume, lengths_of
from ._device import queue_of
from ._fields import find_bytes
from ._library import check, library
from ._results import Sizes
from ._volume_config import given, given_outputs, inputs, outputs


def _shaped(config: _abi.Config, shape: Tuple[int, int, int], dtype: Any) -> _abi.Config:
    kind = np.dtype(dtype)
    if kind.name not in DTYPES:
        raise TypeError("dtype=%s: factz takes float32 and float64" % kind)
    config.nz, config.ny, config.nx = lengths_of("shape", shape, ("nz", "ny", "nx"), 2**64 - 1)
    config.dtype = DTYPES[kind.name]
    # As for arrays that include the ghosts.
    config.u_pitch = config.v_pitch = config.w_pitch = config.nx + 2 if config.halo else 0
    config.plane_rows = config.ny + 2 if config.halo else 0
    return config


def compress_volume_sizes(
    shape: Tuple[int, int, int],
    dtype: Any,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    coder: str = "ans",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
) -> Sizes:
    """How much memory :func:`enqueue_compress_volume` needs.

    Args:
        shape: (nz, ny, nx) of u, v and w without ghosts.
        dtype: their element type.
        abs, rel, ...: the options of the call, as in :func:`compress_volume`.

    Returns:
        The sizes; ``analysis_workspace_bytes`` is 0.
    """
    options = {"coder": coder, "preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "dz": dz}
    config = configured_volume(abs, rel, pin=pin, halo=halo, fill=fill, periodic=periodic, **options)
    return Sizes._of(_sizes(_shaped(config, shape, dtype), library.compress_volume_sizes))


def decompress_volume_sizes(shape: Tuple[int, int, int], dtype: Any) -> Sizes:
    """How much memory :func:`enqueue_decompress_volume` needs for volumes of a shape and an element type.

    Args:
        shape: (nz, ny, nx).
        dtype: float32 or float64.
    """
    config = _shaped(configured_volume(abs=0.0), shape, dtype)
    return Sizes._of(_sizes(config, library.decompress_volume_sizes))


def enqueue_compress_volume(
    u: Any,
    v: Any = None,
    w: Any = None,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    coder: str = "ans",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    dst: Any = None,
    workspace: Any = None,
    report: Any = None,
    stream: Any = None,
) -> EnqueuedCompression:
    """Enqueues the compression of a volume in device memory and returns at once.

    Nothing waits, and nothing is copied to the host. If ``dst``, ``workspace`` and ``report`` are given,
    nothing is allocated either, and the call can be captured into a CUDA graph (after
    :func:`prepare_device`).

    Args:
        u, v, w: device arrays, three or u alone, as in :func:`compress_volume`.
        abs, rel, ...: options, as in :func:`compress_volume`.
        dst: device memory (uint8) for the compressed data; by default :attr:`Sizes.max_stream_bytes` of
            :func:`compress_volume_sizes`. If they do not fit, ``wait()`` raises :class:`BufferTooSmallError`.
        workspace: device memory (uint8) of :attr:`Sizes.workspace_bytes`.
        report: device memory (uint8) of :attr:`Sizes.report_bytes`.
        stream: the CUDA stream, as in :func:`compress`.

    Raises:
        FactzError, ValueError, TypeError: as :func:`compress_volume`, before anything is enqueued. Errors on
            the device are raised by ``wait()``.
    """
    options = {"coder": coder, "preserve": preserve, "ties": ties, "dx": dx, "dy": dy, "dz": dz}
    config = configured_volume(abs, rel, pin=pin, halo=halo, fill=fill, periodic=periodic, **options)
    queue = _required(queue_of(stream, **given(u, v, w)))
    return _enqueue_compress_volume(queue, config, inputs(u, v, w, queue=queue), dst, workspace, report)


def _enqueue_compress_volume(
    queue: Any, config: _abi.Config, components: List[Array], dst: Any, workspace: Any, report: Any
) -> EnqueuedCompression:
    call = (*set_layout(config, *components), config)
    sizes = _sizes(config, library.compress_volume_sizes)
    return _enqueued(queue, library.compress_volume_device, call, components, sizes, dst, workspace, report)


def enqueue_decompress_volume(
    data: Any,
    out: Any,
    *,
    verify: bool = True,
    workspace: Any = None,
    report: Any = None,
    stream: Any = None,
) -> EnqueuedDecompression:
    """Enqueues the decompression of a volume in device memory and returns at once.

    Nothing waits, and nothing is copied to the host. If ``workspace`` and ``report`` are given, nothing is
    allocated either, and the call can be captured into a CUDA graph (after :func:`prepare_device`).

    Args:
        data: device array of uint8 that begins with the compressed data; it may be longer.
        out: device arrays (u, v, w) of the shape and the dtype of the data, or one array, as in
            :func:`decompress_volume`. They need not be dense.
        verify: whether the checksum is compared.
        workspace: device memory (uint8) of :attr:`Sizes.workspace_bytes` of :func:`decompress_volume_sizes`.
        report: device memory (uint8) of :attr:`Sizes.report_bytes`.
        stream: the CUDA stream, as in :func:`compress`.

    Raises:
        FactzError, ValueError, TypeError: before anything is enqueued. Errors on the device, such as
            :class:`CorruptStreamError`, are raised by ``wait()``.
    """
    queue = _required(queue_of(stream, data=data, **given_outputs(out)))
    config = configured_volume(abs=0.0)
    config.verify_checksum = bool(verify)
    return _enqueue_decompress_volume(queue, config, data, *outputs(out, queue), workspace, report)


def _enqueue_decompress_volume(
    queue: Any,
    config: _abi.Config,
    data: Any,
    components: Tuple[Any, Any, Any],
    arrays: List[Array],
    workspace: Any,
    report: Any,
) -> EnqueuedDecompression:
    source = find_bytes("data", data, queue)
    field = set_layout(config, *arrays)
    scratch, outcome = _memory(_sizes(config, library.decompress_volume_sizes), workspace, report, queue)
    with queue.active():
        call = (*source.memory, config, *field, *scratch.memory)
        check(library.decompress_volume_device(*call, outcome.address, queue.handle))
    return EnqueuedDecompression(queue, outcome.owner, arrays + [source, scratch, outcome], components)
