//! Fields that are stored as they are, where coding would take more: u, then v, dense.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::grid::tiles::Grid;
use crate::runtime::pool::{stateless, Threads};

pub(super) fn write<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    out: &mut [u8],
    threads: Threads,
) -> Result<()> {
    let row = grid.nx as usize * T::BYTES;
    let rows = rows_of_a_piece(grid);
    for (view, out) in views.iter().zip(out.chunks_mut(grid.ny as usize * row)) {
        threads.map_chunks(out, rows * row, stateless, |_, piece, out| {
            for (k, out) in out.chunks_exact_mut(T::BYTES).enumerate() {
                let (x, y) = (k as u64 % grid.nx, (piece * rows) as u64 + k as u64 / grid.nx);
                let bits = view.get(x as i64, y as i64).to_bits64();
                out.copy_from_slice(&bits.to_le_bytes()[..T::BYTES]);
            }
            Ok(())
        })?;
    }
    Ok(())
}

pub(super) fn read<T: Real>(
    grid: Grid,
    bytes: &[u8],
    outputs: [&ViewMut<'_, T>; 2],
    threads: Threads,
) -> Result<()> {
    let row = grid.nx as usize * T::BYTES;
    let rows = rows_of_a_piece(grid);
    for (view, bytes) in outputs.iter().zip(bytes.chunks(grid.ny as usize * row)) {
        threads.for_each((grid.ny as usize).div_ceil(rows), stateless, |_, piece| {
            let bytes = &bytes[piece * rows * row..];
            let bytes = &bytes[..bytes.len().min(rows * row)];
            for (k, b) in bytes.chunks_exact(T::BYTES).enumerate() {
                let (x, y) = (k as u64 % grid.nx, (piece * rows) as u64 + k as u64 / grid.nx);
                let mut bits = [0; 8];
                bits[..T::BYTES].copy_from_slice(b);
                // SAFETY: this piece of work alone writes the row of the vertex.
                unsafe { view.set(x, y, T::from_bits64(u64::from_le_bytes(bits))) };
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Rows that make a piece of work of a few thousand vertices.
fn rows_of_a_piece(grid: Grid) -> usize {
    ((1 << 14) / grid.nx).max(1) as usize
}
