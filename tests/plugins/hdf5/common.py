"""Shared by the tests of the HDF5 filter, which tests/promises/hdf5.rs starts in a folder of their own.

FACTZ is the program, FACTZ_SOURCE the repository, HDF5_PLUGIN_PATH the folder of the plugin. h5py brings its
own HDF5; h5dump, h5repack, h5diff and nccopy belong to another one.
"""
import ctypes
import json
import os
import subprocess
import sys

import h5py
import numpy as np

ROOT = os.environ["FACTZ_SOURCE"]


def run(*command, fails=False):
    """Standard output of a program that must succeed, or all it says where it must fail."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    text = (done.stdout + done.stderr).decode(errors="replace")
    if (done.returncode != 0) != fails or done.returncode < 0:
        sys.exit(f"{command} ended with {done.returncode}\n{text}")
    return text if fails else done.stdout.decode()


def options(line):
    """The keyword arguments of create_dataset."""
    made = json.loads(run(os.environ["FACTZ"], "h5args", *line.split()))
    # h5py takes a tuple only.
    return {"compression": made["compression"], "compression_opts": tuple(made["compression_opts"])}


def text_options(line, form):
    return run(os.environ["FACTZ"], "h5args", *line.split(), "--format", form).strip()


def field(name):
    """A field of data/, as an array (2, ny, nx)."""
    folder = os.path.join(ROOT, "data", name)
    meta = json.load(open(os.path.join(folder, "meta.json")))
    shape = (meta["ny"], meta["nx"])
    return np.stack([np.fromfile(os.path.join(folder, c), "<f4").reshape(shape) for c in ("u.f32", "v.f32")])


def words_of(dataset):
    """The words of the first filter, from HDF5 itself: h5py before 3.16 reads 16 of them."""
    get_filter = ctypes.PyDLL(h5py.h5p.__file__).H5Pget_filter2
    creation, room, words = dataset.id.get_create_plist(), ctypes.c_size_t(256), (ctypes.c_uint * 256)()
    flags, no_name = ctypes.c_uint(), ctypes.c_size_t(0)
    number = get_filter(
        ctypes.c_int64(creation.id), 0, ctypes.byref(flags), ctypes.byref(room), words, no_name, None, None
    )
    expect(number >= 0, "the words of %s" % dataset.name)
    return tuple(words[: room.value])


def interleaved(planes):
    return np.ascontiguousarray(np.moveaxis(planes, -3, -1))


def write(path, data, chunks, line, **more):
    with h5py.File(path, "w") as file:
        dataset = file.create_dataset("uv", data=data, chunks=chunks, **options(line), **more)
        return dataset.id.get_storage_size()


def read(path):
    with h5py.File(path) as file:
        return file["uv"][...]


def read_with_tools(path, like):
    """As h5dump reads it."""
    run("h5dump", "-d", "uv", "-b", "LE", "-o", "values", path)
    return np.fromfile("values", like.dtype.newbyteorder("<")).reshape(like.shape)


def same(a, b, what):
    little = [x.astype(x.dtype.newbyteorder("<")) for x in (a, b)]
    if little[0].shape != little[1].shape or little[0].tobytes() != little[1].tobytes():
        sys.exit(f"{what} differ")


def expect(condition, what):
    if not condition:
        sys.exit(what)


class Fields:
    """Fields before and after, compared by the command line and by an independent program, both exactly."""

    def __init__(self):
        self.cases = []

    def add(self, name, before, after, layout, bound, fill=None, ties="all"):
        """Adds every field of two datasets."""
        expect(before.shape == after.shape, f"{name}: shapes {before.shape} and {after.shape}")
        if layout == "interleaved":
            before, after = (np.moveaxis(x, -1, -3) for x in (before, after))
        for step in np.ndindex(before.shape[:-3]):
            self._add(f"{name}{list(step)}", before[step], after[step], bound, fill, ties)

    def _add(self, name, before, after, bound, fill, ties):
        dtype = f"f{8 * before.dtype.itemsize}"
        files = []
        for array in (*before, *after):
            files.append(os.path.abspath(f"case{len(self.cases)}-{len(files)}.{dtype}"))
            array.astype(array.dtype.newbyteorder("<")).tofile(files[-1])
        _, ny, nx = before.shape
        case = {"nx": nx, "ny": ny, "dtype": dtype, "files": files, "bound": bound, "ties": ties}
        case["name"] = name
        if fill is not None:
            case["fill"] = fill
        self.cases.append(case)

    def violations(self):
        """The sum of all counts of either program, by case."""
        with open("cases.json", "w") as file:
            json.dump(self.cases, file)
        checker = os.path.join(ROOT, "tests", "exact_verify.py")
        done = subprocess.run([sys.executable, "-B", checker, "cases.json"], stdout=subprocess.PIPE)
        found = []
        for case, counts in zip(self.cases, json.loads(done.stdout), strict=True):
            keys = ("violations", "changed_zero_vertices", "answer_changed")
            found.append((case, sum(counts.get(k, 0) for k in keys), self._verify(case)))
        return found

    def _verify(self, case):
        line = ["--dims", f"{case['nx']}x{case['ny']}", "--dtype", case["dtype"], "--abs", case["bound"]]
        line += ["--ties", case["ties"]] + (["--fill-value", case["fill"]] if "fill" in case else [])
        line += ["--json", "--backend", "cpu"]
        command = [os.environ["FACTZ"], "verify", *case["files"], *map(str, line)]
        done = subprocess.run(command, stdout=subprocess.PIPE)
        return json.loads(done.stdout)["violations"]

    def check(self):
        """Nothing may be violated."""
        for case, exact, library in self.violations():
            expect(exact == 0 and library == 0, f"{case['name']}: {exact} and {library} violations")
