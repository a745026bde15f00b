"""Attributes, byte for byte: netCDF tells strings of fixed length from those of variable length."""

from typing import Any, Dict, Iterable, Optional

import h5py
import numpy as np

#: Attributes of dimension scales that refer to other objects; HDF5 writes them when scales are attached.
LISTS = ("DIMENSION_LIST", "REFERENCE_LIST")


def type_in(target: h5py.File, kind: h5py.h5t.TypeID) -> h5py.h5t.TypeID:
    """A type for objects of the target. A committed type has its twin there, under the same name."""
    if not kind.committed():
        return kind
    name = h5py.h5i.get_name(kind)
    return h5py.h5t.open(target.id, name) if name and name in target else kind.copy()


def names_of(item: Any) -> Iterable[str]:
    """The attributes of an object in the order of their creation, where that is known."""
    tracked = item.id.get_create_plist().get_attr_creation_order() & h5py.h5p.CRT_ORDER_TRACKED
    order = h5py.h5.INDEX_CRT_ORDER if tracked else h5py.h5.INDEX_NAME
    for k in range(h5py.h5a.get_num_attrs(item.id)):
        yield h5py.h5a.open(item.id, index=k, index_type=order).name.decode()


def copy_attributes(old: Any, new: Any, changed: Optional[Dict[str, Any]] = None) -> None:
    """Copies the attributes of an object, but for the lists of dimension scales.

    Args:
        changed: other values of attributes, which stay at their place, or None for those that are left out.
    """
    changed = dict(changed or {})
    for name in names_of(old):
        if name in LISTS or name in new.attrs:
            continue
        if name not in changed:
            copy_attribute(old, new, name)
        elif changed[name] is not None:
            set_attribute(new, name, changed[name])
        changed.pop(name, None)
    for name, value in changed.items():
        if value is not None:
            set_attribute(new, name, value)


def copy_attribute(old: Any, new: Any, name: str) -> None:
    attribute = h5py.h5a.open(old.id, name.encode())
    kind = type_in(new.file, attribute.get_type())
    copy = h5py.h5a.create(new.id, attribute.name, kind, attribute.get_space())
    if attribute.get_space().get_simple_extent_type() == h5py.h5s.NULL:
        return
    value = np.empty(attribute.shape, attribute.dtype)
    # NumPy's objects (strings and sequences of variable length) are converted by h5py, all else is copied.
    memory = None if attribute.dtype.hasobject else attribute.get_type()
    attribute.read(value, mtype=memory)
    copy.write(value, mtype=memory)


def set_attribute(item: Any, name: str, value: Any) -> None:
    """Text becomes a string of fixed length, the form that all readers know."""
    item.attrs.create(name, np.bytes_(value.encode()) if isinstance(value, str) else value)


def text_of(item: Any, name: str) -> str:
    """An attribute as text; empty where there is none, or another kind."""
    value = item.attrs.get(name, "")
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else ""
