"""Builds the wheel: the package, and the libraries of a finished build. Nothing is compiled.

FACTZ_LIBRARY_DIR names the folder with libfactz.so: of an installation (PREFIX/lib), or of a build.
FACTZ_HDF5_PLUGIN is the file libh5zfactz.so, by default in hdf5/plugin below that folder, or `off`.
FACTZ_LIBRARY_DIR=system makes a package without libraries, which uses those of an installation.
"""

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parents[2]

NO_LIBRARY = """
There is no library to put into the package. One of these makes or finds it:

    make wheel && pip install target/wheel/factz-*.whl          (in %s; needs cargo and cmake)
    FACTZ_LIBRARY_DIR=PREFIX/lib pip install plugins/python     (factz is installed by CMake into PREFIX)
    FACTZ_LIBRARY_DIR=system pip install plugins/python         (a package without libraries: it loads the
                                                                 libfactz.so.0 of the system, or the file
                                                                 that FACTZ_LIBRARY names)

This failed because FACTZ_LIBRARY_DIR is not set.""" % ROOT


def version():
    """That of the crate."""
    crate = ROOT / "Cargo.toml"
    if not crate.is_file():
        raise SystemExit("there is no file %s, which has the version: plugins/python is built in its place "
                         "within the sources of factz" % crate)
    return re.search(r'^version = "([^"]+)"', crate.read_text(), re.MULTILINE).group(1)


def libraries():
    """The libraries to include, with their names in the package."""
    named = os.environ.get("FACTZ_LIBRARY_DIR")
    if named == "system":
        return {}
    if not named:
        raise SystemExit(NO_LIBRARY)
    # pip runs this script in another folder than its caller's.
    if not os.path.isabs(named):
        raise SystemExit("FACTZ_LIBRARY_DIR=%s is a relative path: give the whole path" % named)
    found = {"libfactz.so.0": Path(named, "libfactz.so")}
    plugin = os.environ.get("FACTZ_HDF5_PLUGIN") or Path(named, "hdf5", "plugin", "libh5zfactz.so")
    if plugin != "off":
        found["libh5zfactz.so"] = Path(plugin)
    for path in found.values():
        if not path.is_file():
            raise SystemExit(
                "there is no file %s: FACTZ_LIBRARY_DIR must name PREFIX/lib of an installation or the folder "
                "of another finished build, and FACTZ_HDF5_PLUGIN the HDF5 filter, or `off` to leave it out"
                % path
            )
    return found


LIBRARIES = libraries()


def platform_tag():
    """manylinux with the latest version of glibc that a symbol of the libraries needs (PEP 600)."""
    needed = [(2, 17)]
    for path in LIBRARIES.values():
        data = path.read_bytes()
        for major, minor in re.findall(rb"\0GLIBC_(\d+)\.(\d+)", data):
            needed.append((int(major), int(minor)))
        if b"\0GLIBC_ABI_DT_RELR\0" in data:  # relative relocations, which glibc 2.36 was the first to read
            needed.append((2, 36))
    return "manylinux_%d_%d_%s" % (*max(needed), platform.machine())


class BuildWithLibraries(build_py):
    def run(self):
        super().run()
        for name, source in LIBRARIES.items():
            target = Path(self.build_lib) / "factz" / "lib" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755)
            if shutil.which("strip"):
                subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)


class WheelOfThePlatform(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", platform_tag() if LIBRARIES else "any")


class WithLibraries(Distribution):
    def has_ext_modules(self):
        return bool(LIBRARIES)


setup(
    version=version(),
    distclass=WithLibraries,
    cmdclass={"build_py": BuildWithLibraries, "bdist_wheel": WheelOfThePlatform},
)
