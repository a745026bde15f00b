"""Values that a process read and writes again. Of a field that other processes wrote, what stays keeps within
the bound of the first original, however the changes are scattered. What the same process wrote is compressed
as if it had been written at once. New data are compressed."""
import multiprocessing
import os
import subprocess
import sys

from common import Fields, expect, field, h5py, np, options, read

BOUND = 0.1
LOG = os.path.abspath("log.txt")
os.environ["FACTZ_HDF5_LOG"] = LOG
forked = multiprocessing.get_context("fork")


def in_process(function, *arguments):
    """In a process of its own: this one reads and writes nothing with the filter, and remembers nothing."""
    done = forked.Process(target=function, args=arguments)
    done.start()
    done.join()
    expect(done.exitcode == 0, f"{function.__name__}{arguments[:1]} ended with {done.exitcode}")


def answer_of(function, *arguments):
    with forked.Pool(1) as pool:
        return pool.apply(function, arguments)



def create(path, data, chunks, arguments):
    with h5py.File(path, "w") as file:
        file.create_dataset("uv", data=data, chunks=chunks, **arguments)


def marks(path):
    """Chunks that are compressed, and those that are exact because values came back."""
    with h5py.File(path) as file:
        dataset = file["uv"].id
        streams = [dataset.read_direct_chunk(dataset.get_chunk_info(k).chunk_offset)[1]
                   for k in range(dataset.get_num_chunks())]
    bound = [np.frombuffer(stream[56:64], "<f8")[0] for stream in streams]
    return sum(b > 0 for b in bound), sum(b == 0 for b in bound)


def change(path, mask, seed):
    """As a program that nudges some vertices: reads all, and writes all."""
    with h5py.File(path, "r+") as file:
        values = file["uv"][...]
        values[:, mask] += np.random.default_rng(seed).normal(0, 0.3, (2, mask.sum())).astype("f4")
        file["uv"][...] = values


def waves(ny, nx, seed=0):
    y, x = np.mgrid[0:ny, 0:nx]
    noise = np.random.default_rng(seed).normal(0, 0.1, (2, ny, nx))
    return (np.stack([np.sin(x * 0.7 + y * 0.2), np.cos(y * 0.5 + x * 0.1)]) + noise).astype("f4")


# ---------------------------------------------------------------- changes by ten processes

y, x = np.mgrid[0:100, 0:100]
chance = np.random.default_rng(99).random((100, 100))
PATTERNS = {
    "checker-board": (x + y) % 2 == 0,
    "every 8th row and column": (x % 8 == 0) | (y % 8 == 0),
    "30 %": chance < 0.3,
    "15 %": (chance < 0.15)[:40, :40],
    "90 %": chance < 0.9,
    "the diagonal of a small chunk": np.eye(12, dtype=bool),
    "a small checker-board": ((x + y) % 2 == 0)[:15, :15],
}
for name, mask in PATTERNS.items():
    for mode in ("block", "speculative"):
        before = waves(*mask.shape)
        arguments = options(f"--abs {BOUND} --mode {mode} --field {mask.shape[1]}x{mask.shape[0]}")
        in_process(create, "again.h5", before, before.shape, arguments)
        for seed in range(10):
            in_process(change, "again.h5", mask, seed)
        error = np.abs(answer_of(read, "again.h5").astype("f8") - before)[:, ~mask].max()
        expect(0.5 * BOUND < error <= BOUND, f"{name}, {mode}: old values differ by {error / BOUND} bounds")
text = open(LOG).read()
expect("a chunk of 100 x 100 vertices (nx x ny) of floats with an absolute bound of 0.1 is stored exactly: "
       "it has values that were compressed and decompressed before" in text, text[:500])


# ---------------------------------------------------------------- values that one process replaces

wind = np.tile(field("wind_global"), (1, 2, 2))
SMALL_CACHE = 2**20
kept = Fields()


def replace(path, first, arguments, chunks, places, values):
    """Writes `first` at once, then each value at its place; the result, and the number of exact chunks."""
    with h5py.File(path, "w", rdcc_nbytes=SMALL_CACHE) as file:
        dataset = file.create_dataset("uv", first.shape, first.dtype, chunks=chunks, **arguments)
        dataset[...] = first
        for place, value in zip(places, values, strict=True):
            dataset[place] = value
    return read(path)


random = np.random.default_rng(7)
NY, NX = wind.shape[1:]
for mode in ("block", "speculative"):
    whole = options(f"--abs {BOUND} --mode {mode} --field {NX}x{NY}")
    cases = {
        "u replaced": ([np.s_[0]], [np.roll(wind[0], 40, -1)]),
        "v replaced, then u": ([np.s_[1], np.s_[0]], [np.roll(wind[1], 9, 0), np.roll(wind[0], 40, -1)]),
        "vertices": ([np.s_[:, r, c] for r, c in zip(random.integers(0, NY, 12), random.integers(0, NX, 12))],
                     list(random.normal(0, 9, (12, 2)).astype("f4"))),
        "a block": ([np.s_[:, 30:90, 50:300]], [wind[:, 130:190, 150:400]]),
        "every other row": ([np.s_[:, ::2]], [wind[:, ::2] + 1]),
    }
    for name, (places, values) in cases.items():
        for kind, chunks, arguments in (("whole", wind.shape, whole),
                                        ("chunks", (2, 181, 360), options(f"--abs {BOUND} --mode {mode}"))):
            expected = wind.copy()
            for place, value in zip(places, values, strict=True):
                expected[place] = value
            after = answer_of(replace, "replaced.h5", wind, arguments, chunks, places, values)
            kept.add(f"{name}, {mode}, {kind}", expected, after, "planes", BOUND)
            expect(marks("replaced.h5")[1] == 0, f"{name}, {mode}, {kind}: chunks are compressed")
kept.check()


# ---------------------------------------------------------------- what is new, and what is meant

def read_then_write(source, data, arguments, chunks):
    """A process reads a dataset and writes another one."""
    read(source)
    create("new.h5", data, chunks, arguments)
    return marks("new.h5")


CHUNKS = (2, 64, 90)
later = 1.03 * wind + 0.2 * np.roll(wind, 1, -1)
for name, scale in (("floats", 0), ("packed", 0.01)):
    old, new = ((np.round(w / scale) * scale + 0.3).astype("f4") if scale else w for w in (wind, later))
    in_process(create, "old.h5", old, CHUNKS, options(f"--abs {BOUND}"))
    exact = answer_of(read_then_write, "old.h5", new, options(f"--abs {BOUND}"), CHUNKS)[1]
    expect(exact == 0, f"{name}: {exact} chunks of new data are exact")


def copy_with_smaller_bound():
    """Values that were read are the data, and not their originals, where another dataset has another bound."""
    create("old.h5", wind, wind.shape, options(f"--abs {10 * BOUND}"))
    values = read("old.h5")
    create("fine.h5", values, wind.shape, options(f"--abs {BOUND}"))
    return np.abs(read("fine.h5") - values).max()


expect(answer_of(copy_with_smaller_bound) <= BOUND, "a copy with a smaller bound")


def streams_alike(older, newer, arguments):
    """Two datasets of one process whose chunks have the same bytes; then some vertices of the older one
    change. The largest error of the others."""
    create("older.h5", older, older.shape, arguments)
    create("newer.h5", newer, newer.shape, arguments)
    with h5py.File("older.h5") as a, h5py.File("newer.h5") as b:
        chunks = [f["uv"].id.read_direct_chunk((0, 0, 0))[1] for f in (a, b)]
    mask = np.zeros(older.shape[1:], bool)
    mask[20:40:2, 20:40:3] = True
    change("older.h5", mask, 5)
    return chunks[0] == chunks[1], np.abs(read("older.h5").astype("f8") - older)[:, ~mask].max()


def centred(path, data, arguments):
    """The middles of the intervals that a compression rounds to."""
    create(path, data, data.shape, arguments)
    return read(path)


ALIKE = options(f"--abs {BOUND} --preserve none --field 64x64")
middles = answer_of(centred, "middles.h5", waves(64, 64), ALIKE)
noises = [np.random.default_rng(seed).uniform(-0.6, 0.6, middles.shape).astype("f4") * BOUND for seed in range(2)]
for name, (older, newer) in {
    "fields that are rounded alike": [middles + noise for noise in noises],
    "another order of u and v": (waves(64, 64), np.ascontiguousarray(np.moveaxis(waves(64, 64), 0, -1))),
}.items():
    alike, error = answer_of(streams_alike, older, newer, ALIKE)
    expect(alike and error <= BOUND * 1.0001, f"{name}: alike {alike}, {error / BOUND} bounds")

# Equal lines of a process are merged, with their number at the end.
before = waves(100, 100)
in_process(create, "again.h5", before, (2, 20, 20), options(f"--abs {BOUND}"))
open(LOG, "w").close()
code = """
import h5py, numpy as np
with h5py.File("again.h5", "r+") as file:
    values = file["uv"][...]
    values[:, ::2, ::2] += 1
    file["uv"][...] = values
"""
subprocess.run([sys.executable, "-c", code], check=True)
lines = open(LOG).read().splitlines()
expect(len(lines) == 2 and lines[1].startswith("factz: 25 times: a chunk of 20 x 20 vertices"), str(lines))

# Without memory for whole chunks, rows and runs are still known: this control shows what the memory is for.
os.environ["FACTZ_HDF5_MEMORY"] = "0"
for name, noticed in (("30 %", True), ("checker-board", False)):
    before = waves(100, 100)
    in_process(create, "again.h5", before, before.shape, options(f"--abs {BOUND}"))
    for seed in range(3):
        in_process(change, "again.h5", PATTERNS[name], seed)
    inner = ~PATTERNS[name]
    inner[[0, -1]] = inner[:, [0, -1]] = False
    error = np.abs(answer_of(read, "again.h5").astype("f8") - before)[:, inner].max()
    expect((error <= BOUND) == noticed, f"{name} without memory: {error / BOUND} bounds")
print(f"{len(kept.cases)} fields keep everything")
