"""Every array that NumPy makes gives the bytes of its dense copy, and decompression keeps the guarantee."""

import itertools
import unittest

import numpy as np
from support import ROOT, VIOLATIONS, exact_counts, field

import factz
from factz import _config, _fields

NX, NY = 61, 43


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def unaligned(array):
    memory = np.frombuffer(b"-" + array.tobytes(), np.uint8)[1:]
    return memory.view(array.dtype).reshape(array.shape)


def in_place(u, v):
    """Pairs of arrays with the values of u and v that the library reads where they are."""
    wide = np.full((2, NY + 3, NX + 5), 7, u.dtype)
    wide[:, 2 : 2 + NY, 4 : 4 + NX] = u, v
    apart = np.full((3 * NY, 4 * NX), 7, u.dtype)
    apart[::3, ::2][:, :NX], apart[1::3, ::2][:, :NX] = u, v
    mixed = np.stack([u, v], -1)
    yield "dense", u, v
    yield "planes of one array", *np.stack([u, v])
    yield "interleaved", mixed[..., 0], mixed[..., 1]
    yield "inside of larger arrays", *wide[:, 2 : 2 + NY, 4 : 4 + NX]
    yield "every third row and second column", apart[::3, ::2][:, :NX], apart[1::3, ::2][:, :NX]
    yield "different layouts", u, mixed[..., 1]
    yield "read-only", read_only(u), read_only(v)
    yield "unaligned", unaligned(u), unaligned(v)


def copied(u, v):
    """Pairs that it cannot read."""
    yield "rows from the last to the first", u[::-1].copy()[::-1], v[::-1].copy()[::-1]
    yield "columns from the last to the first", u[:, ::-1].copy()[:, ::-1], v[:, ::-1].copy()[:, ::-1]
    yield "order of Fortran", np.asfortranarray(u), np.asfortranarray(v)
    swapped = u.dtype.newbyteorder()
    yield "the other byte order", u.astype(swapped), v.astype(swapped)
    yield "one of each", u, np.asfortranarray(v)
    yield "memoryviews", memoryview(u), memoryview(v)


class Layouts(unittest.TestCase):
    def test_every_layout_gives_the_same_bytes(self):
        for dtype in ("f4", "f8"):
            u, v = field(NX, NY, dtype)
            expected = factz.compress(u, v, abs=1e-3)
            self.assertIs(type(expected), bytes)
            for name, a, b in itertools.chain(in_place(u, v), copied(u, v)):
                with self.subTest(dtype=dtype, layout=name):
                    before = np.asarray(a).tobytes()
                    self.assertEqual(factz.compress(a, b, abs=1e-3), expected)
                    self.assertEqual(np.asarray(a).tobytes(), before)

    def test_arrays_that_fit_are_not_copied(self):
        for name, u, v in in_place(*field(NX, NY)):
            placed = _fields.place(_config.configured(abs=0.0), u, v, None)
            for given, array in zip((u, v), placed.arrays):
                with self.subTest(layout=name):
                    self.assertTrue(np.shares_memory(given, array.owner))

    def test_other_kinds_of_arrays(self):
        u, v = field(NX, NY, "f8")
        expected = factz.compress(u, v, abs=1e-3)
        self.assertEqual(factz.compress(u.tolist(), v.tolist(), abs=1e-3), expected)
        for broadcast in (np.broadcast_to(u[:1], u.shape), np.broadcast_to(u[:, :1], u.shape)):
            self.assertEqual(
                factz.compress(broadcast, v, abs=1e-3), factz.compress(broadcast.copy(), v, abs=1e-3)
            )

    def test_single_rows_columns_and_vertices(self):
        u, v = field(NX, NY)
        for part in (np.s_[3:4], np.s_[:, 3:4], np.s_[3:4, 3:4], np.s_[-1:-2:-1], np.s_[:, -1:-2:-1]):
            a, b = u[part], v[part]
            data = factz.compress(a, b, abs=0)
            self.assertEqual(data, factz.compress(a.copy(), b.copy(), abs=0))
            for given, found in zip((a, b), factz.decompress(data)):
                np.testing.assert_array_equal(found, given)

    def test_outputs_of_every_layout(self):
        for dtype in ("f4", "f8"):
            u, v = field(NX, NY, dtype)
            data = factz.compress(u, v, rel=1e-3)
            expected = factz.decompress(data)
            for name, a, b in in_place(np.zeros_like(u), np.zeros_like(v)):
                if not a.flags.writeable:
                    continue
                with self.subTest(dtype=dtype, layout=name):
                    result = factz.decompress(data, out=(a, b))
                    self.assertIs(result[0], a)
                    self.assertIs(result[1], b)
                    np.testing.assert_array_equal(a, expected[0])
                    np.testing.assert_array_equal(b, expected[1])

    def test_gaps_of_outputs_are_untouched(self):
        u, v = field(NX, NY)
        wide = np.full((2, NY + 4, 2 * NX + 3), 7, "f4")
        inner = wide[:, 2:-2, 1 : 1 + 2 * NX : 2]
        factz.decompress(factz.compress(u, v, abs=0), out=(inner[0], inner[1]))
        np.testing.assert_array_equal(inner, [u, v])
        inner[:] = 7
        self.assertTrue((wide == 7).all())

    def test_kinds_of_buffers(self):
        u, v = field(NX, NY)
        data = factz.compress(u, v, abs=1e-3)
        expected = np.stack(factz.decompress(data)).tobytes()
        for kind in (
            bytearray,
            memoryview,
            lambda d: np.frombuffer(d, np.uint8),
            lambda d: d + b"behind the end",
        ):
            with self.subTest(kind=kind):
                self.assertEqual(np.stack(factz.decompress(kind(data))).tobytes(), expected)
                self.assertEqual(factz.inspect(kind(data)), factz.inspect(data))


class Guarantee(unittest.TestCase):
    def test_every_configuration_keeps_the_field(self):
        choices = [
            {"mode": "block"},
            {"mode": "speculative"},
            {"coder": "huffman"},
            {"predictor": "lorenzo"},
            {"ties": "zeros"},
            {"ties": "sos"},
            {"pin": "all"},
            {"fill": 0.0},
            {"dx": 2.0, "dy": 0.5},
            {"dy": -1.0},
        ]
        cases, reports = [], []
        for dtype, choice, bound in itertools.product(
            ("f4", "f8"), choices, ({"abs": 0.05}, {"rel": 1e-3})
        ):
            u, v = field(NX, NY, dtype)
            report = factz.Report()
            data = factz.compress(u, v, **bound, **choice, threads=2, report=report)
            self.assertEqual(data, factz.compress(u, v, **bound, **choice, threads=1))
            self.assertEqual(report.stream_bytes, len(data))
            u2, v2 = factz.decompress(data)
            self.assertEqual((u2.dtype, u2.shape), (u.dtype, u.shape))
            entries = {
                "spacing": [choice.get("dx", 1.0), choice.get("dy", 1.0)],
                "fill": choice.get("fill"),
            }
            entries.update({"ties": choice.get("ties", "all")})
            entries.update({"bound": bound["abs"]} if "abs" in bound else {"relative": bound["rel"]})
            cases.append(((u, v, u2, v2), entries))
            reports.append(report)
        for (arrays, entries), counts, report in zip(cases, exact_counts(cases), reports):
            with self.subTest(**entries):
                self.assertEqual([counts[name] for name in VIOLATIONS], [0] * len(VIOLATIONS))
                self.assertGreater(report.points_in_triangles, 10)
                self.assertGreaterEqual(report.bound, report.max_error)
                self.assertEqual(report.nonfinite_vertices, 2)

    def test_pinned_sides_are_exact(self):
        u, v = field(NX, NY)
        pinned = factz.decompress(factz.compress(u, v, abs=0.05, pin="xmax + ymin"))
        listed = factz.compress(u, v, abs=0.05, pin=["ymin", "xmax"])
        self.assertEqual(listed, factz.compress(u, v, abs=0.05, pin="xmax + ymin"))
        for before, after in zip((u, v), pinned):
            np.testing.assert_array_equal(after[0], before[0])
            np.testing.assert_array_equal(after[:, -1], before[:, -1])
            self.assertTrue((after[-1] != before[-1]).any())

    def test_a_bound_of_zero_is_lossless(self):
        for dtype in ("f4", "f8"):
            u, v = field(NX, NY, dtype)
            u[0, 0] = -0.0
            for before, after in zip((u, v), factz.decompress(factz.compress(u, v, abs=0))):
                self.assertEqual(before.tobytes(), after.tobytes())


class GoldenStreams(unittest.TestCase):
    def test_a_golden_stream_is_read(self):
        golden = ROOT / "tests/golden"
        data = (golden / "wind_block_types_f64.fctz").read_bytes()
        info = factz.inspect(data)
        self.assertEqual(
            (info.dtype, info.stream_bytes, info.preserve), (np.dtype("f8"), len(data), "types")
        )
        u, v = factz.decompress(data)
        self.assertEqual(u.shape, info.shape)
        self.assertTrue(np.isfinite(u).all() and np.isfinite(v).all())


if __name__ == "__main__":
    unittest.main()
