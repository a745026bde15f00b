"""The values of a variable as floats: packed integers, and the values that stand for missing data.

CF conventions 8.1: value = stored * scale_factor + add_offset. Missing data, _FillValue and missing_value,
are in stored units, and so are valid_min, valid_max and valid_range if they have the type of stored values.
"""

from typing import Any, Dict, List, Optional

import h5py
import numpy as np

from .attributes import text_of
from .failure import PackError

# The default fill values of netCDF (NC_FILL_FLOAT, NC_FILL_DOUBLE).
_FILL = {4: np.float32(9.969209968386869e36), 8: np.float64(9.969209968386869e36)}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


class Component:
    """A variable of a pair, as it is read.

    Attributes:
        dtype: the type of the values that are compressed.
        fill: the value that marks missing data after reading, or None.
        names_fill: whether an attribute names missing data.
        scale: the distance of two packed values, or None for a variable that is not packed.
    """

    def __init__(self, dataset: h5py.Dataset):
        self.dataset = dataset
        self.dtype = _float_type(dataset)
        scale, offset = (_number(dataset, name) for name in ("scale_factor", "add_offset"))
        self.packed = scale is not None or offset is not None
        self.scale = abs(1.0 if scale is None else scale) if self.packed else None
        self._factor, self._offset = 1.0 if scale is None else scale, 0.0 if offset is None else offset
        self._unsigned = text_of(dataset, "_Unsigned").lower() == "true"
        self._markers = self._find_markers()
        self.names_fill = "_FillValue" in dataset.attrs or "missing_value" in dataset.attrs
        self.fill = self._find_fill()

    def read(self, where: Any) -> np.ndarray:
        """Values as floats; all missing data have the fill value, or are NaN."""
        stored = self._stored(self.dataset[where])
        missing = np.zeros(stored.shape, bool)
        for marker in self._markers:
            missing |= stored == marker
        # One rounding only, to the type of the result.
        values = stored.astype(np.float64) * self._factor + self._offset if self.packed else stored
        values = values.astype(self.dtype, copy=False)
        if missing.any():
            values[missing] = np.nan if self.fill is None else self.fill
        return values

    def changed(self, bound: float) -> Dict[str, Any]:
        """Attributes that packed values had and floats have not, with their new values (None: no more).

        Valid ranges grow by the bound, so that an error makes no value invalid.
        """
        if not self.packed:
            return {}
        new: Dict[str, Any] = dict.fromkeys(("scale_factor", "add_offset", "missing_value", "_Unsigned"))
        if self._markers:
            new["_FillValue"] = np.array([self.fill], self.dtype)
        attributes = self.dataset.attrs
        old = {
            name: attributes[name] for name in ("valid_min", "valid_max", "valid_range") if name in attributes
        }
        # valid_* of another type than the stored values are in the unit of the values already.
        if any(np.asarray(value).dtype.kind not in "iu" for value in old.values()):
            return new
        ends = {"valid_min": -bound, "valid_max": bound}
        swapped = {"valid_min": "valid_max", "valid_max": "valid_min"} if self._factor < 0 else {}
        for name in ends:
            if name in old:
                turned = swapped.get(name, name)
                new.setdefault(name, None)
                new[turned] = (self._unpacked(old[name]) + ends[turned]).astype(self.dtype)
        if "valid_range" in old:
            new["valid_range"] = (np.sort(self._unpacked(old["valid_range"])) + [-bound, bound]).astype(
                self.dtype
            )
        return new

    def _stored(self, values: Any) -> np.ndarray:
        values = np.asarray(values)
        return (
            values.view(_UNSIGNED[values.dtype.itemsize])
            if self._unsigned and values.dtype.kind == "i"
            else values
        )

    def _unpacked(self, value: Any) -> np.ndarray:
        stored = self._stored(np.atleast_1d(value).astype(self.dataset.dtype.newbyteorder("=")))
        return stored.astype(np.float64) * self._factor + self._offset

    def _find_markers(self) -> List[Any]:
        found: List[Any] = []
        for name in ("_FillValue", "missing_value"):
            for value in np.ravel(self.dataset.attrs.get(name, [])):
                marker = self._marker(name, value)
                if marker is not None and marker not in found:
                    found.append(marker)
        return found

    def _marker(self, name: str, value: Any) -> Optional[Any]:
        """A value in the type of the variable; none if no stored value is equal to it."""
        kind = self.dataset.dtype.newbyteorder("=")
        if np.asarray(value).dtype.kind not in "iuf":
            raise PackError(
                "%s: its attribute %s, %r, is no number of its type %s: correct it (ncatted)"
                % (self.dataset.name, name, value, kind)
            )
        if kind.kind in "iu":
            ends = np.iinfo(kind)
            whole = np.isfinite(value) and int(value) == value
            if not whole or not (ends.min <= value <= ends.max or self._unsigned):
                return None
            return self._stored(np.array([int(value)]).astype(kind))[0]
        return None if np.isnan(value) else np.array([value]).astype(kind)[0]

    def _find_fill(self) -> Optional[float]:
        if self.packed:
            return float(_FILL[self.dtype.itemsize]) if self._markers else None
        own = np.ravel(self.dataset.attrs.get("_FillValue", []))
        if own.size:
            return float(own[0]) if np.isfinite(own[0]) else None
        if self._markers:
            return float(self._markers[0])
        return _unwritten(self.dataset)


def fill_value_of(dataset: h5py.Dataset) -> Optional[Any]:
    """The value that HDF5 gives where nothing was written, if the maker of the dataset chose one."""
    defined = dataset.id.get_create_plist().fill_value_defined()
    return dataset.fillvalue if defined == h5py.h5d.FILL_VALUE_USER_DEFINED else None


def _unwritten(dataset: h5py.Dataset) -> Optional[float]:
    """The fill value of a dataset, if it can stand for missing data."""
    value = fill_value_of(dataset)
    return float(value) if value is not None and np.isfinite(value) and value else None


def _number(dataset: h5py.Dataset, name: str) -> Optional[float]:
    if name not in dataset.attrs:
        return None
    try:
        value = float(np.asarray(dataset.attrs[name]).reshape(()))
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value) or (name == "scale_factor" and value == 0):
        raise PackError(
            "%s: its attribute %s, %r, is no number that values can be multiplied with or added to: "
            "correct it (ncatted)" % (dataset.name, name, dataset.attrs[name])
        )
    return value


def _float_type(dataset: h5py.Dataset) -> np.dtype:
    kind, size = dataset.dtype.kind, dataset.dtype.itemsize
    if kind == "f" and size in (4, 8):
        return dataset.dtype.newbyteorder("=")
    if kind not in "iu":
        raise PackError(
            "%s has values of type %s, and factz compresses float32 and float64: convert them, for "
            "example with ncap2 or xarray's astype" % (dataset.name, dataset.dtype)
        )
    if "scale_factor" not in dataset.attrs and "add_offset" not in dataset.attrs:
        raise PackError(
            "%s has integers (%s) and neither scale_factor nor add_offset: convert it to floats, for "
            "example with `cdo -b F32 copy`, or leave it out of --pair" % (dataset.name, dataset.dtype)
        )
    return np.dtype(np.float32 if size <= 2 else np.float64)
