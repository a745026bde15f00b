//! A plane of a volume: the flow in it, and the critical points that are nearest to it.

use crate::args::Render;
use crate::array::{typed, Dims, Element, Field, Values};
use crate::drawn;
use crate::failure::Failure;
use crate::memory;
use crate::options::Spacing;
use crate::picture::Style;
use crate::plane_choice::AXES;
use crate::say::Voice;
use crate::volume_pair::Volume;
use factz::grid::missing::Missing;
use factz::{Config, VolumePoint};

/// A plane of constant x, y or z.
pub struct Slice {
    /// Those to the right and upwards in a picture, and the one through the plane; 0 is x.
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
        let axes = match a.plane.map_or(2, |choice| choice.axis()) {
            0 => [1, 2, 0],
            1 => [0, 2, 1],
            _ => [0, 1, 2],
        };
        let Dims { nx, ny, nz } = dims;
        Ok(Slice {
            axes,
            number,
            sizes: axes.map(|axis| [nx, ny, nz][axis]),
            distances: axes.map(|axis| [config.dx, config.dy, config.dz][axis]),
            steps: axes.map(|axis| [1, nx as usize, (nx * ny) as usize][axis]),
        })
    }

    pub fn name(&self) -> String {
        format!("plane {}:{} of {}", AXES[self.axes[2]], self.number, self.sizes[2])
    }

    pub fn style(&self, a: &Render) -> Style {
        let ([right, up, _], [dx, dy, _]) = (self.axes, self.distances);
        drawn::style(a, Spacing { dx, dy }, [right, up])
    }

    /// The flow in the plane. Vertices of which the component through it is missing hold no data.
    pub fn flow(&self, volume: &Volume, fill: Option<f64>) -> Result<Field, Failure> {
        let [right, up, through] = self.axes.map(|axis| &volume.components[axis]);
        let [u, v] = typed!([right, up, through] as [right, up, through] => {
            [self.part(right, through, fill)?, self.part(up, through, fill)?]
        });
        let [columns, rows, _] = self.sizes;
        Ok(Field { dims: Dims::plane(columns, rows), u, v, fill_value: fill, periodic: 0 })
    }

    /// The values of a component in the plane.
    fn part<T: Element>(&self, values: &[T], through: &[T], fill: Option<f64>) -> Result<Values, Failure> {
        let [columns, rows, _] = self.sizes;
        let [right, up, step] = self.steps;
        let missing = Missing::new::<T>(fill);
        let mut part = memory::zeros(columns * rows, "a plane of the volume")?;
        for (j, row) in part.chunks_exact_mut(columns as usize).enumerate() {
            for (i, value) in row.iter_mut().enumerate() {
                let at = i * right + j * up + self.number as usize * step;
                *value = if missing.is_missing([through[at]]) { T::from_f64(f64::NAN) } else { values[at] };
            }
        }
        Ok(T::wrap(part))
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
