"""Parts of a chunk, decoded from pieces of its content: planes, and regions of planes.

The calls of :class:`Part` raise :class:`Missing` for bytes that are not there yet. Their caller reads these
and calls again: nothing waits inside the library, and the reader may be asynchronous.
"""

import dataclasses
import os
from typing import Any, List, Optional, Tuple

import numpy as np

from . import _abi
from ._chunk_streams import Shape, check_header, place
from ._compression import decompress
from .errors import FactzError

#: How many bytes are read where a stream begins: its header, and usually its tables and group words.
HEAD = 4096


@dataclasses.dataclass
class Range:
    """Bytes of a chunk: the first one, the one behind the last, and up to where more will be useful."""

    first: int
    end: int
    useful: int


class Missing(Exception):
    """Bytes of a chunk that were not read yet: its argument is a list of :class:`Range`."""


class Pieces:
    """The bytes of a chunk that were read so far."""

    def __init__(self) -> None:
        self._pieces: List[Tuple[int, memoryview]] = []

    def add(self, first: int, data: Any) -> None:
        self._pieces.append((first, memoryview(data)))

    def read(self, first: int, count: int, useful: int = 0) -> memoryview:
        end = first + count
        for start, data in self._pieces:
            if start <= first and end <= start + len(data):
                return data[first - start : end - start]
        raise Missing([Range(first, end, max(end, useful))])


class _File:
    """A stream of a chunk as a binary file, for ``factz.decompress`` of a region.

    The library reads the start of a stream and then, before it decodes, all groups of tiles that the region
    takes. Groups that are missing are zeros, so that one call finds all of them.

    Attributes:
        missing: the ranges that were read as zeros, joined where little lies between them.
    """

    def __init__(self, pieces: Pieces, first: int, length: int):
        self._pieces, self._first, self._length, self._at = pieces, first, length, 0
        self.missing: List[Range] = []

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + (self._length if whence == os.SEEK_END else 0)
        return self._at

    def read(self, count: int) -> memoryview:
        at, self._at = self._at, self._at + count
        try:
            return self._pieces.read(self._first + at, count)
        except Missing as error:
            [one] = error.args[0]
            if at < HEAD:
                raise
            if self.missing and one.first - self.missing[-1].end <= HEAD:
                self.missing[-1].end = self.missing[-1].useful = one.end
            else:
                self.missing.append(one)
            return memoryview(bytes(count))


def _span(part: Any, size: int) -> Optional[Tuple[int, int]]:
    """The first index of a selection along one axis, and the one behind the last; None for unknown kinds."""
    if isinstance(part, slice):
        found = range(*part.indices(size))
        ends = sorted((found[0], found[-1])) if found else (0, -1)
        return ends[0], ends[1] + 1
    array = np.asarray(part)
    if array.dtype == bool and array.shape == (size,):
        array = np.flatnonzero(array)
    if array.dtype.kind not in "iu":
        return None
    if array.size == 0:
        return 0, 0
    low, high = int(array.min()), int(array.max())
    return (low, high + 1) if 0 <= low and high < size else None


@dataclasses.dataclass
class Plane:
    """A stream of a chunk: its number, the index of its planes, its first byte, its length."""

    number: int
    index: Shape
    first: int
    length: int


class Part:
    """The part of a chunk that a selection takes.

    Attributes:
        is_whole: whether the part is the chunk.
    """

    def __init__(self, selection: Any, shape: Shape, dtype: Any):
        self._selection = selection
        self._shape, self._dtype = tuple(shape), np.dtype(dtype)
        self._wanted = np.ones(shape[:-3], bool)
        self._region = slice(0, shape[-2]), slice(0, shape[-1])
        axes = selection if isinstance(selection, tuple) else (selection,)
        spans = [_span(part, size) for part, size in zip(axes, shape)]
        if len(axes) == len(shape) and None not in spans:
            self._wanted[...] = False
            if all(first < end for first, end in spans):
                self._wanted[axes[:-3]] = True
            self._region = slice(*spans[-2]), slice(*spans[-1])
        self._has_whole_planes = self._region == (slice(0, shape[-2]), slice(0, shape[-1]))
        self.is_whole = self._has_whole_planes and bool(self._wanted.all())
        self._planes: List[Plane] = []
        self._out = np.empty(self._shape, self._dtype.newbyteorder("="))

    def locate(self, pieces: Pieces) -> List[Plane]:
        """The streams that the selection takes. Each begins where the one before ends."""
        last = int(max(np.flatnonzero(self._wanted), default=-1))
        while len(self._planes) <= last:
            number = len(self._planes)
            at = self._planes[-1].first + self._planes[-1].length if number else 0
            start = pieces.read(at, _abi.INSPECT_BYTES, at + HEAD)
            with place(number):
                info = check_header(start, self._shape, self._out.dtype)
            index = tuple(int(k) for k in np.unravel_index(number, self._wanted.shape))
            self._planes.append(Plane(number, index, at, info.stream_bytes))
        return [plane for plane in self._planes if self._wanted[plane.index]]

    def decode(self, pieces: Pieces, plane: Plane) -> None:
        """Decodes the part of a stream that the selection takes."""
        u, v = (self._out[plane.index + (component,)] for component in (0, 1))
        with place(plane.number):
            if self._has_whole_planes:
                decompress(pieces.read(plane.first, plane.length), (u, v), threads=1)
                return
            file = _File(pieces, plane.first, plane.length)
            try:
                decompress(file, (u[self._region], v[self._region]), region=self._region, threads=1)
            except FactzError:
                if not file.missing:
                    raise
            if file.missing:
                raise Missing(file.missing)

    def result(self) -> np.ndarray:
        """The selection, when all its planes are decoded."""
        return np.asarray(self._out[self._selection]).astype(self._dtype, copy=False)
