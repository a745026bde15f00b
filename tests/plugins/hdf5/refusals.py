"""Datasets that the filter cannot compress are refused when they are created, with advice."""
from common import expect, h5py, np, options, text_options, run, write

good = options("--abs 0.1")["compression_opts"]
relative = options("--rel 1e-3 --field 360x181")["compression_opts"]
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
    (dict(shape=(3, 181, 360), chunks=(3, 64, 64)), "chunks of 3 x 64 x 64: a chunk must be (1, ..., 2,"),
    (dict(chunks=(1, 64, 64)), "chunks of 1 x 64 x 64"),
    (dict(shape=(5, 2, 181, 360), chunks=(5, 2, 64, 64)), "chunks of 5 x 2 x 64 x 64"),
    (dict(shape=(2, 181, 2), chunks=(2, 181, 2)), "chunks of 2 x 181 x 2 may be"),
    (dict(words=None), "no cd_values, so no error bound: `factz h5args --abs BOUND`"),
    (dict(words=good[:5]), "there are 5 cd_values, and factz takes 24, 27 or 35"),
    (dict(words=good + (0,) * 30), "there are 54 cd_values"),
    (dict(words=changed(0, 2)), "words[0] = 2 is a version of the encoding that this library does not know"),
    (dict(words=changed(4, 9)), "words[4] = 9, the mode, is none of block (0), speculative (1)"),
    (dict(words=changed(3, 0x7FF00000)), "bound = NaN must be finite and not negative"),
    (dict(words=good[:2] + (0, 0x7FF00000) + good[4:]), "bound = inf must be finite and not negative"),
    (dict(words=good + (2, 0, 0)), "cd_values[24] = 2 is a version of the description of chunks"),
    (dict(words=relative), "a relative bound is a fraction of the range of one chunk"),
    (dict(shuffle=True), "filter 2 (shuffle) comes before factz, which must be the first"),
]
for arguments, reason in CASES:
    try:
        create(**arguments)
    except Exception as error:
        expect(reason in str(error), f"{arguments}: {error}")
    else:
        expect(False, f"{arguments} is accepted, and should say: {reason}")
create(words=relative, chunks=(2, 181, 360))
create()
# Words of another dataset, as a copy of its properties brings them.
with h5py.File("file.h5") as file:
    words = file["uv"].id.get_create_plist().get_filter(0)[2]
create(words=words, dtype="f8", chunks=(2, 10, 20))

# The tools of another HDF5 say the same.
with h5py.File("plain.h5", "w") as file:
    file["uv"] = np.zeros(shape, "i4")
text = run("h5repack", "-v", "--enable-error-stack", "-l", "uv:CHUNK=2x64x64", "-f",
           "uv:" + text_options("--abs 0.1", "h5repack"), "plain.h5", "out.h5")
expect("Applying original settings" in text, text)

# Arguments that describe chunks do no harm.
write("file.h5", np.zeros(shape, "f4"), chunks, "--abs 0.1 --chunk 3x4 --dtype f64 --layout interleaved")
