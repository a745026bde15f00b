"""The sides of a field: their names, as options have them, and their bits."""

import re

from . import _abi

SIDES = {
    "xmin": _abi.SIDE_X_MIN,
    "xmax": _abi.SIDE_X_MAX,
    "ymin": _abi.SIDE_Y_MIN,
    "ymax": _abi.SIDE_Y_MAX,
}
SIDES_OF_VOLUME = {**SIDES, "zmin": _abi.SIDE_Z_MIN, "zmax": _abi.SIDE_Z_MAX}

# As the library writes the bits of an option.
_BITS = re.compile(r"\b(pin|halo) = 0x([0-9a-f]+)")


def named(text: str) -> str:
    """A text of the library with names in place of bits: ``pin = 0x3`` is ``pin='xmin+xmax'``."""
    return _BITS.sub(_named, text)


def _named(found: "re.Match[str]") -> str:
    option, bits = found[1], int(found[2], 16)
    # Bits without a name are shown as they are.
    if bits & ~sum(SIDES_OF_VOLUME.values()):
        return found[0]
    return "%s=%r" % (option, "+".join(name for name, bit in SIDES_OF_VOLUME.items() if bits & bit) or "none")
