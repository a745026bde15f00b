//! The plots of a sweep as SVG.

use super::Run;
use crate::failure::{failure, Failure};
use crate::picture::{load_font, number, steps, ticks};
use crate::say::grouped;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use std::ops::Range;

const SIZE: (u32, u32) = (900, 520);
/// Colours that colour-blind readers tell apart.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(120, 120, 120),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// An axis: its name, the number of a run on it, and how numbers become places and text.
pub struct Axis {
    name: &'static str,
    number: fn(&Run) -> Option<f64>,
    scale: Scale,
    text: fn(f64) -> String,
}

/// How the place of a number follows from it.
#[derive(Clone, Copy)]
enum Scale {
    Linear,
    Logarithmic,
    /// Logarithmic, with a place for 0.
    Counts,
}

impl Scale {
    fn place(self, number: f64) -> f64 {
        match self {
            Scale::Linear => number,
            Scale::Logarithmic => number.log10(),
            Scale::Counts => (1.0 + number).log10(),
        }
    }

    fn number(self, place: f64) -> f64 {
        match self {
            Scale::Linear => place,
            Scale::Logarithmic => 10f64.powf(place),
            Scale::Counts => 10f64.powf(place) - 1.0,
        }
    }

    /// The places of round numbers.
    fn ticks(self, places: &Range<f64>) -> Vec<f64> {
        let (low, high) = (self.number(places.start), self.number(places.end));
        let numbers = match self {
            Scale::Linear => ticks(low, high, MOST_TICKS),
            Scale::Logarithmic if high < 10.0 * low => ticks(low, high, MOST_TICKS),
            Scale::Logarithmic => steps(low, high),
            Scale::Counts => [vec![0.0], steps(1.0, high.max(1.0))].concat(),
        };
        numbers.into_iter().map(|number| self.place(number)).collect()
    }
}

const MOST_TICKS: f64 = 8.0;

fn positive(x: f64) -> Option<f64> {
    (x > 0.0).then_some(x)
}

pub const BIT_RATE: Axis = Axis {
    name: "bits per value",
    number: |run| positive(run.bit_rate),
    scale: Scale::Logarithmic,
    text: number,
};
pub const BOUND: Axis = Axis {
    name: "bound, fraction of the range",
    number: |run| positive(run.bound),
    scale: Scale::Logarithmic,
    text: |bound| format!("{bound:.1e}").replace(".0e", "e"),
};
pub const PSNR: Axis = Axis {
    name: "PSNR in dB",
    number: |run| run.changes.psnr.filter(|psnr| psnr.is_finite()),
    scale: Scale::Linear,
    text: number,
};
pub const CHANGED_POINTS: Axis = Axis {
    name: "critical points lost, spurious or of another type",
    number: |run| Some(run.changed_points() as f64),
    scale: Scale::Counts,
    text: |count| grouped(count.round() as u64),
};
pub const COMPRESSION: Axis = Axis {
    name: "compression in MB/s",
    number: |run| positive(run.speeds[0]),
    scale: Scale::Logarithmic,
    text: number,
};
pub const DECOMPRESSION: Axis = Axis {
    name: "decompression in MB/s",
    number: |run| positive(run.speeds[1]),
    scale: Scale::Logarithmic,
    text: number,
};

impl Axis {
    fn place(&self, run: &Run) -> Option<f64> {
        (self.number)(run).map(|number| self.scale.place(number))
    }

    fn label(&self, place: f64) -> String {
        (self.text)(self.scale.number(place))
    }
}

/// A line of a compressor over the bounds.
struct Line<'a> {
    name: &'a str,
    places: Vec<(f64, f64)>,
}

fn lines<'a>(runs: &'a [Run], x: &Axis, y: &Axis) -> Vec<Line<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    for run in runs.iter().filter(|run| run.codec.plotted) {
        let Some(place) = x.place(run).zip(y.place(run)) else { continue };
        match lines.iter_mut().find(|line| line.name == run.codec.name) {
            Some(line) => line.places.push(place),
            None => lines.push(Line { name: &run.codec.name, places: vec![place] }),
        }
    }
    for line in &mut lines {
        line.places.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// The numbers of an axis with a margin on both sides.
fn range(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low > high {
        return 0.0..1.0;
    }
    let margin = (0.05 * (high - low)).max(0.05);
    low - margin..high + margin
}

/// The places of an axis, with lines and labels at those of its round numbers.
struct Places {
    places: RangedCoordf64,
    ticks: Vec<f64>,
}

impl Places {
    fn of(axis: &Axis, places: Range<f64>) -> Places {
        Places { ticks: axis.scale.ticks(&places), places: places.into() }
    }
}

impl Ranged for Places {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, pixels: (i32, i32)) -> i32 {
        self.places.map(place, pixels)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.places.range()
    }
}

/// A plot of two axes, a line for each compressor.
pub fn svg(runs: &[Run], x: &Axis, y: &Axis) -> Result<String, Failure> {
    load_font();
    let mut text = String::new();
    draw(&mut text, &lines(runs, x, y), x, y).map_err(|e| failure!("a plot cannot be made: {e}"))?;
    Ok(text)
}

fn draw(text: &mut String, lines: &[Line], x: &Axis, y: &Axis) -> Result<(), Box<dyn std::error::Error>> {
    let places = || lines.iter().flat_map(|line| line.places.iter());
    let (across, up) = (range(places().map(|p| p.0)), range(places().map(|p| p.1)));
    let root = SVGBackend::with_string(text, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .margin_right(230)
        .x_label_area_size(48)
        .y_label_area_size(64)
        .build_cartesian_2d(Places::of(x, across), Places::of(y, up))?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(x.name)
        .y_desc(y.name)
        .x_label_formatter(&|place| x.label(*place))
        .y_label_formatter(&|place| y.label(*place))
        .label_style(("sans-serif", 15))
        .axis_desc_style(("sans-serif", 16))
        .draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let style = colour.stroke_width(2);
        chart.draw_series(LineSeries::new(line.places.iter().copied(), style))?;
        chart.draw_series(line.places.iter().map(|&place| Circle::new(place, 4, colour.filled())))?;
    }
    // The names stand right of the plot.
    let left = SIZE.0 as i32 - 218;
    for (k, (line, colour)) in lines.iter().zip(COLOURS.iter().cycle()).enumerate() {
        let height = 26 + 26 * k as i32;
        root.draw(&PathElement::new(vec![(left, height), (left + 24, height)], colour.stroke_width(3)))?;
        root.draw(&Circle::new((left + 12, height), 4, colour.filled()))?;
        root.draw(&Text::new(line.name.to_owned(), (left + 32, height - 8), ("sans-serif", 15)))?;
    }
    root.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_round_numbers() {
        let labels = |axis: &Axis, low: f64, high: f64| {
            let places = axis.scale.place(low)..axis.scale.place(high);
            axis.scale.ticks(&places).into_iter().map(|place| axis.label(place)).collect::<Vec<_>>()
        };
        assert_eq!(labels(&BIT_RATE, 0.19, 13.0), ["0.2", "0.5", "1", "2", "5", "10"]);
        assert_eq!(
            labels(&COMPRESSION, 179.0, 321.0),
            ["180", "200", "220", "240", "260", "280", "300", "320"]
        );
        assert_eq!(labels(&BOUND, 9e-7, 2e-1), ["1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1"]);
        assert_eq!(labels(&CHANGED_POINTS, 0.0, 1999.0)[..5], ["0", "1", "2", "5", "10"]);
        assert_eq!(labels(&CHANGED_POINTS, 0.0, 0.1), ["0", "1"]);
        assert_eq!(labels(&PSNR, 27.0, 103.0)[0], "30");
    }
}
