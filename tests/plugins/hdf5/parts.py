"""Chunks that are written in parts, by one process or by several, and copies in other chunks: no errors add
up, and what one process wrote keeps its critical points, as if it had been written at once."""
import os
import subprocess
import sys

from common import Fields, expect, field, h5py, interleaved, np, options, read, read_with_tools, run, same
from common import text_options

BOUND = 0.48
wind = np.tile(field("wind_global"), (1, 2, 2))
NY, NX = wind.shape[1:]
LINE = f"--abs {BOUND} --field {NX}x{NY}"
SMALL_CACHE = 2**20  # less than a chunk, and the default of HDF5 before 2.0
LOG = os.path.abspath("log.txt")
os.environ["FACTZ_HDF5_LOG"] = LOG
open(LOG, "w").close()
kept = Fields()


def log():
    """Lines of the log since the last call."""
    text = open(LOG).read()
    open(LOG, "w").close()
    return text


def create(path, line=LINE, shape=None, chunks=None, dtype="f4", **more):
    shape = shape or wind.shape
    with h5py.File(path, "w") as file:
        file.create_dataset("uv", shape, dtype, chunks=chunks or shape, **options(line), **more)


def write_parts(path, data, parts, **more):
    """Each part is a selection of the dataset; the file is open all the time."""
    create(path, shape=data.shape, dtype=data.dtype, **more)
    with h5py.File(path, "r+", rdcc_nbytes=SMALL_CACHE) as file:
        for part in parts:
            file["uv"][part] = data[part]


def size(path):
    with h5py.File(path) as file:
        return file["uv"].id.get_storage_size()


def largest_error(before, after):
    return float(np.abs(after.astype("f8") - before).max())


def blocks(ny, nx):
    """All blocks of a plane in an order that leaves gaps."""
    places = [(y, x) for y in range(0, NY, ny) for x in range(0, NX, nx)]
    np.random.default_rng(4).shuffle(places)
    return [np.s_[:, y:y + ny, x:x + nx] for y, x in places]


# ---------------------------------------------------------------- one process

components = [np.s_[0], np.s_[1]]
rows = [np.s_[:, y:y + 20] for y in range(0, NY, 20)]
rows_apart = [np.s_[c, y:y + 90] for c in range(2) for y in range(0, NY, 90)]
columns = [np.s_[:, :, x:x + 100] for x in range(0, NX, 100)]
holes = np.where(np.arange(NX) % 97 < 9, np.float32(0), wind)
missing = np.where(np.arange(NX) % 97 < 9, np.float32("nan"), wind)
PARTS = [
    ("components", wind, components, ""),
    ("components, speculative", wind, components, " --mode speculative"),
    ("doubles", wind.astype(">f8"), components, ""),
    ("rows", wind, rows, ""),
    ("rows, speculative", wind, rows, " --mode speculative"),
    ("rows of one component", wind, rows_apart, ""),
    ("columns", wind, columns, ""),
    ("blocks", wind, blocks(150, 250), ""),
    ("rows with land", holes, rows, ""),
    ("blocks with missing values", missing, blocks(150, 250), ""),
]
for name, data, parts, more in PARTS:
    write_parts("whole.h5", data, [np.s_[:]], line=LINE + more)
    write_parts("parts.h5", data, parts, line=LINE + more)
    same(read("parts.h5"), read("whole.h5"), f"{name}: parts and whole")
    expect(size("parts.h5") == size("whole.h5"), f"{name}: sizes")
    kept.add(name, data, read("parts.h5"), "planes", BOUND)

mixed = interleaved(wind)
write_parts("parts.h5", mixed, [np.s_[..., 0], np.s_[..., 1]])
kept.add("interleaved", mixed, read("parts.h5"), "interleaved", BOUND)

# A fill value of the dataset marks what nobody wrote.
write_parts("parts.h5", wind, rows, fillvalue=1e20)
kept.add("rows in a dataset with a fill value", wind, read("parts.h5"), "planes", BOUND, 1e20)

# Closed in between, and read in between: what is read is within the bound, too.
create("closed.h5")
for part in rows:
    with h5py.File("closed.h5", "r+") as file:
        file["uv"][part] = wind[part]
    expect(largest_error(wind[part], read("closed.h5")[part]) <= BOUND, "what is read in between")
kept.add("closed in between", wind, read("closed.h5"), "planes", BOUND)

# Many chunks, each of which is continued after all others.
series = np.stack([np.roll(wind[:, :181, :360], 9 * k, -1) for k in range(12)])
create("series.h5", f"--abs {BOUND}", series.shape, (1, 2, 90, 120))
with h5py.File("series.h5", "r+", rdcc_nbytes=SMALL_CACHE) as file:
    for y in range(0, 181, 40):
        file["uv"][:, :, y:y + 40] = series[:, :, y:y + 40]
kept.add("series", series, read("series.h5"), "planes", BOUND)
# The same field in chunks of all sizes, each read before the next is written.
for side in (32, 60, 100, 181, 362):
    write_parts("sizes.h5", wind, [np.s_[:]], line="--abs 0.3", chunks=(2, side, 2 * side - 4))
    expect(largest_error(wind, read("sizes.h5")) > 0.2, "chunks of other sizes are compressed")
expect("stored exactly: it has values" not in log(), "what one process writes is compressed")

# ---------------------------------------------------------------- several processes

SESSION = """
import h5py, numpy as np, sys
path, *parts = sys.argv[1:]
wind = np.load("wind.npy")
for part in parts:
    with h5py.File(path, "r+", rdcc_nbytes=%d) as file:
        exec("file['uv'][%%s] = %%s" %% tuple(part.split("=")))
""" % SMALL_CACHE
np.save("wind.npy", wind)


def sessions(path, *parts):
    """A process for each part, a text such as "0=wind[0]"."""
    for part in parts:
        # H5Dwrite loads no plugin for a dataset that is there; reading does.
        start = "import h5py; h5py.h5z.filter_avail(411)\n" + SESSION
        subprocess.run([sys.executable, "-c", start, path, part], check=True)


def write_whole(path):
    """By another process: this one may have read what came through unchanged."""
    create(path)
    sessions(path, ":=wind")
    expect(0.9 * BOUND < largest_error(wind, read(path)) <= BOUND, "a chunk that is written at once")


create("apart.h5")
sessions("apart.h5", "0=wind[0]", "1=wind[1]")
expect("one component has a single value" in log(), "u alone is stored exactly")
kept.add("components by two processes", wind, read("apart.h5"), "planes", BOUND)
write_whole("whole.h5")
expect(size("apart.h5") == size("whole.h5"), "u and v of two processes are compressed together")

# Rows by several processes: no error adds up. A point between two of them may change.
create("apart.h5")
sessions("apart.h5", *(f":,{y}:{y + 60}=wind[:,{y}:{y + 60}]" for y in range(0, NY, 60)))
expect("it has values that were compressed and decompressed before" in log(), "the log tells the reason")
expect(0 < largest_error(wind, read("apart.h5")) <= BOUND, "rows by several processes")
same(read("apart.h5"), read_with_tools("apart.h5", wind), "h5py and h5dump")

# A vertex that is rewritten again and again; the rest of the border; every other column; one component.
changed = wind.copy()
for name, parts, by_hand in [
    ("a vertex", [f":,0:1,0:1={k}" for k in range(20)], np.s_[:, :1, :1]),
    ("the inner part", [":,1:-1,1:-1=wind[:,1:-1,1:-1]"] * 3, None),
    ("inner columns", [":,:,1:-1=wind[:,:,1:-1]"] * 3, None),
    ("inner rows", [":,1:-1=wind[:,1:-1]"] * 3, None),
    ("every other column", [":,:,::2=wind[:,:,::2]"] * 3, None),
    ("one component", ["0=wind[0]"] * 3, None),
    ("all but a block", [":,100:=wind[:,100:]", ":,:100,:-40=wind[:,:100,:-40]"] * 3, None),
]:
    write_whole("again.h5")
    changed[...] = wind
    before = read("again.h5")
    sessions("again.h5", *parts)
    if by_hand is not None:
        changed[by_hand] = before[by_hand] = 19
        same(read("again.h5"), before, f"{name}: what was read and what is stored")
        kept.add(name, changed, read("again.h5"), "planes", BOUND)
    largest = largest_error(changed, read("again.h5"))
    expect(0 < largest <= BOUND, f"{name}: {largest}")

# When all rows are new, the chunk is compressed again.
sessions("again.h5", ":=wind")
expect(size("again.h5") == size("whole.h5"), "a chunk that is replaced as a whole")

# Datasets that shrink and grow.
with h5py.File("extent.h5", "w") as file:
    file.create_dataset("uv", data=wind, chunks=(2, 100, 100), maxshape=(2, None, None),
                        **options(f"--abs {BOUND}"))
SHRINK = "import h5py; h5py.File('extent.h5', 'r+')['uv'].resize((2, 330, 650))"
GROW = """
import h5py, numpy as np
with h5py.File('extent.h5', 'r+') as file:
    file['uv'].resize((2, %d, %d))
    file['uv'][:, 330:] = np.load('wind.npy')[:, 330:]
    file['uv'][:, :330, 650:] = np.load('wind.npy')[:, :330, 650:]
""" % (NY, NX)
subprocess.run([sys.executable, "-c", SHRINK], check=True)
kept.add("shrunk", wind[:, :330, :650], read("extent.h5"), "planes", BOUND)
subprocess.run([sys.executable, "-c", GROW], check=True)
expect(largest_error(wind, read("extent.h5")) <= BOUND, "grown again")

# ---------------------------------------------------------------- copies

packed = read("whole.h5")
CHUNKS = ((2, 64, 90), (2, 100, 300))
for chunks in CHUNKS:
    run("h5repack", "-l", "uv:CHUNK=" + "x".join(map(str, chunks)), "whole.h5", "copy.h5")
    same(read("copy.h5"), packed, "a copy by h5repack in other chunks")
    again = text_options("--abs 2", "h5repack")
    run("h5repack", "-l", "uv:CHUNK=2x181x360", "-f", f"uv:{again}", "copy.h5", "coarse.h5")
    same(read("coarse.h5"), packed, "a copy with a larger bound")
kept.add("copied by h5repack", wind, read("copy.h5"), "planes", BOUND)
expect("it has values that were compressed and decompressed before" in log(), "the log of h5repack")

# One process reads a field and writes a part of it as another dataset.
with h5py.File("part.h5", "w") as file:
    file.create_dataset("uv", data=packed[:, 30:130, 17:240], chunks=(2, 100, 223),
                        **options(f"--abs {BOUND}"))
same(read("part.h5"), packed[:, 30:130, 17:240], "a part that was read")
# New values of the same process are compressed.
write_parts("new.h5", 2 * packed, [np.s_[:]])
expect(size("new.h5") < wind.nbytes / 4, "values that were computed from a field")

# The user may say that errors may add up: this control shows what the filter prevents.
os.environ["FACTZ_HDF5_AGAIN"] = "lossy"
run("h5repack", "-l", "uv:CHUNK=2x64x90", "whole.h5", "copy.h5")
expect(BOUND < largest_error(wind, read("copy.h5")) <= 2 * BOUND, "a copy that is compressed again")
write_parts("parts.h5", wind, [*rows, np.s_[0], np.s_[1]])
kept.check()
control = Fields()
create("apart.h5")
sessions("apart.h5", *(f":,{y}:{y + 20}=wind[:,{y}:{y + 20}]" for y in range(0, NY, 20)))
control.add("control", wind, read("apart.h5"), "planes", BOUND)
for case, exact, library in control.violations():
    expect(exact > 0 and library > 0, f"the control: {exact} and {library} violations")
print(f"{len(kept.cases)} fields keep everything")
