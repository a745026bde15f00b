//! Streams in memory. Files of streams: steps.rs.

use crate::array::{Dims, Field, Held};
use crate::engine::{Done, Engine};
use crate::failure::{failure, Failure};
use crate::options::Spacing;
use crate::progress::Progress;
use factz::{Report, StreamInfo};

/// Refuses a stream that does not hold both components.
pub fn needs_both(name: &str, info: &StreamInfo) -> Result<(), Failure> {
    match info.component {
        None => Ok(()),
        Some(component) => Err(failure!(
            "{name}: holds component {} alone, and both are needed: `factz join U V -o STREAM` joins it with the \
             stream of the other one",
            component.name()
        )),
    }
}

/// Refuses the stream of a volume, of which a pipe tells too late.
pub fn needs_planes(name: &str, info: &StreamInfo) -> Result<(), Failure> {
    match info.components {
        2 => Ok(()),
        _ => Err(failure!("{name}: holds a volume of u, v and w: give the name of a file with the stream")),
    }
}

/// A whole stream with its header.
pub struct Stream {
    /// For messages.
    pub name: String,
    pub bytes: Vec<u8>,
    pub info: StreamInfo,
    /// The streams and the bytes before this one in the file.
    pub number: u64,
    pub offset: u64,
}

impl Stream {
    pub fn dims(&self) -> Dims {
        Dims::of(&self.info)
    }

    pub fn spacing(&self) -> Spacing {
        Spacing { dx: self.info.dx, dy: self.info.dy }
    }

    /// The field, and what decoding it took. A stream of one component is refused.
    pub fn decode(&self, engine: &Engine, progress: &Progress) -> Result<(Field, Done<Report>), Failure> {
        needs_both(&self.name, &self.info)?;
        let decoded = || {
            let mut field = Field::empty(self.dims(), self.info.dtype)?;
            (field.fill_value, field.periodic) = (self.info.fill_value, self.info.periodic);
            let done = engine.decompress(&self.bytes, &mut field, progress)?;
            Ok((field, done))
        };
        decoded().map_err(|e: Failure| e.about(&self.name))
    }

    /// The arrays that the stream holds, and what decoding them took.
    pub fn decode_held(&self, engine: &Engine, progress: &Progress) -> Result<(Held, Done<Report>), Failure> {
        needs_planes(&self.name, &self.info)?;
        let Some(component) = self.info.component else {
            return self.decode(engine, progress).map(|(field, done)| (field.into(), done));
        };
        let decoded = || {
            let mut held = Held::empty(self.dims(), self.info.dtype, Some(component))?;
            let done = engine.decompress_one(&self.bytes, &mut held, progress)?;
            Ok((held, done))
        };
        decoded().map_err(|e: Failure| e.about(&self.name))
    }
}
