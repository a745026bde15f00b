//! Vertices that are seldom: filled ones, others that are not finite, zeros whose sign counts, and outliers that make the
//! range; with all that a stream tells of its fill value.

use crate::device::memory::Buffer;
use crate::device::queue::Queue;
use crate::device::Device;
use crate::expected::{check_images, check_reports, check_streams, host_compress, host_decompress};
use crate::fields::{synthetic, Placement, Source, VARIANTS};
use crate::matrix::{CONFIGURATIONS, PRESERVES};
use crate::memory::Bench;
use crate::{text, Check};
use factz::device::inspect_device;
use factz::Real;
use factz::{BoundKind, Config, Dtype, Request};

/// Vertices of some kinds among those of a smooth field.
fn with_rare(mut source: Source, fill: f32) -> Source {
    for k in 0..source.u.len() {
        let h = (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let (x, y) = (k as u64 % source.nx, k as u64 / source.nx);
        match h % 199 {
            0 => source.u[k] = fill,
            1 => source.v[k] = fill,
            2 => source.u[k] = -0.0,
            3 => source.v[k] = -0.0,
            4 => (source.u[k], source.v[k]) = (-0.0, 0.0),
            5 => (source.u[k], source.v[k]) = (0.0, 0.0),
            6 if y % 3 == 0 => source.v[k] = f32::NAN,
            7 if y % 5 == 0 => (source.u[k], source.v[k]) = (fill, f32::INFINITY),
            _ => {}
        }
        // Land.
        if x % 90 < 40 && y % 130 < 50 {
            (source.u[k], source.v[k]) = (fill, fill);
        }
    }
    source
}

fn compare<T: Real>(source: &Source, dtype: Dtype, fills: &[Option<f64>]) -> Check {
    let bench = Bench::new(source.nx, source.ny, dtype).map_err(text)?;
    let info = Buffer::new(size_of::<factz::capi::inspect::factz_info>()).map_err(text)?;
    let queue = Queue::new().map_err(text)?;
    let mut turn = source.nx as usize;
    for (mode, predictor, coder) in CONFIGURATIONS {
        for preserve in PRESERVES {
            for (bound_kind, bound) in [
                (BoundKind::Absolute, 0.0),
                (BoundKind::Relative, 1e-2),
                (BoundKind::Absolute, 0.01),
                (BoundKind::Absolute, 1e30),
            ] {
                for &fill_value in fills {
                    turn += 1;
                    let place = Placement::new(turn % VARIANTS, source);
                    let image = place.image::<T>(source);
                    let config = place.config(dtype);
                    let config =
                        Config { mode, predictor, coder, preserve, bound_kind, bound, fill_value, ..config };
                    let request = Request::new(config).map_err(text)?;
                    let what = |e| format!("{dtype:?}, layout {}, {config:?}: {e}", turn % VARIANTS);
                    let (report, stream) = host_compress::<T>(&request, &place, &image);
                    let capacity = factz::max_stream_bytes(&request) as usize;
                    let (device_report, device_stream) =
                        bench.compress(&request, &place, &image, capacity).map_err(what)?;
                    check_streams(&device_stream, &stream).map_err(what)?;
                    check_reports(&device_report, &report).map_err(what)?;
                    let (output_report, output) =
                        host_decompress::<T>(&request, &place, &stream).map_err(text)?;
                    let (device_report, device_output) =
                        bench.decompress(&request, &place, &stream).map_err(what)?;
                    check_images(&device_output, &output, &place, T::BYTES).map_err(what)?;
                    check_reports(&device_report, &output_report).map_err(what)?;
                    let source = Buffer::from_bytes(&stream).map_err(text)?;
                    let (pointer, bytes) = (source.pointer(), stream.len() as u64);
                    // SAFETY: the buffers live until the queue is synchronised.
                    unsafe { inspect_device(pointer, bytes, info.pointer(), queue.stream()) }
                        .map_err(text)?;
                    queue.synchronize().map_err(text)?;
                    // The fill value, and whether there is one.
                    let told = info.read(104, 12).map_err(text)?;
                    let host = factz::inspect(&stream).map_err(text)?.fill_value;
                    let bits = host.map_or(0, f64::to_bits).to_le_bytes();
                    if told[..8] != bits || told[8..] != (host.is_some() as i32).to_le_bytes() {
                        return Err(what(format!("the header is said to have {told:?}, not {host:?}")));
                    }
                }
            }
        }
    }
    Ok(())
}

pub fn rare_vertices(_: &Device) -> Check {
    let nan = f64::from_bits(0x7ff8_1234_4000_0000);
    // The last one has as many strips as need the statistics of many.
    for (source, fills) in [
        (
            with_rare(synthetic(300, 200), 9.969_21e36),
            &[None, Some(9.969_21e36f32 as f64), Some(nan), Some(-0.0)][..],
        ),
        (with_rare(synthetic(129, 140), -999.0), &[Some(-999.0), Some(0.0), Some(f64::NAN)][..]),
        (with_rare(synthetic(3, 140_000), -999.0), &[Some(-999.0)][..]),
    ] {
        compare::<f32>(&source, Dtype::F32, fills)?;
        compare::<f64>(&source, Dtype::F64, fills)?;
    }
    Ok(())
}
