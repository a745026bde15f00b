//! Configurations, and the only constructor of a validated request.
//! No allocation, no device: everything here is arithmetic on the configuration.

use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::Layout;
pub use crate::grid::sides::{periodic_sides, SIDES_ALL, SIDES_ALL_OF_VOLUME};
pub use crate::grid::sides::{SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN, SIDE_Z_MAX, SIDE_Z_MIN};
use crate::grid::tiles::Grid;
pub use crate::grid::tiles::{PERIODIC_X, PERIODIC_Y, PERIODIC_Z};

/// Element type of u and v.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dtype {
    F32 = 0,
    F64 = 1,
}

impl Dtype {
    pub fn bytes(self) -> u64 {
        match self {
            Dtype::F32 => 4,
            Dtype::F64 => 8,
        }
    }
}

/// How the error bound is given.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// In the unit of the field.
    Absolute = 0,
    /// As a fraction of the joint range of the finite values, max(u, v) - min(u, v).
    Relative = 1,
}

/// How the encoder finds the error that each vertex may have.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An analytic bound from the original data: one pass, fastest.
    BlockWise = 0,
    /// Verify the triangles' signatures and back off: smallest streams.
    Speculative = 1,
    /// Code without constraints, verify every simplex, and repair the few that changed: the mode of volumes.
    Repair = 2,
}

/// Entropy coder.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coder {
    Ans = 0,
    Huffman = 1,
}

/// The values that a value is predicted from.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Predictor {
    /// Interpolation, coarse to fine.
    Hierarchical = 0,
    /// Differences to the neighbours, in one pass; block-wise mode only.
    Lorenzo = 1,
}

/// A component of a field in a plane.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    U = 0,
    V = 1,
}

/// Guarantees besides the error bound.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preserve {
    /// Nothing: plain error-bounded compression.
    None = 0,
    /// Every critical point stays in its triangle and none appears (P1, P2).
    Points = 1,
    /// And keeps its type (P3).
    Types = 2,
}

/// Meaning of a critical point where the field is zero on an edge or at a vertex of a triangle.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Triangles with the origin on their boundary keep the signs of their determinants and components: every
    /// rule that breaks ties gives the same answer.
    All = 0,
    /// The zeros of the piecewise linear field stay the same set of points.
    Zeros = 1,
    /// Triangles with the origin on their boundary keep the answer of the simulation of simplicity with the
    /// perturbation of FTK, and their zero vertices.
    Sos = 2,
}

// The names of the values in text, those of the command line, in the order of the numbers.
macro_rules! names {
    ($kind:ident: $($name:literal $value:ident),+) => {
        impl $kind {
            pub const NAMES: [(&'static str, $kind); [$($name),+].len()] = [$(($name, $kind::$value)),+];

            /// Its name in text.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize].0
            }
        }
    };
}
names!(Component: "u" U, "v" V);
names!(Dtype: "f32" F32, "f64" F64);
names!(BoundKind: "abs" Absolute, "rel" Relative);
names!(Mode: "block" BlockWise, "speculative" Speculative, "repair" Repair);
names!(Coder: "ans" Ans, "huffman" Huffman);
names!(Predictor: "hierarchical" Hierarchical, "lorenzo" Lorenzo);
names!(Preserve: "none" None, "points" Points, "types" Types);
names!(Ties: "all" All, "zeros" Zeros, "sos" Sos);

/// Everything a caller can choose. `Config::new` gives the defaults for a dense f32 field of planes,
/// `Config::volume` those for a volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// 2: u and v on planes. 3: u, v and w on a volume.
    pub components: u32,
    pub nx: u64,
    pub ny: u64,
    /// Planes: fields of their own that are compressed together; of a volume, its vertices along z.
    pub nz: u64,
    /// Rows from a plane to the next, in all components; 0 means dense planes (ny).
    pub plane_rows: u64,
    pub dtype: Dtype,
    /// Layout of the components in elements; a pitch of 0 means dense rows (nx * stride). Their `plane` follows
    /// from pitch and `plane_rows`. That of w is of no account where there are two components.
    pub u: Layout,
    pub v: Layout,
    pub w: Layout,
    /// Sides on which one line, of a volume one plane, of ghost vertices with original values lies beside the
    /// block.
    pub halo: u32,
    /// Sides whose border line, of a volume border plane, is stored exactly.
    pub pin: u32,
    /// Axes along which the last vertex is a neighbour of the first, as bits PERIODIC_X, PERIODIC_Y and, for
    /// volumes, PERIODIC_Z.
    pub periodic: u32,
    /// Grid spacing, negative where the axis runs backwards: vertex (x, y, z) lies at (x * dx, y * dy, z * dz), u
    /// points to larger x * dx, v to larger y * dy, and w to larger z * dz. Only the types of critical points
    /// depend on it, and on that of z only those of volumes.
    pub dx: f64,
    pub dy: f64,
    pub dz: f64,
    pub bound_kind: BoundKind,
    pub bound: f64,
    pub mode: Mode,
    pub coder: Coder,
    pub predictor: Predictor,
    pub preserve: Preserve,
    /// Has no effect with [`Preserve::None`].
    pub ties: Ties,
    /// A value that marks a vertex without data where u or v has its bits; rounded to the nearest float for
    /// f32.
    pub fill_value: Option<f64>,
    /// Whether decoding compares the checksum (it is always written).
    pub verify_checksum: bool,
}

impl Config {
    pub fn new(nx: u64, ny: u64, bound_kind: BoundKind, bound: f64) -> Self {
        const DENSE: Layout = Layout { pitch: 0, stride: 1, plane: 0 };
        Config {
            components: 2,
            nx,
            ny,
            nz: 1,
            plane_rows: 0,
            dtype: Dtype::F32,
            u: DENSE,
            v: DENSE,
            w: DENSE,
            halo: 0,
            pin: 0,
            periodic: 0,
            dx: 1.0,
            dy: 1.0,
            dz: 1.0,
            bound_kind,
            bound,
            mode: Mode::BlockWise,
            coder: Coder::Ans,
            predictor: Predictor::Hierarchical,
            preserve: Preserve::Types,
            ties: Ties::All,
            fill_value: None,
            verify_checksum: true,
        }
    }

    /// The defaults for a dense f32 volume.
    pub fn volume([nx, ny, nz]: [u64; 3], bound_kind: BoundKind, bound: f64) -> Self {
        Config { components: 3, nz, mode: Mode::Repair, ..Config::new(nx, ny, bound_kind, bound) }
    }

    /// Layouts of the components, with their names.
    fn layouts(&mut self) -> impl Iterator<Item = (&'static str, &mut Layout)> {
        let all = [("u", &mut self.u), ("v", &mut self.v), ("w", &mut self.w)];
        all.into_iter().take(self.components as usize)
    }

    /// Refuses arrays of another element type.
    pub(crate) fn check_elements<T: Real>(&self) -> Result<()> {
        match self.dtype.bytes() as usize == T::BYTES {
            true => Ok(()),
            false => Err(Error::argument(format!(
                "dtype = {:?} but the arrays have elements of {} bytes",
                self.dtype,
                T::BYTES
            ))),
        }
    }
}

/// The configuration of a field of planes that was found consistent. Fields are read-only outside this module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    config: Config,
}

/// The configuration of a volume that was found consistent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VolumeRequest {
    request: Request,
}

/// Largest number of vertices: keeps every byte count below 2^63.
pub(crate) const MAX_VERTICES: u64 = 1 << 48;
/// Most planes: the header counts them in 32 bits.
pub(crate) const MAX_PLANES: u64 = u32::MAX as u64;
/// Least number of vertices along a periodic axis: with fewer a simplex would have a vertex twice.
pub(crate) const LEAST_PERIODIC: u64 = 3;

impl Request {
    /// Checks every field; an error names the field and its value.
    pub fn new(config: Config) -> Result<Self> {
        match config.components {
            2 => Self::checked(config, 1),
            3 => Err(Error::config(
                "components = 3 is a volume, and this function takes u and v on planes: call its twin for volumes",
            )),
            n => Err(Error::config(format!("components = {n} is neither 2 (planes) nor 3 (a volume)"))),
        }
    }

    /// With `least` vertices along each axis.
    fn checked(config: Config, least: u64) -> Result<Self> {
        let mut c = config;
        check_shape(&c, least)?;
        check_sides(&c)?;
        check_periodic(&c)?;
        c.plane_rows = check_plane_rows(&c)?;
        check_layouts(&mut c)?;
        for (name, d) in [("dx", c.dx), ("dy", c.dy), ("dz", c.dz)] {
            if !is_spacing(d) {
                return Err(Error::config(format!(
                    "{name} = {d} must be finite and not 0; it is negative where the axis runs backwards"
                )));
            }
        }
        if !(c.bound.is_finite() && c.bound >= 0.0) {
            return Err(Error::config(format!("bound = {} must be finite and not negative", c.bound)));
        }
        if let Some(fill) = c.fill_value.filter(|x| x.is_finite()) {
            if c.dtype == Dtype::F32 && (fill as f32).is_infinite() {
                return Err(Error::config(format!(
                    "fill_value = {fill:e} is beyond the range of dtype = f32"
                )));
            }
        }
        check_mode(&c)?;
        Ok(Request { config: c })
    }

    /// The configuration, with pitches of 0 replaced by their value.
    pub fn config(&self) -> &Config {
        &self.config
    }
    pub fn grid(&self) -> Grid {
        let Config { nx, ny, nz, periodic, .. } = self.config;
        Grid { nx, ny, nz, periodic }
    }
    /// Bytes of all components together.
    pub fn field_bytes(&self) -> u64 {
        self.config.components as u64 * self.grid().vertices() * self.config.dtype.bytes()
    }
}

impl VolumeRequest {
    /// Checks every field; an error names the field and its value.
    pub fn new(config: Config) -> Result<Self> {
        Self::checked(config, 2)
    }

    /// As [`VolumeRequest::new`] for a part of a volume, which may have one vertex along an axis.
    pub(crate) fn part(config: Config) -> Result<Self> {
        Self::checked(config, 1)
    }

    fn checked(config: Config, least: u64) -> Result<Self> {
        match config.components {
            3 => Ok(VolumeRequest { request: Request::checked(config, least)? }),
            n => Err(Error::config(format!(
                "components = {n}, but a volume has 3, u, v and w: call the function for planes, or begin with the \
                 configuration of a volume"
            ))),
        }
    }

    /// The configuration, with pitches of 0 replaced by their value.
    pub fn config(&self) -> &Config {
        self.request.config()
    }
    pub fn grid(&self) -> Grid {
        self.request.grid()
    }
    /// Bytes of all components together.
    pub fn field_bytes(&self) -> u64 {
        self.request.field_bytes()
    }
    /// The request, for what planes and volumes have in common.
    pub(crate) fn common(&self) -> &Request {
        &self.request
    }
}

/// Checks the numbers of vertices.
fn check_shape(c: &Config, least: u64) -> Result<()> {
    for (name, n) in [("nx", c.nx), ("ny", c.ny), ("nz", c.nz)] {
        if n == 0 {
            return Err(Error::config(format!(
                "{name} is 0: a field has at least one vertex along each axis"
            )));
        }
        if n < least {
            return Err(Error::config(format!(
                "{name} = 1 makes no volume, which has at least 2 vertices along each axis besides ghosts: compress u \
                 and v as a plane"
            )));
        }
    }
    if c.nz > MAX_PLANES {
        return Err(Error::config(format!("nz = {} is more than 2^32 - 1 planes", c.nz)));
    }
    match c.nx.checked_mul(c.ny).and_then(|n| n.checked_mul(c.nz)) {
        Some(n) if n <= MAX_VERTICES => Ok(()),
        _ => Err(Error::config(format!(
            "nx = {}, ny = {} and nz = {} make more than 2^48 vertices",
            c.nx, c.ny, c.nz
        ))),
    }
}

/// Checks the sides of halo and pin.
fn check_sides(c: &Config) -> Result<()> {
    let all = if c.components == 3 { SIDES_ALL_OF_VOLUME } else { SIDES_ALL };
    for (name, sides) in [("halo", c.halo), ("pin", c.pin)] {
        if sides & !all != 0 {
            return Err(Error::config(format!(
                "{name} = {sides:#x} has bits that are no side ({all:#x} at most)"
            )));
        }
    }
    Ok(())
}

/// Checks the periodic axes.
fn check_periodic(c: &Config) -> Result<()> {
    let z = if c.components == 3 { PERIODIC_Z } else { 0 };
    let all = PERIODIC_X | PERIODIC_Y | z;
    if c.periodic & !all != 0 {
        return Err(Error::config(format!(
            "periodic = {:#x} has bits that are no axis ({all:#x} at most)",
            c.periodic
        )));
    }
    let axes = [("x", PERIODIC_X, "nx", c.nx), ("y", PERIODIC_Y, "ny", c.ny), ("z", PERIODIC_Z, "nz", c.nz)];
    for (axis, bit, name, n) in axes.into_iter().filter(|axis| c.periodic & axis.1 != 0) {
        let sides = periodic_sides(bit);
        for (what, mask) in [("halo", c.halo), ("pin", c.pin)] {
            if mask & sides != 0 {
                return Err(Error::config(format!(
                    "{what} = {mask:#x} names a side of {axis}, which is periodic: a periodic axis has no sides"
                )));
            }
        }
        if n < LEAST_PERIODIC {
            return Err(Error::config(format!(
                "{name} = {n} is less than {LEAST_PERIODIC}, the least along a periodic axis"
            )));
        }
    }
    Ok(())
}

/// Checks the mode, and the choices that not every mode has.
fn check_mode(c: &Config) -> Result<()> {
    let is_volume = c.components == 3;
    if is_volume != (c.mode == Mode::Repair) {
        return Err(Error::config(match is_volume {
            true => format!(
                "mode = {} needs bounds of vertices, which volumes do not have: theirs is mode = repair, with the ratio \
                 of the speculative mode",
                c.mode.name()
            ),
            false => "mode = repair is that of volumes: fields of planes have block and speculative".to_string(),
        }));
    }
    if c.predictor == Predictor::Lorenzo && c.mode == Mode::Speculative {
        return Err(Error::config(
            "mode = speculative needs predictor = hierarchical: the Lorenzo predictor is block-wise",
        ));
    }
    if is_volume && c.predictor == Predictor::Lorenzo {
        return Err(Error::config(
            "predictor = lorenzo is one of planes: volumes have predictor = hierarchical",
        ));
    }
    if is_volume && c.ties == Ties::Sos {
        return Err(Error::config("ties = sos is a rule for triangles: volumes have ties = all and zeros"));
    }
    Ok(())
}

/// Rows from a plane to the next.
fn check_plane_rows(c: &Config) -> Result<u64> {
    let ghosts = ((c.halo & SIDE_Y_MIN != 0) as u64) + ((c.halo & SIDE_Y_MAX != 0) as u64);
    if c.plane_rows == 0 {
        if ghosts > 0 && c.nz > 1 {
            return Err(Error::config(
                "plane_rows is 0 (dense planes) but halo names the side y_min or y_max: give the rows from a plane \
                 to the next, ghost rows included",
            ));
        }
        return Ok(c.ny);
    }
    if c.plane_rows < c.ny + ghosts {
        return Err(Error::config(format!(
            "plane_rows = {} is less than the {} rows of a plane (ny = {}, {ghosts} ghost rows)",
            c.plane_rows,
            c.ny + ghosts,
            c.ny
        )));
    }
    Ok(c.plane_rows)
}

/// Fills in pitches of 0 and checks that rows and planes do not overlap, and that all of them can be addressed.
fn check_layouts(c: &mut Config) -> Result<()> {
    let Config { nx, ny, nz, plane_rows, dtype, halo, .. } = *c;
    let ghosts = ((halo & SIDE_X_MIN != 0) as u64) + ((halo & SIDE_X_MAX != 0) as u64);
    for (name, layout) in c.layouts() {
        *layout = check_layout(name, *layout, nx, ghosts)?;
        let rows = (nz as u128 - 1) * plane_rows as u128 + ny as u128;
        if (rows + 2 * (plane_rows as u128 + 1)) * layout.pitch as u128 * dtype.bytes() as u128
            > i64::MAX as u128
        {
            return Err(Error::config(format!(
                "{name}_pitch = {} elements times {rows} rows (ny = {ny}, nz = {nz}, plane_rows = {plane_rows}) \
                 exceeds the address space",
                layout.pitch
            )));
        }
        layout.plane = if nz > 1 { plane_rows * layout.pitch } else { 0 };
    }
    Ok(())
}

/// Whether a distance from one vertex to the next is one. It is negative where the axis runs backwards.
pub(crate) fn is_spacing(d: f64) -> bool {
    d.is_finite() && d != 0.0
}

/// Fills in a default pitch and checks that rows (with `ghosts` extra columns) do not overlap.
pub fn check_layout(name: &str, layout: Layout, nx: u64, ghosts: u64) -> Result<Layout> {
    let Layout { mut pitch, stride, .. } = layout;
    if stride == 0 {
        return Err(Error::config(format!(
            "{name}_stride is 0: the distance between neighbours in a row is at least 1"
        )));
    }
    let too_long = || {
        Error::config(format!("{name}_stride = {stride} elements times nx = {nx} exceeds the address space"))
    };
    let row = (nx + ghosts - 1).checked_mul(stride).and_then(|r| r.checked_add(1)).ok_or_else(too_long)?;
    if pitch == 0 {
        if ghosts > 0 {
            return Err(Error::config(format!(
                "{name}_pitch is 0 (dense rows) but halo names the side x_min or x_max: \
                 give the pitch of the array that holds the ghost vertices"
            )));
        }
        pitch = nx.checked_mul(stride).ok_or_else(too_long)?;
    }
    if pitch < row {
        return Err(Error::config(format!(
            "{name}_pitch = {pitch} elements is shorter than a row of {row} elements \
             (nx = {nx}, {ghosts} ghost columns, {name}_stride = {stride})"
        )));
    }
    Ok(Layout { pitch, stride, plane: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;

    fn base() -> Config {
        Config::new(10, 20, BoundKind::Relative, 1e-2)
    }

    fn volume() -> Config {
        Config::volume([10, 20, 30], BoundKind::Relative, 1e-2)
    }

    #[test]
    fn volumes_have_a_request_of_their_own() {
        let r = VolumeRequest::new(volume()).unwrap();
        assert_eq!((r.field_bytes(), r.config().w.plane), (72_000, 200));
        let sides = Config { pin: SIDES_ALL_OF_VOLUME, ..volume() };
        assert!(VolumeRequest::new(sides).is_ok());
        assert!(VolumeRequest::new(Config { dz: -2.0, periodic: PERIODIC_Z, ..volume() }).is_ok());
        let cases: Vec<(Config, &str)> = vec![
            (base(), "components = 2"),
            (Config { nz: 1, ..volume() }, "nz = 1"),
            (Config { nx: 1, ..volume() }, "nx = 1"),
            (Config { nz: 2, periodic: PERIODIC_Z, ..volume() }, "nz = 2"),
            (Config { w: Layout { pitch: 9, stride: 1, plane: 0 }, ..volume() }, "w_pitch = 9"),
            (Config { mode: Mode::BlockWise, ..volume() }, "mode = block"),
            (Config { mode: Mode::Speculative, ..volume() }, "mode = speculative"),
            (Config { predictor: Predictor::Lorenzo, ..volume() }, "predictor = lorenzo"),
            (Config { ties: Ties::Sos, ..volume() }, "ties = sos"),
            (Config { halo: 64, ..volume() }, "halo = 0x40"),
            (Config { dz: f64::NAN, ..volume() }, "dz = NaN"),
            (Config { pin: SIDE_Z_MIN, periodic: PERIODIC_Z, ..volume() }, "pin = 0x10"),
        ];
        for (config, text) in cases {
            let e = VolumeRequest::new(config).unwrap_err();
            assert_eq!(e.status, Status::InvalidConfig);
            assert!(e.message.contains(text), "{} lacks {text}", e.message);
        }
    }

    #[test]
    fn rows_end_within_the_address_space() {
        let stride = u64::MAX / 9 - 1;
        let config = Config { u: Layout { pitch: 0, stride, plane: 0 }, ..base() };
        // The last vertex of a row is there, the begin of the next one is not.
        assert!(9u64.checked_mul(stride).is_some() && 10u64.checked_mul(stride).is_none());
        let error = Request::new(config).unwrap_err();
        assert!(error.message.contains("exceeds the address space"), "{error}");
    }

    #[test]
    fn defaults_are_valid_and_dense() {
        let r = Request::new(base()).unwrap();
        assert_eq!(r.config().u, Layout { pitch: 10, stride: 1, plane: 0 });
        assert_eq!(r.field_bytes(), 1600);
        assert!(Request::new(Config { dx: -0.25, dy: -5e-324, ..base() }).is_ok());
    }

    #[test]
    fn every_bad_field_is_named_with_its_value() {
        let cases: Vec<(Config, &str)> = vec![
            (Config { nx: 0, ..base() }, "nx is 0"),
            (Config { ny: 0, ..base() }, "ny is 0"),
            (Config { nx: 1 << 40, ny: 1 << 40, ..base() }, "1099511627776"),
            (Config { u: Layout { pitch: 9, stride: 1, plane: 0 }, ..base() }, "u_pitch = 9"),
            (Config { v: Layout { pitch: 0, stride: 0, plane: 0 }, ..base() }, "v_stride is 0"),
            (
                Config { v: Layout { pitch: 0, stride: u64::MAX, plane: 0 }, ..base() },
                "v_stride = 18446744073709551615",
            ),
            (
                Config { v: Layout { pitch: u64::MAX, stride: 1, plane: 0 }, ..base() },
                "v_pitch = 18446744073709551615",
            ),
            (Config { halo: 16, ..base() }, "halo = 0x10"),
            (Config { halo: 1, ..base() }, "u_pitch is 0"),
            (Config { pin: 32, ..base() }, "pin = 0x20"),
            (Config { dx: 0.0, ..base() }, "dx = 0 must"),
            (Config { dx: -0.0, ..base() }, "dx = -0 must"),
            (Config { dx: f64::NEG_INFINITY, ..base() }, "dx = -inf must"),
            (Config { dy: f64::NAN, ..base() }, "dy = NaN"),
            (Config { bound: -1.0, ..base() }, "bound = -1"),
            (Config { bound: f64::INFINITY, ..base() }, "bound = inf"),
            (Config { predictor: Predictor::Lorenzo, mode: Mode::Speculative, ..base() }, "speculative"),
            (Config { mode: Mode::Repair, ..base() }, "mode = repair"),
            (Config { periodic: PERIODIC_Z, nz: 5, ..base() }, "periodic = 0x4"),
            (Config { dz: 0.0, ..base() }, "dz = 0 must"),
            (volume(), "components = 3"),
            (Config { components: 1, ..base() }, "components = 1"),
        ];
        for (config, text) in cases {
            let e = Request::new(config).unwrap_err();
            assert_eq!(e.status, Status::InvalidConfig);
            assert!(e.message.contains(text), "{} lacks {text}", e.message);
        }
    }
}
