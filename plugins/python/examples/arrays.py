#!/usr/bin/env python3
"""factz on NumPy arrays, and on CuPy arrays in the memory of a GPU.

    python3 arrays.py            # NumPy, and CuPy where it and a GPU are there
    python3 arrays.py --cupy     # CuPy must be there
"""
import sys

import numpy as np

import factz


def field(nx, ny):
    """Vortices and saddles, disturbed by waves."""
    y, x = np.mgrid[0:ny, 0:nx].astype(np.float32)
    u = np.sin(0.11 * x) * np.cos(0.13 * y) + 0.02 * np.cos(0.0527 * x + 0.2)
    v = -np.cos(0.11 * x) * np.sin(0.13 * y) + 0.05 * np.sin(0.07 * x + 0.05 * y)
    return u, v


def numpy_arrays():
    u, v = field(301, 203)
    data = factz.compress(u, v, rel=1e-3, mode="speculative")
    u2, v2 = factz.decompress(data)
    found = factz.compare(u, v, u2, v2, rel=1e-3)
    assert found.violations == 0 and found.max_error <= found.bound
    print("%d bytes, ratio %.1f, largest error %.2g" % (len(data), 2 * u.nbytes / len(data), found.max_error))

    saddles = factz.critical_points(u, v)["point_type"] == factz.PointType.SADDLE
    print("%d critical points, of these %d saddles" % (found.critical_points, saddles.sum()))

    # Components of one array, and a part of it: nothing is copied.
    uv = np.stack([u, v], axis=-1)
    part = uv[50:150, ::2]
    data = factz.compress(part[..., 0], part[..., 1], abs=1e-3)
    print(factz.inspect(data))

    # The other way round: into a part of an array.
    factz.decompress(data, out=(part[..., 0], part[..., 1]))
    assert np.abs(uv[50:150, ::2, 0] - u[50:150, ::2]).max() <= 1e-3


def cupy_arrays():
    import cupy

    u, v = field(1031, 773)
    on_host = factz.compress(u, v, rel=1e-2)
    with cupy.cuda.Stream(non_blocking=True):
        du, dv = cupy.asarray(u), cupy.asarray(v)
        # Waits for the current stream, because the length of the data must be known.
        data = factz.compress(du, dv, rel=1e-2)
        du2, dv2 = factz.decompress(data)
        assert factz.compare(du, dv, du2, dv2, rel=1e-2).violations == 0
        assert data.get().tobytes() == on_host, "the same bytes as on the host"

        # Waits for nothing: both calls are enqueued, and the buffer goes from one to the other as it is.
        compression = factz.enqueue_compress(du, dv, rel=1e-2)
        decompression = factz.enqueue_decompress(compression.buffer, (cupy.empty_like(du), cupy.empty_like(dv)))
        print("GPU:", compression.wait())
        decompression.wait()
        assert (decompression.u == du2).all() and (decompression.v == dv2).all()


def main():
    print("factz", factz.__version__)
    numpy_arrays()
    try:
        import cupy

        devices = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # not installed, or no driver
        if "--cupy" in sys.argv:
            raise
        print("CuPy: not run (%s)" % type(error).__name__)
    else:
        if devices:
            cupy_arrays()
    print("everything holds")


if __name__ == "__main__":
    main()
