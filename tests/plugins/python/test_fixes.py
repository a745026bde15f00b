"""protect and apply: fixes for what another method made of a field."""

import unittest

import numpy as np
from support import VIOLATIONS, exact_counts, field, rounded

import factz


class Fixes(unittest.TestCase):
    def made(self, dtype, bound=0.05, **options):
        u, v = field(120, 90, dtype)
        u2, v2 = rounded(u, bound), rounded(v, bound)
        report = factz.FixReport()
        fix = factz.protect(u, v, u2, v2, abs=bound, report=report, **options)
        self.assertEqual(len(fix), report.fix_bytes)
        return (u, v, u2, v2), fix, report

    def test_arrays_that_do_not_fit(self):
        (_, _, u, v), fix, _ = self.made("f4")
        good = factz.apply(fix, u, v)
        for name, out in (
            ("swapped", (v, u)),
            ("one", (u.copy(),)),
            ("another dtype", (u.astype("f8"), v.astype("f8"))),
            ("another shape", (np.array([u, u]), np.array([v, v]))),
        ):
            with self.subTest(name):
                before = [values.tobytes() for values in (u, v, *out)]
                with self.assertRaises(ValueError):
                    factz.apply(fix, u, v, out=out)
                self.assertEqual([values.tobytes() for values in (u, v, *out)], before)
        for change in (np.asfortranarray, lambda values: values.astype(">f4")):
            found = factz.apply(fix, change(u), change(v))
            self.assertEqual([values.tobytes() for values in found], [values.tobytes() for values in good])

    def test_nothing_is_lost(self):
        cases = []
        for dtype in ("f4", "f8"):
            arrays, fix, report = self.made(dtype)
            u, v, u2, v2 = arrays
            self.assertGreater(factz.compare(*arrays, abs=0.05).violations, 0)
            self.assertGreater(report.violated_triangles, 0)
            found = factz.apply(fix, u2, v2)
            self.assertEqual(factz.compare(u, v, *found, abs=0.05).violations, 0)
            self.assertEqual(u2.tobytes(), rounded(u, 0.05).tobytes())
            cases.append(((u, v, *found), {"bound": 0.05}))
        for counts in exact_counts(cases):
            self.assertEqual({name: counts[name] for name in VIOLATIONS}, dict.fromkeys(VIOLATIONS, 0))

    def test_layouts_and_outputs(self):
        (u, v, u2, v2), fix, report = self.made("f4")
        expected = factz.apply(fix, u2, v2)
        both = np.stack([u, v], axis=-1)
        turned = [np.asfortranarray(values) for values in (u2, v2)]
        self.assertEqual(factz.protect(both[..., 0], both[..., 1], *turned, abs=0.05, threads=1), fix)
        out = np.full((90, 240), 7, "f4"), np.empty((90, 120), "f4")
        slices = out[0][:, ::2], out[1]
        applied = factz.FixReport()
        self.assertIs(factz.apply(fix + b"behind", u2, v2, slices, report=applied)[1], slices[1])
        for found, values in zip(slices, expected):
            self.assertEqual(found.tobytes(), values.tobytes())
        self.assertTrue((out[0][:, 1::2] == 7).all())
        self.assertEqual(applied.repaired_vertices, report.repaired_vertices)
        # In place.
        factz.apply(fix, u2, v2, (u2, v2))
        self.assertEqual((u2.tobytes(), v2.tobytes()), tuple(values.tobytes() for values in expected))

    def test_headers(self):
        (u, _, _, _), fix, report = self.made("f8", ties="sos", preserve="points", dy=-2.0, fill=-1.0)
        info = factz.inspect_fix(fix[:128])
        self.assertEqual((info.shape, info.dtype, info.abs, info.rel), (u.shape, u.dtype, 0.05, None))
        self.assertEqual((info.ties, info.preserve, info.dy, info.fill), ("sos", "points", -2.0, -1.0))
        self.assertEqual((info.repaired_vertices, info.fix_bytes), (report.repaired_vertices, len(fix)))
        self.assertEqual((info.periodic, info.max_error), (None, report.max_error))

    def test_stacks_and_ghosts(self):
        u, v = (np.stack([part, 2 * part]) for part in field(60, 50))
        u2, v2 = rounded(u, 0.1), rounded(v, 0.1)
        found = factz.apply(factz.protect(u, v, u2, v2, abs=0.1, periodic="x"), u2, v2)
        self.assertEqual(found[0].shape, (2, 50, 60))
        self.assertEqual(factz.compare(u, v, *found, abs=0.1, periodic="x").violations, 0)
        inner = np.s_[:, :-1]
        u, v, u2, v2 = u[0], v[0], u2[0][inner], v2[0][inner]
        fix = factz.protect(u, v, u2, v2, abs=0.1, halo="xmax")
        found = factz.apply(fix, u2, v2)
        self.assertEqual(factz.compare(u[inner], v[inner], *found, abs=0.1).violations, 0)

    def test_refusals(self):
        (u, v, u2, v2), fix, _ = self.made("f4")
        with self.assertRaisesRegex(factz.InvalidArgumentError, "leaves the bound .* at vertex"):
            factz.protect(u, v, u2, v2, abs=1e-6)
        with self.assertRaisesRegex(factz.InvalidArgumentError, "another reconstruction"):
            factz.apply(fix, u, v)
        with self.assertRaises(factz.CorruptStreamError):
            factz.apply(fix[:-4], u2, v2)
        with self.assertRaises(factz.CorruptStreamError):
            factz.inspect_fix(factz.compress(u, v, abs=0.1))
        with self.assertRaisesRegex(factz.FactzError, "nx = 119"):
            factz.apply(fix, u2[:, 1:], v2[:, 1:])
        with self.assertRaisesRegex(ValueError, "out is one array of the shape .*apply_volume"):
            factz.apply(fix, u2, v2, u2.copy())
        for options, change, message in (
            ({}, lambda a: a[1:], r"u2 and v2 have the shape \(89, 120\), and \(90, 120\) .* of u and v$"),
            ({"halo": "xmin+ymax"}, lambda a: a, r"\(90, 120\), and \(89, 119\) .* ghosts of halo='xmin\+ymax'"),
            ({"halo": ["xmin"]}, lambda a: a[:, 2:], r"\(90, 118\), and \(90, 119\) .* ghosts of halo=\['xmin'\]"),
            ({}, lambda a: a.astype("f8"), "u2 and v2 are float64, and u and v are float32: convert"),
        ):
            with self.assertRaisesRegex((ValueError, TypeError), message):
                factz.protect(u, v, change(u2), change(v2), abs=0.05, **options)


if __name__ == "__main__":
    unittest.main()
