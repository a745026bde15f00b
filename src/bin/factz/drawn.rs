//! What pictures of planes and of volumes have in common: the plane, the part to enlarge, the style, the report.

use crate::args::Render;
use crate::array::Dims;
use crate::failure::{failure, Failure};
use crate::options::Spacing;
use crate::picture::{Picture, Style, Window};
use crate::say::Voice;
use factz::Dtype;

pub struct Drawn {
    pub picture: Picture,
    pub dims: Dims,
    pub dtype: Dtype,
    /// For the report.
    pub about: String,
}

pub fn style(a: &Render, spacing: Spacing) -> Style {
    Style { width: a.width, spacing, look: a.look }
}

/// The plane to draw of a stack or a volume: the first one, unless `--plane` says otherwise.
pub fn plane(a: &Render, dims: Dims, voice: &Voice) -> Result<Option<u64>, Failure> {
    match a.plane {
        Some(k) => {
            let z = if k < 0 { dims.nz.checked_sub(k.unsigned_abs()) } else { Some(k as u64) };
            z.filter(|&z| z < dims.nz).map(Some).ok_or_else(|| {
                let last = dims.nz - 1;
                failure!(
                    "--plane {k}: the field has {dims} values: give 0 to {last}, or -1 for the last plane"
                )
            })
        }
        None if dims.is_stack() => {
            voice.note(&format!("plane 0 of {} is drawn; --plane K draws another one", dims.nz));
            Ok(Some(0))
        }
        None => Ok(None),
    }
}

/// The cells of `--zoom`.
pub fn zoom_window([x, y, width, height]: [u64; 4], dims: Dims) -> Result<Window, Failure> {
    let ends = (x.checked_add(width), y.checked_add(height));
    match ends {
        (Some(x1), Some(y1)) if x1 < dims.nx && y1 < dims.ny => {
            Ok(Window { x0: x as f64, y0: y as f64, x1: x1 as f64, y1: y1 as f64 })
        }
        _ => Err(failure!(
            "--zoom {x},{y},{width},{height}: reaches beyond the field, which has {} x {} cells",
            dims.nx - 1,
            dims.ny - 1
        )),
    }
}
