//! Verify and repair (docs/algorithm.md, section 13): a *fix* beside the stream of any compressor makes its
//! reconstruction keep what factz promises.
//!
//! `survey` compares the reconstruction with the bound, `triangles` and `tetrahedra` find the violated simplices
//! of planes and volumes, and `rounds` refines vertices until there are none. The rounds know a mesh by its
//! corners and stars alone (`mesh`), and `values` has the values that a vertex may take. `header`, `list` and
//! `bits` are the format of a fix, `encode` writes it, `protect` does one after the other, and `apply` reads it.

mod apply;
mod bits;
pub mod encode;
pub mod header;
pub mod list;
pub mod mesh;
mod protect;
pub mod read;
pub mod rounds;
mod row;
mod survey;
pub mod tetrahedra;
mod triangles;
pub mod values;

use crate::analysis::{guarded, range};
use crate::cpu::statistics::statistics;
use crate::cpu::Execution;
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::grid::missing::Missing;
use crate::predict::quantizer::ErrorBound;
use crate::report::{FixInfo, FixReport};
use crate::request::{BoundKind, Config, Request, VolumeRequest};
use crate::runtime::pool::Threads;
use header::Header;
use protect::{report_of, Job};
use tetrahedra::Tetrahedra;
use triangles::Triangles;

/// Names of the components, of the original and of the reconstruction.
const NAMES: [[&str; 3]; 2] = [["u", "v", "w"], ["other_u", "other_v", "other_w"]];

/// Bytes that hold any fix of a field with this configuration, whatever its values: those that hold any
/// stream of it.
pub fn max_fix_bytes(request: &Request) -> u64 {
    header::max_fix_bytes(2, request.field_bytes())
}

/// [`max_fix_bytes`] of a volume.
pub fn max_volume_fix_bytes(request: &VolumeRequest) -> u64 {
    header::max_fix_bytes(3, request.field_bytes())
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
    check_pair(request, &original, &other)?;
    let threads = Threads::new(execution.threads);
    guarded(|| {
        let bound = match request.config().bound_kind {
            BoundKind::Absolute => request.config().bound,
            BoundKind::Relative => range(request, original, threads.count())?.bound(request),
        };
        let job = Job { request, original, other, bound, threads };
        job.protect(dst, |radius| Triangles::new(request, original, radius))
    })
}

/// [`protect`] for a volume: its tetrahedra keep what the request asks for ([`apply_volume`]).
pub fn protect_volume<T: Real>(
    request: &VolumeRequest,
    original: [View<'_, T>; 3],
    other: [View<'_, T>; 3],
    dst: &mut [u8],
    execution: Execution<'_>,
) -> Result<FixReport> {
    check_pair(request.common(), &original, &other)?;
    let (config, threads) = (request.config(), Threads::new(execution.threads));
    guarded(|| {
        let bound = match config.bound_kind {
            BoundKind::Absolute => config.bound,
            BoundKind::Relative => {
                let missing = Missing::new::<T>(config.fill_value);
                let range = statistics(request.grid(), original, missing, threads)?.range;
                ErrorBound::new(config, range).absolute
            }
        };
        let job = Job { request: request.common(), original, other, bound, threads };
        job.protect(dst, |radius| Tetrahedra::new(request, original, radius))
    })
}

/// Refuses views of other elements, and those that do not cover the grid: with its halo in the original.
fn check_pair<T: Real, const N: usize>(
    request: &Request,
    original: &[View<'_, T>; N],
    other: &[View<'_, T>; N],
) -> Result<()> {
    let config = request.config();
    config.check_elements::<T>()?;
    for (names, views, halo) in [(NAMES[0], original, config.halo), (NAMES[1], other, 0)] {
        for (name, view) in names.into_iter().zip(views) {
            view.check_covers(name, request.grid(), halo)?;
        }
    }
    Ok(())
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
    apply_to(config, fix, &[u, v], execution)
}

/// [`apply`] for a volume.
pub fn apply_volume<T: Real>(
    config: &Config,
    fix: &[u8],
    components: [ViewMut<'_, T>; 3],
    execution: Execution<'_>,
) -> Result<FixReport> {
    apply_to(config, fix, &components, execution)
}

fn apply_to<T: Real, const N: usize>(
    config: &Config,
    fix: &[u8],
    field: &[ViewMut<'_, T>; N],
    execution: Execution<'_>,
) -> Result<FixReport> {
    let header = Header::read(fix)?;
    config.check_elements::<T>()?;
    if header.components as usize != N {
        return Err(Error::argument(match header.components {
            3 => "the fix belongs to a volume of u, v and w: call the function for volumes",
            _ => "the fix belongs to planes of u and v: call the function for planes",
        }));
    }
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
    for (name, view) in NAMES[0].into_iter().zip(field) {
        view.check_covers(name, grid)?;
    }
    let threads = Threads::new(execution.threads);
    guarded(|| apply::Source::new(header, fix)?.apply(field, threads))?;
    Ok(report_of(&header))
}

/// Reads the header of a fix from its first bytes (as many as those of a stream of such a field suffice).
pub fn inspect_fix(fix: &[u8]) -> Result<FixInfo> {
    Ok(Header::read(fix)?.info())
}

/// Whether bytes begin like a fix.
pub fn is_fix(bytes: &[u8]) -> bool {
    bytes.starts_with(&header::MAGIC)
}

#[cfg(test)]
mod tests {
    use super::mesh::Mesh;
    use super::rounds::{Repair, BOUNDED_ROUNDS, SINGLE_ROUNDS};
    use super::survey::Pair;
    use super::values::{Refiner, Values};
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
            let missing = Missing::new::<f64>(None);
            let mesh = Tetrahedra { grid, original, missing, rule, radius: survey.radius, halo: 0, pin: 0 };
            let kinds = [0, SINGLE_ROUNDS, SINGLE_ROUNDS + BOUNDED_ROUNDS].map(|first| (first, 0));
            let rounds = [kinds.as_slice(), &[(0, 200)]].concat().into_iter().map(|(first, few)| {
                let values = Values::new(grid, original, other, (bound, &refiner)).unwrap();
                survey.restored.iter().for_each(|&(vertex, level)| values.set_level(vertex, level));
                let counts = Repair::run_from(first, few, &mesh, &values, threads).unwrap();
                assert!(
                    mesh.violated(&values, threads).unwrap().concat().is_empty(),
                    "from round {first} on"
                );
                assert!(counts.violated > 1000, "{counts:?}");
                counts.rounds
            });
            let rounds: Vec<u64> = rounds.collect();
            assert!(rounds[3] < rounds[0], "with few simplices they end sooner: {rounds:?}");
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
            let grid = request.grid();
            let pair = Pair { grid, original, other, missing: Missing::new::<f64>(None), bound, pin: 0 };
            let survey = pair.survey(threads).unwrap();
            let refiner = Refiner { radius: survey.radius };
            let values = Values::new(request.grid(), original, other, (bound, &refiner)).unwrap();
            survey.restored.iter().for_each(|&(vertex, level)| values.set_level(vertex, level));
            let mesh = Triangles::new(&request, original, survey.radius);
            let counts = Repair::run_from(first, 0, &mesh, &values, threads).unwrap();
            assert!(mesh.violated(&values, threads).unwrap().concat().is_empty(), "from round {first} on");
            changes.push((counts.violated, counts.rounds));
        }
        // The last kind of rounds has one for each doubling of six tiles, at most.
        assert!(changes[0].0 > 1000 && (1..=4).contains(&changes[2].1), "{changes:?}");
    }
}
