//! A fix applied to its reconstruction. Nothing is written before everything was checked.

use super::header::{Content, Header, HEADER_BYTES};
use super::list::{decode, Entry, Positions, Repaired, ENTRY_BYTES};
use super::values::{Refiner, EXACT, ZERO};
use crate::analysis::in_bands;
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::tiles::Grid;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::checksum;

/// The bytes of a fix that is complete and has its checksum.
pub struct Source<'a> {
    header: Header,
    body: &'a [u8],
}

/// A chunk of the list.
struct Part<'a> {
    entry: Entry,
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    /// Checks header, length and checksum. Bytes behind the fix are ignored.
    pub fn new(header: Header, fix: &'a [u8]) -> Result<Self> {
        let Some(fix) = fix.get(..header.fix_bytes as usize).filter(|f| f.len() as u64 == header.fix_bytes)
        else {
            return Err(Error::corrupt(format!(
                "the fix has {} bytes, its header says {}",
                fix.len(),
                header.fix_bytes
            )));
        };
        if !checksum::is_sealed(fix) {
            return Err(Error::corrupt(
                "the checksum does not match: the fix was damaged after it was written",
            ));
        }
        Ok(Source { header, body: &fix[HEADER_BYTES..] })
    }

    /// Applies the fix to the reconstruction in `field`.
    pub fn apply<T: Real, const N: usize>(
        &self,
        field: &[ViewMut<'_, T>; N],
        threads: Threads,
    ) -> Result<()> {
        let found = checksum_of(self.header.grid(), field, threads)?;
        if found != self.header.reconstruction {
            return Err(Error::argument(format!(
                "the fix belongs to another reconstruction: it was made for values with the checksum \
                 {:#010x}, and those of u and v have {found:#010x}",
                self.header.reconstruction
            )));
        }
        match self.header.content {
            Content::Stored => self.write_stored(field, threads),
            Content::List => {
                let parts = self.parts()?;
                self.check::<T, N>(&parts, threads)?;
                // Chunks of one kind have no vertex in common. A zero chunk and another one may have: refined
                // values come first, as they follow from the reconstruction.
                let zero = parts.partition_point(|part| part.entry.is_zero());
                self.write_parts(&parts[zero..], field, threads)?;
                self.write_parts(&parts[..zero], field, threads)
            }
        }
    }

    /// The chunks: those of zero vertices, then the others; together they are the body.
    fn parts(&self) -> Result<Vec<Part<'a>>> {
        let corrupt = || Error::corrupt("the directory of the fix does not add up to its bytes");
        let chunks = usize::try_from(self.header.chunks).map_err(|_| corrupt())?;
        let directory = chunks.checked_mul(ENTRY_BYTES).ok_or_else(corrupt)?;
        let (directory, mut rest) = self.body.split_at_checked(directory).ok_or_else(corrupt)?;
        let mut parts = memory::with_capacity(chunks)?;
        let (mut vertices, mut has_others) = (0, false);
        for entry in directory.chunks_exact(ENTRY_BYTES) {
            let entry = Entry::read(entry.try_into().expect("an entry"))?;
            let (bytes, behind) = rest.split_at_checked(entry.bytes as usize).ok_or_else(corrupt)?;
            if has_others && entry.is_zero() {
                return Err(Error::corrupt("a chunk of zero vertices comes behind others in the fix"));
            }
            has_others |= !entry.is_zero();
            vertices += entry.vertices as u64;
            rest = behind;
            parts.push(Part { entry, bytes });
        }
        match rest.is_empty() && vertices == self.header.repaired_vertices {
            true => Ok(parts),
            false => Err(corrupt()),
        }
    }

    /// Decodes all chunks: they hold vertices of the grid, and those of one kind ascend.
    fn check<T: Real, const N: usize>(&self, parts: &[Part<'_>], threads: Threads) -> Result<()> {
        let positions = Positions(self.header.grid());
        let found = threads.map(parts.len(), stateless, |_, k| {
            let mut exact = 0;
            let last =
                decode(&parts[k].entry, parts[k].bytes, 8 * T::BYTES as u32, |vertex, _: [u64; N]| {
                    exact += (vertex.level == EXACT) as u64;
                    match positions.vertex(vertex.position) {
                        Some(_) => Ok(()),
                        None => Err(Error::corrupt("the fix names a vertex that the grid does not have")),
                    }
                })?;
            Ok((last, exact))
        })?;
        for (k, pair) in parts.windows(2).enumerate() {
            let [one, next] = [&pair[0].entry, &pair[1].entry];
            if one.is_zero() == next.is_zero() && next.first <= found[k].0 {
                return Err(Error::corrupt("the chunks of the fix do not ascend"));
            }
        }
        match found.iter().map(|part| part.1).sum::<u64>() == self.header.exact_vertices {
            true => Ok(()),
            false => Err(Error::corrupt("the header of the fix holds another number of exact vertices")),
        }
    }

    /// Writes the vertices of chunks that were checked and have no vertex in common.
    fn write_parts<T: Real, const N: usize>(
        &self,
        parts: &[Part<'_>],
        field: &[ViewMut<'_, T>; N],
        threads: Threads,
    ) -> Result<()> {
        let positions = Positions(self.header.grid());
        let refiner = Refiner { radius: self.header.radius };
        threads.for_each(parts.len(), stateless, |_, k| {
            let write = |vertex: Repaired, data: [u64; N]| {
                let Some((z, [x, y])) = positions.vertex(vertex.position) else { return Ok(()) };
                for (view, &data) in field.iter().zip(&data) {
                    let view = view.plane(z);
                    let value = match vertex.level {
                        EXACT => T::from_bits64(data),
                        ZERO => T::ZERO,
                        k => refiner.value(k, view.reading().get(x as i64, y as i64), data as u32),
                    };
                    // SAFETY: chunks have no vertex in common, and a chunk is decoded by one thread.
                    unsafe { view.set(x, y, value) };
                }
                Ok(())
            };
            decode(&parts[k].entry, parts[k].bytes, 8 * T::BYTES as u32, write).map(|_| ())
        })
    }

    /// Writes all values from those of the body.
    fn write_stored<T: Real, const N: usize>(
        &self,
        field: &[ViewMut<'_, T>; N],
        threads: Threads,
    ) -> Result<()> {
        let grid = self.header.grid();
        in_bands(grid, threads, |z, rows| {
            for (component, view) in field.iter().enumerate() {
                let view = view.plane(z);
                for y in rows.clone() {
                    let first = component as u64 * grid.vertices() + (z * grid.ny + y) * grid.nx;
                    let row = &self.body[first as usize * T::BYTES..];
                    for (x, bytes) in row.chunks_exact(T::BYTES).take(grid.nx as usize).enumerate() {
                        let mut bits = [0; 8];
                        bits[..T::BYTES].copy_from_slice(bytes);
                        // SAFETY: bands have no vertex in common.
                        unsafe { view.set(x as u64, y, T::from_bits64(u64::from_le_bytes(bits))) };
                    }
                }
            }
            Ok(())
        })
        .map(|_| ())
    }
}

/// The checksum of the values of a reconstruction.
fn checksum_of<T: Real, const N: usize>(
    grid: Grid,
    field: &[ViewMut<'_, T>; N],
    threads: Threads,
) -> Result<u32> {
    let sums = in_bands(grid, threads, |z, rows| {
        let mut row = memory::filled(grid.nx as usize, T::ZERO)?;
        let mut sum = 0u32;
        for (component, view) in field.iter().enumerate() {
            for y in rows.clone() {
                view.plane(z).reading().read_row(0, y as i64, &mut row);
                let first = component as u64 * grid.vertices() + (z * grid.ny + y) * grid.nx;
                sum = sum.wrapping_add(checksum::of_values(first, &row));
            }
        }
        Ok(sum)
    })?;
    Ok(sums.into_iter().fold(0, u32::wrapping_add))
}

#[cfg(test)]
mod tests {
    use super::super::list::encode;
    use super::*;
    use crate::request::{BoundKind, Dtype, Preserve, Ties};

    /// A vertex that two chunks name becomes zero, and the refinement is computed from the reconstruction.
    #[test]
    fn zero_vertices_become_zero_whatever_other_chunks_say() {
        let (mut u, mut v) = (vec![4.0f32; 9], vec![-4.0f32; 9]);
        let vertices = |level, positions: &[u64]| -> Vec<_> {
            positions.iter().map(|&position| Repaired { position, level }).collect()
        };
        let chunks = [vertices(ZERO, &[0, 1]), vertices(1, &[1, 2])]
            .map(|list| encode(&list, 2, 32, |_, component| component as u64).unwrap());
        let bytes = chunks.iter().map(|chunk| ENTRY_BYTES + chunk.bytes.len()).sum::<usize>();
        let mut header = Header {
            dtype: Dtype::F32,
            preserve: Preserve::Types,
            bound_kind: BoundKind::Absolute,
            ties: Ties::All,
            content: Content::List,
            periodic: 0,
            reconstruction: 0,
            exact_vertices: 0,
            nx: 3,
            ny: 3,
            nz: 1,
            bound: 1.0,
            absolute_bound: 1.0,
            radius: 1.0,
            dx: 1.0,
            dy: 1.0,
            fill: None,
            repaired_vertices: 4,
            fix_bytes: (HEADER_BYTES + bytes) as u64,
            chunks: 2,
        };
        let threads = Threads::new(2);
        let field = [ViewMut::dense(&mut u, 3), ViewMut::dense(&mut v, 3)];
        header.reconstruction = checksum_of(header.grid(), &field, threads).unwrap();
        let mut fix = header.write().to_vec();
        chunks.iter().for_each(|chunk| fix.extend_from_slice(&chunk.entry));
        chunks.iter().for_each(|chunk| fix.extend_from_slice(&chunk.bytes));
        checksum::seal(&mut fix);
        Source::new(Header::read(&fix).unwrap(), &fix).unwrap().apply(&field, threads).unwrap();
        // Positions 0, 1 and 2 are the vertices (0, 0), (1, 0) and (0, 1).
        assert_eq!(u, [0.0, 0.0, 4.0, 3.5, 4.0, 4.0, 4.0, 4.0, 4.0]);
        assert_eq!(v, [0.0, 0.0, -4.0, -3.5, -4.0, -4.0, -4.0, -4.0, -4.0]);
    }
}
