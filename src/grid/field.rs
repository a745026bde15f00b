//! The only raw access to the caller's arrays: strided views of u and v.

use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::sides::{SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN, SIDE_Z_MAX, SIDE_Z_MIN};
use crate::grid::tiles::Grid;
use std::marker::PhantomData;

/// Where the vertices of one component lie, in elements: vertex (x, y) of plane z is at
/// z * plane + y * pitch + x * stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub pitch: u64,
    pub stride: u64,
    /// Of no account where there is one plane.
    pub plane: u64,
}

/// Elements that a component occupies: `before` and `after` count from vertex (0, 0), which is the first of
/// `after`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub before: u64,
    pub after: u64,
}

impl Extent {
    /// The elements of the vertices of a grid and of the ghost vertices beside the sides in `halo`. None
    /// where they exceed the address space.
    pub fn of(grid: Grid, layout: Layout, halo: u32) -> Option<Extent> {
        let side = |bit: u32| (halo & bit != 0) as u64;
        let at = |x: u64, y: u64, z: u64| {
            let in_plane = x.checked_mul(layout.stride)?.checked_add(y.checked_mul(layout.pitch)?)?;
            in_plane.checked_add(z.checked_mul(layout.plane)?)
        };
        let before = at(side(SIDE_X_MIN), side(SIDE_Y_MIN), side(SIDE_Z_MIN))?;
        let [x, y, z] = [SIDE_X_MAX, SIDE_Y_MAX, SIDE_Z_MAX].map(side);
        let last = at(grid.nx - 1 + x, grid.ny - 1 + y, grid.nz - 1 + z)?;
        Some(Extent { before, after: last.checked_add(1)? })
    }

    /// The extent as seen from an element of it.
    #[inline(always)]
    fn from(self, first: u64) -> Extent {
        assert!(first < self.after.max(1), "a plane begins in the view");
        Extent { before: self.before + first, after: self.after - first }
    }

    /// The extent as seen from an element before its first vertex.
    fn moved_back(self, back: u64) -> Extent {
        assert!(back <= self.before, "a plane of ghosts begins in the view");
        Extent { before: self.before - back, after: self.after + back }
    }

    fn covers(&self, needed: Extent) -> bool {
        needed.before <= self.before && needed.after <= self.after
    }

    /// The offset, from vertex (0, 0), of the first of `count` vertices from (x, y) on. Panics unless all of
    /// them are inside. Products may wrap: what counts is where they end.
    #[inline(always)]
    fn offset(&self, layout: Layout, x: i64, y: i64, count: usize) -> isize {
        let pitch = y.wrapping_mul(layout.pitch as i64);
        let first = pitch.wrapping_add(x.wrapping_mul(layout.stride as i64));
        let others = count.saturating_sub(1) as u64;
        let behind = if layout.stride == 1 { others } else { others.saturating_mul(layout.stride) };
        // Of the elements, from the first one on; wraps to a large number before it.
        let at = (first as u64).wrapping_add(self.before);
        let elements = self.before.saturating_add(self.after);
        let inside = (at < elements) & (behind < elements.wrapping_sub(at));
        if !inside & (count > 0) {
            outside(x, y, count);
        }
        first as isize
    }
}

#[cold]
#[inline(never)]
fn outside(x: i64, y: i64, count: usize) -> ! {
    panic!("{count} vertices from ({x}, {y}) on are not all in the view")
}

/// Refuses a component that does not hold the vertices of a grid and the ghost vertices of `halo`.
fn check_covers(name: &str, extent: Extent, layout: Layout, grid: Grid, halo: u32) -> Result<()> {
    if grid.nz > 1 && layout.plane < (grid.ny - 1).saturating_mul(layout.pitch).saturating_add(1) {
        return Err(Error::argument(format!(
            "{name} has {} elements from a plane to the next, too few for {grid} vertices with pitch = {}",
            layout.plane, layout.pitch
        )));
    }
    match Extent::of(grid, layout, halo) {
        Some(needed) if extent.covers(needed) => Ok(()),
        _ => Err(Error::argument(format!(
            "{name} holds {} elements from its first vertex on and {} before it, too few for {grid} vertices with \
             halo = {halo:#x}, pitch = {} and stride = {}",
            extent.after, extent.before, layout.pitch, layout.stride
        ))),
    }
}

/// A read-only view of one component. Ghost vertices have negative or past-the-end coordinates.
#[derive(Clone, Copy)]
pub struct View<'a, T> {
    base: *const T,
    layout: Layout,
    extent: Extent,
    _lifetime: PhantomData<&'a T>,
}

/// A writable view of one component. Tiles write disjoint vertices from several threads.
pub struct ViewMut<'a, T> {
    base: *mut T,
    layout: Layout,
    extent: Extent,
    _lifetime: PhantomData<&'a mut T>,
}

// SAFETY: a View only reads, and nobody writes during its lifetime.
unsafe impl<T: Sync> Send for View<'_, T> {}
unsafe impl<T: Sync> Sync for View<'_, T> {}
// SAFETY: a ViewMut has exclusive access; its users write each vertex from one thread.
unsafe impl<T: Send> Send for ViewMut<'_, T> {}
unsafe impl<T: Send> Sync for ViewMut<'_, T> {}

impl<'a, T: Real> View<'a, T> {
    /// A view of memory that is not a slice of T: unaligned, or shared with another component.
    ///
    /// # Safety
    /// `extent` around `base` must be inside one live allocation, and nobody may write to its vertices during
    /// `'a`. The pointer need not be aligned for `T`.
    pub unsafe fn new(base: *const T, layout: Layout, extent: Extent) -> Self {
        View { base, layout, extent, _lifetime: PhantomData }
    }

    /// A dense array of `ny` rows of `nx` values.
    pub fn dense(values: &'a [T], nx: u64) -> Self {
        Self::strided(values, 0, Layout { pitch: nx, stride: 1, plane: 0 })
    }

    /// A dense array of planes of `ny` rows of `nx` values.
    pub fn stack(values: &'a [T], nx: u64, ny: u64) -> Self {
        Self::strided(values, 0, Layout { pitch: nx, stride: 1, plane: nx * ny })
    }

    /// The view of a plane, whose vertices have coordinates of their own: ghosts beside them included.
    #[inline(always)]
    pub fn plane(self, z: u64) -> Self {
        let first = z * self.layout.plane;
        let extent = self.extent.from(first);
        View { base: self.base.wrapping_add(first as usize), extent, ..self }
    }

    /// The view of a plane of a volume, which may be one of ghosts.
    pub fn plane_of_volume(self, z: i64) -> Self {
        if z >= 0 {
            return self.plane(z as u64);
        }
        let back = z.unsigned_abs() * self.layout.plane;
        let extent = self.extent.moved_back(back);
        View { base: self.base.wrapping_sub(back as usize), extent, ..self }
    }

    /// Vertex (0, 0) is `values[first]`; the vertices before it, if any, are ghosts.
    pub fn strided(values: &'a [T], first: usize, layout: Layout) -> Self {
        let extent = Extent { before: first as u64, after: values[first..].len() as u64 };
        View { base: values[first..].as_ptr(), layout, extent, _lifetime: PhantomData }
    }

    /// Refuses a view that does not hold the vertices of a grid and the ghost vertices of `halo`.
    pub fn check_covers(&self, name: &str, grid: Grid, halo: u32) -> Result<()> {
        check_covers(name, self.extent, self.layout, grid, halo)
    }

    /// The value at vertex (x, y). Panics where the view has no such vertex.
    #[inline(always)]
    pub fn get(&self, x: i64, y: i64) -> T {
        let offset = self.extent.offset(self.layout, x, y, 1);
        // SAFETY: the vertex lies inside the extent.
        unsafe { self.base.offset(offset).read_unaligned() }
    }

    /// The value at vertex (x, y) of plane z, which may be a plane of ghosts. Panics where the view has no such
    /// vertex.
    #[inline(always)]
    pub fn get_in_volume(&self, [x, y, z]: [i64; 3]) -> T {
        let Layout { pitch, stride, plane } = self.layout;
        // In elements from vertex (0, 0) of plane 0 on. Products may wrap: what counts is where they end.
        let steps = [(x, stride), (y, pitch), (z, plane)];
        let first = steps.iter().fold(0i64, |at, &(k, step)| at.wrapping_add(k.wrapping_mul(step as i64)));
        let at = (first as u64).wrapping_add(self.extent.before);
        if at >= self.extent.before.saturating_add(self.extent.after) {
            outside(x, y, 1);
        }
        // SAFETY: the vertex lies inside the extent.
        unsafe { self.base.offset(first as isize).read_unaligned() }
    }
}

impl<T: Real> View<'_, T> {
    /// The values of the vertices (x, y), (x+1, y), ... as many as `out` holds. Panics where the view has not
    /// all of them.
    #[inline(always)]
    pub fn read_row(&self, x: i64, y: i64, out: &mut [T]) {
        let offset = self.extent.offset(self.layout, x, y, out.len());
        // SAFETY: the vertices lie inside the extent, and `out` is no part of it. A row of none is not read.
        unsafe {
            let first = self.base.wrapping_offset(offset);
            if self.layout.stride == 1 {
                let bytes = std::mem::size_of_val(out);
                std::ptr::copy_nonoverlapping(first.cast::<u8>(), out.as_mut_ptr().cast::<u8>(), bytes);
            } else {
                for (k, value) in out.iter_mut().enumerate() {
                    *value = first.add(k * self.layout.stride as usize).read_unaligned();
                }
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

/// Prefetches a row of a tile: such rows are short and far apart, so that hardware prefetchers miss them.
/// Vertices may lie outside the grid.
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
    /// A view of memory that is not a slice of T: unaligned, or shared with another component.
    ///
    /// # Safety
    /// `extent` around `base` must be inside one live allocation, and nobody else may have access to its
    /// vertices during `'a`. The pointer need not be aligned for `T`.
    pub unsafe fn new(base: *mut T, layout: Layout, extent: Extent) -> Self {
        ViewMut { base, layout, extent, _lifetime: PhantomData }
    }

    /// A dense array of `ny` rows of `nx` values.
    pub fn dense(values: &'a mut [T], nx: u64) -> Self {
        Self::strided(values, 0, Layout { pitch: nx, stride: 1, plane: 0 })
    }

    /// A dense array of planes of `ny` rows of `nx` values.
    pub fn stack(values: &'a mut [T], nx: u64, ny: u64) -> Self {
        Self::strided(values, 0, Layout { pitch: nx, stride: 1, plane: nx * ny })
    }

    /// The view of a plane, whose vertices have coordinates of their own.
    #[inline(always)]
    pub fn plane(&self, z: u64) -> ViewMut<'_, T> {
        let first = z * self.layout.plane;
        let (base, extent) = (self.base.wrapping_add(first as usize), self.extent.from(first));
        ViewMut { base, layout: self.layout, extent, _lifetime: PhantomData }
    }

    /// A view that reads the same vertices. While it is used nobody may [`ViewMut::set`] a vertex that it
    /// reads from another thread.
    #[inline(always)]
    pub fn reading(&self) -> View<'_, T> {
        View { base: self.base, layout: self.layout, extent: self.extent, _lifetime: PhantomData }
    }

    /// Vertex (0, 0) is `values[first]`.
    pub fn strided(values: &'a mut [T], first: usize, layout: Layout) -> Self {
        let values = &mut values[first..];
        let extent = Extent { before: 0, after: values.len() as u64 };
        ViewMut { base: values.as_mut_ptr(), layout, extent, _lifetime: PhantomData }
    }

    /// Refuses a view that does not hold the vertices of a grid.
    pub fn check_covers(&self, name: &str, grid: Grid) -> Result<()> {
        check_covers(name, self.extent, self.layout, grid, 0)
    }

    /// Sets the value at vertex (x, y). Panics where the view has no such vertex.
    ///
    /// # Safety
    /// No two threads may write the same vertex.
    #[inline(always)]
    pub unsafe fn set(&self, x: u64, y: u64, value: T) {
        let offset = self.extent.offset(self.layout, x as i64, y as i64, 1);
        // SAFETY: the vertex lies inside the extent.
        unsafe { self.base.offset(offset).write_unaligned(value) }
    }

    /// Sets the values of the vertices (x, y), (x+1, y), ... to those of `values`. Panics where the view has
    /// not all of them.
    ///
    /// # Safety
    /// As for [`ViewMut::set`].
    #[inline(always)]
    pub unsafe fn write_row(&self, x: u64, y: u64, values: &[T]) {
        let offset = self.extent.offset(self.layout, x as i64, y as i64, values.len());
        // SAFETY: the vertices lie inside the extent, of which `values` is no part. A row of none is not
        // written.
        unsafe {
            let first = self.base.wrapping_offset(offset);
            if self.layout.stride == 1 {
                let bytes = std::mem::size_of_val(values);
                std::ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), first.cast::<u8>(), bytes);
            } else {
                for (k, value) in values.iter().enumerate() {
                    first.add(k * self.layout.stride as usize).write_unaligned(*value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A volume of 2 x 1 x 2 vertices with ghosts on all sides of x and z.
    #[test]
    fn ghosts_of_volumes_are_inside_their_view() {
        let values: Vec<f32> = (0..16).map(|k| k as f32).collect();
        let layout = Layout { pitch: 4, stride: 1, plane: 4 };
        let grid = Grid { nz: 2, ..Grid::new(2, 1) };
        let halo = SIDE_X_MIN | SIDE_X_MAX | SIDE_Z_MIN | SIDE_Z_MAX;
        let view = View::strided(&values, 5, layout);
        assert!(view.check_covers("u", grid, halo).is_ok());
        assert!(View::strided(&values, 4, layout).check_covers("u", grid, halo).is_err());
        assert!(View::strided(&values[..15], 5, layout).check_covers("u", grid, halo).is_err());
        for (k, value) in values.iter().enumerate() {
            let at = [k as i64 % 4 - 1, 0, k as i64 / 4 - 1];
            assert_eq!(view.get_in_volume(at), *value);
            assert_eq!(view.plane_of_volume(at[2]).get(at[0], at[1]), *value);
        }
        assert!(std::panic::catch_unwind(|| view.plane_of_volume(-2)).is_err());
        for at in [[-2, 0, -1], [3, 0, 2], [0, 0, 4], [0, -9, 0]] {
            assert!(std::panic::catch_unwind(|| view.get_in_volume(at)).is_err(), "{at:?}");
        }
    }

    #[test]
    fn views_know_which_vertices_they_hold() {
        let values = [0f32; 30];
        let grid = |nx, ny| Grid::new(nx, ny);
        assert!(View::dense(&values, 5).check_covers("u", grid(5, 6), 0).is_ok());
        let error = View::dense(&values, 5).check_covers("u", grid(5, 7), 0).unwrap_err();
        assert!(error.message.contains("u holds 30 elements") && error.message.contains("5 x 7"), "{error}");
        let layout = Layout { pitch: 5, stride: 1, plane: 0 };
        let inside = View::strided(&values, 6, layout);
        assert!(inside.check_covers("u", grid(3, 4), 15).is_ok());
        assert!(inside.check_covers("u", grid(4, 4), 15).is_err());
        assert!(View::strided(&values, 5, layout).check_covers("u", grid(3, 4), 15).is_err());
        assert!(View::dense(&values, u64::MAX).check_covers("u", grid(5, 6), 0).is_err());
        let mut values = values;
        assert!(ViewMut::dense(&mut values, 5).check_covers("u", grid(5, 7)).is_err());
    }

    /// The rows from each vertex on that a view has, with ghosts, pitches and strides.
    #[test]
    fn vertices_outside_a_view_are_not_read() {
        let values: Vec<f32> = (0..40).map(|k| k as f32).collect();
        let read = |view: View<'_, f32>, x: i64, y: i64, count: usize| {
            let row = std::panic::catch_unwind(|| {
                let mut row = vec![f32::NAN; count];
                view.read_row(x, y, &mut row);
                row
            });
            let one = std::panic::catch_unwind(|| view.get(x, y));
            assert!(count != 1 || one.is_ok() == row.is_ok());
            row.ok()
        };
        for (first, pitch, stride) in [(0, 5, 1), (6, 5, 1), (11, 10, 2), (3, 7, 3)] {
            let view = View::strided(&values, first, Layout { pitch, stride, plane: 0 });
            for (x, y, count) in (-9..9)
                .flat_map(|x| (-9..9).map(move |y| (x, y)))
                .flat_map(|(x, y)| [1, 2, 7].map(move |count| (x, y, count)))
            {
                let at = |k: i64| first as i64 + y * pitch as i64 + (x + k) * stride as i64;
                let inside = at(0) >= 0 && at(count - 1) < 40;
                let expected = inside.then(|| (0..count).map(|k| at(k) as f32).collect::<Vec<_>>());
                assert_eq!(
                    read(view, x, y, count as usize),
                    expected,
                    "{first} {pitch} {stride} {x} {y} {count}"
                );
            }
        }
        let wide = View::strided(&values, 0, Layout { pitch: u64::MAX, stride: u64::MAX, plane: 0 });
        assert_eq!(read(wide, 1, 0, 1), None);
        assert_eq!(read(wide, 0, 0, 2), None);
        assert_eq!(read(wide, i64::MIN, i64::MAX, 0), Some(vec![]));
    }
}
