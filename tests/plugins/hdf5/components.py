"""Datasets of one component: chunks are halves of streams; what goes through the filter is stored exactly."""
import os

from common import Fields, expect, field, h5py, np, options, read_with_tools, run, same, words_of

os.environ["FACTZ_HDF5_LOG"] = os.path.abspath("log.txt")
wind = field("wind_global")
NY, NX = wind.shape[1:]
BOUND = 0.5
# Words of a user for both components, with a seam, and the place of the layout behind them.
given = options(f"--abs {BOUND} --field {NX}x{NY} --periodic x --mode speculative")["compression_opts"]
LAYOUT = 28


def words(component, dtype=0, chunk=(NY, NX), planes=1, big=0):
    return (*given, dtype, 2 + component, chunk[1], chunk[0], big, 0, 0, 0, planes)


def create(path, shape, dtype="f4", chunks=None, component=0, **more):
    """A dataset `uv`, the name that the helpers read, of one component."""
    more = dict(dict(compression=411, compression_opts=words(component)), **more)
    with h5py.File(path, "w") as file:
        made = file.create_dataset("uv", shape, dtype, chunks=chunks or shape, **more)
        return words_of(made)


# Any values, types and chunks come back bit for bit, when they are written at once and in parts.
odd = wind[0].copy()
odd.view("u4")[3, 5:8] = (0x7FC00123, 0xFF800001, 0x80000000)
for dtype in ("<f4", ">f4", "<f8", ">f8"):
    for chunks in ((2, NY, NX), (1, 50, 70), (3, 181, 90)):
        for component in (0, 1):
            with np.errstate(invalid="ignore"):
                data = np.stack([odd, 2 * odd, np.zeros_like(odd)]).astype(dtype)
            create("exact.h5", data.shape, dtype, chunks, component, fillvalue=-7.0)
            with h5py.File("exact.h5", "r+", rdcc_nbytes=0) as file:
                file["uv"][:2] = data[:2]
                for row in range(0, NY, 60):
                    file["uv"][2, row : row + 60, : NX // 2] = data[2, row : row + 60, : NX // 2]
                file["uv"][2, :, NX // 2 :] = data[2, :, NX // 2 :]
            with h5py.File("exact.h5") as file:
                same(file["uv"][...], data, f"{dtype}, chunks of {chunks}")
    same(read_with_tools("exact.h5", data), data, f"h5dump of {dtype}")
expect("a chunk of one component is stored exactly" in open("log.txt").read(), "the log")

# HDF5 describes the chunks, whatever the words of a copy say of them.
found = create("other.h5", (5, 20, 30), "f8", (2, 10, 30), component=1)
expect(found[27:36] == (1, 3, 30, 10, 0, 0, 0, 0, 2), f"the words of other chunks: {found}")

# Shapes and types that hold no component are refused.
for more, reason in (
    (dict(shape=(100,), chunks=(10,)), "has 1 axis, and one component of a field has the shape"),
    (dict(dtype="i4"), "the values are integers"),
    (dict(shuffle=True), "filter 2 (shuffle) comes before factz"),
    (dict(shape=(2, 16384, 16384), dtype="f8"), "take 2 GiB or more"),
    # Chunks of both components need the seam.
    (dict(compression_opts=words(0)[:LAYOUT] + (0,) + words(0)[LAYOUT + 1 :], shape=(2, NY, NX),
          chunks=(2, 50, 70)), "x is periodic, and chunks of 70 x 50"),
):
    try:
        create("refused.h5", **dict(dict(shape=(NY, NX)), **more))
    except Exception as error:
        expect(reason in str(error), f"{more}: {error}")
    else:
        expect(False, f"{more} is accepted, and should say: {reason}")

# Halves of a stream are read as they are, and keep the field.
wind[0].tofile("u.f32"), wind[1].tofile("v.f32")
run(os.environ["FACTZ"], "compress", "u.f32", "v.f32", "-o", "uv.fz", "--dims", f"{NX}x{NY}", "--abs", BOUND)
run(os.environ["FACTZ"], "split", "uv.fz", "u.fz", "v.fz")
with h5py.File("halves.h5", "w") as file:
    for component, name in enumerate("uv"):
        made = file.create_dataset(name, (NY, NX), "f4", chunks=(NY, NX), compression=411,
                                   compression_opts=words(component))
        made.id.write_direct_chunk((0, 0), open(name + ".fz", "rb").read())
with h5py.File("halves.h5") as file:
    halves = np.stack([file[name][...] for name in "uv"])
    stored = sum(file[name].id.get_storage_size() for name in "uv")
fields = Fields()
fields.add("halves", wind, halves, "planes", BOUND)

# h5repack copies the streams, or stores exactly where it changes the chunks.
run("h5repack", "halves.h5", "same.h5")
run("h5repack", "-l", "u,v:CHUNK=50x70", "halves.h5", "parts.h5")
run("h5repack", "-f", "u,v:NONE", "halves.h5", "plain.h5")
for path, chunks, filters in (("same.h5", (NY, NX), 1), ("parts.h5", (50, 70), 1), ("plain.h5", (NY, NX), 0)):
    with h5py.File(path) as file:
        for component, name in enumerate("uv"):
            same(file[name][...], halves[component], f"{name} in {path}")
            expect(file[name].chunks == chunks, f"chunks of {path}: {file[name].chunks}")
            expect(file[name].id.get_create_plist().get_nfilters() == filters, f"filters of {path}")
        if path == "same.h5":
            expect(sum(file[n].id.get_storage_size() for n in "uv") == stored, "h5repack copies the streams")

# The half of the other component, or of another size, is an error where it is read.
with h5py.File("halves.h5", "r+") as file:
    file["u"].id.write_direct_chunk((0, 0), open("v.fz", "rb").read())
    file["v"].id.write_direct_chunk((0, 0), open("uv.fz", "rb").read())
with h5py.File("halves.h5") as file:
    for name, held in (("u", "v alone"), ("v", "both components")):
        try:
            file[name][...]
        except OSError as error:
            reason = f"its stream holds {held}, and the chunks of the dataset hold {name} alone"
            expect(reason in str(error), str(error))
        else:
            expect(False, f"{held} is read as {name}")
fields.check()
