//! Pictures of fields: flow, speed and critical points, alone or beside a reconstruction.

mod arrows;
mod canvas;
mod legend;
mod lettering;
mod marks;
mod panel;
mod scale;
mod texture;
mod thin;
mod ticks;
mod view;
mod zoom;

use crate::array::{Dims, Field};
use crate::class::{Class, VolumeClass};
use crate::failure::Failure;
use crate::fate::{Fate, Pairing, Point};
use crate::options::{Look, Origin, Spacing};
use crate::say;
use canvas::{Canvas, Sizes};
use factz::{CriticalPoint, VolumePoint};
use legend::{thinning_note, Counted, Legend};
use lettering::text_width;
use marks::{outline_width, Mark, Placed, VOLUME_CLASSES};
use panel::{Axis, Background, Panel, Tally, LAND};
use scale::Scale;
use serde_json::{json, Value};
use thin::Thinning;
use view::{Sense, View};

pub use lettering::load_font;
pub use ticks::{number, steps, ticks};
pub use view::Window;

/// A picture as PNG, and what it shows where.
pub struct Picture {
    pub png: Vec<u8>,
    pub report: Value,
}

/// Options of all pictures.
#[derive(Clone, Copy)]
pub struct Style {
    /// Of the picture, in pixels.
    pub width: usize,
    /// The axes of the grid to the right and upwards, 0 is x, and the distances along them.
    pub axes: [usize; 2],
    pub spacing: Spacing,
    pub look: Look,
}

impl Style {
    /// Vertex (x, y) lies at (x dx, y dy), with y upwards, unless the origin is given.
    fn sense(&self) -> Sense {
        let rows_up = self.look.origin.map_or(self.spacing.dy > 0.0, |origin| origin == Origin::Bottom);
        Sense { rows_up, columns_left: self.spacing.dx < 0.0 }
    }

    fn axes(&self) -> [Axis; 2] {
        Axis::of(self.spacing, self.axes)
    }

    fn placed(&self, [x, y]: [f64; 2], mark: Mark) -> Placed {
        Placed { x: x / self.spacing.dx, y: y / self.spacing.dy, mark }
    }
}

/// A field of a picture, with its critical points.
pub struct Column<'a> {
    pub field: &'a Field,
    title: &'a str,
    /// The marks that its points can have.
    marks: Vec<Mark>,
    /// With their positions.
    points: Vec<(Mark, [f64; 2])>,
}

impl<'a> Column<'a> {
    /// A field with the types of its points.
    pub fn typed(field: &'a Field, title: &'a str, points: &[CriticalPoint]) -> Column<'a> {
        let points = points.iter().map(|p| (Mark::of_class(Class::of(p)), [p.x, p.y])).collect();
        Column { field, title, marks: Class::ALL.map(Mark::of_class).to_vec(), points }
    }

    /// A plane of a volume with the types of points beside it.
    pub fn slab(field: &'a Field, title: &'a str, points: &[VolumePoint]) -> Column<'a> {
        let mark = |p: &VolumePoint| (Mark::of_volume_class(VolumeClass::of(p)), [p.x, p.y]);
        let marks = VOLUME_CLASSES.map(|(_, mark)| mark).to_vec();
        Column { field, title, marks, points: points.iter().map(mark).collect() }
    }

    /// The original: points that are kept, changed or lost.
    pub fn before<P: Point>(field: &'a Field, title: &'a str, pairings: &[Pairing<P>]) -> Column<'a> {
        Column::by_fate(field, title, pairings, |p| p.before, Some(Fate::Spurious))
    }

    /// The reconstruction: points that are kept, changed or spurious.
    pub fn after<P: Point>(field: &'a Field, title: &'a str, pairings: &[Pairing<P>]) -> Column<'a> {
        Column::by_fate(field, title, pairings, |p| p.after, Some(Fate::Lost))
    }

    /// A reconstruction with the points of both fields.
    pub fn all<P: Point>(field: &'a Field, title: &'a str, pairings: &[Pairing<P>]) -> Column<'a> {
        Column::by_fate(field, title, pairings, |p| Some(*p.point()), None)
    }

    fn by_fate<P: Point>(
        field: &'a Field,
        title: &'a str,
        pairings: &[Pairing<P>],
        point: impl Fn(&Pairing<P>) -> Option<P>,
        without: Option<Fate>,
    ) -> Column<'a> {
        let marks = Fate::ALL.into_iter().filter(|fate| Some(*fate) != without).map(Mark::of_fate);
        // Common fates come first, so that rare ones are on top.
        let of = |fate| pairings.iter().filter(move |p| p.fate == fate).filter_map(&point);
        let marked = |fate| of(fate).map(move |p| (Mark::of_fate(fate), p.position()));
        let points = Fate::ALL.into_iter().flat_map(marked);
        Column { field, title, marks: marks.collect(), points: points.collect() }
    }

    /// The number of points with a mark; none if there can be no such.
    fn count(&self, mark: &Mark) -> Option<usize> {
        self.marks.contains(mark).then(|| self.points.iter().filter(|(m, _)| m == mark).count())
    }
}

/// A field with its critical points by type; below, the part `zoom` of it.
pub fn of_field(column: Column, zoom: Option<Window>, style: Style) -> Result<Picture, Failure> {
    let mut counted = counted(&column.marks, &[&column]);
    counted.retain(|counted| counted.counts != [Some(0)]);
    Layout::new(column.field.dims, style, 1).draw(&[column], zoom, &counted)
}

/// Two fields side by side with the fates of their critical points; below, the same of a part, `zoom` or that
/// with most changes among `pairings`.
pub fn of_comparison<P: Point>(
    columns: [Column; 2],
    pairings: &[Pairing<P>],
    zoom: Option<Window>,
    style: Style,
) -> Result<Picture, Failure> {
    let dims = columns[0].field.dims;
    let zoom = zoom.or_else(|| zoom::busiest(dims, pairings, style.spacing));
    let counted = counted(&Fate::ALL.map(Mark::of_fate), &columns.each_ref());
    Layout::new(dims, style, columns.len()).draw(&columns, zoom, &counted)
}

fn counted(marks: &[Mark], columns: &[&Column]) -> Vec<Counted> {
    let of = |mark: &Mark| columns.iter().map(|column| column.count(mark)).collect();
    marks.iter().map(|mark| Counted { mark: *mark, counts: of(mark) }).collect()
}

/// Largest height of a panel, as a multiple of the picture's width.
const TALLEST: f64 = 1.4;
/// Of a panel's water, the most that marks cover.
const COVERED: f64 = 0.3;

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
        let [_, up] = style.axes();
        let widest = ticks(whole.y0 * up.unit, whole.y1 * up.unit, 8.0)
            .into_iter()
            .map(|y| text_width(0.8 * sizes.text, &number(y)))
            .fold(0.0, f64::max);
        let left = (widest + 2.1 * sizes.text) as usize;
        let room = style.width.saturating_sub(columns * left + Scale::room(sizes));
        let ratio = ((whole.height() / whole.width()) * (style.spacing.dy / style.spacing.dx)).abs();
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

    /// Above a panel its title, below it numbers and the name of the axis.
    fn row_height(&self) -> usize {
        self.panel_height + (5.0 * self.sizes.text) as usize
    }

    fn view(&self, window: Window, column: usize, row: usize) -> View {
        View {
            window,
            left: self.left + column * self.pitch,
            top: (2.0 * self.sizes.text) as usize + row * self.row_height(),
            width: self.panel_width,
            height: self.panel_height,
            sense: self.style.sense(),
        }
    }

    /// The panels of a part of all columns, side by side.
    fn row(&self, columns: &[Column], row: usize, window: Window) -> Result<Vec<Panel>, Failure> {
        let background =
            |(k, column): (usize, &Column)| Background::new(column.field, self.view(window, k, row));
        let backgrounds = columns.iter().enumerate().map(background).collect::<Result<Vec<_>, _>>()?;
        let shown = |column: &Column| -> Vec<Placed> {
            let Dims { nx, ny, .. } = column.field.dims;
            // Half a cell surrounds the field: a point across a periodic side lies at one end or the other.
            let wrapped = |at: f64, n: u64| if at > n as f64 - 0.5 { at - n as f64 } else { at };
            let placed = column.points.iter().map(|(mark, place)| self.style.placed(*place, *mark));
            let placed = placed.map(|p| Placed { x: wrapped(p.x, nx), y: wrapped(p.y, ny), ..p });
            placed.filter(|p| window.contains(p.x, p.y)).collect()
        };
        let shown: Vec<Vec<Placed>> = columns.iter().map(shown).collect();
        let water = backgrounds.iter().map(Background::water).max().unwrap_or(0);
        let thinning = Thinning::of(&shown, self.room_for_marks(water));
        let panels = columns.iter().zip(backgrounds).zip(shown);
        let panels = panels.map(|((column, background), shown)| {
            let title = match row {
                0 => column.title.to_owned(),
                _ => format!("outlined part, {}", say::counted(shown.len() as u64, "point", "points")),
            };
            self.panel(column, background, shown, title, thinning, window)
        });
        let mut panels = panels.collect::<Result<Vec<Panel>, _>>()?;
        let is_long = |panel: &Panel| text_width(panel.title_size, &panel.title) > panel.title_width;
        if panels.iter().any(is_long) {
            panels.iter_mut().for_each(|panel| panel.title_size *= 0.85);
        }
        Ok(panels)
    }

    fn panel(
        &self,
        column: &Column,
        background: Background,
        shown: Vec<Placed>,
        title: String,
        thinning: Thinning,
        window: Window,
    ) -> Result<Panel, Failure> {
        let count = |placed: &[Placed], mark: &Mark| placed.iter().filter(|p| p.mark == *mark).count();
        let counts: Vec<usize> = column.marks.iter().map(|mark| count(&shown, mark)).collect();
        let marks = thinning.apply(shown, window);
        let tally = |(mark, of_mark): (&Mark, usize)| Tally {
            mark: *mark,
            count: of_mark,
            drawn: count(&marks, mark),
        };
        let tallies = column.marks.iter().zip(counts).map(tally).collect();
        let mut panel = Panel {
            title,
            title_size: self.sizes.text,
            title_width: self.title_width as f64,
            margin: self.left as f64,
            radius: self.radius(marks.len()),
            background,
            marks,
            tallies,
            thinning,
            style: self.style,
            arrows: Vec::new(),
            outlined: None,
        };
        if !self.style.look.no_arrows {
            panel.point_along_flow(self.sizes)?;
        }
        Ok(panel)
    }

    fn least_radius(&self) -> f64 {
        (0.15 * self.sizes.text).max(2.0)
    }

    /// Of the marks of a panel: smaller where there are many.
    fn radius(&self, marks: usize) -> f64 {
        let room = (self.panel_width * self.panel_height) as f64 / marks.max(1) as f64;
        (0.17 * room.sqrt()).clamp(self.least_radius(), 0.4 * self.sizes.text)
    }

    /// The number of the smallest marks that leave most of that many pixels visible.
    fn room_for_marks(&self, water: usize) -> usize {
        let side = 2.0 * (self.least_radius() + outline_width(self.least_radius()));
        (COVERED * water as f64 / (side * side)) as usize
    }

    fn draw(
        &self,
        columns: &[Column],
        zoom: Option<Window>,
        counted: &[Counted],
    ) -> Result<Picture, Failure> {
        let whole = Window::whole(columns[0].field.dims);
        let mut panels = self.row(columns, 0, whole)?;
        panels.iter_mut().for_each(|panel| panel.outlined = zoom);
        if let Some(zoom) = zoom {
            panels.extend(self.row(columns, 1, zoom)?);
        }
        let whole_fields = || panels.iter().take(self.columns);
        let speeds = whole_fields().map(|panel| panel.background.speeds());
        let scale = Scale::of(speeds.collect::<Result<_, _>>()?, &self.style.look);
        let rows: Vec<Thinning> = panels.iter().step_by(self.columns).map(|panel| panel.thinning).collect();
        let thinned = thinning_note(&rows, counted.iter().any(|counted| counted.mark.rare));
        let notes: Vec<String> = thinned.into_iter().chain(scale.iter().flat_map(Scale::notes)).collect();
        let bottom = panels.iter().map(|p| p.area().bottom()).max().unwrap_or(0) as f64;
        let has_land = panels.iter().any(|p| p.background.has_land());
        let right = self.style.width as f64 - 0.5 * self.sizes.text;
        let place = (self.left as f64, right, bottom + 3.6 * self.sizes.text);
        let legend = Legend::new(counted, has_land, &notes, self.sizes, place);
        let mut canvas = Canvas::new(self.style.width, legend.bottom as usize)?;
        for panel in &panels {
            panel.draw(&mut canvas, self.sizes, scale.as_ref())?;
        }
        // It belongs to the last panel of the first row.
        if let Some((scale, panel)) = scale.as_ref().zip(panels.get(self.columns - 1)) {
            scale.draw(&mut canvas, panel.area(), self.sizes);
        }
        legend.draw(&mut canvas, self.sizes);
        let report = json!({
            "width": canvas.width,
            "height": canvas.height,
            "top_speed": scale.map_or(0.0, |scale| scale.high),
            "scale": scale.map(|scale| scale.json()),
            "land_colour": LAND,
            "legend": legend.texts,
            "panels": panels.iter().map(Panel::json).collect::<Vec<_>>(),
        });
        Ok(Picture { png: canvas.png()?, report })
    }
}
