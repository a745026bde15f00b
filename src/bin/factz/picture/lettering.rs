//! Text of the embedded font: its width, and its ink on pixels.

use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{register_font, FontDesc, FontFamily, FontStyle, IntoTextStyle, RGBColor, TextStyle};
use std::sync::Once;

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

/// Dots of a pixel along each axis, for text of a size: letters are on whole dots, so that those of small text
/// would be up to a pixel above or below their line.
fn fineness(size: f64) -> usize {
    if size < 40.0 {
        4
    } else {
        2
    }
}

fn font(size: f64) -> FontDesc<'static> {
    load_font();
    FontDesc::new(FontFamily::SansSerif, size, FontStyle::Normal)
}

/// Pixels that a text takes.
pub fn text_width(size: f64, text: &str) -> f64 {
    let fine = fineness(size) as f64;
    let extent = font(fine * size).layout_box(text);
    extent.map_or(0.0, |((left, _), (right, _))| (right - left) as f64 / fine)
}

/// The text, or its beginning where it is wider than that.
pub fn fitted(size: f64, text: &str, width: f64) -> String {
    let fits = |text: &str| text_width(size, text) <= width;
    if fits(text) {
        return text.to_owned();
    }
    let beginnings = text.char_indices().rev().map(|(at, _)| format!("{}…", text[..at].trim_end()));
    beginnings.into_iter().find(|beginning| fits(beginning)).unwrap_or_default()
}

/// Lines of a text that are no wider than that, broken between words.
pub fn wrapped(size: f64, text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if text_width(size, &format!("{line} {word}")) <= width => {
                *line += &format!(" {word}")
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The ink of a text on a grid of dots.
pub struct Lettering {
    /// Dots of a pixel along each axis.
    fine: usize,
    width: usize,
    height: usize,
    /// From 0 to 255.
    ink: Vec<u8>,
}

impl Lettering {
    pub fn new(size: f64, text: &str) -> Lettering {
        let fine = fineness(size);
        let scaled = fine as f64 * size;
        // Some letters reach beyond their box.
        let width = (fine as f64 * text_width(size, text) + 0.3 * scaled).ceil() as usize + 1;
        let height = (1.6 * scaled).ceil() as usize + 1;
        let mut pixels = vec![255; 3 * width * height];
        let style: TextStyle<'static> = font(scaled).into_text_style(&(1, 1));
        let style = style.pos(Pos::new(HPos::Left, VPos::Center)).color(&RGBColor(0, 0, 0));
        let mut backend = BitMapBackend::with_buffer(&mut pixels, (width as u32, height as u32));
        // The buffer cannot fail.
        let _ = backend.draw_text(text, &style, (0, height as i32 / 2));
        drop(backend);
        let ink = pixels.chunks_exact(3).map(|pixel| 255 - pixel[0]).collect();
        Lettering { fine, width, height, ink }
    }

    /// The same from the bottom up.
    pub fn upwards(&self) -> Lettering {
        let (width, height) = (self.height, self.width);
        let dot = |k: usize| self.ink[k % width * self.width + (height - 1 - k / width)];
        Lettering { fine: self.fine, width, height, ink: (0..width * height).map(dot).collect() }
    }

    /// Width and height in pixels.
    pub fn extent(&self) -> [f64; 2] {
        [self.width, self.height].map(|dots| dots as f64 / self.fine as f64)
    }

    /// The part of a pixel that is inked, from its place in the lettering.
    pub fn ink(&self, x: f64, y: f64) -> f64 {
        let first = |at: f64| (at * self.fine as f64).round() as i64;
        let (x, y) = (first(x), first(y));
        let dots = self.fine * self.fine;
        let dot = |k: usize| {
            let (x, y) = (x + (k % self.fine) as i64, y + (k / self.fine) as i64);
            let inside = (0..self.width as i64).contains(&x) && (0..self.height as i64).contains(&y);
            if inside {
                self.ink[y as usize * self.width + x as usize] as f64
            } else {
                0.0
            }
        };
        (0..dots).map(dot).sum::<f64>() / (255 * dots) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_letters_stand_on_one_line() {
        // How much deeper the ink of the second letter is than that of the first, in their size.
        let depth = |size: f64, letters: [&str; 2]| {
            let lettering = Lettering::new(size, &letters.join("  "));
            let [width, height] = lettering.extent().map(|pixels| pixels.ceil() as usize);
            let split = text_width(size, &format!("{} ", letters[0])) as usize;
            let middle = |columns: std::ops::Range<usize>| {
                let places = columns.flat_map(|x| (0..height).map(move |y| (x as f64, y as f64)));
                let ink: Vec<(f64, f64)> = places.map(|(x, y)| (y, lettering.ink(x, y))).collect();
                ink.iter().map(|(y, ink)| y * ink).sum::<f64>() / ink.iter().map(|(_, ink)| ink).sum::<f64>()
            };
            (middle(split..width) - middle(0..split)) / size
        };
        for letters in [["0", "."], ["1", ","], ["o", "g"], ["5", "%"]] {
            for size in [7.5, 8.25, 8.8, 9.9, 11.0, 21.0] {
                let error = (depth(size, letters) - depth(160.0, letters)) * size;
                assert!(error.abs() < 0.3, "{letters:?} at {size}: {error} pixels");
            }
        }
    }

    #[test]
    fn long_texts_are_wrapped_or_cut() {
        let text = "the scale ends at 19.2; 0.5 % of the area is faster";
        let lines = wrapped(11.0, text, 150.0);
        assert!(lines.len() > 1 && lines.join(" ") == text);
        assert!(lines.iter().all(|line| text_width(11.0, line) <= 150.0));
        let title = fitted(11.0, "reconstruction, 63 critical points", 120.0);
        assert!(title.starts_with("reconstruction") && title.ends_with('…'), "{title}");
        assert!(text_width(11.0, &title) <= 120.0 && text_width(11.0, &title) > 105.0, "{title}");
    }
}
