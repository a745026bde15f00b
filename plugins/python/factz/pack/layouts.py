"""The layouts of a pair in a packed file."""

from typing import Dict, List, Type

import h5py

from .failure import PackError
from .packed import Packed
from .separate import SeparatePair
from .virtual import VirtualPair

LAYOUTS: Dict[str, Type[Packed]] = {layout.LAYOUT: layout for layout in (VirtualPair, SeparatePair)}


def packed_pairs(file: h5py.File) -> List[Packed]:
    """All pairs of a packed file."""
    found = [pair for layout in LAYOUTS.values() for pair in layout.find(file)]
    if not found:
        raise PackError("%s is no file of factz.pack: it has no pair that pack compressed" % file.filename)
    return found
