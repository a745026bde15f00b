"""xarray writes dask arrays block by block, into chunks of the file that hold several blocks."""
import dask.array
import xarray

from common import Fields, field, h5py, np, options

BOUND = 0.48
wind = np.tile(field("wind_global"), (1, 2, 2))
series = np.stack([wind, wind[:, ::-1]])
fields = Fields()
BLOCKS = {"blocks": (1, 1, 100, 300), "components": (2, 1, 362, 720), "columns": (1, 2, 362, 50)}
for name, blocks in BLOCKS.items():
    data = xarray.DataArray(dask.array.from_array(series, blocks), dims=("time", "component", "y", "x"))
    encoding = {"chunksizes": (1, 2, 362, 720), **options(f"--abs {BOUND} --field 720x362")}
    data.to_dataset(name="uv").to_netcdf("dask.nc", engine="h5netcdf", encoding={"uv": encoding})
    with h5py.File("dask.nc") as file:
        fields.add(name, series, file["uv"][...], "planes", BOUND)
fields.check()
