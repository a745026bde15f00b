//! A rectangle or some planes of the field or volume of a stream, for which only a part of a file is read.

use crate::array::{parse_plane, Dims, Element, Held, Values};
use crate::engine::{with_progress, Done};
use crate::failure::{failure, input_name, input_names, Failure};
use crate::memory;
use crate::options::{BackendName, Place};
use crate::progress::Progress;
use crate::say::grouped;
use crate::steps::{self, Step};
use crate::stream::{needs_planes, Stream};
use clap::Args;
use factz::{BoundKind, Config, Dtype, Error, Execution, Report, Source, Status, StreamInfo, ViewMut};
use serde_json::{json, Value};
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
        match (x.parse(), y.parse(), parse_plane(dims)) {
            (Ok(x), Ok(y), Ok(dims)) => Ok(Region { x, y, dims }),
            _ => Err(FORM.into()),
        }
    }
}

/// Some planes that follow each other, as in a slice of Python: negative numbers count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planes {
    One(i64),
    /// The first one, and that behind the last one.
    Range(Option<i64>, Option<i64>),
}

impl std::fmt::Display for Planes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |end: &Option<i64>| end.map(|k| k.to_string()).unwrap_or_default();
        match self {
            Planes::One(k) => write!(f, "{k}"),
            Planes::Range(first, end) => write!(f, "{}:{}", text(first), text(end)),
        }
    }
}

impl std::str::FromStr for Planes {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.parse::<i64>().map_err(|_| {
            "give K, the number of a plane, or A:B, those from A on up to B, for example 3 or 0:12; -1 is the last one"
        })
        };
        let end = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(Some) };
        Ok(match text.split_once(':') {
            None => Planes::One(number(text)?),
            Some((first, last)) => Planes::Range(end(first)?, end(last)?),
        })
    }
}

impl Planes {
    /// The first plane and how many there are; none where a stack does not have these.
    fn of(&self, nz: u64) -> Option<(u64, u64)> {
        let place = |k: i64| if k < 0 { nz.checked_sub(k.unsigned_abs()) } else { Some(k as u64) };
        let (first, end) = match *self {
            Planes::One(k) => (place(k)?, place(k)?.checked_add(1)?),
            Planes::Range(first, end) => (first.map_or(Some(0), place)?, end.map_or(Some(nz), place)?),
        };
        (first < end && end <= nz).then(|| (first, end - first))
    }
}

/// The options that name a part of the field of a stream.
#[derive(Args)]
pub struct PartArguments {
    /// Take a rectangle alone: its first column and row, counted from 0, and its columns and rows
    #[arg(long, value_name = "X,Y,WxH")]
    pub region: Option<Region>,
    /// Take some planes of a stack or of a volume alone: one, or those from A on up to B, counted from 0; -1 is the last
    /// one, and A or B may be left out
    #[arg(long, value_name = "K|A:B", allow_hyphen_values = true)]
    pub planes: Option<Planes>,
}

impl PartArguments {
    /// The part to decompress; none if the whole field is wanted.
    pub fn selection(&self) -> Option<Selection> {
        let PartArguments { region, planes } = *self;
        (region.is_some() || planes.is_some()).then_some(Selection { region, planes })
    }

    /// Where the part begins, and how many bytes were read.
    pub fn json<H>(&self, part: &Part<H>) -> Value {
        let [x, y, z] = part.first;
        json!({
            "region": self.region.map(|_| json!({ "x": x, "y": y })),
            "planes": self.planes.map(|_| json!({ "z": z })),
            "read_bytes": part.done.result.stream_bytes,
        })
    }
}

/// The part of a field that `--region` and `--planes` name.
pub struct Selection {
    region: Option<Region>,
    planes: Option<Planes>,
}

/// Where the bytes of a stream are.
enum Bytes {
    /// From a place in the file on, and how many.
    File(File, u64, u64),
    Memory(Vec<u8>),
}

/// A decoded part of a field of planes, or of a volume.
pub struct Part<H = Held> {
    pub held: H,
    /// Its first column, row and plane.
    pub first: [u64; 3],
    pub done: Done<Report>,
    pub info: StreamInfo,
    /// The number of the stream in its file.
    pub number: u64,
}

impl Selection {
    /// Decodes the part of the one stream of a file, or of that which `--step` means, unless the stream was `read`
    /// before. Of a regular file a part is read.
    pub fn read(
        &self,
        file: (&Path, Option<i64>),
        read: Option<Stream>,
        place: &Place,
        progress: &Progress,
    ) -> Result<Part, Failure> {
        self.read_as(file, read, place, |found| {
            needs_planes(&found.name, &found.info)?;
            let mut held = Held::empty(found.dims, found.info.dtype, found.info.component)?;
            let done = match found.info.dtype {
                Dtype::F32 => found.decode::<f32>(&mut held, place.threads, progress),
                Dtype::F64 => found.decode::<f64>(&mut held, place.threads, progress),
            };
            Ok((held, done?))
        })
    }

    /// As [`Selection::read`], of the stream of a volume.
    pub fn read_volume(
        &self,
        file: (&Path, Option<i64>),
        read: Option<Stream>,
        place: &Place,
        progress: &Progress,
    ) -> Result<Part<(Dims, [Values; 3])>, Failure> {
        self.read_as(file, read, place, |found| {
            let (components, done) = match found.info.dtype {
                Dtype::F32 => found.decode_volume::<f32>(place.threads, progress),
                Dtype::F64 => found.decode_volume::<f64>(place.threads, progress),
            }?;
            Ok(((found.dims, components), done))
        })
    }

    fn read_as<H>(
        &self,
        (path, step): (&Path, Option<i64>),
        read: Option<Stream>,
        place: &Place,
        decode: impl FnOnce(&Found) -> Result<(H, Done<Report>), Failure>,
    ) -> Result<Part<H>, Failure> {
        if place.backend == BackendName::Cuda {
            return Err(failure!("{self}: is decompressed on the processor: leave --backend cuda out"));
        }
        let found = if read.is_some() { None } else { steps::find(path, step)? };
        let (bytes, info, number) = match found {
            Some(Step { number, offset, info }) => {
                let file =
                    File::open(path).map_err(|e| failure!("{}: cannot be read: {e}", input_name(path)))?;
                (Bytes::File(file, offset, info.stream_bytes), info, number)
            }
            None => {
                let stream = read.map_or_else(|| steps::read(path, step), Ok)?;
                (Bytes::Memory(stream.bytes), stream.info, stream.number)
            }
        };
        let name = input_name(path);
        let (first, dims) = self.within(&name, &info)?;
        let (held, done) = decode(&Found { name, bytes, info, first, dims })?;
        Ok(Part { held, first, done, info, number })
    }

    /// First column, row and plane of the part of a field, and its size.
    fn within(&self, name: &str, info: &StreamInfo) -> Result<([u64; 3], Dims), Failure> {
        let whole = Dims::of(info);
        let inside =
            |first: u64, count: u64, all: u64| first.checked_add(count).is_some_and(|end| end <= all);
        let outside = |option: &dyn std::fmt::Display| {
            let order = whole.order();
            failure!("{option}: is not inside the field of {name}, which has {whole} values ({order})")
        };
        let plane = Region { x: 0, y: 0, dims: whole };
        let region = self.region.unwrap_or(plane);
        let Dims { nx, ny, .. } = region.dims;
        if !(inside(region.x, nx, info.nx) && inside(region.y, ny, info.ny)) {
            return Err(outside(&format_args!("--region {region}")));
        }
        let (z, nz) = match self.planes {
            None => (0, info.nz),
            Some(planes) => planes.of(info.nz).ok_or_else(|| outside(&format_args!("--planes {planes}")))?,
        };
        Ok(([region.x, region.y, z], Dims { nx, ny, nz }))
    }

    /// The failure where no file is a stream.
    pub fn without_stream(&self, files: &[&Path]) -> Failure {
        let names = input_names(files, " or ");
        failure!("{self}: is a part of a stream, and {names} is none: leave it out")
    }

    /// Place of the part and bytes that were read, for a report.
    pub fn text<H>(&self, part: &Part<H>) -> String {
        let (read, all) = (part.done.result.stream_bytes, part.info.stream_bytes);
        format!(
            "; {}: {} of {} bytes of the stream were read{}",
            self.place(part.first),
            grouped(read),
            grouped(all),
            // The library compares the checksum where it reads all bytes.
            if read < all { ", and its checksum was not compared" } else { "" }
        )
    }

    /// Where the part begins.
    fn place(&self, [x, y, z]: [u64; 3]) -> String {
        match (self.region, self.planes) {
            (Some(_), Some(_)) => format!("from column {x}, row {y} and plane {z} on"),
            (Some(_), None) => format!("from column {x} and row {y} on"),
            (None, _) => format!("from plane {z} on"),
        }
    }
}

impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let region = self.region.map(|region| format!("--region {region}"));
        let planes = self.planes.map(|planes| format!("--planes {planes}"));
        write!(f, "{}", region.into_iter().chain(planes).collect::<Vec<_>>().join(" "))
    }
}

/// A stream that was found, and the part of it that is wanted.
struct Found {
    /// For messages.
    name: String,
    bytes: Bytes,
    info: StreamInfo,
    first: [u64; 3],
    dims: Dims,
}

impl Found {
    fn decode<T: Element>(
        &self,
        held: &mut Held,
        threads: usize,
        progress: &Progress,
    ) -> Result<Done<Report>, Failure> {
        let config = Config { dtype: held.dtype, ..held.dims.config(BoundKind::Absolute, 0.0) };
        let [u, v] = held.views::<T>();
        self.run(threads, progress, |source, execution| {
            factz::decompress_region(&config, source, self.first, u, v, execution)
        })
    }

    fn decode_volume<T: Element>(
        &self,
        threads: usize,
        progress: &Progress,
    ) -> Result<([Values; 3], Done<Report>), Failure> {
        let Dims { nx, ny, nz } = self.dims;
        let config =
            Config { dtype: self.info.dtype, ..Config::volume([nx, ny, nz], BoundKind::Absolute, 0.0) };
        let room = || memory::zeros::<T>(self.dims.count(), format_args!("{} values", self.dims));
        let mut components = [room()?, room()?, room()?];
        let views = components.each_mut().map(|values| ViewMut::stack(values, nx, ny));
        let done = self.run(threads, progress, |source, execution| {
            factz::decompress_volume_region(&config, source, self.first, views, execution)
        })?;
        Ok((components.map(T::wrap), done))
    }

    /// Runs a function of the library.
    fn run(
        &self,
        threads: usize,
        progress: &Progress,
        decompress: impl FnOnce(Source<'_>, Execution<'_>) -> factz::Result<Report>,
    ) -> Result<Done<Report>, Failure> {
        let mut read = |offset: u64, to: &mut [u8]| match &self.bytes {
            Bytes::Memory(_) => unreachable!("memory is not read"),
            Bytes::File(file, start, _) => file
                .read_exact_at(to, start + offset)
                .map_err(|e| Error::new(Status::Read, format!("cannot be read: {e}"))),
        };
        let source = match &self.bytes {
            Bytes::Memory(stream) => Source::Memory(stream),
            Bytes::File(_, _, length) => Source::Read(*length, &mut read),
        };
        let start = Instant::now();
        let result = with_progress(threads, Some(progress), |execution| decompress(source, execution))
            .map_err(|e| Failure::from(e).about(&self.name))?;
        Ok(Done { result, seconds: start.elapsed().as_secs_f64(), device: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_read_from_text() {
        let region: Region = "100,200,512x256".parse().unwrap();
        assert_eq!(region, Region { x: 100, y: 200, dims: Dims::plane(512, 256) });
        assert_eq!(region.to_string(), "100,200,512x256");
        for bad in ["", "1,2", "1,2,3", "1,2,0x3", "-1,2,3x3", "1,2,3x3,4", "1,2,3x3x2", "a,2,3x3", "1,2,3x"]
        {
            assert!(bad.parse::<Region>().unwrap_err().contains("X,Y,WxH"), "{bad}");
        }
    }

    #[test]
    fn planes_are_those_of_a_slice() {
        for (text, expected) in [
            ("3", Some((3, 1))),
            ("-1", Some((4, 1))),
            ("1:3", Some((1, 2))),
            (":2", Some((0, 2))),
            ("-2:", Some((3, 2))),
            (":", Some((0, 5))),
            ("5", None),
            ("-6", None),
            ("2:2", None),
            ("3:6", None),
        ] {
            let planes: Planes = text.parse().unwrap();
            assert_eq!((planes.of(5), planes.to_string()), (expected, text.to_owned()));
        }
        for bad in ["", "a", "1:2:3", "1.5", "3:b"] {
            assert!(bad.parse::<Planes>().unwrap_err().contains("or A:B"), "{bad}");
        }
    }
}
