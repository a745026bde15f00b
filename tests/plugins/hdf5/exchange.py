"""Files of one HDF5 version are read by another; h5repack compresses and restores; other filters follow."""
import os

from common import expect, field, h5py, interleaved, np, options, read, read_with_tools, run, same
from common import text_options, write

wind = field("wind_global")
series = np.stack([wind, wind[:, ::-1]])

# h5repack compresses: the same bytes as h5py. Each field is another one: of a field that was read before,
# what is stored exactly is known again.
for k, (layout, dtype) in enumerate(
        (("planes", "<f4"), ("interleaved", ">f4"), ("planes", ">f8"), ("interleaved", "<f8"))):
    data = ((1 + k / 4) * (series if layout == "planes" else interleaved(series))).astype(dtype)
    chunks = (1, 2, 64, 90) if layout == "planes" else (1, 64, 90, 2)
    with h5py.File("plain.h5", "w") as file:
        file["uv"] = data
    shape = "x".join(map(str, chunks))
    arguments = text_options("--abs 0.1 --mode speculative", "h5repack")
    run("h5repack", "-l", f"uv:CHUNK={shape}", "-f", f"uv:{arguments}", "plain.h5", "packed.h5")
    size = write("written.h5", data, chunks, "--abs 0.1 --mode speculative")
    with h5py.File("packed.h5") as file:
        expect(file["uv"].id.get_storage_size() == size, "sizes of h5py and h5repack")
        expect(file["uv"].dtype == data.dtype and file["uv"].chunks == chunks, "type and chunks")
    back = read("packed.h5")
    same(back, read("written.h5"), "h5repack and h5py")
    same(back, read_with_tools("packed.h5", data), "h5py and h5dump")
    run("h5diff", "-d", "0.10001", "plain.h5", "packed.h5", "uv", "uv")
    differences = run("h5diff", "plain.h5", "packed.h5", "uv", "uv", fails=True)
    expect("differences found" in differences, "a bound of 0.1")

    # Out: without filters the values stay.
    run("h5repack", "-f", "uv:NONE", "packed.h5", "restored.h5")
    with h5py.File("restored.h5") as file:
        expect(file["uv"].compression is None, "no filter")
    same(read("restored.h5"), back, "packed and restored")

    # Chunks of another size: the words of the first ones do not matter. Values that were decompressed are
    # stored exactly, unless the user lets errors add up.
    other = (1, 2, 181, 360) if layout == "planes" else (1, 181, 360, 2)
    def copy_in_chunks():
        run("h5repack", "-l", "uv:CHUNK=" + "x".join(map(str, other)), "packed.h5", "again.h5")
        with h5py.File("again.h5") as file:
            expect(file["uv"].chunks == other, "chunks of the second file")
            return file["uv"].id.get_storage_size()

    expect(size < copy_in_chunks() < data.nbytes, "exact values in large chunks")
    same(read("again.h5"), back, "packed and in other chunks")
    os.environ["FACTZ_HDF5_AGAIN"] = "lossy"
    expect(copy_in_chunks() < size, "large chunks cost less")
    del os.environ["FACTZ_HDF5_AGAIN"]
    run("h5diff", "-d", "0.20001", "plain.h5", "again.h5", "uv", "uv")

# All datasets of a file: those that are no fields keep what they had.
with h5py.File("mixed.h5", "w") as file:
    file["uv"] = wind
    file["time"] = np.arange(3000)
everywhere = text_options("--abs 0.1", "h5repack")
run("h5repack", "-l", "uv:CHUNK=2x181x360", "-f", everywhere, "mixed.h5", "all.h5")
with h5py.File("all.h5") as file:
    expect(411 in map(int, file["uv"]._filters), "the filter of uv")
    same(file["time"][:], np.arange(3000), "time")

# Fletcher32 and shuffle follow factz.
plain = write("plain.h5", wind, (2, 181, 360), "--abs 0.1")
size = write("fletcher.h5", wind, (2, 181, 360), "--abs 0.1", fletcher32=True)
expect(size == plain + 4, f"{size} bytes with a checksum, {plain} without")
with h5py.File("shuffled.h5", "w") as file:
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_chunk((2, 64, 64))
    arguments = options("--abs 0.1")
    creation.set_filter(arguments["compression"], 0, arguments["compression_opts"])
    creation.set_shuffle()
    creation.set_deflate(1)
    creation.set_fletcher32()
    space = h5py.h5s.create_simple(wind.shape)
    h5py.Dataset(h5py.h5d.create(file.id, b"uv", h5py.h5t.IEEE_F32LE, space, creation))[...] = wind
for path in ("fletcher.h5", "shuffled.h5"):
    same(read(path), read_with_tools(path, wind), path)
    expect(np.abs(read(path) - wind).max() <= np.float32(0.1), path)

# Parts of a dataset are written and read.
with h5py.File("parts.h5", "w") as file:
    dataset = file.create_dataset("uv", wind.shape, "f4", chunks=(2, 50, 50), **options("--abs 0.1"))
    for y in range(0, 181, 10):
        dataset[:, y:y + 10] = wind[:, y:y + 10]
with h5py.File("parts.h5") as file:
    part = file["uv"][1, 40:120:3, 45:200]
expect(np.abs(part - wind[1, 40:120:3, 45:200]).max() <= 0.1, "a part")

# A file that was closed is continued, with a fill value too.
with h5py.File("continued.h5", "w") as file:
    file.create_dataset("uv", (0, *wind.shape), "f4", chunks=(1, 2, 181, 120), maxshape=(None, *wind.shape),
                        fillvalue=-999, **options("--abs 0.1"))
for step in range(3):
    with h5py.File("continued.h5", "a") as file:
        file["uv"].resize(step + 1, axis=0)
        file["uv"][step, :, :, :300] = wind[:, :, :300]
back = read("continued.h5")
expect(back.shape[0] == 3 and (back[..., 300:] == -999).all(), "what nobody wrote is filled")
expect(np.abs(back[..., :300] - wind[..., :300]).max() <= np.float32(0.1), "a file that was continued")
same(back, read_with_tools("continued.h5", back), "continued: h5py and h5dump")

# More threads write the same bytes.
def stored(threads):
    os.environ["FACTZ_HDF5_THREADS"] = threads
    write("threads.h5", wind, wind.shape, "--abs 0.1")
    with h5py.File("threads.h5") as file:
        return file["uv"].id.read_direct_chunk((0, 0, 0))[1], file["uv"][...].tobytes()


expect(stored("1") == stored("3") == stored("0") == stored("many"), "threads")

# Streams that were made elsewhere are stored as they are.
wind = 3 * wind
arguments = options("--abs 0.1 --field 360x181")
wind[0].tofile("u.f32"), wind[1].tofile("v.f32")
run(os.environ["FACTZ"], "compress", "u.f32", "v.f32", "-o", "wind.fz", "--dims", "360x181", "--abs", "0.1")
stream = open("wind.fz", "rb").read()
with h5py.File("direct.h5", "w") as file:
    dataset = file.create_dataset("uv", wind.shape, "f4", chunks=wind.shape, **arguments)
    dataset.id.write_direct_chunk((0, 0, 0), stream)
write("filtered.h5", wind, wind.shape, "--abs 0.1 --field 360x181")
same(read("direct.h5"), read_with_tools("direct.h5", wind), "direct chunks")
with h5py.File("filtered.h5") as file:
    expect(file["uv"].id.read_direct_chunk((0, 0, 0))[1] == stream, "a chunk is the stream of factz compress")
