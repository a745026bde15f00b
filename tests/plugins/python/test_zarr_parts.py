"""Reads of parts of Zarr chunks: the values of the whole, and few bytes of the store."""

import unittest

import numpy as np
import zarr
from zarr_fields import Counting, Folder, put, stack

import factz
from factz._chunk_parts import HEAD, Part, _runs, _span
from factz.zarr import Component, Pair

NX, NY = 700, 500


def noisy(*lead):
    values = stack(*lead, nx=NX, ny=NY)
    values[np.isfinite(values)] += np.random.default_rng(3).normal(0, 0.02, np.isfinite(values).sum())
    return values


class OneChunk(Folder):
    """An array of one chunk, in a store that counts."""

    def create(self, shape, codec):
        self.store = Counting("a.zarr")
        layout = {"shape": shape, "dtype": "f4", "chunks": shape, "compressors": None, "overwrite": True}
        self.array = zarr.create_array(self.store, serializer=codec, **layout)

    def read_all(self):
        [self.size] = self.store.sizes().values()
        self.whole = self.array[...]
        self.store.forget()

    def check(self, part, of_chunk, requests, rounds):
        """The values, the share of the chunk that was read, and how often the store was asked at most."""
        found, expected = self.array[part], self.whole[part]
        read = self.store.bytes / self.size, self.store.requests, self.store.rounds
        self.store.forget()
        self.assertEqual((found.shape, found.tobytes()), (expected.shape, expected.tobytes()))
        for measured, most in zip(read, (of_chunk, requests, rounds)):
            self.assertLessEqual(measured, most, read)


class Parts(OneChunk):
    def setUp(self):
        super().setUp()
        values = noisy(4, 2)
        self.create(values.shape, Pair(abs=1e-3, field=(NY, NX)))
        self.array[...] = values
        self.read_all()

    def test_steps(self):
        # The start of the chunk, then the groups of all selected steps at once.
        for part, of_chunk, requests, rounds in (
            (np.s_[0, 0], 0.13, 2, 2),
            (np.s_[3, 1], 0.13, 2, 2),
            (np.s_[1:3, 1, 0], 0.26, 3, 2),
            (np.s_[::3, 0, 1], 0.26, 3, 2),
            (np.s_[:, 1], 0.51, 5, 2),
            (np.s_[2:2], 0, 0, 0),
            (np.s_[:], 1, 1, 1),
        ):
            with self.subTest(part=part):
                self.check(part, of_chunk, requests, rounds)

    def test_regions(self):
        # The start of the chunk, then all runs of groups at once.
        for part, of_chunk, requests, rounds in (
            (np.s_[0, 0, :, 250:314, 300:364], 0.01, 5, 2),
            (np.s_[0, 0, 1, 250, 300], 0.005, 3, 2),
            (np.s_[0, 0, :, 499, :], 0.01, 2, 2),
            (np.s_[0, 1, :, :, 0], 0.02, 18, 2),
            (np.s_[2, 0, :, 3:300:50, 5:699:9], 0.08, 3, 2),
            (np.s_[:, :, 0, 64:70, 64:70], 0.02, 17, 2),
        ):
            with self.subTest(part=part):
                self.check(part, of_chunk, requests, rounds)

    def test_lists_of_indices_and_masks(self):
        # Products of lists, lists of points, and masks.
        rows, columns = np.array([3, 17, 40]), np.array([2, 2, 650])
        found = self.array.oindex[1, [1], :, rows, columns]
        self.assertTrue(np.array_equal(found, self.whole[1][np.ix_([1], [0, 1], rows, columns)]))
        self.assertLess(self.store.bytes, 0.03 * self.size)
        points = ([0, 3, 3], [1, 0, 0], [0, 1, 1], [9, 400, 400], [5, 6, 60])
        self.store.forget()
        self.assertTrue(np.array_equal(self.array.vindex[points], self.whole[points]))
        self.assertLess(self.store.bytes, 0.2 * self.size)
        mask = np.zeros(self.whole.shape, bool)
        mask[2, 1, :, 100:103, 50:53] = True
        self.store.forget()
        self.assertTrue(np.array_equal(self.array.vindex[mask], self.whole[mask]))
        self.assertLess(self.store.bytes, 0.02 * self.size)
        keep = np.arange(NX) % 100 == 7
        found = self.array.oindex[0, 0, 0, slice(0, 40), keep]
        self.assertTrue(np.array_equal(found, self.whole[0, 0, 0, :40][:, keep]))

    def test_no_chunk(self):
        self.array.resize((8, 2, 2, NY, NX))
        self.assertTrue((self.array[6, 1, :, 3:5] == 0).all())
        self.assertTrue((self.array[6] == 0).all())


class Components(OneChunk):
    """u and v as arrays of their own, whose chunks are halves of pairs."""

    def fill(self, component, half, shape):
        self.create(shape, Component(component))
        put(self.store, "/".join(["c"] + ["0"] * len(shape)), half)
        self.read_all()
        self.assertEqual(self.whole.tobytes(), factz.decompress(half).tobytes())

    def test_steps_and_regions(self):
        values = noisy(4, 2)
        u, v = values.reshape((-1, *values.shape[2:])).swapaxes(0, 1)
        for component, half in zip("uv", factz.compress(u, v, abs=1e-3, separate=True)):
            self.fill(component, half, (4, 2, NY, NX))
            for part, of_chunk, requests, rounds in (
                (np.s_[3, 1], 0.13, 2, 2),
                (np.s_[1:3, 1], 0.26, 3, 2),
                (np.s_[::3, 0], 0.26, 3, 2),
                (np.s_[2:2], 0, 0, 0),
                (np.s_[:], 1, 1, 1),
                (np.s_[0, 0, 250:314, 300:364], 0.012, 5, 2),
                (np.s_[0, 1, 250, 300], 0.007, 3, 2),
                (np.s_[2, 0, 3:300:50, 5:699:9], 0.08, 3, 2),
            ):
                with self.subTest(component=component, part=part):
                    self.check(part, of_chunk, requests, rounds)

    def test_contents(self):
        values = stack(40, nx=90, ny=70)
        for options in ({"predictor": "lorenzo"}, {"coder": "huffman", "mode": "speculative"}):
            [half, _] = factz.compress(values[:, 0], values[:, 1], abs=0.01, separate=True, **options)
            self.fill("u", half, (40, 70, 90))
            # The groups of plane 2 begin within the start of the chunk that is read first.
            for part in (np.s_[::3], np.s_[39], np.s_[2::30, 31:33, :], np.s_[-1, 3, 3]):
                with self.subTest(options=options, part=part):
                    self.check(part, 1.1, 3, 2)
        # What is written through the codec, also within shards.
        v = np.ascontiguousarray(values[:, 1])
        layout = {"shape": v.shape, "dtype": "f4", "compressors": None, "chunks": (20, 70, 90)}
        for name, shards in (("b.zarr", None), ("c.zarr", (40, 70, 90))):
            array = zarr.create_array(name, serializer=Component("v"), shards=shards, **layout)
            array[...] = v
            for part in (np.s_[7], np.s_[::19, 31:33, 3], np.s_[39, 69, 89]):
                self.assertEqual(array[part].tobytes(), v[part].tobytes())

    def test_a_half_that_is_longer_than_its_values(self):
        rng = np.random.default_rng(0)
        u = (rng.normal(size=(256, 256)) * 10.0 ** rng.integers(-30, 30, (256, 256))).astype("f4")
        [half, _] = factz.compress(u, np.zeros_like(u), abs=1e-9, separate=True)
        self.assertGreater(len(half), u.nbytes + 1000)
        self.fill("u", half, u.shape)
        self.check(np.s_[100:103, 200], 0.12, 3, 2)

    def test_damage(self):
        values = noisy(1)[0]
        half, other = factz.compress(*values, abs=1e-3, separate=True)
        self.fill("u", half, (NY, NX))
        both = factz.compress(*values, abs=1e-3)
        for data in (b"", half[:100], half[: len(half) // 2], b"\0" * 9999, other, both):
            put(self.store, "c/0/0", data)
            with self.assertRaises(factz.CorruptStreamError):
                self.array[-2:, 3]


class Contents(Folder):
    def test_planes_that_share_groups_and_exact_values(self):
        values = stack(40, nx=90, ny=70)
        layout = {"shape": values.shape, "dtype": "f4", "chunks": values.shape, "compressors": None}
        noise = np.random.default_rng(4).normal(size=values.shape).astype("f4")
        for number, (array, options) in enumerate(
            (
                (values, {"abs": 0.01}),
                (values, {"abs": 0.01, "predictor": "lorenzo"}),
                (values, {"abs": 0.01, "coder": "huffman", "mode": "speculative"}),
                (noise, {"abs": 0}),
            )
        ):
            store = Counting("%d.zarr" % number)
            zarr.create_array(store, serializer=Pair(**options), **layout)[...] = array
            found = zarr.open_array(store)
            [size], whole = store.sizes().values(), found[...]
            for part in (
                np.s_[::3],
                np.s_[39, 0],
                np.s_[2::30, :, 31:33, :],
                np.s_[:39:19, 1, 69, 80:],
                np.s_[-1, :, 3, 3],
            ):
                with self.subTest(options=options, part=part):
                    store.forget()
                    self.assertEqual(found[part].tobytes(), whole[part].tobytes())
                    self.assertLessEqual(store.rounds, 2)
            self.assertLess(store.bytes, 0.5 * size)


class Volumes(Folder):
    def test_regions(self):
        n = 96
        z, y, x = np.meshgrid(*[np.arange(n)] * 3, indexing="ij")
        waves = [np.sin(0.2 * x + 0.1 * z), np.cos(0.17 * y - 0.1 * x), np.sin(0.3 * z + 0.1 * y)]
        values = np.stack(waves) + np.random.default_rng(5).normal(0, 0.02, (3, n, n, n))
        store = Counting("v.zarr")
        layout = {"shape": (2, 3, n, n, n), "dtype": "f4", "chunks": (1, 3, n, n, n), "compressors": None}
        codec = Pair(abs=1e-2, mode="repair", field=(n, n, n))
        zarr.create_array(store, serializer=codec, **layout)[1] = values
        array = zarr.open_array(store)
        [size], whole = store.sizes().values(), array[1]
        # The start of the chunk, then groups and the directory of repaired vertices, then these.
        for part, of_chunk in (
            (np.s_[:, 0:8, 0:8, 0:8], 0.15),
            (np.s_[0, 40, :, :], 0.5),
            (np.s_[2, 95, 95, 95], 0.15),
            (np.s_[1, 16:40:5, 3, -20:], 0.3),
            (np.s_[:, 5:5], 0),
        ):
            with self.subTest(part=part):
                store.forget()
                found = array[(1, *(part if isinstance(part, tuple) else (part,)))]
                self.assertEqual(found.tobytes(), whole[part].tobytes())
                self.assertLessEqual(store.bytes, of_chunk * size)
                self.assertLessEqual(store.rounds, 3)
        # A chunk that was never written.
        self.assertTrue((array[0, :, 3:5, 7] == 0).all())


class Stores(Folder):
    def test_chunks_shorter_than_the_first_request(self):
        values = stack(2, nx=20, ny=12)
        layout = {"shape": values.shape, "dtype": "f4", "chunks": (2, 2, 12, 20), "compressors": None}
        for store in (
            zarr.storage.MemoryStore(),
            zarr.storage.LocalStore("a.zarr"),
            zarr.storage.ZipStore("a.zip", mode="w"),
        ):
            with self.subTest(store=type(store).__name__):
                array = zarr.create_array(store, serializer=Pair(abs=0.1), **layout)
                array[...] = values
                whole = array[...]
                for part in (np.s_[1], np.s_[0, :, 3:5, 2:9], np.s_[:, 1, 11, 19]):
                    self.assertTrue(np.array_equal(array[part], whole[part], equal_nan=True), part)
                store.close()


class Selections(unittest.TestCase):
    def test_spans(self):
        for part, span in (
            (slice(None), (0, 9)),
            (slice(3, 5), (3, 5)),
            (slice(1, 9, 3), (1, 8)),
            (slice(7, 2, -2), (3, 8)),
            (slice(5, 5), (0, 0)),
            (4, (4, 5)),
            (np.int64(8), (8, 9)),
            (np.array([5, 2, 2]), (2, 6)),
            (np.array([], int), (0, 0)),
            (np.arange(9) % 4 == 3, (3, 8)),
            (-1, None),
            (np.array([9]), None),
            (None, None),
            ("x", None),
        ):
            self.assertEqual(_span(part, 9), span, part)

    def test_runs(self):
        wanted = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)
        for gap, runs in ((0, [(1, 3), (5, 6)]), (2, [(1, 3), (5, 6)]), (3, [(1, 6)])):
            self.assertEqual(_runs(wanted, gap), [slice(*run) for run in runs], gap)
        self.assertEqual(_runs(wanted[2], 1), [])
        self.assertEqual(_runs(np.ones((), bool), 1), [slice(0, 1)])

    def test_unknown_selections_take_the_whole_chunk(self):
        for selection in (..., (slice(1), ...), np.ones((3, 2, 4, 5), bool), (0, 0, 0, None), ()):
            self.assertTrue(Part(selection, (3, 2, 4, 5), "f4").is_most, selection)
        for selection in (..., (slice(1), ...), np.ones((3, 4, 5), bool), (0, 0, None), ()):
            self.assertTrue(Part(selection, (3, 4, 5), "f4", "u").is_most, selection)
        self.assertTrue(Part((0, slice(4), slice(5)), (1, 4, 5), "f4", "u").is_most)
        self.assertFalse(Part((0, slice(4), slice(5)), (3, 4, 5), "f4", "u").is_most)
        self.assertTrue(Part((slice(2), slice(4), slice(5)), (3, 4, 5), "f4", "u").is_most)
        self.assertFalse(Part((slice(2), slice(3), slice(5)), (3, 4, 5), "f4", "u").is_most)
        self.assertFalse(Part((0, slice(2), slice(4), slice(5)), (3, 2, 4, 5), "f4").is_most)
        self.assertTrue(Part((0, slice(2), slice(4), slice(5)), (1, 2, 4, 5), "f4").is_most)
        self.assertGreaterEqual(HEAD, 128)


if __name__ == "__main__":
    unittest.main()
