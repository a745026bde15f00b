//! A field from arrays or from a stream.

use crate::array::{Dims, Field};
use crate::engine::Engine;
use crate::failure::{failure, input_name, Failure};
use crate::options::{FillArguments, Place, ShapeArguments, Spacing, SpacingArguments, StepArgument};
use crate::progress::Progress;
use crate::region::{Part, Selection};
use crate::say::Voice;
use crate::stream::needs_both;
use crate::{input, steps};
use factz::StreamInfo;
use std::path::Path;

/// A field with the spacing and the periodic axes of the stream, otherwise 1,1 and none.
pub struct Single {
    pub field: Field,
    spacing: Spacing,
    /// The size of the field of which it may be a part, with the first column, row and plane of the part, and
    /// the axes along which it is whole.
    pub dims: Dims,
    pub first: [u64; 3],
    whole: u32,
}

impl Single {
    fn whole(field: Field, spacing: Spacing) -> Single {
        Single { dims: field.dims, field, spacing, first: [0; 3], whole: u32::MAX }
    }

    /// The grid spacing: as given, or else that of the stream. The field gets the periodic axes likewise.
    pub fn place(&mut self, given: &SpacingArguments) -> Result<Spacing, Failure> {
        self.field.periodic = given.periodic_or(self.field.periodic)? & self.whole;
        given.or(self.spacing)
    }
}

/// Reads one field, given by a file with both components, by a file for each, or by a stream, of which a part
/// may be wanted.
pub fn read_field(
    files: &[&Path],
    (shape, fill, step): (&ShapeArguments, &FillArguments, &StepArgument),
    part: Option<&Selection>,
    place: &Place,
    (engine, voice): (&Engine, &Voice),
) -> Result<Single, Failure> {
    for path in files {
        let progress = || Progress::new("decompressing", voice);
        let mut single = match part {
            Some(selection) if steps::is_stream(path) => {
                let Part { held, first, info, .. } =
                    selection.read((path, step.step), None, place, &progress())?;
                needs_both(&input_name(path), &info)?;
                let field = held.into_field(&info).expect("both components");
                check((&input_name(path), &info), files, shape)?;
                let (spacing, dims) = (Spacing { dx: info.dx, dy: info.dy }, Dims::of(&info));
                Single { spacing, dims, first, whole: field.dims.whole_axes(dims), field }
            }
            _ => {
                let Some(stream) = steps::read_if_stream(path, step.step)? else { continue };
                check((&stream.name, &stream.info), files, shape)?;
                let (field, _) = stream.decode(engine, &progress())?;
                Single::whole(field, stream.spacing())
            }
        };
        single.field.fill_value = fill.fill_value.or(single.field.fill_value);
        return Ok(single);
    }
    step.refuse_without_stream(files)?;
    if let Some(selection) = part {
        return Err(selection.without_stream(files));
    }
    let field = input::read_field(files, &shape.expected(fill.fill_value))?;
    Ok(Single::whole(field, Spacing::UNIT))
}

/// A stream holds both components.
fn check((name, info): (&str, &StreamInfo), files: &[&Path], shape: &ShapeArguments) -> Result<(), Failure> {
    if files.len() > 1 {
        return Err(failure!("{name}: is a stream of both components: give it alone, in place of U and V"));
    }
    check_shape((name, info), shape)
}

/// A stream tells its shape and type, which options may only repeat.
pub fn check_shape((name, info): (&str, &StreamInfo), shape: &ShapeArguments) -> Result<(), Failure> {
    let dims = Dims::of(info);
    if shape.dims.is_some_and(|d| d != dims) || shape.dtype.is_some_and(|t| t != info.dtype) {
        return Err(failure!(
            "{name}: holds {dims} values of {} ({}), --dims or --dtype say otherwise: leave them out",
            info.dtype.name(),
            dims.order()
        ));
    }
    Ok(())
}
