"""Wrong arrays, options and data are exceptions that name the argument and say what to do."""

import subprocess
import sys
import unittest
import warnings

import numpy as np
from support import field

import factz
from factz import _abi, _sides

U, V = field(40, 30)
DATA = factz.compress(U, V, abs=0.01)


class Refused(unittest.TestCase):
    def refuses(self, kind, parts, call, *arguments, **options):
        with self.assertRaises(kind) as caught:
            call(*arguments, **options)
        for part in parts.split("|"):
            self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_arrays(self):
        def refuses(kind, parts, u, v):
            for call in (factz.compress, factz.value_range, factz.critical_points):
                self.refuses(kind, parts, call, u, v, **({"abs": 0.1} if call is factz.compress else {}))

        refuses(ValueError, "shape (ny, nx)|(30, 40)|(40, 30)", U, V.T)
        refuses(ValueError, "shape (ny, nx)|(1200,)", U.ravel(), V.ravel())
        refuses(ValueError, "(nz, ny, nx)|(1, 1, 30, 40)", U[None, None], V[None, None])
        refuses(TypeError, "v is float64|u is float32|convert", U.astype("f4"), V.astype("f8"))
        for kind in ("i4", "f2", "c8", "?", "O", "U3"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                strange = np.zeros((3, 4), kind)
            refuses(TypeError, "u has elements of type|float32 and float64", strange, strange)
        refuses(TypeError, "u is a masked array|filled", np.ma.masked_invalid(U), V)
        refuses(factz.InvalidConfigError, "nx is 0", U[:, :0], V[:, :0])
        refuses(factz.InvalidConfigError, "ny is 0", U[:0], V[:0])

    def test_functions_of_planes_name_their_twins(self):
        for call, arrays in (
            (factz.compress, (U, V, U)),
            (factz.protect, (U, V, U, U, V, U)),
            (factz.compare, (U, V, U, U, V, U)),
            (factz.critical_points, (U, V, U)),
            (factz.value_range, (U, V, U)),
        ):
            name, count = call.__name__, len(arrays)
            parts = "%s takes %s arrays and %d positional|factz.%s_volume" % (name, 2 if count == 3 else 4, count, name)
            self.refuses(TypeError, parts, call, *arrays)

    def test_options(self):
        def refuses(kind, parts, **options):
            self.refuses(kind, parts, factz.compress, U, V, **options)

        refuses(ValueError, "abs=|rel=|there is none")
        refuses(ValueError, "there are both", abs=1, rel=1)
        for option in ("mode", "coder", "predictor", "preserve", "ties"):
            refuses(ValueError, "%s='best' is none of" % option, abs=1, **{option: "best"})
            refuses(ValueError, "%s=[] is none of" % option, abs=1, **{option: []})
        for option in ("pin", "halo"):
            refuses(ValueError, "%s='left' is none of none, all|xmin" % option, abs=1, **{option: "left"})
            refuses(ValueError, "%s=3 is none of" % option, abs=1, **{option: 3})
        refuses(factz.InvalidConfigError, "bound (abs, rel) = -1", abs=-1)
        refuses(ValueError, "abs is a number beyond those of float64", abs=10**400)
        small = U.astype("f4"), V.astype("f4")
        error = self.refuses(
            factz.InvalidConfigError, "fill = 1e39|dtype = float32", factz.compress, *small, abs=1, fill=1e39
        )
        self.assertNotIn("fill_value", str(error))
        refuses(factz.InvalidConfigError, "bound", rel=float("nan"))
        refuses(factz.InvalidConfigError, "dx", abs=1, dx=0)
        refuses(factz.FactzError, "Lorenzo|speculative", abs=1, mode="speculative", predictor="lorenzo")
        refuses(factz.InvalidArgumentError, "threads", abs=1, threads=-1)
        for threads in (2**31, 2**40, -(2**40)):
            refuses(ValueError, "threads=%d is not between" % threads, abs=1, threads=threads)
        for option in ("abs", "dx", "dy", "fill"):
            refuses(TypeError, "%s='small' is no number" % option, **dict({"abs": 1}, **{option: "small"}))
        for option in ("abs", "rel", "dx", "dy", "fill", "threads"):
            bound = {} if option in ("abs", "rel") else {"abs": 1}
            for value in (True, False, np.True_, np.array(False)):
                refuses(TypeError, "%s=%r is a truth value" % (option, value), **dict(bound, **{option: value}))
        self.refuses(TypeError, "rel=True is a truth value", factz.relative_bound, True, 0.0, 1.0)
        self.refuses(TypeError, "high=False is a truth value", factz.relative_bound, 1e-3, 0.0, False)
        self.refuses(TypeError, "rel='a' is no number", factz.relative_bound, "a", 0.0, 1.0)
        for value, part in ((0, "dy = 0"), (-0.0, "dy = -0"), (float("-inf"), "dy = -inf")):
            refuses(factz.InvalidConfigError, part, abs=1, dy=value)
        refuses(TypeError, "threads=1.5 is no integer", abs=1, threads=1.5)
        refuses(ValueError, "stream= is for arrays in device memory", abs=1, stream=0)
        refuses(ValueError, "workspace= is for arrays in device memory", abs=1, workspace=np.zeros(9, "u1"))
        self.refuses(
            ValueError, "halo leaves nothing", factz.compress, U[:2], V[:2], abs=1, halo="ymin+ymax"
        )
        error = self.refuses(ValueError, "invalid config", factz.compress, U, V, abs=-1)
        self.assertEqual(error.status, _abi.ERROR_INVALID_CONFIG)
        self.refuses(TypeError, "dtype=int32", factz.compress_sizes, (30, 40), "i4", abs=1)
        for shape, kind, part in (
            ((-3, 4), ValueError, "shape[0]=-3 is not between 1 and"),
            ((4, 0), ValueError, "shape[1]=0 is not between 1 and"),
            ((4, 2**64), ValueError, "shape[1]=18446744073709551616 is not between 1 and"),
            ((1, 2, 3, 4), ValueError, "shape=(1, 2, 3, 4) must be (ny, nx) or (nz, ny, nx)"),
            (12, ValueError, "shape=12 must be (ny, nx)"),
            ((3.5, 4), TypeError, "shape[0]=3.5 is no integer"),
            ((3, True), TypeError, "shape[1]=True is a truth value"),
        ):
            self.refuses(kind, part, factz.compress_sizes, shape, "f4", abs=1)
            self.refuses(kind, part, factz.decompress_sizes, shape, "f4")
        self.refuses(ValueError, "stream= is for arrays in device", factz.inspect, DATA, stream=0)

    def test_sides_have_the_names_of_the_options(self):
        volume = np.zeros((3, 4, 5, 6), "f4")
        for option, sides, named, axis in (
            ("halo", "xmax+xmin", "xmin+xmax", "x"),
            ("pin", ["ymin"], "ymin", "y"),
            ("pin", "all", "xmin+xmax+ymin+ymax", "x"),
            ("pin", "zmin+xmin", "xmin+zmin", "z"),
        ):
            call, arrays = (factz.compress, (U, V)) if axis != "z" else (factz.compress_volume, volume)
            message = "invalid configuration: %s=%r names a side of %s, which" % (option, named, axis)
            options = {"abs": 1, "periodic": axis, option: sides}
            self.refuses(factz.InvalidConfigError, message, call, *arrays, **options)
        self.assertEqual(_sides.named("halo = 0x40 has bits"), "halo = 0x40 has bits")
        self.assertEqual(_sides.named("pin = 0x0, pitch = 0x3"), "pin='none', pitch = 0x3")

    def test_data(self):
        for call in (factz.decompress, factz.inspect):
            self.refuses(factz.CorruptStreamError, "corrupt stream", call, b"")
            self.refuses(factz.CorruptStreamError, "corrupt stream", call, DATA[:127])
            self.refuses(factz.CorruptStreamError, "no factz stream", call, bytes(1000))
            self.refuses(TypeError, "data must be bytes|str", call, "FCTZ")
            self.refuses(TypeError, "data must be bytes|list", call, [70, 67])
        self.refuses(factz.CorruptStreamError, "", factz.decompress, DATA[:-1])
        damaged = bytearray(DATA)
        damaged[len(DATA) // 2] ^= 1
        self.refuses(factz.CorruptStreamError, "", factz.decompress, damaged)
        later = bytearray(DATA)
        later[4] = 99
        error = self.refuses(factz.UnsupportedVersionError, "version", factz.inspect, later)
        self.assertEqual(error.status, _abi.ERROR_UNSUPPORTED_VERSION)
        self.assertNotIsInstance(error, ValueError)

    def test_the_checksum_can_be_left_out(self):
        # The content of a field that is stored exactly is covered by the checksum alone.
        u, v = (np.random.default_rng(7).standard_normal((2, 64, 64))).astype("f4")
        data = bytearray(factz.compress(u, v, abs=0))
        data[-9] ^= 1
        self.refuses(factz.CorruptStreamError, "checksum", factz.decompress, data)
        try:
            u2, v2 = factz.decompress(data, verify=False)
        except factz.CorruptStreamError as error:
            self.assertNotIn("checksum", str(error))
        else:
            self.assertTrue((u2 != u).any() or (v2 != v).any())

    def test_outputs(self):
        def refuses(kind, parts, u, v):
            self.refuses(kind, parts, factz.decompress, DATA, out=(u, v))

        new = np.empty_like
        locked = new(U)
        locked.flags.writeable = False
        refuses(ValueError, "out[1] is read-only", new(U), locked)
        refuses(ValueError, "out[0] has the strides", new(U)[::-1], new(V))
        refuses(ValueError, "out[0] has the strides", np.asfortranarray(U), new(V))
        refuses(ValueError, "byte order", U.astype(">f4"), V.astype(">f4"))
        refuses(TypeError, "out[1] must be a NumPy array, not list", new(U), V.tolist())
        refuses(
            TypeError, "out[0] has elements of type int32", np.zeros(U.shape, "i4"), np.zeros(V.shape, "i4")
        )
        refuses(factz.InvalidArgumentError, "40|30", new(U[1:]), new(V[1:]))
        refuses(factz.InvalidArgumentError, "float64|float32", U.astype("f8"), V.astype("f8"))
        for out in (new(U), (new(U),), 7):
            self.refuses(ValueError, "out must be two arrays", factz.decompress, DATA, out=out)
        same = new(U)
        refuses(factz.InvalidArgumentError, "share values", same, same)
        memory = np.frombuffer(bytearray(DATA) + bytearray(U.nbytes), np.uint8)
        inside = memory[: U.nbytes].view("f4").reshape(U.shape)
        self.refuses(factz.InvalidArgumentError, "overlap", factz.decompress, memory, out=(inside, new(V)))

    def test_comparisons(self):
        self.refuses(ValueError, "u2 and v2|28 x 40", factz.compare, U, V, U[2:], V[2:], abs=1)
        self.refuses(
            ValueError, "dtype of u and v", factz.compare, U, V, U.astype("f8"), V.astype("f8"), abs=1
        )
        self.refuses(ValueError, "there is none", factz.compare, U, V, U, V)
        self.refuses(ValueError, "u2 and v2 must both", factz.compare, U, V, U, V[1:], abs=1)

    def test_every_status_has_an_exception(self):
        names = {name: number for name, number in vars(_abi).items() if name.startswith("ERROR_")}
        kinds = {kind.status: kind for kind in factz.FactzError.__subclasses__()}
        self.assertEqual(sorted(kinds), sorted(names.values()))
        for name, number in names.items():
            exception = name[len("ERROR_") :].title().replace("_", "") + "Error"
            self.assertEqual(kinds[number].__name__, exception)
            self.assertIn(kinds[number].__name__, factz.__all__)
        unknown = factz.errors.error_of(99, "of a later version")
        self.assertEqual((type(unknown), unknown.status), (factz.FactzError, 99))

    def test_a_wide_range_is_a_warning(self):
        u, v = (a.copy() for a in field(200, 100))
        u[5, 5] = 1e20
        with self.assertWarnsRegex(factz.WideRangeWarning, "give fill=, or an absolute bound") as caught:
            report = factz.Report()
            factz.compress(u, v, rel=1e-3, report=report)
        self.assertEqual(caught.filename, __file__)
        self.assertTrue(report.wide_range)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            factz.compress(u, v, rel=1e-3, fill=u[5, 5])


class Loading(unittest.TestCase):
    def test_a_missing_library_is_an_import_error_with_advice(self):
        for library, part in (
            ("/nowhere/libfactz.so", "/nowhere"),
            ("libm.so.6", "libm.so.6 is not the library"),
        ):
            code = "import os; os.environ['FACTZ_LIBRARY'] = %r\nimport factz" % library
            found = subprocess.run([sys.executable, "-B", "-c", code], stderr=subprocess.PIPE, text=True)
            last = found.stderr.strip().splitlines()[-1]
            self.assertTrue(last.startswith("ImportError: "), last)
            self.assertIn(part, last)
            self.assertIn("FACTZ_LIBRARY", last)

    def test_a_library_of_another_version_is_refused(self):
        code = (
            "import factz\n"
            "factz._abi.VERSION_MINOR += 1\n"
            "try:\n"
            "    factz._library._load()\n"
            "except ImportError as error:\n"
            "    print(error)\n"
        )
        found = subprocess.run([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertIn(
            "this package needs %d.%d" % (_abi.VERSION_MAJOR, _abi.VERSION_MINOR + 1), found.stdout
        )


if __name__ == "__main__":
    unittest.main()
