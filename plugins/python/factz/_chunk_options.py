"""Options of the codecs for chunked arrays (Zarr, numcodecs): checks, JSON, and the options of one chunk."""

import dataclasses
import inspect
import math
from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import _abi
from ._compression import compress_sizes
from ._config import DTYPES, SIDES, configured, shape_of, sides_of

# A chunk has no ghost lines.
NAMES = tuple(name for name in inspect.signature(configured).parameters if name != "halo")
SHAPE = "(..., 2, ny, nx), the axis of length 2 for u and v before rows and columns"


def _plain(name: str, value: Any) -> Any:
    """An option as JSON has it."""
    if name == "pin":
        bits = sides_of(name, value)
        return "+".join(side for side, bit in SIDES.items() if bits & bit) or "none"
    if isinstance(value, str):
        return value
    if name == "fill" and not math.isfinite(value):
        raise ValueError("fill=%r: NaN and infinity are kept exactly without being named" % value)
    return float(value)


@dataclasses.dataclass(frozen=True)
class ChunkOptions:
    """The options of :func:`factz.compress` without ``halo``, for chunks of a field.

    Attributes:
        items: names and values of the options that were given.
        field: (ny, nx) of the whole field, if it was given.
    """

    items: Tuple[Tuple[str, Any], ...]
    field: Optional[Tuple[int, int]]

    @classmethod
    def of(cls, options: Dict[str, Any]) -> "ChunkOptions":
        """Checks the names and the values of all options."""
        given = {name: value for name, value in options.items() if value is not None}
        field = given.pop("field", None)
        for name in given:
            if name not in NAMES:
                raise TypeError(
                    "%s=%r is no option of the codec: it takes %s and field"
                    % (name, given[name], ", ".join(NAMES))
                )
        compress_sizes((3, 3), np.float64, **given)
        items = tuple((name, _plain(name, given[name])) for name in NAMES if name in given)
        return cls(items, None if field is None else shape_of("field", field, 2**32 - 1))

    def to_json(self) -> Dict[str, Any]:
        return dict(self.items, **({} if self.field is None else {"field": list(self.field)}))

    def __str__(self) -> str:
        items = self.items + (() if self.field is None else (("field", self.field),))
        return ", ".join("%s=%r" % item for item in items)

    def check(self, chunk: Tuple[int, ...]) -> None:
        """A relative bound is that of one whole field; chunks end where a periodic axis does."""
        options = dict(self.items)
        one = math.prod(chunk[:-3]) == 1 and chunk[-2:] == self.field
        if "rel" in options and not one:
            raise ValueError(
                "rel=%r is a fraction of the range of one chunk, and chunks=%s with field=%s are not one "
                "whole field each: give abs=, the fraction * (max - min), or chunks and field= of one field"
                % (options["rel"], chunk, self.field)
            )
        periodic = "none" if options.get("preserve") == "none" else options.get("periodic", "none")
        for name, axis in (("x", -1), ("y", -2)):
            # Otherwise the last chunk is padded, and its border is not that of the field.
            if name in periodic and (self.field is None or self.field[axis] % chunk[axis]):
                raise ValueError(
                    "periodic=%r, and chunks=%s do not end where a field of field=%s does: give field=, and "
                    "chunks as long as the field along a periodic axis, or such that they divide it"
                    % (periodic, chunk, self.field)
                )

    def of_chunk(self, chunk: Tuple[int, ...], fill: Any = None) -> Dict[str, Any]:
        """The arguments of :func:`factz.compress` for the planes of a chunk.

        Args:
            chunk: its shape.
            fill: the fill value of the array. It marks missing data if it is finite and not 0, unless the
                options name another one.
        """
        self.check(chunk)
        options, opened = dict(self.items), self._open_sides(chunk)
        # A triangle between two chunks, or across a periodic side, has all its vertices on the borders of
        # chunks: it stays as it is if these do. The padding of the last chunk of an axis lies behind the
        # border of the field, and counts as data.
        if options.get("preserve") != "none":
            bits = sides_of("pin", options.get("pin")) | opened
            options["pin"] = [side for side, bit in SIDES.items() if bits & bit]
        sides, periodic = (("x", _abi.SIDE_X_MIN), ("y", _abi.SIDE_Y_MIN)), options.get("periodic", "none")
        closed = [axis for axis, side in sides if axis in periodic and not opened & side]
        options["periodic"] = "".join(closed) or "none"
        if "fill" not in options and fill is not None and np.isfinite(fill) and fill != 0:
            options["fill"] = float(fill)
        return options

    def _open_sides(self, chunk: Tuple[int, ...]) -> int:
        """The bits of the sides of a chunk where other chunks may be."""
        ny, nx = self.field or (math.inf, math.inf)
        along_x = _abi.SIDE_X_MIN | _abi.SIDE_X_MAX if chunk[-1] < nx else 0
        return along_x | (_abi.SIDE_Y_MIN | _abi.SIDE_Y_MAX if chunk[-2] < ny else 0)


def check_component(name: str, shape: Tuple[int, ...], dtype: Any) -> None:
    """Refuses shapes and types that hold no component of a field."""
    _check_dtype(name, dtype)
    if len(shape) < 2:
        raise ValueError("shape=%s of %s must be (..., ny, nx)" % (shape, name))


def _check_dtype(name: str, dtype: Any) -> None:
    kind = np.dtype(dtype)
    if kind.newbyteorder("=").name not in DTYPES:
        advice = "unpack them with scale_factor and add_offset first, or " if kind.kind in "iu" else ""
        raise TypeError(
            "dtype=%s of %s: factz takes float32 and float64; %sconvert the values with .astype"
            % (kind, name, advice)
        )


def check_array(name: str, shape: Tuple[int, ...], dtype: Any) -> None:
    """Refuses shapes and types that hold no fields."""
    _check_dtype(name, dtype)
    if len(shape) < 3:
        raise ValueError(
            "shape=%s of %s must be %s: stack both, np.stack([u, v], -3)" % (shape, name, SHAPE)
        )
    if shape[-3] != 2:
        advice = "np.moveaxis(a, -1, -3)" if shape[-1] == 2 else "np.stack([u, v], -3)"
        raise ValueError("shape=%s of %s must be %s: %s makes it" % (shape, name, SHAPE, advice))


def check_chunks(chunks: Tuple[int, ...], name: str = "chunks") -> None:
    """Refuses chunks of one component."""
    if len(chunks) < 3 or chunks[-3] != 2:
        advice = ": give chunks=%s" % (chunks[:-3] + (2,) + chunks[-2:],) if len(chunks) >= 3 else ""
        raise ValueError("%s=%s: a chunk holds u and v, (..., 2, ny, nx)%s" % (name, chunks, advice))
