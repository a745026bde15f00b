"""Unpacks a file: the variables of pairs become plain ones, everything else is copied."""

import os
from typing import Any, Callable, Dict, List

import h5py
import numpy as np

from .attributes import copy_attributes
from .converter import opened
from .copying import Copier, create_file
from .failure import PackError
from .fields import blocks_of
from .layouts import packed_pairs
from .output import check_paths, finished_file
from .packed import Packed
from .planning import Say
from .progress import Progress
from .references import attach_all, copy_references
from .storage import STORAGE, create_plain
from .values import fill_value_of


def unpack_file(source: str, target: str, force: bool, say: Say, quiet: bool) -> None:
    from .. import hdf5  # noqa: F401 (makes HDF5 find the filter)

    check_paths(source, target, force)
    with opened(source) as old:
        pairs = packed_pairs(old)
        for pair in pairs:
            _check_shapes(pair)
        with finished_file(target, force) as partial:
            with create_file(partial) as new:
                _create(old, new, pairs)
                for pair in pairs:
                    _copy_values(pair, new, quiet)
                    say("%s: plain variables" % pair.text)


def _check_shapes(pair: Packed) -> None:
    """Refuses components one of which a program made longer, or copied from another file."""
    if pair.u.shape != pair.v.shape:
        raise PackError(
            "%s: %s have the shapes %s and %s: write as many steps to both, or copy both from one file"
            % (pair.u.file.filename, pair.text, pair.u.shape, pair.v.shape)
        )


def _create(old: h5py.File, new: h5py.File, pairs: List[Packed]) -> None:
    replaced: Dict[str, Callable[[], None]] = {}
    for pair in pairs:
        for half, storage in zip(pair.components, pair.storage()):
            replaced[half.name] = _plain(new, half, storage)
    groups = sorted({group for pair in pairs for group in pair.groups})
    Copier(old, new, replaced, groups).copy()
    copy_references(old, new)
    attach_all(old, new)
    if any("classic_model" in old[group].attrs for group in groups):
        new.attrs["_nc3_strict"] = np.int32(1)


def _plain(new: h5py.File, half: h5py.Dataset, storage: Dict[str, Any]) -> Callable[[], None]:
    def create() -> None:
        made = create_plain(new, half.name, half, storage, fill_value_of(half))
        copy_attributes(half, made, {"factz_pair": None, STORAGE: None})

    return create


def _copy_values(pair: Packed, new: h5py.File, quiet: bool) -> None:
    """Whole fields, so that each chunk is decompressed once."""
    halves = [new[half.name] for half in pair.components]
    progress = Progress(pair.text, int(np.prod(pair.u.shape[:-2], dtype=np.int64)), quiet)
    for corner, where in blocks_of(halves[0]):
        lengths = tuple(min(s.stop, n) - s.start for s, n in zip(where, halves[0].shape))
        values = [np.empty(lengths + half.shape[-2:], half.dtype) for half in halves]
        for index in np.ndindex(lengths):
            field = _read(pair, tuple(a + b for a, b in zip(corner, index)))
            for component, one in zip(values, field):
                component[index] = one
            progress.step()
        for half, one in zip(halves, values):
            half[where] = one
    progress.end()


def _read(pair: Packed, index: Any) -> Any:
    try:
        return pair.read(index)
    except OSError as error:
        raise PackError(
            "%s: field %s of %s cannot be read: %s"
            % (os.path.basename(pair.u.file.filename), list(index), pair.text, error)
        ) from None
