//! The plots of a sweep as SVG.

use super::Run;
use crate::failure::{failure, Failure};
use crate::picture::load_font;
use plotters::prelude::*;

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

/// An axis: its name, the place of a run on it, and the text of a place.
pub struct Axis {
    name: &'static str,
    place: fn(&Run) -> Option<f64>,
    text: fn(f64) -> String,
}

fn number(x: f64) -> String {
    match x {
        x if x >= 100.0 => format!("{x:.0}"),
        x if x >= 1.0 => format!("{x:.1}").trim_end_matches(".0").to_owned(),
        x if x >= 0.01 => format!("{x:.2}"),
        x => format!("{x:.0e}"),
    }
}

/// Bits for a value, as a logarithm.
pub const BIT_RATE: Axis =
    Axis { name: "bits per value", place: |run| Some(run.bit_rate.log10()), text: |x| number(10f64.powf(x)) };
pub const BOUND: Axis = Axis {
    name: "bound, fraction of the range",
    place: |run| (run.bound > 0.0).then(|| run.bound.log10()),
    text: |x| format!("{:.0e}", 10f64.powf(x)),
};
pub const PSNR: Axis = Axis {
    name: "PSNR in dB",
    place: |run| run.comparison.psnr.filter(|psnr| psnr.is_finite()),
    text: |x| format!("{x:.0}"),
};
/// As a logarithm that has a place for none.
pub const CHANGED_POINTS: Axis = Axis {
    name: "critical points lost, spurious or of another type",
    place: |run| Some((1.0 + run.changed_points() as f64).log10()),
    text: |x| format!("{:.0}", (10f64.powf(x) - 1.0).max(0.0)),
};
pub const COMPRESSION: Axis = Axis {
    name: "compression in MB/s",
    place: |run| (run.speeds[0] > 0.0).then(|| run.speeds[0].log10()),
    text: |x| number(10f64.powf(x)),
};
pub const DECOMPRESSION: Axis = Axis {
    name: "decompression in MB/s",
    place: |run| (run.speeds[1] > 0.0).then(|| run.speeds[1].log10()),
    text: |x| number(10f64.powf(x)),
};

/// A line of a compressor over the bounds.
struct Line<'a> {
    name: &'a str,
    places: Vec<(f64, f64)>,
}

fn lines<'a>(runs: &'a [Run], x: &Axis, y: &Axis) -> Vec<Line<'a>> {
    let mut lines: Vec<Line> = Vec::new();
    for run in runs.iter().filter(|run| run.codec.plotted) {
        let Some(place) = (x.place)(run).zip((y.place)(run)) else { continue };
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
fn range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low > high {
        return 0.0..1.0;
    }
    let margin = (0.05 * (high - low)).max(0.05);
    low - margin..high + margin
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
        .build_cartesian_2d(across.clone(), up.clone())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .x_desc(x.name)
        .y_desc(y.name)
        .x_label_formatter(&|value| (x.text)(*value))
        .y_label_formatter(&|value| (y.text)(*value))
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
