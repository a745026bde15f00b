"""The layouts of a pair in a packed file."""

from typing import Dict, List, Type

import h5py

from .attributes import text_of
from .failure import PackError
from .packed import Packed
from .separate import SeparatePair
from .storage import STORAGE
from .virtual import VirtualPair

LAYOUTS: Dict[str, Type[Packed]] = {layout.LAYOUT: layout for layout in (VirtualPair, SeparatePair)}


def packed_pairs(file: h5py.File) -> List[Packed]:
    """All pairs of a packed file."""
    found = [pair for layout in LAYOUTS.values() for pair in layout.find(file)]
    if not found:
        raise PackError("%s %s" % (file.filename, _why_none(file)))
    return found


def _why_none(file: h5py.File) -> str:
    """What is to be said of a file without pairs."""
    from ..hdf5 import FILTER_ID

    plain: List[str] = []
    file.visititems(lambda path, item: plain.append(path) if text_of(item, STORAGE) else None)
    if not plain:
        return "is no file of factz.pack: it has no pair that pack compressed"
    return (
        "has no pair that is compressed: pack compressed %s, and a program copied them without the filter "
        "%d: they need no unpacking, and pack compresses them again" % (", ".join(plain), FILTER_ID)
    )
