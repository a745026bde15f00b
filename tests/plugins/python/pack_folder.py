"""A folder for each test of factz.pack, files with one pair, and the independent checker."""

import os

import h5py
import numpy as np
from netcdf_files import AXES, FILL, NAMES, Writer, grid, series
from support import VIOLATIONS, EmptyFolder, exact_counts

from factz.pack import PackError, pack

BOUND = 0.05
# A bound at which a field would lose points and types.
COARSE = 2.0


class Folder(EmptyFolder):
    def refused(self, *parts, call=pack, **options):
        """The call fails, its message has all parts, and nothing new is in the folder."""
        before = sorted(os.listdir("."))
        with self.assertRaises((PackError, ValueError)) as caught:
            call("in.nc", "out.nc", **options)
        for part in parts:
            self.assertIn(part, str(caught.exception))
        self.assertEqual(sorted(os.listdir(".")), before)

    def violations(self, before, after, bound=BOUND, spacing=(10, -10), seam=True, **more):
        """The sums of the counts of the independent checker, for pairs (u, v) of arrays (..., ny, nx)."""
        cases = []
        for index in np.ndindex(before[0].shape[:-2]):
            arrays = [c[index] for c in (*before, *after)]
            if seam:
                arrays = [np.concatenate([a, a[:, :1]], axis=1) for a in arrays]
            cases.append((arrays, dict(more, bound=bound, spacing=list(spacing))))
        counted = exact_counts(cases)
        self.assertGreater(min(case["critical_points"] for case in counted), 4)
        return {name: sum(case[name] for case in counted) for name in VIOLATIONS}

    def assert_kept(self, *arguments, **options):
        self.assertEqual(self.violations(*arguments, **options), dict.fromkeys(VIOLATIONS, 0))


def read(path, *names):
    with h5py.File(path) as file:
        return [file[name][...] for name in names]


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def simple(path="in.nc", data=None, names=("u10", "v10"), standard=NAMES, axes=AXES, fill=FILL, **more):
    """A file with one pair."""
    data = series(2) if data is None else data
    with Writer(path) as file:
        grid(file, **more)
        for name, values, standard_name in zip(names, data, standard):
            file.variable(
                name, axes, values, fill, attributes={"standard_name": standard_name, "units": "m s-1"}
            )
