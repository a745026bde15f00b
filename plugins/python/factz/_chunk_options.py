"""Options of the codecs for chunked arrays (Zarr, numcodecs): checks, JSON, and the options of one chunk."""

import ctypes
import dataclasses
import inspect
import math
from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import _abi
from ._compression import compress_sizes
from ._config import DTYPES, SIDES, SIDES_OF_VOLUME, configured, configured_volume, lengths_of, sides_of
from ._library import check as check_status
from ._library import library

# The sides of an axis, those of the fastest one first.
_SIDES_OF_AXES = (
    ("x", _abi.SIDE_X_MIN | _abi.SIDE_X_MAX),
    ("y", _abi.SIDE_Y_MIN | _abi.SIDE_Y_MAX),
    ("z", _abi.SIDE_Z_MIN | _abi.SIDE_Z_MAX),
)


@dataclasses.dataclass(frozen=True)
class Content:
    """What an array holds: its shape is (..., components, *axes).

    Attributes:
        components: the length of the axis of the components.
        names: the components.
        axes: the names of the lengths behind it.
        options: the names of the options.
        sides: names and bits of the sides.
    """

    components: int
    names: str
    axes: Tuple[str, ...]
    options: Tuple[str, ...]
    sides: Dict[str, int]

    @property
    def rank(self) -> int:
        """The axes of a field, and the place from the end of the axis before them."""
        return len(self.axes)

    @property
    def ending(self) -> str:
        return "%d, %s" % (self.components, ", ".join(self.axes))

    @property
    def stacked(self) -> str:
        """How components become such an array."""
        return "np.stack([%s], %d)" % (self.names.replace(" and", ","), -1 - self.rank)


def _options(function: Any, *without: str) -> Tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name not in without)


# A chunk has no ghost lines, and volumes have one predictor.
PLANES = Content(2, "u and v", ("ny", "nx"), _options(configured, "halo"), SIDES)
VOLUME = Content(
    3, "u, v and w", ("nz", "ny", "nx"), _options(configured_volume, "predictor", "halo"), SIDES_OF_VOLUME
)


def _plain(name: str, value: Any, content: Content) -> Any:
    """An option as JSON has it."""
    if name == "pin":
        bits = sides_of(name, value, content.sides)
        return "+".join(side for side, bit in content.sides.items() if bits & bit) or "none"
    if isinstance(value, str):
        return value
    if name == "fill" and not math.isfinite(value):
        raise ValueError("fill=%r: NaN and infinity are kept exactly without being named" % value)
    return float(value)


def _check_values(content: Content, given: Dict[str, Any]) -> None:
    """Refuses options that make no configuration."""
    if content is PLANES:
        compress_sizes((3, 3), np.float64, **given)
        return
    config, most = configured_volume(**given), ctypes.c_uint64()
    config.nx = config.ny = config.nz = 3
    config.dtype = _abi.DTYPE_F64
    check_status(library.volume_stream_bytes(config, most))


@dataclasses.dataclass(frozen=True)
class ChunkOptions:
    """The options of :func:`factz.compress` without ``halo``, or with mode="repair" those of
    :func:`factz.compress_volume`, for chunks of a field.

    Attributes:
        items: names and values of the options that were given.
        field: (ny, nx) of the whole field, or (nz, ny, nx) of a volume, if it was given.
    """

    items: Tuple[Tuple[str, Any], ...]
    field: Optional[Tuple[int, ...]]

    @property
    def content(self) -> Content:
        """What the arrays hold."""
        return VOLUME if dict(self.items).get("mode") == "repair" else PLANES

    @classmethod
    def of(cls, options: Dict[str, Any]) -> "ChunkOptions":
        """Checks the names and the values of all options."""
        given = {name: value for name, value in options.items() if value is not None}
        field = given.pop("field", None)
        content = VOLUME if given.get("mode") == "repair" else PLANES
        for name in given:
            if name not in content.options:
                raise TypeError(
                    "%s=%r is no option of the codec%s: it takes %s and field"
                    % (
                        name,
                        given[name],
                        " with mode='repair', that of volumes" if content is VOLUME else "",
                        ", ".join(content.options),
                    )
                )
        _check_values(content, given)
        items = tuple((name, _plain(name, given[name], content)) for name in content.options if name in given)
        return cls(items, None if field is None else lengths_of("field", field, content.axes, 2**32 - 1))

    def to_json(self) -> Dict[str, Any]:
        return dict(self.items, **({} if self.field is None else {"field": list(self.field)}))

    def __str__(self) -> str:
        items = self.items + (() if self.field is None else (("field", self.field),))
        return ", ".join("%s=%r" % item for item in items)

    def check(self, chunk: Tuple[int, ...]) -> None:
        """A relative bound is that of one whole field; chunks end where a periodic axis does."""
        options, rank = dict(self.items), self.content.rank
        one = math.prod(chunk[: -1 - rank]) == 1 and chunk[-rank:] == self.field
        if "rel" in options and not one:
            raise ValueError(
                "rel=%r is a fraction of the range of one chunk, and chunks=%s with field=%s are not one "
                "whole field each: give abs=, the fraction * (max - min), or chunks and field= of one field"
                % (options["rel"], chunk, self.field)
            )
        periodic = "none" if options.get("preserve") == "none" else options.get("periodic", "none")
        for name, axis in list(zip("xyz", (-1, -2, -3)))[:rank]:
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
        # A triangle or tetrahedron between two chunks, or across a periodic side, has all its vertices on the
        # borders of chunks: it stays as it is if these do. The padding of the last chunk of an axis lies behind
        # the border of the field, and counts as data.
        sides = self.content.sides
        if options.get("preserve") != "none":
            bits = sides_of("pin", options.get("pin"), sides) | opened
            options["pin"] = [side for side, bit in sides.items() if bits & bit]
        periodic = options.get("periodic", "none")
        closed = [axis for axis, side in _SIDES_OF_AXES if axis in periodic and not opened & side]
        options["periodic"] = "".join(closed) or "none"
        if "fill" not in options and fill is not None and np.isfinite(fill) and fill != 0:
            options["fill"] = float(fill)
        return options

    def _open_sides(self, chunk: Tuple[int, ...]) -> int:
        """The bits of the sides of a chunk where other chunks may be."""
        rank = self.content.rank
        field = self.field or (math.inf,) * rank
        lengths = zip(reversed(chunk[-rank:]), reversed(field))
        return sum(bits for (_, bits), (part, whole) in zip(_SIDES_OF_AXES, lengths) if part < whole)


def check_name(component: Any) -> None:
    """Refuses an unknown component name."""
    if component not in ("u", "v"):
        raise ValueError("component=%r: give 'u' or 'v'" % (component,))


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


def check_array(name: str, shape: Tuple[int, ...], dtype: Any, content: Content = PLANES) -> None:
    """Refuses shapes and types that hold no fields."""
    _check_dtype(name, dtype)
    wanted = "(..., %s), the axis of length %d for %s before %s" % (
        content.ending,
        content.components,
        content.names,
        "planes, rows and columns" if content is VOLUME else "rows and columns",
    )
    if len(shape) < 1 + content.rank:
        raise ValueError("shape=%s of %s must be %s: stack both, %s" % (shape, name, wanted, content.stacked))
    if shape[-1 - content.rank] != content.components:
        advice = content.stacked
        if shape[-1] == content.components:
            advice = "np.moveaxis(a, -1, %d)" % (-1 - content.rank)
        volume = "; mode='repair' is that of volumes of u, v and w" if content is PLANES and 3 in shape else ""
        raise ValueError("shape=%s of %s must be %s: %s makes it%s" % (shape, name, wanted, advice, volume))


def check_chunks(chunks: Tuple[int, ...], name: str = "chunks", content: Content = PLANES) -> None:
    """Refuses chunks without all components, and those of several volumes."""
    place = -1 - content.rank
    if len(chunks) < -place or chunks[place] != content.components:
        advice = ""
        if len(chunks) >= -place:
            right = chunks[:place] + (content.components,) + chunks[-content.rank :]
            advice = ": give chunks=%s" % (right,)
        raise ValueError(
            "%s=%s: a chunk holds %s, (..., %s)%s" % (name, chunks, content.names, content.ending, advice)
        )
    if content is VOLUME and math.prod(chunks[:place]) != 1:
        raise ValueError(
            "%s=%s: a chunk holds one volume or a part of one, (1, ..., %s)" % (name, chunks, content.ending)
        )
    if content is VOLUME and min(chunks[-3:]) < 2:
        raise ValueError("%s=%s: a chunk of a volume has at least 2 vertices along each axis" % (name, chunks))
