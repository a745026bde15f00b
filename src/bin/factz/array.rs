//! Fields in memory: two components of one shape and type.

use crate::failure::Failure;
use crate::memory;
use factz::{BoundKind, Config, Dtype, Real, StreamInfo};

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
    pub fn checked([nx, ny, nz]: [u64; 3]) -> Option<Dims> {
        let count = nx.checked_mul(ny)?.checked_mul(nz)?;
        (1..=MOST_VALUES).contains(&count).then_some(Dims { nx, ny, nz })
    }
    pub fn count(&self) -> u64 {
        self.nx * self.ny * self.nz
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
                        NZ planes"
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
        Ok(Field { dims, u, v, fill_value: None, periodic: 0 })
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

/// f32 or f64 as it stands in files.
pub trait Element: Real {
    const DTYPE: Dtype;
    fn wrap(values: Vec<Self>) -> Values;
}
impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
    fn wrap(values: Vec<Self>) -> Values {
        Values::F32(values)
    }
}
impl Element for f64 {
    const DTYPE: Dtype = Dtype::F64;
    fn wrap(values: Vec<Self>) -> Values {
        Values::F64(values)
    }
}
