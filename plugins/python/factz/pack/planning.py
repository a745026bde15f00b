"""How a pair is compressed: from the options of a call and the coordinates of the file."""

from typing import Callable, Iterator, Optional, Tuple

import numpy as np

from .coordinates import Grid, find_grid
from .fields import find_bound
from .packed import Plan
from .pairs import Pair
from .progress import Progress
from .request import Request
from .values import Component, fill_value_of

Say = Callable[[str], None]


def plan_of(pair: Pair, request: Request, say: Say, quiet: bool) -> Tuple[Plan, Grid]:
    """Decides how a pair is compressed, and tells the user in a few lines."""
    grid = find_grid(pair.u.dataset, request.dx, request.dy, request.periodic)
    fill = pair.fill(request.fill)
    bound = request.abs
    if bound is None:
        progress = Progress("range of " + pair.text, pair.fields, quiet)
        bound = find_bound(pair, request.rel or 0.0, fill, request.allow_wide_range, progress.step)
        progress.end()
    field = (pair.shape[-2], pair.shape[-1])
    options = request.filter(float(bound), grid, fill, field)
    plan = Plan(pair, float(bound), fill, _unwritten(pair, fill), request.chunk_of(field), options)
    for line in _notes(plan, grid, request):
        say(line)
    return plan, grid


def _unwritten(pair: Pair, fill: Optional[float]) -> Optional[float]:
    """The value of fields that nobody wrote."""
    own = None if pair.u.packed else fill_value_of(pair.u.dataset)
    return fill if own is None else float(own)


def _notes(plan: Plan, grid: Grid, request: Request) -> Iterator[str]:
    pair, bound = plan.pair, plan.bound
    sizes = " x ".join(map(str, pair.shape))
    yield "%s: %s of %s, bound %g" % (pair.text, sizes, pair.u.dtype, bound)
    if request.rel is not None:
        yield "  the bound is %g of the range of all fields" % request.rel
    for note in grid.notes + [request.seam_warning(grid, pair.shape[-2:])]:
        if note:
            yield "  " + note
    if plan.fill is not None:
        yield "  missing data: %g" % plan.fill
    if pair.u.packed:
        yield "  packed values (%s) become %s" % (pair.u.dataset.dtype, pair.u.dtype)
    for component in pair:
        yield from _warnings(component, bound)


def _warnings(component: Component, bound: float) -> Iterator[str]:
    name = component.dataset.name.lstrip("/")
    if component.scale and bound < component.scale / 2:
        yield (
            "warning: the bound %g is below half the step of the packed values of %s, %g: they are not"
            " that accurate; --abs %g makes the file smaller"
            % (bound, name, component.scale, component.scale / 2)
        )
    if "factz_abs_error" in component.dataset.attrs:
        yield (
            "warning: the values of %s have an error of up to %s by an earlier compression: errors add up"
            % (name, np.ravel(component.dataset.attrs["factz_abs_error"])[0])
        )
    valid = [key for key in ("valid_min", "valid_max", "valid_range") if key in component.dataset.attrs]
    if valid and not component.packed:
        yield (
            "warning: %s has %s: readers that apply it may see values as missing that an error moves out"
            " of this range" % (name, " and ".join(valid))
        )
