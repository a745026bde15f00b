//! Rows of vertices as the search for violated simplices reads them: the original and the values now, the strict
//! signs of both, and flags.

use super::values::{Values, UNCHANGED};
use crate::analysis::strict_signs::signs_of;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::missing::Missing;
use crate::runtime::memory;

/// The original has no data at a vertex.
pub const MISSING: u8 = 1;
/// The vertex has its original values.
pub const SAME: u8 = 2;

/// A row of vertices with N components.
pub struct Row<T, const N: usize> {
    values: [[Vec<T>; N]; 2],
    /// By component, u first: a bit if it is positive, and one if it is negative; the original's, then those now.
    pub signs: Vec<u16>,
    pub flags: Vec<u8>,
}

impl<T: Real, const N: usize> Row<T, N> {
    pub fn new(vertices: u64) -> Result<Self> {
        let n = vertices as usize;
        let mut values: [[Vec<T>; N]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| Vec::new()));
        for component in values.iter_mut().flatten() {
            *component = memory::filled(n, T::ZERO)?;
        }
        Ok(Row { values, signs: memory::filled(n, 0)?, flags: memory::filled(n, 0)? })
    }

    /// The components of the original (0) or of the values now (1).
    pub fn field(&self, which: usize) -> [&[T]; N] {
        slices(&self.values[which])
    }

    /// Loads row y of plane z. Where the row has room for one more vertex, it is the first one again.
    pub fn load(&mut self, missing: &Missing, values: &Values<'_, T, N>, z: u64, y: i64) {
        let grid = values.grid;
        let owned = grid.nx as usize;
        for (row, views) in self.values.iter_mut().zip([&values.original, &values.other]) {
            for (row, view) in row.iter_mut().zip(views) {
                view.plane(z).read_row(0, y, &mut row[..owned]);
            }
        }
        let first = (z * grid.ny + y as u64) * grid.nx;
        for x in (0..owned).filter(|&x| values.level(first + x as u64) != UNCHANGED) {
            let now = values.current(first + x as u64);
            self.values[1].iter_mut().zip(now).for_each(|(row, value)| row[x] = value);
        }
        if self.signs.len() > owned {
            self.values.iter_mut().flatten().for_each(|row| row[owned] = row[0]);
        }
        self.classify(missing);
    }

    fn classify(&mut self, missing: &Missing) {
        let Row { values: [original, now], signs, flags } = self;
        signs_of([slices(original), slices(now)], signs);
        flags.fill(SAME);
        for (a, b) in original.iter().zip(now.iter()) {
            // Written without branches, so that the compiler can use vector instructions.
            for (flags, (&a, &b)) in flags.iter_mut().zip(a.iter().zip(b)) {
                *flags = (*flags & !((a != b) as u8 * SAME)) | (!a.is_finite() as u8 * MISSING);
            }
        }
        if missing.has_fill() {
            for (x, flags) in flags.iter_mut().enumerate() {
                if missing.is_missing(original.each_ref().map(|row| row[x])) {
                    *flags |= MISSING;
                }
            }
        }
    }
}

fn slices<T, const N: usize>(field: &[Vec<T>; N]) -> [&[T]; N] {
    field.each_ref().map(|component| &component[..])
}
