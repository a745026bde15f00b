"""The reader of ParaView: images and critical points of streams, time steps, stacks, and errors."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import paraview_modules
from support import field
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkInformation, vtkInformationVector, vtkObject
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOXML import vtkXMLPolyDataReader

import factz

reader_module = paraview_modules.load()

FIELD = field(40, 30)


def arrays(data):
    """The arrays of point data, or of the data of the whole, by name."""
    found = (data.GetAbstractArray(k) for k in range(data.GetNumberOfArrays()))
    return {array.GetName(): vtk_to_numpy(array) for array in found}


def places(data):
    return np.array([data.GetPoint(k) for k in range(data.GetNumberOfPoints())]).reshape(-1, 3)


class Reader(unittest.TestCase):
    """What the tests share."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, *streams, name="run.fz"):
        path = self.folder / name
        path.write_bytes(b"".join(streams))
        return str(path)

    def reader(self, *paths):
        reader = reader_module.FactzReader()
        for path in paths:
            reader.AddFileName(path)
        return reader

    def outputs(self, *paths, time=None):
        reader = self.reader(*paths)
        for port in range(2):
            self.update(reader, port, {} if time is None else {"UPDATE_TIME_STEP": time})
        return reader.GetOutputDataObject(0), reader.GetOutputDataObject(1)

    def update(self, reader, port, wanted):
        """Asks one output for a time step or a part, the other one for the first step and the whole."""
        requests = vtkInformationVector()
        for number in range(2):
            information = vtkInformation()
            for key, value in wanted.items() if number == port else ():
                information.Set(getattr(vtkStreamingDemandDrivenPipeline, key)(), value)
            requests.Append(information)
        self.assertTrue(reader.Update(port, requests))

    def fails(self, reader):
        """What an update says that fails."""
        said = io.StringIO()
        vtkObject.GlobalWarningDisplayOff()
        with contextlib.redirect_stderr(said):
            self.assertEqual(reader.GetExecutive().Update(0), 0)
        vtkObject.GlobalWarningDisplayOn()
        return said.getvalue()

    def check_image(self, image, u, v, dx=1.0, dy=1.0, fill=None):
        """Each vertex lies at its column times dx and its row times dy, and has its vector; those without
        data are NaN."""
        ny, nx = u.shape
        self.assertEqual(image.GetDimensions(), (nx, ny, 1))
        self.assertTrue(min(image.GetSpacing()) > 0)
        vectors = arrays(image.GetPointData())["velocity"]
        self.assertEqual((vectors.dtype, vectors.shape), (u.dtype, (nx * ny, 3)))
        self.assertEqual(image.GetPointData().GetVectors().GetName(), "velocity")
        missing = ~(np.isfinite(u) & np.isfinite(v)) | (u == fill) | (v == fill)
        self.assertTrue(missing.any() and not missing.all())
        for y, x in np.ndindex(ny, nx):
            point = image.FindPoint(x * dx, y * dy, 0.0)
            np.testing.assert_allclose(image.GetPoint(point), (x * dx, y * dy, 0), atol=1e-12)
            expected = (np.nan, np.nan, 0) if missing[y, x] else (u[y, x], v[y, x], 0)
            np.testing.assert_array_equal(vectors[point], np.array(expected, u.dtype))


class Pipeline(Reader):
    def test_field(self):
        for dtype in ("f4", "f8"):
            stream = factz.compress(*field(40, 30, dtype), abs=0.01)
            self.check_image(self.outputs(self.write(stream))[0], *factz.decompress(stream))

    def test_spacing(self):
        for dx, dy in ((0.5, 0.25), (1, -1), (-0.5, 2), (-2, -0.125)):
            stream = factz.compress(*FIELD, abs=0.01, dx=dx, dy=dy)
            u, v = factz.decompress(stream)
            image, points = self.outputs(self.write(stream))
            self.check_image(image, u, v, dx, dy)
            expected = factz.critical_points(u, v, dx=dx, dy=dy)
            self.assertGreater(len(expected), 10)
            found = places(points)
            np.testing.assert_allclose(found[:, 0], expected["x"], rtol=1e-6)
            np.testing.assert_allclose(found[:, 1], expected["y"], rtol=1e-6)
            low, high = np.array(image.GetBounds()).reshape(3, 2).T
            self.assertTrue(((low - 1e-9 <= found) & (found <= high + 1e-9)).all())

    def test_fill_value(self):
        u, v = field(40, 30)
        u[3:6, 4:9] = -999
        v[10, 10] = -999
        stream = factz.compress(u, v, abs=0.01, fill=-999)
        image, points = self.outputs(self.write(stream))
        decompressed = factz.decompress(stream)
        self.check_image(image, *decompressed, fill=-999)
        expected = factz.critical_points(*decompressed, fill=-999)
        self.assertEqual(points.GetNumberOfPoints(), len(expected))
        self.assertNotEqual(len(expected), len(factz.critical_points(*decompressed)))

    def test_points_are_those_of_the_command_line(self):
        """Every array of the file that `factz points` writes, with its type and values."""
        path = self.write(factz.compress(*FIELD, abs=0.01, dy=-0.5))
        listed = str(self.folder / "points.vtp")
        program = os.environ.get("FACTZ_PROGRAM", "factz")
        subprocess.run([program, "points", path, "-o", listed], check=True, capture_output=True)
        file = vtkXMLPolyDataReader()
        file.SetFileName(listed)
        file.Update()
        expected, (_, found) = file.GetOutput(), self.outputs(path)
        self.assertGreater(expected.GetNumberOfPoints(), 10)
        np.testing.assert_allclose(places(found), places(expected))
        for part in ("GetPointData", "GetFieldData"):
            one, other = (arrays(getattr(data, part)()) for data in (found, expected))
            self.assertEqual(sorted(one), sorted(other))
            for name in one:
                self.assertEqual(one[name].dtype, other[name].dtype, name)
                np.testing.assert_array_equal(one[name], other[name], name)
        self.assertEqual(found.GetPointData().GetScalars().GetName(), "point_type")
        self.assertEqual(found.GetNumberOfVerts(), found.GetNumberOfPoints())
        for cell in range(found.GetNumberOfCells()):
            self.assertEqual(found.GetCell(cell).GetPointId(0), cell)

    def test_time_steps(self):
        streams = [factz.compress(FIELD[0] + k, FIELD[1], abs=0.01) for k in range(4)]
        whole, first, rest = (
            self.write(*streams[part], name=name)
            for part, name in ((slice(4), "all.fz"), (slice(1), "a.fz"), (slice(1, 4), "b.fz"))
        )
        for paths in ([whole], [first, rest]):
            for time, step in ((0, 0), (2, 2), (3, 3), (1.2, 1), (9, 3), (-1, 0)):
                image, points = self.outputs(*paths, time=time)
                u, v = factz.decompress(streams[step])
                expected = np.where(np.isfinite(u + v), u, np.nan).ravel()
                found = arrays(image.GetPointData())["velocity"][:, 0]
                np.testing.assert_array_equal(found, expected)
                self.assertEqual(points.GetNumberOfPoints(), len(factz.critical_points(u, v)))
                for output in (image, points):
                    self.assertEqual(output.GetInformation().Get(output.DATA_TIME_STEP()), step)
            reader = self.reader(*paths)
            reader.UpdateInformation()
            self.assertEqual(list(reader.GetTimestepValues()), [0, 1, 2, 3])
            for port in range(2):
                information = reader.GetOutputInformation(port)
                keys = vtkStreamingDemandDrivenPipeline
                self.assertEqual(information.Get(keys.TIME_STEPS()), (0, 1, 2, 3))
                self.assertEqual(information.Get(keys.TIME_RANGE()), (0, 3))
            reader.RemoveAllFileNames()
            reader.AddFileName(first)
            reader.UpdateInformation()
            self.assertFalse(reader.GetOutputInformation(0).Has(keys.TIME_STEPS()))

    def test_a_stack(self):
        """What decompress returns for planes one above the other is an image with as many slices."""
        planes = [field(20, 17), field(20, 17, "f4")[::-1], field(20, 17)]
        u, v = (np.stack([plane[k] for plane in planes]) for k in range(2))
        stream = factz.compress(u, v, abs=0.01, dx=0.5, dy=-1)
        u, v = factz.decompress(stream)
        image, points = self.outputs(self.write(stream))
        self.assertEqual(image.GetDimensions(), (20, 17, 3))
        vectors = arrays(image.GetPointData())["velocity"].reshape(3, 17, 20, 3)
        finite = np.isfinite(u) & np.isfinite(v)
        np.testing.assert_array_equal(vectors[:, ::-1, :, 0], np.where(finite, u, np.nan))
        np.testing.assert_array_equal(vectors[:, ::-1, :, 1], np.where(finite, v, np.nan))
        each = [factz.critical_points(*plane, dx=0.5, dy=-1) for plane in zip(u, v)]
        numbers = np.repeat(range(3), [len(points) for points in each])
        np.testing.assert_array_equal(arrays(points.GetPointData())["cell"][:, 2], numbers)
        np.testing.assert_array_equal(places(points)[:, 2], numbers)
        np.testing.assert_allclose(places(points)[:, 0], np.concatenate(each)["x"], rtol=1e-6)
        np.testing.assert_array_equal(arrays(points.GetFieldData())["dims"], (20, 17, 3))

    def test_without_points(self):
        path = self.write(factz.compress(*FIELD, abs=0.01))
        reader = self.reader(path)
        reader.SetCriticalPoints(0)
        reader.Update()
        self.assertEqual(reader.GetOutputDataObject(0).GetNumberOfPoints(), 1200)
        self.assertEqual(reader.GetOutputDataObject(1).GetNumberOfPoints(), 0)
        reader.SetCriticalPoints(1)
        reader.Update()
        self.assertGreater(reader.GetOutputDataObject(1).GetNumberOfPoints(), 10)

    def test_a_field_without_points(self):
        u = np.ones((5, 6), "f4")
        image, points = self.outputs(self.write(factz.compress(u, u, abs=0)))
        self.assertEqual((image.GetNumberOfPoints(), points.GetNumberOfPoints()), (30, 0))

    def test_processes(self):
        """Of several processes the first one has the whole."""
        path = self.write(factz.compress(*FIELD, abs=0.01))
        for piece in range(3):
            for port in range(2):
                reader = self.reader(path)
                wanted = {"UPDATE_PIECE_NUMBER": piece, "UPDATE_NUMBER_OF_PIECES": 3}
                self.update(reader, port, dict(wanted, UPDATE_NUMBER_OF_GHOST_LEVELS=0))
                found = reader.GetOutputDataObject(port).GetNumberOfPoints()
                self.assertEqual(found > 10, piece == 0, (piece, port))

    def test_errors(self):
        self.assertIn("FileNames is empty: give at least one file", self.fails(self.reader()))
        self.assertIn("nowhere.fz", self.fails(self.reader("nowhere.fz")))
        stream = factz.compress(*FIELD, abs=0.01)
        other = factz.compress(*field(8, 8), abs=0.01)
        said = self.fails(self.reader(self.write(stream, other)))
        self.assertIn("stream 1 has the shape (8, 8)", said)
        self.assertIn("time steps have one shape", said)
        said = self.fails(self.reader(self.write(stream, stream[:-4])))
        self.assertIn("stream 1, which begins at byte %d" % len(stream), said)
        odd = bytearray(stream)
        odd[-8] ^= 1
        self.assertIn("checksum", self.fails(self.reader(self.write(bytes(odd)))))


class WithoutParaView(Reader):
    def test_where_the_package_is(self):
        """Without a package on the path the reader takes that of its installation, or says what to do."""
        copy = self.folder / "share/factz/paraview/FactzReader.py"
        copy.parent.mkdir(parents=True)
        copy.write_bytes(paraview_modules.READER.read_bytes())
        script = "import sys, paraview_modules; print(paraview_modules.load(sys.argv[1]).factz.__file__)"
        command = [sys.executable, "-B", "-c", script, str(copy)]
        environment = dict(os.environ, PYTHONPATH=str(Path(__file__).parent))

        def run():
            return subprocess.run(command, env=environment, capture_output=True, text=True)

        missing = run()
        self.assertIn("set PYTHONPATH to PREFIX/lib/python3/site-packages", missing.stderr)
        self.assertNotEqual(missing.returncode, 0)
        for place in ("lib/x86_64-linux-gnu", "lib64", "lib"):
            package = self.folder / place / "python3/site-packages/factz/__init__.py"
            package.parent.mkdir(parents=True)
            package.write_text("")
            self.assertEqual(run().stdout.strip(), str(package))
            package.unlink()


class InParaView(Reader):
    def test_in_paraview(self):
        """ParaView loads the plugin, chooses it by the name of the file and animates it."""
        from paraview import simple

        streams = [factz.compress(FIELD[0] + k, FIELD[1], abs=0.01) for k in range(3)]
        simple.LoadPlugin(str(paraview_modules.READER), remote=False, ns=globals())
        opened = simple.OpenDataFile(self.write(*streams, name="run.fctz"))
        self.assertEqual(list(opened.TimestepValues), [0, 1, 2])
        opened.UpdatePipeline(2.0)
        u, v = factz.decompress(streams[2])
        information = opened.PointData["velocity"]
        self.assertEqual(information.GetNumberOfComponents(), 3)
        finite = u[np.isfinite(u) & np.isfinite(v)]
        np.testing.assert_allclose(information.GetRange(0), (finite.min(), finite.max()), rtol=1e-6)
        kinds = arrays(simple.servermanager.Fetch(opened, idx=1).GetPointData())["point_type"]
        np.testing.assert_array_equal(kinds, factz.critical_points(u, v)["point_type"])
        opened.CriticalPoints = 0
        opened.UpdatePipeline(2.0)
        self.assertEqual(simple.servermanager.Fetch(opened, idx=1).GetNumberOfPoints(), 0)


def load_tests(loader, tests, pattern):
    chosen = [Pipeline, InParaView if paraview_modules.HAS_PARAVIEW else WithoutParaView]
    return unittest.TestSuite(loader.loadTestsFromTestCase(kind) for kind in chosen)


if __name__ == "__main__":
    unittest.main()
