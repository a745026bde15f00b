//! Vertices that are seldom: filled ones, others that are not finite, zeros whose sign counts, and outliers
//! that make the range; with all that a stream tells of its fill value.

use crate::device::memory::Buffer;
use crate::device::queue::Queue;
use crate::device::Device;
use crate::expected::Case;
use crate::fields::{synthetic, Placement, VARIANTS};
use crate::matrix::CONFIGURATIONS;
use crate::memory::Bench;
use crate::support::fields::{dtype, Field, PRESERVED};
use crate::{ensure, Check};
use factz::device::inspect_device;
use factz::Real;
use factz::{BoundKind, Config};

/// Vertices of some kinds among those of a smooth field.
fn with_rare(mut field: Field<f32>, fill: f32) -> Field<f32> {
    let nx = field.nx;
    let [us, vs] = &mut field.components;
    for (k, (u, v)) in us.iter_mut().zip(vs).enumerate() {
        let h = (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let (x, y) = (k as u64 % nx, k as u64 / nx);
        match h % 199 {
            0 => *u = fill,
            1 => *v = fill,
            2 => *u = -0.0,
            3 => *v = -0.0,
            4 => (*u, *v) = (-0.0, 0.0),
            5 => (*u, *v) = (0.0, 0.0),
            6 if y % 3 == 0 => *v = f32::NAN,
            7 if y % 5 == 0 => (*u, *v) = (fill, f32::INFINITY),
            _ => {}
        }
        // Land.
        if x % 90 < 40 && y % 130 < 50 {
            (*u, *v) = (fill, fill);
        }
    }
    field
}

fn compare<T: Real>(field: &Field<f32>, fills: &[Option<f64>]) -> Check {
    let bench = Bench::new([field.nx, field.ny], dtype::<T>())?;
    let mut turn = field.nx as usize;
    let bounds = [
        (BoundKind::Absolute, 0.0),
        (BoundKind::Relative, 1e-2),
        (BoundKind::Absolute, 0.01),
        (BoundKind::Absolute, 1e30),
    ];
    for (mode, predictor, coder) in CONFIGURATIONS {
        for (preserve, (bound_kind, bound)) in PRESERVED.into_iter().flat_map(|p| bounds.map(|b| (p, b))) {
            for &fill_value in fills {
                turn += 1;
                let place = Placement::new(turn % VARIANTS, [field.nx, field.ny]);
                let config = place.config::<T>();
                let config =
                    Config { mode, predictor, coder, preserve, bound_kind, bound, fill_value, ..config };
                let case = Case::placed::<T>(field, place, config);
                let done = case.check(&bench).and_then(|()| check_fill_value(&case.stream));
                done.map_err(|e| format!("layout {}, {config:?}: {e}", turn % VARIANTS))?;
            }
        }
    }
    Ok(())
}

/// The header tells the fill value, and whether there is one.
fn check_fill_value(stream: &[u8]) -> Check {
    let (source, queue) = (Buffer::from_bytes(stream)?, Queue::new()?);
    let info = Buffer::new(size_of::<factz::capi::inspect::factz_info>())?;
    let (pointer, bytes) = (source.pointer(), stream.len() as u64);
    // SAFETY: the buffers live until the queue is synchronised.
    unsafe { inspect_device(pointer, bytes, info.pointer(), queue.stream()) }?;
    queue.synchronize()?;
    let told = info.read(104, 12)?;
    let host = factz::inspect(stream)?.fill_value;
    let bits = host.map_or(0, f64::to_bits).to_le_bytes();
    let same = told[..8] == bits && told[8..] == (host.is_some() as i32).to_le_bytes();
    ensure!(same, "the header is said to have {told:?}, not {host:?}");
    Ok(())
}

pub fn rare_vertices(_: &Device) -> Check {
    let nan = f64::from_bits(0x7ff8_1234_4000_0000);
    // The last one has as many strips as need the statistics of many.
    for (field, fills) in [
        (
            with_rare(synthetic(300, 200), 9.969_21e36),
            &[None, Some(9.969_21e36f32 as f64), Some(nan), Some(-0.0)][..],
        ),
        (with_rare(synthetic(129, 140), -999.0), &[Some(-999.0), Some(0.0), Some(f64::NAN)][..]),
        (with_rare(synthetic(3, 140_000), -999.0), &[Some(-999.0)][..]),
    ] {
        compare::<f32>(&field, fills)?;
        compare::<f64>(&field, fills)?;
    }
    Ok(())
}
