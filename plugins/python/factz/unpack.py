"""``python -m factz.unpack packed.nc plain.nc``: plain variables from a file of :mod:`factz.pack`."""

import sys

from .pack import unpack

__all__ = ["unpack"]

if __name__ == "__main__":
    from .pack.command import main_unpack

    sys.exit(main_unpack())
