//! Decompression of a region of a field: parse -> decode -> reconstruct.

use super::component;
use super::entropy::{self, Groups};
use super::progress::{Meter, Progress};
use super::reconstruct::{Hierarchical, Output, Outputs};
use super::source::Source;
use super::stored;
use crate::entropy::quantized_tile::QuantizedTile;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::tiles::{Grid, ANCHOR_LEVEL, TILE};
use crate::predict::anchors;
use crate::predict::interpolation::{interpolants, Interpolant};
use crate::predict::lorenzo::Lattices;
use crate::predict::quantizer::Quantizer;
use crate::report::Report;
use crate::request::Predictor;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::stream::header::{Content, Header};
use crate::stream::region::Region;
use crate::stream::sections::{self, Group};
use crate::tile::decode::Decoder;
use crate::tile::lorenzo_decode;

/// How a region is decompressed.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    /// Of the stream, which has all bytes that the header says.
    pub(super) header: &'a Header,
    pub(super) region: Region,
    /// Whether the checksum is compared if all bytes are read.
    pub(super) verify_checksum: bool,
    pub(super) threads: Threads,
    pub(super) progress: Option<Progress<'a>>,
}

/// Bytes that were read, and vertices that are stored bit for bit.
struct Done {
    bytes: u64,
    exact_vertices: u64,
}

/// Decompresses a region, to views of which it fills the beginning.
pub(super) fn decompress<T: Real>(
    job: &Job<'_>,
    source: Source<'_>,
    outputs: Outputs<'_, T>,
) -> Result<Report> {
    let Job { header, region, .. } = *job;
    let [nx, ny, nz] = region.size;
    let span = tracing::info_span!("decompress", nx, ny, nz);
    let _entered = span.enter();
    let done = match header.content {
        Content::Stored => values(job, source, outputs)?,
        Content::Coded => coded(job, source, outputs)?,
    };
    Ok(Report {
        stream_bytes: done.bytes,
        required_bytes: header.stream_bytes,
        bound: header.absolute_bound,
        exact_vertices: done.exact_vertices,
        ..Report::default()
    })
}

/// Stored content.
fn values<T: Real>(job: &Job<'_>, source: Source<'_>, outputs: Outputs<'_, T>) -> Result<Done> {
    let Job { header, region, .. } = *job;
    let outputs = match header.component {
        None => &outputs[..],
        Some(component) => &outputs[component as usize..][..1],
    };
    let bytes = stored::read(header, region, source, outputs, (job.verify_checksum, job.threads))?;
    Ok(Done { bytes, exact_vertices: region.vertices() })
}

/// Coded content: the groups that have tiles of the region.
fn coded<T: Real>(job: &Job<'_>, mut source: Source<'_>, outputs: Outputs<'_, T>) -> Result<Done> {
    let Job { header, region, threads, .. } = *job;
    let before_groups = sections::bytes_before_groups(header)?;
    let start = source.start(before_groups)?;
    let sections::Sections { tables, mut groups } = sections::split(header, &start)?;
    let all = groups.len();
    groups.retain(|group| region.takes_from(group.tiles.clone()));
    let fetched = source.fetch(groups.iter().map(Group::padded))?;
    if job.verify_checksum && groups.len() == all {
        fetched.check_seal(&start, header.stream_bytes)?;
    }
    let tiles: u64 = groups.iter().map(|group| group.tiles.end - group.tiles.start).sum();
    let meter = Meter::new(job.progress, tiles + region.tiles());
    let coding = component::coding(header);
    let (coder, grid) = (header.coder, header.grid());
    let coded = Groups { coder, grid, coding, tables: &tables, groups: &groups, bytes: &fetched };
    let coded = (header, &coded);
    let exact_vertices = match (header.predictor, header.component.is_some()) {
        (Predictor::Hierarchical, false) => {
            hierarchical::<T, false>(coded, region, outputs, threads, &meter)?
        }
        (Predictor::Hierarchical, true) => hierarchical::<T, true>(coded, region, outputs, threads, &meter)?,
        (Predictor::Lorenzo, false) => lorenzo::<T, false>(coded, region, outputs, threads, &meter)?,
        (Predictor::Lorenzo, true) => lorenzo::<T, true>(coded, region, outputs, threads, &meter)?,
    };
    let bytes = groups.iter().map(Group::padded).map(|bytes| bytes.end - bytes.start).sum::<u64>();
    Ok(Done { bytes: before_groups + bytes, exact_vertices })
}

/// Decodes the tiles of groups and keeps those that a region takes, then reconstructs them; how many vertices
/// are stored. `ONE`: the stream holds one component.
fn hierarchical<T: Real, const ONE: bool>(
    (header, coded): (&Header, &Groups<'_, Grid>),
    region: Region,
    outputs: Outputs<'_, T>,
    threads: Threads,
    meter: &Meter,
) -> Result<u64> {
    let count = region.tiles() as usize;
    let quantizer = Quantizer::new(header.absolute_bound, header.half_bin_width, header.level_bound_scaling);
    let interpolants: [Interpolant<T>; ANCHOR_LEVEL] = interpolants(&header.interpolants);
    let decoder = Decoder::<T, ONE> {
        grid: region.part(),
        coding: component::coding(header),
        quantizer: &quantizer,
        interpolants: &interpolants,
        missing: header.missing(),
        fill: header.fill_pattern().map(T::from_bits64),
    };
    let groups = entropy::decode(coded, threads, meter, |group, mut codes, outer| {
        let mut anchors = anchors::walk(header.grid(), group.clone(), outer, |k, before| {
            decoder.anchor(&codes[k], before)
        })?;
        let mut of_region = group.clone().map(|tile| region.takes(tile));
        anchors.retain(|_| of_region.next().expect("an anchor for each tile"));
        let stored = group.clone().zip(&codes).filter(|&(tile, _)| region.covers(tile));
        let stored = stored.map(|(_, codes)| codes.stored()).sum::<u64>();
        let mut of_region = group.map(|tile| region.takes(tile));
        codes.retain(|_| of_region.next().expect("codes for each tile"));
        Ok((codes, anchors, stored))
    })?;
    let (mut tiles, mut anchors) = (memory::with_capacity(count)?, memory::with_capacity(count)?);
    let mut stored = 0;
    for (group, values, stored_of_group) in groups {
        tiles.extend(group);
        anchors.extend(values);
        stored += stored_of_group;
    }
    let output = Output { views: outputs, region: region.in_part() };
    Hierarchical { tiles: &tiles, anchors: &anchors, decoder, threads }.run(output, meter)?;
    Ok(stored)
}

/// Decodes and reconstructs group by group, as tiles know nothing of each other; how many vertices are
/// stored. `ONE`: the stream holds one component.
fn lorenzo<T: Real, const ONE: bool>(
    (header, coded): (&Header, &Groups<'_, Grid>),
    region: Region,
    outputs: Outputs<'_, T>,
    threads: Threads,
    meter: &Meter,
) -> Result<u64> {
    let (grid, output) = (header.grid(), Output { views: outputs, region });
    let lattices = Lattices::new(header.absolute_bound, header.half_bin_width);
    let fill = header.fill_pattern().map(T::from_bits64);
    let coding = component::coding(header);
    let decoder = lorenzo_decode::Decoder::<T, ONE> { lattices: &lattices, coding, fill };
    let stored = entropy::decode(coded, threads, meter, |tiles, codes, _| {
        let (mut stored, mut done) = (0, 0);
        for (tile, codes) in tiles.zip(&codes).filter(|&(tile, _)| region.takes(tile)) {
            let shape = grid.tile(tile);
            decoder.tile(
                codes,
                &shape,
                #[inline(always)]
                |row, u, v| {
                    // The tile to the right comes next.
                    output.prefetch(&shape, shape.x0 + TILE as u64, row, TILE);
                    output.put(&shape, row, u, v);
                },
            );
            stored += QuantizedTile::stored(codes);
            done += 1;
        }
        meter.add(done);
        Ok(stored)
    })?;
    Ok(stored.iter().sum())
}
