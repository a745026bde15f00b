"""The arguments of ``python -m factz.pack`` and ``python -m factz.unpack``."""

import argparse
import math
import re
from typing import Any, Tuple

from .._config import CHOICES
from .help import APPENDIX, DESCRIPTION, UNPACK_APPENDIX, UNPACK_DESCRIPTION

#: Choices of --periodic.
PERIODIC = ("auto", "none", "x", "y", "xy")

#: Choices of --layout; the first one is the default.
LAYOUTS = ("virtual", "separate")

#: Options that a packed file has already.
OF_COMPRESSION = (
    "pair abs rel mode predictor coder preserve ties spacing north_first fill_value periodic chunk"
    " allow_wide_range layout"
).split()

_CHOICES = {
    "mode": "block, the default: an analytic bound per vertex, fastest; speculative: try the full bound and "
    "back off, smallest",
    "predictor": "hierarchical, the default: interpolation, smallest; lorenzo: differences to the "
    "neighbours, mode block only",
    "coder": "ans, the default: smallest; huffman",
    "preserve": "types, the default: critical points and their types; points; none: the bound alone",
    "ties": "what is kept of triangles whose zero lies on an edge or at a vertex; default: all",
}


def _names(text: str) -> Tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        volume = ""
        if len(names) == 3:
            volume = "; volumes of u, v and w are stored with Zarr (factz.zarr) or the HDF5 filter (factz.hdf5)"
        raise argparse.ArgumentTypeError("%r: give two names, U,V, for example u10,v10%s" % (text, volume))
    return names[0], names[1]


def _spacing(text: str) -> Tuple[float, float]:
    try:
        dx, dy = (float(part) for part in text.split(","))
    except ValueError:
        dx = dy = 0.0
    if not (dx and dy and math.isfinite(dx) and math.isfinite(dy)):
        raise argparse.ArgumentTypeError(
            "%r: give DX,DY: two numbers other than 0, for example 1,0.5, or 1,-1 where row 0 is the "
            "northernmost" % text
        )
    return dx, dy


def _dims(text: str) -> Tuple[int, int]:
    match = re.fullmatch(r"([1-9][0-9]*)x([1-9][0-9]*)", text)
    if not match:
        raise argparse.ArgumentTypeError("%r: give columns x rows, for example 512x512" % text)
    return int(match[2]), int(match[1])


def _parser(program: str, description: str, appendix: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m factz." + program,
        description=description,
        epilog=appendix,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--force", action="store_true", help="replace an older OUT")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but warnings and errors")
    return parser


def pack_parser() -> argparse.ArgumentParser:
    parser = _parser("pack", DESCRIPTION, APPENDIX)
    add = parser.add_argument
    add("input", metavar="IN", help="netCDF-4 or HDF5 file")
    add("output", metavar="OUT", help="the packed file to write")
    pair = (
        "the components along x and y, with the path of their group; may be repeated; default: the "
        "variables whose standard names fit together"
    )
    add("--pair", metavar="U,V", type=_names, action="append", help=pair)
    layout = (
        "virtual, the default: u and v are virtual datasets on one that holds both, smallest; separate: each "
        "has compressed chunks of its own"
    )
    add("--layout", choices=LAYOUTS, help=layout)
    add("--append", action="store_true", help="add the time steps of IN to OUT, a packed file")
    _add_bound(parser.add_argument_group("bound (one of them)"))
    _add_choices(parser.add_argument_group("compression, as in `factz compress`"))
    _add_grid(parser.add_argument_group("grid (default: from the coordinates)"))
    return parser


def _add_bound(group: Any) -> None:
    add = group.add_mutually_exclusive_group().add_argument
    add("--abs", metavar="E", type=float, help="largest error of any value, in the unit of the field")
    fraction = "the same as a fraction of max - min of u and v over all fields; reads the pair twice"
    add("--rel", metavar="T", type=float, help=fraction)


def _add_choices(group: Any) -> None:
    add = group.add_argument
    for name, text in _CHOICES.items():
        # Repair is the mode of volumes.
        add("--" + name, choices=[choice for choice in CHOICES[name] if choice != "repair"], help=text)
    wide = "let --rel count even where outliers make the range"
    add("--allow-wide-range", action="store_true", default=None, help=wide)
    add("--threads", metavar="N", type=int, default=0, help="threads; 0, the default, is one per core")


def _add_grid(group: Any) -> None:
    add = group.add_argument
    distances = "distances of columns and of rows; negative where the axis runs backwards"
    add("--spacing", metavar="DX,DY", type=_spacing, help=distances)
    north = "rows run from north to south: makes DY negative"
    add("--north-first", action="store_true", default=None, help=north)
    add("--periodic", choices=PERIODIC, help="axes without an end; default: auto")
    fill = "the value of missing data of variables without _FillValue and missing_value"
    add("--fill-value", metavar="X", type=float, help=fill)
    add("--chunk", metavar="NXxNY", type=_dims, help="columns x rows of a chunk; default: whole fields")


def unpack_parser() -> argparse.ArgumentParser:
    parser = _parser("unpack", UNPACK_DESCRIPTION, UNPACK_APPENDIX)
    parser.add_argument("input", metavar="IN", help="a file of factz.pack")
    parser.add_argument("output", metavar="OUT", help="the file to write")
    return parser
