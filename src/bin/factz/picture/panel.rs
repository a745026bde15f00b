//! One field in an area of a picture: flow and speed, arrows, axes, marks.

use super::arrows::{Path, Surface, HEAD};
use super::canvas::{Anchor, Area, Canvas, Sizes, BLACK};
use super::lettering::{fitted, text_width};
use super::marks::{outline_width, Colour, Mark, Placed, Shape};
use super::scale::Scale;
use super::texture;
use super::thin::Thinning;
use super::ticks::{number, ticks};
use super::view::{sample, Flow, View, Window};
use super::Style;
use crate::array::Field;
use crate::failure::Failure;
use crate::memory;
use crate::options::Spacing;
use crate::plane_choice::AXES;
use serde_json::{json, Value};

/// Where there is no flow.
pub const LAND: Colour = [168, 164, 160];

/// The flow on the pixels of a view.
pub struct Background {
    view: View,
    flow: Vec<Flow>,
}

impl Background {
    pub fn new(field: &Field, view: View) -> Result<Background, Failure> {
        Ok(Background { view, flow: sample(field, &view)? })
    }

    /// Pixels that are no land.
    pub fn water(&self) -> usize {
        self.flow.iter().flatten().count()
    }

    /// Whether more than a thousandth is land: a vertex may be zero by chance.
    pub fn has_land(&self) -> bool {
        1000 * (self.flow.len() - self.water()) > self.flow.len()
    }

    /// The speeds of all pixels but land.
    pub fn speeds(&self) -> Result<Vec<f64>, Failure> {
        let mut speeds: Vec<f64> = Vec::new();
        memory::reserve(&mut speeds, self.flow.len() as u64, "the picture")?;
        speeds.extend(self.flow.iter().flatten().map(speed));
        Ok(speeds)
    }
}

fn speed(&[u, v]: &[f64; 2]) -> f64 {
    u.hypot(v).min(f64::MAX)
}

/// The points of a mark in a panel, and how many marks stand for them.
pub struct Tally {
    pub mark: Mark,
    pub count: usize,
    pub drawn: usize,
}

pub struct Panel {
    pub title: String,
    pub title_size: f64,
    /// Pixels that there are for the title, and left of the panel.
    pub title_width: f64,
    pub margin: f64,
    pub background: Background,
    /// The marks to draw, what they stand for, and their radius.
    pub marks: Vec<Placed>,
    pub tallies: Vec<Tally>,
    pub thinning: Thinning,
    pub radius: f64,
    pub style: Style,
    pub arrows: Vec<Path>,
    /// A part of the field that another panel shows.
    pub outlined: Option<Window>,
}

impl Panel {
    pub fn area(&self) -> Area {
        let View { left, top, width, height, .. } = self.background.view;
        Area { left, top, width, height }
    }

    /// Fills in the arrows, which leave the marks free.
    pub fn point_along_flow(&mut self, sizes: Sizes) -> Result<(), Failure> {
        let (view, background) = (self.background.view, &self.background);
        let discs = self.marks.iter().map(|placed| {
            let (x, y) = view.pixel(placed.x, placed.y);
            let radius = placed.mark.radius(self.radius);
            ((x - view.left as f64, y - view.top as f64), radius + 2.0 * outline_width(self.radius))
        });
        let surface = Surface::new(&background.flow, view.width, down(&view, self.style.spacing), discs)?;
        let mut arrows = surface.arrows(sizes);
        arrows
            .iter_mut()
            .flatten()
            .for_each(|(x, y)| (*x, *y) = (*x + view.left as f64, *y + view.top as f64));
        self.arrows = arrows;
        Ok(())
    }

    pub fn draw(&self, canvas: &mut Canvas, sizes: Sizes, scale: Option<&Scale>) -> Result<(), Failure> {
        self.draw_background(canvas, sizes, scale)?;
        let (area, view) = (self.area(), &self.background.view);
        for path in &self.arrows {
            canvas.arrow(area, path, HEAD * sizes.text);
        }
        let (rings, others): (Vec<&Placed>, _) = self.marks.iter().partition(|p| p.mark.shape == Shape::Ring);
        for placed in rings.into_iter().chain(others) {
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
        self.draw_title(canvas, sizes);
        Ok(())
    }

    /// Draws the title above the panel, from the margin on and cut, as far as its length demands.
    fn draw_title(&self, canvas: &mut Canvas, sizes: Sizes) {
        let (area, text, size) = (self.area(), sizes.text, self.title_size);
        let fits = text_width(size, &self.title) <= self.title_width;
        let margin = if fits { 0.0 } else { self.margin - 0.5 * text };
        let place = (area.left as f64 - margin, area.top as f64 - 0.9 * text);
        canvas.text(place, Anchor::Left, size, &fitted(size, &self.title, self.title_width + margin));
    }

    fn draw_background(
        &self,
        canvas: &mut Canvas,
        sizes: Sizes,
        scale: Option<&Scale>,
    ) -> Result<(), Failure> {
        let Area { left, top, width, .. } = self.area();
        let flow = &self.background.flow;
        let down = down(&self.background.view, self.style.spacing);
        let brightness = texture::along(flow, width, sizes.grain, down)?;
        for (y, (row, light)) in flow.chunks(width).zip(brightness.chunks(width)).enumerate() {
            let pixels = canvas.row(top + y, left, width).chunks_exact_mut(3);
            for (pixel, (vector, light)) in pixels.zip(row.iter().zip(light)) {
                let colour = vector.zip(scale).map(|(vector, scale)| {
                    let light = 0.55 + 0.6 * *light as f64;
                    scale.colour(speed(&vector)).map(|c| (light * c).min(255.0) as u8)
                });
                pixel.copy_from_slice(&colour.unwrap_or(LAND));
            }
        }
        Ok(())
    }

    fn draw_axes(&self, canvas: &mut Canvas, sizes: Sizes) {
        let (area, view, small) = (self.area(), &self.background.view, 0.8 * sizes.text);
        let (window, length, line) = (view.window, (0.3 * sizes.text) as usize, sizes.line);
        let [across, up] = self.style.axes();
        for x in ticks(window.x0 * across.unit, window.x1 * across.unit, area.width as f64 / (7.0 * small)) {
            let (at, _) = view.pixel(x / across.unit, window.y0);
            let tick = Area { left: at as usize, top: area.bottom() + line, width: line, height: length };
            canvas.fill(tick, BLACK);
            let height = (area.bottom() + length) as f64 + 0.7 * small;
            canvas.text((at, height), Anchor::Middle, small, &number(x));
        }
        for y in ticks(window.y0 * up.unit, window.y1 * up.unit, area.height as f64 / (3.0 * small)) {
            let (_, at) = view.pixel(window.x0, y / up.unit);
            let left = area.left.saturating_sub(line + length);
            canvas.fill(Area { left, top: at as usize, width: length, height: line }, BLACK);
            canvas.text((left as f64 - 0.3 * small, at), Anchor::Right, small, &number(y));
        }
        let middle = |from: usize, length: usize| from as f64 + 0.5 * length as f64;
        let below = (middle(area.left, area.width), (area.bottom() + length) as f64 + 1.85 * small);
        canvas.text(below, Anchor::Middle, small, across.fitting(small, area.width));
        let beside = (area.left as f64 - self.margin + 0.9 * small, middle(area.top, area.height));
        canvas.text_upwards(beside, small, up.fitting(small, area.height));
    }

    /// Its place and senses, the part of the grid that it shows and outlines, and its marks and arrows.
    pub fn json(&self) -> Value {
        let (Area { left, top, width, height }, view) = (self.area(), &self.background.view);
        let corners = |window: Window| [window.x0, window.y0, window.x1, window.y1];
        let side = |turns: bool, one: &'static str, other: &'static str| if turns { one } else { other };
        let tally = |tally: &Tally| {
            let Tally { mark, count, drawn } = tally;
            json!({ "label": mark.label, "shape": mark.shape.name(), "colour": mark.colour,
                "radius": mark.radius(self.radius), "count": count, "drawn": drawn,
                "points_per_mark": self.thinning.points(mark) })
        };
        let ends = |path: &Path| [path[0].0, path[0].1, path[path.len() - 1].0, path[path.len() - 1].1];
        json!({
            "title": self.title,
            "left": left,
            "top": top,
            "width": width,
            "height": height,
            "window": corners(view.window),
            "outlined": self.outlined.map(corners),
            "row_0": side(view.sense.rows_up, "bottom", "top"),
            "column_0": side(view.sense.columns_left, "right", "left"),
            "axes": self.style.axes().map(|axis| axis.label),
            "mark_radius": self.radius,
            "marks": self.tallies.iter().map(tally).collect::<Vec<_>>(),
            "arrows": self.arrows.iter().map(ends).collect::<Vec<_>>(),
        })
    }
}

/// An axis of the grid: the unit of its numbers, and its label.
pub struct Axis {
    pub unit: f64,
    label: String,
    short: &'static str,
}

impl Axis {
    /// The axes of the grid to the right and upwards, 0 is x. Their numbers are those of vertices where these are one
    /// unit apart, otherwise coordinates.
    pub fn of(Spacing { dx, dy }: Spacing, axes: [usize; 2]) -> [Axis; 2] {
        let axis = |distance: f64, axis: usize| {
            let (short, index) = (AXES[axis], ["column", "row", "plane"][axis]);
            match distance.abs() == 1.0 {
                false => {
                    Axis {
                        unit: distance, label: format!("{short} = {} · {index}", number(distance)), short
                    }
                }
                // Columns to the right and rows upwards need no other name.
                true if axes == [0, 1] => Axis { unit: 1.0, label: index.to_owned(), short: index },
                true => Axis { unit: 1.0, label: format!("{short} ({index})"), short: index },
            }
        };
        [axis(dx, axes[0]), axis(dy, axes[1])]
    }

    fn fitting(&self, size: f64, room: usize) -> &str {
        if text_width(size, &self.label) <= room as f64 + size {
            &self.label
        } else {
            self.short
        }
    }
}

/// Pixels that a unit of v goes down in the image, where one of u goes 1 to the right. Columns are drawn in
/// the sense of dx, so that u always points to the right.
fn down(view: &View, spacing: Spacing) -> f32 {
    let across = view.width as f64 / (view.window.width() * spacing.dx.abs());
    let along = view.height as f64 / (view.window.height() * spacing.dy.abs());
    let is_up = view.sense.rows_up == (spacing.dy > 0.0);
    // Panels have the proportions of the field, unless that would make them too narrow.
    let stretch = (along / across) as f32;
    let stretch = if stretch.is_normal() { stretch } else { 1.0 };
    if is_up {
        -stretch
    } else {
        stretch
    }
}

/// The pixels of a part of a view.
fn outline(view: &View, window: Window) -> Area {
    let ((x0, y0), (x1, y1)) = (view.pixel(window.x0, window.y0), view.pixel(window.x1, window.y1));
    let (left, top) = (x0.min(x1).round() as usize, y0.min(y1).round() as usize);
    let (width, height) = ((x1 - x0).abs().round() as usize, (y1 - y0).abs().round() as usize);
    Area { left, top, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::view::Sense;

    fn view(rows_up: bool) -> View {
        let window = Window { x0: 0.0, y0: 0.0, x1: 30.0, y1: 20.0 };
        let sense = Sense { rows_up, columns_left: false };
        View { window, left: 0, top: 0, width: 300, height: 200, sense }
    }

    #[test]
    fn lines_run_as_the_flow_does_on_the_map() {
        let down = |rows_up, dx, dy| down(&view(rows_up), Spacing { dx, dy });
        assert_eq!([down(false, 1.0, 1.0), down(true, 1.0, 1.0)], [1.0, -1.0]);
        // North first, row 0 at the top or at the bottom; columns from east to west.
        assert_eq!([down(false, 1.0, -1.0), down(true, 1.0, -1.0), down(true, -1.0, 1.0)], [-1.0, 1.0, -1.0]);
        // A panel without the proportions of the field.
        assert_eq!([down(true, 2.0, 1.0), down(true, 1.0, 1e-300)], [-2.0, -1.0]);
    }

    #[test]
    fn axes_have_the_unit_that_they_name() {
        for (axes, dx, dy, [right, up]) in [
            ([0, 1], 1.0, -1.0, [(1.0, "column"), (1.0, "row")]),
            ([0, 1], 0.5, -0.25, [(0.5, "x = 0.5 · column"), (-0.25, "y = -0.25 · row")]),
            ([1, 2], -1.0, 3.0, [(1.0, "y (row)"), (3.0, "z = 3 · plane")]),
            ([0, 2], 2.0, 1.0, [(2.0, "x = 2 · column"), (1.0, "z (plane)")]),
        ] {
            let found = Axis::of(Spacing { dx, dy }, axes).map(|axis| (axis.unit, axis.label));
            assert_eq!(found.each_ref().map(|(unit, label)| (*unit, &**label)), [right, up]);
        }
    }
}
