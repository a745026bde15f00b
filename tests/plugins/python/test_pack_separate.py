"""factz.pack with --layout separate: u and v are datasets whose chunks are streams of one component."""

import contextlib
import io
import os
import unittest

import h5py
import numpy as np
from netcdf_files import AXES, FILL, NAMES, NX, NY, Writer, archive, grid, series, structure, wind
from pack_folder import BOUND, COARSE, Folder, contents, read, simple

import factz
import factz.hdf5
import factz.pack.copying
from factz.pack import PackError, append, pack, unpack
from factz.pack.command import main
from factz.pack.words import words_of


class Separate(Folder):
    def packed(self, target="out.nc", **options):
        return pack("in.nc", target, abs=options.pop("abs", BOUND), layout="separate", **options)

    def assert_like_virtual(self, **options):
        """The layouts have the same values, and unpack makes the same file of them."""
        options = dict({"abs": BOUND}, **options)
        [separate] = self.packed(force=True, **options)
        [virtual] = pack("in.nc", "virtual.nc", force=True, **options)
        names = separate.names
        self.assertEqual((names, separate.raw_bytes), (virtual.names, virtual.raw_bytes))
        for a, b in zip(read("out.nc", *names), read("virtual.nc", *names)):
            self.assertEqual((a.dtype, a.tobytes()), (b.dtype, b.tobytes()))
        for name in ("out", "virtual"):
            unpack(name + ".nc", name + "_plain.nc", force=True)
        self.assertEqual(structure("out_plain.nc"), structure("virtual_plain.nc"))

    def test_everything_else_is_copied(self):
        archive("in.nc")
        [done] = self.packed()
        before, after = structure("in.nc"), structure("out.nc")
        self.assertEqual(list(before), list(after))
        for path in before:
            if path not in ("/u10", "/v10"):
                self.assertEqual(before[path], after[path], path)
        with h5py.File("out.nc") as new:
            self.assertNotIn("factz", new)
            stored = 0
            for name in ("u10", "v10"):
                self.assertFalse(new[name].is_virtual)
                self.assertEqual(new[name].chunks, (1, 1, NY, NX))
                self.assertEqual(new[name].attrs["factz_pair"], b"u10 v10")
                self.assertEqual(new[name].attrs["factz_abs_error"], BOUND)
                self.assertEqual(factz.hdf5.stored(new[name])["compressed"], 4)
                info = factz.inspect(new[name].id.read_direct_chunk((0, 1, 0, 0))[1])
                self.assertEqual((info.component, info.abs, info.shape), (name[0], BOUND, (NY, NX)))
                stored += new[name].id.get_storage_size()
            # Attributes are those that there were, and three more.
            own = ["factz_pair", "factz_storage"]
            kept = [one for one in after["/u10"][-2] if one[0] not in own]
            self.assertEqual(kept, before["/u10"][-2])
            self.assertEqual(stored, done.stored_bytes)

    def test_every_field_keeps_its_points_and_missing_data(self):
        archive("in.nc", steps=3)
        self.packed(abs=COARSE, mode="speculative")
        before, after = read("in.nc", "u10", "v10"), read("out.nc", "u10", "v10")
        self.assert_kept(before, after, COARSE, fill=float(FILL))
        for a, b in zip(before, after):
            odd = ~np.isfinite(a) | (a == FILL)
            self.assertEqual(a[odd].tobytes(), b[odd].tobytes())
            self.assertFalse(np.array_equal(a[~odd], b[~odd]))

    def test_the_values_are_those_of_the_virtual_layout(self):
        simple()
        for options in (
            {},
            {"chunk": (8, 16)},
            {"chunk": (7, 12), "mode": "speculative"},
            {"chunk": (NY, 9), "predictor": "lorenzo", "coder": "huffman"},
            {"abs": COARSE, "periodic": "none", "ties": "zeros", "preserve": "points"},
            {"abs": 0.0},
            {"preserve": "none", "chunk": (1, 1)},
        ):
            self.assert_like_virtual(**options)
        [done] = pack("in.nc", "out.nc", rel=1e-3, layout="separate", force=True)
        self.assertEqual(done.bound, pack("in.nc", "virtual.nc", rel=1e-3, force=True)[0].bound)

    def test_all_shapes_and_types(self):
        u, v = wind(0, dtype="f8")
        for shape, axes in (((NY, NX), AXES[2:]), ((2, NY, NX), ("time",) + AXES[2:])):
            for kind in ("<f4", ">f4", "<f8", ">f8"):
                data = [np.broadcast_to(c, shape).astype(kind) for c in (u, v)]
                simple(data=data, axes=axes, fill=None)
                self.assert_like_virtual()
                after = read("out.nc", "u10", "v10")
                self.assertEqual((after[0].dtype.str, after[0].shape), (kind, shape))
                self.assert_kept(
                    *([c.reshape(-1, NY, NX).astype(kind[1:]) for c in pair] for pair in (data, after))
                )

    def test_packed_integers_and_fill_values(self):
        with Writer("in.nc") as file:
            grid(file)
            for name, values, standard in zip(("u10", "v10"), series(2), NAMES):
                stored = np.rint(np.nan_to_num(np.where(values == FILL, 0, values), posinf=0) / 0.01)
                stored[values == FILL] = -32767
                attributes = {"scale_factor": 0.01, "add_offset": 1.5, "standard_name": standard}
                file.variable(name, AXES, stored.astype("i2"), np.int16(-32767), attributes=attributes)
        self.assert_like_virtual()
        simple(fill=np.float32(-999))
        self.assert_like_virtual()
        simple(fill=None)
        self.assert_like_virtual(fill=float(FILL))

    def test_unpack_gives_the_file_back(self):
        archive("in.nc")
        self.packed()
        unpack("out.nc", "plain.nc")
        before, after = structure("in.nc"), structure("plain.nc")
        for name in ("/u10", "/v10"):
            self.assertEqual(before[name].pop()[:2], after[name].pop()[:2])
        self.assertEqual(before, after)
        for a, b in zip(read("out.nc", "u10", "v10"), read("plain.nc", "u10", "v10")):
            self.assertEqual(a.tobytes(), b.tobytes())

    def test_steps_are_added_to_all_variables(self):
        archive("in.nc")
        archive("more.nc", steps=3, first=12)
        for options in ({}, {"chunk": (8, 16), "mode": "speculative"}):
            self.packed(force=True, **options)
            pack("in.nc", "virtual.nc", abs=BOUND, force=True, **options)
            for name in ("out.nc", "virtual.nc"):
                append("more.nc", name)
            names = ("time", "time_bnds", "t2m", "u10", "v10")
            for a, b in zip(read("out.nc", *names), read("virtual.nc", *names)):
                self.assertEqual(a.tobytes(), b.tobytes())
            whole = [
                np.concatenate(both) for both in zip(*(read(p, *names[3:]) for p in ("in.nc", "more.nc")))
            ]
            self.assert_kept(whole, read("out.nc", *names[3:]), fill=float(FILL))

    def test_nothing_there_yet(self):
        simple(data=[np.zeros((0, 2, NY, NX), "f4")] * 2, steps=0)
        self.packed()
        simple("more.nc", steps=2)
        append("more.nc", "out.nc")
        self.assert_kept(read("more.nc", "u10", "v10"), read("out.nc", "u10", "v10"), fill=float(FILL))

    def test_pairs_of_a_file_one_after_the_other(self):
        names = ("u10", "v10"), ("u100", "v100")
        with Writer("in.nc") as file:
            grid(file)
            for k, pair in enumerate(names):
                for name, values in zip(pair, series(2, 3 * k)):
                    file.variable(name, AXES, values, FILL)
        self.packed(pairs=names[:1])
        pack("out.nc", "both.nc", [names[1]], abs=BOUND, layout="separate")
        pack("out.nc", "mixed.nc", [names[1]], abs=BOUND)
        self.packed("at_once.nc", pairs=list(names))
        for path in ("both.nc", "mixed.nc"):
            for pair in names:
                for a, b in zip(read(path, *pair), read("at_once.nc", *pair)):
                    self.assertEqual(a.tobytes(), b.tobytes())
            unpack(path, "plain_" + path)
            self.assertEqual(list(structure("plain_" + path)), list(structure("in.nc")))

    def test_what_is_refused(self):
        simple()
        self.refused("layout='both' is none of virtual, separate", abs=1, layout="both")
        self.packed()
        self.refused(
            "out.nc is packed: u10", "factz.unpack", call=lambda *_, **o: pack("out.nc", "x.nc", abs=1)
        )
        before = contents("out.nc")
        self.refused("the steps do not follow", call=lambda *_, **o: append("in.nc", "out.nc"))
        self.assertEqual(contents("out.nc"), before)
        with h5py.File("out.nc", "r+") as file:
            file.move("v10", "v11")
        for call in (lambda *_, **o: unpack("out.nc", "x.nc"), lambda *_, **o: append("in.nc", "out.nc")):
            self.refused("is half of a pair", "was changed since it was packed", call=call)

    def test_a_damaged_chunk_names_its_field(self):
        simple()
        self.packed()
        with h5py.File("out.nc") as file:
            chunk = file["v10"].id.get_chunk_info_by_coord((1, 0, 0, 0))
        with open("out.nc", "r+b") as file:
            file.seek(chunk.byte_offset + chunk.size - 1)
            last = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([last[0] ^ 1]))
        self.refused("field [1, 0] of u10, v10 cannot be read", call=lambda *_, **o: unpack("out.nc", "x.nc"))
        self.assertEqual(read("out.nc", "u10")[0].shape, (2, 2, NY, NX))

    def test_values_that_are_written_are_stored_exactly(self):
        simple()
        self.packed()
        u, v = read("out.nc", "u10", "v10")
        row = np.linspace(-1 / 3, 1 / 3, NX, dtype="f4")
        with h5py.File("out.nc", "r+") as file:
            file["u10"][0, 1, 3] = row
            file["u10"].resize(3, axis=0)
            file["u10"][2] = 7
        u[0, 1, 3] = row
        after = read("out.nc", "u10", "v10")
        self.assertEqual(after[0][:2].tobytes(), u.tobytes())
        self.assertTrue((after[0][2] == 7).all())
        self.assertEqual(after[1].tobytes(), v.tobytes())
        with h5py.File("out.nc") as file:
            counts = factz.hdf5.stored(file["u10"])
            self.assertEqual((counts["compressed"], counts["exact"], counts["plain"]), (3, 3, 0))

    def test_a_copy_through_the_filter_goes_on(self):
        """As nccopy makes it: exact chunks, arrays in place of scalars; and with other chunks."""
        simple()
        simple("more.nc", first=12)
        self.packed()
        before = read("out.nc", "u10", "v10")
        for chunk, refused in (((1, 1, NY, NX), False), ((1, 2, NY, NX), True)):
            with h5py.File("out.nc") as old, factz.pack.copying.create_file("copy.nc") as new:
                for name in ("time", "level", "lat", "lon"):
                    old.copy(name, new)
                for name in ("u10", "v10"):
                    plist = old[name].id.get_create_plist()
                    plist.set_chunk(chunk)
                    made = h5py.h5d.create(
                        new.id, name.encode(), h5py.h5t.IEEE_F32LE, old[name].id.get_space(), plist
                    )
                    h5py.Dataset(made)[...] = old[name][...]
                    for key, value in old[name].attrs.items():
                        if key not in ("DIMENSION_LIST",):
                            new[name].attrs[key] = np.atleast_1d(value) if key == "factz_abs_error" else value
                    for axis, scale in enumerate(("time", "level", "lat", "lon")):
                        new[name].dims[axis].attach_scale(new[scale])
                self.assertEqual(factz.hdf5.stored(new["u10"])["exact"], new["u10"].id.get_num_chunks())
            if refused:
                with self.assertRaisesRegex(PackError, "copy.nc: chunks or filters of u10, v10 were changed"):
                    append("more.nc", "copy.nc")
                continue
            append("more.nc", "copy.nc")
            whole = [np.concatenate(both) for both in zip(before, read("more.nc", "u10", "v10"))]
            after = read("copy.nc", "u10", "v10")
            self.assertEqual([a[:2].tobytes() for a in after], [b.tobytes() for b in before])
            self.assert_kept(whole, after, fill=float(FILL))
            unpack("copy.nc", "plain.nc")

    def refused_by_unpack(self, *parts):
        self.refused(*parts, call=lambda *_, **o: unpack("out.nc", "x.nc"))

    def test_halves_of_different_fields_are_refused(self):
        simple()
        simple("other.nc", data=series(2, 5))
        for options, place in (({}, (1, 0, 0, 0)), ({"chunk": (8, 16)}, (0, 1, 16, 16))):
            self.packed(force=True, **options)
            pack("other.nc", "other_out.nc", abs=BOUND, layout="separate", force=True, **options)
            with h5py.File("out.nc", "r+") as file, h5py.File("other_out.nc") as other:
                halves = file["u10"], other["v10"]
                streams = [half.id.read_direct_chunk(place)[1] for half in halves]
                file["v10"].id.write_direct_chunk(place, streams[1])
            with self.assertRaises(factz.FactzError):
                factz.join(*streams)
            self.refused_by_unpack("out.nc: the chunks at %s of u10, v10 come from different fields" % list(place))

    def test_values_of_another_file_are_stored_exactly(self):
        """What programs write into u or v belongs to no stream of both, and unpack takes it."""
        simple()
        self.packed()
        values = np.rint(series(2, 5)[1])
        with h5py.File("out.nc", "r+") as file:
            file["v10"][1] = values[1]
        unpack("out.nc", "plain.nc")
        self.assertEqual(read("plain.nc", "v10")[0][1].tobytes(), values[1].tobytes())
        with h5py.File("out.nc", "r+") as file:
            file["v10"].resize(3, axis=0)
        self.refused_by_unpack("out.nc: u10, v10 have the shapes (2, 2, 19, 36) and (3, 2, 19, 36)")
        with h5py.File("out.nc", "r+") as file:
            file["u10"].resize(3, axis=0)
        unpack("out.nc", "plain.nc", force=True)
        self.assertTrue((read("plain.nc", "u10")[0][2] == FILL).all())

    def test_all_words_of_the_filter_are_read(self):
        simple()
        self.packed(chunk=(8, 16), fill=float(FILL))
        given = factz.hdf5.options(
            abs=BOUND, dx=10, dy=-10, fill=float(FILL), field=(NY, NX)
        )["compression_opts"]
        with h5py.File("out.nc") as file:
            for component, name in enumerate(("u10", "v10")):
                expected = (*given, 0, 2 + component, 16, 8, 0, 0, 0, 0, 1)
                self.assertEqual(words_of(file[name]), expected)
            self.assertEqual(words_of(file["time"]), ())

    def test_a_copy_without_the_filter_is_told(self):
        simple()
        self.packed()
        with h5py.File("out.nc") as old, h5py.File("copy.nc", "w") as new:
            for name in ("u10", "v10"):
                new[name] = old[name][...]
                new[name].attrs["factz_storage"] = old[name].attrs["factz_storage"]
        told = "copy.nc has no compressed pair: a program without the filter 411 copied u10, v10 plain"
        self.refused(told, "without the filter", call=lambda *_, **o: unpack("copy.nc", "x.nc"))

    def test_the_command_line(self):
        simple()
        self.assertEqual(main(["in.nc", "out.nc", "--abs", "0.05", "--layout", "separate", "-q"]), 0)
        self.packed("same.nc")
        self.assertEqual(structure("out.nc"), structure("same.nc"))
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            main(["in.nc", "out.nc", "--append", "--layout", "separate"])


if __name__ == "__main__":
    unittest.main()
