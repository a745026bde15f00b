//! Sparse arrows along the flow, which say what the texture cannot: its direction.

use super::canvas::Sizes;
use super::texture::direction;
use super::view::Flow;
use crate::failure::Failure;
use crate::memory;

/// Places in pixels of a panel, from the tail to the tip.
pub type Path = Vec<(f64, f64)>;

/// In heights of the text: from an arrow to the next, and half the length of one.
const PITCH: f64 = 3.6;
const HALF: f64 = 0.85;
/// The length of a head.
pub const HEAD: f64 = 0.45;
/// The distance from tail to tip is at least this part of the length: bent ones look like noise.
const STRAIGHT: f64 = 0.93;
/// Pixels of a step along the flow.
const STEP: f64 = 0.5;
/// Places to try for an arrow, in its pitch from the middle of its part of the panel.
const PLACES: [(f64, f64); 9] = [
    (0.0, 0.0),
    (0.25, 0.0),
    (-0.25, 0.0),
    (0.0, 0.25),
    (0.0, -0.25),
    (0.25, 0.25),
    (-0.25, -0.25),
    (0.25, -0.25),
    (-0.25, 0.25),
];

/// The flow of a panel, and the pixels that arrows must leave free.
pub struct Surface<'a> {
    flow: &'a [Flow],
    width: usize,
    height: usize,
    down: f32,
    taken: Vec<bool>,
}

impl<'a> Surface<'a> {
    /// `down` is as in [`super::texture::along`]; `discs` are marks, with their radius.
    pub fn new(
        flow: &'a [Flow],
        width: usize,
        down: f32,
        discs: impl Iterator<Item = ((f64, f64), f64)>,
    ) -> Result<Surface<'a>, Failure> {
        let taken = memory::zeros::<bool>(flow.len() as u64, "the picture")?;
        let mut surface = Surface { flow, width, height: flow.len() / width, down, taken };
        discs.for_each(|(place, radius)| surface.take(place, radius));
        Ok(surface)
    }

    fn take(&mut self, (x, y): (f64, f64), radius: f64) {
        let span = |at: f64, end: usize| {
            (at - radius).max(0.0) as usize..((at + radius).max(0.0) as usize + 1).min(end)
        };
        for py in span(y, self.height) {
            for px in span(x, self.width) {
                let away = (px as f64 + 0.5 - x).hypot(py as f64 + 0.5 - y);
                self.taken[py * self.width + px] |= away <= radius;
            }
        }
    }

    /// The direction of the flow at a place; none outside, on land, and where something else is drawn.
    fn direction(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        if x < 0.0 || y < 0.0 {
            return None;
        }
        let (px, py) = (x as usize, y as usize);
        let k = py * self.width + px;
        if px >= self.width || py >= self.height || self.taken[k] {
            return None;
        }
        let [u, v] = direction(&self.flow[k], self.down).map(f64::from);
        ((u, v) != (0.0, 0.0)).then_some((u, v))
    }

    /// The arrows of a panel, about equally far from each other.
    pub fn arrows(&self, sizes: Sizes) -> Vec<Path> {
        let pitch = PITCH * sizes.text;
        let count = |length: usize| (length as f64 / pitch).round().max(1.0) as usize;
        let (columns, rows) = (count(self.width), count(self.height));
        let (across, down) = (self.width as f64 / columns as f64, self.height as f64 / rows as f64);
        let parts = (0..rows).flat_map(|j| (0..columns).map(move |i| (i, j)));
        let arrow = |(i, j): (usize, usize)| {
            // Every other row is shifted, so that arrows form no columns.
            let shift = if j % 2 == 0 { 0.3 } else { 0.7 };
            let (x, y) = ((i as f64 + shift) * across, (j as f64 + 0.5) * down);
            let places = PLACES.iter().map(|(dx, dy)| (x + dx * pitch, y + dy * pitch));
            places.into_iter().find_map(|place| self.arrow(place, sizes.text))
        };
        parts.filter_map(arrow).collect()
    }

    /// An arrow with its middle at a place; none if its way is not free, or not smooth.
    fn arrow(&self, place: (f64, f64), text: f64) -> Option<Path> {
        let steps = (HALF * text / STEP) as usize;
        let mut path = self.followed(place, -1.0, steps)?;
        path.reverse();
        path.pop();
        path.extend(self.followed(place, 1.0, steps)?);
        let tip = self.direction(path[path.len() - 1])?;
        // The head is wider than the line.
        let ((x, y), aside) = (path[path.len() - 1], 0.4 * HEAD * text);
        for sense in [-1.0, 1.0] {
            self.direction((
                x - tip.0 * aside + sense * tip.1 * aside,
                y - tip.1 * aside - sense * tip.0 * aside,
            ))?;
        }
        let ((x0, y0), length) = (path[0], STEP * (path.len() - 1) as f64);
        ((x - x0).hypot(y - y0) > STRAIGHT * length).then(|| shortened(&path))
    }

    /// The way of the flow from a place, forwards or backwards.
    fn followed(&self, place: (f64, f64), sense: f64, steps: usize) -> Option<Path> {
        let mut path = vec![place];
        let (mut at, mut ahead) = (place, self.direction(place)?);
        for _ in 0..steps {
            at = (at.0 + sense * STEP * ahead.0, at.1 + sense * STEP * ahead.1);
            let next = self.direction(at)?;
            // A sharp bend is a place of convergence or noise.
            if next.0 * ahead.0 + next.1 * ahead.1 < 0.7 {
                return None;
            }
            ahead = next;
            path.push(at);
        }
        Some(path)
    }
}

/// A few places of a path, with its ends.
fn shortened(path: &[(f64, f64)]) -> Path {
    const PARTS: usize = 8;
    (0..=PARTS).map(|k| path[k * (path.len() - 1) / PARTS]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_run_with_the_flow_and_leave_land_and_marks_free() {
        let (width, height, sizes) = (400, 300, Sizes::of(800));
        let land = |k: usize| (k % width) < 100;
        for (vector, down, ahead) in [
            ([3.0, 0.0], 1.0, (1.0, 0.0)),
            ([0.0, 1e30], -1.0, (0.0, -1.0)),
            ([-1.0, -1.0], -1.0, (-0.7, 0.7)),
        ] {
            let flow: Vec<Flow> = (0..width * height).map(|k| (!land(k)).then_some(vector)).collect();
            let (mark, radius) = ((250.0, 150.0), 60.0);
            let surface = Surface::new(&flow, width, down, std::iter::once((mark, radius))).unwrap();
            let arrows = surface.arrows(sizes);
            assert!(arrows.len() > 20, "{}", arrows.len());
            for path in arrows {
                let (tail, tip) = (path[0], path[path.len() - 1]);
                let (dx, dy) = (tip.0 - tail.0, tip.1 - tail.1);
                let length = dx.hypot(dy);
                assert!(
                    (dx / length - ahead.0).abs() < 0.1 && (dy / length - ahead.1).abs() < 0.1,
                    "{path:?}"
                );
                let free =
                    |p: &(f64, f64)| (p.0 - mark.0).hypot(p.1 - mark.1) >= radius - 1.0 && p.0 >= 100.0;
                assert!(path.iter().all(free));
            }
        }
    }
}
