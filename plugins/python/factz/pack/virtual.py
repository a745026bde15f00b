"""A pair in a file: the dataset that is compressed, and u and v as virtual datasets on its halves.

The joint dataset (..., 2, ny, nx) is in a group `factz` beside u and v, so that readers of netCDF, which look
at the variables of a group, see u and v alone.
"""

import json
from typing import Any, Dict, List, Optional, Tuple

import h5py
import numpy as np

from .attributes import copy_attribute, set_attribute, text_of
from .failure import PackError
from .packed import Packed, Plan, changed_since, create_variable
from .pairs import GROUP, Pair, basename
from .references import attach_scales, free_dimension_id
from .storage import STORAGE, largest_shape, storage_of, tracked_plist

# As netCDF-C calls a dimension that is no variable.
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.%10d"
_DIMENSION = "component"
_COMMENT = (
    "The components of a vector field, compressed together by factz; the variables that factz_pair names are"
    " virtual datasets on the halves. Reading needs the HDF5 filter %d: pip install factz"
)


class VirtualPair(Packed):
    """u and v are halves of the dataset `joint`."""

    LAYOUT = "virtual"

    def __init__(self, u: h5py.Dataset, v: h5py.Dataset, joint: h5py.Dataset):
        self.u, self.v, self.joint, self.stored = u, v, joint, [joint]

    @property
    def groups(self) -> List[str]:
        return [self.joint.parent.name]

    @staticmethod
    def check_free(file: h5py.File, pair: Pair) -> None:
        if pair.group + "/" + GROUP in file:
            raise PackError(
                "%s has %s/%s already, where pack stores its data: rename it first (ncrename, h5py), or give "
                "--layout separate" % (file.filename, pair.group, GROUP)
            )

    @classmethod
    def create_component(cls, target: h5py.File, plan: Plan, component: int, changed: Dict[str, Any]) -> None:
        pair, fill = plan.pair, plan.unwritten
        plist = tracked_plist(None if fill is None else np.array(fill, pair.u.dtype))
        plist.set_virtual(_selection(pair, None), b".", _source_name(pair), _selection(pair, component))
        create_variable(target, pair, component, plist, changed)

    @classmethod
    def complete(cls, target: h5py.File, plan: Plan) -> Packed:
        joint = _create_joint(target, plan)
        # A file of the classic model has no groups, and copies of it would be refused.
        if "_nc3_strict" in target.attrs:
            del target.attrs["_nc3_strict"]
            joint.parent.attrs["classic_model"] = np.int32(1)
        return cls(*(target[c.dataset.name] for c in plan.pair), joint)

    @classmethod
    def find(cls, file: h5py.File) -> List[Packed]:
        joints: List[h5py.Dataset] = []
        file.visititems(lambda _, item: joints.append(item) if _is_joint(item) else None)
        found: List[Packed] = []
        for joint in joints:
            names = [entry["name"] for entry in _storage(joint)]
            halves = [joint.parent.parent.get(name) for name in names]
            if not all(isinstance(half, h5py.Dataset) and half.is_virtual for half in halves):
                raise changed_since(
                    file, "%s of the pair in %s are no virtual datasets" % (", ".join(names), joint.name)
                )
            found.append(cls(halves[0], halves[1], joint))
        return found

    def storage(self) -> List[Dict[str, Any]]:
        return _storage(self.joint)

    def resize(self, length: int) -> None:
        self.joint.resize(length, axis=0)

    def put(self, place: Tuple[int, ...], u: Any, v: Any, threads: int) -> None:
        self.joint[place] = np.stack([u, v])

    def read(self, place: Tuple[int, ...]) -> Any:
        # Each chunk is decompressed once, and not for u and for v.
        return self.joint[place]


def _storage(joint: h5py.Dataset) -> List[Dict[str, Any]]:
    """The names of u and v, with the chunks and filters that unpack gives them."""
    return json.loads(text_of(joint, STORAGE))


def _is_joint(item: Any) -> bool:
    return STORAGE in item.attrs and basename(item.parent) == GROUP


def _source_name(pair: Pair) -> bytes:
    """The path of the joint dataset. HDF5 replaces %b by the number of a block, and %% by %."""
    return pair.joint.replace("%", "%%").encode()


def _selection(pair: Pair, component: Optional[int]) -> h5py.h5s.SpaceID:
    """A component in the space of the joint dataset, or its own space. Both grow with the first axis."""
    shape, most = list(pair.shape), list(largest_shape(pair.u.dataset))
    start, block = [0] * len(shape), list(shape)
    if component is not None:
        for sizes, length in ((shape, 2), (most, 2), (start, component), (block, 1)):
            sizes.insert(len(sizes) - 2, length)
    count = [1] * len(shape)
    if pair.growing:
        block[0], count[0] = 1, h5py.h5s.UNLIMITED
    space = h5py.h5s.create_simple(tuple(shape), tuple(most))
    space.select_hyperslab(tuple(start), tuple(count), (1,) * len(shape), tuple(block))
    return space


def _create_joint(target: h5py.File, plan: Plan) -> h5py.Dataset:
    """The dataset that both components are written to."""
    pair = plan.pair
    u = pair.u.dataset
    group = _group(target, pair.group + "/" + GROUP)
    leading, most = u.ndim - 2, u.maxshape[:-2] + (2,) + u.maxshape[-2:]
    joint = group.create_dataset(
        pair.joint.rsplit("/", 1)[-1],
        pair.shape[:-2] + (2,) + pair.shape[-2:],
        pair.u.dtype if pair.u.packed else u.dtype,
        chunks=(1,) * leading + (2,) + plan.chunk,
        maxshape=most if pair.growing else None,
        fillvalue=plan.unwritten,
        track_order=True,
        **plan.options,
    )
    attach_scales(u, joint, [*range(leading), leading + 1, leading + 2])
    joint.dims[leading].attach_scale(group[_DIMENSION])
    _copy_common_attributes(target, pair, joint)
    storage = [dict(storage_of(c.dataset), name=name) for c, name in zip(pair, pair.names)]
    set_attribute(joint, STORAGE, json.dumps(storage))
    joint.attrs.create("factz_abs_error", plan.bound)
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
