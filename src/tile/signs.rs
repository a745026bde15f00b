//! The signs of the values of a window, as bits by row. Most vertices near the origin lie in triangles that
//! have a component of one sign both before and after the move of the vertex, so that no signature changes;
//! bit operations find them for a whole row at once.

use crate::grid::element::Real;
use crate::grid::mesh::{AROUND, NEIGHBOURS};
use crate::grid::tiles::FRAMED;
use crate::predict::interpolation::PITCH;
use crate::tile::window::{bits_of, TileWindow, FLAGS};

/// Columns where u > 0, u < 0, v > 0 and v < 0.
pub(super) type RowSigns = [u64; 4];

/// The signs of one vertex, a bit for each kind of [`RowSigns`].
#[inline(always)]
fn signs<T: Real>(u: T, v: T) -> u8 {
    let z = T::ZERO;
    (u > z) as u8 | ((u < z) as u8) << 1 | ((v > z) as u8) << 2 | ((v < z) as u8) << 3
}

/// The signs of vertices `step` columns apart, the first one in column `first`.
#[inline(always)]
pub(super) fn spread_signs<T: Real>([us, vs]: [&[T]; 2], first: usize, step: usize) -> RowSigns {
    let mut rows = [0; 4];
    for (i, (&u, &v)) in us.iter().zip(vs).enumerate() {
        let signs = signs(u, v);
        for (kind, row) in rows.iter_mut().enumerate() {
            *row |= ((signs >> kind & 1) as u64) << (first + i * step);
        }
    }
    rows
}

/// The signs of all rows of a window.
pub(super) struct Signs([RowSigns; FRAMED]);

impl Signs {
    pub(super) fn new<T: Real>(window: &TileWindow<T>) -> Self {
        let mut all = Signs([[0; 4]; FRAMED]);
        (0..window.height).for_each(|y| all.renew(window, y));
        all
    }

    /// Updates the signs of a row whose values have changed.
    pub(super) fn renew<T: Real>(&mut self, window: &TileWindow<T>, y: usize) {
        let (mut flags, row) = ([0u8; FLAGS], y * PITCH..y * PITCH + window.width);
        // Written without branches, so that the compiler can use vector instructions.
        for (x, (&u, &v)) in window.u[row.clone()].iter().zip(&window.v[row]).enumerate() {
            flags[x] = signs(u, v);
        }
        self.0[y] = [0, 1, 2, 3].map(|kind| bits_of(&flags, kind));
    }

    /// The vertices of row `y`, neither the first nor the last one, that have a component of one sign in all
    /// six triangles around them, both with their values of now and with those of the given signs.
    #[inline(always)]
    pub(super) fn one_sided_around(&self, y: usize, moved: &RowSigns) -> u64 {
        let [above, row, below] = [&self.0[y - 1], &self.0[y], &self.0[y + 1]];
        let (mut before, mut after) = ([0; AROUND], [0; AROUND]);
        for kind in 0..4 {
            let (at, rows) = (row[kind], [above[kind], row[kind], below[kind]]);
            let around = NEIGHBOURS.map(|[dx, dy]| match (rows[(1 + dy) as usize], dx) {
                (row, 1) => row >> 1,
                (row, -1) => row << 1,
                (row, _) => row,
            });
            for k in 0..AROUND {
                let pair = around[k] & around[(k + 1) % AROUND];
                before[k] |= pair & at;
                after[k] |= pair & moved[kind];
            }
        }
        (0..AROUND).fold(!0, |all, k| all & before[k] & after[k])
    }
}
