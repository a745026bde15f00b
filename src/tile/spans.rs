//! Smallest and largest values of rows of vertices. They show for most rows of triangles that no triangle
//! comes near the origin.

use crate::grid::element::Real;
use crate::grid::tiles::TILE;

/// Number of parts of a row, which vector instructions process side by side.
const PARTS: usize = 4;

/// The smallest and the largest value of each component of a row, by part. All are NaN if a value of the row
/// is NaN or infinite.
#[derive(Clone, Copy)]
pub(super) struct Span<T> {
    low: [[T; PARTS]; 2],
    high: [[T; PARTS]; 2],
}

impl<T: Real> Span<T> {
    /// The span of a row.
    #[inline(always)]
    pub(super) fn of(us: &[T], vs: &[T]) -> Self {
        let (u, v) = (Extremes::of(us), Extremes::of(vs));
        // A sum is not finite if a value is not. It may also overflow: then the span is useless, not wrong.
        let finite = |sum: &[T; PARTS]| sum.iter().fold(true, |all, x| all & x.is_finite());
        if finite(&u.sum) & finite(&v.sum) {
            Span { low: [u.low, v.low], high: [u.high, v.high] }
        } else {
            let none = [[T::from_f64(f64::NAN); PARTS]; 2];
            Span { low: none, high: none }
        }
    }

    /// Whether one component is above `distance`, or below `-distance`, everywhere in two rows.
    #[inline(always)]
    pub(super) fn clear(&self, other: &Self, distance: T) -> bool {
        let mut clear = [true; 4];
        for c in 0..2 {
            for i in 0..PARTS {
                clear[2 * c] &= (self.low[c][i] > distance) & (other.low[c][i] > distance);
                clear[2 * c + 1] &= (self.high[c][i] < -distance) & (other.high[c][i] < -distance);
            }
        }
        clear[0] | clear[1] | clear[2] | clear[3]
    }
}

/// The smallest and the largest of values, and their sum, by part.
struct Extremes<T> {
    low: [T; PARTS],
    high: [T; PARTS],
    sum: [T; PARTS],
}

impl<T: Real> Extremes<T> {
    #[inline(always)]
    fn of(values: &[T]) -> Self {
        if let (Some(row), Some(end)) = (values.first_chunk::<TILE>(), values.last_chunk::<PARTS>()) {
            // Halves the row of 32 again and again. The last vertices, which cover any beyond 32, come after;
            // some count twice.
            let mut half = ([T::ZERO; TILE / 2], [T::ZERO; TILE / 2], [T::ZERO; TILE / 2]);
            for i in 0..TILE / 2 {
                let (a, b) = (row[i], row[i + TILE / 2]);
                (half.0[i], half.1[i], half.2[i]) = (a.min(b), a.max(b), a + b);
            }
            for i in 0..TILE / 4 {
                half.0[i] = half.0[i].min(half.0[i + TILE / 4]);
                half.1[i] = half.1[i].max(half.1[i + TILE / 4]);
                half.2[i] = half.2[i] + half.2[i + TILE / 4];
            }
            let mut all = Extremes { low: *end, high: *end, sum: *end };
            for i in 0..PARTS {
                all.low[i] = all.low[i].min(half.0[i]).min(half.0[i + PARTS]);
                all.high[i] = all.high[i].max(half.1[i]).max(half.1[i + PARTS]);
                all.sum[i] = all.sum[i] + half.2[i] + half.2[i + PARTS];
            }
            return all;
        }
        let (mut low, mut high, mut sum) = (values[0], values[0], T::ZERO);
        for &x in values {
            (low, high, sum) = (low.min(x), high.max(x), sum + x);
        }
        Extremes { low: [low; PARTS], high: [high; PARTS], sum: [sum; PARTS] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::tiles::FRAMED;

    #[test]
    fn spans_hold_all_values_and_none_that_is_not_finite() {
        for width in 2..=FRAMED {
            for at in 0..width {
                for (value, clear) in
                    [(3.0f32, true), (1.0, false), (-2.0, false), (f32::INFINITY, false), (f32::NAN, false)]
                {
                    let (mut far, near) = ([2.0f32; FRAMED], [0.5f32; FRAMED]);
                    far[at] = value;
                    let opposite = far.map(|x| -x);
                    let plain = Span::of(&[2.0f32; FRAMED][..width], &near[..width]);
                    for (u, v) in [(far, near), (near, far)] {
                        let span = Span::of(&u[..width], &v[..width]);
                        assert_eq!(span.clear(&span, 1.0), clear, "{value} at {at} of {width}");
                    }
                    let span = Span::of(&far[..width], &near[..width]);
                    assert_eq!((span.clear(&plain, 1.0), plain.clear(&span, 1.0)), (clear, clear));
                    let below = Span::of(&opposite[..width], &near[..width]);
                    assert_eq!(below.clear(&below, 1.0), clear);
                    assert!(!below.clear(&plain, 1.0));
                }
            }
        }
    }
}
