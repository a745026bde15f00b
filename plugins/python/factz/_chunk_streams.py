"""The content of a chunk (..., 2, ny, nx), or (..., ny, nx) of one component: a stream whose planes are the
fields of the chunk in order. That of a chunk (..., 3, nz, ny, nx) is the stream of a volume. Only this file and
``_chunk_parts.py`` depend on this layout.

What a stream holds is named as :attr:`factz.Info.component` names it: None for u and v, "u" or "v" for one
component, "uvw" for a volume.
"""

import contextlib
import math
from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import _abi
from ._arrays import is_device
from ._chunk_options import PLANES, VOLUME, Content
from ._component import ROOM, exact
from ._compression import compress, decompress, inspect
from ._results import Info
from ._volumes import compress_volume, decompress_volume
from .errors import FactzError, error_of

Shape = Tuple[int, ...]


def corrupt(text: str) -> FactzError:
    return error_of(_abi.ERROR_CORRUPT_STREAM, "corrupt chunk: " + text)


def axes_of_field(component: Optional[str]) -> int:
    """How many axes of a chunk are those of a field, or of a volume."""
    return 3 if component == "uvw" else 2


def leading(shape: Shape, component: Optional[str]) -> Shape:
    """The lengths of a chunk before those of its components, or of its fields where it has one component."""
    return shape[: len(shape) - axes_of_field(component) - (component not in ("u", "v"))]


def components(array: Any, component: Optional[str] = None) -> Tuple[Any, ...]:
    """The components of a chunk, each of the shape (nz, ny, nx)."""
    if component in ("u", "v"):
        return (array.reshape((-1, *array.shape[-2:])),)
    if component == "uvw":
        return tuple(array.reshape(array.shape[-4:]))
    planes = array.reshape((-1, *array.shape[-3:]))
    return planes[:, 0], planes[:, 1]


def encode(array: Any, options: Dict[str, Any], content: Content = PLANES) -> Any:
    """The content of a chunk: bytes, or for an array of CuPy an array of CuPy."""
    if content is VOLUME:
        given = {name: value for name, value in options.items() if name != "mode"}
        return compress_volume(*components(array, "uvw"), threads=1, **given)
    return compress(*components(array), threads=1, **options)


def encode_component(array: Any, component: str) -> bytes:
    """The content of a chunk of one component: exact values."""
    [planes] = components(array, component)
    return exact(planes, component, threads=1)


def decode(data: Any, shape: Shape, dtype: Any, component: Optional[str] = None) -> Any:
    """The array of a chunk, in the memory of the content, which is one of NumPy or CuPy, or bytes.

    Args:
        component: what the stream must hold; one component is decoded in host memory only.
    """
    device = is_device(data)
    native = np.dtype(dtype).newbyteorder("=")
    with data.device if device else contextlib.nullcontext():
        info = check_header(data[: _abi.VOLUME_INSPECT_BYTES], shape, native, component)
        if info.stream_bytes != len(data):
            raise corrupt("it has %d bytes, and its header says %d" % (len(data), info.stream_bytes))
        out = _empty(device, shape, native)
        data = _aligned(data) if device else data
        decode_part(data, components(out, component), component)
    return out.astype(dtype, copy=False)


def decode_part(data: Any, out: Tuple[Any, ...], component: Optional[str], **part: Any) -> None:
    """Decodes a stream into its components, or a part of it, ``region=`` and ``planes=``."""
    if component == "uvw":
        decompress_volume(data, out=out, threads=1, **part)
    else:
        decompress(data, out if len(out) == 2 else out[0], threads=1, **part)


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
        names = {None: "both components", "u": "component u", "v": "component v", "uvw": "a volume"}
        raise corrupt("it holds %s, and the array %s" % (names[info.component], names[component]))
    wanted = shape[-3:] if component == "uvw" else (math.prod(leading(shape, component)), *shape[-2:])
    if (_stack(info), info.dtype) != (wanted, dtype):
        raise corrupt(
            "it holds %s of the shape %s, and the array has chunks of %s of %s"
            % (info.dtype, info.shape, dtype, tuple(shape))
        )
    # Readers of parts ask for memory before they know where the chunk ends.
    most = most_bytes(shape, dtype, component)
    if info.stream_bytes > most:
        raise corrupt("its header says %d bytes, and its fields take %d" % (info.stream_bytes, most))
    return info


def most_bytes(shape: Shape, dtype: np.dtype, component: Optional[str]) -> int:
    """The most bytes of the stream of a chunk."""
    values = math.prod(shape) * dtype.itemsize
    # A half is coded wherever the stream of both components is, even if its own values take less.
    return 2 * values + ROOM if component in ("u", "v") else values + _abi.VOLUME_INSPECT_BYTES


def _stack(info: Info) -> Tuple[int, int, int]:
    """(nz, ny, nx) of a stream."""
    nz, ny, nx = (1, *info.shape)[-3:]
    return nz, ny, nx


def shape_of_content(
    data: Any, component: Optional[str] = None
) -> Tuple[Shape, np.dtype, Optional[str]]:
    """The shape of a content, (planes, 2, ny, nx), (3, nz, ny, nx), or (planes, ny, nx) of one component, its
    element type, and the component that :func:`decode` takes, from its header.

    Args:
        component: "u" or "v" where the content must hold one component.
    """
    info = inspect(data[: _abi.VOLUME_INSPECT_BYTES])
    nz, ny, nx = _stack(info)
    if component is not None:
        return (nz, ny, nx), info.dtype, component
    if info.component == "uvw":
        return (3, nz, ny, nx), info.dtype, info.component
    return (nz, 2, ny, nx), info.dtype, None
