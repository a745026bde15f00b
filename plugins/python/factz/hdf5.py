"""The HDF5 filter for h5py: ``import factz.hdf5`` makes h5py find it.

    import factz.hdf5, h5py

    with h5py.File("wind.h5", "w") as file:
        file.create_dataset("wind", data=uv, chunks=(1, 2, ny, nx), **factz.hdf5.options(abs=0.01,
        field=(ny, nx)))

Write whole chunks: HDF5 compresses a chunk that is written in parts again for each part, unless its chunk
cache holds it (:func:`file_options`). Chunks with values that the filter knows as decompressed ones, and the
originals of which it does not have, are stored exactly and take more space; :func:`stored` counts them.

A dataset has the shape (..., 2, ny, nx) or (..., ny, nx, 2), of float32 or float64, and a chunk holds both
components of one field or of a part of one, or of several along the leading axes, which are compressed
together. With mode="repair" it has the shape (..., 3, nz, ny, nx), and a chunk holds a volume or a part of one.
Reading needs the import only, or the environment variable
HDF5_PLUGIN_PATH set to :data:`PLUGIN_FOLDER` for other programs. The netCDF4 package brings an HDF5 of its
own, which the import does not reach: ``python -m factz.hdf5 --path`` prints what HDF5_PLUGIN_PATH must be
before Python starts.

The import fails with ImportError where the filter or h5py is missing.
"""

import argparse
import ctypes
import importlib.util
import math
import os
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Tuple

from . import _abi
from ._compression import inspect
from ._config import Sides, configured, configured_volume, count_of, lengths_of, shape_of
from ._library import HERE, check, library

_PLUGIN = "libh5zfactz.so"

# WORDS_VERSION and ALLOW_WIDE_RANGE of plugins/hdf5/chunk.h: the version of the words behind those of the
# configuration, which say how large the field of a chunk is, and what may be added to it.
_FIELD_VERSION = 1
_ALLOW_WIDE_RANGE = 131072
#: LAYOUT_U of the same file: chunks of u alone. The next number stands for those of v.
LAYOUT_U = 2
#: The number of words that a user gives at most, and the place of the layout behind them.
GIVEN_WORDS = _abi.CONFIG_WORDS + 3
LAYOUT_WORD = GIVEN_WORDS + 1


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
    try:
        plugin = ctypes.CDLL(str(folder / _PLUGIN))
    except OSError as error:
        raise ImportError(
            "the HDF5 filter %s cannot be loaded (%s): install it anew, from this version of factz"
            % (folder / _PLUGIN, error)
        ) from None
    plugin.H5PLget_plugin_info.restype = ctypes.POINTER(_FilterClass)
    return plugin.H5PLget_plugin_info().contents.id


try:
    #: The folder of the plugin, for HDF5_PLUGIN_PATH.
    PLUGIN_FOLDER: str = str(_find())

    #: The number of the filter in HDF5 files.
    FILTER_ID: int = _filter_id(Path(PLUGIN_FOLDER))
except ImportError as error:
    if __name__ != "__main__":
        raise
    sys.exit("factz.hdf5: error: %s" % error)


def plugin_path() -> str:
    """The value of HDF5_PLUGIN_PATH for programs that do not import this module, such as those with netCDF4.

    The folder of the filter comes first, then the folders that HDF5_PLUGIN_PATH has now. Without any, HDF5
    and netCDF4 have folders of their own, which the variable replaces: those of netCDF4's wheel follow.
    """
    folders = [PLUGIN_FOLDER]
    if os.environ.get("HDF5_PLUGIN_PATH"):
        folders += os.environ["HDF5_PLUGIN_PATH"].split(os.pathsep)
    else:
        folders += _folders_of_netcdf4()
    return os.pathsep.join(dict.fromkeys(filter(None, folders)))


def _folders_of_netcdf4() -> List[str]:
    """Where the wheel of netCDF4 has filters; it must not be imported, which would set the variable."""
    found = importlib.util.find_spec("netCDF4")
    places = found.submodule_search_locations if found else None
    return [str(Path(place) / "plugins") for place in places or () if (Path(place) / "plugins").is_dir()]


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
    dz: float = 1.0,
    pin: Sides = None,
    fill: Optional[float] = None,
    periodic: Optional[str] = None,
    field: Optional[Tuple[int, ...]] = None,
    allow_wide_range: bool = False,
) -> Dict[str, Any]:
    """The arguments ``compression`` and ``compression_opts`` of h5py's ``create_dataset``.

    Args:
        abs, rel, coder, predictor, preserve, ties, dx, dy, pin, fill: as in :func:`factz.compress`.
        mode: as there, or "repair" for volumes, with options as in :func:`factz.compress_volume`.
        dz: as there, of volumes alone.
        periodic: as in :func:`factz.compress`. It needs ``field``, and chunks that are as long as the field
            along the axis or divide it; the exact borders of the latter keep the points across the seam.
        field: (ny, nx) of the whole field, or (nz, ny, nx) of a volume. A side of a chunk that is as long as the field has no neighbour,
            and its border need not be exact. By default every border of a chunk is stored exactly, so that
            the critical points between chunks are kept. ``rel`` needs it, and chunks of this size.
        allow_wide_range: let ``rel`` count even where outliers make the range, such as a fill value that
            nobody named. By default such a chunk is stored exactly.

    Raises:
        ValueError, FactzError: no configuration has these values. The filter itself refuses datasets when
            they are created: h5py raises ValueError with the reason.
    """
    volume, choices = mode == "repair", (abs, rel, mode, coder, predictor, preserve, ties, dx, dy)
    if volume:
        config = configured_volume(*choices, dz, pin, fill, periodic)
    elif dz != 1.0:
        raise ValueError("dz=%r is for mode=\"repair\", that of volumes" % (dz,))
    else:
        config = configured(*choices, pin, None, fill, periodic)
    if allow_wide_range and rel is None:
        raise ValueError("allow_wide_range=%r is for rel= only" % (allow_wide_range,))
    words = (ctypes.c_uint32 * _abi.CONFIG_WORDS)()
    check(library.config_to_words(config, words, len(words)))
    size: Tuple[int, ...] = ()
    if field is not None or allow_wide_range:
        axes = ("nz", "ny", "nx") if volume else ("ny", "nx")
        lengths = (0,) * len(axes) if field is None else lengths_of("field", field, axes, 2**32 - 1)
        size = (_FIELD_VERSION + (_ALLOW_WIDE_RANGE if allow_wide_range else 0), *reversed(lengths))
    return {"compression": FILTER_ID, "compression_opts": tuple(words) + size}


def component_options(data: Any, *, field: Optional[Tuple[int, int]] = None) -> Dict[str, Any]:
    """The arguments ``compression`` and ``compression_opts`` of a dataset (..., ny, nx) of u or of v, whose
    chunks are data of :func:`factz.split`, stored by ``dataset.id.write_direct_chunk``.

    What is written to such a dataset in another way is stored exactly.

    Args:
        data: one of its chunks: options, type and shape are those of all.
        field: (ny, nx) of the whole field, if it is known.

    Raises:
        ValueError: the data hold both components.
        CorruptStreamError, UnsupportedVersionError: as :func:`factz.inspect`.
    """
    info, config = _abi.Info(), _abi.Config()
    start = bytes(memoryview(data)[: _abi.INSPECT_BYTES])
    check(library.inspect_host(start, len(start), info))
    if info.component == _abi.COMPONENT_BOTH:
        raise ValueError("data holds both components: give one of factz.split(data)")
    check(library.config_from_info(info, config))
    words = (ctypes.c_uint32 * _abi.CONFIG_WORDS)()
    check(library.config_to_words(config, words, len(words)))
    ny, nx = (0, 0) if field is None else shape_of("field", field, 2**32 - 1)
    given, component = (*words, _FIELD_VERSION, nx, ny), info.component - _abi.COMPONENT_U
    chunk = component_words(component, info.dtype, (info.nz, info.ny, info.nx))
    return {"compression": FILTER_ID, "compression_opts": given + chunk}


def component_words(
    component: int, dtype: int, shape: Tuple[int, int, int], big_endian: bool = False
) -> Tuple[int, ...]:
    """The words behind those of a user that describe chunks of u (component 0) or of v.

    Args:
        dtype: the number of the type.
        shape: (nz, ny, nx) of a chunk.
        big_endian: the order of the bytes in the file.
    """
    nz, ny, nx = shape
    # A stream has its fill value itself.
    fill = (0, 0, 0)
    return (dtype, LAYOUT_U + component, nx, ny, int(big_endian), *fill, nz)


def file_options(chunks: Tuple[int, ...], itemsize: int = 4, count: int = 1) -> Dict[str, int]:
    """The argument of ``h5py.File`` with which the chunk cache holds chunks that are written in parts; none if it
    does without.

        h5py.File("wind.h5", "w", **factz.hdf5.file_options((1, 2, ny, nx)))

    Args:
        chunks: the shape of a chunk.
        itemsize: the bytes of a value, 4 for float32 and 8 for float64.
        count: how many chunks of a dataset are written at the same time.
    """
    sizes = [count_of("chunks[%d]" % k, n, 1, 2**32 - 1) for k, n in enumerate(chunks)]
    bytes_of_all = math.prod(sizes) * count_of("itemsize", itemsize, 1) * count_of("count", count, 1)
    default_bytes = h5py.h5p.create(h5py.h5p.FILE_ACCESS).get_cache()[2]
    return {} if bytes_of_all <= default_bytes else {"rdcc_nbytes": bytes_of_all}


def stored(dataset: Any) -> Dict[str, int]:
    """How many chunks of a dataset of h5py are stored in which way, from the headers of the chunks.

    Returns:
        ``compressed``: within the bound of the dataset. ``exact``: without loss, because the bound is 0, one
        component has a single value, or outliers make the range of a relative bound. ``again``: without
        loss, because values in it had been decompressed before. ``plain``: by HDF5, without the filter.

    Raises:
        ValueError: another filter than fletcher32 follows factz, so that the headers cannot be read, or factz
            is not the first one.
    """
    creation = dataset.id.get_create_plist()
    filters = [creation.get_filter(k)[0] for k in range(creation.get_nfilters())]
    if filters[:1] != [FILTER_ID] or set(filters[1:]) - {h5py.h5z.FILTER_FLETCHER32}:
        raise ValueError(
            "%s has the filters %s: factz, which is %d, must be the only one, but for fletcher32"
            % (dataset.name, filters, FILTER_ID)
        )
    counts = dict.fromkeys(("compressed", "exact", "again", "plain"), 0)
    for k in range(dataset.id.get_num_chunks()):
        chunk = dataset.id.get_chunk_info(k)
        counts["plain" if chunk.filter_mask & 1 else _kind(dataset, chunk.chunk_offset)] += 1
    return counts


def _kind(dataset: Any, offset: Tuple[int, ...]) -> str:
    info = inspect(dataset.id.read_direct_chunk(offset)[1])
    if info.abs or info.rel:
        return "compressed"
    # A relative bound of 0 is the filter's mark.
    return "exact" if info.rel is None else "again"


def _main() -> None:
    parser = argparse.ArgumentParser(prog="python -m factz.hdf5", description=plugin_path.__doc__)
    parser.add_argument("--path", action="store_true", required=True, help="print the value")
    parser.parse_args()
    print(plugin_path())


if __name__ == "__main__":
    _main()
else:
    import h5py

    h5py.h5pl.prepend(os.fsencode(PLUGIN_FOLDER))
    # HDF5 loads a filter when it reads or creates a dataset, and not to write into one that is there: it
    # would store new chunks without it.
    if not h5py.h5z.filter_avail(FILTER_ID):
        raise ImportError("HDF5 cannot load the filter %s" % (Path(PLUGIN_FOLDER) / _PLUGIN))
