//! A plane of a volume: the flow in it, and the critical points that are nearest to it.

use crate::args::Render;
use crate::array::{typed, Dims, Element, Field, Values};
use crate::drawn;
use crate::failure::Failure;
use crate::memory;
use crate::options::{Look, Spacing};
use crate::picture::Style;
use crate::plane_choice::AXES;
use crate::say::Voice;
use crate::volume_pair::Volume;
use factz::grid::missing::Missing;
use factz::{Config, VolumePoint};

/// A plane of constant x, y or z.
pub struct Slice {
    /// The axes to the right and upwards in a picture, and the axis through the plane; 0 is x.
    axes: [usize; 3],
    number: u64,
    /// Along these axes: the vertices of the volume, their distances, and the values from one to the next.
    sizes: [u64; 3],
    distances: [f64; 3],
    steps: [usize; 3],
}

impl Slice {
    /// The plane of `--plane`.
    pub fn chosen(a: &Render, dims: Dims, config: Config, voice: &Voice) -> Result<Slice, Failure> {
        let number = drawn::plane(a, dims, voice)?.unwrap_or(0);
        Ok(Slice::across(a.plane.map_or(2, |choice| choice.axis()), number, dims, config))
    }

    /// The plane with this number along an axis.
    pub fn across(axis: usize, number: u64, dims: Dims, config: Config) -> Slice {
        let axes = match axis {
            0 => [1, 2, 0],
            1 => [0, 2, 1],
            _ => [0, 1, 2],
        };
        let Dims { nx, ny, nz } = dims;
        Slice {
            axes,
            number,
            sizes: axes.map(|axis| [nx, ny, nz][axis]),
            distances: axes.map(|axis| [config.dx, config.dy, config.dz][axis]),
            steps: axes.map(|axis| [1, nx as usize, (nx * ny) as usize][axis]),
        }
    }

    pub fn name(&self) -> String {
        format!("plane {}:{} of {}", AXES[self.axes[2]], self.number, self.sizes[2])
    }

    pub fn style(&self, width: usize, look: Look) -> Style {
        let ([right, up, _], [dx, dy, _]) = (self.axes, self.distances);
        Style { width, spacing: Spacing { dx, dy }, axes: [right, up], look }
    }

    /// The flow in the plane. Vertices of which the component through it is missing, or all three are zero, hold no
    /// data.
    pub fn flow(&self, volume: &Volume, fill: Option<f64>) -> Result<Field, Failure> {
        let [right, up, through] = self.axes.map(|axis| &volume.components[axis]);
        let [u, v] =
            typed!([right, up, through] as [right, up, through] => self.parts([right, up, through], fill)?);
        let [columns, rows, _] = self.sizes;
        let dims = Dims::plane(columns, rows);
        Ok(Field { dims, u, v, fill_value: fill, periodic: 0, is_slice: true })
    }

    /// The values of the components to the right and upwards.
    fn parts<T: Element>(
        &self,
        [right, up, through]: [&[T]; 3],
        fill: Option<f64>,
    ) -> Result<[Values; 2], Failure> {
        let [columns, rows, _] = self.sizes;
        let [to_right, upwards, step] = self.steps;
        let missing = Missing::new::<T>(fill);
        let room = || memory::zeros(columns * rows, "a plane of the volume");
        let mut parts = [room()?, room()?];
        for k in 0..(columns * rows) as usize {
            let (i, j) = (k % columns as usize, k / columns as usize);
            let at = i * to_right + j * upwards + self.number as usize * step;
            let is_at_rest = [right, up, through].iter().all(|values| values[at] == T::ZERO);
            let has_data = !is_at_rest && !missing.is_missing([through[at]]);
            for (part, values) in parts.iter_mut().zip([right, up]) {
                part[k] = if has_data { values[at] } else { T::from_f64(f64::NAN) };
            }
        }
        Ok(parts.map(T::wrap))
    }

    /// Points with the positions that they have in a picture: x to the right, y upwards, z through the plane.
    pub fn turned(&self, mut points: Vec<VolumePoint>) -> Vec<VolumePoint> {
        for point in &mut points {
            [point.x, point.y, point.z] = self.axes.map(|axis| [point.x, point.y, point.z][axis]);
        }
        points
    }

    /// Whether a turned point is nearer to this plane than to any other. Half way it belongs to the one of the larger
    /// number. Behind the last plane of a periodic axis the first one follows.
    pub fn is_nearest(&self, point: &VolumePoint) -> bool {
        (point.z / self.distances[2] + 0.5).floor() as u64 % self.sizes[2] == self.number
    }
}
