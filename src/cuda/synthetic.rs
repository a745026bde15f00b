//! Fields made on the device, for measurements and tests: sums of plane waves.

use super::driver::check;
use super::host::{bytes_of, Buffer, Queue};
use super::kernel_args::{Synthesis, Waves};
use super::pointers::Range;
use super::schedule::{Kernel, MANY};
use super::{prepare_device, within, DevicePointer};
use crate::error::{Error, Result};
use crate::request::{Dtype, Request};
use cudarc::driver::sys;

/// The kernel for both element types.
pub(super) const SYNTHETIC: &str = "synthetic";

/// Threads of a block, a column each, and the rows that it makes of them.
const THREADS: u64 = 256;
const ROWS: u64 = 8;

/// Sums of the same plane waves, each with amplitudes of its own, in factors: a sum is that of
/// a (cos r cos c - sin r sin c) over the waves, with the phase c of the column and r of the row.
#[derive(Clone, Copy, Debug)]
pub struct PlaneWaves<'a> {
    /// \[wave\]\[column\]: cosine and sine.
    pub columns: &'a [[f64; 2]],
    /// \[wave\]\[row\], likewise.
    pub rows: &'a [[f64; 2]],
    /// \[wave\]\[sum\]
    pub amplitudes: &'a [f64],
}

/// What a field is made of.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticField<'a> {
    /// Two sums, u and v.
    pub flow: PlaneWaves<'a>,
    /// One sum and a level: where the sum is higher the field is (0, 0).
    pub land: Option<(PlaneWaves<'a>, f64)>,
}

/// The factors of waves in memory of the device.
struct Factors {
    columns: Buffer,
    rows: Buffer,
    amplitudes: Buffer,
    waves: u64,
}

impl Factors {
    fn new(waves: &PlaneWaves, sums: usize, nx: u64, ny: u64) -> Result<Self> {
        let PlaneWaves { columns, rows, amplitudes } = *waves;
        let count = (amplitudes.len() / sums) as u64;
        let fits = |n: usize, each: u64| count.checked_mul(each) == Some(n as u64);
        if amplitudes.len() % sums != 0 || !fits(columns.len(), nx) || !fits(rows.len(), ny) {
            return Err(Error::argument(format!(
                "{} columns, {} rows and {} amplitudes are not those of waves on {nx} x {ny} vertices",
                columns.len(),
                rows.len(),
                amplitudes.len()
            )));
        }
        Ok(Factors {
            columns: Buffer::from_bytes(bytes_of(columns.as_flattened()))?,
            rows: Buffer::from_bytes(bytes_of(rows.as_flattened()))?,
            amplitudes: Buffer::from_bytes(bytes_of(amplitudes))?,
            waves: count,
        })
    }

    fn view(&self) -> Waves {
        Waves {
            columns: self.columns.pointer(),
            rows: self.rows.pointer(),
            amplitudes: self.amplitudes.pointer(),
            count: self.waves,
        }
    }
}

/// Makes a field in the layout of a request, waits for it, and answers the milliseconds that the kernel took.
///
/// # Safety
/// u and v have the size that the request implies, and nothing else uses them meanwhile.
pub(super) unsafe fn make(
    request: &Request,
    field: &SyntheticField,
    [u, v]: [DevicePointer; 2],
    queue: &Queue,
) -> Result<f64> {
    let c = request.config();
    let flow = Factors::new(&field.flow, 2, c.nx, c.ny)?;
    let land = field.land.map(|(waves, level)| Ok((Factors::new(&waves, 1, c.nx, c.ny)?, level)));
    let land = land.transpose()?;
    let (u_layout, v_layout) = (c.u.into(), c.v.into());
    let job = Synthesis {
        u,
        v,
        u_layout,
        v_layout,
        nx: c.nx,
        ny: c.ny,
        flow: flow.view(),
        land: land.as_ref().map_or(Waves { columns: 0, rows: 0, amplitudes: 0, count: 0 }, |l| l.0.view()),
        level: land.as_ref().map_or(f64::INFINITY, |l| l.1),
    };
    let ranges = [Range::component("u", u, c, c.u, 0), Range::component("v", v, c, c.v, 0)];
    let dtype = matches!(c.dtype, Dtype::F64) as usize;
    let items = c.nx.div_ceil(THREADS) * c.ny.div_ceil(ROWS);
    let blocks = items.min(8 * MANY) as u32;
    let launch = || {
        // SAFETY: the caller's promise; the factors live until the field is made.
        unsafe {
            within(queue.stream(), &ranges, |module| {
                let kernel = Kernel {
                    function: module.synthetic(dtype),
                    blocks,
                    threads: THREADS as u32,
                    shared_bytes: 0,
                    early: false,
                };
                module.launch(&kernel, &job, queue.stream(), || function(dtype))
            })
        }
    };
    // SAFETY: a live stream, whose context is current.
    unsafe {
        // Loading the kernels is not a part of the time.
        prepare_device(queue.stream())?;
        // The factors may still be on their way, and the queue does not wait for them.
        check(sys::cuCtxSynchronize(), "cuCtxSynchronize")?;
    }
    let milliseconds = queue.time(launch);
    // Before the factors are freed, whatever came of it.
    queue.synchronize().and(milliseconds)
}

/// The name of the kernel for an element type (0 f32, 1 f64).
pub(super) fn function(dtype: usize) -> String {
    super::analysis::function(SYNTHETIC, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_a_kernel_and_blocks_are_as_large_as_it_takes_them() {
        let entries = include_str!("../../kernels/factz.cu");
        assert!(entries.contains("SYNTHETIC_KERNEL(factz_synthetic_f32"));
        assert!(entries.contains("SYNTHETIC_KERNEL(factz_synthetic_f64"));
        let kernel = include_str!("../../kernels/analysis/synthetic.cuh");
        assert!(kernel.contains(&format!("THREADS = {THREADS};")));
        assert!(kernel.contains(&format!("ROWS = {ROWS};")));
    }
}
