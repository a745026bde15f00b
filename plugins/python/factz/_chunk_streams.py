"""The content of a chunk (..., 2, ny, nx), or (..., ny, nx) of one component: a stream whose planes are the
fields of the chunk in order. This file and ``_chunk_parts.py`` are all that knows it.
"""

import contextlib
import math
from typing import Any, Dict, Optional, Tuple

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


def components(array: Any) -> Tuple[Any, Any]:
    """u and v of an array (..., 2, ny, nx), each of the shape (nz, ny, nx)."""
    planes = array.reshape((-1, *array.shape[-3:]))
    return planes[:, 0], planes[:, 1]


def _planes(array: Any) -> Any:
    return array.reshape((-1, *array.shape[-2:]))


def encode(array: Any, options: Dict[str, Any]) -> Any:
    """The content of a chunk: bytes, or for an array of CuPy an array of CuPy."""
    return compress(*components(array), threads=1, **options)


def encode_component(array: Any, component: str) -> bytes:
    """The content of a chunk of one component: exact values."""
    return exact(_planes(array), component, threads=1)


def decode(data: Any, shape: Shape, dtype: Any, component: Optional[str] = None) -> Any:
    """The array of a chunk, in the memory of the content, which is one of NumPy or CuPy, or bytes.

    Args:
        component: "u" or "v" of an array of one component.
    """
    device = is_device(data)
    native = np.dtype(dtype).newbyteorder("=")
    with data.device if device else contextlib.nullcontext():
        info = check_header(data[: _abi.INSPECT_BYTES], shape, native, component)
        if info.stream_bytes != len(data):
            raise corrupt("it has %d bytes, and its header says %d" % (len(data), info.stream_bytes))
        out = _empty(device, shape, native)
        planes = components(out) if component is None else _planes(out)
        decompress(_aligned(data) if device else data, planes, threads=1)
    return out.astype(dtype, copy=False)


def _aligned(stream: Any) -> Any:
    """Device functions want an address that is a multiple of 256."""
    return stream.copy() if stream.__cuda_array_interface__["data"][0] % 256 else stream


def _empty(device: bool, shape: Shape, dtype: np.dtype) -> Any:
    if not device:
        return np.empty(shape, dtype)
    import cupy

    return cupy.empty(shape, dtype)


def check_header(start: Any, shape: Shape, dtype: np.dtype, component: Optional[str] = None) -> Info:
    """The header of a stream, which must have the planes of the chunk and its component, or both."""
    info = inspect(start)
    if info.component != component:
        names = {None: "both components", "u": "component u", "v": "component v"}
        raise corrupt("it holds %s, and the array %s" % (names[info.component], names[component]))
    leading = shape[:-3] if component is None else shape[:-2]
    if (_stack(info), info.dtype) != ((math.prod(leading), *shape[-2:]), dtype):
        raise corrupt(
            "it holds %s of the shape %s, and the array has chunks of %s of %s"
            % (info.dtype, info.shape, dtype, tuple(shape))
        )
    # Readers of parts ask for memory before they know where the chunk ends.
    most = _abi.INSPECT_BYTES + math.prod(shape) * dtype.itemsize
    if info.stream_bytes > most:
        raise corrupt("its header says %d bytes, and its fields take %d" % (info.stream_bytes, most))
    return info


def _stack(info: Info) -> Tuple[int, int, int]:
    """(nz, ny, nx) of a stream."""
    nz, ny, nx = (1, *info.shape)[-3:]
    return nz, ny, nx


def shape_of_content(data: Any) -> Tuple[Shape, np.dtype]:
    """The shape (planes, 2, ny, nx) and the element type of a content, from its header."""
    info = inspect(data[: _abi.INSPECT_BYTES])
    nz, ny, nx = _stack(info)
    return (nz, 2, ny, nx), info.dtype
