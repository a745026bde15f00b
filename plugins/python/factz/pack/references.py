"""References between objects, which are addresses in a file: dimension scales, and what users refer to."""

from typing import Any, List

import h5py
import numpy as np

from .attributes import LISTS, names_of
from .failure import PackError


def _objects(file: h5py.File) -> List[Any]:
    found: List[Any] = [file["/"]]
    file.visititems(lambda _, item: found.append(item))
    return [item for item in found if not isinstance(item, h5py.Datatype)]


def copy_references(source: h5py.File, target: h5py.File) -> None:
    """Gives the objects of the target the references that those of the same paths have in the source, but for
    dimension scales, whose lists are removed."""
    for old in _objects(source):
        if old.name not in target:
            continue
        new = target[old.name]
        for name in list(names_of(old)):
            if name not in LISTS:
                _copy_references_of_attribute(old, new, name)
            elif name in new.attrs:
                del new.attrs[name]
        if isinstance(old, h5py.Dataset):
            _copy_references(old, new)


def attach_all(source: h5py.File, target: h5py.File) -> None:
    """Attaches dimension scales as in the source. HDF5 looks for the sources of virtual datasets then."""
    for old in _objects(source):
        if isinstance(old, h5py.Dataset) and old.name in target:
            attach_scales(old, target[old.name])


def attach_scales(old: h5py.Dataset, new: h5py.Dataset, axes: Any = None) -> None:
    """Attaches the scales of a variable to another one.

    Args:
        axes: the axis of `new` for each axis of `old`, by default the same one.
    """
    if "DIMENSION_LIST" not in old.attrs:
        return
    for axis, references in enumerate(old.attrs["DIMENSION_LIST"]):
        for reference in references:
            name = old.file[reference].name if reference else None
            if name is not None and name in new.file:
                h5py.h5ds.attach_scale(new.id, new.file[name].id, axis if axes is None else axes[axis])


def _holds(kind: h5py.h5t.TypeID) -> bool:
    return kind.detect_class(h5py.h5t.REFERENCE)


def _mapped(old: Any, new: Any, values: Any, kind: Any, what: str) -> np.ndarray:
    if kind.get_class() != h5py.h5t.REFERENCE or h5py.check_ref_dtype(kind.dtype) is not h5py.Reference:
        raise PackError(
            "%s holds references within other values, or to regions, which cannot be copied: remove it "
            "first (h5py, or ncks -x)" % what
        )
    mapped = np.empty(np.shape(values), h5py.ref_dtype)
    for index in np.ndindex(mapped.shape):
        reference = np.asarray(values, object)[index]
        name = old.file[reference].name if reference else None
        if name is not None and name in new.file:
            mapped[index] = new.file[name].ref
    return mapped


def _copy_references_of_attribute(old: Any, new: Any, name: str) -> None:
    kind = h5py.h5a.open(old.id, name.encode()).get_type()
    if _holds(kind):
        values = _mapped(old, new, old.attrs[name], kind, "attribute %s of %s" % (name, old.name))
        new.attrs.create(name, values, dtype=h5py.ref_dtype)


def _copy_references(old: h5py.Dataset, new: h5py.Dataset) -> None:
    kind = old.id.get_type()
    if _holds(kind) and old.size:
        new[...] = _mapped(old, new, old[...], kind, old.name)


def free_dimension_id(file: h5py.File) -> int:
    """The first number that no dimension of netCDF has; -1 where dimensions have none."""
    last = [-1]

    def look(_: str, item: Any) -> None:
        if "_Netcdf4Dimid" in item.attrs:
            last[0] = max(last[0], int(np.ravel(item.attrs["_Netcdf4Dimid"])[0]))

    file.visititems(look)
    return last[0] + 1 if last[0] >= 0 else -1
