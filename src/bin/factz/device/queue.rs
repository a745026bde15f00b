//! CUDA streams, with times and graphs.

use super::check;
use cudarc::driver::sys::{self, CUevent, CUgraphExec};
use factz::device::Stream;
use factz::Result;
use std::ptr::null_mut;

/// A CUDA stream of the current context that does not wait for the default stream.
pub struct Queue {
    stream: Stream,
}

// SAFETY: streams may be used from any thread.
unsafe impl Send for Queue {}
unsafe impl Sync for Queue {}

impl Queue {
    pub fn new() -> Result<Self> {
        let mut stream = null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes a handle; destroyed when dropped.
        check(unsafe { sys::cuStreamCreate(&mut stream, flags) }, "cuStreamCreate")?;
        Ok(Queue { stream })
    }

    pub fn stream(&self) -> Stream {
        self.stream
    }

    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: a live stream.
        check(unsafe { sys::cuStreamSynchronize(self.stream) }, "cuStreamSynchronize")
    }

    /// Records what `body` enqueues on this stream.
    pub fn capture(&self, body: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let (mut graph, mut executable) = (null_mut(), null_mut());
        // SAFETY: a live stream; the handles are destroyed here and when the graph is dropped.
        unsafe {
            check(sys::cuStreamBeginCapture_v2(self.stream, mode), "cuStreamBeginCapture")?;
            let recorded = body();
            check(sys::cuStreamEndCapture(self.stream, &mut graph), "cuStreamEndCapture").and(recorded)?;
            let made = sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0);
            sys::cuGraphDestroy(graph);
            check(made, "cuGraphInstantiate")?;
        }
        Ok(Graph { executable })
    }

    /// Milliseconds that the device spends on what `body` enqueues on this stream.
    pub fn time(&self, body: impl FnOnce() -> Result<()>) -> Result<f64> {
        let (start, end) = (Event::new()?, Event::new()?);
        start.record(self)?;
        body()?;
        end.record(self)?;
        end.since(&start)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: created by new.
        unsafe { sys::cuStreamDestroy_v2(self.stream) };
    }
}

/// Recorded work that can be launched again and again.
pub struct Graph {
    executable: CUgraphExec,
}

impl Graph {
    pub fn launch(&self, queue: &Queue) -> Result<()> {
        // SAFETY: live handles.
        check(unsafe { sys::cuGraphLaunch(self.executable, queue.stream) }, "cuGraphLaunch")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by capture.
        unsafe { sys::cuGraphExecDestroy(self.executable) };
    }
}

/// A point in a stream.
pub struct Event {
    event: CUevent,
}

impl Event {
    pub fn new() -> Result<Self> {
        let mut event = null_mut();
        // SAFETY: writes a handle; destroyed when dropped.
        check(unsafe { sys::cuEventCreate(&mut event, 0) }, "cuEventCreate")?;
        Ok(Event { event })
    }

    pub fn record(&self, queue: &Queue) -> Result<()> {
        // SAFETY: live handles.
        check(unsafe { sys::cuEventRecord(self.event, queue.stream) }, "cuEventRecord")
    }

    /// Waits for this event and answers the milliseconds since the other.
    pub fn since(&self, start: &Event) -> Result<f64> {
        let mut milliseconds = 0f32;
        // SAFETY: live handles, both recorded.
        unsafe {
            check(sys::cuEventSynchronize(self.event), "cuEventSynchronize")?;
            check(
                sys::cuEventElapsedTime_v2(&mut milliseconds, start.event, self.event),
                "cuEventElapsedTime",
            )?;
        }
        Ok(milliseconds as f64)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by new.
        unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
