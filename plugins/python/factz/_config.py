"""The configuration of a call, from keyword arguments with the names of factz_config_from_string."""

import operator
from typing import Any, Dict, Iterable, Optional, Tuple, Union

from . import _abi
from ._library import check, library
from ._sides import SIDES, SIDES_OF_VOLUME

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
AXES = {"x": _abi.PERIODIC_X, "y": _abi.PERIODIC_Y, "z": _abi.PERIODIC_Z}

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
    except OverflowError:
        raise ValueError("%s is a number beyond those of float64" % option) from None
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
    ny, nx = lengths_of(option, value, ("ny", "nx"), most)
    return ny, nx


def lengths_of(option: str, value: Any, names: Tuple[str, ...], most: int) -> Tuple[int, ...]:
    """The lengths of the axes with these names, slowest first, all from 1 to `most`."""
    try:
        lengths = tuple(value)
    except TypeError:
        lengths = ()
    if len(lengths) != len(names):
        raise ValueError("%s=%r must be (%s)" % (option, value, ", ".join(names)))
    return tuple(count_of("%s[%d]" % (option, k), n, 1, most) for k, n in enumerate(lengths))


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
    """A configuration of planes without what arrays say: shape, element type and layout."""
    config = _abi.Config()
    check(library.config_init(config, 0, 0, *_bound_of(abs, rel, "u and v")))
    _choose(config, (mode, coder, predictor, preserve, ties), dx, dy, fill)
    config.pin, config.halo = sides_of("pin", pin), sides_of("halo", halo)
    config.periodic = axes_of("periodic", periodic)
    return config


def configured_volume(
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    mode: str = "repair",
    coder: str = "ans",
    predictor: str = "hierarchical",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    dz: float = 1.0,
    pin: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    halo: Sides = None,
) -> _abi.Config:
    """A configuration of volumes without what arrays say: shape and element type."""
    config = _abi.Config()
    check(library.config_init_volume(config, 0, 0, 0, *_bound_of(abs, rel, "u, v and w")))
    _choose(config, (mode, coder, predictor, preserve, ties), dx, dy, fill)
    config.dz, config.pin = float_of("dz", dz), sides_of("pin", pin, SIDES_OF_VOLUME)
    config.halo = sides_of("halo", halo, SIDES_OF_VOLUME)
    config.periodic = axes_of_volume("periodic", periodic)
    return config


def _bound_of(abs: Optional[float], rel: Optional[float], components: str) -> Tuple[int, float]:
    """The kind of the bound and its value."""
    if (abs is None) == (rel is None):
        raise ValueError(
            "give one bound: abs=, the largest error in the unit of the field, or rel=, a fraction of the "
            "joint range of %s; there %s" % (components, "is none" if abs is None else "are both")
        )
    if abs is None:
        return _abi.BOUND_RELATIVE, float_of("rel", rel)
    return _abi.BOUND_ABSOLUTE, float_of("abs", abs)


def _choose(config: _abi.Config, names: Tuple[str, ...], dx: float, dy: float, fill: Optional[float]) -> None:
    """Sets what planes and volumes have in common; `names` are those of :data:`CHOICES`, in its order."""
    for (option, numbers), value in zip(CHOICES.items(), names):
        setattr(config, option, number_of(option, value, numbers))
    config.dx, config.dy = float_of("dx", dx), float_of("dy", dy)
    if fill is not None:
        config.has_fill_value, config.fill_value = 1, float_of("fill", fill)
