//! Volumes: the same streams, values and reports as on the host, also from damaged streams.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::device::Device;
use crate::expected::check_reports;
use crate::hostile::mutate;
use crate::memory::{poisons, Guarded};
use crate::support::fields::{bytes_of, compressed_volume, dtype, values_of, volume, Random, Volume, CODERS};
use crate::{ensure, times, Check, POISON};
use factz::device::{compress_volume_device, decompress_volume_device, Buffers, VolumeBuffers, Workspace};
use factz::stream::checksum::seal;
use factz::{
    decompress_volume, max_volume_stream_bytes, BoundKind, Config, Execution, Layout, Preserve, Real, Report,
    Status, Ties, ViewMut, VolumeRequest, PERIODIC_X, PERIODIC_Z, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MIN,
    SIDE_Z_MAX,
};

/// Shapes with whole tiles, with ends of one vertex and of two, thin ones, and one with many tiles.
const SHAPES: [[u64; 3]; 6] =
    [[33, 18, 17], [64, 32, 48], [3, 40, 2], [2, 2, 2], [129, 5, 33], [150, 130, 70]];

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
            workspace: Guarded::new(Workspace::compress_volume(&request)?.bytes as usize)?,
            report: Buffer::new(REPORT_BYTES)?,
        })
    }

    /// The buffers of a call; the workspace is filled and armed.
    fn buffers<T: Real>(&self, at: [u64; 3], stream_bytes: usize, workspace: usize) -> Check<VolumeBuffers> {
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
            stream_bytes: stream_bytes as u64,
            workspace: self.workspace.pointer(),
            workspace_bytes: workspace as u64,
            report: self.report.pointer(),
        };
        Ok(VolumeBuffers { planes, w })
    }

    /// The report, and the stream that the device writes of the components in an array of this variant, within
    /// `capacity` bytes.
    fn compress<T: Real>(
        &self,
        config: &Config,
        (components, first): (&Volume<T>, usize),
        capacity: usize,
    ) -> Check<(Report, Vec<u8>)> {
        let request = VolumeRequest::new(*config)?;
        let n = components[0].len() as u64;
        let field = components.iter().flat_map(|c| bytes_of(c)).collect::<Vec<_>>();
        self.field.write(&field)?;
        self.field.arm(field.len())?;
        self.stream.arm(capacity)?;
        let workspace = Workspace::compress_volume(&request)?.bytes as usize;
        let at = [0, 1, 2].map(|k| k * n + first as u64);
        let buffers = self.buffers::<T>(at, capacity, workspace)?;
        // SAFETY: the buffers have these sizes and live on.
        unsafe { compress_volume_device(&request, &buffers, self.queue.stream()) }?;
        self.queue.synchronize()?;
        self.field.check("the field", field.len())?;
        self.stream.check("the stream", capacity)?;
        self.workspace.check("the workspace", workspace)?;
        ensure!(self.field.read(field.len())? == field, "the field was written");
        let report = self.report.read_report()?;
        let stream = self.stream.read(report.stream_bytes as usize)?;
        Ok((report, stream))
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
        let buffers = self.buffers::<T>(at, stream.len(), workspace)?;
        // SAFETY: the buffers have these sizes and live on.
        unsafe { decompress_volume_device(&request, &buffers, self.queue.stream()) }?;
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
            // Values that damage makes NaN have the bits of the processor's NaN.
            let values = [&bytes, &expected].map(|bytes| values_of::<T>(bytes));
            let is_number = |x: T| x.partial_cmp(&x).is_some();
            let differ =
                |(a, b): (&T, &T)| a.to_bits64() != b.to_bits64() && (is_number(*a) || is_number(*b));
            let other = values[0].iter().zip(&values[1]).position(differ);
            ensure!(other.is_none(), "value {other:?} of the field differs from the host's");
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
        let (stream, _) = compressed_volume(&volume::<T>(shape, turn % 4), &config, 0)?;
        check::<T>(&bench, &config, &stream, turn % 3).map_err(|e| format!("{config:?}: {e}"))?;
    }
    Ok(())
}

/// Volumes without the layer of ghosts on some sides: the configuration of the rest, and its first element.
fn block(config: Config, halo: u32) -> (Config, usize) {
    let before = [0, 1, 2].map(|axis| (halo >> (2 * axis) & 1) as u64);
    let ghosts = [0, 1, 2].map(|axis| (halo >> (2 * axis) & 3).count_ones() as u64);
    let (nx, ny) = (config.nx, config.ny);
    let layout = Layout { pitch: nx, stride: 1, plane: nx * ny };
    let owned = Config {
        nx: nx - ghosts[0],
        ny: ny - ghosts[1],
        nz: config.nz - ghosts[2],
        plane_rows: ny,
        halo,
        u: layout,
        v: layout,
        w: layout,
        ..config
    };
    (owned, ((before[2] * ny + before[1]) * nx + before[0]) as usize)
}

/// The device writes the host's stream and report, and into a buffer that is too small nothing but the report.
fn check_compression<T: Real>(bench: &Bench, turn: usize, shape: [u64; 3]) -> Check {
    let can_have_sides = shape.iter().all(|&n| n > 4);
    let periodic = if turn % 4 == 1 && can_have_sides { PERIODIC_X | PERIODIC_Z } else { 0 };
    let config = Config {
        dtype: dtype::<T>(),
        coder: CODERS[turn % 2],
        periodic,
        preserve: [Preserve::Types, Preserve::Types, Preserve::Points, Preserve::None][turn % 4],
        ties: [Ties::All, Ties::Zeros][turn / 2 % 2],
        fill_value: [None, Some(0.0), Some(1.0)][turn % 3],
        pin: if can_have_sides && turn % 5 == 2 { SIDE_X_MAX } else { 0 },
        ..Config::volume(shape, BoundKind::Relative, [1e-1, 1e-2, 1e-4, 1e-7][turn / 2 % 4])
    };
    let halo = if can_have_sides && turn % 4 >= 2 { SIDE_X_MIN | SIDE_Y_MIN | SIDE_Z_MAX } else { 0 };
    let (config, first) = if halo != 0 { block(config, halo) } else { (config, 0) };
    let components = volume::<T>(shape, turn % 6);
    let (expected, of_host) = compressed_volume(&components, &config, first)?;
    for capacity in [expected.len() + 77, expected.len(), expected.len() - 4] {
        let (report, stream) = bench.compress(&config, (&components, first), capacity.max(176))?;
        if capacity.max(176) < expected.len() {
            ensure!(report.status == Status::BufferTooSmall, "{:?} in {capacity} bytes", report.status);
            ensure!(report.required_bytes == expected.len() as u64, "required: {}", report.required_bytes);
            continue;
        }
        check_reports(&report, &of_host)?;
        let other = stream.iter().zip(&expected).position(|(a, b)| a != b);
        ensure!(stream == expected, "byte {other:?} of the stream of {} differs: {config:?}", expected.len());
    }
    Ok(())
}

/// Volumes of all kinds are compressed.
pub fn compressed_volumes(_: &Device) -> Check {
    for shape in SHAPES {
        let (single, double) = (Bench::new::<f32>(shape)?, Bench::new::<f64>(shape)?);
        for turn in 0..12 {
            check_compression::<f32>(&single, turn, shape).map_err(|e| format!("f32, turn {turn}: {e}"))?;
            check_compression::<f64>(&double, turn + 5, shape)
                .map_err(|e| format!("f64, turn {turn}: {e}"))?;
        }
    }
    Ok(())
}

/// Some that are small enough for the tools that watch memory.
pub fn small_volumes(_: &Device) -> Check {
    let shape = [33, 18, 17];
    let (single, double) = (Bench::new::<f32>(shape)?, Bench::new::<f64>(shape)?);
    for turn in [0, 3, 5] {
        check_compression::<f32>(&single, turn, shape).map_err(|e| format!("f32, turn {turn}: {e}"))?;
    }
    check_compression::<f64>(&double, 4, shape).map_err(|e| format!("f64: {e}"))?;
    Ok(())
}

/// Volumes of all kinds are restored.
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
        let (stream, _) = compressed_volume(&volume::<f32>(shape, 3), &config, 0)?;
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
