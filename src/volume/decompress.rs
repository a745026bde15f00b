//! Decompression of a volume: parse -> decode -> reconstruct layer 1 -> repaired vertices.

use super::layer::{Hidden, Layer};
use crate::cpu::entropy::{self, Groups};
use crate::cpu::progress::{Meter, Progress};
use crate::cpu::source;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::tiles::Grid;
use crate::grid::volume_tiles::VolumeGrid;
use crate::repair::list::Positions;
use crate::repair::read::{CheckedList, Listed, ListedVertex};
use crate::repair::values::{Radii, EXACT, FILLED, ZERO};
use crate::report::Report;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::checksum;
use crate::stream::header::{Content, Header, VolumeFields, VOLUME_HEADER_BYTES};
use crate::stream::sections::{self, Group};
use crate::tile::volume::Reconstruction;

/// A stream of a volume, whose header was read.
pub(super) struct Source<'a> {
    pub(super) header: Header,
    pub(super) fields: VolumeFields,
    pub(super) stream: &'a [u8],
    pub(super) verify_checksum: bool,
}

impl Source<'_> {
    /// Decompresses into views of the shape of the stream.
    pub(super) fn decompress<T: Real>(
        &self,
        to: &[ViewMut<'_, T>; 3],
        threads: Threads,
        progress: Option<Progress<'_>>,
    ) -> Result<Report> {
        let header = &self.header;
        let Some(stream) = self.stream.get(..header.stream_bytes as usize) else {
            return Err(Error::corrupt(format!(
                "the stream has {} bytes, its header says {}",
                self.stream.len(),
                header.stream_bytes
            )));
        };
        if self.verify_checksum && !checksum::is_sealed(stream) {
            return Err(Error::corrupt(
                "the checksum does not match: the stream was damaged after it was written",
            ));
        }
        let exact = match header.content {
            Content::Stored => self.values(stream, to, threads)?,
            Content::Coded => self.coded(stream, to, threads, progress)?,
        };
        Ok(Report {
            stream_bytes: header.stream_bytes,
            required_bytes: header.stream_bytes,
            bound: header.absolute_bound,
            exact_vertices: exact,
            ..Report::default()
        })
    }

    /// Stored content.
    fn values<T: Real>(&self, stream: &[u8], to: &[ViewMut<'_, T>; 3], threads: Threads) -> Result<u64> {
        let (grid, body) = (self.header.grid(), &stream[VOLUME_HEADER_BYTES..]);
        if body.len() as u64 != self.header.field_bytes().next_multiple_of(4) {
            return Err(Error::corrupt(format!("the stream stores {} bytes of values", body.len())));
        }
        let (rows, row) = ((grid.ny * grid.nz) as usize, grid.nx as usize * T::BYTES);
        threads.for_each(3 * rows, stateless, |_, number| {
            let (component, y, z) =
                (number / rows, number as u64 % grid.ny, number as u64 / grid.ny % grid.nz);
            let plane = to[component].plane(z);
            for (x, bytes) in body[number * row..][..row].chunks_exact(T::BYTES).enumerate() {
                let mut bits = [0; 8];
                bits[..T::BYTES].copy_from_slice(bytes);
                // SAFETY: each row is one piece of work.
                unsafe { plane.set(x as u64, y, T::from_bits64(u64::from_le_bytes(bits))) };
            }
            Ok(())
        })?;
        Ok(grid.vertices())
    }

    /// Coded content.
    fn coded<T: Real>(
        &self,
        stream: &[u8],
        to: &[ViewMut<'_, T>; 3],
        threads: Threads,
        progress: Option<Progress<'_>>,
    ) -> Result<u64> {
        let header = &self.header;
        let grid = header.grid();
        let sections::Sections { tables, groups } = sections::split(header, stream)?;
        let list = Listed {
            positions: Positions::Volume(grid),
            may_be_filled: true,
            chunks: self.fields.chunks,
            vertices: self.fields.repaired_vertices,
            exact: self.fields.exact_vertices,
            body: &stream[header.end_of_groups() as usize..],
        };
        let list = list.check::<T, 3>(threads)?;
        let tiles = VolumeGrid::of(grid);
        let meter = Meter::new(progress, 2 * tiles.tiles());
        let bytes = source::Source::Memory(stream).fetch(groups.iter().map(Group::padded))?;
        let coding = TileCoding::of_volume(T::BYTES);
        let coder = header.coder;
        let coded = Groups { coder, grid: tiles, coding, tables: &tables, groups: &groups, bytes: &bytes };
        let parts = entropy::decode(&coded, threads, &meter, |_, codes, _| Ok(codes))?;
        let mut quantized = memory::with_capacity::<QuantizedTile>(tiles.tiles() as usize)?;
        parts.into_iter().for_each(|mut part| quantized.append(&mut part));
        self.reconstruct(&quantized, &list, to, (threads, &meter))?;
        Ok(self.fields.exact_vertices)
    }

    fn reconstruct<T: Real>(
        &self,
        quantized: &[QuantizedTile],
        list: &CheckedList<'_>,
        to: &[ViewMut<'_, T>; 3],
        (threads, meter): (Threads, &Meter<'_>),
    ) -> Result<()> {
        let (header, grid) = (&self.header, self.header.grid());
        let hidden = self.hidden::<T>(list, threads)?;
        let widths = (header.absolute_bound, header.half_bin_width);
        let layer = Layer::<T>::new(grid, widths, header.level_bound_scaling, &header.interpolants);
        let row = || memory::filled(grid.vertices() as usize, T::ZERO);
        let mut values = [row()?, row()?, row()?];
        layer.reconstruct(quantized, &hidden, &Reconstruction::new(grid, &mut values), (threads, meter))?;
        copy(grid, &values, to, threads)?;
        let mut shifts = memory::with_capacity(quantized.len())?;
        shifts.extend(quantized.iter().map(|tile| tile.bound_shift() as u8));
        let radii = layer.radii(&shifts);
        let fill = [header.fill[0], header.fill[1], self.fields.fill_w].map(T::from_bits64);
        let put = |vertex: ListedVertex<3>| {
            let [x, y] = vertex.at;
            let number = grid.number([x as i64, y as i64, vertex.z as i64]);
            for (component, view) in to.iter().enumerate() {
                let data = vertex.data[component];
                let value = match vertex.level {
                    EXACT => T::from_bits64(data),
                    ZERO => T::ZERO,
                    FILLED => fill[component],
                    k => radii.refiner(number).value(k, values[component][number as usize], data as u32),
                };
                // SAFETY: vertices of one kind are handed out once, and kinds follow one another.
                unsafe { view.plane(vertex.z).set(x, y, value) };
            }
        };
        list.for_each::<T, 3>(None, threads, put)?;
        list.for_each::<T, 3>(Some(FILLED), threads, put)?;
        list.for_each::<T, 3>(Some(ZERO), threads, put)
    }

    /// Vertices without a code: zero and filled ones.
    fn hidden<T: Real>(&self, list: &CheckedList<'_>, threads: Threads) -> Result<Hidden> {
        let grid = self.header.grid();
        let hidden = Hidden::new(grid, list.has_constant_chunks())?;
        for level in [ZERO, FILLED] {
            list.for_each::<T, 3>(Some(level), threads, |vertex| {
                let [x, y] = vertex.at.map(|k| k as i64);
                hidden.hide(grid.number([x, y, vertex.z as i64]));
            })?;
        }
        Ok(hidden)
    }
}

/// Copies dense arrays to views.
fn copy<T: Real>(grid: Grid, from: &[Vec<T>; 3], to: &[ViewMut<'_, T>; 3], threads: Threads) -> Result<()> {
    threads.for_each((grid.ny * grid.nz) as usize, stateless, |_, row| {
        let (y, z, first) = (row as u64 % grid.ny, row as u64 / grid.ny, row * grid.nx as usize);
        for (view, values) in to.iter().zip(from) {
            // SAFETY: each row is one piece of work.
            unsafe { view.plane(z).write_row(0, y, &values[first..first + grid.nx as usize]) };
        }
        Ok(())
    })
}
