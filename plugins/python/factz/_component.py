"""Compressed data of one component: split, join, and decompress of one array."""

import struct
from typing import Any, Tuple

import numpy as np

from . import _abi
from ._arrays import is_device
from ._config import DTYPES, configured, count_of, name_of
from ._fields import find_bytes, place_output
from ._library import check, library
from ._region import Reader, decompress_part, is_file, of_components
from ._results import Info

# The pair number in the header of a half: FORMAT.md, sections 2.1 and 4.7.
_PAIR_NUMBER = struct.Struct("<104xQ")
#: More than a half takes beyond the bytes of the data, unless these are tiny.
ROOM = 4096


def split(data: Any, *, threads: int = 0) -> Tuple[bytes, bytes]:
    """Splits compressed data into those of u and those of v.

    Each is decompressed alone: :func:`decompress` then gives one array, with the values that it gives for
    ``data``. The bound and the critical points are those of the field, and :func:`join` gives ``data`` back.
    Both together are a little longer than ``data``.

    Args:
        data: bytes or another contiguous buffer, of :func:`compress`.
        threads: the largest number of threads; 0 is one per processor.

    Returns:
        (du, dv): the data of u and of v.

    Raises:
        InvalidArgumentError: the data hold one component already, or a volume.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress`.
    """
    source, count = find_bytes("data", data, None), count_of("threads", threads)
    lengths = [source.memory[1] + ROOM] * 2
    while True:
        halves = [np.empty(length, np.uint8) for length in lengths]
        targets = [find_bytes("data", half, None).memory for half in halves]
        reports = (_abi.Report * 2)()
        status = library.split_host(*source.memory, *targets[0], *targets[1], reports, count)
        if status != _abi.ERROR_BUFFER_TOO_SMALL:
            break
        lengths = [report.required_bytes for report in reports]
    check(status)
    u, v = (half[: report.stream_bytes].tobytes() for half, report in zip(halves, reports))
    return u, v


def join(du: Any, dv: Any, *, threads: int = 0) -> bytes:
    """Joins the data of u and of v that :func:`split` made of the same data, to these.

    Args:
        du, dv: bytes or other contiguous buffers.
        threads: the largest number of threads; 0 is one per processor.

    Returns:
        The data of both components.

    Raises:
        InvalidArgumentError: du is not of u, dv not of v, or they are of different data.
        CorruptStreamError, UnsupportedVersionError: as :func:`decompress`.
    """
    sources = [find_bytes(name, data, None).memory for name, data in (("du", du), ("dv", dv))]
    length, count = sources[0][1] + sources[1][1] + ROOM, count_of("threads", threads)
    while True:
        data, report = np.empty(length, np.uint8), _abi.Report()
        target = find_bytes("data", data, None).memory
        status = library.join_host(*sources[0], *sources[1], *target, report, count)
        if status != _abi.ERROR_BUFFER_TOO_SMALL:
            break
        length = report.required_bytes
    check(status)
    return data[: report.stream_bytes].tobytes()


def of_one_field(du: Any, dv: Any) -> bool:
    """Whether the headers of the data of u and of v have the pair number of one field.

    Values without any error need no partner: programs may have written them into one component.
    """
    from ._compression import inspect

    numbers = [_PAIR_NUMBER.unpack_from(data)[0] for data in (du, dv)]
    return numbers[0] == numbers[1] or not all(inspect(data).absolute_bound for data in (du, dv))


def exact(values: Any, component: str, threads: int = 0) -> bytes:
    """The values of a component without any error, as data of this component alone."""
    from ._compression import compress

    both = compress(values, values, abs=0.0, preserve="none", threads=threads)
    return split(both, threads=threads)["uv".index(component)]


def holds_one(data: Any) -> bool:
    """Whether data in host memory, or in a file, begin with the header of one component."""
    if is_device(data):
        return False
    try:
        if is_file(data):
            reader = Reader(data)
            start: Any = reader.read(0, _abi.INSPECT_BYTES)
            reader.close()
        else:
            start = data
        info = _abi.Info()
        status = library.inspect_host(*find_bytes("data", start, None).memory, info)
        return status == _abi.OK and info.component != _abi.COMPONENT_BOTH
    except (TypeError, ValueError):
        # Refused where data are decompressed.
        return False


def decompress_one(data: Any, out: Any, region: Any, planes: Any, verify: bool, threads: int) -> Any:
    """The array of data that hold one component."""
    given = None if out is None else (out,)
    if region is not None or planes is not None:
        return decompress_part(data, given, region, planes, verify, threads)[0]
    source, info = find_bytes("data", data, None), _abi.Info()
    check(library.inspect_host(*source.memory, info))
    if given is None:
        given = (np.empty(Info.shape_of(info), np.dtype(name_of(info.dtype, DTYPES))),)
    config = configured(abs=0.0)
    config.verify_checksum = bool(verify)
    call = of_components(info, place_output(config, given, None))
    check(library.decompress_host(*source.memory, config, *call, _abi.Report(), count_of("threads", threads)))
    return given[0]
