//! A Rust program that uses the C interface keeps its own panic hook and its own `tracing` subscriber,
//! whenever it sets them. Both are for the whole process, so each test runs again in a process of its own.

use crate::support::capi::{expect, ok};
use crate::support::child;
use factz::capi::config::*;
use factz::capi::log::*;
use factz::capi::status::*;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::panic::catch_unwind;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

/// A call that fails, and so makes an event.
fn fail() {
    let mut config = MaybeUninit::uninit();
    let status = unsafe { factz_config_init(config.as_mut_ptr(), 1, 1, 4242, 0.0) };
    expect(status, FACTZ_ERROR_INVALID_CONFIG, "4242");
}

fn set(callback: factz_log_callback) {
    ok(unsafe { factz_set_log_callback(callback, null_mut()) });
}

static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn collect_panics() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload().downcast_ref::<&str>().copied().unwrap_or("?");
        PANICS.lock().unwrap().push(text.to_owned());
    }));
}

unsafe extern "C" fn panics_inside(_: c_int, _: *const c_char, _: *const c_char, _: *mut c_void) {
    assert!(catch_unwind(|| panic!("in the callback")).is_err());
    assert!(std::thread::spawn(|| panic!("beside the callback")).join().is_err());
}

#[test]
fn panics_of_the_host_reach_its_hook() {
    runs_alone!("panics_of_the_host_reach_its_hook");
    collect_panics();
    set(Some(panics_inside));
    fail();
    assert!(catch_unwind(|| panic!("after the call")).is_err());
    let _ = std::panic::take_hook();
    assert_eq!(*PANICS.lock().unwrap(), ["in the callback", "beside the callback", "after the call"]);
}

/// Rust lets no panic out of an `extern "C"` function: it ends the process, but not before the hook has
/// spoken.
unsafe extern "C" fn panics_out(_: c_int, _: *const c_char, _: *const c_char, _: *mut c_void) {
    panic!("out of the callback");
}

#[test]
fn a_callback_that_panics_is_heard() {
    if let Some(out) = child(module_path!(), "a_callback_that_panics_is_heard") {
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && text.contains("out of the callback"), "{text}");
        return;
    }
    set(Some(panics_out));
    fail();
}

/// A first call while the thread unwinds neither ends the process nor leaves the library without its hook.
#[test]
fn a_first_call_while_unwinding_works() {
    runs_alone!("a_first_call_while_unwinding_works");
    struct Calls;
    impl Drop for Calls {
        fn drop(&mut self) {
            fail();
        }
    }
    collect_panics();
    let unwinding = catch_unwind(|| {
        let _calls = Calls;
        panic!("unwinding");
    });
    assert!(unwinding.is_err());
    fail();
    let _ = std::panic::take_hook();
    assert_eq!(*PANICS.lock().unwrap(), ["unwinding"]);
}

/// Calls of the callback, the subscriber's events of the library, and its others.
static COUNTS: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

fn counts() -> [usize; 3] {
    COUNTS.each_ref().map(|count| count.load(Ordering::SeqCst))
}

struct Subscriber;

impl tracing::Subscriber for Subscriber {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let count = if event.metadata().target() == "factz" { 1 } else { 2 };
        COUNTS[count].fetch_add(1, Ordering::SeqCst);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

unsafe extern "C" fn traces(_: c_int, _: *const c_char, _: *const c_char, _: *mut c_void) {
    COUNTS[0].fetch_add(1, Ordering::SeqCst);
    tracing::info!("from the callback");
}

#[test]
fn a_subscriber_that_comes_after_the_callback_hears_everything() {
    runs_alone!("a_subscriber_that_comes_after_the_callback_hears_everything");
    set(Some(traces));
    fail();
    assert_eq!(counts(), [1, 0, 0]);
    tracing::subscriber::set_global_default(Subscriber).expect("the library leaves the place free");
    fail();
    assert_eq!(counts(), [2, 1, 1], "the callback's own event too");
    set(None);
    fail();
    tracing::info!("an event of the host");
    assert_eq!(counts(), [2, 2, 2]);
}

#[test]
fn a_subscriber_that_comes_before_the_callback_hears_everything() {
    runs_alone!("a_subscriber_that_comes_before_the_callback_hears_everything");
    tracing::subscriber::set_global_default(Subscriber).unwrap();
    fail();
    assert_eq!(counts(), [0, 1, 0]);
    set(Some(traces));
    fail();
    assert_eq!(counts(), [1, 2, 1]);
    set(None);
    fail();
    assert_eq!(counts(), [1, 3, 1]);
}
