//! Allocation that can fail: whatever grows with the data comes from here, so that a process that runs out of
//! memory gets a status instead of being aborted.

use crate::error::{Error, Result, Status};
use std::alloc::{alloc, alloc_zeroed, dealloc, Layout};

/// The error of an allocation that failed. The text is static: nothing more is allocated for it.
pub fn out_of_memory() -> Error {
    Error::new(Status::OutOfMemory, "memory could not be allocated")
}

/// An empty vector with room for exactly `capacity` elements.
pub fn with_capacity<T>(capacity: usize) -> Result<Vec<T>> {
    let mut vec = Vec::new();
    reserve(&mut vec, capacity)?;
    Ok(vec)
}

/// Room for exactly `more` elements behind those of a vector.
pub fn reserve<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve_exact(more).map_err(|_| out_of_memory())
}

/// Room for at least so many more elements, such that a vector that grows again and again moves seldom.
pub fn reserve_growing<T>(vec: &mut Vec<T>, more: usize) -> Result<()> {
    vec.try_reserve(more).map_err(|_| out_of_memory())
}

/// Appends an element, with room for more elements where there is none.
pub fn push<T>(vec: &mut Vec<T>, item: T) -> Result<()> {
    reserve_growing(vec, 1)?;
    vec.push(item);
    Ok(())
}

/// A vector of `len` equal elements.
pub fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut vec = with_capacity(len)?;
    vec.resize(len, value);
    Ok(vec)
}

/// A vector of `len` default elements.
pub fn defaults<T: Default>(len: usize) -> Result<Vec<T>> {
    let mut vec = with_capacity(len)?;
    vec.resize_with(len, T::default);
    Ok(vec)
}

/// The elements of an iterator that knows its length.
pub fn collected<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut vec = with_capacity(items.len())?;
    vec.extend(items);
    Ok(vec)
}

/// A copy of a slice.
pub fn copied<T: Copy>(items: &[T]) -> Result<Vec<T>> {
    let mut vec = with_capacity(items.len())?;
    vec.extend_from_slice(items);
    Ok(vec)
}

/// A value on the heap. Never inlined: a large value lies in this frame only until it is moved.
#[inline(never)]
pub fn boxed<T>(value: T) -> Result<Box<T>> {
    let mut one = with_capacity(1)?;
    one.push(value);
    let one: Box<[T; 1]> = one.into_boxed_slice().try_into().unwrap_or_else(|_| unreachable!("one element"));
    let pointer: *mut [T; 1] = Box::into_raw(one);
    // SAFETY: an array of one element has the layout of the element, and the box gave up its ownership.
    Ok(unsafe { Box::from_raw(pointer.cast::<T>()) })
}

/// A value on the heap that was never on the stack: bits 0, but for the fields that `complete` writes.
///
/// # Safety
/// After `complete` all fields must have values.
pub unsafe fn zeroed<T>(complete: impl FnOnce(*mut T)) -> Result<Box<T>> {
    let layout = const {
        assert!(std::mem::size_of::<T>() > 0);
        Layout::new::<T>()
    };
    // SAFETY: the layout has a size.
    let place = unsafe { alloc_zeroed(layout) }.cast::<T>();
    if place.is_null() {
        return Err(out_of_memory());
    }
    complete(place);
    // SAFETY: allocated with the layout of T, and the caller promised a value.
    Ok(unsafe { Box::from_raw(place) })
}

/// A piece of memory that is held while work runs and given back where it fails, so that what describes the
/// failure (a message, an event for the log) finds room.
pub struct Reserve(*mut u8);

impl Reserve {
    const LAYOUT: Layout = match Layout::from_size_align(64 << 10, 16) {
        Ok(layout) => layout,
        Err(_) => panic!("a valid layout"),
    };

    pub fn new() -> Result<Self> {
        // SAFETY: the layout has a size.
        let pointer = unsafe { alloc(Self::LAYOUT) };
        if pointer.is_null() {
            return Err(out_of_memory());
        }
        Ok(Reserve(pointer))
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.0, Self::LAYOUT) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_an_error() {
        assert_eq!(with_capacity::<u64>(usize::MAX).unwrap_err().status, Status::OutOfMemory);
        assert_eq!(filled(usize::MAX / 2, 0u64).unwrap_err().status, Status::OutOfMemory);
        assert_eq!(filled(3, 7u8).unwrap(), [7, 7, 7]);
        assert_eq!(collected(0..3).unwrap(), [0, 1, 2]);
        assert_eq!(*boxed([1u64; 100]).unwrap(), [1; 100]);
        // SAFETY: bits 0 are numbers, and the second one is written.
        let pair = unsafe { zeroed(|pair: *mut (u64, Vec<u8>)| (&raw mut (*pair).1).write(vec![7])) };
        assert_eq!(*pair.unwrap(), (0, vec![7]));
    }
}
