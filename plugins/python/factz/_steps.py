"""Files of several streams, one behind the other, such as the time steps of a simulation."""

import contextlib
import dataclasses
import os
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union, overload

from . import _abi
from ._compression import decompress, inspect
from ._config import count_of
from ._results import Info
from ._volumes import decompress_volume
from .errors import CorruptStreamError, FactzError, error_of

_MAGIC = b"FCTZ"


@dataclasses.dataclass(frozen=True)
class Step(Info):
    """A stream of a file: its place, and its header as in :class:`Info`.

    Attributes:
        offset: its first byte in the file; it has ``stream_bytes``.
    """

    offset: int


class Steps(Sequence[Step]):
    """The streams of a file, as :func:`steps` finds them: a sequence of :class:`Step`."""

    def __init__(self, found: List[Step]):
        self._found = tuple(found)

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> Tuple[Step, ...]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Step, Tuple[Step, ...]]:
        return self._found[index]

    def __repr__(self) -> str:
        return "<factz.Steps: %s>" % _count(len(self))


def _count(n: int) -> str:
    return "1 stream" if n == 1 else "%d streams" % n


@contextlib.contextmanager
def _opened(file: Any) -> Iterator[Tuple[Any, str]]:
    """A file to read and seek in, with its name for messages."""
    if isinstance(file, bytes) and file.startswith(b"FCTZ"):
        raise TypeError("file is the bytes of a stream: give io.BytesIO(file), or a path")
    if isinstance(file, (str, bytes, os.PathLike)):
        with open(file, "rb") as opened:
            yield opened, os.fsdecode(file)
        return
    if not (hasattr(file, "read") and hasattr(file, "seek")):
        raise TypeError("file is a %s: give a path or a binary file object" % type(file).__name__)
    if not getattr(file, "seekable", lambda: True)():
        raise ValueError("file cannot seek: give io.BytesIO(file.read())")
    name = getattr(file, "name", None)
    yield file, os.fsdecode(name) if isinstance(name, (str, bytes)) else "file"


def _read(file: Any, count: int) -> bytes:
    """So many bytes, or those up to the end of the file."""
    parts = [file.read(count)]
    if not isinstance(parts[0], bytes):
        raise TypeError("file.read returns %s: open the file in binary mode" % type(parts[0]).__name__)
    count -= len(parts[0])
    while count and parts[-1]:
        parts.append(file.read(count))
        count -= len(parts[-1])
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _walk(file: Any, name: str) -> Iterator[Step]:
    """The streams of a file, each when it is asked for: a header and one seek."""
    end, at, number = file.seek(0, os.SEEK_END), 0, 0
    while at < end or number == 0:
        file.seek(at)
        start = _read(file, _abi.VOLUME_INSPECT_BYTES)
        place = "%s: stream %d, which begins at byte %d" % (name, number, at)
        if not start or start[:4] != _MAGIC[: len(start)]:
            raise CorruptStreamError(
                "%s: no stream begins at byte %d, where stream %d should; %d bytes follow"
                % (name, at, number, end - at)
            )
        if len(start) < _abi.INSPECT_BYTES:
            raise CorruptStreamError(
                "%s, has %d bytes, and the header of a stream takes %d: the end is missing"
                % (place, len(start), _abi.INSPECT_BYTES)
            )
        try:
            info = inspect(start)
        except FactzError as error:
            raise error_of(error.status, "%s: %s" % (place, error)) from None
        if at + info.stream_bytes > end:
            raise CorruptStreamError(
                "%s, has %d bytes, its header says %d: the end is missing"
                % (place, end - at, info.stream_bytes)
            )
        yield Step(offset=at, **vars(info))
        at += info.stream_bytes
        number += 1


def steps(file: Any) -> Steps:
    """Lists the streams of a file that holds several, one behind the other, as ``factz compress --append``,
    ``cat`` and MPI programs write them.

    Reads the header of each stream, after one seek.

    Args:
        file: a path, or a binary file object that can seek. The streams are those from its first byte on;
            its position changes.

    Returns:
        A sequence: ``steps(file)[k]`` has the fields of :class:`Info`, and ``offset``.

    Raises:
        CorruptStreamError: somewhere no stream begins, or the last one is cut off: the message names the
            byte and the number of the stream.
        UnsupportedVersionError: this library does not read the format of a stream.
        OSError: the file cannot be read.
    """
    with _opened(file) as (opened, name):
        return Steps(list(_walk(opened, name)))


def load(
    file: Any,
    step: Optional[int] = None,
    *,
    out: Any = None,
    region: Any = None,
    planes: Any = None,
    verify: bool = True,
    threads: int = 0,
) -> Any:
    """Decompresses a stream of a file, or a part of its field.

    Args:
        file: as in :func:`steps`.
        step: the number of the stream: 0 is the first one, -1 the last one. It may be left out if the file
            holds one stream. For 0 and above, what follows the stream is not looked at: the streams before
            one that is still being written can be read.
        out, region, planes, verify, threads: as in :func:`decompress`, of a volume as in
            :func:`decompress_volume`; arrays are in host memory. Of a region or of planes only their groups are
            read.

    Returns:
        (u, v), as :func:`decompress` does, or (u, v, w) of a volume, as :func:`decompress_volume` does.

    Raises:
        IndexError: the file has no such stream, or the stream no such plane.
        ValueError: the file holds several streams, and ``step`` is left out, or ``planes`` of a volume are asked for.
        CorruptStreamError, UnsupportedVersionError, OSError: as :func:`steps` and :func:`decompress`.
    """
    wanted = None if step is None else count_of("step", step, -(2**63), 2**63 - 1)
    with _opened(file) as (opened, name):
        found = []
        for chosen in _walk(opened, name):
            found.append(chosen)
            if wanted is not None and wanted == len(found) - 1:
                break
        last = len(found) - 1
        if wanted is None and last > 0:
            raise ValueError(
                "%s holds %d streams: give step=, 0 to %d, or -1 for the last one" % (name, last + 1, last)
            )
        if wanted is not None and not -len(found) <= wanted <= last:
            raise IndexError(
                "step=%d: %s holds %s: give 0 to %d, or %d to -1 from the end"
                % (wanted, name, _count(len(found)), last, -len(found))
            )
        chosen = found[wanted or 0]
        opened.seek(chosen.offset)
        is_volume, in_part = chosen.component == "uvw", region is not None or planes is not None
        if is_volume and planes is not None:
            raise ValueError(
                "planes=%r is for stacks, and the stream is that of a volume: give region=, three slices, such as "
                "numpy.s_[3:9, :, :]" % (planes,)
            )
        if is_volume and in_part:
            return decompress_volume(opened, out=out, region=region, verify=verify, threads=threads)
        if in_part:
            return decompress(opened, out, region=region, planes=planes, verify=verify, threads=threads)
        data = _read(opened, chosen.stream_bytes)
    if is_volume:
        return decompress_volume(data, out=out, verify=verify, threads=threads)
    return decompress(data, out, verify=verify, threads=threads)
