//! A field and its reconstruction, from arrays or from a stream.

use crate::array::{typed, Field};
use crate::engine::Engine;
use crate::failure::{failure, Failure};
use crate::gaps::{leave_gaps, LostVertices};
use crate::input::{self, Expected, OF_STREAM};
use crate::options::{FillArguments, ShapeArguments, Spacing, SpacingArguments, StepArgument};
use crate::progress::Progress;
use crate::say::Voice;
use crate::steps;
use crate::store::Format;
use crate::stream::Stream;
use factz::{CriticalPoint, StreamInfo};
use std::path::Path;

/// Two fields of one shape and type.
pub struct Pair {
    pub before: Field,
    pub after: Field,
    /// The header of the stream that took the place of the reconstruction.
    pub info: Option<StreamInfo>,
}

impl Pair {
    /// Reads the files of the original and of the reconstruction. The last file may be a stream; its header
    /// says what the options leave open.
    pub fn read(
        files: &[&Path],
        shape: &ShapeArguments,
        fill: &FillArguments,
        step: &StepArgument,
        (engine, voice): (&Engine, &Voice),
    ) -> Result<Pair, Failure> {
        let stream = files.last().map(|path| steps::read_if_stream(path, step.step)).transpose()?.flatten();
        if stream.is_none() {
            step.refuse_without_stream(files)?;
        }
        let [first, second] = split(files, stream.is_some())?;
        let fill_value = fill.fill_value.or(stream.as_ref().and_then(|s| s.info.fill_value));
        let expected = shape.expected(fill_value);
        let Some(stream) = stream else {
            let mut fields = input::read_fields(&[first, second], &expected)?;
            let (after, before) = (fields.pop(), fields.pop());
            let (before, after) = before.zip(after).expect("two fields were asked for");
            return Ok(Pair { before, after, info: None });
        };
        let of_stream = (stream.dims(), stream.info.dtype, stream.name.clone());
        let expected = Expected { otherwise: Some(of_stream), ..expected };
        let before = input::read_field(first, &expected)?;
        let after = Field { fill_value, ..decode(&stream, &before, engine, voice)? };
        Ok(Pair { before, after, info: Some(stream.info) })
    }

    /// The grid spacing and the periodic axes: as given, or else those of the stream. The fields keep the axes.
    pub fn place(&mut self, given: &SpacingArguments) -> Result<Spacing, Failure> {
        let of_stream = self.info.as_ref().map(|i| (Spacing { dx: i.dx, dy: i.dy }, i.periodic));
        let (spacing, periodic) = of_stream.unwrap_or((Spacing::UNIT, 0));
        self.before.periodic = given.periodic_or(periodic)?;
        self.after.periodic = self.before.periodic;
        given.or(spacing)
    }

    /// One plane of both fields.
    pub fn plane(self, z: u64) -> Result<Pair, Failure> {
        Ok(Pair { before: self.before.plane(z)?, after: self.after.plane(z)?, info: self.info })
    }

    pub fn lost_vertices(&self) -> LostVertices {
        let Pair { before, after, .. } = self;
        typed!([&before.u, &before.v, &after.u, &after.v] as [u0, v0, u1, v1] =>
            LostVertices::of([u0, v0], [u1, v1], before.fill_value, before.dims))
    }

    /// The critical points of both. Missing vertices of the original are missing in both.
    pub fn critical_points(
        &mut self,
        engine: &Engine,
        spacing: Spacing,
    ) -> Result<[Vec<CriticalPoint>; 2], Failure> {
        let Pair { before, after, .. } = self;
        let fill = before.fill_value;
        typed!([&before.u, &before.v, &mut after.u] as [u, v, gaps] => leave_gaps([u, v], fill, gaps));
        after.fill_value = None;
        let points = |field: &Field| engine.critical_points(field, spacing).map(|done| done.result);
        Ok([points(before)?, points(after)?])
    }
}

fn decode(stream: &Stream, before: &Field, engine: &Engine, voice: &Voice) -> Result<Field, Failure> {
    let (dims, dtype) = (stream.dims(), stream.info.dtype);
    if dims != before.dims || dtype != before.dtype() {
        return Err(failure!(
            "{}: holds {dims} values of {} ({}), the original {} of {}: {OF_STREAM}",
            stream.name,
            dtype.name(),
            dims.order(),
            before.dims,
            before.dtype().name()
        ));
    }
    let (after, _) = stream.decode(engine, &Progress::new("decompressing", voice))?;
    Ok(after)
}

/// The files of the original and of the reconstruction.
pub fn split<'a>(files: &'a [&'a Path], last_is_stream: bool) -> Result<[&'a [&'a Path]; 2], Failure> {
    let (before, after) = match (files.len(), last_is_stream) {
        (2 | 3, true) => files.split_at(files.len() - 1),
        (n, true) => {
            return Err(failure!(
                "the number of files is {n}, and the last one is a stream of planes: give U0 V0 STREAM, or one file \
                 with both components in place of U0 V0; the stream of a volume takes U0 V0 W0"
            ));
        }
        (2 | 4, false) => files.split_at(files.len() / 2),
        // An archive has both components; otherwise the last file does.
        (3, false) if Format::of(files[0]) == Format::Npz => files.split_at(1),
        (3, false) => files.split_at(2),
        (n, false) => {
            return Err(failure!(
                "the number of files is {n}: give U0 V0 U1 V1, of volumes U0 V0 W0 U1 V1 W1, or one file with all \
                 components in place of U0 V0 (W0), of U1 V1 (W1), or of each"
            ));
        }
    };
    Ok([before, after])
}
