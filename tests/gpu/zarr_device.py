#!/usr/bin/env python3
"""The codecs of Zarr on a GPU: chunks are arrays of CuPy, and have the bytes and values of the host.

    PYTHONPATH=FOLDER python3 tests/gpu/zarr_device.py [NAME ...]

FOLDER has the package with its library (`pip install --no-deps --target FOLDER WHEEL`), whose kernels fit the
GPU. NAME picks the tests whose names contain it. CuPy and zarr-python 3 must be there. Exit status 0 when
everything holds.
"""

import os
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import cupy
import numpy as np
import zarr

import factz
import factz.zarr

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "plugins" / "python"))
from support import field, waves_in_space  # noqa: E402

NX, NY, STEPS = 301, 203, 4
LAYOUTS = {
    "fields": {"chunks": (1, 2, NY, NX)},
    "steps": {"chunks": (3, 2, NY, NX)},
    "parts": {"chunks": (2, 2, 64, 100)},
    "shards": {"chunks": (1, 2, 64, NX), "shards": (2, 2, 256, NX)},
}


def stack(dtype):
    return np.stack([np.roll(field(NX, NY, dtype), 9 * k, -1) for k in range(STEPS)])


def create(path, values, layout):
    codec = factz.zarr.Pair(abs=0.02, field=(NY, NX))
    like = {"shape": values.shape, "dtype": values.dtype, "compressors": None}
    return zarr.create_array(path, serializer=codec, **like, **layout)


def content(path):
    """The chunks of a store, by name."""
    files = (file for file in Path(path, "c").rglob("*") if file.is_file())
    return {file.relative_to(path): file.read_bytes() for file in files}


def same(found, expected):
    assert isinstance(found, cupy.ndarray), type(found)
    found = cupy.asnumpy(found)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tobytes() == expected.tobytes(), "other values than on the host"


def bytes_of_the_host():
    for dtype in ("f4", "f8"):
        values = stack(dtype)
        for name, layout in LAYOUTS.items():
            host, device = "%s-%s-host" % (name, dtype), "%s-%s-device" % (name, dtype)
            create(host, values, layout)[...] = values
            with zarr.config.enable_gpu():
                create(device, values, layout)[...] = cupy.asarray(values)
            assert content(host) == content(device) and content(host), name
            expected = zarr.open_array(host)[...]
            finite = np.isfinite(values)
            assert np.abs(expected[finite] - values[finite]).max() <= 0.02
            with zarr.config.enable_gpu():
                same(zarr.open_array(host)[...], expected)


def parts_of_chunks():
    values = stack("f4")
    for name, layout in LAYOUTS.items():
        create(name, values, layout)[...] = values
        expected = zarr.open_array(name)[...]
        with zarr.config.enable_gpu():
            array = zarr.open_array(name)
            for part in (np.s_[1], np.s_[2, :, 40:70, 90:120], np.s_[:, 0, 7, ::50], np.s_[0, 1, 5, 6]):
                same(array[part], np.asarray(expected[part]))


def volumes():
    """Whole chunks and parts of them, of volumes."""
    shape = (18, 21, 26)
    for dtype in ("f4", "f8"):
        values = np.stack([waves_in_space(shape, step) for step in range(2)]).astype(dtype)
        for chunks in ((1, 3, *shape), (1, 3, 7, 12, 26)):
            codec = factz.zarr.Pair(abs=0.05, mode="repair", field=shape)
            like = {"shape": values.shape, "dtype": values.dtype, "chunks": chunks, "compressors": None}
            host, device = ("volumes-%s-%d-%s" % (dtype, chunks[2], name) for name in ("host", "device"))
            zarr.create_array(host, serializer=codec, **like)[...] = values
            with zarr.config.enable_gpu():
                zarr.create_array(device, serializer=codec, **like)[...] = cupy.asarray(values)
            assert content(host) == content(device) and content(host), chunks
            expected = zarr.open_array(host)[...]
            assert np.abs(expected - values).max() <= 0.05
            with zarr.config.enable_gpu():
                array = zarr.open_array(host)
                same(array[...], expected)
                for part in (np.s_[1], np.s_[0, :, 3:9, 5, ::2], np.s_[1, 2, 4, 5, 6]):
                    same(array[part], np.asarray(expected[part]))


def components():
    """Arrays of u and of v. Their chunks, whole or in part, are decompressed on the host."""
    u, v = np.ascontiguousarray(stack("f4").swapaxes(0, 1))
    for name, half in zip("uv", factz.compress(u, v, abs=0.02, separate=True)):
        like = {"shape": u.shape, "dtype": u.dtype, "chunks": u.shape, "compressors": None}
        zarr.create_array(name, serializer=factz.zarr.Component(name), **like)
        Path(name, "c/0/0").mkdir(parents=True)
        Path(name, "c/0/0/0").write_bytes(half)
        expected = factz.decompress(half)
        with zarr.config.enable_gpu():
            array = zarr.open_array(name)
            for part in (np.s_[...], np.s_[1], np.s_[2, 40:70, 90:120], np.s_[:, 7, ::50], np.s_[0, 5, 6]):
                same(array[part], np.asarray(expected[part]))
            array[...] = cupy.asarray(u)
            same(array[...], u)


def changed_chunks():
    """zarr reads a chunk on the device, changes it and writes it again."""
    values = stack("f4")
    with zarr.config.enable_gpu():
        array = create("a", values, LAYOUTS["steps"])
        array[...] = cupy.asarray(values)
        array[1] = cupy.asarray(values[0])
        found = cupy.asnumpy(array[...])
    assert factz.compare(*values[0], *found[1], abs=0.02).violations == 0


def damaged_chunks():
    values = stack("f4")
    create("a", values, LAYOUTS["steps"])[...] = values
    for name, data in content("a").items():
        damaged = bytearray(data)
        damaged[len(data) // 2] ^= 255
        for changed in (bytes(damaged), data[:-4], data[:100], data + b"\0" * 4):
            Path("a", name).write_bytes(changed)
            with zarr.config.enable_gpu():
                try:
                    zarr.open_array("a")[...]
                except factz.CorruptStreamError:
                    continue
            raise AssertionError("damage was accepted")


def main():
    # zarr itself copies the index of a shard to the host.
    warnings.filterwarnings("ignore", message=".*slow copy")
    passed, failed = 0, 0
    for function in (bytes_of_the_host, parts_of_chunks, volumes, components, changed_chunks, damaged_chunks):
        if sys.argv[1:] and not any(name in function.__name__ for name in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                function()
            except Exception:
                traceback.print_exc()
                print("FAILED", function.__name__, flush=True)
                failed += 1
            else:
                print("ok", function.__name__, flush=True)
                passed += 1
            os.chdir("/")
    print("factz %s, zarr %s, cupy %s" % (factz.__version__, zarr.__version__, cupy.__version__))
    print("%d passed, %d failed" % (passed, failed))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
