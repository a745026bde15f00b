"""Vector fields through BP files with the operator factz: every reader gets fields with all critical points.

    python bp.py roundtrip FOLDER    written and read back with every engine, layout, type and mode
    python bp.py read FILE EXPECTED  a file of tests/golden/adios2 reads as when it was written
    python bp.py refused FOLDER      what cannot be compressed, and damaged files
    python bp.py golden FOLDER       makes the files of tests/golden/adios2 anew

ADIOS2_PLUGIN_PATH names the folder of libfactz_adios2.so. exact_verify.py compares in exact arithmetic.
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import adios2
import numpy as np

TESTS = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TESTS / "plugins" / "python"))
from support import exact_counts  # noqa: E402

WIND = TESTS.parent / "data" / "wind_global"
PLUGIN = {"PluginName": "factz", "PluginLibrary": "factz_adios2"}
STEPS = 3
SYNC, DEFERRED = adios2.bindings.Mode.Sync, adios2.bindings.Mode.Deferred


def wind(dtype, y0=20, x0=31, ny=97, nx=143):
    """A crop of the wind, u and v as planes, a little stronger in every step."""
    whole = np.stack([np.fromfile(WIND / f"{name}.f32", "f4").reshape(181, 360) for name in "uv"])
    crop = whole[:, y0:y0 + ny, x0:x0 + nx].astype(dtype)
    return [np.ascontiguousarray(crop * dtype(1 + t / 8)) for t in range(STEPS)]


def write(path, engine, steps, parameters, blocks, layout="planes", mode=SYNC, local=False):
    """Each step as `blocks` = (rows, columns) blocks."""
    io = adios2.Adios().declare_io("writer")
    io.set_engine(engine)
    _, ny, nx = steps[0].shape
    one = np.zeros(1, steps[0].dtype)
    order = (lambda y, x: (2, y, x)) if layout == "planes" else (lambda y, x: (y, x, 2))
    start = (lambda y, x: (0, y, x)) if layout == "planes" else (lambda y, x: (y, x, 0))
    shape = [] if local else order(ny, nx)
    variable = io.define_variable("uv", one, shape, [] if local else (0, 0, 0), order(ny, nx))
    variable.add_operation_string("plugin", {**PLUGIN, **parameters})
    file = io.open(str(path), adios2.bindings.Mode.Write)
    for field in steps:
        file.begin_step()
        kept = []
        for rows in np.array_split(np.arange(ny), blocks[0]):
            for columns in np.array_split(np.arange(nx), blocks[1]):
                block = field[:, rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1]
                block = np.ascontiguousarray(block if layout == "planes" else np.moveaxis(block, 0, -1))
                place = [] if local else start(rows[0], columns[0])
                variable.set_selection((place, order(len(rows), len(columns))))
                file.put(variable, block, mode)
                kept.append(block)
        file.end_step()
    file.close()


def read(path, layout="planes", block=None):
    fields = []
    with adios2.Stream(str(path), "r") as file:
        for _ in file.steps():
            field = file.read("uv") if block is None else file.read("uv", block_id=block)
            fields.append(np.ascontiguousarray(field if layout == "planes" else np.moveaxis(field, -1, 0)))
    return fields


class Checker:
    """Pairs of fields, compared by exact_verify.py."""

    def __init__(self):
        self.cases, self.lossy = [], 0

    def add(self, name, before, after, **bound):
        assert len(before) == len(after) == STEPS, name
        for t, (a, b) in enumerate(zip(before, after)):
            assert a.shape == b.shape and a.dtype == b.dtype, (name, b.shape, b.dtype)
            self.cases.append(((*a, *b), {"name": f"{name}, step {t}", **bound}))
            self.lossy += not np.array_equal(a, b)

    def results(self):
        return exact_counts(self.cases)

    def check(self):
        assert self.lossy == len(self.cases), "a field that came back exactly shows nothing"
        for (_, case), result in zip(self.cases, self.results()):
            assert result["violations"] == 0 and result["critical_points"] > 0, (case["name"], result)
        print(f"{len(self.cases)} fields hold")


def roundtrip(folder):
    checker = Checker()
    path = pathlib.Path(folder) / "fields.bp"
    variants = [
        ("BP5", "f4", "planes", {"abs": "0.5"}, (1, 1)),
        ("BP5", "f8", "interleaved", {"abs": "0.5", "mode": "speculative", "pin": "none"}, (1, 1)),
        ("BP5", "f4", "planes", {"abs": "0.5"}, (3, 4)),
        ("BP5", "f8", "interleaved", {"abs": "0.5", "coder": "huffman", "field": "143x97"}, (2, 3)),
        ("BP4", "f4", "interleaved", {"abs": "0.5", "mode": "speculative"}, (2, 2)),
        ("BP4", "f8", "planes", {"abs": "0.5", "predictor": "lorenzo"}, (4, 1)),
        ("BP4", "f4", "planes", {"abs": "0.5", "field": "143x97"}, (1, 1)),
    ]
    for engine, dtype, layout, parameters, blocks in variants:
        for mode in (SYNC, DEFERRED):
            steps = wind(np.dtype(dtype).type)
            write(path, engine, steps, parameters, blocks, layout, mode)
            stored = sum(f.stat().st_size for f in path.rglob("*") if f.is_file())
            assert stored < sum(s.nbytes for s in steps) / 2, "the file is shorter than the fields"
            name = f"{engine} {dtype} {layout} {parameters} {blocks}"
            checker.add(name, steps, read(path, layout), bound=0.5)
    # A fraction of the range.
    steps = wind(np.float32)
    write(path, "BP5", steps, {"rel": "1e-2"}, (1, 1))
    checker.add("relative", steps, read(path), relative=1e-2)
    # Blocks of a local array have no place in a whole.
    write(path, "BP5", steps, {"abs": "0.5"}, (1, 1), local=True)
    checker.add("local", steps, read(path, block=0), bound=0.5)
    checker.check()

    # Without pins the same blocks lose points: the comparison is not blind.
    blind = Checker()
    write(path, "BP5", steps, {"abs": "2", "pin": "none"}, (6, 9))
    blind.add("no pins", steps, read(path), bound=2.0)
    assert sum(result["violations"] for result in blind.results()) > 0
    write(path, "BP5", steps, {"abs": "2"}, (6, 9))
    pinned = Checker()
    pinned.add("pins", steps, read(path), bound=2.0)
    pinned.check()
    does_not_compress(path)
    print("everything holds")


def does_not_compress(path):
    """Noise without loss comes back bit for bit from both engines, in blocks of several sizes."""
    bits = np.random.default_rng(3).integers(0, 2**62, (2, 61, 67), np.int64).view("f8")
    for engine in ("BP5", "BP4"):
        for mode in (SYNC, DEFERRED):
            write(path, engine, [bits] * STEPS, {"abs": "0", "layout": "planes"}, (61, 6), mode=mode)
            for field in read(path):
                assert np.array_equal(field.view("i8"), bits.view("i8")), engine


def golden_fields():
    y, x = np.mgrid[0:40, 0:56]
    u, v = (x * x - 13 * y * x + 7 * y) % 61 - 30, (y * y + 11 * x * y - 5 * x) % 59 - 29
    smooth = np.stack([np.cumsum(np.cumsum(f, 0), 1) / 64 for f in (u, v)])
    return [(smooth * (1 + t)).astype("f4") for t in range(STEPS)]


def digest(fields):
    return hashlib.sha256(b"".join(field.astype("<f4").tobytes() for field in fields)).hexdigest()


def make_golden(folder):
    """Files of both engines, and the values as they come back."""
    pathlib.Path(folder).mkdir()
    for engine in ("BP5", "BP4"):
        path = pathlib.Path(folder) / f"blocks.{engine.lower()}"
        write(path, engine, golden_fields(), {"abs": "0.25"}, (1, 2))
        # ADIOS2's own times.
        (path / "profiling.json").unlink()
    (pathlib.Path(folder) / "expected.sha256").write_text(digest(read(path)) + "\n")


def same_as_golden(path, expected):
    fields = read(path)
    assert digest(fields) == pathlib.Path(expected).read_text().strip(), "not the values that were written"
    for field, before in zip(fields, golden_fields(), strict=True):
        assert np.abs(field - before).max() <= 0.25
    print("everything holds")


def raises(call, kind, *parts):
    try:
        call()
    except kind as e:
        for part in parts:
            assert part in str(e), (part, str(e))
    else:
        raise AssertionError(f"not refused: {parts}")


def put(engine, shape, dtype, parameters):
    """One field put and no step ended, which ADIOS2 2.12 cannot do after an exception."""
    io = adios2.Adios().declare_io("writer")
    io.set_engine(engine)
    field = np.ones(shape, dtype)
    variable = io.define_variable("uv", field, shape, [0] * len(shape), shape)
    variable.add_operation_string("plugin", {**PLUGIN, **parameters})
    file = io.open("refused.bp", adios2.bindings.Mode.Write)
    file.begin_step()
    file.put(variable, field, SYNC)


REFUSED = [
    ((2, 9, 8), {"abs": "1", "depth": "3"}, "there is no key `depth`: the keys are abs, rel, mode"),
    ((2, 9, 8), {"abs": "1", "Mode": "fast"}, "mode=fast is none of block, speculative"),
    ((2, 9, 8), {}, "there is no bound: give the operator a parameter abs or rel"),
    ((9, 8), {"abs": "1"}, "(9 x 8) has fewer than 3 dimensions: join u and v in one variable"),
    ((3, 9, 8), {"abs": "1"}, "(3 x 9 x 8) is no vector field"),
]


def refused(folder):
    os.chdir(folder)
    for shape, parameters, message in REFUSED:
        raises(lambda: put("BP5", shape, "f4", parameters), ValueError, message)
        # BP4 calls operators in functions that are noexcept: the program ends, with the message.
        call = [sys.executable, __file__, "put", "BP4", json.dumps([shape, parameters])]
        ended = subprocess.run(call, stderr=subprocess.PIPE, text=True)
        assert ended.returncode != 0 and message in ended.stderr, (ended.returncode, ended.stderr)
    # ADIOS2 says that it leaves the operator out for other types, and stores the values as they are.
    integers = [np.arange(2 * 9 * 8, dtype=np.int32).reshape(2, 9, 8)] * STEPS
    write(pathlib.Path("integers.bp"), "BP5", integers, {"abs": "1"}, (1, 1))
    assert np.array_equal(read("integers.bp"), integers)
    for engine in ("BP5", "BP4"):
        damaged(pathlib.Path("damaged.bp"), engine)
    print("everything holds")


def damaged(path, engine):
    steps = wind(np.float32)
    write(path, engine, steps, {"abs": "0.5"}, (2, 2))
    data = path / "data.0"
    good = bytearray(data.read_bytes())
    # Behind the headers of the blocks that ADIOS2 wrote itself.
    first = good.index(b"FZAD")
    for at in (first, first + 4, first + 9, first + 40, first + 1000):
        bad = bytearray(good)
        bad[at] ^= 0x55
        data.write_bytes(bad)
        raises(lambda: read(path), (RuntimeError, ValueError), "factz: ")
    data.write_bytes(good)
    assert len(read(path)) == STEPS


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "put":
        put(arguments[0], tuple(json.loads(arguments[1])[0]), "f4", json.loads(arguments[1])[1])
    else:
        {"roundtrip": roundtrip, "read": same_as_golden, "refused": refused,
         "golden": make_golden}[command](*arguments)
