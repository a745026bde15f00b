"""Datasets of volumes, (..., 3, nz, ny, nx): the whole dataset keeps its critical points, chunk borders included.

tests/exact_verify3d.py, which shares no code with the library, compares the volumes."""
import os
import subprocess
import sys

from common import (
    ROOT, expect, h5py, np, options, read, read_with_tools, run, same, text_options, words_of, write
)

sys.path.insert(0, os.path.join(ROOT, "tests", "plugins", "python"))
from support import volume_violations as violations  # noqa: E402
from support import waves_in_space  # noqa: E402

NZ, NY, NX = 20, 24, 33
SIZE = f"--field {NX}x{NY}x{NZ}"


def refused(part, data, chunks, line, **more):
    try:
        write("refused.h5", data, chunks, line, **more)
    except ValueError as error:
        expect(part in str(error), f"{part!r} is not in {error}")
    else:
        sys.exit(f"not refused: {part}")


steps = np.stack([waves_in_space((NZ, NY, NX), step) for step in range(2)]).astype("f4")
big = waves_in_space((NZ, NY, NX)).astype(">f8")
WHOLE, PART = (3, NZ, NY, NX), (3, 10, 12, 16)

# Name, data, chunk, options, bound.
CASES = [
    ("whole volumes", steps, (1, *WHOLE), f"--abs 0.1 {SIZE}", 0.1),
    ("parts", steps, (1, *PART), f"--abs 0.1 {SIZE}", 0.1),
    ("parts of unknown fields", steps, (1, *PART), "--abs 0.1 --coder huffman", 0.1),
    ("slabs", big, (3, 7, NY, NX), f"--abs 0.02 {SIZE} --dz -2", 0.02),
    ("one volume", big, WHOLE, f"--abs 0.02 {SIZE}", 0.02),
    ("lossless", steps, (1, *PART), "--abs 0", 0),
]
sizes = {}
for name, data, chunk, line, bound in CASES:
    path = name.replace(" ", "-") + ".h5"
    sizes[name] = write(path, data, chunk, f"--mode repair {line}")
    back = read(path)
    same(back, read_with_tools(path, data), f"{name}: h5py and h5dump")
    if bound == 0:
        same(back, data, name)
    for before, after in zip(data.reshape(-1, *WHOLE), back.reshape(-1, *WHOLE)):
        dz = -2 if "--dz -2" in line else 1
        expect(violations(before, after, bound, dz) == 0, f"{name}: violations")
expect(sizes["whole volumes"] < sizes["parts"] < steps.nbytes, f"{sizes}")

# A chunk is a stream of the program.
with h5py.File("whole-volumes.h5") as file:
    words = words_of(file["uv"])
    expect(len(words) == 37 and words[28] == 4 and words[35:] == (NZ, NZ), f"the words are {words}")
    open("chunk.fz", "wb").write(file["uv"].id.read_direct_chunk((0, 0, 0, 0, 0))[1])
run(os.environ["FACTZ"], "decompress", "chunk.fz", "u.npy", "v.npy", "w.npy")
same(np.stack([np.load(name) for name in ("u.npy", "v.npy", "w.npy")]), read("whole-volumes.h5")[0], "the stream")

# A bound relative to the range of a volume, a fill value of the dataset, and a periodic axis.
write("rel.h5", steps, (1, *WHOLE), f"--mode repair --rel 0.01 {SIZE}")
bound = 0.01 * float(steps[1].max() - steps[1].min())
expect(violations(steps[1], read("rel.h5")[1], bound) == 0, "a relative bound")
filled = steps[0].copy()
filled[:, 2, 3, 4] = 1e20
write("filled.h5", filled, WHOLE, f"--mode repair --abs 0.1 {SIZE}", fillvalue=1e20)
same(read("filled.h5")[:, 2, 3, 4], filled[:, 2, 3, 4], "filled vertices")
for chunk in (WHOLE, (3, 10, NY, 11)):
    write("seam.h5", steps[0], chunk, f"--mode repair --abs 0.3 {SIZE} --periodic xz")
    closed = [np.pad(a, ((0, 0), (0, 1), (0, 0), (0, 1)), "wrap") for a in (steps[0], read("seam.h5"))]
    expect(violations(*closed, 0.3) == 0, f"the seam with chunks {chunk}")

# Writing in parts, through a cache that holds no chunk, adds no errors: the process has the originals.
with h5py.File("parts.h5", "w", rdcc_nbytes=0) as file:
    made = file.create_dataset("uv", steps.shape, "f4", chunks=(1, *PART), **options("--mode repair --abs 0.1"))
    for k in range(3):
        made[:, k] = steps[:, k]
    made[1, :, 4:12] = steps[1, :, 4:12]
for k in range(2):
    expect(violations(steps[k], read("parts.h5")[k], 0.1) == 0, f"step {k} in parts")
# Another process does not have them: the chunk is stored exactly, and old values keep their error of one bound.
program = "import h5py, sys; f = h5py.File('parts.h5', 'a', rdcc_nbytes=0); d = f['uv']; d[0, 1, 4] = d[0, 1, 4] + 1"
before = read("parts.h5")
subprocess.run([sys.executable, "-c", program], check=True)
before[0, 1, 4] += 1
same(read("parts.h5"), before, "values that were decompressed before, written again")

# h5repack passes 20 words.
with h5py.File("plain.h5", "w", libver=("earliest", "v110")) as file:
    file.create_dataset("uv", data=steps[0])
words = text_options(f"--mode repair --abs 0.1 {SIZE} --dz 1", "h5repack")
run("h5repack", "-l", f"uv:CHUNK={'x'.join(map(str, WHOLE))}", "-f", f"uv:{words}", "plain.h5", "packed.h5")
expect(violations(steps[0], read("packed.h5"), 0.1) == 0, "h5repack")
with h5py.File("packed.h5") as file:
    expect(len(words_of(file["uv"])) == 37, "h5repack used the filter")

refused("the dataset has 3 axes, and factz compresses u, v and w", steps[0, 0], (4, 4, 4), "--mode repair --abs 1")
refused("mode=repair is that of volumes", steps[0], (2, 10, 12, 16), "--mode repair --abs 1")
refused("mode=repair is that of volumes", steps, (2, *PART), "--mode repair --abs 1")
refused("at least 2 vertices", steps[0], (3, 1, 12, 16), "--mode repair --abs 1")
refused("a relative bound is a fraction", steps[0], PART, f"--mode repair --rel 0.1 {SIZE}")
refused(f"the dataset has {NX} x {NY} x {NZ}", steps[0], WHOLE, f"--mode repair --abs 1 --field {NX}x{NY}x19")
refused("z is periodic, and chunks", steps[0], (3, 7, NY, NX), f"--mode repair --abs 1 {SIZE} --periodic z")
refused("a chunk must be (..., 2, ny, nx)", steps[0], PART, "--abs 1")
print(f"{len(CASES)} datasets of volumes keep everything; bytes: {sizes}")
