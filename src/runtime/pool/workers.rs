//! The threads of the pool: how they start, wait, take part in a job, and end.

use super::MOST_THREADS;
use crate::runtime::{float_env, panics};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The work of a thread that takes part in a job, given its number: 0 for the thread that waits for the job,
/// from 1 on for those of the pool. It must not unwind.
type Participate<'a> = dyn Fn(usize) + Sync + 'a;

/// Runs `participate` on the calling thread and on up to `count` - 1 others at the same time, and returns
/// when all have returned. Fewer take part where threads cannot be started.
pub fn run(count: usize, participate: &Participate<'_>) {
    match if count > 1 { Pool::of_this_process() } else { None } {
        Some(pool) => pool.run(count - 1, participate),
        None => participate(0),
    }
}

/// Work that idle threads may join, in the frame of the thread that waits for it.
struct Job {
    participate: *const Participate<'static>,
    /// Threads that may still join.
    open: usize,
    /// Threads that joined and have not returned. It changes under the lock alone.
    active: AtomicUsize,
    done: Condvar,
    next: *mut Job,
}

struct State {
    /// Jobs that have not ended, the latest first.
    jobs: *mut Job,
    threads: [libc::pthread_t; MOST_THREADS],
    started: usize,
    /// Threads that have begun to serve.
    serving: usize,
    stop: bool,
}

// SAFETY: jobs lie in frames of threads that wait until nobody uses them, and are only touched under the
// lock.
unsafe impl Send for State {}

struct Pool {
    process: libc::pid_t,
    state: Mutex<State>,
    work: Condvar,
    /// Threads that jobs still want: a thread that has just worked looks here before it sleeps.
    wanted: AtomicUsize,
}

static POOL: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

impl Pool {
    /// The pool of this process. Threads do not survive a fork, and locks may be held for ever there: the
    /// child of a fork makes a new one, and the old one is left alone. That is why a pointer is exchanged: a
    /// `OnceCell` that a thread of the parent was filling would block the child for ever. Where memory is
    /// lacking there is none: the call runs on its own thread, and the next one tries again.
    fn of_this_process() -> Option<&'static Pool> {
        // SAFETY: has no effect.
        let process = unsafe { libc::getpid() };
        let current = POOL.load(Ordering::Acquire);
        // SAFETY: pools are never freed.
        match unsafe { current.as_ref() } {
            Some(pool) if pool.process == process => Some(pool),
            _ => Self::install(current, process),
        }
    }

    fn install(current: *mut Pool, process: libc::pid_t) -> Option<&'static Pool> {
        let state =
            State { jobs: ptr::null_mut(), threads: [0; MOST_THREADS], started: 0, serving: 0, stop: false };
        let pool =
            Pool { process, state: Mutex::new(state), work: Condvar::new(), wanted: AtomicUsize::new(0) };
        let pool = Box::into_raw(crate::runtime::memory::boxed(pool).ok()?);
        match POOL.compare_exchange(current, pool, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: pools are never freed once installed.
            Ok(_) => Some(unsafe { &*pool }),
            Err(other) => {
                // SAFETY: nobody else has seen this one; the other one is installed.
                unsafe {
                    drop(Box::from_raw(pool));
                    Some(&*other)
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn run(&'static self, others: usize, participate: &Participate<'_>) {
        // SAFETY: the lifetime is only forgotten: the job ends before this function does.
        let participate: *const Participate<'static> = unsafe {
            std::mem::transmute::<*const Participate<'_>, *const Participate<'static>>(participate)
        };
        let mut job = Job {
            participate,
            open: others,
            active: AtomicUsize::new(0),
            done: Condvar::new(),
            next: ptr::null_mut(),
        };
        let job = &raw mut job;
        {
            let mut state = self.lock();
            self.start(&mut state, others);
            // SAFETY: the job is in this frame.
            unsafe { (*job).next = state.jobs };
            state.jobs = job;
            self.wanted.fetch_add(others, Ordering::Relaxed);
        }
        for _ in 0..others {
            self.work.notify_one();
        }
        // SAFETY: the job is in this frame.
        unsafe { (*participate)(0) };
        let mut state = self.lock();
        state.remove(job);
        // SAFETY: the job is in this frame, and under the lock nobody else has it.
        self.wanted.fetch_sub(unsafe { (*job).open }, Ordering::Relaxed);
        // SAFETY: the job is in this frame; the number is atomic.
        let is_active = || unsafe { (*job).active.load(Ordering::Acquire) } > 0;
        if is_active() {
            drop(state);
            linger(|| !is_active());
            state = self.lock();
        }
        while is_active() {
            // SAFETY: the condition variable lives as long as the job.
            state = unsafe { &(*job).done }.wait(state).unwrap_or_else(|e| e.into_inner());
        }
    }

    /// Starts threads until there are so many, or no more can be had; the next job tries again.
    fn start(&'static self, state: &mut State, wanted: usize) {
        while state.started < wanted.min(MOST_THREADS) && !state.stop {
            let mut thread: libc::pthread_t = 0;
            if !start_thread(&mut thread, self) {
                return;
            }
            state.threads[state.started] = thread;
            state.started += 1;
        }
    }

    /// The life of a thread.
    fn serve(&self) {
        let mut state = self.lock();
        state.serving += 1;
        let number = state.serving;
        while !state.stop {
            let Some(job) = state.join(&self.wanted) else {
                state = self.work.wait(state).unwrap_or_else(|e| e.into_inner());
                continue;
            };
            drop(state);
            // SAFETY: the job cannot end before this thread has left it.
            unsafe { (*(*job).participate)(number) };
            state = self.lock();
            // SAFETY: as above, and under the lock. The thread that waits wakes up when the lock is free.
            unsafe {
                if (*job).active.fetch_sub(1, Ordering::AcqRel) == 1 {
                    (*job).done.notify_one();
                }
            }
            drop(state);
            linger(|| self.wanted.load(Ordering::Relaxed) > 0);
            state = self.lock();
        }
    }
}

impl State {
    /// Joins a job that is open.
    fn join(&mut self, wanted: &AtomicUsize) -> Option<*mut Job> {
        let mut job = self.jobs;
        // SAFETY: jobs in the list are alive.
        while let Some(candidate) = unsafe { job.as_mut() } {
            if candidate.open > 0 {
                candidate.open -= 1;
                candidate.active.fetch_add(1, Ordering::Relaxed);
                wanted.fetch_sub(1, Ordering::Relaxed);
                return Some(job);
            }
            job = candidate.next;
        }
        None
    }

    fn remove(&mut self, job: *mut Job) {
        let mut link = &raw mut self.jobs;
        // SAFETY: jobs in the list are alive, and this one is in it.
        unsafe {
            while *link != job {
                link = &raw mut (**link).next;
            }
            *link = (*job).next;
        }
    }
}

/// The phases of a call follow each other: a thread that has nothing to do stays awake so long, as it takes
/// time to wake it.
const LINGER: Duration = Duration::from_micros(100);

/// Waits until `is_over`, or for a short while.
fn linger(is_over: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_over() && start.elapsed() < LINGER {
        for _ in 0..16 {
            std::hint::spin_loop();
        }
        // Other threads may have no processor of their own.
        std::thread::yield_now();
    }
}

/// Stacks are small: large values lie on the heap.
const STACK_BYTES: usize = 512 << 10;

/// Starts a thread without a heap allocation of its own, which `std::thread` would need and could not do
/// without.
fn start_thread(thread: &mut libc::pthread_t, pool: &'static Pool) -> bool {
    extern "C" fn main(pool: *mut c_void) -> *mut c_void {
        float_env::set_default();
        panics::mark_library_thread();
        // SAFETY: a pool is never freed.
        unsafe { &*pool.cast::<Pool>() }.serve();
        ptr::null_mut()
    }
    // SAFETY: the attributes are initialised before they are used and destroyed after; signals are blocked
    // while the thread starts, so that it inherits a mask with which the host's handlers do not run on it.
    unsafe {
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        if libc::pthread_attr_init(&mut attributes) != 0 {
            return false;
        }
        libc::pthread_attr_setstacksize(&mut attributes, STACK_BYTES);
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) =
            (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let argument = (&raw const *pool).cast_mut().cast();
        let failed = libc::pthread_create(thread, &attributes, main, argument);
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        failed == 0
    }
}

/// Ends the threads before the code that they run is unmapped (`dlclose`) or the process exits. A job that
/// still runs then belongs to another thread of a process that is exiting: its threads are left alone.
extern "C" fn unload() {
    let pool = POOL.load(Ordering::Acquire);
    // SAFETY: pools are never freed; getpid has no effect.
    let (Some(pool), process) = (unsafe { pool.as_ref() }, unsafe { libc::getpid() }) else { return };
    if pool.process != process {
        return;
    }
    let Ok(mut state) = pool.state.try_lock() else { return };
    if !state.jobs.is_null() || state.stop {
        return;
    }
    state.stop = true;
    let (threads, started) = (state.threads, state.started);
    drop(state);
    pool.work.notify_all();
    for &thread in &threads[..started] {
        // SAFETY: each thread is joined once.
        unsafe { libc::pthread_join(thread, ptr::null_mut()) };
    }
}

#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".fini_array"))]
static UNLOAD: extern "C" fn() = unload;
