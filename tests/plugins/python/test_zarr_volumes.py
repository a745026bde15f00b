"""The codecs of Zarr v3 and of numcodecs with volumes, (..., 3, nz, ny, nx)."""

import json
import os
import unittest
from pathlib import Path

import numcodecs
import numpy as np
import xarray
import zarr
from support import ROOT, volume_of_integers, volume_violations, waves_in_space
from zarr_fields import Folder

import factz
from factz.numcodecs import Factz
from factz.zarr import Pair, encoding

BOUND = 0.1
GOLDEN = ROOT / "tests/golden/zarr_volumes"
NZ, NY, NX = SHAPE = (14, 16, 20)


def volumes(*lead, dtype="f4"):
    steps = [waves_in_space(SHAPE, step) for step in range(lead[0] if lead else 1)]
    return (np.array(steps) if lead else steps[0]).astype(dtype)


def create(name, like, chunks, codec):
    layout = {"shape": like.shape, "dtype": like.dtype, "chunks": chunks, "compressors": None}
    return zarr.create_array(name, serializer=codec, **layout)


class Volumes(Folder):
    def refused(self, text, call, *arguments, error=ValueError, **options):
        with self.assertRaises(error) as raised:
            call(*arguments, **options)
        self.assertIn(text, str(raised.exception))

    def test_arrays_and_parts_of_them(self):
        for dtype in ("f4", "f8"):
            values = volumes(2, dtype=dtype)
            for number, (chunks, options) in enumerate(
                (
                    ((1, 3, *SHAPE), {"field": SHAPE}),
                    ((1, 3, 5, 16, 20), {"field": SHAPE, "coder": "huffman"}),
                    ((1, 3, 7, 6, 8), {}),
                )
            ):
                name = "%s%d.zarr" % (dtype, number)
                create(name, values, chunks, Pair(abs=BOUND, mode="repair", **options))[...] = values
                array = zarr.open_array(name)
                after = array[...]
                self.assertLess(sum(f.stat().st_size for f in self.files(name)), values.nbytes)
                for k in range(2):
                    self.assertEqual(volume_violations(values[k], after[k], BOUND), 0)
                part = np.s_[1, :, 3:9, ::2, 5]
                self.assertTrue(np.array_equal(array[part], after[part]))

    @staticmethod
    def files(name):
        return [file for file in Path(name).rglob("*") if file.is_file() and file.name != "zarr.json"]

    def test_chunks_are_streams(self):
        values = volumes()
        options = encoding(values, abs=BOUND, mode="repair", dz=-2)
        self.assertEqual(options["chunks"], (3, *SHAPE))
        self.assertEqual(options["serializer"], Pair(abs=BOUND, mode="repair", dz=-2, field=SHAPE))
        zarr.create_array("a.zarr", shape=values.shape, dtype=values.dtype, **options)[...] = values
        data = self.files("a.zarr")[0].read_bytes()
        self.assertEqual(data, factz.compress_volume(*values, abs=BOUND, dz=-2))
        metadata = zarr.open_array("a.zarr").metadata.to_dict()["codecs"][0]
        self.assertEqual(
            metadata,
            {"name": "factz", "configuration": {"abs": BOUND, "mode": "repair", "dz": -2.0, "field": list(SHAPE)}},
        )

    def test_fill_values_and_periodic_axes(self):
        values = volumes()
        values[1, 2, 3, 4] = -999
        options = {"shape": values.shape, "dtype": "f4", "fill_value": -999, "compressors": None}
        codec = Pair(abs=BOUND, mode="repair", field=SHAPE)
        zarr.create_array("fill.zarr", chunks=values.shape, serializer=codec, **options)[...] = values
        self.assertTrue(np.array_equal(zarr.open_array("fill.zarr")[:, 2, 3, 4], values[:, 2, 3, 4]))
        values = volumes()
        for chunks in ((3, *SHAPE), (3, 7, NY, 10)):
            codec = Pair(abs=0.3, mode="repair", field=SHAPE, periodic="xz")
            create("%d.zarr" % chunks[-1], values, chunks, codec)[...] = values
            after = zarr.open_array("%d.zarr" % chunks[-1])[...]
            closed = [np.pad(a, ((0, 0), (0, 1), (0, 0), (0, 1)), "wrap") for a in (values, after)]
            self.assertEqual(volume_violations(*closed, 0.3), 0)

    def test_a_store_of_before(self):
        """Streams and metadata of a store that was written once. FACTZ_BLESS=1 writes one that is missing."""
        volume = volume_of_integers((9, 10, 12)).astype("f4")
        values, chunks = np.stack([volume, volume[:, ::-1]]), (1, 3, 9, 10, 7)
        codec = Pair(abs=0.25, mode="repair", dz=-1, field=(9, 10, 12))
        create("new.zarr", values, chunks, codec)[...] = values
        if os.environ.get("FACTZ_BLESS") == "1" and not GOLDEN.exists():
            create(str(GOLDEN), values, chunks, codec)[...] = values
        old = zarr.open_array(str(GOLDEN), mode="r")[...]
        self.assertEqual(old.tobytes(), zarr.open_array("new.zarr")[...].tobytes())
        self.assertEqual([volume_violations(a, b, 0.25, -1) for a, b in zip(values, old)], [0, 0])
        self.assertFalse(np.array_equal(values, old))
        self.assertGreater(len(factz.critical_points_volume(volume)), 10)
        texts = [json.loads((Path(path) / "zarr.json").read_text()) for path in (GOLDEN, "new.zarr")]
        for key in ("codecs", "shape", "data_type", "chunk_grid", "zarr_format"):
            self.assertEqual(texts[0][key], texts[1][key])
        names = sorted(path.relative_to(GOLDEN) for path in self.files(GOLDEN))
        self.assertEqual(len(names), 4)
        for name in names:
            self.assertEqual((GOLDEN / name).read_bytes(), (Path("new.zarr") / name).read_bytes())

    def test_xarray(self):
        values = volumes(2)
        axes = ("time", "component", "z", "y", "x")
        dataset = xarray.Dataset({"flow": (axes, values)}, coords={"z": np.arange(NZ)[::-1].astype("f4")})
        self.refused("z runs from 13 to 0: give dz=-1", encoding, dataset.flow, abs=BOUND, mode="repair")
        chosen = encoding(dataset.flow, abs=BOUND, mode="repair", dz=-1)
        dataset.to_zarr("x.zarr", zarr_format=3, consolidated=False, encoding={"flow": chosen})
        after = xarray.open_zarr("x.zarr", consolidated=False).flow.values
        self.assertTrue(np.abs(after - values).max() <= BOUND)

    def test_numcodecs(self):
        for kind, order in (("<f4", "little"), (">f8", "big")):
            values = volumes().astype(kind)
            codec = Factz(abs=BOUND, mode="repair", field=SHAPE, byteorder=order)
            self.assertEqual(numcodecs.get_codec(codec.get_config()), codec)
            after = codec.decode(codec.encode(values[np.newaxis]))
            self.assertEqual((after.shape, after.dtype), (values.shape, values.dtype))
            self.assertEqual(volume_violations(values.astype(kind[1:]), after.astype(kind[1:]), BOUND), 0)
        values = volumes(2)
        layout = {"shape": values.shape, "dtype": "f4", "filters": None, "zarr_format": 2}
        codec = Factz(abs=BOUND, mode="repair")
        zarr.create_array("v2.zarr", chunks=(1, 3, 7, 8, 10), compressors=codec, **layout)[...] = values
        after = zarr.open_array("v2.zarr")[...]
        self.assertEqual([volume_violations(values[k], after[k], BOUND) for k in range(2)], [0, 0])

    def test_what_is_no_volume_is_refused(self):
        values = volumes(2)
        codec = Pair(abs=1, mode="repair")
        self.refused("(..., 3, nz, ny, nx)", create, "a.zarr", values[:, :2], (1, 2, 7, 8, 10), codec)
        self.refused("np.moveaxis(a, -1, -4)", create, "a.zarr", np.zeros((4, 5, 6, 3), "f4"), (4, 5, 6, 3), codec)
        self.refused("a chunk holds u, v and w", create, "a.zarr", values, (1, 1, *SHAPE), codec)
        self.refused("one volume or a part of one", create, "a.zarr", values, (2, 3, *SHAPE), codec)
        self.refused("at least 2 vertices", create, "a.zarr", values, (1, 3, 1, NY, NX), codec)
        self.refused("field=(4, 5, 6), and the array", create, "a.zarr", values, (1, 3, *SHAPE),
                     Pair(abs=1, mode="repair", field=(4, 5, 6)))
        self.refused("rel=0.1 is a fraction", create, "a.zarr", values, (1, 3, 7, NY, NX),
                     Pair(rel=0.1, mode="repair", field=SHAPE))
        self.refused("periodic='z'", create, "a.zarr", values, (1, 3, 5, NY, NX),
                     Pair(abs=1, mode="repair", field=SHAPE, periodic="z"))
        for text, error, options in (
            ("predictor='lorenzo' is no option", TypeError, {"predictor": "lorenzo"}),
            ("field=(3, 3) must be (nz, ny, nx)", ValueError, {"field": (3, 3)}),
            ("ties = sos", factz.InvalidConfigError, {"ties": "sos"}),
            ("dz = 0", factz.InvalidConfigError, {"dz": 0}),
            ("pin='up'", ValueError, {"pin": "up"}),
        ):
            self.refused(text, Pair, abs=1, mode="repair", error=error, **options)
        self.refused("dz=2.0 is no option", Pair, abs=1, dz=2.0, error=TypeError)

    def test_other_streams_and_damage(self):
        values = volumes()
        create("a.zarr", values, (3, *SHAPE), Pair(abs=BOUND, mode="repair"))[...] = values
        file = self.files("a.zarr")[0]
        good = file.read_bytes()
        planes = factz.compress(*values[:2].reshape(2, -1, NX), abs=1)
        for data, text in (
            (planes, "it holds both components, and the array a volume"),
            (good[:-3], "its header says"),
            (good[:150], ""),
            (good[:-9] + bytes([good[-9] ^ 1]) + good[-8:], ""),
        ):
            file.write_bytes(data)
            with self.assertRaises(factz.FactzError) as raised:
                zarr.open_array("a.zarr")[...]
            self.assertIn(text, str(raised.exception))


if __name__ == "__main__":
    unittest.main()
