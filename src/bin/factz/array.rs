//! Fields in memory: two components of one shape and type.

use crate::failure::Failure;
use crate::memory;
use factz::{Dtype, Real};

/// Columns and rows of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    pub nx: u64,
    pub ny: u64,
}

/// No field has more values: every count of bytes stays below 2^63.
const MOST_VALUES: u64 = 1 << 48;

impl Dims {
    pub fn checked(nx: u64, ny: u64) -> Option<Dims> {
        nx.checked_mul(ny).is_some_and(|n| (1..=MOST_VALUES).contains(&n)).then_some(Dims { nx, ny })
    }
    pub fn count(&self) -> u64 {
        self.nx * self.ny
    }
}

impl std::fmt::Display for Dims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{}", self.nx, self.ny)
    }
}

impl std::str::FromStr for Dims {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(['x', 'X']).collect();
        let whole = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let &[x, y] = parts.as_slice() else {
            return Err("give NXxNY (columns x rows, x fastest), for example 360x181".into());
        };
        if !whole(x) || !whole(y) || x.bytes().all(|b| b == b'0') || y.bytes().all(|b| b == b'0') {
            return Err("NX and NY are positive whole numbers, for example 360x181".into());
        }
        // A product that is no u64 is too large as well.
        let dims = x.parse().ok().zip(y.parse().ok()).and_then(|(nx, ny)| Dims::checked(nx, ny));
        dims.ok_or_else(|| "NX times NY is more than 2^48 values, the most that a field may have".into())
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
        Ok(Field { dims, u, v, fill_value: None })
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
