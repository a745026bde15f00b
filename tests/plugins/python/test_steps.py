"""Files of several streams: each is listed and loaded, and what is no stream is named with its place."""

import dataclasses
import io
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np
from support import field

import factz

FIELDS = [field(40, 30), field(33, 47, "f8"), field(8, 8)]
BOUNDS = [{"abs": 0.01}, {"rel": 1e-3}, {"abs": 0.5, "dy": -1}]
STREAMS = [factz.compress(*uv, **bound) for uv, bound in zip(FIELDS, BOUNDS)]
OFFSETS = [sum(map(len, STREAMS[:k])) for k in range(4)]


class Counted(io.BytesIO):
    """A file that counts."""

    seeks = bytes_read = 0

    def seek(self, *place):
        self.seeks += 1
        return super().seek(*place)

    def read(self, *count):
        data = super().read(*count)
        self.bytes_read += len(data)
        return data


class Slow(io.RawIOBase):
    """A file whose reads give a few bytes, as those of sockets do."""

    def __init__(self, data):
        self.inner = io.BytesIO(data)

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, *place):
        return self.inner.seek(*place)

    def readinto(self, buffer):
        return self.inner.readinto(memoryview(buffer)[:100])


class Steps(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "steps.fz")
        self.write(b"".join(STREAMS))

    def write(self, data):
        with open(self.path, "wb") as file:
            file.write(data)

    def refuses(self, kind, parts, call, *arguments, **options):
        with self.assertRaises(kind) as caught:
            call(*arguments, **options)
        for part in parts.split("|"):
            self.assertIn(part, str(caught.exception))

    def test_headers(self):
        with open(self.path, "rb") as file:
            paths = (self.path, self.path.encode(), Path(self.path))
            for source in (*paths, file, io.BytesIO(b"".join(STREAMS))):
                steps = factz.steps(source)
                self.assertEqual((len(steps), repr(steps)), (3, "<factz.Steps: 3 streams>"))
                for k, stream in enumerate(STREAMS):
                    info = dataclasses.asdict(factz.inspect(stream))
                    for step in (steps[k], steps[k - 3]):
                        self.assertEqual(dataclasses.asdict(step), dict(info, offset=OFFSETS[k]))
        self.assertIsInstance(steps[0], factz.Info)
        self.assertEqual([step.shape for step in steps], [(30, 40), (47, 33), (8, 8)])
        self.assertEqual(steps[1:], (steps[1], steps[2]))
        self.assertEqual(steps.index(steps[2]), 2)
        with self.assertRaises(IndexError):
            steps[3]

    def test_reads_headers_alone(self):
        file = Counted(b"".join(STREAMS))
        factz.steps(file)
        self.assertEqual((file.seeks, file.bytes_read), (1 + 3, 3 * 176))
        file = Counted(b"".join(STREAMS))
        factz.load(file, step=1)
        self.assertEqual(file.bytes_read, 2 * 176 + len(STREAMS[1]))

    def test_load(self):
        data = b"".join(STREAMS)
        for source in (self.path, Path(self.path), io.BytesIO(data), Slow(data)):
            for k, stream in enumerate(STREAMS):
                expected = factz.decompress(stream)
                for step in (k, k - 3, np.int64(k)):
                    for got, wanted in zip(factz.load(source, step=step), expected):
                        np.testing.assert_array_equal(got, wanted)
                        self.assertEqual(got.dtype, wanted.dtype)
        out = np.empty((2, 8, 8), "f4")
        u, v = factz.load(self.path, 2, out=(out[0], out[1]), threads=1, verify=False)
        np.testing.assert_array_equal(out, factz.decompress(STREAMS[2]))
        self.assertTrue(np.shares_memory(u, out))

    def test_one_stream_needs_no_number(self):
        self.write(STREAMS[0])
        for options in ({}, {"step": 0}, {"step": -1}):
            np.testing.assert_array_equal(factz.load(self.path, **options), factz.decompress(STREAMS[0]))
        self.refuses(IndexError, "step=1|steps.fz holds 1 stream", factz.load, self.path, step=1)

    def test_which(self):
        self.refuses(ValueError, "steps.fz holds 3 streams|step=|0 to 2|-1", factz.load, self.path)
        for step in (3, -4, 10**12):
            parts = "step=%d|3 streams|0 to 2|-3 to -1" % step
            self.refuses(IndexError, parts, factz.load, self.path, step=step)
        for step in (True, 1.0, "1"):
            self.refuses(TypeError, "step=%r" % step, factz.load, self.path, step=step)

    def test_a_stream_that_is_cut_off(self):
        for there in (1, 100, 128, len(STREAMS[2]) - 1):
            self.write(b"".join(STREAMS)[: OFFSETS[2] + there])
            parts = "steps.fz: stream 2, which begins at byte %d, has %d bytes|missing" % (OFFSETS[2], there)
            self.refuses(factz.CorruptStreamError, parts, factz.steps, self.path)
            for step in (None, 2, -1):
                self.refuses(factz.CorruptStreamError, parts, factz.load, self.path, step)
            for step in (0, 1):
                np.testing.assert_array_equal(factz.load(self.path, step), factz.decompress(STREAMS[step]))

    def test_no_stream(self):
        end = OFFSETS[3]
        self.write(b"".join(STREAMS) + b"what is this")
        parts = "steps.fz: no stream begins at byte %d, where stream 3 should|12 bytes" % end
        self.refuses(factz.CorruptStreamError, parts, factz.steps, self.path)
        self.refuses(factz.CorruptStreamError, parts, factz.load, self.path, step=-1)
        self.write(b"")
        self.refuses(factz.CorruptStreamError, "no stream begins at byte 0", factz.steps, self.path)
        odd = bytearray(b"".join(STREAMS))
        odd[OFFSETS[1] + 4] = 9
        self.write(odd)
        parts = "stream 1, which begins at byte %d: |version 9" % OFFSETS[1]
        self.refuses(factz.UnsupportedVersionError, parts, factz.steps, self.path)
        odd = bytearray(b"".join(STREAMS))
        odd[OFFSETS[1] - 8] ^= 1
        self.write(odd)
        self.refuses(factz.CorruptStreamError, "checksum", factz.load, self.path, step=0)

    def test_files(self):
        self.refuses(FileNotFoundError, "nowhere.fz", factz.steps, "nowhere.fz")
        self.refuses(TypeError, "file is a int: give a path or a binary file object", factz.steps, 3)
        self.refuses(TypeError, "give io.BytesIO(file), or a path", factz.steps, STREAMS[0])
        with open(self.path, encoding="latin-1") as text:
            self.refuses(TypeError, "binary mode", factz.steps, text)
        read, write = os.pipe()
        os.close(write)
        with open(read, "rb") as pipe:
            self.refuses(ValueError, "cannot seek|io.BytesIO(file.read())", factz.steps, pipe)


if __name__ == "__main__":
    unittest.main()
