//! The cubes of a volume, row by row, and those of their tetrahedra that signs do not settle.

use super::super::differences::{Row, PRESENT};
use super::super::Domain;
use crate::analysis::strict_signs::{open_tetrahedra, signs_of};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tetrahedra::{Vectors, CUBE, TETRAHEDRA};
use crate::runtime::memory;
use crate::topology::tetrahedron::VolumeRule;
use std::ops::Range;

/// A row of vertices, and their strict signs: the first field's, then the last one's.
struct Line<T, const F: usize> {
    row: Row<T, 3, F>,
    signs: Vec<u16>,
}

/// The cubes that begin in one row of a plane: row y and row y + 1 of the plane, then those of the next plane.
pub(super) struct Layer<'a, T, const F: usize> {
    domain: &'a Domain<VolumeRule>,
    /// The views of planes z and z + 1; at the end of the volume of plane z alone.
    planes: [Option<[[View<'a, T>; 3]; F]>; 2],
    z: i64,
    lines: [Line<T, F>; 4],
    open: Vec<u8>,
}

impl<T: Real, const F: usize> Line<T, F> {
    fn new(columns: u64) -> Result<Self> {
        Ok(Line { row: Row::new(columns)?, signs: memory::filled(columns as usize, 0)? })
    }

    fn load(&mut self, domain: &Domain<VolumeRule>, views: &Option<[[View<'_, T>; 3]; F]>, y: i64) {
        let Some(views) = views else { return };
        self.row.load(domain, views, y);
        signs_of([self.row.field(0), self.row.field(F - 1)], &mut self.signs);
    }
}

/// The planes and the rows that a band of rows of plane `z` looks at the cubes of: its own, and before the
/// first ones those of ghosts, whose cubes surround vertices of the band.
pub(super) fn with_ghosts_before(
    domain: &Domain<VolumeRule>,
    z: u64,
    band: Range<u64>,
) -> (Range<i64>, Range<i64>) {
    let from = |first: u64, axis: usize| if first == 0 { domain.first[axis] } else { first as i64 };
    (from(z, 2)..z as i64 + 1, from(band.start, 1)..band.end as i64)
}

impl<'a, T: Real, const F: usize> Layer<'a, T, F> {
    /// The cubes between plane `z` and the next; `first` is the first row that will be asked for.
    pub fn new(
        domain: &'a Domain<VolumeRule>,
        views: &[[View<'a, T>; 3]; F],
        z: i64,
        first: i64,
    ) -> Result<Self> {
        let [columns, _, planes] = domain.cubes();
        let [_, _, above] = domain.grid.wrapped_in_volume([0, 0, z + 1]);
        let plane = |z: i64| views.map(|views| views.map(|view| view.plane_of_volume(z)));
        let line = || Line::new(domain.row_length());
        let mut layer = Layer {
            domain,
            planes: [Some(plane(z)), planes.contains(&z).then(|| plane(above))],
            z,
            lines: [line()?, line()?, line()?, line()?],
            open: memory::filled(columns.count(), 0)?,
        };
        layer.load_far(first);
        Ok(layer)
    }

    /// Loads the lines of row `y` that lie behind the cubes.
    fn load_far(&mut self, y: i64) {
        let [_, low, _, high] = &mut self.lines;
        for (line, views) in [low, high].into_iter().zip(&self.planes) {
            line.load(self.domain, views, y);
        }
    }

    /// Goes to row `y`, which follows the one before it or is the first. The answer is the row of vertices.
    pub fn advance(&mut self, y: i64) -> &Row<T, 3, F> {
        self.lines.swap(0, 1);
        self.lines.swap(2, 3);
        if self.has_cubes(y) || y + 1 < self.domain.grid.ny as i64 {
            self.load_far(y + 1);
        }
        &self.lines[0].row
    }

    fn has_cubes(&self, y: i64) -> bool {
        self.planes[1].is_some() && self.domain.cubes()[1].contains(&y)
    }

    /// Visits the tetrahedra of the cubes of row `y` that signs do not settle in all fields: the cube, the number of
    /// the tetrahedron there, and its vectors in each field.
    pub fn for_open(
        &mut self,
        y: i64,
        mut visit: impl FnMut([i64; 3], usize, [Vectors<T>; F]) -> Result<()>,
    ) -> Result<()> {
        if !self.has_cubes(y) {
            return Ok(());
        }
        let Layer { domain, lines, open, z, .. } = self;
        let rows = lines.each_ref().map(|line| (&line.signs[..], &line.row.flags[..]));
        open_tetrahedra(rows, |_, all| all & PRESENT == 0, open);
        let fields = lines.each_ref().map(|line| std::array::from_fn::<_, F, _>(|f| line.row.field(f)));
        for (x, &open) in open.iter().enumerate().filter(|(_, open)| **open != 0) {
            for t in (0..TETRAHEDRA).filter(|t| open >> t & 1 != 0) {
                let vectors = std::array::from_fn(|f| {
                    CUBE[t].map(|corner| fields[corner >> 1][f].map(|c| c[x + (corner & 1)]))
                });
                visit([x as i64 + domain.first[0], y, *z], t, vectors)?;
            }
        }
        Ok(())
    }
}
