"""The words (cd_values) of the HDF5 filter, which hold the options of a packed dataset."""

from typing import Any, Dict, Optional, Tuple

import h5py
import numpy as np

from .._config import DTYPES


def _words_of(dataset: h5py.Dataset) -> Tuple[int, ...]:
    """The words of the filter of a dataset; empty where it is not the first one."""
    from ..hdf5 import FILTER_ID

    plist = dataset.id.get_create_plist()
    if not plist.get_nfilters():
        return ()
    number, _, words, _ = plist.get_filter(0)
    return tuple(words) if number == FILTER_ID else ()


def component_of(dataset: h5py.Dataset) -> Optional[int]:
    """0 where the chunks of a dataset are streams of u, 1 where they are of v."""
    from ..hdf5 import LAYOUT_U, LAYOUT_WORD

    words = _words_of(dataset)
    component = words[LAYOUT_WORD] - LAYOUT_U if len(words) > LAYOUT_WORD else -1
    return component if component in (0, 1) else None


def options_of(dataset: h5py.Dataset) -> Dict[str, Any]:
    """The options of the filter, as :func:`factz.hdf5.options` makes them, of a dataset that has it."""
    from ..hdf5 import FILTER_ID, GIVEN_WORDS

    return {"compression": FILTER_ID, "compression_opts": _words_of(dataset)[:GIVEN_WORDS]}


def words_of_component(
    options: Dict[str, Any], component: int, chunk: Tuple[int, int], dtype: np.dtype
) -> Tuple[int, ...]:
    """The words of a dataset of u (component 0) or v.

    Args:
        options: the filter for both components.
        chunk: (ny, nx) of a chunk.
        dtype: the type in the file.
    """
    from ..hdf5 import component_words

    number = DTYPES[dtype.newbyteorder("=").name]
    described = component_words(component, number, (1, *chunk), dtype == dtype.newbyteorder(">"))
    return (*options["compression_opts"], *described)
