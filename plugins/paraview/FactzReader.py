"""A reader of factz streams for ParaView: Tools, Manage Plugins, Load New.

A file holds a stream, or several, which are time steps; files that are opened together follow each other.
The first output is an image with the vectors (u, v, 0), the second one has the critical points. The Python of
ParaView needs the package factz: that of the installation that this file is part of, or one on PYTHONPATH.
"""

import sys
from pathlib import Path

import numpy as np
from paraview.util.vtkAlgorithm import VTKPythonAlgorithmBase, smdomain, smhint, smproperty, smproxy
from vtkmodules.util.numpy_support import numpy_to_vtk, numpy_to_vtkIdTypeArray
from vtkmodules.vtkCommonCore import vtkPoints
from vtkmodules.vtkCommonDataModel import vtkCellArray, vtkDataObject, vtkImageData, vtkPolyData
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline

try:
    import factz
except ModuleNotFoundError:
    # CMake installs this file to PREFIX/share/factz/paraview, and the package below the libraries.
    prefix = Path(__file__).resolve().parent.parent.parent.parent
    for pattern in ("lib*/python3/site-packages", "lib/*/python3/site-packages"):
        sys.path.extend(map(str, sorted(prefix.glob(pattern))))
    try:
        import factz
    except ModuleNotFoundError as missing:
        # ParaView tries another way to load plugins after an ImportError, and hides this one.
        raise RuntimeError(
            "the Python of ParaView cannot import factz (%s): set PYTHONPATH to "
            "PREFIX/lib/python3/site-packages of an installation, and start ParaView again" % missing
        ) from None

EXTENSIONS = ["fz", "fctz"]
DESCRIPTION = "factz compressed vector field"


def grid(step):
    """Extent, origin and spacing of an image for a stream. A spacing that is negative turns the axis around,
    so that the place of a vertex is its column times dx and its row times dy, and VTK sees positive spacings.
    """
    nz, ny, nx = (1, *step.shape)[-3:]
    origin = [min(0.0, spacing * (n - 1)) for spacing, n in ((step.dx, nx), (step.dy, ny))]
    return (0, nx - 1, 0, ny - 1, 0, nz - 1), (*origin, 0.0), (abs(step.dx), abs(step.dy), 1.0)


def vectors(u, v, step):
    """The vectors (u, v, 0) of an image, a row for each vertex. Missing ones are NaN: vertices with a NaN, an
    infinity or the fill value in one of the components."""
    found = np.zeros(u.shape + (3,), u.dtype)
    found[..., 0], found[..., 1] = u, v
    missing = ~(np.isfinite(u) & np.isfinite(v))
    if step.fill is not None:
        missing |= (u == step.fill) | (v == step.fill)
    found[missing, :2] = np.nan
    if step.dy < 0:
        found = found[..., ::-1, :, :]
    if step.dx < 0:
        found = found[..., ::-1, :]
    return np.ascontiguousarray(found).reshape(-1, 3)


def critical_points(u, v, step):
    """The critical points of a plane, or of each plane of a stack, with the number of their plane."""
    planes = [(u, v)] if u.ndim == 2 else list(zip(u, v))
    options = {name: getattr(step, name) for name in ("dx", "dy", "fill", "periodic") if hasattr(step, name)}
    lists = [factz.critical_points(*plane, **options) for plane in planes]
    return np.concatenate(lists), np.repeat(np.arange(len(lists)), [len(points) for points in lists])


def add_array(data, name, values):
    array = numpy_to_vtk(np.ascontiguousarray(values), deep=True)
    array.SetName(name)
    data.AddArray(array)


def add_points(output, points, planes, step):
    """Fills a PolyData with the arrays that `factz points -o points.vtp` writes. As there, eigenvalues that are
    not defined are 0."""
    count = len(points)
    place = vtkPoints()
    # The sum makes -0 positive.
    place.SetData(numpy_to_vtk(np.stack([points["x"] + 0.0, points["y"] + 0.0, planes], axis=1), deep=True))
    output.SetPoints(place)
    vertices = vtkCellArray()
    numbers = [numpy_to_vtkIdTypeArray(np.arange(n, dtype=np.int64), deep=True) for n in (count + 1, count)]
    vertices.SetData(*numbers)
    output.SetVerts(vertices)

    planes_rows_columns = (1,) * (3 - len(step.shape)) + tuple(step.shape)
    add_array(output.GetFieldData(), "dims", np.array(planes_rows_columns[::-1], np.int64))
    for kinds, prefix in ((factz.PointType, "point_type"), (factz.Simplex, "simplex")):
        for kind in kinds:
            name = "%s_%s" % (prefix, kind.name.lower())
            add_array(output.GetFieldData(), name, np.array([kind.value], np.int32))
    data = output.GetPointData()
    for name in ("point_type", "simplex", "index", "rounding_divergence"):
        add_array(data, name, points[name].astype(np.int32))
    cells = np.stack([points["cell_x"], points["cell_y"], planes], axis=1)
    add_array(data, "cell", cells.astype(np.int64))
    for name in ("eigenvalues_real", "eigenvalues_imaginary"):
        add_array(data, name, np.nan_to_num(points[name].reshape(count, 2), nan=0.0))
    data.SetActiveScalars("point_type")


@smproxy.reader(
    name="FactzReader",
    label="factz Reader",
    extensions=EXTENSIONS,
    file_description=DESCRIPTION,
)
@smproperty.xml(
    """
    <OutputPort name="Field" index="0" />
    <OutputPort name="Critical points" index="1" />
    """
)
class FactzReader(VTKPythonAlgorithmBase):
    def __init__(self):
        super().__init__(nInputPorts=0, nOutputPorts=2)
        self._files = []
        self._steps = []  # (file, number of the stream in it, its header)
        self._with_points = True

    @smproperty.stringvector(
        name="FileNames",
        label="File Names",
        command="AddFileName",
        clean_command="RemoveAllFileNames",
        repeat_command="1",
        number_of_elements="0",
        panel_visibility="never",
    )
    @smdomain.filelist()
    @smhint.filechooser(extensions=EXTENSIONS, file_description=DESCRIPTION)
    def AddFileName(self, name):
        self._files.append(name)
        self.Modified()

    def RemoveAllFileNames(self):
        self._files.clear()
        self.Modified()

    @smproperty.xml(
        """
        <IntVectorProperty name="CriticalPoints" label="Critical Points" command="SetCriticalPoints"
                           number_of_elements="1" default_values="1">
          <BooleanDomain name="bool" />
          <Documentation>
            Find the critical points of each time step. Off, the second output is empty, and large fields
            are read sooner.
          </Documentation>
        </IntVectorProperty>
        """
    )
    def SetCriticalPoints(self, wanted):
        if self._with_points != bool(wanted):
            self._with_points = bool(wanted)
            self.Modified()

    @smproperty.doublevector(
        name="TimestepValues", information_only="1", si_class="vtkSITimeStepsProperty"
    )
    def GetTimestepValues(self):
        return [float(number) for number in range(len(self._steps))]

    def FillOutputPortInformation(self, port, info):
        info.Set(vtkDataObject.DATA_TYPE_NAME(), ("vtkImageData", "vtkPolyData")[port])
        return 1

    def RequestInformation(self, request, inInfo, outInfo):
        self._steps = []
        if not self._files:
            raise ValueError("FileNames is empty: give at least one file of factz")
        steps = []
        for file in self._files:
            steps += [(file, number, step) for number, step in enumerate(factz.steps(file))]
        for file, number, step in steps:
            if step.shape != steps[0][2].shape:
                raise ValueError(
                    "%s: stream %d has the shape %s, and the first stream of %s has %s: time steps have one "
                    "shape; `factz decompress --step` takes one out"
                    % (file, number, step.shape, self._files[0], steps[0][2].shape)
                )
        self._steps = steps
        times = self.GetTimestepValues()
        keys = vtkStreamingDemandDrivenPipeline
        for info in (outInfo.GetInformationObject(port) for port in range(2)):
            info.Remove(keys.TIME_STEPS())
            info.Remove(keys.TIME_RANGE())
            if len(times) > 1:
                info.Set(keys.TIME_STEPS(), times, len(times))
                info.Set(keys.TIME_RANGE(), [times[0], times[-1]], 2)
        extent, origin, spacing = grid(steps[0][2])
        info = outInfo.GetInformationObject(0)
        info.Set(keys.WHOLE_EXTENT(), extent, 6)
        info.Set(vtkDataObject.ORIGIN(), origin, 3)
        info.Set(vtkDataObject.SPACING(), spacing, 3)
        return 1

    def RequestData(self, request, inInfo, outInfo):
        keys = vtkStreamingDemandDrivenPipeline
        asked = outInfo.GetInformationObject(max(0, request.Get(keys.FROM_OUTPUT_PORT())))
        # A stream is decompressed as a whole: of several processes the first one has all.
        if asked.Has(keys.UPDATE_PIECE_NUMBER()) and asked.Get(keys.UPDATE_PIECE_NUMBER()) > 0:
            return 1
        time = asked.Get(keys.UPDATE_TIME_STEP()) if asked.Has(keys.UPDATE_TIME_STEP()) else 0.0
        number = int(np.clip(np.rint(time), 0, len(self._steps) - 1))
        file, stream, step = self._steps[number]
        u, v = factz.load(file, step=stream)

        image = vtkImageData.GetData(outInfo, 0)
        extent, origin, spacing = grid(step)
        image.SetExtent(extent)
        image.SetOrigin(origin)
        image.SetSpacing(spacing)
        array = numpy_to_vtk(vectors(u, v, step))
        array.SetName("velocity")
        image.GetPointData().SetVectors(array)
        outputs = [image]
        if self._with_points:
            outputs.append(vtkPolyData.GetData(outInfo, 1))
            add_points(outputs[1], *critical_points(u, v, step), step)
        for output in outputs:
            output.GetInformation().Set(vtkDataObject.DATA_TIME_STEP(), float(number))
        return 1
