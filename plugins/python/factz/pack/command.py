"""The command lines ``python -m factz.pack`` and ``python -m factz.unpack``."""

import argparse
import re
import signal
import sys
from typing import Any, List, Optional, Sequence, Tuple

from .._config import CHOICES
from ..errors import FactzError
from . import append, pack, unpack
from .help import APPENDIX, DESCRIPTION, UNPACK_APPENDIX, UNPACK_DESCRIPTION
from .request import PERIODIC

# Options that are those of compression, which a packed file has already.
_OF_COMPRESSION = (
    "pair abs rel mode predictor coder preserve ties spacing north_first fill_value periodic chunk"
    " allow_wide_range"
).split()


def _names(text: str) -> Tuple[str, str]:
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError("%r: give two names, U,V, for example u10,v10" % text)
    return names[0], names[1]


def _spacing(text: str) -> Tuple[float, float]:
    try:
        dx, dy = (float(part) for part in text.split(","))
    except ValueError:
        dx = dy = 0.0
    if not (dx and dy and abs(dx) < float("inf") and abs(dy) < float("inf")):
        raise argparse.ArgumentTypeError(
            "%r: give DX,DY: two numbers other than 0, for example 1,0.5, or 1,-1 where row 0 is the"
            " northernmost" % text
        )
    return dx, dy


def _dims(text: str) -> Tuple[int, int]:
    match = re.fullmatch(r"([1-9][0-9]*)x([1-9][0-9]*)", text)
    if not match:
        raise argparse.ArgumentTypeError("%r: give columns x rows, for example 512x512" % text)
    return int(match[2]), int(match[1])


def _parser(program: str, description: str, appendix: str) -> argparse.ArgumentParser:
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m factz." + program,
        description=description,
        epilog=appendix,
        formatter_class=form,
        allow_abbrev=False,
    )
    parser.add_argument("--force", action="store_true", help="replace an older OUT; with --append see below")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but warnings and errors")
    return parser


def _pack_parser() -> argparse.ArgumentParser:
    parser = _parser("pack", DESCRIPTION, APPENDIX)
    add = parser.add_argument
    add("input", metavar="IN", help="netCDF-4 or HDF5 file")
    add("output", metavar="OUT", help="the packed file to write")
    add(
        "--pair",
        metavar="U,V",
        type=_names,
        action="append",
        help=(
            "variables that are the components along x and y, with the path of their group; may be repeated; "
            "default: the variables whose standard names belong together"
        ),
    )
    add("--append", action="store_true", help="add the time steps of IN to OUT, a packed file")
    bound = parser.add_argument_group("bound (one of them)").add_mutually_exclusive_group()
    bound.add_argument(
        "--abs", metavar="E", type=float, help="largest error of any value, in the unit of the field"
    )
    bound.add_argument(
        "--rel",
        metavar="T",
        type=float,
        help="the same as a fraction of max - min of u and v over all fields; reads the pair twice",
    )
    more = parser.add_argument_group("compression, as in `factz compress`")
    defaults = {
        "mode": "block",
        "predictor": "hierarchical",
        "coder": "ans",
        "preserve": "types",
        "ties": "all",
    }
    for name, default in defaults.items():
        more.add_argument("--" + name, choices=list(CHOICES[name]), help="default: " + default)
    more.add_argument(
        "--allow-wide-range",
        action="store_true",
        default=None,
        help="let --rel count even where outliers make the range",
    )
    more.add_argument(
        "--threads", metavar="N", type=int, default=0, help="threads; 0, the default, is one per core"
    )
    grid = parser.add_argument_group("grid (default: from the coordinates)")
    grid.add_argument(
        "--spacing",
        metavar="DX,DY",
        type=_spacing,
        help="distances of columns and of rows; negative where the axis runs backwards",
    )
    grid.add_argument(
        "--north-first",
        action="store_true",
        default=None,
        help="rows run from north to south: makes DY negative",
    )
    grid.add_argument("--periodic", choices=PERIODIC, help="axes without an end; default: auto")
    grid.add_argument(
        "--fill-value",
        metavar="X",
        type=float,
        help="the value of missing data; default: _FillValue, else missing_value",
    )
    grid.add_argument(
        "--chunk", metavar="NXxNY", type=_dims, help="columns x rows of a chunk; default: whole fields"
    )
    return parser


def _pack(arguments: Any) -> None:
    parser = _pack_parser()
    a = parser.parse_args(arguments)
    say = _reporter(a.quiet)
    if a.append:
        given = [name for name in _OF_COMPRESSION if getattr(a, name) is not None]
        if given:
            parser.error(
                "--%s with --append: the packed file has its pairs, its bound and its options already"
                % given[0].replace("_", "-")
            )
        append(a.input, a.output, threads=a.threads, force=a.force, say=say, progress=not a.quiet)
        return
    if a.abs is None and a.rel is None:
        parser.error(
            "a bound is missing: give --abs E, the largest error in the unit of the field, or --rel T, a "
            "fraction of the range"
        )
    dx, dy = a.spacing or (None, None)
    if a.north_first:
        if dy is not None and dy < 0:
            parser.error(
                "--spacing %g,%g --north-first: both say that rows run from north to south: leave one out"
                % (dx, dy)
            )
        dx, dy = (dx or 1.0), -(dy or 1.0)
    chosen = {
        name: getattr(a, name) for name in ("mode", "predictor", "coder", "preserve", "ties", "periodic")
    }
    pack(
        a.input,
        a.output,
        a.pair,
        abs=a.abs,
        rel=a.rel,
        dx=dx,
        dy=dy,
        fill=a.fill_value,
        chunk=a.chunk,
        allow_wide_range=bool(a.allow_wide_range),
        threads=a.threads,
        force=a.force,
        say=say,
        progress=not a.quiet,
        **{name: value for name, value in chosen.items() if value is not None},
    )


def _unpack(arguments: Any) -> None:
    parser = _parser("unpack", UNPACK_DESCRIPTION, UNPACK_APPENDIX)
    parser.add_argument("input", metavar="IN", help="a file of factz.pack")
    parser.add_argument("output", metavar="OUT", help="the file to write")
    a = parser.parse_args(arguments)
    unpack(a.input, a.output, force=a.force, say=_reporter(a.quiet), progress=not a.quiet)


def _reporter(quiet: bool) -> Any:
    def say(line: str) -> None:
        if line.startswith("warning: "):
            print(line, file=sys.stderr)
        elif not quiet:
            print(line, flush=True)

    return say


def _stop(number: int, _: Any) -> None:
    # An exception, so that the unfinished file is removed.
    sys.exit(128 + number)


def _run(program: str, work: Any, arguments: Optional[Sequence[str]]) -> int:
    for name in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, _stop)
    try:
        work(arguments)
        return 0
    except KeyboardInterrupt:
        return 130
    except ModuleNotFoundError as error:
        text = "%s: install it with `pip install %s`" % (error, error.name)
    except (FactzError, ValueError, TypeError, ImportError, MemoryError, OSError) as error:
        text = str(error) or type(error).__name__
    print("factz.%s: error: %s" % (program, text), file=sys.stderr)
    return 2


def main(arguments: Optional[List[str]] = None) -> int:
    return _run("pack", _pack, arguments)


def main_unpack(arguments: Optional[List[str]] = None) -> int:
    return _run("unpack", _unpack, arguments)
