"""decompress of a region or of planes of a field or volume, from bytes or from a file of which only a part is read."""

import ctypes
import os
from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from . import _abi
from ._config import DTYPES, configured, count_of, name_of
from ._fields import Placed, find_bytes, place_output
from ._library import HOLDS_PLANES, HOLDS_VOLUME, check, library, refusal
from ._results import Info


class Reader:
    """A binary file from its position on, as the library reads it."""

    def __init__(self, file: Any):
        self._file = file
        self._start = file.tell()
        self.length = file.seek(0, os.SEEK_END) - self._start
        self._raised: Optional[BaseException] = None
        self.function = _abi.READ_CALLBACK(self._read)

    def _read(self, _user: Any, offset: int, count: int, to: int) -> int:
        # An exception cannot pass through the library.
        try:
            data = self.read(offset, count)
        except BaseException as error:  # pylint: disable=broad-except
            self._raised = error
            return 1
        if len(data) != count:
            return 2
        ctypes.memmove(to, data, count)
        return 0

    def read(self, offset: int, count: int) -> bytes:
        self._file.seek(self._start + offset)
        pieces: List[bytes] = []
        while count > 0:
            piece = self._file.read(count)
            if not piece:
                break
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Back to where the stream begins; raises what reading raised."""
        self._file.seek(self._start)
        if self._raised is not None:
            raise self._raised


def is_file(data: Any) -> bool:
    return hasattr(data, "read") and hasattr(data, "seek")


def _bounds(region: Any, shape: Tuple[int, ...]) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """First index along each axis, and the shape, of as many slices as there are axes."""
    text = "region must be %s" % (
        "two slices, (rows, columns), such as numpy.s_[100:200, 300:]"
        if len(shape) == 2
        else "three slices, (planes, rows, columns), such as numpy.s_[:16, 100:200, 300:]"
    )
    try:
        slices = tuple(region)
    except TypeError:
        raise TypeError("%s, not %r" % (text, region)) from None
    if len(slices) != len(shape) or not all(isinstance(part, slice) for part in slices):
        raise TypeError("%s, not %r" % (text, region))
    first, counts = [], []
    for axis, (part, size) in enumerate(zip(slices, shape)):
        start, stop, step = part.indices(size)
        if step != 1:
            raise ValueError("region[%d] = %r has a step: a region is without gaps" % (axis, part))
        first.append(start)
        counts.append(max(stop - start, 0))
    return tuple(first), tuple(counts)


def _planes(planes: Any, nz: int) -> Tuple[int, int]:
    """First plane and number of planes."""
    if isinstance(planes, slice):
        start, stop, step = planes.indices(nz)
        if step != 1:
            raise ValueError("planes=%r has a step: planes are without gaps" % (planes,))
        return start, max(stop - start, 0)
    if not hasattr(planes, "__index__"):
        raise TypeError("planes=%r is neither an integer nor a slice" % (planes,))
    number = count_of("planes", planes, -(2**63), 2**63 - 1)
    if not -nz <= number < nz:
        known = "%d planes: give 0 to %d, or %d to -1 from the end" % (nz, nz - 1, -nz)
        if nz == 1:
            known = "one plane, 0: give planes=0, or leave it out"
        raise IndexError("planes=%d: the data have %s" % (number, known))
    return number % nz, 1


def _part(info: _abi.Info, region: Any, planes: Any) -> Tuple[Tuple[int, int, int], Tuple[int, ...]]:
    """First column, row and plane of a part, and its shape."""
    (y0, x0), shape = _bounds(np.s_[:, :] if region is None else region, (info.ny, info.nx))
    z0, nz = (0, info.nz) if planes is None else _planes(planes, info.nz)
    # A slice keeps its axis, as in NumPy.
    if isinstance(planes, slice) or planes is None and len(Info.shape_of(info)) == 3:
        return (x0, y0, z0), (nz, *shape)
    return (x0, y0, z0), shape


def planes_of(info: _abi.Info, planes: Any) -> Tuple[int, Tuple[int, ...]]:
    """The first of some planes, and their shape."""
    (_, _, first), shape = _part(info, None, planes)
    return first, shape


def of_components(info: _abi.Info, field: Placed) -> Tuple[Optional[int], Optional[int], int]:
    """The arguments of a call that name the arrays: the other component of data of one is none."""
    if info.component == _abi.COMPONENT_BOTH:
        return field.call
    return (field.u, None, field.n) if info.component == _abi.COMPONENT_U else (None, field.v, field.n)


class _Source:
    """Data, or a file at whose position they begin and of which a part is read.

    Attributes:
        info: the header of the stream.
    """

    def __init__(self, data: Any):
        self._reader = Reader(data) if is_file(data) else None
        if self._reader is not None:
            data = self._reader.read(0, min(_abi.VOLUME_INSPECT_BYTES, self._reader.length))
        self._data = find_bytes("data", data, None)
        self.info = _abi.Info()

    def __enter__(self) -> "_Source":
        try:
            check(library.inspect_host(*self._data.memory, self.info))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: Any) -> None:
        if self._reader is not None:
            self._reader.close()

    def decompress(self, region: str, call: Tuple[Any, ...]) -> None:
        """Calls the function of the library for a "region" or a "volume_region"."""
        if self._reader is None:
            check(getattr(library, "decompress_%s_host" % region)(*self._data.memory, *call))
        else:
            read = getattr(library, "read_%s_host" % region)
            check(read(self._reader.function, None, self._reader.length, *call))


def _outputs(
    out: Optional[Tuple[Any, ...]], shape: Tuple[int, ...], info: _abi.Info, count: int
) -> Tuple[Any, ...]:
    """The arrays of a part, new ones unless they are given."""
    if out is None:
        dtype = np.dtype(name_of(info.dtype, DTYPES))
        return tuple(np.empty(shape, dtype) for _ in range(count))
    check_shapes([np.shape(array) for array in out], shape)
    return out


def check_shapes(given: List[Tuple[int, ...]], shape: Tuple[int, ...]) -> None:
    """Refuses arrays that do not have the shape of a part."""
    for number, found in enumerate(given):
        if found != shape:
            text = "out[%d] has the shape %s, and the part of the field %s" % (number, found, shape)
            raise ValueError(text)


def decompress_part(
    data: Any, out: Optional[Tuple[Any, ...]], region: Any, planes: Any, verify: bool, threads: int
) -> Tuple[Any, ...]:
    with _Source(data) as source:
        info = source.info
        if info.component == _abi.COMPONENT_VOLUME:
            raise refusal(HOLDS_VOLUME)
        first, shape = _part(info, region, planes)
        out = _outputs(out, shape, info, 2 if info.component == _abi.COMPONENT_BOTH else 1)
        # NumPy has empty slices, the library no empty fields.
        if 0 in shape:
            return out
        config = configured(abs=0.0)
        config.verify_checksum = bool(verify)
        field = place_output(config, out, None)
        call = (config, *first, *of_components(info, field), _abi.Report(), count_of("threads", threads))
        source.decompress("region", call)
        return out


def decompress_volume_part(
    data: Any,
    out: Optional[Tuple[Any, ...]],
    region: Any,
    place: Callable[[_abi.Config, Tuple[Any, ...]], Tuple[Any, ...]],
    config: _abi.Config,
    report: _abi.Report,
    threads: int,
) -> Tuple[Any, ...]:
    """The part of a volume; ``place`` gives the arguments of a call that name arrays."""
    with _Source(data) as source:
        info = source.info
        if info.component != _abi.COMPONENT_VOLUME:
            raise refusal(HOLDS_PLANES)
        (z0, y0, x0), shape = _bounds(region, (info.nz, info.ny, info.nx))
        out = _outputs(out, shape, info, 3)
        if 0 not in shape:
            call = (config, x0, y0, z0, *place(config, out), report, threads)
            source.decompress("volume_region", call)
        return out
