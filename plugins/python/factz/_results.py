"""Results of calls: plain Python objects, made of the structs of factz.h."""

import ctypes
import dataclasses
import enum
from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import _abi, _config


class PointType(enum.IntEnum):
    """Types of critical points, the values of ``point_type``. The last two lie on no inside of a triangle: their
    ``index`` tells more."""

    SADDLE = _abi.POINT_SADDLE
    ATTRACTING_NODE = _abi.POINT_ATTRACTING_NODE
    REPELLING_NODE = _abi.POINT_REPELLING_NODE
    ATTRACTING_FOCUS = _abi.POINT_ATTRACTING_FOCUS
    REPELLING_FOCUS = _abi.POINT_REPELLING_FOCUS
    CENTER = _abi.POINT_CENTER
    VERTEX_ZERO = _abi.POINT_VERTEX_ZERO
    EDGE_ZERO = _abi.POINT_EDGE_ZERO


class Simplex(enum.IntEnum):
    """What holds a critical point, the values of ``simplex``.

    LOWER is the triangle (x, y), (x+1, y), (x+1, y+1), UPPER (x, y), (x+1, y+1), (x, y+1); EDGE_X, EDGE_Y and
    DIAGONAL are the edges from (x, y) to (x+1, y), (x, y+1) and (x+1, y+1); VERTEX is (x, y) itself. x is
    ``cell_x``, y is ``cell_y``.
    """

    LOWER = _abi.SIMPLEX_LOWER
    UPPER = _abi.SIMPLEX_UPPER
    EDGE_X = _abi.SIMPLEX_EDGE_X
    EDGE_Y = _abi.SIMPLEX_EDGE_Y
    DIAGONAL = _abi.SIMPLEX_DIAGONAL
    VERTEX = _abi.SIMPLEX_VERTEX


class VolumePointType(enum.IntEnum):
    """Types of critical points of volumes, the values of ``point_type``. Those below 8 are the number of eigenvalues of
    the Jacobian with a negative real part, along which the field flows in, and 4 more if two are complex. A center has
    two with real parts of exactly 0. The last three lie on the boundary of tetrahedra: their ``index`` tells more."""

    REPELLING_NODE = _abi.VOLUME_POINT_REPELLING_NODE
    REPELLING_NODE_SADDLE = _abi.VOLUME_POINT_REPELLING_NODE_SADDLE
    ATTRACTING_NODE_SADDLE = _abi.VOLUME_POINT_ATTRACTING_NODE_SADDLE
    ATTRACTING_NODE = _abi.VOLUME_POINT_ATTRACTING_NODE
    REPELLING_FOCUS = _abi.VOLUME_POINT_REPELLING_FOCUS
    REPELLING_FOCUS_SADDLE = _abi.VOLUME_POINT_REPELLING_FOCUS_SADDLE
    ATTRACTING_FOCUS_SADDLE = _abi.VOLUME_POINT_ATTRACTING_FOCUS_SADDLE
    ATTRACTING_FOCUS = _abi.VOLUME_POINT_ATTRACTING_FOCUS
    REPELLING_CENTER = _abi.VOLUME_POINT_REPELLING_CENTER
    ATTRACTING_CENTER = _abi.VOLUME_POINT_ATTRACTING_CENTER
    VERTEX_ZERO = _abi.VOLUME_POINT_VERTEX_ZERO
    EDGE_ZERO = _abi.VOLUME_POINT_EDGE_ZERO
    FACE_ZERO = _abi.VOLUME_POINT_FACE_ZERO


#: The simplices that hold the critical points of volumes, by their number ``simplex``: the name of each. A simplex is a
#: path from the vertex (cell_x, cell_y, cell_z), and each part of the name after the first is a step that goes one further
#: along these axes: face_x_yz has the corners (x, y, z), (x+1, y, z) and (x+1, y+1, z+1).
VOLUME_SIMPLICES: Tuple[str, ...] = (
    *("tetrahedron_" + steps for steps in ("x_y_z", "x_z_y", "y_x_z", "y_z_x", "z_x_y", "z_y_x")),
    *("face_" + steps for steps in ("x_y", "x_z", "x_yz", "y_x", "y_z", "y_xz")),
    *("face_" + steps for steps in ("xy_z", "z_x", "z_y", "z_xy", "xz_y", "yz_x")),
    *("edge_" + step for step in ("x", "y", "xy", "z", "xz", "yz", "xyz")),
    "vertex",
)


#: The ``index`` of a zero at the border of the grid or beside missing vertices, where it is not defined.
INDEX_UNDEFINED = _abi.INDEX_UNDEFINED


def _values(kind: Any, found: Any) -> Dict[str, Any]:
    """The fields of a dataclass that a struct has under the same name."""
    names = [field.name for field in dataclasses.fields(kind)]
    return {name: getattr(found, name) for name in names if hasattr(found, name)}


#: The elements of the array that :func:`factz.critical_points` returns.
CRITICAL_POINT = np.dtype(_abi.CriticalPoint)


_PLACE = ["cell_x", "cell_y", "cell_z", "x", "y", "z", "simplex", "dimension", "point_type", "index"]
#: The elements of the array that :func:`factz.critical_points_volume` returns.
VOLUME_POINT = np.dtype(
    {
        "names": _PLACE,
        "formats": [np.dtype(_abi.VolumePoint)[name] for name in _PLACE],
        "offsets": [getattr(_abi.VolumePoint, name).offset for name in _PLACE],
        "itemsize": ctypes.sizeof(_abi.VolumePoint),
    }
)


@dataclasses.dataclass
class Report:
    """The outcome of a compression or decompression.

    Attributes:
        stream_bytes: bytes of the compressed data.
        exact_vertices: vertices stored bit for bit because no lossy value could be certified.
        nonfinite_vertices: vertices with a NaN or an infinity; they are stored bit for bit.
        zero_vertices: vertices with u = v = 0 that are not filled; they stay zero.
        points_in_triangles: critical points of the field that lie strictly inside triangles, without those at
            vertices and on edges (:func:`factz.critical_points` lists all); 0 with ``preserve="none"`` and after
            decompression.
        bound: the absolute bound that was applied, in the unit of the field.
        max_error: largest \\|decompressed - original\\| of all finite values; 0 after decompression.
        filled_vertices: finite vertices with the fill value.
        wide_range: whether outliers make the range that a relative bound refers to.
    """

    stream_bytes: int = 0
    exact_vertices: int = 0
    nonfinite_vertices: int = 0
    zero_vertices: int = 0
    points_in_triangles: int = 0
    bound: float = 0.0
    max_error: float = 0.0
    filled_vertices: int = 0
    wide_range: bool = False

    def _take(self, found: _abi.Report) -> "Report":
        vars(self).update(_values(Report, found))
        self.wide_range = found.warnings & _abi.WARNING_WIDE_RANGE != 0
        return self


@dataclasses.dataclass(frozen=True)
class Info:
    """The header of compressed data.

    Attributes:
        shape: of u and of v: (ny, nx), or (nz, ny, nx) of a stack of several planes.
        dtype: their element type.
        stream_bytes: bytes of the compressed data.
        format_version: version of the format.
        abs: the absolute bound as it was given, or None where it was a relative one.
        rel: the relative bound as it was given, or None.
        absolute_bound: the absolute bound that was applied, in the unit of the field.
        mode, coder, predictor, preserve, ties, dx, dy: as in :func:`factz.compress`.
        fill: the fill value of the field, or None.
        dz: the spacing along z of a volume; 1 of planes.
        periodic: the periodic axes, for instance "x" or "xy", or None.
        component: "u" or "v" of data of that component alone (:func:`factz.split`), "uvw" of a volume
            (:func:`factz.compress_volume`), or None.
    """

    shape: Tuple[int, ...]
    dtype: np.dtype
    stream_bytes: int
    format_version: int
    abs: Optional[float]
    rel: Optional[float]
    absolute_bound: float
    mode: str
    coder: str
    predictor: str
    preserve: str
    ties: str
    dx: float
    dy: float
    dz: float
    fill: Optional[float]
    periodic: Optional[str]
    component: Optional[str]

    @staticmethod
    def shape_of(i: _abi.Info) -> Tuple[int, ...]:
        return (i.nz, i.ny, i.nx) if i.nz > 1 else (i.ny, i.nx)

    @classmethod
    def _of(cls, i: _abi.Info) -> "Info":
        absolute = i.bound_kind == _abi.BOUND_ABSOLUTE
        values = _values(cls, i)
        for option, names in _config.CHOICES.items():
            values[option] = _config.name_of(values[option], names)
        values.update(
            shape=cls.shape_of(i),
            dtype=np.dtype(_config.name_of(i.dtype, _config.DTYPES)),
            abs=i.bound if absolute else None,
            rel=None if absolute else i.bound,
            fill=i.fill_value if i.has_fill_value else None,
            periodic=_config.axes_named(i.periodic),
            component=_config.COMPONENTS[i.component],
        )
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How a field differs from another. Vertices with a NaN, an infinity or the fill value are missing.

    Attributes:
        violations: what must be 0 after compression with ``preserve="types"``: the sum of lost_points,
            spurious_points and changed_types inside triangles, changed_ties, new_ties, changed_missing and
            bound_exceeded. Zeros at vertices and on edges take part by their ties.
        critical_points, other_critical_points: of the first and of the other field.
        lost_points: triangles, edges and vertices with a critical point in the first field only.
        spurious_points: those with a critical point in the other field only.
        changed_types: those with critical points of different types or indices.
        lost_zeros, spurious_zeros, changed_indices: of these three, zeros at vertices and on edges.
        ties: triangles of the first field whose zero lies on an edge or at a vertex.
        changed_ties: those that are none in the other field, or where a sign differs.
        new_ties: ties of the other field only.
        nonfinite_vertices: vertices of the first field with a NaN or an infinity.
        changed_missing: missing vertices that are not the same bit for bit, and others that are not finite in
            the other field.
        zero_vertices: vertices of the first field with u = v = 0.
        changed_zero_vertices: vertices with u = v = 0 in one field only.
        bound_exceeded: values with \\|other - first\\| above the bound, compared exactly.
        bound: the absolute bound that was checked, in the unit of the field.
        max_error: largest \\|other - first\\| of values that are finite in both.
        psnr: peak signal-to-noise ratio in dB; infinite where nothing differs.
        points_by_type: the first field's critical points of each type.
        filled_vertices: finite vertices of the first field with the fill value.
    """

    violations: int
    critical_points: int
    other_critical_points: int
    lost_points: int
    spurious_points: int
    changed_types: int
    ties: int
    changed_ties: int
    new_ties: int
    nonfinite_vertices: int
    changed_missing: int
    zero_vertices: int
    changed_zero_vertices: int
    bound_exceeded: int
    bound: float
    max_error: float
    psnr: float
    points_by_type: Dict[PointType, int]
    filled_vertices: int
    lost_zeros: int
    spurious_zeros: int
    changed_indices: int

    @classmethod
    def _of(cls, found: _abi.Comparison) -> "Comparison":
        values = _values(cls, found)
        values["points_by_type"] = {kind: found.points_by_type[kind] for kind in PointType}
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class VolumeComparison:
    """How a volume differs from another. The attributes are those of :class:`Comparison`, with tetrahedra in place of
    triangles, zeros at vertices, on edges and on faces, and vertices with u = v = w = 0.

    Attributes:
        violations: what must be 0 after compression with ``preserve="types"``.
        changed_ties: with ``ties="all"`` those where the sign of a determinant, of a component or of a 2 x 2 minor
            differs.
        points_by_type: the first volume's critical points of each :class:`VolumePointType`.
    """

    violations: int
    critical_points: int
    other_critical_points: int
    lost_points: int
    spurious_points: int
    changed_types: int
    ties: int
    changed_ties: int
    new_ties: int
    nonfinite_vertices: int
    changed_missing: int
    zero_vertices: int
    changed_zero_vertices: int
    bound_exceeded: int
    bound: float
    max_error: float
    psnr: float
    points_by_type: Dict[VolumePointType, int]
    filled_vertices: int
    lost_zeros: int
    spurious_zeros: int
    changed_indices: int

    @classmethod
    def _of(cls, found: _abi.VolumeComparison) -> "VolumeComparison":
        values = _values(cls, found)
        values["points_by_type"] = {kind: found.points_by_type[kind] for kind in VolumePointType}
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Range:
    """The range of the values of a field, u and v together.

    Attributes:
        low, high: least and largest finite value of the vertices that are not filled; (inf, -inf) where there
            is none.
        nonfinite_vertices: vertices with a NaN or an infinity.
        filled_vertices: finite vertices with the fill value.
        zero_vertices: vertices with u = v = 0 that are not filled.
    """

    low: float
    high: float
    nonfinite_vertices: int
    filled_vertices: int
    zero_vertices: int

    @classmethod
    def _of(cls, found: _abi.Range) -> "Range":
        return cls(**_values(cls, found))


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How much memory calls on a device need.

    Attributes:
        max_stream_bytes: bytes that hold the compressed data of any field with these options.
        workspace_bytes: bytes of workspace of the compression or decompression.
        analysis_workspace_bytes: bytes of workspace of :func:`factz.compare`, :func:`factz.critical_points`
            and :func:`factz.value_range`.
        report_bytes: bytes of a report.
        alignment: of all of them, in bytes.
    """

    max_stream_bytes: int
    workspace_bytes: int
    analysis_workspace_bytes: int
    report_bytes: int
    alignment: int

    @classmethod
    def _of(cls, found: _abi.Sizes) -> "Sizes":
        return cls(report_bytes=ctypes.sizeof(_abi.Report), **_values(cls, found))


@dataclasses.dataclass
class FixReport:
    """The outcome of :func:`factz.protect` or :func:`factz.apply`, or of their twins for volumes.

    Attributes:
        fix_bytes: bytes of the fix.
        repaired_vertices: vertices whose values the fix replaces.
        exact_vertices: of these, vertices that take the bits of the original.
        violated_triangles: triangles, of a volume tetrahedra, of the reconstruction that do not keep what was
            asked for; 0 after applying.
        rounds: rounds of repair; 0 after applying.
        bound: the absolute bound, in the unit of the field.
        max_error: largest \\|reconstruction - original\\| where the original has data.
    """

    fix_bytes: int = 0
    repaired_vertices: int = 0
    exact_vertices: int = 0
    violated_triangles: int = 0
    rounds: int = 0
    bound: float = 0.0
    max_error: float = 0.0

    def _take(self, found: _abi.FixReport) -> "FixReport":
        vars(self).update(_values(FixReport, found))
        return self


@dataclasses.dataclass(frozen=True)
class FixInfo:
    """The header of a fix.

    Attributes:
        shape: of u and of v: (ny, nx), or (nz, ny, nx) of a stack of several planes and of a volume.
        dtype: their element type.
        components: 2, or 3 of a volume.
        fix_bytes: bytes of the fix.
        format_version: version of the format of fixes.
        abs: the absolute bound as it was given, or None where it was a relative one.
        rel: the relative bound as it was given, or None.
        absolute_bound: the absolute bound, in the unit of the field.
        max_error, repaired_vertices, exact_vertices: as in :class:`FixReport`.
        preserve, ties, dx, dy: as in :func:`factz.protect`.
        dz: the spacing along z of a volume; 1 of planes.
        fill: the fill value of the field, or None.
        periodic: the periodic axes, for instance "xy", or None.
        reconstruction_checksum: of the reconstruction that the fix belongs to.
    """

    shape: Tuple[int, ...]
    dtype: np.dtype
    components: int
    fix_bytes: int
    format_version: int
    abs: Optional[float]
    rel: Optional[float]
    absolute_bound: float
    max_error: float
    repaired_vertices: int
    exact_vertices: int
    preserve: str
    ties: str
    dx: float
    dy: float
    dz: float
    fill: Optional[float]
    periodic: Optional[str]
    reconstruction_checksum: int

    @classmethod
    def _of(cls, i: _abi.FixInfo) -> "FixInfo":
        absolute = i.bound_kind == _abi.BOUND_ABSOLUTE
        values = _values(cls, i)
        for option in ("preserve", "ties"):
            values[option] = _config.name_of(values[option], _config.CHOICES[option])
        values.update(
            shape=(i.nz, i.ny, i.nx) if i.nz > 1 else (i.ny, i.nx),
            dtype=np.dtype(_config.name_of(i.dtype, _config.DTYPES)),
            abs=i.bound if absolute else None,
            rel=None if absolute else i.bound,
            fill=i.fill_value if i.has_fill_value else None,
            periodic=_config.axes_named(i.periodic),
        )
        return cls(**values)
