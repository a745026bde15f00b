//! One field in an area of a picture: flow and speed, axes, marks.

use super::canvas::{fitted, Anchor, Area, Canvas, BLACK};
use super::marks::{Colour, Mark};
use super::texture;
use super::view::{sample, Flow, View, Window};
use crate::args::Spacing;
use crate::array::Field;
use crate::failure::Failure;
use crate::memory;
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use serde_json::{json, Value};

/// Where there is no flow.
pub const LAND: Colour = [168, 164, 160];
/// Of the largest speeds, the fraction that has the colour of the top of the scale.
pub const ABOVE_SCALE: f64 = 0.005;

/// A mark at a place of the grid.
pub struct Placed {
    pub x: f64,
    pub y: f64,
    pub mark: Mark,
}

/// The flow on the pixels of a view.
pub struct Background {
    view: View,
    flow: Vec<Flow>,
}

impl Background {
    pub fn new(field: &Field, view: View) -> Result<Background, Failure> {
        Ok(Background { view, flow: sample(field, &view)? })
    }

    /// Whether more than a thousandth is land: a vertex may be zero by chance.
    pub fn has_land(&self) -> bool {
        1000 * self.flow.iter().filter(|flow| flow.is_none()).count() > self.flow.len()
    }

    /// The speed at the top of the scale, and whether pixels are faster: 0.5 % of them, unless many have one
    /// speed.
    pub fn top_speed(&self) -> Result<(f64, bool), Failure> {
        let mut speeds: Vec<f64> = Vec::new();
        memory::reserve(&mut speeds, self.flow.len() as u64, "the picture")?;
        speeds.extend(self.flow.iter().flatten().map(speed));
        if speeds.is_empty() {
            return Ok((0.0, false));
        }
        let k = ((speeds.len() - 1) as f64 * (1.0 - ABOVE_SCALE)) as usize;
        let (_, &mut top, above) = speeds.select_nth_unstable_by(k, f64::total_cmp);
        Ok((top, above.iter().any(|speed| *speed > top)))
    }
}

fn speed(&[u, v]: &[f64; 2]) -> f64 {
    u.hypot(v).min(f64::MAX)
}

/// The colour of a fraction of the largest speed, above 1 for what is faster.
pub fn speed_colour(fraction: f64) -> [f64; 3] {
    let colour = ViridisRGB.get_color(fraction.clamp(0.0, 1.0) as f32);
    [colour.0, colour.1, colour.2].map(f64::from)
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

pub struct Panel {
    pub title: String,
    /// Pixels that there are for it.
    pub title_width: f64,
    pub background: Background,
    pub marks: Vec<Placed>,
    pub radius: f64,
    /// Columns and rows of the grid in the unit of the axes.
    pub spacing: Spacing,
    /// A part of the field that another panel shows.
    pub outlined: Option<Window>,
}

impl Panel {
    pub fn area(&self) -> Area {
        let View { left, top, width, height, .. } = self.background.view;
        Area { left, top, width, height }
    }

    pub fn draw(&self, canvas: &mut Canvas, sizes: Sizes, top_speed: f64) -> Result<(), Failure> {
        self.draw_background(canvas, sizes, top_speed)?;
        let (area, view) = (self.area(), &self.background.view);
        for placed in self.marks.iter().filter(|p| view.window.contains(p.x, p.y)) {
            canvas.mark(area, view.pixel(placed.x, placed.y), self.radius, &placed.mark);
        }
        // Above the marks: many of them would hide it.
        if let Some(window) = self.outlined {
            let (outlined, line) = (outline(view, window), sizes.line);
            canvas.frame(outlined, line + 2, BLACK);
            canvas.frame(outlined, line, [255; 3]);
        }
        canvas.frame(area, sizes.line, BLACK);
        self.draw_axes(canvas, sizes);
        let place = (area.left as f64, area.top as f64 - 0.9 * sizes.text);
        let title = fitted(sizes.text, &self.title, self.title_width);
        canvas.text(place, Anchor::Left, sizes.text, &title);
        Ok(())
    }

    fn draw_background(&self, canvas: &mut Canvas, sizes: Sizes, top_speed: f64) -> Result<(), Failure> {
        let Area { left, top, width, .. } = self.area();
        let down = sense_of_v(self.background.view.y_up, self.spacing);
        let flow = &self.background.flow;
        let brightness = texture::along(flow, width, sizes.grain, down)?;
        for (y, (row, light)) in flow.chunks(width).zip(brightness.chunks(width)).enumerate() {
            let pixels = canvas.row(top + y, left, width).chunks_exact_mut(3);
            for (pixel, (vector, light)) in pixels.zip(row.iter().zip(light)) {
                let colour = vector.map(|vector| {
                    let light = 0.55 + 0.6 * *light as f64;
                    let fraction = if top_speed > 0.0 { speed(&vector) / top_speed } else { 0.0 };
                    speed_colour(fraction).map(|c| (light * c).min(255.0) as u8)
                });
                pixel.copy_from_slice(&colour.unwrap_or(LAND));
            }
        }
        Ok(())
    }

    fn draw_axes(&self, canvas: &mut Canvas, sizes: Sizes) {
        let (area, view, small) = (self.area(), &self.background.view, 0.8 * sizes.text);
        let (window, length, line) = (view.window, (0.3 * sizes.text) as usize, sizes.line);
        for x in
            ticks(window.x0 * self.spacing.dx, window.x1 * self.spacing.dx, area.width as f64 / (7.0 * small))
        {
            let (at, _) = view.pixel(x / self.spacing.dx, window.y0);
            let tick = Area { left: at as usize, top: area.bottom() + line, width: line, height: length };
            canvas.fill(tick, BLACK);
            canvas.text(
                (at, (area.bottom() + length) as f64 + 0.7 * small),
                Anchor::Middle,
                small,
                &number(x),
            );
        }
        for y in ticks(
            window.y0 * self.spacing.dy,
            window.y1 * self.spacing.dy,
            area.height as f64 / (3.0 * small),
        ) {
            let (_, at) = view.pixel(window.x0, y / self.spacing.dy);
            let left = area.left.saturating_sub(line + length);
            canvas.fill(Area { left, top: at as usize, width: length, height: line }, BLACK);
            canvas.text((left as f64 - 0.3 * small, at), Anchor::Right, small, &number(y));
        }
    }

    /// Where it is, and which part of the grid it shows and outlines.
    pub fn json(&self) -> Value {
        let (Area { left, top, width, height }, window) = (self.area(), self.background.view.window);
        let corners = |window: Window| [window.x0, window.y0, window.x1, window.y1];
        json!({
            "title": self.title,
            "left": left,
            "top": top,
            "width": width,
            "height": height,
            "window": corners(window),
            "outlined": self.outlined.map(corners),
            "y_up": self.background.view.y_up,
            "mark_radius": self.radius,
        })
    }
}

/// -1 if v points up in the image where u points to the right, else 1. Lines have no direction: where columns
/// run backwards, v is turned in place of u.
fn sense_of_v(y_up: bool, spacing: Spacing) -> f32 {
    let turns = [y_up, spacing.dx < 0.0, spacing.dy < 0.0];
    if turns.into_iter().fold(false, |a, b| a != b) {
        -1.0
    } else {
        1.0
    }
}

/// The pixels of a part of a view.
fn outline(view: &View, window: Window) -> Area {
    let ((x0, y0), (x1, y1)) = (view.pixel(window.x0, window.y0), view.pixel(window.x1, window.y1));
    let (left, top) = (x0.min(x1).round() as usize, y0.min(y1).round() as usize);
    let (width, height) = ((x1 - x0).abs().round() as usize, (y1 - y0).abs().round() as usize);
    Area { left, top, width, height }
}

/// Round numbers between two others, about as many as there is room for.
pub fn ticks(one: f64, other: f64, room: f64) -> Vec<f64> {
    let (low, high) = (one.min(other), one.max(other));
    let least = (high - low) / room.clamp(1.0, 8.0);
    if !(least.is_finite() && least > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter();
    let step = steps.filter(|step| step.is_finite()).find(|step| *step >= least).unwrap_or(least);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|k| k as f64 * step).collect()
}

/// A number of few digits.
pub fn number(x: f64) -> String {
    let magnitude = x.abs();
    if magnitude != 0.0 && !(1e-3..1e6).contains(&magnitude) {
        return format!("{x:.1e}");
    }
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(-0.5, 359.5, 8.0), [0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0]);
        assert_eq!(ticks(-0.5, 0.5, 1.0), [0.0]);
        assert_eq!(ticks(0.5, -180.5, 8.0), [-150.0, -100.0, -50.0, 0.0]);
        assert!(ticks(0.0, 0.0, 5.0).is_empty() && ticks(0.0, f64::INFINITY, 5.0).is_empty());
        for top in [f64::MAX, 1e39, 1e-310, 5e-323] {
            let ticks = ticks(0.0, top, 5.0);
            assert!(
                ticks.len() > 1 && ticks.iter().all(|tick| (0.0..=top).contains(tick)),
                "{top}: {ticks:?}"
            );
        }
    }

    #[test]
    fn lines_run_as_the_flow_does_on_the_map() {
        let sense = |y_up, dx, dy| sense_of_v(y_up, Spacing { dx, dy });
        assert_eq!([sense(false, 1.0, 2.0), sense(true, 1.0, 2.0)], [1.0, -1.0]);
        // North first, row 0 at the top; columns from east to west; both.
        assert_eq!(
            [sense(false, 1.0, -2.0), sense(false, -1.0, 2.0), sense(false, -1.0, -2.0)],
            [-1.0, -1.0, 1.0]
        );
        assert_eq!(sense(true, 1.0, -2.0), 1.0);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 12.5, 300.0, 1.26e-7].map(number), ["0", "12.5", "300", "1.3e-7"]);
    }
}
