//! The values that a vertex may have: that of the reconstruction, refined ones between it and the original,
//! and the original. A level says which one it has, and the encoder and the decoder compute it by the same
//! function.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::Grid;
use crate::predict::quantizer::Acceptance;
use crate::runtime::memory;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The level of a vertex: [`UNCHANGED`], a refinement from 1 to [`REFINEMENTS`], [`EXACT`], [`ZERO`] or [`FILLED`].
pub type Level = u8;
/// The value of the reconstruction.
pub const UNCHANGED: Level = 0;
/// The finest refinement.
pub const REFINEMENTS: Level = 16;
/// The bits of the original.
pub const EXACT: Level = REFINEMENTS + 1;
/// All components are +0.
pub const ZERO: Level = REFINEMENTS + 2;
/// The pattern of missing values: in volumes alone.
pub const FILLED: Level = REFINEMENTS + 3;

/// Computes refined values. At refinement k the interval within `radius` of the reconstruction is cut into
/// 2^k cells, and the value is the midpoint of the one in which the original lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refiner {
    /// The largest error of the reconstruction: finite and not negative.
    pub radius: f64,
}

/// The largest errors of a reconstruction by vertex.
pub trait Radii: Sync {
    fn refiner(&self, vertex: u64) -> Refiner;
}

/// One for all vertices.
impl Radii for Refiner {
    #[inline(always)]
    fn refiner(&self, _: u64) -> Refiner {
        *self
    }
}

impl Refiner {
    /// The width of the cells of a refinement: radius * 2^(1 - k).
    #[inline(always)]
    fn width(self, k: Level) -> f64 {
        self.radius * f64::from_bits((1023 + 1 - k as u64) << 52)
    }

    /// The number of the cell in which an original lies, from 0 to 2^k - 1.
    #[inline(always)]
    pub fn cell<T: Real>(self, k: Level, original: T, reconstruction: T) -> u32 {
        let half = (1u32 << (k - 1)) as f64;
        let from_middle = (original.to_f64() - reconstruction.to_f64()) / self.width(k);
        let cell = Real::min(Real::max(from_middle.floor(), -half), half - 1.0);
        (cell + half) as u32
    }

    /// The midpoint of a cell, rounded to the type of the field.
    #[inline(always)]
    pub fn value<T: Real>(self, k: Level, reconstruction: T, cell: u32) -> T {
        let from_middle = cell as f64 - (1u32 << (k - 1)) as f64 + 0.5;
        T::from_f64(reconstruction.to_f64() + from_middle * self.width(k))
    }

    /// Whether the cells of a refinement have a width in f64.
    #[inline(always)]
    pub fn has(self, k: Level) -> bool {
        self.width(k) > 0.0
    }
}

/// A vertex of a grid: its plane, and its place there.
#[inline(always)]
pub fn place(grid: Grid, vertex: u64) -> (u64, [i64; 2]) {
    let row = vertex / grid.nx;
    let x = vertex - row * grid.nx;
    let (z, y) = if grid.nz == 1 { (0, row) } else { (row / grid.ny, row % grid.ny) };
    (z, [x as i64, y as i64])
}

/// The number of a vertex, plane by plane and row by row.
#[inline(always)]
pub fn number_of(grid: Grid, z: u64, [x, y]: [u64; 2]) -> u64 {
    (z * grid.ny + y) * grid.nx + x
}

/// The values of a field at a vertex.
#[inline(always)]
pub fn at<T: Real, const N: usize>(views: &[View<'_, T>; N], grid: Grid, vertex: u64) -> [T; N] {
    let (z, [x, y]) = place(grid, vertex);
    views.map(|view| view.plane(z).get(x, y))
}

/// A field of N components, its reconstruction, and the level of each vertex. Vertices are numbered plane by
/// plane and row by row.
pub struct Values<'a, T, const N: usize> {
    pub grid: Grid,
    pub original: [View<'a, T>; N],
    pub other: [View<'a, T>; N],
    radii: &'a dyn Radii,
    /// The test of refined values by the error bound.
    accept: Acceptance<T>,
    levels: Vec<AtomicU8>,
}

impl<'a, T: Real, const N: usize> Values<'a, T, N> {
    /// All vertices have the level [`UNCHANGED`]; `bound` is the absolute error bound.
    pub fn new(
        grid: Grid,
        original: [View<'a, T>; N],
        other: [View<'a, T>; N],
        (bound, radii): (f64, &'a dyn Radii),
    ) -> Result<Self> {
        let levels = memory::defaults(grid.vertices() as usize)?;
        Ok(Values { grid, original, other, radii, accept: Acceptance::new(bound), levels })
    }

    /// The refined values of a vertex.
    #[inline(always)]
    pub fn refiner(&self, vertex: u64) -> Refiner {
        self.radii.refiner(vertex)
    }

    #[inline(always)]
    pub fn level(&self, vertex: u64) -> Level {
        self.levels[vertex as usize].load(Relaxed)
    }

    #[inline(always)]
    pub fn set_level(&self, vertex: u64, level: Level) {
        self.levels[vertex as usize].store(level, Relaxed);
    }

    #[inline(always)]
    pub fn original(&self, vertex: u64) -> [T; N] {
        at(&self.original, self.grid, vertex)
    }

    /// The values of a vertex at its level.
    #[inline(always)]
    pub fn current(&self, vertex: u64) -> [T; N] {
        let level = self.level(vertex);
        match level {
            UNCHANGED => at(&self.other, self.grid, vertex),
            EXACT => self.original(vertex),
            ZERO => [T::ZERO; N],
            // Missing vertices are not looked at.
            FILLED => self.original(vertex),
            k => self.refined(vertex, k, self.original(vertex), at(&self.other, self.grid, vertex)),
        }
    }

    #[inline(always)]
    fn refined(&self, vertex: u64, k: Level, original: [T; N], other: [T; N]) -> [T; N] {
        let refiner = self.refiner(vertex);
        std::array::from_fn(|i| refiner.value(k, other[i], refiner.cell(k, original[i], other[i])))
    }

    /// The values of a vertex at another level, if that is a refinement whose errors are within the error
    /// bound and below `vertex_bound`, or [`EXACT`].
    #[inline(always)]
    pub fn candidate(&self, vertex: u64, k: Level, vertex_bound: T) -> Option<[T; N]> {
        let original = self.original(vertex);
        if k == EXACT {
            return Some(original);
        }
        if !self.refiner(vertex).has(k) {
            return None;
        }
        let values = self.refined(vertex, k, original, at(&self.other, self.grid, vertex));
        let allowed = |i: usize| self.accept.allows((values[i] - original[i]).abs(), vertex_bound);
        (0..N).all(allowed).then_some(values)
    }

    /// Whether the errors of a vertex at its level are below `vertex_bound`, or 0.
    pub fn is_below(&self, vertex: u64, vertex_bound: T) -> bool {
        let (now, original) = (self.current(vertex), self.original(vertex));
        (0..N).all(|i| {
            let error = (now[i] - original[i]).abs();
            error == T::ZERO || error < vertex_bound
        })
    }

    /// Gives a vertex the next level with which its errors are below `vertex_bound`, if they are not.
    pub fn keep_below(&self, vertex: u64, vertex_bound: T) -> bool {
        if self.is_below(vertex, vertex_bound) {
            return false;
        }
        let mut k = self.level(vertex) + 1;
        while self.candidate(vertex, k, vertex_bound).is_none() {
            k += 1;
        }
        self.set_level(vertex, k);
        true
    }
}
