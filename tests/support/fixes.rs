//! Fields with their reconstructions by lossy methods, and the fixes that the library makes for them.

// Each test uses its part of it.
#![allow(dead_code)]

use super::fields::{dtype, volume, Random, Volume};
use factz::{
    apply, apply_volume, max_fix_bytes, max_volume_fix_bytes, protect, protect_volume, BoundKind, Config,
    Error, Execution, FixReport, Layout, Preserve, Real, Request, Ties, View, ViewMut, VolumeRequest,
    PERIODIC_X, PERIODIC_Y, PERIODIC_Z, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN, SIDE_Z_MAX,
    SIDE_Z_MIN,
};

/// Planes or a volume, a reconstruction, and what a fix is to keep. Of planes the third component is not
/// used.
pub struct FixCase<T> {
    /// Of the original, with its layout.
    pub config: Config,
    pub is_volume: bool,
    /// The original with its ghosts; the first vertex is element `first`.
    pub original: Volume<T>,
    pub first: usize,
    /// The reconstruction, without ghosts.
    pub other: Volume<T>,
}

/// Sides of planes and of volumes with ghosts, in turn.
const HALOS: [[u32; 3]; 2] = [
    [SIDE_X_MIN | SIDE_Y_MAX, SIDE_X_MAX, SIDE_Y_MIN | SIDE_Y_MAX],
    [SIDE_X_MIN | SIDE_Y_MIN | SIDE_Z_MAX, SIDE_Z_MIN, SIDE_X_MAX | SIDE_Y_MAX],
];

impl<T: Real> FixCase<T> {
    /// The case with this number: fields, lossy methods, bounds, rules and sides in turn.
    pub fn new(k: usize, shape: [u64; 3], is_volume: bool) -> Self {
        let original = volume::<T>(shape, [3, 0, 5, 1, 4][k % 5]);
        let [nx, ny, nz] = shape;
        let layout = Layout { pitch: nx, stride: 1, plane: nx * ny };
        let absolute = [0.4, 0.05, 0.9, 1e-3][k / 2 % 4];
        let blank = match is_volume {
            true => Config::volume(shape, BoundKind::Absolute, absolute),
            false => Config { nz, ..Config::new(nx, ny, BoundKind::Absolute, absolute) },
        };
        let axes = if is_volume { 3 } else { 2 };
        let has_sides = shape[..axes].iter().all(|&n| n > 4) && (is_volume || nz == 1);
        let (sides, halo) = (k / 3 % 4, HALOS[is_volume as usize][k / 2 % 3]);
        let config = Config {
            dtype: dtype::<T>(),
            u: layout,
            v: layout,
            w: layout,
            plane_rows: ny,
            preserve: [Preserve::Types, Preserve::Points, Preserve::Types, Preserve::None][k / 2 % 4],
            ties: [Ties::All, Ties::Zeros, Ties::Sos][if is_volume { k % 2 } else { k % 3 }],
            fill_value: [None, Some(0.0), Some(1.0)][k / 4 % 3],
            dy: if k % 4 == 3 { -2.0 } else { 1.0 },
            halo: if has_sides && sides == 1 { halo } else { 0 },
            pin: if has_sides && sides == 2 { SIDE_X_MAX | SIDE_Y_MIN } else { 0 },
            periodic: match (has_sides && sides == 3, is_volume) {
                (false, _) => 0,
                (true, false) => [PERIODIC_X, PERIODIC_X | PERIODIC_Y][k % 2],
                (true, true) => PERIODIC_Y | PERIODIC_Z,
            },
            ..blank
        };
        let (config, first) = within(config);
        let mut case = FixCase { config, is_volume, original, first, other: [vec![], vec![], vec![]] };
        case.other = case.reconstruction(k, absolute);
        if k % 5 == 4 {
            // A bound that surely holds: twice the range and more.
            case.config = Config { bound_kind: BoundKind::Relative, bound: 2.5, ..case.config };
        }
        case
    }

    pub fn components(&self) -> usize {
        if self.is_volume {
            3
        } else {
            2
        }
    }

    pub fn vertices(&self) -> usize {
        (self.config.nx * self.config.ny * self.config.nz) as usize
    }

    /// The middle of bins as wide as the bound allows; errors at random; or calm regions that become zero.
    fn reconstruction(&self, k: usize, bound: f64) -> Volume<T> {
        let (Config { nx, ny, .. }, mut random) = (self.config, Random(k as u64 + 3));
        let Layout { pitch, plane, .. } = self.config.u;
        let mut value = |x: f64| {
            let wanted = match k % 3 {
                _ if !x.is_finite() => return 7.0,
                0 => (x / (2.0 * bound)).round() * (2.0 * bound),
                1 => x + bound * random.signed(),
                _ => {
                    if x.abs() < bound {
                        0.0
                    } else {
                        x
                    }
                }
            };
            let near = T::from_f64(wanted.clamp(x - bound, x + bound)).to_f64();
            if (near - x).abs() < bound {
                near
            } else {
                x
            }
        };
        self.original.each_ref().map(|component| {
            let at = |k: u64| k % nx + k / nx % ny * pitch + k / nx / ny * plane;
            (0..self.vertices() as u64)
                .map(|k| T::from_f64(value(component[self.first + at(k) as usize].to_f64())))
                .collect()
        })
    }

    /// The configuration of the reconstruction.
    pub fn of_other(&self) -> Config {
        let Config { nx, ny, .. } = self.config;
        let layout = Layout { pitch: nx, stride: 1, plane: nx * ny };
        Config { u: layout, v: layout, w: layout, plane_rows: ny, halo: 0, pin: 0, ..self.config }
    }

    /// The report and the fix of the library.
    pub fn fix(&self) -> Result<(FixReport, Vec<u8>), Error> {
        let Config { nx, ny, u: layout, .. } = self.config;
        let [u, v, w] = self.original.each_ref().map(|c| View::strided(c, self.first, layout));
        let [a, b, c] = self.other.each_ref().map(|c| View::stack(c, nx, ny));
        let one = Execution { threads: 1, progress: None };
        let mut fix;
        let report = if self.is_volume {
            let request = VolumeRequest::new(self.config)?;
            fix = vec![0; max_volume_fix_bytes(&request) as usize];
            protect_volume(&request, [u, v, w], [a, b, c], &mut fix, one)?
        } else {
            let request = Request::new(self.config)?;
            fix = vec![0; max_fix_bytes(&request) as usize];
            protect(&request, [u, v], [a, b], &mut fix, one)?
        };
        fix.truncate(report.fix_bytes as usize);
        Ok((report, fix))
    }

    /// The report and the values that the library makes of a fix.
    pub fn applied(&self, fix: &[u8]) -> Result<(FixReport, Volume<T>), Error> {
        let (config, one) = (self.of_other(), Execution { threads: 1, progress: None });
        let mut values = self.other.clone();
        let [u, v, w] = values.each_mut().map(|c| ViewMut::stack(c, config.nx, config.ny));
        let report = match self.is_volume {
            true => apply_volume(&config, fix, [u, v, w], one)?,
            false => apply(&config, fix, u, v, one)?,
        };
        Ok((report, values))
    }
}

/// The configuration of the part of arrays inside the ghosts that it names, and its first element.
fn within(config: Config) -> (Config, usize) {
    let before = |axis: u32| (config.halo >> (2 * axis) & 1) as u64;
    let ghosts = |axis: u32| (config.halo >> (2 * axis) & 3).count_ones() as u64;
    let first = (before(2) * config.ny + before(1)) * config.nx + before(0);
    let [nx, ny, nz] = [config.nx - ghosts(0), config.ny - ghosts(1), config.nz - ghosts(2)];
    (Config { nx, ny, nz, ..config }, first as usize)
}
