"""tests/gpu/zarr_device.py holds with the stand-in for CuPy of test_device_script.py, whose arrays are in
host memory. zarr-python takes it for CuPy, too."""

import contextlib
import sys
from unittest import mock

import numpy as np
import test_device_script as script

import factz._chunk_streams as chunk_streams
import factz.zarr as factz_zarr
from factz import _arrays

cupy = script.stand_in()
# Functions that zarr's buffers and the codec use besides. `asarray` shares the memory of arrays that are its own.
cupy.__version__ = "stand-in"
cupy.asarray = cupy.asanyarray = cupy.array = lambda a, dtype=None: script.asarray(np.asanyarray(a, dtype))
cupy.empty = lambda shape, dtype=np.float64, order="C": script.empty(shape, np.dtype(dtype))
cupy.frombuffer = lambda data, dtype: script.asarray(np.frombuffer(data, dtype))
cupy.concatenate = lambda arrays: script.asarray(np.concatenate([a.view(np.ndarray) for a in arrays]))
script.ndarray.device = property(lambda array: contextlib.nullcontext())
cupy.ascontiguousarray = lambda a: script.asarray(np.array(a, order="C", subok=False))


def main():
    claims = mock.Mock(side_effect=lambda a: isinstance(a, script.ndarray) or _arrays.is_device(a))
    with mock.patch.dict(sys.modules, {"cupy": cupy}):
        import zarr.core.buffer.gpu as gpu

        with (
            mock.patch.object(script, "stand_in", lambda: cupy),
            mock.patch.object(gpu, "cp", cupy),
            mock.patch.object(chunk_streams, "is_device", claims),
            mock.patch.object(factz_zarr, "is_device", claims),
        ):
            script.run("zarr_device.py")


if __name__ == "__main__":
    main()
