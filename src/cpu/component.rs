//! Splits the stream of a field into a stream of u and a stream of v, and joins two such streams. The codes of
//! the vertices are divided; no value is quantised again.

use super::compress::assemble;
use super::entropy::{self, Body, Groups};
use super::progress::Meter;
use super::source::Source;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::error::{Error, Result, Status};
use crate::grid::tiles::{Grid, TileShape};
use crate::predict::anchors::{self, CoarseCodes};
use crate::report::Report;
use crate::request::{Component, Dtype, Predictor};
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::checksum::{self, seal};
use crate::stream::header::{Content, Header, HEADER_BYTES};
use crate::stream::sections::{self, Group};
use crate::tile::component::{coarse, Halves};

/// A whole stream whose header and checksum were checked.
struct Stream<'a> {
    header: Header,
    bytes: &'a [u8],
}

impl<'a> Stream<'a> {
    fn read(name: &str, bytes: &'a [u8]) -> Result<Self> {
        let of = |error: Error| Error::new(error.status, format!("{name}: {}", error.message));
        let header = Header::read(bytes).map_err(of)?;
        if header.volume.is_some() {
            return Err(Error::argument(format!(
                "{name} holds a volume of u, v and w, and streams of planes alone are split and joined: decompress \
                 the volume into an array for each component"
            )));
        }
        super::check_length(&header, bytes.len() as u64).map_err(of)?;
        let bytes = &bytes[..header.stream_bytes as usize];
        if !checksum::is_sealed(bytes) {
            return Err(Error::corrupt(format!(
                "{name}: the checksum does not match: the stream was damaged after it was written"
            )));
        }
        Ok(Stream { header, bytes })
    }

    /// The values of stored content.
    fn values(&self) -> Result<&'a [u8]> {
        let values = &self.bytes[HEADER_BYTES..];
        match values.len() as u64 == self.header.field_bytes() {
            true => Ok(values),
            false => Err(Error::corrupt(format!(
                "the stream stores {} bytes of values, its field has {}",
                values.len(),
                self.header.field_bytes()
            ))),
        }
    }

    /// The codes of all tiles.
    fn tiles(&self, threads: Threads) -> Result<Vec<QuantizedTile>> {
        let header = &self.header;
        let sections::Sections { tables, groups } = sections::split(header, self.bytes)?;
        let bytes = Source::Memory(self.bytes).fetch(groups.iter().map(Group::padded))?;
        let groups = Groups {
            coder: header.coder,
            grid: header.grid(),
            coding: coding(header),
            tables: &tables,
            groups: &groups,
            bytes: &bytes,
        };
        let meter = Meter::new(None, 0);
        let parts = entropy::decode(&groups, threads, &meter, |_, codes, _| Ok(codes))?;
        let mut tiles = memory::with_capacity(header.grid().tiles() as usize)?;
        parts.into_iter().for_each(|mut part| tiles.append(&mut part));
        Ok(tiles)
    }
}

/// The coding of a stream with this header.
pub(super) fn coding(header: &Header) -> TileCoding {
    let coding = TileCoding::new(header.predictor, header.dtype.bytes() as usize);
    match header.component {
        None => coding,
        Some(_) => coding.of_one(),
    }
}

/// The properties that both halves of a field of this header share.
fn halves(header: &Header) -> Halves {
    let width = 2.0 * header.half_bin_width;
    Halves {
        coding: TileCoding::new(header.predictor, header.dtype.bytes() as usize),
        missing: header.missing(),
        finite_widths: match header.dtype {
            Dtype::F32 => (width as f32).is_finite(),
            Dtype::F64 => width.is_finite(),
        },
    }
}

/// The number that the streams of both components of a stream share.
fn pair_of(stream: &[u8]) -> u64 {
    // 0 stands for the stream of a component that has no partner.
    ((stream.len() as u64) << 32 | checksum::of_seal(stream) as u64).max(1)
}

/// The stream of one component of a joint stream, in `dst`.
fn half(
    joint: &Stream<'_>,
    codes: &[QuantizedTile],
    component: Component,
    dst: &mut [u8],
    threads: Threads,
) -> Result<Report> {
    let header = &joint.header;
    let own = header.fill[component as usize];
    let to = Header { component: Some(component), fill: [own, pair_of(joint.bytes)], ..*header };
    if header.content == Content::Stored {
        let values = joint.values()?;
        let bytes = values.len() / 2;
        return write_stored(to, &[&values[component as usize * bytes..][..bytes]], dst);
    }
    let (grid, halves) = (header.grid(), halves(header));
    let tiles = map_tiles(grid, threads, |tile, shape| halves.split(&codes[tile], component, shape))?;
    write_coded(to, &tiles, dst, threads)
}

/// Splits a stream of both components; `dst` receives the stream of u and that of v. A report whose status is
/// `BufferTooSmall` has the `required_bytes` of its stream.
pub(super) fn split(stream: &[u8], dst: [&mut [u8]; 2], threads: Threads) -> Result<[Report; 2]> {
    let joint = Stream::read("the stream", stream)?;
    if let Some(component) = joint.header.component {
        return Err(Error::argument(format!(
            "the stream holds component {} alone: there is nothing to split",
            component.name()
        )));
    }
    let [fill_u, fill_v] = joint.header.fill;
    if joint.header.has_fill && fill_u != fill_v {
        return Err(Error::new(
            Status::Unsupported,
            format!("the stream has the fill values {fill_u:#x} of u and {fill_v:#x} of v: streams of one component \
                     need one that both share"),
        ));
    }
    let codes = match joint.header.content {
        Content::Coded => joint.tiles(threads)?,
        Content::Stored => Vec::new(),
    };
    let [u, v] = dst;
    Ok([half(&joint, &codes, Component::U, u, threads)?, half(&joint, &codes, Component::V, v, threads)?])
}

/// Joins the streams of u and v that were split from one stream; `dst` receives that stream.
pub(super) fn join(streams: [&[u8]; 2], dst: &mut [u8], threads: Threads) -> Result<Report> {
    let [u, v] = [Stream::read("the stream of u", streams[0])?, Stream::read("the stream of v", streams[1])?];
    check_pair([&u.header, &v.header])?;
    let fill = [u.header.fill[0], v.header.fill[0]];
    let to = Header { component: None, fill, ..u.header };
    if to.content == Content::Stored {
        return write_stored(to, &[u.values()?, v.values()?], dst);
    }
    let (grid, halves) = (to.grid(), halves(&to));
    let codes = [u.tiles(threads)?, v.tiles(threads)?];
    let tiles = map_tiles(grid, threads, |tile, shape| {
        let joined = halves.join([&codes[0][tile], &codes[1][tile]], shape)?;
        joined.ok_or_else(|| {
            Error::corrupt(format!("tile {tile} of u and that of v are not those of one field"))
        })
    })?;
    drop(codes);
    write_coded(to, &tiles, dst, threads)
}

/// Refuses streams that are not u and v of one stream.
fn check_pair(headers: [&Header; 2]) -> Result<()> {
    for (header, expected) in headers.into_iter().zip([Component::U, Component::V]) {
        let name = expected.name();
        match header.component {
            Some(component) if component == expected => {}
            Some(component) => {
                return Err(Error::argument(format!(
                    "the stream of {name} holds component {}: give that of u first, then that of v",
                    component.name()
                )))
            }
            None => {
                return Err(Error::argument(format!(
                    "the stream of {name} holds both components: give streams that were split from one"
                )))
            }
        }
    }
    let [u, v] = headers.map(|header| header.fill[1]);
    if u != v {
        return Err(Error::argument(format!(
            "the stream of u has the pair number {u:#x}, that of v {v:#x}: they were split from different streams"
        )));
    }
    if u == 0 {
        return Err(Error::argument(
            "the streams of u and v have the pair number 0: each was made alone, without a partner",
        ));
    }
    // The header without what belongs to one component.
    let common = |header: &Header| Header {
        component: None,
        fill: if header.has_fill { [header.fill[0], 0] } else { [0; 2] },
        groups: 0,
        table_bytes: 0,
        stream_bytes: 0,
        ..*header
    };
    match common(headers[0]).write() == common(headers[1]).write() {
        true => Ok(()),
        false => Err(Error::corrupt("the headers of u and v differ: one of the streams is damaged")),
    }
}

/// Tiles, as `make(tile, shape)` makes each.
fn map_tiles(
    grid: Grid,
    threads: Threads,
    make: impl Fn(usize, &TileShape) -> Result<QuantizedTile> + Sync,
) -> Result<Vec<QuantizedTile>> {
    threads.map(grid.tiles() as usize, stateless, |_, tile| make(tile, &grid.tile(tile as u64)))
}

/// The coarse codes of the anchors of all tiles; of the Lorenzo predictor, which has none, empty.
fn coarse_codes(header: &Header, tiles: &[QuantizedTile]) -> Result<Vec<CoarseCodes>> {
    if header.predictor == Predictor::Lorenzo {
        return Ok(Vec::new());
    }
    let (grid, coding) = (header.grid(), coding(header));
    let mut all: Vec<CoarseCodes> = memory::with_capacity(tiles.len())?;
    for (tile, codes) in tiles.iter().enumerate() {
        let before = anchors::followed(grid, tile as u64).map_or([0; 2], |tile| all[tile as usize]);
        let [u, v] = coarse(coding, codes, before);
        all.push(if header.component.is_some() { [u, 0] } else { [u, v] });
    }
    Ok(all)
}

/// The report of a stream for which there is a buffer of `room` bytes.
fn report_of(header: &Header, exact_vertices: u64, room: usize) -> Report {
    let fits = header.stream_bytes <= room as u64;
    Report {
        status: if fits { Status::Ok } else { Status::BufferTooSmall },
        stream_bytes: if fits { header.stream_bytes } else { 0 },
        required_bytes: header.stream_bytes,
        exact_vertices,
        bound: header.absolute_bound,
        ..Report::default()
    }
}

/// Writes a stream of codes.
fn write_coded(
    mut header: Header,
    tiles: &[QuantizedTile],
    dst: &mut [u8],
    threads: Threads,
) -> Result<Report> {
    let anchors = coarse_codes(&header, tiles)?;
    let (grid, meter) = (header.grid(), Meter::new(None, 0));
    let body: Body =
        entropy::encode(header.coder, grid, coding(&header), (tiles, &anchors), threads, &meter)?;
    (header.groups, header.table_bytes) = (body.groups.len() as u64, body.tables.len() as u32);
    header.stream_bytes = HEADER_BYTES as u64 + body.bytes();
    let report = report_of(&header, tiles.iter().map(QuantizedTile::stored).sum(), dst.len());
    if report.status == Status::Ok {
        let stream = &mut dst[..header.stream_bytes as usize];
        assemble(&header, &body, stream);
        seal(stream);
    }
    Ok(report)
}

/// Writes a stream of values.
fn write_stored(mut header: Header, parts: &[&[u8]], dst: &mut [u8]) -> Result<Report> {
    (header.groups, header.table_bytes) = (0, 0);
    header.stream_bytes = HEADER_BYTES as u64 + header.field_bytes();
    let report = report_of(&header, header.grid().vertices(), dst.len());
    if report.status == Status::Ok {
        let (start, mut rest) = dst[..header.stream_bytes as usize].split_at_mut(HEADER_BYTES);
        start.copy_from_slice(&header.write());
        for part in parts {
            let here;
            (here, rest) = rest.split_at_mut(part.len());
            here.copy_from_slice(part);
        }
        seal(&mut dst[..header.stream_bytes as usize]);
    }
    Ok(report)
}
