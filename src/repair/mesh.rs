//! The mesh as the rounds of a repair see it: the corners of its simplices, the simplices around a vertex, and
//! what a simplex must keep.

use super::values::Values;
use crate::error::Result;
use crate::grid::element::Real;
use crate::runtime::pool::Threads;

/// A mesh on a grid whose simplices have V corners with vectors of N components. Simplices are numbered, and
/// those of one cell follow one another.
pub trait Mesh<T: Real, const N: usize, const V: usize>: Sync {
    /// Simplices of a cell, at most 8. A cell has the number of its first corner.
    const OF_CELL: u64;

    /// The vertices at the corners of a simplex.
    fn corners(&self, simplex: u64) -> [u64; V];

    /// Whether one of the simplices around a vertex passes a test; those behind it are not visited.
    fn any_around(&self, vertex: u64, test: impl FnMut(u64) -> bool) -> bool;

    /// Visits the simplices around a vertex.
    fn around(&self, vertex: u64, mut visit: impl FnMut(u64)) {
        self.any_around(vertex, |simplex| {
            visit(simplex);
            false
        });
    }

    /// Whether the original has no data at a vertex: its simplices keep nothing.
    fn is_missing(&self, original: [T; N]) -> bool;

    /// Tests with which values a simplex without missing vertices keeps what it must.
    fn keeping<'b>(&'b self, simplex: u64, before: &'b [[T; N]; V]) -> impl Fn(&[[T; N]; V]) -> bool + 'b;

    /// Whether a simplex without missing vertices keeps what it must.
    fn keeps(&self, simplex: u64, before: &[[T; N]; V], after: &[[T; N]; V]) -> bool {
        self.keeping(simplex, before)(after)
    }

    /// The bound of the errors of a vertex that comes from simplices which reach out of the grid; `T::MAX` if
    /// there are none.
    fn border_bound(&self, vertex: u64) -> T;

    /// Visits the vertices on sides that are pinned or have a halo: all others have no border bound.
    fn on_sides(&self, visit: impl FnMut(u64));

    /// Takes the errors of the vertices on sides below their border bounds.
    fn keep_border(&self, values: &Values<'_, T, N>) {
        self.on_sides(|vertex| {
            if !self.is_missing(values.original(vertex)) {
                values.keep_below(vertex, self.border_bound(vertex));
            }
        });
    }

    /// A bound of the errors at all corners of a simplex below which it keeps what it must.
    fn bound(&self, simplex: u64, before: &[[T; N]; V]) -> T;

    /// Blocks of vertices that lie beside each other.
    fn blocks(&self) -> u64;

    /// The block of a vertex.
    fn block(&self, vertex: u64) -> u64;

    /// All simplices that do not keep what they must, in parts.
    fn violated(&self, values: &Values<'_, T, N>, threads: Threads) -> Result<Vec<Vec<u64>>>;
}
