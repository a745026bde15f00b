"""Direction and spacing of rows and columns, and periodic axes, from the coordinates of a variable."""

from typing import Any, List, NamedTuple, Optional

import numpy as np

from .attributes import text_of
from .failure import PackError

# Units of CF conventions 4.1 and 4.2. They may be singular, and end with the letter alone.
_DEGREES = ("degree", "degrees")
_UNITS = {
    "latitude": [d + end for d in _DEGREES for end in ("_north", "_N", "N", "_south", "_S", "S")],
    "longitude": [d + end for d in _DEGREES for end in ("_east", "_E", "E", "_west", "_W", "W")],
}
_STANDARD_NAMES = {
    "latitude": ("latitude", "grid_latitude"),
    "longitude": ("longitude", "grid_longitude"),
    "y": ("projection_y_coordinate",),
    "x": ("projection_x_coordinate",),
}
# A step of a regular axis differs from the mean step by at most this fraction.
_REGULAR = 1e-3
# Columns and rows are periodic only if there are three of them.
_LEAST_PERIODIC = 3


class Axis(NamedTuple):
    """An axis of a variable.

    Attributes:
        name: of the dimension.
        kind: "latitude", "longitude", "x", "y", "time" or "".
        step: the mean step, negative where the axis runs backwards; 0 if it is not known.
        regular: whether all steps are alike.
        degrees: whether the unit is the degree.
        text: first and last value with their unit, for people.
    """

    name: str
    length: int
    kind: str = ""
    step: float = 0.0
    regular: bool = False
    degrees: bool = False
    text: str = ""
    units: str = ""

    @property
    def periodic(self) -> bool:
        """Whether the columns surround the Earth: one step after the last comes the first."""
        return self.kind == "longitude" and self.degrees and self.spans_360

    @property
    def spans_360(self) -> bool:
        """Whether the steps add up to 360, whatever their unit is."""
        whole = abs(self.length * abs(self.step) - 360) <= 0.01 * abs(self.step)
        return self.regular and whole and self.length >= _LEAST_PERIODIC


class Grid(NamedTuple):
    """Spacing and periodic axes of a field, and lines that tell people where they come from."""

    dx: float
    dy: float
    periodic: str
    notes: List[str]


def dimension_of(variable: Any, axis: int) -> Optional[Any]:
    """The dimension scale of an axis."""
    scales = variable.dims[axis]
    return scales[0] if len(scales) else None


def name_of(variable: Any, axis: int) -> str:
    scale = dimension_of(variable, axis)
    if scale is not None:
        return scale.name.rsplit("/", 1)[-1]
    return variable.dims[axis].label or "axis %d" % axis


def has_values(scale: Any) -> bool:
    """Whether a dimension scale is a variable, too."""
    return not text_of(scale, "NAME").startswith("This is a netCDF dimension but not a netCDF variable")


def coordinate_of(variable: Any, axis: int) -> Optional[Any]:
    """The coordinate of an axis, with one axis itself: of the same name, or named by `coordinates`."""
    scale = dimension_of(variable, axis)
    if scale is not None and scale.ndim == 1 and has_values(scale):
        return scale
    for other in auxiliary_of(variable):
        if other.ndim == 1 and scale is not None and dimension_of(other, 0) == scale:
            return other
    return None


def auxiliary_of(variable: Any) -> List[Any]:
    """The variables that the attribute `coordinates` names, looked for in this group and those around it."""
    found = []
    for name in text_of(variable, "coordinates").split():
        group = variable.parent
        while name not in group and group.name != "/":
            group = group.parent
        if name in group and hasattr(group[name], "dims"):
            found.append(group[name])
    return found


def kind_of(coordinate: Any) -> str:
    units, standard_name = text_of(coordinate, "units"), text_of(coordinate, "standard_name")
    for kind, known in _STANDARD_NAMES.items():
        if standard_name in known:
            return kind
    for kind, names in _UNITS.items():
        if units in names:
            return kind
    if " since " in units or standard_name == "time":
        return "time"
    return {"X": "x", "Y": "y", "T": "time"}.get(text_of(coordinate, "axis"), "")


def find_axis(variable: Any, axis: int) -> Axis:
    name, length = name_of(variable, axis), variable.shape[axis]
    coordinate = coordinate_of(variable, axis)
    if coordinate is None:
        return Axis(name, length)
    kind, units = kind_of(coordinate), text_of(coordinate, "units")
    if coordinate.dtype.kind not in "iuf" or length < 2:
        return Axis(name, length, kind, units=units)
    degrees = units.startswith(_DEGREES)
    values = coordinate[...].astype(np.float64)
    steps = _steps(values, degrees and kind == "longitude")
    if not (np.all(steps > 0) or np.all(steps < 0)):
        return Axis(name, length, kind, units=units)
    mean = float("%.6g" % steps.mean())
    # Coordinates are rounded, most of them to float32.
    rounding = 8 * float(np.finfo(np.float32).eps) * np.abs(values).max()
    regular = bool(np.abs(steps - steps.mean()).max() <= _REGULAR * abs(mean) + rounding)
    text = "%s from %g to %g %s" % (coordinate.name.rsplit("/", 1)[-1], values[0], values[-1], units)
    return Axis(name, length, kind, mean * _orientation(coordinate), regular, degrees, text.strip(), units)


def _steps(values: np.ndarray, longitude: bool) -> np.ndarray:
    """Differences between neighbours; longitudes may begin anew at 0 or -180."""
    steps = np.diff(values)
    return np.where(np.abs(steps) > 180, steps - 360 * np.sign(steps), steps) if longitude else steps


def _orientation(coordinate: Any) -> int:
    """-1 for coordinates that grow to the south, to the west or downwards."""
    backwards = text_of(coordinate, "units").endswith(("_south", "_S", "S", "_west", "_W", "W"))
    backwards &= kind_of(coordinate) in _UNITS
    return -1 if backwards or text_of(coordinate, "positive") == "down" else 1


def find_grid(variable: Any, dx: Optional[float], dy: Optional[float], periodic: str) -> Grid:
    """The spacing and the periodic axes of a variable whose last axes are y and x.

    Args:
        dx, dy: the spacing as the user gave it, or None.
        periodic: "auto", "none", "x", "y" or "xy".
    """
    y, x = find_axis(variable, variable.ndim - 2), find_axis(variable, variable.ndim - 1)
    _check_order(variable, y, x)
    given = dx is not None and dy is not None
    if not given:
        _check_rectilinear(variable, y, x)
    notes: List[str] = []
    alike = y.regular and x.regular and (y.degrees and x.degrees or y.units == x.units)
    steps = [] if given else [_signed(axis, alike, notes, what) for axis, what in ((x, "columns"), (y, "rows"))]
    if not given and x.text and y.text and not alike:
        notes.append(
            "spacing: %s and %s have no regular steps of one unit, and dx and dy are their signs (--spacing)"
            % (x.name, y.name)
        )
    dx = steps[0] if dx is None else dx
    dy = steps[1] if dy is None else dy
    notes.append("dx = %g, dy = %g%s" % (dx, dy, ", as given" if given else ""))
    if periodic == "auto":
        periodic = "".join(name for name, axis in (("x", x), ("y", y)) if axis.periodic)
        for axis in (x, y):
            if axis.periodic:
                notes.append(
                    "%s is periodic: %d steps of %g degrees" % (axis.name, axis.length, abs(axis.step))
                )
        if x.spans_360 and not x.periodic and (x.kind == "longitude" or x.degrees or x.units in ("", "1")):
            notes.append(
                "%s is not periodic: %d steps of %g, and the unit is not degrees_east (--periodic)"
                % (x.name, x.length, abs(x.step))
            )
    _check_periodic(periodic, x, y)
    return Grid(dx, dy, "" if periodic == "none" else periodic, notes)


def _signed(axis: Axis, alike: bool, notes: List[str], what: str) -> float:
    """The spacing along an axis: its sign, and its size where both axes can be compared."""
    if axis.length > 1 and axis.text == "":
        notes.append(
            "%s: no coordinate tells the direction of %s: they are taken to run %s (--spacing, --north-first)"
            % (axis.name, what, "to the north" if what == "rows" else "to the east")
        )
        return 1.0
    if axis.text:
        notes.append("%s: %s" % (what, axis.text))
    return axis.step if alike and axis.step else float(np.sign(axis.step) or 1)


def _check_order(variable: Any, y: Axis, x: Axis) -> None:
    rows, columns = ("latitude", "y"), ("longitude", "x")
    if x.kind == "time" or (y.kind in columns and x.kind in rows):
        raise PackError(
            "%s: its last axes are %s, %s, and they must be rows and columns, as lat, lon: reorder the axes,"
            " for example with ncpdq -a or xarray's transpose" % (variable.name, y.name, x.name)
        )


def _check_rectilinear(variable: Any, y: Axis, x: Axis) -> None:
    if y.text or x.text:
        return
    for other in auxiliary_of(variable):
        if other.ndim >= 2 and kind_of(other) in _UNITS:
            raise PackError(
                "%s lies on a curvilinear grid: its coordinate %s has %d axes, which tells no spacing: give "
                "--spacing 1,1 (dx=1, dy=1) if u is along the columns of the grid and v along its rows, and "
                "--spacing 1,-1 where the rows run against v" % (variable.name, other.name, other.ndim)
            )


def _check_periodic(periodic: str, x: Axis, y: Axis) -> None:
    for axis, name in ((x, "x"), (y, "y")):
        if name in periodic.replace("none", "") and axis.length < _LEAST_PERIODIC:
            raise PackError(
                "periodic=%s: %s has %d values, and a periodic axis at least %d"
                % (periodic, axis.name, axis.length, _LEAST_PERIODIC)
            )
