//! What the driver knows about the caller's pointers: memory that the device cannot reach is refused before
//! anything is enqueued. A launch would not fail on it; the kernel would, and with it the context.

use super::driver::Module;
use super::memory::Place;
use super::{DevicePointer, Stream};
use crate::error::{Error, Result};
use crate::grid::field::Layout;
use crate::request::{Config, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};

/// Bytes that a call reads or writes, under the name that the caller knows them by.
pub(super) struct Range {
    name: &'static str,
    /// The caller's pointer; with ghost vertices the range begins before it.
    pointer: DevicePointer,
    alignment: u64,
    first: DevicePointer,
    last: DevicePointer,
    /// Whether mapped pinned host memory is allowed.
    may_be_pinned: bool,
}

impl Range {
    /// A buffer of so many bytes.
    pub(super) fn buffer(name: &'static str, pointer: DevicePointer, bytes: u64, alignment: u64) -> Range {
        let last = pointer.saturating_add(bytes.saturating_sub(1));
        Range { name, pointer, alignment, first: pointer, last, may_be_pinned: true }
    }

    /// The workspace, which kernels access all the time: mapped host memory would be too slow and is refused.
    pub(super) fn workspace(pointer: DevicePointer, bytes: u64) -> Range {
        let buffer = Range::buffer("workspace", pointer, bytes, crate::cuda::workspace::ALIGNMENT);
        Range { may_be_pinned: false, ..buffer }
    }

    /// A component of a field, with the ghost vertices that `halo` names.
    pub(super) fn component(
        name: &'static str,
        pointer: DevicePointer,
        config: &Config,
        layout: Layout,
        halo: u32,
    ) -> Range {
        let bytes = config.dtype.bytes();
        let offset = |x: u64, y: u64| {
            (y as u128 * layout.pitch as u128 + x as u128 * layout.stride as u128) * bytes as u128
        };
        let side = |bit: u32| (halo & bit != 0) as u64;
        let before = offset(side(SIDE_X_MIN), side(SIDE_Y_MIN));
        let last_row = (config.nz - 1) * config.plane_rows + config.ny - 1;
        let after = offset(config.nx - 1 + side(SIDE_X_MAX), last_row + side(SIDE_Y_MAX));
        let end = pointer as u128 + after + bytes as u128 - 1;
        Range {
            name,
            pointer,
            alignment: bytes,
            first: (pointer as u128).saturating_sub(before) as u64,
            last: u64::try_from(end).unwrap_or(u64::MAX),
            may_be_pinned: true,
        }
    }

    fn check_address(&self) -> Result<()> {
        let Range { name, pointer, alignment, .. } = *self;
        if pointer == 0 {
            return Err(Error::argument(format!("{name} is null")));
        }
        if pointer % alignment != 0 {
            return Err(Error::argument(format!(
                "{name} = {pointer:#x} is not aligned to {alignment} bytes"
            )));
        }
        Ok(())
    }

    fn check_place(&self, module: &Module, stream: Stream) -> Result<()> {
        let Range { name, pointer, first, last, .. } = *self;
        let ends = if first == last { &[first][..] } else { &[first, last] };
        for &address in ends {
            let memory = module.memory(address)?;
            match memory.place {
                // Addresses that a graph under capture allocates may have no memory yet.
                Place::Unknown if !module.is_capturing(stream)? => {
                    return Err(Error::argument(if address == pointer || address == first {
                        format!(
                            "{name} = {pointer:#x} is host memory: \
                             the device functions take memory that the device can access"
                        )
                    } else {
                        format!("{name} = {pointer:#x} ends before its last byte, {address:#x}")
                    }));
                }
                Place::PinnedHost if !self.may_be_pinned => {
                    return Err(Error::argument(format!(
                        "{name} = {pointer:#x} is pinned host memory: it must be device memory"
                    )));
                }
                Place::Device if memory.device != module.device() => {
                    return Err(Error::argument(format!(
                        "{name} = {pointer:#x} is memory of device {}, the stream is of device {}",
                        memory.device,
                        module.device()
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Refuses null and misaligned pointers.
pub(super) fn check_addresses(ranges: &[Range]) -> Result<()> {
    ranges.iter().try_for_each(Range::check_address)
}

/// Refuses memory that the device of the module cannot reach.
pub(super) fn check_places(ranges: &[Range], module: &Module, stream: Stream) -> Result<()> {
    ranges.iter().try_for_each(|range| range.check_place(module, stream))
}
