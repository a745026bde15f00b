//! Vertices without data in one of two fields: gaps that only the reconstruction has, and gaps of the original that a
//! reconstruction may have filled.

use crate::array::{Dims, Element};
use crate::figures::joined;
use crate::say::counted;
use factz::grid::missing::Missing;
use serde_json::{json, Value};

/// The vertices with data in the original that hold a NaN or an infinity in the reconstruction: values outside any
/// bound.
pub struct LostVertices {
    pub count: u64,
    /// Column, row and plane of the first one.
    first: [u64; 3],
    dims: Dims,
}

impl LostVertices {
    pub fn of<T: Element, const N: usize>(
        before: [&[T]; N],
        after: [&[T]; N],
        fill: Option<f64>,
        dims: Dims,
    ) -> LostVertices {
        let (missing, none) = (Missing::new::<T>(fill), Missing::default());
        let is_lost = |&k: &usize| {
            none.is_missing(after.map(|component| component[k]))
                && !missing.is_missing(before.map(|component| component[k]))
        };
        let mut lost = (0..dims.count() as usize).filter(is_lost);
        let first = lost.next();
        let at = first.unwrap_or(0) as u64;
        let first_vertex = [at % dims.nx, at / dims.nx % dims.ny, at / (dims.nx * dims.ny)];
        LostVertices { count: first.is_some() as u64 + lost.count() as u64, first: first_vertex, dims }
    }

    /// How many there are and where the first one is; none where there is none.
    pub fn text(&self) -> Option<String> {
        let [x, y, z] = self.first;
        let plane = if self.dims.is_stack() { format!(", plane {z}") } else { String::new() };
        (self.count > 0).then(|| {
            let vertices =
                counted(self.count, "vertex with data is missing", "vertices with data are missing");
            format!("{vertices} in the reconstruction, the first in column {x}, row {y}{plane}")
        })
    }

    /// A report with the vertices.
    pub fn with_report(&self, report: Value) -> Value {
        let first = (self.count > 0).then(|| {
            let [x, y, z] = self.first;
            json!({ "x": x, "y": y, "z": z })
        });
        joined(report, json!({ "lost_vertices": self.count, "first_lost_vertex": first }))
    }
}

/// Leaves a NaN where the original holds no data: other vertices may come back as the fill value, and hold data all
/// the same.
pub fn leave_gaps<T: Element, const N: usize>(original: [&[T]; N], fill: Option<f64>, values: &mut [T]) {
    let (missing, nan) = (Missing::new::<T>(fill), T::from_f64(f64::NAN));
    for (k, value) in values.iter_mut().enumerate() {
        if missing.is_missing(original.map(|component| component[k])) {
            *value = nan;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_of_the_reconstruction_alone_are_lost_vertices() {
        let (nan, fill) = (f32::NAN, -9.0);
        let before = [&[1.0, nan, 3.0, fill, 5.0, 6.0][..], &[1.0, 1.0, f32::INFINITY, 1.0, 1.0, 1.0]];
        let after = [&[1.0, nan, nan, nan, 5.0, nan][..], &[1.0, 1.0, 1.0, 1.0, f32::NEG_INFINITY, nan]];
        let dims = Dims { nx: 2, ny: 1, nz: 3 };
        let lost = LostVertices::of(before, after, Some(fill.into()), dims);
        let text = lost.text().expect("some are lost");
        assert_eq!((lost.count, lost.first), (2, [0, 0, 2]));
        assert!(text.ends_with(
            "2 vertices with data are missing in the reconstruction, the first in column 0, row 0, plane 2"
        ));
        let without_fill = LostVertices::of(before, after, None, dims);
        assert_eq!((without_fill.count, without_fill.first), (3, [1, 0, 1]));
        assert!(LostVertices::of(before, before, Some(fill.into()), dims).text().is_none());
    }

    #[test]
    fn gaps_of_the_original_are_left_in_the_reconstruction() {
        let mut values = [1.0, 2.0, 3.0, 4.0];
        leave_gaps([&[0.0, -9.0, 0.0, 0.0][..], &[0.0, 0.0, f64::NAN, 0.0]], Some(-9.0), &mut values);
        assert_eq!(values.map(f64::is_nan), [false, true, true, false]);
    }
}
