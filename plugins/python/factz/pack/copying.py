"""True copies of everything in a file that is not compressed: groups, types, variables, links.

HDF5 copies variables as they lie in the file, without decompressing them (H5Ocopy). What it does not copy
rightly is written anew: variables with strings or sequences of variable length, whose fill value gets lost
(HDFGroup/hdf5#3335), and references, which would point into the old file (references.py).
"""

from typing import Any, Callable, Dict, List, Tuple

import h5py

from .attributes import copy_attributes, type_in

# H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG: variables use the copy of their type that is there. h5py has no name for it.
_MERGE_TYPES = 0x20


def create_file(path: str) -> h5py.File:
    """A file that netCDF-C may write into: it wants objects in the order of their creation."""
    return h5py.File(path, "w", track_order=True, libver=("v108", "v110"))


def copy_all(source: h5py.File, target: h5py.File, replaced: Dict[str, Callable[[], None]], left_out: List[str]) -> None:
    """Copies all objects and attributes in the order of their creation, without references.

    Args:
        replaced: by the path of a variable, the function that creates it in the target.
        left_out: paths of objects that are not copied.
    """
    # Types first: a variable may have a type that was created after the group of the variable.
    _copy_groups(source["/"], target["/"], left_out)
    known: Dict[Any, str] = {}
    for path, kind in _walk(source["/"]):
        if any(path == other or path.startswith(other + "/") for other in left_out) or path in target:
            continue
        if path in replaced:
            replaced[path]()
        elif kind is h5py.HardLink:
            _copy_variable(source, target, path, known)
        else:
            target[path] = source.get(path, getlink=True)


def links_of(group: h5py.Group) -> List[Tuple[str, type]]:
    """Names and kinds of links in the order of their creation, where that is known."""
    names: List[bytes] = []
    tracked = group.id.get_create_plist().get_link_creation_order() & h5py.h5p.CRT_ORDER_TRACKED
    order = h5py.h5.INDEX_CRT_ORDER if tracked else h5py.h5.INDEX_NAME
    group.id.links.iterate(names.append, idx_type=order)
    return [(name.decode(), group.get(name, getclass=True, getlink=True)) for name in names]


def _walk(group: h5py.Group) -> Any:
    """Paths and kinds of links below a group, but for those to groups."""
    for name, kind in links_of(group):
        path = group.name.rstrip("/") + "/" + name
        if kind is h5py.HardLink and isinstance(group[name], h5py.Group):
            yield from _walk(group[name])
        else:
            yield path, kind


def _copy_groups(source: h5py.Group, target: h5py.Group, left_out: List[str]) -> None:
    for name, kind in links_of(source):
        path = source.name.rstrip("/") + "/" + name
        if kind is not h5py.HardLink or path in left_out:
            continue
        if isinstance(source[name], h5py.Group):
            _copy_groups(source[name], target.create_group(name, track_order=True), left_out)
        elif isinstance(source[name], h5py.Datatype):
            h5py.h5o.copy(source.id, name.encode(), target.id, name.encode())
    copy_attributes(source, target)


def _copy_variable(source: h5py.File, target: h5py.File, path: str, known: Dict[Any, str]) -> None:
    place = h5py.h5o.get_info(source[path].id)
    if place.rc > 1 and place.addr in known:
        target[path] = target[known[place.addr]]
        return
    known[place.addr] = path
    old = source[path]
    if isinstance(old, h5py.Dataset) and old.id.get_type().detect_class(h5py.h5t.VLEN) or old.dtype.hasobject:
        _write_anew(old, target, path)
        return
    plist = h5py.h5p.create(h5py.h5p.OBJECT_COPY)
    plist.set_copy_object(_MERGE_TYPES)
    h5py.h5o.copy(source.id, path.encode(), target.id, path.encode(), plist)


def _write_anew(old: h5py.Dataset, target: h5py.File, path: str) -> None:
    kind = type_in(target, old.id.get_type())
    made = h5py.h5d.create(target.id, path.encode(), kind, old.id.get_space(), old.id.get_create_plist())
    new = h5py.Dataset(made)
    if h5py.h5ds.is_scale(old.id):
        h5py.h5ds.set_scale(new.id, h5py.h5ds.get_scale_name(old.id))
    copy_attributes(old, new)
    # References are written when all objects are there.
    if old.size and not h5py.check_ref_dtype(old.dtype):
        new[...] = old[...]
