"""How a variable lies in a file. Pack remembers it, so that unpack can store it in the same way."""

from typing import Any, Dict, Optional, Tuple

import h5py
import numpy as np

#: The attribute of a packed file that tells how unpack stores u and v.
STORAGE = "factz_storage"
# Filters whose arguments depend on nothing but the user: deflate, shuffle, fletcher32.
_PLAIN_FILTERS = (h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32)


def storage_of(dataset: h5py.Dataset) -> Dict[str, Any]:
    """Chunks and filters, as JSON can hold them. Filters that depend on the type are left out."""
    plist = dataset.id.get_create_plist()
    filters = [plist.get_filter(k) for k in range(plist.get_nfilters())]
    return {
        "chunks": list(dataset.chunks) if dataset.chunks else None,
        "filters": [[number, list(values)] for number, _, values, _ in filters if number in _PLAIN_FILTERS],
    }


def tracked_plist(fill: Optional[Any]) -> h5py.h5p.PropDCID:
    """The properties of a dataset that netCDF-C may write into, with a fill value or none."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_attr_creation_order(h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
    if fill is not None:
        plist.set_fill_value(np.asarray(fill))
    return plist


def largest_shape(dataset: h5py.Dataset) -> Tuple[int, ...]:
    """The shape up to which a dataset may grow, as HDF5 has it."""
    return tuple(h5py.h5s.UNLIMITED if n is None else n for n in dataset.maxshape)


def create_plain(
    file: h5py.File, path: str, like: h5py.Dataset, storage: Dict[str, Any], fill: Optional[Any]
) -> h5py.Dataset:
    """A dataset with the shape and type of another one, stored as the dictionary says."""
    plist = tracked_plist(None if fill is None else np.array(fill, like.dtype))
    chunks = storage["chunks"] or (_whole_field(like) if None in like.maxshape else None)
    if chunks:
        plist.set_chunk(tuple(chunks))
        for number, values in storage["filters"]:
            plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, tuple(values))
    space = h5py.h5s.create_simple(like.shape, largest_shape(like))
    return h5py.Dataset(h5py.h5d.create(file.id, path.encode(), like.id.get_type(), space, plist))


def _whole_field(dataset: h5py.Dataset) -> Tuple[int, ...]:
    return (1,) * (dataset.ndim - 2) + dataset.shape[-2:]
