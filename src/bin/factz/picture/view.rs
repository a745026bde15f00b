//! A part of a field on a rectangle of pixels: where vertices lie, and the flow at each pixel.

use crate::array::{typed, Dims, Field};
use crate::failure::Failure;
use crate::memory;
use factz::grid::missing::Missing;
use factz::Real;
use rayon::prelude::*;

/// A rectangle of the field in units of the grid. Vertex (x, y) is at (x, y); half a cell surrounds the
/// field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    pub x0: f64,
    pub y0: f64,
    pub x1: f64,
    pub y1: f64,
}

impl Window {
    pub fn whole(dims: Dims) -> Window {
        Window { x0: -0.5, y0: -0.5, x1: dims.nx as f64 - 0.5, y1: dims.ny as f64 - 0.5 }
    }
    pub fn width(&self) -> f64 {
        self.x1 - self.x0
    }
    pub fn height(&self) -> f64 {
        self.y1 - self.y0
    }
    pub fn contains(&self, x: f64, y: f64) -> bool {
        (self.x0..=self.x1).contains(&x) && (self.y0..=self.y1).contains(&y)
    }
}

/// A window on pixels.
#[derive(Clone, Copy, Debug)]
pub struct View {
    pub window: Window,
    /// The left upper pixel, and how many there are.
    pub left: usize,
    pub top: usize,
    pub width: usize,
    pub height: usize,
    pub sense: Sense,
}

/// Where the axes of the grid point to in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sense {
    /// Row 0 is at the bottom.
    pub rows_up: bool,
    /// Column 0 is at the right.
    pub columns_left: bool,
}

impl View {
    /// The place of a grid position, in pixels of the picture.
    pub fn pixel(&self, x: f64, y: f64) -> (f64, f64) {
        let turned = |part: f64, turns: bool| if turns { 1.0 - part } else { part };
        let across = turned((x - self.window.x0) / self.window.width(), self.sense.columns_left);
        let down = turned((y - self.window.y0) / self.window.height(), self.sense.rows_up);
        (self.left as f64 + across * self.width as f64, self.top as f64 + down * self.height as f64)
    }

    /// The interval of grid columns below column `i` of pixels, counted from the left of the view.
    fn columns(&self, i: usize) -> (f64, f64) {
        let i = if self.sense.columns_left { self.width - 1 - i } else { i };
        let unit = self.window.width() / self.width as f64;
        (self.window.x0 + i as f64 * unit, unit)
    }

    fn rows(&self, j: usize) -> (f64, f64) {
        let j = if self.sense.rows_up { self.height - 1 - j } else { j };
        let unit = self.window.height() / self.height as f64;
        (self.window.y0 + j as f64 * unit, unit)
    }
}

/// The flow at a pixel; none on land.
pub type Flow = Option<[f64; 2]>;

/// The flow at every pixel of a view: interpolated where a vertex has several pixels, the mean of the
/// vertices where a pixel has several.
pub fn sample(field: &Field, view: &View) -> Result<Vec<Flow>, Failure> {
    let mut flow = memory::zeros::<Flow>((view.width * view.height) as u64, "the picture")?;
    typed!([&field.u, &field.v] as [u, v] => {
        let grid = Values::of(field, u, v);
        flow.par_chunks_mut(view.width).enumerate().for_each(|(j, row)| {
            for (i, flow) in row.iter_mut().enumerate() {
                *flow = grid.at(view.columns(i), view.rows(j));
            }
        });
    });
    Ok(flow)
}

/// The vertices that share an edge with a vertex.
const NEIGHBOURS: [(isize, isize); 6] = [(1, 0), (1, 1), (0, 1), (-1, 0), (-1, -1), (0, -1)];

struct Values<'a, T> {
    dims: Dims,
    u: &'a [T],
    v: &'a [T],
    missing: Missing,
    is_slice: bool,
}

impl<'a, T: Real> Values<'a, T> {
    fn of(field: &Field, u: &'a [T], v: &'a [T]) -> Values<'a, T> {
        let Field { dims, is_slice, .. } = *field;
        Values { dims, u, v, missing: Missing::new::<T>(field.fill_value), is_slice }
    }

    /// The vector of a vertex; none on land: where there is no data, and where a vertex and a neighbour are
    /// zero. A zero alone is a critical point, and one of a slice is flow through it.
    fn vertex(&self, x: usize, y: usize) -> Option<[f64; 2]> {
        let vector = self.data(x, y)?;
        if self.is_slice {
            return Some(vector);
        }
        let is_zero = |(dx, dy): (isize, isize)| {
            let (x, y) = (x.checked_add_signed(dx)?, y.checked_add_signed(dy)?);
            let inside = x < self.dims.nx as usize && y < self.dims.ny as usize;
            inside.then(|| self.data(x, y)).flatten().filter(|v| *v == [0.0; 2])
        };
        let is_land = vector == [0.0; 2] && NEIGHBOURS.into_iter().any(|by| is_zero(by).is_some());
        (!is_land).then_some(vector)
    }

    fn data(&self, x: usize, y: usize) -> Option<[f64; 2]> {
        let k = y * self.dims.nx as usize + x;
        let vector = [self.u[k], self.v[k]];
        (!self.missing.is_missing(vector)).then(|| vector.map(T::to_f64))
    }

    /// The flow in intervals of columns and rows, each given by its begin and its length.
    fn at(&self, columns: (f64, f64), rows: (f64, f64)) -> Flow {
        // A sum of large values may overflow.
        const SMALLER: f64 = 1.0 / (1u64 << 63) as f64;
        let mean = self.mean(columns, rows, 1.0)?;
        match mean.iter().all(|c| c.is_finite()) {
            true => Some(mean),
            false => self
                .mean(columns, rows, SMALLER)
                .map(|mean| mean.map(|c| (c / SMALLER).clamp(-f64::MAX, f64::MAX))),
        }
    }

    /// The weighted mean of the values times a factor; none where most is land.
    fn mean(&self, (x, dx): (f64, f64), (y, dy): (f64, f64), factor: f64) -> Flow {
        let (xs, ys) = (weights(x, dx, self.dims.nx as usize), weights(y, dy, self.dims.ny as usize));
        let (mut sum, mut water, mut all) = ([0.0; 2], 0.0, 0.0);
        for (row, of_row) in ys.clone() {
            for (column, of_column) in xs.clone() {
                let weight = of_row * of_column;
                all += weight;
                if let Some([u, v]) = self.vertex(column, row) {
                    water += weight;
                    sum[0] += weight * (factor * u);
                    sum[1] += weight * (factor * v);
                }
            }
        }
        (2.0 * water > all).then(|| sum.map(|c| c / water))
    }
}

/// The vertices of an axis that count for an interval, with their weights: two between which its middle lies,
/// or all in an interval that is longer than a cell.
fn weights(begin: f64, length: f64, count: usize) -> impl Iterator<Item = (usize, f64)> + Clone {
    let last = count - 1;
    let middle = (begin + 0.5 * length).clamp(0.0, last as f64);
    let (first, end, fraction) = if length > 1.0 {
        let first = (begin.ceil().max(0.0) as usize).min(last);
        (first, ((begin + length).ceil() as usize).clamp(first + 1, count), None)
    } else {
        let first = (middle as usize).min(last.saturating_sub(1));
        (first, (first + 2).min(count), Some(middle - first as f64))
    };
    (first..end).map(move |k| (k, fraction.map_or(1.0, |f| if k == first { 1.0 - f } else { f })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::Values as Component;

    fn field(nx: u64, ny: u64, vertex: impl Fn(u64, u64) -> [f32; 2]) -> Field {
        let values = |c: usize| (0..nx * ny).map(|k| vertex(k % nx, k / nx)[c]).collect();
        let [u, v] = [0, 1].map(|c| Component::F32(values(c)));
        Field { dims: Dims::plane(nx, ny), u, v, fill_value: None, periodic: 0, is_slice: false }
    }

    fn view(field: &Field, width: usize, height: usize, rows_up: bool) -> View {
        let sense = Sense { rows_up, columns_left: false };
        View { window: Window::whole(field.dims), left: 3, top: 5, width, height, sense }
    }

    #[test]
    fn a_linear_field_is_interpolated_and_averaged() {
        let field = field(9, 5, |x, y| [1.0 + x as f32, 1.0 + 2.0 * y as f32]);
        for (width, height) in [(90, 50), (27, 15), (3, 5)] {
            let flow = sample(&field, &view(&field, width, height, false)).unwrap();
            let middle = |count: usize| (count / 2) as f64 + 0.5 - 0.5 * count as f64;
            let (x, y) =
                (4.0 + middle(width) * 9.0 / width as f64, 2.0 + middle(height) * 5.0 / height as f64);
            let [u, v] = flow[height / 2 * width + width / 2].unwrap();
            assert!(
                (u - 1.0 - x).abs() < 1e-12 && (v - 1.0 - 2.0 * y).abs() < 1e-12,
                "{width} x {height}: {u}, {v}"
            );
        }
        let up = sample(&field, &view(&field, 9, 5, true)).unwrap();
        assert_eq!(up[0], Some([1.0, 9.0]));
        let mut turned = view(&field, 9, 5, true);
        turned.sense.columns_left = true;
        assert_eq!(sample(&field, &turned).unwrap()[0], Some([9.0, 9.0]));
    }

    #[test]
    fn means_of_the_largest_and_smallest_values_are_right() {
        for value in [f64::MAX, 1e39, 1e-310] {
            let (u, v) = (vec![value; 45], vec![-value; 45]);
            let (u, v) = (Component::F64(u), Component::F64(v));
            let field =
                Field { dims: Dims::plane(9, 5), u, v, fill_value: None, periodic: 0, is_slice: false };
            for (width, height) in [(90, 50), (9, 5), (2, 1)] {
                let flow = sample(&field, &view(&field, width, height, false)).unwrap();
                let is_right = |[u, v]: [f64; 2]| (u / value - 1.0).abs() < 1e-9 && v == -u;
                assert!(flow.iter().all(|flow| flow.is_some_and(is_right)), "{value} {width} {flow:?}");
            }
        }
    }

    #[test]
    fn land_is_zero_or_missing() {
        let row = [[f32::NAN, 1.0], [0.0, 0.0], [-0.0, 0.0], [2.0, 0.0], [1.0, 2.0], [9.0, 1.0], [0.0, 0.0]];
        let field = Field { fill_value: Some(9.0), ..field(7, 1, |x, _| row[x as usize]) };
        let flow = sample(&field, &view(&field, 7, 1, false)).unwrap();
        // The last zero has no zero beside it.
        let alone = Some([0.0; 2]);
        assert_eq!(flow, [None, None, None, Some([2.0, 0.0]), Some([1.0, 2.0]), None, alone]);
    }

    #[test]
    fn the_sign_of_a_fill_value_of_zero_counts() {
        let row = [[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [1.0, -0.0]];
        for (fill, missing) in [(0.0, [0, 2]), (-0.0, [1, 3])] {
            let field = Field { fill_value: Some(fill), ..field(4, 1, |x, _| row[x as usize]) };
            let flow = sample(&field, &view(&field, 4, 1, false)).unwrap();
            let found: Vec<usize> = (0..4).filter(|&k| flow[k].is_none()).collect();
            assert_eq!(found, missing, "{fill:?}");
        }
    }

    #[test]
    fn a_vertex_is_in_the_middle_of_its_pixels() {
        let field = field(4, 4, |_, _| [1.0, 1.0]);
        assert_eq!(view(&field, 8, 8, false).pixel(0.0, 3.0), (4.0, 12.0));
        let mut up = view(&field, 8, 8, true);
        assert_eq!(up.pixel(0.0, 3.0), (4.0, 6.0));
        up.sense.columns_left = true;
        assert_eq!(up.pixel(0.0, 3.0), (10.0, 6.0));
    }
}
