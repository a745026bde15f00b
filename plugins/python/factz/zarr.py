"""The codecs `factz` and `factz.component` of Zarr v3, for zarr-python 3 and xarray.

    import factz.zarr

    options = factz.zarr.encoding(uv, abs=0.05)                     # uv: (time, 2, lat, lon)
    array = zarr.create_array("wind.zarr", shape=uv.shape, dtype=uv.dtype, **options)
    array[:] = uv

    dataset.to_zarr("wind.zarr", zarr_format=3, encoding={"uv": factz.zarr.encoding(dataset.uv, abs=0.05)})

An array has the shape (..., 2, ny, nx), of float32 or float64, and a chunk holds both components; with
mode="repair" it has the shape (..., 3, nz, ny, nx), and a chunk holds a volume or a part of one. Write whole
chunks: of a chunk that is written in parts Zarr reads, changes and compresses the rest again for each part.

Where the package is installed by pip, readers need no import. docs/zarr.md of the sources has the rest.
"""

import asyncio
import dataclasses
from typing import Any, Dict, Optional, Tuple

import numpy as np
from zarr.abc.codec import ArrayBytesCodec, ArrayBytesCodecPartialDecodeMixin
from zarr.abc.store import RangeByteRequest
from zarr.registry import register_codec

from ._arrays import is_device
from ._chunk_options import PLANES, VOLUME, ChunkOptions
from ._chunk_options import check_array, check_chunks, check_component, check_name
from ._chunk_parts import Missing, Part, Pieces, Range
from ._chunk_streams import corrupt, decode, encode, encode_component

__all__ = ["Component", "Pair", "encoding"]


def _numpy_dtype(dtype: Any) -> np.dtype:
    """zarr-python has data types of its own since 3.1."""
    return np.dtype(dtype.to_native_dtype() if hasattr(dtype, "to_native_dtype") else dtype)


class _Codec(ArrayBytesCodecPartialDecodeMixin, ArrayBytesCodec):
    """The base of both codecs: chunks that are streams, of which parts are decoded."""

    is_fixed_size = False

    @property
    def _holds(self) -> Optional[str]:
        """What the streams of chunks hold, as :func:`decode` takes it."""
        raise NotImplementedError

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        raise NotImplementedError("the size of a compressed chunk is not known before")

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        raise NotImplementedError

    def _decode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        shape, dtype, holds = tuple(chunk_spec.shape), _numpy_dtype(chunk_spec.dtype), self._holds
        # The library decodes one component in host memory only.
        data = chunk_data.as_numpy_array() if holds in ("u", "v") else chunk_data.as_array_like()
        return _nd_buffer(chunk_spec, decode(data, shape, dtype, holds))

    # Each chunk has a thread: the library releases the interpreter's lock.

    async def _encode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._encode_sync, chunk_data, chunk_spec)

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        return await asyncio.to_thread(self._decode_sync, chunk_data, chunk_spec)

    async def _decode_partial_single(self, byte_getter: Any, selection: Any, chunk_spec: Any) -> Any:
        part = Part(selection, tuple(chunk_spec.shape), _numpy_dtype(chunk_spec.dtype), self._holds)
        if part.is_most:
            data = await byte_getter.get(chunk_spec.prototype)
            return None if data is None else (await self._decode_single(data, chunk_spec))[selection]
        source = _Source(byte_getter, chunk_spec.prototype)
        try:
            return _nd_buffer(chunk_spec, await source.supply(part.decode))
        except _NoChunk:
            return None


def _nd_buffer(chunk_spec: Any, array: Any) -> Any:
    """The buffer of an array, in the memory that the store's reader asks for."""
    kind = chunk_spec.prototype.nd_buffer
    return kind.from_ndarray_like(array) if is_device(array) else kind.from_numpy_array(array)


@dataclasses.dataclass(frozen=True, init=False, repr=False)
class Pair(_Codec):
    """The serializer of arrays (..., 2, ny, nx) whose chunks (..., 2, cy, cx) hold u and v, or with mode="repair" of
    arrays (..., 3, nz, ny, nx) whose chunks (1, ..., 3, cz, cy, cx) hold u, v and w of volumes.

    Args:
        abs, rel, mode, coder, predictor, preserve, ties, dx, dy, pin, fill, periodic: as in
            :func:`factz.compress`. ``rel`` needs ``field`` and chunks of one whole field, ``periodic``
            ``field`` and chunks that divide a periodic axis. By default the fill value of the array marks
            missing data if it is finite and not 0. With mode="repair" they are those of
            :func:`factz.compress_volume`.
        field: (ny, nx) of the whole field, or (nz, ny, nx) of a volume. A side of a chunk that is as long as the field has no neighbour,
            and its border need not be exact. By default every border of a chunk is stored exactly, so that
            the critical points between chunks are kept.
    """

    options: ChunkOptions

    def __init__(self, **options: Any):
        object.__setattr__(self, "options", ChunkOptions.of(options))

    def __repr__(self) -> str:
        return "Pair(%s)" % self.options

    # ------------------------------------------------------------ metadata

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "Pair":
        return cls(**data.get("configuration", {}))

    def to_dict(self) -> Dict[str, Any]:
        return {"name": "factz", "configuration": self.options.to_json()}

    def validate(self, *, shape: Tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:
        content = self.options.content
        check_array("the array", tuple(shape), _numpy_dtype(dtype), content)
        chunks = getattr(chunk_grid, "chunk_shape", None)
        field, fields = self.options.field, tuple(shape[-content.rank :])
        # Within shards newer versions of zarr call this function for one chunk in place of the array.
        may_be_part = field and chunks and tuple(chunks) == tuple(shape) and min(np.subtract(field, fields)) >= 0
        if field not in (None, fields) and not may_be_part:
            raise ValueError(
                "field=%s, and the array has fields of %s: correct it or leave it out" % (field, fields)
            )
        if chunks is not None:
            check_chunks(tuple(chunks), content=content)
            self.options.check(tuple(chunks))

    def evolve_from_array_spec(self, array_spec: Any) -> "Pair":
        """Called with the shape of the array or of a chunk: within shards nothing else is checked."""
        shape, content = tuple(array_spec.shape), self.options.content
        if len(shape) > content.rank and shape[-1 - content.rank] == 1:
            check_chunks(shape, "shape or chunks", content)
        check_array("the array", shape, _numpy_dtype(array_spec.dtype), content)
        return self

    # ------------------------------------------------------------ chunks

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        array, content = chunk_data.as_ndarray_like(), self.options.content
        # Within shards nobody has looked at the chunks so far.
        check_chunks(tuple(array.shape), content=content)
        data = encode(array, self.options.of_chunk(tuple(array.shape), chunk_spec.fill_value), content)
        buffer = chunk_spec.prototype.buffer
        return buffer.from_array_like(data) if is_device(data) else buffer.from_bytes(data)

    @property
    def _holds(self) -> Optional[str]:
        return "uvw" if self.options.content is VOLUME else None


@dataclasses.dataclass(frozen=True)
class Component(_Codec):
    """The serializer of arrays (..., ny, nx) whose chunks (..., cy, cx) hold u or v alone: data of
    :func:`factz.split`, with the leading axes as planes.

    It reads what was compressed with the other component, and of a chunk what a selection takes, as
    :class:`Pair` does. What is written through it is stored without any error: compress both components by
    :func:`factz.compress` with ``separate=True``, and write the bytes as chunks. Data of one component are
    compressed and decompressed on the host: with arrays of CuPy chunks are copied.

    Args:
        component: "u" or "v".
    """

    component: str

    def __post_init__(self) -> None:
        check_name(self.component)

    @classmethod
    def from_dict(cls, data: Dict[str, Any]) -> "Component":
        return cls(**data.get("configuration", {}))

    def to_dict(self) -> Dict[str, Any]:
        return {"name": "factz.component", "configuration": {"component": self.component}}

    def validate(self, *, shape: Tuple[int, ...], dtype: Any, chunk_grid: Any) -> None:
        check_component("the array", tuple(shape), _numpy_dtype(dtype))

    def _encode_sync(self, chunk_data: Any, chunk_spec: Any) -> Any:
        data = encode_component(chunk_data.as_numpy_array(), self.component)
        return chunk_spec.prototype.buffer.from_bytes(data)

    @property
    def _holds(self) -> Optional[str]:
        return self.component


class _NoChunk(Exception):
    """The store has no such chunk."""


class _Source:
    """Reads pieces of a chunk from a store.

    No thread waits for the store: zarr's stores use the same threads as the codec, which would all wait.
    """

    def __init__(self, byte_getter: Any, prototype: Any):
        self._getter, self._prototype = byte_getter, prototype
        self._pieces = Pieces()

    async def supply(self, call: Any) -> Any:
        """The result of a call that raises Missing until the pieces suffice."""
        while True:
            try:
                return await asyncio.to_thread(call, self._pieces)
            except Missing as error:
                ranges = error.args[0]
            await asyncio.gather(*map(self._read, ranges))

    async def _read(self, missing: Range) -> None:
        first, wanted = missing.first, RangeByteRequest(missing.first, missing.useful)
        # The chunks of a shard are in memory by now, and zarr-python 3.0 gives no parts of them.
        if hasattr(self._getter, "shard_dict"):
            first, wanted = 0, None
        data = await self._getter.get(self._prototype, wanted)
        if data is None:
            raise _NoChunk
        if first + len(data) < missing.end:
            raise corrupt(
                "it ends at byte %d, and its stream needs the bytes up to %d: the end is missing"
                % (first + len(data), missing.end)
            )
        self._pieces.add(first, data.as_numpy_array())


def encoding(array: Any, *, chunks: Optional[Tuple[int, ...]] = None, **options: Any) -> Dict[str, Any]:
    """The encoding of a variable for xarray's ``to_zarr``, or the arguments for ``zarr.create_array``.

    It has the codec, chunks of one field each, the size of the field, and no compressor behind the codec:
    zarr's default one would make chunks larger and partial reads impossible.

    Args:
        array: what will be written, of the shape (..., 2, ny, nx), or with mode="repair" (..., 3, nz, ny, nx): an
            xarray variable, or an array of NumPy or dask.
        chunks: the shape of a chunk, (..., 2, cy, cx); by default (1, ..., 1, 2, ny, nx). Of volumes likewise.
        options: those of :class:`Pair`.

    Raises:
        ValueError, TypeError: the array holds no fields, chunks or options are none, dask splits u from v, or
            a coordinate runs backwards and no option says what this means.
    """
    if not hasattr(array, "shape"):
        raise TypeError(
            "array is a %s and has no shape: give an array (..., 2, ny, nx); of a Dataset of xarray "
            "ds[[\"u\", \"v\"]].to_dataarray(\"component\").transpose(..., \"component\", \"lat\", \"lon\")"
            % type(array).__name__
        )
    name = "array=%s" % (getattr(array, "name", None) or type(array).__name__)
    shape = tuple(array.shape)
    content = VOLUME if options.get("mode") == "repair" else PLANES
    rank, place = content.rank, -1 - content.rank
    check_array(name, shape, array.dtype, content)
    chunks = tuple(chunks) if chunks is not None else (1,) * len(shape[:place]) + shape[place:]
    if len(chunks) != len(shape):
        raise ValueError(
            "chunks=%s must have a length for each axis of shape=%s of %s" % (chunks, shape, name)
        )
    check_chunks(chunks, content=content)
    split = getattr(array, "chunks", None)
    if split is not None and len(split[place]) != 1:
        axis, count = getattr(array, "dims", range(len(shape)))[place], content.components
        raise ValueError(
            "dask splits %s along the axis %r of %s, and all components are compressed together: use "
            ".chunk({%r: %d}) or .rechunk({%d: %d}) first"
            % (content.names, axis, name, axis, count, len(shape) + place, count)
        )
    for option, axis in list(zip(("dx", "dy", "dz"), (-1, -2, -3)))[:rank]:
        _check_direction(array, axis, option, options)
    codec = Pair(field=shape[-rank:], **options)
    codec.options.check(chunks)
    return {"serializer": codec, "compressors": None, "chunks": chunks}


def _check_direction(array: Any, axis: int, option: str, options: Dict[str, Any]) -> None:
    """Types of critical points depend on the direction of an axis, which coordinates of xarray tell."""
    if option in options or options.get("preserve", "types") != "types":
        return
    dimension = getattr(array, "dims", (None,) * 3)[axis]
    coordinate = getattr(array, "coords", {}).get(dimension)
    if coordinate is None or coordinate.dtype.kind not in "iuf" or coordinate.size < 2:
        return
    first, last = float(coordinate[0]), float(coordinate[-1])
    if last < first:
        raise ValueError(
            "%s runs from %g to %g: give %s=-1, as for north-first files whose v is positive to the north, "
            "or %s=1 if the component along it counts in this direction"
            % (dimension, first, last, option, option)
        )


register_codec("factz", Pair)
register_codec("factz.component", Component)
