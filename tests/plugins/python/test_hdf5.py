"""h5py writes and reads through the HDF5 filter after `import factz.hdf5` and nothing else."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np
from support import ROOT, VIOLATIONS, exact_counts, field

import factz.hdf5

NX, NY = 130, 90


class Datasets(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "field.h5")

    def written(self, data, chunks, **options):
        """Values of a dataset when the file is opened again."""
        with h5py.File(self.path, "w") as file:
            file.create_dataset("uv", data=data, chunks=chunks, **factz.hdf5.options(**options))
        with h5py.File(self.path, "r") as file:
            dataset = file["uv"]
            self.assertEqual(list(dataset._filters), [str(factz.hdf5.FILTER_ID)])
            self.assertLess(dataset.id.get_storage_size(), data.nbytes)
            return dataset[:]

    def test_fields_keep_the_guarantee(self):
        cases = []
        for dtype in ("f4", "f8"):
            u, v = field(NX, NY, dtype)
            planes, mixed = np.stack([u, v]), np.stack([u, v], -1)
            options = {"abs": 0.02, "mode": "speculative"}
            for chunks in ((2, NY, NX), (2, 32, 48)):
                cases.append(((u, v, *self.written(planes, chunks, **options)), {"bound": 0.02}))
            back = self.written(mixed, (32, 48, 2), **options)
            cases.append(((u, v, back[..., 0], back[..., 1]), {"bound": 0.02}))
        for counts in exact_counts(cases):
            self.assertEqual([counts[name] for name in VIOLATIONS], [0] * len(VIOLATIONS))

    def test_whole_fields_may_have_relative_bounds(self):
        u, v = field(NX, NY)
        steps = np.stack([[u, v], [2 * u, 2 * v]])
        back = self.written(steps, (1, 2, NY, NX), rel=1e-3, field=(NY, NX))
        for before, after in zip(steps, back):
            self.assertEqual(factz.compare(*before, *after, rel=1e-3).violations, 0)
            direct = factz.decompress(factz.compress(*before, rel=1e-3))
            np.testing.assert_array_equal(after, direct)

    def test_chunks_that_were_compressed_before(self):
        """As a solver that compresses on a GPU writes them: the chunk is the compressed data."""
        u, v = field(NX, NY)
        data = factz.compress(u, v, abs=0.01)
        with h5py.File(self.path, "w") as file:
            options = factz.hdf5.options(abs=0.01, field=(NY, NX))
            dataset = file.create_dataset("uv", (3, 2, NY, NX), "f4", chunks=(1, 2, NY, NX), **options)
            dataset.id.write_direct_chunk((1, 0, 0, 0), data)
        with h5py.File(self.path, "r") as file:
            np.testing.assert_array_equal(file["uv"][1], factz.decompress(data))
            self.assertEqual(file["uv"].id.read_direct_chunk((1, 0, 0, 0))[1], data)

    def test_components_are_datasets_of_their_own(self):
        steps = [np.array(field(NX, NY)) * (1 + step) for step in range(3)]
        halves = [factz.compress(*step, abs=0.01, separate=True) for step in steps]
        with h5py.File(self.path, "w") as file:
            for name, chunks in zip("uv", zip(*halves)):
                options = factz.hdf5.component_options(chunks[0], field=(NY, NX))
                dataset = file.create_dataset(name, (4, NY, NX), "f4", chunks=(1, NY, NX), **options)
                for step, chunk in enumerate(chunks):
                    dataset.id.write_direct_chunk((step, 0, 0), chunk)
        with h5py.File(self.path, "r+") as file:
            for step, (u, v) in enumerate(steps):
                back = [file[name][step] for name in "uv"]
                self.assertEqual(factz.compare(u, v, *back, abs=0.01).violations, 0)
            # What is written through the filter is exact.
            file["v"][3] = file["v"][2] + 1
            values = file["v"][3]
        with h5py.File(self.path, "r+") as file:
            np.testing.assert_array_equal(file["v"][3], values)
            self.assertEqual(factz.inspect(file["v"].id.read_direct_chunk((3, 0, 0))[1]).component, "v")
            file["u"].id.write_direct_chunk((3, 0, 0), halves[0][1])
            with self.assertRaises(OSError):
                file["u"][3]

    def test_a_process_that_only_appends_compresses(self):
        u, v = field(NX, NY)
        uv = np.stack([u, v])
        with h5py.File(self.path, "w") as file:
            file.create_dataset("uv", data=uv[None], maxshape=(None, 2, NY, NX), chunks=(1, 2, NY, NX),
                                **factz.hdf5.options(abs=0.01))
        append = (
            "import h5py, factz.hdf5\nwith h5py.File(%r, 'r+') as file:\n    file['uv'].resize(2, axis=0)\n"
            "    file['uv'][1] = file['uv'].shape[0]" % self.path
        )
        subprocess.run([sys.executable, "-B", "-c", append], check=True)
        with h5py.File(self.path) as file:
            self.assertEqual(file["uv"].id.get_chunk_info(1).filter_mask, 0)
            self.assertEqual(sum(factz.hdf5.stored(file["uv"]).values()), 2)
            self.assertEqual(factz.hdf5.stored(file["uv"])["plain"], 0)

    def test_parts_are_written_with_a_large_cache_or_without(self):
        u, v = (np.tile(c, (6, 6)) for c in field(NX, NY))
        uv = np.stack([u, v])
        wanted = factz.hdf5.file_options(uv.shape, count=2)
        self.assertEqual(factz.hdf5.file_options(uv.shape, count=1000), {"rdcc_nbytes": 1000 * uv.nbytes})
        self.assertEqual(factz.hdf5.file_options((2, 3, 4)), {})
        self.assertEqual(factz.hdf5.file_options(uv.shape, 8, 1000), {"rdcc_nbytes": 2000 * uv.nbytes})
        for cache in (wanted, {"rdcc_nbytes": 2**19}):
            with h5py.File(self.path, "w", **cache) as file:
                options = factz.hdf5.options(abs=0.02, field=u.shape)
                dataset = file.create_dataset("uv", uv.shape, "f4", chunks=uv.shape, **options)
                for k in range(2):
                    for y in range(0, 6 * NY, NY):
                        dataset[k, y : y + NY] = uv[k, y : y + NY]
            with h5py.File(self.path) as file:
                self.assertEqual(factz.compare(u, v, *file["uv"][:], abs=0.02).violations, 0)
                self.assertEqual(factz.hdf5.stored(file["uv"])["compressed"], 1)
        for wrong, kind in (((0, 3), ValueError), ((2.5, 3), TypeError)):
            with self.assertRaisesRegex(kind, r"chunks\[0\]"):
                factz.hdf5.file_options(wrong)

    def test_chunks_are_counted_by_how_they_are_stored(self):
        # Not the field of other tests: what is exact in a copy counts as decompressed, too.
        u, v = (np.float32(1.5) * c for c in field(NX, NY))
        uv = np.stack([u, v])

        def stored(path, data, **options):
            with h5py.File(path, "w") as file:
                dataset = file.create_dataset("uv", data=data, chunks=data.shape, fletcher32=True, **options)
                return {name: n for name, n in factz.hdf5.stored(dataset).items() if n}

        options = factz.hdf5.options(abs=0.02)
        self.assertEqual(stored(self.path, uv, **options), {"compressed": 1})
        self.assertEqual(stored(self.path, np.stack([u, np.zeros_like(v)]), **options), {"exact": 1})
        self.assertEqual(stored(self.path, uv, **factz.hdf5.options(abs=0)), {"exact": 1})
        wide = uv.copy()
        wide[:, 0, :20] = 1e20
        relative = factz.hdf5.options(rel=0.01, field=(NY, NX))
        self.assertEqual(stored(self.path, wide, **relative), {"exact": 1})
        allowed = factz.hdf5.options(rel=0.01, field=(NY, NX), allow_wide_range=True)
        self.assertEqual(stored(self.path, wide, **allowed), {"compressed": 1})
        self.assertEqual(stored(self.path, uv, **options), {"compressed": 1})
        with h5py.File(self.path) as file:
            back = file["uv"][:]
        # The filter has the originals for the same options; for others the decompressed values are the data.
        for again, how in ((options, "compressed"), (factz.hdf5.options(abs=0.01), "again")):
            self.assertEqual(stored(self.path, back, **again), {how: 1})
            with h5py.File(self.path) as file:
                np.testing.assert_array_equal(file["uv"][:], back)
        with h5py.File(self.path, "w") as file:
            dataset = file.create_dataset("uv", data=uv, chunks=uv.shape, compression="gzip")
            with self.assertRaisesRegex(ValueError, r"/uv has the filters \[1\]"):
                factz.hdf5.stored(dataset)
        with self.assertRaisesRegex(ValueError, "allow_wide_range=True is for rel="):
            factz.hdf5.options(abs=1, allow_wide_range=True)

    def test_what_the_filter_refuses(self):
        options = factz.hdf5.options(abs=0.01)
        with h5py.File(self.path, "w") as file:
            for part, shape, dtype, chunks in (
                ("integers", (2, 64, 64), "i4", (2, 64, 64)),
                ("axes", (64, 64), "f4", (64, 64)),
                ("with both components", (2, 64, 64), "f4", (1, 64, 64)),
            ):
                with self.assertRaisesRegex(ValueError, part):
                    file.create_dataset(part, shape, dtype, chunks=chunks, **options)
            for size, maxshape in (((64, 63), None), ((64, 64), (2, None, 64))):
                with self.assertRaisesRegex(ValueError, "a field is said to have"):
                    file.create_dataset("field", (2, 64, 64), "f4", chunks=(2, 64, 64), maxshape=maxshape,
                                        **factz.hdf5.options(abs=0.01, field=size))
            relative = factz.hdf5.options(rel=0.01)
            with self.assertRaisesRegex(ValueError, "relative bound"):
                file.create_dataset("rel", (2, 64, 64), "f4", chunks=(2, 32, 32), **relative)
        for options in ({}, {"abs": 1, "rel": 1}, {"abs": -1}, {"abs": 1, "mode": "best"}):
            with self.assertRaises(ValueError):
                factz.hdf5.options(**options)
        for size, kind, part in (
            ((181.9, 360.2), TypeError, r"field\[0\]=181.9 is no integer"),
            ((0, 360), ValueError, r"field\[0\]=0 is not between 1 and 4294967295"),
            ((181, -1), ValueError, r"field\[1\]=-1 is not between"),
            ((2**32, 360), ValueError, r"field\[0\]=4294967296 is not between"),
            ((2, 181, 360), ValueError, r"field=\(2, 181, 360\) must be \(ny, nx\)"),
            (360, ValueError, r"field=360 must be \(ny, nx\)"),
        ):
            with self.assertRaisesRegex(kind, part):
                factz.hdf5.options(abs=1, field=size)

    def test_the_size_of_the_field_goes_with_the_configuration(self):
        header = (ROOT / "plugins/hdf5/chunk.h").read_text()
        words = factz.hdf5.options(abs=1, field=(np.int64(181), 360))["compression_opts"]
        self.assertEqual(words[-2:], (360, 181))
        self.assertIn("#define WORDS_VERSION %d\n" % words[-3], header)
        wide = factz.hdf5.options(rel=1, field=(181, 360), allow_wide_range=True)["compression_opts"]
        self.assertIn("#define ALLOW_WIDE_RANGE %du\n" % (wide[-3] - words[-3]), header)


class Readme(unittest.TestCase):
    def test_the_examples_run(self):
        blocks = re.findall(
            "```python\n(.*?)```", (ROOT / "plugins/python/README.md").read_text(), re.DOTALL
        )
        # test_zarr_page.py runs that of Zarr.
        on_host = [block for block in blocks if "du" not in block and "factz.zarr" not in block]
        self.assertEqual(len(on_host), 5)
        with tempfile.TemporaryDirectory() as folder:
            code = "\n".join(["import os", "os.chdir(%r)" % folder] + on_host)
            exec(compile(code, "README.md", "exec"), {})


class Plugin(unittest.TestCase):
    def test_the_number_is_that_of_the_plugin(self):
        self.assertTrue(h5py.h5z.filter_avail(factz.hdf5.FILTER_ID))
        self.assertTrue(os.path.isfile(os.path.join(factz.hdf5.PLUGIN_FOLDER, "libh5zfactz.so")))
        header = (ROOT / "plugins/hdf5/filter_id.h").read_text()
        self.assertIn("#define FACTZ_HDF5_FILTER_ID %d\n" % factz.hdf5.FILTER_ID, header)

    def test_the_path_for_programs_that_do_not_import(self):
        def printed(**variables):
            environment = {k: v for k, v in os.environ.items() if k != "HDF5_PLUGIN_PATH"}
            command = [sys.executable, "-B", "-m", "factz.hdf5", "--path"]
            return subprocess.check_output(command, text=True, env=dict(environment, **variables)).strip()

        path = os.pathsep.join(["/other", factz.hdf5.PLUGIN_FOLDER, "/another"])
        self.assertEqual(printed(HDF5_PLUGIN_PATH=path).split(os.pathsep),
                         [factz.hdf5.PLUGIN_FOLDER, "/other", "/another"])
        # The wheel of netCDF4 has filters of its own, which the variable would hide.
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "netCDF4", "plugins"))
            with open(os.path.join(folder, "netCDF4", "__init__.py"), "w") as file:
                file.write("raise ImportError('it must not be imported')")
            code = "import factz.hdf5, os, sys; os.environ.pop('HDF5_PLUGIN_PATH', None); "
            code += "sys.path.insert(0, %r); print(factz.hdf5.plugin_path())" % folder
            told = subprocess.check_output([sys.executable, "-B", "-c", code], text=True).strip()
            self.assertEqual(told.split(os.pathsep),
                             [factz.hdf5.PLUGIN_FOLDER, os.path.join(folder, "netCDF4", "plugins")])

    def test_a_missing_plugin_is_an_import_error_with_advice(self):
        with tempfile.TemporaryDirectory() as empty:
            code = (
                "from pathlib import Path\nimport factz._library\n"
                "factz._library.HERE = Path(%r, 'a', 'b', 'c')\nimport factz.hdf5" % empty
            )
            environment = dict(os.environ, HDF5_PLUGIN_PATH=empty)
            found = subprocess.run(
                [sys.executable, "-B", "-c", code], stderr=subprocess.PIPE, text=True, env=environment
            )
        last = found.stderr.strip().splitlines()[-1]
        self.assertTrue(last.startswith("ImportError: the HDF5 filter libh5zfactz.so is in none of"), last)
        self.assertIn("HDF5_PLUGIN_PATH", last)

    def test_the_command_says_in_a_line_that_the_plugin_is_missing_or_damaged(self):
        for damaged in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                if damaged:
                    Path(folder, "libh5zfactz.so").write_text("no library")
                code = (
                    "from pathlib import Path\nimport factz._library, runpy, sys\n"
                    "factz._library.HERE = Path(%r, 'a', 'b', 'c')\nsys.argv[1:] = ['--path']\n"
                    "runpy.run_module('factz.hdf5', run_name='__main__')" % folder
                )
                command = [sys.executable, "-B", "-c", code]
                environment = dict(os.environ, HDF5_PLUGIN_PATH=folder)
                done = subprocess.run(command, capture_output=True, text=True, env=environment)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertRegex(done.stderr, r"^factz.hdf5: error: the HDF5 filter .*\n\Z")
            self.assertIn("cannot be loaded" if damaged else "is in none of", done.stderr)


if __name__ == "__main__":
    unittest.main()
