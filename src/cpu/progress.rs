//! How far a call has come.

use crate::runtime::panics;
use std::sync::atomic::{AtomicU64, Ordering};

/// Called now and then from any thread with the fraction of the work that is done (0 to 1).
pub type Progress<'a> = &'a (dyn Fn(f64) + Sync);

/// Counts finished tiles for the caller's progress display.
pub(crate) struct Meter<'a> {
    progress: Option<Progress<'a>>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(progress: Option<Progress<'a>>, total: u64) -> Self {
        Meter { progress, done: AtomicU64::new(0), total }
    }

    pub(crate) fn add(&self, n: u64) {
        if let Some(report) = self.progress {
            let done = self.done.fetch_add(n, Ordering::Relaxed) + n;
            panics::as_host(|| report(done as f64 / self.total as f64));
        }
    }
}
