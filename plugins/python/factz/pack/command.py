"""The command lines ``python -m factz.pack`` and ``python -m factz.unpack``."""

import sys
from typing import Any, Dict, List, Optional

from ..errors import FactzError
from . import append, pack, stopping, unpack
from .arguments import OF_COMPRESSION, pack_parser, unpack_parser


def _pack(arguments: Optional[List[str]]) -> None:
    parser = pack_parser()
    a = parser.parse_args(arguments)
    talk: Dict[str, Any] = {"say": _reporter(a.quiet), "progress": not a.quiet}
    given = [name for name in OF_COMPRESSION if getattr(a, name) is not None]
    if a.append and given:
        parser.error(
            "--%s with --append: the packed file has its pairs, its bound and its options already"
            % given[0].replace("_", "-")
        )
    if a.append:
        append(a.input, a.output, threads=a.threads, force=a.force, **talk)
        return
    if a.abs is None and a.rel is None:
        parser.error(
            "a bound is missing: give --abs E, the largest error in the unit of the field, or --rel T, a "
            "fraction of the range"
        )
    same = "abs rel mode predictor coder preserve ties periodic chunk allow_wide_range layout".split()
    options = {name: getattr(a, name) for name in same if name in given}
    options["dx"], options["dy"] = _spacing_of(parser, a)
    pack(a.input, a.output, a.pair, fill=a.fill_value, threads=a.threads, force=a.force, **options, **talk)


def _spacing_of(parser: Any, a: Any) -> Any:
    """dx and dy, or None where the coordinates tell."""
    if not a.north_first:
        return a.spacing or (None, None)
    dx, dy = a.spacing or (1.0, 1.0)
    if dy < 0:
        parser.error(
            "--spacing %g,%g --north-first: both say that rows run from north to south: leave one out"
            % (dx, dy)
        )
    return dx, -dy


def _unpack(arguments: Optional[List[str]]) -> None:
    a = unpack_parser().parse_args(arguments)
    unpack(a.input, a.output, force=a.force, say=_reporter(a.quiet), progress=not a.quiet)


def _reporter(quiet: bool) -> Any:
    def say(line: str) -> None:
        if line.startswith("warning: "):
            print(line, file=sys.stderr)
        elif not quiet:
            print(line, flush=True)

    return say


def _run(program: str, work: Any, arguments: Optional[List[str]]) -> int:
    stopping.listen()
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
