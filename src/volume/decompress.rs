//! Decompression of a region of a volume: parse -> decode -> reconstruct layer 1 -> repaired vertices.

use super::layer::{Hidden, Layer};
use crate::cpu::entropy::{self, Groups};
use crate::cpu::progress::{Meter, Progress};
use crate::cpu::source::{Fetched, Source};
use crate::cpu::stored;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::volume_tiles::VolumeGrid;
use crate::repair::list::Positions;
use crate::repair::read::{CheckedList, Listed, ListedVertex};
use crate::repair::values::{Radii, EXACT, FILLED, ZERO};
use crate::report::Report;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::header::{Content, Header, VolumeFields};
use crate::stream::region::Region;
use crate::stream::sections::{self, Group};
use crate::tile::volume::Reconstruction;
use std::iter::once;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How a region is decompressed.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    /// Of the stream, which has all bytes that the header says.
    pub(super) header: &'a Header,
    pub(super) fields: &'a VolumeFields,
    pub(super) region: Region,
    /// Whether the checksum is compared if all bytes are read.
    pub(super) verify_checksum: bool,
    pub(super) threads: Threads,
    pub(super) progress: Option<Progress<'a>>,
}

/// Decompresses a region, to views of its shape.
pub(super) fn decompress<T: Real>(
    job: &Job<'_>,
    source: Source<'_>,
    to: &[ViewMut<'_, T>; 3],
) -> Result<Report> {
    let Job { header, region, threads, .. } = *job;
    let (bytes, exact_vertices) = match header.content {
        Content::Stored => {
            let to = to.each_ref().map(Some);
            let bytes = stored::read(header, region, source, &to, (job.verify_checksum, threads))?;
            (bytes, region.vertices())
        }
        Content::Coded => job.coded(source, to)?,
    };
    Ok(Report {
        stream_bytes: bytes,
        required_bytes: header.stream_bytes,
        bound: header.absolute_bound,
        exact_vertices,
        ..Report::default()
    })
}

impl Job<'_> {
    /// Coded content: the groups that have tiles of the region, and the chunks of the list that have vertices of
    /// these tiles. Returns how many bytes were read, and how many vertices of the region are exact.
    fn coded<T: Real>(&self, mut source: Source<'_>, to: &[ViewMut<'_, T>; 3]) -> Result<(u64, u64)> {
        let Job { header, region, threads, .. } = *self;
        let before_groups = sections::bytes_before_groups(header)?;
        let start = source.start(before_groups)?;
        let sections::Sections { tables, mut groups } = sections::split(header, &start)?;
        let (all, list) = (groups.len(), self.list());
        groups.retain(|group| region.takes_from(group.tiles.clone()));
        let directory = header.end_of_groups()..header.end_of_groups() + list.directory_bytes()?;
        let takes_all = groups.len() == all;
        let fetched = if takes_all {
            source.fetch(once(before_groups..header.stream_bytes))?
        } else {
            source.fetch(groups.iter().map(Group::padded).chain(once(directory.clone())))?
        };
        if takes_all && self.verify_checksum {
            fetched.check_seal(&start, header.stream_bytes)?;
        }
        let mut chunks = list.read_directory(fetched.get(directory.clone()))?;
        let in_stream = |bytes: Range<u64>| directory.start + bytes.start..directory.start + bytes.end;
        let mut fetched_list = None;
        if !takes_all {
            chunks.retain(|tiles| region.takes_from(tiles));
            fetched_list = Some(source.fetch(chunks.ranges().map(in_stream))?);
        }
        let bytes_of_list = fetched_list.as_ref().unwrap_or(&fetched);
        let list = chunks.check::<T, 3>(|bytes| bytes_of_list.get(in_stream(bytes)), threads)?;
        let exact = self.tiles(&tables, (&groups, &fetched), &list, to)?;
        let lengths = groups.iter().map(Group::padded).chain(once(directory.clone())).chain(chunks.ranges());
        Ok((before_groups + lengths.map(|bytes| bytes.end - bytes.start).sum::<u64>(), exact))
    }

    /// The list of repaired vertices.
    fn list(&self) -> Listed {
        Listed {
            positions: Positions::Volume(self.header.grid()),
            may_be_filled: true,
            chunks: self.fields.chunks,
            vertices: self.fields.repaired_vertices,
            exact: self.fields.exact_vertices,
            bytes: self.fields.list_bytes,
        }
    }

    /// Decodes the tiles that the region takes, and reconstructs it.
    fn tiles<T: Real>(
        &self,
        tables: &[&[u8]],
        (groups, bytes): (&[Group], &Fetched<'_>),
        list: &CheckedList<'_>,
        to: &[ViewMut<'_, T>; 3],
    ) -> Result<u64> {
        let Job { header, region, threads, .. } = *self;
        let in_groups: u64 = groups.iter().map(|group| group.tiles.end - group.tiles.start).sum();
        let meter = Meter::new(self.progress, in_groups + region.tiles());
        let (coding, grid) = (TileCoding::of_volume(T::BYTES), VolumeGrid::of(header.grid()));
        let coded = Groups { coder: header.coder, grid, coding, tables, groups, bytes };
        let parts = entropy::decode(&coded, threads, &meter, |tiles, mut codes, _| {
            let mut of_region = tiles.map(|tile| region.takes(tile));
            codes.retain(|_| of_region.next().expect("codes for each tile"));
            Ok(codes)
        })?;
        let mut quantized = memory::with_capacity::<QuantizedTile>(region.tiles() as usize)?;
        parts.into_iter().for_each(|mut part| quantized.append(&mut part));
        self.reconstruct(&quantized, list, to, &meter)
    }

    /// Reconstructs the part of the volume that the tiles cover, and writes the region; how many of its vertices are
    /// exact.
    fn reconstruct<T: Real>(
        &self,
        quantized: &[QuantizedTile],
        list: &CheckedList<'_>,
        to: &[ViewMut<'_, T>; 3],
        meter: &Meter<'_>,
    ) -> Result<u64> {
        let Job { header, region, threads, .. } = *self;
        let (part, in_part) = (region.part(), region.in_part());
        let hidden = self.hidden::<T>(list)?;
        let widths = (header.absolute_bound, header.half_bin_width);
        let layer = Layer::<T>::new(part, widths, header.level_bound_scaling, &header.interpolants);
        let row = || memory::filled(part.vertices() as usize, T::ZERO);
        let mut values = [row()?, row()?, row()?];
        let has_interior = |tile: usize| in_part.covers(tile as u64);
        let reconstruction = Reconstruction::new(part, &mut values);
        layer.reconstruct((quantized, has_interior), &hidden, &reconstruction, (threads, meter))?;
        copy(in_part, &values, to, threads)?;
        let mut shifts = memory::with_capacity(quantized.len())?;
        shifts.extend(quantized.iter().map(|tile| tile.bound_shift() as u8));
        let radii = layer.radii(&shifts);
        let fill = [header.fill[0], header.fill[1], self.fields.fill_w].map(T::from_bits64);
        let exact = AtomicU64::new(0);
        let put = |vertex: ListedVertex<3>| {
            let Some([x, y, z]) = region.place(vertex.at) else { return };
            let number = part.number([0, 1, 2].map(|axis| (in_part.first[axis] + [x, y, z][axis]) as i64));
            if vertex.level == EXACT {
                exact.fetch_add(1, Relaxed);
            }
            for (component, view) in to.iter().enumerate() {
                let data = vertex.data[component];
                let value = match vertex.level {
                    EXACT => T::from_bits64(data),
                    ZERO => T::ZERO,
                    FILLED => fill[component],
                    k => radii.refiner(number).value(k, values[component][number as usize], data as u32),
                };
                // SAFETY: vertices of one kind are handed out once, and kinds follow one another.
                unsafe { view.plane(z).set(x, y, value) };
            }
        };
        list.for_each::<T, 3>(None, threads, put)?;
        list.for_each::<T, 3>(Some(FILLED), threads, put)?;
        list.for_each::<T, 3>(Some(ZERO), threads, put)?;
        Ok(exact.into_inner())
    }

    /// Vertices of the part without a code: zero and filled ones.
    fn hidden<T: Real>(&self, list: &CheckedList<'_>) -> Result<Hidden> {
        let part = self.region.part();
        let hidden = Hidden::new(part, list.has_constant_chunks())?;
        for level in [ZERO, FILLED] {
            list.for_each::<T, 3>(Some(level), self.threads, |vertex| {
                if let Some(at) = self.region.place_in_part(vertex.at) {
                    hidden.hide(part.number(at.map(|k| k as i64)));
                }
            })?;
        }
        Ok(hidden)
    }
}

/// Copies a region of dense arrays to views.
fn copy<T: Real>(
    region: Region,
    from: &[Vec<T>; 3],
    to: &[ViewMut<'_, T>; 3],
    threads: Threads,
) -> Result<()> {
    let ([nx, ny, nz], [x0, y0, z0], grid) = (region.size, region.first, region.grid());
    threads.for_each((ny * nz) as usize, stateless, |_, row| {
        let (y, z) = (row as u64 % ny, row as u64 / ny);
        let first = grid.number([x0, y0 + y, z0 + z].map(|k| k as i64)) as usize;
        for (view, values) in to.iter().zip(from) {
            // SAFETY: each row is one piece of work.
            unsafe { view.plane(z).write_row(0, y, &values[first..first + nx as usize]) };
        }
        Ok(())
    })
}
