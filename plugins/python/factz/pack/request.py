"""The options of compression of a call, checked before a file is touched."""

import dataclasses
from typing import Any, Dict, Optional, Tuple

from .._config import count_of, float_of
from .arguments import LAYOUTS, PERIODIC
from .coordinates import Grid
from .failure import PackError


@dataclasses.dataclass
class Request:
    """The options of :func:`factz.pack.pack` that are those of compression."""

    abs: Optional[float] = None
    rel: Optional[float] = None
    mode: str = "block"
    coder: str = "ans"
    predictor: str = "hierarchical"
    preserve: str = "types"
    ties: str = "all"
    dx: Optional[float] = None
    dy: Optional[float] = None
    fill: Optional[float] = None
    periodic: str = "auto"
    chunk: Optional[Tuple[int, int]] = None
    allow_wide_range: bool = False
    layout: str = LAYOUTS[0]

    def check(self) -> None:
        from .. import hdf5

        if self.periodic not in PERIODIC:
            raise PackError("periodic=%r is none of %s" % (self.periodic, ", ".join(PERIODIC)))
        if self.layout not in LAYOUTS:
            raise PackError("layout=%r is none of %s" % (self.layout, ", ".join(LAYOUTS)))
        if self.chunk is not None:
            ny, nx = self.chunk
            self.chunk = (count_of("chunk[0]", ny, 1), count_of("chunk[1]", nx, 1))
        # Everything else is checked by the library, here with a spacing that any grid may have.
        hdf5.options(**self._options(), abs=self.abs, rel=self.rel, dx=self.dx or 1.0, dy=self.dy or 1.0)
        for name in ("dx", "dy"):
            if getattr(self, name) is not None and not float_of(name, getattr(self, name)):
                raise PackError("%s=0: give the spacing, negative where the axis runs backwards" % name)

    def _options(self) -> Dict[str, Any]:
        names = ("mode", "coder", "predictor", "preserve", "ties")
        return {name: getattr(self, name) for name in names}

    def chunk_of(self, field: Tuple[int, int]) -> Tuple[int, int]:
        ny, nx = self.chunk or field
        return min(ny, field[0]), min(nx, field[1])

    def kept_axes(self, grid: Grid, field: Tuple[int, int]) -> str:
        """The periodic axes of a grid along which chunks end where the field does."""
        lengths = dict(zip("yx", zip(field, self.chunk_of(field))))
        return "".join(axis for axis in grid.periodic if lengths[axis][0] % lengths[axis][1] == 0)

    def seam_warning(self, grid: Grid, field: Tuple[int, int]) -> Optional[str]:
        """The line for people where the seam of a periodic axis is not kept."""
        lost = [axis for axis in grid.periodic if axis not in self.kept_axes(grid, field)]
        if not lost or self.preserve == "none":
            return None
        return (
            "warning: chunks of %d x %d do not divide the field of %d x %d along %s: the critical points between"
            " its last and its first value may change"
            % (*reversed(self.chunk_of(field)), *reversed(field), " and ".join(lost))
        )

    def filter(
        self, bound: float, grid: Grid, fill: Optional[float], field: Tuple[int, int]
    ) -> Dict[str, Any]:
        """The arguments of h5py's create_dataset for a pair."""
        from .. import hdf5

        return hdf5.options(
            **self._options(),
            periodic=self.kept_axes(grid, field) or None,
            abs=bound,
            dx=grid.dx,
            dy=grid.dy,
            fill=fill,
            field=field,
        )
