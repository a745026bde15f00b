"""An installed plugin, whose filter has the number of the argument, compresses a dataset."""
import sys

from common import expect, field, h5py, np, options, read_with_tools, same

number = int(sys.argv[1])
wind = field("wind_global")
with h5py.File("file.h5", "w") as file:
    words = options("--abs 0.1 --field 360x181")["compression_opts"]
    arguments = {"compression": number, "compression_opts": words}
    dataset = file.create_dataset("uv", data=wind, chunks=wind.shape, **arguments)
    expect(dataset.id.get_storage_size() < wind.nbytes / 4, "the dataset is compressed")
with h5py.File("file.h5") as file:
    back = file["uv"][...]
expect(0 < np.abs(back - wind).max() <= np.float32(0.1), "the bound")
same(back, read_with_tools("file.h5", wind), "h5py and h5dump")
