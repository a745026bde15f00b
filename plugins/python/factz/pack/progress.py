"""How far long work has got."""

import sys
import time

from . import stopping

# Seconds between two messages: on a terminal, and in the log of a batch job.
_TERMINAL, _LOG = 0.2, 60.0


class Progress:
    """Counts fields and tells their number on standard error, if the work takes long.

    On a terminal a line is written again and again; elsewhere a line is added each minute.
    """

    def __init__(self, what: str, total: int, quiet: bool = False):
        self.what, self.total, self.done = what, total, 0
        self.quiet, self.terminal = quiet, sys.stderr.isatty()
        self.start = self.last = time.monotonic()
        self.shown = False

    def step(self, fields: int = 1) -> None:
        stopping.check()
        self.done += fields
        now = time.monotonic()
        if not self.quiet and now - self.last >= (_TERMINAL if self.terminal else _LOG):
            self.last = now
            self._show(now)

    def _show(self, now: float) -> None:
        left = (now - self.start) / self.done * (self.total - self.done)
        text = "%s: %d of %d fields, %s left" % (self.what, self.done, self.total, _duration(left))
        print(
            "\r\x1b[K" + text if self.terminal else text, end="" if self.terminal else "\n", file=sys.stderr
        )
        sys.stderr.flush()
        self.shown = True

    def end(self) -> None:
        if self.shown and self.terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return "%d:%02d:%02d" % (hours, minutes, rest) if hours else "%d:%02d" % (minutes, rest)
