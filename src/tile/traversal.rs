//! The order in which the vertices of a closed tile are visited, coarse to fine: along a lattice line, and
//! row by row through the interior. Encoder and decoder share it.

use crate::grid::tiles::{ANCHOR_LEVEL, TILE};
use crate::predict::interpolation::ROW;

/// Visits the vertices between the ends of a segment 0..=last, coarse to fine, as `visit(level, step, k)`.
/// Vertex `last` is visited too unless it is an anchor (32).
#[inline(always)]
pub(super) fn for_line(last: usize, mut visit: impl FnMut(usize, usize, usize)) {
    let inner = last.min(TILE - 1);
    for level in (0..ANCHOR_LEVEL).rev() {
        let step = 1 << level;
        let mut k = step;
        while k <= inner {
            visit(level, step, k);
            k += 2 * step;
        }
    }
}

/// Work on the rows of the interior.
pub(super) trait RowVisitor {
    /// Visits `count` vertices of row `y`, 2 STEP apart, from column `first_x` on; `position` is that of the
    /// first in the order of symbols. PHASE says where the neighbours are: along x (0), along y (1), or
    /// around (2).
    fn visit<const STEP: usize, const PHASE: usize>(
        &mut self,
        first_x: usize,
        y: usize,
        position: usize,
        count: usize,
    );
}

/// Visits the vertices that lie on no lattice line of a closed tile with the given last column and row.
#[inline(always)]
pub(super) fn for_interior(last: (usize, usize), visitor: &mut impl RowVisitor) {
    for_level::<16>(last, visitor);
    for_level::<8>(last, visitor);
    for_level::<4>(last, visitor);
    for_level::<2>(last, visitor);
    for_level::<1>(last, visitor);
}

#[inline(always)]
fn for_level<const STEP: usize>(last: (usize, usize), visitor: &mut impl RowVisitor) {
    for_phase::<STEP, 0>(last, visitor);
    for_phase::<STEP, 1>(last, visitor);
    for_phase::<STEP, 2>(last, visitor);
}

#[inline(always)]
fn for_phase<const STEP: usize, const PHASE: usize>(last: (usize, usize), visitor: &mut impl RowVisitor) {
    let inner = (last.0.min(TILE - 1), last.1.min(TILE - 1));
    let n = ROW / STEP;
    let first_x = if PHASE == 1 { 2 * STEP } else { STEP };
    let first_y = if PHASE == 0 { 2 * STEP } else { STEP };
    if inner.0 < first_x {
        return;
    }
    let count = (inner.0 - first_x) / (2 * STEP) + 1;
    let mut y = first_y;
    while y <= inner.1 {
        let position = n * n * (1 + PHASE) + y / (2 * STEP) * n + first_x / (2 * STEP);
        visitor.visit::<STEP, PHASE>(first_x, y, position, count);
        y += 2 * STEP;
    }
}
