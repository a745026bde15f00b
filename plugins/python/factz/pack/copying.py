"""True copies of everything in a file that is not compressed: groups, types, variables, links.

HDF5 copies variables as they lie in the file, without decompressing them (H5Ocopy). Written anew are those
with strings or sequences of variable length, whose fill value H5Ocopy loses (HDFGroup/hdf5#3335), and
references, which would point into the old file (references.py).
"""

from typing import Any, Callable, Dict, List, Tuple

import h5py

from .attributes import copy_attributes, names_of, type_in

# H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG, for which h5py has no name: variables use the copy of their type that
# is there.
_MERGE_TYPES = 0x20


def create_file(path: str) -> h5py.File:
    """A file that netCDF-C may write into: it wants objects in the order of their creation."""
    return h5py.File(path, "w", track_order=True, libver=("v108", "v110"))


class Copier:
    """Copies all objects and attributes in the order of their creation, without references.

    Args:
        replaced: by the path of a variable, the function that creates it in the target.
        left_out: paths of objects that are not copied.
    """

    def __init__(
        self,
        source: h5py.File,
        target: h5py.File,
        replaced: Dict[str, Callable[[], None]],
        left_out: List[str],
    ):
        self.source, self.target, self.replaced, self.left_out = source, target, replaced, left_out
        # Paths of objects with several names, by their address.
        self._known: Dict[Any, str] = {}

    def copy(self, group: str = "/") -> None:
        source = self.source[group]
        for name, kind in links_of(source):
            path = source.name.rstrip("/") + "/" + name
            if path in self.left_out:
                continue
            if kind is not h5py.HardLink:
                self.target[path] = source.get(name, getlink=True)
            elif path in self.replaced:
                self._copy_types(source[name])
                self.replaced[path]()
            else:
                self._copy_object(path, source[name])
        self._copy_types(source)
        copy_attributes(source, self.target[group])

    def _copy_object(self, path: str, item: Any) -> None:
        place = h5py.h5o.get_info(item.id)
        first = self._known.setdefault(place.addr, path) if place.rc > 1 else path
        if first != path:
            self.target[path] = self.target[first]
        elif isinstance(item, h5py.Group):
            self._make_group(path)
            self.copy(path)
        elif isinstance(item, h5py.Datatype):
            self._copy_type(path)
        else:
            self._copy_types(item)
            copy_variable(item, self.target, path)

    def _make_group(self, path: str) -> None:
        if path and path not in self.target:
            self._make_group(path.rsplit("/", 1)[0])
            self.target.create_group(path, track_order=True)

    def _copy_type(self, path: str) -> None:
        if path not in self.target:
            self._make_group(path.rsplit("/", 1)[0])
            h5py.h5o.copy(self.source.id, path.encode(), self.target.id, path.encode())

    def _copy_types(self, item: Any) -> None:
        """The committed types of an object, which may have been created after it."""
        kinds = [h5py.h5a.open(item.id, name.encode()).get_type() for name in names_of(item)]
        for kind in kinds + ([item.id.get_type()] if isinstance(item, h5py.Dataset) else []):
            path = h5py.h5i.get_name(kind) if kind.committed() else None
            if path:
                self._copy_type(path.decode())


def links_of(group: h5py.Group) -> List[Tuple[str, type]]:
    """Names and kinds of links in the order of their creation, where that is known."""
    names: List[bytes] = []
    tracked = group.id.get_create_plist().get_link_creation_order() & h5py.h5p.CRT_ORDER_TRACKED
    order = h5py.h5.INDEX_CRT_ORDER if tracked else h5py.h5.INDEX_NAME
    group.id.links.iterate(names.append, idx_type=order)
    return [(name.decode(), group.get(name, getclass=True, getlink=True)) for name in names]


def copy_variable(old: h5py.Dataset, target: h5py.File, path: str) -> None:
    if old.id.get_type().detect_class(h5py.h5t.VLEN) or old.dtype.hasobject:
        _write_anew(old, target, path)
        return
    plist = h5py.h5p.create(h5py.h5p.OBJECT_COPY)
    plist.set_copy_object(_MERGE_TYPES)
    h5py.h5o.copy(old.file.id, path.encode(), target.id, path.encode(), plist)


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
