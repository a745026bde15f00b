#!/usr/bin/env python3
"""factz beside zfp and SZ3: ratio, error, critical points that are lost, and speed on one core.

    benches/peers.py [--factz PATH] [--field NAME=FOLDER]... [--bounds 1e-1,1e-2,1e-3] [--speed] [--write]

Every compressor gets the same absolute bound: a fraction of the joint range of u and v. A FOLDER holds u.f32, v.f32
(little-endian, x fastest) and meta.json with nx, ny and, where rows run from north to south, "north_first": true;
three fields of data/ are always measured. `factz verify` counts the critical points that a reconstruction lost,
made, or changed in type, with exact signs. The largest error is measured here. The result is Markdown on standard
output; --write puts it into docs/benchmarks.md.

--speed measures seconds as well: the median of 5 calls in memory, one thread each. zfp and SZ3 are called through
their Python packages (zfpy, pysz), with arrays that exist already; factz reports its own seconds. The machine must
be quiet.

Pitfalls that this script avoids: a relative bound of SZ3 refers to the range of one array, not of both components;
zfp treats the tolerance as a worst case, so that its errors are smaller than the bound; neither knows NaN, so that
the fields have none.
"""

import argparse
import json
import math
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

try:
    import numpy as np
    import zfpy
    from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode
except ImportError as error:
    sys.exit(f"peers.py needs numpy, zfpy and pysz ({error}); `make peers` installs them into .venv-peers")

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
OWN_FIELDS = ("wind_global", "navy_winds_000", "dt256")
REPEATS = 5


class Field:
    def __init__(self, name, folder):
        self.name, self.folder = name, Path(folder)
        meta = json.loads((self.folder / "meta.json").read_text())
        self.nx, self.ny = meta["nx"], meta["ny"]
        self.shape = ["--dims", f"{self.nx}x{self.ny}"] + ["--north-first"] * meta.get("north_first", False)
        self.u, self.v = (np.fromfile(self.folder / f"{c}.f32", np.float32).reshape(self.ny, self.nx) for c in "uv")
        self.bytes = self.u.nbytes + self.v.nbytes
        self.range = float(max(self.u.max(), self.v.max())) - float(min(self.u.min(), self.v.min()))
        if not math.isfinite(self.range):
            sys.exit(f"{folder}: zfp and SZ3 cannot compress a field with missing values")


class Factz:
    """The command line in one mode."""

    def __init__(self, program, label, *options):
        self.program, self.name, self.options = program, label, options

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments, "--backend", "cpu", "--threads", "1", "--json"],
                              stdout=subprocess.PIPE)
        if done.returncode > 1:
            sys.exit(f"{self.program} {arguments[0]} failed")
        return json.loads(done.stdout)

    def round_trip(self, field, bound, repeats):
        with tempfile.TemporaryDirectory() as folder:
            stream, u, v = (Path(folder) / name for name in ("stream.fz", "u.f32", "v.f32"))
            compress = lambda: self.run("compress", field.folder / "u.f32", field.folder / "v.f32", "-o", stream,
                                        *field.shape, "--abs", repr(bound), *self.options)["seconds"]
            decompress = lambda: self.run("decompress", stream, u, v)["seconds"]
            seconds = [statistics.median(call() for _ in range(repeats)) for call in (compress, decompress)]
            planes = [np.fromfile(path, np.float32).reshape(field.ny, field.nx) for path in (u, v)]
            return planes, stream.stat().st_size, seconds


class Peer:
    """A compressor of single arrays, called once for u and once for v."""

    def __init__(self, name, compress, decompress):
        self.name, self.compress, self.decompress = name, compress, decompress

    def round_trip(self, field, bound, repeats):
        compressed, c = timed(repeats, lambda: [self.compress(plane, bound) for plane in (field.u, field.v)])
        planes, d = timed(repeats, lambda: [self.decompress(data, field.u.shape) for data in compressed])
        return planes, sum(len(data) for data in compressed), [c, d]


def timed(repeats, call):
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begin)
    return result, statistics.median(seconds)


def sz3_compress(plane, bound):
    config = szConfig()
    config.errorBoundMode = szErrorBoundMode.ABS
    config.absErrorBound = bound
    config.cmprAlgo = szAlgorithm.INTERP_LORENZO
    return sz.compress(plane, config)[0]


def peers(program):
    return [Factz(program, "block-wise"),
            Factz(program, "speculative", "--mode", "speculative"),
            Factz(program, "speculative, `--ties zeros`", "--mode", "speculative", "--ties", "zeros"),
            Factz(program, "Lorenzo", "--predictor", "lorenzo"),
            Factz(program, "`--preserve none`", "--preserve", "none"),
            Peer("SZ3", sz3_compress, lambda data, shape: sz.decompress(data, np.float32, shape)[0]),
            Peer("zfp", lambda plane, bound: zfpy.compress_numpy(plane, tolerance=bound),
                 lambda data, _: zfpy.decompress_numpy(data))]


def verify(program, field, planes, bound):
    """Lost, spurious and changed critical points."""
    with tempfile.TemporaryDirectory() as folder:
        others = [Path(folder) / name for name in ("u.f32", "v.f32")]
        for other, plane in zip(others, planes):
            np.ascontiguousarray(plane, np.float32).tofile(other)
        found = Factz(program, "").run("verify", field.folder / "u.f32", field.folder / "v.f32", *others,
                                       *field.shape, "--abs", repr(bound))
    found = found["comparison"]
    return found["critical_points"], [found[key] for key in ("lost_points", "spurious_points", "changed_types")]


def max_error(field, planes):
    return max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in zip(planes, (field.u, field.v)))


def ratio(field, size):
    r = field.bytes / size
    return f"{r:.1f}" if r < 100 else f"{r:.0f}"


def loosest(program, peer, field):
    """The loosest bound in half-decade steps at which a compressor keeps every critical point and type."""
    for k in range(2, 19):
        fraction = (1 if k % 2 == 0 else 5) * 10.0 ** -math.ceil(k / 2 + 0.1 * (k % 2))
        planes, size, _ = peer.round_trip(field, fraction * field.range, 1)
        if sum(verify(program, field, planes, fraction * field.range)[1]) == 0:
            return f"{fraction:.0e}".replace("e-0", "e-"), ratio(field, size)
    return "none down to 1e-9", "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--factz", default=str(ROOT / "target" / "release" / "factz"))
    parser.add_argument("--field", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--bounds", default="1e-1,1e-2,1e-3")
    parser.add_argument("--speed", action="store_true", help="measure seconds; the machine must be quiet")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/benchmarks.md")
    arguments = parser.parse_args()

    fields = [Field(name, ROOT / "data" / name) for name in OWN_FIELDS]
    fields += [Field(*entry.split("=", 1)) for entry in arguments.field]
    compressors = peers(arguments.factz)
    names = [peer.name for peer in compressors]
    repeats = REPEATS if arguments.speed else 1
    ratios, points, speeds, kept, errors = [], [], [], [], {name: [] for name in names}
    for field in fields:
        for text in arguments.bounds.split(","):
            bound = float(text) * field.range
            rows = [[field.name, text] for _ in range(3)]
            for peer in compressors:
                planes, size, seconds = peer.round_trip(field, bound, repeats)
                total, wrong = verify(arguments.factz, field, planes, bound)
                errors[peer.name].append(max_error(field, planes) / bound)
                rows[0].append(ratio(field, size))
                rows[1].append(" / ".join(f"{n:,}" for n in wrong) if any(wrong) else "0")
                rows[2].append(" / ".join(f"{field.bytes / s / 1e6:.0f}" for s in seconds))
                print(field.name, text, peer.name, *(row[-1] for row in rows), sep=" | ", file=sys.stderr)
            rows[1][0] += f" ({total:,})"
            for table, row in zip((ratios, points, speeds), rows):
                table.append(row)
        for peer in compressors[-2:]:
            kept.append((field.name, peer.name, *loosest(arguments.factz, peer, field)))
            print(*kept[-1], sep=" | ", file=sys.stderr)

    packages = ", ".join(f"{name} {version(name)}" for name in ("zfpy", "pysz"))
    factz = subprocess.run([arguments.factz, "--version"], stdout=subprocess.PIPE, text=True).stdout.strip()
    origin = f"{factz}, {packages}, {time.strftime('%Y-%m-%d')}"
    head = ["field", "bound", *names]
    tables = {
        "ratios": (2, origin, head, ratios),
        "points": (2, origin, ["field (critical points)", *head[1:]], points),
        "errors": (1, origin, ["compressor", "largest error / bound, from", "to"],
                   [(name, f"{min(e):.3f}", f"{max(e):.3f}" + (" (exceeds the bound)" if max(e) > 1 else ""))
                    for name, e in errors.items()]),
        "kept": (2, origin, ["field", "compressor", "loosest bound that keeps all", "ratio there"], kept),
    }
    if arguments.speed:
        tables["speeds"] = 2, f"{origin}, {processor()}, one thread", head, speeds
    page = PAGE.read_text() if arguments.write else ""
    for name, (keys, text, head, rows) in tables.items():
        lines = [head, ["---"] * keys + ["---:"] * (len(head) - keys), *once(rows)]
        table = f"{text}.\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
        begin, end = f"<!-- {name}: written by benches/peers.py -->\n", f"<!-- {name}: end -->"
        if arguments.write:
            before, rest = page.split(begin)
            page = before + begin + table + end + rest.split(end, 1)[1]
        else:
            print(f"{begin}{table}{end}\n")
    if arguments.write:
        PAGE.write_text(page)


def once(rows):
    """Rows with the field only where it changes."""
    before = None
    for row in rows:
        yield ["" if row[0] == before else row[0], *row[1:]]
        before = row[0]


def processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


if __name__ == "__main__":
    main()
