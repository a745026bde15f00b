"""Analysis of volumes: counts of the independent checker, places and types of points, refusals."""

import itertools
import sys
import unittest
from pathlib import Path

import numpy as np

import factz

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import exact_verify3d  # noqa: E402

SHAPE = (9, 7, 8)


def noise(seed, dtype="f4"):
    rng = np.random.default_rng(seed)
    return tuple(rng.normal(size=SHAPE).astype(dtype) for _ in range(3))


def linear(matrix, zero, shape=SHAPE, spacing=(1.0, 1.0, 1.0)):
    """A linear field with its zero at (x, y, z) in units of the spacing."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    place = [(a - b) * d for a, b, d in zip((x, y, z), zero, spacing)]
    return tuple(sum(m * p for m, p in zip(row, place)) for row in matrix)


class Comparisons(unittest.TestCase):
    def test_differences_are_counted_as_by_the_independent_checker(self):
        for dtype in ("f4", "f8"):
            first = noise(1, dtype)
            rng = np.random.default_rng(2)
            other = tuple(c + rng.uniform(-0.1, 0.1, SHAPE).astype(dtype) for c in first)
            for component in other:
                component[0, 0, 0] = np.nan
            found = factz.compare_volume(*first, *other, abs=0.05, dx=2.0, dz=-0.5)
            name = {"f4": "f32", "f8": "f64"}[dtype]
            spacing = (2.0, 1.0, -0.5)
            counts = exact_verify3d.verify(SHAPE[::-1], (*first, *other), name, 0.05, spacing)
            self.assertEqual(found.lost_points, counts["lost"])
            self.assertEqual(found.spurious_points, counts["spurious"])
            self.assertEqual(found.changed_types, counts["type_changed"])
            self.assertEqual(found.changed_missing, counts["nonfinite_changed"])
            self.assertEqual(found.bound_exceeded, counts["bound_exceeded"])
            self.assertEqual(found.violations, counts["violations"])
            self.assertGreater(found.lost_points * found.spurious_points * found.changed_types, 0)
            self.assertEqual(sum(found.points_by_type.values()), found.critical_points)
            points = factz.critical_points_volume(*first, dx=2.0, dz=-0.5)
            # The vertex that is missing in the other volume is there in the first.
            self.assertGreaterEqual(len(points), found.critical_points)
            pairs = [(np.float64(a), np.float64(b)) for a, b in zip(first, other)]
            self.assertEqual(found.max_error, max(np.nanmax(np.abs(b - a)) for a, b in pairs))

    def test_what_compression_keeps_is_kept(self):
        first = noise(3)
        first[1][2:4] = 0.0
        first[0][5, 5, 5] = -99.0
        options = {"fill": -99.0, "periodic": "xz", "dy": -1.0}
        for ties in ("all", "zeros"):
            data = factz.compress_volume(*first, rel=3e-2, ties=ties, **options)
            other = factz.decompress_volume(data)
            found = factz.compare_volume(*first, *other, rel=3e-2, ties=ties, **options)
            self.assertEqual((found.violations, found.filled_vertices), (0, 1))
            self.assertEqual(found.critical_points, len(factz.critical_points_volume(*first, **options)))
        same = factz.compare_volume(*first, *first, abs=0.0)
        self.assertEqual((same.violations, same.max_error, same.psnr), (0, 0.0, np.inf))


class Points(unittest.TestCase):
    def test_linear_interpolation_vanishes_at_points(self):
        field = noise(4, "f8")
        points = factz.critical_points_volume(*field, dx=2.0, dy=0.5, dz=-1.0, threads=2)
        self.assertEqual(points.dtype, factz.VOLUME_POINT)
        self.assertGreater(len(points), 50)
        order = np.lexsort([points[name] for name in ("simplex", "cell_x", "cell_y", "cell_z")])
        np.testing.assert_array_equal(order, np.arange(len(points)))
        self.assertTrue((points["dimension"] == 3).all() and (points["simplex"] < 6).all())
        for p in points:
            cell = np.array([p["cell_x"], p["cell_y"], p["cell_z"]], int)
            local = np.array([p["x"] / 2.0, p["y"] / 0.5, -p["z"]]) - cell
            # Along the steps the coordinates descend.
            axes = ["xyz".index(c) for c in factz.VOLUME_SIMPLICES[p["simplex"]].split("_")[1:]]
            along = local[axes]
            self.assertTrue(1 >= along[0] >= along[1] >= along[2] >= 0)
            weights = -np.diff([1, *along, 0])
            corner, value = cell.copy(), np.zeros(3)
            for weight, axis in zip(weights, [*axes, 0]):
                value += weight * np.array([c[tuple(corner[::-1])] for c in field])
                corner[axis] += 1
            self.assertLess(np.abs(value).max(), 1e-12)

    def test_types_and_indices(self):
        turning = [[-1.0, -2.0, 0.0], [2.0, -1.0, 0.0], [0.0, 0.0, 1.0]]
        (p,) = factz.critical_points_volume(*linear(turning, (2.75, 3.5, 4.25)))
        self.assertEqual(p["point_type"], factz.VolumePointType.ATTRACTING_FOCUS_SADDLE)
        self.assertEqual((p["index"], factz.VOLUME_SIMPLICES[p["simplex"]]), (1, "tetrahedron_x_y_z"))
        for zero, kind, name in (
            ((2, 3, 4), factz.VolumePointType.VERTEX_ZERO, "vertex"),
            ((2, 3, 4.5), factz.VolumePointType.EDGE_ZERO, "edge_z"),
            ((2.5, 3.5, 4.5), factz.VolumePointType.EDGE_ZERO, "edge_xyz"),
            ((2.25, 3.75, 4.25), factz.VolumePointType.FACE_ZERO, "face_y_xz"),
        ):
            (p,) = factz.critical_points_volume(*linear(turning, zero))
            self.assertEqual((p["point_type"], factz.VOLUME_SIMPLICES[p["simplex"]]), (kind, name))
            self.assertEqual((p["x"], p["y"], p["z"], p["index"]), (*zero, 1))
        (p,) = factz.critical_points_volume(*linear(turning, (0, 3, 4)))
        self.assertEqual(p["index"], factz.INDEX_UNDEFINED)
        self.assertEqual(len(factz.VOLUME_SIMPLICES), 26)

    def test_no_point_is_left_out(self):
        rng = np.random.default_rng(5)
        field = [rng.choice([-1.0, 1.0], (30, 30, 30)) * rng.random((30, 30, 30)) for _ in range(3)]
        points = factz.critical_points_volume(*field)
        found = factz.compare_volume(*field, *field, abs=0.0)
        self.assertEqual(len(points), found.critical_points)
        self.assertGreater(len(points), 27000 // 16 + 1024)


class Blocks(unittest.TestCase):
    def test_blocks_with_ghost_layers_make_up_the_volume(self):
        first = tuple(np.round(2 * c) for c in noise(8))
        other = tuple(np.round(2 * c) for c in noise(9))
        whole = factz.compare_volume(*first, *other, abs=0.5)
        all_points = factz.critical_points_volume(*first)
        found, counts, low = [], [], np.inf
        halves = [[(0, n // 2), (n // 2, n)] for n in SHAPE]
        for block in itertools.product(*halves):
            sides = [(name + "min", a > 0) for name, (a, _) in zip("zyx", block)]
            sides += [(name + "max", b < n) for name, (_, b), n in zip("zyx", block, SHAPE)]
            halo = [name for name, there in sides if there]
            part = tuple(slice(a - (a > 0), b + (b < n)) for (a, b), n in zip(block, SHAPE))
            u, v, w = (c[part] for c in first)
            points = factz.critical_points_volume(u, v, w, halo=halo)
            for name, (a, _) in zip(("cell_z", "cell_y", "cell_x"), block):
                points[name] += a
            found.append(points)
            u2, v2, w2 = (c[part] for c in other)
            counts.append(factz.compare_volume(u, v, w, u2, v2, w2, abs=0.5, halo="+".join(halo)))
            own = factz.value_range_volume(u, v, w, halo=halo)
            inside = tuple(slice(a, b) for a, b in block)
            self.assertEqual(own, factz.value_range_volume(*(c[inside] for c in first)))
            low = min(low, own.low)
        self.assertEqual(low, min(c.min() for c in first))
        joined = np.concatenate(found)
        joined = joined[np.lexsort([joined[n] for n in ("simplex", "cell_x", "cell_y", "cell_z")])]
        for name in ("cell_x", "cell_y", "cell_z", "simplex", "point_type", "index"):
            np.testing.assert_array_equal(joined[name], all_points[name])
        for name in ("critical_points", "lost_points", "spurious_points", "ties", "changed_ties", "violations"):
            self.assertEqual(sum(getattr(c, name) for c in counts), getattr(whole, name), name)
        self.assertGreater(whole.ties, 50)
        self.assertGreater(len(all_points), 10)


class Ranges(unittest.TestCase):
    def test_all_components_count(self):
        u, v, w = noise(6)
        w[1, 2, 3], u[0, 0, 0] = 1e30, np.nan
        found = factz.value_range_volume(u, v, w, fill=1e30)
        rest = np.concatenate([c.ravel() for c in (u, v, w)])
        keep = np.concatenate([(w != np.float32(1e30)).ravel()] * 3)
        self.assertEqual((found.low, found.high), (np.nanmin(rest[keep]), np.nanmax(rest[keep])))
        self.assertEqual((found.nonfinite_vertices, found.filled_vertices), (1, 1))


class Refusals(unittest.TestCase):
    def test_what_is_no_volume_is_refused(self):
        u, v, w = noise(7)
        flat = [c[:2] for c in (u, v, w)]
        for call, error in [
            (lambda: factz.critical_points_volume(u[0], v[0], w[0]), ValueError),
            (lambda: factz.critical_points_volume(u[:1], v[:1], w[:1]), factz.InvalidConfigError),
            (lambda: factz.critical_points_volume(u, v, w, dz=0.0), factz.InvalidConfigError),
            (lambda: factz.critical_points_volume(u, v, w, threads=-1), ValueError),
            (lambda: factz.compare_volume(u, v, w, u, v, w), ValueError),
            (lambda: factz.compare_volume(u, v, w, u, v, w, abs=-1.0), factz.InvalidConfigError),
            (lambda: factz.compare_volume(u, v, w, u[1:], v[1:], w[1:], abs=0.1), ValueError),
            (lambda: factz.compare_volume(u, v, w, u, v, w.astype("f8"), abs=0.1), TypeError),
            (lambda: factz.compare_volume(u, v, w, u, v, w, abs=0.1, ties="sos"), factz.InvalidConfigError),
            (lambda: factz.value_range_volume(u, v, w[1:]), ValueError),
            (lambda: factz.critical_points_volume(u, v, w, halo="zmid"), ValueError),
            (lambda: factz.compare_volume(*flat, *flat, abs=1, halo="zmin+zmax"), ValueError),
            (lambda: factz.critical_points_volume(u, v, w, halo="xmin", periodic="x"), factz.InvalidConfigError),
        ]:
            with self.assertRaises(error):
                call()


if __name__ == "__main__":
    unittest.main()
