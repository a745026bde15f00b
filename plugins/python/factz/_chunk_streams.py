"""The content of a chunk of the shape (..., 2, ny, nx): a stream for each pair of planes, one behind the
other. This file and ``_chunk_parts.py`` are all that knows it.
"""

import contextlib
import math
from typing import Any, Dict, Iterator, Tuple

import numpy as np

from . import _abi
from ._arrays import is_device
from ._component import exact
from ._compression import compress, decompress, inspect
from ._results import Info
from .errors import FactzError, error_of

Shape = Tuple[int, ...]


def corrupt(text: str) -> FactzError:
    return error_of(_abi.ERROR_CORRUPT_STREAM, "corrupt chunk: " + text)


def _planes(array: Any) -> Iterator[Tuple[Shape, Any, Any]]:
    """The pairs of planes of an array with their indices; views, in the order of the chunk."""
    for index in np.ndindex(array.shape[:-3]):
        yield index, array[index + (0,)], array[index + (1,)]


def encode(array: Any, options: Dict[str, Any]) -> Any:
    """The content of a chunk: bytes, or for an array of CuPy an array of CuPy."""
    streams = [compress(u, v, threads=1, **options) for _, u, v in _planes(array)]
    if not is_device(array):
        return b"".join(streams)
    if len(streams) == 1:
        return streams[0]
    import cupy

    with array.device:
        return cupy.concatenate(streams)


def decode(data: Any, shape: Shape, dtype: Any) -> Any:
    """The array of a chunk, in the memory of the content, which is one of NumPy or CuPy, or bytes."""
    device = is_device(data)
    with data.device if device else contextlib.nullcontext():
        out = _empty(device, shape, dtype)
        at = 0
        for number, (_, u, v) in enumerate(_planes(out)):
            with place(number):
                info = check_header(data[at : at + _abi.INSPECT_BYTES], shape, out.dtype)
                stream = data[at : at + info.stream_bytes]
                decompress(_aligned(stream) if device else stream, (u, v), threads=1)
            at += info.stream_bytes
    if at != len(data):
        raise corrupt(
            "%d bytes follow its %d stream(s), which the shape %s has" % (len(data) - at, number + 1, shape)
        )
    return out.astype(dtype, copy=False)


def _aligned(stream: Any) -> Any:
    """Device functions want an address that is a multiple of 256."""
    return stream.copy() if stream.__cuda_array_interface__["data"][0] % 256 else stream


def _empty(device: bool, shape: Shape, dtype: Any) -> Any:
    native = np.dtype(dtype).newbyteorder("=")
    if not device:
        return np.empty(shape, native)
    import cupy

    return cupy.empty(shape, native)


@contextlib.contextmanager
def place(number: int) -> Iterator[None]:
    """Adds the number of the stream to the errors of the library."""
    try:
        yield
    except FactzError as error:
        raise error_of(error.status, "stream %d of the chunk: %s" % (number, error)) from None


def check_header(start: Any, shape: Shape, dtype: np.dtype) -> Info:
    """The header of a stream, which must have the planes of the chunk."""
    info = inspect(start)
    if (info.shape, info.dtype) != (tuple(shape[-2:]), dtype):
        raise error_of(
            _abi.ERROR_CORRUPT_STREAM,
            "it holds %s of the shape %s, and the array has chunks of %s of %s"
            % (info.dtype, info.shape, dtype, tuple(shape)),
        )
    # Readers of parts ask for memory before they know where the chunk ends.
    most = _abi.INSPECT_BYTES + math.prod(shape[-3:]) * dtype.itemsize
    if info.stream_bytes > most:
        raise error_of(
            _abi.ERROR_CORRUPT_STREAM,
            "its header says %d bytes, and a field takes %d" % (info.stream_bytes, most),
        )
    return info


def encode_component(array: Any, component: str) -> bytes:
    """The content of a chunk (..., ny, nx) of one component: exact values, a stream for each plane."""
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return b"".join(exact(native[index], component, threads=1) for index in np.ndindex(array.shape[:-2]))


def decode_component(data: Any, shape: Shape, dtype: Any, component: str) -> Any:
    """The array of a chunk of one component, whose streams have one plane or several."""
    out = _empty(False, shape, dtype)
    planes = out.reshape((-1, *shape[-2:]))
    at = first = number = 0
    while first < len(planes):
        with place(number):
            info = inspect(data[at : at + _abi.INSPECT_BYTES])
            count = info.shape[0] if len(info.shape) == 3 else 1
            if info.component != component:
                held = "both components" if info.component is None else "component " + info.component
                raise corrupt("it holds %s, and the array component %s" % (held, component))
            if (info.shape[-2:], info.dtype) != (tuple(shape[-2:]), out.dtype) or first + count > len(planes):
                raise corrupt(
                    "it holds %s of the shape %s, and the array has chunks of %s of %s"
                    % (info.dtype, info.shape, out.dtype, shape)
                )
            target = planes[first : first + count]
            decompress(data[at : at + info.stream_bytes], target if count > 1 else target[0], threads=1)
        at, first, number = at + info.stream_bytes, first + count, number + 1
    if at != len(data):
        raise corrupt("%d bytes follow the streams of its %d plane(s)" % (len(data) - at, len(planes)))
    return out.astype(dtype, copy=False)


def shape_of_content(data: Any) -> Tuple[Shape, np.dtype]:
    """The shape (planes, 2, ny, nx) and the element type of a content, from its headers."""
    info, at, count = inspect(data[: _abi.INSPECT_BYTES]), 0, 0
    while at < len(data):
        with place(count):
            at += inspect(data[at : at + _abi.INSPECT_BYTES]).stream_bytes
        count += 1
    return (count, 2, *info.shape), info.dtype
