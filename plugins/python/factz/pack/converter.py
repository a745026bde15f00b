"""Packs a file: every pair into one compressed dataset with virtual halves, everything else copied."""

import contextlib
import dataclasses
import os
from typing import Any, Callable, Iterator, List, Optional, Tuple

import h5py
import numpy as np

from .coordinates import Grid, find_grid
from .copying import Copier, create_file
from .failure import PackError
from .fields import find_bound, write
from .output import check_paths, finished_file
from .pairs import GROUP, Pair, find_pairs
from .progress import Progress
from .references import attach_all, copy_references
from .request import Request
from .values import Component
from .virtual import create_half, create_joint

Say = Callable[[str], None]

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
    check_paths(source, target, force)
    with opened(source) as old, threads_of_filter(threads):
        pairs = find_pairs(old, named, request.chunk)
        _check_free(old, pairs)
        # Everything that can be refused is refused before the output is begun.
        plans = [_plan(pair, request, say, quiet) for pair in pairs]
        with finished_file(target, force) as partial:
            with create_file(partial) as new:
                _create(old, new, plans, request)
                return [_fill(new, plan, say, quiet) for plan in plans]


@dataclasses.dataclass
class _Plan:
    pair: Pair
    grid: Grid
    fill: Optional[float]
    bound: float


def _check_free(old: h5py.File, pairs: List[Pair]) -> None:
    for pair in pairs:
        if pair.group + "/" + GROUP in old:
            raise PackError(
                "%s has %s/%s already, where pack stores its data: rename it first (ncrename, h5py)"
                % (old.filename, pair.group, GROUP)
            )


def _plan(pair: Pair, request: Request, say: Say, quiet: bool) -> _Plan:
    grid = find_grid(pair.u.dataset, request.dx, request.dy, request.periodic)
    fill = pair.fill(request.fill)
    bound = request.abs
    if bound is None:
        progress = Progress("range of " + pair.text, pair.fields, quiet)
        bound = find_bound(pair, request.rel or 0.0, fill, request.allow_wide_range, progress.step)
        progress.end()
    plan = _Plan(pair, grid, fill, float(bound))
    for line in _notes(plan, request):
        say(line)
    return plan


def _notes(plan: _Plan, request: Request) -> Iterator[str]:
    pair, bound = plan.pair, plan.bound
    sizes = " x ".join(map(str, pair.shape))
    yield "%s: %s of %s, bound %g" % (pair.text, sizes, pair.u.dtype, bound)
    if request.rel is not None:
        yield "  the bound is %g of the range of all fields" % request.rel
    for note in plan.grid.notes + [request.seam_warning(plan.grid, pair.shape[-2:])]:
        if note:
            yield "  " + note
    if plan.fill is not None:
        yield "  missing data: %g" % plan.fill
    if pair.u.packed:
        yield "  packed values (%s) become %s" % (pair.u.dataset.dtype, pair.u.dtype)
    for component in pair:
        yield from _warnings(component, bound)


def _warnings(component: Component, bound: float) -> Iterator[str]:
    name = component.dataset.name.lstrip("/")
    if component.scale and bound < component.scale / 2:
        yield (
            "warning: the bound %g is below half the step of the packed values of %s, %g: they are not"
            " that accurate; --abs %g makes the file smaller"
            % (bound, name, component.scale, component.scale / 2)
        )
    if "factz_abs_error" in component.dataset.attrs:
        yield (
            "warning: the values of %s have an error of up to %s by an earlier compression: errors add up"
            % (name, np.ravel(component.dataset.attrs["factz_abs_error"])[0])
        )
    valid = [key for key in ("valid_min", "valid_max", "valid_range") if key in component.dataset.attrs]
    if valid and not component.packed:
        yield (
            "warning: %s has %s: readers that apply it may see values as missing that an error moves out"
            " of this range" % (name, " and ".join(valid))
        )


def _create(old: h5py.File, new: h5py.File, plans: List[_Plan], request: Request) -> None:
    """All objects of the new file, without the values of the pairs."""
    replaced = {}
    for plan in plans:
        for component, part in enumerate(plan.pair):
            replaced[part.dataset.name] = _half_of(new, plan, component)
    Copier(old, new, replaced, []).copy()
    copy_references(old, new)
    for plan in plans:
        field = (plan.pair.shape[-2], plan.pair.shape[-1])
        options = request.filter(plan.bound, plan.grid, plan.fill, field)
        joint = create_joint(new, plan.pair, request.chunk_of(field), _unwritten(plan), options)
        joint.attrs.create("factz_abs_error", plan.bound)
    attach_all(old, new)
    # A file of the classic model has no groups, and copies of it would be refused.
    if "_nc3_strict" in new.attrs:
        del new.attrs["_nc3_strict"]
        for plan in plans:
            new[plan.pair.joint].parent.attrs["classic_model"] = np.int32(1)


def _half_of(new: h5py.File, plan: _Plan, component: int) -> Callable[[], None]:
    def create() -> None:
        part = plan.pair[component]
        changed = part.changed(plan.bound)
        changed["factz_pair"] = " ".join(plan.pair.names)
        changed["factz_abs_error"] = np.float64(plan.bound)
        create_half(new, plan.pair, component, _unwritten(plan), changed)

    return create


def _unwritten(plan: _Plan) -> Optional[float]:
    """The value of fields that nobody wrote."""
    u = plan.pair.u
    if u.packed:
        return plan.fill
    defined = u.dataset.id.get_create_plist().fill_value_defined() == h5py.h5d.FILL_VALUE_USER_DEFINED
    return float(u.dataset.fillvalue) if defined else plan.fill


def _fill(new: h5py.File, plan: _Plan, say: Say, quiet: bool) -> Result:
    """Compresses the values of a pair."""
    pair = plan.pair
    progress = Progress(pair.text, pair.fields, quiet)
    write(pair, new[pair.joint], progress.step)
    progress.end()
    new.flush()
    return result_of(new[pair.joint], pair, plan.bound, plan.grid, say)


def result_of(joint: h5py.Dataset, pair: Any, bound: float, grid: Grid, say: Say) -> Result:
    raw, stored = joint.size * joint.dtype.itemsize, joint.id.get_storage_size()
    say("  %d bytes of values, stored in %d: %.4g to 1" % (raw, stored, raw / stored if stored else 1))
    u, v = (component.dataset.name.lstrip("/") for component in pair)
    return Result((u, v), bound, grid.dx, grid.dy, grid.periodic, raw, stored)
