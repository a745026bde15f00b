//! Events: to the `tracing` subscriber that the application has, and to the function that a C program set.
//!
//! The library registers nothing with `tracing`, so an application's subscriber works as if there were no
//! function.

use crate::runtime::panics;
use std::ffi::{c_char, c_int, c_void, CString};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::RwLock;
use tracing::Level;

/// The function that a C program set, and its own pointer.
#[derive(Clone, Copy)]
pub(crate) struct Sink {
    pub function: unsafe extern "C" fn(c_int, *const c_char, *const c_char, *mut c_void),
    /// Only handed back, hence a number that may cross threads.
    pub user: usize,
}

static SINK: RwLock<Option<Sink>> = RwLock::new(None);
/// Whether [`SINK`] holds one.
static ENABLED: AtomicBool = AtomicBool::new(false);

pub(crate) fn set_sink(sink: Option<Sink>) {
    *SINK.write().unwrap_or_else(|e| e.into_inner()) = sink;
    ENABLED.store(sink.is_some(), Ordering::Release);
}

pub(crate) fn has_sink() -> bool {
    ENABLED.load(Ordering::Acquire)
}

/// The number of a level in C.
pub(crate) fn number(level: Level) -> c_int {
    match level {
        Level::ERROR => 1,
        Level::WARN => 2,
        Level::INFO => 3,
        Level::DEBUG => 4,
        Level::TRACE => 5,
    }
}

/// Hands an event to the function of the C program, if there still is one.
pub(crate) fn hand_over(level: Level, text: fmt::Arguments<'_>) {
    let Some(Sink { function, user }) = *SINK.read().unwrap_or_else(|e| e.into_inner()) else { return };
    let bytes: Vec<u8> = text.to_string().bytes().filter(|&b| b != 0).collect();
    let message = CString::new(bytes).unwrap_or_default();
    // SAFETY: whoever set the function promised that it takes these arguments from any thread; the strings
    // live until it returns.
    panics::as_host(|| unsafe {
        function(number(level), c"factz".as_ptr(), message.as_ptr(), user as *mut c_void)
    })
}

/// An event: `event!(DEBUG, "compressed", nx = grid.nx)` says "compressed nx=40", `event!(ERROR: "{e}")` what
/// the format makes. Values are evaluated where somebody listens, and may be evaluated twice.
macro_rules! event {
    ($level:ident: $($format:tt)+) => {{
        $crate::runtime::panics::as_host(|| tracing::event!(target: "factz", tracing::Level::$level, $($format)+));
        if $crate::runtime::log::has_sink() {
            $crate::runtime::log::hand_over(tracing::Level::$level, format_args!($($format)+));
        }
    }};
    ($level:ident, $text:literal $(, $name:ident = $value:expr)* $(,)?) => {{
        $crate::runtime::panics::as_host(|| {
            tracing::event!(target: "factz", tracing::Level::$level, $($name = ?$value,)* $text)
        });
        if $crate::runtime::log::has_sink() {
            $crate::runtime::log::hand_over(
                tracing::Level::$level,
                format_args!(concat!($text $(, " ", stringify!($name), "={:?}")*) $(, $value)*),
            );
        }
    }};
}
pub(crate) use event;
