#!/usr/bin/env python3
"""Fixes for SZ3, zfp and bit rounding: their size, and the ratio of stream and fix beside that of factz.

    benches/fixes.py [--factz PATH] [--field NAME=FOLDER]... [--bounds 1e-1,1e-2,1e-3,1e-4]
                     [--made NAME=FOLDER]... [--write]

Fields and bounds are those of peers.py. `factz protect` makes the fix of each reconstruction, `factz apply`
applies it, and tests/exact_verify.py, which shares no code with factz, counts what is violated afterwards: the
script ends with an error if anything is. Bit rounding keeps as many bits of each mantissa as the bound needs;
gzip at level 9 stands for the lossless compressor behind it. The result is Markdown on standard output; --write
puts it into docs/benchmarks.md.

--made NAME=FOLDER adds a column NAME of reconstructions that were made elsewhere, for instance by a
compressor that needs a GPU. The FOLDER holds

    made.json              {"version": "program, version, mode", "bytes": {FIELD: {BOUND: bytes}}}
    FIELD/BOUND/u.f32      the reconstructions: float32, little-endian, x fastest, without a header
    FIELD/BOUND/v.f32

for fields and bounds of the table, BOUND written as in --bounds (wind_global/1e-1/u.f32). The absolute bound of
both components is BOUND times the joint range of u and v. "bytes" is the size of the streams of u and v
together, with everything that decompression reads. What made.json does not name is "-" in the table.

A compressor may leave its own bound. Its fix is then made and checked with the largest error of the
reconstruction, and the table says by how much that is larger. --write keeps a column of an earlier --made that
is not given again, if the rows of the table are the same.
"""

import argparse
import gzip
import json
import math
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from peers import OWN_FIELDS, PAGE, ROOT, Factz, Field, Peer, max_error, once, peers, ratio

VIOLATIONS = ("lost_points", "spurious_points", "changed_types", "changed_ties", "new_ties",
              "changed_missing", "bound_exceeded")


def rounded(plane, bound):
    """Values with the fewest bits of mantissa whose errors are below the bound."""
    bits = plane.view(np.uint32)
    found = plane.copy()
    for dropped in range(1, 24):
        half = np.uint32(1 << (dropped - 1))
        candidate = ((bits + half) >> np.uint32(dropped) << np.uint32(dropped)).view(np.float32)
        near = np.abs(candidate.astype(np.float64) - plane) < bound
        found[near] = candidate[near]
    return found


def bit_rounding():
    def compress(plane, bound):
        return gzip.compress(rounded(plane, bound).view(np.uint8).reshape(-1, 4).T.tobytes(), 9)

    def decompress(data, shape):
        planes = np.frombuffer(gzip.decompress(data), np.uint8).reshape(4, -1)
        return np.ascontiguousarray(planes.T).view(np.float32).reshape(shape)

    return Peer("bit rounding", compress, decompress)


class Made:
    """Reconstructions in a folder."""

    def __init__(self, name, folder):
        self.name, self.folder = name, Path(folder)
        made = json.loads((self.folder / "made.json").read_text())
        self.version, self.bytes = made["version"], made["bytes"]

    def read(self, field, text):
        """u and v and the bytes of their streams, if the folder has them."""
        size = self.bytes.get(field.name, {}).get(text)
        if size is None:
            return None
        planes = []
        for component in "uv":
            path = self.folder / field.name / text / f"{component}.f32"
            plane = np.fromfile(path, "<f4")
            if plane.size != field.nx * field.ny:
                sys.exit(f"{path}: {plane.size} values instead of {field.nx} x {field.ny}")
            planes.append(plane.reshape(field.ny, field.nx))
        return planes, size


def excess(factor):
    """By how much an error is above the bound, rounded up to two digits of a per cent; nothing if it is not."""
    if factor <= 1:
        return ""
    percent = 100 * (factor - 1)
    digit = 10.0 ** (math.floor(math.log10(percent)) - 1)
    decimals = max(0, 1 - math.floor(math.log10(percent)))
    return f" (bound + {math.ceil(percent / digit) * digit:.{decimals}f} %)"


def kept_columns(page, head, rows):
    """Columns of --made on the page that were not made again: their titles, lines of origin and cells."""
    lines = page.splitlines()
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    if not table or [row[:2] for row in table[2:]] != [row[:2] for row in once(rows)]:
        return []
    origins = {line.split(":")[0]: line for line in lines if not line.startswith("|") and ":" in line}
    return [(title, origins[title], [row[column] for row in table[2:]])
            for column, title in enumerate(table[0]) if title not in head and title in origins]


def fixed(program, field, planes, bound, folder):
    """The report of a fix, and the counts of the independent checker on the result."""
    names = [str(folder / name) for name in ("u1.f32", "v1.f32", "u2.f32", "v2.f32")]
    for name, plane in zip(names, planes):
        np.ascontiguousarray(plane, np.float32).tofile(name)
    original = [str(field.folder / name) for name in ("u.f32", "v.f32")]

    def run(*arguments):
        command = [program, *arguments, "--backend", "cpu", "--threads", "1", "--json"]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    fix = str(folder / "fix")
    report = run("protect", *original, *names[:2], "-o", fix, *field.shape, "--abs", repr(bound))
    run("apply", fix, *names)
    spacing = [1, -1] if "--north-first" in field.shape else [1, 1]
    case = {"nx": field.nx, "ny": field.ny, "dtype": "f32", "files": original + names[2:], "bound": bound,
            "spacing": spacing, "fill": None, "ties": "all", "list": False}
    cases = folder / "cases.json"
    cases.write_text(json.dumps([case]))
    checker = [sys.executable, "-B", str(ROOT / "tests" / "exact_verify.py"), str(cases)]
    counts = json.loads(subprocess.run(checker, stdout=subprocess.PIPE, check=True).stdout)[0]
    return report, sum(counts[name] for name in VIOLATIONS)


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--factz", default=str(ROOT / "target" / "release" / "factz"))
    parser.add_argument("--field", action="append", default=[], metavar="NAME=FOLDER")
    parser.add_argument("--bounds", default="1e-1,1e-2,1e-3,1e-4")
    parser.add_argument("--made", action="append", default=[], metavar="NAME=FOLDER",
                        help="a column of reconstructions that were made elsewhere (see above)")
    parser.add_argument("--write", action="store_true", help="write the table into docs/benchmarks.md")
    arguments = parser.parse_args()

    fields = [Field(name, ROOT / "data" / name) for name in OWN_FIELDS]
    fields += [Field(*entry.split("=", 1)) for entry in arguments.field]
    own = [Factz(arguments.factz, "block-wise"),
           Factz(arguments.factz, "speculative", "--mode", "speculative")]
    others = [peer for peer in peers(arguments.factz) if isinstance(peer, Peer)] + [bit_rounding()]
    others += [Made(*entry.split("=", 1)) for entry in arguments.made]
    rows = []
    for field in fields:
        for text in arguments.bounds.split(","):
            bound = float(text) * field.range
            row = [field.name, text]
            row += [ratio(field, peer.round_trip(field, bound, 1)[1]) for peer in own]
            for peer in others:
                if isinstance(peer, Made):
                    found = peer.read(field, text)
                    if found is None:
                        row.append("-")
                        continue
                    planes, size = found
                    held = max(bound, max_error(field, planes))
                else:
                    planes, size, _ = peer.round_trip(field, bound, 1)
                    held = bound
                with tempfile.TemporaryDirectory() as folder:
                    report, violations = fixed(arguments.factz, field, planes, held, Path(folder))
                if violations:
                    sys.exit(f"{field.name} {text} {peer.name}: {violations} violations after the fix")
                row.append(f"{ratio(field, size)} + {report['fix_bytes']:,} B = "
                           f"{ratio(field, size + report['fix_bytes'])}{excess(held / bound)}")
                work = report["repaired_vertices"], report["rounds"]
                print(field.name, text, peer.name, row[-1], *work, sep=" | ", file=sys.stderr)
            rows.append(row)

    packages = ", ".join(f"{name} {version(name)}" for name in ("zfpy", "pysz"))
    factz = subprocess.run([arguments.factz, "--version"], stdout=subprocess.PIPE, text=True).stdout.strip()
    head = ["field", "bound", *(f"factz, {peer.name}" for peer in own), *(peer.name for peer in others)]
    today = time.strftime("%Y-%m-%d")
    origins = [f"{factz}, {packages}, {today}."]
    origins += [f"{peer.name}: {peer.version}, {today}." for peer in others if isinstance(peer, Made)]
    begin, end = "<!-- fixes: written by benches/fixes.py -->\n", "<!-- fixes: end -->"
    if arguments.write:
        before, rest = PAGE.read_text().split(begin)
        page, after = rest.split(end, 1)
        for title, origin, cells in kept_columns(page, head, rows):
            head.append(title)
            origins.append(origin)
            rows = [[*row, cell] for row, cell in zip(rows, cells)]
    lines = [head, ["---"] * 2 + ["---:"] * (len(head) - 2), *once(rows)]
    table = "\n".join(origins) + "\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)
    if arguments.write:
        PAGE.write_text(before + begin + table + end + after)
    else:
        print(f"{begin}{table}{end}")


if __name__ == "__main__":
    main()
