"""Adds the time steps of a second file to a packed one: all variables that grow, so that none has holes."""

from typing import Any, List

import h5py
import numpy as np

from .attributes import text_of
from .converter import Result, fill, opened, threads_of_filter
from .coordinates import Grid, dimension_of, has_values, name_of
from .failure import PackError
from .layouts import packed_pairs
from .output import check_paths, finished_file
from .packed import Packed
from .pairs import Pair, basename, refuse_packed
from .planning import Say
from .values import Component

# Attributes that give stored values their meaning.
_MEANING = ("units", "calendar", "scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned")
# Bytes of a variable that are copied at once.
_BLOCK_BYTES = 2**26


def append_file(source: str, target: str, threads: int, force: bool, say: Say, quiet: bool) -> List[Result]:
    from .. import hdf5  # noqa: F401 (makes HDF5 find the filter)

    with opened(target) as packed_file:
        for pair in packed_pairs(packed_file):
            pair.check_growth()
    check_paths(source, target, force=True)
    with opened(source) as old, threads_of_filter(threads), finished_file(target, True, target) as partial:
        with h5py.File(partial, "r+", rdcc_nbytes=_BLOCK_BYTES) as new:
            packed = packed_pairs(new)
            scale = _growing_dimension(packed, target)
            pairs = [_pair_of(old, pair) for pair in packed]
            others = _others(old, new, packed, scale)
            _check_steps(old, new, scale, force)
            growing = others + [half.name for pair in packed for half in pair.components]
            first, more = (max(file[name].shape[0] for name in growing) for file in (new, old))
            for name in others:
                _extend(old[name], new[name], first, more)
            results = [
                _append(there, pair, first, more, threads, say, quiet) for there, pair in zip(packed, pairs)
            ]
            say("%s: %d steps more, %d now" % (basename(scale), more, first + more))
            return results


def _growing_dimension(packed: List[Packed], target: str) -> h5py.Dataset:
    """The unlimited dimension that all pairs share."""
    scales = []
    for pair in packed:
        if pair.u.maxshape[0] is not None or pair.u.ndim == 2:
            raise PackError(
                "%s: the first axis of %s, %s, has a fixed length: make it unlimited before the file is "
                "packed, with `ncks --mk_rec_dmn %s in.nc new.nc`"
                % (target, pair.text, name_of(pair.u, 0), name_of(pair.u, 0))
            )
        scale = dimension_of(pair.u, 0)
        if scale is None:
            raise PackError(
                "%s: the first axis of %s has no dimension scale: such files cannot grow"
                % (target, pair.text)
            )
        scales.append(scale)
    if any(scale != scales[0] for scale in scales):
        raise PackError(
            "%s: pairs grow with different dimensions, %s, and --append adds to one"
            % (target, ", ".join(sorted({basename(s) for s in scales})))
        )
    return scales[0]


def _pair_of(old: h5py.File, packed: Packed) -> Pair:
    """The pair of the second file, whose fields must be like those that are there."""
    for half in packed.components:
        if half.name not in old:
            raise PackError("%s has no variable %s, which the packed file has" % (old.filename, half.name))
        refuse_packed(old[half.name])
    pair = Pair(*(Component(old[half.name]) for half in packed.components))
    for component, half in zip(pair, packed.components):
        shape = component.dataset.shape
        if shape[1:] != half.shape[1:] or component.dtype != half.dtype.newbyteorder("="):
            raise PackError(
                "%s has the shape %s and values of type %s in %s, and %s, %s in the packed file"
                % (half.name, shape, component.dtype, old.filename, half.shape, half.dtype)
            )
        _check_meaning(component, half)
        for axis in range(1, half.ndim):
            _check_coordinate(component.dataset, half, axis)
    return pair


def _check_meaning(component: Component, half: h5py.Dataset) -> None:
    """Readers go by the attributes of the packed file."""
    own, there = (c.fill if c.names_fill else None for c in (component, Component(half)))
    if own != there:
        raise PackError(
            "%s has the fill value %s in %s, and %s in the packed file: change it, for example with "
            "`cdo setmissval`" % (half.name, own, component.dataset.file.filename, there)
        )
    if _comparable(component.dataset, "units") != _comparable(half, "units"):
        raise PackError(
            "%s has units %s in %s, and %s in the packed file: convert it first"
            % (
                half.name,
                _comparable(component.dataset, "units"),
                component.dataset.file.filename,
                _comparable(half, "units"),
            )
        )


def _check_coordinate(old: h5py.Dataset, new: h5py.Dataset, axis: int) -> None:
    own, there = dimension_of(old, axis), dimension_of(new, axis)
    if own is None or there is None or not has_values(own) or not has_values(there):
        return
    if not np.array_equal(own[...], there[...]):
        raise PackError(
            "%s differs from that of the packed file: the files have different grids (%s)"
            % (own.name, old.file.filename)
        )


def _others(old: h5py.File, new: h5py.File, packed: List[Packed], scale: h5py.Dataset) -> List[str]:
    """All variables that grow with the dimension, but for the pairs; checked."""
    own = {half.name for pair in packed for half in (*pair.components, *pair.stored)}
    growing: List[str] = []

    def look(_: str, item: Any) -> None:
        if not isinstance(item, h5py.Dataset) or item.name in own or not item.ndim:
            return
        if any(dimension_of(item, axis) == scale for axis in range(1, item.ndim)):
            raise PackError(
                "%s grows with %s, which is not its first axis, and --append adds to the first one: reorder "
                "its axes before packing (ncpdq)" % (item.name, basename(scale))
            )
        if item == scale or dimension_of(item, 0) == scale:
            growing.append(item.name)

    new.visititems(look)
    for name in growing:
        _check_other(old, new[name])
    return growing


def _check_other(old: h5py.File, new: h5py.Dataset) -> None:
    if new.name not in old:
        raise PackError(
            "%s has no variable %s, which grows with %s in the packed file and would have a hole: add it, "
            "or leave it out before packing" % (old.filename, new.name, name_of(new, 0))
        )
    other = old[new.name]
    if other.shape[1:] != new.shape[1:] or other.dtype.newbyteorder("=") != new.dtype.newbyteorder("="):
        raise PackError(
            "%s has the shape %s and values of type %s in %s, and %s, %s in the packed file"
            % (new.name, other.shape, other.dtype, old.filename, new.shape, new.dtype)
        )
    for key in _MEANING:
        values = [_comparable(dataset, key) for dataset in (other, new)]
        if values[0] != values[1]:
            raise PackError(
                "%s has %s = %s in %s, and %s in the packed file: make them alike first (cdo, ncap2)"
                % (new.name, key, values[0], old.filename, values[1])
            )


def _comparable(dataset: h5py.Dataset, key: str) -> Any:
    """The value of an attribute. A NaN, which equals nothing, is a text."""
    if key not in dataset.attrs:
        return None
    values = np.ravel(dataset.attrs[key]).tolist()
    return text_of(dataset, key) or [str(x) if x != x else x for x in values]


def _check_steps(old: h5py.File, new: h5py.File, scale: h5py.Dataset, force: bool) -> None:
    """New steps follow the old ones, if a coordinate tells."""
    if not has_values(scale) or scale.ndim != 1 or scale.dtype.kind not in "iuf":
        return
    there, more = scale[...], old[scale.name][...]
    if force or not len(there) or not len(more):
        return
    backwards = len(there) > 1 and there[-1] < there[0]
    if more[0] <= there[-1] if not backwards else more[0] >= there[-1]:
        raise PackError(
            "%s begins with %s = %g, and the packed file ends with %g: the steps do not follow (--force, "
            "force=True, appends them nevertheless)" % (old.filename, basename(scale), more[0], there[-1])
        )


def _extend(old: h5py.Dataset, new: h5py.Dataset, first: int, more: int) -> None:
    """Adds the values of a variable. One that is shorter than its dimension has fill values at the end."""
    new.resize(first + more, axis=0)
    if not has_values(new):
        return
    rows = max(1, _BLOCK_BYTES // max(1, old.dtype.itemsize * int(np.prod(old.shape[1:], dtype=np.int64))))
    for start in range(0, old.shape[0], rows):
        end = min(old.shape[0], start + rows)
        new[first + start : first + end] = old[start:end]


def _append(packed: Packed, pair: Pair, first: int, more: int, threads: int, say: Say, quiet: bool) -> Result:
    packed.resize(first + more)
    say("%s: bound %g" % (pair.text, packed.bound))
    return fill(packed, pair, Grid(0, 0, "", []), first, threads, say, quiet)
