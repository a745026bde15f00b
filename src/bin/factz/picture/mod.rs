//! Pictures of fields: flow, speed and critical points, alone or beside a reconstruction.

mod canvas;
mod marks;
mod panel;
mod texture;
mod view;
mod zoom;

use crate::args::Spacing;
use crate::array::{Dims, Field};
use crate::class::Class;
use crate::failure::Failure;
use crate::fate::{Fate, Pairing};
use crate::say::grouped;
use canvas::{text_width, Anchor, Area, Canvas, BLACK, GREY};
use factz::CriticalPoint;
use marks::Mark;
use panel::{speed_colour, Background, Panel, Placed, Sizes, ABOVE_SCALE, LAND};
use serde_json::{json, Value};
use view::View;

pub use canvas::load_font;
pub use panel::{number, ticks};
pub use view::Window;

/// A picture as PNG, and what it shows where.
pub struct Picture {
    pub png: Vec<u8>,
    pub report: Value,
}

/// What all pictures let choose.
#[derive(Clone, Copy)]
pub struct Style {
    /// Of the picture, in pixels.
    pub width: usize,
    /// Row 0 of the field is at the bottom.
    pub y_up: bool,
    pub spacing: Spacing,
}

/// A mark of the legend, with its number.
type Counted = (Mark, usize);

/// The colour scale, with its numbers, takes this many heights of the text.
const SCALE_ROOM: f64 = 6.0;
/// Largest height of a panel, as a multiple of the picture's width.
const TALLEST: f64 = 1.4;

/// A field with its critical points by type; below, the part `zoom` of it.
pub fn of_field(
    field: &Field,
    points: &[CriticalPoint],
    title: &str,
    zoom: Option<Window>,
    style: Style,
) -> Result<Picture, Failure> {
    let layout = Layout::new(field.dims, style, 1);
    let marks = || points.iter().map(|p| style.placed(p, Mark::of_class(Class::of(p)))).collect();
    let panels = layout.rows(&[(field, title)], zoom, |_| marks())?;
    let classes = Class::counts(points).into_iter().filter(|(class, count)| class.is_usual() || *count > 0);
    let counted: Vec<Counted> = classes.map(|(class, count)| (Mark::of_class(class), count)).collect();
    layout.draw(panels, &counted)
}

/// A field of a comparison, with the points to mark.
pub struct Column<'a> {
    field: &'a Field,
    title: &'a str,
    points: Vec<(Fate, CriticalPoint)>,
}

impl<'a> Column<'a> {
    /// The original: points that are kept, changed or lost.
    pub fn before(field: &'a Field, title: &'a str, pairings: &[Pairing]) -> Column<'a> {
        let points = pairings.iter().filter_map(|p| Some((p.fate, p.before?)));
        Column { field, title, points: points.collect() }
    }

    /// The reconstruction: points that are kept, changed or spurious.
    pub fn after(field: &'a Field, title: &'a str, pairings: &[Pairing]) -> Column<'a> {
        let points = pairings.iter().filter_map(|p| Some((p.fate, p.after?)));
        Column { field, title, points: points.collect() }
    }

    /// A reconstruction with the points of both fields.
    pub fn all(field: &'a Field, title: &'a str, pairings: &[Pairing]) -> Column<'a> {
        Column { field, title, points: pairings.iter().map(|p| (p.fate, *p.point())).collect() }
    }
}

/// Two fields side by side with the fates of their critical points; below, the same of a part, `zoom` or that
/// with most changes among `pairings`, which the legend counts.
pub fn of_comparison(
    columns: [Column; 2],
    pairings: &[Pairing],
    zoom: Option<Window>,
    style: Style,
) -> Result<Picture, Failure> {
    let dims = columns[0].field.dims;
    let zoom = zoom.or_else(|| zoom::busiest(dims, pairings, style.spacing));
    let layout = Layout::new(dims, style, columns.len());
    let fields = columns.each_ref().map(|column| (column.field, column.title));
    let panels = layout.rows(&fields, zoom, |number| style.by_fate(&columns[number].points))?;
    let counted =
        Fate::ALL.map(|fate| (Mark::of_fate(fate), pairings.iter().filter(|p| p.fate == fate).count()));
    layout.draw(panels, &counted)
}

impl Style {
    fn placed(&self, point: &CriticalPoint, mark: Mark) -> Placed {
        Placed { x: point.x / self.spacing.dx, y: point.y / self.spacing.dy, mark }
    }

    /// Rare fates come last, so that they are on top.
    fn by_fate(&self, points: &[(Fate, CriticalPoint)]) -> Vec<Placed> {
        let of = |fate| points.iter().filter(move |(f, _)| *f == fate);
        let placed = |fate| of(fate).map(move |(_, point)| self.placed(point, Mark::of_fate(fate)));
        Fate::ALL.into_iter().flat_map(placed).collect()
    }
}

/// Where panels, scale and legend lie.
struct Layout {
    style: Style,
    sizes: Sizes,
    /// Pixels left of a panel for its numbers.
    left: usize,
    panel_width: usize,
    panel_height: usize,
    columns: usize,
    /// Pixels from one panel to the next, and those for a title.
    pitch: usize,
    title_width: usize,
}

impl Layout {
    /// For panels side by side that have the proportions of a field.
    fn new(dims: Dims, style: Style, columns: usize) -> Layout {
        let sizes = Sizes::of(style.width);
        let whole = Window::whole(dims);
        let widest = ticks(whole.y0 * style.spacing.dy, whole.y1 * style.spacing.dy, 8.0)
            .into_iter()
            .map(|y| text_width(0.8 * sizes.text, &number(y)))
            .fold(0.0, f64::max);
        let left = (widest + 1.6 * sizes.text) as usize;
        let room = style.width.saturating_sub(columns * left + (SCALE_ROOM * sizes.text) as usize);
        let ratio = (whole.height() * style.spacing.dy) / (whole.width() * style.spacing.dx);
        let widest = (room / columns) as f64;
        let least = 2.0 * sizes.text;
        let panel_width = widest.min(TALLEST * style.width as f64 / columns as f64 / ratio).max(least);
        let panel_height = (panel_width * ratio).clamp(least, TALLEST * style.width as f64);
        let (panel_width, panel_height) = (panel_width as usize, panel_height as usize);
        // Narrow panels are apart, so that there is room for their titles.
        let pitch = (panel_width + left).max((room + columns * left) / columns);
        let title_width = if columns == 1 { style.width - left } else { pitch - left };
        Layout { style, sizes, left, panel_width, panel_height, columns, pitch, title_width }
    }

    /// Above a panel its title, below it numbers.
    fn row_height(&self) -> usize {
        self.panel_height + (4.2 * self.sizes.text) as usize
    }

    /// Panels of fields with titles, side by side; below them those of a part. `marks` gives those of a
    /// column.
    fn rows(
        &self,
        fields: &[(&Field, &str)],
        zoom: Option<Window>,
        marks: impl Fn(usize) -> Vec<Placed>,
    ) -> Result<Vec<Panel>, Failure> {
        let mut panels = Vec::new();
        let whole = fields.first().map(|(field, _)| Window::whole(field.dims));
        for (row, window) in [whole, zoom].into_iter().flatten().enumerate() {
            for (column, &(field, title)) in fields.iter().enumerate() {
                let title = if row == 0 { title } else { "the outlined part" };
                let mut panel = self.panel(field, window, (column, row), title.to_owned(), marks(column))?;
                panel.outlined = if row == 0 { zoom } else { None };
                panels.push(panel);
            }
        }
        Ok(panels)
    }

    fn panel(
        &self,
        field: &Field,
        window: Window,
        (column, row): (usize, usize),
        title: String,
        marks: Vec<Placed>,
    ) -> Result<Panel, Failure> {
        let view = View {
            window,
            left: self.left + column * self.pitch,
            top: (2.0 * self.sizes.text) as usize + row * self.row_height(),
            width: self.panel_width,
            height: self.panel_height,
            y_up: self.style.y_up,
        };
        let shown = marks.iter().filter(|p| window.contains(p.x, p.y)).count();
        let radius = self.radius(shown);
        let background = Background::new(field, view)?;
        let (title_width, spacing) = (self.title_width as f64, self.style.spacing);
        Ok(Panel { title, title_width, background, marks, radius, spacing, outlined: None })
    }

    /// Of the marks of a panel: smaller where there are many.
    fn radius(&self, marks: usize) -> f64 {
        let room = (self.panel_width * self.panel_height) as f64 / marks.max(1) as f64;
        (0.17 * room.sqrt()).clamp(0.1 * self.sizes.text, 0.4 * self.sizes.text)
    }

    fn draw(&self, panels: Vec<Panel>, counted: &[Counted]) -> Result<Picture, Failure> {
        let bottom = panels.iter().map(|p| p.area().bottom()).max().unwrap_or(0);
        let has_land = panels.iter().any(|p| p.background.has_land());
        let legend = Legend::new(self, counted, has_land, bottom as f64 + 2.8 * self.sizes.text);
        let mut canvas = Canvas::new(self.style.width, legend.bottom as usize)?;
        // Both fields have the scale of the first that moves.
        let (mut top_speed, mut is_exceeded) = (0.0, false);
        for panel in panels.iter().take(self.columns) {
            if top_speed == 0.0 {
                (top_speed, is_exceeded) = panel.background.top_speed()?;
            }
        }
        for panel in &panels {
            panel.draw(&mut canvas, self.sizes, top_speed)?;
        }
        // It belongs to the last panel of the first row.
        if let Some(panel) = panels.get(self.columns - 1).filter(|_| top_speed > 0.0) {
            self.draw_scale(&mut canvas, panel.area(), top_speed, is_exceeded);
        }
        legend.draw(&mut canvas, self.sizes);
        let marks: Vec<Value> = counted
            .iter()
            .map(|(mark, count)| json!({ "label": mark.label, "colour": mark.colour, "count": count }))
            .collect();
        let report = json!({
            "width": canvas.width,
            "height": canvas.height,
            "top_speed": top_speed,
            "land_colour": LAND,
            "marks": marks,
            "panels": panels.iter().map(Panel::json).collect::<Vec<_>>(),
        });
        Ok(Picture { png: canvas.png()?, report })
    }

    /// The colours of the speeds, right of a panel.
    fn draw_scale(&self, canvas: &mut Canvas, panel: Area, top_speed: f64, is_exceeded: bool) {
        let (text, line) = (self.sizes.text, self.sizes.line);
        let height = panel.height.min((12.0 * text) as usize);
        let (left, width) = (panel.right() + (0.9 * text) as usize, text as usize);
        let area = Area { left, top: panel.top + (1.2 * text) as usize, width, height: height.max(width) };
        for y in 0..area.height {
            let colour =
                speed_colour(1.0 - y as f64 / (area.height - 1).max(1) as f64).map(|c| (0.85 * c) as u8);
            canvas.fill(Area { top: area.top + y, height: 1, ..area }, colour);
        }
        canvas.frame(area, line, BLACK);
        canvas.text((left as f64, panel.top as f64 + 0.3 * text), Anchor::Left, 0.8 * text, "speed");
        let room = area.height as f64 / (2.0 * text);
        for speed in ticks(0.0, top_speed, room) {
            let y = area.bottom() as f64 - speed / top_speed * area.height as f64;
            canvas.fill(
                Area { left: area.right(), top: y as usize, width: (0.2 * text) as usize, height: line },
                BLACK,
            );
            canvas.text((area.right() as f64 + 0.4 * text, y), Anchor::Left, 0.75 * text, &number(speed));
        }
        if is_exceeded {
            let above = format!("{} % faster", 100.0 * ABOVE_SCALE);
            canvas.text((left as f64, area.bottom() as f64 + 0.7 * text), Anchor::Left, 0.7 * text, &above);
        }
    }
}

/// The marks with their words, in lines.
struct Legend {
    entries: Vec<(f64, f64, Option<Mark>, String)>,
    bottom: f64,
}

impl Legend {
    fn new(layout: &Layout, counted: &[Counted], has_land: bool, top: f64) -> Legend {
        let (text, left) = (layout.sizes.text, layout.left as f64);
        let words = counted
            .iter()
            .map(|(mark, count)| (Some(*mark), format!("{} {}", mark.label, grouped(*count as u64))));
        let land = has_land.then(|| (None, "zero or no data".to_owned()));
        let (mut x, mut y, mut entries) = (left, top, Vec::new());
        for (mark, words) in words.chain(land) {
            let width = 3.1 * text + text_width(0.9 * text, &words);
            if x + width > layout.style.width as f64 && x > left {
                (x, y) = (left, y + 1.7 * text);
            }
            entries.push((x, y, mark, words));
            x += width;
        }
        Legend { entries, bottom: y + 1.2 * text }
    }

    fn draw(&self, canvas: &mut Canvas, sizes: Sizes) {
        let all = Area { left: 0, top: 0, width: canvas.width, height: canvas.height };
        for (x, y, mark, words) in &self.entries {
            let (middle, radius) = (x + 0.8 * sizes.text, 0.4 * sizes.text);
            let half = 0.75 * sizes.text;
            let side = (2.0 * half) as usize;
            let swatch =
                Area { left: (middle - half) as usize, top: (y - half) as usize, width: side, height: side };
            // Marks are as they look on the flow.
            canvas.fill(swatch, if mark.is_some() { GREY } else { LAND });
            if let Some(mark) = mark {
                canvas.mark(all, (middle, *y), radius, mark);
            }
            canvas.text((x + 1.9 * sizes.text, *y), Anchor::Left, 0.9 * sizes.text, words);
        }
    }
}
