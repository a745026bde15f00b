//! Fixes for dense fields in host memory, made and applied on the device.

use super::field::{size, DeviceField};
use super::memory::Buffer;
use super::staged::Call;
use super::Device;
use factz::device::{
    apply_device, apply_volume_device, protect_device, protect_volume_device, FixMemory, Stream, Workspace,
};
use factz::{
    max_fix_bytes, max_volume_fix_bytes, Error, FixReport, Real, Request, Result, Status, VolumeRequest,
};

/// Enqueues work on a fix with `enqueue`, waits for it, and answers its report or an error with its status.
fn run<const N: usize>(
    call: &Call,
    field: &DeviceField<N>,
    other: [u64; N],
    enqueue: impl FnOnce(&FixMemory<N>, Stream) -> Result<()>,
) -> Result<FixReport> {
    let memory = FixMemory {
        field: field.pointers(),
        other,
        fix: call.stream.pointer(),
        fix_bytes: call.stream.bytes() as u64,
        workspace: call.workspace.pointer(),
        workspace_bytes: call.workspace.bytes() as u64,
        report: call.report.pointer(),
    };
    call.wait_for(|stream| enqueue(&memory, stream))?;
    let report = call.report.read_fix_report()?;
    match report.status {
        Status::Ok => Ok(report),
        status => Err(Error::new(status, format!("the device ended the work with {status:?}"))),
    }
}

/// Makes a fix of at most `most` bytes.
fn make<const N: usize>(
    [original, other]: [DeviceField<N>; 2],
    (most, plan): (u64, Workspace),
    enqueue: impl FnOnce(&FixMemory<N>, Stream) -> Result<()>,
) -> Result<(FixReport, Vec<u8>)> {
    let call = Call::new(Buffer::new(size(most)?)?, &plan)?;
    let report = run(&call, &original, other.pointers(), enqueue)?;
    let fix = call.stream.read(0, size(report.fix_bytes)?)?;
    Ok((report, fix))
}

/// Applies a fix to a field with these components, which change if it succeeds alone.
fn apply<T: Real, const N: usize>(
    room: DeviceField<N>,
    components: [&mut [T]; N],
    (fix, plan): (&[u8], Workspace),
    enqueue: impl FnOnce(&FixMemory<N>, Stream) -> Result<()>,
) -> Result<FixReport> {
    let field = room.filled(components.each_ref().map(|c| &**c))?;
    let call = Call::new(Buffer::from_bytes(fix)?, &plan)?;
    let report = run(&call, &field, [0; N], enqueue)?;
    field.copy_to(components)?;
    Ok(report)
}

impl Device {
    /// Makes the fix of a reconstruction of planes.
    pub fn protect<T: Real>(
        &self,
        request: &Request,
        original: [&[T]; 2],
        other: [&[T]; 2],
    ) -> Result<(FixReport, Vec<u8>)> {
        let pair = [DeviceField::new(request)?.filled(original)?, DeviceField::new(request)?.filled(other)?];
        let needs = (max_fix_bytes(request), Workspace::protect(request)?);
        // SAFETY: the buffers have the sizes that the request implies and live until the queue is empty.
        make(pair, needs, |memory, stream| unsafe { protect_device(&[*request; 2], memory, stream) })
    }

    /// Makes the fix of a reconstruction of a volume.
    pub fn protect_volume<T: Real>(
        &self,
        request: &VolumeRequest,
        original: [&[T]; 3],
        other: [&[T]; 3],
    ) -> Result<(FixReport, Vec<u8>)> {
        let room = || DeviceField::of_bytes(request.field_bytes());
        let pair = [room()?.filled(original)?, room()?.filled(other)?];
        let needs = (max_volume_fix_bytes(request), Workspace::protect_volume(request)?);
        // SAFETY: as in protect.
        make(pair, needs, |memory, stream| unsafe { protect_volume_device(&[*request; 2], memory, stream) })
    }

    /// Applies a fix to the planes that it was made for.
    pub fn apply<T: Real>(
        &self,
        request: &Request,
        fix: &[u8],
        components: [&mut [T]; 2],
    ) -> Result<FixReport> {
        let (room, plan) = (DeviceField::new(request)?, Workspace::apply(request)?);
        // SAFETY: as in protect.
        apply(room, components, (fix, plan), |memory, stream| unsafe {
            apply_device(request, memory, stream)
        })
    }

    /// Applies a fix to the volume that it was made for.
    pub fn apply_volume<T: Real>(
        &self,
        request: &VolumeRequest,
        fix: &[u8],
        components: [&mut [T]; 3],
    ) -> Result<FixReport> {
        let (room, plan) = (DeviceField::of_bytes(request.field_bytes())?, Workspace::apply_volume(request)?);
        // SAFETY: as in protect.
        apply(room, components, (fix, plan), |memory, stream| unsafe {
            apply_volume_device(request, memory, stream)
        })
    }
}
