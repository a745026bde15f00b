//! An image of 8-bit RGB: rectangles, marks, text, and the PNG of it.

use super::lettering::{load_font, text_width, Lettering};
use super::marks::{outline_width, Colour, Mark, Shape};
use crate::failure::{failure, Failure};
use crate::memory;

pub const BLACK: Colour = [0, 0, 0];
pub const GREY: Colour = [110, 110, 110];

/// Arrows are fainter than marks.
const ARROW_OPACITY: f64 = 0.85;
const WHITE: Colour = [255, 255, 255];

/// Radius of the middle of a ring's line.
const RING: f64 = 0.8;

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: usize,
    pub top: usize,
    pub width: usize,
    pub height: usize,
}

impl Area {
    pub fn right(&self) -> usize {
        self.left + self.width
    }
    pub fn bottom(&self) -> usize {
        self.top + self.height
    }
}

/// The side of a text that its place says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    Left,
    Middle,
    Right,
}

/// Sizes that follow from the width of the picture.
#[derive(Clone, Copy)]
pub struct Sizes {
    pub text: f64,
    pub line: usize,
    /// Pixels of a grain of the texture.
    pub grain: usize,
}

impl Sizes {
    pub fn of(width: usize) -> Sizes {
        let unit = width as f64 / 1600.0;
        let whole = |x: f64| (x.round() as usize).max(1);
        Sizes { text: (21.0 * unit).max(11.0), line: whole(1.5 * unit), grain: whole(1.2 * unit) }
    }
}

pub struct Canvas {
    pub width: usize,
    pub height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    /// A white one.
    pub fn new(width: usize, height: usize) -> Result<Canvas, Failure> {
        load_font();
        let mut pixels = memory::zeros((width * height * 3) as u64, "the picture")?;
        pixels.fill(255);
        Ok(Canvas { width, height, pixels })
    }

    /// The pixels of a row.
    pub fn row(&mut self, y: usize, left: usize, width: usize) -> &mut [u8] {
        let at = 3 * (y * self.width + left);
        &mut self.pixels[at..at + 3 * width]
    }

    pub fn fill(&mut self, area: Area, colour: Colour) {
        for y in area.top..area.bottom().min(self.height) {
            let width = area.width.min(self.width - area.left);
            self.row(y, area.left, width)
                .chunks_exact_mut(3)
                .for_each(|pixel| pixel.copy_from_slice(&colour));
        }
    }

    /// A frame around an area, outside of it.
    pub fn frame(&mut self, area: Area, thickness: usize, colour: Colour) {
        let (left, top) = (area.left.saturating_sub(thickness), area.top.saturating_sub(thickness));
        let (width, height) = (area.width + 2 * thickness, area.height + 2 * thickness);
        for top in [top, area.bottom()] {
            self.fill(Area { left, top, width, height: thickness }, colour);
        }
        for left in [left, area.right()] {
            self.fill(Area { left, top, width: thickness, height }, colour);
        }
    }

    /// A mark with its middle at a place, cut at the border of an area.
    pub fn mark(&mut self, area: Area, (x, y): (f64, f64), radius: f64, mark: &Mark) {
        let inner = mark.radius(radius);
        let line = outline_width(radius);
        let distance = |px: f64, py: f64| inner * distance(mark.shape, (px - x) / inner, (py - y) / inner);
        let reach = 1.5 * inner + 2.0 * line;
        self.shape(area, [x - reach, y - reach, x + reach, y + reach], mark.colour, line, 1.0, distance);
    }

    /// A shape with a black outline in a part of an area. Its distance is negative inside.
    fn shape(
        &mut self,
        area: Area,
        [x0, y0, x1, y1]: [f64; 4],
        colour: Colour,
        line: f64,
        opacity: f64,
        distance: impl Fn(f64, f64) -> f64,
    ) {
        let span = |from: f64, to: f64, low: usize, high: usize| {
            from.max(low as f64) as usize..(to.max(0.0) as usize + 1).min(high)
        };
        for py in span(y0, y1, area.top, area.bottom()) {
            for px in span(x0, x1, area.left, area.right()) {
                let [outline, inside] = coverage(px, py, [line, 0.0], &distance).map(|part| opacity * part);
                let pixel = self.row(py, px, 1);
                for (c, channel) in pixel.iter_mut().enumerate() {
                    let drawn = inside * colour[c] as f64 + (outline - inside) * BLACK[c] as f64;
                    *channel = (drawn + (1.0 - outline) * *channel as f64).round() as u8;
                }
            }
        }
    }

    /// An arrow along a path, with its tip at the end of it.
    pub fn arrow(&mut self, area: Area, path: &[(f64, f64)], size: f64) {
        let Some(arrow) = Arrow::new(path, size) else { return };
        let reach = 1.5 * size;
        let (xs, ys) = (path.iter().map(|p| p.0), path.iter().map(|p| p.1));
        let low = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::INFINITY, f64::min) - reach;
        let high = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::NEG_INFINITY, f64::max) + reach;
        let bounds =
            [low(&mut xs.clone()), low(&mut ys.clone()), high(&mut xs.clone()), high(&mut ys.clone())];
        let line = (0.12 * size).max(0.7);
        self.shape(area, bounds, WHITE, line, ARROW_OPACITY, |x, y| arrow.distance(x, y));
    }

    /// A triangle with its tip above or below a rectangle, as wide as that.
    pub fn tip(&mut self, base: Area, height: usize, is_below: bool, colour: Colour) {
        for k in 0..height {
            let half = base.width as f64 / 2.0 * k as f64 / height as f64;
            let middle = base.left as f64 + base.width as f64 / 2.0;
            let (left, right) = ((middle - half).floor() as usize, (middle + half).ceil() as usize);
            let top = match is_below {
                true => base.bottom() + height - 1 - k,
                false => (base.top + k).saturating_sub(height),
            };
            self.fill(Area { left, top, width: right - left, height: 1 }, colour);
        }
    }

    /// A text with its middle at the height `y`.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: f64, text: &str) {
        let left = match anchor {
            Anchor::Left => x,
            Anchor::Middle => x - 0.5 * text_width(size, text),
            Anchor::Right => x - text_width(size, text),
        };
        let lettering = Lettering::new(size, text);
        let [_, height] = lettering.extent();
        self.print(&lettering, left, y - 0.5 * height);
    }

    /// A text from the bottom up with its middle at a place.
    pub fn text_upwards(&mut self, (x, y): (f64, f64), size: f64, text: &str) {
        let lettering = Lettering::new(size, text).upwards();
        let [width, height] = lettering.extent();
        self.print(&lettering, x - 0.5 * width, y - 0.5 * height);
    }

    /// Blackens pixels; those outside the picture are cut.
    fn print(&mut self, lettering: &Lettering, left: f64, top: f64) {
        let [width, height] = lettering.extent();
        let span = |from: f64, length: f64, end: usize| {
            from.max(0.0) as usize..((from + length).max(0.0).ceil() as usize).min(end)
        };
        for y in span(top, height, self.height) {
            for x in span(left, width, self.width) {
                let bare = 1.0 - lettering.ink(x as f64 - left, y as f64 - top);
                for channel in self.row(y, x, 1) {
                    *channel = (bare * *channel as f64).round() as u8;
                }
            }
        }
    }

    pub fn png(&self) -> Result<Vec<u8>, Failure> {
        let cannot = |e| failure!("the picture cannot be made: {e}");
        // Compressed it is smaller; with room for all it never grows.
        let mut bytes = Vec::new();
        memory::reserve(&mut bytes, self.pixels.len() as u64 + (1 << 16), "the picture")?;
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(cannot)?;
        writer.write_image_data(&self.pixels).map_err(cannot)?;
        writer.finish().map_err(cannot)?;
        Ok(bytes)
    }
}

/// The parts of a pixel that are closer to a shape than some distances, from samples.
fn coverage<const N: usize>(
    x: usize,
    y: usize,
    limits: [f64; N],
    distance: impl Fn(f64, f64) -> f64,
) -> [f64; N] {
    // No place of the pixel is further from its middle than that.
    const HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;
    let middle = distance(x as f64 + 0.5, y as f64 + 0.5);
    if limits.iter().all(|limit| (middle - limit).abs() > HALF) {
        return limits.map(|limit| f64::from(u8::from(middle <= limit)));
    }
    const SAMPLES: usize = 4;
    let at = |k: usize| (k as f64 + 0.5) / SAMPLES as f64;
    let mut counts = [0; N];
    for k in 0..SAMPLES * SAMPLES {
        let distance = distance(x as f64 + at(k % SAMPLES), y as f64 + at(k / SAMPLES));
        for (count, limit) in counts.iter_mut().zip(limits) {
            *count += usize::from(distance <= limit);
        }
    }
    counts.map(|count| count as f64 / (SAMPLES * SAMPLES) as f64)
}

/// The distance of a place from a shape of radius 1, negative inside; sharp corners stay sharp. All shapes
/// are about equally large.
fn distance(shape: Shape, x: f64, y: f64) -> f64 {
    let triangle = |y: f64| (y - 0.8).max((1.9 * x.abs() - y - 1.4) / 1.9f64.hypot(1.0));
    match shape {
        Shape::Circle => x.hypot(y) - 1.0,
        Shape::Diamond => (x.abs() + y.abs() - 1.3) / std::f64::consts::SQRT_2,
        Shape::Square => x.abs().max(y.abs()) - 0.9,
        Shape::TriangleUp => triangle(y),
        Shape::TriangleDown => triangle(-y),
        Shape::Ring => (x.hypot(y) - RING).abs() - (1.0 - RING),
    }
}

/// A line along a path, and a head at its end.
struct Arrow<'a> {
    line: &'a [(f64, f64)],
    tip: (f64, f64),
    /// The direction of the head.
    ahead: (f64, f64),
    size: f64,
}

impl Arrow<'_> {
    /// None without a direction.
    fn new(path: &[(f64, f64)], size: f64) -> Option<Arrow<'_>> {
        let (&tip, rest) = path.split_last()?;
        let away = |p: &(f64, f64)| (tip.0 - p.0).hypot(tip.1 - p.1);
        // The head points as its own length of the path does.
        let from = rest.iter().rposition(|p| away(p) >= size).unwrap_or(0);
        let base = rest.get(from)?;
        let length = away(base);
        let ahead = ((tip.0 - base.0) / length, (tip.1 - base.1) / length);
        (length > 0.0).then_some(Arrow { line: &path[..=from], tip, ahead, size })
    }

    fn distance(&self, x: f64, y: f64) -> f64 {
        let segments = self.line.windows(2).map(|pair| to_segment((x, y), pair[0], pair[1]));
        let body = segments.fold(f64::INFINITY, f64::min) - (0.08 * self.size).max(0.5);
        let (dx, dy) = (x - self.tip.0, y - self.tip.1);
        let (behind, aside) =
            (-(dx * self.ahead.0 + dy * self.ahead.1), dx * self.ahead.1 - dy * self.ahead.0);
        const SLOPE: f64 = 0.45;
        let head = (behind - self.size).max((aside.abs() - SLOPE * behind) / SLOPE.hypot(1.0));
        body.min(head)
    }
}

/// The distance of a place from a segment.
fn to_segment(p: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let along = ((p.0 - a.0) * dx + (p.1 - a.1) * dy) / length.max(f64::MIN_POSITIVE);
    let along = along.clamp(0.0, 1.0);
    (p.0 - a.0 - along * dx).hypot(p.1 - a.1 - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;
    use crate::fate::Fate;

    #[test]
    fn a_mark_has_its_colour_in_the_middle_and_stays_in_its_area() {
        let area = Area { left: 10, top: 10, width: 30, height: 30 };
        for class in Class::ALL {
            let mut canvas = Canvas::new(50, 50).unwrap();
            let mark = Mark::of_class(class);
            canvas.mark(area, (12.5, 25.5), 6.0, &mark);
            assert_eq!(canvas.row(25, 12, 1), mark.colour);
            assert_eq!(canvas.row(25, 9, 1), [255; 3]);
        }
    }

    /// A lost point and a spurious one at the same place.
    #[test]
    fn a_ring_is_visible_around_a_mark() {
        let area = Area { left: 0, top: 0, width: 50, height: 50 };
        for radius in [2.0, 6.0] {
            let mut canvas = Canvas::new(50, 50).unwrap();
            let [spurious, lost] = [Fate::Spurious, Fate::Lost].map(Mark::of_fate);
            canvas.mark(area, (25.5, 25.5), radius, &lost);
            canvas.mark(area, (25.5, 25.5), radius, &spurious);
            let pixels: Vec<Colour> =
                (0..2500).map(|k| canvas.row(k / 50, k % 50, 1).try_into().unwrap()).collect();
            // Lines may be thinner than a pixel.
            let is_near = |pixel: &Colour, colour: Colour| {
                pixel.iter().zip(colour).map(|(a, b)| a.abs_diff(b) as u32).sum::<u32>() < 150
            };
            let count = |colour| pixels.iter().filter(|pixel| is_near(pixel, colour)).count();
            assert!(count(spurious.colour) as f64 > 0.5 * radius * radius, "{radius}");
            assert!(count(lost.colour) as f64 > radius * radius, "{radius}");
        }
    }

    #[test]
    fn a_text_is_where_its_anchor_says() {
        for size in [9.0, 18.0, 45.0] {
            let text = "attracting focus";
            let width = text_width(size, text);
            for (anchor, left) in [(Anchor::Left, 100.0), (Anchor::Middle, 100.0 - width / 2.0)] {
                let mut canvas = Canvas::new(600, 80).unwrap();
                canvas.text((100.0, 40.0), anchor, size, text);
                let inked = |canvas: &mut Canvas, x: usize| (0..80).any(|y| canvas.row(y, x, 1)[0] < 128);
                let columns: Vec<usize> = (0..600).filter(|&x| inked(&mut canvas, x)).collect();
                let (first, last) = (columns[0] as f64, *columns.last().unwrap() as f64);
                let slack = 2.0 + 0.08 * size;
                assert!((first - left.max(0.0)).abs() < slack, "{size}: {first}");
                assert!((last - left - width).abs() < slack, "{size}: {last}");
            }
        }
    }
}
