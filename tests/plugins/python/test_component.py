"""Data of one component: split, joined, and decompressed to one array, as a whole and in part."""

import io
import unittest

import numpy as np
from support import VIOLATIONS, exact_counts, field

import factz


class Components(unittest.TestCase):
    def setUp(self):
        self.u, self.v = field(150, 90)
        self.data = factz.compress(self.u, self.v, rel=1e-3)
        self.halves = factz.split(self.data)
        self.whole = factz.decompress(self.data)

    def same(self, found, expected):
        self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
        self.assertEqual(found.tobytes(), expected.tobytes())

    def test_halves_are_the_components(self):
        for half, name, expected in zip(self.halves, "uv", self.whole):
            self.assertIsInstance(half, bytes)
            info = factz.inspect(half)
            self.assertEqual((info.component, info.shape), (name, self.u.shape))
            self.same(factz.decompress(half), expected)
            out = np.full((90, 300), 7, "f4")
            self.assertIs(factz.decompress(half + b"behind", out[:, ::2], threads=1).base, out)
            self.same(out[:, ::2], expected)
            self.assertTrue((out[:, 1::2] == 7).all())
            self.same(factz.load(io.BytesIO(half)), expected)
        self.assertIsNone(factz.inspect(self.data).component)
        self.assertLess(sum(map(len, self.halves)), 1.2 * len(self.data))

    def test_joined_halves_are_the_data(self):
        for threads in (0, 1, 2):
            self.assertEqual(factz.join(*self.halves, threads=threads), self.data)
            self.assertEqual(factz.split(self.data, threads=threads), self.halves)
        self.assertEqual(factz.join(*map(bytearray, self.halves)), self.data)

    def test_separate_is_split(self):
        report = factz.Report()
        halves = factz.compress(self.u, self.v, rel=1e-3, separate=True, report=report)
        self.assertEqual(halves, self.halves)
        self.assertEqual(report.stream_bytes, len(self.data))

    def test_parts(self):
        u, v = (np.stack([part, 2 * part, -part]) for part in (self.u, self.v))
        data = factz.compress(u, v, abs=0.01, predictor="lorenzo")
        whole = factz.decompress(data)
        region = np.s_[10:70, -40:]
        for half, expected in zip(factz.split(data), whole):
            for source in (lambda: half, lambda: io.BytesIO(half)):
                self.same(factz.decompress(source(), region=region), expected[(slice(None), *region)])
                self.same(factz.decompress(source(), planes=1), expected[1])
                found = factz.decompress(source(), planes=slice(1, 3), region=region)
                self.same(found, expected[1:, 10:70, -40:])
                out = np.empty((60, 40), "f4")
                self.assertIs(factz.decompress(source(), out, planes=-1, region=region), out)
                self.same(out, expected[-1][region])

    def test_the_guarantee_is_that_of_the_field(self):
        for options in ({}, {"mode": "speculative"}, {"predictor": "lorenzo"}):
            halves = factz.compress(self.u, self.v, abs=0.02, separate=True, **options)
            u, v = map(factz.decompress, halves)
            self.assertEqual(factz.compare(self.u, self.v, u, v, abs=0.02).violations, 0)
            [found] = exact_counts([((self.u, self.v, u, v), {"bound": 0.02})])
            self.assertEqual([found[key] for key in VIOLATIONS], [0] * len(VIOLATIONS))

    def test_tiny_and_stored_data(self):
        rng = np.random.default_rng(4)
        for u, v in (rng.normal(size=(2, 1, 1)), rng.normal(size=(2, 3, 50)), np.zeros((2, 64, 64), "f4")):
            data = factz.compress(u, v, abs=1e-12)
            halves = factz.split(data)
            self.assertEqual(factz.join(*halves), data)
            for half, expected in zip(halves, factz.decompress(data)):
                self.same(factz.decompress(half), expected)

    def test_what_does_not_belong_together(self):
        other = factz.split(factz.compress(self.v, self.u, rel=1e-3))
        (du, dv), wrong = self.halves, factz.InvalidArgumentError
        volume = factz.compress_volume(np.zeros((3, 4, 5, 6), "f4"), abs=0.1)
        for call, text in (
            (lambda: factz.join(dv, du), "the stream of u holds component v"),
            (lambda: factz.join(du, other[1]), "pair number"),
            (lambda: factz.join(self.data, dv), "holds both components"),
            (lambda: factz.split(volume), "holds a volume of u, v and w, and streams of planes alone are split"),
            (lambda: factz.join(du, volume), "the stream of v holds a volume"),
            (lambda: factz.split(du), "holds component u alone"),
        ):
            with self.assertRaisesRegex(wrong, text):
                call()
        damaged = bytearray(du)
        damaged[-1] ^= 1
        for call in (lambda: factz.join(damaged, dv), lambda: factz.decompress(damaged)):
            with self.assertRaises(factz.CorruptStreamError):
                call()
        with self.assertRaisesRegex(ValueError, "out must both have|out and out"):
            factz.decompress(du, np.empty(3, "f4"))
        with self.assertRaises(factz.InvalidArgumentError):
            factz.decompress(du, np.empty((3, 4), "f4"))


if __name__ == "__main__":
    unittest.main()
