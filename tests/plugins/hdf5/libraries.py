"""Two HDF5 libraries in one process, each of which calls the plugin: it asks the one that called.

h5py brings one, Debian's is the other. Exit status 77: there is no library of Debian.
"""
import ctypes
import sys

try:
    other = ctypes.CDLL("libhdf5_serial.so.103")
except OSError:
    sys.exit(77)

from common import expect, field, h5py, options, read, read_with_tools, same, write  # noqa: E402

MESSAGE = "filter 2 (shuffle) comes before factz"
ID = ctypes.c_int64
wind = field("wind_global")
arguments = options("--abs 0.1")
words = arguments["compression_opts"]


def call(name, *values, result=ID):
    function = getattr(other, name)
    function.restype = result
    return function(*values)


def identifier(name):
    return ID.in_dll(other, name)


def create_with_other(path, shuffle):
    """The dataset's identifier, negative if it is refused."""
    file = call("H5Fcreate", path, 2, ID(0), ID(0))
    creation = call("H5Pcreate", identifier("H5P_CLS_DATASET_CREATE_ID_g"))
    sizes, chunk = (ctypes.c_uint64 * 3)(*wind.shape), (ctypes.c_uint64 * 3)(2, 64, 64)
    call("H5Pset_chunk", ID(creation), 3, chunk, result=ctypes.c_int)
    if shuffle:
        call("H5Pset_shuffle", ID(creation), result=ctypes.c_int)
    values = (ctypes.c_uint * len(words))(*words)
    call("H5Pset_filter", ID(creation), 411, 0, ctypes.c_size_t(len(words)), values, result=ctypes.c_int)
    space = call("H5Screate_simple", 3, sizes, None)
    float_type = identifier("H5T_IEEE_F32LE_g")
    dataset = call("H5Dcreate2", ID(file), b"uv", float_type, ID(space), ID(0), ID(creation), ID(0))
    if dataset >= 0:
        data = wind.ctypes.data_as(ctypes.c_void_p)
        done = call("H5Dwrite", ID(dataset), float_type, ID(0), ID(0), ID(0), data, result=ctypes.c_int)
        expect(done >= 0, "H5Dwrite of the other library")
        call("H5Dclose", ID(dataset), result=ctypes.c_int)
    call("H5Fclose", ID(file), result=ctypes.c_int)
    return dataset


call("H5open", result=ctypes.c_int)
versions = [ctypes.c_uint() for _ in range(3)]
call("H5get_libversion", *map(ctypes.byref, versions), result=ctypes.c_int)
expect(tuple(v.value for v in versions) != h5py.version.hdf5_version_tuple, "there are two versions")
# Alternately: what one asked must not stay with the plugin.
for turn in range(2):
    expect(create_with_other(b"other.h5", shuffle=False) >= 0, "the other library creates a dataset")
    write("h5py.h5", wind, (2, 64, 64), "--abs 0.1")
    same(read("h5py.h5"), read("other.h5"), "files of two libraries in one process")
    same(read("other.h5"), read_with_tools("other.h5", wind), "h5py and h5dump")
    try:
        write("refused.h5", wind, (2, 64, 64), "--abs 0.1", shuffle=True)
        expect(False, "h5py with shuffle is accepted")
    except ValueError as error:
        expect(MESSAGE in str(error), str(error))
    expect(create_with_other(b"refused.h5", shuffle=True) < 0, "the other library with shuffle is refused")
