"""Error-bounded compression of 2D and 3D vector fields that keeps every critical point.

    import factz

    data = factz.compress(u, v, rel=1e-3)          # bytes; u and v are arrays of the shape (ny, nx)
    u2, v2 = factz.decompress(data)
    assert factz.compare(u, v, u2, v2, rel=1e-3).violations == 0

Functions take NumPy arrays, and arrays in the memory of a CUDA device (CuPy, PyTorch, or others with
``__cuda_array_interface__`` or DLPack). ``import factz.hdf5`` makes h5py find the HDF5 filter;
:mod:`factz.pack` compresses pairs of variables of netCDF-4 files.

Threads: functions release the interpreter's lock and may be called from several threads at once.
"""

from ._analysis import compare, critical_points, relative_bound, value_range
from ._compression import (
    Enqueued,
    EnqueuedCompression,
    EnqueuedDecompression,
    compress,
    compress_sizes,
    decompress,
    decompress_sizes,
    enqueue_compress,
    enqueue_decompress,
    inspect,
    prepare_device,
)
from ._component import join, split
from ._fixes import apply, inspect_fix, protect
from ._library import library as _loaded
from ._results import (
    CRITICAL_POINT,
    INDEX_UNDEFINED,
    VOLUME_POINT,
    VOLUME_SIMPLICES,
    Comparison,
    FixInfo,
    FixReport,
    Info,
    PointType,
    Range,
    Report,
    Simplex,
    Sizes,
    VolumeComparison,
    VolumePointType,
)
from ._steps import Step, Steps, load, steps
from ._volume_analysis import compare_volume, critical_points_volume, value_range_volume
from ._volume_device import (
    compress_volume_sizes,
    decompress_volume_sizes,
    enqueue_compress_volume,
    enqueue_decompress_volume,
)
from ._volume_fixes import apply_volume, protect_volume
from ._volumes import compress_volume, decompress_volume
from .errors import (
    BufferTooSmallError,
    CorruptStreamError,
    CudaError,
    FactzError,
    InternalError,
    InvalidArgumentError,
    InvalidConfigError,
    NoDeviceError,
    OutOfMemoryError,
    ReadError,
    UnsupportedError,
    UnsupportedVersionError,
    WideRangeWarning,
    WorkspaceTooSmallError,
)

#: The version of the library, which is that of the package.
__version__: str = _loaded.version().decode()

#: The version of the stream format that the library writes.
FORMAT_VERSION: int = _loaded.format_version()

__all__ = [
    "BufferTooSmallError",
    "CRITICAL_POINT",
    "Comparison",
    "CorruptStreamError",
    "CudaError",
    "Enqueued",
    "EnqueuedCompression",
    "EnqueuedDecompression",
    "FORMAT_VERSION",
    "FactzError",
    "FixInfo",
    "FixReport",
    "INDEX_UNDEFINED",
    "Info",
    "InternalError",
    "InvalidArgumentError",
    "InvalidConfigError",
    "NoDeviceError",
    "OutOfMemoryError",
    "PointType",
    "Range",
    "ReadError",
    "Report",
    "Simplex",
    "Sizes",
    "Step",
    "Steps",
    "UnsupportedError",
    "UnsupportedVersionError",
    "VOLUME_POINT",
    "VOLUME_SIMPLICES",
    "VolumeComparison",
    "VolumePointType",
    "WideRangeWarning",
    "WorkspaceTooSmallError",
    "apply",
    "apply_volume",
    "compare",
    "compare_volume",
    "compress",
    "compress_sizes",
    "compress_volume",
    "compress_volume_sizes",
    "critical_points",
    "critical_points_volume",
    "decompress",
    "decompress_sizes",
    "decompress_volume",
    "decompress_volume_sizes",
    "enqueue_compress",
    "enqueue_compress_volume",
    "enqueue_decompress",
    "enqueue_decompress_volume",
    "inspect",
    "inspect_fix",
    "join",
    "load",
    "prepare_device",
    "protect",
    "protect_volume",
    "relative_bound",
    "split",
    "steps",
    "value_range",
    "value_range_volume",
]
