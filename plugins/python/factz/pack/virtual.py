"""A pair in a file: the dataset that is compressed, and u and v as virtual datasets on its halves.

The joint dataset (..., 2, ny, nx) is in a group `factz` beside u and v, so that readers of netCDF, which look
at the variables of a group, see u and v alone.
"""

import json
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import h5py
import numpy as np

from .attributes import copy_attribute, copy_attributes, set_attribute, text_of
from .failure import PackError
from .pairs import GROUP, Pair
from .references import attach_scales, free_dimension_id
from .storage import storage_of

_UNLIMITED = h5py.h5s.UNLIMITED
# As netCDF-C calls a dimension that is no variable.
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.%10d"
_DIMENSION = "component"
_COMMENT = (
    "The components of a vector field, compressed together by factz; the variables that factz_pair names are"
    " virtual datasets on the halves. Reading needs the HDF5 filter %d: pip install factz"
)
#: The attribute of a joint dataset that tells how unpack stores u and v.
STORAGE = "factz_storage"


class Packed(NamedTuple):
    """A pair in a packed file."""

    u: h5py.Dataset
    v: h5py.Dataset
    joint: h5py.Dataset

    @property
    def text(self) -> str:
        return ", ".join(half.name.lstrip("/") for half in self[:2])


def create_half(
    target: h5py.File, pair: Pair, component: int, fill: Optional[float], changed: Dict[str, Any]
) -> None:
    """u (component 0) or v as a virtual dataset with the attributes of the variable."""
    old = pair[component].dataset
    kind = h5py.h5t.py_create(pair.u.dtype) if pair.u.packed else old.id.get_type()
    most = tuple(_UNLIMITED if n is None else n for n in old.maxshape)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_attr_creation_order(h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED)
    if fill is not None:
        plist.set_fill_value(np.array(fill, pair.u.dtype))
    plist.set_virtual(_selection(pair, None), b".", _source_name(pair), _selection(pair, component))
    space = h5py.h5s.create_simple(pair.shape, most)
    made = h5py.h5d.create(target.id, old.name.encode(), kind, space, plist)
    copy_attributes(old, h5py.Dataset(made), changed)


def _source_name(pair: Pair) -> bytes:
    """The path of the joint dataset. HDF5 replaces %b by the number of a block, and %% by %."""
    return pair.joint.replace("%", "%%").encode()


def _selection(pair: Pair, component: Optional[int]) -> h5py.h5s.SpaceID:
    """A component in the space of the joint dataset, or its own space. Both grow with the first axis."""
    shape, most = list(pair.shape), [_UNLIMITED if n is None else n for n in pair.u.dataset.maxshape]
    start, block = [0] * len(shape), list(shape)
    if component is not None:
        for sizes, length in ((shape, 2), (most, 2), (start, component), (block, 1)):
            sizes.insert(len(sizes) - 2, length)
    count = [1] * len(shape)
    if pair.growing:
        block[0], count[0] = 1, _UNLIMITED
    space = h5py.h5s.create_simple(tuple(shape), tuple(most))
    space.select_hyperslab(tuple(start), tuple(count), (1,) * len(shape), tuple(block))
    return space


def create_joint(
    target: h5py.File, pair: Pair, chunk: Tuple[int, int], fill: Optional[float], options: Dict[str, Any]
) -> h5py.Dataset:
    """The dataset that both components are written to.

    Args:
        chunk: (ny, nx) of a chunk.
        options: the filter, as factz.hdf5.options makes them.
    """
    u = pair.u.dataset
    group = _group(target, pair.group + "/" + GROUP)
    leading, most = u.ndim - 2, u.maxshape[:-2] + (2,) + u.maxshape[-2:]
    joint = group.create_dataset(
        pair.joint.rsplit("/", 1)[-1],
        pair.shape[:-2] + (2,) + pair.shape[-2:],
        pair.u.dtype if pair.u.packed else u.dtype,
        chunks=(1,) * leading + (2,) + chunk,
        maxshape=most if pair.growing else None,
        fillvalue=fill,
        track_order=True,
        **options,
    )
    attach_scales(u, joint, [*range(leading), leading + 1, leading + 2])
    joint.dims[leading].attach_scale(group[_DIMENSION])
    _copy_common_attributes(target, pair, joint)
    storage = [dict(storage_of(c.dataset), name=name) for c, name in zip(pair, pair.names)]
    set_attribute(joint, STORAGE, json.dumps(storage))
    return joint


def _copy_common_attributes(target: h5py.File, pair: Pair, joint: h5py.Dataset) -> None:
    """Gives the joint dataset the attributes that explain its values, where u and v agree."""
    u, v = (target[component.dataset.name] for component in pair)
    for name in ("units", "_FillValue", "missing_value"):
        if name in u.attrs and name in v.attrs and np.array_equal(u.attrs[name], v.attrs[name]):
            copy_attribute(u, joint, name)


def _group(target: h5py.File, path: str) -> h5py.Group:
    """The group of joint datasets, with the dimension of the components."""
    from ..hdf5 import FILTER_ID

    if path in target:
        return target[path]
    number = free_dimension_id(target)
    group = target.create_group(path, track_order=True)
    set_attribute(group, "comment", _COMMENT % FILTER_ID)
    scale = group.create_dataset(_DIMENSION, (2,), ">f4", track_order=True)
    scale.make_scale(_NO_VARIABLE % 2)
    if number >= 0:
        scale.attrs.create("_Netcdf4Dimid", number, dtype="i4")
    return group


def packed_pairs(file: h5py.File) -> List[Packed]:
    """All pairs of a packed file."""
    joints: List[h5py.Dataset] = []
    file.visititems(lambda _, item: joints.append(item) if STORAGE in item.attrs else None)
    found = []
    for joint in joints:
        names = [entry["name"] for entry in json.loads(text_of(joint, STORAGE))]
        halves = [joint.parent.parent.get(name) for name in names]
        if not all(isinstance(half, h5py.Dataset) and half.is_virtual for half in halves):
            raise PackError(
                "%s: %s of the pair in %s are no virtual datasets: the file was changed since it was packed"
                % (file.filename, ", ".join(names), joint.name)
            )
        found.append(Packed(halves[0], halves[1], joint))
    if not found:
        raise PackError(
            "%s is no file of factz.pack: it has no group %s with a pair" % (file.filename, GROUP)
        )
    return found
