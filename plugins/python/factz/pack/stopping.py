"""Signals that end a program, also where Python swallows the exception of their handler."""

import signal
import sys
from typing import Any, Optional

_number: Optional[int] = None


def listen() -> None:
    """From now on SIGINT, SIGTERM and SIGHUP raise an exception, so that unfinished files are removed."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, _stop)
    sys.unraisablehook = _unless_stopped


def _stop(number: int, _: Any) -> None:
    global _number
    _number = number
    check()


def _unless_stopped(raised: Any) -> None:
    if _number is None or not isinstance(raised.exc_value, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(raised)


def check() -> None:
    """Raises the exception of a signal that came.

    Python ignores an exception that a handler raises within a callback of the garbage collector. Long work asks here
    after each field, and before a file takes its name.
    """
    if _number == signal.SIGINT:
        raise KeyboardInterrupt
    if _number is not None:
        sys.exit(128 + _number)
