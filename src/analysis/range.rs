//! The range of the values of a field.

use super::{guarded, in_bands, of_plane, rows_of, Domain};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
pub use crate::grid::range::relative_bound;
use crate::request::{BoundKind, Request, VolumeRequest};
use crate::runtime::pool::Threads;
use std::ops::Range;

/// The result of one pass over the vertices of a field. The bits do not depend on the order of the vertices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueRange {
    /// The least and the largest finite value of unfilled vertices, all components together, no zero with a sign;
    /// plus and minus infinity where there is none, which any other range replaces when two are joined.
    pub low: f64,
    pub high: f64,
    /// Vertices with a NaN or infinity.
    pub nonfinite_vertices: u64,
    /// Other vertices with the fill value.
    pub filled_vertices: u64,
    /// Unfilled vertices where all components are 0.
    pub zero_vertices: u64,
}

impl Default for ValueRange {
    /// The range of no vertices.
    fn default() -> Self {
        ValueRange {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            nonfinite_vertices: 0,
            filled_vertices: 0,
            zero_vertices: 0,
        }
    }
}

impl ValueRange {
    /// The range of both parts of a field.
    pub fn join(self, other: ValueRange) -> ValueRange {
        ValueRange {
            low: Real::min(self.low, other.low),
            high: Real::max(self.high, other.high),
            nonfinite_vertices: self.nonfinite_vertices + other.nonfinite_vertices,
            filled_vertices: self.filled_vertices + other.filled_vertices,
            zero_vertices: self.zero_vertices + other.zero_vertices,
        }
    }

    /// The absolute bound of a request on a field with this range.
    pub fn bound(&self, request: &Request) -> f64 {
        let c = request.config();
        match c.bound_kind {
            BoundKind::Absolute => c.bound,
            BoundKind::Relative => relative_bound(c.bound, self.low, self.high),
        }
    }
}

/// The range of the owned vertices of a field.
///
/// `u` and `v` must cover the grid of the request, of which nothing but the grid, the type and the fill value
/// counts. `threads` of 0 means one per processor; the result does not depend on it.
pub fn range<T: Real>(request: &Request, [u, v]: [View<'_, T>; 2], threads: usize) -> Result<ValueRange> {
    let domain = Domain::of_vertices(request, &[("u", u), ("v", v)])?;
    range_of(&domain, [u, v], threads)
}

/// The range of a volume; otherwise as [`range`].
pub fn range_volume<T: Real>(
    request: &VolumeRequest,
    [u, v, w]: [View<'_, T>; 3],
    threads: usize,
) -> Result<ValueRange> {
    let domain = Domain::of_volume_vertices(request, &[("u", u), ("v", v), ("w", w)])?;
    range_of(&domain, [u, v, w], threads)
}

fn range_of<T: Real, R: Sync, const N: usize>(
    domain: &Domain<R>,
    views: [View<'_, T>; N],
    threads: usize,
) -> Result<ValueRange> {
    let find = |z: u64, band: Range<u64>| {
        let views = of_plane(views, z);
        let mut row = rows_of(domain.columns)?;
        let mut extremes = Extremes::new();
        let mut part = ValueRange::default();
        for y in band {
            let mut filled = 0;
            domain.load(&views, y as i64, &mut row);
            domain.hide_filled(&mut row, |_, finite| filled += finite as u64);
            row.iter().for_each(|values| extremes.add(values));
            let [mut zero, mut missing] = [0, 0];
            for x in 0..row[0].len() {
                let vertex = row.each_ref().map(|values| values[x]);
                zero += vertex.iter().fold(true, |zero, &c| zero & (c == T::ZERO)) as u64;
                missing += !vertex.iter().fold(true, |finite, c| finite & c.is_finite()) as u64;
            }
            part.zero_vertices += zero;
            part.filled_vertices += filled;
            part.nonfinite_vertices += missing - filled;
        }
        (part.low, part.high) = extremes.range();
        Ok(part)
    };
    guarded(|| {
        let parts = in_bands(domain.grid, Threads::new(threads), find)?;
        let all = parts.into_iter().fold(ValueRange::default(), ValueRange::join);
        // -0 + 0 is 0: which zero came first is of no account.
        Ok(ValueRange { low: all.low + 0.0, high: all.high + 0.0, ..all })
    })
}

/// Columns side by side, so that the compiler can use vector instructions.
const LANES: usize = 16;

/// The least and the largest of finite values, by lane.
struct Extremes<T> {
    low: [T; LANES],
    high: [T; LANES],
}

impl<T: Real> Extremes<T> {
    fn new() -> Self {
        Extremes { low: [T::from_f64(f64::INFINITY); LANES], high: [T::from_f64(f64::NEG_INFINITY); LANES] }
    }

    fn add(&mut self, values: &[T]) {
        let chunks = values.chunks_exact(LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            for k in 0..LANES {
                self.add_one(k, chunk[k]);
            }
        }
        for (k, &value) in rest.iter().enumerate() {
            self.add_one(k, value);
        }
    }

    #[inline(always)]
    fn add_one(&mut self, k: usize, value: T) {
        let finite = value.is_finite();
        self.low[k] = if finite & (value < self.low[k]) { value } else { self.low[k] };
        self.high[k] = if finite & (value > self.high[k]) { value } else { self.high[k] };
    }

    fn range(&self) -> (f64, f64) {
        let low = self.low.iter().fold(f64::INFINITY, |low, x| Real::min(low, x.to_f64()));
        let high = self.high.iter().fold(f64::NEG_INFINITY, |high, x| Real::max(high, x.to_f64()));
        (low, high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Config, Dtype};

    fn request(nx: u64, ny: u64, fill_value: Option<f64>) -> Request {
        let config = Config::new(nx, ny, BoundKind::Relative, 1e-2);
        Request::new(Config { dtype: Dtype::F64, fill_value, ..config }).unwrap()
    }

    #[test]
    fn ranges_leave_out_what_is_missing() {
        let (nan, inf, fill) = (f64::NAN, f64::INFINITY, 1e20);
        let u = [1.0, nan, fill, -0.0, 3.0, -inf, 0.0, 2.0, 0.5];
        let v = [2.0, 7.0, -50.0, 0.0, 1.0, 6.0, -0.0, fill, 0.5];
        let find = |fill| range(&request(3, 3, fill), [View::dense(&u, 3), View::dense(&v, 3)], 1).unwrap();
        let found = find(Some(fill));
        // The finite component of a vertex that is not finite counts, neither one of a filled vertex does.
        let expected =
            ValueRange { low: 0.0, high: 7.0, nonfinite_vertices: 2, filled_vertices: 2, zero_vertices: 2 };
        assert_eq!(found, expected);
        assert!(found.low.is_sign_positive());
        let found = find(None);
        assert_eq!((found.low, found.high, found.filled_vertices), (-50.0, 1e20, 0));
        let nothing =
            range(&request(3, 1, None), [View::dense(&[nan; 3], 3), View::dense(&[inf; 3], 3)], 1).unwrap();
        assert_eq!(nothing, ValueRange { nonfinite_vertices: 3, ..ValueRange::default() });
        assert_eq!(nothing.bound(&request(3, 1, None)), 0.0);
    }

    #[test]
    fn a_range_does_not_depend_on_threads_and_joins() {
        let (nx, ny) = (37u64, 81u64);
        let value = |i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 - 8e6;
        let [u, v] = [0, nx * ny].map(|first| (first..first + nx * ny).map(value).collect::<Vec<f64>>());
        let find = |nx, ny, from: usize, threads| {
            let layout = crate::grid::field::Layout { pitch: 37, stride: 1, plane: 0 };
            let views = [&u, &v].map(|c| View::strided(c, from, layout));
            range(&request(nx, ny, None), views, threads).unwrap()
        };
        let all = find(nx, ny, 0, 1);
        assert_eq!(all, find(nx, ny, 0, 3));
        assert_eq!(all.low, u.iter().chain(&v).fold(f64::MAX, |m, &x| x.min(m)));
        assert_eq!(all.high, u.iter().chain(&v).fold(f64::MIN, |m, &x| x.max(m)));
        assert_eq!(all, find(20, ny, 0, 1).join(find(17, ny, 20, 1)));
        let short = [View::dense(&u[1..], nx), View::dense(&v, nx)];
        assert!(range(&request(nx, ny, None), short, 1).is_err());
    }
}
