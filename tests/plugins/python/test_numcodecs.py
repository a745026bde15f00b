"""The codec of numcodecs, alone and in arrays of Zarr v2."""

import json
import unittest

import numcodecs
import numpy as np
import zarr
from support import ROOT
from zarr_fields import BOUND, COARSE, NX, NY, Folder, stack

import factz
from factz.numcodecs import Factz

GOLDEN = ROOT / "tests/golden/zarr/c/0/0/0/0/0"


def create(name, like, codec, **more):
    layout = {"shape": like.shape, "dtype": like.dtype, "filters": None, "zarr_format": 2}
    return zarr.create_array(name, compressors=codec, **{**layout, "chunks": (1, *like.shape[1:]), **more})


class Alone(Folder):
    def test_round_trips(self):
        for lead in ((), (3,), (2, 2)):
            for kind, order in (("<f4", "little"), (">f4", "big"), ("<f8", "little"), (">f8", "big")):
                values = stack(*lead).astype(kind)
                codec = Factz(abs=BOUND, byteorder=order)
                data = codec.encode(values)
                after = codec.decode(data)
                self.assertEqual(after.dtype, values.dtype)
                self.assert_kept(values, after.reshape(values.shape))
                out = np.zeros(values.shape, kind)
                codec.decode(bytearray(data), out=out)
                self.assertEqual(out.tobytes(), after.tobytes())

    def test_configuration(self):
        codec = Factz(abs=0.5, mode="speculative", field=(NY, NX), byteorder="big")
        text = json.dumps(codec.get_config())
        again = numcodecs.get_codec(json.loads(text))
        self.assertEqual((again, again.get_config()), (codec, codec.get_config()))
        self.assertEqual(
            json.loads(text),
            {"id": "factz", "abs": 0.5, "mode": "speculative", "field": [NY, NX], "byteorder": "big"},
        )

    def test_streams_of_zarr_v3(self):
        found = Factz(abs=1).decode(GOLDEN.read_bytes())
        self.assertEqual((found.shape, found.dtype), ((2, 2, 33, 24), np.float32))

    def test_refusals(self):
        values = stack(2)
        codec = Factz(abs=BOUND)
        for text, call in (
            ("byteorder='big'", lambda: codec.encode(values.astype(">f4"))),
            ("byteorder='middle'", lambda: Factz(abs=1, byteorder="middle")),
            ("order='C'", lambda: codec.encode(np.asfortranarray(values))),
            ("order='C'", lambda: codec.encode(values[..., ::2])),
            ("stack both", lambda: codec.encode(values.ravel())),
            ("np.moveaxis", lambda: codec.encode(np.zeros((9, 9, 2), "f4"))),
            ("dtype=int16", lambda: codec.encode(np.zeros(values.shape, "i2"))),
            ("rel=0.1", lambda: Factz(rel=0.1).encode(values)),
            ("halo='xmin'", lambda: Factz(abs=1, halo="xmin")),
        ):
            with self.assertRaises((ValueError, TypeError)) as caught:
                call()
            self.assertIn(text, str(caught.exception))
        good = codec.encode(values)
        for data in (b"", b"x", good[:-4], good + b"abcd", b"\0" * 999, good[:128] * 3):
            with self.assertRaises(factz.CorruptStreamError):
                codec.decode(data)
        with self.assertRaises(ValueError):
            codec.decode(good, out=np.zeros(7, "f4"))


class ZarrV2(Folder):
    def test_arrays(self):
        for kind, order in (("<f4", "little"), (">f8", "big")):
            values = stack(3).astype(kind)
            codec = Factz(abs=COARSE, byteorder=order, mode="speculative")
            array = create("%s.zarr" % order, values, codec, chunks=(2, 2, 16, 20))
            array[...] = values
            again = zarr.open_array("%s.zarr" % order)
            self.assert_kept(values, again[...], bound=COARSE)
            self.assertEqual(again[2, :, 3:5, 7].tobytes(), again[...][2, :, 3:5, 7].tobytes())

    def test_order_of_fortran(self):
        values = stack(2)
        array = create("a.zarr", values, Factz(abs=BOUND), order="F")
        with self.assertRaisesRegex(ValueError, "order='C'"):
            array[...] = values


if __name__ == "__main__":
    unittest.main()
