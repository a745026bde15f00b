//! Pictures of volumes: the flow in a plane, with the critical points that are nearest to it, alone or beside a
//! reconstruction.

use crate::args::Render;
use crate::drawn::{self, Drawn};
use crate::engine::Engine;
use crate::failure::{bare_names, input_names, Failure};
use crate::fate::paired;
use crate::picture::Column;
use crate::say::{critical_points_text, Voice};
use crate::slice::Slice;
use crate::volume_pair::{self, Given, VolumePair};
use std::path::Path;

/// Whether the files are those of a volume: U, V and W, or one with all; with --compare, also of another one.
pub fn is_asked(a: &Render) -> Result<bool, Failure> {
    match &a.files[..] {
        files if a.compare => volume_pair::are_given(files, &a.shape, &a.step),
        [file] => volume_pair::is_volume(file, &a.shape, &a.step),
        files => Ok(files.len() == 3),
    }
}

/// Draws a plane of a volume, with --compare beside that of its reconstruction.
pub fn slice(a: &Render, files: &[&Path], voice: &Voice) -> Result<Drawn, Failure> {
    let drawn = if a.compare { beside } else { alone };
    drawn(a, files, voice)
}

fn alone(a: &Render, files: &[&Path], voice: &Voice) -> Result<Drawn, Failure> {
    let threads = a.place.threads_for_volume()?;
    let given = Given::read(files, (&a.shape, &a.fill, &a.step), None, &a.place, voice)?;
    let about_files = |e: Failure| e.about(input_names(files, ", "));
    let config = given.config((&a.spacing, &a.depth), &a.fill).map_err(about_files)?;
    let mut volume = given.volume;
    let slice = Slice::chosen(a, volume.dims, config, voice)?;
    let field = slice.flow(&volume, config.fill_value)?;
    let points = volume.critical_points(config, threads).map_err(|e| about_files(e.into()))?;
    let mut points = slice.turned(points);
    points.retain(|point| slice.is_nearest(point));
    let about = format!("{}, {}", slice.name(), critical_points_text(points.len() as u64));
    let title = format!("{}: {about}", bare_names(files));
    drawn::alone(a, Column::slab(&field, &title, &points), about, slice.style(a.width, a.look))
}

fn beside(a: &Render, files: &[&Path], voice: &Voice) -> Result<Drawn, Failure> {
    let threads = a.place.threads_for_volume()?;
    let mut pair =
        VolumePair::read(files, &a.shape, &a.fill, &a.step, (&Engine::on_processor(threads), voice))?;
    let about_files = |e: Failure| e.about(input_names(files, ", "));
    let config = pair.before.config((&a.spacing, &a.depth), &a.fill, pair.info.as_ref());
    let config = config.map_err(about_files)?;
    let slice = Slice::chosen(a, pair.before.dims, config, voice)?;
    let points = pair.critical_points(config, threads).map_err(|e| about_files(e.into()))?;
    let [before, after] = points.map(|points| slice.turned(points));
    // A point may move to the other side of the middle between two planes and is kept all the same.
    let mut pairings = paired(&before, &after);
    pairings.retain(|pairing| slice.is_nearest(pairing.point()));
    let fields = [slice.flow(&pair.before, config.fill_value)?, slice.flow(&pair.after, None)?];
    drawn::beside(
        a,
        fields.each_ref(),
        &pairings,
        &format!(", {}", slice.name()),
        slice.style(a.width, a.look),
    )
}
