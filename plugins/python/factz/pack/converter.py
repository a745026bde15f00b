"""Packs a file: every pair is compressed, everything else copied."""

import contextlib
import dataclasses
import os
from typing import Callable, Dict, Iterator, List, Optional, Tuple, Type

import h5py
import numpy as np

from .coordinates import Grid
from .copying import Copier, create_file
from .failure import PackError
from .fields import write
from .layouts import LAYOUTS
from .output import check_paths, finished_file
from .packed import Packed, Plan
from .pairs import Pair, find_pairs
from .planning import Say, plan_of
from .progress import Progress
from .references import attach_all, copy_references
from .request import Request
from .storage import STORAGE

# The chunk cache of an input, for chunks that hold many fields.
_CACHE = {"rdcc_nbytes": 2**26, "rdcc_nslots": 10007}


@dataclasses.dataclass
class Result:
    """The outcome for a pair.

    Attributes:
        names: the paths of u and v.
        bound: the largest error of any value.
        dx, dy, periodic: spacing and periodic axes, as the filter has them.
        raw_bytes, stored_bytes: size of the values as floats, and of the compressed data.
    """

    names: Tuple[str, str]
    bound: float
    dx: float
    dy: float
    periodic: str
    raw_bytes: int
    stored_bytes: int


@contextlib.contextmanager
def opened(path: str) -> Iterator[h5py.File]:
    """An input, opened to be read."""
    with open(path, "rb") as file:
        start = file.read(4)
    if start[:3] == b"CDF":
        raise PackError(
            "%s is a file of the classic netCDF format, which has no filters: convert it first, with "
            "`nccopy -k nc4 %s new.nc`" % (path, path)
        )
    try:
        file = h5py.File(path, "r", **_CACHE)
    except OSError as error:
        raise PackError(
            "%s is no netCDF-4 or HDF5 file that can be read (%s): pack reads these alone" % (path, error)
        ) from None
    with file:
        yield file


@contextlib.contextmanager
def threads_of_filter(threads: int) -> Iterator[None]:
    """Lets the filter use a number of threads for each chunk; 0 is one per processor."""
    old = os.environ.get("FACTZ_HDF5_THREADS")
    os.environ["FACTZ_HDF5_THREADS"] = str(threads)
    try:
        yield
    finally:
        if old is None:
            del os.environ["FACTZ_HDF5_THREADS"]
        else:
            os.environ["FACTZ_HDF5_THREADS"] = old


def pack_file(
    source: str,
    target: str,
    named: Optional[List[Tuple[str, str]]],
    request: Request,
    threads: int,
    force: bool,
    say: Say,
    quiet: bool,
) -> List[Result]:
    request.check()
    layout = LAYOUTS[request.layout]
    check_paths(source, target, force)
    with opened(source) as old, threads_of_filter(threads):
        pairs = find_pairs(old, named, request.chunk)
        for pair in pairs:
            layout.check_free(old, pair)
        # Everything that can be refused is refused before the output is begun.
        plans = [plan_of(pair, request, say, quiet) for pair in pairs]
        with finished_file(target, force) as partial:
            with create_file(partial) as new:
                packed = _create(old, new, layout, [plan for plan, _ in plans])
                return [
                    fill(there, plan.pair, grid, 0, threads, say, quiet)
                    for there, (plan, grid) in zip(packed, plans)
                ]


def _create(old: h5py.File, new: h5py.File, layout: Type[Packed], plans: List[Plan]) -> List[Packed]:
    """All objects of the new file, without the values of the pairs."""
    replaced: Dict[str, Callable[[], None]] = {}
    for plan in plans:
        for component, part in enumerate(plan.pair):
            replaced[part.dataset.name] = _component_of(new, layout, plan, component)
    Copier(old, new, replaced, []).copy()
    copy_references(old, new)
    packed = [layout.complete(new, plan) for plan in plans]
    attach_all(old, new)
    return packed


def _component_of(new: h5py.File, layout: Type[Packed], plan: Plan, component: int) -> Callable[[], None]:
    def create() -> None:
        changed = plan.pair[component].changed(plan.bound)
        changed["factz_pair"] = " ".join(plan.pair.names)
        changed["factz_abs_error"] = np.float64(plan.bound)
        # The attribute of an older compression.
        changed[STORAGE] = None
        layout.create_component(new, plan, component, changed)

    return create


def fill(packed: Packed, pair: Pair, grid: Grid, first: int, threads: int, say: Say, quiet: bool) -> Result:
    """Compresses the values of a pair, from index `first` of the first axis on."""
    progress = Progress(pair.text, pair.fields, quiet)
    write(pair, packed, threads, progress.step, first)
    progress.end()
    packed.u.file.flush()
    raw = 2 * packed.u.size * packed.u.dtype.itemsize
    stored = sum(dataset.id.get_storage_size() for dataset in packed.stored)
    say("  %d bytes of values, stored in %d: %.4g to 1" % (raw, stored, raw / stored if stored else 1))
    u, v = (component.dataset.name.lstrip("/") for component in pair)
    return Result((u, v), packed.bound, grid.dx, grid.dy, grid.periodic, raw, stored)
