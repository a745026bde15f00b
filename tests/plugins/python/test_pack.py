"""factz.pack and factz.unpack: files with everything that netCDF-4 has, made and read with h5py."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np
from netcdf_files import AXES, FILL, NAMES, NX, NY, Writer, archive, grid, series, structure, wind
from support import VIOLATIONS, exact_counts

import factz.hdf5
import factz.pack
from factz.pack import PackError, append, pack, unpack
from factz.pack.command import main

BOUND = 0.05
# A bound at which a field would lose points and types.
COARSE = 2.0


class Folder(unittest.TestCase):
    """Each test runs in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def refused(self, *parts, call=pack, **options):
        """The call fails, its message has all parts, and nothing new is in the folder."""
        before = sorted(os.listdir("."))
        with self.assertRaises((PackError, ValueError)) as caught:
            call("in.nc", "out.nc", **options)
        for part in parts:
            self.assertIn(part, str(caught.exception))
        self.assertEqual(sorted(os.listdir(".")), before)

    def violations(self, before, after, bound=BOUND, spacing=(10, -10), seam=True, **more):
        """The sums of the counts of the independent checker, for pairs (u, v) of arrays (..., ny, nx)."""
        cases = []
        for index in np.ndindex(before[0].shape[:-2]):
            arrays = [c[index] for c in (*before, *after)]
            if seam:
                arrays = [np.concatenate([a, a[:, :1]], axis=1) for a in arrays]
            cases.append((arrays, dict(more, bound=bound, spacing=list(spacing))))
        counted = exact_counts(cases)
        self.assertGreater(min(case["critical_points"] for case in counted), 4)
        return {name: sum(case[name] for case in counted) for name in VIOLATIONS}

    def assert_kept(self, *arguments, **options):
        self.assertEqual(self.violations(*arguments, **options), dict.fromkeys(VIOLATIONS, 0))


def read(path, *names):
    with h5py.File(path) as file:
        return [file[name][...] for name in names]


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def simple(path="in.nc", data=None, names=("u10", "v10"), standard=NAMES, axes=AXES, fill=FILL, **more):
    """A file with one pair."""
    data = series(2) if data is None else data
    with Writer(path) as file:
        grid(file, **more)
        for name, values, standard_name in zip(names, data, standard):
            file.variable(
                name, axes, values, fill, attributes={"standard_name": standard_name, "units": "m s-1"}
            )


class Files(Folder):
    def test_everything_else_is_copied(self):
        archive("in.nc")
        done = pack("in.nc", "out.nc", abs=BOUND)
        self.assertEqual((done[0].names, done[0].raw_bytes), (("u10", "v10"), 2 * 4 * 4 * NX * NY))
        before, after = structure("in.nc"), structure("out.nc", without=["/factz"])
        self.assertEqual(list(before), list(after))
        for path in before:
            if path not in ("/u10", "/v10"):
                self.assertEqual(before[path], after[path], path)
        with h5py.File("out.nc") as new:
            for name in ("u10", "v10"):
                self.assertTrue(new[name].is_virtual)
                self.assertEqual(new[name].attrs["factz_pair"], b"u10 v10")
                self.assertEqual(new[name].attrs["factz_abs_error"], BOUND)
            # Attributes are those that there were, and two more.
            self.assertEqual(
                after["/u10"][-2][:-1] + after["/u10"][-2][-1:],
                before["/u10"][-2][:-1] + [after["/u10"][-2][-2]] + before["/u10"][-2][-1:],
            )
            self.assertEqual(factz.hdf5.stored(new["factz/u10_v10"])["compressed"], 4)
            self.assertEqual(new["factz/u10_v10"].id.get_storage_size(), done[0].stored_bytes)
            ids = []
            new.visititems(lambda _, item: ids.extend(np.ravel(item.attrs.get("_Netcdf4Dimid", []))))
            self.assertEqual(sorted(ids), list(range(len(ids))))

    def test_every_field_keeps_its_points_and_missing_data(self):
        archive("in.nc", steps=3)
        pack("in.nc", "out.nc", abs=BOUND, mode="speculative")
        before, after = read("in.nc", "u10", "v10"), read("out.nc", "u10", "v10")
        self.assert_kept(before, after, fill=float(FILL))
        for a, b in zip(before, after):
            odd = ~np.isfinite(a) | (a == FILL)
            self.assertEqual(a[odd].tobytes(), b[odd].tobytes())
            self.assertFalse(np.array_equal(a[~odd], b[~odd]))
        [joint] = read("out.nc", "factz/u10_v10")
        self.assertEqual(joint.tobytes(), np.stack(after, 2).tobytes())

    def test_unpack_gives_the_file_back(self):
        archive("in.nc")
        pack("in.nc", "out.nc", abs=BOUND)
        unpack("out.nc", "plain.nc")
        before, after = structure("in.nc"), structure("plain.nc")
        for name in ("/u10", "/v10"):
            self.assertEqual(before[name].pop()[:2], after[name].pop()[:2])
        self.assertEqual(before, after)
        for a, b in zip(read("out.nc", "u10", "v10"), read("plain.nc", "u10", "v10")):
            self.assertEqual(a.tobytes(), b.tobytes())
        lines = []
        pack("plain.nc", "again.nc", abs=BOUND, say=lines.append)
        self.assertIn("have an error of up to 0.05 by an earlier compression", "\n".join(lines))

    def test_pairs_are_found_and_named(self):
        with Writer("in.nc") as file:
            grid(file)
            u, v = series(2)
            file.variable("speed", AXES, u)
            file.variable("ua", AXES, u, FILL, attributes={"standard_name": NAMES[0]})
            file.variable("va", AXES, v, FILL, attributes={"standard_name": NAMES[1]})
            file.file.create_group("ocean", track_order=True)
            for name, values, axis in (("ocean/uo", u, "x"), ("ocean/vo", v, "y")):
                file.variable(
                    name,
                    AXES[2:],
                    values[0, 0],
                    FILL,
                    attributes={"standard_name": "sea_water_%s_velocity" % axis},
                )
        self.assertEqual(
            [one.names for one in pack("in.nc", "out.nc", abs=BOUND)],
            [("ocean/uo", "ocean/vo"), ("ua", "va")],
        )
        self.assertEqual(set(h5py.File("out.nc")["ocean"]), {"uo", "vo", "factz"})
        self.assert_kept(
            read("in.nc", "ocean/uo", "ocean/vo"), read("out.nc", "ocean/uo", "ocean/vo"), fill=float(FILL)
        )
        self.assertEqual(
            main(
                ["in.nc", "two.nc", "--pair", "ua,va", "--pair", "ocean/uo,ocean/vo", "--abs", "0.05", "-q"]
            ),
            0,
        )
        self.assertEqual(structure("two.nc")["/ocean/uo"], structure("out.nc")["/ocean/uo"])
        unpack("out.nc", "plain.nc")
        self.assertEqual(list(structure("plain.nc")), list(structure("in.nc")))

    def test_all_shapes_and_types(self):
        u, v = wind(0, dtype="f8")
        for shape, axes in (
            ((NY, NX), AXES[2:]),
            ((2, NY, NX), ("time",) + AXES[2:]),
            ((2, 2, NY, NX), AXES),
        ):
            for kind in ("<f4", ">f4", "<f8", ">f8"):
                data = [np.broadcast_to(c, shape).astype(kind) for c in (u, v)]
                simple(data=data, axes=axes, fill=None)
                pack("in.nc", "out.nc", abs=BOUND, force=True)
                after = read("out.nc", "u10", "v10")
                self.assertEqual((after[0].dtype.str, after[0].shape), (kind, shape))
                self.assert_kept(
                    *([c.reshape(-1, NY, NX).astype(kind[1:]) for c in pair] for pair in (data, after))
                )

    def test_chunks_smaller_than_fields(self):
        simple()
        pack("in.nc", "out.nc", abs=BOUND, chunk=(8, 16))
        self.assertEqual(h5py.File("out.nc")["factz/u10_v10"].chunks, (1, 1, 2, 8, 16))
        self.assert_kept(read("in.nc", "u10", "v10"), read("out.nc", "u10", "v10"), fill=float(FILL))


class Grids(Folder):
    def found(self, **options):
        lines = []
        [done] = pack("in.nc", "out.nc", abs=COARSE, force=True, say=lines.append, **options)
        return (done.dx, done.dy, done.periodic), "\n".join(lines)

    def test_rows_from_the_north_have_a_negative_spacing(self):
        simple()
        found, text = self.found()
        self.assertEqual(found, (10, -10, "x"))
        self.assertIn("rows: lat from 90 to -90 degrees_north", text)
        self.assertIn("dx = 10, dy = -10", text)
        self.assertIn("lon is periodic: 36 steps of 10 degrees", text)
        before, after = read("in.nc", "u10", "v10"), read("out.nc", "u10", "v10")
        fill = float(FILL)
        self.assert_kept(before, after, COARSE, fill=fill)
        # The mirrored field would have lost types.
        self.found(dx=10, dy=10)
        mirrored = self.violations(before, read("out.nc", "u10", "v10"), COARSE, fill=fill)
        self.assertGreater(mirrored["changed_types"], 0)
        self.assertEqual(mirrored["lost_points"], 0)

    def test_the_seam_keeps_its_points(self):
        simple()
        _, text = self.found(periodic="none")
        self.assertNotIn("periodic", text)
        before, fill = read("in.nc", "u10", "v10"), float(FILL)
        lost = self.violations(before, read("out.nc", "u10", "v10"), COARSE, fill=fill)
        self.assertGreater(lost["lost_points"] + lost["spurious_points"] + lost["changed_types"], 0)
        self.assert_kept(before, read("out.nc", "u10", "v10"), COARSE, fill=fill, seam=False)
        self.found()
        self.assert_kept(before, read("out.nc", "u10", "v10"), COARSE, fill=fill)

    def test_coordinates_of_many_kinds(self):
        degrees = {"units": "degrees_east"}
        x = np.arange(NX, dtype="f4")
        for y_values, y_attributes, x_values, x_attributes, expected in (
            (np.arange(NY), {"units": "degrees_north"}, 10 * x, degrees, (10, 1, "x")),
            (np.arange(NY), {"units": "degrees_south"}, 10 * x, degrees, (10, -1, "x")),
            (np.arange(NY), {"units": "degrees_north"}, (10 * x + 180) % 360, degrees, (10, 1, "x")),
            (np.arange(NY), {"units": "degrees_north"}, x * 360 / (NX - 1), degrees, (10.2857, 1, "")),
            (np.arange(NY), {"units": "degrees_north"}, 5 * x, degrees, (5, 1, "")),
            (-np.arange(NY) * 2000.0, {"units": "m"}, 1000 * x, {"units": "m"}, (1000, -2000, "")),
            (-np.arange(NY) * 2.0, {"units": "km"}, 1000 * x, {"units": "m"}, (1, -1, "")),
            (np.arange(NY) ** 2, {"units": "m"}, 1000 * x, {"units": "m"}, (1, 1, "")),
            (np.arange(NY), {"units": "m", "positive": "down"}, 10 * x, degrees, (1, -1, "x")),
            (None, {}, None, {}, (1, 1, "")),
            (np.zeros(NY), {"units": "m"}, x, {"units": "m"}, (1, 1, "")),
        ):
            with Writer("in.nc") as file:
                file.dimension("y", NY, y_values, **y_attributes)
                file.dimension("x", NX, x_values, **x_attributes)
                for name, data in zip(("u", "v"), wind(0)):
                    file.variable(name, ("y", "x"), data)
            found, text = self.found(pairs=[("u", "v")])
            self.assertEqual(found, expected, (y_attributes, x_attributes))
            if y_values is None or not np.any(y_values):
                self.assertIn("y: no coordinate tells the direction of rows", text)
            self.assertEqual(self.found(pairs=[("u", "v")], dx=2, dy=-3, periodic="y")[0], (2, -3, "y"))

    def curvilinear(self):
        with Writer("in.nc") as file:
            file.dimension("y", NY)
            file.dimension("x", NX)
            lat, lon = np.mgrid[0:NY, 0:NX].astype("f4")
            file.variable("lat", ("y", "x"), lat, attributes={"units": "degrees_north"})
            file.variable("lon", ("y", "x"), lon, attributes={"units": "degrees_east"})
            for name, data in zip(("u", "v"), wind(0)):
                file.variable(name, ("y", "x"), data, attributes={"coordinates": "lat lon"})

    def test_curvilinear_grids_need_a_spacing(self):
        self.curvilinear()
        self.refused(
            "/u lies on a curvilinear grid: its coordinate /lat has 2 axes",
            "--spacing 1,1",
            abs=1,
            pairs=[("u", "v")],
        )
        self.assertEqual(self.found(pairs=[("u", "v")], dx=1, dy=1)[0], (1, 1, ""))

    def test_other_orders_of_axes_are_refused(self):
        u, v = (np.moveaxis(c, -1, -2) for c in series(2))
        simple(data=(u, v), axes=("time", "level", "lon", "lat"))
        self.refused("its last axes are lon, lat", "ncpdq", abs=1)


class Packed(Folder):
    """Packed integers."""

    SCALE, OFFSET = 0.01, 1.5

    def written(self, dtype="i2", fill=-32767, scale=SCALE, **more):
        self.stored = []
        with Writer("in.nc") as file:
            grid(file)
            for name, values, standard in zip(("u10", "v10"), series(2), NAMES):
                values = np.nan_to_num(values, nan=0, posinf=0)
                stored = np.rint((np.where(values == FILL, 0, values) - self.OFFSET) / scale).astype(dtype)
                if fill is not None:
                    stored[values == FILL] = fill
                attributes = dict(more, scale_factor=scale, add_offset=self.OFFSET, standard_name=standard)
                file.variable(name, AXES, stored, fill, attributes=attributes)
                self.stored.append(stored)
        return [s * np.float64(scale) + self.OFFSET for s in self.stored]

    def test_they_become_floats(self):
        values = self.written(
            missing_value=np.int16(-3),
            valid_min=np.int16(-2000),
            valid_max=np.int16(2000),
            valid_range=np.array([-2000, 2000], "i2"),
        )
        pack("in.nc", "out.nc", abs=0.02)
        missing = [(s == -32767) | (s == -3) for s in self.stored]
        before = [np.where(m, FILL, v).astype("f4") for m, v in zip(missing, values)]
        after = read("out.nc", "u10", "v10")
        self.assertEqual(after[0].dtype, np.float32)
        self.assert_kept(before, after, 0.02, fill=float(FILL))
        self.assertGreater(sum(m.sum() for m in missing), 12)
        for b, a, m in zip(before, after, missing):
            np.testing.assert_array_equal(a == FILL, m)
        with h5py.File("out.nc") as file:
            attributes = file["u10"].attrs
            self.assertFalse({"scale_factor", "add_offset", "missing_value"} & set(attributes))
            self.assertEqual((attributes["_FillValue"], attributes["_FillValue"].dtype), ([FILL], np.float32))
            for name, wanted in (
                ("valid_min", [-18.52]),
                ("valid_max", [21.52]),
                ("valid_range", [-18.52, 21.52]),
            ):
                np.testing.assert_array_equal(attributes[name], np.float32(wanted))
        unpack("out.nc", "plain.nc")
        self.assertEqual(h5py.File("plain.nc")["u10"].dtype, np.float32)

    def test_other_types(self):
        for dtype, result, more in (
            ("i4", "f8", {}),
            ("i1", "f4", {}),
            ("u2", "f4", {}),
            (">i2", "f4", {}),
            ("i2", "f4", {"_Unsigned": "true"}),
        ):
            scale = 0.2 if dtype == "i1" else 0.01
            if dtype == "u2":
                self.OFFSET = -30
            values = self.written(dtype, None, scale, **more)
            if more:
                values = [s.view("u2") * scale + self.OFFSET for s in self.stored]
            pack("in.nc", "out.nc", abs=scale, force=True, dx=10, dy=-10)
            after = read("out.nc", "u10", "v10")
            self.assertEqual(after[0].dtype, np.dtype(result))
            self.assert_kept([v.astype(result) for v in values], after, scale)
            self.assertNotIn("_FillValue", h5py.File("out.nc")["u10"].attrs)

    def test_a_bound_below_the_scale_is_told(self):
        self.written()
        lines = []
        pack("in.nc", "out.nc", abs=0.004, say=lines.append)
        told = [line for line in lines if line.startswith("warning: ")]
        self.assertEqual(len(told), 2)
        self.assertIn("0.004 is below half the step of the packed values of u10, 0.01", told[0])

    def test_what_cannot_be_unpacked(self):
        simple(data=[np.zeros((2, 2, NY, NX), "i4")] * 2, fill=None)
        self.refused("/u10 has integers (int32) and neither scale_factor nor add_offset", "cdo", abs=1)
        self.written(scale=0.01)
        with h5py.File("in.nc", "r+") as file:
            del file["v10"].attrs["scale_factor"], file["v10"].attrs["add_offset"]
            file["v10"].attrs["scale_factor"] = 0.0
        self.refused("/v10: its attribute scale_factor", abs=1)
        self.written()
        self.refused("--fill-value 3 (fill=3)", "packed integers", abs=1, fill=3)


class FillValues(Folder):
    def test_all_missing_values_become_one(self):
        u, v = series(2)
        u[0, 1, 5, 5:9] = -999
        for name, kinds, wanted in (
            ("both", {"_FillValue": FILL, "missing_value": np.float32(-999)}, FILL),
            ("second", {"missing_value": np.float32(-999)}, np.float32(-999)),
        ):
            simple(data=(u, v), fill=None)
            with h5py.File("in.nc", "r+") as file:
                for variable in (file["u10"], file["v10"]):
                    variable.attrs.update(kinds)
            pack("in.nc", "out.nc", abs=BOUND, force=True)
            back = read("out.nc", "u10")[0]
            np.testing.assert_array_equal(back[0, 1, 5, 5:9], np.full(4, wanted), name)
            before = [np.where(c == -999, wanted, c) for c in (u, v)]
            self.assert_kept(before, read("out.nc", "u10", "v10"), fill=float(wanted))

    def test_nan_as_fill_value(self):
        u, v = series(2)
        u[u == FILL] = v[v == FILL] = np.nan
        simple(data=(u, v), fill=np.float32(np.nan))
        pack("in.nc", "out.nc", abs=BOUND)
        self.assert_kept((u, v), read("out.nc", "u10", "v10"))

    def test_two_fill_values_are_refused(self):
        simple()
        with h5py.File("in.nc", "r+") as file:
            file["v10"].attrs["_FillValue"] = np.float32([-999])
        self.refused("u10, v10 have the fill values -999 and 9.96921e+36", "cdo setmissval", abs=1)
        self.refused("--fill-value -999 (fill=-999): /u10 has the attribute _FillValue", abs=1, fill=-999)

    def test_a_fill_value_that_no_attribute_names(self):
        u, v = series(2)
        u[u == FILL] = v[v == FILL] = -999
        simple(data=(u, v), fill=None)
        pack("in.nc", "out.nc", abs=BOUND, fill=-999)
        self.assert_kept((u, v), read("out.nc", "u10", "v10"), fill=-999)


class Bounds(Folder):
    def test_a_relative_bound_counts_for_all_fields(self):
        u, v = series(2)
        u[1] *= 0.01
        v[1] *= 0.01
        simple(data=(u, v))
        [done] = pack("in.nc", "out.nc", rel=1e-2)
        ranges = [
            factz.value_range(a, b, fill=float(FILL))
            for a, b in zip(u.reshape(-1, NY, NX), v.reshape(-1, NY, NX))
        ]
        wanted = factz.relative_bound(1e-2, min(r.low for r in ranges), max(r.high for r in ranges))
        self.assertEqual(done.bound, wanted)
        self.assertEqual(h5py.File("out.nc")["u10"].attrs["factz_abs_error"], wanted)
        self.assert_kept(
            (u[:1], v[:1]), [c[:1] for c in read("out.nc", "u10", "v10")], wanted, fill=float(FILL)
        )

    def test_outliers_are_refused(self):
        u, v = series(2)
        simple(data=(u, v), fill=None)
        self.refused("--rel 0.01 (rel=): outliers, such as", "--fill-value", rel=1e-2)
        pack("in.nc", "out.nc", rel=1e-2, allow_wide_range=True)

    def test_wrong_options(self):
        simple()
        for options, part in (
            ({}, "give one bound"),
            ({"abs": 1, "rel": 1}, "give one bound"),
            ({"abs": -1}, "-1"),
            ({"abs": 1, "mode": "best"}, "mode='best'"),
            ({"abs": 1, "dy": 0}, "dy=0"),
            ({"abs": 1, "periodic": "lon"}, "periodic='lon' is none of"),
            ({"abs": 1, "chunk": (0, 3)}, "chunk[0]=0"),
            ({"abs": 1, "mode": "speculative", "predictor": "lorenzo"}, "predictor = hierarchical"),
        ):
            self.refused(part, **options)


class Refusals(Folder):
    def test_variables_that_are_no_pair(self):
        u, v = series(2)
        with Writer("in.nc") as file:
            grid(file)
            file.variable("u", AXES, u, attributes={"standard_name": NAMES[0]})
            file.variable("v", AXES, v, attributes={"standard_name": NAMES[1]})
            file.variable("v2", AXES, v, attributes={"standard_name": NAMES[1]})
            file.variable("double", AXES, v.astype("f8"))
            file.variable("short", AXES[1:], v[0])
            file.variable("half", AXES, np.zeros_like(v, "f2"))
            file.variable("line", ("lat",), v[0, 0, :, 0])
            file.dimension("lat_v", NY)
            file.variable("staggered", ("time", "level", "lat_v", "lon"), v)
            file.file.create_group("other")
            file.variable("other/v", AXES, v)
            file.file["text"] = "text"
        for names, parts in (
            (("u", "w"), ("has no variable w", "u, v")),
            (("u", "other"), ("other is no variable",)),
            (("u", "u"), ("one variable",)),
            (("u", "double"), ("u has values of type float32 and double of type float64",)),
            (("u", "short"), ("(2, 2, 19, 36) and short the shape (2, 19, 36)",)),
            (
                ("u", "staggered"),
                ("the axes time, level, lat, lon and staggered the axes", "staggered grids"),
            ),
            (("u", "other/v"), ("in different groups",)),
            (("half", "half2"), ("no variable half2",)),
        ):
            self.refused(*parts, pairs=[names], abs=1)
        with h5py.File("in.nc", "r+") as file:
            file["half2"], file["line2"], file["text2"] = file["half"][...], file["line"][...], "text"
            for name in ("half2", "line2"):
                for axis, scale in enumerate(s[0] for s in file[name[:-1]].dims):
                    file[name].dims[axis].attach_scale(scale)
        for names, part in (
            (("half", "half2"), "float16"),
            (("line", "line2"), "one axis, and a field has two"),
            (("text", "text2"), "has values of type object"),
        ):
            self.refused(part, pairs=[names], abs=1)
        self.refused("/v is in two pairs", pairs=[("u", "v"), ("v2", "v")], abs=1)
        self.refused("do not tell which belong together", "--pair u,v", abs=1)
        with Writer("in.nc") as file:
            grid(file)
            file.variable("temperature", AXES, u)
        self.refused("no --pair is given", "the file has temperature", abs=1)

    def test_axes_that_grow(self):
        with Writer("in.nc") as file:
            file.dimension("time", 2, unlimited=True)
            file.dimension("lat", NY, unlimited=True)
            file.dimension("lon", NX)
            for name, data in zip(("u", "v"), series(2)):
                file.variable(name, ("time", "lat", "lon"), data[:, 0])
        self.refused("/u: its axis lat can grow", "nccopy -u", pairs=[("u", "v")], abs=1)

    def test_files(self):
        simple()
        for name, data in (("classic.nc", b"CDF\x01" + bytes(100)), ("text.nc", b"text" * 100)):
            with open(name, "wb") as file:
                file.write(data)
        with self.assertRaisesRegex(PackError, "classic netCDF format.*nccopy -k nc4 classic.nc"):
            pack("classic.nc", "out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "text.nc is no netCDF-4 or HDF5 file"):
            pack("text.nc", "out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "none.nc: there is no such file"):
            pack("none.nc", "out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "in.nc is input and output"):
            pack("in.nc", "./in.nc", abs=1, force=True)
        with self.assertRaisesRegex(PackError, "there is no folder .*/no: make it"):
            pack("in.nc", "no/out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "in.nc is no file of factz.pack"):
            unpack("in.nc", "out.nc")
        pack("in.nc", "out.nc", abs=BOUND)
        with self.assertRaisesRegex(PackError, "out.nc exists: .*--force"):
            pack("in.nc", "out.nc", abs=BOUND)
        with self.assertRaisesRegex(PackError, "out.nc is packed: u10.*factz.unpack"):
            pack("out.nc", "twice.nc", abs=BOUND)
        with h5py.File("in.nc", "r+") as file:
            file.create_group("factz")
        with self.assertRaisesRegex(PackError, "in.nc has /factz already"):
            pack("in.nc", "new.nc", abs=BOUND)

    def test_references_in_other_values(self):
        simple()
        with h5py.File("in.nc", "r+") as file:
            kind = np.dtype([("n", "i4"), ("to", h5py.ref_dtype)])
            file.create_dataset("odd", (1,), kind)
        self.refused("/odd holds references within other values", abs=1)


class Commands(Folder):
    def run_command(self, *arguments, module="pack", **environment):
        command = [sys.executable, "-B", "-m", "factz." + module, *arguments]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ, **environment),
        )
        return done.returncode, done.stdout, done.stderr

    def test_as_users_call_it(self):
        archive("in.nc")
        code, out, err = self.run_command(
            "in.nc", "out.nc", "--pair", "u10,v10", "--abs", "0.05", "--mode", "speculative"
        )
        self.assertEqual((code, err), (0, ""))
        for part in ("u10, v10: 2 x 2 x 19 x 36 of float32, bound 0.05", "rows: lat from 90 to -90", "to 1"):
            self.assertIn(part, out)
        pack("in.nc", "same.nc", [("u10", "v10")], abs=0.05, mode="speculative")
        self.assertEqual(structure("out.nc"), structure("same.nc"))
        self.assertEqual(self.run_command("out.nc", "plain.nc", "-q", module="unpack"), (0, "", ""))
        unpack("out.nc", "same_plain.nc")
        self.assertEqual(structure("plain.nc"), structure("same_plain.nc"))

    def test_errors_are_one_line(self):
        simple()
        for arguments, part in (
            (("in.nc", "out.nc"), "a bound is missing: give --abs E"),
            (("in.nc", "out.nc", "--abs", "1", "--rel", "1"), "not allowed with"),
            (("in.nc", "out.nc", "--abs", "1", "--pair", "u10"), "'u10': give two names"),
            (("in.nc", "out.nc", "--abs", "1", "--pair", "u10,w"), "has no variable w"),
            (("in.nc", "out.nc", "--abs", "1", "--spacing", "1"), "'1': give DX,DY"),
            (("in.nc", "out.nc", "--abs", "1", "--spacing", "1,-1", "--north-first"), "leave one out"),
            (("in.nc", "out.nc", "--abs", "1", "--chunk", "5"), "give columns x rows"),
            (("in.nc", "out.nc", "--append", "--abs", "1"), "--abs with --append"),
            (("in.nc", "in.nc", "--abs", "1"), "in.nc is input and output"),
            (("in.nc", "out.nc", "--append"), "out.nc"),
        ):
            code, out, err = self.run_command(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertIn(part, err.strip().splitlines()[-1])
        self.assertEqual(os.listdir("."), ["in.nc"])
        code, out, err = self.run_command("in.nc", "out.nc", "--abs", "1", HDF5_PLUGIN_PATH="/nowhere")
        if "site-packages" not in factz.__file__:
            self.assertEqual(code, 2)
            self.assertIn("the HDF5 filter libh5zfactz.so is in none of", err)
            self.assertEqual(err.count("\n"), 1)

    def test_help_names_everything(self):
        code, out, _ = self.run_command("--help", COLUMNS="112")
        self.assertEqual(code, 0)
        for part in (
            "--pair U,V",
            "--append",
            "--north-first",
            "Exit status:",
            "Examples:",
            "HDF5_PLUGIN_PATH",
        ):
            self.assertIn(part, out)
        self.assertLessEqual(max(map(len, out.splitlines())), 110)
        self.assertIn("plain.nc", self.run_command("--help", module="unpack")[1])

    def interrupted(self, number, code):
        """Interrupts the command while it writes."""
        script = (
            "import sys, time\nfrom factz.pack import converter\nfrom factz.pack.command import main\n"
            "def write(*_):\n    print('writing', flush=True)\n    time.sleep(60)\n"
            "converter.write = write\nsys.exit(main(['in.nc', 'out.nc', '--abs', '1', '--force']))"
        )
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for line in process.stdout:
            if line == "writing\n":
                break
        self.assertEqual(len([name for name in os.listdir(".") if name.endswith(".partial")]), 1)
        process.send_signal(number)
        out, err = process.communicate()
        self.assertEqual((process.returncode, err), (code, ""))

    def test_an_interrupt_leaves_no_file(self):
        simple()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            self.interrupted(number, code)
            self.assertEqual(os.listdir("."), ["in.nc"])
        with open("out.nc", "w") as file:
            file.write("older")
        self.interrupted(signal.SIGTERM, 143)
        self.assertEqual(sorted(os.listdir(".")), ["in.nc", "out.nc"])
        self.assertEqual(contents("out.nc"), b"older")

    def test_long_work_tells_its_progress(self):
        code = (
            "from factz.pack import progress\nprogress._LOG = 0\np = progress.Progress('u, v', 3)\n"
            "p.start -= 7200\np.step()\np.step(2)\np.end()"
        )
        told = subprocess.run([sys.executable, "-B", "-c", code], stderr=subprocess.PIPE, text=True).stderr
        self.assertEqual(told, "u, v: 1 of 3 fields, 4:00:00 left\nu, v: 3 of 3 fields, 0:00 left\n")

    def test_a_replaced_file_hands_down_its_permissions(self):
        simple()
        pack("in.nc", "out.nc", abs=1)
        self.assertEqual(os.stat("out.nc").st_mode, os.stat("in.nc").st_mode)
        os.chmod("out.nc", 0o600)
        os.symlink("out.nc", "link.nc")
        pack("in.nc", "link.nc", abs=1, force=True)
        self.assertTrue(os.path.islink("link.nc"))
        self.assertEqual(os.stat("out.nc").st_mode & 0o777, 0o600)


class Appending(Folder):
    def test_steps_are_added_to_all_variables(self):
        archive("in.nc")
        archive("more.nc", steps=3, first=12)
        pack("in.nc", "out.nc", abs=BOUND)
        append("more.nc", "out.nc")
        archive("all.nc", steps=2)
        names = ("time", "time_bnds", "t2m", "u10", "v10")
        first, more, joined = (read(path, *names) for path in ("in.nc", "more.nc", "out.nc"))
        for name, a, b, c in zip(names, first, more, joined):
            whole = np.concatenate([a, b])
            self.assertEqual(whole.shape, c.shape)
            if name[1:] != "10":
                np.testing.assert_array_equal(whole, c, name)
        whole = [np.concatenate([a, b]) for a, b in zip(first[3:], more[3:])]
        self.assert_kept(whole, joined[3:], fill=float(FILL))
        with h5py.File("out.nc") as file:
            self.assertEqual(factz.hdf5.stored(file["factz/u10_v10"])["compressed"], 10)
        self.assertEqual(read("in.nc", "lat")[0].tolist(), read("out.nc", "lat")[0].tolist())

    def refused_append(self, *parts, change=None):
        archive("more.nc", first=12)
        with h5py.File("more.nc", "r+") as file:
            if change:
                change(file)
        before = contents("out.nc")
        self.refused(*parts, call=lambda *_, **__: append("more.nc", "out.nc"))
        self.assertEqual(contents("out.nc"), before)

    def test_what_does_not_fit_is_refused(self):
        archive("in.nc")
        pack("in.nc", "out.nc", abs=BOUND)

        def changed(name, attribute, value):
            return lambda file: file[name].attrs.__setitem__(attribute, value)

        def moved(name):
            return lambda file: file.move(name, "away")

        def shifted(file):
            file["lon"][...] += 5

        self.refused_append("no variable t2m" if False else "no variable /t2m", "hole", change=moved("t2m"))
        self.refused_append("no variable /u10", change=moved("u10"))
        self.refused_append("/t2m has scale_factor = [0.02]", change=changed("t2m", "scale_factor", 0.02))
        self.refused_append(
            "/time has units", change=changed("time", "units", np.bytes_("hours since 2020-01-01"))
        )
        self.refused_append("/lon differs", "different grids", change=shifted)
        self.refused_append(
            "fill value -999",
            change=lambda file: [
                file[name].attrs.__setitem__("_FillValue", np.float32([-999])) for name in ("u10", "v10")
            ],
        )
        self.refused_append("/u10 has units knots", change=changed("u10", "units", np.bytes_("knots")))
        append("in.nc", "out.nc", force=True)
        self.assertEqual(read("out.nc", "time")[0].tolist(), [0, 6, 0, 6])
        self.refused("the steps do not follow", call=lambda *_, **__: append("in.nc", "out.nc"))
        pack("in.nc", "second.nc", abs=1)
        self.refused("second.nc is packed", call=lambda *_, **__: append("second.nc", "out.nc"))

    def test_a_fixed_axis_does_not_grow(self):
        simple(unlimited=False)
        pack("in.nc", "out.nc", abs=BOUND)
        self.refused(
            "time, has a fixed length",
            "ncks --mk_rec_dmn time",
            call=lambda *_, **__: append("in.nc", "out.nc"),
        )

    def test_variables_that_are_shorter_than_their_dimension(self):
        archive("in.nc")
        archive("more.nc", first=12)
        pack("in.nc", "out.nc", abs=BOUND)
        with h5py.File("more.nc", "r+") as file:
            file["t2m"].resize(1, axis=0)
        append("more.nc", "out.nc")
        last = read("out.nc", "t2m")[0][2:]
        np.testing.assert_array_equal(last[0], read("more.nc", "t2m")[0][0])
        np.testing.assert_array_equal(last[1], np.full((NY, NX), -32767))

    def test_growth_along_another_axis_is_refused(self):
        with Writer("in.nc") as file:
            grid(file)
            for name, data, standard in zip(("u10", "v10"), series(2), NAMES):
                file.variable(name, AXES, data, FILL, attributes={"standard_name": standard})
            file.variable("station", ("level", "time"), np.zeros((2, 2)))
        pack("in.nc", "out.nc", abs=BOUND)
        self.refused(
            "/station grows with time, which is not its first axis",
            call=lambda *_, **__: append("in.nc", "out.nc"),
        )

    def test_nothing_there_yet(self):
        simple(data=[np.zeros((0, 2, NY, NX), "f4")] * 2, steps=0)
        pack("in.nc", "out.nc", abs=BOUND)
        simple("more.nc", steps=2)
        append("more.nc", "out.nc")
        self.assert_kept(read("more.nc", "u10", "v10"), read("out.nc", "u10", "v10"), fill=float(FILL))
        unpack("out.nc", "plain.nc")
        self.assertEqual(read("plain.nc", "u10")[0].shape, (2, 2, NY, NX))


if __name__ == "__main__":
    unittest.main()
