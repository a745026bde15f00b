//! Memory that runs out ends the program with a sentence and never by abort.
//!
//! Whatever grows with the data is allocated by functions that can fail. The rest is small (arguments,
//! messages, buffers of files): where even that fails, the allocator itself ends the program in order.

use crate::failure::{failure, Failure};
use crate::litter;
use std::alloc::{GlobalAlloc, Layout, System};

/// Up to this size an allocation that fails ends the program; callers of larger ones handle the failure.
const SMALL: usize = 4 << 20;

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: all memory comes from the system's allocator, unchanged.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        checked(unsafe { System.realloc(pointer, layout, size) }, size)
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() && size <= SMALL {
        litter::end_with(
            b"factz: out of memory, before the command was done; no output file was changed\n",
            2,
        );
    }
    pointer
}

/// Makes room for `count` more elements, or says what there is no memory for.
pub fn reserve<T>(values: &mut Vec<T>, count: u64, what: impl std::fmt::Display) -> Result<(), Failure> {
    let bytes = count as u128 * size_of::<T>() as u128;
    let done = usize::try_from(count).is_ok_and(|n| values.try_reserve_exact(n).is_ok());
    if done {
        Ok(())
    } else {
        Err(failure!("not enough memory for {what} ({bytes} bytes)"))
    }
}

/// `count` elements of the default value, or a sentence when there is no memory for them.
pub fn zeros<T: Clone + Default>(count: u64, what: impl std::fmt::Display) -> Result<Vec<T>, Failure> {
    let mut values = Vec::new();
    reserve(&mut values, count, what)?;
    values.resize(count as usize, T::default());
    Ok(values)
}
