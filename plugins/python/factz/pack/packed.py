"""A pair in a packed file, whatever the layout: virtual.py and separate.py have one each."""

import abc
from typing import Any, ClassVar, Dict, List, NamedTuple, Optional, Tuple

import h5py
import numpy as np

from .attributes import copy_attributes
from .failure import PackError
from .pairs import Pair
from .storage import largest_shape


class Plan(NamedTuple):
    """How a pair is compressed.

    Attributes:
        fill: the value that marks missing data, or None.
        unwritten: the value of fields that nobody wrote, or None.
        chunk: (ny, nx) of a chunk.
        options: the filter for both components, as factz.hdf5.options makes them.
    """

    pair: Pair
    bound: float
    fill: Optional[float]
    unwritten: Optional[float]
    chunk: Tuple[int, int]
    options: Dict[str, Any]


class Packed(abc.ABC):
    """A pair in a packed file.

    Attributes:
        u, v: the variables that readers open.
        stored: the datasets whose chunks are compressed.
    """

    #: The name of the layout.
    LAYOUT: ClassVar[str]

    u: h5py.Dataset
    v: h5py.Dataset
    stored: List[h5py.Dataset]

    @property
    def components(self) -> Tuple[h5py.Dataset, h5py.Dataset]:
        return self.u, self.v

    @property
    def text(self) -> str:
        return ", ".join(component.name.lstrip("/") for component in self.components)

    @property
    def bound(self) -> float:
        """The largest error of any value."""
        # Programs of netCDF make arrays of scalars.
        return float(np.ravel(self.stored[0].attrs["factz_abs_error"])[0])

    @property
    def groups(self) -> List[str]:
        """The groups that pack made."""
        return []

    @staticmethod
    def check_free(file: h5py.File, pair: Pair) -> None:
        """Refuses a file that has an object where the layout puts one of its own."""

    @classmethod
    @abc.abstractmethod
    def create_component(cls, target: h5py.File, plan: Plan, component: int, changed: Dict[str, Any]) -> None:
        """Creates u (component 0) or v.

        Args:
            changed: attributes that differ from those of the input.
        """

    @classmethod
    @abc.abstractmethod
    def complete(cls, target: h5py.File, plan: Plan) -> "Packed":
        """The pair, when u, v and all that is copied are there."""

    @classmethod
    @abc.abstractmethod
    def find(cls, file: h5py.File) -> List["Packed"]:
        """The pairs of this layout in a packed file."""

    @abc.abstractmethod
    def storage(self) -> List[Dict[str, Any]]:
        """How unpack stores u and v, as :func:`storage.storage_of` tells it."""

    def check_growth(self) -> None:
        """Refuses a pair to which no fields can be added, because of its chunks."""

    @abc.abstractmethod
    def resize(self, length: int) -> None:
        """Changes the length of the first axis."""

    @abc.abstractmethod
    def put(self, place: Tuple[int, ...], u: Any, v: Any, threads: int) -> None:
        """Compresses a field."""

    @abc.abstractmethod
    def read(self, place: Tuple[int, ...]) -> Any:
        """u and v of a field."""


def create_variable(
    target: h5py.File, pair: Pair, component: int, plist: h5py.h5p.PropDCID, changed: Dict[str, Any]
) -> None:
    """u or v with the name, the shape and the attributes of the input, and the type of what is compressed."""
    old = pair[component].dataset
    kind = h5py.h5t.py_create(pair.u.dtype) if pair.u.packed else old.id.get_type()
    space = h5py.h5s.create_simple(pair.shape, largest_shape(old))
    made = h5py.h5d.create(target.id, old.name.encode(), kind, space, plist)
    copy_attributes(old, h5py.Dataset(made), changed)


def changed_since(file: h5py.File, what: str) -> PackError:
    """The error of a packed file in which something is missing."""
    return PackError("%s: %s: the file was changed since it was packed" % (file.filename, what))
