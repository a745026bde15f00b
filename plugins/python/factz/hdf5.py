"""The HDF5 filter for h5py: ``import factz.hdf5`` makes h5py find it.

    import factz.hdf5, h5py

    with h5py.File("wind.h5", "w") as file:
        file.create_dataset("wind", data=uv, chunks=(1, 2, ny, nx), **factz.hdf5.options(abs=0.01,
        field=(ny, nx)))

A dataset has the shape (..., 2, ny, nx) or (..., ny, nx, 2), of float32 or float64, and a chunk holds both
components of one field or of a part of one. Reading needs the import only, or the environment variable
HDF5_PLUGIN_PATH set to :data:`PLUGIN_FOLDER` for other programs.

The import fails with ImportError where the filter or h5py is missing.
"""

import ctypes
import os
from pathlib import Path
from typing import Any, Dict, Iterator, Optional, Tuple

import h5py

from . import _abi
from ._config import Sides, configured, shape_of
from ._library import HERE, check, library

_PLUGIN = "libh5zfactz.so"

# WORDS_VERSION of plugins/hdf5/chunk.h: the version of the words behind those of the configuration, which say
# how large the field of a chunk is.
_FIELD_VERSION = 1


def _folders() -> Iterator[Path]:
    """Where the plugin may be: in the package, in an installation by CMake, and where HDF5 looks itself."""
    yield HERE / "lib"
    yield HERE.parents[2] / "hdf5" / "plugin"
    for folder in os.environ.get("HDF5_PLUGIN_PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder)


def _find() -> Path:
    for folder in _folders():
        if (folder / _PLUGIN).is_file():
            return folder
    raise ImportError(
        "the HDF5 filter %s is in none of %s: install the wheel of factz, which contains it, or set "
        "HDF5_PLUGIN_PATH to lib/hdf5/plugin of an installation"
        % (_PLUGIN, ", ".join(map(str, _folders())))
    )


class _FilterClass(ctypes.Structure):
    """The beginning of H5Z_class2_t."""

    _fields_ = [("version", ctypes.c_int), ("id", ctypes.c_int)]


def _filter_id(folder: Path) -> int:
    """The number that the plugin was built with."""
    plugin = ctypes.CDLL(str(folder / _PLUGIN))
    plugin.H5PLget_plugin_info.restype = ctypes.POINTER(_FilterClass)
    return plugin.H5PLget_plugin_info().contents.id


#: The folder of the plugin, for HDF5_PLUGIN_PATH.
PLUGIN_FOLDER: str = str(_find())

#: The number of the filter in HDF5 files.
FILTER_ID: int = _filter_id(Path(PLUGIN_FOLDER))

h5py.h5pl.prepend(os.fsencode(PLUGIN_FOLDER))


def options(
    *,
    abs: Optional[float] = None,
    rel: Optional[float] = None,
    mode: str = "block",
    coder: str = "ans",
    predictor: str = "hierarchical",
    preserve: str = "types",
    ties: str = "all",
    dx: float = 1.0,
    dy: float = 1.0,
    pin: Sides = None,
    fill: Optional[float] = None,
    field: Optional[Tuple[int, int]] = None,
) -> Dict[str, Any]:
    """The arguments ``compression`` and ``compression_opts`` of h5py's ``create_dataset``.

    Args:
        abs, rel, mode, coder, predictor, preserve, ties, dx, dy, pin, fill: as in :func:`factz.compress`.
        field: (ny, nx) of the whole field. A side of a chunk that is as long as the field has no neighbour,
            and its border need not be exact. By default every border of a chunk is stored exactly, so that
            the critical points between chunks are kept. ``rel`` needs it, and chunks of this size.

    Raises:
        ValueError, FactzError: no configuration has these values. The filter itself refuses datasets when
            they are created: h5py raises ValueError with the reason.
    """
    config = configured(abs, rel, mode, coder, predictor, preserve, ties, dx, dy, pin, None, fill)
    words = (ctypes.c_uint32 * _abi.CONFIG_WORDS)()
    check(library.config_to_words(config, words, len(words)))
    size: Tuple[int, ...] = ()
    if field is not None:
        ny, nx = shape_of("field", field, 2**32 - 1)
        size = (_FIELD_VERSION, nx, ny)
    return {"compression": FILTER_ID, "compression_opts": tuple(words) + size}
