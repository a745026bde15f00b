#!/usr/bin/env python3
"""Runs exact_verify on many fields in one process.

    verify_batch.py CASES        CASES is a JSON file: a list of {nx, ny, dtype, files, bound, spacing, fill},
                                 files being u0, v0, u1, v1 (raw, little-endian). Prints a JSON list of
                                 the counts, one object per case, in order.
    verify_batch.py --self-test  Checks that planted violations are seen. Prints one line.
"""
import json
import os
import sys
import tempfile
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from exact_verify import verify  # noqa: E402

COUNTS = ("lost", "spurious", "type_changed", "tie_changed", "tie_created", "missing_changed",
          "bound_exceeded", "total", "violations", "max_abs_err", "filled_vertices",
          "nonfinite_vertices", "zero_vertices")


def run(case):
    spacing = tuple(Fraction(s) for s in case.get("spacing", (1, 1)))
    r = verify(case["nx"], case["ny"], case["files"], case["dtype"], case.get("bound"), spacing,
               fill=None if case.get("fill") is None else float(case["fill"]))
    return {k: r[k] for k in COUNTS}


def self_test():
    import numpy as np
    y, x = np.mgrid[0:9, 0:9] - np.array([4.7, 4.3])[:, None, None]
    u, v = x.astype("<f4"), y.astype("<f4")     # one repelling node
    with tempfile.TemporaryDirectory() as folder:
        def save(name, a):
            path = os.path.join(folder, name)
            a.tofile(path)
            return path

        def counts(u1, v1, bound):
            files = [save("u0", u), save("v0", v), save("u1", u1), save("v1", v1)]
            return run(dict(nx=9, ny=9, dtype="f32", files=files, bound=bound))

        same = counts(u, v, 0.0)
        assert same["violations"] == 0 and same["total"] == 1, same
        moved = counts(u + np.float32(1.5), v, 2.0)
        assert moved["lost"] == 1 and moved["spurious"] == 1 and moved["bound_exceeded"] == 0, moved
        turned = counts(-u, -v, None)
        assert turned["type_changed"] == 1 and turned["lost"] == 0, turned
        off = counts(u + np.float32(0.01), v, 0.001)
        assert off["bound_exceeded"] == 81, off
    print("exact_verify sees planted violations")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--self-test":
        self_test()
        return
    with open(sys.argv[1]) as f:
        print(json.dumps([run(case) for case in json.load(f)]))


if __name__ == "__main__":
    main()
