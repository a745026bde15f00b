"""The words (cd_values) of the HDF5 filter, which hold the options of a packed dataset."""

import ctypes
from typing import Any, Dict, Optional, Tuple

import h5py
import numpy as np

from .._config import DTYPES

# Room for the words of the filter, which are fewer.
_MOST_WORDS = 256


def words_of(dataset: h5py.Dataset) -> Tuple[int, ...]:
    """The words of the filter of a dataset; empty where it is not the first one."""
    from ..hdf5 import FILTER_ID

    plist = dataset.id.get_create_plist()
    if not plist.get_nfilters() or plist.get_filter(0)[0] != FILTER_ID:
        return ()
    # Before 3.16 h5py has room for 16 words, and reads the others from the memory behind it.
    if h5py.version.version_tuple[:2] < (3, 16):
        return _words_from_hdf5(plist)
    return tuple(plist.get_filter(0)[2])


def _words_from_hdf5(plist: h5py.h5p.PropDCID) -> Tuple[int, ...]:
    """The words of the first filter, from the HDF5 library that h5py is linked to."""
    # The module of h5py is loaded already, and its symbols include those of its libraries.
    get_filter = getattr(ctypes.PyDLL(h5py.h5p.__file__), "H5Pget_filter2", None)
    if get_filter is None:
        raise ImportError(
            "h5py %s reads 16 words of a filter, and pack needs them all: install h5py 3.16 or later"
            % h5py.__version__
        )
    flags, count, words = ctypes.c_uint(), ctypes.c_size_t(_MOST_WORDS), (ctypes.c_uint * _MOST_WORDS)()
    plist_id, no_name = ctypes.c_int64(plist.id), ctypes.c_size_t(0)
    with h5py.h5p.phil:
        number = get_filter(plist_id, 0, ctypes.byref(flags), ctypes.byref(count), words, no_name, None, None)
    if number < 0:
        raise OSError(
            "HDF5 %s cannot read the words of the factz filter: install h5py 3.16 or later"
            % h5py.version.hdf5_version
        )
    return tuple(words[: count.value])


def component_of(dataset: h5py.Dataset) -> Optional[int]:
    """0 where the chunks of a dataset are streams of u, 1 where they are of v."""
    from ..hdf5 import LAYOUT_U, LAYOUT_WORD

    words = words_of(dataset)
    component = words[LAYOUT_WORD] - LAYOUT_U if len(words) > LAYOUT_WORD else -1
    return component if component in (0, 1) else None


def options_of(dataset: h5py.Dataset) -> Dict[str, Any]:
    """The options of the filter, as :func:`factz.hdf5.options` makes them, of a dataset that has it."""
    from ..hdf5 import FILTER_ID, GIVEN_WORDS

    return {"compression": FILTER_ID, "compression_opts": words_of(dataset)[:GIVEN_WORDS]}


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
