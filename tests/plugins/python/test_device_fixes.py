"""Fixes of arrays in device memory, without a device: the host functions stand in for those of the device."""

import unittest
from unittest import mock

import numpy as np
from device_arrays import DLPack, FakeCupyArray, Interface, WithCupy, device_copy, waves
from support import field, rounded

import factz
from factz import _abi
from factz._library import library

# Arguments of a device function before the workspace, which the report and the CUDA stream follow.
BEFORE = {"protect": 9, "apply": 6, "protect_volume": 11, "apply_volume": 7}


def on_host(name, calls):
    """A device function that does the work of the host function and notes its arguments."""

    def call(*arguments):
        calls.append((name, arguments))
        first = BEFORE[name]
        report = _abi.FixReport.from_address(arguments[first + 2])
        report.status = getattr(library, name + "_host")(*arguments[:first], report, 0)
        return _abi.OK

    return mock.patch.object(library, name + "_device", call)


def bytes_of(array):
    return np.ascontiguousarray(array.array).tobytes()


class Fixes(WithCupy):
    def setUp(self):
        super().setUp()
        self.calls = []
        for name in BEFORE:
            patch = on_host(name, self.calls)
            patch.start()
            self.addCleanup(patch.stop)

    def last_call(self):
        """Name and arguments."""
        return self.calls[-1]

    def test_planes(self):
        for dtype, options in (("f4", {}), ("f8", {"ties": "zeros"}), ("f4", {"halo": "xmin"}), ("f4", {"fill": 7.0})):
            u, v = field(60, 40, dtype)
            u[3, 4] = 7
            u2, v2 = rounded(u, 0.05), rounded(v, 0.05)
            if "halo" in options:
                u2, v2 = u2[:, 1:], v2[:, 1:]
            reports = [factz.FixReport() for _ in range(4)]
            expected = factz.protect(u, v, u2, v2, abs=0.05, report=reports[0], **options)
            arrays = [FakeCupyArray(device_copy(a)) for a in (u, v, u2, v2)]
            fix = factz.protect(*arrays, abs=0.05, report=reports[1], **options)
            self.assertEqual((bytes_of(fix), reports[1]), (expected, reports[0]))
            name, arguments = self.last_call()
            self.assertEqual((name, arguments[2]), ("protect", u2.size))
            # The workspace of the library, whole.
            sizes = _abi.Sizes()
            library.protect_sizes(arguments[3], sizes)
            self.assertEqual((arguments[8], arguments[10]), (sizes.max_stream_bytes, sizes.workspace_bytes))
            of_host = factz.apply(expected, u2, v2, report=reports[2])
            of_device = factz.apply(fix, *arrays[2:], report=reports[3])
            self.assertEqual(reports[3], reports[2])
            for found, values, given, before in zip(of_device, of_host, arrays[2:], (u2, v2)):
                self.assertEqual((bytes_of(found), found.array.shape), (values.tobytes(), values.shape))
                self.assertEqual(bytes_of(given), before.tobytes())
            # In place, and to arrays of the caller.
            out = [FakeCupyArray(device_copy(np.zeros((*u2.shape, 2), dtype))[..., k]) for k in range(2)]
            self.assertIs(factz.apply(fix, *arrays[2:], out=out)[1], out[1])
            self.assertIs(factz.apply(fix, *arrays[2:], out=tuple(arrays[2:]))[0], arrays[2])
            for found in (out, arrays[2:]):
                self.assertEqual([bytes_of(array) for array in found], [values.tobytes() for values in of_host])

    def test_volumes(self):
        fields = waves((9, 11, 12))
        others = [rounded(a, 0.1) for a in fields]
        report, applied = factz.FixReport(), factz.FixReport()
        expected = factz.protect_volume(*fields, *others, abs=0.1)
        result = factz.apply_volume(expected, *others)
        whole = [device_copy(np.stack(arrays)) for arrays in (fields, others)]
        mixed = [device_copy(np.stack(arrays, -1)) for arrays in (fields, others)]
        apart = [FakeCupyArray(device_copy(a)) for a in (*fields, *others)]
        for first, second in (
            (apart[:3], apart[3:]),
            ((FakeCupyArray(whole[0]),), (FakeCupyArray(whole[1]),)),
            ((Interface(mixed[0]),), (Interface(mixed[1]),)),
            (tuple(map(Interface, fields)), tuple(map(DLPack, others))),
        ):
            fix = factz.protect_volume(*first, *second, abs=0.1, report=report)
            self.assertEqual((bytes_of(fix), report.fix_bytes), (expected, len(expected)))
            found = factz.apply_volume(fix, *second, report=applied)
            self.assertEqual([bytes_of(a) for a in found], [a.tobytes() for a in result])
            self.assertEqual(applied.repaired_vertices, report.repaired_vertices)
            # In one array of the caller, and in place.
            out = FakeCupyArray(device_copy(np.zeros((9, 11, 12, 3), "f4")))
            factz.apply_volume(fix, *second, out=out)
            self.assertEqual([out.array[..., k].tobytes() for k in range(3)], [a.tobytes() for a in result])
        # The reconstruction keeps its values.
        for array, values in zip(apart[3:], others):
            self.assertEqual(bytes_of(array), values.tobytes())
        self.assertIs(factz.apply_volume(fix, *apart[3:], out=apart[3:])[2], apart[5])
        self.assertEqual([bytes_of(a) for a in apart[3:]], [a.tobytes() for a in result])

    def test_what_the_device_refuses(self):
        u, v = field(60, 40)
        u2, v2 = rounded(u, 0.05), rounded(v, 0.05)
        arrays = [FakeCupyArray(device_copy(a)) for a in (u, v, u2, v2)]
        stacks = [FakeCupyArray(device_copy(np.stack([a, a]))) for a in (u, v, u2, v2)]
        volumes = [FakeCupyArray(device_copy(np.stack([a, a]))) for a in (u, v, u, u2, v2, u2)]
        fix = factz.protect(*arrays, abs=0.05)
        for call, name, report, text in (
            (lambda: factz.protect(*arrays, abs=0.05), "protect", 11, r"\(9, 7\), as do 2 others: give the bound"),
            (lambda: factz.protect(*stacks, abs=0.05), "protect", 11, r"\(9, 7\) of plane 0, as do 2 others"),
            (lambda: factz.protect_volume(*volumes, abs=0.05), "protect_volume", 13, r"\(9, 7, 0\), as do 2 others"),
        ):

            def leaves_the_bound(*arguments):
                found = _abi.FixReport.from_address(arguments[report])
                found.status, found.vertices_outside = _abi.ERROR_INVALID_ARGUMENT, 3
                found.first_outside = 60 * 7 + 9
                return _abi.OK

            with mock.patch.object(library, name + "_device", leaves_the_bound):
                with self.assertRaisesRegex(factz.InvalidArgumentError, "leaves the bound at vertex " + text):
                    call()
        with self.assertRaisesRegex(factz.InvalidArgumentError, "another reconstruction, shape or dtype, or to a vol"):
            factz.apply(fix, *arrays[:2])
        damaged = FakeCupyArray(fix.array.copy())
        damaged.array[90] ^= 1
        before = [bytes_of(a) for a in arrays]
        out = tuple(FakeCupyArray(device_copy(a)) for a in (u, v))
        with self.assertRaisesRegex(factz.CorruptStreamError, "reported by the device"):
            factz.apply(damaged, *arrays[2:], out=out)
        self.assertEqual([bytes_of(a) for a in out], before[:2])
        volume = [FakeCupyArray(device_copy(np.stack([a, a]))) for a in (u, v, u)]
        with self.assertRaisesRegex(factz.InvalidArgumentError, "or to planes"):
            factz.apply_volume(fix, *volume)

    def test_arguments(self):
        u, v = field(60, 40)
        du, dv = (FakeCupyArray(device_copy(a)) for a in (u, v))
        fix = factz.protect(du, dv, du, dv, abs=0.05)
        other = FakeCupyArray(device_copy(u[1:].copy()))
        same = FakeCupyArray(device_copy(u))
        locked = Interface(du.array, data=(du.array.ctypes.data, True))
        calls = len(self.calls)
        for kind, part, call in (
            (ValueError, "u is in device memory and u2 is not", lambda: factz.protect(du, dv, u, v, abs=1)),
            (ValueError, "fix is in device memory and u is not", lambda: factz.apply(fix, u, v)),
            (ValueError, "u is in device memory and fix is not", lambda: factz.apply(bytes_of(fix), du, dv)),
            (ValueError, "and out[0] is not", lambda: factz.apply(fix, du, dv, out=(u, v))),
            (ValueError, "stream= is for arrays in device", lambda: factz.protect(u, v, u, v, abs=1, stream=0)),
            (ValueError, "stream= is for arrays in device", lambda: factz.apply(b"", u, v, stream=0)),
            (ValueError, "out[0] has the shape (39, 60)", lambda: factz.apply(fix, du, dv, out=(other, other))),
            (ValueError, "out[0] is read-only", lambda: factz.apply(fix, du, dv, out=(locked, dv))),
            (ValueError, "out must be two arrays", lambda: factz.apply(fix, du, dv, out=(du,))),
            (ValueError, "out[0] shares values with out[1]", lambda: factz.apply(fix, du, dv, out=(same, same))),
            (ValueError, "out[0] shares values with", lambda: factz.apply(fix, du, dv, out=(dv, du))),
            (TypeError, "contiguous array of uint8", lambda: factz.apply(du, du, dv)),
            (ValueError, "and u2 is not", lambda: factz.protect_volume(du, du, du, u, u, u, abs=1)),
            (TypeError, "w2 is missing", lambda: factz.protect_volume(du, du, du, du, du, abs=1)),
        ):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIn(part, str(caught.exception))
        self.assertEqual(len(self.calls), calls)


class WithoutDevice(WithCupy):
    def test_there_is_none(self):
        u, v = (FakeCupyArray(device_copy(a)) for a in field(60, 40))
        fix = FakeCupyArray(device_copy(np.zeros(512, np.uint8)))
        w = FakeCupyArray(device_copy(np.zeros((3, 4, 5, 6), "f4")))
        for call in (
            lambda: factz.protect(u, v, u, v, abs=0.5),
            lambda: factz.apply(fix, u, v),
            lambda: factz.apply(fix, u, v, out=(u, v)),
            lambda: factz.protect_volume(w, w, abs=0.5),
            lambda: factz.apply_volume(fix, w),
        ):
            with self.assertRaisesRegex(factz.NoDeviceError, "no usable CUDA device: ."):
                call()


if __name__ == "__main__":
    unittest.main()
