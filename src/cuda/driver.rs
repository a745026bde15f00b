//! The CUDA driver: found at run time, entered through the context of a stream, with the kernels loaded
//! once per context.

use super::memory::{Memory, Place};
use super::schedule::{Kernel, COUNT, LAUNCHES};
use super::DevicePointer;
use crate::error::{Error, Result, Status};
use crate::runtime::log::event;
use cudarc::driver::sys::{self, CUcontext, CUfunction, CUresult, CUstream};
use once_cell::sync::OnceCell;

pub use sys::CUstream as Stream;

use std::ffi::{c_int, c_void, CString};
use std::ptr::null_mut;
use std::sync::{PoisonError, RwLock};

/// The fat binary of kernels/factz.cu, aligned because the driver reads it in words.
#[repr(C, align(16))]
struct Aligned<B: ?Sized>(B);
static IMAGE: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/factz.fatbin")));

/// Errors of the driver that mean: the fat binary has no code that this device can run.
const NO_CODE: [CUresult; 4] = [
    CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUresult::CUDA_ERROR_INVALID_PTX,
    CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
];
/// Errors of the driver that mean: there is no device, or no driver that works.
const NO_DRIVER: [CUresult; 7] = [
    CUresult::CUDA_ERROR_NO_DEVICE,
    CUresult::CUDA_ERROR_STUB_LIBRARY,
    CUresult::CUDA_ERROR_NOT_INITIALIZED,
    CUresult::CUDA_ERROR_DEINITIALIZED,
    CUresult::CUDA_ERROR_SYSTEM_NOT_READY,
    CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
    CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
];

/// Turns the answer of a driver function into a result that names the function.
pub(super) fn check(answer: CUresult, what: &str) -> Result<()> {
    let Err(error) = answer.result() else { return Ok(()) };
    let text = |t: std::result::Result<&std::ffi::CStr, _>| {
        t.map_or("unknown error".into(), |t: &std::ffi::CStr| t.to_string_lossy().into_owned())
    };
    let status = match answer {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Status::OutOfMemory,
        e if NO_DRIVER.contains(&e) => Status::NoDevice,
        _ => Status::Cuda,
    };
    Err(Error::new(status, format!("{what}: {} ({})", text(error.error_name()), text(error.error_string()))))
}

/// Whether there are a driver and a device. A driver that has started is not asked again. After a failure the
/// next call tries again: a driver or a device may appear while the process runs (a module of the kernel that
/// is loaded late, a device that another process releases), and each call reports its own reason.
pub(super) fn available() -> Result<()> {
    static STARTED: OnceCell<()> = OnceCell::new();
    STARTED.get_or_try_init(start).copied()
}

fn start() -> Result<()> {
    // SAFETY: loads the driver's library, which has no preconditions.
    if !unsafe { sys::is_culib_present() } {
        let text = "there is no CUDA driver (libcuda.so.1) here: the processor can do the work";
        return Err(Error::new(Status::NoDevice, text));
    }
    // SAFETY: the library is present.
    check(unsafe { sys::cuInit(0) }, "cuInit")
}

/// The context of a stream, current on this thread until dropped.
struct Entered {
    context: CUcontext,
    current: bool,
}

impl Entered {
    /// # Safety
    /// `stream` is a live stream or one of the default streams.
    unsafe fn new(stream: CUstream) -> Result<Self> {
        let mut context = null_mut();
        // SAFETY: the caller's promise. For the default streams the driver answers the current context.
        let answer = unsafe { sys::cuStreamGetCtx(stream, &mut context) };
        if is_default(stream) && (answer != CUresult::CUDA_SUCCESS || context.is_null()) {
            // SAFETY: writes a handle.
            check(unsafe { sys::cuCtxGetCurrent(&mut context) }, "cuCtxGetCurrent")?;
        } else {
            check(answer, "cuStreamGetCtx")?;
        }
        if context.is_null() {
            return Err(Error::argument(
                "the stream is a default stream but this thread has no current CUDA context: \
                 give a stream of the device, or make a device current first",
            ));
        }
        // SAFETY: the context is that of a live stream.
        check(unsafe { sys::cuCtxPushCurrent_v2(context) }, "cuCtxPushCurrent")?;
        Ok(Entered { context, current: true })
    }

    /// Makes the context current that was so before, and says whether that worked.
    fn leave(mut self) -> Result<()> {
        self.pop()
    }

    fn pop(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.current, false) {
            let mut popped = null_mut();
            // SAFETY: pushed by new.
            return check(unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }, "cuCtxPopCurrent");
        }
        Ok(())
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // An error is on its way already.
        let _ = self.pop();
    }
}

/// Enters the context of the stream, runs `body` with its kernels and leaves.
///
/// # Safety
/// The stream is live.
pub(super) unsafe fn with_kernels<R>(
    stream: Stream,
    body: impl FnOnce(&'static Module) -> Result<R>,
) -> Result<R> {
    available()?;
    // SAFETY: the caller's promise.
    let entered = unsafe { Entered::new(stream) }?;
    let result = body(module(&entered, stream)?)?;
    entered.leave()?;
    Ok(result)
}

fn is_default(stream: CUstream) -> bool {
    // NULL, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD.
    stream as usize <= 2
}

/// Whether the stream records a graph instead of running.
fn is_capturing(stream: CUstream) -> Result<bool> {
    let mut state = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: a live stream, as the caller of the public function promised.
    check(unsafe { sys::cuStreamIsCapturing(stream, &mut state) }, "cuStreamIsCapturing")?;
    Ok(state != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}

/// The functions of a launch, by element type.
type Functions = [CUfunction; 2];

/// The kernels in one context.
pub(super) struct Module {
    device: c_int,
    functions: [Functions; COUNT],
    /// Whether a kernel may begin before the one before has ended, also in a graph.
    overlaps: bool,
    small: bool,
    /// Of the device.
    multiprocessors: u64,
}

impl Module {
    /// Enqueues zeros.
    ///
    /// # Safety
    /// The context of the stream is current and the bytes are memory of the device.
    pub(super) unsafe fn clear(&self, start: DevicePointer, bytes: u64, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        check(unsafe { sys::cuMemsetD8Async(start, 0, bytes as usize, stream) }, "cuMemsetD8Async")
    }

    /// Whether the stream records a graph instead of running.
    pub(super) fn is_capturing(&self, stream: Stream) -> Result<bool> {
        is_capturing(stream)
    }

    /// Enqueues a kernel with one argument, which the driver copies before it returns.
    ///
    /// # Safety
    /// The context of the stream is current, the kernel takes one `A`, and everything that it points to is
    /// device-accessible.
    pub(super) unsafe fn launch<A>(&self, kernel: &Kernel, argument: &A, stream: Stream) -> Result<()> {
        let Kernel { launch, dtype, blocks, threads, shared_bytes, early, together } = *kernel;
        let function = self.functions[launch][dtype];
        let mut parameters = [std::ptr::from_ref(argument).cast_mut().cast::<c_void>()];
        let attribute = match (together, early && self.overlaps) {
            (true, _) => Some(sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { cooperative: 1 },
            }),
            (_, true) => Some(sys::CUlaunchAttribute {
                id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                pad: [0; 4],
                value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
            }),
            _ => None,
        };
        let answer = if let Some(mut attribute) = attribute {
            let config = sys::CUlaunchConfig {
                gridDimX: blocks,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: threads,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: shared_bytes,
                hStream: stream,
                attrs: &mut attribute,
                numAttrs: 1,
            };
            // SAFETY: the caller's promise.
            unsafe { sys::cuLaunchKernelEx(&config, function, parameters.as_mut_ptr(), null_mut()) }
        } else {
            // SAFETY: the caller's promise.
            unsafe {
                sys::cuLaunchKernel(
                    function,
                    blocks,
                    1,
                    1,
                    threads,
                    1,
                    1,
                    shared_bytes,
                    stream,
                    parameters.as_mut_ptr(),
                    null_mut(),
                )
            }
        };
        if answer == sys::CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        check(answer, &format!("cuLaunchKernel({}, {blocks} blocks of {threads})", kernel.symbol()))
    }

    pub(super) fn memory(&self, address: DevicePointer) -> Result<Memory> {
        memory_at(address)
    }

    pub(super) fn device(&self) -> c_int {
        self.device
    }

    /// Whether the kernels are those for devices with less shared memory (below compute capability 8.0).
    pub(super) fn is_small(&self) -> bool {
        self.small
    }

    /// Multiprocessors of the device, which the grids depend on.
    pub(super) fn multiprocessors(&self) -> u64 {
        self.multiprocessors
    }
}

// SAFETY: handles of the driver, which may be used from any thread.
unsafe impl Send for Module {}
unsafe impl Sync for Module {}

/// The kernels of one context, from the first call in it on that could load them.
struct Slot {
    /// Unique in the process, other than the address of the context.
    context_id: u64,
    module: OnceCell<Module>,
}

/// One per context that was ever used; they are small and live as long as the process, since nobody
/// says when a context is gone.
static SLOTS: RwLock<Vec<&'static Slot>> = RwLock::new(Vec::new());

/// The slot of a context, made where there is none.
fn slot(context_id: u64) -> &'static Slot {
    let of = |slots: &[&'static Slot]| slots.iter().find(|slot| slot.context_id == context_id).copied();
    if let Some(slot) = of(&SLOTS.read().unwrap_or_else(PoisonError::into_inner)) {
        return slot;
    }
    let mut slots = SLOTS.write().unwrap_or_else(PoisonError::into_inner);
    of(&slots).unwrap_or_else(|| {
        let slot: &'static Slot = Box::leak(Box::new(Slot { context_id, module: OnceCell::new() }));
        slots.push(slot);
        slot
    })
}

/// The kernels of the current context, loaded if they are not. One thread loads them, others that need them
/// wait. If that fails, the call reports why, nothing stays loaded, and the next call in the context tries
/// again: memory may be free by then, or the capture of the stream over.
fn module(entered: &Entered, stream: CUstream) -> Result<&'static Module> {
    let mut id = 0;
    // SAFETY: the context is live.
    check(unsafe { sys::cuCtxGetId(entered.context, &mut id) }, "cuCtxGetId")?;
    slot(id).module.get_or_try_init(|| {
        if is_capturing(stream)? {
            return Err(Error::new(
                Status::Cuda,
                "the stream is being captured and the kernels are not loaded yet: \
                 call factz_prepare_device before the capture",
            ));
        }
        load()
    })
}

fn load() -> Result<Module> {
    let mut device = 0;
    // SAFETY: writes a number.
    check(unsafe { sys::cuCtxGetDevice(&mut device) }, "cuCtxGetDevice")?;
    let span = tracing::info_span!("load_kernels", device);
    let _entered = span.enter();
    let mut image = null_mut();
    // SAFETY: a complete fat binary.
    let answer = unsafe { sys::cuModuleLoadData(&mut image, IMAGE.0.as_ptr().cast::<c_void>()) };
    if NO_CODE.contains(&answer) {
        return Err(no_code(device, answer));
    }
    check(answer, "cuModuleLoadData")?;
    let mut module = Module {
        device,
        functions: [[null_mut(); 2]; COUNT],
        overlaps: false,
        small: false,
        multiprocessors: 0,
    };
    if let Err(error) = find_all(image, &mut module) {
        // SAFETY: loaded above and not in use.
        unsafe { sys::cuModuleUnload(image) };
        return Err(error);
    }
    event!(INFO, "kernels loaded", device = device, bytes = IMAGE.0.len());
    Ok(module)
}

/// Looks up every kernel.
fn find_all(image: sys::CUmodule, module: &mut Module) -> Result<()> {
    let device = module.device;
    for (launch, functions) in LAUNCHES.iter().zip(&mut module.functions) {
        for (dtype, function) in functions.iter_mut().enumerate() {
            *function = find_function(image, device, &launch.symbol(dtype))?;
        }
    }
    // The kernels are all for one compute capability.
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION;
    let architecture = attribute_of(module.functions[0][0], attribute, &LAUNCHES[0].symbol(0))?;
    module.overlaps = can_overlap(architecture)?;
    module.small = architecture < 80;
    module.multiprocessors = multiprocessors_of(device)?;
    set_attributes(module)
}

/// Tells the driver how much shared memory the kernels take.
fn set_attributes(module: &Module) -> Result<()> {
    use sys::CUfunction_attribute::*;
    for (launch, functions) in LAUNCHES.iter().zip(&module.functions) {
        for (dtype, &function) in functions.iter().enumerate() {
            let set = |attribute: sys::CUfunction_attribute, value| {
                // SAFETY: a function of the module.
                let answer = unsafe { sys::cuFuncSetAttribute(function, attribute, value) };
                let kernel = launch.symbol(dtype);
                check(answer, &format!("cuFuncSetAttribute({kernel}, {attribute:?}, {value})"))
            };
            let shared_bytes = launch.shared_bytes_on(module.small);
            if shared_bytes > 48 << 10 {
                set(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes as c_int)?;
            }
            if launch.prefers_shared_memory() {
                set(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100)?;
            }
        }
    }
    Ok(())
}

fn find_function(image: sys::CUmodule, device: c_int, name: &str) -> Result<CUfunction> {
    let mut function = null_mut();
    let symbol = CString::new(name).expect("names hold no zero");
    // SAFETY: a loaded module.
    let answer = unsafe { sys::cuModuleGetFunction(&mut function, image, symbol.as_ptr()) };
    if NO_CODE.contains(&answer) {
        return Err(no_code(device, answer));
    }
    check(answer, &format!("cuModuleGetFunction({name})"))?;
    // Where the driver loads lazily, asking for an attribute makes it load the kernel now.
    attribute_of(function, sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, name)?;
    Ok(function)
}

/// An attribute of a kernel, whose name is for the message.
fn attribute_of(function: CUfunction, attribute: sys::CUfunction_attribute, name: &str) -> Result<c_int> {
    let mut value = 0;
    // SAFETY: a function of a loaded module.
    let answer = unsafe { sys::cuFuncGetAttribute(&mut value, attribute, function) };
    check(answer, &format!("cuFuncGetAttribute({name}, {attribute:?})"))?;
    Ok(value)
}

/// Whether kernels for this compute capability hold what it takes to wait for one another (from 9.0 on), and
/// the driver can capture launches that begin early.
fn can_overlap(architecture: c_int) -> Result<bool> {
    const LEAST_ARCHITECTURE: c_int = 90;
    const LEAST_DRIVER: c_int = 12030;
    let mut driver = 0;
    // SAFETY: writes a number.
    check(unsafe { sys::cuDriverGetVersion(&mut driver) }, "cuDriverGetVersion")?;
    Ok(architecture >= LEAST_ARCHITECTURE && driver >= LEAST_DRIVER)
}

fn multiprocessors_of(device: c_int) -> Result<u64> {
    let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    let mut count: c_int = 0;
    // SAFETY: writes a number.
    check(unsafe { sys::cuDeviceGetAttribute(&mut count, attribute, device) }, "cuDeviceGetAttribute")?;
    Ok(count.max(1) as u64)
}

fn no_code(device: c_int, answer: CUresult) -> Error {
    use sys::CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
    };
    let [major, minor] = [MAJOR, MINOR].map(|attribute| {
        let mut value = 0;
        // SAFETY: writes a number.
        unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, device) };
        value
    });
    Error::new(
        Status::NoDevice,
        format!(
            "this library has no kernels for device {device} (sm_{major}{minor}): {}",
            check(answer, "cuModuleLoadData").expect_err("an error").message
        ),
    )
}

/// Asks the driver where an address lies.
fn memory_at(address: DevicePointer) -> Result<Memory> {
    use sys::CUpointer_attribute::*;
    let (mut place, mut managed, mut device) = (0u32, 0u32, 0 as c_int);
    let mut attributes = [
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
    ];
    let mut values = [(&raw mut place).cast::<c_void>(), (&raw mut managed).cast(), (&raw mut device).cast()];
    // SAFETY: as many attributes as values, each with space for its type. An address that the driver
    // does not know is no error and leaves zeros.
    let answer =
        unsafe { sys::cuPointerGetAttributes(3, attributes.as_mut_ptr(), values.as_mut_ptr(), address) };
    check(answer, "cuPointerGetAttributes")?;
    let place = match place {
        _ if managed & 0xff != 0 => Place::Managed,
        k if k == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32 => Place::PinnedHost,
        k if k == sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 => Place::Device,
        _ => Place::Unknown,
    };
    Ok(Memory { place, device })
}
