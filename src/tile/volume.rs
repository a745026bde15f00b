//! The order in which the vertices of a volume are predicted, and a tile's part of it. Encoder and decoder share
//! both.
//!
//! Tiles share the vertices on their faces: anchors come first, then the lines between them, the faces between
//! these, and last the interiors of tiles. A vertex belongs to the stage of the number of its local coordinates
//! that are not 0, and is predicted from its closed tile alone.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::tiles::Grid;
use crate::grid::volume_tiles::{
    VolumeTile, CLOSED_SIDE, VOLUME_ANCHOR_LEVEL, VOLUME_POSITIONS, VOLUME_TILE_VERTICES,
};
use crate::predict::interpolation::Interpolant;
use crate::predict::volume::{predict, Place};
use crate::runtime::memory;

/// Anchors, lines, faces, interiors.
pub const STAGES: usize = 4;
/// The first position of each stage in [`ORDER`].
const STARTS: [usize; STAGES + 1] = [0, 1, 46, 721, VOLUME_TILE_VERTICES];

/// The positions of a tile, stage by stage, coarse to fine in each.
const ORDER: [u16; VOLUME_TILE_VERTICES] = {
    let mut order = [0; VOLUME_TILE_VERTICES];
    let (mut stage, mut next) = (0, 0);
    while stage < STAGES {
        let mut position = 0;
        while position < VOLUME_TILE_VERTICES {
            let [x, y, z] = VOLUME_POSITIONS[position].0;
            if (x > 0) as usize + (y > 0) as usize + (z > 0) as usize == stage {
                order[next] = position as u16;
                next += 1;
            }
            position += 1;
        }
        stage += 1;
        assert!(next == STARTS[stage]);
    }
    order
};

/// Values that predictions read and that take their place.
pub trait Values<T> {
    fn get(&self, component: usize, at: usize) -> T;
    fn set(&mut self, at: usize, value: [T; 3]);
}

/// A vertex that is coded.
#[derive(Clone, Copy)]
pub struct Visit<T> {
    pub position: usize,
    pub local: [usize; 3],
    pub level: usize,
    pub prediction: [T; 3],
}

/// Visits the vertices of a stage that a tile owns; `code` gives the values that take their place. The tile begins
/// at index `first` of the values.
#[inline(always)]
pub fn visit_stage<T: Real>(
    stage: usize,
    tile: &VolumeTile,
    interpolants: &[Interpolant<T>],
    values: &mut impl Values<T>,
    (first, strides): (usize, [usize; 3]),
    mut code: impl FnMut(Visit<T>) -> [T; 3],
) {
    let owned = tile.owned();
    for &position in &ORDER[STARTS[stage]..STARTS[stage + 1]] {
        let position = position as usize;
        let (local, level) = VOLUME_POSITIONS[position];
        let (local, level) = (local.map(usize::from), level as usize);
        if (0..3).any(|k| local[k] >= owned[k]) {
            continue;
        }
        let at = (0..3).fold(first, |at, k| at + local[k] * strides[k]);
        let prediction = if level == VOLUME_ANCHOR_LEVEL {
            [T::ZERO; 3]
        } else {
            let place = Place { at, strides, local, last: tile.last, step: 1 << level };
            predict(&interpolants[level], &place, |component, at| values.get(component, at))
        };
        values.set(at, code(Visit { position, local, level, prediction }));
    }
}

/// The reconstruction of a volume in the making, by component; tiles write vertices of their own from several
/// threads.
pub struct Reconstruction<'a, T> {
    grid: Grid,
    views: [ViewMut<'a, T>; 3],
}

impl<'a, T: Real> Reconstruction<'a, T> {
    /// Of dense arrays.
    pub fn new(grid: Grid, components: &'a mut [Vec<T>; 3]) -> Self {
        let n = grid.vertices();
        Reconstruction { grid, views: components.each_mut().map(|values| ViewMut::dense(values, n)) }
    }

    fn index(&self, [x, y, z]: [u64; 3]) -> u64 {
        (z * self.grid.ny + y) * self.grid.nx + x
    }

    /// Visits the vertices of a stage that a tile owns, as [`visit_stage`].
    ///
    /// # Safety
    /// A tile is visited by one thread, and the stages before this one are done.
    pub unsafe fn visit_stage(
        &self,
        stage: usize,
        tile: &VolumeTile,
        interpolants: &[Interpolant<T>],
        window: &mut VolumeWindow<T>,
        code: impl FnMut(Visit<T>) -> [T; 3],
    ) {
        if stage + 1 < STAGES {
            let strides = [1, self.grid.nx as usize, (self.grid.nx * self.grid.ny) as usize];
            let place = (self.index(tile.first) as usize, strides);
            return visit_stage(stage, tile, interpolants, &mut Direct(&self.views), place, code);
        }
        self.load(tile, window);
        let place = (0, [1, CLOSED_SIDE, CLOSED_SIDE * CLOSED_SIDE]);
        visit_stage(stage, tile, interpolants, window, place, code);
        // SAFETY: the promise of this function.
        unsafe { self.store(tile, window) };
    }

    /// Visits all vertices that a tile owns, and stores those of its interior: the others keep their values.
    ///
    /// # Safety
    /// A tile is visited by one thread, and all stages but the last one are done.
    pub unsafe fn visit_tile(
        &self,
        tile: &VolumeTile,
        interpolants: &[Interpolant<T>],
        window: &mut VolumeWindow<T>,
        mut code: impl FnMut(Visit<T>) -> [T; 3],
    ) {
        self.load(tile, window);
        let place = (0, [1, CLOSED_SIDE, CLOSED_SIDE * CLOSED_SIDE]);
        for stage in 0..STAGES {
            visit_stage(stage, tile, interpolants, window, place, &mut code);
        }
        // SAFETY: the promise of this function.
        unsafe { self.store(tile, window) };
    }

    /// Loads the closed tile.
    fn load(&self, tile: &VolumeTile, window: &mut VolumeWindow<T>) {
        for (view, values) in self.views.iter().zip(&mut window.values) {
            for z in 0..=tile.last[2] {
                for y in 0..=tile.last[1] {
                    let [_, y0, z0] = tile.first;
                    let first = self.index([tile.first[0], y0 + y as u64, z0 + z as u64]);
                    let at = (z * CLOSED_SIDE + y) * CLOSED_SIDE;
                    view.reading().read_row(first as i64, 0, &mut values[at..=at + tile.last[0]]);
                }
            }
        }
    }

    /// Stores the interior of the tile.
    ///
    /// # Safety
    /// As of [`Reconstruction::visit_stage`].
    unsafe fn store(&self, tile: &VolumeTile, window: &VolumeWindow<T>) {
        let owned = tile.owned();
        for (view, values) in self.views.iter().zip(&window.values) {
            for z in 1..owned[2] {
                for y in 1..owned[1] {
                    let [x0, y0, z0] = tile.first;
                    let first = self.index([x0 + 1, y0 + y as u64, z0 + z as u64]);
                    let at = (z * CLOSED_SIDE + y) * CLOSED_SIDE;
                    // SAFETY: the promise of this function.
                    unsafe { view.write_row(first, 0, &values[at + 1..at + owned[0]]) };
                }
            }
        }
    }
}

/// The whole reconstruction, without a window.
struct Direct<'a, 'v, T>(&'a [ViewMut<'v, T>; 3]);

impl<T: Real> Values<T> for Direct<'_, '_, T> {
    #[inline(always)]
    fn get(&self, component: usize, at: usize) -> T {
        self.0[component].reading().get(at as i64, 0)
    }

    #[inline(always)]
    fn set(&mut self, at: usize, value: [T; 3]) {
        for (view, value) in self.0.iter().zip(value) {
            // SAFETY: `visit_stage` visits vertices that its tile owns, and their tile alone writes them.
            unsafe { view.set(at as u64, 0, value) };
        }
    }
}

/// The values of a closed tile, by component.
pub struct VolumeWindow<T> {
    pub values: [[T; CLOSED_SIDE * CLOSED_SIDE * CLOSED_SIDE]; 3],
}

impl<T: Real> VolumeWindow<T> {
    /// Never on the stack.
    pub fn new() -> Result<Box<Self>> {
        // SAFETY: bits 0 are numbers.
        unsafe { memory::zeroed(|_: *mut Self| {}) }
    }
}

impl<T: Real> Values<T> for VolumeWindow<T> {
    #[inline(always)]
    fn get(&self, component: usize, at: usize) -> T {
        self.values[component][at]
    }

    #[inline(always)]
    fn set(&mut self, at: usize, value: [T; 3]) {
        for (values, value) in self.values.iter_mut().zip(value) {
            values[at] = value;
        }
    }
}
