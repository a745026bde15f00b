"""Fields, and the independent checker, for the tests of the Python package."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]


def field(nx, ny, dtype="f4"):
    """Vortices and saddles, disturbed by waves, with two zero vertices, a NaN and an infinity."""
    y, x = np.mgrid[0:ny, 0:nx].astype(np.float64)
    u = np.sin(0.31 * x) * np.cos(0.37 * y) + 0.02 * np.cos(0.0527 * x + 0.2)
    v = -np.cos(0.31 * x) * np.sin(0.37 * y) + 0.05 * np.sin(0.07 * x + 0.05 * y)
    u[ny // 2, :2] = v[ny // 2, :2] = 0
    u[ny // 3, nx // 3], v[ny // 4, nx // 5] = np.nan, np.inf
    return u.astype(dtype), v.astype(dtype)


def rounded(values, bound):
    """The middle of bins; what is not finite stays as it is."""
    with np.errstate(invalid="ignore"):
        found = (np.round(values / (2 * bound)) * (2 * bound)).astype(values.dtype)
        outside = ~(np.abs(found.astype("f8") - values) < bound)
    found[outside] = values[outside]
    return found


def exact_counts(cases):
    """The counts of tests/exact_verify.py: a case is (u, v, u2, v2) and its entries in the list."""
    with tempfile.TemporaryDirectory() as folder:
        listed = []
        for number, (arrays, entries) in enumerate(cases):
            files = []
            for component, array in enumerate(arrays):
                files.append(os.path.join(folder, "%d_%d" % (number, component)))
                np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tofile(files[-1])
            ny, nx = arrays[0].shape
            dtype = "f32" if arrays[0].itemsize == 4 else "f64"
            listed.append(dict(entries, nx=nx, ny=ny, dtype=dtype, files=files))
        path = os.path.join(folder, "cases.json")
        with open(path, "w") as file:
            json.dump(listed, file)
        checker = [sys.executable, "-B", str(ROOT / "tests/exact_verify.py"), path]
        results = json.loads(subprocess.run(checker, stdout=subprocess.PIPE, check=True).stdout)
    assert len(results) == len(cases)
    return results


VIOLATIONS = "lost_points spurious_points changed_types changed_ties new_ties changed_missing bound_exceeded".split()


def waves_in_space(shape, step=0):
    """An array (3, *shape) of a volume with critical points everywhere and a solid without flow, float64."""
    random = np.random.default_rng(3)
    z, y, x = np.meshgrid(*map(np.arange, shape), indexing="ij")
    volume = np.zeros((3, *shape))
    for _ in range(12):
        k, phase, amplitude = random.normal(0, 0.35, 3), random.uniform(0, 6), random.normal(0, 1, (3, 1, 1, 1))
        volume += amplitude * np.sin(k[0] * x + k[1] * y + k[2] * z + phase + 0.3 * step)
    volume[:, 4:7, 5:9, 6:12] = 0
    return volume


def volume_of_integers(shape):
    """An array (3, *shape) of a volume, float64, whose values float32 has too: the same on every machine."""
    z, y, x = np.meshgrid(*map(np.arange, shape), indexing="ij")

    def wave(*steps):
        return 2 * abs((steps[0] * x + steps[1] * y + steps[2] * z) % 62 - 31) - 31

    u = 3 * wave(9, 5, 3) + wave(-4, 11, 7) + (x * x + 3 * y * z) % 5
    v = 3 * wave(-3, 10, 6) + wave(8, 2, 13) + (y * y + 5 * x * z) % 5
    w = 3 * wave(5, -7, 11) + wave(12, 9, -2) + (z * z + 7 * x * y) % 5
    return np.stack([u, v, w]) / 64


def volume_violations(before, after, bound, dz=1):
    """The violations in an array (3, nz, ny, nx), by a program that shares no code with the library."""
    with tempfile.TemporaryDirectory() as folder:
        names = [os.path.join(folder, name) for name in ("u0", "v0", "w0", "u1", "v1", "w1")]
        for name, array in zip(names, (*before, *after)):
            array.astype(array.dtype.newbyteorder("<")).tofile(name)
        line = [*before.shape[:0:-1], *names, "--dtype", "f%d" % (8 * before.dtype.itemsize), "--abs-bound", bound]
        command = [sys.executable, "-B", ROOT / "tests/exact_verify3d.py", *line, "--spacing=1,1,%s" % dz]
        text = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True).stdout
    return int(dict(line.split() for line in text.splitlines() if len(line.split()) == 2)["violations"])


class EmptyFolder(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
