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

    def visit(path: str, item: object) -> None:
        if text_of(item, STORAGE):
            plain.append(path)

    file.visititems(visit)
    if not plain:
        return "is no file of factz.pack: it has no pair that pack compressed"
    return (
        "has no compressed pair: a program without the filter %d copied %s plain; use them as they are, or pack "
        "them again" % (FILTER_ID, ", ".join(plain))
    )
