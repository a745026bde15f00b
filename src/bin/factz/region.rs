//! A rectangle of the field of a stream, for which only a part of a file is read.

use crate::array::{typed, Dims, Field};
use crate::engine::{with_progress, Done};
use crate::failure::{failure, input_name, Failure};
use crate::options::{BackendName, Place};
use crate::progress::Progress;
use crate::steps::{self, Step};
use factz::{BoundKind, Config, Error, Report, Source, Status, StreamInfo, ViewMut};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

/// A rectangle: its first column and row, and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub x: u64,
    pub y: u64,
    pub dims: Dims,
}

impl std::fmt::Display for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{},{},{}", self.x, self.y, self.dims)
    }
}

impl std::str::FromStr for Region {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str =
            "give X,Y,WxH: the first column and row, counted from 0, and the number of columns and \
                            rows, for example 100,200,512x256";
        let parts: Vec<&str> = text.split(',').collect();
        let &[x, y, dims] = parts.as_slice() else { return Err(FORM.into()) };
        match (x.parse(), y.parse(), dims.parse()) {
            (Ok(x), Ok(y), Ok(dims)) => Ok(Region { x, y, dims }),
            _ => Err(FORM.into()),
        }
    }
}

/// Where the bytes of a stream are.
enum Bytes {
    /// From a place in the file on, and how many.
    File(File, u64, u64),
    Memory(Vec<u8>),
}

/// A decoded region.
pub struct Part {
    pub field: Field,
    pub done: Done<Report>,
    pub info: StreamInfo,
    /// The number of the stream in its file.
    pub number: u64,
}

impl Region {
    /// Decodes the region of the one stream of a file, or of that which `--step` means. Of a regular file a
    /// part is read.
    pub fn read(
        &self,
        path: &Path,
        step: Option<i64>,
        place: &Place,
        progress: &Progress,
    ) -> Result<Part, Failure> {
        if place.backend == BackendName::Cuda {
            return Err(failure!(
                "--region {self}: is decompressed on the processor: leave --backend cuda out"
            ));
        }
        let (bytes, info, number) = match steps::find(path, step)? {
            Some(Step { number, offset, info }) => {
                let file =
                    File::open(path).map_err(|e| failure!("{}: cannot be read: {e}", input_name(path)))?;
                (Bytes::File(file, offset, info.stream_bytes), info, number)
            }
            None => {
                let stream = steps::read(path, step)?;
                (Bytes::Memory(stream.bytes), stream.info, stream.number)
            }
        };
        let name = input_name(path);
        self.check(&name, &info)?;
        let decoded = self.decode(bytes, &info, place.threads, progress);
        let (field, done) = decoded.map_err(|e| e.about(&name))?;
        Ok(Part { field, done, info, number })
    }

    fn check(&self, name: &str, info: &StreamInfo) -> Result<(), Failure> {
        let inside =
            |first: u64, count: u64, all: u64| first.checked_add(count).is_some_and(|end| end <= all);
        if inside(self.x, self.dims.nx, info.nx) && inside(self.y, self.dims.ny, info.ny) {
            return Ok(());
        }
        Err(failure!(
            "--region {self}: is not inside the field of {name}, which has {}x{} values (columns x rows)",
            info.nx,
            info.ny
        ))
    }

    fn decode(
        &self,
        bytes: Bytes,
        info: &StreamInfo,
        threads: usize,
        progress: &Progress,
    ) -> Result<(Field, Done<Report>), Failure> {
        let mut field = Field::empty(self.dims, info.dtype)?;
        field.fill_value = info.fill_value;
        let Dims { nx, ny } = self.dims;
        let config = Config { dtype: info.dtype, ..Config::new(nx, ny, BoundKind::Absolute, 0.0) };
        let mut read = |offset: u64, to: &mut [u8]| match &bytes {
            Bytes::Memory(_) => unreachable!("memory is not read"),
            Bytes::File(file, start, _) => file
                .read_exact_at(to, start + offset)
                .map_err(|e| Error::new(Status::Read, format!("cannot be read: {e}"))),
        };
        let source = match &bytes {
            Bytes::Memory(stream) => Source::Memory(stream),
            Bytes::File(_, _, length) => Source::Read(*length, &mut read),
        };
        let start = Instant::now();
        let result = typed!([&mut field.u, &mut field.v] as [u, v] => {
            let (u, v) = (ViewMut::dense(u, nx), ViewMut::dense(v, nx));
            with_progress(threads, Some(progress), |execution| {
                factz::decompress_region(&config, source, [self.x, self.y, 0], u, v, execution)
            })
        })?;
        Ok((field, Done { result, seconds: start.elapsed().as_secs_f64(), device: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_read_from_text() {
        let region: Region = "100,200,512x256".parse().unwrap();
        assert_eq!(region, Region { x: 100, y: 200, dims: Dims { nx: 512, ny: 256 } });
        assert_eq!(region.to_string(), "100,200,512x256");
        for bad in ["", "1,2", "1,2,3", "1,2,0x3", "-1,2,3x3", "1,2,3x3,4", "a,2,3x3", "1,2,3x"] {
            assert!(bad.parse::<Region>().unwrap_err().contains("X,Y,WxH"), "{bad}");
        }
    }
}
