//! Checks of pointers, sizes and enumerations that several exports share.

use super::status::{factz_status, guard};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{Extent, Layout, View, ViewMut};
use crate::request::{Config, Dtype, Request, SIDES_ALL_OF_VOLUME};
use crate::request::{SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN, SIDE_Z_MAX, SIDE_Z_MIN};
use std::ffi::{c_int, c_void};

/// Evaluates an expression in which `$T` is the element type that a dtype names.
macro_rules! typed {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::request::Dtype::F32 => {
                type $T = f32;
                $body
            }
            $crate::request::Dtype::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(super) use typed;

/// A struct of the interface: not null, and aligned for its type.
pub(super) fn check_struct<T>(name: &str, pointer: *const T) -> Result<()> {
    if pointer.is_null() {
        return Err(Error::argument(format!("{name} is null")));
    }
    if !pointer.is_aligned() {
        return Err(Error::argument(format!(
            "{name} = {pointer:p} is not aligned to {} bytes",
            std::mem::align_of::<T>()
        )));
    }
    Ok(())
}

pub(super) fn check_buffer(name: &str, pointer: *const c_void, bytes: usize) -> Result<Span> {
    if pointer.is_null() && bytes > 0 {
        return Err(Error::argument(format!("{name} is null but {name}_bytes = {bytes}")));
    }
    let start = pointer as usize as i128;
    let span = Span { name: name.to_owned(), start, end: start + bytes as i128 };
    if bytes > isize::MAX as usize || span.end > usize::MAX as i128 {
        return Err(Error::argument(format!(
            "{name} = {pointer:p} with {name}_bytes = {bytes} exceeds the address space"
        )));
    }
    Ok(span)
}

/// The value of an enumeration that came in as a number.
pub(super) fn choice<T: Copy>(name: &str, value: i32, choices: &[(&str, T)]) -> Result<T> {
    match usize::try_from(value).ok().and_then(|k| choices.get(k)) {
        Some(c) => Ok(c.1),
        None => {
            let list: Vec<String> =
                choices.iter().enumerate().map(|(k, c)| format!("{} ({k})", c.0)).collect();
            Err(Error::config(format!("{name} = {value} is none of {}", list.join(", "))))
        }
    }
}

pub(super) fn check_vertices(n: usize, request: &Request) -> Result<()> {
    let Config { nx, ny, nz, .. } = *request.config();
    let vertices = nx * ny * nz;
    match n as u64 == vertices {
        true => Ok(()),
        false if nz == 1 => {
            Err(Error::argument(format!("n = {n} is not nx * ny = {nx} * {ny} = {vertices}")))
        }
        false => {
            Err(Error::argument(format!("n = {n} is not nx * ny * nz = {nx} * {ny} * {nz} = {vertices}")))
        }
    }
}

/// More threads than this gain nothing and may not be had.
const MAX_THREADS: c_int = 1024;

pub(super) fn thread_count(threads: c_int) -> Result<usize> {
    if threads < 0 {
        return Err(Error::argument(format!("threads = {threads} is negative (0 means one per processor)")));
    }
    Ok(threads.min(MAX_THREADS) as usize)
}

/// A range of addresses, in wide integers so that no sum can overflow.
pub(super) struct Span {
    name: String,
    start: i128,
    end: i128,
}

impl Span {
    /// The bytes of a struct of the interface.
    pub(super) fn of<T>(name: &str, pointer: *const T) -> Span {
        let start = pointer as usize as i128;
        Span { name: name.to_owned(), start, end: start + std::mem::size_of::<T>() as i128 }
    }

    /// The bytes from the first to past the last value of a component.
    pub(super) fn component(
        name: &str,
        pointer: *const c_void,
        config: &Config,
        layout: Layout,
        ghosts: Ghosts,
    ) -> Result<Span> {
        if pointer.is_null() {
            return Err(Error::argument(format!("{name} is null")));
        }
        let halo = config.halo & ghosts.sides();
        let side = |bit: u32| (halo & bit != 0) as i128;
        let (pitch, stride) = (layout.pitch as i128, layout.stride as i128);
        let bytes = config.dtype.bytes() as i128;
        let rows = config.plane_rows as i128;
        let before = side(SIDE_X_MIN) * stride + (side(SIDE_Y_MIN) + side(SIDE_Z_MIN) * rows) * pitch;
        let last_plane = config.nz as i128 - 1 + side(SIDE_Z_MAX);
        let last_row = last_plane * rows + config.ny as i128 - 1 + side(SIDE_Y_MAX);
        let last = last_row * pitch + (config.nx as i128 - 1 + side(SIDE_X_MAX)) * stride;
        let base = pointer as usize as i128;
        let span =
            Span { name: name.to_owned(), start: base - before * bytes, end: base + (last + 1) * bytes };
        if span.start <= 0 || span.end > usize::MAX as i128 {
            return Err(Error::argument(format!(
                "{name} = {pointer:p} with nx = {}, ny = {}, nz = {}, {name}_pitch = {pitch} and \
                 {name}_stride = {stride} exceeds the address space",
                config.nx, config.ny, config.nz
            )));
        }
        Ok(span)
    }

    pub(super) fn overlaps(&self, other: &Span) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Refuses an output that shares bytes with something else.
    pub(super) fn check_apart(&self, others: &[&Span]) -> Result<()> {
        match others.iter().find(|o| self.overlaps(o)) {
            Some(other) => Err(Error::argument(format!(
                "{} at {:#x}..{:#x} overlaps {} at {:#x}..{:#x}",
                self.name, self.start, self.end, other.name, other.start, other.end
            ))),
            None => Ok(()),
        }
    }
}

/// A struct of the caller that is written when the call ends, whatever happens: blank until there is a value.
pub(super) struct Output<T: Copy> {
    span: Span,
    target: *mut T,
    value: T,
}

impl<T: Copy> Output<T> {
    /// # Safety
    /// `target` is null, misaligned or points to a writable struct that outlives the output.
    pub(super) unsafe fn new(name: &str, target: *mut T, blank: T) -> Result<Self> {
        check_struct(name, target)?;
        Ok(Output { span: Span::of(name, target), target, value: blank })
    }

    /// Refuses inputs that share bytes with the struct, which then is not written.
    pub(super) fn check_apart(&mut self, inputs: &[&Span]) -> Result<()> {
        let apart = self.span.check_apart(inputs);
        if apart.is_err() {
            self.target = std::ptr::null_mut();
        }
        apart
    }

    pub(super) fn set(&mut self, value: T) {
        self.value = value;
    }

    pub(super) fn span(&self) -> &Span {
        &self.span
    }
}

impl<T: Copy> Drop for Output<T> {
    fn drop(&mut self) {
        if !self.target.is_null() {
            // SAFETY: not null, aligned and apart from the inputs; the caller gave a whole struct.
            unsafe { self.target.write(self.value) }
        }
    }
}

/// Runs a host export that fills `target`, which is written whatever happens unless it is unusable or `body`
/// found that it overlaps an input: `blank`, or what `body` set, with what `finish` makes of the status.
///
/// # Safety
/// As for [`Output::new`].
pub(super) unsafe fn guard_with_output<T: Copy>(
    name: &str,
    target: *mut T,
    blank: T,
    body: impl FnOnce(&mut Output<T>) -> Result<()>,
    finish: impl FnOnce(&mut T, factz_status),
) -> factz_status {
    let mut output = None;
    let status = guard(|| {
        // SAFETY: the promise of this function.
        body(output.insert(unsafe { Output::new(name, target, blank) }?))
    });
    if let Some(output) = &mut output {
        finish(&mut output.value, status);
    }
    status
}

/// Refuses outputs that share bytes with an input or with each other.
pub(super) fn check_outputs(outputs: &[&Span], inputs: &[&Span]) -> Result<()> {
    outputs.iter().enumerate().try_for_each(|(k, output)| {
        output.check_apart(inputs)?;
        output.check_apart(&outputs[k + 1..])
    })
}

/// Views of u and v of the caller, with the vertices of the request and the ghosts that the call reads.
///
/// # Safety
/// The components cover them in elements of type T, and nobody writes to them during `'a`.
pub(super) unsafe fn views<'a, T: Real>(
    request: &Request,
    components: [*const c_void; 2],
    ghosts: Ghosts,
) -> [View<'a, T>; 2] {
    let c = request.config();
    let view = |component: *const c_void, layout| {
        let extent = Extent::of(request.grid(), layout, c.halo & ghosts.sides());
        // SAFETY: the promise of this function.
        unsafe { View::new(component.cast(), layout, extent.expect("a request fits the address space")) }
    };
    [view(components[0], c.u), view(components[1], c.v)]
}

/// The ghost vertices, of those that `halo` names, that a call reads.
#[derive(Clone, Copy)]
pub(super) enum Ghosts {
    Read,
    Ignored,
}

impl Ghosts {
    pub(super) fn sides(self) -> u32 {
        match self {
            Ghosts::Read => SIDES_ALL_OF_VOLUME,
            Ghosts::Ignored => 0,
        }
    }
}

/// u and v of one field, with what is needed to look at them.
pub(super) struct Field {
    pub(super) u: Span,
    pub(super) v: Span,
}

impl Field {
    pub(super) fn new(
        names: [&str; 2],
        u: *const c_void,
        v: *const c_void,
        request: &Request,
        ghosts: Ghosts,
    ) -> Result<Field> {
        let config = request.config();
        Ok(Field {
            u: Span::component(names[0], u, config, config.u, ghosts)?,
            v: Span::component(names[1], v, config, config.v, ghosts)?,
        })
    }

    /// Refuses outputs u and v that share a value. Interleaved components share their range of
    /// addresses and no value; where both have one layout that is decided exactly, otherwise only
    /// equal pointers are refused.
    pub(super) fn check_components_apart(&self, config: &Config) -> Result<()> {
        if !self.u.overlaps(&self.v) {
            return Ok(());
        }
        let bytes = config.dtype.bytes() as i128;
        let offset = self.v.start - self.u.start;
        let shared = if config.u == config.v {
            // A row is shorter than the pitch, so only the two rows next to the offset can meet it.
            let (pitch, stride) = (config.u.pitch as i128 * bytes, config.u.stride as i128 * bytes);
            let row = offset.div_euclid(pitch);
            [row, row + 1].iter().any(|&j| {
                let rest = offset - j * pitch;
                let column = rest.div_euclid(stride);
                [column, column + 1].iter().any(|&i| {
                    i.abs() < config.nx as i128 && joins_rows(config, j) && (rest - i * stride).abs() < bytes
                })
            })
        } else {
            offset.abs() < bytes
        };
        if shared {
            // Two arrays of float one behind the other, taken for arrays of double.
            let half = 4 * (config.nx * config.ny * config.nz) as i128;
            let advice = match config.dtype == Dtype::F64 && config.u.stride == 1 && offset.abs() == half {
                true => "; they are as far apart as arrays of float: is dtype = FACTZ_DTYPE_F64 right?",
                false => "",
            };
            return Err(Error::argument(format!(
                "{} at {:#x} and {} at {:#x} share values: every vertex of the output needs its own u and v{advice}",
                self.u.name, self.u.start, self.v.name, self.v.start
            )));
        }
        Ok(())
    }
}

/// The arrays that a decompression writes: those of both components, or that of one where the other is null.
pub(super) enum Outputs {
    Both(Field),
    One(Span),
}

impl Outputs {
    pub(super) fn new(u: *const c_void, v: *const c_void, request: &Request) -> Result<Outputs> {
        let config = request.config();
        let one = |name: &str, component, layout| {
            Span::component(name, component, config, layout, Ghosts::Ignored).map(Outputs::One)
        };
        match (u.is_null(), v.is_null()) {
            (false, true) => one("u", u, config.u),
            (true, false) => one("v", v, config.v),
            _ => Field::new(["u", "v"], u, v, request, Ghosts::Ignored).map(Outputs::Both),
        }
    }

    pub(super) fn spans(&self) -> [&Span; 2] {
        match self {
            Outputs::Both(field) => [&field.u, &field.v],
            Outputs::One(component) => [component; 2],
        }
    }

    /// [`Field::check_components_apart`].
    pub(super) fn check_components_apart(&self, config: &Config) -> Result<()> {
        match self {
            Outputs::Both(field) => field.check_components_apart(config),
            Outputs::One(_) => Ok(()),
        }
    }
}

/// The view that a decompression writes a component to; None if its array is null.
///
/// # Safety
/// The array covers the grid of the request in elements of type T, and nobody else uses it during `'a`.
pub(super) unsafe fn output<'a, T: Real>(
    component: *mut c_void,
    layout: Layout,
    request: &Request,
) -> Option<ViewMut<'a, T>> {
    let extent = Extent::of(request.grid(), layout, 0).expect("a request fits the address space");
    // SAFETY: the promise of this function.
    (!component.is_null()).then(|| unsafe { ViewMut::new(component.cast::<T>(), layout, extent) })
}

/// Whether two rows of a field lie this many rows apart.
fn joins_rows(config: &Config, distance: i128) -> bool {
    let (rows, nz) = (config.plane_rows as i128, config.nz as i128);
    let planes = distance.div_euclid(rows);
    [planes, planes + 1].iter().any(|&k| k.abs() < nz && (distance - k * rows).abs() < config.ny as i128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::BoundKind;

    fn shared(u: usize, v: usize, pitch: u64, stride: u64) -> bool {
        let layout = Layout { pitch, stride, plane: 0 };
        let config = Config { u: layout, v: layout, ..Config::new(5, 3, BoundKind::Absolute, 0.1) };
        let request = Request::new(config).unwrap();
        let field = Field::new(["u", "v"], u as _, v as _, &request, Ghosts::Ignored).unwrap();
        field.check_components_apart(request.config()).is_err()
    }

    /// The arithmetic must agree with marking every byte.
    #[test]
    fn components_share_values_exactly_where_their_bytes_meet() {
        for (pitch, stride) in [(5, 1), (7, 1), (10, 2), (9, 2), (13, 3), (20, 2)] {
            let bytes_of = |base: usize| {
                let mut all = std::collections::HashSet::new();
                for y in 0..3 {
                    for x in 0..5 {
                        let first = base + 4 * (y * pitch as usize + x * stride as usize);
                        all.extend(first..first + 4);
                    }
                }
                all
            };
            let u = 4096;
            for v in u - 300..u + 300 {
                let expected = !bytes_of(u).is_disjoint(&bytes_of(v));
                assert_eq!(shared(u, v, pitch, stride), expected, "pitch {pitch} stride {stride} v {v}");
            }
        }
    }
}
