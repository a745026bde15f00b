//! The log callback: hands the crate's `tracing` events to a C function.
//!
//! Nothing is registered with `tracing` before the first callback is set. Our subscriber then becomes
//! the process-wide default if there is none; where an application has its own, that one stays and
//! ours is in force only inside calls, on the calling thread. In the shared library `tracing` is
//! private to the library, so the first case always holds.

use super::status::{factz_status, guard};
use crate::error::Result;
use std::ffi::{c_char, c_int, c_void, CString};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, RwLock};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span;
use tracing::subscriber::Interest;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Level of an event: a call failed.
pub const FACTZ_LOG_ERROR: i32 = 1;
/// Level of an event: something is likely not as intended.
pub const FACTZ_LOG_WARN: i32 = 2;
/// Level of an event: worth knowing in normal operation.
pub const FACTZ_LOG_INFO: i32 = 3;
/// Level of an event: what a call did.
pub const FACTZ_LOG_DEBUG: i32 = 4;
/// Level of an event: every step.
pub const FACTZ_LOG_TRACE: i32 = 5;

/// Receives an event of the library.
///
/// It may be called from any thread that is inside a factz function, from worker threads of the
/// library, and from several at once. It must return normally: no longjmp, no C++ exception. It must
/// not call factz functions other than `factz_status_string` and `factz_version`.
///
/// @param level    FACTZ_LOG_ERROR (1) to FACTZ_LOG_TRACE (5)
/// @param target   the part of the library, such as "factz"; valid during the call only
/// @param message  one line of text; valid during the call only
/// @param user     the pointer given to `factz_set_log_callback`
pub type factz_log_callback = Option<
    unsafe extern "C" fn(level: c_int, target: *const c_char, message: *const c_char, user: *mut c_void),
>;

/// Sets the function that receives the library's events, for the whole process; NULL turns it off,
/// as it is from the start. While off, events cost next to nothing and their text is never made.
///
/// Does not block. Thread-safe, but a call that runs meanwhile in another thread may still use the
/// former callback: keep `user` alive until such calls have returned.
///
/// @param callback  the function, or NULL
/// @param user      handed to the callback as it is; may be NULL; the library never looks into it
/// @return FACTZ_OK, or FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_set_log_callback(
    callback: factz_log_callback,
    user: *mut c_void,
) -> factz_status {
    guard(|| set(callback.map(|function| Callback { function, user: user as usize })))
}

#[derive(Clone, Copy)]
struct Callback {
    function: unsafe extern "C" fn(c_int, *const c_char, *const c_char, *mut c_void),
    /// The caller's pointer: only handed back, hence a number that may cross threads.
    user: usize,
}

static CALLBACK: RwLock<Option<Callback>> = RwLock::new(None);
/// Whether [`CALLBACK`] holds one.
static ENABLED: AtomicBool = AtomicBool::new(false);
/// Our subscriber, and whether it must be put in force around each call.
static BRIDGE: OnceLock<(Dispatch, bool)> = OnceLock::new();

fn set(callback: Option<Callback>) -> Result<()> {
    *CALLBACK.write().unwrap_or_else(|e| e.into_inner()) = callback;
    ENABLED.store(callback.is_some(), Ordering::Release);
    if callback.is_some() {
        BRIDGE.get_or_init(|| {
            let bridge = Dispatch::new(Bridge);
            let scoped = tracing::dispatcher::set_global_default(bridge.clone()).is_err();
            (bridge, scoped)
        });
    }
    if BRIDGE.get().is_some() {
        tracing::callsite::rebuild_interest_cache();
    }
    Ok(())
}

/// Runs `body` so that its events reach the callback, if there is one.
pub(super) fn with_callback<R>(body: impl FnOnce() -> R) -> R {
    match BRIDGE.get() {
        Some((bridge, true)) if ENABLED.load(Ordering::Acquire) => {
            tracing::dispatcher::with_default(bridge, body)
        }
        _ => body(),
    }
}

/// Hands events to the callback. Spans carry nothing here.
struct Bridge;

impl Subscriber for Bridge {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) {
            Interest::sometimes()
        } else {
            Interest::never()
        }
    }
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("factz") && ENABLED.load(Ordering::Acquire)
    }
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if ENABLED.load(Ordering::Acquire) { LevelFilter::TRACE } else { LevelFilter::OFF })
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        let Some(Callback { function, user }) = *CALLBACK.read().unwrap_or_else(|e| e.into_inner()) else {
            return;
        };
        let level = match *event.metadata().level() {
            Level::ERROR => FACTZ_LOG_ERROR,
            Level::WARN => FACTZ_LOG_WARN,
            Level::INFO => FACTZ_LOG_INFO,
            Level::DEBUG => FACTZ_LOG_DEBUG,
            Level::TRACE => FACTZ_LOG_TRACE,
        };
        let mut text = Text(String::new());
        event.record(&mut text);
        let target = terminated(event.metadata().target());
        let message = terminated(text.0.trim_start());
        // SAFETY: whoever set the callback promised that it takes these arguments from any thread;
        // both strings live until it returns.
        unsafe { function(level, target.as_ptr(), message.as_ptr(), user as *mut c_void) }
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// The message of an event followed by its other fields as name=value.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = match field.name() {
            "message" => {
                let rest = std::mem::take(&mut self.0);
                write!(self.0, "{value:?}{rest}")
            }
            name => write!(self.0, " {name}={value:?}"),
        };
    }
}

fn terminated(text: &str) -> CString {
    let bytes: Vec<u8> = text.bytes().filter(|&b| b != 0).collect();
    CString::new(bytes).unwrap_or_default()
}
