//! Volumes: the same values and reports as on the host, also from damaged streams.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::device::Device;
use crate::expected::check_reports;
use crate::hostile::mutate;
use crate::memory::{poisons, Guarded};
use crate::support::fields::{dtype, Random, CODERS};
use crate::{ensure, times, Check, POISON};
use factz::device::{decompress_volume_device, Buffers, VolumeBuffers, Workspace};
use factz::stream::checksum::seal;
use factz::{
    compress_volume, decompress_volume, max_volume_stream_bytes, BoundKind, Config, Execution, Layout,
    Preserve, Real, Report, Status, View, ViewMut, VolumeRequest, PERIODIC_X, PERIODIC_Z,
};

/// Shapes with whole tiles, with ends of one vertex and of two, thin ones, and one with many tiles.
const SHAPES: [[u64; 3]; 6] =
    [[33, 18, 17], [64, 32, 48], [3, 40, 2], [2, 2, 2], [129, 5, 33], [150, 130, 70]];

type Components<T> = [Vec<T>; 3];

/// Waves, whole numbers, noise, and waves with solids and missing values.
fn components<T: Real>([nx, ny, nz]: [u64; 3], kind: usize) -> Components<T> {
    let mut random = Random(kind as u64 + nx);
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    for k in 0..nx * ny * nz {
        let [x, y, z] = [k % nx, k / nx % ny, k / nx / ny].map(|i| i as f64);
        let wave =
            [(0.3 * x + 0.2 * z).sin() + 0.4, (0.25 * y - 0.1 * x).cos(), (0.2 * z + 0.15 * y).sin() - 0.1];
        let vertex = match kind {
            0 => wave,
            1 => [0; 3].map(|_| random.below(5) as f64 - 2.0),
            2 => [0; 3].map(|_| random.signed() * 10f64.powi(random.below(8) as i32)),
            _ if (x - 9.0).powi(2) + (y - 7.0).powi(2) + (z - 5.0).powi(2) < 60.0 => [0.0; 3],
            _ if (x + 3.0 * y + z) as u64 % 41 == 0 => [f64::NAN; 3],
            _ => wave,
        };
        all.iter_mut().zip(vertex).for_each(|(c, x)| c.push(T::from_f64(x)));
    }
    all
}

fn compressed<T: Real>(all: &Components<T>, config: Config) -> Check<Vec<u8>> {
    let request = VolumeRequest::new(config)?;
    let mut stream = vec![0; max_volume_stream_bytes(&request) as usize];
    let views = all.each_ref().map(|c| View::stack(c, config.nx, config.ny));
    let report = compress_volume(&request, views, &mut stream, Execution::default())?;
    stream.truncate(report.stream_bytes as usize);
    Ok(stream)
}

/// Where the components lie in one array: apart, with gaps, or interleaved; elements before each, its layout, and
/// all elements.
fn places([nx, ny, nz]: [u64; 3], variant: usize) -> ([u64; 3], Layout, u64) {
    let n = nx * ny * nz;
    match variant {
        0 => ([0, n, 2 * n], Layout { pitch: nx, stride: 1, plane: nx * ny }, 3 * n),
        1 => ([0, 1, 2], Layout { pitch: 3 * nx, stride: 3, plane: 3 * nx * ny }, 3 * n),
        _ => {
            let (pitch, all) = (nx + 3, (nx + 3) * ny * nz + 5);
            ([0, all, 2 * all], Layout { pitch, stride: 1, plane: pitch * ny }, 3 * all)
        }
    }
}

/// Device memory for the streams of volumes of a shape.
struct Bench {
    queue: Queue,
    field: Guarded,
    stream: Guarded,
    workspace: Guarded,
    report: Buffer,
}

impl Bench {
    fn new<T: Real>(shape: [u64; 3]) -> Check<Self> {
        let config = Config { dtype: dtype::<T>(), ..Config::volume(shape, BoundKind::Relative, 0.1) };
        let request = VolumeRequest::new(config)?;
        let elements = 3 * ((shape[0] + 3) * shape[1] * shape[2] + 5);
        Ok(Bench {
            queue: Queue::new()?,
            field: Guarded::new(elements as usize * T::BYTES)?,
            stream: Guarded::new(max_volume_stream_bytes(&request) as usize + 256)?,
            workspace: Guarded::new(Workspace::decompress_volume(&request)?.bytes as usize)?,
            report: Buffer::new(REPORT_BYTES)?,
        })
    }

    /// The report, and the array with the components.
    fn decompress<T: Real>(
        &self,
        config: &Config,
        stream: &[u8],
        variant: usize,
    ) -> Check<(Report, Vec<u8>)> {
        let (at, layout, elements) = places([config.nx, config.ny, config.nz], variant);
        let request = VolumeRequest::new(Config { u: layout, v: layout, w: layout, ..*config })?;
        let bytes = elements as usize * T::BYTES;
        self.field.write(&vec![POISON; bytes])?;
        self.field.arm(bytes)?;
        self.stream.write(stream)?;
        self.stream.arm(stream.len())?;
        let workspace = Workspace::decompress_volume(&request)?.bytes as usize;
        if poisons() {
            self.workspace.buffer.fill(0x5b)?;
        }
        self.workspace.arm(workspace)?;
        self.report.fill(POISON)?;
        let [u, v, w] = at.map(|k| self.field.pointer() + k * T::BYTES as u64);
        let planes = Buffers {
            u,
            v,
            stream: self.stream.pointer(),
            stream_bytes: stream.len() as u64,
            workspace: self.workspace.pointer(),
            workspace_bytes: workspace as u64,
            report: self.report.pointer(),
        };
        // SAFETY: the buffers have these sizes and live on.
        unsafe { decompress_volume_device(&request, &VolumeBuffers { planes, w }, self.queue.stream()) }?;
        self.queue.synchronize()?;
        self.field.check("the field", bytes)?;
        self.stream.check("the stream", stream.len())?;
        self.workspace.check("the workspace", workspace)?;
        ensure!(self.stream.read(stream.len())? == stream, "the stream was written");
        Ok((self.report.read_report()?, self.field.read(bytes)?))
    }
}

/// The report of the host, and the array that it writes.
fn expected<T: Real>(config: &Config, stream: &[u8], variant: usize) -> Check<(Report, Vec<u8>)> {
    let (at, layout, elements) = places([config.nx, config.ny, config.nz], variant);
    let n = (config.nx * config.ny * config.nz) as usize;
    let mut values = [vec![T::ZERO; n], vec![T::ZERO; n], vec![T::ZERO; n]];
    let views = values.each_mut().map(|c| ViewMut::stack(c, config.nx, config.ny));
    let report = decompress_volume(config, stream, views, Execution::default())?;
    let mut bytes = vec![POISON; elements as usize * T::BYTES];
    for (first, values) in at.into_iter().zip(&values) {
        for (k, value) in values.iter().enumerate() {
            let [x, y, z] =
                [k as u64 % config.nx, k as u64 / config.nx % config.ny, k as u64 / config.nx / config.ny];
            let to = first + z * layout.plane + y * layout.pitch + x * layout.stride;
            bytes[to as usize * T::BYTES..][..T::BYTES]
                .copy_from_slice(&value.to_bits64().to_le_bytes()[..T::BYTES]);
        }
    }
    Ok((report, bytes))
}

fn check<T: Real>(bench: &Bench, config: &Config, stream: &[u8], variant: usize) -> Check {
    let (report, bytes) = bench.decompress::<T>(config, stream, variant)?;
    match expected::<T>(config, stream, variant) {
        Ok((of_host, expected)) => {
            check_reports(&report, &of_host)?;
            let other = bytes.iter().zip(&expected).position(|(a, b)| a != b);
            ensure!(other.is_none(), "byte {other:?} of the field differs from the host's");
        }
        Err(error) => {
            let status = error.downcast_ref::<factz::Error>().map(|e| e.status);
            ensure!(Some(report.status) == status, "{:?} but on the host {error}", report.status);
        }
    }
    Ok(())
}

fn of_shape<T: Real>(k: usize, shape: [u64; 3]) -> Check {
    let bench = Bench::new::<T>(shape)?;
    for turn in 0..8 {
        let periodic =
            if turn % 3 == 1 && shape.iter().all(|&n| n > 2) { PERIODIC_X | PERIODIC_Z } else { 0 };
        let config = Config {
            dtype: dtype::<T>(),
            coder: CODERS[(turn + k) % 2],
            periodic,
            preserve: [Preserve::Types, Preserve::Points, Preserve::None][(turn + k) % 3],
            ..Config::volume(shape, BoundKind::Relative, [1e-1, 1e-2, 1e-4, 1e-7][(turn / 2 + k) % 4])
        };
        let stream = compressed(&components::<T>(shape, turn % 4), config)?;
        check::<T>(&bench, &config, &stream, turn % 3).map_err(|e| format!("{config:?}: {e}"))?;
    }
    Ok(())
}

/// Volumes of all kinds.
pub fn volumes(_: &Device) -> Check {
    for (k, shape) in SHAPES.into_iter().enumerate() {
        of_shape::<f32>(k, shape)?;
        of_shape::<f64>(k, shape)?;
    }
    Ok(())
}

/// Damaged streams: what the host refuses is refused, and nothing beside the memory of a call is written.
pub fn corrupt_volumes(_: &Device) -> Check {
    let mutations = times("FACTZ_GPU_MUTATIONS", 200) as usize;
    for (k, shape) in [[33, 17, 18], [20, 50, 3]].into_iter().enumerate() {
        let bench = Bench::new::<f32>(shape)?;
        let config = Config { coder: CODERS[k], ..Config::volume(shape, BoundKind::Relative, 1e-2) };
        let stream = compressed(&components::<f32>(shape, 3), config)?;
        let mut random = Random(k as u64 + 5);
        for number in 0..mutations {
            let mut damaged = stream.clone();
            let how = mutate(&mut damaged, number, &mut random);
            if number % 8 != 7 {
                seal(&mut damaged);
            }
            check::<f32>(&bench, &config, &damaged, number % 3)
                .map_err(|e| format!("damage {number}, {how}: {e}"))?;
        }
        let (report, _) = bench.decompress::<f32>(&config, &stream, 0)?;
        ensure!(report.status == Status::Ok, "an intact stream behind damaged ones");
    }
    Ok(())
}
