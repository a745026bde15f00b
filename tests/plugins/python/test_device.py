"""Arrays in device memory, without a device: calls hand them to the library, which finds no device.
tests/gpu/python_device.py runs on one.
"""

import sys
import types
import unittest
from unittest import mock

import numpy as np
from device_arrays import STREAM, DLPack, FakeCupyArray, FakeStream, Interface, WithCupy, aligned, device_copy, waves

import factz
from factz import _arrays, _config, _device, _fields, _volume_config


class Described(WithCupy):
    """Properties of an array that reach the library."""

    def test_the_cuda_array_interface(self):
        mixed = np.stack([self.u, self.v], -1)
        for a in (self.u, self.u[2:, 3:], mixed[..., 1], self.u[::-1], self.u[:1], self.u.astype("f8")):
            found, producer = _arrays.device_array("u", Interface(a), 0)
            self.assertEqual(
                (found.address, found.shape, found.strides), (a.ctypes.data, a.shape, a.strides)
            )
            self.assertEqual((found.dtype, found.readonly, producer), (a.dtype, False, None))
        found, producer = _arrays.device_array("u", Interface(self.u, stream=7, data=(64, True)), 0)
        self.assertEqual((found.address, found.readonly, producer), (64, True, 7))
        with self.assertRaisesRegex(TypeError, "u has a mask"):
            _arrays.device_array("u", Interface(self.u, mask=self.u), 0)

    def test_dlpack(self):
        for a in (self.u, self.u[2:, 3:], self.v[::2, ::3], self.u.astype("f8")):
            for offset in (0, 256):
                given = DLPack(a, offset=offset)
                self.assertTrue(_arrays.is_device(given))
                found, producer = _arrays.device_array("u", given, STREAM)
                self.assertEqual(
                    (found.address, found.shape, found.strides), (a.ctypes.data, a.shape, a.strides)
                )
                self.assertEqual((found.dtype, producer, given.streams), (a.dtype, None, [STREAM]))
        # The default stream has the number 1.
        given = DLPack(self.u)
        _arrays.device_array("u", given, 0)
        self.assertEqual(given.streams, [1])
        dense = DLPack(self.u)
        dense.managed.tensor.strides = None
        self.assertEqual(_arrays.device_array("u", dense, 0)[0].strides, self.u.strides)
        with self.assertRaisesRegex(TypeError, "u has elements of DLPack type 5"):
            _arrays.device_array("u", DLPack(self.u, code=5), 0)

    def test_where_arrays_are(self):
        self.assertTrue(_arrays.is_device(DLPack(self.u, kind=13)))
        for kind in (1, 3):
            self.assertFalse(_arrays.is_device(DLPack(self.u, kind=kind)))
        with self.assertRaisesRegex(TypeError, "DLPack type 10"):
            _arrays.is_device(DLPack(self.u, kind=10))
        self.assertEqual(_arrays.device_of(DLPack(self.u, device=3)), 3)
        self.assertEqual(_arrays.device_of(Interface(self.u, device=2)), 2)

    def test_streams(self):
        class Torch:
            cuda_stream = 5

        class Protocol:
            def __cuda_stream__(self):
                return (0, 6)

        numba = types.SimpleNamespace(handle=types.SimpleNamespace(value=8))
        for stream, handle in (
            (0, 0),
            (4, 4),
            (Torch(), 5),
            (Protocol(), 6),
            (FakeStream(7), 7),
            (numba, 8),
        ):
            self.assertEqual(_device.stream_handle(stream), handle)
        for stream in ("0", True, 1.5, object()):
            with self.assertRaisesRegex(TypeError, "is no CUDA stream"):
                _device.stream_handle(stream)

    def test_what_does_not_fit_is_copied_by_its_own_library(self):
        queue = _device.queue_of(None, u=FakeCupyArray(self.u))
        config = _config.configured(abs=0.0)
        flipped = FakeCupyArray(self.u[::-1])
        placed = _fields.place(config, flipped, FakeCupyArray(self.v), queue)
        copy = placed.arrays[0].owner.array
        np.testing.assert_array_equal(copy, self.u[::-1])
        self.assertEqual((placed.u, placed.v), (copy.ctypes.data, self.v.ctypes.data))
        for strange in (Interface(self.u[::-1]), FakeCupyArray(self.u.astype(">f4"))):
            with self.assertRaisesRegex(ValueError, "^u has the .*pass a copy"):
                _fields.place(config, strange, FakeCupyArray(self.v), queue)


class Handed(WithCupy):
    """Arguments that calls hand to the library."""

    def test_compression(self):
        wide = device_copy(np.zeros((44, 70), "f4"))
        u = wide[2:42, 3:63]
        arguments, current, work = self.called(
            "compress_device",
            lambda: factz.enqueue_compress(
                FakeCupyArray(u), FakeCupyArray(self.v), abs=0.5, halo="xmin+ymax"
            ),
        )
        sizes = factz.compress_sizes((39, 59), "f4", abs=0.5, halo="xmin+ymax")
        pu, pv, n, config, dst, dst_bytes, workspace, workspace_bytes, report, stream = arguments
        self.assertEqual((pu, pv, n), (u.ctypes.data + 4, self.v.ctypes.data + 4, 59 * 39))
        self.assertEqual((config.nx, config.ny, config.dtype, config.bound), (59, 39, 0, 0.5))
        self.assertEqual((config.u_pitch, config.u_stride, config.v_pitch, config.v_stride), (70, 1, 60, 1))
        self.assertEqual((dst, dst_bytes), (work.buffer.array.ctypes.data, sizes.max_stream_bytes))
        self.assertEqual(workspace_bytes, sizes.workspace_bytes)
        self.assertTrue(workspace and report)
        self.assertEqual((stream, current), (STREAM, STREAM))
        # The stand-in has written nothing: a report of zeros.
        self.assertEqual(work.wait(), factz.Report())

    def test_memory_of_the_caller(self):
        sizes = factz.compress_sizes((40, 60), "f4", abs=0.5)
        dst, workspace, report = (Interface(aligned(n, "u1")) for n in (500, sizes.workspace_bytes, 128))
        arguments, current, work = self.called(
            "compress_device",
            lambda: factz.enqueue_compress(
                Interface(self.u),
                Interface(self.v),
                abs=0.5,
                dst=dst,
                workspace=workspace,
                report=report,
                stream=9,
            ),
        )
        given = (dst, 500, workspace, sizes.workspace_bytes, report, 9)
        expected = tuple(g.array.ctypes.data if isinstance(g, Interface) else g for g in given)
        self.assertEqual(arguments[4:], expected)
        self.assertEqual(current, 9)
        report.array.view("i4")[0], report.array.view("u8")[2] = 3, 777
        with self.assertRaisesRegex(
            factz.BufferTooSmallError, "reported by the device; .* take 777 bytes"
        ) as caught:
            work.wait()
        self.assertEqual(caught.exception.required_bytes, 777)

    def test_decompression(self):
        data = Interface(device_copy(np.frombuffer(factz.compress(self.u, self.v, abs=0.5), np.uint8)))
        mixed = aligned((40, 60, 2), "f4")
        out = FakeCupyArray(mixed[..., 0]), FakeCupyArray(mixed[..., 1])
        arguments, _, work = self.called(
            "decompress_device",
            lambda: factz.enqueue_decompress(data, out, verify=False, stream=FakeStream(0)),
        )
        source, source_bytes, config, pu, pv, n, _, workspace_bytes, _, stream = arguments
        self.assertEqual((source, source_bytes), (data.array.ctypes.data, data.array.size))
        self.assertEqual((pu, pv, n, stream), (mixed.ctypes.data, mixed.ctypes.data + 4, 2400, 0))
        self.assertEqual((config.u_pitch, config.u_stride, config.verify_checksum), (120, 2, 0))
        self.assertEqual(workspace_bytes, factz.decompress_sizes((40, 60), "f4").workspace_bytes)
        self.assertEqual((work.u, work.v), out)
        # Some planes of data that have others.
        out = FakeCupyArray(aligned((2, 40, 60), "f4")), FakeCupyArray(aligned((2, 40, 60), "f4"))
        arguments, _, _ = self.called(
            "decompress_planes_device",
            lambda: factz.enqueue_decompress(data, out, first=7, stream=FakeStream(0)),
        )
        sizes = factz.decompress_sizes((2, 40, 60), "f4", some_planes=True)
        self.assertEqual((arguments[3], arguments[6], arguments[8]), (7, 4800, sizes.workspace_bytes))
        with self.assertRaisesRegex(ValueError, "first = -1"):
            factz.enqueue_decompress(data, out, first=-1, stream=FakeStream(0))
        # The shape and the predictor come from the header where there is no out.
        fast = factz.compress(self.u, self.v, abs=0.5, predictor="lorenzo")
        data = FakeCupyArray(device_copy(np.frombuffer(fast, np.uint8)))
        arguments, _, (u, v) = self.called("decompress_device", lambda: factz.decompress(data))
        self.assertEqual(
            (u.array.shape, v.array.dtype, arguments[2].predictor), ((40, 60), np.dtype("f4"), 1)
        )
        self.assertEqual(factz.inspect(data), factz.inspect(fast))

    def test_planes(self):
        """The part of the host, of the same shape, by the function for planes."""
        fields = [np.stack(5 * [a]) for a in (self.u, self.v)]
        expected = factz.compress(*fields, abs=0.5, predictor="lorenzo")
        data = FakeCupyArray(device_copy(np.frombuffer(expected, np.uint8)))
        for planes, first, count in (
            (3, 3, 1),
            (-1, 4, 1),
            (np.int64(0), 0, 1),
            (slice(1, 3), 1, 2),
            (slice(-2, None), 3, 2),
            (slice(None), 0, 5),
            (slice(4, 99), 4, 1),
        ):
            shape = factz.decompress(expected, planes=planes)[0].shape
            for out in (None, tuple(FakeCupyArray(aligned(shape, "f4")) for _ in range(2))):
                arguments, _, found = self.called(
                    "decompress_planes_device",
                    lambda: factz.decompress(data, out, planes=planes, verify=False),
                )
                for array in found:
                    self.assertEqual((array.array.shape, array.array.dtype), (shape, np.dtype("f4")))
                source, _, config, of_first, u, v, n, _, workspace_bytes, _, stream = arguments
                self.assertEqual((source, stream), (data.array.ctypes.data, STREAM))
                self.assertEqual((of_first, config.nz, n), (first, count, count * 2400))
                self.assertEqual([u, v], [a.array.ctypes.data for a in found])
                self.assertEqual((config.predictor, config.verify_checksum), (1, 0))
                sizes = factz.decompress_sizes((count, 40, 60), "f4", some_planes=True)
                self.assertEqual(workspace_bytes, sizes.workspace_bytes)
        # No planes are no work.
        u, v = factz.decompress(data, planes=slice(2, 2))
        self.assertEqual((u.array.shape, v.array.dtype), ((0, 40, 60), np.dtype("f4")))
        # Of one plane the shape has two axes, and a slice three.
        data = FakeCupyArray(device_copy(np.frombuffer(factz.compress(self.u, self.v, abs=0.5), np.uint8)))
        for planes, shape in ((0, (40, 60)), (slice(None), (1, 40, 60))):
            _, _, found = self.called(
                "decompress_planes_device", lambda: factz.decompress(data, planes=planes)
            )
            self.assertEqual([a.array.shape for a in found], 2 * [shape])

    def test_analysis(self):
        u, v = FakeCupyArray(self.u), FakeCupyArray(self.v)
        arguments, _, found = self.called("compare_device", lambda: factz.compare(u, v, u, v, abs=0.5))
        self.assertEqual(arguments[:3], (self.u.ctypes.data, self.v.ctypes.data, 2400))
        self.assertEqual(arguments[4:6], arguments[:2])
        self.assertEqual((arguments[-1], found.violations), (STREAM, 0))
        arguments, _, points = self.called("critical_points_device", lambda: factz.critical_points(u, v))
        self.assertEqual(
            (arguments[5], len(points), points.dtype), (2400 // 64 + 1024, 0, factz.CRITICAL_POINT)
        )
        self.called("range_device", lambda: factz.value_range(u, v))
        self.called("prepare_device", lambda: factz.prepare_device(u))

    def test_compression_of_a_volume(self):
        fields = [device_copy(a) for a in waves((7, 9, 12))]
        whole, last = device_copy(np.stack(fields)), device_copy(np.stack(fields, -1))
        sizes = factz.compress_volume_sizes((7, 9, 12), "f4", abs=0.5)
        own = tuple(map(FakeCupyArray, fields))
        for given, strides in (
            (own, (12, 1)),
            ((own,), (12, 1)),
            ((FakeCupyArray(whole),), (12, 1)),
            ((FakeCupyArray(last),), (36, 3)),
            # NumPy's slices of arrays that describe themselves alone, one by CUDA's interface, one by DLPack.
            ((Interface(whole),), (12, 1)),
            ((DLPack(last),), (36, 3)),
            ((Interface(fields[0]), DLPack(fields[1]), own[2]), (12, 1)),
        ):
            arguments, current, work = self.called(
                "compress_volume_device", lambda: factz.enqueue_compress_volume(*given, abs=0.5, dz=-2.0)
            )
            *addresses, n, config, dst, dst_bytes, workspace, workspace_bytes, report, stream = arguments
            memory = given[0].array if len(given) == 1 and given[0] is not own else None
            expected = [a.ctypes.data for a in fields]
            if memory is not None:
                parts = memory if memory.shape[0] == 3 else np.moveaxis(memory, -1, 0)
                expected = [a.ctypes.data for a in parts]
            self.assertEqual((addresses, n), (expected, 7 * 9 * 12))
            self.assertEqual((config.components, config.nx, config.ny, config.nz, config.dz), (3, 12, 9, 7, -2.0))
            for component in "uvw":
                layout = [getattr(config, component + name) for name in ("_pitch", "_stride")]
                self.assertEqual(tuple(layout), strides)
            self.assertEqual((dst, dst_bytes), (work.buffer.array.ctypes.data, sizes.max_stream_bytes))
            self.assertEqual(workspace_bytes, sizes.workspace_bytes)
            self.assertTrue(workspace and report)
            self.assertEqual((stream, current), (STREAM, STREAM))
            self.assertEqual(work.wait(), factz.Report())

    def test_a_volume_with_ghosts_in_memory_of_the_caller(self):
        fields = [device_copy(a) for a in waves((7, 9, 12), "f8")]
        options = {"abs": 0.5, "halo": "xmin+zmax"}
        sizes = factz.compress_volume_sizes((6, 9, 11), "f8", **options)
        dst, workspace, report = (Interface(aligned(n, "u1")) for n in (500, sizes.workspace_bytes, 128))
        arguments, current, work = self.called(
            "compress_volume_device",
            lambda: factz.enqueue_compress_volume(
                *map(Interface, fields), **options, dst=dst, workspace=workspace, report=report, stream=9
            ),
        )
        self.assertEqual(list(arguments[:4]), [a.ctypes.data + 8 for a in fields] + [6 * 9 * 11])
        config = arguments[4]
        self.assertEqual((config.nx, config.ny, config.nz, config.dtype, config.w_pitch), (11, 9, 6, 1, 12))
        given = (dst, 500, workspace, sizes.workspace_bytes, report, 9)
        self.assertEqual(arguments[5:], tuple(g.array.ctypes.data if isinstance(g, Interface) else g for g in given))
        self.assertEqual(current, 9)
        report.array.view("i4")[0], report.array.view("u8")[2] = 3, 777
        with self.assertRaisesRegex(factz.BufferTooSmallError, "reported by the device; .* take 777 bytes") as caught:
            work.wait()
        self.assertEqual(caught.exception.required_bytes, 777)

    def test_decompression_of_a_volume(self):
        fields = waves((7, 9, 12))
        expected = factz.compress_volume(*fields, abs=0.5)
        data = FakeCupyArray(device_copy(np.frombuffer(expected, np.uint8)))
        self.assertEqual(factz.inspect(data), factz.inspect(expected))
        mixed, dense = aligned((7, 9, 12, 3), "f4"), aligned((3, 7, 9, 12), "f4")
        sizes = factz.decompress_volume_sizes((7, 9, 12), "f4")
        apart = [mixed[..., k] for k in range(3)]
        for out, parts in (
            (tuple(map(FakeCupyArray, apart)), apart),
            (FakeCupyArray(mixed), apart),
            (Interface(dense), dense),
            (DLPack(dense), dense),
        ):
            arguments, _, work = self.called(
                "decompress_volume_device",
                lambda: factz.enqueue_decompress_volume(data, out, verify=False, stream=FakeStream(0)),
            )
            source, source_bytes, config, *addresses, n, _, workspace_bytes, _, stream = arguments
            self.assertEqual((source, source_bytes), (data.array.ctypes.data, len(expected)))
            self.assertEqual(addresses, [a.ctypes.data for a in parts])
            self.assertEqual((n, workspace_bytes, stream), (756, sizes.workspace_bytes, 0))
            self.assertEqual((config.w_stride, config.verify_checksum), (parts[0].strides[-1] // 4, 0))
            self.assertEqual([a.array.ctypes.data for a in (work.u, work.v, work.w)], addresses)
            self.called("decompress_volume_device", lambda: factz.decompress_volume(data, out=out, stream=0))
        # Shape and type come from the header where there is no out.
        report = factz.Report()
        arguments, _, found = self.called(
            "decompress_volume_device", lambda: factz.decompress_volume(data, report=report)
        )
        self.assertEqual([(a.array.shape, a.array.dtype) for a in found], 3 * [((7, 9, 12), np.dtype("f4"))])
        self.assertEqual([a.array.ctypes.data for a in found], list(arguments[3:6]))

    def test_a_volume_that_does_not_fit_is_copied(self):
        fields = [device_copy(a) for a in waves((7, 9, 12))]
        flipped = device_copy(fields[1][:, ::-1].copy())[:, ::-1]
        wide = device_copy(np.zeros((7, 11, 12), "f4"))[:, :9]
        wide[...] = fields[2]
        for given, copied in ((flipped, (1,)), (wide, (0, 1, 2))):
            arrays = [fields[0], given if given is flipped else fields[1], given if given is wide else fields[2]]
            arguments, _, work = self.called(
                "compress_volume_device",
                lambda: factz.enqueue_compress_volume(*map(FakeCupyArray, arrays), abs=0.5),
            )
            for k, (address, array, held) in enumerate(zip(arguments, arrays, work._arrays)):
                self.assertEqual(address != array.ctypes.data, k in copied)
                np.testing.assert_array_equal(held.owner.array, array)

    def test_a_stream_of_another_producer_is_waited_for(self):
        waits = []
        queue = mock.Mock(library="cupy", handle=STREAM, wait_for=waits.append)
        for array in (
            Interface(self.u, stream=7),
            Interface(self.u, stream=STREAM),
            FakeCupyArray(self.u, stream=7),
        ):
            _fields.find("u", array, queue)
        self.assertEqual(waits, [7])

    def test_the_producer_of_one_array_with_all_components_is_waited_for(self):
        waits = []
        queue = _device.queue_of(None, u=FakeCupyArray(self.u))
        queue.wait_for = waits.append
        whole = device_copy(np.stack(waves((7, 9, 12))))
        found = _volume_config.inputs(Interface(whole, stream=7), None, None, queue=queue)
        self.assertEqual((waits, found[2].address), ([7], whole[2].ctypes.data))


class Refused(WithCupy):
    def test_without_a_device(self):
        u, v = FakeCupyArray(self.u), FakeCupyArray(self.v)
        data = FakeCupyArray(device_copy(np.frombuffer(factz.compress(self.u, self.v, abs=0.5), np.uint8)))
        fields = waves((7, 9, 12))
        of_volume = factz.compress_volume(*fields, abs=0.5)
        of_volume = FakeCupyArray(device_copy(np.frombuffer(of_volume, np.uint8)))
        volume = FakeCupyArray(device_copy(np.stack(fields)))
        for call in (
            lambda: factz.compress(u, v, abs=0.5),
            lambda: factz.compress(Interface(self.u), DLPack(self.v), abs=0.5),
            lambda: factz.enqueue_compress(u, v, abs=0.5),
            lambda: factz.decompress(data),
            lambda: factz.decompress(data, out=(u, v)),
            lambda: factz.enqueue_decompress(data, (u, v)),
            lambda: factz.compare(u, v, u, v, rel=0.5),
            lambda: factz.critical_points(u, v),
            lambda: factz.value_range(u, v),
            lambda: factz.prepare_device(u),
            lambda: factz.compress_volume(volume, abs=0.5),
            lambda: factz.enqueue_compress_volume(volume, abs=0.5),
            lambda: factz.decompress_volume(of_volume),
            lambda: factz.decompress_volume(of_volume, out=volume),
            lambda: factz.enqueue_decompress_volume(of_volume, volume),
        ):
            with self.assertRaisesRegex(factz.NoDeviceError, "no usable CUDA device: .") as caught:
                call()
            self.assertEqual(caught.exception.status, 7)

    def test_arguments(self):
        u, v = FakeCupyArray(self.u), FakeCupyArray(self.v)
        locked = Interface(self.u, data=(self.u.ctypes.data, True))
        bytes_ = FakeCupyArray(aligned(1000, "u1"))
        for kind, part, call in (
            (ValueError, "u is in device memory and v is not", lambda: factz.compress(u, self.v, abs=1)),
            (ValueError, "on different devices", lambda: factz.compress(u, Interface(self.v, 1), abs=1)),
            (ValueError, "is in device memory and data is not", lambda: factz.decompress(b"", out=(u, v))),
            (TypeError, "in host memory", lambda: factz.enqueue_compress(self.u, self.v, abs=1)),
            (TypeError, "in host memory", lambda: factz.prepare_device(self.u)),
            (TypeError, "contiguous array of uint8", lambda: factz.inspect(u)),
            (TypeError, "contiguous array of uint8", lambda: factz.inspect(bytes_[::2])),
            (ValueError, "out[0] is read-only", lambda: factz.enqueue_decompress(bytes_, (locked, v))),
            (ValueError, "out[1] has the strides", lambda: factz.enqueue_decompress(bytes_, (u, v[::-1]))),
            (
                ValueError,
                "report has 8 bytes",
                lambda: factz.enqueue_compress(u, v, abs=1, report=bytes_[:8]),
            ),
            (
                factz.WorkspaceTooSmallError,
                "workspace",
                lambda: factz.enqueue_compress(u, v, abs=1, workspace=bytes_),
            ),
            (
                factz.InvalidArgumentError,
                "dst",
                lambda: factz.enqueue_compress(u, v, abs=1, dst=bytes_[1:]),
            ),
        ):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIn(part, str(caught.exception))

    def test_arguments_of_planes(self):
        fields = [np.stack(5 * [a]) for a in (self.u, self.v)]
        both = factz.compress(*fields, abs=0.5)
        contents = both, factz.split(both)[0]
        data, half = (FakeCupyArray(device_copy(np.frombuffer(d, np.uint8))) for d in contents)
        two = tuple(FakeCupyArray(aligned((2, 40, 60), "f4")) for _ in range(2))
        flipped = two[0], two[1][::-1]
        region, host = np.s_[:3, :3], "region= is for data in host memory: copy the data there"
        shape, copy = "out[0] has the shape (2, 40, 60), and", "copy the data to the host"
        for kind, part, call in (
            (ValueError, host, lambda: factz.decompress(data, region=region)),
            (ValueError, host, lambda: factz.decompress(data, region=region, planes=1)),
            (IndexError, "planes=5: the data have 5 planes", lambda: factz.decompress(data, planes=5)),
            (IndexError, "give 0 to 4, or -5 to -1", lambda: factz.decompress(data, planes=-6)),
            (ValueError, "has a step", lambda: factz.decompress(data, planes=slice(0, 4, 2))),
            (TypeError, "planes='1' is neither", lambda: factz.decompress(data, planes="1")),
            (ValueError, shape, lambda: factz.decompress(data, two, planes=1)),
            (ValueError, "out[1] has the strides", lambda: factz.decompress(data, flipped, planes=slice(2))),
            (factz.NoDeviceError, "no usable", lambda: factz.decompress(data, two, planes=slice(2))),
            (factz.InvalidArgumentError, copy, lambda: factz.decompress(half)),
            (factz.InvalidArgumentError, copy, lambda: factz.decompress(half, planes=1)),
        ):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIn(part, str(caught.exception))

    def test_arguments_of_volumes(self):
        fields = waves((7, 9, 12))
        of_planes, of_volume = factz.compress(*fields[:2], abs=0.5), factz.compress_volume(*fields, abs=0.5)
        planes, data = (FakeCupyArray(device_copy(np.frombuffer(d, np.uint8))) for d in (of_planes, of_volume))
        fields = [device_copy(a) for a in fields]
        u, v, w = map(FakeCupyArray, fields)
        whole = device_copy(np.stack(fields))
        locked = Interface(whole, data=(whole.ctypes.data, True))
        bytes_ = FakeCupyArray(aligned(1000, "u1"))
        copies = "this call takes host memory: copy it there"
        for kind, part, call in (
            (ValueError, "u is in device memory and w is not", lambda: factz.compress_volume(u, v, fields[2], abs=1)),
            (ValueError, "on different devices", lambda: factz.compress_volume(u, v, Interface(fields[2], 1), abs=1)),
            (ValueError, "is in device memory and data is not", lambda: factz.decompress_volume(b"", out=(u, v, w))),
            (ValueError, "data is in device memory and out is not", lambda: factz.decompress_volume(data, out=whole)),
            (ValueError, "stream= is for arrays in device", lambda: factz.compress_volume(whole, abs=1, stream=0)),
            (ValueError, "stream= is for arrays in", lambda: factz.decompress_volume(of_volume, stream=0)),
            (ValueError, "workspace= is for arrays", lambda: factz.compress_volume(whole, abs=1, workspace=bytes_)),
            (ValueError, "workspace= is for arrays", lambda: factz.decompress_volume(of_volume, workspace=bytes_)),
            (TypeError, "in host memory", lambda: factz.enqueue_compress_volume(whole, abs=1)),
            (TypeError, "in host memory", lambda: factz.enqueue_decompress_volume(of_volume, whole)),
            (TypeError, "w is missing", lambda: factz.compress_volume(u, v, abs=1)),
            (ValueError, "of the shape (7, 9, 12)", lambda: factz.compress_volume(u, abs=1)),
            (ValueError, "region= is for data in host", lambda: factz.decompress_volume(data, region=np.s_[:, :, :])),
            (ValueError, "out is read-only", lambda: factz.decompress_volume(data, out=locked)),
            (ValueError, "out has 2 arrays", lambda: factz.decompress_volume(data, out=(u, v))),
            (ValueError, "out must be three arrays", lambda: factz.enqueue_decompress_volume(data, 7)),
            (ValueError, "out[1] has the strides", lambda: factz.decompress_volume(data, out=(u, v[::-1], w))),
            (TypeError, "contiguous array of uint8", lambda: factz.decompress_volume(u, out=(u, v, w))),
            (ValueError, "pass a copy", lambda: factz.compress_volume(u, v, Interface(fields[2][::-1]), abs=1)),
            (
                factz.WorkspaceTooSmallError,
                "workspace",
                lambda: factz.compress_volume(u, v, w, abs=1, workspace=bytes_),
            ),
            (factz.InvalidArgumentError, "dst", lambda: factz.enqueue_compress_volume(u, v, w, abs=1, dst=bytes_[1:])),
            (factz.InvalidArgumentError, "call factz.decompress_volume", lambda: factz.decompress(data)),
            (factz.InvalidArgumentError, "call factz.decompress", lambda: factz.decompress_volume(planes)),
            # Functions that work on the host alone.
            (TypeError, "u is in device memory, and " + copies, lambda: factz.compare_volume(u, v, w, *fields, abs=1)),
            (TypeError, "u2 is in device memory", lambda: factz.compare_volume(*fields, Interface(whole), abs=1)),
            (TypeError, "u is in device memory", lambda: factz.critical_points_volume(Interface(whole))),
            (TypeError, "w is in device memory", lambda: factz.value_range_volume(*fields[:2], w)),
        ):
            with self.assertRaises(kind) as caught:
                call()
            self.assertIn(part, str(caught.exception))

    def test_what_the_device_reports(self):
        out = tuple(FakeCupyArray(device_copy(a)) for a in waves((7, 9, 12)))
        data = FakeCupyArray(device_copy(np.zeros(1024, np.uint8)))
        for call, arrays, text in (
            ("decompress_volume_device", out, "another shape or dtype than out, or hold planes"),
            ("decompress_device", out[:2], "another shape or dtype than out, or hold a volume"),
        ):
            report = FakeCupyArray(aligned(128, "u1"))
            enqueue = factz.enqueue_decompress if len(arrays) == 2 else factz.enqueue_decompress_volume
            _, _, work = self.called(call, lambda: enqueue(data, arrays, report=report))
            report.array.view("i4")[0] = 1
            with self.assertRaisesRegex(factz.InvalidArgumentError, text):
                work.wait()

    def test_without_a_library_that_allocates(self):
        with mock.patch.dict(sys.modules, {"cupy": None, "torch": None}):
            with mock.patch.object(_device, "_is_installed", return_value=False):
                with self.assertRaisesRegex(TypeError, "need CuPy or PyTorch"):
                    factz.compress(Interface(self.u), Interface(self.v), abs=1)


if __name__ == "__main__":
    unittest.main()
