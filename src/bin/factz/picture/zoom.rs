//! The part of a comparison to look at more closely.

use super::view::Window;
use crate::array::Dims;
use crate::fate::{Fate, Pairing, Point};
use crate::options::Spacing;

/// Of the field's width and height.
const FRACTION: f64 = 1.0 / 6.0;
/// Smallest width and height in cells.
const LEAST: f64 = 16.0;
/// Steps in which the part is moved, in its own width and height.
const STEPS: usize = 4;

/// The part with the most points that are not kept; with the most points, if all are. None of a small field,
/// or without points.
pub fn busiest<P: Point>(dims: Dims, pairings: &[Pairing<P>], spacing: Spacing) -> Option<Window> {
    let whole = Window::whole(dims);
    let part = |length: f64| (length * FRACTION).max(LEAST);
    // Both sides are the same fraction, so that the part has the proportions of the field.
    let fraction = (part(whole.width()) / whole.width()).max(part(whole.height()) / whole.height());
    if fraction > 0.5 {
        return None;
    }
    let (width, height) = (fraction * whole.width(), fraction * whole.height());
    let changed = pairings.iter().any(|p| p.fate != Fate::Kept);
    let counted = pairings.iter().filter(|p| !changed || p.fate != Fate::Kept).map(Pairing::point);
    let bins = (STEPS as f64 / fraction).ceil() as usize;
    let mut counts = vec![0u32; bins * bins];
    for p in counted {
        let bin = |at: f64, length: f64| (((at + 0.5) / length * bins as f64) as usize).min(bins - 1);
        let [x, y] = p.position();
        let (x, y) = (x / spacing.dx, y / spacing.dy);
        counts[bin(y, whole.height()) * bins + bin(x, whole.width())] += 1;
    }
    let sum = |i: usize, j: usize, size: usize| -> u32 {
        (j..j + size).map(|j| counts[j * bins + i..][..size].iter().sum::<u32>()).sum()
    };
    let places = (0..=bins - STEPS).flat_map(|j| (0..=bins - STEPS).map(move |i| (i, j)));
    // Of equal ones that with most points in its middle, of these the first.
    let points = |&(i, j): &(usize, usize)| (sum(i, j, STEPS), sum(i + 1, j + 1, STEPS - 2));
    let (i, j) = places.rev().max_by_key(points).filter(|place| points(place).0 > 0)?;
    let start = |k: usize, all: f64, part: f64| (k as f64 / bins as f64 * all - 0.5).min(all - part - 0.5);
    let (x0, y0) = (start(i, whole.width(), width), start(j, whole.height(), height));
    Some(Window { x0, y0, x1: x0 + width, y1: y0 + height })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::saddle_at;
    use crate::fate::paired;
    use factz::CriticalPoint;

    #[test]
    fn the_part_has_the_lost_points() {
        let many: Vec<CriticalPoint> = (0..30).map(|k| saddle_at(10 + k, 10)).collect();
        let lost = [saddle_at(350, 170), saddle_at(345, 165), saddle_at(200, 20)];
        let before: Vec<CriticalPoint> = many.iter().chain(&lost).copied().collect();
        let dims = Dims::plane(360, 180);
        let window = busiest(dims, &paired(&before, &many), Spacing::UNIT).unwrap();
        assert!(window.contains(350.4, 170.4) && window.contains(345.4, 165.4), "{window:?}");
        assert!(window.x1 <= 359.5 && window.y1 <= 179.5);
        assert_eq!(window.width() / window.height(), 2.0);
        // A single one lies in the middle.
        let window = busiest(dims, &paired(&[saddle_at(100, 70)], &[]), Spacing::UNIT).unwrap();
        let (x, y) = ((100.4 - window.x0) / window.width(), (70.4 - window.y0) / window.height());
        assert!((0.25..0.75).contains(&x) && (0.25..0.75).contains(&y), "{window:?}");
        assert!(busiest(Dims::plane(20, 20), &paired(&before, &many), Spacing::UNIT).is_none());
        assert!(busiest::<CriticalPoint>(dims, &[], Spacing::UNIT).is_none());
    }
}
