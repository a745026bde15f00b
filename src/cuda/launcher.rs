//! A call ready to be enqueued: the launches of its table (schedule.rs) with the argument of their kernels.

use super::driver::Module;
use super::launch::{Call, Launch, Needs, Shape};
use super::schedule::Kernel;
use super::Stream;
use crate::error::Result;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether kernels may begin before the previous one has ended.
static OVERLAP: AtomicBool = AtomicBool::new(true);

/// Switches the overlap of kernels on (the default) or off for all later calls of the process, and returns
/// the previous setting. With overlap a kernel may begin before the previous one has ended, on devices that
/// support it. The results have the same bits either way; calls take longer without overlap. The switch helps
/// to find out whether overlap causes a fault.
pub fn set_overlap(allowed: bool) -> bool {
    OVERLAP.swap(allowed, Ordering::Relaxed)
}

pub(super) struct Launcher<'a, A> {
    pub(super) module: &'a Module,
    pub(super) call: Call,
    /// 0 f32, 1 f64.
    pub(super) dtype: usize,
    pub(super) shape: Shape,
    pub(super) argument: A,
    pub(super) needs: Needs,
}

impl<A> Launcher<'_, A> {
    /// The launches that the request needs, with their numbers.
    pub(super) fn launches(&self) -> impl Iterator<Item = (usize, &'static Launch)> + use<A> {
        self.call.launches_for(self.needs)
    }

    /// # Safety
    /// The context of the stream is current, the kernels of the call take an `A`, and everything that it
    /// points to is device-accessible.
    pub(super) unsafe fn launch(&self, number: usize, stream: Stream) -> Result<()> {
        let shape = self.shape.on(self.module.multiprocessors());
        let kernel = Kernel::new(number, self.dtype, &shape, self.module.is_small())?;
        let kernel = Kernel { early: kernel.early && OVERLAP.load(Ordering::Relaxed), ..kernel };
        // SAFETY: the caller's promise.
        unsafe { self.module.launch(&kernel, &self.argument, stream) }
    }

    /// # Safety
    /// As for [`Launcher::launch`].
    pub(super) unsafe fn enqueue(&self, stream: Stream) -> Result<()> {
        // SAFETY: the caller's promise.
        self.launches().try_for_each(|(number, _)| unsafe { self.launch(number, stream) })
    }

    /// Hands the launches to `each` in their order, each with the names of its kernel and phase.
    ///
    /// # Safety
    /// As for [`Launcher::launch`].
    pub(super) unsafe fn each(
        &self,
        stream: Stream,
        mut each: impl FnMut(String, &'static str, &dyn Fn() -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        self.launches().try_for_each(|(number, launch)| {
            // SAFETY: the caller's promise.
            each(launch.symbol(self.dtype), launch.phase, &|| unsafe { self.launch(number, stream) })
        })
    }
}
