//! The only raw access to the caller's arrays: strided views of u and v.

use crate::real::Real;
use std::marker::PhantomData;

/// Where the vertices of one component lie, in elements: vertex (x, y) is at y * pitch + x * stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub pitch: u64,
    pub stride: u64,
}

/// A read-only view of one component. Ghost vertices have negative or past-the-end coordinates.
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    base: *const T,
    layout: Layout,
    _lifetime: PhantomData<&'a T>,
}

/// A writable view of one component. Tiles write disjoint vertices from several threads.
#[derive(Clone, Copy)]
pub struct ViewMut<'a, T> {
    base: *mut T,
    layout: Layout,
    _lifetime: PhantomData<&'a mut T>,
}

// SAFETY: a View only reads, and whoever made it promised that nobody writes meanwhile.
unsafe impl<T: Sync> Send for View<'_, T> {}
unsafe impl<T: Sync> Sync for View<'_, T> {}
// SAFETY: whoever made a ViewMut promised exclusive access; users write each vertex from one thread.
unsafe impl<T: Send> Send for ViewMut<'_, T> {}
unsafe impl<T: Send> Sync for ViewMut<'_, T> {}

impl<'a, T: Real> View<'a, T> {
    /// # Safety
    /// Every vertex that will be read (ghosts included) must be inside one live allocation, and
    /// nobody may write to it during `'a`. The pointer need not be aligned for `T`.
    pub unsafe fn new(base: *const T, layout: Layout) -> Self {
        View { base, layout, _lifetime: PhantomData }
    }

    /// A dense array of `ny` rows of `nx` values.
    pub fn dense(values: &'a [T], nx: u64) -> Self {
        assert!(nx > 0 && values.len() as u64 % nx == 0);
        View { base: values.as_ptr(), layout: Layout { pitch: nx, stride: 1 }, _lifetime: PhantomData }
    }

    /// The value at vertex (x, y).
    ///
    /// # Safety
    /// (x, y) must be a vertex (or ghost vertex) covered by the promise made at construction.
    #[inline(always)]
    pub unsafe fn get(&self, x: i64, y: i64) -> T {
        let offset = y * self.layout.pitch as i64 + x * self.layout.stride as i64;
        self.base.offset(offset as isize).read_unaligned()
    }
}

impl<T: Real> View<'_, T> {
    /// The values of the vertices (x, y), (x+1, y), ... as many as `out` holds.
    ///
    /// # Safety
    /// As for [`View::get`], for all of them.
    #[inline(always)]
    pub unsafe fn read_row(&self, x: i64, y: i64, out: &mut [T]) {
        let offset = y * self.layout.pitch as i64 + x * self.layout.stride as i64;
        let first = self.base.offset(offset as isize);
        if self.layout.stride == 1 {
            std::ptr::copy_nonoverlapping(
                first.cast::<u8>(),
                out.as_mut_ptr().cast::<u8>(),
                std::mem::size_of_val(out),
            );
        } else {
            for (k, value) in out.iter_mut().enumerate() {
                *value = first.add(k * self.layout.stride as usize).read_unaligned();
            }
        }
    }
}

impl<T> View<'_, T> {
    /// Asks for the memory of `count` vertices from (x, y) on, which will be read before long.
    #[inline(always)]
    pub fn prefetch_row(&self, x: i64, y: i64, count: usize) {
        prefetch_row(self.base, self.layout, x, y, count);
    }
}

impl<T> ViewMut<'_, T> {
    /// Asks for the memory of `count` vertices from (x, y) on, which will be written before long.
    #[inline(always)]
    pub fn prefetch_row(&self, x: u64, y: u64, count: usize) {
        prefetch_row(self.base, self.layout, x as i64, y as i64, count);
    }
}

/// Rows of tiles are short pieces of memory far apart, which processors do not foresee. Vertices may lie outside
/// the grid.
#[inline(always)]
fn prefetch_row<T>(base: *const T, layout: Layout, x: i64, y: i64, count: usize) {
    #[cfg(target_arch = "x86_64")]
    if layout.stride == 1 {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T1};
        const LINE: usize = 64;
        let offset = y.wrapping_mul(layout.pitch as i64).wrapping_add(x);
        let first = base.wrapping_offset(offset as isize).cast::<i8>();
        for line in 0..(count * size_of::<T>()).div_ceil(LINE) + 1 {
            // SAFETY: any address will do: a prefetch has no effect but on time.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(first.wrapping_add(line * LINE)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (base, layout, x, y, count);
}

impl<'a, T: Real> ViewMut<'a, T> {
    /// # Safety
    /// Every vertex that will be written must be inside one live allocation to which nobody else has
    /// access during `'a`. The pointer need not be aligned for `T`.
    pub unsafe fn new(base: *mut T, layout: Layout) -> Self {
        ViewMut { base, layout, _lifetime: PhantomData }
    }

    /// A dense array of `ny` rows of `nx` values.
    pub fn dense(values: &'a mut [T], nx: u64) -> Self {
        assert!(nx > 0 && values.len() as u64 % nx == 0);
        ViewMut { base: values.as_mut_ptr(), layout: Layout { pitch: nx, stride: 1 }, _lifetime: PhantomData }
    }

    /// Sets the value at vertex (x, y).
    ///
    /// # Safety
    /// (x, y) must be a vertex covered by the promise made at construction, and no two threads may
    /// write the same vertex.
    #[inline(always)]
    pub unsafe fn set(&self, x: u64, y: u64, value: T) {
        let offset = y * self.layout.pitch + x * self.layout.stride;
        self.base.offset(offset as isize).write_unaligned(value)
    }

    /// Sets the values of the vertices (x, y), (x+1, y), ... to those of `values`.
    ///
    /// # Safety
    /// As for [`ViewMut::set`], for all of them.
    #[inline(always)]
    pub unsafe fn write_row(&self, x: u64, y: u64, values: &[T]) {
        let offset = y * self.layout.pitch + x * self.layout.stride;
        let first = self.base.offset(offset as isize);
        if self.layout.stride == 1 {
            std::ptr::copy_nonoverlapping(
                values.as_ptr().cast::<u8>(),
                first.cast::<u8>(),
                std::mem::size_of_val(values),
            );
        } else {
            for (k, value) in values.iter().enumerate() {
                first.add(k * self.layout.stride as usize).write_unaligned(*value);
            }
        }
    }
}
