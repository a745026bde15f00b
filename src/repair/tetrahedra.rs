//! The tetrahedra of a volume, and the search for those that do not keep their signature.

use super::mesh::Mesh;
use super::row::{Row, MISSING, SAME};
use super::values::{place, Refiner, Values};
use crate::analysis::in_bands;
use crate::analysis::strict_signs::open_tetrahedra;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::sides::{is_on_sides, periodic_sides, sides_beyond_volume, SIDE_X_MAX, SIDE_X_MIN};
use crate::grid::tetrahedra::{offset, Incident, CUBE, STAR, STEPS, TETRAHEDRA, VERTICES};
use crate::grid::tiles::Grid;
use crate::grid::volume_tiles::VolumeGrid;
use crate::request::{Preserve, VolumeRequest};
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::topology::tetrahedron::{one_sided, signature, stays, VolumeRule};
use crate::topology::tetrahedron_bound::tetrahedron_bound;
use std::cell::OnceCell;
use std::ops::Range;

/// The tetrahedra of a volume. Tetrahedron t of the cube at vertex number n has the number 6 n + t.
pub struct Tetrahedra<'a, T> {
    pub grid: Grid,
    /// With the ghosts of the sides in `halo`.
    pub original: [View<'a, T>; 3],
    pub missing: Missing,
    pub rule: VolumeRule,
    /// The largest error of the reconstruction.
    pub radius: f64,
    /// Sides with ghosts; the tetrahedra that reach over them keep what they must, whatever becomes of the ghosts.
    pub halo: u32,
    /// Sides whose vertices are exact.
    pub pin: u32,
}

/// The rows of a layer of cubes: row y and row y + 1 of a plane, then those of the next plane.
struct Rows<T>([Row<T, 3>; 4]);

impl<T: Real> Rows<T> {
    fn new(columns: u64) -> Result<Self> {
        let row = || Row::new(columns);
        Ok(Rows([row()?, row()?, row()?, row()?]))
    }

    /// The vectors at the corners of a tetrahedron of cube x, in the original (0) or now (1).
    fn vectors(&self, which: usize, x: usize, tetrahedron: usize) -> [[T; 3]; VERTICES] {
        CUBE[tetrahedron].map(|corner| {
            let field = self.0[corner >> 1].field(which);
            field.map(|component| component[x + (corner & 1)])
        })
    }
}

impl<'a, T: Real> Tetrahedra<'a, T> {
    /// The tetrahedra of a volume, with the rule of a configuration.
    pub fn new(request: &VolumeRequest, original: [View<'a, T>; 3], radius: f64) -> Self {
        let config = request.config();
        Tetrahedra {
            grid: request.grid(),
            original,
            missing: Missing::new::<T>(config.fill_value),
            rule: VolumeRule::of(config),
            radius,
            halo: if config.preserve == Preserve::None { 0 } else { config.halo },
            pin: config.pin,
        }
    }

    fn of(simplex: u64) -> (u64, usize) {
        (simplex / TETRAHEDRA as u64, (simplex % TETRAHEDRA as u64) as usize)
    }

    fn at(&self, vertex: u64) -> [i64; 3] {
        let (z, [x, y]) = place(self.grid, vertex);
        [x, y, z as i64]
    }

    /// The bound of a tetrahedron around a vertex, if it reaches over a side with ghosts and keeps something.
    fn bound_over_sides(&self, at: [i64; 3], incident: &Incident) -> Option<T> {
        let corners = CUBE[incident.tetrahedron].map(|corner| {
            let offset = offset(corner);
            [0, 1, 2].map(|k| at[k] + incident.cube[k] + offset[k])
        });
        let outside = corners.iter().fold(0, |sides, &at| sides | sides_beyond_volume(self.grid, at));
        // A tetrahedron exists where all the sides that it reaches over have ghosts, or vertices at the other end.
        if outside & self.halo == 0 || outside & !(self.halo | periodic_sides(self.grid.periodic)) != 0 {
            return None;
        }
        let p = corners.map(|at| self.grid.wrapped_in_volume(at));
        let p = p.map(|at| self.original.map(|view| view.get_in_volume(at)));
        let is_missing = p.iter().any(|&vertex| self.missing.is_missing(vertex));
        (!is_missing).then(|| tetrahedron_bound(&p, STEPS[incident.tetrahedron], &self.rule, self.radius))
    }

    /// Counts the tetrahedra of a field that hold a critical point.
    pub fn points(&self, threads: Threads) -> Result<u64> {
        let radii = Refiner { radius: 0.0 };
        let values = Values::new(self.grid, self.original, self.original, (0.0, &radii))?;
        let counts = in_bands(self.grid, threads, |z, rows| self.points_in_band(&values, z, rows))?;
        Ok(counts.into_iter().sum())
    }

    fn load(&self, row: &mut Row<T, 3>, values: &Values<'_, T, 3>, y: u64, z: u64) {
        let [_, y, z] = self.grid.wrapped_in_volume([0, y as i64, z as i64]);
        row.load(&self.missing, values, z as u64, y);
    }

    /// The violated tetrahedra of the cubes that begin in some rows of a plane.
    fn violated_in_band(&self, values: &Values<'_, T, 3>, z: u64, band: Range<u64>) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        self.for_open(
            values,
            (z, band),
            SAME,
            |simplex, [before, after]| match Mesh::<T, 3, VERTICES>::keeps(self, simplex, &before, &after) {
                true => Ok(()),
                false => memory::push(&mut found, simplex),
            },
        )?;
        Ok(found)
    }

    /// Counts the tetrahedra of these cubes that hold a critical point of the original.
    fn points_in_band(&self, values: &Values<'_, T, 3>, z: u64, band: Range<u64>) -> Result<u64> {
        let mut points = 0;
        self.for_open(values, (z, band), 0, |simplex, [before, _]| {
            points += signature(&before, STEPS[Self::of(simplex).1], &self.rule).is_critical() as u64;
            Ok(())
        })?;
        Ok(points)
    }

    /// Visits the tetrahedra, of the cubes that begin in some rows of a plane, that signs do not settle, with the
    /// vectors of the original and those now.
    fn for_open(
        &self,
        values: &Values<'_, T, 3>,
        (z, band): (u64, Range<u64>),
        settled: u8,
        mut visit: impl FnMut(u64, [[[T; 3]; VERTICES]; 2]) -> Result<()>,
    ) -> Result<()> {
        let [columns, rows, planes] = self.grid.cubes();
        if z >= planes {
            return Ok(());
        }
        let mut layer = Rows::new(columns + 1)?;
        let mut open = memory::filled(columns as usize, 0u8)?;
        let [_, low, _, high] = &mut layer.0;
        self.load(low, values, band.start, z);
        self.load(high, values, band.start, z + 1);
        for y in band.start..rows.min(band.end) {
            layer.0.swap(0, 1);
            layer.0.swap(2, 3);
            let [_, low, _, high] = &mut layer.0;
            self.load(low, values, y + 1, z);
            self.load(high, values, y + 1, z + 1);
            let rows = layer.0.each_ref().map(|row| (&row.signs[..], &row.flags[..]));
            // A vertex is missing, or all have one of the flags.
            open_tetrahedra(rows, |any, all| any & MISSING != 0 || all & settled != 0, &mut open);
            for (x, &open) in open.iter().enumerate().filter(|(_, open)| **open != 0) {
                let cube = self.grid.number([x as i64, y as i64, z as i64]);
                for t in (0..TETRAHEDRA).filter(|t| open >> t & 1 != 0) {
                    visit(
                        cube * TETRAHEDRA as u64 + t as u64,
                        [0, 1].map(|which| layer.vectors(which, x, t)),
                    )?;
                }
            }
        }
        Ok(())
    }
}

impl<T: Real> Mesh<T, 3, VERTICES> for Tetrahedra<'_, T> {
    const OF_CELL: u64 = TETRAHEDRA as u64;

    fn corners(&self, simplex: u64) -> [u64; VERTICES] {
        let (base, t) = Self::of(simplex);
        let at = self.at(base);
        CUBE[t].map(|corner| {
            let offset = offset(corner);
            self.grid.number(self.grid.wrapped_in_volume([0, 1, 2].map(|k| at[k] + offset[k])))
        })
    }

    #[inline(always)]
    fn any_around(&self, vertex: u64, mut test: impl FnMut(u64) -> bool) -> bool {
        let (at, cubes, sizes) = (self.at(vertex), self.grid.cubes(), self.grid.sizes());
        if (0..3).all(|k| (1..sizes[k] as i64 - 1).contains(&at[k])) {
            let [dx, dy] = [1, self.grid.nx as i64];
            let dz = dy * self.grid.ny as i64;
            return STAR.iter().any(|&Incident { cube: [x, y, z], tetrahedron }| {
                let cube = vertex.wrapping_add_signed(x * dx + y * dy + z * dz);
                test(cube * TETRAHEDRA as u64 + tetrahedron as u64)
            });
        }
        STAR.iter().any(|incident| {
            let cube = self.grid.wrapped_in_volume([0, 1, 2].map(|k| at[k] + incident.cube[k]));
            (0..3).all(|k| (0..cubes[k] as i64).contains(&cube[k]))
                && test(self.grid.number(cube) * TETRAHEDRA as u64 + incident.tetrahedron as u64)
        })
    }

    fn is_missing(&self, original: [T; 3]) -> bool {
        self.missing.is_missing(original)
    }

    fn keeping<'b>(
        &'b self,
        simplex: u64,
        before: &'b [[T; 3]; VERTICES],
    ) -> impl Fn(&[[T; 3]; VERTICES]) -> bool + 'b {
        let (steps, is_one_sided) = (STEPS[Self::of(simplex).1], one_sided(before));
        let kept = OnceCell::new();
        move |after| {
            if before == after || (is_one_sided && one_sided(after)) {
                return true;
            }
            let kept = kept.get_or_init(|| signature(before, steps, &self.rule));
            stays(*kept, signature(after, steps, &self.rule))
        }
    }

    fn border_bound(&self, vertex: u64) -> T {
        let at = self.at(vertex);
        let is_on = |sides| is_on_sides(self.grid, at.map(|k| k as u64), sides);
        if is_on(self.pin) {
            return T::ZERO;
        }
        if !is_on(self.halo) {
            return T::MAX;
        }
        let bounds = STAR.iter().filter_map(|incident| self.bound_over_sides(at, incident));
        bounds.fold(T::MAX, |least, bound| least.min(bound))
    }

    fn on_sides(&self, mut visit: impl FnMut(u64)) {
        let (grid, sides) = (self.grid, self.halo | self.pin);
        for row in 0..if sides == 0 { 0 } else { grid.ny * grid.nz } {
            let (y, z) = (row % grid.ny, row / grid.ny);
            let whole_row = is_on_sides(grid, [0, y, z], sides & !(SIDE_X_MIN | SIDE_X_MAX));
            let step = if whole_row { 1 } else { grid.nx - 1 };
            for x in (0..grid.nx).step_by(step as usize) {
                if whole_row || is_on_sides(grid, [x, y, z], sides) {
                    visit(row * grid.nx + x);
                }
            }
        }
    }

    fn bound(&self, simplex: u64, before: &[[T; 3]; VERTICES]) -> T {
        tetrahedron_bound(before, STEPS[Self::of(simplex).1], &self.rule, self.radius)
    }

    fn blocks(&self) -> u64 {
        VolumeGrid::of(self.grid).tiles()
    }

    fn block(&self, vertex: u64) -> u64 {
        VolumeGrid::of(self.grid).tile_of(self.at(vertex).map(|k| k as u64))
    }

    fn violated(&self, values: &Values<'_, T, 3>, threads: Threads) -> Result<Vec<Vec<u64>>> {
        in_bands(self.grid, threads, |z, rows| self.violated_in_band(values, z, rows))
    }
}
