"""The codecs `factz` and `factz.component` of numcodecs, for Zarr v2 and other programs with such codecs.

    import factz.numcodecs

    zarr.create_array("wind.zarr", shape=uv.shape, chunks=(1, 2, 181, 360), dtype=uv.dtype, zarr_format=2,
                      compressors=factz.numcodecs.Factz(abs=0.05, field=(181, 360)))

Where the package is installed by pip, readers need no import.
"""

import sys
from typing import Any, Dict, Optional

import numcodecs
import numcodecs.abc
import numpy as np

from ._chunk_options import VOLUME, ChunkOptions, check_array, check_chunks, check_component, check_name
from ._chunk_streams import decode, encode, encode_component, shape_of_content

__all__ = ["Component", "Factz"]

_ORDERS = {"little": "<", "big": ">"}


def _order(dtype: np.dtype) -> str:
    native = {"little": "<", "big": ">"}[sys.byteorder]
    return {"=": native, "|": native}.get(dtype.byteorder, dtype.byteorder)


class _Codec(numcodecs.abc.Codec):
    """The base of both codecs: the layout and the byte order of chunks."""

    def __init__(self, byteorder: str) -> None:
        if byteorder not in _ORDERS:
            raise ValueError("byteorder=%r: give %s" % (byteorder, " or ".join(map(repr, _ORDERS))))
        self.byteorder = byteorder

    def _check_layout(self, array: np.ndarray) -> None:
        if not array.flags.c_contiguous:
            raise ValueError(
                "the chunk has no C order: create the array with order='C', or pass "
                "numpy.ascontiguousarray(a)"
            )
        if _order(array.dtype) != _ORDERS[self.byteorder]:
            other = "big" if self.byteorder == "little" else "little"
            raise ValueError(
                "dtype=%s of the chunk, and the codec has byteorder=%r: give byteorder=%r"
                % (array.dtype.str, self.byteorder, other)
            )

    def _decode(self, buf: Any, out: Any, component: Optional[str] = None) -> Any:
        data = numcodecs.compat.ensure_contiguous_ndarray(buf).view(np.uint8)
        shape, dtype, component = shape_of_content(data, component)
        array = decode(data, shape, dtype.newbyteorder(_ORDERS[self.byteorder]), component)
        return array if out is None else numcodecs.compat.ndarray_copy(array, out)


class Factz(_Codec):
    """The compressor of arrays (..., 2, ny, nx) whose chunks (..., 2, cy, cx) hold u and v, or with mode="repair" of
    arrays (..., 3, nz, ny, nx) of volumes.

    Args:
        abs, rel, mode, ..., field: as in :class:`factz.zarr.Pair`. The codec does not see the fill value of
            the array: name it in ``fill`` if it marks missing data.
        byteorder: "little" or "big", that of the array: Zarr v2 does not tell the codec when it reads.
    """

    codec_id = "factz"

    def __init__(self, byteorder: str = "little", **options: Any):
        super().__init__(byteorder)
        self.options = ChunkOptions.of(options)

    def get_config(self) -> Dict[str, Any]:
        return {"id": self.codec_id, "byteorder": self.byteorder, **self.options.to_json()}

    def __repr__(self) -> str:
        return "Factz(byteorder=%r, %s)" % (self.byteorder, self.options)

    def encode(self, buf: Any) -> bytes:
        array, content = np.asanyarray(buf), self.options.content
        check_array("the chunk", array.shape, array.dtype, content)
        if content is VOLUME:
            check_chunks(array.shape, "shape of the chunk", content)
        self._check_layout(array)
        return encode(array, self.options.of_chunk(array.shape), content)

    def decode(self, buf: Any, out: Any = None) -> Any:
        return self._decode(buf, out)


class Component(_Codec):
    """The compressor of arrays (..., ny, nx) whose chunks (..., cy, cx) hold u or v alone, as those of
    :class:`factz.zarr.Component`.

    It reads what was compressed with the other component. What is written through it is stored without any
    error: compress both components by :func:`factz.compress` with ``separate=True``, and write the bytes as
    chunks.

    Args:
        component: "u" or "v".
        byteorder: as in :class:`Factz`.
    """

    codec_id = "factz.component"

    def __init__(self, component: str, byteorder: str = "little"):
        super().__init__(byteorder)
        check_name(component)
        self.component = component

    def get_config(self) -> Dict[str, Any]:
        return {"id": self.codec_id, "component": self.component, "byteorder": self.byteorder}

    def __repr__(self) -> str:
        return "Component(%r, byteorder=%r)" % (self.component, self.byteorder)

    def encode(self, buf: Any) -> bytes:
        array = np.asanyarray(buf)
        check_component("the chunk", array.shape, array.dtype)
        self._check_layout(array)
        return encode_component(array, self.component)

    def decode(self, buf: Any, out: Any = None) -> Any:
        return self._decode(buf, out, self.component)


numcodecs.register_codec(Factz)
numcodecs.register_codec(Component)
