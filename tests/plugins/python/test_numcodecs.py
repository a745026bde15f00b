"""The codecs of numcodecs, alone and in arrays of Zarr v2."""

import json
import os
import unittest

import numcodecs
import numpy as np
import zarr
from support import ROOT
from zarr_fields import BOUND, COARSE, NX, NY, Folder, stack

import factz
import factz.zarr
from factz.numcodecs import Component, Factz

GOLDEN = ROOT / "tests/golden/zarr/c/0/0/0/0/0"


def create(name, like, codec, **more):
    layout = {"shape": like.shape, "dtype": like.dtype, "filters": None, "zarr_format": 2}
    return zarr.create_array(name, compressors=codec, **{**layout, "chunks": (1, *like.shape[1:]), **more})


class Codecs(Folder):
    def assert_refused(self, text, call):
        with self.assertRaises((ValueError, TypeError)) as caught:
            call()
        self.assertIn(text, str(caught.exception))


class Alone(Codecs):
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
            self.assert_refused(text, call)
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


class OneComponent(Codecs):
    """u or v alone: halves of pairs, and what is written through the codec."""

    def test_halves(self):
        u, v = stack(3).swapaxes(0, 1)
        for component, half in zip("uv", factz.compress(u, v, abs=BOUND, separate=True)):
            codec, expected = Component(component), factz.decompress(half)
            found = codec.decode(half)
            self.assertEqual((found.dtype, found.tobytes()), (expected.dtype, expected.tobytes()))
            out = np.empty((3, NY, NX), ">f4")
            Component(component, byteorder="big").decode(bytearray(half), out)
            self.assertEqual(out.tobytes(), expected.astype(">f4").tobytes())

    def test_what_is_written_is_exact_and_has_the_bytes_of_zarr_v3(self):
        for lead in ((), (3,), (2, 2)):
            for kind, order in (("<f4", "little"), (">f4", "big"), ("<f8", "little")):
                values = np.ascontiguousarray(stack(*lead).astype(kind)[..., 1, :, :])
                codec = Component("v", order)
                data = codec.encode(values)
                self.assertEqual(codec.decode(data).reshape(values.shape).tobytes(), values.tobytes())
                layout = {"shape": values.shape, "chunks": values.shape, "dtype": kind.replace(">", "<")}
                layout.update(compressors=None, overwrite=True)
                zarr.create_array("v3", serializer=factz.zarr.Component("v"), **layout)[...] = values
                with open(os.path.join("v3", "c", *"0" * values.ndim), "rb") as file:
                    self.assertEqual(file.read(), data)

    def test_arrays(self):
        values = stack(2)
        for component, part in zip("uv", values.swapaxes(0, 1)):
            create(component, part, Component(component))[1] = part[1]
        for component, half in zip("uv", factz.compress(*values[0], abs=BOUND, separate=True)):
            with open(os.path.join(component, "0.0.0"), "wb") as file:
                file.write(half)
        found = np.stack([zarr.open_array(component)[...] for component in "uv"], 1)
        self.assert_kept(values, found)
        self.assertEqual(found[1].tobytes(), values[1].tobytes())
        self.assertNotEqual(found[0].tobytes(), values[0].tobytes())

    def test_configuration(self):
        codec = Component("u", byteorder="big")
        text = json.dumps(codec.get_config())
        again = numcodecs.get_codec(json.loads(text))
        self.assertEqual((again, repr(again)), (codec, "Component('u', byteorder='big')"))
        self.assertEqual(json.loads(text), {"id": "factz.component", "component": "u", "byteorder": "big"})

    def test_refusals(self):
        values = stack()
        codec = Component("u")
        for text, call in (
            ("byteorder='big'", lambda: codec.encode(values[0].astype(">f4"))),
            ("byteorder='middle'", lambda: Component("u", "middle")),
            ("component='w': give 'u' or 'v'", lambda: Component("w")),
            ("order='C'", lambda: codec.encode(values[0].T)),
            ("must be (..., ny, nx)", lambda: codec.encode(values.ravel())),
            ("dtype=int16", lambda: codec.encode(np.zeros((NY, NX), "i2"))),
        ):
            self.assert_refused(text, call)
        both = factz.compress(*values, abs=BOUND)
        u, v = factz.split(both)
        volume = factz.compress_volume(np.zeros((3, 4, 5, 6), "f4"), abs=1)
        for reader, data, text in (
            (codec, both, "it holds both components, and the array component u"),
            (codec, v, "it holds component v, and the array component u"),
            (codec, volume, "it holds a volume, and the array component u"),
            (Factz(abs=1), u, "it holds component u, and the array both components"),
            (codec, u[:-4], "its header says"),
            (codec, b"x", "corrupt"),
        ):
            with self.assertRaisesRegex(factz.CorruptStreamError, text):
                reader.decode(data)


if __name__ == "__main__":
    unittest.main()
