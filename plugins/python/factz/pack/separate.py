"""A pair in a file: u and v are datasets with chunks of their own, each half of a stream of both.

The filter compresses the chunks of both components in a file in memory. Each chunk is split, and its halves
are written as they are.
"""

import itertools
import json
from typing import Any, Dict, Iterator, List, Optional, Tuple

import h5py
import numpy as np

from .attributes import text_of
from .failure import PackError
from .packed import Packed, Plan, changed_since, create_variable
from .storage import STORAGE, storage_of, tracked_plist
from .values import fill_value_of
from .words import component_of, options_of, words_of_component


class SeparatePair(Packed):
    """u and v are compressed datasets."""

    LAYOUT = "separate"

    def __init__(self, u: h5py.Dataset, v: h5py.Dataset):
        self.u, self.v, self.stored = u, v, [u, v]
        self._options, self._unwritten = options_of(u), fill_value_of(u)

    @classmethod
    def create_component(cls, target: h5py.File, plan: Plan, component: int, changed: Dict[str, Any]) -> None:
        from ..hdf5 import FILTER_ID

        pair, fill = plan.pair, plan.unwritten
        dtype = pair.u.dtype if pair.u.packed else pair.u.dataset.dtype
        plist = tracked_plist(None if fill is None else np.array(fill, pair.u.dtype))
        plist.set_chunk((1,) * (len(pair.shape) - 2) + plan.chunk)
        words = words_of_component(plan.options, component, plan.chunk, dtype)
        # Optional as filters of h5py are: a program that writes without it stores values as they are.
        plist.set_filter(FILTER_ID, h5py.h5z.FLAG_OPTIONAL, words)
        storage = dict(storage_of(pair[component].dataset), pair=list(pair.names))
        create_variable(target, pair, component, plist, dict(changed, **{STORAGE: json.dumps(storage)}))

    @classmethod
    def complete(cls, target: h5py.File, plan: Plan) -> Packed:
        return cls(*(target[c.dataset.name] for c in plan.pair))

    @classmethod
    def find(cls, file: h5py.File) -> List[Packed]:
        halves: List[h5py.Dataset] = []
        file.visititems(lambda _, item: halves.append(item) if _is_half(item) else None)
        found: List[Packed] = []
        for half in halves:
            names = _storage(half)["pair"]
            pair = [half.parent.get(name) for name in names]
            for component, (name, dataset) in enumerate(zip(names, pair)):
                if not isinstance(dataset, h5py.Dataset) or component_of(dataset) != component:
                    raise changed_since(
                        file,
                        "%s is half of a pair, and %s is not the half %s"
                        % (half.name, name, "uv"[component]),
                    )
            if half not in pair:
                raise changed_since(
                    file, "%s has the name of neither half, %s" % (half.name, ", ".join(names))
                )
            if half == pair[0]:
                found.append(cls(*pair))
        return found

    def storage(self) -> List[Dict[str, Any]]:
        return [_storage(half) for half in self.components]

    def check_growth(self) -> None:
        plists = [half.id.get_create_plist() for half in self.components]
        chunks = {half.chunks for half in self.components}
        if len(chunks) > 1 or set(self.u.chunks[:-2]) - {1} or any(p.get_nfilters() > 1 for p in plists):
            raise PackError(
                "%s: chunks or filters of %s were changed by a copy: unpack the file and pack it again"
                % (self.u.file.filename, self.text)
            )

    def resize(self, length: int) -> None:
        for half in self.components:
            half.resize(length, axis=0)

    def put(self, place: Tuple[int, ...], u: Any, v: Any, threads: int) -> None:
        from .. import split

        for corner, stream in self._streams(u, v):
            for half, data in zip(self.components, split(stream, threads=threads)):
                half.id.write_direct_chunk((*place, *corner), data)

    def _streams(self, u: Any, v: Any) -> Iterator[Tuple[Tuple[int, ...], bytes]]:
        """The first row and column of each chunk of a field, and the stream of both components."""
        with h5py.File("field", "w", driver="core", backing_store=False) as file:
            joint = file.create_dataset(
                "uv",
                data=np.stack([u, v]),
                chunks=(2, *self.u.chunks[-2:]),
                fillvalue=self._unwritten,
                **self._options,
            )
            file.flush()
            for corner in _corners(joint):
                without_filters, stream = joint.id.read_direct_chunk((0, *corner))
                if without_filters:
                    raise MemoryError("there is no memory to compress a field of %s" % self.text)
                yield corner, stream

    def read(self, place: Tuple[int, ...]) -> Any:
        field = [half[place] for half in self.components]
        # The filter has refused damaged chunks by now.
        for corner in _corners(self.u):
            self._check_chunk((*place, *corner))
        return field

    def _check_chunk(self, place: Tuple[int, ...]) -> None:
        """Refuses chunks of u and of v that are halves of different fields."""
        from .._component import of_one_field

        halves = [_stream_at(half, place) for half in self.components]
        if None not in halves and not of_one_field(*halves):
            raise PackError(
                "%s: the chunks at %s of %s come from different fields; a variable was probably copied from "
                "another file: copy both from one file" % (self.u.file.filename, list(place), self.text)
            )


def _corners(dataset: h5py.Dataset) -> Iterator[Tuple[int, ...]]:
    """The first row and column of each chunk of a field."""
    lengths = zip(dataset.shape[-2:], dataset.chunks[-2:])
    return itertools.product(*(range(0, length, chunk) for length, chunk in lengths))


def _stream_at(half: h5py.Dataset, place: Tuple[int, ...]) -> Optional[bytes]:
    """The data of the chunk around a value; None where HDF5 has no chunk, or one without the filter."""
    corner = tuple(index - index % length for index, length in zip(place, half.chunks))
    # Programs that add filters write all values anew, without any error.
    if half.id.get_create_plist().get_nfilters() > 1:
        return None
    try:
        without_filters, stream = half.id.read_direct_chunk(corner)
    except (OSError, RuntimeError, ValueError):
        # A chunk that was never written, mostly. To tell, HDF5 would go through all chunks.
        return None
    return None if without_filters else stream


def _storage(half: h5py.Dataset) -> Dict[str, Any]:
    """Chunks and filters that unpack gives a variable, and the names of the pair."""
    return json.loads(text_of(half, STORAGE))


def _is_half(item: Any) -> bool:
    """A copy without the filter is a plain variable, whatever its attributes are."""
    return isinstance(item, h5py.Dataset) and text_of(item, STORAGE) != "" and component_of(item) is not None
