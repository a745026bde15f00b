"""Files in tests/golden/hdf5 that two versions of HDF5 wrote stay readable by both, bit for bit.

Each has the datasets of PLANES or of VOLUMES, and below expected/ the values that were read when it was made. With
FACTZ_BLESS=1 a file that is missing is made.
"""
import os
import sys

from common import ROOT, expect, field, h5py, interleaved, np, options, run, same, text_options

sys.path.insert(0, os.path.join(ROOT, "tests", "plugins", "python"))
from support import volume_of_integers, volume_violations  # noqa: E402

FOLDER = os.path.join(ROOT, "tests", "golden", "hdf5")
wind, ocean = field("wind_global")[:, 60:100, 200:233], field("ocean_coast")[:, :40, :33]
filled = np.where(np.abs(ocean).max(axis=0) == 0, np.float32(1e20), ocean)

# Values, chunks, options; the fill value of the dataset.
PLANES = {
    "planes": (wind, (2, 16, 16), "--abs 0.1", None),
    "field": (wind, (2, 40, 33), "--rel 0.01 --field 33x40 --mode speculative", None),
    "interleaved": (interleaved(np.pi * wind).astype(">f8"), (40, 12, 2), "--abs 0.1 --coder huffman", None),
    "time": (np.stack([wind, wind[:, ::-1]]), (1, 2, 40, 33), "--abs 0.05 --predictor lorenzo", None),
    "coast": (filled, (2, 32, 32), "--abs 0.02 --ties zeros", 1e20),
    "lossless": (ocean.astype("f8"), (2, 32, 32), "--abs 0", None),
}
volume = volume_of_integers((9, 10, 12)).astype("f4")
partly = np.where(np.arange(12) < 2, np.float32(1e20), volume)
SIZE = "--mode repair --field 12x10x9"
VOLUMES = {
    "volume": (volume, (3, 9, 10, 12), f"{SIZE} --abs 0.25", None),
    "parts": (volume.astype(">f8"), (3, 4, 5, 6), "--mode repair --abs 0.25 --coder huffman", None),
    "slabs": (volume, (3, 4, 10, 12), f"{SIZE} --abs 0.5", None),
    "time": (np.stack([volume, volume[:, ::-1]]), (1, 3, 9, 10, 12), f"{SIZE} --rel 0.01", None),
    "coast": (partly, (3, 9, 5, 6), f"{SIZE} --abs 0.25", 1e20),
    "lossless": (volume.astype("f8"), (3, 9, 10, 12), "--mode repair --abs 0", None),
}


def write_with_h5py(path, datasets):
    with h5py.File(path, "w") as file:
        for name, (values, chunks, line, fill) in datasets.items():
            file.create_dataset(name, data=values, chunks=chunks, fillvalue=fill, **options(line))


def write_with_h5repack(path, datasets):
    arguments = []
    with h5py.File("plain.h5", "w", libver=("earliest", "v110")) as file:
        for name, (values, chunks, line, fill) in datasets.items():
            file.create_dataset(name, data=values, fillvalue=fill)
            arguments += ["-l", f"{name}:CHUNK={'x'.join(map(str, chunks))}"]
            arguments += ["-f", f"{name}:{text_options(line, 'h5repack')}"]
    run("h5repack", *arguments, "plain.h5", path)


def add_expected(path, datasets):
    with h5py.File(path, "a") as file:
        for name in datasets:
            file.create_dataset(f"expected/{name}", data=file[name][...], compression="gzip", shuffle=True)


def check(path, datasets):
    with h5py.File(path) as file:
        expect(set(file) == {*datasets, "expected"}, f"{path} has {list(file)}")
        for name in datasets:
            values, expected = file[name][...], file["expected"][name][...]
            expect("411" in file[name]._filters, f"{name} of {path}: the filter")
            expect(values.dtype == datasets[name][0].dtype, f"{name} of {path}: the type")
            same(values, expected, f"{name} of {path}: values and expected ones")
            run("h5dump", "-d", name, "-b", "LE", "-o", "values", path)
            same(np.fromfile("values", values.dtype.newbyteorder("<")).reshape(values.shape), expected,
                 f"{name} of {path} by h5dump")


def check_kept(path):
    """What was expected when the file was made keeps the critical points of the original, in exact arithmetic."""
    with h5py.File(path) as file:
        for name, bound in (("volume", 0.25), ("parts", 0.25), ("slabs", 0.5)):
            after = file[name][...]
            expect(not np.array_equal(after, VOLUMES[name][0]), f"{name} of {path}: came back exactly")
            expect(volume_violations(VOLUMES[name][0], after, bound) == 0, f"{name} of {path}: violations")


os.makedirs(FOLDER, exist_ok=True)
for name, write, datasets in (
    ("h5py-2.0.h5", write_with_h5py, PLANES),
    ("h5repack-1.10.h5", write_with_h5repack, PLANES),
    ("volumes-h5py-2.0.h5", write_with_h5py, VOLUMES),
    ("volumes-h5repack-1.10.h5", write_with_h5repack, VOLUMES),
):
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        expect(os.environ.get("FACTZ_BLESS") == "1", f"{path} is missing: FACTZ_BLESS=1 makes it")
        write("new.h5", datasets)
        add_expected("new.h5", datasets)
        os.replace("new.h5", path)
    check(path, datasets)
    if datasets is VOLUMES:
        check_kept(path)
