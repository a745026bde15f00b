//! A field from arrays or from a stream.

use crate::array::Field;
use crate::engine::Engine;
use crate::failure::{failure, Failure};
use crate::options::{FillArguments, ShapeArguments, Spacing, StepArgument};
use crate::progress::Progress;
use crate::say::Voice;
use crate::stream::Stream;
use crate::{input, steps};
use std::path::Path;

/// A field with the spacing and the periodic axes of the stream, otherwise 1,1 and none.
pub struct Single {
    pub field: Field,
    pub spacing: Spacing,
}

/// Reads one field, given by a file with both components, by a file for each, or by a stream.
pub fn read_field(
    files: &[&Path],
    shape: &ShapeArguments,
    fill: &FillArguments,
    step: &StepArgument,
    (engine, voice): (&Engine, &Voice),
) -> Result<Single, Failure> {
    for path in files {
        let Some(stream) = steps::read_if_stream(path, step.step)? else { continue };
        check(&stream, files, shape)?;
        let (mut field, _) = stream.decode(engine, &Progress::new("decompressing", voice))?;
        field.fill_value = fill.fill_value.or(field.fill_value);
        return Ok(Single { field, spacing: stream.spacing() });
    }
    step.refuse_without_stream(files)?;
    let field = input::read_field(files, &shape.expected(fill.fill_value))?;
    Ok(Single { field, spacing: Spacing::UNIT })
}

/// A stream holds both components and tells its shape and type, which options may only repeat.
fn check(stream: &Stream, files: &[&Path], shape: &ShapeArguments) -> Result<(), Failure> {
    let Stream { name, info, .. } = stream;
    if files.len() > 1 {
        return Err(failure!("{name}: is a stream of both components: give it alone, in place of U and V"));
    }
    if shape.dims.is_some_and(|d| d != stream.dims()) || shape.dtype.is_some_and(|t| t != info.dtype) {
        let (dims, dtype) = (stream.dims(), info.dtype.name());
        return Err(failure!(
            "{name}: holds {dims} values of {dtype} ({}), --dims or --dtype say otherwise: leave them out",
            dims.order()
        ));
    }
    Ok(())
}
