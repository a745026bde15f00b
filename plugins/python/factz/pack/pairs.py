"""The pairs of a file: variables that the user names or whose standard names belong together."""

from typing import Any, Iterable, List, NamedTuple, Optional, Tuple

import h5py

from .attributes import text_of
from .coordinates import name_of
from .failure import PackError
from .values import Component
from .words import component_of

#: The group beside the variables of a pair that holds what is compressed.
GROUP = "factz"

# Parts of standard names: https://cfconventions.org/Data/cf-standard-names
_PARTNERS = (
    ("eastward", "northward"),
    ("x_wind", "y_wind"),
    ("_x_velocity", "_y_velocity"),
    ("x_sea_", "y_sea_"),
)

# A chunk of HDF5 must be shorter.
_MOST_CHUNK_BYTES = 2**32 - 1


class Pair(NamedTuple):
    """Two variables of one group, u and v, whose last axes are y and x."""

    u: Component
    v: Component

    @property
    def names(self) -> Tuple[str, str]:
        return basename(self.u.dataset), basename(self.v.dataset)

    @property
    def text(self) -> str:
        return ", ".join(component.dataset.name.lstrip("/") for component in self)

    @property
    def group(self) -> str:
        """The path of the group, without a slash at the end."""
        return self.u.dataset.parent.name.rstrip("/")

    @property
    def joint(self) -> str:
        """The path of the dataset that holds both."""
        return "%s/%s/%s_%s" % (self.group, GROUP, *self.names)

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.u.dataset.shape

    @property
    def growing(self) -> bool:
        """Whether the first axis is unlimited."""
        return self.u.dataset.ndim > 2 and self.u.dataset.maxshape[0] is None

    @property
    def fields(self) -> int:
        count = 1
        for length in self.shape[:-2]:
            count *= length
        return count

    def fill(self, given: Optional[float]) -> Optional[float]:
        """The value that stands for missing data in both."""
        if given is not None:
            self._check_given(given)
            return given
        fills = {float(c.fill) for c in self if c.fill is not None}
        if len(fills) > 1:
            raise PackError(
                "%s have the fill values %s, and both components of a field must have the same one: "
                "change one, for example with `cdo setmissval`"
                % (self.text, " and ".join("%g" % f for f in sorted(fills)))
            )
        return fills.pop() if fills else None

    def _check_given(self, given: float) -> None:
        """A fill value of the user is for variables that name none: readers go by the attributes."""
        for component in self:
            if component.packed:
                raise PackError(
                    "--fill-value %g (fill=%g): %s are packed integers, whose missing values are named "
                    "by their attribute _FillValue: set it (ncatted), and leave the option out"
                    % (given, given, self.text)
                )
            if component.names_fill and component.fill != float(component.dtype.type(given)):
                raise PackError(
                    "--fill-value %g (fill=%g): %s has the attribute _FillValue or missing_value, and "
                    "readers go by it: leave the option out, or correct the attribute (ncatted)"
                    % (given, given, component.dataset.name)
                )


def basename(item: Any) -> str:
    return item.name.rsplit("/", 1)[-1]


def find_pairs(
    file: h5py.File, named: Optional[Iterable[Tuple[str, str]]], chunk: Optional[Tuple[int, int]]
) -> List[Pair]:
    """The pairs to compress, checked.

    Args:
        named: names of u and v, in a group with their path; or None for those with standard names.
        chunk: (ny, nx) of a chunk, or None for whole fields.
    """
    pairs = [_named(file, *names) for names in named] if named else _recognized(file)
    seen = set()
    for pair in pairs:
        _check(pair, chunk)
        for component in pair:
            if component.dataset in seen:
                raise PackError("%s is in two pairs: name it once" % component.dataset.name)
            seen.add(component.dataset)
    return pairs


def _named(file: h5py.File, *names: str) -> Pair:
    for name in names:
        if name not in file:
            raise PackError(
                "--pair %s,%s: %s has no variable %s; it has %s"
                % (*names, file.filename, name, ", ".join(_fields_of(file)) or "no fields")
            )
        if not isinstance(file[name], h5py.Dataset):
            raise PackError("--pair %s,%s: %s is no variable" % (*names, name))
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise PackError("--pair %s,%s: %s is a link: name the variable itself" % (*names, name))
    u, v = (file[name] for name in names)
    if u == v:
        raise PackError("--pair %s,%s: u and v are one variable" % names)
    # Before values are looked at, so that the most frequent mistakes get the plainest message.
    _check_alike(u, v)
    if text_of(u, "standard_name") in _partners(text_of(v, "standard_name")):
        raise PackError(
            "--pair %s,%s: %s is the %s, which is v: exchange the names, or sources become "
            "saddles" % (*names, names[0], text_of(u, "standard_name"))
        )
    return Pair(Component(u), Component(v))


def _datasets(file: h5py.File) -> List[h5py.Dataset]:
    found: List[h5py.Dataset] = []
    file.visititems(lambda _, item: found.append(item) if isinstance(item, h5py.Dataset) else None)
    return found


def _fields_of(file: h5py.File) -> List[str]:
    return [d.name.lstrip("/") for d in _datasets(file) if d.ndim >= 2 and d.dtype.kind in "fiu"]


def _recognized(file: h5py.File) -> List[Pair]:
    candidates = [d for d in _datasets(file) if d.ndim >= 2 and text_of(d, "standard_name")]
    pairs = []
    for u in candidates:
        wanted = _partners(text_of(u, "standard_name"))
        found = [
            v
            for v in candidates
            if v.parent == u.parent and v.shape == u.shape and text_of(v, "standard_name") in wanted
        ]
        rivals = [
            d
            for d in candidates
            if d.parent == u.parent
            and d.shape == u.shape
            and text_of(d, "standard_name") == text_of(u, "standard_name")
        ]
        if found and (len(found) > 1 or len(rivals) > 1):
            raise PackError(
                "no --pair is given, and the standard names of %s do not tell which belong together: "
                "name them, as --pair %s,%s"
                % (", ".join(d.name.lstrip("/") for d in rivals + found), basename(u), basename(found[0]))
            )
        if found:
            pairs.append(_named(file, u.name, found[0].name))
    if not pairs:
        raise PackError(
            "no --pair is given, and no variables of %s have standard names of a pair, as eastward_wind "
            "and northward_wind: name them, as --pair u10,v10; the file has %s"
            % (file.filename, ", ".join(_fields_of(file)) or "no fields")
        )
    return pairs


def _partners(standard_name: str) -> List[str]:
    return [standard_name.replace(u, v) for u, v in _PARTNERS if u in standard_name]


def _check_alike(u: h5py.Dataset, v: h5py.Dataset) -> None:
    both = u.name.lstrip("/"), v.name.lstrip("/")
    if u.parent != v.parent:
        raise PackError("%s and %s are in different groups: u and v of a pair must be in one" % both)
    if u.shape != v.shape:
        raise PackError(
            "%s has the shape %s and %s the shape %s: u and v must have the same points, so interpolate "
            "one to those of the other (staggered grids)" % (both[0], u.shape, both[1], v.shape)
        )
    if u.dtype.newbyteorder("=") != v.dtype.newbyteorder("="):
        raise PackError(
            "%s has values of type %s and %s of type %s: convert one of them"
            % (both[0], u.dtype, both[1], v.dtype)
        )
    axes = [tuple(name_of(d, axis) for axis in range(d.ndim)) for d in (u, v)]
    if axes[0] != axes[1]:
        raise PackError(
            "%s has the axes %s and %s the axes %s: u and v must have the same points, so interpolate one "
            "to those of the other (staggered grids)"
            % (both[0], ", ".join(axes[0]), both[1], ", ".join(axes[1]))
        )


def _check(pair: Pair, chunk: Optional[Tuple[int, int]]) -> None:
    u = pair.u.dataset
    if u.ndim < 2:
        raise PackError(
            "%s have %s, and a field has two, rows and columns: leave them out of --pair"
            % (pair.text, ["no axes", "one axis"][u.ndim])
        )
    if 0 in pair.shape[-2:] or (0 in pair.shape and not pair.growing):
        raise PackError(
            "%s have the shape %s, without a value: leave them out of --pair" % (pair.text, pair.shape)
        )
    if pair.u.packed != pair.v.packed or pair.u.dtype != pair.v.dtype:
        raise PackError(
            "%s: one is packed and the other one is not: unpack both first (ncpdq -U)" % pair.text
        )
    for dataset in (c.dataset for c in pair):
        refuse_packed(dataset)
        _check_growth(dataset)
    size = pair.shape[-2:] if chunk is None else [min(n, c) for n, c in zip(pair.shape[-2:], chunk)]
    if 2 * size[0] * size[1] * pair.u.dtype.itemsize > _MOST_CHUNK_BYTES:
        raise PackError(
            "%s: a field of %d x %d takes 4 GiB or more, and a chunk of HDF5 must be shorter: give --chunk "
            "4096x4096 (chunk=(4096, 4096))" % (pair.text, size[1], size[0])
        )
    _check_columns(pair, size[1])


def _check_columns(pair: Pair, columns: int) -> None:
    """The filter tells components from rows and columns by their lengths: a chunk (2, ny, 2) may be either."""
    if columns != 2:
        return
    if pair.shape[-1] == 2:
        raise PackError(
            "%s have the shape %s, and the HDF5 filter compresses no fields of 2 columns: leave them out of --pair"
            % (pair.text, pair.shape)
        )
    raise PackError(
        "%s have the shape %s, and the HDF5 filter compresses no chunks of 2 columns: give --chunk another NX "
        "(chunk=(ny, nx))" % (pair.text, pair.shape)
    )


def refuse_packed(dataset: h5py.Dataset) -> None:
    if (dataset.is_virtual and "factz_pair" in dataset.attrs) or component_of(dataset) is not None:
        raise PackError(
            "%s is packed: %s of it is compressed already; `python -m factz.unpack` makes plain variables, "
            "and then the errors of two compressions add up" % (dataset.file.filename, basename(dataset))
        )


def _check_growth(dataset: h5py.Dataset) -> None:
    for axis, most in enumerate(dataset.maxshape):
        if most is None and (axis > 0 or dataset.ndim == 2):
            raise PackError(
                "%s: its axis %s can grow (it is an unlimited dimension), and only the first axis before "
                "rows and columns may: make the axis fixed, with `nccopy -u` or `ncks --fix_rec_dmn %s`"
                % (dataset.name, name_of(dataset, axis), name_of(dataset, axis))
            )
