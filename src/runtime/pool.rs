//! Threads: pieces of work over a pool that the library owns.
//!
//! The pool starts with the first call that wants more than one thread, grows to the largest number asked
//! for, and sleeps between calls. A caller always works on its own pieces itself, so that one thread means
//! the caller's own, and a call succeeds where no thread can be started. A forked child makes a pool of its
//! own, and the pool ends when the library is unloaded. Nothing is allocated on the heap but the list of
//! results.

mod workers;

use crate::error::{Error, Result};
use crate::runtime::memory;
use std::any::Any;
use std::cell::UnsafeCell;
use std::ops::Range;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;

/// More threads than this gain nothing.
pub const MOST_THREADS: usize = 1024;

/// The number of threads that a call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(usize);

impl Threads {
    /// So many threads; 0 means one for each processor that the calling thread may run on.
    pub fn new(wanted: usize) -> Self {
        Threads(if wanted == 0 { processors() } else { wanted }.clamp(1, MOST_THREADS))
    }

    pub fn count(self) -> usize {
        self.0
    }

    /// Runs `work(state, piece)` for all pieces. Each thread that takes part makes a state of its own. The
    /// first error ends the work.
    pub fn for_each<S>(
        self,
        pieces: usize,
        state: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let threads = self.0.min(pieces);
        let job = Pieces {
            pieces,
            taken: std::array::from_fn(|_| Counter(AtomicUsize::new(0))),
            shares: threads.clamp(1, SHARES),
            failed: AtomicBool::new(false),
            outcome: Mutex::default(),
        };
        let participate = |number| job.participate(number, &state, &work);
        workers::run(threads, &participate);
        job.finish()
    }

    /// The results of `work(state, piece, part)`, in the order of the pieces. The parts are those of `items`
    /// that `range` gives each piece; they follow one another and do not overlap.
    pub fn map_parts<T: Send, S, R: Default + Send>(
        self,
        items: &mut [T],
        pieces: usize,
        range: impl Fn(usize) -> Range<usize> + Sync,
        state: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, usize, &mut [T]) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let mut results = memory::defaults::<R>(pieces)?;
        let (parts, slots) = (Disjoint::new(items), Disjoint::new(&mut results));
        self.for_each(pieces, state, |state, piece| {
            let part = range(piece);
            assert!(piece + 1 >= pieces || part.end <= range(piece + 1).start, "parts that overlap");
            // SAFETY: every piece is taken once, and the assertion of each keeps its part below those behind
            // it.
            let (part, slot) = unsafe { (parts.part(part), slots.part(piece..piece + 1)) };
            slot[0] = work(state, piece, part)?;
            Ok(())
        })?;
        Ok(results)
    }

    /// [`Threads::map_parts`] with parts of `size` items each; the last one may be shorter.
    pub fn map_chunks<T: Send, S, R: Default + Send>(
        self,
        items: &mut [T],
        size: usize,
        state: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, usize, &mut [T]) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let len = items.len();
        let range = move |piece: usize| (piece * size).min(len)..((piece + 1) * size).min(len);
        self.map_parts(items, len.div_ceil(size), range, state, work)
    }

    /// Runs `work(state, number, item)` for all items, in pieces of one item where there are few, so that
    /// threads end together, and of four at most. Returns `result(state)` of each piece.
    pub fn map_each<T: Send, S, R: Default + Send>(
        self,
        items: &mut [T],
        state: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, usize, &mut T) -> Result<()> + Sync,
        result: impl Fn(&mut S) -> R + Sync,
    ) -> Result<Vec<R>> {
        let size = (items.len() / (64 * self.0)).clamp(1, 4);
        self.map_chunks(items, size, state, |state, piece, items| {
            for (k, item) in items.iter_mut().enumerate() {
                work(state, piece * size + k, item)?;
            }
            Ok(result(state))
        })
    }

    /// The results of `work(state, piece)`, in the order of the pieces.
    pub fn map<S, R: Default + Send>(
        self,
        pieces: usize,
        state: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, usize) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        self.map_parts(&mut [(); 0], pieces, |_| 0..0, state, |state, piece, _| work(state, piece))
    }
}

/// A state for work that needs none.
pub fn stateless() -> Result<()> {
    Ok(())
}

/// Processors that the calling thread may run on.
fn processors() -> usize {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: all zeros make an empty set; the call writes into it, at most its size.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) == 0).then_some(set)
        };
        if let Some(set) = set {
            // SAFETY: counts the bits of a set.
            return unsafe { libc::CPU_COUNT(&set) }.max(1) as usize;
        }
    }
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Most shares of the pieces; more threads have some of them in common.
const SHARES: usize = 64;

/// On a cache line of its own: threads count often, each in its own share.
#[repr(align(64))]
struct Counter(AtomicUsize);

/// The end of work that failed.
enum Failure {
    Error(Error),
    Panic(Box<dyn Any + Send>),
}

/// Pieces that are handed out one by one. A thread takes those of its share first, which follow one another,
/// then what is left of the other shares. The shares of a thread cover the same part of the field in every
/// phase and every call, so that the data that it makes and the memory that it writes stay in its cache.
struct Pieces {
    pieces: usize,
    shares: usize,
    /// Pieces that are taken, by share.
    taken: [Counter; SHARES],
    failed: AtomicBool,
    outcome: Mutex<Option<Failure>>,
}

impl Pieces {
    /// Works on pieces until none is left.
    fn participate<S>(
        &self,
        number: usize,
        state: &impl Fn() -> Result<S>,
        work: &impl Fn(&mut S, usize) -> Result<()>,
    ) {
        let failure = match catch_unwind(AssertUnwindSafe(|| self.work_on(number, state, work))) {
            Ok(Ok(())) => return,
            Ok(Err(error)) => Failure::Error(error),
            Err(panic) => Failure::Panic(panic),
        };
        self.failed.store(true, Ordering::Relaxed);
        let mut outcome = self.outcome.lock().unwrap_or_else(|e| e.into_inner());
        outcome.get_or_insert(failure);
    }

    fn work_on<S>(
        &self,
        number: usize,
        state: &impl Fn() -> Result<S>,
        work: &impl Fn(&mut S, usize) -> Result<()>,
    ) -> Result<()> {
        let mut own = None;
        for share in (number..number + self.shares).map(|share| share % self.shares) {
            while let Some(piece) = self.take(share) {
                let own = match &mut own {
                    Some(own) => own,
                    None => own.insert(state()?),
                };
                work(own, piece)?;
            }
        }
        Ok(())
    }

    /// The next piece of a share.
    fn take(&self, share: usize) -> Option<usize> {
        let first = |share: usize| (share as u128 * self.pieces as u128 / self.shares as u128) as usize;
        let piece = first(share) + self.taken[share].0.fetch_add(1, Ordering::Relaxed);
        (piece < first(share + 1) && !self.failed.load(Ordering::Relaxed)).then_some(piece)
    }

    fn finish(self) -> Result<()> {
        match self.outcome.into_inner().unwrap_or_else(|e| e.into_inner()) {
            None => Ok(()),
            Some(Failure::Error(error)) => Err(error),
            Some(Failure::Panic(panic)) => resume_unwind(panic),
        }
    }
}

/// A slice of which several threads use disjoint parts.
struct Disjoint<'a, T>(&'a [UnsafeCell<T>]);

// SAFETY: whoever takes a part promises that no other thread has an element of it.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    fn new(items: &'a mut [T]) -> Self {
        let (items, len) = (items.as_mut_ptr(), items.len());
        // SAFETY: UnsafeCell has the layout of what it holds, and the slice is borrowed exclusively.
        Disjoint(unsafe { std::slice::from_raw_parts(items.cast(), len) })
    }

    /// # Safety
    /// The parts that are in use at a time do not overlap.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        let cells = &self.0[range];
        // SAFETY: the promise of this function.
        unsafe { std::slice::from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), cells.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Status;
    use std::collections::HashSet;
    use std::thread::ThreadId;

    fn threads_used(threads: Threads, pieces: usize) -> HashSet<ThreadId> {
        let used = Mutex::new(HashSet::new());
        let work = |_: &mut (), _| {
            used.lock().unwrap().insert(std::thread::current().id());
            std::thread::sleep(std::time::Duration::from_millis(1));
            Ok(())
        };
        threads.for_each(pieces, stateless, work).unwrap();
        used.into_inner().unwrap()
    }

    #[test]
    fn every_piece_is_done_once_and_in_its_place() {
        for threads in [1, 2, 3, 16, 100] {
            let threads = Threads::new(threads);
            let mut items = vec![0usize; 1000];
            let sums = threads
                .map_chunks(&mut items, 7, stateless, |_, piece, part| {
                    part.iter_mut().enumerate().for_each(|(k, item)| *item += 7 * piece + k);
                    Ok(part.len())
                })
                .unwrap();
            assert!(items.iter().copied().eq(0..1000));
            assert_eq!((sums.len(), sums.iter().sum::<usize>()), (143, 1000));
            let squares = threads.map(50, stateless, |_, piece| Ok(piece * piece)).unwrap();
            assert!(squares.iter().copied().eq((0..50).map(|k| k * k)));
            assert!(threads.map(0, stateless, |_, piece| Ok(piece)).unwrap().is_empty());
        }
    }

    #[test]
    fn one_thread_is_the_callers_own() {
        let own = HashSet::from([std::thread::current().id()]);
        assert_eq!(threads_used(Threads::new(1), 20), own);
        assert_eq!(threads_used(Threads::new(8), 1), own, "one piece");
    }

    #[test]
    fn several_threads_take_part_and_no_more_than_asked_for() {
        for wanted in [2, 4] {
            let used = threads_used(Threads::new(wanted), 200).len();
            assert!((2..=wanted).contains(&used), "{used} of {wanted}");
        }
    }

    #[test]
    fn calls_of_several_threads_do_not_mix() {
        std::thread::scope(|scope| {
            for caller in 0..8u64 {
                scope.spawn(move || {
                    for _ in 0..200 {
                        let found = Threads::new(3).map(31, stateless, |_, k| Ok(caller * 100 + k as u64));
                        assert!(found.unwrap().into_iter().eq((0..31).map(|k| caller * 100 + k)));
                    }
                });
            }
        });
    }

    #[test]
    fn an_error_or_a_panic_of_any_thread_reaches_the_caller() {
        for threads in [1, 4] {
            let threads = Threads::new(threads);
            let fail = |_: &mut (), piece| match piece {
                37 => Err(memory::out_of_memory()),
                _ => Ok(()),
            };
            assert_eq!(threads.for_each(100, stateless, fail).unwrap_err().status, Status::OutOfMemory);
            let panicking = |_: &mut (), piece| {
                if piece == 37 {
                    resume_unwind(Box::new("piece 37"));
                }
                Ok(())
            };
            let caught = catch_unwind(AssertUnwindSafe(|| threads.for_each(100, stateless, panicking)));
            assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "piece 37");
            assert!(threads.for_each(100, stateless, |_, _| Ok(())).is_ok(), "usable after that");
        }
    }

    #[test]
    fn work_inside_work_ends() {
        let inner = |k: usize| Threads::new(4).map(10, stateless, move |_, j| Ok(10 * k + j));
        let found = Threads::new(4).map(10, stateless, |_, k| inner(k)).unwrap();
        assert!(found.concat().into_iter().eq(0..100));
    }
}
