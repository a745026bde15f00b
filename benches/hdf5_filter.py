#!/usr/bin/env python3
"""The HDF5 filter: ratio by size of chunk, and the time that the filter adds to the calls of the library.

    benches/hdf5_filter.py PREFIX [--field NAME=FOLDER]... [--bounds 1e-2] [--chunks 64,256,1024] [--write]

PREFIX is an installation by CMake with the components hdf5 and python; `make hdf5-bench` makes one. A FOLDER holds
u.f32, v.f32 (little-endian, x fastest) and meta.json with nx and ny. A bound is a fraction of the joint range of u
and v, and passed on as an absolute one.

h5py writes each field as a dataset (2, ny, nx), in chunks and in one chunk. `ratio` is the field's bytes over those
that HDF5 stores. The filter's function is then called on the first chunk as HDF5 calls it, and the library on the
same values: both with output in new memory of malloc, as HDF5 wants it, and the library without swapping bytes. An
overhead is the median of the quotients of such pairs of calls, less one, compressing / decompressing. The machine
must be quiet.

The result is Markdown on standard output; --write puts it into docs/benchmarks.md.
"""

import argparse
import ctypes
import json
import os
import statistics
import sys
import tempfile
import time
from ctypes import c_size_t, c_uint, c_void_p
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
OWN_FIELDS = ("wind_global", "dt256")
REPEATS = 21
REVERSE = 0x100  # H5Z_FLAG_REVERSE
BYTE_ORDERS = ("<f4", ">f4") if sys.byteorder == "little" else (">f4", "<f4")

C = ctypes.CDLL(None)
C.malloc.restype, C.malloc.argtypes = c_void_p, [c_size_t]
C.free.argtypes = [c_void_p]


def timed(function, *arguments):
    begin = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - begin, result


class FilterClass(ctypes.Structure):
    """H5Z_class2_t."""

    _fields_ = [("version", ctypes.c_int), ("id", ctypes.c_int), ("encoder", c_uint), ("decoder", c_uint),
                ("name", ctypes.c_char_p), ("can_apply", c_void_p), ("set_local", c_void_p),
                ("filter", ctypes.CFUNCTYPE(c_size_t, c_uint, c_size_t, ctypes.POINTER(c_uint), c_size_t,
                                            ctypes.POINTER(c_size_t), ctypes.POINTER(c_void_p)))]


class Filter:
    """The filter's function on the chunks of a dataset."""

    def __init__(self, plugin, words):
        self.plugin = ctypes.CDLL(plugin)
        self.plugin.H5PLget_plugin_info.restype = ctypes.POINTER(FilterClass)
        self.function = self.plugin.H5PLget_plugin_info().contents.filter
        self.words = (c_uint * len(words))(*words)

    def seconds(self, flags, data):
        buffer, size = c_void_p(C.malloc(len(data))), c_size_t(len(data))
        ctypes.memmove(buffer, data, len(data))
        seconds, length = timed(self.function, flags, len(self.words), self.words, len(data), size, buffer)
        C.free(buffer)
        if not length:
            sys.exit("the filter refused a chunk")
        return seconds


class Library:
    """The calls of the library that the filter makes for the chunk `uv`, from and to native values."""

    def __init__(self, uv, bound, pin):
        self.abi, self.library = factz._abi, factz._library
        self.config = factz._config.configured(abs=bound, pin=pin)
        self.config.ny, self.config.nx = uv.shape[1:]
        self.values, self.bytes, self.n = uv.ctypes.data, uv.nbytes, uv[0].size
        self.report, sizes = self.abi.Report(), self.abi.Sizes()
        self.library.check(self.library.library.compress_sizes(self.config, sizes))
        self.capacity = sizes.max_stream_bytes

    def compress(self):
        stream = C.malloc(self.capacity)
        seconds, status = timed(self.library.library.compress_host, self.values, self.values + self.bytes // 2, self.n,
                                self.config, stream, self.capacity, self.report, 1)
        self.library.check(status)
        C.free(stream)
        return seconds

    def decompress(self, stream):
        values = C.malloc(self.bytes)
        seconds, status = timed(self.library.library.decompress_host, stream, len(stream), self.config, values,
                                values + self.bytes // 2, self.n, self.report, 1)
        self.library.check(status)
        C.free(values)
        return seconds


def load(folder):
    meta = json.loads((Path(folder) / "meta.json").read_text())
    planes = [np.fromfile(Path(folder) / f"{c}.f32", "<f4").reshape(meta["ny"], meta["nx"]) for c in "uv"]
    return np.stack(planes)


def stored(path, field, side, dtype, bound):
    """Writes a dataset; its first chunk, the words of the filter, the chunk's stream, and the bytes stored."""
    shape = field.shape[1:]
    chunk = tuple(min(side, length) for length in shape)
    options = factz.hdf5.options(abs=bound, field=shape if chunk == shape else None)
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("uv", data=field.astype(dtype), chunks=(2, *chunk), **options)
        dataset.flush()
        words = factz.pack.words.words_of(dataset)
        stream = dataset.id.read_direct_chunk((0, 0, 0))[1]
        return np.ascontiguousarray(field[:, : chunk[0], : chunk[1]]), words, stream, dataset.id.get_storage_size()


def overhead(filter, library, values, stream):
    chunk = values.tobytes()
    compressing = quotients(lambda: filter.seconds(0, chunk), library.compress)
    decompressing = quotients(lambda: filter.seconds(REVERSE, stream), lambda: library.decompress(stream))
    return " / ".join(f"{100 * (statistics.median(ratios) - 1):+.1f} %" for ratios in (compressing, decompressing))


def quotients(first, second):
    """Of seconds, in either order by turns: memory that a call has freed is there for the next one."""
    for k in range(REPEATS):
        if k % 2:
            b = second()
            a = first()
        else:
            a = first()
            b = second()
        yield a / b


def measure(name, folder, fraction, sides):
    """Rows of the table: one for each size of chunk that the field has, and one for a single chunk."""
    field = load(folder)
    bound = float(fraction) * float(field.max() - field.min())
    plugin = os.path.join(factz.hdf5.PLUGIN_FOLDER, "libh5zfactz.so")
    longest = max(field.shape)
    for side in [side for side in sides if side < longest] + [longest]:
        row = [name, fraction, "the field" if side == longest else f"{side} x {side}"]
        with tempfile.TemporaryDirectory() as scratch:
            for dtype in BYTE_ORDERS:
                values, words, stream, size = stored(Path(scratch, "uv.h5"), field, side, dtype, bound)
                if dtype == BYTE_ORDERS[0]:
                    row.append(f"{field.nbytes / size:.1f}")
                pin = "none" if side == longest else "all"
                row.append(overhead(Filter(plugin, words), Library(values, bound, pin), values.astype(dtype), stream))
        print(*row, sep=" | ", file=sys.stderr)
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", type=Path)
    parser.add_argument("--field", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--bounds", default="1e-2")
    parser.add_argument("--chunks", default="64,256,1024")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    arguments = parser.parse_args()

    # One chunk is compressed and decompressed in turn: a plain write does not know it from before.
    os.environ["FACTZ_HDF5_AGAIN"] = "lossy"
    global factz, h5py, np
    sys.path.insert(0, str(arguments.prefix / "lib" / "python3" / "site-packages"))
    try:
        import factz.hdf5
        import factz.pack.words
        import h5py
        import numpy as np
    except ImportError as error:
        sys.exit(f"hdf5_filter.py needs numpy, h5py and factz in {arguments.prefix} ({error})")

    fields = [(name, ROOT / "data" / name) for name in OWN_FIELDS]
    fields += [entry.split("=", 1) for entry in arguments.field]
    sides = [int(side) for side in arguments.chunks.split(",")]
    rows = [row for name, folder in fields for fraction in arguments.bounds.split(",")
            for row in measure(name, folder, fraction, sides)]
    head = ["field", "bound", "chunks", "ratio", "overhead, native", "other byte order"]
    origin = f"factz {factz.__version__}, h5py {h5py.__version__}, {time.strftime('%Y-%m-%d')}, one thread"
    lines = [head, ["---"] * 3 + ["---:"] * 3, *rows]
    table = f"{origin}.\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    begin, end = "<!-- chunks: written by benches/hdf5_filter.py -->\n", "<!-- chunks: end -->"
    print(begin + table + end)
    if arguments.write:
        before, rest = PAGE.read_text().split(begin)
        PAGE.write_text(before + begin + table + end + rest.split(end, 1)[1])


if __name__ == "__main__":
    main()
