"""The whole dataset keeps its critical points, those between chunks included; a control does not."""
from common import Fields, expect, field, interleaved, np, options, read, read_with_tools, run, same, write
from common import h5py

NAMES = ("wind_global", "ocean_coast", "navy_winds_000", "coads_winds_01_nan")
wind, ocean, navy, holes = map(field, NAMES)
series = np.stack([wind, np.roll(wind, 31, axis=-1), wind[:, ::-1]])
# Land of 1e20, as netCDF files have it.
filled = np.where(np.abs(ocean).max(axis=0) == 0, np.float32(1e20), ocean)

# Name, planes, type in the file, layout, chunk (ny, nx), options, bound, fill value of the dataset, ties.
CASES = [
    ("one chunk", wind, "<f4", "planes", (181, 360), "--field 360x181", 0.1, None, "all"),
    ("even chunks", wind[:, :180], "<f4", "planes", (60, 60), "", 0.1, None, "all"),
    ("edge chunks", wind, "<f4", "planes", (64, 64), "", 0.1, None, "all"),
    ("odd chunks", wind, "<f4", "interleaved", (37, 50), "--mode speculative", 0.5, None, "all"),
    ("columns", wind, "<f4", "planes", (181, 7), "--field 360x181", 0.1, None, "all"),
    ("rows", wind, "<f4", "interleaved", (1, 360), "--field 360x181 --mode speculative", 0.1, None, "all"),
    ("short chunks", navy, "<f4", "planes", (3, 5), "", 1.0, None, "all"),
    ("lorenzo", wind, "<f4", "planes", (64, 100), "--predictor lorenzo --coder huffman", 0.1, None, "all"),
    ("doubles", wind * np.pi, "<f8", "planes", (64, 64), "", 0.3, None, "all"),
    ("big-endian doubles", navy * np.pi, ">f8", "interleaved", (32, 32), "--mode speculative", 1.0, None,
     "all"),
    ("big-endian", navy, ">f4", "planes", (32, 32), "", 0.5, None, "all"),
    ("time", series, "<f4", "planes", (100, 100), "", 0.1, None, "all"),
    ("time, interleaved", series, ">f4", "interleaved", (64, 64), "--mode speculative", 0.5, None, "all"),
    ("lossless", wind, "<f4", "planes", (64, 64), "", 0.0, None, "all"),
    ("coast", ocean, "<f4", "planes", (32, 32), "", 0.02, None, "all"),
    ("coast, zeros", ocean, "<f4", "planes", (32, 32), "--ties zeros", 0.02, None, "zeros"),
    ("coast, speculative", ocean, "<f4", "interleaved", (40, 30), "--mode speculative --ties zeros", 0.02,
     None, "zeros"),
    ("coast, sos", ocean, "<f4", "planes", (32, 32), "--ties sos", 0.02, None, "sos"),
    ("missing values", holes, "<f4", "planes", (32, 32), "", 0.1, None, "all"),
    ("fill value of the dataset", filled, "<f4", "planes", (32, 32), "", 0.02, 1e20, "all"),
    ("fill value given", filled, "<f4", "planes", (32, 32), "--fill-value 1e20", 0.02, None, "all"),
    ("padding of NaN", ocean, "<f4", "planes", (64, 64), "", 0.02, float("nan"), "all"),
    ("padding as data", np.where(ocean == 0, 0.5, ocean), "<f4", "planes", (64, 64), "", 0.02, 0.5, "all"),
]


def chunks_of(layout, data, chunk):
    leading = (1,) * (data.ndim - 3)
    return leading + ((2, *chunk) if layout == "planes" else (*chunk, 2))


fields = Fields()
for name, planes, dtype, layout, chunk, line, bound, fill, ties in CASES:
    data = (planes if layout == "planes" else interleaved(planes)).astype(dtype)
    path = name.replace(" ", "-").replace(",", "") + ".h5"
    more = {} if fill is None else {"fillvalue": fill}
    size = write(path, data, chunks_of(layout, data, chunk), f"--abs {bound} {line}", **more)
    if min(chunk) > 30 and bound > 0:
        expect(0 < size < 0.8 * data.nbytes, f"{name}: {size} bytes")
    back = read(path)
    same(back, read_with_tools(path, data), f"{name}: h5py and h5dump")
    if bound == 0:
        same(data, back, name)
    given = 1e20 if data.max() == np.float32(1e20) else fill
    fields.add(name, data, back, layout, bound, None if given is None or np.isnan(given) else given, ties)
    with h5py.File("plain.h5", "w") as plain:
        plain["uv"] = data
    if not np.isnan(data).any() and bound > 0:
        run("h5diff", "-d", bound * 1.000001, "plain.h5", path, "uv", "uv")

# A relative bound of whole fields is a fraction of the range of each.
steps = np.stack([wind, 5 * wind])
for layout, data in (("planes", steps), ("interleaved", interleaved(steps))):
    write("relative.h5", data, chunks_of(layout, data, (181, 360)), "--rel 1e-3 --field 360x181")
    for k, (before, after) in enumerate(zip(data, read("relative.h5"), strict=True)):
        bound = 1e-3 * (float(before.max()) - float(before.min()))
        fields.add(f"relative, step {k}", before, after, layout, bound)
fields.check()

# Chunks beyond the end of the dataset, whose field grows.
with h5py.File("grown.h5", "w") as file:
    dataset = file.create_dataset("uv", shape=(0, 2, 50, 50), maxshape=(None, 2, None, None), dtype="f4",
                                  chunks=(1, 2, 64, 64), **options("--abs 0.1"))
    for steps, (ny, nx) in ((1, (50, 50)), (2, (181, 360))):
        dataset.resize((steps, 2, ny, nx))
        dataset[steps - 1] = series[steps - 1][:, :ny, :nx]
    dataset[0] = series[0]
back = read("grown.h5")
same(back, read_with_tools("grown.h5", back), "grown: h5py and h5dump")
grown = Fields()
grown.add("grown", series[:2], back, "planes", 0.1)
grown.check()

# Chunks that were allocated early and never written, and chunks of padding alone.
with h5py.File("early.h5", "w") as file:
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((2, 64, 64))
    creation.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    creation.set_fill_value(np.array(-7, "f4"))
    arguments = options("--abs 0.1")
    creation.set_filter(arguments["compression"], 0, tuple(arguments["compression_opts"]))
    space = h5py.h5s.create_simple((2, 181, 360))
    made = h5py.h5d.create(file.id, b"uv", h5py.h5t.IEEE_F32LE, space, creation)
    h5py.Dataset(made)[:, :64, :64] = wind[:, :64, :64]
back = read("early.h5")
expect((back[:, 64:] == -7).all() and (back[:, :, 64:] == -7).all(), "the fill value of other chunks")
expect(np.abs(back[:, :64, :64] - wind[:, :64, :64]).max() <= 0.1, "the bound beside such chunks")

# Control: without pinned borders both programs see what is lost between chunks. The filter finds out that a
# field is said to be too small where the dataset is created, so the words of a chunk are changed in the file.
write("control.h5", wind, (2, 32, 32), "--abs 1")
with open("control.h5", "rb") as file:
    whole = bytearray(file.read())
unpinned = [1, 32, 32, 0, 0, 32, 32]
at = whole.find(np.array([1, 0, 0, 0, 0, 32, 32], "<u4").tobytes())
whole[at:at + 28] = np.array(unpinned, "<u4").tobytes()
with open("control.h5", "wb") as file:
    file.write(whole)
with h5py.File("control.h5", "r+") as file:
    file["uv"][...] = wind
control = Fields()
control.add("control", wind, read("control.h5"), "planes", 1.0)
for case, exact, library in control.violations():
    expect(exact > 0 and library > 0, f"the control: {exact} and {library} violations")
print(f"{len(fields.cases)} fields keep everything")
