"""Stacks of fields, a store that counts what is read, and the independent checker, for tests of the codecs of
Zarr and numcodecs."""

import os

import numpy as np
from support import VIOLATIONS, EmptyFolder, exact_counts, field
from zarr.core.sync import sync
from zarr.storage import LocalStore, WrapperStore

BOUND = 0.05
# A bound at which chunks lose points between them unless their borders are exact.
COARSE = 0.6
NX, NY = 47, 38


def stack(*lead, nx=NX, ny=NY, dtype="f4"):
    """An array (*lead, 2, ny, nx) whose fields differ."""
    u, v = field(nx, ny, dtype)
    out = np.empty((*lead, 2, ny, nx), dtype)
    for number, index in enumerate(np.ndindex(*lead)):
        out[index] = np.roll([u, v], 5 * number, axis=-1)
    return out


def torus(*lead, nx, ny):
    """An array (*lead, 2, ny, nx) of waves with critical points between its last and its first vertices."""
    y, x = np.mgrid[0:ny, 0:nx].astype(np.float64)
    a, b = 2 * np.pi * (x + 0.6) / nx, 2 * np.pi * (y + 0.4) / ny
    u = np.sin(3 * a) * np.cos(2 * b) + 0.05 * np.sin(5 * b)
    v = np.cos(3 * a) * np.sin(2 * b) + 0.05 * np.cos(2 * a)
    return np.broadcast_to(np.array([u, v], "f4"), (*lead, 2, ny, nx))


def violations_on_torus(before, after):
    """The sum of all violations of the independent checker, with the first row and column behind the last."""
    closed = [np.pad(a, [(0, 0)] * (a.ndim - 2) + [(0, 1)] * 2, mode="wrap") for a in (before, after)]
    old, new = (a.reshape((-1, *a.shape[-3:])) for a in closed)
    cases = [([*pair, *other], {"bound": COARSE}) for pair, other in zip(old, new)]
    return sum(case[name] for case in exact_counts(cases) for name in VIOLATIONS)


class Counting(WrapperStore):
    """A store that counts requests for chunks, their bytes, and rounds of requests under way together."""

    def __init__(self, path):
        super().__init__(LocalStore(path))
        self.forget()

    def forget(self):
        self.requests, self.bytes, self.rounds, self._running = 0, 0, 0, 0

    async def get(self, key, prototype, byte_range=None):
        if "c/" not in key:
            return await super().get(key, prototype, byte_range)
        self.requests += 1
        self.rounds += self._running == 0
        self._running += 1
        data = await super().get(key, prototype, byte_range)
        self._running -= 1
        self.bytes += 0 if data is None else len(data)
        return data

    def sizes(self):
        """The bytes of each chunk, by the name of its file below the folder c."""
        found = {}
        for folder, _, names in os.walk(self._store.root):
            for name in names:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self._store.root)] = os.path.getsize(path)
        return {name: size for name, size in found.items() if name.startswith("c" + os.sep)}


def put(store, key, data):
    from zarr.core.buffer import default_buffer_prototype

    sync(store.set(key, default_buffer_prototype().buffer.from_bytes(data)))


class Folder(EmptyFolder):
    def violations(self, before, after, bound=BOUND, **more):
        """The sums of the counts of the independent checker, of all fields of arrays (..., 2, ny, nx)."""
        cases = []
        for index in np.ndindex(before.shape[:-3]):
            pairs = [a[index].astype(a.dtype.newbyteorder("=")) for a in (before, after)]
            cases.append(([*pairs[0], *pairs[1]], dict(more, bound=bound)))
        counted = exact_counts(cases)
        self.assertGreater(min(case["critical_points"] for case in counted), 4)
        return {name: sum(case[name] for case in counted) for name in VIOLATIONS}

    def assert_kept(self, before, after, **options):
        self.assertEqual((before.shape, before.dtype), (after.shape, after.dtype))
        self.assertEqual(self.violations(before, after, **options), dict.fromkeys(VIOLATIONS, 0))
        odd = ~np.isfinite(before)
        self.assertEqual(before[odd].tobytes(), after[odd].tobytes())
