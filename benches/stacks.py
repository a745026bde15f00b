#!/usr/bin/env python3
"""Planes in one stream beside the same planes in streams of their own: sizes, as Markdown.

    FACTZ_LIBRARY=.../libfactz.so PYTHONPATH=plugins/python benches/stacks.py [--planes 16] [--size 256]
    benches/stacks.py --cut FOLDER [--sides 1024,256]

The planes are random fields with a turbulence spectrum. The bound is a fraction of the range of the whole
stack, the same for planes alone.

--cut writes files to measure the speed of stacks: one smooth turbulent field of 8192 x 8192 (u_8192.f32,
v_8192.f32), and its values as stacks of square planes (u_256.f32: 1,024 planes of 256 x 256).

    factz bench FOLDER/u_256.f32 FOLDER/v_256.f32 --dims 256x256x1024 --backend cuda --coder ans
"""

import argparse
from pathlib import Path

import numpy as np

BOUNDS = (1e-1, 1e-2, 1e-3)
MODES = ("block", "speculative")


def component(size, random, slope):
    """A random field with spectral amplitudes k^(slope / 2 - 1 / 2) and standard deviation 1."""
    k = np.fft.fftfreq(size) * size
    length = np.hypot(k[:, None], k[None, : size // 2 + 1])
    length[0, 0] = 1
    waves = (random.normal(size=length.shape) + 1j * random.normal(size=length.shape)) * length ** (slope / 2 - 0.5)
    waves[0, 0] = 0
    values = np.fft.irfft2(waves, (size, size))
    return (values / values.std()).astype("f4")


def stack(planes, size, slopes, amplitudes):
    """u and v of planes with these slopes and amplitudes."""
    randoms = [np.random.default_rng(k) for k in range(planes)]
    fields = [[component(size, random, slope) for _ in "uv"] for random, slope in zip(randoms, slopes)]
    return [np.stack([a * field[c] for a, field in zip(amplitudes, fields)]) for c in range(2)]


def flow(size):
    """u and v of a random flow without divergence, with a largest component of 1."""
    x, y = np.fft.rfftfreq(size, 1 / size)[None, :], np.fft.fftfreq(size, 1 / size)[:, None]
    length = np.hypot(x, y)
    length[0, 0] = 1
    waves = length**-2.6 * np.exp(-((6 * length / size) ** 2)) * (length >= 8)
    phases = np.random.default_rng(7).random(length.shape)
    stream = np.fft.irfft2(waves * np.exp(2j * np.pi * phases), (size, size))
    u = np.roll(stream, -1, 0) - np.roll(stream, 1, 0)
    v = np.roll(stream, 1, 1) - np.roll(stream, -1, 1)
    largest = max(abs(u).max(), abs(v).max())
    return [(component / largest).astype("f4") for component in (u, v)]


def cut(folder, size, sides):
    """Writes a flow as one plane, and as planes of these sides."""
    for name, whole in zip("uv", flow(size)):
        whole.tofile(folder / f"{name}_{size}.f32")
        for side in sides:
            n = size // side
            planes = whole.reshape(n, side, n, side).transpose(0, 2, 1, 3)
            planes.tofile(folder / f"{name}_{side}.f32")


def sizes(u, v, bound, mode):
    """Bytes of the planes one by one, and of the stack."""
    import factz

    options = {"abs": bound * float(max(u.max(), v.max()) - min(u.min(), v.min())), "mode": mode}
    return sum(len(factz.compress(a, b, **options)) for a, b in zip(u, v)), len(factz.compress(u, v, **options))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planes", type=int, default=16)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--cut", type=Path, metavar="FOLDER", help="write files for factz bench (see above)")
    parser.add_argument("--sides", default="1024,256", help="sides of the planes of --cut (default: %(default)s)")
    a = parser.parse_args()
    if a.cut:
        sides = [int(side) for side in a.sides.split(",")]
        if any(side < 1 or 8192 % side for side in sides):
            parser.error(f"--sides {a.sides}: each side must divide 8192")
        a.cut.mkdir(parents=True, exist_ok=True)
        return cut(a.cut, 8192, sides)
    one = np.ones(a.planes, "f4")
    kinds = {
        "similar": (-2.6 * one, one),
        "amplitudes 1 to 50": (-2.6 * one, np.geomspace(1, 50, a.planes).astype("f4")),
        "spectral slopes -2 to -4": (np.linspace(-2, -4, a.planes), one),
    }
    print("| planes | bound | block-wise, alone | one stack | change | speculative, alone | one stack | change |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name, (slopes, amplitudes) in kinds.items():
        u, v = stack(a.planes, a.size, slopes, amplitudes)
        for bound in BOUNDS:
            cells = []
            for mode in MODES:
                alone, together = sizes(u, v, bound, mode)
                cells += ["%d" % alone, "%d" % together, "%+.1f %%" % (100 * (together / alone - 1))]
            print("| %s | %.0e | %s |" % (name, bound, " | ".join(cells)))


if __name__ == "__main__":
    main()
