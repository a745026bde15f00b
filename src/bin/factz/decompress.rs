//! `factz decompress`: what a stream holds says whether it is restored as planes or as a volume.

use crate::args::Decompress;
use crate::failure::{failure, input_name, is_dash, Failure};
use crate::{commands, steps, volume, Verdict};

pub fn decompress(a: &Decompress) -> Result<Verdict, Failure> {
    // A pipe tells what it holds when it was read.
    let read = if is_dash(&a.input) { Some(steps::read(&a.input, a.step.step)?) } else { None };
    let components = match &read {
        Some(stream) => Some(stream.info.components),
        None => steps::find(&a.input, a.step.step)?.map(|step| step.info.components),
    };
    match (components, a.w.is_some()) {
        (Some(3), _) | (None, true) => volume::decompress(a, read),
        (Some(_), true) => Err(failure!(
            "{} holds planes: give two outputs, U and V, or one for both components",
            input_name(&a.input)
        )),
        _ => commands::decompress_planes(a, read),
    }
}
