//! Stacks of planes and periodic axes: the same streams and values as on the host.

use crate::device::Device;
use crate::expected::{check_images, check_reports, check_streams, host_compress, host_decompress};
use crate::fields::{noise, Placement};
use crate::hostile::mutate;
use crate::matrix::CONFIGURATIONS;
use crate::memory::Bench;
use crate::support::fields::{dtype, Field, Random, PRESERVED, TIES};
use crate::{ensure, times, Check, POISON};
use factz::{
    BoundKind, Config, Execution, Layout, Real, Report, Request, Source, Status, PERIODIC_X, PERIODIC_Y,
    SIDES_ALL,
};

/// Columns, rows and planes, and rows from plane to plane beyond those of a plane.
const SHAPES: [([u64; 3], u64); 8] = [
    ([64, 64, 5], 0),
    ([65, 33, 7], 3),
    ([32, 97, 4], 1),
    ([200, 31, 9], 0),
    ([3, 5, 400], 2),
    ([1, 1, 300], 0),
    ([300, 200, 3], 0),
    ([33, 300, 40], 0),
];

/// Planes of waves, of whole numbers, of zeros and missing values, and of values far from zero, in turn.
fn planes(nx: u64, rows: u64, nz: u64) -> Field<f32> {
    let mut noise = noise(7, 0.5);
    Field::new(nx, rows * nz, |x, row| {
        let (z, y) = (row / rows, row % rows);
        let [a, b] = [0.13 * x as f64 + z as f64, 0.11 * y as f64 + 0.3];
        let wave = [a.sin() + b.cos(), a.cos() * b.sin()].map(|value| value + 0.02 * noise() as f64);
        match z % 5 {
            1 => [0, 1].map(|_| (6.0 * noise()).round() as f64),
            2 if (x + 2 * y) % 23 == 0 => [f64::NAN, 1.0],
            2 if x < 40 => [0.0; 2],
            3 => [wave[0] + 4.0, wave[1] - 3.0],
            _ => wave,
        }
    })
}

/// Both directions of a configuration.
fn check<T: Real>(bench: &Bench, place: &Placement, image: &[u8], config: Config) -> Check {
    let request = Request::new(config)?;
    let (report, stream) = host_compress::<T>(&request, place, image);
    let capacity = factz::max_stream_bytes(&request) as usize;
    let (of_device, bytes) = bench.compress(&request, place, image, capacity)?;
    check_streams(&bytes, &stream).and(check_reports(&of_device, &report))?;
    let request = Request::new(Config { halo: 0, ..config })?;
    let (report, output) = host_decompress::<T>(&request, place, &stream)?;
    let (of_device, bytes) = bench.decompress(&request, place, &stream)?;
    check_images(&bytes, &output, place, T::BYTES).and(check_reports(&of_device, &report))?;
    check_planes::<T>(bench, place, &stream, request.config())
}

/// Planes of a stream alone: the first, the last, and those between.
fn check_planes<T: Real>(bench: &Bench, place: &Placement, stream: &[u8], config: &Config) -> Check {
    let planes = config.nz;
    for (first, nz) in [(0, 1), (planes - 1, 1), (planes / 3, planes.div_ceil(3))] {
        let config = Config { nz, ..*config };
        let mut output = vec![POISON; place.elements as usize * T::BYTES];
        let [u, v] = place.views_mut::<T>(&mut output);
        let report =
            factz::decompress_planes(&config, Source::Memory(stream), first, u, v, Execution::default())?;
        // The host reports the bytes that it read.
        let report = Report { stream_bytes: report.required_bytes, ..report };
        let (of_device, bytes) = bench.decompress_planes(&Request::new(config)?, first, place, stream)?;
        check_images(&bytes, &output, place, T::BYTES).and(check_reports(&of_device, &report))?;
    }
    let (report, _) = bench.decompress_planes(&Request::new(*config)?, 1, place, stream)?;
    ensure!(report.status == Status::InvalidArgument, "a plane behind the last one: {:?}", report.status);
    Ok(())
}

/// The vertices inside a border of ghosts around each plane.
fn inside(place: Placement) -> Placement {
    let first = place.u.pitch + place.u.stride;
    Placement { nx: place.nx - 2, u_at: place.u_at + first, v_at: place.v_at + first, ..place }
}

fn of_shape<T: Real>(k: usize, [nx, ny, nz]: [u64; 3], gap: u64) -> Check {
    let rows = ny + gap;
    let field = planes(nx, rows, nz);
    let bench = Bench::new([nx.next_multiple_of(32), rows.next_multiple_of(32) * nz], dtype::<T>())?;
    for (c, (mode, predictor, coder)) in CONFIGURATIONS.into_iter().enumerate() {
        for turn in 0..6 {
            let variant = [0, 1, 2, 3][(turn + c) % 4];
            let mut place = Placement::new(variant, [nx, rows * nz]);
            (place.u.plane, place.v.plane) = (place.u.pitch * rows, place.v.pitch * rows);
            let image = place.image::<T>(&field);
            let periodic = match turn {
                1 if nx > 2 => PERIODIC_X,
                2 if ny > 2 => PERIODIC_Y,
                3 if nx > 2 && ny > 2 => PERIODIC_X | PERIODIC_Y,
                _ => 0,
            };
            let config = Config {
                ny,
                nz,
                plane_rows: rows,
                mode,
                predictor,
                coder,
                periodic,
                pin: if periodic == 0 { place.pin } else { 0 },
                preserve: PRESERVED[(turn + c + k) % 3],
                ties: TIES[(turn + k) % 3],
                fill_value: (turn == 5).then_some(0.0),
                bound_kind: BoundKind::Relative,
                bound: [1e-1, 1e-2, 1e-3, 1e-6, 1e-2, 0.0][turn],
                ..place.config::<T>()
            };
            let what = |e| format!("{config:?}: {e}");
            check::<T>(&bench, &place, &image, config).map_err(what)?;
            if turn == 4 && variant < 3 && nx > 4 && ny > 4 {
                let (place, ny) = (inside(place), ny - 2);
                let config = Config { nx: place.nx, ny, halo: SIDES_ALL, pin: 0, ..config };
                check::<T>(&bench, &place, &image, config).map_err(|e| format!("{config:?}: {e}"))?;
            }
        }
    }
    Ok(())
}

/// Planes of intact and of damaged streams, whose checksum nobody compares: no call writes beside its memory,
/// and the next one works.
pub fn planes_of_stacks(_: &Device) -> Check {
    for (k, shape) in [[5, 3, 300], [70, 65, 4]].into_iter().enumerate() {
        planes_of::<f32>(k, shape)?;
        planes_of::<f64>(k, shape)?;
    }
    Ok(())
}

fn planes_of<T: Real>(k: usize, [nx, ny, nz]: [u64; 3]) -> Check {
    let mutations = times("FACTZ_GPU_MUTATIONS", 200) as usize;
    let field = planes(nx, ny, nz);
    let bench = Bench::new([nx.next_multiple_of(32), ny.next_multiple_of(32) * nz], dtype::<T>())?;
    for (c, (mode, predictor, coder)) in CONFIGURATIONS.into_iter().enumerate() {
        let place = Placement::new((c + k) % 4, [nx, ny * nz]);
        let layout = |l: Layout| Layout { plane: l.pitch * ny, ..l };
        let place = Placement { u: layout(place.u), v: layout(place.v), ..place };
        let bound = [1e-2, 1e-4][(c + k) % 2];
        let config = Config { ny, nz, mode, predictor, coder, bound, ..place.config::<T>() };
        let config = Config { bound_kind: BoundKind::Relative, pin: 0, plane_rows: ny, ..config };
        let (_, stream) = host_compress::<T>(&Request::new(config)?, &place, &place.image::<T>(&field));
        check_planes::<T>(&bench, &place, &stream, &config)?;
        let mut random = Random(c as u64);
        let request = Request::new(Config { nz: nz / 2, ..config })?;
        for round in 0..mutations {
            let mut damaged = stream.clone();
            let what = mutate(&mut damaged, round, &mut random);
            let first = random.below(nz);
            bench
                .decompress_planes(&request, first, &place, &damaged)
                .map_err(|e| format!("{what}, planes from {first}: {e}"))?;
        }
        check_planes::<T>(&bench, &place, &stream, &config)?;
    }
    Ok(())
}

pub fn stacks(_: &Device) -> Check {
    for (k, (shape, gap)) in SHAPES.into_iter().enumerate() {
        of_shape::<f32>(k, shape, gap)?;
        of_shape::<f64>(k, shape, gap)?;
    }
    Ok(())
}
