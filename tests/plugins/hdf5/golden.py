"""Files in tests/golden/hdf5 that two versions of HDF5 wrote stay readable by both, bit for bit.

Each has the datasets of DATASETS, and below expected/ the values that were read when it was made. With
FACTZ_BLESS=1 a file that is missing is made.
"""
import os

from common import ROOT, expect, field, h5py, interleaved, np, options, run, same, text_options

FOLDER = os.path.join(ROOT, "tests", "golden", "hdf5")
wind, ocean = field("wind_global")[:, 60:100, 200:233], field("ocean_coast")[:, :40, :33]
filled = np.where(np.abs(ocean).max(axis=0) == 0, np.float32(1e20), ocean)

# Values, chunks, options; the fill value of the dataset.
DATASETS = {
    "planes": (wind, (2, 16, 16), "--abs 0.1", None),
    "field": (wind, (2, 40, 33), "--rel 0.01 --field 33x40 --mode speculative", None),
    "interleaved": (interleaved(np.pi * wind).astype(">f8"), (40, 12, 2), "--abs 0.1 --coder huffman", None),
    "time": (np.stack([wind, wind[:, ::-1]]), (1, 2, 40, 33), "--abs 0.05 --predictor lorenzo", None),
    "coast": (filled, (2, 32, 32), "--abs 0.02 --ties zeros", 1e20),
    "lossless": (ocean.astype("f8"), (2, 32, 32), "--abs 0", None),
}


def write_with_h5py(path):
    with h5py.File(path, "w") as file:
        for name, (values, chunks, line, fill) in DATASETS.items():
            file.create_dataset(name, data=values, chunks=chunks, fillvalue=fill, **options(line))


def write_with_h5repack(path):
    arguments = []
    with h5py.File("plain.h5", "w", libver=("earliest", "v110")) as file:
        for name, (values, chunks, line, fill) in DATASETS.items():
            file.create_dataset(name, data=values, fillvalue=fill)
            arguments += ["-l", f"{name}:CHUNK={'x'.join(map(str, chunks))}"]
            arguments += ["-f", f"{name}:{text_options(line, 'h5repack')}"]
    run("h5repack", *arguments, "plain.h5", path)


def add_expected(path):
    with h5py.File(path, "a") as file:
        for name in DATASETS:
            file.create_dataset(f"expected/{name}", data=file[name][...], compression="gzip", shuffle=True)


def check(path):
    with h5py.File(path) as file:
        expect(set(file) == {*DATASETS, "expected"}, f"{path} has {list(file)}")
        for name in DATASETS:
            values, expected = file[name][...], file["expected"][name][...]
            expect("411" in file[name]._filters, f"{name} of {path}: the filter")
            expect(values.dtype == DATASETS[name][0].dtype, f"{name} of {path}: the type")
            same(values, expected, f"{name} of {path}: values and expected ones")
            run("h5dump", "-d", name, "-b", "LE", "-o", "values", path)
            same(np.fromfile("values", values.dtype.newbyteorder("<")).reshape(values.shape), expected,
                 f"{name} of {path} by h5dump")


os.makedirs(FOLDER, exist_ok=True)
for name, write in (("h5py-2.0.h5", write_with_h5py), ("h5repack-1.10.h5", write_with_h5repack)):
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        expect(os.environ.get("FACTZ_BLESS") == "1", f"{path} is missing: FACTZ_BLESS=1 makes it")
        write("new.h5")
        add_expected("new.h5")
        os.replace("new.h5", path)
    check(path)
