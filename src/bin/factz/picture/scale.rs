//! The scale of colours for speeds, and its bar beside the panels.

use super::canvas::{Anchor, Area, Canvas, Sizes, BLACK};
use super::lettering::text_width;
use super::marks::Colour;
use super::ticks::{number, rounded, steps, ticks};
use crate::options::{Look, SpeedRange};
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};
use serde_json::{json, Value};

/// Of the speeds, the fraction that lies above the scale if nothing says where it ends.
const ABOVE: f64 = 0.005;
/// A logarithmic scale that nothing limits spans no more than four decades (see `--log`).
const DECADES: f64 = 1e4;
/// Numbers of the bar are no wider than this one.
const WIDEST: &str = "2e-308";

/// The speeds between which colours differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub log: bool,
    given: bool,
    /// The slowest and the fastest speed.
    span: [f64; 2],
    /// Fractions of the area that are slower and faster than the scale.
    beyond: [f64; 2],
}

impl Scale {
    /// For the speeds of panels, of which the first that moves counts where no range is given. None where
    /// nothing moves and nothing is given.
    pub fn of(mut panels: Vec<Vec<f64>>, look: &Look) -> Option<Scale> {
        let of_panels = || panels.iter_mut().find_map(|speeds| range_of(speeds, look.log));
        let SpeedRange { low, high } = look.speed_range.or_else(of_panels)?;
        let all = || panels.iter().flatten().copied();
        let part = |beyond: &dyn Fn(f64) -> bool| {
            all().filter(|speed| beyond(*speed)).count() as f64 / all().count().max(1) as f64
        };
        let beyond = [part(&|speed| speed < low), part(&|speed| speed > high)];
        let span = [all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max)];
        Some(Scale { low, high, log: look.log, given: look.speed_range.is_some(), span, beyond })
    }

    /// The place of a speed on the scale, from 0 to 1.
    pub fn place(&self, speed: f64) -> f64 {
        let place = match self.log {
            true => (speed / self.low).ln() / (self.high / self.low).ln(),
            // Half of both, since their difference may overflow.
            false => (0.5 * speed - 0.5 * self.low) / (0.5 * self.high - 0.5 * self.low),
        };
        if place.is_nan() {
            0.0
        } else {
            place.clamp(0.0, 1.0)
        }
    }

    pub fn colour(&self, speed: f64) -> [f64; 3] {
        colour(self.place(speed))
    }

    /// Speeds that the colours leave out, for the legend.
    pub fn notes(&self) -> Vec<String> {
        let [slower, faster] = self.beyond;
        let [least, most] = self.span.map(rounded);
        let ends = |of: f64| if self.given { number(of) } else { rounded(of) };
        let mut notes = Vec::new();
        if slower > 0.0 {
            let (part, end) = (percentage(slower), ends(self.low));
            let least = if least == end { String::new() } else { format!(", down to {least}") };
            notes.push(format!("the scale begins at {end}; {part} of the area is slower{least}"));
        }
        if faster > 0.0 {
            let (part, end) = (percentage(faster), ends(self.high));
            let most = if most == end { String::new() } else { format!(", up to {most}") };
            notes.push(format!("the scale ends at {end}; {part} of the area is faster{most}"));
        }
        notes
    }

    pub fn json(&self) -> Value {
        json!({ "low": self.low, "log": self.log, "slower": self.beyond[0],
            "faster": self.beyond[1], "fastest": self.span[1] })
    }

    /// The round numbers on the bar.
    fn ticks(&self, room: f64) -> Vec<f64> {
        let of_decades = || steps(self.low, self.high);
        match self.log && self.high >= 10.0 * self.low {
            true => {
                let numbers = of_decades();
                let every = (numbers.len() as f64 / room.max(1.0)).ceil() as usize;
                numbers.into_iter().step_by(every.max(1)).collect()
            }
            false => ticks(self.low, self.high, room),
        }
    }

    /// Draws the bar right of a panel.
    pub fn draw(&self, canvas: &mut Canvas, panel: Area, sizes: Sizes) {
        let (text, line) = (sizes.text, sizes.line);
        let title = if self.log { "speed, log" } else { "speed" };
        let (left, width) = (panel.right() + (0.9 * text) as usize, text as usize);
        canvas.text((left as f64, panel.top as f64 + 0.3 * text), Anchor::Left, 0.8 * text, title);
        let height =
            panel.height.saturating_sub((1.9 * text) as usize).min((12.0 * text) as usize).max(width);
        let top = panel.top + (1.9 * text) as usize;
        let area = Area { left, top, width, height };
        for y in 0..area.height {
            let colour = on_bar(1.0 - y as f64 / (area.height - 1).max(1) as f64);
            canvas.fill(Area { top: area.top + y, height: 1, ..area }, colour);
        }
        canvas.frame(area, line, BLACK);
        // Slower and faster speeds have the colour of an end.
        for (beyond, is_below) in self.beyond.into_iter().zip([true, false]) {
            if beyond > 0.0 {
                draw_tip(canvas, area, is_below, sizes);
            }
        }
        for speed in self.ticks(area.height as f64 / (1.8 * text)) {
            let y = area.bottom() as f64 - self.place(speed) * area.height as f64;
            let (left, width) = (area.right(), (0.2 * text) as usize);
            canvas.fill(Area { left, top: y as usize, width, height: line }, BLACK);
            canvas.text((left as f64 + 0.4 * text, y), Anchor::Left, 0.75 * text, &number(speed));
        }
    }

    /// Pixels right of the last panel that the bar takes with its numbers.
    pub fn room(sizes: Sizes) -> usize {
        let text = sizes.text;
        let words = text_width(0.8 * text, "speed, log").max(1.4 * text + text_width(0.75 * text, WIDEST));
        (0.9 * text + words + 0.5 * text) as usize
    }
}

/// Draws a triangle at an end of the bar.
fn draw_tip(canvas: &mut Canvas, bar: Area, is_below: bool, sizes: Sizes) {
    let (line, height) = (sizes.line, (0.55 * sizes.text) as usize);
    let framed = Area { top: bar.top - line, height: bar.height + 2 * line, ..bar };
    let outer = Area { left: bar.left - line, width: bar.width + 2 * line, ..framed };
    canvas.tip(outer, height, is_below, BLACK);
    let inner = height.saturating_sub(2 * line).max(1);
    canvas.tip(framed, inner, is_below, on_bar(if is_below { 0.0 } else { 1.0 }));
}

fn colour(place: f64) -> [f64; 3] {
    let colour = ViridisRGB.get_color(place as f32);
    [colour.0, colour.1, colour.2].map(f64::from)
}

/// The texture darkens the colours by as much on average.
fn on_bar(place: f64) -> Colour {
    colour(place).map(|c| (0.85 * c) as u8)
}

fn percentage(part: f64) -> String {
    match 100.0 * part {
        percent if percent < 0.1 => "less than 0.1 %".to_owned(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// The range of a scale that leaves out the fastest. None where nothing moves.
fn range_of(speeds: &mut [f64], log: bool) -> Option<SpeedRange> {
    let last = speeds.len().checked_sub(1)?;
    let mut at = |part: f64| *speeds.select_nth_unstable_by((last as f64 * part) as usize, f64::total_cmp).1;
    let high = at(1.0 - ABOVE);
    // In pixels the mean of opposite vectors may be 0.
    let low = if log { at(ABOVE).max(high / DECADES) } else { 0.0 };
    // One speed everywhere is in the middle of a logarithmic scale.
    let low = if log && low == high { high / 10.0 } else { low };
    (high > 0.0 && low < high).then_some(SpeedRange { low, high })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(speeds: &[f64], speed_range: Option<SpeedRange>, log: bool) -> Option<Scale> {
        let look = Look { speed_range, log, ..Look::default() };
        Scale::of(vec![speeds.to_vec()], &look)
    }

    #[test]
    fn the_fastest_are_left_out_and_told() {
        let mut speeds: Vec<f64> = (1..=1000).map(|k| k as f64 / 10.0).collect();
        let all = scale(&speeds, None, false).unwrap();
        assert_eq!((all.low, all.high, all.place(200.0), all.place(0.0)), (0.0, 99.5, 1.0, 0.0));
        assert_eq!(all.notes(), ["the scale ends at 99.5; 0.5 % of the area is faster, up to 100"]);
        let log = scale(&speeds, None, true).unwrap();
        assert!((log.low - 0.5).abs() < 0.2 && log.notes().len() == 2, "{log:?}");
        assert!((log.place((log.low * log.high).sqrt()) - 0.5).abs() < 1e-12);
        speeds[0] = 1e-9;
        let given = scale(&speeds, Some(SpeedRange { low: 10.0, high: 200.0 }), false).unwrap();
        assert_eq!(given.notes(), ["the scale begins at 10; 9.9 % of the area is slower, down to 1e-9"]);
        // Two numbers that read alike are one.
        let alike: Vec<f64> = speeds.iter().map(|k| 1e300 * (1.0 + 1e-7 * k)).collect();
        let notes = scale(&alike, None, false).unwrap().notes();
        assert_eq!(notes, ["the scale ends at 1e300; 0.5 % of the area is faster"]);
    }

    #[test]
    fn any_speeds_have_a_scale_if_something_moves() {
        assert_eq!((scale(&[], None, false), scale(&[0.0; 9], None, true)), (None, None));
        for log in [false, true] {
            for speed in [1e-310, 3.0, f64::MAX] {
                let scale = scale(&[speed; 9], None, log).unwrap();
                assert!(scale.low < scale.high && scale.place(speed) == 1.0, "{scale:?}");
                assert!(scale.ticks(5.0).iter().all(|tick| (0.0..=1.0).contains(&scale.place(*tick))));
                assert!(scale.notes().is_empty());
            }
        }
    }
}
