//! Streams in memory. Files of streams: steps.rs.

use crate::array::{Dims, Field};
use crate::engine::{Done, Engine};
use crate::failure::Failure;
use crate::options::Spacing;
use crate::progress::Progress;
use factz::{Report, StreamInfo};

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

    /// The field, and what decoding it took.
    pub fn decode(&self, engine: &Engine, progress: &Progress) -> Result<(Field, Done<Report>), Failure> {
        let decoded = || {
            let mut field = Field::empty(self.dims(), self.info.dtype)?;
            (field.fill_value, field.periodic) = (self.info.fill_value, self.info.periodic);
            let done = engine.decompress(&self.bytes, &mut field, progress)?;
            Ok((field, done))
        };
        decoded().map_err(|e: Failure| e.about(&self.name))
    }
}
