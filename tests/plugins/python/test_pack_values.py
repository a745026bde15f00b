"""factz.pack: spacing and periodic axes, packed integers, fill values and bounds."""

import unittest

import h5py
import numpy as np
from netcdf_files import AXES, FILL, NAMES, NX, NY, Writer, grid, series, wind
from pack_folder import BOUND, COARSE, Folder, read, simple

import factz
from factz.pack import pack, unpack


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

    def test_what_is_not_taken_from_coordinates_is_told(self):
        spacing = "spacing: lon and lat have no regular steps of one unit"
        seam = "lon is not periodic: 36 steps of 10, and the unit is not degrees_east"
        for y_unit, x_unit, step, expected, told in (
            ("degrees_north", "degrees_east", 10, (10, -10, "x"), ()),
            ("degrees_north", "1", 9, (1, -1, ""), (spacing,)),
            ("degrees_north", "1", 10, (1, -1, ""), (spacing, seam)),
            ("1", "1", 10, (10, -10, ""), (seam,)),
            ("m", "m", 10, (10, -10, ""), ()),
            ("m", "km", 9, (1, -1, ""), (spacing,)),
            ("m", "degrees_east", 10, (1, -1, "x"), (spacing,)),
        ):
            with Writer("in.nc") as file:
                file.dimension("lat", NY, np.linspace(90, -90, NY), units=y_unit)
                file.dimension("lon", NX, np.arange(NX) * float(step), units=x_unit)
                for name, data in zip(("u", "v"), wind(0)):
                    file.variable(name, ("lat", "lon"), data)
            found, text = self.found(pairs=[("u", "v")])
            self.assertEqual(found, expected, (y_unit, x_unit))
            for note in (spacing, seam):
                self.assertEqual(note in text, note in told, (y_unit, x_unit, text))

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


if __name__ == "__main__":
    unittest.main()
