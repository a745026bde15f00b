"""compress_volume and decompress_volume: bounds, options, refusals."""

import io
import unittest
import warnings

import numpy as np

import factz


def waves(shape, dtype="f4"):
    z, y, x = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij")
    angles = ((0.31, 0.2, 0.11), (0.13, -0.27, 0.33), (-0.21, 0.17, 0.29))
    return tuple(np.sin(a * x + b * y + c * z).astype(dtype) for a, b, c in angles)


class Volumes(unittest.TestCase):
    def test_round_trip_keeps_the_bound(self):
        for dtype in ("f4", "f8"):
            field, report = waves((20, 33, 18), dtype), factz.Report()
            data = factz.compress_volume(*field, abs=1e-2, report=report)
            self.assertTrue(len(data) * 5 < sum(c.nbytes for c in field) and report.points_in_triangles > 0)
            for threads in (1, 2):
                self.assertTrue(factz.compress_volume(*field, abs=1e-2, threads=threads) == data)
                found = factz.decompress_volume(data, threads=threads)
                for a, b in zip(field, found):
                    self.assertTrue(a.dtype == b.dtype and np.abs(a.astype("f8") - b).max() <= 1e-2)

    def test_info_says_what_the_data_hold(self):
        field = waves((4, 6, 5))
        options = {"dz": -2.0, "periodic": "xz", "pin": "ymin", "ties": "zeros", "coder": "huffman"}
        info = factz.inspect(factz.compress_volume(*field, rel=1e-3, **options))
        self.assertTrue((info.shape, info.component, info.rel, info.mode) == ((4, 6, 5), "uvw", 1e-3, "repair"))
        self.assertTrue((info.dz, info.periodic, info.ties, info.coder) == (-2.0, "xz", "zeros", "huffman"))

    def test_missing_values_and_zeros_stay(self):
        u, v, w = waves((9, 10, 11))
        u[3, 4, 5], v[1, 1, 1], w[8] = np.nan, -7.0, 0.0
        u[8] = v[8] = 0.0
        found = factz.decompress_volume(factz.compress_volume(u, v, w, abs=0.05, fill=-7.0))
        self.assertTrue(np.isnan(found[0][3, 4, 5]) and found[1][1, 1, 1] == -7.0)
        self.assertTrue(all((c[8] == 0.0).all() for c in found))

    def test_one_array_and_layouts(self):
        field = waves((6, 7, 9), "f8")
        data = factz.compress_volume(*field, abs=1e-2)
        expected = factz.decompress_volume(data)
        stacked, last = np.stack(field), np.stack(field, -1)
        wide = np.zeros((3, 6, 9, 12))
        wide[:, :, 1:8, 2:11] = stacked
        for arrays in (
            (stacked,),
            (last,),
            tuple(wide[:, :, 1:8, 2:11]),
            tuple(c.copy("F") for c in field),
            tuple(c.astype(">f8") for c in field),
        ):
            self.assertTrue(factz.compress_volume(*arrays, abs=1e-2) == data)
        before = wide.copy()
        for out in (np.empty_like(stacked), np.empty_like(last), tuple(wide[:, :, 1:8, 2:11])):
            found = factz.decompress_volume(data, out=out)
            self.assertTrue(all((a == b).all() for a, b in zip(found, expected)))
            self.assertTrue(np.shares_memory(found[2], out[2] if isinstance(out, tuple) else out))
        factz.decompress_volume(data, out=last)
        self.assertTrue((last == np.stack(expected, -1)).all())
        self.assertTrue((wide[:, :, 1:8, 2:11] == expected).all())
        wide[:, :, 1:8, 2:11] = before[:, :, 1:8, 2:11]
        self.assertTrue((wide == before).all())

    def test_outputs_that_do_not_suit_are_refused(self):
        data = factz.compress_volume(*waves((6, 7, 9)), abs=1e-2)
        room, locked = np.zeros((3, 6, 7, 9), "f4"), np.zeros((3, 6, 7, 9), "f4")
        locked.flags.writeable = False
        for out, error, text in [
            (room[:2], ValueError, "shape"),
            (np.zeros((3, 4, 4, 3), "f4"), ValueError, "may be"),
            (room[:, 0], ValueError, "shape"),
            (tuple(room[:2]), ValueError, "2 arrays"),
            ((*room[:2], [0.0]), TypeError, "list"),
            (locked, ValueError, "read-only"),
            (room[:, :, ::-1], ValueError, "strides"),
            (room.astype("i4"), TypeError, "float32"),
            (room[:, :5], factz.InvalidArgumentError, "nz = 5"),
            (room.astype("f8"), factz.InvalidArgumentError, "dtype"),
        ]:
            with self.assertRaisesRegex(error, text):
                factz.decompress_volume(data, out=out)
        with self.assertRaisesRegex(TypeError, "w is missing"):
            factz.compress_volume(room[0], room[1], abs=1)

    def test_files_with_volumes_among_their_streams(self):
        field = waves((5, 6, 7))
        streams = [factz.compress(*field[:2], abs=0.1), factz.compress_volume(*field, abs=0.1)]
        file = io.BytesIO(b"".join(streams + streams))
        found = factz.steps(file)
        self.assertEqual([step.component for step in found], [None, "uvw", None, "uvw"])
        self.assertEqual([step.offset for step in found][1], len(streams[0]))
        room = np.empty((3, 5, 6, 7), "f4")
        loaded = factz.load(file, step=-1, out=room)
        self.assertTrue((room == factz.decompress_volume(streams[1])).all() and len(loaded) == 3)
        self.assertEqual(len(factz.load(file, step=0)), 2)
        with self.assertRaisesRegex(ValueError, "that of a volume"):
            factz.load(file, step=1, planes=0)

    def test_a_wide_range_is_a_warning(self):
        u, v, w = waves((9, 10, 11))
        w[2, 3, 4] = 1e20
        report = factz.Report()
        with self.assertWarnsRegex(factz.WideRangeWarning, "give fill=, or an absolute bound") as caught:
            factz.compress_volume(u, v, w, rel=1e-3, report=report)
        self.assertTrue(caught.filename == __file__ and report.wide_range)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            factz.compress_volume(u, v, w, rel=1e-3, fill=w[2, 3, 4])

    def test_planes_and_volumes_are_told_apart(self):
        u, v, w = waves((5, 6, 7))
        planes, volume = factz.compress(u, v, abs=0.1), factz.compress_volume(u, v, w, abs=0.1)
        fixes = factz.protect(u, v, u, v, abs=0.1), factz.protect_volume(u, v, w, u, v, w, abs=0.1)
        for text, call in (
            ("the data hold a volume of u, v and w: call factz.decompress_volume", lambda: factz.decompress(volume)),
            ("no volume: call factz.decompress", lambda: factz.decompress_volume(planes)),
            ("the fix belongs to a volume of u, v and w: call factz.apply_volume", lambda: factz.apply(fixes[1], u, v)),
            ("planes of u and v: call factz.apply", lambda: factz.apply_volume(fixes[0], u, v, w)),
        ):
            with self.assertRaises(factz.InvalidArgumentError) as raised:
                call()
            self.assertTrue(str(raised.exception).endswith(text), raised.exception)

    def test_what_is_no_volume_is_refused(self):
        u, v, w = waves((5, 6, 7))
        for call, error in [
            (lambda: factz.compress_volume(u[0], v[0], w[0], abs=0.1), ValueError),
            (lambda: factz.compress_volume(u, v, w[1:], abs=0.1), ValueError),
            (lambda: factz.compress_volume(u, v, w.astype("f8"), abs=0.1), TypeError),
            (lambda: factz.compress_volume(u, v, w), ValueError),
            (lambda: factz.compress_volume(u, v, w, abs=0.1, rel=0.1), ValueError),
            (lambda: factz.compress_volume(u, v, w, abs=0.1, periodic="xx"), ValueError),
            (lambda: factz.compress_volume(u, v, w, abs=0.1, pin="zmid"), ValueError),
            (lambda: factz.compress_volume(u[:1], v[:1], w[:1], abs=0.1), factz.InvalidConfigError),
            (lambda: factz.compress_volume(u, v, w, abs=0.1, ties="sos"), factz.InvalidConfigError),
        ]:
            with self.assertRaises(error):
                call()
        for kind in ("i4", "f2", "c8"):
            strange = np.zeros((3, 4, 5, 6), kind)
            with self.assertRaisesRegex(TypeError, "factz takes float32 and float64, convert it with .astype"):
                factz.compress_volume(strange, abs=0.1)
        data = bytearray(factz.compress_volume(u, v, w, abs=0.1))
        data[-1] ^= 1
        with self.assertRaises(factz.CorruptStreamError):
            factz.decompress_volume(data)


if __name__ == "__main__":
    unittest.main()
