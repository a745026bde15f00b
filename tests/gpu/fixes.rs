//! Fixes: the same bytes, values and reports as on the host, and what the host refuses is refused without a
//! change of the field.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::device::Device;
use crate::hostile::mutate;
use crate::memory::{poisons, Guarded};
use crate::support::fields::{bytes_of, Random, Volume};
use crate::support::fixes::FixCase;
use crate::{ensure, times, Check, POISON};
use factz::device::{
    apply_device, apply_volume_device, prepare_device, protect_device, protect_volume_device, FixBuffers,
    VolumeFixBuffers, Workspace,
};
use factz::stream::checksum::seal;
use factz::{Config, Error, FixReport, Layout, Real, Request, Status, VolumeRequest};

/// Planes with whole tiles, ends of one vertex and of two, thin ones, and one with many tiles.
const PLANES: [[u64; 3]; 7] =
    [[70, 33, 1], [64, 64, 1], [40, 34, 3], [5, 1, 1], [1, 300, 1], [700, 500, 1], [37, 65, 1]];
const VOLUMES: [[u64; 3]; 6] = [[33, 18, 17], [16, 16, 16], [7, 20, 3], [2, 2, 2], [19, 5, 34], [90, 70, 50]];

/// Words of a report that the kernels write: status, counts, bits of reals, vertices outside the bound.
type Words = [u64; 11];

fn words_of(report: &FixReport) -> Words {
    [
        report.status as u64,
        report.fix_bytes,
        report.required_bytes,
        report.repaired_vertices,
        report.exact_vertices,
        report.violated_triangles,
        report.rounds,
        report.bound.to_bits(),
        report.max_error.to_bits(),
        0,
        0,
    ]
}

/// Elements between the components in device memory, their layout and all elements: apart, with gaps, or
/// interleaved.
fn places(components: usize, config: &Config, variant: usize) -> ([u64; 3], Layout, u64) {
    let Config { nx, ny, nz, .. } = *config;
    let n = nx * ny * nz;
    match variant {
        0 => ([0, n, 2 * n], Layout { pitch: nx, stride: 1, plane: nx * ny }, 3 * n),
        1 => {
            let k = components as u64;
            ([0, 1, 2], Layout { pitch: k * nx, stride: k, plane: k * nx * ny }, k * n)
        }
        _ => {
            let (pitch, all) = (nx + 3, (nx + 3) * ny * nz + 5);
            ([0, all, 2 * all], Layout { pitch, stride: 1, plane: pitch * ny }, 3 * all)
        }
    }
}

/// The bytes of an array with these components, and gaps.
fn image_of<T: Real>(case: &FixCase<T>, values: &Volume<T>, variant: usize) -> Vec<u8> {
    let config = case.of_other();
    let (at, layout, elements) = places(case.components(), &config, variant);
    let mut bytes = vec![POISON; elements as usize * T::BYTES];
    for (first, values) in at.into_iter().zip(&values[..case.components()]) {
        for (k, value) in values.iter().enumerate() {
            let [x, y, z] =
                [k as u64 % config.nx, k as u64 / config.nx % config.ny, k as u64 / config.nx / config.ny];
            let to = first + z * layout.plane + y * layout.pitch + x * layout.stride;
            bytes[to as usize * T::BYTES..][..T::BYTES]
                .copy_from_slice(&value.to_bits64().to_le_bytes()[..T::BYTES]);
        }
    }
    bytes
}

/// Device memory for the fixes of a case.
struct Bench<'a, T> {
    case: &'a FixCase<T>,
    variant: usize,
    /// Of the reconstruction in device memory.
    other: Config,
    queue: Queue,
    original: Guarded,
    reconstruction: Guarded,
    fix: Guarded,
    workspace: Guarded,
    report: Buffer,
}

impl<'a, T: Real> Bench<'a, T> {
    fn new(case: &'a FixCase<T>, variant: usize) -> Check<Self> {
        let (_, layout, elements) = places(case.components(), &case.of_other(), variant);
        let other = Config { u: layout, v: layout, w: layout, ..case.of_other() };
        let n = case.original[0].len();
        let most = 136 + 3 * case.vertices() * T::BYTES + 512;
        let bytes = Self::plans(case)?.into_iter().max().unwrap_or(0);
        let bench = Bench {
            case,
            variant,
            other,
            queue: Queue::new()?,
            original: Guarded::new(3 * n * T::BYTES)?,
            reconstruction: Guarded::new(elements as usize * T::BYTES)?,
            fix: Guarded::new(most)?,
            workspace: Guarded::new(bytes)?,
            report: Buffer::new(2 * REPORT_BYTES)?,
        };
        let field: Vec<u8> = case.original.iter().flat_map(|c| bytes_of(c)).collect();
        bench.original.write(&field)?;
        bench.original.arm(field.len())?;
        Ok(bench)
    }

    /// Bytes of the workspaces for making and for applying a fix.
    fn plans(case: &FixCase<T>) -> Check<[usize; 2]> {
        let plans = if case.is_volume {
            let request = VolumeRequest::new(case.config)?;
            [Workspace::protect_volume(&request)?, Workspace::apply_volume(&request)?]
        } else {
            let request = Request::new(case.config)?;
            [Workspace::protect(&request)?, Workspace::apply(&request)?]
        };
        Ok(plans.map(|plan| plan.bytes as usize))
    }

    /// The memory of a call: of both fields the addresses, `fix_bytes` and `workspace` bytes.
    fn memory(&self, applies: bool, fix_bytes: usize, workspace: usize) -> VolumeFixBuffers {
        let (at, ..) = places(self.case.components(), &self.other, self.variant);
        let (n, element) = (self.case.original[0].len() as u64, T::BYTES as u64);
        let original =
            [0, 1, 2].map(|k| self.original.pointer() + (k * n + self.case.first as u64) * element);
        let other = at.map(|first| self.reconstruction.pointer() + first * element);
        VolumeFixBuffers {
            field: if applies { other } else { original },
            other,
            fix: self.fix.pointer(),
            fix_bytes: fix_bytes as u64,
            workspace: self.workspace.pointer(),
            workspace_bytes: workspace as u64,
            report: self.report.pointer(),
        }
    }

    fn enqueue(&self, applies: bool, memory: &VolumeFixBuffers) -> Result<(), Error> {
        let stream = self.queue.stream();
        let planes = || {
            let [u, v, _] = memory.field;
            let [a, b, _] = memory.other;
            FixBuffers {
                field: [u, v],
                other: [a, b],
                fix: memory.fix,
                fix_bytes: memory.fix_bytes,
                workspace: memory.workspace,
                workspace_bytes: memory.workspace_bytes,
                report: memory.report,
            }
        };
        // SAFETY: the buffers have these sizes and live on, here and below.
        match (applies, self.case.is_volume) {
            (false, false) => {
                let pair = [Request::new(self.case.config)?, Request::new(self.other)?];
                unsafe { protect_device(&pair, &planes(), stream) }
            }
            (false, true) => {
                let pair = [VolumeRequest::new(self.case.config)?, VolumeRequest::new(self.other)?];
                unsafe { protect_volume_device(&pair, memory, stream) }
            }
            (true, false) => unsafe { apply_device(&Request::new(self.other)?, &planes(), stream) },
            (true, true) => unsafe { apply_volume_device(&VolumeRequest::new(self.other)?, memory, stream) },
        }
    }

    fn spoil(&self, workspace: usize) -> Check {
        if poisons() {
            self.workspace.buffer.fill(0x5b)?;
        }
        self.workspace.arm(workspace)?;
        Ok(self.report.fill(POISON)?)
    }

    fn words(&self) -> Check<Words> {
        let bytes = self.report.read(0, 2 * REPORT_BYTES)?;
        ensure!(bytes[REPORT_BYTES..].iter().all(|&b| b == POISON), "bytes behind the report were written");
        let word = |k: usize| u64::from_le_bytes(bytes[8 * k..][..8].try_into().expect("eight bytes"));
        ensure!((11..16).all(|k| word(k) == 0), "the reserved bytes of the report are not 0");
        Ok(std::array::from_fn(word))
    }

    /// The report, and the fix that the device makes in a buffer of `capacity` bytes.
    fn made(&self, capacity: usize) -> Check<(Words, Vec<u8>)> {
        let workspace = Self::plans(self.case)?[0];
        let image = image_of(self.case, &self.case.other, self.variant);
        self.spoil(workspace)?;
        self.reconstruction.write(&image)?;
        self.reconstruction.arm(image.len())?;
        self.fix.arm(capacity)?;
        self.enqueue(false, &self.memory(false, capacity, workspace))?;
        self.queue.synchronize()?;
        self.fix.check("the fix", capacity)?;
        self.workspace.check("the workspace", workspace)?;
        self.reconstruction.check("the reconstruction", image.len())?;
        ensure!(self.reconstruction.read(image.len())? == image, "the reconstruction was changed");
        let words = self.words()?;
        ensure!(words[1] <= capacity as u64, "{} bytes in {capacity}", words[1]);
        Ok((words, self.fix.read(words[1] as usize)?))
    }

    /// The report, and the array that the device makes of a fix and the components.
    fn applied(&self, fix: &[u8], values: &Volume<T>) -> Check<(Words, Vec<u8>)> {
        let workspace = Self::plans(self.case)?[1];
        let image = image_of(self.case, values, self.variant);
        self.spoil(workspace)?;
        self.reconstruction.write(&image)?;
        self.reconstruction.arm(image.len())?;
        self.fix.write(fix)?;
        self.fix.arm(fix.len())?;
        self.enqueue(true, &self.memory(true, fix.len(), workspace))?;
        self.queue.synchronize()?;
        self.fix.check("the fix", fix.len())?;
        self.workspace.check("the workspace", workspace)?;
        self.reconstruction.check("the field", image.len())?;
        ensure!(self.fix.read(fix.len())? == fix, "the fix was changed");
        Ok((self.words()?, self.reconstruction.read(image.len())?))
    }

    /// The device makes of a fix what the library does.
    fn check_applied(&self, fix: &[u8]) -> Check {
        let (words, image) = self.applied(fix, &self.case.other)?;
        let (status, values) = match self.case.applied(fix) {
            Ok((report, values)) => {
                ensure!(words == words_of(&report), "reports differ: {words:?}, host {report:?}");
                (Status::Ok, values)
            }
            Err(error) => (error.status, self.case.other.clone()),
        };
        ensure!(words[0] == status as u64, "status {}, host {status:?}", words[0]);
        ensure!(image == image_of(self.case, &values, self.variant), "other values");
        Ok(())
    }

    fn check(&self) -> Check {
        let (report, fix) = self.case.fix()?;
        for capacity in [fix.len() + 77, fix.len(), (fix.len() - 4).max(136)] {
            let (words, found) = self.made(capacity.max(136))?;
            if capacity.max(136) < fix.len() {
                let short = FixReport { status: Status::BufferTooSmall, fix_bytes: 0, ..report };
                ensure!(words == words_of(&short), "in {capacity} of {} bytes: {words:?}", fix.len());
                continue;
            }
            ensure!(words == words_of(&report), "reports differ: {words:?}, host {report:?}");
            let other = found.iter().zip(&fix).position(|(a, b)| a != b);
            ensure!(found == fix, "byte {other:?} of the fix of {} differs", fix.len());
        }
        self.check_applied(&fix)?;
        self.check_applied(&[&fix[..], &[0x77; 9]].concat())
    }
}

fn check_case<T: Real>(k: usize, shape: [u64; 3], is_volume: bool) -> Check {
    let case = FixCase::<T>::new(k, shape, is_volume);
    let bench = Bench::new(&case, k % 3)?;
    bench.check().map_err(|e| format!("case {k} of {shape:?}, {:?}: {e}", case.config).into())
}

/// Fixes of planes and of volumes of all kinds are made and applied.
pub fn protect(_: &Device) -> Check {
    for k in 0..42 {
        check_case::<f32>(k, PLANES[k % 7], false)?;
        check_case::<f64>(k + 5, PLANES[k % 7], false)?;
        check_case::<f32>(k, VOLUMES[k % 6], true)?;
        check_case::<f64>(k + 5, VOLUMES[k % 6], true)?;
    }
    Ok(())
}

/// Damaged fixes, fixes of other reconstructions, and reconstructions that leave the bound.
pub fn refused_fixes(_: &Device) -> Check {
    let mutations = times("FACTZ_GPU_MUTATIONS", 200) as usize;
    for (k, shape, is_volume) in [(0, [70, 33, 1], false), (0, [33, 18, 17], true), (2, [16, 16, 16], true)] {
        let mut case = FixCase::<f32>::new(k, shape, is_volume);
        let (_, fix) = case.fix()?;
        {
            let bench = Bench::new(&case, k % 3)?;
            let mut random = Random(k as u64 + 9);
            for number in 0..mutations {
                let mut damaged = fix.clone();
                let how = mutate(&mut damaged, number, &mut random);
                if number % 8 != 7 && damaged.len() >= 128 {
                    damaged.truncate(damaged.len() / 4 * 4);
                    seal(&mut damaged);
                }
                bench.check_applied(&damaged).map_err(|e| format!("damage {number}, {how}: {e}"))?;
            }
            let mut values = case.other.clone();
            values[1][3] += 0.5;
            let (words, image) = bench.applied(&fix, &values)?;
            ensure!(words[0] == Status::InvalidArgument as u64, "another reconstruction: {words:?}");
            ensure!(image == image_of(&case, &values, bench.variant), "another reconstruction was changed");
            bench.check_applied(&fix)?;
        }
        let last = case.vertices() - 1;
        case.config.fill_value = None;
        let first = (0..last).find(|&v| case.other[1][v] != 7.0).unwrap_or(last);
        for vertex in [first, last] {
            case.other[0][vertex] += 5.0;
        }
        let (words, _) = Bench::new(&case, 0)?.made(1024)?;
        let expected = [Status::InvalidArgument as u64, 0, 0, 0, 0, 0, 0, 0, 0, 2, first as u64];
        ensure!(words == expected || case.original[0][last].is_nan(), "outside the bound: {words:?}");
    }
    Ok(())
}

/// A fix made and applied by one graph, which is replayed on other reconstructions.
pub fn graph_of_fixes(_: &Device) -> Check {
    for (shape, is_volume) in [([300, 200, 1], false), ([40, 33, 20], true)] {
        let cases = [0, 2].map(|k| FixCase::<f32>::new(k, shape, is_volume));
        let config = cases[0].config;
        let cases = cases.map(|case| FixCase { config, ..case });
        let bench = Bench::new(&cases[0], 0)?;
        let workspace = bench.workspace.bytes;
        // SAFETY: a live stream.
        unsafe { prepare_device(bench.queue.stream()) }?;
        let capacity = bench.fix.bytes;
        let graph = bench.queue.capture(|| {
            bench.enqueue(false, &bench.memory(false, capacity, workspace))?;
            bench.enqueue(true, &bench.memory(true, capacity, workspace))
        })?;
        for case in cases.iter().cycle().take(4) {
            let Ok((_, fix)) = case.fix() else { continue };
            bench.spoil(workspace)?;
            bench.original.write(&case.original.iter().flat_map(|c| bytes_of(c)).collect::<Vec<_>>())?;
            bench.reconstruction.write(&image_of(case, &case.other, 0))?;
            graph.launch(&bench.queue).and(bench.queue.synchronize())?;
            let (report, values) = case.applied(&fix)?;
            ensure!(bench.words()? == words_of(&report), "{:?}, host {report:?}", bench.words()?);
            ensure!(bench.fix.read(fix.len())? == fix, "another fix");
            let image = image_of(case, &values, 0);
            ensure!(bench.reconstruction.read(image.len())? == image, "other values");
        }
    }
    Ok(())
}
