"""Parts of a chunk, decoded from pieces of its content: planes, and regions of planes or of a volume.

:meth:`Part.decode` raises :class:`Missing` for bytes that are not there yet. Its caller reads these and calls
again: nothing waits inside the library, and the reader may be asynchronous.
"""

import dataclasses
import math
import os
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from . import _abi
from ._chunk_streams import Shape, axes_of_field, check_header, components, decode_part, leading
from .errors import FactzError

#: How many bytes are read at least where a chunk begins: its header, and usually its tables.
HEAD = 4096
#: Bytes of values per byte of group words, by the content of a stream: a word of 4 bytes for a group of about 1 KiB.
#: The least ratio counts: a group of one component may have as few tiles as one of both, and groups of volumes are
#: smaller.
VALUES_PER_WORDS = {None: 4096, "u": 2048, "v": 2048, "uvw": 1024}
#: The side of a tile, and the most tiles of a group. Planes that lie closer are decoded together.
TILE, GROUP_TILES = 32, 256


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
    """The stream of a chunk as a binary file, for ``factz.decompress`` of a part.

    The library reads the start of a stream and then, before it decodes, all groups of tiles that the part
    takes, and of a volume the directory of repaired vertices, then their chunks. What is missing is zeros, so that
    one call finds all groups.

    Attributes:
        missing: the ranges that were read as zeros.
    """

    def __init__(self, pieces: Pieces, length: int):
        self._pieces, self._length, self._at = pieces, length, 0
        self.missing: List[Range] = []

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + (self._length if whence == os.SEEK_END else 0)
        return self._at

    def read(self, count: int) -> memoryview:
        at, self._at = self._at, self._at + count
        try:
            return self._pieces.read(at, count)
        except Missing as error:
            # Reads that begin here hold tables and group words; groups begin later.
            if at <= _abi.VOLUME_INSPECT_BYTES:
                raise
            self.missing += error.args[0]
            return memoryview(bytes(count))


def _joined(ranges: List[Range]) -> List[Range]:
    """Ranges in ascending order, those joined between which little lies."""
    joined: List[Range] = []
    for one in sorted(ranges, key=lambda one: one.first):
        if joined and one.first - joined[-1].end <= HEAD:
            joined[-1].end = joined[-1].useful = max(joined[-1].end, one.end)
        else:
            joined.append(one)
    return joined


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


def _runs(wanted: np.ndarray, gap: int) -> List[slice]:
    """The runs of planes that are wanted, those joined between which fewer than `gap` others lie."""
    edges = np.flatnonzero(np.diff(wanted.ravel(), prepend=False, append=False))
    runs: List[slice] = []
    for first, end in edges.reshape(-1, 2).tolist():
        if runs and first - runs[-1].stop < gap:
            first = runs.pop().start
        runs.append(slice(first, end))
    return runs


class Part:
    """The part of a chunk that a selection takes.

    Args:
        component: what the stream of the chunk holds, as :func:`decode` takes it.

    Attributes:
        is_most: whether the part has more than half of the chunk. Such a chunk is read as a whole, with its checksum.
    """

    def __init__(self, selection: Any, shape: Shape, dtype: Any, component: Optional[str] = None):
        self._selection, self._component = selection, component
        self._shape, self._dtype = tuple(shape), np.dtype(dtype)
        rank, planes = axes_of_field(component), leading(self._shape, component)
        whole = tuple(slice(0, size) for size in shape[-rank:])
        wanted, self._region = np.ones(planes, bool), whole
        axes = selection if isinstance(selection, tuple) else (selection,)
        spans = [_span(part, size) for part, size in zip(axes, shape)]
        if len(axes) == len(shape) and None not in spans:
            wanted[...] = False
            if all(first < end for first, end in spans):
                wanted[axes[: len(planes)]] = True
            self._region = tuple(slice(*span) for span in spans[-rank:])
        taken = int(wanted.sum()) * math.prod(max(part.stop - part.start, 0) for part in self._region)
        self.is_most = 2 * taken > wanted.size * math.prod(shape[-rank:])
        self._runs = _runs(wanted, GROUP_TILES // math.prod(-(-size // TILE) for size in shape[-2:]))
        self._out = np.empty(self._shape, self._dtype.newbyteorder("="))

    def decode(self, pieces: Pieces) -> np.ndarray:
        """The selection."""
        if self._runs:
            head = HEAD + self._out.nbytes // VALUES_PER_WORDS[self._component]
            least = _abi.VOLUME_INSPECT_BYTES if self._component == "uvw" else _abi.INSPECT_BYTES
            start = pieces.read(0, least, head)
            info = check_header(start, self._shape, self._out.dtype, self._component)
            file = _File(pieces, info.stream_bytes)
            for planes in self._runs:
                self._decode(file, planes)
            if file.missing:
                raise Missing(_joined(file.missing))
        return np.asarray(self._out[self._selection]).astype(self._dtype, copy=False)

    def _decode(self, file: _File, planes: slice) -> None:
        place: Tuple[slice, ...] = self._region
        part: Dict[str, Any] = {"region": place}
        if self._component != "uvw":
            place, part["planes"] = (planes, *place), planes
        out = tuple(array[place] for array in components(self._out, self._component))
        try:
            decode_part(file, out, self._component, **part)
        except FactzError:
            # The other planes tell what they miss.
            if not file.missing:
                raise
