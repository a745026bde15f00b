//! Verify and repair (docs/algorithm.md, section 13): a *fix* beside the stream of any compressor makes its
//! reconstruction keep what factz promises.
//!
//! `survey` compares the reconstruction with the bound, `triangles` finds the violated triangles, and
//! `rounds` refines vertices until there are none. The rounds know a mesh by its corners and stars alone
//! (`mesh`), and `values` has the values that a vertex may take. `header`, `list` and `bits` are the format
//! of a fix, `encode` writes it, and `apply` reads it.

mod apply;
mod bits;
pub mod encode;
mod header;
pub mod list;
mod mesh;
pub mod read;
pub mod rounds;
mod row;
mod survey;
pub mod tetrahedra;
mod triangles;
pub mod values;

use crate::analysis::{guarded, range};
use crate::cpu::Execution;
use crate::error::{Error, Result, Status};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::grid::missing::{fill_bits, Missing};
use crate::grid::sides::periodic_sides;
use crate::predict::quantizer::round_up;
use crate::report::{FixInfo, FixReport};
use crate::request::{BoundKind, Config, Preserve, Request};
use crate::runtime::log::event;
use crate::runtime::pool::Threads;
use crate::tile::constraints::Constraints;
use crate::topology::signature::Rule;
use encode::{encode_lists, Lists};
use header::{Content, Header};
use list::Positions;
use mesh::Mesh;
use rounds::{Counts, Repair};
use survey::{Pair, Survey};
use triangles::Triangles;
use values::{Refiner, Values};

/// Bytes that hold any fix of a field with this configuration, whatever its values: those that hold any
/// stream of it.
pub fn max_fix_bytes(request: &Request) -> u64 {
    header::max_fix_bytes(request.field_bytes())
}

/// Makes a fix in `dst`: with it the reconstruction `other` of a field, by any compressor, keeps what the
/// request asks for ([`apply`]).
///
/// Of the request the choices of codes have no effect. The views of the field cover its grid and its halo,
/// those of the reconstruction the grid. The reconstruction must be within the bound; the error says where it
/// is not. The status of the report is `BufferTooSmall` (and `required_bytes` says what it takes) when `dst`
/// is too short; nothing useful is in `dst` then. The fix does not depend on the number of threads.
pub fn protect<T: Real>(
    request: &Request,
    original: [View<'_, T>; 2],
    other: [View<'_, T>; 2],
    dst: &mut [u8],
    execution: Execution<'_>,
) -> Result<FixReport> {
    let (config, grid) = (request.config(), request.grid());
    config.check_elements::<T>()?;
    for (name, view, halo) in [
        ("u", original[0], config.halo),
        ("v", original[1], config.halo),
        ("other_u", other[0], 0),
        ("other_v", other[1], 0),
    ] {
        view.check_covers(name, grid, halo)?;
    }
    let threads = Threads::new(execution.threads);
    guarded(|| {
        let (survey, bound) = survey_of(request, original, other, threads)?;
        let refiner = Refiner { radius: survey.radius };
        let values = Values::new(grid, original, other, (bound, &refiner))?;
        let counts = repair(request, &values, &survey, threads)?;
        let lists = Lists::of(&values, Positions::Planes(grid), threads)?;
        let fix = encode_lists(&values, &lists, blank_header::<T>(request, &survey, bound), threads)?;
        let mut report = report_of(&fix.header);
        (report.violated_triangles, report.rounds) = (counts.violated, counts.rounds);
        match dst.get_mut(..report.required_bytes as usize) {
            Some(dst) => fix.write(&values, dst),
            None => (report.status, report.fix_bytes) = (Status::BufferTooSmall, 0),
        }
        event!(DEBUG, "repaired", rounds = counts.rounds, changes = counts.changes);
        event!(INFO, "protected", bytes = report.required_bytes, repaired = report.repaired_vertices);
        Ok(report)
    })
}

/// The survey of a reconstruction, and the absolute bound.
fn survey_of<T: Real>(
    request: &Request,
    original: [View<'_, T>; 2],
    other: [View<'_, T>; 2],
    threads: Threads,
) -> Result<(Survey, f64)> {
    let (config, grid) = (request.config(), request.grid());
    let bound = match config.bound_kind {
        BoundKind::Absolute => config.bound,
        BoundKind::Relative => range(request, original, threads.count())?.bound(request),
    };
    let missing = Missing::new::<T>(config.fill_value);
    Ok((Pair { grid, original, other, missing, bound, pin: config.pin }.survey(threads)?, bound))
}

/// Gives all vertices the levels with which the field keeps what it must.
fn repair<T: Real>(
    request: &Request,
    values: &Values<'_, T, 2>,
    survey: &Survey,
    threads: Threads,
) -> Result<Counts> {
    let config = request.config();
    for &(vertex, level) in &survey.restored {
        values.set_level(vertex, level);
    }
    let mesh = triangles(request, values, survey.radius);
    mesh.on_sides(|vertex| {
        if !mesh.is_missing(values.original(vertex)) {
            values.keep_below(vertex, mesh.border_bound(vertex));
        }
    });
    match config.preserve {
        Preserve::None => Ok(Counts::default()),
        Preserve::Points | Preserve::Types => Repair::run(&mesh, values, threads),
    }
}

/// The triangles of a field, with what they must keep.
fn triangles<'a, T: Real>(request: &Request, values: &Values<'a, T, 2>, radius: f64) -> Triangles<'a, T> {
    let config = request.config();
    let constraints = Constraints {
        mode: config.mode,
        preserve: config.preserve,
        rule: Rule::of(config),
        bound: radius,
        bound_up: round_up(radius),
        halo: config.halo | periodic_sides(config.periodic),
        pin: config.pin,
        bounds_on_demand: false,
        missing: Missing::new::<T>(config.fill_value),
        fill: None,
    };
    Triangles { grid: request.grid(), original: values.original, constraints, halo: config.halo }
}

/// The header without the numbers that depend on the list.
fn blank_header<T: Real>(request: &Request, survey: &Survey, bound: f64) -> Header {
    let c = request.config();
    Header {
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
        absolute_bound: bound,
        radius: survey.radius,
        dx: c.dx,
        dy: c.dy,
        fill: c.fill_value.map(|value| fill_bits(T::BYTES, value)),
        repaired_vertices: 0,
        fix_bytes: 0,
        chunks: 0,
    }
}

fn report_of(header: &Header) -> FixReport {
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

/// Applies a fix to the reconstruction in u and v that it was made for; any other one is refused. `config`
/// gives nx, ny, nz and dtype, which must be those of the fix; the rest of it is ignored. `fix` may be longer
/// than the fix it begins with. If the call fails, u and v keep their values.
pub fn apply<T: Real>(
    config: &Config,
    fix: &[u8],
    u: ViewMut<'_, T>,
    v: ViewMut<'_, T>,
    execution: Execution<'_>,
) -> Result<FixReport> {
    let header = Header::read(fix)?;
    config.check_elements::<T>()?;
    if header.dtype != config.dtype {
        return Err(Error::argument(format!(
            "dtype = {:?} but the fix belongs to {:?} values",
            config.dtype, header.dtype
        )));
    }
    let grid = header.grid();
    if (grid.nx, grid.ny, grid.nz) != (config.nx, config.ny, config.nz) {
        return Err(Error::argument(format!(
            "nx = {}, ny = {} and nz = {} but the fix belongs to {} x {} x {} vertices",
            config.nx, config.ny, config.nz, grid.nx, grid.ny, grid.nz
        )));
    }
    u.check_covers("u", grid)?;
    v.check_covers("v", grid)?;
    let threads = Threads::new(execution.threads);
    guarded(|| apply::Source::new(header, fix)?.apply(&[u, v], threads))?;
    Ok(report_of(&header))
}

/// Reads the header of a fix from its first bytes (as many as those of a stream suffice).
pub fn inspect_fix(fix: &[u8]) -> Result<FixInfo> {
    Ok(Header::read(fix)?.info())
}

/// Whether bytes begin like a fix.
pub fn is_fix(bytes: &[u8]) -> bool {
    bytes.starts_with(&header::MAGIC)
}

#[cfg(test)]
mod tests {
    use super::rounds::{BOUNDED_ROUNDS, SINGLE_ROUNDS};
    use super::tetrahedra::Tetrahedra;
    use super::*;
    use crate::grid::tiles::{Grid, PERIODIC_Z};
    use crate::random::Random;
    use crate::request::Ties;
    use crate::topology::tetrahedron::VolumeRule;

    /// As below, for the tetrahedra of a volume.
    #[test]
    fn all_kinds_of_rounds_settle_every_tetrahedron() {
        let grid = Grid { nz: 11, periodic: PERIODIC_Z, ..Grid::new(14, 12) };
        let mut random = Random(4);
        let components: [Vec<f64>; 3] = [0; 3].map(|_| {
            let value = |random: &mut Random| match random.below(4) {
                0 => random.below(5) as f64 - 2.0,
                _ => random.signed(),
            };
            (0..grid.vertices()).map(|_| value(&mut random)).collect()
        });
        let bound = 0.4;
        let others =
            components.each_ref().map(|c| c.iter().map(|x| (x / bound).round() * bound).collect::<Vec<_>>());
        let [original, other] =
            [&components, &others].map(|field| field.each_ref().map(|c| View::stack(c, 14, 12)));
        let threads = Threads::new(2);
        let survey = Pair { grid, original, other, missing: Missing::new::<f64>(None), bound, pin: 0 }
            .survey(threads)
            .unwrap();
        let refiner = Refiner { radius: survey.radius };
        for ties in [Ties::All, Ties::Zeros] {
            let rule = VolumeRule { types: true, ties, spacing: [1.0, -1.0, 2.0] };
            let mesh = Tetrahedra { grid, missing: Missing::new::<f64>(None), rule, radius: survey.radius };
            for first in [0, SINGLE_ROUNDS, SINGLE_ROUNDS + BOUNDED_ROUNDS] {
                let values = Values::new(grid, original, other, (bound, &refiner)).unwrap();
                survey.restored.iter().for_each(|&(vertex, level)| values.set_level(vertex, level));
                let counts = Repair::run_from(first, &mesh, &values, threads).unwrap();
                assert!(
                    mesh.violated(&values, threads).unwrap().concat().is_empty(),
                    "from round {first} on"
                );
                assert!(counts.violated > 1000, "{counts:?}");
            }
        }
    }

    /// The rules of later rounds end as well, whichever of them is the first one.
    #[test]
    fn all_kinds_of_rounds_settle_every_triangle() {
        let (nx, ny) = (70, 60);
        let mut random = Random(3);
        let [u, v]: [Vec<f64>; 2] = [0, 1].map(|_| {
            let value = |random: &mut Random| match random.below(4) {
                0 => random.below(5) as f64 - 2.0,
                _ => random.signed(),
            };
            (0..nx * ny).map(|_| value(&mut random)).collect()
        });
        let bound = 0.4;
        let bins = |c: &Vec<f64>| c.iter().map(|x| (x / bound).round() * bound).collect::<Vec<_>>();
        let (u1, v1) = (bins(&u), bins(&v));
        let config =
            Config { dtype: crate::request::Dtype::F64, ..Config::new(nx, ny, BoundKind::Absolute, bound) };
        let request = Request::new(config).unwrap();
        let [original, other] = [[&u, &v], [&u1, &v1]].map(|field| field.map(|c| View::dense(c, nx)));
        let mut changes = Vec::new();
        for first in [0, SINGLE_ROUNDS, SINGLE_ROUNDS + BOUNDED_ROUNDS] {
            let threads = Threads::new(2);
            let (survey, bound) = survey_of(&request, original, other, threads).unwrap();
            let refiner = Refiner { radius: survey.radius };
            let values = Values::new(request.grid(), original, other, (bound, &refiner)).unwrap();
            survey.restored.iter().for_each(|&(vertex, level)| values.set_level(vertex, level));
            let mesh = triangles(&request, &values, survey.radius);
            let counts = Repair::run_from(first, &mesh, &values, threads).unwrap();
            assert!(mesh.violated(&values, threads).unwrap().concat().is_empty(), "from round {first} on");
            changes.push((counts.violated, counts.rounds));
        }
        // The last kind of rounds has one for each doubling of six tiles, at most.
        assert!(changes[0].0 > 1000 && (1..=4).contains(&changes[2].1), "{changes:?}");
    }
}
