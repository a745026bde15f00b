//! Decompression: parse -> decode -> reconstruct.

use super::entropy;
use super::progress::{Meter, Progress};
use super::reconstruct::{stored_vertices, Hierarchical, Output};
use super::stored;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::tiles::{ANCHOR_LEVEL, TILE};
use crate::predict::anchors;
use crate::predict::interpolation::{interpolants, Interpolant};
use crate::predict::lorenzo::Lattices;
use crate::predict::quantizer::Quantizer;
use crate::report::Report;
use crate::request::Predictor;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::stream::header::{Content, Header, HEADER_BYTES};
use crate::tile::decode::Decoder;
use crate::tile::lorenzo_decode;

/// Decompresses a stream, cut to the length in its header, whose header is read.
pub(super) fn decompress<T: Real>(
    header: &Header,
    stream: &[u8],
    outputs: [&ViewMut<'_, T>; 2],
    threads: Threads,
    progress: Option<Progress<'_>>,
) -> Result<Report> {
    let grid = header.grid();
    let span = tracing::info_span!("decompress", nx = header.nx, ny = header.ny);
    let _entered = span.enter();
    let meter = Meter::new(progress, 2 * grid.tiles());
    let output = Output(outputs);
    let exact_vertices = match (header.content, header.predictor) {
        (Content::Stored, _) => {
            let bytes = &stream[HEADER_BYTES..];
            if bytes.len() as u64 != header.field_bytes() {
                return Err(Error::corrupt(format!(
                    "the stream stores {} bytes of values, its field has {}",
                    bytes.len(),
                    header.field_bytes()
                )));
            }
            stored::read(grid, bytes, outputs, threads)?;
            grid.vertices()
        }
        (_, Predictor::Hierarchical) => hierarchical(header, stream, output, threads, &meter)?,
        (_, Predictor::Lorenzo) => lorenzo(header, stream, output, threads, &meter)?,
    };
    Ok(Report {
        stream_bytes: header.stream_bytes,
        required_bytes: header.stream_bytes,
        bound: header.absolute_bound,
        exact_vertices,
        ..Report::default()
    })
}

/// Decodes all tiles, then reconstructs them; how many vertices are stored.
fn hierarchical<T: Real>(
    header: &Header,
    stream: &[u8],
    output: Output<'_, T>,
    threads: Threads,
    meter: &Meter,
) -> Result<u64> {
    let coding = TileCoding::new(header.predictor, T::BYTES);
    let count = header.grid().tiles() as usize;
    let quantizer = Quantizer::new(header.absolute_bound, header.half_bin_width, header.level_bound_scaling);
    let interpolants: [Interpolant<T>; ANCHOR_LEVEL] = interpolants(&header.interpolants);
    let decoder = Decoder {
        grid: header.grid(),
        coding,
        quantizer: &quantizer,
        interpolants: &interpolants,
        missing: header.missing(),
        fill: header.fill.map(T::from_bits64),
    };
    let groups = entropy::decode(header, coding, stream, threads, meter, |group, codes, outer| {
        let anchors =
            anchors::walk(header.grid(), group, outer, |k, before| decoder.anchor(&codes[k], before))?;
        Ok((codes, anchors))
    })?;
    let (mut tiles, mut anchors) = (memory::with_capacity(count)?, memory::with_capacity(count)?);
    for (group, values) in groups {
        tiles.extend(group);
        anchors.extend(values);
    }
    Hierarchical { tiles: &tiles, anchors: &anchors, decoder, threads }.run(output, meter)?;
    stored_vertices(&tiles, threads)
}

/// Decodes and reconstructs group by group, as tiles know nothing of each other; how many vertices are
/// stored.
fn lorenzo<T: Real>(
    header: &Header,
    stream: &[u8],
    output: Output<'_, T>,
    threads: Threads,
    meter: &Meter,
) -> Result<u64> {
    let grid = header.grid();
    let coding = TileCoding::new(header.predictor, T::BYTES);
    let lattices = Lattices::new(header.absolute_bound, header.half_bin_width);
    let fill = header.fill.map(T::from_bits64);
    let decoder = lorenzo_decode::Decoder { lattices: &lattices, coding, fill };
    let stored = entropy::decode(header, coding, stream, threads, meter, |tiles, codes, _| {
        for (tile, codes) in tiles.zip(&codes) {
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
        }
        meter.add(codes.len() as u64);
        Ok(codes.iter().map(QuantizedTile::stored).sum::<u64>())
    })?;
    Ok(stored.iter().sum())
}
