"""Compresses u and v with zfp, SZ3 and SPERR through HDF5 filters, for `factz sweep`.

The request is JSON in the first argument. In its folder are u and v, and there the reconstructions go, all f64. A line
of JSON on standard output tells of each run. Then the script waits until the file `done` is taken away.
"""

import json
import pathlib
import sys
import time

request = json.loads(sys.argv[1])
try:
    import h5py
    import hdf5plugin
    import numpy as np
except ImportError as error:
    print(json.dumps({"missing": f"zfp, SZ3 and SPERR: Python has no module {error.name}"}))
    sys.exit()

folder = pathlib.Path(request["folder"])
shape, dtype = (request["ny"], request["nx"]), np.dtype(request["dtype"].replace("f32", "<f4").replace("f64", "<f8"))
# Of each component the planes, which are compressed apart.
components = [np.fromfile(folder / name, "<f8").astype(dtype).reshape(-1, *shape) for name in "uv"]


def round_trip(plane, options):
    """Bytes, reconstruction, seconds of compression and of decompression."""
    # Without a cache of chunks: with one, HDF5 would hand out what it was given.
    with h5py.File("memory", "w", driver="core", backing_store=False, rdcc_nbytes=0) as file:
        begin = time.perf_counter()
        dataset = file.create_dataset("plane", data=plane, chunks=plane.shape, **options)
        file.flush()
        middle = time.perf_counter()
        decoded = dataset[...]
        return dataset.id.get_storage_size(), decoded, middle - begin, time.perf_counter() - middle


# The plugin of SPERR takes the first axis for the fast one: its planes have the lengths of the axes
# exchanged.
PEERS = {
    "zfp": (lambda bound: hdf5plugin.Zfp(accuracy=bound), shape),
    "SZ3": (lambda bound: hdf5plugin.SZ3(absolute=bound), shape),
    "SPERR": (lambda bound: hdf5plugin.Sperr(absolute=bound), shape[::-1]),
}


def measure(name, number, bound):
    options, own_shape = PEERS[name]
    size, seconds = 0, []
    for component, planes in zip("uv", components):
        decoded = np.empty(planes.shape, "<f8")
        for z, plane in enumerate(planes):
            runs = [round_trip(plane.reshape(own_shape), options(bound)) for _ in range(request["repeat"])]
            size += runs[0][0]
            seconds.append([sorted(run[k] for run in runs)[len(runs) // 2] for k in (2, 3)])
            decoded[z] = runs[0][1].reshape(shape)
        decoded.tofile(folder / f"{component}.decoded")
    done = folder / "done"
    done.touch()
    print(json.dumps({"codec": name, "bound": number, "bytes": size,
                      "seconds": [sum(pair) for pair in zip(*seconds)]}), flush=True)
    while done.exists():
        time.sleep(0.002)


for name in PEERS:
    try:
        for number, bound in enumerate(request["bounds"]):
            measure(name, number, bound)
    except Exception as error:  # a plugin that this machine cannot load, a bound that it refuses
        print(json.dumps({"missing": f"{name} ({error})"}), flush=True)
