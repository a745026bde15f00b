//! Rounds of repair, until every simplex keeps what it must. Nothing depends on an order: a simplex acts if
//! its key is the least one of all violated simplices that share a vertex with it, so that no two act on one
//! vertex, and the values after a round follow from those before it.

use super::mesh::Mesh;
use super::values::{Level, Values, EXACT};
use crate::error::{Error, Result, Status};
use crate::grid::element::Real;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Rounds in which one vertex at a time mends a simplex, at most.
pub const SINGLE_ROUNDS: u64 = 64;
/// Where a field is compressed, a round that begins with at most one violated simplex for so many vertices is the
/// last one of these: a round takes its time however few there are, and what more rounds would save is little in
/// the stream of so many vertices. A fix, which holds nothing else, has all of them.
pub const VERTICES_PER_FEW: u64 = 1 << 18;
/// Rounds after them in which all corners of a violated simplex go below its bound. In the rounds behind these
/// all vertices of blocks with violated simplices go below their bounds, and blocks double their size from one
/// round to the next, so that the last one has all vertices, after which nothing is violated.
pub const BOUNDED_ROUNDS: u64 = 64;
/// Simplices or vertices in one piece of work.
const PIECE: usize = 256;

/// Counts of the rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Simplices that were violated at first.
    pub violated: u64,
    pub rounds: u64,
    /// Changes of the level of a vertex.
    pub changes: u64,
}

/// A field, its reconstruction, and the simplices that are violated.
pub struct Repair<'a, T, M, const N: usize, const V: usize> {
    mesh: &'a M,
    values: &'a Values<'a, T, N>,
    /// By cell, a bit for each simplex.
    violated: Vec<AtomicU8>,
    threads: Threads,
}

impl<'a, T: Real, M: Mesh<T, N, V>, const N: usize, const V: usize> Repair<'a, T, M, N, V> {
    /// Repairs a field. A round that begins with at most `few` violated simplices is the last one in which one
    /// vertex mends each.
    pub fn run(mesh: &'a M, values: &'a Values<'a, T, N>, few: u64, threads: Threads) -> Result<Counts> {
        Self::run_from(0, few, mesh, values, threads)
    }

    /// As [`Repair::run`], beginning with the rules of round `first`.
    pub fn run_from(
        first: u64,
        few: u64,
        mesh: &'a M,
        values: &'a Values<'a, T, N>,
        threads: Threads,
    ) -> Result<Counts> {
        let violated = memory::defaults(values.grid.vertices() as usize)?;
        let repair = Repair { mesh, values, violated, threads };
        let mut list = joined(&[], mesh.violated(values, threads)?)?;
        for &simplex in &list {
            repair.mark(simplex);
        }
        let mut counts = Counts { violated: list.len() as u64, ..Counts::default() };
        let mut number = first;
        while !list.is_empty() {
            // Of 2^63 blocks the last round makes one.
            if number > SINGLE_ROUNDS + BOUNDED_ROUNDS + 63 {
                return Err(Error::new(Status::Internal, "a simplex is violated below all bounds"));
            }
            let ends = number < SINGLE_ROUNDS && list.len() as u64 <= few;
            let next = if ends { SINGLE_ROUNDS } else { number + 1 };
            let changed = joined(&[], repair.round(number, &list)?)?;
            counts.rounds += 1;
            counts.changes += changed.len() as u64;
            number = next;
            let found = repair.in_pieces(&changed, |part| repair.verify_around(part))?;
            list.retain(|&simplex| repair.is_violated(simplex));
            list = joined(&list, found)?;
        }
        Ok(counts)
    }

    /// Changes levels, and returns the vertices that have another one.
    fn round(&self, number: u64, violated: &[u64]) -> Result<Vec<Vec<u64>>> {
        if number < SINGLE_ROUNDS {
            self.in_pieces(violated, |part| self.act_all(part))
        } else if number < SINGLE_ROUNDS + BOUNDED_ROUNDS {
            let mut corners = memory::with_capacity(violated.len() * V)?;
            corners.extend(violated.iter().flat_map(|&simplex| self.mesh.corners(simplex)));
            corners.sort_unstable();
            corners.dedup();
            let chosen = |simplex| self.is_violated(simplex);
            self.in_pieces(&corners, |part| self.keep_below(part.iter().copied(), chosen))
        } else {
            let doublings = number - SINGLE_ROUNDS - BOUNDED_ROUNDS;
            let block = |vertex: u64| (self.mesh.block(vertex) >> doublings) as usize;
            let mut marked = memory::filled((self.mesh.blocks() >> doublings) as usize + 1, false)?;
            for vertex in violated.iter().flat_map(|&simplex| self.mesh.corners(simplex)) {
                marked[block(vertex)] = true;
            }
            let vertices = self.values.grid.vertices();
            self.threads.map(vertices.div_ceil(PIECE as u64) as usize, stateless, |_, piece| {
                let first = (piece * PIECE) as u64;
                let part = first..vertices.min(first + PIECE as u64);
                self.keep_below(part.filter(|&vertex| marked[block(vertex)]), |_| true)
            })
        }
    }

    fn in_pieces(
        &self,
        items: &[u64],
        work: impl Fn(&[u64]) -> Result<Vec<u64>> + Sync,
    ) -> Result<Vec<Vec<u64>>> {
        self.threads.map(items.len().div_ceil(PIECE), stateless, |_, piece| {
            work(&items[piece * PIECE..items.len().min((piece + 1) * PIECE)])
        })
    }

    fn flag(simplex: u64) -> (usize, u8) {
        ((simplex / M::OF_CELL) as usize, 1 << (simplex % M::OF_CELL))
    }

    /// Marks a simplex as violated; answers whether it was marked.
    fn mark(&self, simplex: u64) -> bool {
        let (cell, bit) = Self::flag(simplex);
        self.violated[cell].fetch_or(bit, Relaxed) & bit != 0
    }

    fn is_violated(&self, simplex: u64) -> bool {
        let (cell, bit) = Self::flag(simplex);
        self.violated[cell].load(Relaxed) & bit != 0
    }

    /// Lets those of some violated simplices act that may; returns the vertices that changed.
    fn act_all(&self, simplices: &[u64]) -> Result<Vec<u64>> {
        let mut changed = Vec::new();
        for &simplex in simplices.iter().filter(|&&simplex| self.may_act(simplex)) {
            memory::push(&mut changed, self.act(simplex))?;
        }
        Ok(changed)
    }

    /// Takes the errors of some vertices below the bounds of those simplices around them that are `chosen`;
    /// returns the vertices that changed.
    fn keep_below(
        &self,
        vertices: impl IntoIterator<Item = u64>,
        chosen: impl Fn(u64) -> bool,
    ) -> Result<Vec<u64>> {
        let mut changed = Vec::new();
        for vertex in vertices {
            // An exact vertex has no error.
            if self.values.level(vertex) == EXACT || self.mesh.is_missing(self.values.original(vertex)) {
                continue;
            }
            let mut least = self.mesh.border_bound(vertex);
            self.mesh.around(vertex, |simplex| {
                if chosen(simplex) {
                    least = least.min(self.bound(simplex));
                }
            });
            if self.values.keep_below(vertex, least) {
                memory::push(&mut changed, vertex)?;
            }
        }
        Ok(changed)
    }

    /// The bound of a simplex; `T::MAX` if a vertex is missing.
    fn bound(&self, simplex: u64) -> T {
        let before = self.mesh.corners(simplex).map(|vertex| self.values.original(vertex));
        match before.iter().any(|&vertex| self.mesh.is_missing(vertex)) {
            true => T::MAX,
            false => self.mesh.bound(simplex, &before),
        }
    }

    /// Whether the key of a violated simplex is the least one around its vertices.
    fn may_act(&self, simplex: u64) -> bool {
        let own = key(simplex);
        let comes_first = |other: u64| self.is_violated(other) && key(other) < own;
        !self.mesh.corners(simplex).into_iter().any(|vertex| self.mesh.any_around(vertex, comes_first))
    }

    /// Gives a vertex of a violated simplex the nearest level that settles the simplex, and returns the
    /// vertex: the one with the fewest levels to go, then that with the largest relative error. If no vertex
    /// settles it alone, that with the largest relative error goes one level further, or becomes exact if the
    /// simplex has no bound.
    fn act(&self, simplex: u64) -> u64 {
        let (mesh, values) = (self.mesh, self.values);
        let corners = mesh.corners(simplex);
        let before = corners.map(|vertex| values.original(vertex));
        let mut now = corners.map(|vertex| values.current(vertex));
        let keeps = mesh.keeping(simplex, &before);
        let (mut best, mut fewest, mut largest) = (None, NONE_SETTLES, -1.0);
        for (corner, &vertex) in corners.iter().enumerate() {
            if now[corner] == before[corner] {
                continue;
            }
            let error = relative_error(&before[corner], &now[corner]);
            let held = now[corner];
            let (k, settles) = self.settling_level((vertex, corner), &mut now, &keeps);
            now[corner] = held;
            let levels = if settles { k - values.level(vertex) } else { NONE_SETTLES };
            if levels < fewest || (levels == fewest && error > largest) {
                (best, fewest, largest) = (Some((vertex, k)), levels, error);
            }
        }
        let (vertex, k) = best.expect("a violated simplex has a vertex that is off its original values");
        let is_lost = fewest == NONE_SETTLES && mesh.bound(simplex, &before) == T::ZERO;
        values.set_level(vertex, if is_lost { EXACT } else { k });
        vertex
    }

    /// The next level of a corner with which the simplex `keeps` what it must, if there is one; otherwise the next
    /// level.
    fn settling_level(
        &self,
        (vertex, corner): (u64, usize),
        now: &mut [[T; N]; V],
        keeps: &impl Fn(&[[T; N]; V]) -> bool,
    ) -> (Level, bool) {
        let most = self.mesh.border_bound(vertex);
        let mut next = EXACT;
        for k in self.values.level(vertex) + 1..=EXACT {
            let Some(value) = self.values.candidate(vertex, k, most) else { continue };
            next = next.min(k);
            now[corner] = value;
            if keeps(now) {
                return (k, true);
            }
        }
        (next, false)
    }

    /// Tests the simplices around some vertices, and returns those that are newly violated.
    fn verify_around(&self, vertices: &[u64]) -> Result<Vec<u64>> {
        let mut found = Vec::new();
        let mut outcome = Ok(());
        for &vertex in vertices {
            self.mesh.around(vertex, |simplex| {
                if self.keeps(simplex) {
                    let (cell, bit) = Self::flag(simplex);
                    self.violated[cell].fetch_and(!bit, Relaxed);
                } else if !self.mark(simplex) && outcome.is_ok() {
                    outcome = memory::push(&mut found, simplex);
                }
            });
        }
        outcome.map(|()| found)
    }

    fn keeps(&self, simplex: u64) -> bool {
        let corners = self.mesh.corners(simplex);
        let before = corners.map(|vertex| self.values.original(vertex));
        before.iter().any(|&vertex| self.mesh.is_missing(vertex))
            || self.mesh.keeps(simplex, &before, &corners.map(|vertex| self.values.current(vertex)))
    }
}

/// The items of a list, then those of all parts.
fn joined(list: &[u64], parts: Vec<Vec<u64>>) -> Result<Vec<u64>> {
    let mut all = memory::with_capacity(list.len() + parts.iter().map(Vec::len).sum::<usize>())?;
    all.extend_from_slice(list);
    parts.iter().for_each(|part| all.extend_from_slice(part));
    Ok(all)
}

/// A number that orders simplices at random; no two have the same. Each step can be undone.
#[inline(always)]
fn key(simplex: u64) -> u64 {
    let x = (simplex ^ simplex >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 32
}

/// Stands for the levels that a vertex has to go if it does not settle a simplex alone.
const NONE_SETTLES: Level = Level::MAX;

/// The largest error of a component, as a fraction of the largest component.
fn relative_error<T: Real, const N: usize>(original: &[T; N], now: &[T; N]) -> f64 {
    let (mut error, mut size) = (0.0, 0.0);
    for (a, b) in original.iter().zip(now) {
        let (a, b) = (a.to_f64(), b.to_f64());
        error = Real::max(error, (b - a).abs());
        size = Real::max(size, a.abs());
    }
    error / size
}
