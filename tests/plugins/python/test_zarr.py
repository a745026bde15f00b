"""The codec of Zarr v3 with zarr-python: guarantee, chunks, shards, types, metadata, damage, threads."""

import concurrent.futures
import json
import os
import pickle
import re
import subprocess
import sys
import unittest

import numpy as np
import zarr
from support import ROOT, VIOLATIONS
from zarr_fields import BOUND, COARSE, NX, NY, Counting, Folder, put, stack, torus, violations_on_torus

import factz
import factz.zarr
from factz.zarr import Pair, encoding

GOLDEN = ROOT / "tests/golden/zarr"


def create(store, like, chunks=None, codec=None, **more):
    codec = Pair(abs=BOUND, field=like.shape[-2:]) if codec is None else codec
    chunks = chunks or (1,) * (like.ndim - 3) + like.shape[-3:]
    layout = {"shape": like.shape, "dtype": like.dtype, "chunks": chunks, "compressors": None, **more}
    return zarr.create_array(store, serializer=codec, **layout)


def written(store, values, *arguments, **more):
    create(store, values, *arguments, **more)[...] = values
    return zarr.open_array(store)


class Guarantee(Folder):
    def test_all_shapes_and_types(self):
        # zarr-python 3.0 has no big-endian arrays.
        kinds = ("<f4", "<f8") if zarr.__version__.startswith("3.0.") else ("<f4", ">f4", "<f8", ">f8")
        for lead in ((), (3,), (2, 2)):
            for kind in kinds:
                with self.subTest(lead=lead, kind=kind):
                    values = stack(*lead).astype(kind)
                    name = "%d%s.zarr" % (len(lead), kind[1:] + "lb"[kind < "="])
                    array = create(name, values)
                    array[...] = values
                    after = array[...]
                    self.assert_kept(values, after)
                    # The metadata have no byte order.
                    again = zarr.open_array(name)[...]
                    self.assertEqual(again.dtype, values.dtype.newbyteorder("="))
                    self.assertTrue(np.array_equal(again, after, equal_nan=True))

    def test_chunks_smaller_than_the_field(self):
        values = stack(2)
        for number, chunks in enumerate(((1, 2, 16, 16), (2, 2, 9, NX), (1, 2, NY, 20), (1, 2, 50, 60))):
            for options in ({"field": (NY, NX)}, {"mode": "speculative"}, {"predictor": "lorenzo"}):
                with self.subTest(chunks=chunks, options=options):
                    codec = Pair(abs=COARSE, **options)
                    name = "%d%s.zarr" % (number, "".join(options))
                    self.assert_kept(values, written(name, values, chunks, codec)[...], bound=COARSE)

    def test_the_borders_of_chunks_are_what_keeps_the_points(self):
        values = stack(1)
        after = values.copy()
        for y in range(0, NY, 16):
            for x in range(0, NX, 16):
                part = np.s_[0, :, y : y + 16, x : x + 16]
                after[part] = factz.decompress(factz.compress(*values[part], abs=COARSE))
        self.assertGreater(sum(self.violations(values, after, bound=COARSE).values()), 0)

    def test_values_that_pad_the_last_chunks(self):
        clean = stack(2)
        for number, fill in enumerate((0.0, 5.0, -999.0, 9.96921e36, np.nan, np.inf)):
            with self.subTest(fill=fill):
                values = clean.copy()
                more = {}
                if np.isfinite(fill) and fill:
                    values[:, :, 10:20, 5:13] = fill
                    more = {"fill": float(np.float32(fill))}
                array = written(
                    "%d.zarr" % number, values, (1, 2, 16, 16), Pair(abs=COARSE), fill_value=fill
                )
                self.assert_kept(values, array[...], bound=COARSE, **more)
                filled = values == np.float32(fill)
                self.assertEqual(values[filled].tobytes(), array[...][filled].tobytes())

    def test_relative_bounds(self):
        values = stack(2)
        values[~np.isfinite(values)] = 0.5
        array = written("a.zarr", values, codec=Pair(rel=0.02, field=(NY, NX)))
        for before, after in zip(values, array[...]):
            self.assertEqual(factz.compare(*before, *after, rel=0.02).violations, 0)
            self.assertGreater(np.abs(before - after).max(), 0.01)

    def test_a_chunk_is_one_stack(self):
        for lead in ((3,), (2, 2)):
            values = stack(*lead)
            written("%d.zarr" % len(lead), values, values.shape)
            data = open_bytes("%d.zarr/c/%s" % (len(lead), "/".join("0" * values.ndim)))
            u, v = values.reshape((-1, *values.shape[-3:])).swapaxes(0, 1)
            self.assertEqual(data, factz.compress(u, v, abs=BOUND))

    def test_periodic_axes(self):
        """Chunks that are as long as the field are compressed as periodic, others have exact borders."""
        values = torus(2, nx=48, ny=36)
        lost = written("a.zarr", values, codec=Pair(abs=COARSE, field=(36, 48)))[...]
        self.assertGreater(violations_on_torus(values, lost), 0)
        for number, (chunk, axes) in enumerate(
            (((36, 48), "xy"), ((12, 48), "x"), ((36, 16), "y"), ((12, 16), None))
        ):
            with self.subTest(chunk=chunk):
                codec, name = Pair(abs=COARSE, field=(36, 48), periodic="xy"), "%d.zarr" % number
                after = written(name, values, (2, 2, *chunk), codec)[...]
                self.assertEqual(violations_on_torus(values, after), 0)
                self.assertEqual(factz.inspect(open_bytes(name + "/c/0/0/0/0")).periodic, axes)

    def test_shards(self):
        values = stack(4)
        store = Counting("a.zarr")
        array = written(store, values, (1, 2, 20, NX), Pair(abs=COARSE), shards=(2, 2, 40, NX))
        self.assert_kept(values, array[...], bound=COARSE)
        self.assertEqual(len(store.sizes()), 2)
        for part in (np.s_[3], np.s_[1, :, 4:9, 8:], np.s_[:, 0, 3, 4]):
            self.assertTrue(np.array_equal(array[part], array[...][part], equal_nan=True), part)

    def test_a_compressor_behind_the_codec(self):
        values = stack(2)
        codecs = {"compressors": zarr.codecs.ZstdCodec()}
        self.assert_kept(values, written("a.zarr", values, **codecs)[...])

    def test_chunks_of_the_fill_value_alone(self):
        values = stack(3)
        values[1] = 0
        store = Counting("a.zarr")
        array = written(store, values)
        self.assertEqual(len(store.sizes()), 2)
        self.assertTrue(np.array_equal(array[1], values[1]))
        self.assertTrue(np.array_equal(array[1, :, 3:5, 2], values[1, :, 3:5, 2]))


class Metadata(Folder):
    def test_configurations(self):
        options = {"abs": np.float32(0.5), "pin": ["ymin", "ymax"], "fill": np.int64(7), "ties": "zeros"}
        codec = Pair(field=(np.int64(NY), NX), mode="speculative", dy=-1, periodic="x", **options)
        text = json.dumps(codec.to_dict())
        expected = {"abs": 0.5, "mode": "speculative", "ties": "zeros", "dy": -1.0, "pin": "ymin+ymax"}
        expected.update(fill=7.0, periodic="x", field=[NY, NX])
        self.assertEqual(json.loads(text)["configuration"], expected)
        again = Pair.from_dict(json.loads(text))
        self.assertEqual((again, hash(again), repr(again)), (codec, hash(codec), repr(codec)))
        self.assertEqual(pickle.loads(pickle.dumps(codec)), codec)
        self.assertNotEqual(codec, Pair(abs=0.5))

    def test_options_reach_the_encoder(self):
        values = stack(1)
        options = {
            "mode": "speculative",
            "coder": "huffman",
            "preserve": "points",
            "ties": "sos",
            "fill": 2.0,
        }
        written("a.zarr", values, codec=Pair(abs=0.25, dx=2, dy=-1, **options))
        info = factz.inspect(open_bytes("a.zarr/c/0/0/0/0"))
        found = {name: getattr(info, name) for name in (*options, "abs", "dx", "dy")}
        self.assertEqual(found, {**options, "abs": 0.25, "dx": 2.0, "dy": -1.0})

    def test_a_store_of_before(self):
        """Streams and metadata of a store that was written once. FACTZ_BLESS=1 writes one that is missing."""
        values = stack(2, 2, nx=40, ny=33)
        codec = Pair(abs=BOUND, mode="speculative", dy=-1, field=(33, 40))
        new = written("new.zarr", values, (1, 2, 2, 33, 24), codec)
        if os.environ.get("FACTZ_BLESS") == "1" and not GOLDEN.exists():
            written(str(GOLDEN), values, (1, 2, 2, 33, 24), codec)
        old = zarr.open_array(str(GOLDEN), mode="r")
        self.assertEqual(old[...].tobytes(), new[...].tobytes())
        self.assert_kept(values, old[...], spacing=[1, -1])
        texts = [json.loads(open_bytes("%s/zarr.json" % path)) for path in (GOLDEN, "new.zarr")]
        for key in ("codecs", "shape", "data_type", "chunk_grid", "zarr_format"):
            self.assertEqual(texts[0][key], texts[1][key])
        files = sorted(path.relative_to(GOLDEN) for path in (GOLDEN / "c").rglob("*") if path.is_file())
        self.assertEqual(len(files), 4)
        for path in files:
            self.assertEqual(open_bytes(GOLDEN / path), open_bytes("new.zarr" / path))


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


class Refusals(Folder):
    def refused(self, text, call, *arguments, kind=(ValueError, TypeError), **options):
        with self.assertRaises(kind) as caught:
            call(*arguments, **options)
        self.assertIn(text, str(caught.exception))

    def test_arrays_that_hold_no_fields(self):
        for shape, chunks, text in (
            ((6, NY, NX), None, "np.stack([u, v], -3)"),
            ((6, NY, NX, 2), None, "np.moveaxis(a, -1, -3)"),
            ((NY, NX), (NY, NX), "stack both"),
            ((6, 2, NY, NX), (1, 1, NY, NX), "chunks=(1, 1, 38, 47)"),
        ):
            like = np.broadcast_to(np.float32(0), shape)
            self.refused(text, create, "a.zarr", like, chunks, Pair(abs=1))
        like = stack(4)
        self.refused("chunks=(1, 1, 38, 47)", create, "a.zarr", like, (1, 1, NY, NX), shards=(2, 2, NY, NX))
        for kind, text in (("i2", "scale_factor"), ("f2", ".astype"), ("c8", ".astype")):
            self.refused(text, create, "a.zarr", np.zeros(like.shape, kind))
        self.refused("dtype=int16", create, "a.zarr", np.zeros(like.shape, "i2"), shards=like.shape)

    def test_options_that_contradict_the_array(self):
        like = stack(4)
        self.refused("field=(38, 48)", create, "a.zarr", like, codec=Pair(abs=1, field=(NY, NX + 1)))
        for codec, chunks in (
            (Pair(rel=0.1), None),
            (Pair(rel=0.1, field=(NY, NX)), (2, 2, NY, NX)),
            (Pair(rel=0.1, field=(NY, NX)), (1, 2, NY, 20)),
        ):
            self.refused("rel=0.1", create, "a.zarr", like, chunks, codec)
        for options, chunks in (
            ({}, None),
            ({"field": (NY, NX)}, (1, 2, NY, 20)),
            ({"field": (NY, NX)}, (1, 2, NY, 50)),
        ):
            codec = Pair(abs=1, periodic="x", **options)
            self.refused("periodic='x', and chunks=", create, "a.zarr", like, chunks, codec)
            create("preserve.zarr", like, chunks, Pair(abs=1, periodic="x", preserve="none"), overwrite=True)
        create("c.zarr", like, (1, 2, 20, NX), Pair(abs=1, periodic="x", field=(NY, NX)))
        sharded = create("d.zarr", like, (1, 2, NY, 20), Pair(abs=1, periodic="x"), shards=(4, 2, NY, 60))
        self.refused("periodic='x'", sharded.__setitem__, ..., like)
        array = create("b.zarr", like)
        self.refused("field=(38, 47)", array.resize, (4, 2, NY + 1, NX))
        array.resize((5, 2, NY, NX))

    def test_options_that_are_none(self):
        for text, options in (
            ("give one bound", {}),
            ("give one bound", {"abs": 1, "rel": 1}),
            ("= -1", {"abs": -1}),
            ("abs='x'", {"abs": "x"}),
            ("mode='slow'", {"abs": 1, "mode": "slow"}),
            ("predictor", {"abs": 1, "mode": "speculative", "predictor": "lorenzo"}),
            ("halo='xmin'", {"abs": 1, "halo": "xmin"}),
            ("level=3", {"abs": 1, "level": 3}),
            ("pin='up'", {"abs": 1, "pin": "up"}),
            ("periodic='z'", {"abs": 1, "periodic": "z"}),
            ("periodic", {"abs": 1, "periodic": "x", "pin": "xmin"}),
            ("fill=nan", {"abs": 1, "fill": float("nan")}),
            ("fill='x'", {"abs": 1, "fill": "x"}),
            ("field=3", {"abs": 1, "field": 3}),
            ("field[0]=0", {"abs": 1, "field": (0, 3)}),
        ):
            with self.subTest(options=options):
                self.refused(text, Pair, **options)

    def test_encoding(self):
        values = stack(2)
        found = encoding(values, abs=1, dy=-1)
        self.assertEqual(found["serializer"], Pair(abs=1, dy=-1, field=(NY, NX)))
        self.assertEqual((found["chunks"], found["compressors"]), ((1, 2, NY, NX), None))
        self.assertEqual(encoding(values, abs=1, chunks=(2, 2, 8, NX))["chunks"], (2, 2, 8, NX))
        for text, array, options in (
            ("np.moveaxis", np.moveaxis(values, -3, -1), {}),
            ("dtype=int32", np.zeros(values.shape, "i4"), {}),
            ("chunks=(2, 8, 8)", values, {"chunks": (2, 8, 8)}),
            ("chunks=(1, 1, 8, 8)", values, {"chunks": (1, 1, 8, 8)}),
        ):
            self.refused(text, encoding, array, abs=1, **options)
        self.refused("rel=0.1", encoding, values, rel=0.1, chunks=(2, 2, NY, NX))
        self.refused("periodic='y'", encoding, values, abs=1, periodic="y", chunks=(2, 2, 9, NX))


class Damage(Folder):
    def test_chunks_that_are_no_streams(self):
        values = stack(1)
        store = zarr.storage.MemoryStore()
        array = written(store, values, (1, 2, NY, NX))
        key = "c/0/0/0/0"
        good = factz.compress(*values[0], abs=BOUND)
        damaged = bytearray(good)
        damaged[len(good) // 2] ^= 255
        parts = (np.s_[0], np.s_[0, :, 3:5, 3:5])
        for data, text in (
            (factz.split(good)[0], "it holds component u, and the array both components"),
            (b"", "128"),
            (b"x", "128"),
            (good[:100], "128"),
            (good[:-4], "its header says"),
            (good + b"\0" * 4, "it has %d bytes, and its header says %d" % (len(good) + 4, len(good))),
            (good + good, "it has %d bytes" % (2 * len(good))),
            (bytes(damaged), "checksum"),
            (b"\0" * 9999, "does not begin with the mark"),
            (
                good[:112] + (2**40).to_bytes(8, "little") + good[120:],
                "its header says 1099511627776 bytes",
            ),
            (factz.compress(*values[0].astype("f8"), abs=1), "it holds float64"),
            (factz.compress(*values[0, :, :9], abs=1), "it holds float32 of the shape (9, 47)"),
            (factz.compress(*values[[0, 0]].swapaxes(0, 1), abs=1), "of the shape (2, 38, 47)"),
        ):
            put(store, key, data)
            with self.subTest(text=text):
                with self.assertRaisesRegex(factz.CorruptStreamError, re.escape(text)):
                    array[parts[0]]
        # A part of a field has no checksum: damage of what it does not take is not found.
        huge = good[:112] + (2**40).to_bytes(8, "little") + good[120:]
        for data in (b"", b"x", good[:100], good[: len(good) // 2], b"\0" * 9999, huge):
            put(store, key, data)
            with self.assertRaises(factz.CorruptStreamError):
                array[parts[1]]
        put(store, key, good)
        self.assert_kept(values, array[...])

    def test_random_damage_is_an_error_or_values(self):
        values = stack(2, nx=300, ny=200)
        store = zarr.storage.MemoryStore()
        array = written(store, values, (2, 2, 200, 300), Pair(abs=1e-3))
        [good] = [data.to_bytes() for key, data in store._store_dict.items() if key.startswith("c/")]
        rng = np.random.default_rng(7)
        outcomes = {"error": 0, "values": 0}
        for _ in range(300):
            data = bytearray(good[: rng.integers(0, len(good) + 1)] if rng.random() < 0.2 else good)
            for _ in range(rng.integers(1, 4)):
                if data:
                    most = len(data) if rng.random() < 0.8 else min(len(data), 400)
                    data[rng.integers(most)] = rng.integers(256)
            put(store, "c/0/0/0/0", bytes(data))
            try:
                part = array[1, :, :8, :8]
                self.assertEqual(part.shape, (2, 8, 8))
                outcomes["values"] += 1
            except factz.FactzError:
                outcomes["error"] += 1
        self.assertGreater(min(outcomes.values()), 10, outcomes)


ONE_THREAD = """
import sys, numpy as np, zarr
zarr.config.set({"threading.max_workers": 1})
import factz.zarr
array = zarr.open_array(sys.argv[1], mode="r")
found = array[:, :, 3:9, 3:9]
print(found.shape)
"""


class Threads(Folder):
    def test_many_chunks_at_once(self):
        values = stack(12)
        array = written("a.zarr", values, (1, 2, 20, NX), Pair(abs=COARSE))
        whole = array[...]
        parts = [np.s_[k, :, k : k + 9, 2 * k :] for k in range(12)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for part, found in zip(parts * 4, pool.map(lambda p: array[p], parts * 4)):
                self.assertTrue(np.array_equal(found, whole[part], equal_nan=True))
            again = create("b.zarr", values, (1, 2, 20, NX), Pair(abs=COARSE))
            list(pool.map(lambda k: again.__setitem__(k, values[k]), range(12)))
        self.assertEqual(again[...].tobytes(), whole.tobytes())

    def test_the_only_thread_does_not_wait_for_itself(self):
        values = stack(12, nx=300, ny=200)
        values[np.isfinite(values)] += np.random.default_rng(1).normal(0, 0.1, np.isfinite(values).sum())
        written("a.zarr", values, (3, 2, 200, 300), Pair(abs=1e-3))
        command = [sys.executable, "-c", ONE_THREAD, "a.zarr"]
        done = subprocess.run(command, stdout=subprocess.PIPE, timeout=120, check=True, text=True)
        self.assertEqual(done.stdout, "(12, 2, 6, 6)\n")


class Components(Folder):
    """Arrays of u and of v, whose chunks are the halves of pairs."""

    def create(self, name, values, component, **more):
        layout = {"shape": values.shape, "dtype": values.dtype, "chunks": (1, *values.shape[1:])}
        codec = factz.zarr.Component(component)
        return zarr.create_array(name, serializer=codec, compressors=None, **layout, **more)

    def test_halves_are_read_with_the_guarantee(self):
        values = stack(3)
        for component, part in zip("uv", np.moveaxis(values, 1, 0)):
            self.create(component, part, component)
        for step, (u, v) in enumerate(values):
            for component, half in zip("uv", factz.compress(u, v, abs=BOUND, separate=True)):
                path = os.path.join(component, "c", str(step), "0", "0")
                os.makedirs(os.path.dirname(path))
                with open(path, "wb") as file:
                    file.write(half)
        self.assert_kept(values, np.stack([zarr.open_array(component)[...] for component in "uv"], 1))

    def test_stacks_in_one_stream(self):
        values = stack(3)
        data = factz.compress(values[:, 0], values[:, 1], abs=BOUND, separate=True)[1]
        layout = {"shape": values[:, 1].shape, "chunks": values[:, 1].shape, "dtype": values.dtype}
        codec = factz.zarr.Component("v")
        array = zarr.create_array("v", serializer=codec, compressors=None, **layout)
        os.makedirs("v/c/0/0")
        with open("v/c/0/0/0", "wb") as file:
            file.write(data)
        self.assertEqual(array[...].tobytes(), factz.decompress(data).tobytes())

    def test_what_is_written_is_exact(self):
        values = stack(2)[:, 0]
        self.create("u", values, "u")[...] = values
        self.assertEqual(zarr.open_array("u")[...].tobytes(), values.tobytes())
        self.create("planes", stack(2, 3)[:, :, 1], "v")[...] = stack(2, 3)[:, :, 1]
        self.assertEqual(zarr.open_array("planes")[...].tobytes(), stack(2, 3)[:, :, 1].tobytes())
        with open("u/zarr.json") as file:
            codecs = json.load(file)["codecs"]
        self.assertEqual(codecs, [{"name": "factz.component", "configuration": {"component": "u"}}])

    def test_other_chunks_are_refused(self):
        values = stack(1)
        both = factz.compress(*values[0], abs=BOUND)
        u, v = factz.split(both)
        small = factz.split(factz.compress(*values[0][:, :9], abs=BOUND))[0]
        array = self.create("u", values[:, 0], "u")
        os.makedirs("u/c/0/0")
        for data, text in (
            (both, "it holds both components, and the array component u"),
            (v, "it holds component v, and the array component u"),
            (small, "of the shape"),
            (u + u, "it has %d bytes, and its header says %d" % (2 * len(u), len(u))),
            (u[:-4], "its header says"),
        ):
            with open("u/c/0/0/0", "wb") as file:
                file.write(data)
            with self.assertRaisesRegex(factz.CorruptStreamError, text):
                array[...]
        for wrong in ("w", None, 1):
            with self.assertRaisesRegex(ValueError, "give .u. or .v."):
                factz.zarr.Component(wrong)
        with self.assertRaisesRegex(TypeError, "dtype=int32"):
            self.create("i", np.zeros((1, NY, NX), "i4"), "u")


if __name__ == "__main__":
    unittest.main()
