"""Chunks of several fields, one stream each: every field keeps its points, and padding costs nothing.

Periodic fields keep those between their last and their first column."""
from common import Fields, expect, field, interleaved, np, options, read, read_with_tools, same, write
from common import h5py

wind = field("wind_global")
steps = np.stack([np.roll(wind, 31 * k, axis=-1) * (1 + k / 8) for k in range(7)])
levels = steps[:6].reshape(3, 2, *wind.shape)
NY, NX = wind.shape[1:]

# Name, data, layout, leading lengths of a chunk, (ny, nx) of a chunk, options. The last chunks are not full.
CASES = [
    ("one step", steps, "planes", (1,), (NY, NX), "--field 360x181"),
    ("three steps", steps, "planes", (3,), (NY, NX), "--field 360x181"),
    ("all steps", steps, "planes", (7,), (NY, NX), "--field 360x181 --mode speculative"),
    ("three interleaved steps", steps, "interleaved", (3,), (NY, NX), "--field 360x181 --coder huffman"),
    ("parts of three steps", steps, "planes", (3,), (64, 100), ""),
    ("interleaved parts", steps, "interleaved", (4,), (50, 360), "--predictor lorenzo"),
    ("steps and levels", levels, "planes", (2, 2), (NY, NX), "--field 360x181"),
    ("lossless", steps[:2], "planes", (2,), (64, 64), ""),
]


def chunk_of(layout, leading, chunk):
    return leading + ((2, *chunk) if layout == "planes" else (*chunk, 2))


def with_fill(data, count, fill):
    """The bytes in a file of a step, in chunks of so many."""
    more = {} if fill is None else {"fillvalue": fill}
    more["maxshape"] = (None, 2, NY, NX)
    return write("padded.h5", data, (count, 2, NY, NX), "--abs 0.1 --field 360x181", **more)


fields, sizes = Fields(), {}
for name, data, layout, leading, chunk, line in CASES:
    data = data if layout == "planes" else interleaved(data)
    path, bound = name.replace(" ", "-") + ".h5", 0.0 if name == "lossless" else 0.1
    sizes[name] = write(path, data, chunk_of(layout, leading, chunk), f"--abs {bound} {line}")
    back = read(path)
    same(back, read_with_tools(path, data), f"{name}: h5py and h5dump")
    if bound == 0:
        same(back, data, name)
    fields.add(name, data, back, layout, bound)
expect(sizes["three steps"] < sizes["one step"], f"steps together are smaller: {sizes}")

# Writing step by step, through a cache that holds no chunk, adds no errors.
with h5py.File("steps.h5", "w", rdcc_nbytes=0) as file:
    made = file.create_dataset("uv", steps.shape, "f4", chunks=(3, 2, NY, NX),
                               **options("--abs 0.1 --field 360x181"))
    for k, step in enumerate(steps):
        made[k] = step
back = read("steps.h5")
same(back, read_with_tools("steps.h5", back), "step by step: h5py and h5dump")
fields.add("step by step", steps, back, "planes", 0.1)

# A chunk is one stream, in which steps that nobody wrote take next to nothing.
for fill in (None, np.nan, 9.96921e36, -7.0):
    alone, padded = with_fill(steps[:1], 1, fill), with_fill(steps[:1], 24, fill)
    # An empty step takes less than a thousandth of its values.
    expect(padded < alone + 23 * steps[0].nbytes / 1000, f"fill value {fill}: {padded} bytes, alone {alone}")
    with h5py.File("padded.h5") as file:
        expect(file["uv"].id.get_num_chunks() == 1, "one chunk")
    fields.add(f"padded with {fill}", steps[:1], read("padded.h5"), "planes", 0.1, None)

fields.check()

# The cells between the last and the first column.
def closed(chunk, line):
    """Fields of a file with these options, their first column behind the last one."""
    write("seam.h5", steps, chunk, f"--abs 1 --mode speculative {line}")
    found = Fields()
    before, after = (np.concatenate([a, a[..., :1]], axis=-1) for a in (steps, read("seam.h5")))
    found.add(f"{line}, chunks of {chunk}", before, after, "planes", 1.0)
    return found


for chunk in ((3, 2, NY, NX), (1, 2, 50, NX), (3, 2, 64, 60)):
    closed(chunk, "--field 360x181 --periodic x").check()
control = closed((3, 2, NY, NX), "--field 360x181")
expect(sum(exact for _, exact, _ in control.violations()) > 0, "without --periodic some are lost")
print(f"{len(fields.cases)} fields keep everything")
