//! Volumes that are analysed: from arrays, or from a stream.

use crate::array::{typed, Dims, Element, Values};
use crate::engine::Engine;
use crate::failure::{failure, input_name, input_names, Failure};
use crate::gaps::{leave_gaps, LostVertices};
use crate::input::{self, Expected, OF_STREAM};
use crate::options::{
    DepthArguments, FillArguments, Place, ShapeArguments, SourceArguments, Spacing, SpacingArguments,
    StepArgument,
};
use crate::progress::Progress;
use crate::region::{Part, Selection};
use crate::say::Voice;
use crate::single::check_shape;
use crate::stream::Stream;
use crate::{steps, volume};
use factz::{
    critical_points_volume, BoundKind, Config, Dtype, Mode, StreamInfo, View, VolumePoint, VolumeRequest,
};
use std::path::{Path, PathBuf};

/// A volume in memory.
pub struct Volume {
    pub dims: Dims,
    pub components: [Values; 3],
}

impl Volume {
    pub fn dtype(&self) -> Dtype {
        self.components[0].dtype()
    }

    pub fn read(files: &[&Path], expected: &Expected) -> Result<Volume, Failure> {
        let (dims, components) = input::read_components(files, expected)?;
        Ok(Volume { dims, components })
    }

    pub fn decode(stream: &Stream, engine: &Engine, voice: &Voice) -> Result<Volume, Failure> {
        let progress = Progress::new("decompressing", voice);
        let (components, _) = volume::decode(stream, engine, &progress)?;
        Ok(Volume { dims: stream.dims(), components })
    }

    /// Views of the components, which have this type.
    pub fn views<T: Element>(&mut self) -> [View<'_, T>; 3] {
        let Dims { nx, ny, .. } = self.dims;
        self.components
            .each_mut()
            .map(|values| View::stack(T::unwrap(values).expect("the type is that of the volume"), nx, ny))
    }

    pub fn critical_points(&mut self, config: Config, threads: usize) -> factz::Result<Vec<VolumePoint>> {
        let request = VolumeRequest::new(config)?;
        match config.dtype {
            Dtype::F32 => critical_points_volume(&request, self.views::<f32>(), threads),
            Dtype::F64 => critical_points_volume(&request, self.views::<f64>(), threads),
        }
    }

    /// The configuration of its analysis: what is given, or else what the stream says.
    pub fn config(
        &self,
        (spacing, depth): (&SpacingArguments, &DepthArguments),
        fill: &FillArguments,
        info: Option<&StreamInfo>,
    ) -> Result<Config, Failure> {
        let Dims { nx, ny, nz } = self.dims;
        let base = Config::volume([nx, ny, nz], BoundKind::Absolute, 0.0);
        let (dx, dy, dz) = info.map_or((1.0, 1.0, 1.0), |i| (i.dx, i.dy, i.dz));
        let Spacing { dx, dy } = spacing.or(Spacing { dx, dy })?;
        Ok(Config {
            dtype: self.dtype(),
            mode: Mode::Repair,
            dx,
            dy,
            dz: depth.dz.unwrap_or(dz),
            periodic: spacing.periodic_of_volume_or(info.map_or(0, |i| i.periodic)),
            fill_value: fill.fill_value.or(info.and_then(|i| i.fill_value)),
            ..base
        })
    }
}

/// A volume, or a part of one.
pub struct Given {
    pub volume: Volume,
    /// The header of the stream that holds it.
    pub info: Option<StreamInfo>,
    /// The size of the volume of which it may be a part, with the first column, row and plane of the part.
    pub dims: Dims,
    pub first: [u64; 3],
}

impl Given {
    fn whole(volume: Volume, info: Option<StreamInfo>) -> Given {
        Given { dims: volume.dims, volume, info, first: [0; 3] }
    }

    /// The volume of some arrays or of a stream, of which a part may be wanted.
    pub fn read(
        files: &[&Path],
        (shape, fill, step): (&ShapeArguments, &FillArguments, &StepArgument),
        part: Option<&Selection>,
        place: &Place,
        voice: &Voice,
    ) -> Result<Given, Failure> {
        let [file] = *files else { return Given::of_arrays(files, (shape, fill, step), part) };
        match (steps::is_stream(file), part) {
            (false, _) => Given::of_arrays(files, (shape, fill, step), part),
            (true, None) => {
                let stream = steps::read(file, step.step)?;
                check_shape((&stream.name, &stream.info), shape)?;
                let engine = Engine::on_processor(place.threads);
                Ok(Given::whole(Volume::decode(&stream, &engine, voice)?, Some(stream.info)))
            }
            (true, Some(selection)) => {
                let progress = Progress::new("decompressing", voice);
                let part = selection.read_volume((file, step.step), None, place, &progress)?;
                let Part { held: (dims, components), first, info, .. } = part;
                check_shape((&input_name(file), &info), shape)?;
                if !dims.has_cubes() {
                    return Err(failure!(
                        "{selection}: has {} x {} x {} vertices, between which there are no cubes: give at least 2 \
                         columns, rows and planes",
                        dims.nx,
                        dims.ny,
                        dims.nz
                    ));
                }
                let volume = Volume { dims, components };
                Ok(Given { volume, dims: Dims::of(&info), first, info: Some(info) })
            }
        }
    }

    fn of_arrays(
        files: &[&Path],
        (shape, fill, step): (&ShapeArguments, &FillArguments, &StepArgument),
        part: Option<&Selection>,
    ) -> Result<Given, Failure> {
        step.refuse_without_stream(files)?;
        match part {
            Some(selection) => Err(selection.without_stream(files)),
            None => Ok(Given::whole(Volume::read(files, &shape.expected(fill.fill_value))?, None)),
        }
    }

    /// The configuration of its analysis. Axes are periodic where a part is as long as the volume.
    pub fn config(
        &self,
        distances: (&SpacingArguments, &DepthArguments),
        fill: &FillArguments,
    ) -> Result<Config, Failure> {
        let config = self.volume.config(distances, fill, self.info.as_ref())?;
        Ok(Config { periodic: config.periodic & self.volume.dims.whole_axes(self.dims), ..config })
    }
}

/// Whether there are three components of a volume, or a file or a stream with all.
pub fn is_given(field: &SourceArguments, w: Option<&Path>, step: &StepArgument) -> Result<bool, Failure> {
    Ok(w.is_some() || (field.v.is_none() && is_volume(&field.u, &field.shape, step)?))
}

/// Whether a file alone holds a volume, as arrays or as a stream.
pub fn is_volume(path: &Path, shape: &ShapeArguments, step: &StepArgument) -> Result<bool, Failure> {
    match steps::is_stream(path) {
        true => Ok(steps::find(path, step.step)?.is_some_and(|found| found.info.components == 3)),
        false => Ok(input::holds_volume(path, &shape.expected(None))),
    }
}

/// Whether the files of a comparison are those of volumes: six arrays, or one with all components in place of
/// three, or a stream behind its original.
pub fn are_given(files: &[PathBuf], shape: &ShapeArguments, step: &StepArgument) -> Result<bool, Failure> {
    let [first, .., last] = files else { return Ok(false) };
    let expected = shape.expected(None);
    let last_is_stream = steps::is_stream(last);
    let of_last = match last_is_stream {
        true => steps::find(last, step.step)?.map(|found| found.info.components),
        false => input::components(last, &expected),
    };
    let of_first = match of_last.filter(|_| last_is_stream) {
        Some(components) => input::other_components(first, &expected, components),
        None => input::components(first, &expected),
    };
    if let (2, Some(a), Some(b)) = (files.len(), of_first, of_last) {
        if a != b {
            return Err(failure!(
                "{} holds {}, and {} {}: give a field and its reconstruction",
                input_name(first),
                input::components_text(a),
                input_name(last),
                input::components_text(b)
            ));
        }
    }
    Ok(of_last == Some(3) || !last_is_stream && (files.len() == 6 || of_first == Some(3)))
}

/// Two volumes of one shape and type.
pub struct VolumePair {
    pub before: Volume,
    pub after: Volume,
    /// The header of the stream that took the place of the reconstruction.
    pub info: Option<StreamInfo>,
}

impl VolumePair {
    /// Reads the files of the original and of the reconstruction. The last file may be a stream.
    pub fn read(
        files: &[&Path],
        shape: &ShapeArguments,
        fill: &FillArguments,
        step: &StepArgument,
        (engine, voice): (&Engine, &Voice),
    ) -> Result<VolumePair, Failure> {
        let stream = files.last().map(|path| steps::read_if_stream(path, step.step)).transpose()?.flatten();
        let expected = shape.expected(fill.fill_value);
        let [first, other] = split(files, stream.as_ref(), &expected)?;
        let Some(stream) = stream else {
            step.refuse_without_stream(files)?;
            let before = Volume::read(first, &expected)?;
            let known = Expected { dims: Some(before.dims), dtype: Some(before.dtype()), ..expected };
            return Ok(VolumePair { before, after: Volume::read(other, &known)?, info: None });
        };
        let of_stream = (stream.dims(), stream.info.dtype, stream.name.clone());
        let before = Volume::read(first, &Expected { otherwise: Some(of_stream), ..expected })?;
        if before.dims != stream.dims() || before.dtype() != stream.info.dtype {
            return Err(failure!(
                "{}: holds {} values of {}, the original {} of {}: {OF_STREAM}",
                stream.name,
                stream.dims(),
                stream.info.dtype.name(),
                before.dims,
                before.dtype().name()
            ));
        }
        let after = Volume::decode(&stream, engine, voice)?;
        Ok(VolumePair { before, after, info: Some(stream.info) })
    }

    /// `fill` is the fill value of the original.
    pub fn lost_vertices(&self, fill: Option<f64>) -> LostVertices {
        let ([u0, v0, w0], [u1, v1, w1]) = (&self.before.components, &self.after.components);
        typed!([u0, v0, w0, u1, v1, w1] as [u0, v0, w0, u1, v1, w1] =>
            LostVertices::of([u0, v0, w0], [u1, v1, w1], fill, self.before.dims))
    }

    /// The critical points of both. Missing vertices of the original are missing in both.
    pub fn critical_points(
        &mut self,
        config: Config,
        threads: usize,
    ) -> factz::Result<[Vec<VolumePoint>; 2]> {
        let before = self.before.critical_points(config, threads)?;
        let ([u, v, w], [gaps, ..]) = (&self.before.components, &mut self.after.components);
        typed!([u, v, w, gaps] as [u, v, w, gaps] => leave_gaps([u, v, w], config.fill_value, gaps));
        let after = self.after.critical_points(Config { fill_value: None, ..config }, threads)?;
        Ok([before, after])
    }
}

/// The files of the original and of the reconstruction.
fn split<'a>(
    files: &'a [&'a Path],
    stream: Option<&Stream>,
    expected: &Expected,
) -> Result<[&'a [&'a Path]; 2], Failure> {
    let first = match (files.len(), stream) {
        (2 | 4, Some(_)) => files.len() - 1,
        (n, Some(stream)) => {
            return Err(failure!(
                "{} holds a volume, and {} files are given before it: give its original, U0 V0 W0, or one file with \
                 all components",
                stream.name,
                n - 1
            ));
        }
        (2 | 6, None) => files.len() / 2,
        (4, None) if input::holds_volume(files[0], expected) => 1,
        (4, None) => 3,
        (n, None) => {
            let holds_volume = |file: &&&Path| input::holds_volume(file, expected);
            let held: Vec<&Path> = files.iter().filter(holds_volume).copied().collect();
            let verb = if held.len() == 1 { "holds a volume" } else { "hold volumes" };
            return Err(failure!(
                "the number of files is {n}, and {} {verb}: give U0 V0 W0 U1 V1 W1, or one file with all \
                 components in place of U0 V0 W0, of U1 V1 W1, or of each",
                input_names(&held, " and ")
            ));
        }
    };
    Ok(files.split_at(first).into())
}
