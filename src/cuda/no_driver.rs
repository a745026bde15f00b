//! Stands for the driver in a library without the feature `cuda`: the device functions check their arguments
//! and then answer that there are no kernels. No [`Module`] exists, so nothing behind this is reached.

use super::memory::Memory;
use super::schedule::Kernel;
use super::DevicePointer;
use crate::error::{Error, Result, Status};
use std::ffi::{c_int, c_void};

pub type Stream = *mut c_void;

pub(super) enum Module {}

pub(super) fn available() -> Result<()> {
    Err(Error::new(Status::NoDevice, "factz was built without CUDA: the processor can do the work"))
}

/// # Safety
/// None is needed; the driver's function of this name has conditions.
pub(super) unsafe fn with_kernels<R>(_: Stream, _: impl FnOnce(&'static Module) -> Result<R>) -> Result<R> {
    available()?;
    unreachable!("there are no kernels")
}

impl Module {
    pub(super) unsafe fn clear(&self, _: DevicePointer, _: u64, _: Stream) -> Result<()> {
        match *self {}
    }

    pub(super) unsafe fn launch<A>(&self, _: &Kernel, _: &A, _: Stream) -> Result<()> {
        match *self {}
    }

    pub(super) fn is_capturing(&self, _: Stream) -> Result<bool> {
        match *self {}
    }

    pub(super) fn memory(&self, _: DevicePointer) -> Result<Memory> {
        match *self {}
    }

    pub(super) fn device(&self) -> c_int {
        match *self {}
    }

    pub(super) fn is_small(&self) -> bool {
        match *self {}
    }

    pub(super) fn multiprocessors(&self) -> u64 {
        match *self {}
    }
}
