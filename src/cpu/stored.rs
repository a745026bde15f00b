//! Fields that are stored as they are, where coding would take more: u of all planes, then v, dense.

use super::reconstruct::Outputs;
use super::region::Region;
use super::source::Fetched;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::Grid;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::header::{Header, HEADER_BYTES};
use std::ops::Range;

pub(super) fn write<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
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
    (header.components() as u64 * region.ny * region.nz) as usize
}

/// The bytes of the vertices of a region, in the order of the stream: a range for each row.
pub(super) fn rows(header: &Header, region: Region) -> impl ExactSizeIterator<Item = Range<u64>> + Clone {
    (0..rows_of(header, region)).map(move |row| row_bytes(header, region, row))
}

/// Component, plane and row of a row of a region; the rows of v come behind those of u.
fn place_of(region: Region, row: usize) -> [u64; 3] {
    let (plane, y) = (row as u64 / region.ny, row as u64 % region.ny);
    [plane / region.nz, plane % region.nz, y]
}

/// The bytes of a row of a region.
fn row_bytes(header: &Header, region: Region, row: usize) -> Range<u64> {
    let ([component, z, y], grid) = (place_of(region, row), header.grid());
    let plane = component * grid.nz + region.z0 + z;
    let first = (plane * grid.ny + region.y0 + y) * grid.nx + region.x0;
    let start = HEADER_BYTES as u64 + first * header.dtype.bytes();
    start..start + region.nx * header.dtype.bytes()
}

/// Writes the vertices of a region, whose bytes were fetched.
pub(super) fn read<T: Real>(
    header: &Header,
    region: Region,
    fetched: &Fetched<'_>,
    outputs: Outputs<'_, T>,
    threads: Threads,
) -> Result<()> {
    let each = rows_of_a_piece(region.nx);
    let rows = rows_of(header, region);
    let outputs = match header.component {
        None => outputs,
        Some(component) => [outputs[component as usize], None],
    };
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
