//! An image of 8-bit RGB: rectangles, marks, text, and the PNG of it.

use super::marks::{Colour, Mark, Shape};
use crate::failure::{failure, Failure};
use crate::memory;
use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{register_font, FontDesc, FontFamily, FontStyle, IntoTextStyle, RGBColor, TextStyle};
use std::sync::Once;

pub const BLACK: Colour = [0, 0, 0];
pub const GREY: Colour = [110, 110, 110];

/// Of the outline of a mark, in its radius; at least a pixel.
const OUTLINE: f64 = 0.28;

/// Makes the embedded font known to the plots.
pub fn load_font() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let faces = [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())];
        for (style, face) in faces {
            let _ = register_font("sans-serif", style, face);
        }
    });
}

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
        let inner = radius * mark.size;
        let outer = inner + (OUTLINE * inner).max(1.0);
        let reach = 1.5 * outer + 1.0;
        let span = |centre: f64, low: usize, high: usize| {
            let from = (centre - reach).max(low as f64) as usize;
            from..((centre + reach).max(0.0) as usize + 1).min(high)
        };
        for py in span(y, area.top, area.bottom()) {
            for px in span(x, area.left, area.right()) {
                let covered = |radius| coverage(mark.shape, px as f64 - x, py as f64 - y, radius);
                let (outline, inside) = (covered(outer), covered(inner));
                let pixel = self.row(py, px, 1);
                for (c, channel) in pixel.iter_mut().enumerate() {
                    let drawn = inside * mark.colour[c] as f64 + (outline - inside) * BLACK[c] as f64;
                    *channel = (drawn + (1.0 - outline) * *channel as f64).round() as u8;
                }
            }
        }
    }

    /// A text with its middle at the height `y`. Returns its width.
    pub fn text(&mut self, (x, y): (f64, f64), anchor: Anchor, size: f64, text: &str) -> f64 {
        let style = text_style(size, anchor);
        let dimensions = (self.width as u32, self.height as u32);
        let mut backend = BitMapBackend::with_buffer(&mut self.pixels, dimensions);
        // Text outside the image is cut; the buffer cannot fail otherwise.
        let _ = backend.draw_text(text, &style, (x.round() as i32, y.round() as i32));
        text_width(size, text)
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

fn text_style(size: f64, anchor: Anchor) -> TextStyle<'static> {
    let side = match anchor {
        Anchor::Left => HPos::Left,
        Anchor::Middle => HPos::Center,
        Anchor::Right => HPos::Right,
    };
    let font = FontDesc::new(FontFamily::SansSerif, size, FontStyle::Normal);
    let style: TextStyle<'static> = font.into_text_style(&(1, 1));
    style.pos(Pos::new(side, VPos::Center)).color(&RGBColor(BLACK[0], BLACK[1], BLACK[2]))
}

/// Pixels that a text takes.
pub fn text_width(size: f64, text: &str) -> f64 {
    load_font();
    let font = FontDesc::new(FontFamily::SansSerif, size, FontStyle::Normal);
    font.layout_box(text).map_or(0.0, |((left, _), (right, _))| (right - left) as f64)
}

/// The text, or its end where it is wider than that.
pub fn fitted(size: f64, text: &str, width: f64) -> String {
    let fits = |text: &str| text_width(size, text) <= width;
    if fits(text) {
        return text.to_owned();
    }
    let ends = text.char_indices().map(|(at, _)| format!("…{}", &text[at..]));
    ends.into_iter().find(|end| fits(end)).unwrap_or_default()
}

/// The part of a pixel that a shape of a radius around its middle covers, from samples.
fn coverage(shape: Shape, x: f64, y: f64, radius: f64) -> f64 {
    const SAMPLES: usize = 4;
    let at = |k: usize| (k as f64 + 0.5) / SAMPLES as f64;
    let places = (0..SAMPLES * SAMPLES).map(|k| (x + at(k % SAMPLES), y + at(k / SAMPLES)));
    let inside = places.filter(|&(x, y)| contains(shape, x / radius, y / radius)).count();
    inside as f64 / (SAMPLES * SAMPLES) as f64
}

/// Whether a shape of radius 1 has a place. All shapes are about equally large.
fn contains(shape: Shape, x: f64, y: f64) -> bool {
    match shape {
        Shape::Circle => x * x + y * y <= 1.0,
        Shape::Diamond => x.abs() + y.abs() <= 1.3,
        Shape::Square => x.abs().max(y.abs()) <= 0.9,
        Shape::TriangleUp => y <= 0.8 && 1.9 * x.abs() <= y + 1.4,
        Shape::TriangleDown => -y <= 0.8 && 1.9 * x.abs() <= 1.4 - y,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::Class;

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

    #[test]
    fn a_text_ends_where_its_width_says() {
        let mut canvas = Canvas::new(200, 40).unwrap();
        let width = canvas.text((20.0, 20.0), Anchor::Left, 18.0, "saddle point");
        let inked = |canvas: &mut Canvas, x: usize| (0..40).any(|y| canvas.row(y, x, 1)[0] < 128);
        let columns: Vec<usize> = (0..200).filter(|&x| inked(&mut canvas, x)).collect();
        assert!(columns[0] >= 19 && columns[0] <= 23, "{columns:?}");
        assert!((*columns.last().unwrap() as f64 - (20.0 + width)).abs() < 4.0, "{width}: {columns:?}");
    }
}
