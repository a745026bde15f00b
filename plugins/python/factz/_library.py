"""Finds and loads libfactz.so, once, when the package is imported."""

import ctypes
import os
from pathlib import Path
from typing import Iterator, Tuple

from . import _abi, _sides
from .errors import FactzError, error_of

SONAME = "libfactz.so.0"
HERE = Path(__file__).resolve().parent


def _candidates() -> Iterator[Tuple[str, str]]:
    """Files to load, and where they come from, in this order; the first one that is there counts."""
    named = os.environ.get("FACTZ_LIBRARY")
    if named:
        yield named, "FACTZ_LIBRARY"
        return
    if (HERE / "lib" / SONAME).is_file():
        yield str(HERE / "lib" / SONAME), "the package"
        return
    # PREFIX/lib/python3/site-packages/factz of an installation by CMake, beside PREFIX/lib/libfactz.so.0.
    beside = HERE.parents[2] / SONAME
    if beside.is_file():
        yield str(beside), "the installation"
    yield SONAME, "the dynamic linker"


def _load() -> ctypes.CDLL:
    failures = []
    for path, origin in _candidates():
        try:
            return _declare(ctypes.CDLL(path), path)
        except OSError as error:
            failures.append("%s: %s" % (origin, error))
    raise ImportError(
        "factz cannot load its library %s (%s). Install the wheel of factz, which contains it, or set "
        "FACTZ_LIBRARY to the file libfactz.so of an installation or a build"
        % (SONAME, "; ".join(failures))
    )


def _declare(library: ctypes.CDLL, path: str) -> ctypes.CDLL:
    """Checks the version and declares the functions, under their names without factz_."""
    try:
        library.factz_version.restype = ctypes.c_char_p
        version = library.factz_version().decode()
        major, minor = (int(part) for part in version.split(".")[:2])
        if major != _abi.VERSION_MAJOR or (major == 0 and minor != _abi.VERSION_MINOR):
            raise ImportError(
                "%s is factz %s, and this package needs %d.%d: install the package of that version, or name "
                "another library by FACTZ_LIBRARY" % (path, version, _abi.VERSION_MAJOR, _abi.VERSION_MINOR)
            )
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            function = getattr(library, "factz_" + name)
            function.restype, function.argtypes = result, arguments
            setattr(library, name, function)
    except AttributeError as error:
        raise ImportError(
            "%s is not the library of this package (%s): name another one by FACTZ_LIBRARY" % (path, error)
        ) from error
    return library


library = _load()


HOLDS_VOLUME = "the data hold a volume of u, v and w: call factz.decompress_volume"
HOLDS_PLANES = "the data hold planes with u and v, no volume: call factz.decompress"
HOLDS_ONE = (
    "the data hold one component, and a device decompresses both together: copy the data to the host "
    "(.get() of CuPy, .cpu().numpy() of PyTorch)"
)

# What C calls it, and what this package does.
NAMES = (
    ("the stream holds a volume of u, v and w: call the function for volumes", HOLDS_VOLUME),
    ("the stream holds planes with u and v, no volume: call the function for planes", HOLDS_PLANES),
    ("a volume of u, v and w: call the function for volumes", "a volume of u, v and w: call factz.apply_volume"),
    ("planes of u and v: call the function for planes", "planes of u and v: call factz.apply"),
    ("config: ", ""),
    ("info: ", ""),
    ("bound = ", "the bound (abs, rel) = "),
    ("fill_value = ", "fill = "),
    ("dtype = F32", "dtype = float32"),
    ("dtype = F64", "dtype = float64"),
    ("dtype = f32", "dtype = float32"),
    (" F32 values", " float32 values"),
    (" F64 values", " float64 values"),
    ("factz_prepare_device", "factz.prepare_device"),
)


def refusal(text: str) -> FactzError:
    """The exception of an argument that the library would refuse."""
    return error_of(_abi.ERROR_INVALID_ARGUMENT, "%s: %s" % (_name(_abi.ERROR_INVALID_ARGUMENT), text))


def _name(status: int) -> str:
    return library.status_string(status).decode()


def check(status: int) -> None:
    """Raises the exception of a status that is not OK, with the library's text."""
    if status != _abi.OK:
        text = _sides.named(library.last_error().decode())
        for in_c, here in NAMES:
            text = text.replace(in_c, here)
        raise error_of(status, "%s: %s" % (_name(status), text))
