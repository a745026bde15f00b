"""A region is the slice of the whole field, from bytes and from a file of which only a part is read."""

import io
import unittest

import numpy as np
from support import field

import factz

NX, NY = 700, 500


class Counting(io.BytesIO):
    """A file that counts what is read from it."""

    def __init__(self, data):
        super().__init__(data)
        self.bytes = 0

    def read(self, size=-1):
        # As sockets do: no more than 1000 bytes at once.
        data = super().read(min(size, 1000))
        self.bytes += len(data)
        return data


class Failing(io.BytesIO):
    def read(self, size=-1):
        if self.tell() > 0:
            raise ZeroDivisionError("of the file")
        return super().read(size)


class Regions(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(39)
        self.u, self.v = field(NX, NY)
        self.u += rng.normal(0, 0.02, self.u.shape).astype("f4")
        self.data = factz.compress(self.u, self.v, abs=1e-3)
        self.whole = factz.decompress(self.data)

    def check(self, found, region):
        for part, whole in zip(found, self.whole):
            expected = whole[region]
            self.assertEqual((part.shape, part.dtype), (expected.shape, expected.dtype))
            self.assertEqual(part.tobytes(), expected.tobytes(), region)

    def test_slices_of_all_kinds(self):
        s = np.s_
        for region in (
            s[:, :],
            s[10:20, 30:80],
            s[-40:, -1:],
            s[:-490, 64:65],
            s[32:33, None:None],
            s[400:9999, :7],
            s[5:5, 3:9],
            s[9:2, :],
            s[-9999:3, 699:],
        ):
            with self.subTest(region=region):
                self.check(factz.decompress(self.data, region=region), region)
                self.check(factz.decompress(io.BytesIO(self.data), region=region, threads=1), region)

    def test_outputs_of_the_caller(self):
        region = np.s_[100:130, 200:240]
        out = np.full((30, 40, 2), 7, "f4")
        found = factz.decompress(self.data, (out[..., 0], out[..., 1]), region=region)
        self.assertTrue(np.shares_memory(found[0], out))
        self.check((out[..., 0], out[..., 1]), region)
        message = r"out\[0\] has the shape \(30, 41\), and the part of the field \(30, 40\)"
        with self.assertRaisesRegex(ValueError, message):
            factz.decompress(self.data, (np.empty((30, 41), "f4"),) * 2, region=region)

    def test_little_of_a_file_is_read(self):
        region = np.s_[200:264, 300:364]
        file = Counting(b"before" + self.data + b"behind")
        file.seek(6)
        self.check(factz.decompress(file, region=region), region)
        self.assertLess(file.bytes, len(self.data) / 4)
        self.assertEqual(file.tell(), 6)

    def test_errors(self):
        for region in (3, np.s_[1:2], np.s_[1, 2:3], np.s_[..., 1:2], np.s_[1:2, 1:2, 1:2], "ab"):
            with self.assertRaisesRegex(TypeError, "two slices"):
                factz.decompress(self.data, region=region)
        for region in (np.s_[::2, :], np.s_[:, ::-1]):
            with self.assertRaisesRegex(ValueError, "has a step"):
                factz.decompress(self.data, region=region)
        with self.assertRaisesRegex(TypeError, "data is a file"):
            factz.decompress(io.BytesIO(self.data))
        with self.assertRaises(factz.CorruptStreamError):
            factz.decompress(io.BytesIO(self.data[:-4]), region=np.s_[:1, :1])
        with self.assertRaisesRegex(ZeroDivisionError, "of the file"):
            factz.decompress(Failing(self.data), region=np.s_[:1, :1])
        damaged = bytearray(self.data)
        damaged[-9] ^= 255
        with self.assertRaises(factz.CorruptStreamError):
            factz.decompress(bytes(damaged), region=np.s_[:, :])


class RegionsOfVolumes(unittest.TestCase):
    def setUp(self):
        z, y, x = np.meshgrid(np.arange(60), np.arange(50), np.arange(70), indexing="ij")
        waves = np.stack([np.sin(0.2 * x + 0.1 * z), np.cos(0.17 * y - 0.1 * x), np.sin(0.3 * z + 0.1 * y)])
        noise = np.random.default_rng(40).normal(0, 0.02, waves.shape)
        self.data = factz.compress_volume((waves + noise).astype("f4"), abs=1e-2)
        self.whole = factz.decompress_volume(self.data)

    def check(self, found, region):
        self.assertEqual(len(found), 3)
        for part, whole in zip(found, self.whole):
            expected = whole[region]
            self.assertEqual((part.shape, part.dtype), (expected.shape, expected.dtype))
            self.assertEqual(part.tobytes(), expected.tobytes(), region)

    def test_slices_of_all_kinds(self):
        s = np.s_
        for region in (
            s[:, :, :],
            s[10:20, 30:48, 5:6],
            s[-40:, -1:, :],
            s[59:, 16:17, 32:33],
            s[5:5, 3:9, :],
            s[-9999:3, 400:, 69:],
        ):
            with self.subTest(region=region):
                self.check(factz.decompress_volume(self.data, region=region), region)
                file = io.BytesIO(self.data)
                self.check(factz.decompress_volume(file, region=region, threads=1), region)
                self.check(factz.load(io.BytesIO(self.data), region=region), region)

    def test_outputs_of_the_caller(self):
        region = np.s_[30:34, 20:30, 0:40]
        for out in (np.full((3, 4, 10, 40), 7, "f4"), np.full((4, 10, 40, 3), 7, "f4")):
            report = factz.Report()
            found = factz.decompress_volume(self.data, out=out, region=region, report=report)
            self.assertTrue(all(np.shares_memory(part, out) for part in found))
            self.check(found, region)
            self.assertLess(report.stream_bytes, len(self.data))
        with self.assertRaisesRegex(ValueError, r"out\[0\] has the shape \(4, 10, 41\)"):
            factz.decompress_volume(self.data, out=np.empty((3, 4, 10, 41), "f4"), region=region)

    def test_little_of_a_file_is_read(self):
        region = np.s_[0:8, 0:8, 0:8]
        file = Counting(b"before" + self.data + b"behind")
        file.seek(6)
        self.check(factz.decompress_volume(file, region=region), region)
        self.assertLess(file.bytes, len(self.data) / 2)
        self.assertEqual(file.tell(), 6)

    def test_errors(self):
        for region in (3, np.s_[1:2, :], np.s_[1, 2:3, :], np.s_[..., 1:2]):
            with self.assertRaisesRegex(TypeError, "three slices"):
                factz.decompress_volume(self.data, region=region)
        with self.assertRaisesRegex(ValueError, "has a step"):
            factz.decompress_volume(self.data, region=np.s_[::2, :, :])
        with self.assertRaisesRegex(ValueError, "give region="):
            factz.load(io.BytesIO(self.data), planes=3)
        with self.assertRaisesRegex(TypeError, "data is a file"):
            factz.decompress_volume(io.BytesIO(self.data))
        with self.assertRaisesRegex(factz.InvalidArgumentError, r"call factz\.decompress_volume$"):
            factz.decompress(self.data, region=np.s_[:1, :1])
        with self.assertRaises(factz.CorruptStreamError):
            factz.decompress_volume(io.BytesIO(self.data[:-4]), region=np.s_[:1, :1, :1])
        with self.assertRaisesRegex(ZeroDivisionError, "of the file"):
            factz.decompress_volume(Failing(self.data), region=np.s_[:1, :1, :1])


if __name__ == "__main__":
    unittest.main()
