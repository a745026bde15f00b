"""The arrays that every function of volumes takes: three, or one with all components, of any layout."""

import unittest

import numpy as np

import factz

SHAPE, BOUND = (7, 6, 9), 0.2


def noise(dtype="f4"):
    random = np.random.default_rng(8)
    return tuple(random.normal(size=SHAPE).astype(dtype) for _ in range(3))


def moved(field):
    """A reconstruction within the bound, with other critical points."""
    random = np.random.default_rng(9)
    return tuple((c + random.uniform(-0.9, 0.9, SHAPE) * BOUND).astype(c.dtype) for c in field)


def spread(array):
    """Every second value of a larger array along each of its last three axes."""
    wide = np.full((*array.shape[:-3], *(2 * n for n in array.shape[-3:])), np.nan, array.dtype)
    wide[..., ::2, ::2, ::2] = array
    return wide[..., ::2, ::2, ::2]


def swapped(array):
    return array.astype(array.dtype.newbyteorder(">"))


#: Layouts of one array with all components.
ONE = {
    "components first": np.stack,
    "components last": lambda field: np.stack(field, -1),
    "a tuple": tuple,
    "every second value": lambda field: spread(np.stack(field)),
    "big-endian": lambda field: swapped(np.stack(field, -1)),
}
#: Layouts of three arrays.
THREE = {
    "every second value": lambda field: tuple(map(spread, field)),
    "in the order of Fortran": lambda field: tuple(c.copy("F") for c in field),
    "backwards": lambda field: tuple(c[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1] for c in field),
    "big-endian": lambda field: tuple(map(swapped, field)),
    "views of one array": lambda field: tuple(np.moveaxis(np.stack(field, -1), -1, 0)),
}


def results(first, other, fix):
    """What every function makes of a volume and another, u to w and u2 to w2 as keywords."""
    second = {name[0]: array for name, array in other.items()}
    return (
        factz.compress_volume(**first, abs=BOUND),
        factz.protect_volume(**first, **other, abs=BOUND),
        [c.tobytes() for c in factz.apply_volume(fix, **second)],
        factz.compare_volume(**first, **other, abs=BOUND),
        factz.critical_points_volume(**first, dz=-2.0).tolist(),
        factz.value_range_volume(**first),
    )


def three(arrays, names=("u", "v", "w")):
    return dict(zip(names, arrays))


OTHERS = ("u2", "v2", "w2")


class Arrays(unittest.TestCase):
    def test_layouts_give_the_same(self):
        for dtype in ("f4", "f8"):
            field = noise(dtype)
            other = moved(field)
            fix = factz.protect_volume(*field, *other, abs=BOUND)
            expected = results(three(field), three(other, OTHERS), fix)
            self.assertGreater(expected[3].violations, 0)
            self.assertEqual(factz.compare_volume(*field, *factz.apply_volume(fix, *other), abs=BOUND).violations, 0)
            for name, layout in ONE.items():
                with self.subTest(name, dtype=dtype):
                    self.assertEqual(results({"u": layout(field)}, {"u2": layout(other)}, fix), expected)
                    both = (layout(field), layout(other))
                    self.assertEqual(factz.protect_volume(*both, abs=BOUND), expected[1])
                    self.assertEqual(factz.compare_volume(*both, abs=BOUND), expected[3])
                    self.assertEqual(results(three(field), {"u2": layout(other)}, fix), expected)
                    self.assertEqual(results({"u": layout(field)}, three(other, OTHERS), fix), expected)
            for name, layout in THREE.items():
                with self.subTest(name, dtype=dtype):
                    self.assertEqual(results(three(layout(field)), three(layout(other), OTHERS), fix), expected)

    def test_outputs_of_different_layouts(self):
        field = noise()
        data = factz.compress_volume(*field, abs=BOUND)
        wide, dense = np.zeros((*field[0].shape, 7), "f4"), np.zeros_like(field[0])
        out = (wide[..., 6], wide[..., 1], dense)
        for found, values in zip(factz.decompress_volume(data, out=out), factz.decompress_volume(data)):
            self.assertEqual(found.tobytes(), values.tobytes())
        for shared in ((wide[..., 6], dense, wide[..., 6]), (wide[..., 0], wide[:, :, :, 0], dense)):
            with self.assertRaisesRegex(factz.InvalidArgumentError, "share values"):
                factz.decompress_volume(data, out=shared)

    def test_a_reconstruction_keeps_its_values(self):
        field = noise()
        other = np.stack(moved(field))
        before = other.copy()
        found = factz.apply_volume(factz.protect_volume(np.stack(field), u2=other, abs=BOUND), other)
        self.assertTrue((other == before).all() and (np.stack(found) != before).any())
        self.assertFalse(any(np.shares_memory(c, other) for c in found))

    def test_masked_arrays_are_refused_by_name(self):
        field = noise()
        fix = factz.protect_volume(*field, *field, abs=BOUND)
        masked = [np.ma.masked_less(c, -1.0) for c in field]
        whole = np.ma.masked_less(np.stack(field), -1.0)
        calls = {
            "compress": lambda **first: factz.compress_volume(**first, abs=BOUND),
            "protect": lambda **first: factz.protect_volume(**first, **three(field, OTHERS), abs=BOUND),
            "apply": lambda **first: factz.apply_volume(fix, **first),
            "compare": lambda **first: factz.compare_volume(**first, **three(field, OTHERS), abs=BOUND),
            "points": factz.critical_points_volume,
            "range": factz.value_range_volume,
        }
        for name, call in calls.items():
            with self.subTest(name):
                for k, component in enumerate("uvw"):
                    mixed = three([masked[j] if j == k else field[j] for j in range(3)])
                    with self.assertRaisesRegex(TypeError, "^%s is a masked array" % component):
                        call(**mixed)
                for array in (whole, np.moveaxis(whole, 0, -1), masked):
                    with self.assertRaisesRegex(TypeError, "^u is a masked array"):
                        call(u=array)
        for call in (factz.protect_volume, factz.compare_volume):
            with self.assertRaisesRegex(TypeError, "^u2 is a masked array"):
                call(np.stack(field), whole, abs=BOUND)
            with self.assertRaisesRegex(TypeError, "^u2 is a masked array"):
                call(*field, u2=whole, abs=BOUND)
            with self.assertRaisesRegex(TypeError, "^w2 is a masked array"):
                call(*field, *field[:2], masked[2], abs=BOUND)

    def test_missing_arrays_and_other_shapes_are_named(self):
        field = noise()
        whole, flat = np.stack(field), np.zeros((4, 6, 7), "f4")
        for call, error, text in [
            (lambda: factz.compare_volume(whole, abs=1), TypeError, "^u2 is missing: give u2, v2 and w2, or one array"),
            (lambda: factz.compare_volume(*field[:2], abs=1), TypeError, "^w is missing: give u, v and w, or one"),
            (lambda: factz.compare_volume(None, whole, abs=1), TypeError, "^u is missing"),
            (lambda: factz.compare_volume(whole, v=whole, w=whole, abs=1), ValueError, "^u, v and w must have one"),
            (lambda: factz.compare_volume(whole, v=whole, u2=whole, abs=1), TypeError, "^w is missing"),
            (lambda: factz.compare_volume(whole, *field, abs=1), ValueError, "^u, v and w must have one shape"),
            (lambda: factz.compare_volume(whole, flat, abs=1), ValueError, r"^u2 without .* of the shape \(4, 6, 7\)"),
            (lambda: factz.compare_volume(whole, whole[:, 1:], abs=1), ValueError, "^u2, v2 and w2 must have the shape"),
            (lambda: factz.protect_volume(whole, field[0], abs=1), ValueError, "^u2 without v2 and w2 must be an array"),
            (lambda: factz.protect_volume(*field, u2=whole, v2=field[1], abs=1), TypeError, "^w2 is missing"),
            (lambda: factz.protect_volume(*field, u2=whole, w2=field[2], abs=1), TypeError, "^v2 is missing"),
            (lambda: factz.critical_points_volume(None), TypeError, "^u is missing"),
            (lambda: factz.apply_volume(b"", flat), ValueError, r"^u without v and w .* not of the shape \(4, 6, 7\)"),
            (lambda: factz.compare_volume(whole, u2=flat, abs=1), ValueError, "^u2 without v2 and w2 must be an array"),
            (lambda: factz.value_range_volume(np.zeros((3, 4, 4, 3))), ValueError, r"^u of the shape .* may be"),
            (lambda: factz.compare_volume(whole, u2=np.zeros((3, 4, 4, 3)), abs=1), ValueError, "^u2 of the shape"),
        ]:
            with self.assertRaisesRegex(error, text):
                call()


if __name__ == "__main__":
    unittest.main()
