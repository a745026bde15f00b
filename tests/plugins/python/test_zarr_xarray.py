"""The codec of Zarr v3 with xarray and dask."""

import unittest
import warnings

import dask
import dask.array
import numpy as np
import xarray as xr
import zarr
from zarr_fields import BOUND, NX, NY, Folder, stack

import factz
import factz.zarr
from factz.zarr import Pair, encoding

AXES = ("time", "component", "lat", "lon")


def dataset(steps=6, first=0):
    coordinates = {
        "time": np.arange(first, first + steps),
        "component": np.array(["u10", "v10"], object),
        "lat": np.linspace(60, -60, NY, dtype="f4"),
        "lon": np.linspace(0, 90, NX, dtype="f4"),
    }
    attributes = {"units": "m s-1"}
    variables = {"wind": (AXES, stack(steps), attributes), "pressure": ("time", np.arange(steps))}
    return xr.Dataset(variables, coordinates)


def codecs(path):
    return [codec["name"] for codec in zarr.open_array(path).metadata.to_dict()["codecs"]]


class Files(Folder):
    def write(self, name, ds, **more):
        options = encoding(ds.wind, abs=BOUND, dy=-1, **more)
        ds.to_zarr(name, zarr_format=3, consolidated=False, encoding={"wind": options})

    def read(self, name):
        return xr.open_zarr(name, consolidated=False)

    def test_variables_come_back(self):
        ds = dataset()
        self.write("a.zarr", ds)
        after = self.read("a.zarr")
        self.assert_kept(ds.wind.values, after.wind.values, spacing=[1, -1])
        self.assertEqual((after.wind.dims, after.wind.attrs), (ds.wind.dims, ds.wind.attrs))
        xr.testing.assert_identical(after.drop_vars("wind").load(), ds.drop_vars("wind"))
        pair = after.wind.to_dataset("component")
        self.assertEqual(list(pair.data_vars), ["u10", "v10"])
        self.assertEqual(pair.u10.dims, ("time", "lat", "lon"))

    def test_steps_are_appended_and_replaced(self):
        self.write("a.zarr", dataset())
        more = dataset(2, first=6)
        more.to_zarr("a.zarr", append_dim="time", consolidated=False)
        new = dataset(1, first=3)
        new["wind"] = new.wind + np.float32(0.25)
        new.drop_vars(["component", "lat", "lon"]).to_zarr(
            "a.zarr", region={"time": slice(3, 4)}, consolidated=False
        )
        self.assertEqual(codecs("a.zarr/wind"), ["factz"])
        expected = np.concatenate([dataset().wind.values, more.wind.values])
        expected[3] = new.wind.values[0]
        self.assert_kept(expected, self.read("a.zarr").wind.values, spacing=[1, -1])

    def test_dask(self):
        ds = dataset()
        lazy = ds.chunk(time=2)
        for scheduler in ("threads", "synchronous"):
            with dask.config.set(scheduler=scheduler):
                self.write(scheduler, lazy, chunks=(2, 2, 10, NX))
                after = self.read(scheduler).wind
                self.assertEqual(after.data.chunksize, (2, 2, 10, NX))
                self.assert_kept(ds.wind.values, after.values, spacing=[1, -1])
                one = after.isel(time=4, component=1, lat=20, lon=slice(3, 9))
                self.assertEqual(one.values.tobytes(), after.values[4, 1, 20, 3:9].tobytes())

    def test_dask_that_splits_u_from_v(self):
        ds = dataset().chunk(component=1)
        with self.assertRaisesRegex(
            ValueError, r"'component' of array=wind.*\.chunk\(\{'component': 2\}\)"
        ):
            encoding(ds.wind, abs=BOUND, dy=-1)
        with self.assertRaisesRegex(ValueError, r"\.rechunk\(\{1: 2\}\)"):
            encoding(dask.array.zeros((3, 2, 9, 9), chunks=(1, 1, 9, 9), dtype="f4"), abs=BOUND)
        options = encoding(dataset().wind, abs=BOUND, dy=-1)
        with self.assertRaisesRegex(ValueError, "overlap multiple Dask chunks"):
            ds.to_zarr("a.zarr", zarr_format=3, consolidated=False, encoding={"wind": options})

    def test_coordinates_that_run_backwards(self):
        wind = dataset().wind
        with self.assertRaisesRegex(ValueError, "lat runs from 60 to -60: give dy=-1"):
            encoding(wind, abs=BOUND)
        with self.assertRaisesRegex(ValueError, "lon runs from 90 to 0: give dx=-1"):
            encoding(wind[..., ::-1], abs=BOUND, dy=-1)
        for accepted in (
            encoding(wind, abs=BOUND, dy=1),
            encoding(wind, abs=BOUND, preserve="points"),
            encoding(wind[..., ::-1, :], abs=BOUND),
            encoding(wind.drop_vars("lat"), abs=BOUND),
        ):
            self.assertIsInstance(accepted["serializer"], Pair)

    def test_fill_values(self):
        ds = dataset()
        ds["wind"] = ds.wind.where(ds.lon > 20)
        options = {**encoding(ds.wind, abs=BOUND, dy=-1, fill=-999.0), "_FillValue": -999.0}
        ds.to_zarr("a.zarr", zarr_format=3, consolidated=False, encoding={"wind": options})
        self.assertEqual(zarr.open_array("a.zarr/wind")[0, 0, 0, 0], -999)
        after = self.read("a.zarr").wind
        finite = ds.wind.where(np.isfinite(ds.wind))
        self.assert_kept(finite.values, after.where(np.isfinite(after)).values, spacing=[1, -1])
        self.assertTrue((after.isnull() == ds.wind.isnull()).all())

    def test_copies(self):
        """Opened datasets behave as the table of docs/zarr.md says."""
        self.write("a.zarr", dataset())
        opened = self.read("a.zarr")
        opened.to_zarr("same.zarr", zarr_format=3, consolidated=False)
        self.assertEqual(codecs("same.zarr/wind"), ["factz"])
        opened.drop_encoding().to_zarr("plain.zarr", zarr_format=3, consolidated=False)
        self.assertNotIn("factz", codecs("plain.zarr/wind"))
        self.assertEqual(self.read("plain.zarr").wind.values.tobytes(), opened.wind.values.tobytes())
        with self.assertRaisesRegex(ValueError, "serializer"):
            opened.to_zarr("v2.zarr", zarr_format=2, consolidated=False)

    def test_zarr_v2(self):
        import factz.numcodecs

        ds = dataset()
        codec = factz.numcodecs.Factz(abs=BOUND, dy=-1, field=(NY, NX))
        options = {"compressors": codec, "filters": None, "chunks": (1, 2, NY, NX)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of xarray and zarr on strings
            ds.to_zarr("a.zarr", zarr_format=2, consolidated=False, encoding={"wind": options})
            after = self.read("a.zarr").load()
        self.assert_kept(ds.wind.values, after.wind.values, spacing=[1, -1])


if __name__ == "__main__":
    unittest.main()
