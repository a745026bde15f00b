//! Fixes on a device: made for the reconstruction of another compressor, and applied to it.

use super::kernel_args::{DevicePointer, Job};
use super::launch::{Call, Needs, Shape};
use super::launcher::Launcher;
use super::pointers::Range;
use super::workspace::{Workspace, ALIGNMENT};
use super::{check_workspace, within, Buffers, Direction, Stream};
use crate::error::Result;
use crate::grid::field::Layout;
use crate::repair::header::{HEADER_BYTES, VOLUME_HEADER_BYTES};
use crate::request::{BoundKind, Config, Dtype, Request, VolumeRequest};

/// The memory of a call on a fix of a field with N components; the workspace must not be host memory.
#[derive(Clone, Copy, Debug)]
pub struct FixMemory<const N: usize> {
    /// The first vertex of each component: of the original, or of the reconstruction that a fix is applied
    /// to.
    pub field: [DevicePointer; N],
    /// The reconstruction that a fix is made for; not used where one is applied.
    pub other: [DevicePointer; N],
    /// Where the fix goes or comes from, aligned to [`ALIGNMENT`].
    pub fix: DevicePointer,
    /// Capacity, or any upper bound of the length of a fix that is applied.
    pub fix_bytes: u64,
    /// Aligned to [`ALIGNMENT`].
    pub workspace: DevicePointer,
    pub workspace_bytes: u64,
    /// Where the report goes: a `factz_fix_report`.
    pub report: DevicePointer,
}

/// The memory of a call on a fix of planes.
pub type FixBuffers = FixMemory<2>;
/// The memory of a call on a fix of a volume.
pub type VolumeFixBuffers = FixMemory<3>;

const NAMES: [[&str; 3]; 2] = [["u", "v", "w"], ["other_u", "other_v", "other_w"]];

impl<const N: usize> FixMemory<N> {
    fn components<'a>(
        names: [&'static str; 3],
        pointers: [DevicePointer; N],
        config: &'a Config,
        halo: u32,
    ) -> impl Iterator<Item = Range> + 'a {
        let layouts: [Layout; 3] = [config.u, config.v, config.w];
        (0..N).map(move |k| Range::component(names[k], pointers[k], config, layouts[k], halo))
    }

    /// The ranges of the fix, named as in C, the workspace and the report.
    fn others(&self, fix: &'static str) -> [Range; 3] {
        [
            Range::buffer(fix, self.fix, self.fix_bytes, ALIGNMENT),
            Range::workspace(self.workspace, self.workspace_bytes),
            Range::buffer("report", self.report, 1, 8),
        ]
    }

    /// As the other calls have them.
    fn buffers(&self) -> Buffers {
        Buffers {
            u: self.field[0],
            v: self.field[1],
            stream: self.fix,
            stream_bytes: self.fix_bytes,
            workspace: self.workspace,
            workspace_bytes: self.workspace_bytes,
            report: 0,
        }
    }
}

/// Enqueues the making of a fix. The first request says what is kept and the layout of the original, the
/// second one the layout of the reconstruction. `Ok` means enqueued; the outcome is in the report.
///
/// # Safety
/// As for [`super::compress_device`].
pub unsafe fn protect_device(pair: &[Request; 2], memory: &FixBuffers, stream: Stream) -> Result<()> {
    let plan = Workspace::protect(&pair[0])?;
    let job = Job::new(&pair[0], &plan, &memory.buffers(), Direction::Decompress);
    let [u, v] = memory.other;
    let job = job.of_fix(pair[0].config(), memory.report).with_other(pair[1].config(), [u, v, 0]);
    let call = FixCall { call: Call::Protect, plan, shape: Shape::new(&pair[0], memory.fix_bytes), job };
    // SAFETY: the caller's promise.
    unsafe { call.make(pair[0].config(), pair[1].config(), memory, stream) }
}

/// [`protect_device`] for a volume.
///
/// # Safety
/// As for [`super::compress_device`].
pub unsafe fn protect_volume_device(
    pair: &[VolumeRequest; 2],
    memory: &VolumeFixBuffers,
    stream: Stream,
) -> Result<()> {
    let plan = Workspace::protect_volume(&pair[0])?;
    let job = Job::volume(&pair[0], &plan, (&memory.buffers(), memory.field[2]), Direction::Decompress);
    let job = job.of_fix(pair[0].config(), memory.report).with_other(pair[1].config(), memory.other);
    let shape = Shape::of_volume(&pair[0], memory.fix_bytes);
    let call = FixCall { call: Call::ProtectVolume, plan, shape, job };
    // SAFETY: the caller's promise.
    unsafe { call.make(pair[0].config(), pair[1].config(), memory, stream) }
}

/// Enqueues the application of a fix to the reconstruction in `field`; nx, ny, nz, dtype and the layouts are
/// taken from the request. `Ok` means enqueued; the outcome is in the report.
///
/// # Safety
/// As for [`super::compress_device`].
pub unsafe fn apply_device(request: &Request, memory: &FixBuffers, stream: Stream) -> Result<()> {
    let plan = Workspace::apply(request)?;
    let job = Job::new(request, &plan, &memory.buffers(), Direction::Decompress);
    let job = job.of_fix(request.config(), memory.report);
    let call = FixCall { call: Call::Apply, plan, shape: Shape::new(request, memory.fix_bytes), job };
    // SAFETY: the caller's promise.
    unsafe { call.apply(request.config(), memory, stream) }
}

/// [`apply_device`] for a volume.
///
/// # Safety
/// As for [`super::compress_device`].
pub unsafe fn apply_volume_device(
    request: &VolumeRequest,
    memory: &VolumeFixBuffers,
    stream: Stream,
) -> Result<()> {
    let plan = Workspace::apply_volume(request)?;
    let job = Job::volume(request, &plan, (&memory.buffers(), memory.field[2]), Direction::Decompress);
    let job = job.of_fix(request.config(), memory.report);
    let shape = Shape::of_volume(request, memory.fix_bytes);
    let call = FixCall { call: Call::ApplyVolume, plan, shape, job };
    // SAFETY: the caller's promise.
    unsafe { call.apply(request.config(), memory, stream) }
}

/// A call on a fix, and what its kernels take.
struct FixCall {
    call: Call,
    plan: Workspace,
    shape: Shape,
    job: Job,
}

impl FixCall {
    /// # Safety
    /// As for [`super::compress_device`].
    unsafe fn make<const N: usize>(
        self,
        config: &Config,
        other: &Config,
        memory: &FixMemory<N>,
        stream: Stream,
    ) -> Result<()> {
        let header_bytes = if N == 3 { VOLUME_HEADER_BYTES } else { HEADER_BYTES };
        super::check_header_fits("fix", memory.fix_bytes, header_bytes)?;
        let original = FixMemory::components(NAMES[0], memory.field, config, config.halo);
        let other = FixMemory::components(NAMES[1], memory.other, other, 0);
        let ranges: Vec<Range> = original.chain(other).chain(memory.others("dst")).collect();
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(config, memory.workspace_bytes, &ranges, stream) }
    }

    /// # Safety
    /// As for [`super::compress_device`].
    unsafe fn apply<const N: usize>(
        self,
        config: &Config,
        memory: &FixMemory<N>,
        stream: Stream,
    ) -> Result<()> {
        let field = FixMemory::components(NAMES[0], memory.field, config, 0);
        let ranges: Vec<Range> = field.chain(memory.others("fix")).collect();
        // SAFETY: the caller's promise.
        unsafe { self.enqueue(config, memory.workspace_bytes, &ranges, stream) }
    }

    /// # Safety
    /// As for [`super::compress_device`].
    unsafe fn enqueue(
        self,
        config: &Config,
        workspace_bytes: u64,
        ranges: &[Range],
        stream: Stream,
    ) -> Result<()> {
        let FixCall { call, plan, shape, job } = self;
        call.check(&shape)?;
        check_workspace(workspace_bytes, plan.bytes)?;
        let needs = Needs::of(config, &shape).relative(config.bound_kind == BoundKind::Relative);
        let dtype = matches!(config.dtype, Dtype::F64) as usize;
        // SAFETY: the kernels of the call take a Job; the rest is the caller's promise.
        unsafe {
            within(stream, ranges, |module| {
                Launcher { module, call, dtype, shape, argument: job, needs }.enqueue(stream)
            })
        }
    }
}
