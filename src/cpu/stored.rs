//! Fields that are stored as they are, where coding would take more: u of all planes, then v, then w of a volume,
//! dense.

use super::source::{Fetched, Source};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::grid::tiles::Grid;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::header::Header;
use crate::stream::region::Region;
use std::ops::Range;

pub(crate) fn write<T: Real>(
    grid: Grid,
    views: &[View<'_, T>],
    out: &mut [u8],
    threads: Threads,
) -> Result<()> {
    let row = grid.nx as usize * T::BYTES;
    let rows = rows_of_a_piece(grid.nx);
    for (view, out) in views.iter().zip(out.chunks_mut((grid.ny * grid.nz) as usize * row)) {
        threads.map_chunks(out, rows * row, stateless, |_, piece, out| {
            for (k, out) in out.chunks_exact_mut(T::BYTES).enumerate() {
                let (x, row) = (k as u64 % grid.nx, (piece * rows) as u64 + k as u64 / grid.nx);
                let plane = view.plane(row / grid.ny);
                let bits = plane.get(x as i64, (row % grid.ny) as i64).to_bits64();
                out.copy_from_slice(&bits.to_le_bytes()[..T::BYTES]);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Rows of a region, of all components.
fn rows_of(header: &Header, region: Region) -> usize {
    (header.components() as u64 * region.size[1] * region.size[2]) as usize
}

/// Component, plane and row of a row of a region; the rows of a component come behind those of the one before.
fn place_of(region: Region, row: usize) -> [u64; 3] {
    let [_, ny, nz] = region.size;
    let (plane, y) = (row as u64 / ny, row as u64 % ny);
    [plane / nz, plane % nz, y]
}

/// The bytes of a row of a region.
fn row_bytes(header: &Header, region: Region, row: usize) -> Range<u64> {
    let ([component, z, y], grid, [x0, y0, z0]) = (place_of(region, row), header.grid(), region.first);
    let plane = component * grid.nz + z0 + z;
    let first = (plane * grid.ny + y0 + y) * grid.nx + x0;
    let start = header.bytes() as u64 + first * header.dtype.bytes();
    start..start + region.size[0] * header.dtype.bytes()
}

/// Reads the vertices of a region to views of the components that the stream holds; how many bytes of the stream
/// were read. The checksum is compared if that takes all of them, and `verify_checksum` asks for it.
pub(crate) fn read<T: Real>(
    header: &Header,
    region: Region,
    mut source: Source<'_>,
    outputs: &[Option<&ViewMut<'_, T>>],
    (verify_checksum, threads): (bool, Threads),
) -> Result<u64> {
    let head = header.bytes() as u64;
    let bytes = header.stream_bytes - head;
    if bytes != header.field_bytes() {
        return Err(Error::corrupt(format!(
            "the stream stores {bytes} bytes of values, its field has {}",
            header.field_bytes()
        )));
    }
    let rows = (0..rows_of(header, region)).map(|row| row_bytes(header, region, row));
    let fetched = source.fetch(rows)?;
    if verify_checksum && region.is_whole() {
        fetched.check_seal(&source.start(head)?, header.stream_bytes)?;
    }
    write_rows(header, region, &fetched, outputs, threads)?;
    Ok(head + header.components() as u64 * region.vertices() * T::BYTES as u64)
}

/// Writes the vertices of a region, whose bytes were fetched.
fn write_rows<T: Real>(
    header: &Header,
    region: Region,
    fetched: &Fetched<'_>,
    outputs: &[Option<&ViewMut<'_, T>>],
    threads: Threads,
) -> Result<()> {
    let each = rows_of_a_piece(region.size[0]);
    let rows = rows_of(header, region);
    threads.for_each(rows.div_ceil(each), stateless, |_, piece| {
        for row in piece * each..((piece + 1) * each).min(rows) {
            let [component, z, y] = place_of(region, row);
            let Some(output) = outputs[component as usize] else { continue };
            let output = output.plane(z);
            let bytes = fetched.get(row_bytes(header, region, row));
            for (x, b) in bytes.chunks_exact(T::BYTES).enumerate() {
                let mut bits = [0; 8];
                bits[..T::BYTES].copy_from_slice(b);
                let value = T::from_bits64(u64::from_le_bytes(bits));
                // SAFETY: this piece of work alone writes the row of the vertex.
                unsafe { output.set(x as u64, y, value) };
            }
        }
        Ok(())
    })
}

/// Rows that make a piece of work of a few thousand vertices.
fn rows_of_a_piece(nx: u64) -> usize {
    ((1 << 14) / nx).max(1) as usize
}
