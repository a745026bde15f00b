"""Exceptions of the library.

Wrong Python objects (types, shapes, unknown names) are refused with TypeError or ValueError before the
library is called. What the library refuses is a :class:`FactzError`.
"""

from . import _abi


class FactzError(Exception):
    """A call of the library failed. ``str()`` names the argument and its value.

    Attributes:
        status: the number of the error in factz.h (``FACTZ_ERROR_*``).
    """

    status: int = _abi.ERROR_INTERNAL


class InvalidArgumentError(FactzError, ValueError):
    """An argument is out of range, overlaps another one or contradicts it."""

    status = _abi.ERROR_INVALID_ARGUMENT


class InvalidConfigError(FactzError, ValueError):
    """The bound, the shape or an option has a value that no field can have."""

    status = _abi.ERROR_INVALID_CONFIG


class BufferTooSmallError(FactzError, ValueError):
    """A buffer of the caller cannot hold the result.

    Attributes:
        required_bytes: the bytes that the result takes, where they are known, or 0.
    """

    status = _abi.ERROR_BUFFER_TOO_SMALL
    required_bytes: int = 0


class WorkspaceTooSmallError(FactzError, ValueError):
    """``workspace`` is smaller than :func:`factz.compress_sizes` or :func:`factz.decompress_sizes` say, or for
    volumes :func:`factz.compress_volume_sizes` or :func:`factz.decompress_volume_sizes`."""

    status = _abi.ERROR_WORKSPACE_TOO_SMALL


class CorruptStreamError(FactzError):
    """The data are truncated or damaged, or were not written by factz."""

    status = _abi.ERROR_CORRUPT_STREAM


class UnsupportedVersionError(FactzError):
    """The data have a version of the format that this library does not read."""

    status = _abi.ERROR_UNSUPPORTED_VERSION


class NoDeviceError(FactzError, RuntimeError):
    """There is no usable CUDA device or driver, or the library was built without CUDA."""

    status = _abi.ERROR_NO_DEVICE


class CudaError(FactzError, RuntimeError):
    """The CUDA driver reported an error."""

    status = _abi.ERROR_CUDA


class OutOfMemoryError(FactzError, MemoryError):
    """Memory or threads could not be had."""

    status = _abi.ERROR_OUT_OF_MEMORY


class UnsupportedError(FactzError, NotImplementedError):
    """The option is not available in this version of the library."""

    status = _abi.ERROR_UNSUPPORTED


class InternalError(FactzError, RuntimeError):
    """A defect of the library: please report it with the message."""

    status = _abi.ERROR_INTERNAL


class ReadError(FactzError, OSError):
    """A file ended while a region was read from it."""

    status = _abi.ERROR_READ


class WideRangeWarning(UserWarning):
    """A relative bound may be larger than most data, because outliers make the range of the field."""


_BY_STATUS = {kind.status: kind for kind in FactzError.__subclasses__()}


def error_of(status: int, text: str) -> FactzError:
    """The exception for a status; one that this package does not know is a plain FactzError."""
    error = _BY_STATUS.get(status, FactzError)(text)
    error.status = status
    return error
