//! Fields in memory: two components of one shape and type.

use crate::failure::Failure;
use crate::memory;
use factz::{
    BoundKind, Component, Config, Dtype, Real, StreamInfo, ViewMut, PERIODIC_X, PERIODIC_Y, PERIODIC_Z,
};

/// Columns, rows and planes of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    pub nx: u64,
    pub ny: u64,
    pub nz: u64,
}

/// No field has more values: every count of bytes stays below 2^63.
const MOST_VALUES: u64 = 1 << 48;

impl Dims {
    pub const fn plane(nx: u64, ny: u64) -> Dims {
        Dims { nx, ny, nz: 1 }
    }
    pub fn of(info: &StreamInfo) -> Dims {
        Dims { nx: info.nx, ny: info.ny, nz: info.nz }
    }
    /// The axes along which a part of these dimensions is as long as the whole.
    pub fn whole_axes(&self, whole: Dims) -> u32 {
        let axis = |is_whole: bool, bit: u32| if is_whole { bit } else { 0 };
        axis(self.nx == whole.nx, PERIODIC_X)
            | axis(self.ny == whole.ny, PERIODIC_Y)
            | axis(self.nz == whole.nz, PERIODIC_Z)
    }
    pub fn checked([nx, ny, nz]: [u64; 3]) -> Option<Dims> {
        let count = nx.checked_mul(ny)?.checked_mul(nz)?;
        (1..=MOST_VALUES).contains(&count).then_some(Dims { nx, ny, nz })
    }
    pub fn count(&self) -> u64 {
        self.nx * self.ny * self.nz
    }
    /// Whether there are cubes between the vertices, as in a volume.
    pub fn has_cubes(&self) -> bool {
        self.nx > 1 && self.ny > 1 && self.nz > 1
    }
    pub fn is_stack(&self) -> bool {
        self.nz > 1
    }
    /// Names of the numbers in its text.
    pub fn order(&self) -> &'static str {
        ["columns x rows", "columns x rows x planes"][self.is_stack() as usize]
    }
    /// The shape of an array, slowest first: without planes if there is one.
    pub fn shape(&self) -> Vec<u64> {
        [self.nz, self.ny, self.nx][1 - self.is_stack() as usize..].to_vec()
    }
    /// The configuration of a field of this shape.
    pub fn config(&self, kind: BoundKind, bound: f64) -> Config {
        Config { nz: self.nz, ..Config::new(self.nx, self.ny, kind, bound) }
    }
}

impl std::fmt::Display for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.nx, self.ny)?;
        match self.is_stack() {
            true => write!(f, "x{}", self.nz),
            false => Ok(()),
        }
    }
}

impl std::str::FromStr for Dims {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(['x', 'X']).collect();
        let positive = |s: &&str| s.bytes().all(|b| b.is_ascii_digit()) && s.bytes().any(|b| b != b'0');
        if !(2..=3).contains(&parts.len()) {
            return Err(
                "give NXxNY (columns x rows, x fastest), for example 360x181, or NXxNYxNZ for a stack of \
                        NZ planes or for a volume"
                    .into(),
            );
        }
        if !parts.iter().all(positive) {
            return Err("NX, NY and NZ are positive whole numbers, for example 360x181".into());
        }
        // A product that is no u64 is too large as well.
        let mut sizes = [1; 3];
        let known = sizes.iter_mut().zip(&parts).all(|(n, s)| s.parse().map(|size| *n = size).is_ok());
        let dims = known.then(|| Dims::checked(sizes)).flatten();
        dims.ok_or_else(|| {
            "NX times NY (times NZ) is more than 2^48 values, the most that a field may have".into()
        })
    }
}

/// Columns and rows of one plane.
pub fn parse_plane(text: &str) -> Result<Dims, String> {
    match text.parse::<Dims>() {
        Ok(dims) if dims.is_stack() => {
            Err("give NXxNY, columns and rows of a plane, for example 360x181".into())
        }
        other => other,
    }
}

/// The values of one component.
#[derive(Clone, Debug)]
pub enum Values {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Values {
    pub fn dtype(&self) -> Dtype {
        match self {
            Values::F32(_) => Dtype::F32,
            Values::F64(_) => Dtype::F64,
        }
    }
}

/// Evaluates an expression on the vectors of values that some components hold: each has the type of the
/// first.
macro_rules! typed {
    ([$($component:expr),+] as [$($values:ident),+] => $body:expr) => {
        match ($($component,)+) {
            ($($crate::array::Values::F32($values),)+) => $body,
            ($($crate::array::Values::F64($values),)+) => $body,
            _ => unreachable!("the components of a command have one type"),
        }
    };
}
pub(crate) use typed;

/// A vector field.
pub struct Field {
    pub dims: Dims,
    pub u: Values,
    pub v: Values,
    /// The value of vertices without data.
    pub fill_value: Option<f64>,
    /// Bits PERIODIC_X and PERIODIC_Y.
    pub periodic: u32,
    /// Whether it is the flow in a plane of a volume, whose vertices at rest are missing values: a zero is flow
    /// through the plane.
    pub is_slice: bool,
}

impl Field {
    pub fn dtype(&self) -> Dtype {
        self.u.dtype()
    }
    /// Bytes of u and v together.
    pub fn bytes(&self) -> u64 {
        2 * self.dims.count() * self.dtype().bytes()
    }

    /// A field of zeros.
    pub fn empty(dims: Dims, dtype: Dtype) -> Result<Field, Failure> {
        fn pair<T: Element>(dims: Dims) -> Result<(Values, Values), Failure> {
            let component = || memory::zeros(dims.count(), format_args!("{dims} values"));
            Ok((T::wrap(component()?), T::wrap(component()?)))
        }
        let (u, v) = match dtype {
            Dtype::F32 => pair::<f32>(dims)?,
            Dtype::F64 => pair::<f64>(dims)?,
        };
        Ok(Field { dims, u, v, fill_value: None, periodic: 0, is_slice: false })
    }

    /// A plane of it.
    pub fn plane(&self, z: u64) -> Result<Field, Failure> {
        fn part<T: Element>(values: &[T], dims: Dims, z: u64) -> Result<Values, Failure> {
            let mut part = memory::zeros(dims.count(), format_args!("{dims} values"))?;
            part.copy_from_slice(&values[(z * dims.count()) as usize..][..dims.count() as usize]);
            Ok(T::wrap(part))
        }
        let dims = Dims { nz: 1, ..self.dims };
        let [u, v] = typed!([&self.u, &self.v] as [u, v] => [part(u, dims, z)?, part(v, dims, z)?]);
        Ok(Field { dims, u, v, ..*self })
    }
}

/// The arrays of a stream: those of both components, or that of the one which the stream holds.
pub struct Held {
    pub dims: Dims,
    pub dtype: Dtype,
    /// u and v.
    pub components: [Option<Values>; 2],
}

impl Held {
    /// The components that there are, with their names.
    pub fn named(&self) -> Vec<(&'static str, &Values)> {
        let names = ["u", "v"].into_iter().zip(&self.components);
        names.filter_map(|(name, values)| Some((name, values.as_ref()?))).collect()
    }
}

impl From<Field> for Held {
    fn from(field: Field) -> Held {
        let (dims, dtype) = (field.dims, field.dtype());
        Held { dims, dtype, components: [Some(field.u), Some(field.v)] }
    }
}

impl Held {
    /// Arrays of zeros for what a stream holds, whose only component may be this.
    pub fn empty(dims: Dims, dtype: Dtype, only: Option<Component>) -> Result<Held, Failure> {
        fn zeros<T: Element>(dims: Dims) -> Result<Values, Failure> {
            Ok(T::wrap(memory::zeros(dims.count(), format_args!("{dims} values"))?))
        }
        let component = |component| match (only.is_none_or(|only| only == component), dtype) {
            (false, _) => Ok(None),
            (true, Dtype::F32) => zeros::<f32>(dims).map(Some),
            (true, Dtype::F64) => zeros::<f64>(dims).map(Some),
        };
        Ok(Held { dims, dtype, components: [component(Component::U)?, component(Component::V)?] })
    }

    /// The field of a part of a stream, with both components, if there are both. Axes are periodic where the part
    /// is as long as the field.
    pub fn into_field(self, info: &StreamInfo) -> Option<Field> {
        let periodic = info.periodic & self.dims.whole_axes(Dims::of(info));
        let [Some(u), Some(v)] = self.components else { return None };
        Some(Field { dims: self.dims, u, v, fill_value: info.fill_value, periodic, is_slice: false })
    }

    /// Bytes of the arrays.
    pub fn bytes(&self) -> u64 {
        let count = self.components.iter().flatten().count() as u64;
        count * self.dims.count() * self.dtype.bytes()
    }

    /// The arrays to be written, whose elements are of the type of the stream.
    pub fn views<T: Element>(&mut self) -> [Option<ViewMut<'_, T>>; 2] {
        let Dims { nx, ny, .. } = self.dims;
        self.components.each_mut().map(|held| {
            let values = T::unwrap(held.as_mut()?).expect("elements of the type of the stream");
            Some(ViewMut::stack(values, nx, ny))
        })
    }
}

/// f32 or f64 as it stands in files.
pub trait Element: Real {
    const DTYPE: Dtype;
    fn wrap(values: Vec<Self>) -> Values;
    /// The values, if they are of this type.
    fn unwrap(values: &mut Values) -> Option<&mut [Self]>;
}
impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    fn wrap(values: Vec<Self>) -> Values {
        Values::F32(values)
    }
    fn unwrap(values: &mut Values) -> Option<&mut [Self]> {
        match values {
            Values::F32(values) => Some(values),
            Values::F64(_) => None,
        }
    }
}
impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;
    fn wrap(values: Vec<Self>) -> Values {
        Values::F64(values)
    }
    fn unwrap(values: &mut Values) -> Option<&mut [Self]> {
        match values {
            Values::F64(values) => Some(values),
            Values::F32(_) => None,
        }
    }
}
