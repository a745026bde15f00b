//! Temporary files that neither a signal nor the lack of memory leaves behind.
//!
//! Their names are in a table that a signal handler may read. The handler removes them and lets the signal
//! end the program, so that a shell sees 130 after INT and 143 after TERM. While files are replaced, a signal
//! waits. A file that grows gets its former length back.

use std::ffi::{c_char, c_int, CString};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicPtr, AtomicU8, Ordering::SeqCst};

const SIGNALS: [c_int; 5] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGXCPU];

/// Names of temporary files. They are never freed: a handler may be reading them.
static NAMES: [AtomicPtr<c_char>; 8] = [const { AtomicPtr::new(null_mut()) }; 8];

/// The descriptor of a file that grows, and its former length.
static GROWING: AtomicI32 = AtomicI32::new(NO_FILE);
static FORMER_LENGTH: AtomicI64 = AtomicI64::new(0);
const NO_FILE: c_int = -1;

/// The state of the program that the signal handler looks at.
static STATE: AtomicU8 = AtomicU8::new(WORKING);
const WORKING: u8 = 0;
/// Files are being replaced: a signal waits in PENDING.
const REPLACING: u8 = 1;
/// The temporary files are being removed, and then the program ends.
const ENDING: u8 = 2;
static PENDING: AtomicI32 = AtomicI32::new(0);

/// A name in the table, for as long as this lives.
#[derive(Debug)]
pub struct Entry(usize);

impl Entry {
    /// None when the table is full or the name holds a zero byte, which no file's name does.
    pub fn new(path: &Path) -> Option<Entry> {
        let name = CString::new(path.as_os_str().as_bytes()).ok()?.into_raw();
        let free = |slot: &AtomicPtr<c_char>| slot.compare_exchange(null_mut(), name, SeqCst, SeqCst).is_ok();
        NAMES.iter().position(free).map(Entry)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        NAMES[self.0].store(null_mut(), SeqCst);
    }
}

/// A file that grows, for as long as this lives: one at a time.
pub struct Growth<'a>(&'a File);

impl Growth<'_> {
    pub fn of(file: &File, length: u64) -> Growth<'_> {
        FORMER_LENGTH.store(length as i64, SeqCst);
        GROWING.store(file.as_raw_fd(), SeqCst);
        Growth(file)
    }
}

impl Drop for Growth<'_> {
    fn drop(&mut self) {
        debug_assert_eq!(GROWING.load(SeqCst), self.0.as_raw_fd());
        GROWING.store(NO_FILE, SeqCst);
    }
}

/// Waits until no other program has the lock of a file, and takes the lock until the file is closed. Some
/// file systems have no locks.
pub fn lock(file: &File) {
    // SAFETY: a system call on a descriptor that is open.
    while unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) } != 0
        && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted
    {}
}

/// Makes INT, TERM, HUP, QUIT and XCPU clean up, except those that the parent has the program ignore (nohup).
/// A file that grows beyond the limit of the shell is an error of the write, not the end.
pub fn guard() {
    // SAFETY: the handler calls functions that are safe in one (unlink, ftruncate, sigaction,
    // pthread_sigmask, raise, write); the structures are the C library's, zeroed before.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        for signal in SIGNALS {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, null_mut(), &mut action) != 0 || action.sa_sigaction == libc::SIG_IGN {
                continue;
            }
            action = std::mem::zeroed();
            action.sa_sigaction = on_signal as extern "C" fn(c_int) as usize;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(signal, &action, null_mut());
        }
    }
}

extern "C" fn on_signal(signal: c_int) {
    while STATE.compare_exchange(WORKING, ENDING, SeqCst, SeqCst).is_err() {
        PENDING.store(signal, SeqCst);
        // Whoever replaces files looks at PENDING after it has left that state.
        if STATE.load(SeqCst) != WORKING {
            return;
        }
    }
    remove_all();
    // SAFETY: plain system calls; the default action of the signal ends the program.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, null_mut());
        libc::raise(signal);
        libc::_exit(128 + signal);
    }
}

fn remove_all() {
    for slot in &NAMES {
        let name = slot.load(SeqCst);
        if !name.is_null() {
            // SAFETY: a C string that is never freed.
            unsafe { libc::unlink(name) };
        }
    }
    let growing = GROWING.load(SeqCst);
    if growing != NO_FILE {
        // SAFETY: a system call on a descriptor, which is open until `GROWING` has no file.
        unsafe { libc::ftruncate(growing, FORMER_LENGTH.load(SeqCst)) };
    }
}

/// Does work on files that no signal may interrupt; one that came meanwhile ends the program afterwards.
pub fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    while STATE.compare_exchange(WORKING, REPLACING, SeqCst, SeqCst).is_err() {
        // Another thread runs the handler: the program is ending.
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    let result = work();
    STATE.store(WORKING, SeqCst);
    let signal = PENDING.swap(0, SeqCst);
    if signal != 0 {
        on_signal(signal);
    }
    result
}

/// Removes the temporary files, writes a message to standard error and ends the program, without any memory.
pub fn end_with(message: &[u8], status: c_int) -> ! {
    remove_all();
    // SAFETY: plain system calls; the message is as long as said.
    unsafe {
        libc::write(2, message.as_ptr().cast(), message.len());
        libc::_exit(status)
    }
}
