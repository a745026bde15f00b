"""Files as netCDF-C writes them, made with h5py alone, and what is in a file, for the tests of factz.pack."""

import h5py
import numpy as np

NX, NY, LEVELS = 36, 19, 2
FILL = np.float32(9.96921e36)
NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.%10d"


def wind(step, level=0, dtype="f4"):
    """A field around the Earth, with noise, and many critical points in the seam too."""
    y, x = np.mgrid[0:NY, 0:NX].astype(np.float64)
    turn = 2 * np.pi / NX
    u = np.sin(5 * turn * x + 0.3 * step) * np.cos(0.5 * y) + 0.1 * np.cos(3 * turn * x)
    v = -np.cos(5 * turn * x + 0.3 * step) * np.sin(0.5 * y + 0.2 * level) + 0.05 * np.sin(0.3 * y)
    noise = np.random.default_rng(7 * step + level).normal(0, 0.08, (2, NY, NX))
    return (10 * (u + noise[0])).astype(dtype), (10 * (v + noise[1])).astype(dtype)


class Writer:
    """Writes dimensions and variables as netCDF-C does."""

    def __init__(self, path):
        self.file = h5py.File(path, "w", track_order=True, libver=("v108", "v110"))
        self.dimensions = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def dimension(self, name, length, values=None, unlimited=False, **attributes):
        """A dimension, and its coordinate if it has values."""
        data = np.zeros(length, ">f4") if values is None else np.asarray(values)
        made = self.file.create_dataset(
            name,
            data=data,
            maxshape=(None if unlimited else length,),
            track_order=True,
            chunks=(512,) if unlimited else None,
        )
        made.make_scale(NO_VARIABLE % length if values is None else name.rsplit("/", 1)[-1])
        made.attrs.create("_Netcdf4Dimid", self.dimensions, dtype="i4")
        self.dimensions += 1
        self.attributes(made, attributes)
        return made

    def variable(self, name, axes, data, fill=None, chunks=None, attributes=(), **options):
        data = np.asarray(data)
        scales = [self.file[axis] for axis in axes]
        most = tuple(None if s.maxshape[0] is None else s.shape[0] for s in scales)
        if fill is not None:
            options["fillvalue"] = fill
        made = self.file.create_dataset(
            name,
            data.shape,
            data.dtype,
            chunks=chunks or (None in most or None),
            maxshape=most if None in most else None,
            track_order=True,
            **options
        )
        if fill is not None:
            made.attrs["_FillValue"] = np.array([fill], data.dtype)
        made[...] = data
        for axis, scale in enumerate(scales):
            made.dims[axis].attach_scale(scale)
        self.attributes(made, dict(attributes))
        return made

    @staticmethod
    def attributes(item, attributes):
        for name, value in attributes.items():
            item.attrs.create(name, np.bytes_(value) if isinstance(value, str) else value)


def grid(file, steps=2, first=0, unlimited=True, north_first=True):
    """The dimensions time, level, lat, lon."""
    file.dimension("time", steps, 6.0 * np.arange(steps) + first, unlimited, units="hours since 2016-04-30")
    file.dimension("level", LEVELS, np.array([10, 100], "i4"), units="m")
    lat = np.linspace(90, -90, NY, dtype="f4")
    file.dimension("lat", NY, lat if north_first else lat[::-1], units="degrees_north")
    file.dimension("lon", NX, np.arange(0, 360, 10, dtype="f4"), units="degrees_east")


AXES = ("time", "level", "lat", "lon")
NAMES = ("eastward_wind", "northward_wind")


def series(steps, first=0, dtype="f4"):
    """u and v of the shape (steps, LEVELS, NY, NX), with missing data, a NaN and an infinity."""
    fields = [[wind(t + first, level, dtype) for level in range(LEVELS)] for t in range(steps)]
    u, v = np.moveaxis(np.array(fields, dtype), 2, 0).copy()
    u[0, 0, 7:9, 3:6] = v[0, 0, 7:9, 3:6] = FILL
    u[-1, 0, 4, 5], v[-1, 1, 12, 20] = np.nan, np.inf
    return u, v


def archive(path, steps=2, first=0):
    """A file with everything that must be copied: types, strings, groups, links, many attributes."""
    with Writer(path) as file:
        root = file.file
        for k in range(12):
            root.attrs.create("note%d" % k, np.bytes_("text %d" % k))
        root.attrs["empty"] = h5py.Empty("S1")
        root.attrs["title"] = "a string of variable length"
        grid(file, steps, first)
        file.dimension("bnds", 2)
        bounds = 6.0 * np.arange(steps)[:, None] + first + [0, 6]
        file.variable("time_bnds", ("time", "bnds"), bounds)
        for name, data, standard in zip(("u10", "v10"), series(steps, first), NAMES):
            more = {"attribute%d" % k: 0.5 * k for k in range(9)}
            file.variable(
                name,
                AXES,
                data,
                FILL,
                (1, 1, NY, NX),
                dict(more, units="m s-1", standard_name=standard),
                compression="gzip",
                shuffle=True,
            )
        packed = np.arange(steps * NY * NX, dtype="i2").reshape(steps, NY, NX)
        file.variable(
            "t2m",
            ("time", "lat", "lon"),
            packed,
            np.int16(-32767),
            (1, NY, NX),
            {"scale_factor": 0.01, "add_offset": 280.0, "units": "K"},
            compression="gzip",
            fletcher32=True,
        )
        file.variable("big", ("lon",), np.arange(NX, dtype=">f8"))
        file.variable("mask", ("lat", "lon"), np.ones((NY, NX), "i1"))
        root.create_dataset("crs", data=np.int32(0)).attrs["grid_mapping_name"] = np.bytes_(
            "latitude_longitude"
        )
        group = root.create_group("station", track_order=True)
        group.attrs["place"] = "\u00d8resund"
        quality = h5py.enum_dtype({"good": 0, "bad": 1}, "i1")
        group["quality"] = quality
        group["pair_type"] = np.dtype([("x", "f4"), ("n", "i2")])
        file.dimension("station/n", 3)
        names = group.create_dataset("name", (3,), h5py.string_dtype(), fillvalue="", track_order=True)
        names[...] = ["a", "bb", "ccc"]
        names.dims[0].attach_scale(group["n"])
        flag = group.create_dataset("flag", (3,), group["quality"], track_order=True)
        flag[...] = [0, 1, 0]
        flag.dims[0].attach_scale(group["n"])
        group.create_dataset("point", (2,), group["pair_type"])[...] = [(1.5, 2), (2.5, 3)]
        ragged = group.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))
        ragged[0], ragged[1] = [1, 2, 3], [4]
        root["same"] = root["mask"]
        root["soft"] = h5py.SoftLink("/station/flag")
        root["elsewhere"] = h5py.ExternalLink("other.nc", "/x")
        root.create_dataset("refers", data=np.array([root["lat"].ref, group.ref], h5py.ref_dtype))
        root.attrs.create("main", root["u10"].ref, dtype=h5py.ref_dtype)


def links(group):
    """Names of a group in the order of their creation."""
    names = []
    group.id.links.iterate(names.append, idx_type=h5py.h5.INDEX_CRT_ORDER)
    return [name.decode() for name in names]


def _plain(file, value):
    """A value that can be compared with that of another file."""
    if isinstance(value, h5py.Reference):
        return file[value].name if value else None
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return [_plain(file, one) for one in value.ravel()]
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return repr(value)


def structure(path, without=(), data=True):
    """Everything in a file, by path, in the order of creation."""
    found = {}
    with h5py.File(path) as file:
        _structure(file["/"], found, without, data)
    return found


def _attributes(item):
    held = {}
    for k in range(h5py.h5a.get_num_attrs(item.id)):
        attribute = h5py.h5a.open(item.id, index=k, index_type=h5py.h5.INDEX_CRT_ORDER)
        name = attribute.name.decode()
        if name != "REFERENCE_LIST" and name != "factz_abs_error":
            kind = attribute.get_type()
            text = (
                (kind.get_class(), kind.get_size(), kind.is_variable_str())
                if kind.get_class() == h5py.h5t.STRING
                else None
            )
            value = item.attrs[name]
            if name == "DIMENSION_LIST":
                value = np.array([one for axis in value for one in axis], object)
            held[name] = (text, _plain(item.file, value))
    # The order of those that HDF5 keeps for scales does not matter.
    scales = held.pop("DIMENSION_LIST", None)
    return list(held.items()) + [("DIMENSION_LIST", scales)]


def _structure(group, found, without, data):
    found[group.name] = _attributes(group)
    for name in links(group):
        path = group.name.rstrip("/") + "/" + name
        link = group.get(name, getlink=True)
        if path in without:
            continue
        if not isinstance(link, h5py.HardLink):
            found[path] = (type(link).__name__, link.path)
            continue
        item = group[name]
        if isinstance(item, h5py.Group):
            _structure(item, found, without, data)
        elif isinstance(item, h5py.Datatype):
            found[path] = (str(item.dtype), str(h5py.check_enum_dtype(item.dtype)))
        else:
            found[path] = _dataset(item, data)


def _dataset(item, data):
    plist = item.id.get_create_plist()
    filters = [plist.get_filter(k)[0] for k in range(plist.get_nfilters())]
    kind = item.id.get_type()
    held = [
        str(item.dtype),
        bool(kind.committed()),
        item.shape,
        item.maxshape,
        item.chunks,
        filters,
        repr(item.fillvalue),
        _attributes(item),
    ]
    return held + ([_plain(item.file, item[...])] if data else [])
