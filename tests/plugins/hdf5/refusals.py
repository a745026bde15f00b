"""Datasets that the filter cannot compress are refused when they are created, with advice."""
import os

from common import expect, h5py, np, options, read, run, same, text_options, words_of, write

good = options("--abs 0.1")["compression_opts"]
relative = options("--rel 1e-3 --field 360x181")["compression_opts"]
periodic = options("--abs 0.1 --periodic x")["compression_opts"]
shape, chunks = (2, 181, 360), (2, 64, 64)


def changed(word, value):
    words = list(good)
    words[word] = value
    return tuple(words)


def create(shape=shape, dtype="f4", chunks=chunks, words=good, **more):
    with h5py.File("file.h5", "w") as file:
        more.update(chunks=chunks, compression=411, compression_opts=words)
        file.create_dataset("uv", shape, dtype, **more)


CASES = [
    (dict(dtype="i4"), "the values are integers, and factz compresses 32-bit and 64-bit floats"),
    (dict(dtype="f2"), "no IEEE floats of 32 or 64 bits"),
    (dict(dtype="S8"), "the values are strings"),
    (dict(dtype=[("u", "f4"), ("v", "f4")], shape=(181, 360), chunks=(64, 64)), "the values are compounds"),
    (dict(shape=(100,), chunks=(10,)), "has 1 axis, and factz compresses u and v together: store both"),
    (dict(shape=(181, 360), chunks=(64, 64)), "has 2 axes"),
    (dict(shape=(3, 181, 360), chunks=(3, 64, 64)), "chunks of 3 x 64 x 64: a chunk must be (..., 2,"),
    (dict(chunks=(1, 64, 64)), "chunks of 1 x 64 x 64"),
    (dict(words=relative, shape=(5, 2, 181, 360), chunks=(3, 2, 181, 360)), "(nx x ny) in 3 planes: give an"),
    (dict(words=periodic), "x is periodic, and the size of a field is not given"),
    (dict(words=periodic + (1, 360, 181)), "chunks of 64 x 64 vertices (nx x ny) do not end where a field"),
    (dict(shape=(5, 2, 181, 2), chunks=(5, 2, 181, 2)), "chunks of 5 x 2 x 181 x 2 may be"),
    (dict(shape=(99, 99, 2, 999, 999), chunks=(99, 99, 2, 999, 999)), "take 4 GiB or more"),
    (dict(shape=(2, 181, 2), chunks=(2, 181, 2)), "chunks of 2 x 181 x 2 may be"),
    (dict(words=None), "no cd_values, so no error bound: `factz h5args --abs BOUND`"),
    (dict(words=good[:5]), "there are 5 cd_values, and factz takes 24, 27 or 36"),
    (dict(words=good + (0,) * 30), "there are 54 cd_values"),
    (dict(words=changed(0, 2)), "words[0] = 2 is a version of the encoding that this library does not know"),
    (dict(words=changed(4, 9)), "words[4] = 9, the mode, is none of block (0), speculative (1)"),
    (dict(words=changed(3, 0x7FF00000)), "bound = NaN must be finite and not negative"),
    (dict(words=good[:2] + (0, 0x7FF00000) + good[4:]), "bound = inf must be finite and not negative"),
    (dict(words=good + (2, 0, 0)), "cd_values[24] = 2 is a version of the description of chunks"),
    (dict(words=good + (1, 64, 64)), "a field is said to have 64 x 64 vertices (nx x ny), and "),
    (dict(words=good + (1, 360, 64), chunks=(2, 64, 360)), "the dataset has 360 x 181: give the right size"),
    (dict(words=good + (1, 360, 181), maxshape=(2, None, 360)), "the dataset may grow along x or y"),
    (dict(words=relative, shape=(2, 181, 361), chunks=(2, 181, 360)), "and the dataset has 361 x 181"),
    # HDF5 before 2.0 refuses some of these itself.
    (dict(shape=(2, 2**32 + 5, 9), chunks=(2, 2**32 - 5, 9)), "take 4 GiB or more"),
    (dict(shape=(2, 20000, 30000), chunks=(2, 20000, 30000)), "2 x 20000 x 30000 take 4 GiB or more"),
    (dict(shape=(2, 9, 2**32 + 5), chunks=(2, 9, 2**32 + 5)), "take 4 GiB or more"),
    (dict(shape=(2, 16384, 16384), chunks=(2, 16384, 16384), dtype="f8"), "take 4 GiB or more"),
    (dict(words=relative), "a relative bound is a fraction of the range of one chunk"),
    (dict(shuffle=True), "filter 2 (shuffle) comes before factz, which must be the first"),
]
for arguments, reason in CASES:
    try:
        create(**arguments)
    except Exception as error:
        alike = reason.endswith("4 GiB") and any(t in str(error) for t in ("must be < 4gb", "less than 2^32"))
        expect(reason in str(error) or alike, f"{arguments}: {error}")
    else:
        expect(False, f"{arguments} is accepted, and should say: {reason}")
create(words=relative, chunks=(2, 181, 360))
create()
# Words of another dataset, as a copy of its properties brings them.
with h5py.File("file.h5") as file:
    words = words_of(file["uv"])
create(words=words, dtype="f8", chunks=(2, 10, 20))
# The size of the field in them is forgotten where it is not that of the dataset; a field that grows to its
# size is right.
with h5py.File("file.h5", "w") as file:
    file.create_dataset("uv", shape, "f4", chunks=chunks, **options("--abs 0.1 --field 360x181"))
    words = words_of(file["uv"])
    expect(words[25:27] == (360, 181), "the size of the field")
    part = file.create_dataset("part", (2, 90, 360), "f4", chunks=(2, 64, 64), compression=411,
                               compression_opts=words)
    expect(words_of(part)[25:27] == (0, 0), "the size of another field")
    file.create_dataset("grows", (2, 90, 360), "f4", maxshape=shape, chunks=chunks,
                        **options("--abs 0.1 --field 360x181"))

# The tools of another HDF5 say the same.
with h5py.File("plain.h5", "w") as file:
    file["uv"] = np.zeros(shape, "i4")
text = run("h5repack", "-v", "--enable-error-stack", "-l", "uv:CHUNK=2x64x64", "-f",
           "uv:" + text_options("--abs 0.1", "h5repack"), "plain.h5", "out.h5")
expect("Applying original settings" in text, text)

# Arguments that describe chunks do no harm.
write("file.h5", np.zeros(shape, "f4"), chunks, "--abs 0.1 --chunk 3x4 --dtype f64 --layout interleaved")

# What HDF5 makes of a refusal is not always told: the log has it.
os.environ["FACTZ_HDF5_LOG"] = os.path.abspath("log.txt")
with h5py.File("apart.nc", "w") as file:
    for name, length in (("y", 181), ("x", 360)):
        file[name] = np.zeros(length, "f4")
        file[name].make_scale(name)
    file["u"] = np.zeros((181, 360), "f4")
    for axis, name in enumerate("yx"):
        file["u"].dims[axis].attach_scale(file[name])
arguments = text_options("--abs 0.1 --field 360x181", "netcdf")
text = run("nccopy", "-c", "u:181,360", "-F", "u," + arguments, "apart.nc", "out.nc", fails=True)
expect("NetCDF: HDF error" in text, text)
expect("the dataset has 2 axes, and factz compresses u and v together" in open("log.txt").read(), "the log")

# A range that outliers make: the chunk is stored exactly and the log says why, unless that is allowed.
y, x = np.mgrid[0:160, 0:320] / 20
field = np.stack([1 + np.sin(x) * np.cos(y), np.cos(x) * np.sin(y)]).astype("f4")
field[:, :60, :100] = 1e20
line = "--rel 1e-3 --field 320x160"
for mandatory in (0, 1):
    with h5py.File("wide.h5", "w") as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        creation.set_chunk(field.shape)
        creation.set_filter(411, 1 - mandatory, options(line)["compression_opts"])
        space = h5py.h5s.create_simple(field.shape)
        made = h5py.h5d.create(file.id, b"uv", h5py.h5t.IEEE_F32LE, space, creation)
        h5py.Dataset(made)[...] = field
    same(read("wide.h5"), field, "a wide range")
    with h5py.File("wide.h5") as file:
        expect(file["uv"].id.get_chunk_info(0).filter_mask == 0, "by factz")
expect("outliers make the range" in open("log.txt").read(), "the log")
write("wide.h5", field, field.shape, line + " --allow-wide-range")
expect(np.abs(read("wide.h5") - field)[field < 1e19].max() > 0.5, "a wide range that is allowed")
write("named.h5", field, field.shape, line + " --fill-value 1e20")
expect(np.abs(read("named.h5") - field).max() < 4e-3, "a fill value that is named")
with h5py.File("short.h5", "w") as file:
    file["uv"] = field
short = text_options(line + " --allow-wide-range", "h5repack")
run("h5repack", "-l", "uv:CHUNK=2x160x320", "-f", "uv:" + short, "short.h5", "out.h5")
same(read("out.h5"), read("wide.h5"), "h5repack and h5py with a wide range")
