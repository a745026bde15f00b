"""Volumes, (3, nz, ny, nx), through BP files with the operator factz: every reader gets all critical points.

    python volumes.py roundtrip FOLDER       written and read back, and what is refused
    python volumes.py read FILE EXPECTED     a file of tests/golden/adios2_volumes reads as when it was written
    python volumes.py golden FOLDER          makes the files of tests/golden/adios2_volumes anew

ADIOS2_PLUGIN_PATH names the folder of libfactz_adios2.so. exact_verify3d.py compares in exact arithmetic.
"""
import itertools
import os
import pathlib
import sys

import adios2
import numpy as np
from bp import PLUGIN, SYNC, digest, put, raises  # puts the folder of `support` into the path
from support import volume_of_integers, volume_violations, waves_in_space

SHAPE = NZ, NY, NX = 14, 17, 20
SIZE = f"{NX}x{NY}x{NZ}"


def write(path, engine, steps, parameters, blocks):
    """Each step as `blocks` = (layers, rows, columns) blocks."""
    size = steps[0].shape[1:]
    io = adios2.Adios().declare_io("writer")
    io.set_engine(engine)
    like = np.zeros(1, steps[0].dtype)
    variable = io.define_variable("uvw", like, (3, *size), (0, 0, 0, 0), (3, *size))
    variable.add_operation_string("plugin", {**PLUGIN, "mode": "repair", **parameters})
    file = io.open(str(path), adios2.bindings.Mode.Write)
    for volume in steps:
        file.begin_step()
        kept = []
        parts = [np.array_split(np.arange(n), count) for n, count in zip(size, blocks)]
        for axes in itertools.product(*parts):
            block = np.ascontiguousarray(volume[(slice(None), *(slice(a[0], a[-1] + 1) for a in axes))])
            variable.set_selection(((0, *(a[0] for a in axes)), block.shape))
            file.put(variable, block, SYNC)
            kept.append(block)
        file.end_step()
    file.close()


def read(path):
    with adios2.Stream(str(path), "r") as file:
        return [np.ascontiguousarray(file.read("uvw")) for _ in file.steps()]


def stored(path):
    return sum(os.path.getsize(os.path.join(path, name)) for name in os.listdir(path))


def golden_steps():
    volume = volume_of_integers((9, 10, 12)).astype("f4")
    return [volume, volume[:, ::-1].copy()]


def make_golden(folder):
    """Files of both engines, and the values as they come back."""
    pathlib.Path(folder).mkdir()
    for engine in ("BP5", "BP4"):
        path = pathlib.Path(folder) / f"volumes.{engine.lower()}"
        write(path, engine, golden_steps(), {"abs": "0.25"}, (2, 1, 2))
        # ADIOS2's own times.
        (path / "profiling.json").unlink()
    (pathlib.Path(folder) / "expected.sha256").write_text(digest(read(path)) + "\n")


def same_as_golden(path, expected):
    steps = read(path)
    assert digest(steps) == pathlib.Path(expected).read_text().strip(), "not the values that were written"
    for before, after in zip(golden_steps(), steps, strict=True):
        assert not np.array_equal(before, after) and volume_violations(before, after, 0.25) == 0


def roundtrip():
    for engine, dtype, parameters, blocks in (
        ("BP5", "f4", {"abs": "0.1", "pin": "none"}, (1, 1, 1)),
        ("BP5", "f8", {"abs": "0.1", "field": SIZE, "dz": "-2"}, (1, 1, 1)),
        ("BP5", "f4", {"abs": "0.1"}, (2, 2, 2)),
        ("BP4", "f8", {"abs": "0.1", "field": SIZE, "coder": "huffman"}, (2, 1, 3)),
        ("BP4", "f4", {"rel": "0.01", "field": SIZE}, (1, 1, 1)),
    ):
        steps = [waves_in_space(SHAPE, step).astype(dtype) for step in range(2)]
        write("volumes.bp", engine, steps, parameters, blocks)
        for before, after in zip(steps, read("volumes.bp"), strict=True):
            assert before.dtype == after.dtype and not np.array_equal(before, after), parameters
            bound = 0.01 * float(before.max() - before.min()) if "rel" in parameters else 0.1
            assert volume_violations(before, after, bound, parameters.get("dz", 1)) == 0, (engine, parameters, blocks)
        assert blocks != (1, 1, 1) or stored("volumes.bp") < sum(s.nbytes for s in steps) / 2


def seams():
    """Without pins the same blocks lose points: the comparison is not blind. Periodic axes keep theirs."""
    steps = [waves_in_space(SHAPE).astype("f4")]
    write("pins.bp", "BP5", steps, {"abs": "0.5", "pin": "none"}, (2, 2, 2))
    assert volume_violations(steps[0], read("pins.bp")[0], 0.5) > 0
    for blocks in ((1, 1, 1), (2, 1, 2)):
        write("seam.bp", "BP5", steps, {"abs": "0.3", "field": SIZE, "periodic": "xz"}, blocks)
        closed = [np.pad(a, ((0, 0), (0, 1), (0, 0), (0, 1)), "wrap") for a in (steps[0], read("seam.bp")[0])]
        assert volume_violations(*closed, 0.3) == 0, blocks


def does_not_compress():
    bits = np.random.default_rng(3).integers(0, 2**62, (3, *SHAPE), np.int64).view("f8")
    write("noise.bp", "BP5", [bits], {"abs": "0"}, (1, 1, 2))
    assert np.array_equal(read("noise.bp")[0].view("i8"), bits.view("i8"))


def refused():
    repair = {"abs": "1", "mode": "repair"}
    for shape, parameters, message in (
        ((2, 9, 8, 7), repair, "a block (2 x 9 x 8 x 7) is no volume"),
        ((3, 8, 7), repair, "a block (3 x 8 x 7) is no volume"),
        ((2, 3, 9, 8, 7), repair, "put one volume or a part of one at a time"),
        ((8, 7, 3, 9), {**repair, "order": "column"}, "in one variable (nx x ny x nz x 3)"),
        ((3, 1, 8, 7), repair, "nz = 1 makes no volume"),
        ((3, 9, 8, 7), {**repair, "field": "7x8"}, "field=7x8 is not NXxNYxNZ of a volume"),
        ((3, 9, 8, 7), {**repair, "field": "7x8x5"}, "field=7x8x5 ends before the block, whose columns end at 7 and"),
        ((3, 9, 8, 7), {**repair, "layout": "planes"}, "layout is that of planes"),
        ((2, 9, 8), {"abs": "1", "field": "8x9x2"}, "field=8x9x2 is not NXxNY of planes"),
        ((2, 9, 8), {"abs": "1", "dz": "2"}, "dz is the spacing of volumes"),
    ):
        raises(lambda: put("BP5", shape, "f4", parameters), (ValueError, RuntimeError), message)


if __name__ == "__main__":
    command, path, *expected = sys.argv[1:]
    if command == "golden":
        make_golden(path)
    elif command == "read":
        same_as_golden(path, *expected)
    else:
        os.chdir(path)
        roundtrip()
        seams()
        does_not_compress()
        refused()
    print("everything holds")
