//! A fix applied to its reconstruction. Nothing is written before everything was checked.

use super::header::{Content, Header};
use super::read::{CheckedList, Listed, ListedVertex};
use super::values::{Level, Refiner, EXACT, ZERO};
use crate::analysis::in_bands;
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::tiles::Grid;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::stream::checksum;
use std::ops::Range;

/// The bytes of a fix that is complete and has its checksum.
pub struct Source<'a> {
    header: Header,
    body: &'a [u8],
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
        Ok(Source { header, body: &fix[header.bytes()..] })
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
                 {:#010x}, and these have {found:#010x}",
                self.header.reconstruction
            )));
        }
        match self.header.content {
            Content::Stored => self.write_stored(field, threads),
            Content::List => {
                let list = Listed {
                    positions: self.header.positions(),
                    may_be_filled: false,
                    chunks: self.header.chunks,
                    vertices: self.header.repaired_vertices,
                    exact: self.header.exact_vertices,
                    bytes: self.body.len() as u64,
                };
                let (body, directory) = (self.body, list.directory_bytes()? as usize);
                let get = |bytes: Range<u64>| &body[bytes.start as usize..bytes.end as usize];
                let list = list.read_directory(&body[..directory])?.check::<T, N>(get, threads)?;
                // A zero chunk and another one may have a vertex in common: refined values come first, as they
                // follow from the reconstruction.
                self.write_list(&list, None, field, threads)?;
                self.write_list(&list, Some(ZERO), field, threads)
            }
        }
    }

    /// Writes the vertices of the chunks of a level.
    fn write_list<T: Real, const N: usize>(
        &self,
        list: &CheckedList<'_>,
        level: Option<Level>,
        field: &[ViewMut<'_, T>; N],
        threads: Threads,
    ) -> Result<()> {
        let refiner = Refiner { radius: self.header.radius };
        list.for_each::<T, N>(level, threads, |vertex: ListedVertex<N>| {
            let [x, y, z] = vertex.at;
            for (view, &data) in field.iter().zip(&vertex.data) {
                let view = view.plane(z);
                let value = match vertex.level {
                    EXACT => T::from_bits64(data),
                    ZERO => T::ZERO,
                    k => refiner.value(k, view.reading().get(x as i64, y as i64), data as u32),
                };
                // SAFETY: a vertex is handed out once.
                unsafe { view.set(x, y, value) };
            }
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
    use super::super::header::HEADER_BYTES;
    use super::super::list::{encode, Repaired, ENTRY_BYTES};
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
            components: 2,
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
            dz: 1.0,
            fill: None,
            repaired_vertices: 4,
            fix_bytes: (HEADER_BYTES + bytes) as u64,
            chunks: 2,
        };
        let threads = Threads::new(2);
        let field = [ViewMut::dense(&mut u, 3), ViewMut::dense(&mut v, 3)];
        header.reconstruction = checksum_of(header.grid(), &field, threads).unwrap();
        let mut fix = vec![0; HEADER_BYTES];
        header.write(&mut fix);
        chunks.iter().for_each(|chunk| fix.extend_from_slice(&chunk.entry));
        chunks.iter().for_each(|chunk| fix.extend_from_slice(&chunk.bytes));
        checksum::seal(&mut fix);
        Source::new(Header::read(&fix).unwrap(), &fix).unwrap().apply(&field, threads).unwrap();
        // Positions 0, 1 and 2 are the vertices (0, 0), (1, 0) and (0, 1).
        assert_eq!(u, [0.0, 0.0, 4.0, 3.5, 4.0, 4.0, 4.0, 4.0, 4.0]);
        assert_eq!(v, [0.0, 0.0, -4.0, -3.5, -4.0, -4.0, -4.0, -4.0, -4.0]);
    }
}
