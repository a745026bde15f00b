//! Pictures of volumes: the flow in a plane, with the critical points that are nearest to it.

use crate::args::Render;
use crate::array::Element;
use crate::drawn::{plane, style, zoom_window, Drawn};
use crate::failure::{bare_names, failure, input_names, Failure};
use crate::options::Spacing;
use crate::picture::{of_field, Column};
use crate::say::{critical_points_text, Voice};
use crate::steps;
use crate::volume_pair::{self, Volume};
use factz::{critical_points_volume, Config, Dtype, VolumePoint, VolumeRequest, PERIODIC_Z};
use std::path::Path;

/// Whether the files are those of a volume: U, V and W, or a stream; with --compare, also of another one.
pub fn is_asked(a: &Render) -> Result<bool, Failure> {
    match a.files.last() {
        Some(last) if a.compare => Ok(a.files.len() == 6 || volume_pair::is_stream(last, a.step.step)?),
        Some(last) => {
            Ok(a.files.len() == 3 || (a.files.len() == 1 && volume_pair::is_stream(last, a.step.step)?))
        }
        None => Ok(false),
    }
}

/// Draws a plane of a volume.
pub fn slice(a: &Render, files: &[&Path], voice: &Voice) -> Result<Drawn, Failure> {
    if a.compare {
        return Err(failure!(
            "--compare draws planes: leave it out for a volume; `factz verify` compares volumes"
        ));
    }
    let stream = match files.len() {
        1 => Some(steps::read(files[0], a.step.step)?),
        _ => a.step.refuse_without_stream(files).map(|()| None)?,
    };
    let mut volume = match &stream {
        Some(stream) => Volume::decode(stream, a.place.threads, voice)?,
        None => Volume::read(files, &a.shape.expected(a.fill.fill_value))?,
    };
    let info = stream.as_ref().map(|stream| &stream.info);
    let about_files = |e: Failure| e.about(input_names(files, ", "));
    let config = volume.config((&a.spacing, &a.depth), &a.fill, info).map_err(about_files)?;
    let z = plane(a, volume.dims, voice)?.unwrap_or(0);
    let field = volume.plane(z, &config)?;
    let points = match config.dtype {
        Dtype::F32 => nearest::<f32>(&mut volume, config, z, a.place.threads),
        Dtype::F64 => nearest::<f64>(&mut volume, config, z, a.place.threads),
    };
    let points = points.map_err(|e| about_files(e.into()))?;
    let about = format!("plane {z} of {}, {}", volume.dims.nz, critical_points_text(points.len() as u64));
    let title = format!("{}: {about}", bare_names(files));
    let zoom = a.zoom.map(|zoom| zoom_window(zoom, field.dims)).transpose()?;
    let spacing = Spacing { dx: config.dx, dy: config.dy };
    let picture = of_field(Column::slab(&field, &title, &points), zoom, style(a, spacing))?;
    Ok(Drawn { picture, dims: field.dims, dtype: field.dtype(), about })
}

/// The critical points that are nearer to a plane than to any other. Half way they belong to the upper one.
fn nearest<T: Element>(
    volume: &mut Volume,
    config: Config,
    z: u64,
    threads: usize,
) -> factz::Result<Vec<VolumePoint>> {
    let mut points = critical_points_volume(&VolumeRequest::new(config)?, volume.views::<T>(), threads)?;
    let nz = volume.dims.nz;
    points.retain(|p| {
        let plane = (p.z / config.dz + 0.5).floor() as u64;
        z == if config.periodic & PERIODIC_Z != 0 { plane % nz } else { plane }
    });
    Ok(points)
}
