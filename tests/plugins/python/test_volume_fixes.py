"""protect_volume and apply_volume, and volumes with the ghosts of their neighbours."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from support import ROOT, rounded

import factz


def noise(shape, dtype="f4", seed=1):
    random = np.random.default_rng(seed)
    u, v, w = (random.uniform(-1, 1, shape).astype(dtype) for _ in range(3))
    u[1, 2:4, 3] = v[1, 2:4, 3] = w[1, 2:4, 3] = 0
    return u, v, w


def exact_counts(before, after, bound):
    """The counts of tests/exact_verify3d.py."""
    nz, ny, nx = before[0].shape
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, "%d" % k) for k in range(6)]
        for name, values in zip(files, (*before, *after)):
            np.ascontiguousarray(values).tofile(name)
        dtype = "f32" if before[0].itemsize == 4 else "f64"
        checker = [sys.executable, "-B", str(ROOT / "tests/exact_verify3d.py"), *map(str, (nx, ny, nz))]
        options = ["--dtype", dtype, "--abs-bound", repr(bound), "--json"]
        done = subprocess.run([*checker, *files, *options], stdout=subprocess.PIPE)
    return json.loads(done.stdout)


class VolumeFixes(unittest.TestCase):
    def test_nothing_is_lost(self):
        for dtype in ("f4", "f8"):
            field = noise((9, 11, 10), dtype)
            other = [rounded(c, 0.2) for c in field]
            report, applied = factz.FixReport(), factz.FixReport()
            # A little more than the bins, for the rounding of their middles.
            fix = factz.protect_volume(*field, *other, abs=0.20001, report=report)
            self.assertGreater(exact_counts(field, other, 0.20001)["violations"], 0)
            self.assertGreater(report.violated_triangles, 0)
            self.assertEqual(factz.protect_volume(*field, *other, abs=0.20001, threads=1), fix)
            found = factz.apply_volume(fix + b"behind", *other, report=applied)
            self.assertEqual(exact_counts(field, found, 0.20001)["violations"], 0)
            self.assertEqual(applied.repaired_vertices, report.repaired_vertices)
            self.assertEqual(found[0].dtype, field[0].dtype)
            out = np.zeros((*field[0].shape, 3), dtype)
            factz.apply_volume(fix, *other, out=out)
            copies = [c.copy() for c in other]
            self.assertIs(factz.apply_volume(fix, copies, out=copies)[1], copies[1])
            for k, values in enumerate(found):
                self.assertEqual(out[..., k].tobytes(), values.tobytes())
                self.assertEqual(copies[k].tobytes(), values.tobytes())
            with self.assertRaisesRegex(ValueError, "shares values"):
                factz.apply_volume(fix, *other, out=other[::-1])
            self.assertTrue(all((rounded(c, 0.2) == o).all() for c, o in zip(field, other)))

    def test_headers(self):
        field = noise((4, 6, 5))
        options = {"ties": "zeros", "dz": -2.0, "fill": -9.0, "periodic": "xz", "preserve": "points"}
        info = factz.inspect_fix(factz.protect_volume(*field, *field, rel=1e-3, **options))
        self.assertEqual((info.shape, info.components, info.rel), ((4, 6, 5), 3, 1e-3))
        self.assertEqual((info.ties, info.dz, info.fill, info.periodic), ("zeros", -2.0, -9.0, "xz"))
        self.assertEqual((info.preserve, info.repaired_vertices, info.fix_bytes), ("points", 0, 136))

    def test_blocks_with_ghosts(self):
        field, bound = noise((12, 10, 11), "f8"), 0.4
        cut, parts = 5, []
        for own, seen, halo in (
            (np.s_[:cut], np.s_[: cut + 1], "zmax"),
            (np.s_[cut:], np.s_[cut - 1 :], ["zmin"]),
        ):
            ghosts = [c[seen] for c in field]
            data = factz.compress_volume(*ghosts, abs=bound, halo=halo)
            other = [rounded(c[own], 0.39) for c in field]
            fix = factz.protect_volume(*ghosts, *other, abs=bound, halo=halo)
            parts.append((factz.decompress_volume(data), factz.apply_volume(fix, *other)))
        for k in range(2):
            whole = [np.concatenate(pair) for pair in zip(*(part[k] for part in parts))]
            self.assertEqual(whole[0].shape, (12, 10, 11))
            self.assertEqual(exact_counts(field, whole, bound)["violations"], 0)

    def test_refusals(self):
        u, v, w = noise((5, 6, 7))
        other = [rounded(c, 0.1) for c in (u, v, w)]
        fix = factz.protect_volume(u, v, w, *other, abs=0.10001)
        with self.assertRaisesRegex(factz.InvalidArgumentError, "leaves the bound .* at vertex"):
            factz.protect_volume(u, v, w, *other, abs=1e-6)
        with self.assertRaisesRegex(factz.InvalidArgumentError, "another reconstruction"):
            factz.apply_volume(fix, u, v, w)
        with self.assertRaisesRegex(factz.InvalidArgumentError, "volume.*apply_volume"):
            factz.apply(fix, other[0], other[1])
        with self.assertRaisesRegex(ValueError, "out is one array .*apply_volume"):
            factz.apply(fix, *other)
        with self.assertRaisesRegex(ValueError, r"u2, v2 and w2 .*\(5, 6, 7\), and \(4, 6, 7\).* halo='zmin'"):
            factz.protect_volume(u, v, w, *other, abs=0.10001, halo="zmin")
        with self.assertRaisesRegex(factz.InvalidArgumentError, "planes"):
            factz.apply_volume(factz.protect(u, v, u, v, abs=0.1), u, v, w)
        with self.assertRaises(factz.CorruptStreamError):
            factz.apply_volume(fix[:-4], *other)
        with self.assertRaisesRegex(factz.FactzError, "nx = 6"):
            factz.apply_volume(fix, *(c[..., 1:] for c in other))
        for call in (
            lambda: factz.protect_volume(u, v, w, *(c[1:] for c in other), abs=0.1),
            lambda: factz.protect_volume(u, v, w, *other, abs=0.1, rel=0.1),
            lambda: factz.protect_volume(u, v, w, *other, abs=0.1, halo="zmid"),
            lambda: factz.compress_volume(u[:1], v[:1], w[:1], abs=0.1, halo="zmin+zmax"),
            lambda: factz.apply_volume(fix, u, v, w[1:]),
        ):
            with self.assertRaises((ValueError, factz.InvalidArgumentError)):
                call()


if __name__ == "__main__":
    unittest.main()
