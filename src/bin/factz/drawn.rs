//! What pictures of planes and of volumes have in common: the plane, the part to enlarge, the style, the report.

use crate::args::Render;
use crate::array::{Dims, Field};
use crate::failure::{failure, Failure};
use crate::fate::{Pairing, Point};
use crate::options::Spacing;
use crate::picture::{of_comparison, of_field, Column, Picture, Style, Window};
use crate::say::{critical_points_text, Voice};
use factz::Dtype;

pub struct Drawn {
    pub picture: Picture,
    pub dims: Dims,
    pub dtype: Dtype,
    /// For the report.
    pub about: String,
}

/// `axes`: the axes of the grid to the right and upwards, 0 is x.
pub fn style(a: &Render, spacing: Spacing, axes: [usize; 2]) -> Style {
    Style { width: a.width, spacing, axes, look: a.look }
}

/// A field alone, with its critical points.
pub fn alone(a: &Render, column: Column, about: String, style: Style) -> Result<Drawn, Failure> {
    let (dims, dtype) = (column.field.dims, column.field.dtype());
    let zoom = zoom_window(a, dims)?;
    Ok(Drawn { picture: of_field(column, zoom, style)?, dims, dtype, about })
}

/// A field beside its reconstruction, with the fates of their critical points. `part` is what the titles say of them.
pub fn beside<P: Point>(
    a: &Render,
    [before, after]: [&Field; 2],
    pairings: &[Pairing<P>],
    part: &str,
    style: Style,
) -> Result<Drawn, Failure> {
    let (dims, dtype) = (before.dims, before.dtype());
    let zoom = zoom_window(a, dims)?;
    let title = |name: &str, points: usize| format!("{name}{part}, {}", critical_points_text(points as u64));
    let titles = [
        title("original", pairings.iter().filter(|p| p.before.is_some()).count()),
        title("reconstruction", pairings.iter().filter(|p| p.after.is_some()).count()),
    ];
    let columns = [Column::before(before, &titles[0], pairings), Column::after(after, &titles[1], pairings)];
    let picture = of_comparison(columns, pairings, zoom, style)?;
    Ok(Drawn { picture, dims, dtype, about: titles.join("; ") })
}

/// The number of the plane to draw of a stack or a volume: the first one, unless `--plane` says otherwise. None where
/// there is one plane.
pub fn plane(a: &Render, dims: Dims, voice: &Voice) -> Result<Option<u64>, Failure> {
    let Dims { nx, ny, nz } = dims;
    match a.plane {
        Some(choice) => choice.of([nx, ny, nz][choice.axis()], dims).map(Some),
        None if dims.is_stack() => {
            voice.note(&format!("plane 0 of {nz} is drawn; --plane K draws another one"));
            Ok(Some(0))
        }
        None => Ok(None),
    }
}

/// The cells of `--zoom`.
fn zoom_window(a: &Render, dims: Dims) -> Result<Option<Window>, Failure> {
    let Some([x, y, width, height]) = a.zoom else { return Ok(None) };
    let ends = (x.checked_add(width), y.checked_add(height));
    match ends {
        (Some(x1), Some(y1)) if x1 < dims.nx && y1 < dims.ny => {
            Ok(Some(Window { x0: x as f64, y0: y as f64, x1: x1 as f64, y1: y1 as f64 }))
        }
        _ => Err(failure!(
            "--zoom {x},{y},{width},{height}: reaches beyond the field, which has {} x {} cells",
            dims.nx - 1,
            dims.ny - 1
        )),
    }
}
