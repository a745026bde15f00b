"""Files of factz.pack in the hands of other programs.

    packed_tools.py xarray|netcdf|hdf5|cdo|nco virtual|separate

The input is a file of netCDF-C with the real wind of data/wind_global, north first, as (time, level, lat,
lon), with masked values, packed temperatures, a grid mapping, strings and an enum in a group.
HDF5_PLUGIN_PATH names the folder of the filter. Runs in an empty folder.
"""

import os
import re
import subprocess
import sys

import netCDF4
import numpy as np
from support import ROOT, VIOLATIONS, exact_counts

NX, NY, BOUND = 360, 181, 0.05
LAND = np.float32(9.96921e36)
FAMILY, LAYOUT = sys.argv[1:]
SEPARATE = LAYOUT == "separate"


def wind():
    u, v = (
        np.fromfile(str(ROOT / "data/wind_global" / name), "<f4").reshape(NY, NX)
        for name in ("u.f32", "v.f32")
    )
    return [(u, v), (0.9 * u, 1.1 * v), (np.roll(u, 30, 1), np.roll(v, 30, 1)), (u + 0.1, v - 0.1)]


def create(path, first=0, form="NETCDF4"):
    steps = wind()
    with netCDF4.Dataset(path, "w", format=form) as file:
        file.Conventions, file.source = "CF-1.8", "a test"
        for name, size in (("time", None), ("level", 2), ("lat", NY), ("lon", NX), ("bnds", 2)):
            file.createDimension(name, size)
        time = file.createVariable("time", "f8", ("time",))
        time.units, time.bounds = "hours since 2016-04-30", "time_bnds"
        time[:] = [first, first + 6]
        file.createVariable("level", "i4", ("level",))[:] = [10, 100]
        lat = file.createVariable("lat", "f4", ("lat",))
        lat.units, lat[:] = "degrees_north", np.linspace(90, -90, NY)
        lon = file.createVariable("lon", "f4", ("lon",))
        lon.units, lon[:] = "degrees_east", np.arange(NX)
        file.createVariable("time_bnds", "f8", ("time", "bnds"))[:] = [
            [first, first + 6],
            [first + 6, first + 12],
        ]
        for k, name in enumerate(("u10", "v10")):
            x = file.createVariable(
                name,
                "f4",
                ("time", "level", "lat", "lon"),
                zlib=True,
                shuffle=True,
                chunksizes=(1, 1, NY, NX),
                fill_value=LAND,
            )
            x.units, x.standard_name = "m s-1", ("eastward_wind", "northward_wind")[k]
            x.grid_mapping = "crs"
            for n, pair in enumerate(steps):
                x[n // 2, n % 2] = pair[k]
            x[0, 0, 80:90, 20:40] = np.ma.masked
            x[1, 1, 50, 60] = np.nan
        t = file.createVariable("t2m", "i2", ("time", "lat", "lon"), zlib=True, fill_value=-32767)
        t.scale_factor, t.add_offset, t.units = 0.01, 280.0, "K"
        t[:] = 280 + np.random.default_rng(1).normal(0, 5, (2, NY, NX))
        file.createVariable("crs", "i4", ()).grid_mapping_name = "latitude_longitude"
        if form == "NETCDF4":
            group = file.createGroup("station")
            group.createDimension("n", 3)
            group.createVariable("name", str, ("n",))[:] = np.array(["a", "bb", "ccc"], object)
            kind = group.createEnumType(np.int8, "quality", {"good": 0, "bad": 1})
            group.createVariable("flag", kind, ("n",), fill_value=0)[:] = np.int8([0, 1, 0])


def create_types(path):
    """Types of users, one of them younger than the group that uses it, strings, and empty attributes."""
    with netCDF4.Dataset(path, "w") as file:
        group = file.createGroup("early")
        for name, size in (("time", None), ("lat", 19), ("lon", 36), ("n", 4)):
            file.createDimension(name, size)
        kind = file.createEnumType(np.int16, "late", {"a": 0, "b": 5})
        group.createVariable("e", kind, ("n",), fill_value=0)[:] = np.array([0, 5, 0, 5], "i2")
        record = file.createCompoundType(np.dtype([("p", "f4"), ("q", "i8")]), "record")
        rows = [(1, 2), (3, 4), (5, 6), (7, 8)]
        group.createVariable("c", record, ("n",))[:] = np.array(rows, record.dtype)
        ragged = file.createVariable("r", file.createVLType(np.int32, "ragged"), ("n",))
        for k in range(4):
            ragged[k] = np.arange(k + 1, dtype="i4")
        file.createVariable("text", str, ())[...] = "text"
        file.createVariable("letters", "S1", ("n",))[:] = list("abcd")
        file.setncattr("empty", "")
        file.setncattr_string("several", ["a", "bb"])
        for name, standard, values in zip("uv", ("x_wind", "y_wind"), wind()[0]):
            x = file.createVariable(name, "f4", ("time", "lat", "lon"), chunksizes=(3, 19, 36))
            x.standard_name, x.empty = standard, ""
            x[:] = np.broadcast_to(values[::10, ::10], (5, 19, 36))


def run(*command, fails=False, **environment):
    variables = {k: v for k, v in dict(os.environ, **environment).items() if v is not None}
    done = subprocess.run(
        list(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables
    )
    if (done.returncode != 0) != fails or done.returncode < 0:
        sys.exit("%s ended with %d\n%s" % (command, done.returncode, done.stdout + done.stderr))
    return done.stdout + (done.stderr if fails else "")


def factz(module, *arguments):
    return run(sys.executable, "-B", "-m", "factz." + module, *arguments)


def pack(*arguments):
    return factz("pack", *arguments, "--abs", str(BOUND), "--layout", LAYOUT)


def expect(condition, what):
    if not condition:
        sys.exit("not so: " + what)


def values(path, *names):
    """As netCDF4 reads them, without masks."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        return [file[name][:] for name in names]


def kept(before, after, what, bound=BOUND):
    """Every field, with the triangles across the seam."""
    cases = []
    for index in np.ndindex(before[0].shape[:-2]):
        arrays = [np.concatenate([c[index], c[index][:, :1]], axis=1) for c in (*before, *after)]
        cases.append((arrays, {"bound": bound, "spacing": [1, -1], "fill": float(LAND)}))
    counted = exact_counts(cases)
    for k, case in enumerate(counted):
        expect(case["critical_points"] > 1000, "%s, field %d: it has points" % (what, k))
        expect(not any(case[name] for name in VIOLATIONS), "%s, field %d: %s" % (what, k, case))


def with_xarray():
    import xarray

    packed_pairs = {"out.nc": ("in.nc", 4), "more.nc": ("both", 8)}
    create("late.nc", 12)
    pack("in.nc", "more.nc", "--mode", "speculative", "-q")
    factz("pack", "--append", "late.nc", "more.nc", "-q")
    for path, (_, count) in packed_pairs.items():
        before = xarray.open_dataset("in.nc")
        if path == "more.nc":
            before = xarray.concat([before, xarray.open_dataset("late.nc")], "time", data_vars="minimal")
        for engine in ("netcdf4", "h5netcdf"):
            after = xarray.open_dataset(path, engine=engine)
            expect(
                list(before.variables) == list(after.variables),
                "%s with %s has the same variables" % (path, engine),
            )
            for name in before.variables:
                if name not in ("u10", "v10"):
                    expect(before[name].identical(after[name]), "%s with %s: %s" % (path, engine, name))
            expect(before.attrs == after.attrs, "%s: global attributes" % engine)
            own = {"factz_pair": "u10 v10", "factz_abs_error": BOUND}
            found = {key: after.u10.attrs[key] for key in after.u10.attrs if key != "factz_storage"}
            expect(dict(before.u10.attrs, **own) == found, "%s: attributes of u10" % engine)
            pairs = [[d[name].values for name in ("u10", "v10")] for d in (before, after)]
            expect(
                all(np.array_equal(np.isnan(a), np.isnan(b)) for a, b in zip(*pairs)),
                "missing data are alike",
            )
            expect(
                before.u10.dims == after.u10.dims and pairs[0][0].shape[0] * 2 == count,
                "the shape of " + path,
            )
            kept(*pairs, "%s with %s" % (path, engine))
            station = xarray.open_dataset("out.nc", engine=engine, group="station")
            expect(list(station["name"].values) == ["a", "bb", "ccc"], "strings in a group")
    after = xarray.open_dataset("out.nc")
    after[["u10", "v10"]].drop_encoding().to_netcdf("copy.nc")
    expect(np.array_equal(xarray.open_dataset("copy.nc").u10, after.u10, equal_nan=True), "a copy is plain")
    if SEPARATE:
        # Virtual datasets have no chunks that dask could take.
        lazy = xarray.open_dataset("out.nc", chunks={}).u10
        expect(lazy.chunks == ((1, 1), (1, 1), (NY,), (NX,)), "chunks of dask: %s" % (lazy.chunks,))
        expect(np.array_equal(lazy[1, 0], after.u10[1, 0], equal_nan=True), "dask reads a field")
    factz("unpack", "out.nc", "plain.nc", "-q")
    plain = xarray.open_dataset("plain.nc")
    expect(plain.u10.encoding["chunksizes"] == (1, 1, NY, NX) and plain.u10.encoding["zlib"], "plain chunks")
    expect(np.array_equal(plain.u10, after.u10, equal_nan=True), "plain values")


def with_netcdf():
    strip = re.compile(r"^netcdf .*|^\s*u10:.*|^\s*v10:.*|^\s*:_NCProperties.*", re.M)
    original = strip.sub("", run("ncdump", "-h", "in.nc"))
    packed = strip.sub("", run("ncdump", "-h", "out.nc"))
    begin = len(packed) if SEPARATE else packed.index("group: factz")
    end = original if SEPARATE else original.rstrip().rstrip("}")
    expect(packed[:begin].split() == end.split(), "ncdump shows the same header")
    for name in ("time", "t2m", "/station/name", "/station/flag", "time_bnds"):
        texts = [
            strip.sub("", run("ncdump", "-v", name, p).split("data:", 1)[1].split("group: factz")[0])
            for p in ("in.nc", "out.nc")
        ]
        expect(
            texts[0].split() == texts[1].rstrip().split() or texts[0].split()[:-1] == texts[1].split(),
            "ncdump of " + name,
        )
    text = re.search(r"\n u10 =(.*?);", run("ncdump", "-p", "9,17", "-v", "u10", "out.nc"), re.S)[1].split(
        ","
    )
    shown = np.array([{"_": LAND, "NaNf": np.nan}.get(n.strip(), n) for n in text], "f4").reshape(
        2, 2, NY, NX
    )
    u, v = values("out.nc", "u10", "v10")
    expect(np.array_equal(shown, u, equal_nan=True), "ncdump and netCDF4 read the same")
    kept(values("in.nc", "u10", "v10"), (u, v), "netCDF4")
    run("nccopy", "out.nc", "copy.nc")
    # The copy has u10 plain, or stored exactly by the filter.
    filters = run("ncdump", "-h", "-s", "copy.nc").split("group: factz")[0].count("_Filter = ")
    expect(filters == (2 if SEPARATE else 0), "the filters in a copy of nccopy: %d" % filters)
    for a, b in zip(values("copy.nc", "u10", "v10"), (u, v)):
        expect(np.array_equal(a, b, equal_nan=True), "nccopy")
    # A file of the classic model stays one.
    create("model.nc", form="NETCDF4_CLASSIC")
    pack("model.nc", "packed_model.nc", "-q")
    run("nccopy", "packed_model.nc", "copy.nc")
    factz("unpack", "packed_model.nc", "plain_model.nc", "-q")
    expect(run("ncdump", "-k", "plain_model.nc").strip() == "netCDF-4 classic model", "the classic model")
    run("nccopy", "-k", "classic", "plain_model.nc", "classic.nc")
    for a, b in zip(values("classic.nc", "u10", "v10"), values("packed_model.nc", "u10", "v10")):
        expect(np.array_equal(a, b, equal_nan=True), "the classic file")
    create_types("types.nc")
    pack("types.nc", "packed_types.nc", "-q")
    factz("unpack", "packed_types.nc", "plain_types.nc", "-q")
    texts = []
    for path in ("types.nc", "packed_types.nc", "plain_types.nc"):
        text = run("ncdump", "-n", "same", path).split("\ngroup: factz")[0]
        texts.append(re.sub(r"\n [uv] =.*?;|\t\t[uv]:factz_[^\n]*|[\s}]", "", text, flags=re.S))
    expect(texts[0] == texts[1] == texts[2] and "ragged" in texts[0], "types of users: %s" % texts)
    write_with_netcdf(u, v)
    # Without the filter nothing is read, instead of fill values.
    said = run("ncdump", "-v", "u10", "out.nc", fails=True, HDF5_PLUGIN_PATH="/nowhere")
    expect("error" in said.lower(), "ncdump without the filter: " + said)


def write_with_netcdf(u, v):
    """netCDF-C writes into a packed file through u10."""
    with netCDF4.Dataset("out.nc", "r+") as file:
        file["u10"][0, 1, 3] = 7
        file["t2m"][0] = 273
    after = values("out.nc", "u10", "v10")
    u[0, 1, 3] = 7
    error = np.abs(after[0] - u)[0, 1].max()
    expect(error <= (0 if SEPARATE else BOUND), "a row of u10, error %g" % error)
    expect(np.array_equal(after[0][1], u[1], equal_nan=True), "the other fields of u10")
    expect(not SEPARATE or np.array_equal(after[1], v, equal_nan=True), "v10 beside u10")
    with netCDF4.Dataset("out.nc", "r+") as file:
        file["time"][2] = 12
        if SEPARATE:
            file["u10"][2] = u[0]
    # A new step does not fit into virtual datasets: nothing that is there is harmed.
    there = values("out.nc", "u10", "v10")
    for a, b in zip(there, after):
        expect(np.array_equal(a[:2], b, equal_nan=True), "the steps before a new one")
    expect((there[1][2] == LAND).all(), "a hole in v10")
    new = u[0] if SEPARATE else np.full_like(u[0], LAND)
    expect(np.array_equal(there[0][2], new, equal_nan=True), "the new step of u10")


def with_hdf5():
    for path, name in (("out.nc", "u10"), ("out.nc", "v10")):
        run("h5dump", "-d", name, "-b", "LE", "-o", "values", path)
        shown = np.fromfile("values", "<f4").reshape(2, 2, NY, NX)
        expect(np.array_equal(shown, values(path, name)[0], equal_nan=True), "h5dump of " + name)
    # h5repack of HDF5 1.10 breaks strings of netCDF in every file (HDFGroup/hdf5#3335): one without them.
    create("in.nc", form="NETCDF4_CLASSIC")
    pack("in.nc", "out.nc", "-q", "--force")
    run("h5repack", "out.nc", "repacked.nc")
    kept_as = "FILTER_ID 411" if SEPARATE else "VIRTUAL"
    expect(kept_as in run("h5dump", "-p", "-H", "-d", "u10", "repacked.nc"), "h5repack keeps " + kept_as)
    expect(os.path.getsize("repacked.nc") < 1.05 * os.path.getsize("out.nc"), "the size after h5repack")
    for a, b in zip(values("repacked.nc", "u10", "v10"), values("out.nc", "u10", "v10")):
        expect(np.array_equal(a, b, equal_nan=True), "h5repack")


def with_cdo():
    lines = [run("cdo", "-s", "infon", "-selname,u10,v10", path).splitlines() for path in ("in.nc", "out.nc")]
    expect(len(lines[0]) == len(lines[1]) == 9, "cdo infon has a line for each field")
    for a, b in zip(*(group[1:] for group in lines)):
        a, b = a.split(), b.split()
        expect(
            a[:8] == b[:8]
            and np.allclose(
                *(np.array(line[8:11], "f8") for line in (a, b)), rtol=0, atol=BOUND + 1e-3, equal_nan=True
            ),
            "cdo infon: %s and %s" % (a, b),
        )
    for form in ("nc4", "nc"):
        run("cdo", "-s", "-f", form, "copy", "out.nc", "copy.nc")
        with netCDF4.Dataset("copy.nc") as file:
            expect(
                set(file.variables)
                == {"time", "time_bnds", "level", "lat", "lon", "u10", "v10", "t2m", "crs"}
                and not file.groups,
                "variables of a copy of cdo: %s" % list(file.variables),
            )
        for a, b in zip(values("copy.nc", "u10", "v10"), values("out.nc", "u10", "v10")):
            expect(np.array_equal(a, b, equal_nan=True), "cdo copy")


def with_nco():
    run("ncks", "-3", "-O", "-v", "u10,v10", "out.nc", "copy.nc")
    for a, b in zip(values("copy.nc", "u10", "v10"), values("out.nc", "u10", "v10")):
        expect(np.array_equal(a, b, equal_nan=True), "ncks -3")
    # NCO 5.1.4 asks virtual datasets for their chunks, and loses the words of filters that it does not know.
    # The advice is to unpack, and to name another filter.
    if SEPARATE:
        run("ncks", "-O", "-L", "1", "-v", "u10,v10", "out.nc", "copy.nc")
    else:
        factz("unpack", "out.nc", "plain.nc", "-q")
        run("ncks", "-O", "-v", "u10,v10", "plain.nc", "copy.nc")
    kept(values("in.nc", "u10", "v10"), values("copy.nc", "u10", "v10"), "ncks")


create("in.nc")
said = pack("in.nc", "out.nc", "--pair", "u10,v10")
expect("dx = 1, dy = -1" in said and "lon is periodic" in said, said)
expect(os.path.getsize("out.nc") < 0.4 * os.path.getsize("in.nc"), "the size of out.nc")
{"xarray": with_xarray, "netcdf": with_netcdf, "hdf5": with_hdf5, "cdo": with_cdo, "nco": with_nco}[FAMILY]()
