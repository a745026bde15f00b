#!/usr/bin/env python3
"""Planes in one stream beside the same planes in streams of their own: sizes, as Markdown.

    FACTZ_LIBRARY=.../libfactz.so PYTHONPATH=plugins/python benches/stacks.py [--planes 16] [--size 256]

The planes are random fields with a turbulence spectrum. The bound is a fraction of the range of the whole
stack, the same for planes alone.
"""

import argparse

import factz
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


def sizes(u, v, bound, mode):
    """Bytes of the planes one by one, and of the stack."""
    options = {"abs": bound * float(max(u.max(), v.max()) - min(u.min(), v.min())), "mode": mode}
    return sum(len(factz.compress(a, b, **options)) for a, b in zip(u, v)), len(factz.compress(u, v, **options))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planes", type=int, default=16)
    parser.add_argument("--size", type=int, default=256)
    a = parser.parse_args()
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
