//! Panics of the library's own code are not printed: an export catches each and answers with a status. Panics
//! of the host, of its threads and of the functions that it hands over, go to the hook that the host has.

use crate::runtime::float_env;
use std::cell::Cell;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

/// The owner of the code that a thread runs.
#[derive(Clone, Copy, PartialEq)]
enum Code {
    Host,
    /// An export, on a thread of the host.
    Export,
    /// A piece of work, on a thread of the library.
    Worker,
}

thread_local! {
    static CODE: Cell<Code> = const { Cell::new(Code::Host) };
}

/// Exports that are running, on any thread.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Runs the body of an export, which must not unwind, in the default floating-point environment.
pub(crate) fn inside_export<R>(body: impl FnOnce() -> R) -> R {
    install_hook();
    RUNNING.fetch_add(1, Ordering::SeqCst);
    let result = run_as(Code::Export, || float_env::with_default(body));
    RUNNING.fetch_sub(1, Ordering::SeqCst);
    result
}

/// Runs a function of the host from within the library, in the host's floating-point environment.
pub(crate) fn as_host<R>(body: impl FnOnce() -> R) -> R {
    run_as(Code::Host, || float_env::with_callers(body))
}

/// Says that the calling thread is one of the library: a panic of its work is caught and handed on to the
/// caller.
pub(crate) fn mark_library_thread() {
    let _ = CODE.try_with(|c| c.set(Code::Worker));
}

fn run_as<R>(code: Code, body: impl FnOnce() -> R) -> R {
    /// Also where the body unwinds.
    struct Restore(Code);
    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = CODE.try_with(|c| c.set(self.0));
        }
    }
    let _restore = Restore(CODE.try_with(|c| c.replace(code)).unwrap_or(Code::Host));
    body()
}

/// The hook of the host.
static PREVIOUS: OnceLock<Hook> = OnceLock::new();
type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;

/// Puts a hook before the one that is there, which decides by the thread whose panic it is.
fn install_hook() {
    static HOOK: Once = Once::new();
    // The standard library refuses to change hooks on a thread that unwinds.
    if HOOK.is_completed() || std::thread::panicking() {
        return;
    }
    HOOK.call_once(|| {
        // The hook itself holds nothing, so that nothing is allocated for it.
        let _ = PREVIOUS.set(std::panic::take_hook());
        std::panic::set_hook(Box::new(|info| {
            let silent = match CODE.try_with(Cell::get).unwrap_or(Code::Host) {
                Code::Host => false,
                Code::Export => true,
                // Without an export the work was started by Rust code, which gets the panic itself.
                Code::Worker => RUNNING.load(Ordering::SeqCst) > 0,
            };
            if let (false, Some(previous)) = (silent, PREVIOUS.get()) {
                previous(info);
            }
        }));
    });
}
