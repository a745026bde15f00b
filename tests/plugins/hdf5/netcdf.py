"""netCDF-4: nccopy compresses and restores, h5netcdf and xarray write and read, ncdump reads."""
import re

import h5netcdf
import xarray

from common import Fields, expect, field, h5py, np, options, run, same, text_options

AXES = ("time", "component", "y", "x")
ocean = field("ocean_coast")
LAND = np.float32(9.96921e36)
filled = np.where(np.abs(ocean).max(axis=0) == 0, LAND, ocean)
series = np.stack([filled, filled[:, ::-1]])


def create(path, **more):
    with h5netcdf.File(path, "w") as file:
        file.dimensions = dict(zip(AXES, series.shape, strict=True))
        variable = file.create_variable("uv", AXES, "f4", fillvalue=LAND, **more)
        variable[...] = series
        file.create_variable("lon", ("x",), "f8")[...] = np.arange(series.shape[-1])


def read(path):
    with xarray.open_dataset(path, engine="h5netcdf", mask_and_scale=False) as file:
        return file["uv"].values


def read_with_ncdump(path):
    text = run("ncdump", "-p", "9,17", "-v", "uv", path)
    numbers = re.search(r"data:\s*uv =(.*?);", text, re.S)[1].split(",")
    return np.array([LAND if n.strip() == "_" else n for n in numbers], "f4").reshape(series.shape)


fields = Fields()
create("plain.nc")
# nccopy copies _FillValue, but gives the dataset of HDF5 no fill value.
arguments = text_options("--abs 0.02 --mode speculative --fill-value 9.96921e36", "netcdf")
run("nccopy", "-c", "uv:1,2,45,50", "-F", f"uv,{arguments}", "plain.nc", "packed.nc")
run("nccopy", "-c", "uv:2,2,45,50", "-F", f"uv,{arguments}", "plain.nc", "stacks.nc")
create("written.nc", chunks=(1, 2, 45, 50), **options("--abs 0.02 --mode speculative"))
for path, steps in (("packed.nc", 1), ("stacks.nc", 2), ("written.nc", 1)):
    back = read(path)
    same(back, read_with_ncdump(path), f"{path}: xarray and ncdump")
    with h5py.File(path) as file:
        expect("411" in file["uv"]._filters and file["uv"].chunks == (steps, 2, 45, 50), f"the filter of {path}")
        expect(file["uv"].id.get_storage_size() < 0.7 * series.nbytes, f"{path}: size")
    # The fill value of the variable marks land.
    fields.add(path, series, back, "planes", 0.02, fill=float(LAND))
    same(back == LAND, series == LAND, f"land in {path}")
same(read("packed.nc"), read("written.nc"), "nccopy and h5netcdf")
fields.check()

# Out: a classic file has no filters.
run("nccopy", "-k", "classic", "packed.nc", "classic.nc")
same(read_with_ncdump("classic.nc"), read("packed.nc"), "the classic file")

# xarray writes with an encoding.
encoding = {"chunksizes": (1, 2, 90, 100), "_FillValue": LAND, **options("--abs 0.02 --field 100x90")}
xarray.Dataset({"uv": (AXES, series)}).to_netcdf("xarray.nc", engine="h5netcdf", encoding={"uv": encoding})
back = read("xarray.nc")
expect(np.abs(back - series)[series != LAND].max() <= np.float32(0.02), "the bound in a file of xarray")
same(back, read_with_ncdump("xarray.nc"), "xarray and ncdump")

# A variable that is no field is refused.
run("nccopy", "-F", f"lon,{arguments}", "plain.nc", "no.nc", fails=True)
