"""CUDA streams and device memory through the library of the caller's arrays, CuPy or PyTorch."""

import contextlib
import sys
from typing import Any, Iterator, Optional, Tuple

import numpy as np

from ._arrays import device_of, is_device


def stream_handle(stream: Any) -> int:
    """The address of a CUDA stream, given as such or as an object of CuPy, PyTorch, Numba or cuda.core."""
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream"):
        if hasattr(stream, name):
            return int(getattr(stream, name))
    handle = getattr(getattr(stream, "handle", None), "value", None)
    if handle is None:
        raise TypeError(
            "stream=%r is no CUDA stream: pass an object of CuPy or PyTorch, or its address" % (stream,)
        )
    return int(handle)


class CupyQueue:
    """A CUDA stream with CuPy's memory pool, whose memory is reused in the order of the stream."""

    library = "cupy"

    def __init__(self, device: Optional[int], stream: Any):
        import cupy

        self._cupy = cupy
        self._device = cupy.cuda.Device(device)
        with self._device:
            if stream is None:
                self._stream = cupy.cuda.get_current_stream()
            elif library_of(stream) == "cupy":
                self._stream = stream
            else:
                self._stream = cupy.cuda.ExternalStream(stream_handle(stream))
                self._foreign = stream  # lives as long as the queue
        self.handle = int(self._stream.ptr)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Makes device and stream the current ones of CuPy."""
        with self._device, self._stream:
            yield

    def empty(self, shape: Tuple[int, ...], dtype: Any) -> Any:
        with self.active():
            return self._cupy.empty(shape, dtype)

    def dense(self, array: Any) -> Any:
        """A copy without gaps."""
        with self.active():
            return self._cupy.ascontiguousarray(array)

    def copy(self, array: Any) -> Any:
        """A copy without gaps, of CuPy, of any array."""
        with self.active():
            return self.own(array).copy()

    def own(self, array: Any) -> Any:
        """An array of CuPy in the memory of another array."""
        if isinstance(array, self._cupy.ndarray):
            return array
        if hasattr(array, "__cuda_array_interface__"):
            return self._cupy.asarray(array)
        return self._cupy.from_dlpack(array)

    def head(self, array: Any, length: int) -> Any:
        """A copy of the first elements, complete for every stream."""
        with self.active():
            part = self.own(array)[:length].copy()
            self._stream.synchronize()
        return part

    def to_host(self, array: Any, length: int) -> bytes:
        """The first bytes of an array of uint8, when the stream has got there."""
        with self.active():
            return self.own(array)[:length].get().tobytes()

    def wait_for(self, producer: int) -> None:
        """Lets the stream wait for the work that another one has now."""
        with self.active():
            event = self._cupy.cuda.ExternalStream(producer).record()
            self._stream.wait_event(event)


class TorchQueue:
    """A CUDA stream with PyTorch's caching allocator, whose memory is reused in the order of the stream."""

    library = "torch"

    def __init__(self, device: Optional[int], stream: Any):
        import torch

        self._torch = torch
        self._device = torch.device("cuda", torch.cuda.current_device() if device is None else device)
        if stream is None:
            self._stream = torch.cuda.current_stream(self._device)
        elif isinstance(stream, torch.cuda.Stream):
            self._stream = stream
        else:
            self._stream = self._external(stream_handle(stream))
            self._foreign = stream  # lives as long as the queue
        self.handle = int(self._stream.cuda_stream)

    def _external(self, handle: int) -> Any:
        if handle == 0:
            return self._torch.cuda.default_stream(self._device)
        return self._torch.cuda.ExternalStream(handle, self._device)

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Makes device and stream the current ones of PyTorch."""
        with self._torch.cuda.device(self._device), self._torch.cuda.stream(self._stream):
            yield

    def empty(self, shape: Tuple[int, ...], dtype: Any) -> Any:
        with self.active():
            return self._torch.empty(
                shape, dtype=getattr(self._torch, np.dtype(dtype).name), device=self._device
            )

    def dense(self, array: Any) -> Any:
        """A copy without gaps."""
        with self.active():
            return array.contiguous()

    def copy(self, array: Any) -> Any:
        """A copy without gaps, a tensor, of any array."""
        with self.active():
            return self.own(array).clone(memory_format=self._torch.contiguous_format)

    def own(self, array: Any) -> Any:
        """A tensor in the memory of another array."""
        if isinstance(array, self._torch.Tensor):
            return array
        if hasattr(array, "__cuda_array_interface__"):
            return self._torch.as_tensor(array, device=self._device)
        return self._torch.from_dlpack(array)

    def head(self, array: Any, length: int) -> Any:
        """A copy of the first elements, complete for every stream."""
        with self.active():
            part = self.own(array)[:length].clone()
            self._stream.synchronize()
        return part

    def to_host(self, array: Any, length: int) -> bytes:
        """The first bytes of an array of uint8, when the stream has got there."""
        with self.active():
            return self.own(array)[:length].cpu().numpy().tobytes()

    def wait_for(self, producer: int) -> None:
        """Lets the stream wait for the work that another one has now."""
        with self.active():
            self._stream.wait_event(self._external(producer).record_event())


def library_of(array: Any) -> str:
    """The name of the package that an array belongs to."""
    return type(array).__module__.partition(".")[0]


def _queue_type(array: Any) -> Any:
    """The library that allocates: that of the array, else CuPy, else PyTorch."""
    own = library_of(array)
    if own == "cupy":
        return CupyQueue
    if own == "torch":
        return TorchQueue
    for name, kind in (("cupy", CupyQueue), ("torch", TorchQueue)):
        if sys.modules.get(name) is not None or _is_installed(name):
            return kind
    raise TypeError(
        "arrays of %s in device memory need CuPy or PyTorch, which allocate for factz: install one of them"
        % own
    )


def _is_installed(name: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(name) is not None


def queue_of(stream: Any, **arrays: Any) -> Any:
    """The queue of a call on arrays in device memory; None where all are in host memory."""
    on_device = [name for name, array in arrays.items() if is_device(array)]
    if not on_device:
        if stream is not None:
            raise ValueError(
                "stream= is for arrays in device memory, and %s are in host memory" % ", ".join(arrays)
            )
        return None
    on_host = [name for name in arrays if name not in on_device]
    if on_host:
        raise ValueError(
            "%s is in device memory and %s is not: move one of them (cupy.asarray, .get(), .cuda(), .cpu())"
            % (on_device[0], on_host[0])
        )
    devices = {device for device in map(device_of, arrays.values()) if device is not None}
    if len(devices) > 1:
        raise ValueError("%s are on different devices: %s" % (", ".join(arrays), sorted(devices)))
    first = arrays[on_device[0]]
    return _queue_type(first)(next(iter(devices), None), stream)
