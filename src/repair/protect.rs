//! Making a fix: survey, rounds, encoding.

use super::encode::{encode_lists, Lists};
use super::header::{Content, Header};
use super::mesh::Mesh;
use super::rounds::{Counts, Repair};
use super::survey::{Pair, Survey};
use super::values::{Refiner, Values};
use crate::error::{Result, Status};
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::{fill_bits, Missing};
use crate::report::FixReport;
use crate::request::{Preserve, Request};
use crate::runtime::log::event;
use crate::runtime::pool::Threads;

/// A field of N components, and its reconstruction by another compressor.
pub struct Job<'a, T, const N: usize> {
    pub request: &'a Request,
    pub original: [View<'a, T>; N],
    pub other: [View<'a, T>; N],
    /// The absolute error bound.
    pub bound: f64,
    pub threads: Threads,
}

impl<T: Real, const N: usize> Job<'_, T, N> {
    /// Makes a fix in `dst`; `mesh` makes the mesh for the largest error of the reconstruction.
    pub fn protect<M: Mesh<T, N, V>, const V: usize>(
        &self,
        dst: &mut [u8],
        mesh: impl FnOnce(f64) -> M,
    ) -> Result<FixReport> {
        let (request, threads) = (self.request, self.threads);
        let survey = self.survey()?;
        let refiner = Refiner { radius: survey.radius };
        let values = Values::new(request.grid(), self.original, self.other, (self.bound, &refiner))?;
        survey.restored.iter().for_each(|&(vertex, level)| values.set_level(vertex, level));
        let mesh = mesh(survey.radius);
        mesh.keep_border(&values);
        let counts = match request.config().preserve {
            Preserve::None => Counts::default(),
            Preserve::Points | Preserve::Types => Repair::run(&mesh, &values, 0, threads)?,
        };
        let header = self.blank_header(&survey);
        let lists = Lists::of(&values, header.positions(), threads)?;
        let fix = encode_lists(&values, &lists, header, threads)?;
        let mut report = report_of(&fix.header);
        (report.violated_triangles, report.rounds) = (counts.violated, counts.rounds);
        match dst.get_mut(..report.required_bytes as usize) {
            Some(dst) => fix.write(&values, dst),
            None => (report.status, report.fix_bytes) = (Status::BufferTooSmall, 0),
        }
        event!(DEBUG, "repaired", rounds = counts.rounds, changes = counts.changes);
        event!(INFO, "protected", bytes = report.required_bytes, repaired = report.repaired_vertices);
        Ok(report)
    }

    fn survey(&self) -> Result<Survey> {
        let config = self.request.config();
        let (original, other, bound) = (self.original, self.other, self.bound);
        let missing = Missing::new::<T>(config.fill_value);
        let pair = Pair { grid: self.request.grid(), original, other, missing, bound, pin: config.pin };
        pair.survey(self.threads)
    }

    /// The header without the numbers that depend on the list.
    fn blank_header(&self, survey: &Survey) -> Header {
        let c = self.request.config();
        Header {
            components: N as u8,
            dtype: c.dtype,
            preserve: c.preserve,
            bound_kind: c.bound_kind,
            ties: c.ties,
            content: Content::List,
            periodic: c.periodic as u8,
            reconstruction: survey.checksum,
            exact_vertices: 0,
            nx: c.nx,
            ny: c.ny,
            nz: c.nz as u32,
            bound: c.bound,
            absolute_bound: self.bound,
            radius: survey.radius,
            dx: c.dx,
            dy: c.dy,
            dz: if N == 3 { c.dz } else { 1.0 },
            fill: c.fill_value.map(|value| fill_bits(T::BYTES, value)),
            repaired_vertices: 0,
            fix_bytes: 0,
            chunks: 0,
        }
    }
}

/// The report of a fix with this header.
pub fn report_of(header: &Header) -> FixReport {
    FixReport {
        fix_bytes: header.fix_bytes,
        required_bytes: header.fix_bytes,
        repaired_vertices: header.repaired_vertices,
        exact_vertices: header.exact_vertices,
        bound: header.absolute_bound,
        max_error: header.radius,
        ..FixReport::default()
    }
}
