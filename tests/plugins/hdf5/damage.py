"""Damaged chunks are errors of reading, with a message; whatever the bytes are, the process survives."""
import subprocess

from common import expect, field, h5py, np, options, write

ocean = field("ocean_coast")
CHUNKS = (2, 32, 32)
size = write("good.h5", ocean, CHUNKS, "--abs 0.02")
with h5py.File("good.h5") as file:
    good = file["uv"][...]
    stream = file["uv"].id.read_direct_chunk((0, 0, 0))[1]


def reads(name, chunk, line="--abs 0.02", words=None, dtype="f4", check=None):
    """Stores bytes as the first chunk, and reads them; the message of the error, or None."""
    with h5py.File("bad.h5", "w") as file:
        dataset = file.create_dataset("uv", ocean.shape, dtype, chunks=CHUNKS, **options(line))
        dataset.id.write_direct_chunk((0, 0, 0), bytes(chunk))
    with h5py.File("bad.h5") as file:
        try:
            values = file["uv"][:, :32, :32]
        except OSError as error:
            return str(error)
    if check is not None:
        expect((values == check).all(), f"{name} changes values")
    return None


expect(reads("the chunk itself", stream) is None, "a good chunk")
random = np.random.default_rng(1)
for k in range(300):
    bad = bytearray(stream)
    for at in random.integers(0, len(bad), random.integers(1, 4)):
        bad[at] ^= 1 << random.integers(0, 8)
    if bytes(bad) == stream:
        continue
    text = reads(f"flip {k}", bad, check=good[:, :32, :32])
    expect(text is not None and "a chunk cannot be read: " in text, f"flip {k}: {text}")
for length in (1, 7, 127, 128, 200, len(stream) - 1):
    text = reads(f"{length} bytes", stream[:length])
    expect(text is not None and "a chunk cannot be read: " in text, f"{length} bytes: {text}")
for name, bad in (("zeros", bytes(500)), ("text", b"text" * 99), ("noise", random.bytes(5000))):
    expect("a chunk cannot be read: " in (reads(name, bad) or ""), name)
# Without the checksum: anything, but no crash. These words turn it off.
unchecked = list(options("--abs 0.02")["compression_opts"])
unchecked[9] = 0
for k in range(300):
    bad = bytearray(stream)
    for at in random.integers(128, len(bad), random.integers(1, 4)):
        bad[at] ^= 1 << random.integers(0, 8)
    with h5py.File("bad.h5", "w") as file:
        dataset = file.create_dataset("uv", ocean.shape, "f4", chunks=CHUNKS, compression=411,
                                      compression_opts=tuple(unchecked))
        dataset.id.write_direct_chunk((0, 0, 0), bytes(bad))
    with h5py.File("bad.h5") as file:
        try:
            file["uv"][:, :32, :32]
        except OSError as error:
            expect("a chunk cannot be read: " in str(error), f"unchecked {k}: {error}")

# A good stream of another shape or type.
text = reads("doubles", stream, dtype="f8") or ""
expect("values of 4 bytes, and the chunks of the dataset 32 x 32 x 1 of 8" in text, f"another type: {text}")
write("large.h5", ocean, (2, 40, 32), "--abs 0.02")
with h5py.File("large.h5") as file:
    large = file["uv"].id.read_direct_chunk((0, 0, 0))[1]
expect("its stream has 32 x 40 x 1 values" in (reads("more rows", large) or ""), "another shape")

# The tools of another HDF5 fail, too, and read what is left.
reads("last", stream[:200])
command = ["h5dump", "-d", "uv", "--enable-error-stack", "bad.h5"]
done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
expect(done.returncode > 0 and b"a chunk cannot be read: " in done.stdout, done.stdout[-2000:])

# Words of the file that describe no chunk: the plugin looks at them before anything else.
with open("good.h5", "rb") as file:
    whole = bytearray(file.read())
words = np.array([1, 0, 0, 0, 0, 32, 32], "<u4").tobytes()
at = whole.find(words)
expect(at > 0 and whole.find(words, at + 1) < 0, "the words of the chunk are in the file once")
WORDS = ((0, 7, "a version of the description"), (3, 9, "must be 0 to 1"), (4, 5, "must be 0 to 3"),
         (5, 0, "is not between 1 vertex and 4 GiB"), (6, 2**32 - 1, "is not between"))
for word, value, reason in WORDS:
    bad = bytearray(whole)
    bad[at + 4 * word:at + 4 * word + 4] = np.array([value], "<u4").tobytes()
    with open("bad.h5", "wb") as file:
        file.write(bad)
    with h5py.File("bad.h5") as file:
        try:
            file["uv"][:, :32, :32]
        except OSError as error:
            expect(reason in str(error), f"word {word}: {error}")
        else:
            expect(False, f"word {word} = {value} is read")
