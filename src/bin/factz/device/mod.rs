//! A CUDA device as an application uses it: its context, memory and streams, and the library's device
//! functions on fields of the host. Everything here may block.
//!
//! The GPU tests include this folder, which therefore uses nothing else of this program.

// The tests use all of it, the program a part.
#![allow(dead_code)]

mod field;
mod fixes;
pub mod memory;
pub mod pipeline;
pub mod queue;
mod staged;
pub mod volume;

use cudarc::driver::sys::{self, CUcontext, CUresult};
use factz::{device as cuda, Error, Result, Status};
use std::ffi::{c_int, CStr};
use std::marker::PhantomData;
use std::ptr::null_mut;

/// Turns the answer of a driver function into a result that names the function.
fn check(answer: CUresult, what: &str) -> Result<()> {
    let Err(error) = answer.result() else { return Ok(()) };
    let status = match answer {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Status::OutOfMemory,
        _ => Status::Cuda,
    };
    let name = error.error_name().map_or("unknown error".into(), |name| name.to_string_lossy());
    Err(Error::new(status, format!("{what}: {name}")))
}

/// The primary context of a device, current on this thread until dropped.
pub struct Device {
    ordinal: c_int,
    context: CUcontext,
    // The context is current on one thread.
    _thread: PhantomData<*const ()>,
}

/// The version of CUDA that the driver supports, such as "CUDA 13.0".
pub fn driver_version() -> Result<String> {
    cuda::available()?;
    let mut version = 0;
    // SAFETY: writes a number; the driver is present.
    check(unsafe { sys::cuDriverGetVersion(&mut version) }, "cuDriverGetVersion")?;
    Ok(format!("CUDA {}.{}", version / 1000, version % 1000 / 10))
}

impl Device {
    /// Opens the first device, or says why there is none.
    pub fn open() -> Result<Self> {
        cuda::available()?;
        let (mut count, ordinal, mut context) = (0, 0, null_mut());
        // SAFETY: writes a number; the driver is present.
        check(unsafe { sys::cuDeviceGetCount(&mut count) }, "cuDeviceGetCount")?;
        if count == 0 {
            return Err(Error::new(Status::NoDevice, "there is no CUDA device on this machine"));
        }
        // SAFETY: the device exists; the context is released when dropped.
        unsafe {
            check(sys::cuDevicePrimaryCtxRetain(&mut context, ordinal), "cuDevicePrimaryCtxRetain")?;
            check(sys::cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")?;
        }
        Ok(Device { ordinal, context, _thread: PhantomData })
    }

    /// Makes the context current on another thread for as long as `body` runs.
    pub fn enter<R>(context: ContextHandle, body: impl FnOnce() -> R) -> Result<R> {
        // SAFETY: the device that the handle came from is still open, as its lifetime says.
        check(unsafe { sys::cuCtxPushCurrent_v2(context.0) }, "cuCtxPushCurrent")?;
        let result = body();
        let mut popped = null_mut();
        // SAFETY: pushed above.
        check(unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }, "cuCtxPopCurrent")?;
        Ok(result)
    }

    pub fn handle(&self) -> ContextHandle<'_> {
        ContextHandle(self.context, PhantomData)
    }

    /// Name and architecture, for example "NVIDIA H200 (sm_90)".
    pub fn name(&self) -> Result<String> {
        let mut text = [0; 256];
        // SAFETY: as many bytes as said; the driver ends the name with a zero.
        let name = unsafe {
            check(
                sys::cuDeviceGetName(text.as_mut_ptr(), text.len() as c_int, self.ordinal),
                "cuDeviceGetName",
            )?;
            CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
        };
        use sys::CUdevice_attribute::*;
        let major = self.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(format!("{name} (sm_{major}{minor})"))
    }

    fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<c_int> {
        let mut value = 0;
        // SAFETY: writes a number.
        let answer = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.ordinal) };
        check(answer, &format!("cuDeviceGetAttribute({attribute:?})")).map(|()| value)
    }

    /// Bytes of memory that are free, and all.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers; the context is current.
        check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, "cuMemGetInfo")?;
        Ok((free as u64, total as u64))
    }

    /// Waits for everything on the device.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the context is current.
        check(unsafe { sys::cuCtxSynchronize() }, "cuCtxSynchronize")
    }

    /// Destroys the state of the device and everything on it, as cudaDeviceReset does.
    ///
    /// # Safety
    /// Nothing of the device is used or dropped afterwards, this included, but for its own drop.
    pub unsafe fn reset(&self) -> Result<()> {
        // SAFETY: the caller's promise.
        check(unsafe { sys::cuDevicePrimaryCtxReset_v2(self.ordinal) }, "cuDevicePrimaryCtxReset")
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: pushed and retained when it was opened.
        unsafe {
            sys::cuCtxPopCurrent_v2(&mut popped);
            sys::cuDevicePrimaryCtxRelease_v2(self.ordinal);
        }
    }
}

/// The context of an open device, for other threads.
#[derive(Clone, Copy)]
pub struct ContextHandle<'a>(CUcontext, PhantomData<&'a Device>);
// SAFETY: a context may be current on several threads.
unsafe impl Send for ContextHandle<'_> {}
unsafe impl Sync for ContextHandle<'_> {}
