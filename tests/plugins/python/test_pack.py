"""factz.pack and factz.unpack: files with everything that netCDF-4 has, made and read with h5py."""

import os
import signal
import subprocess
import sys
import unittest

import h5py
import numpy as np
from netcdf_files import AXES, FILL, NAMES, NX, NY, Writer, archive, grid, series, structure, wind
from pack_folder import BOUND, Folder, contents, read, simple

import factz.hdf5
from factz.pack import PackError, append, pack, unpack
from factz.pack.command import main


class Files(Folder):
    def test_everything_else_is_copied(self):
        archive("in.nc")
        done = pack("in.nc", "out.nc", abs=BOUND)
        self.assertEqual((done[0].names, done[0].raw_bytes), (("u10", "v10"), 2 * 4 * 4 * NX * NY))
        before, after = structure("in.nc"), structure("out.nc", without=["/factz"])
        self.assertEqual(list(before), list(after))
        for path in before:
            if path not in ("/u10", "/v10"):
                self.assertEqual(before[path], after[path], path)
        with h5py.File("out.nc") as new:
            for name in ("u10", "v10"):
                self.assertTrue(new[name].is_virtual)
                self.assertEqual(new[name].attrs["factz_pair"], b"u10 v10")
                self.assertEqual(new[name].attrs["factz_abs_error"], BOUND)
            # Attributes are those that there were, and two more.
            self.assertEqual(
                after["/u10"][-2][:-1] + after["/u10"][-2][-1:],
                before["/u10"][-2][:-1] + [after["/u10"][-2][-2]] + before["/u10"][-2][-1:],
            )
            self.assertEqual(factz.hdf5.stored(new["factz/u10_v10"])["compressed"], 4)
            self.assertEqual(new["factz/u10_v10"].id.get_storage_size(), done[0].stored_bytes)
            ids = []
            new.visititems(lambda _, item: ids.extend(np.ravel(item.attrs.get("_Netcdf4Dimid", []))))
            self.assertEqual(sorted(ids), list(range(len(ids))))

    def test_every_field_keeps_its_points_and_missing_data(self):
        archive("in.nc", steps=3)
        pack("in.nc", "out.nc", abs=BOUND, mode="speculative")
        before, after = read("in.nc", "u10", "v10"), read("out.nc", "u10", "v10")
        self.assert_kept(before, after, fill=float(FILL))
        for a, b in zip(before, after):
            odd = ~np.isfinite(a) | (a == FILL)
            self.assertEqual(a[odd].tobytes(), b[odd].tobytes())
            self.assertFalse(np.array_equal(a[~odd], b[~odd]))
        [joint] = read("out.nc", "factz/u10_v10")
        self.assertEqual(joint.tobytes(), np.stack(after, 2).tobytes())

    def test_unpack_gives_the_file_back(self):
        archive("in.nc")
        pack("in.nc", "out.nc", abs=BOUND)
        unpack("out.nc", "plain.nc")
        before, after = structure("in.nc"), structure("plain.nc")
        for name in ("/u10", "/v10"):
            self.assertEqual(before[name].pop()[:2], after[name].pop()[:2])
        self.assertEqual(before, after)
        for a, b in zip(read("out.nc", "u10", "v10"), read("plain.nc", "u10", "v10")):
            self.assertEqual(a.tobytes(), b.tobytes())
        lines = []
        pack("plain.nc", "again.nc", abs=BOUND, say=lines.append)
        self.assertIn("have an error of up to 0.05 by an earlier compression", "\n".join(lines))

    def test_pairs_are_found_and_named(self):
        with Writer("in.nc") as file:
            grid(file)
            u, v = series(2)
            file.variable("speed", AXES, u)
            file.variable("ua", AXES, u, FILL, attributes={"standard_name": NAMES[0]})
            file.variable("va", AXES, v, FILL, attributes={"standard_name": NAMES[1]})
            file.file.create_group("ocean", track_order=True)
            for name, values, axis in (("ocean/uo", u, "x"), ("ocean/vo", v, "y")):
                file.variable(
                    name,
                    AXES[2:],
                    values[0, 0],
                    FILL,
                    attributes={"standard_name": "sea_water_%s_velocity" % axis},
                )
        self.assertEqual(
            [one.names for one in pack("in.nc", "out.nc", abs=BOUND)],
            [("ocean/uo", "ocean/vo"), ("ua", "va")],
        )
        self.assertEqual(set(h5py.File("out.nc")["ocean"]), {"uo", "vo", "factz"})
        self.assert_kept(
            read("in.nc", "ocean/uo", "ocean/vo"), read("out.nc", "ocean/uo", "ocean/vo"), fill=float(FILL)
        )
        self.assertEqual(
            main(
                ["in.nc", "two.nc", "--pair", "ua,va", "--pair", "ocean/uo,ocean/vo", "--abs", "0.05", "-q"]
            ),
            0,
        )
        self.assertEqual(structure("two.nc")["/ocean/uo"], structure("out.nc")["/ocean/uo"])
        unpack("out.nc", "plain.nc")
        self.assertEqual(list(structure("plain.nc")), list(structure("in.nc")))

    def test_all_shapes_and_types(self):
        u, v = wind(0, dtype="f8")
        for shape, axes in (
            ((NY, NX), AXES[2:]),
            ((2, NY, NX), ("time",) + AXES[2:]),
            ((2, 2, NY, NX), AXES),
        ):
            for kind in ("<f4", ">f4", "<f8", ">f8"):
                data = [np.broadcast_to(c, shape).astype(kind) for c in (u, v)]
                simple(data=data, axes=axes, fill=None)
                pack("in.nc", "out.nc", abs=BOUND, force=True)
                after = read("out.nc", "u10", "v10")
                self.assertEqual((after[0].dtype.str, after[0].shape), (kind, shape))
                self.assert_kept(
                    *([c.reshape(-1, NY, NX).astype(kind[1:]) for c in pair] for pair in (data, after))
                )

    def test_chunks_smaller_than_fields(self):
        simple()
        pack("in.nc", "out.nc", abs=BOUND, chunk=(8, 16))
        self.assertEqual(h5py.File("out.nc")["factz/u10_v10"].chunks, (1, 1, 2, 8, 16))
        self.assert_kept(read("in.nc", "u10", "v10"), read("out.nc", "u10", "v10"), fill=float(FILL))


class Refusals(Folder):
    def test_variables_that_are_no_pair(self):
        u, v = series(2)
        with Writer("in.nc") as file:
            grid(file)
            file.variable("u", AXES, u, attributes={"standard_name": NAMES[0]})
            file.variable("v", AXES, v, attributes={"standard_name": NAMES[1]})
            file.variable("v2", AXES, v, attributes={"standard_name": NAMES[1]})
            file.variable("double", AXES, v.astype("f8"))
            file.variable("short", AXES[1:], v[0])
            file.variable("half", AXES, np.zeros_like(v, "f2"))
            file.variable("line", ("lat",), v[0, 0, :, 0])
            file.dimension("lat_v", NY)
            file.variable("staggered", ("time", "level", "lat_v", "lon"), v)
            file.file.create_group("other")
            file.variable("other/v", AXES, v)
            file.file["text"] = "text"
        for names, parts in (
            (("u", "w"), ("has no variable w", "u, v")),
            (("u", "other"), ("other is no variable",)),
            (("u", "u"), ("one variable",)),
            (("u", "double"), ("u has values of type float32 and double of type float64",)),
            (("u", "short"), ("(2, 2, 19, 36) and short the shape (2, 19, 36)",)),
            (
                ("u", "staggered"),
                ("the axes time, level, lat, lon and staggered the axes", "staggered grids"),
            ),
            (("u", "other/v"), ("in different groups",)),
            (("half", "half2"), ("no variable half2",)),
        ):
            self.refused(*parts, pairs=[names], abs=1)
        with h5py.File("in.nc", "r+") as file:
            file["half2"], file["line2"], file["text2"] = file["half"][...], file["line"][...], "text"
            for name in ("half2", "line2"):
                for axis, scale in enumerate(s[0] for s in file[name[:-1]].dims):
                    file[name].dims[axis].attach_scale(scale)
        for names, part in (
            (("half", "half2"), "float16"),
            (("line", "line2"), "one axis, and a field has two"),
            (("text", "text2"), "has values of type object"),
        ):
            self.refused(part, pairs=[names], abs=1)
        self.refused("/v is in two pairs", pairs=[("u", "v"), ("v2", "v")], abs=1)
        self.refused("do not tell which belong together", "--pair u,v", abs=1)
        with Writer("in.nc") as file:
            grid(file)
            file.variable("temperature", AXES, u)
        self.refused("no --pair is given", "the file has temperature", abs=1)

    def test_two_columns(self):
        for shape in ((2, 2), (1, 2), (3, 19, 2)):
            with Writer("in.nc") as file:
                for axis, length in enumerate(shape):
                    file.dimension("d%d" % axis, length)
                axes = ["d%d" % axis for axis in range(len(shape))]
                for name in "uv":
                    file.variable(name, axes, np.ones(shape, "f4"))
            for layout in ("virtual", "separate"):
                parts = "u, v have the shape %s" % (shape,), "no fields of 2 columns: leave them out"
                self.refused(*parts, pairs=[("u", "v")], abs=1, layout=layout)
        simple()
        self.refused("no chunks of 2 columns: give --chunk", abs=1, chunk=(4, 2))
        pack("in.nc", "out.nc", abs=BOUND, chunk=(2, 4))

    def test_axes_that_grow(self):
        with Writer("in.nc") as file:
            file.dimension("time", 2, unlimited=True)
            file.dimension("lat", NY, unlimited=True)
            file.dimension("lon", NX)
            for name, data in zip(("u", "v"), series(2)):
                file.variable(name, ("time", "lat", "lon"), data[:, 0])
        self.refused("/u: its axis lat can grow", "nccopy -u", pairs=[("u", "v")], abs=1)

    def test_files(self):
        simple()
        for name, data in (("classic.nc", b"CDF\x01" + bytes(100)), ("text.nc", b"text" * 100)):
            with open(name, "wb") as file:
                file.write(data)
        with self.assertRaisesRegex(PackError, "classic netCDF format.*nccopy -k nc4 classic.nc"):
            pack("classic.nc", "out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "text.nc is no netCDF-4 or HDF5 file"):
            pack("text.nc", "out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "none.nc: there is no such file"):
            pack("none.nc", "out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "in.nc is input and output"):
            pack("in.nc", "./in.nc", abs=1, force=True)
        with self.assertRaisesRegex(PackError, "there is no folder .*/no: make it"):
            pack("in.nc", "no/out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "/proc/out.nc cannot be written: the folder /proc takes no new"):
            pack("in.nc", "/proc/out.nc", abs=1)
        with self.assertRaisesRegex(PackError, "in.nc is no file of factz.pack"):
            unpack("in.nc", "out.nc")
        pack("in.nc", "out.nc", abs=BOUND)
        with self.assertRaisesRegex(PackError, "out.nc exists: .*--force"):
            pack("in.nc", "out.nc", abs=BOUND)
        with self.assertRaisesRegex(PackError, "out.nc is packed: u10.*factz.unpack"):
            pack("out.nc", "twice.nc", abs=BOUND)
        with self.assertRaisesRegex(PackError, "v10,u10: v10 is the northward_wind, which is v"):
            pack("in.nc", "new.nc", pairs=[("v10", "u10")], abs=BOUND)
        with h5py.File("in.nc", "r+") as file:
            file.create_group("factz")
        with self.assertRaisesRegex(PackError, "in.nc has /factz already"):
            pack("in.nc", "new.nc", abs=BOUND)

    def test_references_in_other_values(self):
        simple()
        with h5py.File("in.nc", "r+") as file:
            kind = np.dtype([("n", "i4"), ("to", h5py.ref_dtype)])
            file.create_dataset("odd", (1,), kind)
        self.refused("/odd holds references within other values", abs=1)


class Commands(Folder):
    def run_command(self, *arguments, module="pack", **environment):
        command = [sys.executable, "-B", "-m", "factz." + module, *arguments]
        done = subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ, **environment),
        )
        return done.returncode, done.stdout, done.stderr

    def test_as_users_call_it(self):
        archive("in.nc")
        code, out, err = self.run_command(
            "in.nc", "out.nc", "--pair", "u10,v10", "--abs", "0.05", "--mode", "speculative"
        )
        self.assertEqual((code, err), (0, ""))
        for part in ("u10, v10: 2 x 2 x 19 x 36 of float32, bound 0.05", "rows: lat from 90 to -90", "to 1"):
            self.assertIn(part, out)
        pack("in.nc", "same.nc", [("u10", "v10")], abs=0.05, mode="speculative")
        self.assertEqual(structure("out.nc"), structure("same.nc"))
        self.assertEqual(self.run_command("out.nc", "plain.nc", "-q", module="unpack"), (0, "", ""))
        unpack("out.nc", "same_plain.nc")
        self.assertEqual(structure("plain.nc"), structure("same_plain.nc"))

    def test_errors_are_one_line(self):
        simple()
        for arguments, part in (
            (("in.nc", "out.nc"), "a bound is missing: give --abs E"),
            (("in.nc", "out.nc", "--abs", "1", "--rel", "1"), "not allowed with"),
            (("in.nc", "out.nc", "--abs", "1", "--pair", "u10"), "'u10': give two names"),
            (("in.nc", "out.nc", "--abs", "1", "--pair", "u10,w"), "has no variable w"),
            (("in.nc", "out.nc", "--abs", "1", "--spacing", "1"), "'1': give DX,DY"),
            (("in.nc", "out.nc", "--abs", "1", "--spacing", "1,-1", "--north-first"), "leave one out"),
            (("in.nc", "out.nc", "--abs", "1", "--chunk", "5"), "give columns x rows"),
            (("in.nc", "out.nc", "--append", "--abs", "1"), "--abs with --append"),
            (("in.nc", "in.nc", "--abs", "1"), "in.nc is input and output"),
            (("in.nc", "out.nc", "--append"), "out.nc"),
        ):
            code, out, err = self.run_command(*arguments)
            self.assertEqual((code, out), (2, ""), arguments)
            self.assertIn(part, err.strip().splitlines()[-1])
        self.assertEqual(os.listdir("."), ["in.nc"])
        code, out, err = self.run_command("in.nc", "out.nc", "--abs", "1", HDF5_PLUGIN_PATH="/nowhere")
        if "site-packages" not in factz.__file__:
            self.assertEqual(code, 2)
            self.assertIn("the HDF5 filter libh5zfactz.so is in none of", err)
            self.assertEqual(err.count("\n"), 1)

    def test_help_names_everything(self):
        code, out, _ = self.run_command("--help", COLUMNS="112")
        self.assertEqual(code, 0)
        for part in (
            "--pair U,V",
            "--append",
            "--north-first",
            "Exit status:",
            "Examples:",
            "HDF5_PLUGIN_PATH",
        ):
            self.assertIn(part, out)
        self.assertLessEqual(max(map(len, out.splitlines())), 110)
        self.assertIn("plain.nc", self.run_command("--help", module="unpack")[1])

    def interrupted(self, number, code, work="time.sleep(60)"):
        """Interrupts the command while it writes."""
        script = (
            "import os, sys, time, weakref\nfrom factz.pack import converter\nfrom factz.pack.command import main\n"
            "def write(*_):\n    print('writing', flush=True)\n    %s\n"
            "converter.write = write\nsys.exit(main(['in.nc', 'out.nc', '--abs', '1', '--force']))" % work
        )
        process = subprocess.Popen(
            [sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for line in process.stdout:
            if line == "writing\n":
                break
        # A program that kills itself may have removed its file by now.
        if "kill" not in work:
            self.assertEqual(len([name for name in os.listdir(".") if name.endswith(".partial")]), 1)
            process.send_signal(number)
        out, err = process.communicate()
        self.assertEqual((process.returncode, err), (code, ""))

    def test_an_interrupt_leaves_no_file(self):
        simple()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            self.interrupted(number, code)
            self.assertEqual(os.listdir("."), ["in.nc"])
        with open("out.nc", "w") as file:
            file.write("older")
        self.interrupted(signal.SIGTERM, 143)
        self.assertEqual(sorted(os.listdir(".")), ["in.nc", "out.nc"])
        self.assertEqual(contents("out.nc"), b"older")

    def test_an_interrupt_within_a_callback_counts(self):
        # Python ignores what a callback of a weak reference raises.
        simple()
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            kill = "os.kill(os.getpid(), %d), time.sleep(0.01)" % number
            self.interrupted(number, code, "dropped = weakref.ref(set(), lambda _: (%s))" % kill)
            self.assertEqual(os.listdir("."), ["in.nc"])

    def test_long_work_tells_its_progress(self):
        code = (
            "from factz.pack import progress\nprogress._LOG = 0\np = progress.Progress('u, v', 3)\n"
            "p.start -= 7200\np.step()\np.step(2)\np.end()"
        )
        told = subprocess.run([sys.executable, "-B", "-c", code], stderr=subprocess.PIPE, text=True).stderr
        self.assertEqual(told, "u, v: 1 of 3 fields, 4:00:00 left\nu, v: 3 of 3 fields, 0:00 left\n")

    def test_a_replaced_file_hands_down_its_permissions(self):
        simple()
        pack("in.nc", "out.nc", abs=1)
        self.assertEqual(os.stat("out.nc").st_mode, os.stat("in.nc").st_mode)
        os.chmod("out.nc", 0o600)
        os.symlink("out.nc", "link.nc")
        pack("in.nc", "link.nc", abs=1, force=True)
        self.assertTrue(os.path.islink("link.nc"))
        self.assertEqual(os.stat("out.nc").st_mode & 0o777, 0o600)


class Appending(Folder):
    def test_steps_are_added_to_all_variables(self):
        archive("in.nc")
        archive("more.nc", steps=3, first=12)
        pack("in.nc", "out.nc", abs=BOUND)
        append("more.nc", "out.nc")
        archive("all.nc", steps=2)
        names = ("time", "time_bnds", "t2m", "u10", "v10")
        first, more, joined = (read(path, *names) for path in ("in.nc", "more.nc", "out.nc"))
        for name, a, b, c in zip(names, first, more, joined):
            whole = np.concatenate([a, b])
            self.assertEqual(whole.shape, c.shape)
            if name[1:] != "10":
                np.testing.assert_array_equal(whole, c, name)
        whole = [np.concatenate([a, b]) for a, b in zip(first[3:], more[3:])]
        self.assert_kept(whole, joined[3:], fill=float(FILL))
        with h5py.File("out.nc") as file:
            self.assertEqual(factz.hdf5.stored(file["factz/u10_v10"])["compressed"], 10)
        self.assertEqual(read("in.nc", "lat")[0].tolist(), read("out.nc", "lat")[0].tolist())

    def refused_append(self, *parts, change=None):
        archive("more.nc", first=12)
        with h5py.File("more.nc", "r+") as file:
            if change:
                change(file)
        before = contents("out.nc")
        self.refused(*parts, call=lambda *_, **__: append("more.nc", "out.nc"))
        self.assertEqual(contents("out.nc"), before)

    def test_what_does_not_fit_is_refused(self):
        archive("in.nc")
        pack("in.nc", "out.nc", abs=BOUND)

        def changed(name, attribute, value):
            return lambda file: file[name].attrs.__setitem__(attribute, value)

        def moved(name):
            return lambda file: file.move(name, "away")

        def shifted(file):
            file["lon"][...] += 5

        self.refused_append("no variable /t2m", "hole", change=moved("t2m"))
        self.refused_append("no variable /u10", change=moved("u10"))
        self.refused_append("/t2m has scale_factor = [0.02]", change=changed("t2m", "scale_factor", 0.02))
        self.refused_append(
            "/time has units", change=changed("time", "units", np.bytes_("hours since 2020-01-01"))
        )
        self.refused_append("/lon differs", "different grids", change=shifted)
        self.refused_append(
            "fill value -999",
            change=lambda file: [
                file[name].attrs.__setitem__("_FillValue", np.float32([-999])) for name in ("u10", "v10")
            ],
        )
        self.refused_append("/u10 has units knots", change=changed("u10", "units", np.bytes_("knots")))
        append("in.nc", "out.nc", force=True)
        self.assertEqual(read("out.nc", "time")[0].tolist(), [0, 6, 0, 6])
        self.refused("the steps do not follow", call=lambda *_, **__: append("in.nc", "out.nc"))
        pack("in.nc", "second.nc", abs=1)
        self.refused("second.nc is packed", call=lambda *_, **__: append("second.nc", "out.nc"))

    def test_a_nan_marks_the_same_in_both_files(self):
        for path, first in (("in.nc", 0), ("more.nc", 12)):
            archive(path, first=first)
            with h5py.File(path, "r+") as file:
                file["t2m"].attrs["missing_value"] = np.float32(np.nan)
        pack("in.nc", "out.nc", abs=BOUND)
        append("more.nc", "out.nc")
        self.assertEqual(read("out.nc", "t2m")[0].shape[0], 4)

    def test_a_fixed_axis_does_not_grow(self):
        simple(unlimited=False)
        pack("in.nc", "out.nc", abs=BOUND)
        self.refused(
            "time, has a fixed length",
            "ncks --mk_rec_dmn time",
            call=lambda *_, **__: append("in.nc", "out.nc"),
        )

    def test_variables_that_are_shorter_than_their_dimension(self):
        archive("in.nc")
        archive("more.nc", first=12)
        pack("in.nc", "out.nc", abs=BOUND)
        with h5py.File("more.nc", "r+") as file:
            file["t2m"].resize(1, axis=0)
        append("more.nc", "out.nc")
        last = read("out.nc", "t2m")[0][2:]
        np.testing.assert_array_equal(last[0], read("more.nc", "t2m")[0][0])
        np.testing.assert_array_equal(last[1], np.full((NY, NX), -32767))

    def test_growth_along_another_axis_is_refused(self):
        with Writer("in.nc") as file:
            grid(file)
            for name, data, standard in zip(("u10", "v10"), series(2), NAMES):
                file.variable(name, AXES, data, FILL, attributes={"standard_name": standard})
            file.variable("station", ("level", "time"), np.zeros((2, 2)))
        pack("in.nc", "out.nc", abs=BOUND)
        self.refused(
            "/station grows with time, which is not its first axis",
            call=lambda *_, **__: append("in.nc", "out.nc"),
        )

    def test_nothing_there_yet(self):
        simple(data=[np.zeros((0, 2, NY, NX), "f4")] * 2, steps=0)
        pack("in.nc", "out.nc", abs=BOUND)
        simple("more.nc", steps=2)
        append("more.nc", "out.nc")
        self.assert_kept(read("more.nc", "u10", "v10"), read("out.nc", "u10", "v10"), fill=float(FILL))
        unpack("out.nc", "plain.nc")
        self.assertEqual(read("plain.nc", "u10")[0].shape, (2, 2, NY, NX))


if __name__ == "__main__":
    unittest.main()
