//! A pass over a field and its reconstruction: whether the reconstruction is within the bound, its
//! checksum, its largest error, and the vertices that take their original values whatever is around them.

use super::values::{at, place, Level, EXACT, UNCHANGED, ZERO};
use crate::analysis::{exceeds, in_bands};
use crate::error::{Error, Outside, Result};
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::sides::is_on_sides;
use crate::grid::tiles::Grid;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::stream::checksum;
use std::ops::Range;

/// Vertices that are looked at together, and the largest errors that are kept apart.
const PIECE: usize = 64;
const LANES: usize = 16;

/// A field and its reconstruction.
pub struct Pair<'a, T, const N: usize> {
    pub grid: Grid,
    pub original: [View<'a, T>; N],
    pub other: [View<'a, T>; N],
    pub missing: Missing,
    /// The absolute error bound.
    pub bound: f64,
    /// Sides whose vertices stay as they are, bit for bit.
    pub pin: u32,
}

/// Findings of the pass.
pub struct Survey {
    /// Of the reconstruction.
    pub checksum: u32,
    /// The largest error of the reconstruction, where the original has data.
    pub radius: f64,
    /// Vertices with their levels, ascending.
    pub restored: Vec<(u64, Level)>,
}

/// Findings in some rows.
#[derive(Default)]
struct Part {
    checksum: u32,
    radius: f64,
    restored: Vec<(u64, Level)>,
    /// Vertices that leave the bound, and the first of them.
    outside: u64,
    first_outside: Option<u64>,
}

impl<T: Real, const N: usize> Pair<'_, T, N> {
    /// Surveys all vertices. Refuses a reconstruction that leaves the bound, and says where it does.
    pub fn survey(&self, threads: Threads) -> Result<Survey> {
        let parts = in_bands(self.grid, threads, |z, rows| self.band(z, rows))?;
        let outside: u64 = parts.iter().map(|part| part.outside).sum();
        if let Some(vertex) = parts.iter().find_map(|part| part.first_outside) {
            return Err(self.leaves_the_bound(Outside { vertices: outside, first: vertex }));
        }
        let most = parts.iter().map(|part| part.restored.len()).sum();
        let empty = Survey { checksum: 0, radius: 0.0, restored: memory::with_capacity(most)? };
        Ok(parts.iter().fold(empty, |mut all, part| {
            all.checksum = all.checksum.wrapping_add(part.checksum);
            all.radius = Real::max(all.radius, part.radius);
            all.restored.extend_from_slice(&part.restored);
            all
        }))
    }

    fn band(&self, z: u64, rows: Range<u64>) -> Result<Part> {
        let mut part = Part::default();
        let row = || -> Result<Vec<T>> { memory::filled(self.grid.nx as usize, T::ZERO) };
        let mut values: [[Vec<T>; N]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| Vec::new()));
        for component in values.iter_mut().flatten() {
            *component = row()?;
        }
        for y in rows {
            let first = (z * self.grid.ny + y) * self.grid.nx;
            for (rows, views) in values.iter_mut().zip([&self.original, &self.other]) {
                for (row, view) in rows.iter_mut().zip(views) {
                    view.plane(z).read_row(0, y as i64, row);
                }
            }
            for (component, row) in values[1].iter().enumerate() {
                let number = component as u64 * self.grid.vertices() + first;
                part.checksum = part.checksum.wrapping_add(checksum::of_values(number, row));
            }
            let [original, other] = values.each_ref().map(|rows| rows.each_ref().map(|row| &row[..]));
            self.row(&mut part, [first, y, z], original, other)?;
        }
        Ok(part)
    }

    /// Surveys row y of plane z; `first` is the number of its first vertex.
    fn row(
        &self,
        part: &mut Part,
        [first, y, z]: [u64; 3],
        original: [&[T]; N],
        other: [&[T]; N],
    ) -> Result<()> {
        let nx = self.grid.nx as usize;
        let is_pinned = |x: usize| is_on_sides(self.grid, [x as u64, y, z], self.pin);
        for x in (0..nx).step_by(PIECE) {
            let piece = x..nx.min(x + PIECE);
            let [original, other] =
                [&original, &other].map(|rows| rows.each_ref().map(|row| &row[piece.clone()]));
            let has_pinned = is_pinned(piece.start) || is_pinned(piece.end - 1);
            if let (Some(radius), false) = (self.ordinary(&original, &other), has_pinned) {
                part.radius = Real::max(part.radius, radius);
                continue;
            }
            for k in 0..original[0].len() {
                let at = piece.start + k;
                let [a, b] = [&original, &other].map(|rows| rows.each_ref().map(|row| row[k]));
                self.vertex(part, first + at as u64, is_pinned(at), a, b)?;
            }
        }
        Ok(())
    }

    /// The largest error of a piece of a row all of whose errors are below the bound, if it has neither
    /// missing vertices nor zero ones that change.
    #[inline(always)]
    fn ordinary(&self, original: &[&[T]; N], other: &[&[T]; N]) -> Option<f64> {
        let n = original[0].len();
        if n < PIECE || original.iter().any(|row| self.missing.may_fill(row)) {
            return None;
        }
        // Written without branches, so that the compiler can use vector instructions. An error is NaN or
        // infinite where a value is.
        let (mut largest, mut was_zero, mut is_zero) = ([0.0f64; LANES], [true; PIECE], [true; PIECE]);
        let mut within = true;
        for (a, b) in original.iter().zip(other) {
            let (a, b) = (&a[..PIECE], &b[..PIECE]);
            for k in 0..PIECE {
                let error = (b[k].to_f64() - a[k].to_f64()).abs();
                let largest = &mut largest[k % LANES];
                within &= error < self.bound;
                *largest = if error > *largest { error } else { *largest };
                was_zero[k] &= a[k] == T::ZERO;
                is_zero[k] &= b[k] == T::ZERO;
            }
        }
        let changes = (0..PIECE).fold(false, |any, k| any | (was_zero[k] & !is_zero[k]));
        (within && !changes).then(|| largest.into_iter().fold(0.0, Real::max))
    }

    fn vertex(
        &self,
        part: &mut Part,
        vertex: u64,
        is_pinned: bool,
        original: [T; N],
        other: [T; N],
    ) -> Result<()> {
        let pairs = || original.iter().zip(&other);
        let same = pairs().all(|(a, b)| a.to_bits64() == b.to_bits64());
        let missing = self.missing.is_missing(original);
        if !missing && !same {
            let outside = pairs().any(|(a, b)| !b.is_finite() || exceeds(a.to_f64(), b.to_f64(), self.bound));
            part.outside += outside as u64;
            if outside {
                part.first_outside.get_or_insert(vertex);
            }
        }
        let is_zero = |values: &[T; N]| values.iter().all(|&x| x == T::ZERO);
        let level = if same {
            UNCHANGED
        } else if missing || is_pinned || self.bound == 0.0 {
            EXACT
        } else if is_zero(&original) && !is_zero(&other) {
            ZERO
        } else {
            for (a, b) in pairs() {
                part.radius = Real::max(part.radius, (b.to_f64() - a.to_f64()).abs());
            }
            UNCHANGED
        };
        match level {
            UNCHANGED => Ok(()),
            level => memory::push(&mut part.restored, (vertex, level)),
        }
    }

    /// The error of a reconstruction that is not within the bound at some vertices, of which one is told.
    fn leaves_the_bound(&self, outside: Outside) -> Error {
        let Outside { vertices, first: vertex } = outside;
        let (z, [x, y]) = place(self.grid, vertex);
        let [original, other] = [&self.original, &self.other].map(|views| at(views, self.grid, vertex));
        let is_outside = |i: &usize| {
            !other[*i].is_finite() || exceeds(original[*i].to_f64(), other[*i].to_f64(), self.bound)
        };
        let i = (0..N).find(is_outside).unwrap_or(0);
        let name = ["u", "v", "w"][i];
        let at = match (N, self.grid.nz) {
            (3, _) => format!("({x}, {y}, {z})"),
            (_, 1) => format!("({x}, {y})"),
            _ => format!("({x}, {y}) of plane {z}"),
        };
        let more = match vertices {
            1 => String::new(),
            2 => ", as does 1 vertex behind it".to_owned(),
            n => format!(", as do {} vertices behind it", n - 1),
        };
        let error = Error::argument(format!(
            "the reconstruction leaves the bound {:e} at vertex {at}: {name} = {:e}, \
             other_{name} = {:e}{more}. {}",
            self.bound,
            original[i].to_f64(),
            other[i].to_f64(),
            match other[i].is_finite() {
                true => "Give the bound that it was made with",
                false => "A reconstruction must be finite where the field is",
            }
        ));
        Error { outside: Some(outside), ..error }
    }
}
