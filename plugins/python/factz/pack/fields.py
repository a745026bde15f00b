"""The fields of a pair, one after the other, read in blocks of whole chunks."""

import warnings
from typing import Any, Callable, Iterator, NamedTuple, Optional, Tuple

import h5py
import numpy as np

from .. import WideRangeWarning, compress, relative_bound, value_range
from .failure import PackError
from .packed import Packed
from .pairs import Pair

# Chunks of an input that hold many fields are read once if they fit into this.
_BLOCK_BYTES = 2**28


class Field(NamedTuple):
    place: Tuple[int, ...]
    u: np.ndarray
    v: np.ndarray


def fields_of(pair: Pair) -> Iterator[Field]:
    """All fields of a pair, as floats."""
    for corner, where in blocks_of(pair.u.dataset):
        u, v = pair.u.read(where), pair.v.read(where)
        for index in np.ndindex(u.shape[:-2]):
            yield Field(tuple(a + b for a, b in zip(corner, index)), u[index], v[index])


def blocks_of(dataset: h5py.Dataset) -> Iterator[Tuple[Tuple[int, ...], Tuple[slice, ...]]]:
    """Parts of the axes before the last two, as long as chunks are there, if memory suffices.

    Yields:
        The first index of a part, and its slices.
    """
    leading = dataset.shape[:-2]
    lengths = list((dataset.chunks or (1,) * dataset.ndim)[:-2])
    one = dataset.shape[-2] * dataset.shape[-1] * max(dataset.dtype.itemsize, 8)
    for axis in range(len(lengths)):
        others = int(np.prod(lengths[:axis] + lengths[axis + 1 :], dtype=np.int64))
        lengths[axis] = max(1, min(lengths[axis], leading[axis] or 1, _BLOCK_BYTES // max(1, one * others)))
    for block in np.ndindex(*(-(-n // length) for n, length in zip(leading, lengths))):
        corner = tuple(k * length for k, length in zip(block, lengths))
        yield corner, tuple(slice(a, a + length) for a, length in zip(corner, lengths))


def write(pair: Pair, packed: Packed, threads: int, step: Callable[[], None], first: int = 0) -> None:
    """Compresses all fields into the packed pair, from index `first` of its first axis on."""
    for field in fields_of(pair):
        place = field.place
        if first:
            place = (place[0] + first,) + place[1:]
        packed.put(place, field.u, field.v, threads)
        step()


def find_bound(
    pair: Pair, rel: float, fill: Optional[float], allow_wide_range: bool, step: Callable[[], None]
) -> float:
    """The bound that is a fraction of the range of all fields.

    Outliers make this range meaningless. The fields with the least and the largest value tell whether there
    are any.
    """
    least: Tuple[float, Any, Any] = (np.inf, None, None)
    most: Tuple[float, Any, Any] = (-np.inf, None, None)
    for field in fields_of(pair):
        found = value_range(field.u, field.v, fill=fill)
        if found.low < least[0]:
            least = (found.low, field.u, field.v)
        if found.high > most[0]:
            most = (found.high, field.u, field.v)
        step()
    if least[1] is None:
        raise PackError(
            "%s have no values yet, and --rel %g is a fraction of their range: give --abs (abs=)"
            % (pair.text, rel)
        )
    if not allow_wide_range:
        _refuse_outliers(pair, rel, fill, (least, most))
    return relative_bound(rel, least[0], most[0])


def _refuse_outliers(pair: Pair, rel: float, fill: Optional[float], ends: Any) -> None:
    for value, u, v in ends:
        with warnings.catch_warnings():
            warnings.simplefilter("error", WideRangeWarning)
            try:
                compress(u, v, rel=rel, preserve="none", fill=fill)
            except WideRangeWarning:
                raise PackError(
                    "--rel %g (rel=): outliers, such as %g, make the range of %s, and most data would be "
                    "within the bound: name the fill value (--fill-value), give --abs, or "
                    "--allow-wide-range" % (rel, value, pair.text)
                ) from None
