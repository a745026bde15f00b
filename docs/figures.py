#!/usr/bin/env python3
"""Draws the figures of README.md and docs/algorithm.md into docs/figures.

    python3 docs/figures.py [--factz PATH] [--only NAME]

Needs numpy, matplotlib and pysz (SZ3) from PyPI, which `make peers` installs into .venv-peers, and the factz
command line. All fields come from data/. Colours are those of Okabe and Ito, which colour-blind readers tell apart.
"""

import argparse
import importlib.util
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import PolyCollection
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Polygon, Rectangle
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs" / "figures"
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILION, PURPLE, GREY = "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#777777"
TILE = 32

plt.rcParams.update({"font.size": 10, "axes.titlesize": 11, "axes.titleweight": "bold", "figure.dpi": 140})


def save(figure, name):
    """Writes a figure as a PNG of at most 256 colours."""
    path = FIGURES / f"{name}.png"
    figure.savefig(path, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    reduce(path, 256)


def reduce(path, colours):
    """Leaves a PNG a number of colours."""
    from PIL import Image

    # Median cut would merge the rare colours of markers.
    Image.open(path).convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1024} KB")


# Fields and the command line ----------------------------------------------------------------------


class Field:
    """A field of data/ and what factz makes of it."""

    def __init__(self, name, factz):
        self.folder, self.factz = ROOT / "data" / name, factz
        meta = json.loads((self.folder / "meta.json").read_text())
        self.nx, self.ny = meta["nx"], meta["ny"]
        self.shape = ["--dims", f"{self.nx}x{self.ny}"] + ["--north-first"] * meta.get("north_first", False)
        # The sign of dy: v points to smaller rows if it is -1.
        self.down = -1 if meta.get("north_first") else 1
        self.u, self.v = (self.read(self.folder / f"{c}.f32") for c in "uv")
        self.range = float(max(self.u.max(), self.v.max())) - float(min(self.u.min(), self.v.min()))
        self.bytes = 8 * self.nx * self.ny

    def read(self, path):
        return np.fromfile(path, np.float32).reshape(self.ny, self.nx)

    def stream(self, bound, target, *options):
        """Compresses with an absolute bound; returns the size of the stream in bytes."""
        subprocess.run([self.factz, "compress", self.folder / "u.f32", self.folder / "v.f32", "-o", target,
                        *self.shape, "--abs", repr(bound), "--backend", "cpu", "--quiet", *options],
                       check=True)
        return target.stat().st_size

    def round_trip(self, bound, *options):
        """The decompressed field and the size of its stream."""
        with tempfile.TemporaryDirectory() as folder:
            stream, u, v = (Path(folder) / name for name in ("stream.fz", "u.f32", "v.f32"))
            size = self.stream(bound, stream, *options)
            subprocess.run([self.factz, "decompress", stream, u, v, "--backend", "cpu", "--quiet"], check=True)
            return self.read(u), self.read(v), size

    def compare(self, u, v, bound):
        """The findings of `factz verify` in another version of this field."""
        with tempfile.TemporaryDirectory() as folder:
            others = [Path(folder) / name for name in ("u.f32", "v.f32")]
            for other, plane in zip(others, (u, v)):
                np.ascontiguousarray(plane, np.float32).tofile(other)
            # Exit status 1 says that something was lost, which is the question here.
            done = subprocess.run([self.factz, "verify", self.folder / "u.f32", self.folder / "v.f32", *others,
                                   *self.shape, "--abs", repr(bound), "--backend", "cpu", "--json"],
                                  stdout=subprocess.PIPE)
            return json.loads(done.stdout)["comparison"]


def critical(u, v):
    """For the lower and the upper triangle of every cell: 1 or -1 with a critical point (the sign of its
    determinants), else 0. Products of binary32 are exact in binary64; they are compared, not subtracted."""
    u, v = u.astype(np.float64), v.astype(np.float64)
    corner = {"00": np.s_[:-1, :-1], "10": np.s_[:-1, 1:], "11": np.s_[1:, 1:], "01": np.s_[1:, :-1]}
    found = []
    for triangle in (("00", "10", "11"), ("00", "11", "01")):
        p = [(u[corner[c]], v[corner[c]]) for c in triangle]
        signs = []
        for k in range(3):
            (a, b), (c, d) = p[(k + 1) % 3], p[(k + 2) % 3]
            signs.append(np.sign(a * d - b * c) * (a * d != b * c))
        same = (signs[0] == signs[1]) & (signs[1] == signs[2])
        found.append(np.where(same, signs[0], 0).astype(int))
    return found


def centres(mask, upper):
    """Centroids of the marked triangles."""
    y, x = np.nonzero(mask)
    return (x + 1 / 3, y + 2 / 3) if upper else (x + 2 / 3, y + 1 / 3)


# Figures ------------------------------------------------------------------------------------------


def tile():
    """Tiles and lattice lines; the levels of a closed tile; the phases of a level."""
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13.5, 4.9))

    left.set_title("(a) Tiles, anchors, lattice lines")
    for k in range(3):
        left.plot([0, 64], [TILE * k] * 2, color=ORANGE, lw=3, zorder=1)
        left.plot([TILE * k] * 2, [0, 64], color=BLUE, lw=3, zorder=1)
        left.plot([0, TILE, 2 * TILE], [TILE * k] * 3, "s", color=BLACK, ms=8, zorder=3)
    left.add_patch(Rectangle((0, 0), TILE, TILE, color=GREEN, alpha=0.25, lw=0))
    left.add_patch(Rectangle((-1, -1), TILE, TILE, fill=False, ec=VERMILION, lw=2, ls="--", zorder=4))
    left.text(16, 11, "tile 0:\ninterior", ha="center", color=GREEN, weight="bold")
    left.text(16, 17.5, "owned: 32 x 32\n(dashed)", ha="center", va="top", color=VERMILION)
    left.text(48, 16, "tile 1", ha="center", va="center")
    left.text(16, 48, "tile 2", ha="center", va="center")
    left.text(48, 48, "tile 3", ha="center", va="center")
    handles = [plt.Line2D([], [], marker="s", color=BLACK, ls="", label="1  anchors"),
               plt.Line2D([], [], color=ORANGE, lw=3, label="2  row lines"),
               plt.Line2D([], [], color=BLUE, lw=3, label="3  column lines"),
               plt.Rectangle((0, 0), 1, 1, color=GREEN, alpha=0.25, label="4  interiors")]
    left.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.07), ncol=2, frameon=False)
    left.set_xticks([0, 32, 64])
    left.set_yticks([0, 32, 64])

    middle.set_title("(b) Levels in a closed tile, 33 x 33")
    colours = {5: BLACK, 4: VERMILION, 3: ORANGE, 2: BLUE, 1: SKY, 0: "#BBBBBB"}
    y, x = np.mgrid[0:33, 0:33]
    step = np.minimum(x & -x | 32 * (x == 0), y & -y | 32 * (y == 0))
    for level in range(5, -1, -1):
        at = step == 1 << level
        middle.plot(x[at], y[at], "s" if level == 5 else "o", color=colours[level], ms=3.2 + 0.9 * level,
                    label=f"level {level}, step {1 << level}" if level < 5 else "anchors")
    middle.legend(loc="upper center", bbox_to_anchor=(0.5, -0.07), ncol=3, frameon=False, columnspacing=0.8,
                  handletextpad=0.1)
    middle.set_xticks([0, 8, 16, 24, 32])
    middle.set_yticks([0, 8, 16, 24, 32])

    right.set_title("(c) The three phases of a level (step s)")
    y, x = np.mgrid[0:7, 0:7]
    phase = np.where((x % 2 == 0) & (y % 2 == 0), 0, np.where(y % 2 == 0, 1, np.where(x % 2 == 0, 2, 3)))
    for number, colour, marker, label in ((0, "#999999", "s", "known from coarser levels"),
                                          (1, ORANGE, "o", "horizontal"), (2, BLUE, "^", "vertical"),
                                          (3, GREEN, "D", "centre")):
        at = phase == number
        right.plot(x[at], y[at], marker, color=colour, ms=8, label=label, zorder=3)

    def arrow(start, end, colour, bend=0.0):
        right.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.6, "shrinkA": 5,
                                                   "shrinkB": 5, "connectionstyle": f"arc3,rad={bend}"}, zorder=2)

    for x0, bend in ((0, -0.35), (2, 0), (4, 0), (6, 0.35)):
        arrow((x0, 0), (3, 0), ORANGE, bend)
    for y0, bend in ((0, 0.35), (2, 0), (4, 0), (6, -0.35)):
        arrow((0, y0), (0, 3), BLUE, bend)
    for x0, y0 in ((4, 5), (6, 5), (5, 4), (5, 6)):
        arrow((x0, y0), (5, 5), GREEN)
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.07), ncol=2, frameon=False)
    right.set_xticks([0, 2, 4, 6], ["0", "2s", "4s", "6s"])
    right.set_yticks([0, 2, 4, 6], ["0", "2s", "4s", "6s"])

    for axes, limit in ((left, (-4, 68)), (middle, (-1.5, 33.5)), (right, (-0.9, 6.6))):
        axes.set_aspect("equal")
        axes.set_xlim(limit)
        axes.set_ylim(limit[::-1])
        axes.set_xlabel("x")
        axes.xaxis.set_label_position("top")
        axes.xaxis.tick_top()
        axes.set_ylabel("y")
    figure.tight_layout(w_pad=2)
    save(figure, "tile")


def bound():
    """The bound of a triangle in the (u, v) plane."""

    def edge_distance(p):
        best = 0.0
        for k in range(3):
            (a, b), (c, d) = p[(k + 1) % 3], p[(k + 2) % 3]
            side = [(c - a) * q[1] - (d - b) * q[0] for q in p]
            best = max(best, max(min(side), -max(side)) / (abs(c - a) + abs(d - b)))
        return best

    def axis_distance(p):
        u, v = zip(*p)
        return max(min(u), -max(u), min(v), -max(v))

    def determinant_distance(p):
        best = np.inf
        for k in range(3):
            (a, b), (c, d) = p[(k + 1) % 3], p[(k + 2) % 3]
            m, size = abs(a * d - b * c), abs(a) + abs(b) + abs(c) + abs(d)
            best = min(best, (np.sqrt(size * size + 8 * m) - size) / 4)
        return best

    cases = ((((1.0, 1.35), (2.6, -0.6), (2.1, 2.0)), axis_distance, "(a) OUT: an axis separates",
              "the component u is at least d everywhere"),
             (((2.3, -0.9), (-0.7, 1.9), (2.4, 2.0)), edge_distance, "(b) OUT: an edge separates",
              "the square of half-width d touches the edge"),
             (((-1.2, -1.5), (2.4, -0.4), (-0.6, 2.1)), determinant_distance, "(c) IN: the origin stays inside",
              "no determinant can change its sign"))
    figure, all_axes = plt.subplots(1, 3, figsize=(13.5, 4.8))
    for axes, (p, distance, title, note) in zip(all_axes, cases):
        d = distance(p)
        axes.axhline(0, color="#CCCCCC", lw=1, zorder=0)
        axes.axvline(0, color="#CCCCCC", lw=1, zorder=0)
        outside = distance is not determinant_distance
        if outside:
            axes.add_patch(Rectangle((-d, -d), 2 * d, 2 * d, fc=ORANGE, alpha=0.3, ec=VERMILION, lw=1.5, zorder=1))
        axes.add_patch(Polygon(p, closed=True, fc=SKY, alpha=0.45, ec=BLUE, lw=2, zorder=2))
        for k, (u, v) in enumerate(p):
            axes.add_patch(Rectangle((u - d, v - d), 2 * d, 2 * d, fill=False, ec=GREEN, lw=1.5, ls="--", zorder=3))
            axes.plot(u, v, "o", color=BLUE, ms=6, zorder=4)
            axes.annotate(f"$p_{k}$", (u, v), xytext=(-14, -4) if u < 1.5 else (6, 6), textcoords="offset points",
                          color=BLUE, zorder=5)
        axes.plot(0, 0, "*", color=BLACK, ms=14, zorder=5)
        axes.annotate("origin", (0, 0), xytext=(-8, -16), textcoords="offset points", ha="right", zorder=5)
        if distance is axis_distance:
            axes.annotate("", (d, 0), (0, 0), arrowprops={"arrowstyle": "<->", "color": VERMILION, "lw": 1.8,
                                                          "shrinkA": 0, "shrinkB": 0}, zorder=6)
            axes.text(d / 2, 0.1, "d", color=VERMILION, weight="bold", ha="center", zorder=6)
        elif distance is edge_distance:
            axes.annotate("", (d, 0), (0, 0), arrowprops={"arrowstyle": "<->", "color": VERMILION, "lw": 1.8,
                                                          "shrinkA": 0, "shrinkB": 0}, zorder=6)
            axes.text(d / 2, -0.3, "d", color=VERMILION, weight="bold", ha="center", zorder=6)
        axes.set_title(title)
        axes.set_xlabel(f"u\n{note}")
        axes.set_ylabel("v", rotation=0)
        axes.set_aspect("equal")
        axes.set_xlim(-2.3, 4.1)
        axes.set_ylim(-2.6, 3.5)
    handles = [Polygon([(0, 0)], fc=SKY, alpha=0.45, ec=BLUE, lw=2, label="image of the triangle"),
               Rectangle((0, 0), 1, 1, fill=False, ec=GREEN, lw=1.5, ls="--", label="where a vertex may move"),
               Rectangle((0, 0), 1, 1, fc=ORANGE, alpha=0.3, ec=VERMILION, lw=1.5, label="distance d from the origin")]
    figure.tight_layout(w_pad=2)
    figure.legend(handles=handles, loc="lower center", ncol=3, frameon=False, bbox_to_anchor=(0.5, -0.06))
    save(figure, "bound")


def types():
    """The six types of critical points."""
    cases = (("saddle", (1, 0, 0, -1), "det < 0"),
             ("repelling node", (1, 0, 0, 0.6), "tr > 0, disc $\\geq$ 0"),
             ("attracting node", (-1, 0, 0, -0.6), "tr < 0, disc $\\geq$ 0"),
             ("repelling focus", (0.35, -1, 1, 0.35), "tr > 0, disc < 0"),
             ("attracting focus", (-0.35, -1, 1, -0.35), "tr < 0, disc < 0"),
             ("centre", (0, -1, 1, 0), "tr = 0"))
    figure, all_axes = plt.subplots(1, 6, figsize=(13.5, 2.9))
    y, x = np.mgrid[-1:1:41j, -1:1:41j]
    for axes, (name, (a, b, c, d), condition) in zip(all_axes, cases):
        axes.streamplot(x, y, a * x + b * y, c * x + d * y, color=BLUE, density=0.7, linewidth=1.1, arrowsize=1.2)
        axes.plot(0, 0, "o", color=VERMILION, ms=7, zorder=5)
        axes.set_title(name)
        axes.set_xlabel(condition if name == "saddle" else f"det > 0\n{condition}")
        axes.set_aspect("equal")
        axes.set_xlim(-1, 1)
        axes.set_ylim(-1, 1)
        axes.set_xticks([])
        axes.set_yticks([])
    figure.tight_layout(w_pad=1)
    save(figure, "types")


def refinements(data):
    """Refinements of all vertices of a stream, 9 for stored ones; from the independent decoder of the tests."""
    spec = importlib.util.spec_from_file_location("format_decoder", ROOT / "tests" / "format_decoder.py")
    decoder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(decoder)
    header = decoder.Header(data)
    stored_tables, groups = decoder.sections(header, data)
    tables = [[decoder.Frequencies, decoder.Lengths][header.coder](stored) for stored in stored_tables]
    out = np.zeros((header.ny, header.nx), int)
    for numbers, group in groups:
        for tile in decoder.Group(header, tables, numbers, group).tiles:
            for y in range(tile.height):
                for x in range(tile.width):
                    symbol = tile.symbols[tile.position(x, y)]
                    stored = symbol >= decoder.STORED
                    out[tile.y0 + y, tile.x0 + x] = 9 if stored else decoder.shape_of(symbol)[0]
    return out


def speculative(factz):
    """Refinements of both modes around critical points of a real field."""
    field, fraction = Field("wind_global", factz), 1e-1
    bound_ = fraction * field.range
    x0, x1, y0, y1 = 196, 232, 96, 120
    marked = critical(field.u, field.v)
    figure, all_axes = plt.subplots(1, 3, figsize=(13.5, 4.0))
    colours = ["#F2F2F2", "#FDE7A9", "#F9C45C", "#EE9A2E", "#D55E00", "#A63C06", "#7A2A05", "#521C04", "#330F02",
               "#000000"]
    images = []
    for axes, mode in zip(all_axes[1:], ("block", "speculative")):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "stream.fz"
            size = field.stream(bound_, path, "--mode", mode)
            values = refinements(path.read_bytes())
        images.append(axes.imshow(values, cmap=ListedColormap(colours), norm=BoundaryNorm(np.arange(-0.5, 10), 10),
                                  interpolation="nearest"))
        letter, name = ("b", "Block-wise") if mode == "block" else ("c", "Speculative")
        refined = np.count_nonzero(values[y0:y1 + 1, x0:x1 + 1])
        total = (y1 + 1 - y0) * (x1 + 1 - x0)
        axes.set_title(f"({letter}) {name}: {refined} of {total} vertices refined\n"
                       f"whole field: ratio {field.bytes / size:.1f}")
    axes = all_axes[0]
    y, x = np.mgrid[y0:y1 + 1, x0:x1 + 1]
    u, v = field.u[y0:y1 + 1, x0:x1 + 1], field.v[y0:y1 + 1, x0:x1 + 1]
    size = np.hypot(u, v)
    axes.quiver(x, y, u / np.sqrt(size), field.down * v / np.sqrt(size), angles="xy", color=BLUE, scale=75,
                width=0.0028)
    axes.set_title("(a) Wind, and triangles\nwith a critical point")
    for axes in all_axes:
        shapes = []
        for mask, triangle in zip(marked, (((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1)))):
            shapes += [[(cx + a, cy + b) for a, b in triangle] for cy, cx in zip(*np.nonzero(mask))]
        edge = dict(fc=VERMILION, ec=VERMILION, alpha=0.85) if axes is all_axes[0] else dict(fc="none", ec=SKY)
        axes.add_collection(PolyCollection(shapes, lw=1.4, **edge))
        axes.set_xlim(x0 - 0.5, x1 + 0.5)
        axes.set_ylim(y1 + 0.5, y0 - 0.5)
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
    figure.tight_layout(w_pad=1.5)
    bar = figure.colorbar(images[0], ax=all_axes, orientation="horizontal", fraction=0.06, pad=0.06, aspect=60,
                          ticks=range(10))
    bar.ax.set_xticklabels([f"{k}" for k in range(9)] + ["exact"])
    bar.set_label("refinement k: the vertex is quantized with the bound divided by $4^k$")
    save(figure, "speculative")


def cube_edges(axes, low, high, **style):
    """The edges of a cube."""
    for a, b in itertools.combinations(itertools.product((low, high), repeat=3), 2):
        if sum(p != q for p, q in zip(a, b)) == 1:
            axes.plot(*zip(a, b), **style)


def tetrahedra(axes):
    """The six tetrahedra of a cube, moved apart from the main diagonal that they have in common."""
    axes.set_title("(a) The tetrahedra of a cube and their steps")
    colours = (ORANGE, SKY, GREEN, YELLOW, BLUE, PURPLE)
    for number, (steps, colour) in enumerate(zip(itertools.permutations(range(3)), colours)):
        corners = np.zeros((4, 3))
        for k, axis in enumerate(steps):
            corners[k + 1 :, axis] += 1
        centre = corners.mean(0)
        away = centre - 0.5
        corners += away
        axes.add_collection3d(Poly3DCollection([np.delete(corners, k, 0) for k in range(4)], facecolor=colour,
                                               edgecolor=BLACK, lw=0.8, alpha=0.75))
        axes.text(*(0.5 + 3.7 * away), f"{number}: " + ", ".join("xyz"[k] for k in steps), ha="center",
                  va="center", zorder=10)
    for limits in (axes.set_xlim, axes.set_ylim, axes.set_zlim):
        limits(-0.3, 1.3)
    axes.view_init(elev=26, azim=66)


def stages(axes):
    """What of a closed tile is predicted when."""
    axes.set_title("(b) The stages of a closed tile, 17 x 17 x 17")
    cube_edges(axes, 0, 16, color=ORANGE, lw=3, zorder=3)
    corners = np.array(list(itertools.product((0, 16), repeat=3)), float)
    axes.plot(*corners.T, "s", color=BLACK, ms=7, zorder=5)
    for axis, end in itertools.product(range(3), (0, 16)):
        face = np.zeros((4, 3))
        face[:, axis] = end
        others = [k for k in range(3) if k != axis]
        face[:, others] = ((1, 1), (15, 1), (15, 15), (1, 15))
        axes.add_collection3d(Poly3DCollection([face], facecolor=SKY, alpha=0.16))
    inner = [np.array([[4 + 8 * (k == axis and end) for k in range(3)] for _ in range(4)], float)
             for axis in range(3) for end in (0, 1)]
    for face, (axis, end) in zip(inner, itertools.product(range(3), (0, 1))):
        others = [k for k in range(3) if k != axis]
        face[:, axis] = 12 if end else 4
        face[:, others] = ((4, 4), (12, 4), (12, 12), (4, 12))
    axes.add_collection3d(Poly3DCollection(inner, facecolor=GREEN, edgecolor=GREEN, alpha=0.35))
    handles = [plt.Line2D([], [], marker="s", color=BLACK, ls="", label="1  anchors"),
               plt.Line2D([], [], color=ORANGE, lw=3, label="2  lines"),
               plt.Rectangle((0, 0), 1, 1, color=SKY, alpha=0.4, label="3  faces"),
               plt.Rectangle((0, 0), 1, 1, color=GREEN, alpha=0.4, label="4  interior")]
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.04), ncol=2, frameon=False)


def classes(axes):
    """The classes of the vertices of a level, and the Boolean sum in a face."""
    axes.set_title("(c) The classes of a level (step s)")
    cube_edges(axes, 0, 2, color="#BBBBBB", lw=1)
    labels = ("known from coarser levels", "one odd coordinate", "two", "three")
    for odd, (colour, marker, label) in enumerate(zip(("#999999", ORANGE, BLUE, GREEN), "so^D", labels)):
        at = np.array([p for p in itertools.product(range(3), repeat=3) if sum(k == 1 for k in p) == odd], float)
        axes.plot(*at.T, marker, color=colour, ms=7, label=label)
    # The face that is seen first: its centre from four neighbours and four corners.
    centre = np.array((1, 0, 1), float)
    for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        axes.plot(*np.array([centre, centre + (a, 0, b)]).T, color=BLUE, lw=2)
    for a, b in itertools.product((-1, 1), repeat=2):
        axes.plot(*np.array([centre, centre + (a, 0, b)]).T, color=GREY, lw=1, ls="--")
    axes.text(1.52, 0, 1.1, r"$\frac{1}{2}$", color=BLUE, fontsize=13, ha="center")
    axes.text(1.62, 0, 1.5, r"$-\frac{1}{4}$", color=GREY, fontsize=13, ha="center")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.04), ncol=2, frameon=False)


def volume():
    """The tetrahedra of a cube; the stages of a tile of a volume; the classes of its vertices."""
    figure = plt.figure(figsize=(13.5, 4.9))
    for number, draw in enumerate((tetrahedra, stages, classes)):
        axes = figure.add_subplot(1, 3, number + 1, projection="3d")
        axes.view_init(elev=18, azim=-66)
        draw(axes)
        axes.set_box_aspect((1, 1, 1), zoom=1.05)
        axes.set_axis_off()
    figure.subplots_adjust(left=0, right=1, bottom=0.1, top=0.94, wspace=0)
    save(figure, "volume")


def stream():
    """The parts of a stream."""
    figure, axes = plt.subplots(figsize=(13.5, 5.4))

    def row(y, parts, height=0.9):
        for x0, x1, label, colour in parts:
            axes.add_patch(Rectangle((x0, y), x1 - x0, height, fc=colour, ec=BLACK, lw=1))
            axes.text((x0 + x1) / 2, y + height / 2, label, ha="center", va="center")

    def zoom(x0, x1, y, below_x0, below_x1, below_y):
        axes.plot([x0, below_x0], [y, below_y], color=GREY, lw=1, ls="--")
        axes.plot([x1, below_x1], [y, below_y], color=GREY, lw=1, ls="--")

    pale = {"blue": "#CFE6F5", "orange": "#FBE6BF", "green": "#C9EBDF", "purple": "#F3DCE8", "grey": "#EEEEEE"}
    axes.text(0, 7.1, "stream", weight="bold")
    row(6, ((0, 12, "header\n128 bytes", pale["grey"]), (12, 30, "tables\nshared by the whole field", pale["orange"]),
            (30, 44, "group words\nbytes, tiles", pale["blue"]), (44, 58, "group 0", pale["green"]),
            (58, 72, "group 1", pale["green"]), (72, 86, "...", "#FFFFFF"), (86, 100, "last group", pale["green"])))
    zoom(58, 72, 6, 18, 100, 4.9)
    axes.text(0, 4.35, "group: 1 to 256 tiles,\nan independent unit\nof decoding", va="center", weight="bold")
    row(4, ((18, 40, "32 coder states\nabout 3.5 bytes each", pale["blue"]),
            (40, 94, "16-bit words, taken by all 32 lanes in one fixed order", pale["green"]),
            (94, 100, "pad", pale["grey"])))
    zoom(40, 94, 4, 18, 100, 2.9)
    axes.text(0, 2.35, "decoded: batches\nof 32 tiles", va="center", weight="bold")
    row(2, ((18, 32, "mask states\na lane per tile", pale["purple"]),
            (32, 50, "activity of each block\ncoarse, middle, fine", pale["orange"]),
            (50, 64, "lengths\nof the lists", pale["grey"]), (64, 80, "masks\nzero, fill", pale["purple"]),
            (80, 100, "vertices: lists\n32 entries per step", pale["green"])))
    zoom(80, 100, 2, 18, 100, 0.9)
    axes.text(0, 0.35, "entry of a list:\none vertex", va="center", weight="bold")
    row(0, ((18, 42, "run: vertices skipped,\nall of symbol 0", pale["grey"]),
            (42, 70, "symbol: refinement k\nand size of the integers", pale["green"]),
            (70, 100, "raw bits: the integers themselves,\nor the stored values", pale["blue"])))
    axes.set_xlim(-0.5, 100.5)
    axes.set_ylim(-0.3, 7.6)
    axes.axis("off")
    save(figure, "stream")


def readme(factz):
    """A real field, and what is left of its critical points after factz and after SZ3 at the same bound."""
    from pysz import sz, szAlgorithm, szConfig, szErrorBoundMode

    field, fraction = Field("wind_global", factz), 1e-2
    bound_ = fraction * field.range

    def sz3(plane):
        config = szConfig()
        config.errorBoundMode = szErrorBoundMode.ABS
        config.absErrorBound = bound_
        config.cmprAlgo = szAlgorithm.INTERP_LORENZO
        data, _ = sz.compress(np.ascontiguousarray(plane), config)
        return sz.decompress(data, np.float32, plane.shape)[0], data.nbytes

    u, v, size = field.round_trip(bound_, "--mode", "speculative")
    (su, size_u), (sv, size_v) = sz3(field.u), sz3(field.v)
    before = critical(field.u, field.v)
    panels = (("original", field.u, field.v, None), ("factz (speculative)", u, v, size), ("SZ3", su, sv, size_u + size_v))
    x0, x1, y0, y1 = 192, 263, 76, 124
    figure, all_axes = plt.subplots(1, 3, figsize=(12, 3.3))
    for axes, (name, pu, pv, bytes_) in zip(all_axes, panels):
        axes.imshow(np.hypot(pu, pv), cmap="Greys", vmin=-4, vmax=26, interpolation="bilinear")
        ny, nx = np.mgrid[y0:y1 + 1, x0:x1 + 1]
        axes.streamplot(nx, ny, pu[y0:y1 + 1, x0:x1 + 1], field.down * pv[y0:y1 + 1, x0:x1 + 1], color="#9CC3DC",
                        density=1.5, linewidth=0.7, arrowsize=0.6)
        after = critical(pu, pv)
        for upper in (False, True):
            a, b = before[upper], after[upper]
            marks = ((a != 0) & (b == a), (a != 0) & (b != a), (a == 0) & (b != 0))
            for mask, colour, marker, size, order in zip(marks, (BLUE, VERMILION, ORANGE), "oXD", (6, 9, 6), (4, 6, 5)):
                axes.plot(*centres(mask, upper), marker, color=colour, ms=size, mec="white", mew=0.7, ls="",
                          zorder=order)
        if bytes_ is None:
            count = sum(np.count_nonzero(a) for a in before)
            axes.set_title(f"Original wind:\n{count:,} critical points")
        else:
            found = field.compare(pu, pv, bound_)
            wrong = f"{found['lost_points']} lost, {found['spurious_points']} spurious, {found['changed_types']} of another type"
            kept = "every critical point kept"
            axes.set_title(f"{name}: ratio {field.bytes / bytes_:.1f},\n{wrong if found['lost_points'] else kept}")
        axes.set_xlim(x0, x1)
        axes.set_ylim(y1, y0)
        axes.set_xticks([])
        axes.set_yticks([])
    handles = [plt.Line2D([], [], marker="o", color=BLUE, ls="", label="critical point"),
               plt.Line2D([], [], marker="X", color=VERMILION, ls="", label="lost"),
               plt.Line2D([], [], marker="D", color=ORANGE, ls="", label="spurious")]
    figure.tight_layout(w_pad=1)
    figure.legend(handles=handles, loc="lower center", ncol=3, frameon=False, bbox_to_anchor=(0.5, -0.06), fontsize=11)
    save(figure, "readme")


def compared(factz):
    """What `factz render --compare` draws of a stream that keeps the bound alone."""
    field, path = Field("wind_global", factz), FIGURES / "compared.png"
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder) / "plain.fz"
        field.stream(0.01 * field.range, stream, "--preserve", "none")
        subprocess.run([factz, "render", "--compare", field.folder / "u.f32", field.folder / "v.f32", stream, "-o", path,
                        "--width", "1000", "--backend", "cpu", "--quiet"], check=True)
    reduce(path, 64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--factz", default=str(ROOT / "target" / "release" / "factz"), help="the command line")
    parser.add_argument("--only", help="name of one figure")
    arguments = parser.parse_args()
    FIGURES.mkdir(exist_ok=True)
    figures = {"tile": tile, "bound": bound, "types": types, "volume": volume, "stream": stream,
               "speculative": lambda: speculative(arguments.factz), "readme": lambda: readme(arguments.factz),
               "compared": lambda: compared(arguments.factz)}
    if arguments.only and arguments.only not in figures:
        sys.exit(f"--only takes one of {', '.join(figures)}")
    for name, draw in figures.items():
        if arguments.only in (None, name):
            draw()


if __name__ == "__main__":
    main()
