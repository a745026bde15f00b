"""Loads the reader of ParaView as ParaView does. Where there is no ParaView, its decorators, which only make
descriptions of properties, are replaced by ones that do nothing."""

import importlib.util
import inspect
import sys
import types
from pathlib import Path

from vtkmodules.util.vtkAlgorithm import VTKPythonAlgorithmBase

READER = Path(__file__).resolve().parents[3] / "plugins/paraview/FactzReader.py"

# ParaView 5.11 of Debian 12 loads no plugin in Python: it needs a function that Python 3.11 has no more.
if not hasattr(inspect, "getargspec"):
    inspect.getargspec = inspect.getfullargspec

try:
    import paraview.util.vtkAlgorithm  # noqa: F401

    HAS_PARAVIEW = True
except ModuleNotFoundError:
    HAS_PARAVIEW = False


class Undecorated:
    def __getattr__(self, name):
        return lambda *arguments, **options: lambda decorated: decorated


def load(path=READER):
    if not HAS_PARAVIEW:
        module = types.ModuleType("paraview.util.vtkAlgorithm")
        module.VTKPythonAlgorithmBase = VTKPythonAlgorithmBase
        for name in ("smdomain", "smhint", "smproperty", "smproxy"):
            setattr(module, name, Undecorated())
        sys.modules[module.__name__] = module
        for package in ("paraview", "paraview.util"):
            sys.modules[package] = types.ModuleType(package)
    spec = importlib.util.spec_from_file_location("FactzReader", str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
