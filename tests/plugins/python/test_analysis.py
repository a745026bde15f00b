"""Analysis agrees with the exact checker; headers, options and sizes are those of the library."""

import ctypes
import threading
import unittest

import numpy as np
from support import VIOLATIONS, exact_counts, field

import factz
from factz import _abi, _config
from factz._library import library

NX, NY = 150, 90


class Comparisons(unittest.TestCase):
    def test_differences_are_counted_as_by_the_exact_checker(self):
        for dtype in ("f4", "f8"):
            u, v = field(NX, NY, dtype)
            rng = np.random.default_rng(3)
            u2, v2 = (a + rng.uniform(-0.1, 0.1, a.shape).astype(dtype) for a in (u, v))
            u2[0, 0] = np.nan
            found = factz.compare(u, v, u2, v2, abs=0.05, dx=2.0)
            counts = exact_counts([((u, v, u2, v2), {"bound": 0.05, "spacing": [2.0, 1.0]})])[0]
            for name in VIOLATIONS:
                self.assertEqual(getattr(found, name), counts[name], name)
            self.assertGreater(found.lost_points * found.spurious_points * found.bound_exceeded, 0)
            self.assertEqual(found.violations, counts["violations"])
            self.assertEqual(sum(found.points_by_type.values()), found.critical_points)
            self.assertEqual(found.critical_points, len(factz.critical_points(u, v)))
            self.assertEqual(found.other_critical_points, len(factz.critical_points(u2, v2)))
            self.assertEqual((found.bound, found.nonfinite_vertices), (0.05, 2))
            finite = np.isfinite(u) & np.isfinite(u2), np.isfinite(v) & np.isfinite(v2)
            pairs = zip(((u, u2), (v, v2)), finite)
            largest = max(np.abs(np.float64(b[m]) - np.float64(a[m])).max() for (a, b), m in pairs)
            self.assertEqual(found.max_error, largest)

    def test_the_same_field_differs_nowhere(self):
        u, v = field(NX, NY)
        mixed = np.stack([u, v], -1)
        found = factz.compare(u, v, mixed[..., 0], mixed[..., 1], rel=0.0)
        self.assertEqual((found.violations, found.max_error, found.psnr), (0, 0, np.inf))

    def test_the_fill_value_is_left_out(self):
        u, v = field(NX, NY)
        u[10:20, 10:20] = 1e30
        data = factz.compress(u, v, rel=1e-3, fill=1e30)
        found = factz.compare(u, v, *factz.decompress(data), rel=1e-3, fill=1e30)
        self.assertEqual((found.violations, found.filled_vertices), (0, 100))
        self.assertLess(factz.value_range(u, v, fill=1e30).high, 2)
        self.assertEqual(factz.value_range(u, v).high, np.float32(1e30))
        self.assertEqual(factz.inspect(data).fill, np.float32(1e30))


class Points(unittest.TestCase):
    def test_points_lie_in_their_triangles(self):
        u, v = field(NX, NY, "f8")
        points = factz.critical_points(u, v, dx=2.0, dy=0.5, threads=2)
        self.assertEqual(points.dtype, factz.CRITICAL_POINT)
        self.assertGreater(len(points), 50)
        order = np.lexsort((points["simplex"], points["cell_x"], points["cell_y"]))
        np.testing.assert_array_equal(order, np.arange(len(points)))
        x, y = points["x"] / 2.0 - points["cell_x"], points["y"] / 0.5 - points["cell_y"]
        upper = points["simplex"] == factz.Simplex.UPPER
        for a, b in ((x, y), (x, 1 - y), (1 - x, y)):
            self.assertTrue((a * b >= 0).all())
        self.assertTrue((np.where(upper, y - x, x - y) >= 0).all())
        self.assertEqual(
            set(points["point_type"]), {int(k) for k in set(points["point_type"])} & set(range(6))
        )
        # Linear interpolation vanishes there.
        c, r = points["cell_x"].astype(int), points["cell_y"].astype(int)
        for a in (u, v):
            side = np.where(upper, a[r + 1, c], a[r, c + 1])
            weight = np.where(upper, [1 - y, y - x, x], [1 - x, x - y, y])
            value = weight[0] * a[r, c] + weight[1] * side + weight[2] * a[r + 1, c + 1]
            self.assertLess(np.abs(value).max(), 1e-12)

    def test_rows_from_north_to_south_have_the_types_of_the_plane(self):
        u, v = field(NX, NY)
        points, plane = factz.critical_points(u, v, dy=-1), factz.critical_points(u, -v)
        plane["y"] = -plane["y"]
        np.testing.assert_array_equal(points, plane)
        self.assertTrue((points["y"] < 0).all())
        self.assertTrue((points["point_type"] != factz.critical_points(u, v)["point_type"]).any())
        u2, v2 = factz.decompress(factz.compress(u, v, abs=0.05, dy=-1))
        for found in (factz.compare(u, v, u2, v2, abs=0.05, dy=-1), factz.compare(u, -v, u2, -v2, abs=0.05)):
            self.assertEqual(found.violations, 0)

    def test_zeros_at_vertices_and_on_edges_have_an_index(self):
        y, x = np.mgrid[-3.0:4, -3.0:4]
        for dtype in ("f4", "f8"):
            for dx, dy, index, kind, simplex in (
                (0, 0, 1, factz.PointType.VERTEX_ZERO, factz.Simplex.VERTEX),
                (0.5, 0, 1, factz.PointType.EDGE_ZERO, factz.Simplex.EDGE_X),
                (0, 0.5, 1, factz.PointType.EDGE_ZERO, factz.Simplex.EDGE_Y),
                (0.25, 0.25, 1, factz.PointType.EDGE_ZERO, factz.Simplex.DIAGONAL),
                (-3, 0, factz.INDEX_UNDEFINED, factz.PointType.VERTEX_ZERO, factz.Simplex.VERTEX),
            ):
                (point,) = factz.critical_points((dy - y).astype(dtype), (x - dx).astype(dtype))
                self.assertEqual((point["point_type"], point["simplex"], point["index"]), (kind, simplex, index))
                self.assertEqual((point["x"], point["y"]), (3 + dx, 3 + dy))
                self.assertTrue(np.isnan(point["eigenvalues_real"]).all())
            (point,) = factz.critical_points((x - 0.25).astype(dtype), (1 - 2 * y).astype(dtype), dy=0.5)
            self.assertEqual((point["index"], point["rounding_divergence"]), (-1, 0))
            self.assertEqual(list(point["eigenvalues_real"]), [1, -4])
            self.assertEqual(list(point["eigenvalues_imaginary"]), [0, 0])
            tiny = {"f4": 1e-6, "f8": 1e-13}[dtype]
            turning = [a.astype(dtype) for a in (0.125 - y + tiny * x, x - 0.25)]
            (point,) = factz.critical_points(*turning)
            self.assertEqual((point["point_type"], point["rounding_divergence"]), (factz.PointType.REPELLING_FOCUS, 1))

    def test_lost_zeros_are_counted(self):
        y, x = np.mgrid[-3.0:4, -3.0:4]
        found = factz.compare(x, -y, x + 1e-3, -y, abs=1)
        self.assertEqual((found.lost_points, found.lost_zeros, found.spurious_points), (1, 1, 1))
        self.assertEqual((found.spurious_zeros, found.points_by_type[factz.PointType.VERTEX_ZERO]), (1, 1))
        self.assertEqual(factz.compare(x, y, x, -y, abs=9).changed_indices, 1)

    def test_more_points_than_expected(self):
        u, v = np.random.default_rng(5).standard_normal((2, 300, 300))
        points = factz.critical_points(u, v)
        self.assertGreater(len(points), 300 * 300 // 16 + 1024)
        self.assertEqual(len(points), factz.compare(u, v, u, v, abs=0).critical_points)

    def test_blocks_with_ghost_lines_make_up_the_field(self):
        u, v = field(NX, NY)
        whole = factz.critical_points(u, v)
        # Four blocks, which own their lines and see one line of each neighbour.
        found, after = [], [np.empty_like(u), np.empty_like(v)]
        for y0, y1 in ((0, 40), (40, NY)):
            for x0, x1 in ((0, 77), (77, NX)):
                sides = [("xmin", x0 > 0), ("xmax", x1 < NX), ("ymin", y0 > 0), ("ymax", y1 < NY)]
                halo = [name for name, there in sides if there]
                part = np.s_[y0 - (y0 > 0) : y1 + (y1 < NY), x0 - (x0 > 0) : x1 + (x1 < NX)]
                points = factz.critical_points(u[part], v[part], halo=halo)
                points["cell_x"] += x0
                points["cell_y"] += y0
                found.append(points)
                data = factz.compress(u[part], v[part], abs=0.05, halo="+".join(halo))
                self.assertEqual(factz.inspect(data).shape, (y1 - y0, x1 - x0))
                factz.decompress(data, out=[a[y0:y1, x0:x1] for a in after])
        joined = np.concatenate(found)
        joined = joined[np.lexsort((joined["simplex"], joined["cell_x"], joined["cell_y"]))]
        for name in ("cell_x", "cell_y", "simplex", "point_type", "index"):
            np.testing.assert_array_equal(joined[name], whole[name])
        self.assertEqual(factz.compare(u, v, *after, abs=0.05).violations, 0)

    def test_ghost_lines_of_comparisons(self):
        u, v = field(NX, NY)
        u2, v2 = factz.decompress(factz.compress(u, v, abs=0.05))
        blocks = [
            factz.compare(u[a], v[a], u2[a], v2[a], abs=0.05, halo=halo)
            for a, halo in ((np.s_[:41], "ymax"), (np.s_[39:], "ymin"))
        ]
        whole = factz.compare(u, v, u2, v2, abs=0.05)
        for name in ("critical_points", "ties", "zero_vertices", "nonfinite_vertices", "violations"):
            self.assertEqual(sum(getattr(b, name) for b in blocks), getattr(whole, name), name)


class Ranges(unittest.TestCase):
    def test_the_range_and_its_relative_bound(self):
        u, v = field(NX, NY)
        u[3, 3] = -7.5
        found = factz.value_range(u, v)
        both = np.stack([u, v])
        both = both[np.isfinite(both)]
        self.assertEqual((found.low, found.high), (both.min(), both.max()))
        self.assertEqual((found.nonfinite_vertices, found.zero_vertices), (2, 2))
        bound = factz.relative_bound(1e-3, found.low, found.high)
        self.assertEqual(factz.inspect(factz.compress(u, v, rel=1e-3)).absolute_bound, bound)
        inner = factz.value_range(u, v, halo="all")
        self.assertEqual(inner, factz.value_range(u[1:-1, 1:-1], v[1:-1, 1:-1]))


class Options(unittest.TestCase):
    def test_headers_say_how_data_were_made(self):
        u, v = field(NX, NY, "f8")
        cases = [
            {"abs": 0.1, "mode": "speculative", "coder": "huffman", "preserve": "points", "dx": 0.5},
            {
                "rel": 1e-3,
                "predictor": "lorenzo",
                "preserve": "none",
                "ties": "zeros",
                "dy": -3.0,
                "fill": -1.0,
            },
        ]
        for options in cases:
            data = factz.compress(u, v, **options)
            info = factz.inspect(data)
            for name, value in options.items():
                self.assertEqual(getattr(info, name), value)
            self.assertEqual((info.shape, info.dtype), ((NY, NX), np.dtype("f8")))
            self.assertEqual(info.stream_bytes, len(data))
            self.assertEqual(info.format_version, factz.FORMAT_VERSION)
        self.assertEqual((info.abs, info.mode), (None, "block"))

    def test_names_are_those_of_the_library(self):
        names = dict(_config.CHOICES, pin=dict(_config.SIDES, all=15, none=0))
        parse = library.factz_config_from_string
        parse.argtypes = [ctypes.c_char_p, ctypes.POINTER(_abi.Config)]
        # The mode of volumes makes the configuration of one.
        of_volumes = {"mode": ["repair"], "pin": [*_config.SIDES_OF_VOLUME, "all"]}
        for key, known in of_volumes.items():
            for name in known:
                config, text = _abi.Config(), "abs=1,mode=repair,dz=-2" + (",pin=" + name) * (key == "pin")
                self.assertEqual(parse(text.encode(), config), _abi.OK)
                made = _config.configured_volume(abs=1.0, dz=-2, **{key: name})
                self.assertEqual(bytes(made), bytes(config))
        for key, known in names.items():
            for name, number in known.items():
                if name == "repair":
                    continue
                config = _abi.Config()
                self.assertEqual(parse(("abs=1,%s=%s" % (key, name)).encode(), config), _abi.OK)
                self.assertEqual(getattr(config, key), number)
                made = _config.configured(abs=1.0, **{key: name})
                self.assertEqual(bytes(made), bytes(config))

    def test_sizes(self):
        sizes = factz.compress_sizes((NY, NX), np.float32, abs=0.1)
        self.assertGreater(sizes.max_stream_bytes, 8 * NX * NY)
        self.assertEqual((sizes.report_bytes, sizes.alignment & (sizes.alignment - 1)), (128, 0))
        self.assertGreater(sizes.workspace_bytes, sizes.analysis_workspace_bytes)
        self.assertEqual(factz.decompress_sizes((NY, NX), "f4").max_stream_bytes, sizes.max_stream_bytes)
        halo = factz.compress_sizes((NY, NX), np.float64, abs=0.1, halo="all")
        self.assertGreater(halo.max_stream_bytes, sizes.max_stream_bytes)

    def test_calls_from_several_threads(self):
        u, v = field(NX, NY)
        expected = {bound: factz.compress(u, v, abs=bound) for bound in (0.1, 0.01, 0.001)}
        wrong = []

        def work(bound):
            for _ in range(5):
                data = factz.compress(u, v, abs=bound)
                try:
                    factz.decompress(data[:-1])
                except factz.CorruptStreamError:
                    pass
                if data != expected[bound]:
                    wrong.append(bound)

        threads = [threading.Thread(target=work, args=[bound]) for bound in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
