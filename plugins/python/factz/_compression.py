"""compress, decompress and inspect, and the functions that only enqueue work on a CUDA stream."""

import ctypes
import warnings
from typing import Any, List, Optional, Tuple, Union

import numpy as np

from . import _abi
from ._arrays import Array
from ._component import decompress_one, holds_one, split
from ._config import DTYPES, Shape, Sides, configured, count_of, name_of, stack_shape_of
from ._device import queue_of
from ._fields import buffer, find_bytes, find_output, place, place_output
from ._library import HOLDS_ONE, HOLDS_VOLUME, check, library, refusal
from ._region import check_shapes, decompress_part, is_file, planes_of
from ._results import Info, Report, Sizes
from ._two_components import of_planes
from .errors import WideRangeWarning, error_of

REPORT_BYTES = ctypes.sizeof(_abi.Report)


def _warn(found: _abi.Report, callers: int = 2) -> None:
    """Warns in the name of the caller that is so many calls away."""
    if found.warnings & _abi.WARNING_WIDE_RANGE:
        warnings.warn(
            "outliers make the range of the field, and the bound of %g may be larger than most data: give "
            "fill=, or an absolute bound" % found.bound,
            WideRangeWarning,
            stacklevel=callers + 1,
        )


def _sizes(config: _abi.Config, function: Any = library.compress_sizes) -> _abi.Sizes:
    sizes = _abi.Sizes()
    check(function(config, sizes))
    return sizes


def _shaped(config: _abi.Config, shape: Shape, dtype: Any) -> _abi.Config:
    kind = np.dtype(dtype)
    if kind.name not in DTYPES:
        raise TypeError("dtype=%s: factz takes float32 and float64" % kind)
    config.nz, config.ny, config.nx = stack_shape_of("shape", shape, 2**64 - 1)
    config.dtype = DTYPES[kind.name]
    # As for arrays that include the ghost lines.
    config.u_pitch = config.v_pitch = config.nx + 2 if config.halo else 0
    config.plane_rows = config.ny + 2 if config.halo else 0
    return config


def compress_sizes(
    shape: Shape,
    dtype: Any,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    mode: str = "block",
    coder: str = "ans",
    predictor: str = "hierarchical",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
) -> Sizes:
    """How much memory :func:`enqueue_compress` and the analysis of device arrays need.

    Args:
        shape: (ny, nx), or (nz, ny, nx) of a stack, of u and of v without ghost lines.
        dtype: their element type.
        abs, rel, ...: the options of the call, as in :func:`compress`.
    """
    config = configured(abs, rel, mode, coder, predictor, preserve, ties, dx, dy, pin, halo, fill, periodic)
    return Sizes._of(_sizes(_shaped(config, shape, dtype)))


def decompress_sizes(shape: Shape, dtype: Any, *, some_planes: bool = False) -> Sizes:
    """How much memory :func:`enqueue_decompress` needs for fields of a shape and an element type.

    Args:
        shape: (ny, nx), or (nz, ny, nx) of a stack.
        dtype: float32 or float64.
        some_planes: whether they are planes of data that may have others (``first``).
    """
    sizes = library.decompress_planes_sizes if some_planes else library.decompress_sizes
    return Sizes._of(_sizes(_shaped(configured(abs=0.0), shape, dtype), sizes))


# ---------------------------------------------------------------- work on a device


class Enqueued:
    """Work on a CUDA stream whose outcome is not known yet.

    It holds the arrays of the call until :meth:`wait`. If it is dropped before, the memory that the call
    allocated returns to its pool in the order of the stream, and memory of the caller must live until the
    stream has got there, as for every other operation.
    """

    _hint = "the arguments do not suit the data"

    def __init__(self, queue: Any, report: Any, arrays: List[Any]):
        self._queue, self._report, self._arrays = queue, report, arrays
        self._found: Optional[_abi.Report] = None

    def wait(self) -> Report:
        """Waits for the stream and returns the report.

        Raises:
            FactzError: the work failed on the device; a :class:`BufferTooSmallError` has ``required_bytes``.
        """
        return Report()._take(self._outcome())

    def _outcome(self) -> _abi.Report:
        if self._found is None:
            self._found = _abi.Report.from_buffer_copy(self._queue.to_host(self._report, REPORT_BYTES))
            self._arrays = []
        _raise(self._found, self._hint)
        return self._found


def _raise(found: Union[_abi.Report, _abi.FixReport], hint: str) -> None:
    """Raises what a device reports; the hint says what an argument that does not suit the data may be."""
    if found.status == _abi.OK:
        return
    text = "%s: reported by the device" % library.status_string(found.status).decode()
    if found.status == _abi.ERROR_BUFFER_TOO_SMALL:
        text += "; the compressed data take %d bytes" % found.required_bytes
    if found.status == _abi.ERROR_INVALID_ARGUMENT:
        text += "; " + hint
    error = error_of(found.status, text)
    if found.status == _abi.ERROR_BUFFER_TOO_SMALL:
        error.required_bytes = found.required_bytes  # type: ignore[attr-defined]
    raise error


class EnqueuedCompression(Enqueued):
    """Result of :func:`enqueue_compress` or :func:`enqueue_compress_volume`.

    Attributes:
        buffer: device memory (uint8) that the compressed data are written to, at its beginning. It may go to
            :func:`enqueue_decompress` or :func:`enqueue_decompress_volume` on the same stream as a whole,
            before the length is known.
    """

    def __init__(self, queue: Any, report: Any, arrays: List[Any], buffer: Any):
        super().__init__(queue, report, arrays)
        self.buffer = buffer

    def result(self) -> Any:
        """Waits for the stream and returns the compressed data: a copy of the beginning of ``buffer``, of the
        right length and complete for every stream.

        Raises:
            FactzError: as :meth:`wait`.
        """
        length = self.wait().stream_bytes
        return self._queue.head(self.buffer, length)


class EnqueuedDecompression(Enqueued):
    """Result of :func:`enqueue_decompress` or :func:`enqueue_decompress_volume`.

    Attributes:
        u, v: device arrays that are written to.
        w: that of the third component of a volume, else None.
    """

    def __init__(self, queue: Any, report: Any, arrays: List[Any], out: Tuple[Any, ...]):
        super().__init__(queue, report, arrays)
        self.u, self.v, self.w = (*out, None)[:3]
        holds = "planes" if len(out) == 3 else "a volume"
        self._hint = "the data have another shape or dtype than out, or hold " + holds


def enqueue_compress(
    u: Any,
    v: Any,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    mode: str = "block",
    coder: str = "ans",
    predictor: str = "hierarchical",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    dst: Any = None,
    workspace: Any = None,
    report: Any = None,
    stream: Any = None,
) -> EnqueuedCompression:
    """Enqueues the compression of arrays in device memory and returns at once.

    Nothing waits, and nothing is copied to the host. If ``dst``, ``workspace`` and ``report`` are given,
    nothing is allocated either, and the call can be captured into a CUDA graph (after
    :func:`prepare_device`).

    Args:
        u, v: device arrays of the shape (ny, nx) or (nz, ny, nx), as in :func:`compress`.
        abs, rel, ...: options, as in :func:`compress`.
        dst: device memory (uint8) for the compressed data; by default :attr:`Sizes.max_stream_bytes`. If they
            do not fit, ``wait()`` raises :class:`BufferTooSmallError`.
        workspace: device memory (uint8) of :attr:`Sizes.workspace_bytes`.
        report: device memory (uint8) of :attr:`Sizes.report_bytes`.
        stream: the CUDA stream, as in :func:`compress`.

    Raises:
        FactzError, ValueError, TypeError: as :func:`compress`, before anything is enqueued. Errors on the
            device are raised by ``wait()``.
    """
    config = configured(abs, rel, mode, coder, predictor, preserve, ties, dx, dy, pin, halo, fill, periodic)
    queue = _required(queue_of(stream, u=u, v=v))
    return _enqueue_compress(queue, config, u, v, dst, workspace, report)


def _required(queue: Any) -> Any:
    if queue is None:
        raise TypeError("the arrays are in host memory: work is enqueued on arrays in device memory only")
    return queue


def _enqueue_compress(
    queue: Any, config: _abi.Config, u: Any, v: Any, dst: Any, workspace: Any, report: Any
) -> EnqueuedCompression:
    field = place(config, u, v, queue)
    call, sizes = (*field.call, config), _sizes(config)
    return _enqueued(queue, library.compress_device, call, field.arrays, sizes, dst, workspace, report)


def _enqueued(
    queue: Any,
    function: Any,
    call: Any,
    arrays: List[Array],
    sizes: _abi.Sizes,
    dst: Any,
    workspace: Any,
    report: Any,
) -> EnqueuedCompression:
    """Enqueues a compression: ``call`` has the arguments before the memory."""
    data = buffer("dst", dst, sizes.max_stream_bytes, queue)
    scratch, outcome = _memory(sizes, workspace, report, queue)
    with queue.active():
        check(function(*call, *data.memory, *scratch.memory, outcome.address, queue.handle))
    return EnqueuedCompression(queue, outcome.owner, arrays + [data, scratch, outcome], data.owner)


def _pair(out: Any) -> Tuple[Any, Any]:
    try:
        u, v = out
    except (TypeError, ValueError):
        raise ValueError("out must be two arrays, (u, v)") from None
    return u, v


def _memory(sizes: _abi.Sizes, workspace: Any, report: Any, queue: Any) -> Tuple[Array, Array]:
    """The workspace and the report of a call."""
    outcome = buffer("report", report, REPORT_BYTES, queue)
    if outcome.nbytes < REPORT_BYTES:
        raise ValueError("report has %d bytes: a report takes %d" % (outcome.nbytes, REPORT_BYTES))
    return buffer("workspace", workspace, sizes.workspace_bytes, queue), outcome


def enqueue_decompress(
    data: Any,
    out: Tuple[Any, Any],
    *,
    first: Optional[int] = None,
    verify: bool = True,
    predictor: str = "hierarchical",
    workspace: Any = None,
    report: Any = None,
    stream: Any = None,
) -> EnqueuedDecompression:
    """Enqueues the decompression of data in device memory and returns at once.

    Nothing waits, and nothing is copied to the host. If ``workspace`` and ``report`` are given, nothing is
    allocated either, and the call can be captured into a CUDA graph (after :func:`prepare_device`).

    Args:
        data: device array of uint8 that begins with the compressed data; it may be longer.
        out: device arrays (u, v) of the shape and the dtype of the data. They need not be dense.
        first: the first of the planes that ``out`` has room for; without it ``out`` takes all planes.
        verify: whether the checksum is compared; that of some planes is not.
        predictor: that of the data; another one is decompressed too, more slowly.
        workspace: device memory (uint8) of :attr:`Sizes.workspace_bytes` of :func:`decompress_sizes`.
        report: device memory (uint8) of :attr:`Sizes.report_bytes`.
        stream: the CUDA stream, as in :func:`compress`.

    Raises:
        FactzError, ValueError, TypeError: before anything is enqueued. Errors on the device, such as
            :class:`CorruptStreamError`, are raised by ``wait()``.
    """
    out = _pair(out)
    queue = _required(queue_of(stream, data=data, u=out[0], v=out[1]))
    config = configured(abs=0.0, predictor=predictor)
    config.verify_checksum = bool(verify)
    return _enqueue_decompress(queue, config, data, out, workspace, report, first)


def _enqueue_decompress(
    queue: Any,
    config: _abi.Config,
    data: Any,
    out: Tuple[Any, Any],
    workspace: Any,
    report: Any,
    first: Optional[int] = None,
) -> EnqueuedDecompression:
    source = find_bytes("data", data, queue)
    field = place_output(config, out, queue)
    if first is None:
        plan, enqueue, planes = library.decompress_sizes, library.decompress_device, ()
    elif not 0 <= first < 2**64:
        raise ValueError("first = %d is not the number of a plane" % first)
    else:
        plan, enqueue, planes = library.decompress_planes_sizes, library.decompress_planes_device, (first,)
    scratch, outcome = _memory(_sizes(config, plan), workspace, report, queue)
    with queue.active():
        call = (*source.memory, config, *planes, *field.call, *scratch.memory)
        check(enqueue(*call, outcome.address, queue.handle))
    arrays = field.arrays + [source, scratch, outcome]
    return EnqueuedDecompression(queue, outcome.owner, arrays, (out[0], out[1]))


def prepare_device(array: Any, *, stream: Any = None) -> None:
    """Loads the kernels for the device that an array lies on, which the first call does otherwise.

    Call it before a CUDA graph is captured. It may block.

    Args:
        array: a device array.
        stream: a CUDA stream, as in :func:`compress`.

    Raises:
        NoDeviceError, CudaError: the kernels cannot be loaded.
    """
    queue = _required(queue_of(stream, array=array))
    with queue.active():
        check(library.prepare_device(queue.handle))


# ---------------------------------------------------------------- compress, decompress, inspect


@of_planes("compress_volume")
def compress(
    u: Any,
    v: Any,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    mode: str = "block",
    coder: str = "ans",
    predictor: str = "hierarchical",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    separate: bool = False,
    threads: int = 0,
    report: Optional[Report] = None,
    stream: Any = None,
    workspace: Any = None,
) -> Any:
    """Compresses a field of two components within an error bound and keeps every critical point. For u, v and w
    there is :func:`compress_volume`.

    Args:
        u, v: the components along x and y: arrays of the shape (ny, nx), float32 or float64, both in host
            memory (NumPy and what NumPy converts) or both in device memory (CuPy, PyTorch, or others with
            ``__cuda_array_interface__`` or DLPack). Row u[y] is along x. They may be read-only, and slices or
            components of one array: ``compress(*uv)`` takes an array of shape (2, ny, nx),
            ``compress(uv[..., 0], uv[..., 1])`` an interleaved one, without a copy. Arrays of the shape (nz,
            ny, nx) are a stack of planes, such as times or levels: fields of their own with one bound, of
            which :func:`decompress` reads some without the others; ``compress(uv[:, 0], uv[:, 1])`` takes an
            array of shape (nz, 2, ny, nx). What the library cannot read in place (negative or broadcast
            strides, columns that lie closer than rows, planes that are not whole rows apart or not equally
            far in u and v, another byte order) is copied first.
        abs: the largest error of any value, in the unit of the field; 0 is lossless.
        rel: the same as a fraction of max - min of u and v together. Give one of abs and rel.
        mode: "block" (fast) or "speculative" (smaller data).
        coder: "ans" or "huffman".
        predictor: "hierarchical" or, with mode "block", "lorenzo" (faster, larger data).
        preserve: "types" (critical points and their types), "points", or "none" (the bound alone).
        ties: "all", "zeros" or "sos": what is kept of triangles whose zero lies on an edge or at a vertex.
        dx, dy: the grid spacing, negative where the axis runs backwards: ``dy=-1`` if row 0 is the
            northernmost and v positive to the north. Only types of critical points depend on it; with the
            wrong sign those of the mirrored field are kept, in which vortices are saddles.
        pin: sides whose border line is stored exactly (zero vertices may lose their signs): "all", or of
            "xmin+xmax+ymin+ymax". xmin is column 0, ymin is row 0.
        halo: sides where the outermost line of u and v is a ghost line of a neighbour's original values. It
            belongs to the shape of u and v but not to the compressed data.
        fill: vertices where u or v has this value hold no data; they are kept bit for bit.
        periodic: "x", "y" or "xy": axes along which the last vertex is a neighbour of the first, such as the
            longitude of a global grid, whose cells are part of the field. Such an axis has at least 3
            vertices, and no pin and halo. An axis that repeats its first vertex at its end is not periodic.
        separate: whether the data of u and of v are apart, as :func:`split` makes them; arrays in host
            memory.
        threads: the largest number of threads; 0 is one per processor. No effect on a device.
        report: receives the outcome.
        stream: device arrays: a CUDA stream of CuPy, PyTorch or another library, or its address; by default
            the current stream of the library of the arrays.
        workspace: device arrays: scratch memory (uint8) of :attr:`Sizes.workspace_bytes`; by default it is
            allocated by the library of the arrays.

    Returns:
        The compressed data: ``bytes`` for arrays in host memory, for device arrays a device array (uint8)
        of the same library. They are the same bytes, for any number of threads. With ``separate`` the two of
        :func:`split`.

    Raises:
        ValueError, TypeError: arrays or options that are no field or no configuration.
        FactzError: the library refused, for instance :class:`OutOfMemoryError` or, for device arrays,
            :class:`NoDeviceError`.

    The interpreter's lock is released. Device arrays: the work is enqueued on the stream, and the call waits
    for it, because the length of the result must be known; then the result is complete for every stream.
    :func:`enqueue_compress` does not wait.
    """
    config = configured(abs, rel, mode, coder, predictor, preserve, ties, dx, dy, pin, halo, fill, periodic)
    queue = queue_of(stream, u=u, v=v)
    data: Any
    if separate and queue is not None:
        raise ValueError("separate=True is for arrays in host memory: data on a device hold both components")
    if queue is not None:
        work = _enqueue_compress(queue, config, u, v, None, workspace, None)
        data, found = work.result(), work._outcome()
    else:
        _no_workspace(workspace)
        data, found = _compress_host(config, u, v, threads)
    if report is not None:
        report._take(found)
    _warn(found, 3)  # of_planes calls this function
    return split(data, threads=threads) if separate else data


def _no_workspace(workspace: Any) -> None:
    if workspace is not None:
        raise ValueError("workspace= is for arrays in device memory")


def _compress_host(config: _abi.Config, u: Any, v: Any, threads: int) -> Tuple[bytes, _abi.Report]:
    field = place(config, u, v, None)
    # Pages that nothing is written to take no memory.
    data = np.empty(_sizes(config).max_stream_bytes, np.uint8)
    found = _abi.Report()
    target = find_bytes("data", data, None).memory
    check(library.compress_host(*field.call, config, *target, found, count_of("threads", threads)))
    return data[: found.stream_bytes].tobytes(), found


def inspect(data: Any, *, stream: Any = None) -> Info:
    """Reads the header of compressed data; the rest is not looked at.

    Args:
        data: bytes, or a device array of uint8; the first 128 bytes suffice, of a
            volume 176.
        stream: device arrays: the CUDA stream, as in :func:`compress`; the call waits for it.

    Raises:
        CorruptStreamError: the data do not begin with a header.
        UnsupportedVersionError: this library does not read the format of the data.
    """
    return Info._of(_inspect(data, queue_of(stream, data=data)))


def _inspect(data: Any, queue: Any) -> _abi.Info:
    source = find_bytes("data", data, queue)
    if queue is not None:
        source = find_bytes("data", queue.to_host(data, _abi.VOLUME_INSPECT_BYTES), None)
    info = _abi.Info()
    check(library.inspect_host(*source.memory, info))
    return info


def decompress(
    data: Any,
    out: Optional[Tuple[Any, Any]] = None,
    *,
    region: Any = None,
    planes: Any = None,
    verify: bool = True,
    threads: int = 0,
    stream: Any = None,
    workspace: Any = None,
) -> Any:
    """Decompresses data of :func:`compress`, or a part of the field.

    Args:
        data: bytes or another contiguous buffer, or a device array of uint8. Bytes behind the end are
        ignored.
        out: arrays (u, v) of the shape of the result and the dtype of the data that receive the field, in the
            memory where the data are. They may be slices, but need positive strides. By default new arrays.
            One array for data of one component (:func:`split`).
        region: two slices (rows, columns) without a step, such as ``numpy.s_[100:200, -300:]``: the result
            is the same part of u and v, bit for bit. Only the groups of tiles that hold it are decoded. Then
            ``data`` may also be a binary file that can seek, at the start of the data, of which only these
            groups are read. Of a stack it is that part of each plane. For data in host memory.
        planes: a plane of a stack, or a slice of planes without a step: the result is the same part of u and
            v, bit for bit; ``planes=3`` gives arrays (ny, nx), ``planes=slice(3, 5)`` arrays (2, ny, nx).
            Negative numbers count from the end. As for ``region``, with which it may be given, only their
            groups are decoded, and ``data`` may be a file, or a device array.
        verify: whether the checksum is compared. Of a region or of planes it is compared only if these take
            all groups, and of planes of a device array not at all: damage of the data may go unnoticed.
        threads: the largest number of threads; 0 is one per processor. No effect on a device.
        stream, workspace: device arrays: as in :func:`compress`; the size of the workspace is that of
            :func:`decompress_sizes`, with ``some_planes`` for ``planes``.

    Returns:
        (u, v): ``out``, or new NumPy arrays for data in host memory, and device arrays of the library of
        ``data`` for data in device memory, of the shape (ny, nx), or (nz, ny, nx) of a stack of several
        planes. For data of one component its array alone.

    Raises:
        CorruptStreamError: the data are truncated or damaged; the content of ``out`` is undefined.
        UnsupportedVersionError: this library does not read the format of the data.
        ReadError, or what the file raised: it could not be read.
        IndexError: ``planes`` is a number that the data do not have.
        ValueError, TypeError: ``out`` has another shape or dtype, or cannot be written.
        FactzError: the library refused for another reason.

    The interpreter's lock is released. Device arrays: the call waits for the stream, because errors are
    reported there; :func:`enqueue_decompress` does not wait.
    """
    is_part = region is not None or planes is not None
    # A file is read once, unless the kind of out depends on it.
    if (not is_file(data) or is_part and out is not None) and holds_one(data):
        _no_workspace(workspace)
        return decompress_one(data, out, region, planes, verify, threads)
    out = None if out is None else _pair(out)
    arrays = {} if out is None else dict(zip(("out[0]", "out[1]"), out))
    if is_file(data) and not is_part:
        raise TypeError(
            "data is a file: pass its bytes, data.read(), or a part of the field, region= or planes="
        )
    queue = queue_of(stream, **({} if is_file(data) else {"data": data}), **arrays)
    if queue is not None:
        return _decompress_device(queue, data, out, region, planes, verify, workspace)
    _no_workspace(workspace)
    if is_part:
        found = decompress_part(data, out, region, planes, verify, threads)
        return found if len(found) == 2 else found[0]
    info = _inspect(data, None)
    if out is None:
        shape, dtype = Info.shape_of(info), np.dtype(name_of(info.dtype, DTYPES))
        out = (np.empty(shape, dtype), np.empty(shape, dtype))
    config = configured(abs=0.0)
    config.verify_checksum, config.predictor = bool(verify), info.predictor
    source = find_bytes("data", data, None)
    field = place_output(config, out, None)
    call = (*source.memory, config, *field.call)
    check(library.decompress_host(*call, _abi.Report(), count_of("threads", threads)))
    return out[0], out[1]


def _decompress_device(
    queue: Any, data: Any, out: Any, region: Any, planes: Any, verify: bool, workspace: Any
) -> Tuple[Any, Any]:
    """decompress of data in device memory, or of planes of them."""
    if region is not None:
        raise ValueError(
            "region= is for data in host memory: copy the data there (.get() of CuPy, .cpu().numpy() of PyTorch), "
            "or leave it out and slice the result"
        )
    info = _inspect(data, queue)
    # The device would find it after the output was allocated, with less to say.
    if info.component != _abi.COMPONENT_BOTH:
        raise refusal(HOLDS_VOLUME if info.component == _abi.COMPONENT_VOLUME else HOLDS_ONE)
    first, shape = (None, Info.shape_of(info)) if planes is None else planes_of(info, planes)
    if out is None:
        dtype = np.dtype(name_of(info.dtype, DTYPES))
        out = (queue.empty(shape, dtype), queue.empty(shape, dtype))
    elif planes is not None:
        check_shapes([find_output("out[%d]" % k, array, queue).shape for k, array in enumerate(out)], shape)
    if 0 not in shape:
        config = configured(abs=0.0)
        config.verify_checksum, config.predictor = bool(verify), info.predictor
        _enqueue_decompress(queue, config, data, out, workspace, None, first).wait()
    return out[0], out[1]
