"""Stacks of planes and periodic axes: arrays of every layout, parts, points, and the guarantee."""

import io
import unittest

import numpy as np
from support import VIOLATIONS, exact_counts, field

import factz
from factz import _config, _fields

NX, NY, NZ = 70, 43, 5


def stack(dtype="f4"):
    """Planes that differ, one of them constant and one without data."""
    u, v = field(NX, NY, dtype)
    constant, nothing = np.ones_like(u), np.full_like(u, np.nan)
    pairs = [(u, v), (2 * v, -u), (u[::-1], v[::-1]), (constant, constant), (nothing, v)]
    return tuple(np.stack(component).astype(dtype) for component in zip(*pairs))


def waves(nx, ny, dtype="f4"):
    """A field on the torus, with critical points in the cells between the last and the first vertices."""
    y, x = np.mgrid[0:ny, 0:nx].astype(np.float64)
    a, b = 2 * np.pi * (x + 0.6) / nx, 2 * np.pi * (y + 0.4) / ny
    u = np.sin(3 * a) * np.cos(2 * b) + 0.05 * np.sin(5 * b)
    v = np.cos(3 * a) * np.sin(2 * b) + 0.05 * np.cos(2 * a)
    return u.astype(dtype), v.astype(dtype)


def closed(array, periodic):
    """With the first column and row behind the last ones."""
    axes = [(0, int("y" in periodic)), (0, int("x" in periodic))]
    return np.pad(array, axes, mode="wrap")


class Layouts(unittest.TestCase):
    @staticmethod
    def in_place(u, v):
        wide = np.full((NZ, NY + 4, 2, NX + 3), 7, u.dtype)
        wide[:, 1 : 1 + NY, 0, 2 : 2 + NX], wide[:, 1 : 1 + NY, 1, 2 : 2 + NX] = u, v
        longer = np.full((2, 2 * NZ, NY, NX), 7, u.dtype)
        longer[:, ::2] = u, v
        yield "dense", u, v
        pairs = np.stack([u, v], 1)
        yield "pairs of planes", pairs[:, 0], pairs[:, 1]
        mixed = np.stack([u, v], -1)
        yield "interleaved", mixed[..., 0], mixed[..., 1]
        inside = wide[:, 1 : 1 + NY, :, 2 : 2 + NX]
        yield "rows in turn, inside of a larger array", inside[:, :, 0], inside[:, :, 1]
        yield "every second plane", *longer[:, ::2]

    @staticmethod
    def copied(u, v):
        yield "from the last plane to the first", u[::-1].copy()[::-1], v[::-1].copy()[::-1]
        yield "order of Fortran", np.asfortranarray(u), np.asfortranarray(v)
        yield "two layouts", u, np.stack([v, v], 1)[:, 0]
        odd = np.full((2, NZ, NY * NX + 1), 7, u.dtype)
        odd[:, :, :-1] = u.reshape(NZ, -1), v.reshape(NZ, -1)
        yield "planes that are not whole rows apart", *odd[:, :, :-1].reshape(2, NZ, NY, NX)

    def test_every_layout_gives_the_same_bytes(self):
        for dtype in ("f4", "f8"):
            u, v = stack(dtype)
            expected = factz.compress(u, v, abs=1e-3)
            for layouts in (self.in_place, self.copied):
                for name, a, b in layouts(u, v):
                    with self.subTest(dtype=dtype, layout=name):
                        np.testing.assert_array_equal(a, u)
                        self.assertEqual(factz.compress(a, b, abs=1e-3), expected)

    def test_arrays_that_fit_are_not_copied(self):
        for name, u, v in self.in_place(*stack()):
            placed = _fields.place(_config.configured(abs=0.0), u, v, None)
            for given, array in zip((u, v), placed.arrays):
                with self.subTest(layout=name):
                    self.assertTrue(np.shares_memory(given, array.owner))

    def test_a_stack_of_one_row_or_of_one_plane(self):
        u, v = stack()
        rows = [a[:, :1] for a in (u, v)]
        self.assertEqual(factz.compress(*rows, abs=1e-3), factz.compress(*[a.copy() for a in rows], abs=1e-3))
        found = factz.decompress(factz.compress(u[:1], v[:1], abs=1e-3))
        self.assertEqual(factz.compress(u[:1], v[:1], abs=1e-3), factz.compress(u[0], v[0], abs=1e-3))
        self.assertEqual(found[0].shape, (NY, NX))

    def test_outputs_of_the_caller(self):
        data = factz.compress(*stack(), abs=1e-3)
        expected = factz.decompress(data)
        self.assertEqual(expected[0].shape, (NZ, NY, NX))
        out = np.empty((NZ, 2, NY, NX), "f4")
        factz.decompress(data, (out[:, 0], out[:, 1]))
        np.testing.assert_array_equal(out.swapaxes(0, 1), expected)
        with self.assertRaisesRegex(ValueError, "rows from a plane to the next"):
            factz.decompress(data, (out[:, 0], np.empty((NZ, NY, NX), "f4")))
        with self.assertRaises(factz.FactzError):
            factz.decompress(data, (out[:2, 0], out[:2, 1]))


class Guarantee(unittest.TestCase):
    def test_each_plane_keeps_its_points(self):
        cases = []
        for dtype, mode in (("f4", "block"), ("f4", "speculative"), ("f8", "block")):
            u, v = stack(dtype)
            data = factz.compress(u, v, abs=0.05, mode=mode)
            after = factz.decompress(data)
            counts = factz.compare(u, v, *after, abs=0.05)
            self.assertEqual(counts.violations, 0)
            total = 0
            for z in range(NZ):
                cases.append(((u[z], v[z], after[0][z], after[1][z]), {"bound": 0.05}))
                total += factz.compare(u[z], v[z], after[0][z], after[1][z], abs=0.05).critical_points
            self.assertEqual(counts.critical_points, total)
        for found in exact_counts(cases):
            self.assertEqual([found[name] for name in VIOLATIONS], [0] * len(VIOLATIONS))
        self.assertGreater(sum(found["critical_points"] for found in exact_counts(cases[:1])), 10)

    def test_the_seam_belongs_to_the_field(self):
        cases, lost = [], 0
        for periodic in ("x", "y", "xy"):
            u, v = waves(60, 44)
            options = {"abs": 0.2, "mode": "speculative"}
            for given in (None, periodic):
                data = factz.compress(u, v, periodic=given, **options)
                after = factz.decompress(data)
                counts = factz.compare(u, v, *after, abs=0.2, periodic=periodic)
                if given is None:
                    lost += counts.violations
                    continue
                self.assertEqual(factz.inspect(data).periodic, periodic)
                self.assertEqual(counts.violations, 0)
                arrays = tuple(closed(array, periodic) for array in (u, v, *after))
                cases.append((arrays, {"bound": 0.2}))
                points = factz.critical_points(u, v, periodic=periodic)
                self.assertEqual(len(points), counts.critical_points)
                seam = (points["cell_x"] == 59) | (points["cell_y"] == 43)
                self.assertEqual(
                    seam.sum(), len(points) - len(factz.critical_points(u, v)), "points beyond the open field"
                )
                self.assertGreater(seam.sum(), 0)
        self.assertGreater(lost, 0, "without periodic= the seam is not kept")
        for found in exact_counts(cases):
            self.assertEqual([found[name] for name in VIOLATIONS], [0] * len(VIOLATIONS))

    def test_points_name_their_plane(self):
        u, v = stack()
        points = factz.critical_points(u, v)
        for z in range(NZ):
            expected = factz.critical_points(u[z], v[z])
            self.assertEqual(set(expected["cell_z"]) - {0}, set())
            expected["cell_z"] = z
            self.assertEqual(points[points["cell_z"] == z].tobytes(), expected.tobytes())
        found = factz.value_range(u, v)
        finite = np.concatenate([a[np.isfinite(a)] for a in (u, v)])
        self.assertEqual((found.low, found.high), (finite.min(), finite.max()))


class Parts(unittest.TestCase):
    def setUp(self):
        self.data = factz.compress(*stack(), abs=1e-3)
        self.whole = factz.decompress(self.data)

    def check(self, index, **part):
        for data in (self.data, io.BytesIO(self.data)):
            for found, whole in zip(factz.decompress(data, **part), self.whole):
                expected = whole[index]
                self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
                self.assertEqual(found.tobytes(), expected.tobytes(), part)

    def test_planes_and_regions(self):
        s = np.s_
        for planes in (0, 3, -1, -NZ, np.int64(2), s[1:3], s[:], s[-2:], s[4:9], s[3:3]):
            self.check(planes, planes=planes)
            rows, columns = s[30:41, 5:60]
            index = (planes, rows, columns)
            self.check(index, planes=planes, region=(rows, columns))
        self.check(s[:, 5:6, -9:], region=s[5:6, -9:])

    def test_one_plane_is_a_stack_too(self):
        u, v = field(NX, NY)
        data = factz.compress(u, v, abs=1e-3)
        whole = factz.decompress(data)
        for planes, index in ((0, np.s_[:]), (np.s_[:], np.s_[None])):
            found = factz.decompress(data, planes=planes)
            np.testing.assert_array_equal(found[0], whole[0][index])

    def test_outputs_and_files(self):
        out = np.empty((2, NY, NX), "f4")
        self.assertIs(factz.decompress(self.data, (out[0], out[1]), planes=1)[0].base, out)
        np.testing.assert_array_equal(out, [a[1] for a in self.whole])
        file = io.BytesIO(self.data + self.data)
        found = factz.load(file, 1, planes=2, region=np.s_[1:3, :])
        np.testing.assert_array_equal(found[1], self.whole[1][2, 1:3])
        self.assertEqual([step.shape for step in factz.steps(file)], [(NZ, NY, NX)] * 2)

    def test_errors(self):
        with self.assertRaisesRegex(IndexError, "planes=5: the data have 5 planes: give 0 to 4, or -5 to -1"):
            factz.decompress(self.data, planes=NZ)
        one = factz.compress(*field(NX, NY), abs=1e-3)
        for planes in (1, -2):
            message = "^planes=%d: the data have one plane, 0: give planes=0, or leave it out$" % planes
            with self.assertRaisesRegex(IndexError, message):
                factz.decompress(one, planes=planes)
        with self.assertRaisesRegex(ValueError, "planes=slice.* has a step"):
            factz.decompress(self.data, planes=np.s_[::2])
        with self.assertRaisesRegex(TypeError, "planes='1' is neither an integer nor a slice"):
            factz.decompress(self.data, planes="1")
        with self.assertRaisesRegex(ValueError, r"out\[0\] has the shape \(43, 70\), and the part"):
            factz.decompress(self.data, (np.empty((NY, NX), "f4"),) * 2, planes=np.s_[:1])
        u, v = stack()
        with self.assertRaisesRegex(ValueError, r"or \(nz, ny, nx\), not .*: .*\.reshape\(-1, 43, 70\)"):
            factz.compress(u[None], v[None], abs=1)
        with self.assertRaisesRegex(ValueError, "periodic='z' is none of none, x, y, xy"):
            factz.compress(u, v, abs=1, periodic="z")
        with self.assertRaisesRegex(factz.FactzError, "names a side of x, which is periodic"):
            factz.compress(u, v, abs=1, periodic="x", pin="all")
        with self.assertRaisesRegex(factz.FactzError, "nx = 2 is less than 3"):
            factz.compress(u[..., :2], v[..., :2], abs=1, periodic="x")
        with self.assertRaisesRegex(factz.FactzError, "nz is 0"):
            factz.compress(u[:0], v[:0], abs=1)

    def test_sizes(self):
        plane, whole = (factz.compress_sizes(shape, "f4", abs=1) for shape in ((NY, NX), (NZ, NY, NX)))
        self.assertGreater(whole.max_stream_bytes, 4 * plane.max_stream_bytes)
        self.assertGreaterEqual(whole.max_stream_bytes, len(self.data))
        with self.assertRaisesRegex(ValueError, r"shape=\(1,\) must be \(ny, nx\) or \(nz, ny, nx\)"):
            factz.compress_sizes((1,), "f4", abs=1)


if __name__ == "__main__":
    unittest.main()
