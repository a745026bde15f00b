"""Packs netCDF-4 files: ``python -m factz.pack in.nc out.nc --pair u10,v10 --abs 0.05``.

u and v of a pair are compressed together, and every critical point of each field is kept. The packed file
has the variables of the input and no others: u10 and v10 are virtual datasets on the halves of a dataset in
the group ``factz``, or have chunks of their own (``layout="separate"``). Everything else is copied. Programs
that read netCDF-4 read the packed file, if HDF5 finds the filter. ``python -m factz.unpack`` gives plain
variables back.

    import factz.pack

    factz.pack.pack("in.nc", "out.nc", [("u10", "v10")], abs=0.05)
    factz.pack.append("next_month.nc", "out.nc")
    factz.pack.unpack("out.nc", "plain.nc")

The functions need h5py, and the HDF5 filter of this package (:mod:`factz.hdf5`).
"""

from typing import Any, Callable, List, Optional, Tuple

from .failure import PackError

__all__ = ["PackError", "append", "pack", "unpack"]

Say = Optional[Callable[[str], None]]


def _nothing(line: str) -> None:
    pass


def pack(
    source: str,
    target: str,
    pairs: Optional[List[Tuple[str, str]]] = None,
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    mode: str = "block",
    coder: str = "ans",
    predictor: str = "hierarchical",
    preserve: str = "types",
    ties: str = "all",
    dx: Optional[float] = None,
    dy: Optional[float] = None,
    fill: Optional[float] = None,
    periodic: str = "auto",
    chunk: Optional[Tuple[int, int]] = None,
    allow_wide_range: bool = False,
    layout: str = "virtual",
    threads: int = 0,
    force: bool = False,
    say: Say = None,
    progress: bool = False,
) -> List[Any]:
    """Writes a copy of a netCDF-4 or HDF5 file in which pairs of variables are compressed.

    Args:
        source: the file to read.
        target: the file to write. It appears under its name when it is complete.
        pairs: names of u and v, with the path of their group; by default the variables whose standard names
            are those of a pair. Their last axes are rows and columns, as (time, level, lat, lon).
        abs, mode, coder, predictor, preserve, ties: as in :func:`factz.compress`.
        rel: a fraction of the joint range of u and v over all fields; the pair is read twice.
        dx, dy: the grid spacing; by default from the coordinates. dy is negative where row 0 is the
            northernmost.
        fill: the value of missing data; by default ``_FillValue`` or ``missing_value`` of the variables.
        periodic: axes without an end, "none", "x", "y" or "xy"; "auto" finds longitudes around the Earth.
        chunk: (ny, nx) of a chunk; by default a chunk is a field, which compresses best. Small regions
            are read faster from smaller chunks.
        allow_wide_range: let ``rel`` count even where outliers make the range.
        layout: "virtual": u and v are virtual datasets on one that holds both, which is smallest; "separate":
            each has compressed chunks of its own, and programs that know no virtual datasets read them.
        threads: for each field; 0 is one per processor.
        force: whether an older target is replaced.
        say: is called with each line of the report.
        progress: whether long work tells its progress on standard error.

    Returns:
        For each pair an object with names, bound, dx, dy, periodic, raw_bytes and stored_bytes.

    Raises:
        PackError: a file or a variable cannot be packed.
        ValueError, TypeError, FactzError: an option has no such value.
        ImportError: h5py or the filter is missing.
    """
    from .converter import pack_file
    from .request import Request

    request = Request(
        abs,
        rel,
        mode,
        coder,
        predictor,
        preserve,
        ties,
        dx,
        dy,
        fill,
        periodic,
        chunk,
        allow_wide_range,
        layout,
    )
    return pack_file(source, target, pairs, request, threads, force, say or _nothing, not progress)


def append(
    source: str,
    target: str,
    *,
    threads: int = 0,
    force: bool = False,
    say: Say = None,
    progress: bool = False,
) -> List[Any]:
    """Adds the time steps of a file to a packed one.

    All variables that grow with the unlimited dimension get the values of the second file. The bound and the
    options are those of the packed file. The work is done in a copy, which then replaces it.

    Args:
        source: the file with more steps, as it would be packed.
        target: a file of :func:`pack` whose first axis is unlimited.
        force: append even if the new steps do not follow the old ones.
        threads, say, progress: as in :func:`pack`.

    Raises:
        PackError, ImportError: as :func:`pack`; the packed file is as it was.
    """
    from .appending import append_file

    return append_file(source, target, threads, force, say or _nothing, not progress)


def unpack(source: str, target: str, *, force: bool = False, say: Say = None, progress: bool = False) -> None:
    """Writes a copy of a packed file in which the variables of pairs are plain ones.

    They have the chunks and the filters (deflate, shuffle, fletcher32) that they had before :func:`pack`.
    Values keep the error of the compression; the attribute ``factz_abs_error`` stays and tells it.

    Args:
        source: a file of :func:`pack`.
        target, force, say, progress: as in :func:`pack`.

    Raises:
        PackError, ImportError: as :func:`pack`.
    """
    from .restoring import unpack_file

    unpack_file(source, target, force, say or _nothing, not progress)
