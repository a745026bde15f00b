"""The configuration of a call, from keyword arguments with the names of factz_config_from_string."""

import operator
from typing import Dict, Iterable, Optional, Tuple, Union

from . import _abi
from ._library import check, library

# The options that are a choice of names.
CHOICES = {
    "mode": {
        "block": _abi.MODE_BLOCK_WISE,
        "speculative": _abi.MODE_SPECULATIVE,
        "repair": _abi.MODE_REPAIR,
    },
    "coder": {"ans": _abi.CODER_ANS, "huffman": _abi.CODER_HUFFMAN},
    "predictor": {"hierarchical": _abi.PREDICTOR_HIERARCHICAL, "lorenzo": _abi.PREDICTOR_LORENZO},
    "preserve": {"none": _abi.PRESERVE_NONE, "points": _abi.PRESERVE_POINTS, "types": _abi.PRESERVE_TYPES},
    "ties": {"all": _abi.TIES_ALL, "zeros": _abi.TIES_ZEROS, "sos": _abi.TIES_SOS},
}
DTYPES = {"float32": _abi.DTYPE_F32, "float64": _abi.DTYPE_F64}
COMPONENTS = {
    _abi.COMPONENT_BOTH: None,
    _abi.COMPONENT_U: "u",
    _abi.COMPONENT_V: "v",
    _abi.COMPONENT_VOLUME: "uvw",
}
SIDES = {
    "xmin": _abi.SIDE_X_MIN,
    "xmax": _abi.SIDE_X_MAX,
    "ymin": _abi.SIDE_Y_MIN,
    "ymax": _abi.SIDE_Y_MAX,
}

AXES = {"x": _abi.PERIODIC_X, "y": _abi.PERIODIC_Y, "z": _abi.PERIODIC_Z}
SIDES_OF_VOLUME = {**SIDES, "zmin": _abi.SIDE_Z_MIN, "zmax": _abi.SIDE_Z_MAX}

Sides = Union[str, Iterable[str], None]
#: (ny, nx), or (nz, ny, nx) of a stack.
Shape = Union[Tuple[int, int], Tuple[int, int, int]]


def number_of(option: str, value: str, names: Dict[str, int]) -> int:
    try:
        return names[value]
    except (KeyError, TypeError):
        raise ValueError("%s=%r is none of %s" % (option, value, ", ".join(names))) from None


def _refuse_truth(option: str, value: object) -> None:
    """True and False count as 1 and 0 in Python, and are no numbers here, nor are those of arrays."""
    if isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool"):
        raise TypeError("%s=%r is a truth value: give a number" % (option, value))


def float_of(option: str, value: Optional[float]) -> float:
    _refuse_truth(option, value)
    try:
        if value is not None and not isinstance(value, (str, bytes)):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise TypeError("%s=%r is no number" % (option, value))


def count_of(option: str, value: int, least: int = -(2**31), most: int = 2**31 - 1) -> int:
    """An integer in a range; by default that of int in C, to which ctypes would cut it without a word."""
    _refuse_truth(option, value)
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError("%s=%r is no integer" % (option, value)) from None
    if not least <= count <= most:
        raise ValueError("%s=%d is not between %d and %d" % (option, count, least, most))
    return count


def shape_of(option: str, value: Tuple[int, int], most: int) -> Tuple[int, int]:
    """(ny, nx), both from 1 to `most`."""
    try:
        ny, nx = value
    except (TypeError, ValueError):
        raise ValueError("%s=%r must be (ny, nx)" % (option, value)) from None
    names = (option + "[0]", option + "[1]")
    return count_of(names[0], ny, 1, most), count_of(names[1], nx, 1, most)


def stack_shape_of(option: str, value: Shape, most: int) -> Tuple[int, int, int]:
    """(nz, ny, nx) of (ny, nx) or (nz, ny, nx)."""
    try:
        lengths = tuple(value)
    except TypeError:
        lengths = ()
    if len(lengths) not in (2, 3):
        raise ValueError("%s=%r must be (ny, nx) or (nz, ny, nx)" % (option, value))
    counts = [count_of("%s[%d]" % (option, k), n, 1, most) for k, n in enumerate(lengths)]
    nz, ny, nx = [1] * (3 - len(counts)) + counts
    return nz, ny, nx


def name_of(number: int, names: Dict[str, int]) -> str:
    """The name of a number that a library may know and this package does not."""
    return next((name for name, known in names.items() if known == number), "number %d" % number)


def sides_of(option: str, value: Sides, names: Dict[str, int] = SIDES) -> int:
    """The bits of sides, given as "xmin+ymax", "all", "none", None or a list of names."""
    if value is None or value == "none":
        return 0
    if value == "all":
        return sum(names.values())
    bits = 0
    try:
        for name in value.split("+") if isinstance(value, str) else value:
            bits |= names[name.strip()]
    except (KeyError, TypeError, AttributeError):
        raise ValueError(
            "%s=%r is none of none, all, or sides joined by +: %s" % (option, value, ", ".join(names))
        ) from None
    return bits


def axes_of_volume(option: str, value: Optional[str]) -> int:
    """The bits of axes, given as different letters of "xyz", "none" or None."""
    if value is None or value == "none":
        return 0
    if not isinstance(value, str) or not value or len(set(value)) < len(value) or set(value) - set(AXES):
        raise ValueError("%s=%r is none, or not made of x, y and z" % (option, value))
    return sum(AXES[axis] for axis in value)


def axes_of(option: str, value: Optional[str]) -> int:
    """The bits of axes, given as "x", "y", "xy", "none" or None."""
    if value is None or value == "none":
        return 0
    if value not in ("x", "y", "xy"):
        raise ValueError("%s=%r is none of none, x, y, xy" % (option, value))
    return sum(AXES[axis] for axis in value)


def axes_named(bits: int) -> Optional[str]:
    """The axes of bits, as :func:`axes_of` takes them; None where there is none."""
    return "".join(axis for axis, bit in AXES.items() if bits & bit) or None


def configured(
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    mode: str = "block",
    coder: str = "ans",
    predictor: str = "hierarchical",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    pin: Sides = None,
    halo: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
) -> _abi.Config:
    """A configuration without what arrays say: shape, element type and layout."""
    if (abs is None) == (rel is None):
        raise ValueError(
            "give one bound: abs=, the largest error in the unit of the field, or rel=, a fraction of the "
            "joint range of u and v; there %s" % ("is none" if abs is None else "are both")
        )
    config = _abi.Config()
    if abs is None:
        check(library.config_init(config, 0, 0, _abi.BOUND_RELATIVE, float_of("rel", rel)))
    else:
        check(library.config_init(config, 0, 0, _abi.BOUND_ABSOLUTE, float_of("abs", abs)))
    for (option, names), value in zip(CHOICES.items(), (mode, coder, predictor, preserve, ties)):
        setattr(config, option, number_of(option, value, names))
    config.dx, config.dy = float_of("dx", dx), float_of("dy", dy)
    config.pin, config.halo = sides_of("pin", pin), sides_of("halo", halo)
    config.periodic = axes_of("periodic", periodic)
    if fill is not None:
        config.has_fill_value, config.fill_value = 1, float_of("fill", fill)
    return config
